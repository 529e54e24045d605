//! Flows of code zones: pages of jobs go to their segments, and the off-line phase encodes group after group.
//!
//! A write makes code stale *before* it takes a page. Reads that decoded with that code go on without it, some
//! of them end, and what waited for them may write.

use crate::core::flash::FlashPayload;
use crate::core::ids::EncodeId;
use crate::core::jobs::Asker;
use crate::core::timer::Timer;
use crate::core::zone_step::{CodePage, ZoneStep};
use crate::engine::Engine;
use crate::engine::reads::reads;
use crate::write::zones::encode::Idle;
use crate::write::zones::{NeverWritten, Waiting, forget_code_page};
use device::slab::JobId;
use device::waits::Wait;
use ftl::Stream;
use vocab::Lpn;

impl<P: FlashPayload> Engine<P> {
    /// Goes on with a step of code zones.
    pub(crate) fn zone_step(&mut self, step: ZoneStep<P>) {
        let zones = self.writer.zones_mut();
        match step {
            ZoneStep::ForgetCode { stamp } => zones.forget_code(&mut self.core, stamp),
            ZoneStep::ForgetCodePage { lpn, only_at } => forget_code_page(&mut self.core, lpn, only_at),
            ZoneStep::LoseCodePage { lpn } => zones.lose_code_page(&mut self.core, lpn),
            ZoneStep::CodePageOver { encode, how } => zones.code_page_over(&mut self.core, encode, how),
            ZoneStep::CodeSummed { encode, sums } => self.code_summed(encode, sums),
            ZoneStep::EncodeMore => self.encode_more(),
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
            let (log, die) = self.writer.zones().segment_of(&self.core, lpn);
            if self.core.device.is_dead(die) {
                self.lose_homeless(job, index);
                self.core.jobs[job].unplaced -= 1;
                continue;
            }
            self.core.jobs[job].remaining += 1;
            if self.writer.zones().has_waiting_for(log) || !self.write_in_zone(job, index, log) {
                self.host.hold_pages(&mut self.core, job);
                self.writer.zones_mut().wait(log, Waiting::Page { job, index });
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
        self.host.part_done(&mut self.core, job);
        self.hand_on();
    }

    fn one_placed(&mut self, job: JobId) {
        self.core.jobs[job].unplaced -= 1;
        if self.core.jobs[job].unplaced == 0 {
            self.placed_in_zones(job);
        }
    }

    /// Writes a page to its segment, if that has room. A page that was discarded in the meantime is not written.
    fn write_in_zone(&mut self, job: JobId, index: u32, log: usize) -> bool {
        let page = &self.core.jobs[job].pages[index as usize];
        let lpn = page.lpn;
        if self.host.was_discarded(&self.core, job, lpn) || self.host.is_void(&self.core, page) {
            self.host.part_done(&mut self.core, job);
            self.hand_on();
            return true;
        }
        if self.core.map.has_room(log, Stream::Host) {
            self.contents_change(lpn);
        }
        let zones = self.writer.zones_mut();
        let placed = zones.write_page(&mut self.core, job, index, log);
        self.hand_on();
        placed
    }

    /// Writes a code page, if its segment has room.
    fn write_code(&mut self, encode: EncodeId, which: u32, log: usize) -> bool {
        let zones = self.writer.zones_mut();
        let placed = zones.write_code(&mut self.core, encode, which, log);
        self.hand_on();
        placed
    }

    /// Tries again what waits for room in segments.
    pub(crate) fn retry_zones(&mut self) {
        let Some(zones) = &self.writer.zones else { return };
        for log in zones.logs_waited_for() {
            while let Some(waiting) = self.writer.zones_mut().take_waiting(log) {
                let placed = match waiting {
                    Waiting::Page { job, index } => {
                        self.core.job_waited(job, Wait::Space);
                        self.write_in_zone(job, index, log)
                    }
                    Waiting::Code { encode, which } => self.write_code(encode, which, log),
                    Waiting::CodeJob { job } => self.place_code(job),
                };
                if !placed {
                    self.writer.zones_mut().wait_first(log, waiting);
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
        let Some((log, first)) = self.writer.zones.as_ref().and_then(|zones| zones.first_waiting()) else { return false };
        if let Waiting::Page { job, .. } = first
            && self.core.jobs[job].asker == Asker::Buffer
        {
            // Whoever waits for the room in the buffer that this was to make will not get it either.
            self.host.fail_buffer_waiter(&mut self.core);
            self.hand_on();
        }
        self.fail_first_waiting(log, NeverWritten::NoRoom);
        true
    }

    /// The die of a log is dead: nothing that waits for it will be written.
    pub(crate) fn fail_waiting_of(&mut self, log: usize) {
        while self.writer.zones.as_ref().is_some_and(|zones| zones.has_waiting_for(log)) {
            self.fail_first_waiting(log, NeverWritten::DeadDie);
        }
    }

    fn fail_first_waiting(&mut self, log: usize, why: NeverWritten) {
        match self.writer.zones_mut().take_waiting(log).expect("something waits") {
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
                    self.host.part_done(&mut self.core, job);
                    self.hand_on();
                } else {
                    self.one_placed(job);
                }
                self.host.part_done(&mut self.core, job);
                self.hand_on();
            }
            Waiting::CodeJob { job } => self.give_up_code(job),
            Waiting::Code { encode, .. } => {
                let zones = self.writer.zones_mut();
                zones.code_page_over(&mut self.core, encode, CodePage::GivenUp);
                self.hand_on();
            }
        }
    }

    /// Whether the drive takes no requests now.
    #[inline]
    pub(crate) fn is_off_line(&self) -> bool {
        self.power.mounting.is_some() || self.writer.is_off_line()
    }

    /// Begins a phase that is due, once the host and, where it is to take no time, all dies are idle; or
    /// waits for one.
    pub(crate) fn go_off_line_if_idle(&mut self) {
        if self.host.requests.outstanding > 0 {
            return;
        }
        let is_idle = self.core.device.is_idle();
        match self.writer.zones_mut().encoder.idle(is_idle) {
            Idle::Begin => self.begin_offline(),
            Idle::WaitFor(after) if self.core.more_arrives() && !self.core.is_pending(Timer::OffLine) => {
                let at = self.core.device.now + after;
                self.core.schedule(Timer::OffLine, at);
            }
            Idle::WaitFor(_) | Idle::Nothing => {}
        }
    }

    /// Goes off line on command, between two runs: no host waits, so it takes no time.
    pub(crate) fn go_off_line(&mut self) {
        assert!(
            self.core.device.is_idle() && self.host.requests.outstanding == 0,
            "a drive goes off line on command between runs"
        );
        if self.writer.zones.is_some() {
            self.choose_zones();
            self.encode_without_time();
        }
    }

    fn begin_offline(&mut self) {
        self.choose_zones();
        if self.writer.zones().encoder.is_charged() {
            self.encode_more();
            self.kick();
        } else {
            self.encode_without_time();
        }
    }

    /// Gives code zones to the zones read most; what is stale then may be encoded.
    fn choose_zones(&mut self) {
        let garbage = self.writer.zones_mut().choose_zones();
        reads!(self.drop_stale_code());
        self.writer.zones_mut().begin_phase(&mut self.core, garbage);
        self.hand_on();
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
    pub(crate) fn encode_more(&mut self) {
        if !self.writer.zones_mut().encoder.begin_starting() {
            return;
        }
        while self.writer.encode_next(&mut self.core) {
            self.hand_on();
        }
        self.writer.zones_mut().end_starting(&mut self.core);
    }

    /// The code pages of a group are computed, or some of its data cannot be read: writes them, as far as there
    /// is room.
    pub(crate) fn code_summed(&mut self, encode: EncodeId, sums: Option<Vec<P>>) {
        let zones = self.writer.zones_mut();
        let pages = zones.code_summed(&mut self.core, encode, sums);
        self.hand_on();
        if self.writer.zones().is_over() {
            if pages > 0 {
                self.write_code_below(encode);
            }
            return;
        }
        for which in 0..pages {
            let log = self.writer.zones().log_of_code(&self.core, encode, which);
            if self.writer.zones().has_waiting_for(log) || !self.write_code(encode, which, log) {
                self.writer.zones_mut().wait(log, Waiting::Code { encode, which });
            }
        }
    }
}
