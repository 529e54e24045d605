//! Lines of bounded length from any byte stream.

use crate::TraceError;
use std::io::{BufRead, BufReader, ErrorKind, Read};

/// Longest line of a text trace in bytes.
pub const LINE_LIMIT: usize = 64 << 10;

/// The lines of one file, numbered from 1, without their line ends (LF or CRLF).
pub(crate) struct Lines {
    file: String,
    reader: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub fn new(file: String, bytes: Box<dyn Read + Send>) -> Self {
        Self { file, reader: BufReader::with_capacity(1 << 16, bytes), line: Vec::new(), number: 0 }
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// Number of the current line; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The current line.
    pub fn current(&self) -> &[u8] {
        &self.line
    }

    /// Moves to the next line; false at the end.
    pub fn advance(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        let mut any = false;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(TraceError::Read { file: self.file.clone(), after_line: self.number, reason: error.to_string() });
                }
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            if self.line.len() + taken > LINE_LIMIT {
                return Err(TraceError::LongLine { file: self.file.clone(), line: self.number + 1, limit: LINE_LIMIT });
            }
            self.line.extend_from_slice(&chunk[..taken]);
            let used = taken + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        if any {
            self.number += 1;
            self.trim();
        }
        Ok(any)
    }

    fn trim(&mut self) {
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        // Windows tools put a byte order mark before the first line.
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static [u8]) -> Lines {
        Lines::new("t".into(), Box::new(text))
    }

    #[test]
    fn lines_lose_their_ends_and_a_last_line_needs_none() {
        let mut lines = lines(b"\xef\xbb\xbfa\r\n\nb");
        let mut seen = Vec::new();
        while lines.advance().unwrap() {
            seen.push((lines.number(), lines.current().to_vec()));
        }
        assert_eq!(seen, [(1, b"a".to_vec()), (2, b"".to_vec()), (3, b"b".to_vec())]);
    }

    #[test]
    fn an_endless_line_is_an_error_that_names_it_and_keeps_memory_bounded() {
        let bytes = std::io::Cursor::new(b"1\n").chain(std::io::repeat(b'x'));
        let mut lines = Lines::new("t".into(), Box::new(bytes));
        assert!(lines.advance().unwrap());
        assert!(matches!(lines.advance(), Err(TraceError::LongLine { line: 2, .. })));
        assert!(lines.line.capacity() <= 2 * LINE_LIMIT);
    }
}
