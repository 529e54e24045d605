//! Workloads that a generator draws.

use crate::capacity::slots_without_workload;
use crate::experiment::Experiment;
use crate::flow_spec::NAME;
use crate::generate::ArrivalsSpec;
use crate::generate::GenerateSpec;
use crate::source::generator;
use common::Problem;
use std::collections::BTreeMap;
use trace::Tape;
use trace::flows::{Flow, Flows, Requests};
use trace::generate::GeneratorKind;
use trace::generate::{GENERATORS, GenerateError};
use vocab::{Nanos, Streams};

/// Whether the workload of the experiment is generated.
pub fn is_generated(experiment: &Experiment) -> bool {
    generator(&experiment.trace.source).is_some()
}

/// The workload of a generator on the experiment's drive.
pub(crate) fn generated_workload(experiment: &Experiment, options: &GenerateSpec) -> Result<trace::generate::Workload, Problem> {
    let slot_size = experiment.drive.geometry.slot_size;
    let slots = options.slots(slot_size, || slots_without_workload(experiment))?;
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
        let workload = generated_workload(experiment, &spec.generate)?;
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
