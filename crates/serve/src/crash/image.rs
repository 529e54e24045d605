//! The contents of a drive. Copies share the parts that are equal, and images are told apart without a look at all their bytes.

use crate::directory::ServeError;
use crate::steps::Held;
use ssd::disk::{Disk, SECTOR};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A number that tells images, and runs, apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digest(pub u64);

impl Digest {
    pub fn of(what: &(impl Hash + ?Sized)) -> Self {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Bytes that copies share or do not share together.
const PART: usize = 4096;
const SECTORS: u64 = (PART / SECTOR) as u64;

static ZEROS: [u8; SECTOR] = [0; SECTOR];

/// All bytes of a drive; parts that are missing are zeros.
#[derive(Clone, Debug)]
pub(super) struct Image {
    size: u64,
    parts: BTreeMap<u64, Arc<[u8; PART]>>,
    /// The sum of what its sectors add.
    digest: u64,
}

/// The share of a sector in the digest of an image: nothing, if it is zeros. Millions are added where much is not flushed, and what
/// is told apart is not made up to look alike: a few multiplications do.
pub(super) fn adds(sector: u64, bytes: &[u8]) -> u64 {
    const ODD: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xe703_7ed1_a0b4_28db];
    if bytes == ZEROS {
        return 0;
    }
    // Both halves of a product depend on all bits of both factors.
    let mixed = |one: u64, other: u64| {
        let product = u128::from(one ^ ODD[0]) * u128::from(other ^ ODD[1]);
        product as u64 ^ (product >> 64) as u64
    };
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let sum = bytes
        .chunks_exact(16)
        .fold(mixed(sector, sector), |sum, pair| mixed(word(&pair[..8]) ^ sum, word(&pair[8..]).wrapping_add(sum)));
    mixed(sum, sector)
}

impl Image {
    pub fn zeros(size: u64) -> Self {
        Self { size, parts: BTreeMap::new(), digest: 0 }
    }

    pub fn of(size: u64, held: &Held) -> Self {
        let mut image = Self::zeros(size);
        held.iter().for_each(|(sector, data)| image.write(*sector, data));
        image
    }

    /// The bytes of a file, which is to be no larger than the drive.
    pub fn of_file(path: &Path, size: Option<u64>) -> Result<Self, ServeError> {
        let bytes = fs::read(path).map_err(|error| ServeError::File(path.to_owned(), "read", error))?;
        let (found, all) = (bytes.len() as u64, size.unwrap_or(bytes.len() as u64));
        if found > all || !bytes.len().is_multiple_of(SECTOR) {
            let base = path.display();
            return Err(ServeError::Other(format!("{base}: {found} bytes; the drive has {all}, in sectors of {SECTOR}")));
        }
        let mut image = Self::zeros(all);
        image.write(0, &bytes);
        Ok(image)
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn digest(&self) -> u64 {
        self.digest
    }

    pub fn sector(&self, sector: u64) -> &[u8] {
        let at = (sector % SECTORS) as usize * SECTOR;
        self.parts.get(&(sector / SECTORS)).map_or(&ZEROS[..], |part| &part[at..at + SECTOR])
    }

    /// Writes whole sectors.
    pub fn write(&mut self, first: u64, data: &[u8]) {
        for (sector, bytes) in (first..).zip(data.chunks_exact(SECTOR)) {
            let old = self.sector(sector);
            if old == bytes {
                continue;
            }
            self.digest = self.digest.wrapping_sub(adds(sector, old)).wrapping_add(adds(sector, bytes));
            let at = (sector % SECTORS) as usize * SECTOR;
            let part = self.parts.entry(sector / SECTORS).or_insert_with(|| Arc::new([0; PART]));
            Arc::make_mut(part)[at..at + SECTOR].copy_from_slice(bytes);
        }
    }

    /// Zeros these sectors.
    pub fn clear(&mut self, sectors: Range<u64>) {
        self.stored(sectors).into_iter().for_each(|sector| self.write(sector, &ZEROS));
    }

    /// Those sectors in a range that may be something else than zeros.
    pub fn stored(&self, sectors: Range<u64>) -> Vec<u64> {
        let parts = self.parts.range(sectors.start / SECTORS..sectors.end.div_ceil(SECTORS));
        let all = parts.flat_map(|(part, _)| part * SECTORS..(part + 1) * SECTORS);
        all.filter(|sector| sectors.contains(sector)).collect()
    }

    /// Writes it to a file, in which zeros take no room.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut file = File::create(path)?;
        for (index, part) in &self.parts {
            let at = index * PART as u64;
            if part[..] != [0; PART] {
                file.seek(SeekFrom::Start(at))?;
                file.write_all(&part[..PART.min((self.size - at) as usize)])?;
            }
        }
        file.set_len(self.size)
    }

    /// Writes to a drive that holds something else what this image has.
    pub fn put_on(&self, disk: &mut Disk) -> Result<(), ServeError> {
        let now = Self::on(disk)?;
        let chunks: BTreeSet<u64> = self.parts.keys().chain(now.parts.keys()).map(|part| part * SECTORS / AT_ONCE).collect();
        for chunk in chunks {
            let sectors = chunk * AT_ONCE..((chunk + 1) * AT_ONCE).min(disk.sectors());
            if sectors.clone().any(|sector| self.sector(sector) != now.sector(sector)) {
                let data: Vec<u8> = sectors.clone().flat_map(|sector| self.sector(sector).to_vec()).collect();
                disk.write(sectors.start, data, vocab::Fua::No)?;
            }
        }
        Ok(disk.flush()?)
    }

    /// All bytes of a drive.
    pub fn on(disk: &mut Disk) -> Result<Self, ServeError> {
        let all = disk.sectors();
        let (mut image, mut sector) = (Self::zeros(all * SECTOR as u64), 0);
        while sector < all {
            let sectors = AT_ONCE.min(all - sector);
            image.write(sector, &disk.read(sector, sectors as u32)?);
            sector += sectors;
        }
        Ok(image)
    }
}

/// Sectors that are read at once.
const AT_ONCE: u64 = 256;

/// Bytes that are as in none of some images, in whole sectors.
pub(super) fn differences(others: &[Image], image: &Image) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let parts: BTreeSet<u64> = others.iter().chain([image]).flat_map(|image| image.parts.keys().copied()).collect();
    for sector in parts.into_iter().flat_map(|part| part * SECTORS..(part + 1) * SECTORS) {
        if others.iter().any(|other| other.sector(sector) == image.sector(sector)) {
            continue;
        }
        let (start, end) = (sector * SECTOR as u64, (sector + 1) * SECTOR as u64);
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

    const SIZE: u64 = 8 * SECTOR as u64;

    #[test]
    fn differing_sectors_are_joined() {
        let (one, mut other) = (Image::zeros(SIZE), Image::zeros(SIZE));
        for sector in [1, 2, 7] {
            other.write(sector, &[1; SECTOR]);
        }
        assert_eq!(differences(std::slice::from_ref(&one), &other), [512..1536, 3584..4096]);
        assert!(differences(&[one, other.clone()], &other).is_empty());
    }

    /// Every bit of a sector and its place count.
    #[test]
    fn sectors_that_differ_in_a_bit_add_other_numbers() {
        let mut seen = BTreeSet::new();
        for bit in 0..8 * SECTOR {
            let mut bytes = [0x55; SECTOR];
            bytes[bit / 8] ^= 1 << (bit % 8);
            seen.extend([adds(7, &bytes), adds(8, &bytes)]);
        }
        assert_eq!(seen.len(), 16 * SECTOR);
        assert!(seen.iter().all(|sum| *sum != 0));
    }

    /// The digest is of the bytes alone, whatever way they came there.
    #[test]
    fn equal_images_have_equal_digests() {
        let mut one = Image::zeros(SIZE);
        one.write(2, &[7; 3 * SECTOR]);
        one.clear(3..4);
        let mut other = Image::of(SIZE, &vec![(4, vec![7; SECTOR].into()), (2, vec![7; SECTOR].into())]);
        assert_eq!(one.digest(), other.digest());
        other.write(2, &[8; SECTOR]);
        assert_ne!(one.digest(), other.digest());
        other.clear(0..8);
        assert_eq!(other.digest(), 0);
        // The same bytes elsewhere are another image.
        other.write(5, &[7; SECTOR]);
        let elsewhere = Image::of(SIZE, &vec![(6, vec![7; SECTOR].into())]);
        assert_ne!(other.digest(), elsewhere.digest());
    }
}
