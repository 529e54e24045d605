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

use crate::config::{RefreshPolicy, Setup};
use crate::core::Command;
use crate::core::owner::Owner;
use crate::device::command::Verb;
use crate::device::contents::HostPayload;
use crate::device::ecc::{EccSetup, PageEcc, Rewrites};
use crate::device::facts::Fact;
use crate::engine::Engine;
use crate::session::{SetupError, commit_reserve};
use coding::odds::Per;
use ecc::longest_hours;
use ftl::{UnitId, UnitState};
use nand::{FlashArray, ProgramOutcome, span_of};
use protect::Protection;
use std::collections::BTreeSet;
use vocab::{BlockAddr, Capability, Cause, Nanos, PeCycles, Ppn, SimTime, Streams};

/// Deadlines of a drive's units of collection.
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

/// What page ECC is built from.
fn ecc_setup<'a>(setup: &'a Setup, protection: &Protection) -> EccSetup<'a> {
    let rewrites =
        Rewrites { on_advice: setup.refresh.policy == RefreshPolicy::Alarm, unreadable: !matches!(protection, Protection::None) };
    EccSetup { ecc: &setup.ecc, errors: &setup.errors, geometry: &setup.drive.geometry, rewrites }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// The timer of refresh, in the calendar.
    pub(crate) fn refreshes(&self) -> usize {
        self.core.device.grid.dies() as usize + 4
    }

    /// The decoder of a channel, in the calendar.
    pub(crate) fn decoder(&self, channel: usize) -> usize {
        self.refreshes() + 1 + channel
    }

    /// The drive was mounted: codes are those that the pages say, policies begin anew. The drive as it was
    /// `before` the cut has the codes that were built for it.
    pub(crate) fn resume_ecc(&mut self, before: Option<&mut Self>, setup: &Setup, streams: &Streams) {
        if let Some(before) = before {
            self.core.device.ecc = before.core.device.ecc.take();
            if let Some(ecc) = &mut self.core.device.ecc {
                ecc.restart(&ecc_setup(setup, &self.writer.protection), streams);
                self.resume_refresh(&before.care.refresh, setup);
            }
            return;
        }
        self.core.device.ecc = PageEcc::new(&ecc_setup(setup, &self.writer.protection), streams).expect("it was built before");
        if self.core.device.ecc.is_some() {
            self.start_refresh(setup);
        }
    }

    /// The drive has its age: from now on its pages have errors, and a code that suits their age.
    pub(crate) fn start_ecc(&mut self, setup: &Setup, streams: &Streams) -> Result<(), SetupError> {
        let built = PageEcc::new(&ecc_setup(setup, &self.writer.protection), streams);
        self.core.device.ecc = built.map_err(|error| SetupError::new(error.to_string()))?;
        if self.core.device.ecc.is_none() {
            return Ok(());
        }
        for block in (0..self.core.device.grid.geometry().blocks()).map(BlockAddr) {
            if self.core.device.array.block(block).next_page > 0 {
                let t = self.core.device.capability(self.core.device.grid.ppn(block, 0));
                self.core.device.array.set_ecc(block, t);
            }
        }
        self.start_refresh(setup);
        Ok(())
    }

    /// Deadlines of what is stored already.
    pub(crate) fn start_refresh(&mut self, setup: &Setup) {
        let ecc = self.core.device.ecc.as_deref().expect("refresh belongs to ECC");
        let limit = |t: u32| ecc.layout.codeword.code.max_rber(t, setup.refresh.uber, Per::CodewordBit);
        let joint = setup.refresh.policy == RefreshPolicy::Joint;
        let limits = if joint { (0..=u32::from(ecc.policy.strongest().0)).map(limit).collect() } else { Vec::new() };
        self.note_all_blocks(Refresh::new(setup, limits, self.core.map.units(), self.core.map.logs()));
    }

    /// As [`Self::start_refresh`], after a cut.
    pub(crate) fn resume_refresh(&mut self, before: &Refresh, setup: &Setup) {
        self.note_all_blocks(Refresh::new(setup, before.limits.clone(), self.core.map.units(), self.core.map.logs()));
    }

    fn note_all_blocks(&mut self, refresh: Refresh) {
        self.care.refresh = refresh;
        (0..self.core.device.grid.geometry().blocks()).for_each(|block| self.note_block(BlockAddr(block)));
    }

    /// Sets the deadline of a block by its first page, which is its oldest.
    fn note_block(&mut self, block: BlockAddr) {
        if self.core.device.array.block(block).next_page > 0 {
            self.note_programmed(self.core.device.grid.ppn(block, 0));
        }
    }

    /// The page was programmed: its unit may be due earlier than before.
    pub(crate) fn note_programmed(&mut self, ppn: Ppn) {
        if !matches!(self.care.refresh.policy, Some(RefreshPolicy::Alarm | RefreshPolicy::Joint)) {
            return;
        }
        let block = self.core.device.grid.split(ppn).0;
        let view = self.core.device.array.page(ppn);
        let (written, t) = (view.written, view.oob.ecc);
        let hours = self.hours_until_due(block, t);
        if hours.is_finite() {
            self.refresh_at(block, SimTime(written.0.saturating_add(span_of(hours).0)));
        }
    }

    /// How long after its program a page of the block is due, at the reads so far.
    fn hours_until_due(&mut self, block: BlockAddr, t: Capability) -> f64 {
        let info = *self.core.device.array.block(block);
        let Some(ecc) = self.core.device.ecc.as_deref_mut() else { return f64::INFINITY };
        let share = self.care.refresh.at_share;
        if self.care.refresh.policy == Some(RefreshPolicy::Alarm) {
            return share * ecc.policy.max_retention_hours(t, PeCycles(info.pe)) / ecc.cells.reference_hours(1.0);
        }
        let limit = self.care.refresh.limits[usize::from(t.0)] * share;
        longest_hours(1e-4, |hours| ecc.cells.nominal(&info, span_of(hours)) <= limit)
    }

    /// Under `joint`, a read brings the block's deadline nearer.
    pub(crate) fn note_read(&mut self, ppn: Ppn) {
        if self.care.refresh.policy != Some(RefreshPolicy::Joint) {
            return;
        }
        // The bisection costs more than a read: it is done anew each 64 reads.
        if self.core.device.array.block(self.core.device.grid.split(ppn).0).reads.is_multiple_of(64) {
            self.note_programmed(ppn);
        }
    }

    /// The block is due at this time, if it was not before.
    pub(crate) fn refresh_at(&mut self, block: BlockAddr, at: SimTime) {
        let unit = self.core.map.unit_of_block(block);
        if self.care.refresh.deadline.get(unit as usize).is_some_and(|&deadline| at < deadline) {
            self.care.refresh.set(self.core.map.log_of(unit), unit, at);
            self.care.refresh.stirred = true;
        }
    }

    /// A block was erased: nothing of its unit is old.
    pub(crate) fn note_refreshed(&mut self, block: BlockAddr) {
        let unit = self.core.map.unit_of_block(block);
        if self.care.refresh.deadline.get(unit as usize).is_some_and(|&deadline| deadline != NEVER) {
            self.care.refresh.set(self.core.map.log_of(unit), unit, NEVER);
        }
        self.care.refresh.stirred = self.care.refresh.policy.is_some();
    }

    /// Has what is due collected, while the host uses the drive, and sets the timer for the rest.
    pub(crate) fn refresh_due(&mut self) {
        if self.host.requests.outstanding == 0 && !self.more_arrives() {
            return;
        }
        self.care.refresh.stirred = false;
        for log in 0..self.care.refresh.order.len() {
            while let Some(&(at, unit)) = self.care.refresh.order[log].first()
                && at <= self.core.device.now
                && !self.is_wanted(log)
                && self.care.refresh.recharging[log].is_none()
                && !self.care.collectors[log].halted
            {
                self.refresh_unit(log, unit);
            }
        }
        let next = self
            .care
            .refresh
            .order
            .iter()
            .filter_map(|order| order.range((SimTime(self.core.device.now.0 + 1), 0)..).next())
            .min();
        match next {
            Some(&(at, _)) => self.core.device.calendar.schedule(self.refreshes(), at),
            None => self.core.device.calendar.clear(self.refreshes()),
        }
    }

    fn refresh_unit(&mut self, log: usize, unit: UnitId) {
        let entry = self.core.map.unit(unit);
        let holds = entry.valid > 0 || entry.pins > 0;
        let may = match entry.state {
            UnitState::Closed => holds,
            // Closing it gives up the rest of its pages.
            UnitState::Open => {
                holds && self.core.map.free_units(log) > commit_reserve(&self.writer.protection, &self.core.device.grid) + 1
            }
            UnitState::Free | UnitState::Condemned | UnitState::Dirty | UnitState::Bad => false,
        };
        let later = if matches!(entry.state, UnitState::Open) && holds && !may { self.core.device.now + LATER } else { NEVER };
        self.care.refresh.set(log, unit, later);
        if may {
            self.care.refresh.refreshed += 1;
            if self.may_recharge(unit) {
                self.care.refresh.recharging[log] = Some(Recharging { unit, cursor: 0, in_flight: 0, failed: false });
                self.recharge(log);
            } else {
                self.want(unit, Cause::Refresh);
            }
        }
    }

    fn may_recharge(&self, unit: UnitId) -> bool {
        let most = self.care.refresh.in_place_at_most;
        let recharges = |block| self.core.device.array.block(block).recharges;
        most > 0
            && self.core.map.unit(unit).state == UnitState::Closed
            && self.core.map.blocks_of(unit).all(|block| recharges(block) < most)
    }

    /// Reads the next pages of the unit that the log recharges, as many at once as a collector
    /// moves.
    fn recharge(&mut self, log: usize) {
        let Some(mut work) = self.care.refresh.recharging[log] else { return };
        let blocks: Vec<BlockAddr> = self.core.map.blocks_of(work.unit).collect();
        let (pages, width) = (self.core.device.grid.pages_per_block(), blocks.len() as u32);
        // Collected meanwhile: there is nothing left to recharge.
        if self.core.map.unit(work.unit).state != UnitState::Closed || work.failed {
            work.cursor = pages * width;
        }
        while work.in_flight < self.care.moves_in_flight * width && work.cursor < pages * width {
            let (block, page) = (blocks[(work.cursor % width) as usize], work.cursor / width);
            work.cursor += 1;
            let ppn = self.core.device.grid.ppn(block, page);
            let stored =
                page < self.core.device.array.block(block).next_page && !self.core.device.failed_programs.contains_key(&ppn.0);
            if stored && self.core.device.array.answers(ppn) {
                work.in_flight += 1;
                let (owner, count) = (Owner::Recharge { log: log as u16 }, self.core.device.grid.slots_per_page() as u8);
                self.core.submit(Command { owner, ppn, count, cause: Cause::Refresh, ..Command::default() });
            }
        }
        let done = work.cursor == pages * width && work.in_flight == 0;
        self.care.refresh.recharging[log] = (!done).then_some(work);
        if done {
            self.recharged(log, work);
        }
    }

    fn recharged(&mut self, log: usize, work: Recharging) {
        self.care.refresh.stirred = true;
        if work.failed {
            self.want(work.unit, Cause::Refresh);
        } else if self.core.map.unit(work.unit).state == UnitState::Closed {
            self.care.refresh.set(log, work.unit, NEVER);
            self.core.map.blocks_of(work.unit).for_each(|block| self.note_block(block));
        }
    }

    /// A page to be recharged was read.
    pub(crate) fn recharge_read_done(&mut self, command: &Command, log: usize, clean: bool) {
        if clean && self.core.device.is_programmed(command.ppn) {
            self.core.submit(Command { verb: Verb::Recharge, ..*command });
            return;
        }
        self.page_over(log, !clean);
    }

    /// One page of what the log recharges is done with.
    fn page_over(&mut self, log: usize, failed: bool) {
        let work = self.care.refresh.recharging[log].as_mut().expect("a recharge under way");
        (work.in_flight, work.failed) = (work.in_flight - 1, work.failed || failed);
        self.recharge(log);
    }

    /// A page was recharged, or cannot be: then its block fails when it is written next.
    pub(crate) fn complete_recharge(&mut self, command: &Command) {
        let Owner::Recharge { log } = command.owner else { unreachable!("{:?} recharges nothing", command.owner) };
        let there = self.core.device.is_programmed(command.ppn);
        let done = there && self.core.device.array.recharge(command.ppn, self.core.device.now) == ProgramOutcome::Done;
        if done {
            self.core.device.record(Fact::Recharged { ppn: command.ppn.0 });
        }
        self.page_over(log as usize, there && !done);
    }

    /// The timer went off.
    pub(crate) fn refresh_timer(&mut self) {
        self.core.device.calendar.clear(self.refreshes());
        self.care.refresh.stirred = true;
    }
}
