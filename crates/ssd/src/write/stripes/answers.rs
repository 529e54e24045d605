//! Answers of static stripes to other components.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::host_side::{EvictedWith, HostSide, Promise};
use crate::write::pages::PageWriter;
use crate::write::sources::{Redundancy, Sources};
use crate::write::stripes::Stripes;
use ftl::Place;
use nand::{Member, OobTag, PageRole};
use std::ops::Range;
use vocab::{Grid, Lpn, Ppn, StripeId};

impl<P: FlashPayload> HostSide for Stripes<P> {
    fn promise(&self) -> Promise {
        let scheme = self.scheme();
        // In its first stage a scheme of stages has no parity to hold.
        let needs_safe_memory = scheme.parity_cache() > 0 && scheme.life_stage() != Some(1);
        Promise { dies: scheme.survives_dies(), needs_safe_memory }
    }

    fn full_write(&self, _grid: &Grid) -> u32 {
        self.data_strips()
    }

    fn evicted_with(&self, lpn: Lpn, _grid: &Grid, _dead: u32) -> EvictedWith {
        let n = self.data_strips();
        EvictedWith::Stripe(lpn.0 / n * n..lpn.0 / n * n + n)
    }

    /// While no update of their stripes is under way.
    fn may_discard(&self, pages: Range<u32>) -> bool {
        !self.is_any_locked(pages)
    }
}

impl<P: FlashPayload> Redundancy<P> for Stripes<P> {
    fn audit(&self, core: &Core<P>, is_read_only: bool) -> Result<Audit, String> {
        self.audit(core, is_read_only)
    }

    fn brings_back(&self, core: &Core<P>, target: Target, failed: &[Ppn]) -> Sources<P> {
        match self.sources_for(core, target) {
            // A page that could not be read may have moved because its program failed; nothing else helps.
            Sources::Sum { pages, .. } if pages.iter().any(|page| failed.contains(page)) => Sources::None,
            sources => sources,
        }
    }

    fn pages_that_bring_back(&self, core: &Core<P>, lpn: Lpn, _place: Option<(Ppn, u32)>) -> Option<Vec<Ppn>> {
        let (stripe, strip) = self.strip_of(lpn);
        self.sources_of(core, stripe, strip).map(|sources| sources.pages)
    }

    fn stand_ins(&self, core: &Core<P>, pages: &PageWriter, lpn: Lpn, _ppn: Ppn) -> Option<Vec<Ppn>> {
        self.rest_of_stripe(core, pages, lpn)
    }

    /// A page whose program failed names nothing in flash. A page of data may name strips that a mount dropped.
    fn stripe_to_name(&self, tag: OobTag, named: &[Member]) -> Option<StripeId> {
        match tag.role() {
            PageRole::Data(lpn) => {
                let stripe = self.strip_of(lpn).0;
                (named.is_empty() || self.unnamed.contains(&stripe)).then_some(stripe)
            }
            PageRole::Parity(stripe) => named.is_empty().then_some(stripe),
            _ => None,
        }
    }
}

impl<P: FlashPayload> Stripes<P> {
    /// Sources in the stripe for the page of the target, be it readable or not.
    fn sources_for(&self, core: &Core<P>, target: Target) -> Sources<P> {
        let (stripe, lost) = match target {
            Target::StripeMerge { op, strip } => (self.stripe_of_op(op), strip),
            Target::Strip { stripe, strip } => (stripe, strip),
            Target::Move { slot, .. } => {
                let (ppn, index) = core.device.grid.page_of(slot);
                let Some(strip) = self.strip_of_role(core.device.tags(ppn)[index as usize].role()) else {
                    return Sources::Discarded;
                };
                strip
            }
            Target::HostRead { .. } | Target::Merge { .. } => {
                let lpn = core.lpn_wanted(target).expect("a host page");
                if core.map.lookup(lpn) == Place::Unmapped {
                    return Sources::Discarded;
                }
                self.strip_of(lpn)
            }
        };
        if self.is_being_programmed(stripe) {
            return Sources::AfterUpdate(stripe);
        }
        match self.sources_of(core, stripe, lost) {
            Some(sources) => Sources::Sum { held: sources.sum, pages: sources.pages, slot: 0 },
            None => Sources::None,
        }
    }

    /// The other strips of the page's stripe, parity included, where they sum up to it as they are now.
    fn rest_of_stripe(&self, core: &Core<P>, pages: &PageWriter, lpn: Lpn) -> Option<Vec<Ppn>> {
        let (stripe, strip) = self.strip_of(lpn);
        let (present, unreadable) = self.stripe_state(core, stripe);
        let has_partial = self.held.get(stripe).is_some();
        if self.locks.is_held(stripe) || has_partial || core.map.lookup_parity(stripe) == Place::Unmapped {
            return None;
        }
        let strips = self.scheme().repair(strip, present, unreadable)?;
        let page = |strip| match self.place_of_strip(core, stripe, strip) {
            Place::At(slot) => Some(core.device.grid.page_of(slot).0).filter(|ppn| pages.unsent(core, *ppn).is_none()),
            _ => None,
        };
        strips.iter().map(page).collect()
    }
}
