//! Units out of turn: closed early, collected on request, given back, never used again.

use crate::drive::{Drive, fill_unit, forget, states, take_all, units_in, write, write_all};
use flashkeep_ftl::{LogKind, Stream, UnitState};
use vocab::{DieId, Lpn};

const PAGES: u32 = 3;

#[test]
fn only_a_closed_unit_is_condemned_out_of_turn() {
    let mut map = Drive { bad: vec![5], ..Drive::region(8, PAGES) }.map();
    assert_eq!(fill_unit(&mut map, 0, PAGES, Stream::Host), 0);
    write(&mut map, 9, Stream::Host);
    let before = states(&map);
    for unit in 1..8 {
        assert!(!map.condemn_unit(unit), "unit {unit} is {:?}", before[unit as usize]);
    }
    assert_eq!(states(&map), before);
    assert!(map.condemn_unit(0) && !map.condemn_unit(0), "a full unit, once");
    assert_eq!(map.unit(0).state, UnitState::Condemned);
}

#[test]
fn a_unit_given_back_is_the_victim_again() {
    let mut map = Drive::region(8, PAGES).map();
    (0..3).for_each(|unit| assert_eq!(fill_unit(&mut map, unit * PAGES, PAGES, Stream::Host), unit));
    forget(&mut map, [0, 4, 5]);
    // Two of three pages of unit 1 are free, one of unit 0.
    assert_eq!(map.condemn(0), Some((1, false)));
    assert_eq!(map.condemn(0), Some((0, false)));
    assert_eq!(map.condemn(0), None);
    let clock = map.unit(1).closed_at;
    map.reprieve(1);
    assert_eq!((map.unit(1).state, map.unit(1).closed_at), (UnitState::Closed, clock));
    assert_eq!(map.condemn(0), Some((1, false)));
}

#[test]
fn an_open_unit_is_closed_early_and_its_writer_goes_on_in_another() {
    let mut map = Drive::region(8, PAGES).map();
    write(&mut map, 0, Stream::Host);
    write(&mut map, 1, Stream::Gc);
    let room = take_all(&mut map.clone(), Stream::Commit).len();
    map.abandon(0);
    assert_eq!([0, 1].map(|unit| map.unit(unit).state), [UnitState::Closed, UnitState::Open]);
    assert_eq!(take_all(&mut map.clone(), Stream::Commit).len(), room - 2, "the two pages it had left are gone");
    assert_eq!((write(&mut map, 2, Stream::Host), write(&mut map, 3, Stream::Gc)), (2, 1));
    // Not open: nothing changes.
    let before = (states(&map), map.unit(0).closed_at);
    (0..8).filter(|unit| ![1, 2].contains(unit)).for_each(|unit| map.abandon(unit));
    assert_eq!((states(&map), map.unit(0).closed_at), before);
    // Units closed early and in turn count the same for the oldest: 0, then 1.
    write(&mut map, 4, Stream::Gc);
    assert!(map.unit(0).closed_at < map.unit(1).closed_at);
}

#[test]
fn a_retired_unit_is_never_handed_out_and_its_space_is_gone() {
    let mut map = Drive::region(8, PAGES).map();
    assert_eq!((map.live_max(0), map.free_units(0)), (4 * PAGES, 8));
    map.retire_unit(3);
    assert_eq!(fill_unit(&mut map, 0, PAGES, Stream::Host), 0);
    assert!(map.condemn_unit(0));
    forget(&mut map, 0..PAGES);
    map.retire_unit(0);
    assert_eq!((map.live_max(0), map.free_units(0)), (2 * PAGES, 6));
    let mut pages = take_all(&mut map, Stream::Host);
    pages.extend(take_all(&mut map, Stream::Gc));
    let mut units: Vec<u32> = pages.iter().map(|ppn| ppn.0 / PAGES).collect();
    units.dedup();
    assert_eq!(units, [1, 2, 4, 5, 6, 7]);
    assert_eq!(units_in(&map, UnitState::Bad), [0, 3]);
}

#[test]
fn a_unit_may_be_erased_without_valid_slots_and_without_pins() {
    let mut map = Drive::region(8, PAGES).map();
    assert_eq!(fill_unit(&mut map, 0, PAGES, Stream::Host), 0);
    assert!(map.condemn_unit(0) && !map.may_erase(0));
    let pins: Vec<u32> = (0..PAGES).map(|lpn| map.forget(Lpn(lpn)).pinned.expect("it was written")).collect();
    assert_eq!((pins, map.unit(0).valid, map.unit(0).pins), (vec![0; 3], 0, 3));
    assert_eq!([0; 3].map(|unit| (map.may_erase(unit), map.release(unit))), [(false, false), (false, false), (false, true)]);
    assert!(map.may_erase(0));
    // A pin without a superseded slot holds it back as well.
    map.pin(0);
    assert!(!map.may_erase(0) && map.release(0) && map.may_erase(0));
    map.erased(0);
    assert_eq!((map.unit(0).state, map.unit(0).pe, map.free_units(0)), (UnitState::Free, 1, 8));
}

#[test]
fn the_last_pin_of_a_unit_that_is_not_condemned_makes_nothing_ready() {
    let mut map = Drive::region(8, PAGES).map();
    write_all(&mut map, 0..PAGES, Stream::Host);
    for lpn in 0..PAGES {
        let unit = map.forget(Lpn(lpn)).pinned.expect("it was written");
        assert!(!map.release(unit), "a closed unit");
    }
}

#[test]
fn the_host_writes_no_more_to_a_die_that_is_retired() {
    let mut map = Drive::new(LogKind::Regions, 3, 8, PAGES).map();
    map.retire_die(DieId(1));
    assert_eq!([0, 1, 2].map(|log| map.has_room(log, Stream::Host)), [true, false, true]);
    assert_eq!([0, 1, 2].map(|log| map.take_page(log, Stream::Host).is_some()), [true, false, true]);
}

/// Two dies of eight blocks; one of them is new. Catches a log that holds less than it did before, because a unit was pinned when the
/// die came, and such a unit that is handed out.
#[test]
fn a_new_die_has_the_room_of_any_other_and_a_pinned_unit_waits_for_its_pins() {
    let mut map = Drive::new(LogKind::Regions, 2, 8, PAGES).map();
    (0..2).for_each(|unit| assert_eq!(fill_unit(&mut map, unit * PAGES, PAGES, Stream::Host), unit));
    let pins: Vec<u32> = (0..2 * PAGES).filter_map(|lpn| map.publish_missing(Lpn(lpn)).pinned).collect();
    let (kept, released) = pins.split_at(1);
    released.iter().for_each(|&unit| assert!(!map.release(unit), "no unit is condemned"));
    map.retire_die(DieId(0));
    assert_eq!(map.live_max(0), 0);
    map.renew_die(DieId(0), |block| block.0 == 5);
    assert_eq!(map.live_max(0), map.live_max(1) - PAGES, "one block is reserved");
    assert_eq!((map.unit(0).state, map.unit(5).state), (UnitState::Closed, UnitState::Bad));
    let handed_out: Vec<u32> = take_all(&mut map.clone(), Stream::Commit).iter().map(|ppn| ppn.0 / PAGES).collect();
    assert!(!handed_out.contains(&0) && !handed_out.contains(&5), "{handed_out:?}");
    assert!(!map.release(kept[0]) && map.may_erase(0), "it is collected like any other now");
    map.check_counts();
}
