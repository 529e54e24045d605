//! Sentences about a comparison: what was held equal, notes, and cautions.

use super::Outcome;
use crate::clock::Clock;
use crate::flows;
use common::quantity::mib;
use experiment::textual::BufferSize;
use experiment::{Caution, Experiment, Fairness, Plan, PlannedDrive, TraceFacts, Workload};
use ssd::{Buffer, BufferKind, Pace};
use vocab::Bytes;

fn user_capacity(experiment: &Experiment, user_slots: u32) -> String {
    mib(Bytes(u64::from(user_slots) * experiment.drive.geometry.slot_size.0))
}

/// A caution where the workload is larger than the drive: more of its writes hit the same pages, and the write buffer.
fn folded(experiment: &Experiment, workload: &Workload, user_slots: u32) -> Option<Caution> {
    let text = format!(
        "the workload is larger than the {} that the host may use: its addresses are taken modulo this, which makes it another workload. \
         `--capacity auto` gives it a drive that holds it",
        user_capacity(experiment, user_slots)
    );
    let level = experiment::Level::Warning;
    let caution = Caution { level, scheme: None, not_comparable: None, kind: "folded", text };
    workload.folds(experiment, user_slots).then_some(caution)
}

/// A caution where a die is to die before a request that the workload does not reach.
fn no_death(experiment: &Experiment, outcomes: &[Outcome]) -> Option<Caution> {
    let (die, at) = (experiment.faults.dead_die?, experiment.faults.dead_die_at_request);
    let requests = outcomes.iter().map(|outcome| outcome.result.host.all_requests()).max()?;
    let text = format!(
        "die {die} does not die: `faults.dead_die_at_request` is {at}, and the workload has {requests} requests. The results are those of \
         a drive that is whole"
    );
    let caution = Caution { level: experiment::Level::Warning, scheme: None, not_comparable: None, kind: "no die died", text };
    (at > 0 && at >= requests).then_some(caution)
}

/// A caution where a recording was to be divided into flows, and is one.
fn one_flow(experiment: &Experiment, workload: &Workload) -> Option<Caution> {
    let by = experiment.trace.flows;
    let text = format!("`trace.flows` is {by}, and the recording names one {by} or none: it is replayed as one flow");
    let is_one = by != experiment::FlowsBy::One && workload.flows().is_empty();
    let level = experiment::Level::Warning;
    is_one.then_some(Caution { level, scheme: None, not_comparable: None, kind: "one flow", text })
}

pub(super) fn fairness(experiment: &Experiment, plan: &Plan, clock: &Clock, outcomes: &[Outcome]) -> Vec<String> {
    let user = user_capacity(experiment, plan.user_slots);
    let flash = match experiment.capacity.fairness {
        Fairness::EqualRaw => {
            let raw = mib(plan.reference.geometry.raw_size());
            format!("equal raw flash ({raw}) and equal user capacity ({user}) for every scheme: parity reduces over-provisioning")
        }
        Fairness::EqualOp => format!(
            "equal user capacity ({user}) and equal over-provisioning after parity for every scheme: \
             raw flash for redundancy comes on top"
        ),
    };
    vec![
        format!("capacity: {flash}"),
        format!("write buffer: the same for every scheme, {}", buffer_words(experiment)),
        format!(
            "history: one seed ({}) and one preconditioning rule for every scheme; `--seeds 5` says how much of the figures is chance",
            experiment.seed
        ),
        format!("arrival: one clock for every scheme, {}; measured: {}", clock.said, crate::clock::measured(clock, outcomes)),
    ]
}

/// Kind and behaviour of the write buffer.
#[must_use]
pub fn buffer_words(experiment: &Experiment) -> String {
    let drive = experiment.drive.drive();
    let mut size = experiment.buffer.on(&drive).size.to_string();
    if experiment.buffer.size == BufferSize::Auto {
        let arithmetic = format!(
            "{} program units of {} for each of {} dies",
            Buffer::UNITS_PER_DIE,
            Buffer::program_unit(&drive),
            drive.geometry.dies()
        );
        let least = format!("the least for {arithmetic}");
        let is_least = experiment.buffer.on(&drive).size == Buffer::USUAL_LEAST;
        size = format!("{size} ({})", if is_least { least } else { arithmetic });
    }
    match experiment.buffer.kind {
        BufferKind::Off => "none: writes are answered when flash has them".into(),
        BufferKind::Volatile => {
            format!("volatile, {size}: writes are answered at once and are lost with the power until they are flushed")
        }
        BufferKind::Plp => {
            format!("PLP, {size}: writes are answered at once, power cuts lose none of them")
        }
    }
}

/// Share of what the host may use that the workload may touch.
pub(super) fn touched_share(workload: &Workload, plan: &Plan) -> f64 {
    (workload.touched() as f64 / f64::from(plan.user_slots.max(1))).min(1.0)
}

/// Share of the user capacity that is as good as all of it.
const ALL_TOUCHED: f64 = 0.99;

pub(super) fn notes(experiment: &Experiment, workload: &Workload, plan: &Plan, outcomes: &[Outcome]) -> Vec<String> {
    let mut notes: Vec<String> = experiment.left_out.iter().chain(&experiment.hints).cloned().collect();
    if plan.added_blocks > 0 {
        notes.push(format!(
            "capacity: {} more blocks per plane than over-provisioning asks for, the least with which garbage collection has room",
            plan.added_blocks
        ));
    }
    notes.push(format!(
        "life: of the flash of each scheme as replayed ({} for `{}`), {} rated P/E cycles, wear even over blocks; \
         N times the flash lasts N times as long",
        mib(plan.drives[0].drive.geometry.raw_size()),
        experiment::label::shown(&experiment.schemes[0]),
        experiment.drive.endurance.0
    ));
    let touched = touched_share(workload, plan);
    if touched < ALL_TOUCHED {
        notes.push(format!(
            "workload: it touches {} of the {} that the host may use; the rest is cold data, which preconditioning wrote",
            common::quantity::percent(touched),
            user_capacity(experiment, plan.user_slots)
        ));
    }
    if experiment.alone && workload.flows().len() < 2 {
        notes.push("alone: the workload is one flow, which runs alone as it is".into());
    }
    notes.extend(warmed(outcomes));
    notes.extend(workload.notes().iter().map(|note| format!("workload: {note}")));
    let facts = workload.facts();
    if facts.ignored_lines > 0 {
        notes.push(format!("trace: {} lines ask for nothing and are left out", facts.ignored_lines));
    }
    if facts.clamped > 0 {
        notes.push(format!("trace: {} requests out of order are moved to the time of the one before", facts.clamped));
    }
    if facts.clipped_gaps > 0 {
        let gaps = if facts.clipped_gaps == 1 {
            "one gap between requests is".into()
        } else {
            format!("{} gaps between requests are", facts.clipped_gaps)
        };
        notes.push(format!(
            "trace: {gaps} clipped to trace.max_gap; {} in all left out",
            common::quantity::seconds(facts.clipped_s)
        ));
    }
    if facts.loops > 1 {
        notes.push(format!("trace: repeated {} times", facts.loops));
    }
    notes
}

/// How much of the workload was replayed before it was measured; `None` where nothing was.
fn warmed(outcomes: &[Outcome]) -> Option<String> {
    let of = |outcome: &Outcome| {
        let (warm_up, measured) = (&outcome.result.warm_up, outcome.result.host.all_requests());
        let waf = warm_up.waf.filter(|_| warm_up.pages > 0)?;
        let pages = common::table::grouped(warm_up.pages);
        let share = common::quantity::percent(measured as f64 / (measured + warm_up.requests).max(1) as f64);
        Some(format!(
            "{pages} pages under `{}` (then write amplification was {waf:.2}, and {share} of all requests are measured)",
            outcome.label
        ))
    };
    let told: Vec<String> = outcomes.iter().filter_map(of).collect();
    (!told.is_empty()).then(|| format!("warm-up: before it is measured the workload wrote {}", told.join(", ")))
}

/// Reasons to trust numbers less: of each run, then of the workload.
pub(super) fn cautions(
    experiment: &Experiment,
    workload: &Workload,
    (facts, user_slots): (&TraceFacts, u32),
    clock: &Clock,
    outcomes: &[Outcome],
) -> Vec<Caution> {
    let mut cautions: Vec<Caution> =
        outcomes.iter().flat_map(|outcome| crate::cautions::implied(&outcome.label, &outcome.result)).collect();
    if matches!(clock.pace, Pace::Closed { .. }) {
        cautions.extend(outcomes.iter().filter_map(|outcome| crate::cautions::idle_dies(&outcome.label, &outcome.result)));
    }
    cautions.extend(outcomes.iter().flat_map(|outcome| flows::cautions(&outcome.label, &outcome.result, &outcome.flows)));
    let remedy = crate::bearing::remedy(experiment, workload);
    cautions.extend(outcomes.iter().filter_map(|outcome| crate::bearing::caution(outcome, user_slots, remedy)));
    let planned: Vec<&PlannedDrive> = outcomes.iter().map(|outcome| &outcome.planned).collect();
    cautions.extend(experiment::capacity::caution(experiment, &planned));
    cautions.extend(crate::clock::rescaled(experiment, clock));
    cautions.extend(crate::clock::gap(experiment, facts));
    cautions.extend(folded(experiment, workload, user_slots));
    cautions.extend(no_death(experiment, outcomes));
    cautions.extend(one_flow(experiment, workload));
    cautions.extend(facts.doubts.iter().map(|text| Caution {
        level: experiment::Level::Warning,
        scheme: None,
        not_comparable: None,
        kind: "units",
        text: format!("the workload: {text}"),
    }));
    cautions.sort_by_key(|caution| caution.level);
    cautions
}
