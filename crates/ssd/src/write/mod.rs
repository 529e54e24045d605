//! The ways of writing: one folder each.

pub(crate) mod found;
pub(crate) mod group_log;
pub(crate) mod groups;
pub(crate) mod moves;
pub(crate) mod pages;
pub(crate) mod rescue;
pub(crate) mod rows;
pub(crate) mod stripes;
pub(crate) mod zones;

use crate::config::Setup;
use crate::device::contents::HostPayload;
use crate::write::groups::Groups;
use crate::write::moves::Moves;
use crate::write::pages::PageWriter;
use crate::write::rows::Rows;
use crate::write::stripes::Stripes;
use crate::write::zones::Zones;
use protect::Protection;
use vocab::Grid;

/// The scheme and its way of writing.
#[derive(Clone)]
pub(crate) struct Writer<P: HostPayload> {
    pub protection: Protection,
    pub pages: PageWriter,
    pub rows: Rows<P>,
    /// Pages on their way from a victim, or from a failed program, to a row or block group.
    pub moves: Moves<P>,
    pub groups: Groups<P>,
    pub stripes: Stripes<P>,
    /// What a drive of code zones has beside its map; `None` under other schemes.
    pub zones: Option<Box<Zones<P>>>,
}

impl<P: HostPayload> Writer<P> {
    /// Nothing written yet.
    ///
    /// # Errors
    /// A parity cache that is too small for block groups, in words.
    pub fn new(setup: &Setup, protection: Protection, grid: &Grid, logs: usize) -> Result<Self, String> {
        let streams = 1 + u32::from(setup.gc.separate_frontier);
        let scheme = if let Protection::Stripes(scheme) = &protection { Some(&**scheme) } else { None };
        let groups = if let Protection::Groups(scheme) = &protection { Some(&**scheme) } else { None };
        let groups = Groups::new(groups, grid.blocks_per_die(), streams, &setup.scheme.name)?;
        Ok(Self {
            pages: PageWriter::new(logs),
            rows: Rows::new(if let Protection::Rows(scheme) = &protection { Some(&**scheme) } else { None }),
            moves: Moves::default(),
            groups,
            stripes: Stripes::new(scheme, &setup.power, setup.user_slots),
            zones: Zones::new(&protection),
            protection,
        })
    }
}

#[cfg(test)]
pub(crate) mod testing;
