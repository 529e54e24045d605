//! The ways of writing: one folder each.

pub(crate) mod groups;
pub(crate) mod pages;
pub(crate) mod rescue;
pub(crate) mod rows;
pub(crate) mod sources;
pub(crate) mod stripes;
pub(crate) mod zones;

use crate::care::collect::Move;
use crate::config::Setup;
use crate::device::contents::HostPayload;
use crate::session::SetupError;
use crate::write::groups::Groups;
use crate::write::pages::PageWriter;
use crate::write::rescue::Rescue;
use crate::write::rows::Rows;
use crate::write::stripes::Stripes;
use crate::write::zones::Zones;
use protect::Protection;
use std::collections::VecDeque;
use vocab::Grid;

/// The scheme and its way of writing.
#[derive(Clone)]
pub(crate) struct Writer<P: HostPayload> {
    pub protection: Protection,
    pub pages: PageWriter,
    pub rows: Rows<P>,
    /// Pages on their way from a victim to a row or group.
    pub moves: VecDeque<Move<P>>,
    pub rescue: Rescue,
    pub groups: Groups<P>,
    pub stripes: Stripes<P>,
    /// What a drive of code zones has beside its map; `None` under other schemes.
    pub zones: Option<Box<Zones<P>>>,
}

impl<P: HostPayload> Writer<P> {
    /// Nothing written yet.
    ///
    /// # Errors
    /// A parity cache that is too small for block groups.
    pub fn new(setup: &Setup, protection: Protection, grid: &Grid, logs: usize) -> Result<Self, SetupError> {
        let streams = 1 + u32::from(setup.gc.separate_frontier);
        let scheme = if let Protection::Stripes(scheme) = &protection { Some(&**scheme) } else { None };
        Ok(Self {
            pages: PageWriter::new(logs),
            rows: Rows::default(),
            moves: VecDeque::new(),
            rescue: Rescue::default(),
            groups: Groups::new(&protection, grid.blocks_per_die(), streams, &setup.scheme.name)?,
            stripes: Stripes::new(scheme, &setup.power, setup.user_slots),
            zones: Zones::new(&protection),
            protection,
        })
    }
}
