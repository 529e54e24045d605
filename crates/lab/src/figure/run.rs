//! A run as figures are read from it.

use crate::comparison::Comparison;
use crate::outcome::Outcome;
use crate::verdict::SchemeVerdict;
use experiment::PlannedDrive;
use serde_json::{Map, Value};
use ssd::{Life, RunResult, StreamResult};
use std::ops::Deref;

/// How fast the simulator itself ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunSpeed {
    /// Wall-clock time of the run in seconds.
    pub wall_s: f64,
    /// Flash commands simulated per second of wall-clock time.
    pub flash_ops_per_s: f64,
}

impl RunSpeed {
    /// The speed of an outcome.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let wall_s = outcome.wall_s;
        let flash_ops_per_s = if wall_s > 0.0 { outcome.result.flash.ops as f64 / wall_s } else { 0.0 };
        Self { wall_s, flash_ops_per_s }
    }
}

/// A run, and all that is known beside its result.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    result: &'a RunResult,
    /// Verdict on the run.
    pub verdict: Option<&'a SchemeVerdict>,
    /// The scheme and its drive.
    pub outcome: Option<&'a Outcome>,
    /// Wall-clock times.
    pub speed: Option<RunSpeed>,
    /// Bytes of a logical page.
    pub slot: u64,
}

impl Deref for Run<'_> {
    type Target = RunResult;

    fn deref(&self) -> &RunResult {
        self.result
    }
}

impl<'a> Run<'a> {
    /// The run of an outcome; `slot` bytes are one logical page.
    #[must_use]
    pub fn new(outcome: &'a Outcome, verdict: Option<&'a SchemeVerdict>, slot: u64) -> Self {
        let speed = Some(RunSpeed::of(outcome));
        Self { result: &outcome.result, verdict, outcome: Some(outcome), speed, slot }
    }

    /// A run of which the result alone is known, and what is given.
    #[must_use]
    pub fn of_result(result: &'a RunResult, verdict: Option<&'a SchemeVerdict>, speed: Option<RunSpeed>) -> Self {
        Self { result, verdict, outcome: None, speed, slot: 0 }
    }

    /// The runs of each scheme of a comparison, one for each seed.
    #[must_use]
    pub fn all(comparison: &'a Comparison) -> Vec<Vec<Self>> {
        let slot = comparison.experiment.drive.geometry.slot_size.0;
        let run = |one: &'a Comparison, scheme: usize| Run::new(&one.outcomes[scheme], one.verdict.schemes.get(scheme), slot);
        let runs = |scheme: usize| comparison.repetitions().iter().map(|one| run(one, scheme)).collect();
        (0..comparison.outcomes.len()).map(runs).collect()
    }

    pub(super) fn planned(&self) -> Option<&'a PlannedDrive> {
        self.outcome.map(|outcome| &outcome.planned)
    }

    pub(super) fn life(&self) -> Option<&'a Life> {
        self.verdict.and_then(|verdict| verdict.survives.life.as_ref())
    }

    pub(super) fn by_stream(&self, of: impl Fn(&StreamResult) -> Value) -> Map<String, Value> {
        self.streams.iter().enumerate().map(|(stream, result)| (stream.to_string(), of(result))).collect()
    }

    pub(super) fn flows(&self) -> Option<[(&'static str, Value); 2]> {
        self.outcome.and_then(|outcome| crate::flows::keys(&outcome.flows))
    }
}

/// Of the requests that were replayed, warm-up included, the share that was measured; `None` without any.
pub(super) fn measured_share(run: &RunResult) -> Option<f64> {
    let measured = run.host.all_requests();
    (measured > 0).then(|| measured as f64 / (measured + run.warm_up.requests) as f64)
}

/// Mean of all; `None` of nothing.
pub(super) fn mean(cycles: &[u32]) -> Option<f64> {
    (!cycles.is_empty()).then(|| cycles.iter().map(|&n| f64::from(n)).sum::<f64>() / cycles.len() as f64)
}

/// Standard deviation over all; `None` of nothing.
pub(super) fn deviation(cycles: &[u32]) -> Option<f64> {
    let mean = mean(cycles)?;
    let squares: f64 = cycles.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum();
    Some((squares / cycles.len() as f64).sqrt())
}
