//! Requests of a host to a drive, and the cause of a flash command.

use crate::{Lba, SimTime};
use serde::{Deserialize, Serialize};

/// Whether a write must be durable before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fua {
    /// Forced unit access: durable when answered.
    Yes,
    /// Durable at the latest after the next flush.
    No,
}

/// Operation of a host command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostOp {
    /// Read sectors.
    Read,
    /// Write sectors.
    Write(Fua),
    /// Make every write answered before this command durable.
    Flush,
    /// Forget sectors (TRIM, discard): reads return "unmapped" until the next write.
    Discard,
}

/// The stream that a write belongs to: what the host expects to be overwritten at about the same time (the placement
/// handle of FDP, the stream identifier of NVMe directives). 0 where the host names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u8);

impl StreamId {
    /// Most streams of a drive.
    pub const COUNT_MAX: usize = 8;

    /// As an index of tables.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One command of the host, in sectors of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCommand {
    /// When the host sends it, in time since the start of the workload.
    pub at: SimTime,
    /// The operation.
    pub op: HostOp,
    /// First sector. Ignored by a flush.
    pub lba: Lba,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// The stream of a write; of no meaning otherwise.
    pub stream: StreamId,
}

/// Why a flash command runs (decision D9). Every flash command has exactly one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Cause {
    /// Data of a host command.
    Host,
    /// Reading the rest of a partly written page.
    HostRmw,
    /// Parity, and what must be read to compute it.
    Parity,
    /// Garbage collection.
    Gc,
    /// Refresh of aged data.
    Refresh,
    /// Wear levelling.
    WearLevel,
    /// Reading around, and restoring, what was lost.
    Rebuild,
    /// Code for reads to come, written off line.
    Encode,
    /// The drive's own metadata.
    Meta,
    /// Empty pages that a block takes because its pages are programmed in order.
    Padding,
    /// Moving pages from blocks in SLC mode to others.
    Fold,
}

impl Cause {
    /// All causes, in report order.
    pub const ALL: [Cause; 11] = [
        Cause::Host,
        Cause::HostRmw,
        Cause::Parity,
        Cause::Gc,
        Cause::Refresh,
        Cause::WearLevel,
        Cause::Rebuild,
        Cause::Encode,
        Cause::Meta,
        Cause::Padding,
        Cause::Fold,
    ];

    /// The name used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::HostRmw => "host-rmw",
            Cause::Parity => "parity",
            Cause::Gc => "gc",
            Cause::Refresh => "refresh",
            Cause::WearLevel => "wear-level",
            Cause::Rebuild => "rebuild",
            Cause::Encode => "encode",
            Cause::Meta => "meta",
            Cause::Padding => "padding",
            Cause::Fold => "fold",
        }
    }
}
