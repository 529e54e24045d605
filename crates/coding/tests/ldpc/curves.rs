//! The curves of simulations against the decoder.

use super::{Frame, Noise, codes};
use flashkeep_coding::ldpc::curve::{Point, Tail};
use flashkeep_coding::ldpc::{Channel, Code, Curve, Limits, Stage, Workspace};

/// Words with this many errors that fail, and the mean iterations of the others.
fn measure(code: &Code, stage: Stage, errors: usize, words: u32, noise: &mut Noise) -> (u32, f64) {
    let channel = Channel::new(stage, errors as f64 / code.bits() as f64);
    let (mut failed, mut iterations, mut workspace) = (0, 0, Workspace::default());
    for _ in 0..words {
        let mut frame = Frame::with_errors(code, &channel, errors, noise);
        let (planes, limits) = (frame.planes.clone(), Limits { flipping: false, ..Limits::default() });
        let (data, parity) = frame.read.split_at_mut(code.data_bytes());
        match code.decode(data, parity, channel.soft(&planes[0], &planes[1]), &limits, &mut workspace) {
            Ok(outcome) => iterations += outcome.iterations,
            Err(_) => failed += 1,
        }
    }
    (failed, f64::from(iterations) / f64::from((words - failed).max(1)))
}

#[test]
fn curves_are_those_of_the_decoder() {
    let mut noise = Noise(41);
    for code in codes().filter(|code| code.data_bytes() == 1024 || code.name() == "ldpc-4k-0.901") {
        for stage in Stage::ALL {
            let curve = Curve::of(code, stage);
            let words = 120;
            let errors = curve.bears(0.3).round();
            let (failed, mean) = measure(code, stage, errors as usize, words, &mut noise);
            let p = curve.failure(errors);
            let (expected, spread) = (f64::from(words) * p, (f64::from(words) * p * (1.0 - p)).sqrt());
            // Five deviations of this sample, and 5 % for what the curve itself was measured with.
            let off = (f64::from(failed) - expected).abs();
            assert!(off < 5.0 * spread + 0.05 * f64::from(words), "{code:?}, {stage:?}: {failed} failed, {expected} expected");
            let told = curve.mean_iterations(errors);
            assert!((mean / told - 1.0).abs() < 0.25, "{code:?}, {stage:?}: {mean} iterations, {told} expected");
        }
    }
}

#[test]
fn curves_of_all_codes_rise_and_soft_reads_bear_more() {
    for code in codes() {
        let mut before = 0.0;
        for stage in Stage::ALL {
            let curve = Curve::of(code, stage);
            let shares = || curve.points.iter().filter(|point| point.failures > 0.0).map(|point| point.failures / point.frames);
            assert!(shares().any(|share| share < 1e-3) && shares().any(|share| share > 0.25), "{code:?}, {stage:?}: {curve:?}");
            let rises = |errors: usize| curve.failure(errors as f64) <= curve.failure(errors as f64 + 1.0);
            assert!((0..code.bits()).all(rises), "{code:?}, {stage:?}");
            let bears = curve.bears(1e-2);
            assert!(bears > 1.05 * before, "{code:?}, {stage:?} bears {bears} errors, the stage before {before}");
            before = bears;
            assert_eq!((curve.failure(0.0), curve.mean_iterations(0.0)), (0.0, 0.0));
            assert_eq!(curve.failure(code.bits() as f64 / 4.0), 1.0);
        }
    }
}

/// Points with the share that the tail expects to be lost.
fn expected(code: &Code, stage: Stage, tail: &Tail) -> Vec<(f64, f64, f64)> {
    let of = |point: &Point| {
        let effective = tail.effective(point.errors, code.bits(), point.cells);
        (point.frames, point.failures, tail.failure(effective, code.bits()))
    };
    Curve::of(code, stage).points.iter().map(of).collect()
}

/// Lost words of each point differ from those that the tail expects as chance has it. Were all tails right, the sum of squares in deviations
/// would be beyond this bound once in some 10 000 curves.
#[test]
fn tails_fit_what_was_measured() {
    let (mut all, mut freedom) = (0.0, 0.0);
    for code in codes() {
        for stage in Stage::ALL {
            let points = expected(code, stage, &Curve::of(code, stage).tail);
            let told = points.iter().filter(|(frames, _, share)| frames * share > 1.0 && frames * (1.0 - share) > 1.0);
            let squares =
                told.map(|(frames, failures, share)| (failures - frames * share).powi(2) / (frames * share * (1.0 - share)));
            let squares: Vec<f64> = squares.collect();
            let (sum, count) = (squares.iter().sum::<f64>(), squares.len() as f64);
            assert!(count > 5.0, "{code:?}, {stage:?}: {count} points");
            assert!(sum < count + 4.0 * (2.0 * count).sqrt() + 4.0, "{code:?}, {stage:?}: {sum} over {count} points");
            (all, freedom) = (all + sum, freedom + count - 3.0);
        }
    }
    assert!(all < freedom + 4.0 * (2.0 * freedom).sqrt(), "all: {all} of {freedom}");
}

/// The measurements are likeliest with the middle and the spread of the table, and with its count of an error.
#[test]
fn tails_are_the_likeliest() {
    for code in codes() {
        for stage in Stage::ALL {
            let tail = &Curve::of(code, stage).tail;
            let likelihood = |tail: &Tail| {
                let part = |count: f64, share: f64| if count > 0.0 { count * share.ln() } else { 0.0 };
                let of = |(frames, lost, share): (f64, f64, f64)| part(lost, share) + part(frames - lost, 1.0 - share);
                expected(code, stage, &Tail { power: 0, ..tail.clone() }).into_iter().map(of).sum::<f64>()
            };
            let best = likelihood(tail);
            let middle = |by: f64| Tail { middle: tail.middle + by * tail.spread, ..tail.clone() };
            let spread = |by: f64| Tail { spread: tail.spread * (1.0 + by), ..tail.clone() };
            let counts = |by: f64| Tail { counts: tail.counts + by, ..tail.clone() };
            for by in [-0.03, 0.03] {
                assert!(likelihood(&middle(by)) < best && likelihood(&spread(by)) < best, "{code:?}, {stage:?}: {tail:?}");
                assert!(stage == Stage::Hard || likelihood(&counts(by)) < best, "{code:?}, {stage:?}: {tail:?}");
            }
        }
    }
}

/// A curve that nothing was fitted to loses every word: better than one that loses none.
#[test]
fn a_curve_without_a_fit_loses_every_word() {
    assert_eq!([0.0, 1.0, 300.0].map(|errors| Tail::default().failure(errors, 4096)), [1.0; 3]);
    let fitted = Tail { middle: 50.0, spread: 5.0, ..Tail::default() };
    assert_eq!(fitted.failure(0.0, 4096), 0.0);
}
