//! The host's side of a tiny drive alone: the test is the way of writing, and says when jobs are placed.

use crate::config::BufferKind;
use crate::core::effects::{Effect, Parcel, Popped};
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::core::testing::{TinyCore, tiny_core_of, tiny_scheme, tiny_setup};
use crate::host::requests::Journal;
use crate::host::requests::{Arrived, HostEvent};
use crate::host::{Host, Next};
use crate::write::Writer;
use device::slab::JobId;
use std::ops::Range;
use vocab::{Fua, HostCommand, HostOp, Lba, SimTime, StreamId};

/// Sectors of a logical page.
pub(crate) const SECTORS: u32 = 8;

/// The host's side of a tiny drive, and what it asked of others.
pub(crate) struct HostAlone<P: FlashPayload> {
    pub core: TinyCore<P>,
    pub writer: Writer<P>,
    pub host: Host<P>,
    /// Jobs that were handed to the way of writing, in order.
    pub placing: Vec<JobId>,
    /// Targets to solve for, in order.
    pub solving: Vec<Target>,
}

impl<P: FlashPayload> HostAlone<P> {
    pub fn new(scheme: &str, buffer: BufferKind) -> Self {
        let setup = tiny_setup(scheme, buffer);
        let protection = tiny_scheme(&setup);
        let mut core = tiny_core_of(&setup);
        // Answers come at once.
        core.device.timed = false;
        let mut host = Host::new(&setup, &protection);
        host.requests.journal = Some(Journal::default());
        let writer = Writer::new(&setup, protection, &core.device.grid, core.map.logs()).expect("a tiny drive has room");
        Self { core, writer, host, placing: Vec::new(), solving: Vec::new() }
    }

    /// Lets a command arrive; its job.
    pub fn arrive(&mut self, op: HostOp, sectors: Range<u32>) -> JobId {
        let command = HostCommand {
            at: SimTime(0),
            op,
            lba: Lba(u64::from(sectors.start)),
            sectors: sectors.end - sectors.start,
            stream: StreamId::default(),
        };
        let (job, arrived) = self.host.arrive(&mut self.core, &command, SimTime(0));
        let next = match arrived {
            Arrived::Write(pages) => self.host.write_pages(&mut self.core, &self.writer, job, pages, &command),
            Arrived::Discard => self.host.enter(&mut self.core, &self.writer, job),
            Arrived::Flush => {
                self.host.flush(&mut self.core, job);
                Next::Nothing
            }
            Arrived::Failed | Arrived::Read(_) => Next::Nothing,
        };
        self.go_on(job, next);
        self.hand_on();
        self.host.part_done(&mut self.core, job);
        job
    }

    /// Writes whole pages.
    pub fn write(&mut self, pages: Range<u32>) -> JobId {
        self.arrive(HostOp::Write(Fua::No), pages.start * SECTORS..pages.end * SECTORS)
    }

    /// Writes whole pages, each by a request of its own.
    pub fn write_each(&mut self, pages: Range<u32>) {
        for lpn in pages {
            self.write(lpn..lpn + 1);
        }
    }

    /// Discards whole pages.
    pub fn discard(&mut self, pages: Range<u32>) -> JobId {
        self.arrive(HostOp::Discard, pages.start * SECTORS..pages.end * SECTORS)
    }

    pub fn flush(&mut self) -> JobId {
        self.arrive(HostOp::Flush, 0..0)
    }

    /// The way of writing has given all pages of the job a place, and they are durable.
    pub fn land(&mut self, job: JobId) {
        let at = self.placing.iter().position(|&placing| placing == job).expect("a job that is being placed");
        self.placing.remove(at);
        self.core.jobs[job].next = self.core.jobs[job].pages.len();
        self.host.leave(&mut self.core, job);
        self.hand_on();
    }

    /// The way of writing has no room for the job.
    pub fn fail(&mut self, job: JobId) {
        self.placing.retain(|&placing| placing != job);
        self.host.fail_job(&mut self.core, job);
        self.hand_on();
    }

    /// Logical pages of a job.
    pub fn lpns(&self, job: JobId) -> Vec<u32> {
        self.core.jobs[job].lpns().collect()
    }

    /// Logical pages of every job that is being placed.
    pub fn placing_lpns(&self) -> Vec<Vec<u32>> {
        self.placing.iter().map(|&job| self.lpns(job)).collect()
    }

    /// Numbers of the requests that were answered so far, in order, and whether they failed.
    pub fn answered(&self) -> Vec<(u64, bool)> {
        let journal = self.host.requests.journal.as_ref().expect("kept from the start").events();
        let answered = |event: &HostEvent| match event {
            HostEvent::Answered { request, failed } => Some((*request, *failed)),
            _ => None,
        };
        journal.iter().filter_map(answered).collect()
    }

    /// Takes the effects as the engine does; what is not the host's is kept.
    pub fn hand_on(&mut self) {
        while let Some(effect) = self.core.out.pop() {
            let floor = self.core.out.raise();
            self.apply(effect);
            self.hand_on();
            self.core.out.lower(floor);
        }
    }

    fn go_on(&mut self, job: JobId, next: Next) {
        if next == Next::Place {
            self.core.jobs[job].remaining += 1;
            self.host.hold_pages(&mut self.core, job);
            self.placing.push(job);
        }
    }

    fn apply(&mut self, effect: Popped<P>) {
        let Self { core, writer, host, .. } = self;
        match effect {
            Popped::Effect(Effect::PartDone { job }) => host.part_done(core, job),
            Popped::Effect(Effect::LetPagesGo { job }) => host.let_pages_go(core, job),
            Popped::Effect(Effect::LetPagesGoFrom { job, page }) => host.let_pages_go_from(core, job, page),
            Popped::Effect(Effect::CompleteFrom { job, page }) => {
                let next = host.complete_pages_from(core, writer, job, page as usize);
                self.go_on(job, next);
            }
            Popped::Effect(Effect::Place { job }) => self.go_on(job, Next::Place),
            Popped::Effect(Effect::EvictDownTo { dirty }) => host.evict_down_to(core, writer, dirty as usize),
            Popped::Effect(Effect::EvictIfDirty { lpn }) => host.evict_if_dirty(core, writer, lpn),
            Popped::Parcel(Parcel::AwaitDurable { job, pages }) => host.await_durable(core, writer, job, pages),
            Popped::Effect(Effect::MakeRoom) => host.make_room(core, writer),
            Popped::Effect(Effect::RetryBuffer) => host.retry_buffer(core, writer),
            Popped::Parcel(Parcel::Solve { target }) => self.solving.push(target),
            effect => unreachable!("{effect:?} is not the host's"),
        }
    }
}
