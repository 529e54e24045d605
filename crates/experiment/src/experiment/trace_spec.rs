//! The workload of an experiment: where it comes from, what of it is taken, and when its requests come.

use crate::flow_spec::FlowsBy;
use crate::textual::Arrival;
use common::{Problem, path_of, path_text, printable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Nanos;

/// Settings that are lists of recordings.
pub(crate) const LISTS: [&str; 2] = ["trace.then", "trace.beside"];

/// Requests of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSpec {
    /// A bundled trace, a generator, the path of a trace, or a command line of fio, such as `fio --rw=randread --size=1g`.
    pub source: String,
    /// Format of a trace file by registry name, or `auto`.
    pub format: String,
    /// Which action of a blkparse file counts as the request: `Q`, `D` or `C`.
    pub blk_action: String,
    /// Times the trace is repeated.
    pub loops: u32,
    /// How requests arrive: `auto`, `half-busy`, `recorded`, `load=SHARE`, `scaled=FACTOR` or `closed=QUEUE_DEPTH`. `load=30%`
    /// multiplies times by one factor such that dies of the busiest scheme work 30 % of the time, found in runs ahead; `auto` and `half-busy` by one such that
    /// the drives are not overloaded. `recorded` keeps the load of generators.
    #[schemars(extend("x-valid" = "`load=` 10^-6 to 1, `scaled=` above 0 to 10^9, `closed=` 1 to 65,536"))]
    pub arrival: Arrival,
    /// How recorded addresses become addresses of the drive.
    pub addresses: Addresses,
    /// Longest gap between two requests of a trace; longer ones are clipped to it. Unset: all gaps stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("formatMinimum" = Nanos(1_000), "formatMaximum" = Nanos::SETTING_MAX))]
    pub max_gap: Option<Nanos>,
    /// Share of a recording's writes that is kept, spread evenly over it. Unset: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub keep_writes: Option<f64>,
    /// Device whose requests are taken, numbered from 0 in order of appearance. Unset: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// Time of the first request that is taken, counted from the start. Unset: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-valid" = "up to 73 years"))]
    pub since: Option<Nanos>,
    /// Time before which requests are taken, counted from the start. Unset: to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-valid" = "up to 73 years"))]
    pub until: Option<Nanos>,
    /// Requests that are left out at the start.
    #[serde(skip_serializing_if = "is_zero")]
    pub skip: u64,
    /// Number of requests after which the workload ends. Unset: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Recordings that follow the first, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-valid" = "63 recordings in all"))]
    pub then: Vec<String>,
    /// Recordings beside the first, from its start on, merged by time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-valid" = "63 recordings in all"))]
    pub beside: Vec<String>,
    /// Whose places the addresses of several recordings are.
    #[serde(skip_serializing_if = "is_auto")]
    pub ranges: RangesSpec,
    /// In which order the requests of a recording come.
    #[serde(skip_serializing_if = "is_recorded")]
    #[schemars(extend("x-valid" = "`sorted` takes up to 4,194,304 requests of each recording"))]
    pub order: Order,
    /// Columns of a CSV file in order, such as `time=us,op=0:read,1:write,lba=bytes,size=bytes`. Unset: as the format defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-valid" = "up to 64 columns: `time`, `op`, `lba` and `size` once each, `device` and `stream` at most once; up to 64 words behind `op=`; a stream is 0 to 7, or nothing"))]
    pub columns: Option<String>,
    /// Flows of a recording, each with figures of its own: `one`, one for each `device`, or one for each `stream` that writes name.
    #[serde(skip_serializing_if = "FlowsBy::is_one")]
    #[schemars(extend("x-valid" = "`device` and `stream` of recordings only"))]
    pub flows: FlowsBy,
}

/// How recorded addresses become addresses of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Addresses {
    /// Compact where the capacity follows the trace, else fold.
    Auto,
    /// The touched pages side by side, in order of address.
    Compact,
    /// As recorded, modulo the user capacity.
    Fold,
}

/// Whose places the addresses of several recordings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RangesSpec {
    /// Recordings that follow the first are of its devices, those beside it of their own.
    Auto,
    /// Each recording has devices of its own.
    Separate,
    /// All are of the devices of the first.
    Same,
}

/// In which order the requests of a recording come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they are written: what is up to a second late is sorted, what is later is moved to the time of the one before it.
    Recorded,
    /// All by their times, in memory: four million requests at most.
    Sorted,
}

impl TraceSpec {
    /// The problem of a workload without a request: the settings that leave requests out, where there are any.
    pub(crate) fn leaves_nothing(&self, is_generated: bool) -> Problem {
        let settings = [
            ("device", self.device.is_some()),
            ("since", self.since.is_some()),
            ("until", self.until.is_some()),
            ("skip", self.skip > 0),
            ("first", self.first.is_some()),
        ];
        let used = settings.iter().filter(|(_, is_used)| *is_used).map(|(name, _)| format!("`trace.{name}`"));
        let used = used.collect::<Vec<_>>().join(", ");
        match (used.as_str(), is_generated) {
            ("", true) => Problem::new("generate.requests", "found 0 requests, at least 1 is needed"),
            ("", false) => Problem::new("trace.source", "found 0 requests, at least 1 is needed"),
            _ => {
                let source = printable(&self.source);
                let text = format!(
                    "{used}: no request of `{source}` is left; `flashkeep inspect` prints how many it has, its duration and devices"
                );
                Problem::new("trace", text)
            }
        }
    }
}

impl Default for TraceSpec {
    fn default() -> Self {
        Self {
            source: "pgbench".into(),
            format: "auto".into(),
            blk_action: "D".into(),
            loops: 1,
            arrival: Arrival::Auto,
            addresses: Addresses::Auto,
            max_gap: None,
            keep_writes: None,
            device: None,
            since: None,
            until: None,
            skip: 0,
            first: None,
            then: Vec::new(),
            beside: Vec::new(),
            ranges: RangesSpec::Auto,
            order: Order::Recorded,
            columns: None,
            flows: FlowsBy::One,
        }
    }
}

impl TraceSpec {
    /// Makes paths absolute: the effective experiment may be run from anywhere.
    pub(crate) fn settle_paths(&mut self) {
        for source in [&mut self.source].into_iter().chain(&mut self.then).chain(&mut self.beside) {
            if !crate::source::is_name(source)
                && let Ok(path) = std::path::absolute(path_of(source))
            {
                *source = path_text(path);
            }
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_auto(ranges: &RangesSpec) -> bool {
    *ranges == RangesSpec::Auto
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_recorded(order: &Order) -> bool {
    *order == Order::Recorded
}
