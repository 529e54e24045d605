//! Parity of block groups: when it is written, and when its sums leave the cache.

use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::owner::Holds;
use crate::core::{Core, data_of, oob_covering};
use crate::write::groups::write::{CacheRoom, StripPage, submit_strip};
use crate::write::groups::{CodewordKey, Groups, Layout, OpenSums, codewords_of};
use crate::write::moves::Moves;
use crate::write::rescue::AwaitsRescue;
use device::image::Contents;
use device::slab::ImageId;
use ftl::Place;
use nand::{Member, OobTag, ProgramOutcome};
use std::sync::Arc;
use vocab::{Cause, DieId, Lpn, Ppn, StripSet, StripeId};

impl<P: FlashPayload> Groups<P> {
    /// The program of a page of a group has ended. A page that failed is in the sums, or will be: a read solves
    /// for it.
    pub fn program_ended(
        &mut self,
        core: &mut Core<P>,
        moves: &mut Moves<P>,
        image: ImageId,
        key: CodewordKey,
        holds: Holds,
        outcome: ProgramOutcome,
    ) {
        let mut waiting = AwaitsRescue::default();
        if outcome == ProgramOutcome::Failed {
            core.device.note_failed(image);
            waiting.lpns = moves.rescue(core, image);
        }
        if holds == Holds::Parity {
            self.parity_ended(core, key, outcome);
            return;
        }
        let is_rescued = !waiting.lpns.is_empty();
        let sums = self.sums_of_a_page(key);
        let summed = if is_rescued { None } else { self.begin_summing(core, sums) };
        // A rescued page is still in the controller.
        let lost = outcome == ProgramOutcome::Failed && !is_rescued && self.is_beyond_repair(core, key);
        for index in 0..core.device.images.slab[image].filled {
            let (_, job, pin) = core.device.images.slot(image, index);
            if lost {
                lose_slot(core, image, index, holds);
            }
            if is_rescued {
                waiting.pins.extend(pin);
                waiting.jobs.extend(job);
                continue;
            }
            if let Some(pin) = pin {
                core.release(pin);
            }
            if let Some(job) = job {
                core.jobs[job].failed |= lost;
                self.part_in_flash(core, job, summed);
            }
        }
        if is_rescued {
            moves.waiting.push(waiting);
        }
        if !moves.waiting.is_empty() {
            core.out.push(Effect::SettleRescued);
        }
        let ppn = core.device.images.slab[image].ppn;
        core.out.push(Effect::GroupDataEnded { row: key.0, codeword: key.1, ppn });
        if holds == Holds::MovedData {
            core.out.push(Effect::Moved { log: 0 });
        }
    }

    /// Parities that a data page of the codeword is part of: those of its codeword, and with a block code that of its own
    /// block and those of the blocks of its parities (three under (7,1) + (63,1)).
    pub(super) fn sums_of_a_page(&self, key: CodewordKey) -> u32 {
        let code = self.codes[self.held[&key].layout.code].0;
        code.parity + if code.block > 0 { 1 + code.parity } else { 0 }
    }

    /// Lets one go that waits for rescued pages that are in flash now. True if there was one.
    pub fn settle_rescued(&mut self, core: &mut Core<P>, moves: &mut Moves<P>) -> bool {
        moves.let_one_go(core, is_in_flash)
    }

    /// Whether the rest of its codeword brings back a page that failed to be programmed.
    pub fn is_solvable(&self, core: &Core<P>, lpn: Lpn) -> bool {
        if is_in_flash(core, lpn) {
            return true;
        }
        let Some(ppn) = core.page_of(core.map.lookup(lpn)) else { return true };
        let (row, _) = core.map.rows().row_of(ppn);
        let Some(info) = self.info[(row / core.device.grid.pages_per_block()) as usize] else { return false };
        let page = |die: u32| core.map.rows().page(row, DieId(die as u16)).0;
        let is_lost =
            |die: &u32| core.device.losses.dead().contains(*die) || core.device.losses.failed_programs.contains_key(&page(*die));
        info.members.iter().filter(is_lost).count() <= self.codes[info.code].1.parity()
    }

    /// Whether more strips of the codeword are on dead dies than its code brings back.
    fn is_beyond_repair(&self, core: &Core<P>, key: CodewordKey) -> bool {
        let layout = &self.held[&key].layout;
        let dead = layout.stripe.strips.iter().filter(|strip| strip.codeword == key.1 && core.device.is_dead(strip.die));
        dead.count() as u32 > self.codes[layout.code].0.parity
    }

    /// A data page is in flash, or failed: then its sums stand in for it.
    pub fn data_ended(&mut self, core: &mut Core<P>, key: CodewordKey, ppn: Ppn) {
        let held = self.held.get_mut(&key).expect("sums outlive their data's programs");
        held.missing -= 1;
        let (block, page) = core.device.grid.split(ppn);
        let code = self.codes[held.layout.code].0;
        if code.is_block_parity(page, core.device.grid.pages_per_block())
            && let Some(blocks) = self.blocks.get_mut(&held.layout.group.0)
        {
            // The parity of a block: its sum may leave the cache.
            let strip = held.layout.stripe.strip_on(core.device.grid.split_block(block).0).expect("a member");
            blocks.done[code.sum_of(page) as usize].insert(strip);
            self.used[held.stream] -= 1;
        }
        if self.scheme.parity_due(held.missing) {
            let layout = Arc::clone(&held.layout);
            self.put_due_parity(core, key, &layout);
        }
        core.out.push(Effect::CacheHasRoom);
    }

    /// Writes a sum of a block as its last page, or as one of its last, a data page of the page stripe.
    pub fn put_block_parity(&mut self, core: &mut Core<P>, layout: &Arc<Layout>, page: u32, position: u32, write_pointer: usize) {
        let strip = StripPage::new(layout, page, position);
        let code = self.codes[layout.code].0;
        let key = strip.key(&core.device.grid);
        if !self.held.contains_key(&key) {
            self.begin_sums(core, key, layout, write_pointer, CacheRoom::SetAside);
        }
        let (row, die) = (key.0, strip.strip.die);
        let image = core.device.images.open(core.map.rows().page(row, die), oob_covering(StripSet::one(u32::from(die.0))));
        let slots = core.device.grid.slots_per_page();
        let (tag, update) = (OobTag::parity(StripeId(row)), core.device.next_rank());
        for index in 0..slots {
            let blocks = &self.blocks[&layout.group.0];
            let payload = blocks.sums[blocks.at(&code, position, page, slots) + index as usize].clone();
            let slot = core.next_slot_of(image);
            self.add_to_sums(core, strip, Member { slot, tag, update }, &payload);
            core.device.images.fill(image, Contents { tag, payload, update }, None, None);
        }
        if core.is_mountable() {
            let grid = &core.device.grid;
            let (block, _) = grid.split(core.device.images.slab[image].ppn);
            let is_in = |member: &&Member| {
                let (of, at) = grid.split(grid.page_of(member.slot).0);
                of == block && code.sum_of(at) == code.sum_of(page)
            };
            let members = self.blocks[&layout.group.0].members.iter().filter(is_in).copied().collect();
            core.device.images.set_members(image, members);
        }
        let written = self.info[layout.group.index()].expect("an open group").written;
        let turn = layout.stripe.order.iter().position(|&p| p == position).expect("a data strip") as u64;
        self.stats.block_parity_pages += 1;
        self.stats.longest_block_residence = self.stats.longest_block_residence.max(written - turn);
        submit_strip(core, image, strip, Holds::Data, Cause::Parity);
    }

    /// Writes the parity that is due of one codeword's page stripes, in order: a block takes its
    /// pages in order, and where a group was given up a later stripe may be ready first.
    pub fn put_due_parity(&mut self, core: &mut Core<P>, key: CodewordKey, layout: &Arc<Layout>) {
        let rows = codewords_of(layout.group, core.device.grid.pages_per_block());
        let waits = |(other, held): (&CodewordKey, &OpenSums<P>)| {
            (other.1 == key.1 && held.parities.is_none()).then_some((*other, held.missing))
        };
        while let Some((next, missing)) = self.held.range(rows.clone()).find_map(waits) {
            if !self.scheme().parity_due(missing) {
                return;
            }
            self.put_parity(core, next, layout);
        }
    }

    /// Writes the parity pages of a codeword.
    fn put_parity(&mut self, core: &mut Core<P>, key: CodewordKey, layout: &Arc<Layout>) {
        let slots = core.device.grid.slots_per_page() as usize;
        let code = self.codes[layout.code].0;
        let written = self.info[layout.group.index()].expect("a group with sums").written;
        let held = self.held.get_mut(&key).expect("sums of a codeword");
        held.parities = Some(code.parity);
        let coverage = held.data;
        self.stats.parity_pages += u64::from(code.parity);
        let residence = (written + 1).saturating_sub(held.first);
        self.stats.longest_parity_residence = self.stats.longest_parity_residence.max(residence);
        let page = key.0 % core.device.grid.pages_per_block();
        let held = &self.held[&key];
        for position in layout.stripe.data..layout.stripe.strips.len() as u32 {
            let strip = layout.stripe.strips[position as usize];
            if strip.codeword != key.1 {
                continue;
            }
            let image = core.device.images.open(core.map.rows().page(key.0, strip.die), oob_covering(coverage));
            let parity = (strip.symbol - code.data) as usize;
            let (tag, update) = (OobTag::parity(StripeId(key.0)), core.device.next_rank());
            for index in 0..slots {
                let payload = held.sums[parity * slots + index].clone();
                core.device.images.fill(image, Contents { tag, payload, update }, None, None);
            }
            if core.is_mountable() {
                core.device.images.set_members(image, held.members.clone());
            }
            submit_strip(core, image, StripPage::new(layout, page, position), Holds::Parity, Cause::Parity);
        }
    }

    /// A parity page is in flash, or failed. After the last, the room of the sums is free; where one failed, the sums
    /// stay nonetheless, because the group's pages are moved only now.
    fn parity_ended(&mut self, core: &mut Core<P>, key: CodewordKey, outcome: ProgramOutcome) {
        let held = self.held.get_mut(&key).expect("sums outlive their parity's programs");
        held.stay |= !outcome.is_done();
        let left = held.parities.as_mut().expect("parity was due");
        *left -= 1;
        if *left > 0 {
            return;
        }
        let (group, code, stream, stay) = (held.layout.group.0, held.layout.code, held.stream, held.stay);
        self.used[stream] -= self.codes[code].0.parity;
        if !stay {
            self.held.remove(&key);
        }
        let (code, pages) = (self.codes[code].0, core.device.grid.pages_per_block());
        if code.is_block_parity(key.0 % pages, pages)
            && let Some(blocks) = self.blocks.get_mut(&group)
        {
            blocks.codewords_left -= 1;
            if blocks.codewords_left == 0 {
                self.blocks.remove(&group);
                core.release(group);
            }
        }
        core.release(group);
        core.out.push(Effect::CacheHasRoom);
    }
}

/// A slot of a program that failed did not get its contents, and neither its codeword nor the controller has
/// them any more.
fn lose_slot<P: FlashPayload>(core: &mut Core<P>, image: ImageId, index: u32, holds: Holds) {
    let tag = core.device.images.slot(image, index).0;
    let Some(lpn) = data_of(tag) else { return };
    if holds == Holds::MovedData {
        // It was answered long ago.
        let rank = core.device.images.updates(image)[index as usize];
        core.note_lost(lpn, rank);
    }
    let slot = core.device.grid.slot(core.device.images.slab[image].ppn, index);
    if core.map.lookup(lpn) == Place::At(slot)
        && let Some(unit) = core.map.publish_missing(lpn).pinned
    {
        core.release(unit);
    }
}

/// Whether the page is in flash where the map has it, or the map has no place for it.
fn is_in_flash<P: FlashPayload>(core: &Core<P>, lpn: Lpn) -> bool {
    core.page_of(core.map.lookup(lpn)).is_none_or(|ppn| core.device.is_stored(ppn))
}
