//! Answers of pages without redundancy to other components.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::host_side::{EvictedWith, HostSide, Promise};
use crate::write::pages::PageWriter;
use crate::write::sources::{Redundancy, Sources};
use ftl::Place;
use vocab::{Grid, Lpn, Ppn};

impl HostSide for PageWriter {
    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn full_write(&self, grid: &Grid) -> u32 {
        grid.slots_per_page()
    }

    /// A page for every die, each a write of its own: what shares a page of flash is durable together.
    fn evicted_with(&self, _lpn: Lpn, grid: &Grid, _dead: u32) -> EvictedWith {
        let each = grid.slots_per_page() as usize;
        EvictedWith::Oldest { most: grid.dies() as usize * each, each }
    }
}

impl<P: FlashPayload> Redundancy<P> for PageWriter {
    fn brings_back(&self, core: &Core<P>, target: Target, _failed: &[Ppn]) -> Sources<P> {
        match core.lpn_wanted(target).map(|lpn| core.map.lookup(lpn)) {
            Some(Place::Unmapped) => Sources::Discarded,
            _ => Sources::None,
        }
    }
}
