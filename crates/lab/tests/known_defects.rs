//! Defects that are known and not mended, each kept as the scenario that shows it. A test here asserts that the defect
//! is still there. If one fails because nothing is broken any more, the defect is mended: turn the expectation around
//! by moving the scenario to `ONCE_BROKEN` in `torture.rs`, and take it out of `docs/torture.md`. If it fails because
//! something else is broken, a change of the engine moved the defect elsewhere: look for it with the campaign of the
//! same seed.
//!
//! Of panics only that they come is asserted: with debug assertions another invariant breaks first. To see a scenario:
//! `flashkeep torture --seed S --fault F --scenario N`.

use flashkeep_lab::torture::{Rule, Scope, quiet_panics};

/// The scenario of a seed is of this scheme and breaks this rule; what it says of that has these words.
fn assert_broken(seed: u64, faults: &[&str], schemes: &[&str], number: u64, scheme: &str, rule: Rule, words: &str) {
    quiet_panics();
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let scope = Scope::named(seed, &own(schemes), &own(faults), false).unwrap_or_else(|problem| panic!("{problem}"));
    let (scenario, outcome) = scope.replay(number);
    let scenario = scenario.unwrap_or_else(|| panic!("scenario {number}: no drive"));
    assert_eq!(scenario.setup.scheme.name, scheme, "scenario {number} is of another scheme: the draws have changed");
    let broken = outcome.broken().unwrap_or_else(|| panic!("scenario {number} breaks no rule: is the defect mended?"));
    assert_eq!(broken.rule, rule, "scenario {number}: {broken}");
    assert!(broken.what.contains(words), "scenario {number}: {broken}");
}

const WEAR_OUT: &[&str] = &["wear-out"];
const BOTH: &[&str] = &["cut", "wear-out"];

#[test]
fn ppc_gives_up_a_page_that_waits_for_room_at_the_end_of_life() {
    assert_broken(3, WEAR_OUT, &[], 34_092, "ppc", Rule::Lost, "lpn3 cannot be read");
}

#[test]
fn code_zones_lose_a_page_at_the_end_of_life() {
    assert_broken(2, WEAR_OUT, &[], 45_023, "code-zones", Rule::Lost, "lpn3 cannot be read");
}

#[test]
fn code_zones_lose_another_page_at_the_end_of_life() {
    assert_broken(20_261_123, WEAR_OUT, &[], 193_753, "code-zones", Rule::Lost, "lpn2 cannot be read");
}

#[test]
fn ds_raid_finds_an_older_version_after_a_cut_at_the_end_of_life() {
    assert_broken(2, BOTH, &[], 27_733, "ds-raid", Rule::Wrong, "found version 10 of lpn0");
}

#[test]
fn ds_raid_without_read_around_finds_an_older_version_after_a_cut_at_the_end_of_life() {
    assert_broken(888_005, BOTH, &[], 6_232, "ds-raid", Rule::Wrong, "lpn4 has version 3, wanted at least 4");
}

#[test]
fn a_parity_of_raid5_is_not_the_sum_of_its_strips_after_a_cut_at_the_end_of_life() {
    assert_broken(2, BOTH, &[], 151_443, "raid5", Rule::Scrub, "the parity of stripe10");
}

#[test]
fn a_drive_without_redundancy_finds_an_older_version_after_a_cut_at_the_end_of_life() {
    assert_broken(2, BOTH, &[], 24_867, "none", Rule::Wrong, "found version 21 of lpn0");
}

#[test]
fn a_drive_without_redundancy_breaks_an_invariant_after_a_cut_at_the_end_of_life() {
    assert_broken(888_005, BOTH, &[], 12_772, "none", Rule::Panic, "");
}

#[test]
fn code_zones_read_a_page_as_unmapped_after_a_cut_at_the_end_of_life() {
    assert_broken(2, BOTH, &[], 154_881, "code-zones", Rule::Wrong, "lpn25 reads as unmapped");
}

#[test]
fn code_zones_do_not_come_to_rest_after_a_cut_at_the_end_of_life() {
    assert_broken(888_005, BOTH, &[], 19_258, "code-zones", Rule::Rest, "still busy");
}

#[test]
fn mds_groups_read_a_page_as_unmapped_after_a_cut_at_the_end_of_life() {
    assert_broken(888_005, BOTH, &[], 7_478, "mds-groups", Rule::Wrong, "lpn33 reads as unmapped");
}

/// The only one that is not of the end of life.
#[test]
fn da_raid5_reads_a_page_as_unmapped_after_two_cuts_in_a_row() {
    assert_broken(888_002, &[], &["da-raid5", "ppc"], 17_146, "da-raid5", Rule::Wrong, "lpn34 reads as unmapped");
}
