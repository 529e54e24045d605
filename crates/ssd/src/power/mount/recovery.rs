//! What follows a mount, as flash commands: pages that may not last are written anew, then the host
//! is heard.
//!
//! Meanwhile units are only erased, not collected: what would count without those pages stays. A
//! cut now finds what this mount found, and at most copies of it.

use crate::core::Command;
use crate::core::mounting::{Mounting, PagesFound};
use crate::core::owner::Owner;
use crate::engine::Engine;
use crate::write::RebuiltBy;
use crate::write::group_log::Feed;
use device::contents::HostPayload;
use ftl::{Stream, UnitId};
use nand::{FlashArray, Scan};
use std::collections::BTreeSet;
use vocab::{Cause, Ppn, StripeId};

impl<P: HostPayload, A: Scan<P>> Engine<P, A> {
    /// What is to be written anew: pages that may not last, and pages that lean on such.
    pub(crate) fn begin_mounting(&mut self, (pages, leaning): (BTreeSet<Ppn>, Vec<Ppn>), pins: Vec<UnitId>, found: PagesFound) {
        self.want_unsettled_groups();
        self.core.safe.recovering = true;
        self.power.mounting = Some(Box::new(Mounting { pages: pages.into_iter().collect(), leaning, pins, found, sent: false }));
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn is_recovering(&mut self) -> bool {
        self.core.safe.recovering &= self.power.mounting.is_some()
            || !self.care.wanted.is_empty()
            || self.care.rebuild.is_under_way()
            || self.writer.stripes.ops.any(|op| op.heals)
            || self.collectors_at(Cause::Rebuild) > 0;
        self.core.safe.recovering
    }

    /// Does what a mount has still to do, as far as it goes without waiting.
    pub(crate) fn mount_on(&mut self) {
        let Some(mounting) = &mut self.power.mounting else { return };
        let pages = std::mem::take(&mut mounting.pages);
        let waiting: Vec<Ppn> = pages.into_iter().filter(|&ppn| !self.rewrite(ppn)).collect();
        if waiting.is_empty() {
            self.rewrite_leaning();
        }
        let rests = self.core.device.is_idle() && self.care.collectors.iter().all(|collector| !collector.is_erasing());
        let Some(mounting) = &mut self.power.mounting else { return };
        mounting.pages = waiting;
        if !rests {
            return;
        }
        if !std::mem::replace(&mut mounting.sent, true) {
            self.send_what_was_moved();
        } else {
            self.finish_mounting();
        }
    }

    /// The same for pages that lean on others, once those have room.
    fn rewrite_leaning(&mut self) {
        let Some(mounting) = &mut self.power.mounting else { return };
        let leaning = std::mem::take(&mut mounting.leaning);
        let waiting: Vec<Ppn> = leaning.into_iter().filter(|&ppn| !self.rewrite(ppn)).collect();
        if let Some(mounting) = &mut self.power.mounting {
            mounting.leaning = waiting;
        }
    }

    /// Reads a page to be moved, if its log has room for it.
    fn rewrite(&mut self, ppn: Ppn) -> bool {
        let log = self.core.map.log_of(self.core.map.unit_of_block(self.core.device.grid.split(ppn).0));
        if !self.core.map.has_room(log, Stream::Gc) {
            self.start_collecting(log);
            return false;
        }
        self.core.moving[log].cause = Cause::Rebuild;
        self.core.moving[log].under_way += 1;
        let owner = Owner::Collect { log: log as u16 };
        let count = self.core.device.grid.slots_per_page() as u8;
        self.core.submit(Command { owner, ppn, count, cause: Cause::Rebuild, ..Command::default() });
        true
    }

    /// Nothing more joins what is to be moved.
    fn send_what_was_moved(&mut self) {
        if self.core.map.kind() == ftl::LogKind::Group {
            self.feed_moves(Feed::All);
        } else {
            (0..self.core.map.logs()).for_each(|log| self.send_moved(log));
        }
    }

    /// The host is heard from now on.
    fn finish_mounting(&mut self) {
        let mounting = self.power.mounting.take().expect("under way");
        self.writer.stripes.unnamed.clear();
        // Pages that were there are members of their sums like any other: the host may have read them.
        self.writer.groups.redo.clear();
        // A page for which there is no room at all stays where it is, and so does what would count without it.
        if mounting.pages.is_empty() {
            mounting.pins.iter().for_each(|&unit| self.release(unit));
            self.writer.stripes.held.all_settled();
        }
        // The host may read all of it from now on.
        mounting.found.there.iter().for_each(|&(lpn, rank)| self.core.safe.journal.found(lpn, rank));
        mounting.found.solved.iter().for_each(|&(lpn, rank)| self.core.safe.journal.solved(lpn, rank));
        self.core.retry = true;
        // Those that found no room until now move with all that their units hold.
        mounting
            .leaning
            .iter()
            .for_each(|&ppn| self.want(self.core.map.unit_of_block(self.core.device.block_of(ppn)), Cause::Rebuild));
        self.resume_rebuild();
        for log in 0..self.core.map.logs() {
            if self.is_wanted(log) {
                self.start_collecting(log);
            }
        }
    }

    /// What a dead die held, or a cut left without a place, is rebuilt.
    fn resume_rebuild(&mut self) {
        match self.writer.rebuilt_by() {
            RebuiltBy::Nothing => {}
            RebuiltBy::Collection if self.core.device.losses.dead().is_empty() => {}
            RebuiltBy::Collection => self.rebuild_superblocks(),
            RebuiltBy::Stripes => {
                let stripes = (0..self.stripe_count()).map(StripeId);
                let is_whole = |stripe| self.stripe_state(stripe).1.is_empty();
                if !stripes.into_iter().all(is_whole) {
                    self.rebuild_stripes();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::testing::tiny_setup;
    use crate::fit::build_scheme;
    use device::contents::Tag;
    use ftl::Place;
    use nand::MemoryArray;
    use vocab::{Fua, HostCommand, HostOp, Lba, Lpn, SimTime};

    type Drive = Engine<Tag, MemoryArray<Tag>>;

    /// A drive that has written page 0, and where that lies.
    fn drive() -> (Drive, Ppn) {
        let mut setup = tiny_setup("none", BufferKind::Off);
        setup.power.mountable = true;
        let protection = build_scheme(&setup.drive, &setup.scheme).expect("a scheme for this drive");
        let array = MemoryArray::new(setup.drive.geometry, true).keeping_updates();
        let mut drive = Drive::new(&setup, protection, array).expect("settings in range");
        let write = HostCommand { at: SimTime::ZERO, op: HostOp::Write(Fua::No), lba: Lba(0), sectors: 8 };
        drive.replay(&mut [write].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written") };
        let ppn = drive.core.device.grid.page_of(slot).0;
        (drive, ppn)
    }

    /// Page 0 may not last, and what would count without it lies in the unit that is pinned. What of the log's room is
    /// left is taken from a mount that ends then.
    fn end_mount(drive: &mut Drive, suspect: Ppn, has_room: bool) -> UnitId {
        let log = drive.core.map.log_of(drive.core.map.unit_of_block(drive.core.device.block_of(suspect)));
        let older = drive.core.map.unit_of_block(drive.core.device.block_of(suspect)) + 1;
        drive.core.map.pin(older);
        while !has_room && drive.core.map.take_page(log, Stream::Gc).is_some() {}
        assert_eq!(drive.core.map.has_room(log, Stream::Gc), has_room);
        drive.begin_mounting(([suspect].into(), vec![]), vec![older], PagesFound { there: vec![(Lpn(0), 7)], solved: vec![] });
        drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        assert!(drive.power.mounting.is_none(), "the host is heard");
        older
    }

    /// A suspect that was not written anew may tear at a later read. Catches a mount that lets go of what would count without
    /// it because there was no room, and one that never lets go.
    #[test]
    fn what_would_count_without_a_page_stays_where_there_was_no_room_to_write_it_anew() {
        for has_room in [true, false] {
            let (mut drive, suspect) = drive();
            let older = end_mount(&mut drive, suspect, has_room);
            assert_eq!(drive.core.map.unit(older).pins, u32::from(!has_room), "room: {has_room}");
            let Place::At(slot) = drive.core.map.lookup(Lpn(0)) else { panic!("it is there") };
            assert_eq!(drive.core.device.grid.page_of(slot).0 != suspect, has_room, "it was written anew");
            assert_eq!(drive.core.safe.journal.rank(Lpn(0)), 7, "the host may have read it");
        }
    }
}
