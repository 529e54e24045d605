//! Flows as an experiment says them: `[[flow]]`, a generator each, and `trace.flows`.

use crate::generate::GenerateSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Nanos;

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
