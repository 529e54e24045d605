//! Errors of traces, with their places.

use thiserror::Error;
use vocab::{Bytes, Nanos};

/// Longest part of the input an error repeats, in bytes before escaping.
const FOUND_LIMIT: usize = 48;

/// The text that was found, in its marks; nothing where there is none.
fn quoted(found: &str) -> String {
    if found.is_empty() { String::new() } else { format!(" `{found}`") }
}

/// Why a trace cannot be used. Texts taken from the input are shortened and escaped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{file}: cannot be opened: {reason}")]
    Open {
        /// Name of the file.
        file: String,
        /// The reason that the operating system gives.
        reason: String,
    },
    /// Reading or decompressing fails part-way.
    #[error("{file}: cannot be read beyond its line or record {after_line}: {reason}")]
    Read {
        /// Name of the file.
        file: String,
        /// The last line, or record of a binary file, that was read whole; 0 where there is none.
        after_line: u64,
        /// The reason that the operating system or the decompressor gives.
        reason: String,
    },
    /// A line is longer than [`crate::LINE_LIMIT`].
    #[error("{file}, line {line}: longer than {limit} bytes, so this is no text trace")]
    LongLine {
        /// Name of the file.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// Bytes a line may have.
        limit: usize,
    },
    /// A field of a line is not what the format says.
    #[error("{file}, line {line}, field `{field}`: found `{found}`, wanted {wanted}")]
    Field {
        /// Name of the file.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// Name of the column.
        field: &'static str,
        /// The text found there, shortened and escaped.
        found: String,
        /// Valid values.
        wanted: String,
    },
    /// An option of a description of a workload cannot be used.
    #[error("{file}, line {line}, option `{option}`: {message}")]
    Option {
        /// Name of the file.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// The option, shortened and escaped.
        option: String,
        /// The value found, and the valid ones.
        message: String,
        /// The known name that was probably meant.
        meant: Option<String>,
    },
    /// The file has lines but not one request.
    #[error("{file}: no request of format `{format}` in {lines} lines ({hint})")]
    Empty {
        /// Name of the file.
        file: String,
        /// Format it was read as.
        format: &'static str,
        /// Lines read.
        lines: u64,
        /// The lines that the format looks for.
        hint: String,
    },
    /// No format has this name.
    #[error("no trace format is called `{name}`; known are auto, {known}")]
    UnknownFormat {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },
    /// The file is no text.
    #[error("{file}: found {found}, wanted a text trace, plain or packed by gzip, xz or zstd")]
    Foreign {
        /// Name of the file.
        file: String,
        /// Its kind, and the remedy.
        found: &'static str,
    },
    /// A description of columns that cannot be used.
    #[error("columns{}: {reason}", quoted(found))]
    Columns {
        /// The description, shortened and escaped; empty where there is none.
        found: String,
        /// The fault, and valid values.
        reason: String,
    },
    /// The first lines fit no format.
    #[error(
        "{file}, line {line}: `{found}` fits no known trace format; name one of {known}, or the columns of a CSV file \
         with `--columns time=us,op,lba=bytes,size=bytes`"
    )]
    Undetected {
        /// Name of the file.
        file: String,
        /// First line that is not blank, counted from 1.
        line: u64,
        /// The text found there, shortened and escaped.
        found: String,
        /// All names.
        known: String,
    },
    /// The first lines fit several formats that differ in their units.
    #[error(
        "{file}: the columns alone do not tell the units; name one with `--format`: {variants}. \
         `flashkeep inspect` shows duration and request rate of each: take the plausible one"
    )]
    Ambiguous {
        /// Name of the file.
        file: String,
        /// The names that fit, each with its units.
        variants: String,
    },
    /// No bundled trace has this name.
    #[error("no bundled trace is called `{name}`; known are {known}")]
    UnknownBundled {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },
    /// A page size that is no page size.
    #[error("slot size {found} is invalid: wanted a multiple of 512B up to 1GiB")]
    SlotSize {
        /// The size given.
        found: Bytes,
    },
    /// The touched addresses are too scattered to keep in memory.
    #[error("the trace touches more than {limit} separate runs of slots; cut it or use larger slots")]
    FootprintTooLarge {
        /// Runs that may be kept.
        limit: usize,
    },
    /// The drive is smaller than what the trace touches.
    #[error("the trace touches {needed}, the drive has {capacity}: take a larger drive or fold addresses")]
    DoesNotFit {
        /// Bytes of all touched slots.
        needed: Bytes,
        /// Bytes of the drive.
        capacity: Bytes,
    },
    /// A record is mapped that the footprint does not cover.
    #[error("device {device}, {sectors} sectors at {lba}: not in the footprint; it was scanned from another trace")]
    OutsideFootprint {
        /// Device of the record.
        device: u32,
        /// First sector of the record.
        lba: u64,
        /// Length of the record in sectors.
        sectors: u32,
    },
    /// Looping or scaling carries a time beyond what virtual time can say.
    #[error(
        "request {request} comes more than {} days (73 years) after the first, and no later one is valid: \
         fewer loops, a smaller time scale or shorter gaps are needed",
        .limit.0 / 86_400_000_000_000
    )]
    TimeOverflow {
        /// Number of the request, counted from 1.
        request: u64,
        /// Largest time.
        limit: Nanos,
    },
    /// A time scale that is no positive number.
    #[error("time scale `{found}` is invalid: wanted a number above 0 and at most 1e9")]
    TimeScale {
        /// The given value.
        found: String,
    },
}

impl TraceError {
    /// File, line (from 1) and field at fault, as far as they are known.
    #[must_use]
    pub fn place(&self) -> Option<(&str, Option<u64>, Option<&str>)> {
        match self {
            Self::Open { file, .. } | Self::Foreign { file, .. } | Self::Empty { file, .. } | Self::Ambiguous { file, .. } => {
                Some((file, None, None))
            }
            Self::Read { file, after_line, .. } => Some((file, Some(*after_line), None)),
            Self::LongLine { file, line, .. } | Self::Undetected { file, line, .. } => Some((file, Some(*line), None)),
            Self::Field { file, line, field, .. } => Some((file, Some(*line), Some(field))),
            Self::Option { file, line, option, .. } => Some((file, Some(*line), Some(option))),
            _ => None,
        }
    }
}

/// A field at fault, before file and line are known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bad {
    pub field: &'static str,
    pub found: String,
    pub wanted: String,
}

impl Bad {
    pub fn new(field: &'static str, found: &[u8], wanted: impl Into<String>) -> Self {
        Bad { field, found: shown(found), wanted: wanted.into() }
    }

    pub fn at(self, file: &str, line: u64) -> TraceError {
        TraceError::Field { file: file.to_owned(), line, field: self.field, found: self.found, wanted: self.wanted }
    }
}

/// Input as an error may repeat it: short, and without bytes a terminal would act on.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(FOUND_LIMIT)];
    let dots = if cut.len() < bytes.len() { "..." } else { "" };
    format!("{}{dots}", cut.escape_ascii())
}
