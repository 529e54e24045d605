//! Pages of region logs: what happens between placing a page, its program, and its loss.

use crate::config::BufferKind;
use crate::core::data_of;
use crate::core::flash::FlashPayload;
use crate::core::jobs::Asker;
use crate::core::owner::Holds;
use crate::engine::Engine;
use device::image::{Contents, Image};
use device::slab::{ImageId, JobId};
use ftl::{LogKind, Place};
use nand::{OobTag, PageRole, ProgramOutcome};
use vocab::{Lpn, Slot};

impl<P: FlashPayload> Engine<P> {
    /// No log has room: every log that is short of space is to be collected.
    pub(crate) fn collect_on_all_dies(&mut self) {
        (0..self.core.device.dies().len()).for_each(|log| self.start_collecting_if_short(log));
    }

    /// Moves a page, read or repaired, to the collector's write pointer of the region log. `from` is
    /// where the page lies.
    pub(crate) fn move_in_region(&mut self, log: usize, contents: Contents<P>, from: Slot) {
        if let Some(contents) = self.writer.move_in_region(&mut self.core, log, contents, from) {
            // A block that went bad, or several cuts in a row, may have used up what was reserved.
            assert!(self.core.grown_bad > 0 || self.core.is_mountable(), "the collector's reserve holds a victim");
            self.move_without_reserve(log, contents);
        }
    }

    /// A page of a region log is programmed (or lost with its die).
    #[inline(always)]
    pub(crate) fn page_done(&mut self, image: ImageId, log: usize, holds: Holds, outcome: ProgramOutcome) {
        let Image { ppn, filled, .. } = self.core.device.images.slab[image];
        for index in 0..filled {
            let (tag, job, mut pin) = self.core.device.images.slot(image, index);
            let slot = self.core.device.grid.slot(ppn, index);
            let update = self.core.device.images.updates(image)[index as usize];
            if !outcome.is_done() && !self.take_back(tag, update, slot, pin) {
                if pin.is_some() || !self.unmap_again(tag, slot, job) {
                    self.lose_program(image, index, holds);
                }
                pin = self.writer.keep_for_newer(&mut self.core, tag, update, slot, pin).or(pin);
            }
            if let Some(pin) = pin {
                self.release(pin);
            }
            if let Some(job) = job {
                self.core.jobs[job].failed |= !outcome.is_done();
                self.host.part_done(&mut self.core, job);
                self.hand_on();
            }
        }
        if holds == Holds::MovedData {
            self.core.moving[log].under_way -= 1;
            self.collect(log);
        }
    }

    /// The page was not written before, or was discarded, as the journal says, and this write of the host fails: the page is
    /// unmapped again. What was lost before, and what a buffer has answered for, is lost instead. True if it was unmapped.
    fn unmap_again(&mut self, tag: OobTag, failed: Slot, job: Option<JobId>) -> bool {
        let fails_for_host = job.is_some_and(|job| self.core.jobs[job].asker == Asker::Host) && self.core.is_mountable();
        let had_nothing = |lpn: &Lpn| self.core.map.lookup(*lpn) == Place::At(failed) && self.core.safe.journal.rank(*lpn) == 0;
        let Some(lpn) = data_of(tag).filter(|lpn| fails_for_host && had_nothing(lpn)) else { return false };
        self.contents_change(lpn);
        if let Some(unit) = self.core.map.forget(lpn).pinned {
            self.release(unit);
        }
        true
    }

    /// A slot of a program that failed did not get its contents, and no one has them any more.
    pub(crate) fn lose_program(&mut self, image: ImageId, index: u32, holds: Holds) {
        let (ppn, tag) = (self.core.device.images.slab[image].ppn, self.core.device.images.slot(image, index).0);
        if let (Holds::MovedData, Some(lpn)) = (holds, data_of(tag)) {
            let rank = self.core.device.images.updates(image)[index as usize];
            if !self.may_go_back(lpn, rank) {
                self.core.note_lost(lpn, rank);
            }
        }
        self.lose(tag, self.core.device.grid.slot(ppn, index));
    }

    /// Whether the update that brought contents of this rank is still under way and the host was not answered for it: its parity may
    /// still come, and if the power goes before that, the contents before are what the host is to read.
    fn may_go_back(&self, lpn: Lpn, rank: u64) -> bool {
        self.host.buffer.kind() != BufferKind::Plp
            && !self.core.safe.journal.was_durable(lpn, rank)
            && self.writer.is_being_programmed(lpn)
    }

    /// The slot did not get its contents: if it is still current, only a stripe has them now.
    pub(crate) fn lose(&mut self, tag: OobTag, slot: Slot) {
        // Rows and groups keep no map of their parities.
        let is_mapped = self.core.map.kind() == LogKind::Regions || matches!(tag.role(), PageRole::Data(_));
        if !is_mapped || self.core.place_of(tag.role()) != Place::At(slot) {
            return;
        }
        if let Some(unit) = self.writer.leave_place(&mut self.core, tag.role()) {
            self.release(unit);
            self.strip_lost(tag);
        }
    }

    /// Takes back a pin. The unit is erased if it only waited for that.
    #[inline]
    pub(crate) fn release(&mut self, unit: u32) {
        if self.core.map.release(unit) {
            self.collect(self.core.map.log_of(unit));
        }
    }
}
