//! Requests of clients, in a file: a fio I/O log (version 3), which `flashkeep compare` reads, and beside it, in `FILE.data`,
//! the bytes of all writes one after the other. A write with FUA is followed by a `datasync`.
//!
//! Everything else that happened is in lines with the action `note`, which a reader of workloads leaves out: the drive's size, whether it held
//! anything when the recording began, marks, and commands of the control socket. A command after which the drive may hold other data
//! than clients wrote, such as a power cut, is followed by all that it holds then.
//!
//! Log and data are handed to the machine at each flush of a client, so they outlive a process that is killed. A recording that was
//! ended ends with `close`.

use crate::steps::{Held, Step};
use crate::time::now;
use ssd::disk::{Disk, DiskError, DiskRequest, SECTOR};
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
    /// Error of writing.
    pub error: Option<io::Error>,
}

/// Where the bytes of the writes of a recording are.
pub(crate) fn data_of(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".data");
    name.into()
}

/// Sectors that are read at once.
const AT_ONCE: u64 = 256;

/// All that a drive holds but zeros.
pub(crate) fn held_by(disk: &mut Disk) -> Result<Held, DiskError> {
    // Reads of a copy take no time of the drive itself. A drive in files has no copies.
    let mut copy = disk.fork().ok();
    let disk = copy.as_mut().unwrap_or(disk);
    let (all, per_page) = (disk.sectors(), u64::from(disk.sectors_per_page()));
    let (mut held, mut sector) = (Held::new(), 0);
    while sector < all {
        let mut end = sector;
        while end < all && end - sector < AT_ONCE && !disk.is_unmapped(end) {
            end = (end + per_page).min(all);
        }
        if end == sector {
            sector += per_page;
            continue;
        }
        let data = disk.read(sector, (end - sector) as u32)?;
        if data.iter().any(|&byte| byte != 0) {
            held.push((sector, data.into()));
        }
        sector = end;
    }
    Ok(held)
}

/// True if a drive holds nothing.
pub(crate) fn is_empty(disk: &Disk) -> bool {
    (0..disk.sectors()).step_by(disk.sectors_per_page() as usize).all(|sector| disk.is_unmapped(sector))
}

impl Recorder {
    /// Begins a recording in a file that is not there yet, of a drive of this size that may hold something already.
    pub fn new(path: &Path, size: Option<u64>, held: bool) -> io::Result<Self> {
        let new = |path: &Path| {
            let words = |error: io::Error| match error.kind() {
                io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), "there is a file already"),
                _ => error,
            };
            File::create_new(path).map_err(words)
        };
        let mut log = BufWriter::new(new(path)?);
        let data = new(&data_of(path)).map_err(|error| {
            // Half a recording would be in the way of the next one.
            let _ = std::fs::remove_file(path);
            io::Error::new(error.kind(), format!("{error}: {}", data_of(path).display()))
        });
        let data = BufWriter::new(data?);
        log.write_all(b"fio version 3 iolog\n0 drive add\n0 drive open\n")?;
        if let Some(size) = size {
            writeln!(log, "0 drive note size {size}")?;
        }
        if held {
            writeln!(log, "0 drive note held")?;
        }
        let mut recorder = Self { log, data, start: now(), requests: 0, error: None };
        recorder.save()?;
        Ok(recorder)
    }

    pub fn record(&mut self, request: &DiskRequest) {
        let us = self.start.elapsed().as_micros();
        self.attempt(|recorder| {
            recorder.request(us, request)?;
            let forces = matches!(request, DiskRequest::Flush | DiskRequest::Write { fua: Fua::Yes, .. });
            if forces { recorder.save() } else { Ok(()) }
        });
    }

    /// Records something that is no request, and keeps it.
    pub fn note(&mut self, step: &Step) {
        let us = self.start.elapsed().as_micros();
        self.attempt(|recorder| {
            recorder.step(us, step)?;
            recorder.save()
        });
    }

    pub fn step_at(&mut self, us: u128, step: &Step) {
        self.attempt(|recorder| recorder.step(us, step));
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(self).err();
        }
    }

    /// Hands all to the machine: the data before the log that names them.
    fn save(&mut self) -> io::Result<()> {
        self.data.flush()?;
        self.log.flush()
    }

    fn step(&mut self, us: u128, step: &Step) -> io::Result<()> {
        match step {
            Step::Request(request) => self.request(us, request),
            Step::Mark(name) => writeln!(self.log, "{us} drive note mark {name}"),
            Step::Control { words, held } => {
                writeln!(self.log, "{us} drive note control {words}")?;
                let Some(held) = held else { return Ok(()) };
                writeln!(self.log, "{us} drive note state {}", held.len())?;
                for (sector, data) in held.iter() {
                    writeln!(self.log, "{us} drive note holds {} {}", sector * SECTOR as u64, data.len())?;
                    self.data.write_all(data)?;
                }
                Ok(())
            }
        }
    }

    fn request(&mut self, us: u128, request: &DiskRequest) -> io::Result<()> {
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
        let us = self.start.elapsed().as_micros();
        self.attempt(|recorder| {
            writeln!(recorder.log, "{us} drive close")?;
            recorder.save()
        });
        self.error.map_or(Ok(self.requests), Err)
    }
}
