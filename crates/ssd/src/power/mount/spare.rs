//! Copies that give way, in turn, where several cuts in a row have left no unit to write to: each left a unit with a few copies of
//! pages that the next cut found where they may not last.

use crate::core::data_of;
use crate::core::flash::FlashPayload;
use crate::core::mounting::{OlderContents, SpareCopies};
use crate::core::newest::Newest;
use crate::engine::Engine;
use crate::power::mount::choice::{Choice, Otherwise};
use crate::power::mount::scanned::ScannedPages;
use crate::write::found::{ScanSeen, data_in};
use ftl::{UnitId, UnitState};
use nand::Member;
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Lpn, Ppn, Slot};

/// Adds what may give way, of rows and block groups. `without`: the state if suspects cannot be read, and the same where codewords
/// give lost pages.
pub(super) fn find_spare_copies<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    suspects: &BTreeSet<Ppn>,
    with: &Choice,
    without: &Otherwise,
    solving: Option<&Otherwise>,
    spare: &mut SpareCopies,
) {
    spare.others = other_copies(engine, with, without, suspects);
    spare.bare = bare_copies(&spare.others, with, without);
    spare.solved = solving.map_or_else(Vec::new, |solving| solved_copies(engine, with, solving, suspects));
    if !has_unit_to_write_to(engine) {
        spare.older = older_contents(engine, scanned, with, without, suspects);
        spare.elsewhere = copies_elsewhere(engine, scanned, with, suspects);
    }
}

/// Whether a unit is free, or only has to be erased.
fn has_unit_to_write_to<P: FlashPayload>(engine: &Engine<P>) -> bool {
    let has_room = |unit| matches!(engine.core.map.unit(unit).state, UnitState::Free | UnitState::Dirty);
    (0..engine.core.map.units() as UnitId).any(has_room)
}

/// The newest contents of logical pages where they do not count, but for copies in suspects.
fn copies_elsewhere<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    with: &Choice,
    suspects: &BTreeSet<Ppn>,
) -> Vec<(Lpn, Slot)> {
    let lasting =
        scanned.valid().into_iter().filter(|&ppn| !suspects.contains(&ppn) && engine.writer.may_count(&engine.core, ppn));
    let copies = lasting.flat_map(|ppn| data_in(&engine.core, ppn)).filter_map(|(lpn, found)| {
        let newest = with.page(lpn).filter(|newest| newest.update == found.update && newest.slot != found.slot);
        newest.and(found.slot).map(|slot| (lpn, slot))
    });
    copies.collect()
}

fn is_suspect<P: FlashPayload>(engine: &Engine<P>, suspects: &BTreeSet<Ppn>, slot: Slot) -> bool {
    suspects.contains(&engine.core.device.grid.page_of(slot).0)
}

/// Logical pages that would count in another copy if suspects could not be read, because they lie in one or their codeword has
/// one, and that copy: one that lasts, or else, of pages in a suspect, the first of those that may not.
fn other_copies<P: FlashPayload>(
    engine: &Engine<P>,
    with: &Choice,
    without: &Otherwise,
    suspects: &BTreeSet<Ppn>,
) -> Vec<(Lpn, Slot)> {
    let solved: BTreeSet<Slot> = without.solved.iter().map(|member| member.slot).collect();
    let copies: Vec<(Lpn, Newest)> = suspects.iter().flat_map(|&ppn| data_in(&engine.core, ppn)).collect();
    let others = (0..).map(Lpn).zip(&with.pages).filter_map(|(lpn, newest)| {
        let newest = newest.as_ref()?;
        let counts = newest.slot?;
        let lasting = without.page(with, lpn).filter(|without| without.update == newest.update).and_then(|without| without.slot);
        let same = copies.iter().filter(|(other, copy)| *other == lpn && copy.update == newest.update);
        let first = same.min_by_key(|(_, copy)| copy.sequence).and_then(|(_, copy)| copy.slot);
        let first = first.filter(|_| is_suspect(engine, suspects, counts));
        let other = lasting.filter(|slot| !solved.contains(slot)).or(first).filter(|&slot| slot != counts)?;
        Some((lpn, other))
    });
    others.collect()
}

/// Copies in codewords that survive no loss, where the codeword of the page that counts survives one.
fn bare_copies(others: &[(Lpn, Slot)], with: &Choice, without: &Otherwise) -> BTreeSet<Lpn> {
    let is_bare = |&&(lpn, slot): &&(Lpn, Slot)| {
        let copy = without.page(with, lpn).filter(|copy| copy.slot == Some(slot));
        copy.is_some_and(|copy| copy.survives == 0) && with.page(lpn).is_some_and(|counts| counts.survives > 0)
    };
    others.iter().filter(is_bare).map(|(lpn, _)| *lpn).collect()
}

/// Logical pages that count in a suspect, and the same contents as a codeword without suspects brings them back.
fn solved_copies<P: FlashPayload>(
    engine: &Engine<P>,
    with: &Choice,
    without: &Otherwise,
    suspects: &BTreeSet<Ppn>,
) -> Vec<(Lpn, Member)> {
    let solved = &without.solved;
    let copies = without.pages().filter_map(|(lpn, without)| {
        let (with, without) = (with.page(lpn)?, without?);
        let counts = with.slot.filter(|&slot| is_suspect(engine, suspects, slot))?;
        let other = without.slot.filter(|&slot| slot != counts && without.update == with.update)?;
        let member = solved.iter().find(|member| member.slot == other)?;
        Some((lpn, *member))
    });
    copies.collect()
}

/// Logical pages that count in a suspect with contents of which no one was told, and what the page held before, which would
/// count if no suspect could be read. Those apart of which anything newer is in another unit, or a codeword gives it: the next
/// mount would find it.
fn older_contents<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    with: &Choice,
    without: &Otherwise,
    suspects: &BTreeSet<Ppn>,
) -> Vec<OlderContents> {
    let gone: BTreeSet<Slot> = without.solved.iter().map(|member| member.slot).collect();
    let mut older: BTreeMap<Lpn, (UnitId, OlderContents)> = BTreeMap::new();
    for (lpn, before) in without.pages() {
        let (Some(newest), Some(Newest { update, slot: Some(slot), .. })) = (with.page(lpn), before) else { continue };
        let Some(counts) = newest.slot.filter(|&slot| is_suspect(engine, suspects, slot)) else { continue };
        if update < newest.update && engine.core.safe.journal.rank(lpn) <= update && !gone.contains(&slot) {
            older.insert(lpn, (engine.core.map.unit_of(counts), OlderContents { lpn, slot, update }));
        }
    }
    let mut give_newer = |unit: Option<UnitId>, lpn: Lpn, update: u64| {
        if older.get(&lpn).is_some_and(|(own, before)| Some(*own) != unit && update > before.update) {
            older.remove(&lpn);
        }
    };
    for ppn in scanned.valid() {
        let unit = engine.core.map.unit_of_block(engine.core.device.block_of(ppn));
        data_in(&engine.core, ppn).for_each(|(lpn, found)| give_newer(Some(unit), lpn, found.update));
    }
    for member in &with.solved {
        data_of(member.tag).into_iter().for_each(|lpn| give_newer(None, lpn, member.update));
    }
    older.into_values().map(|(_, before)| before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::journal::Journal;
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::{TinyDrive, tiny_drive};
    use crate::write::found::{Found, Newests};
    use ftl::{Place, Stream};
    use vocab::{Fua, HostCommand, HostOp, Lba, SimTime};

    /// A drive that has written page 0 this many times, and where each of its copies lies.
    fn drive(times: usize) -> (TinyDrive, Vec<Newest>) {
        let mut setup = tiny_setup("none", BufferKind::Off);
        setup.power.mountable = true;
        let mut drive = tiny_drive(&setup);
        let (stream, op) = (vocab::StreamId::default(), HostOp::Write(Fua::No));
        let write = HostCommand { at: SimTime::ZERO, op, lba: Lba(0), sectors: 8, stream };
        let copies = (0..times).map(|_| {
            drive.replay(&mut [write].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
            let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written") };
            let ppn = drive.core.device.grid.page_of(slot).0;
            data_in(&drive.core, ppn).find(|(_, found)| found.slot == Some(slot)).map(|(_, found)| found).expect("its own page")
        });
        let copies = copies.collect();
        (drive, copies)
    }

    /// Of page 0 these contents count, and those if no suspect could be read.
    fn states(with: Newest, without: Newest) -> (Choice, Otherwise) {
        let with = Choice { pages: vec![Some(with)], ..Choice::default() };
        let pages = Newests::All(vec![Some(without)]);
        let without = Otherwise::of(&with, Found::new(pages));
        (with, without)
    }

    fn page_of(drive: &TinyDrive, copy: Newest) -> Ppn {
        drive.core.device.grid.page_of(copy.slot.expect("a copy in flash")).0
    }

    /// Catches a page that stays where it is because it is no suspect itself, though it lies there only for the sake of a parity
    /// that may not last, so that each unit holds something and nothing can be written (torture, seed 990001, 184304); and other
    /// contents that are taken for a copy.
    #[test]
    fn a_page_that_counts_for_the_sake_of_a_suspect_has_another_copy() {
        let (drive, copies) = drive(2);
        let [first, second] = copies[..] else { panic!("two copies") };
        for (update, others) in [(second.update, vec![(Lpn(0), first.slot.expect("in flash"))]), (first.update, vec![])] {
            let (with, without) = states(second, Newest { update, ..first });
            assert_eq!(other_copies(&drive, &with, &without, &BTreeSet::new()), others);
        }
    }

    /// Page 0 was written several times and lies in a suspect. Catches a drive that goes back to older contents though a unit has
    /// room, or the host was told of the newer ones, or another copy of something newer is left, which the next mount would find; and one that
    /// keeps what no one was told of and has no room for anything any more (torture, seed 880006, 247275).
    #[test]
    fn contents_before_those_of_a_suspect_may_count_where_nobody_was_told_and_nothing_else_is_newer() {
        for (times, is_full, was_told, expected) in
            [(2, true, false, 1), (2, false, false, 0), (2, true, true, 0), (3, true, false, 0)]
        {
            let (mut drive, copies) = drive(times);
            let (first, last) = (copies[0], copies[times - 1]);
            for log in 0..if is_full { drive.core.map.logs() } else { 0 } {
                while drive.core.map.take_page(log, Stream::Gc).is_some() {}
            }
            if !was_told {
                drive.core.safe.journal = Journal::new(drive.core.map.user_slots());
            }
            let scanned = ScannedPages::new(&drive.core.device.array, None);
            let (with, without) = states(last, first);
            let (suspects, mut spare) = ([page_of(&drive, last)].into(), SpareCopies::default());
            find_spare_copies(&drive, &scanned, &suspects, &with, &without, None, &mut spare);
            let (slot, update) = (first.slot.expect("in flash"), first.update);
            let all = [OlderContents { lpn: Lpn(0), slot, update }];
            assert_eq!(spare.older, all[..expected], "{times} times, full: {is_full}, told: {was_told}");
        }
    }
}
