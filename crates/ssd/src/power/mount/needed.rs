//! Which flash pages the newest consistent state needs.

use crate::core::flash::FlashPayload;
use crate::core::{Core, data_of};
use crate::power::mount::choice::Choice;
use crate::power::mount::scanned::ScannedPages;
use crate::write::found::PagesSeen;
use crate::write::stripes::mount::StripeFound;
use nand::{FlashArray, OobTag, PageRole};
use rustc_hash::FxHashSet;
use vocab::{Ppn, Slot};

/// Flash pages with contents that count in the newest consistent state, whether they can be read or their codewords give them. A
/// mount asks for few pages, so it looks up what these hold, and makes no table of all.
pub(super) struct NeededPages<'a> {
    scanned: &'a ScannedPages,
    pub with: &'a Choice,
    /// Pages that cannot be read and whose contents count: their codewords give them.
    solved: FxHashSet<Ppn>,
}

impl<'a> NeededPages<'a> {
    pub fn of<P: FlashPayload>(core: &Core<P>, scanned: &'a ScannedPages, with: &'a Choice) -> Self {
        let counting = with.solved.iter().filter(|member| is_in(with, member.tag, member.slot));
        Self { scanned, with, solved: counting.map(|member| core.device.grid.page_of(member.slot).0).collect() }
    }

    /// Whether a page is one of them.
    pub fn has<P: FlashPayload>(&self, core: &Core<P>, ppn: Ppn) -> bool {
        let is_in = |(index, &tag): (u32, &OobTag)| is_in(self.with, tag, core.device.grid.slot(ppn, index));
        let holds_any = || (0..).zip(core.device.array.tags(ppn)).any(is_in);
        self.scanned.is_valid(ppn) && holds_any() || self.solved.contains(&ppn)
    }
}

/// Whether a slot with this tag has contents of the state.
fn is_in(with: &Choice, tag: OobTag, slot: Slot) -> bool {
    let counting = match tag.role() {
        PageRole::Parity(stripe) => with.stripes.get(stripe.index()).and_then(StripeFound::parity_slot),
        _ => data_of(tag).and_then(|lpn| with.page(lpn)).and_then(|newest| newest.slot),
    };
    counting == Some(slot)
}
