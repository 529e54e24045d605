//! The host's handlers under their old names, for components that still call each other through the engine.

use crate::core::Command;
use crate::core::flash::FlashPayload;
use crate::core::jobs::PageWrite;
use crate::core::target::Floor;
use crate::core::timer::Timer;
use crate::engine::Engine;
use crate::host::read::PageRead;
use device::slab::{CommandId, JobId};
use nand::ReadOutcome;
use vocab::{Lpn, Slot};

impl<P: FlashPayload> Engine<P> {
    #[inline]
    pub(crate) fn part_done(&mut self, job: JobId) {
        self.host.part_done(&mut self.core, job);
        self.hand_on();
    }

    pub(crate) fn let_pages_go(&mut self, job: JobId) {
        self.host.let_pages_go(&mut self.core, job);
        self.hand_on();
    }

    pub(crate) fn hold_pages(&mut self, job: JobId) {
        self.host.hold_pages(&mut self.core, job);
    }

    pub(crate) fn fail_job(&mut self, job: JobId) {
        self.host.fail_job(&mut self.core, job);
        self.hand_on();
    }

    /// Reads the page and those after it that the same flash read gives; how many that were.
    pub(crate) fn read_from(&mut self, job: JobId, lpn: Lpn, most: u32) -> u32 {
        match self.host.read_from(&mut self.core, &self.writer, job, lpn, most) {
            PageRead::Begun(count) => count,
            PageRead::Lost(target) => {
                self.repair(target);
                1
            }
        }
    }

    pub(crate) fn run_of(&self, lpn: Lpn, slot: Slot, most: u32) -> u32 {
        self.host.run_of(&self.core, lpn, slot, most)
    }

    #[inline]
    pub(crate) fn host_read_done(&mut self, id: CommandId, command: &Command, job: JobId, outcome: ReadOutcome) {
        self.host.host_read_done(&mut self.core, id, command, job, outcome);
        self.hand_on();
    }

    /// A page of flash, or what its codeword gave, goes to the host.
    pub(crate) fn check_read(&mut self, lpn: Lpn, floor: Floor, found: Option<&P>) {
        if found.is_some() {
            self.core.safe.journal.read(lpn);
        }
        self.host.check_read(&mut self.core, lpn, floor, found);
    }

    pub(crate) fn merge_read_done(&mut self, command: &Command, job: JobId, page: usize, outcome: ReadOutcome) {
        self.host.merge_read_done(&mut self.core, &self.writer, command, (job, page), outcome);
        self.hand_on();
    }

    pub(crate) fn merge_done(&mut self, job: JobId, page: usize, old: Option<&P>) {
        self.host.merge_done(&mut self.core, &self.writer, (job, page), old);
        self.hand_on();
    }

    pub(crate) fn was_discarded(&self, job: JobId, lpn: Lpn) -> bool {
        self.host.was_discarded(&self.core, job, lpn)
    }

    pub(crate) fn drop_discarded(&mut self, job: JobId) {
        self.host.drop_discarded(&mut self.core, job);
    }

    pub(crate) fn retry_buffer(&mut self) {
        self.host.retry_buffer(&mut self.core, &self.writer);
        self.hand_on();
    }

    pub(crate) fn has_waiting_for_buffer(&self) -> bool {
        self.host.has_waiting_for_buffer()
    }

    pub(crate) fn fail_buffer_waiter(&mut self) {
        self.host.fail_buffer_waiter(&mut self.core);
        self.hand_on();
    }

    pub(crate) fn is_void(&self, page: &PageWrite<P>) -> bool {
        self.host.is_void(&self.core, page)
    }

    /// Whether a host command waits for its time.
    pub(crate) fn more_arrives(&self) -> bool {
        self.core.more_arrives()
    }

    /// The timer of off-line phases.
    pub(crate) fn offline_timer(&self) -> usize {
        self.core.timer(Timer::OffLine)
    }
}
