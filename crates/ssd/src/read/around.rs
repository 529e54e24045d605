//! Reads with alternatives: a read is sent to what it wants and to what can stand in for it, and takes
//! whatever comes first. Which sub-requests help is decided in `protect::lazy`; here they meet queues and
//! bytes. Alternatives come from the lines of code of zones, or from the stripe or row of a page.
//!
//! All places of a read are looked up at one instant, and commands for them queued at once. So what is
//! summed up is one state of the stripe, whatever is written meanwhile: a superseded page stays in flash
//! until an erase, which queues behind. Sub-requests that became of no use leave their queues; one that a
//! die is serving ends as any other.

use crate::core::Command;
use crate::core::owner::Owner;
use crate::core::target::Floor;
use crate::core::target::Target;
use crate::engine::Engine;
use crate::proof::AlternativesInFlight;
use coding::gf2::{Decoder, Solved};
use coding::graph::CodeGraph;
use device::contents::HostPayload;
use device::facts::Fact;
use device::slab::{Id, Slab};
use ftl::Place;
use nand::FlashArray;
use protect::Protection;
use protect::code_zones::CodeStamp;
use protect::lazy::{Ask, Blocks, LazyRead, ReadAround, Step};
use vocab::{Cause, DieId, Lpn, Ppn, Slot};

/// Who wants a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// A host read.
    Host { job: Id, floor: Floor },
    /// Whoever lost the page.
    Repair(Target),
    /// A host read that touches it, though it does not ask for it.
    Along { job: Id },
    /// The read-ahead buffer of a thread, if it is still the same.
    Ahead { thread: u16, serial: u32 },
}

/// A page that is wanted: slot `slot` of those that are read of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub block: u8,
    pub slot: u8,
    pub lpn: Lpn,
    pub sink: Sink,
}

/// What stands for a block of the code.
#[derive(Clone, Debug, Default)]
pub(crate) enum Source<P> {
    /// It cannot be read.
    #[default]
    None,
    /// It was never written.
    Zeros,
    /// It is in the controller.
    Held(P),
    /// It is in flash.
    Page(Ppn),
}

#[derive(Clone, Debug, Default)]
struct Block<P> {
    source: Source<P>,
    /// Its command, while that is queued or served.
    command: Option<Id>,
    /// Whether it is read only to stand in for others.
    extra: bool,
    /// Slots that were read.
    contents: Vec<P>,
}

/// One read in progress.
#[derive(Clone, Debug)]
pub(crate) struct LazyOp<P> {
    read: Option<LazyRead>,
    /// The code of zones that it decodes with.
    stamp: Option<CodeStamp>,
    cause: Cause,
    /// First slot of each page, and how many.
    slots: (u8, u8),
    blocks: Vec<Block<P>>,
    wants: Vec<Want>,
    /// Commands that have not ended.
    outstanding: u32,
}

impl<P> Default for LazyOp<P> {
    fn default() -> Self {
        let (blocks, wants) = (Vec::new(), Vec::new());
        Self { read: None, stamp: None, cause: Cause::Host, slots: (0, 1), blocks, wants, outstanding: 0 }
    }
}

/// A read to be started.
pub(crate) struct NewRead<'a, P> {
    pub graph: &'a CodeGraph,
    pub decoder: Decoder,
    pub ask: Ask,
    pub stamp: Option<CodeStamp>,
    pub cause: Cause,
    pub slots: (u8, u8),
    pub sources: Vec<Source<P>>,
    pub wants: Vec<Want>,
}

/// All reads with alternatives.
#[derive(Clone, Debug)]
pub(crate) struct LazyReads<P> {
    pub around: Option<ReadAround>,
    ops: Slab<LazyOp<P>>,
    /// Reads that are not answered yet.
    open: Vec<Id>,
    /// Alternatives to be queued when all that a request wants is: they are not to delay it.
    behind: Vec<(Id, usize)>,
    /// Sub-requests beyond what is wanted, in queues or in service.
    extra: u32,
}

impl<P> LazyReads<P> {
    pub fn new(protection: &Protection) -> Self {
        let around = protection.read_around();
        Self { around, ops: Slab::default(), open: Vec::new(), behind: Vec::new(), extra: 0 }
    }
}

/// Pages of one stripe or row that a request wants.
struct Wanted {
    /// The pages whose sum is zero, in order.
    together: Vec<Ppn>,
    /// First slot and number of slots of each run.
    slots: (u8, u8),
    /// Each with the first logical page of its run.
    pages: Vec<(Ppn, Lpn)>,
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Whether reads may have alternatives. Without time nothing is ever busy.
    pub(crate) fn may_read_around(&self) -> bool {
        self.core.device.timed && self.reads.lazy.around.is_some()
    }

    /// Whether a read of these dies is to have alternatives, `extra` sub-requests more. Without time nothing
    /// is ever busy.
    pub(crate) fn admits(&self, mut dies: impl Iterator<Item = DieId>, extra: u32) -> bool {
        let Some(around) = self.reads.lazy.around else { return false };
        self.core.device.timed
            && extra > 0
            && self.reads.lazy.extra + self.reads.lazy.behind.len() as u32 + extra <= around.extra_reads
            && dies.any(|die| self.core.device.backlog(die) >= around.busy_from)
    }

    /// Reads for the host under a scheme of stripes or rows: pages of busy dies with the rest of their
    /// stripe or row as alternatives, all others as ever, in the order as ever.
    pub(crate) fn read_around(&mut self, job: Id, first: u32, end: u32) {
        let mut around: Vec<u32> = Vec::new();
        for group in self.sums_of(first, end) {
            let dies = group.pages.iter().map(|&(ppn, _)| self.core.device.grid.die_of(ppn));
            if self.admits(dies, (group.together.len() - group.pages.len()) as u32) {
                self.read_of_sum(job, &group);
                let count = u32::from(group.slots.1);
                around.extend(group.pages.iter().flat_map(|&(_, lpn)| lpn.0..lpn.0 + count));
            }
        }
        around.sort_unstable();
        let mut lpn = first;
        while lpn < end {
            lpn += if around.binary_search(&lpn).is_ok() { 1 } else { self.read_from(job, Lpn(lpn), end - lpn) };
        }
        self.queue_alternatives();
    }

    /// The wanted pages that have alternatives, those of one sum together.
    fn sums_of(&self, first: u32, end: u32) -> Vec<Wanted> {
        let mut groups: Vec<Wanted> = Vec::new();
        let mut lpn = first;
        while lpn < end {
            let Some((wanted, count)) = self.alternatives_of(Lpn(lpn), end - lpn) else {
                lpn += 1;
                continue;
            };
            let (page, slots) = (wanted.pages[0], wanted.slots);
            match groups.iter_mut().find(|group| group.together == wanted.together && group.slots == slots) {
                Some(group) => group.pages.push(page),
                None => groups.push(wanted),
            }
            lpn += count;
        }
        groups
    }

    /// The page and those that sum up to it, with how many logical pages from `lpn` on lie in it side by
    /// side; `None` where it is not in flash, or nothing stands in for it now.
    fn alternatives_of(&self, lpn: Lpn, most: u32) -> Option<(Wanted, u32)> {
        if self.host.buffer.get(lpn).is_some() || self.core.is_hidden(lpn) {
            return None;
        }
        let Place::At(slot) = self.core.map.lookup(lpn) else { return None };
        let (ppn, index) = self.core.device.grid.page_of(slot);
        if self.unsent(ppn).is_some() || !self.core.device.array.answers(ppn) {
            return None;
        }
        let mut together = match &self.writer.protection {
            Protection::Stripes(_) => self.rest_of_stripe(lpn)?,
            Protection::Rows(_) => self.row_sources(ppn, &[]).ok()??,
            _ => return None,
        };
        if together.is_empty() || together.len() > coding::graph::BLOCKS_MAX {
            return None;
        }
        together.push(ppn);
        together.sort_unstable();
        let count = self.run_of(lpn, slot, most);
        Some((Wanted { together, slots: (index as u8, count as u8), pages: vec![(ppn, lpn)] }, count))
    }

    /// The other strips of the page's stripe, parity included, where they sum up to it as they are now.
    fn rest_of_stripe(&self, lpn: Lpn) -> Option<Vec<Ppn>> {
        let (stripe, strip) = self.strip_of(lpn);
        let (present, unreadable) = self.stripe_state(stripe);
        let parity = self.core.map.lookup_parity(stripe);
        if self.writer.stripes.locks.is_held(stripe)
            || self.writer.stripes.held.get(stripe).is_some()
            || parity == Place::Unmapped
        {
            return None;
        }
        let strips = self.stripe_scheme().repair(strip, present, unreadable)?;
        let page = |strip| match self.place_of_strip(stripe, strip) {
            Place::At(slot) => Some(self.core.device.grid.page_of(slot).0).filter(|ppn| self.unsent(*ppn).is_none()),
            _ => None,
        };
        strips.iter().map(page).collect()
    }

    /// Reads pages with all others of a sum as alternatives.
    fn read_of_sum(&mut self, job: Id, group: &Wanted) {
        let is_wanted = |ppn: &Ppn| group.pages.iter().any(|(page, _)| page == ppn);
        let others = group.together.iter().copied().filter(|ppn| !is_wanted(ppn));
        let pages: Vec<Ppn> = group.pages.iter().map(|&(ppn, _)| ppn).chain(others).collect();
        let data = pages.len() - 1;
        let graph = CodeGraph::new(data, vec![(0..data).collect()]).expect("as many pages as a stripe has dies");
        let wanted: Blocks = (0..group.pages.len()).collect();
        let ask = Ask { wanted, offered: (0..pages.len()).collect(), held: Blocks::EMPTY };
        let mut wants = Vec::new();
        for (block, &(_, lpn)) in group.pages.iter().enumerate() {
            for slot in 0..group.slots.1 {
                let lpn = Lpn(lpn.0 + u32::from(slot));
                let sink = Sink::Host { job, floor: self.host.oracle.floor(lpn) };
                wants.push(Want { block: block as u8, slot, lpn, sink });
            }
        }
        let sources = pages.into_iter().map(Source::Page).collect();
        let (decoder, cause, stamp) = (Decoder::Peeling, Cause::Host, None);
        self.read_lazily(NewRead { graph: &graph, decoder, ask, stamp, cause, slots: group.slots, sources, wants });
    }

    /// Starts a read; its identity, where it is not over at once.
    pub(crate) fn read_lazily(&mut self, new: NewRead<'_, P>) -> Option<Id> {
        let NewRead { graph, decoder, ask, stamp, cause, slots, sources, wants } = new;
        for want in &wants {
            if let Sink::Host { job, .. } | Sink::Along { job } = want.sink {
                self.core.jobs[job].remaining += 1;
            }
        }
        let extra = ask.offered.without(&ask.wanted).without(&ask.held);
        let block = |(index, source): (usize, Source<P>)| {
            let contents = match &source {
                Source::Zeros => vec![P::default(); usize::from(slots.1)],
                Source::Held(payload) => vec![payload.clone()],
                _ => Vec::new(),
            };
            Block { source, command: None, extra: extra.contains(index), contents }
        };
        let blocks = sources.into_iter().enumerate().map(block).collect();
        let id = self.reads.lazy.ops.take();
        let (read, step) = LazyRead::start(graph, decoder, ask);
        self.reads.lazy.ops[id] = LazyOp { read: Some(read), stamp, cause, slots, blocks, wants, outstanding: 0 };
        self.reads.lazy.open.push(id);
        if !extra.is_empty() {
            self.core.device.record(Fact::ReadAround { extra: extra.len() as u32 });
        }
        self.advance(id, &step);
        (self.reads.lazy.ops[id].read.is_some()).then_some(id)
    }

    /// Carries out a step, and ends the read if that was the last.
    fn advance(&mut self, id: Id, step: &Step) {
        for block in step.withdrawn.iter() {
            self.withdraw(id, block);
        }
        for block in step.issued.iter() {
            if self.reads.lazy.ops[id].blocks[block].extra {
                self.reads.lazy.behind.push((id, block));
            } else {
                self.issue(id, block);
            }
        }
        if self.reads.lazy.ops[id].read.as_ref().is_some_and(LazyRead::is_done) {
            self.lazy_done(id);
        }
        self.free_if_over(id);
    }

    /// Queues alternatives behind all that the request wants.
    pub(crate) fn queue_alternatives(&mut self) {
        for (id, block) in std::mem::take(&mut self.reads.lazy.behind) {
            if self.reads.lazy.ops[id].read.as_ref().is_some_and(|read| read.pending().contains(block)) {
                self.issue(id, block);
            }
        }
    }

    fn issue(&mut self, id: Id, block: usize) {
        let op = &self.reads.lazy.ops[id];
        let (of, (first, count)) = (&op.blocks[block], op.slots);
        if of.command.is_some() {
            // It was withdrawn while a die served it, and still is.
            return;
        }
        let Source::Page(ppn) = of.source else { unreachable!("only pages in flash are read") };
        let (owner, cause, extra) = (Owner::Lazy { read: id, block: block as u8 }, op.cause, of.extra);
        let command = self.core.submit(Command { owner, ppn, first, count, cause, ..Command::default() });
        self.reads.lazy.extra += u32::from(extra);
        let op = &mut self.reads.lazy.ops[id];
        op.blocks[block].command = Some(command);
        op.outstanding += 1;
    }

    fn withdraw(&mut self, id: Id, block: usize) {
        let op = &mut self.reads.lazy.ops[id];
        let Some(command) = op.blocks[block].command else { return };
        if !self.core.device.withdraw(command) {
            return;
        }
        op.blocks[block].command = None;
        op.outstanding -= 1;
        self.reads.lazy.extra -= u32::from(op.blocks[block].extra);
    }

    /// A block was read, or could not be.
    pub(crate) fn lazy_read_done(&mut self, command: &Command, id: Id, block: usize, clean: bool) {
        let op = &mut self.reads.lazy.ops[id];
        let of = &mut op.blocks[block];
        of.command = None;
        op.outstanding -= 1;
        self.reads.lazy.extra -= u32::from(of.extra);
        if clean && op.read.is_some() {
            let slots = usize::from(command.first)..usize::from(command.first) + usize::from(command.count);
            of.contents = self.core.device.array.page(command.ppn).payload[slots].to_vec();
        }
        let Some(read) = &mut op.read else {
            self.free_if_over(id);
            return;
        };
        let step = if clean { read.complete(block) } else { read.fail(block) };
        self.advance(id, &step);
    }

    /// Reads of the group's code go on without it.
    pub(crate) fn drop_code(&mut self, group: protect::code_zones::CodeGroupId) {
        let is_of = |id: &Id| self.reads.lazy.ops[*id].stamp.is_some_and(|stamp| stamp.group == group);
        let open: Vec<Id> = self.reads.lazy.open.iter().copied().filter(is_of).collect();
        for id in open {
            let op = &mut self.reads.lazy.ops[id];
            // One that wanted nothing of what changes may have been answered by the one before.
            let Some(read) = &mut op.read else { continue };
            op.stamp = None;
            let mut step = read.without_code();
            let gone = self.look_up_again(id, &mut step);
            self.advance(id, &step);
            for block in gone.iter() {
                let Some(read) = &mut self.reads.lazy.ops[id].read else { break };
                let step = read.fail(block);
                self.advance(id, &step);
            }
        }
    }

    /// Wanted blocks that are read after all are read where they lie now. Those that lie nowhere.
    fn look_up_again(&mut self, id: Id, step: &mut Step) -> Blocks {
        let mut gone = Blocks::EMPTY;
        for block in step.issued.iter() {
            let op = &self.reads.lazy.ops[id];
            let want = op.wants.iter().find(|want| usize::from(want.block) == block).expect("only wanted blocks are read again");
            if op.blocks[block].command.is_some() {
                continue;
            }
            match self.core.map.lookup(want.lpn) {
                Place::At(slot) => {
                    self.reads.lazy.ops[id].blocks[block].source = Source::Page(self.core.device.grid.page_of(slot).0)
                }
                _ => gone.insert(block),
            }
        }
        step.issued = step.issued.without(&gone);
        gone
    }

    /// Code zones changed hands: reads that decode with code of what is no longer there go on without.
    pub(crate) fn drop_stale_reads(&mut self) {
        let stamps = self.reads.lazy.open.iter().filter_map(|id| self.reads.lazy.ops[*id].stamp);
        let stale: Vec<_> = stamps.filter(|stamp| !self.is_current_code(stamp)).collect();
        stale.into_iter().for_each(|stamp| self.drop_code(stamp.group));
    }

    /// Every wanted block is known or lost: gives them to whoever wants them.
    fn lazy_done(&mut self, id: Id) {
        let op = &mut self.reads.lazy.ops[id];
        let read = op.read.take().expect("a read in progress");
        let (wants, blocks) = (std::mem::take(&mut op.wants), std::mem::take(&mut op.blocks));
        let (slots, stamp) = (op.slots, op.stamp);
        // Blocks of commands in service still belong to the read.
        op.blocks = blocks.iter().map(|of| Block { command: of.command, extra: of.extra, ..Block::default() }).collect();
        self.reads.lazy.open.retain(|open| *open != id);
        debug_assert!(stamp.is_none_or(|stamp| self.is_current_code(&stamp)), "code of other contents");
        let sums = read.sums();
        let derived = sums.iter().filter(|sum| !read.at_hand().contains(sum.symbol)).count();
        if derived > 0 {
            self.core.device.record(Fact::Derived { pages: derived as u32 * u32::from(slots.1) });
        }
        for want in &wants {
            let sum = sums.iter().find(|sum| sum.symbol == usize::from(want.block));
            let contents = sum.map(|sum| added(&blocks, sum, usize::from(want.slot)));
            let failed = match &blocks[usize::from(want.block)].source {
                Source::Page(ppn) => Some(self.core.device.grid.slot(*ppn, u32::from(slots.0) + u32::from(want.slot))),
                _ => None,
            };
            self.deliver_lazily(want, contents.as_ref(), failed);
        }
    }

    fn deliver_lazily(&mut self, want: &Want, contents: Option<&P>, failed: Option<Slot>) {
        match (want.sink, contents) {
            (Sink::Host { job, floor }, Some(contents)) => {
                self.check_read(want.lpn, floor, Some(contents));
                self.part_done(job);
            }
            (Sink::Host { job, floor }, None) => self.repair(Target::HostRead { job, lpn: want.lpn, floor, failed }),
            (Sink::Along { job }, _) => self.part_done(job),
            (Sink::Repair(target), Some(contents)) => self.repaired(target, Some(contents), true),
            (Sink::Repair(target), None) => self.give_up_repair(target),
            (Sink::Ahead { thread, serial }, contents) => self.read_ahead_done(thread, serial, want.lpn, contents),
        }
    }

    /// One more wants a page that a read in progress will give.
    pub(crate) fn join_read(&mut self, id: Id, lpn: Lpn, sink: Sink) {
        let op = &mut self.reads.lazy.ops[id];
        let want = *op.wants.iter().find(|want| want.lpn == lpn).expect("a page of the read");
        op.wants.push(Want { sink, ..want });
        if let Sink::Host { job, .. } = sink {
            self.core.jobs[job].remaining += 1;
        }
    }

    fn free_if_over(&mut self, id: Id) {
        let op = &self.reads.lazy.ops[id];
        if op.read.is_none() && op.outstanding == 0 && !op.blocks.is_empty() {
            self.reads.lazy.ops[id] = LazyOp::default();
            self.reads.lazy.ops.give(id);
        }
    }

    /// What reads in progress use beyond what they want.
    pub(crate) fn alternatives_in_flight(&self) -> AlternativesInFlight {
        let stamps = self.reads.lazy.open.iter().filter_map(|id| self.reads.lazy.ops[*id].stamp);
        AlternativesInFlight { extra_reads: self.reads.lazy.extra, code_of: stamps.map(|stamp| stamp.group).collect() }
    }

    /// Whether no read with alternatives is under way.
    pub(crate) fn has_no_lazy_reads(&self) -> bool {
        self.reads.lazy.ops.in_use() == 0 && self.reads.lazy.extra == 0 && !self.core.device.has_withdrawn()
    }
}

/// What a slot of a block is the sum of.
fn added<P: HostPayload>(blocks: &[Block<P>], sum: &Solved<1>, slot: usize) -> P {
    let mut total = P::default();
    sum.sum.iter().for_each(|block| total.add(&blocks[block].contents[slot]));
    total
}
