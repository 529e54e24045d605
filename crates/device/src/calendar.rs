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
    /// A tournament: node `n` holds the earlier event of nodes `2n` and `2n + 1`; the leaves are
    /// the second half. Keys lie in the nodes, so a match is one comparison of neighbours.
    nodes: Vec<Event>,
    leaves: usize,
    scheduled: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    key: Key,
    resource: u32,
}

impl Calendar {
    /// An empty calendar of `resources` resources.
    #[must_use]
    pub fn new(resources: usize) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        let nodes = (0..2 * leaves).map(|node| Event { key: NEVER, resource: (node % leaves) as u32 }).collect();
        Self { nodes, leaves, scheduled: 0 }
    }

    #[inline]
    fn set(&mut self, resource: usize, key: Key) {
        let nodes = &mut self.nodes[..2 * self.leaves];
        let mut node = self.leaves + resource;
        let mut winner = Event { key, resource: resource as u32 };
        nodes[node] = winner;
        while node > 1 {
            let rival = nodes[node ^ 1];
            let loses = rival.key < winner.key;
            winner.key = if loses { rival.key } else { winner.key };
            winner.resource = if loses { rival.resource } else { winner.resource };
            node /= 2;
            nodes[node] = winner;
        }
    }

    /// The resource's next event happens at `at`, in place of any before.
    #[inline]
    pub fn schedule(&mut self, resource: usize, at: SimTime) {
        self.scheduled += 1;
        self.set(resource, Key::from(at.0) << 64 | Key::from(self.scheduled));
    }

    /// The earliest event. It stays until its resource is scheduled anew or cleared: a resource
    /// that goes on at once costs one path through the tree, not two.
    #[inline]
    pub fn next(&self) -> Option<(SimTime, usize)> {
        let first = self.nodes[1];
        (first.key != NEVER).then(|| (SimTime(time_of(first.key)), first.resource as usize))
    }

    /// When the resource's next event happens.
    #[must_use]
    pub fn at(&self, resource: usize) -> Option<SimTime> {
        let key = self.nodes[self.leaves + resource].key;
        (key != NEVER).then(|| SimTime(time_of(key)))
    }

    /// The resource has no event any more.
    #[inline]
    pub fn clear(&mut self, resource: usize) {
        if self.is_pending(resource) {
            self.set(resource, NEVER);
        }
    }

    /// Whether the resource has an event pending.
    #[inline]
    #[must_use]
    pub fn is_pending(&self, resource: usize) -> bool {
        self.nodes[self.leaves + resource].key != NEVER
    }

    /// Whether any other resource has an event pending.
    #[must_use]
    pub fn has_any_but(&self, but: [usize; 2]) -> bool {
        (0..self.leaves).any(|resource| !but.contains(&resource) && self.is_pending(resource))
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
                    assert_eq!(calendar.next(), expected);
                    expected.into_iter().for_each(|(_, resource)| calendar.clear(resource));
                }
            }
        }
    }
}
