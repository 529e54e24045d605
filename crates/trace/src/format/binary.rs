//! Recordings that are no text. Their records are written as lines of a format that is, so that one parser reads both, and an error names
//! the record by the number of its line.

use super::ReadOptions;
use super::{Bytes, Format, blkparse, columns, spc, vscsi};
use crate::tape_file::{MAGIC, TapeReader};
use std::io::{Cursor, ErrorKind, Read, Result};

/// Binary output of blktrace (blktrace_api.h, `struct blk_io_trace`), as blkparse would print it.
pub(super) const BLKTRACE: Format = Format {
    name: "blktrace",
    about: "binary output of blktrace; the files of all processors are merged by time, where they lie beside each other",
    columns: "",
    detect: |_| false,
    binary: Some(|bytes| lines(bytes, Blktrace::default())),
    ..blkparse::FORMAT
};

/// libCacheSim's oracleGeneral: time in s, object, bytes, next use, 24 bytes in all.
pub(super) const ORACLE_GENERAL: Format = Format {
    name: "oracle-general",
    about: "libCacheSim's oracleGeneral; all requests read, each object has room of its own in the order of appearance",
    time: "times in whole s",
    ranges: "objects; sizes in bytes",
    columns: "",
    detect: |_| false,
    binary: Some(|bytes| lines(bytes, OracleGeneral::default())),
    ..spc::FORMAT
};

/// vSCSI records of 32 bytes (libCacheSim's trace format vscsi, version 1).
pub(super) const VSCSI_1: Format = Format {
    name: "vscsi-1",
    about: "binary vSCSI records, version 1",
    columns: "",
    detect: |_| false,
    binary: Some(|bytes| lines(bytes, Vscsi { size: 32, op: 12, len: 4, lbn: 16, time: 24 })),
    ..vscsi::FORMAT
};

/// vSCSI records of 40 bytes, version 2.
pub(super) const VSCSI_2: Format = Format {
    name: "vscsi-2",
    about: "binary vSCSI records, version 2",
    columns: "",
    detect: |_| false,
    binary: Some(|bytes| lines(bytes, Vscsi { size: 40, op: 0, len: 8, lbn: 16, time: 24 })),
    ..vscsi::FORMAT
};

/// Written by `flashkeep convert --to tape`.
pub(super) const TAPE: Format = Format {
    name: "tape",
    about: "Flashkeep's own binary recordings (docs/traces.md)",
    time: "times in ns",
    ranges: "addresses and sizes in sectors",
    columns: "",
    detect: |_| false,
    open: |options| {
        let columns = "time=ns,op,device,lba=sectors,size=sectors,stream".parse().expect("these are known");
        (columns::FORMAT.open)(&ReadOptions { columns: Some(columns), ..options.clone() })
    },
    binary: Some(|bytes| lines(bytes, TapeReader::new())),
};

impl Records for TapeReader {
    fn next(&mut self, bytes: &mut Bytes, line: &mut Vec<u8>) -> Result<bool> {
        use vocab::{Fua, HostOp};
        let Some(record) = Self::next(self, bytes)? else { return Ok(false) };
        let op = match record.op {
            HostOp::Read => "R",
            HostOp::Write(Fua::No) => "W",
            HostOp::Write(Fua::Yes) => "WF",
            HostOp::Discard => "D",
            HostOp::Flush => "F",
        };
        let (at, device, first, sectors, stream) = (record.at.0, record.device, record.lba.0, record.sectors, record.stream.0);
        line.extend_from_slice(format!("{at},{op},{device},{first},{sectors},{stream}\n").as_bytes());
        Ok(true)
    }
}

/// Which binary format the first bytes of a file are.
pub(crate) fn sniff(prefix: &[u8]) -> Option<&'static Format> {
    /// Records that are looked at: chance does not repeat itself this often.
    const LOOKED: usize = 4;
    // Another version is told from other files, too.
    if prefix.starts_with(&MAGIC[..MAGIC.len() - 1]) {
        return super::FORMATS.iter().find(|format| format.name == TAPE.name);
    }
    if Order::of(prefix).is_some() {
        return super::FORMATS.iter().find(|format| format.name == BLKTRACE.name);
    }
    let is = |size: usize, version: usize, number: u8| {
        let records = prefix.chunks_exact(size).take(LOOKED);
        let fits = |record: &[u8]| record[version + 1] == number && record[version - 1] == 0 && record[version - 2] != 0;
        prefix.len() >= LOOKED * size && records.into_iter().all(fits)
    };
    let name = match () {
        () if is(32, 14, 1) => VSCSI_1.name,
        () if is(40, 2, 2) => VSCSI_2.name,
        () => return None,
    };
    super::FORMATS.iter().find(|format| format.name == name)
}

/// Writes records as lines.
trait Records: Send {
    /// Reads a record and appends its line; false at the end.
    fn next(&mut self, bytes: &mut Bytes, line: &mut Vec<u8>) -> Result<bool>;
}

fn lines(bytes: Bytes, records: impl Records + 'static) -> Bytes {
    Box::new(AsLines { bytes, records, line: Cursor::new(Vec::new()) })
}

struct AsLines<R> {
    bytes: Bytes,
    records: R,
    line: Cursor<Vec<u8>>,
}

impl<R: Records> Read for AsLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.line.read(buffer)? {
                0 if buffer.is_empty() => return Ok(0),
                0 => {
                    let mut line = std::mem::take(self.line.get_mut());
                    line.clear();
                    let goes_on = self.records.next(&mut self.bytes, &mut line)?;
                    self.line = Cursor::new(line);
                    if !goes_on {
                        return Ok(0);
                    }
                }
                count => return Ok(count),
            }
        }
    }
}

/// The files of several processors as the lines of one, in the order of time.
pub(crate) fn merged(files: Vec<Bytes>) -> Bytes {
    let heads = files.into_iter().map(|bytes| Head { bytes, records: Blktrace::default(), line: None }).collect();
    lines(Box::new(std::io::empty()), Merged { heads, is_begun: false, damage: None })
}

struct Head {
    bytes: Bytes,
    records: Blktrace,
    /// The next record as a line, with its time; `None` at the end.
    line: Option<(u64, Vec<u8>)>,
}

impl Head {
    fn advance(&mut self) -> Result<()> {
        let mut line = Vec::new();
        self.line = self.records.next(&mut self.bytes, &mut line)?.then_some((self.records.time, line));
        Ok(())
    }
}

struct Merged {
    heads: Vec<Head>,
    is_begun: bool,
    /// Found behind a record that was handed out: it is told in its place.
    damage: Option<std::io::Error>,
}

impl Records for Merged {
    fn next(&mut self, _: &mut Bytes, line: &mut Vec<u8>) -> Result<bool> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            self.heads.iter_mut().try_for_each(Head::advance)?;
        }
        let waiting = self.heads.iter_mut().filter(|head| head.line.is_some());
        let Some(first) = waiting.min_by_key(|head| head.line.as_ref().map(|(time, _)| *time)) else { return Ok(false) };
        if let Some((_, first)) = first.line.take() {
            *line = first;
        }
        self.damage = first.advance().err();
        Ok(true)
    }
}

/// Reads this many bytes; false at the end of the file. A record that is cut is an error.
fn fill(bytes: &mut Bytes, record: &mut [u8]) -> Result<bool> {
    let mut filled = 0;
    while filled < record.len() {
        match bytes.read(&mut record[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(std::io::Error::new(ErrorKind::UnexpectedEof, "the last record is cut short")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| record[at + index]))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| record[at + index]))
}

/// Byte order of the machine that recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// The order of a record of blktrace: its magic is 0x65617400, with the version in the last byte.
    fn of(record: &[u8]) -> Option<Self> {
        match record.get(..4)? {
            [version, b't', b'a', b'e'] if *version < 32 => Some(Self::Little),
            [b'e', b'a', b't', version] if *version < 32 => Some(Self::Big),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Blktrace {
    sequence: u64,
    /// Of the last record, in nanoseconds.
    time: u64,
}

/// The version whose fields are read: others have other fields.
const BLKTRACE_VERSION: u8 = 7;

/// Bytes of a record without what follows it.
const BLKTRACE_RECORD: usize = 48;

impl Records for Blktrace {
    fn next(&mut self, bytes: &mut Bytes, line: &mut Vec<u8>) -> Result<bool> {
        let mut record = [0; BLKTRACE_RECORD];
        if !fill(bytes, &mut record)? {
            return Ok(false);
        }
        let order = Order::of(&record).ok_or_else(|| {
            let number = self.sequence + 1;
            std::io::Error::new(ErrorKind::InvalidData, format!("record {number} begins with no magic of blktrace"))
        })?;
        let version = if order == Order::Big { record[3] } else { record[0] };
        if version != BLKTRACE_VERSION {
            let number = self.sequence + 1;
            let message = format!("record {number} is of version {version} of blktrace's format; {BLKTRACE_VERSION} is read");
            return Err(std::io::Error::new(ErrorKind::InvalidData, message));
        }
        if order == Order::Big {
            // Fields by their sizes: four, four, eight, eight, four, four, four, four, four, two, two.
            for (at, size) in [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4), (40, 4), (44, 2), (46, 2)] {
                record[at..at + size].reverse();
            }
        }
        self.sequence += 1;
        let mut skipped = [0; 64];
        let mut left = usize::from(u16_at(&record, 46));
        while left > 0 {
            let part = left.min(skipped.len());
            if !fill(bytes, &mut skipped[..part])? {
                return Err(std::io::Error::new(ErrorKind::UnexpectedEof, "the last record is cut short"));
            }
            left -= part;
        }
        self.time = u64_at(&record, 8);
        self.write(&record, line);
        Ok(true)
    }
}

impl Blktrace {
    fn write(&self, record: &[u8], line: &mut Vec<u8>) {
        let (time, sector, bytes, action) = (self.time, u64_at(record, 16), u32_at(record, 24), u32_at(record, 28));
        let (pid, device, cpu) = (u32_at(record, 32), u32_at(record, 36), u32_at(record, 40));
        let category = action >> 16;
        let is = |bit: u32| category & (1 << bit) != 0;
        // BLK_TC_NOTIFY: a message, no request. BLK_TC_PC: a command that is passed through.
        let letter = match action & 0xff {
            _ if is(10) || is(9) => "m",
            1 => "Q",
            7 => "D",
            8 => "C",
            _ => "X",
        };
        let mut rwbs = String::new();
        // In the order of blkparse: BLK_TC_FLUSH before, BLK_TC_FUA, AHEAD, SYNC and META behind.
        let has_data = bytes > 0;
        if is(2) {
            rwbs.push('F');
        }
        rwbs.push(match () {
            () if is(13) => 'D',
            () if is(1) && has_data => 'W',
            () if is(0) && has_data => 'R',
            () => 'N',
        });
        [(15, 'F'), (11, 'A'), (3, 'S'), (12, 'M')].iter().filter(|(bit, _)| is(*bit)).for_each(|(_, letter)| rwbs.push(*letter));
        let (major, minor) = (device >> 20, device & 0xf_ffff);
        let sectors = bytes.div_ceil(512);
        let (seconds, nanos, number) = (time / 1_000_000_000, time % 1_000_000_000, self.sequence);
        let text =
            format!("{major},{minor} {cpu} {number} {seconds}.{nanos:09} {pid} {letter} {rwbs} {sector} + {sectors} [{pid}]\n");
        line.extend_from_slice(text.as_bytes());
    }
}

#[derive(Default)]
struct OracleGeneral {
    places: rustc_hash::FxHashMap<u64, (u64, u32)>,
    /// Behind the last object, in sectors.
    end: u64,
}

/// Most objects of a recording.
const OBJECTS_MAX: usize = 1 << 22;

impl Records for OracleGeneral {
    fn next(&mut self, bytes: &mut Bytes, line: &mut Vec<u8>) -> Result<bool> {
        let mut record = [0; 24];
        if !fill(bytes, &mut record)? {
            return Ok(false);
        }
        let (time, object, size) = (u32_at(&record, 0), u64_at(&record, 4), u32_at(&record, 12));
        if self.places.len() == OBJECTS_MAX && !self.places.contains_key(&object) {
            let message = format!("there are more than {OBJECTS_MAX} objects");
            return Err(std::io::Error::new(ErrorKind::InvalidData, message));
        }
        let end = &mut self.end;
        let (first, room) = *self.places.entry(object).or_insert_with(|| {
            let first = *end;
            // Slots of 4 KiB, so that no two objects share one.
            *end += u64::from(size.div_ceil(4096).max(1)) * 8;
            (first, size)
        });
        // An object that has grown is read as far as its room goes.
        let size = if size.div_ceil(4096) > room.div_ceil(4096) { room } else { size };
        line.extend_from_slice(format!("0,{first},{size},r,{time}\n").as_bytes());
        Ok(true)
    }
}

/// Where the fields of a vSCSI record are.
struct Vscsi {
    size: usize,
    op: usize,
    len: usize,
    lbn: usize,
    time: usize,
}

impl Records for Vscsi {
    fn next(&mut self, bytes: &mut Bytes, line: &mut Vec<u8>) -> Result<bool> {
        let mut record = [0; 40];
        let record = &mut record[..self.size];
        if !fill(bytes, record)? {
            return Ok(false);
        }
        let (op, len) = (u16_at(record, self.op) & 0xff, u32_at(record, self.len));
        let (lbn, time) = (u64_at(record, self.lbn), u64_at(record, self.time));
        line.extend_from_slice(format!("1,{time},{op:02x},{len},{lbn}\n").as_bytes());
        Ok(true)
    }
}
