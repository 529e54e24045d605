//! The curves of simulations against the decoder.

use super::{Frame, Noise, codes};
use flashkeep_coding::ldpc::{Channel, Code, Curve, Limits, Stage, Workspace};

/// Words with so many errors that fail, and the mean iterations of the others.
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
            assert!(curve.fail.len() >= 3, "{code:?}, {stage:?}: {} points", curve.fail.len());
            assert!(
                curve.fail[0].1 < 3e-3 && curve.fail.last().is_some_and(|last| last.1 > 0.25),
                "{code:?}, {stage:?}: {curve:?}"
            );
            assert!(curve.fail.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{code:?}, {stage:?}: {:?}", curve.fail);
            let bears = curve.bears(1e-2);
            assert!(bears > 1.05 * before, "{code:?}, {stage:?} bears {bears} errors, the stage before {before}");
            before = bears;
            assert_eq!((curve.failure(0.0), curve.mean_iterations(0.0)), (0.0, 0.0));
            assert_eq!(curve.failure(code.bits() as f64 / 4.0), 1.0);
        }
    }
}
