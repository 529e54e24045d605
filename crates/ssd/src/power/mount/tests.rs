//! Mounts of tiny drives, and the rules by which they choose.

use super::*;
use crate::config::{BufferKind, Pace};
use crate::core::owner::Owner;
use crate::core::testing::tiny_setup;
use crate::engine::testing::{TinyDrive, tiny_drive};
use crate::power::outage::Outage;
use crate::session::{Inner, Session};
use ftl::Place;
use nand::FlashArray;
use vocab::{Cause, Fua, HostCommand, HostOp, Lba, SimTime};

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
    assert!(!counts_next(Some(copy(7, 3)), &copy(7, 2), is_suspect), "what counts lasts");
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
    assert!(too_many(at(5, 7), None), "the first of them is there");
    assert!(!too_many(at(4, 6), None), "the others are of other contents");
    assert!(!too_many(at(3, 7), Some(at(2, 6))), "what lasts is older");
    assert!(too_many(at(3, 7), Some(at(9, 7))) && too_many(at(4, 6), Some(at(9, 7))), "a copy lasts");
    assert!(!too_many(at(3, 7), Some(Newest::nowhere(7))), "it is known to be lost");
}

/// Two dies died, and a stripe has a page on each. Catches pages that are lost permanently and that memory does not know of: the
/// next mount would go back to older contents of them.
#[test]
fn what_a_mount_finds_lost_is_kept_as_lost() {
    let mut setup = tiny_setup("raid5", BufferKind::Off);
    (setup.user_slots, setup.power.mountable) = (40, true);
    let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
        panic!("its payload is tags")
    };
    prepared.engine.replay(&mut [write_of(0, 4)].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
    let die_of = |engine: &Engine<_>, lpn| match engine.core.map.lookup(lpn) {
        Place::At(slot) => engine.core.device.grid.die_of(engine.core.device.grid.page_of(slot).0),
        place => panic!("{place:?}"),
    };
    for lpn in [Lpn(1), Lpn(2)] {
        let die = die_of(&prepared.engine, lpn);
        prepared.engine.core.device.array.kill(die);
    }
    prepared.cut_power(&[], Outage::default());
    assert_eq!(prepared.engine.core.safe.lost.keys().copied().collect::<Vec<_>>(), [Lpn(1), Lpn(2)]);
}

/// Catches a cut that heals what reads have done to cells, and a controller that knows more of that than it saved: only a drive
/// with limits counts reads, in steps.
#[test]
fn cells_stay_as_often_read_as_they_were_whatever_the_controller_counts() {
    // Saved were 62 steps of 16, and one more counts as read.
    for (scheme, counted) in [("none", None), ("da-raid5", Some(63 * 16))] {
        let mut setup = tiny_setup(scheme, BufferKind::Off);
        (setup.user_slots, setup.power.mountable, setup.age.reads) = (12, true, 1000);
        setup.precondition.fill = 1.0;
        let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
            panic!("its payload is tags")
        };
        let grid = &prepared.engine.core.device.grid;
        let blocks: Vec<BlockAddr> = (0..grid.geometry().blocks()).map(BlockAddr).collect();
        let before: Vec<u32> = blocks.iter().map(|&block| prepared.engine.core.device.array.block(block).reads).collect();
        prepared.cut_power(&[], Outage::default());
        let core = &prepared.engine.core;
        // The mount itself reads a few pages.
        let now: Vec<u32> = blocks.iter().map(|&block| core.device.array.block(block).reads).collect();
        let kept = now.iter().zip(&before).filter(|(now, before)| **before == 1000 && (1000..1020).contains(*now));
        let written = before.iter().filter(|&&before| before == 1000).count();
        assert!(written > 0 && kept.count() == written, "{scheme}: {before:?}, then {now:?}");
        let known =
            blocks.iter().filter(|block| before[block.index()] == 1000).map(|b| core.limits.reads().get(b.index()).copied());
        assert!(known.clone().all(|known| known == counted), "{scheme}: {:?}", known.collect::<Vec<_>>());
    }
}

/// Blocks for page profiles belong to no log, so that the mount leaves their pages out. Catches such a block that counts as
/// the most worn of all, though its page says how worn it is.
#[test]
fn reserved_blocks_are_as_worn_as_their_pages_say() {
    let mut setup = tiny_setup("none", BufferKind::Off);
    (setup.user_slots, setup.power.mountable, setup.drive.geometry.oob_size.0) = (40, true, 224);
    (setup.ecc.policy, setup.errors.model) = ("flares".into(), "flares".into());
    setup.ecc.flush = vocab::Nanos(1_000_000);
    let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
        panic!("its payload is tags")
    };
    let core = &mut prepared.engine.core;
    let reserved = prepared.engine.care.profiles.as_ref().expect("it flushes them").blocks()[0];
    for block in (0..core.device.grid.geometry().blocks()).map(BlockAddr) {
        core.device.array.set_age(block, |info| info.pe = if block == reserved { 7 } else { 20 });
    }
    let image = core.device.images.open(core.device.grid.ppn(reserved, 0), nand::Oob::default());
    core.submit_program(image, Owner::NoOne, Cause::Meta);
    prepared.engine.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
    prepared.cut_power(&[], Outage::default());
    assert_eq!(prepared.engine.core.device.array.block(reserved).pe, 7);
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
    assert_eq!(kept(&[other]), (vec![], vec![]), "what counts lies there, and nothing that would count next");
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

/// The checkpoint that a mount leaves is what the next one believes. Catches blocks that hold something and are noted as erased, and
/// whole blocks without a summary.
#[test]
fn a_mount_leaves_a_summary_of_what_each_block_holds() {
    let mut setup = tiny_setup("none", BufferKind::Off);
    (setup.user_slots, setup.power.mountable, setup.power.checkpoint) = (50, true, true);
    let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
        panic!("its payload is tags")
    };
    prepared.engine.replay(&mut [write_of(0, 47)].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
    prepared.cut_power(&[], Outage::default());
    let core = &prepared.engine.core;
    let checkpoint = core.safe.checkpoint.as_ref().expect("the drive keeps one");
    let mut seen = [0; 3];
    for block in (0..core.device.grid.geometry().blocks()).map(BlockAddr) {
        let (info, summary) = (core.device.array.block(block), checkpoint.of(block));
        let (kind, fits) = match info.next_page {
            0 => (0, summary == Summary::Erased),
            4 => (1, [Summary::Whole(info.pe), Summary::None, Summary::Struck].contains(&summary)),
            _ => (2, summary == Summary::None),
        };
        seen[kind] += u32::from(kind != 1 || summary == Summary::Whole(info.pe));
        assert!(fits, "{block:?}, {} pages: {summary:?}", info.next_page);
    }
    assert!(seen.iter().all(|&seen| seen > 0), "erased, with a summary, in part: {seen:?}");
}

/// By hand: a page takes two commands of 300 ns, 40 us, and 4096 bytes at 400 MT/s. Catches a mount that reads page profiles in no time.
#[test]
fn a_mount_takes_the_time_of_reading_page_profiles() {
    let mut setup = tiny_setup("none", BufferKind::Off);
    (setup.user_slots, setup.power.mountable, setup.drive.geometry.oob_size.0) = (40, true, 224);
    (setup.ecc.policy, setup.errors.model) = ("flares".into(), "flares".into());
    setup.ecc.flush = vocab::Nanos(1_000_000);
    let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
        panic!("its payload is tags")
    };
    let engine = &mut prepared.engine;
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
