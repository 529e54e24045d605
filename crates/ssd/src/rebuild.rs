//! After a loss: what could not be programmed goes elsewhere, bad blocks leave service, and units
//! that lost pages are collected out of turn, which brings the lost pages back onto good flash.

use crate::commands::{Command, Image, Owner};
use crate::machine::Machine;
use crate::payload::HostPayload;
use ftl::{LogKind, Place, Stream, UnitId, UnitState};
use nand::{FlashArray, OobTag, PageRole};
use protect::Protection;
use vocab::{BlockAddr, Cause, Ppn, Slot, SuperblockId};

impl<P: HostPayload, A: FlashArray<P>> Machine<P, A> {
    /// Wants the unit collected as soon as its log gets to it. An open unit is closed for that.
    pub(crate) fn want(&mut self, unit: UnitId, cause: Cause) {
        match self.ftl.unit(unit).state {
            UnitState::Free | UnitState::Condemned | UnitState::Bad => return,
            UnitState::Closed => {}
            UnitState::Open => {
                if self.ftl.kind() == LogKind::Group {
                    self.end_rows_of(unit);
                }
                self.ftl.abandon(unit);
            }
        }
        if self.wanted.iter().all(|&(other, _)| other != unit) {
            self.wanted.push_back((unit, cause));
        }
        self.start_collecting(self.ftl.log_of(unit));
    }

    /// Whether a unit of the log waits to be collected.
    pub(crate) fn is_wanted(&self, log: usize) -> bool {
        self.wanted.iter().any(|&(unit, _)| self.ftl.log_of(unit) == log)
    }

    /// Condemns the first wanted unit of the log. Those that were collected meanwhile, in turn,
    /// are wanted no more.
    pub(crate) fn condemn_wanted(&mut self, log: usize) -> Option<(UnitId, Cause)> {
        while let Some(at) = self.wanted.iter().position(|&(unit, _)| self.ftl.log_of(unit) == log) {
            let (unit, cause) = self.wanted.remove(at).expect("just found");
            if self.ftl.condemn_unit(unit) {
                return Some((unit, cause));
            }
        }
        None
    }

    /// Spares a victim whose last pages found no room; it is wanted again once there is some.
    pub(crate) fn give_up_if_stuck(&mut self, log: usize, victim: UnitId) {
        let collector = &mut self.collectors[log];
        if collector.stuck && collector.in_flight == 0 && self.ftl.unit(victim).valid > 0 {
            (collector.victim, collector.stuck) = (None, false);
            self.ftl.reprieve(victim);
            self.wanted.push_back((victim, collector.cause));
        }
    }

    /// A program of the page failed. Where the die answers, its block is bad: it is written no
    /// more, and what it still holds is brought to safety.
    pub(crate) fn block_failed(&mut self, ppn: Ppn) {
        let block = self.grid.split(ppn).0;
        if !self.array.answers(ppn) {
            return;
        }
        self.drop_bad_block(block);
        self.want(self.ftl.unit_of_block(block), Cause::Rebuild);
    }

    /// Counts a block of a living die as bad and takes it out of the rows of its superblock.
    /// True where the block is a unit of its own, which must be retired then.
    pub(crate) fn drop_bad_block(&mut self, block: BlockAddr) -> bool {
        let (die, superblock) = self.grid.split_block(block);
        if self.is_dead(die) {
            return false;
        }
        let is_unit = self.ftl.kind() == LogKind::Regions;
        if !is_unit && self.ftl.rows().members(superblock).contains(u32::from(die.0)) {
            self.ftl.drop_member(SuperblockId(superblock.0), die);
            self.narrow_open_rows(die, Some(superblock.0));
        }
        // Later failures of the same block count again: this only tells none from some.
        self.grown_bad += 1;
        is_unit
    }

    /// A program failed: its contents, still in the controller, go to another block. True if
    /// they do; a page of a row stays lost, because its row solves for it, and so does a strip
    /// of a static stripe whose die is dead.
    pub(crate) fn program_elsewhere(&mut self, command: &Command) -> bool {
        let alive = self.array.answers(command.ppn);
        if alive && !matches!(command.owner, Owner::Cover { .. } | Owner::Nobody) {
            self.block_failed(command.ppn);
        }
        let (owner, ppn) = match command.owner {
            Owner::Page { log, moved } if alive => (command.owner, self.page_in_region(log as usize, moved)),
            Owner::Stripe { .. } if alive => (command.owner, self.page_in_region(self.grid.die_of(command.ppn).index(), false)),
            Owner::Page { log, moved } if matches!(self.protection, Protection::None) => {
                let Some(other) = self.least_waiting() else { return false };
                if moved {
                    self.collectors[log as usize].in_flight -= 1;
                }
                (Owner::Page { log: other as u16, moved: false }, self.ftl.take_page(other, Stream::Host))
            }
            _ => return false,
        };
        let Some(ppn) = ppn else { return false };
        let Image { oob, filled, .. } = self.images.slab[command.image];
        let oob = self.next_oob(oob.coverage);
        self.images.slab[command.image] = Image { oob, filled, ppn };
        for index in 0..filled {
            let tag = self.images.slot(command.image, index).0;
            self.republish(tag, self.grid.slot(command.ppn, index), self.grid.slot(ppn, index));
        }
        self.start_collecting_if_short(self.grid.die_of(ppn).index());
        self.submit_program(command.image, owner, command.cause);
        true
    }

    /// A page of the region log for contents that failed to be programmed; either stream's.
    fn page_in_region(&mut self, log: usize, moved: bool) -> Option<Ppn> {
        let streams = if moved { [Stream::Gc, Stream::Host] } else { [Stream::Host, Stream::Gc] };
        streams.into_iter().find_map(|stream| self.ftl.take_page(log, stream))
    }

    /// What was to lie in slot `from` will lie in `to`, unless something newer took its place.
    fn republish(&mut self, tag: OobTag, from: Slot, to: Slot) {
        let published = match tag.role() {
            PageRole::Data(lpn) if self.ftl.lookup(lpn) == Place::At(from) => self.ftl.publish(lpn, to),
            PageRole::Parity(stripe) if self.ftl.lookup_parity(stripe) == Place::At(from) => self.ftl.publish_parity(stripe, to),
            _ => return,
        };
        // The slot that failed holds nothing that anyone could go back to.
        if let Some(unit) = published.pinned {
            self.release(unit);
        }
    }
}
