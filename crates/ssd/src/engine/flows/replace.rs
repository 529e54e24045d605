//! A spare die takes the place of a dead one (decision 19).
//!
//! Under static stripes that comes at once: what the die held has no place any more, its blocks are free, and the rebuild writes it again,
//! solved for from its stripes. A group log writes around a dead die into spare room first: the spare die comes once no superblock is
//! left that was written before the death, and gives the room back.
//!
//! Strips that went to other dies in the meantime are copied back, so that every stripe lies where it was laid out for. Until all of that is
//! done the die counts as one that lacks what was in flash, for mounts as well.

use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::engine::Engine;
use crate::engine::reads::reads;
use crate::write::RebuiltBy;
use crate::write::sources::Sources;
use crate::write::stripes::seam::Strip;
use ftl::Place;
use nand::PageRole;
use vocab::{Cause, DieId, Lpn, SimTime, Slot, StripeId};

impl<P: FlashPayload> Engine<P> {
    /// The dead die is to be replaced at this time, or as soon after as nothing is under way that knows its pages. A run goes on until
    /// then, though its last request was answered before.
    pub(crate) fn replace_from(&mut self, die: DieId, at: SimTime) {
        if !self.core.device.is_dead(die) {
            return;
        }
        self.care.replacements.ask(die, at);
        self.care.expect_replacement(&mut self.core);
        // Those that hold nothing any more, too, which the rebuild passes over.
        for unit in self.care.replacements.written_before().clone() {
            self.want(unit, Cause::Rebuild);
        }
    }

    /// Replaces the dies whose time has come, unless something is under way.
    #[cold]
    pub(crate) fn replacements_due(&mut self) {
        if self.power.mounting.is_some() {
            return;
        }
        for die in self.care.replacements.due(self.core.device.now) {
            if self.care.may_replace(&self.core, die) {
                self.care.replacements.done(die, self.core.device.now);
                self.replace(die);
            }
        }
    }

    /// A new die has the place of a dead one.
    fn replace(&mut self, die: DieId) {
        let is_of_stripes = self.writer.facts.rebuilt_by == RebuiltBy::Stripes;
        if is_of_stripes {
            self.leave_places_on(die);
        }
        self.core.device.replace_die(die);
        let grid = self.core.device.grid.clone();
        for block in (0..grid.blocks_per_die()).map(|number| grid.block(die, number)) {
            self.core.safe.erasing.remove(&block);
            self.care.block_emptied(&mut self.core, block);
        }
        // Pages of an erased block do not say that it is new.
        self.core.safe.wear_was_added = true;
        if is_of_stripes { renew_logs_of(self, die) } else { rejoin(self, die) }
    }

    /// No page is on the die any more: strips that it held are missing, and so are old versions that partial parities know there. A
    /// solve under way, for a strip that was missing before the host wrote it there, gives what it held before.
    fn leave_places_on(&mut self, die: DieId) {
        let grid = self.core.device.grid.clone();
        let is_there = |place: Place| matches!(place, Place::At(slot) if grid.die_of(grid.page_of(slot).0) == die);
        let data = (0..self.core.map.user_slots()).map(|lpn| PageRole::Data(Lpn(lpn)));
        let parities = (0..self.writer.stripe_count(&self.core)).map(|stripe| PageRole::Parity(StripeId(stripe)));
        for role in data.chain(parities) {
            if is_there(self.core.place_of(role)) {
                let pinned = self.writer.leave_place(&mut self.core, role);
                self.writer.strip_of_role(role).into_iter().for_each(|strip| self.care.rebuild.strip_lost_again(strip));
                pinned.into_iter().for_each(|unit| self.release(unit));
            }
        }
        let gone = self.writer.lose_old(&self.core, is_there);
        gone.into_iter().for_each(|unit| self.release(unit));
    }

    /// Copies a strip that can be read to the die that it was laid out for.
    pub(super) fn copy_back(&mut self, strip: Strip, slot: Slot) {
        let (ppn, index) = self.core.device.grid.page_of(slot);
        if let Some(image) = self.writer.unsent(&self.core, ppn) {
            let payload = self.core.device.images.contents(image).1[index as usize].clone();
            self.strip_rebuilt(strip, Some(payload));
            return;
        }
        let sources = Sources::Sum { held: P::default(), pages: vec![ppn], slot: index };
        reads!(self.solve_from(Target::Strip { stripe: strip.0, strip: strip.1 }, sources, Vec::new()));
    }

    /// A rebuild has ended: if it left nothing undone, dies that were replaced are like any other. A strip that was on its way to another
    /// die when its own was replaced has got there in the meantime, and one whose die was taken may find it free: all stripes are walked
    /// again, as long as fewer strips lack their place.
    pub(crate) fn note_whole(&mut self) {
        if self.core.device.losses.lacking().is_empty() || !self.care.rebuild.rests() {
            return;
        }
        let out = self.writer.strips_out(&self.core);
        if self.care.replacements.are_fewer(out) {
            self.begin_rebuild();
        } else if out == 0 && self.care.rebuild_left(&self.core) == 0 {
            self.core.device.losses.all_rebuilt();
        }
    }
}

/// The die's superblocks have it as a member again, from their next erase on.
fn rejoin<P: FlashPayload>(engine: &mut Engine<P>, die: DieId) {
    engine.core.device.losses.lacks_nothing(die);
    engine.core.map.rejoin_die(die);
    engine.writer.settle_space(&mut engine.core);
    engine.core.retry = true;
}

/// The die's logs are empty, and the rebuild fills them.
fn renew_logs_of<P: FlashPayload>(engine: &mut Engine<P>, die: DieId) {
    let profiles = engine.care.profiles.as_ref();
    engine.core.map.renew_die(die, |block| profiles.is_some_and(|profiles| profiles.holds(block)));
    engine.care.logs_are_new(&mut engine.core, die);
    engine.writer.look_for_missing_parity();
    engine.core.retry = true;
    engine.begin_rebuild();
}
