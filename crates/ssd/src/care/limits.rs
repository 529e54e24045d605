//! Limits on read disturb and retention (DA-RAID-5's unbound-disturb limiting, section III-C of
//! the paper): a block that was read T_read times, or whose first page is T_retention old, has
//! its valid pages moved and is erased, before what its cells lost exceeds what ECC corrects.
//!
//! The paper recycles in idle time alone, which a busy drive never has (theory.md, section 5,
//! gap 5). Here both limits end in a margin. In its first half a block is recycled when nothing
//! is queued on its die, in its second half at once: its collector takes it next, moves all its
//! pages side by side, and reads them before whatever else waits for the die.
//!
//! Reads are counted when they are asked for, not when they are served: what waits in a long
//! queue is as good as done, because it cannot be sent elsewhere. That counter is the one that
//! the paper keeps in DRAM, four bytes a block; `BlockInfo::reads` is the medium's own. The
//! moves read each page once: that many reads are set aside before the margin is taken.
//!
//! A block over T_p is exempt where the scheme has parity for the stripes on it (stage 2): its
//! T_read and T_retention would be too short to be kept by recycling (section III-D). Forced
//! into stage 1 the scheme has none, and the block is recycled like any other.
//!
//! Holds as long as the second half of the margin covers what the host asks of a block while it
//! is moved, and the time it takes to move the blocks of one die that fall due together; blocks
//! whose limits lie behind them when the workload begins are recycled at once, in order.

use crate::config::Pace;
use crate::device::commands::{Command, Owner};
use crate::device::contents::HostPayload;
use crate::engine::Engine;
use crate::power::outage::age_of;
use crate::session::{Prepared, Session, commit_reserve, inside};
use ftl::{UnitId, UnitState};
use nand::{BlockInfo, FlashArray};
use protect::{DisturbLimits, Protection};
use std::collections::VecDeque;
use vocab::{BlockAddr, Cause, DieId, HostCommand, Nanos, Ppn, SimTime, StripeId};

/// Blocks recycled since the drive was aged, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recycled {
    /// Read often, in the first half of the margin, on an idle die.
    pub reads_idle: u64,
    /// Read so often that it could not wait.
    pub reads_at_once: u64,
    /// Old, in the first half of the margin, on an idle die.
    pub retention_idle: u64,
    /// So old that it could not wait.
    pub retention_at_once: u64,
}

/// Where the halves of the margin begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thresholds {
    idle_reads: u32,
    now_reads: u32,
    idle_age: Nanos,
    now_age: Nanos,
}

impl Thresholds {
    fn new(limits: DisturbLimits, pages_per_block: u32) -> Self {
        let part = |of: u64, share: u32| (u128::from(of) * u128::from(share) / 200) as u64;
        let (idle, now) = (200 - 2 * limits.margin_percent, 200 - limits.margin_percent);
        // A limit that the moves alone would pass leaves half of it to the host.
        let reads = u64::from(limits.reads.saturating_sub(pages_per_block).max(limits.reads / 2));
        Self {
            idle_reads: (part(reads, idle) as u32).max(1),
            now_reads: (part(reads, now) as u32).max(1),
            idle_age: Nanos(part(limits.retention.0, idle)),
            now_age: Nanos(part(limits.retention.0, now)),
        }
    }
}

/// What one die has to recycle. Entries outlive the erase of their block and are skipped then.
#[derive(Clone, Debug, Default)]
struct Region {
    /// Blocks in order of their first program.
    order: VecDeque<(SimTime, BlockAddr)>,
    /// Blocks whose reads reached the margin, and its second half, in order.
    tired: VecDeque<BlockAddr>,
    spent: VecDeque<BlockAddr>,
}

/// Counters and queues of the limits; empty under a scheme without them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disturb {
    /// `None`: the scheme has no limits, or none any more.
    at: Option<Thresholds>,
    /// Reads asked of each block since its erase.
    reads: Vec<u32>,
    regions: Vec<Region>,
    /// Whether something happened that may let a block be recycled.
    pub stirred: bool,
    recycled: Recycled,
}

impl Disturb {
    /// Reads asked of each block since its erase; empty without limits.
    pub fn reads(&self) -> &[u32] {
        &self.reads
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.at.is_some()
    }
}

/// Why a block is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Reads { at_once: bool },
    Retention { at_once: bool },
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// The drive has its age: from now on limits count, if the scheme has any.
    pub(crate) fn start_limits(&mut self) {
        let Protection::Stripes(scheme) = &self.writer.protection else { return };
        let Some(limits) = scheme.limits() else { return };
        let at = Thresholds::new(limits, self.core.device.grid.pages_per_block());
        let blocks = || (0..self.core.device.grid.geometry().blocks()).map(BlockAddr);
        let mut regions = vec![Region::default(); self.core.device.grid.dies() as usize];
        let reads: Vec<u32> = blocks().map(|block| self.core.device.array.block(block).reads).collect();
        for block in blocks().filter(|&block| self.core.device.array.block(block).next_page > 0) {
            let region = &mut regions[self.core.device.grid.split_block(block).0.index()];
            region.order.push_back((self.core.device.array.block(block).first_program, block));
            if reads[block.index()] >= at.now_reads {
                region.spent.push_back(block);
            } else if reads[block.index()] >= at.idle_reads {
                region.tired.push_back(block);
            }
        }
        // Equal times keep the order of blocks.
        regions.iter_mut().for_each(|region| region.order.make_contiguous().sort());
        self.care.disturb = Disturb { at: Some(at), reads, regions, stirred: true, recycled: Recycled::default() };
    }

    /// Nobody knows how often blocks were read: each that is written counts as read out.
    pub(crate) fn assume_read_often(&mut self) {
        if !self.care.disturb.is_on() {
            return;
        }
        for block in (0..self.core.device.grid.geometry().blocks()).map(BlockAddr) {
            if self.core.device.array.block(block).next_page > 0 {
                self.care.disturb.reads[block.index()] = u32::MAX / 2;
                self.care.disturb.regions[self.core.device.grid.split_block(block).0.index()].spent.push_back(block);
            }
        }
    }

    /// The timer of retention shares the patrol's place in the calendar: static stripes have no
    /// patrol, and no other scheme has limits.
    fn retention_timer(&self) -> usize {
        self.patrols()
    }

    /// Counts a read that is asked for.
    #[inline]
    pub(crate) fn count_read(&mut self, ppn: Ppn) {
        let Some(at) = self.care.disturb.at else { return };
        let block = self.core.device.grid.split(ppn).0;
        let count = &mut self.care.disturb.reads[block.index()];
        *count = count.saturating_add(1);
        if *count != at.idle_reads && *count != at.now_reads {
            return;
        }
        let is_spent = *count == at.now_reads;
        let region = &mut self.care.disturb.regions[self.core.device.grid.split_block(block).0.index()];
        if is_spent {
            region.spent.push_back(block)
        } else {
            region.tired.push_back(block)
        }
        self.care.disturb.stirred = true;
    }

    /// A block got its first page.
    pub(crate) fn note_first_program(&mut self, block: BlockAddr) {
        let blocks = self.core.device.grid.blocks_per_die() as usize;
        let region = &mut self.care.disturb.regions[self.core.device.grid.split_block(block).0.index()];
        region.order.push_back((self.core.device.now, block));
        // One entry in two at least is of a block that was erased since.
        if region.order.len() > 2 * blocks {
            let array = &self.core.device.array;
            region.order.retain(|&(at, block)| {
                let info = array.block(block);
                info.next_page > 0 && info.first_program == at
            });
        }
        self.care.disturb.stirred |= !self.core.device.calendar.is_pending(self.retention_timer());
    }

    /// A block was erased: its cells start anew, and the next one may have its turn.
    pub(crate) fn note_erase(&mut self, block: BlockAddr) {
        self.care.disturb.reads[block.index()] = 0;
        self.care.disturb.stirred = true;
    }

    /// Whether the block can wait no longer.
    fn is_pressing(&self, block: BlockAddr) -> bool {
        let Some(at) = self.care.disturb.at else { return false };
        let info = self.core.device.array.block(block);
        let old = info.next_page > 0 && age_of(self.core.device.now, info.first_program) >= at.now_age;
        old || self.care.disturb.reads[block.index()] >= at.now_reads
    }

    /// Whether all pages of the victim are to be moved side by side.
    pub(crate) fn hurries(&self, victim: UnitId, cause: Cause) -> bool {
        self.care.disturb.is_on() && cause == Cause::Refresh && self.is_pressing(BlockAddr(victim))
    }

    /// Whether a read goes before what waits for its die.
    pub(crate) fn overtakes(&self, command: &Command) -> bool {
        let moves = command.cause == Cause::Refresh && matches!(command.owner, Owner::Collect { .. });
        moves && self.is_pressing(self.core.device.grid.split(command.ppn).0)
    }

    /// Whether an erase is under way that a block that can wait no longer waits for. Reads that
    /// go first would hold it off as long as the host has any.
    pub(crate) fn erase_presses(&self, die: DieId) -> bool {
        let Some(at) = self.care.disturb.at else { return false };
        let region = &self.care.disturb.regions[die.index()];
        let old = || region.order.front().is_some_and(|&(first, _)| age_of(self.core.device.now, first) >= at.now_age);
        self.care.collectors[die.index()].is_erasing() && (!region.spent.is_empty() || old())
    }

    /// Time has come for some block, or the drive comes to rest.
    pub(crate) fn retention_due(&mut self) {
        self.core.device.calendar.clear(self.retention_timer());
        self.care.disturb.stirred = true;
    }

    /// The next event. Timers count only beside something else: alone, or one beside the other, they would keep
    /// a drive from coming to rest, or from noticing that it is stuck.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<(SimTime, usize)> {
        let next = self.core.device.calendar.next();
        let is_next = |timer: usize| next.is_some_and(|(_, resource)| resource == timer);
        if is_next(self.refreshes()) {
            self.refresh_timer();
        } else if self.care.disturb.is_on() && is_next(self.retention_timer()) {
            self.retention_due();
        } else {
            return next;
        }
        let timers = [self.refreshes(), if self.care.disturb.is_on() { self.retention_timer() } else { self.refreshes() }];
        next.filter(|_| self.core.device.calendar.has_any_but(timers))
    }

    /// Recycles what is due, on every die. The drive does so while the host uses it.
    pub(crate) fn recycle_due(&mut self) {
        if self.host.requests.outstanding == 0 && !self.more_arrives() {
            return;
        }
        self.care.disturb.stirred = false;
        if self.stripe_scheme().limits().is_none() {
            // A later stage of life protects by other means.
            self.core.device.calendar.clear(self.retention_timer());
            self.care.disturb = Disturb { recycled: self.care.disturb.recycled, ..Disturb::default() };
            return;
        }
        for die in 0..self.core.device.grid.dies() {
            self.recycle(DieId(die as u16));
        }
        if !self.core.device.calendar.is_pending(self.retention_timer()) {
            self.set_retention_timer();
        }
    }

    /// The die has nothing to do.
    #[inline]
    pub(crate) fn recycle_when_idle(&mut self, die: DieId) {
        if let Some(at) = self.care.disturb.at {
            let region = &self.care.disturb.regions[die.index()];
            let old = region.order.front().is_some_and(|&(first, _)| age_of(self.core.device.now, first) >= at.idle_age);
            let used = self.host.requests.outstanding > 0 || self.more_arrives();
            if used && (old || !region.tired.is_empty()) && self.stripe_scheme().limits().is_some() {
                self.recycle(die);
            }
        }
    }

    /// Gives the die's collector the next block that is due, unless one waits for it already.
    fn recycle(&mut self, die: DieId) {
        let log = die.index();
        if self.is_dead(die) || self.care.collectors[log].halted || self.is_wanted(log) {
            return;
        }
        self.drop_stale(die);
        let Some((block, reason)) = self.next_due(die) else { return };
        let unit = self.core.map.unit_of_block(block);
        self.want(unit, Cause::Refresh);
        if self.is_wanted(log) || self.core.map.unit(unit).state == UnitState::Condemned {
            let recycled = &mut self.care.disturb.recycled;
            *match reason {
                Reason::Reads { at_once: false } => &mut recycled.reads_idle,
                Reason::Reads { at_once: true } => &mut recycled.reads_at_once,
                Reason::Retention { at_once: false } => &mut recycled.retention_idle,
                Reason::Retention { at_once: true } => &mut recycled.retention_at_once,
            } += 1;
        }
    }

    /// Forgets blocks in front of the queues that nothing is to be done about any more.
    fn drop_stale(&mut self, die: DieId) {
        let at = self.care.disturb.at.expect("limits are on");
        let mut region = std::mem::take(&mut self.care.disturb.regions[die.index()]);
        while region.order.front().is_some_and(|&(first, block)| !self.holds(block) || !self.is_since(block, first)) {
            region.order.pop_front();
        }
        while region.tired.front().is_some_and(|&block| !self.holds(block) || self.reads_of(block) < at.idle_reads) {
            region.tired.pop_front();
        }
        while region.spent.front().is_some_and(|&block| !self.holds(block) || self.reads_of(block) < at.now_reads) {
            region.spent.pop_front();
        }
        self.care.disturb.regions[die.index()] = region;
    }

    /// The block that the die should recycle next, and why.
    fn next_due(&self, die: DieId) -> Option<(BlockAddr, Reason)> {
        let (at, region) = (self.care.disturb.at?, &self.care.disturb.regions[die.index()]);
        let may = |block: BlockAddr| self.may_recycle(block);
        let read = |queue: &VecDeque<BlockAddr>, reads: u32| {
            queue.iter().copied().find(|&block| self.reads_of(block) >= reads && may(block))
        };
        let old = |age: Nanos| {
            let due = region.order.iter().take_while(|(first, _)| age_of(self.core.device.now, *first) >= age);
            due.filter(|&&(first, block)| self.is_since(block, first)).map(|&(_, block)| block).find(|&block| may(block))
        };
        if let Some(block) = read(&region.spent, at.now_reads) {
            return Some((block, Reason::Reads { at_once: true }));
        }
        if let Some(block) = old(at.now_age) {
            return Some((block, Reason::Retention { at_once: true }));
        }
        let state = &self.core.device.dies[die.index()];
        if state.service.is_some() || self.core.device.backlog[die.index()] > 0 || self.care.collectors[die.index()].is_busy() {
            return None;
        }
        let tired = read(&region.tired, at.idle_reads).map(|block| (block, Reason::Reads { at_once: false }));
        tired.or_else(|| old(at.idle_age).map(|block| (block, Reason::Retention { at_once: false })))
    }

    fn reads_of(&self, block: BlockAddr) -> u32 {
        self.care.disturb.reads[block.index()]
    }

    /// Whether the block was not erased since its first page was programmed then.
    fn is_since(&self, block: BlockAddr, first: SimTime) -> bool {
        let info = self.core.device.array.block(block);
        info.next_page > 0 && info.first_program == first
    }

    /// Whether the block may hold pages that the limits are there for. An open one may get some.
    fn holds(&self, block: BlockAddr) -> bool {
        let unit = self.core.map.unit(self.core.map.unit_of_block(block));
        let holds = match unit.state {
            UnitState::Open | UnitState::Condemned => true,
            UnitState::Closed => unit.valid > 0 || unit.pins > 0,
            UnitState::Free | UnitState::Dirty | UnitState::Bad => false,
        };
        holds && !self.is_exempt(block)
    }

    /// Whether the stripes on the block have parity because it is worn.
    fn is_exempt(&self, block: BlockAddr) -> bool {
        let worn = self.writer.worn_above.is_some_and(|limit| self.core.device.array.block(block).pe > limit.0);
        worn && self.stripe_scheme().wants_parity(StripeId(0), true)
    }

    /// Whether the block can be wanted now. Closing an open one gives up the rest of its pages:
    /// collection and commits must keep the blocks they count on.
    fn may_recycle(&self, block: BlockAddr) -> bool {
        let unit = self.core.map.unit_of_block(block);
        let room = || {
            let free = self.core.map.free_units(self.core.map.log_of(unit));
            free > commit_reserve(&self.writer.protection, &self.core.device.grid)
        };
        match self.core.map.unit(unit).state {
            UnitState::Closed => self.holds(block),
            UnitState::Open => self.holds(block) && room(),
            UnitState::Free | UnitState::Condemned | UnitState::Dirty | UnitState::Bad => false,
        }
    }

    /// Sets the timer for the next block that enters a half of its margin. Blocks that are in
    /// the second wait for no time, but for room or for their collector.
    fn set_retention_timer(&mut self) {
        let Some(at) = self.care.disturb.at else { return };
        let next = |region: &Region, age: Nanos| {
            let past = region.order.partition_point(|&(first, _)| first.0.saturating_add(age.0) <= self.core.device.now.0);
            region.order.get(past).map(|&(first, _)| SimTime(first.0.saturating_add(age.0)))
        };
        let of_region = |region| [next(region, at.idle_age), next(region, at.now_age)];
        if let Some(time) = self.care.disturb.regions.iter().flat_map(of_region).flatten().min() {
            self.core.device.calendar.schedule(self.retention_timer(), time);
        }
    }
}

/// What a block looks like from outside, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// Its number.
    pub block: BlockAddr,
    /// What the medium knows of it.
    pub info: BlockInfo,
    /// Slots of it that are current.
    pub valid: u32,
    /// Virtual time.
    pub now: SimTime,
}

impl Session {
    /// Blocks recycled because a limit came near, since the drive was aged.
    #[must_use]
    pub fn recycled(&self) -> Recycled {
        inside!(&self.0, prepared => prepared.engine.care.disturb.recycled)
    }

    /// Replays as [`Session::run`] does and shows every programmed block before every event;
    /// for tests. Blocks are units of collection only under region logs.
    pub fn run_watched(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: &mut dyn FnMut(BlockView),
    ) -> crate::RunResult {
        inside!(&mut self.0, prepared => prepared.watched(commands, pace, each))
    }
}

impl<P: HostPayload> Prepared<P> {
    fn watched(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: &mut dyn FnMut(BlockView),
    ) -> crate::RunResult {
        self.run_stepwise(commands, pace, &mut |_| {}, |engine| {
            for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
                let info = *engine.core.device.array.block(block);
                if info.next_page > 0 {
                    let valid = engine.core.map.unit(engine.core.map.unit_of_block(block)).valid;
                    each(BlockView { block, info, valid, now: engine.core.device.now });
                }
            }
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_has_two_halves_and_the_moves_are_set_aside() {
        let limits = DisturbLimits { reads: 46_000, retention: Nanos(1_000_000), margin_percent: 10 };
        let at = Thresholds::new(limits, 256);
        assert_eq!((at.idle_reads, at.now_reads), (45_744 * 90 / 100, 45_744 * 95 / 100));
        assert_eq!((at.idle_age, at.now_age), (Nanos(900_000), Nanos(950_000)));
        let least = Thresholds::new(DisturbLimits { reads: 16, ..limits }, 256);
        assert_eq!((least.idle_reads, least.now_reads), (7, 7));
    }

    #[test]
    fn counters_of_a_256_gb_drive_with_1_mb_blocks_take_1_mb() {
        let blocks = (256u64 << 30) / (1 << 20);
        let counter = size_of_val(&Disturb { reads: vec![0], ..Disturb::default() }.reads[0]) as u64;
        assert_eq!(blocks * counter, 1 << 20);
    }
}
