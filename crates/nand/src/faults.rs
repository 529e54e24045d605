//! Faults of the medium, as a wrapper around any array.
//!
//! The fault model:
//!
//! * **A dead die** answers nothing from the moment it dies: every read of it is
//!   uncorrectable, programs and erases fail, and nothing it held comes back. The controller
//!   notices at once ([`FlashArray::answers`]).
//! * **A lost block** (a grown bad block) keeps nothing: every read of it is uncorrectable from
//!   that moment on, and programs and erases of it fail, for good. The controller notices when
//!   it reads, programs or erases it, not before.
//! * **A lost page** is uncorrectable at every read until its block is erased; after that the
//!   page is as good as any. The controller notices when it reads the page.
//! * **An uncorrectable read** strikes one page read with a given probability, independently of
//!   address, wear and time. The page itself stays: the next read may succeed.
//!
//! What a failure takes, it takes between two commands: a program that completed before it is
//! lost with the rest, one that completes after it fails. A page that fails to program holds
//! nothing, and the pages behind it in its block are not programmed either.
//!
//! Draws come from a stream of their own and happen once for each page read that a permanent
//! loss did not strike, so that the same reads meet the same faults whatever the pages carry.

use crate::{BlockInfo, EraseFate, FlashArray, InFlight, Member, PageScan, PageView};
use crate::{Pairing, Payload, Program, ProgramOutcome, ReadOutcome, Scan};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Capability, DieId, Grid, Ppn, SimTime, Stream};

/// An array with faults.
#[derive(Clone, Debug)]
pub struct Faulty<A> {
    inner: A,
    dead: Vec<bool>,
    lost_blocks: BTreeSet<BlockAddr>,
    lost_pages: BTreeSet<Ppn>,
    /// Whether anything is lost for good: without faults one look decides.
    any: bool,
    uncorrectable: f64,
    draws: Stream,
}

impl<A> Faulty<A> {
    /// Wraps `inner`; each page read is uncorrectable with the given probability.
    pub fn new(inner: A, dies: u32, uncorrectable: f64, draws: Stream) -> Self {
        let (lost_blocks, lost_pages) = (BTreeSet::new(), BTreeSet::new());
        Self { inner, dead: vec![false; dies as usize], lost_blocks, lost_pages, any: false, uncorrectable, draws }
    }

    /// The die stops answering, for good.
    pub fn kill(&mut self, die: DieId) {
        self.dead[die.index()] = true;
        self.any = true;
    }

    /// The block keeps nothing, for good.
    pub fn lose_block(&mut self, block: BlockAddr) {
        self.lost_blocks.insert(block);
        self.any = true;
    }

    /// The page is uncorrectable until its block is erased.
    pub fn lose_page(&mut self, ppn: Ppn) {
        self.lost_pages.insert(ppn);
        self.any = true;
    }

    /// Whether a read of the page fails whenever it is read. What the controller cannot know
    /// before it tries; for tests.
    pub fn is_lost<P: Payload>(&self, ppn: Ppn) -> bool
    where
        A: FlashArray<P>,
    {
        self.any && (self.is_gone(self.inner.grid().split(ppn).0) || self.lost_pages.contains(&ppn))
    }

    /// Whether the block takes nothing any more: it is lost, or its die is dead.
    fn is_gone<P: Payload>(&self, block: BlockAddr) -> bool
    where
        A: FlashArray<P>,
    {
        self.any && (self.lost_blocks.contains(&block) || self.is_dead(block))
    }

    /// An erase of the block ended: lost pages are as good as any.
    fn find_pages<P: Payload>(&mut self, block: BlockAddr)
    where
        A: FlashArray<P>,
    {
        if !self.lost_pages.is_empty() {
            let (first, end) = (self.inner.grid().ppn(block, 0), self.inner.grid().pages_per_block());
            self.lost_pages.retain(|ppn| !(first.0..first.0 + end).contains(&ppn.0));
        }
    }

    fn is_dead<P: Payload>(&self, block: BlockAddr) -> bool
    where
        A: FlashArray<P>,
    {
        self.any && self.dead[self.inner.grid().split_block(block).0.index()]
    }
}

impl<P: Payload> Faulty<crate::MemoryArray<P>> {
    /// As [`crate::MemoryArray::grow`]; the new dies answer.
    ///
    /// # Panics
    /// If there are to be fewer channels than before.
    pub fn grow(&mut self, channels: u32) {
        self.inner.grow(channels);
        self.dead.resize(self.inner.grid().dies() as usize, false);
    }

    /// As [`crate::MemoryArray::cut_power`]. Blocks that take nothing any more are left alone.
    ///
    /// # Panics
    /// As [`crate::MemoryArray::cut_power`].
    pub fn cut_power(&mut self, pairing: Pairing, in_flight: &[InFlight<'_, P>]) {
        let is_alive = |command: &&InFlight<'_, P>| match command {
            InFlight::Program(program, _) => !self.is_gone(self.inner.grid().split(program.ppn).0),
            InFlight::Erase(block, _) => !self.is_gone(*block),
        };
        let alive: Vec<_> = in_flight.iter().filter(is_alive).copied().collect();
        self.inner.cut_power(pairing, &alive);
        for command in &alive {
            if let InFlight::Erase(block, EraseFate::Ended) = command {
                self.find_pages(*block);
            }
        }
    }
}

impl<P: Payload, A: Scan<P>> Scan<P> for Faulty<A> {
    /// What is lost for good is unreadable; reads that fail for once are not drawn here.
    fn scan_page(&self, ppn: Ppn) -> PageScan<'_> {
        if self.is_gone(self.inner.grid().split(ppn).0) {
            return PageScan::Unreadable;
        }
        match self.inner.scan_page(ppn) {
            PageScan::Valid(_) if self.lost_pages.contains(&ppn) => PageScan::Unreadable,
            found => found,
        }
    }

    fn forget_volatile(&mut self) {
        self.inner.forget_volatile();
    }
}

impl<P: Payload, A: FlashArray<P>> FlashArray<P> for Faulty<A> {
    fn grid(&self) -> &Grid {
        self.inner.grid()
    }

    #[inline]
    fn block(&self, block: BlockAddr) -> &BlockInfo {
        self.inner.block(block)
    }

    #[inline]
    fn read(&mut self, ppn: Ppn) -> ReadOutcome {
        if self.any && self.is_lost(ppn) {
            return ReadOutcome::Uncorrectable;
        }
        if self.uncorrectable > 0.0 && self.draws.chance(self.uncorrectable) {
            return ReadOutcome::Uncorrectable;
        }
        self.inner.read(ppn)
    }

    #[inline]
    fn page(&self, ppn: Ppn) -> PageView<'_, P> {
        self.inner.page(ppn)
    }

    #[inline]
    fn program_page(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        if self.any && self.is_gone(self.inner.grid().split(program.ppn).0) {
            return ProgramOutcome::Failed;
        }
        self.inner.program_page(program)
    }

    fn update(&self, ppn: Ppn, index: u32) -> u64 {
        self.inner.update(ppn, index)
    }

    fn members(&self, ppn: Ppn) -> &[Member] {
        self.inner.members(ppn)
    }

    fn recharge(&mut self, ppn: Ppn, now: SimTime) -> ProgramOutcome {
        if self.any && self.is_gone(self.inner.grid().split(ppn).0) {
            return ProgramOutcome::Failed;
        }
        self.inner.recharge(ppn, now)
    }

    fn erase(&mut self, block: BlockAddr) -> ProgramOutcome {
        if self.is_gone(block) {
            return ProgramOutcome::Failed;
        }
        self.find_pages(block);
        self.inner.erase(block)
    }

    #[inline]
    fn answers(&self, ppn: Ppn) -> bool {
        !self.any || !self.is_dead(self.inner.grid().split(ppn).0)
    }

    fn set_age(&mut self, block: BlockAddr, age: impl FnOnce(&mut BlockInfo)) {
        self.inner.set_age(block, age);
    }

    fn set_ecc(&mut self, block: BlockAddr, ecc: Capability) {
        self.inner.set_ecc(block, ecc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryArray, Oob, OobTag};
    use vocab::{Bytes, Geometry, Lpn, PlaneUse, Streams};

    #[test]
    fn a_lost_page_comes_back_with_an_erase_and_a_lost_block_never_does() {
        let geometry = Geometry {
            channels: 1,
            dies_per_channel: 2,
            planes: 1,
            plane_use: PlaneUse::Single,
            blocks_per_plane: 4,
            pages_per_block: 3,
            page_size: Bytes(4096),
            oob_size: Bytes(64),
            slot_size: Bytes(4096),
        };
        let draws = Streams::new(1).stream("test");
        let mut array = Faulty::new(MemoryArray::<u64>::new(geometry, true), 2, 0.0, draws);
        let program = |array: &mut Faulty<_>, ppn: u32| {
            let oob = Oob { sequence: u64::from(ppn), ..Oob::default() };
            array.program(Ppn(ppn), &[OobTag::data(Lpn(ppn))], &[7u64], oob, SimTime(0))
        };
        (0..4).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        array.lose_page(Ppn(1));
        let outcomes: Vec<_> = (0..3).map(|ppn| array.read(Ppn(ppn))).collect();
        assert_eq!(outcomes, [ReadOutcome::Clean, ReadOutcome::Uncorrectable, ReadOutcome::Clean]);
        assert_eq!(array.erase(BlockAddr(0)), ProgramOutcome::Done);
        (0..2).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        assert_eq!(array.read(Ppn(1)), ReadOutcome::Clean);

        array.lose_block(BlockAddr(1));
        assert_eq!(array.read(Ppn(3)), ReadOutcome::Uncorrectable);
        assert_eq!((program(&mut array, 4), array.erase(BlockAddr(1))), (ProgramOutcome::Failed, ProgramOutcome::Failed));
        assert_eq!(array.read(Ppn(0)), ReadOutcome::Clean, "other blocks of the die answer");
    }
}
