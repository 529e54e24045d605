//! CSV whose columns the user names: `time=us,op,lba=bytes,size=bytes`, in the order of the file.

use super::spc::keep;
use super::{Format, Names, Parser, Taken};
use crate::error::{Bad, shown};
use crate::field::{Field, Fields, Separator, TimeUnit, byte_range, mixed_range, sector_range};
use crate::record::Raw;
use crate::{ReadOptions, TraceError};
use vocab::{Fua, HostOp, StreamId};

/// Name of the format.
const NAME: &str = "csv";

/// Most columns of a file.
const COLUMNS_MAX: usize = 24;

pub(super) const FORMAT: Format = Format {
    name: NAME,
    about: "any CSV file whose columns are named: --columns time=us,op,lba=bytes,size=bytes",
    time: "times as named",
    ranges: "addresses and sizes as named",
    // Columns without names could be anything.
    detect: |_| false,
    open: |options| {
        let columns = options.columns.unwrap_or(Columns { kinds: [Kind::Skipped; COLUMNS_MAX], count: 0 });
        Box::new(Csv { columns, devices: Names::default(), is_past_header: false })
    },
};

/// Unit of addresses and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Sectors,
    /// Pages of 4 KiB.
    Pages,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Skipped,
    Time(TimeUnit),
    Op,
    Lba(Unit),
    Size(Unit),
    Device,
    Stream,
}

/// What the columns of a CSV file are, from its first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    kinds: [Kind; COLUMNS_MAX],
    count: usize,
}

const TIMES: [(&str, TimeUnit); 5] = [
    ("s", TimeUnit::Seconds),
    ("ms", TimeUnit::Millis),
    ("us", TimeUnit::Micros),
    ("ns", TimeUnit::Nanos),
    ("filetime", TimeUnit::Filetime),
];
const UNITS: [(&str, Unit); 3] = [("bytes", Unit::Bytes), ("sectors", Unit::Sectors), ("pages", Unit::Pages)];

fn unit<T: Copy>(name: &str, unit: &str, known: &[(&str, T)]) -> Result<T, String> {
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = known.iter().find(|(name, _)| *name == unit);
    found.map(|(_, value)| *value).ok_or_else(|| match unit {
        "" => format!("`{name}` needs a unit, as `{name}=UNIT`: one of {}", names()),
        _ => format!("`{}` is no unit of `{name}`; known are {}", shown(unit.as_bytes()), names()),
    })
}

fn kind(column: &str) -> Result<Kind, String> {
    let (name, of) = column.split_once('=').unwrap_or((column, ""));
    let bare = |kind| if of.is_empty() { Ok(kind) } else { Err(format!("`{name}` has no unit")) };
    match name {
        "time" => Ok(Kind::Time(unit(name, of, &TIMES)?)),
        "lba" => Ok(Kind::Lba(unit(name, of, &UNITS)?)),
        "size" => Ok(Kind::Size(unit(name, of, &UNITS)?)),
        "op" => bare(Kind::Op),
        "device" => bare(Kind::Device),
        "stream" => bare(Kind::Stream),
        "-" => bare(Kind::Skipped),
        other => Err(format!(
            "`{}` is unknown; known are time, op, lba, size, device, stream, and `-` to skip one",
            shown(other.as_bytes())
        )),
    }
}

impl std::str::FromStr for Columns {
    type Err = TraceError;

    /// Columns in the order of the file, separated by commas: `time=s|ms|us|ns|filetime`, `op`,
    /// `lba=bytes|sectors|pages`, `size=bytes|sectors|pages`, `device`, `stream`, and `-` for one that is skipped.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let fault = |reason: String| TraceError::Columns { found: shown(text.as_bytes()), reason };
        let mut columns = Columns { kinds: [Kind::Skipped; COLUMNS_MAX], count: 0 };
        for column in text.split(',') {
            if columns.count == COLUMNS_MAX {
                return Err(fault(format!("at most {COLUMNS_MAX} columns are valid")));
            }
            columns.kinds[columns.count] = kind(column.trim()).map_err(fault)?;
            columns.count += 1;
        }
        let times = |is: fn(&Kind) -> bool| columns.kinds.iter().filter(|kind| is(kind)).count();
        let found = [
            ("time", times(|kind| matches!(kind, Kind::Time(_)))),
            ("op", times(|kind| matches!(kind, Kind::Op))),
            ("lba", times(|kind| matches!(kind, Kind::Lba(_)))),
            ("size", times(|kind| matches!(kind, Kind::Size(_)))),
            ("device", times(|kind| matches!(kind, Kind::Device))),
            ("stream", times(|kind| matches!(kind, Kind::Stream))),
        ];
        for (name, times) in found {
            match times {
                0 if !["device", "stream"].contains(&name) => return Err(fault(format!("`{name}` is missing"))),
                0 | 1 => {}
                _ => return Err(fault(format!("`{name}` is there twice"))),
            }
        }
        Ok(columns)
    }
}

/// Whether columns are named where the format needs them, and only there.
///
/// # Errors
/// They are missing, or the format has columns of its own.
pub(crate) fn check(format: &Format, options: &ReadOptions) -> Result<(), TraceError> {
    let fault = |reason: String| Err(TraceError::Columns { found: String::new(), reason });
    match (&options.columns, format.name == NAME) {
        (None, true) => fault("format `csv` needs the names of the columns, such as `time=us,op,lba=bytes,size=bytes`".into()),
        (Some(_), false) => fault(format!("format `{}` has columns of its own; only `csv` takes names", format.name)),
        _ => Ok(()),
    }
}

struct Csv {
    columns: Columns,
    devices: Names,
    is_past_header: bool,
}

/// What usual words for operations mean, in any case.
fn operation(field: Field<'_>) -> Result<HostOp, Bad> {
    let word = field.bytes.to_ascii_lowercase();
    match word.as_slice() {
        b"r" | b"read" | b"rs" => Ok(HostOp::Read),
        b"w" | b"write" | b"ws" => Ok(HostOp::Write(Fua::No)),
        b"f" | b"flush" | b"sync" => Ok(HostOp::Flush),
        b"d" | b"discard" | b"trim" | b"unmap" => Ok(HostOp::Discard),
        _ => Err(field.bad("read, write, flush or discard, or their first letters")),
    }
}

fn range((lba, of_lba): (Field<'_>, Unit), (size, of_size): (Field<'_>, Unit)) -> Result<(u64, u32), Bad> {
    match (of_lba, of_size) {
        (Unit::Bytes, Unit::Bytes) => byte_range(lba, size),
        (Unit::Sectors, Unit::Sectors) => sector_range(lba, size),
        (Unit::Sectors, Unit::Bytes) => mixed_range(lba, size, 1),
        (Unit::Sectors, Unit::Pages) => mixed_range(lba, size, 4096),
        (Unit::Bytes | Unit::Pages, _) => {
            let scaled = |field: Field<'_>, unit| {
                let bytes = match unit {
                    Unit::Bytes => 1,
                    Unit::Sectors => vocab::SECTOR_BYTES,
                    Unit::Pages => 4096,
                };
                field
                    .number()?
                    .checked_mul(bytes)
                    .map(|bytes| bytes.to_string())
                    .ok_or_else(|| field.bad("fewer than 2^64 bytes"))
            };
            let (start, count) = (scaled(lba, of_lba)?, scaled(size, of_size)?);
            byte_range(Field { bytes: start.as_bytes(), ..lba }, Field { bytes: count.as_bytes(), ..size })
        }
    }
}

impl Csv {
    fn request(&mut self, line: &[u8]) -> Result<Raw, Bad> {
        let separator = *[b',', b';', b'\t'].iter().find(|byte| line.contains(byte)).unwrap_or(&b' ');
        let mut fields = Fields::new(line, if separator == b' ' { Separator::Blanks } else { Separator::Byte(separator) });
        let empty = Field { name: "device", bytes: b"0" };
        let (mut time, mut op, mut device, mut stream) = (0, None, empty, StreamId::default());
        let (mut lba, mut size) = ((empty, Unit::Bytes), (empty, Unit::Bytes));
        for kind in &self.columns.kinds[..self.columns.count] {
            match *kind {
                Kind::Skipped => drop(fields.take("skipped")?),
                Kind::Time(unit) => time = take_time(&mut fields, unit)?,
                Kind::Op => op = Some(operation(unquoted(fields.take("op")?))?),
                Kind::Lba(unit) => lba = (unquoted(fields.take("lba")?), unit),
                Kind::Size(unit) => size = (unquoted(fields.take("size")?), unit),
                Kind::Device => device = unquoted(fields.take("device")?),
                Kind::Stream => stream = stream_of(unquoted(fields.take("stream")?))?,
            }
        }
        let op = op.ok_or_else(|| Bad::new("op", line, "a column for the operation"))?;
        let (lba, sectors) = if op == HostOp::Flush { (0, 0) } else { range(lba, size)? };
        let device = self.devices.number(device)?;
        Ok(Raw { at: time, device, op, lba, sectors, stream })
    }
}

/// The number of a stream; an empty field names none.
fn stream_of(field: Field<'_>) -> Result<StreamId, Bad> {
    if field.bytes.is_empty() {
        return Ok(StreamId::default());
    }
    let number = field.number()?;
    let known = u8::try_from(number).ok().filter(|&number| usize::from(number) < StreamId::COUNT_MAX);
    known.map(StreamId).ok_or_else(|| field.bad(format!("a stream of 0 to {}, or nothing", StreamId::COUNT_MAX - 1)))
}

fn unquoted(field: Field<'_>) -> Field<'_> {
    let inner = field.bytes.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    Field { bytes: inner.unwrap_or(field.bytes), ..field }
}

fn take_time(fields: &mut Fields<'_>, unit: TimeUnit) -> Result<u64, Bad> {
    unquoted(fields.take("time")?).time(unit)
}

impl Parser for Csv {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let is_first = !std::mem::replace(&mut self.is_past_header, true);
        match self.request(line) {
            Ok(raw) => Ok(keep(raw, out)),
            // A header names the columns: there is no digit in any of them.
            Err(_) if is_first && !line.iter().any(u8::is_ascii_digit) => Ok(Taken::NoRequest),
            Err(bad) => Err(bad),
        }
    }
}
