//! The SLC cache of a log, on drives worked out by hand: blocks of six pages with three bits a cell, two pages in SLC mode.

use crate::drive::{Drive, take_all, write, write_all};
use flashkeep_ftl::{Ftl, LogKind, RowSpace, SlcBlocks, SlcSpace, Stream, UnitState};
use vocab::{Lpn, Ppn, Slot};

fn space(blocks: SlcBlocks) -> SlcSpace {
    SlcSpace { blocks, bits: 3, folds_when_full: false, waits: false }
}

/// A die of twelve blocks.
fn map(slc: SlcSpace) -> Ftl {
    Drive { slc: Some(slc), ..Drive::region(12, 6) }.map()
}

fn host(map: &mut Ftl, pages: usize) -> Vec<u32> {
    (0..pages).filter_map(|_| map.take_page(0, Stream::Host)).map(|ppn| ppn.0).collect()
}

/// The condemned unit's pages move, and it is erased.
fn fold(map: &mut Ftl, unit: u32) {
    for page in 0..6 {
        let slot = Slot(unit * 6 + page);
        if map.is_valid(slot) {
            let lpn = (0..).map(Lpn).find(|&lpn| map.lookup(lpn) == flashkeep_ftl::Place::At(slot)).expect("someone's");
            let to = map.take_page(0, Stream::Gc).expect("room for a fold");
            let pinned = map.publish(lpn, Slot(to.0)).pinned;
            pinned.map(|unit| map.release(unit));
        }
    }
    assert!(map.may_erase(unit));
    map.erased(unit);
    map.check_counts();
}

/// Catches kept blocks that count as space for data, or that a unit of the cache holds as much as another.
#[test]
fn kept_blocks_hold_a_third_and_are_no_space_for_data() {
    let mut map = map(space(SlcBlocks::Kept(2)));
    // Ten blocks are left, of which four are held back.
    assert_eq!((map.free_units(0), map.live_max(0)), (10, 6 * 6));
    let grid = Drive::region(12, 6).grid();
    let of = |slc| {
        Ftl::capacity(
            &grid,
            LogKind::Regions,
            RowSpace { side_by_side: 1, groups: None },
            0,
            slc,
            &flashkeep_ftl::GcConfig::default(),
        )
    };
    assert_eq!([None, Some(space(SlcBlocks::Kept(2))), Some(space(SlcBlocks::Any(2)))].map(of), [8 * 6, 6 * 6, 7 * 6]);
    assert_eq!(host(&mut map, 6), [0, 1, 6, 7, 12, 13]);
    assert_eq!(
        [0, 1, 2].map(|unit| (map.unit(unit).slc, map.unit(unit).state)),
        [(true, UnitState::Closed), (true, UnitState::Closed), (false, UnitState::Open)]
    );
    assert_eq!(map.take_page(0, Stream::Gc), Some(Ppn(18)), "the collector never writes in SLC mode");
    map.check_counts();
}

/// Catches a victim policy that takes kept blocks, which gain no space, and a fold that does not begin with the oldest.
#[test]
fn the_oldest_kept_block_is_folded_and_no_policy_takes_one() {
    let mut map = map(space(SlcBlocks::Kept(2)));
    write_all(&mut map, 0..4, Stream::Host);
    // The first page of each is obsolete: a policy that saw them would take them.
    write_all(&mut map, 0..1, Stream::Host);
    write_all(&mut map, 2..3, Stream::Host);
    assert_eq!(map.condemn(0), None);
    assert!(map.may_fold(0) && !map.must_fold(0) && !map.is_short(0));
    let first = map.condemn_slc(0).expect("two are full");
    assert_eq!(first, 0);
    fold(&mut map, first);
    assert_eq!((map.free_units(0), map.is_slc(0)), (8, false), "it is kept, so it is no free block");
    assert_eq!(map.condemn_slc(0), Some(1));
    map.reprieve(1);
    assert_eq!(host(&mut map, 3), [0, 1, 14], "the host writes in SLC mode again, then past the cache where it was");
}

/// Catches a cache that takes blocks beyond its share, or when the log has none to spare.
#[test]
fn any_block_is_taken_while_there_are_enough() {
    let mut map_of_three = map(space(SlcBlocks::Any(3)));
    assert_eq!(map_of_three.live_max(0), 7 * 6);
    assert_eq!(host(&mut map_of_three, 8), [0, 1, 6, 7, 12, 13, 18, 19]);
    assert!(!map_of_three.is_slc(3), "three are in use");
    // GC is due below three free blocks: with the fourth the cache takes none.
    let mut map = map(space(SlcBlocks::Any(12)));
    let pages = host(&mut map, 100);
    let in_slc = (0..12).filter(|&unit| map.is_slc(unit)).count();
    assert_eq!((in_slc, pages.len()), (9, 9 * 2 + 2 * 6), "then two blocks in their usual mode, and one is the collector's");
    assert!(map.is_short(0));
}

/// Units in SLC mode are what a policy gains most from, so a cache that takes any block is folded by it.
#[test]
fn a_policy_takes_full_blocks_in_slc_mode_where_any_block_may_be_one() {
    let mut map = map(space(SlcBlocks::Any(2)));
    write_all(&mut map, 0..10, Stream::Host);
    assert_eq!((map.unit(0).valid, map.unit(2).valid), (2, 6));
    assert_eq!(map.condemn(0), Some((0, false)), "full, and yet four pages are gained");
    fold(&mut map, 0);
    assert_eq!(map.free_units(0), 12 - 3 - 1 + 1 - 1 + 1, "block 0 is free, the collector opened one");
}

/// Catches a host that waits for ever, or a cache that is folded before it is full.
#[test]
fn who_waits_for_a_fold_makes_the_log_short() {
    let mut map = map(SlcSpace { waits: true, ..space(SlcBlocks::Kept(2)) });
    write_all(&mut map, 0..3, Stream::Host);
    assert!(!map.is_short(0) && map.has_room(0, Stream::Host));
    write_all(&mut map, 3..4, Stream::Host);
    assert!(map.is_short(0) && map.must_fold(0) && !map.lacks_free(0));
    assert_eq!((map.has_room(0, Stream::Host), map.has_room(0, Stream::Commit)), (false, true));
    assert_eq!(map.take_page(0, Stream::Host), None);
    let unit = map.condemn_slc(0).expect("two are full");
    fold(&mut map, unit);
    assert_eq!(host(&mut map, 3), [0, 1], "one block, and then it waits again");
}

/// Folding takes room: never that of the collector. Catches a drive that folds itself full.
#[test]
fn nothing_is_folded_into_the_last_free_block() {
    let mut map = map(SlcSpace { folds_when_full: true, ..space(SlcBlocks::Kept(2)) });
    write_all(&mut map, 0..4, Stream::Host);
    let free_now = |map: &Ftl| map.free_units(0);
    // The host takes what it gets: all but the collector's block.
    let past = take_all(&mut map, Stream::Host);
    assert_eq!((past.len(), free_now(&map)), (9 * 6, 1));
    assert!(map.lacks_free(0) && map.must_fold(0));
    assert_eq!(map.condemn_slc(0), None, "its two pages would open the last block");
    // With a block open the collector has room beside the last.
    let mut map = self::map(space(SlcBlocks::Kept(2)));
    write_all(&mut map, 0..4, Stream::Host);
    write(&mut map, 50, Stream::Gc);
    take_all(&mut map, Stream::Host);
    assert_eq!(free_now(&map), 1);
    assert_eq!(map.condemn_slc(0), Some(0));
}

/// Catches a cache that a mount forgets: blocks would be written beyond their last page, or be lost to it.
#[test]
fn a_mount_knows_blocks_in_slc_mode_by_what_it_is_told() {
    for (blocks, kept) in [(SlcBlocks::Kept(2), true), (SlcBlocks::Any(2), false)] {
        let mut map = map(space(blocks));
        map.mount_slc(|unit| unit == 0 || unit == 1);
        map.mount(|unit| [0, 5].contains(&unit).then_some(u64::from(unit)));
        map.check_counts();
        assert_eq!([0, 1, 5].map(|unit| map.is_slc(unit)), [true, false, false], "block 1 holds nothing that is needed");
        assert!(map.may_fold(0));
        while let Some(unit) = map.condemn_dirty(0) {
            map.erased(unit);
        }
        assert_eq!(map.free_units(0), if kept { 9 } else { 10 });
        assert_eq!(host(&mut map, 3).len(), 3);
        assert!(map.is_slc(1), "the one block that the cache has left");
        map.check_counts();
    }
}

/// A write history goes past the cache.
#[test]
fn a_cache_that_is_not_used_stays_empty() {
    let mut map = map(SlcSpace { waits: true, ..space(SlcBlocks::Kept(2)) });
    map.bypass_slc();
    assert_eq!(host(&mut map, 2), [12, 13]);
    map.use_slc();
    assert_eq!(host(&mut map, 2), [0, 1]);
}
