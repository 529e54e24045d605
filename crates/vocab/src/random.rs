//! Named random streams (decision D10).
//!
//! Every component draws from a stream of its own name, so adding a component changes no other
//! component's numbers. The generator is xoshiro256++, seeded with SplitMix64 from the seed and
//! an FNV-1a hash of the name: both are fixed here, and results do not move with a library.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The source of all streams of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// All streams of a run with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream called `name`, for example `nand/die3/errors`.
    #[must_use]
    pub fn stream(&self, name: &str) -> Stream {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mixed = hash ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }
}

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, without bias worth measuring (multiply-shift over 64 bits).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A standard normal number (Box-Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_names_or_seeds_differ_and_repeat() {
        let first = |seed, name: &str| Streams::new(seed).stream(name).bits();
        assert_eq!(first(7, "a"), first(7, "a"));
        assert_ne!(first(7, "a"), first(7, "b"));
        assert_ne!(first(7, "a"), first(8, "a"));
    }

    #[test]
    fn below_is_uniform_within_four_standard_errors() {
        let mut stream = Streams::new(1).stream("uniform");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        // Binomial(100 000, 0.1): standard deviation 94.9.
        assert!(counts.iter().all(|&c| (f64::from(c) - 10_000.0).abs() < 4.0 * 94.9), "{counts:?}");
    }
}
