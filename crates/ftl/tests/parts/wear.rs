//! Wear levelling: one victim in eight, and only where wear has spread.

use crate::drive::{Drive, fill_unit, forget};
use flashkeep_ftl::{Ftl, Stream, UnitId, WearConfig};

const PAGES: u32 = 4;

/// A log of twelve blocks whose first five hold data: block 2 is full and least worn.
fn log(threshold: u32, spread: u32) -> Ftl {
    let mut drive = Drive::region(12, PAGES);
    drive.wear = WearConfig { dynamic: true, static_threshold: threshold };
    let mut map = drive.map();
    (0..5).for_each(|unit| assert_eq!(fill_unit(&mut map, unit * PAGES, PAGES, Stream::Host), unit));
    forget(&mut map, [0, 1, PAGES, 3 * PAGES]);
    (0..12).for_each(|unit| map.set_pe(unit, 1000));
    map.set_pe(2, 1000 - spread);
    map
}

/// Victims of this many GC runs, each taken back at once.
fn victims(map: &mut Ftl, count: usize) -> Vec<(UnitId, bool)> {
    let next = || {
        let chosen = map.condemn(0);
        chosen.inspect(|&(unit, _)| map.reprieve(unit))
    };
    std::iter::from_fn(next).take(count).collect()
}

#[test]
fn each_eighth_victim_is_the_least_worn_once_wear_has_spread() {
    let mut map = log(100, 101);
    for (n, (unit, for_wear)) in (1..).zip(victims(&mut map, 64)) {
        let expected = if n % 8 == 0 { (2, true) } else { (0, false) };
        assert_eq!((unit, for_wear), expected, "victim {n}");
    }
}

#[test]
fn no_victim_is_chosen_for_wear_up_to_the_threshold_or_without_one() {
    for (threshold, spread) in [(100, 100), (0, 900)] {
        let mut map = log(threshold, spread);
        assert_eq!(victims(&mut map, 24), [(0, false); 24], "threshold {threshold}, spread {spread}");
    }
}

#[test]
fn the_wear_of_a_block_that_is_bad_does_not_count() {
    let mut map = log(100, 0);
    map.set_pe(11, 5000);
    assert_eq!(victims(&mut map, 8)[7], (0, true), "a free block is worn, the first closed one least");
    map.retire_unit(11);
    assert_eq!(victims(&mut map, 8)[7], (0, false));
}

#[test]
fn only_closed_blocks_are_moved_for_wear() {
    let mut map = log(100, 101);
    // The least worn block is free and will be the next to be written anyway.
    map.set_pe(9, 0);
    assert_eq!(victims(&mut map, 8)[7], (2, true));
}

#[test]
fn calls_that_find_nothing_to_win_do_not_bring_the_eighth_victim_nearer() {
    let mut map = log(100, 101);
    assert_eq!(victims(&mut map, 7), [(0, false); 7]);
    // All that can be won is condemned: there is no victim, seven times over.
    let won: Vec<UnitId> = (0..3).map(|_| map.condemn(0).expect("a victim").0).collect();
    assert_eq!(won[0], 2, "the eighth");
    assert_eq!(won[1..], [0, 1]);
    let last = map.condemn(0).expect("a victim").0;
    assert_eq!((last, map.condemn(0)), (3, None));
    (0..7).for_each(|_| assert_eq!(map.condemn(0), None));
    map.reprieve(0);
    // Victims 12 to 15, and the sixteenth, for which block 4 is all that wear levelling may take.
    assert_eq!(victims(&mut map, 4), [(0, false); 4]);
    map.set_pe(4, 10);
    assert_eq!(map.condemn(0), Some((4, true)));
}
