//! Defects that are known and not mended, each kept as the scenario that shows it. A test here asserts that the defect
//! is still there. If one fails because nothing is broken any more, the defect is mended: turn the expectation around
//! by moving the scenario to `ONCE_BROKEN` in `torture.rs`, and take it out of `docs/torture.md`. If it fails because
//! something else is broken, a change of the engine moved the defect elsewhere: look for it with the campaign of the
//! same seed.
//!
//! Of panics only that they come is asserted: with debug assertions another invariant breaks first. To see a scenario:
//! `flashkeep torture --seed S --fault F --scenario N`.

use flashkeep_torture::{Rule, Scope, quiet_panics};

/// The scenario of a seed, with kinds of faults drawn apart, is of this scheme and breaks this rule; what it says of that
/// has these words.
fn assert_broken(seed: u64, faults: &[&str], schemes: &[&str], number: u64, scheme: &str, rule: Rule, words: &str) {
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let scope = Scope::apart(seed, &own(schemes), &own(faults), false).unwrap_or_else(|problem| panic!("{problem}"));
    quiet_panics();
    let (scenario, outcome) = scope.replay(number);
    let scenario = scenario.unwrap_or_else(|| panic!("scenario {number}: no drive"));
    assert_eq!(scenario.setup.scheme.name, scheme, "scenario {number} is of another scheme: the draws have changed");
    let broken = outcome.broken().unwrap_or_else(|| panic!("scenario {number} breaks no rule: is the defect mended?"));
    assert_eq!(broken.rule, rule, "scenario {number}: {broken}");
    assert!(broken.what.contains(words), "scenario {number}: {broken}");
}

const BOTH: &[&str] = &["cut", "wear-out"];

/// With kinds drawn together this is no defect: cuts at the end of life may cost pages.
#[test]
fn cuts_at_the_end_of_life_cost_pages() {
    assert_broken(2, BOTH, &[], 154_881, "code-zones", Rule::Lost, "lpn25 cannot be read");
}
