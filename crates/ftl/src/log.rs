//! Logs: units are opened, written to the end, closed, collected and erased.

use crate::cache::{Cache, SLC, SlcBlocks, SlcSpace};
use crate::config::{GcConfig, WearConfig};
use crate::space::RowSpace;
use crate::unit::{LogKind, Segments, Stream, Unit, UnitId, UnitState};
use crate::victim::{Candidates, VictimPolicy};
use vocab::{Grid, StreamId};

/// Write pointers of a log: of the host and of GC, those of the host's further streams, those of GC, and of the host
/// in SLC mode.
const WRITE_POINTERS: usize = SLC + 1;

/// Where a stream writes next. `next` counts positions: pages of a block, rows of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WritePointer {
    pub unit: Option<UnitId>,
    pub next: u32,
}

/// One log: neighbouring units with a list of free ones, write pointers and a clock.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) first: UnitId,
    pub(crate) free: Vec<UnitId>,
    /// Units that are erased before they are written, taken from the end.
    dirty: Vec<UnitId>,
    pub(crate) clock: u64,
    collections: u64,
    /// The SLC cache.
    pub cache: Cache,
    /// Valid slots in all units.
    pub live: u32,
    /// Most valid slots with which GC still gains space.
    pub live_max: u32,
    pub(crate) write_pointers: [WritePointer; WRITE_POINTERS],
}

/// Positions, slots and settings shared by all logs of a drive.
#[derive(Clone, Debug)]
pub(crate) struct LogShape {
    pub positions: u32,
    pub unit_slots: u32,
    /// Units of a log.
    units: u32,
    /// Units of a die (under a group log, of the drive), and the number of logs they are divided into.
    die_units: u32,
    die_logs: u32,
    /// Whether logs are segments of dies.
    segments: bool,
    /// Data slots of one position, which are written together.
    pub granule: u32,
    /// The same where all dies live.
    pub whole_granule: u32,
    /// Free units kept for [`Stream::Commit`].
    pub reserve: u32,
    /// Free units that only the collector may take.
    pub collectors: u32,
    /// Codes whose units are collected before all others: bit n stands for code n.
    pub outdated: u64,
    /// The SLC cache of each log.
    pub slc: Option<SlcSpace>,
    pub gc: GcConfig,
    pub wear: WearConfig,
}

/// Units whose slots do not count as space for data: one kept for the collector, two open ones, and one
/// more, because GC gains space only where as many slots are invalid.
const UNITS_HELD_BACK: u32 = 4;

impl LogShape {
    pub fn new(
        grid: &Grid,
        kind: LogKind,
        segments: Option<Segments>,
        space: RowSpace,
        reserve: u32,
        gc: &GcConfig,
        wear: &WearConfig,
    ) -> Self {
        let RowSpace { side_by_side, groups } = space;
        let positions = grid.pages_per_block() * side_by_side;
        let (granule, unit_slots) = match (kind, groups) {
            // Pages of a group go to flash one by one: an open row waits.
            (LogKind::Group, Some(space)) => (grid.slots_per_page(), space.least_slots),
            (LogKind::Group, None) => (grid.slots_per_page() * (grid.dies() / side_by_side - 1), 0),
            (LogKind::Regions, _) => (grid.slots_per_page(), 0),
        };
        let unit_slots = if unit_slots > 0 { unit_slots } else { positions * granule };
        let collectors = groups.map_or(1, |space| space.reserve());
        let die_units = grid.blocks_per_die();
        let (die_logs, units) = segments.map_or((1, die_units), |segments| (segments.per_die, segments.blocks));
        let mut gc = gc.clone();
        gc.separate_write_pointer &= segments.is_none();
        let (segments, wear) = (segments.is_some(), *wear);
        Self {
            positions,
            unit_slots,
            units,
            die_units,
            die_logs,
            segments,
            granule,
            whole_granule: granule,
            reserve,
            collectors,
            outdated: 0,
            slc: None,
            gc,
            wear,
        }
    }

    /// Logs have an SLC cache.
    pub fn with_slc(self, slc: Option<SlcSpace>) -> Self {
        Self { slc, ..self }
    }

    /// Units of a log that are for nothing but its SLC cache: the first ones.
    pub fn kept_for_slc(&self) -> u32 {
        self.slc.map_or(0, |slc| slc.kept())
    }

    fn candidates<'a>(&self, units: &'a [Unit], clock: u64) -> Candidates<'a> {
        let units = &units[self.kept_for_slc() as usize..];
        Candidates { units, unit_slots: self.unit_slots, granule: self.granule, clock }
    }

    /// Keeps `units` more free units that only the collector may take.
    pub fn for_recovery(mut self, units: u32) -> Self {
        self.collectors += units;
        self.gc.free_blocks = self.gc.free_blocks.max(self.collectors + 1);
        self
    }

    /// The first unit of each log.
    pub fn first_units(&self, all: u32) -> impl Iterator<Item = UnitId> {
        let (die_units, units, logs) = (self.die_units, self.units, self.die_logs);
        (0..all / die_units).flat_map(move |die| (0..logs).map(move |log| die * die_units + log * units))
    }

    /// The log of a block of a die.
    #[inline]
    pub fn log_of(&self, die: u32, block: u32) -> usize {
        // Most drives have one log for each die and need no division.
        if self.die_logs == 1 { die as usize } else { (die * self.die_logs + block / self.units) as usize }
    }

    pub fn logs_of_die(&self, die: u32) -> std::ops::Range<usize> {
        (die * self.die_logs) as usize..((die + 1) * self.die_logs) as usize
    }

    /// Whether the unit is closed and was written with a code whose units are collected first.
    pub fn is_outdated(&self, unit: &Unit) -> bool {
        unit.state == UnitState::Closed && self.outdated >> unit.code & 1 == 1
    }

    /// The outdated unit with the fewest valid slots.
    pub fn first_outdated(&self, units: &[Unit]) -> Option<usize> {
        if self.outdated == 0 {
            return None;
        }
        let closed = units.iter().enumerate().filter(|(_, u)| self.is_outdated(u));
        closed.min_by_key(|(_, u)| (u.valid, u.closed_at)).map(|(index, _)| index)
    }

    /// Units of a log whose slots do not count as space for data.
    pub fn held_back(&self) -> u32 {
        if self.segments {
            // The layout of segments already leaves spare blocks for garbage.
            return self.collectors;
        }
        // Each further stream has an open unit of its own, or two.
        let streams = self.gc.streams.host_write_pointers() + self.gc.streams.gc_write_pointers() - 2;
        // The open unit of a cache that takes any unit holds less than it takes.
        let open_slc = u32::from(self.slc.is_some_and(|slc| slc.kept() == 0));
        UNITS_HELD_BACK - 1 + open_slc + self.collectors + self.reserve + streams
    }

    /// Slots of a unit that count as space for data: those of all positions but one, and one more. To
    /// collect a unit with fewer valid slots gains at least one position; with as many it may gain none.
    pub fn slots_at_rest(&self) -> u32 {
        self.at_rest(self.unit_slots)
    }

    fn at_rest(&self, slots: u32) -> u32 {
        slots - (self.granule - 1)
    }
}

impl Log {
    /// The log of the units from `first` on, of all units of the drive.
    pub fn new(first: UnitId, all: &[Unit], shape: &LogShape) -> Self {
        let all_free: Vec<UnitId> =
            (first..first + shape.units).filter(|&unit| all[unit as usize].state == UnitState::Free).collect();
        let (kept, mut free): (Vec<_>, Vec<_>) = all_free.into_iter().partition(|&unit| unit - first < shape.kept_for_slc());
        let live_max = (free.len() as u32).saturating_sub(shape.held_back()) * shape.slots_at_rest();
        // Taken from the end: ascending use of a fresh log.
        free.reverse();
        let (dirty, write_pointers, cache) = (Vec::new(), [WritePointer::default(); WRITE_POINTERS], Cache::of(kept));
        Self { first, free, dirty, clock: 0, collections: 0, cache, live: 0, live_max, write_pointers }
    }

    /// Takes over the units that a mount found. None is free. The clock goes on from the closed ones.
    pub fn mount(&mut self, units: &mut [Unit]) {
        self.free.clear();
        self.cache.mount(units);
        let is = |unit: &Unit, state| unit.state == state;
        let dirty = units.iter().enumerate().filter(|(_, unit)| is(unit, UnitState::Dirty));
        self.dirty = dirty.map(|(index, _)| self.first + index as u32).collect();
        self.dirty.reverse();
        let mut closed: Vec<usize> = (0..units.len()).filter(|&index| is(&units[index], UnitState::Closed)).collect();
        closed.sort_by_key(|&index| units[index].closed_at);
        for index in closed {
            units[index].closed_at = self.clock;
            self.clock += 1;
        }
    }

    /// Closes the free units that are pinned: they hold nothing, and are collected when their pins are gone.
    pub fn close_pinned(&mut self, units: &mut [Unit]) {
        for (unit, state) in (self.first..).zip(units).filter(|(_, state)| state.state == UnitState::Free && state.pins > 0) {
            state.state = UnitState::Closed;
            self.free.retain(|&free| free != unit);
            self.cache.retire(unit, state);
        }
    }

    /// Condemns the closed unit without pins that has the fewest valid slots, if collecting it gains space.
    pub fn condemn_unpinned(&self, units: &mut [Unit], shape: &LogShape) -> Option<UnitId> {
        let candidates = shape.candidates(units, self.clock);
        let free = candidates.units.iter().enumerate().filter(|(_, unit)| unit.pins == 0 && candidates.gains(unit));
        let index = free.min_by_key(|(_, unit)| (unit.valid, unit.closed_at)).map(|(index, _)| index)?;
        let index = index + shape.kept_for_slc() as usize;
        units[index].state = UnitState::Condemned;
        Some(self.first + index as u32)
    }

    /// Makes all dirty units free without an erase: for tests that are to notice.
    pub fn break_erase_again(&mut self, units: &mut [Unit], kept: u32) {
        for unit in self.dirty.drain(..) {
            units[(unit - self.first) as usize].state = UnitState::Free;
            if unit - self.first < kept {
                self.cache.give(unit);
            } else {
                self.free.push(unit);
            }
        }
    }

    /// Makes a closed unit dirty that nothing is needed of any more; false where something is.
    pub fn make_dirty(&mut self, unit: UnitId, units: &mut [Unit]) -> bool {
        let of = &mut units[(unit - self.first) as usize];
        let is_unneeded = (of.state, of.valid, of.pins) == (UnitState::Closed, 0, 0);
        if is_unneeded {
            of.state = UnitState::Dirty;
            self.dirty.push(unit);
        }
        is_unneeded
    }

    /// Condemns the next dirty unit.
    pub fn condemn_dirty(&mut self, units: &mut [Unit]) -> Option<UnitId> {
        let unit = self.dirty.pop()?;
        units[(unit - self.first) as usize].state = UnitState::Condemned;
        Some(unit)
    }

    /// Indices of the log's units among all units of the drive.
    pub fn units(&self, shape: &LogShape) -> std::ops::Range<usize> {
        self.first as usize..(self.first + shape.units) as usize
    }

    /// Removes bad units from the free ones, and computes `live_max` from the slots of each good unit.
    pub fn drop_bad(&mut self, units: &[Unit], shape: &LogShape) {
        self.free.retain(|&unit| units[(unit - self.first) as usize].state == UnitState::Free);
        let mut slots: Vec<u32> =
            units.iter().filter(|u| u.state != UnitState::Bad && u.slots > 0).map(|u| shape.at_rest(u.slots)).collect();
        // The units that are held back may be the largest.
        slots.sort_unstable();
        slots.truncate(slots.len().saturating_sub(shape.held_back() as usize));
        self.live_max = slots.iter().sum();
    }

    #[inline]
    pub(crate) fn write_pointer_of(&self, stream: Stream, shape: &LogShape) -> usize {
        let streams = &shape.gc.streams;
        match stream {
            Stream::HostIn(of) if of.index() > 0 && u32::from(of.0) < streams.host_write_pointers() => 1 + of.index(),
            Stream::Host | Stream::Commit | Stream::HostIn(_) => 0,
            Stream::GcOf(of) if of.index() > 0 && u32::from(of.0) < streams.gc_write_pointers() => {
                StreamId::COUNT_MAX + of.index()
            }
            Stream::Gc | Stream::GcOf(_) => usize::from(shape.gc.separate_write_pointer),
        }
    }

    pub fn free_units(&self) -> u32 {
        self.free.len() as u32
    }

    /// Whether the stream can take one more position now. The host stops while the collector still has
    /// the free units that are kept for it.
    #[inline]
    pub fn has_room(&self, stream: Stream, shape: &LogShape) -> bool {
        if shape.slc.is_some()
            && let Some(decided) = self.room_by_slc(stream, shape)
        {
            return decided;
        }
        self.has_room_at(self.write_pointer_of(stream, shape), stream, shape)
    }

    /// As [`Self::has_room`], beside an SLC cache, at the write pointer of the stream.
    #[inline(always)]
    fn has_room_at(&self, which: usize, stream: Stream, shape: &LogShape) -> bool {
        let write_pointer = &self.write_pointers[which];
        let reserve = match stream {
            Stream::Gc | Stream::GcOf(_) => return write_pointer.unit.is_some() || !self.free.is_empty(),
            Stream::Commit => 0,
            Stream::Host | Stream::HostIn(_) => shape.reserve * shape.positions,
        };
        let open = if write_pointer.unit.is_some() { shape.positions - write_pointer.next } else { 0 };
        let free = self.free_units();
        let left = if shape.gc.separate_write_pointer {
            open + free.saturating_sub(shape.collectors) * shape.positions
        } else {
            (open + free * shape.positions).saturating_sub(shape.collectors * shape.positions)
        };
        left > reserve
    }

    /// The unit and position that the stream writes next; opens a unit where none is open.
    #[inline]
    pub fn position(&mut self, stream: Stream, units: &mut [Unit], shape: &LogShape) -> Option<(UnitId, u32)> {
        if shape.slc.is_some()
            && !stream.is_gc()
            && let Some(write_pointer) = self.slc_position(units, shape)
        {
            return write_pointer.unit.map(|unit| (unit, write_pointer.next));
        }
        if !self.has_room(stream, shape) {
            return None;
        }
        let which = self.write_pointer_of(stream, shape);
        if self.write_pointers[which].unit.is_none() {
            self.open(which, units, shape)?;
        }
        let write_pointer = self.write_pointers[which];
        write_pointer.unit.map(|unit| (unit, write_pointer.next))
    }

    /// The unit and position that the stream writes next, taken: what [`Self::position`] and [`Self::advance`] do, for most drives
    /// with one look at the write pointer.
    #[inline]
    pub fn take(&mut self, stream: Stream, units: &mut [Unit], shape: &LogShape) -> Option<(UnitId, u32)> {
        if shape.slc.is_some() {
            let position = self.position(stream, units, shape)?;
            self.advance(stream, units, shape);
            return Some(position);
        }
        let which = self.write_pointer_of(stream, shape);
        if !self.has_room_at(which, stream, shape) {
            return None;
        }
        let unit = match self.write_pointers[which].unit {
            Some(unit) => unit,
            None => self.open(which, units, shape)?,
        };
        let next = self.write_pointers[which].next;
        self.move_on(which, shape.positions, units);
        Some((unit, next))
    }

    /// A free unit becomes the open one of a write pointer.
    fn open(&mut self, which: usize, units: &mut [Unit], shape: &LogShape) -> Option<UnitId> {
        let unit = self.take_free(units, shape)?;
        units[(unit - self.first) as usize].state = UnitState::Open;
        self.write_pointers[which] = WritePointer { unit: Some(unit), next: 0 };
        Some(unit)
    }

    /// Moves on to the next position; closes the unit after its last one.
    #[inline]
    pub fn advance(&mut self, stream: Stream, units: &mut [Unit], shape: &LogShape) {
        let (which, positions) = match &shape.slc {
            Some(slc) if !stream.is_gc() && self.writes_slc() => (SLC, shape.positions / slc.bits),
            _ => (self.write_pointer_of(stream, shape), shape.positions),
        };
        self.move_on(which, positions, units);
    }

    #[inline(always)]
    fn move_on(&mut self, which: usize, positions: u32, units: &mut [Unit]) {
        let write_pointer = &mut self.write_pointers[which];
        write_pointer.next += 1;
        if write_pointer.next == positions {
            let unit = write_pointer.unit.take().expect("a position was given out");
            let unit = &mut units[(unit - self.first) as usize];
            unit.state = UnitState::Closed;
            unit.closed_at = self.clock;
            self.clock += 1;
        }
    }

    pub(crate) fn take_free(&mut self, units: &[Unit], shape: &LogShape) -> Option<UnitId> {
        if !shape.wear.dynamic || self.free.len() < 2 {
            return self.free.pop();
        }
        // From the end, so that of equally worn units the one that became free first is taken.
        let least = (0..self.free.len()).rev().min_by_key(|&i| units[(self.free[i] - self.first) as usize].pe)?;
        Some(self.free.remove(least))
    }

    /// Whether GC is due. A segment is collected only when the host finds no room: it has so few
    /// spare blocks that an earlier victim would hold hardly any invalid slots.
    #[inline]
    pub fn is_short(&self, shape: &LogShape) -> bool {
        if shape.segments {
            return !self.has_room(Stream::Host, shape);
        }
        self.lacks_free(shape) || self.must_fold(shape)
    }

    /// Whether the log has fewer free units than it is to have.
    #[inline]
    pub fn lacks_free(&self, shape: &LogShape) -> bool {
        self.lacks_free_beside(0, shape)
    }

    /// True if the log lacks free units even after `more` further units become free.
    pub fn lacks_free_beside(&self, more: u32, shape: &LogShape) -> bool {
        self.free_units() + more < shape.gc.free_blocks + shape.reserve
    }

    /// Condemns the next victim, which the policy chooses. Each eighth victim is the least worn closed
    /// unit instead, if the P/E cycles of the log differ too much (static wear levelling); more than one
    /// in eight would leave too little GC. The flag says whether wear levelling chose.
    pub fn condemn(&mut self, units: &mut [Unit], shape: &LogShape, policy: &mut dyn VictimPolicy) -> Option<(UnitId, bool)> {
        let candidates = shape.candidates(units, self.clock);
        // A policy that does not look at validity would move full units without end.
        if !candidates.units.iter().any(|unit| candidates.gains(unit)) {
            return None;
        }
        self.collections += 1;
        // Units of a code that is no longer in use go first.
        if let Some(index) = shape.first_outdated(units)
            && shape.candidates(units, self.clock).gains(&units[index])
        {
            units[index].state = UnitState::Condemned;
            return Some((self.first + index as u32, false));
        }
        let candidates = shape.candidates(units, self.clock);
        let cold = if self.collections.is_multiple_of(8) { self.coldest_if_spread(candidates.units, shape) } else { None };
        let index = cold.or_else(|| policy.pick(&candidates))? + shape.kept_for_slc() as usize;
        units[index].state = UnitState::Condemned;
        Some((self.first + index as u32, cold.is_some()))
    }

    fn coldest_if_spread(&self, units: &[Unit], shape: &LogShape) -> Option<usize> {
        if shape.wear.static_threshold == 0 {
            return None;
        }
        let most = units.iter().filter(|u| u.state != UnitState::Bad).map(|u| u.pe).max()?;
        // Folding moves the pages of units in SLC mode in any case.
        let closed = units.iter().enumerate().filter(|(_, u)| u.state == UnitState::Closed && !u.slc);
        let (index, least) = closed.min_by_key(|(_, u)| (u.pe, u.closed_at))?;
        (most - least.pe > shape.wear.static_threshold).then_some(index)
    }

    /// Condemns a unit that no policy chose; false where it is not closed.
    pub fn condemn_unit(&mut self, unit: UnitId, units: &mut [Unit]) -> bool {
        let state = &mut units[(unit - self.first) as usize].state;
        let closed = *state == UnitState::Closed;
        if closed {
            *state = UnitState::Condemned;
        }
        closed
    }

    /// Closes an open unit before its last position; does nothing where the unit is not open.
    pub fn abandon(&mut self, unit: UnitId, units: &mut [Unit]) {
        for write_pointer in &mut self.write_pointers {
            if write_pointer.unit == Some(unit) {
                *write_pointer = WritePointer::default();
                let state = &mut units[(unit - self.first) as usize];
                (state.state, state.closed_at) = (UnitState::Closed, self.clock);
                self.clock += 1;
            }
        }
    }

    /// Makes a free or condemned unit bad: it is never used again, and the log can hold less.
    pub fn retire(&mut self, unit: UnitId, units: &mut [Unit], shape: &LogShape) {
        let state = &mut units[(unit - self.first) as usize];
        debug_assert!(state.valid == 0 && state.pins == 0 && matches!(state.state, UnitState::Free | UnitState::Condemned));
        state.state = UnitState::Bad;
        self.free.retain(|&free| free != unit);
        self.cache.retire(unit, state);
        if unit - self.first >= shape.kept_for_slc() {
            self.live_max = self.live_max.saturating_sub(shape.slots_at_rest());
        }
    }

    /// A condemned unit has been erased.
    pub fn erased(&mut self, unit: UnitId, units: &mut [Unit], shape: &LogShape) {
        let state = &mut units[(unit - self.first) as usize];
        debug_assert_eq!((state.valid, state.pins, state.state), (0, 0, UnitState::Condemned));
        state.state = UnitState::Free;
        state.pe += 1;
        self.cache.left(state);
        if unit - self.first < shape.kept_for_slc() {
            self.cache.give(unit);
        } else {
            self.free.insert(0, unit);
        }
    }
}

/// The SLC cache.
impl Log {
    /// True if the host's open SLC unit has a free page, or a unit can be opened in SLC mode.
    fn has_slc_room(&self, shape: &LogShape) -> bool {
        let Some(slc) = &shape.slc else { return false };
        let may_open = match slc.blocks {
            SlcBlocks::Kept(_) => !self.cache.free.is_empty(),
            SlcBlocks::Any(most) => self.cache.in_use < most && self.free_units() > shape.gc.free_blocks + shape.reserve,
        };
        self.write_pointers[SLC].unit.is_some() || may_open && !self.cache.is_off
    }

    /// True if the host's open unit is written in SLC mode.
    #[inline]
    pub fn writes_slc(&self) -> bool {
        self.write_pointers[SLC].unit.is_some()
    }

    /// Whether the cache alone decides if the stream has room. Most drives have no cache.
    #[cold]
    pub fn room_by_slc(&self, stream: Stream, shape: &LogShape) -> Option<bool> {
        let slc = shape.slc.as_ref().filter(|_| !stream.is_gc())?;
        if self.has_slc_room(shape) {
            return Some(true);
        }
        let waits = stream.is_host() && slc.waits && self.cache.in_use > 0 && !self.cache.is_off;
        waits.then_some(false)
    }

    /// Where the host writes next in SLC mode; opens a unit where none is open. `None`: past the cache, or nowhere.
    pub fn slc_position(&mut self, units: &mut [Unit], shape: &LogShape) -> Option<WritePointer> {
        if !self.has_slc_room(shape) {
            return None;
        }
        if self.write_pointers[SLC].unit.is_none() {
            let unit = if shape.kept_for_slc() > 0 { self.take_kept(units) } else { self.take_free(units, shape) }?;
            let state = &mut units[(unit - self.first) as usize];
            (state.state, state.slc) = (UnitState::Open, true);
            self.cache.in_use += 1;
            self.write_pointers[SLC] = WritePointer { unit: Some(unit), next: 0 };
        }
        Some(self.write_pointers[SLC])
    }

    /// The least worn of the units that are used for nothing else.
    fn take_kept(&mut self, units: &[Unit]) -> Option<UnitId> {
        let free = &mut self.cache.free;
        let least = (0..free.len()).rev().min_by_key(|&i| units[(free[i] - self.first) as usize].pe)?;
        Some(free.remove(least))
    }

    /// Whether the cache is full and is to be folded for that.
    #[inline]
    pub fn must_fold(&self, shape: &LogShape) -> bool {
        let Some(slc) = &shape.slc else { return false };
        (slc.folds_when_full || slc.waits) && self.cache.in_use > 0 && !self.cache.is_off && !self.has_slc_room(shape)
    }

    /// The full unit in SLC mode that was closed first; one of which nothing is needed before all others.
    pub fn next_to_fold(&self, units: &[Unit]) -> Option<usize> {
        let full = units.iter().enumerate().filter(|(_, unit)| unit.slc && unit.state == UnitState::Closed);
        full.min_by_key(|(_, unit)| (unit.valid > 0, unit.closed_at)).map(|(index, _)| index)
    }

    /// Condemns the next unit to fold, where the collector has room for all that is valid in it beside the units that are kept
    /// free: folding needs space, where GC gains some.
    pub fn condemn_slc(&self, units: &mut [Unit], shape: &LogShape) -> Option<UnitId> {
        let index = self.next_to_fold(units)?;
        let write_pointer = &self.write_pointers[self.write_pointer_of(Stream::Gc, shape)];
        let open = if write_pointer.unit.is_some() { shape.positions - write_pointer.next } else { 0 };
        let spare = self.free_units().saturating_sub(shape.collectors + shape.reserve);
        if units[index].valid.div_ceil(shape.granule) > open + spare * shape.positions {
            return None;
        }
        units[index].state = UnitState::Condemned;
        Some(self.first + index as u32)
    }
}
