//! Time that the steps of the [ladder](crate::ladder) take: of dies, channels and decoders.

use crate::Device;
use crate::command::Command;
use crate::contents::HostPayload;
use crate::ecc::Decoding;
use crate::facts::{Fact, Step};
use crate::ladder::{Attempt, Ladder};
use crate::queue::{Phase, Registers};
use crate::slab::CommandId;
use crate::waits::Wait;
use nand::{FlashArray, ReadOutcome};
use std::collections::VecDeque;
use vocab::{DieId, Nanos, SimTime};

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// True if the last sensed page must be sensed again before its read can complete.
    #[inline]
    pub fn reads_again(&self) -> bool {
        self.ecc.as_ref().is_some_and(|ecc| ecc.ladder.goes_on())
    }

    /// A step was taken on the ladder; a read after the first is planned.
    pub(crate) fn step(&mut self, ladder: &mut Ladder, command: &Command<O>, step: Step, decode: Nanos) {
        let sensings = match step {
            Step::Hard | Step::Retry => 1,
            Step::Soft2 => 2,
            Step::Soft3 => 4,
        };
        let (block, page) = self.grid.split(command.ppn);
        let flash = self.read_time(block, page) * u64::from(sensings) + self.transfer_of(command).0;
        self.record(Fact::Climbed { step, sensings, flash, decode });
        // Without time nothing is waited for.
        if self.timed && step != Step::Hard {
            ladder.plan.push_back(Attempt { sensings, decode });
        }
    }

    /// A page could not be decoded and goes back to its die. False if that was its last step.
    pub(crate) fn go_back(&mut self, id: CommandId, die: DieId) -> bool {
        if self.ecc.as_ref().is_none_or(|ecc| !ecc.ladder.climbs.contains_key(&id.index())) {
            return false;
        }
        let passed = self.watch_back(id, die);
        if let Some(climb) = self.ecc.as_mut().and_then(|ecc| ecc.ladder.climbs.get_mut(&id.index())) {
            climb.passed = passed;
        }
        let state = &mut self.work.dies[die.index()];
        state.again.push_back(id);
        if self.latencies.suspend.is_some() {
            self.suspend(die, self.commands[id].ppn);
        }
        let is_idle = self.work.dies[die.index()].service.is_none();
        self.work.backlogs[die.index()] += 1;
        if is_idle {
            self.work.kick(die);
        }
        true
    }

    /// The die takes up the next read that goes on, so much later if a command that it suspended is not at rest; false if there
    /// is none.
    pub(crate) fn serve_again(&mut self, die: DieId, behind: Nanos) -> bool {
        let Some(id) = self.work.dies[die.index()].again.pop_front() else { return false };
        let is_dead = self.losses.is_dead(die);
        let ecc = self.ecc.as_mut().expect("only pages with a code are read again");
        let climb = ecc.ladder.climbs.get_mut(&id.index()).expect("it goes on");
        if is_dead {
            // The die died in the meantime, and answers nothing.
            climb.attempts = VecDeque::from([Attempt { sensings: 0, decode: Nanos(0) }]);
            climb.outcome = ReadOutcome::Uncorrectable;
        }
        let (sensings, passed) = (climb.attempts[0].sensings, climb.passed);
        self.watch_taken_again(id, die, &passed);
        let (block, page) = self.grid.split(self.commands[id].ppn);
        let (overhead, cells) = (self.latencies.command, self.read_time(block, page) * u64::from(sensings));
        let channel = &mut self.channels[self.grid.channel_of(die).index()];
        let ready = self.now + behind;
        let granted = if is_dead { ready } else { channel.command(ready, overhead) };
        let state = &mut self.work.dies[die.index()];
        (state.since, state.registers) = (self.now, Registers::default());
        state.service = Some((id, if is_dead { Phase::Ending } else { Phase::Sensing }));
        self.work.busy += 1;
        let until = granted + overhead + cells;
        self.calendar.schedule(die.index(), until);
        self.occupy_cells(die, until);
        let channel = Nanos(granted.since(self.now).0 - behind.0);
        let waits = [(Wait::Channel, channel), (Wait::Transfer, overhead), (Wait::Sensing, cells)];
        self.watch_service(id, &waits);
        if let Some(suspended) = self.suspended(die) {
            self.watch_behind(id, suspended, behind);
        }
        true
    }

    /// A die has ended a read: if the page was read again, it goes to its decoder again. False if it was read first.
    pub(crate) fn decode_again(&mut self, id: CommandId, die: DieId) -> bool {
        let Some(ecc) = self.ecc.as_mut() else { return false };
        let Some(climb) = ecc.ladder.climbs.get_mut(&id.index()) else { return false };
        let attempt = climb.attempts.pop_front().expect("it was read again for it");
        let (outcome, timer) = (climb.outcome, climb.timer);
        if climb.attempts.is_empty() {
            ecc.ladder.climbs.remove(&id.index());
        }
        let channel = self.grid.channel_of(die).index();
        let until: SimTime = ecc.queue(channel, die, Decoding { command: id, outcome, until: self.now }, attempt.decode);
        // It counted as being decoded all the time: erases wait.
        ecc.of_die[die.index()] -= 1;
        if !self.calendar.is_pending(timer) {
            self.calendar.schedule(timer, until);
        }
        self.watch_not_over();
        self.work.kick(die);
        true
    }
}
