//! The parity cache: partial parities in power-safe memory, and how they become full parity.
//!
//! An entry holds a sum of current pages and knows where the old versions of these pages lie.
//! The old versions stay pinned as long as the entry lives, because the stored parity is still
//! that of them. Collection that wants their block has the stripe committed first.

use crate::core::target::Target;
use crate::engine::Engine;
use crate::write::stripes::Work;
use device::contents::HostPayload;
use device::slab::Id;
use ftl::{Place, UnitId, UnitState};
use nand::FlashArray;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use vocab::{Slot, StripSet, StripeId};

/// A partial parity.
#[derive(Clone, Debug)]
pub(crate) struct Held<P> {
    /// Strips whose current contents it sums, B.
    pub covers: StripSet,
    pub sum: P,
    /// Where strips that joined since the last commit lay then.
    pub old: Vec<(u32, Place)>,
    /// On a drive that is to be mounted, what the stripe is made of.
    versions: StripeVersions,
    /// On a drive that is to be mounted, what it was before the update under way.
    before: Option<Box<Option<Sums<P>>>>,
    /// When it was last updated, as a key of the cache's order.
    used: u64,
}

impl<P: Clone> Held<P> {
    fn sums(&self) -> Sums<P> {
        let Self { covers, sum, old, versions, .. } = self;
        Sums { covers: *covers, sum: sum.clone(), stripe: versions.clone(), old: old.clone() }
    }
}

impl<P> Held<P> {
    /// Where a strip lay when the stored parity was written.
    pub fn old_place(&self, strip: u32) -> Option<Place> {
        self.old.iter().find(|(s, _)| *s == strip).map(|(_, place)| *place)
    }

    /// Slots of old versions: each keeps its unit pinned.
    pub fn pinned(&self) -> impl Iterator<Item = Slot> {
        pinned(&self.old)
    }
}

/// The slots of these old versions, where they have one.
pub(crate) fn pinned(old: &[(u32, Place)]) -> impl Iterator<Item = Slot> {
    old.iter().filter_map(|(_, place)| if let Place::At(slot) = place { Some(*slot) } else { None })
}

/// A partial parity as power-safe memory keeps it.
#[derive(Clone, Debug)]
pub(crate) struct HeldRemains<P> {
    pub stripe: StripeId,
    pub sums: Sums<P>,
    /// What was held before the update that is under way, if one is: `None` inside where nothing was.
    pub before: Option<Option<Sums<P>>>,
}

/// A sum of strips of a stripe, and what it is of.
#[derive(Clone, Debug)]
pub(crate) struct Sums<P> {
    pub covers: StripSet,
    pub sum: P,
    /// What the stripe is made of.
    pub stripe: StripeVersions,
    pub old: Vec<(u32, Place)>,
}

/// Ranks of what a stripe is made of beside a partial parity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StripeVersions {
    /// Of the current contents of each data strip; 0: none.
    pub strips: Vec<u64>,
    /// Of the stored parity, which sums old versions; 0: none.
    pub parity: u64,
    /// Of the update that made it so.
    pub rank: u64,
}

/// All partial parities of a drive. Lookups by hash, order by use: never iterated by hash.
#[derive(Clone, Debug)]
pub(crate) struct ParityCache<P> {
    capacity: usize,
    entries: FxHashMap<u32, Held<P>>,
    /// Stripes, least recently updated first.
    order: BTreeMap<u64, StripeId>,
    clock: u64,
    /// Room promised to updates under way, and taken by commits until they are durable.
    promised: usize,
    leaving: usize,
    /// Updates that wait for room, in order.
    waiting: VecDeque<Id>,
    /// Stripes being committed, or waiting for their turn.
    committing: FxHashSet<u32>,
    /// Stripes whose commit found no room, until there may be some.
    pub deferred: BTreeSet<u32>,
    /// Stripes with old versions in a unit.
    by_unit: FxHashMap<UnitId, Vec<StripeId>>,
    /// Stripes whose parity could not be built, for want of a page, since their last update.
    unbuildable: FxHashSet<u32>,
    /// On a drive that is to be mounted, entries taken out whose successors are not durable.
    going: Option<BTreeMap<StripeId, Held<P>>>,
}

impl<P: HostPayload> ParityCache<P> {
    pub fn new(capacity: u32) -> Self {
        Self {
            capacity: capacity as usize,
            entries: FxHashMap::default(),
            order: BTreeMap::new(),
            clock: 0,
            promised: 0,
            leaving: 0,
            waiting: VecDeque::new(),
            committing: FxHashSet::default(),
            deferred: BTreeSet::new(),
            by_unit: FxHashMap::default(),
            unbuildable: FxHashSet::default(),
            going: None,
        }
    }

    /// A cut may come: what is being replaced is kept until what replaces it is durable.
    pub fn expect_cuts(&mut self) {
        self.going = Some(BTreeMap::new());
    }

    /// What power-safe memory keeps, least recently updated first.
    pub fn remains(&self) -> Vec<HeldRemains<P>> {
        let held = self.order.values().map(|stripe| (*stripe, &self.entries[&stripe.0]));
        let going = self.going.iter().flatten().map(|(stripe, held)| (*stripe, held));
        let all = going.chain(held);
        let remains = |(stripe, held): (StripeId, &Held<P>)| HeldRemains {
            stripe,
            sums: held.sums(),
            before: held.before.as_deref().cloned(),
        };
        all.map(remains).collect()
    }

    /// The update of a stripe is durable.
    pub fn settled(&mut self, stripe: StripeId) {
        if let Some(going) = &mut self.going {
            going.remove(&stripe);
            if let Some(entry) = self.entries.get_mut(&stripe.0) {
                entry.before = None;
            }
        }
    }

    /// Puts back what power-safe memory kept: what counts, and what does if that turns out to be torn.
    pub fn restore(
        &mut self,
        stripe: StripeId,
        sums: Sums<P>,
        before: Option<Option<Sums<P>>>,
        unit_of: impl Fn(Slot) -> UnitId,
    ) {
        self.promised += 1;
        let Sums { covers, sum, stripe: versions, old } = sums;
        self.put(stripe, covers, sum, old, unit_of);
        let entry = self.entries.get_mut(&stripe.0).expect("just put");
        (entry.versions, entry.before) = (versions, before.map(Box::new));
    }

    /// Keeps what does not count unless the stored parity turns out to be torn.
    pub fn keep_meanwhile(&mut self, stripe: StripeId, sums: Sums<P>, before: Option<Option<Sums<P>>>) {
        let Sums { covers, sum, stripe: versions, old } = sums;
        let held = Held { covers, sum, old, versions, before: before.map(Box::new), used: 0 };
        self.going.iter_mut().for_each(|going| drop(going.insert(stripe, held.clone())));
    }

    /// What a mount found is durable.
    pub fn all_settled(&mut self) {
        self.going.iter_mut().for_each(BTreeMap::clear);
        for stripe in self.order.values() {
            self.entries.get_mut(&stripe.0).expect("ordered entries exist").before = None;
        }
    }

    /// Says what the stripe is made of whose sum was put just now.
    pub fn stamp(&mut self, stripe: StripeId, versions: StripeVersions) {
        self.entries.get_mut(&stripe.0).expect("just put").versions = versions;
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub fn get(&self, stripe: StripeId) -> Option<&Held<P>> {
        if self.entries.is_empty() { None } else { self.entries.get(&stripe.0) }
    }

    /// Stripes with a partial parity, least recently updated first.
    pub fn stripes(&self) -> impl Iterator<Item = StripeId> {
        self.order.values().copied()
    }

    /// Room for one more entry, promised; false if there is none.
    fn promise(&mut self) -> bool {
        let room = self.entries.len() + self.promised + self.leaving < self.capacity;
        self.promised += usize::from(room);
        room
    }

    /// The promise is not needed after all.
    pub fn give_back(&mut self) {
        self.promised -= 1;
    }

    /// Stores the partial parity of a stripe: the first uses up a promise. `old` are places of
    /// strips that join it.
    pub fn put(&mut self, stripe: StripeId, covers: StripSet, sum: P, old: Vec<(u32, Place)>, unit_of: impl Fn(Slot) -> UnitId) {
        self.clock += 1;
        let clock = self.clock;
        for (_, place) in &old {
            if let Place::At(slot) = place {
                self.by_unit.entry(unit_of(*slot)).or_default().push(stripe);
            }
        }
        let before = self.going.is_some().then(|| Box::new(self.entries.get(&stripe.0).map(Held::sums)));
        if let Some(entry) = self.entries.get_mut(&stripe.0) {
            self.order.remove(&entry.used);
            entry.before = before;
            (entry.covers, entry.sum, entry.used) = (covers, sum, clock);
            entry.old.extend(old);
        } else {
            self.promised -= 1;
            let versions = StripeVersions::default();
            self.entries.insert(stripe.0, Held { covers, sum, old, versions, before, used: clock });
        }
        self.order.insert(clock, stripe);
    }

    /// Takes the entry out. Its room is free once [`Self::left`] says that the parity that
    /// replaces it is durable.
    pub fn take(&mut self, stripe: StripeId, unit_of: impl Fn(Slot) -> UnitId) -> Option<Held<P>> {
        if self.entries.is_empty() {
            return None;
        }
        let entry = self.entries.remove(&stripe.0)?;
        self.order.remove(&entry.used);
        self.leaving += 1;
        if let Some(going) = &mut self.going {
            going.insert(stripe, entry.clone());
        }
        for slot in entry.pinned() {
            let unit = unit_of(slot);
            let stripes = self.by_unit.get_mut(&unit).expect("a pinned unit is known");
            let at = stripes.iter().position(|&s| s == stripe).expect("each pin is known");
            stripes.swap_remove(at);
            if stripes.is_empty() {
                self.by_unit.remove(&unit);
            }
        }
        Some(entry)
    }

    /// The room of an entry that was taken out is free.
    pub fn left(&mut self) {
        self.leaving -= 1;
    }

    /// The stripe's parity cannot be built before it is updated.
    pub fn not_buildable(&mut self, stripe: StripeId) {
        self.unbuildable.insert(stripe.0);
    }

    /// Whether a page was wanting when the stripe's parity was to be built.
    pub fn is_unbuildable(&self, stripe: StripeId) -> bool {
        self.unbuildable.contains(&stripe.0)
    }

    /// The stripe is being updated: its parity may be built again.
    pub fn buildable_again(&mut self, stripe: StripeId) {
        if !self.unbuildable.is_empty() {
            self.unbuildable.remove(&stripe.0);
        }
    }

    /// Whether updates wait for room.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The first update that waits for room, which will not come.
    pub fn take_waiting(&mut self) -> Option<Id> {
        self.waiting.pop_front()
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Makes sure that an update finds room for a new entry; false if it has to wait for it.
    pub(crate) fn room_to_hold(&mut self, op: Id) -> bool {
        if self.writer.stripes.held.waiting.is_empty() && self.writer.stripes.held.promise() {
            return true;
        }
        self.writer.stripes.held.waiting.push_back(op);
        self.commit_least_recent();
        false
    }

    /// Commits as many entries as updates wait for room.
    fn commit_least_recent(&mut self) {
        let wanted = self.writer.stripes.held.waiting.len().saturating_sub(self.writer.stripes.held.leaving);
        let stripes: Vec<StripeId> = self.writer.stripes.held.stripes().take(wanted).collect();
        stripes.into_iter().for_each(|stripe| self.commit(stripe));
    }

    /// Updates that wait for room go on, in order, as far as there is any.
    pub(crate) fn serve_waiting_for_room(&mut self) {
        while !self.writer.stripes.held.waiting.is_empty() && self.writer.stripes.held.promise() {
            let op = self.writer.stripes.held.waiting.pop_front().expect("not empty");
            self.room_was_promised(op);
        }
        if !self.writer.stripes.held.waiting.is_empty() {
            self.commit_least_recent();
        }
    }

    /// Writes full parity for a stripe with a partial one.
    pub(crate) fn commit(&mut self, stripe: StripeId) {
        self.commit_healing(stripe, false);
    }

    /// As [`Self::commit`]; `heals`: until then the drive has not recovered.
    fn commit_healing(&mut self, stripe: StripeId, heals: bool) {
        if self.writer.stripes.held.get(stripe).is_none() || !self.writer.stripes.held.committing.insert(stripe.0) {
            return;
        }
        let commit = self.new_stripe_work(stripe, Work::Commit);
        self.writer.stripes.ops[commit].heals = heals;
        self.start_urgent(commit);
    }

    /// The commit of a stripe has ended.
    pub(crate) fn commit_ended(&mut self, stripe: StripeId) {
        self.writer.stripes.held.committing.remove(&stripe.0);
    }

    /// Commits every stripe that keeps old versions in the unit.
    pub(crate) fn commit_pinned_in(&mut self, unit: UnitId) {
        if self.writer.stripes.held.is_empty() {
            return;
        }
        let stripes = self.writer.stripes.held.by_unit.get(&unit).cloned().unwrap_or_default();
        stripes.into_iter().for_each(|stripe| self.commit(stripe));
    }

    /// There is no room for the parity of a stripe. It is not asked for again at once by a collector that
    /// waits for it.
    pub(crate) fn parity_found_no_room(&mut self, stripe: StripeId, work: Work) {
        match work {
            Work::Write => {}
            Work::Commit => drop(self.writer.stripes.held.deferred.insert(stripe.0)),
            Work::Build { .. } => self.writer.stripes.held.not_buildable(stripe),
        }
    }

    /// The commit that was to make room in the parity cache fails: so does what waits for that room.
    pub(crate) fn fail_waiting_for_commit(&mut self, id: Id) {
        if self.writer.stripes.ops[id].work == Work::Commit
            && let Some(waiting) = self.writer.stripes.held.take_waiting()
        {
            if self.is_eviction(waiting) {
                self.fail_buffer_waiter();
            }
            self.fail_stripe(waiting);
        }
    }

    /// There is room again: commits that found none are tried again where a collector waits for them.
    pub(crate) fn commit_deferred(&mut self) {
        for stripe in std::mem::take(&mut self.writer.stripes.held.deferred) {
            self.commit_if_condemned(StripeId(stripe));
        }
    }

    /// Commits the stripe at once if it keeps old versions in a unit that is being collected.
    pub(crate) fn commit_if_condemned(&mut self, stripe: StripeId) {
        let Some(held) = self.writer.stripes.held.get(stripe) else { return };
        if held.pinned().any(|slot| self.core.map.unit(self.core.map.unit_of(slot)).state == UnitState::Condemned) {
            self.commit(stripe);
        }
    }

    /// Commits the stripe if its partial parity leans on an old version, or an old parity, that
    /// is lost: no rebuild brings those back, full parity does without.
    pub(crate) fn commit_if_leaning_on_lost(&mut self, stripe: StripeId) {
        let Some(held) = self.writer.stripes.held.get(stripe) else { return };
        let old = held.old.iter().map(|(_, place)| *place);
        if old.chain([self.core.map.lookup_parity(stripe)]).any(|place| self.is_lost_place(place)) {
            self.commit_healing(stripe, self.core.safe.recovering);
        }
    }

    /// Commits all partial parities, if the scheme wants that of a flush. The flush is answered
    /// at once: the cache is power-safe.
    pub(crate) fn flush_parity_cache(&mut self) {
        if self.writer.stripes.held.is_empty() || !self.stripe_scheme().commits_on_flush() {
            return;
        }
        let stripes: Vec<StripeId> = self.writer.stripes.held.stripes().collect();
        stripes.into_iter().for_each(|stripe| self.commit(stripe));
    }

    /// Builds parity that stripes lack, one stripe at a time, while the host wants nothing.
    pub(crate) fn build_in_idle_time(&mut self) {
        let stripes = self.stripe_count();
        while self.core.device.is_idle() && self.core.device.dies().iter().all(|die| die.backlog == 0) {
            let Some(stripe) = self.stripe_scheme_mut().next_unprotected(stripes) else { return };
            if self.can_build(stripe) {
                self.build_parity(stripe, None);
            }
        }
    }

    /// Whether the stripe has neither parity nor a strip that would keep it from being built.
    pub(crate) fn can_build(&self, stripe: StripeId) -> bool {
        let (present, unreadable) = self.stripe_state(stripe);
        let tried = self.writer.stripes.held.is_unbuildable(stripe);
        !self.is_protected(stripe) && !tried && !present.is_empty() && present.and(unreadable).is_empty()
    }

    /// Builds the parity of a stripe that has none; then `waiter` goes on.
    pub(crate) fn build_parity(&mut self, stripe: StripeId, waiter: Option<Target>) {
        let build = self.new_stripe_work(stripe, Work::Build { waiter });
        self.start_urgent(build);
    }

    /// Recounts what the parity cache derives: pins by unit, and that old versions are still
    /// where the entries say; for tests.
    pub(crate) fn check_parity_cache(&self) {
        let mut pins: BTreeMap<UnitId, u32> = BTreeMap::new();
        for stripe in self.writer.stripes.held.stripes() {
            let held = self.writer.stripes.held.get(stripe).expect("ordered entries exist");
            let known: StripSet = held.old.iter().map(|(strip, _)| *strip).collect();
            assert!(held.covers.minus(known).is_empty(), "{stripe:?}: the old version of a covered strip is not known");
            for slot in held.pinned() {
                assert!(!self.core.map.is_valid(slot), "{stripe:?}: an old version is current");
                *pins.entry(self.core.map.unit_of(slot)).or_default() += 1;
            }
        }
        for (&unit, &count) in &pins {
            let known = self.writer.stripes.held.by_unit.get(&unit).map_or(0, Vec::len) as u32;
            assert_eq!(known, count, "old versions kept in unit {unit}");
            let state = self.core.map.unit(unit);
            assert!(state.pins >= count, "unit {unit} has {} pins, partial parities need {count}", state.pins);
        }
        assert_eq!(self.writer.stripes.held.by_unit.len(), pins.len(), "units with old versions");
    }
}
