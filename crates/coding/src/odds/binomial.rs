//! Tails of the binomial distribution, by their logarithms.
//!
//! One term is computed by Loader's saddle-point expansion (C. Loader, Fast and Accurate
//! Computation of Binomial Probabilities, 2000), which cancels nothing; the tail is that term
//! times a series of positive ratios. The far side of the mode is summed and the other side
//! taken from one, so that no sum is close to what it is taken from.

use std::f64::consts::{LN_2, TAU};

/// `ln P[X > k]` for X errors among `n` bits, each wrong with probability `p`, independently.
/// Negative infinity where that cannot be.
///
/// # Panics
/// If `p` is no probability.
#[must_use]
pub fn ln_tail(n: u64, k: u64, p: f64) -> f64 {
    check(p);
    if k >= n || p == 0.0 {
        f64::NEG_INFINITY
    } else if p == 1.0 {
        0.0
    } else if (k + 1) as f64 > n as f64 * p {
        ln_upper(n, k + 1, p)
    } else {
        ln_one_minus(ln_lower(n, k, p))
    }
}

/// `ln P[X <= k]`, as [`ln_tail`].
///
/// # Panics
/// If `p` is no probability.
#[must_use]
pub fn ln_head(n: u64, k: u64, p: f64) -> f64 {
    check(p);
    if k >= n || p == 0.0 {
        0.0
    } else if p == 1.0 {
        f64::NEG_INFINITY
    } else if (k + 1) as f64 > n as f64 * p {
        ln_one_minus(ln_upper(n, k + 1, p))
    } else {
        ln_lower(n, k, p)
    }
}

/// `ln` of the expected probability where the error rate differs between pages: `p` times a
/// log-normal factor of mean 1 whose logarithm has the deviation `sigma`. `ln_of` gives `ln` of
/// the probability at a rate. Real pages are over-dispersed like this: a plain binomial flatters.
///
/// # Panics
/// If `p` is no probability, or `sigma` not within 0 to 3.
#[must_use]
pub fn ln_mixed(p: f64, sigma: f64, ln_of: impl Fn(f64) -> f64) -> f64 {
    check(p);
    assert!((0.0..=3.0).contains(&sigma), "a deviation of {sigma}");
    if sigma == 0.0 {
        return ln_of(p);
    }
    let term = |z: f64| ln_of((p * (sigma * z - 0.5 * sigma * sigma).exp()).min(1.0)) - 0.5 * z * z;
    // Trapezoids over the normal deviate, which are exponentially exact once they are narrow
    // enough; they are halved until that shows. Beyond 20 deviations lies 1e-88.
    let mut terms: Vec<f64> = (-160..=160).map(|i| term(f64::from(i) / 8.0)).collect();
    let mut step = 0.125;
    let mut last = ln_sum(&terms) + f64::ln(step);
    loop {
        step /= 2.0;
        terms.extend((-(20.0 / step) as i32..=(20.0 / step) as i32).filter(|i| i % 2 != 0).map(|i| term(f64::from(i) * step)));
        let next = ln_sum(&terms) + step.ln();
        if (next - last).abs() < 1e-10 || step < 1e-3 || next == f64::NEG_INFINITY {
            return (next - 0.5 * TAU.ln()).min(0.0);
        }
        last = next;
    }
}

/// The logarithm of the sum of numbers given by their logarithms.
#[must_use]
pub fn ln_sum(logarithms: &[f64]) -> f64 {
    let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most.is_finite() { most + logarithms.iter().map(|ln| (ln - most).exp()).sum::<f64>().ln() } else { most }
}

/// `ln(1 - x)` of `ln x`.
#[must_use]
pub fn ln_one_minus(ln: f64) -> f64 {
    // Each form where it loses nothing.
    if ln > -LN_2 { (-ln.exp_m1()).ln() } else { (-ln.exp()).ln_1p() }
}

fn check(p: f64) {
    assert!((0.0..=1.0).contains(&p), "{p} is no probability");
}

/// `ln P[X >= k]` for k beyond the mean: terms fall from the first on.
fn ln_upper(n: u64, k: u64, p: f64) -> f64 {
    let odds = p / (1.0 - p);
    let (mut sum, mut term) = (1.0, 1.0);
    for i in k..n {
        term *= (n - i) as f64 / (i + 1) as f64 * odds;
        sum += term;
        if term < sum * 1e-18 {
            break;
        }
    }
    ln_term(n, k, p) + f64::ln(sum)
}

/// `ln P[X <= k]` for k below the mean: terms fall from the last on.
fn ln_lower(n: u64, k: u64, p: f64) -> f64 {
    let odds = (1.0 - p) / p;
    let (mut sum, mut term) = (1.0, 1.0);
    for i in (1..=k).rev() {
        term *= i as f64 / (n - i + 1) as f64 * odds;
        sum += term;
        if term < sum * 1e-18 {
            break;
        }
    }
    ln_term(n, k, p) + f64::ln(sum)
}

/// `ln P[X = k]` for 0 < p < 1 and k <= n.
#[must_use]
pub fn ln_term(n: u64, k: u64, p: f64) -> f64 {
    let (nf, kf, rest) = (n as f64, k as f64, (n - k) as f64);
    if k == 0 {
        return nf * (-p).ln_1p();
    }
    if k == n {
        return nf * p.ln();
    }
    let stirling = stirling_error(n) - stirling_error(k) - stirling_error(n - k);
    let deviance = deviance(kf, nf * p) + deviance(rest, nf * (1.0 - p));
    stirling - deviance + 0.5 * (nf / (TAU * kf * rest)).ln()
}

/// `ln n! - (n + 1/2) ln n + n - ln sqrt(2 pi)`, for n > 0.
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (2..=n).map(|i| i as f64).product();
        return factorial.ln() - (x + 0.5) * x.ln() + x - 0.5 * TAU.ln();
    }
    let square = x * x;
    let tail = 1.0 / 1680.0 - 1.0 / 1188.0 / square;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - tail / square) / square) / square) / x
}

/// `x ln(x / mean) + mean - x`, without cancellation where the two are close.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut power = 2.0 * x * v;
    for j in 1..1000 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P[X > k] for p = numerator / 2^bits, in whole numbers.
    fn exact_tail(n: u32, k: u32, numerator: u128, bits: u32) -> f64 {
        let whole = 1u128 << bits;
        let choose = |i: u32| (0..i).fold(1u128, |c, j| c * u128::from(n - j) / u128::from(j + 1));
        let term = |i: u32| choose(i) * numerator.pow(i) * (whole - numerator).pow(n - i);
        let sum: u128 = (k + 1..=n).map(term).sum();
        sum as f64 / (whole as f64).powi(n as i32)
    }

    #[test]
    fn small_tails_are_those_of_whole_numbers() {
        for n in 1..=12u32 {
            for (k, numerator) in (0..n).flat_map(|k| (1..256u128).step_by(17).map(move |a| (k, a))) {
                let p = numerator as f64 / 256.0;
                let exact = exact_tail(n, k, numerator, 8);
                let found = ln_tail(n.into(), k.into(), p).exp();
                assert!((found / exact - 1.0).abs() < 1e-13, "n {n}, k {k}, p {p}: {found:e}, exactly {exact:e}");
            }
        }
    }

    #[test]
    fn head_and_tail_make_one() {
        for (n, k, p) in [(4200, 8, 5.8e-4), (100, 50, 0.5), (33_568, 50, 1e-3), (7, 3, 0.9)] {
            let one = ln_head(n, k, p).exp() + ln_tail(n, k, p).exp();
            assert!((one - 1.0).abs() < 1e-13, "{n} {k} {p}: {one}");
        }
    }

    #[test]
    fn ends_of_the_range_are_exact() {
        assert_eq!(ln_tail(10, 10, 0.5), f64::NEG_INFINITY);
        assert_eq!(ln_tail(10, 3, 0.0), f64::NEG_INFINITY);
        assert_eq!((ln_tail(10, 3, 1.0), ln_head(10, 3, 1.0)), (0.0, f64::NEG_INFINITY));
        assert_eq!((ln_head(10, 10, 0.5), ln_head(10, 3, 0.0)), (0.0, 0.0));
        assert!(ln_tail(1 << 40, 0, 1e-300).is_finite());
        assert_eq!(ln_sum(&[]), f64::NEG_INFINITY);
    }

    #[test]
    fn a_spread_of_rates_fails_more_often_and_no_spread_changes_nothing() {
        let (n, k, p) = (33_568, 50, 6.859e-4);
        let mixed = |sigma| ln_mixed(p, sigma, |rate| ln_tail(n, k, rate));
        let plain = ln_tail(n, k, p);
        assert_eq!(mixed(0.0), plain);
        assert!((mixed(1e-4) - plain).abs() < 1e-3);
        let mut last = plain;
        for sigma in [0.1, 0.3, 0.5, 1.0] {
            assert!(mixed(sigma) > last + 0.5, "sigma {sigma}: {} after {last}", mixed(sigma));
            last = mixed(sigma);
        }
    }

    /// Trapezoids at steps of 1/8, 1/16 and so on over 20 deviations to each side, each by itself: once one is right to
    /// 1e-11, the next shows it, and no third is asked for. Catches a sum that is halved on although it does not change.
    #[test]
    fn the_mixture_ends_once_halving_its_steps_changes_nothing() {
        let (n, k, p, sigma) = (268_544u64, 400u64, 1e-3, 1.0);
        let ln_of = |rate: f64| ln_tail(n, k, rate);
        let points = |halvings: u32| 320i32 << halvings;
        let trapezoids = |halvings: u32| {
            let step = 40.0 / f64::from(points(halvings));
            let term = |i: i32| {
                let z = f64::from(i) * step - 20.0;
                ln_of((p * (sigma * z - 0.5 * sigma * sigma).exp()).min(1.0)) - 0.5 * z * z
            };
            ln_sum(&(0..=points(halvings)).map(term).collect::<Vec<_>>()) + step.ln()
        };
        let exact = trapezoids(6);
        let right = (0..6).find(|&halvings| (trapezoids(halvings) - exact).abs() < 1e-11).expect("they converge");
        let asked = std::cell::Cell::new(0);
        let _ = ln_mixed(p, sigma, |rate| {
            asked.set(asked.get() + 1);
            ln_of(rate)
        });
        assert!((1..5).contains(&right) && asked.get() <= points(right + 1) + 1, "{} rates, right at {right}", asked.get());
    }

    /// A code that fails above a rate and never below: steps are halved until they place the edge. By the normal tail from a table, at 0.005
    /// deviations. Catches a sum that ends after its first halving, which is 2 % off.
    #[test]
    fn the_mixture_goes_on_until_it_places_an_edge() {
        let (p, sigma, edge) = (1e-3f64, 0.5f64, 0.005f64);
        let limit = p * (sigma * edge - 0.5 * sigma * sigma).exp();
        let found = ln_mixed(p, sigma, |rate| if rate >= limit { 0.0 } else { -800.0 }).exp();
        assert!((found - 0.498_005_3).abs() < 1e-3, "{found}");
    }

    #[test]
    fn the_mixture_is_that_of_a_fine_sum() {
        // Midpoints of 400 000 slices over the normal deviate, by probabilities.
        for (n, k, p, sigma) in [(4_200u64, 8u64, 1e-4, 0.5), (33_568, 50, 3e-4, 0.3), (4_200, 8, 1e-3, 1.0)] {
            let slice = |i: u32| {
                let z = (f64::from(i) + 0.5) * 5e-5 - 10.0;
                let rate = p * (sigma * z - 0.5 * sigma * sigma).exp();
                (ln_tail(n, k, rate.min(1.0)) - 0.5 * z * z).exp() * 5e-5 / TAU.sqrt()
            };
            let sum: f64 = (0..400_000).map(slice).sum();
            let found = ln_mixed(p, sigma, |rate| ln_tail(n, k, rate)).exp();
            assert!((found / sum - 1.0).abs() < 1e-8, "{n} {k} {p} {sigma}: {found:e}, by slices {sum:e}");
        }
    }

    #[test]
    fn the_mixture_has_the_mean_of_its_rates() {
        // With one bit, P[X > 0] is the rate itself, whose mean is p.
        for sigma in [0.2, 0.5, 1.0] {
            let found = ln_mixed(1e-6, sigma, |rate| ln_tail(1, 0, rate)).exp();
            assert!((found / 1e-6 - 1.0).abs() < 1e-9, "sigma {sigma}: {found:e}");
        }
    }
}
