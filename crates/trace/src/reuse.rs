//! How soon slots come again, from a sample of them, in bounded memory.
//!
//! SHARDS with a fixed sample (Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC Construction with SHARDS, FAST 2015): a
//! slot is sampled if the hash of its address lies below a threshold, so either all its accesses count or none. When more
//! than [`SAMPLED_SLOTS`] slots are sampled the threshold falls to the largest hash among them, that slot is forgotten, and
//! what was counted so far is scaled down. A distance in the sample, divided by its rate, is one in the trace. As long as a
//! trace touches no more slots than the sample holds, every count is exact.

use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;
use vocab::splitmix64;

/// Most slots in the sample; some 4 MiB of memory.
pub const SAMPLED_SLOTS: usize = 1 << 15;

/// Buckets of reuse distances: bucket `b` holds distances of 2^(b-1) to 2^b - 1 slots, bucket 0 the distance 0.
pub const REUSE_BUCKETS: usize = 48;

/// Hashes are below this.
const SPACE: u64 = 1 << 32;

/// Reuse of slots: distances and how accesses are spread over them.
#[derive(Clone, Debug)]
pub struct Reuse {
    /// Accesses to slots that were accessed before, by the number of distinct slots accessed in between.
    buckets: [f64; REUSE_BUCKETS],
    /// Accesses to slots for the first time.
    first: f64,
    threshold: u64,
    limit: usize,
    slots: FxHashMap<(u32, u64), Slot>,
    /// Sampled slots, that with the largest hash first.
    by_hash: BinaryHeap<(u64, u32, u64)>,
    order: Order,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Place of its last access in `order`.
    last: u32,
    accesses: u64,
}

/// Last accesses in order, as a Fenwick tree of ones.
#[derive(Clone, Debug)]
struct Order {
    tree: Vec<u32>,
    next: u32,
    live: u32,
}

impl Order {
    fn new(places: usize) -> Self {
        Self { tree: vec![0; places + 1], next: 0, live: 0 }
    }

    fn is_full(&self) -> bool {
        self.next as usize + 1 >= self.tree.len()
    }

    fn add(&mut self, place: u32, by: i32) {
        let mut at = place as usize + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
        self.live = self.live.wrapping_add_signed(by);
    }

    fn push(&mut self) -> u32 {
        let place = self.next;
        self.next += 1;
        self.add(place, 1);
        place
    }

    /// Slots whose last access comes after that at `place`.
    fn after(&self, place: u32) -> u32 {
        let (mut at, mut up_to) = (place as usize + 1, 0);
        while at > 0 {
            up_to += self.tree[at];
            at &= at - 1;
        }
        self.live - up_to
    }
}

/// The upper half of a number of SplitMix64.
fn hash(device: u32, slot: u64) -> u64 {
    splitmix64(&mut slot.wrapping_add(u64::from(device) << 40)) >> 32
}

impl Default for Reuse {
    fn default() -> Self {
        Self::within(SAMPLED_SLOTS)
    }
}

impl Reuse {
    /// With a sample of at most `limit` slots.
    pub(crate) fn within(limit: usize) -> Self {
        Self {
            buckets: [0.0; REUSE_BUCKETS],
            first: 0.0,
            threshold: SPACE,
            limit,
            slots: FxHashMap::default(),
            by_hash: BinaryHeap::new(),
            order: Order::new(limit * 4 + 4),
        }
    }

    /// Notes an access to a slot of a device.
    #[inline]
    pub(crate) fn note(&mut self, device: u32, slot: u64) {
        let hash = hash(device, slot);
        if hash < self.threshold {
            self.sampled(device, slot, hash);
        }
    }

    fn sampled(&mut self, device: u32, slot: u64, hash: u64) {
        if self.order.is_full() {
            self.renumber();
        }
        if let Some(known) = self.slots.get(&(device, slot)).copied() {
            let between = f64::from(self.order.after(known.last)) / self.rate();
            self.buckets[bucket(between)] += 1.0;
            self.order.add(known.last, -1);
            let last = self.order.push();
            self.slots.insert((device, slot), Slot { last, accesses: known.accesses + 1 });
            return;
        }
        self.first += 1.0;
        let last = self.order.push();
        self.slots.insert((device, slot), Slot { last, accesses: 1 });
        self.by_hash.push((hash, device, slot));
        if self.slots.len() > self.limit {
            self.lower();
        }
    }

    /// Lowers the threshold to the largest hash in the sample.
    fn lower(&mut self) {
        let before = self.threshold;
        self.threshold = self.by_hash.peek().map_or(before, |entry| entry.0).max(1);
        while let Some(&(_, device, slot)) = self.by_hash.peek().filter(|entry| entry.0 >= self.threshold) {
            self.by_hash.pop();
            if let Some(gone) = self.slots.remove(&(device, slot)) {
                self.order.add(gone.last, -1);
            }
        }
        let scale = self.threshold as f64 / before as f64;
        self.buckets.iter_mut().for_each(|count| *count *= scale);
        self.first *= scale;
    }

    /// Gives last accesses new places, in their order, without gaps.
    fn renumber(&mut self) {
        let mut places: Vec<(u32, (u32, u64))> = self.slots.iter().map(|(&key, slot)| (slot.last, key)).collect();
        places.sort_unstable();
        self.order = Order::new(self.order.tree.len() - 1);
        for (_, key) in places {
            let last = self.order.push();
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.last = last;
            }
        }
    }

    /// Share of all slots that are in the sample; 1 where every count is exact.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.threshold as f64 / SPACE as f64
    }

    /// Share of accesses by reuse distance, as [`REUSE_BUCKETS`] says. With [`Self::first`] they sum to 1.
    #[must_use]
    pub fn distances(&self) -> [f64; REUSE_BUCKETS] {
        let all = self.all();
        self.buckets.map(|count| count / all)
    }

    /// Share of accesses that are the first to their slot.
    #[must_use]
    pub fn first(&self) -> f64 {
        self.first / self.all()
    }

    fn all(&self) -> f64 {
        (self.first + self.buckets.iter().sum::<f64>()).max(f64::MIN_POSITIVE)
    }

    /// Share of accesses that a cache of the `slots` least recently used slots would answer; `slots` is a power of two.
    #[must_use]
    pub fn hits(&self, slots: u64) -> f64 {
        let end = bucket(slots as f64);
        self.buckets[..end].iter().sum::<f64>() / self.all()
    }

    /// Share of the accesses to sampled slots that go to the `share` of them accessed most.
    #[must_use]
    pub fn hottest(&self, share: f64) -> f64 {
        let mut accesses: Vec<u64> = self.slots.values().map(|slot| slot.accesses).collect();
        accesses.sort_unstable_by(|a, b| b.cmp(a));
        let all: u64 = accesses.iter().sum();
        let most = (accesses.len() as f64 * share).round() as usize;
        let hot: u64 = accesses.iter().take(most).sum();
        if all == 0 { 0.0 } else { hot as f64 / all as f64 }
    }
}

/// The bucket of a distance.
fn bucket(distance: f64) -> usize {
    let whole = distance as u64;
    ((u64::BITS - whole.leading_zeros()) as usize).min(REUSE_BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances by their definition: distinct slots since the last access to the same.
    fn naive(accesses: &[u64]) -> ([f64; REUSE_BUCKETS], f64) {
        let (mut stack, mut buckets, mut first) = (Vec::new(), [0.0; REUSE_BUCKETS], 0.0);
        for slot in accesses {
            match stack.iter().rposition(|known| known == slot) {
                Some(at) => {
                    buckets[bucket((stack.len() - 1 - at) as f64)] += 1.0;
                    stack.remove(at);
                }
                None => first += 1.0,
            }
            stack.push(*slot);
        }
        let all = accesses.len() as f64;
        (buckets.map(|count| count / all), first / all)
    }

    /// Slots of a skewed, repeating kind, without any library of random numbers.
    fn accesses(count: u64, range: u64) -> Vec<u64> {
        let draw = |index: u64| hash(7, index);
        (0..count)
            .map(|index| if draw(index) % 4 == 0 { draw(index + count) % range } else { draw(index) % (range / 16) })
            .collect()
    }

    #[test]
    fn while_all_slots_are_in_the_sample_distances_are_those_of_the_definition() {
        let accesses = accesses(5_000, 600);
        let mut reuse = Reuse::within(600);
        accesses.iter().for_each(|&slot| reuse.note(0, slot));
        let (buckets, first) = naive(&accesses);
        assert_eq!((reuse.rate(), reuse.distances(), reuse.first()), (1.0, buckets, first));
    }

    #[test]
    fn a_sample_of_a_sixteenth_is_near_the_definition() {
        let accesses = accesses(60_000, 8_192);
        let mut reuse = Reuse::within(512);
        accesses.iter().for_each(|&slot| reuse.note(0, slot));
        let (buckets, first) = naive(&accesses);
        assert!(reuse.slots.len() <= 512 && (0.05..0.08).contains(&reuse.rate()), "{}", reuse.rate());
        let hits = |buckets: &[f64; REUSE_BUCKETS], slots: u64| buckets[..bucket(slots as f64)].iter().sum::<f64>();
        for slots in [256, 1024, 4096] {
            let (found, exact) = (reuse.hits(slots), hits(&buckets, slots));
            assert!((found - exact).abs() < 0.05, "{slots} slots: {found} instead of {exact}");
        }
        assert!((reuse.first() - first).abs() < 0.05, "{} instead of {first}", reuse.first());
    }

    #[test]
    fn the_hottest_slots_take_their_share() {
        let mut reuse = Reuse::default();
        (0..10).for_each(|slot| reuse.note(0, slot));
        (0..90).for_each(|_| reuse.note(0, 3));
        assert_eq!((reuse.hottest(0.1), reuse.hottest(1.0)), (0.91, 1.0));
    }
}
