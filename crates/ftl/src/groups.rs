//! Space of groups with codes of their own: how much a group holds, how many free groups
//! GC needs, which groups have a code that is no longer in use.

use crate::log::LogShape;
use crate::{Ftl, UnitId, UnitState};
use protect::{GroupCode, GroupScheme};
use vocab::{Grid, StripSet, SuperblockId, Table};

/// How much a group holds with the codes that the drive may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSpace {
    /// Data slots of a group with the most redundant code, all blocks good.
    pub least_slots: u32,
    /// Data slots of a group with the least redundant code.
    pub most_slots: u32,
}

/// Data slots of a group with this code; 0 if it has too few good blocks.
#[must_use]
pub fn slots_of(grid: &Grid, scheme: &dyn GroupScheme, code: &GroupCode, group: SuperblockId, members: StripSet) -> u32 {
    let data = scheme.page_stripe(code, group, members).map_or(0, |stripe| stripe.data);
    data * code.data_stripes(grid.pages_per_block()) * grid.slots_per_page()
}

/// Data slots of a group with the most redundant code, and with the least.
fn bounds(grid: &Grid, scheme: &dyn GroupScheme, group: SuperblockId, members: StripSet) -> (u32, u32) {
    let slots = || scheme.codes().iter().map(|code| slots_of(grid, scheme, code, group, members));
    (slots().min().unwrap_or(0), slots().max().unwrap_or(0))
}

/// How the rows of a group log divide the dies.
#[derive(Clone, Copy, Debug)]
pub struct RowSpace {
    /// Rows that lie side by side on different dies; 1 under region logs.
    pub side_by_side: u32,
    /// Space of groups with codes of their own, if the rows have such.
    pub groups: Option<GroupSpace>,
}

impl GroupSpace {
    /// The space of groups whose blocks are all good.
    #[must_use]
    pub fn new(grid: &Grid, scheme: &dyn GroupScheme) -> Self {
        let (least_slots, most_slots) = bounds(grid, scheme, SuperblockId(0), StripSet::first(grid.dies()));
        Self { least_slots, most_slots }
    }

    /// Free groups that only the collector may take: as many as the data of any one group may fill.
    pub(crate) fn reserve(&self) -> u32 {
        self.most_slots.div_ceil(self.least_slots.max(1)).max(1)
    }
}

impl LogShape {
    /// Keeps at least `reserve` free groups for the collector.
    fn reserve_at_least(&mut self, reserve: u32) {
        self.collectors = self.collectors.max(reserve);
        // GC must begin before the host has to stop.
        self.gc.free_blocks = self.gc.free_blocks.max(self.collectors + 1);
    }
}

impl Ftl {
    /// Computes how much each free group can hold with its good blocks, retires free groups with too
    /// few, and sets how many free groups are kept for the collector. New groups get `code`; groups of
    /// `outdated` codes (bit n stands for code n) are collected first.
    pub fn settle_groups(&mut self, scheme: &dyn GroupScheme, code: &GroupCode, outdated: u64) {
        let all = GroupSpace::new(&self.grid, scheme);
        let mut narrowest = all.least_slots;
        for unit in 0..self.units.len() as u32 {
            let least = self.fit_group(scheme, unit);
            if self.units[unit as usize].state != UnitState::Bad && least > 0 {
                narrowest = narrowest.min(least);
            }
        }
        let most = self.units.iter().map(|unit| unit.slots).max().unwrap_or(0).max(all.most_slots);
        self.shape.reserve_at_least(most.div_ceil(narrowest.max(1)));
        // GC gains space where a victim has fewer valid slots than a new group holds.
        let slots = slots_of(&self.grid, scheme, code, SuperblockId(0), self.rows().working_dies());
        self.shape.unit_slots = slots.max(self.shape.granule);
        self.shape.outdated = outdated;
        let (log, units, shape, _) = self.units_of(0);
        log.drop_bad(units, shape);
    }

    /// Sets how much a free or dirty group can hold, or retires it; returns how much it is.
    fn fit_group(&mut self, scheme: &dyn GroupScheme, unit: UnitId) -> u32 {
        let members = self.rows().members(SuperblockId(unit));
        let (least, _) = bounds(&self.grid, scheme, SuperblockId(unit), members);
        let state = &mut self.units[unit as usize];
        if matches!(state.state, UnitState::Free | UnitState::Dirty) {
            state.slots = least;
            if least == 0 {
                state.state = UnitState::Bad;
            }
        }
        least
    }

    /// A group was erased. Blocks of it may have gone bad since it was opened, so it may hold less, or
    /// nothing.
    pub fn refit_group(&mut self, scheme: &dyn GroupScheme, unit: UnitId) {
        self.fit_group(scheme, unit);
        let (log, units, shape, _) = self.units_of(0);
        log.drop_bad(units, shape);
    }

    /// The drive has more dies. Addresses do not change. The caller calls [`Self::settle_groups`] next.
    pub fn grow(&mut self, grid: &Grid) {
        let units = &self.units;
        let rows = self.rows.as_mut().expect("rows exist under a group log");
        rows.grow(grid, |superblock| units[superblock.index()].state == UnitState::Free);
        let mut valid = Table::zeroed((grid.geometry().slots() as usize).div_ceil(64));
        valid[..self.valid.len()].copy_from_slice(&self.valid);
        (self.grid, self.valid) = (grid.clone(), valid);
    }

    /// Records that the group is opened with this code and can hold this many slots.
    pub fn open_group(&mut self, group: SuperblockId, code: u8, slots: u32) {
        let unit = &mut self.units[group.index()];
        (unit.code, unit.slots) = (code, slots);
    }

    /// Adds a pin: the unit is not erased before [`Self::release`].
    pub fn pin(&mut self, unit: UnitId) {
        self.units[unit as usize].pins += 1;
    }

    /// P/E cycles of the most worn unit.
    #[must_use]
    pub fn most_pe(&self) -> u32 {
        self.units.iter().map(|unit| unit.pe).max().unwrap_or(0)
    }

    /// Number of closed groups of codes that are collected first.
    #[must_use]
    pub fn outdated_groups(&self) -> u32 {
        self.units.iter().filter(|unit| self.shape.is_outdated(unit)).count() as u32
    }

    /// Condemns the outdated group with the fewest valid slots, if there are free groups for its data
    /// beyond those kept for the collector.
    pub fn condemn_outdated(&mut self) -> Option<UnitId> {
        let index = self.shape.first_outdated(&self.units)?;
        if self.free_units(0) <= self.shape.collectors || !self.has_room_for_group(index as UnitId) {
            return None;
        }
        self.units[index].state = UnitState::Condemned;
        Some(index as UnitId)
    }

    /// Whether the valid slots of a group fit the free groups, and at least one group stays free.
    #[must_use]
    pub fn has_room_for_group(&self, unit: UnitId) -> bool {
        self.free_units(0) > self.units[unit as usize].valid.div_ceil(self.shape.unit_slots)
    }
}
