//! Rows after a cut. A write is answered when its page and a parity that covers it are in flash (I10). So the
//! host was never told of a page that no readable parity covers: the page that it was to replace is still in
//! flash, and is taken instead. Where a page of the row cannot be read, or a die is dead, that may have been the
//! parity. There pages are taken without parity, and written again.

use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::core::newest::Newest;
use crate::core::{Core, data_of};
use crate::rules::SafetyRule;
use crate::write::found::{Found, Lost, Newests, PagesSeen, data_in, unreadable};
use crate::write::rows::Rows;
use crate::write::rows::whole::WholeSuperblock;
use nand::{FlashArray, Member, PageRole};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{DieId, Lpn, Ppn, StripSet, SuperblockId};

/// A parity page of a row.
pub(super) struct Parity {
    ppn: Ppn,
    pub die: DieId,
    pub covers: StripSet,
}

/// The parity in a readable page, if there is one.
pub(super) fn parity_at<P: FlashPayload>(core: &Core<P>, die: DieId, ppn: Ppn) -> Option<Parity> {
    let is_parity = matches!(core.device.array.tags(ppn)[0].role(), PageRole::Parity(_));
    is_parity.then(|| Parity { ppn, die, covers: core.device.array.page(ppn).oob.coverage })
}

/// A mount's view of rows: what the scan saw, without some pages that are taken for lost.
#[derive(Clone, Copy)]
pub(crate) struct RowsSeen<'a> {
    pub seen: &'a dyn PagesSeen,
    /// Pages that are taken for lost.
    pub without: &'a BTreeSet<Ppn>,
}

impl RowsSeen<'_> {
    fn is_there(&self, ppn: Ppn) -> bool {
        self.seen.is_valid(ppn) && !self.without.contains(&ppn)
    }

    fn is_unreadable(&self, ppn: Ppn) -> bool {
        !self.seen.is_valid(ppn) && !self.seen.is_erased(ppn)
    }
}

impl<P: FlashPayload> Rows<P> {
    /// Pages that only a summary vouches for, of rows of which the cut left something in parts: there a
    /// page that was lost since may be one too many. Block groups ask for the same.
    pub fn doubted(core: &Core<P>, seen: &dyn PagesSeen, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
        let view = RowsSeen { seen, without: suspects };
        let in_parts = |(die, ppn): (DieId, Ppn)| {
            suspects.contains(&ppn)
                || (view.is_unreadable(ppn) && !core.device.losses.dead().contains(u32::from(die.0)))
                || lacks_a_member(core, seen, ppn)
        };
        let rows = all_rows(core).filter(|&row| row_pages(core, row).any(in_parts));
        rows.flat_map(|row| row_pages(core, row)).map(|(_, ppn)| ppn).filter(|&ppn| seen.is_believed(ppn)).collect()
    }

    /// Pages that only a summary vouches for, with durable contents that no parity of their row covers and of which flash has
    /// another copy. A move that an earlier cut met may have left such a page: as the oldest copy it would count, though it was lost.
    pub fn bare_copies(core: &Core<P>, seen: &dyn PagesSeen) -> Vec<Ppn> {
        let view = RowsSeen { seen, without: &BTreeSet::new() };
        let is_durable = |(lpn, found): &(Lpn, Newest)| found.update == core.safe.journal.rank(*lpn);
        let durable_in = |ppn: Ppn| data_in(core, ppn).filter(is_durable).map(|(lpn, _)| lpn);
        let bare = all_rows(core).flat_map(|row| bare_in_row(core, view, row));
        let mut bare: Vec<Ppn> = bare.filter(|&ppn| durable_in(ppn).next().is_some()).collect();
        if bare.is_empty() {
            return bare;
        }
        let mut copies: BTreeMap<Lpn, u32> = bare.iter().flat_map(|&ppn| durable_in(ppn)).map(|lpn| (lpn, 0)).collect();
        let valid = all_rows(core).flat_map(|row| row_pages(core, row)).filter(|&(_, ppn)| seen.is_valid(ppn));
        valid.flat_map(|(_, ppn)| durable_in(ppn)).for_each(|lpn| {
            copies.get_mut(&lpn).into_iter().for_each(|count| *count += 1);
        });
        bare.retain(|&ppn| durable_in(ppn).any(|lpn| copies[&lpn] > 1));
        bare
    }

    /// The newest contents of the logical pages that are sought.
    pub fn choose(&self, core: &Core<P>, view: RowsSeen<'_>, durable: &Journal, lost: Lost, sought: Newests) -> Found {
        let (seeks_all, mut choice) = (matches!(sought, Newests::All(_)), Found::new(sought));
        for superblock in all_superblocks(core) {
            let whole = WholeSuperblock::of(core, view, superblock);
            if let Some(whole) = whole.as_ref().filter(|_| seeks_all) {
                whole.offer(durable, &mut choice);
                continue;
            }
            let in_parts = || rows_of(core, superblock).filter(|&row| has_sought(core, view, row, &choice.pages)).collect();
            let rows: BTreeSet<u32> = whole.map_or_else(in_parts, |whole| whole.rows_with(&choice.pages));
            rows.into_iter().for_each(|row| offer_row(core, view, durable, lost, row, &mut choice));
        }
        choice
    }

    /// Logical pages whose newest contents may be others without the suspects, or if lost pages are not solved for: those of
    /// rows that have a suspect, or a page that is not there beside one that is. `None`: a die is dead, so that it may be any page.
    pub fn in_parts(core: &Core<P>, seen: &dyn PagesSeen, suspects: &BTreeSet<Ppn>) -> Option<BTreeSet<Lpn>> {
        if !core.device.losses.dead().is_empty() {
            return None;
        }
        let view = RowsSeen { seen, without: suspects };
        let mut lpns = BTreeSet::new();
        for superblock in all_superblocks(core).filter(|&superblock| WholeSuperblock::of(core, view, superblock).is_none()) {
            for row in rows_of(core, superblock).filter(|&row| is_in_parts(core, view, row)) {
                for (_, ppn) in row_pages(core, row).filter(|&(_, ppn)| seen.is_valid(ppn)) {
                    lpns.extend(core.device.array.members(ppn).iter().filter_map(|member| data_of(member.tag)));
                    lpns.extend(data_in(core, ppn).map(|(lpn, _)| lpn));
                }
            }
        }
        Some(lpns)
    }

    /// Takes over the coverage of every row. A page that cannot be read is neither parity nor data of a row: its block may
    /// be bad, and left over from what the superblock held before.
    pub fn mount(&self, core: &mut Core<P>, seen: &dyn PagesSeen) {
        let view = RowsSeen { seen, without: &BTreeSet::new() };
        for superblock in all_superblocks(core) {
            let Some(whole) = WholeSuperblock::of(core, view, superblock) else {
                rows_of(core, superblock).for_each(|row| mount_row(core, view, row));
                continue;
            };
            let parities: Vec<(u32, Parity)> = whole.parities().collect();
            parities.into_iter().for_each(|(row, parity)| core.map.rows_mut().cover(row, parity.covers, parity.die));
        }
    }

    /// Pages that no parity covers, or only one that may be lost with the suspects.
    pub fn leaning<'a>(core: &'a Core<P>, suspects: &BTreeSet<Ppn>) -> impl Iterator<Item = Ppn> + 'a {
        let (weak, rows) = (rows_with_weak_parity(core, suspects), core.map.rows());
        let bare_lean = core.device.losses.dead().is_empty() && !core.breaks(SafetyRule::Coverage);
        let of_row = move |row: u32| {
            let (covered, parity) = rows
                .coverage(row)
                .map_or((StripSet::EMPTY, StripSet::EMPTY), |(covered, die)| (covered, StripSet::one(u32::from(die.0))));
            let dies = rows.dies(row);
            let bare = StripSet::first(dies.end).minus(StripSet::first(dies.start)).minus(covered).minus(parity);
            let lean = if weak.contains(&row) { covered } else { StripSet::EMPTY };
            let lean = if bare_lean { lean.or(bare) } else { lean };
            lean.iter().map(move |die| rows.page(row, DieId(die as u16)))
        };
        all_rows(core).flat_map(of_row)
    }

    /// Pages of which the parity that covers them sums another one that is a suspect.
    pub fn summed_with(core: &Core<P>, suspects: &BTreeSet<Ppn>) -> BTreeSet<Ppn> {
        let beside = |&suspect: &Ppn| {
            let (row, of) = core.map.rows().row_of(suspect);
            let covering = core.map.rows().coverage(row).map(|(covered, _)| covered);
            let covered = covering.filter(|covered| covered.contains(u32::from(of.0))).unwrap_or_default();
            let others = covered.minus(StripSet::one(u32::from(of.0)));
            others.iter().map(|die| core.map.rows().page(row, DieId(die as u16))).collect::<Vec<_>>()
        };
        suspects.iter().flat_map(beside).collect()
    }
}

fn row_pages<P: FlashPayload>(core: &Core<P>, row: u32) -> impl Iterator<Item = (DieId, Ppn)> + '_ {
    let dies = core.map.rows().dies(row).map(|die| DieId(die as u16));
    dies.map(move |die| (die, core.map.rows().page(row, die)))
}

/// Rows whose parity may be lost with the suspects: it is one of them, or other pages that it covers are missing, or two of these
/// are suspects.
fn rows_with_weak_parity<P: FlashPayload>(core: &Core<P>, suspects: &BTreeSet<Ppn>) -> BTreeSet<u32> {
    let (losses, rows) = (&core.device.losses, core.map.rows());
    let is_missing = |ppn: Ppn| losses.dead().is_empty() && losses.failed_programs.contains_key(&ppn.0);
    let is_weak = |row: &u32| {
        let Some((covered, die)) = rows.coverage(*row) else { return false };
        let page = |die: u32| rows.page(*row, DieId(die as u16));
        let suspected = covered.iter().filter(|&die| suspects.contains(&page(die))).count();
        suspects.contains(&page(u32::from(die.0))) || suspected > 1 || covered.iter().any(|die| is_missing(page(die)))
    };
    let doubtful = suspects.iter().copied().chain(losses.failed_programs.keys().map(|&ppn| Ppn(ppn)));
    let touched: BTreeSet<u32> = doubtful.map(|ppn| rows.row_of(ppn).0).collect();
    touched.into_iter().filter(is_weak).collect()
}

/// Takes over the coverage of a row.
fn mount_row<P: FlashPayload>(core: &mut Core<P>, view: RowsSeen<'_>, row: u32) {
    for parity in readable_parities(core, view, row) {
        if is_sound(core, view, row, &parity) {
            core.map.rows_mut().cover(row, parity.covers, parity.die);
        }
        // Of a parity that is not sound, too: nothing may be read for it that was never programmed.
        let covered = parity.covers.iter().map(|die| core.map.rows().page(row, DieId(die as u16)));
        let missing: Vec<Ppn> = covered.filter(|&ppn| !view.seen.is_valid(ppn)).collect();
        missing.into_iter().for_each(|ppn| _ = unreadable(core, ppn));
    }
    let lost: Vec<Ppn> = row_pages(core, row).map(|(_, ppn)| ppn).filter(|&ppn| view.is_unreadable(ppn)).collect();
    lost.into_iter().for_each(|ppn| _ = unreadable(core, ppn));
}

fn all_superblocks<P: FlashPayload>(core: &Core<P>) -> impl Iterator<Item = SuperblockId> + use<P> {
    (0..core.device.grid.blocks_per_die()).map(SuperblockId)
}

fn rows_of<P: FlashPayload>(core: &Core<P>, superblock: SuperblockId) -> std::ops::Range<u32> {
    core.map.rows().row(superblock, 0)..core.map.rows().row(SuperblockId(superblock.0 + 1), 0)
}

fn all_rows<P: FlashPayload>(core: &Core<P>) -> std::ops::Range<u32> {
    0..core.map.rows().count()
}

/// Whether a page is parity of one that never was programmed.
fn lacks_a_member<P: FlashPayload>(core: &Core<P>, seen: &dyn PagesSeen, ppn: Ppn) -> bool {
    let erased = |member: &Member| seen.is_erased(core.device.grid.page_of(member.slot).0);
    seen.is_valid(ppn) && core.device.array.members(ppn).iter().any(erased)
}

/// Pages of a row that no parity of it covers and that only a summary vouches for. A row of which nothing is missing has none.
fn bare_in_row<P: FlashPayload>(core: &Core<P>, view: RowsSeen<'_>, row: u32) -> Vec<Ppn> {
    let is_believed = |ppn: Ppn| view.seen.is_valid(ppn) && view.seen.is_believed(ppn);
    let any = |is: &dyn Fn(Ppn) -> bool| row_pages(core, row).any(|(_, ppn)| is(ppn));
    if !any(&is_believed) || !any(&|ppn| !view.seen.is_valid(ppn)) {
        return Vec::new();
    }
    let covered = readable_parities(core, view, row).iter().fold(StripSet::EMPTY, |all, parity| all.or(parity.covers));
    let bare = row_pages(core, row).filter(|&(die, ppn)| is_believed(ppn) && !covered.contains(u32::from(die.0)));
    bare.map(|(_, ppn)| ppn).collect()
}

/// Readable parity pages of a row.
fn readable_parities<P: FlashPayload>(core: &Core<P>, view: RowsSeen<'_>, row: u32) -> Vec<Parity> {
    let readable = row_pages(core, row).filter(|(_, ppn)| view.is_there(*ppn));
    readable.filter_map(|(die, ppn)| parity_at(core, die, ppn)).collect()
}

/// Readable parity pages of a row that miss at most one member, which each of them gives.
fn sound_parities<P: FlashPayload>(core: &Core<P>, view: RowsSeen<'_>, row: u32) -> Vec<Parity> {
    let mut parities = readable_parities(core, view, row);
    parities.retain(|parity| is_sound(core, view, row, parity));
    parities
}

/// Whether a parity misses at most one member. Where it misses more, the host was not answered for one of them. Members on dead
/// dies do not count as missing.
fn is_sound<P: FlashPayload>(core: &Core<P>, view: RowsSeen<'_>, row: u32, parity: &Parity) -> bool {
    let is_missing = |die: &u32| {
        let ppn = core.map.rows().page(row, DieId(*die as u16));
        !core.device.losses.dead().contains(*die) && !view.is_there(ppn)
    };
    parity.covers.iter().filter(is_missing).count() <= 1
}

/// Whether the mount scan can read a page of the row, and a page of the row is erased, unreadable or taken for lost.
fn is_in_parts<P: FlashPayload>(core: &Core<P>, view: RowsSeen<'_>, row: u32) -> bool {
    let any = |is: &dyn Fn(Ppn) -> bool| row_pages(core, row).any(|(_, ppn)| is(ppn));
    any(&|ppn| view.seen.is_valid(ppn)) && any(&|ppn| !view.is_there(ppn))
}

/// Whether a row may have contents of pages that are sought.
fn has_sought<P: FlashPayload>(core: &Core<P>, view: RowsSeen<'_>, row: u32, sought: &Newests) -> bool {
    let holds_any = |ppn: Ppn| core.device.array.tags(ppn).iter().any(|&tag| data_of(tag).is_some_and(|lpn| sought.seeks(lpn)));
    matches!(sought, Newests::All(_))
        || is_in_parts(core, view, row)
        || row_pages(core, row).any(|(_, ppn)| view.is_there(ppn) && holds_any(ppn))
}

/// Offers what the pages of a row hold, and what they solve for.
fn offer_row<P: FlashPayload>(core: &Core<P>, view: RowsSeen<'_>, durable: &Journal, lost: Lost, row: u32, choice: &mut Found) {
    let parities = sound_parities(core, view, row);
    let covered = parities.iter().fold(StripSet::EMPTY, |all, parity| all.or(parity.covers));
    let lost_any = !core.device.losses.dead().is_empty() || row_pages(core, row).any(|(_, ppn)| view.is_unreadable(ppn));
    for (die, ppn) in row_pages(core, row) {
        let is_taken = covered.contains(u32::from(die.0)) || lost_any;
        if view.is_there(ppn) {
            // An earlier mount may have taken it and found no room to write it again.
            let data = data_in(core, ppn).filter(|(lpn, found)| is_taken || found.update <= durable.rank(*lpn));
            data.for_each(|(lpn, found)| choice.offer(lpn, found));
        } else if lost == Lost::AreSolvedFor
            && let Some(members) = solved_in_row(core, view, row, die, &parities)
        {
            choice.offer_solved(members);
        }
    }
}

/// Contents of an unreadable page of a row, if a parity that covers it brings it back.
fn solved_in_row<P: FlashPayload>(
    core: &Core<P>,
    view: RowsSeen<'_>,
    row: u32,
    lost: DieId,
    parities: &[Parity],
) -> Option<Vec<Member>> {
    let is_there = |die: u32| view.is_there(core.map.rows().page(row, DieId(die as u16)));
    let solves = |parity: &&Parity| {
        let others = parity.covers.minus(StripSet::one(u32::from(lost.0)));
        parity.covers.contains(u32::from(lost.0)) && others.iter().all(is_there)
    };
    let parity = parities.iter().find(solves)?;
    let page = core.map.rows().page(row, lost);
    let members = core.device.array.members(parity.ppn).iter().copied();
    Some(members.filter(|member| core.device.grid.page_of(member.slot).0 == page).collect())
}
