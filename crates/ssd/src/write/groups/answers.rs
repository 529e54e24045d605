//! Answers of block groups to other components.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::groups::Groups;
use crate::write::host_side::{EvictedWith, HostSide, Promise};
use crate::write::pages::PageWriter;
use crate::write::sources::{Redundancy, Sources};
use vocab::{Grid, Lpn, Ppn};

impl<P: FlashPayload> HostSide for Groups<P> {
    fn promise(&self) -> Promise {
        Promise { dies: self.scheme().survives_dies(), needs_safe_memory: true }
    }

    fn full_write(&self, grid: &Grid) -> u32 {
        let code = self.scheme().codes()[0];
        code.codewords * code.data * grid.slots_per_page()
    }

    /// A page: stripes wait, and are not padded.
    fn overwritten_at_once(&self, grid: &Grid) -> u32 {
        grid.slots_per_page()
    }

    fn evicted_with(&self, _lpn: Lpn, grid: &Grid, _dead: u32) -> EvictedWith {
        EvictedWith::Oldest { most: self.full_write(grid) as usize, each: grid.slots_per_page() as usize }
    }
}

impl<P: FlashPayload> Redundancy<P> for Groups<P> {
    fn audit(&self, core: &Core<P>, _is_read_only: bool) -> Result<Audit, String> {
        self.audit(core)
    }

    fn brings_back(&self, core: &Core<P>, target: Target, _failed: &[Ppn]) -> Sources<P> {
        self.sources(core, target)
    }

    fn pages_that_bring_back(&self, core: &Core<P>, _lpn: Lpn, place: Option<(Ppn, u32)>) -> Option<Vec<Ppn>> {
        match self.sources_of(core, place?.0, place?.1, &[place?.0]) {
            Sources::Weighted { pages, .. } => Some(pages.into_iter().map(|(ppn, _)| ppn).collect()),
            _ => None,
        }
    }

    fn stand_ins(&self, core: &Core<P>, _pages: &PageWriter, _lpn: Lpn, ppn: Ppn) -> Option<Vec<Ppn>> {
        self.rest_of_codeword(core, ppn)
    }

    fn has_sum_of(&self, core: &Core<P>, ppn: Ppn) -> bool {
        self.is_held(core, ppn)
    }
}
