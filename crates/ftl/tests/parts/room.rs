//! Who may take how much of the free space, on drives worked out by hand.

use crate::drive::{Drive, fill_unit, forget, take_all, write, write_all};
use flashkeep_ftl::{LogKind, Segments, Stream, UnitState, WearConfig};
use vocab::{DieId, Lpn, Ppn, Slot};

const STREAMS: [Stream; 3] = [Stream::Host, Stream::Commit, Stream::Gc];

/// Pages that each stream gets of six blocks of two pages, one stream after the other.
fn shares(reserve: u32, recovery: u32, separate: bool) -> [usize; 3] {
    let mut drive = Drive { reserve, recovery, ..Drive::region(7, 2) };
    drive.gc.separate_write_pointer = separate;
    drive.bad = vec![6];
    let mut map = drive.map();
    // Of a log this small nothing may be at rest; the limit is the subject of other tests.
    if map.live_max(0) == 0 {
        assert!(take_all(&mut map, Stream::Host).is_empty(), "a full log took a page of the host");
        return [0, take_all(&mut map, Stream::Commit).len(), take_all(&mut map, Stream::Gc).len()];
    }
    STREAMS.map(|stream| take_all(&mut map, stream).len())
}

#[test]
fn the_last_free_units_are_kept_for_whom_they_are_meant() {
    for separate in [true, false] {
        // Six blocks of two pages. The collector keeps one block, recovery one more.
        assert_eq!(shares(0, 0, separate), [10, 0, 2], "separate {separate}");
        assert_eq!(shares(1, 0, separate), [8, 2, 2], "separate {separate}");
        assert_eq!(shares(0, 1, separate), [8, 0, 4], "separate {separate}");
        assert_eq!(shares(1, 1, separate), [0, 8, 4], "separate {separate}");
    }
}

#[test]
fn the_collector_has_a_block_of_its_own_or_shares_that_of_the_host() {
    let pages = |separate: bool| {
        let mut drive = Drive::region(6, 2);
        drive.gc.separate_write_pointer = separate;
        let mut map = drive.map();
        assert_eq!(map.separates_write_pointers(), separate);
        [Stream::Host, Stream::Gc, Stream::Commit, Stream::Gc].map(|stream| map.take_page(0, stream).expect("room").0)
    };
    // Blocks of two pages, taken in ascending order.
    assert_eq!(pages(true), [0, 2, 1, 3]);
    assert_eq!(pages(false), [0, 1, 2, 3]);
}

#[test]
fn a_shared_write_pointer_keeps_a_whole_block_of_pages_for_the_collector() {
    let mut drive = Drive::region(6, 2);
    for (separate, left) in [(true, 1), (false, 0)] {
        drive.gc.separate_write_pointer = separate;
        let mut map = drive.map();
        // Five blocks and a page go to host and collector; a page of the host's block is left.
        (0..9).for_each(|page| assert_eq!(map.take_page(0, Stream::Host), Some(Ppn(page))));
        assert!(map.take_page(0, Stream::Gc).is_some());
        assert_eq!(take_all(&mut map, Stream::Host).len(), left, "separate {separate}");
    }
}

#[test]
fn the_host_stops_where_as_much_is_valid_as_the_log_may_hold() {
    // Six blocks, one beyond the five that hold nothing at rest: four pages.
    let mut map = Drive { reserve: 1, ..Drive::region(6, 4) }.map();
    assert_eq!(map.live_max(0), 4);
    write_all(&mut map, 0..4, Stream::Host);
    assert!(!map.has_room(0, Stream::Host) && map.take_page(0, Stream::Host).is_none());
    assert!(map.has_room(0, Stream::Commit) && map.has_room(0, Stream::Gc), "others do not stop");
    // A move leaves as many valid pages as before.
    write(&mut map, 2, Stream::Gc);
    assert!(!map.has_room(0, Stream::Host));
    forget(&mut map, [1]);
    assert!(map.has_room(0, Stream::Host) && map.take_page(0, Stream::Host).is_some());
}

#[test]
fn a_missing_page_takes_no_room() {
    let mut map = Drive { reserve: 1, ..Drive::region(6, 4) }.map();
    write_all(&mut map, 0..4, Stream::Host);
    assert_eq!(map.publish_missing(Lpn(3)).pinned, Some(0));
    assert!(map.has_room(0, Stream::Host));
    // It came from nowhere, so nothing is pinned when it has a place again.
    let slot = Slot(map.take_page(0, Stream::Host).expect("room").0);
    assert_eq!(map.publish(Lpn(3), slot).pinned, None);
    assert!(!map.has_room(0, Stream::Host));
}

#[test]
fn a_log_is_short_below_its_free_blocks_and_what_is_kept_for_commits() {
    /// Free blocks when the log is first short.
    fn short_at(drive: &Drive) -> u32 {
        let mut map = drive.map();
        while !map.is_short(0) {
            map.take_page(0, Stream::Host).expect("a log is short before the host stops");
        }
        map.free_units(0)
    }
    let mut drive = Drive::region(14, 2);
    assert_eq!(short_at(&drive), 2);
    drive.gc.free_blocks = 5;
    assert_eq!(short_at(&drive), 4);
    drive.reserve = 2;
    assert_eq!(short_at(&drive), 6);
    // Four that only the collector may take, and one more so that GC begins in time.
    (drive.reserve, drive.recovery, drive.gc.free_blocks) = (0, 4, 2);
    assert_eq!(short_at(&drive), 5);
}

#[test]
fn segments_collect_themselves_and_leave_the_blocks_behind_them_alone() {
    let segments = Some(Segments { per_die: 3, blocks: 3 });
    let drive = Drive { segments, ..Drive::new(LogKind::Regions, 2, 10, 2) };
    let mut map = drive.map();
    assert_eq!((map.logs(), map.logs_of_die(DieId(0)), map.logs_of_die(DieId(1))), (6, 0..3, 3..6));
    assert!(!map.separates_write_pointers(), "segments have one write pointer");
    for log in 0..6u32 {
        let first = log / 3 * 10 + log % 3 * 3;
        assert_eq!((map.free_units(log as usize), map.live_max(log as usize)), (3, 4), "log {log}");
        // Host and collector share a write pointer: four pages of host data, then a block for the collector.
        assert!(!map.is_short(log as usize), "log {log}");
        let host: Vec<u32> = std::iter::from_fn(|| map.take_page(log as usize, Stream::Host)).map(|ppn| ppn.0).collect();
        assert_eq!(host, (first * 2..first * 2 + 4).collect::<Vec<_>>(), "log {log}");
        assert!(map.is_short(log as usize) && !map.has_room(log as usize, Stream::Commit), "log {log}");
        assert_eq!(map.take_page(log as usize, Stream::Gc), Some(Ppn(first * 2 + 4)), "log {log}");
        (first..first + 3).for_each(|unit| assert_eq!(map.log_of(unit), log as usize, "unit {unit}"));
    }
    assert_eq!([9, 19].map(|unit| map.unit(unit).state), [UnitState::Free; 2]);
}

#[test]
fn free_blocks_are_taken_in_the_order_of_their_erase_or_of_their_wear() {
    let order = |dynamic| {
        let mut drive = Drive::region(8, 1);
        drive.wear = WearConfig { dynamic, static_threshold: 0 };
        let mut map = drive.map();
        // Blocks 0, 1 and 2 are written and erased, in another order.
        (0..3).for_each(|page| assert_eq!(map.take_page(0, Stream::Host), Some(Ppn(page))));
        for unit in [1, 2, 0] {
            assert!(map.condemn_unit(unit));
            map.erased(unit);
        }
        [(3, 5), (4, 9), (5, 1), (6, 0), (7, 1)].into_iter().for_each(|(unit, pe)| map.set_pe(unit, pe));
        let pages: Vec<u32> = std::iter::from_fn(|| map.take_page(0, Stream::Gc)).map(|ppn| ppn.0).collect();
        pages
    };
    assert_eq!(order(false), [3, 4, 5, 6, 7, 1, 2, 0]);
    // By P/E cycles 0, 1, 1, 1, 1, 1, 5, 9, that which has been free longest first.
    assert_eq!(order(true), [6, 5, 7, 1, 2, 0, 3, 4]);
}

#[test]
fn the_wear_of_the_next_page_is_told_before_it_is_taken() {
    let mut map = Drive::region(6, 2).map();
    (0..6).for_each(|unit| map.set_pe(unit, 10 + (unit * 5) % 6));
    for _ in 0..10 {
        let told = map.next_pe(0, Stream::Host).expect("room");
        let page = map.take_page(0, Stream::Host).expect("room");
        assert_eq!(told, map.unit(page.0 / 2).pe);
    }
    assert_eq!(map.next_pe(0, Stream::Host), None);
}

/// Promise of `live_max`: however the host overwrites, GC wins space in the end.
#[test]
fn a_log_as_full_as_it_may_be_takes_overwrites_for_ever() {
    for (policy, separate, reserve) in
        [("greedy", true, 0), ("greedy", false, 1), ("cost-benefit", true, 1), ("d-choices", false, 0)]
    {
        let mut drive = Drive { reserve, ..Drive::region(12, 4) };
        (drive.gc.policy, drive.gc.separate_write_pointer) = (policy.into(), separate);
        let mut map = drive.map();
        let full = map.live_max(0);
        write_all(&mut map, 0..full, Stream::Commit);
        let mut draws = vocab::Streams::new(7).stream("overwrites");
        for step in 0..3000 {
            let mut victims = 0;
            while map.is_short(0)
                && let Some((victim, _)) = map.condemn(0)
            {
                let valid = |map: &flashkeep_ftl::Ftl, lpn: &u32| matches!(map.lookup(Lpn(*lpn)), flashkeep_ftl::Place::At(slot) if map.unit_of(slot) == victim);
                let moves: Vec<u32> = (0..full).filter(|lpn| valid(&map, lpn)).collect();
                write_all(&mut map, moves, Stream::Gc);
                map.erased(victim);
                victims += 1;
                assert!(victims < 200, "{policy}, step {step}: GC wins nothing");
            }
            // An overwrite leaves as much valid as there was; the host's own limit is for new pages.
            assert!(map.has_room(0, Stream::Commit), "{policy}, step {step}: stuck");
            write(&mut map, draws.below(u64::from(full)) as u32, Stream::Commit);
        }
        map.check_counts();
    }
}

#[test]
fn a_unit_is_closed_with_its_last_page_and_not_before() {
    let mut map = Drive::region(6, 3).map();
    assert_eq!(map.unit(0).state, UnitState::Free);
    for (pages, state) in [(1, UnitState::Open), (2, UnitState::Open), (3, UnitState::Closed)] {
        map.take_page(0, Stream::Host).expect("room");
        assert_eq!(map.unit(0).state, state, "after {pages} pages");
    }
    assert_eq!(fill_unit(&mut map, 0, 3, Stream::Host), 1);
    assert!(map.unit(0).closed_at < map.unit(1).closed_at);
}
