//! Settings of the map.

use crate::victim::OwnPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::StreamId;

/// Most blocks that a log may keep free: those of a plane.
const BLOCKS_MAX: u32 = vocab::Geometry::BLOCKS_PER_PLANE_MAX;

/// Most moves of a collector under way: times 65,536 dies, they fit 32 bits.
const MOVES_MAX: u32 = 4096;

/// A setting that the map refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {reason}")]
pub struct FtlError {
    /// Name of the setting.
    pub setting: &'static str,
    /// Its value and the valid ones.
    pub reason: String,
}

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Victim policy by registry name: `greedy`, `fifo`, `random`, `d-choices`, `cost-benefit`.
    pub policy: String,
    /// Candidates that `d-choices` draws.
    #[schemars(range(min = 1, max = 65_536))]
    pub choices: u32,
    /// Write collected pages to a block of their own instead of among host writes.
    pub separate_write_pointer: bool,
    /// A log collects when its free blocks fall below this (at least 2).
    #[schemars(range(min = 2, max = BLOCKS_MAX))]
    pub free_blocks: u32,
    /// Free blocks below which an idle die collects ahead of need; 0 switches that off.
    #[schemars(range(max = BLOCKS_MAX))]
    pub idle_free_blocks: u32,
    /// Page moves that one collector keeps in flight; that of superblocks for each die, a program unit at least.
    #[schemars(range(min = 1, max = MOVES_MAX))]
    pub moves_in_flight: u32,
    /// GC occupies a die: from the first command of a victim's GC until its erase the die serves nothing else, except what the
    /// order of commands demands. Written down where it is set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub occupies_die: bool,
    /// GC of block groups moves the next victim while the blocks of the last one are erased, where a write waits for room. Written down
    /// where it is set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moves_during_erase: bool,
    /// The policy itself where it is in no registry; `policy` is what results call it.
    #[serde(skip)]
    pub own: Option<OwnPolicy>,
    /// Streams of the host's writes. Written down where there are several.
    #[serde(skip_serializing_if = "StreamConfig::is_default")]
    pub streams: StreamConfig,
}

/// Treatment of writes of several streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamConfig {
    /// Streams that the drive distinguishes; a write of another stream counts as one of stream 0.
    #[schemars(range(min = 1, max = StreamId::COUNT_MAX as u32))]
    pub count: u32,
    /// Isolation of streams: degree to which their pages are kept in different blocks.
    pub isolation: Isolation,
}

/// How far pages of different streams are kept in different blocks: the types of reclaim unit handles of FDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Not at all: streams are only counted.
    Off,
    /// Where the host writes; GC mixes what survives.
    Initial,
    /// GC, too, keeps the pages of a stream in blocks of that stream.
    Persistent,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self { count: 1, isolation: Isolation::Off }
    }
}

impl StreamConfig {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the drive tells streams apart at all.
    #[must_use]
    pub fn are_told_apart(&self) -> bool {
        self.count > 1
    }

    /// Write pointers that the host writes to.
    #[must_use]
    pub fn host_write_pointers(&self) -> u32 {
        if self.isolation == Isolation::Off { 1 } else { self.count }
    }

    /// Write pointers that GC writes to.
    #[must_use]
    pub fn gc_write_pointers(&self) -> u32 {
        if self.isolation == Isolation::Persistent { self.count } else { 1 }
    }
}

impl Default for GcConfig {
    fn default() -> Self {
        Self {
            policy: "greedy".into(),
            choices: 10,
            separate_write_pointer: true,
            free_blocks: 3,
            idle_free_blocks: 0,
            moves_in_flight: 4,
            occupies_die: false,
            moves_during_erase: false,
            own: None,
            streams: StreamConfig::default(),
        }
    }
}

impl GcConfig {
    /// Whether a log of this many units can collect with it, `reserve` of them kept free.
    pub(crate) fn check(&self, reserve: u32, units: u32) -> Result<(), FtlError> {
        let fail = |setting, reason| Err(FtlError { setting, reason });
        if self.free_blocks < 2 {
            return fail("gc.free_blocks", format!("found {}, at least 2: one for the collector, one to open", self.free_blocks));
        }
        // One block is being written and one collected.
        let open = self.streams.host_write_pointers() + self.streams.gc_write_pointers();
        let most = units.saturating_sub(open + reserve).max(2);
        for (setting, value) in [("gc.free_blocks", self.free_blocks), ("gc.idle_free_blocks", self.idle_free_blocks)] {
            if value > most {
                return fail(
                    setting,
                    format!("found {value}, at most {most}: a log has {units} blocks, of which {open} are in use"),
                );
            }
        }
        if self.choices == 0 {
            return fail("gc.choices", "found 0, at least 1".into());
        }
        if self.moves_in_flight == 0 {
            return fail("gc.moves_in_flight", "found 0, at least 1".into());
        }
        Ok(())
    }

    /// `has_write_pointers`: whether the logs have write pointers for streams.
    pub(crate) fn check_streams(&self, has_write_pointers: bool) -> Result<(), FtlError> {
        let fail = |setting, reason| Err(FtlError { setting, reason });
        let Self { streams, separate_write_pointer, .. } = self;
        if !(1..=StreamId::COUNT_MAX as u32).contains(&streams.count) {
            return fail("gc.streams.count", format!("found {}, valid are 1 to {}", streams.count, StreamId::COUNT_MAX));
        }
        if streams.are_told_apart() && !has_write_pointers {
            return fail(
                "gc.streams.count",
                format!("found {}, valid is 1: only logs of whole dies have write pointers for streams", streams.count),
            );
        }
        if streams.host_write_pointers() > 1 && !separate_write_pointer {
            return fail("gc.separate_write_pointer", "found false, must be true where streams are isolated".into());
        }
        Ok(())
    }
}

/// Wear levelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
