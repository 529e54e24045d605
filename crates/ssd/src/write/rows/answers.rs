//! Answers of rows to other components.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::host_side::{EvictedWith, HostSide, Promise};
use crate::write::pages::PageWriter;
use crate::write::rows::Rows;
use crate::write::sources::{Redundancy, Sources};
use ftl::Place;
use vocab::{Grid, Lpn, Ppn};

impl<P: FlashPayload> HostSide for Rows<P> {
    fn promise(&self) -> Promise {
        Promise { dies: 1, needs_safe_memory: false }
    }

    fn full_write(&self, grid: &Grid) -> u32 {
        (grid.dies() - 1) * grid.slots_per_page()
    }

    /// A row's worth: sub-stripe parity is the workload's to cause, not the history's.
    fn overwritten_at_once(&self, grid: &Grid) -> u32 {
        self.full_write(grid)
    }

    fn evicted_with(&self, _lpn: Lpn, grid: &Grid, dead: u32) -> EvictedWith {
        // Rows leave dead dies out. A page more than a row takes would begin the next one, which needs a parity of its own then.
        let row = ((grid.dies() - 1).saturating_sub(dead).max(1) * grid.slots_per_page()) as usize;
        EvictedWith::Oldest { most: row, each: row }
    }
}

impl<P: FlashPayload> Redundancy<P> for Rows<P> {
    fn audit(&self, core: &Core<P>, _is_read_only: bool) -> Result<Audit, String> {
        self.audit(core)
    }

    fn brings_back(&self, core: &Core<P>, target: Target, failed: &[Ppn]) -> Sources<P> {
        let place = match (target, core.lpn_wanted(target)) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, Some(lpn)) => core.map.lookup(lpn),
            (_, None) => unreachable!("rows have no stripe updates"),
        };
        let slot = match place {
            Place::Unmapped => return Sources::Discarded,
            Place::Missing => return Sources::None,
            Place::At(slot) => slot,
        };
        let (ppn, slot) = core.device.grid.page_of(slot);
        match self.sources(core, ppn, failed) {
            Ok(Some(pages)) => Sources::Sum { held: P::default(), pages, slot },
            Ok(None) => Sources::None,
            Err(_) => Sources::AfterParity,
        }
    }

    fn pages_that_bring_back(&self, core: &Core<P>, _lpn: Lpn, place: Option<(Ppn, u32)>) -> Option<Vec<Ppn>> {
        self.sources(core, place?.0, &[]).ok().flatten()
    }

    fn stand_ins(&self, core: &Core<P>, _pages: &PageWriter, _lpn: Lpn, ppn: Ppn) -> Option<Vec<Ppn>> {
        self.sources(core, ppn, &[]).ok()?
    }

    fn has_sum_of(&self, core: &Core<P>, ppn: Ppn) -> bool {
        self.is_open(core.map.rows().row_of(ppn).0)
    }
}
