//! The channel of overlapping Gaussians.

use super::Noise;
use flashkeep_coding::ldpc::{Channel, Stage};

#[test]
fn odds_are_those_of_the_normal_distribution() {
    // Q(1.5), Q(2), Q(3), from tables of the normal distribution: the wrong bits of all degrees together.
    for (rber, place) in [(6.680_720e-2, 1.5), (2.275_013e-2, 2.0), (1.349_898e-3, 3.0)] {
        for stage in Stage::ALL {
            let channel = Channel::new(stage, rber);
            let wrong: f64 = channel.odds.iter().map(|odds| odds[0]).sum();
            let all: f64 = channel.odds.iter().flatten().sum();
            assert!((wrong - rber).abs() < 1e-9 && (all - 1.0).abs() < 1e-12, "{stage:?} at {rber}: {wrong}, {all}");
            // Beyond the outermost threshold t wrong bits are Q((1 + t) / sigma), with 1 / sigma = place.
            let Some(t) = channel.thresholds.last() else { continue };
            let beyond = simpson((1.0 + t) * place);
            let got = channel.odds.last().expect("a degree")[0];
            assert!((got / beyond - 1.0).abs() < 1e-4, "{stage:?} at {rber}: {got}, expected {beyond}");
        }
    }
}

/// The tail of the normal distribution, by Simpson's rule.
fn simpson(from: f64) -> f64 {
    let (steps, width) = (20_000, 12.0 / 20_000.0);
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    (0..=steps).map(|i| weight(i) * density(from + f64::from(i) * width)).sum::<f64>() * width / 3.0
}

#[test]
fn thresholds_tell_most() {
    for stage in [Stage::TwoBit, Stage::ThreeBit] {
        for rber in [2e-3, 1e-2, 3e-2] {
            let channel = Channel::new(stage, rber);
            let most = channel.information();
            assert!(channel.thresholds.is_sorted() && channel.thresholds[0] > 0.0);
            assert!(most > Channel::new(Stage::Hard, rber).information());
            // A grid over all thresholds finds nothing better.
            let place = |at: usize| 0.01 + 0.03 * at as f64;
            let grid: Vec<Vec<f64>> = match stage {
                Stage::TwoBit => (0..40).map(|a| vec![place(a)]).collect(),
                _ => (0..30)
                    .flat_map(|a| (a + 1..31).flat_map(move |b| (b + 1..40).map(move |c| vec![place(a), place(b), place(c)])))
                    .collect(),
            };
            for thresholds in grid {
                let told = told(&thresholds, rber);
                assert!(told <= most + 1e-7, "{stage:?} at {rber}: {thresholds:?} tell {told}, more than {most}");
            }
        }
    }
}

/// Mutual information of a bit and its region, for a table of the tail in small steps.
fn told(thresholds: &[f64], rber: f64) -> f64 {
    let place = 1.0 / sigma(rber);
    let edge = |at: usize| if at == 0 { 0.0 } else { *thresholds.get(at - 1).unwrap_or(&100.0) };
    let side = |mean: f64, at: usize| tail((edge(at) - mean) * place) - tail((edge(at + 1) - mean) * place);
    let part = |p: f64, total: f64| if p > 1e-300 { p * (2.0 * p / total).log2() } else { 0.0 };
    (0..=thresholds.len())
        .map(|at| {
            let (wrong, right) = (side(-1.0, at), side(1.0, at));
            part(wrong, wrong + right) + part(right, wrong + right)
        })
        .sum()
}

fn sigma(rber: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > rber { low = middle } else { high = middle }
    }
    1.0 / low
}

/// Abramowitz and Stegun, 26.2.17: right to 7.5e-8.
fn tail(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - tail(-x);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let polynomial = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let sum = polynomial.iter().fold(0.0, |sum, c| (sum + c) * t);
    sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[test]
fn draws_follow_the_odds() {
    let mut noise = Noise(31);
    for stage in Stage::ALL {
        let channel = Channel::new(stage, 2e-2);
        let mut seen = [[0_u32; 2]; 4];
        let words = 20_000;
        for _ in 0..words {
            let wrong = channel.draw_wrong(&mut || noise.word());
            let [low, high] = channel.draw_degrees(wrong, &mut || noise.word());
            for bit in 0..64 {
                let at = |word: u64| usize::from(word >> bit & 1 == 1);
                seen[at(low) + 2 * at(high)][1 - at(wrong)] += 1;
            }
        }
        for (degree, seen) in seen.iter().enumerate() {
            for side in 0..2 {
                let expected = 64.0 * f64::from(words) * channel.odds.get(degree).map_or(0.0, |odds| odds[side]);
                let off = (f64::from(seen[side]) - expected).abs();
                assert!(off <= 5.0 * expected.sqrt().max(1.0), "{stage:?}, degree {degree}: {} of {expected}", seen[side]);
            }
        }
    }
}
