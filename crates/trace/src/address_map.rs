//! Puts the addresses of a trace onto a drive.

use crate::{Footprint, Record, TraceError};
use std::sync::Arc;
use vocab::{Bytes, HostCommand, HostOp, Lba, SECTOR_BYTES};

/// How records become commands of one drive. Offsets within a slot are kept, so unaligned
/// requests stay unaligned; times and operations are untouched.
#[derive(Clone, Debug)]
pub struct AddressMap {
    layout: Layout,
}

#[derive(Clone, Debug)]
enum Layout {
    /// Touched slots renumbered densely, in order of device and address.
    Compact(Arc<Footprint>),
    /// Device spaces end to end, modulo the drive; `bases` are already reduced.
    Fold { bases: Vec<u64>, capacity: u64 },
}

impl AddressMap {
    /// Renumbers touched slots densely: order is kept, and neighbours stay neighbours, so every
    /// read and write stays one contiguous range. A discard is cut to the touched slots.
    ///
    /// # Errors
    /// The drive has fewer bytes than [`Footprint::size`].
    pub fn compact(footprint: impl Into<Arc<Footprint>>, capacity: Bytes) -> Result<Self, TraceError> {
        let footprint = footprint.into();
        if footprint.size() > capacity {
            return Err(TraceError::DoesNotFit { needed: footprint.size(), capacity });
        }
        Ok(Self { layout: Layout::Compact(footprint) })
    }

    /// Lays the devices end to end in their order and wraps at the end of the drive. A request
    /// that crosses the end is split there.
    ///
    /// # Errors
    /// A drive of less than one sector.
    pub fn fold(footprint: &Footprint, capacity: Bytes) -> Result<Self, TraceError> {
        let sectors = capacity.0 / SECTOR_BYTES;
        if sectors == 0 {
            return Err(TraceError::DoesNotFit { needed: Bytes(SECTOR_BYTES), capacity });
        }
        let per_slot = footprint.slot_size().0 / SECTOR_BYTES;
        let mut next = 0u128;
        let mut bases = Vec::with_capacity(footprint.extents().len());
        for &extent in footprint.extents() {
            bases.push((next % u128::from(sectors)) as u64);
            next += u128::from(extent) * u128::from(per_slot);
        }
        Ok(Self { layout: Layout::Fold { bases, capacity: sectors } })
    }

    /// The commands of `record`: one, or several where folding splits it, or none where a
    /// discard names nothing the drive holds.
    ///
    /// # Errors
    /// A record the footprint does not cover.
    #[inline]
    pub fn map(&self, record: &Record) -> Result<Commands, TraceError> {
        let command = |lba, sectors| HostCommand { at: record.at, op: record.op, lba: Lba(lba), sectors, stream: record.stream };
        let outside = || TraceError::OutsideFootprint { device: record.device, lba: record.lba.0, sectors: record.sectors };
        let mut commands = Commands { rest: None, capacity: u64::MAX };
        if record.op == HostOp::Flush {
            commands.rest = Some(command(0, 0));
            return Ok(commands);
        }
        match &self.layout {
            Layout::Compact(footprint) => {
                let range = compacted(footprint, record).ok_or_else(outside)?;
                commands.rest = Some(command(range.0, range.1)).filter(|command| command.sectors > 0);
            }
            Layout::Fold { bases, capacity } => {
                let base = bases.get(record.device as usize).ok_or_else(outside)?;
                // Both are below the capacity, which is at most 2^55 sectors: their sum fits.
                let start = (*base + record.lba.0 % *capacity) % *capacity;
                commands.capacity = *capacity;
                commands.rest = Some(command(start, record.sectors)).filter(|command| command.sectors > 0);
            }
        }
        Ok(commands)
    }

    /// The commands of `records`, up to the first error.
    pub fn commands<I>(self, records: I) -> MappedRecords<I::IntoIter>
    where
        I: IntoIterator<Item = Result<Record, TraceError>>,
    {
        let parts = Commands { rest: None, capacity: u64::MAX };
        MappedRecords { records: records.into_iter(), map: self, parts, error: None }
    }
}

/// The commands of many records, up to the first error, which is kept: see [`AddressMap::commands`].
pub struct MappedRecords<I> {
    records: I,
    map: AddressMap,
    /// Of the record before.
    parts: Commands,
    error: Option<TraceError>,
}

impl<I> MappedRecords<I> {
    /// The error that ended the commands early, if one did.
    #[must_use]
    pub fn error(self) -> Option<TraceError> {
        self.error
    }
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Iterator for MappedRecords<I> {
    type Item = HostCommand;

    fn next(&mut self) -> Option<HostCommand> {
        loop {
            if let Some(command) = self.parts.next() {
                return Some(command);
            }
            if self.error.is_some() {
                return None;
            }
            match self.records.next()?.and_then(|record| self.map.map(&record)) {
                Ok(parts) => self.parts = parts,
                Err(error) => self.error = Some(error),
            }
        }
    }
}

/// First sector and sectors on the drive; `None` outside the footprint.
fn compacted(footprint: &Footprint, record: &Record) -> Option<(u64, u32)> {
    let per_slot = footprint.slot_size().0 / SECTOR_BYTES;
    let place = |sector: u64| {
        let (rank, is_touched) = footprint.rank(record.device, sector / per_slot);
        (rank * per_slot + if is_touched { sector % per_slot } else { 0 }, is_touched)
    };
    let end = record.lba.0 + u64::from(record.sectors);
    if record.sectors == 0 {
        return Some((0, 0));
    }
    let (first, is_first_touched) = place(record.lba.0);
    let (last, is_last_touched) = place(end - 1);
    if let HostOp::Discard = record.op {
        let past = last + u64::from(is_last_touched);
        return Some((first, (past - first) as u32));
    }
    let is_covered = is_first_touched && is_last_touched && last - first + 1 == u64::from(record.sectors);
    is_covered.then_some((first, record.sectors))
}

/// The commands of one record.
#[derive(Clone, Debug)]
pub struct Commands {
    rest: Option<HostCommand>,
    /// Sectors of the drive.
    capacity: u64,
}

impl Iterator for Commands {
    type Item = HostCommand;

    #[inline]
    fn next(&mut self) -> Option<HostCommand> {
        let mut command = self.rest.take()?;
        let room = self.capacity - command.lba.0;
        if u64::from(command.sectors) > room {
            self.rest = Some(HostCommand { lba: Lba(0), sectors: command.sectors - room as u32, ..command });
            command.sectors = room as u32;
        }
        Some(command)
    }
}
