//! Garbage collection: a collector for each log reads the valid pages of a victim, moves them,
//! and erases the victim once nothing depends on it.

use crate::core::owner::Owner;
use crate::core::rules::SafetyRule;
use crate::core::target::Target;
use crate::core::{Command, data_of};
use crate::device::command::Verb;
use crate::device::contents::HostPayload;
use crate::device::image::Contents;
use crate::engine::Engine;
use ftl::{LogKind, Stream, UnitId};
use nand::{FlashArray, OobTag};
use protect::Protection;
use vocab::{BlockAddr, Cause, DieId, Ppn, Slot, SuperblockId};

/// The collector of one log.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    pub victim: Option<UnitId>,
    /// Next page of the victim to look at; of a superblock, counted row by row.
    cursor: u32,
    /// Erases under way.
    erasing: u32,
    /// The log's die is dead.
    pub halted: bool,
    /// A page of the victim found no room: bad blocks ate the reserve.
    pub stuck: bool,
}

impl Default for Collector {
    fn default() -> Self {
        Self { victim: None, cursor: 0, erasing: 0, halted: false, stuck: false }
    }
}

impl Collector {
    pub fn is_busy(&self) -> bool {
        self.victim.is_some()
    }

    pub fn is_erasing(&self) -> bool {
        self.erasing > 0
    }
}

/// A page on its way from a victim to a row of the group log.
#[derive(Clone, Debug)]
pub(crate) struct Move<P> {
    pub contents: Contents<P>,
    pub from: Slot,
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Starts the log's collector if it is idle and the log is short of space.
    pub(crate) fn start_collecting_if_short(&mut self, log: usize) {
        if self.core.map.is_short(log) {
            self.start_collecting(log);
        }
    }

    /// The die has nothing to do: its logs get more free blocks than they need, where that is asked for.
    pub(crate) fn collect_when_idle(&mut self, die: DieId) {
        if self.care.idle_free_blocks == 0 || self.core.device.is_dead(die) {
            return;
        }
        for log in self.core.map.logs_of_die(die) {
            if self.core.map.free_units(log) < self.care.idle_free_blocks && !self.care.collectors[log].is_busy() {
                self.start_collecting(log);
            }
        }
    }

    /// Starts the log's collector if it is idle.
    pub(crate) fn start_collecting(&mut self, log: usize) {
        let collector = &self.care.collectors[log];
        if collector.is_busy() || collector.halted {
            return;
        }
        let Some((victim, cause)) = self.next_victim(log) else { return };
        if self.core.grown_bad > 0 && self.has_nowhere_to_go(log, victim) {
            self.core.map.reprieve(victim);
            return;
        }
        self.begin_collecting(log, victim, cause);
    }

    /// Collects a condemned victim.
    pub(crate) fn begin_collecting(&mut self, log: usize, victim: UnitId, cause: Cause) {
        let collector = &mut self.care.collectors[log];
        collector.victim = Some(victim);
        (collector.cursor, collector.stuck) = (0, false);
        self.core.moving[log].cause = cause;
        self.commit_pinned_in(victim);
        self.collect(log);
    }

    /// The log's next victim: one that is wanted, where there is room for what it may hold, or
    /// the policy's choice.
    fn next_victim(&mut self, log: usize) -> Option<(UnitId, Cause)> {
        // What a mount found unneeded only has to be erased. Before it is done nothing else is.
        let dirty = self.core.map.condemn_dirty(log);
        if dirty.is_some() || self.power.mounting.is_some() {
            return dirty.map(|unit| (unit, Cause::Gc));
        }
        if self.core.is_mountable() && !self.commits_have_room() {
            // Cuts may have left frontiers with hardly anything in them: what they waste comes first.
            return self.core.map.condemn_unpinned(log).map(|unit| (unit, Cause::Gc));
        }
        if self.core.map.free_units(log) > 1
            && let Some(wanted) = self.condemn_wanted(log)
        {
            return Some(wanted);
        }
        let chosen =
            self.core.map.condemn(log).map(|(unit, for_wear)| (unit, if for_wear { Cause::WearLevel } else { Cause::Gc }));
        chosen.or_else(|| if self.core.map.free_units(log) > 0 { self.condemn_wanted(log) } else { None })
    }

    /// Whether parity that collection may come to wait for finds room on any die.
    fn commits_have_room(&self) -> bool {
        let Protection::Stripes(scheme) = &self.writer.protection else { return true };
        let waits = scheme.parity_cache() > 0 || scheme.worn_above().is_some();
        let alive = |log: &usize| !self.care.collectors[*log].halted;
        !waits || (0..self.core.map.logs()).filter(alive).all(|log| self.core.map.has_room(log, Stream::Commit))
    }

    /// Pages of a victim in collection order.
    fn victim_pages(&self) -> u32 {
        match self.core.map.kind() {
            LogKind::Regions => self.core.device.grid.pages_per_block(),
            LogKind::Group => self.core.device.grid.pages_per_block() * self.core.device.grid.dies(),
        }
    }

    fn victim_page(&self, victim: UnitId, cursor: u32) -> Ppn {
        match self.core.map.kind() {
            LogKind::Regions => self.core.device.grid.ppn(BlockAddr(victim), cursor),
            LogKind::Group => {
                let (page, die) = (cursor / self.core.device.grid.dies(), cursor % self.core.device.grid.dies());
                self.core.device.grid.ppn(self.core.device.grid.block(DieId(die as u16), SuperblockId(victim).0), page)
            }
        }
    }

    fn valid_slots(&self, ppn: Ppn) -> u32 {
        (0..self.core.device.grid.slots_per_page())
            .filter(|&i| self.core.map.is_valid(self.core.device.grid.slot(ppn, i)))
            .count() as u32
    }

    /// Advances the log's collection as far as it goes without waiting.
    pub(crate) fn collect(&mut self, log: usize) {
        let Some(victim) = self.care.collectors[log].victim else { return };
        if self.care.collectors[log].erasing > 0 || self.care.collectors[log].halted {
            return;
        }
        let pages = self.victim_pages();
        // Nothing valid is left to be found: spare the walk over the rest of the victim.
        if self.core.map.unit(victim).valid == 0 {
            self.care.collectors[log].cursor = pages;
        }
        let at_most = match self.core.map.kind() {
            _ if self.core.moving[log].cause == Cause::Rebuild => self.care.rebuild.at_once,
            LogKind::Regions if self.hurries(victim, self.core.moving[log].cause) => pages,
            LogKind::Regions => self.care.moves_in_flight,
            // One collector serves all dies.
            LogKind::Group => self.care.moves_in_flight * self.core.device.grid.dies(),
        };
        while self.core.moving[log].under_way < at_most && self.care.collectors[log].cursor < pages {
            let ppn = self.victim_page(victim, self.care.collectors[log].cursor);
            self.care.collectors[log].cursor += 1;
            let valid = self.valid_slots(ppn);
            if valid > 0 && !self.core.device.is_displaced(ppn) {
                self.send_if_unsent(ppn);
                if self.core.device.is_programmed(ppn)
                    && let Some(lpn) = self.core.device.tags(ppn).first().copied().and_then(data_of)
                {
                    self.core.map.prefetch(lpn);
                }
                self.core.moving[log].under_way += 1;
                let (owner, cause) = (Owner::Collect { log: log as u16 }, self.core.moving[log].cause);
                self.core.submit(Command { owner, ppn, count: valid as u8, cause, ..Command::default() });
            }
        }
        if self.care.collectors[log].cursor == pages && self.core.moving[log].under_way == 0 {
            self.finish_victim(log, victim);
        }
    }

    /// All valid pages are on their way: flush what waits for company, erase when it is safe.
    fn finish_victim(&mut self, log: usize, victim: UnitId) {
        match self.core.map.kind() {
            LogKind::Regions => self.send_moved(log),
            LogKind::Group => self.feed_moves(true),
        }
        let collector = &self.care.collectors[log];
        if !self.core.map.may_erase(victim) || self.core.moving[log].under_way > 0 || collector.erasing > 0 {
            self.give_up_if_stuck(log, victim);
            return;
        }
        let cause = self.core.moving[log].cause;
        let superblock = matches!(self.core.map.kind(), LogKind::Group).then_some(victim);
        let is_of_victim = |block: &BlockAddr| Some(self.core.device.grid.split_block(*block).1.0) == superblock;
        let bad: Vec<BlockAddr> = self.care.damage.uncleared.iter().copied().filter(is_of_victim).collect();
        self.care.damage.uncleared.retain(|block| !bad.contains(block));
        for block in self.core.map.blocks_of(victim).chain(bad) {
            self.care.collectors[log].erasing += 1;
            self.core.safe.erasing.insert(block, false);
            if !self.core.breaks(SafetyRule::StrikeOut)
                && let Some(checkpoint) = &mut self.core.safe.checkpoint
            {
                checkpoint.strike_out(block);
            }
            let (owner, ppn) = (Owner::Erase { log: log as u16 }, self.core.device.grid.ppn(block, 0));
            self.core.submit(Command { owner, ppn, verb: Verb::Erase, cause, ..Command::default() });
        }
    }

    /// A page of the victim was read.
    pub(crate) fn collect_read_done(&mut self, ppn: Ppn, log: usize, clean: bool) {
        self.core.moving[log].under_way -= 1;
        if self.core.device.is_displaced(ppn) {
            self.collect(log);
            return;
        }
        for index in 0..self.core.device.grid.slots_per_page() {
            let slot = self.core.device.grid.slot(ppn, index);
            // The host may have overwritten the page meanwhile.
            if !self.core.map.is_valid(slot) {
                continue;
            }
            let tag = self.core.device.tags(ppn)[index as usize];
            if clean {
                let payload = self.core.device.array.page(ppn).payload[index as usize].clone();
                let update = self.core.device.update_at(ppn, index);
                self.relocate(log, Contents { tag, payload, update }, slot);
            } else {
                self.core.moving[log].under_way += 1;
                self.repair(Target::Move { log: log as u16, slot });
            }
        }
        self.collect(log);
    }

    /// Gives a page of the victim a new place.
    pub(crate) fn relocate(&mut self, log: usize, contents: Contents<P>, from: Slot) {
        match self.core.map.kind() {
            LogKind::Regions if self.must_build_first(log, contents.tag) => {
                let stripe = self.strip_of(data_of(contents.tag).expect("only data need parity")).0;
                self.core.moving[log].under_way += 1;
                self.build_parity(stripe, Some(Target::Move { log: log as u16, slot: from }));
            }
            LogKind::Regions => self.move_in_region(log, contents, from),
            LogKind::Group => {
                self.writer.moves.push_back(Move { contents, from });
                self.feed_moves(false);
            }
        }
    }

    /// Whether the page would come to lie on a worn block while its stripe lacks the parity it
    /// needs then.
    fn must_build_first(&mut self, log: usize, tag: OobTag) -> bool {
        let (Some(limit), Some(lpn)) = (self.writer.stripes.worn_above, data_of(tag)) else { return false };
        let (stripe, _) = self.strip_of(lpn);
        let worn = self.core.map.next_pe(log, Stream::Gc).is_some_and(|pe| pe > limit.0);
        let must = worn && self.can_build(stripe) && self.stripe_scheme().wants_parity(stripe, true);
        if must && self.core.is_mountable() && !self.commits_have_room() {
            // Cuts ate the room that the parity needs: it is built once there is some.
            return false;
        }
        must
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
            let tag = self.core.device.tags(ppn)[index as usize];
            match payload {
                Some(payload) => {
                    let update = self.core.device.update_at(ppn, index);
                    self.relocate(log, Contents { tag, payload, update }, slot);
                }
                None => {
                    self.note_lost(tag, self.core.device.update_at(ppn, index));
                    self.lose(tag, slot);
                }
            }
        }
        self.collect(log);
    }

    /// A block of the victim was erased, or cannot be: then it is bad from now on.
    pub(crate) fn erase_done(&mut self, log: usize, block: BlockAddr, done: bool) {
        let retired = !done && self.drop_bad_block(block);
        let collector = &mut self.care.collectors[log];
        collector.erasing -= 1;
        if collector.erasing > 0 || collector.halted {
            return;
        }
        let victim = collector.victim.take().expect("an erase belongs to a victim");
        let ftl = &self.core.map;
        self.core.safe.erasing.retain(|&block, erased| !*erased || ftl.unit_of_block(block) != victim);
        if !self.core.device.failed_programs.is_empty() {
            self.forget_failed_programs(victim);
        }
        if retired {
            self.core.map.retire_unit(victim);
        } else {
            self.core.map.erased(victim);
            if self.core.is_mountable() && self.writer.stripes.worn_above.is_some() {
                // Parity that found no room may find some now.
                self.stripe_scheme_mut().look_again();
            }
            if self.writer.stripes.worn_above.is_some_and(|limit| self.core.map.unit(victim).pe > limit.0) {
                self.stripe_scheme_mut().block_wore_out();
            }
        }
        self.group_erased(victim);
        self.superblock_was_emptied(victim);
        self.commit_deferred();
        self.core.retry = true;
        self.note_rebuilt();
        let background = self.core.map.free_units(log) < self.care.idle_free_blocks && self.core.device.is_idle();
        if self.core.map.is_short(log) || background || self.is_wanted(log) {
            self.start_collecting(log);
        }
    }

    fn forget_failed_programs(&mut self, victim: UnitId) {
        for cursor in 0..self.victim_pages() {
            let ppn = self.victim_page(victim, cursor);
            self.core.device.failed_programs.remove(&ppn.0);
        }
    }
}
