//! The event queue (decision D8): at most one pending event for each resource.
//!
//! Resources are few (dies and a handful of others) and each has at most one event, so the
//! queue is a winner tree over resources: scheduling an event replays one path of
//! `log2(resources)` comparisons, and nothing is ever inserted, removed or moved.

use vocab::SimTime;

/// Key of an event: time in the upper half, order of scheduling in the lower. Equal times keep
/// that order; one wide comparison decides without a branch.
type Key = u128;

const NEVER: Key = Key::MAX;

fn time_of(key: Key) -> u64 {
    (key >> 64) as u64
}

/// Pending events, one for each resource at most.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// Leaves (a power of two), in the second half; node `i` has the earlier of `2i`, `2i+1`.
    keys: Vec<Key>,
    winners: Vec<u32>,
    leaves: usize,
    scheduled: u64,
}

impl Calendar {
    /// An empty calendar of `resources` resources.
    #[must_use]
    pub fn new(resources: usize) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        let mut winners: Vec<u32> = vec![0; leaves];
        for node in (1..leaves).rev() {
            winners[node] = if node * 2 < leaves { winners[node * 2] } else { (node * 2 - leaves) as u32 };
        }
        Self { keys: vec![NEVER; leaves], winners, leaves, scheduled: 0 }
    }

    #[inline]
    fn play(&mut self, resource: usize) {
        let mut node = (resource + self.leaves) / 2;
        // The lowest match is between two leaves, all others between winners below.
        let (a, b) = (resource & !1, resource | 1);
        let mut winner = if self.keys[b] < self.keys[a] { b } else { a };
        let mut key = self.keys[winner];
        self.winners[node] = winner as u32;
        while node > 1 {
            let rival = self.winners[node ^ 1] as usize;
            let rival_key = self.keys[rival];
            let loses = rival_key < key;
            winner = if loses { rival } else { winner };
            key = if loses { rival_key } else { key };
            node /= 2;
            self.winners[node] = winner as u32;
        }
    }

    /// The resource's next event happens at `at`, in place of any before.
    #[inline]
    pub fn schedule(&mut self, resource: usize, at: SimTime) {
        self.scheduled += 1;
        self.keys[resource] = Key::from(at.0) << 64 | Key::from(self.scheduled);
        self.play(resource);
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, usize)> {
        let resource = self.winners[1] as usize;
        let key = self.keys[resource];
        if key == NEVER {
            return None;
        }
        let time = time_of(key);
        self.keys[resource] = NEVER;
        self.play(resource);
        Some((SimTime(time), resource))
    }

    /// Whether the resource has an event pending.
    #[must_use]
    pub fn is_pending(&self, resource: usize) -> bool {
        self.keys[resource] != NEVER
    }

    /// Events scheduled so far.
    #[must_use]
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use vocab::Streams;

    #[test]
    fn events_come_in_the_order_a_heap_gives_them() {
        for resources in [1, 2, 3, 17, 64] {
            let mut draws = Streams::new(3).stream("calendar");
            let (mut calendar, mut heap) = (Calendar::new(resources), BinaryHeap::new());
            let mut order = 0;
            for _ in 0..20_000 {
                let resource = draws.below(resources as u64) as usize;
                if !calendar.is_pending(resource) && draws.chance(0.6) {
                    let at = draws.below(50);
                    order += 1;
                    calendar.schedule(resource, SimTime(at));
                    heap.push(Reverse((at, order, resource)));
                } else {
                    let expected = heap.pop().map(|Reverse((at, _, resource))| (SimTime(at), resource));
                    assert_eq!(calendar.pop(), expected);
                }
            }
        }
    }
}
