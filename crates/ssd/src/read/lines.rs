//! Reads of code zones: a line (the pages of a codeword) is read from its data and from its code, whichever
//! comes first. Pages without valid code, and pages that need no flash, are read as under any scheme.

use crate::core::effects::Parcel;
use crate::core::flash::FlashPayload;
use crate::core::ids::LazyId;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{Command, Core};
use crate::read::around::{NewRead, Sink, Source, WantedPage};
use crate::read::{Below, Reads};
use device::slab::JobId;
use ftl::Place;
use nand::FlashArray;
use protect::code_zones::{LineRead, Offer};
use protect::lazy::{Ask, Blocks};
use std::ops::Range;
use vocab::{Cause, DieId, HostCommand, Lpn, Slot};

impl<P: FlashPayload> Reads<P> {
    /// Reads logical pages `first..end` for the host.
    pub(crate) fn read_in_zones(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        job: JobId,
        asked: Range<u32>,
        command: &HostCommand,
    ) {
        if !core.device.timed || !self.read_ahead(core, below, job, asked.clone(), command) {
            let touched = below.zones().touched(asked.clone(), core.map.user_slots());
            self.read_lines(core, below, job, &asked, touched);
        }
        self.lazy.queue_alternatives(core);
    }

    /// Reads the pages `asked` for and whatever else is `touched`, each line of code by itself.
    pub(crate) fn read_lines(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        job: JobId,
        asked: &Range<u32>,
        touched: Range<u32>,
    ) {
        for line in below.zones().scheme.lines(Lpn(touched.start), touched.len() as u32) {
            self.read_line(core, below, job, line, asked);
        }
    }

    fn read_line(&mut self, core: &mut Core<P>, below: Below<'_, P>, job: JobId, line: LineRead, asked: &Range<u32>) {
        let (mut wants, mut dies) = (Vec::new(), Vec::new());
        for block in line.wanted.iter() {
            let lpn = below.zones().scheme.page(&line, block);
            let is_asked = asked.contains(&lpn.0);
            let sink = if is_asked { Sink::Host { job, floor: below.host.oracle.floor(lpn) } } else { Sink::Along { job } };
            let want = WantedPage { block: block as u8, slot: 0, lpn, sink };
            if line.code.is_none() || below.is_at_hand(core, lpn) {
                self.read_one(core, below, &line, want);
            } else {
                dies.extend(below.zones().die_of(core, lpn));
                wants.push(want);
            }
        }
        if !self.read_with_code(core, below, &line, &wants, dies.into_iter()) {
            wants.into_iter().for_each(|want| self.read_one(core, below, &line, want));
        }
    }

    /// Reads a page where it lies.
    fn read_one(&mut self, core: &mut Core<P>, below: Below<'_, P>, line: &LineRead, want: WantedPage) {
        match want.sink {
            Sink::Host { job, .. } => self.read_plainly(core, below, job, want.lpn),
            // Pages that are not in flash take no time.
            _ if below.is_at_hand(core, want.lpn) => {}
            _ => {
                let line = LineRead { wanted: [usize::from(want.block)].into_iter().collect(), code: None, ..*line };
                let asked = ask_of_line(core, below, &line, Offer::Wanted);
                self.start_line(core, below, &line, asked, vec![want], Cause::Host);
            }
        }
    }

    /// Reads a page for the host from where it lies, without alternatives.
    fn read_plainly(&mut self, core: &mut Core<P>, below: Below<'_, P>, job: JobId, lpn: Lpn) {
        let floor = below.host.oracle.floor(lpn);
        if let Some(payload) = below.host.buffer.get(lpn) {
            core.out.send(Parcel::CheckRead { lpn, floor, contents: Some(payload.clone()) });
            return;
        }
        let slot = match core.map.lookup(lpn) {
            Place::Unmapped => {
                core.out.send(Parcel::CheckRead { lpn, floor, contents: None });
                return;
            }
            Place::Missing => {
                core.jobs[job].remaining += 1;
                self.solve(core, below, Target::HostRead { job, lpn, floor, failed: None });
                return;
            }
            Place::At(slot) => slot,
        };
        let (ppn, index) = core.device.grid.page_of(slot);
        if let Some(image) = below.unsent(core, ppn) {
            let payload = core.device.images.contents(image).1[index as usize].clone();
            core.out.send(Parcel::CheckRead { lpn, floor, contents: Some(payload) });
            return;
        }
        core.jobs[job].remaining += 1;
        let owner = Owner::HostRead { job };
        let id = core.submit(Command { owner, ppn, lpn: lpn.0, first: index as u8, ..Command::default() });
        core.floors.set(id, 0, floor);
    }

    /// Reads what is wanted of a line from data and code, if that is admitted.
    fn read_with_code(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        line: &LineRead,
        wants: &[WantedPage],
        dies: impl Iterator<Item = DieId>,
    ) -> bool {
        if wants.is_empty() {
            return true;
        }
        let line = LineRead { wanted: wants.iter().map(|want| usize::from(want.block)).collect(), ..*line };
        let asked = ask_of_line(core, below, &line, below.zones().scheme.offer());
        let extra = asked.extra();
        if !self.admits(core, dies, extra) {
            return false;
        }
        self.start_line(core, below, &line, asked, wants.to_vec(), Cause::Host);
        true
    }

    /// Starts to read a line; the identity of the read, where it is not over at once.
    pub(crate) fn start_line(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        line: &LineRead,
        asked: AskedLine<P>,
        wants: Vec<WantedPage>,
        cause: Cause,
    ) -> Option<LazyId> {
        let scheme = &below.zones().scheme;
        let (graph, decoder, stamp) = (scheme.layout().graph(), scheme.decoder(), line.code);
        let AskedLine { ask, sources } = asked;
        self.read_lazily(core, below, NewRead { graph, decoder, ask, stamp, cause, slots: (0, 1), sources, wants })
    }

    /// Solves for a lost page with whatever code there is. A read of the page at `failed` failed.
    pub(crate) fn solve_by_code(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        target: Target,
        line: LineRead,
        lpn: Lpn,
        failed: Option<Slot>,
    ) {
        let block = line.wanted.iter().next().expect("the lost block");
        let mut asked = ask_of_line(core, below, &line, Offer::All);
        let lies_there = |slot: Slot| matches!(asked.sources[block], Source::Page(ppn) if core.device.grid.slot(ppn, 0) == slot);
        if failed.is_some_and(lies_there) {
            asked.ask.offered.remove(block);
        }
        let wants = vec![WantedPage { block: block as u8, slot: 0, lpn, sink: Sink::Repair(target) }];
        self.start_line(core, below, &line, asked, wants, Cause::Rebuild);
        self.lazy.queue_alternatives(core);
    }
}

/// Pages that may be read for a line, and the place of each block of it.
pub(crate) struct AskedLine<P> {
    pub ask: Ask,
    pub sources: Vec<Source<P>>,
}

impl<P> AskedLine<P> {
    /// Pages that are read beside those that are wanted.
    pub fn extra(&self) -> u32 {
        self.ask.offered.without(&self.ask.wanted).without(&self.ask.held).len() as u32
    }
}

/// Pages that may be read for a line, and their places.
pub(crate) fn ask_of_line<P: FlashPayload>(core: &Core<P>, below: Below<'_, P>, line: &LineRead, offer: Offer) -> AskedLine<P> {
    let scheme = &below.zones().scheme;
    let blocks = scheme.layout().graph().blocks();
    let data = scheme.layout().graph().data();
    let has_source = |block| block < data || line.code.is_some();
    let source = |block| if has_source(block) { source_of(core, below, scheme.page(line, block)) } else { Source::None };
    let mut sources: Vec<Source<P>> = (0..blocks).map(source).collect();
    // A code page without a place says nothing; a data page without one is zeros.
    sources[data..].iter_mut().filter(|source| !matches!(source, Source::Page(_))).for_each(|source| *source = Source::None);
    let is = |is: fn(&Source<P>) -> bool| -> Blocks { (0..blocks).filter(|&block| is(&sources[block])).collect() };
    let held = is(|source| matches!(source, Source::Zeros | Source::Held(_)));
    let mut ask = scheme.ask(line, offer, held);
    ask.offered = ask.offered.without(&is(|source| matches!(source, Source::None)));
    if below.zones().is_over() {
        ask.offered = ask.offered.without(&behind_wanted(core, &ask, &sources));
    }
    AskedLine { ask, sources }
}

/// Alternatives that lie on a die of what they stand in for: they would wait behind it. Where code zones are the way of
/// writing, their layout sees to that; over another way code lies where that put it.
fn behind_wanted<P: FlashPayload>(core: &Core<P>, ask: &Ask, sources: &[Source<P>]) -> Blocks {
    let die = |block: usize| match &sources[block] {
        Source::Page(ppn) => Some(core.device.grid.die_of(*ppn)),
        _ => None,
    };
    let wanted: Vec<DieId> = ask.wanted.iter().filter_map(die).collect();
    let alternatives = ask.offered.without(&ask.wanted);
    alternatives.iter().filter(|&block| die(block).is_some_and(|die| wanted.contains(&die))).collect()
}

fn source_of<P: FlashPayload>(core: &Core<P>, below: Below<'_, P>, lpn: Lpn) -> Source<P> {
    let slot = match core.map.lookup(lpn) {
        Place::Unmapped => return Source::Zeros,
        Place::Missing => return Source::None,
        Place::At(slot) => slot,
    };
    let (ppn, index) = core.device.grid.page_of(slot);
    match below.unsent(core, ppn) {
        Some(image) => Source::Held(core.device.images.contents(image).1[index as usize].clone()),
        None if core.device.array.answers(ppn) => Source::Page(ppn),
        None => Source::None,
    }
}
