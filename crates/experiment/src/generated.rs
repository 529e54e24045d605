//! Workloads that a generator draws.

use crate::capacity::slots_without_workload;
use crate::experiment::Experiment;
use crate::flow_spec::NAME;
use crate::generate::ArrivalsSpec;
use crate::generate::GenerateSpec;
use crate::source::generator;
use crate::textual::{AddressRange, Size};
use common::Problem;
use std::collections::BTreeMap;
use trace::Tape;
use trace::flows::{Flow, Flows, Requests};
use trace::generate::GeneratorKind;
use trace::generate::{GENERATORS, GenerateError};
use vocab::{Bytes, Nanos, Streams};

/// Whether the workload of the experiment is generated.
pub fn is_generated(experiment: &Experiment) -> bool {
    generator(&experiment.trace.source).is_some()
}

/// The workload of a generator on the experiment's drive.
pub(crate) fn generated_workload(experiment: &Experiment, options: &GenerateSpec) -> Result<trace::generate::Workload, Problem> {
    workload_on(experiment, options, || slots_without_workload(experiment))
}

/// The workload of a generator where the host may store this many slots.
fn workload_on(
    experiment: &Experiment,
    options: &GenerateSpec,
    host_slots: impl FnOnce() -> Result<u64, Problem>,
) -> Result<trace::generate::Workload, Problem> {
    let slot_size = experiment.drive.geometry.slot_size;
    let slots = options.slots(slot_size, host_slots)?;
    Ok(options.workload(slot_size, slots))
}

/// The tape of a generator.
pub(crate) fn generated(kind: &'static GeneratorKind, workload: trace::generate::Workload, seed: u64) -> Result<Tape, Problem> {
    use trace::generate::GenerateError;
    Tape::generated(kind, workload, seed).map_err(|error| match error {
        GenerateError::Field { field: "slots", found, wanted } => {
            Problem::new("generate.range", format!("found {found} slots, wanted {wanted}"))
        }
        GenerateError::Field { field, found, wanted } => {
            Problem::new(format!("generate.{field}"), format!("found {found}, wanted {wanted}"))
        }
        unknown @ GenerateError::Unknown { .. } => Problem::new("trace.source", unknown.to_string()),
    })
}

/// Slots that the host may store where the workload is these flows: of a drive that follows the workload, as many as the spaces of all
/// flows need, so that a share is one of the same number.
///
/// # Errors
/// Shares that are more than all of it.
fn host_slots(experiment: &Experiment) -> Result<u64, Problem> {
    let slot_size = experiment.drive.geometry.slot_size.0;
    // The greatest range of each space: a share, and slots.
    let mut spaces = BTreeMap::<(Option<&str>, usize), (f64, u64)>::new();
    for (index, spec) in experiment.flow.iter().enumerate() {
        let own = if spec.space.is_some() { 0 } else { index };
        let (share, slots) = spaces.entry((spec.space.as_deref(), own)).or_default();
        match spec.generate.range {
            AddressRange::Percent(percent) => *share = share.max(percent / 100.0),
            AddressRange::Of(Bytes(bytes)) => *slots = (*slots).max(bytes / slot_size),
        }
    }
    let shares: f64 = spaces.values().map(|(share, _)| share).sum();
    let slots: u64 = spaces.values().filter(|(share, _)| *share == 0.0).map(|(_, slots)| slots).sum();
    let is_auto = experiment.capacity.size == Size::Auto;
    if shares > 1.0 + 1e-9 || is_auto && slots > 0 && shares > 1.0 - 1e-9 {
        let beside = if shares > 1.0 + 1e-9 { "" } else { ", and other flows have ranges of bytes" };
        let message = format!(
            "the shares of all spaces add up to {:.4}% of what the host may store{beside}; valid is up to 100%, or one `space` for \
             flows that share their addresses",
            shares * 100.0
        );
        return Err(Problem::new("flow.generate.range", message));
    }
    let least = slots_without_workload(experiment)?;
    Ok(if is_auto { least.max((slots as f64 / (1.0 - shares).max(1e-9)).ceil() as u64) } else { least })
}

/// The workload of `[[flow]]`.
///
/// # Errors
/// A flow with a setting that is refused.
pub(crate) fn of_flows(experiment: &Experiment) -> Result<Flows, Problem> {
    let mut flows = Flows { format: NAME, ..Flows::default() };
    let mut spaces = BTreeMap::<&str, u32>::new();
    for (index, spec) in experiment.flow.iter().enumerate() {
        let bad =
            |field: &str, message: String| Problem::new(format!("flow.{field}"), format!("of flow `{}`: {message}", spec.name));
        if spec.name.is_empty() || experiment.flow[..index].iter().any(|other| other.name == spec.name) {
            return Err(bad("name", "each flow needs a name of its own".into()));
        }
        let Some(kind) = GENERATORS.iter().find(|kind| kind.name == spec.source) else {
            let known: Vec<&str> = GENERATORS.iter().map(|kind| kind.name).collect();
            return Err(Problem::unknown("flow.source", "generator", &spec.source, &known));
        };
        let depth = match (spec.depth, spec.generate.arrivals) {
            (Some(0), _) | (Some(65_537..), _) => return Err(bad("depth", "valid is 1 to 65536".into())),
            (Some(_), ArrivalsSpec::Every(_) | ArrivalsSpec::Poisson(_)) => {
                return Err(bad("depth", "a flow has a depth, or the times of `generate.arrivals`".into()));
            }
            (None, ArrivalsSpec::AtOnce) => return Err(bad("depth", "wanted a depth, or times in `generate.arrivals`".into())),
            (depth, _) => depth,
        };
        if spec.until == Some(Nanos(0)) {
            return Err(bad("until", "valid is above 0s".into()));
        }
        let workload = workload_on(experiment, &spec.generate, || host_slots(experiment))?;
        kind.generate(&workload, Streams::new(experiment.seed).stream("generate")).map_err(|error| match error {
            GenerateError::Field { field, found, wanted } => bad("generate", format!("{field}: found {found}, wanted {wanted}")),
            unknown @ GenerateError::Unknown { .. } => bad("source", unknown.to_string()),
        })?;
        let own = flows.extents.len() as u32;
        let device = spec.space.as_deref().map_or(own, |space| *spaces.entry(space).or_insert(own));
        let bytes = (workload.first_slot + workload.slots) * workload.slot_size.0;
        flows.extents.resize(flows.extents.len().max(device as usize + 1), 0);
        let extent = &mut flows.extents[device as usize];
        *extent = (*extent).max(bytes);
        flows.flows.push(Flow {
            name: spec.name.clone(),
            devices: vec![device],
            stage: 0,
            delay: Nanos(0),
            requests: Requests::Generated { kind, workload: Box::new(workload), depth, until: spec.until },
        });
    }
    Ok(flows)
}
