//! `[generate]`: what a generated workload looks like.

use crate::textual::AddressRange;
use common::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trace::generate::{Arrivals, Mobile, Placement, Workload};
use vocab::{Bytes, Nanos};

/// Options of a generator. `flashkeep list generators` says which of them each generator uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GenerateSpec {
    /// Number of requests.
    #[schemars(extend("x-valid" = "up to 10^12"))]
    pub requests: u64,
    /// Addresses that requests go to, from 0 on: a size, or a share of the user capacity.
    pub range: AddressRange,
    /// Share of reads among requests.
    pub read_fraction: f64,
    /// Size of every request, for generators with one size, and of every write of `mobile-like`.
    pub request_size: Bytes,
    /// Sizes and weights, for `mixed`.
    #[schemars(extend("x-valid" = "weights of 0 to 10^9, not all of them 0, whatever generator is used"))]
    pub sizes: Vec<(Bytes, f64)>,
    /// Skew of `zipf`.
    pub theta: f64,
    /// Share of the requests of `zipf` that begin where the one before ended.
    pub sequential: f64,
    /// Share of the range that is hot, for `hot-cold`.
    pub hot_pages: f64,
    /// Share of requests that go there, for `hot-cold`.
    pub hot_requests: f64,
    /// Places of popular addresses, for `zipf` and `hot-cold`.
    pub placement: PlacementSpec,
    /// Streams that writes name: under `hot-cold` stream 0 is hot and the others share the cold slots; else each has an equal
    /// part of the range.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = vocab::StreamId::COUNT_MAX as u32))]
    pub streams: u32,
    /// Options of `mobile-like`; written down where one of them is not the default.
    #[serde(skip_serializing_if = "is_usual")]
    pub mobile: Mobile,
    /// Arrival times: `"at-once"`, `{ every = "100us" }` or, a Poisson process with this mean gap, `{ poisson = "100us" }`.
    #[schemars(extend("x-valid" = "requests times gap up to 73 years"))]
    pub arrivals: ArrivalsSpec,
}

fn is_usual(options: &Mobile) -> bool {
    *options == Mobile::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(streams: &u32) -> bool {
    *streams == 1
}

/// Where popular addresses lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementSpec {
    /// Spread over the range.
    Scattered,
    /// In one piece at the start of the range.
    Clustered,
}

/// When generated requests arrive: `"at-once"`, `{ every = "100us" }` or `{ poisson = "100us" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalsSpec {
    /// All at time 0: for a closed loop.
    AtOnce,
    /// One after each such interval.
    Every(Nanos),
    /// A Poisson process with this mean gap.
    Poisson(Nanos),
}

impl Default for GenerateSpec {
    fn default() -> Self {
        let workload = Workload::default();
        Self {
            requests: workload.requests,
            range: AddressRange::Of(Bytes(workload.slots * workload.slot_size.0)),
            read_fraction: workload.read_fraction,
            request_size: workload.request_size,
            sizes: workload.sizes,
            theta: workload.theta,
            sequential: workload.sequential,
            hot_pages: workload.hot_pages,
            hot_requests: workload.hot_requests,
            placement: PlacementSpec::Scattered,
            streams: workload.streams,
            mobile: Mobile::default(),
            arrivals: ArrivalsSpec::AtOnce,
        }
    }
}

impl GenerateSpec {
    /// Slots of the range, rounded down. `host_slots`: those that the host may use, asked where the range is a share of them.
    ///
    /// # Errors
    /// A problem that `host_slots` finds.
    pub fn slots(&self, slot_size: Bytes, host_slots: impl FnOnce() -> Result<u64, Problem>) -> Result<u64, Problem> {
        match self.range {
            AddressRange::Of(Bytes(bytes)) => Ok(bytes / slot_size.0),
            AddressRange::Percent(percent) => Ok((host_slots()? as f64 * percent / 100.0) as u64),
        }
    }

    /// The workload on this many slots of `slot_size`.
    #[must_use]
    pub fn workload(&self, slot_size: Bytes, slots: u64) -> Workload {
        Workload {
            slot_size,
            first_slot: 0,
            slots,
            requests: self.requests,
            read_fraction: self.read_fraction,
            arrivals: match self.arrivals {
                ArrivalsSpec::AtOnce => Arrivals::AtOnce,
                ArrivalsSpec::Every(gap) => Arrivals::Every(gap),
                ArrivalsSpec::Poisson(gap) => Arrivals::Poisson(gap),
            },
            request_size: self.request_size,
            sizes: self.sizes.clone(),
            theta: self.theta,
            sequential: self.sequential,
            hot_pages: self.hot_pages,
            hot_requests: self.hot_requests,
            placement: match self.placement {
                PlacementSpec::Scattered => Placement::Scattered,
                PlacementSpec::Clustered => Placement::Clustered,
            },
            mobile: self.mobile,
            streams: self.streams,
        }
    }
}
