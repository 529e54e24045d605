//! Rows that lost pages: data whose program failed, data whose parity went to a bad block, and the
//! parities of a row, one of which brings a page back.

use crate::care::collect::Move;
use crate::core::target::Target;
use crate::engine::Engine;
use device::contents::HostPayload;
use device::image::Contents;
use device::slab::Id;
use ftl::{Place, UnitId};
use nand::{FlashArray, PageRole};
use vocab::{Cause, DieId, Lpn, Ppn, StripSet};

/// Jobs whose data are in flash without a parity: they are answered once a later parity of the
/// row covers the data, or the data have moved to other rows.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    row: u32,
    covered: StripSet,
    jobs: Vec<Id>,
    /// Pages of theirs that are not in flash at all.
    hurt: Vec<Lpn>,
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// The program of a data page failed on a living die. Its row solves for it, unless another page of
    /// the row fails too: so what the controller still has goes to another row at once, unless something newer
    /// is on its way. The pages.
    pub(crate) fn rescue(&mut self, image: Id) -> Vec<Lpn> {
        let (ppn, mut lpns) = (self.core.device.images.slab[image].ppn, Vec::new());
        if !self.core.device.array.answers(ppn) {
            return lpns;
        }
        for index in 0..self.core.device.images.slab[image].filled {
            let (tag, from) = (self.core.device.images.slot(image, index).0, self.core.device.grid.slot(ppn, index));
            let PageRole::Data(lpn) = tag.role() else { continue };
            lpns.push(lpn);
            if self.core.map.is_valid(from) {
                let payload = self.core.device.images.contents(image).1[index as usize].clone();
                let update = self.core.device.images.updates(image)[index as usize];
                self.writer.moves.push_back(Move { contents: Contents { tag, payload, update }, from });
                (self.writer.rescue.under_way, self.core.retry) = (true, true);
            }
        }
        lpns
    }

    /// Lets go what waited for rescued pages that are in flash by now, or were written anew, or for a parity.
    pub(crate) fn settle_hurt(&mut self) {
        let mut at = 0;
        while at < self.writer.rescue.hurt.len() {
            if self.writer.rescue.hurt[at].lpns.iter().all(|&lpn| self.is_at_rest(lpn)) {
                let hurt = self.writer.rescue.hurt.remove(at);
                hurt.pins.into_iter().for_each(|unit| self.release(unit));
                hurt.jobs.into_iter().for_each(|job| self.part_done(job));
            } else {
                at += 1;
            }
        }
        self.answer_covered();
    }

    /// Whether the page is in flash, and in rows a parity covers it: without, a mount would not count it.
    fn is_at_rest(&self, lpn: Lpn) -> bool {
        let Place::At(slot) = self.core.map.lookup(lpn) else { return true };
        let ppn = self.core.device.grid.page_of(slot).0;
        let (row, die) = self.core.map.rows().row_of(ppn);
        self.core.device.is_stored(ppn) && (self.has_groups() || self.is_covered(row, StripSet::one(u32::from(die.0))))
    }

    /// Rescued pages find no room, perhaps because a collector waits for what their old versions keep: then
    /// their codewords stand in for them, as for any page that is lost. Where they cannot, old versions stay,
    /// and who wrote the new ones is told that there is no room. True if anything came of it.
    pub(crate) fn give_up_hurt(&mut self) -> bool {
        let mut any = false;
        for mut hurt in std::mem::take(&mut self.writer.rescue.hurt) {
            let stand_in = hurt.lpns.iter().all(|&lpn| self.is_solvable(lpn));
            any |= stand_in || !hurt.jobs.is_empty();
            for job in std::mem::take(&mut hurt.jobs) {
                if !stand_in {
                    (self.core.jobs[job].failed, self.core.jobs[job].no_room) = (true, true);
                }
                self.part_done(job);
            }
            if stand_in {
                hurt.pins.into_iter().for_each(|unit| self.release(unit));
            } else {
                self.writer.rescue.hurt.push(hurt);
            }
        }
        any
    }

    /// Whether the rest of its codeword brings back a page that failed to be programmed. It may be in flash
    /// elsewhere by now, with no room for parity.
    fn is_solvable(&self, lpn: Lpn) -> bool {
        let Place::At(slot) = self.core.map.lookup(lpn) else { return true };
        let ppn = self.core.device.grid.page_of(slot).0;
        if self.core.device.is_stored(ppn) {
            return true;
        }
        if !self.has_groups() {
            return matches!(self.row_sources(ppn, &[]), Ok(Some(_)));
        }
        let (row, _) = self.core.map.rows().row_of(ppn);
        let Some(info) = self.writer.groups.info[(row / self.core.device.grid.pages_per_block()) as usize] else { return false };
        let page = |die: u32| self.core.map.rows().page(row, DieId(die as u16)).0;
        let is_lost =
            |die: &u32| self.core.device.dead.contains(*die) || self.core.device.failed_programs.contains_key(&page(*die));
        info.members.iter().filter(is_lost).count() <= self.writer.groups.codes[info.code].1.parity()
    }

    /// Blocks with pages that were not what they should be are written anew.
    pub(crate) fn want_astray(&mut self) {
        for block in std::mem::take(&mut self.care.damage.astray) {
            if !self.core.device.is_dead(self.core.device.grid.split_block(block).0) {
                self.want(self.core.map.unit_of_block(block), Cause::Rebuild);
            }
        }
    }

    /// Writes rescued pages to rows, as far as there is room.
    pub(crate) fn place_rescued(&mut self) {
        if self.writer.rescue.under_way {
            self.feed_moves(true);
            self.writer.rescue.under_way = !self.writer.moves.is_empty();
            self.settle_hurt();
        }
    }

    /// The contents that a repair wants, if they are on their way to another row.
    pub(crate) fn rescued(&self, target: Target) -> Option<P> {
        if !self.writer.rescue.under_way {
            return None;
        }
        let place = match (target, self.lpn_wanted(target)) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, lpn) => self.core.map.lookup(lpn?),
        };
        self.writer.moves.iter().find(|page| Place::At(page.from) == place).map(|page| page.contents.payload.clone())
    }

    /// The parity of a row went to a bad block of a living die: where the row is still open, its
    /// data are uncovered again, and the end of the row will bring them another parity.
    pub(crate) fn uncover_row(&mut self, row: u32) {
        let Some(writer) = (0..self.writer.rows.open.len()).find(|&w| self.writer.rows.open[w].writes(row)) else { return };
        if self.writer.rows.open[writer].has_room() {
            self.writer.rows.open[writer].uncover();
            self.cover(writer);
        }
    }

    /// Lets the jobs of a parity that failed wait, unless another parity covers their data. Programs of the
    /// `hurt` pages failed, too.
    pub(crate) fn leave_bare(&mut self, row: u32, covered: StripSet, jobs: &[Id], hurt: Vec<Lpn>) {
        if !jobs.is_empty() {
            self.writer.rows.bare.push(Bare { row, covered, jobs: jobs.to_vec(), hurt });
            self.answer_covered();
        }
    }

    fn is_covered(&self, row: u32, dies: StripSet) -> bool {
        dies.is_empty() || self.core.map.rows().coverage(row).is_some_and(|(covered, _)| dies.and(covered) == dies)
    }

    /// A superblock was emptied: what lay there has a parity elsewhere.
    pub(crate) fn superblock_was_emptied(&mut self, unit: UnitId) {
        let pages = self.core.device.grid.pages_per_block();
        let emptied = self.writer.rows.bare.iter_mut().filter(|bare| bare.row / pages == unit);
        emptied.for_each(|bare| bare.covered = StripSet::EMPTY);
        self.answer_covered();
    }

    /// The drive has no room to move data to another row: requests are answered although one
    /// more loss would take what they wrote. Who wrote what is not in flash at all is told that there is no room.
    /// True if there were any.
    pub(crate) fn give_up_bare(&mut self) -> bool {
        let given_up = std::mem::take(&mut self.writer.rows.bare);
        for bare in &given_up {
            let is_there = bare.hurt.iter().all(|&lpn| self.is_solvable(lpn));
            for &job in &bare.jobs {
                if !is_there {
                    (self.core.jobs[job].failed, self.core.jobs[job].no_room) = (true, true);
                }
                self.part_done(job);
            }
        }
        !given_up.is_empty()
    }

    /// Answers those whose data have a parity by now, and are in flash.
    fn answer_covered(&mut self) {
        let mut at = 0;
        while at < self.writer.rows.bare.len() {
            let Bare { row, covered, hurt, .. } = &self.writer.rows.bare[at];
            if self.is_covered(*row, *covered) && hurt.iter().all(|&lpn| self.is_at_rest(lpn)) {
                let bare = self.writer.rows.bare.remove(at);
                bare.jobs.into_iter().for_each(|job| self.part_done(job));
            } else {
                at += 1;
            }
        }
    }

    /// Sources whose sum is the page, from its row, without the `failed` ones: `None` if the row
    /// cannot give it. `Err` means that the parity is still on its way.
    pub(crate) fn row_sources(&self, ppn: Ppn, failed: &[Ppn]) -> Result<Option<Vec<Ppn>>, ()> {
        let (row, die) = self.core.map.rows().row_of(ppn);
        let lost = u32::from(die.0);
        let in_flight = self.writer.rows.open.iter().any(|writer| writer.writes(row) && writer.waits_for_parity());
        match self.core.map.rows().coverage(row) {
            Some((covered, parity)) if covered.contains(lost) => {
                let newest = self.sources_of(row, lost, (parity, covered), None);
                let usable = |pages: &Vec<Ppn>| pages.iter().all(|page| self.is_source(*page) && !failed.contains(page));
                Ok(Some(newest).filter(usable).or_else(|| self.older_sources(row, lost, usable)))
            }
            _ if in_flight || self.writer.rows.covers.in_use() > 0 => Err(()),
            _ => Ok(None),
        }
    }

    fn is_source(&self, ppn: Ppn) -> bool {
        self.core.device.array.answers(ppn) && !self.core.device.failed_programs.contains_key(&ppn.0)
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
        dies.iter().map(|die| self.core.map.rows().page(row, DieId(die as u16))).collect()
    }

    /// Every parity of the row in flash, with what it covers.
    fn parities_of(&self, row: u32) -> Vec<(DieId, StripSet)> {
        let dies = (0..self.core.device.grid.dies()).map(|die| DieId(die as u16));
        dies.filter_map(|die| {
            let ppn = self.core.map.rows().page(row, die);
            if !self.core.device.is_stored(ppn) {
                return None;
            }
            let page = self.core.device.array.page(ppn);
            let is_parity = matches!(page.tags[0].role(), PageRole::Parity(_));
            is_parity.then_some((die, StripSet(u64::from(page.oob.coverage))))
        })
        .collect()
    }
}
