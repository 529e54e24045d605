//! Units out of turn: closed early, collected on request, never used again.

use crate::{Ftl, LogKind, UnitId, UnitState};
use vocab::{DieId, SuperblockId};

impl Ftl {
    /// Condemns a closed unit, whatever the victim policy thinks of it; false where the unit is
    /// in any other state.
    pub fn condemn_unit(&mut self, unit: UnitId) -> bool {
        let log = self.log_of(unit);
        let (state, units, ..) = self.units_of(log);
        state.condemn_unit(unit, units)
    }

    /// Takes back [`Self::condemn_unit`] or [`Self::condemn`]: there is no room to move what the
    /// unit holds.
    pub fn reprieve(&mut self, unit: UnitId) {
        let unit = &mut self.units[unit as usize];
        debug_assert_eq!(unit.state, UnitState::Condemned);
        unit.state = UnitState::Closed;
    }

    /// Nothing more is written to an open unit: it counts as closed. No page of it may be on
    /// its way to an open row.
    pub fn abandon(&mut self, unit: UnitId) {
        let log = self.log_of(unit);
        let (state, units, ..) = self.units_of(log);
        state.abandon(unit, units);
    }

    /// A condemned unit without valid pages cannot be erased: it is never used again.
    pub fn retire_unit(&mut self, unit: UnitId) {
        let log = self.log_of(unit);
        let (state, units, shape, _) = self.units_of(log);
        state.retire(unit, units, shape);
    }

    /// A block of a superblock is bad: its rows do without it from now on.
    pub fn drop_member(&mut self, superblock: SuperblockId, die: DieId) {
        let rows = self.rows.as_mut().expect("rows exist under a group log");
        rows.drop_member(superblock, die);
        self.retire_if_too_narrow(superblock.0);
    }

    /// A row needs room for one data page and its parity.
    pub(crate) fn retire_if_too_narrow(&mut self, unit: UnitId) {
        let Some(rows) = &self.rows else { return };
        debug_assert_eq!(self.kind(), LogKind::Group);
        if rows.members(SuperblockId(unit)).len() < 2 && self.units[unit as usize].state == UnitState::Free {
            self.retire_unit(unit);
        }
    }

    /// As [`Self::drop_member`], for the superblocks of a whole die.
    pub(crate) fn drop_die_from_rows(&mut self, die: DieId) {
        for superblock in 0..self.units.len() as u32 {
            self.drop_member(SuperblockId(superblock), die);
        }
        self.narrow_rows();
    }

    /// Rows are a page narrower: a superblock holds less. One written before may hold more than
    /// one takes in now, so the collector's reserve becomes two.
    fn narrow_rows(&mut self) {
        let rows = self.rows.as_ref().expect("rows exist under a group log");
        let width = (0..self.units.len() as u32).map(|unit| rows.members(SuperblockId(unit)).len()).max().unwrap_or(0);
        self.shape.granule = self.shape.granule.min(width.saturating_sub(1).max(1) * self.grid.slots_per_page());
        self.shape.unit_slots = self.shape.positions * self.shape.granule;
        self.shape.collectors = self.shape.collectors.max(2);
    }
}
