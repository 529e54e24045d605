//! What a device has lost: dies, blocks and pages, as the controller knows it.

use crate::failed::FailedProgram;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use vocab::{BlockAddr, DieId, Ppn, StripSet};

/// Dies, blocks and pages that do not hold, or do not give, what they should.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Dies that stopped answering, as a set: it is asked for each command.
    dead: StripSet,
    /// The same dies in the order of their death: substitutes are chosen in that order.
    died: Vec<DieId>,
    /// Pages whose program failed: what the map believes that they hold.
    pub failed_programs: FxHashMap<u32, FailedProgram>,
    /// Blocks whose last erase failed: nothing that they held is kept, and they are written no more.
    pub unerased: BTreeSet<BlockAddr>,
    /// Pages whose contents the controller has had since a mount, because their programs may have been
    /// cut: reads of them do not fail.
    pub remembered: BTreeSet<Ppn>,
}

impl Losses {
    /// The die stops answering, for good.
    pub fn die_died(&mut self, die: DieId) {
        self.dead.insert(u32::from(die.0));
        self.died.push(die);
    }

    /// Dies that have died.
    #[inline]
    pub fn dead(&self) -> StripSet {
        self.dead
    }

    /// The same in the order of their death.
    #[inline]
    pub fn died(&self) -> &[DieId] {
        &self.died
    }

    /// Whether the die has died.
    #[inline]
    pub fn is_dead(&self, die: DieId) -> bool {
        !self.died.is_empty() && self.dead.contains(u32::from(die.0))
    }

    /// Whether nothing is known to be wrong with the block: its last erase did not fail.
    pub fn keeps(&self, block: BlockAddr) -> bool {
        self.unerased.is_empty() || !self.unerased.contains(&block)
    }

    /// The block was to be erased: what it held is gone, also if that failed.
    pub fn note_erase(&mut self, block: BlockAddr, is_done: bool, block_of: impl Fn(Ppn) -> BlockAddr) {
        self.remembered.retain(|&ppn| block_of(ppn) != block);
        if is_done {
            self.unerased.remove(&block);
        } else {
            self.unerased.insert(block);
        }
    }
}
