//! What clients asked, in a file: a fio I/O log (version 3), which `flashkeep compare` reads, and beside it, in `FILE.data`, the
//! bytes of all writes one after the other. A write with FUA is followed by a `datasync`.

use crate::core::now;
use lab::served::{DiskRequest, SECTOR};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use vocab::Fua;

/// A recording under way.
pub(crate) struct Recorder {
    log: BufWriter<File>,
    data: BufWriter<File>,
    start: Instant,
    pub requests: u64,
    /// What could not be written.
    pub error: Option<io::Error>,
}

/// Where the bytes of the writes of a recording are.
pub(crate) fn data_of(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".data");
    name.into()
}

impl Recorder {
    /// Begins a recording in a file that is not there yet.
    pub fn new(path: &Path) -> io::Result<Self> {
        let mut log = BufWriter::new(File::create_new(path)?);
        let data = BufWriter::new(File::create_new(data_of(path))?);
        log.write_all(b"fio version 3 iolog\n0 drive add\n0 drive open\n")?;
        Ok(Self { log, data, start: now(), requests: 0, error: None })
    }

    pub fn record(&mut self, request: &DiskRequest) {
        self.record_at(self.start.elapsed().as_micros(), request);
    }

    pub fn record_at(&mut self, us: u128, request: &DiskRequest) {
        if self.error.is_none() {
            self.error = self.write(us, request).err();
        }
    }

    fn write(&mut self, us: u128, request: &DiskRequest) -> io::Result<()> {
        self.requests += 1;
        let size = SECTOR as u64;
        match request {
            DiskRequest::Read { sector, sectors } => {
                writeln!(self.log, "{us} drive read {} {}", sector.wrapping_mul(size), u64::from(*sectors) * size)
            }
            DiskRequest::Flush => writeln!(self.log, "{us} drive sync 0 0"),
            DiskRequest::Discard { sector, sectors } => {
                writeln!(self.log, "{us} drive trim {} {}", sector.wrapping_mul(size), u64::from(*sectors) * size)
            }
            DiskRequest::Write { sector, data, fua } => {
                writeln!(self.log, "{us} drive write {} {}", sector.wrapping_mul(size), data.len())?;
                self.data.write_all(data)?;
                if *fua == Fua::Yes { writeln!(self.log, "{us} drive datasync 0 0") } else { Ok(()) }
            }
        }
    }

    /// Ends it; how many requests it has.
    pub fn finish(mut self) -> io::Result<u64> {
        self.log.flush()?;
        self.data.flush()?;
        self.error.map_or(Ok(self.requests), Err)
    }
}
