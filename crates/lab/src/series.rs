//! What happened when, in all runs of a comparison, at one resolution.

use crate::columns::Columns;
use crate::compare::Comparison;
use crate::problem::Problem;
use crate::rows::Row;
use serde_json::json;
use ssd::{RunSeries, SeriesResult};
use std::path::Path;
use vocab::Nanos;

/// Bins of all runs together, at most: what a page can show, and a report can carry.
const ALL_BINS_MAX: usize = 2_048;

/// The series of each run as columns. Bins are equally wide in all of them, and no narrower than fits a page.
pub(crate) fn aligned(mut all: Vec<RunSeries>) -> Vec<SeriesResult> {
    let most = ALL_BINS_MAX / all.len().max(1);
    let widest = all.iter().map(RunSeries::width).max().unwrap_or(Nanos(1));
    all.iter_mut().for_each(|series| series.widen(widest));
    while let Some(long) = all.iter().find(|series| series.bins() > most.max(2)) {
        let width = long.width() * 2;
        all.iter_mut().for_each(|series| series.widen(width));
    }
    all.iter().map(RunSeries::result).collect()
}

impl Comparison {
    /// A row for each bin of each scheme: the scheme, when the bin begins and how wide it is, then the columns of
    /// `docs/spec/results.md`. No rows where the comparison has no time series.
    #[must_use]
    pub fn series_rows(&self) -> Vec<Row> {
        let rows = |(outcome, series): (&crate::Outcome, &SeriesResult)| {
            let row = |bin: usize| {
                let head =
                    [("scheme", json!(outcome.label)), ("time_s", json!(series.time_s[bin])), ("bin_s", json!(series.bin_s))];
                let head = head.into_iter().map(|(name, value)| (name.to_owned(), value));
                head.chain(series.columns.iter().map(|column| (column.name.clone(), json!(column.values[bin])))).collect()
            };
            (0..series.time_s.len()).map(row).collect::<Vec<Row>>()
        };
        self.outcomes.iter().zip(&self.series).flat_map(rows).collect()
    }
}

/// Writes the time series of all schemes as one Parquet file.
///
/// # Errors
/// A file that cannot be written.
pub fn write_series(comparison: &Comparison, file: &Path) -> Result<(), Problem> {
    let bytes = crate::parquet_bytes(&Columns::of(&comparison.series_rows()));
    std::fs::write(file, bytes).map_err(|e| Problem::new("--series", format!("{} cannot be written: {e}", file.display())))
}
