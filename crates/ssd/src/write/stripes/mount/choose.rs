//! Which state of a stripe a mount chooses, and where its redundancy is.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::newest::Newest;
use crate::rules::SafetyRule;
use crate::write::stripes::Stripes;
use crate::write::stripes::mount::states::{Copies, State, StripCopy, Versions};
use crate::write::stripes::mount::{Evidence, Partial, StripeFound};
use crate::write::stripes::partial::{PartialParityRemains, Sums};
use ftl::Place;
use vocab::{DieId, Lpn, Slot, StripSet, StripeId};

/// Inputs of a choice.
pub(super) struct Chooser<'a, P: FlashPayload> {
    pub stripes: &'a Stripes<P>,
    pub core: &'a Core<P>,
    pub evidence: &'a Evidence<'a, P>,
}

impl<P: FlashPayload> Chooser<'_, P> {
    /// Chooses a state of the stripe; its pages go to `pages`.
    pub fn choose(
        &self,
        pages: &mut [Option<Newest>],
        stripe: StripeId,
        copies: &Copies<'_>,
        partial: Option<&PartialParityRemains<P>>,
    ) -> StripeFound {
        let states = self.states(stripe, copies, partial);
        let Some(state) = self.chosen(stripe, &states, copies) else { return self.all_lost(pages, stripe) };
        let (is_whole, gone) = (self.is_whole(stripe, state, copies), self.gone(stripe, state, copies));
        let (mut part, mut lost) = (state.versions.clone(), Vec::new());
        gone.iter().for_each(|strip| part[strip as usize] = self.durable_copy(stripe, strip, copies));
        for (strip, &version) in (0..).zip(&part) {
            let Some(lpn) = self.stripes.lpn_of(self.core, stripe, strip).filter(|_| version > 0) else { continue };
            let at = copies.with(strip, version);
            let (slot, age) = at.map_or((None, 0), |copy| (Some(self.slot(copy)), copy.age));
            pages[lpn.index()] = Some(Newest { sequence: u64::MAX - age, slot, ..Newest::nowhere(version) });
            if slot.is_none() && !is_whole {
                lost.push((lpn, version));
            }
        }
        let newer_lost = self.lost_since(stripe, &part);
        for &(strip, lpn, update) in &newer_lost {
            pages[lpn.index()] = Some(Newest::nowhere(update));
            lost.push((lpn, update));
            part[strip as usize] = 0;
        }
        let has_suspects = copies.all.iter().any(|copy| copies.but.contains(&copy.ppn));
        let newer = if has_suspects { self.slots_from(stripe, state.rank(), copies, partial) } else { Vec::new() };
        let redundancy = if gone.is_empty() && newer_lost.is_empty() {
            self.redundancy_of(stripe, state, copies)
        } else {
            self.redundancy_to_build(state, copies)
        };
        StripeFound { newer, lost, unnamed: self.unnamed(stripe, &part, !gone.is_empty(), copies), ..redundancy }
    }

    /// The chosen one of these states, which are in order of rank: the newest that is whole or durable; else the
    /// newest that may be complete but for losses; else the newest.
    fn chosen<'s, 'b>(&self, stripe: StripeId, states: &'s [State<'b, P>], copies: &Copies<'_>) -> Option<&'s State<'b, P>> {
        // A state older than what was durable is chosen only if nothing in flash names a newer one.
        let is_behind = |state: &State<'b, P>| !self.lost_since(stripe, &state.versions).is_empty();
        let all_behind = states.iter().all(is_behind);
        let eligible: Vec<&State<'b, P>> = states.iter().filter(|state| all_behind || !is_behind(state)).collect();
        let newest = |is: &dyn Fn(&State<'b, P>) -> bool| eligible.iter().rev().copied().find(|state| is(state));
        let is_whole = |state: &State<'b, P>| self.is_whole(stripe, state, copies);
        let state = newest(&|state| is_whole(state) || self.is_durable(stripe, state, copies))
            .or_else(|| newest(&|state| !self.was_cut(stripe, state, copies)))
            .or(eligible.last().copied())?;
        let may_lack_sums = self.evidence.lost_partials && !self.was_discarded(stripe, state, copies);
        if may_lack_sums && !is_whole(state) && !self.gone(stripe, state, copies).is_empty() {
            // The missing contents may have been lost with a partial parity: an older state is better than none.
            return newest(&is_whole).or(Some(state));
        }
        Some(state)
    }

    /// Strips that had newer durable contents than these, with the logical pages and the ranks of what is lost.
    fn lost_since(&self, stripe: StripeId, versions: &Versions) -> Vec<(u32, Lpn, u64)> {
        let strips = (0..).zip(versions);
        let newer = strips.filter_map(|(strip, &version)| {
            let lpn = self.stripes.lpn_of(self.core, stripe, strip)?;
            let durable = self.evidence.journal.rank(lpn);
            (durable > version).then_some((strip, lpn, durable))
        });
        newer.collect()
    }

    /// Nothing in flash names a state of the stripe: whatever was durable is lost.
    fn all_lost(&self, pages: &mut [Option<Newest>], stripe: StripeId) -> StripeFound {
        let none = vec![0; self.stripes.data_strips() as usize];
        let lost: Vec<(Lpn, u64)> = self.lost_since(stripe, &none).into_iter().map(|(_, lpn, update)| (lpn, update)).collect();
        for &(lpn, update) in &lost {
            pages[lpn.index()] = Some(Newest::nowhere(update));
        }
        StripeFound { lost, ..StripeFound::default() }
    }

    /// Strips that are missing from a state and that the stripe goes on without.
    fn gone(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> StripSet {
        if self.is_whole(stripe, state, copies) {
            state.missing(copies).and(state.given_up)
        } else if self.was_cut(stripe, state, copies) {
            state.missing(&copies.with_suspects())
        } else {
            StripSet::EMPTY
        }
    }

    /// The rank of the strip's newest durable contents, if flash still has them; else 0.
    fn durable_copy(&self, stripe: StripeId, strip: u32, copies: &Copies<'_>) -> u64 {
        self.durable_rank(stripe, strip).filter(|&rank| copies.with(strip, rank).is_some()).unwrap_or(0)
    }

    /// Whether the update that made a state was cut for certain: contents are missing of a die that lost nothing,
    /// so they were never there.
    fn was_cut(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> bool {
        !state.missing(&copies.with_suspects()).iter().all(|strip| self.may_be_lost(stripe, state, strip))
    }

    /// Whether the update that made a state is in flash, and whatever is missing was never durable, as the journal says: the host
    /// discarded the stripe, and a part of it has been erased. No partial parity had that part, and the state stands without it. To go
    /// back to an older one would last until the next cut only, which finds the same pages.
    fn was_discarded(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> bool {
        let missing = state.missing(&copies.with_suspects());
        let is_unknown = |strip: u32| self.durable_rank(stripe, strip) == Some(0);
        !missing.is_empty() && missing.iter().all(is_unknown) && self.is_durable(stripe, state, copies)
    }

    /// Whether contents that are missing may have been in flash and were lost. Those of a strip of which nothing was durable were not,
    /// whatever its die has lost: the update that would have been the first was cut, or the host discarded it.
    fn may_be_lost(&self, stripe: StripeId, state: &State<'_, P>, strip: u32) -> bool {
        let die = self.stripes.scheme().die_of(stripe, strip);
        match self.durable_rank(stripe, strip) {
            Some(0) => false,
            Some(durable) if durable >= state.versions[strip as usize] => true,
            _ => self.core.device.losses.may_lack(die) || self.evidence.losing_dies.contains(&die),
        }
    }

    fn slot(&self, copy: &StripCopy) -> Slot {
        self.core.device.grid.slot(copy.ppn, 0)
    }

    fn place(&self, copy: &StripCopy) -> Place {
        Place::At(self.slot(copy))
    }

    /// A page of a part of a stripe, if no page names exactly this part: strips are gone, or it went back to older ones.
    fn unnamed(&self, stripe: StripeId, part: &Versions, went_back: bool, copies: &Copies<'_>) -> Option<Slot> {
        let is_gone = |strip| self.stripes.lpn_of(self.core, stripe, strip).is_some();
        let is_part = went_back || (0..).zip(part).any(|(strip, &version)| version == 0 && is_gone(strip));
        let mut pages = (0..).zip(part).filter_map(|(strip, &version)| copies.with(strip, version)).filter(|_| is_part);
        let one = pages.clone().next()?;
        let is_named = pages.any(|copy| self.named_by(stripe, copies, copy) == *part);
        (!is_named).then(|| self.slot(one))
    }

    /// Whether all contents of a state can be read or solved for.
    fn is_whole(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> bool {
        let missing = state.missing(copies);
        let stay = missing.minus(state.given_up);
        if stay != missing {
            return stay.is_empty();
        }
        match (missing.len(), &state.sums) {
            (0, _) => true,
            (1, _) if state.parity.is_some() => true,
            (1, Some((_, sums))) if missing.minus(sums.covers).is_empty() => true,
            // A strip outside the partial parity: the stored one solves for it, with what it sums.
            (1, Some((_, sums))) => {
                let old = self.old_of(stripe, sums, copies);
                old.is_some_and(|old| old.iter().all(|(_, place)| *place != Place::Missing))
            }
            _ => self.core.breaks(SafetyRule::Whole),
        }
    }

    /// Whether the strip has no die, or had none before a new die took the place of a dead one: contents that were durable then may
    /// be in its parity alone.
    fn was_homeless(&self, stripe: StripeId, strip: u32) -> bool {
        let lacking = self.core.device.losses.lacking();
        let dead_before = || -> Vec<DieId> {
            let died = self.core.device.losses.died();
            lacking.iter().map(|die| DieId(die as u16)).chain(died.iter().copied()).collect()
        };
        self.stripes.home_of(self.core, stripe, strip).is_none()
            || !lacking.is_empty() && self.stripes.scheme().home(stripe, strip, &dead_before()).is_none()
    }

    /// Whether the update that made a state was durable: what it wrote is in flash, and what has no die was answered.
    fn is_durable(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> bool {
        let rank = state.rank();
        let wrote_parity = state.wrote.contains(copies.data_strips);
        let mut written = (0..).zip(&state.versions).filter(|&(_, &version)| version == rank).map(|(strip, _)| strip);
        let is_homeless = |strip: u32| self.was_homeless(stripe, strip);
        let is_known = |strip: u32| self.durable_rank(stripe, strip).is_some_and(|durable| durable >= rank);
        let is_there = |strip: u32| copies.with(strip, rank).is_some() || is_homeless(strip) && is_known(strip);
        rank > 0 && written.all(is_there) && (!wrote_parity || state.parity.is_some())
    }

    /// Whether contents of this rank are the newest durable ones of the strip, and are not known to be lost. A newer state
    /// may lack them nonetheless: the host discarded them, and an earlier cut undid that.
    pub(super) fn is_durable_strip(&self, stripe: StripeId, strip: u32, rank: u64) -> bool {
        let is_lost = |lpn| self.evidence.lost.get(&lpn) == Some(&rank);
        let lpn = self.stripes.lpn_of(self.core, stripe, strip);
        self.durable_rank(stripe, strip) == Some(rank) && !lpn.is_some_and(is_lost)
    }

    /// The rank of the newest durable contents of a data strip, as the journal knows it.
    fn durable_rank(&self, stripe: StripeId, strip: u32) -> Option<u64> {
        self.stripes.lpn_of(self.core, stripe, strip).map(|lpn| self.evidence.journal.rank(lpn))
    }

    /// Where the redundancy of a state is.
    fn redundancy_of(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> StripeFound {
        match (&state.parity, state.sums) {
            (Some(parity), _) => {
                StripeFound { parity: Some(self.place(parity)), parity_version: parity.update, ..StripeFound::default() }
            }
            (None, Some((partial, sums))) => self.redundancy_of_sums(stripe, partial, sums, copies),
            (None, None) => self.redundancy_to_build(state, copies),
        }
    }

    /// A partial parity, and the stored parity and old versions that it leans on.
    fn redundancy_of_sums(&self, stripe: StripeId, partial: Partial, sums: &Sums<P>, copies: &Copies<'_>) -> StripeFound {
        let stored = self.stored_parity(stripe, sums, copies).map_or(Place::Missing, |copy| self.place(copy));
        StripeFound {
            parity: (sums.stripe.parity > 0).then_some(stored),
            parity_version: sums.stripe.parity,
            partial,
            old: self.old_of(stripe, sums, copies).unwrap_or_default(),
            ..StripeFound::default()
        }
    }

    /// Of a state that is not there in full: its parity sums strips that are gone, and is built again.
    fn redundancy_to_build(&self, state: &State<'_, P>, copies: &Copies<'_>) -> StripeFound {
        let has_parity = self.stripes.scheme().survives_dies() > 0 || state.wrote.contains(copies.data_strips);
        StripeFound { parity: has_parity.then_some(Place::Missing), ..StripeFound::default() }
    }

    /// The parity beside a partial one, which sums the old versions of strips, and all others as they are. A
    /// part of a stripe has a parity of the same rank as the whole of it had: names tell them apart.
    fn stored_parity<'c>(&self, stripe: StripeId, sums: &Sums<P>, copies: &'c Copies<'_>) -> Option<&'c StripCopy> {
        let is_of_sums = |copy: &&StripCopy| {
            let mut named = (0..).zip(self.named_by(stripe, copies, copy));
            named.all(|(strip, version)| match sums.old.iter().find(|(of, _)| *of == strip) {
                Some((_, Place::Missing)) => true,
                Some((_, old)) => (*old == Place::Unmapped) == (version == 0),
                None => version == sums.stripe.strips[strip as usize],
            })
        };
        let parities = copies.there().filter(|copy| (copy.strip, copy.update) == (copies.data_strips, sums.stripe.parity));
        parities.filter(is_of_sums).max()
    }

    /// Where the contents lie that the stored parity sums and a partial parity has newer ones for; `None`
    /// if that parity is gone. They may have been on the move when the cut came.
    fn old_of(&self, stripe: StripeId, sums: &Sums<P>, copies: &Copies<'_>) -> Option<Vec<(u32, Place)>> {
        let parity = self.stored_parity(stripe, sums, copies)?;
        let named = self.named_by(stripe, copies, parity);
        let place = |strip: u32| match named[strip as usize] {
            0 => Place::Unmapped,
            version => copies.with(strip, version).map_or(Place::Missing, |copy| self.place(copy)),
        };
        Some(sums.old.iter().map(|&(strip, _)| (strip, place(strip))).collect())
    }

    /// Slots of this state and newer ones that are needed if all pages are read as they are, or some of them are
    /// not: without its parity a partial one may make a state whole.
    fn slots_from(
        &self,
        stripe: StripeId,
        rank: u64,
        copies: &Copies<'_>,
        partial: Option<&PartialParityRemains<P>>,
    ) -> Vec<Slot> {
        let all = copies.with_suspects();
        let states = self.states(stripe, &all, partial);
        let newer = states.iter().filter(|state| state.rank() >= rank && self.is_whole(stripe, state, &all));
        let slots = |state: &State<'_, P>| {
            let of_data = (0..).zip(&state.versions).filter_map(|(strip, &version)| all.with(strip, version));
            let mut slots: Vec<Slot> = of_data.map(|copy| self.slot(copy)).collect();
            let of_sums = state.sums.map(|(partial, sums)| self.redundancy_of_sums(stripe, partial, sums, &all));
            for found in [Some(self.redundancy_of(stripe, state, &all)), of_sums].into_iter().flatten() {
                slots.extend(found.parity_slot());
                slots.extend(found.old_slots());
            }
            slots
        };
        newer.flat_map(slots).collect()
    }
}
