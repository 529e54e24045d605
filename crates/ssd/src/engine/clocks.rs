//! Several flows of requests at one drive, each with a clock of its own: a queue that it keeps full, or times.

use crate::core::flash::FlashPayload;
use crate::core::timer::Timer;
use crate::engine::Engine;
use crate::engine::run::{Arrivals, BeforeEach};
use crate::host::flows::HostFlows;
use vocab::{HostCommand, Nanos, SimTime};

/// Most flows of a run.
pub const FLOWS_MAX: usize = 4096;

/// One of several flows of requests.
pub struct HostFlow<'a> {
    /// Its requests, in order. Times count from the start of its stage.
    pub commands: Box<dyn Iterator<Item = HostCommand> + 'a>,
    /// When they come.
    pub clock: FlowClock,
    /// A stage begins when all requests of the stages before are answered.
    pub stage: u32,
}

/// When the requests of a flow come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowClock {
    /// At their own times, whatever the drive does.
    Times,
    /// As soon as fewer than `depth` of the flow are unanswered; times are ignored.
    Queue {
        /// Queue depth.
        depth: u32,
        /// When the first comes, behind the start of the stage.
        delay: Nanos,
        /// No request comes from this time on, counted from the first.
        until: Option<Nanos>,
        /// Pauses between requests.
        think: Option<Think>,
    },
}

/// A flow pauses: behind a number of answers it waits for all that it has asked, and then for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// So long.
    pub pause: Nanos,
    /// Answers.
    pub every: u64,
}

/// A flow that is being played.
struct Playing<'a> {
    flow: HostFlow<'a>,
    /// The request that comes next; `None`: it is over.
    next: Option<HostCommand>,
    /// A queue sends nothing before this.
    from: SimTime,
    /// A queue sends nothing from this on.
    end: SimTime,
    /// Requests answered when it paused last.
    answered: u64,
}

impl Playing<'_> {
    /// Its stage begins.
    fn begin(&mut self, now: SimTime) {
        self.from = now;
        if let FlowClock::Queue { delay, until, .. } = self.flow.clock {
            self.from = now + delay;
            self.end = until.map_or(SimTime(u64::MAX), |until| self.from + until);
        }
    }

    /// When its next request comes, where nothing but time is waited for.
    fn expected(&self, index: usize, now: SimTime, host: &HostFlows) -> Option<SimTime> {
        let command = self.next.as_ref()?;
        match self.flow.clock {
            FlowClock::Times => Some(self.from + Nanos(command.at.0)),
            FlowClock::Queue { depth, .. } => {
                (self.from > now && host.unanswered(index) < depth).then_some(self.from.min(self.end))
            }
        }
    }

    /// True if a queue sends its next request now.
    fn may_send(&mut self, index: usize, now: SimTime, host: &HostFlows) -> bool {
        let FlowClock::Queue { depth, think, .. } = self.flow.clock else { return false };
        if now >= self.end {
            self.next = None;
            return false;
        }
        if let Some(think) = think
            && host.answered(index) >= self.answered + think.every
        {
            if host.unanswered(index) > 0 {
                return false;
            }
            self.answered = host.answered(index);
            self.from = now + think.pause;
        }
        now >= self.from && host.unanswered(index) < depth
    }
}

/// All flows of a run.
struct Clocks<'a> {
    flows: Vec<Playing<'a>>,
    /// The stage that is being played.
    stage: u32,
    /// Requests that have arrived.
    arrived: u64,
    /// True if a time has come since it was last looked what may be sent.
    stirred: bool,
}

impl<'a> Clocks<'a> {
    fn new(flows: Vec<HostFlow<'a>>, now: SimTime) -> Self {
        let playing = |mut flow: HostFlow<'a>| {
            let next = flow.commands.next();
            Playing { flow, next, from: now, end: SimTime(u64::MAX), answered: 0 }
        };
        let mut clocks = Self { flows: flows.into_iter().map(playing).collect(), stage: 0, arrived: 0, stirred: true };
        clocks.begin_stage(now);
        clocks
    }

    fn begin_stage(&mut self, now: SimTime) {
        self.flows.iter_mut().filter(|one| one.flow.stage == self.stage).for_each(|one| one.begin(now));
    }

    /// The flows of this stage, with their index.
    fn open(&mut self) -> impl Iterator<Item = (usize, &mut Playing<'a>)> {
        let stage = self.stage;
        self.flows.iter_mut().enumerate().filter(move |(_, one)| one.flow.stage == stage)
    }

    /// Where all of this stage is answered, the next begins.
    fn go_on(&mut self, now: SimTime, unanswered: u32) {
        while unanswered == 0
            && self.open().all(|(_, one)| one.next.is_none())
            && let Some(next) = self.flows.iter().filter(|one| one.next.is_some()).map(|one| one.flow.stage).min()
        {
            self.stage = next;
            self.begin_stage(now);
        }
    }

    fn send<P: FlashPayload>(&mut self, index: usize, sent: SimTime, engine: &mut Engine<P>, each: BeforeEach<'_, P>) {
        let one = &mut self.flows[index];
        let Some(command) = one.next.take() else { return };
        one.next = one.flow.commands.next();
        each(engine, self.arrived);
        self.arrived += 1;
        engine.host.requests.asking_flow = index as u16;
        engine.arrive(&command, sent);
    }
}

impl<P: FlashPayload> Arrivals<P> for Clocks<'_> {
    fn let_arrive(&mut self, engine: &mut Engine<P>, each: BeforeEach<'_, P>) {
        if engine.is_off_line() {
            return;
        }
        if !(flows_of(engine).take_stirred() | std::mem::take(&mut self.stirred)) {
            return;
        }
        let now = engine.core.device.now;
        // In turn: no flow fills its queue before the others have their first request.
        let mut goes_on = true;
        while std::mem::take(&mut goes_on) {
            self.go_on(now, engine.host.requests.outstanding);
            for index in 0..self.flows.len() {
                let one = &mut self.flows[index];
                if one.flow.stage != self.stage || one.next.is_none() {
                    continue;
                }
                if one.may_send(index, now, flows_of(engine)) {
                    self.send(index, now, engine, each);
                    engine.after_event();
                    goes_on = true;
                } else if one.next.is_none() {
                    // Its time is over: the next stage may begin.
                    goes_on = true;
                }
            }
        }
        let host = flows_of(engine);
        let expected = self.open().filter_map(|(index, one)| one.expected(index, now, host)).min();
        match expected.map(|at| at.max(now)) {
            Some(at) if engine.core.expects(Timer::Arrivals) != Some(at) => engine.core.schedule(Timer::Arrivals, at),
            Some(_) => {}
            None => engine.core.clear(Timer::Arrivals),
        }
    }

    fn due(&mut self, engine: &mut Engine<P>, each: BeforeEach<'_, P>) {
        engine.core.clear(Timer::Arrivals);
        self.stirred = true;
        if engine.is_off_line() {
            return;
        }
        let now = engine.core.device.now;
        let timed = self.open().filter(|(_, one)| one.flow.clock == FlowClock::Times);
        let expected = timed.filter_map(|(index, one)| Some((one.from + Nanos(one.next.as_ref()?.at.0), index)));
        if let Some((at, index)) = expected.filter(|(at, _)| *at <= now).min() {
            self.send(index, at, engine, each);
        }
    }

    fn is_over(&self) -> bool {
        self.flows.iter().all(|one| one.next.is_none())
    }
}

/// Counts of the flows that are under way.
fn flows_of<P: FlashPayload>(engine: &mut Engine<P>) -> &mut HostFlows {
    engine.host.requests.flows.as_mut().expect("a run of several flows")
}

impl<P: FlashPayload> Engine<P> {
    /// Replays several flows to the end and waits for the last answer. `each` is called before a request arrives; `step` looks at the
    /// drive before every event, and stops the run there with false.
    pub(crate) fn replay_flows(
        &mut self,
        flows: Vec<HostFlow<'_>>,
        each: BeforeEach<'_, P>,
        step: impl FnMut(&mut Self) -> bool,
    ) {
        self.host.requests.flows = Some(HostFlows::new(flows.len()));
        self.replay_from(Clocks::new(flows, self.core.device.now), each, step);
        self.host.requests.flows = None;
    }
}
