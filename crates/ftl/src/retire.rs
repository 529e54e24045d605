//! Units that are closed early, collected on request, or never used again.

use crate::map::Ftl;
use crate::unit::{LogKind, UnitId, UnitState};
use vocab::{DieId, SuperblockId};

impl Ftl {
    /// Condemns a closed unit without asking the victim policy; false where the unit is not closed.
    pub fn condemn_unit(&mut self, unit: UnitId) -> bool {
        let log = self.log_of(unit);
        let (state, units, ..) = self.units_of(log);
        state.condemn_unit(unit, units)
    }

    /// Makes a condemned unit closed again, where there is no room to move what it holds.
    pub fn reprieve(&mut self, unit: UnitId) {
        let unit = &mut self.units[unit as usize];
        debug_assert_eq!(unit.state, UnitState::Condemned);
        unit.state = UnitState::Closed;
    }

    /// Closes an open unit before its last position. The caller makes sure that no page is on its way
    /// to a row of it.
    pub fn abandon(&mut self, unit: UnitId) {
        let log = self.log_of(unit);
        let (state, units, ..) = self.units_of(log);
        state.abandon(unit, units);
    }

    /// Makes a unit bad: it is never used again. It must be free or condemned, without valid slots or
    /// pins.
    pub fn retire_unit(&mut self, unit: UnitId) {
        let log = self.log_of(unit);
        let (state, units, shape, _) = self.units_of(log);
        state.retire(unit, units, shape);
    }

    /// Retires the free superblocks of a new drive that lack a good block of a die: to move the pages of a narrow superblock
    /// to a whole one gains nothing, however few they are, and the collector would choose it again and again.
    pub fn retire_incomplete_superblocks(&mut self) {
        let Some(rows) = &self.rows else { return };
        let is_free = |unit: &UnitId| self.units[*unit as usize].state == UnitState::Free;
        let incomplete: Vec<UnitId> = rows.incomplete().map(|superblock| superblock.0).filter(is_free).collect();
        incomplete.into_iter().for_each(|unit| self.retire_unit(unit));
    }

    /// The block of a superblock on `die` is bad: rows of the superblock leave it out from now on.
    pub fn drop_member(&mut self, superblock: SuperblockId, die: DieId) {
        let rows = self.rows.as_mut().expect("rows exist under a group log");
        rows.drop_member(superblock, die);
        self.retire_if_too_narrow(superblock.0);
    }

    /// Retires a free superblock with fewer than two good blocks: a row needs one data page and its
    /// parity.
    pub(crate) fn retire_if_too_narrow(&mut self, unit: UnitId) {
        let Some(rows) = &self.rows else { return };
        debug_assert_eq!(self.kind(), LogKind::Group);
        if rows.data_pages(SuperblockId(unit)) == 0 && self.units[unit as usize].state == UnitState::Free {
            self.retire_unit(unit);
        }
    }

    /// As [`Self::drop_member`], for the superblocks of a whole die.
    pub(crate) fn drop_die_from_rows(&mut self, die: DieId) {
        for superblock in 0..self.units.len() as u32 {
            self.drop_member(SuperblockId(superblock), die);
        }
        self.rows_mut().keep_out(die);
        self.fit_rows();
    }

    /// Rows have a page less, or one more than before, so a superblock holds less, or more. The data of one that was written before may
    /// fill more than one now: two free superblocks are kept for the collector.
    pub(crate) fn fit_rows(&mut self) {
        let rows = self.rows.as_ref().expect("rows exist under a group log");
        let most = |pages: &dyn Fn(SuperblockId) -> u32| {
            let of_units = (0..self.units.len() as u32).map(|unit| pages(SuperblockId(unit)));
            of_units.max().unwrap_or(0).max(1) * self.grid.slots_per_page()
        };
        let granule = most(&|superblock| rows.widest(superblock).saturating_sub(1));
        let at_one_page = most(&|superblock| rows.data_pages(superblock));
        self.shape.granule = self.shape.whole_granule.min(granule);
        let side_by_side = self.shape.positions / self.grid.pages_per_block();
        self.shape.unit_slots = self.grid.pages_per_block() * at_one_page.min(side_by_side * self.shape.granule);
        self.shape.collectors = self.shape.collectors.max(2);
    }
}
