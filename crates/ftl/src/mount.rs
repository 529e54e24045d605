//! The map as a mount finds it: nothing is open, nothing is known to be free.

use crate::{Ftl, UnitId, UnitState};

impl Ftl {
    /// From now on old versions may be erased before the new ones are durable: for tests that are to
    /// notice.
    pub fn break_pins(&mut self) {
        self.pins = false;
    }

    /// Takes units that a mount found unneeded for erased: for tests that are to notice.
    pub fn break_erase_again(&mut self) {
        for log in 0..self.logs() {
            let (state, units, ..) = self.units_of(log);
            state.break_erase_again(units);
        }
    }

    /// Takes over the units of a drive that was found written, before anything is published.
    /// `newest` says for each unit with something needed in it how new the newest of that is: such
    /// units are closed. All others are erased before they are written.
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

    /// Condemns the emptiest closed unit that nothing holds back from erase, if collecting it wins
    /// anything.
    pub fn condemn_unpinned(&mut self, log: usize) -> Option<UnitId> {
        let (state, units, shape, _) = self.units_of(log);
        state.condemn_unpinned(units, shape)
    }

    /// Condemns a unit that a mount found unneeded: it is only to be erased.
    pub fn condemn_dirty(&mut self, log: usize) -> Option<UnitId> {
        let (state, units, ..) = self.units_of(log);
        state.condemn_dirty(units)
    }
}
