//! Flows of code zones: pages of jobs go to their segments, and the off-line phase encodes group after group. Code zones may be over
//! rows or block groups: these write code as pages of a job.
//!
//! A write makes code stale *before* it takes a page. Reads that decoded with that code go on without it, some
//! of them end, and what waited for them may write. Where zones lie over rows or groups, each row of a job makes code stale again: the effects
//! delivered after the row before may have begun to encode pages that the rest of the job changes.

use crate::core::flash::FlashPayload;
use crate::core::jobs::Asker;
use crate::core::zone_step::{CodePage, ZoneStep};
use crate::engine::Engine;
use crate::engine::reads::reads;
use crate::write::zones::encode::Phase;
use crate::write::zones::over::drop_pages;
use crate::write::zones::seam::AfterStep;
use crate::write::zones::{NeverWritten, Waiting};
use device::slab::JobId;
use device::waits::Wait;
use ftl::Stream;
use vocab::Lpn;

impl<P: FlashPayload> Engine<P> {
    /// Takes a step of code zones.
    pub(crate) fn zone_step(&mut self, step: ZoneStep<P>) {
        match self.writer.zone_step(&mut self.core, step) {
            AfterStep::Nothing => {}
            AfterStep::EncodeMore => self.encode_more(),
            AfterStep::Write(code) => {
                self.hand_on();
                for (log, code) in code {
                    self.write_or_wait(log, code);
                }
            }
        }
    }

    /// The page gets other contents in the map, now.
    pub(crate) fn contents_change(&mut self, lpn: Lpn) {
        self.writer.contents_change(&mut self.core, lpn);
        self.hand_on();
    }

    /// Hands the job's pages to their segments. Those without room wait there, and no one behind them
    /// but writers of the same segment.
    pub(crate) fn place_in_zones(&mut self, job: JobId) -> bool {
        let pages = self.core.jobs[job].pages.len() as u32;
        self.core.jobs[job].unplaced = pages;
        for index in 0..pages {
            let lpn = self.core.jobs[job].pages[index as usize].lpn;
            let (log, die) = self.writer.segment_of(&self.core, lpn);
            if self.core.device.is_dead(die) {
                self.lose_homeless(job, index);
                self.core.jobs[job].unplaced -= 1;
                continue;
            }
            self.core.jobs[job].remaining += 1;
            if self.write_or_wait(log, Waiting::Page { job, index }) {
                self.core.jobs[job].unplaced -= 1;
            } else {
                self.host.hold_pages(&mut self.core, job);
            }
        }
        if self.core.jobs[job].unplaced == 0 {
            self.placed_in_zones(job);
        }
        true
    }

    /// The page's die is dead. What the buffer has answered for is lost; of what was never answered the
    /// old contents may still be had from code.
    fn lose_homeless(&mut self, job: JobId, index: u32) {
        (self.core.jobs[job].failed, self.core.jobs[job].homeless) = (true, true);
        if self.core.jobs[job].asker == Asker::Buffer {
            let lpn = self.core.jobs[job].pages[index as usize].lpn;
            self.contents_change(lpn);
            let rank = self.core.rank_for(job, index as usize);
            self.core.note_lost(lpn, rank);
            if let Some(unit) = self.core.map.publish_missing(lpn).pinned {
                self.core.release(unit);
                self.hand_on();
            }
        }
    }

    /// All pages of the job are in the map, or never will be.
    fn placed_in_zones(&mut self, job: JobId) {
        self.core.jobs[job].next = self.core.jobs[job].pages.len();
        self.host.let_pages_go(&mut self.core, job);
        self.hand_on();
        self.end_part(job);
    }

    fn one_placed(&mut self, job: JobId) {
        self.core.jobs[job].unplaced -= 1;
        if self.core.jobs[job].unplaced == 0 {
            self.placed_in_zones(job);
        }
    }

    /// Writes a page or code to its segment; false if that has no room, and then it waits for some. It waits in any case behind others.
    fn write_or_wait(&mut self, log: usize, write: Waiting) -> bool {
        let placed = !self.writer.is_segment_awaited(log) && self.write_in_segment(log, write);
        if !placed {
            self.writer.await_segment(log, write);
        }
        placed
    }

    /// Writes a page or code to its segment, or code to the way below; false if there is no room. A page that was discarded in the
    /// meantime is not written.
    fn write_in_segment(&mut self, log: usize, write: Waiting) -> bool {
        match write {
            Waiting::CodeJob { job } => {
                let all = self.place_pages(job);
                if all {
                    self.end_part(job);
                }
                return all;
            }
            Waiting::Page { job, index } => {
                let page = &self.core.jobs[job].pages[index as usize];
                let lpn = page.lpn;
                if self.host.was_discarded(&self.core, job, lpn) || self.host.is_void(&self.core, page) {
                    self.end_part(job);
                    return true;
                }
                if self.core.map.has_room(log, Stream::Host) {
                    self.contents_change(lpn);
                }
            }
            Waiting::Code { .. } => {}
        }
        let placed = self.writer.write_to_segment(&mut self.core, log, write);
        self.hand_on();
        placed
    }

    /// Tries again what waits for room in segments.
    pub(crate) fn retry_zones(&mut self) {
        for log in self.writer.awaited_segments() {
            while let Some(waiting) = self.writer.take_first_of_segment(log) {
                if let Waiting::Page { job, .. } = waiting {
                    self.core.job_waited(job, Wait::Space);
                }
                if !self.write_in_segment(log, waiting) {
                    self.writer.await_segment_first(log, waiting);
                    break;
                }
                if let Waiting::Page { job, .. } = waiting {
                    self.one_placed(job);
                }
            }
        }
    }

    /// There is no room for what waits first and there never will be. True if anything waited.
    pub(crate) fn fail_waiting_in_zones(&mut self) -> bool {
        let Some((log, first)) = self.writer.first_in_segments() else { return false };
        if let Waiting::Page { job, .. } = first
            && self.core.jobs[job].asker == Asker::Buffer
        {
            // Whoever waits for the room in the buffer that this was to make will not get it either.
            self.host.fail_buffer_waiter(&mut self.core);
            self.hand_on();
        }
        let first = self.writer.take_first_of_segment(log).expect("it waits there");
        self.fail_waiting(first, NeverWritten::NoRoom);
        true
    }

    /// The die of a log is dead: nothing that waits for it will be written.
    pub(crate) fn fail_waiting_of(&mut self, log: usize) {
        while let Some(waiting) = self.writer.take_first_of_segment(log) {
            self.fail_waiting(waiting, NeverWritten::DeadDie);
        }
    }

    fn fail_waiting(&mut self, waiting: Waiting, why: NeverWritten) {
        match waiting {
            Waiting::Page { job, index } => {
                self.core.jobs[job].failed = true;
                self.core.job_waited(job, Wait::Space);
                if why == NeverWritten::DeadDie {
                    self.lose_homeless(job, index);
                    self.one_placed(job);
                } else if self.core.jobs[job].asker == Asker::Buffer {
                    // The buffer learns that its page was not placed.
                    self.host.let_pages_go(&mut self.core, job);
                    self.hand_on();
                    self.end_part(job);
                } else {
                    self.one_placed(job);
                }
                self.end_part(job);
            }
            Waiting::CodeJob { job } => {
                drop_pages(&mut self.core, job);
                self.end_part(job);
            }
            Waiting::Code { encode, .. } => {
                self.zone_step(ZoneStep::CodePageOver { encode, how: CodePage::GivenUp });
                self.hand_on();
            }
        }
    }

    /// A part of a job is done, and what follows from that.
    fn end_part(&mut self, job: JobId) {
        self.host.part_done(&mut self.core, job);
        self.hand_on();
    }

    /// Goes off line on command, between two runs: no host waits, so it takes no time.
    pub(crate) fn go_off_line(&mut self) {
        assert!(
            self.core.device.is_idle() && self.host.requests.outstanding == 0,
            "a drive goes off line on command between runs"
        );
        self.begin_offline(Phase::Free);
    }

    /// Begins an off-line phase, on a drive of code zones: these go to the zones read most, and what is stale then is encoded.
    pub(crate) fn begin_offline(&mut self, phase: Phase) {
        let Some(garbage) = self.writer.choose_zones() else { return };
        reads!(self.drop_stale_code());
        self.writer.begin_phase(&mut self.core, garbage);
        self.hand_on();
        match phase {
            Phase::Charged => {
                self.encode_more();
                self.kick();
            }
            Phase::Free => self.encode_without_time(),
        }
    }

    /// Encodes everything at once, off the clock.
    fn encode_without_time(&mut self) {
        let folds = &self.core.device.folds;
        let (busy, carried, moved) = (folds.busy, folds.carried, folds.moved.clone());
        self.core.device.timed = false;
        self.encode_more();
        self.settle();
        // Code in rows that wait for company gets its parity: no one else will come.
        while self.writer.cover_open(&mut self.core) {
            self.settle();
        }
        self.core.device.timed = true;
        let folds = &mut self.core.device.folds;
        (folds.busy, folds.carried, folds.moved) = (busy, carried, moved);
    }

    /// Starts to encode further groups, as many as may be under way.
    fn encode_more(&mut self) {
        if self.writer.begin_encoding() {
            while self.writer.encode_next(&mut self.core) {
                self.hand_on();
            }
        }
    }
}
