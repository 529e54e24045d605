//! The map as a mount finds it.

use crate::drive::{Drive, fill_unit, states, take_all, units_in};
use flashkeep_ftl::{Ftl, LogKind, Stream, UnitId, UnitState};
use vocab::{Lpn, Slot};

const PAGES: u32 = 4;

/// Units 1, 4 and 6 of eight are needed, the oldest last; unit 5 is bad.
const NEWEST: [(UnitId, u64); 3] = [(1, 900), (4, 70), (6, 1)];

fn mounted(policy: &str) -> Ftl {
    let mut drive = Drive { bad: vec![5], ..Drive::region(8, PAGES) };
    drive.gc.policy = policy.into();
    let mut map = drive.map();
    map.mount(newest);
    map
}

fn newest(unit: UnitId) -> Option<u64> {
    NEWEST.iter().find(|(needed, _)| *needed == unit).map(|(_, newest)| *newest)
}

/// Publishes a page that the mount found in this many first slots of a unit.
fn found(map: &mut Ftl, unit: UnitId, slots: u32) {
    for slot in unit * PAGES..unit * PAGES + slots {
        assert_eq!(map.publish(Lpn(slot), Slot(slot)).pinned, None);
    }
}

#[test]
fn needed_units_are_closed_and_all_others_dirty() {
    use UnitState::{Bad, Closed, Dirty};
    let mut map = mounted("greedy");
    assert_eq!(states(&map), [Dirty, Closed, Dirty, Dirty, Closed, Bad, Closed, Dirty]);
    assert_eq!(map.free_units(0), 0);
    for stream in [Stream::Host, Stream::Commit, Stream::Gc] {
        assert!(take_all(&mut map, stream).is_empty(), "{stream:?} found a page on a drive without an erased block");
    }
}

#[test]
fn dirty_units_are_erased_in_order_and_each_is_free_then() {
    let mut map = mounted("greedy");
    for (nth, unit) in [0, 2, 3, 7].into_iter().enumerate() {
        assert_eq!(map.condemn_dirty(0), Some(unit));
        assert_eq!((map.unit(unit).state, map.may_erase(unit)), (UnitState::Condemned, true));
        assert_eq!(map.free_units(0), nth as u32);
        map.erased(unit);
    }
    assert_eq!(map.condemn_dirty(0), None);
    let pages: Vec<u32> = take_all(&mut map, Stream::Gc).iter().map(|ppn| ppn.0 / PAGES).collect();
    assert_eq!(pages, [0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3, 7, 7, 7, 7]);
}

#[test]
fn what_a_mount_found_is_as_old_as_the_newest_in_it() {
    let mut map = mounted("fifo");
    NEWEST.iter().for_each(|&(unit, _)| found(&mut map, unit, 1));
    let dirty = map.condemn_dirty(0).expect("a dirty unit");
    map.erased(dirty);
    // A unit closed after the mount is younger than all of it.
    assert_eq!(fill_unit(&mut map, 0, PAGES, Stream::Gc), dirty);
    let order: Vec<UnitId> = std::iter::from_fn(|| map.condemn(0)).map(|(unit, _)| unit).collect();
    // Once nothing can be won there is no victim: unit 0 is full.
    assert_eq!(order, [6, 4, 1]);
    assert!(map.unit(1).closed_at < map.unit(dirty).closed_at);
}

#[test]
fn the_emptiest_unit_without_pins_goes_first_and_none_that_wins_nothing() {
    let mut map = mounted("fifo");
    for (unit, slots) in [(1, 3), (4, 4), (6, 2)] {
        found(&mut map, unit, slots);
    }
    map.pin(6);
    assert_eq!(map.condemn_unpinned(0), Some(1));
    assert_eq!(map.condemn_unpinned(0), None, "unit 4 is full and unit 6 has a pin");
    assert!(!map.release(6));
    assert_eq!(map.condemn_unpinned(0), Some(6));
    assert_eq!([1, 4, 6].map(|unit| map.unit(unit).state), [UnitState::Condemned, UnitState::Closed, UnitState::Condemned]);
}

#[test]
fn of_equally_empty_units_without_pins_the_oldest_goes_first() {
    let mut map = mounted("greedy");
    NEWEST.iter().for_each(|&(unit, _)| found(&mut map, unit, 2));
    let order: Vec<UnitId> = std::iter::from_fn(|| map.condemn_unpinned(0)).collect();
    assert_eq!(order, [6, 4, 1]);
}

#[test]
fn each_log_mounts_its_own_units() {
    let mut map = Drive::new(LogKind::Regions, 2, 6, PAGES).map();
    map.mount(|unit| [2, 7, 9].contains(&unit).then_some(u64::from(unit)));
    let dirty = |map: &mut Ftl, log| std::iter::from_fn(|| map.condemn_dirty(log)).collect::<Vec<_>>();
    assert_eq!(dirty(&mut map, 1), [6, 8, 10, 11]);
    assert_eq!(dirty(&mut map, 0), [0, 1, 3, 4, 5]);
}

#[test]
fn a_dirty_superblock_that_is_too_narrow_is_retired_once_erased() {
    let mut map = Drive::new(LogKind::Group, 2, 6, PAGES).map();
    map.mount(|unit| (unit == 3).then_some(1));
    map.drop_member(vocab::SuperblockId(0), vocab::DieId(1));
    assert_eq!((map.unit(0).state, map.condemn_dirty(0)), (UnitState::Dirty, Some(0)));
    map.erased(0);
    assert_eq!((map.unit(0).state, map.free_units(0)), (UnitState::Bad, 0));
}

#[test]
fn the_rule_to_erase_again_can_be_broken_for_tests() {
    let mut map = mounted("greedy");
    map.break_erase_again();
    assert_eq!(units_in(&map, UnitState::Free), [0, 2, 3, 7]);
    assert_eq!((map.free_units(0), map.condemn_dirty(0), map.unit(0).pe), (4, None, 0));
}

#[test]
fn the_rule_to_keep_old_versions_can_be_broken_for_tests() {
    let mut map = Drive::region(8, PAGES).map();
    assert_eq!(fill_unit(&mut map, 0, PAGES, Stream::Host), 0);
    assert_eq!(map.forget(Lpn(0)).pinned, Some(0));
    map.break_pins();
    assert_eq!(map.forget(Lpn(1)).pinned, None);
    assert_eq!((map.unit(0).pins, map.unit(0).valid), (1, 2));
    // Pins from before are still taken back, and one too many does no harm.
    assert!(!map.release(0) && !map.release(0));
    assert_eq!(map.unit(0).pins, 0);
}
