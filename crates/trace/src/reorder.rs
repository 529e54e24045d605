//! Puts requests that come slightly out of order back in order, in bounded memory.

use crate::record::Raw;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

struct Entry {
    raw: Raw,
    /// Place in the file: requests of equal time keep their order.
    sequence: u64,
}

impl Entry {
    fn key(&self) -> (u64, u64) {
        (self.raw.at, self.sequence)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Holds back requests until nothing within the window can come before them.
pub(crate) struct Reorder {
    heap: BinaryHeap<Reverse<Entry>>,
    window: u64,
    capacity: usize,
    newest: u64,
    sequence: u64,
}

impl Reorder {
    /// A window of `window` nanoseconds and at most `capacity` requests, whichever is less.
    pub fn new(window: u64, capacity: usize) -> Self {
        Self { heap: BinaryHeap::new(), window, capacity, newest: 0, sequence: 0 }
    }

    pub fn push(&mut self, raw: Raw) {
        self.newest = self.newest.max(raw.at);
        self.heap.push(Reverse(Entry { raw, sequence: self.sequence }));
        self.sequence += 1;
    }

    /// Requests that are held back.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The earliest request, once it has left the window.
    pub fn pop_due(&mut self) -> Option<Raw> {
        let earliest = self.heap.peek()?.0.raw.at;
        if self.heap.len() > self.capacity || self.newest - earliest > self.window { self.pop() } else { None }
    }

    /// The earliest request.
    pub fn pop(&mut self) -> Option<Raw> {
        self.heap.pop().map(|Reverse(entry)| entry.raw)
    }
}
