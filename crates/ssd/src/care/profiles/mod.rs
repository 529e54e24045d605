//! Page profiles in reserved pages (FLARES section 4.2).
//!
//! A policy of page ECC keeps profiles of pages in RAM, which a power cut erases. A drive that flushes it writes a *copy* of all of
//! it from time to time into a ring of blocks that no log owns: one page after the other, always with the strongest code, cause
//! `meta`. A mount takes the newest copy of which every page can be read.
//!
//! The ring has room for that copy and for the one that is being written, wherever a cut ends a copy: nothing is programmed behind a
//! page that a cut may have torn, so the next copy begins in the block behind the newest whole one, and erases it first.
//!
//! The simulator's pages carry tags or the host's bytes; what reserved pages hold is kept here beside them, and counts only as
//! far as the medium says that its pages can be read.

pub(crate) mod saved;

use crate::care::{Care, HostUse};
use crate::config::{Setup, SetupError};
use crate::core::flash::{Array, FlashPayload};
use crate::core::owner::Owner;
use crate::core::sorted::sorted;
use crate::core::timer::Timer;
use crate::core::{Command, Core};
use device::command::Verb;
use device::ecc::partial_bits;
use ecc::{FoundProfile, PartialProfile, Profile};
use nand::{FlashArray, Latencies, Oob, PageScan, ProgramOutcome, Scan};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{BlockAddr, Cause, DieId, Grid, Nanos, PeCycles, Ppn, SimTime};

/// Profiles that one flush wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileCopy {
    /// When: pages programmed later have profiles that the copy does not know.
    pub at: SimTime,
    /// Of each page that has any.
    pub partials: BTreeMap<Ppn, PartialProfile>,
    /// The reserved pages that were programmed with it, in order.
    pages: Vec<Ppn>,
}

/// Reserved pages, and what they hold.
#[derive(Clone, Debug)]
pub(crate) struct Profiles {
    /// Time between two copies.
    every: Nanos,
    /// Pages of a copy.
    pages: u32,
    /// Reserved blocks that can be programmed.
    ring: Vec<BlockAddr>,
    /// Where the next page goes: a block of the ring, and a page of it.
    next: (usize, u32),
    /// Blocks that hold something, or of which a cut may have left anything: they are erased before they are programmed.
    used: BTreeSet<BlockAddr>,
    /// Whole copies, the newest last.
    whole: Vec<ProfileCopy>,
    /// The copy on its way.
    under_way: Option<ProfileCopy>,
}

/// Blocks that copies of this many pages need. The newest whole copy may begin anywhere in a block; the next one begins at worst with a
/// block of its own.
fn blocks_for(pages: u32, pages_per_block: u32) -> u32 {
    (pages - 1).div_ceil(pages_per_block) + 1 + pages.div_ceil(pages_per_block)
}

/// The last good blocks of the dies, one die after the other: superblocks that lack any of their blocks are the last ones.
fn reserve(grid: &Grid, blocks: u32, is_bad: impl Fn(BlockAddr) -> bool) -> Vec<BlockAddr> {
    let of_dies = |index| (0..grid.dies()).map(move |die| grid.block(DieId(die as u16), index));
    let from_last = (0..grid.geometry().blocks_per_die()).rev().flat_map(of_dies);
    from_last.filter(|&block| !is_bad(block)).take(blocks as usize).collect()
}

impl Profiles {
    /// The reserved blocks of a drive; `None`: nothing is flushed, or its policy keeps nothing in RAM.
    ///
    /// # Errors
    /// A policy that cannot be built.
    pub fn new(setup: &Setup, grid: &Grid, is_bad: impl Fn(BlockAddr) -> bool) -> Result<Option<Self>, SetupError> {
        if setup.ecc.flush == Nanos(0) {
            return Ok(None);
        }
        let bits =
            partial_bits(&setup.ecc, &setup.errors, grid.geometry()).map_err(|error| SetupError::new(error.to_string()))?;
        let Some(bits) = bits else { return Ok(None) };
        let of_page = grid.geometry().page_size.0 * 8 / u64::from(bits);
        let pages = u64::from(grid.geometry().pages()).div_ceil(of_page.max(1)) as u32;
        let blocks = blocks_for(pages, grid.pages_per_block());
        Ok(Some(Self::over(reserve(grid, blocks, is_bad), pages, setup.ecc.flush)))
    }

    fn over(ring: Vec<BlockAddr>, pages: u32, every: Nanos) -> Self {
        Self { every, pages, ring, next: (0, 0), used: BTreeSet::new(), whole: Vec::new(), under_way: None }
    }

    /// Whether the block belongs to no log.
    pub fn holds(&self, block: BlockAddr) -> bool {
        self.ring.contains(&block)
    }

    /// The reserved blocks.
    pub fn blocks(&self) -> &[BlockAddr] {
        &self.ring
    }

    /// Pages of a copy.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The newest whole copy.
    pub fn newest(&self) -> Option<&ProfileCopy> {
        self.whole.last()
    }

    /// Pages that a mount reads.
    pub fn pages_to_read(&self) -> u32 {
        if self.whole.is_empty() { 0 } else { self.pages }
    }

    /// Time to read a copy, one page after the other.
    pub fn time_to_read(&self, latencies: &Latencies, grid: &Grid) -> Nanos {
        let page = latencies.command * 2 + latencies.read(0) + latencies.transfer(grid.slots_per_page());
        page * u64::from(self.pages_to_read())
    }

    /// After a power cut: copies that flash still has.
    pub fn after_cut<P: FlashPayload>(mut self, array: &Array<P>) -> Self {
        let grid = array.grid();
        self.under_way = None;
        self.whole.retain(|copy| copy.pages.iter().all(|&ppn| matches!(array.scan_page(ppn), PageScan::Valid(_))));
        let last = self.newest().and_then(|copy| copy.pages.last()).map(|&ppn| grid.split(ppn).0);
        let at = last.and_then(|block| self.ring.iter().position(|&other| other == block));
        self.next = (at.map_or(0, |at| (at + 1) % self.ring.len()), 0);
        self.used = self.ring.iter().copied().collect();
        self
    }

    /// A copy of the policy's profiles sets out, unless one is on its way or nothing has changed since the last one.
    fn begin<P: FlashPayload>(&mut self, core: &mut Core<P>) {
        let Some(ecc) = &core.device.ecc else { return };
        let partials = sorted(ecc.policy.partials());
        let same = self.newest().map_or(partials.is_empty(), |copy| copy.partials == partials);
        if self.under_way.is_some() || same {
            return;
        }
        self.under_way = Some(ProfileCopy { at: core.device.now, partials, pages: Vec::new() });
        self.go_on(core);
    }

    /// The next erase or program of the copy on its way. One at a time: the host waits behind one page at most.
    fn go_on<P: FlashPayload>(&mut self, core: &mut Core<P>) {
        let grid = &core.device.grid;
        self.ring.retain(|&block| core.device.array.answers(grid.ppn(block, 0)));
        if (self.ring.len() as u32) < blocks_for(self.pages, grid.pages_per_block()) {
            // Too few blocks are left for two copies. A profile that is lost is made good by windows to come.
            self.under_way = None;
            return;
        }
        let at = self.next.0 % self.ring.len();
        let (block, page) = (self.ring[at], self.next.1);
        let ppn = grid.ppn(block, page);
        self.next.0 = at;
        if page == 0 && self.used.contains(&block) {
            self.whole.retain(|copy| copy.pages.iter().all(|&ppn| grid.split(ppn).0 != block));
            let owner = Owner::Reserved;
            core.submit(Command { owner, ppn, verb: Verb::Erase, cause: Cause::Meta, ..Command::default() });
            return;
        }
        self.used.insert(block);
        let image = core.device.images.open(ppn, Oob::default());
        core.submit_program(image, Owner::Reserved, Cause::Meta);
    }

    /// A reserved block was erased or a page of it programmed, or not.
    fn done<P: FlashPayload>(&mut self, core: &mut Core<P>, command: &Command, outcome: ProgramOutcome) {
        let (block, page) = core.device.grid.split(command.ppn);
        let Some(copy) = &mut self.under_way else { return };
        if !outcome.is_done() {
            // The block is worn out: the copy begins again in the next one.
            self.ring.retain(|&other| other != block);
            copy.pages.clear();
            self.next.1 = 0;
        } else if command.verb == Verb::Erase {
            self.used.remove(&block);
        } else {
            copy.pages.push(command.ppn);
            let is_last = page + 1 == core.device.grid.pages_per_block();
            self.next = if is_last { (self.next.0 + 1, 0) } else { (self.next.0, page + 1) };
        }
        if copy.pages.len() as u32 == self.pages {
            self.whole.extend(self.under_way.take());
            // One more is kept for the case that a part of the newest is lost.
            let old = self.whole.len().saturating_sub(2);
            self.whole.drain(..old);
            return;
        }
        self.go_on(core);
    }
}

impl<P: FlashPayload> Care<P> {
    /// Sets the time of the next flush, unless it is set.
    #[inline]
    pub fn start_flush(&self, core: &mut Core<P>) {
        if let Some(profiles) = &self.profiles
            && core.device.timed
            && !core.is_pending(Timer::Flush)
        {
            core.schedule(Timer::Flush, core.device.now + profiles.every);
        }
    }

    /// The time has come. As the scrub, flushes go on while the host does.
    pub fn flush_due(&mut self, core: &mut Core<P>, host: HostUse) {
        core.clear(Timer::Flush);
        if let Some(profiles) = &mut self.profiles {
            profiles.begin(core);
        }
        if host == HostUse::Busy {
            self.start_flush(core);
        }
    }

    /// A command of a reserved block has ended.
    pub fn reserved_done(&mut self, core: &mut Core<P>, command: &Command, outcome: ProgramOutcome) {
        if command.verb == Verb::Program {
            core.device.images.give(command.image);
        }
        if let Some(profiles) = &mut self.profiles {
            profiles.done(core, command, outcome);
        }
    }

    /// A mount gives the policy what reserved pages and the pages themselves say of every page.
    pub fn restore_profiles(&self, core: &mut Core<P>) {
        let Some(profiles) = &self.profiles else { return };
        let Some(mut ecc) = core.device.ecc.take() else { return };
        let nothing = ProfileCopy::default();
        let copy = profiles.newest().unwrap_or(&nothing);
        let grid = &core.device.grid;
        let blocks = (0..grid.geometry().blocks()).map(BlockAddr).filter(|&block| !profiles.holds(block));
        for ppn in blocks.flat_map(|block| (0..grid.pages_per_block()).map(move |page| grid.ppn(block, page))) {
            let PageScan::Valid(_) = core.device.array.scan_page(ppn) else {
                if let Some(&flushed) = copy.partials.get(&ppn) {
                    ecc.policy.restore(ppn, &FoundProfile { flushed, beside: None, is_newer: false });
                }
                continue;
            };
            let view = core.device.array.page(ppn);
            let age = ecc.cells.model_hours(view.written, copy.at);
            let pe = PeCycles(core.device.array.block(grid.split(ppn).0).pe);
            let beside = Some(Profile { capability: view.oob.ecc, pe, hours: age });
            let flushed = copy.partials.get(&ppn).copied().unwrap_or_default();
            ecc.policy.restore(ppn, &FoundProfile { flushed, beside, is_newer: view.written >= copy.at });
        }
        core.device.ecc = Some(ecc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::care::testing::Bench;

    /// Two copies, wherever they begin, and no room to spare. By hand: copies of 3 pages in blocks of 4 that begin at page 3 reach into
    /// two blocks, and the next one takes a third.
    #[test]
    fn the_ring_has_room_for_a_copy_and_the_next_one() {
        for (pages, of_block, blocks) in [(1, 4, 2), (3, 4, 3), (4, 4, 3), (5, 4, 4), (9, 4, 6), (1, 1, 2), (2, 1, 4)] {
            assert_eq!(blocks_for(pages, of_block), blocks, "{pages} pages in blocks of {of_block}");
        }
    }

    /// Catches reserved blocks that spoil more superblocks than they must: the last block of die 1 is bad, so that superblock is
    /// no use as it is.
    #[test]
    fn blocks_of_the_last_superblock_are_reserved_first() {
        let grid = Grid::new(crate::core::testing::geometry());
        let (dies, last) = (grid.dies(), grid.geometry().blocks_per_die() - 1);
        let bad = grid.block(DieId(1), last);
        let reserved = reserve(&grid, dies, |block| block == bad);
        let index = |block: BlockAddr| block.0 - grid.block(grid.split_block(block).0, 0).0;
        let of_last = reserved.iter().filter(|&&block| index(block) == last).count() as u32;
        assert_eq!((of_last, reserved.len() as u32), (dies - 1, dies), "{reserved:?}");
        assert!(!reserved.contains(&bad));
    }

    /// A drive with FLARES' codes whose copies take three pages, in the blocks of a ring of three; blocks have four.
    fn bench() -> Bench {
        let mut bench = Bench::with_flares(|_| {});
        let ring = [0, 1, 2].map(|die| bench.core.device.grid.block(DieId(die), 7)).to_vec();
        bench.care.profiles = Some(Profiles::over(ring, 3, Nanos(1000)));
        bench
    }

    fn profiles(bench: &Bench) -> &Profiles {
        bench.care.profiles.as_ref().expect("it flushes them")
    }

    /// Reads so far have found this many errors in page 0, and that is flushed.
    fn flush(bench: &mut Bench, errors: u32) {
        let flushed = PartialProfile { errc: errors, reads: errors, codewords: errors, ..PartialProfile::default() };
        let ecc = bench.core.device.ecc.as_mut().expect("a drive with ECC");
        ecc.policy.restore(Ppn(0), &FoundProfile { flushed, beside: None, is_newer: false });
        bench.care.flush_due(&mut bench.core, HostUse::Away);
        loop {
            let ended = bench.carry_out();
            if ended.is_empty() {
                break;
            }
            for command in ended {
                let pages = profiles(bench).whole.iter().flat_map(|copy| copy.pages.iter());
                assert!(pages.copied().all(|ppn| bench.core.device.is_programmed(ppn)), "a whole copy lacks a page");
                bench.care.reserved_done(&mut bench.core, &command, ProgramOutcome::Done);
            }
        }
    }

    fn kept(bench: &Bench) -> Vec<u32> {
        profiles(bench).whole.iter().map(|copy| copy.partials[&Ppn(0)].errc).collect()
    }

    /// A cut leaves the rest of the second copy's block as it is, so that the fourth copy comes back to the block in which the
    /// second begins. Catches a copy of which pages are erased that still counts as whole, others that no longer do, and images
    /// that stay behind the programs.
    #[test]
    fn a_copy_is_whole_until_one_of_its_blocks_is_erased() {
        let mut bench = bench();
        flush(&mut bench, 1);
        flush(&mut bench, 2);
        assert_eq!((kept(&bench), profiles(&bench).next), (vec![1, 2], (1, 2)));
        let cut = bench.care.profiles.take().expect("it flushes them");
        bench.care.profiles = Some(cut.after_cut::<device::contents::Tag>(&bench.core.device.array));
        flush(&mut bench, 3);
        assert_eq!((kept(&bench), profiles(&bench).next), (vec![2, 3], (2, 3)));
        flush(&mut bench, 4);
        assert_eq!((kept(&bench), profiles(&bench).next), (vec![3, 4], (0, 2)), "the second has lost a page");
        assert_eq!(bench.core.device.images.slab.in_use(), 0);
    }

    /// Catches a drive that flushes once, and one whose timer keeps it from coming to rest.
    #[test]
    fn the_next_flush_is_due_as_long_as_the_host_is_at_work() {
        for (host, due) in [(HostUse::Busy, true), (HostUse::Away, false)] {
            let mut bench = bench();
            (bench.core.device.timed, bench.core.device.now) = (true, SimTime(500));
            bench.care.flush_due(&mut bench.core, host);
            let next = due.then(|| (SimTime(1500), Timer::Flush.index(&bench.core.device.grid)));
            assert_eq!(bench.core.device.calendar.next(), next, "{host:?}");
        }
    }
}
