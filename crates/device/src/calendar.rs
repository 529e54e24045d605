//! The event queue (decision D8): at most one pending event for each resource.
//!
//! Resources are few (dies and a handful of others) and each has at most one event, so the
//! queue is a winner tree over resources: scheduling an event replays one path of
//! `log2(resources)` comparisons, and nothing is ever inserted, removed or moved.

use vocab::SimTime;

/// An event: its time in the upper half, then its order of scheduling, then its resource. Equal times keep the
/// order of scheduling; one wide comparison decides without a branch.
type Event = u128;

const NEVER: Event = Event::MAX;
const TIME: u32 = 64;
/// Bits of the resource. What is left for the order is enough for 2^48 events.
const RESOURCE: u32 = 16;

fn time_of(event: Event) -> SimTime {
    SimTime((event >> TIME) as u64)
}

/// Pending events, one for each resource at most.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// A tournament: node `n` holds the earlier event of nodes `2n` and `2n + 1`; the leaves are
    /// the second half. Events lie in the nodes, so a match is one comparison of neighbours.
    nodes: Vec<Event>,
    leaves: usize,
    scheduled: u64,
}

impl Calendar {
    /// An empty calendar of `resources` resources.
    ///
    /// # Panics
    /// If there are more than 65,536 resources.
    #[must_use]
    pub fn new(resources: usize) -> Self {
        assert!(resources <= 1 << RESOURCE, "{resources} resources, a calendar has 65,536 at most");
        let leaves = resources.next_power_of_two().max(2);
        Self { nodes: vec![NEVER; 2 * leaves], leaves, scheduled: 0 }
    }

    #[inline]
    fn set(&mut self, resource: usize, event: Event) {
        let nodes = &mut self.nodes[..];
        // Nodes are a power of two, so a masked number is one of theirs: no check within the loop.
        let mask = nodes.len() - 1;
        let mut node = (self.leaves + resource) & mask;
        let mut winner = event;
        nodes[node] = winner;
        while node > 1 {
            winner = winner.min(nodes[(node ^ 1) & mask]);
            node = (node / 2) & mask;
            nodes[node] = winner;
        }
    }

    /// The resource's next event happens at `at`, in place of any before.
    #[inline]
    pub fn schedule(&mut self, resource: usize, at: SimTime) {
        self.scheduled += 1;
        let order = Event::from(self.scheduled) << RESOURCE;
        self.set(resource, Event::from(at.0) << TIME | order | resource as Event);
    }

    /// The earliest event. It stays until its resource is scheduled again or cleared: a resource
    /// that goes on at once costs one path through the tree, not two.
    #[inline]
    pub fn next(&self) -> Option<(SimTime, usize)> {
        let first = self.nodes[1];
        (first != NEVER).then(|| (time_of(first), (first & ((1 << RESOURCE) - 1)) as usize))
    }

    /// When the resource's next event happens.
    #[must_use]
    pub fn at(&self, resource: usize) -> Option<SimTime> {
        let event = self.nodes[self.leaves + resource];
        (event != NEVER).then(|| time_of(event))
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
        self.nodes[self.leaves + resource] != NEVER
    }

    /// Whether any other resource has an event pending.
    #[must_use]
    pub fn has_any_but<const N: usize>(&self, but: [usize; N]) -> bool {
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
