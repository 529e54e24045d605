//! Flash in memory alone.

use super::*;
use vocab::{Bytes, Lpn, Nanos, PlaneUse};

impl Payload for u64 {}

/// Two dies with 4 blocks of 3 pages each.
pub(crate) fn array() -> MemoryArray<u64> {
    let geometry = Geometry {
        channels: 1,
        dies_per_channel: 2,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 4,
        pages_per_block: 3,
        page_size: Bytes(4096),
        oob_size: Bytes(64),
        slot_size: Bytes(4096),
    };
    MemoryArray::new(geometry, true)
}

fn program(array: &mut MemoryArray<u64>, ppn: u32, value: u64) {
    let oob = Oob { sequence: value, ..Oob::default() };
    array.program(Ppn(ppn), &[OobTag::data(Lpn(ppn))], &[value], oob, SimTime(0));
}

#[test]
fn a_page_reads_back_what_was_programmed() {
    let mut array = array();
    program(&mut array, 3, 70);
    program(&mut array, 4, 71);
    assert_eq!(array.read(Ppn(4)), ReadOutcome::Clean);
    let page = array.page(Ppn(4));
    assert_eq!((array.payload(Ppn(4)), page.tags, page.oob.sequence), (&[71][..], &[OobTag::data(Lpn(4))][..], 71));
    assert_eq!(array.block(BlockAddr(1)).reads, 1);
}

#[test]
fn an_array_without_payload_gives_the_default_of_each_slot_and_keeps_the_oob_bytes() {
    let one_slot = *array().grid().geometry();
    for slots in [1, 4] {
        let page_size = Bytes(u64::from(slots) * one_slot.slot_size.0);
        let mut array = MemoryArray::new(Geometry { page_size, ..one_slot }, true).without_payload();
        let (tags, payload) = (vec![OobTag::data(Lpn(7)); slots as usize], vec![70u64; slots as usize]);
        array.program(Ppn(0), &tags, &payload, Oob { sequence: 70, ..Oob::default() }, SimTime(0));
        assert_eq!((array.payload(Ppn(0)), array.tags(Ppn(0))), (&vec![0; slots as usize][..], &tags[..]));
        assert_eq!(array.slot(Ppn(0), slots - 1), (OobTag::data(Lpn(7)), &0, 70));
    }
}

#[test]
fn a_fork_keeps_its_own_history() {
    let mut array = array();
    program(&mut array, 0, 1);
    let mut fork = array.clone();
    program(&mut fork, 1, 2);
    fork.erase(BlockAddr(0));
    program(&mut fork, 0, 9);
    assert_eq!(array.payload(Ppn(0)), [1]);
    assert_eq!(fork.payload(Ppn(0)), [9]);
    assert_eq!((array.block(BlockAddr(0)).pe, fork.block(BlockAddr(0)).pe), (0, 1));
}

#[test]
#[should_panic(expected = "programmed out of order")]
fn pages_are_programmed_in_order() {
    program(&mut array(), 1, 0);
}

#[test]
#[should_panic(expected = "programmed out of order")]
fn a_page_is_programmed_once() {
    let mut array = array();
    program(&mut array, 0, 0);
    program(&mut array, 0, 0);
}

#[test]
#[should_panic(expected = "read before it was programmed")]
fn an_erased_page_is_not_read() {
    let mut array = array();
    program(&mut array, 0, 0);
    array.erase(BlockAddr(0));
    array.read(Ppn(0));
}

#[test]
#[should_panic(expected = "bad block")]
fn a_bad_block_is_not_programmed() {
    let mut array = array();
    array.set_age(BlockAddr(0), |info| info.bad = true);
    program(&mut array, 0, 0);
}

/// Pages of 10, 40 and 90 days, and a leap of 200 days since day 60, seen on day 100: what was written before the leap began grows older by
/// it, what was written since does not; reads go with the age of their block. With a refresh every 30 days both are what is left of whole periods.
#[test]
fn a_leap_ages_cold_data_alone_and_refresh_keeps_data_young() {
    let day = |days: u64| SimTime(days * 86_400 * NANOS_PER_S);
    let mut array = array().keeping_ecc();
    for (ppn, written) in [(0, 10), (1, 60), (3, 90)] {
        array.program(Ppn(ppn), &[OobTag::data(Lpn(ppn))], &[1], Oob::default(), day(written));
    }
    // Each block once a day.
    (0..90).for_each(|_| _ = array.read(Ppn(0)));
    (0..10).for_each(|_| _ = array.read(Ppn(3)));
    let fork = array.clone();
    array.leap(day(100), day(60), Nanos(day(200).0));
    let reads = |array: &MemoryArray<u64>| [0, 1].map(|block| array.block(BlockAddr(block)).reads);
    assert_eq!(reads(&array), [290, 10]);
    let age = |array: &MemoryArray<u64>, ppn, now: u64| (day(now).0 - array.page(Ppn(ppn)).written.0) / day(1).0;
    assert_eq!([0, 1, 3].map(|ppn| age(&fork, ppn, 100)), [90, 40, 10], "a fork is not touched");
    assert_eq!([0, 1, 3].map(|ppn| age(&array, ppn, 300)), [290, 40, 10]);
    // Two leaps in a row are one, but for reads, which are rounded down in each.
    let mut twice = fork.clone();
    twice.leap(day(100), day(60), Nanos(day(120).0));
    twice.leap(day(220), day(180), Nanos(day(80).0));
    assert_eq!([0, 1, 3].map(|ppn| age(&twice, ppn, 300)), [290, 40, 10]);
    assert!(reads(&twice)[0].abs_diff(290) <= 2 && reads(&twice)[1] == 10, "{:?}", reads(&twice));
    assert_eq!(array.block(BlockAddr(1)).first_program, day(290));
    array.refreshed_every(day(300), Nanos(day(30).0));
    assert_eq!([0, 1, 3].map(|ppn| age(&array, ppn, 300)), [20, 10, 10]);
    assert_eq!(reads(&array), [20, 10]);
    // Block 1 is ahead of block 0 by 0.618 of the 30 days.
    array.refreshed_every(day(340), Nanos(day(30).0));
    assert_eq!([0, 1, 3].map(|ppn| age(&array, ppn, 340)), [0, 20, 8]);
}
