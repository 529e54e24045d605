//! Reading a recording back ([`crate::record`] says what it is). It may be damaged, or of somebody else.

use crate::directory::ServeError;
use crate::record::{Recorder, data_of};
use lab::served::{DiskRequest, SECTOR};
use std::fmt;
use std::fs;
use std::path::Path;
use vocab::Fua;

/// What clients asked, in order.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The requests.
    pub requests: Vec<Recorded>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The request itself.
    pub request: DiskRequest,
}

impl Recorded {
    /// Whether it may change what the drive holds.
    #[must_use]
    pub fn changes(&self) -> bool {
        !matches!(self.request, DiskRequest::Read { .. })
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |sectors: u64| sectors * SECTOR as u64;
        match &self.request {
            DiskRequest::Read { sector, sectors } => write!(f, "read {} bytes at {}", bytes((*sectors).into()), bytes(*sector)),
            DiskRequest::Write { sector, data, fua: Fua::No } => write!(f, "write {} bytes at {}", data.len(), bytes(*sector)),
            DiskRequest::Write { sector, data, fua: Fua::Yes } => {
                write!(f, "write {} bytes at {}, forced", data.len(), bytes(*sector))
            }
            DiskRequest::Flush => write!(f, "flush"),
            DiskRequest::Discard { sector, sectors } => {
                write!(f, "discard {} bytes at {}", bytes((*sectors).into()), bytes(*sector))
            }
        }
    }
}

/// Largest request of a recording, in bytes.
const REQUEST_MAX: u64 = 1 << 30;

impl Recording {
    /// Reads the log at `path` and the data beside it.
    ///
    /// # Errors
    /// Names the line that makes no sense.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let file = |path: &Path| {
            let path = path.to_owned();
            move |error| ServeError::File(path, "read", error)
        };
        let text = fs::read_to_string(path).map_err(file(path))?;
        let data = fs::read(data_of(path)).map_err(file(&data_of(path)))?;
        Self::parse(&text, &data).map_err(|what| ServeError::Other(format!("{}: {what}", path.display())))
    }

    /// Writes it, as it would have been recorded, with a microsecond between two requests. What is there is replaced.
    ///
    /// # Errors
    /// If there is no room.
    pub fn write(&self, path: &Path) -> Result<(), ServeError> {
        let file = |doing| move |error| ServeError::File(path.to_owned(), doing, error);
        for old in [path, &data_of(path)].into_iter().filter(|old| old.exists()) {
            fs::remove_file(old).map_err(file("remove"))?;
        }
        let mut recorder = Recorder::new(path).map_err(file("write"))?;
        (0..).zip(&self.requests).for_each(|(us, recorded)| recorder.record_at(us, &recorded.request));
        recorder.finish().map(drop).map_err(file("write"))
    }

    fn parse(text: &str, data: &[u8]) -> Result<Self, String> {
        let (mut requests, mut left): (Vec<Recorded>, &[u8]) = (Vec::new(), data);
        let mut lines = (1..).zip(text.lines());
        match lines.next() {
            Some((_, "fio version 3 iolog")) => {}
            other => return Err(format!("line 1: found `{}`, wanted `fio version 3 iolog`", other.map_or("", |(_, line)| line))),
        }
        for (number, line) in lines {
            let request = match parse(line, &mut left).map_err(|what| format!("line {number}: {what}"))? {
                Line::Nothing => continue,
                Line::Request(request) => request,
                Line::Forced => match requests.last_mut() {
                    Some(Recorded { request: DiskRequest::Write { fua, .. } }) => {
                        *fua = Fua::Yes;
                        continue;
                    }
                    _ => return Err(format!("line {number}: a datasync that follows no write")),
                },
            };
            requests.push(Recorded { request });
        }
        if left.is_empty() { Ok(Self { requests }) } else { Err(format!("{} bytes of data are of no write", left.len())) }
    }
}

enum Line {
    Nothing,
    Request(DiskRequest),
    /// The write before was forced.
    Forced,
}

fn parse(line: &str, left: &mut &[u8]) -> Result<Line, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, _, action, rest @ ..] = &words[..] else { return Err("too few words".into()) };
    let number = |at: usize, name: &str| {
        let word = rest.get(at).copied().unwrap_or_default();
        let whole = |found: &u64| found.is_multiple_of(SECTOR as u64);
        word.parse().ok().filter(whole).ok_or_else(|| format!("{name}: found `{word}`, wanted a multiple of {SECTOR}"))
    };
    let range = || {
        let (offset, length) = (number(0, "offset")?, number(1, "length")?);
        if length == 0 || length > REQUEST_MAX {
            return Err(format!("length: found {length}, valid are {SECTOR} to {REQUEST_MAX}"));
        }
        Ok((offset / SECTOR as u64, length))
    };
    let sectors = |length: u64| (length / SECTOR as u64) as u32;
    Ok(match *action {
        "add" | "open" | "close" => Line::Nothing,
        "sync" => Line::Request(DiskRequest::Flush),
        "datasync" => Line::Forced,
        "read" => range().map(|(sector, length)| Line::Request(DiskRequest::Read { sector, sectors: sectors(length) }))?,
        "trim" => range().map(|(sector, length)| Line::Request(DiskRequest::Discard { sector, sectors: sectors(length) }))?,
        "write" => {
            let (sector, length) = range()?;
            let Some((data, rest)) = left.split_at_checked(length as usize) else {
                return Err(format!("{length} bytes are written, the data have {} more", left.len()));
            };
            *left = rest;
            Line::Request(DiskRequest::Write { sector, data: data.into(), fua: Fua::No })
        }
        other => return Err(format!("unknown action `{other}`")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_reads_back() {
        let path = std::env::temp_dir().join(format!("flashkeep-recording-{}", std::process::id()));
        for file in [path.clone(), data_of(&path)] {
            let _ = fs::remove_file(file);
        }
        let asked = [
            DiskRequest::Write { sector: 8, data: vec![1; 1024].into(), fua: Fua::No },
            DiskRequest::Flush,
            DiskRequest::Write { sector: 0, data: vec![2; 512].into(), fua: Fua::Yes },
            DiskRequest::Read { sector: 3, sectors: 2 },
            DiskRequest::Discard { sector: 8, sectors: 8 },
        ];
        let mut recorder = Recorder::new(&path).expect("a file");
        asked.iter().for_each(|request| recorder.record(request));
        assert_eq!(recorder.finish().expect("room"), 5);
        let read: Vec<DiskRequest> =
            Recording::read(&path).expect("it was written").requests.into_iter().map(|recorded| recorded.request).collect();
        assert_eq!(read, asked);
        for file in [path.clone(), data_of(&path)] {
            fs::remove_file(file).expect("it was written");
        }
    }

    #[test]
    fn damage_is_named_by_line() {
        let head = "fio version 3 iolog\n0 drive add\n";
        for (line, what) in [
            ("", "line 1: found ``"),
            ("x", "line 3: too few words"),
            ("0 drive write 0 513", "line 3: length: found `513`"),
            ("0 drive write 0 99999999999", "line 3: length: found"),
            ("0 drive write 0 512", "line 3: 512 bytes are written, the data have 0 more"),
            ("0 drive datasync 0 0", "line 3: a datasync that follows no write"),
            ("0 drive erase 0 512", "line 3: unknown action `erase`"),
            ("0 drive read -1 512", "line 3: offset"),
        ] {
            let text = if line.is_empty() { String::new() } else { format!("{head}{line}\n") };
            let error = Recording::parse(&text, &[]).map(drop).expect_err(line);
            assert!(error.starts_with(what), "{line}: {error}");
        }
        assert!(Recording::parse(head, &[0]).map(drop).expect_err("data").contains("1 bytes of data are of no write"));
    }
}
