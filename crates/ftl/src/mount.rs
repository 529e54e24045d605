//! The map after a mount: no unit is open, and none is known to be erased.

use crate::map::Ftl;
use crate::unit::{UnitId, UnitState};

impl Ftl {
    /// Breaks a safety rule for tests that are to notice: old versions may be erased before the new
    /// ones are durable.
    pub fn break_pins(&mut self) {
        self.pins = false;
    }

    /// Breaks a safety rule for tests that are to notice: dirty units count as erased.
    pub fn break_erase_again(&mut self) {
        for log in 0..self.logs() {
            let (state, units, shape, _) = self.units_of(log);
            state.break_erase_again(units, shape.kept_for_slc());
        }
    }

    /// Which units were found written in SLC mode; to be called before [`Self::mount`].
    pub fn mount_slc(&mut self, is_slc: impl Fn(UnitId) -> bool) {
        for (unit, state) in (0..).zip(&mut self.units) {
            state.slc = is_slc(unit);
        }
    }

    /// Sets the state of every unit of a drive that was found written; to be called before anything is
    /// published. `newest` gives the age rank of the newest needed page of a unit: such a unit becomes
    /// closed. A unit without needed pages becomes dirty: it is erased before it is written.
    pub fn mount(&mut self, newest: impl Fn(UnitId) -> Option<u64>) {
        for (unit, state) in (0..).zip(&mut self.units) {
            if state.state == UnitState::Bad {
                continue;
            }
            let newest = newest(unit);
            state.state = if newest.is_some() { UnitState::Closed } else { UnitState::Dirty };
            state.closed_at = newest.unwrap_or(0);
        }
        for log in 0..self.logs() {
            let (state, units, ..) = self.units_of(log);
            state.mount(units);
        }
    }

    /// A closed unit that nothing valid and no pin is left in becomes dirty, as those are that the mount found so. False
    /// where something is.
    pub fn make_dirty(&mut self, unit: UnitId) -> bool {
        let log = self.log_of(unit);
        let (state, units, ..) = self.units_of(log);
        state.make_dirty(unit, units)
    }

    /// Condemns the closed unit without pins that has the fewest valid slots, if collecting it gains
    /// space.
    pub fn condemn_unpinned(&mut self, log: usize) -> Option<UnitId> {
        let (state, units, shape, _) = self.units_of(log);
        state.condemn_unpinned(units, shape)
    }

    /// Condemns the next dirty unit, which only has to be erased.
    pub fn condemn_dirty(&mut self, log: usize) -> Option<UnitId> {
        let (state, units, ..) = self.units_of(log);
        state.condemn_dirty(units)
    }
}
