//! Logs of the kernel's device-mapper target `log-writes` (`drivers/md/dm-log-writes.c`), which xfstests and CrashMonkey record with.
//!
//! All numbers are little-endian. The first sector has magic number, version (1), number of entries (64 bits each) and bytes of a
//! sector (32 bits). Each entry has a sector of its own: first sector and number of sectors of the device, flags, bytes of what
//! follows in that sector (64 bits each), which is the name of a mark. The data of a write follow in whole sectors; those of a
//! discard do not. A flush that comes with a write is before it.

use crate::directory::ServeError;
use crate::steps::{MARK_MAX, Recording, Step};
use ssd::disk::{DiskRequest, SECTOR};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use vocab::Fua;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;
/// A write of a file system's own structures: a write as any other.
const METADATA: u64 = 16;

/// Bytes of an entry before the name of a mark.
const ENTRY: usize = 32;

/// Largest sector of a device, and most bytes of one write or discard.
const SECTOR_MAX: u64 = 1 << 16;
const WRITE_MAX: u64 = 1 << 30;

/// The steps of a recording that have no word in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Reads.
    pub reads: usize,
    /// Commands that change no data, such as `kill die 3`.
    pub controls: usize,
}

/// True if a file is a log.
pub(crate) fn is_log(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(8).read_to_end(&mut start)?;
    Ok(start == MAGIC.to_le_bytes())
}

/// Why a log is not taken: by the machine, or by us.
enum Bad {
    Machine(io::Error),
    Words(String),
}

impl From<io::Error> for Bad {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Words("the log ends within it".into())
        } else {
            Self::Machine(error)
        }
    }
}

/// Reads a log.
pub(crate) fn read(path: &Path) -> Result<Recording, ServeError> {
    let machine = |error| ServeError::File(path.to_owned(), "read", error);
    let mut log = Log { from: BufReader::new(File::open(path).map_err(machine)?), sector: SECTOR };
    let of = |what: String| {
        move |bad| match bad {
            Bad::Machine(error) => ServeError::File(path.to_owned(), "read", error),
            Bad::Words(words) => ServeError::Other(format!("{}: {what}: {words}", path.display())),
        }
    };
    let entries = log.start().map_err(of("first sector".into()))?;
    let mut recording = Recording::default();
    for entry in 0..entries {
        log.entry(&mut recording.steps).map_err(of(format!("entry {entry} of {entries}")))?;
    }
    Ok(recording)
}

struct Log {
    from: BufReader<File>,
    /// Bytes of a sector.
    sector: usize,
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes"))
}

impl Log {
    fn sectors(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut found = vec![0; bytes];
        self.from.read_exact(&mut found)?;
        Ok(found)
    }

    /// Reads the first sector; how many entries there are.
    fn start(&mut self) -> Result<u64, Bad> {
        let first = self.sectors(SECTOR)?;
        let (version, entries) = (number(&first, 1), number(&first, 2));
        let sector = u64::from(u32::from_le_bytes(first[24..28].try_into().expect("four bytes")));
        if version != VERSION {
            return Err(Bad::Words(format!("version: found {version}, known is {VERSION}")));
        }
        if !sector.is_power_of_two() || !(SECTOR as u64..=SECTOR_MAX).contains(&sector) {
            let valid = format!("powers of two from {SECTOR} to {SECTOR_MAX}");
            return Err(Bad::Words(format!("bytes of a sector: found {sector}, valid are {valid}")));
        }
        self.sector = sector as usize;
        self.sectors(self.sector - SECTOR)?;
        Ok(entries)
    }

    fn entry(&mut self, steps: &mut Vec<Step>) -> Result<(), Bad> {
        let head = self.sectors(self.sector)?;
        let (first, count, flags, length) = (number(&head, 0), number(&head, 1), number(&head, 2), number(&head, 3));
        let unknown = flags & !(FLUSH | FUA | DISCARD | MARK | METADATA);
        if unknown != 0 {
            return Err(Bad::Words(format!("flags: found {flags}, of which {unknown} is not known")));
        }
        if flags & MARK != 0 {
            let name = usize::try_from(length).ok().and_then(|length| head.get(ENTRY..ENTRY + length));
            let name = name.ok_or_else(|| Bad::Words(format!("a mark of {length} bytes in a sector of {}", self.sector)))?;
            let name =
                String::from_utf8(name.to_vec()).map_err(|error| Bad::Words(format!("a mark that is no text: {error}")))?;
            if name.contains('\n') || name.len() > MARK_MAX {
                return Err(Bad::Words(format!("a mark of {length} bytes; valid is one line of up to {MARK_MAX}")));
            }
            steps.push(Step::Mark(name));
            return Ok(());
        }
        let scale = (self.sector / SECTOR) as u64;
        let ends = first.checked_add(count).and_then(|end| end.checked_mul(self.sector as u64));
        let is_discard = flags & DISCARD != 0;
        let bytes = ends.and(count.checked_mul(self.sector as u64)).filter(|bytes| *bytes <= WRITE_MAX || is_discard);
        let bytes = bytes.ok_or_else(|| Bad::Words(format!("{count} sectors at {first}: valid are up to {WRITE_MAX} bytes")))?;
        if flags & FLUSH != 0 {
            steps.push(Step::Request(DiskRequest::Flush));
        }
        if is_discard {
            steps.extend(discards(first * scale, count * scale));
        } else if count > 0 {
            let data = self.sectors(bytes as usize)?.into();
            let fua = if flags & FUA != 0 { Fua::Yes } else { Fua::No };
            steps.push(Step::Request(DiskRequest::Write { sector: first * scale, data, fua }));
        }
        Ok(())
    }
}

/// A discard in pieces whose number of sectors a request has room for.
fn discards(first: u64, count: u64) -> impl Iterator<Item = Step> {
    let most = WRITE_MAX / SECTOR as u64;
    (0..count.div_ceil(most)).map(move |piece| {
        let sectors = most.min(count - piece * most) as u32;
        Step::Request(DiskRequest::Discard { sector: first + piece * most, sectors })
    })
}

/// Writes a recording as a log, in sectors of 512 bytes. A file that is there is replaced.
pub(crate) fn write(recording: &Recording, path: &Path) -> Result<LeftOut, ServeError> {
    let (mut entries, mut left_out) = (Vec::new(), LeftOut::default());
    for (index, step) in recording.steps.iter().enumerate() {
        match step {
            Step::Request(DiskRequest::Read { .. }) => left_out.reads += 1,
            Step::Control { held: None, .. } => left_out.controls += 1,
            Step::Control { .. } => {
                let what = format!("step {index} of the recording ({step}): a log has no word for it");
                return Err(ServeError::Other(what));
            }
            _ => entries.push(step),
        }
    }
    let write = || -> io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        let mut first = [0; SECTOR];
        for (at, number) in [MAGIC, VERSION, entries.len() as u64, SECTOR as u64].into_iter().enumerate() {
            first[at * 8..at * 8 + 8].copy_from_slice(&number.to_le_bytes());
        }
        out.write_all(&first)?;
        entries.iter().try_for_each(|step| write_entry(step, &mut out))?;
        out.flush()
    };
    write().map_err(|error| ServeError::File(path.to_owned(), "write", error))?;
    Ok(left_out)
}

fn write_entry(step: &Step, out: &mut impl Write) -> io::Result<()> {
    let (mut head, mut name, mut data): ([u64; 4], &[u8], &[u8]) = ([0; 4], &[], &[]);
    match step {
        Step::Mark(mark) => (head[2], head[3], name) = (MARK, mark.len() as u64, mark.as_bytes()),
        Step::Request(DiskRequest::Flush) => head[2] = FLUSH,
        Step::Request(DiskRequest::Discard { sector, sectors }) => head = [*sector, u64::from(*sectors), DISCARD, 0],
        Step::Request(DiskRequest::Write { sector, data: bytes, fua }) => {
            let flags = if *fua == Fua::Yes { FUA } else { 0 };
            head = [*sector, (bytes.len() / SECTOR) as u64, flags, 0];
            data = bytes;
        }
        _ => return Ok(()),
    }
    let mut sector = [0; SECTOR];
    for (at, number) in head.into_iter().enumerate() {
        sector[at * 8..at * 8 + 8].copy_from_slice(&number.to_le_bytes());
    }
    sector[ENTRY..ENTRY + name.len()].copy_from_slice(name);
    out.write_all(&sector)?;
    out.write_all(data)
}
