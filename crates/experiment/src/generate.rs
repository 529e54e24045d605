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
    /// Addresses that requests go to, from 0 on: a size, or a share of what the host may store.
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
    /// Where popular addresses lie, for `zipf` and `hot-cold`.
    pub placement: PlacementSpec,
    /// Streams that writes name: under `hot-cold` stream 0 is hot and the others share the cold slots; else each has an equal
    /// part of the range.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = vocab::StreamId::COUNT_MAX as u32))]
    pub streams: u32,
    /// Options of `mobile-like`; written down where one of them is not the default.
    #[serde(skip_serializing_if = "MobileSpec::is_default")]
    pub mobile: MobileSpec,
    /// When requests arrive: `"at-once"`, `{ every = "100us" }` or, a Poisson process with this mean gap, `{ poisson = "100us" }`.
    #[schemars(extend("x-valid" = "requests times gap up to 73 years"))]
    pub arrivals: ArrivalsSpec,
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

/// `[generate.mobile]`: options of `mobile-like`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MobileSpec {
    /// Size of every read; a multiple of 512 bytes.
    pub read_size: Bytes,
    /// Reads in a run, on average; 1 at least.
    #[schemars(extend("x-valid" = "1 to 10^6"))]
    pub read_run: f64,
    /// Zones that reads go to.
    #[schemars(extend("x-valid" = "as many as the range holds"))]
    pub zones: u32,
    /// Size of a zone; a multiple of 512 bytes.
    pub zone_size: Bytes,
    /// Popularity of zones: the rank is a Pareto variate of this shape, rounded down. Larger: fewer zones get most reads.
    #[schemars(extend("x-valid" = "0.01 to 100"))]
    pub zone_shape: f64,
    /// Writes in a burst, on average; 1 at least.
    #[schemars(extend("x-valid" = "1 to 10^6"))]
    pub write_burst: f64,
    /// Share of the writes that go anywhere instead of to the hot places, 0 to 1.
    #[schemars(extend("x-valid" = "0 to 1"))]
    pub cold_writes: f64,
    /// Hot places: stripe blocks whose first bytes hot writes go to.
    #[schemars(extend("x-valid" = "1 to 65,536"))]
    pub hot_places: u32,
    /// Dies that the hot places lie on.
    #[schemars(extend("x-valid" = "1 to `dies`"))]
    pub hot_dies: u32,
    /// Dies that stripe blocks go round.
    #[schemars(extend("x-valid" = "1 to 65,536"))]
    pub dies: u32,
    /// Bytes that lie together on one die; the next ones lie on the next die.
    pub stripe_block: Bytes,
    /// Time between requests of one run or burst, as a share of the mean time between requests, 0 to 1; 0: they come at once.
    #[schemars(extend("x-valid" = "0 to 1"))]
    pub gap: f64,
}

impl Default for MobileSpec {
    fn default() -> Self {
        let Mobile {
            read_size,
            read_run,
            zones,
            zone_size,
            zone_shape,
            write_burst,
            cold_writes,
            hot_places,
            hot_dies,
            dies,
            stripe_block,
            gap,
        } = Mobile::default();
        Self {
            read_size,
            read_run,
            zones,
            zone_size,
            zone_shape,
            write_burst,
            cold_writes,
            hot_places,
            hot_dies,
            dies,
            stripe_block,
            gap,
        }
    }
}

impl MobileSpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    fn options(self) -> Mobile {
        let Self {
            read_size,
            read_run,
            zones,
            zone_size,
            zone_shape,
            write_burst,
            cold_writes,
            hot_places,
            hot_dies,
            dies,
            stripe_block,
            gap,
        } = self;
        Mobile {
            read_size,
            read_run,
            zones,
            zone_size,
            zone_shape,
            write_burst,
            cold_writes,
            hot_places,
            hot_dies,
            dies,
            stripe_block,
            gap,
        }
    }
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
            mobile: MobileSpec::default(),
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
            mobile: self.mobile.options(),
            streams: self.streams,
        }
    }
}
