//! The SLC cache of a log (decision 14): units that the host writes with one bit a cell, and that are folded into others.
//!
//! A unit in SLC mode ends after a share of its positions. Who collects it moves its pages as those of any unit; they go to the
//! collector's write pointer, which never is in SLC mode. So folding is GC of a unit that the victim policy did not choose.

use crate::log::{Log, LogShape, WritePointer};
use crate::{Ftl, Stream, Unit, UnitId, UnitState};
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
    /// Whether folding begins when the cache is full.
    pub folds_when_full: bool,
    /// Whether the host waits for that, instead of writing past the cache.
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
    free: Vec<UnitId>,
    /// Units written in SLC mode, from their first position to their erase.
    in_use: u32,
    /// Whether the host writes past it.
    is_off: bool,
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

impl Log {
    /// Whether the host has a page in SLC mode to write to, or could open a unit for that.
    fn has_slc_room(&self, shape: &LogShape) -> bool {
        let Some(slc) = &shape.slc else { return false };
        let may_open = match slc.blocks {
            SlcBlocks::Kept(_) => !self.cache.free.is_empty(),
            SlcBlocks::Any(most) => self.cache.in_use < most && self.free_units() > shape.gc.free_blocks + shape.reserve,
        };
        self.write_pointers[SLC].unit.is_some() || may_open && !self.cache.is_off
    }

    /// Whether the host writes in SLC mode: it does from the opening of a unit to its end.
    #[inline]
    pub fn writes_slc(&self) -> bool {
        self.write_pointers[SLC].unit.is_some()
    }

    /// Whether the cache alone decides if the stream has room. Most drives have no cache.
    #[cold]
    pub fn room_by_slc(&self, stream: Stream, shape: &LogShape) -> Option<bool> {
        let slc = shape.slc.as_ref().filter(|_| !stream.is_gc())?;
        if self.has_slc_room(shape) {
            return Some(true);
        }
        let waits = stream.is_host() && slc.waits && self.cache.in_use > 0 && !self.cache.is_off;
        waits.then_some(false)
    }

    /// Where the host writes next in SLC mode; opens a unit where none is open. `None`: past the cache, or nowhere.
    pub fn slc_position(&mut self, units: &mut [Unit], shape: &LogShape) -> Option<WritePointer> {
        if !self.has_slc_room(shape) {
            return None;
        }
        if self.write_pointers[SLC].unit.is_none() {
            let unit = if shape.kept_for_slc() > 0 { self.take_kept(units) } else { self.take_free(units, shape) }?;
            let state = &mut units[(unit - self.first) as usize];
            (state.state, state.slc) = (UnitState::Open, true);
            self.cache.in_use += 1;
            self.write_pointers[SLC] = WritePointer { unit: Some(unit), next: 0 };
        }
        Some(self.write_pointers[SLC])
    }

    /// The least worn of the units that are used for nothing else.
    fn take_kept(&mut self, units: &[Unit]) -> Option<UnitId> {
        let free = &mut self.cache.free;
        let least = (0..free.len()).rev().min_by_key(|&i| units[(free[i] - self.first) as usize].pe)?;
        Some(free.remove(least))
    }

    /// Whether the cache is full and is to be folded for that.
    #[inline]
    pub fn must_fold(&self, shape: &LogShape) -> bool {
        let Some(slc) = &shape.slc else { return false };
        (slc.folds_when_full || slc.waits) && self.cache.in_use > 0 && !self.cache.is_off && !self.has_slc_room(shape)
    }

    /// The full unit in SLC mode that was closed first; one of which nothing is needed before all others.
    fn next_to_fold(&self, units: &[Unit]) -> Option<usize> {
        let full = units.iter().enumerate().filter(|(_, unit)| unit.slc && unit.state == UnitState::Closed);
        full.min_by_key(|(_, unit)| (unit.valid > 0, unit.closed_at)).map(|(index, _)| index)
    }

    /// Condemns the next unit to fold, where the collector has room for all that is valid in it beside the units that are kept
    /// free: folding needs space, where GC gains some.
    pub fn condemn_slc(&self, units: &mut [Unit], shape: &LogShape) -> Option<UnitId> {
        let index = self.next_to_fold(units)?;
        let write_pointer = &self.write_pointers[self.write_pointer_of(Stream::Gc, shape)];
        let open = if write_pointer.unit.is_some() { shape.positions - write_pointer.next } else { 0 };
        let spare = self.free_units().saturating_sub(shape.collectors + shape.reserve);
        if units[index].valid.div_ceil(shape.granule) > open + spare * shape.positions {
            return None;
        }
        units[index].state = UnitState::Condemned;
        Some(self.first + index as u32)
    }
}

impl Ftl {
    /// Whether logs have an SLC cache.
    #[inline]
    #[must_use]
    pub fn has_slc(&self) -> bool {
        self.shape.slc.is_some()
    }

    /// Whether the unit is written in SLC mode.
    #[inline]
    #[must_use]
    pub fn is_slc(&self, unit: UnitId) -> bool {
        self.units[unit as usize].slc
    }

    /// From now on the host writes past the cache, and nothing is folded for lack of room in it.
    pub fn bypass_slc(&mut self) {
        self.logs.iter_mut().for_each(|log| log.cache.is_off = true);
    }

    /// From now on the host writes to the cache again.
    pub fn use_slc(&mut self) {
        self.logs.iter_mut().for_each(|log| log.cache.is_off = false);
    }

    /// Whether the log has fewer free units than it is to have, whatever its cache is like.
    #[must_use]
    pub fn lacks_free(&self, log: usize) -> bool {
        self.logs[log].lacks_free(&self.shape)
    }

    /// True if the log lacks free units even after `more` further units become free.
    #[must_use]
    pub fn lacks_free_beside(&self, log: usize, more: u32) -> bool {
        self.logs[log].lacks_free_beside(more, &self.shape)
    }

    /// Whether a full unit of the log is to be folded: now, or whenever the drive has nothing else to do.
    #[must_use]
    pub fn may_fold(&self, log: usize) -> bool {
        let state = &self.logs[log];
        state.cache.in_use > u32::from(state.writes_slc()) && state.next_to_fold(&self.units[state.units(&self.shape)]).is_some()
    }

    /// Whether the log's cache is full and is to be folded for that.
    #[must_use]
    pub fn must_fold(&self, log: usize) -> bool {
        self.logs[log].must_fold(&self.shape)
    }

    /// Condemns the next unit of the log to fold; `None` where there is none, or too little room for what it holds.
    pub fn condemn_slc(&mut self, log: usize) -> Option<UnitId> {
        let (state, units, shape, _) = self.units_of(log);
        state.condemn_slc(units, shape)
    }

    /// Counts units in SLC mode again.
    pub(crate) fn check_slc(&self) {
        for log in &self.logs {
            let units = &self.units[log.units(&self.shape)];
            let in_use = units.iter().filter(|unit| unit.slc).count() as u32;
            assert_eq!(log.cache.in_use, in_use, "units in SLC mode of the log from unit {} on", log.first);
            let kept = self.shape.kept_for_slc() as usize;
            assert!(kept == 0 || units[kept..].iter().all(|unit| !unit.slc), "SLC mode beside the kept units");
        }
    }
}
