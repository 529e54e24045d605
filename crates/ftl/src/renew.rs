//! A new die in the place of a dead one.

use crate::log::Log;
use crate::map::Ftl;
use crate::unit::{LogKind, Unit, UnitId, UnitState};
use vocab::{BlockAddr, DieId};

impl Ftl {
    /// A new die has the place of this one: its units are erased, and free again but for those that `is_reserved`. Nothing may be
    /// mapped there. A unit that is still pinned, on behalf of an update that began before, stays closed: it is collected, and
    /// holds nothing.
    ///
    /// # Panics
    /// Under a group log, or if a slot of the die is mapped.
    pub fn renew_die(&mut self, die: DieId, is_reserved: impl Fn(BlockAddr) -> bool) {
        assert_eq!(self.kind(), LogKind::Regions, "a superblock has pages on other dies, too");
        let per_die = self.grid.blocks_per_die();
        let first = u32::from(die.0) * per_die;
        for unit in first..first + per_die {
            let old = &mut self.units[unit as usize];
            assert_eq!(old.valid, 0, "unit {unit} of a new die holds what is mapped");
            let state = if is_reserved(BlockAddr(unit)) { UnitState::Bad } else { UnitState::Free };
            *old = Unit { state, pins: old.pins, ..Unit::default() };
        }
        let units_of_log = per_die / self.shape.logs_of_die(0).len() as u32;
        for (index, log) in self.shape.logs_of_die(u32::from(die.0)).enumerate() {
            self.logs[log] = Log::new(first + index as u32 * units_of_log, &self.units, &self.shape);
            // Not before: a pinned unit counts as room for data like any other.
            let (state, units, ..) = self.units_of(log);
            state.close_pinned(units);
        }
    }

    /// A new die has the place of this one, and no superblock has a page of it: none that was written before the death is left. Free
    /// superblocks have it as a member from now on, others once they are erased. Block groups are settled next
    /// ([`Self::settle_groups`]).
    ///
    /// # Panics
    /// Under region logs.
    pub fn rejoin_die(&mut self, die: DieId) {
        let units = &self.units;
        let rows = self.rows.as_mut().expect("rows exist under a group log");
        rows.rejoin(die, |superblock| units[superblock.index()].state == UnitState::Free);
        self.fit_rows();
    }

    /// Units that hold something, or held it since they were erased last.
    pub fn written_units(&self) -> impl Iterator<Item = UnitId> + '_ {
        let is_written = |(_, unit): &(UnitId, &Unit)| !matches!(unit.state, UnitState::Free | UnitState::Bad);
        (0..).zip(&self.units).filter(is_written).map(|(unit, _)| unit)
    }

    /// Units of the die, whose blocks are its units.
    pub fn units_of_die(&self, die: DieId) -> std::ops::Range<UnitId> {
        let per_die = self.grid.blocks_per_die();
        u32::from(die.0) * per_die..(u32::from(die.0) + 1) * per_die
    }
}
