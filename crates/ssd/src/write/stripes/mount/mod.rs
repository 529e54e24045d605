//! Static stripes after a cut (I22). Updates of a stripe are serial, and what an update replaces
//! stays in flash until all of it is durable.
//!
//! Every page of a stripe names the contents that the stripe was made of when the page was programmed. So
//! each update that left a page, or a partial parity in the cache, left a whole *state* of its stripe: the
//! rank of each strip's contents. A mount never guesses a state from the copies that happen to be there. It
//! chooses the newest state all of whose contents can be read or solved for (a *whole* state), by the stored
//! parity that names the same contents or by the partial parity of the same. If an update was cut, its state
//! is not whole, and the state before it is chosen.
//!
//! A *durable* state, whose update is all in flash, is never passed over: the update may have been
//! acknowledged. Contents that such a state lacks are lost. There is one exception: a strip is missing whose
//! die lost no page. Then the stripe was discarded, or its first update was cut, and flash has only a part of
//! it. That part is the stripe from now on, here and at every later mount, whatever its dies lose in the
//! meantime. The names on its pages include strips that are gone, so before the host is served one page is
//! written again with the names of the part alone. Without that, no page in flash would name the part, and the
//! mount after the next cut update would not find it. An older state that may have lost what it lacks is
//! chosen before one that was cut for certain.

mod choose;
mod states;

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::core::newest::Newest;
use crate::core::sorted::sorted;
use crate::write::stripes::Stripes;
use crate::write::stripes::mount::choose::Chooser;
use crate::write::stripes::mount::states::{Copies, StripCopy};
use crate::write::stripes::partial::{PartialParityRemains, pinned};
use ftl::Place;
use nand::{FlashArray, PageRole};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{DieId, Lpn, Ppn, Slot, StripeId};

/// Knowledge of a mount about the stripes, flash and PLP memory.
pub(crate) struct Evidence<'a, P> {
    /// Pages that can be read.
    pub readable: Vec<Ppn>,
    /// Dies with pages that are unreadable and that no cut can have torn.
    pub losing_dies: BTreeSet<DieId>,
    /// Contents that were durable, lost or not.
    pub journal: &'a Journal,
    /// Contents known to be lost permanently, with their ranks.
    pub lost: &'a BTreeMap<Lpn, u64>,
    /// The partial parities of PLP memory.
    pub partials: &'a [PartialParityRemains<P>],
    /// Whether the outage took partial parities.
    pub lost_partials: bool,
}

/// Which partial parity belongs to the chosen state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Partial {
    #[default]
    None,
    /// The one in the cache.
    Now,
    /// The cache's entry before the update that was cut.
    Before,
}

/// The chosen state of a stripe, beside the places of its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StripeFound {
    /// Where its parity is; `Missing` if it is to be built.
    parity: Option<Place>,
    /// Rank of the contents of that parity.
    parity_version: u64,
    partial: Partial,
    /// Places of contents that the stored parity sums and a partial parity has newer ones for.
    old: Vec<(u32, Place)>,
    /// Slots of this state and newer ones, which are chosen if suspects turn out to be readable.
    newer: Vec<Slot>,
    /// A page of the stripe, where no page names exactly the contents of the chosen state.
    pub unnamed: Option<Slot>,
    /// Pages of the chosen state that are not there and that nothing brings back, with the rank of their contents.
    pub lost: Vec<(Lpn, u64)>,
}

impl StripeFound {
    pub fn parity_slot(&self) -> Option<Slot> {
        if let Some(Place::At(slot)) = self.parity { Some(slot) } else { None }
    }

    pub fn old_slots(&self) -> impl Iterator<Item = Slot> {
        pinned(&self.old)
    }

    pub fn newer_slots(&self) -> impl Iterator<Item = Slot> {
        self.newer.iter().copied()
    }
}

/// The chosen states of all stripes.
#[derive(Clone, Debug)]
pub(crate) struct ChosenStripes {
    /// For each logical page.
    pub pages: Vec<Option<Newest>>,
    /// For each stripe.
    pub stripes: Vec<StripeFound>,
}

fn by_stripe<P>(partials: &[PartialParityRemains<P>]) -> BTreeMap<StripeId, &PartialParityRemains<P>> {
    sorted(partials.iter().map(|partial| (partial.stripe, partial)))
}

fn is_of_same_stripe(a: &StripCopy, b: &StripCopy) -> bool {
    a.stripe == b.stripe
}

impl<P: FlashPayload> Stripes<P> {
    /// Chooses a state of each stripe, as if the pages `but` could not be read.
    pub fn choose(&self, core: &Core<P>, evidence: &Evidence<'_, P>, but: &BTreeSet<Ppn>) -> ChosenStripes {
        let stripes = vec![StripeFound::default(); self.stripe_count(core) as usize];
        let mut chosen = ChosenStripes { pages: vec![None; core.map.user_slots() as usize], stripes };
        let copies = self.copies_by_stripe(core, &evidence.readable);
        let partials = by_stripe(evidence.partials);
        let chooser = Chooser { stripes: self, core, evidence };
        let mut choose = |stripe: StripeId, all: &[StripCopy]| {
            let copies = Copies { all, but, data_strips: self.data_strips() };
            let partial = partials.get(&stripe).copied();
            chosen.stripes[stripe.index()] = chooser.choose(&mut chosen.pages, stripe, &copies, partial);
        };
        copies.chunk_by(is_of_same_stripe).for_each(|all| choose(all[0].stripe, all));
        // Of some stripes the cache has all that is left, and of some there is nothing but the journal.
        let in_flash: BTreeSet<StripeId> = copies.iter().map(|copy| copy.stripe).collect();
        let durable = evidence.journal.iter().map(|(lpn, _)| self.strip_of(lpn).0);
        let known: BTreeSet<StripeId> = partials.keys().copied().chain(durable).collect();
        known.difference(&in_flash).for_each(|&stripe| choose(stripe, &[]));
        chosen
    }

    /// Pages that are known only from a block's summary, of stripes of which the cut left something in parts: if
    /// one more page of these was lost since, the newest state may not be whole, so the pages have to be looked at.
    pub fn doubted(
        &self,
        core: &Core<P>,
        evidence: &Evidence<'_, P>,
        suspects: &BTreeSet<Ppn>,
        is_believed: impl Fn(Ppn) -> bool,
    ) -> Vec<Ppn> {
        if self.scheme().survives_dies() == 0 {
            return Vec::new();
        }
        let partials = by_stripe(evidence.partials);
        let chooser = Chooser { stripes: self, core, evidence };
        let mut doubted = Vec::new();
        for all in self.copies_by_stripe(core, &evidence.readable).chunk_by(is_of_same_stripe) {
            let stripe = all[0].stripe;
            let is_there_without = |but: &BTreeSet<Ppn>| {
                let copies = Copies { all, but, data_strips: self.data_strips() };
                let newest = chooser.states(stripe, &copies, partials.get(&stripe).copied()).pop();
                newest.is_some_and(|state| state.missing(&copies).is_empty() && (state.parity.is_some() || state.sums.is_some()))
            };
            if !is_there_without(&BTreeSet::new()) || !is_there_without(suspects) {
                doubted.extend(all.iter().map(|copy| copy.ppn).filter(|&ppn| is_believed(ppn)));
            }
        }
        doubted
    }

    /// All readable copies, stripe by stripe.
    fn copies_by_stripe(&self, core: &Core<P>, readable: &[Ppn]) -> Vec<StripCopy> {
        let mut copies: Vec<StripCopy> = readable.iter().filter_map(|&ppn| self.copy_at(core, ppn)).collect();
        copies.sort_unstable();
        copies
    }

    /// The copy that a page is. Pages of drives with static stripes have one slot.
    fn copy_at(&self, core: &Core<P>, ppn: Ppn) -> Option<StripCopy> {
        let page = core.device.array.page(ppn);
        let role = page.tags[0].role();
        if matches!(role, PageRole::Data(lpn) if lpn.0 >= core.map.user_slots()) {
            return None;
        }
        let (stripe, strip) = self.strip_of_role(role)?;
        let (update, age) = (core.device.array.update(ppn, 0), u64::MAX - page.oob.sequence);
        Some(StripCopy { stripe, strip, update, age, ppn, covers: page.oob.coverage })
    }

    /// Takes over the parities and partial parities of the chosen states. The map has the data already.
    pub fn take_over(&mut self, core: &mut Core<P>, chosen: &[StripeFound], partials: Vec<PartialParityRemains<P>>) {
        for (stripe, found) in (0..).map(StripeId).zip(chosen) {
            let has_data = self.has_data(core, stripe);
            let is_stored = found.parity.is_some() && has_data;
            let version = if found.parity_version > 0 { found.parity_version } else { self.newest_of_stripe(core, stripe) };
            self.note_version(PageRole::Parity(stripe), if is_stored { version } else { 0 });
            match found.parity {
                Some(Place::At(slot)) => drop(core.map.publish_parity(stripe, slot)),
                Some(Place::Missing) if has_data => drop(core.map.publish_missing_parity(stripe)),
                _ => {}
            }
        }
        for partial in partials {
            let found = &chosen[partial.stripe.index()];
            self.take_over_partial(core, found, partial);
        }
        self.tell_worn_strips(core);
    }

    fn take_over_partial(&mut self, core: &mut Core<P>, found: &StripeFound, partial: PartialParityRemains<P>) {
        let PartialParityRemains { stripe, sums, before } = partial;
        let (mut sums, before) = match found.partial {
            Partial::None => {
                self.held.keep_meanwhile(stripe, sums, before);
                return;
            }
            Partial::Now => (sums, before),
            Partial::Before => (before.flatten().expect("it belongs to the chosen state"), None),
        };
        // Without stored parity nothing is old: strips that were keep that they were.
        match found.old.is_empty() {
            true => sums.old.iter_mut().for_each(|(_, place)| *place = Place::Missing),
            false => sums.old.clone_from(&found.old),
        }
        for slot in pinned(&sums.old) {
            core.map.pin(core.map.unit_of(slot));
        }
        self.held.restore(stripe, sums, before, |slot| core.map.unit_of(slot));
    }

    fn has_data(&self, core: &Core<P>, stripe: StripeId) -> bool {
        (0..self.data_strips()).any(|strip| self.place_of_strip(core, stripe, strip) != Place::Unmapped)
    }
}
