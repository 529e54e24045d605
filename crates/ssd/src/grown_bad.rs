//! Blocks that fail in service: what could not be programmed goes elsewhere, and what the block
//! still held is collected out of turn, which brings it back onto good flash.

use crate::commands::{Command, Contents, Image, Owner};
use crate::machine::Machine;
use crate::payload::HostPayload;
use crate::slab::NONE;
use ftl::{LogKind, Place, Stream};
use nand::{FlashArray, OobTag, PageRole};
use protect::Protection;
use vocab::{BlockAddr, Cause, Ppn, Slot, SuperblockId};

impl<P: HostPayload, A: FlashArray<P>> Machine<P, A> {
    /// A program of the page failed. Where the die answers, its block is bad: it is written no
    /// more, and what it still holds is brought to safety.
    pub(crate) fn block_failed(&mut self, ppn: Ppn) {
        let block = self.grid.split(ppn).0;
        if !self.array.answers(ppn) {
            return;
        }
        self.drop_bad_block(block);
        self.want(self.ftl.unit_of_block(block), Cause::Rebuild);
    }

    /// Counts a block of a living die as bad and takes it out of the rows of its superblock.
    /// True where the block is a unit of its own, which must be retired then.
    pub(crate) fn drop_bad_block(&mut self, block: BlockAddr) -> bool {
        let (die, superblock) = self.grid.split_block(block);
        if self.is_dead(die) {
            return false;
        }
        let is_unit = self.ftl.kind() == LogKind::Regions;
        if !is_unit && self.ftl.rows().members(superblock).contains(u32::from(die.0)) {
            self.ftl.drop_member(SuperblockId(superblock.0), die);
            self.narrow_open_rows(die, Some(superblock.0));
            self.end_rows_of(Some(superblock.0));
        }
        // Later failures of the same block count again: this only tells none from some.
        self.grown_bad += 1;
        is_unit
    }

    /// A program failed: its contents, still in the controller, go to another block, now or
    /// when there is room. True if they do; a page of a row stays lost, because its row solves
    /// for it, and so does a strip of a static stripe whose die is dead.
    pub(crate) fn program_elsewhere(&mut self, command: &Command) -> bool {
        let alive = self.array.answers(command.ppn);
        match command.owner {
            Owner::Page { .. } | Owner::Stripe { .. } | Owner::Strip { .. } if alive => self.block_failed(command.ppn),
            Owner::Page { .. } if matches!(self.protection, Protection::None) => {}
            _ => return false,
        }
        if !self.displaced.is_empty() || !self.place_displaced(command) {
            self.displaced.push_back(*command);
        }
        true
    }

    /// Places what waits for it, in order.
    pub(crate) fn retry_displaced(&mut self) {
        while let Some(command) = self.displaced.pop_front() {
            if !self.place_displaced(&command) {
                self.displaced.push_front(command);
                break;
            }
        }
    }

    fn place_displaced(&mut self, command: &Command) -> bool {
        let log = self.log_of(command.ppn);
        let moved = matches!(command.owner, Owner::Page { moved: true, .. });
        let alive = self.array.answers(command.ppn);
        let near = if alive { self.page_in_region(log, moved) } else { None };
        let (owner, ppn) = match (near, command.owner) {
            (Some(ppn), owner) => (owner, ppn),
            // Without redundancy a page may lie anywhere.
            (None, Owner::Page { .. }) if matches!(self.protection, Protection::None) => {
                let Some(other) = self.least_waiting() else { return false };
                self.collectors[log].in_flight -= u32::from(moved);
                let ppn = self.ftl.take_page(other, Stream::Host).expect("a log with room has a page");
                (Owner::Page { log: other as u16, moved: false }, ppn)
            }
            (None, _) if alive => return false,
            // Its die died while it waited: what redundancy there is brings it back.
            (None, _) => {
                self.program_over(command, false);
                return true;
            }
        };
        let Image { oob, filled, .. } = self.images.slab[command.image];
        let oob = Self::oob_covering(oob.coverage);
        self.images.slab[command.image] = Image { oob, filled, ppn };
        for index in 0..filled {
            let tag = self.images.slot(command.image, index).0;
            self.republish(tag, self.grid.slot(command.ppn, index), self.grid.slot(ppn, index));
        }
        self.submit_program(command.image, owner, command.cause);
        // Not before: collection may take pages behind this one.
        self.start_collecting_if_short(self.log_of(ppn));
        true
    }

    fn log_of(&self, ppn: Ppn) -> usize {
        self.ftl.log_of(self.ftl.unit_of_block(self.grid.split(ppn).0))
    }

    /// The block that went bad was the log's reserve: what a victim holds finds no room on its
    /// die. Without redundancy it goes to another die; a strip of a static stripe is kept in the
    /// controller, its stripe standing in for it, until the erased victim gives room.
    pub(crate) fn move_without_reserve(&mut self, log: usize, contents: Contents<P>) {
        match (&self.protection, contents.tag.role()) {
            (Protection::None, PageRole::Data(lpn)) => {
                let Some(image) = self.host_image() else {
                    self.collectors[log].stuck = true;
                    return;
                };
                let slot = self.next_slot_of(image);
                let pin = self.ftl.publish(lpn, slot).pinned.unwrap_or(NONE);
                self.images.fill(image, contents, NONE, pin);
                self.send_host_image(image);
            }
            (Protection::Zones(_), _) => self.collectors[log].stuck = true,
            (_, PageRole::Data(lpn)) => {
                let (stripe, strip) = self.strip_of(lpn);
                let pinned = self.ftl.publish_missing(lpn).pinned;
                self.park_strip(stripe, strip, contents.payload, pinned);
            }
            (_, PageRole::Parity(stripe)) => {
                let pinned = self.ftl.publish_missing_parity(stripe).pinned;
                self.park_strip(stripe, self.stripe_scheme().data_strips(), contents.payload, pinned);
            }
            (_, PageRole::Filler) => unreachable!("fillers are never valid"),
        }
    }

    /// A page of the region log for contents that failed to be programmed; either stream's.
    fn page_in_region(&mut self, log: usize, moved: bool) -> Option<Ppn> {
        // A page that waits to be full must not be overtaken by the one behind it.
        self.send_moved(log);
        let streams = if moved { [Stream::Gc, Stream::Host] } else { [Stream::Host, Stream::Gc] };
        streams.into_iter().find_map(|stream| self.ftl.take_page(log, stream))
    }

    /// There is no place for contents that failed to be programmed: the page gets back what it held
    /// before, which is in flash as long as unit `pin` is pinned. False where there was nothing, or
    /// something newer took its place, or a stripe is to bring the contents back.
    pub(crate) fn take_back(&mut self, tag: OobTag, failed: Slot, pin: u32) -> bool {
        let PageRole::Data(lpn) = tag.role() else { return false };
        let is_stripe = matches!(self.protection, Protection::Stripes(_));
        if is_stripe || pin == NONE || self.ftl.lookup(lpn) != Place::At(failed) {
            return false;
        }
        let Some(old) = self.newest_in(BlockAddr(pin), tag, failed) else { return false };
        self.contents_change(lpn);
        if let Some(unit) = self.ftl.publish(lpn, old).pinned {
            self.release(unit);
        }
        let log = self.ftl.log_of(pin);
        if self.collectors[log].victim == Some(pin) {
            self.collectors[log].stuck = true;
        }
        true
    }

    /// The slot of a block that was programmed last with such contents, `but` that one.
    fn newest_in(&self, block: BlockAddr, tag: OobTag, but: Slot) -> Option<Slot> {
        let pages = (0..self.grid.pages_per_block()).map(|page| self.grid.ppn(block, page)).filter(|&ppn| self.is_stored(ppn));
        let slots = pages.flat_map(|ppn| (0..self.grid.slots_per_page()).map(move |index| (ppn, index)));
        let same = slots.filter(|&(ppn, index)| self.array.page(ppn).tags[index as usize] == tag);
        let same = same.map(|(ppn, index)| (self.array.page(ppn).oob.sequence, self.grid.slot(ppn, index)));
        same.filter(|&(_, slot)| slot != but).max().map(|(_, slot)| slot)
    }

    /// What was to lie in slot `from` will lie in `to`, unless something newer took its place.
    fn republish(&mut self, tag: OobTag, from: Slot, to: Slot) {
        let published = match tag.role() {
            PageRole::Data(lpn) if self.ftl.lookup(lpn) == Place::At(from) => self.ftl.publish(lpn, to),
            PageRole::Parity(stripe) if self.ftl.lookup_parity(stripe) == Place::At(from) => self.ftl.publish_parity(stripe, to),
            _ => return,
        };
        if let (PageRole::Data(lpn), Protection::Stripes(_)) = (tag.role(), &self.protection) {
            self.note_move_of(lpn, Place::At(from));
        }
        // The slot that failed holds nothing that anyone could go back to.
        if let Some(unit) = published.pinned {
            self.release(unit);
        }
    }
}
