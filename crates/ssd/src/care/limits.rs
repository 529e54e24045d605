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
use crate::core::limits::{Limits, Recycled, Region, Thresholds, age_of};
use crate::engine::Engine;
use crate::session::{Prepared, Session, commit_reserve, inside};
use device::contents::HostPayload;
use ftl::{UnitId, UnitState};
use nand::{BlockInfo, FlashArray};
use protect::Protection;
use std::collections::VecDeque;
use vocab::{BlockAddr, Cause, DieId, HostCommand, Nanos, SimTime, StripeId};

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
        self.core.limits = Limits { at: Some(at), reads, regions, stirred: true, recycled: Recycled::default() };
    }

    /// Nobody knows how often blocks were read: each that is written counts as read out.
    pub(crate) fn assume_read_often(&mut self) {
        if !self.core.limits.is_on() {
            return;
        }
        for block in (0..self.core.device.grid.geometry().blocks()).map(BlockAddr) {
            if self.core.device.array.block(block).next_page > 0 {
                self.core.limits.reads[block.index()] = u32::MAX / 2;
                self.core.limits.regions[self.core.device.grid.split_block(block).0.index()].spent.push_back(block);
            }
        }
    }

    /// The timer of retention shares the patrol's place in the calendar: static stripes have no
    /// patrol, and no other scheme has limits.
    fn retention_timer(&self) -> usize {
        self.patrols()
    }

    /// A block got its first page.
    pub(crate) fn note_first_program(&mut self, block: BlockAddr) {
        let device = &self.core.device;
        let is_since = |block, first| {
            let info: &BlockInfo = device.array.block(block);
            info.next_page > 0 && info.first_program == first
        };
        self.core.limits.note_first_program((&device.grid, device.now), block, is_since);
        self.core.limits.stirred |= !self.core.device.calendar.is_pending(self.retention_timer());
    }

    /// Whether all pages of the victim are to be moved side by side.
    pub(crate) fn hurries(&self, victim: UnitId, cause: Cause) -> bool {
        let (device, block) = (&self.core.device, BlockAddr(victim));
        let pressing = || self.core.limits.is_pressing(block, device.array.block(block), device.now);
        self.core.limits.is_on() && cause == Cause::Refresh && pressing()
    }

    /// Time has come for some block, or the drive comes to rest.
    pub(crate) fn retention_due(&mut self) {
        self.core.device.calendar.clear(self.retention_timer());
        self.core.limits.stirred = true;
    }

    /// The next event. Timers count only beside something else: alone, or one beside the other, they would keep
    /// a drive from coming to rest, or from noticing that it is stuck.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<(SimTime, usize)> {
        let next = self.core.device.calendar.next();
        let is_next = |timer: usize| next.is_some_and(|(_, resource)| resource == timer);
        if is_next(self.refreshes()) {
            self.refresh_timer();
        } else if self.core.limits.is_on() && is_next(self.retention_timer()) {
            self.retention_due();
        } else {
            return next;
        }
        let timers = [self.refreshes(), if self.core.limits.is_on() { self.retention_timer() } else { self.refreshes() }];
        next.filter(|_| self.core.device.calendar.has_any_but(timers))
    }

    /// Recycles what is due, on every die. The drive does so while the host uses it.
    pub(crate) fn recycle_due(&mut self) {
        if self.host.requests.outstanding == 0 && !self.more_arrives() {
            return;
        }
        self.core.limits.stirred = false;
        if self.stripe_scheme().limits().is_none() {
            // A later stage of life protects by other means.
            self.core.device.calendar.clear(self.retention_timer());
            self.core.limits = Limits { recycled: self.core.limits.recycled, ..Limits::default() };
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
        if let Some(at) = self.core.limits.at {
            let region = &self.core.limits.regions[die.index()];
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
        if self.core.device.is_dead(die) || self.care.collectors[log].halted || self.is_wanted(log) {
            return;
        }
        self.drop_stale(die);
        let Some((block, reason)) = self.next_due(die) else { return };
        let unit = self.core.map.unit_of_block(block);
        self.want(unit, Cause::Refresh);
        if self.is_wanted(log) || self.core.map.unit(unit).state == UnitState::Condemned {
            let recycled = &mut self.core.limits.recycled;
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
        let at = self.core.limits.at.expect("limits are on");
        let mut region = std::mem::take(&mut self.core.limits.regions[die.index()]);
        while region.order.front().is_some_and(|&(first, block)| !self.holds(block) || !self.is_since(block, first)) {
            region.order.pop_front();
        }
        while region.tired.front().is_some_and(|&block| !self.holds(block) || self.reads_of(block) < at.idle_reads) {
            region.tired.pop_front();
        }
        while region.spent.front().is_some_and(|&block| !self.holds(block) || self.reads_of(block) < at.now_reads) {
            region.spent.pop_front();
        }
        self.core.limits.regions[die.index()] = region;
    }

    /// The block that the die should recycle next, and why.
    fn next_due(&self, die: DieId) -> Option<(BlockAddr, Reason)> {
        let (at, region) = (self.core.limits.at?, &self.core.limits.regions[die.index()]);
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
        if self.core.device.backlog(die) > 0 || self.care.collectors[die.index()].is_busy() {
            return None;
        }
        let tired = read(&region.tired, at.idle_reads).map(|block| (block, Reason::Reads { at_once: false }));
        tired.or_else(|| old(at.idle_age).map(|block| (block, Reason::Retention { at_once: false })))
    }

    fn reads_of(&self, block: BlockAddr) -> u32 {
        self.core.limits.reads[block.index()]
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
        let worn = self.writer.stripes.worn_above.is_some_and(|limit| self.core.device.array.block(block).pe > limit.0);
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
        let Some(at) = self.core.limits.at else { return };
        let next = |region: &Region, age: Nanos| {
            let past = region.order.partition_point(|&(first, _)| first.0.saturating_add(age.0) <= self.core.device.now.0);
            region.order.get(past).map(|&(first, _)| SimTime(first.0.saturating_add(age.0)))
        };
        let of_region = |region| [next(region, at.idle_age), next(region, at.now_age)];
        if let Some(time) = self.core.limits.regions.iter().flat_map(of_region).flatten().min() {
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
        inside!(&self.0, prepared => prepared.engine.core.limits.recycled)
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
