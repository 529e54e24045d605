//! What brings a lost page back, and what can stand in for one. The ways of writing answer that; the reads
//! read it.

use crate::core::Core;
use crate::core::target::Target;
use crate::write::Way;
use crate::write::Writer;
use crate::write::rows::Rows;
use crate::write::stripes::Stripes;
use device::contents::HostPayload;
use ftl::{Place, UnitId};
use nand::FlashArray;
use protect::code_zones::LineRead;
use vocab::{Lpn, Ppn, Slot, StripeId};

/// What brings a lost page back.
#[derive(Clone, Debug)]
pub(crate) enum Sources<P> {
    /// The sum of what the controller has and one slot of each of these pages.
    Sum { held: P, pages: Vec<Ppn>, slot: u32 },
    /// The code of its line. The page itself may still be read, unless it lies where a read `failed`.
    Line { line: LineRead, lpn: Lpn, failed: Option<Slot> },
    /// The sum of what the parity cache of block groups has and these pages, each times its coefficient. `lost` is
    /// the page and its slot; its group must not be erased meanwhile.
    Weighted { held: P, pages: Vec<(Ppn, u8)>, lost: (Ppn, u32), group: UnitId },
    /// Nothing does, because it is a code page.
    NoneOfCodePage { lpn: Lpn },
    /// Nothing does.
    None,
    /// Its row, as soon as a parity that is on its way is programmed.
    AfterParity,
    /// Its stripe, as soon as the update under way has ended.
    AfterUpdate(StripeId),
    /// There is nothing to bring back: the page was discarded.
    Discarded,
}

impl<P: HostPayload> Writer<P> {
    /// What brings back the page that the target wants, without the pages of which reads `failed`.
    pub fn sources<A: FlashArray<P>>(&self, core: &Core<P, A>, target: Target, failed: &[Ppn]) -> Sources<P> {
        match self.way {
            Way::Pages => match core.lpn_wanted(target).map(|lpn| core.map.lookup(lpn)) {
                Some(Place::Unmapped) => Sources::Discarded,
                _ => Sources::None,
            },
            Way::Stripes => match stripe_sources(&self.stripes, core, target) {
                // What could not be read may have gone elsewhere because its program failed; nothing else helps.
                Sources::Sum { pages, .. } if pages.iter().any(|page| failed.contains(page)) => Sources::None,
                sources => sources,
            },
            Way::Rows => row_sources(&self.rows, core, target, failed),
            Way::Groups => self.groups.sources(core, target),
            Way::Zones => self.zones.as_ref().expect("a drive of code zones").sources(core, target),
        }
    }

    /// The pages in flash that bring back a logical page, wherever they lie; `place`: where it is, or was.
    pub fn pages_that_bring_back<A: FlashArray<P>>(
        &self,
        core: &Core<P, A>,
        lpn: Lpn,
        place: Option<(Ppn, u32)>,
    ) -> Option<Vec<Ppn>> {
        match self.way {
            Way::Pages | Way::Zones => None,
            Way::Stripes => {
                let (stripe, strip) = self.stripes.strip_of(lpn);
                self.stripes.sources_of(core, stripe, strip).map(|sources| sources.pages)
            }
            Way::Rows => self.rows.sources(core, place?.0, &[]).ok().flatten(),
            Way::Groups => match self.groups.sources_of(core, place?, &[place?.0]) {
                Sources::Weighted { pages, .. } => Some(pages.into_iter().map(|(ppn, _)| ppn).collect()),
                _ => None,
            },
        }
    }

    /// Pages whose sum the page is as they are now, where the scheme has such sums: reads of a busy die go to them.
    pub fn stand_ins<A: FlashArray<P>>(&self, core: &Core<P, A>, lpn: Lpn, ppn: Ppn) -> Option<Vec<Ppn>> {
        match self.way {
            Way::Stripes => self.rest_of_stripe(core, lpn),
            Way::Rows => self.rows.sources(core, ppn, &[]).ok()?,
            Way::Groups => self.groups.rest_of_codeword(core, ppn),
            Way::Pages | Way::Zones => None,
        }
    }

    /// The other strips of the page's stripe, parity included, where they sum up to it as they are now.
    fn rest_of_stripe<A: FlashArray<P>>(&self, core: &Core<P, A>, lpn: Lpn) -> Option<Vec<Ppn>> {
        let stripes = &self.stripes;
        let (stripe, strip) = stripes.strip_of(lpn);
        let (present, unreadable) = stripes.stripe_state(core, stripe);
        let has_partial = stripes.held.get(stripe).is_some();
        if stripes.locks.is_held(stripe) || has_partial || core.map.lookup_parity(stripe) == Place::Unmapped {
            return None;
        }
        let strips = stripes.scheme().repair(strip, present, unreadable)?;
        let page = |strip| match stripes.place_of_strip(core, stripe, strip) {
            Place::At(slot) => Some(core.device.grid.page_of(slot).0).filter(|ppn| self.unsent(core, *ppn).is_none()),
            _ => None,
        };
        strips.iter().map(page).collect()
    }
}

fn row_sources<P: HostPayload, A: FlashArray<P>>(
    rows: &Rows<P>,
    core: &Core<P, A>,
    target: Target,
    failed: &[Ppn],
) -> Sources<P> {
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
    match rows.sources(core, ppn, failed) {
        Ok(Some(pages)) => Sources::Sum { held: P::default(), pages, slot },
        Ok(None) => Sources::None,
        Err(_) => Sources::AfterParity,
    }
}

fn stripe_sources<P: HostPayload, A: FlashArray<P>>(stripes: &Stripes<P>, core: &Core<P, A>, target: Target) -> Sources<P> {
    let (stripe, lost) = match target {
        Target::StripeMerge { op, strip } => (stripes.stripe_of_op(op), strip),
        Target::Strip { stripe, strip } => (stripe, strip),
        Target::Move { slot, .. } => {
            let (ppn, index) = core.device.grid.page_of(slot);
            let Some(strip) = stripes.strip_of_role(core.device.tags(ppn)[index as usize].role()) else {
                return Sources::Discarded;
            };
            strip
        }
        Target::HostRead { .. } | Target::Merge { .. } => {
            let lpn = core.lpn_wanted(target).expect("a host page");
            if core.map.lookup(lpn) == Place::Unmapped {
                return Sources::Discarded;
            }
            stripes.strip_of(lpn)
        }
    };
    if stripes.is_being_programmed(stripe) {
        return Sources::AfterUpdate(stripe);
    }
    match stripes.sources_of(core, stripe, lost) {
        Some(sources) => Sources::Sum { held: sources.sum, pages: sources.pages, slot: 0 },
        None => Sources::None,
    }
}
