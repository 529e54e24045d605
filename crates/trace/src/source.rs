//! A trace that can be opened again and again.

use crate::bundled;
use crate::decompress::decompressed;
use crate::foreign::foreign;
use crate::format::{self, Format};
use crate::lines::Lines;
use crate::{ReadOptions, TraceError, TraceReader};
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes at the start of a file that detection looks at.
const PREFIX: u64 = 64 << 10;

#[derive(Clone, Debug)]
enum Input {
    Path(PathBuf),
    Static(&'static [u8]),
    Shared(Arc<[u8]>),
}

/// Where a trace lies and how to read it. Compressed files (.gz, .xz, .zst) are told by their
/// content, not their name.
#[derive(Clone, Debug)]
pub struct TraceSource {
    name: String,
    input: Input,
    /// `None` detects.
    format: Option<&'static Format>,
    options: ReadOptions,
}

/// A file that was opened.
struct Begun {
    prefix: Vec<u8>,
    rest: Box<dyn Read + Send>,
    format: Option<&'static Format>,
}

/// A path as errors name it: a hostile name must not reach the terminal raw.
fn name_of(path: &Path) -> String {
    path.to_string_lossy().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

impl TraceSource {
    /// A file.
    #[must_use]
    pub fn path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { name: name_of(&path), input: Input::Path(path), format: None, options: ReadOptions::default() }
    }

    /// Bytes in memory; `name` stands for the file in errors.
    #[must_use]
    pub fn bytes(name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: name.to_owned(), input: Input::Shared(bytes.into()), format: None, options: ReadOptions::default() }
    }

    /// A trace that comes with this crate.
    ///
    /// # Errors
    /// An unknown name; the error lists the known ones.
    pub fn bundled(name: &str) -> Result<Self, TraceError> {
        let trace = bundled::named(name)?;
        let source = Self {
            name: trace.name.to_owned(),
            input: Input::Static(trace.bytes),
            format: None,
            options: ReadOptions::default(),
        };
        source.with_format(trace.format)
    }

    /// Reads as the format called `name`; `auto` detects it from the first lines.
    ///
    /// # Errors
    /// An unknown name; the error lists the known ones.
    pub fn with_format(mut self, name: &str) -> Result<Self, TraceError> {
        self.format = if name == "auto" { None } else { Some(format::named(name)?) };
        Ok(self)
    }

    /// Reads with these options.
    #[must_use]
    pub fn with_options(mut self, options: ReadOptions) -> Self {
        self.options = options;
        self
    }

    /// The name errors use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The formats that the first lines fit, in the order of the list; one alone where a format was named.
    ///
    /// # Errors
    /// The file cannot be opened or decompressed, or is no trace.
    pub fn fitting(&self) -> Result<Vec<&'static Format>, TraceError> {
        let begun = self.begin()?;
        Ok(match begun.format {
            Some(format) => vec![format],
            None => format::fitting(whole_lines(&begun.prefix)),
        })
    }

    /// Starts reading from the beginning. Box the reader where the type must not show.
    ///
    /// # Errors
    /// The file cannot be opened or decompressed, is no trace, or its format cannot be told.
    pub fn open(&self) -> Result<TraceReader, TraceError> {
        let begun = self.begin()?;
        let format = match begun.format {
            Some(format) => format,
            None => format::detect(&self.name, whole_lines(&begun.prefix))?,
        };
        format::columns::check(format, &self.options)?;
        let plain: Box<dyn Read + Send> = Box::new(Cursor::new(begun.prefix).chain(begun.rest));
        let plain = match format.binary {
            None => plain,
            Some(_) if format.name == "blktrace" => {
                let others = self
                    .siblings()
                    .into_iter()
                    .map(|path| Self { name: name_of(&path), input: Input::Path(path), ..self.clone() }.plain_bytes());
                format::binary::merged(std::iter::once(Ok(plain)).chain(others).collect::<Result<_, _>>()?)
            }
            Some(as_lines) => as_lines(plain),
        };
        Ok(TraceReader::new(Lines::new(self.name.clone(), plain), format, &self.options))
    }

    /// The files that blktrace wrote for other processors: `NAME.blktrace.1` and so on, beside `NAME.blktrace.0`.
    fn siblings(&self) -> Vec<PathBuf> {
        /// Processors of a machine.
        const PROCESSORS: usize = 1024;
        let Input::Path(path) = &self.input else { return Vec::new() };
        let Some(stem) = path.to_str().and_then(|path| path.strip_suffix(".blktrace.0")) else { return Vec::new() };
        let others = (1..PROCESSORS).map(|number| PathBuf::from(format!("{stem}.blktrace.{number}")));
        others.take_while(|other| other.is_file()).collect()
    }

    /// The first bytes and the rest, and the format, where it was named or is told by these bytes.
    fn begin(&self) -> Result<Begun, TraceError> {
        let mut plain = self.plain_bytes()?;
        let mut prefix = Vec::new();
        plain.by_ref().take(PREFIX).read_to_end(&mut prefix).map_err(|error| self.unreadable(&error))?;
        let format = self.format.or_else(|| format::binary::sniff(&prefix));
        let is_binary = format.is_some_and(|format| format.binary.is_some()) && !prefix.is_empty();
        match foreign(&prefix).filter(|_| !is_binary) {
            Some(found) => Err(TraceError::Foreign { file: self.name.clone(), found }),
            None => Ok(Begun { prefix, rest: plain, format }),
        }
    }

    fn plain_bytes(&self) -> Result<Box<dyn Read + Send>, TraceError> {
        let source: Box<dyn Read + Send> = match &self.input {
            Input::Path(path) => Box::new(self.file(path)?),
            Input::Static(bytes) => Box::new(Cursor::new(*bytes)),
            Input::Shared(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        };
        decompressed(source).map_err(|error| self.unreadable(&error))
    }

    fn file(&self, path: &Path) -> Result<File, TraceError> {
        let open_error = |reason: String| TraceError::Open { file: self.name.clone(), reason };
        let metadata = std::fs::metadata(path).map_err(|error| open_error(error.to_string()))?;
        if metadata.is_dir() {
            return Err(open_error(String::from("it is a directory, wanted the file of a trace")));
        }
        // A pipe could block for ever, and cannot be read a second time.
        if !metadata.is_file() {
            return Err(open_error(String::from("not a regular file, and a trace is read more than once")));
        }
        File::open(path).map_err(|error| open_error(error.to_string()))
    }

    fn unreadable(&self, error: &std::io::Error) -> TraceError {
        TraceError::Read { file: self.name.clone(), after_line: 0, reason: error.to_string() }
    }
}

/// The lines of the first bytes of a file that are there to their ends.
fn whole_lines(prefix: &[u8]) -> &[u8] {
    match prefix.iter().rposition(|&byte| byte == b'\n') {
        Some(end) if prefix.len() as u64 == PREFIX => &prefix[..end],
        _ => prefix,
    }
}
