//! Wrappers for what other components ask of `write::pages`.

use crate::engine::Engine;
use device::contents::HostPayload;
use device::slab::ImageId;
use nand::FlashArray;
use vocab::Ppn;

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn unsent(&self, ppn: Ppn) -> Option<ImageId> {
        self.writer.pages.unsent(&self.core, ppn)
    }

    pub(crate) fn send_moved(&mut self, log: usize) {
        self.writer.pages.send_moved(&mut self.core, log);
    }

    pub(crate) fn send_open_page(&mut self) {
        self.writer.pages.send_open_page(&mut self.core);
    }
}
