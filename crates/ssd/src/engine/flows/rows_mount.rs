//! Rows after a cut. A write is answered when its page and a parity that covers it are in flash
//! (I10). So a page that no readable parity covers was never acknowledged and does not count: what
//! it was to replace does, and is still there. Where a page of the row cannot be read, or a die is dead,
//! that may have been the parity, and pages count without; they are written anew.

use crate::core::data_of;
use crate::core::rules::SafetyRule;
use crate::engine::Engine;
use crate::power::mount::looks::Looks;
use crate::power::mount::{Choice, Newest};
use device::contents::HostPayload;
use nand::{Member, PageRole, Scan};
use std::collections::BTreeSet;
use vocab::{DieId, Ppn, StripSet};

/// A parity page of a row.
struct Parity {
    ppn: Ppn,
    die: DieId,
    covers: StripSet,
}

impl<P: HostPayload, A: Scan<P>> Engine<P, A> {
    fn row_pages(&self, row: u32) -> impl Iterator<Item = (DieId, Ppn)> + '_ {
        (0..self.core.device.grid.dies()).map(move |die| (DieId(die as u16), self.core.map.rows().page(row, DieId(die as u16))))
    }

    fn all_rows(&self) -> std::ops::Range<u32> {
        0..self.core.device.grid.blocks_per_die() * self.core.device.grid.pages_per_block()
    }

    /// Pages that only a summary vouches for, of rows of which the cut left something in parts: there a
    /// page that was lost since may be one too many.
    pub(crate) fn doubted_in_rows(&self, looks: &Looks, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
        let in_parts = |(die, ppn): (DieId, Ppn)| {
            let unreadable = !looks.is_valid(ppn) && !looks.is_erased(ppn);
            suspects.contains(&ppn)
                || (unreadable && !self.core.device.dead.contains(u32::from(die.0)))
                || self.lacks_a_member(ppn, looks)
        };
        let rows = self.all_rows().filter(|&row| self.row_pages(row).any(in_parts));
        rows.flat_map(|row| self.row_pages(row)).map(|(_, ppn)| ppn).filter(|&ppn| looks.is_believed(ppn)).collect()
    }

    /// Whether a page is parity of one that never was programmed.
    fn lacks_a_member(&self, ppn: Ppn, looks: &Looks) -> bool {
        let erased = |member: &Member| looks.is_erased(self.core.device.grid.page_of(member.slot).0);
        looks.is_valid(ppn) && self.core.device.array.members(ppn).iter().any(erased)
    }

    /// Readable parity pages of a row.
    fn parities_found(&self, row: u32, looks: &Looks, but: &BTreeSet<Ppn>) -> Vec<Parity> {
        let readable = self.row_pages(row).filter(|(_, ppn)| looks.is_valid(*ppn) && !but.contains(ppn));
        let parity = |(die, ppn): (DieId, Ppn)| {
            let page = self.core.device.array.page(ppn);
            let is_parity = matches!(page.tags[0].role(), PageRole::Parity(_));
            is_parity.then_some(Parity { ppn, die, covers: StripSet(u64::from(page.oob.coverage)) })
        };
        readable.filter_map(parity).collect()
    }

    /// Those of which no more members are missing than they bring back: of others no member was
    /// acknowledged, unless dead dies took them.
    fn parities_that_stand(&self, row: u32, looks: &Looks, but: &BTreeSet<Ppn>) -> Vec<Parity> {
        let is_missing = |die: &u32| {
            let ppn = self.core.map.rows().page(row, DieId(*die as u16));
            !self.core.device.dead.contains(*die) && (!looks.is_valid(ppn) || but.contains(&ppn))
        };
        let mut parities = self.parities_found(row, looks, but);
        parities.retain(|parity| parity.covers.iter().filter(is_missing).count() <= 1);
        parities
    }

    pub(crate) fn choose_in_rows(&self, looks: &Looks, but: &BTreeSet<Ppn>, solve: bool) -> Choice {
        let mut choice = Choice::new(self.core.map.user_slots());
        for row in self.all_rows() {
            let parities = self.parities_that_stand(row, looks, but);
            let covered = parities.iter().fold(StripSet::EMPTY, |all, parity| all.or(parity.covers));
            let is_unreadable = |(_, ppn): (DieId, Ppn)| !looks.is_valid(ppn) && !looks.is_erased(ppn);
            let lost_any = !self.core.device.dead.is_empty() || self.row_pages(row).any(is_unreadable);
            for (die, ppn) in self.row_pages(row) {
                let counts = covered.contains(u32::from(die.0)) || lost_any;
                if looks.is_valid(ppn) && !but.contains(&ppn) {
                    self.data_in(ppn).filter(|_| counts).for_each(|(lpn, found)| choice.offer(lpn, found));
                } else if solve && let Some(members) = self.solved_in_row(row, die, &parities, looks, but) {
                    self.offer_solved(&mut choice, members);
                }
            }
        }
        choice
    }

    /// What lies on an unreadable page of a row, if a parity that covers it brings it back.
    fn solved_in_row(
        &self,
        row: u32,
        lost: DieId,
        parities: &[Parity],
        looks: &Looks,
        but: &BTreeSet<Ppn>,
    ) -> Option<Vec<Member>> {
        let is_there = |die: u32| {
            let ppn = self.core.map.rows().page(row, DieId(die as u16));
            looks.is_valid(ppn) && !but.contains(&ppn)
        };
        let solves = |parity: &&Parity| {
            let others = parity.covers.minus(StripSet::one(u32::from(lost.0)));
            parity.covers.contains(u32::from(lost.0)) && others.iter().all(is_there)
        };
        let parity = parities.iter().find(solves)?;
        let page = self.core.map.rows().page(row, lost);
        let members = self.core.device.array.members(parity.ppn).iter().copied();
        Some(members.filter(|member| self.core.device.grid.page_of(member.slot).0 == page).collect())
    }

    /// Offers what a codeword brings back; readable copies count before it.
    pub(crate) fn offer_solved(&self, choice: &mut Choice, members: Vec<Member>) {
        for member in members {
            if let Some(lpn) = data_of(member.tag) {
                choice.offer(lpn, Newest { update: member.update, sequence: u64::MAX, slot: Some(member.slot) });
                choice.solved.push(member);
            }
        }
    }

    /// Takes over the coverage of every row.
    pub(crate) fn mount_rows(&mut self, looks: &Looks) {
        for row in self.all_rows() {
            for parity in self.parities_that_stand(row, looks, &BTreeSet::new()) {
                self.core.map.rows_mut().cover(row, parity.covers, parity.die);
                for die in parity.covers.iter() {
                    let ppn = self.core.map.rows().page(row, DieId(die as u16));
                    if !looks.is_valid(ppn) {
                        self.unreadable(ppn);
                    }
                }
            }
        }
    }

    /// Whether no parity covers a page, or the one that does is one of these, or would not stand without
    /// them: other pages of the row are missing, or two are of these.
    pub(crate) fn leans_on(&self, ppn: Ppn, suspects: &BTreeSet<Ppn>) -> bool {
        let (row, of) = self.core.map.rows().row_of(ppn);
        let covering = self.core.map.rows().coverage(row).filter(|(covered, _)| covered.contains(u32::from(of.0)));
        let Some((covered, die)) = covering else {
            return self.core.device.dead.is_empty() && !self.core.breaks(SafetyRule::Coverage);
        };
        let page = |die: u32| self.core.map.rows().page(row, DieId(die as u16));
        let is_missing = |ppn: Ppn| self.core.device.dead.is_empty() && self.core.device.failed_programs.contains_key(&ppn.0);
        let suspected = covered.iter().filter(|&die| suspects.contains(&page(die))).count();
        suspects.contains(&page(u32::from(die.0))) || suspected > 1 || covered.iter().any(|die| is_missing(page(die)))
    }
}
