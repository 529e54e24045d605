//! Cautions about flows.

use crate::outcome::{FlowOutcome, Outcome};
use common::table::grouped;
use experiment::{Caution, Level, Workload};
use ssd::RunResult;

/// Cautions about the flows of a scheme.
pub(crate) fn cautions(scheme: &str, run: &RunResult, flows: &[FlowOutcome]) -> Vec<Caution> {
    let mut cautions = doubted(scheme, flows);
    let behind: Vec<String> = flows.iter().filter(|flow| flow.result.saturated).map(|flow| format!("`{}`", flow.name)).collect();
    if behind.is_empty() || run.replay.saturated {
        return cautions;
    }
    let text = format!(
        "`{scheme}` answered flow {} slower than its requests came: they piled up, and its latencies say how long it ran",
        behind.join(", ")
    );
    cautions.push(warning(scheme, "flow saturated", text));
    cautions
}

fn warning(scheme: &str, kind: &'static str, text: String) -> Caution {
    Caution { level: Level::Warning, scheme: Some(scheme.into()), not_comparable: None, kind, text }
}

/// Cautions about slowdowns that are not the cost of the others, one for each reason.
fn doubted(scheme: &str, flows: &[FlowOutcome]) -> Vec<Caution> {
    let mut reasons: Vec<&str> = flows.iter().filter_map(|flow| flow.doubt).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let caution = |reason: &str| {
        let of: Vec<String> =
            flows.iter().filter(|flow| flow.doubt == Some(reason)).map(|flow| format!("`{}`", flow.name)).collect();
        let whose = if of.len() == 1 { "slowdown of flow" } else { "slowdowns of flows" };
        let text = format!(
            "the {whose} {} under `{scheme}`, marked with !, is not the cost of sharing the drive: {reason}",
            of.join(", ")
        );
        warning(scheme, "slowdown", text)
    };
    reasons.into_iter().map(caution).collect()
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
