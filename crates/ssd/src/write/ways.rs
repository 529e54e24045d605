//! Facts of each way of writing, whatever is written: a table, with a row in the folder of each way. Other components ask for a
//! property instead of the way, so that a new way is a folder and a row.

use crate::write::{RebuiltBy, WithoutReserve, groups, pages, rows, stripes, zones};
use ftl::LogKind;
use protect::Protection;
use vocab::Grid;

/// How pages are written: by pages alone, or as one of the schemes' ways demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To any die, without redundancy.
    Pages,
    /// Stripes of logical pages, one strip on each die's region log.
    Stripes,
    /// Rows of a group log.
    Rows,
    /// Page stripes of block groups, in a group log.
    Groups,
    /// To segments of zones, which may have code.
    Zones,
}

/// When the coverage in the OOB bytes of a page moves with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoverageMoves {
    /// Never: that of the new place is another.
    Never,
    /// Where a mount needs it.
    WhereMountable,
    /// Always: a decoder needs it.
    Always,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WayFacts {
    /// The kind of log that pages are written to.
    pub log: LogKind,
    /// Whether a page that cannot be read may be had from others.
    pub brings_pages_back: bool,
    /// Whether the coverage of a page moves with it.
    pub coverage: CoverageMoves,
    /// Whether units that are being written go on with pages on a dead die.
    pub goes_on_with_dead_dies: bool,
    /// How the contents of a dead die are rebuilt.
    pub rebuilt_by: RebuiltBy,
    /// Where a page of a region log may go when its log has no page for it.
    pub without_reserve: WithoutReserve,
    /// Whether a mount may find the same contents in several places, each with a codeword of its own.
    pub keeps_copies: bool,
    /// Whether a write of whole pages reads others.
    pub reads_to_write: bool,
    /// Whether discarded bytes stay in the map: static stripes keep them until a whole stripe is gone (theory.md, I23:
    /// members of a parity are stored bytes, never silently zero).
    pub keeps_discarded: bool,
    /// Whether logs are segments of a die, which have so few spare blocks that idle GC stops at one.
    pub has_segments: bool,
    /// Whether GC moves the next victim while the blocks of the last one are erased. The parity of what GC writes is due when
    /// that one's last page has moved, and a die that programs it erases later than the others.
    pub collects_beside_erases: bool,
    /// Why the drive cannot have an SLC cache.
    pub no_slc: Option<&'static str>,
    /// Whether an SLC cache wants a write pointer of its own for the collector.
    pub slc_wants_own_write_pointer: bool,
}

impl WayFacts {
    /// Region logs without redundancy: what the rows of other ways start from.
    pub const PLAIN: Self = Self {
        log: LogKind::Regions,
        brings_pages_back: false,
        coverage: CoverageMoves::Never,
        goes_on_with_dead_dies: false,
        rebuilt_by: RebuiltBy::Nothing,
        without_reserve: WithoutReserve::Nothing,
        keeps_copies: false,
        reads_to_write: false,
        keeps_discarded: false,
        has_segments: false,
        collects_beside_erases: false,
        no_slc: None,
        slc_wants_own_write_pointer: false,
    };
}

impl Way {
    pub fn of(protection: &Protection) -> Self {
        match protection {
            Protection::None => Way::Pages,
            Protection::Stripes(_) => Way::Stripes,
            Protection::Rows(_) => Way::Rows,
            Protection::Groups(_) => Way::Groups,
            Protection::Zones(_) => Way::Zones,
        }
    }

    /// Facts of this way.
    #[inline]
    pub const fn facts(self) -> &'static WayFacts {
        match self {
            Way::Pages => &pages::FACTS,
            Way::Stripes => &stripes::FACTS,
            Way::Rows => &rows::FACTS,
            Way::Groups => &groups::FACTS,
            Way::Zones => &zones::FACTS,
        }
    }
}

/// Share of raw flash that the scheme's own redundancy takes.
pub(crate) fn capacity_overhead(protection: &Protection, grid: &Grid) -> f64 {
    match protection {
        Protection::None => 0.0,
        Protection::Zones(zones) => zones.layout().capacity_overhead(),
        Protection::Stripes(scheme) => 1.0 / f64::from(scheme.data_strips() + 1),
        Protection::Rows(scheme) => f64::from(scheme.side_by_side()) / f64::from(grid.dies()),
        Protection::Groups(scheme) => {
            let group = f64::from(grid.dies() * grid.pages_per_block() * grid.slots_per_page());
            1.0 - f64::from(ftl::GroupSpace::new(grid, &**scheme).least_slots) / group
        }
    }
}

/// Members that a page names, at most: a codeword over dies, what a stripe is made of, or a block with its own parity.
pub(crate) fn members_at_most(protection: &Protection, grid: &Grid) -> u32 {
    let slots = grid.slots_per_page();
    match protection {
        Protection::None | Protection::Zones(_) => 0,
        Protection::Stripes(scheme) => scheme.data_strips(),
        Protection::Rows(_) => grid.dies() * slots,
        Protection::Groups(scheme) => {
            let in_block = if scheme.codes().iter().any(|code| code.block > 0) { grid.pages_per_block() } else { 0 };
            grid.dies().max(in_block) * slots
        }
    }
}
