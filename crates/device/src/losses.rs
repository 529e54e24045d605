//! Losses of a device: dies, blocks and pages, as the controller knows it.

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
    /// Dies that took the places of dead ones.
    spares: StripSet,
    /// Of these, the ones that may lack what was in flash: not all that the dead ones held is rebuilt.
    lacking: StripSet,
    /// Pages whose program failed: what the map believes that they hold.
    pub failed_programs: FxHashMap<u32, FailedProgram>,
    /// Blocks whose last erase failed: nothing that they held is kept, and they are written no more.
    pub unerased: BTreeSet<BlockAddr>,
    /// Pages whose contents the controller has had since a mount, because their programs may have been
    /// cut: reads of them do not fail.
    pub remembered: BTreeSet<Ppn>,
}

impl Losses {
    /// The die stops answering.
    pub fn die_died(&mut self, die: DieId) {
        self.dead.insert(u32::from(die.0));
        self.died.push(die);
        self.lacking.remove(u32::from(die.0));
    }

    /// A new die has the place of this one, which died: nothing of what was lost with it is there.
    pub fn die_replaced(&mut self, die: DieId, is_of_die: impl Fn(Ppn) -> bool, block_is_of_die: impl Fn(BlockAddr) -> bool) {
        self.dead.remove(u32::from(die.0));
        self.died.retain(|&other| other != die);
        self.spares.insert(u32::from(die.0));
        self.lacking.insert(u32::from(die.0));
        self.failed_programs.retain(|&ppn, _| !is_of_die(Ppn(ppn)));
        self.unerased.retain(|&block| !block_is_of_die(block));
        self.remembered.retain(|&ppn| !is_of_die(ppn));
    }

    /// These dies took the places of dead ones before a mount, and those that lack something still do.
    pub fn had_spares(&mut self, spares: StripSet, lacking: StripSet) {
        (self.spares, self.lacking) = (spares, lacking.minus(self.dead));
    }

    /// Nothing that the dead one had held is left to be rebuilt where this die took its place.
    pub fn lacks_nothing(&mut self, die: DieId) {
        self.lacking.remove(u32::from(die.0));
    }

    /// All that dead dies held whose place others have is rebuilt.
    pub fn all_rebuilt(&mut self) {
        self.lacking = StripSet::EMPTY;
    }

    /// Dies that took the places of dead ones.
    pub fn spares(&self) -> StripSet {
        self.spares
    }

    /// Of these, the ones that may lack what was in flash: not all that the dead ones held is rebuilt.
    pub fn lacking(&self) -> StripSet {
        self.lacking
    }

    /// Whether the die may lack what was in flash: it has died, or a new one has its place and not everything is rebuilt.
    pub fn may_lack(&self, die: DieId) -> bool {
        self.is_dead(die) || self.lacking.contains(u32::from(die.0))
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
