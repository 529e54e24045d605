//! Blocks that fail in service: what could not be programmed goes elsewhere, and what the block
//! still held is collected out of turn, which brings it back onto good flash.

use crate::care::collect::Collector;
use crate::core::owner::Owner;
use crate::core::{Command, oob_covering};
use crate::engine::Engine;
use device::command::Verb;
use device::contents::HostPayload;
use device::image::Contents;
use device::image::Image;
use device::slab::{Id, NONE};
use ftl::{LogKind, Place, Stream, UnitId, UnitState};
use nand::{FlashArray, OobTag, PageRole};
use protect::Protection;
use std::collections::BTreeSet;
use vocab::{BlockAddr, Cause, Ppn, Slot, StripeId, SuperblockId};

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// A program of the page failed. Where the die answers, its block is bad: it is written no
    /// more, and what it still holds is brought to safety.
    pub(crate) fn block_failed(&mut self, ppn: Ppn) {
        let block = self.core.device.grid.split(ppn).0;
        if !self.core.device.array.answers(ppn) {
            return;
        }
        self.drop_bad_block(block);
        self.want(self.core.map.unit_of_block(block), Cause::Rebuild);
    }

    /// Counts a block of a living die as bad and takes it out of the rows of its superblock.
    /// True where the block is a unit of its own, which must be retired then.
    pub(crate) fn drop_bad_block(&mut self, block: BlockAddr) -> bool {
        let (die, superblock) = self.core.device.grid.split_block(block);
        if self.core.device.is_dead(die) {
            return false;
        }
        let is_unit = self.core.map.kind() == LogKind::Regions;
        if !is_unit && self.core.map.rows().members(superblock).contains(u32::from(die.0)) {
            self.core.map.drop_member(SuperblockId(superblock.0), die);
            // What it holds must not be found once its superblock holds something else.
            self.care.damage.uncleared.insert(block);
            self.narrow_open_rows(die, Some(superblock.0));
            self.end_rows_of(Some(superblock.0));
        }
        // Later failures of the same block count again: this only tells none from some.
        self.core.grown_bad += 1;
        is_unit
    }

    /// A program failed: its contents, still in the controller, go to another block, now or
    /// when there is room. True if they do; a page of a row stays lost, because its row solves
    /// for it, and so does a strip of a static stripe whose die is dead.
    pub(crate) fn program_elsewhere(&mut self, command: &Command) -> bool {
        let alive = self.core.device.array.answers(command.ppn);
        match command.owner {
            Owner::Page { .. } | Owner::Stripe { .. } | Owner::Strip { .. } if alive => self.block_failed(command.ppn),
            Owner::Page { .. } if matches!(self.writer.protection, Protection::None) => {}
            _ => return false,
        }
        if !self.core.device.displaced.is_empty() || !self.place_displaced(command) {
            self.core.device.displaced.push_back(*command);
        }
        true
    }

    /// Places what waits for it, in order.
    pub(crate) fn retry_displaced(&mut self) {
        while let Some(command) = self.core.device.displaced.pop_front() {
            if !self.place_displaced(&command) {
                self.core.device.displaced.push_front(command);
                break;
            }
        }
    }

    /// Where a strip is that was read from a page whose program failed: it went elsewhere meanwhile.
    pub(crate) fn moved_on(&self, stripe: StripeId, strip: u32, from: Ppn) -> Option<Ppn> {
        let Place::At(slot) = self.place_of_strip(stripe, strip) else { return None };
        Some(self.core.device.grid.page_of(slot).0).filter(|&ppn| ppn != from && self.core.device.array.answers(ppn))
    }

    fn place_displaced(&mut self, command: &Command) -> bool {
        let log = self.log_of(command.ppn);
        let moved = matches!(command.owner, Owner::Page { moved: true, .. });
        let alive = self.core.device.array.answers(command.ppn);
        let near = if alive { self.page_in_region(log, moved) } else { None };
        let (owner, ppn) = match (near, command.owner) {
            (Some(ppn), owner) => (owner, ppn),
            // Without redundancy a page may lie anywhere.
            (None, Owner::Page { .. }) if matches!(self.writer.protection, Protection::None) => {
                let Some(other) = self.least_waiting() else { return false };
                self.core.moving[log].under_way -= u32::from(moved);
                let ppn = self.core.map.take_page(other, Stream::Host).expect("a log with room has a page");
                (Owner::Page { log: other as u16, moved: false }, ppn)
            }
            (None, _) if alive => return false,
            // Its die died while it waited: what redundancy there is brings it back.
            (None, _) => {
                self.program_over(command, false);
                return true;
            }
        };
        self.send_elsewhere(command, owner, ppn);
        true
    }

    /// There is no room on its die for a strip, and its stripe cannot do without it: any die is better than
    /// none. True if one has room. Two strips may then share a die, until the next write of one of them.
    pub(crate) fn place_anywhere(&mut self, command: &Command) -> bool {
        let (Owner::Stripe { .. } | Owner::Strip { .. }) = command.owner else { return false };
        let tag = self.core.device.images.slot(command.image, 0).0;
        if self.may_park(tag.role()) {
            return false;
        }
        let own = self.log_of(command.ppn);
        let logs = (0..self.core.map.logs()).filter(|&log| log != own && !self.care.collectors[log].halted);
        let streams = logs.flat_map(|log| [(log, Stream::Gc), (log, Stream::Host)]);
        let Some((log, stream)) = streams.into_iter().find(|&(log, stream)| self.core.map.has_room(log, stream)) else {
            return false;
        };
        let ppn = self.core.map.take_page(log, stream).expect("a log with room has a page");
        let owner = if let Owner::Strip { .. } = command.owner { Owner::Strip { log: log as u16 } } else { command.owner };
        self.send_elsewhere(command, owner, ppn);
        true
    }

    /// Programs what failed into this page.
    fn send_elsewhere(&mut self, command: &Command, owner: Owner, ppn: Ppn) {
        let Image { oob, filled, .. } = self.core.device.images.slab[command.image];
        let oob = oob_covering(oob.coverage);
        self.core.device.images.slab[command.image] = Image { oob, filled, ppn };
        for index in 0..filled {
            let tag = self.core.device.images.slot(command.image, index).0;
            let (from, to) = (self.core.device.grid.slot(command.ppn, index), self.core.device.grid.slot(ppn, index));
            if !self.republish(tag, from, to) {
                self.move_pin(tag, self.core.device.images.updates(command.image)[index as usize], from, to);
            }
        }
        self.core.submit_program(command.image, owner, command.cause);
        // Not before: collection may take pages behind this one.
        self.start_collecting_if_short(self.log_of(ppn));
    }

    /// Something newer superseded contents that lie elsewhere now, and goes back to them if it finds no place
    /// itself: it keeps the block where they are.
    fn move_pin(&mut self, tag: OobTag, update: u64, from: Slot, to: Slot) {
        let (left, kept) = (self.core.map.unit_of(from), self.core.map.unit_of(to));
        let under_way = self.images_under_way();
        let slots =
            under_way.into_iter().flat_map(|id| (0..self.core.device.images.slab[id].filled).map(move |index| (id, index)));
        let newer = slots.filter(|&(id, index)| {
            self.core.device.images.slot(id, index).0 == tag && self.core.device.images.updates(id)[index as usize] > update
        });
        let Some((id, index)) = newer.min_by_key(|&(id, index)| self.core.device.images.updates(id)[index as usize]) else {
            return;
        };
        if self.core.device.images.slot(id, index).2 == left {
            self.core.device.images.set_pin(id, index, kept);
            self.core.map.pin(kept);
            self.release(left);
        }
    }

    /// Pages that are filled, or on their way, or wait for another place.
    fn images_under_way(&self) -> Vec<Id> {
        let commands = self
            .core
            .device
            .commands_of_dies()
            .into_iter()
            .map(|id| self.core.device.commands[id])
            .chain(self.core.device.displaced.iter().copied());
        let programs = commands.filter(|command| command.verb == Verb::Program).map(|command| command.image);
        let all: BTreeSet<Id> = programs.chain(self.writer.pages.open_images()).filter(|&image| image != NONE).collect();
        all.into_iter().collect()
    }

    fn log_of(&self, ppn: Ppn) -> usize {
        self.core.map.log_of(self.core.map.unit_of_block(self.core.device.grid.split(ppn).0))
    }

    /// The block that went bad was the log's reserve: what a victim holds finds no room on its
    /// die. Without redundancy it goes to another die; a strip of a static stripe is kept in the
    /// controller, its stripe standing in for it, until the erased victim gives room.
    pub(crate) fn move_without_reserve(&mut self, log: usize, contents: Contents<P>) {
        match (&self.writer.protection, contents.tag.role()) {
            (Protection::None, PageRole::Data(lpn)) => {
                let Some(image) = self.host_image() else {
                    self.care.collectors[log].stuck = true;
                    return;
                };
                let slot = self.core.next_slot_of(image);
                let pin = self.core.map.publish(lpn, slot).pinned.unwrap_or(NONE);
                self.core.device.images.fill(image, contents, NONE, pin);
                self.send_host_image(image);
            }
            (Protection::Zones(_), _) => self.care.collectors[log].stuck = true,
            // Where the stripe lacks another strip it cannot stand in for this one.
            (_, role) if !self.may_park(role) => self.care.collectors[log].stuck = true,
            (_, PageRole::Data(lpn)) => {
                let (stripe, strip) = self.strip_of(lpn);
                let from = self.core.map.lookup(lpn);
                let pinned = self.core.map.publish_missing(lpn).pinned;
                self.note_move_of(lpn, from);
                self.park_strip(stripe, strip, contents.payload, pinned);
            }
            (_, PageRole::Parity(stripe)) => {
                let pinned = self.core.map.publish_missing_parity(stripe).pinned;
                self.park_strip(stripe, self.stripe_scheme().data_strips(), contents.payload, pinned);
            }
            (_, PageRole::Filler) => unreachable!("fillers are never valid"),
        }
    }

    /// Whether the other strips of a page's stripe bring it back.
    fn may_park(&self, role: PageRole) -> bool {
        let stripe = match role {
            PageRole::Data(lpn) => self.strip_of(lpn).0,
            PageRole::Parity(stripe) => stripe,
            PageRole::Filler => return false,
        };
        self.stripe_state(stripe).1.is_empty() && self.is_protected(stripe)
    }

    /// Whether all that a block holds may be kept in the controller until the block is erased.
    pub(crate) fn may_park_all(&self, block: UnitId) -> bool {
        let pages = (0..self.core.device.grid.pages_per_block()).map(|page| self.core.device.grid.ppn(BlockAddr(block), page));
        let mut slots = pages.flat_map(|ppn| (0..self.core.device.grid.slots_per_page()).map(move |index| (ppn, index)));
        slots.all(|(ppn, index)| {
            let stays = self.core.map.is_valid(self.core.device.grid.slot(ppn, index)) && self.is_known(ppn);
            !stays || self.may_park(self.core.device.tags(ppn)[index as usize].role())
        })
    }

    /// Whether the page's program has ended, well or not.
    fn is_known(&self, ppn: Ppn) -> bool {
        self.core.device.is_programmed(ppn) || self.core.device.failed_programs.contains_key(&ppn.0)
    }

    /// A page of the region log for contents that failed to be programmed; either stream's.
    fn page_in_region(&mut self, log: usize, moved: bool) -> Option<Ppn> {
        // A page that waits to be full must not be overtaken by the one behind it.
        self.send_moved(log);
        let streams = if moved { [Stream::Gc, Stream::Host] } else { [Stream::Host, Stream::Gc] };
        streams.into_iter().find_map(|stream| self.core.map.take_page(log, stream))
    }

    /// There is no place for contents that failed to be programmed: the page gets back what it held
    /// before, which is in flash as long as unit `pin` is pinned. False where there was nothing, or
    /// something newer took its place, or a stripe is to bring the contents back.
    pub(crate) fn take_back(&mut self, tag: OobTag, failed: Slot, pin: u32) -> bool {
        let place = match tag.role() {
            PageRole::Data(lpn) => self.core.map.lookup(lpn),
            PageRole::Parity(stripe) => self.core.map.lookup_parity(stripe),
            PageRole::Filler => return false,
        };
        if pin == NONE || place != Place::At(failed) {
            return false;
        }
        let Some(old) = self.newest_copy(tag, failed) else { return false };
        let (ppn, index) = self.core.device.grid.page_of(old);
        let rank = self.core.device.update_at(ppn, index);
        let published = match tag.role() {
            PageRole::Parity(stripe) => {
                self.note_parity_version(stripe, rank);
                self.core.map.publish_parity(stripe, old)
            }
            PageRole::Filler => unreachable!("fillers have no place"),
            PageRole::Data(lpn) => {
                if lpn.0 < self.core.map.user_slots() {
                    self.contents_change(lpn);
                }
                self.note_version(lpn, rank);
                let published = self.core.map.publish(lpn, old);
                if matches!(self.writer.protection, Protection::Stripes(_)) {
                    self.note_move_of(lpn, place);
                }
                published
            }
        };
        if let Some(unit) = published.pinned {
            self.release(unit);
        }
        let units = [pin, self.core.map.unit_of(old)];
        let collectors =
            self.care.collectors.iter_mut().filter(|collector| collector.victim.is_some_and(|unit| units.contains(&unit)));
        collectors.for_each(|collector| collector.stuck = true);
        true
    }

    /// The newest copy of such contents in flash, `but` that one. It may have been superseded by what failed
    /// just now while it was on its way itself; then nothing keeps its block but that nobody got to it yet.
    fn newest_copy(&self, tag: OobTag, but: Slot) -> Option<Slot> {
        let blocks = (0..self.core.device.grid.geometry().blocks()).map(BlockAddr).filter(|&block| self.keeps_pages(block));
        let pages = blocks.flat_map(|block| {
            (0..self.core.device.grid.pages_per_block()).map(move |page| self.core.device.grid.ppn(block, page))
        });
        let slots = pages
            .filter(|&ppn| self.core.device.is_stored(ppn))
            .flat_map(|ppn| (0..self.core.device.grid.slots_per_page()).map(move |index| (ppn, index)));
        let same = slots.filter(|&(ppn, index)| self.core.device.array.page(ppn).tags[index as usize] == tag);
        let ranked = same.map(|(ppn, index)| {
            (
                (self.core.device.array.update(ppn, index), self.core.device.array.page(ppn).oob.sequence),
                self.core.device.grid.slot(ppn, index),
            )
        });
        ranked.filter(|&(_, slot)| slot != but).max().map(|(_, slot)| slot)
    }

    /// Whether the pages of a block of a region log may be used: its die answers, and it is not being erased.
    fn keeps_pages(&self, block: BlockAddr) -> bool {
        let unit = self.core.map.unit_of_block(block);
        let is_it = |collector: &Collector| collector.victim == Some(unit) && collector.is_erasing();
        let erased = self.care.collectors.iter().any(is_it);
        let used = matches!(self.core.map.unit(unit).state, UnitState::Open | UnitState::Closed | UnitState::Condemned);
        used && !erased && self.core.device.array.answers(self.core.device.grid.ppn(block, 0))
    }

    /// What was to lie in slot `from` will lie in `to`; false if something newer took its place.
    fn republish(&mut self, tag: OobTag, from: Slot, to: Slot) -> bool {
        let published = match tag.role() {
            PageRole::Data(lpn) if self.core.map.lookup(lpn) == Place::At(from) => self.core.map.publish(lpn, to),
            PageRole::Parity(stripe) if self.core.map.lookup_parity(stripe) == Place::At(from) => {
                self.core.map.publish_parity(stripe, to)
            }
            _ => return false,
        };
        if let (PageRole::Data(lpn), Protection::Stripes(_)) = (tag.role(), &self.writer.protection) {
            self.note_move_of(lpn, Place::At(from));
        }
        // The slot that failed holds nothing that anyone could go back to.
        if let Some(unit) = published.pinned {
            self.release(unit);
        }
        true
    }
}
