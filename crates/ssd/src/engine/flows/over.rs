//! Flows of code zones over rows or block groups: what these do before and after they give pages their places.
//!
//! A write makes code stale *before* it takes a page, as under code zones alone: effects that are handed on between two
//! rows may begin to encode what the rest of the job is about to change.

use crate::core::flash::FlashPayload;
use crate::core::ids::EncodeId;
use crate::core::jobs::Asker;
use crate::engine::Engine;
use crate::write::zones::Waiting;
use crate::write::zones::over::drop_pages;
use device::slab::JobId;

/// Writes that wait for room in a group log wait for its only log.
const THE_LOG: usize = 0;

impl<P: FlashPayload> Engine<P> {
    /// The next pages of a job are about to get places.
    #[inline]
    pub(crate) fn before_placing(&mut self, job: JobId) {
        if self.writer.zones.is_some() {
            self.before_placing_below_code(job);
        }
    }

    fn before_placing_below_code(&mut self, job: JobId) {
        if let Asker::Encoder { encode } = self.core.jobs[job].asker {
            let zones = self.writer.zones.as_ref().expect("code is written");
            zones.drop_stale_pages(&mut self.core, job, encode);
            return;
        }
        for index in self.core.jobs[job].next..self.core.jobs[job].pages.len() {
            let lpn = self.core.jobs[job].pages[index].lpn;
            self.contents_change(lpn);
        }
    }

    /// Pages of a job have got places, and nothing has been handed on since.
    #[inline]
    pub(crate) fn after_placing(&mut self, job: JobId) {
        if let (Some(zones), Asker::Encoder { encode }) = (&mut self.writer.zones, self.core.jobs[job].asker) {
            zones.note_code_places(&self.core, job, encode);
        }
    }

    /// The code of a group is computed: it is written, or waits for room.
    pub(crate) fn write_code_below(&mut self, encode: EncodeId) {
        let zones = self.writer.zones_mut();
        let job = zones.code_job(&mut self.core, encode);
        if zones.has_waiting_for(THE_LOG) || !self.place_code(job) {
            self.writer.zones_mut().wait(THE_LOG, Waiting::CodeJob { job });
        }
    }

    /// Writes code as pages of the host are written; false if it has to wait for room.
    pub(crate) fn place_code(&mut self, job: JobId) -> bool {
        let all = self.place_pages(job);
        if all {
            self.host.part_done(&mut self.core, job);
            self.hand_on();
        }
        all
    }

    /// There is no room for the rest of the code and there never will be.
    pub(crate) fn give_up_code(&mut self, job: JobId) {
        drop_pages(&mut self.core, job);
        self.host.part_done(&mut self.core, job);
        self.hand_on();
    }
}
