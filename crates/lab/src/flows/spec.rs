//! Flows as an experiment says them: `[[flow]]`, a generator each, and `trace.flows`.

use crate::experiment::Experiment;
use crate::generate::{ArrivalsSpec, GenerateSpec};
use crate::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace::flows::{Flow, Flows, Requests};
use trace::generate::{GENERATORS, GenerateError};
use vocab::{Nanos, Streams};

/// Name of the source, and of the format, of a workload of `[[flow]]`.
pub(crate) const NAME: &str = "flows";

/// How a recording is divided into flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowsBy {
    /// It is one.
    #[default]
    One,
    /// Each of its devices is a flow.
    Device,
    /// Each stream that its writes name is a flow.
    Stream,
}

impl FlowsBy {
    /// True if nothing was said.
    pub(crate) fn is_one(&self) -> bool {
        *self == Self::One
    }
}

impl std::fmt::Display for FlowsBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::One => "one",
            Self::Device => "device",
            Self::Stream => "stream",
        })
    }
}

/// One of several generators that share the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Its name in results.
    pub name: String,
    /// A generator.
    pub source: String,
    /// Requests of this flow that are unanswered at most; `None`: they come at the times that `generate.arrivals` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// It ends at this time behind its first request, or with `generate.requests`; `None`: with these alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Nanos>,
    /// Flows that name the same space share their addresses; `None`: it has a space of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Options of the generator.
    #[serde(default)]
    pub generate: GenerateSpec,
}

/// The workload of `[[flow]]`.
///
/// # Errors
/// A flow with a setting that is refused.
pub(crate) fn described(experiment: &Experiment) -> Result<Flows, Problem> {
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
        let workload = crate::workload::generated_workload(experiment, &spec.generate)?;
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
