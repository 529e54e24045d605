//! Programs that failed, and victims that find no room: contents that the controller still has go to another
//! page, or wait for one.

use crate::care::rebuild::ParkedStrip;
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::{Command, oob_covering};
use crate::engine::Engine;
use crate::write::WithoutReserve;
use crate::write::group_log::Placed;
use crate::write::region::Elsewhere;
use device::image::{Contents, Image};
use ftl::{LogKind, Place, UnitId};
use nand::{FlashArray, OobTag, PageRole, ProgramOutcome};
use vocab::{BlockAddr, Cause, Ppn, Slot, SuperblockId};

impl<P: FlashPayload> Engine<P> {
    /// A program of the page failed. Where the die answers, its block is bad: it is written no
    /// more, and what it still holds is brought to safety.
    pub(crate) fn block_failed(&mut self, ppn: Ppn) {
        if self.core.device.array.answers(ppn) {
            let block = self.core.device.block_of(ppn);
            self.drop_bad_block(block);
            self.want(self.core.map.unit_of_block(block), Cause::Rebuild);
        }
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
            // The contents of the block must not be found once its superblock holds something else.
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
            Owner::Page { .. } if self.writer.places_pages_anywhere() => {}
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

    /// Places contents whose program failed. True if that is settled: they have a place, or are lost.
    fn place_displaced(&mut self, command: &Command) -> bool {
        match self.writer.page_elsewhere(&mut self.core, command) {
            Elsewhere::Page(owner, ppn) => self.send_elsewhere(command, owner, ppn),
            Elsewhere::NoRoom => return false,
            Elsewhere::NoRoomAnywhere => {
                self.collect_on_all_dies();
                return false;
            }
            Elsewhere::Lost => self.program_over(command, ProgramOutcome::Failed),
        }
        true
    }

    /// There is no room on its die for a strip: any die is better than none, as long as the controller has its contents. Its stripe
    /// may stand in for it, but a part of that may be lost unnoticed, and no solve would bring the strip back then. True if a die has
    /// room; one without any strip of the stripe, if it can be chosen. Two strips may share a die, until the next write of one of them.
    pub(crate) fn place_anywhere(&mut self, command: &Command) -> bool {
        let (Owner::Stripe { .. } | Owner::Strip { .. }) = command.owner else { return false };
        let page = self.writer.page_anywhere(&mut self.core, command, |log| self.care.collectors[log].halted);
        let Some((log, ppn)) = page else { return false };
        let owner = if let Owner::Strip { .. } = command.owner { Owner::Strip { log: log as u16 } } else { command.owner };
        self.send_elsewhere(command, owner, ppn);
        true
    }

    /// Programs contents that failed to be programmed into this page.
    fn send_elsewhere(&mut self, command: &Command, owner: Owner, ppn: Ppn) {
        let Image { oob, filled, .. } = self.core.device.images.slab[command.image];
        let oob = oob_covering(oob.coverage);
        self.core.device.images.slab[command.image] = Image { oob, filled, ppn };
        for index in 0..filled {
            let tag = self.core.device.images.slot(command.image, index).0;
            let (from, to) = (self.core.device.grid.slot(command.ppn, index), self.core.device.grid.slot(ppn, index));
            if let Some(published) = self.writer.republish(&mut self.core, tag.role(), from, to) {
                // The slot that failed holds nothing that anyone could go back to.
                published.pinned.into_iter().for_each(|unit| self.release(unit));
                continue;
            }
            // It may be an old version, which a partial parity knows; it stays pinned.
            let unpinned = self.writer.old_goes_to(&mut self.core, tag.role(), from, to);
            unpinned.into_iter().for_each(|unit| self.release(unit));
            let update = self.core.device.images.updates(command.image)[index as usize];
            let unpinned = self.writer.move_pin(&mut self.core, tag, update, from, to);
            unpinned.into_iter().for_each(|unit| self.release(unit));
        }
        self.core.submit_program(command.image, owner, command.cause);
        // Not before: GC may take pages behind this one.
        self.start_collecting_if_short(self.core.log_of_page(ppn));
    }

    /// The block that went bad was the log's reserve: what a victim holds finds no room on its
    /// die. Without redundancy it goes to another die; a strip of a static stripe is kept in the
    /// controller, its stripe standing in for it, until the erased victim gives room.
    pub(crate) fn move_without_reserve(&mut self, log: usize, contents: Contents<P>) {
        let role = contents.tag.role();
        match (self.writer.facts.without_reserve, role) {
            (WithoutReserve::OtherDie, PageRole::Data(lpn)) => {
                let placed = self.writer.move_to_other_die(&mut self.core, lpn, contents);
                self.hand_on();
                self.care.collectors[log].stuck |= placed == Placed::NoRoom;
            }
            // Where the stripe lacks another strip it cannot stand in for this one.
            (WithoutReserve::Park, _) if self.writer.may_park(&self.core, role) => self.park_contents(contents),
            _ => self.care.collectors[log].stuck = true,
        }
    }

    /// Keeps a strip that finds no room in the controller.
    fn park_contents(&mut self, contents: Contents<P>) {
        let role = contents.tag.role();
        let Some(strip) = self.writer.strip_of_role(role) else { unreachable!("fillers are never valid") };
        let pinned = self.writer.leave_place(&mut self.core, role);
        self.care.rebuild.park_newer(ParkedStrip { strip, payload: contents.payload });
        pinned.into_iter().for_each(|unit| self.release(unit));
    }

    /// There is no place for contents that failed to be programmed: the page gets back what it held
    /// before, which is there as long as unit `pin` is pinned. False where there was nothing, or
    /// something newer took its place, or a stripe is to bring the contents back, or it would go back behind what
    /// was durable.
    pub(crate) fn take_back(&mut self, tag: OobTag, update: u64, failed: Slot, pin: Option<UnitId>) -> bool {
        let place = self.core.place_of(tag.role());
        let Some(pin) = pin.filter(|_| place == Place::At(failed)) else { return false };
        // The version before may be on its way itself, or wait for another place. If it was lost with the die of its unit, copies in
        // flash are older than what the host was answered for.
        let is_there =
            self.core.map.blocks_of(pin).all(|block| self.core.device.array.answers(self.core.device.grid.ppn(block, 0)));
        let in_flash = if is_there { self.care.newest_copy(&self.core, tag, update, failed) } else { None };
        let under_way = self.writer.older_under_way(&self.core, tag, update);
        let Some((old, rank)) = in_flash.into_iter().chain(under_way).max_by_key(|&(_, rank)| rank) else { return false };
        if rank < self.writer.least_rank(&self.core, tag.role(), update) {
            return false;
        }
        if let PageRole::Data(lpn) = tag.role()
            && lpn.0 < self.core.map.user_slots()
        {
            self.contents_change(lpn);
        }
        self.writer.note_version(tag.role(), rank);
        let published = self.writer.publish(&mut self.core, tag.role(), old);
        published.pinned.into_iter().for_each(|unit| self.release(unit));
        self.care.collectors_of_are_stuck([pin, self.core.map.unit_of(old)]);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{BufferKind, Pace};
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::{TinyDrive as Drive, tiny_drive};
    use device::contents::{HostPayload, Tag};
    use ftl::{Place, UnitState};
    use nand::{FlashArray, OobTag};
    use vocab::{BlockAddr, Cause, DieId, Fua, HostCommand, HostOp, Lba, Lpn, SimTime};

    fn drive() -> Drive {
        tiny_drive(&tiny_setup("none", BufferKind::Off))
    }

    fn run(drive: &mut Drive, op: HostOp, lpn: u32) {
        let command =
            HostCommand { at: SimTime::ZERO, op, lba: Lba(u64::from(lpn) * 8), sectors: 8, stream: vocab::StreamId::default() };
        drive.replay(&mut [command].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
    }

    fn block_of(drive: &Drive, lpn: u32) -> BlockAddr {
        let Place::At(slot) = drive.core.map.lookup(Lpn(lpn)) else { panic!("page {lpn} is lost") };
        drive.core.device.block_of(drive.core.device.grid.page_of(slot).0)
    }

    /// A block wears out while it is written. Catches contents that are lost with their program, an answer that
    /// never comes, a page that stays behind in the bad block, and a bad block that is used again.
    #[test]
    fn a_displaced_program_lands_in_another_block_of_its_die_and_the_bad_block_is_emptied() {
        let mut drive = drive();
        // Pages 0 and 5 go to die 0; the others take their turns on the other dies.
        (0..5).for_each(|lpn| run(&mut drive, HostOp::Write(Fua::No), lpn));
        let bad = block_of(&drive, 0);
        drive.core.device.array.wear_out(bad);
        run(&mut drive, HostOp::Write(Fua::No), 5);
        let found = [0, 5].map(|lpn| block_of(&drive, lpn));
        assert!(found.iter().all(|&block| block != bad), "page 0 was collected, page 5 displaced: {found:?}");
        assert_eq!(drive.core.device.grid.split_block(found[1]).0, DieId(0));
        assert_eq!(drive.core.map.unit(bad.0).state, UnitState::Bad, "its erase failed, too");
        assert!(drive.core.grown_bad > 0 && drive.host.requests.read_only_since.is_none());
        (0..6).for_each(|lpn| run(&mut drive, HostOp::Read, lpn));
        assert_eq!((drive.core.device.folds.checked, drive.host.first_mismatch.clone()), (6, None));
        drive.core.map.check_counts();
    }

    /// The die of a page without redundancy dies under its program. Catches a page that waits for a die which will
    /// never answer.
    #[test]
    fn without_redundancy_a_page_leaves_a_dead_die() {
        let mut drive = drive();
        let command = HostCommand {
            at: SimTime::ZERO,
            op: HostOp::Write(Fua::No),
            lba: Lba(0),
            sectors: 8,
            stream: vocab::StreamId::default(),
        };
        let mut killed = false;
        let mut commands = [command].into_iter();
        drive.replay_stepwise(&mut commands, Pace::Closed { depth: 1 }, &mut |_, _| {}, |drive| {
            killed = drive.core.device.is_busy(DieId(0));
            !killed
        });
        assert!(killed, "die 0 is programming");
        drive.core.device.array.kill(DieId(0));
        drive.die_died(DieId(0));
        drive.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        assert_ne!(drive.core.device.grid.split_block(block_of(&drive, 0)).0, DieId(0));
        run(&mut drive, HostOp::Read, 0);
        assert_eq!(drive.host.first_mismatch, None);
        assert!(drive.core.device.array.answers(drive.core.device.grid.ppn(block_of(&drive, 0), 0)));
    }

    /// Copy to which a page goes back where newer contents find no place. Catches a copy in a block whose erase was asked
    /// for: it will be gone.
    #[test]
    fn what_is_being_erased_is_no_copy_to_go_back_to() {
        let mut drive = drive();
        run(&mut drive, HostOp::Write(Fua::No), 0);
        let Place::At(old) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written") };
        run(&mut drive, HostOp::Write(Fua::No), 0);
        let Place::At(newest) = drive.core.map.lookup(Lpn(0)) else { panic!("it was written again") };
        let found = |drive: &Drive| {
            let copy = drive.care.newest_copy(&drive.core, OobTag::data(Lpn(0)), u64::MAX, newest);
            copy.map(|(slot, _)| slot)
        };
        assert_eq!(found(&drive), Some(old));
        let (unit, other) = (drive.core.map.unit_of(old), drive.core.map.unit_of(newest));
        assert_ne!(unit, other, "pages go to dies in turn");
        drive.core.map.abandon(unit);
        assert!(drive.core.map.condemn_unit(unit));
        let log = drive.core.map.log_of(unit);
        drive.begin_collecting(log, unit, Cause::Gc);
        assert!(drive.care.collectors[log].is_erasing());
        assert_eq!(found(&drive), None);
    }

    /// The version before a failed one was lost with its die, and an older one is in flash. Catches a page that goes back to that:
    /// the host would read what it has overwritten (torture, seed 880001, 2188382).
    #[test]
    fn a_page_goes_back_to_the_version_before_or_to_none() {
        for is_lost in [false, true] {
            let mut drive = drive();
            let versions: Vec<ftl::Place> = (0..3)
                .map(|_| {
                    run(&mut drive, HostOp::Write(Fua::No), 0);
                    drive.core.map.lookup(Lpn(0))
                })
                .collect();
            let [_, Place::At(before), Place::At(failed)] = versions[..] else { panic!("{versions:?}") };
            let before_ppn = drive.core.device.grid.page_of(before).0;
            let rank = drive.core.device.array.update(drive.core.device.grid.page_of(failed).0, 0);
            if is_lost {
                drive.core.device.array.kill(drive.core.device.grid.die_of(before_ppn));
            }
            let unit = drive.core.map.unit_of(before);
            drive.core.map.pin(unit);
            let goes_back = drive.take_back(OobTag::data(Lpn(0)), rank, failed, Some(unit));
            let expected = if is_lost { (false, failed) } else { (true, before) };
            assert_eq!((goes_back, drive.core.map.lookup(Lpn(0))), (expected.0, Place::At(expected.1)), "lost: {is_lost}");
        }
    }

    /// Contents of a page are on their way to flash three times. Catches contents that go back to themselves, or to newer ones.
    #[test]
    fn what_a_page_goes_back_to_is_older() {
        let mut drive = drive();
        let tag = OobTag::data(Lpn(0));
        let mut under_way = Vec::new();
        for (die, update) in [(0, 5), (1, 7), (2, 9)] {
            let ppn = drive.core.map.take_page(die, ftl::Stream::Host).expect("a die with room");
            let image = drive.core.device.images.open(ppn, nand::Oob::default());
            let contents = device::image::Contents { tag, payload: Tag::stamp(Lpn(0), update as u32, 8), update };
            drive.core.device.images.fill(image, contents, None, None);
            drive.core.submit_program(image, crate::core::owner::Owner::NoOne, Cause::Host);
            under_way.push((drive.core.device.grid.slot(ppn, 0), update));
        }
        let older = |update| drive.writer.older_under_way(&drive.core, tag, update);
        assert_eq!([5, 7, 9, 10].map(older), [None, Some(under_way[0]), Some(under_way[1]), Some(under_way[2])]);
    }
}
