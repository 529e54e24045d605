//! Requests on their way: from the host to the way of writing and back, or to the reads.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::engine::reads::reads;
use crate::host::Next;
use crate::host::requests::Arrived;
use crate::write::group_log::Placed;
use device::facts::RequestKind;
use device::slab::JobId;
use std::ops::Range;
use vocab::{HostCommand, Lpn, SimTime};

impl<P: FlashPayload> Engine<P> {
    /// A host command arrives now; it has waited since `sent`, where the drive was off line.
    pub(crate) fn arrive(&mut self, command: &HostCommand, sent: SimTime) {
        let works_while_host_does = self.care.scrub.every.is_some() || self.care.profiles.is_some();
        if works_while_host_does || self.writer.has_code_zones || self.core.has_lost_room() {
            self.before_arrival();
        }
        let (job, arrived) = self.host.arrive(&mut self.core, command, sent);
        match arrived {
            Arrived::Failed => {}
            Arrived::Read(pages) => self.read_pages(job, pages, command),
            Arrived::Write(pages) => {
                let next = self.host.write_pages(&mut self.core, &self.writer, job, pages, command);
                self.go_on(job, next);
            }
            Arrived::Discard => {
                let next = self.host.enter(&mut self.core, &self.writer, job);
                self.go_on(job, next);
            }
            Arrived::Flush => {
                self.host.flush(&mut self.core, job);
                self.hand_on();
                self.writer.flush(&mut self.core);
            }
        }
        self.hand_on();
        self.host.part_done(&mut self.core, job);
    }

    /// A request is about to arrive on a drive that lost room, or has code zones, a scrub or profiles to flush.
    #[inline(never)]
    fn before_arrival(&mut self) {
        // Where none of its dies works, only the host could bring room: a drive that is asked all the time would never notice otherwise.
        if self.core.has_lost_room() && self.core.device.is_idle() && self.has_waiting_for_space() {
            self.unstick();
        }
        self.writer.request_arrives(&mut self.core);
        self.care.start_scrub(&mut self.core);
        self.care.start_flush(&mut self.core);
    }

    fn read_pages(&mut self, job: JobId, pages: Range<u32>, command: &HostCommand) {
        if self.writer.has_code_zones {
            self.writer.note_read(&self.core, &pages);
            reads!(self.read_in_zones(job, pages, command));
        } else if self.reads.lazy.around.is_some() && self.core.device.timed {
            // Without time nothing is ever busy.
            self.read_around(job, pages.start, pages.end);
        } else {
            self.read_plainly(job, pages);
        }
    }

    /// Reads these pages and nothing else. A lost page is solved for before the next one is read.
    #[inline]
    fn read_plainly(&mut self, job: JobId, mut pages: Range<u32>) {
        while let Some(lost) = self.host.read_up_to_lost(&mut self.core, &self.writer, job, &mut pages) {
            self.repair(lost);
        }
    }

    /// Does what comes next for a job that was put in order.
    #[inline]
    fn go_on(&mut self, job: JobId, next: Next) {
        match next {
            Next::Place => self.place_or_wait(job),
            Next::Nothing => {}
        }
    }

    /// A job has its pages: those written in part are completed, from this one on, and it goes on.
    pub(in crate::engine) fn complete_pages_from(&mut self, job: JobId, page: usize) {
        let next = self.host.complete_pages_from(&mut self.core, &self.writer, job, page);
        self.go_on(job, next);
    }

    /// Hands a job to the log, behind what already waits for space.
    #[inline]
    pub(crate) fn place_or_wait(&mut self, job: JobId) {
        self.core.jobs[job].remaining += 1;
        if !self.host.stalled.is_empty() || !self.place(job) {
            self.host.stall(&mut self.core, job);
        }
    }

    /// Hands as much of the job to the log as it takes; true if that is all of it.
    pub(crate) fn place(&mut self, job: JobId) -> bool {
        let all = match self.core.jobs[job].kind {
            RequestKind::Discard => self.discard_pages(job),
            // Pages without room wait in their segments, and the job leaves when it has all.
            _ if self.writer.facts.has_segments => return self.place_in_zones(job),
            _ => self.place_pages(job),
        };
        if all {
            self.care.host_wrote = true;
            self.host.leave(&mut self.core, job);
        }
        all
    }

    /// Hands the job's pages to logs; false if it has to wait for space, or for room in the parity cache of groups.
    pub(crate) fn place_pages(&mut self, job: JobId) -> bool {
        let has_code = self.writer.has_code_zones;
        loop {
            if has_code && self.writer.makes_code_stale(&mut self.core, job) {
                for index in self.core.jobs[job].next..self.core.jobs[job].pages.len() {
                    self.contents_change(self.core.jobs[job].pages[index].lpn);
                }
            }
            let placed = self.writer.place(&mut self.core, job);
            if has_code {
                self.writer.note_code_places(&self.core, job);
            }
            self.hand_on();
            match placed {
                Placed::All => return true,
                Placed::Again => {}
                Placed::NoRoom => return false,
            }
        }
    }

    /// Carries out a discard; false if it has to wait.
    fn discard_pages(&mut self, job: JobId) -> bool {
        let (first, end) = self.core.jobs[job].range;
        if !self.writer.in_use(&self.core).may_discard(first..end) {
            return false;
        }
        let keeps = self.writer.facts.keeps_discarded;
        for lpn in (first..end).map(Lpn) {
            self.host.discard_page(&mut self.core, job, lpn);
            self.contents_change(lpn);
            self.core.safe.lost.remove(&lpn);
            self.core.safe.journal.discard(lpn, self.core.device.sequence);
            if !keeps && let Some(unit) = self.core.map.forget(lpn).pinned {
                self.core.release(unit);
                self.hand_on();
            }
        }
        if keeps {
            self.writer.discard(&mut self.core, job);
            self.hand_on();
        }
        true
    }
}
