//! One experiment under several seeds: what of a result is the scheme's, and what is chance.
//!
//! Repetition k, from 0 on, has the seed `seed + k`. So the first is the run that there would be without repetitions, and each
//! other one is what `--seed` gives at the same clock. A seed decides the drive (factory-bad blocks, write history, victims,
//! errors) and, where the workload is generated, its requests; a recorded trace stays the same. All schemes of a repetition
//! share its seed, and so their values come in pairs.
//!
//! One clock, that of the first repetition, holds for all: else a part of what differs would be the clock.

mod export;
mod interval;
mod joined;
pub(crate) mod points;

use crate::clock::{Clock, needs_demand};
use crate::compare::Comparison;
use crate::experiment::Experiment;
use crate::rows::Row;
use crate::textual::Arrival;
pub use interval::{CONFIDENCE, Interval, Paired, Ratio, t_quantile};
pub(crate) use joined::{cautions, fairness, notes, range};
use serde_json::Value;
use ssd::Pace;

/// The seed of a repetition; `None` beyond 64 bits.
pub(crate) fn seed_of(base: u64, repetition: usize) -> Option<u64> {
    base.checked_add(repetition as u64)
}

/// The experiment of a repetition but the first, at the clock of the first: it alone, as `flashkeep run` would run it.
pub(crate) fn experiment_of(base: &Experiment, repetition: usize, clock: &Clock, duration_s: f64) -> Experiment {
    let mut experiment = base.clone();
    experiment.seed = seed_of(base.seed, repetition).expect("the range of seeds was checked");
    experiment.seeds = 1;
    if needs_demand(base.trace.arrival, duration_s) {
        experiment.trace.arrival = match clock.pace {
            _ if clock.is_each && clock.factor == 1.0 => Arrival::Recorded,
            _ if clock.is_each => Arrival::Scaled(clock.factor),
            Pace::Closed { depth } => Arrival::Closed(depth),
            Pace::Open if clock.factor == 1.0 => Arrival::Recorded,
            Pace::Open => Arrival::Scaled(clock.factor),
        };
    }
    experiment
}

/// Columns of results of which differences between schemes are stated: costs, and how long requests take.
pub(crate) const COMPARED: [&str; 16] = [
    "latency_us_mean",
    "latency_us_p50",
    "latency_us_p99",
    "latency_us_p999",
    "latency_us_p9999",
    "read_latency_us_mean",
    "read_latency_us_p99",
    "write_latency_us_mean",
    "write_latency_us_p99",
    "requests_per_s",
    "mb_per_s",
    "waf",
    "tbw_tb",
    "endurance_years",
    "dwpd",
    "energy_j",
];

/// The repetitions of a comparison, two or more.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// Each by itself, in order of its seed; the first is that without repetitions.
    repetitions: Vec<Comparison>,
    /// The rows of each.
    rows: Vec<Vec<Row>>,
}

impl Seeds {
    pub(crate) fn new(repetitions: Vec<Comparison>) -> Self {
        let rows = repetitions.iter().map(Comparison::rows).collect();
        Self { repetitions, rows }
    }

    /// The comparison under each seed by itself, the first seed first.
    #[must_use]
    pub fn repetitions(&self) -> &[Comparison] {
        &self.repetitions
    }

    /// The seeds.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        self.repetitions.iter().map(|repetition| repetition.experiment.seed).collect()
    }

    /// One row for each seed and scheme, in order of seeds, then of schemes.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.rows.concat()
    }

    /// One row for each scheme under the seed of an index.
    pub(crate) fn rows_of(&self, repetition: usize) -> &[Row] {
        &self.rows[repetition]
    }

    /// Puts other values in the place of those that were found.
    #[cfg(test)]
    pub(crate) fn set(&mut self, scheme: usize, column: &str, values: &[f64]) {
        for (rows, value) in self.rows.iter_mut().zip(values) {
            rows[scheme].insert(column.to_owned(), serde_json::json!(value));
        }
    }

    /// As if every run were long enough for figures of flash.
    #[cfg(test)]
    pub(crate) fn bear(&mut self) {
        let schemes = self.repetitions.iter_mut().flat_map(|one| &mut one.verdict.schemes);
        schemes.for_each(|scheme| scheme.costs.unborne = false);
    }

    /// Names of the columns that hold numbers.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let is_number = |(name, value): &(&String, &Value)| {
            // A seed is a name, not a figure.
            value.is_number() && *name != "seed"
        };
        self.rows[0][0].iter().filter(is_number).map(|(name, _)| name.as_str()).collect()
    }

    /// The scheme of an index, as the experiment names it.
    #[must_use]
    pub fn label(&self, scheme: usize) -> &str {
        &self.repetitions[0].outcomes[scheme].label
    }

    /// Schemes, by index, that can be compared under every seed.
    #[must_use]
    pub fn comparable(&self) -> Vec<usize> {
        let is_comparable = |scheme: &usize| self.repetitions.iter().all(|one| one.verdict.schemes[*scheme].is_comparable());
        (0..self.repetitions[0].outcomes.len()).filter(is_comparable).collect()
    }

    /// What a column was for a scheme, by index, under each seed; `None` unless it was a number under every one.
    #[must_use]
    pub fn values(&self, scheme: usize, column: &str) -> Option<Vec<f64>> {
        self.rows.iter().map(|rows| rows[scheme].get(column)?.as_f64()).collect()
    }

    /// Its mean with the confidence interval.
    #[must_use]
    pub fn interval(&self, scheme: usize, column: &str) -> Option<Interval> {
        Interval::of(&self.values(scheme, column)?)
    }

    /// What a column of a scheme is against that of another.
    #[must_use]
    pub fn paired(&self, scheme: usize, other: usize, column: &str) -> Option<Paired> {
        Paired::of(&self.values(scheme, column)?, &self.values(other, column)?)
    }
}
