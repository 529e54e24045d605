//! Each victim policy against its definition, on random units made by hand.

use flashkeep_ftl::victim::{Candidates, POLICIES, build};
use flashkeep_ftl::{Unit, UnitState};
use vocab::{Stream, Streams};

const SLOTS: u32 = 64;
const CLOCK: u64 = 1000;

/// Units in all states; each closed one has a closing time of its own.
fn units(draws: &mut Stream, count: u32) -> Vec<Unit> {
    let unit = |index: u32| {
        let state = match draws.below(8) {
            0 => UnitState::Free,
            1 => UnitState::Open,
            2 => UnitState::Condemned,
            3 => UnitState::Bad,
            _ => UnitState::Closed,
        };
        let slots = [0, 0, 40, 80][draws.below(4) as usize];
        let valid = draws.below(u64::from(if slots == 40 { 40 } else { SLOTS }) + 1) as u32;
        let closed_at = draws.below(CLOCK / 32) * 32 + u64::from(index);
        Unit { state, slots, valid, closed_at, ..Unit::default() }
    };
    (0..count).map(unit).collect()
}

fn slots(unit: &Unit) -> u32 {
    if unit.slots == 0 { SLOTS } else { unit.slots }
}

/// Pages (of four slots) that the valid slots fill, against those of a unit opened now.
fn gains(unit: &Unit) -> bool {
    let filled = (0..).find(|pages| pages * 4 >= unit.valid).expect("a number of pages");
    unit.state == UnitState::Closed && filled < slots(unit).min(SLOTS) / 4
}

/// For each of many random sets of units, the choice of the policy.
fn for_all(name: &str, choices: u32, holds: impl Fn(&[Unit], Option<usize>) -> bool) {
    let mut draws = Streams::new(5).stream("units");
    let mut policy = build(name, choices, Streams::new(1).stream("victims")).expect("a policy");
    for case in 0..2000 {
        let units = units(&mut draws, 1 + case % 20);
        let chosen = policy.pick(&Candidates { units: &units, unit_slots: SLOTS, granule: 4, clock: CLOCK });
        assert!(holds(&units, chosen), "{name}, case {case}: {chosen:?} of {units:?}");
    }
}

fn closed(units: &[Unit]) -> Vec<usize> {
    (0..units.len()).filter(|&index| units[index].state == UnitState::Closed).collect()
}

#[test]
fn greedy_takes_the_emptiest_and_of_these_the_oldest() {
    for_all("greedy", 1, |units, chosen| {
        let mut by_valid = closed(units);
        by_valid.sort_by_key(|&index| (units[index].valid, units[index].closed_at));
        chosen == by_valid.first().copied().filter(|&index| gains(&units[index]))
    });
}

#[test]
fn fifo_takes_the_oldest_however_full() {
    for_all("fifo", 1, |units, chosen| {
        let mut by_age = closed(units);
        by_age.sort_by_key(|&index| units[index].closed_at);
        chosen == by_age.first().copied()
    });
}

#[test]
fn cost_benefit_takes_none_that_another_beats() {
    // age (1 - v/s) / (2 v/s) = age (s - v) / 2v, compared as fractions of whole numbers.
    let beats = |a: &Unit, b: &Unit| {
        let gain = |unit: &Unit| u128::from(CLOCK - unit.closed_at + 1) * u128::from(slots(unit) - unit.valid);
        gain(a) * u128::from(b.valid) > gain(b) * u128::from(a.valid)
    };
    for_all("cost-benefit", 1, |units, chosen| {
        let gainful: Vec<&Unit> = units.iter().filter(|unit| gains(unit)).collect();
        match chosen {
            None => gainful.is_empty(),
            Some(index) => {
                let empty = gainful.iter().any(|unit| unit.valid == 0);
                gains(&units[index])
                    && if empty { units[index].valid == 0 } else { !gainful.iter().any(|unit| beats(unit, &units[index])) }
            }
        }
    });
}

#[test]
fn random_policies_take_a_closed_unit_where_there_is_one() {
    for (name, choices) in [("random", 10), ("d-choices", 3)] {
        for_all(name, choices, |units, chosen| match chosen {
            Some(index) => units[index].state == UnitState::Closed,
            None => closed(units).is_empty(),
        });
    }
}

/// The n-th emptiest of 8 units is taken where all draws, with replacement, are of it or fuller ones, and
/// not all of fuller ones.
#[test]
fn the_emptiest_of_d_choices_comes_as_often_as_it_should() {
    const DRAWS: u32 = 40_000;
    for (name, choices, d) in [("random", 5, 1), ("d-choices", 1, 1), ("d-choices", 2, 2), ("d-choices", 5, 5)] {
        let mut units: Vec<Unit> =
            (0..8).map(|valid| Unit { valid: valid * 8, state: UnitState::Closed, ..Unit::default() }).collect();
        units.insert(3, Unit { state: UnitState::Open, ..Unit::default() });
        let mut policy = build(name, choices, Streams::new(2).stream("victims")).expect("a policy");
        let mut counts = [0u32; 8];
        for _ in 0..DRAWS {
            let chosen = policy.pick(&Candidates { units: &units, unit_slots: SLOTS, granule: 4, clock: CLOCK });
            counts[units[chosen.expect("closed units")].valid as usize / 8] += 1;
        }
        for (n, &count) in (0..).zip(&counts) {
            let share = |from: i32| (f64::from(8 - from) / 8.0).powi(d);
            let p = share(n) - share(n + 1);
            let (expected, deviation) = (f64::from(DRAWS) * p, (f64::from(DRAWS) * p * (1.0 - p)).sqrt());
            let off = (f64::from(count) - expected).abs();
            assert!(off <= 4.0 * deviation + 1.0, "{name} {choices}: unit {n} chosen {count} times, expected {expected}");
        }
    }
}

#[test]
fn a_copy_of_a_policy_goes_on_with_the_same_draws() {
    let mut draws = Streams::new(5).stream("units");
    let sets: Vec<_> = (0..50).map(|_| units(&mut draws, 40)).collect();
    for entry in POLICIES {
        let mut policy = build(entry.name, 2, Streams::new(3).stream("victims")).expect("a policy");
        let pick = |policy: &mut dyn flashkeep_ftl::victim::VictimPolicy, units: &[Unit]| {
            policy.pick(&Candidates { units, unit_slots: SLOTS, granule: 4, clock: CLOCK })
        };
        pick(&mut *policy, &sets[0]);
        let mut copy = policy.boxed_clone();
        for units in &sets {
            assert_eq!(pick(&mut *policy, units), pick(&mut *copy, units), "{}", entry.name);
        }
    }
    assert!(build("gready", 1, Streams::new(1).stream("victims")).is_none());
}

#[test]
fn a_unit_is_worth_collecting_where_it_gives_back_a_page() {
    let of = |slots, valid| {
        let candidates = Candidates { units: &[], unit_slots: 16, granule: 4, clock: 0 };
        candidates.gains(&Unit { state: UnitState::Closed, slots, valid, ..Unit::default() })
    };
    // 16 slots in 4 pages: 12 fill 3 of them, 13 fill 4.
    assert_eq!((of(0, 12), of(0, 13)), (true, false));
    // Two pages of its own, or six where new units have four.
    assert_eq!((of(8, 4), of(8, 5)), (true, false));
    assert_eq!((of(24, 12), of(24, 13)), (true, false));
}
