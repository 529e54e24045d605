//! Dies that die and are replaced, under schemes with parity: the scenarios of [`Draws::Together`](crate::Draws::Together), in
//! most of which the first loss is a die, with spare dies in between. What these add is drawn from a stream of its own.

use crate::scenario::{Round, Scenario, Stop, Strike, When};
use crate::{FaultKind, Scope};
use common::Problem;
use vocab::{Stream, Streams};

/// The schemes that take spare dies.
pub(super) fn schemes() -> Vec<String> {
    ["raid5", "ppc", "da-raid5", "ds-raid", "mds-groups"].map(String::from).into()
}

/// Refuses schemes that take no spare dies.
pub(super) fn check(scope: &Scope) -> Result<(), Problem> {
    let known = schemes();
    match scope.scheme_names().into_iter().find(|name| !known.iter().any(|known| known == name)) {
        None => Ok(()),
        Some(name) => Err(Problem::new(
            "--scheme",
            format!("found `{name}`, which rebuilds nothing; of --draws replaced valid are {}", known.join(", ")),
        )),
    }
}

/// The scenario, with dies that are replaced, unless no dies are to die.
pub(super) fn in_between(mut scenario: Scenario, scope: &Scope, number: u64) -> Scenario {
    let mut draws = Streams::new(scope.seed).stream_of("torture/replaced", number);
    if !scope.faults.contains(&FaultKind::Die) {
        return scenario;
    }
    let has_die = a_die_dies(&mut scenario, &mut draws);
    let (mut is_dead, mut has_died) = (false, false);
    for round in &mut scenario.rounds {
        let events = 4 * round.commands.len() as u64 + 1;
        let mut at = 0;
        while at <= round.stops.len() {
            is_dead |= at > 0 && matches!(round.stops[at - 1].strike, Strike::Loss { kind: FaultKind::Die, .. });
            if is_dead && draws.chance(0.6) {
                let after = if draws.chance(0.5) { draws.below(40) } else { draws.below(events) };
                round.stops.insert(at, Stop { after, strike: Strike::Replace });
                is_dead = false;
                at += 1;
            }
            at += 1;
        }
        // Not before the loss that waits for nothing: with that it would be one too many.
        has_died |= has_die && round.stops.iter().any(|stop| matches!(stop.strike, Strike::Loss { .. }));
        if has_died && draws.chance(0.5) {
            again(&mut round.stops, events, &mut draws);
        }
    }
    scenario
}

/// The first loss is that of a die, mostly. Where nothing is to be lost, a die dies once every page has redundancy. True if one dies.
fn a_die_dies(scenario: &mut Scenario, draws: &mut Stream) -> bool {
    let mut strikes = scenario.rounds.iter_mut().flat_map(|round| &mut round.stops).map(|stop| &mut stop.strike);
    if let Some(Strike::Loss { kind, .. }) = strikes.find(|strike| matches!(strike, Strike::Loss { .. })) {
        if draws.chance(0.9) {
            *kind = FaultKind::Die;
        }
        return *kind == FaultKind::Die;
    }
    let is = draws.chance(0.8);
    if is {
        let Round { commands, stops } = &mut scenario.rounds[0];
        let strike = Strike::Loss { kind: FaultKind::Die, draw: draws.bits(), when: When::Whole };
        let at = draws.below(stops.len() as u64 + 1) as usize;
        stops.insert(at, Stop { after: draws.below(4 * commands.len() as u64 + 1), strike });
    }
    is
}

/// Once all is rebuilt another die dies, and is replaced, too.
fn again(stops: &mut Vec<Stop>, events: u64, draws: &mut Stream) {
    let strike = Strike::Loss { kind: FaultKind::Die, draw: draws.bits(), when: When::Whole };
    stops.push(Stop { after: draws.below(events), strike });
    if draws.chance(0.7) {
        stops.push(Stop { after: draws.below(events), strike: Strike::Replace });
    }
}
