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

use crate::care::Care;
use crate::core::Core;
use crate::core::limits::{Limits, Recycled, Region, Thresholds, age_of};
use crate::core::timer::Timer;
use crate::write::Writer;
use device::contents::HostPayload;
use ftl::{UnitId, UnitState};
use nand::{BlockInfo, FlashArray};
use std::collections::VecDeque;
use vocab::{BlockAddr, Cause, DieId, Grid, Nanos, SimTime};

/// Why a block is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Read often, in the first half of the margin.
    ReadsWhenIdle,
    /// Read so often that it cannot wait.
    ReadsAtOnce,
    /// Old, in the first half of the margin.
    RetentionWhenIdle,
    /// So old that it cannot wait.
    RetentionAtOnce,
}

/// The drive has its age: from now on limits count, if the scheme has any.
pub(crate) fn start<P: HostPayload, A: FlashArray<P>>(core: &mut Core<P, A>, writer: &Writer<P>) {
    let Some(limits) = writer.limits() else { return };
    let (grid, array) = (&core.device.grid, &core.device.array);
    let at = Thresholds::new(limits, grid.pages_per_block());
    let blocks = || (0..grid.geometry().blocks()).map(BlockAddr);
    let mut regions = vec![Region::default(); grid.dies() as usize];
    let reads: Vec<u32> = blocks().map(|block| array.block(block).reads).collect();
    for block in blocks().filter(|&block| array.block(block).next_page > 0) {
        let region = &mut regions[grid.split_block(block).0.index()];
        region.order.push_back((array.block(block).first_program, block));
        if reads[block.index()] >= at.now_reads {
            region.spent.push_back(block);
        } else if reads[block.index()] >= at.idle_reads {
            region.tired.push_back(block);
        }
    }
    // Equal times keep the order of blocks.
    regions.iter_mut().for_each(|region| region.order.make_contiguous().sort());
    core.limits = Limits { at: Some(at), reads, regions, stirred: true, recycled: Recycled::default() };
}

/// Nobody knows how often blocks were read: each that is written counts as read out.
pub(crate) fn assume_read_often<P: HostPayload, A: FlashArray<P>>(core: &mut Core<P, A>) {
    if !core.limits.is_on() {
        return;
    }
    for block in (0..core.device.grid.geometry().blocks()).map(BlockAddr) {
        if core.device.array.block(block).next_page > 0 {
            core.limits.reads[block.index()] = u32::MAX / 2;
            core.limits.regions[core.device.grid.split_block(block).0.index()].spent.push_back(block);
        }
    }
}

/// The timer of retention, in the calendar.
pub(crate) fn timer(grid: &Grid) -> usize {
    Timer::Patrol.index(grid)
}

/// A block got its first page.
pub(crate) fn note_first_program<P: HostPayload, A: FlashArray<P>>(core: &mut Core<P, A>, block: BlockAddr) {
    let device = &core.device;
    let is_since = |block, first| {
        let info: &BlockInfo = device.array.block(block);
        info.next_page > 0 && info.first_program == first
    };
    core.limits.note_first_program((&device.grid, device.now), block, is_since);
    core.limits.stirred |= !core.device.calendar.is_pending(timer(&core.device.grid));
}

/// Whether all pages of the victim are to be moved side by side.
#[inline]
pub(crate) fn hurries<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, victim: UnitId, cause: Cause) -> bool {
    let (device, block) = (&core.device, BlockAddr(victim));
    let pressing = || core.limits.is_pressing(block, device.array.block(block), device.now);
    core.limits.is_on() && cause == Cause::Refresh && pressing()
}

/// The retention timer has expired for some block, or the run is ending.
pub(crate) fn retention_due<P: HostPayload, A: FlashArray<P>>(core: &mut Core<P, A>) {
    core.device.calendar.clear(timer(&core.device.grid));
    core.limits.stirred = true;
}

/// Limits end with a later stage of life, which protects by other means. True if they have ended by now.
pub(crate) fn end_if_over<P: HostPayload, A: FlashArray<P>>(core: &mut Core<P, A>, writer: &Writer<P>) -> bool {
    core.limits.stirred = false;
    let is_over = writer.limits().is_none();
    if is_over {
        core.device.calendar.clear(timer(&core.device.grid));
        core.limits = Limits { recycled: core.limits.recycled, ..Limits::default() };
    }
    is_over
}

/// Whether an idle die may have something to recycle.
#[inline]
pub(crate) fn may_recycle_when_idle<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, die: DieId) -> bool {
    let Some(at) = core.limits.at else { return false };
    let region = &core.limits.regions[die.index()];
    let old = region.order.front().is_some_and(|&(first, _)| age_of(core.device.now, first) >= at.idle_age);
    old || !region.tired.is_empty()
}

/// Sets the timer, unless it is set, for the next block that enters a half of its margin. Blocks that are in
/// the second wait for no time, but for room or for their collector.
pub(crate) fn set_timer<P: HostPayload, A: FlashArray<P>>(core: &mut Core<P, A>) {
    let (Some(at), timer) = (core.limits.at, timer(&core.device.grid)) else { return };
    if core.device.calendar.is_pending(timer) {
        return;
    }
    let now = core.device.now;
    let next = |region: &Region, age: Nanos| {
        let past = region.order.partition_point(|&(first, _)| first.0.saturating_add(age.0) <= now.0);
        region.order.get(past).map(|&(first, _)| SimTime(first.0.saturating_add(age.0)))
    };
    let of_region = |region| [next(region, at.idle_age), next(region, at.now_age)];
    if let Some(time) = core.limits.regions.iter().flat_map(of_region).flatten().min() {
        core.device.calendar.schedule(timer, time);
    }
}

/// A block was recycled.
pub(crate) fn count(recycled: &mut Recycled, reason: Reason) {
    *match reason {
        Reason::ReadsWhenIdle => &mut recycled.reads_idle,
        Reason::ReadsAtOnce => &mut recycled.reads_at_once,
        Reason::RetentionWhenIdle => &mut recycled.retention_idle,
        Reason::RetentionAtOnce => &mut recycled.retention_at_once,
    } += 1;
}

impl<P: HostPayload> Care<P> {
    /// The block that the die's collector is to recycle next, and why; nothing if a unit waits for it already.
    pub fn next_due<A: FlashArray<P>>(
        &self,
        core: &mut Core<P, A>,
        writer: &Writer<P>,
        die: DieId,
    ) -> Option<(BlockAddr, Reason)> {
        let log = die.index();
        if core.device.is_dead(die) || self.collectors[log].halted || self.is_wanted(core, log) {
            return None;
        }
        drop_stale(core, writer, die);
        let (at, core) = (core.limits.at?, &*core);
        let now = core.device.now;
        let region = &core.limits.regions[log];
        let may = |block: BlockAddr| may_recycle(core, writer, block);
        let read = |queue: &VecDeque<BlockAddr>, reads: u32| {
            queue.iter().copied().find(|&block| core.limits.reads[block.index()] >= reads && may(block))
        };
        let old = |age: Nanos| {
            let due = region.order.iter().take_while(|(first, _)| age_of(now, *first) >= age);
            due.filter(|&&(first, block)| is_since(core, block, first)).map(|&(_, block)| block).find(|&block| may(block))
        };
        if let Some(block) = read(&region.spent, at.now_reads) {
            return Some((block, Reason::ReadsAtOnce));
        }
        if let Some(block) = old(at.now_age) {
            return Some((block, Reason::RetentionAtOnce));
        }
        if core.device.backlog(die) > 0 || self.collectors[log].is_busy() {
            return None;
        }
        let tired = read(&region.tired, at.idle_reads).map(|block| (block, Reason::ReadsWhenIdle));
        tired.or_else(|| old(at.idle_age).map(|block| (block, Reason::RetentionWhenIdle)))
    }
}

/// Forgets blocks in front of the queues that nothing is to be done about any more.
fn drop_stale<P: HostPayload, A: FlashArray<P>>(core: &mut Core<P, A>, writer: &Writer<P>, die: DieId) {
    let at = core.limits.at.expect("limits are on");
    let mut region = std::mem::take(&mut core.limits.regions[die.index()]);
    let core_now = &*core;
    let reads = |block: BlockAddr| core_now.limits.reads[block.index()];
    let holds = |block| holds(core_now, writer, block);
    while region.order.front().is_some_and(|&(first, block)| !holds(block) || !is_since(core_now, block, first)) {
        region.order.pop_front();
    }
    while region.tired.front().is_some_and(|&block| !holds(block) || reads(block) < at.idle_reads) {
        region.tired.pop_front();
    }
    while region.spent.front().is_some_and(|&block| !holds(block) || reads(block) < at.now_reads) {
        region.spent.pop_front();
    }
    core.limits.regions[die.index()] = region;
}

/// Whether the block was not erased since its first page was programmed then.
fn is_since<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, block: BlockAddr, first: SimTime) -> bool {
    let info = core.device.array.block(block);
    info.next_page > 0 && info.first_program == first
}

/// Whether the block may hold pages that the limits are there for. An open one may get some.
fn holds<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, writer: &Writer<P>, block: BlockAddr) -> bool {
    let unit = core.map.unit(core.map.unit_of_block(block));
    let holds = match unit.state {
        UnitState::Open | UnitState::Condemned => true,
        UnitState::Closed => unit.valid > 0 || unit.pins > 0,
        UnitState::Free | UnitState::Dirty | UnitState::Bad => false,
    };
    holds && !writer.has_parity_for_worn(core.device.array.block(block).pe)
}

/// Whether the block can be wanted now. Closing an open one gives up the rest of its pages:
/// collection and commits must keep the blocks they count on.
fn may_recycle<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, writer: &Writer<P>, block: BlockAddr) -> bool {
    let unit = core.map.unit_of_block(block);
    let free = || core.map.free_units(core.map.log_of(unit));
    match core.map.unit(unit).state {
        UnitState::Closed => holds(core, writer, block),
        UnitState::Open => holds(core, writer, block) && free() > writer.commit_reserve,
        UnitState::Free | UnitState::Condemned | UnitState::Dirty | UnitState::Bad => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::care::testing::Bench;
    use crate::core::Command;
    use device::command::Verb;
    use protect::DisturbLimits;

    const READS: u32 = 1000;
    const RETENTION: u64 = 1_000_000;
    const DIE: DieId = DieId(0);

    /// Block 0 of die 0 is full, written at 500 ns; limits end in margins of 20 percent.
    fn bench() -> (Bench, BlockAddr) {
        let mut bench = Bench::new("none", |_| {});
        let limits = DisturbLimits { reads: READS, retention: Nanos(RETENTION), margin_percent: 20 };
        let (dies, blocks) = (bench.core.device.grid.dies(), bench.core.device.grid.geometry().blocks());
        bench.core.device.now = SimTime(500);
        bench.write(0, 0..4);
        bench.core.limits = Limits {
            at: Some(Thresholds::new(limits, 4)),
            reads: vec![0; blocks as usize],
            regions: vec![Region::default(); dies as usize],
            ..Limits::default()
        };
        let block = BlockAddr(bench.unit_of(0));
        note_first_program(&mut bench.core, block);
        (bench, block)
    }

    fn due(bench: &mut Bench) -> Option<(BlockAddr, Reason)> {
        bench.care.next_due(&mut bench.core, &bench.writer, DIE)
    }

    fn read(bench: &mut Bench, block: BlockAddr, until: u32) {
        let grid = bench.core.device.grid.clone();
        while bench.core.limits.reads[block.index()] < until {
            bench.core.limits.count_read(&grid, grid.ppn(block, 0));
        }
    }

    /// A read goes to the die, so that it is not idle.
    fn make_busy(bench: &mut Bench) {
        bench.core.device.timed = true;
        bench.core.submit(Command { verb: Verb::Read, ..Command::default() });
    }

    /// The reads of the moves are set aside; the margin is the last fifth of the rest, and its halves begin at 80
    /// and 90 percent. Catches thresholds that are off by one, or taken for one another.
    #[test]
    fn reads_are_recycled_at_the_halves_of_the_margin() {
        let (mut bench, block) = bench();
        let (idle, at_once) = ((READS - 4) * 80 / 100, (READS - 4) * 90 / 100);
        read(&mut bench, block, idle - 1);
        assert_eq!(due(&mut bench), None);
        read(&mut bench, block, idle);
        assert_eq!(due(&mut bench), Some((block, Reason::ReadsWhenIdle)));
        make_busy(&mut bench);
        assert_eq!(due(&mut bench), None, "the die is busy and the block can wait");
        read(&mut bench, block, at_once - 1);
        assert_eq!(due(&mut bench), None);
        read(&mut bench, block, at_once);
        assert_eq!(due(&mut bench), Some((block, Reason::ReadsAtOnce)));
    }

    /// The same of age.
    #[test]
    fn ages_are_recycled_at_the_halves_of_the_margin() {
        let (mut bench, block) = bench();
        let at = |bench: &mut Bench, age: u64| bench.core.device.now = SimTime(500 + age);
        at(&mut bench, RETENTION * 80 / 100 - 1);
        assert_eq!(due(&mut bench), None);
        at(&mut bench, RETENTION * 80 / 100);
        assert_eq!(due(&mut bench), Some((block, Reason::RetentionWhenIdle)));
        make_busy(&mut bench);
        at(&mut bench, RETENTION * 90 / 100 - 1);
        assert_eq!(due(&mut bench), None, "the die is busy and the block can wait");
        at(&mut bench, RETENTION * 90 / 100);
        assert_eq!(due(&mut bench), Some((block, Reason::RetentionAtOnce)));
    }

    /// Catches a timer that wakes the drive too late, or for a half that has begun already.
    #[test]
    fn the_timer_is_set_for_the_next_half_of_a_margin() {
        let (mut bench, _) = bench();
        let timer = timer(&bench.core.device.grid);
        for (age, next) in [(0, RETENTION * 80 / 100), (RETENTION * 80 / 100, RETENTION * 90 / 100)] {
            bench.core.device.now = SimTime(500 + age);
            bench.core.device.calendar.clear(timer);
            set_timer(&mut bench.core);
            assert_eq!(bench.core.device.calendar.next(), Some((SimTime(500 + next), timer)));
        }
        bench.core.device.now = SimTime(500 + RETENTION);
        bench.core.device.calendar.clear(timer);
        set_timer(&mut bench.core);
        assert_eq!(bench.core.device.calendar.next(), None, "it waits for its collector, not for time");
    }

    /// Catches an entry of a queue that outlives the erase of its block.
    #[test]
    fn an_erased_block_is_not_recycled_for_what_it_was() {
        let (mut bench, block) = bench();
        read(&mut bench, block, READS);
        bench.write(0, 0..4);
        assert!(bench.core.map.condemn_unit(block.0));
        bench.core.map.erased(block.0);
        bench.core.limits.note_erase(block);
        assert_eq!(due(&mut bench), None);
        assert!(bench.core.limits.regions[0].spent.is_empty());
    }

    /// Catches a second unit wanted of a collector that has one waiting already.
    #[test]
    fn a_die_recycles_one_block_at_a_time() {
        let (mut bench, block) = bench();
        read(&mut bench, block, READS);
        bench.care.queue_wanted(block.0, Cause::Refresh);
        assert_eq!(due(&mut bench), None);
    }

    /// Catches counts that are gone and taken for few, and blocks without data that count as read out.
    #[test]
    fn where_counts_are_gone_blocks_with_data_count_as_read_out() {
        let (mut bench, block) = bench();
        assume_read_often(&mut bench.core);
        let spent: Vec<BlockAddr> = bench.core.limits.regions.iter().flat_map(|region| region.spent.iter().copied()).collect();
        assert_eq!(spent, [block]);
        make_busy(&mut bench);
        assert_eq!(due(&mut bench), Some((block, Reason::ReadsAtOnce)));
    }

    /// Blocks of dies 1 to 4 have reached what their counts say; those of die 0 and without data have not. Catches counts
    /// that are off by one when a drive is aged or mounted, and blocks that wait although they hold nothing.
    #[test]
    fn blocks_of_an_aged_drive_wait_in_the_half_of_the_margin_that_their_reads_have_reached() {
        let mut bench = Bench::new("da-raid5", |_| {});
        let limits = bench.writer.limits().expect("no block is worn: blocks have limits");
        let at = Thresholds::new(limits, 4);
        let counts = [at.idle_reads - 1, at.idle_reads, at.now_reads - 1, at.now_reads, at.now_reads + 1];
        for (die, reads) in (0..).zip(counts) {
            bench.write(die, [die as u32]);
            let block = BlockAddr(bench.unit_of(die as u32));
            for age_of in [block, BlockAddr(block.0 + 1)] {
                bench.core.device.array.set_age(age_of, |info| info.reads = reads);
            }
        }
        start(&mut bench.core, &bench.writer);
        let regions = &bench.core.limits.regions;
        assert_eq!([0, 1, 2, 3, 4].map(|die: usize| (regions[die].tired.len(), regions[die].spent.len())), {
            [(0, 0), (1, 0), (1, 0), (0, 1), (0, 1)]
        });
        assert!(regions.iter().all(|region| region.order.len() == 1), "blocks without data have no age");
    }

    /// Catches a block that is moved in haste before the second half of its margin, or not from its first read on; one that
    /// collection for other reasons hurries; and one without data that is old.
    #[test]
    fn a_block_is_pressing_from_the_second_half_of_a_margin_on() {
        let (mut bench, block) = bench();
        let at_once = (READS - 4) * 90 / 100;
        for (reads, presses) in [(at_once - 1, false), (at_once, true), (at_once + 1, true)] {
            read(&mut bench, block, reads);
            assert_eq!(hurries(&bench.core, block.0, Cause::Refresh), presses, "{reads} reads");
            assert_eq!(bench.core.limits.is_any_pressing(DIE, bench.core.device.now), presses, "{reads} reads");
        }
        assert!(!hurries(&bench.core, block.0, Cause::Gc) && !bench.core.limits.is_any_pressing(DieId(1), SimTime(500)));
        let (mut bench, block) = self::bench();
        for (age, presses) in [(RETENTION * 90 / 100 - 1, false), (RETENTION * 90 / 100, true)] {
            bench.core.device.now = SimTime(500 + age);
            assert_eq!(hurries(&bench.core, block.0, Cause::Refresh), presses, "{age} ns old");
            assert_eq!(bench.core.limits.is_any_pressing(DIE, bench.core.device.now), presses, "{age} ns old");
        }
        assert!(!hurries(&bench.core, block.0 + 1, Cause::Refresh), "nothing is in it");
    }

    /// Catches an idle die that is not asked although a block has entered its margin, or asked before.
    #[test]
    fn an_idle_die_is_asked_once_a_block_has_entered_a_margin() {
        let (mut bench, block) = bench();
        for (age, may) in [(RETENTION * 80 / 100 - 1, false), (RETENTION * 80 / 100, true)] {
            bench.core.device.now = SimTime(500 + age);
            assert_eq!(may_recycle_when_idle(&bench.core, DIE), may, "{age} ns old");
        }
        bench.core.device.now = SimTime(500);
        for (reads, may) in [((READS - 4) * 80 / 100 - 1, false), ((READS - 4) * 80 / 100, true)] {
            read(&mut bench, block, reads);
            assert_eq!(may_recycle_when_idle(&bench.core, DIE), may, "{reads} reads");
        }
        assert!(!may_recycle_when_idle(&bench.core, DieId(1)));
    }

    /// Catches a timer that is set again while it is pending.
    #[test]
    fn a_timer_that_is_set_stays_as_it_is() {
        let (mut bench, _) = bench();
        let timer = timer(&bench.core.device.grid);
        bench.core.device.calendar.schedule(timer, SimTime(501));
        set_timer(&mut bench.core);
        assert_eq!(bench.core.device.calendar.next(), Some((SimTime(501), timer)));
    }
}
