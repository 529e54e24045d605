//! Background work that keeps a drive sound: GC, rebuild, scrub, limits, refresh, bad blocks.

pub(crate) mod bad_blocks;
pub(crate) mod collect;
pub(crate) mod events;
pub(crate) mod limits;
pub(crate) mod profiles;
pub(crate) mod rebuild;
pub(crate) mod refresh;
pub(crate) mod replace;
pub(crate) mod scrub;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod toy;

use crate::care::collect::Collector;
use crate::care::profiles::Profiles;
use crate::care::rebuild::Rebuild;
use crate::care::refresh::Refresh;
use crate::care::replace::Replacements;
use crate::care::scrub::Scrub;
use crate::config::{Setup, SlcFold};
use crate::core::flash::FlashPayload;
use crate::write::{Way, Writer};
use ftl::UnitId;
use protect::Protection;
use std::collections::{BTreeSet, VecDeque};
use vocab::{BlockAddr, Cause};

/// Whether the host is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriveIs {
    Up,
    /// Pages that a power cut met are still being written again: units are only erased, not collected.
    Mounting,
}

/// Whether the host uses the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostUse {
    /// Requests are outstanding, or one is expected.
    Busy,
    /// The run ends when all commands have ended: the scrub and timers must not submit more.
    Away,
}

/// Blocks that went bad, and what is still to be done about them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage {
    /// Blocks that went bad, of superblocks whose erase is still to be tried.
    pub uncleared: BTreeSet<BlockAddr>,
    /// Blocks a page of which was not what the controller had programmed: to be written again.
    pub astray: BTreeSet<BlockAddr>,
}

/// State of the background work that keeps a drive sound.
#[derive(Clone)]
pub(crate) struct Care<P: FlashPayload> {
    pub collectors: Vec<Collector>,
    /// Whether anything was written for the host since a victim was erased: what GC gained was of use.
    pub host_wrote: bool,
    /// Units to be collected out of turn, in order, each for a reason of its own.
    pub wanted: VecDeque<(UnitId, Cause)>,
    pub rebuild: Rebuild<P>,
    pub replacements: Replacements,
    pub scrub: Scrub,
    pub refresh: Refresh,
    pub damage: Damage,
    /// Reserved pages for page profiles, on a drive that flushes them.
    pub profiles: Option<Profiles>,
    /// Free units of a log below which an idle die collects; 0: it never does.
    pub idle_free_blocks: u32,
    /// Whether full units of the SLC cache are folded whenever the host asks for nothing.
    pub folds_when_idle: bool,
    /// Whether GC may move the next victim while the last one is erased.
    pub moves_during_erase: bool,
    /// Page moves that one collector keeps under way.
    pub moves_in_flight: u32,
}

impl<P: FlashPayload> Care<P> {
    /// Nothing to do yet, for a map of this many logs.
    pub fn new(setup: &Setup, protection: &Protection, logs: usize) -> Self {
        // Segments would move full blocks for a page of garbage.
        let idle_free_blocks = setup.gc.idle_free_blocks.min(if Way::of(protection).facts().has_segments { 1 } else { u32::MAX });
        Self {
            collectors: vec![Collector::default(); logs],
            host_wrote: false,
            wanted: VecDeque::new(),
            rebuild: Rebuild::new(&setup.faults),
            replacements: Replacements::default(),
            scrub: Scrub::new(Writer::<P>::scrub_interval(protection)),
            refresh: Refresh::default(),
            damage: Damage::default(),
            profiles: None,
            idle_free_blocks,
            folds_when_idle: setup.drive.slc.is_on() && setup.drive.slc.fold == SlcFold::Idle,
            moves_in_flight: setup.gc.moves_in_flight,
            moves_during_erase: setup.gc.moves_during_erase,
        }
    }
}
