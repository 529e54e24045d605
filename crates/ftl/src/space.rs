//! Space of groups with codes of their own: how much a group holds.

use protect::{GroupCode, GroupScheme};
use vocab::{Grid, StripSet, SuperblockId};

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
pub(crate) fn bounds(grid: &Grid, scheme: &dyn GroupScheme, group: SuperblockId, members: StripSet) -> (u32, u32) {
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
