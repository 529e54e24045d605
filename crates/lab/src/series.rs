//! Time series of all runs of a comparison, at one resolution.

use ssd::{RunSeries, SeriesResult};
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
