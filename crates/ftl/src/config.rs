//! Settings of the map.

use crate::victim::OwnPolicy;
use serde::{Deserialize, Serialize};

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Victim policy by registry name: `greedy`, `fifo`, `random`, `d-choices`, `cost-benefit`.
    pub policy: String,
    /// Candidates that `d-choices` draws.
    pub choices: u32,
    /// Whether collected pages go to a block of their own instead of among host writes.
    pub separate_frontier: bool,
    /// A log collects when its free blocks fall below this (at least 2).
    pub free_blocks: u32,
    /// Free blocks below which an idle die collects ahead of need; 0 switches that off.
    pub idle_free_blocks: u32,
    /// Page moves that one collector keeps in flight.
    pub moves_in_flight: u32,
    /// Whether collection occupies a die: from the first command of a victim's collection until its erase nothing else is served
    /// there, but what the order of commands demands. Written down where it is set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub occupies_die: bool,
    /// The policy itself where it is in no registry; `policy` is what results call it.
    #[serde(skip)]
    pub own: Option<OwnPolicy>,
}

impl Default for GcConfig {
    fn default() -> Self {
        Self {
            policy: "greedy".into(),
            choices: 10,
            separate_frontier: true,
            free_blocks: 3,
            idle_free_blocks: 0,
            moves_in_flight: 4,
            occupies_die: false,
            own: None,
        }
    }
}

/// Wear levelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WearConfig {
    /// Take the least worn free block (dynamic wear levelling) instead of the oldest.
    pub dynamic: bool,
    /// Move cold blocks once the P/E cycles of a log's blocks differ by more than this; 0: never.
    pub static_threshold: u32,
}

impl Default for WearConfig {
    fn default() -> Self {
        Self { dynamic: true, static_threshold: 100 }
    }
}
