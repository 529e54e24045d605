//! Rebuild after a loss: care keeps the queue of wanted units and the walk over stripes, reads solve for lost
//! strips, stripes say where a strip goes.

use crate::care::rebuild::{MayWant, ParkedStrip, Walk};
use crate::core::flash::FlashPayload;
use crate::core::owner::Holds;
use crate::core::target::Target;
use crate::engine::Engine;
use crate::write::RebuiltBy;
use device::slab::ImageId;
use ftl::{Stream, UnitId};
use nand::{OobTag, ProgramOutcome};
use vocab::{Cause, DieId, Ppn, StripeId};

impl<P: FlashPayload> Engine<P> {
    /// A die died: everything that has pages on it is to be rebuilt.
    pub(crate) fn rebuild_after_death(&mut self) {
        match self.writer.facts().rebuilt_by {
            RebuiltBy::Nothing => {}
            RebuiltBy::Collection => self.rebuild_superblocks(),
            RebuiltBy::Stripes => self.rebuild_stripes(),
        }
    }

    /// Superblocks were written with pages on a die that is dead: all of them are collected.
    pub(crate) fn rebuild_superblocks(&mut self) {
        if self.care.rebuild.on {
            self.care.rebuild.begin(self.core.device.now);
            self.care.want_all_superblocks(&self.core, &self.writer);
            self.start_collecting(0);
            self.care.note_rebuilt(&self.core);
        }
    }

    /// Strips have no place, or one on a die that is dead: they are solved for. Where a die was replaced, strips that went elsewhere
    /// in the meantime are copied back to it.
    pub(crate) fn rebuild_stripes(&mut self) {
        if self.care.rebuild.on {
            self.care.rebuild.begin(self.core.device.now);
            self.walk_stripes();
        }
    }

    /// Wants the unit collected as soon as its log gets to it.
    pub(crate) fn want(&mut self, unit: UnitId, cause: Cause) {
        let log = self.core.map.log_of(unit);
        match crate::care::Care::may_want(&self.core, unit) {
            MayWant::No => return,
            MayWant::AfterClosing => {
                self.writer.pages.send_moved(&mut self.core, log);
                self.core.map.abandon(unit);
            }
            MayWant::Now => {}
        }
        self.care.queue_wanted(unit, cause);
        self.start_collecting(log);
    }

    /// A strip lost its place on a living die: the next walk gives it another.
    pub(crate) fn strip_lost(&mut self, tag: OobTag) {
        if self.writer.facts().rebuilt_by != RebuiltBy::Stripes {
            return;
        }
        let stripes = self.writer.stripes();
        let Some((stripe, strip)) = stripes.strip_of_role(tag.role()) else { return };
        self.care.rebuild.strip_lost_again((stripe, strip));
        if stripes.home_of(&self.core, stripe, strip).is_some() {
            self.walk_stripes();
        }
    }

    /// A strip was written while it has no die.
    pub(crate) fn strip_homeless(&mut self, tag: OobTag) {
        if let Some(strip) = self.writer.strip_of_role(tag.role()) {
            self.care.rebuild.strip_was_homeless(strip);
        }
    }

    /// Walks all stripes, from the first, for strips that no living die holds.
    fn walk_stripes(&mut self) {
        if self.care.rebuild.on && self.writer.facts().rebuilt_by == RebuiltBy::Stripes && self.care.rebuild.walk_again() {
            self.walk_on();
        }
    }

    /// Starts to solve for lost strips, about as many as may be under way at once.
    fn walk_on(&mut self) {
        if !self.care.rebuild.start_walking() {
            return;
        }
        let stripes = self.writer.stripes().stripe_count(&self.core);
        while let Walk::Look(stripe) = self.care.rebuild.next_step(stripes) {
            self.rebuild_stripe(stripe);
        }
        self.care.rebuild.stop_walking();
        self.note_whole();
        self.care.note_rebuilt(&self.core);
    }

    /// Starts to solve for the stripe's lost strips.
    fn rebuild_stripe(&mut self, stripe: StripeId) {
        self.writer.stripes_mut().commit_if_leaning_on_lost(&mut self.core, stripe);
        self.hand_on();
        for strip in 0..=self.writer.stripes().data_strips() {
            let (stripes, core) = (self.writer.stripes(), &self.core);
            if !stripes.is_strip_wanted(core, stripe, strip) {
                continue;
            }
            if stripes.home_of(core, stripe, strip).is_none() {
                self.care.rebuild.strip_has_no_die();
            } else if self.care.rebuild.strip_begun((stripe, strip), stripes.place_of_strip(core, stripe, strip)) {
                self.fetch_strip(stripe, strip);
            }
        }
    }

    /// Solves for a lost strip, or reads one that is to be copied back.
    fn fetch_strip(&mut self, stripe: StripeId, strip: u32) {
        if self.writer.stripes().is_strip_away(&self.core, stripe, strip) {
            self.copy_back(stripe, strip);
        } else {
            self.repair(Target::Strip { stripe, strip });
        }
    }

    /// Whether the host wrote the strip again while it was solved for, and that is lost, too.
    fn was_overtaken(&self, stripe: StripeId, strip: u32) -> bool {
        self.care.rebuild.was_overtaken((stripe, strip), self.writer.stripes().place_of_strip(&self.core, stripe, strip))
    }

    /// Solves once more for a strip that was overtaken.
    fn solve_again(&mut self, stripe: StripeId, strip: u32) {
        if self.care.rebuild.begin_again((stripe, strip), self.writer.stripes().place_of_strip(&self.core, stripe, strip)) {
            self.fetch_strip(stripe, strip);
        }
    }

    /// A lost strip was solved for, or cannot be.
    pub(crate) fn strip_rebuilt(&mut self, stripe: StripeId, strip: u32, payload: Option<P>) {
        let is_wanted = self.care.rebuild.solve_ended((stripe, strip));
        match payload {
            _ if !is_wanted => {}
            // The host may have written the strip again in the meantime.
            _ if !self.writer.stripes().is_strip_wanted(&self.core, stripe, strip) => {
                self.care.rebuild.strip_done((stripe, strip));
                self.writer.stripes_mut().commit_if_leaning_on_lost(&mut self.core, stripe);
                self.hand_on();
            }
            _ if self.was_overtaken(stripe, strip) => self.solve_again(stripe, strip),
            Some(payload) => {
                self.care.rebuild.park(ParkedStrip { stripe, strip, payload });
                self.place_parked();
            }
            None => self.care.rebuild.strip_is_left((stripe, strip)),
        }
        self.walk_on();
    }

    /// Programs strips that were solved for, in order, as far as there is room.
    fn place_parked(&mut self) {
        while let Some(parked) = self.care.rebuild.take_parked() {
            let (stripe, strip) = (parked.stripe, parked.strip);
            let (stripes, core) = (self.writer.stripes(), &self.core);
            let home = stripes.home_of(core, stripe, strip).filter(|_| stripes.is_strip_wanted(core, stripe, strip));
            let Some(log) = home.map(DieId::index) else {
                self.care.rebuild.strip_done((stripe, strip));
                continue;
            };
            if self.was_overtaken(stripe, strip) || self.care.rebuild.is_stale((stripe, strip)) {
                self.solve_again(stripe, strip);
                continue;
            }
            if self.writer.stripes().is_home_taken(&self.core, stripe, strip) {
                self.care.rebuild.strip_is_left((stripe, strip));
                continue;
            }
            let Some(ppn) = self.core.map.take_page(log, Stream::Host) else {
                self.start_collecting_if_short(log);
                self.care.rebuild.park_again(parked);
                return;
            };
            self.program_parked(parked, log, ppn);
        }
    }

    fn program_parked(&mut self, ParkedStrip { stripe, strip, payload }: ParkedStrip<P>, log: usize, ppn: Ppn) {
        self.writer.stripes_mut().program_rebuilt(&mut self.core, stripe, strip, payload, ppn);
        self.start_collecting_if_short(log);
    }

    /// A rebuilt strip is programmed, or lost again.
    pub(crate) fn strip_programmed(&mut self, image: ImageId, log: usize, outcome: ProgramOutcome) {
        let role = self.core.device.images.slot(image, 0).0.role();
        self.page_done(image, log, Holds::Data, outcome);
        if let Some(strip) = self.writer.stripes_mut().strip_rebuilt(&self.core, role) {
            self.care.rebuild.strip_done(strip);
        }
        self.walk_on();
    }

    /// Tries again to place rebuilt strips.
    pub(crate) fn retry_rebuild(&mut self) {
        if self.care.rebuild.has_parked() {
            self.place_parked();
            self.walk_on();
        }
    }

    /// There is no room for a rebuilt strip on its die and there never will be. Where blocks went bad it goes to another die, one
    /// that has a strip of the stripe already only if all others lack room, too; else it stays lost. True if there was one.
    pub(crate) fn drop_parked(&mut self) -> bool {
        let Some(parked) = self.care.rebuild.take_parked() else { return false };
        let (stripe, strip) = (parked.stripe, parked.strip);
        let is_current = !self.was_overtaken(stripe, strip) && !self.care.rebuild.is_stale((stripe, strip));
        let may_go = self.core.grown_bad > 0 && self.writer.stripes().is_strip_lost(&self.core, stripe, strip) && is_current;
        let page = if may_go { self.page_on_any_die(stripe) } else { None };
        match page {
            Some((log, ppn)) => self.program_parked(parked, log, ppn),
            None => self.care.rebuild.strip_is_left((stripe, strip)),
        }
        self.walk_on();
        true
    }

    /// A page for a strip of the stripe that no die of its own takes, and its log: of a die without a strip of the stripe, if one has
    /// room.
    pub(super) fn page_on_any_die(&mut self, stripe: StripeId) -> Option<(usize, Ppn)> {
        let taken: Vec<usize> = self.writer.stripes().dies_of_strips(&self.core, stripe).map(DieId::index).collect();
        let logs = (0..self.core.map.logs()).filter(|&log| !self.care.collectors[log].halted);
        let mut with_room = logs.filter(|&log| self.core.map.has_room(log, Stream::Host)).peekable();
        let first = with_room.peek().copied()?;
        let log = with_room.find(|log| !taken.contains(log)).unwrap_or(first);
        Some((log, self.core.map.take_page(log, Stream::Host)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::tiny_drive;
    use vocab::{Fua, HostCommand, HostOp, Lba, SimTime, StreamId};

    /// Stripes of three strips on five dies. Catches a strip without room on its own die that joins another one of its stripe,
    /// though a die without any has room; and one that is left lost though some die has room.
    #[test]
    fn a_strip_without_room_goes_to_a_die_that_has_none_of_its_stripe() {
        let mut setup = tiny_setup("raid5", BufferKind::Off);
        setup.scheme.options = [("data_strips".into(), "2".into())].into();
        let mut drive = tiny_drive(&setup);
        for stripe in 0..5 {
            let (op, lba) = (HostOp::Write(Fua::No), Lba(16 * stripe));
            let write = HostCommand { at: SimTime::ZERO, op, lba, sectors: 16, stream: StreamId::default() };
            drive.replay(&mut [write].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        }
        for stripe in (0..5).map(StripeId) {
            let taken: Vec<usize> = drive.writer.stripes().dies_of_strips(&drive.core, stripe).map(DieId::index).collect();
            assert_eq!(taken.len(), 3);
            let (log, _) = drive.page_on_any_die(stripe).expect("there is room");
            assert!(!taken.contains(&log), "{stripe:?} lies on {taken:?}, found {log}");
        }
        let taken: Vec<usize> = drive.writer.stripes().dies_of_strips(&drive.core, StripeId(0)).map(DieId::index).collect();
        for log in (0..5).filter(|log| !taken.contains(log)) {
            while drive.core.map.take_page(log, Stream::Host).is_some() {}
        }
        assert!(drive.page_on_any_die(StripeId(0)).is_some_and(|(log, _)| taken.contains(&log)));
    }
}
