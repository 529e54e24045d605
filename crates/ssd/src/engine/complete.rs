//! Consequences of a completed command, by its owner.

use crate::core::Command;
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::timer::Timer;
use crate::engine::Engine;
use crate::engine::reads::reads;
use device::Taken;
use device::command::Verb;
use device::slab::CommandId;
use ftl::LogKind;
use nand::{ProgramOutcome, ReadOutcome};
use vocab::{Cause, DieId, Nanos};

impl<P: FlashPayload> Engine<P> {
    /// Lets idle dies take up what was queued for them.
    #[inline]
    pub(crate) fn kick(&mut self) {
        while let Some(die) = self.core.device.next_kick() {
            match self.core.device.start_next(die) {
                Taken::Program(image) => {
                    self.writer.taken_up(image);
                    if self.writer.hears_launches {
                        self.strip_launched(die);
                    }
                }
                Taken::Nothing => self.die_is_idle(die),
                Taken::Command => {}
            }
        }
    }

    /// A die has taken up a program: the strip needs its slot in a cache no longer.
    #[inline(never)]
    fn strip_launched(&mut self, die: DieId) {
        let Some(owner) = self.core.device.in_service(die).map(|command| command.owner) else { return };
        if let Some(lpn) = self.writer.launched(&mut self.core, owner) {
            self.host.eviction_launched(&mut self.core, lpn);
        }
        self.hand_on();
    }

    /// An event of a die.
    #[inline]
    pub(crate) fn die_event(&mut self, die: DieId) {
        let Some(id) = self.core.device.die_event(die) else { return };
        if self.core.device.ecc.is_none() || !self.decode_later(id) {
            self.complete(id);
        }
        self.core.device.kick(die);
    }

    /// Completes commands in order until none is left; without time.
    pub(crate) fn settle(&mut self) {
        debug_assert!(!self.core.device.timed);
        loop {
            while let Some((id, taken)) = self.core.device.next_ready() {
                if let Taken::Program(image) = taken {
                    self.writer.taken_up(image);
                }
                self.complete(id);
            }
            if !std::mem::take(&mut self.core.retry) {
                return;
            }
            self.retry_stalled();
        }
    }

    #[inline(always)]
    fn complete(&mut self, id: CommandId) {
        let command = self.core.device.commands[id];
        match command.verb {
            Verb::Read => {
                let (outcome, _) = self.care.sense(&mut self.core, &command);
                self.read_done(id, &command, outcome);
            }
            Verb::Program => self.complete_program(&command),
            Verb::Recharge => {
                let due = self.care.complete_recharge(&mut self.core, &command);
                due.into_iter().for_each(|unit| self.want(unit, Cause::Refresh));
            }
            Verb::Erase => self.complete_erase(&command),
        }
        self.core.device.commands.give(id);
    }

    /// The transfer of a command's page ended; a read is decoded. True if that command is taken
    /// care of.
    fn decode_later(&mut self, id: CommandId) -> bool {
        let command = self.core.device.commands[id];
        if command.verb != Verb::Read {
            return false;
        }
        let (outcome, time) = self.care.sense(&mut self.core, &command);
        if time == Nanos(0) && !self.core.device.reads_again() {
            self.read_done(id, &command, outcome);
            self.core.device.commands.give(id);
            return true;
        }
        let first = Timer::Decoder(0).index(&self.core.device.grid);
        self.core.device.decode_later(id, outcome, time, |channel| first + channel);
        true
    }

    /// A decoder is done with a page.
    pub(crate) fn decoded(&mut self, channel: usize) {
        let timer = Timer::Decoder(channel as u32).index(&self.core.device.grid);
        let Some((id, outcome)) = self.core.device.decoded(channel, timer) else { return };
        let command = self.core.device.commands[id];
        self.read_done(id, &command, outcome);
        self.core.device.commands.give(id);
        // An erase may have waited for this.
        let die = self.core.device.grid.die_of(command.ppn);
        if !self.core.device.is_busy(die) {
            self.core.device.kick(die);
        }
    }

    /// A page was read and, where there is a code, decoded.
    #[inline]
    fn read_done(&mut self, id: CommandId, command: &Command, outcome: ReadOutcome) {
        match command.owner {
            Owner::HostRead { job } => self.host.host_read_done(&mut self.core, id, command, job, outcome),
            Owner::Merge { job, page } => {
                self.host.merge_read_done(&mut self.core, &self.writer, command, job, page as usize, outcome);
            }
            Owner::Collect { log } => self.collect_read_done(command.ppn, log as usize, outcome),
            Owner::Solve { solve, term } => self.reads.solve_read_done(&mut self.core, command, solve, term, outcome),
            Owner::Scrub { .. } if outcome.is_clean() => {}
            Owner::Scrub { superblock } => self.want(superblock, Cause::Refresh),
            Owner::Recharge { log } => {
                let due = self.care.recharge_read_done(&mut self.core, command, log as usize, outcome);
                due.into_iter().for_each(|unit| self.want(unit, Cause::Refresh));
            }
            Owner::Lazy { read, block } => reads!(self.lazy_read_done(command, read, usize::from(block), outcome)),
            owner => self.writer.read_ended(&mut self.core, owner, command.ppn, outcome),
        }
        self.hand_on();
    }

    #[inline(always)]
    fn complete_program(&mut self, command: &Command) {
        let outcome = self.core.device.program(command);
        if command.cause == Cause::Meta {
            return self.care.reserved_done(&mut self.core, command, outcome);
        }
        if outcome.is_done() {
            self.care.page_programmed(&mut self.core, command.ppn);
        } else if self.program_elsewhere(command) {
            return;
        }
        self.program_over(command, outcome);
    }

    /// A program has ended: with its page in flash, or lost.
    #[inline]
    pub(crate) fn program_over(&mut self, command: &Command, outcome: ProgramOutcome) {
        let image = command.image;
        match command.owner {
            Owner::Page { log, holds } => self.page_done(image, log as usize, holds, outcome),
            Owner::Strip { log } => self.strip_programmed(image, log as usize, outcome),
            owner => self.writer.program_ended(&mut self.core, owner, image, outcome),
        }
        self.hand_on();
        self.core.device.images.give(image);
        if !outcome.is_done() {
            self.block_failed(command.ppn);
        }
    }

    #[inline(never)]
    fn complete_erase(&mut self, command: &Command) {
        let block = self.core.device.block_of(command.ppn);
        let outcome = self.core.device.erase(block, command.cause);
        if command.cause == Cause::Meta {
            return self.care.reserved_done(&mut self.core, command, outcome);
        }
        if outcome.is_done() {
            self.core.safe.erasing.insert(block, true);
            self.care.block_emptied(&mut self.core, block);
        }
        match command.owner {
            Owner::Erase { log } => self.erase_done(log as usize, block, outcome),
            owner => unreachable!("{owner:?} erases nothing"),
        }
    }

    #[inline(never)]
    fn die_is_idle(&mut self, die: DieId) {
        if self.core.map.kind() == LogKind::Group && self.core.device.no_die_is_busy() {
            self.migrate_when_idle();
        }
        if self.core.limits.is_on() {
            self.recycle_when_idle(die);
        }
        if self.care.idle_free_blocks > 0 {
            self.collect_when_idle(die);
        }
    }
}
