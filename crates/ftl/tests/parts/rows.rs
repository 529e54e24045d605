//! Rows of the group log: places, members, and which parity covers what.

use crate::drive::{Drive, units_in};
use flashkeep_ftl::{Ftl, GcConfig, LogKind, RowSpace, Stream, UnitState};
use std::collections::BTreeSet;
use vocab::{BlockAddr, DieId, Lpn, Ppn, Slot, StripSet, SuperblockId};

/// Four dies of eight superblocks of three pages.
const DIES: u32 = 4;
const BLOCKS: u32 = 8;
const PAGES: u32 = 3;

fn drive() -> Drive {
    // Superblock 1 lacks die 2, superblock 2 has die 3 only, superblock 3 has dies 0 and 3.
    let bad = [(2, 1), (0, 2), (1, 2), (2, 2), (1, 3), (2, 3)].map(|(die, block)| die * BLOCKS + block).to_vec();
    Drive { bad, ..Drive::new(LogKind::Group, DIES, BLOCKS, PAGES) }
}

fn set(dies: &[u32]) -> StripSet {
    dies.iter().copied().collect()
}

/// Erases a superblock that holds nothing.
fn erase(map: &mut Ftl, superblock: u32) {
    assert!(map.condemn_unit(superblock), "superblock {superblock} is not closed");
    map.erased(superblock);
}

/// Ends rows until the host's superblock is closed; its number.
fn fill(map: &mut Ftl) -> u32 {
    let (superblock, page) = map.open_row(Stream::Host).expect("room");
    (page..PAGES).for_each(|_| map.next_row(Stream::Host));
    superblock.0
}

#[test]
fn members_are_the_dies_whose_block_is_good() {
    let map = drive().map();
    let members: Vec<StripSet> = (0..4).map(|superblock| map.rows().members(SuperblockId(superblock))).collect();
    assert_eq!(members, [set(&[0, 1, 2, 3]), set(&[0, 1, 3]), set(&[3]), set(&[0, 3])]);
    assert_eq!(units_in(&map, UnitState::Bad), [2], "a row of one page has no room for its parity");
    let blocks: Vec<BlockAddr> = map.blocks_of(1).collect();
    assert_eq!(blocks, [1, BLOCKS + 1, 3 * BLOCKS + 1].map(BlockAddr));
}

#[test]
fn blocks_of_a_region_unit_are_the_block_itself() {
    let map = Drive::new(LogKind::Regions, 2, 6, 2).map();
    assert_eq!(map.blocks_of(9).collect::<Vec<_>>(), [BlockAddr(9)]);
}

#[test]
fn a_row_has_one_place_on_each_member_turned_by_the_rotation() {
    let map = drive().map();
    let dies = |superblock, rotation| {
        let width = map.rows().members(SuperblockId(superblock)).len();
        let places = (0..width).map(|used| map.rows().place(map.rows().row(SuperblockId(superblock), 2), used, rotation));
        places.map(|place| place.die.0).collect::<Vec<_>>()
    };
    assert_eq!(dies(0, 0), [0, 1, 2, 3]);
    assert_eq!(dies(0, 3), [3, 0, 1, 2]);
    assert_eq!(dies(1, 0), [0, 1, 3]);
    assert_eq!(dies(1, 2), [3, 0, 1]);
    assert_eq!(dies(1, 7), [1, 3, 0]);
    assert_eq!(dies(3, 1), [3, 0]);
    let place = map.rows().place(map.rows().row(SuperblockId(1), 2), 2, 0);
    // Block 1 of die 3 is block 25 of the drive; its page 2 is page 77.
    assert_eq!((place.row, place.die, place.ppn), (PAGES + 2, DieId(3), Ppn(77)));
}

#[test]
fn every_page_is_in_one_row_on_its_die() {
    let map = drive().map();
    let mut seen = BTreeSet::new();
    for ppn in 0..DIES * BLOCKS * PAGES {
        let (row, die) = map.rows().row_of(Ppn(ppn));
        let (block, page) = (ppn / PAGES, ppn % PAGES);
        assert_eq!((row, u32::from(die.0)), (block % BLOCKS * PAGES + page, block / BLOCKS), "page {ppn}");
        assert_eq!(map.rows().page(row, die), Ppn(ppn));
        assert!(seen.insert((row, die)), "page {ppn} shares its place in row {row}");
    }
}

#[test]
fn rows_come_in_order_and_superblocks_close_after_their_last() {
    let mut map = drive().map();
    let mut rows = Vec::new();
    for _ in 0..2 * PAGES + 1 {
        let row = map.open_row(Stream::Host).expect("room");
        assert_eq!(map.open_row(Stream::Host), Some(row), "to look does not move on");
        assert_eq!(map.unit(row.0.0).state, UnitState::Open);
        rows.push((row.0.0, row.1));
        map.next_row(Stream::Host);
    }
    assert_eq!(rows, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (3, 0)]);
    assert_eq!(units_in(&map, UnitState::Closed), [0, 1]);
    // The collector has a superblock of its own.
    assert_eq!(map.open_row(Stream::Gc), Some((SuperblockId(4), 0)));
}

#[test]
fn the_parity_that_covers_most_counts_whichever_is_durable_first() {
    let mut map = drive().map();
    let rows = map.rows_mut();
    assert_eq!(rows.coverage(5), None);
    rows.cover(5, set(&[0, 1]), DieId(2));
    assert_eq!(rows.coverage(5), Some((set(&[0, 1]), DieId(2))));
    rows.cover(5, set(&[0, 1, 2]), DieId(3));
    // The earlier parity of the row comes late; so does another that covers as much.
    rows.cover(5, set(&[0]), DieId(1));
    rows.cover(5, set(&[1, 2, 3]), DieId(0));
    assert_eq!(rows.coverage(5), Some((set(&[0, 1, 2]), DieId(3))));
    assert_eq!((rows.coverage(4), rows.coverage(6)), (None, None));
}

#[test]
fn an_erase_empties_the_rows_of_its_superblock_only() {
    let mut map = drive().map();
    assert_eq!([fill(&mut map), fill(&mut map), fill(&mut map)], [0, 1, 3]);
    (0..BLOCKS * PAGES).for_each(|row| map.rows_mut().cover(row, set(&[0]), DieId(1)));
    erase(&mut map, 1);
    let bare: Vec<u32> = (0..BLOCKS * PAGES).filter(|&row| map.rows().coverage(row).is_none()).collect();
    assert_eq!(bare, [3, 4, 5]);
}

#[test]
fn a_superblock_without_two_members_is_retired_once_it_is_free() {
    let mut map = drive().map();
    assert_eq!(fill(&mut map), 0);
    let before = map.live_max(0);
    for die in [0, 1] {
        map.drop_member(SuperblockId(0), DieId(die));
        map.drop_member(SuperblockId(4), DieId(die));
    }
    assert_eq!((map.rows().members(SuperblockId(0)), map.rows().members(SuperblockId(5)).len()), (set(&[2, 3]), 4));
    assert_eq!([0, 4].map(|unit| map.unit(unit).state), [UnitState::Closed, UnitState::Free], "two members are enough");
    map.drop_member(SuperblockId(0), DieId(2));
    map.drop_member(SuperblockId(4), DieId(2));
    assert_eq!([0, 4].map(|unit| map.unit(unit).state), [UnitState::Closed, UnitState::Bad]);
    erase(&mut map, 0);
    assert_eq!(map.unit(0).state, UnitState::Bad);
    // Three rows of three data pages each, the last with one page at least.
    assert_eq!(map.live_max(0), before - 2 * 7);
    let free = map.free_units(0);
    assert_eq!(free as usize, units_in(&map, UnitState::Free).len());
}

#[test]
fn without_a_die_rows_are_narrower_and_the_collector_keeps_two_superblocks() {
    // All blocks are good, or the last superblock lacks one more, so that its rows have a single data page: how much the others hold
    // does not follow from that.
    for bad in [vec![], vec![3 * BLOCKS - 1]] {
        let mut map = Drive { bad, ..Drive::new(LogKind::Group, DIES, BLOCKS, PAGES) }.map();
        check_without_a_die(&mut map);
    }
}

fn check_without_a_die(map: &mut Ftl) {
    // Two superblocks are full: three rows of three data pages.
    for superblock in 0..2 {
        for page in 0..PAGES {
            assert_eq!(map.open_row(Stream::Host), Some((SuperblockId(superblock), page)));
            for used in 0..3 {
                let place = map.rows().place(map.rows().row(SuperblockId(superblock), page), used, 0);
                map.publish(Lpn(place.ppn.0), Slot(place.ppn.0));
            }
            map.next_row(Stream::Host);
        }
    }
    map.retire_die(DieId(1));
    assert!((0..BLOCKS - 1).all(|superblock| map.rows().members(SuperblockId(superblock)) == set(&[0, 2, 3])));
    // Three rows of two data pages remain of a superblock: six valid slots and five win no row, four do.
    for (lpns, victim) in [(3, None), (1, None), (1, Some(0))] {
        let held: Vec<Lpn> = (0..DIES * BLOCKS * PAGES).map(Lpn).filter(|lpn| lies_in_first(map, *lpn)).collect();
        for lpn in &held[..lpns] {
            let unit = map.forget(*lpn).pinned.expect("it was written");
            assert!(!map.release(unit), "it is not condemned");
        }
        assert_eq!(map.condemn(0).map(|(unit, _)| unit), victim, "{} valid", held.len() - lpns);
    }
    // Of the six free superblocks the host gets four.
    (2..6).for_each(|superblock| assert_eq!(fill(map), superblock));
    assert_eq!((map.open_row(Stream::Host), map.open_row(Stream::Gc)), (None, Some((SuperblockId(6), 0))));
}

fn lies_in_first(map: &Ftl, lpn: Lpn) -> bool {
    matches!(map.lookup(lpn), flashkeep_ftl::Place::At(slot) if map.unit_of(slot) == 0)
}

/// Fails if a superblock is used that lacks a die that others have, or if a die that is missing everywhere costs all of them.
#[test]
fn superblocks_of_a_new_drive_have_a_block_of_each_die() {
    let mut map = drive().map();
    map.retire_incomplete_superblocks();
    assert_eq!(units_in(&map, UnitState::Bad), [1, 2, 3]);
    assert_eq!(map.free_units(0) as usize, units_in(&map, UnitState::Free).len());
    let mut drive = Drive::new(LogKind::Group, DIES, BLOCKS, PAGES);
    drive.bad = (0..BLOCKS).chain([2 * BLOCKS + 1]).collect();
    let mut map = drive.map();
    map.retire_incomplete_superblocks();
    assert_eq!(units_in(&map, UnitState::Bad), [1], "die 0 has no good block at all");
}

/// Eight dies with two rows of four side by side on each page number.
fn two_side_by_side() -> Drive {
    // Superblock 1 lacks die 2; of superblock 2 the first row has die 0 alone; of superblock 3 the second row has none.
    let bad = [(2, 1), (1, 2), (2, 2), (3, 2), (4, 3), (5, 3), (6, 3), (7, 3)];
    let bad = bad.map(|(die, block)| die * BLOCKS + block).to_vec();
    Drive { bad, side_by_side: 2, ..Drive::new(LogKind::Group, 8, BLOCKS, PAGES) }
}

#[test]
fn rows_side_by_side_share_a_page_number_and_no_page() {
    let map = two_side_by_side().map();
    let mut seen = BTreeSet::new();
    for ppn in 0..8 * BLOCKS * PAGES {
        let (row, die) = map.rows().row_of(Ppn(ppn));
        let (block, page) = (ppn / PAGES, ppn % PAGES);
        let (own_die, superblock) = (block / BLOCKS, block % BLOCKS);
        assert_eq!((row, u32::from(die.0)), (superblock * 2 * PAGES + 2 * page + own_die / 4, own_die), "page {ppn}");
        assert_eq!((map.rows().page(row, die), map.rows().page_number(row)), (Ppn(ppn), page));
        assert_eq!(map.rows().superblock_of(row), SuperblockId(superblock));
        assert!(map.rows().dies(row).contains(&own_die), "die {own_die} is in row {row}");
        assert!(seen.insert((row, die)), "page {ppn} shares its place in row {row}");
    }
    assert_eq!(map.rows().count(), 2 * BLOCKS * PAGES);
}

#[test]
fn each_row_beside_others_has_members_places_and_room_of_its_own() {
    let map = two_side_by_side().map();
    let members = |superblock, number| map.rows().members_of_row(map.rows().row(SuperblockId(superblock), number));
    assert_eq!([members(0, 0), members(0, 1)], [set(&[0, 1, 2, 3]), set(&[4, 5, 6, 7])]);
    assert_eq!([members(1, 4), members(1, 5)], [set(&[0, 1, 3]), set(&[4, 5, 6, 7])]);
    assert_eq!([members(2, 0), members(3, 1)], [set(&[0]), set(&[])]);
    assert_eq!(
        units_in(&map, UnitState::Bad),
        Vec::<u32>::new(),
        "a superblock is used while one of its rows has room for data and parity"
    );
    let dies = |row, rotation| (0..3).map(|used| map.rows().place(row, used, rotation).die.0).collect::<Vec<_>>();
    assert_eq!(dies(map.rows().row(SuperblockId(1), 0), 1), [1, 3, 0]);
    assert_eq!(dies(map.rows().row(SuperblockId(1), 1), 2), [6, 7, 4]);
}

#[test]
fn rows_side_by_side_come_one_after_the_other_and_count_their_room() {
    let mut map = two_side_by_side().map();
    let mut rows = Vec::new();
    for _ in 0..2 * PAGES + 2 {
        let (superblock, number) = map.open_row(Stream::Host).expect("room");
        rows.push(map.rows().row(superblock, number));
        map.next_row(Stream::Host);
    }
    assert_eq!(rows, (0..2 * PAGES + 2).collect::<Vec<_>>());
    assert_eq!(units_in(&map, UnitState::Closed), [0]);
    // Two rows of three data pages each on each of three page numbers.
    let whole = |dies, side_by_side| {
        let grid = Drive::new(LogKind::Group, dies, BLOCKS, PAGES).grid();
        Ftl::capacity(&grid, LogKind::Group, RowSpace { side_by_side, groups: None }, 0, None, &GcConfig::default())
    };
    // Of eight superblocks four count, each with all its rows of data but one, and one page more: 2 x 3 rows of 3 pages,
    // against 3 rows of 3 and 3 rows of 7.
    assert_eq!([whole(8, 2), whole(4, 1), whole(8, 1)], [4 * (5 * 3 + 1), 4 * (2 * 3 + 1), 4 * (2 * 7 + 1)]);
}

#[test]
fn coverage_and_erase_know_the_dies_of_rows_on_both_sides() {
    let mut map = two_side_by_side().map();
    assert_eq!(fill_rows(&mut map, 2 * PAGES), 0);
    map.rows_mut().cover(2, set(&[0, 2, 3]), DieId(1));
    map.rows_mut().cover(3, set(&[4, 7]), DieId(5));
    map.rows_mut().cover(3, set(&[4]), DieId(6));
    map.rows_mut().cover(2 * PAGES, set(&[1]), DieId(0));
    assert_eq!(map.rows().coverage(2), Some((set(&[0, 2, 3]), DieId(1))));
    assert_eq!(map.rows().coverage(3), Some((set(&[4, 7]), DieId(5))));
    erase(&mut map, 0);
    let covered: Vec<u32> = (0..map.rows().count()).filter(|&row| map.rows().coverage(row).is_some()).collect();
    assert_eq!(covered, [2 * PAGES]);
}

/// Rows wider than 32 dies keep their coverage in several words.
#[test]
fn a_row_of_128_dies_remembers_each_of_them() {
    let mut map = Drive::new(LogKind::Group, 128, 6, 2).map();
    let sets = [set(&[0, 31, 32, 63, 64, 95, 96, 127]), set(&[1]), StripSet::first(127)];
    for (row, covered) in (0..).zip(sets) {
        map.rows_mut().cover(row, covered, DieId(127));
        assert_eq!(map.rows().coverage(row), Some((covered, DieId(127))));
    }
    assert_eq!(map.rows().coverage(3), None);
    assert_eq!(map.rows().members(SuperblockId(5)), StripSet::first(128));
}

/// Ends this many rows; the superblock of the last.
fn fill_rows(map: &mut Ftl, rows: u32) -> u32 {
    let mut superblock = 0;
    for _ in 0..rows {
        superblock = map.open_row(Stream::Host).expect("room").0.0;
        map.next_row(Stream::Host);
    }
    superblock
}
