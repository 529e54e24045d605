//! When host requests arrive: one clock for all schemes.

use crate::capacity::{refused, Plan};
use crate::experiment::Experiment;
use crate::problem::Problem;
use crate::textual::Arrival;
use crate::workload::Workload;
use ssd::protect::SchemeChoice;
use ssd::{Pace, Scheduler, Setup};
use vocab::Nanos;

/// Share of time in which `none` keeps its dies busy under [`Arrival::Auto`].
const BUSY_SHARE: f64 = 0.5;

/// Queue depth of [`Arrival::Auto`] where the workload has no times.
const DEPTH_WITHOUT_TIMES: u32 = 32;

/// The clock of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// How commands are handed to the drive.
    pub pace: Pace,
    /// What recorded times are multiplied by.
    pub factor: f64,
    /// The choice in words.
    pub said: String,
}

/// The setup of one scheme.
pub(crate) fn setup(experiment: &Experiment, plan: &Plan, drive: &ssd::Drive, scheme: SchemeChoice) -> Setup {
    let scheduler: Scheduler = experiment.scheduler;
    Setup {
        drive: drive.clone(),
        user_slots: plan.user_slots,
        scheme,
        gc: experiment.gc.clone(),
        wear: experiment.wear,
        buffer: experiment.buffer,
        scheduler,
        precondition: experiment.precondition,
        age: experiment.age,
        faults: experiment.faults,
        payload: experiment.payload,
        seed: experiment.seed,
    }
}

/// The factor at which dies that need `busy` in all are busy for half of `duration_s`;
/// at least 1, rounded up to two decimals so that it can be quoted.
#[must_use]
pub fn slowdown(busy: Nanos, dies: u32, duration_s: f64) -> f64 {
    let factor = busy.as_secs_f64() / (f64::from(dies) * BUSY_SHARE * duration_s);
    ((factor * 100.0 - 1e-9).ceil() / 100.0).max(1.0)
}

/// The clock of an experiment.
///
/// # Errors
/// What the dry run of `none` refuses.
pub fn clock(experiment: &Experiment, workload: &Workload, plan: &Plan) -> Result<Clock, Problem> {
    let open = |factor, said: String| Ok(Clock { pace: Pace::Open, factor, said });
    match experiment.trace.arrival {
        Arrival::Recorded => open(1.0, "at recorded times".into()),
        Arrival::Scaled(factor) => open(factor, format!("at recorded times x {factor}")),
        Arrival::Closed(depth) => {
            let said = format!("closed loop, queue depth {depth}; recorded times are ignored");
            Ok(Clock { pace: Pace::Closed { depth }, factor: 1.0, said })
        }
        Arrival::Auto if workload.duration_s() <= 0.0 => {
            let depth = DEPTH_WITHOUT_TIMES;
            let said = format!("closed loop, queue depth {depth}, because the workload has no times");
            Ok(Clock { pace: Pace::Closed { depth }, factor: 1.0, said })
        }
        Arrival::Auto => {
            let factor = auto_factor(experiment, workload, plan)?;
            let said = if factor > 1.0 {
                format!("at recorded times x {factor}: so slow that `none` keeps its dies half busy")
            } else {
                "at recorded times: `none` keeps its dies at most half busy".into()
            };
            open(factor, said)
        }
    }
}

fn auto_factor(experiment: &Experiment, workload: &Workload, plan: &Plan) -> Result<f64, Problem> {
    let choice = SchemeChoice::named("none");
    let setup = setup(experiment, plan, &plan.reference, choice.clone());
    let map = workload.map(experiment, plan.user_slots)?;
    let mut commands = workload.commands(&map, 1.0)?;
    let busy = ssd::busy_time(&setup, &mut commands).map_err(|e| refused(&choice, &e))?;
    commands.finish()?;
    Ok(slowdown(busy, plan.reference.geometry.dies(), workload.duration_s()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_slows_until_dies_are_half_busy_and_never_hastens() {
        // 8 dies for 10 s have 80 die-seconds; half of that is 40.
        assert_eq!(slowdown(Nanos(120_000_000_000), 8, 10.0), 3.0);
        assert_eq!(slowdown(Nanos(40_000_000_000), 8, 10.0), 1.0);
        assert_eq!(slowdown(Nanos(1), 8, 10.0), 1.0);
        // 121 / 40 = 3.025, rounded up.
        assert_eq!(slowdown(Nanos(121_000_000_000), 8, 10.0), 3.03);
    }
}
