//! Refresh: a block whose data would outlive what their code bears is collected before they do.
//!
//! Each block has a deadline: for `alarm` the end of the retention that the ECC policy gives its
//! weakest page; for `joint` the time at which the modelled rate of its weakest page, reads so
//! far included, meets what its code bears at the target UBER (theory.md section 5, gap 3: the
//! factors add). Deadlines are set when pages are programmed and, for `joint`, checked again
//! when they are read. What is due is moved by the collector of its log, one unit at a time,
//! the most overdue first: remapped, as FLARES calls it.

use crate::config::{RefreshPolicy, Setup};
use crate::ecc::PageEcc;
use crate::machine::Machine;
use crate::payload::HostPayload;
use crate::session::commit_reserve;
use coding::odds::Per;
use ftl::{UnitId, UnitState};
use nand::FlashArray;
use std::collections::BTreeSet;
use vocab::{BlockAddr, Capability, Cause, Nanos, Ppn, SimTime};

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
    /// Whether something may be due that was not before.
    pub stirred: bool,
    /// Units refreshed.
    pub refreshed: u64,
}

const NEVER: SimTime = SimTime(u64::MAX);
/// How long a unit that cannot be collected yet is left alone.
const LATER: Nanos = Nanos(1_000_000_000);
const NANOS_PER_HOUR: f64 = 3.6e12;
/// A century.
const FOREVER_HOURS: f64 = 876_000.0;

impl Refresh {
    fn new(setup: &Setup, ecc: &PageEcc, units: usize, logs: usize) -> Self {
        let refresh = &setup.refresh;
        let limit = |t: u32| ecc.layout.codeword.code.max_rber(t, refresh.uber, Per::CodewordBit);
        let joint = refresh.policy == RefreshPolicy::Joint;
        Self {
            policy: Some(refresh.policy),
            at_share: refresh.at_share,
            limits: if joint { (0..=u32::from(ecc.policy.strongest().0)).map(limit).collect() } else { Vec::new() },
            deadline: vec![NEVER; units],
            order: vec![BTreeSet::new(); logs],
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

impl<P: HostPayload, A: FlashArray<P>> Machine<P, A> {
    /// The timer of refresh, in the calendar.
    pub(crate) fn refreshes(&self) -> usize {
        self.grid.dies() as usize + 4
    }

    /// Deadlines of what is stored already.
    pub(crate) fn start_refresh(&mut self, setup: &Setup) {
        let ecc = self.ecc.take().expect("refresh belongs to ECC");
        self.refresh = Refresh::new(setup, &ecc, self.ftl.units(), self.ftl.logs());
        self.ecc = Some(ecc);
        for block in (0..self.grid.geometry().blocks()).map(BlockAddr) {
            if self.array.block(block).next_page > 0 {
                self.note_programmed(self.grid.ppn(block, 0));
            }
        }
    }

    /// The page was programmed: its unit may be due earlier than before.
    pub(crate) fn note_programmed(&mut self, ppn: Ppn) {
        if !matches!(self.refresh.policy, Some(RefreshPolicy::Alarm | RefreshPolicy::Joint)) {
            return;
        }
        let block = self.grid.split(ppn).0;
        let view = self.array.page(ppn);
        let (written, t) = (view.written, view.oob.ecc);
        let hours = self.hours_until_due(block, t);
        if hours >= FOREVER_HOURS {
            return;
        }
        self.refresh_at(block, SimTime(written.0.saturating_add((hours * NANOS_PER_HOUR) as u64)));
    }

    /// How long after its program a page of the block is due, at the reads so far.
    fn hours_until_due(&mut self, block: BlockAddr, t: Capability) -> f64 {
        let Some(mut ecc) = self.ecc.take() else { return f64::INFINITY };
        let info = *self.array.block(block);
        let share = self.refresh.at_share;
        let hours = if self.refresh.policy == Some(RefreshPolicy::Alarm) {
            share * ecc.policy.max_retention_hours(t, vocab::PeCycles(info.pe)) / ecc.cells.reference_hours(1.0)
        } else {
            let limit = self.refresh.limits[usize::from(t.0)] * share;
            let holds = |hours: f64| ecc.cells.nominal(&info, Nanos((hours * NANOS_PER_HOUR) as u64)) <= limit;
            let (mut short, mut long) = (0.0, FOREVER_HOURS);
            if holds(long) {
                f64::INFINITY
            } else {
                while long - short > 1e-4 * long && long > 1e-6 {
                    let middle = (short + long) / 2.0;
                    if holds(middle) { short = middle } else { long = middle }
                }
                short
            }
        };
        self.ecc = Some(ecc);
        hours
    }

    /// Under `joint`, a read brings the block's deadline nearer.
    pub(crate) fn note_read(&mut self, ppn: Ppn) {
        if self.refresh.policy != Some(RefreshPolicy::Joint) {
            return;
        }
        // The bisection costs more than a read: it is done anew each 64 reads.
        if self.array.block(self.grid.split(ppn).0).reads.is_multiple_of(64) {
            self.note_programmed(ppn);
        }
    }

    /// The block is due at this time, if it was not before.
    pub(crate) fn refresh_at(&mut self, block: BlockAddr, at: SimTime) {
        let unit = self.ftl.unit_of_block(block);
        if self.refresh.deadline.get(unit as usize).is_some_and(|&deadline| at < deadline) {
            self.refresh.set(self.ftl.log_of(unit), unit, at);
            self.refresh.stirred = true;
        }
    }

    /// A block was erased: nothing of its unit is old.
    pub(crate) fn note_refreshed(&mut self, block: BlockAddr) {
        let unit = self.ftl.unit_of_block(block);
        if self.refresh.deadline.get(unit as usize).is_some_and(|&deadline| deadline != NEVER) {
            self.refresh.set(self.ftl.log_of(unit), unit, NEVER);
        }
        self.refresh.stirred = self.refresh.policy.is_some();
    }

    /// Has what is due collected, while the host uses the drive, and sets the timer for the rest.
    pub(crate) fn refresh_due(&mut self) {
        if self.host.outstanding == 0 && !self.more_arrives() {
            return;
        }
        self.refresh.stirred = false;
        for log in 0..self.refresh.order.len() {
            while let Some(&(at, unit)) = self.refresh.order[log].first()
                && at <= self.now
                && !self.is_wanted(log)
                && !self.collectors[log].halted
            {
                self.refresh_unit(log, unit);
            }
        }
        let next = self.refresh.order.iter().filter_map(|order| order.range((SimTime(self.now.0 + 1), 0)..).next()).min();
        match next {
            Some(&(at, _)) => self.calendar.schedule(self.refreshes(), at),
            None => self.calendar.clear(self.refreshes()),
        }
    }

    fn refresh_unit(&mut self, log: usize, unit: UnitId) {
        let entry = self.ftl.unit(unit);
        let holds = entry.valid > 0 || entry.pins > 0;
        let may = match entry.state {
            UnitState::Closed => holds,
            // Closing it gives up the rest of its pages.
            UnitState::Open => holds && self.ftl.free_units(log) > commit_reserve(&self.protection, &self.grid) + 1,
            UnitState::Free | UnitState::Condemned | UnitState::Bad => false,
        };
        let later = if matches!(entry.state, UnitState::Open) && holds && !may { self.now + LATER } else { NEVER };
        self.refresh.set(log, unit, later);
        if may {
            self.refresh.refreshed += 1;
            self.want(unit, Cause::Refresh);
        }
    }

    /// The timer went off.
    pub(crate) fn refresh_timer(&mut self) {
        self.calendar.clear(self.refreshes());
        self.refresh.stirred = true;
    }
}
