//! Expected contents of a client's reads: of each sector a checksum of what was sent and answered last. It is to real data
//! what the [oracle](crate::host::oracle) is to data that say whose they are, and it knows as little of map and flash.
//!
//! Writes of one page take effect in the order in which they were sent, so a page goes through a row of *states*, one for each
//! write or discard of it. A read may find the state of the last write that was answered before it was sent, or any later one,
//! and always a whole one. A state takes four bytes a sector; all but the oldest that may still be found are
//! kept only while something is under way.

use crate::config::Setup;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use vocab::{Lpn, Table};

/// Bytes of a sector.
const SECTOR: usize = vocab::SECTOR_BYTES as usize;

/// Lanes of a checksum; a sector has a whole number of rounds of them.
const LANES: usize = 8;

/// Not answered yet.
const NEVER: u64 = u64::MAX;

/// States of one page that are kept apart at most; beyond, the oldest are taken together.
const STATES_MAX: usize = 64;

/// Checksums of the sectors of a page.
type Sums = Box<[u32]>;

/// The checksum of a sector. It never leaves the process, so it is one that is quick: a CRC of so few bytes waits for each of its
/// steps, and here eight lanes go on side by side. A step multiplies, and adds the upper half of the product to the lower one, so that
/// each bit of a word meets all others.
fn sum(sector: &[u8]) -> u32 {
    /// The golden ratio of 2^64, odd.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |lane: u64, word: u64| {
        let product = u128::from(lane ^ word) * u128::from(FACTOR);
        product as u64 ^ (product >> 64) as u64
    };
    let mut lanes: [u64; LANES] = std::array::from_fn(|lane| FACTOR.wrapping_mul(2 * lane as u64 + 1));
    for words in sector.chunks_exact(8 * LANES) {
        for (lane, word) in lanes.iter_mut().zip(words.chunks_exact(8)) {
            *lane = step(*lane, u64::from_le_bytes(word.try_into().expect("a word has eight bytes")));
        }
    }
    let all = lanes.into_iter().fold(FACTOR, step);
    (all ^ (all >> 32)) as u32
}

/// Word of a sector: its checksum, or one of two words that no checksum is.
#[derive(Clone, Copy, Debug)]
struct Words {
    /// The sum of a sector of zeros.
    sum_of_zeros: u32,
    /// Exactly for what is taken for zeros.
    zeros: u32,
    /// No one knows what the sector holds: it was written by another process, or a write of it failed.
    unknown: u32,
}

impl Words {
    /// Words of a new drive are 0, so that a table of it takes no memory yet.
    fn new(first: FirstContents) -> Self {
        let (zeros, unknown) = match first {
            FirstContents::Zeros => (0, 1),
            FirstContents::Unknown => (1, 0),
        };
        Self { sum_of_zeros: sum(&[0; SECTOR]), zeros, unknown }
    }

    fn of(self, sector: &[u8]) -> u32 {
        match sum(sector) ^ self.sum_of_zeros {
            0 => self.zeros,
            1 => 2,
            other => other,
        }
    }
}

/// A page after one write, or discard, of it.
#[derive(Clone, Debug)]
struct State {
    request: u64,
    sums: Sums,
    /// Requests that had arrived when it was answered.
    answered: u64,
    durable: bool,
    is_discard: bool,
}

/// Contents of a drive before its client writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstContents {
    /// Nothing: all of it reads as zeros.
    Zeros,
    /// Contents of another writer.
    Unknown,
}

impl FirstContents {
    /// Of a drive that was just made.
    pub fn of_new_drive(setup: &Setup) -> Self {
        if setup.precondition.fill == 0.0 { Self::Zeros } else { Self::Unknown }
    }
}

/// The shadow of a drive's logical space.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    per_page: usize,
    words: Words,
    /// Whether answers come before data are durable.
    volatile: bool,
    /// The oldest state of each page that may still be found.
    settled: Table<u32>,
    /// Later states.
    states: BTreeMap<u32, Vec<State>>,
    /// Pages with answered states that are not durable.
    undurable: BTreeSet<u32>,
    /// Pages that no durable write has filled since a discard of them: a power cut may bring anything back.
    trimmed: BTreeSet<u32>,
    /// Pages of which a write failed: what they hold may change with a power cut.
    failed: BTreeSet<u32>,
    /// After a power cut, what a page may have; it has one of these.
    adrift: BTreeMap<u32, Vec<Sums>>,
}

impl Shadow {
    /// Of a drive that no one has written to since this process has it.
    pub fn new(pages: u32, sectors_per_page: u32, volatile: bool, first: FirstContents) -> Self {
        let sectors = pages as usize * sectors_per_page as usize;
        Self {
            per_page: sectors_per_page as usize,
            words: Words::new(first),
            volatile,
            settled: Table::zeroed(sectors),
            states: BTreeMap::new(),
            undurable: BTreeSet::new(),
            trimmed: BTreeSet::new(),
            failed: BTreeSet::new(),
            adrift: BTreeMap::new(),
        }
    }

    fn range(&self, lpn: Lpn) -> Range<usize> {
        let first = lpn.index() * self.per_page;
        first..first + self.per_page
    }

    /// Checksums of a page's bytes; `None`: it is unmapped, which reads as zeros.
    pub fn sums(&self, bytes: Option<&[u8]>) -> Sums {
        match bytes {
            None => vec![self.words.zeros; self.per_page].into(),
            Some(bytes) => bytes.chunks_exact(SECTOR).map(|sector| self.words.of(sector)).collect(),
        }
    }

    fn newest(&self, lpn: Lpn) -> Sums {
        let state = self.states.get(&lpn.0).and_then(|states| states.last());
        state.map_or_else(|| self.settled[self.range(lpn)].into(), |state| state.sums.clone())
    }

    /// A write of these sectors of the page is sent; their bytes.
    pub fn write_sent(&mut self, request: u64, lpn: Lpn, sectors: Range<u32>, bytes: &[u8]) {
        let mut sums = self.sums(Some(bytes));
        if sums.len() < self.per_page {
            // The other sectors stay.
            let mut all = self.newest(lpn);
            all[sectors.start as usize..sectors.end as usize].copy_from_slice(&sums);
            sums = all;
        }
        self.push(lpn, State { request, sums, answered: NEVER, durable: false, is_discard: false });
    }

    /// A discard of the page is sent.
    pub fn discard_sent(&mut self, request: u64, lpn: Lpn) {
        self.trimmed.insert(lpn.0);
        let sums = vec![self.words.zeros; self.per_page].into();
        self.push(lpn, State { request, sums, answered: NEVER, durable: false, is_discard: true });
    }

    fn push(&mut self, lpn: Lpn, state: State) {
        let range = self.range(lpn);
        let states = self.states.entry(lpn.0).or_default();
        states.push(state);
        if states.len() > STATES_MAX {
            // Taken together: a sector that they do not agree on may have anything.
            for state in states.drain(..STATES_MAX / 2) {
                let both = self.settled[range.clone()].iter_mut().zip(&state.sums);
                both.for_each(|(sum, other)| *sum = if sum == other { *sum } else { self.words.unknown });
            }
        }
    }

    /// A write or discard of the page was answered, when this many requests had arrived; none before `oldest` is under way.
    pub fn answered(&mut self, request: u64, lpn: Lpn, arrived: u64, forced: bool, oldest: u64) {
        let Some(states) = self.states.get_mut(&lpn.0) else { return };
        if let Some(state) = states.iter_mut().find(|state| state.request == request) {
            state.answered = arrived;
            // No record says that a page was discarded, so a discard makes nothing durable, and ends what was.
            state.durable |= forced || !self.volatile || state.is_discard;
        }
        let is_whole = states.iter().all(|state| state.durable || state.answered == NEVER);
        if !is_whole {
            self.undurable.insert(lpn.0);
        }
        self.settle(lpn, oldest);
    }

    /// A write of these sectors of the page failed: it may have been carried out.
    pub fn write_failed(&mut self, request: u64, lpn: Lpn, arrived: u64, sectors: Range<u32>) {
        self.failed.insert(lpn.0);
        let Some(states) = self.states.get_mut(&lpn.0) else { return };
        let Some(at) = states.iter().position(|state| state.request == request) else { return };
        (states[at].answered, states[at].durable) = (arrived, true);
        let failed = states[at].sums.clone();
        for sector in sectors.start as usize..sectors.end as usize {
            let later = states[at..].iter_mut().filter(|state| state.sums[sector] == failed[sector]);
            later.for_each(|state| state.sums[sector] = self.words.unknown);
        }
    }

    /// A flush was answered that had arrived as this request: what was answered before is durable.
    /// Pages with states that older requests may still find.
    pub fn flushed(&mut self, flush: u64, oldest: u64) -> Vec<Lpn> {
        let mut unsettled = Vec::new();
        for lpn in std::mem::take(&mut self.undurable) {
            let Some(states) = self.states.get_mut(&lpn) else { continue };
            let before = states.iter_mut().filter(|state| state.answered <= flush);
            before.for_each(|state| state.durable = true);
            if states.iter().any(|state| !state.durable) {
                self.undurable.insert(lpn);
            }
            self.settle(Lpn(lpn), oldest);
            if self.states.contains_key(&lpn) {
                unsettled.push(Lpn(lpn));
            }
        }
        unsettled
    }

    /// Forgets the states that no read can find any more and no power cut brings back. No request before `oldest` is under way.
    pub fn settle(&mut self, lpn: Lpn, oldest: u64) {
        let range = self.range(lpn);
        let Some(states) = self.states.get_mut(&lpn.0) else { return };
        let durable = states.iter().rposition(|state| state.durable);
        if let Some(durable) = durable {
            let is_discarded = states[durable..].iter().any(|state| state.is_discard);
            if !is_discarded {
                self.trimmed.remove(&lpn.0);
            }
        }
        let is_over = |state: &State| state.answered <= oldest;
        let Some(last) = durable.and_then(|durable| states[..=durable].iter().rposition(is_over)) else { return };
        self.settled[range].copy_from_slice(&states[last].sums);
        states.drain(..=last);
        if states.is_empty() {
            self.states.remove(&lpn.0);
        }
    }

    /// Holds what a read that was sent as `request` found against what it may find.
    ///
    /// # Errors
    /// Says what was found instead of what.
    pub fn check(&mut self, request: u64, lpn: Lpn, found: &[u32]) -> Result<(), String> {
        let unknown = self.words.unknown;
        let may_be = |sums: &[u32]| sums.iter().zip(found).all(|(sum, found)| sum == found || *sum == unknown);
        let range = self.range(lpn);
        if let Some(possible) = self.adrift.get(&lpn.0) {
            if !possible.iter().any(|sums| may_be(sums)) {
                return Err(format!("{lpn} holds bytes that none of its last {} writes left there", possible.len()));
            }
            if !self.states.contains_key(&lpn.0) {
                self.settled[range].copy_from_slice(found);
                self.adrift.remove(&lpn.0);
            }
            return Ok(());
        }
        let settled = &mut self.settled[range];
        let Some(states) = self.states.get(&lpn.0) else {
            if !may_be(settled) {
                return Err(differs(lpn, settled, found, unknown));
            }
            if !self.failed.contains(&lpn.0) {
                settled.copy_from_slice(found);
            }
            return Ok(());
        };
        let floor = states.iter().rposition(|state| state.answered <= request);
        let later = &states[floor.unwrap_or(0)..];
        if floor.is_none() && may_be(settled) || later.iter().any(|state| may_be(&state.sums)) {
            return Ok(());
        }
        Err(differs(lpn, floor.map_or(settled, |floor| &states[floor].sums), found, unknown))
    }

    /// The power went. Each page has one of the states since the last that was durable: those that may have several, in order.
    pub fn power_cut(&mut self) -> Vec<Lpn> {
        self.failed.clear();
        for (lpn, possible) in std::mem::take(&mut self.adrift) {
            // No one has read it since the cut before.
            let range = self.range(Lpn(lpn));
            self.settled[range].fill(self.words.unknown);
            drop(possible);
        }
        for (lpn, states) in std::mem::take(&mut self.states) {
            let range = self.range(Lpn(lpn));
            let durable = states.iter().rposition(|state| state.durable);
            let mut possible: Vec<Sums> = states[durable.unwrap_or(0)..].iter().map(|state| state.sums.clone()).collect();
            if durable.is_none() {
                possible.insert(0, self.settled[range.clone()].into());
            }
            if let [only] = &possible[..] {
                self.settled[range].copy_from_slice(only);
            } else {
                self.adrift.insert(lpn, possible);
            }
        }
        for lpn in std::mem::take(&mut self.trimmed) {
            let range = self.range(Lpn(lpn));
            self.settled[range].fill(self.words.unknown);
            self.adrift.remove(&lpn);
        }
        self.undurable.clear();
        self.adrift.keys().copied().map(Lpn).collect()
    }

    /// Pages that could not be read since the power cut may have anything.
    pub fn give_up_adrift(&mut self) {
        for (lpn, _) in std::mem::take(&mut self.adrift) {
            let range = self.range(Lpn(lpn));
            self.settled[range].fill(self.words.unknown);
        }
    }
}

fn differs(lpn: Lpn, wanted: &[u32], found: &[u32], unknown: u32) -> String {
    let differs = |(wanted, found): (&u32, &u32)| *wanted != *found && *wanted != unknown;
    let sector = wanted.iter().zip(found).position(differs).unwrap_or(0);
    format!(
        "sector {sector} of {lpn} holds bytes that no write left there: checksum {:08x}, wanted {:08x}",
        found[sector], wanted[sector]
    )
}

#[cfg(test)]
mod tests {
    use super::{SECTOR, sum};
    use std::collections::HashSet;
    use vocab::Streams;

    /// Among 20 000 sectors that differ in a bit, a word or a number two have one sum with a chance of 1 to 20.
    #[test]
    fn sectors_that_differ_have_different_sums() {
        let mut stream = Streams::new(1).stream("sectors");
        let drawn: Vec<u8> = (0..SECTOR).map(|_| stream.below(256) as u8).collect();
        let mut sums = HashSet::new();
        let mut count = 0;
        let mut take = |sector: &[u8]| {
            sums.insert(sum(sector));
            count += 1;
        };
        for sector in [&[0; SECTOR][..], &drawn] {
            take(sector);
            for bit in 0..8 * SECTOR {
                let mut changed = sector.to_vec();
                changed[bit / 8] ^= 1 << (bit % 8);
                take(&changed);
            }
        }
        // Words of the same sector in other places.
        for word in 1..SECTOR / 8 {
            let mut moved = drawn.clone();
            moved.rotate_left(8 * word);
            take(&moved);
        }
        for number in 1..=10_000u64 {
            let mut counted = [7; SECTOR];
            counted[8..16].copy_from_slice(&number.to_le_bytes());
            take(&counted);
        }
        assert_eq!(sums.len(), count);
    }
}
