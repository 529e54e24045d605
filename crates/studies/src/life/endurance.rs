//! When each block of a drive wears out: a threshold that it is born with.
//!
//! Block b draws E ~ Exp(1) and is worn out once its cumulative hazard (pe / eta)^beta reaches E: a Weibull distribution of its P/E cycles.
//! The draw depends on the seed and the block's number alone, so the same block fails at the same cycle under every scheme, and a failure
//! does not depend on the steps in which cycles are taken.

use std::ops::Range;
use vocab::{BlockAddr, Streams};

/// How blocks wear out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endurance {
    /// P/E cycles that the drive is rated for.
    pub rated: f64,
    /// Share of blocks that are worn out at the rated cycles. Default 0.5 %: vendors promise 2 % at most within the rating (Schroeder et
    /// al., FAST 2016), and most drives have far fewer.
    pub worn_at_rated: f64,
    /// Exponent of the Weibull distribution. Default 4; 3 to 6 in the literature, from memory.
    pub exponent: f64,
}

impl Endurance {
    /// P/E cycles at which a share 1 - 1/e of blocks is worn out.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.rated * (-(-self.worn_at_rated).ln_1p()).powf(-1.0 / self.exponent)
    }

    /// Share of blocks that are worn out after this many cycles.
    #[must_use]
    pub fn worn_after(&self, cycles: f64) -> f64 {
        -(-(cycles / self.scale()).powf(self.exponent)).exp_m1()
    }

    /// The P/E cycles at which each of this many blocks wears out.
    #[must_use]
    pub fn thresholds(&self, seed: u64, blocks: u32) -> Vec<f64> {
        self.thresholds_of(seed, "life/endurance", 0..blocks)
    }

    /// The same of these blocks of a spare die.
    pub(super) fn spare_thresholds(&self, seed: u64, blocks: Range<u32>) -> Vec<f64> {
        self.thresholds_of(seed, "life/spare-endurance", blocks)
    }

    fn thresholds_of(&self, seed: u64, stream: &'static str, blocks: Range<u32>) -> Vec<f64> {
        let (streams, scale) = (Streams::new(seed), self.scale());
        let threshold = |block: u32| {
            let drawn = -streams.stream_of(stream, u64::from(block)).unit().max(f64::MIN_POSITIVE).ln();
            scale * drawn.powf(1.0 / self.exponent)
        };
        blocks.map(threshold).collect()
    }
}

/// Blocks of a drive, and the cycles at which those wear out that are good.
#[derive(Clone, Debug)]
pub(super) struct Wearing {
    thresholds: Vec<f64>,
    is_worn: Vec<bool>,
    /// Blocks that were bad from the factory.
    is_bad: Vec<bool>,
    /// Blocks of dies that are dead.
    is_dead: Vec<bool>,
}

impl Wearing {
    pub fn new(thresholds: Vec<f64>) -> Self {
        let none = vec![false; thresholds.len()];
        Self { is_worn: none.clone(), is_bad: none.clone(), is_dead: none, thresholds }
    }

    /// Blocks that have worn out, those of dead dies among them.
    pub fn worn(&self) -> u32 {
        self.is_worn.iter().filter(|worn| **worn).count() as u32
    }

    /// Blocks that were bad from the factory or have worn out.
    pub fn bad(&self) -> u32 {
        self.is_worn.iter().zip(&self.is_bad).filter(|(worn, bad)| **worn || **bad).count() as u32
    }

    /// These blocks were bad from the factory: they never wear out.
    pub fn are_bad(&mut self, blocks: &[BlockAddr]) {
        blocks.iter().for_each(|block| (self.thresholds[block.index()], self.is_bad[block.index()]) = (f64::INFINITY, true));
    }

    /// The die of these blocks is dead: none of them takes a cycle any more.
    pub fn die_died(&mut self, blocks: Range<u32>) {
        blocks.for_each(|block| self.is_dead[block as usize] = true);
    }

    /// A new die has the place of the one of these blocks. They wear out at these cycles.
    pub fn die_is_new(&mut self, blocks: Range<u32>, thresholds: &[f64]) {
        for (at, &threshold) in blocks.map(|block| block as usize).zip(thresholds) {
            self.thresholds[at] = threshold;
            (self.is_worn[at], self.is_bad[at], self.is_dead[at]) = (false, false, false);
        }
    }

    /// All blocks, bad ones among them.
    pub fn all(&self) -> u32 {
        self.thresholds.len() as u32
    }

    /// Blocks of living dies that neither were bad nor have worn out.
    pub fn good(&self) -> u32 {
        (0..self.thresholds.len()).filter(|&at| !self.is_worn[at] && !self.is_bad[at] && !self.is_dead[at]).count() as u32
    }

    /// The cycles of blocks of living dies, of those of all blocks.
    pub fn living(&self, cycles: &[u32]) -> Vec<u32> {
        cycles.iter().zip(&self.is_dead).filter(|(_, dead)| !**dead).map(|(&cycles, _)| cycles).collect()
    }

    /// The blocks that wear out now, of these cycles.
    pub fn wear_out(&mut self, cycles: &[u32]) -> Vec<BlockAddr> {
        let due: Vec<usize> =
            (0..cycles.len()).filter(|&at| self.may_wear(at) && f64::from(cycles[at]) >= self.thresholds[at]).collect();
        due.iter().for_each(|&at| self.is_worn[at] = true);
        due.into_iter().map(|at| BlockAddr(at as u32)).collect()
    }

    fn may_wear(&self, at: usize) -> bool {
        !self.is_worn[at] && !self.is_dead[at]
    }

    /// Cycles that all blocks may take until this many more have worn out.
    pub fn cycles_until(&self, cycles: &[u32], more: usize) -> u32 {
        let left = |at: usize| (self.thresholds[at] - f64::from(cycles[at])).ceil().max(1.0);
        let mut left: Vec<f64> = (0..cycles.len()).filter(|&at| self.may_wear(at)).map(left).collect();
        left.sort_by(f64::total_cmp);
        left.get(more.saturating_sub(1)).map_or(u32::MAX, |&cycles| cycles.min(1e9) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TLC: Endurance = Endurance { rated: 3000.0, worn_at_rated: 0.005, exponent: 4.0 };

    /// The drawn thresholds are those of the distribution, at three places; the first of eight blocks fails at 8^(-1/4) = 0.59 of the life
    /// of one block. Bounds are four standard deviations of the counts.
    #[test]
    fn thresholds_are_weibull_distributed() {
        let blocks = 200_000;
        let drawn = TLC.thresholds(7, blocks);
        for cycles in [3000.0, 6000.0, 12_000.0] {
            let expected = TLC.worn_after(cycles);
            let found = drawn.iter().filter(|&&at| at <= cycles).count() as f64 / f64::from(blocks);
            let deviation = (expected * (1.0 - expected) / f64::from(blocks)).sqrt();
            assert!((found - expected).abs() < 4.0 * deviation, "{cycles}: {found} and {expected}");
        }
        assert!((TLC.worn_after(3000.0) - 0.005).abs() < 1e-12);
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let values: Vec<f64> = values.collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let weakest = mean(&mut drawn.chunks(8).map(|eight| eight.iter().copied().fold(f64::INFINITY, f64::min)));
        let ratio = weakest / mean(&mut drawn.iter().copied());
        assert!((ratio / 8f64.powf(-0.25) - 1.0).abs() < 0.01, "{ratio}");
    }

    /// Fails if a threshold depends on the other blocks, or on the steps in which cycles are taken.
    #[test]
    fn a_block_fails_at_its_cycle_whatever_the_steps() {
        assert_eq!(TLC.thresholds(3, 40)[..20], TLC.thresholds(3, 20));
        let worn_by = |step: u32| {
            let mut wearing = Wearing::new(TLC.thresholds(3, 500));
            let mut all = Vec::new();
            for cycles in (0..=9000).step_by(step as usize) {
                all.extend(wearing.wear_out(&[cycles; 500]));
            }
            all.sort();
            all
        };
        assert_eq!(worn_by(1), worn_by(900));
        let wearing = Wearing::new(TLC.thresholds(3, 500));
        let until = wearing.cycles_until(&[0; 500], 3);
        assert_eq!(wearing.clone().wear_out(&[until; 500]).len(), 3);
        assert_eq!(wearing.clone().wear_out(&[until - 1; 500]).len(), 2);
    }
}
