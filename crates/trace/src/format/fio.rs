//! fio I/O log, versions 2 and 3 (fio `HOWTO`, "Trace file format").
//!
//! Version 2: `filename action [offset length]` without times; `wait` lets time pass. Version 3
//! begins each line with a time. The manual names no unit for it; fio writes and replays
//! microseconds (`utime_since_now` in `log_io_u` of iolog.c), and so do we.

use super::spc::keep;
use super::{Format, Names, Parser, Taken};
use crate::error::Bad;
use crate::field::{Field, Fields, Separator, TimeUnit, byte_range};
use crate::record::Raw;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "fio-iolog",
    about: "fio write_iolog, versions 2 and 3; every file is a device",
    time: "times in us (version 2: waits only)",
    ranges: "addresses and sizes in bytes",
    columns: "",
    detect: is_log,
    open: |_| Box::new(Fio { version: None, files: Names::default(), clock: 0 }),
    binary: None,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// Time passes by `wait` only.
    Two,
    /// Every line has a time.
    Three,
}

struct Fio {
    version: Option<Version>,
    files: Names,
    /// Version 2: the sum of all waits so far, in nanoseconds.
    clock: u64,
}

/// Whether a file begins like a log; of which version is its parser's to judge.
pub(super) fn is_log(lines: &[&[u8]]) -> bool {
    let first = lines.first().map_or(&b""[..], |line| line.trim_ascii());
    first.starts_with(b"fio version ") && first.ends_with(b" iolog")
}

fn version(line: &[u8]) -> Result<Version, Bad> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Ok(Version::Two),
        b"fio version 3 iolog" => Ok(Version::Three),
        _ => Err(Bad::new("header", line, "`fio version 2 iolog` or `fio version 3 iolog`")),
    }
}

impl Parser for Fio {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        let Some(version_now) = self.version else {
            self.version = Some(version(line)?);
            return Ok(Taken::NoRequest);
        };
        // Every job of fio that writes into one log begins it again.
        if version(line) == Ok(version_now) {
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Blanks);
        let at = match version_now {
            Version::Two => self.clock,
            Version::Three => fields.take("timestamp")?.time(TimeUnit::Micros)?,
        };
        let (file, action) = (fields.take("filename")?, fields.take("action")?);
        let op = match action.bytes {
            b"add" | b"open" | b"close" | b"unlink" => {
                fields.end("no offset after a file action")?;
                return Ok(Taken::NoRequest);
            }
            // Ours, in recordings of served drives: marks, and what happened to the drive.
            b"note" if version_now == Version::Three => return Ok(Taken::NoRequest),
            b"wait" if version_now == Version::Two => return self.wait(fields.take("offset")?),
            b"read" => HostOp::Read,
            b"write" => HostOp::Write(Fua::No),
            b"trim" => HostOp::Discard,
            b"sync" | b"datasync" => HostOp::Flush,
            _ => {
                return Err(action.bad("read, write, trim, sync, datasync, add, open, close, unlink, or in version 2 wait"));
            }
        };
        let (lba, sectors) = match op {
            HostOp::Flush => (0, 0),
            _ => byte_range(fields.take("offset")?, fields.take("length")?)?,
        };
        let device = self.files.number(file)?;
        Ok(keep(Raw { at, device, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }
}

impl Fio {
    fn wait(&mut self, offset: Field<'_>) -> Result<Taken, Bad> {
        let span = offset.time(TimeUnit::Micros)?;
        self.clock = self.clock.checked_add(span).ok_or_else(|| offset.bad("waits of less than 2^64 ns in all"))?;
        Ok(Taken::NoRequest)
    }
}
