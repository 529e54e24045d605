//! Figures of each flow, and its loss to the others.

use crate::caution::{Caution, Level};
use crate::compare::Outcome;
use crate::flows::{Flow, clock_words, host_clock};
use crate::table::grouped;
use crate::textual::Arrival;
use crate::workload::Workload;
use ssd::{FlowResult, RunResult};

/// Figures of a flow on a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// Its clock in words.
    pub clock: String,
    /// Beside the others.
    pub result: FlowResult,
    /// Alone on the same drive, where that was asked for.
    pub alone: Option<FlowResult>,
}

impl FlowOutcome {
    /// The flows of a run.
    pub(crate) fn all(flows: &[Flow], arrival: Arrival, run: &RunResult, alone: Vec<FlowResult>) -> Vec<Self> {
        let mut alone = alone.into_iter();
        let outcome = |(flow, result): (&Flow, &FlowResult)| Self {
            name: flow.name.clone(),
            clock: clock_words(host_clock(flow, arrival)),
            result: result.clone(),
            alone: alone.next(),
        };
        flows.iter().zip(&run.flows).map(outcome).collect()
    }

    /// Mean latency of its reads and writes over what it is alone; `None` where that was not asked, or there is none.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        let alone = self.alone.as_ref()?.latency_us;
        (alone.mean > 0.0 && self.result.latency_us.count > 0).then(|| self.result.latency_us.mean / alone.mean)
    }
}

/// The least slowdown of all flows over the greatest: 1 where all lose as much. `None` unless all are known.
#[must_use]
pub fn fairness(flows: &[FlowOutcome]) -> Option<f64> {
    let slowdowns: Option<Vec<f64>> = flows.iter().map(FlowOutcome::slowdown).collect();
    let slowdowns = slowdowns.filter(|all| all.len() > 1)?;
    let (least, most) = slowdowns.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &one| (least.min(one), most.max(one)));
    Some(least / most)
}

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
    let of = |outcome: &Outcome| outcome.result.host.requests.values().sum::<u64>();
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

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::Latency;

    fn flow(mean: f64, alone: Option<f64>) -> FlowOutcome {
        let of = |mean| FlowResult { latency_us: Latency { count: 1, mean, ..Latency::default() }, ..FlowResult::default() };
        FlowOutcome { name: String::new(), clock: String::new(), result: of(mean), alone: alone.map(of) }
    }

    #[test]
    fn fairness_is_the_least_slowdown_over_the_greatest() {
        let flows = [flow(30.0, Some(10.0)), flow(8.0, Some(4.0)), flow(9.0, Some(2.0))];
        assert_eq!(flows.iter().filter_map(FlowOutcome::slowdown).collect::<Vec<_>>(), [3.0, 2.0, 4.5]);
        assert_eq!(fairness(&flows), Some(2.0 / 4.5));
        assert_eq!(fairness(&[flow(1.0, Some(1.0)), flow(1.0, None)]), None);
    }
}
