//! Solving for a page that cannot be read: from its stripe, or from its row.

use crate::core::Command;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::engine::Engine;
use device::contents::HostPayload;
use device::facts::Fact;
use device::slab::Id;
use ftl::Place;
use nand::{FlashArray, PageRole};
use protect::Protection;
use vocab::{Cause, Lpn, Ppn, StripeId};

/// A sum of pages being read.
#[derive(Clone, Debug)]
pub(crate) struct Gather<P> {
    target: Target,
    sum: P,
    left: u32,
    /// Pages that could not be read, in this attempt and before.
    failed: Vec<Ppn>,
    /// Failed reads before this attempt.
    failed_before: usize,
}

impl<P: Default> Default for Gather<P> {
    fn default() -> Self {
        let target = Target::StripeMerge { op: 0, strip: 0 };
        Self { target, sum: P::default(), left: 0, failed: Vec::new(), failed_before: 0 }
    }
}

/// What brings a page back.
enum Sources<P> {
    /// The sum of one slot of each of these pages.
    Pages(Vec<Ppn>, u32),
    /// The sum of a partial parity and these pages.
    Partial(P, Vec<Ppn>),
    /// Nothing does.
    None,
    /// Something may, later: the target waits somewhere.
    Later,
    /// There is nothing to bring back any more.
    Gone,
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Solves for a lost page and hands it to whoever wants it.
    pub(crate) fn repair(&mut self, target: Target) {
        if self.read_where_it_lies_now(target) {
            return;
        }
        if let Some(payload) = self.rescued(target) {
            self.deliver(target, Some(&payload));
            return;
        }
        let sources = match &self.writer.protection {
            Protection::None => self.without_redundancy(target),
            Protection::Stripes(_) => self.stripe_sources(target),
            Protection::Rows(_) => self.page_sources(target, &[]),
            Protection::Groups(_) => {
                self.repair_in_group(target);
                return;
            }
            Protection::Zones(_) => {
                self.repair_by_code(target);
                return;
            }
        };
        self.repair_from(target, sources, Vec::new());
    }

    fn repair_from(&mut self, target: Target, sources: Sources<P>, failed: Vec<Ppn>) {
        match sources {
            Sources::Later => {}
            Sources::Gone => self.repaired(target, Some(&P::default()), false),
            Sources::None => self.repaired(target, None, true),
            Sources::Pages(pages, index) => self.gather(target, P::default(), &pages, index, failed),
            Sources::Partial(sum, pages) => self.gather(target, sum, &pages, 0, failed),
        }
    }

    /// Reads the pages and adds them to `sum`.
    fn gather(&mut self, target: Target, sum: P, pages: &[Ppn], index: u32, failed: Vec<Ppn>) {
        if pages.is_empty() {
            // All other strips of the stripe are zero.
            self.repaired(target, Some(&sum), true);
            return;
        }
        let id = self.reads.gathers.take();
        let failed_before = failed.len();
        self.reads.gathers[id] = Gather { target, sum, left: pages.len() as u32, failed, failed_before };
        for &ppn in pages {
            let owner = Owner::Gather { gather: id };
            self.core.submit(Command { owner, ppn, first: index as u8, cause: Cause::Rebuild, ..Command::default() });
        }
    }

    /// While a repair waited, the page may have been written anew or moved: then it is read
    /// again. True if so.
    pub(crate) fn read_where_it_lies_now(&mut self, target: Target) -> bool {
        let failed = match target {
            Target::HostRead { failed, .. } | Target::Merge { failed, .. } => failed,
            Target::Move { .. } | Target::StripeMerge { .. } | Target::Strip { .. } => return false,
        };
        let lpn = self.lpn_wanted(target).expect("a host page");
        if let Some(payload) = self.host.buffer.get(lpn).cloned() {
            self.deliver(target, Some(&payload));
            return true;
        }
        let Place::At(slot) = self.core.map.lookup(lpn) else { return false };
        let (ppn, index) = self.core.device.grid.page_of(slot);
        if let Some(image) = self.unsent(ppn) {
            let payload = self.core.device.images.contents(image).1[index as usize].clone();
            self.deliver(target, Some(&payload));
            return true;
        }
        if Some(slot) == failed || !self.core.device.array.answers(ppn) {
            return false;
        }
        match target {
            Target::HostRead { job, floor, .. } => {
                let owner = Owner::HostRead { job };
                let id = self.core.submit(Command { owner, ppn, lpn: lpn.0, first: index as u8, ..Command::default() });
                self.core.floors.set(id, 0, floor);
            }
            Target::Merge { job, page, .. } => {
                let owner = Owner::Merge { job, page: page as u16 };
                self.core.submit(Command { owner, ppn, first: index as u8, cause: Cause::HostRmw, ..Command::default() });
            }
            Target::Move { .. } | Target::StripeMerge { .. } | Target::Strip { .. } => unreachable!("handled above"),
        }
        true
    }

    pub(crate) fn lpn_wanted(&self, target: Target) -> Option<Lpn> {
        match target {
            Target::HostRead { lpn, .. } => Some(lpn),
            Target::Merge { job, page, .. } => Some(self.core.jobs[job].pages[page as usize].lpn),
            Target::Move { .. } | Target::StripeMerge { .. } | Target::Strip { .. } => None,
        }
    }

    fn without_redundancy(&self, target: Target) -> Sources<P> {
        match self.lpn_wanted(target).map(|lpn| self.core.map.lookup(lpn)) {
            Some(Place::Unmapped) => Sources::Gone,
            _ => Sources::None,
        }
    }

    fn stripe_sources(&mut self, target: Target) -> Sources<P> {
        let n = self.stripe_scheme().data_strips();
        let (stripe, lost) = match target {
            Target::StripeMerge { op, strip } => (self.stripe_of_op(op), strip),
            Target::Strip { stripe, strip } => (stripe, strip),
            Target::Move { slot, .. } => {
                let (ppn, index) = self.core.device.grid.page_of(slot);
                match self.core.device.tags(ppn)[index as usize].role() {
                    PageRole::Data(lpn) => self.strip_of(lpn),
                    PageRole::Parity(stripe) => (stripe, n),
                    PageRole::Filler => return Sources::Gone,
                }
            }
            Target::HostRead { .. } | Target::Merge { .. } => {
                let lpn = self.lpn_wanted(target).expect("a host page");
                if self.core.map.lookup(lpn) == Place::Unmapped {
                    return Sources::Gone;
                }
                self.strip_of(lpn)
            }
        };
        if self.is_being_programmed(stripe) {
            self.wait_for_stripe(stripe, target);
            return Sources::Later;
        }
        self.sources_of_strip(stripe, lost)
    }

    fn sources_of_strip(&self, stripe: StripeId, lost: u32) -> Sources<P> {
        match self.writer.stripes.sources_of(&self.core, stripe, lost) {
            Some(sources) => Sources::Partial(sources.sum, sources.pages),
            None => Sources::None,
        }
    }

    fn page_sources(&mut self, target: Target, failed: &[Ppn]) -> Sources<P> {
        let place = match (target, self.lpn_wanted(target)) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, Some(lpn)) => self.core.map.lookup(lpn),
            (_, None) => unreachable!("rows have no stripe updates"),
        };
        let slot = match place {
            Place::Unmapped => return Sources::Gone,
            Place::Missing => return Sources::None,
            Place::At(slot) => slot,
        };
        let (ppn, index) = self.core.device.grid.page_of(slot);
        match self.row_sources(ppn, failed) {
            Ok(Some(pages)) => Sources::Pages(pages, index),
            Ok(None) => Sources::None,
            Err(()) => {
                self.reads.uncovered_repairs.push(target);
                Sources::Later
            }
        }
    }

    /// A source was read.
    pub(crate) fn gather_read_done(&mut self, command: &Command, id: Id, clean: bool) {
        let index = usize::from(command.first);
        if clean {
            self.reads.gathers[id].sum.add(&self.core.device.array.page(command.ppn).payload[index]);
        } else if let Some(payload) = self.core.device.displaced_contents(command.ppn, index) {
            self.reads.gathers[id].sum.add(&payload);
        } else {
            self.reads.gathers[id].failed.push(command.ppn);
        }
        self.reads.gathers[id].left -= 1;
        if self.reads.gathers[id].left > 0 {
            return;
        }
        let gather = std::mem::take(&mut self.reads.gathers[id]);
        self.reads.gathers.give(id);
        let clean = gather.failed.len() == gather.failed_before;
        if !clean && matches!(self.writer.protection, Protection::Rows(_)) {
            let sources = self.page_sources(gather.target, &gather.failed);
            self.repair_from(gather.target, sources, gather.failed);
            return;
        }
        if !clean && matches!(self.writer.protection, Protection::Stripes(_)) {
            // What could not be read may have gone elsewhere because its program failed.
            let sources = self.stripe_sources(gather.target);
            let fresh = match &sources {
                Sources::Pages(pages, _) | Sources::Partial(_, pages) => pages.iter().all(|ppn| !gather.failed.contains(ppn)),
                Sources::Later | Sources::Gone => true,
                Sources::None => false,
            };
            if fresh {
                self.repair_from(gather.target, sources, Vec::new());
                return;
            }
        }
        self.repaired(gather.target, clean.then_some(&gather.sum), true);
    }

    /// Hands over what a repair gave. `stored` is false for a page that was discarded meanwhile.
    pub(crate) fn repaired(&mut self, target: Target, payload: Option<&P>, stored: bool) {
        if matches!(target, Target::HostRead { .. }) {
            self.core.device.record(if payload.is_some() { Fact::Rebuilt } else { Fact::MediaError });
        }
        match (target, payload) {
            (Target::HostRead { job, .. }, None) => self.part_done(job),
            (Target::HostRead { job, lpn, floor, .. }, Some(_)) if !stored => {
                self.check_read(lpn, floor, None);
                self.part_done(job);
            }
            _ => self.deliver(target, payload),
        }
    }

    /// Gives the contents of a page to whoever wants them; `None`: they are lost.
    fn deliver(&mut self, target: Target, payload: Option<&P>) {
        match target {
            Target::HostRead { job, lpn, floor, .. } => {
                self.check_read(lpn, floor, payload);
                self.part_done(job);
            }
            Target::Move { log, slot } => self.move_repaired(log as usize, slot, payload.cloned()),
            Target::Merge { job, page, .. } => self.merge_done(job, page as usize, payload),
            Target::StripeMerge { op, strip } => self.stripe_merge_repaired(op, strip, payload),
            Target::Strip { stripe, strip } => self.strip_rebuilt(stripe, strip, payload.cloned()),
        }
    }

    /// The die stops answering, for good. Its data stay in the map; reads solve for them.
    pub(crate) fn die_died(&mut self, die: vocab::DieId) {
        self.core.device.dead.insert(u32::from(die.0));
        self.leave_die_out(die);
        self.rebuild_die(die);
    }

    /// A dead die takes part in nothing new.
    pub(crate) fn leave_die_out(&mut self, die: vocab::DieId) {
        if self.core.map.kind() == ftl::LogKind::Group {
            self.drop_die_from_rows(die);
        } else {
            for log in self.core.map.logs_of_die(die) {
                self.send_moved(log);
                self.care.collectors[log].halted = true;
            }
            self.core.map.retire_die(die);
            self.core.map.logs_of_die(die).for_each(|log| self.fail_waiting_of(log));
        }
    }
}
