//! The registry of trace formats: one file and one line in [`FORMATS`] add one.

mod alibaba;
pub(crate) mod binary;
mod biosnoop;
mod biotracer;
mod blkparse;
mod blkreplay;
pub(crate) mod columns;
mod diskmon;
mod disksim;
mod etw;
mod fio;
mod fiu;
mod ftrace;
mod msr;
mod options;
mod pixel;
mod spc;
mod systor;
mod tectonic;
mod tencent;
mod vscsi;

use crate::TraceError;
use crate::error::{Bad, shown};
use crate::record::Raw;
use crate::tape_file::Bytes;
use std::collections::BTreeMap;

pub use blkparse::BlkAction;
pub use options::{ReadOptions, SORTED_LIMIT};

/// A trace format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what it is and where it comes from.
    pub about: &'static str,
    /// Unit of its times.
    pub time: &'static str,
    /// Units of its addresses and sizes.
    pub ranges: &'static str,
    /// Its columns as a CSV file with named columns has them, to read them in other units; empty where it has no columns.
    pub columns: &'static str,
    /// Whether the first lines look like it.
    pub(crate) detect: fn(&[&[u8]]) -> bool,
    /// A parser at the start of a file.
    pub(crate) open: fn(&ReadOptions) -> Box<dyn Parser>,
    /// Where the file is no text: its records as lines of text.
    pub(crate) binary: Option<fn(Bytes) -> Bytes>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Format({})", self.name)
    }
}

/// All formats, in the order they are listed.
pub const FORMATS: &[Format] = &[
    blkparse::FORMAT,
    spc::FORMAT,
    disksim::MS_SECTORS,
    disksim::MS_PAGES4K,
    disksim::MS_BYTES,
    disksim::US_SECTORS,
    disksim::NS_SECTORS,
    disksim::PS_SECTORS,
    msr::FORMAT,
    blkreplay::FORMAT,
    vscsi::FORMAT,
    diskmon::FORMAT,
    pixel::FORMAT,
    biotracer::FORMAT,
    fiu::FORMAT,
    fio::FORMAT,
    alibaba::FORMAT,
    tencent::FORMAT,
    systor::FORMAT,
    etw::FORMAT,
    ftrace::FORMAT,
    biosnoop::FORMAT,
    tectonic::FORMAT,
    binary::BLKTRACE,
    binary::ORACLE_GENERAL,
    binary::VSCSI_1,
    binary::VSCSI_2,
    columns::FORMAT,
    binary::TAPE,
];

/// Kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// One or more requests.
    Requests,
    /// A request that asks for nothing or that has no counterpart here; counted.
    Ignored,
    /// A header, a summary, another event.
    NoRequest,
}

/// Reads one format line by line; remembers what earlier lines said.
pub(crate) trait Parser: Send {
    /// Appends the requests of `line` to `out`, in the order they take effect.
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad>;

    /// A hint for a file in which the format finds nothing: the lines that it looks for.
    fn looks_for(&self) -> String {
        String::from("every line is blank or a header")
    }
}

/// Finds the format called `name`.
///
/// # Errors
/// An unknown name; the error lists the known ones.
pub fn named(name: &str) -> Result<&'static Format, TraceError> {
    let unknown = || TraceError::UnknownFormat { name: shown(name.as_bytes()), known: names() };
    FORMATS.iter().find(|format| format.name == name).ok_or_else(unknown)
}

/// All names, separated by commas.
fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The first lines of a file, without a byte order mark.
fn lines(prefix: &[u8]) -> Vec<&[u8]> {
    let prefix = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix);
    prefix.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).collect()
}

/// Lines that decide between formats whose first line fits.
const TRIED: usize = 200;

/// The formats that the first lines of a file fit, in the order of the list: those that most of these lines fit.
pub(crate) fn fitting(prefix: &[u8]) -> Vec<&'static Format> {
    let filled: Vec<&[u8]> = lines(prefix).into_iter().filter(|line| !line.is_empty()).collect();
    // A header that names its format is not outweighed by damaged lines.
    if fio::is_log(&filled) {
        return FORMATS.iter().filter(|format| format.name == fio::FORMAT.name).collect();
    }
    let found = FORMATS.iter().filter(|format| (format.detect)(&filled));
    let found: Vec<(&Format, usize)> = found.map(|format| (format, misfits(format, &filled))).collect();
    let least = found.iter().map(|(_, misfits)| *misfits).min().unwrap_or(0);
    let tried = filled.len().min(TRIED);
    // A line that fits by chance is not enough.
    found.into_iter().filter(|(_, misfits)| *misfits == least && 2 * misfits <= tried).map(|(format, _)| format).collect()
}

/// Of the first lines those that a format cannot read. The last one tried may be cut.
fn misfits(format: &Format, filled: &[&[u8]]) -> usize {
    let (mut parser, mut out) = ((format.open)(&ReadOptions::default()), Vec::new());
    let tried = &filled[..filled.len().min(TRIED)];
    let cannot = |line: &&&[u8]| {
        out.clear();
        parser.line(line, &mut out).is_err()
    };
    tried.iter().filter(cannot).count()
}

/// The one format that the first lines of a file fit.
pub(crate) fn detect(file: &str, prefix: &[u8]) -> Result<&'static Format, TraceError> {
    let lines = lines(prefix);
    match fitting(prefix)[..] {
        [one] => Ok(one),
        [] => {
            let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
            let found = shown(lines.get(first).copied().unwrap_or_default());
            Err(TraceError::Undetected { file: file.to_owned(), line: first as u64 + 1, found, known: names() })
        }
        ref several => {
            let described = |format: &&Format| format!("{} ({}, {})", format.name, format.time, format.ranges);
            let variants = several.iter().map(described).collect::<Vec<_>>().join("; ");
            Err(TraceError::Ambiguous { file: file.to_owned(), variants })
        }
    }
}

/// Whether `parser` finds a request in `lines` before it meets anything it cannot read.
pub(crate) fn first_is_request(mut parser: impl Parser, lines: &[&[u8]]) -> bool {
    let mut out = Vec::new();
    for line in lines {
        match parser.line(line, &mut out) {
            Ok(Taken::Requests) => return true,
            Ok(Taken::NoRequest | Taken::Ignored) => {}
            Err(_) => return false,
        }
    }
    false
}

/// Numbers given to device names in order of appearance.
#[derive(Default)]
pub(crate) struct Names {
    numbers: BTreeMap<Vec<u8>, u64>,
}

impl Names {
    /// Longest name kept, and most names: hostile files name millions.
    const LENGTH_LIMIT: usize = 4096;

    pub fn number(&mut self, field: crate::field::Field<'_>) -> Result<u64, Bad> {
        if let Some(&number) = self.numbers.get(field.bytes) {
            return Ok(number);
        }
        if field.bytes.is_empty() || field.bytes.len() > Self::LENGTH_LIMIT {
            return Err(field.bad("a name of 1 to 4096 bytes"));
        }
        if self.numbers.len() >= crate::record::DEVICES_LIMIT {
            return Err(field.bad(format!("at most {} different names", crate::record::DEVICES_LIMIT)));
        }
        let number = self.numbers.len() as u64;
        self.numbers.insert(field.bytes.to_vec(), number);
        Ok(number)
    }
}
