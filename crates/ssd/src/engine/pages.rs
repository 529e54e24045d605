//! Wrappers for what other components ask of `write::pages`.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use device::slab::ImageId;
use vocab::Ppn;

impl<P: FlashPayload> Engine<P> {
    pub(crate) fn unsent(&self, ppn: Ppn) -> Option<ImageId> {
        self.writer.pages.unsent(&self.core, ppn)
    }

    pub(crate) fn send_moved(&mut self, log: usize) {
        self.writer.pages.send_moved(&mut self.core, log);
    }

    pub(crate) fn send_open_page(&mut self) -> bool {
        self.writer.pages.send_open_page(&mut self.core)
    }
}
