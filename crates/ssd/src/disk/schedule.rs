//! Controls by number of a request or by time: what happens to a drive while requests run.

use super::words::Control;
use super::{Disk, DiskAnswer, DiskError};
use std::collections::VecDeque;
use vocab::{Nanos, SimTime};

/// When something is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Once the drive has taken this many requests, the last of which is under way.
    Request(u64),
    /// After so much virtual time.
    Time(Nanos),
}

/// Something that is to happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// When.
    pub when: When,
    /// What.
    pub control: Control,
}

/// Something that happened as it was planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// When, in virtual time.
    pub at: SimTime,
    /// How many requests the drive had taken since the schedule began.
    pub requests: u64,
    /// What.
    pub control: Control,
    /// Why it could not happen.
    pub refused: Option<String>,
}

/// Planned events, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    by_request: VecDeque<(u64, Control)>,
    by_time: VecDeque<(SimTime, Control)>,
    /// Requests that the drive has taken since.
    taken: u64,
}

impl Schedule {
    /// How many requests the drive may take before something happens.
    pub fn requests_left(&self) -> u64 {
        self.by_request.front().map_or(u64::MAX, |(at, _)| at.saturating_sub(self.taken))
    }

    pub fn take_request(&mut self) {
        self.taken += 1;
    }

    /// When something happens next, if nothing is asked.
    pub fn due(&self) -> SimTime {
        self.by_time.front().map_or(SimTime(u64::MAX), |(at, _)| *at)
    }

    fn next(&mut self, now: SimTime) -> Option<Control> {
        if self.requests_left() == 0 {
            return self.by_request.pop_front().map(|(_, control)| control);
        }
        if self.due() <= now { self.by_time.pop_front().map(|(_, control)| control) } else { None }
    }
}

/// Events that are kept at most until someone asks.
const HAPPENED_MAX: usize = 10_000;

impl Disk {
    /// From now on these happen, in place of what was planned before: requests are counted and time is measured from here. Of equal
    /// times the order is that of the list; what cannot happen is noted in [`Disk::happened`].
    pub fn plan(&mut self, planned: &[Planned]) {
        let start = self.now();
        let mut schedule = Schedule::default();
        for Planned { when, control } in planned {
            match *when {
                When::Request(at) => schedule.by_request.push_back((at, control.clone())),
                When::Time(after) => {
                    let at = SimTime(start.0.saturating_add(after.0));
                    schedule.by_time.push_back((at, control.clone()));
                }
            }
        }
        schedule.by_request.make_contiguous().sort_by_key(|(at, _)| *at);
        schedule.by_time.make_contiguous().sort_by_key(|(at, _)| *at);
        self.schedule = schedule;
    }

    /// Planned events that happened since the last call.
    pub fn happened(&mut self) -> Vec<Happened> {
        std::mem::take(&mut self.happened)
    }

    /// Lets something happen to the drive. Answers of requests that it cut short are kept for the next [`Disk::run`].
    ///
    /// # Errors
    /// If it makes no sense or is not supported, or as of [`Disk::run`].
    pub fn carry_out(&mut self, control: &Control) -> Result<(), DiskError> {
        match *control {
            Control::Fail(part) => self.fail(part),
            Control::Replace(die) => self.replace_die(die),
            Control::CutPower => {
                let (_, answers) = self.cut_power()?;
                self.kept.extend(answers);
                Ok(())
            }
            Control::Age(time) => self.age(time),
            Control::Idle(time) => self.idle(time),
            Control::Wear(cycles) => self.wear(cycles),
            Control::Temperature(celsius) => self.temperature(celsius),
            Control::Silent(chance) => self.silent(chance),
            Control::Slow(die, factor) => self.slow(die, factor),
            Control::Pause(time) => self.pause(time),
            Control::Corrupt(offset) if offset / super::SECTOR as u64 >= self.sectors() => {
                Err(DiskError::control(format!("byte {offset}: valid are 0 to {}", self.sectors() * super::SECTOR as u64 - 1)))
            }
            Control::Errors(_) => self.check(control),
            Control::Hang(_) | Control::Lie(..) | Control::Corrupt(_) => Ok(()),
        }
    }

    /// Checks what can be checked without a look at the flash.
    pub(super) fn check(&self, control: &Control) -> Result<(), DiskError> {
        control.check(&self.setup.drive.geometry).map_err(DiskError::Control)
    }

    /// When something planned happens next, if nothing is asked.
    pub(super) fn due(&self) -> SimTime {
        self.schedule.due()
    }

    /// Lets happen what is due.
    pub(super) fn carry_out_due(&mut self) -> Result<(), DiskError> {
        let now = self.now();
        while let Some(control) = self.schedule.next(now) {
            let (at, requests) = (self.now(), self.schedule.taken);
            // Operations of the schedule on the drive itself are no requests of the host, and time that they take is
            // not interrupted.
            let schedule = std::mem::take(&mut self.schedule);
            let result = self.carry_out(&control);
            self.schedule = schedule;
            let refused = match result {
                Ok(()) => None,
                Err(DiskError::Control(what)) => Some(what),
                Err(error) => return Err(error),
            };
            if self.happened.len() < HAPPENED_MAX {
                self.happened.push(Happened { at, requests, control, refused });
            }
        }
        Ok(())
    }

    /// Nothing happens until then: then it is.
    pub(super) fn skip_to(&mut self, time: SimTime) {
        let engine = self.medium.engine_mut();
        engine.core.device.now = time.max(engine.core.device.now);
    }

    /// Answers that a planned control left.
    pub(super) fn kept_answers(&mut self) -> Vec<DiskAnswer> {
        std::mem::take(&mut self.kept)
    }
}
