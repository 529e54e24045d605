//! One request of a trace, and the bounds every reader enforces.

use vocab::{Bytes, HostOp, Lba, Nanos, SECTOR_BYTES, SimTime, StreamId};

/// Largest request a trace may hold; a larger one is an error, since no host sends it.
pub const REQUEST_LIMIT: Bytes = Bytes(1 << 30);

/// First address no request may reach, in sectors: byte addresses stay below 2^63.
pub const LBA_LIMIT: Lba = Lba(1 << 54);

/// Longest time between the first request and any other (73 years), loops and time scale included: it leaves 500
/// years of virtual time to age and flash, so sums of times never overflow.
pub const SPAN_LIMIT: Nanos = Nanos(1 << 61);

/// Most devices one trace may name.
pub const DEVICES_LIMIT: usize = 4096;

/// One request of a trace, in the address space of its own device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was sent, since the first request of the trace.
    pub at: SimTime,
    /// Device, numbered from 0 in order of appearance; each is its own address space.
    pub device: u32,
    /// Operation.
    pub op: HostOp,
    /// First sector; 0 for a flush.
    pub lba: Lba,
    /// Number of sectors; 0 for a flush only.
    pub sectors: u32,
    /// The stream of a write, 0 where the trace names none.
    pub stream: StreamId,
}

impl Record {
    /// Bytes asked for.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.sectors) * SECTOR_BYTES)
    }
}

/// A request as a format delivers it: time and device still in the words of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    /// Nanoseconds since whatever the format counts from.
    pub at: u64,
    /// Any key that tells devices apart.
    pub device: u64,
    pub op: HostOp,
    pub lba: u64,
    pub sectors: u32,
    pub stream: StreamId,
}
