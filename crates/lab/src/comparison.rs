//! A finished comparison, and its repetitions under several seeds.

use crate::clock::Clock;
use crate::interval::{Interval, Paired};
use crate::outcome::Outcome;
use crate::verdict::Verdict;
use common::Row;
use common::quantity::mib;
use common::table::grouped;
use experiment::{Caution, Experiment, TraceFacts};
use serde_json::Value;
use ssd::SeriesResult;
use vocab::Bytes;

/// A finished comparison.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The effective experiment.
    pub experiment: Experiment,
    /// The workload.
    pub trace: TraceFacts,
    /// The clock.
    pub clock: Clock,
    /// Logical pages the host may use.
    pub user_slots: u32,
    /// Share of them that the workload may touch.
    pub touched_share: f64,
    /// Outcome of each scheme, in the experiment's order.
    pub outcomes: Vec<Outcome>,
    /// How the comparison was made fair.
    pub fairness: Vec<String>,
    /// Adapted settings, and settings left out.
    pub notes: Vec<String>,
    /// Reasons to trust some of the numbers less, gravest first.
    pub cautions: Vec<Caution>,
    /// Losses that each scheme survives, its costs, and the scheme to take.
    pub verdict: Verdict,
    /// Results under each seed, where the comparison was repeated. Fairness, notes, cautions and verdict above are then
    /// about all repetitions, the rest about the first.
    pub seeds: Option<Seeds>,
    /// Time series of each outcome in order; empty where it was not recorded, as in sweeps.
    pub series: Vec<SeriesResult>,
    /// The same in few bins, where there are several flows, for their picture.
    pub drawn: Vec<SeriesResult>,
}

impl Comparison {
    /// The cautions as sentences.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.cautions.iter().map(|caution| caution.text.clone()).collect()
    }

    /// Whether every check of every scheme held.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.repetitions().iter().all(|one| one.outcomes.iter().all(|o| o.result.oracle.mismatches == 0))
    }

    /// The repetitions; without any, this comparison alone.
    #[must_use]
    pub fn repetitions(&self) -> &[Self] {
        self.seeds.as_ref().map_or(std::slice::from_ref(self), Seeds::repetitions)
    }

    /// Requests that schemes answered, the fewest and the most, where the drive decides how many there are; `None`: the workload does.
    pub(crate) fn answered(&self) -> Option<(u64, u64)> {
        let of = |one: &Outcome| one.result.host.all_requests();
        let all = self.repetitions().iter().flat_map(|one| &one.outcomes).map(of);
        self.trace.ends_in_time.then(|| all.fold((u64::MAX, 0), |(least, most), one| (least.min(one), most.max(one))))
    }

    /// The same in words, with the addresses that they may go to: the footprint of a pass is not that of the run.
    #[must_use]
    pub fn answered_words(&self) -> Option<String> {
        let (least, most) = self.answered()?;
        let few = if least < most { format!("{} to ", grouped(least)) } else { String::new() };
        let slot = self.experiment.drive.geometry.slot_size.0;
        let space = (self.touched_share * f64::from(self.user_slots)).round() as u64 * slot;
        Some(format!("{few}{} requests until its flows end, {} of addresses", grouped(most), mib(Bytes(space))))
    }

    /// Outcomes of a scheme, by index of the scheme: one for each seed.
    #[must_use]
    pub fn runs_of(&self, scheme: usize) -> Vec<&Outcome> {
        self.repetitions().iter().map(|one| &one.outcomes[scheme]).collect()
    }

    /// The runs of each scheme under all seeds.
    #[must_use]
    pub fn runs_by_scheme(&self) -> Vec<Vec<&Outcome>> {
        (0..self.outcomes.len()).map(|scheme| self.runs_of(scheme)).collect()
    }
}

/// The repetitions of a comparison, two or more.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// Each by itself, in order of its seed; the first is that without repetitions.
    repetitions: Vec<Comparison>,
    /// The rows of each.
    rows: Vec<Vec<Row>>,
}

impl Seeds {
    /// Repetitions with the rows of each.
    pub(crate) fn new(repetitions: Vec<Comparison>, rows: Vec<Vec<Row>>) -> Self {
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

    /// Values of a column for a scheme, by index, under each seed; `None` unless it was a number under every one.
    #[must_use]
    pub fn values(&self, scheme: usize, column: &str) -> Option<Vec<f64>> {
        self.rows.iter().map(|rows| rows[scheme].get(column)?.as_f64()).collect()
    }

    /// Its mean with the confidence interval.
    #[must_use]
    pub fn interval(&self, scheme: usize, column: &str) -> Option<Interval> {
        Interval::of(&self.values(scheme, column)?)
    }

    /// A column of a scheme against that of another.
    #[must_use]
    pub fn paired(&self, scheme: usize, other: usize, column: &str) -> Option<Paired> {
        Paired::of(&self.values(scheme, column)?, &self.values(other, column)?)
    }
}
