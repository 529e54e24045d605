//! CSV whose columns the user names: `time=us,op,lba=bytes,size=bytes`, in the order of the file.

use super::ReadOptions;
use super::blkparse::rwbs_operation;
use super::spc::keep;
use super::{Format, Names, Parser, Taken};
use crate::TraceError;
use crate::error::{Bad, shown};
use crate::field::{Counted, Field, Separator, TimeUnit, counted_range};
use crate::record::Raw;
use std::sync::Arc;
use vocab::{Fua, HostOp, StreamId};

/// Name of the format.
const NAME: &str = "csv";

/// Most columns of a file.
const COLUMNS_MAX: usize = 64;

/// Most words for operations that a file may name.
const WORDS_MAX: usize = 64;

pub(super) const FORMAT: Format = Format {
    name: NAME,
    about: "any CSV file whose columns are named: --columns time=us,op,lba=bytes,size=bytes",
    time: "times as named",
    ranges: "addresses and sizes as named",
    columns: "",
    // Columns without names could be anything.
    detect: |_| false,
    open: |options| {
        let columns = options.columns.clone().unwrap_or_default();
        Box::new(Csv { columns, devices: Names::default(), is_past_header: false })
    },
    binary: None,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Skipped,
    Time(TimeUnit),
    Op,
    /// In units of this many bytes.
    Lba(u64),
    Size(u64),
    Device,
    Stream,
}

/// The operation that a word of the file stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Operation(HostOp),
    /// Such lines are left out.
    Nothing,
}

/// The columns of a CSV file, from its first on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    kinds: Arc<[Kind]>,
    /// Words for operations that are this file's own; `*` is any other.
    words: Arc<[(String, Meaning)]>,
}

const TIMES: [(&str, TimeUnit); 5] = [
    ("s", TimeUnit::Seconds),
    ("ms", TimeUnit::Millis),
    ("us", TimeUnit::Micros),
    ("ns", TimeUnit::Nanos),
    ("filetime", TimeUnit::Filetime),
];
const UNITS: [(&str, u64); 3] = [("bytes", 1), ("sectors", vocab::SECTOR_BYTES), ("pages", 4096)];

/// Largest unit of addresses and sizes.
const UNIT_MAX: u64 = 1 << 30;

fn unit<T: Copy>(name: &str, unit: &str, known: &[(&str, T)]) -> Result<T, String> {
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    found.map(|(_, value)| *value).ok_or_else(|| match unit {
        "" => format!("`{name}` needs a unit, as `{name}=UNIT`: one of {}", names()),
        _ => format!("`{}` is no unit of `{name}`; known are {}", shown(unit.as_bytes()), names()),
    })
}

/// The unit of addresses or sizes; `blocks:N` are of N bytes.
fn bytes_of(name: &str, of: &str) -> Result<u64, String> {
    if let Some(size) = of.strip_prefix("blocks:") {
        let size = size.parse().ok().filter(|size| (1..=UNIT_MAX).contains(size));
        return size.ok_or_else(|| format!("`{name}=blocks:N` needs the bytes of a block, 1 to {UNIT_MAX}"));
    }
    unit(name, of, &UNITS).map_err(|reason| format!("{reason}, or blocks:N for blocks of N bytes, such as blocks:1024 for KiB"))
}

fn kind(column: &str) -> Result<Kind, String> {
    let (name, of) = column.split_once('=').unwrap_or((column, ""));
    let bare = |kind| if of.is_empty() { Ok(kind) } else { Err(format!("`{name}` has no unit")) };
    match name {
        "time" => Ok(Kind::Time(unit(name, of, &TIMES)?)),
        "lba" => Ok(Kind::Lba(bytes_of(name, of)?)),
        "size" => Ok(Kind::Size(bytes_of(name, of)?)),
        "op" => Ok(Kind::Op),
        "device" => bare(Kind::Device),
        "stream" => bare(Kind::Stream),
        "-" => bare(Kind::Skipped),
        other => Err(format!(
            "`{}` is unknown; known are time, op, lba, size, device, stream, and `-` to skip one",
            shown(other.as_bytes())
        )),
    }
}

/// `0:read`, of the words for operations.
fn word(text: &str) -> Result<(String, Meaning), String> {
    const WANTED: &str = "WORD:read, WORD:write, WORD:flush, WORD:discard, or WORD:- to leave such lines out";
    let (word, means) =
        text.rsplit_once(':').ok_or_else(|| format!("`op` has no unit; found `{}`, wanted {WANTED}", shown(text.as_bytes())))?;
    let meaning = match means {
        "-" => Meaning::Nothing,
        _ => match known_word(means.as_bytes()) {
            Some(op) => Meaning::Operation(op),
            None => return Err(format!("found `{}`, wanted {WANTED}", shown(text.as_bytes()))),
        },
    };
    Ok((word.to_ascii_lowercase(), meaning))
}

impl std::str::FromStr for Columns {
    type Err = TraceError;

    /// Columns in the order of the file, separated by commas: `time=s|ms|us|ns|filetime`, `op`, `op=WORD:read,WORD:write`,
    /// `lba=bytes|sectors|pages|blocks:N`, `size=` the same, `device`, `stream`, and `-` for one that is skipped.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let fault = |reason: String| TraceError::Columns { found: shown(text.as_bytes()), reason };
        let (mut kinds, mut words) = (Vec::new(), Vec::new());
        for column in text.split(',').map(str::trim) {
            // An entry behind `op=` that has a colon is a word for an operation, too.
            let is_word = kinds.last() == Some(&Kind::Op) && column.contains(':') && !column.contains('=');
            if let Some(first) = column.strip_prefix("op=").or(is_word.then_some(column)) {
                words.push(word(first).map_err(fault)?);
            }
            if words.len() > WORDS_MAX || kinds.len() == COLUMNS_MAX {
                return Err(fault(format!("at most {COLUMNS_MAX} columns and {WORDS_MAX} words are valid")));
            }
            if !is_word {
                kinds.push(kind(column).map_err(fault)?);
            }
        }
        let columns = Columns { kinds: kinds.into(), words: words.into() };
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

/// The operations that usual words stand for, in any case.
fn known_word(word: &[u8]) -> Option<HostOp> {
    match word.to_ascii_lowercase().as_slice() {
        b"r" | b"read" | b"rs" | b"rd" | b"diskread" => Some(HostOp::Read),
        b"w" | b"write" | b"ws" | b"wr" | b"diskwrite" => Some(HostOp::Write(Fua::No)),
        b"f" | b"flush" | b"sync" | b"fsync" | b"fdatasync" | b"datasync" | b"diskflush" => Some(HostOp::Flush),
        b"d" | b"t" | b"discard" | b"trim" | b"unmap" | b"deallocate" => Some(HostOp::Discard),
        _ => rwbs_operation(word),
    }
}

/// How a line is separated into columns, of which there are `count`: by the first of the usual separators that gives this many.
fn separator(line: &[u8], count: usize) -> Separator {
    let fields = |byte: u8| 1 + line.iter().filter(|other| **other == byte).count();
    let usual = [b',', b';', b'\t', b'|'];
    if let Some(byte) = usual.iter().find(|byte| fields(**byte) >= count) {
        return Separator::Byte(*byte);
    }
    // Blanks and tabs side by side separate columns as well.
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    match usual.iter().find(|byte| line.contains(byte)).filter(|_| words < count) {
        Some(byte) => Separator::Byte(*byte),
        None => Separator::Blanks,
    }
}

/// The next field and what follows it; a separator inside quotes is part of the field.
fn cut(rest: &[u8], separator: Separator) -> (&[u8], Option<&[u8]>) {
    let Separator::Byte(byte) = separator else {
        let end = rest.iter().position(u8::is_ascii_whitespace);
        let after = end.map(|end| rest[end..].trim_ascii_start()).filter(|after| !after.is_empty());
        return (&rest[..end.unwrap_or(rest.len())], after);
    };
    let trimmed = rest.trim_ascii_start();
    let quoted = trimmed.strip_prefix(b"\"").and_then(|inner| inner.iter().position(|other| *other == b'"'));
    let from = quoted.map_or(0, |end| rest.len() - trimmed.len() + end + 2);
    match rest[from..].iter().position(|other| *other == byte) {
        Some(at) => (rest[..from + at].trim_ascii(), Some(&rest[from + at + 1..])),
        None => (rest.trim_ascii(), None),
    }
}

struct Csv {
    columns: Columns,
    devices: Names,
    is_past_header: bool,
}

/// The fields of a line that matter.
struct Found<'a> {
    time: Field<'a>,
    of_time: TimeUnit,
    op: Field<'a>,
    lba: Field<'a>,
    of_lba: u64,
    size: Field<'a>,
    of_size: u64,
    device: Field<'a>,
    stream: Field<'a>,
    /// A comma in a number is its point, where it separates no columns.
    has_commas: bool,
}

impl Csv {
    fn fields<'a>(&self, line: &'a [u8]) -> Result<Found<'a>, Bad> {
        let separator = separator(line, self.columns.kinds.len());
        let empty = |name| Field { name, bytes: b"" };
        let mut found = Found {
            time: empty("time"),
            of_time: TimeUnit::Seconds,
            op: empty("op"),
            lba: empty("lba"),
            of_lba: 1,
            size: empty("size"),
            of_size: 1,
            device: Field { name: "device", bytes: b"0" },
            stream: empty("stream"),
            has_commas: !matches!(separator, Separator::Byte(b',')),
        };
        let mut rest = Some(if let Separator::Blanks = separator { line.trim_ascii() } else { line });
        for kind in self.columns.kinds.iter() {
            let name = match kind {
                Kind::Skipped => "skipped",
                Kind::Time(_) => "time",
                Kind::Op => "op",
                Kind::Lba(_) => "lba",
                Kind::Size(_) => "size",
                Kind::Device => "device",
                Kind::Stream => "stream",
            };
            let (bytes, after) = rest.map(|rest| cut(rest, separator)).ok_or_else(|| crate::field::missing(name))?;
            let field = unquoted(Field { name, bytes });
            rest = after;
            match *kind {
                Kind::Skipped => {}
                Kind::Time(unit) => (found.time, found.of_time) = (field, unit),
                Kind::Op => found.op = field,
                Kind::Lba(unit) => (found.lba, found.of_lba) = (field, unit),
                Kind::Size(unit) => (found.size, found.of_size) = (field, unit),
                Kind::Device => found.device = field,
                Kind::Stream => found.stream = field,
            }
        }
        Ok(found)
    }

    fn operation(&self, field: Field<'_>) -> Result<Option<HostOp>, Bad> {
        let word = field.bytes.to_ascii_lowercase();
        let own = |word: &[u8]| self.columns.words.iter().find(|(known, _)| known.as_bytes() == word);
        if let Some((_, meaning)) = own(&word).or_else(|| known_word(&word).is_none().then(|| own(b"*"))?) {
            return Ok(match meaning {
                Meaning::Operation(op) => Some(*op),
                Meaning::Nothing => None,
            });
        }
        // The letters of `RWBS` are capitals: a small one would be a word that is not known.
        let wanted = "read, write, flush or discard, or their first letters; other words are named so: `op=0:read,1:write`";
        known_word(field.bytes).map(Some).ok_or_else(|| field.bad(wanted))
    }

    fn request(&mut self, found: &Found<'_>) -> Result<Option<Raw>, Bad> {
        // Lines of what was not answered have no operation in some recordings.
        if found.op.bytes.is_empty() {
            return Ok(None);
        }
        let Some(op) = self.operation(found.op)? else { return Ok(None) };
        let comma = found.has_commas && found.time.bytes.contains(&b',');
        let point: Vec<u8> = if comma {
            found.time.bytes.iter().map(|byte| if *byte == b',' { b'.' } else { *byte }).collect()
        } else {
            Vec::new()
        };
        let time = if comma { Field { bytes: &point, ..found.time } } else { found.time };
        let at = time.time(found.of_time)?;
        let (lba, sectors) = if op == HostOp::Flush {
            (0, 0)
        } else {
            let from = scaled(found.lba, found.of_lba)?;
            counted_range(from, scaled(found.size, found.of_size)?)?
        };
        let device = self.devices.number(found.device)?;
        Ok(Some(Raw { at, device, op, lba, sectors, stream: stream_of(found.stream)? }))
    }
}

/// A field that counts units of `unit` bytes.
fn scaled(field: Field<'_>, unit: u64) -> Result<Counted<'_>, Bad> {
    Ok(Counted { field, bytes: u128::from(field.whole()?) * u128::from(unit) })
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
    Field { bytes: inner.map_or(field.bytes, <[u8]>::trim_ascii), ..field }
}

/// Whether a line names columns: nothing in it that should be a number begins like one.
fn is_header(found: &Found<'_>) -> bool {
    [found.time, found.lba, found.size].iter().all(|field| !field.bytes.first().is_some_and(u8::is_ascii_digit))
}

impl Parser for Csv {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.starts_with(b"#") || line.starts_with(b"//") {
            return Ok(Taken::NoRequest);
        }
        let is_first = !std::mem::replace(&mut self.is_past_header, true);
        let found = match self.fields(line) {
            Ok(found) => found,
            // A header may lack what lines have, and has no number.
            Err(_) if is_first && !line.iter().any(u8::is_ascii_digit) => return Ok(Taken::NoRequest),
            Err(bad) => return Err(bad),
        };
        if is_first && is_header(&found) {
            return Ok(Taken::NoRequest);
        }
        match self.request(&found)? {
            Some(raw) => Ok(keep(raw, out)),
            None => Ok(Taken::Ignored),
        }
    }
}
