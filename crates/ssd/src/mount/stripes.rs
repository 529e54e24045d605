//! Static stripes after a cut (I22). Updates of a stripe are serial, and what an update replaces
//! stays in flash until all of it is durable. So only the newest update can be torn, and if it is,
//! the stripe as it was before can be put together.
//!
//! Parity names the contents it is the sum of. It is believed where these are what counts; what it
//! names and no page holds, it brings back.
//!
//! * A partial parity in the cache says which contents it sums. If the update that brought it about
//!   is not all in flash, what the cache had before counts.
//! * Without one, the newest readable parity counts, and the contents it names, unless more of its own
//!   update is torn than it brings back: then the parity before it does. Newer contents are of
//!   an update whose parity is torn, or that went without: they count if all its data are there, or
//!   where the scheme may go without parity. Otherwise they are void, and what counts instead is
//!   written anew, to be newer than they are.

use super::looks::Looks;
use super::{Choice, Newest};
use crate::cut::Remains;
use crate::held::{HeldRemains, Sums, pinned};
use crate::machine::Machine;
use crate::payload::HostPayload;
use crate::safety::SafetyRule;
use crate::stripes::PARITY_IS_HELD;
use ftl::Place;
use nand::{PageRole, Scan};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Lpn, Ppn, Slot, StripSet, StripeId};

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

/// The state of a stripe.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripeFound {
    /// Where its parity is; `Missing` if it is to be built.
    parity: Option<Place>,
    /// Rank of the contents of that parity.
    parity_version: u64,
    partial: Partial,
    /// Slots of contents that the stored parity sums and a partial parity has newer ones for.
    old: Vec<Slot>,
    /// Strips of which newer contents are void.
    pub void: StripSet,
}

impl StripeFound {
    pub fn parity_slot(&self) -> Option<Slot> {
        if let Some(Place::At(slot)) = self.parity { Some(slot) } else { None }
    }

    pub fn old_slots(&self) -> impl Iterator<Item = Slot> {
        self.old.iter().copied()
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

/// The readable copies of one stripe.
struct Copies<'a> {
    all: &'a [Copy],
    data_strips: u32,
}

impl Copies<'_> {
    fn of(&self, strip: u32) -> impl Iterator<Item = &Copy> {
        self.all.iter().filter(move |copy| copy.strip == strip)
    }

    fn newest(&self, strip: u32) -> Option<&Copy> {
        self.of(strip).max()
    }

    fn with(&self, strip: u32, update: u64) -> Option<&Copy> {
        self.of(strip).filter(|copy| copy.update == update).max()
    }

    /// Data newer than a rank.
    fn newer(&self, rank: u64) -> impl Iterator<Item = &Copy> {
        self.all.iter().filter(move |copy| copy.strip < self.data_strips && copy.update > rank)
    }

    fn went_without_parity(&self, copy: &Copy) -> bool {
        copy.covers & (1 << self.data_strips | PARITY_IS_HELD) == 0
    }
}

/// Ranks of the contents of each strip that counts; 0: none.
type Versions = Vec<u64>;

impl<P: HostPayload, A: Scan<P>> Machine<P, A> {
    pub(super) fn choose_stripes(&self, looks: &Looks, remains: &Remains<P>, but: &BTreeSet<Ppn>) -> Choice {
        let mut choice = Choice::new(self.ftl.user_slots());
        choice.stripes.resize(self.stripe_count() as usize, StripeFound::default());
        let mut copies: Vec<Copy> = looks.valid().filter(|ppn| !but.contains(ppn)).filter_map(|ppn| self.copy_at(ppn)).collect();
        copies.sort_unstable();
        let held: BTreeMap<StripeId, &HeldRemains<P>> = remains.held.iter().map(|held| (held.stripe, held)).collect();
        let mut choose = |stripe: StripeId, all: &[Copy]| {
            let copies = Copies { all, data_strips: self.stripe_scheme().data_strips() };
            let held = held.get(&stripe).copied();
            choice.stripes[stripe.index()] = self.choose_stripe(&mut choice.pages, stripe, &copies, held);
        };
        let stripe_of = |all: &[Copy]| StripeId(all[0].stripe);
        copies.chunk_by(|a, b| a.stripe == b.stripe).for_each(|all| choose(stripe_of(all), all));
        // Of some stripes the cache has all that is left.
        let in_flash: BTreeSet<StripeId> = copies.chunk_by(|a, b| a.stripe == b.stripe).map(stripe_of).collect();
        held.keys().filter(|stripe| !in_flash.contains(stripe)).for_each(|&stripe| choose(stripe, &[]));
        choice
    }

    /// The copy that a page is. Pages of drives with static stripes have one slot.
    fn copy_at(&self, ppn: Ppn) -> Option<Copy> {
        let page = self.array.page(ppn);
        let (stripe, strip) = match page.tags[0].role() {
            PageRole::Data(lpn) if lpn.0 < self.ftl.user_slots() => self.strip_of(lpn),
            PageRole::Parity(stripe) => (stripe, self.stripe_scheme().data_strips()),
            PageRole::Data(_) | PageRole::Filler => return None,
        };
        let (update, age) = (self.array.update(ppn, 0), u64::MAX - page.oob.sequence);
        Some(Copy { stripe: stripe.0, strip, update, age, ppn, covers: page.oob.coverage })
    }

    fn choose_stripe(
        &self,
        pages: &mut [Option<Newest>],
        stripe: StripeId,
        copies: &Copies<'_>,
        held: Option<&HeldRemains<P>>,
    ) -> StripeFound {
        let (partial, sums) = self.partial_that_counts(stripe, copies, held);
        let mut found = StripeFound { partial, ..StripeFound::default() };
        let versions = match sums {
            Some(sums) => {
                let parity = copies.with(copies.data_strips, sums.stripe.parity);
                let at = parity.map_or(Place::Missing, |copy| Place::At(self.grid.slot(copy.ppn, 0)));
                found.parity = (sums.stripe.parity > 0).then_some(at);
                found.parity_version = sums.stripe.parity;
                found.old = pinned(&sums.old).collect();
                sums.stripe.strips.clone()
            }
            None => self.versions_without_partial(stripe, copies, &mut found),
        };
        for (strip, &version) in (0..).zip(&versions) {
            let Some(lpn) = self.lpn_of(stripe, strip).filter(|_| version > 0) else { continue };
            let at = copies.with(strip, version);
            let (slot, age) = at.map_or((None, 0), |copy| (Some(self.grid.slot(copy.ppn, 0)), copy.age));
            pages[lpn.index()] = Some(Newest { update: version, sequence: u64::MAX - age, slot });
            if copies.newest(strip).is_some_and(|newest| newest.update > version) {
                found.void.insert(strip);
            }
        }
        found
    }

    /// The partial parity that counts, if any does.
    fn partial_that_counts<'a>(
        &self,
        stripe: StripeId,
        copies: &Copies<'_>,
        held: Option<&'a HeldRemains<P>>,
    ) -> (Partial, Option<&'a Sums<P>>) {
        let Some(held) = held else { return (Partial::None, None) };
        let now = &held.sums;
        let rank = now.stripe.rank;
        let is_there = |(strip, &version): (u32, &u64)| {
            version != rank || copies.with(strip, version).is_some() || self.home_of(stripe, strip).is_none()
        };
        let (partial, sums, torn) = match &held.before {
            Some(before) if !self.breaks(SafetyRule::Undo) && !(0..).zip(&now.stripe.strips).all(is_there) => {
                (Partial::Before, before.as_ref(), Some(rank))
            }
            _ => (Partial::Now, Some(now), None),
        };
        let Some(sums) = sums else { return (Partial::None, None) };
        let parity = self.parity_that_stands(stripe, copies);
        let is_replaced = parity.is_some_and(|(parity, _)| parity.update > sums.stripe.rank);
        let mut newer = copies.newer(sums.stripe.rank).filter(|copy| Some(copy.update) != torn);
        let is_given_up = newer.any(|copy| copies.went_without_parity(copy));
        if is_replaced || is_given_up { (Partial::None, None) } else { (partial, Some(sums)) }
    }

    /// The contents that a parity page is the sum of.
    fn named_by(&self, stripe: StripeId, copies: &Copies<'_>, parity: &Copy) -> Versions {
        if self.breaks(SafetyRule::Named) {
            return (0..copies.data_strips).map(|strip| copies.newest(strip).map_or(0, |copy| copy.update)).collect();
        }
        let mut named = vec![0; self.stripe_scheme().data_strips() as usize];
        for member in self.array.members(parity.ppn) {
            if let Some(lpn) = Self::data_of(member.tag) {
                let (of, strip) = self.strip_of(lpn);
                debug_assert_eq!(of, stripe);
                named[strip as usize] = member.update;
            }
        }
        named
    }

    fn versions_without_partial(&self, stripe: StripeId, copies: &Copies<'_>, found: &mut StripeFound) -> Versions {
        let newest = |strip: u32| copies.newest(strip).map_or(0, |copy| copy.update);
        let all_newest = || (0..copies.data_strips).map(newest).collect::<Versions>();
        let is_optional = self.stripe_scheme().survives_dies() == 0;
        let Some((parity, named)) = self.parity_that_stands(stripe, copies) else {
            found.parity = (!is_optional).then_some(Place::Missing);
            return all_newest();
        };
        let last = copies.newer(parity.update).map(|copy| copy.update).max();
        let stands = last.map(|last| self.is_whole(stripe, copies, last));
        // What only this parity brings back would be lost with it: then nothing newer was acknowledged.
        let needed = (0..copies.data_strips).any(|strip| named[strip as usize] > newest(strip));
        let drops = !is_optional && !self.breaks(SafetyRule::Whole);
        if stands.is_none() || drops && (stands == Some(false) || needed) {
            found.parity = Some(Place::At(self.grid.slot(parity.ppn, 0)));
            found.parity_version = parity.update;
            return named;
        }
        found.parity = (!is_optional).then_some(Place::Missing);
        let on_dead_die = |strip: u32| self.is_on_dead_die(stripe, strip);
        let version = |(strip, newest): (u32, u64)| if on_dead_die(strip) { newest.max(named[strip as usize]) } else { newest };
        (0..).zip(all_newest()).map(version).collect()
    }

    /// The newest parity that is not torn from more of its update than it brings back.
    fn parity_that_stands<'a>(&self, stripe: StripeId, copies: &'a Copies<'_>) -> Option<(&'a Copy, Versions)> {
        let mut parities: Vec<&Copy> = copies.of(copies.data_strips).collect();
        parities.sort_unstable_by(|a, b| b.cmp(a));
        let stands = |parity: &Copy| {
            let named = self.named_by(stripe, copies, parity);
            let is_missing = |strip: u32| named[strip as usize] > 0 && copies.with(strip, named[strip as usize]).is_none();
            let missing: Vec<u32> = (0..copies.data_strips).filter(|&strip| is_missing(strip)).collect();
            // Torn, or left behind by a stripe that was discarded.
            let is_stale = missing.len() > 1 && missing.iter().any(|&strip| !self.is_on_dead_die(stripe, strip));
            (!is_stale).then_some(named)
        };
        parities.into_iter().find_map(|parity| Some((parity, stands(parity)?)))
    }

    /// Whether all data of an update are there.
    fn is_whole(&self, stripe: StripeId, copies: &Copies<'_>, update: u64) -> bool {
        let written = copies.all.iter().find(|copy| copy.update == update).map_or(0, |copy| copy.covers);
        let written = StripSet(u64::from(written)).and(StripSet::first(copies.data_strips));
        written.iter().all(|strip| copies.with(strip, update).is_some() || self.home_of(stripe, strip).is_none())
    }

    /// Whether the die that a strip was laid out for is dead: it may have been lost with it.
    fn is_on_dead_die(&self, stripe: StripeId, strip: u32) -> bool {
        self.is_dead(self.stripe_scheme().die_of(stripe, strip))
    }

    /// Takes over parities and partial parities.
    pub(super) fn mount_stripes(&mut self, with: &Choice, held: Vec<HeldRemains<P>>) {
        for (stripe, found) in (0..).map(StripeId).zip(&with.stripes) {
            let is_stored = found.parity.is_some() && self.has_data(stripe);
            let newest = self.version_of_strip(stripe, self.stripe_scheme().data_strips());
            let version = if found.parity_version > 0 { found.parity_version } else { newest };
            self.note_parity_version(stripe, if is_stored { version } else { 0 });
            match found.parity {
                Some(Place::At(slot)) => drop(self.ftl.publish_parity(stripe, slot)),
                Some(Place::Missing) if self.has_data(stripe) => drop(self.ftl.publish_missing_parity(stripe)),
                _ => {}
            }
        }
        for held in held {
            let sums = match with.stripes[held.stripe.index()].partial {
                Partial::None => continue,
                Partial::Now => held.sums,
                Partial::Before => held.before.flatten().expect("it counts"),
            };
            for slot in pinned(&sums.old) {
                let unit = self.ftl.unit_of(slot);
                self.ftl.pin(unit);
            }
            let ftl = &self.ftl;
            self.held.restore(held.stripe, sums, |slot| ftl.unit_of(slot));
        }
        self.tell_worn_strips();
    }

    fn has_data(&self, stripe: StripeId) -> bool {
        (0..self.stripe_scheme().data_strips()).any(|strip| self.place_of_strip(stripe, strip) != Place::Unmapped)
    }

    /// Pages whose newer contents are void.
    pub(super) fn void_pages(&self, with: &Choice) -> Vec<Lpn> {
        let strips = |(stripe, found): (StripeId, &StripeFound)| {
            found.void.iter().filter_map(|strip| self.lpn_of(stripe, strip)).collect::<Vec<_>>()
        };
        (0..).map(StripeId).zip(&with.stripes).flat_map(strips).collect()
    }
}
