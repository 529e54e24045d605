//! Images of a drive, and what the user's check says of them. Equal images are checked once.

use crate::directory::ServeError;
use lab::quoted;
use lab::served::{Disk, SECTOR};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What tells images apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digest(pub u64);

impl Digest {
    pub fn of(what: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// `None`: the image passed; else what the check printed.
pub(super) type Verdict = Option<String>;

/// Is called with the digest of each image that was checked, and with its verdict.
type Tell<'a> = dyn Fn(Digest, &Verdict) + Send + Sync + 'a;

/// What comes out of a check that one thread runs and others may wait for. An error is of the machine, in words.
type Slot = Arc<OnceLock<Result<Verdict, String>>>;

/// The user's check, and what it said so far.
pub(super) struct Checks<'a> {
    command: &'a str,
    work: &'a Path,
    tell: Box<Tell<'a>>,
    said: Mutex<BTreeMap<Digest, Slot>>,
}

impl<'a> Checks<'a> {
    pub fn new(
        command: &'a str,
        work: &'a Path,
        known: BTreeMap<Digest, Verdict>,
        tell: impl Fn(Digest, &Verdict) + Send + Sync + 'a,
    ) -> Self {
        let said = known.into_iter().map(|(digest, verdict)| (digest, Arc::new(OnceLock::from(Ok(verdict))))).collect();
        Self { command, work, tell: Box::new(tell), said: Mutex::new(said) }
    }

    /// Where an image is that failed.
    pub fn path(&self, digest: Digest) -> PathBuf {
        self.work.join(format!("image-{:016x}", digest.0))
    }

    /// Has an image checked, unless an equal one was.
    pub fn verdict(&self, bytes: &[u8]) -> Result<(Digest, Verdict), ServeError> {
        let digest = Digest::of(&bytes);
        let slot = self.said.lock().unwrap_or_else(PoisonError::into_inner).entry(digest).or_default().clone();
        let said = slot.get_or_init(|| {
            let said = self.check(bytes, &self.path(digest));
            if let Ok(verdict) = &said {
                (self.tell)(digest, verdict);
            }
            said
        });
        said.clone().map(|verdict| (digest, verdict)).map_err(ServeError::Other)
    }

    /// What was said of an image, if anything was.
    pub fn known(&self, digest: Digest) -> Option<Verdict> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.get(&digest).and_then(|slot| slot.get()).and_then(|said| said.clone().ok())
    }

    /// Images that failed.
    pub fn failed(&self) -> Vec<Digest> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().filter(|(_, slot)| matches!(slot.get(), Some(Ok(Some(_))))).map(|(digest, _)| *digest).collect()
    }

    fn check(&self, bytes: &[u8], image: &Path) -> Result<Verdict, String> {
        let file = |doing: &str, error: io::Error| format!("{}: cannot {doing}: {error}", image.display());
        write_sparse(bytes, image).map_err(|error| file("write", error))?;
        let mut check = Command::new("sh");
        check.arg("-c").arg(self.command.replace("{image}", &quoted(&image.display().to_string()))).stdin(Stdio::null());
        let output = check.output().map_err(|error| format!("the check cannot be run: {error}"))?;
        if output.status.success() {
            fs::remove_file(image).map_err(|error| file("remove", error))?;
            return Ok(None);
        }
        let said = [output.stdout, output.stderr].concat();
        Ok(Some(String::from_utf8_lossy(&said).trim().to_owned()))
    }
}

/// Zeros take no room.
fn write_sparse(bytes: &[u8], path: &Path) -> io::Result<()> {
    const PART: usize = 1 << 16;
    let mut file = File::create(path)?;
    for (index, part) in bytes.chunks(PART).enumerate() {
        if part.iter().any(|&byte| byte != 0) {
            file.seek(SeekFrom::Start((index * PART) as u64))?;
            file.write_all(part)?;
        }
    }
    file.set_len(bytes.len() as u64)
}

/// Sectors that are read or written at once.
const AT_ONCE: u32 = 256;

/// All bytes of the drive.
pub(super) fn read_all(disk: &mut Disk) -> Result<Vec<u8>, ServeError> {
    let all = disk.sectors();
    let mut bytes = Vec::with_capacity(all as usize * SECTOR);
    let mut sector = 0;
    while sector < all {
        let sectors = u64::from(AT_ONCE).min(all - sector);
        bytes.extend(disk.read(sector, sectors as u32)?);
        sector += sectors;
    }
    Ok(bytes)
}

/// Writes what a drive held before.
pub(super) fn fill(disk: &mut Disk, base: &Path) -> Result<(), ServeError> {
    let bytes = fs::read(base).map_err(|error| ServeError::File(base.to_owned(), "read", error))?;
    let all = disk.sectors() * SECTOR as u64;
    if bytes.len() as u64 > all || !bytes.len().is_multiple_of(SECTOR) {
        let (found, base) = (bytes.len(), base.display());
        return Err(ServeError::Other(format!("{base}: {found} bytes; the drive has {all}, in sectors of {SECTOR}")));
    }
    for (index, part) in bytes.chunks(AT_ONCE as usize * SECTOR).enumerate() {
        // What was never written is zeros.
        if part.iter().any(|&byte| byte != 0) {
            disk.write(index as u64 * u64::from(AT_ONCE), part.to_vec(), vocab::Fua::No)?;
        }
    }
    Ok(disk.flush()?)
}

/// Bytes that are as in none of some images, in whole sectors.
pub(super) fn differences(others: &[Vec<u8>], image: &[u8]) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    for (index, sector) in image.chunks(SECTOR).enumerate() {
        let start = index * SECTOR;
        if others.iter().any(|other| other[start..start + sector.len()] == *sector) {
            continue;
        }
        let (start, end) = (start as u64, (start + SECTOR) as u64);
        match found.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = end,
            None => found.push(start..end),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_sectors_are_joined() {
        let (one, mut other) = (vec![0; 8 * SECTOR], vec![0; 8 * SECTOR]);
        for sector in [1, 2, 7] {
            other[sector * SECTOR + 5] = 1;
        }
        assert_eq!(differences(std::slice::from_ref(&one), &other), [512..1536, 3584..4096]);
        assert!(differences(&[one, other.clone()], &other).is_empty());
    }
}
