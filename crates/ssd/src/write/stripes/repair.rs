//! What brings a lost strip back.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::stripes::Stripes;
use crate::write::stripes::partial::PartialParity;
use ftl::Place;
use nand::FlashArray;
use vocab::{Ppn, StripSet, StripeId};

/// A lost strip is the sum of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepairSources<P> {
    /// A partial parity, or nothing.
    pub sum: P,
    pub pages: Vec<Ppn>,
}

impl<P: FlashPayload> Stripes<P> {
    /// What brings the strip back; `None`: nothing does.
    pub fn sources_of(&self, core: &Core<P>, stripe: StripeId, lost: u32) -> Option<RepairSources<P>> {
        let n = self.data_strips();
        if let Some(partial) = self.held.get(stripe) {
            return self.sources_beside_partial(core, stripe, lost, partial);
        }
        let (present, unreadable) = self.stripe_state(core, stripe);
        if core.map.lookup_parity(stripe) == Place::Unmapped {
            return None;
        }
        let strips = self.scheme().repair(lost, present, unreadable)?;
        // Parity itself is the sum of what is present.
        let strips = if lost == n { strips.and(present) } else { strips };
        let page = |strip| match self.place_of_strip(core, stripe, strip) {
            Place::At(slot) => core.device.grid.page_of(slot).0,
            place => unreachable!("a readable strip has a place, found {place:?}"),
        };
        Some(RepairSources { sum: P::default(), pages: strips.iter().map(page).collect() })
    }

    /// A strip that the partial parity covers is the sum of that and the others it covers. Any
    /// other strip, and the old parity, is the sum of what the old parity covers: old versions
    /// where the partial parity has newer ones (theory.md, 1.1).
    fn sources_beside_partial(
        &self,
        core: &Core<P>,
        stripe: StripeId,
        lost: u32,
        partial: &PartialParity<P>,
    ) -> Option<RepairSources<P>> {
        let n = self.data_strips();
        let is_covered = partial.covers.contains(lost);
        let place = |strip: u32| match partial.old_place(strip) {
            Some(old) if !is_covered => old,
            _ => self.place_of_strip(core, stripe, strip),
        };
        let strips = if is_covered { partial.covers } else { StripSet::first(n + 1) };
        let mut pages = Vec::new();
        for strip in strips.iter().filter(|&strip| strip != lost) {
            match place(strip) {
                Place::Unmapped if strip == n => return None,
                Place::Unmapped => {}
                Place::At(slot) if core.device.array.answers(core.device.grid.page_of(slot).0) => {
                    pages.push(core.device.grid.page_of(slot).0)
                }
                _ => return None,
            }
        }
        Some(RepairSources { sum: if is_covered { partial.sum.clone() } else { P::default() }, pages })
    }
}
