//! Limits on read disturb and retention (DA-RAID-5's unbound-disturb limiting, section III-C of
//! the paper): a block that was read T_read times, or whose first page is T_retention old, has
//! its valid pages moved and is erased, before what its cells lost exceeds what ECC corrects.
//!
//! Both limits are those of the block's P/E cycles (Fig. 2, section III-B), from the error model, unless the scheme
//! has constants for all blocks. Any scheme may have them beside it (`+limits`). A unit of several blocks, of rows or
//! block groups, is recycled when one of its blocks is due, and its dies are idle when all of them are.
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
use crate::core::flash::FlashPayload;
use crate::core::limits::{ByWear, Limits, Recycled, Region, Thresholds, age_of};
use crate::core::timer::Timer;
use crate::core::tolerance::Tolerance;
use crate::write::Writer;
use ftl::{LogKind, UnitId, UnitState};
use nand::{BlockInfo, FlashArray};
use std::collections::VecDeque;
use vocab::{BlockAddr, Cause, DieId, Nanos, PeCycles, SimTime};

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

/// The drive has its age, and its page ECC: from now on limits count, if the scheme has any.
pub(crate) fn start<P: FlashPayload>(core: &mut Core<P>, writer: &Writer<P>, endurance: PeCycles) {
    let Some(limits) = writer.limits() else { return };
    let pages_per_block = core.device.grid.pages_per_block();
    let tolerance = Tolerance::new(core.device.ecc.as_deref(), pages_per_block, limits.target_yield);
    start_with(core, ByWear::new(limits, tolerance, endurance, pages_per_block));
}

/// Sorts the blocks that have data by what is due about them.
fn start_with<P: FlashPayload>(core: &mut Core<P>, by_wear: ByWear) {
    let (grid, array) = (&core.device.grid, &core.device.array);
    let blocks = || (0..grid.geometry().blocks()).map(BlockAddr);
    let mut reads = std::mem::take(&mut core.limits.reads);
    if reads.is_empty() {
        // No mount: the drive is new, or of an age, and its controller has counted from the start.
        reads = blocks().map(|block| array.block(block).reads).collect();
    }
    let mut limits = Limits::new(by_wear, reads, core.map.logs());
    for block in blocks().filter(|&block| array.block(block).next_page > 0) {
        let class = limits.classify(block, PeCycles(array.block(block).pe));
        let (at, reads) = (limits.of_block(block).expect("just classified"), limits.reads[block.index()]);
        let region = &mut limits.regions[core.map.log_of(core.map.unit_of_block(block))];
        region.order.entry(class).or_default().push_back((array.block(block).first_program, block));
        if reads >= at.now_reads {
            region.spent.push_back(block);
        } else if reads >= at.idle_reads {
            region.tired.push_back(block);
        }
    }
    // Equal times keep the order of blocks.
    limits.regions.iter_mut().flat_map(|region| region.order.values_mut()).for_each(|order| order.make_contiguous().sort());
    core.limits = limits;
}

/// No one knows how often blocks were read: each that is written counts as read out.
pub(crate) fn assume_read_often<P: FlashPayload>(core: &mut Core<P>) {
    if !core.limits.is_on() {
        return;
    }
    for block in (0..core.device.grid.geometry().blocks()).map(BlockAddr) {
        if core.device.array.block(block).next_page > 0 {
            core.limits.reads[block.index()] = u32::MAX / 2;
            core.limits.regions[core.map.log_of(core.map.unit_of_block(block))].spent.push_back(block);
        }
    }
}

/// A block got its first page.
pub(crate) fn note_first_program<P: FlashPayload>(core: &mut Core<P>, block: BlockAddr) {
    let device = &core.device;
    let is_since = |block, first| {
        let info: &BlockInfo = device.array.block(block);
        info.next_page > 0 && info.first_program == first
    };
    let pe = PeCycles(device.array.block(block).pe);
    let (log, logs) = (core.map.log_of(core.map.unit_of_block(block)), core.map.logs());
    let blocks = device.grid.geometry().blocks() as usize / logs;
    core.limits.note_first_program(device.now, log, blocks, block, pe, is_since);
    core.limits.stirred |= !core.is_pending(Timer::Age);
}

/// Whether all pages of the victim are to be moved side by side.
#[inline]
pub(crate) fn hurries<P: FlashPayload>(core: &Core<P>, victim: UnitId, cause: Cause) -> bool {
    core.limits.is_on() && cause == Cause::Refresh && core.is_pressing(victim)
}

/// The retention timer has expired for some block, or the run is ending.
pub(crate) fn retention_due<P: FlashPayload>(core: &mut Core<P>) {
    core.clear(Timer::Age);
    core.limits.stirred = true;
}

/// Limits end with a later stage of life, which protects by other means. True if they have ended by now.
pub(crate) fn end_if_over<P: FlashPayload>(core: &mut Core<P>, writer: &Writer<P>) -> bool {
    core.limits.stirred = false;
    let is_over = writer.limits().is_none();
    if is_over {
        core.clear(Timer::Age);
        core.limits.end();
    }
    is_over
}

/// Whether blocks of an idle die may be due for recycling: one is over its limit of reads, or holds data of the age at which idle dies recycle.
pub(crate) fn may_recycle_when_idle<P: FlashPayload>(core: &Core<P>, die: DieId) -> bool {
    let is_old = |at: &Thresholds, first: SimTime| age_of(core.device.now, first) >= at.idle_age;
    let holds_old = |(at, order): (&Thresholds, &VecDeque<_>)| order.front().is_some_and(|&(first, _)| is_old(at, first));
    let may = |region: &Region| !region.tired.is_empty() || core.limits.by_class(region).any(holds_old);
    core.limits.regions[core.map.logs_of_die(die)].iter().any(may)
}

/// Sets the timer, unless it is set, for the next block that enters a half of its margin. Blocks that are in
/// the second wait for no time, but for room or for their collector.
pub(crate) fn set_timer<P: FlashPayload>(core: &mut Core<P>) {
    if !core.limits.is_on() || core.is_pending(Timer::Age) {
        return;
    }
    let now = core.device.now;
    let next = |order: &VecDeque<(SimTime, BlockAddr)>, age: Nanos| {
        let past = order.partition_point(|&(first, _)| first.0.saturating_add(age.0) <= now.0);
        order.get(past).map(|&(first, _)| SimTime(first.0.saturating_add(age.0)))
    };
    let classes = core.limits.regions.iter().flat_map(|region| core.limits.by_class(region));
    let soonest = classes.flat_map(|(at, order)| [next(order, at.idle_age), next(order, at.now_age)]).flatten().min();
    if let Some(time) = soonest {
        core.schedule(Timer::Age, time);
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

impl<P: FlashPayload> Care<P> {
    /// The block whose unit the log's collector is to recycle next, and why; nothing if a unit waits for it already.
    pub fn next_due(&self, core: &mut Core<P>, writer: &Writer<P>, log: usize) -> Option<(BlockAddr, Reason)> {
        if !core.limits.is_on() || self.collectors[log].halted || self.is_wanted(core, log) {
            return None;
        }
        drop_stale(core, writer, log);
        let core = &*core;
        let (limits, now) = (&core.limits, core.device.now);
        let region = &limits.regions[log];
        let may = |block: BlockAddr| may_recycle(core, writer, block);
        let read = |queue: &VecDeque<BlockAddr>, reads: fn(Thresholds) -> u32| {
            let is_due = |block: BlockAddr| limits.of_block(block).is_some_and(|at| limits.reads[block.index()] >= reads(at));
            queue.iter().copied().find(|&block| is_due(block) && may(block))
        };
        // The block that is longest overdue of those that may be recycled.
        let old = |age: fn(&Thresholds) -> Nanos| {
            let of_class = |(at, order): (&Thresholds, &VecDeque<(SimTime, BlockAddr)>)| {
                let due = order.iter().take_while(|(first, _)| age_of(now, *first) >= age(at));
                let &(first, block) = due.filter(|&&(first, block)| is_since(core, block, first)).find(|due| may(due.1))?;
                Some((first.0.saturating_add(age(at).0), block))
            };
            // Of equals the first, which is the one of less wear.
            limits.by_class(region).filter_map(of_class).min_by_key(|&(due, _)| due).map(|(_, block)| block)
        };
        if let Some(block) = read(&region.spent, |at| at.now_reads) {
            return Some((block, Reason::ReadsAtOnce));
        }
        if let Some(block) = old(|at| at.now_age) {
            return Some((block, Reason::RetentionAtOnce));
        }
        if dies_of(core, log).any(|die| core.device.backlog(die) > 0) || self.collectors[log].is_busy() {
            return None;
        }
        let tired = read(&region.tired, |at| at.idle_reads).map(|block| (block, Reason::ReadsWhenIdle));
        tired.or_else(|| old(|at| at.idle_age).map(|block| (block, Reason::RetentionWhenIdle)))
    }
}

/// Forgets blocks in front of the queues that nothing is to be done about any more.
fn drop_stale<P: FlashPayload>(core: &mut Core<P>, writer: &Writer<P>, log: usize) {
    let mut region = std::mem::take(&mut core.limits.regions[log]);
    let core_now = &*core;
    let limits = &core_now.limits;
    let holds = |block| holds(core_now, writer, block);
    let has_fewer = |block: BlockAddr, reads: fn(Thresholds) -> u32| {
        limits.of_block(block).is_none_or(|at| limits.reads[block.index()] < reads(at))
    };
    region.order.retain(|_, order| {
        while order.front().is_some_and(|&(first, block)| !holds(block) || !is_since(core_now, block, first)) {
            order.pop_front();
        }
        !order.is_empty()
    });
    while region.tired.front().is_some_and(|&block| !holds(block) || has_fewer(block, |at| at.idle_reads)) {
        region.tired.pop_front();
    }
    while region.spent.front().is_some_and(|&block| !holds(block) || has_fewer(block, |at| at.now_reads)) {
        region.spent.pop_front();
    }
    core.limits.regions[log] = region;
}

/// The dies that a log writes to.
fn dies_of<P: FlashPayload>(core: &Core<P>, log: usize) -> impl Iterator<Item = DieId> {
    let dies = core.device.grid.dies();
    let of = match core.map.kind() {
        LogKind::Regions => log * dies as usize / core.map.logs()..log * dies as usize / core.map.logs() + 1,
        LogKind::Group => 0..dies as usize,
    };
    of.map(|die| DieId(die as u16))
}

/// Whether the block was not erased since its first page was programmed then.
fn is_since<P: FlashPayload>(core: &Core<P>, block: BlockAddr, first: SimTime) -> bool {
    let info = core.device.array.block(block);
    info.next_page > 0 && info.first_program == first
}

/// Whether the block may hold pages that the limits are there for. An open one may get some.
fn holds<P: FlashPayload>(core: &Core<P>, writer: &Writer<P>, block: BlockAddr) -> bool {
    let unit = core.map.unit(core.map.unit_of_block(block));
    let holds = match unit.state {
        UnitState::Open | UnitState::Condemned => true,
        UnitState::Closed => unit.valid > 0 || unit.pins > 0,
        UnitState::Free | UnitState::Dirty | UnitState::Bad => false,
    };
    holds && !writer.has_parity_for_worn(core.device.array.block(block).pe)
}

/// Whether the block can be wanted now. Closing an open one gives up the rest of its pages:
/// GC and commits must keep the blocks they count on.
fn may_recycle<P: FlashPayload>(core: &Core<P>, writer: &Writer<P>, block: BlockAddr) -> bool {
    if core.device.is_dead(core.device.grid.split_block(block).0) {
        return false;
    }
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
        bench.core.device.now = SimTime(500);
        bench.write(0, 0..4);
        start_with(&mut bench.core, by_wear(Some(READS), Some(Nanos(RETENTION))));
        let block = BlockAddr(bench.unit_of(0));
        (bench, block)
    }

    fn by_wear(reads: Option<u32>, retention: Option<Nanos>) -> ByWear {
        let limits = DisturbLimits { reads, retention, margin_percent: 20, target_yield: 0.999 };
        ByWear::new(limits, Tolerance::new(None, 4, 0.999), PeCycles(15_000), 4)
    }

    fn due(bench: &mut Bench) -> Option<(BlockAddr, Reason)> {
        bench.care.next_due(&mut bench.core, &bench.writer, 0)
    }

    fn read(bench: &mut Bench, block: BlockAddr, until: u32) {
        let core = &mut bench.core;
        while core.limits.reads[block.index()] < until {
            core.limits.count_read(&core.map, block);
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
        let timer = Timer::Age.index(&bench.core.device.grid);
        for (age, next) in [(0, RETENTION * 80 / 100), (RETENTION * 80 / 100, RETENTION * 90 / 100)] {
            bench.core.device.now = SimTime(500 + age);
            bench.core.clear(Timer::Age);
            set_timer(&mut bench.core);
            assert_eq!(bench.core.device.calendar.next(), Some((SimTime(500 + next), timer)));
        }
        bench.core.device.now = SimTime(500 + RETENTION);
        bench.core.clear(Timer::Age);
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
        let at = Thresholds::new(1000, Nanos(RETENTION), 20, 4);
        let counts = [at.idle_reads - 1, at.idle_reads, at.now_reads - 1, at.now_reads, at.now_reads + 1];
        for (die, reads) in (0..).zip(counts) {
            bench.write(die, [die as u32]);
            let block = BlockAddr(bench.unit_of(die as u32));
            for age_of in [block, BlockAddr(block.0 + 1)] {
                bench.core.device.array.set_age(age_of, |info| info.reads = reads);
            }
        }
        start_with(&mut bench.core, by_wear(Some(1000), Some(Nanos(RETENTION))));
        let regions = &bench.core.limits.regions;
        assert_eq!([0, 1, 2, 3, 4].map(|die: usize| (regions[die].tired.len(), regions[die].spent.len())), {
            [(0, 0), (1, 0), (1, 0), (0, 1), (0, 1)]
        });
        assert!(
            regions.iter().all(|region| region.order.values().map(VecDeque::len).sum::<usize>() == 1),
            "blocks without data have no age"
        );
    }

    /// Catches a block that is moved in haste before the second half of its margin, or not from its first read on; one that
    /// GC for other reasons hurries; and one without data that is old.
    #[test]
    fn a_block_is_pressing_from_the_second_half_of_a_margin_on() {
        let (mut bench, block) = bench();
        let at_once = (READS - 4) * 90 / 100;
        for (reads, presses) in [(at_once - 1, false), (at_once, true), (at_once + 1, true)] {
            read(&mut bench, block, reads);
            assert_eq!(hurries(&bench.core, block.0, Cause::Refresh), presses, "{reads} reads");
            assert_eq!(bench.core.limits.is_any_pressing(0..1, bench.core.device.now), presses, "{reads} reads");
        }
        assert!(!hurries(&bench.core, block.0, Cause::Gc) && !bench.core.limits.is_any_pressing(1..2, SimTime(500)));
        let (mut bench, block) = self::bench();
        for (age, presses) in [(RETENTION * 90 / 100 - 1, false), (RETENTION * 90 / 100, true)] {
            bench.core.device.now = SimTime(500 + age);
            assert_eq!(hurries(&bench.core, block.0, Cause::Refresh), presses, "{age} ns old");
            assert_eq!(bench.core.limits.is_any_pressing(0..1, bench.core.device.now), presses, "{age} ns old");
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
        let timer = Timer::Age.index(&bench.core.device.grid);
        bench.core.schedule(Timer::Age, SimTime(501));
        set_timer(&mut bench.core);
        assert_eq!(bench.core.device.calendar.next(), Some((SimTime(501), timer)));
    }

    /// Two blocks of one die, one new and one with 15,000 P/E cycles, under limits that follow wear. Catches limits of
    /// another block's wear, an order by age alone, and a class that is looked up again after the erase.
    #[test]
    fn a_worn_block_is_recycled_sooner_than_a_new_one() {
        let mut bench = Bench::new("none", |_| {});
        bench.write(0, 0..8);
        let [new, worn] = [0, 4].map(|lpn| BlockAddr(bench.unit_of(lpn)));
        assert!(new != worn);
        // A unit of GC is a block here; its P/E cycles are the medium's.
        for (block, pe) in [(new, 0), (worn, 15_000 - 1)] {
            bench.core.device.array.set_age(block, |info| info.pe = pe);
        }
        start_with(&mut bench.core, by_wear(None, None));
        let borne = [46_000, 231_161].map(|reads| Thresholds::new(reads, Nanos(0), 20, 4).idle_reads);
        for block in [new, worn] {
            read(&mut bench, block, borne[0] - 1000);
        }
        assert_eq!(due(&mut bench), None, "neither has come to its margin");
        for block in [new, worn] {
            read(&mut bench, block, borne[0] + 1);
        }
        assert_eq!(
            due(&mut bench),
            Some((worn, Reason::ReadsWhenIdle)),
            "the margin of 46,000 reads, which 15,000 cycles bear, has begun"
        );
        read(&mut bench, new, borne[1]);
        assert!(bench.core.limits.regions[0].tired.len() == 1, "a new block bears more than 231,161 reads");
        // 381 days after both were written.
        bench.core.device.now = SimTime(381 * 86_400_000_000_000);
        make_busy(&mut bench);
        assert_eq!(due(&mut bench), Some((worn, Reason::RetentionAtOnce)));
    }

    /// Catches a block that stays in a queue although no page in it is valid any more.
    #[test]
    fn a_block_whose_pages_have_moved_waits_no_longer() {
        let (mut bench, block) = bench();
        read(&mut bench, block, (READS - 4) * 80 / 100);
        assert_eq!(bench.core.limits.regions[0].tired, [block]);
        bench.write(0, 0..3);
        let (_, pinned) = bench.write_pinned(0, ftl::Stream::Host, 3);
        due(&mut bench);
        assert_eq!(bench.core.limits.regions[0].tired, [block], "a page of it is needed yet");
        assert_eq!(pinned, Some(block.0));
        let _ = bench.core.map.release(block.0);
        assert_eq!(due(&mut bench), None);
        assert!(bench.core.limits.regions[0].tired.is_empty());
    }

    /// Catches an age that begins with a block's second page.
    #[test]
    fn a_block_of_one_page_has_an_age() {
        let mut bench = Bench::new("none", |_| {});
        bench.core.device.now = SimTime(500);
        bench.write(0, [0]);
        start_with(&mut bench.core, by_wear(Some(READS), Some(Nanos(RETENTION))));
        bench.core.device.now = SimTime(500 + RETENTION * 80 / 100);
        let block = BlockAddr(bench.unit_of(0));
        assert_eq!(due(&mut bench), Some((block, Reason::RetentionWhenIdle)));
    }

    /// Catches limits, and a timer, that outlive the stage of life that has them.
    #[test]
    fn limits_end_where_the_scheme_has_none_any_more() {
        let (mut bench, block) = bench();
        set_timer(&mut bench.core);
        assert!(bench.writer.limits().is_none() && bench.core.limits.is_on());
        assert!(end_if_over(&mut bench.core, &bench.writer));
        assert!(!bench.core.limits.is_on() && bench.core.device.calendar.next().is_none());
        assert_eq!((due(&mut bench), hurries(&bench.core, block.0, Cause::Refresh)), (None, false));
    }
}
