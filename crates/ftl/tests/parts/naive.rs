//! A naive map: lists and recounts, nothing kept up to date that can be counted when it is asked for.

use crate::drive::Drive;
use flashkeep_ftl::{Isolation, LogKind, Place, Stream, UnitId, UnitState};
use std::collections::BTreeMap;

/// The first write pointer of the collector; those before are the host's.
pub const COLLECTOR: usize = 8;

#[derive(Clone, Debug)]
pub struct NaiveUnit {
    pub state: UnitState,
    pub pe: u32,
    /// How many units its log had closed before it.
    pub closed: u64,
}

#[derive(Clone, Debug)]
pub struct NaiveLog {
    pub units: std::ops::Range<UnitId>,
    /// Free units, that which became free first in front.
    pub free: Vec<UnitId>,
    /// The open units of the host, stream by stream, and those of the collector, with the position that comes next. Where there
    /// are no streams the first of each is used.
    pub open: [Option<(UnitId, u32)>; 2 * COLLECTOR],
    closings: u64,
    victims: u32,
    pub retired: u32,
}

#[derive(Clone, Debug)]
pub struct Naive {
    pub drive: Drive,
    pub data: BTreeMap<u32, Place>,
    pub parity: BTreeMap<u32, Place>,
    pub units: Vec<NaiveUnit>,
    /// Units of superseded slots, one entry for each pin.
    pub pins: Vec<UnitId>,
    pub logs: Vec<NaiveLog>,
}

impl Naive {
    pub fn new(drive: &Drive) -> Self {
        let count = if drive.kind == LogKind::Group { drive.blocks } else { drive.blocks * drive.dies };
        let good_dies = |unit: u32| (0..drive.dies).filter(|die| !drive.bad.contains(&(die * drive.blocks + unit))).count();
        let is_bad = |unit: u32| match drive.kind {
            LogKind::Group => good_dies(unit) < 2,
            LogKind::Regions => drive.bad.contains(&unit),
        };
        let state = |unit| if is_bad(unit) { UnitState::Bad } else { UnitState::Free };
        let units = (0..count).map(|unit| NaiveUnit { state: state(unit), pe: 0, closed: 0 }).collect();
        let runs: Vec<_> = (0..count / drive.blocks).flat_map(|die| log_ranges(drive, die)).collect();
        let log = |units: std::ops::Range<UnitId>| NaiveLog {
            free: units.clone().filter(|&unit| !is_bad(unit)).collect(),
            units,
            open: [None; 2 * COLLECTOR],
            closings: 0,
            victims: 0,
            retired: 0,
        };
        let logs = runs.into_iter().map(log).collect();
        Self { drive: drive.clone(), data: BTreeMap::new(), parity: BTreeMap::new(), units, pins: Vec::new(), logs }
    }

    pub fn unit_of(&self, slot: u32) -> UnitId {
        let block = slot / self.drive.slots_per_page / self.drive.pages;
        if self.drive.kind == LogKind::Group { block % self.drive.blocks } else { block }
    }

    pub fn log_of(&self, unit: UnitId) -> Option<usize> {
        self.logs.iter().position(|log| log.units.contains(&unit))
    }

    /// Every place that something of the host or a parity lies in.
    pub fn places(&self) -> impl Iterator<Item = u32> {
        let places = self.data.values().chain(self.parity.values());
        places.filter_map(|place| if let Place::At(slot) = place { Some(slot.0) } else { None })
    }

    pub fn valid(&self, unit: UnitId) -> u32 {
        self.places().filter(|&slot| self.unit_of(slot) == unit).count() as u32
    }

    pub fn pins(&self, unit: UnitId) -> u32 {
        self.pins.iter().filter(|&&pinned| pinned == unit).count() as u32
    }

    fn live(&self, log: usize) -> u32 {
        self.places().filter(|&slot| self.logs[log].units.contains(&self.unit_of(slot))).count() as u32
    }

    /// Slots that go to flash together.
    fn granule(&self) -> u32 {
        let data_dies = if self.drive.kind == LogKind::Group { self.drive.dies - 1 } else { 1 };
        data_dies * self.drive.slots_per_page
    }

    /// Free units that only the collector may take.
    fn kept(&self) -> u32 {
        1 + self.drive.recovery
    }

    fn is_separate(&self) -> bool {
        self.drive.gc.separate_write_pointer && self.drive.segments.is_none()
    }

    /// Most valid slots: all good units but the collector's, those of the reserve and, where logs are not
    /// segments, three more; each filled but for the last page or row, which may hold a single slot.
    pub fn live_max(&self, log: usize) -> u32 {
        let good = self.logs[log].units.clone().filter(|&unit| self.factory_good(unit)).count() as u32;
        let back =
            if self.drive.segments.is_some() { self.kept() } else { self.kept() + self.drive.reserve + 3 + self.more_open() };
        let each = self.drive.pages * self.granule() - self.granule() + 1;
        (good.saturating_sub(back) * each).saturating_sub(self.logs[log].retired * each)
    }

    fn factory_good(&self, unit: UnitId) -> bool {
        match self.drive.kind {
            LogKind::Regions => !self.drive.bad.contains(&unit),
            LogKind::Group => {
                (0..self.drive.dies).filter(|die| !self.drive.bad.contains(&(die * self.drive.blocks + unit))).count() > 1
            }
        }
    }

    /// Units that streams have open beside one of the host and one of the collector.
    fn more_open(&self) -> u32 {
        let streams = &self.drive.gc.streams;
        match streams.isolation {
            Isolation::Off => 0,
            Isolation::Initial => streams.count - 1,
            Isolation::Persistent => 2 * (streams.count - 1),
        }
    }

    fn write_pointer(&self, stream: Stream) -> usize {
        let isolation = self.drive.gc.streams.isolation;
        match stream {
            Stream::HostIn(of) if isolation != Isolation::Off => of.index(),
            Stream::Host | Stream::Commit | Stream::HostIn(_) => 0,
            Stream::GcOf(of) if isolation == Isolation::Persistent => COLLECTOR + of.index(),
            _ if self.is_separate() => COLLECTOR,
            _ => 0,
        }
    }

    pub fn has_room(&self, log: usize, stream: Stream) -> bool {
        let (pages, which) = (self.drive.pages, self.write_pointer(stream));
        let NaiveLog { free, open, .. } = &self.logs[log];
        if matches!(stream, Stream::Gc | Stream::GcOf(_)) {
            return open[which].is_some() || !free.is_empty();
        }
        // All positions the stream could come to write, in order, and the unit of each.
        let rest = open[which].iter().flat_map(|&(unit, next)| (next..pages).map(move |_| unit));
        let ahead: Vec<UnitId> = rest.chain(free.iter().flat_map(|&unit| (0..pages).map(move |_| unit))).collect();
        let kept = (self.kept() * pages) as usize;
        // With a write pointer of its own the collector cannot use the host's open unit.
        let kept = if self.is_separate() { kept.min(free.len() * pages as usize) } else { kept };
        let may = ahead.len().saturating_sub(kept);
        match stream {
            Stream::Host | Stream::HostIn(_) => {
                may > (self.drive.reserve * pages) as usize && self.live(log) < self.live_max(log)
            }
            _ => may > 0,
        }
    }

    pub fn is_short(&self, log: usize) -> bool {
        let at_least = self.drive.gc.free_blocks.max(self.kept() + 1) + self.drive.reserve;
        let full = self.drive.segments.is_some();
        if full { !self.has_free_position(log) } else { (self.logs[log].free.len() as u32) < at_least }
    }

    /// As [`Self::has_room`] for the host, however much is valid.
    fn has_free_position(&self, log: usize) -> bool {
        let mut endless = self.clone();
        (endless.data, endless.parity) = (BTreeMap::new(), BTreeMap::new());
        endless.live_max(log) > 0 && endless.has_room(log, Stream::Host)
    }

    /// The position that the stream writes next, taken.
    pub fn take(&mut self, log: usize, stream: Stream) -> Option<(UnitId, u32)> {
        if !self.has_room(log, stream) {
            return None;
        }
        let which = self.write_pointer(stream);
        if self.logs[log].open[which].is_none() {
            let free = &self.logs[log].free;
            let wear = |unit: UnitId| if self.drive.wear.dynamic { self.units[unit as usize].pe } else { 0 };
            let least = free.iter().map(|&unit| wear(unit)).min()?;
            let at = free.iter().position(|&unit| wear(unit) == least)?;
            let unit = self.logs[log].free.remove(at);
            self.units[unit as usize].state = UnitState::Open;
            self.logs[log].open[which] = Some((unit, 0));
        }
        let (unit, next) = self.logs[log].open[which]?;
        self.logs[log].open[which] = Some((unit, next + 1));
        if next + 1 == self.drive.pages {
            self.close(log, which);
        }
        Some((unit, next))
    }

    /// The open unit of a write pointer takes nothing more.
    pub fn close(&mut self, log: usize, which: usize) {
        let Some((unit, _)) = self.logs[log].open[which].take() else { return };
        let closed = self.logs[log].closings;
        self.logs[log].closings += 1;
        let unit = &mut self.units[unit as usize];
        (unit.state, unit.closed) = (UnitState::Closed, closed);
    }

    fn closed(&self, log: usize) -> impl Iterator<Item = UnitId> {
        self.logs[log].units.clone().filter(|&unit| self.units[unit as usize].state == UnitState::Closed)
    }

    /// Whether what is valid in the unit fits fewer pages (or rows) than the unit has.
    fn gains(&self, unit: UnitId) -> bool {
        self.valid(unit).div_ceil(self.granule()) < self.drive.pages
    }

    /// The greedy victim or, as each eighth, the least worn unit where wear has spread.
    pub fn condemn(&mut self, log: usize) -> Option<(UnitId, bool)> {
        let gainful = self.closed(log).filter(|&unit| self.gains(unit));
        let emptiest = gainful.min_by_key(|&unit| (self.valid(unit), self.units[unit as usize].closed))?;
        self.logs[log].victims += 1;
        let threshold = self.drive.wear.static_threshold;
        let good = self.logs[log].units.clone().filter(|&unit| self.units[unit as usize].state != UnitState::Bad);
        let most = good.map(|unit| self.units[unit as usize].pe).max()?;
        let cold = self.closed(log).min_by_key(|&unit| (self.units[unit as usize].pe, self.units[unit as usize].closed))?;
        let spread = most - self.units[cold as usize].pe;
        let for_wear = threshold > 0 && self.logs[log].victims.is_multiple_of(8) && spread > threshold;
        let victim = if for_wear { cold } else { emptiest };
        self.units[victim as usize].state = UnitState::Condemned;
        Some((victim, for_wear))
    }

    pub fn may_erase(&self, unit: UnitId) -> bool {
        self.valid(unit) == 0 && self.pins(unit) == 0
    }

    pub fn erased(&mut self, unit: UnitId) {
        let log = self.log_of(unit).expect("a unit of a log");
        self.logs[log].free.push(unit);
        let unit = &mut self.units[unit as usize];
        (unit.state, unit.pe) = (UnitState::Free, unit.pe + 1);
    }

    pub fn retire(&mut self, unit: UnitId) {
        let log = self.log_of(unit).expect("a unit of a log");
        self.logs[log].retired += 1;
        self.units[unit as usize].state = UnitState::Bad;
    }
}

/// The units of each log of a die; a group log has the numbers of one die.
fn log_ranges(drive: &Drive, die: u32) -> Vec<std::ops::Range<UnitId>> {
    let first = die * drive.blocks;
    let (logs, units) = drive.segments.map_or((1, drive.blocks), |of| (of.per_die, of.blocks));
    (0..logs).map(|log| first + log * units..first + (log + 1) * units).collect()
}
