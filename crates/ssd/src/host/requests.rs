//! Requests arrive, are split into logical pages, and are answered when all their parts are done.

use crate::config::Controller;
use crate::core::Core;
use crate::core::effects::Parcel;
use crate::core::flash::FlashPayload;
use crate::core::jobs::{Asker, Job, PageWrite};
use crate::core::timer::Timer;
use crate::core::zone_step::{CodePage, ZoneStep};
use crate::host::flows::HostFlows;
use crate::host::front::Front;
use crate::host::{Host, Next};
use crate::write::Writer;
use device::facts::{Fact, RequestKind};
use device::slab::JobId;
use device::waits::Wait;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};
use vocab::{Fua, HostCommand, HostOp, Lpn, Nanos, SimTime};

/// Events of host requests, which are numbered as they arrive, from 0.
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
pub(crate) struct Requests {
    user_slots: u32,
    pub sectors_per_slot: u32,
    /// Its binary logarithm, where that is a whole number: most drives need no division.
    sector_bits: Option<u32>,
    /// Time to answer what needs no flash.
    latency: Nanos,
    /// Firmware and host link, where they cost anything.
    front: Option<Front>,
    /// Answers on their way, in order of time.
    answers: VecDeque<(SimTime, JobId)>,
    pub outstanding: u32,
    /// Requests of each flow, in a run of several, and the flow of the request that arrives.
    pub flows: Option<HostFlows>,
    pub asking_flow: u16,
    /// The most of them since someone last asked.
    most: u32,
    /// Requests that have arrived in the life of the drive.
    pub arrived: u64,
    /// Events of requests since the journal was last taken; `None`: no one reads it.
    pub journal: Option<Journal>,
    /// When the first request of the run arrived, the last arrived, and the last was answered.
    pub first_arrival: Option<SimTime>,
    pub last_arrival: SimTime,
    pub last_answer: SimTime,
    /// Since when the drive is read-only.
    pub read_only_since: Option<SimTime>,
}

/// Answers to the host since this was last emptied. Drives in files empty it between events, while the rest of the
/// drive is only looked at: hence the lock.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Vec<HostEvent>>);

impl Journal {
    pub fn events(&self) -> MutexGuard<'_, Vec<HostEvent>> {
        self.0.lock().expect("nothing panics while it is held")
    }

    pub fn take(&self) -> Vec<HostEvent> {
        std::mem::take(&mut self.events())
    }

    /// Out of line: most drives have no journal.
    #[cold]
    fn push(&self, event: HostEvent) {
        self.events().push(event);
    }
}

impl Clone for Journal {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.events().clone()))
    }
}

impl Requests {
    pub fn new(user_slots: u32, sectors_per_slot: u32, latency: Nanos, controller: Controller) -> Self {
        Self {
            user_slots,
            sectors_per_slot,
            sector_bits: sectors_per_slot.is_power_of_two().then(|| sectors_per_slot.trailing_zeros()),
            latency,
            front: Front::new(controller),
            answers: VecDeque::new(),
            outstanding: 0,
            flows: None,
            asking_flow: 0,
            most: 0,
            arrived: 0,
            journal: None,
            first_arrival: None,
            last_arrival: SimTime::ZERO,
            last_answer: SimTime::ZERO,
            read_only_since: None,
        }
    }

    /// Requests outstanding at most since this was last asked.
    pub fn take_most(&mut self) -> u32 {
        std::mem::replace(&mut self.most, self.outstanding)
    }

    #[inline]
    fn note(&self, event: impl FnOnce() -> HostEvent) {
        if let Some(journal) = &self.journal {
            journal.push(event());
        }
    }

    /// Whole pages in this many sectors; of a sector's number, its page.
    #[inline]
    pub fn pages_in(&self, sectors: u64) -> u64 {
        match self.sector_bits {
            Some(bits) => sectors >> bits,
            None => sectors / u64::from(self.sectors_per_slot),
        }
    }

    /// As [`Self::pages_in`], a page begun counting as a page.
    #[inline]
    fn pages_begun_in(&self, sectors: u64) -> u64 {
        let whole = self.pages_in(sectors);
        whole + u64::from(whole * u64::from(self.sectors_per_slot) < sectors)
    }

    /// The logical pages that a command touches; of a discard, those that it covers wholly. `None` where the command
    /// reaches beyond the drive.
    #[inline]
    fn pages_of(&self, command: &HostCommand, kind: RequestKind) -> Option<Range<u32>> {
        let end = command.lba.0.checked_add(u64::from(command.sectors))?;
        let (first, end) = match kind {
            RequestKind::Discard => (self.pages_begun_in(command.lba.0), self.pages_in(end)),
            _ => (self.pages_in(command.lba.0), self.pages_begun_in(end)),
        };
        (end <= u64::from(self.user_slots)).then_some(first as u32..end.max(first) as u32)
    }

    /// The sectors of a page that a command writes.
    fn sectors_of(&self, command: &HostCommand, lpn: u32) -> Range<u32> {
        let per = u64::from(self.sectors_per_slot);
        let start = u64::from(lpn) * per;
        let from = command.lba.0.saturating_sub(start) as u32;
        from..(command.lba.0 + u64::from(command.sectors) - start).min(per) as u32
    }
}

/// Next step of a request that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Arrived {
    /// Nothing: it has failed.
    Failed,
    Read(Range<u32>),
    Write(Range<u32>),
    Flush,
    Discard,
}

impl<P: FlashPayload> Host<P> {
    /// A host command arrives now; it has waited since `sent`, where the drive was off line. Its job, which still
    /// has the part that stands for its being issued.
    #[inline(always)]
    pub fn arrive(&mut self, core: &mut Core<P>, command: &HostCommand, sent: SimTime) -> (JobId, Arrived) {
        self.requests.first_arrival.get_or_insert(sent);
        self.requests.last_arrival = sent;
        self.requests.outstanding += 1;
        self.requests.most = self.requests.most.max(self.requests.outstanding);
        let kind = match command.op {
            HostOp::Read => RequestKind::Read,
            HostOp::Write(_) => RequestKind::Write,
            HostOp::Flush => RequestKind::Flush,
            HostOp::Discard => RequestKind::Discard,
        };
        core.device.record(Fact::Arrived { kind });
        let id = core.jobs.take();
        core.job_begins(id, sent, command.lba, command.sectors);
        let job = &mut core.jobs[id];
        job.reset(Asker::Host, kind, sent);
        job.fua = command.op == HostOp::Write(Fua::Yes);
        let request = self.requests.arrived;
        (job.request, job.sectors) = (request, command.sectors);
        self.requests.arrived += 1;
        if let Some(flows) = &mut self.requests.flows {
            job.flow = self.requests.asking_flow;
            flows.arrives(job.flow);
            core.device.record(Fact::FlowArrived { flow: job.flow, kind, sectors: command.sectors, sent });
        }
        self.requests.note(|| HostEvent::Arrived { request });
        self.oracle.asking = request as u32;
        if let Some(client) = &mut self.client {
            client.arrived();
        }
        if self.requests.read_only_since.is_some() && matches!(kind, RequestKind::Write | RequestKind::Discard) {
            job.failed = true;
            core.device.record(Fact::Refused);
            return (id, Arrived::Failed);
        }
        if kind == RequestKind::Flush {
            job.versions = self.oracle.flush_sent();
            return (id, Arrived::Flush);
        }
        let Some(pages) = self.requests.pages_of(command, kind) else {
            job.failed = true;
            core.device.record(if kind == RequestKind::Read { Fact::MediaError } else { Fact::WriteError });
            return (id, Arrived::Failed);
        };
        if kind == RequestKind::Discard {
            job.range = (pages.start, pages.end);
            if let Some(client) = &mut self.client {
                client.discard_sent(request, pages);
            }
            return (id, Arrived::Discard);
        }
        core.device.record(Fact::Pages { kind, pages: pages.len() as u32 });
        (id, if kind == RequestKind::Read { Arrived::Read(pages) } else { Arrived::Write(pages) })
    }

    /// Splits a write into its pages, and puts it in order.
    #[inline(always)]
    pub fn write_pages(
        &mut self,
        core: &mut Core<P>,
        writer: &Writer<P>,
        job: JobId,
        pages: Range<u32>,
        command: &HostCommand,
    ) -> Next {
        if core.streams.is_some() {
            core.pages_sent_in(command, pages.clone());
        }
        // Segments of zones map whole stripe blocks.
        let touched =
            if writer.facts.has_segments { writer.touched(pages.clone(), self.requests.user_slots) } else { pages.clone() };
        for lpn in touched {
            if pages.contains(&lpn) {
                self.push_page(core, job, Lpn(lpn), self.requests.sectors_of(command, lpn));
            } else if self.is_stored_page(core, Lpn(lpn)) {
                self.push_page(core, job, Lpn(lpn), 0..0);
            }
        }
        self.enter(core, writer, job)
    }

    /// Adds a page to a write, with new contents in these sectors.
    fn push_page(&mut self, core: &mut Core<P>, job: JobId, lpn: Lpn, sectors: Range<u32>) {
        let version = if self.has_payload { self.oracle.sent(lpn) } else { 0 };
        self.oracle.whole &= sectors == (0..self.requests.sectors_per_slot);
        let (request, (from, to)) = (core.jobs[job].request, (sectors.start, sectors.end));
        let payload = match &mut self.client {
            Some(client) => client.page_sent(request, lpn, sectors.clone()),
            None => {
                let mut payload = self.made_up(lpn, version);
                payload.spoil_outside(from, to);
                payload
            }
        };
        if from < to {
            self.requests.note(|| HostEvent::Sent { request, lpn, version, sectors });
        }
        core.jobs[job].pages.push(PageWrite { lpn, version, payload, from, to, rank: 0 });
    }

    /// Payload that the host writes to a page, where no client brings it.
    #[inline]
    pub fn made_up(&self, lpn: Lpn, version: u32) -> P {
        if self.has_payload { P::stamp(lpn, version, self.requests.sectors_per_slot) } else { P::default() }
    }

    /// Whether a page has contents, so that it can be written along with the rest of its stripe block.
    pub fn is_stored_page(&self, core: &Core<P>, lpn: Lpn) -> bool {
        self.buffer.get(lpn).is_some() || core.map.lookup(lpn) != ftl::Place::Unmapped
    }

    /// Whether a page of a write is not to be written after all: it was to be written along with its stripe block,
    /// and was discarded before its turn came.
    pub fn is_void(&self, core: &Core<P>, page: &PageWrite<P>) -> bool {
        page.from == page.to && !self.is_stored_page(core, page.lpn)
    }

    /// One part of a job is done. Only of an eviction, or of code, does more than an answer follow: then there may be
    /// effects.
    #[inline]
    pub fn part_done(&mut self, core: &mut Core<P>, job: JobId) {
        let remaining = &mut core.jobs[job].remaining;
        *remaining -= 1;
        if *remaining == 0 {
            self.job_done(core, job);
        }
    }

    fn job_done(&mut self, core: &mut Core<P>, job: JobId) {
        let homeless = core.jobs[job].homeless;
        core.jobs[job].failed |= homeless;
        core.note_durable(job);
        match core.jobs[job].asker {
            Asker::NoOne => self.tell_oracle(core, job),
            Asker::Encoder { encode } => {
                let how = if core.jobs[job].failed { CodePage::GivenUp } else { CodePage::Written };
                core.out.send(Parcel::Zones(ZoneStep::CodePageOver { encode, how }));
            }
            Asker::Buffer => {
                core.job_is_in_flash(job);
                core.trail_of_eviction(job);
                self.evicted(core, job);
            }
            Asker::Host if core.device.timed && core.jobs[job].arrival == core.device.now && self.requests.latency.0 > 0 => {
                // Nothing but the controller was involved.
                return self.answer_after(core, job, self.requests.latency);
            }
            Asker::Host => {
                match core.jobs[job].kind {
                    RequestKind::Read => core.job_worked(job, Wait::Solving),
                    _ if self.buffer.is_off() => core.job_is_in_flash(job),
                    _ => core.job_worked(job, Wait::Buffer),
                }
                if core.device.timed && self.requests.front.is_some() {
                    return self.answer_after(core, job, Nanos(0));
                }
                self.answer(core, job);
            }
        }
        core.jobs.give(job);
    }

    /// The rest of the drive has done a job: it is answered after this latency, when firmware and link are done with it.
    fn answer_after(&mut self, core: &mut Core<P>, job: JobId, latency: Nanos) {
        let mut at = core.device.now + latency;
        if let Some(front) = &mut self.requests.front {
            let &Job { kind, sectors, .. } = &core.jobs[job];
            at = front.answer_at(at, kind, sectors);
        }
        // Nearly always the last: only reads and writes with different latencies overtake each other.
        let earlier = self.requests.answers.iter().rev().skip_while(|&&(other, _)| other > at).count();
        self.requests.answers.insert(earlier, (at, job));
        if earlier == 0 {
            core.schedule(Timer::Answers, at);
        }
    }

    /// The first of the answers on their way is due.
    pub fn answer_due(&mut self, core: &mut Core<P>) {
        core.clear(Timer::Answers);
        while let Some(&(at, job)) = self.requests.answers.front() {
            if at > core.device.now {
                core.schedule(Timer::Answers, at);
                return;
            }
            self.requests.answers.pop_front();
            core.job_waited(job, Wait::Controller);
            self.answer(core, job);
            core.jobs.give(job);
        }
    }

    #[inline(always)]
    fn answer(&mut self, core: &mut Core<P>, job: JobId) {
        let &Job { kind, arrival, request, failed, flow, .. } = &core.jobs[job];
        // A read changes nothing that later reads must return.
        if kind != RequestKind::Read {
            self.tell_oracle(core, job);
        }
        if self.client.is_some() {
            self.tell_client(&core.jobs[job], core.device.now);
        }
        self.requests.note(|| HostEvent::Answered { request, failed });
        self.requests.outstanding -= 1;
        self.requests.last_answer = core.device.now;
        let latency = core.device.now.since(arrival);
        core.device.record(Fact::Answered { kind, latency });
        if let Some(flows) = &mut self.requests.flows {
            flows.answers(flow);
            core.device.record(Fact::FlowAnswered { flow, kind, latency });
        }
        if let Some(ledger) = core.closed_ledger(job, arrival) {
            self.explain(&core.jobs[job], &ledger, core.device.now);
        }
    }

    /// A client hears of its request, and what was answered is what its reads must return from now on.
    #[cold]
    fn tell_client(&mut self, job: &Job<P>, now: SimTime) {
        let (Some(client), arrived) = (&mut self.client, self.requests.arrived) else { return };
        let (request, failed) = (job.request, job.failed);
        match job.kind {
            RequestKind::Flush if !failed => client.flushed(request, arrived),
            RequestKind::Read | RequestKind::Flush => {}
            RequestKind::Discard => {
                (job.range.0..job.range.1).for_each(|lpn| client.page_answered(request, Lpn(lpn), arrived, false));
            }
            RequestKind::Write => {
                for page in job.pages.iter().filter(|page| page.from < page.to) {
                    if failed {
                        client.shadow.write_failed(request, page.lpn, arrived, page.from..page.to);
                    }
                    client.page_answered(request, page.lpn, arrived, job.fua && !failed);
                }
            }
        }
        client.answered(request, job.kind == RequestKind::Read, failed, now, now.since(job.arrival));
        client.ended(request);
    }

    /// Tells the oracle the acknowledged writes: reads must return them from now on.
    fn tell_oracle(&mut self, core: &mut Core<P>, job: JobId) {
        let job = &core.jobs[job];
        if job.failed {
            if job.kind == RequestKind::Flush && self.requests.read_only_since.is_some() {
                core.device.record(Fact::Refused);
            }
            for page in &job.pages {
                core.device.record(Fact::WriteError);
                self.oracle.write_failed(page.lpn);
            }
            return;
        }
        if !job.versions.is_empty() && job.kind == RequestKind::Flush {
            self.oracle.flushed(&job.versions);
        }
        if !self.has_payload {
            return;
        }
        // A page that was only written along with its stripe block says nothing new.
        for page in job.pages.iter().filter(|page| page.from < page.to) {
            self.oracle.answered(page.lpn, page.version, page.from, page.to);
            if job.fua {
                self.oracle.forced(page.lpn, page.version);
            }
        }
    }

    /// There is no space for the rest of a job and there never will be.
    pub fn fail_job(&mut self, core: &mut Core<P>, job: JobId) {
        core.jobs[job].failed = true;
        core.job_waited(job, Wait::Space);
        if core.jobs[job].kind == RequestKind::Discard {
            let (first, end) = core.jobs[job].range;
            (first..end).for_each(|lpn| self.thaw(core, Lpn(lpn)));
        }
        self.leave(core, job);
    }
}
