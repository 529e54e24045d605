//! Outcome of a scheme: figures of its run, and of each flow with its loss to the others.

use experiment::flow::{clock_words, host_clock};
use experiment::{Experiment, Flow, PlannedDrive};
use ssd::protect::SchemeChoice;
use ssd::{FlowResult, RunResult, Standing};

/// Flows that rows of sweeps and tables show.
pub const FLOWS_SHOWN: usize = 16;

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
    /// Why its slowdown is none of what the others cost it; `None`: it is.
    pub doubt: Option<&'static str>,
}

/// The reasons for a doubt.
const PILED_UP: &str = "its requests piled up beside the others";
const PILED_UP_ALONE: &str = "its requests piled up alone, too";
const BEHIND: &str = "flows before it ran on the drive first, and did not where it ran alone";
const DIED: &str = "a die failed in one of the two runs, or in both at different times";

impl FlowOutcome {
    /// The flows of a run.
    pub(crate) fn all(flows: &[Flow], experiment: &Experiment, run: &RunResult, alone: Vec<FlowResult>) -> Vec<Self> {
        let mut alone = alone.into_iter();
        let faults = &experiment.faults;
        let fails_at = faults.dead_die.map(|_| faults.dead_die_at_request).filter(|at| *at > 0);
        let outcome = |(flow, result): (&Flow, &FlowResult)| {
            let alone = alone.next();
            // Requests are counted in each run by themselves.
            let fails = |requests: u64| fails_at.is_some_and(|at| at < requests);
            let doubt = alone.as_ref().and_then(|alone| match () {
                () if fails(run.host.all_requests()) || fails(alone.all_requests()) => Some(DIED),
                () if flow.stage > 0 => Some(BEHIND),
                () if alone.saturated => Some(PILED_UP_ALONE),
                () if result.saturated => Some(PILED_UP),
                () => None,
            });
            let clock = clock_words(host_clock(flow, experiment.trace.arrival));
            Self { name: flow.name.clone(), clock, result: result.clone(), alone, doubt }
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

/// Outcome of one scheme.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its ECC policy.
    pub ecc_policy: String,
    /// The scheme as the experiment names it, its own ECC policy included.
    pub label: String,
    /// The scheme and its options.
    pub choice: SchemeChoice,
    /// Its drive.
    pub planned: PlannedDrive,
    /// Result of the run.
    pub result: RunResult,
    /// Figures of each flow of the workload; nothing where there is one.
    pub flows: Vec<FlowOutcome>,
    /// Losses that the drive would survive at the end of the run.
    pub standing: Standing,
    /// Wall-clock seconds of preconditioning and ageing.
    pub prepare_wall_s: f64,
    /// Wall-clock seconds of the run.
    pub wall_s: f64,
    /// Peak resident memory of the whole process when the scheme was done, in MiB.
    pub peak_rss_mib: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::Latency;

    fn flow(mean: f64, alone: Option<f64>) -> FlowOutcome {
        let of = |mean| FlowResult { latency_us: Latency { count: 1, mean, ..Latency::default() }, ..FlowResult::default() };
        FlowOutcome { name: String::new(), clock: String::new(), result: of(mean), alone: alone.map(of), doubt: None }
    }

    #[test]
    fn fairness_is_the_least_slowdown_over_the_greatest() {
        let flows = [flow(30.0, Some(10.0)), flow(8.0, Some(4.0)), flow(9.0, Some(2.0))];
        assert_eq!(flows.iter().filter_map(FlowOutcome::slowdown).collect::<Vec<_>>(), [3.0, 2.0, 4.5]);
        assert_eq!(fairness(&flows), Some(2.0 / 4.5));
        assert_eq!(fairness(&[flow(1.0, Some(1.0)), flow(1.0, None)]), None);
    }
}
