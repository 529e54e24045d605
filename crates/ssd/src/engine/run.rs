//! The event loop: host commands in, events in order and their effects, until the last answer.

use crate::config::Pace;
use crate::core::flash::FlashPayload;
use crate::core::timer::{Resource, Timer};
use crate::engine::Engine;
use crate::engine::flows::recovery;
use crate::write::ahead::Wanted;
use vocab::{DieId, HostCommand, HostOp, Lpn, Nanos, SimTime};

/// Called before a request arrives, with its number; it may act on the drive (fault injection, progress).
pub(super) type BeforeEach<'a, P> = &'a mut dyn FnMut(&mut Engine<P>, u64);

/// Where commands come from, and when.
pub(super) trait Arrivals<P: FlashPayload> {
    /// Lets arrive what may come now, or schedules when it may.
    fn let_arrive(&mut self, engine: &mut Engine<P>, each: BeforeEach<'_, P>);
    /// The time that was scheduled has come.
    fn due(&mut self, engine: &mut Engine<P>, each: BeforeEach<'_, P>);
    /// True if all have arrived.
    fn is_over(&self) -> bool;
}

/// Commands that are looked at before they arrive.
const AHEAD: usize = 3;
/// The same in a run that may be stopped: what was looked at and has not arrived is lost then.
const AHEAD_OF_STOP: usize = 2;

/// The commands of a workload that have not arrived: some are looked at, so that what they touch can be fetched into
/// the processor's cache.
struct Upcoming<'a> {
    commands: &'a mut dyn Iterator<Item = HostCommand>,
    /// Those that are looked at, in a ring: they stay where they are as others arrive.
    ahead: [Option<HostCommand>; AHEAD + 1],
    /// Where the next one is in it.
    next: usize,
    /// How many are looked at.
    most: usize,
    /// When the run began: the times of commands count from then.
    start: SimTime,
    /// Commands that have arrived in this run.
    arrived: u64,
}

impl<'a> Upcoming<'a> {
    fn new(commands: &'a mut dyn Iterator<Item = HostCommand>, most: usize, start: SimTime) -> Self {
        let ahead = std::array::from_fn(|at| if at < most { commands.next() } else { None });
        Self { commands, ahead, next: 0, most, start, arrived: 0 }
    }

    /// The command that arrives next but this many.
    #[inline(always)]
    fn after(&self, others: usize) -> Option<&HostCommand> {
        self.ahead[(self.next + others) % (AHEAD + 1)].as_ref()
    }

    /// The command that arrives next, which does so now.
    #[inline(always)]
    fn take_next(&mut self) -> Option<HostCommand> {
        self.ahead[self.next].take()
    }

    /// Moves up by one command.
    #[inline(always)]
    fn move_up(&mut self) {
        self.next = (self.next + 1) % (AHEAD + 1);
        self.ahead[(self.next + self.most - 1) % (AHEAD + 1)] = self.commands.next();
    }

    /// When a command arrives at an open pace.
    fn time_of(&self, command: &HostCommand) -> SimTime {
        self.start + Nanos(command.at.0)
    }
}

/// Commands in one order, all by one clock.
struct OneClock<'a> {
    upcoming: Upcoming<'a>,
    pace: Pace,
}

impl<P: FlashPayload> Arrivals<P> for OneClock<'_> {
    #[inline(always)]
    fn let_arrive(&mut self, engine: &mut Engine<P>, each: BeforeEach<'_, P>) {
        match self.pace {
            Pace::Closed { depth } => engine.let_arrive_up_to(depth, &mut self.upcoming, each),
            Pace::Open => engine.expect_arrival(&self.upcoming),
        }
    }

    #[inline]
    fn due(&mut self, engine: &mut Engine<P>, each: BeforeEach<'_, P>) {
        engine.arrival_due(&mut self.upcoming, each);
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        self.upcoming.after(0).is_none()
    }
}

impl<P: FlashPayload> Engine<P> {
    /// Replays host commands to the end and waits for the last answer. `each` is called before a request arrives.
    pub(crate) fn replay(&mut self, commands: &mut dyn Iterator<Item = HostCommand>, pace: Pace, each: BeforeEach<'_, P>) {
        let upcoming = Upcoming::new(commands, AHEAD, self.core.device.now);
        self.replay_from(OneClock { upcoming, pace }, each, |_| true);
    }

    /// As [`Self::replay`]; `step` looks at the drive before every event, and stops the run there with false.
    pub(crate) fn replay_stepwise(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: BeforeEach<'_, P>,
        step: impl FnMut(&mut Self) -> bool,
    ) {
        let upcoming = Upcoming::new(commands, AHEAD_OF_STOP, self.core.device.now);
        self.replay_from(OneClock { upcoming, pace }, each, step);
    }

    #[inline(always)]
    pub(super) fn replay_from(
        &mut self,
        mut arrivals: impl Arrivals<P>,
        each: BeforeEach<'_, P>,
        mut step: impl FnMut(&mut Self) -> bool,
    ) {
        // A fork taken between two arrivals starts with commands of its own.
        self.core.clear(Timer::Arrivals);
        self.writer.run_begins(&mut self.core);
        let dies = self.core.device.grid.dies() as usize;
        loop {
            arrivals.let_arrive(self, each);
            self.after_event();
            if !step(self) {
                return;
            }
            if arrivals.is_over() && self.host.requests.outstanding == 0 {
                self.writer.host_is_done(&mut self.core);
            }
            // Nearly all events are of dies, which have the first numbers of the calendar. They wait for no other.
            let of_die = self.core.device.calendar.next().filter(|&(_, resource)| resource < dies);
            if let Some((time, die)) = of_die {
                self.event_at(time);
                self.die_event(DieId(die as u16));
                self.hand_on();
            } else if let Some((time, timer)) = self.care.next_event(&mut self.core) {
                if self.care.waits_for_a_replacement(&self.core, timer) && self.unstick() {
                    continue;
                }
                self.event_at(time);
                match timer {
                    Resource::Timer(Timer::Arrivals) => arrivals.due(self, each),
                    other => self.own_event(other),
                }
                self.hand_on();
            } else if !self.unstick() {
                let waiting = self.host.requests.outstanding;
                assert!(waiting == 0, "nothing moves, yet {waiting} requests wait");
                if arrivals.is_over() {
                    return;
                }
            }
        }
    }

    /// Whether the drive holds requests back now: it is being mounted, or its code zones are off line.
    #[inline]
    pub(crate) fn is_off_line(&self) -> bool {
        self.power.mounting.is_some() || self.writer.has_code_zones && self.writer.is_off_line()
    }

    /// Lets commands arrive until this many are unanswered.
    #[inline(always)]
    fn let_arrive_up_to(&mut self, depth: u32, upcoming: &mut Upcoming<'_>, each: BeforeEach<'_, P>) {
        while self.host.requests.outstanding < depth
            && !self.is_off_line()
            && let Some(command) = upcoming.take_next()
        {
            self.arrive_next(&command, self.core.device.now, upcoming, each);
            self.after_event();
        }
    }

    /// Schedules the arrival of the next command, once.
    #[inline]
    fn expect_arrival(&mut self, upcoming: &Upcoming<'_>) {
        if let Some(command) = upcoming.after(0)
            && !self.core.is_pending(Timer::Arrivals)
            && !self.is_off_line()
        {
            let at = upcoming.time_of(command).max(self.core.device.now);
            self.core.schedule(Timer::Arrivals, at);
        }
    }

    #[inline]
    fn arrive_next(&mut self, command: &HostCommand, sent: SimTime, upcoming: &mut Upcoming<'_>, each: BeforeEach<'_, P>) {
        each(self, upcoming.arrived);
        upcoming.arrived += 1;
        self.arrive(command, sent);
        self.look_ahead(upcoming);
    }

    /// Hands on every effect that was pushed since the last call, depth first, until none is left.
    #[inline(always)]
    pub(crate) fn hand_on(&mut self) {
        if !self.core.out.is_empty() {
            self.hand_on_all();
        }
    }

    fn hand_on_all(&mut self) {
        while let Some((effect, floor)) = self.core.out.begin_next() {
            self.apply(effect);
            self.core.out.lower(floor);
        }
    }

    /// The next event happens now, at this time.
    #[inline(always)]
    fn event_at(&mut self, time: SimTime) {
        self.core.device.now = time;
        if self.core.device.folds.is_bin_over(time) {
            self.close_bins();
        }
        self.core.device.watch_event();
    }

    /// Handles the event of a resource that is no arrival.
    #[inline(always)]
    pub(super) fn own_event(&mut self, resource: Resource) {
        match resource {
            Resource::Die(die) => self.die_event(die),
            Resource::Timer(Timer::Answers) => self.host.answer_due(&mut self.core),
            Resource::Timer(Timer::Adder) => self.reads.addition_due(&mut self.core),
            Resource::Timer(Timer::Decoder(channel)) => self.decoded(channel as usize),
            Resource::Timer(Timer::OffLine) => self.writer.offline_due(&mut self.core),
            Resource::Timer(Timer::Sums) => self.writer.summing_due(&mut self.core),
            Resource::Timer(Timer::Flush) => {
                let host = self.host_is();
                self.care.flush_due(&mut self.core, host);
            }
            Resource::Timer(Timer::Scrub) => {
                let host = self.host_is();
                self.care.scrub_due(&mut self.core, host);
            }
            Resource::Timer(Timer::Replace) => self.care.expect_replacement(&mut self.core),
            // These have done all they do when their event was taken (`next_event`).
            Resource::Timer(Timer::Age | Timer::Refresh | Timer::Arrivals) => {}
        }
    }

    /// The next command's time has come. While the drive is off line the host waits with it.
    #[inline]
    fn arrival_due(&mut self, upcoming: &mut Upcoming<'_>, each: BeforeEach<'_, P>) {
        self.core.clear(Timer::Arrivals);
        if self.is_off_line() {
            return;
        }
        let command = upcoming.take_next().expect("an arrival was scheduled for it");
        let sent = upcoming.time_of(&command).min(self.core.device.now);
        self.arrive_next(&command, sent, upcoming, each);
    }

    /// Moves up the commands to come, and starts to bring into the cache what they will touch: first the map's entry,
    /// then, one command later, what the entry says of the block, and at last what the page holds. Where two commands are looked
    /// at, the last two steps are one.
    #[inline]
    fn look_ahead(&self, upcoming: &mut Upcoming<'_>) {
        let page = |command: &HostCommand| Lpn(self.host.requests.pages_in(command.lba.0) as u32);
        let wanted = |command: &HostCommand| if command.op == HostOp::Read { Wanted::Read } else { Wanted::Write };
        upcoming.move_up();
        let last = upcoming.most - 1;
        if let Some(command) = upcoming.after(0) {
            self.writer.fetch_contents(&self.core, page(command), wanted(command));
        }
        if let Some(command) = upcoming.after(last - 1) {
            self.writer.fetch_places(&self.core, page(command), wanted(command));
        }
        if let Some(command) = upcoming.after(last) {
            self.writer.fetch_map(&self.core, page(command));
            if self.host.has_payload {
                self.host.oracle.prefetch(page(command));
            }
        }
    }

    /// Work that any event may have made possible. Most events make nothing possible, so the questions are asked in
    /// place, and the work is elsewhere.
    #[inline(always)]
    pub(super) fn after_event(&mut self) {
        let is_used = self.writer.uses_idle_time || self.care.folds_when_idle;
        let fills_idle_time = is_used && self.host.requests.outstanding == 0;
        if self.core.retry
            || fills_idle_time
            || self.power.mounting.is_some()
            || self.core.limits.stirred
            || self.care.refresh.stirred
            || self.care.replacements.is_any_asked()
        {
            self.go_on_with_what_waits();
        }
        if self.core.device.has_kicks() {
            self.kick();
        }
        if self.writer.has_code_zones
            && self.host.requests.outstanding == 0
            && let Some(phase) = self.writer.phase_due(&mut self.core)
        {
            self.begin_offline(phase);
        }
        self.hand_on();
    }

    fn go_on_with_what_waits(&mut self) {
        if std::mem::take(&mut self.core.retry) {
            self.retry_stalled();
        }
        if self.power.mounting.is_some() {
            recovery::mount_on(self);
        }
        if self.writer.uses_idle_time && self.host.requests.outstanding == 0 && self.power.mounting.is_none() {
            self.writer.use_idle_time(&mut self.core);
            self.hand_on();
        }
        if self.care.folds_when_idle && self.host.requests.outstanding == 0 {
            self.fold_when_idle();
        }
        if self.core.limits.stirred {
            self.recycle_due();
        }
        if self.care.refresh.stirred {
            self.refresh_due();
        }
        if self.care.replacements.is_any_asked() {
            self.replacements_due();
        }
    }
}
