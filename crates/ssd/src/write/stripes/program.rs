//! Space for an update, and the programs of its strips. All or nothing: an update that waits for space has
//! changed nothing, so repairs of its stripe can go ahead.

use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use crate::core::owner::Owner;
use crate::core::stripe_step::{Attempt, StripeStep};
use crate::core::{Core, data_of, oob_covering};
use crate::write::stripes::Stripes;
use crate::write::stripes::op::{Outcome, Progress};
use device::image::Contents;
use device::slab::ImageId;
use device::waits::Wait;
use ftl::{Place, Stream};
use nand::{OobTag, PageRole, ProgramOutcome};
use vocab::{Cause, DieId, Lpn, Slot, StripSet};

impl<P: FlashPayload> Stripes<P> {
    /// Strips that the update programs.
    fn strips_to_program(&self, id: OpId) -> StripSet {
        let op = &self.ops[id];
        match op.parity.outcome {
            Outcome::Program => op.written.or(StripSet::one(self.data_strips())),
            _ => op.written,
        }
    }

    /// The stream of pages that the update may take.
    fn stream_of(&self, id: OpId) -> Stream {
        if self.ops[id].is_write() { Stream::Host } else { Stream::Commit }
    }

    /// Looks for space for the strips of the update, and goes on with it.
    pub(super) fn look_for_space(&mut self, core: &mut Core<P>, id: OpId, attempt: Attempt) {
        self.find_space(core, id, 0, false, attempt);
    }

    /// Looks for space for the strips from `from` on; asks for GC where there is none. Programs the update
    /// if no strip lacks space.
    pub(super) fn find_space(&mut self, core: &mut Core<P>, id: OpId, from: u32, lacks: bool, attempt: Attempt) {
        let stripe = self.ops[id].stripe;
        for strip in self.strips_to_program(id).iter().filter(|&strip| strip >= from) {
            let Some(log) = self.home_of(core, stripe, strip).map(DieId::index) else { continue };
            if !core.map.has_room(log, self.stream_of(id)) {
                core.collect_if_short(log);
                Self::later(core, StripeStep::FindSpace { op: id, from: strip + 1, lacks: true, attempt });
                return;
            }
        }
        if lacks {
            self.lacks_space(core, id, attempt);
            return;
        }
        self.program(core, id);
        if attempt == Attempt::Again {
            Self::later(core, StripeStep::RetryStalled);
        }
    }

    /// Programs data and parity; there is space for all of it.
    fn program(&mut self, core: &mut Core<P>, id: OpId) {
        core.update_waited(id, Wait::Space);
        let (stripe, written) = (self.ops[id].stripe, self.ops[id].written);
        // Without any worn block the plan expected none.
        if self.any_worn && self.ops[id].parity.worn_after != self.worn_places(core, stripe, written) {
            // A write pointer has reached a block of another age since the plan was made.
            self.plan(core, id);
            return;
        }
        let targets = self.strips_to_program(id);
        let heals = core.safe.recovering && self.lacks_a_strip(core, stripe);
        if self.held.buildable_again(stripe) {
            self.look_for_missing_parity();
        }
        let op = &mut self.ops[id];
        debug_assert_eq!((op.progress, op.under_way), (Progress::Reading, 0));
        op.rank = core.device.next_rank();
        op.heals |= heals;
        op.progress = Progress::Programming;
        op.under_way = 1;
        self.program_data(core, id, targets);
        self.program_parity(core, id, targets);
        // Not before: GC may commit other stripes, which take pages that this one was promised. Such pages may make another log
        // short: behind any effect each log is looked at in its turn.
        let mut is_first = core.out.is_empty();
        for strip in targets.iter() {
            let Some(log) = self.home_of(core, stripe, strip).map(DieId::index) else { continue };
            if !is_first || core.map.is_short(log) {
                core.collect_if_short(log);
                is_first = false;
            }
        }
        self.programmed_next(core, id);
    }

    fn program_data(&mut self, core: &mut Core<P>, id: OpId, targets: StripSet) {
        for index in 0..self.ops[id].strips.len() {
            let op = &mut self.ops[id];
            let (stripe, strip, rank) = (op.stripe, op.strips[index], op.rank);
            let page = &mut core.jobs[op.job()].pages[op.first_page + index];
            page.rank = rank;
            let (lpn, payload) = (page.lpn, page.payload.clone());
            op.sum.add(&payload);
            core.show(lpn);
            let old = core.map.lookup(lpn);
            let pinned = self.program_strip(core, id, strip, OobTag::data(lpn), payload, targets);
            if self.any_worn {
                self.note_move(core, stripe, old, core.map.lookup(lpn));
            }
            self.keep_or_pin(id, strip, old, pinned);
        }
    }

    /// The version that a partial parity needs stays pinned as long as that is held, any other
    /// until the update is durable.
    fn keep_or_pin(&mut self, id: OpId, strip: u32, old: Place, pinned: Option<u32>) {
        let op = &mut self.ops[id];
        let joins = matches!(op.parity.outcome, Outcome::Hold(_))
            && self.held.get(op.stripe).is_none_or(|partial| partial.old_place(strip).is_none());
        if joins {
            op.parity.joined.push((strip, old));
        } else {
            op.pins.extend(pinned);
        }
    }

    fn program_parity(&mut self, core: &mut Core<P>, id: OpId, targets: StripSet) {
        let op = &mut self.ops[id];
        let (stripe, rank, sum) = (op.stripe, op.rank, op.sum.clone());
        match op.parity.outcome {
            Outcome::Program => {
                let n = self.data_strips();
                self.give_up_partial_parity(core, id);
                let pinned = self.program_strip(core, id, n, OobTag::parity(stripe), sum, targets);
                self.ops[id].pins.extend(pinned);
            }
            Outcome::Hold(covers) => {
                let old = std::mem::take(&mut op.parity.joined);
                op.parity.promised = false;
                self.held.put(stripe, covers, sum, old, |slot| core.map.unit_of(slot));
                if core.is_mountable() {
                    let versions = self.versions_of_stripe(core, stripe, rank);
                    self.held.stamp(stripe, versions);
                }
                self.commit_least_recent(core);
            }
            Outcome::Forget => {
                self.give_up_partial_parity(core, id);
                if !self.ops[id].lost.unreadable.is_empty() {
                    // The scheme may have wanted parity that could not be had.
                    self.look_for_missing_parity();
                }
                let published = core.map.forget_parity(stripe);
                self.note_version(PageRole::Parity(stripe), 0);
                self.ops[id].pins.extend(published.pinned);
            }
        }
    }

    /// Full parity, or none, replaces a partial one: old versions may go once that is durable.
    fn give_up_partial_parity(&mut self, core: &Core<P>, id: OpId) {
        let op = &mut self.ops[id];
        let Some(partial) = self.held.take(op.stripe, |slot| core.map.unit_of(slot)) else { return };
        op.parity.replaces_partial = true;
        op.pins.extend(partial.pinned().map(|slot| core.map.unit_of(slot)));
    }

    /// Programs a strip, or records that its die is gone; the unit of the old version, pinned.
    fn program_strip(
        &mut self,
        core: &mut Core<P>,
        id: OpId,
        strip: u32,
        tag: OobTag,
        payload: P,
        targets: StripSet,
    ) -> Option<u32> {
        let op = &self.ops[id];
        let (stripe, written, rank) = (op.stripe, op.written, op.rank);
        // Only a mount reads the names that pages have for each other.
        let names = core.is_mountable();
        if names {
            self.note_version(tag.role(), rank);
        }
        let Some(die) = self.home_of(core, stripe, strip) else {
            self.ops[id].lost.untaken.insert(strip);
            core.out.push(Effect::StripHomeless { tag });
            return core.publish_missing(tag.role()).pinned;
        };
        // Parity of a write goes with its data.
        let (stream, cause) =
            if data_of(tag).is_some() { (Stream::Host, Cause::Host) } else { (self.stream_of(id), Cause::Parity) };
        let ppn = core.map.take_page(die.index(), stream).expect("room was checked");
        let image = core.device.images.open(ppn, oob_covering(targets));
        core.device.images.fill(image, Contents { tag, payload, update: rank }, None, None);
        if names {
            self.tell_strips(core, image, stripe, written, rank);
        }
        self.ops[id].under_way += 1;
        core.submit_program(image, Owner::Stripe { op: id, strip: strip as u8 }, cause);
        core.publish(tag.role(), core.device.grid.slot(ppn, 0)).pinned
    }

    /// No block of a living die took the parity, but the controller still has it: where there is a parity cache with room it
    /// stays there, as that of a stripe that never had any in flash. Otherwise the partial parity that it replaced would be
    /// gone, and with it what only that brought back.
    fn hold_parity_without_place(&mut self, core: &mut Core<P>, id: OpId) {
        let (op, n) = (&self.ops[id], self.data_strips());
        let (stripe, rank, sum) = (op.stripe, op.rank, op.sum.clone());
        let is_without_place = op.parity.outcome == Outcome::Program
            && op.lost.untaken.contains(n)
            && core.map.lookup_parity(stripe) == Place::Missing
            && self.home_of(core, stripe, n).is_some();
        if !is_without_place || !self.held.promise_if_room() {
            return;
        }
        core.map.forget_parity(stripe);
        self.note_version(PageRole::Parity(stripe), 0);
        let (present, _) = self.stripe_state(core, stripe);
        let old = present.iter().map(|strip| (strip, Place::Unmapped)).collect();
        self.held.put(stripe, present, sum, old, |slot| core.map.unit_of(slot));
        if core.is_mountable() {
            let versions = self.versions_of_stripe(core, stripe, rank);
            self.held.stamp(stripe, versions);
        }
    }

    /// Fails pages that no flash took and that the stripe does not bring back: the host must be told. A buffer has told it
    /// otherwise.
    fn fail_what_is_nowhere(&self, core: &mut Core<P>, id: OpId) {
        let op = &self.ops[id];
        if !op.is_write() {
            return;
        }
        for strip in op.lost.untaken.and(op.written).iter() {
            let is_missing = self.place_of_strip(core, op.stripe, strip) == Place::Missing;
            if is_missing && self.sources_of(core, op.stripe, strip).is_none() {
                // Its other stripes go on.
                core.jobs[op.job()].homeless = true;
                self.lpn_of(core, op.stripe, strip).into_iter().for_each(|lpn| core.note_lost(lpn, op.rank));
            }
        }
    }

    /// A die has taken up the program of a strip, so that its page is in that die's program buffer. A parity that replaces a
    /// partial one leaves the parity cache; the logical page of an eviction, which is told, the write cache.
    pub fn launched(&mut self, core: &mut Core<P>, id: OpId, strip: u32) -> Option<Lpn> {
        let is_parity = strip == self.data_strips();
        let op = &mut self.ops[id];
        if is_parity && std::mem::take(&mut op.parity.replaces_partial) {
            self.held.left();
            if self.held.has_waiting() {
                Self::later(core, StripeStep::ServeWaiting);
            }
        }
        if is_parity || !self.is_eviction(core, id) {
            return None;
        }
        self.lpn_of(core, self.ops[id].stripe, strip)
    }

    /// The program of a strip has ended. One whose die died has failed.
    pub fn program_done(&mut self, core: &mut Core<P>, image: ImageId, id: OpId, strip: u32, outcome: ProgramOutcome) {
        if !outcome.is_done() {
            let (tag, ..) = core.device.images.slot(image, 0);
            let slot = core.device.grid.slot(core.device.images.slab[image].ppn, 0);
            self.lose(core, tag, slot);
            self.ops[id].lost.untaken.insert(strip);
        }
        self.programmed_next(core, id);
    }

    /// One program of the update, or the issuing of all of them, has ended: it goes on behind what it wants of others, if anything.
    fn programmed_next(&mut self, core: &mut Core<P>, id: OpId) {
        if core.out.is_empty() {
            self.programmed(core, id);
        } else {
            Self::later(core, StripeStep::Programmed { op: id });
        }
    }

    /// See [`Self::programmed_next`].
    pub(super) fn programmed(&mut self, core: &mut Core<P>, id: OpId) {
        self.ops[id].under_way -= 1;
        if self.ops[id].under_way == 0 {
            if !self.ops[id].lost.untaken.is_empty() {
                self.hold_parity_without_place(core, id);
                self.fail_what_is_nowhere(core, id);
            }
            self.finish(core, id);
        }
    }

    /// The slot did not get its contents: if the map still has them there, only the rest of the stripe can bring
    /// them back.
    pub fn lose(&mut self, core: &mut Core<P>, tag: OobTag, slot: Slot) {
        if core.place_of(tag.role()) != Place::At(slot) {
            return;
        }
        let pinned = core.publish_missing(tag.role()).pinned;
        self.note_move_of(core, tag.role(), Place::At(slot));
        if let Some(unit) = pinned {
            core.release(unit);
            core.out.push(Effect::StripLost { tag });
        }
    }
}
