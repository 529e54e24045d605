//! Time series of all runs of a comparison, at one resolution.

use ssd::{RunSeries, SeriesColumn, SeriesResult};
use vocab::Nanos;

/// Bins of all runs together, at most: what a page can show, and a report can carry.
const ALL_BINS_MAX: usize = 2_048;

/// Bins of a picture of flows, at most: each is to have many requests.
const DRAWN_BINS_MAX: usize = 80;

/// Series of a run, and of each of its flows alone where these ran.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub run: RunSeries,
    pub alone: Vec<RunSeries>,
}

impl Recorded {
    fn each(&mut self) -> impl Iterator<Item = &mut RunSeries> {
        std::iter::once(&mut self.run).chain(&mut self.alone)
    }

    /// Its columns; those of a flow alone are behind all others, by the time since its own first request.
    fn result(&self) -> SeriesResult {
        let mut series = self.run.result();
        let alone: Vec<SeriesResult> = self.alone.iter().map(RunSeries::result).collect();
        if let Some(longest) = alone.iter().map(|one| &one.time_s).max_by_key(|times| times.len()) {
            let known = series.time_s.len();
            series.time_s.extend(longest.iter().skip(known));
        }
        for (flow, one) in alone.into_iter().enumerate() {
            let own = one.columns.into_iter().filter_map(|column| {
                let rest = column.name.strip_prefix("flow_0_")?;
                Some(SeriesColumn { name: format!("flow_{flow}_alone_{rest}"), values: column.values })
            });
            series.columns.extend(own);
        }
        let bins = series.time_s.len();
        series.columns.iter_mut().for_each(|column| column.values.resize(bins, None));
        series
    }
}

/// The series of each run as columns. Bins are equally wide in all of them, and no narrower than fits a page.
pub(crate) fn aligned(mut all: Vec<Recorded>) -> Vec<SeriesResult> {
    let most = ALL_BINS_MAX / all.len().max(1);
    widen(&mut all, most);
    all.iter().map(Recorded::result).collect()
}

/// The same for a picture of flows: bins that are wide enough for percentiles.
pub(crate) fn drawn(all: &[Recorded]) -> Vec<SeriesResult> {
    let mut all = all.to_vec();
    widen(&mut all, DRAWN_BINS_MAX);
    all.iter().map(Recorded::result).collect()
}

/// Gives all series bins of one width, so wide that each run has at most `most` bins.
fn widen(all: &mut [Recorded], most: usize) {
    let mut width = all.iter_mut().flat_map(Recorded::each).map(|series| series.width()).max().unwrap_or(Nanos(1));
    all.iter_mut().flat_map(Recorded::each).for_each(|series| series.widen(width));
    while all.iter().any(|one| one.run.bins() > most.max(2)) {
        width = width * 2;
        all.iter_mut().flat_map(Recorded::each).for_each(|series| series.widen(width));
    }
}
