//! Solving: pages are read and added up, and the sums go to whoever wants them.
//!
//! A lost page is the sum of other pages. Which these are, the way of writing says ([`Sources`]); this file
//! reads them and adds them up. If one of them cannot be read, the way of writing is asked for others. The
//! encoder of code zones has its data pages added up here, too.

use crate::core::effects::{Effect, Parcel};
use crate::core::flash::FlashPayload;
use crate::core::ids::SolveId;
use crate::core::owner::Owner;
use crate::core::read_step::{NewSolve, Pace, ReadStep, SumsFor, Term};
use crate::core::target::Target;
use crate::core::timer::Timer;
use crate::core::zone_step::ZoneStep;
use crate::core::{Command, Core};
use crate::read::{Below, Reads};
use crate::write::sources::Sources;
use device::facts::Fact;
use ftl::Place;
use nand::{FlashArray, ReadOutcome};
use std::collections::VecDeque;
use vocab::{Cause, DieId, Nanos, Ppn, SimTime};

/// Pages being read and added up.
#[derive(Clone, Debug)]
pub(crate) struct Solve<P> {
    /// `None`: this is not in use.
    wanted_by: Option<SumsFor>,
    cause: Cause,
    sums: Vec<P>,
    terms: Vec<Term>,
    /// Terms that wait until another page of the same die was added.
    waiting: Vec<u16>,
    /// Terms that are not added yet.
    left: u32,
    /// Pages that could not be read, in this attempt and before.
    failed: Vec<Ppn>,
    /// How many of them failed before this attempt.
    failed_before: usize,
}

impl<P> Default for Solve<P> {
    fn default() -> Self {
        Self {
            wanted_by: None,
            cause: Cause::Rebuild,
            sums: Vec::new(),
            terms: Vec::new(),
            waiting: Vec::new(),
            left: 0,
            failed: Vec::new(),
            failed_before: 0,
        }
    }
}

impl<P: FlashPayload> Solve<P> {
    /// Adds the slot of a term to its sums.
    fn add(&mut self, term: u16, payload: &P) {
        for &(sum, coefficient) in &self.terms[usize::from(term)].adds {
            self.sums[usize::from(sum)].add_scaled(payload, coefficient);
        }
    }

    /// Whether a page whose program failed may be taken from the controller, while it waits there for
    /// another place.
    fn takes_displaced(&self) -> bool {
        matches!(self.wanted_by, Some(SumsFor::Lost(_)))
    }
}

/// The controller's adder for pages of block groups: one page after the other. Of each die one page is read at a
/// time, and it is added before the next is read (section 4.3 of the block group paper: "loaded by the same page
/// register").
#[derive(Clone, Debug)]
pub(crate) struct Adder {
    /// Time to add one page.
    sum_time: Nanos,
    /// Pages read and not added yet: when that is done, for which solve, and the die they came from.
    adding: VecDeque<(SimTime, SolveId, DieId)>,
}

impl Adder {
    pub fn new(sum_time: Nanos) -> Self {
        Self { sum_time, adding: VecDeque::new() }
    }
}

/// Outcome of solving for a lost page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Solution<P> {
    /// Its contents.
    Contents(P),
    /// Nothing, because it was discarded in the meantime: it reads as unmapped.
    Discarded,
    /// Nothing: it is lost.
    Lost,
}

impl<P: FlashPayload> Reads<P> {
    /// Solves for a page that cannot be read where the map has it, and gives its contents to the target.
    pub(crate) fn solve(&mut self, core: &mut Core<P>, below: Below<'_, P>, target: Target) {
        if self.read_where_it_lies_now(core, below, target) {
            return;
        }
        match below.writer.moves.rescued_contents(core, target) {
            Some(payload) => deliver(core, target, Some(payload)),
            None => self.solve_again(core, below, target, Vec::new()),
        }
    }

    /// Looks for sources of a lost page beside those of which reads `failed`, and solves for it.
    pub(crate) fn solve_again(&mut self, core: &mut Core<P>, below: Below<'_, P>, target: Target, failed: Vec<Ppn>) {
        let sources = below.writer.in_use(core).brings_back(core, target, &failed);
        self.solve_from(core, below, target, sources, failed);
    }

    /// As [`Self::solve_again`], for a page of a block group: of the page that was lost then, wherever the contents that
    /// the target wants are now.
    pub(crate) fn solve_again_in_group(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        target: Target,
        lost: Ppn,
        index: u32,
        failed: Vec<Ppn>,
    ) {
        let sources = below.writer.brings_back_in_group(core, lost, index, &failed);
        self.solve_from(core, below, target, sources, failed);
    }

    /// Solves for a lost page from its sources.
    pub(crate) fn solve_from(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        target: Target,
        sources: Sources<P>,
        failed: Vec<Ppn>,
    ) {
        match sources {
            Sources::Sum { held, pages, slot } => {
                let terms = pages.into_iter().map(|ppn| Term::once(ppn, slot, 1)).collect();
                let (wanted_by, cause, pace) = (SumsFor::Lost(target), Cause::Rebuild, Pace::AllAtOnce);
                self.start_solve(core, NewSolve { wanted_by, cause, pace, sums: vec![held], terms, failed });
            }
            Sources::Weighted { held, pages, lost, group } => {
                if !pages.is_empty() {
                    // The group stays until the last of them is read.
                    core.map.pin(group);
                }
                let terms = pages.into_iter().map(|(ppn, coefficient)| Term::once(ppn, lost.1, coefficient)).collect();
                let wanted_by = SumsFor::LostInGroup { target, lost, group };
                let (cause, pace) = (Cause::Rebuild, Pace::OneADie);
                self.start_solve(core, NewSolve { wanted_by, cause, pace, sums: vec![held], terms, failed });
            }
            Sources::Line { line, lpn, failed } => self.solve_by_code(core, below, target, line, lpn, failed),
            Sources::NoneOfCodePage { lpn } => {
                core.out.send(Parcel::Zones(ZoneStep::LoseCodePage { lpn }));
                solved(core, target, Solution::Lost);
            }
            Sources::None => solved(core, target, Solution::Lost),
            Sources::AfterParity => self.uncovered_repairs.push(target),
            Sources::AfterUpdate(stripe) => core.out.send(Parcel::SolveAfterUpdate { stripe, target }),
            Sources::Discarded => solved(core, target, Solution::Discarded),
        }
    }

    /// Reads pages and adds them up.
    pub(crate) fn start_solve(&mut self, core: &mut Core<P>, new: NewSolve<P>) {
        let NewSolve { wanted_by, cause, pace, sums, terms, failed } = new;
        let id = self.solves.take();
        let (left, failed_before) = (terms.len() as u32, failed.len());
        let waiting = (0..terms.len() as u16).collect();
        self.solves[id] = Solve { wanted_by: Some(wanted_by), cause, sums, terms, waiting, left, failed, failed_before };
        if left == 0 {
            self.end_solve(core, id);
            return;
        }
        match pace {
            Pace::AllAtOnce => {
                std::mem::take(&mut self.solves[id].waiting).into_iter().for_each(|term| self.read_term(core, id, term))
            }
            Pace::OneADie => (0..core.device.grid.dies()).for_each(|die| self.read_next_term(core, id, DieId(die as u16))),
        }
    }

    fn read_term(&self, core: &mut Core<P>, id: SolveId, term: u16) {
        let solve = &self.solves[id];
        let Term { ppn, slot, .. } = solve.terms[usize::from(term)];
        let owner = Owner::Solve { solve: id, term };
        core.submit(Command { owner, ppn, first: slot, cause: solve.cause, ..Command::default() });
    }

    /// Reads the next page of the die that the solve needs, if any.
    fn read_next_term(&mut self, core: &mut Core<P>, id: SolveId, die: DieId) {
        let solve = &mut self.solves[id];
        let on_die = |term: &u16| core.device.grid.die_of(solve.terms[usize::from(*term)].ppn) == die;
        let Some(at) = solve.waiting.iter().position(on_die) else { return };
        let term = solve.waiting.remove(at);
        self.read_term(core, id, term);
    }

    /// A page of a solve was read, or could not be.
    pub(crate) fn solve_read_done(
        &mut self,
        core: &mut Core<P>,
        command: &Command,
        id: SolveId,
        term: u16,
        outcome: ReadOutcome,
    ) {
        let (ppn, slot) = (command.ppn, usize::from(command.first));
        let solve = &mut self.solves[id];
        if outcome.is_clean() {
            solve.add(term, &core.device.array.payload(ppn)[slot]);
            let takes_time = matches!(solve.wanted_by, Some(SumsFor::LostInGroup { .. }));
            if takes_time && core.device.timed && self.adder.sum_time.0 > 0 {
                self.add_later(core, id, core.device.grid.die_of(ppn));
                return;
            }
        } else if let Some(payload) = core.device.displaced_contents(ppn, slot).filter(|_| solve.takes_displaced()) {
            solve.add(term, &payload);
        } else {
            solve.failed.push(ppn);
        }
        self.term_done(core, id, core.device.grid.die_of(ppn));
    }

    /// The adder takes up the page after those that were read before it.
    fn add_later(&mut self, core: &mut Core<P>, id: SolveId, die: DieId) {
        let adder = &mut self.adder;
        let begin = adder.adding.back().map_or(core.device.now, |&(end, ..)| end);
        let end = begin + adder.sum_time;
        adder.adding.push_back((end, id, die));
        if adder.adding.len() == 1 {
            core.schedule(Timer::Adder, end);
        }
    }

    /// The adder is done with a page.
    pub(crate) fn addition_due(&mut self, core: &mut Core<P>) {
        let (_, id, die) = self.adder.adding.pop_front().expect("an addition was scheduled for it");
        match self.adder.adding.front() {
            Some(&(end, ..)) => core.schedule(Timer::Adder, end),
            None => core.clear(Timer::Adder),
        }
        self.term_done(core, id, die);
    }

    /// A page of a solve is added, or could not be read.
    fn term_done(&mut self, core: &mut Core<P>, id: SolveId, die: DieId) {
        self.solves[id].left -= 1;
        if self.solves[id].left == 0 {
            self.end_solve(core, id);
        } else {
            self.read_next_term(core, id, die);
        }
    }

    /// All pages of a solve are added, or could not be read.
    fn end_solve(&mut self, core: &mut Core<P>, id: SolveId) {
        let Solve { wanted_by, mut sums, terms, failed, failed_before, .. } = std::mem::take(&mut self.solves[id]);
        self.solves.give(id);
        let clean = failed.len() == failed_before;
        match wanted_by.expect("a solve in progress") {
            SumsFor::Lost(target) if clean => solved(core, target, Solution::Contents(sums.swap_remove(0))),
            SumsFor::Lost(target) => core.out.send(Parcel::Reads(ReadStep::SolveAgain { target, failed })),
            SumsFor::LostInGroup { target, lost, group } => {
                if clean {
                    solved(core, target, Solution::Contents(sums.swap_remove(0)));
                } else {
                    core.out.send(Parcel::Reads(ReadStep::SolveAgainInGroup { target, lost, failed }));
                }
                if !terms.is_empty() {
                    core.out.push(Effect::Release { unit: group });
                }
            }
            SumsFor::Code { encode } => {
                core.out.send(Parcel::Zones(ZoneStep::CodeSummed { encode, sums: clean.then_some(sums) }));
            }
        }
    }

    /// While a target waited, its page may have been written again or moved: then it is read again. True if so.
    pub(crate) fn read_where_it_lies_now(&mut self, core: &mut Core<P>, below: Below<'_, P>, target: Target) -> bool {
        let failed = match target {
            Target::HostRead { failed, .. } | Target::Merge { failed, .. } => failed,
            Target::Move { .. } | Target::StripeMerge { .. } | Target::Strip { .. } => return false,
        };
        let lpn = core.lpn_wanted(target).expect("a host page");
        if let Some(payload) = below.host.buffer.get(lpn).cloned() {
            deliver(core, target, Some(payload));
            return true;
        }
        let Place::At(slot) = core.map.lookup(lpn) else { return false };
        let (ppn, index) = core.device.grid.page_of(slot);
        if let Some(image) = below.unsent(core, ppn) {
            let payload = core.device.images.contents(image).1[index as usize].clone();
            deliver(core, target, Some(payload));
            return true;
        }
        if Some(slot) == failed || !core.device.array.answers(ppn) {
            return false;
        }
        let first = index as u8;
        match target {
            Target::HostRead { job, floor, .. } => {
                let owner = Owner::HostRead { job };
                let id = core.submit(Command { owner, ppn, lpn: lpn.0, first, ..Command::default() });
                core.floors.set(id, 0, floor);
            }
            Target::Merge { job, page, .. } => {
                let owner = Owner::Merge { job, page: page as u16 };
                core.submit(Command { owner, ppn, first, cause: Cause::HostRmw, ..Command::default() });
            }
            Target::Move { .. } | Target::StripeMerge { .. } | Target::Strip { .. } => unreachable!("handled above"),
        }
        true
    }

    /// Nothing brings the page back from code; unless it was written again, it is lost.
    pub(crate) fn give_up(&mut self, core: &mut Core<P>, below: Below<'_, P>, target: Target) {
        if !self.read_where_it_lies_now(core, below, target) {
            solved(core, target, Solution::Lost);
        }
    }
}

/// Hands over what solving for a lost page gave.
pub(crate) fn solved<P: FlashPayload>(core: &mut Core<P>, target: Target, solution: Solution<P>) {
    if let Target::HostRead { job, lpn, floor, .. } = target {
        let is_lost = solution == Solution::Lost;
        core.device.record(if is_lost { Fact::MediaError } else { Fact::Rebuilt });
        match solution {
            Solution::Contents(contents) => deliver(core, target, Some(contents)),
            Solution::Discarded => {
                core.out.send(Parcel::CheckRead { lpn, floor, contents: None });
                core.part_done(job);
            }
            Solution::Lost => core.part_done(job),
        }
        return;
    }
    let contents = match solution {
        Solution::Contents(contents) => Some(contents),
        Solution::Discarded => Some(P::default()),
        Solution::Lost => None,
    };
    deliver(core, target, contents);
}

/// Gives the contents of a page to whoever wants them; `None`: they are lost.
pub(crate) fn deliver<P: FlashPayload>(core: &mut Core<P>, target: Target, contents: Option<P>) {
    match target {
        Target::HostRead { job, lpn, floor, .. } => {
            core.out.send(Parcel::CheckRead { lpn, floor, contents });
            core.part_done(job);
        }
        Target::Move { log, slot } => {
            core.out.send(Parcel::MoveRepaired { log: usize::from(log), slot, payload: contents });
        }
        Target::Merge { job, page, .. } => core.out.send(Parcel::Merged { job, page, old: contents }),
        Target::StripeMerge { op, strip } => core.out.send(Parcel::StripeMerged { op, strip, old: contents }),
        Target::Strip { stripe, strip } => core.out.send(Parcel::StripRebuilt { stripe, strip, payload: contents }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BufferKind;
    use crate::core::ids::EncodeId;
    use crate::core::testing::{tiny_core, tiny_setup};
    use crate::write::zones::testing::store;
    use device::contents::HostPayload;
    use device::contents::Tag;
    use protect::Protection;
    use vocab::{Lpn, StripeId};

    /// Two pages are read nearly at once. Catches an adder that is done with the first only when it is done with the second.
    #[test]
    fn the_adder_is_done_with_each_page_in_its_turn() {
        let mut core = tiny_core(&tiny_setup("none", BufferKind::Off));
        let mut reads = Reads::<Tag>::new(&Protection::None);
        reads.adder = Adder::new(Nanos(50));
        let id = reads.solves.take();
        reads.solves[id].left = 3;
        reads.add_later(&mut core, id, DieId(0));
        core.device.now = SimTime(20);
        reads.add_later(&mut core, id, DieId(1));
        for (end, left) in [(50, 2), (100, 1)] {
            assert_eq!(core.device.calendar.at(Timer::Adder.index(&core.device.grid)), Some(SimTime(end)));
            core.device.now = SimTime(end);
            reads.addition_due(&mut core);
            assert_eq!(reads.solves[id].left, left);
        }
        assert!(!core.is_pending(Timer::Adder));
    }

    /// Catches sums of a block group that take no time.
    #[test]
    fn a_page_of_a_group_counts_once_the_adder_is_done_with_it() {
        let mut core = tiny_core(&tiny_setup("none", BufferKind::Off));
        let mut reads = Reads::<Tag>::new(&Protection::None);
        reads.adder = Adder::new(Nanos(50));
        let ppn = store(&mut core, 0, Lpn(0), Tag::stamp(Lpn(0), 1, 8));
        let target = Target::Strip { stripe: StripeId(0), strip: 0 };
        for (wanted_by, waits) in [
            (SumsFor::LostInGroup { target, lost: (ppn, 0), group: 0 }, true),
            (SumsFor::Code { encode: EncodeId::new(0) }, false),
        ] {
            let (pace, cause) = (Pace::OneADie, Cause::Rebuild);
            let terms = vec![Term::once(ppn, 0, 2), Term::once(ppn, 0, 3)];
            core.device.timed = true;
            reads.start_solve(&mut core, NewSolve { wanted_by, cause, pace, sums: vec![Tag::default()], terms, failed: vec![] });
            let id = reads.solves.used().next().expect("it has begun");
            let read = Command { ppn, ..Command::default() };
            reads.solve_read_done(&mut core, &read, id, 0, ReadOutcome::Clean);
            assert_eq!((reads.solves[id].left, core.is_pending(Timer::Adder)), (if waits { 2 } else { 1 }, waits));
            if waits {
                core.device.now = SimTime(50);
                reads.addition_due(&mut core);
                assert_eq!(reads.solves[id].left, 1);
            }
            reads.solves.give(id);
        }
    }
}
