//! The device: the medium in virtual time. Dies, channels, queues, commands, page images, the decoders of
//! page ECC, the calendar and the record of what happened.
//!
//! The device knows neither the map nor the protection. It carries for each command an owner, which it never
//! looks at, and hands it back with the command that has ended. What a page holds, where it goes and who is
//! to hear of it is for the engine to say.

mod ahead;
pub mod batches;
pub mod calendar;
mod channel;
mod climb;
pub mod codec;
pub mod command;
pub mod config;
pub mod contents;
pub mod decode;
pub mod ecc;
pub mod facts;
pub mod failed;
pub mod flows;
pub mod folds;
pub mod image;
pub mod ladder;
mod ldpc;
pub mod losses;
pub mod odds;
mod page_bytes;
pub mod queue;
pub mod sense;
pub mod series;
pub mod service;
pub mod slab;
pub mod slow;
mod suspend;
pub mod waits;
mod work;

pub use service::Taken;

use crate::ahead::SensingAhead;
use crate::calendar::Calendar;
use crate::channel::Channel;
use crate::command::{Command, Verb};
use crate::config::Scheduler;
use crate::contents::HostPayload;
use crate::ecc::PageEcc;
use crate::facts::Fact;
use crate::failed::FailedProgram;
use crate::folds::Folds;
use crate::image::{Contents, Images};
use crate::losses::Losses;
use crate::queue::Die;
use crate::slab::{CommandId, ImageId, OfCommand, Slab};
use crate::slow::Slowness;
use crate::waits::Stopwatch;
use crate::work::Work;
use nand::{FlashArray, Latencies, OobTag, ProgramOutcome, Timing};

use std::collections::VecDeque;
use vocab::{BlockAddr, Bytes, Cause, DieId, Grid, Nanos, Ppn, SimTime};

/// One drive's flash, and everything between it and the engine.
#[derive(Clone)]
pub struct Device<P: HostPayload, A: FlashArray<P>, O> {
    /// The medium: real flash rules, faults and errors.
    pub array: A,
    /// Addresses of the medium.
    pub grid: Grid,
    /// How long sensing, programming, erasing and transfers take.
    pub latencies: Latencies,
    /// Dies that are slower than these say.
    pub slowness: Slowness,
    scheduler: Scheduler,
    /// Whether the GC of a block occupies its die: once its first command is taken up, no other is until it has none left.
    pub gc_occupies: bool,
    /// Without time, commands complete in the order they are given (preconditioning).
    pub timed: bool,
    /// Virtual time.
    pub now: SimTime,
    /// Pending events: one for each die, then the timers of the engine.
    pub calendar: Calendar,
    work: Work,
    channels: Vec<Channel>,
    /// Reads that dies sense while they move others, where dies can.
    ahead: Option<Box<SensingAhead>>,
    /// Dies, blocks and pages that were lost.
    pub losses: Losses,
    /// Commands queued or in service.
    pub commands: Slab<Command<O>, OfCommand>,
    /// Pages being put together, until they are programmed.
    pub images: Images<P>,
    /// Page ECC and the errors it is there for; `None`: neither.
    pub ecc: Option<Box<PageEcc>>,
    /// Programs that failed and wait for another place, in order.
    pub displaced: VecDeque<Command<O>>,
    /// Rank of the last program or write.
    pub sequence: u64,
    /// Counters over what happened.
    pub folds: Folds,
    /// Where the time of commands goes, where someone asks.
    pub stopwatch: Option<Box<Stopwatch>>,
}

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// An idle device over `array`; the calendar has `timers` events besides those of dies.
    pub fn new(array: A, timing: &Timing, scheduler: Scheduler, timers: usize) -> Self {
        let grid = array.grid().clone();
        let (slots, dies) = (grid.slots_per_page(), grid.dies() as usize);
        Self {
            latencies: Latencies::new(timing, grid.geometry()),
            slowness: Slowness::default(),
            scheduler,
            gc_occupies: false,
            timed: true,
            now: SimTime::ZERO,
            calendar: Calendar::new(dies + timers),
            work: Work::new(dies),
            channels: vec![Channel::default(); grid.geometry().channels as usize],
            ahead: SensingAhead::new(timing, dies),
            losses: Losses::default(),
            commands: Slab::default(),
            images: Images::new(slots),
            ecc: None,
            displaced: VecDeque::new(),
            sequence: 0,
            folds: Folds::new(slots),
            stopwatch: None,
            grid,
            array,
        }
    }

    /// Adds channels with as many dies each as there are. Nothing may be under way.
    pub fn grow(&mut self, grid: Grid, timers: usize) {
        let (dies, channels) = (grid.dies() as usize, grid.geometry().channels);
        self.calendar = Calendar::new(dies + timers);
        if let Some(ecc) = &mut self.ecc {
            ecc.grow(channels, grid.dies());
        }
        self.work.grow(dies);
        if let Some(ahead) = &mut self.ahead {
            ahead.grow(dies);
        }
        self.channels.resize_with(channels as usize, Channel::default);
        self.grid = grid;
    }

    /// Records what happened, now.
    #[inline]
    pub fn record(&mut self, fact: Fact) {
        self.folds.record(self.now, fact);
    }

    /// The next rank, of a write or a program.
    #[inline]
    pub fn next_rank(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Whether the die has died.
    #[inline]
    pub fn is_dead(&self, die: DieId) -> bool {
        self.losses.is_dead(die)
    }

    /// A new die takes the place of a dead one, which has nothing to do.
    pub fn replace_die(&mut self, die: DieId) {
        self.array.replace_die(die);
        let grid = &self.grid;
        self.losses.die_replaced(die, |ppn| grid.die_of(ppn) == die, |block| grid.split_block(block).0 == die);
        if let Some(ecc) = &mut self.ecc {
            (0..grid.blocks_per_die()).for_each(|number| ecc.ladder.forget(grid.block(die, number)));
        }
    }

    /// Whether a page of the die is being decoded.
    pub fn is_decoding(&self, die: DieId) -> bool {
        self.ecc.as_ref().is_some_and(|ecc| ecc.is_decoding(die))
    }

    /// Whether nothing is in service, queued or being decoded.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.work.is_idle() && self.ecc.as_ref().is_none_or(|ecc| ecc.is_idle())
    }

    /// Whether no die is serving a command.
    pub fn no_die_is_busy(&self) -> bool {
        self.work.busy == 0
    }

    /// Whether the die serves a command.
    pub fn is_busy(&self, die: DieId) -> bool {
        self.work.dies[die.index()].service.is_some() || self.work.dies[die.index()].suspended.is_some()
    }

    /// Whether an erase of the die was asked for that has not ended.
    pub fn is_erasing(&self, die: DieId) -> bool {
        self.work.dies[die.index()].erases > 0
    }

    /// Commands queued or in service at a die.
    #[inline]
    pub fn backlog(&self, die: DieId) -> u32 {
        self.work.backlogs[die.index()]
    }

    /// As [`Self::backlog`], of all dies in order.
    #[inline]
    pub fn backlogs(&self) -> &[u32] {
        &self.work.backlogs
    }

    /// The dies, in order.
    pub fn dies(&self) -> &[Die] {
        &self.work.dies
    }

    /// Whether the page was programmed: pages of a block are programmed in order.
    #[inline]
    pub fn is_programmed(&self, ppn: Ppn) -> bool {
        let (block, page) = self.grid.split(ppn);
        page < self.array.block(block).next_page
    }

    /// Whether the page is in the memory where its unit is gathered, which outlives power cuts: cells do not have it yet.
    #[inline]
    pub fn is_gathered(&self, ppn: Ppn) -> bool {
        if !self.latencies.unit.is_gathered() {
            return false;
        }
        let (block, page) = self.grid.split(ppn);
        let block = self.array.block(block);
        self.latencies.unit.holds(page, block.next_page, block.is_slc())
    }

    /// Whether the page was programmed since its block was to be erased, and its program did not fail.
    pub fn is_stored(&self, ppn: Ppn) -> bool {
        let is_failed = self.losses.failed_programs.contains_key(&ppn.0);
        self.is_programmed(ppn) && !is_failed && self.losses.keeps(self.block_of(ppn))
    }

    /// The block of a page.
    pub fn block_of(&self, ppn: Ppn) -> BlockAddr {
        self.grid.split(ppn).0
    }

    /// Tags of a page, readable or not: what the controller's own summary of the block says.
    pub fn tags(&self, ppn: Ppn) -> &[OobTag] {
        match self.losses.failed_programs.get(&ppn.0) {
            Some(failed) => &failed.tags,
            None => self.array.tags(ppn),
        }
    }

    /// As [`Self::tags`]: the rank of the contents of a slot, whose program may be on its way.
    pub fn update_at(&self, ppn: Ppn, index: u32) -> u64 {
        if let Some(failed) = self.losses.failed_programs.get(&ppn.0) {
            return failed.updates[index as usize];
        }
        let on_its_way = if self.is_programmed(ppn) { None } else { self.images.of_page(ppn) };
        match on_its_way {
            Some(image) => self.images.updates(image)[index as usize],
            None => self.array.update(ppn, index),
        }
    }

    /// Contents of a slot of a page that was read.
    #[inline]
    pub fn contents_at(&self, ppn: Ppn, index: u32) -> Contents<P> {
        let (tag, payload, update) = self.array.slot(ppn, index);
        let contents = Contents { tag, payload: payload.clone(), update };
        if self.losses.failed_programs.is_empty() {
            return contents;
        }
        let tag = self.tags(ppn)[index as usize];
        Contents { tag, update: self.update_at(ppn, index), ..contents }
    }

    /// The image's program failed and its place in the map stays.
    pub fn note_failed(&mut self, image: ImageId) {
        let tags = self.images.contents(image).0.into();
        let updates = self.images.updates(image).into();
        self.losses.failed_programs.insert(self.images.slab[image].ppn.0, FailedProgram { tags, updates });
    }

    /// Whether the page's program failed and its contents wait for another place, in the controller.
    #[inline]
    pub fn is_displaced(&self, ppn: Ppn) -> bool {
        !self.displaced.is_empty() && self.displaced.iter().any(|command| command.ppn == ppn)
    }

    /// The contents of a page that waits for another place.
    pub fn displaced_contents(&self, ppn: Ppn, index: usize) -> Option<P> {
        let command = self.displaced.iter().find(|command| command.ppn == ppn)?;
        Some(self.images.contents(command.image).1[index].clone())
    }

    /// Every command that a die has, in service or queued.
    pub fn commands_of_dies(&self) -> Vec<CommandId> {
        let of_die = |die: &Die| {
            let served = die.service.map(|(id, _)| id);
            let suspended = die.suspended.map(|suspended| suspended.command);
            suspended.into_iter().chain(served).chain(die.queued(&self.commands)).collect::<Vec<_>>()
        };
        self.work.dies.iter().flat_map(of_die).collect()
    }

    /// Time a command keeps its channel, and the data and OOB bytes that it moves.
    fn transfer_of(&self, command: &Command<O>) -> (Nanos, Bytes) {
        let (latencies, unit) = (&self.latencies, &self.latencies.unit);
        let slots_of = |pages: u32| pages * self.grid.slots_per_page();
        let (transfer, slots) = match command.verb {
            Verb::Read if self.is_gathered(command.ppn) => return (Nanos(0), Bytes(0)),
            Verb::Read => (latencies.transfer(u32::from(command.count)), u32::from(command.count)),
            Verb::Program if self.only_gathers(command.ppn) => return (Nanos(0), Bytes(0)),
            Verb::Program | Verb::Recharge if !latencies.have_slc() => (unit.transfer(), slots_of(unit.pages())),
            Verb::Program | Verb::Recharge => {
                let block = self.array.block(self.block_of(command.ppn));
                (latencies.transfer_unit(block), slots_of(unit.pages_in(block.is_slc())))
            }
            Verb::Erase => (Nanos(0), 0),
        };
        (latencies.command + transfer, latencies.bytes(slots))
    }

    /// Whether a program of the page only takes it into the memory where its unit is gathered.
    #[inline]
    fn only_gathers(&self, ppn: Ppn) -> bool {
        if !self.latencies.unit.is_gathered() {
            return false;
        }
        let (block, page) = self.grid.split(ppn);
        !self.latencies.unit.ends_with(page, self.array.block(block).is_slc())
    }

    /// Time a command keeps its die without waiting where it keeps its channel for the time `carried`.
    fn service_time(&self, command: &Command<O>, carried: Nanos) -> Nanos {
        let (block, page) = self.grid.split(command.ppn);
        let cells = match command.verb {
            Verb::Read => self.read_time(block, page),
            Verb::Program if self.only_gathers(command.ppn) => return Nanos(0),
            Verb::Program | Verb::Recharge => self.program_time(block, page),
            Verb::Erase => self.erase_time(block),
        };
        carried + cells + self.encode_time(command.verb)
    }

    /// Programs the page of a command now.
    #[inline(always)]
    pub fn program(&mut self, command: &Command<O>) -> ProgramOutcome {
        let mut oob = self.images.slab[command.image].oob;
        if self.ecc.is_some() {
            oob.ecc = self.capability_of(command);
        }
        let filled = self.images.slab[command.image].filled;
        let program = self.images.program(command.image, command.ppn, oob, self.now);
        let (block, page) = self.grid.split(command.ppn);
        let ends = self.latencies.unit.ends_with(page, self.array.block(block).is_slc());
        let outcome = if ends { self.array.program_page(&program) } else { self.array.gather_page(&program) };
        if outcome == ProgramOutcome::Failed {
            return ProgramOutcome::Failed;
        }
        self.folds.program_pulses += u64::from(ends);
        self.record(Fact::Programmed { ppn: command.ppn.0, cause: command.cause, filled });
        if self.latencies.have_slc() {
            self.note_mode(command, filled);
        }
        if self.ecc.is_some() {
            let time = self.encode_time(Verb::Program);
            self.record(Fact::Encoded { capability: oob.ecc.0, time });
        }
        ProgramOutcome::Done
    }

    /// A page was programmed on a drive with blocks in SLC mode.
    fn note_mode(&mut self, command: &Command<O>, filled: u32) {
        let (block, page) = self.grid.split(command.ppn);
        let block = self.array.block(block);
        assert!(page < self.latencies.pages_of(block), "{} lies behind the last page of its block in SLC mode", command.ppn);
        self.folds.slc.programmed(block.is_slc(), command.cause, filled);
    }

    /// Erases a block now. What it held is gone, also if that fails: neither the controller nor flash has it.
    pub fn erase(&mut self, block: BlockAddr, cause: Cause) -> ProgramOutcome {
        let die = self.grid.split_block(block).0;
        self.work.dies[die.index()].erases -= 1;
        let is_slc = self.array.block(block).is_slc();
        let outcome = self.array.erase(block);
        if let Some(ecc) = &mut self.ecc {
            ecc.ladder.forget(block);
        }
        let grid = &self.grid;
        self.losses.note_erase(block, outcome.is_done(), |ppn| grid.split(ppn).0);
        if outcome.is_done() {
            self.record(Fact::Erased { block: block.0, cause });
            self.folds.slc.erases += u64::from(is_slc);
        }
        outcome
    }
}
