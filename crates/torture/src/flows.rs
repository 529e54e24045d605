//! Two flows of requests at one drive, each with a clock of its own (`docs/flows.md`): which requests are of the second, and what of a
//! round is still to come.

use crate::scenario::{Round, Scenario};
use crate::shape::pick;
use ssd::{FlowClock, HostFlow, Pace, Session, Think};
use vocab::{HostCommand, Nanos, Stream, StreamId};

/// Of this many scenarios one is left with a single flow.
const SINGLE: u64 = 5;

/// The second flow has the requests of this stream.
const SECOND: StreamId = StreamId(1);

/// The same requests in the same order, some of them in a second flow.
pub(super) fn split(mut scenario: Scenario, draws: &mut Stream) -> Scenario {
    if draws.below(SINGLE) == 0 {
        return scenario;
    }
    scenario.second = Some(clock(draws));
    let share = 0.1 + 0.8 * draws.unit();
    for command in scenario.rounds.iter_mut().flat_map(|round| &mut round.commands) {
        if draws.chance(share) {
            command.stream = SECOND;
        }
    }
    scenario
}

fn clock(draws: &mut Stream) -> FlowClock {
    if draws.chance(0.3) {
        return FlowClock::Times;
    }
    let depth = *pick(&[1, 2, 4, 8], draws);
    let delay = if draws.chance(0.3) { Nanos(draws.below(2_000_000)) } else { Nanos(0) };
    let pauses = draws.chance(0.3);
    let think = pauses.then(|| Think { pause: Nanos(draws.below(1_000_000)), every: 1 + draws.below(4) });
    FlowClock::Queue { depth, delay, until: None, think }
}

/// Whether the request is of the scenario's second flow.
pub(super) fn is_of_second(scenario: &Scenario, command: &HostCommand) -> bool {
    scenario.second.is_some() && command.stream == SECOND
}

/// Requests in their order.
type Requests<'a> = Box<dyn Iterator<Item = HostCommand> + 'a>;

/// Requests of a round that have not come yet.
pub(super) enum Coming<'a> {
    /// All by one clock.
    One(Pace, Requests<'a>),
    /// Of two flows.
    Two([(FlowClock, Requests<'a>); 2]),
}

impl<'a> Coming<'a> {
    /// All of the round.
    pub fn of(scenario: &'a Scenario, round: &'a Round) -> Self {
        let commands = round.commands.iter().copied();
        let Some(second) = scenario.second else { return Self::One(scenario.pace, Box::new(commands)) };
        let first = match scenario.pace {
            Pace::Open => FlowClock::Times,
            Pace::Closed { depth } => FlowClock::Queue { depth, delay: Nanos(0), until: None, think: None },
        };
        let of = |is_second: bool| -> Requests<'a> {
            Box::new(commands.clone().filter(move |command| is_of_second(scenario, command) == is_second))
        };
        Self::Two([(first, of(false)), (second, of(true))])
    }

    /// Lets them come until the drive is at rest, or `go_on` stops it before an event; the pages that were read and compared.
    pub fn advance(&mut self, session: &mut Session, go_on: &mut dyn FnMut(u64) -> bool) -> u64 {
        match self {
            Self::One(pace, commands) => session.advance(commands, *pace, go_on),
            Self::Two(flows) => {
                let each =
                    flows.iter_mut().map(|(clock, commands)| HostFlow { commands: Box::new(commands), clock: *clock, stage: 0 });
                session.advance_flows(each.collect(), go_on)
            }
        }
    }
}
