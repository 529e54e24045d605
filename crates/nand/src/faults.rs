//! Faults of the medium, as a wrapper around any array.
//!
//! The fault model:
//!
//! * **A dead die** answers nothing from the moment it dies: every read of it is
//!   uncorrectable, programs and erases fail, and nothing it held comes back.
//! * **An uncorrectable read** strikes one page read with a given probability, independently of
//!   address, wear and time. The page itself stays: the next read may succeed.
//!
//! Draws come from a stream of their own and happen once for each page read, so that the same
//! reads meet the same faults whatever the pages carry.

use crate::{BlockInfo, FlashArray, Oob, OobTag, PageView, Payload, ProgramOutcome, ReadOutcome};
use vocab::{BlockAddr, DieId, Grid, Ppn, SimTime, Stream};

/// An array with faults.
#[derive(Clone, Debug)]
pub struct Faulty<A> {
    inner: A,
    dead: Vec<bool>,
    any_dead: bool,
    uncorrectable: f64,
    draws: Stream,
}

impl<A> Faulty<A> {
    /// Wraps `inner`; each page read is uncorrectable with the given probability.
    pub fn new(inner: A, dies: u32, uncorrectable: f64, draws: Stream) -> Self {
        Self { inner, dead: vec![false; dies as usize], any_dead: false, uncorrectable, draws }
    }

    /// The die stops answering, for good.
    pub fn kill(&mut self, die: DieId) {
        self.dead[die.index()] = true;
        self.any_dead = true;
    }

    fn is_dead<P: Payload>(&self, block: BlockAddr) -> bool
    where
        A: FlashArray<P>,
    {
        self.any_dead && self.dead[self.inner.grid().split_block(block).0.index()]
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
        if !self.answers(ppn) {
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
    fn program(&mut self, ppn: Ppn, tags: &[OobTag], payload: &[P], oob: Oob, now: SimTime) -> ProgramOutcome {
        if !self.answers(ppn) {
            return ProgramOutcome::Failed;
        }
        self.inner.program(ppn, tags, payload, oob, now)
    }

    fn erase(&mut self, block: BlockAddr) -> ProgramOutcome {
        if self.is_dead(block) { ProgramOutcome::Failed } else { self.inner.erase(block) }
    }

    #[inline]
    fn answers(&self, ppn: Ppn) -> bool {
        !self.any_dead || !self.is_dead(self.inner.grid().split(ppn).0)
    }

    fn set_age(&mut self, block: BlockAddr, age: impl FnOnce(&mut BlockInfo)) {
        self.inner.set_age(block, age);
    }
}
