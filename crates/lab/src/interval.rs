//! Means with their confidence intervals, of one sample or of pairs.
//!
//! A sample is what one figure was under several seeds, taken as independent draws from one normal distribution: the
//! interval is that of Student's t. Ratios of two schemes are made of pairs, the two values under one seed, on the scale of
//! logarithms: the mean of the logarithms of the ratios with its interval, then back. So a ratio is that of the geometric
//! means, what all seeds do to both schemes alike cancels, and no interval reaches below zero.

use common::Quantity;
use common::quantity::span;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// How often an interval covers the true mean.
pub const CONFIDENCE: f64 = 0.95;

/// The quantile of Student's t distribution that an interval of [`CONFIDENCE`] on both sides reaches to; `freedom` is one
/// less than the size of the sample.
///
/// # Panics
/// Without a degree of freedom.
#[must_use]
pub fn t_quantile(freedom: usize) -> f64 {
    // The library loses digits from some ten thousand degrees on; the first terms of the series around the normal quantile
    // are exact to 1e-8 from a thousand on (Abramowitz and Stegun, 26.7.5).
    if freedom > 1000 {
        let (z, n) = (Normal::standard().inverse_cdf(0.5 + CONFIDENCE / 2.0), freedom as f64);
        return z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
    }
    let t = StudentsT::new(0.0, 1.0, freedom as f64).expect("at least one degree of freedom");
    t.inverse_cdf(0.5 + CONFIDENCE / 2.0)
}

/// A mean with its interval: from `mean - half_width` to `mean + half_width`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Mean of the sample.
    pub mean: f64,
    /// Half of the width of the interval that covers the true mean in [`CONFIDENCE`] of all samples.
    pub half_width: f64,
}

impl Interval {
    /// The mean of a sample; `None` of fewer than two values, or where one is no finite number.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        // Of equal values, the mean is that value to the last bit.
        if values.iter().all(|value| *value == values[0]) {
            return Some(Self { mean: values[0], half_width: 0.0 });
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Some(Self { mean, half_width: t_quantile(values.len() - 1) * (variance / n).sqrt() })
    }

    /// As text, in the unit that fits.
    #[must_use]
    pub fn show(&self, quantity: Quantity) -> String {
        quantity.show_interval(self.mean, self.half_width)
    }

    /// The lower end.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The upper end.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
}

/// A figure of the runs of a scheme, one for each seed: the value of one run, of several their mean with its interval.
#[must_use]
pub fn show_runs(quantity: Quantity, values: &[f64]) -> String {
    match values {
        [value] => quantity.show(*value),
        _ => Interval::of(values).map_or("-".into(), |interval| interval.show(quantity)),
    }
}

/// A ratio of geometric means with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    /// The interval as percent more or less: `-3 to +4 %`.
    #[must_use]
    pub fn percent(&self) -> String {
        if (self.low, self.high) == (1.0, 1.0) {
            return "0 %".into();
        }
        let ends = span((self.low - 1.0) * 100.0, (self.high - 1.0) * 100.0);
        let signed = |end: &str| if end.starts_with('-') || end.parse() == Ok(0.0) { end.to_owned() } else { format!("+{end}") };
        format!("{} %", ends.split(" to ").map(signed).collect::<Vec<_>>().join(" to "))
    }
}

/// One figure of two schemes, seed by seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The mean of the differences, the one less the other.
    pub difference: Interval,
    /// The one over the other; `None` where a value is not above zero.
    pub ratio: Option<Ratio>,
}

impl Paired {
    /// Compares `one` with `other`; values of one place belong together. `None` of fewer than two pairs.
    ///
    /// # Panics
    /// If there are not as many of the one as of the other.
    #[must_use]
    pub fn of(one: &[f64], other: &[f64]) -> Option<Self> {
        assert_eq!(one.len(), other.len(), "values come in pairs");
        let pairs = || one.iter().zip(other);
        let difference = Interval::of(&pairs().map(|(one, other)| one - other).collect::<Vec<_>>())?;
        let logs: Option<Vec<f64>> =
            pairs().map(|(one, other)| (*one > 0.0 && *other > 0.0).then(|| (one / other).ln())).collect();
        let ratio = logs.and_then(|logs| Interval::of(&logs));
        let ratio = ratio.map(|log| Ratio { ratio: log.mean.exp(), low: log.low().exp(), high: log.high().exp() });
        Some(Self { difference, ratio })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Stream, Streams};

    /// Table of percentage points of the t distribution, 0.975: Fisher and Yates, as reprinted in NIST/SEMATECH e-Handbook of
    /// Statistical Methods, 1.3.6.7.2.
    const PUBLISHED: [(usize, f64); 16] = [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (6, 2.447),
        (7, 2.365),
        (8, 2.306),
        (9, 2.262),
        (10, 2.228),
        (15, 2.131),
        (20, 2.086),
        (30, 2.042),
        (40, 2.021),
        (60, 2.000),
        (100, 1.984),
    ];

    #[test]
    fn quantiles_are_those_of_the_published_table() {
        for (freedom, published) in PUBLISHED {
            let found = t_quantile(freedom);
            assert!((found - published).abs() <= 0.0005 + 1e-9, "{freedom} degrees: {found}, the table says {published}");
        }
        // For many degrees, the normal distribution; where the two ways meet, they agree.
        assert!((t_quantile(10_000_000) - 1.959_964).abs() < 1e-6);
        assert!((t_quantile(1000) - t_quantile(1001) - 2.4e-6).abs() < 1e-7, "{} {}", t_quantile(1000), t_quantile(1001));
    }

    /// A draw from the standard normal distribution (Box and Muller).
    fn normal(draws: &mut Stream) -> f64 {
        let radius = (-2.0 * (1.0 - draws.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * draws.unit()).cos()
    }

    /// Samples of each size in the simulations below.
    const SAMPLES: u32 = 4000;

    /// Whether this many of [`SAMPLES`] intervals may cover the truth, if each does so in 95 %: 3.5 deviations of the binomial
    /// distribution to either side, which a right program leaves once in 2000 simulations. Fixed before any was run.
    fn is_likely(covered: u32) -> bool {
        let (n, p) = (f64::from(SAMPLES), CONFIDENCE);
        (f64::from(covered) - n * p).abs() <= 3.5 * (n * p * (1.0 - p)).sqrt()
    }

    #[test]
    fn intervals_cover_a_known_mean_in_95_percent_of_samples() {
        let mut draws = Streams::new(19).stream("coverage");
        for size in [2, 3, 5, 10, 30] {
            let covers = |_: &u32| {
                let sample: Vec<f64> = (0..size).map(|_| 5.67 + 0.4 * normal(&mut draws)).collect();
                let interval = Interval::of(&sample).expect("two values or more");
                interval.low() <= 5.67 && 5.67 <= interval.high()
            };
            let covered = (0..SAMPLES).filter(covers).count() as u32;
            assert!(is_likely(covered), "samples of {size}: {covered} of {SAMPLES} intervals cover the mean");
        }
        assert!(!is_likely(SAMPLES * 93 / 100) && !is_likely(SAMPLES * 97 / 100), "the bounds tell 95 % from 93 % and 97 %");
    }

    #[test]
    fn paired_intervals_cover_a_known_ratio_and_a_known_difference_in_95_percent_of_samples() {
        let mut draws = Streams::new(20).stream("coverage");
        for size in [2, 5, 10] {
            let (mut ratios, mut differences) = (0, 0);
            for _ in 0..SAMPLES {
                // The effect of a seed on both schemes is ten times its effect on one of them.
                let shared: Vec<f64> = (0..size).map(|_| normal(&mut draws)).collect();
                let mut scheme = |mean: f64, scale: fn(f64) -> f64| -> Vec<f64> {
                    shared.iter().map(|seed| scale(mean + 0.2 * seed + 0.02 * normal(&mut draws))).collect()
                };
                let (one, other) = (scheme(0.7f64.ln(), f64::exp), scheme(0.0, f64::exp));
                let ratio = Paired::of(&one, &other).expect("pairs").ratio.expect("above zero");
                ratios += u32::from(ratio.low <= 0.7 && 0.7 <= ratio.high);
                let (one, other) = (scheme(7.0, |x| x), scheme(10.0, |x| x));
                let difference = Paired::of(&one, &other).expect("pairs").difference;
                differences += u32::from(difference.low() <= -3.0 && -3.0 <= difference.high());
            }
            assert!(is_likely(ratios), "{size} pairs: {ratios} of {SAMPLES} intervals cover the ratio");
            assert!(is_likely(differences), "{size} pairs: {differences} of {SAMPLES} intervals cover the difference");
        }
    }

    /// By hand, with the quantile of the table: t of 4 degrees is 2.776.
    #[test]
    fn pairs_give_what_a_naive_computation_gives() {
        let (one, other) = ([4.0, 4.4, 3.9, 4.2, 4.1], [5.6, 6.1, 5.5, 5.8, 5.6]);
        let paired = Paired::of(&one, &other).expect("pairs");
        // Differences -1.6 -1.7 -1.6 -1.6 -1.5: mean -1.6, squares 0.01 + 0.01 over 4, over 5, the root: 0.0316228.
        assert!((paired.difference.mean + 1.6).abs() < 1e-12);
        assert!((paired.difference.half_width - 2.776 * 0.031_622_8).abs() < 1e-4, "{paired:?}");
        let product = |values: [f64; 5]| values.iter().product::<f64>().powf(0.2);
        let ratio = paired.ratio.expect("above zero");
        assert!((ratio.ratio - product(one) / product(other)).abs() < 1e-12);
        // The other way round it is the inverse, ends exchanged.
        let back = Paired::of(&other, &one).expect("pairs").ratio.expect("above zero");
        for (there, back) in [(ratio.ratio, back.ratio), (ratio.low, back.high), (ratio.high, back.low)] {
            assert!((there * back - 1.0).abs() < 1e-12, "{there} and {back}");
        }
        // An effect of the seed on both alike widens the interval of neither the difference nor the ratio.
        let alone = Interval::of(&one).expect("a sample");
        assert!(paired.difference.half_width < alone.half_width / 2.0);
    }

    #[test]
    fn where_there_is_nothing_to_average_there_is_no_interval() {
        assert_eq!((Interval::of(&[]), Interval::of(&[1.0]), Interval::of(&[1.0, f64::NAN])), (None, None, None));
        assert_eq!(Interval::of(&[0.1; 3]), Some(Interval { mean: 0.1, half_width: 0.0 }));
        assert_eq!(Paired::of(&[1.0], &[2.0]), None);
        assert_eq!(Paired::of(&[1.0, 0.0], &[2.0, 2.0]).expect("pairs").ratio, None, "no logarithm of zero");
    }
}
