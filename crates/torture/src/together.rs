//! Faults of any kinds on one drive: most get one or two kinds, some all.

use crate::plan::{Focus, Plan};
use crate::promise::Promise;
use crate::scenario::{Fates, Round, Scenario, Stop, Strike, When};
use crate::shape::pick;
use crate::workload::workload;
use crate::{FaultKind, Scope};
use ssd::nand::Pairing;
use ssd::protect::{Protection, SchemeChoice};
use ssd::{Faults, MemoryLoss, Outage, Power, Setup};
use vocab::Stream;

/// Losses of a drive beyond its budget, each when those before are rebuilt.
const RENEWALS: u32 = 3;

/// Faults that the drive may have.
pub(super) fn plan(scope: &Scope, choice: &SchemeChoice, protection: &Protection, focus: Focus, draws: &mut Stream) -> Plan {
    let kinds = focus.kinds(kinds(&scope.faults, draws), draws);
    let has = |kind| kinds.contains(&kind);
    let losses: Vec<FaultKind> = FaultKind::LOSSES.iter().copied().filter(|&kind| has(kind)).collect();
    let (memory, clock) = (has(FaultKind::Memory), has(FaultKind::Clock));
    let beyond = scope.beyond_promise && draws.chance(0.5);
    let survives = protection.survives_dies();
    let on_its_way = is_on_its_way(choice) && draws.chance(0.8);
    let budget = if beyond { survives + 1 + draws.below(2) as u32 } else { survives.max(1) };
    Plan {
        // Memory and clock matter to mounts alone: who asks for them asks for cuts.
        cuts: has(FaultKind::Cut) || memory || clock,
        at_most: if on_its_way || losses.is_empty() { 0 } else { budget },
        renewals: if losses.is_empty() || survives == 0 && !on_its_way { 0 } else { RENEWALS },
        hasty: draws.chance(0.2),
        losses,
        memory,
        clock,
        silent: has(FaultKind::Silent),
        wear_out: has(FaultKind::WearOut),
        uncorrectable: has(FaultKind::Uncorrectable),
        may_lose: beyond,
        focus,
    }
}

/// One or two kinds mostly, now and then all; power cuts more often than others, because all that follows a mount
/// can go wrong with each of them.
fn kinds(of: &[FaultKind], draws: &mut Stream) -> Vec<FaultKind> {
    let many = match draws.below(20) {
        0..8 => 1,
        8..15 => 2,
        15..18 => 3,
        18 => 1 + draws.below(of.len() as u64) as usize,
        _ => of.len(),
    };
    let (mut left, mut drawn) = (of.to_vec(), Vec::new());
    let cut = left.iter().position(|&kind| kind == FaultKind::Cut);
    if let Some(cut) = cut.filter(|_| draws.chance(0.6)) {
        drawn.push(left.remove(cut));
    }
    while drawn.len() < many && !left.is_empty() {
        drawn.push(left.remove(draws.below(left.len() as u64) as usize));
    }
    drawn
}

/// Whether the scheme starts without parity and comes to have it while blocks wear.
fn is_on_its_way(choice: &SchemeChoice) -> bool {
    choice.options.contains_key("l")
}

/// DA-RAID-5 goes from stage to stage within a scenario: its first blocks count as worn after a few erases.
pub(super) fn in_stages(mut choice: SchemeChoice, draws: &mut Stream) -> SchemeChoice {
    if choice.name.starts_with("da-raid5") && !choice.options.contains_key("stage") && draws.chance(0.8) {
        choice.options.insert("t_p".into(), draws.below(4).to_string());
        choice.options.insert("l".into(), pick(&["0", "2", "6", "20"], draws).to_string());
    }
    choice
}

/// Faults that strike at random.
pub(super) fn faults(plan: &Plan, draws: &mut Stream) -> Faults {
    let mut faults = Faults::default();
    if plan.uncorrectable {
        faults.uncorrectable_reads = 1e-3;
    }
    if plan.wear_out {
        faults.wear_out = *pick(&[3e-5, 1e-4, 3e-4, 1e-3], draws);
    }
    if plan.silent {
        faults.silent = *pick(&[1e-3, 1e-2], draws);
    }
    faults
}

/// Some drives whose pages share cells have no energy to end programs, and a word line to be lost has more than a page.
pub(super) fn power(plan: &Plan, mut power: Power, draws: &mut Stream) -> Power {
    if plan.losses.contains(&FaultKind::WordLine) && power.pairing == Pairing::Alone && draws.chance(0.7) {
        power.pairing = *pick(&[Pairing::Adjacent { bits: 2 }, Pairing::Shared { side_by_side: 1 }], draws);
        power.hold_up = true;
    }
    if power.pairing != Pairing::Alone && draws.chance(0.25) {
        power.hold_up = false;
    }
    power
}

/// Losses that are still to come.
struct Left {
    /// Within the budget.
    budget: u32,
    /// When what was lost is rebuilt.
    renewals: u32,
}

pub(super) fn rounds(setup: &Setup, plan: &Plan, count: u64, draws: &mut Stream) -> Vec<Round> {
    let mut left = Left { budget: plan.at_most, renewals: plan.renewals };
    (0..count).map(|_| round(setup, plan, &mut left, draws)).collect()
}

fn round(setup: &Setup, plan: &Plan, left: &mut Left, draws: &mut Stream) -> Round {
    let count = plan.focus.requests(10 + draws.below(40), draws);
    let per = setup.drive.geometry.sectors_per_slot();
    let commands = workload(setup.user_slots, per, count, plan.focus.partial_at_most(), draws);
    let events = (6 * count).max(1);
    let mut stops = Vec::new();
    if plan.cuts && draws.chance(0.8) {
        stops.push(Stop { after: draws.below(events), strike: cut(plan, draws) });
        while draws.chance(plan.focus.cuts_again()) {
            stops.push(Stop { after: draws.below(40), strike: cut(plan, draws) });
        }
    }
    let mut first = 0;
    while let Some(when) = next_loss(plan, left, draws) {
        let strike = Strike::Loss { kind: *pick(&plan.losses, draws), draw: draws.bits(), when };
        // Before, between and after cuts, and after earlier losses: one that waits for a rebuild waits for that of these.
        let at = first + draws.below((stops.len() - first) as u64 + 1) as usize;
        first = at + 1;
        let after = if when == When::AtOnce && at > 0 { draws.below(40) } else { draws.below(events) };
        stops.insert(at, Stop { after, strike });
    }
    Round { commands, stops }
}

/// Whether something more is lost in this round, and when.
fn next_loss(plan: &Plan, left: &mut Left, draws: &mut Stream) -> Option<When> {
    if left.budget > 0 {
        return draws.chance(0.6).then(|| {
            left.budget -= 1;
            if plan.hasty { When::AtOnce } else { When::Recovered }
        });
    }
    (left.renewals > 0 && draws.chance(0.5)).then(|| {
        left.renewals -= 1;
        // While a rebuild is under way.
        if plan.hasty && draws.chance(0.5) { When::AtOnce } else { When::Whole }
    })
}

/// A power cut.
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

/// The scenario, judged by what comes together in it.
pub(super) fn judged(scenario: Scenario) -> Scenario {
    let may_lose = scenario.may_lose || scenario.promise() == Promise::MediaErrorsOnly;
    Scenario { may_lose, ..scenario }
}
