//! The SLC cache of a log (decision 14): units that the host writes with one bit a cell, and that are folded into others.
//!
//! A unit in SLC mode ends after a share of its positions. Who collects it moves its pages as those of any unit; they go to the
//! collector's write pointer, which never is in SLC mode. So folding is GC of a unit that the victim policy did not choose.

use crate::map::Ftl;
use crate::unit::UnitId;

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
