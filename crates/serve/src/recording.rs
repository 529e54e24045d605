//! Reading a recording back ([`crate::record`] says what it is). It may be damaged, or of someone else.

use crate::directory::ServeError;
use crate::log_writes::{self, LeftOut};
use crate::record::{Recorder, data_of};
use crate::steps::{Held, Recording, Step};
use ssd::disk::{DiskRequest, SECTOR};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use vocab::Fua;

/// Largest request of a recording, in bytes.
const REQUEST_MAX: u64 = 1 << 30;

impl Recording {
    /// Reads the log at `path` and the data beside it, or a log of dm-log-writes.
    ///
    /// # Errors
    /// Names the line or entry that makes no sense.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let file = |path: &Path| {
            let path = path.to_owned();
            move |error| ServeError::File(path, "read", error)
        };
        if log_writes::is_log(path).map_err(file(path))? {
            return log_writes::read(path);
        }
        let log = fs::read(path).map_err(file(path))?;
        let named = |what| ServeError::Other(format!("{}: {what}", path.display()));
        let text =
            String::from_utf8(log).map_err(|error| named(format!("no text: byte {}", error.utf8_error().valid_up_to())))?;
        let data = fs::read(data_of(path)).map_err(file(&data_of(path)))?;
        Self::parse(&text, &data).map_err(named)
    }

    /// Writes it, as it would have been recorded, with a microsecond between two steps. A file that is there is replaced.
    ///
    /// # Errors
    /// If there is no room.
    pub fn write(&self, path: &Path) -> Result<(), ServeError> {
        let file = |doing| move |error| ServeError::File(path.to_owned(), doing, error);
        for old in [path, &data_of(path)].into_iter().filter(|old| old.exists()) {
            fs::remove_file(old).map_err(file("remove"))?;
        }
        let mut recorder = Recorder::new(path, self.size, self.held).map_err(file("write"))?;
        (0..).zip(&self.steps).for_each(|(us, step)| recorder.step_at(us, step));
        recorder.finish().map(drop).map_err(file("write"))
    }

    /// Writes it as a log of dm-log-writes. A file that is there is replaced.
    ///
    /// # Errors
    /// If there is no room, or a step after which the drive held other data: a log has no word for that.
    pub fn write_log_writes(&self, path: &Path) -> Result<LeftOut, ServeError> {
        log_writes::write(self, path)
    }

    fn parse(text: &str, data: &[u8]) -> Result<Self, String> {
        let mut lines = (1..).zip(text.split_inclusive('\n'));
        match lines.next().map(|(_, line)| line.trim_end()) {
            Some("fio version 3 iolog") => {}
            other => return Err(format!("line 1: found `{}`, wanted `fio version 3 iolog`", other.unwrap_or_default())),
        }
        let is_closed = text.lines().next_back().is_some_and(|line| line.ends_with(" drive close"));
        let mut reader = Reader { recording: Self { is_cut_short: !is_closed, ..Self::default() }, left: data, states: 0 };
        for (number, line) in lines {
            // Half a line was being written when the process was killed.
            if !is_closed && !line.ends_with('\n') {
                break;
            }
            match reader.line(line.trim_end()) {
                Ok(()) => {}
                Err(Bad::NoData(_)) if !is_closed => break,
                Err(Bad::NoData(what) | Bad::Line(what)) => return Err(format!("line {number}: {what}")),
            }
        }
        reader.end()
    }
}

/// Why a line is not taken.
enum Bad {
    Line(String),
    /// Its bytes are missing.
    NoData(String),
}

impl From<String> for Bad {
    fn from(what: String) -> Self {
        Self::Line(what)
    }
}

struct Reader<'a> {
    recording: Recording,
    left: &'a [u8],
    /// Pieces of what the drive held that are still to come.
    states: usize,
}

/// The word at a place as a number of bytes in whole sectors.
fn bytes(words: &[&str], at: usize, name: &str) -> Result<u64, String> {
    let word = words.get(at).copied().unwrap_or_default();
    let whole = |found: &u64| found.is_multiple_of(SECTOR as u64);
    word.parse().ok().filter(whole).ok_or_else(|| format!("{name}: found `{word}`, wanted a multiple of {SECTOR}"))
}

/// First sector and bytes of the range that two words name.
fn range(words: &[&str]) -> Result<(u64, u64), String> {
    let (offset, length) = (bytes(words, 0, "offset")?, bytes(words, 1, "length")?);
    if length == 0 || length > REQUEST_MAX {
        return Err(format!("length: found {length}, valid are {SECTOR} to {REQUEST_MAX}"));
    }
    if offset.checked_add(length).is_none() {
        return Err(format!("offset: found {offset}, which ends past 2^64"));
    }
    Ok((offset / SECTOR as u64, length))
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &str) -> Result<(), Bad> {
        let mut words = line.splitn(4, ' ');
        let (Some(_), Some(_), Some(action)) = (words.next(), words.next(), words.next()) else {
            return Err(Bad::Line("too few words".into()));
        };
        let rest = words.next().unwrap_or_default();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let sectors = |length: u64| (length / SECTOR as u64) as u32;
        let request = match action {
            "add" | "open" | "close" => return Ok(()),
            "note" => return self.note(rest, &words),
            "datasync" => return Ok(self.force()?),
            "sync" => DiskRequest::Flush,
            "read" => range(&words).map(|(sector, length)| DiskRequest::Read { sector, sectors: sectors(length) })?,
            "trim" => range(&words).map(|(sector, length)| DiskRequest::Discard { sector, sectors: sectors(length) })?,
            "write" => {
                let (sector, length) = range(&words)?;
                DiskRequest::Write { sector, data: self.data(length)?.into(), fua: Fua::No }
            }
            other => return Err(Bad::Line(format!("unknown action `{other}`"))),
        };
        self.push(Step::Request(request))
    }

    fn push(&mut self, step: Step) -> Result<(), Bad> {
        if self.states > 0 {
            return Err(Bad::Line(format!("{} `note holds` are missing before it", self.states)));
        }
        self.recording.steps.push(step);
        Ok(())
    }

    /// The write before had FUA.
    fn force(&mut self) -> Result<(), String> {
        match self.recording.steps.last_mut() {
            Some(Step::Request(DiskRequest::Write { fua, .. })) => *fua = Fua::Yes,
            _ => return Err("a datasync that follows no write".into()),
        }
        Ok(())
    }

    fn data(&mut self, length: u64) -> Result<&'a [u8], Bad> {
        let Some((data, rest)) = self.left.split_at_checked(length as usize) else {
            return Err(Bad::NoData(format!("{length} bytes are written, the data have {} more", self.left.len())));
        };
        self.left = rest;
        Ok(data)
    }

    fn note(&mut self, rest: &str, words: &[&str]) -> Result<(), Bad> {
        let (kind, text) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "size" => self.recording.size = Some(bytes(words, 1, "size")?),
            "held" => self.recording.held = true,
            "mark" if !text.is_empty() => return self.push(Step::Mark(text.to_owned())),
            "control" if !text.is_empty() => return self.push(Step::Control { words: text.to_owned(), held: None }),
            "state" => {
                self.states = text.parse().map_err(|_| format!("state: found `{text}`, wanted a number"))?;
                *self.held()? = Some(Arc::default());
            }
            "holds" => {
                let (sector, length) = range(&words[1..])?;
                let data = self.data(length)?;
                self.states = self.states.checked_sub(1).ok_or_else(|| "more `note holds` than `note state` says".to_owned())?;
                let held = self.held()?.get_or_insert_default();
                Arc::make_mut(held).push((sector, data.into()));
            }
            _ => {
                let known = "size BYTES, held, mark NAME, control COMMAND, state NUMBER, holds OFFSET LENGTH";
                return Err(Bad::Line(format!("note: found `{rest}`, known: {known}")));
            }
        }
        Ok(())
    }

    /// The contents of the drive after the command that was read last.
    fn held(&mut self) -> Result<&mut Option<Arc<Held>>, String> {
        match self.recording.steps.last_mut() {
            Some(Step::Control { held, .. }) => Ok(held),
            _ => Err("a state that follows no control".into()),
        }
    }

    fn end(mut self) -> Result<Recording, String> {
        if self.recording.is_cut_short {
            if self.states > 0 {
                // It is not known what the drive held.
                self.recording.steps.pop();
            }
            return Ok(self.recording);
        }
        match (self.states, self.left.len()) {
            (0, 0) => Ok(self.recording),
            (0, left) => Err(format!("{left} bytes of data are of no write")),
            (missing, _) => Err(format!("{missing} `note holds` are missing at the end")),
        }
    }
}

#[cfg(test)]
mod tests;
