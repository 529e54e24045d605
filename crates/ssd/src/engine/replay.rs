//! The event loop: host commands in, events in order, until the last answer.

use crate::config::Pace;
use crate::engine::Engine;
use device::contents::HostPayload;
use nand::FlashArray;
use vocab::{DieId, Grid, HostCommand, Lpn, Nanos};

/// The next two commands of a workload.
struct Coming {
    next: Option<HostCommand>,
    after: Option<HostCommand>,
}

/// Resources in the calendar: dies, then arrivals, answers, the patrol (or the limits' timer),
/// the adder, the timer of refresh, a decoder for each channel, and the timer of off-line phases.
pub(crate) fn timers(grid: &Grid) -> usize {
    (6 + grid.geometry().channels) as usize
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    fn arrivals(&self) -> usize {
        self.core.device.grid.dies() as usize
    }

    /// Whether a host command waits for its time.
    pub(crate) fn more_arrives(&self) -> bool {
        self.core.device.calendar.is_pending(self.arrivals())
    }

    pub(crate) fn answers(&self) -> usize {
        self.core.device.grid.dies() as usize + 1
    }

    /// The timer of off-line phases.
    pub(crate) fn offline_timer(&self) -> usize {
        self.core.device.grid.dies() as usize + timers(&self.core.device.grid) - 1
    }

    /// The adder of rebuilt pages.
    pub(crate) fn adder(&self) -> usize {
        self.core.device.grid.dies() as usize + 3
    }

    /// Replays host commands to the end and waits for the last answer. `each` hears of every
    /// request before it arrives and may act on the drive (fault injection, progress).
    pub fn replay(&mut self, commands: &mut dyn Iterator<Item = HostCommand>, pace: Pace, each: &mut dyn FnMut(&mut Self, u64)) {
        self.replay_stepwise(commands, pace, each, |_| true);
    }

    /// As [`Self::replay`]; `step` looks at the drive before every event, and stops the run there with
    /// false.
    pub(crate) fn replay_stepwise(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: &mut dyn FnMut(&mut Self, u64),
        mut step: impl FnMut(&Self) -> bool,
    ) {
        let start = self.core.device.now;
        // A fork taken between two arrivals starts with commands of its own.
        self.core.device.calendar.clear(self.arrivals());
        let mut arrived = 0;
        let mut coming = Coming { next: commands.next(), after: commands.next() };
        self.expect_offline();
        loop {
            if let Pace::Closed { depth } = pace {
                while self.host.requests.outstanding < depth
                    && !self.is_off_line()
                    && let Some(command) = coming.next.take()
                {
                    each(self, arrived);
                    arrived += 1;
                    self.arrive(&command, self.core.device.now);
                    self.look_ahead(&mut coming, commands);
                    self.after_event();
                }
            } else if let Some(command) = &coming.next
                && !self.core.device.calendar.is_pending(self.arrivals())
                && !self.is_off_line()
            {
                let at = (start + Nanos(command.at.0)).max(self.core.device.now);
                self.core.device.calendar.schedule(self.arrivals(), at);
            }
            self.after_event();
            if !step(self) {
                return;
            }
            if coming.next.is_none() && self.host.requests.outstanding == 0 {
                self.stay_on_line();
            }
            let Some((time, resource)) = self.next_event() else {
                if self.unstick() {
                    continue;
                }
                assert!(
                    self.host.requests.outstanding == 0,
                    "nothing moves, yet {} requests wait",
                    self.host.requests.outstanding
                );
                if coming.next.is_none() {
                    return;
                }
                continue;
            };
            self.core.device.now = time;
            if resource != self.arrivals() {
                self.event(resource);
                continue;
            }
            self.core.device.calendar.clear(resource);
            if self.is_off_line() {
                continue;
            }
            let command = coming.next.take().expect("an arrival was scheduled for it");
            each(self, arrived);
            arrived += 1;
            self.arrive(&command, (start + Nanos(command.at.0)).min(self.core.device.now));
            self.look_ahead(&mut coming, commands);
        }
    }

    /// What happens to a resource of the drive.
    #[inline]
    fn event(&mut self, resource: usize) {
        if resource < self.arrivals() {
            self.die_event(DieId(resource as u16));
        } else if resource == self.adder() {
            self.addition_due();
        } else if resource == self.answers() {
            self.answer_due();
        } else if resource == self.offline_timer() {
            self.offline_due();
        } else if resource > self.refreshes() {
            self.decoded(resource - self.refreshes() - 1);
        } else if resource < self.refreshes() && !self.core.limits.is_on() {
            self.patrol_due();
        }
    }

    /// Moves up the commands to come, and starts to bring into the cache what they will touch:
    /// first the map's entry, then, one command later, what the entry points to.
    #[inline]
    fn look_ahead(&self, coming: &mut Coming, commands: &mut dyn Iterator<Item = HostCommand>) {
        let page = |command: &HostCommand| Lpn((command.lba.0 / u64::from(self.host.requests.sectors_per_slot)) as u32);
        coming.next = coming.after.take();
        if let Some(command) = &coming.next {
            self.core.map.prefetch_place(page(command));
        }
        coming.after = commands.next();
        if let Some(command) = &coming.after {
            self.core.map.prefetch(page(command));
            self.host.oracle.prefetch(page(command));
        }
    }

    /// What every event may have made possible.
    #[inline]
    fn after_event(&mut self) {
        if std::mem::take(&mut self.core.retry) {
            self.retry_stalled();
        }
        if self.power.mounting.is_some() {
            self.mount_on();
        }
        if self.writer.stripes.worn_above.is_some() && self.host.requests.outstanding == 0 && self.power.mounting.is_none() {
            self.build_in_idle_time();
        }
        if self.core.limits.stirred {
            self.recycle_due();
        }
        if self.care.refresh.stirred {
            self.refresh_due();
        }
        self.kick();
        if self.writer.zones.is_some() {
            self.go_off_line_if_idle();
        }
    }
}
