//! Mounts of tiny drives, and the rules by which they choose.

use super::*;
use crate::config::{BufferKind, Pace};
use crate::core::testing::{tiny_array, tiny_setup, tiny_setup_with_profiles};
use crate::engine::testing::{TinyDrive, tiny_drive};
use crate::fit::build_scheme;
use crate::power::cut::cut;
use device::contents::Tag;
use ftl::Place;
use nand::{FlashArray, MemoryArray};
use vocab::{Fua, HostCommand, HostOp, Lba, SimTime, Streams};

/// The host writes this many pages from this one on.
fn write_of(lpn: u32, pages: u32) -> HostCommand {
    let (stream, op) = (vocab::StreamId::default(), HostOp::Write(Fua::No));
    HostCommand { at: SimTime::ZERO, op, lba: Lba(u64::from(lpn) * 8), sectors: pages * 8, stream }
}

fn copy(update: u64, slot: u32) -> Newest {
    Newest::copy(update, 0, Slot(slot))
}

/// Slot 1 is a suspect. Fails if a copy of the same contents, or an older one, may be erased while all that counts is a page
/// that may not last (torture, seed 502, 2244003: two copies, of which two cuts in a row took one each).
#[test]
fn a_copy_stays_while_what_counts_instead_of_it_is_a_suspect() {
    let is_suspect = |slot: Slot| slot == Slot(1);
    assert!(counts_next(Some(copy(7, 1)), &copy(7, 2), is_suspect), "the same contents once more");
    assert!(counts_next(Some(copy(7, 1)), &copy(6, 2), is_suspect), "the contents before them");
    assert!(!counts_next(Some(copy(7, 1)), &copy(7, 1), is_suspect), "it counts itself");
    assert!(!counts_next(Some(copy(7, 3)), &copy(7, 2), is_suspect), "the page that counts is no suspect");
    assert!(!counts_next(None, &copy(7, 2), is_suspect), "nothing of that page counts");
}

/// Three cuts in a row may leave three copies. Fails if the drive keeps a unit for each of them although it has none
/// left to write to, or lets go of the first, which is what was durable when the write was answered.
#[test]
fn a_copy_is_one_too_many_beside_one_that_lasts_or_an_earlier_one() {
    let at = |sequence, update| Newest::copy(update, sequence, Slot(sequence as u32));
    let all = [at(3, 7), at(5, 7), at(4, 6)];
    let too_many = |copy, lasting| is_one_too_many(&copy, lasting, all.iter());
    assert!(!too_many(at(3, 7), None), "the first of its contents");
    assert!(too_many(at(5, 7), None), "an earlier copy has the same contents");
    assert!(!too_many(at(4, 6), None), "the others are of other contents");
    assert!(!too_many(at(3, 7), Some(at(2, 6))), "what lasts is older");
    assert!(too_many(at(3, 7), Some(at(9, 7))) && too_many(at(4, 6), Some(at(9, 7))), "a copy lasts");
    assert!(!too_many(at(3, 7), Some(Newest::nowhere(7))), "it is known to be lost");
}

/// A drive without a scheme. Pages 0 and 1 were written, and page 0 once more. Catches units that are kept from being erased for a suspect
/// in which nothing would count, and a unit that is not kept though its copy would.
#[test]
fn a_unit_is_kept_for_a_suspect_only_if_a_copy_in_it_would_count() {
    let mut setup = tiny_setup("none", BufferKind::Off);
    setup.power.mountable = true;
    let mut drive = tiny_drive(&setup);
    let copies = [0, 1, 0].map(|lpn| {
        drive.replay(&mut [write_of(lpn, 1)].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        let Place::At(slot) = drive.core.map.lookup(Lpn(lpn)) else { panic!("it was written") };
        let ppn = drive.core.device.grid.page_of(slot).0;
        found::data_in(&drive.core, ppn).next().expect("its own page").1
    });
    let [old, other, new] = copies;
    let with = Choice { pages: vec![Some(new), Some(other)], ..Choice::default() };
    let without = Otherwise::of(&with, found::Found::new(Newests::All(with.pages.clone())));
    let page = |copy: Newest| drive.core.device.grid.page_of(copy.slot.expect("in flash")).0;
    let unit = |copy: Newest| drive.core.map.unit_of(copy.slot.expect("in flash"));
    assert!(unit(old) != unit(new) && unit(old) != unit(other));
    let kept = |suspects: &[Newest]| fallback(&drive, &with, &without, &suspects.iter().map(|&copy| page(copy)).collect());
    assert_eq!(kept(&[other]), (vec![], vec![]), "the unit holds the page that counts, and no copy that would count next");
    assert_eq!(kept(&[old]), (vec![], vec![]), "the newer copy is no suspect");
    assert_eq!(kept(&[old, new]), (vec![], vec![unit(old)]), "the older copy counts next, and is one too many beside the newer");
}

/// Only collection can take back what a codeword gives. Catches a mount under rows or block groups that does not look what codewords give if suspects
/// cannot be read, and one that does so under another scheme, or where a die is dead and the second state has it already.
#[test]
fn codewords_are_asked_apart_under_rows_and_groups_without_a_dead_die() {
    for (scheme, asked) in [("ds-raid", true), ("mds-groups", true), ("raid5", false), ("none", false)] {
        let mut setup = tiny_setup(scheme, BufferKind::Off);
        setup.power.mountable = true;
        let mut drive = tiny_drive(&setup);
        let is_asked = |drive: &TinyDrive| {
            let scanned = ScannedPages::new(&drive.core.device.array, None);
            let (remains, journal) = (Remains::default(), Journal::new(drive.core.map.user_slots()));
            choose_each(drive, &evidence_of(&scanned, &remains), &journal, &BTreeSet::new()).2.is_some()
        };
        assert_eq!(is_asked(&drive), asked, "{scheme}");
        drive.core.device.array.kill(DieId(0));
        drive.core.device.losses.die_died(DieId(0));
        assert!(!is_asked(&drive), "{scheme}, with a dead die");
    }
}

/// The checkpoint that a mount leaves is what the next one believes. Catches blocks that hold something and are noted as erased, whole
/// blocks without a summary, and a summary of a block with a page that may not last.
#[test]
fn a_mount_leaves_a_summary_of_what_each_block_holds() {
    let mut setup = tiny_setup("none", BufferKind::Off);
    (setup.user_slots, setup.power.mountable, setup.power.checkpoint) = (50, true, true);
    let mut drive = tiny_drive(&setup);
    drive.replay(&mut [write_of(0, 42)].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
    let remains = cut(&mut drive, &[]);
    let protection = build_scheme(&setup.drive, &setup.scheme).expect("a scheme for this drive");
    let mut mounted = TinyDrive::new(&setup, protection, drive.core.device.array.clone()).expect("settings in range");
    mount(&mut mounted, remains);
    let core = &mounted.core;
    let checkpoint = core.safe.checkpoint.as_ref().expect("the drive keeps one");
    let suspected: BTreeSet<BlockAddr> = core.device.losses.remembered.iter().map(|&ppn| core.device.block_of(ppn)).collect();
    let mut seen = [0; 4];
    for block in (0..core.device.grid.geometry().blocks()).map(BlockAddr) {
        let info = core.device.array.block(block);
        let (kind, expected) = match info.next_page {
            0 => (0, Summary::Erased),
            4 if !suspected.contains(&block) => (1, Summary::Whole(info.pe)),
            4 => (2, Summary::None),
            _ => (3, Summary::None),
        };
        seen[kind] += 1;
        assert_eq!(checkpoint.of(block), expected, "{block:?} with {} pages", info.next_page);
    }
    assert!(seen.iter().all(|&seen| seen > 0), "erased, whole, with a page that may not last, in part: {seen:?}");
}

/// By hand: a page takes two commands of 300 ns, 40 us, and 4096 bytes at 400 MT/s. Catches a mount that reads page profiles in no time.
#[test]
fn a_mount_takes_the_time_of_reading_page_profiles() {
    let setup = tiny_setup_with_profiles();
    let protection = build_scheme(&setup.drive, &setup.scheme).expect("a scheme for this drive");
    let memory = MemoryArray::<Tag>::new(setup.drive.geometry, true).keeping_updates().keeping_ecc();
    let mut drive = TinyDrive::new(&setup, protection, tiny_array(memory)).expect("settings in range");
    let way = drive.writer.way;
    drive.care.start_ecc(&mut drive.core, way, &setup, &Streams::new(1)).expect("settings in range");
    let engine = &mut drive;
    let flushed = ecc::PartialProfile { errc: 1, reads: 1, codewords: 1, ..ecc::PartialProfile::default() };
    let found = ecc::FoundProfile { flushed, beside: None, is_newer: false };
    engine.core.device.ecc.as_mut().expect("a drive with ECC").policy.restore(Ppn(0), &found);
    engine.care.flush_due(&mut engine.core, crate::care::HostUse::Away);
    engine.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
    let pages = engine.care.profiles.as_ref().expect("it flushes them").pages_to_read();
    assert!(pages > 0, "profiles are in flash");
    let scanned = ScannedPages::new(&engine.core.device.array, None);
    let with = read_for_mount(engine, &scanned, None);
    engine.care.profiles = None;
    let without = read_for_mount(engine, &scanned, None);
    let more = (with.time.0 - without.time.0, with.bytes.0 - without.bytes.0);
    assert_eq!(more, (u64::from(pages) * (2 * 300 + 40_000 + 10_240), u64::from(pages) * 4096));
}
