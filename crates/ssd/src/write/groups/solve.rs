//! Solving for a page of a block group: the scheme names pages and coefficients, this file
//! reads them, adds them up in the time that takes the controller, and tries again without
//! those that could not be read.

use crate::core::effects::Effect;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{Command, Core};
use crate::write::groups::Groups;
use device::contents::HostPayload;
use device::slab::Id;
use ftl::Place;
use nand::FlashArray;
use protect::{Across, GroupPage, PageState, PageStripe};
use std::collections::VecDeque;
use vocab::{Cause, DieId, Grid, Nanos, Ppn, SimTime, SuperblockId};

/// The timer of the adder, in the calendar.
pub(crate) fn adder_timer(grid: &Grid) -> usize {
    grid.dies() as usize + 3
}

/// The controller's adder: one page after the other.
#[derive(Clone, Debug)]
pub(crate) struct Adder {
    /// Time to add one page.
    sum_time: Nanos,
    /// Pages read and not added yet: when that is done, for which sum, and the die they came from.
    adding: VecDeque<(SimTime, Id, DieId)>,
}

impl Adder {
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

/// A group that a page is solved in.
struct Solved<'a> {
    group: SuperblockId,
    stripe: &'a PageStripe,
    /// Whether the last page of each block is the sum of the others.
    block_code: bool,
}

impl Solved<'_> {
    fn ppn(&self, grid: &Grid, page: GroupPage) -> Ppn {
        let die = self.stripe.strips[page.strip as usize].die;
        grid.ppn(grid.block(die, self.group.0), page.page)
    }
}

impl<P: HostPayload> Groups<P> {
    /// Solves for a lost page of a block group and hands it to whoever wants it.
    pub fn repair<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, target: Target) {
        let place = match (target, core.lpn_wanted(target)) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, Some(lpn)) => core.map.lookup(lpn),
            (_, None) => unreachable!("groups have no stripe updates"),
        };
        match place {
            Place::Unmapped => core.out.push(Effect::Solved { target, payload: Some(P::default()), stored: false }),
            Place::Missing => core.out.push(Effect::Solved { target, payload: None, stored: true }),
            Place::At(slot) => {
                let (ppn, index) = core.device.grid.page_of(slot);
                self.rebuild(core, target, (ppn, index), Vec::new());
            }
        }
    }

    /// Reads what sums up to the page, without the pages that `failed`.
    fn rebuild<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, target: Target, (lost, index): (Ppn, u32), failed: Vec<Ppn>) {
        let Some((sum, reads)) = self.terms_of(core, (lost, index), &failed) else {
            core.out.push(Effect::Solved { target, payload: None, stored: true });
            return;
        };
        if reads.is_empty() {
            core.out.push(Effect::Solved { target, payload: Some(sum), stored: true });
            return;
        }
        // The group stays until the last of them is read.
        core.map.pin(group_of(&core.device.grid, lost).0);
        let id = self.gathers.take();
        let (left, failed_before) = (reads.len() as u32, failed.len());
        self.gathers[id] = TermGather { target: Some(target), lost, index, sum, waiting: reads, left, failed, failed_before };
        for die in 0..core.device.grid.dies() {
            self.read_next_term(core, id, DieId(die as u16));
        }
    }

    /// The sum of what the parity cache gives of the page, and the pages to be added to it, each with its
    /// coefficient. `None` if nothing brings the page back.
    fn terms_of<A: FlashArray<P>>(
        &self,
        core: &Core<P, A>,
        (lost, index): (Ppn, u32),
        failed: &[Ppn],
    ) -> Option<(P, Vec<(Ppn, u8)>)> {
        let grid = &core.device.grid;
        let group = group_of(grid, lost);
        let info = self.info[group.index()].expect("a group with valid pages");
        let code = self.codes[info.code].0;
        let stripe = self.stripe_of(group, &info);
        let solved = Solved { group, stripe: &stripe, block_code: code.block };
        let (block, page) = grid.split(lost);
        let page = GroupPage { page, strip: stripe.strip_on(grid.split_block(block).0).expect("a member of its group") };
        let state = |page, across| self.page_state(core, &solved, page, across, failed);
        let terms = self.scheme().repair(&code, &stripe, grid.pages_per_block(), page, &state)?;
        let (mut sum, mut reads) = (P::default(), Vec::new());
        for (page, c) in terms {
            match self.held_sum(grid, &solved, code.data, page, index) {
                Some(held) => sum.add_scaled(held, c),
                None => reads.push((solved.ppn(grid, page), c)),
            }
        }
        Some((sum, reads))
    }

    /// What is known of a page, given that the reads of `failed` failed.
    fn page_state<A: FlashArray<P>>(
        &self,
        core: &Core<P, A>,
        solved: &Solved<'_>,
        page: GroupPage,
        across: Across,
        failed: &[Ppn],
    ) -> PageState {
        let grid = &core.device.grid;
        let strip = solved.stripe.strips[page.strip as usize];
        let is_parity = page.strip >= solved.stripe.data;
        let ends_block = solved.block_code && page.page + 1 == grid.pages_per_block();
        if across == Across::Block
            && let Some(state) = self.state_of_block(core, solved, page, ends_block)
        {
            return state;
        }
        let ppn = solved.ppn(grid, page);
        let answers =
            core.device.array.answers(ppn) && !core.device.failed_programs.contains_key(&ppn.0) && !failed.contains(&ppn);
        let row = solved.group.0 * grid.pages_per_block() + page.page;
        let written = match self.held.get(&(row, strip.codeword)) {
            Some(_) if is_parity => return PageState::Held,
            // On its way to flash, or there: a read waits its turn behind the program.
            Some(held) => held.data.contains(u32::from(strip.die.0)),
            // The codeword is whole, or not begun.
            None if was_written(core, ppn) => true,
            None if core.is_mountable() && was_erased(core, solved, page) => return PageState::Lost,
            None => false,
        };
        match (written, answers) {
            // The parity of a block: of a group that was given up before, there is none.
            (false, _) if across == Across::Block && ends_block => PageState::Unsettled,
            (false, _) => PageState::Zero,
            (true, true) => PageState::Readable,
            (true, false) => PageState::Lost,
        }
    }

    /// What the sums of blocks say of a page, if they say anything.
    fn state_of_block<A: FlashArray<P>>(
        &self,
        core: &Core<P, A>,
        solved: &Solved<'_>,
        page: GroupPage,
        ends_block: bool,
    ) -> Option<PageState> {
        let is_parity = page.strip >= solved.stripe.data;
        let is_held = self.blocks.get(&solved.group.0).is_some_and(|sums| !sums.done.contains(page.strip));
        if ends_block && is_held && !is_parity {
            return Some(PageState::Held);
        }
        let codeword = solved.stripe.strips[page.strip as usize].codeword;
        let is_unsettled =
            || self.is_unsettled(solved.group, core.device.grid.pages_per_block()) || lacks_block_parity(core, solved, codeword);
        (is_parity && is_unsettled()).then_some(PageState::Unsettled)
    }

    /// A page's contents in the parity cache, if that is where they are.
    fn held_sum(&self, grid: &Grid, solved: &Solved<'_>, k: u32, page: GroupPage, index: u32) -> Option<&P> {
        let (pages, slots) = (grid.pages_per_block(), grid.slots_per_page());
        if page.strip >= solved.stripe.data {
            let strip = solved.stripe.strips[page.strip as usize];
            let held = self.held.get(&(solved.group.0 * pages + page.page, strip.codeword))?;
            return Some(&held.sums[((strip.symbol - k) * slots + index) as usize]);
        }
        let is_held = |done: &vocab::StripSet| page.page + 1 == pages && !done.contains(page.strip);
        let blocks = self.blocks.get(&solved.group.0).filter(|sums| is_held(&sums.done))?;
        Some(&blocks.sums[(page.strip * slots + index) as usize])
    }

    /// Reads the next page of the die that a sum needs, if any.
    fn read_next_term<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, id: Id, die: DieId) {
        let gather = &mut self.gathers[id];
        let Some(at) = gather.waiting.iter().position(|&(ppn, _)| core.device.grid.die_of(ppn) == die) else { return };
        let (ppn, coefficient) = gather.waiting.remove(at);
        let first = gather.index as u8;
        let owner = Owner::Term { gather: id, coefficient };
        core.submit(Command { owner, ppn, first, cause: Cause::Rebuild, ..Command::default() });
    }

    /// A page of a sum was read.
    pub fn term_read_done<A: FlashArray<P>>(
        &mut self,
        core: &mut Core<P, A>,
        command: &Command,
        (id, coefficient): (Id, u8),
        clean: bool,
    ) {
        let die = core.device.grid.die_of(command.ppn);
        if !clean {
            self.gathers[id].failed.push(command.ppn);
            self.term_done(core, id, die);
            return;
        }
        let payload = &core.device.array.page(command.ppn).payload[usize::from(command.first)];
        self.gathers[id].sum.add_scaled(payload, coefficient);
        let adder = &mut self.adder;
        if !core.device.timed || adder.sum_time.0 == 0 {
            self.term_done(core, id, die);
            return;
        }
        let begin = adder.adding.back().map_or(core.device.now, |&(end, ..)| end);
        let end = begin + adder.sum_time;
        adder.adding.push_back((end, id, die));
        if adder.adding.len() == 1 {
            core.device.calendar.schedule(adder_timer(&core.device.grid), end);
        }
    }

    /// The adder is done with a page.
    pub fn addition_due<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>) {
        let timer = adder_timer(&core.device.grid);
        let (_, id, die) = self.adder.adding.pop_front().expect("an addition was scheduled for it");
        match self.adder.adding.front() {
            Some(&(end, ..)) => core.device.calendar.schedule(timer, end),
            None => core.device.calendar.clear(timer),
        }
        self.term_done(core, id, die);
    }

    /// One page of a sum is added, or could not be read.
    fn term_done<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, id: Id, die: DieId) {
        self.gathers[id].left -= 1;
        if self.gathers[id].left > 0 {
            self.read_next_term(core, id, die);
            return;
        }
        let gather = std::mem::take(&mut self.gathers[id]);
        self.gathers.give(id);
        let target = gather.target.expect("a sum is for somebody");
        if gather.failed.len() > gather.failed_before {
            self.rebuild(core, target, (gather.lost, gather.index), gather.failed);
        } else {
            core.out.push(Effect::Solved { target, payload: Some(gather.sum), stored: true });
        }
        core.out.push(Effect::Release { unit: group_of(&core.device.grid, gather.lost).0 });
    }
}

fn group_of(grid: &Grid, ppn: Ppn) -> SuperblockId {
    grid.split_block(grid.split(ppn).0).1
}

fn was_written<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, ppn: Ppn) -> bool {
    core.device.is_programmed(ppn) || core.device.failed_programs.contains_key(&ppn.0)
}

/// Whether a page that looks as if it was never written was: a cut met the erase of the group, and
/// what is left of the codeword says so.
fn was_erased<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, solved: &Solved<'_>, page: GroupPage) -> bool {
    let stripe = solved.stripe;
    let strip = stripe.strips[page.strip as usize];
    let of_codeword = |&other: &u32| stripe.strips[other as usize].codeword == strip.codeword;
    let written = |other: u32| {
        let ppn = solved.ppn(&core.device.grid, GroupPage { strip: other, ..page });
        core.device.is_programmed(ppn).then_some(ppn)
    };
    let strips = 0..stripe.strips.len() as u32;
    if page.strip >= stripe.data {
        return strips.filter(of_codeword).any(|other| written(other).is_some());
    }
    let mut parities = strips.filter(|&other| other >= stripe.data).filter(of_codeword).filter_map(written);
    let covers = |ppn: Ppn| core.device.array.page(ppn).oob.coverage >> strip.die.0 & 1 == 1;
    parities.any(covers)
}

/// Whether the group was given up before each data block of the codeword had its sum: then
/// the blocks of its parity, sums of these, do not sum up to nothing either.
fn lacks_block_parity<P: HostPayload, A: FlashArray<P>>(core: &Core<P, A>, solved: &Solved<'_>, codeword: u32) -> bool {
    let grid = &core.device.grid;
    let is_written = |page, strip| was_written(core, solved.ppn(grid, GroupPage { page, strip }));
    let mut data = (0..solved.stripe.data).filter(|&strip| solved.stripe.strips[strip as usize].codeword == codeword);
    let last = grid.pages_per_block() - 1;
    data.any(|strip| is_written(0, strip) && !is_written(last, strip))
}
