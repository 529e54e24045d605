//! Scenarios: everything that is done to a drive, as plain data.

use crate::drive::{Plan, SCENARIOS_OF_A_DRIVE, pick, ready};
use crate::focus::PARTIAL_AT_MOST;
use crate::{Draws, FaultKind, Lived, Scope, flows, lived, replaced, together};
use ssd::{Begun, Fate, FlowClock, MemoryLoss, Outage, Pace, Session, Setup};
use vocab::{DieId, Fua, HostCommand, HostOp, Lba, SimTime, Stream, StreamId, Streams};

/// Of this many scenarios flash is taken apart in one: it costs a good part of a scenario.
const TAKEN_APART: u64 = 8;

/// Life of one drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The drive and its history.
    pub setup: Setup,
    /// The life of the drive before the first round. `None`: it begins as it was built.
    pub lived: Option<Lived>,
    /// How requests arrive, or those of the first flow.
    pub pace: Pace,
    /// The clock of a second flow of requests, which has those of stream 1. `None`: all are of one flow.
    pub second: Option<FlowClock>,
    /// Rounds, one after the other; everything is read back at the end of each.
    pub rounds: Vec<Round>,
    /// Whether pages may be reported lost.
    pub may_lose: bool,
    /// Whether flash is taken apart at the end of each round.
    pub apart: bool,
}

/// Requests, and what happens in the meantime.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Commands of the host.
    pub commands: Vec<HostCommand>,
    /// Events, in order.
    pub stops: Vec<Stop>,
}

/// Something happens between two events.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Events after the stop before, or after the begin of the round.
    pub after: u64,
    /// What.
    pub strike: Strike,
}

/// Kind of event.
#[derive(Clone, Debug, PartialEq)]
pub enum Strike {
    /// The power goes, and the drive is mounted.
    Cut(Fates, Outage),
    /// Flash is lost; `draw` says which part of the kind.
    Loss {
        /// A die, a block or a page.
        kind: FaultKind,
        /// Which.
        draw: u64,
        /// When.
        when: When,
    },
    /// A spare die takes the place of the die that died first.
    Replace,
}

/// Condition of a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Nothing.
    AtOnce,
    /// The end of the recovery from the last cut, which may have used up redundancy.
    #[default]
    Recovered,
    /// All that was lost is rebuilt, and every page has redundancy. If that does not come, nothing is lost.
    Whole,
}

/// Fates of the commands that a cut interrupts.
#[derive(Clone, Debug, PartialEq)]
pub enum Fates {
    /// Drawn from a stream of this seed.
    Drawn(u64),
    /// As listed by die; of dies that are not listed, the commands end.
    Given(Vec<(DieId, Fate)>),
}

impl Fates {
    /// A fate for each command.
    #[must_use]
    pub fn of(&self, begun: &[Begun]) -> Vec<Fate> {
        match self {
            Fates::Drawn(seed) => {
                let mut draws = Streams::new(*seed).stream("torture/fates");
                begun.iter().map(|begun| begun.draw(&mut draws)).collect()
            }
            Fates::Given(given) => begun.iter().map(|&begun| of_given(given, begun)).collect(),
        }
    }
}

/// The die that executes the command.
pub(super) fn die_of(begun: Begun) -> DieId {
    match begun {
        Begun::Program { die, .. } | Begun::Erase { die } => die,
    }
}

fn of_given(given: &[(DieId, Fate)], begun: Begun) -> Fate {
    let wanted = given.iter().find(|(die, _)| *die == die_of(begun)).map(|(_, fate)| *fate);
    let draw = match wanted {
        Some(Fate::Erase(ssd::nand::EraseFate::Mixed { draw })) => draw,
        _ => 0,
    };
    let fates = begun.fates(draw);
    let ended = *fates.last().expect("there is a fate");
    let ended = fates.iter().copied().find(|fate| is_ended(*fate)).unwrap_or(ended);
    wanted.filter(|wanted| fates.contains(wanted)).unwrap_or(ended)
}

pub(super) fn is_ended(fate: Fate) -> bool {
    use ssd::nand::{EraseFate, ProgramFate};
    matches!(fate, Fate::Program(ProgramFate::Ended) | Fate::Erase(EraseFate::Ended))
}

pub(super) fn is_not_begun(fate: Fate) -> bool {
    use ssd::nand::{EraseFate, ProgramFate};
    matches!(fate, Fate::Program(ProgramFate::NotBegun) | Fate::Erase(EraseFate::NotBegun))
}

impl Scenario {
    /// Scenario `number` of a scope: it depends on nothing else.
    #[must_use]
    pub fn draw(scope: &Scope, number: u64) -> Self {
        Self::with_drive(scope, number).0
    }

    /// The same, with the drive that it starts from.
    pub(super) fn with_drive(scope: &Scope, number: u64) -> (Self, Session) {
        let ready = ready(scope, number / SCENARIOS_OF_A_DRIVE);
        (Self::on(scope, number, &ready.setup, &ready.plan), ready.session)
    }

    /// Whether the host asks for nothing that the drive does not have.
    pub(super) fn is_within_bounds(&self) -> bool {
        let sectors = u64::from(self.setup.user_slots) * u64::from(self.setup.drive.geometry.sectors_per_slot());
        let fits = |command: &HostCommand| command.lba.0 + u64::from(command.sectors) <= sectors;
        self.rounds.iter().flat_map(|round| &round.commands).all(fits)
    }

    pub(super) fn on(scope: &Scope, number: u64, setup: &Setup, plan: &Plan) -> Self {
        let mut draws = Streams::new(scope.seed).stream_of("torture/scenario", number);
        let depth = *pick(&[1, 2, 4, 8], &mut draws);
        let pace = if draws.chance(0.3) { Pace::Open } else { Pace::Closed { depth } };
        let mut left = plan.at_most;
        let rounds = *pick(&[1, 1, 1, 2, 2, 3], &mut draws);
        // Two of the scenarios of a drive.
        let apart = number.is_multiple_of(TAKEN_APART);
        let (setup_of, may_lose) = (setup.clone(), plan.may_lose);
        let scenario = |rounds| Self { setup: setup_of, lived: None, pace, second: None, rounds, may_lose, apart };
        match scope.draws {
            Draws::Together | Draws::Wide | Draws::Gathered | Draws::Ladder | Draws::Slc => {
                together::judged(scenario(together::rounds(setup, plan, rounds, &mut draws)))
            }
            Draws::Flows => {
                let together = together::judged(scenario(together::rounds(setup, plan, rounds, &mut draws)));
                flows::split(together, &mut draws)
            }
            Draws::Replaced => {
                let together = scenario(together::rounds(setup, plan, rounds, &mut draws));
                together::judged(replaced::in_between(together, scope, number))
            }
            Draws::Lived => {
                let together = scenario(together::rounds(setup, plan, rounds, &mut draws));
                together::judged(lived::before(together, scope, number))
            }
            Draws::Apart => scenario((0..rounds).map(|_| round(setup, plan, &mut left, &mut draws)).collect()),
        }
    }
}

fn round(setup: &Setup, plan: &Plan, left: &mut u32, draws: &mut Stream) -> Round {
    let count = 10 + draws.below(40);
    let per = setup.drive.geometry.sectors_per_slot();
    let commands = workload(setup.user_slots, per, count, PARTIAL_AT_MOST, draws);
    let events = 6 * count;
    let mut stops = Vec::new();
    if *left > 0 && draws.chance(0.6) {
        *left -= 1;
        let strike = Strike::Loss { kind: *pick(&plan.losses, draws), draw: draws.bits(), when: When::Recovered };
        stops.push(Stop { after: draws.below(events), strike });
    }
    if plan.cuts && draws.chance(0.8) {
        stops.push(Stop { after: draws.below(events), strike: cut(plan, draws) });
        while draws.chance(0.35) {
            stops.push(Stop { after: draws.below(40), strike: cut(plan, draws) });
        }
    }
    // Losses come before, between and after cuts.
    if stops.len() > 1 && draws.chance(0.5) {
        stops.swap(0, 1);
    }
    Round { commands, stops }
}

pub(super) fn cut(plan: &Plan, draws: &mut Stream) -> Strike {
    let fates = Fates::Drawn(draws.bits());
    let mut outage = Outage::default();
    if plan.memory && draws.chance(0.7) {
        // Any of the four, or more than one; now and then all.
        let gone = if draws.chance(0.2) { 15 } else { 1 + draws.below(15) };
        let is = |bit: u64| gone >> bit & 1 == 1;
        outage.memory = MemoryLoss { buffer: is(0), sums: is(1), reads: is(2), checkpoint: is(3) };
    }
    if plan.clock && draws.chance(0.7) {
        // A millisecond, a second, a day, a year.
        let far = *pick(&[1_000_000, 1_000_000_000, 86_400_000_000_000, 31_557_600_000_000_000i64], draws);
        outage.clock_jump = if draws.chance(0.5) { far } else { -far };
    }
    Strike::Cut(fates, outage)
}

/// Random requests; a tenth of the pages take half of them. Each page has this many sectors, and a share of the requests are of parts
/// of pages.
pub(super) fn workload(
    pages: u32,
    sectors_per_page: u32,
    count: u64,
    partial_at_most: f64,
    draws: &mut Stream,
) -> Vec<HostCommand> {
    let (reads, discards, partial) = (0.3 * draws.unit(), 0.08 * draws.unit(), partial_at_most * draws.unit());
    let (most, every) = (1 + draws.below(6), *pick(&[20_000, 100_000, 500_000], draws));
    let per = u64::from(sectors_per_page);
    let mut at = 0;
    let mut next = |_| {
        at += draws.below(2 * every + 1);
        let kind = draws.unit();
        let op = match kind {
            k if k < reads => HostOp::Read,
            k if k < reads + discards => HostOp::Discard,
            k if k < reads + discards + 0.06 => HostOp::Flush,
            _ => HostOp::Write(if draws.chance(0.15) { Fua::Yes } else { Fua::No }),
        };
        if op == HostOp::Flush {
            return HostCommand { at: SimTime(at), op, lba: Lba(0), sectors: 0, stream: StreamId::default() };
        }
        let hot = if draws.chance(0.5) { (pages / 10).max(1) } else { pages };
        let length = 1 + draws.below(most.min(u64::from(pages)));
        let first = draws.below(u64::from(hot)).min(u64::from(pages) - length);
        let (mut lba, mut sectors) = (first * per, length * per);
        if draws.chance(partial) {
            let cut = draws.below(per).min(sectors - 1);
            (lba, sectors) = (lba + cut, sectors - cut);
            sectors -= draws.below(per).min(sectors - 1);
        }
        HostCommand { at: SimTime(at), op, lba: Lba(lba), sectors: sectors as u32, stream: StreamId::default() }
    };
    (0..count).map(&mut next).collect()
}
