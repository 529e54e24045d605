//! Flash commands that follow a mount: pages that may not last are written again, then the host is heard.
//!
//! In the meantime units are only erased, not collected: what would count without those pages stays. A
//! cut now finds what this mount found, and at most copies of it.

use crate::core::flash::FlashPayload;
use crate::core::mounting::{Mounting, OlderContents, PagesFound, SpareCopies};
use crate::core::newest::Newest;
use crate::core::owner::Owner;
use crate::core::{Command, Core};
use crate::engine::Engine;
use crate::write::RebuiltBy;
use crate::write::found::{data_in, reads_back, unreadable};
use crate::write::group_log::Feed;
use ftl::{Ftl, Place, Stream, UnitId, UnitState};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Cause, Lpn, Ppn, Slot};

/// Lists the pages to write again: pages that may not last, and pages that lean on such. Units are pinned until then; those
/// in `spare` only where there is room without them.
pub(crate) fn begin_mounting<P: FlashPayload>(
    engine: &mut Engine<P>,
    pages: BTreeSet<Ppn>,
    leaning: Vec<Ppn>,
    pins: Vec<UnitId>,
    spare: SpareCopies,
    found: PagesFound,
) {
    engine.core.safe.recovering = true;
    let pages = pages.into_iter().collect();
    engine.power.mounting = Some(Box::new(Mounting { pages, leaning, pins, spare, found, sent: false }));
    // Not before: until the mount is over nothing is collected.
    want_unsettled_groups(engine);
}

/// Groups whose parity is not all in flash are to be collected soon.
fn want_unsettled_groups<P: FlashPayload>(engine: &mut Engine<P>) {
    let unsettled = engine.writer.take_unsettled(&engine.core);
    unsettled.into_iter().for_each(|unit| engine.want(unit, Cause::Rebuild));
}

/// Whether the drive still restores what a cut or a loss took.
pub(crate) fn is_recovering<P: FlashPayload>(engine: &mut Engine<P>) -> bool {
    engine.core.safe.recovering &= engine.power.mounting.is_some()
        || !engine.care.wanted.is_empty()
        || engine.care.rebuild.is_under_way()
        || engine.writer.is_healing()
        || engine.care.collectors_at(&engine.core, Cause::Rebuild) > 0;
    engine.core.safe.recovering
}

/// Does what a mount has still to do, as far as it goes without waiting.
pub(crate) fn mount_on<P: FlashPayload>(engine: &mut Engine<P>) {
    let Some(mounting) = &mut engine.power.mounting else { return };
    let pages = std::mem::take(&mut mounting.pages);
    let waiting: Vec<Ppn> = pages.into_iter().filter(|&ppn| !rewrite(engine, ppn)).collect();
    if waiting.is_empty() {
        rewrite_leaning(engine);
    }
    let rests = engine.core.device.is_idle() && engine.care.collectors.iter().all(|collector| !collector.is_erasing());
    let Some(mounting) = &mut engine.power.mounting else { return };
    mounting.pages = waiting;
    if !rests {
        return;
    }
    if !mounting.pages.is_empty() && !mounting.spare.is_empty() {
        let_spare_copies_go(engine);
        return;
    }
    let Some(mounting) = &mut engine.power.mounting else { return };
    if !std::mem::replace(&mut mounting.sent, true) {
        send_what_was_moved(engine);
    } else {
        finish_mounting(engine);
    }
}

/// Cuts in a row may have left a unit with a few copies each time, until there is none left to write to. So copies that
/// are one too many give way; where that is not enough, other copies count, as if the unit written last had not been begun,
/// then those that only their codewords bring back, and at last older contents, where no one was told of newer ones.
fn let_spare_copies_go<P: FlashPayload>(engine: &mut Engine<P>) {
    let Some(mounting) = &mut engine.power.mounting else { return };
    let pins = std::mem::take(&mut mounting.spare.pins);
    let mut others = if pins.is_empty() { std::mem::take(&mut mounting.spare.others) } else { Vec::new() };
    // The copies that gave way before may have been among them.
    others.retain(|&(_, slot)| is_kept(&engine.core.map, slot));
    drop_in_vain(engine, &mut others);
    if pins.is_empty() && others.is_empty() {
        others = solved_copies_count(engine);
    }
    if pins.is_empty() && others.is_empty() {
        others = older_contents_count(engine);
    }
    let Some(mounting) = &mut engine.power.mounting else { return };
    let mut pages = std::mem::take(&mut mounting.pages);
    let mut units = pins.clone();
    pins.iter().for_each(|&unit| engine.release(unit));
    for (lpn, slot) in others {
        // Its unit is pinned: it would count if the other page could not be read.
        if let Some(left) = engine.core.map.publish(lpn, slot).pinned {
            engine.release(left);
            units.push(left);
        }
        let ppn = engine.core.device.grid.page_of(slot).0;
        let losses = &engine.core.device.losses;
        let is_solved_for = losses.dead().is_empty() && losses.failed_programs.contains_key(&ppn.0);
        if (losses.remembered.contains(&ppn) || is_solved_for) && !pages.contains(&ppn) {
            pages.push(ppn);
        }
    }
    for unit in units {
        engine.core.map.make_dirty(unit);
    }
    let grid = &engine.core.device.grid;
    let slots = |ppn| (0..grid.slots_per_page()).map(move |index| grid.slot(ppn, index));
    pages.retain(|&ppn| slots(ppn).any(|slot| engine.core.map.is_valid(slot)));
    if let Some(mounting) = &mut engine.power.mounting {
        mounting.pages = pages;
    }
    mount_on(engine);
}

/// Drops bare copies of pages in units where another page waits that has no other copy: such a unit is not emptied, so that a page would
/// only lose its parity.
fn drop_in_vain<P: FlashPayload>(engine: &Engine<P>, others: &mut Vec<(Lpn, Slot)>) {
    let Some(mounting) = &engine.power.mounting else { return };
    let (core, spare) = (&engine.core, &mounting.spare);
    if spare.bare.is_empty() {
        return;
    }
    let solved = spare.solved.iter().map(|(lpn, _)| *lpn);
    let older = spare.older.iter().map(|older| older.lpn);
    let with_others: BTreeSet<Lpn> = others.iter().map(|(lpn, _)| *lpn).chain(solved).chain(older).collect();
    let counts = |lpn| slot_of(&core.map, lpn);
    let stays = |&&ppn: &&Ppn| {
        let counts_here = |(lpn, found): &(Lpn, Newest)| found.slot.is_some() && found.slot == counts(*lpn);
        data_stored_in(core, ppn).filter(counts_here).any(|(lpn, _)| !with_others.contains(&lpn))
    };
    let unit_of_page = |&ppn: &Ppn| core.map.unit_of_block(core.device.block_of(ppn));
    let staying: BTreeSet<UnitId> = mounting.pages.iter().filter(stays).map(unit_of_page).collect();
    let is_staying = |lpn| counts(lpn).is_some_and(|slot| staying.contains(&core.map.unit_of(slot)));
    others.retain(|&(lpn, _)| !spare.bare.contains(&lpn) || !is_staying(lpn));
}

/// Makes the pages current that codewords bring back, where they are still stored. It is durable once the host has read
/// it, as [`PagesFound::solved`] says.
fn solved_copies_count<P: FlashPayload>(engine: &mut Engine<P>) -> Vec<(Lpn, Slot)> {
    let Some(mounting) = &mut engine.power.mounting else { return Vec::new() };
    let mut copies = std::mem::take(&mut mounting.spare.solved);
    let (core, waiting) = (&engine.core, &mounting.pages);
    copies.retain(|&(lpn, member)| match core.map.lookup(lpn) {
        // One that was written again in the meantime, or whose other copy counts already, stays where it is.
        Place::At(slot) => {
            let waits = waiting.contains(&core.device.grid.page_of(slot).0);
            slot != member.slot && waits && is_kept(&core.map, member.slot)
        }
        Place::Unmapped | Place::Missing => false,
    });
    for &(lpn, member) in &copies {
        let (ppn, index) = engine.core.device.grid.page_of(member.slot);
        unreadable(&mut engine.core, ppn).set(index as usize, member.tag, member.update);
        let Some(mounting) = &mut engine.power.mounting else { continue };
        mounting.found.only_solved(lpn);
    }
    copies.into_iter().map(|(lpn, member)| (lpn, member.slot)).collect()
}

/// Pages whose new contents were never acknowledged need not count: pages go back to what they held before, where that
/// empties a unit.
fn older_contents_count<P: FlashPayload>(engine: &mut Engine<P>) -> Vec<(Lpn, Slot)> {
    let Some(mounting) = &mut engine.power.mounting else { return Vec::new() };
    let mut older = std::mem::take(&mut mounting.spare.older);
    let (core, waiting) = (&engine.core, &mounting.pages);
    let place = |lpn| slot_of(&core.map, lpn);
    let waits = |slot: Slot| waiting.contains(&core.device.grid.page_of(slot).0);
    older.retain(|page| place(page.lpn).is_some_and(waits) && is_kept(&core.map, page.slot));
    let unit_of = |page: &OlderContents| place(page.lpn).map(|slot| core.map.unit_of(slot));
    let mut in_units: BTreeMap<UnitId, u32> = BTreeMap::new();
    older.iter().filter_map(unit_of).for_each(|unit| *in_units.entry(unit).or_default() += 1);
    let is_emptied = |unit: UnitId| core.map.unit(unit).valid == in_units[&unit];
    older.retain(|page| unit_of(page).is_some_and(is_emptied));
    older.iter().for_each(|page| mounting.found.goes_back(page.lpn, page.update));
    older.into_iter().map(|page| (page.lpn, page.slot)).collect()
}

/// The same for pages that lean on others, once those have room.
fn rewrite_leaning<P: FlashPayload>(engine: &mut Engine<P>) {
    let Some(mounting) = &mut engine.power.mounting else { return };
    let leaning = std::mem::take(&mut mounting.leaning);
    let waiting: Vec<Ppn> = leaning.into_iter().filter(|&ppn| !rewrite(engine, ppn)).collect();
    if let Some(mounting) = &mut engine.power.mounting {
        mounting.leaning = waiting;
    }
}

/// Reads a page to be moved, if its log has room for it.
fn rewrite<P: FlashPayload>(engine: &mut Engine<P>, ppn: Ppn) -> bool {
    let log = engine.core.log_of_page(ppn);
    if !engine.core.map.has_room(log, Stream::Gc) {
        engine.start_collecting(log);
        return false;
    }
    engine.core.moving[log].cause = Cause::Rebuild;
    engine.core.moving[log].under_way += 1;
    let owner = Owner::Collect { log: log as u16 };
    let count = engine.core.device.grid.slots_per_page() as u8;
    engine.core.submit(Command { owner, ppn, count, cause: Cause::Rebuild, ..Command::default() });
    true
}

/// Nothing more joins what is to be moved.
fn send_what_was_moved<P: FlashPayload>(engine: &mut Engine<P>) {
    if engine.core.map.kind() == ftl::LogKind::Group {
        engine.feed_moves(Feed::All);
    } else {
        (0..engine.core.map.logs()).for_each(|log| engine.writer.send_moved(&mut engine.core, log));
    }
}

/// The host is heard from now on.
fn finish_mounting<P: FlashPayload>(engine: &mut Engine<P>) {
    let mounting = engine.power.mounting.take().expect("under way");
    engine.writer.mount_ended();
    // A page for which there is no room at all stays where it is, and so does what would count without it.
    if mounting.pages.is_empty() {
        let pins: Vec<UnitId> = mounting.pins.iter().chain(&mounting.spare.pins).copied().collect();
        pins.iter().for_each(|&unit| engine.release(unit));
        if engine.writer.facts.keeps_copies {
            erase_where_none_is_free(engine, &pins);
            empty_a_unit_where_none_is_free(engine, &mounting.spare.elsewhere);
        }
        engine.writer.all_settled();
    }
    // The host may read all of it from now on. A page that may not last and found no room may be gone with the next cut: what
    // is kept for that counts then, unless the host has read the page.
    let remembered = &engine.core.device.losses.remembered;
    let may_pass = |ppn: Ppn| remembered.contains(&ppn) && mounting.pages.contains(&ppn);
    let passes =
        |lpn| matches!(engine.core.map.lookup(lpn), Place::At(slot) if may_pass(engine.core.device.grid.page_of(slot).0));
    let (passing, lasting): (Vec<_>, Vec<_>) = mounting.found.there().partition(|&(lpn, _)| passes(lpn));
    lasting.into_iter().for_each(|(lpn, rank)| engine.core.safe.journal.found(lpn, rank));
    passing.into_iter().for_each(|(lpn, rank)| engine.core.safe.journal.solved(lpn, rank));
    mounting.found.solved.iter().for_each(|&(lpn, rank)| engine.core.safe.journal.solved(lpn, rank));
    engine.core.retry = true;
    // Those that found no room until now move with all that their units hold.
    mounting
        .leaning
        .iter()
        .for_each(|&ppn| engine.want(engine.core.map.unit_of_block(engine.core.device.block_of(ppn)), Cause::Rebuild));
    resume_rebuild(engine);
    for log in 0..engine.core.map.logs() {
        if engine.care.is_wanted(&engine.core, log) {
            engine.start_collecting(log);
        }
    }
}

/// Of these units those that hold nothing any more are to be erased, and where their log has no free unit that is asked for at
/// once. The host may read from now on what was written again, so it is durable, and with it the copies in these units: the next
/// mount would keep them for it while the pages written last may not last, each in a unit of its own, and have none to write to.
/// Of rows and block groups many pages may be such at a time, of a log of one die only one.
fn erase_where_none_is_free<P: FlashPayload>(engine: &mut Engine<P>, units: &[UnitId]) {
    let logs: BTreeSet<usize> = units.iter().map(|&unit| engine.core.map.log_of(unit)).collect();
    for log in logs {
        let has_free = engine.core.map.free_units(log) > 0;
        let of_log = units.iter().filter(|&&unit| !has_free && engine.core.map.log_of(unit) == log);
        let emptied: Vec<UnitId> = of_log.copied().collect();
        if emptied.into_iter().filter(|&unit| engine.core.map.make_dirty(unit)).count() > 0 {
            engine.start_collecting(log);
        }
    }
}

/// Several cuts, each of which met the collector, may have left every unit with a page that counts and none to write to: nothing could move
/// then. `copies` says where else pages lie. The unit with the fewest pages, all of which have a copy in another one, is erased. These
/// copies are read first, and their units collected: their codewords may have lost their parity, and what an earlier cut met may not
/// last.
fn empty_a_unit_where_none_is_free<P: FlashPayload>(engine: &mut Engine<P>, copies: &[(Lpn, Slot)]) {
    let has_room = |log| engine.core.map.has_room(log, Stream::Gc) || engine.core.map.free_units(log) > 0;
    let is_emptied = |unit| matches!(engine.core.map.unit(unit).state, UnitState::Dirty | UnitState::Condemned);
    if (0..engine.core.map.logs()).any(has_room) || (0..engine.core.map.units() as UnitId).any(is_emptied) {
        return;
    }
    let core = &engine.core;
    let rank = |slot: Slot| {
        let mut of_page = data_stored_in(core, core.device.grid.page_of(slot).0);
        of_page.find(|(_, found)| found.slot == Some(slot)).map(|(_, found)| found.update)
    };
    let mut in_units: BTreeMap<UnitId, BTreeMap<Lpn, Slot>> = BTreeMap::new();
    for &(lpn, slot) in copies {
        let Place::At(counts) = core.map.lookup(lpn) else { continue };
        let unit = core.map.unit_of(counts);
        if unit != core.map.unit_of(slot) && is_kept(&core.map, slot) && rank(slot).is_some_and(|copy| rank(counts) == Some(copy))
        {
            in_units.entry(unit).or_default().entry(lpn).or_insert(slot);
        }
    }
    let all_elsewhere = |unit: UnitId, copies: &BTreeMap<Lpn, Slot>| {
        let held = core.map.unit(unit);
        (held.state, held.pins, held.valid as usize) == (UnitState::Closed, 0, copies.len())
    };
    let emptied = in_units.into_iter().filter(|(unit, copies)| all_elsewhere(*unit, copies));
    let Some((unit, copies)) = emptied.min_by_key(|(unit, copies)| (copies.len(), *unit)) else { return };
    let pages: BTreeSet<Ppn> = copies.values().map(|&slot| core.device.grid.page_of(slot).0).collect();
    for &ppn in &pages {
        if !reads_back(&mut engine.core, ppn) {
            return;
        }
    }
    engine.core.device.losses.remembered.extend(pages);
    let filled: BTreeSet<UnitId> = copies.values().map(|&slot| engine.core.map.unit_of(slot)).collect();
    for (lpn, slot) in copies {
        if let Some(left) = engine.core.map.publish(lpn, slot).pinned {
            engine.release(left);
        }
    }
    // The collector looks for its next victim at once, and a unit that holds nothing yet but such copies would be the first.
    if engine.core.map.make_dirty(unit) {
        engine.start_collecting(engine.core.map.log_of(unit));
    }
    filled.into_iter().for_each(|unit| engine.want(unit, Cause::Rebuild));
}

/// Rebuilds the pages that a dead die held, or that a cut left without a place.
fn resume_rebuild<P: FlashPayload>(engine: &mut Engine<P>) {
    match engine.writer.facts.rebuilt_by {
        RebuiltBy::Collection if engine.core.device.losses.dead().is_empty() => {}
        RebuiltBy::Stripes if engine.writer.are_all_whole(&engine.core) => engine.note_whole(),
        _ => engine.begin_rebuild(),
    }
}

/// Data in a page, if flash stores it: a version may be in memory alone, and a page may be what only its codeword brings back.
fn data_stored_in<P: FlashPayload>(core: &Core<P>, ppn: Ppn) -> impl Iterator<Item = (Lpn, Newest)> {
    core.device.is_stored(ppn).then(|| data_in(core, ppn)).into_iter().flatten()
}

/// Where the map has a logical page.
fn slot_of(map: &Ftl, lpn: Lpn) -> Option<Slot> {
    if let Place::At(slot) = map.lookup(lpn) { Some(slot) } else { None }
}

/// Whether the unit of a slot is neither erased nor about to be.
fn is_kept(map: &Ftl, slot: Slot) -> bool {
    map.unit(map.unit_of(slot)).state == UnitState::Closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::journal::Journal;
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::{TinyDrive as Drive, tiny_drive};
    use nand::{Member, OobTag};
    use vocab::{Fua, HostCommand, HostOp, Lba, Lpn, SimTime};

    /// The host writes page 0.
    fn write() -> HostCommand {
        let stream = vocab::StreamId::default();
        HostCommand { at: SimTime::ZERO, op: HostOp::Write(Fua::No), lba: Lba(0), sectors: 8, stream }
    }

    /// Page 0 was found, with contents of rank 7.
    fn one_page_found() -> PagesFound {
        PagesFound::new(vec![Some(Newest { sequence: 7, ..Newest::nowhere(7) })], |_| false)
    }

    /// A drive that has written page 0, and where that lies.
    fn drive() -> (Drive, Ppn) {
        let mut setup = tiny_setup("none", BufferKind::Off);
        setup.power.mountable = true;
        let mut drive = tiny_drive(&setup);
        drive.replay(&mut [write()].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written") };
        let ppn = drive.core.device.grid.page_of(slot).0;
        (drive, ppn)
    }

    /// Page 0 may not last, and what would count without it lies in the unit that is pinned. What of the log's room is
    /// left is taken from a mount that ends then.
    fn end_mount(drive: &mut Drive, suspect: Ppn, has_room: bool) -> UnitId {
        let log = drive.core.map.log_of(drive.core.map.unit_of_block(drive.core.device.block_of(suspect)));
        let older = drive.core.map.unit_of_block(drive.core.device.block_of(suspect)) + 1;
        drive.core.map.pin(older);
        drive.core.device.losses.remembered.insert(suspect);
        while !has_room && drive.core.map.take_page(log, Stream::Gc).is_some() {}
        assert_eq!(drive.core.map.has_room(log, Stream::Gc), has_room);
        begin_mounting(drive, [suspect].into(), vec![], vec![older], SpareCopies::default(), one_page_found());
        drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        assert!(drive.power.mounting.is_none(), "the host is heard");
        older
    }

    /// A suspect that was not written again may tear at a later read. Catches a mount that lets go of what would count without
    /// it because there was no room, and one that never lets go; and a suspect that counts as durable before the host has read it:
    /// once it is gone, what was kept would count as older than that, and the page as lost (torture, seed 880001, 392962).
    #[test]
    fn what_would_count_without_a_page_stays_where_there_was_no_room_to_write_it_again() {
        for has_room in [true, false] {
            let (mut drive, suspect) = drive();
            let older = end_mount(&mut drive, suspect, has_room);
            assert_eq!(drive.core.map.unit(older).pins, u32::from(!has_room), "room: {has_room}");
            let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it is there") };
            assert_eq!(drive.core.device.grid.page_of(slot).0 != suspect, has_room, "it was written again");
            assert_eq!(drive.core.safe.journal.rank(Lpn(0)) == 7, has_room, "it lasts where it was written again");
            let read = HostCommand { op: HostOp::Read, ..write() };
            drive.replay(&mut [read].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
            assert_eq!(drive.core.safe.journal.rank(Lpn(0)), 7, "the host has read it");
        }
    }

    /// Takes all the room that the log of the page has; its units are closed then.
    fn fill_log_of(drive: &mut Drive, ppn: Ppn) -> usize {
        let log = drive.core.map.log_of(drive.core.map.unit_of_block(drive.core.device.block_of(ppn)));
        while drive.core.map.take_page(log, Stream::Gc).is_some() {}
        while drive.core.map.take_page(log, Stream::Host).is_some() {}
        let units = 0..drive.core.map.units() as UnitId;
        units.for_each(|unit| drive.core.map.abandon(unit));
        log
    }

    /// Cuts in a row left no unit to write to. Catches a mount that keeps copies which are one too many rather than write a
    /// page again that may not last: it would never have room again, for the host neither (torture, seed 507, 313800).
    #[test]
    fn copies_that_are_one_too_many_give_way_where_a_page_finds_no_room() {
        let (mut drive, suspect) = drive();
        let log = fill_log_of(&mut drive, suspect);
        let is_empty = |unit: &UnitId| drive.core.map.log_of(*unit) == log && drive.core.map.unit(*unit).valid == 0;
        let spare = (0..drive.core.map.units() as UnitId).find(is_empty).expect("a unit of which nothing is needed");
        drive.core.map.pin(spare);
        let copies = SpareCopies { pins: vec![spare], ..SpareCopies::default() };
        begin_mounting(&mut drive, [suspect].into(), vec![], vec![], copies, PagesFound::default());
        drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it is there") };
        assert_eq!((drive.core.map.unit_of(slot), drive.core.map.unit(spare).pins), (spare, 0));
    }

    /// Pages that were written again are durable when the mount ends, so the next one keeps the copies before it while that may not
    /// last. Catches a drive without a free unit that leaves these copies in flash until someone needs room: after the next cut
    /// each unit had something that was needed (torture, seed 880002, 757184). And one that erases a unit for which there is
    /// another reason.
    #[test]
    fn a_unit_that_recovery_emptied_is_erased_at_once_where_none_is_free() {
        for is_needed in [true, false] {
            let (mut drive, ppn) = drive();
            let log = fill_log_of(&mut drive, ppn);
            let is_empty = |unit: &UnitId| drive.core.map.log_of(*unit) == log && drive.core.map.unit(*unit).valid == 0;
            let unit = (0..drive.core.map.units() as UnitId).find(is_empty).expect("a unit of which nothing is needed");
            if is_needed {
                drive.core.map.pin(unit);
            }
            erase_where_none_is_free(&mut drive, &[unit]);
            let asked: Vec<UnitId> = drive.core.safe.erasing.keys().map(|&block| drive.core.map.unit_of_block(block)).collect();
            assert_eq!(asked.contains(&unit), !is_needed, "needed: {is_needed}, erases: {asked:?}");
        }
    }

    /// The same where every unit has something that counts: catches a page that stays in a unit of its own though another copy of
    /// it could count, and one that counts in its other place but is not written again though it may not last there either.
    #[test]
    fn another_copy_counts_where_a_page_finds_no_room_to_be_written_again() {
        for lasts in [true, false] {
            let (mut drive, first) = drive();
            let Place::At(copy) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written") };
            drive.replay(&mut [write()].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
            let Place::At(second) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written again") };
            let (suspect, kept, left) =
                (drive.core.device.grid.page_of(second).0, drive.core.map.unit_of(copy), drive.core.map.unit_of(second));
            assert_ne!(kept, left, "pages go to dies in turn");
            fill_log_of(&mut drive, suspect);
            drive.core.map.pin(kept);
            if !lasts {
                drive.core.device.losses.remembered.insert(first);
            }
            let copies = SpareCopies { others: vec![(Lpn(0), copy)], ..SpareCopies::default() };
            begin_mounting(&mut drive, [suspect].into(), vec![], vec![kept], copies, PagesFound::default());
            drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
            assert!(drive.power.mounting.is_none(), "the host is heard");
            let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it is there") };
            assert_eq!((slot == copy, slot == second), (lasts, false), "lasts: {lasts}");
            assert_eq!(drive.core.map.unit(left).valid, 0);
        }
    }

    /// A drive on which page 0 was written twice, where the log of its second copy is full.
    struct Rewritten {
        drive: Drive,
        copy: Slot,
        second: Slot,
        /// The page of the second copy.
        suspect: Ppn,
        /// The unit of the first.
        unit: UnitId,
    }

    fn rewritten() -> Rewritten {
        let (mut drive, _) = drive();
        let Place::At(copy) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written") };
        drive.replay(&mut [write()].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        let Place::At(second) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written again") };
        let (suspect, unit) = (drive.core.device.grid.page_of(second).0, drive.core.map.unit_of(copy));
        fill_log_of(&mut drive, suspect);
        Rewritten { drive, copy, second, suspect, unit }
    }

    /// Copies that were one too many gave way before. Catches a page that goes back to one of these, so that it is read from a
    /// block that was erased (torture, seed 880001, 2387584).
    #[test]
    fn a_copy_that_gave_way_does_not_count() {
        let Rewritten { mut drive, copy, second, suspect, unit: given_up } = rewritten();
        assert!(drive.core.map.condemn_unit(given_up), "it is about to be erased");
        let copies = SpareCopies { others: vec![(Lpn(0), copy)], ..SpareCopies::default() };
        begin_mounting(&mut drive, [suspect].into(), vec![], vec![], copies, PagesFound::default());
        mount_on(&mut drive);
        assert_eq!(drive.core.map.lookup(Lpn(0)), Place::At(second));
    }

    /// The same where only a codeword has another copy, whose own page is erased. Catches a page that stays in a unit of its own,
    /// so that nothing has room any more (torture, seed 811, 40152); one that goes back to what is erased; and one that counts as
    /// durable though the next cut may end its codeword.
    #[test]
    fn what_a_codeword_brings_back_counts_where_a_page_finds_no_room_to_be_written_again() {
        for is_there in [true, false] {
            let Rewritten { mut drive, copy, second, suspect, unit: kept } = rewritten();
            drive.core.safe.journal = Journal::new(drive.core.map.user_slots());
            if !is_there {
                assert!(drive.core.map.condemn_unit(kept), "it is about to be erased");
            }
            let member = Member { slot: copy, tag: OobTag::data(Lpn(0)), update: 7 };
            let copies = SpareCopies { solved: vec![(Lpn(0), member)], ..SpareCopies::default() };
            let found = one_page_found();
            begin_mounting(&mut drive, [suspect].into(), vec![], vec![], copies, found);
            mount_on(&mut drive);
            let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it is there") };
            assert_eq!(slot, if is_there { copy } else { second });
            let solved = drive.core.device.losses.failed_programs.get(&drive.core.device.grid.page_of(copy).0.0);
            assert_eq!(solved.map(|page| page.updates[0]), is_there.then_some(7), "it is read by solving for it");
            drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
            assert_eq!(drive.core.safe.journal.rank(Lpn(0)), if is_there { 0 } else { 7 });
        }
    }

    /// The same where nothing else gives way, and the newer contents are such as no one was told of. Catches a page that stays in a
    /// unit of its own; one that goes back though that empties no unit; and older contents that are not durable once the host may
    /// read them.
    #[test]
    fn a_page_goes_back_to_what_it_held_before_where_that_empties_a_unit() {
        for is_alone in [true, false] {
            let Rewritten { mut drive, copy, second, suspect, unit: kept } = rewritten();
            drive.core.map.pin(kept);
            drive.core.safe.journal = Journal::new(drive.core.map.user_slots());
            if !is_alone {
                drive.core.map.publish(Lpn(1), Slot(second.0 + 1));
            }
            let older = vec![OlderContents { lpn: Lpn(0), slot: copy, update: 5 }];
            let copies = SpareCopies { older, ..SpareCopies::default() };
            begin_mounting(&mut drive, [suspect].into(), vec![], vec![kept], copies, one_page_found());
            mount_on(&mut drive);
            assert_eq!(drive.core.map.lookup(Lpn(0)), Place::At(if is_alone { copy } else { second }));
            if is_alone {
                drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
                assert_eq!(drive.core.safe.journal.rank(Lpn(0)), 5, "the host may read it");
            }
        }
    }
}
