//! Mounting a drive after a power cut: everything the controller knew is rebuilt from what stands
//! beside the pages (`docs/spec/oob.md`) and from what is PLP (`cut.rs`).
//!
//! A mount looks at pages, all of them or what a [`Checkpoint`] leaves, and writes nothing: what it
//! makes is a controller with its map. What has to be written follows as ordinary flash commands,
//! before the host is heard, so that a cut during recovery is a cut like any other ([`Mounting`]).
//!
//! The rules, each for one way of losing data:
//!
//! * **The newest contents count**, by rank of their write (`update`), which moves keep. Of equal
//!   copies the older one counts: then a GC run that the cut met is undone, and the block that
//!   it was filling holds nothing that is needed. So there is always a unit that can be erased.
//! * **What was durable and is not there is lost**, whatever older copies there are, until it is written again: the journal
//!   knows what was durable ([`Journal`]).
//! * **A block whose erase was asked for holds nothing that is needed**, erased or not: its codewords may be gone in part.
//! * **A torn page is not there.** Checksums tell.
//! * **The last page of each die is suspect**: its program may have been cut so late that it reads
//!   back for now. The controller reads it once, remembers it, and writes it again. What would count
//!   without it keeps its unit from being erased until then.
//! * **Nothing is programmed behind the last page** of a block, and a block in which nothing is
//!   needed is erased again before use, whatever it looks like (I25).
//! * **Codewords are wholly old or wholly new** (I22): `stripes`, `rows` and `groups` say how.
//! * **Wear** comes from the pages of a block, or is bounded by the most that any block has, as PLP
//!   memory knows it, or else the newest page of the drive (I14); **reads** from the step last saved, and
//!   a step more (I5).

pub(crate) mod choice;
mod needed;
pub(crate) mod scanned;
mod spare;

use crate::care::profiles::Profiles;
use crate::core::Core;
use crate::core::checkpoint::{Checkpoint, Summary};
use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::core::mounting::SpareCopies;
use crate::core::newest::Newest;
use crate::core::sorted::sorted;
use crate::engine::Engine;
use crate::engine::flows::recovery::begin_mounting;
use crate::power::cut::{READS_SAVED_EVERY, Remains};
use crate::power::mount::choice::{Choice, Otherwise};
use crate::power::mount::needed::NeededPages;
use crate::power::mount::scanned::ScannedPages;
use crate::power::mount::spare::find_spare_copies;
use crate::power::outage::MemoryLoss;
use crate::rules::SafetyRule;
use crate::write::found::{Lost, Newests, PagesSeen};
use crate::write::mount::{Condition, Evidence};
use crate::write::stripes::mount::StripeFound;
use crate::write::{RebuiltBy, found};
use ftl::UnitId;
use nand::{FlashArray, PageRole, PageScan, Scan};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Bytes, DieId, Lpn, Nanos, Ppn, Slot};

/// Outcome of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mounted {
    /// Pages looked at.
    pub looks: u64,
    /// Bytes read: those beside pages that were looked at, and a checkpoint.
    pub bytes: Bytes,
    /// Pages with right checksums, or said to have them by a checkpoint.
    pub valid: u64,
    /// Pages neither erased nor valid.
    pub unreadable: u64,
    /// Logical pages found.
    pub mapped: u64,
    /// Time to look, and to read a checkpoint, all dies side by side.
    pub time: Nanos,
    /// Whether the drive is read-only: it was when the power went.
    pub read_only: bool,
    /// PLP memory that was found to be gone.
    pub lost: MemoryLoss,
}

/// Rebuilds what the controller knows; nothing is written.
pub(crate) fn mount<P: FlashPayload>(engine: &mut Engine<P>, mut remains: Remains<P>) -> Mounted {
    find_dead_dies(engine, &remains.died, &remains.spares);
    let known_lost = mount_journal(engine, &mut remains);
    let mut scanned = ScannedPages::new::<P>(&engine.core.device.array, remains.checkpoint.as_ref());
    remains.erasing.iter().for_each(|&block| scanned.set_aside(block));
    mount_profiles(engine, &mut scanned, remains.profiles.take());
    // Ranks are never used twice, also where only PLP memory knows of them.
    engine.core.device.sequence = scanned.newest.max(remains.newest());
    engine.core.safe.journal = std::mem::take(&mut remains.journal);
    let mut suspects = read_suspects(engine, &mut scanned);
    if remains.checkpoint.is_some() {
        let doubted = engine.writer.doubted(&engine.core, &evidence_of(&scanned, &remains), &suspects);
        doubted.into_iter().for_each(|ppn| scanned.look_again::<P>(&engine.core.device.array, ppn));
    }
    mount_checkpoint(engine, &scanned, &suspects, remains.checkpoint.as_ref());
    let groups = remains.groups.take();
    engine.writer.mount_groups(&mut engine.core, groups, &evidence_of(&scanned, &remains), &suspects);
    suspects.retain(|&ppn| engine.writer.may_count(&engine.core, ppn));
    let (mut with, mut without, mut solved) = choose_each(engine, &evidence_of(&scanned, &remains), &known_lost, &suspects);
    if engine.writer.facts.rebuilt_by == RebuiltBy::Stripes {
        engine.core.safe.lost = sorted(with.stripes.iter().flat_map(|found| found.lost.iter().copied()));
    } else {
        let stale = with.lose(&engine.core.safe.journal);
        [Some(&mut without), solved.as_mut()].into_iter().flatten().for_each(|otherwise| otherwise.keep(&stale));
        without.lose(&with, &known_lost);
        engine.core.safe.lost = sorted(stale.into_iter().map(|page| (page.lpn, page.durable)));
    }
    mount_wear(engine, &scanned, &remains);
    let (mut fallback, mut spare) = fallback(engine, &with, &without, &suspects);
    if let Some(solved) = &solved {
        fallback.extend(solved_fallback(engine, &with, solved, &engine.core.safe.journal));
    }
    if engine.core.breaks(SafetyRule::Fallback) {
        fallback.clear();
        spare.clear();
    }
    let all: Vec<UnitId> = fallback.iter().chain(&spare).copied().collect();
    mount_units(engine, &scanned, &with, &all);
    mount_map(engine, &with);
    for die in engine.core.device.losses.died().to_vec() {
        engine.leave_die_out(die);
    }
    engine.writer.take_over(&mut engine.core, &scanned, &with.stripes, std::mem::take(&mut remains.held));
    engine.host.buffer.restore(std::mem::take(&mut remains.buffer));
    let rewrites = !engine.core.breaks(SafetyRule::Suspects);
    let needed = NeededPages::of(&engine.core, &scanned, &with);
    let pages = if rewrites { pages_to_rewrite(engine, &needed, &suspects) } else { BTreeSet::new() };
    let mut leaning = if rewrites { pages_beside_suspects(engine, &needed, &suspects) } else { Vec::new() };
    leaning.retain(|ppn| !pages.contains(ppn));
    engine.writer.found_unnamed(with.unnamed_stripes().collect());
    // Units that are erased in part stay so until they are erased again.
    let half_erased: BTreeSet<UnitId> = remains
        .erasing
        .iter()
        .filter(|&&block| !scanned.is_erased_block(block))
        .map(|&block| engine.core.map.unit_of_block(block))
        .collect();
    let stays = remains.erasing.iter().filter(|&&block| half_erased.contains(&engine.core.map.unit_of_block(block)));
    engine.core.safe.erasing = sorted(stays.map(|&block| (block, false)));
    let keeps_copies = rewrites && engine.writer.facts.keeps_copies;
    let mut spare = SpareCopies { pins: spare, ..SpareCopies::default() };
    if keeps_copies {
        find_spare_copies(engine, &scanned, &suspects, &with, &without, solved.as_ref(), &mut spare);
    }
    let mapped = with.pages.iter().flatten().count() as u64;
    begin_mounting(engine, pages, leaning, fallback, spare, with.into_found());
    engine.core.device.losses.remembered = suspects;
    let found = read_for_mount(engine, &scanned, remains.checkpoint.as_ref());
    Mounted { mapped, read_only: engine.host.requests.read_only_since.is_some(), lost: remains.outage.memory, ..found }
}

/// The evidence of the scan and of the memory that survived.
fn evidence_of<'a, P>(scanned: &'a ScannedPages, remains: &'a Remains<P>) -> Evidence<'a, P> {
    let gone = remains.outage.memory;
    let (erasing, erases_known) = (&remains.erasing, !gone.reads);
    Evidence { scan: scanned, erasing, erases_known, lost: &remains.lost, partials: &remains.held, lost_sums: gone.sums }
}

/// Reads of the mount, and their time: looks, a checkpoint, and page profiles.
fn read_for_mount<P: FlashPayload>(engine: &Engine<P>, scanned: &ScannedPages, checkpoint: Option<&Checkpoint>) -> Mounted {
    let (grid, latencies) = (&engine.core.device.grid, &engine.core.device.latencies);
    let mut found = Mounted { time: scanned.time(latencies, grid), ..scanned.counts(grid) };
    if let Some(checkpoint) = checkpoint {
        found.bytes.0 += checkpoint.bytes(grid);
        found.time += checkpoint.time(latencies, grid);
    }
    if let Some(profiles) = &engine.care.profiles {
        found.bytes.0 += u64::from(profiles.pages_to_read()) * grid.geometry().page_size.0;
        found.time += profiles.time_to_read(latencies, grid);
    }
    found
}

/// Blocks that are whole have summaries from now on, unless a suspect is in them. Those that were noted
/// as erased, and look so, stay it.
fn mount_checkpoint<P: FlashPayload>(
    engine: &mut Engine<P>,
    scanned: &ScannedPages,
    suspects: &BTreeSet<Ppn>,
    before: Option<&Checkpoint>,
) {
    let (Some(checkpoint), Some(before)) = (&mut engine.core.safe.checkpoint, before) else { return };
    let suspected: BTreeSet<BlockAddr> = suspects.iter().map(|&ppn| engine.core.device.grid.split(ppn).0).collect();
    for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
        let stays_erased = before.of(block) == Summary::Erased && scanned.is_erased(engine.core.device.grid.ppn(block, 0));
        if !stays_erased {
            checkpoint.forget(block);
        }
        if scanned.is_whole(block) && !suspected.contains(&block) {
            checkpoint.sum_up::<P>(block, &engine.core.device.array);
        }
    }
}

/// Page profiles are where they were, as far as flash still has them.
fn mount_profiles<P: FlashPayload>(engine: &mut Engine<P>, scanned: &mut ScannedPages, profiles: Option<Profiles>) {
    let Some(profiles) = profiles else { return };
    let profiles = profiles.after_cut::<P>(&engine.core.device.array);
    profiles.blocks().iter().for_each(|&block| scanned.leave_out(block));
    engine.care.profiles = Some(profiles);
}

/// Completes the journal: what was found lost permanently was there, and so it is in it. A journal of that alone.
fn mount_journal<P: FlashPayload>(engine: &mut Engine<P>, remains: &mut Remains<P>) -> Journal {
    let mut known_lost = Journal::new(engine.core.map.user_slots());
    if engine.core.breaks(SafetyRule::Journal) || remains.journal == Journal::default() {
        remains.journal = Journal::new(engine.core.map.user_slots());
    }
    for (&lpn, &rank) in &remains.lost {
        remains.journal.durable(lpn, rank);
        known_lost.durable(lpn, rank);
    }
    remains.journal.power_cut();
    engine.core.safe.keeps_ranks = remains.keeps_ranks;
    known_lost
}

/// Dies that do not answer, in the order in which they died; and those that took the places of dead ones.
fn find_dead_dies<P: FlashPayload>(engine: &mut Engine<P>, died_before: &[DieId], spares: &[(DieId, bool)]) {
    let all = (0..engine.core.device.grid.dies()).map(|die| DieId(die as u16));
    let since = all.filter(|die| !died_before.contains(die));
    for die in died_before.iter().copied().chain(since) {
        let first = engine.core.device.grid.ppn(engine.core.device.grid.block(die, 0), 0);
        if !engine.core.device.array.answers(first) {
            engine.core.device.losses.die_died(die);
        }
    }
    let set =
        |lacks: &dyn Fn(bool) -> bool| spares.iter().filter(|spare| lacks(spare.1)).map(|(die, _)| u32::from(die.0)).collect();
    engine.core.device.losses.had_spares(set(&|_| true), set(&|lacks| lacks));
}

/// Reads the last page of each die, once, and remembers those that can be read.
fn read_suspects<P: FlashPayload>(engine: &mut Engine<P>, scanned: &mut ScannedPages) -> BTreeSet<Ppn> {
    let mut suspects = BTreeSet::new();
    for ppn in scanned.last_of_dies::<P>(&engine.core.device.array) {
        if found::reads_back(&mut engine.core, ppn) {
            suspects.insert(ppn);
        } else {
            scanned.tear(ppn);
        }
    }
    suspects
}

/// Three states: the newest consistent one; the one if suspects cannot be read; and, for rows and groups without a dead die, the
/// one if suspects cannot be read and codewords give lost pages.
fn choose_each<P: FlashPayload>(
    engine: &Engine<P>,
    evidence: &Evidence<'_, P>,
    known_lost: &Journal,
    suspects: &BTreeSet<Ppn>,
) -> (Choice, Otherwise, Option<Otherwise>) {
    let all = Newests::of_all(engine.core.map.user_slots());
    let condition = Condition { but: &BTreeSet::new(), lost: Lost::AreSolvedFor };
    let with = Choice::of(engine.writer.choose(&engine.core, evidence, &engine.core.safe.journal, condition, all));
    // Unless a die took it, what can only be solved for is as suspect.
    let lost = if engine.core.device.losses.dead().is_empty() { Lost::AreLeftOut } else { Lost::AreSolvedFor };
    // A suspect may be durable: what would count without it is kept, and the next mount knows better.
    let sought = engine.writer.may_change(&engine.core, evidence.scan, suspects);
    let condition = |lost| Condition { but: suspects, lost };
    let otherwise = |lost| choose_without(engine, evidence, known_lost, condition(lost), &with, sought.as_ref());
    let collects = engine.writer.facts.rebuilt_by == RebuiltBy::Collection && lost == Lost::AreLeftOut;
    let (without, solved) = (otherwise(lost), collects.then(|| otherwise(Lost::AreSolvedFor)));
    (with, without, solved)
}

/// The state under a condition, as the difference from `with`. `durable`: the contents that were durable. `sought`: the logical pages whose newest contents may differ; `None`: all may.
fn choose_without<P: FlashPayload>(
    engine: &Engine<P>,
    evidence: &Evidence<'_, P>,
    durable: &Journal,
    condition: Condition<'_>,
    with: &Choice,
    sought: Option<&BTreeSet<Lpn>>,
) -> Otherwise {
    let choose = |sought| engine.writer.choose(&engine.core, evidence, durable, condition, sought);
    let all = || Otherwise::of(with, choose(Newests::of_all(engine.core.map.user_slots())));
    let Some(sought) = sought else { return all() };
    // Code zones name pages behind those of the host.
    let sought = sought.iter().copied().filter(|lpn| lpn.0 < engine.core.map.user_slots());
    let otherwise = Otherwise::of(with, choose(Newests::of_these(sought)));
    debug_assert_eq!(otherwise, all(), "nothing else changes");
    otherwise
}

/// Wear and age of blocks as their pages tell, and counts of reads as they were saved: those of the controller, for its limits. How
/// often cells were read is a fact of the medium, which no mount changes.
fn mount_wear<P: FlashPayload>(engine: &mut Engine<P>, scanned: &ScannedPages, remains: &Remains<P>) {
    let slc_cycles_a_cycle = engine.core.slc_cycles_a_cycle;
    let step = if engine.core.breaks(SafetyRule::ReadReserve) { 0 } else { READS_SAVED_EVERY };
    let summed_up = engine.core.safe.checkpoint.as_ref().map_or(0, Checkpoint::most_worn);
    engine.core.safe.wear_was_added = !remains.wear.is_empty();
    let bound = remains.most_worn.unwrap_or_else(|| scanned.most_worn::<P>(&engine.core.device.array).max(summed_up) + 1);
    for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
        let is_reserved = engine.care.profiles.as_ref().is_some_and(|profiles| profiles.holds(block));
        let told = if is_reserved {
            // Looks leave out its pages; they say how worn it is all the same.
            (0..engine.core.device.grid.pages_per_block())
                .map(|page| engine.core.device.grid.ppn(block, page))
                .find(|&ppn| matches!(engine.core.device.array.scan_page(ppn), PageScan::Valid(_)))
        } else {
            scanned.valid_in(block, &engine.core.device.grid).next()
        };
        let told = told.and_then(|ppn| match engine.core.device.array.scan_page(ppn) {
            PageScan::Valid(page) => Some((page.pe, page.slc_cycles, remains.outage.seen(page.first_program))),
            _ => None,
        });
        // Where cycles were added, those of all blocks were kept; an erase may have begun since.
        let kept = remains.wear.get(block.index()).map(|&pe| pe + u32::from(remains.erasing.contains(&block)));
        let (pe, slc_cycles, first_program) = told.unwrap_or((kept.unwrap_or(bound), 0, engine.core.device.now));
        let pe = pe.max(kept.unwrap_or(0));
        engine.core.device.array.set_age(block, |info| {
            (info.pe, info.slc_cycles, info.first_program) = (pe, slc_cycles, first_program);
            info.slc = if info.is_slc() { slc_cycles_a_cycle } else { 0 };
            // No one can have read an erased block.
            info.reads = if info.next_page > 0 { info.reads } else { 0 };
        });
        if let Some(saved) = remains.reads.get(block.index()) {
            let is_written = engine.core.device.array.block(block).next_page > 0;
            engine.core.limits.reads.push(if is_written { saved + step } else { 0 });
        }
        let unit = engine.core.map.unit_of_block(block);
        if pe > engine.core.map.unit(unit).pe {
            engine.core.map.set_pe(unit, pe);
        }
    }
}

/// Units with copies that would count if suspects could not be read, once for each. Those apart whose contents have another
/// copy that lasts, or one that was programmed before: of what was answered the first copy was durable then, so that later ones,
/// which mounts made that the next cut ended, only spare a step back to what was there before.
fn fallback<P: FlashPayload>(
    engine: &Engine<P>,
    with: &Choice,
    without: &Otherwise,
    suspects: &BTreeSet<Ppn>,
) -> (Vec<UnitId>, Vec<UnitId>) {
    let needed = without.needed_beside(with);
    let mut units: Vec<UnitId> = needed.into_iter().map(|slot| engine.core.map.unit_of(slot)).collect();
    // Not all suspects need fail: one may be in the newest consistent state if another is.
    let is_suspect = |slot: Slot| suspects.contains(&engine.core.device.grid.page_of(slot).0);
    let copies: Vec<(Lpn, Newest)> = suspects.iter().flat_map(|&ppn| found::data_in(&engine.core, ppn)).collect();
    let mut spare = Vec::new();
    for &ppn in suspects {
        let next = found::data_in(&engine.core, ppn).filter(|(lpn, found)| counts_next(with.page(*lpn), found, is_suspect));
        let next: Vec<(Lpn, Newest)> = next.collect();
        let is_spare = |(lpn, found): &(Lpn, Newest)| {
            let others = copies.iter().filter(|(other, _)| other == lpn).map(|(_, copy)| copy);
            is_one_too_many(found, without.page(with, *lpn), others)
        };
        let all_spare = next.iter().all(is_spare);
        if !next.is_empty() {
            let unit = engine.core.map.unit_of_block(engine.core.device.grid.split(ppn).0);
            if all_spare { spare.push(unit) } else { units.push(unit) }
        }
    }
    (units, spare)
}

/// Units with codewords that would give durable contents if suspects could not be read, once for each page.
fn solved_fallback<P: FlashPayload>(engine: &Engine<P>, with: &Choice, without: &Otherwise, durable: &Journal) -> Vec<UnitId> {
    let solved: BTreeSet<Slot> = without.solved.iter().map(|member| member.slot).collect();
    let slots = without.pages().filter_map(|(lpn, without)| {
        let (with, without) = (with.page(lpn)?, without?);
        let slot = without.slot.filter(|&slot| solved.contains(&slot) && with.slot != Some(slot))?;
        (without.update == durable.rank(lpn)).then_some(slot)
    });
    slots.map(|slot| engine.core.map.unit_of(slot)).collect()
}

/// Tells the map which units hold anything needed.
fn mount_units<P: FlashPayload>(engine: &mut Engine<P>, scanned: &ScannedPages, with: &Choice, fallback: &[UnitId]) {
    let mut needed: Vec<Option<u64>> = vec![None; engine.core.map.units()];
    let mut need = |unit: UnitId, rank: u64| {
        let newest = &mut needed[unit as usize];
        *newest = Some(rank).max(*newest);
    };
    for newest in with.pages.iter().flatten() {
        if let Some(slot) = newest.slot {
            need(engine.core.map.unit_of(slot), newest.sequence);
        }
    }
    with.stripes.iter().filter_map(StripeFound::parity_slot).for_each(|slot| need(engine.core.map.unit_of(slot), 0));
    with.stripes.iter().flat_map(StripeFound::old_slots).for_each(|slot| need(engine.core.map.unit_of(slot), 0));
    fallback.iter().for_each(|&unit| need(unit, 0));
    if engine.core.map.has_slc() {
        let is_slc = |unit| engine.core.map.blocks_of(unit).any(|block| engine.core.device.array.block(block).is_slc());
        let slc: Vec<bool> = (0..engine.core.map.units() as UnitId).map(is_slc).collect();
        engine.core.map.mount_slc(|unit| slc[unit as usize]);
    }
    engine.core.map.mount(|unit| needed[unit as usize]);
    fallback.iter().for_each(|&unit| engine.core.map.pin(unit));
    if engine.core.breaks(SafetyRule::EraseAgain) {
        engine.core.map.break_erase_again();
    }
    // A block that answers with nothing at all may be bad: reserves are not what they seem.
    engine.core.grown_bad += u32::from(scanned.has_lost_block(&engine.core.device.grid));
}

/// Publishes the newest consistent state.
fn mount_map<P: FlashPayload>(engine: &mut Engine<P>, with: &Choice) {
    for member in &with.solved {
        let (ppn, index) = engine.core.device.grid.page_of(member.slot);
        found::unreadable(&mut engine.core, ppn).set(index as usize, member.tag, member.update);
    }
    for (lpn, newest) in (0..).map(Lpn).zip(&with.pages) {
        let Some(newest) = newest else { continue };
        let published = match newest.slot {
            Some(slot) => engine.core.map.publish(lpn, slot),
            None => engine.core.map.publish_missing(lpn),
        };
        debug_assert!(published.pinned.is_none(), "the map is empty");
        engine.writer.note_version(PageRole::Data(lpn), newest.update);
        mount_stream(engine, lpn, newest.slot);
    }
}

/// The page is of the stream that stands beside it, where the drive tells streams apart.
fn mount_stream<P: FlashPayload>(engine: &mut Engine<P>, lpn: Lpn, slot: Option<Slot>) {
    let (Some(streams), Some(slot)) = (&mut engine.core.streams, slot) else { return };
    streams.found(lpn, engine.core.device.array.page(engine.core.device.grid.page_of(slot).0).oob.coverage);
}

/// Pages that are read and written again before the host is heard.
fn pages_to_rewrite<P: FlashPayload>(engine: &Engine<P>, needed: &NeededPages<'_>, suspects: &BTreeSet<Ppn>) -> BTreeSet<Ppn> {
    let (core, with) = (&engine.core, needed.with);
    let page = |slot: Slot| core.device.grid.page_of(slot).0;
    let mut pages: BTreeSet<Ppn> = suspects.iter().copied().filter(|&ppn| needed.has(core, ppn)).collect();
    pages.extend(engine.writer.leaning(core, suspects).into_iter().filter(|&ppn| needed.has(core, ppn)));
    if engine.writer.facts.keeps_copies {
        let solved: BTreeSet<Slot> = with.solved.iter().map(|member| member.slot).collect();
        let leaning = with.slots().filter(|slot| solved.contains(slot)).map(page);
        pages.extend(leaning.filter(|&ppn| suspects.iter().any(|&suspect| shares_codeword(core, ppn, suspect))));
    }
    pages.extend(with.stripes.iter().filter_map(|found| found.unnamed).map(page));
    if core.device.losses.dead().is_empty() && !core.device.losses.failed_programs.is_empty() {
        pages.extend(with.slots().map(page).filter(|ppn| core.device.losses.failed_programs.contains_key(&ppn.0)));
    }
    pages
}

/// True if two pages of block groups may share a codeword: they lie in one row or in one block.
fn shares_codeword<P: FlashPayload>(core: &Core<P>, ppn: Ppn, other: Ppn) -> bool {
    let row = |ppn| core.map.rows().row_of(ppn).0;
    row(ppn) == row(other) || core.device.block_of(ppn) == core.device.block_of(other)
}

/// Pages of rows whose parity sums a suspect: the controller remembers that, but the next cut may take it, and then the
/// first loss would be one too many.
fn pages_beside_suspects<P: FlashPayload>(engine: &Engine<P>, needed: &NeededPages<'_>, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
    let beside = engine.writer.summed_with(&engine.core, suspects);
    beside.into_iter().filter(|&ppn| needed.has(&engine.core, ppn)).collect()
}

/// Whether a copy may count once the one that counts now cannot be read: that is a suspect, and no older than the copy.
fn counts_next(newest: Option<Newest>, copy: &Newest, is_suspect: impl Fn(Slot) -> bool) -> bool {
    let counting = newest.filter(|newest| newest.update >= copy.update).and_then(|newest| newest.slot);
    counting.is_some_and(|slot| Some(slot) != copy.slot && is_suspect(slot))
}

/// Whether the contents of a copy that may not last have another that does, or one among `others` that was programmed before.
fn is_one_too_many<'a>(copy: &Newest, lasting: Option<Newest>, mut others: impl Iterator<Item = &'a Newest>) -> bool {
    lasting.is_some_and(|lasting| lasting.slot.is_some() && lasting.update >= copy.update)
        || others.any(|other| other.update == copy.update && other.sequence < copy.sequence)
}

#[cfg(test)]
mod tests;
