//! Words in which a part of a small set is wrong: what is lost by these sets, however rarely they occur.
//!
//! All parts of `bits` bits of all small sets of a code are taken together. In a word a part is planted, sure of itself where reads
//! are soft, and all other bits are drawn on their own. A loss counts as one over the number of parts that are wholly wrong in
//! the word, so that the mean, times the number of parts and the probability that one is wrong, is the share of words that
//! have a wrong part and are lost.

use super::{Counts, Frame, Random, interval};
use flashkeep_coding::ldpc::{Channel, Code, Limits, Stage};
use std::collections::BTreeSet;

/// Parts that are planted, and where.
pub(super) struct Parts {
    z: usize,
    /// One of the Z that are turns of one another, bits ascending.
    parts: Vec<Vec<usize>>,
}

/// Known words of one rate.
pub(super) struct Planted {
    pub(super) parts: usize,
    /// Probability that a part is wrong, and sure of itself.
    pub(super) odds: f64,
    pub(super) counts: Counts,
    /// Sum over the lost words of one over the parts in it.
    pub(super) weight: f64,
}

impl Parts {
    /// All parts of this many bits of the small sets of a code.
    pub(super) fn of(code: &Code, bits: usize, odd: usize) -> Self {
        let z = code.data_bytes() / 16;
        let mut parts = BTreeSet::new();
        for set in code.small_sets(odd) {
            for chosen in 0_u32..1 << set.len() {
                if chosen.count_ones() as usize == bits {
                    let part: Vec<usize> = (0..set.len()).filter(|at| chosen >> at & 1 == 1).map(|at| set[at]).collect();
                    parts.insert(least_turn(&part, z));
                }
            }
        }
        Parts { z, parts: parts.into_iter().collect() }
    }

    /// How many parts are wholly among these bits.
    fn within(&self, wrong: &[bool]) -> usize {
        let turned = |bit: usize, by: usize| bit / self.z * self.z + (bit % self.z + by) % self.z;
        let mut within = 0;
        for by in 0..self.z {
            // Parts are in order, so those with the same first bit are neighbours.
            for first in (0..wrong.len()).filter(|first| wrong[turned(*first, by)]) {
                let from = self.parts.partition_point(|part| part[0] < first);
                let same = self.parts[from..].iter().take_while(|part| part[0] == first);
                within += same.filter(|part| part.iter().all(|bit| wrong[turned(*bit, by)])).count();
            }
        }
        within
    }

    pub(super) fn measure(&self, code: &Code, stage: Stage, rber: f64, words: u64, seed: &[u64]) -> Planted {
        let channel = Channel::new(stage, rber);
        let sure = channel.odds.last().map_or(0.0, |odds| odds[0]);
        let (mut random, mut frame, mut counts, mut weight) = (Random::new(seed), Frame::new(code), Counts::default(), 0.0);
        let of_part = self.parts.first().map_or(0, Vec::len);
        let limits = Limits { flipping: false, ..Limits::default() };
        while counts.frames < words && !self.parts.is_empty() {
            let (part, by) = (&self.parts[random.below(self.parts.len())], random.below(self.z));
            let part: Vec<usize> = part.iter().map(|bit| bit / self.z * self.z + (bit % self.z + by) % self.z).collect();
            frame.draw_around(code, &channel, &part, &mut random);
            let wrong = frame.sure_and_wrong(channel.stage);
            let before = counts.failures;
            frame.decode(code, &channel, &limits, &mut counts);
            if counts.failures > before {
                weight += 1.0 / self.within(&wrong) as f64;
            }
        }
        Planted { parts: self.parts.len() * self.z, odds: sure.powi(of_part as i32), counts, weight }
    }
}

impl Planted {
    /// The share of words that have a wrong part and are lost, and its interval of 95 %, that of the number of losses.
    pub(super) fn share(&self) -> [f64; 3] {
        let each = self.parts as f64 * self.odds;
        let (low, high) = interval(self.counts.failures, self.counts.frames);
        let mean = if self.counts.failures == 0 { 1.0 } else { self.weight / self.counts.failures as f64 };
        [each * self.weight / self.counts.frames as f64, each * mean * low, each * mean * high]
    }
}

fn least_turn(part: &[usize], z: usize) -> Vec<usize> {
    let turned = |by: usize| {
        let mut bits: Vec<usize> = part.iter().map(|bit| bit / z * z + (bit % z + z - by) % z).collect();
        bits.sort_unstable();
        bits
    };
    part.iter().map(|bit| turned(bit % z)).min().unwrap_or_default()
}
