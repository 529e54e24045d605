//! Writes that wait until their page is in its sums, under a scheme whose sums take time on the write path (section
//! 4.3 of the paper has "the cost of computing parity" there).
//!
//! The controller adds one page to one sum after the other. What a page adds to is decided when it is placed, and the sums
//! are right from then on; time passes when the page is in flash, so that the host waits for both, one behind the other.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::timer::Timer;
use crate::write::groups::Groups;
use device::slab::JobId;
use device::waits::Wait;
use std::collections::VecDeque;
use vocab::{Nanos, SimTime};

/// The adder of writes, and the jobs whose pages are in flash and not yet in all of their sums.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summing {
    /// Time to add one page to one sum; 0: none.
    pub time: Nanos,
    /// When the adder is done with all that it was given.
    free_at: SimTime,
    /// In order of time.
    waiting: VecDeque<(SimTime, JobId)>,
}

impl Summing {
    pub fn new(time: Nanos) -> Self {
        Self { time, ..Self::default() }
    }

    /// Pages of jobs that are in flash and wait for their sums.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

impl<P: FlashPayload> Groups<P> {
    /// A page is added to this many sums from now on: when that is done, `None` where it takes no time.
    pub(super) fn begin_summing(&mut self, core: &Core<P>, sums: u32) -> Option<SimTime> {
        let summing = &mut self.summing;
        if summing.time.0 == 0 || !core.device.timed {
            return None;
        }
        let begin = summing.free_at.max(core.device.now);
        summing.free_at = begin + Nanos(summing.time.0.saturating_mul(u64::from(sums)));
        Some(summing.free_at)
    }

    /// A part of a job is in flash: it is done, or will be when it is summed.
    pub(super) fn part_in_flash(&mut self, core: &mut Core<P>, job: JobId, summed: Option<SimTime>) {
        let Some(at) = summed else {
            core.part_done(job);
            return;
        };
        core.job_is_in_flash(job);
        self.summing.waiting.push_back((at, job));
        if self.summing.waiting.len() == 1 {
            core.schedule(Timer::Sums, at);
        }
    }

    /// The part that waited longest is in all of its sums.
    pub fn summing_due(&mut self, core: &mut Core<P>) {
        let (_, job) = self.summing.waiting.pop_front().expect("a sum was scheduled for it");
        match self.summing.waiting.front() {
            Some(&(at, _)) => core.schedule(Timer::Sums, at),
            None => core.clear(Timer::Sums),
        }
        core.job_waited(job, Wait::Parity);
        core.part_done(job);
    }
}
