//! Which slots a trace touches, and what it asks for in all.
//!
//! Touched slots are kept as maximal runs, sorted: memory grows with the footprint, not with
//! the length of the trace, and a request, being contiguous, always lies within one run.

use crate::slot_set::SlotSet;
use crate::{Record, TraceError};
use vocab::{Bytes, Fua, HostOp, Nanos, SECTOR_BYTES};

/// Most separate runs, of touched or of written slots, a footprint may have: an estimated 2 GiB
/// of memory at most while scanning. Scattered single pages of 4 KiB reach it at 64 GiB.
pub const RUNS_LIMIT: usize = 1 << 24;

/// Largest slot size a footprint may be counted in.
const SLOT_LIMIT: Bytes = Bytes(1 << 30);

/// A maximal run of touched slots of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Device the slots belong to.
    pub device: u32,
    /// First slot, in slots from the start of the device.
    pub first: u64,
    /// Number of slots.
    pub slots: u64,
    /// Touched slots before this run, over all devices in order.
    pub rank: u64,
}

/// Totals of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// Requests of any kind.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes, with or without FUA.
    pub writes: u64,
    /// Writes with FUA.
    pub fua_writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Bytes written.
    pub written_bytes: Bytes,
    /// Bytes discarded.
    pub discarded_bytes: Bytes,
    /// Reads, writes and discards that do not start or do not end at a slot boundary.
    pub unaligned: u64,
    /// Time of the last request (the first is at 0).
    pub duration: Nanos,
    /// Devices, each an address space.
    pub devices: u32,
}

/// The footprint of a trace at one slot size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    slot_size: Bytes,
    runs: Vec<Run>,
    slots: u64,
    written_slots: u64,
    /// Per device: slots up to and including the last one that any request names.
    extents: Vec<u64>,
    counts: TraceCounts,
}

impl Footprint {
    /// Reads `records` to the end and counts slots of `slot_size` bytes. Reads and writes touch
    /// slots; a discard touches none, since forgetting needs no room.
    ///
    /// # Errors
    /// The first error of `records`; a slot size that is no multiple of 512 bytes up to 1 GiB;
    /// more than [`RUNS_LIMIT`] separate runs.
    pub fn scan(records: impl IntoIterator<Item = Result<Record, TraceError>>, slot_size: Bytes) -> Result<Self, TraceError> {
        Self::scan_within(records, slot_size, RUNS_LIMIT)
    }

    fn scan_within(
        records: impl IntoIterator<Item = Result<Record, TraceError>>,
        slot_size: Bytes,
        limit: usize,
    ) -> Result<Self, TraceError> {
        if slot_size.0 == 0 || !slot_size.0.is_multiple_of(SECTOR_BYTES) || slot_size > SLOT_LIMIT {
            return Err(TraceError::SlotSize { found: slot_size });
        }
        let per_slot = slot_size.0 / SECTOR_BYTES;
        let (mut touched, mut written) = (SlotSet::default(), SlotSet::default());
        let (mut counts, mut extents) = (TraceCounts::default(), Vec::new());
        for record in records {
            let record = record?;
            counts.add(&record, per_slot);
            let first = record.lba.0 / per_slot;
            let end = (record.lba.0 + u64::from(record.sectors)).div_ceil(per_slot);
            let device = record.device as usize;
            if extents.len() <= device {
                extents.resize(device + 1, 0);
            }
            if record.sectors == 0 {
                continue;
            }
            extents[device] = extents[device].max(end);
            let mut is_new = false;
            match record.op {
                HostOp::Read => is_new = touched.insert(record.device, first, end),
                HostOp::Write(_) => {
                    // Written slots are touched: those that were written before need no second look.
                    is_new = written.insert(record.device, first, end);
                    if is_new {
                        touched.insert(record.device, first, end);
                    }
                }
                HostOp::Discard | HostOp::Flush => {}
            }
            if !is_new {
                continue;
            }
            // Written slots can lie scattered within one touched run.
            for set in [&mut touched, &mut written] {
                // Counting exactly merges all runs: not for each request beyond the limit.
                if set.runs_at_most() > limit + limit / 4 && set.count_runs() > limit {
                    return Err(TraceError::FootprintTooLarge { limit });
                }
            }
        }
        if touched.count_runs().max(written.count_runs()) > limit {
            return Err(TraceError::FootprintTooLarge { limit });
        }
        counts.devices = extents.len() as u32;
        Ok(Self::ranked(slot_size, touched, written, extents, counts))
    }

    fn ranked(slot_size: Bytes, touched: SlotSet, written: SlotSet, extents: Vec<u64>, counts: TraceCounts) -> Self {
        let mut slots = 0;
        let mut runs = Vec::new();
        for (device, first, end) in touched.into_runs() {
            runs.push(Run { device, first, slots: end - first, rank: slots });
            slots += end - first;
        }
        let written_slots = written.into_runs().iter().map(|(_, first, end)| end - first).sum();
        Self { slot_size, runs, slots, written_slots, extents, counts }
    }

    /// The same, with address spaces of this many bytes, where they are larger than what the requests say.
    #[must_use]
    pub fn widened(mut self, extents: &[u64]) -> Self {
        self.extents.resize(self.extents.len().max(extents.len()), 0);
        for (extent, bytes) in self.extents.iter_mut().zip(extents) {
            *extent = (*extent).max(bytes.div_ceil(self.slot_size.0));
        }
        self
    }

    /// Size of the slots counted.
    #[must_use]
    pub fn slot_size(&self) -> Bytes {
        self.slot_size
    }

    /// Distinct slots read or written.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Bytes of all touched slots: the smallest drive that `AddressMap::compact` fits on.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes(self.slots.saturating_mul(self.slot_size.0))
    }

    /// Distinct slots written.
    #[must_use]
    pub fn written_slots(&self) -> u64 {
        self.written_slots
    }

    /// Totals of the trace.
    #[must_use]
    pub fn counts(&self) -> &TraceCounts {
        &self.counts
    }

    /// The runs, by device and address.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Per device: slots from its start to the last one any request names.
    #[must_use]
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// Number of touched slots before `slot` of `device`, and whether it is touched itself.
    #[must_use]
    pub fn rank(&self, device: u32, slot: u64) -> (u64, bool) {
        let after = self.runs.partition_point(|run| (run.device, run.first) <= (device, slot));
        let Some(run) = after.checked_sub(1).map(|index| self.runs[index]) else {
            return (0, false);
        };
        if run.device == device && slot < run.first + run.slots {
            (run.rank + (slot - run.first), true)
        } else {
            (run.rank + run.slots, false)
        }
    }
}

impl TraceCounts {
    #[inline]
    fn add(&mut self, record: &Record, per_slot: u64) {
        let size = record.size().0;
        self.requests += 1;
        self.duration = self.duration.max(Nanos(record.at.0));
        let total = match record.op {
            HostOp::Read => {
                self.reads += 1;
                &mut self.read_bytes
            }
            HostOp::Write(fua) => {
                self.writes += 1;
                self.fua_writes += u64::from(fua == Fua::Yes);
                &mut self.written_bytes
            }
            HostOp::Discard => {
                self.discards += 1;
                &mut self.discarded_bytes
            }
            HostOp::Flush => {
                self.flushes += 1;
                return;
            }
        };
        total.0 = total.0.saturating_add(size);
        let is_aligned = record.lba.0.is_multiple_of(per_slot) && u64::from(record.sectors).is_multiple_of(per_slot);
        self.unaligned += u64::from(!is_aligned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Lba, SimTime};

    #[test]
    fn scattered_slots_beyond_the_limit_are_refused_whether_touched_or_only_written() {
        let record = |op, lba, sectors| {
            Ok(Record { at: SimTime(0), device: 0, op, lba: Lba(lba), sectors, stream: vocab::StreamId::default() })
        };
        let scattered = |op, count: u64| (0..count).map(move |index| record(op, index * 16, 8));
        let slot = Bytes(4096);
        let write = HostOp::Write(Fua::No);
        assert_eq!(Footprint::scan_within(scattered(write, 10), slot, 10).map(|f| f.slots()), Ok(10));
        let too_large = Err(TraceError::FootprintTooLarge { limit: 10 });
        assert_eq!(Footprint::scan_within(scattered(HostOp::Read, 11), slot, 10), too_large);
        let within_one_run = std::iter::once(record(HostOp::Read, 0, 1 << 20)).chain(scattered(write, 11));
        assert_eq!(Footprint::scan_within(within_one_run, slot, 10), too_large);
    }
}
