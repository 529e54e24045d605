//! Programs and erases that give way to reads.

use crate::Device;
use crate::command::{Command, Stage, Verb};
use crate::contents::HostPayload;
use crate::queue::{Phase, Suspended};
use crate::service::Taken;
use crate::slab::CommandId;
use nand::FlashArray;
use vocab::{DieId, Nanos, Ppn, SimTime};

/// Times that one command gives way at most: then it ends, whatever waits.
const GIVES_WAY_AT_MOST: u32 = 16;

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// A read of this page waits: the program or erase that a die serves gives way, unless it would end sooner. Cells at work are
    /// suspended at once. While its data are moved the die can sense nothing, since they come into its registers; the read goes
    /// first when they are in. A die that suspends keeps the data of a program apart while it reads, and can do so before the
    /// cells begin as well as after: then nothing has to come to rest, and no time is lost.
    pub(crate) fn suspend(&mut self, die: DieId, ppn: Ppn) {
        let (Some(time), Some(before)) = (self.latencies.suspend, self.cells_begin_in(die)) else { return };
        let state = &self.work.dies[die.index()];
        let (Some((command, Phase::Ending)), Some(ends)) = (state.service, self.calendar.at(die.index())) else { return };
        let forbidden = self.gc_occupies || self.losses.is_dead(die) || self.is_gathered(ppn);
        if forbidden || state.gave_way >= GIVES_WAY_AT_MOST {
            return;
        }
        let remaining = Nanos(ends.since(self.now).0 - before.0);
        if before.0 > 0 {
            let state = &mut self.work.dies[die.index()];
            state.service = Some((command, Phase::GivingWay));
            state.put_off = remaining;
            self.calendar.schedule(die.index(), self.now + before);
        } else if remaining > time + time {
            self.set_aside(die, command, remaining, Some(time));
        }
    }

    /// The data of a program for which a read waits are in, or the command of an erase: the cells do not begin yet.
    pub(crate) fn put_off(&mut self, die: DieId, command: CommandId) {
        let remaining = self.work.dies[die.index()].put_off;
        self.set_aside(die, command, remaining, None);
    }

    /// The command that a die serves makes room for reads; its cells, if they are at work, are at rest in so long.
    fn set_aside(&mut self, die: DieId, command: CommandId, remaining: Nanos, rest: Option<Nanos>) {
        let state = &mut self.work.dies[die.index()];
        let busy = self.now.since(state.since);
        state.suspended = Some(Suspended { command, remaining, busy, at: self.now, has_begun: rest.is_some() });
        state.service = None;
        self.work.busy -= 1;
        self.occupy_cells(die, self.now + rest.unwrap_or_default());
        self.watch_suspended(die);
        self.calendar.clear(die.index());
        self.work.kick(die);
    }

    /// How long it is until the cells of a die begin with the program or erase that it serves; 0: they have begun. `None`: it
    /// serves neither.
    #[must_use]
    pub fn cells_begin_in(&self, die: DieId) -> Option<Nanos> {
        let state = &self.work.dies[die.index()];
        let (id, phase) = state.service?;
        let command = &self.commands[id];
        let (block, page) = self.grid.split(command.ppn);
        let whole = match command.verb {
            Verb::Program => self.program_time(block, page),
            Verb::Erase => self.erase_time(block),
            Verb::Read | Verb::Recharge => return None,
        };
        let pending = self.calendar.at(die.index())?.since(self.now);
        Some(match phase {
            Phase::GivingWay => pending,
            // It was resumed: that takes time, too, so that more than the whole may be left.
            _ if state.gave_way > 0 => Nanos(0),
            _ => Nanos(pending.0.saturating_sub(whole.0)),
        })
    }

    /// A die whose command gave way serves the next read, or resumes that command.
    pub(crate) fn go_on_suspended(&mut self, die: DieId) -> Taken {
        let suspended = self.work.dies[die.index()].suspended.expect("the caller looked");
        // Cells that had not begun are at rest, and begin as they would have.
        let time = self.latencies.suspend.filter(|_| suspended.has_begun).unwrap_or_default();
        // The first read waits until the cells are at rest.
        let behind = if self.now == suspended.at { time } else { Nanos(0) };
        if self.serve_again(die, behind) {
            return Taken::Command;
        }
        let state = &mut self.work.dies[die.index()];
        if let Some(id) = state.pop_read(&self.commands) {
            state.since = self.now;
            let command = &mut self.commands[id];
            command.stage = Stage::Served;
            let &mut Command { verb, ppn, .. } = command;
            self.watch_taken(id, die);
            self.watch_behind(id, suspended.command, behind);
            self.serve(die, id, verb, ppn, behind);
            return Taken::Command;
        }
        state.suspended = None;
        state.service = Some((suspended.command, Phase::Ending));
        state.since = SimTime(self.now.0 - suspended.busy.0);
        state.gave_way += 1;
        state.reads_served();
        self.work.busy += 1;
        let until = self.now + time + suspended.remaining;
        self.calendar.schedule(die.index(), until);
        self.occupy_cells(die, until);
        self.watch_resumed(die, suspended, time);
        Taken::Command
    }

    /// The program or erase that a die has taken up and that gave way to reads.
    pub fn suspended(&self, die: DieId) -> Option<CommandId> {
        self.work.dies[die.index()].suspended.map(|suspended| suspended.command)
    }
}
