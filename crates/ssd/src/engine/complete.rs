//! Consequences of a completed command, by its owner.

use crate::care::limits;
use crate::core::Command;
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::timer::Timer;
use crate::engine::Engine;
use crate::engine::reads::reads;
use crate::rules::SafetyRule;
use device::Taken;
use device::command::Verb;
use device::sense::{Compares, Sensed, Verdict};
use device::slab::CommandId;
use nand::{ProgramOutcome, ReadOutcome};
use vocab::{Cause, DieId, Nanos, Ppn};

impl<P: FlashPayload> Engine<P> {
    /// Lets idle dies take up what was queued for them.
    #[inline]
    pub(crate) fn kick(&mut self) {
        while let Some(die) = self.core.device.next_kick() {
            match self.core.device.start_next(die) {
                Taken::Program(image) => {
                    self.writer.taken_up(image);
                    if self.writer.hears_launches() {
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
                let (outcome, _) = self.sense(&command);
                self.read_done(id, &command, outcome);
            }
            Verb::Program => self.complete_program(&command),
            Verb::Recharge => self.complete_recharge(&command),
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
        let (outcome, time) = self.sense(&command);
        if time == Nanos(0) && !self.core.device.reads_again() {
            self.read_done(id, &command, outcome);
            self.core.device.commands.give(id);
            return true;
        }
        let first = self.decoder(0);
        self.core.device.decode_later(id, outcome, time, |channel| first + channel);
        true
    }

    fn decoder(&self, channel: usize) -> usize {
        Timer::Decoder(channel as u32).index(&self.core.device.grid)
    }

    /// A decoder is done with a page.
    pub(crate) fn decoded(&mut self, channel: usize) {
        let timer = self.decoder(channel);
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

    /// Reads the page of a command and decodes it: what came of it, and the time in the decoder.
    #[inline(always)]
    fn sense(&mut self, command: &Command) -> (ReadOutcome, Nanos) {
        let compares = if self.core.breaks(SafetyRule::Compare) { Compares::No } else { Compares::Yes };
        let Sensed { verdict, time } = self.core.device.sense(command, compares);
        match verdict {
            Verdict::Clean => return (ReadOutcome::Clean, time),
            Verdict::Failed => {}
            Verdict::Unanswered => {
                let block = self.core.device.block_of(command.ppn);
                self.core.safe.checkpoint.iter_mut().for_each(|checkpoint| checkpoint.strike_out(block));
            }
            Verdict::Astray => {
                self.care.damage.astray.insert(self.core.device.block_of(command.ppn));
                self.core.retry = true;
            }
            Verdict::Decoded { rewrite, .. } => {
                self.care.note_read(&mut self.core, command.ppn);
                if rewrite {
                    self.care.refresh_at(&self.core, self.core.device.block_of(command.ppn), self.core.device.now);
                }
            }
        }
        let outcome = verdict.outcome();
        self.core.failed_reads += u64::from(!outcome.is_clean());
        (outcome, time)
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
            Owner::Scrub { superblock } => self.scrub_read_done(superblock, outcome),
            Owner::Recharge { log } => self.recharge_read_done(command, log as usize, outcome),
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
            self.note_program(command.ppn);
        } else if self.program_elsewhere(command) {
            return;
        }
        self.program_over(command, outcome);
    }

    /// A page was programmed: deadlines, summaries and limits begin.
    #[inline]
    fn note_program(&mut self, ppn: Ppn) {
        if self.core.device.ecc.is_some() {
            self.care.note_programmed(&mut self.core, ppn);
        }
        let core = &mut self.core;
        if let Some(checkpoint) = &mut core.safe.checkpoint {
            let (block, page) = core.device.grid.split(ppn);
            if page + 1 == core.device.grid.pages_per_block() {
                checkpoint.sum_up::<P>(block, &core.device.array);
            }
        }
        if core.limits.is_on() {
            let (block, page) = core.device.grid.split(ppn);
            if page == 0 {
                limits::note_first_program(&mut self.core, block);
            }
        }
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
            if self.core.limits.is_on() {
                self.core.limits.note_erase(block);
            }
            if self.core.device.ecc.is_some() {
                self.care.note_refreshed(&self.core, block);
            }
            self.core.safe.checkpoint.iter_mut().for_each(|checkpoint| checkpoint.erased(block));
        }
        match command.owner {
            Owner::Erase { log } => self.erase_done(log as usize, block, outcome),
            owner => unreachable!("{owner:?} erases nothing"),
        }
    }

    #[inline(never)]
    fn die_is_idle(&mut self, die: DieId) {
        if self.core.device.no_die_is_busy() {
            self.migrate_when_idle();
        }
        self.recycle_when_idle(die);
        self.collect_when_idle(die);
    }
}
