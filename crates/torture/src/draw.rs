//! Drawing scenarios: each from the seed of its scope and its number, on the drive of that number.

use crate::drive::{SCENARIOS_OF_A_DRIVE, ready};
use crate::plan::{PARTIAL_AT_MOST, Plan};
use crate::scenario::{Round, Scenario, Stop, Strike, When};
use crate::shape::pick;
use crate::together::cut;
use crate::workload::workload;
use crate::{Draws, Scope, flows, lived, replaced, together};
use ssd::{Pace, Session, Setup};
use vocab::{Stream, Streams};

/// Of this many scenarios flash is taken apart in one: it costs a good part of a scenario.
const TAKEN_APART: u64 = 8;

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
                together::judged(Scenario { lived: lived::before(setup, scope, number), ..together })
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
