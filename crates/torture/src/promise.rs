//! Promises of a drive under all its faults together.

use crate::scenario::{Scenario, Strike, When};
use crate::{Lived, ladder};
use ssd::nand::Pairing;
use ssd::protect::registry;

/// Promise on acknowledged data. Whatever is promised: no page is ever read wrong or as if it had never been written,
/// no invariant breaks, every parity is the sum of its strips, and the drive ends its background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Every page can be read.
    NothingLost,
    /// Pages may answer with media errors.
    MediaErrorsOnly,
}

/// Parts of the flash that a drive loses permanently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Losses {
    /// None.
    #[default]
    None,
    /// At any time as many as the scheme survives, each when the drive has recovered from the last cut.
    InTime,
    /// More at a time, or while a drive recovers.
    Untimely,
}

/// Faults of a drive, as far as its promise depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Befalls {
    /// The power goes.
    pub cuts: bool,
    /// A cut takes PLP memory.
    pub memory: bool,
    /// Parts are lost.
    pub losses: Losses,
    /// Blocks wear out.
    pub wear_out: bool,
    /// Reads fail or are wrong at random, or programs do not happen.
    pub random: bool,
    /// An interrupted program takes earlier pages along.
    pub takes_partners: bool,
}

/// Promise of a scheme that survives this many losses.
#[must_use]
pub fn promise(survives: u32, befalls: &Befalls) -> Promise {
    let Befalls { cuts, memory, losses, wear_out, random, takes_partners } = *befalls;
    let lossy = losses != Losses::None;
    let is_beyond = match losses {
        Losses::None => false,
        Losses::InTime => survives == 0,
        Losses::Untimely => true,
    };
    // Each of these is more than one codeword may lack at a time.
    let many_at_a_time = [
        random,
        is_beyond,
        cuts && takes_partners,
        // A lost page that only a partial parity gives is lost when the cut takes that parity.
        memory && lossy,
        // Programs fail side by side, and the power takes what the controller still had of them.
        wear_out && (cuts || lossy),
    ];
    if many_at_a_time.contains(&true) { Promise::MediaErrorsOnly } else { Promise::NothingLost }
}

impl Scenario {
    /// Worst faults of the drive.
    #[must_use]
    pub fn befalls(&self) -> Befalls {
        let (faults, power) = (&self.setup.faults, &self.setup.power);
        let mut befalls = Befalls {
            wear_out: faults.wear_out > 0.0 || self.lived.as_ref().is_some_and(Lived::wears_out),
            random: faults.uncorrectable_reads > 0.0 || faults.silent > 0.0 || ladder::is_beyond(&self.setup),
            takes_partners: power.pairing != Pairing::Alone && !power.hold_up,
            ..Befalls::default()
        };
        let mut at_a_time = 0;
        for stop in self.rounds.iter().flat_map(|round| &round.stops) {
            match &stop.strike {
                Strike::Cut(_, outage) => {
                    befalls.cuts = true;
                    befalls.memory |= outage.memory.any();
                }
                Strike::Loss { when, .. } => {
                    let untimely = *when == When::AtOnce || befalls.losses == Losses::Untimely;
                    befalls.losses = if untimely { Losses::Untimely } else { Losses::InTime };
                    at_a_time += u32::from(*when != When::Whole);
                }
                // Lost parts stay lost until they are rebuilt, on a new die or elsewhere.
                Strike::Replace => {}
            }
        }
        // A drive that promises nothing loses what it loses.
        if at_a_time > self.survives() {
            befalls.losses = Losses::Untimely;
        }
        befalls
    }

    /// Promise of the drive.
    #[must_use]
    pub fn promise(&self) -> Promise {
        // A drive on its way to parity survives a loss when that comes: it waits until the drive is whole.
        let waits = |stop: &crate::Stop| matches!(stop.strike, Strike::Loss { when: When::Whole, .. });
        let some_wait = self.rounds.iter().flat_map(|round| &round.stops).any(waits);
        promise(self.survives().max(u32::from(some_wait)), &self.befalls())
    }

    fn survives(&self) -> u32 {
        let built = registry::build(&self.setup.scheme, ssd::shape(&self.setup.drive));
        built.map_or(0, |protection| protection.survives_dies())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_promised_depends_on_all_that_comes_together() {
        let cuts = Befalls { cuts: true, ..Befalls::default() };
        let memory = Befalls { memory: true, ..cuts };
        let losses = |losses| Befalls { losses, ..cuts };
        let kept = [(0, cuts), (0, memory), (1, losses(Losses::InTime)), (0, Befalls { wear_out: true, ..Befalls::default() })];
        for (survives, befalls) in kept {
            assert_eq!(promise(survives, &befalls), Promise::NothingLost, "{befalls:?}");
        }
        let beyond = [
            (0, losses(Losses::InTime)),
            (2, losses(Losses::Untimely)),
            (1, Befalls { memory: true, ..losses(Losses::InTime) }),
            (1, Befalls { wear_out: true, ..cuts }),
            (1, Befalls { random: true, ..Befalls::default() }),
            (1, Befalls { takes_partners: true, ..cuts }),
        ];
        for (survives, befalls) in beyond {
            assert_eq!(promise(survives, &befalls), Promise::MediaErrorsOnly, "{befalls:?}");
        }
    }
}
