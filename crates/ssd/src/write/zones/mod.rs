//! Writing and reading under code zones: each page has its segment, and so its die; lines of coded zones
//! are read from whatever answers first. What is coded, and which code is valid, `protect::code_zones`
//! says; `encode` writes code, `ahead` reads ahead.

pub(crate) mod encode;
pub(crate) mod scrub;

use crate::core::jobs::Asker;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{data_of, oob_covering};
use crate::engine::Engine;
use crate::read::ahead::Ahead;
use crate::read::around::{NewRead, Sink, Source, Want};
use crate::session::SetupError;
use crate::write::zones::encode::Encoder;
use device::contents::HostPayload;
use device::image::Contents;
use device::slab::{Id, NONE};
use ftl::{Place, Segments, Stream};
use nand::{FlashArray, OobTag};
use protect::Protection;
use protect::code_zones::{CodeStamp, CodeZones, LineRead, Offer};
use protect::lazy::{Ask, Blocks};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use vocab::{Cause, DieId, HostCommand, Lpn, Slot};

/// What waits for room in a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiting {
    /// A page of a job.
    Page { job: Id, index: u32 },
    /// A code page.
    Code { encode: Id, which: u32 },
}

/// What a drive of code zones has beside its map.
#[derive(Clone, Debug)]
pub(crate) struct Zones<P> {
    /// By log, each in order.
    pub waiting: BTreeMap<usize, VecDeque<Waiting>>,
    pub encoder: Encoder<P>,
    pub ahead: Option<Ahead<P>>,
}

impl<P> Zones<P> {
    pub fn new(protection: &Protection) -> Option<Box<Self>> {
        let Protection::Zones(zones) = protection else { return None };
        let ahead = zones.read_ahead().map(Ahead::new);
        Some(Box::new(Self { waiting: BTreeMap::new(), encoder: Encoder::new(zones), ahead }))
    }
}

/// How dies are divided, and the logical pages in all, those of code included.
pub(crate) fn space(protection: &Protection, user_slots: u32) -> (Option<Segments>, u32) {
    let Protection::Zones(zones) = protection else { return (None, user_slots) };
    let layout = zones.layout();
    (Some(Segments { per_die: layout.zones(), blocks: layout.zone_blocks() }), layout.pages())
}

/// Collection in idle time stops where segments would move full blocks for a page of garbage.
pub(crate) fn idle_free_blocks(protection: &Protection, wanted: u32) -> u32 {
    if matches!(protection, Protection::Zones(_)) { wanted.min(1) } else { wanted }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn code_zones(&self) -> &CodeZones {
        match &self.writer.protection {
            Protection::Zones(zones) => zones,
            _ => unreachable!("only code zones come here"),
        }
    }

    pub(crate) fn code_zones_mut(&mut self) -> &mut CodeZones {
        match &mut self.writer.protection {
            Protection::Zones(zones) => zones,
            _ => unreachable!("only code zones come here"),
        }
    }

    pub(crate) fn zones(&mut self) -> &mut Zones<P> {
        self.writer.zones.as_mut().expect("a drive of code zones")
    }

    pub(crate) fn is_current_code(&self, stamp: &CodeStamp) -> bool {
        self.code_zones().is_current(stamp)
    }

    /// The log of a logical page's segment, and its die.
    pub(crate) fn segment_of(&self, lpn: Lpn) -> (usize, DieId) {
        let place = self.code_zones().layout().place(lpn);
        (self.core.map.logs_of_die(place.die).start + place.zone.0 as usize, place.die)
    }

    /// Hands the job's pages to their segments. Those without room wait there, and nobody behind them
    /// but writers of the same segment.
    pub(crate) fn place_in_zones(&mut self, job: Id) -> bool {
        let pages = self.core.jobs[job].pages.len();
        self.core.jobs[job].unplaced = pages as u32;
        for index in 0..pages as u32 {
            let (log, die) = self.segment_of(self.core.jobs[job].pages[index as usize].lpn);
            if self.core.device.is_dead(die) {
                self.lose_homeless(job, index);
                self.core.jobs[job].unplaced -= 1;
                continue;
            }
            self.core.jobs[job].remaining += 1;
            if self.zones().waiting.contains_key(&log) || !self.write_in_zone(job, index, log) {
                self.hold_pages(job);
                self.zones().waiting.entry(log).or_default().push_back(Waiting::Page { job, index });
            } else {
                self.core.jobs[job].unplaced -= 1;
            }
        }
        if self.core.jobs[job].unplaced == 0 {
            self.placed_in_zones(job);
        }
        true
    }

    /// The page's die is dead. What the buffer has answered for is lost; of what was never answered the
    /// old contents may still be had from code.
    fn lose_homeless(&mut self, job: Id, index: u32) {
        (self.core.jobs[job].failed, self.core.jobs[job].homeless) = (true, true);
        if self.core.jobs[job].asker == Asker::Buffer {
            let lpn = self.core.jobs[job].pages[index as usize].lpn;
            self.contents_change(lpn);
            if let Some(unit) = self.core.map.publish_missing(lpn).pinned {
                self.release(unit);
            }
        }
    }

    /// All pages of the job are in the map, or never will be.
    fn placed_in_zones(&mut self, job: Id) {
        self.core.jobs[job].next = self.core.jobs[job].pages.len();
        self.let_pages_go(job);
        self.part_done(job);
    }

    /// Writes a page to its segment, if that has room.
    fn write_in_zone(&mut self, job: Id, index: u32, log: usize) -> bool {
        let page = &self.core.jobs[job].pages[index as usize];
        let lpn = page.lpn;
        if self.was_discarded(job, lpn) || self.is_void(page) {
            self.part_done(job);
            return true;
        }
        if self.core.map.has_room(log, Stream::Host) {
            // Before a page is taken: reads that are answered now may lead to writes.
            self.contents_change(lpn);
        }
        let Some(ppn) = self.core.map.take_page(log, Stream::Host) else {
            self.start_collecting_if_short(log);
            return false;
        };
        let payload = self.core.jobs[job].pages[index as usize].payload.clone();
        let pin = self.core.map.publish(lpn, self.core.device.grid.slot(ppn, 0)).pinned.unwrap_or(NONE);
        let oob = oob_covering(0);
        let image = self.core.device.images.open(ppn, oob);
        let contents = Contents { tag: OobTag::data(lpn), payload, update: self.core.device.next_rank() };
        self.core.device.images.fill(image, contents, job, pin);
        self.core.submit_program(image, Owner::Page { log: log as u16, moved: false }, Cause::Host);
        self.start_collecting_if_short(log);
        true
    }

    /// Tries again what waits for room in segments.
    pub(crate) fn retry_zones(&mut self) {
        let Some(zones) = &self.writer.zones else { return };
        let logs: Vec<usize> = zones.waiting.keys().copied().collect();
        for log in logs {
            while let Some(waiting) = self.take_waiting(log) {
                let placed = match waiting {
                    Waiting::Page { job, index } => self.write_in_zone(job, index, log),
                    Waiting::Code { encode, which } => self.write_code(encode, which, log),
                };
                if !placed {
                    self.zones().waiting.entry(log).or_default().push_front(waiting);
                    break;
                }
                if let Waiting::Page { job, .. } = waiting {
                    self.one_placed(job);
                }
            }
        }
    }

    /// What waits first for room in a log, taken out.
    fn take_waiting(&mut self, log: usize) -> Option<Waiting> {
        let waiting = &mut self.zones().waiting;
        let queue = waiting.get_mut(&log)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            waiting.remove(&log);
        }
        first
    }

    fn one_placed(&mut self, job: Id) {
        self.core.jobs[job].unplaced -= 1;
        if self.core.jobs[job].unplaced == 0 {
            self.placed_in_zones(job);
        }
    }

    /// There is no room for what waits first and there never will be. True if anything waited.
    pub(crate) fn fail_waiting_in_zones(&mut self) -> bool {
        let Some((&log, queue)) = self.writer.zones.as_ref().and_then(|zones| zones.waiting.first_key_value()) else {
            return false;
        };
        if let Some(Waiting::Page { job, .. }) = queue.front()
            && self.core.jobs[*job].asker == Asker::Buffer
        {
            // Who waits for the room in the buffer that this was to make waits in vain, too.
            self.fail_buffer_waiter();
        }
        self.fail_first_waiting(log, false);
        true
    }

    /// The die of a log is dead: nothing that waits for it will be written.
    pub(crate) fn fail_waiting_of(&mut self, log: usize) {
        while self.writer.zones.as_ref().is_some_and(|zones| zones.waiting.contains_key(&log)) {
            self.fail_first_waiting(log, true);
        }
    }

    fn fail_first_waiting(&mut self, log: usize, homeless: bool) {
        match self.take_waiting(log).expect("something waits") {
            Waiting::Page { job, index } => {
                self.core.jobs[job].failed = true;
                if homeless {
                    self.lose_homeless(job, index);
                    self.one_placed(job);
                } else if self.core.jobs[job].asker == Asker::Buffer {
                    // The buffer learns that its page was not placed.
                    self.let_pages_go(job);
                    self.part_done(job);
                } else {
                    self.one_placed(job);
                }
                self.part_done(job);
            }
            Waiting::Code { encode, .. } => self.code_page_over(encode, false),
        }
    }

    /// The page gets other contents in the map, now.
    pub(crate) fn contents_change(&mut self, lpn: Lpn) {
        if self.writer.zones.is_none() {
            return;
        }
        self.forget_read_ahead(lpn);
        let code_zones = self.code_zones_mut();
        let line = code_zones.layout().line(lpn).0;
        let Some(stamp) = code_zones.stamp(line.group) else {
            code_zones.on_write(lpn, 1);
            return;
        };
        code_zones.on_write(lpn, 1);
        self.code_is_stale(stamp);
    }

    /// Code was valid and is not any more: nobody decodes with it, and its pages are garbage.
    pub(crate) fn code_is_stale(&mut self, stamp: CodeStamp) {
        self.drop_code(stamp.group);
        let pages: Vec<Lpn> = self.code_zones().layout().code_pages(stamp.group, stamp.code_zone).collect();
        pages.into_iter().for_each(|lpn| self.forget_code_page(lpn));
    }

    pub(crate) fn forget_code_page(&mut self, lpn: Lpn) {
        if let Some(unit) = self.core.map.forget(lpn).pinned {
            self.release(unit);
        }
    }

    /// Reads for the host.
    pub(crate) fn read_in_zones(&mut self, job: Id, first: u32, end: u32, command: &HostCommand) {
        if self.core.device.timed {
            self.code_zones_mut().on_read(Lpn(first), end - first);
            if self.read_ahead(job, first, end, command) {
                self.queue_alternatives();
                return;
            }
        }
        self.read_lines(job, first..end, self.touched(first, end));
        self.queue_alternatives();
    }

    /// Reads the pages `asked` for and whatever else is `touched`, each line of code by itself.
    pub(crate) fn read_lines(&mut self, job: Id, asked: Range<u32>, touched: Range<u32>) {
        for line in self.code_zones().lines(Lpn(touched.start), touched.len() as u32) {
            self.read_line(job, line, &asked);
        }
    }

    fn read_line(&mut self, job: Id, line: LineRead, asked: &Range<u32>) {
        let mut wants = Vec::new();
        let mut dies = Vec::new();
        for block in line.wanted.iter() {
            let lpn = self.code_zones().page(&line, block);
            let is_asked = asked.contains(&lpn.0);
            let sink = if is_asked { Sink::Host { job, floor: self.host.oracle.floor(lpn) } } else { Sink::Along { job } };
            let want = Want { block: block as u8, slot: 0, lpn, sink };
            if self.is_plain(lpn, line.code.is_some()) {
                self.read_one(&line, want);
            } else {
                dies.push(self.segment_of(lpn).1);
                wants.push(want);
            }
        }
        if !self.read_with_code(&line, wants.clone(), dies.into_iter()) {
            wants.into_iter().for_each(|want| self.read_one(&line, want));
        }
    }

    /// Reads a page where it lies.
    fn read_one(&mut self, line: &LineRead, want: Want) {
        match want.sink {
            Sink::Host { job, .. } => {
                self.read_from(job, want.lpn, 1);
            }
            // What is not in flash takes no time.
            _ if self.is_at_hand(want.lpn) => {}
            _ => {
                let line = LineRead { wanted: [usize::from(want.block)].into_iter().collect(), code: None, ..*line };
                let (ask, sources) = self.ask_of_line(&line, Offer::Wanted);
                self.start_line(&line, ask, sources, vec![want], Cause::Host);
            }
        }
    }

    /// Whether a page is read as under any scheme: there is no code, or nothing to be read from flash.
    fn is_plain(&self, lpn: Lpn, coded: bool) -> bool {
        !coded || self.is_at_hand(lpn)
    }

    /// Reads what is wanted of a line from data and code, if that is admitted.
    fn read_with_code(&mut self, line: &LineRead, wants: Vec<Want>, dies: impl Iterator<Item = DieId>) -> bool {
        if wants.is_empty() {
            return true;
        }
        let line = LineRead { wanted: wants.iter().map(|want| usize::from(want.block)).collect(), ..*line };
        let (ask, sources) = self.ask_of_line(&line, self.code_zones().offer());
        let extra = ask.offered.without(&ask.wanted).without(&ask.held).len() as u32;
        if !self.admits(dies, extra) {
            return false;
        }
        self.start_line(&line, ask, sources, wants, Cause::Host);
        true
    }

    /// What may be read for a line, and where it lies.
    pub(crate) fn ask_of_line(&self, line: &LineRead, offer: Offer) -> (Ask, Vec<Source<P>>) {
        let zones = self.code_zones();
        let blocks = zones.layout().graph().blocks();
        let data = zones.layout().graph().data();
        let source =
            |block| if block < data || line.code.is_some() { self.source_of(zones.page(line, block)) } else { Source::None };
        let mut sources: Vec<Source<P>> = (0..blocks).map(source).collect();
        // A code page without a place says nothing; a data page without one is zeros.
        sources[data..].iter_mut().filter(|source| !matches!(source, Source::Page(_))).for_each(|source| *source = Source::None);
        let is = |is: fn(&Source<P>) -> bool| -> Blocks { (0..blocks).filter(|&block| is(&sources[block])).collect() };
        let held = is(|source| matches!(source, Source::Zeros | Source::Held(_)));
        let mut ask = zones.ask(line, offer, held);
        ask.offered = ask.offered.without(&is(|source| matches!(source, Source::None)));
        (ask, sources)
    }

    fn source_of(&self, lpn: Lpn) -> Source<P> {
        let slot = match self.core.map.lookup(lpn) {
            Place::Unmapped => return Source::Zeros,
            Place::Missing => return Source::None,
            Place::At(slot) => slot,
        };
        let (ppn, index) = self.core.device.grid.page_of(slot);
        match self.unsent(ppn) {
            Some(image) => Source::Held(self.core.device.images.contents(image).1[index as usize].clone()),
            None if self.core.device.array.answers(ppn) => Source::Page(ppn),
            None => Source::None,
        }
    }

    pub(crate) fn start_line(
        &mut self,
        line: &LineRead,
        ask: Ask,
        sources: Vec<Source<P>>,
        wants: Vec<Want>,
        cause: Cause,
    ) -> Option<Id> {
        let zones = self.code_zones();
        let (graph, decoder) = (zones.layout().graph().clone(), zones.decoder());
        self.read_lazily(NewRead { graph: &graph, decoder, ask, stamp: line.code, cause, slots: (0, 1), sources, wants })
    }

    /// Solves for a lost page with whatever code there is.
    pub(crate) fn repair_by_code(&mut self, target: Target) {
        let (lpn, failed) = self.lost_page(target);
        if !matches!(target, Target::Move { .. }) && self.core.map.lookup(lpn) == Place::Unmapped {
            self.repaired(target, Some(&P::default()), false);
            return;
        }
        if lpn.0 >= self.code_zones().layout().user_pages() {
            self.lose_code_page(lpn);
            self.repaired(target, None, true);
            return;
        }
        let (line, block) = self.code_zones().layout().line(lpn);
        let code = self.code_zones().stamp(line.group);
        let line = LineRead { line, wanted: [block].into_iter().collect(), code };
        let (mut ask, sources) = self.ask_of_line(&line, Offer::All);
        let lies_there = |slot: Slot| matches!(sources[block], Source::Page(ppn) if self.core.device.grid.slot(ppn, 0) == slot);
        if failed.is_some_and(lies_there) {
            ask.offered.remove(block);
        }
        let wants = vec![Want { block: block as u8, slot: 0, lpn, sink: Sink::Repair(target) }];
        self.start_line(&line, ask, sources, wants, Cause::Rebuild);
        self.queue_alternatives();
    }

    /// The logical page that a repair is about, and where it could not be read.
    fn lost_page(&self, target: Target) -> (Lpn, Option<Slot>) {
        match target {
            Target::HostRead { lpn, failed, .. } => (lpn, failed),
            Target::Merge { failed, .. } => (self.lpn_wanted(target).expect("a host page"), failed),
            Target::Move { slot, .. } => {
                let (ppn, index) = self.core.device.grid.page_of(slot);
                (data_of(self.core.device.tags(ppn)[index as usize]).expect("zones hold data and code"), Some(slot))
            }
            Target::StripeMerge { .. } | Target::Strip { .. } => unreachable!("zones have no stripes"),
        }
    }

    /// A code page cannot be read: its group does without code until it is encoded again.
    fn lose_code_page(&mut self, lpn: Lpn) {
        let lost = self.code_zones_mut().lose_code(lpn);
        match lost {
            Some(stamp) => self.code_is_stale(stamp),
            None => self.forget_code_page(lpn),
        }
    }

    /// Nothing brings the page back from code; unless it was written anew, it is lost.
    pub(crate) fn give_up_repair(&mut self, target: Target) {
        if !self.read_where_it_lies_now(target) {
            self.repaired(target, None, true);
        }
    }

    /// Refuses a drive with a segment that its bad blocks leave no room to collect in.
    pub(crate) fn check_segments(&self, zones: &CodeZones) -> Result<(), SetupError> {
        let layout = zones.layout();
        for die in (0..self.core.device.grid.dies()).map(|die| DieId(die as u16)) {
            for (zone, log) in self.core.map.logs_of_die(die).enumerate() {
                if self.core.map.live_max(log) <= layout.segment_pages() {
                    return Err(SetupError::new(format!(
                        "scheme code-zones: bad blocks leave the segment of zone {zone} on die {} too few to collect garbage in; \
                         spare_blocks must be 2 and one for each bad block of a segment",
                        die.0
                    )));
                }
            }
        }
        Ok(())
    }
}
