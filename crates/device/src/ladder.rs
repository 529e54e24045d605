//! The ladder of reads: what is tried after a read that cannot be decoded, before the page is given up.
//!
//! A page is read with the references that the policy says. If that fails, it is read again with the entries of the retry
//! table in their order; then, where its code is LDPC, with soft reads around the best references so far: two more sensings
//! tell two bits of each cell, four more tell three. A page that no step decodes is left to the
//! parity of the scheme.
//!
//! Each step is a read of its own: the die senses, the channel carries what it sensed, and the decoder of the channel tries.
//! In between the die is free, but a read that goes on is the next that it takes up, and an erase of the die waits for it.
//! How many errors the codewords have on each step follows from one draw for each: errors are those of cells, so that a
//! codeword that is worse than others with one reference is as much worse with the next.
//!
//! All steps are drawn when the page arrives first (`sense.rs`); this file has the state, and the time that steps take.

use crate::Device;
use crate::command::Command;
use crate::config::{Ecc, ReadRetry};
use crate::contents::HostPayload;
use crate::ecc::{Decoding, EccError};
use crate::facts::{Fact, Step};
use crate::queue::{Phase, Registers};
use crate::slab::CommandId;
use crate::waits::{Passed, Wait};
use nand::{Cells, FlashArray, PageCells, ReadOutcome};
use std::collections::{BTreeMap, VecDeque};
use vocab::{BlockAddr, DieId, Nanos, Ppn, SimTime, Streams};

/// A read after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    /// How often the cells are sensed.
    sensings: u32,
    /// Time in the decoder.
    decode: Nanos,
}

/// A page whose read goes on.
#[derive(Clone, Debug)]
struct Climb {
    attempts: VecDeque<Attempt>,
    /// Its outcome in the end.
    outcome: ReadOutcome,
    /// The event of its decoder.
    timer: usize,
    /// Work that its die had done when the page was to be read again.
    passed: Passed,
}

/// A codeword that is not decoded yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpenWord {
    /// Slot of the page.
    pub slot: u8,
    /// Codeword of the slot.
    pub word: u32,
    /// How far its errors are from their mean, in standard deviations.
    pub deviates: f64,
    /// It is decoded where failure is less likely than this.
    pub luck: f64,
}

impl OpenWord {
    /// Errors among this many bits at another rate.
    pub fn errors(&self, bits: u32, rber: f64) -> u32 {
        let mean = f64::from(bits) * rber;
        (mean + self.deviates * (mean * (1.0 - rber)).sqrt()).round().clamp(0.0, f64::from(bits)) as u32
    }
}

/// The ladder of one drive.
#[derive(Clone, Debug)]
pub struct Ladder {
    policy: ReadRetry,
    /// Entries of the retry table.
    entries: u32,
    /// How many of them are tried at most.
    pub(crate) retries: u32,
    /// Bits of the finest sensing.
    pub(crate) soft_bits: u32,
    prediction_sigma: f64,
    streams: Streams,
    /// Of each block the entry with which a page of it was read last: in RAM.
    remembered: Vec<u8>,
    /// Codewords of the page at hand that are not decoded.
    pub(crate) open: Vec<OpenWord>,
    /// Further reads of the page at hand.
    plan: VecDeque<Attempt>,
    /// Pages whose reads go on, by command.
    climbs: BTreeMap<usize, Climb>,
}

impl Ladder {
    /// A ladder by settings, over cells whose table has this many entries.
    pub(crate) fn new(ecc: &Ecc, entries: u32, streams: &Streams) -> Result<Self, EccError> {
        if !(1..=3).contains(&ecc.soft_bits) {
            return Err(EccError::new(format!("ecc.soft_bits: found {}, valid are 1 to 3", ecc.soft_bits)));
        }
        if !(0.0..=3.0).contains(&ecc.prediction_sigma) {
            return Err(EccError::new(format!("ecc.prediction_sigma: found {}, valid are 0 to 3", ecc.prediction_sigma)));
        }
        Ok(Self {
            policy: ecc.read_retry,
            entries,
            retries: ecc.retries.min(entries),
            soft_bits: ecc.soft_bits,
            prediction_sigma: ecc.prediction_sigma,
            streams: *streams,
            remembered: Vec::new(),
            open: Vec::new(),
            plan: VecDeque::new(),
            climbs: BTreeMap::new(),
        })
    }

    /// Whether more is done than to read a page once.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.policy != ReadRetry::None
    }

    /// The entry of the table that a page is read with first.
    pub(crate) fn first_entry(&self, cells: &Cells, page: &PageCells, ppn: Ppn, block: BlockAddr, sequence: u64) -> u32 {
        match self.policy {
            ReadRetry::None | ReadRetry::Table => 0,
            ReadRetry::Tracked => self.remembered.get(block.0 as usize).copied().unwrap_or(0).into(),
            ReadRetry::Predicted => {
                let off = match self.prediction_sigma {
                    0.0 => 0.0,
                    sigma => sigma * self.streams.stream_of("ecc/prediction", sequence << 32 | u64::from(ppn.0)).normal(),
                };
                let wanted = cells.optimum(page) + off;
                let distance = |entry: u32| (cells.model().entry(entry) - wanted).abs();
                (0..=self.entries).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
            }
        }
    }

    /// Entries to try after the first read: those that follow it in the table, then those before it.
    pub(crate) fn entries_after(&self, first: u32) -> impl Iterator<Item = u32> + use<> {
        (first + 1..=self.entries).chain(0..first).take(self.retries as usize)
    }

    /// A page of the block was read with this entry.
    pub(crate) fn remember(&mut self, block: BlockAddr, entry: u32) {
        if self.policy != ReadRetry::Tracked {
            return;
        }
        let index = block.0 as usize;
        if index >= self.remembered.len() {
            self.remembered.resize(index + 1, 0);
        }
        self.remembered[index] = entry as u8;
    }

    /// The block was erased: nothing of what helped is true any more.
    pub(crate) fn forget(&mut self, block: BlockAddr) {
        if let Some(entry) = self.remembered.get_mut(block.0 as usize) {
            *entry = 0;
        }
    }

    /// Power was cut: what is in RAM is gone.
    pub(crate) fn restart(&mut self, streams: &Streams) {
        self.streams = *streams;
        self.remembered.clear();
        self.plan.clear();
        self.climbs.clear();
    }

    /// A page arrived and nothing of it is decoded.
    pub(crate) fn begin(&mut self) {
        self.plan.clear();
        self.open.clear();
    }

    /// Whether the page that arrived last has to be read again.
    #[inline]
    pub fn goes_on(&self) -> bool {
        !self.plan.is_empty()
    }

    /// The reads to come of the page that arrived last are those of this command.
    pub(crate) fn follow(&mut self, id: CommandId, outcome: ReadOutcome, timer: usize) {
        if self.goes_on() {
            let attempts = std::mem::take(&mut self.plan);
            self.climbs.insert(id.index(), Climb { attempts, outcome, timer, passed: Passed::default() });
        }
    }
}

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// Whether the page that was sensed last has to be read again before anything comes of it.
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
