//! Settings that the map refuses, and what it says of the space it has.

use crate::drive::Drive;
use flashkeep_ftl::{Ftl, GcConfig, GroupSpace, Isolation, LogKind, RowSpace, Segments, StreamConfig};

/// The setting that is refused; `None` where the map is built.
fn refused(drive: &Drive) -> Option<&'static str> {
    drive.try_map().err().map(|error| error.setting)
}

fn with(gc: impl Fn(&mut GcConfig)) -> Drive {
    let mut drive = Drive::region(10, 4);
    gc(&mut drive.gc);
    drive
}

#[test]
fn each_setting_is_refused_from_its_limit_on() {
    // Ten blocks, of which two are in use.
    assert_eq!(refused(&with(|gc| gc.free_blocks = 1)), Some("gc.free_blocks"));
    assert_eq!(refused(&with(|gc| gc.free_blocks = 2)), None);
    assert_eq!(refused(&with(|gc| gc.free_blocks = 8)), None);
    assert_eq!(refused(&with(|gc| gc.free_blocks = 9)), Some("gc.free_blocks"));
    assert_eq!(refused(&with(|gc| gc.idle_free_blocks = 8)), None);
    assert_eq!(refused(&with(|gc| gc.idle_free_blocks = 9)), Some("gc.idle_free_blocks"));
    assert_eq!(refused(&with(|gc| gc.choices = 0)), Some("gc.choices"));
    assert_eq!(refused(&with(|gc| gc.moves_in_flight = 0)), Some("gc.moves_in_flight"));
    assert_eq!(refused(&with(|gc| gc.policy = "gready".into())), Some("gc.policy"));
    let reserve = |free_blocks| Drive { reserve: 3, ..with(|gc| gc.free_blocks = free_blocks) };
    assert_eq!((refused(&reserve(5)), refused(&reserve(6))), (None, Some("gc.free_blocks")));
}

#[test]
fn writers_of_regions_may_share_a_write_pointer_only_where_a_page_is_a_slot() {
    let shared = |slots_per_page, kind| {
        let mut drive = Drive { slots_per_page, ..Drive::new(kind, 3, 10, 4) };
        drive.gc.separate_write_pointer = false;
        refused(&drive)
    };
    assert_eq!(shared(1, LogKind::Regions), None);
    assert_eq!(shared(2, LogKind::Regions), Some("gc.separate_write_pointer"));
    assert_eq!(shared(2, LogKind::Group), None);
}

/// Streams need write pointers of their own: logs of whole dies have such, if host and collector do not share one.
#[test]
fn streams_are_told_apart_only_by_logs_with_write_pointers_for_them() {
    let drive = |kind, segments, own_pointer, isolation| {
        let mut drive = Drive { segments, ..Drive::new(kind, 2, 12, 4) };
        drive.lpns = 30;
        drive.gc.streams = StreamConfig { count: 2, isolation };
        drive.gc.separate_write_pointer = own_pointer;
        refused(&drive)
    };
    let segments = Some(Segments { per_die: 2, blocks: 4 });
    for isolation in [Isolation::Off, Isolation::Initial, Isolation::Persistent] {
        assert_eq!(drive(LogKind::Regions, None, true, isolation), None, "{isolation:?}");
        assert_eq!(drive(LogKind::Regions, segments, true, isolation), Some("gc.streams.count"), "{isolation:?}");
        assert_eq!(drive(LogKind::Group, None, true, isolation), Some("gc.streams.count"), "{isolation:?}");
        let shared = (isolation != Isolation::Off).then_some("gc.separate_write_pointer");
        assert_eq!(drive(LogKind::Regions, None, false, isolation), shared, "{isolation:?}");
    }
}

/// Capacity by hand: units that can be at rest, times slots of each without the last granule but one slot.
#[test]
fn capacity_is_that_of_drives_worked_out_by_hand() {
    let capacity = |drive: &Drive| {
        let space = RowSpace { side_by_side: drive.side_by_side, groups: drive.groups };
        Ftl::capacity(&drive.grid(), drive.kind, space, drive.reserve, None, &drive.gc)
    };
    let regions = Drive::new(LogKind::Regions, 2, 10, 4);
    // One for the collector, two open, one of garbage: 6 blocks of 4 pages on each of 2 dies.
    assert_eq!(capacity(&regions), 2 * 6 * 4);
    assert_eq!(capacity(&Drive { reserve: 2, ..regions.clone() }), 2 * 4 * 4);
    // A page of 3 slots may hold one only: 10 of 12 slots of a block count.
    assert_eq!(capacity(&Drive { slots_per_page: 3, ..regions }), 2 * 6 * 10);
    // Rows of 4 data pages and a parity page: 16 data pages, 13 of which count.
    let group = Drive::new(LogKind::Group, 5, 10, 4);
    assert_eq!(capacity(&group), 6 * 13);
    // Groups of 8 to 20 slots: the widest needs three of the narrowest, so three are the collector's.
    let groups = Some(GroupSpace { least_slots: 8, most_slots: 20 });
    assert_eq!(capacity(&Drive { groups, ..group }), 4 * 8);
    assert_eq!(capacity(&Drive::region(4, 4)), 0);
}

#[test]
fn a_log_without_bad_blocks_may_hold_its_share_of_the_capacity() {
    for kind in [LogKind::Regions, LogKind::Group] {
        for (slots_per_page, reserve) in [(1, 0), (2, 1), (3, 2)] {
            let drive = Drive { slots_per_page, reserve, ..Drive::new(kind, 3, 12, 4) };
            let map = drive.map();
            let sum: u64 = (0..map.logs()).map(|log| u64::from(map.live_max(log))).sum();
            assert_eq!(
                sum,
                Ftl::capacity(&drive.grid(), kind, RowSpace { side_by_side: 1, groups: None }, reserve, None, &drive.gc),
                "{kind:?}, {slots_per_page}, {reserve}"
            );
            assert_eq!(map.logs(), if kind == LogKind::Group { 1 } else { 3 });
        }
    }
}

#[test]
fn each_factory_bad_block_takes_a_block_from_its_own_log() {
    let map = Drive { bad: vec![0, 7, 25], ..Drive::new(LogKind::Regions, 3, 10, 4) }.map();
    let logs: Vec<_> = (0..3).map(|log| (map.free_units(log), map.live_max(log))).collect();
    assert_eq!(logs, [(8, 4 * 4), (10, 6 * 4), (9, 5 * 4)]);
}
