//! Solving for a page of a block group: the scheme names pages and coefficients, this file
//! reads them, adds them up in the time that takes the controller, and tries again without
//! those that could not be read.

use crate::core::Command;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::engine::Engine;
use device::contents::HostPayload;
use device::slab::Id;
use ftl::Place;
use nand::FlashArray;
use protect::{Across, GroupPage, PageState, PageStripe};
use std::collections::VecDeque;
use vocab::{Cause, DieId, Nanos, Ppn, SimTime, SuperblockId};

/// The controller's adder: one page after the other.
#[derive(Clone, Debug)]
pub(crate) struct Rebuilds {
    /// Time to add one page.
    sum_time: Nanos,
    /// Pages read and not added yet: when that is done, for whom, and the die they came from.
    adding: VecDeque<(SimTime, Id, DieId)>,
}

impl Rebuilds {
    pub fn new(sum_time: Nanos) -> Self {
        Self { sum_time, adding: VecDeque::new() }
    }
}

/// A weighted sum of pages being read: of each die one at a time, each added before the next
/// is read (section 4.3 of the block group paper: "loaded by the same page register").
#[derive(Clone, Debug)]
pub(crate) struct TermGather<P> {
    target: Option<Target>,
    lost: Ppn,
    index: u32,
    sum: P,
    /// Pages to be read after another of the same die.
    waiting: Vec<(Ppn, u8)>,
    left: u32,
    /// Pages that could not be read, in this attempt and before.
    failed: Vec<Ppn>,
    /// Failed reads before this attempt.
    failed_before: usize,
}

impl<P: Default> Default for TermGather<P> {
    fn default() -> Self {
        let (waiting, failed) = (Vec::new(), Vec::new());
        Self { target: None, lost: Ppn(0), index: 0, sum: P::default(), waiting, left: 0, failed, failed_before: 0 }
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Solves for a lost page of a block group and hands it to whoever wants it.
    pub(crate) fn repair_in_group(&mut self, target: Target) {
        let place = match (target, self.lpn_wanted(target)) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, Some(lpn)) => self.core.map.lookup(lpn),
            (_, None) => unreachable!("groups have no stripe updates"),
        };
        match place {
            Place::Unmapped => self.repaired(target, Some(&P::default()), false),
            Place::Missing => self.repaired(target, None, true),
            Place::At(slot) => {
                let (ppn, index) = self.core.device.grid.page_of(slot);
                self.rebuild(target, ppn, index, Vec::new());
            }
        }
    }

    fn rebuild(&mut self, target: Target, lost: Ppn, index: u32, failed: Vec<Ppn>) {
        let group = self.core.device.grid.split_block(self.core.device.grid.split(lost).0).1;
        let info = self.writer.groups.info[group.index()].expect("a group with valid pages");
        let code = self.writer.groups.codes[info.code].0;
        let stripe = self.group_scheme().page_stripe(&code, group, info.members).expect("as when it was opened");
        let page = self.group_page(&stripe, lost);
        let pages = self.core.device.grid.pages_per_block();
        let state = |page, across| self.page_state(group, code.block, &stripe, page, across, &failed);
        let Some(terms) = self.group_scheme().repair(&code, &stripe, pages, page, &state) else {
            self.repaired(target, None, true);
            return;
        };
        let (mut sum, mut reads) = (P::default(), Vec::new());
        for (page, c) in terms {
            match self.held_sum(group, code.data, &stripe, page, index) {
                Some(held) => sum.add_scaled(held, c),
                None => reads.push((self.ppn_of(group, &stripe, page), c)),
            }
        }
        if reads.is_empty() {
            self.repaired(target, Some(&sum), true);
            return;
        }
        // The group stays until the last of them is read.
        self.core.map.pin(group.0);
        let id = self.writer.groups.gathers.take();
        let (left, failed_before) = (reads.len() as u32, failed.len());
        self.writer.groups.gathers[id] =
            TermGather { target: Some(target), lost, index, sum, waiting: reads, left, failed, failed_before };
        for die in 0..self.core.device.grid.dies() {
            self.read_next_term(id, DieId(die as u16));
        }
    }

    fn group_page(&self, stripe: &PageStripe, ppn: Ppn) -> GroupPage {
        let (block, page) = self.core.device.grid.split(ppn);
        GroupPage { page, strip: stripe.strip_on(self.core.device.grid.split_block(block).0).expect("a member of its group") }
    }

    fn ppn_of(&self, group: SuperblockId, stripe: &PageStripe, page: GroupPage) -> Ppn {
        let die = stripe.strips[page.strip as usize].die;
        self.core.device.grid.ppn(self.core.device.grid.block(die, group.0), page.page)
    }

    /// What is known of a page, given that the reads of `failed` failed.
    fn page_state(
        &self,
        group: SuperblockId,
        block_code: bool,
        stripe: &PageStripe,
        page: GroupPage,
        across: Across,
        failed: &[Ppn],
    ) -> PageState {
        let pages = self.core.device.grid.pages_per_block();
        let (row, strip) = (group.0 * pages + page.page, stripe.strips[page.strip as usize]);
        let is_parity = page.strip >= stripe.data;
        if across == Across::Block {
            let of_block = block_code && page.page + 1 == pages;
            if of_block
                && self.writer.groups.blocks.get(&group.0).is_some_and(|sums| !sums.done.contains(page.strip))
                && !is_parity
            {
                return PageState::Held;
            }
            let rows = group.0 * pages..(group.0 + 1) * pages;
            if is_parity
                && (self.writer.groups.is_unsettled(group, rows) || self.lacks_block_parity(group, stripe, strip.codeword))
            {
                return PageState::Unsettled;
            }
        }
        let ppn = self.ppn_of(group, stripe, page);
        let answers = self.core.device.array.answers(ppn)
            && !self.core.device.failed_programs.contains_key(&ppn.0)
            && !failed.contains(&ppn);
        let written = match self.writer.groups.held.get(&(row, strip.codeword)) {
            Some(_) if is_parity => return PageState::Held,
            // On its way to flash, or there: a read waits its turn behind the program.
            Some(held) => held.data.contains(u32::from(strip.die.0)),
            // The codeword is whole, or not begun.
            None if self.was_written(ppn) => true,
            None if self.core.is_mountable() && self.was_erased(group, stripe, page) => return PageState::Lost,
            None => false,
        };
        match (written, answers) {
            // The parity of a block: of a group that was given up before, there is none.
            (false, _) if across == Across::Block && block_code && page.page + 1 == pages => PageState::Unsettled,
            (false, _) => PageState::Zero,
            (true, true) => PageState::Readable,
            (true, false) => PageState::Lost,
        }
    }

    fn was_written(&self, ppn: Ppn) -> bool {
        self.core.device.is_programmed(ppn) || self.core.device.failed_programs.contains_key(&ppn.0)
    }

    /// Whether a page that looks as if it was never written was: a cut met the erase of the group, and
    /// what is left of the codeword says so.
    fn was_erased(&self, group: SuperblockId, stripe: &PageStripe, page: GroupPage) -> bool {
        let strip = stripe.strips[page.strip as usize];
        let of_codeword = |&other: &u32| stripe.strips[other as usize].codeword == strip.codeword;
        let written = |other: u32| {
            let ppn = self.ppn_of(group, stripe, GroupPage { strip: other, ..page });
            self.core.device.is_programmed(ppn).then_some(ppn)
        };
        let strips = 0..stripe.strips.len() as u32;
        if page.strip >= stripe.data {
            return strips.filter(of_codeword).any(|other| written(other).is_some());
        }
        let mut parities = strips.filter(|&other| other >= stripe.data).filter(of_codeword).filter_map(written);
        let covers = |ppn: Ppn| self.core.device.array.page(ppn).oob.coverage >> strip.die.0 & 1 == 1;
        parities.any(covers)
    }

    /// Whether the group was given up before each data block of the codeword had its sum: then
    /// the blocks of its parity, sums of these, do not sum up to nothing either.
    fn lacks_block_parity(&self, group: SuperblockId, stripe: &PageStripe, codeword: u32) -> bool {
        let is_written = |page, strip| self.was_written(self.ppn_of(group, stripe, GroupPage { page, strip }));
        let data = (0..stripe.data).filter(|&strip| stripe.strips[strip as usize].codeword == codeword);
        let last = self.core.device.grid.pages_per_block() - 1;
        data.into_iter().any(|strip| is_written(0, strip) && !is_written(last, strip))
    }

    /// A page's contents in the parity cache, if that is where they are.
    fn held_sum(&self, group: SuperblockId, k: u32, stripe: &PageStripe, page: GroupPage, index: u32) -> Option<&P> {
        let (pages, slots) = (self.core.device.grid.pages_per_block(), self.core.device.grid.slots_per_page());
        if page.strip >= stripe.data {
            let strip = stripe.strips[page.strip as usize];
            let held = self.writer.groups.held.get(&(group.0 * pages + page.page, strip.codeword))?;
            return Some(&held.sums[((strip.symbol - k) * slots + index) as usize]);
        }
        let blocks =
            self.writer.groups.blocks.get(&group.0).filter(|sums| page.page + 1 == pages && !sums.done.contains(page.strip))?;
        Some(&blocks.sums[(page.strip * slots + index) as usize])
    }

    /// Reads the next page of the die that a sum needs, if any.
    fn read_next_term(&mut self, id: Id, die: DieId) {
        let gather = &mut self.writer.groups.gathers[id];
        let Some(at) = gather.waiting.iter().position(|&(ppn, _)| self.core.device.grid.die_of(ppn) == die) else { return };
        let (ppn, coefficient) = gather.waiting.remove(at);
        let first = gather.index as u8;
        let owner = Owner::Term { gather: id, coefficient };
        self.core.submit(Command { owner, ppn, first, cause: Cause::Rebuild, ..Command::default() });
    }

    /// A page of a sum was read.
    pub(crate) fn term_read_done(&mut self, command: &Command, id: Id, coefficient: u8, clean: bool) {
        let die = self.core.device.grid.die_of(command.ppn);
        if !clean {
            self.writer.groups.gathers[id].failed.push(command.ppn);
            self.term_done(id, die);
            return;
        }
        let payload = &self.core.device.array.page(command.ppn).payload[usize::from(command.first)];
        self.writer.groups.gathers[id].sum.add_scaled(payload, coefficient);
        let rebuilds = &mut self.writer.groups.rebuilds;
        if !self.core.device.timed || rebuilds.sum_time.0 == 0 {
            self.term_done(id, die);
            return;
        }
        let begin = rebuilds.adding.back().map_or(self.core.device.now, |&(end, ..)| end);
        let end = begin + rebuilds.sum_time;
        rebuilds.adding.push_back((end, id, die));
        if rebuilds.adding.len() == 1 {
            self.core.device.calendar.schedule(self.adder(), end);
        }
    }

    /// The adder is done with a page.
    pub(crate) fn addition_due(&mut self) {
        let (_, id, die) = self.writer.groups.rebuilds.adding.pop_front().expect("an addition was scheduled for it");
        match self.writer.groups.rebuilds.adding.front() {
            Some(&(end, ..)) => self.core.device.calendar.schedule(self.adder(), end),
            None => self.core.device.calendar.clear(self.adder()),
        }
        self.term_done(id, die);
    }

    /// One page of a sum is added, or could not be read.
    fn term_done(&mut self, id: Id, die: DieId) {
        self.writer.groups.gathers[id].left -= 1;
        if self.writer.groups.gathers[id].left > 0 {
            self.read_next_term(id, die);
            return;
        }
        let gather = std::mem::take(&mut self.writer.groups.gathers[id]);
        self.writer.groups.gathers.give(id);
        let target = gather.target.expect("a sum is for somebody");
        if gather.failed.len() > gather.failed_before {
            self.rebuild(target, gather.lost, gather.index, gather.failed);
        } else {
            self.repaired(target, Some(&gather.sum), true);
        }
        let group = self.core.device.grid.split_block(self.core.device.grid.split(gather.lost).0).1;
        self.release(group.0);
    }
}
