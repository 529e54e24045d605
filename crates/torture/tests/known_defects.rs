//! Defects that are known and not mended, each kept as the scenario that shows it. A test here asserts that the defect
//! is still there. If one fails because nothing is broken any more, the defect is mended: turn the expectation around
//! by moving the scenario to `ONCE_BROKEN` in `torture.rs`, and take it out of `docs/torture.md`. If it fails because
//! something else is broken, a change of the engine moved the defect elsewhere: look for it with the campaign of the
//! same seed.
//!
//! Of panics only that they come is asserted: with debug assertions another invariant breaks first. To see a scenario:
//! `flashkeep torture --seed S --fault F --scenario N`.

use flashkeep_torture::{Rule, Scope, quiet_panics};

/// The scenario of a seed, with kinds of faults drawn together, is of this scheme and breaks this rule; what it says of that
/// has these words.
fn assert_broken(seed: u64, faults: &[&str], number: u64, scheme: &str, rule: Rule, words: &str) {
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let scope = Scope::named(seed, &[], &own(faults), false).unwrap_or_else(|problem| panic!("{problem}"));
    quiet_panics();
    let (scenario, outcome) = scope.replay(number);
    let scenario = scenario.unwrap_or_else(|| panic!("scenario {number}: no drive"));
    assert_eq!(scenario.setup.scheme.name, scheme, "scenario {number} is of another scheme: the draws have changed");
    let broken = outcome.broken().unwrap_or_else(|| panic!("scenario {number} breaks no rule: is the defect mended?"));
    assert_eq!(broken.rule, rule, "scenario {number}: {broken}");
    assert!(broken.what.contains(words), "scenario {number}: {broken}");
}

const BOTH: &[&str] = &["cut", "wear-out"];

/// Nothing is lost, but a page of a row stays without a sound parity.
#[test]
fn a_row_stays_without_parity_after_two_cuts_at_the_end_of_life() {
    assert_broken(2, BOTH, 18_544, "ds-raid", Rule::Scrub, "no parity in flash is the sum of lpn11");
}
