//! Writing without redundancy: each page goes to the die with the least waiting; and moving
//! pages within a region log, whatever protects them.

use crate::core::owner::Owner;
use crate::core::{Core, data_of, oob_covering};
use crate::device::contents::HostPayload;
use crate::device::image::Contents;
use crate::device::slab::{Id, NONE};
use crate::engine::Engine;
use ftl::{LogKind, Place, Stream};
use nand::{FlashArray, OobTag, PageRole};
use protect::Protection;
use vocab::{Cause, Ppn, Slot, StripSet};

/// Page images that still have room, and whose turn it is.
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

    /// The image of an unsent page, by page number: reads of it are served from memory. That is
    /// a half filled page of moved ones, or the last of the write history; or a page of any kind
    /// that failed to be programmed and waits for another place.
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

    /// The die takes up the image: nothing more fits in.
    #[inline]
    pub fn sealed(&mut self, image: Id) {
        if self.open == image {
            self.open = NONE;
        }
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Hands the job's pages to region logs; false if it has to wait for space.
    pub(crate) fn place_in_pages(&mut self, job: Id) -> bool {
        while let Some(page) = self.core.jobs[job].pages.get(self.core.jobs[job].next) {
            let (lpn, payload) = (page.lpn, page.payload.clone());
            let Some(image) = self.host_image() else { return false };
            let published = self.core.map.publish(lpn, self.core.next_slot_of(image));
            let pin = published.pinned.unwrap_or(NONE);
            let contents = Contents { tag: OobTag::data(lpn), payload, update: self.core.device.next_rank() };
            self.core.device.images.fill(image, contents, job, pin);
            self.core.jobs[job].remaining += 1;
            self.core.jobs[job].next += 1;
            self.send_host_image(image);
        }
        true
    }

    /// The image the next host page goes into.
    #[inline]
    pub(crate) fn host_image(&mut self) -> Option<Id> {
        if self.writer.pages.open != NONE {
            return Some(self.writer.pages.open);
        }
        let log = self.least_waiting()?;
        let ppn = self.core.map.take_page(log, Stream::Host).expect("a log with room has a page");
        self.start_collecting_if_short(log);
        let oob = oob_covering(0);
        let image = self.core.device.images.open(ppn, oob);
        self.writer.pages.open = image;
        self.writer.pages.open_log = log;
        self.writer.pages.open_sent = false;
        Some(image)
    }

    /// The log with room whose die has the least waiting, in turn among equals.
    #[inline]
    pub(crate) fn least_waiting(&mut self) -> Option<usize> {
        let logs = self.core.device.dies().len();
        let mut best = NONE as usize;
        let mut least = u32::MAX;
        for i in (self.writer.pages.turn..logs).chain(0..self.writer.pages.turn) {
            if self.core.device.dies()[i].backlog < least && self.core.map.has_room(i, Stream::Host) {
                (best, least) = (i, self.core.device.dies()[i].backlog);
                if least == 0 {
                    break;
                }
            }
        }
        if least == u32::MAX {
            (0..logs).for_each(|log| self.start_collecting_if_short(log));
            return None;
        }
        self.writer.pages.turn = if best + 1 == logs { 0 } else { best + 1 };
        Some(best)
    }

    /// Queues the program of the host image: with the first page in it, so that an idle die
    /// takes it up as soon as the request is placed; without time, when it is full.
    #[inline]
    pub(crate) fn send_host_image(&mut self, image: Id) {
        let full = self.core.device.images.is_full(image);
        if !self.writer.pages.open_sent && (full || self.core.device.timed) {
            let log = self.writer.pages.open_log as u16;
            self.core.submit_program(image, Owner::Page { log, moved: false }, Cause::Host);
            self.writer.pages.open_sent = true;
        }
        if full {
            self.writer.pages.open = NONE;
        }
    }

    /// Moves a page, read or repaired, to the collector's frontier of the region log. `from` is
    /// where the page lies.
    pub(crate) fn move_in_region(&mut self, log: usize, contents: Contents<P>, from: Slot) {
        let tag = contents.tag;
        let mut image = self.writer.pages.moved[log];
        let mut borrowed = false;
        if image == NONE {
            let own = self.core.map.take_page(log, Stream::Gc);
            borrowed = own.is_none();
            let Some(ppn) = own.or_else(|| self.core.map.take_page(log, Stream::Host)) else {
                // A block that went bad, or several cuts in a row, may have used up what was reserved.
                assert!(self.core.grown_bad > 0 || self.core.is_mountable(), "the collector's reserve holds a victim");
                self.move_without_reserve(log, contents);
                return;
            };
            let oob = oob_covering(self.coverage_to_keep(from));
            image = self.core.device.images.open(ppn, oob);
            self.keep_members(image, tag, from);
            self.writer.pages.moved[log] = image;
        }
        let slot = self.core.next_slot_of(image);
        let published = match tag.role() {
            PageRole::Data(lpn) => {
                let old = self.core.map.lookup(lpn);
                let published = self.core.map.publish(lpn, slot);
                self.note_move_of(lpn, old);
                published
            }
            PageRole::Parity(stripe) => self.core.map.publish_parity(stripe, slot),
            PageRole::Filler => unreachable!("fillers are never valid"),
        };
        self.core.device.images.fill(image, contents, NONE, published.pinned.unwrap_or(NONE));
        // A page of the host's frontier must not be overtaken by the host's next one.
        if self.core.device.images.is_full(image) || borrowed {
            self.send_moved(log);
        }
    }

    /// Queues the program of what was moved so far.
    pub(crate) fn send_moved(&mut self, log: usize) {
        let image = std::mem::replace(&mut self.writer.pages.moved[log], NONE);
        if image != NONE {
            self.core.moving[log].under_way += 1;
            let cause = self.core.moving[log].cause;
            self.core.submit_program(image, Owner::Page { log: log as u16, moved: true }, cause);
        }
    }

    /// As [`PageWriter::unsent`].
    pub(crate) fn unsent(&self, ppn: Ppn) -> Option<Id> {
        self.writer.pages.unsent(&self.core, ppn)
    }

    /// Queues the program of the host image, full or not, where it is that page.
    pub(crate) fn send_if_unsent(&mut self, ppn: Ppn) {
        if self.writer.pages.open != NONE && self.core.device.images.slab[self.writer.pages.open].ppn == ppn {
            self.send_open_page();
        }
    }

    /// Queues the program of the host image, if there is one.
    pub(crate) fn send_open_page(&mut self) {
        let image = self.writer.pages.open;
        if image != NONE && !self.writer.pages.open_sent {
            let log = self.writer.pages.open_log as u16;
            self.core.submit_program(image, Owner::Page { log, moved: false }, Cause::Host);
            self.writer.pages.open_sent = true;
        }
    }

    /// A page of a region log is programmed (or lost with its die).
    pub(crate) fn page_done(&mut self, image: Id, log: usize, moved: bool, done: bool) {
        let (ppn, filled) = (self.core.device.images.slab[image].ppn, self.core.device.images.slab[image].filled);
        for index in 0..filled {
            let (tag, job, pin) = self.core.device.images.slot(image, index);
            if !done && !self.take_back(tag, self.core.device.grid.slot(ppn, index), pin) {
                self.lose_program(image, index, moved);
            }
            if pin != NONE {
                self.release(pin);
            }
            if job != NONE {
                self.core.jobs[job].failed |= !done;
                self.part_done(job);
            }
        }
        if moved {
            self.core.moving[log].under_way -= 1;
            self.collect(log);
        }
    }

    /// A slot of a program that failed did not get its contents, and nobody has them any more.
    pub(crate) fn lose_program(&mut self, image: Id, index: u32, moved: bool) {
        let (ppn, tag) = (self.core.device.images.slab[image].ppn, self.core.device.images.slot(image, index).0);
        if moved {
            self.note_lost(tag, self.core.device.images.updates(image)[index as usize]);
        }
        self.lose(tag, self.core.device.grid.slot(ppn, index));
    }

    /// What a page held is lost for good: after a cut, too, nothing older counts.
    pub(crate) fn note_lost(&mut self, tag: OobTag, update: u64) {
        if let (Some(lpn), true) = (data_of(tag), self.core.is_mountable()) {
            self.core.safe.lost.insert(lpn, update);
        }
    }

    /// The slot did not get its contents: if it is still current, only a stripe has them now.
    pub(crate) fn lose(&mut self, tag: OobTag, slot: Slot) {
        let pinned = match tag.role() {
            PageRole::Data(lpn) if self.core.map.lookup(lpn) == Place::At(slot) => {
                let pinned = self.core.map.publish_missing(lpn).pinned;
                self.note_move_of(lpn, Place::At(slot));
                pinned
            }
            // Rows and groups keep no map of their parities.
            PageRole::Parity(stripe)
                if self.core.map.kind() == LogKind::Regions && self.core.map.lookup_parity(stripe) == Place::At(slot) =>
            {
                self.core.map.publish_missing_parity(stripe).pinned
            }
            _ => None,
        };
        if let Some(unit) = pinned {
            self.release(unit);
            self.strip_lost(tag);
        }
    }

    /// Takes back a pin; erases the unit if it only waited for that.
    #[inline]
    pub(crate) fn release(&mut self, unit: u32) {
        if self.core.map.release(unit) {
            self.collect(self.core.map.log_of(unit));
        }
    }

    /// What a page that moves says of others goes with it.
    pub(crate) fn coverage_to_keep(&self, from: Slot) -> u32 {
        let ppn = self.core.device.grid.page_of(from).0;
        let kept =
            self.writer.zones.is_some() || self.core.is_mountable() && matches!(self.writer.protection, Protection::Stripes(_));
        if kept && self.core.device.is_programmed(ppn) { self.core.device.array.page(ppn).oob.coverage } else { 0 }
    }

    /// As [`Self::coverage_to_keep`]: the members of a codeword, which parity and the pages of static
    /// stripes name.
    pub(crate) fn keep_members(&mut self, image: Id, tag: OobTag, from: Slot) {
        let members = self.core.device.array.members(self.core.device.grid.page_of(from).0);
        let (stripe, is_data) = match (&self.writer.protection, tag.role()) {
            (Protection::Stripes(_), PageRole::Data(lpn)) => (Some(self.strip_of(lpn).0), true),
            (Protection::Stripes(_), PageRole::Parity(stripe)) => (Some(stripe), false),
            _ => (None, false),
        };
        match stripe {
            // Its program failed, so it named nothing, or it names more than counts.
            Some(stripe) if members.is_empty() || is_data && self.writer.stripes.unnamed.contains(&stripe) => {
                self.tell_strips(image, stripe, StripSet::EMPTY, 0);
            }
            _ if members.is_empty() => {}
            _ => {
                let members = members.to_vec();
                self.core.device.images.set_members(image, members);
            }
        }
    }
}
