//! Plans of drives: the faults that their scenarios may have, and places where defects were found. Each of these has a share of the
//! drives, on which what led to the defect comes together far more often than by chance.

use crate::shape::pick;
use crate::{FaultKind, Scope};
use ssd::protect::SchemeChoice;
use ssd::protect::registry::SchemeEntry;
use ssd::{PayloadKind, Setup};
use vocab::Stream;

/// Faults that the scenarios of a drive may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Whether the power goes.
    pub cuts: bool,
    /// Kinds of losses.
    pub losses: Vec<FaultKind>,
    /// Losses at most, at a time.
    pub at_most: u32,
    /// Further losses, each when the drive has got over those before.
    pub renewals: u32,
    /// Whether losses do not wait until a drive has recovered.
    pub hasty: bool,
    /// Whether cuts take PLP memory.
    pub memory: bool,
    /// Whether the clock jumps at cuts.
    pub clock: bool,
    /// Whether the flash gives wrong data and reports success.
    pub silent: bool,
    /// Whether blocks wear out, where faults are drawn together.
    pub wear_out: bool,
    /// Whether reads fail, where faults are drawn together.
    pub uncorrectable: bool,
    /// Whether pages may be reported lost; none may ever be read wrong.
    pub may_lose: bool,
    /// Focus of the drive.
    pub focus: Focus,
}

impl Plan {
    /// Whether the drive is to find room for what it loses.
    pub fn loses_room(&self) -> bool {
        self.at_most + self.renewals > 0 || self.wear_out && self.cuts
    }
}

/// Focus of a drive: the fault or the feature for which it is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Focus {
    /// For nothing more than others.
    #[default]
    None,
    /// Stripes narrower than the drive, a drive as full as it may be, all bytes in its pages and many partial writes.
    NarrowBytes,
    /// Planes of one die after the other, also while the host asks for nothing.
    PlanesInTurn,
    /// Cuts that strike again soon, on a full drive that often has bad blocks and one write pointer for host and collector.
    SecondCut,
}

/// Of this many drives each focus gets one, where it suits.
const SHARE: u64 = 8;

impl Focus {
    /// Draws the focus of a drive of this scheme.
    pub fn draw(scope: &Scope, entry: &SchemeEntry, draws: &mut Stream) -> Self {
        let has_narrow_stripes = entry.options.iter().any(|(name, ..)| *name == "data_strips");
        match draws.below(SHARE) {
            0 if has_narrow_stripes => Self::NarrowBytes,
            1 if scope.faults.contains(&FaultKind::Plane) => Self::PlanesInTurn,
            2 if scope.faults.contains(&FaultKind::Cut) => Self::SecondCut,
            _ => Self::None,
        }
    }

    /// The scheme as it is drawn for this, on this many dies.
    pub fn scheme(self, mut choice: SchemeChoice, dies: u32, draws: &mut Stream) -> SchemeChoice {
        if self == Self::NarrowBytes {
            // Two dies are left at least where there are as many: one for parity, one beside the stripe.
            let strips = 1 + draws.below(u64::from(dies.saturating_sub(2).max(1))) as u32;
            choice.options.insert("data_strips".into(), strips.to_string());
        }
        choice
    }

    /// The kinds of faults, where they are others than those that were drawn.
    pub fn kinds(self, mut drawn: Vec<FaultKind>, draws: &mut Stream) -> Vec<FaultKind> {
        match self {
            Self::PlanesInTurn => {
                drawn.retain(|kind| !FaultKind::LOSSES.contains(kind) && *kind != FaultKind::Cut);
                drawn.truncate(usize::from(draws.chance(0.3)));
                drawn.push(FaultKind::Plane);
                drawn.extend(draws.chance(0.6).then_some(FaultKind::Cut));
            }
            Self::SecondCut if !drawn.contains(&FaultKind::Cut) => drawn.push(FaultKind::Cut),
            Self::None | Self::NarrowBytes | Self::SecondCut => {}
        }
        drawn
    }

    /// The drive as it is drawn for this, which holds `most` logical pages.
    pub fn setup(self, setup: &mut Setup, most: u32, plan: &Plan, draws: &mut Stream) {
        let share = match self {
            Self::NarrowBytes | Self::SecondCut if !plan.loses_room() => *pick(&[0.8, 0.9, 1.0], draws),
            _ => return self.setup_with_room(setup, draws),
        };
        setup.user_slots = (f64::from(most) * share) as u32;
        self.setup_with_room(setup, draws);
    }

    fn setup_with_room(self, setup: &mut Setup, draws: &mut Stream) {
        match self {
            Self::NarrowBytes => (setup.payload, setup.precondition.fill) = (PayloadKind::Page, 1.0),
            Self::SecondCut => {
                setup.gc.separate_write_pointer &= draws.chance(0.3) || setup.drive.geometry.slots_per_page() > 1;
                setup.age.bad_blocks = if draws.chance(0.4) { 0.04 } else { 0.0 };
            }
            Self::None | Self::PlanesInTurn => {}
        }
    }

    /// Requests of a round, where these were drawn.
    pub fn requests(self, drawn: u64, draws: &mut Stream) -> u64 {
        if self == Self::PlanesInTurn && draws.chance(0.3) { 0 } else { drawn }
    }

    /// Share of requests that are of parts of pages, at most.
    pub fn partial_at_most(self) -> f64 {
        if self == Self::NarrowBytes { 0.8 } else { PARTIAL_AT_MOST }
    }

    /// How likely one more cut follows a cut.
    pub fn cuts_again(self) -> f64 {
        if self == Self::SecondCut { 0.7 } else { 0.35 }
    }
}

/// Share of requests that are of parts of pages, at most, where nothing else is asked for.
pub(super) const PARTIAL_AT_MOST: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SCENARIOS_OF_A_DRIVE, Scenario, Strike};

    /// Catches a place that loses its share, whatever the draws become.
    #[test]
    fn every_place_where_a_defect_was_found_has_its_share() {
        for draws in ["together", "gathered"] {
            let schemes = ["raid5", "ppc", "da-raid5", "ds-raid"].map(String::from);
            let scope = Scope::drawn(draws, 1, &schemes, &[], false).unwrap_or_else(|problem| panic!("{problem}"));
            let scenarios: Vec<Scenario> = (0..320).map(|drive| Scenario::draw(&scope, drive * SCENARIOS_OF_A_DRIVE)).collect();
            let count = |is: &dyn Fn(&Scenario) -> bool| scenarios.iter().filter(|scenario| is(scenario)).count();
            let is_partial = |scenario: &Scenario| {
                let all: Vec<_> = scenario.rounds.iter().flat_map(|round| &round.commands).collect();
                let partial = all.iter().filter(|of| of.sectors % scenario.setup.drive.geometry.sectors_per_slot() > 0).count();
                5 * partial > all.len()
            };
            let strips =
                |scenario: &Scenario| scenario.setup.scheme.options.get("data_strips").and_then(|strips| strips.parse().ok());
            let narrow_bytes = count(&|scenario| {
                let is_narrow = strips(scenario).is_some_and(|strips: u32| strips + 1 < scenario.setup.drive.geometry.dies());
                is_narrow && scenario.setup.payload == PayloadKind::Page && is_partial(scenario)
            });
            let stops = |scenario: &Scenario| -> Vec<Strike> {
                scenario.rounds.iter().flat_map(|round| &round.stops).map(|stop| stop.strike.clone()).collect()
            };
            let is_plane = |strike: &Strike| matches!(strike, Strike::Loss { kind: FaultKind::Plane, .. });
            let planes = count(&|scenario| stops(scenario).iter().filter(|strike| is_plane(strike)).count() > 1);
            let cuts_in_turn = count(&|scenario| {
                let in_turn = |pair: &[Strike]| pair.iter().all(|strike| matches!(strike, Strike::Cut(..)));
                !scenario.setup.gc.separate_write_pointer && stops(scenario).windows(2).any(in_turn)
            });
            // Without shares there are 0, 14 and 34 of the 320 drives, and 1, 11 and 33 of those that gather pages.
            assert!(narrow_bytes > 8 && planes > 20 && cuts_in_turn > 38, "{draws}: {narrow_bytes}, {planes}, {cuts_in_turn}");
        }
    }
}
