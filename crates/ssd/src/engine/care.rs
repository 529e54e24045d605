//! Wrappers for what other components ask of `care`.

use crate::care::limits;
use crate::care::refresh::EccBefore;
use crate::config::Setup;
use crate::config::SetupError;
use crate::core::Command;
use crate::core::flash::FlashPayload;
use crate::core::timer::Timer;
use crate::engine::Engine;
use nand::ProgramOutcome;
use vocab::{BlockAddr, Cause, Nanos, Ppn, SimTime, Streams};

impl<P: FlashPayload> Engine<P> {
    pub(crate) fn collectors_at(&self, cause: Cause) -> usize {
        self.care.collectors_at(&self.core, cause)
    }

    pub(crate) fn is_wanted(&self, log: usize) -> bool {
        self.care.is_wanted(&self.core, log)
    }

    pub(crate) fn rebuild_time(&self) -> Option<Nanos> {
        self.care.rebuild_time(&self.core)
    }

    pub(crate) fn rebuild_left(&self) -> u64 {
        self.care.rebuild_left(&self.core)
    }

    pub(crate) fn stop_rebuild(&mut self) {
        self.care.stop_rebuild();
    }

    pub(crate) fn decoder(&self, channel: usize) -> usize {
        Timer::Decoder(channel as u32).index(&self.core.device.grid)
    }

    pub(crate) fn start_scrub(&mut self) {
        self.care.start_scrub(&mut self.core);
    }

    pub(crate) fn scrub_due(&mut self) {
        let host = self.host_is();
        self.care.scrub_due(&mut self.core, host);
    }

    #[inline]
    pub(crate) fn start_flush(&mut self) {
        self.care.start_flush(&mut self.core);
    }

    pub(crate) fn flush_due(&mut self) {
        let host = self.host_is();
        self.care.flush_due(&mut self.core, host);
    }

    #[cold]
    pub(crate) fn reserved_done(&mut self, command: &Command, outcome: ProgramOutcome) {
        self.care.reserved_done(&mut self.core, command, outcome);
    }

    pub(crate) fn start_limits(&mut self, setup: &Setup) {
        limits::start(&mut self.core, &self.writer, setup.drive.endurance);
    }

    pub(crate) fn assume_read_often(&mut self) {
        limits::assume_read_often(&mut self.core);
    }

    pub(crate) fn note_first_program(&mut self, block: BlockAddr) {
        limits::note_first_program(&mut self.core, block);
    }

    pub(crate) fn start_ecc(&mut self, setup: &Setup, streams: &Streams) -> Result<(), SetupError> {
        let started = self.care.start_ecc(&mut self.core, self.writer.way, setup, streams);
        started.map_err(|error| SetupError::new(error.to_string()))
    }

    pub(crate) fn resume_ecc(&mut self, before: Option<&mut Self>, setup: &Setup, streams: &Streams) {
        let before = before.map(|before| EccBefore { ecc: before.core.device.ecc.take(), refresh: &before.care.refresh });
        self.care.resume_ecc(&mut self.core, self.writer.way, before, setup, streams);
    }

    #[inline]
    pub(crate) fn note_programmed(&mut self, ppn: Ppn) {
        self.care.note_programmed(&mut self.core, ppn);
    }

    #[inline]
    pub(crate) fn note_read(&mut self, ppn: Ppn) {
        self.care.note_read(&mut self.core, ppn);
    }

    pub(crate) fn refresh_at(&mut self, block: BlockAddr, at: SimTime) {
        self.care.refresh_at(&self.core, block, at);
    }

    pub(crate) fn note_refreshed(&mut self, block: BlockAddr) {
        self.care.note_refreshed(&self.core, block);
    }
}
