//! Rows that lost pages: data whose parity went to a bad block, and the parities of a row, one
//! of which brings a page back.

use crate::machine::Machine;
use crate::payload::HostPayload;
use crate::slab::Id;
use ftl::UnitId;
use nand::{FlashArray, PageRole};
use vocab::{DieId, Ppn, StripSet};

/// Jobs whose data are in flash without a parity: they are answered once a later parity of the
/// row covers the data, or the data have moved to other rows.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    row: u32,
    covered: StripSet,
    jobs: Vec<Id>,
}

impl<P: HostPayload, A: FlashArray<P>> Machine<P, A> {
    /// The parity of a row went to a bad block of a living die: where the row is still open, its
    /// data are uncovered again, and the end of the row will bring them another parity.
    pub(crate) fn uncover_row(&mut self, row: u32) {
        let Some(writer) = (0..self.rows.len()).find(|&w| self.rows[w].writes(row)) else { return };
        if self.rows[writer].has_room() {
            self.rows[writer].uncover();
            self.cover(writer);
        }
    }

    /// Lets the jobs of a parity that failed wait, unless another parity covers their data.
    pub(crate) fn leave_bare(&mut self, row: u32, covered: StripSet, jobs: &[Id]) {
        if self.is_covered(row, covered) {
            jobs.iter().for_each(|&job| self.part_done(job));
        } else if !jobs.is_empty() {
            self.bare.push(Bare { row, covered, jobs: jobs.to_vec() });
        }
    }

    fn is_covered(&self, row: u32, dies: StripSet) -> bool {
        self.ftl.rows().coverage(row).is_some_and(|(covered, _)| dies.and(covered) == dies)
    }

    /// A row got a parity.
    pub(crate) fn row_was_covered(&mut self, row: u32) {
        self.answer_bare(|machine, bare| bare.row == row && machine.is_covered(row, bare.covered));
    }

    /// A superblock was emptied: what lay there has a parity elsewhere.
    pub(crate) fn superblock_was_emptied(&mut self, unit: UnitId) {
        let pages = self.grid.pages_per_block();
        self.answer_bare(|_, bare| bare.row / pages == unit);
    }

    /// The drive has no room to move data to another row: requests are answered although one
    /// more loss would take what they wrote. True if there were any.
    pub(crate) fn give_up_bare(&mut self) -> bool {
        let any = !self.bare.is_empty();
        self.answer_bare(|_, _| true);
        any
    }

    fn answer_bare(&mut self, safe: impl Fn(&Self, &Bare) -> bool) {
        let mut at = 0;
        while at < self.bare.len() {
            if safe(self, &self.bare[at]) {
                let bare = self.bare.remove(at);
                bare.jobs.into_iter().for_each(|job| self.part_done(job));
            } else {
                at += 1;
            }
        }
    }

    /// Sources whose sum is the page, from its row, without the `failed` ones: `None` if the row
    /// cannot give it. `Err` means that the parity is still on its way.
    pub(crate) fn row_sources(&self, ppn: Ppn, failed: &[Ppn]) -> Result<Option<Vec<Ppn>>, ()> {
        let (row, die) = self.ftl.rows().row_of(ppn);
        let lost = u32::from(die.0);
        let in_flight = self.rows.iter().any(|writer| writer.writes(row) && writer.waits_for_parity());
        match self.ftl.rows().coverage(row) {
            Some((covered, parity)) if covered.contains(lost) => {
                let newest = self.sources_of(row, lost, (parity, covered), None);
                let usable = |pages: &Vec<Ppn>| pages.iter().all(|page| self.is_source(*page) && !failed.contains(page));
                Ok(Some(newest).filter(usable).or_else(|| self.older_sources(row, lost, usable)))
            }
            _ if in_flight || self.covers.in_use() > 0 => Err(()),
            _ => Ok(None),
        }
    }

    fn is_source(&self, ppn: Ppn) -> bool {
        self.array.answers(ppn) && !self.failed_programs.contains_key(&ppn.0)
    }

    /// The page as the sum of one parity that covers it, what that covers, and perhaps a parity
    /// before it, which takes out what both cover. Each parity of a row covers what those before
    /// it cover: no sum of more of them needs fewer pages.
    fn older_sources(&self, row: u32, lost: u32, usable: impl Fn(&Vec<Ppn>) -> bool) -> Option<Vec<Ppn>> {
        let parities = self.parities_of(row);
        let (with, without): (Vec<_>, Vec<_>) = parities.into_iter().partition(|(_, covered)| covered.contains(lost));
        let less = || std::iter::once(None).chain(without.iter().map(|&parity| Some(parity)));
        let mut sums = with.iter().flat_map(|&parity| less().map(move |less| (parity, less)));
        sums.find_map(|(parity, less)| Some(self.sources_of(row, lost, parity, less)).filter(&usable))
    }

    fn sources_of(&self, row: u32, lost: u32, (parity, covered): (DieId, StripSet), less: Option<(DieId, StripSet)>) -> Vec<Ppn> {
        let mut dies = StripSet(covered.0 ^ less.map_or(0, |(_, covered)| covered.0));
        dies.remove(lost);
        dies.insert(u32::from(parity.0));
        if let Some((parity, _)) = less {
            dies.insert(u32::from(parity.0));
        }
        dies.iter().map(|die| self.ftl.rows().page(row, DieId(die as u16))).collect()
    }

    /// Every parity of the row in flash, with what it covers.
    fn parities_of(&self, row: u32) -> Vec<(DieId, StripSet)> {
        let dies = (0..self.grid.dies()).map(|die| DieId(die as u16));
        dies.filter_map(|die| {
            let ppn = self.ftl.rows().page(row, die);
            if !self.is_stored(ppn) {
                return None;
            }
            let page = self.array.page(ppn);
            let is_parity = matches!(page.tags[0].role(), PageRole::Parity(_));
            is_parity.then_some((die, StripSet(u64::from(page.oob.coverage))))
        })
        .collect()
    }
}
