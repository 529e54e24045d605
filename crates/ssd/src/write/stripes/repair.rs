//! Sources that bring a lost strip back, and its rewriting.

use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::{Core, oob_covering};
use crate::write::stripes::Stripes;
use crate::write::stripes::partial::PartialParity;
use device::image::Contents;
use ftl::Place;
use nand::{FlashArray, OobTag, PageRole};
use vocab::{Cause, Lpn, Ppn, StripSet, StripeId};

/// A lost strip is the sum of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepairSources<P> {
    /// A partial parity, or nothing.
    pub sum: P,
    pub pages: Vec<Ppn>,
}

impl<P: FlashPayload> Stripes<P> {
    /// Sources that bring the strip back; `None`: it is lost.
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

    /// Programs a strip that was solved for into this page of the die that it goes to.
    pub fn program_rebuilt(&mut self, core: &mut Core<P>, stripe: StripeId, strip: u32, payload: P, ppn: Ppn) {
        let image = core.device.images.open(ppn, oob_covering(StripSet::EMPTY));
        let slot = core.next_slot_of(image);
        let n = self.data_strips();
        let is_parity = strip == n;
        let lpn = Lpn(stripe.0 * n + strip);
        let tag = if is_parity { OobTag::parity(stripe) } else { OobTag::data(lpn) };
        let old = core.place_of(tag.role());
        let published = core.publish(tag.role(), slot);
        self.note_move_of(core, tag.role(), old);
        let update = self.version_of_strip(core, stripe, strip);
        core.device.images.fill(image, Contents { tag, payload, update }, None, published.pinned);
        if is_parity {
            self.tell_strips_of_stored_parity(core, image, stripe);
        } else {
            self.tell_strips(core, image, stripe, StripSet::EMPTY, 0);
        }
        core.submit_program(image, Owner::Strip { log: core.log_of_page(ppn) as u16 }, Cause::Rebuild);
    }

    /// The program of a strip that was solved for has ended; which one it is.
    pub fn strip_rebuilt(&mut self, core: &Core<P>, role: PageRole) -> Option<(StripeId, u32)> {
        let strip = self.strip_of_role(role)?;
        self.held.strip_rebuilt(strip.0);
        // A stripe that lacked this strip could not get the parity that its scheme wants.
        if !self.is_protected(core, strip.0) {
            self.look_for_missing_parity();
        }
        Some(strip)
    }
}
