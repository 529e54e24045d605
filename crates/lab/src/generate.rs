//! `[generate]`: what a generated workload looks like.

use serde::{Deserialize, Serialize};
use trace::generate::{Arrivals, Placement, Workload};
use vocab::{Bytes, Nanos};

/// Options of a generator. `flashkeep list generators` says which of them each generator uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GenerateSpec {
    /// Number of requests.
    pub requests: u64,
    /// Bytes of the address range, from address 0.
    pub range: Bytes,
    /// Share of reads among requests.
    pub read_fraction: f64,
    /// Size of every request, for generators with one size.
    pub request_size: Bytes,
    /// Sizes and weights, for `mixed`.
    pub sizes: Vec<(Bytes, f64)>,
    /// Skew of `zipf`.
    pub theta: f64,
    /// Share of the requests of `zipf` that begin where the one before ended.
    pub sequential: f64,
    /// Share of the range that is hot, for `hot-cold`.
    pub hot_pages: f64,
    /// Share of requests that go there, for `hot-cold`.
    pub hot_requests: f64,
    /// Where popular addresses lie, for `zipf` and `hot-cold`.
    pub placement: PlacementSpec,
    /// When requests arrive.
    pub arrivals: ArrivalsSpec,
}

/// Where popular addresses lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementSpec {
    /// Spread over the range.
    Scattered,
    /// In one piece at the start of the range.
    Clustered,
}

/// When generated requests arrive: `"at-once"`, `{ every = "100us" }` or `{ poisson = "100us" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
            range: Bytes(workload.slots * workload.slot_size.0),
            read_fraction: workload.read_fraction,
            request_size: workload.request_size,
            sizes: workload.sizes,
            theta: workload.theta,
            sequential: workload.sequential,
            hot_pages: workload.hot_pages,
            hot_requests: workload.hot_requests,
            placement: PlacementSpec::Scattered,
            arrivals: ArrivalsSpec::AtOnce,
        }
    }
}

impl GenerateSpec {
    /// The workload on slots of `slot_size`; the range is rounded down to whole slots.
    #[must_use]
    pub fn workload(&self, slot_size: Bytes) -> Workload {
        Workload {
            slot_size,
            first_slot: 0,
            slots: self.range.0 / slot_size.0,
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
        }
    }
}
