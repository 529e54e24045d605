//! Reads that a die senses while it moves others: against times worked out by hand, and against the recurrence of a pipeline.

use crate::common::*;
use flashkeep_device::config::Scheduler;
use nand::{Timing, Transfer};
use proptest::prelude::*;
use vocab::{Nanos, SimTime};

/// A device whose first blocks are full, and where its clock stands then.
fn full(blocks: u32, change: impl FnOnce(&mut Timing)) -> (Tiny, u64) {
    let mut device = device_with(Scheduler::Fifo, 16, change);
    for block in 0..blocks {
        for at in 0..16 {
            let ppn = page(&device, 0, block, at);
            program(&mut device, ppn, block * 16 + at, 0);
        }
    }
    run(&mut device);
    let now = device.now.0;
    (device, now)
}

/// When reads of these pages of the first block end that are queued at once, each by its number, from then on.
fn read_at_once(device: &mut Tiny, pages: &[u32]) -> Vec<u64> {
    let start = device.now.0;
    for (number, &at) in pages.iter().enumerate() {
        let ppn = page(device, 0, 0, at);
        read(device, ppn, number as u32);
    }
    let ended = run(device);
    assert!(ended.iter().map(|&(owner, _)| owner as usize).eq(0..pages.len()), "{ended:?}");
    ended.into_iter().map(|(_, at)| at - start).collect()
}

/// Catches cells that wait for the transfer, and a page that is sensed before the one before it is in the cache register.
#[test]
fn a_cache_read_senses_while_the_page_before_it_leaves() {
    const CACHE: u64 = 300;
    let one = COMMAND + READ + TRANSFER;
    let (mut device, _) = full(1, |_| {});
    assert_eq!(read_at_once(&mut device, &[0, 5]), [one, 2 * one]);
    let (mut device, _) = full(1, |timing| timing.cache_read = Some(Nanos(CACHE)));
    let second = COMMAND + READ + CACHE + COMMAND + READ + TRANSFER;
    assert_eq!(read_at_once(&mut device, &[0, 5]), [one, second]);
    assert_eq!(read_at_once(&mut device, &[7]), [one], "the die had nothing to do: nothing was sensed ahead");
}

/// Catches cells that are not hidden behind transfers that take longer than they.
#[test]
fn long_transfers_hide_the_cells() {
    const LONG: u64 = 60_000;
    let (mut device, _) = full(1, |timing| {
        timing.cache_read = Some(Nanos(300));
        timing.transfer = Transfer::PerPage(Nanos(LONG));
    });
    let first = COMMAND + READ + LONG;
    assert_eq!(read_at_once(&mut device, &[0, 5, 9]), [first, first + COMMAND + LONG, first + 2 * (COMMAND + LONG)]);
}

/// Catches planes that wait for each other, and pages of one plane that are sensed at the same time.
#[test]
fn planes_sense_different_pages_at_the_same_time() {
    let independent = |timing: &mut Timing| {
        gathered(timing);
        timing.independent_planes = true;
    };
    let one = COMMAND + READ + TRANSFER;
    // Pages 0 and 8 are of the first plane, 10 of the second; 0 to 7 and 8 to 15 are of two word lines.
    let (mut device, _) = full(1, gathered);
    assert_eq!(read_at_once(&mut device, &[0, 10]), [one, 2 * one]);
    let (mut device, _) = full(1, independent);
    assert_eq!(read_at_once(&mut device, &[0, 10]), [one, one + COMMAND + TRANSFER]);
    let (mut device, _) = full(1, independent);
    assert_eq!(read_at_once(&mut device, &[0, 8]), [one, 2 * one]);
}

/// Catches a read that is sensed while its die erases, and time that counts although the cells were at work on something else.
#[test]
fn nothing_is_sensed_while_the_die_erases() {
    let (mut device, start) = full(2, |timing| {
        gathered(timing);
        timing.cache_read = Some(Nanos(300));
        timing.independent_planes = true;
    });
    let (victim, wanted) = (page(&device, 0, 1, 0), page(&device, 0, 0, 0));
    erase(&mut device, victim, 0);
    read(&mut device, wanted, 1);
    let erased = start + COMMAND + ERASE;
    assert_eq!(run(&mut device), [(0, erased), (1, erased + COMMAND + READ + TRANSFER)]);
}

proptest! {
    /// Catches any pair of waits that the die confuses: reads leave in order, each after its plane was free of the one before it.
    #[test]
    fn reads_are_those_of_a_pipeline(
        reads in prop::collection::vec((0u64..120_000, 0u32..4), 1..40),
        cache in prop::option::of(0u64..40_000),
        independent in any::<bool>(),
        transfer in 1u64..100_000,
    ) {
        let (mut device, start) = full(4, |timing| {
            gathered(timing);
            timing.command = Nanos(0);
            timing.transfer = Transfer::PerPage(Nanos(transfer));
            timing.cache_read = cache.map(Nanos);
            timing.independent_planes = independent;
        });
        let (mut now, mut ended, mut expected) = (start, Vec::new(), Vec::new());
        let (mut free, mut leaving) = ([start; 2], start);
        for (number, &(gap, kind)) in reads.iter().enumerate() {
            now += gap;
            ended.extend(run_until(&mut device, now));
            device.now = SimTime(now);
            // Another block than the read before it, so that no register has the page; by its kind one of two bits and planes.
            let (bit, plane) = (kind / 2, kind % 2);
            let ppn = page(&device, 0, number as u32 % 4, bit * 4 + plane * 2);
            read(&mut device, ppn, number as u32);
            let plane = if independent { plane as usize } else { 0 };
            let sensed = free[plane].max(now) + if bit == 0 { READ } else { MSB_READ };
            let leaves = sensed.max(leaving);
            leaving = leaves + transfer;
            free[plane] = cache.map_or(leaving, |cache| leaves + cache.min(transfer));
            expected.push((number as u32, leaving));
        }
        ended.extend(run(&mut device));
        prop_assert_eq!(ended, expected);
    }
}
