//! One experiment under several seeds: what of a result is the scheme's, and what is chance.
//!
//! Repetition k, from 0 on, has the seed `seed + k`. So the first is the run that there would be without repetitions, and each
//! other one is what `--seed` gives at the same clock. A seed decides the drive (factory-bad blocks, write history, victims,
//! errors) and, where the workload is generated, its requests; a recorded trace stays the same. All schemes of a repetition
//! share its seed, and so their values come in pairs.
//!
//! One clock, that of the first repetition, holds for all: else a part of what differs would be the clock.

mod export;
mod joined;
pub mod points;
mod verdict;

use crate::clock::{Clock, needs_demand};
use crate::comparison::{Comparison, Seeds};
use experiment::{Arrival, Experiment, seed_of};
pub use joined::range;
pub(crate) use joined::{cautions, fairness, notes};
use ssd::Pace;

/// The experiment of a repetition but the first, at the clock of the first: it alone, as `flashkeep run` would run it.
#[must_use]
pub fn experiment_of(base: &Experiment, repetition: usize, clock: &Clock, duration_s: f64) -> Experiment {
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

/// The comparison over all these repetitions.
pub(crate) fn over(experiment: &Experiment, repetitions: Vec<Comparison>) -> Comparison {
    let first = repetitions[0].clone();
    let (fairness, notes) = (fairness(experiment, &first.fairness), notes(experiment, &first.notes));
    let cautions = cautions(&repetitions);
    let rows = repetitions.iter().map(Comparison::rows).collect();
    let seeds = Seeds::new(repetitions, rows);
    let verdict = verdict::over(&seeds);
    Comparison { experiment: experiment.clone(), fairness, notes, cautions, verdict, seeds: Some(seeds), ..first }
}
