//! Refresh: a block whose data would outlive what their code bears is collected before they do.
//!
//! Each block has a deadline: for `alarm` the end of the retention that the ECC policy gives its
//! weakest page; for `joint` the time at which the modelled rate of its weakest page, reads so
//! far included, meets what its code bears at the target UBER (theory.md section 5, gap 3: the
//! factors add). Deadlines are set when pages are programmed and, for `joint`, checked again
//! when they are read. What is due is moved by the collector of its log, one unit at a time,
//! the most overdue first: remapped, as FLARES calls it (section 5.2).
//!
//! Or its pages are recharged in place, `in_place_at_most` times before it is remapped all the
//! same: each is read, decoded and programmed again to what it held, which costs the time of a
//! program and no erase. Obsolete pages are, too: they may still belong to a parity. A unit that
//! is still being written is remapped.

use crate::care::Care;
use crate::config::{RefreshPolicy, Setup};
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::timer::Timer;
use crate::core::{Command, Core};
use crate::write::{Way, Writer};
use device::command::Verb;
use device::config::EccError;
use device::ecc::{EccSetup, PageEcc, Rewrites};
use device::facts::Fact;
use ecc::longest_hours;
use ftl::{UnitId, UnitState};
use nand::{FlashArray, ProgramOutcome, ReadOutcome, span_of};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Capability, Cause, Nanos, PeCycles, Ppn, SimTime, Streams};

/// Deadlines of a drive's units of GC.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refresh {
    policy: Option<RefreshPolicy>,
    at_share: f64,
    /// For each capability the rate it bears at the target UBER (`joint`).
    limits: Vec<f64>,
    /// For each unit when it is due.
    deadline: Vec<SimTime>,
    /// For each log its deadlines in order.
    order: Vec<BTreeSet<(SimTime, UnitId)>>,
    in_place_at_most: u32,
    /// For each log what is being recharged.
    recharging: Vec<Option<Recharging>>,
    /// Whether something may be due that was not before.
    pub stirred: bool,
    /// Units refreshed.
    pub refreshed: u64,
}

impl Refresh {
    /// Whether pages of the log are being recharged.
    pub fn is_recharging(&self, log: usize) -> bool {
        self.recharging.get(log).is_some_and(|work| work.is_some_and(|work| work.in_flight > 0))
    }

    /// The log begins again: nothing of it is being recharged.
    pub fn log_is_new(&mut self, log: usize) {
        self.recharging.get_mut(log).into_iter().for_each(|work| *work = None);
    }
}

/// A unit whose pages are recharged in place, in order.
#[derive(Clone, Copy, Debug)]
struct Recharging {
    unit: UnitId,
    cursor: u32,
    in_flight: u32,
    /// A page could not be read: the unit is remapped instead.
    failed: bool,
}

const NEVER: SimTime = SimTime(u64::MAX);
/// How long a unit that cannot be collected yet is left alone.
const LATER: Nanos = Nanos(1_000_000_000);

impl Refresh {
    fn new(setup: &Setup, limits: Vec<f64>, units: usize, logs: usize) -> Self {
        let refresh = &setup.refresh;
        Self {
            policy: Some(refresh.policy),
            at_share: refresh.at_share,
            limits,
            deadline: vec![NEVER; units],
            order: vec![BTreeSet::new(); logs],
            in_place_at_most: refresh.in_place_at_most,
            recharging: vec![None; logs],
            stirred: true,
            refreshed: 0,
        }
    }

    /// Logs whose units have deadlines.
    pub fn logs(&self) -> usize {
        self.order.len()
    }

    /// The policy puts an end to what pages may be kept without a refresh.
    fn has_deadlines(&self) -> bool {
        matches!(self.policy, Some(RefreshPolicy::Alarm | RefreshPolicy::Joint))
    }

    fn set(&mut self, log: usize, unit: UnitId, at: SimTime) {
        let deadline = &mut self.deadline[unit as usize];
        if *deadline != NEVER {
            self.order[log].remove(&(*deadline, unit));
        }
        *deadline = at;
        if at != NEVER {
            self.order[log].insert((at, unit));
        }
    }
}

/// Inputs from which page ECC is built.
fn ecc_setup<'a>(setup: &'a Setup, way: Way) -> EccSetup<'a> {
    let rewrites =
        Rewrites { on_advice: setup.refresh.policy == RefreshPolicy::Alarm, unreadable: way.facts().brings_pages_back };
    let sensed = setup.drive.timing.unit.map_or(1, |unit| unit.sensed());
    let slc = (setup.drive.timing.page.len() as u32, f64::from(setup.drive.slc.fewer_errors));
    EccSetup { ecc: &setup.ecc, errors: &setup.errors, geometry: &setup.drive.geometry, sensed, slc, rewrites }
}

/// ECC and deadlines of a drive as it was before a power cut.
pub(crate) struct EccBefore<'a> {
    pub ecc: Option<Box<PageEcc>>,
    pub refresh: &'a Refresh,
}

impl<P: FlashPayload> Care<P> {
    /// The drive was mounted: codes are those that the pages say, policies begin again. The drive as it was
    /// `before` the cut has the codes that were built for it.
    pub fn resume_ecc(&mut self, core: &mut Core<P>, way: Way, before: Option<EccBefore<'_>>, setup: &Setup, streams: &Streams) {
        let ecc_setup = ecc_setup(setup, way);
        if let Some(before) = before {
            core.device.ecc = before.ecc;
            if let Some(ecc) = &mut core.device.ecc {
                ecc.restart(&ecc_setup, streams);
                let limits = before.refresh.limits.clone();
                self.note_all_blocks(core, Refresh::new(setup, limits, core.map.units(), core.map.logs()));
            }
            return;
        }
        core.device.ecc = PageEcc::new(&ecc_setup, streams).expect("it was built before");
        if core.device.ecc.is_some() {
            self.start_refresh(core, setup);
        }
    }

    /// The drive has its age: from now on its pages have errors, and a code that suits their age.
    ///
    /// # Errors
    /// Settings of ECC or errors that are out of range.
    pub fn start_ecc(&mut self, core: &mut Core<P>, way: Way, setup: &Setup, streams: &Streams) -> Result<(), EccError> {
        core.device.ecc = PageEcc::new(&ecc_setup(setup, way), streams)?;
        if core.device.ecc.is_none() {
            return Ok(());
        }
        for block in (0..core.device.grid.geometry().blocks()).map(BlockAddr) {
            if core.device.array.block(block).next_page > 0 {
                let t = core.device.capability(core.device.grid.ppn(block, 0));
                core.device.array.set_ecc(block, t);
            }
        }
        self.start_refresh(core, setup);
        Ok(())
    }

    /// Deadlines of what is stored already.
    fn start_refresh(&mut self, core: &mut Core<P>, setup: &Setup) {
        let ecc = core.device.ecc.as_deref().expect("refresh belongs to ECC");
        let limit = |t: u8| ecc.layout.codeword.max_rber(Capability(t), setup.refresh.uber);
        let joint = setup.refresh.policy == RefreshPolicy::Joint;
        let limits = if joint { (0..=ecc.policy.strongest().0).map(limit).collect() } else { Vec::new() };
        self.note_all_blocks(core, Refresh::new(setup, limits, core.map.units(), core.map.logs()));
    }

    fn note_all_blocks(&mut self, core: &mut Core<P>, refresh: Refresh) {
        self.refresh = refresh;
        (0..core.device.grid.geometry().blocks()).for_each(|block| self.note_block(core, BlockAddr(block)));
    }

    /// Sets the deadline of a block by its first page, which is its oldest.
    fn note_block(&mut self, core: &mut Core<P>, block: BlockAddr) {
        if core.device.array.block(block).next_page > 0 {
            self.note_programmed(core, core.device.grid.ppn(block, 0));
        }
    }

    /// The page was programmed: its unit may be due earlier than before.
    pub fn note_programmed(&mut self, core: &mut Core<P>, ppn: Ppn) {
        if !self.refresh.has_deadlines() {
            return;
        }
        let block = core.device.block_of(ppn);
        let view = core.device.array.page(ppn);
        let (written, t) = (view.written, view.oob.ecc);
        let hours = self.hours_until_due(core, block, t);
        if hours.is_finite() {
            let due = SimTime(written.0.saturating_add(span_of(hours).0));
            self.refresh_at(core, block, self.at_this_temperature(core, written, due));
        }
    }

    /// Deadline if the drive had always been at the present temperature.
    fn at_this_temperature(&self, core: &Core<P>, written: SimTime, due: SimTime) -> SimTime {
        let (now, cells) = (core.device.now, core.device.ecc.as_deref().map(|ecc| &ecc.cells));
        match cells.filter(|cells| !cells.warmth().is_constant() && written < now) {
            Some(cells) => SimTime(due.0.saturating_add(now.since(written).0).saturating_sub(cells.age(written, now).0)),
            None => due,
        }
    }

    /// The drive had these temperatures in degrees Celsius since some times on; none: always that of its settings. Nothing without page ECC.
    pub fn had_temperatures(&mut self, core: &mut Core<P>, temperatures: &[(SimTime, f64)]) {
        if let Some(ecc) = core.device.ecc.as_mut().filter(|_| !temperatures.is_empty()) {
            ecc.cells.had_temperatures(temperatures.iter().copied());
            self.note_warmed(core);
        }
    }

    /// The drive has another temperature: deadlines are set again.
    pub fn note_warmed(&mut self, core: &mut Core<P>) {
        if !self.refresh.has_deadlines() {
            return;
        }
        for unit in 0..core.map.units() as UnitId {
            self.refresh.set(core.map.log_of(unit), unit, NEVER);
        }
        (0..core.device.grid.geometry().blocks()).for_each(|block| self.note_block(core, BlockAddr(block)));
        self.refresh.stirred = true;
    }

    /// How long after its program a page of the block is due, at the reads so far.
    fn hours_until_due(&self, core: &mut Core<P>, block: BlockAddr, t: Capability) -> f64 {
        let info = *core.device.array.block(block);
        let Some(ecc) = core.device.ecc.as_deref_mut() else { return f64::INFINITY };
        let share = self.refresh.at_share;
        if self.refresh.policy == Some(RefreshPolicy::Alarm) {
            return share * ecc.policy.max_retention_hours(t, PeCycles(info.pe)) / ecc.cells.reference_hours(1.0);
        }
        let limit = self.refresh.limits[usize::from(t.0)] * share;
        longest_hours(1e-4, |hours| ecc.cells.nominal(&info, span_of(hours)) <= limit)
    }

    /// Under `joint`, a read brings the block's deadline nearer.
    #[inline]
    pub fn note_read(&mut self, core: &mut Core<P>, ppn: Ppn) {
        if self.refresh.policy != Some(RefreshPolicy::Joint) {
            return;
        }
        // The bisection costs more than a read: it is done again each 64 reads.
        if core.device.array.block(core.device.block_of(ppn)).reads.is_multiple_of(64) {
            self.note_programmed(core, ppn);
        }
    }

    /// The block is due at this time, if it was not before.
    pub fn refresh_at(&mut self, core: &Core<P>, block: BlockAddr, at: SimTime) {
        let unit = core.map.unit_of_block(block);
        if self.refresh.deadline.get(unit as usize).is_some_and(|&deadline| at < deadline) {
            self.refresh.set(core.map.log_of(unit), unit, at);
            self.refresh.stirred = true;
        }
    }

    /// A block was erased: nothing of its unit is old.
    pub fn note_refreshed(&mut self, core: &Core<P>, block: BlockAddr) {
        let unit = core.map.unit_of_block(block);
        if self.refresh.deadline.get(unit as usize).is_some_and(|&deadline| deadline != NEVER) {
            self.refresh.set(core.map.log_of(unit), unit, NEVER);
        }
        self.refresh.stirred = self.refresh.policy.is_some();
    }

    /// The most overdue unit of the log, if the log can do anything about it now.
    pub fn unit_to_refresh(&self, core: &Core<P>, log: usize) -> Option<UnitId> {
        let &(at, unit) = self.refresh.order[log].first()?;
        let is_free = self.refresh.recharging[log].is_none() && !self.collectors[log].halted;
        (at <= core.device.now && is_free && !self.is_wanted(core, log)).then_some(unit)
    }

    /// Sets the timer for the next unit that falls due.
    pub fn set_refresh_timer(&self, core: &mut Core<P>) {
        let after = core.device.now + Nanos(1);
        let next = self.refresh.order.iter().filter_map(|order| order.range((after, 0)..).next()).min();
        match next {
            Some(&(at, _)) => core.schedule(Timer::Refresh, at),
            None => core.clear(Timer::Refresh),
        }
    }

    /// Begins to refresh a unit that is due, unless it holds nothing or has to wait. The unit, if it is to be
    /// collected.
    pub fn refresh_unit(&mut self, core: &mut Core<P>, writer: &Writer<P>, log: usize, unit: UnitId) -> Option<UnitId> {
        let entry = core.map.unit(unit);
        let holds = entry.valid > 0 || entry.pins > 0;
        let is_open = entry.state == UnitState::Open;
        let may = match entry.state {
            UnitState::Closed => holds,
            // Closing it gives up the rest of its pages.
            UnitState::Open => holds && core.map.free_units(log) > writer.commit_reserve + 1,
            UnitState::Free | UnitState::Condemned | UnitState::Dirty | UnitState::Bad => false,
        };
        let later = if is_open && holds && !may { core.device.now + LATER } else { NEVER };
        self.refresh.set(log, unit, later);
        if !may {
            return None;
        }
        self.refresh.refreshed += 1;
        if !self.may_recharge(core, unit) {
            return Some(unit);
        }
        self.refresh.recharging[log] = Some(Recharging { unit, cursor: 0, in_flight: 0, failed: false });
        self.recharge(core, log)
    }

    fn may_recharge(&self, core: &Core<P>, unit: UnitId) -> bool {
        let most = self.refresh.in_place_at_most;
        let recharges = |block| core.device.array.block(block).recharges;
        most > 0
            && core.map.unit(unit).state == UnitState::Closed
            && core.map.blocks_of(unit).all(|block| recharges(block) < most)
    }

    /// Reads the next pages of the unit that the log recharges, as many at once as a collector
    /// moves. The unit, if that has ended and it is to be collected instead.
    fn recharge(&mut self, core: &mut Core<P>, log: usize) -> Option<UnitId> {
        let mut work = self.refresh.recharging[log]?;
        let blocks: Vec<BlockAddr> = core.map.blocks_of(work.unit).collect();
        let (pages, width) = (core.device.grid.pages_per_block(), blocks.len() as u32);
        // Collected in the meantime: there is nothing left to recharge.
        if core.map.unit(work.unit).state != UnitState::Closed || work.failed {
            work.cursor = pages * width;
        }
        while work.in_flight < self.moves_in_flight * width && work.cursor < pages * width {
            let (block, page) = (blocks[(work.cursor % width) as usize], work.cursor / width);
            work.cursor += 1;
            let ppn = core.device.grid.ppn(block, page);
            let stored =
                page < core.device.array.block(block).next_page && !core.device.losses.failed_programs.contains_key(&ppn.0);
            if stored && core.device.array.answers(ppn) {
                work.in_flight += 1;
                let (owner, count) = (Owner::Recharge { log: log as u16 }, core.device.grid.slots_per_page() as u8);
                core.submit(Command { owner, ppn, count, cause: Cause::Refresh, ..Command::default() });
            }
        }
        let done = work.cursor == pages * width && work.in_flight == 0;
        self.refresh.recharging[log] = (!done).then_some(work);
        if done { self.recharged(core, log, work) } else { None }
    }

    /// All pages of a unit are recharged, or one of them could not be: then the unit is to be collected.
    fn recharged(&mut self, core: &mut Core<P>, log: usize, work: Recharging) -> Option<UnitId> {
        self.refresh.stirred = true;
        if work.failed {
            return Some(work.unit);
        }
        if core.map.unit(work.unit).state == UnitState::Closed {
            self.refresh.set(log, work.unit, NEVER);
            core.map.blocks_of(work.unit).for_each(|block| self.note_block(core, block));
        }
        None
    }

    /// A page to be recharged was read. The unit, if it is to be collected instead.
    pub fn recharge_read_done(
        &mut self,
        core: &mut Core<P>,
        command: &Command,
        log: usize,
        outcome: ReadOutcome,
    ) -> Option<UnitId> {
        if outcome.is_clean() && core.device.is_programmed(command.ppn) {
            core.submit(Command { verb: Verb::Recharge, ..*command });
            return None;
        }
        self.page_over(core, log, !outcome.is_clean())
    }

    /// One page of what the log recharges is done with.
    fn page_over(&mut self, core: &mut Core<P>, log: usize, failed: bool) -> Option<UnitId> {
        let work = self.refresh.recharging[log].as_mut().expect("a recharge under way");
        (work.in_flight, work.failed) = (work.in_flight - 1, work.failed || failed);
        self.recharge(core, log)
    }

    /// A page was recharged, or cannot be: then its block fails when it is written next. The unit, if it is to be
    /// collected.
    pub fn complete_recharge(&mut self, core: &mut Core<P>, command: &Command) -> Option<UnitId> {
        let Owner::Recharge { log } = command.owner else { unreachable!("{:?} recharges nothing", command.owner) };
        let there = core.device.is_programmed(command.ppn);
        let done = there && core.device.array.recharge(command.ppn, core.device.now) == ProgramOutcome::Done;
        if done {
            core.device.record(Fact::Recharged { ppn: command.ppn.0 });
        }
        self.page_over(core, log as usize, there && !done)
    }

    /// The timer went off.
    pub fn refresh_timer(&mut self, core: &mut Core<P>) {
        core.clear(Timer::Refresh);
        self.refresh.stirred = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::care::testing::Bench;

    const WRITTEN: SimTime = SimTime(2_000_000_000);

    /// A drive with FLARES' cells and codes; block 0 of die 0 was written after two seconds: the
    /// array keeps whole ones.
    fn bench(policy: RefreshPolicy) -> (Bench, BlockAddr) {
        let (bench, _, block) = bench_and_setup(policy);
        (bench, block)
    }

    fn bench_and_setup(policy: RefreshPolicy) -> (Bench, Setup, BlockAddr) {
        let mut setup = None;
        let mut bench = Bench::with_flares(|change| {
            (change.refresh.policy, change.refresh.at_share) = (policy, 0.5);
            setup = Some(change.clone());
        });
        for block in 0..bench.core.device.grid.geometry().blocks() {
            bench.core.device.array.set_age(BlockAddr(block), |info| info.pe = 3000);
        }
        bench.core.device.now = WRITTEN;
        bench.write(0, 0..4);
        let block = BlockAddr(bench.unit_of(0));
        let first = bench.core.device.grid.ppn(block, 0);
        bench.care.note_programmed(&mut bench.core, first);
        (bench, setup.expect("the bench was built"), block)
    }

    fn deadline(bench: &Bench, block: BlockAddr) -> SimTime {
        bench.care.refresh.deadline[block.index()]
    }

    /// Block 0 is due, and is recharged instead of collected.
    fn being_recharged() -> (Bench, BlockAddr) {
        let (mut bench, block) = bench(RefreshPolicy::Alarm);
        bench.care.refresh.in_place_at_most = 1;
        let due = deadline(&bench, block);
        bench.core.device.now = due;
        assert_eq!(bench.care.refresh_unit(&mut bench.core, &bench.writer, 0, block.0), None);
        (bench, block)
    }

    /// Half of the retention that the policy gives the page, after its program; time runs as fast as at the
    /// reference temperature, or the acceleration is taken out. Catches a share that is left out or applied twice.
    #[test]
    fn under_alarm_a_unit_is_due_at_its_share_of_the_policys_retention() {
        let (mut bench, block) = bench(RefreshPolicy::Alarm);
        let t = bench.core.device.array.page(bench.core.device.grid.ppn(block, 0)).oob.ecc;
        let ecc = bench.core.device.ecc.as_deref_mut().expect("a drive with ECC");
        let hours = ecc.policy.max_retention_hours(t, PeCycles(3000)) / 2.0 / ecc.cells.reference_hours(1.0);
        assert!(t.0 > 0 && hours.is_finite() && hours > 0.0, "{hours} hours with {t:?}");
        assert_eq!(deadline(&bench, block), SimTime(WRITTEN.0 + span_of(hours).0));
    }

    /// The rate of errors that the model gives the block at its deadline is half of what its code bears. Catches a
    /// bisection that ends in the wrong place, and a rate that is checked against another code's limit.
    #[test]
    fn under_joint_a_unit_is_due_when_its_rate_reaches_the_share_of_what_its_code_bears() {
        let (mut bench, block) = bench(RefreshPolicy::Joint);
        let t = bench.core.device.array.page(bench.core.device.grid.ppn(block, 0)).oob.ecc;
        let due = deadline(&bench, block);
        let info = *bench.core.device.array.block(block);
        let ecc = bench.core.device.ecc.as_deref_mut().expect("a drive with ECC");
        let bears = ecc.layout.codeword.max_rber(t, 1e-11);
        let rate = ecc.cells.nominal(&info, due.since(WRITTEN));
        assert!((rate / (bears / 2.0) - 1.0).abs() < 0.01, "{rate} of {bears}");
        // A read that finds the block worse than it was brings the deadline nearer.
        let block_of = bench.core.device.grid.ppn(block, 0);
        bench.core.device.array.set_age(block, |info| (info.reads, info.pe) = (64, 6000));
        bench.care.note_read(&mut bench.core, block_of);
        assert!(deadline(&bench, block) < due);
    }

    /// A drive in files is opened by another process, which knows only what flash says. Catches units that are never refreshed then.
    #[test]
    fn a_drive_that_is_opened_again_has_its_deadlines() {
        let (mut bench, setup, block) = bench_and_setup(RefreshPolicy::Alarm);
        let before = deadline(&bench, block);
        assert_ne!(before, NEVER);
        bench.care.refresh = Refresh::default();
        bench.care.resume_ecc(&mut bench.core, bench.writer.way, None, &setup, &Streams::new(1));
        assert_eq!((deadline(&bench, block), deadline(&bench, BlockAddr(block.0 + 1))), (before, NEVER));
    }

    /// Catches a unit that is refreshed before its time, or twice, and a deadline that outlives an erase.
    #[test]
    fn a_unit_is_refreshed_once_when_it_is_due() {
        let (mut bench, block) = bench(RefreshPolicy::Alarm);
        let due = deadline(&bench, block);
        bench.core.device.now = SimTime(due.0 - 1);
        assert_eq!(bench.care.unit_to_refresh(&bench.core, 0), None);
        bench.care.set_refresh_timer(&mut bench.core);
        assert_eq!(bench.core.device.calendar.next(), Some((due, Timer::Refresh.index(&bench.core.device.grid))));
        bench.core.device.now = due;
        assert_eq!(bench.care.unit_to_refresh(&bench.core, 0), Some(block.0));
        assert_eq!(bench.care.refresh_unit(&mut bench.core, &bench.writer, 0, block.0), Some(block.0));
        assert_eq!(bench.care.unit_to_refresh(&bench.core, 0), None);
        assert_eq!(bench.care.refresh.refreshed, 1);
        bench.care.refresh_at(&bench.core, block, due);
        bench.care.note_refreshed(&bench.core, block);
        assert_eq!(deadline(&bench, block), NEVER);
    }

    /// Catches pages that are left out of a recharge, and one that goes on although a page could not be read.
    #[test]
    fn a_recharge_reads_every_page_and_ends_in_gc_if_one_fails() {
        let (mut bench, block) = being_recharged();
        let reads = bench.carry_out();
        assert_eq!(reads.iter().map(|read| read.ppn.0).collect::<Vec<_>>(), (block.0 * 4..block.0 * 4 + 4).collect::<Vec<_>>());
        let ended: Vec<Option<UnitId>> = (0..4)
            .map(|page| {
                bench.care.recharge_read_done(
                    &mut bench.core,
                    &reads[page],
                    0,
                    if page == 2 { ReadOutcome::Uncorrectable } else { ReadOutcome::Clean },
                )
            })
            .collect();
        assert_eq!(ended, [None; 4], "three pages are being recharged");
        let recharges = bench.carry_out();
        assert_eq!(recharges.len(), 3);
        let ended: Vec<Option<UnitId>> =
            recharges.iter().map(|command| bench.care.complete_recharge(&mut bench.core, command)).collect();
        assert_eq!(ended, [None, None, Some(block.0)]);
    }

    /// The rate at the deadline is the highest that is still within the share. Catches a unit that is due when it is
    /// already beyond what its code bears, and one that is due long before.
    #[test]
    fn under_joint_the_deadline_is_the_last_time_within_the_limit() {
        let (mut bench, block) = bench(RefreshPolicy::Joint);
        let due = deadline(&bench, block).since(WRITTEN);
        let t = bench.core.device.array.page(bench.core.device.grid.ppn(block, 0)).oob.ecc;
        let info = *bench.core.device.array.block(block);
        let limit = bench.care.refresh.limits[usize::from(t.0)] * 0.5;
        let ecc = bench.core.device.ecc.as_deref_mut().expect("a drive with ECC");
        assert!(ecc.cells.nominal(&info, due) <= limit);
        assert!(ecc.cells.nominal(&info, Nanos((due.0 as f64 * 1.001) as u64)) > limit);
    }

    /// Catches a deadline of a unit that holds nothing: the timer would be set for a time that never comes.
    #[test]
    fn a_unit_that_was_erased_sets_no_timer() {
        let (mut bench, block) = bench(RefreshPolicy::Alarm);
        bench.care.set_refresh_timer(&mut bench.core);
        assert!(bench.core.is_pending(Timer::Refresh));
        bench.care.note_refreshed(&bench.core, block);
        assert!(bench.care.refresh.order.iter().all(BTreeSet::is_empty));
        bench.care.set_refresh_timer(&mut bench.core);
        assert!(!bench.core.is_pending(Timer::Refresh));
    }

    /// A block was closed before its last page. Catches a recharge of pages that were never programmed, which the medium
    /// does not read.
    #[test]
    fn a_recharge_reads_no_page_beyond_the_last_one_programmed() {
        let (mut bench, _) = bench(RefreshPolicy::Alarm);
        bench.care.refresh.in_place_at_most = 1;
        bench.write(1, 4..6);
        let unit = bench.unit_of(4);
        bench.core.map.abandon(unit);
        assert_eq!(bench.core.map.unit(unit).state, UnitState::Closed);
        assert_eq!(bench.care.refresh_unit(&mut bench.core, &bench.writer, 1, unit), None);
        let reads: Vec<u32> = bench.carry_out().iter().map(|read| read.ppn.0).collect();
        assert_eq!(reads, [unit * 4, unit * 4 + 1]);
    }

    /// Catches a unit that is never refreshed again once it was recharged.
    #[test]
    fn a_recharged_unit_falls_due_again() {
        let (mut bench, block) = being_recharged();
        for read in bench.carry_out() {
            assert_eq!(bench.care.recharge_read_done(&mut bench.core, &read, 0, ReadOutcome::Clean), None);
        }
        assert_eq!(deadline(&bench, block), NEVER, "it is being recharged");
        for command in bench.carry_out() {
            assert_eq!(bench.care.complete_recharge(&mut bench.core, &command), None);
        }
        assert_ne!(deadline(&bench, block), NEVER);
    }

    /// Catches a unit that is open when it falls due, and is closed although the last blocks are kept for commits, or
    /// forgotten.
    #[test]
    fn an_open_unit_waits_where_the_log_keeps_its_last_blocks() {
        let (mut bench, _) = bench(RefreshPolicy::Alarm);
        bench.write(0, [4]);
        let block = BlockAddr(bench.unit_of(4));
        let now = bench.core.device.now;
        bench.writer.commit_reserve = bench.core.map.free_units(0);
        assert_eq!(bench.care.refresh_unit(&mut bench.core, &bench.writer, 0, block.0), None);
        assert_eq!((deadline(&bench, block), bench.care.refresh.refreshed), (now + LATER, 0));
        bench.writer.commit_reserve = 0;
        assert_eq!(bench.care.refresh_unit(&mut bench.core, &bench.writer, 0, block.0), Some(block.0));
        assert_eq!((deadline(&bench, block), bench.care.refresh.refreshed), (NEVER, 1));
    }
}
