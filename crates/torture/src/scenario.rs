//! Scenarios: everything that is done to a drive, as plain data.

use crate::FaultKind;
use crate::lived::Lived;
use ssd::{Begun, Fate, FlowClock, Outage, Pace, Setup};
use vocab::{DieId, HostCommand, Streams};

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
    /// Whether the host asks for nothing that the drive does not have.
    pub(super) fn is_within_bounds(&self) -> bool {
        let sectors = u64::from(self.setup.user_slots) * u64::from(self.setup.drive.geometry.sectors_per_slot());
        let fits = |command: &HostCommand| command.lba.0 + u64::from(command.sectors) <= sectors;
        self.rounds.iter().flat_map(|round| &round.commands).all(fits)
    }
}
