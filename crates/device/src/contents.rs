//! Contents of pages (decision D1): a tag or all their bytes. One code path serves both, because a byte-wise linear
//! code treats a tag exactly as it treats a page. A drive without payload has tags that no one makes up, keeps or
//! checks.

use crate::page_bytes::PageBytes;
use coding::gf256::mul_add;
use nand::Payload;
use vocab::{Lpn, SECTOR_BYTES, SharedBytes};

/// Contents that a read of a page may legally return, given the writes the host has sent.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Version of the newest write that was answered before the read was sent.
    pub floor: u32,
    /// Version of the newest write sent so far.
    pub newest: u32,
    /// For each sector, the newest answered write of it; only kept when pages carry bytes.
    pub sectors: &'a [u32],
    /// Whether all sectors must be of the same write.
    pub whole: bool,
}

/// A payload the host can write and check.
pub trait HostPayload: Payload {
    /// Whether every sector is kept apart.
    const BYTES: bool;

    /// The contents that version `version` of a logical page gives it.
    fn stamp(lpn: Lpn, version: u32, sectors: u32) -> Self;
    /// The contents that a host gives a page, where it has contents of its own; all bytes of a page.
    fn of_host(_bytes: &[u8]) -> Self {
        Self::default()
    }
    /// As [`Self::of_host`], of bytes that are shared instead of copied, where contents are kept like that.
    fn of_host_page(bytes: &SharedBytes) -> Self {
        Self::of_host(bytes)
    }
    /// Spoils all sectors outside `from..to`: what is not merged is never taken for data.
    fn spoil_outside(&mut self, _from: u32, _to: u32) {}

    /// Replaces all sectors outside `from..to` by those of `old`.
    fn merge(&mut self, old: &Self, from: u32, to: u32);
    /// All bytes, of a payload that has them; `None` are zeros.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
    /// The stored bytes; none at all are zeros.
    fn raw(&self) -> Vec<u8> {
        self.bytes().unwrap_or_default().to_vec()
    }
    /// Adds `other` over GF(2).
    fn add(&mut self, other: &Self);
    /// As [`Self::add`], of a page that is in flash for as long as the sum is, so that the sum may share its bytes and add them up
    /// when someone looks at it.
    fn add_member(&mut self, other: &Self) {
        self.add(other);
    }
    /// Adds `c` times `other` over GF(2^8), byte by byte; `c = 1` is [`Self::add`].
    fn add_scaled(&mut self, other: &Self, c: u8);
    /// Whether the contents are those of an unwritten page: all zeros.
    fn is_zero(&self) -> bool;
    /// Checks contents read for `lpn`.
    ///
    /// # Errors
    /// Says what was found instead of what.
    fn verify(&self, lpn: Lpn, window: &Window<'_>) -> Result<(), String>;
    /// The newest version in contents that passed [`Self::verify`].
    fn version(&self) -> u32;
}

impl Payload for Tag {}

/// Logical page and version in eight bytes; all zero like an unwritten page.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tag(u64);

impl HostPayload for Tag {
    const BYTES: bool = false;

    #[inline]
    fn stamp(lpn: Lpn, version: u32, _: u32) -> Self {
        Tag(u64::from(lpn.0 + 1) << 32 | u64::from(version))
    }

    #[inline]
    fn merge(&mut self, _: &Self, _: u32, _: u32) {}

    fn raw(&self) -> Vec<u8> {
        self.0.to_le_bytes().to_vec()
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        self.0 ^= other.0;
    }

    #[inline]
    fn add_scaled(&mut self, other: &Self, c: u8) {
        let mut sum = self.0.to_le_bytes();
        mul_add(&mut sum, &other.0.to_le_bytes(), c);
        self.0 = u64::from_le_bytes(sum);
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn verify(&self, lpn: Lpn, window: &Window<'_>) -> Result<(), String> {
        let (owner, version) = ((self.0 >> 32) as u32, self.0 as u32);
        if owner == lpn.0 + 1 && (window.floor..=window.newest).contains(&version) {
            return Ok(());
        }
        let whose = if owner == 0 { "an empty page".into() } else { format!("version {version} of lpn{}", owner - 1) };
        Err(format!("found {whose}, wanted version {} to {} of {lpn}", window.floor, window.newest))
    }

    fn version(&self) -> u32 {
        self.0 as u32
    }
}

impl Payload for PageBuf {}

/// All bytes of a page. Forks and moves share them.
#[derive(Clone, Default, Debug)]
pub struct PageBuf(PageBytes);

impl From<Option<Box<[u8]>>> for PageBuf {
    fn from(bytes: Option<Box<[u8]>>) -> Self {
        bytes.map_or_else(Self::default, |bytes| Self::of_host(&bytes))
    }
}

#[cfg(unix)]
impl nand::StoredPayload for PageBuf {
    fn store(&self, slot: &mut [u8]) {
        if let Some(bytes) = self.0.get() {
            slot.copy_from_slice(bytes);
        }
    }

    fn load(slot: &[u8]) -> Self {
        Self::of_host(slot)
    }
}

/// All bytes that version `version` of a logical page gives it: each sector says whose it is.
#[must_use]
pub fn page_contents(lpn: Lpn, version: u32, sectors: u32) -> Vec<u8> {
    PageBuf::stamp(lpn, version, sectors).bytes().unwrap_or_default().to_vec()
}

impl PartialEq for PageBuf {
    fn eq(&self, other: &Self) -> bool {
        match (self.0.get(), other.0.get()) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.is_zero() && other.is_zero(),
        }
    }
}

impl Eq for PageBuf {}

const SECTOR: usize = SECTOR_BYTES as usize;

/// No stamp is made of these.
const SPOILT: u8 = 0xDB;

/// Fills one sector: a stamp of 16 bytes that says who wrote it, then noise that depends on it.
fn fill_sector(bytes: &mut [u8], lpn: Lpn, version: u32, sector: u32) {
    let mut state = u64::from(lpn.0 + 1) << 32 | u64::from(version);
    bytes[..8].copy_from_slice(&state.to_le_bytes());
    bytes[8..16].copy_from_slice(&u64::from(sector + 1).to_le_bytes());
    state ^= u64::from(sector) << 17;
    for word in bytes[16..].chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word.copy_from_slice(&(mixed ^ (mixed >> 27)).to_le_bytes());
    }
}

impl HostPayload for PageBuf {
    const BYTES: bool = true;

    fn bytes(&self) -> Option<&[u8]> {
        self.0.get().map(|bytes| &**bytes)
    }

    fn of_host(bytes: &[u8]) -> Self {
        PageBuf(PageBytes::Bytes(bytes.into()))
    }

    fn of_host_page(bytes: &SharedBytes) -> Self {
        PageBuf(PageBytes::Bytes(bytes.clone()))
    }

    fn stamp(lpn: Lpn, version: u32, sectors: u32) -> Self {
        let fill = |bytes: &mut [u8]| {
            let parts = bytes.chunks_exact_mut(SECTOR).zip(0..);
            parts.for_each(|(part, sector)| fill_sector(part, lpn, version, sector));
        };
        PageBuf(PageBytes::Bytes(SharedBytes::filled(sectors as usize * SECTOR, fill)))
    }

    fn spoil_outside(&mut self, from: u32, to: u32) {
        let bytes = self.0.change().expect("a host write has bytes");
        bytes[..from as usize * SECTOR].fill(SPOILT);
        bytes[to as usize * SECTOR..].fill(SPOILT);
    }

    fn merge(&mut self, old: &Self, from: u32, to: u32) {
        let bytes = self.0.change().expect("a host write has bytes");
        let all = bytes.len();
        let mut keep = |range: std::ops::Range<usize>| match old.0.get() {
            Some(old) => bytes[range.clone()].copy_from_slice(&old[range]),
            None => bytes[range].fill(0),
        };
        keep(0..from as usize * SECTOR);
        keep(to as usize * SECTOR..all);
    }

    fn add(&mut self, other: &Self) {
        other.0.get().into_iter().for_each(|bytes| self.0.add(bytes));
    }

    fn add_member(&mut self, other: &Self) {
        other.0.get().into_iter().for_each(|bytes| self.0.collect(bytes));
    }

    fn add_scaled(&mut self, other: &Self, c: u8) {
        match (c, other.0.get()) {
            (0, _) | (_, None) => {}
            (1, _) => self.add(other),
            (_, Some(theirs)) => {
                if self.0.get().is_none() {
                    self.0 = PageBytes::Bytes(SharedBytes::filled(theirs.len(), |bytes| bytes.fill(0)));
                }
                mul_add(self.0.change().expect("it has bytes now"), theirs, c);
            }
        }
    }

    fn is_zero(&self) -> bool {
        self.0.get().is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0))
    }

    fn verify(&self, lpn: Lpn, window: &Window<'_>) -> Result<(), String> {
        let empty;
        let bytes: &[u8] = match self.0.get() {
            Some(bytes) => bytes,
            None => {
                empty = vec![0u8; window.sectors.len() * SECTOR];
                &empty
            }
        };
        let mut newest_found = 0;
        let mut expected = [0u8; SECTOR];
        for (sector, part) in bytes.chunks_exact(SECTOR).enumerate() {
            let stamp = u64::from_le_bytes(part[..8].try_into().expect("8 bytes"));
            let version = stamp as u32;
            // A sector never written is zero.
            if stamp == 0 {
                expected.fill(0)
            } else {
                fill_sector(&mut expected, lpn, version, sector as u32)
            }
            if part != expected {
                return Err(format!("sector {sector} of {lpn} holds bytes that no write of it left there"));
            }
            // A write answered while the read was under way may or may not be seen.
            let floor = window.sectors[sector];
            if version > window.newest || (floor <= window.floor && version < floor) {
                return Err(format!("sector {sector} of {lpn} has version {version}, wanted {floor} to {}", window.newest));
            }
            if window.whole && sector > 0 && version != newest_found {
                return Err(format!("{lpn} is a mixture: sector {sector} has version {version}, those before {newest_found}"));
            }
            newest_found = newest_found.max(version);
        }
        if newest_found < window.floor {
            return Err(format!("{lpn} has version {newest_found}, wanted at least {}", window.floor));
        }
        Ok(())
    }

    fn version(&self) -> u32 {
        let stamps = self.0.get().into_iter().flat_map(|bytes| bytes.chunks_exact(SECTOR));
        stamps.map(|part| u64::from_le_bytes(part[..8].try_into().expect("8 bytes")) as u32).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTORS: &[u32] = &[3, 3, 3, 3, 3, 3, 3, 3];

    fn accepts<P: HostPayload>(page: &P, lpn: u32, floor: u32, newest: u32) -> bool {
        page.verify(Lpn(lpn), &Window { floor, newest, sectors: SECTORS, whole: true }).is_ok()
    }

    #[test]
    fn only_the_right_page_in_a_legal_version_passes() {
        fn check<P: HostPayload>() {
            let page = P::stamp(Lpn(7), 5, 8);
            assert!(accepts(&page, 7, 3, 5) && accepts(&page, 7, 5, 9));
            assert!(!accepts(&page, 8, 3, 5), "another page");
            assert!(!accepts(&page, 7, 6, 9), "too old");
            assert!(!accepts(&page, 7, 3, 4), "from the future");
            let mut sum = page.clone();
            sum.add(&P::stamp(Lpn(9), 1, 8));
            assert!(!accepts(&sum, 7, 0, 9), "a sum of pages");
            sum.add(&P::stamp(Lpn(9), 1, 8));
            assert!(sum == page && accepts(&sum, 7, 5, 5));
            sum.add(&page);
            assert!(sum == P::default() && P::default() == sum && sum.is_zero(), "a sum that is all zeros");
            assert!(!accepts(&P::default(), 7, 3, 5), "an empty page");
        }
        check::<Tag>();
        check::<PageBuf>();
    }

    #[test]
    fn scaled_sums_of_tags_and_pages_are_alike() {
        fn check<P: HostPayload>() {
            let (a, b) = (P::stamp(Lpn(7), 5, 8), P::stamp(Lpn(9), 1, 8));
            let mut sum = P::default();
            sum.add_scaled(&a, 1);
            assert!(sum == a);
            // 2a + 3b + 2a = 3b, and 3b + 2b = b.
            sum.add_scaled(&a, 1);
            for (page, c) in [(&a, 2), (&b, 3), (&a, 2), (&b, 2), (&a, 0)] {
                sum.add_scaled(page, c);
            }
            assert!(sum == b);
        }
        check::<Tag>();
        check::<PageBuf>();
    }

    #[test]
    fn a_merged_page_keeps_the_sectors_that_were_not_written() {
        let old = PageBuf::stamp(Lpn(7), 3, 8);
        let mut page = PageBuf::stamp(Lpn(7), 5, 8);
        page.merge(&old, 2, 4);
        let mut first = PageBuf::stamp(Lpn(7), 5, 8);
        first.merge(&PageBuf::default(), 2, 4);
        let bytes = first.bytes().expect("a page that was written");
        assert!(bytes[..2 * SECTOR].iter().chain(&bytes[4 * SECTOR..]).all(|&byte| byte == 0), "sectors never written");
        let window = |sectors| Window { floor: 5, newest: 5, sectors, whole: false };
        assert_eq!(page.verify(Lpn(7), &window(&[3, 3, 5, 5, 3, 3, 3, 3])), Ok(()));
        assert!(page.verify(Lpn(7), &window(&[3, 4, 5, 5, 3, 3, 3, 3])).is_err(), "an update of sector 1 was lost");
    }
}
