//! The host's side: requests arrive, are split into logical pages, ordered where they overlap,
//! and answered when all their parts are done.

use crate::config::BufferKind;
use crate::core::Command;
use crate::core::jobs::{Asker, PageWrite};
use crate::core::owner::Owner;
use crate::core::rules::SafetyRule;
use crate::core::target::Target;
use crate::engine::Engine;
use device::contents::HostPayload;
use device::facts::{Fact, RequestKind};
use device::slab::Id;
use ftl::Place;
use nand::{Arrived, FlashArray};
use protect::Protection;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use vocab::{Cause, Fua, HostCommand, HostOp, Lpn, Nanos, SimTime, Slot};

/// What becomes of host requests, which are numbered as they arrive, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A request arrived.
    Arrived {
        /// The request.
        request: u64,
    },
    /// A write gives a page new contents.
    Sent {
        /// The request.
        request: u64,
        /// The page.
        lpn: Lpn,
        /// The version of the page that this makes, higher than those before.
        version: u32,
        /// Sectors of the page that are written.
        sectors: Range<u32>,
    },
    /// A request was answered.
    Answered {
        /// The request.
        request: u64,
        /// Whether it was refused: it may have been carried out in part, or not at all.
        failed: bool,
    },
}

/// State of the host interface.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    user_slots: u32,
    pub sectors_per_slot: u32,
    /// Time to answer what needs no flash.
    latency: Nanos,
    /// Answers on their way, each after the same latency.
    answers: VecDeque<(SimTime, Id)>,
    pub outstanding: u32,
    /// Requests that have arrived in the life of the drive.
    pub arrived: u64,
    /// What has to be told of requests, where anybody listens.
    pub journal: Option<RefCell<Vec<HostEvent>>>,
    /// When the first request of the run arrived, the last arrived, and the last was answered.
    pub first_arrival: Option<SimTime>,
    pub last_arrival: SimTime,
    pub last_answer: SimTime,
    /// Since when the drive is read-only.
    pub read_only_since: Option<SimTime>,
}

impl Host {
    pub fn new(user_slots: u32, sectors_per_slot: u32, latency: Nanos) -> Self {
        Self {
            user_slots,
            sectors_per_slot,
            latency,
            answers: VecDeque::new(),
            outstanding: 0,
            arrived: 0,
            journal: None,
            first_arrival: None,
            last_arrival: SimTime::ZERO,
            last_answer: SimTime::ZERO,
            read_only_since: None,
        }
    }

    fn tell(&self, event: impl FnOnce() -> HostEvent) {
        if let Some(journal) = &self.journal {
            journal.borrow_mut().push(event());
        }
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// A host command arrives now; it has waited since `sent`, where the drive was off line.
    pub(crate) fn arrive(&mut self, command: &HostCommand, sent: SimTime) {
        if self.may_be_stuck() {
            self.unstick();
        }
        self.host.requests.first_arrival.get_or_insert(sent);
        self.host.requests.last_arrival = sent;
        self.host.requests.outstanding += 1;
        self.stop_encoding();
        self.start_patrol();
        let kind = match command.op {
            HostOp::Read => RequestKind::Read,
            HostOp::Write(_) => RequestKind::Write,
            HostOp::Flush => RequestKind::Flush,
            HostOp::Discard => RequestKind::Discard,
        };
        let job = self.core.jobs.take();
        self.core.jobs[job].reset(Asker::Host, kind, sent);
        let request = self.host.requests.arrived;
        self.core.jobs[job].request = request;
        self.host.requests.arrived += 1;
        self.host.requests.tell(|| HostEvent::Arrived { request });
        self.core.jobs[job].fua = command.op == HostOp::Write(Fua::Yes);
        if self.refuses(kind) {
            self.core.jobs[job].failed = true;
            self.core.device.record(Fact::Refused);
        } else if kind == RequestKind::Flush {
            self.core.jobs[job].versions = self.host.oracle.flush_sent();
            self.flush(job);
            self.flush_parity_cache();
        } else if let Some((first, end)) = self.pages_of(command, kind) {
            match kind {
                RequestKind::Read => self.read_pages(job, first, end, command),
                RequestKind::Write => self.write_pages(job, command, first, end),
                _ => {
                    self.core.jobs[job].range = (first, end);
                    self.enter(job);
                }
            }
        } else {
            self.core.jobs[job].failed = true;
            self.core.device.record(if kind == RequestKind::Read { Fact::MediaError } else { Fact::WriteError });
        }
        self.part_done(job);
    }

    /// Logical pages that a command touches (a discard: lies wholly over); `None` where that
    /// reaches beyond the drive.
    fn pages_of(&self, command: &HostCommand, kind: RequestKind) -> Option<(u32, u32)> {
        let per = u64::from(self.host.requests.sectors_per_slot);
        let end = command.lba.0.checked_add(u64::from(command.sectors))?;
        let (first, end) = match kind {
            RequestKind::Discard => (command.lba.0.div_ceil(per), end / per),
            _ => (command.lba.0 / per, end.div_ceil(per)),
        };
        (end <= u64::from(self.host.requests.user_slots)).then_some((first as u32, end.max(first) as u32))
    }

    fn read_pages(&mut self, job: Id, first: u32, end: u32, command: &HostCommand) {
        self.core.device.record(Fact::Pages { kind: RequestKind::Read, pages: end - first });
        if self.writer.zones.is_some() {
            self.read_in_zones(job, first, end, command);
        } else if self.may_read_around() {
            self.read_around(job, first, end);
        } else {
            self.read_plainly(job, first, end);
        }
    }

    /// Reads what is wanted, and nothing else.
    pub(crate) fn read_plainly(&mut self, job: Id, first: u32, end: u32) {
        let mut lpn = first;
        while lpn < end {
            lpn += self.read_from(job, Lpn(lpn), end - lpn);
        }
    }

    /// Reads the page and those after it that the same flash read gives; how many that were.
    pub(crate) fn read_from(&mut self, job: Id, lpn: Lpn, most: u32) -> u32 {
        let floor = self.host.oracle.floor(lpn);
        if let Some(payload) = self.host.buffer.get(lpn) {
            let payload = payload.clone();
            self.check_read(lpn, floor, Some(&payload));
            return 1;
        }
        let place = if self.core.is_hidden(lpn) { Place::Unmapped } else { self.core.map.lookup(lpn) };
        let Place::At(slot) = place else {
            if place == Place::Unmapped {
                self.check_read(lpn, floor, None);
            } else {
                self.core.jobs[job].remaining += 1;
                self.repair(Target::HostRead { job, lpn, floor, failed: None });
            }
            return 1;
        };
        let (ppn, index) = self.core.device.grid.page_of(slot);
        if let Some(image) = self.unsent(ppn) {
            let payload = self.core.device.images.contents(image).1[index as usize].clone();
            self.check_read(lpn, floor, Some(&payload));
            return 1;
        }
        let count = self.run_of(lpn, slot, most);
        self.core.jobs[job].remaining += 1;
        let owner = Owner::HostRead { job };
        let command = Command { owner, ppn, lpn: lpn.0, first: index as u8, count: count as u8, ..Command::default() };
        let id = self.core.submit(command);
        for i in 0..count {
            let floor = self.host.oracle.floor(Lpn(lpn.0 + i));
            self.core.floors.set(id, i as usize, floor);
        }
        count
    }

    /// How many of the pages from `lpn` lie side by side in the same flash page.
    #[inline]
    pub(crate) fn run_of(&self, lpn: Lpn, slot: Slot, most: u32) -> u32 {
        let (_, index) = self.core.device.grid.page_of(slot);
        let room = (self.core.device.grid.slots_per_page() - index).min(most);
        let beside = |i: u32| {
            let lpn = Lpn(lpn.0 + i);
            self.core.map.lookup(lpn) == Place::At(Slot(slot.0 + i))
                && self.host.buffer.get(lpn).is_none()
                && !self.core.is_hidden(lpn)
        };
        (1..room).take_while(|&i| beside(i)).count() as u32 + 1
    }

    /// A flash page was read for the host.
    pub(crate) fn host_read_done(&mut self, id: Id, command: &Command, job: Id, clean: bool) {
        let brought = match self.core.device.array.arrived() {
            Arrived::Other(other) if self.core.breaks(SafetyRule::Compare) => other,
            _ => command.ppn,
        };
        for i in 0..u32::from(command.count) {
            let lpn = Lpn(command.lpn + i);
            let floor = self.core.floors.get(id, i as usize);
            if clean {
                let at = u32::from(command.first) + i;
                let payload = self.core.device.array.page(brought).payload[at as usize].clone();
                self.check_read(lpn, floor, Some(&payload));
            } else {
                self.core.jobs[job].remaining += 1;
                let failed = Some(self.core.device.grid.slot(command.ppn, u32::from(command.first) + i));
                self.repair(Target::HostRead { job, lpn, floor, failed });
            }
        }
        self.part_done(job);
    }

    /// Holds what a host read returned against the oracle.
    pub(crate) fn check_read(&mut self, lpn: Lpn, floor: crate::core::target::Floor, found: Option<&P>) {
        if !P::CHECKED {
            return;
        }
        let result = self.host.oracle.check(lpn, floor, found);
        self.core.device.record(Fact::Checked { mismatch: result.is_err() });
        if let Some(seen) = &mut self.host.stock.seen {
            seen.push((lpn, found.cloned()));
        }
        // What a volatile buffer holds may be gone with the next cut.
        let stays = self.host.buffer.kind() != BufferKind::Volatile || self.host.buffer.get(lpn).is_none();
        if self.host.stock.counts
            && stays
            && result.is_ok()
            && let Some(payload) = found
        {
            self.host.oracle.observed(lpn, payload.version());
        }
        if let Err(what) = result {
            let at = self.core.device.now.0;
            self.host.first_mismatch.get_or_insert_with(|| format!("at {at} ns: {what}"));
        }
    }

    fn write_pages(&mut self, job: Id, command: &HostCommand, first: u32, end: u32) {
        self.core.device.record(Fact::Pages { kind: RequestKind::Write, pages: end - first });
        let per = self.host.requests.sectors_per_slot;
        for lpn in self.touched(first, end) {
            if !(first..end).contains(&lpn) {
                if self.is_stored_page(Lpn(lpn)) {
                    self.push_page(job, Lpn(lpn), 0..0);
                }
                continue;
            }
            let start = u64::from(lpn) * u64::from(per);
            let from = command.lba.0.saturating_sub(start) as u32;
            let to = (command.lba.0 + u64::from(command.sectors) - start).min(u64::from(per)) as u32;
            self.push_page(job, Lpn(lpn), from..to);
        }
        self.enter(job);
    }

    /// Adds a page to a write, with new contents in these sectors.
    fn push_page(&mut self, job: Id, lpn: Lpn, sectors: Range<u32>) {
        let version = self.host.oracle.sent(lpn);
        self.host.oracle.whole &= sectors == (0..self.host.requests.sectors_per_slot);
        let mut payload = P::stamp(lpn, version, self.host.requests.sectors_per_slot);
        let (from, to) = (sectors.start, sectors.end);
        payload.spoil_outside(from, to);
        if from < to {
            let request = self.core.jobs[job].request;
            self.host.requests.tell(|| HostEvent::Sent { request, lpn, version, sectors });
        }
        self.core.jobs[job].pages.push(PageWrite { lpn, version, payload, from, to });
    }

    /// Orders a write or discard behind earlier ones of the same pages that the map does not
    /// show yet, and completes partly written pages. Static stripes do both for themselves.
    pub(crate) fn enter(&mut self, job: Id) {
        if self.stripes_order_pages() {
            self.pass_on(job);
            return;
        }
        let wait = !self.host.page_locks.is_empty() && self.job_pages(job).any(|lpn| self.host.page_locks.is_held(lpn));
        if wait || self.has_partial_page(job) {
            self.hold_pages(job);
        }
        if self.core.jobs[job].missing > 0 {
            self.core.jobs[job].remaining += 1;
        } else {
            self.merge_partial_pages(job);
        }
    }

    /// Whether updates of stripes order all writes, no buffer being in between.
    fn stripes_order_pages(&self) -> bool {
        matches!(self.writer.protection, Protection::Stripes(_)) && self.host.buffer.kind() == BufferKind::Off
    }

    fn job_pages(&self, job: Id) -> impl Iterator<Item = u32> + use<'_, P, A> {
        let job = &self.core.jobs[job];
        job.pages.iter().map(|page| page.lpn.0).chain(job.range.0..job.range.1)
    }

    fn has_partial_page(&self, job: Id) -> bool {
        let per = self.host.requests.sectors_per_slot;
        self.core.jobs[job].pages.iter().any(|page| (page.from, page.to) != (0, per))
    }

    /// Queues for all pages of the job, so that nothing later overtakes it.
    pub(crate) fn hold_pages(&mut self, job: Id) {
        if self.core.jobs[job].kind == RequestKind::Discard && self.core.jobs[job].versions.is_empty() {
            let (first, end) = self.core.jobs[job].range;
            self.core.jobs[job].versions = (first..end).map(|lpn| self.host.oracle.sent(Lpn(lpn))).collect();
        }
        if self.core.jobs[job].holds_pages || self.core.jobs[job].asker != Asker::Host || self.stripes_order_pages() {
            return;
        }
        self.core.jobs[job].holds_pages = true;
        let pages: Vec<u32> = self.job_pages(job).collect();
        for lpn in pages {
            self.core.jobs[job].missing += u32::from(!self.host.page_locks.queue(lpn, job));
        }
    }

    /// The job's pages are in the map (or the buffer): what queues behind it goes on.
    pub(crate) fn let_pages_go(&mut self, job: Id) {
        if !std::mem::take(&mut self.core.jobs[job].holds_pages) {
            return;
        }
        let pages: Vec<u32> = self.job_pages(job).collect();
        for lpn in pages {
            let Some(next) = self.host.page_locks.release(lpn) else { continue };
            self.core.jobs[next].missing -= 1;
            if self.core.jobs[next].missing == 0 {
                self.merge_partial_pages(next);
                self.part_done(next);
            }
        }
    }

    /// Reads what completes partly written pages, then hands the job on.
    fn merge_partial_pages(&mut self, job: Id) {
        let per = self.host.requests.sectors_per_slot;
        // What is solved for may be there at once, before the next page was looked at.
        self.core.jobs[job].merges = 1;
        for index in 0..self.core.jobs[job].pages.len() {
            let page = &self.core.jobs[job].pages[index];
            if (page.from, page.to) != (0, per) {
                self.read_for_merge(job, index);
            }
        }
        self.one_merge_less(job);
    }

    /// Reads the old contents of a partly written page, unless they are at hand.
    fn read_for_merge(&mut self, job: Id, index: usize) {
        let lpn = self.core.jobs[job].pages[index].lpn;
        if let Some(old) = self.old_contents_at_hand(lpn) {
            self.merge(job, index, &old);
            return;
        }
        self.core.jobs[job].merges += 1;
        self.core.jobs[job].remaining += 1;
        match self.core.map.lookup(lpn) {
            Place::At(slot) => {
                let (ppn, first) = self.core.device.grid.page_of(slot);
                let owner = Owner::Merge { job, page: index as u16 };
                self.core.submit(Command { owner, ppn, first: first as u8, cause: Cause::HostRmw, ..Command::default() });
            }
            _ => self.repair(Target::Merge { job, page: index as u32, failed: None }),
        }
    }

    fn old_contents_at_hand(&self, lpn: Lpn) -> Option<P> {
        if let Some(payload) = self.host.buffer.get(lpn) {
            return Some(payload.clone());
        }
        if self.core.is_hidden(lpn) {
            return Some(P::default());
        }
        match self.core.map.lookup(lpn) {
            Place::Unmapped => Some(P::default()),
            Place::Missing => None,
            Place::At(slot) => {
                let (ppn, index) = self.core.device.grid.page_of(slot);
                self.unsent(ppn).map(|image| self.core.device.images.contents(image).1[index as usize].clone())
            }
        }
    }

    pub(crate) fn merge(&mut self, job: Id, index: usize, old: &P) {
        let page = &mut self.core.jobs[job].pages[index];
        page.payload.merge(old, page.from, page.to);
    }

    /// The old contents of a partly written page were read.
    pub(crate) fn merge_read_done(&mut self, command: &Command, job: Id, page: usize, clean: bool) {
        if clean {
            let old = self.core.device.array.page(command.ppn).payload[usize::from(command.first)].clone();
            self.merge_done(job, page, Some(&old));
        } else {
            let failed = Some(self.core.device.grid.slot(command.ppn, u32::from(command.first)));
            self.repair(Target::Merge { job, page: page as u32, failed });
        }
    }

    /// The old contents are known, or lost for good: then the page is not written, because
    /// what it would hold beside the new sectors is unknown.
    pub(crate) fn merge_done(&mut self, job: Id, page: usize, old: Option<&P>) {
        match old {
            Some(old) => self.merge(job, page, old),
            None => self.core.jobs[job].failed = true,
        }
        self.one_merge_less(job);
        self.part_done(job);
    }

    fn one_merge_less(&mut self, job: Id) {
        self.core.jobs[job].merges -= 1;
        match (self.core.jobs[job].merges, self.core.jobs[job].failed) {
            (0, true) => self.let_pages_go(job),
            (0, false) => self.pass_on(job),
            _ => {}
        }
    }

    /// Hands an ordered, complete job to the buffer or to flash.
    fn pass_on(&mut self, job: Id) {
        if self.host.buffer.kind() != BufferKind::Off && self.core.jobs[job].asker == Asker::Host {
            self.buffer_job(job);
        } else {
            self.place_or_wait(job);
        }
    }

    /// Hands a job to the log, behind what already waits for space.
    pub(crate) fn place_or_wait(&mut self, job: Id) {
        self.core.jobs[job].remaining += 1;
        if self.host.stalled.is_empty() && self.place(job) {
            return;
        }
        self.hold_pages(job);
        if self.core.jobs[job].kind == RequestKind::Discard {
            let (first, end) = self.core.jobs[job].range;
            (first..end).for_each(|lpn| self.host.buffer.freeze(Lpn(lpn)));
        }
        self.host.stalled.push_back(job);
    }

    /// Hands as much of the job to the log as it takes; true if that is all of it.
    pub(crate) fn place(&mut self, job: Id) -> bool {
        let all = match (self.core.jobs[job].kind, &self.writer.protection) {
            (RequestKind::Discard, _) => self.discard_pages(job),
            (_, Protection::None) => self.place_in_pages(job),
            (_, Protection::Rows(_)) => self.place_in_rows(job),
            (_, Protection::Groups(_)) => self.place_in_groups(job),
            (_, Protection::Stripes(_)) => self.place_in_stripes(job),
            (_, Protection::Zones(_)) => return self.place_in_zones(job),
        };
        if all {
            self.let_pages_go(job);
            self.part_done(job);
        }
        all
    }

    /// Forgets the job's pages; false if it has to wait for an update of their stripe. Static
    /// stripes keep the bytes until a whole stripe is gone (theory.md, I23: members of a parity
    /// are stored bytes, never silently zero).
    fn discard_pages(&mut self, job: Id) -> bool {
        let stripes = matches!(self.writer.protection, Protection::Stripes(_));
        if stripes && self.has_locked_stripe(job) || self.has_waiting_in_zones() {
            return false;
        }
        let (first, end) = self.core.jobs[job].range;
        for lpn in (first..end).map(Lpn) {
            self.unbuffer(lpn);
            let sent = self.core.jobs[job].versions.get((lpn.0 - first) as usize).copied();
            let version = sent.unwrap_or_else(|| self.host.oracle.sent(lpn));
            self.host.oracle.discard(lpn, version);
            self.contents_change(lpn);
            self.core.safe.lost.remove(&lpn);
            if !stripes && let Some(unit) = self.core.map.forget(lpn).pinned {
                self.release(unit);
            }
        }
        if stripes {
            self.discard_in_stripes(job);
        }
        true
    }

    /// One part of a job is done.
    #[inline]
    pub(crate) fn part_done(&mut self, job: Id) {
        self.core.jobs[job].remaining -= 1;
        if self.core.jobs[job].remaining == 0 {
            self.job_done(job);
        }
    }

    fn job_done(&mut self, job: Id) {
        match self.core.jobs[job].asker {
            Asker::Nobody => self.tell_oracle(job),
            Asker::Buffer => self.evicted(job),
            Asker::Host
                if self.core.device.timed
                    && self.core.jobs[job].arrival == self.core.device.now
                    && self.host.requests.latency.0 > 0 =>
            {
                // Nothing but the controller was involved.
                let at = self.core.device.now + self.host.requests.latency;
                if self.host.requests.answers.is_empty() {
                    self.core.device.calendar.schedule(self.answers(), at);
                }
                self.host.requests.answers.push_back((at, job));
                return;
            }
            Asker::Host => self.answer(job),
        }
        self.core.jobs.give(job);
    }

    pub(crate) fn answer_due(&mut self) {
        self.core.device.calendar.clear(self.answers());
        while let Some(&(at, job)) = self.host.requests.answers.front() {
            if at > self.core.device.now {
                self.core.device.calendar.schedule(self.answers(), at);
                return;
            }
            self.host.requests.answers.pop_front();
            self.answer(job);
            self.core.jobs.give(job);
        }
    }

    fn answer(&mut self, job: Id) {
        self.tell_oracle(job);
        let (kind, arrival) = (self.core.jobs[job].kind, self.core.jobs[job].arrival);
        let (request, failed) = (self.core.jobs[job].request, self.core.jobs[job].failed);
        self.host.requests.tell(|| HostEvent::Answered { request, failed });
        self.host.requests.outstanding -= 1;
        self.host.requests.last_answer = self.core.device.now;
        self.core.device.record(Fact::Answered { kind, response: self.core.device.now.since(arrival) });
    }

    /// What was answered is what reads must return from now on.
    fn tell_oracle(&mut self, job: Id) {
        if self.core.jobs[job].failed {
            if self.core.jobs[job].kind == RequestKind::Flush && self.host.requests.read_only_since.is_some() {
                self.core.device.record(Fact::Refused);
            }
            let pages = self.core.jobs[job].pages.len();
            (0..pages).for_each(|_| self.core.device.record(Fact::WriteError));
            return;
        }
        if !self.core.jobs[job].versions.is_empty() && self.core.jobs[job].kind == RequestKind::Flush {
            self.host.oracle.flushed(&self.core.jobs[job].versions);
        }
        // A page that was only written along with its stripe block says nothing new.
        for page in self.core.jobs[job].pages.iter().filter(|page| page.from < page.to) {
            self.host.oracle.answered(page.lpn, page.version, page.from, page.to);
            if self.core.jobs[job].fua {
                self.host.oracle.forced(page.lpn, page.version);
            }
        }
    }

    /// There is no space for the rest of a job and there never will be.
    pub(crate) fn fail_job(&mut self, job: Id) {
        self.core.jobs[job].failed = true;
        if self.core.jobs[job].kind == RequestKind::Discard {
            let (first, end) = self.core.jobs[job].range;
            (first..end).for_each(|lpn| self.thaw(Lpn(lpn)));
        }
        self.let_pages_go(job);
        self.part_done(job);
    }
}
