//! Units of GC, the kinds of logs that have them, and the streams that write to them.

use vocab::StreamId;

/// A unit of GC over the whole drive: a block of a region log, or a superblock.
pub type UnitId = u32;

/// Where a unit is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitState {
    /// Erased.
    #[default]
    Free,
    /// Being written.
    Open,
    /// Full.
    Closed,
    /// Being collected, then erased.
    Condemned,
    /// Found by a mount, holding nothing that is needed: it is erased before it is written.
    Dirty,
    /// Never used again.
    Bad,
}

/// State of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Slots that hold the current version of a logical page (or current parity).
    pub valid: u32,
    /// Superseded slots whose successors are not durable yet: the unit must not be erased.
    pub pins: u32,
    /// P/E cycles (of a superblock: of its blocks).
    pub pe: u32,
    /// Where it is in its life.
    pub state: UnitState,
    /// The log's clock when the unit was closed.
    pub closed_at: u64,
    /// Slots that can hold data; 0: as many as a unit of the log usually has.
    pub slots: u32,
    /// Number of the code it was written with, under a scheme that has several.
    pub code: u8,
    /// Whether it is written in SLC mode.
    pub slc: bool,
}

/// Kind of log that the drive keeps (decision D4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// A region log on each die, or several ([`Segments`]); a unit is a block.
    Regions,
    /// One group log over all dies; a unit is a superblock.
    Group,
}

/// Size of region logs that are smaller than a die. Blocks of a die beyond its last segment are not used.
/// Host and collector write to the same write pointer, because a segment has few spare blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Segments of a die.
    pub per_die: u32,
    /// Blocks of a segment.
    pub blocks: u32,
}

/// Who writes to a log. The collector may have a write pointer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The host, and parity of what it writes.
    Host,
    /// Parity that must be written before GC can go on: it shares the host's write pointer
    /// and may use the reserve that the host may not.
    Commit,
    /// Garbage collection and whatever else moves pages.
    Gc,
    /// The host, in one of its streams. Stream 0, and all of them where streams are not isolated, write as [`Stream::Host`].
    HostIn(StreamId),
    /// As [`Stream::Gc`], for pages of one of the host's streams, which has a write pointer of its own where isolation is persistent.
    GcOf(StreamId),
}

impl Stream {
    /// Whether it is the host that writes.
    #[inline]
    pub(crate) fn is_host(self) -> bool {
        matches!(self, Stream::Host | Stream::HostIn(_))
    }

    /// Whether it is GC that writes.
    #[inline]
    pub(crate) fn is_gc(self) -> bool {
        matches!(self, Stream::Gc | Stream::GcOf(_))
    }
}
