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
        let mixed = crate::fnv(name.as_bytes()) ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// The stream of one of many things called `name`: a property that it was made with, and
    /// that no one has to store.
    #[must_use]
    pub fn stream_of(&self, name: &str, number: u64) -> Stream {
        let own = self.stream(name).bits() ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93);
        Stream(Xoshiro256PlusPlus::seed_from_u64(own))
    }
}

/// Expected successes up to which a binomial number is drawn in one piece: e^-32 is far from
/// underflow, and the walk stays short.
const MOST_EXPECTED: f64 = 32.0;

/// e^-700 and e^700 are numbers yet.
const MOST_EXPONENT: f64 = 700.0;

/// The least number of successes in `n` trials of this probability that at most as many have in more than `unit` of all cases. The
/// probability of no success at all is e^-1400 or more.
fn binomial_quantile(n: u32, probability: f64, unit: f64) -> u32 {
    let ln_none = f64::from(n) * (-probability).ln_1p();
    // All terms, and their sum, are so many times larger.
    let scale = (-MOST_EXPONENT - ln_none).max(0.0);
    let (mut term, unit) = ((ln_none + scale).exp(), unit * scale.exp());
    let (mut sum, mut k) = (term, 0);
    let odds = probability / (1.0 - probability);
    while sum <= unit && k < n && (term > 0.0 || k == 0) {
        term *= f64::from(n - k) / f64::from(k + 1) * odds;
        sum += term;
        k += 1;
    }
    k
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

    /// How many of `n` independent trials succeed with the given probability: by inversion, in
    /// pieces where many are expected. One number of the stream for each piece.
    pub fn binomial(&mut self, n: u32, probability: f64) -> u32 {
        debug_assert!((0.0..=1.0).contains(&probability));
        if probability > 0.5 {
            return n - self.binomial(n, 1.0 - probability);
        }
        let pieces = (f64::from(n) * probability / MOST_EXPECTED).ceil().max(1.0) as u32;
        (0..pieces).map(|i| self.binomial_piece(n / pieces + u32::from(i < n % pieces), probability)).sum()
    }

    fn binomial_piece(&mut self, n: u32, probability: f64) -> u32 {
        binomial_quantile(n, probability, self.unit())
    }

    /// As [`Self::binomial`], in one piece, for probabilities up to 0.5: of streams at the same point the one with the greater
    /// probability never has fewer successes, while none at all has a probability of e^-1400 or more (up to a mean of some 1,300 where few
    /// of many succeed). Beyond that the numbers follow the distribution alone.
    pub fn binomial_in_order(&mut self, n: u32, probability: f64) -> u32 {
        debug_assert!((0.0..=0.5).contains(&probability));
        if f64::from(n) * (-probability).ln_1p() < -2.0 * MOST_EXPONENT {
            self.binomial(n, probability)
        } else {
            self.binomial_piece(n, probability)
        }
    }

    /// `count` different numbers below `bound`, in ascending order (Floyd's algorithm).
    ///
    /// # Panics
    /// If there are fewer.
    pub fn distinct(&mut self, count: u32, bound: u32) -> Vec<u32> {
        assert!(count <= bound, "{count} different numbers below {bound}");
        let mut chosen: Vec<u32> = Vec::with_capacity(count as usize);
        for last in bound - count..bound {
            let drawn = self.below(u64::from(last) + 1) as u32;
            let value = if chosen.binary_search(&drawn).is_ok() { last } else { drawn };
            let at = chosen.partition_point(|&other| other < value);
            chosen.insert(at, value);
        }
        chosen
    }

    /// As [`Self::distinct`], by drawing again what was drawn before: of streams at the same point the one that draws more numbers has
    /// those of the other among them.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn distinct_in_order(&mut self, count: u32, bound: u32) -> Vec<u32> {
        assert!(count <= bound, "{count} different numbers below {bound}");
        let mut chosen: Vec<u32> = Vec::with_capacity(count as usize);
        while chosen.len() < count as usize {
            let value = self.below(bound.into()) as u32;
            if let Err(at) = chosen.binary_search(&value) {
                chosen.insert(at, value);
            }
        }
        chosen
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

    /// Against the distribution itself: chi-squared over the values that are expected often.
    #[test]
    fn binomial_numbers_follow_their_distribution() {
        let mut stream = Streams::new(1).stream("binomial");
        for (n, p) in [(1u32, 0.3), (87, 0.01), (4200, 5.8e-4), (33_568, 6.8e-4), (33_568, 4e-3), (50, 0.9), (8, 0.0), (8, 1.0)] {
            let draws = 40_000;
            let mut counts = vec![0u32; n as usize + 1];
            (0..draws).for_each(|_| counts[stream.binomial(n, p) as usize] += 1);
            let ln_choose = |k: u32| (1..=k).map(|i| (f64::from(n - k + i) / f64::from(i)).ln()).sum::<f64>();
            let mass = |k: u32| match p {
                0.0 => f64::from(u32::from(k == 0)),
                1.0 => f64::from(u32::from(k == n)),
                _ => (ln_choose(k) + f64::from(k) * p.ln() + f64::from(n - k) * (1.0 - p).ln()).exp(),
            };
            let (mut chi, mut cells) = (0.0, 0.0f64);
            for k in 0..=n.min(400) {
                let expected = mass(k) * f64::from(draws);
                if expected >= 10.0 {
                    chi += (f64::from(counts[k as usize]) - expected).powi(2) / expected;
                    cells += 1.0;
                }
            }
            assert!(cells > 0.0 && chi < cells + 4.0 * (2.0 * cells).sqrt(), "n {n}, p {p}: chi-squared {chi} of {cells}");
        }
    }

    /// One number decides: more probable, never fewer. The mean of many is that of the distribution, within 4 standard errors. Catches
    /// numbers that are drawn in pieces, and powers that underflow: of 4,616 bits at 0.151 none at all has a probability of e^-756.
    #[test]
    fn binomial_numbers_in_order_grow_with_the_probability() {
        let streams = Streams::new(2);
        let (long, short) =
            ([1e-6, 1e-4, 1e-3, 4e-3, 0.0205, 0.0209, 0.0215, 0.037], [1e-5, 1e-3, 0.01, 0.1, 0.147, 0.151, 0.16, 0.25]);
        for (n, rates) in [(33_568, long), (4616, short)] {
            let mut sums = [0.0; 8];
            for number in 0..2000 {
                let draw = |rate: &f64| streams.stream_of("word", number).binomial_in_order(n, *rate);
                let drawn: Vec<u32> = rates.iter().map(draw).collect();
                assert!(drawn.is_sorted(), "{drawn:?}");
                (0..8).for_each(|i| sums[i] += f64::from(drawn[i]));
            }
            for (sum, rate) in sums.into_iter().zip(rates) {
                let (mean, deviation) = (f64::from(n) * rate, (f64::from(n) * rate * (1.0 - rate) / 2000.0).sqrt());
                assert!((sum / 2000.0 - mean).abs() < 4.0 * deviation, "{rate}: {} for {mean}", sum / 2000.0);
            }
        }
    }

    #[test]
    fn of_distinct_numbers_in_order_more_have_the_fewer_among_them() {
        let streams = Streams::new(3);
        let mut counts = [0u32; 12];
        for number in 0..20_000 {
            let draw = |count| streams.stream_of("word", number).distinct_in_order(count, 12);
            let (few, more) = (draw(5), draw(7));
            assert!(few.len() == 5 && more.len() == 7 && more.is_sorted_by(|a, b| a < b), "{few:?} {more:?}");
            assert!(few.iter().all(|value| more.contains(value)), "{few:?} {more:?}");
            few.iter().for_each(|&value| counts[value as usize] += 1);
        }
        // Binomial(20 000, 5/12): standard deviation 69.7.
        assert!(counts.iter().all(|&c| (f64::from(c) - 20_000.0 * 5.0 / 12.0).abs() < 4.0 * 69.7), "{counts:?}");
    }

    #[test]
    fn distinct_numbers_are_distinct_and_every_number_comes_as_often() {
        let mut stream = Streams::new(1).stream("distinct");
        let mut counts = [0u32; 12];
        for _ in 0..20_000 {
            let drawn = stream.distinct(5, 12);
            assert!(drawn.len() == 5 && drawn.windows(2).all(|pair| pair[0] < pair[1]), "{drawn:?}");
            drawn.iter().for_each(|&value| counts[value as usize] += 1);
        }
        // Binomial(20 000, 5/12): standard deviation 69.7.
        assert!(counts.iter().all(|&c| (f64::from(c) - 20_000.0 * 5.0 / 12.0).abs() < 4.0 * 69.7), "{counts:?}");
        assert_eq!(stream.distinct(3, 3), [0, 1, 2]);
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
