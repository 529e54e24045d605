//! Dies at work: commands are queued, taken up, and end.

use crate::Device;
use crate::command::{Command, Stage, Verb};
use crate::config::Scheduler;
use crate::contents::HostPayload;
use crate::facts::Fact;
use crate::queue::{InRegister, Phase, Registers, is_gc};
use crate::slab::{CommandId, ImageId};
use crate::waits::Wait;
use nand::FlashArray;
use vocab::{DieId, Nanos, Ppn, SimTime};

/// Step of a die that was asked to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It had nothing to do.
    Nothing,
    /// It took up a command, or waits for a decoder.
    Command,
    /// It took up the program of this image.
    Program(ImageId),
}

/// How a read is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// As the scheduler says.
    Usual,
    /// Before everything that waits for the die.
    Pressing,
    /// In order: an erase that waits must not be overtaken.
    InOrder,
}

/// When a read that has to be sensed begins, and how long it takes on the channel and in the cells.
struct Sensing {
    begins: SimTime,
    transfer: Nanos,
    cells: Nanos,
}

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// Gives a command to its die.
    #[inline(always)]
    pub fn submit(&mut self, command: Command<O>, haste: Haste) -> CommandId {
        let id = self.commands.take();
        self.commands[id] = command;
        let die = self.grid.die_of(command.ppn);
        if command.verb == Verb::Erase {
            self.work.dies[die.index()].erases += 1;
        }
        if !self.timed {
            self.work.ready.push_back(id);
            return id;
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.note_queued(id, self.now);
        }
        let early = command.verb == Verb::Read && self.goes_first(command.ppn, haste);
        if early && self.latencies.suspend.is_some() {
            self.suspend(die, command.ppn);
        }
        let state = &mut self.work.dies[die.index()];
        if self.gc_occupies && is_gc(command.cause) {
            state.push_gc(id, early, &mut self.commands);
        } else {
            state.push(id, early, &mut self.commands);
        }
        let is_idle = state.service.is_none();
        self.work.backlogs[die.index()] += 1;
        if is_idle {
            self.work.kick(die);
        }
        self.watch_queued(id, die);
        id
    }

    /// Whether a read goes before programs and erases that wait.
    #[inline]
    fn goes_first(&self, ppn: Ppn, haste: Haste) -> bool {
        let wanted = haste == Haste::Pressing || haste == Haste::Usual && self.scheduler == Scheduler::ReadFirst;
        wanted && self.is_programmed(ppn)
    }

    /// Whether something was queued for an idle die.
    #[inline]
    pub fn has_kicks(&self) -> bool {
        self.work.has_kicks()
    }

    /// The next idle die for which something was queued.
    #[inline]
    pub fn next_kick(&mut self) -> Option<DieId> {
        self.work.next_kick()
    }

    /// An idle die takes up the next command queued for it.
    #[inline(always)]
    pub fn start_next(&mut self, die: DieId) -> Taken {
        if self.work.withdrawn > 0 {
            self.drop_withdrawn(die);
        }
        if self.work.dies[die.index()].suspended.is_some() {
            return self.go_on_suspended(die);
        }
        let of_gc = self.next_of_gc(die);
        if self.ecc.as_ref().is_some_and(|ecc| ecc.is_decoding(die)) {
            if self.serve_again(die, Nanos(0)) {
                return Taken::Command;
            }
            let state = &self.work.dies[die.index()];
            let next = of_gc.or_else(|| state.peek(&self.commands));
            let waits_for_page = state.occupied && of_gc.is_none();
            if waits_for_page || next.is_some_and(|id| self.commands[id].verb == Verb::Erase) {
                self.calendar.clear(die.index());
                return Taken::Command;
            }
        }
        let state = &mut self.work.dies[die.index()];
        let popped = if of_gc.is_some() { state.pop_gc(&self.commands) } else { state.pop(&self.commands) };
        let Some(id) = popped else {
            state.occupied = false;
            self.calendar.clear(die.index());
            return Taken::Nothing;
        };
        (state.since, state.gave_way) = (self.now, 0);
        if self.gc_occupies {
            // While something of GC waits, it has the die, also where order lets another command go before.
            state.occupied = is_gc(self.commands[id].cause) || state.occupied && state.of_gc().is_some();
        }
        let command = &mut self.commands[id];
        command.stage = Stage::Served;
        let &mut Command { verb, ppn, image, .. } = command;
        if verb == Verb::Program {
            let rank = self.next_rank();
            self.images.seal(image, rank);
        }
        self.watch_taken(id, die);
        self.serve(die, id, verb, ppn, Nanos(0));
        if verb == Verb::Program { Taken::Program(image) } else { Taken::Command }
    }

    /// The next command of a GC run that occupies the die, unless it has to wait for one that was asked for before and is in
    /// order: a read for the program of its page, a program for those of the pages before it in its block, an erase for reads of it.
    /// Commands queued before that one were asked for earlier still, so that serving in order until then overtakes
    /// nothing.
    #[inline]
    fn next_of_gc(&self, die: DieId) -> Option<CommandId> {
        let state = &self.work.dies[die.index()];
        let id = state.of_gc()?;
        let command = &self.commands[id];
        let (block, page) = self.grid.split(command.ppn);
        let is_ready = match command.verb {
            Verb::Read | Verb::Recharge => self.is_programmed(command.ppn),
            Verb::Program => self.array.block(block).next_page == page,
            Verb::Erase => {
                let waits_for = |other: CommandId| {
                    self.commands[other].stage == Stage::Queued && self.block_of(self.commands[other].ppn) == block
                };
                !state.not_of_gc(&self.commands).any(waits_for)
            }
        };
        // Without anything in order there is nothing to wait for.
        (is_ready || state.peek(&self.commands).is_none()).then_some(id)
    }

    /// The command that a die serves.
    #[must_use]
    pub fn in_service(&self, die: DieId) -> Option<&Command<O>> {
        self.work.dies[die.index()].service.map(|(id, _)| &self.commands[id])
    }

    #[inline]
    pub(crate) fn serve(&mut self, die: DieId, id: CommandId, verb: Verb, ppn: Ppn, behind: Nanos) {
        let (block, page) = self.grid.split(ppn);
        let info = self.array.block(block);
        let encode = self.encode_time(verb);
        let channel = self.grid.channel_of(die).index();
        let (ready, overhead) = (self.now + behind, self.latencies.command);
        let (mut encoding, mut transfer, mut cells, mut phase) = (Nanos(0), overhead, Nanos(0), Phase::Ending);
        let mut begins = ready;
        if !self.losses.is_dead(die) {
            if P::BYTES {
                // The bytes of the page are shared when the command ends, or given up for others.
                self.array.prefetch(ppn);
            }
            match verb {
                // The controller has it, or takes it, in the memory where its unit is gathered: the die has nothing to do.
                Verb::Read if self.is_gathered(ppn) => {
                    self.folds.in_gathering += 1;
                    transfer = Nanos(0);
                }
                Verb::Program if !self.latencies.unit.ends_with(page, info.is_slc()) => (begins, transfer) = (self.now, Nanos(0)),
                Verb::Read => {
                    if self.ecc.is_some() {
                        // Decoding looks at them when the read ends.
                        self.array.prefetch_oob(ppn);
                    }
                    begins = self.channels[channel].command(ready, overhead);
                    (cells, phase) = (self.sensing_time(die, ppn), Phase::Sensing);
                }
                Verb::Program | Verb::Recharge => {
                    encoding = encode;
                    transfer = overhead + self.latencies.transfer_unit(info);
                    begins = self.channels[channel].data(self.now, ready.max(self.now + encode), transfer);
                    cells = self.program_time(block, page);
                    self.work.dies[die.index()].registers = Registers::default();
                }
                Verb::Erase => {
                    begins = self.channels[channel].command(ready, overhead);
                    cells = self.erase_time(block);
                }
            }
        }
        if self.ahead.is_some() && cells.0 > 0 {
            if verb == Verb::Read {
                let ahead = self.sense_ahead(die, id, Sensing { begins, transfer, cells }, behind);
                (begins, transfer, cells) = (ahead.begins, ahead.transfer, ahead.cells);
            } else {
                self.occupy_cells(die, begins + transfer + cells);
            }
        }
        let until = begins + transfer + cells;
        self.work.dies[die.index()].service = Some((id, phase));
        self.work.busy += 1;
        self.calendar.schedule(die.index(), until);
        let on_cells = if verb == Verb::Read { Wait::Sensing } else { Wait::Programming };
        let channel = Nanos(begins.since(self.now).0 - encoding.0 - behind.0);
        let waits = [(Wait::Channel, channel), (Wait::Ecc, encoding), (Wait::Transfer, transfer), (on_cells, cells)];
        self.watch_service(id, &waits);
    }

    /// The read as `usual`, or shorter if the cells of its plane have been at work on it while the die moved other pages.
    #[inline(never)]
    fn sense_ahead(&mut self, die: DieId, id: CommandId, usual: Sensing, behind: Nanos) -> Sensing {
        let plane = self.latencies.unit.sensing(self.commands[id].ppn).1;
        let passed = self.ahead.as_mut().map_or(Nanos(0), |ahead| ahead.passed(id, die, plane, self.now));
        match passed.0 {
            0 => usual,
            passed => {
                let left = Nanos((usual.transfer + usual.cells).0.saturating_sub(passed));
                Sensing { begins: self.now + behind, transfer: Nanos(0), cells: left }
            }
        }
    }

    /// All planes of a die are at work until then, on something that leaves nothing to be sensed ahead.
    #[inline]
    pub(crate) fn occupy_cells(&mut self, die: DieId, until: SimTime) {
        if let Some(ahead) = &mut self.ahead {
            ahead.note_occupied(die, until);
        }
    }

    /// Time to sense a page, unless the registers of its die have it.
    #[inline]
    fn sensing_time(&mut self, die: DieId, ppn: Ppn) -> Nanos {
        let (block, page) = self.grid.split(ppn);
        let time = self.read_time(block, page);
        if !self.latencies.unit.is_gathered() {
            return time;
        }
        let (pages, plane) = self.latencies.unit.sensing(ppn);
        match self.work.dies[die.index()].registers.sense(pages, plane) {
            InRegister::No => time,
            InRegister::OfPlanes => Nanos(0),
            InRegister::OfPage => {
                self.record(Fact::InRegister);
                Nanos(0)
            }
        }
    }

    /// An event of a die: the cells of a read are sensed, reads go before the cells of its command begin, or the command ends. The
    /// command that ended.
    #[inline]
    pub fn die_event(&mut self, die: DieId) -> Option<CommandId> {
        let state = &mut self.work.dies[die.index()];
        let (id, phase) = state.service.expect("only busy dies have events");
        if phase == Phase::Sensing {
            state.service = Some((id, Phase::Ending));
            let transfer = self.latencies.transfer(u32::from(self.commands[id].count));
            let granted = self.channels[self.grid.channel_of(die).index()].data(self.now, self.now, transfer);
            if let Some(ahead) = &mut self.ahead {
                let plane = self.latencies.unit.sensing(self.commands[id].ppn).1;
                ahead.note_leaves(die, plane, granted, transfer);
            }
            self.calendar.schedule(die.index(), granted + transfer);
            let waits = [(Wait::Channel, granted.since(self.now)), (Wait::Transfer, transfer)];
            self.watch_service(id, &waits);
            return None;
        }
        if phase == Phase::GivingWay {
            self.put_off(die, id);
            return None;
        }
        state.service = None;
        let busy = self.now.since(state.since);
        state.worked += busy;
        self.work.busy -= 1;
        self.work.backlogs[die.index()] -= 1;
        let (carried, moved) = self.transfer_of(&self.commands[id]);
        self.record(Fact::Served { die: Some(die), busy, channel: self.grid.channel_of(die), carried, moved });
        self.watch_ended(id, die);
        if self.decode_again(id, die) {
            return None;
        }
        Some(id)
    }

    /// The die goes on with what is queued for it, when dies are asked next.
    #[inline]
    pub fn kick(&mut self, die: DieId) {
        self.work.kick(die);
    }

    /// Without time: the next command to be completed, as if its die had served it.
    pub fn next_ready(&mut self) -> Option<(CommandId, Taken)> {
        let id = self.work.ready.pop_front()?;
        let command = self.commands[id];
        let mut taken = Taken::Command;
        if command.verb == Verb::Program {
            let rank = self.next_rank();
            self.images.seal(command.image, rank);
            taken = Taken::Program(command.image);
        }
        let (carried, moved) = self.transfer_of(&command);
        let (busy, channel) = (self.service_time(&command, carried), self.grid.channel_of(self.grid.die_of(command.ppn)));
        self.record(Fact::Served { die: None, busy, channel, carried, moved });
        Some((id, taken))
    }

    /// Withdraws a command from its queue. False if a die serves it already, or there are no queues
    /// without time.
    pub fn withdraw(&mut self, id: CommandId) -> bool {
        if self.commands[id].stage != Stage::Queued || !self.timed {
            return false;
        }
        self.commands[id].stage = Stage::Withdrawn;
        self.work.withdrawn += 1;
        let die = self.grid.die_of(self.commands[id].ppn);
        self.work.backlogs[die.index()] -= 1;
        self.record(Fact::Withdrawn);
        true
    }

    /// Whether withdrawn commands are still linked in queues.
    pub fn has_withdrawn(&self) -> bool {
        self.work.withdrawn > 0
    }

    /// Takes withdrawn commands from the heads of the die's queues.
    fn drop_withdrawn(&mut self, die: DieId) {
        while let Some(id) = self.work.dies[die.index()].take_withdrawn(&self.commands) {
            self.commands.give(id);
            self.work.withdrawn -= 1;
        }
    }
}
