//! Programs and erases that give way to reads.

use crate::Device;
use crate::command::{Command, Stage, Verb};
use crate::contents::HostPayload;
use crate::queue::{Phase, Suspended};
use crate::service::Taken;
use nand::FlashArray;
use vocab::{DieId, Nanos, Ppn, SimTime};

/// Times that one command gives way at most: then it ends, whatever waits.
const GIVES_WAY_AT_MOST: u32 = 16;

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// Suspends the program or erase that a die works on, because a read of this page waits, unless it would end sooner.
    pub(crate) fn suspend(&mut self, die: DieId, ppn: Ppn) {
        let (Some(time), Some(cells)) = (self.latencies.suspend, self.cells_at_work(die)) else { return };
        let state = &self.work.dies[die.index()];
        let Some((command, _)) = state.service else { return };
        let remaining = cells.since(self.now);
        let gives_way = state.gave_way < GIVES_WAY_AT_MOST && remaining > time + time;
        if !gives_way || self.collection_occupies || self.losses.is_dead(die) || self.is_gathered(ppn) {
            return;
        }
        let busy = self.now.since(state.since);
        let state = &mut self.work.dies[die.index()];
        state.suspended = Some(Suspended { command, remaining, busy, at: self.now });
        state.service = None;
        self.work.busy -= 1;
        self.occupy_cells(die, self.now + time);
        self.watch_suspended(die);
        self.calendar.clear(die.index());
        self.work.kick(die);
    }

    /// When the cells that a die programs or erases are done; `None`: they are not at work.
    fn cells_at_work(&self, die: DieId) -> Option<SimTime> {
        let (id, phase) = self.work.dies[die.index()].service?;
        let command = &self.commands[id];
        let (block, page) = self.grid.split(command.ppn);
        let is_slc = self.array.block(block).is_slc();
        let whole = match command.verb {
            _ if phase != Phase::Ending => return None,
            Verb::Program if self.latencies.unit.ends_with(page, is_slc) => self.program_time(block, page),
            Verb::Erase => self.erase_time(block),
            Verb::Program | Verb::Read | Verb::Recharge => return None,
        };
        let ends = self.calendar.at(die.index())?;
        (ends.since(self.now) <= whole).then_some(ends)
    }

    /// A die whose command gave way serves the next read, or resumes that command.
    pub(crate) fn go_on_suspended(&mut self, die: DieId) -> Taken {
        let time = self.latencies.suspend.expect("only such dies suspend");
        let suspended = self.work.dies[die.index()].suspended.expect("the caller looked");
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

    /// The program or erase that a die has begun and that gave way to reads.
    pub fn suspended(&self, die: DieId) -> Option<crate::slab::CommandId> {
        self.work.dies[die.index()].suspended.map(|suspended| suspended.command)
    }
}
