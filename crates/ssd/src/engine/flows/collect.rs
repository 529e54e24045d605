//! GC: care chooses and reads, the way of writing moves, care erases.

use crate::care::DriveIs;
use crate::care::collect::{AfterErase, Collecting, NextVictim};
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{Command, data_of};
use crate::engine::Engine;
use crate::write::group_log::Feed;
use crate::write::moves::Move;
use device::image::Contents;
use ftl::{LogKind, UnitId};
use nand::{ProgramOutcome, ReadOutcome};
use vocab::{BlockAddr, Cause, DieId, Ppn, Slot};

impl<P: FlashPayload> Engine<P> {
    /// Starts the log's collector if it is idle and the log is short of space.
    #[inline]
    pub(crate) fn start_collecting_if_short(&mut self, log: usize) {
        if self.core.map.is_short(log) {
            self.start_collecting(log);
        }
    }

    /// The die has nothing to do: its logs get more free blocks than they need, as is asked for.
    pub(crate) fn collect_when_idle(&mut self, die: DieId) {
        if self.core.device.is_dead(die) {
            return;
        }
        for log in self.core.map.logs_of_die(die) {
            if self.care.wants_more_free(&self.core, log) {
                self.start_collecting(log);
            }
        }
    }

    /// The drive has nothing to do: a group of a code no longer in use is collected.
    pub(crate) fn migrate_when_idle(&mut self) {
        if !self.writer.is_migrating() || !self.host.stalled.is_empty() || self.care.collectors[0].is_busy() {
            return;
        }
        match self.core.map.condemn_outdated() {
            Some(victim) => self.begin_collecting(0, victim, Cause::Gc),
            None => self.writer.settle_migration(&self.core),
        }
    }

    /// The host asks for nothing: logs whose collectors are idle fold their caches.
    pub(crate) fn fold_when_idle(&mut self) {
        for log in 0..self.core.map.logs() {
            let is_free = self.care.collectors[log].is_free();
            if !is_free || self.power.mounting.is_some() || !self.core.map.may_fold(log) {
                continue;
            }
            let commits_first = self.core.is_mountable() && !self.care.commits_have_room(&self.core, &self.writer);
            let victim = if commits_first || self.core.map.lacks_free(log) { None } else { self.core.map.condemn_slc(log) };
            match victim {
                Some(victim) => self.begin_collecting(log, victim, Cause::Fold),
                None => self.start_collecting(log),
            }
        }
    }

    /// Starts the log's collector if it can take a victim.
    pub(crate) fn start_collecting(&mut self, log: usize) {
        let write_waits = !self.host.stalled.is_empty();
        if !self.care.may_take_victim(&self.core, &self.writer, write_waits, log)
            || self.core.has_lost_room() && self.care.gains_nothing(&self.core, log)
        {
            return;
        }
        let Some((victim, cause)) = self.next_victim(log) else { return };
        // A mount does not know which blocks went bad before, and several cuts in a row waste room, too: a victim of a
        // region log that is read, spared and read again would keep the drive busy for ever.
        let is_region = self.core.map.kind() == LogKind::Regions;
        let may_lack_room = self.core.grown_bad > 0 || is_region && self.core.is_mountable();
        if may_lack_room && self.writer.has_nowhere_to_go(&self.core, log, victim) {
            self.core.map.reprieve(victim);
            return;
        }
        self.begin_collecting(log, victim, cause);
    }

    /// The log's next victim, condemned.
    fn next_victim(&mut self, log: usize) -> Option<(UnitId, Cause)> {
        let drive = if self.power.mounting.is_some() { DriveIs::Mounting } else { DriveIs::Up };
        loop {
            match self.care.next_victim(&mut self.core, &self.writer, drive, log) {
                NextVictim::None => return None,
                NextVictim::Condemned(unit, cause) => return Some((unit, cause)),
                NextVictim::CloseFirst(unit, cause) => {
                    self.close_superblock(log, unit);
                    if self.core.map.condemn_unit(unit) {
                        return Some((unit, cause));
                    }
                }
            }
        }
    }

    /// Ends the open rows of a superblock: nothing more is written to it.
    fn close_superblock(&mut self, log: usize, unit: UnitId) {
        // Ending a row may find the log short: the collector has its victim already.
        self.care.collectors[log].halted = true;
        self.end_rows_of(Some(unit));
        self.care.collectors[log].halted = false;
        self.core.map.abandon(unit);
    }

    /// Collects a condemned victim.
    pub(crate) fn begin_collecting(&mut self, log: usize, victim: UnitId, cause: Cause) {
        self.care.begin(&mut self.core, log, victim, cause);
        self.writer.unit_condemned(&mut self.core, victim);
        self.hand_on();
        self.collect(log);
    }

    /// Advances the log's GC as far as it goes without waiting.
    #[inline]
    pub(crate) fn collect(&mut self, log: usize) {
        loop {
            match self.care.collect(&mut self.core, &self.writer, log) {
                Collecting::Waits => return,
                Collecting::SendOpenPage => _ = self.writer.send_open_page(&mut self.core),
                Collecting::AllRead(victim) => {
                    match self.core.map.kind() {
                        LogKind::Regions => self.writer.send_moved(&mut self.core, log),
                        LogKind::Group => self.feed_moves(Feed::All),
                    }
                    self.care.erase_if_free(&mut self.core, log, victim);
                    // The pages of the next victim move in the meantime.
                    if self.care.collectors[log].is_erasing() {
                        self.start_collecting(log);
                    }
                    return;
                }
            }
        }
    }

    /// A page of the victim was read.
    pub(crate) fn collect_read_done(&mut self, ppn: Ppn, log: usize, outcome: ReadOutcome) {
        self.core.moving[log].under_way -= 1;
        let slots = if self.core.device.is_displaced(ppn) { 0 } else { self.core.device.grid.slots_per_page() };
        for index in 0..slots {
            let slot = self.core.device.grid.slot(ppn, index);
            // The host may have overwritten the page in the meantime.
            if !self.core.map.is_valid(slot) {
                continue;
            }
            if outcome.is_clean() {
                self.relocate(log, self.core.device.contents_at(ppn, index), slot);
            } else {
                self.core.moving[log].under_way += 1;
                self.repair(Target::Move { log: log as u16, slot });
            }
        }
        self.collect(log);
    }

    /// Gives a page of the victim a new place.
    #[inline]
    pub(crate) fn relocate(&mut self, log: usize, contents: Contents<P>, from: Slot) {
        match self.core.map.kind() {
            LogKind::Regions => match self.care.must_build_first(&mut self.core, &self.writer, log, contents.tag) {
                Some(stripe) => {
                    self.core.moving[log].under_way += 1;
                    self.writer.build_parity(&mut self.core, stripe, Some(Target::Move { log: log as u16, slot: from }));
                    self.hand_on();
                }
                None => self.move_in_region(log, contents, from),
            },
            LogKind::Group => {
                self.writer.moves.queue.push_back(Move { contents, from });
                self.feed_moves(Feed::WholePages);
            }
        }
    }

    /// The parity that a move waited for is there, or cannot be: the page is read again.
    pub(crate) fn parity_built(&mut self, waiter: Option<Target>) {
        let Some(Target::Move { log, slot }) = waiter else { return };
        let (ppn, _) = self.core.device.grid.page_of(slot);
        if self.core.map.is_valid(slot) {
            let (owner, cause) = (Owner::Collect { log }, self.core.moving[usize::from(log)].cause);
            self.core.submit(Command { owner, ppn, cause, ..Command::default() });
        } else {
            self.core.moving[usize::from(log)].under_way -= 1;
            self.collect(usize::from(log));
        }
    }

    /// A page of the victim was repaired, or cannot be.
    pub(crate) fn move_repaired(&mut self, log: usize, slot: Slot, payload: Option<P>) {
        self.core.moving[log].under_way -= 1;
        if self.core.map.is_valid(slot) {
            let (ppn, index) = self.core.device.grid.page_of(slot);
            let (tag, update) = (self.core.device.tags(ppn)[index as usize], self.core.device.update_at(ppn, index));
            match payload {
                Some(payload) => self.relocate(log, Contents { tag, payload, update }, slot),
                None => {
                    data_of(tag).into_iter().for_each(|lpn| self.core.note_lost(lpn, update));
                    self.lose(tag, slot);
                }
            }
        }
        self.collect(log);
    }

    /// A block of the victim was erased, or cannot be: then it is bad from now on.
    pub(crate) fn erase_done(&mut self, log: usize, block: BlockAddr, outcome: ProgramOutcome) {
        let then = if !outcome.is_done() && self.drop_bad_block(block) { AfterErase::Retire } else { AfterErase::Reuse };
        let Some(victim) = self.care.block_erased(&mut self.core, log, then) else { return };
        if then == AfterErase::Reuse {
            self.writer.unit_erased(&self.core, victim);
        }
        self.writer.unit_emptied(&mut self.core, victim);
        self.hand_on();
        self.core.retry = true;
        self.care.note_rebuilt(&self.core);
        if self.care.collectors[log].is_busy() {
            // All pages of the next victim may have moved.
            self.collect(log);
        } else if self.care.goes_on(&self.core, log) {
            self.start_collecting(log);
        }
    }
}
