//! Reads with alternatives: a read is sent to what it wants and to what can stand in for it, and takes
//! whatever comes first. Which sub-requests help is decided in `protect::lazy`; here they meet queues and
//! bytes. Alternatives come from the lines of code of zones, or from the stripe or row of a page.
//!
//! All places of a read are looked up at one instant, and commands for them queued at once. So what is
//! summed up is one state of the stripe, whatever is written in the meantime: a superseded page stays in flash
//! until an erase, which queues behind. Sub-requests that became of no use leave their queues; one that a
//! die is serving ends as any other.

use crate::core::effects::Parcel;
use crate::core::flash::FlashPayload;
use crate::core::ids::{LazyId, OfLazy};
use crate::core::owner::Owner;
use crate::core::read_step::ReadStep;
use crate::core::target::{Floor, Target};
use crate::core::{Command, Core};
use crate::read::solve::{Solution, solved};
use crate::read::{Below, Reads};
use coding::gf2::{Decoder, Solved};
use coding::graph::CodeGraph;
use device::facts::Fact;
use device::slab::{CommandId, JobId, Slab};
use ftl::Place;
use nand::{FlashArray, ReadOutcome};
use protect::Protection;
use protect::code_zones::{CodeGroupId, CodeStamp};
use protect::lazy::{Ask, Blocks, LazyRead, ReadAround, Step};
use vocab::{Cause, DieId, Lpn, Ppn, Slot};

/// Who wants a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// A host read.
    Host { job: JobId, floor: Floor },
    /// Whoever lost the page.
    Repair(Target),
    /// A host read that touches it, though it does not ask for it.
    Along { job: JobId },
    /// The read-ahead buffer of a thread, if it is still the same.
    Ahead { thread: u16, serial: u32 },
}

/// A page that is wanted: slot `slot` of those that are read of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedPage {
    pub block: u8,
    pub slot: u8,
    pub lpn: Lpn,
    pub sink: Sink,
}

/// Replacement of a block of the code.
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
    command: Option<CommandId>,
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
    wants: Vec<WantedPage>,
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
    pub wants: Vec<WantedPage>,
}

/// All reads with alternatives.
#[derive(Clone, Debug)]
pub(crate) struct LazyReads<P> {
    pub around: Option<ReadAround>,
    ops: Slab<LazyOp<P>, OfLazy>,
    /// Reads that are not answered yet.
    open: Vec<LazyId>,
    /// Alternatives to be queued when all that a request wants is: they are not to delay it.
    behind: Vec<(LazyId, usize)>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SumRead {
    /// The pages whose sum is zero, in order.
    pub together: Vec<Ppn>,
    /// First slot and number of slots of each run.
    pub slots: (u8, u8),
    /// Each with the first logical page of its run.
    pub pages: Vec<(Ppn, Lpn)>,
}

impl<P: FlashPayload> LazyReads<P> {
    /// Extra resources of the reads: sub-requests, and the code groups that they decode with.
    pub fn in_flight(&self) -> (u32, Vec<CodeGroupId>) {
        (self.extra, self.stamps().map(|stamp| stamp.group).collect())
    }

    /// Whether no read with alternatives is under way.
    pub fn is_empty(&self) -> bool {
        self.ops.in_use() == 0 && self.extra == 0
    }

    /// The code that reads decode with.
    fn stamps(&self) -> impl Iterator<Item = CodeStamp> {
        self.open.iter().filter_map(|id| self.ops[*id].stamp)
    }

    /// Ends a read whose last command has ended.
    fn free_if_over(&mut self, id: LazyId) {
        let op = &self.ops[id];
        if op.read.is_none() && op.outstanding == 0 && !op.blocks.is_empty() {
            self.ops[id] = LazyOp::default();
            self.ops.give(id);
        }
    }

    fn issue(&mut self, core: &mut Core<P>, id: LazyId, block: usize) {
        let op = &self.ops[id];
        let (of, (first, count)) = (&op.blocks[block], op.slots);
        if of.command.is_some() {
            // It was withdrawn while a die served it, and still is.
            return;
        }
        let Source::Page(ppn) = of.source else { unreachable!("only pages in flash are read") };
        let (owner, cause, extra) = (Owner::Lazy { read: id, block: block as u8 }, op.cause, of.extra);
        let command = core.submit(Command { owner, ppn, first, count, cause, ..Command::default() });
        self.extra += u32::from(extra);
        let op = &mut self.ops[id];
        op.blocks[block].command = Some(command);
        op.outstanding += 1;
    }

    fn withdraw(&mut self, core: &mut Core<P>, id: LazyId, block: usize) {
        let op = &mut self.ops[id];
        let Some(command) = op.blocks[block].command else { return };
        if !core.device.withdraw(command) {
            return;
        }
        op.blocks[block].command = None;
        op.outstanding -= 1;
        self.extra -= u32::from(op.blocks[block].extra);
    }

    /// Queues alternatives behind all that the request wants.
    pub fn queue_alternatives(&mut self, core: &mut Core<P>) {
        for (id, block) in std::mem::take(&mut self.behind) {
            if self.ops[id].read.as_ref().is_some_and(|read| read.pending().contains(block)) {
                self.issue(core, id, block);
            }
        }
    }

    /// Wanted blocks that are read after all are read where they lie now. Answers those without a place.
    fn look_up_again(&mut self, core: &Core<P>, id: LazyId, step: &mut Step) -> Blocks {
        let mut gone = Blocks::EMPTY;
        for block in step.issued.iter() {
            let op = &self.ops[id];
            let want = op.wants.iter().find(|want| usize::from(want.block) == block).expect("only wanted blocks are read again");
            if op.blocks[block].command.is_some() {
                continue;
            }
            match core.map.lookup(want.lpn) {
                Place::At(slot) => self.ops[id].blocks[block].source = Source::Page(core.device.grid.page_of(slot).0),
                _ => gone.insert(block),
            }
        }
        step.issued = step.issued.without(&gone);
        gone
    }
}

impl<P: FlashPayload> Below<'_, P> {
    /// The page and those that sum up to it, with how many logical pages from `lpn` on lie in it side by
    /// side; `None` where it is not in flash, or nothing stands in for it now.
    pub fn alternatives_of(&self, core: &Core<P>, lpn: Lpn, most: u32) -> Option<(SumRead, u32)> {
        if self.host.buffer.get(lpn).is_some() || core.is_hidden(lpn) {
            return None;
        }
        let Place::At(slot) = core.map.lookup(lpn) else { return None };
        let (ppn, index) = core.device.grid.page_of(slot);
        if self.writer.unsent(core, ppn).is_some() || !core.device.array.answers(ppn) {
            return None;
        }
        let mut together = self.writer.stand_ins(core, lpn, ppn)?;
        if together.is_empty() || together.len() > coding::graph::BLOCKS_MAX {
            return None;
        }
        together.push(ppn);
        together.sort_unstable();
        let count = self.host.run_of(core, lpn, slot, most);
        Some((SumRead { together, slots: (index as u8, count as u8), pages: vec![(ppn, lpn)] }, count))
    }
}

impl<P: FlashPayload> Reads<P> {
    /// Whether a read of these dies is to have alternatives, `extra` sub-requests more. Without time nothing
    /// is ever busy.
    pub(crate) fn admits(&self, core: &Core<P>, mut dies: impl Iterator<Item = DieId>, extra: u32) -> bool {
        let Some(around) = self.lazy.around else { return false };
        core.device.timed
            && extra > 0
            && self.lazy.extra + self.lazy.behind.len() as u32 + extra <= around.extra_reads
            && dies.any(|die| core.device.backlog(die) >= around.busy_from)
    }

    /// Reads for the host under a scheme of stripes or rows. Of these pages, which the request wants and which
    /// have alternatives, those of busy dies are read with the rest of their stripe or row. Answers the logical
    /// pages that this reads, in order; the alternatives are not queued yet.
    pub(crate) fn read_around(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        job: JobId,
        wanted: impl Iterator<Item = SumRead>,
    ) -> Vec<u32> {
        let mut around: Vec<u32> = Vec::new();
        for group in together(wanted) {
            let dies = group.pages.iter().map(|&(ppn, _)| core.device.grid.die_of(ppn));
            if self.admits(core, dies, (group.together.len() - group.pages.len()) as u32) {
                self.read_of_sum(core, below, job, &group);
                let count = u32::from(group.slots.1);
                around.extend(group.pages.iter().flat_map(|&(_, lpn)| lpn.0..lpn.0 + count));
            }
        }
        around.sort_unstable();
        around
    }

    /// Reads pages with all others of a sum as alternatives.
    fn read_of_sum(&mut self, core: &mut Core<P>, below: Below<'_, P>, job: JobId, group: &SumRead) {
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
                let sink = Sink::Host { job, floor: below.host.oracle.floor(lpn) };
                wants.push(WantedPage { block: block as u8, slot, lpn, sink });
            }
        }
        let sources = pages.into_iter().map(Source::Page).collect();
        let (decoder, cause, stamp) = (Decoder::Peeling, Cause::Host, None);
        let slots = group.slots;
        self.read_lazily(core, below, NewRead { graph: &graph, decoder, ask, stamp, cause, slots, sources, wants });
    }

    /// Starts a read; its identity, where it is not over at once.
    pub(crate) fn read_lazily(&mut self, core: &mut Core<P>, below: Below<'_, P>, new: NewRead<'_, P>) -> Option<LazyId> {
        let NewRead { graph, decoder, ask, stamp, cause, slots, sources, wants } = new;
        for want in &wants {
            if let Sink::Host { job, .. } | Sink::Along { job } = want.sink {
                core.jobs[job].remaining += 1;
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
        let id = self.lazy.ops.take();
        let (read, step) = LazyRead::start(graph, decoder, ask);
        self.lazy.ops[id] = LazyOp { read: Some(read), stamp, cause, slots, blocks, wants, outstanding: 0 };
        self.lazy.open.push(id);
        if !extra.is_empty() {
            core.device.record(Fact::ReadAround { extra: extra.len() as u32 });
        }
        self.carry_out(core, below, id, &step);
        (self.lazy.ops[id].read.is_some()).then_some(id)
    }

    /// Carries out a step, and ends the read if that was the last.
    fn carry_out(&mut self, core: &mut Core<P>, below: Below<'_, P>, id: LazyId, step: &Step) {
        for block in step.withdrawn.iter() {
            self.lazy.withdraw(core, id, block);
        }
        for block in step.issued.iter() {
            if self.lazy.ops[id].blocks[block].extra {
                self.lazy.behind.push((id, block));
            } else {
                self.lazy.issue(core, id, block);
            }
        }
        if self.lazy.ops[id].read.as_ref().is_some_and(LazyRead::is_done) {
            self.end_lazy_read(core, below, id);
        }
        self.lazy.free_if_over(id);
    }

    /// A block was read, or could not be.
    pub(crate) fn lazy_read_done(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        command: &Command,
        id: LazyId,
        block: usize,
        outcome: ReadOutcome,
    ) {
        let op = &mut self.lazy.ops[id];
        let of = &mut op.blocks[block];
        of.command = None;
        op.outstanding -= 1;
        self.lazy.extra -= u32::from(of.extra);
        if outcome.is_clean() && op.read.is_some() {
            let slots = usize::from(command.first)..usize::from(command.first) + usize::from(command.count);
            of.contents = core.device.array.payload(command.ppn)[slots].to_vec();
        }
        let Some(read) = &mut op.read else {
            self.lazy.free_if_over(id);
            return;
        };
        let step = if outcome.is_clean() { read.complete(block) } else { read.fail(block) };
        self.carry_out(core, below, id, &step);
    }

    /// Reads that decode with the code of the group go on without it, one after the other.
    pub(crate) fn drop_code(&mut self, core: &mut Core<P>, group: CodeGroupId) {
        let is_of = |id: &LazyId| self.lazy.ops[*id].stamp.is_some_and(|stamp| stamp.group == group);
        let of_group = self.lazy.open.iter().copied().filter(is_of);
        of_group.for_each(|read| core.out.send(Parcel::Reads(ReadStep::DropCodeOf { read, group })));
    }

    /// A read goes on without the code of the group, unless it has ended in the meantime.
    pub(crate) fn drop_code_of(&mut self, core: &mut Core<P>, below: Below<'_, P>, id: LazyId, group: CodeGroupId) {
        let op = &mut self.lazy.ops[id];
        if op.stamp.is_none_or(|stamp| stamp.group != group) {
            return;
        }
        // One that wanted nothing of what changes may have been answered by the one before.
        let Some(read) = &mut op.read else { return };
        op.stamp = None;
        let mut step = read.without_code();
        let gone = self.lazy.look_up_again(core, id, &mut step);
        self.carry_out(core, below, id, &step);
        for block in gone.iter() {
            let Some(read) = &mut self.lazy.ops[id].read else { break };
            let step = read.fail(block);
            self.carry_out(core, below, id, &step);
        }
    }

    /// Code zones changed hands: reads that decode with code of what is no longer there go on without.
    pub(crate) fn drop_stale_code(&mut self, core: &mut Core<P>, below: Below<'_, P>) {
        let stale = self.lazy.stamps().filter(|stamp| !below.zones().is_current_code(stamp));
        stale.for_each(|stamp| core.out.send(Parcel::Reads(ReadStep::DropCode { group: stamp.group })));
    }

    /// Every wanted block is known or lost: gives them to whoever wants them.
    fn end_lazy_read(&mut self, core: &mut Core<P>, below: Below<'_, P>, id: LazyId) {
        let op = &mut self.lazy.ops[id];
        let read = op.read.take().expect("a read in progress");
        let (wants, blocks) = (std::mem::take(&mut op.wants), std::mem::take(&mut op.blocks));
        let (slots, stamp) = (op.slots, op.stamp);
        // Blocks of commands in service still belong to the read.
        op.blocks = blocks.iter().map(|of| Block { command: of.command, extra: of.extra, ..Block::default() }).collect();
        self.lazy.open.retain(|open| *open != id);
        debug_assert!(stamp.is_none_or(|stamp| below.zones().is_current_code(&stamp)), "code of other contents");
        let sums = read.sums();
        let derived = sums.iter().filter(|sum| !read.at_hand().contains(sum.symbol)).count();
        if derived > 0 {
            core.device.record(Fact::Derived { pages: derived as u32 * u32::from(slots.1) });
        }
        for want in &wants {
            let sum = sums.iter().find(|sum| sum.symbol == usize::from(want.block));
            let contents = sum.map(|sum| added(&blocks, sum, usize::from(want.slot)));
            let failed = match &blocks[usize::from(want.block)].source {
                Source::Page(ppn) => Some(core.device.grid.slot(*ppn, u32::from(slots.0) + u32::from(want.slot))),
                _ => None,
            };
            self.deliver_lazily(core, below, want, contents, failed);
        }
    }

    fn deliver_lazily(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        want: &WantedPage,
        contents: Option<P>,
        failed: Option<Slot>,
    ) {
        let lpn = want.lpn;
        match (want.sink, contents) {
            (Sink::Host { job, floor }, Some(contents)) => {
                core.out.send(Parcel::CheckRead { lpn, floor, contents: Some(contents) });
                core.part_done(job);
            }
            (Sink::Host { job, floor }, None) => self.solve(core, below, Target::HostRead { job, lpn, floor, failed }),
            (Sink::Along { job }, _) => core.part_done(job),
            (Sink::Repair(target), Some(contents)) => solved(core, target, Solution::Contents(contents)),
            (Sink::Repair(target), None) => self.give_up(core, below, target),
            (Sink::Ahead { thread, serial }, contents) => self.read_ahead_done(thread, serial, lpn, contents),
        }
    }

    /// One more wants a page that a read in progress will give.
    pub(crate) fn join_read(&mut self, core: &mut Core<P>, id: LazyId, lpn: Lpn, sink: Sink) {
        let op = &mut self.lazy.ops[id];
        let want = *op.wants.iter().find(|want| want.lpn == lpn).expect("a page of the read");
        op.wants.push(WantedPage { sink, ..want });
        if let Sink::Host { job, .. } = sink {
            core.jobs[job].remaining += 1;
        }
    }
}

/// Wanted pages that are of the same sum, together.
fn together(wanted: impl Iterator<Item = SumRead>) -> Vec<SumRead> {
    let mut groups: Vec<SumRead> = Vec::new();
    for wanted in wanted {
        match groups.iter_mut().find(|group| group.together == wanted.together && group.slots == wanted.slots) {
            Some(group) => group.pages.extend(wanted.pages),
            None => groups.push(wanted),
        }
    }
    groups
}

/// Sum that gives a slot of a block.
fn added<P: FlashPayload>(blocks: &[Block<P>], sum: &Solved<1>, slot: usize) -> P {
    let mut total = P::default();
    sum.sum.iter().for_each(|block| total.add(&blocks[block].contents[slot]));
    total
}
