//! Pages of region logs, put together in the controller: pages that the host writes without redundancy
//! (`write`), and pages that a collector moves within a log, whatever protects them (`moves`).

pub(crate) mod moves;
pub(crate) mod write;

use crate::core::Core;
use crate::core::owner::Owner;
use device::contents::HostPayload;
use device::slab::{Id, NONE};
use nand::FlashArray;
use vocab::{Cause, Ppn};

/// Page images that still have room, and the die whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct PageWriter {
    /// The die that is asked first next time: equal backlogs take turns.
    turn: usize,
    /// The image host pages are put into.
    open: Id,
    open_log: usize,
    /// Whether the open image's program is queued already.
    open_sent: bool,
    /// For each log, the image moved pages are put into; not queued before it is full.
    moved: Vec<Id>,
}

impl PageWriter {
    pub fn new(logs: usize) -> Self {
        Self { turn: 0, open: NONE, open_log: 0, open_sent: false, moved: vec![NONE; logs] }
    }

    /// Images that may still be filled; `NONE` among them.
    pub fn open_images(&self) -> impl Iterator<Item = Id> {
        self.moved.iter().copied().chain([self.open])
    }

    /// The die takes up the image: nothing more fits in.
    #[inline]
    pub fn sealed(&mut self, image: Id) {
        if self.open == image {
            self.open = NONE;
        }
    }

    /// The image of a page that the controller still has, by page number: reads of it are served from memory.
    /// That is a half filled page of moved ones, or the last of the write history; or a page of any kind that
    /// failed to be programmed and waits for another place.
    pub fn unsent<P: HostPayload, A: FlashArray<P>>(&self, core: &Core<P, A>, ppn: Ppn) -> Option<Id> {
        let is_it = |image: Id| image != NONE && core.device.images.slab[image].ppn == ppn;
        if !core.device.displaced.is_empty()
            && let Some(command) = core.device.displaced.iter().find(|command| is_it(command.image))
        {
            return Some(command.image);
        }
        if core.device.grid.slots_per_page() == 1 {
            return None;
        }
        if is_it(self.open) && !self.open_sent {
            return Some(self.open);
        }
        self.moved.iter().copied().find(|&image| is_it(image))
    }

    /// Whether the page is the host's open one and its program is not queued.
    #[inline]
    pub fn is_open_and_unsent<P: HostPayload, A: FlashArray<P>>(&self, core: &Core<P, A>, ppn: Ppn) -> bool {
        self.open != NONE && !self.open_sent && core.device.images.slab[self.open].ppn == ppn
    }

    /// Queues the program of the host's open image, full or not, if there is one.
    pub fn send_open_page<P: HostPayload, A: FlashArray<P>>(&mut self, core: &mut Core<P, A>) {
        if self.open != NONE && !self.open_sent {
            let log = self.open_log as u16;
            core.submit_program(self.open, Owner::Page { log, moved: false }, Cause::Host);
            self.open_sent = true;
        }
    }
}
