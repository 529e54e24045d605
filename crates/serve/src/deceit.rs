//! Between clients and the drive, what makes a drive a bad one for its clients and not for itself: it answers flushes and writes that it
//! drops, fails in windows of time, and gives back other bytes than it has. The drive below never hears of what is dropped, so what is
//! lost by that is no loss of its own: its checks of what was written stay true.

use serde_json::{Value, json};
use ssd::disk::{Control, DiskRequest, Lie, SECTOR, Windows};
use std::collections::BTreeSet;
use vocab::{Fua, SimTime};

/// How the drive deceives its clients.
#[derive(Debug, Default)]
pub(crate) struct Deceit {
    drops_flushes: bool,
    drops_writes: bool,
    /// Windows of errors, and since when.
    errors: Option<(Windows, SimTime)>,
    /// Offsets of bytes that read as others.
    corrupt: BTreeSet<u64>,
    dropped_flushes: u64,
    dropped_writes: u64,
    failed: u64,
}

const SECTOR_BYTES: u64 = SECTOR as u64;

impl Deceit {
    /// From now on, if the control is of this kind.
    pub fn begin(&mut self, control: &Control, now: SimTime) {
        match *control {
            Control::Lie(Lie::Flushes, is_on) => self.drops_flushes = is_on,
            Control::Lie(Lie::Writes, is_on) => self.drops_writes = is_on,
            Control::Errors(windows) => self.errors = windows.map(|windows| (windows, now)),
            Control::Corrupt(offset) => drop(self.corrupt.insert(offset)),
            _ => {}
        }
    }

    /// The drive holds other data: none of them is corrupt.
    pub fn forget_corrupt_bytes(&mut self) {
        self.corrupt.clear();
    }

    /// Whether a request that comes at this time fails.
    pub fn fails(&mut self, now: SimTime) -> bool {
        let is_down =
            self.errors.is_some_and(|(Windows { up, down }, since)| now.0.saturating_sub(since.0) % (up.0 + down.0) >= up.0);
        self.failed += u64::from(is_down);
        is_down
    }

    /// Request that the drive gets; none, if it is answered as if it were done.
    pub fn passes(&mut self, request: DiskRequest) -> Option<DiskRequest> {
        match request {
            DiskRequest::Flush if self.drops_flushes => {
                self.dropped_flushes += 1;
                None
            }
            DiskRequest::Write { .. } | DiskRequest::Discard { .. } if self.drops_writes => {
                self.dropped_writes += 1;
                None
            }
            DiskRequest::Write { sector, data, fua } => {
                self.heal(sector, data.len() as u64 / SECTOR_BYTES);
                let is_dropped = self.drops_flushes && fua == Fua::Yes;
                self.dropped_flushes += u64::from(is_dropped);
                Some(DiskRequest::Write { sector, data, fua: if is_dropped { Fua::No } else { fua } })
            }
            DiskRequest::Discard { sector, sectors } => {
                self.heal(sector, sectors.into());
                Some(request)
            }
            DiskRequest::Read { .. } | DiskRequest::Flush => Some(request),
        }
    }

    fn in_range(&self, sector: u64, sectors: u64) -> Vec<u64> {
        if self.corrupt.is_empty() {
            return Vec::new();
        }
        let first = sector.saturating_mul(SECTOR_BYTES);
        self.corrupt.range(first..first.saturating_add(sectors * SECTOR_BYTES)).copied().collect()
    }

    fn heal(&mut self, sector: u64, sectors: u64) {
        for offset in self.in_range(sector, sectors) {
            self.corrupt.remove(&offset);
        }
    }

    /// Spoils data that were read from this sector on, as the client gets them.
    pub fn spoil(&self, sector: u64, data: &mut [u8]) {
        for offset in self.in_range(sector, data.len() as u64 / SECTOR_BYTES) {
            data[(offset - sector * SECTOR_BYTES) as usize] ^= 0xff;
        }
    }

    /// Whether a byte of these sectors is corrupt.
    pub fn spoils(&self, sector: u64, sectors: u64) -> bool {
        !self.in_range(sector, sectors).is_empty()
    }

    /// Adds to a status.
    pub fn tell(&self, status: &mut Value) {
        let lies = [("flushes", self.drops_flushes), ("writes", self.drops_writes)];
        status["lies"] = json!(lies.iter().filter(|(_, is_on)| *is_on).map(|(what, _)| what).collect::<Vec<_>>());
        status["dropped_flushes"] = json!(self.dropped_flushes);
        status["dropped_writes"] = json!(self.dropped_writes);
        status["failed_as_asked"] = json!(self.failed);
        status["corrupt_bytes"] = json!(self.corrupt.len());
    }
}
