//! Cautions about flows.

use crate::outcome::{FlowOutcome, Outcome};
use common::table::grouped;
use experiment::{Caution, Level, Workload};
use ssd::RunResult;

/// Cautions about the flows of a scheme.
pub(crate) fn cautions(scheme: &str, run: &RunResult, flows: &[FlowOutcome]) -> Vec<Caution> {
    let behind: Vec<String> = flows.iter().filter(|flow| flow.result.saturated).map(|flow| format!("`{}`", flow.name)).collect();
    if behind.is_empty() || run.replay.saturated {
        return Vec::new();
    }
    let text = format!(
        "`{scheme}` answered flow {} slower than its requests came: they piled up, and its latencies say how long it ran",
        behind.join(", ")
    );
    vec![Caution { level: Level::Warning, scheme: Some(scheme.into()), not_comparable: None, kind: "flow saturated", text }]
}

/// Where flows end in time, schemes answer different numbers of requests: what is a sum over a run is then a sum over other work.
pub(crate) fn ends_apart(workload: &Workload, outcomes: &[Outcome]) -> Option<Caution> {
    let of = |outcome: &Outcome| outcome.result.host.all_requests();
    let is_alike = outcomes.windows(2).all(|pair| of(&pair[0]) == of(&pair[1]));
    if is_alike || !workload.ends_in_time() {
        return None;
    }
    let counts: Vec<String> = outcomes.iter().map(|one| format!("`{}` {}", one.label, grouped(of(one)))).collect();
    let text = format!(
        "a flow with a queue ends in time, so schemes answered different numbers of requests ({}): energy and other sums are of that work, \
         so compare them for each request",
        counts.join(", ")
    );
    Some(Caution { level: Level::Warning, scheme: None, not_comparable: None, kind: "ends in time", text })
}
