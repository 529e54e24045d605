//! The oracle: what reads must return, from what was sent and answered alone. It knows nothing of the map, and every
//! read is checked against it.
//!
//! For each logical page it keeps the version last sent, and how far the last answered version lies behind it
//! ([`Versions`]): two bytes a page, four where a page is written often.

use crate::core::flash::FlashPayload;
use crate::core::target::Floor;
use crate::host::versions::{FAR_BEHIND, NEWEST_MAX, Sent, Versions};
use device::contents::Window;
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Lpn, Table};

/// The shadow of one drive's logical space.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    versions: Versions,
    /// Pages whose last answered command was a discard.
    discarded: Vec<u64>,
    /// Per sector, the newest answered write; only when pages carry bytes.
    sectors: Table<u32>,
    sectors_per_page: u32,
    /// Whether every write so far was of whole pages: then all sectors of a page are of one write.
    pub whole: bool,
    /// Where answers come before flash has the data, for each page the newest version that a flush
    /// or a forced write made durable; and what a flush under way will make durable.
    durable: Vec<u32>,
    /// Then also the version of the last discard of each page: nothing older is durable after it.
    discard: Vec<u32>,
    /// The version of the last discard of pages: a read that was sent before it may find nothing, whatever was written since.
    last_discard: BTreeMap<Lpn, u32>,
    /// The last request that arrived, by the last 32 bits of its number: reads are sent when they arrive.
    pub asking: u32,
    /// Pages of which a write failed since the last one that was answered. They have old contents or new ones, and
    /// which they have may change with a power cut.
    failed: BTreeSet<Lpn>,
}

impl Oracle {
    /// The shadow of an empty drive.
    pub fn new<P: FlashPayload>(pages: u32, sectors_per_page: u32) -> Self {
        let sectors = if P::BYTES { pages as usize * sectors_per_page as usize } else { 0 };
        Self {
            versions: Versions::new(pages as usize),
            discarded: vec![u64::MAX; pages.div_ceil(64) as usize],
            sectors: Table::zeroed(sectors),
            sectors_per_page,
            whole: true,
            durable: Vec::new(),
            discard: Vec::new(),
            last_discard: BTreeMap::new(),
            asking: 0,
            failed: BTreeSet::new(),
        }
    }

    /// The drive answers before its data are durable: from now on the two are kept apart.
    pub fn keep_durable(&mut self) {
        self.durable = self.answered_versions();
        self.discard = vec![0; self.durable.len()];
    }

    /// For each page the newest answered version.
    fn answered_versions(&self) -> Vec<u32> {
        (0..self.versions.len() as u32).map(|lpn| self.floor(Lpn(lpn)).version).collect()
    }

    /// A flush is sent: what is durable once it is answered. Empty where answers mean that.
    pub fn flush_sent(&self) -> Vec<u32> {
        if self.durable.is_empty() { Vec::new() } else { self.answered_versions() }
    }

    /// A flush was answered; `versions` as [`Self::flush_sent`] said.
    pub fn flushed(&mut self, versions: &[u32]) {
        for (lpn, &version) in (0..).map(Lpn).zip(versions) {
            self.forced(lpn, version);
        }
    }

    /// A version of the page is durable.
    pub fn forced(&mut self, lpn: Lpn, version: u32) {
        if let Some(durable) = self.durable.get_mut(lpn.index())
            && version > self.discard[lpn.index()]
        {
            *durable = version.max(*durable);
        }
    }

    /// The power went. Pages may now have any version that was sent and is not older than what was
    /// durable; discarded ones may be back, because discards are not recorded.
    pub fn power_cut(&mut self) {
        self.failed.clear();
        self.last_discard.clear();
        for lpn in (0..self.versions.len() as u32).map(Lpn) {
            let newest = self.newest(lpn);
            let floor = match self.durable.get(lpn.index()) {
                _ if self.is_discarded(lpn) => 0,
                Some(&durable) => durable,
                None => self.floor(lpn).version,
            };
            self.set_floor(lpn, newest, floor);
            if floor == 0 {
                // Nothing durable says that it was ever written.
                self.discarded[lpn.index() / 64] |= 1 << (lpn.0 % 64);
            }
        }
    }

    /// Doubts a page: its acknowledged version was in memory that is gone.
    pub fn doubt(&mut self, lpn: Lpn) {
        let Some(sent) = self.versions.get(lpn) else { return };
        self.set_floor(lpn, sent.newest, 0);
        if let Some(durable) = self.durable.get_mut(lpn.index()) {
            *durable = 0;
        }
        self.discarded[lpn.index() / 64] |= 1 << (lpn.0 % 64);
    }

    /// A write of the page failed.
    pub fn write_failed(&mut self, lpn: Lpn) {
        self.failed.insert(lpn);
    }

    /// Reading the page after a mount found this version: it has no other from now on.
    pub fn observed(&mut self, lpn: Lpn, version: u32) {
        if self.failed.contains(&lpn) {
            return;
        }
        let newest = self.newest(lpn);
        self.set_floor(lpn, newest, version.min(newest));
        if let Some(durable) = self.durable.get_mut(lpn.index()) {
            *durable = version;
        }
        if version > 0 {
            self.discarded[lpn.index() / 64] &= !(1 << (lpn.0 % 64));
        }
    }

    /// A page of a drive that was filled in another process was found with this version, 0 if it is
    /// unmapped; what is sent from now on has versions above `base`.
    pub fn adopt(&mut self, lpn: Lpn, version: u32, base: u32) {
        let newest = base.max(version) & NEWEST_MAX;
        self.versions.set(lpn, Sent { newest, behind: newest - version });
        if version > 0 {
            self.discarded[lpn.index() / 64] &= !(1 << (lpn.0 % 64));
        }
    }

    fn set_floor(&mut self, lpn: Lpn, newest: u32, floor: u32) {
        self.versions.set(lpn, Sent { newest, behind: newest - floor });
        if !self.sectors.is_empty() {
            let first = lpn.index() * self.sectors_per_page as usize;
            let range = first..first + self.sectors_per_page as usize;
            let too_new = self.sectors[range].iter_mut().filter(|sector| **sector > floor);
            too_new.for_each(|sector| *sector = 0);
        }
    }

    /// The version of a page that was sent last.
    #[inline]
    fn newest(&self, lpn: Lpn) -> u32 {
        self.versions.get(lpn).expect("a page of the drive").newest
    }

    fn is_discarded(&self, lpn: Lpn) -> bool {
        self.discarded[lpn.index() / 64] >> (lpn.0 % 64) & 1 == 1
    }

    /// Hints that the page's version is needed soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.versions.prefetch(lpn);
        self.discarded.get(lpn.index() / 64).into_iter().for_each(vocab::prefetch);
    }

    /// A write of the page is sent; its version. 0 where nothing is checked.
    #[inline]
    pub fn sent(&mut self, lpn: Lpn) -> u32 {
        let Some(Sent { newest, behind }) = self.versions.get(lpn) else { return 0 };
        self.versions.set(lpn, Sent { newest: newest + 1, behind: behind + 1 });
        newest + 1
    }

    /// A write of sectors `from..to` of the page was answered.
    #[inline]
    pub fn answered(&mut self, lpn: Lpn, version: u32, from: u32, to: u32) {
        let Some(Sent { newest, behind }) = self.versions.get(lpn) else { return };
        if newest - version > behind {
            return; // Something newer was answered before.
        }
        if !self.failed.is_empty() {
            self.failed.remove(&lpn);
        }
        self.versions.set(lpn, Sent { newest, behind: newest - version });
        self.discarded[lpn.index() / 64] &= !(1 << (lpn.0 % 64));
        if !self.sectors.is_empty() {
            let first = lpn.index() * self.sectors_per_page as usize;
            let range = first + from as usize..first + to as usize;
            self.sectors[range].iter_mut().for_each(|floor| *floor = version.max(*floor));
        }
    }

    /// A discard of the page, sent as `version`, is carried out: from now on it reads as
    /// unmapped.
    pub fn discard(&mut self, lpn: Lpn, version: u32) {
        if self.versions.len() == 0 {
            return;
        }
        self.answered(lpn, version, 0, 0);
        self.last_discard.insert(lpn, version);
        if let Some(durable) = self.durable.get_mut(lpn.index()) {
            *durable = 0;
            self.discard[lpn.index()] = version;
        }
        self.discarded[lpn.index() / 64] |= 1 << (lpn.0 % 64);
        if !self.sectors.is_empty() {
            let first = lpn.index() * self.sectors_per_page as usize;
            self.sectors[first..first + self.sectors_per_page as usize].fill(0);
        }
    }

    /// A read of the page is sent.
    #[inline]
    pub fn floor(&self, lpn: Lpn) -> Floor {
        match self.versions.get(lpn) {
            None => Floor { request: self.asking, ..Floor::default() },
            Some(Sent { newest, behind }) => {
                // A distance that does not fit leaves any version possible: it only weakens the check.
                let version = if behind == FAR_BEHIND { 0 } else { newest - behind };
                Floor { version, discarded: self.is_discarded(lpn), request: self.asking }
            }
        }
    }

    /// Checks what a read returned; `None` stands for "unmapped".
    ///
    /// # Errors
    /// Says what was found instead of what.
    pub fn check<P: FlashPayload>(&self, lpn: Lpn, floor: Floor, found: Option<&P>) -> Result<(), String> {
        let newest = self.newest(lpn);
        match found {
            None if floor.discarded || self.is_discarded(lpn) => Ok(()),
            None if self.last_discard.get(&lpn).is_some_and(|&version| version > floor.version) => Ok(()),
            None => Err(format!("{lpn} reads as unmapped, wanted version {} to {newest}", floor.version)),
            Some(payload) => {
                let first = lpn.index() * self.sectors_per_page as usize;
                let sectors = self.sectors.get(first..first + self.sectors_per_page as usize).unwrap_or(&[]);
                payload.verify(lpn, &Window { floor: floor.version, newest, sectors, whole: self.whole })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::contents::HostPayload;
    use device::contents::{PageBuf, Tag, page_contents};
    use vocab::Streams;

    #[test]
    fn a_read_may_see_any_version_from_the_last_answered_to_the_last_sent() {
        let mut oracle = Oracle::new::<Tag>(10, 8);
        let lpn = Lpn(4);
        for _ in 0..3 {
            oracle.sent(lpn);
        }
        oracle.answered(lpn, 2, 0, 8);
        let floor = oracle.floor(lpn);
        let sees = |oracle: &Oracle, version| oracle.check(lpn, floor, Some(&Tag::stamp(lpn, version, 8))).is_ok();
        assert_eq!([1, 2, 3, 4].map(|v| sees(&oracle, v)), [false, true, true, false]);
        // An older write answered later takes nothing back.
        oracle.answered(lpn, 1, 0, 8);
        assert_eq!(oracle.floor(lpn), floor);
        assert!(oracle.check::<Tag>(lpn, floor, None).is_err());
    }

    /// Catches a failed write whose contents must stay once they were read, and one that leaves a page undetermined
    /// after it was written again, or after the mount that chose its contents.
    #[test]
    fn a_failed_write_leaves_old_contents_or_new_ones_until_the_next_write_or_mount() {
        let mut oracle = Oracle::new::<Tag>(10, 8);
        let lpn = Lpn(4);
        let first = oracle.sent(lpn);
        oracle.answered(lpn, first, 0, 8);
        let second = oracle.sent(lpn);
        oracle.write_failed(lpn);
        oracle.observed(lpn, second);
        assert_eq!(oracle.floor(lpn).version, first, "a cut may bring the old contents back");
        oracle.power_cut();
        oracle.observed(lpn, second);
        assert_eq!(oracle.floor(lpn).version, second, "the mount has chosen");
        let third = oracle.sent(lpn);
        oracle.write_failed(lpn);
        let fourth = oracle.sent(lpn);
        oracle.answered(lpn, fourth, 0, 8);
        let fifth = oracle.sent(lpn);
        oracle.observed(lpn, fifth);
        assert_eq!((third, oracle.floor(lpn).version), (3, fifth), "it was written since");
    }

    #[test]
    fn more_writes_in_flight_than_can_be_counted_weaken_the_check() {
        let mut oracle = Oracle::new::<Tag>(10, 8);
        let lpn = Lpn(4);
        let last = (0..400).map(|_| oracle.sent(lpn)).last().expect("it was written");
        oracle.answered(lpn, 1, 0, 8);
        let sees = |oracle: &Oracle, version| oracle.check(lpn, oracle.floor(lpn), Some(&Tag::stamp(lpn, version, 8))).is_ok();
        assert!(sees(&oracle, 1) && sees(&oracle, last), "only version 1 was answered");
        oracle.answered(lpn, last - 10, 0, 8);
        assert!(!sees(&oracle, last - 11) && sees(&oracle, last - 10));
    }

    #[test]
    fn a_discarded_page_reads_as_unmapped_until_written() {
        let mut oracle = Oracle::new::<Tag>(10, 8);
        let lpn = Lpn(4);
        let first = oracle.sent(lpn);
        oracle.answered(lpn, first, 0, 8);
        let version = oracle.sent(lpn);
        oracle.discard(lpn, version);
        let floor = oracle.floor(lpn);
        assert!(oracle.check::<Tag>(lpn, floor, None).is_ok());
        assert!(oracle.check(lpn, floor, Some(&Tag::stamp(lpn, first, 8))).is_err(), "data came back from a discard");
        let second = oracle.sent(lpn);
        oracle.answered(lpn, second, 0, 8);
        assert!(oracle.check::<Tag>(lpn, oracle.floor(lpn), None).is_err());
    }

    const SECTORS: usize = 4;

    /// Knowledge of a naive shadow about one page: for each sector the last answered write, and the page as a whole.
    #[derive(Clone, Default)]
    struct Naive {
        sectors: [u32; SECTORS],
        answered: u32,
        newest: u32,
        discarded: bool,
        last_discard: u32,
        /// Writes and discards (`None`) that were sent and not answered, in order.
        under_way: Vec<(u32, Option<std::ops::Range<usize>>)>,
    }

    impl Naive {
        /// Whether a read that was sent now may find these versions, one for each sector; 0 stands for zeros.
        fn allows(&self, found: [u32; SECTORS]) -> bool {
            let in_window = |sector: usize| (self.sectors[sector]..=self.newest).contains(&found[sector]);
            (0..SECTORS).all(in_window) && found.into_iter().max() >= Some(self.answered)
        }
    }

    fn page_of(lpn: Lpn, versions: [u32; SECTORS]) -> PageBuf {
        let sector = |(sector, &version): (usize, &u32)| match version {
            0 => vec![0; 512],
            _ => page_contents(lpn, version, SECTORS as u32)[sector * 512..(sector + 1) * 512].to_vec(),
        };
        let bytes: Vec<u8> = versions.iter().enumerate().flat_map(sector).collect();
        PageBuf::from(Some(bytes.into_boxed_slice()))
    }

    /// Random writes of parts of two pages, answered in order of each page, discards, and reads that find any mixture
    /// of versions: the oracle accepts exactly what the naive shadow allows, and while answers come between the
    /// sending of a read and its end never less. Catches a floor or a ceiling that is off by one, sectors that are
    /// mixed up, and a discard that leaves floors behind.
    #[test]
    fn windows_are_those_of_a_naive_shadow_of_sectors() {
        let mut draws = Streams::new(11).stream("oracle");
        let mut oracle = Oracle::new::<PageBuf>(2, SECTORS as u32);
        oracle.whole = false;
        let mut shadow = [Naive { discarded: true, ..Naive::default() }, Naive { discarded: true, ..Naive::default() }];
        let mut sent: Vec<(Lpn, Floor, Naive)> = Vec::new();
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..6000 {
            let lpn = Lpn(draws.below(2) as u32);
            let page = &mut shadow[lpn.index()];
            match draws.below(8) {
                0..3 if page.under_way.len() < 5 => {
                    let version = oracle.sent(lpn);
                    page.newest += 1;
                    assert_eq!(version, page.newest);
                    let from = draws.below(SECTORS as u64) as usize;
                    let to = from + 1 + draws.below((SECTORS - from) as u64) as usize;
                    page.under_way.push((version, (!draws.chance(0.1)).then_some(from..to)));
                }
                0..5 if !page.under_way.is_empty() => {
                    let (version, sectors) = page.under_way.remove(0);
                    page.answered = version;
                    page.discarded = sectors.is_none();
                    match sectors {
                        Some(sectors) => {
                            oracle.answered(lpn, version, sectors.start as u32, sectors.end as u32);
                            page.sectors[sectors].fill(version);
                        }
                        None => {
                            oracle.discard(lpn, version);
                            page.last_discard = version;
                            page.sectors = [0; SECTORS];
                        }
                    }
                }
                5 => sent.push((lpn, oracle.floor(lpn), page.clone())),
                _ => {
                    let (lpn, floor, then) = match sent.pop() {
                        Some(read) if draws.chance(0.5) => read,
                        _ => (lpn, oracle.floor(lpn), page.clone()),
                    };
                    let now = &shadow[lpn.index()];
                    let unmapped = oracle.check::<PageBuf>(lpn, floor, None).is_ok();
                    let was_between = now.last_discard > then.answered;
                    assert_eq!(unmapped, then.discarded || now.discarded || was_between);
                    let around = |base: u32, draw: u64| (base + draw as u32).saturating_sub(1);
                    let found = now.sectors.map(|version| around(version, draws.below(4)));
                    let accepts = oracle.check(lpn, floor, Some(&page_of(lpn, found))).is_ok();
                    if then.answered == now.answered {
                        assert_eq!(accepts, now.allows(found), "{found:?} of {:?}, sent up to {}", now.sectors, now.newest);
                        (accepted, refused) = (accepted + u32::from(accepts), refused + u32::from(!accepts));
                    } else if (Naive { newest: now.newest, ..then.clone() }).allows(found) {
                        assert!(accepts, "{found:?} was legal when the read was sent");
                    }
                }
            }
        }
        assert!(accepted > 100 && refused > 100, "{accepted} reads accepted, {refused} refused");
    }

    /// A write of a whole page, sent and answered.
    fn write(oracle: &mut Oracle, lpn: Lpn) {
        let version = oracle.sent(lpn);
        oracle.answered(lpn, version, 0, 8);
    }

    /// Catches a floor that survives a power cut although nothing made it durable, and a flush that makes nothing so.
    #[test]
    fn after_a_power_cut_a_page_has_any_version_since_the_last_flush() {
        let mut oracle = Oracle::new::<Tag>(10, 8);
        oracle.keep_durable();
        let lpn = Lpn(4);
        (0..2).for_each(|_| write(&mut oracle, lpn));
        let flush = oracle.flush_sent();
        (0..2).for_each(|_| write(&mut oracle, lpn));
        oracle.flushed(&flush);
        oracle.power_cut();
        let sees = |oracle: &Oracle, version| oracle.check(lpn, oracle.floor(lpn), Some(&Tag::stamp(lpn, version, 8))).is_ok();
        assert_eq!([1, 2, 3, 4, 5].map(|v| sees(&oracle, v)), [false, true, true, true, false]);
        oracle.observed(lpn, 3);
        assert_eq!([2, 3, 4].map(|v| sees(&oracle, v)), [false, true, true]);
    }

    /// Catches an older write that becomes durable again after a discard, and a discard that outlives a cut.
    #[test]
    fn a_discard_is_not_durable_and_neither_is_what_was_before_it() {
        let mut oracle = Oracle::new::<Tag>(10, 8);
        oracle.keep_durable();
        let lpn = Lpn(4);
        let first = oracle.sent(lpn);
        oracle.answered(lpn, first, 0, 8);
        let flush = oracle.flush_sent();
        let version = oracle.sent(lpn);
        oracle.discard(lpn, version);
        oracle.flushed(&flush);
        oracle.power_cut();
        assert!(oracle.check::<Tag>(lpn, oracle.floor(lpn), None).is_ok(), "it may be gone");
        assert!(oracle.check(lpn, oracle.floor(lpn), Some(&Tag::stamp(lpn, first, 8))).is_ok(), "or back");
    }

    /// Catches a version that counts as durable again at the next cut, though what held it was in memory that is gone.
    #[test]
    fn what_lost_memory_held_is_not_durable_at_the_next_cut_either() {
        let mut oracle = Oracle::new::<Tag>(10, 8);
        oracle.keep_durable();
        let lpn = Lpn(4);
        write(&mut oracle, lpn);
        let flush = oracle.flush_sent();
        oracle.flushed(&flush);
        oracle.power_cut();
        oracle.doubt(lpn);
        write(&mut oracle, lpn);
        oracle.power_cut();
        assert!(oracle.check::<Tag>(lpn, oracle.floor(lpn), None).is_ok(), "nothing durable says that it was ever written");
    }
}
