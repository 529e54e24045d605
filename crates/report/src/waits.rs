//! Where the time of latencies went, as rows of tables.

use common::quantity::{micros, percent};
use common::table::Row;
use lab::waits::{KINDS, WORDS, mean_of, mean_us, over, share};
use lab::{FLOWS_SHOWN, FlowOutcome, Outcome};
use ssd::{ExplainedResult, WaitsResult};

/// A wait below this share of the latency is not worth a row of its own.
const WORTH_A_ROW: f64 = 0.05;

/// Rows that say where the time went: for each kind of requests the mean latency, then its greatest waits. `runs` has those
/// of each scheme.
pub(crate) fn rows(runs: &[Vec<&Outcome>]) -> Vec<Row> {
    let waits = runs.iter().map(|runs| over(runs)).collect::<Option<Vec<WaitsResult>>>();
    waits.map_or(Vec::new(), |waits| table("", &waits))
}

/// The same of each flow; no rows where there is one.
pub(crate) fn rows_of_flows(runs: &[Vec<&Outcome>]) -> Vec<Row> {
    let Some(first) = runs.first().and_then(|runs| runs.first()) else { return Vec::new() };
    let of = |runs: &Vec<&Outcome>, flow: usize| {
        mean_of(&runs.iter().map(|run| run.flows.get(flow)?.result.waits.as_ref()).collect::<Option<Vec<_>>>()?)
    };
    let rows = |(flow, one): (usize, &FlowOutcome)| {
        let waits = runs.iter().map(|runs| of(runs, flow)).collect::<Option<Vec<WaitsResult>>>();
        waits.map_or(Vec::new(), |waits| table(&format!("flow {}: ", one.name), &waits))
    };
    first.flows.iter().take(FLOWS_SHOWN).enumerate().flat_map(rows).collect()
}

/// Rows of these waits, one for each scheme; `of_whom` is before the title of each kind of requests.
fn table(of_whom: &str, waits: &[WaitsResult]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (_, title, of) in KINDS {
        let explained: Vec<&ExplainedResult> = waits.iter().map(of).collect();
        if explained.iter().all(|one| one.requests == 0) {
            continue;
        }
        let mut each = |label: String, cell: &dyn Fn(&ExplainedResult) -> String| {
            let cells = explained.iter().map(|one| if one.requests > 0 { cell(one) } else { "-".into() }).collect();
            rows.push(Row { label, cells });
        };
        each(format!("{of_whom}{title}, mean"), &|one| micros(mean_us(one)));
        let worth: Vec<_> =
            WORDS.iter().filter(|(name, _)| explained.iter().any(|one| share(one, name) >= WORTH_A_ROW)).collect();
        for (name, words) in &worth {
            each(format!("  {words}"), &|one| percent(share(one, name)));
        }
        each("  all else".into(), &|one| percent(1.0 - worth.iter().map(|(name, _)| share(one, name)).sum::<f64>().min(1.0)));
    }
    rows
}

/// A wait below this share of the slowest reads is left out of the first screen.
const WORTH_THE_SCREEN: f64 = 0.10;

/// Rows on what the slowest 1 % of reads wait for, greatest first; none where no one asked, or nothing was read.
pub(crate) fn slowest_reads(runs: &[Vec<&Outcome>]) -> Vec<Row> {
    let Some(waits) = runs.iter().map(|runs| over(runs)).collect::<Option<Vec<WaitsResult>>>() else { return Vec::new() };
    let slowest: Vec<&ExplainedResult> = waits.iter().map(|one| &one.slowest_reads).collect();
    let most = |name: &str| slowest.iter().map(|one| share(one, name)).fold(0.0, f64::max);
    let mut worth: Vec<_> = WORDS.iter().filter(|(name, _)| most(name) >= WORTH_THE_SCREEN).collect();
    worth.sort_by(|(one, _), (other, _)| most(other).total_cmp(&most(one)));
    let row = |(name, words): &&(&str, &str)| Row {
        label: format!("  {}", words.trim_start_matches("queued behind ").trim_start_matches("waiting for ")),
        cells: slowest.iter().map(|one| percent(share(one, name))).collect(),
    };
    worth.iter().map(row).collect()
}
