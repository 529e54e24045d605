//! Answers of code zones to other components, where they are the way of writing.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::host_side::{EvictedWith, HostSide, Promise};
use crate::write::sources::{Redundancy, Sources};
use crate::write::zones::Zones;
use std::ops::Range;
use vocab::{Grid, Lpn, Ppn};

impl<P: FlashPayload> HostSide for Zones<P> {
    /// Code is written when there is time, so that a loss may come before it.
    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn full_write(&self, _grid: &Grid) -> u32 {
        self.scheme.layout().stripe_pages()
    }

    /// Each page has its own place to go to.
    fn evicted_with(&self, _lpn: Lpn, _grid: &Grid, _dead: u32) -> EvictedWith {
        EvictedWith::Oldest { most: 1, each: 1 }
    }

    /// While nothing waits for room in its segment.
    fn may_discard(&self, _pages: Range<u32>) -> bool {
        !self.has_waiting()
    }
}

impl<P: FlashPayload> Redundancy<P> for Zones<P> {
    fn audit(&self, core: &Core<P>, _is_read_only: bool) -> Result<Audit, String> {
        self.audit(core)
    }

    fn brings_back(&self, core: &Core<P>, target: Target, _failed: &[Ppn]) -> Sources<P> {
        self.sources(core, target)
    }
}
