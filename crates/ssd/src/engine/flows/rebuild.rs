//! Rebuild after a loss: care keeps the queue of wanted units and the walk over stripes, reads solve for lost
//! strips, stripes say where a strip goes.

use crate::care::Care;
use crate::care::rebuild::{MayWant, ParkedStrip, Walk};
use crate::core::flash::FlashPayload;
use crate::core::owner::Holds;
use crate::core::target::Target;
use crate::engine::Engine;
use crate::write::RebuiltBy;
use crate::write::stripes::seam::{Home, Strip, WantedStrip};
use device::slab::ImageId;
use ftl::{Stream, UnitId};
use nand::{OobTag, ProgramOutcome};
use vocab::{Cause, Ppn, StripeId};

impl<P: FlashPayload> Engine<P> {
    /// Begins to rebuild contents that have no place, or one on a die that is dead. Superblocks are collected, all of them. Strips are solved
    /// for; where a die was replaced, those that went elsewhere in the meantime are copied back to it.
    pub(crate) fn begin_rebuild(&mut self) {
        let by = self.writer.facts.rebuilt_by;
        if !self.care.rebuild.on || by == RebuiltBy::Nothing {
            return;
        }
        self.care.rebuild.begin(self.core.device.now);
        if by == RebuiltBy::Stripes {
            return self.walk_stripes();
        }
        self.care.want_all_superblocks(&self.core, &self.writer);
        self.start_collecting(0);
        self.care.note_rebuilt(&self.core);
    }

    /// Wants the unit collected as soon as its log gets to it.
    pub(crate) fn want(&mut self, unit: UnitId, cause: Cause) {
        match Care::may_want(&self.core, unit) {
            MayWant::No => return,
            MayWant::AfterClosing => self.writer.close_unit(&mut self.core, unit),
            MayWant::Now => {}
        }
        self.care.queue_wanted(unit, cause);
        self.start_collecting(self.core.map.log_of(unit));
    }

    /// A strip lost its place on a living die: the next walk gives it another.
    pub(crate) fn strip_lost(&mut self, tag: OobTag) {
        let Some(strip) = self.writer.strip_of_role(tag.role()) else { return };
        self.care.rebuild.strip_lost_again(strip);
        if self.writer.has_home(&self.core, strip) {
            self.walk_stripes();
        }
    }

    /// Walks all stripes, from the first, for strips that no living die holds.
    fn walk_stripes(&mut self) {
        if self.care.rebuild.on && self.writer.facts.rebuilt_by == RebuiltBy::Stripes && self.care.rebuild.walk_again() {
            self.walk_on();
        }
    }

    /// Starts to solve for lost strips, about as many as may be under way at once.
    fn walk_on(&mut self) {
        if !self.care.rebuild.start_walking() {
            return;
        }
        let stripes = self.writer.stripe_count(&self.core);
        while let Walk::Look(stripe) = self.care.rebuild.next_step(stripes) {
            self.rebuild_stripe(stripe);
        }
        self.care.rebuild.stop_walking();
        self.note_whole();
        self.care.note_rebuilt(&self.core);
    }

    /// Starts to solve for the stripe's lost strips.
    fn rebuild_stripe(&mut self, stripe: StripeId) {
        self.writer.commit_if_leaning_on_lost(&mut self.core, stripe);
        self.hand_on();
        for strip in self.writer.strips_of(stripe) {
            let Some(wanted) = self.writer.wanted_strip(&self.core, strip) else { continue };
            if wanted.home == Home::None {
                self.care.rebuild.strip_has_no_die();
            } else if self.care.rebuild.strip_begun(strip, wanted.place) {
                self.fetch_strip(strip, wanted);
            }
        }
    }

    /// Solves for a lost strip, or reads one that is to be copied back.
    fn fetch_strip(&mut self, strip: Strip, wanted: WantedStrip) {
        match wanted.away {
            Some(slot) => self.copy_back(strip, slot),
            None => self.repair(Target::Strip { stripe: strip.0, strip: strip.1 }),
        }
    }

    /// Solves once more for a strip that the host wrote again while it was solved for, and that is lost, too.
    fn solve_again(&mut self, strip: Strip, wanted: WantedStrip) {
        if self.care.rebuild.begin_again(strip, wanted.place) {
            self.fetch_strip(strip, wanted);
        }
    }

    /// A lost strip was solved for, or cannot be.
    pub(crate) fn strip_rebuilt(&mut self, strip: Strip, payload: Option<P>) {
        if self.care.rebuild.solve_ended(strip) {
            self.solved_strip(strip, payload);
        }
        self.walk_on();
    }

    fn solved_strip(&mut self, strip: Strip, payload: Option<P>) {
        let Some(wanted) = self.writer.wanted_strip(&self.core, strip) else {
            // The host wrote the strip again in the meantime.
            self.care.rebuild.strip_done(strip);
            self.writer.commit_if_leaning_on_lost(&mut self.core, strip.0);
            self.hand_on();
            return;
        };
        match payload {
            _ if self.care.rebuild.was_overtaken(strip, wanted.place) => self.solve_again(strip, wanted),
            Some(payload) => {
                self.care.rebuild.park(ParkedStrip { strip, payload });
                self.place_parked();
            }
            None => self.care.rebuild.strip_is_left(strip),
        }
    }

    /// Programs strips that were solved for, in order, as far as there is room.
    fn place_parked(&mut self) {
        while let Some(parked) = self.care.rebuild.take_parked() {
            let strip = parked.strip;
            let wanted = self.writer.wanted_strip(&self.core, strip).filter(|wanted| wanted.home != Home::None);
            let Some(wanted) = wanted else {
                self.care.rebuild.strip_done(strip);
                continue;
            };
            if self.care.rebuild.was_overtaken(strip, wanted.place) || self.care.rebuild.is_stale(strip) {
                self.solve_again(strip, wanted);
                continue;
            }
            let Home::Free(die) = wanted.home else {
                self.care.rebuild.strip_is_left(strip);
                continue;
            };
            let Some(ppn) = self.core.map.take_page(die.index(), Stream::Host) else {
                self.start_collecting_if_short(die.index());
                self.care.rebuild.park_again(parked);
                return;
            };
            self.program_parked(parked, die.index(), ppn);
        }
    }

    fn program_parked(&mut self, ParkedStrip { strip, payload }: ParkedStrip<P>, log: usize, ppn: Ppn) {
        self.writer.program_rebuilt(&mut self.core, strip, payload, ppn);
        self.start_collecting_if_short(log);
    }

    /// A rebuilt strip is programmed, or lost again.
    pub(crate) fn strip_programmed(&mut self, image: ImageId, log: usize, outcome: ProgramOutcome) {
        let role = self.core.device.images.slot(image, 0).0.role();
        self.page_done(image, log, Holds::Data, outcome);
        if let Some(strip) = self.writer.strip_rebuilt(&self.core, role) {
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
        let strip = parked.strip;
        let rebuild = &self.care.rebuild;
        let is_current = |wanted: WantedStrip| !rebuild.was_overtaken(strip, wanted.place) && !rebuild.is_stale(strip);
        let lost = self.writer.wanted_strip(&self.core, strip).filter(|wanted| wanted.away.is_none());
        let page = if self.core.grown_bad > 0 && lost.is_some_and(is_current) {
            self.writer.page_on_any_die(&mut self.core, strip.0, |log| self.care.collectors[log].halted)
        } else {
            None
        };
        match page {
            Some((log, ppn)) => self.program_parked(parked, log, ppn),
            None => self.care.rebuild.strip_is_left(strip),
        }
        self.walk_on();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::{TinyDrive as Drive, tiny_drive};
    use vocab::{DieId, Fua, HostCommand, HostOp, Lba, SimTime, StreamId};

    fn taken_by(drive: &Drive, stripe: StripeId) -> Vec<usize> {
        let stripes = drive.writer.stripes_if_any().expect("static stripes");
        stripes.dies_of_strips(&drive.core, stripe).map(DieId::index).collect()
    }

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
            let taken = taken_by(&drive, stripe);
            assert_eq!(taken.len(), 3);
            let (log, _) = drive.writer.page_on_any_die(&mut drive.core, stripe, |_| false).expect("there is room");
            assert!(!taken.contains(&log), "{stripe:?} lies on {taken:?}, found {log}");
        }
        let taken = taken_by(&drive, StripeId(0));
        for log in (0..5).filter(|log| !taken.contains(log)) {
            while drive.core.map.take_page(log, Stream::Host).is_some() {}
        }
        let page = drive.writer.page_on_any_die(&mut drive.core, StripeId(0), |_| false);
        assert!(page.is_some_and(|(log, _)| taken.contains(&log)));
    }
}
