//! Static stripes after a cut (I22). Updates of a stripe are serial, and what an update replaces
//! stays in flash until all of it is durable.
//!
//! Every page of a stripe names the contents that the stripe was made of when it was programmed. So
//! each update that left a page, or a partial parity in the cache, left a whole state of its stripe,
//! and what a stripe is made of is never guessed from which copies happen to be there. The newest
//! state counts all of whose contents are readable, or which its parity makes whole: the stored
//! parity that names the same contents, or the partial parity of the same. An update that was cut in
//! two leaves a state that is neither, and the one before it counts.
//!
//! A state whose update is all in flash is never passed over: it may have been acknowledged. What is
//! missing of it then is lost. Where some of that is of a die that lost no page, the stripe was discarded,
//! or its first update was cut, and flash has a part of it: that part counts, by itself, here and at
//! every later mount, whatever its dies lose in the meantime. Its pages name more than counts, so before
//! the host is heard one of them is written anew with the names of the part: without that, nothing in
//! flash would say that the part counts when the next update is cut. Where an older state may have lost
//! what it lacks, it counts before one that was cut for certain.

use crate::core::data_of;
use crate::core::rules::SafetyRule;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::looks::Looks;
use crate::power::mount::{Choice, Newest};
use crate::write::stripes::partial::{HeldRemains, Sums, pinned};
use device::contents::HostPayload;
use ftl::Place;
use nand::{PageRole, Scan};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{DieId, Lpn, Ppn, Slot, StripSet, StripeId};

/// Which partial parity counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Partial {
    #[default]
    None,
    /// The one in the cache.
    Now,
    /// What the cache had before the update that was cut.
    Before,
}

/// What is known of a stripe that counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripeFound {
    /// Where its parity is; `Missing` if it is to be built.
    parity: Option<Place>,
    /// Rank of the contents of that parity.
    parity_version: u64,
    partial: Partial,
    /// Places of contents that the stored parity sums and a partial parity has newer ones for.
    old: Vec<(u32, Place)>,
    /// Slots of this state and newer ones, which count if suspects turn out to be readable.
    newer: Vec<Slot>,
    /// A page of the stripe, where none that counts names all that counts and nothing else.
    pub unnamed: Option<Slot>,
    /// Pages that count, are not there, and that nothing brings back, with the rank of what they held.
    pub lost: Vec<(Lpn, u64)>,
}

/// What is known to have been lost.
struct Losses<'a> {
    /// Dies with pages that are unreadable and cannot have been torn.
    dies: BTreeSet<DieId>,
    /// Pages that were lost for good, and the rank of what they held.
    pages: &'a BTreeMap<Lpn, u64>,
    /// Whether partial parities are gone.
    sums: bool,
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

/// A readable copy of a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Copy {
    stripe: u32,
    strip: u32,
    update: u64,
    /// Counted down: of equal copies the older is the greater.
    age: u64,
    ppn: Ppn,
    covers: u32,
}

/// The readable copies of one stripe, but for some pages.
#[derive(Clone, Copy)]
struct Copies<'a> {
    all: &'a [Copy],
    but: &'a BTreeSet<Ppn>,
    data_strips: u32,
}

impl Copies<'_> {
    fn there(&self) -> impl Iterator<Item = &Copy> {
        self.all.iter().filter(|copy| !self.but.contains(&copy.ppn))
    }

    fn with(&self, strip: u32, update: u64) -> Option<&Copy> {
        self.there().filter(|copy| (copy.strip, copy.update) == (strip, update)).max()
    }

    fn newest(&self, strip: u32) -> Option<&Copy> {
        self.there().filter(|copy| copy.strip == strip).max()
    }
}

fn by_stripe<P>(remains: &Remains<P>) -> BTreeMap<StripeId, &HeldRemains<P>> {
    remains.held.iter().map(|held| (held.stripe, held)).collect()
}

/// Ranks of the contents of each strip; 0: none.
type Versions = Vec<u64>;

/// What an update made of a stripe. Its rank is that of the newest contents.
struct State<'a, P> {
    versions: Versions,
    /// Strips that a newer state does not have: a mount in between found them gone.
    given_up: StripSet,
    /// Strips that the update wrote, parity among them; empty if no page of it is left.
    wrote: StripSet,
    /// The stored parity of these contents.
    parity: Option<Copy>,
    /// The partial parity of these contents.
    sums: Option<(Partial, &'a Sums<P>)>,
}

impl<P> State<'_, P> {
    fn rank(&self) -> u64 {
        self.versions.iter().copied().max().unwrap_or(0)
    }

    /// Of states with the same newest contents the one of fewer strips came later: the others were gone.
    fn order(&self) -> (u64, u32) {
        (self.rank(), self.versions.iter().filter(|&&version| version == 0).count() as u32)
    }

    /// Strips of which no copy is there.
    fn missing(&self, copies: &Copies<'_>) -> StripSet {
        let strips = (0..).zip(&self.versions);
        strips.filter(|&(strip, &version)| version > 0 && copies.with(strip, version).is_none()).map(|(strip, _)| strip).collect()
    }
}

impl<P: HostPayload, A: Scan<P>> Engine<P, A> {
    pub(crate) fn choose_stripes(&self, looks: &Looks, remains: &Remains<P>, but: &BTreeSet<Ppn>) -> Choice {
        let mut choice = Choice::new(self.core.map.user_slots());
        choice.stripes.resize(self.stripe_count() as usize, StripeFound::default());
        let copies = self.copies_by_stripe(looks);
        let held = by_stripe(remains);
        // Half an erase makes a block unreadable, too, but nothing in it was needed.
        let losing = looks.lost().filter(|&ppn| !remains.erasing.contains(&self.core.device.grid.split(ppn).0));
        let dies = losing.map(|ppn| self.core.device.grid.die_of(ppn)).collect();
        let losses = Losses { dies, pages: &remains.lost, sums: remains.outage.memory.sums };
        let mut choose = |stripe: StripeId, all: &[Copy]| {
            let copies = Copies { all, but, data_strips: self.stripe_scheme().data_strips() };
            let held = held.get(&stripe).copied();
            choice.stripes[stripe.index()] = self.choose_stripe(&mut choice.pages, stripe, &copies, held, &losses);
        };
        let stripe_of = |all: &[Copy]| StripeId(all[0].stripe);
        copies.chunk_by(|a, b| a.stripe == b.stripe).for_each(|all| choose(stripe_of(all), all));
        // Of some stripes the cache has all that is left.
        let in_flash: BTreeSet<StripeId> = copies.chunk_by(|a, b| a.stripe == b.stripe).map(stripe_of).collect();
        held.keys().filter(|stripe| !in_flash.contains(stripe)).for_each(|&stripe| choose(stripe, &[]));
        choice
    }

    /// Pages that only a summary vouches for, of stripes of which the cut left something in parts: there a
    /// page that was lost since may be one too many for the newest state, and decides which one counts.
    pub(crate) fn doubted_in_stripes(&self, looks: &Looks, remains: &Remains<P>, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
        if self.stripe_scheme().survives_dies() == 0 {
            return Vec::new();
        }
        let held = by_stripe(remains);
        let mut doubted = Vec::new();
        for all in self.copies_by_stripe(looks).chunk_by(|a, b| a.stripe == b.stripe) {
            let stripe = StripeId(all[0].stripe);
            let is_there_without = |but: &BTreeSet<Ppn>| {
                let copies = Copies { all, but, data_strips: self.stripe_scheme().data_strips() };
                let newest = self.states(stripe, &copies, held.get(&stripe).copied()).pop();
                newest.is_some_and(|state| state.missing(&copies).is_empty() && (state.parity.is_some() || state.sums.is_some()))
            };
            if !is_there_without(&BTreeSet::new()) || !is_there_without(suspects) {
                doubted.extend(all.iter().map(|copy| copy.ppn).filter(|&ppn| looks.is_believed(ppn)));
            }
        }
        doubted
    }

    /// All readable copies, stripe by stripe.
    fn copies_by_stripe(&self, looks: &Looks) -> Vec<Copy> {
        let mut copies: Vec<Copy> = looks.valid().filter_map(|ppn| self.copy_at(ppn)).collect();
        copies.sort_unstable();
        copies
    }

    /// The copy that a page is. Pages of drives with static stripes have one slot.
    fn copy_at(&self, ppn: Ppn) -> Option<Copy> {
        let page = self.core.device.array.page(ppn);
        let (stripe, strip) = match page.tags[0].role() {
            PageRole::Data(lpn) if lpn.0 < self.core.map.user_slots() => self.strip_of(lpn),
            PageRole::Parity(stripe) => (stripe, self.stripe_scheme().data_strips()),
            PageRole::Data(_) | PageRole::Filler => return None,
        };
        let (update, age) = (self.core.device.array.update(ppn, 0), u64::MAX - page.oob.sequence);
        Some(Copy { stripe: stripe.0, strip, update, age, ppn, covers: page.oob.coverage })
    }

    fn choose_stripe(
        &self,
        pages: &mut [Option<Newest>],
        stripe: StripeId,
        copies: &Copies<'_>,
        held: Option<&HeldRemains<P>>,
        losses: &Losses<'_>,
    ) -> StripeFound {
        let states = self.states(stripe, copies, held);
        let all = Copies { but: &BTreeSet::new(), ..*copies };
        let is_known = |state: &State<'_, P>, strip: u32| {
            let lost = self.lpn_of(stripe, strip).and_then(|lpn| losses.pages.get(&lpn));
            lost.is_some_and(|&update| update >= state.versions[strip as usize])
        };
        let may_be_lost = |state: &State<'_, P>, strip: u32| {
            let die = self.stripe_scheme().die_of(stripe, strip);
            self.core.device.is_dead(die) || losses.dies.contains(&die) || is_known(state, strip)
        };
        let counts = |state: &&State<'_, P>| self.is_whole(stripe, state, copies) || self.is_durable(stripe, state, copies);
        // What is missing of a die that lost nothing never was there.
        let was_cut = |state: &&State<'_, P>| !state.missing(&all).iter().all(|strip| may_be_lost(state, strip));
        let may_count = |state: &&State<'_, P>| !was_cut(state);
        let counting = states.iter().rev().find(counts).or(states.iter().rev().find(may_count)).or(states.last());
        let Some(mut state) = counting else { return StripeFound::default() };
        let gone = |state: &State<'_, P>| -> StripSet {
            match self.is_whole(stripe, state, copies) {
                true => state.missing(copies).and(state.given_up),
                false if was_cut(&state) => state.missing(&all),
                false => StripSet::EMPTY,
            }
        };
        if losses.sums && !self.is_whole(stripe, state, copies) && !gone(state).is_empty() {
            // What leaned on a partial parity that is gone may be gone, too: an older state is better than none.
            state = states.iter().rev().find(|state| self.is_whole(stripe, state, copies)).unwrap_or(state);
        }
        let gone = gone(state);
        let (mut part, mut lost) = (state.versions.clone(), Vec::new());
        gone.iter().for_each(|strip| part[strip as usize] = 0);
        for (strip, &version) in (0..).zip(&part) {
            let Some(lpn) = self.lpn_of(stripe, strip).filter(|_| version > 0) else { continue };
            let at = copies.with(strip, version);
            let (slot, age) = at.map_or((None, 0), |copy| (Some(self.core.device.grid.slot(copy.ppn, 0)), copy.age));
            pages[lpn.index()] = Some(Newest { update: version, sequence: u64::MAX - age, slot });
            if slot.is_none() && !self.is_whole(stripe, state, copies) {
                lost.push((lpn, version));
            }
        }
        let has_suspects = copies.all.iter().any(|copy| copies.but.contains(&copy.ppn));
        let newer = if has_suspects { self.states_from(stripe, state.rank(), copies, held) } else { Vec::new() };
        let redundancy =
            if gone.is_empty() { self.redundancy_of(stripe, state, copies) } else { self.redundancy_of_rest(state, copies) };
        StripeFound { newer, lost, unnamed: self.unnamed(stripe, &part, copies), ..redundancy }
    }

    /// A page of the part of a stripe that counts, if none of it says that this is the part.
    fn unnamed(&self, stripe: StripeId, part: &Versions, copies: &Copies<'_>) -> Option<Slot> {
        let is_part = (0..).zip(part).any(|(strip, &version)| version == 0 && self.lpn_of(stripe, strip).is_some());
        let mut pages = (0..).zip(part).filter_map(|(strip, &version)| copies.with(strip, version)).filter(|_| is_part);
        let one = pages.clone().next()?;
        let is_named = pages.any(|copy| self.named_by(stripe, copies, copy) == *part);
        (!is_named).then(|| self.core.device.grid.slot(one.ppn, 0))
    }

    /// Every state that is named anywhere, in order of rank.
    fn states<'a>(&self, stripe: StripeId, copies: &Copies<'_>, held: Option<&'a HeldRemains<P>>) -> Vec<State<'a, P>> {
        let mut states: BTreeMap<(u64, u32), State<'a, P>> = BTreeMap::new();
        let new = |versions| State { versions, given_up: StripSet::EMPTY, wrote: StripSet::EMPTY, parity: None, sums: None };
        for copy in copies.there() {
            let named = new(self.named_by(stripe, copies, copy));
            let state = states.entry(named.order()).or_insert(named);
            if copy.strip == copies.data_strips {
                state.parity = state.parity.max(Some(*copy));
            } else if copy.update == state.rank() {
                state.wrote = state.wrote.or(StripSet(u64::from(copy.covers)));
            }
        }
        let undoes = !self.core.breaks(SafetyRule::Undo);
        let before = held.and_then(|held| held.before.as_ref()?.as_ref()).filter(|_| undoes);
        let before = before.map(|sums| (Partial::Before, sums));
        let now = held.map(|held| (Partial::Now, &held.sums));
        for (partial, sums) in before.into_iter().chain(now) {
            let named = new(sums.stripe.strips.clone());
            states.entry(named.order()).or_insert(named).sums = Some((partial, sums));
        }
        let mut without = StripSet::EMPTY;
        for state in states.values_mut().rev() {
            state.given_up = without;
            without =
                without.or((0..).zip(&state.versions).filter(|(_, version)| **version == 0).map(|(strip, _)| strip).collect());
        }
        states.into_values().collect()
    }

    /// What a stripe was made of when a page of it was programmed.
    fn named_by(&self, stripe: StripeId, copies: &Copies<'_>, page: &Copy) -> Versions {
        if self.core.breaks(SafetyRule::Named) {
            return (0..copies.data_strips).map(|strip| copies.newest(strip).map_or(0, |copy| copy.update)).collect();
        }
        let mut named = vec![0; copies.data_strips as usize];
        for member in self.core.device.array.members(page.ppn) {
            if let Some(lpn) = data_of(member.tag) {
                let (of, strip) = self.strip_of(lpn);
                debug_assert_eq!(of, stripe);
                named[strip as usize] = member.update;
            }
        }
        named
    }

    /// Whether all contents of a state can be read or solved for. Where a die of the stripe is dead, that
    /// is what its parity is for: whatever else is missing was torn.
    fn is_whole(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> bool {
        let missing = state.missing(copies);
        let stay = missing.minus(state.given_up);
        if stay != missing {
            return stay.is_empty();
        }
        let dead: StripSet = (0..=copies.data_strips).filter(|&strip| self.is_on_dead_die(stripe, strip)).collect();
        let torn = if dead.is_empty() { StripSet::EMPTY } else { missing.minus(dead) };
        match (missing.len(), &state.sums) {
            _ if !torn.is_empty() => self.core.breaks(SafetyRule::Whole),
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

    /// Whether the die that a strip was laid out for is dead: it may have been lost with it.
    fn is_on_dead_die(&self, stripe: StripeId, strip: u32) -> bool {
        self.core.device.is_dead(self.stripe_scheme().die_of(stripe, strip))
    }

    /// Whether the update that made a state is all in flash.
    fn is_durable(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> bool {
        let rank = state.rank();
        let wrote_parity = state.wrote.contains(copies.data_strips);
        let mut written = (0..).zip(&state.versions).filter(|&(_, &version)| version == rank).map(|(strip, _)| strip);
        let is_there = |strip: u32| copies.with(strip, rank).is_some() || self.home_of(stripe, strip).is_none();
        rank > 0 && written.all(is_there) && (!wrote_parity || state.parity.is_some())
    }

    /// Where the redundancy of a state is.
    fn redundancy_of(&self, stripe: StripeId, state: &State<'_, P>, copies: &Copies<'_>) -> StripeFound {
        let at = |copy: &Copy| Place::At(self.core.device.grid.slot(copy.ppn, 0));
        if let Some(parity) = &state.parity {
            return StripeFound { parity: Some(at(parity)), parity_version: parity.update, ..StripeFound::default() };
        }
        state.sums.map_or_else(|| self.redundancy_of_rest(state, copies), |sums| self.redundancy_of_sums(stripe, sums, copies))
    }

    /// What a partial parity leans on.
    fn redundancy_of_sums(&self, stripe: StripeId, (partial, sums): (Partial, &Sums<P>), copies: &Copies<'_>) -> StripeFound {
        let at = |copy: &Copy| Place::At(self.core.device.grid.slot(copy.ppn, 0));
        let stored = self.stored_parity(stripe, sums, copies).map_or(Place::Missing, at);
        StripeFound {
            parity: (sums.stripe.parity > 0).then_some(stored),
            parity_version: sums.stripe.parity,
            partial,
            old: self.old_of(stripe, sums, copies).unwrap_or_default(),
            ..StripeFound::default()
        }
    }

    /// Of a state that is not there in full: its parity sums what is gone, and is built anew.
    fn redundancy_of_rest(&self, state: &State<'_, P>, copies: &Copies<'_>) -> StripeFound {
        let has_parity = self.stripe_scheme().survives_dies() > 0 || state.wrote.contains(copies.data_strips);
        StripeFound { parity: has_parity.then_some(Place::Missing), ..StripeFound::default() }
    }

    /// The parity beside a partial one, which sums the old versions of strips, and all others as they are. A
    /// part of a stripe has a parity of the same rank as the whole of it had: names tell them apart.
    fn stored_parity<'a>(&self, stripe: StripeId, sums: &Sums<P>, copies: &'a Copies<'_>) -> Option<&'a Copy> {
        let is_of_sums = |copy: &&Copy| {
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
            version => {
                copies.with(strip, version).map_or(Place::Missing, |copy| Place::At(self.core.device.grid.slot(copy.ppn, 0)))
            }
        };
        Some(sums.old.iter().map(|&(strip, _)| (strip, place(strip))).collect())
    }

    /// Slots of this state and newer ones that count if all pages are read as they are, or some of them are
    /// not: without its parity a partial one may make a state whole.
    fn states_from(&self, stripe: StripeId, rank: u64, copies: &Copies<'_>, held: Option<&HeldRemains<P>>) -> Vec<Slot> {
        let all = Copies { but: &BTreeSet::new(), ..*copies };
        let states = self.states(stripe, &all, held);
        let newer = states.iter().filter(|state| state.rank() >= rank && self.is_whole(stripe, state, &all));
        let slots = |state: &State<'_, P>| {
            let of_data = (0..).zip(&state.versions).filter_map(|(strip, &version)| all.with(strip, version));
            let mut slots: Vec<Slot> = of_data.map(|copy| self.core.device.grid.slot(copy.ppn, 0)).collect();
            let of_sums = state.sums.map(|sums| self.redundancy_of_sums(stripe, sums, &all));
            for found in [Some(self.redundancy_of(stripe, state, &all)), of_sums].into_iter().flatten() {
                slots.extend(found.parity_slot());
                slots.extend(found.old_slots());
            }
            slots
        };
        newer.flat_map(slots).collect()
    }

    /// Takes over parities and partial parities.
    pub(crate) fn mount_stripes(&mut self, with: &Choice, held: Vec<HeldRemains<P>>) {
        for (stripe, found) in (0..).map(StripeId).zip(&with.stripes) {
            let is_stored = found.parity.is_some() && self.has_data(stripe);
            let version = if found.parity_version > 0 { found.parity_version } else { self.newest_of_stripe(stripe) };
            self.note_parity_version(stripe, if is_stored { version } else { 0 });
            match found.parity {
                Some(Place::At(slot)) => drop(self.core.map.publish_parity(stripe, slot)),
                Some(Place::Missing) if self.has_data(stripe) => drop(self.core.map.publish_missing_parity(stripe)),
                _ => {}
            }
        }
        for held in held {
            let HeldRemains { stripe, sums, before } = held;
            let found = &with.stripes[stripe.index()];
            let (mut sums, before) = match found.partial {
                Partial::None => {
                    self.writer.stripes.held.keep_meanwhile(stripe, sums, before);
                    continue;
                }
                Partial::Now => (sums, before),
                Partial::Before => (before.flatten().expect("it counts"), None),
            };
            // Without stored parity nothing is old: strips that were keep that they were.
            match found.old.is_empty() {
                true => sums.old.iter_mut().for_each(|(_, place)| *place = Place::Missing),
                false => sums.old.clone_from(&found.old),
            }
            for slot in pinned(&sums.old) {
                let unit = self.core.map.unit_of(slot);
                self.core.map.pin(unit);
            }
            let ftl = &self.core.map;
            self.writer.stripes.held.restore(stripe, sums, before, |slot| ftl.unit_of(slot));
        }
        self.tell_worn_strips();
    }

    fn has_data(&self, stripe: StripeId) -> bool {
        (0..self.stripe_scheme().data_strips()).any(|strip| self.place_of_strip(stripe, strip) != Place::Unmapped)
    }
}
