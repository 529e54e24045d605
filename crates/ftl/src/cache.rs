//! The SLC cache of a log (decision 14): units that the host writes with one bit a cell.

use crate::unit::{Unit, UnitId, UnitState};
use vocab::StreamId;

/// The write pointer of the host in SLC mode.
pub(crate) const SLC: usize = 2 * StreamId::COUNT_MAX;

/// Which units a cache takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlcBlocks {
    /// The first this many of each log, which are used for nothing else.
    Kept(u32),
    /// Any free one, at most this many at a time, as long as the log has more free units than it has to have.
    Any(u32),
}

/// The SLC cache of each log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcSpace {
    /// Its units.
    pub blocks: SlcBlocks,
    /// Bits that a cell stores in its usual mode: a unit in SLC mode has this many times fewer positions.
    pub bits: u32,
    /// True if a full cache starts folding.
    pub folds_when_full: bool,
    /// True if host writes wait for the fold; else they bypass the full cache.
    pub waits: bool,
}

impl SlcSpace {
    /// Units that are used for nothing else.
    pub(crate) fn kept(self) -> u32 {
        if let SlcBlocks::Kept(units) = self.blocks { units } else { 0 }
    }
}

/// State of the cache of one log.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    /// Free units that are used for nothing else, taken from the end.
    pub free: Vec<UnitId>,
    /// Units written in SLC mode, from their first position to their erase.
    pub in_use: u32,
    /// True if host writes bypass the cache.
    pub is_off: bool,
}

impl Cache {
    pub fn of(mut kept: Vec<UnitId>) -> Self {
        kept.reverse();
        Self { free: kept, in_use: 0, is_off: false }
    }

    /// None of the units that a mount found is free.
    pub fn mount(&mut self, units: &mut [Unit]) {
        self.free.clear();
        units.iter_mut().for_each(|unit| unit.slc &= unit.state == UnitState::Closed);
        self.in_use = units.iter().filter(|unit| unit.slc).count() as u32;
    }

    /// A unit that is used for nothing else is free again.
    pub fn give(&mut self, unit: UnitId) {
        self.free.insert(0, unit);
    }

    /// A unit was erased: it is in no mode.
    pub fn left(&mut self, unit: &mut Unit) {
        self.in_use -= u32::from(unit.slc);
        unit.slc = false;
    }

    /// A unit is never used again.
    pub fn retire(&mut self, unit: UnitId, state: &mut Unit) {
        self.free.retain(|&free| free != unit);
        self.left(state);
    }
}
