//! The parity cache: partial parities in PLP memory, and how they become full parity.
//!
//! An entry holds a sum of current pages and knows where the old versions of these pages lie.
//! The old versions stay pinned as long as the entry lives, because the stored parity is still
//! that of them. GC that wants their block has the stripe committed first.

use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use crate::write::stripes::op::Work;
use ftl::{Place, UnitId};
use protect::WriteBack;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use vocab::{Slot, StripSet, StripeId};

/// A partial parity.
#[derive(Clone, Debug)]
pub(crate) struct PartialParity<P> {
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

impl<P: Clone> PartialParity<P> {
    pub fn sums(&self) -> Sums<P> {
        let Self { covers, sum, old, versions, .. } = self;
        Sums { covers: *covers, sum: sum.clone(), stripe: versions.clone(), old: old.clone() }
    }
}

impl<P> PartialParity<P> {
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

/// Ages of those that were taken out are below this.
const TAKEN_OUT_BEFORE: u64 = 1 << 63;

/// A partial parity as PLP memory keeps it.
#[derive(Clone, Debug)]
pub(crate) struct PartialParityRemains<P> {
    pub stripe: StripeId,
    pub sums: Sums<P>,
    /// State before the update that is under way, if one is: `None` inside where there was no entry.
    pub before: Option<Option<Sums<P>>>,
}

/// A sum of strips of a stripe, and what it is of.
#[derive(Clone, Debug)]
pub(crate) struct Sums<P> {
    pub covers: StripSet,
    pub sum: P,
    /// Versions that make up the stripe.
    pub stripe: StripeVersions,
    pub old: Vec<(u32, Place)>,
}

impl<P> Sums<P> {
    /// Old versions in places of this kind are lost.
    fn lose_old(&mut self, is_lost: &impl Fn(Place) -> bool) {
        self.old.iter_mut().filter(|(_, place)| is_lost(*place)).for_each(|(_, place)| *place = Place::Missing);
    }
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
    /// Entries above which the least recently updated are committed though no one waits for their room.
    watermark: usize,
    entries: FxHashMap<u32, PartialParity<P>>,
    /// Stripes, least recently updated first.
    order: BTreeMap<u64, StripeId>,
    clock: u64,
    /// Room promised to updates under way, and taken by commits until they are durable.
    promised: usize,
    leaving: usize,
    /// Updates that wait for room, in order.
    waiting: VecDeque<OpId>,
    /// Stripes being committed, or waiting for their turn.
    committing: FxHashSet<u32>,
    /// Stripes whose commit found no room, until there may be some.
    deferred: BTreeSet<u32>,
    /// Stripes whose partial parity is all there is of a page, and which have no full parity to be had: until their next update, a
    /// strip was rebuilt, or there is space again.
    irreplaceable: BTreeSet<u32>,
    /// Stripes with old versions in a unit.
    by_unit: FxHashMap<UnitId, Vec<StripeId>>,
    /// Stripes whose parity could not be built, because a page could not be read, since their last update.
    unbuildable: FxHashSet<u32>,
    /// On a drive that is to be mounted, entries taken out whose successors are not durable.
    going: Option<BTreeMap<StripeId, PartialParity<P>>>,
}

impl<P: FlashPayload> ParityCache<P> {
    pub fn new(capacity: u32, write_back: WriteBack) -> Self {
        let watermark = match write_back {
            WriteBack::Watermark => (capacity * 3).div_ceil(4),
            WriteBack::OnDemand => capacity,
        };
        Self {
            capacity: capacity as usize,
            watermark: watermark as usize,
            entries: FxHashMap::default(),
            order: BTreeMap::new(),
            clock: 0,
            promised: 0,
            leaving: 0,
            waiting: VecDeque::new(),
            committing: FxHashSet::default(),
            deferred: BTreeSet::new(),
            irreplaceable: BTreeSet::new(),
            by_unit: FxHashMap::default(),
            unbuildable: FxHashSet::default(),
            going: None,
        }
    }

    /// The drive is to be mounted after cuts: a partial parity that is replaced is kept until its successor is durable.
    pub fn expect_cuts(&mut self) {
        self.going = Some(BTreeMap::new());
    }

    /// The partial parities that PLP memory keeps through a cut, least recently updated first.
    pub fn remains(&self) -> Vec<PartialParityRemains<P>> {
        let held = self.order.values().map(|stripe| (*stripe, &self.entries[&stripe.0]));
        let going = self.going.iter().flatten().map(|(stripe, held)| (*stripe, held));
        let all = going.chain(held);
        let remains = |(stripe, held): (StripeId, &PartialParity<P>)| PartialParityRemains {
            stripe,
            sums: held.sums(),
            before: held.before.as_deref().cloned(),
        };
        all.map(remains).collect()
    }

    /// Keys of the order of [`Self::remains`], one after the other; those that were taken out come first.
    pub fn ages(&self) -> impl Iterator<Item = u64> + '_ {
        let going = self.going.iter().flatten().map(|(stripe, _)| u64::from(stripe.0));
        going.chain(self.order.keys().map(|&clock| clock | TAKEN_OUT_BEFORE))
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

    /// Puts back what PLP memory kept: the partial parity of the newest consistent state, and the one
    /// before, which is needed if a page of that state turns out to be torn.
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

    /// Keeps a partial parity that is not of the newest consistent state, in case the stored parity turns out to be
    /// torn.
    pub fn keep_meanwhile(&mut self, stripe: StripeId, sums: Sums<P>, before: Option<Option<Sums<P>>>) {
        let Sums { covers, sum, stripe: versions, old } = sums;
        let held = PartialParity { covers, sum, old, versions, before: before.map(Box::new), used: 0 };
        self.going.iter_mut().for_each(|going| drop(going.insert(stripe, held.clone())));
    }

    /// Marks the contents that a mount found as durable.
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
    pub fn get(&self, stripe: StripeId) -> Option<&PartialParity<P>> {
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

    /// Room for a new entry of an update that waits for nothing, promised; false if there is none, or no cache.
    pub fn promise_if_room(&mut self) -> bool {
        self.waiting.is_empty() && self.promise()
    }

    /// Room for a new entry, promised; where there is none the update joins those that wait for it, and that is
    /// false.
    pub fn promise_or_wait(&mut self, op: OpId) -> bool {
        let promised = self.waiting.is_empty() && self.promise();
        if !promised {
            self.waiting.push_back(op);
        }
        promised
    }

    /// The first update that waits for room has it promised, if there is one and there is room.
    pub fn promise_to_first_waiting(&mut self) -> Option<OpId> {
        if self.waiting.is_empty() || !self.promise() {
            return None;
        }
        self.waiting.pop_front()
    }

    /// Stripes to commit, least recently updated first: so that all updates that wait for room get some, and that no more
    /// entries are held than the watermark says.
    pub fn to_be_committed(&self) -> Vec<StripeId> {
        let missing = self.waiting.len().saturating_sub(self.leaving);
        let wanted = missing.max(self.entries.len().saturating_sub(self.watermark));
        self.stripes().filter(|stripe| !self.irreplaceable.contains(&stripe.0)).take(wanted).collect()
    }

    /// Whether there is something to commit, it can be, and no commit of it is under way.
    pub fn may_begin_commit(&self, stripe: StripeId) -> bool {
        self.get(stripe).is_some() && !self.irreplaceable.contains(&stripe.0) && !self.committing.contains(&stripe.0)
    }

    /// A commit of the stripe begins, if it [may](Self::may_begin_commit).
    pub fn begin_commit(&mut self, stripe: StripeId) -> bool {
        self.may_begin_commit(stripe) && self.committing.insert(stripe.0)
    }

    /// The stripe has no full parity to be had, and its partial parity is all there is of a page: it stays.
    pub fn keep_irreplaceable(&mut self, stripe: StripeId) {
        self.irreplaceable.insert(stripe.0);
    }

    /// A strip of the stripe was rebuilt: it may have full parity now.
    pub fn strip_rebuilt(&mut self, stripe: StripeId) {
        self.irreplaceable.remove(&stripe.0);
    }

    /// The commit of the stripe has ended.
    pub fn commit_ended(&mut self, stripe: StripeId) {
        self.committing.remove(&stripe.0);
    }

    /// Whether the stripe's commit found no space, and there was none since.
    pub fn is_deferred(&self, stripe: StripeId) -> bool {
        self.deferred.contains(&stripe.0)
    }

    /// There is space again: the stripes whose commits found none.
    pub fn take_deferred(&mut self) -> BTreeSet<u32> {
        self.irreplaceable.clear();
        std::mem::take(&mut self.deferred)
    }

    /// There is no space for the parity of a stripe. It is not asked for again at once by a collector that
    /// waits for it.
    pub fn found_no_space(&mut self, stripe: StripeId, work: Work) {
        match work {
            Work::Write => {}
            Work::Commit => drop(self.deferred.insert(stripe.0)),
            Work::Build { .. } => self.not_buildable(stripe),
        }
    }

    /// Stripes with old versions in the unit, once for each old version.
    pub fn pinned_in(&self, unit: UnitId) -> &[StripeId] {
        if self.entries.is_empty() { &[] } else { self.by_unit.get(&unit).map_or(&[], Vec::as_slice) }
    }

    /// Units with old versions.
    pub fn pinned_units(&self) -> usize {
        self.by_unit.len()
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
        self.irreplaceable.remove(&stripe.0);
        for (_, place) in &old {
            if let Place::At(slot) = place {
                self.by_unit.entry(unit_of(*slot)).or_default().push(stripe);
            }
        }
        let before = self.going.is_some().then(|| Box::new(self.entries.get(&stripe.0).map(PartialParity::sums)));
        if let Some(entry) = self.entries.get_mut(&stripe.0) {
            self.order.remove(&entry.used);
            entry.before = before;
            (entry.covers, entry.sum, entry.used) = (covers, sum, clock);
            entry.old.extend(old);
        } else {
            self.promised -= 1;
            let versions = StripeVersions::default();
            self.entries.insert(stripe.0, PartialParity { covers, sum, old, versions, before, used: clock });
        }
        self.order.insert(clock, stripe);
    }

    /// Takes the entry out. Its room is free once [`Self::left`] says that the parity that
    /// replaces it is durable.
    pub fn take(&mut self, stripe: StripeId, unit_of: impl Fn(Slot) -> UnitId) -> Option<PartialParity<P>> {
        if self.entries.is_empty() {
            return None;
        }
        let entry = self.entries.remove(&stripe.0)?;
        self.order.remove(&entry.used);
        self.irreplaceable.remove(&stripe.0);
        self.leaving += 1;
        if let Some(going) = &mut self.going {
            going.insert(stripe, entry.clone());
        }
        entry.pinned().for_each(|slot| self.forget_pin(stripe, unit_of(slot)));
        Some(entry)
    }

    /// An old version of a strip, whose program failed in `from`, is to be programmed in `to`. True if the cache keeps it: then
    /// its pin goes along.
    pub fn old_goes_to(&mut self, stripe: StripeId, strip: u32, from: Slot, to: Slot, unit_of: impl Fn(Slot) -> UnitId) -> bool {
        let Some(entry) = self.entries.get_mut(&stripe.0) else { return false };
        let Some((_, place)) = entry.old.iter_mut().find(|(of, place)| (*of, *place) == (strip, Place::At(from))) else {
            return false;
        };
        *place = Place::At(to);
        self.forget_pin(stripe, unit_of(from));
        self.by_unit.entry(unit_of(to)).or_default().push(stripe);
        true
    }

    /// Old versions in places of this kind are lost. The units that they pinned, once for each.
    pub fn lose_old(&mut self, is_lost: impl Fn(Place) -> bool, unit_of: impl Fn(Slot) -> UnitId) -> Vec<UnitId> {
        let mut pinned = Vec::new();
        for stripe in self.stripes().collect::<Vec<_>>() {
            let entry = self.entries.get_mut(&stripe.0).expect("ordered entries exist");
            for (_, place) in entry.old.iter_mut().filter(|(_, place)| is_lost(*place)) {
                if let Place::At(slot) = std::mem::replace(place, Place::Missing) {
                    pinned.push((stripe, unit_of(slot)));
                }
            }
            entry.before.iter_mut().filter_map(|before| before.as_mut().as_mut()).for_each(|before| before.lose_old(&is_lost));
        }
        pinned.iter().for_each(|&(stripe, unit)| self.forget_pin(stripe, unit));
        // The updates that took these out keep their pins.
        for entry in self.going.iter_mut().flat_map(BTreeMap::values_mut) {
            entry.old.iter_mut().filter(|(_, place)| is_lost(*place)).for_each(|(_, place)| *place = Place::Missing);
        }
        pinned.into_iter().map(|(_, unit)| unit).collect()
    }

    fn forget_pin(&mut self, stripe: StripeId, unit: UnitId) {
        let stripes = self.by_unit.get_mut(&unit).expect("a pinned unit is known");
        let at = stripes.iter().position(|&s| s == stripe).expect("each pin is known");
        stripes.swap_remove(at);
        if stripes.is_empty() {
            self.by_unit.remove(&unit);
        }
    }

    /// The room of an entry that was taken out is free.
    pub fn left(&mut self) {
        self.leaving -= 1;
    }

    /// The stripe's parity cannot be built before it is updated.
    pub fn not_buildable(&mut self, stripe: StripeId) {
        self.unbuildable.insert(stripe.0);
    }

    /// Whether the stripe's parity could not be built when it was to be.
    pub fn is_unbuildable(&self, stripe: StripeId) -> bool {
        self.unbuildable.contains(&stripe.0)
    }

    /// The stripe is being updated: its parity may be built again. True if it could not be built before.
    pub fn buildable_again(&mut self, stripe: StripeId) -> bool {
        !self.unbuildable.is_empty() && self.unbuildable.remove(&stripe.0)
    }

    /// Whether updates wait for room.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The first update that waits for room, which will not come.
    pub fn take_waiting(&mut self) -> Option<OpId> {
        self.waiting.pop_front()
    }
}
