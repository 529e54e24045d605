//! The map itself: the place of each logical page and stripe parity, validity of slots, free space.

use crate::log::{Log, LogShape, Segments};
use crate::victim::{self, VictimPolicy};
use crate::{GcConfig, GroupSpace, LogKind, RowSpace, Rows, SlcSpace, Stream, Unit, UnitId, UnitState, WearConfig};
use std::ops::Range;
use vocab::{BlockAddr, DieId, Grid, Lpn, Ppn, Slot, StreamId, Streams, StripSet, StripeId, SuperblockId, Table};

/// Where a logical page, or the parity of a static stripe, lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Never written, or discarded.
    Unmapped,
    /// In this slot.
    At(Slot),
    /// It was written, but no page of flash holds it: only its stripe can rebuild it.
    Missing,
}

const UNMAPPED: u32 = u32::MAX;
const MISSING: u32 = u32::MAX - 1;

fn place(word: u32) -> Place {
    match word {
        UNMAPPED => Place::Unmapped,
        MISSING => Place::Missing,
        slot => Place::At(Slot(slot)),
    }
}

/// State of the old version when a new one is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The unit of the old version, pinned until [`Ftl::release`]; `None` where there was none.
    pub pinned: Option<UnitId>,
}

/// A setting that the map refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {reason}")]
pub struct FtlError {
    /// Name of the setting.
    pub setting: &'static str,
    /// Its value and the valid ones.
    pub reason: String,
}

/// Size and settings of a map.
#[derive(Clone, Copy, Debug)]
pub struct FtlSetup<'a> {
    /// Region logs or one group log.
    pub kind: LogKind,
    /// Logical pages of the host.
    pub user_slots: u32,
    /// Logical pages in all: those of the host, then those that the drive keeps for itself.
    pub slots: u32,
    /// Size of region logs that are smaller than a die; `None`: one region log for each die.
    pub segments: Option<Segments>,
    /// Static stripes, each with one parity page.
    pub stripes: u32,
    /// Free units of each log kept for [`Stream::Commit`].
    pub reserve: u32,
    /// Further free units of each log that only the collector may take, so that a mount finds free units
    /// even after many power cuts in a row.
    pub recovery: u32,
    /// Rows of a group log that lie side by side on one page number; 1: each spans the drive.
    pub side_by_side: u32,
    /// How much a group holds, where groups have codes of their own.
    pub groups: Option<GroupSpace>,
    /// The SLC cache of each log.
    pub slc: Option<SlcSpace>,
    /// Garbage collection.
    pub gc: &'a GcConfig,
    /// Wear levelling.
    pub wear: &'a WearConfig,
}

/// The map of one drive. Invariants:
///
/// * a slot is valid exactly if the map points to it;
/// * `unit.valid` is the number of valid slots in the unit;
/// * a unit with valid slots or pins is never handed out for erase.
pub struct Ftl {
    pub(crate) grid: Grid,
    kind: LogKind,
    user_slots: u32,
    data: Table<u32>,
    parity: Table<u32>,
    pub(crate) valid: Table<u64>,
    pub(crate) units: Vec<Unit>,
    pub(crate) logs: Vec<Log>,
    pub(crate) shape: LogShape,
    policy: Box<dyn VictimPolicy>,
    pub(crate) rows: Option<Rows>,
    /// Whether a superseded slot pins its unit until the new version is durable.
    pub(crate) pins: bool,
}

impl Clone for Ftl {
    fn clone(&self) -> Self {
        Self {
            grid: self.grid.clone(),
            kind: self.kind,
            user_slots: self.user_slots,
            data: self.data.clone(),
            parity: self.parity.clone(),
            valid: self.valid.clone(),
            units: self.units.clone(),
            logs: self.logs.clone(),
            shape: self.shape.clone(),
            policy: self.policy.boxed_clone(),
            rows: self.rows.clone(),
            pins: self.pins,
        }
    }
}

impl Ftl {
    /// The map of an empty drive.
    ///
    /// # Errors
    /// An unknown victim policy, or settings out of range.
    pub fn new(grid: &Grid, setup: &FtlSetup<'_>, streams: &Streams, bad: impl Fn(BlockAddr) -> bool) -> Result<Self, FtlError> {
        let FtlSetup {
            kind,
            user_slots,
            slots: logical,
            segments,
            stripes,
            reserve,
            recovery,
            side_by_side,
            groups,
            slc,
            gc,
            wear,
        } = *setup;
        let kept = slc.map_or(0, |slc| slc.kept());
        gc.check(reserve, grid.blocks_per_die().saturating_sub(kept))?;
        gc.check_streams(kind == LogKind::Regions && segments.is_none())?;
        if kind == LogKind::Regions && grid.slots_per_page() > 1 && !gc.separate_write_pointer {
            let slots = grid.slots_per_page();
            let reason = format!(
                "found false, must be true where a page holds {slots} logical pages: a half filled page would wait for the other writer"
            );
            return Err(FtlError { setting: "gc.separate_write_pointer", reason });
        }
        let draws = streams.stream("ftl/victim");
        let own = gc.own.as_ref().map(victim::OwnPolicy::build);
        let policy = own.or_else(|| victim::build(&gc.policy, gc.choices, draws)).ok_or_else(|| {
            let known: Vec<_> = victim::POLICIES.iter().map(|entry| entry.name).collect();
            FtlError { setting: "gc.policy", reason: format!("found `{}`, known are {}", gc.policy, known.join(", ")) }
        })?;
        let per_die = grid.blocks_per_die();
        let rows = (kind == LogKind::Group).then(|| Rows::new(grid, side_by_side, &bad));
        let count = match kind {
            LogKind::Regions => per_die * grid.dies(),
            LogKind::Group => per_die,
        };
        let shape = LogShape::new(grid, kind, segments, RowSpace { side_by_side, groups }, reserve, gc, wear)
            .for_recovery(recovery)
            .with_slc(slc);
        let unusable = |unit: u32| match &rows {
            None => bad(BlockAddr(unit)),
            // A row needs room for one data page and its parity.
            Some(rows) => rows.data_pages(SuperblockId(unit)) == 0,
        };
        let state = |unit| if unusable(unit) { UnitState::Bad } else { UnitState::Free };
        let units: Vec<Unit> = (0..count).map(|u| Unit { state: state(u), ..Unit::default() }).collect();
        let logs = shape.first_units(count).map(|first| Log::new(first, &units, &shape)).collect();
        let slots = u64::from(grid.geometry().slots());
        Ok(Self {
            grid: grid.clone(),
            kind,
            user_slots,
            data: Table::filled(logical as usize, UNMAPPED),
            parity: Table::filled(stripes as usize, UNMAPPED),
            valid: Table::zeroed(slots.div_ceil(64) as usize),
            units,
            logs,
            shape,
            policy,
            rows,
            pins: true,
        })
    }

    /// Most valid slots that all logs of a drive without bad blocks can hold. Region logs count slots
    /// of parity among them; the group log does not. Blocks that are for an SLC cache alone hold none.
    #[must_use]
    pub fn capacity(grid: &Grid, kind: LogKind, space: RowSpace, reserve: u32, slc: Option<SlcSpace>, gc: &GcConfig) -> u64 {
        let shape = LogShape::new(grid, kind, None, space, reserve, gc, &WearConfig::default()).with_slc(slc);
        let units = u64::from(grid.blocks_per_die().saturating_sub(shape.held_back() + shape.kept_for_slc()));
        let logs = if kind == LogKind::Regions { u64::from(grid.dies()) } else { 1 };
        logs * units * u64::from(shape.slots_at_rest())
    }

    /// Most valid slots that a log can hold with the good blocks it has.
    #[must_use]
    pub fn live_max(&self, log: usize) -> u32 {
        self.logs[log].live_max
    }

    /// The kind of log.
    #[must_use]
    pub fn kind(&self) -> LogKind {
        self.kind
    }

    /// Number of logs: one for each die, one for each segment of each die, or one group log.
    #[must_use]
    pub fn logs(&self) -> usize {
        self.logs.len()
    }

    /// Logical pages of the host.
    #[must_use]
    pub fn user_slots(&self) -> u32 {
        self.user_slots
    }

    /// Rows of the group log.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        self.rows.as_ref().expect("rows exist under a group log")
    }

    /// Rows of the group log, to record what their parity covers.
    pub fn rows_mut(&mut self) -> &mut Rows {
        self.rows.as_mut().expect("rows exist under a group log")
    }

    /// State of a unit.
    #[must_use]
    pub fn unit(&self, unit: UnitId) -> &Unit {
        &self.units[unit as usize]
    }

    /// Sets the P/E cycles of a unit: for a drive that starts worn.
    pub fn set_pe(&mut self, unit: UnitId, pe: u32) {
        self.units[unit as usize].pe = pe;
    }

    /// How many units there are.
    #[must_use]
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// The unit a block belongs to.
    #[inline]
    #[must_use]
    pub fn unit_of_block(&self, block: BlockAddr) -> UnitId {
        match self.kind {
            LogKind::Regions => block.0,
            LogKind::Group => self.grid.split_block(block).1.0,
        }
    }

    /// The unit that a slot lies in.
    #[inline]
    #[must_use]
    pub fn unit_of(&self, slot: Slot) -> UnitId {
        self.unit_of_block(self.grid.block_of(slot))
    }

    /// The log a unit belongs to.
    #[inline]
    #[must_use]
    pub fn log_of(&self, unit: UnitId) -> usize {
        match self.kind {
            LogKind::Regions => {
                let (die, block) = self.grid.split_block(BlockAddr(unit));
                self.shape.log_of(u32::from(die.0), block.0)
            }
            LogKind::Group => 0,
        }
    }

    /// The region logs of a die; of a group log, the only one.
    #[must_use]
    pub fn logs_of_die(&self, die: DieId) -> Range<usize> {
        match self.kind {
            LogKind::Regions => self.shape.logs_of_die(u32::from(die.0)),
            LogKind::Group => 0..1,
        }
    }

    pub(crate) fn units_of(&mut self, log: usize) -> (&mut Log, &mut [Unit], &LogShape, &mut dyn VictimPolicy) {
        let log = &mut self.logs[log];
        let units = &mut self.units[log.units(&self.shape)];
        (log, units, &self.shape, &mut *self.policy)
    }

    /// Where a logical page lies.
    #[inline]
    #[must_use]
    pub fn lookup(&self, lpn: Lpn) -> Place {
        place(self.data[lpn.index()])
    }

    /// Where neighbouring logical pages lie.
    #[inline]
    pub fn places(&self, pages: Range<Lpn>) -> impl Iterator<Item = Place> {
        self.data[pages.start.index()..pages.end.index()].iter().map(|&word| place(word))
    }

    /// Of up to 64 neighbouring logical pages: which have been written, and which of these no page of flash holds.
    #[inline]
    #[must_use]
    pub fn mapped(&self, pages: Range<Lpn>) -> (StripSet, StripSet) {
        let words = &self.data[pages.start.index()..pages.end.index()];
        // Nearly always all of them lie somewhere; that is one pass over numbers.
        if words.iter().fold(0, |most, &word| most.max(word)) < MISSING {
            return (StripSet::first(words.len() as u32), StripSet::EMPTY);
        }
        let those = |is: fn(u32) -> bool| (0..).zip(words).filter(|&(_, &word)| is(word)).map(|(index, _)| index).collect();
        (those(|word| word != UNMAPPED), those(|word| word == MISSING))
    }

    /// Fetches the map entry of the page into the CPU cache.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.data.prefetch(lpn.index());
    }

    /// As [`Self::prefetch`], for the parity of a static stripe.
    #[inline]
    pub fn prefetch_parity(&self, stripe: StripeId) {
        self.parity.prefetch(stripe.index());
    }

    /// Reads the map entry of the page, and fetches the validity bit of its slot, and the state of its unit, into the CPU cache. The slot.
    #[inline]
    pub fn prefetch_place(&self, lpn: Lpn) -> Option<Slot> {
        self.prefetch_validity(*self.data.get(lpn.index())?)
    }

    /// As [`Self::prefetch_place`], for the parity of a static stripe.
    #[inline]
    pub fn prefetch_place_of_parity(&self, stripe: StripeId) -> Option<Slot> {
        self.prefetch_validity(*self.parity.get(stripe.index())?)
    }

    #[inline]
    fn prefetch_validity(&self, word: u32) -> Option<Slot> {
        let Place::At(slot) = place(word) else { return None };
        self.valid.prefetch(slot.index() / 64);
        self.units.get(self.unit_of(slot) as usize).into_iter().for_each(vocab::prefetch);
        Some(slot)
    }

    /// Where the parity of a static stripe lies.
    #[inline]
    #[must_use]
    pub fn lookup_parity(&self, stripe: StripeId) -> Place {
        place(self.parity[stripe.index()])
    }

    /// Whether the slot holds a current version.
    #[inline]
    #[must_use]
    pub fn is_valid(&self, slot: Slot) -> bool {
        self.valid[slot.index() / 64] >> (slot.0 % 64) & 1 == 1
    }

    /// The first slot of these that holds a current version; the end of the range where none does.
    #[must_use]
    pub fn next_valid(&self, slots: Range<Slot>) -> Slot {
        let (mut at, end) = (slots.start.0, slots.end.0);
        while at < end {
            let rest = self.valid[at as usize / 64] >> (at % 64);
            if rest != 0 {
                return Slot((at + rest.trailing_zeros()).min(end));
            }
            at = (at / 64 + 1) * 64;
        }
        slots.end
    }

    /// Records that `slot` now holds the current version of a logical page. The unit of the old
    /// version stays pinned until [`Self::release`]; the caller releases it when the new version and
    /// its parity are durable.
    #[inline]
    pub fn publish(&mut self, lpn: Lpn, slot: Slot) -> Published {
        let old = std::mem::replace(&mut self.data[lpn.index()], slot.0);
        self.replaced(old, slot)
    }

    /// As [`Self::publish`], for the parity of a static stripe.
    pub fn publish_parity(&mut self, stripe: StripeId, slot: Slot) -> Published {
        let old = std::mem::replace(&mut self.parity[stripe.index()], slot.0);
        self.replaced(old, slot)
    }

    /// Records that no page of flash holds a logical page that was written (see [`Place::Missing`]).
    pub fn publish_missing(&mut self, lpn: Lpn) -> Published {
        let old = std::mem::replace(&mut self.data[lpn.index()], MISSING);
        Published { pinned: self.supersede(old) }
    }

    /// As [`Self::publish_missing`], for the parity of a static stripe.
    pub fn publish_missing_parity(&mut self, stripe: StripeId) -> Published {
        let old = std::mem::replace(&mut self.parity[stripe.index()], MISSING);
        Published { pinned: self.supersede(old) }
    }

    /// Unmaps a logical page.
    pub fn forget(&mut self, lpn: Lpn) -> Published {
        let old = std::mem::replace(&mut self.data[lpn.index()], UNMAPPED);
        Published { pinned: self.supersede(old) }
    }

    /// Unmaps the parity of a static stripe.
    pub fn forget_parity(&mut self, stripe: StripeId) -> Published {
        let old = std::mem::replace(&mut self.parity[stripe.index()], UNMAPPED);
        Published { pinned: self.supersede(old) }
    }

    #[inline]
    fn replaced(&mut self, old: u32, slot: Slot) -> Published {
        debug_assert!(!self.is_valid(slot));
        self.valid[slot.index() / 64] |= 1 << (slot.0 % 64);
        let unit = self.unit_of(slot);
        self.units[unit as usize].valid += 1;
        let log = self.log_of(unit);
        self.logs[log].live += 1;
        Published { pinned: self.supersede(old) }
    }

    #[inline]
    fn supersede(&mut self, old: u32) -> Option<UnitId> {
        let Place::At(slot) = place(old) else { return None };
        debug_assert!(self.is_valid(slot));
        self.valid[slot.index() / 64] &= !(1 << (slot.0 % 64));
        let unit = self.unit_of(slot);
        let state = &mut self.units[unit as usize];
        state.valid -= 1;
        state.pins += u32::from(self.pins);
        let log = self.log_of(unit);
        self.logs[log].live -= 1;
        self.pins.then_some(unit)
    }

    /// Removes one pin. True if the unit is condemned and can be erased now.
    #[inline]
    #[must_use]
    pub fn release(&mut self, unit: UnitId) -> bool {
        let state = &mut self.units[unit as usize];
        state.pins -= u32::from(self.pins || state.pins > 0);
        state.pins == 0 && state.valid == 0 && state.state == UnitState::Condemned
    }

    /// Whether the stream may write one more position (a page or a row) of the log now.
    #[inline]
    #[must_use]
    pub fn has_room(&self, log: usize, stream: Stream) -> bool {
        let log = &self.logs[log];
        log.has_room(stream, &self.shape) && (!stream.is_host() || log.live < log.live_max)
    }

    /// Takes the next page of a region log for the stream; `None` where it must wait for GC.
    #[inline]
    pub fn take_page(&mut self, log: usize, stream: Stream) -> Option<Ppn> {
        debug_assert_eq!(self.kind, LogKind::Regions);
        let (state, shape) = (&mut self.logs[log], &self.shape);
        if stream.is_host() && state.live >= state.live_max {
            return None;
        }
        let units = &mut self.units[state.units(shape)];
        let (unit, page) = state.take(stream, units, shape)?;
        Some(self.grid.ppn(BlockAddr(unit), page))
    }

    /// P/E cycles of the block that the stream writes next in a region log; opens that block. `None`
    /// where the stream must wait for GC.
    pub fn next_pe(&mut self, log: usize, stream: Stream) -> Option<u32> {
        let (state, units, shape, _) = self.units_of(log);
        let (unit, _) = state.position(stream, units, shape)?;
        Some(self.units[unit as usize].pe)
    }

    /// The row that the stream writes, as superblock and number there, until [`Self::next_row`];
    /// `None` where the stream must wait for GC.
    pub fn open_row(&mut self, stream: Stream) -> Option<(SuperblockId, u32)> {
        let (state, units, shape, _) = self.units_of(0);
        state.position(stream, units, shape).map(|(unit, page)| (SuperblockId(unit), page))
    }

    /// Ends the row that the stream writes: it writes the next row of the superblock from now on.
    pub fn next_row(&mut self, stream: Stream) {
        let (state, units, shape, _) = self.units_of(0);
        state.advance(stream, units, shape);
    }

    /// Whether host and collector write to separate units.
    #[must_use]
    pub fn separates_write_pointers(&self) -> bool {
        self.shape.gc.separate_write_pointer
    }

    /// Who writes to each write pointer of the host in a log.
    pub fn host_write_pointers(&self) -> impl Iterator<Item = Stream> + use<> {
        (0..self.shape.gc.streams.host_write_pointers() as u8).map(|of| Stream::HostIn(StreamId(of)))
    }

    /// Who writes to each write pointer of GC in a log.
    pub fn gc_write_pointers(&self) -> impl Iterator<Item = Stream> + use<> {
        (0..self.shape.gc.streams.gc_write_pointers() as u8).map(|of| Stream::GcOf(StreamId(of)))
    }

    /// Whether the log has so little free space that it must collect.
    #[inline]
    #[must_use]
    pub fn is_short(&self, log: usize) -> bool {
        self.logs[log].is_short(&self.shape)
    }

    /// Number of free units of the log.
    #[must_use]
    pub fn free_units(&self, log: usize) -> u32 {
        self.logs[log].free_units()
    }

    /// Chooses and condemns a victim; the flag says whether wear levelling chose it. `None` where
    /// GC gains no space.
    pub fn condemn(&mut self, log: usize) -> Option<(UnitId, bool)> {
        let (state, units, shape, policy) = self.units_of(log);
        state.condemn(units, shape, policy)
    }

    /// Whether a condemned unit may be erased.
    #[must_use]
    pub fn may_erase(&self, unit: UnitId) -> bool {
        let unit = &self.units[unit as usize];
        unit.valid == 0 && unit.pins == 0
    }

    /// A condemned unit has been erased.
    pub fn erased(&mut self, unit: UnitId) {
        let log = self.log_of(unit);
        let (state, units, shape, _) = self.units_of(log);
        state.erased(unit, units, shape);
        if let Some(rows) = &mut self.rows {
            rows.clear(SuperblockId(unit));
            self.retire_if_too_narrow(unit);
        }
    }

    /// The blocks of a unit: a block, or those blocks of a superblock that are members of its rows.
    pub fn blocks_of(&self, unit: UnitId) -> impl Iterator<Item = BlockAddr> + use<> {
        let (dies, per_die) = match (&self.rows, self.kind) {
            (Some(rows), LogKind::Group) => (rows.members(SuperblockId(unit)), self.grid.blocks_per_die()),
            _ => (StripSet::one(0), 0),
        };
        dies.iter().map(move |die| BlockAddr(die * per_die + unit))
    }

    /// The die is dead. Its data stay mapped, and only their stripes can rebuild them. The host writes
    /// no more to region logs of the die; rows of the group log leave it out.
    pub fn retire_die(&mut self, die: DieId) {
        match self.kind {
            LogKind::Group => self.drop_die_from_rows(die),
            LogKind::Regions => self.shape.logs_of_die(u32::from(die.0)).for_each(|log| self.logs[log].live_max = 0),
        }
    }

    /// Counts valid slots again and compares every count that the map keeps; for tests and debug runs.
    ///
    /// # Panics
    /// If a count is wrong.
    pub fn check_counts(&self) {
        let mut valid = vec![0u32; self.units.len()];
        for word in self.data.iter().chain(self.parity.iter()) {
            if let Place::At(slot) = place(*word) {
                assert!(self.is_valid(slot), "{slot} is mapped and not valid");
                valid[self.unit_of(slot) as usize] += 1;
            }
        }
        let bits: u32 = self.valid.iter().map(|word| word.count_ones()).sum();
        assert_eq!(bits, valid.iter().sum::<u32>(), "valid slots that nothing maps to");
        for (unit, (state, &recount)) in self.units.iter().zip(&valid).enumerate() {
            assert_eq!(state.valid, recount, "valid count of unit {unit}");
        }
        self.check_slc();
    }
}
