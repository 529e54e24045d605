//! A set of slots of several devices, for workloads that touch millions of slots in any order.
//!
//! Short requests set bits in small tables that exist only where a slot is set. Long ones are kept as runs.
//! So memory grows with what a workload touches, and neither scattered pages nor huge requests can make it
//! grow faster: a slot that lies alone takes 60 bytes, and so does a request of any length.

use rustc_hash::FxHashMap;

const WORDS: usize = 4;
/// Slots of one table.
const TABLE: u64 = 64 * WORDS as u64;
/// Slots from which on a request is kept as a run.
const LONG: u64 = 8 * TABLE;
/// Tables from which on all bits are made runs: half a gibibyte.
const TABLES_LIMIT: usize = 1 << 23;

/// Neighbouring slots of a device: first, and behind the last.
pub(crate) type SlotRun = (u32, u64, u64);

/// Slots that are in the set. Tables are looked up by hash and never iterated in its order.
#[derive(Default)]
pub(crate) struct SlotSet {
    /// Device and number of the table within it, to its place in `tables`.
    places: FxHashMap<(u32, u64), u32>,
    tables: Vec<[u64; WORDS]>,
    /// Maximal runs of set bits.
    bit_runs: usize,
    /// Runs in order that do not touch each other, and runs that are still to be merged with them.
    runs: Vec<SlotRun>,
    fresh: Vec<SlotRun>,
}

/// Bits of a word whose neighbour below is not set; `below` is the highest bit of the word before.
fn starts(word: u64, below: bool) -> u32 {
    (word & !(word << 1 | u64::from(below))).count_ones()
}

/// Sorts runs and merges those that touch.
fn merged(mut runs: Vec<SlotRun>) -> Vec<SlotRun> {
    runs.sort_unstable();
    let mut merged: Vec<SlotRun> = Vec::with_capacity(runs.len());
    for (device, start, end) in runs {
        match merged.last_mut() {
            Some((same, _, last)) if *same == device && *last >= start => *last = end.max(*last),
            _ => merged.push((device, start, end)),
        }
    }
    merged
}

impl SlotSet {
    /// Adds the slots `start..end` of a device; says whether the set may have grown. It has not where the answer is no.
    pub fn insert(&mut self, device: u32, start: u64, end: u64) -> bool {
        let after = self.runs.partition_point(|&(other, first, _)| (other, first) <= (device, start));
        let is_in = |&(other, _, last): &SlotRun| other == device && end <= last;
        if after.checked_sub(1).is_some_and(|before| is_in(&self.runs[before])) {
            return false;
        }
        if end - start >= LONG {
            self.fresh.push((device, start, end));
            if self.fresh.len() > 1024 + self.runs.len() / 2 {
                let fresh = std::mem::take(&mut self.fresh);
                self.runs = merged([std::mem::take(&mut self.runs), fresh].concat());
            }
            return true;
        }
        let mut slot = start;
        let mut has_grown = false;
        while slot < end {
            let stop = end.min((slot / 64 + 1) * 64);
            has_grown |= self.insert_in_word(device, slot, stop);
            slot = stop;
        }
        if self.tables.len() > TABLES_LIMIT {
            self.merge();
        }
        has_grown
    }

    /// Maximal runs at most: bits and long requests may overlap.
    pub fn runs_at_most(&self) -> usize {
        self.bit_runs + self.runs.len() + self.fresh.len()
    }

    /// Maximal runs, counted by merging all.
    pub fn count_runs(&mut self) -> usize {
        self.merge();
        self.runs.len()
    }

    /// The maximal runs, in order.
    pub fn into_runs(mut self) -> Vec<SlotRun> {
        self.merge();
        self.runs
    }

    fn bit(&self, device: u32, slot: u64) -> bool {
        let place = self.places.get(&(device, slot / TABLE));
        place.is_some_and(|&place| self.tables[place as usize][(slot % TABLE / 64) as usize] >> (slot % 64) & 1 == 1)
    }

    fn table(&mut self, device: u32, number: u64) -> usize {
        if let Some(&place) = self.places.get(&(device, number)) {
            return place as usize;
        }
        let place = self.tables.len();
        self.places.insert((device, number), place as u32);
        self.tables.push([0; WORDS]);
        place
    }

    /// Adds slots of one word; says whether one was new.
    fn insert_in_word(&mut self, device: u32, from: u64, to: u64) -> bool {
        let (low, length) = (from % 64, to - from);
        let bits = u64::MAX >> (64 - length) << low;
        let (place, word) = (self.table(device, from / TABLE), (from % TABLE / 64) as usize);
        let before = self.tables[place][word];
        let after = before | bits;
        if after == before {
            return false;
        }
        self.tables[place][word] = after;
        let at = from - low;
        let below = at > 0 && if word > 0 { self.tables[place][word - 1] >> 63 == 1 } else { self.bit(device, at - 1) };
        if before & bits == 0 {
            // A run of its own, or one with its neighbours. Most bits come like this, and counting takes longer.
            let joins_below = (before << 1 | u64::from(below)) >> low & 1;
            let joins_above = (before >> 1) >> (low + length - 1) & 1;
            self.bit_runs = self.bit_runs + 1 - (joins_below + joins_above) as usize;
        } else {
            self.bit_runs += starts(after, below) as usize;
            self.bit_runs -= starts(before, below) as usize;
        }
        if (before ^ after) >> 63 == 1 {
            let above = if word + 1 < WORDS { self.tables[place][word + 1] & 1 == 1 } else { self.bit(device, at + 64) };
            self.bit_runs -= usize::from(above);
        }
        true
    }

    /// Makes runs of all bits, and merges all runs.
    fn merge(&mut self) {
        let mut runs = std::mem::take(&mut self.runs);
        runs.append(&mut self.fresh);
        runs.reserve(self.bit_runs);
        #[expect(clippy::iter_over_hash_type, reason = "runs are sorted when they are merged")]
        for ((device, number), place) in std::mem::take(&mut self.places) {
            for (index, &word) in self.tables[place as usize].iter().enumerate() {
                let (first, mut left) = (number * TABLE + index as u64 * 64, word);
                while left != 0 {
                    let low = u64::from(left.trailing_zeros());
                    let length = u64::from((!(left >> low)).trailing_zeros());
                    runs.push((device, first + low, first + low + length));
                    left = if low + length == 64 { 0 } else { left & u64::MAX << (low + length) };
                }
            }
        }
        self.tables.clear();
        self.bit_runs = 0;
        self.runs = merged(runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use vocab::Streams;

    /// Runs of a plain set of slots.
    fn naive(slots: &BTreeSet<(u32, u64)>) -> Vec<(u32, u64, u64)> {
        let mut runs: Vec<(u32, u64, u64)> = Vec::new();
        for &(device, slot) in slots {
            match runs.last_mut() {
                Some((same, _, end)) if *same == device && *end == slot => *end = slot + 1,
                _ => runs.push((device, slot, slot + 1)),
            }
        }
        runs
    }

    #[test]
    fn runs_are_those_of_a_plain_set() {
        for seed in 0..20 {
            let mut draws = Streams::new(seed).stream("slot-set");
            let (mut set, mut plain) = (SlotSet::default(), BTreeSet::new());
            for _ in 0..300 {
                let device = draws.below(2) as u32;
                let length = match draws.below(20) {
                    0 => LONG + draws.below(500),
                    1 => 1 + draws.below(700),
                    _ => 1 + draws.below(5),
                };
                let start = draws.below(60_000);
                let has_grown = set.insert(device, start, start + length);
                let before = plain.len();
                plain.extend((start..start + length).map(|slot| (device, slot)));
                assert!(has_grown || plain.len() == before, "seed {seed}: new slots were not told");
                assert!(set.runs_at_most() >= naive(&plain).len(), "seed {seed}");
                if draws.chance(0.02) {
                    assert_eq!(set.count_runs(), naive(&plain).len(), "seed {seed}");
                }
            }
            assert_eq!(set.into_runs(), naive(&plain), "seed {seed}");
        }
    }

    #[test]
    fn runs_of_bits_are_counted_at_every_step() {
        for seed in 0..20 {
            let mut draws = Streams::new(seed).stream("slot-set/bits");
            let (mut set, mut plain) = (SlotSet::default(), BTreeSet::new());
            for _ in 0..300 {
                let (start, long) = (draws.below(3_000), draws.chance(0.1));
                let length = 1 + draws.below(if long { 700 } else { 5 });
                set.insert(0, start, start + length);
                plain.extend((start..start + length).map(|slot| (0, slot)));
                assert_eq!(set.runs_at_most(), naive(&plain).len(), "seed {seed}");
            }
        }
    }
}
