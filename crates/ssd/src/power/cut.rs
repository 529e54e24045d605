//! The power goes: which commands that meets, what becomes of them, and what outlives it.
//!
//! Dies meet the cut as `nand::power` describes it. Of the controller's memory survives what is
//! declared PLP, and nothing else: the pages of a PLP write buffer, the partial
//! parities and sums of a parity cache together with the pages that these sum and whose programs
//! are under way, the table of block groups, counts of reads in steps, the most P/E cycles that any
//! block has, which blocks are being erased, the order in which dies died, which logical pages are lost permanently, and
//! the journal of ranks.

use crate::care::profiles::Profiles;
use crate::config::BufferKind;
use crate::core::checkpoint::Checkpoint;
use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::engine::Engine;
use crate::power::outage::Outage;
use crate::rules::SafetyRule;
use crate::write::groups::GroupRemains;
use crate::write::stripes::partial::PartialParityRemains;
use device::command::Verb;
use device::slab::CommandId;
use nand::{EraseFate, FlashArray, InFlight, Oob, Pairing, ProgramFate, Scan};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{BlockAddr, DieId, Lpn, Nanos, Stream, StripeId};

/// A command that a die works on and a cut would interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// A program; `paired` if it shares cells with earlier pages.
    Program {
        /// The die.
        die: DieId,
        /// Whether an interrupted program may take earlier pages with it.
        paired: bool,
        /// Whether the drive has the energy to end it.
        held_up: bool,
    },
    /// An erase.
    Erase {
        /// The die.
        die: DieId,
    },
}

/// Effect of a cut on the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Of a program.
    Program(ProgramFate),
    /// Of an erase.
    Erase(EraseFate),
}

impl Begun {
    /// Everything that may become of the command; `draw` chooses which pages of a half-erased block
    /// look how.
    #[must_use]
    pub fn fates(self, draw: u64) -> Vec<Fate> {
        match self {
            Begun::Program { held_up: true, .. } => vec![Fate::Program(ProgramFate::Ended)],
            Begun::Program { paired, .. } => ProgramFate::all(paired).into_iter().map(Fate::Program).collect(),
            Begun::Erase { .. } => EraseFate::all(draw).map(Fate::Erase).to_vec(),
        }
    }

    /// One of its fates, all alike.
    pub fn draw(self, draws: &mut Stream) -> Fate {
        let fates = self.fates(draws.bits());
        fates[draws.below(fates.len() as u64) as usize]
    }
}

/// State that survives a cut beside flash.
#[derive(Clone, Debug)]
pub(crate) struct Remains<P> {
    /// Pages of a PLP buffer, least recently written first.
    pub buffer: Vec<(Lpn, P)>,
    pub held: Vec<PartialParityRemains<P>>,
    pub groups: Option<GroupRemains<P>>,
    /// Reads of each block in whole steps, as last saved.
    pub reads: Vec<u32>,
    /// Most P/E cycles of any block, erases included that dies were given.
    pub most_worn: Option<u32>,
    /// Blocks of units whose erase was asked for and has not ended, now or before an earlier cut.
    pub erasing: BTreeSet<BlockAddr>,
    /// Pages that were found lost permanently, and the rank of what they held.
    pub lost: BTreeMap<Lpn, u64>,
    /// Which logical pages have durable contents, and of which rank. Drives in files keep it once their flash may have
    /// lost parts.
    pub journal: Journal,
    /// Whether they do.
    pub keeps_ranks: bool,
    /// P/E cycles of each block, where they are more than its pages say; empty: they are not.
    pub wear: Vec<u32>,
    /// Dies that died, in the order of their deaths: substitutes are chosen in that order.
    pub died: Vec<DieId>,
    /// Dies that took the places of dead ones, and whether they may lack what was in flash: not all is rebuilt.
    pub spares: Vec<(DieId, bool)>,
    /// Summaries of whole blocks.
    pub checkpoint: Option<Checkpoint>,
    /// Page profiles in reserved pages of flash.
    pub profiles: Option<Profiles>,
    /// Other effects of the cut.
    pub outage: Outage,
}

impl<P> Default for Remains<P> {
    fn default() -> Self {
        Self {
            buffer: Vec::new(),
            held: Vec::new(),
            groups: None,
            reads: Vec::new(),
            most_worn: None,
            erasing: BTreeSet::new(),
            lost: BTreeMap::new(),
            journal: Journal::default(),
            keeps_ranks: false,
            wear: Vec::new(),
            died: Vec::new(),
            spares: Vec::new(),
            checkpoint: None,
            profiles: None,
            outage: Outage::default(),
        }
    }
}

impl<P> Remains<P> {
    /// The memory loses what the outage says; pages that leaned on what is gone: those of the buffer, and
    /// those of stripes with partial parities.
    pub fn lose(&mut self, outage: Outage, lpns_of: impl Fn(StripeId) -> Vec<Lpn>) -> Vec<Lpn> {
        self.outage = outage;
        let gone = outage.memory;
        let mut doubtful = Vec::new();
        if gone.sums {
            doubtful.extend(self.held.drain(..).flat_map(|held| lpns_of(held.stripe)));
            if let Some(groups) = &mut self.groups {
                groups.lose_sums();
            }
        }
        if gone.reads {
            self.most_worn = None;
            self.erasing.clear();
        }
        if gone.checkpoint {
            self.checkpoint.iter_mut().for_each(Checkpoint::forget_all);
        }
        // The newest durable contents of these may be what is gone. What a buffer has was never noted: flash keeps what was.
        doubtful.iter().for_each(|&lpn| self.journal.forget(lpn));
        let buffer = if gone.buffer { std::mem::take(&mut self.buffer) } else { Vec::new() };
        doubtful.extend(buffer.into_iter().map(|(lpn, _)| lpn));
        doubtful
    }

    /// The highest rank that anything has.
    pub fn newest(&self) -> u64 {
        let mut newest = self.journal.newest();
        let mut seen = |rank: u64| newest = newest.max(rank);
        self.lost.values().for_each(|&rank| seen(rank));
        self.held.iter().for_each(|held| seen(held.sums.stripe.rank));
        if let Some(groups) = &self.groups {
            let mut all_seen = |members: &[nand::Member]| members.iter().for_each(|member| seen(member.update));
            groups.held.values().for_each(|held| all_seen(&held.members));
            groups.blocks.values().for_each(|blocks| all_seen(&blocks.members));
        }
        newest
    }
}

/// Reads of a block are saved whenever this many more have come.
pub(crate) const READS_SAVED_EVERY: u32 = 16;

/// Commands being executed by cells, with their identities.
pub(crate) fn begun<P: FlashPayload>(engine: &Engine<P>) -> Vec<(Begun, CommandId)> {
    let of_die = |die: u16| {
        let die = DieId(die);
        let state = &engine.core.device.dies()[die.index()];
        match (state.suspended, state.service) {
            (Some(gave_way), _) => gave_way.has_begun.then(|| (met(engine, die, gave_way.command), gave_way.command)),
            (None, service) => service.and_then(|(id, _)| Some((interrupted(engine, die, id)?, id))),
        }
    };
    (0..engine.core.device.dies().len() as u16).filter_map(of_die).collect()
}

/// A cut meets this program or erase: its cells are at work, or were before they gave way to reads.
fn met<P: FlashPayload>(engine: &Engine<P>, die: DieId, id: CommandId) -> Begun {
    match engine.core.device.commands[id].verb {
        Verb::Erase => Begun::Erase { die },
        _ => Begun::Program { die, paired: has_partners(engine, id), held_up: programs_end(engine) },
    }
}

fn has_partners<P: FlashPayload>(engine: &Engine<P>, program: CommandId) -> bool {
    let (block, page) = engine.core.device.grid.split(engine.core.device.commands[program].ppn);
    // In SLC mode no two pages share cells.
    !engine.core.device.array.block(block).is_slc()
        && !engine.core.safe.power.pairing.earlier_partners(page, engine.core.device.grid.pages_per_block()).is_empty()
}

fn interrupted<P: FlashPayload>(engine: &Engine<P>, die: DieId, id: CommandId) -> Option<Begun> {
    let has_begun = engine.core.device.cells_begin_in(die) == Some(Nanos(0));
    (has_begun && !engine.core.device.is_dead(die)).then(|| met(engine, die, id))
}

/// Whether a capacitor lets programs that were begun end: also where it keeps the pages that units are gathered of.
fn programs_end<P: FlashPayload>(engine: &Engine<P>) -> bool {
    engine.core.safe.power.hold_up || engine.core.device.latencies.unit.is_gathered()
}

/// Present contents of the PLP memory.
pub(crate) fn remains<P: FlashPayload>(engine: &Engine<P>) -> Remains<P> {
    let buffer = if keeps_buffer(engine) { engine.host.buffer.pages_by_age() } else { Vec::new() };
    let (checkpoint, profiles) = (engine.core.safe.checkpoint.clone(), engine.care.profiles.clone());
    Remains { buffer, checkpoint, profiles, ..listed_remains(engine) }
}

/// Whether what the write buffer has outlives a cut.
pub(crate) fn keeps_buffer<P: FlashPayload>(engine: &Engine<P>) -> bool {
    engine.host.buffer.kind() == BufferKind::Plp && !engine.core.breaks(SafetyRule::Buffer)
}

/// As [`Self::remains`], without what is as large as the drive and noted where it changes: write buffer, journal, checkpoint and page
/// profiles. Drives in files list the rest at each save.
pub(crate) fn listed_remains<P: FlashPayload>(engine: &Engine<P>) -> Remains<P> {
    let step = |&reads: &u32| reads / READS_SAVED_EVERY * READS_SAVED_EVERY;
    Remains {
        buffer: Vec::new(),
        held: engine.writer.held_remains(),
        groups: engine.writer.group_remains(&engine.core),
        reads: engine.core.limits.reads().iter().map(step).collect(),
        most_worn: Some(most_worn(engine)),
        erasing: engine.core.safe.erasing.keys().copied().collect(),
        lost: engine.core.safe.lost.clone(),
        journal: Journal::default(),
        keeps_ranks: engine.core.safe.keeps_ranks,
        wear: if engine.core.safe.wear_was_added { pe_of_blocks(engine) } else { Vec::new() },
        died: engine.core.device.losses.died().to_vec(),
        spares: spares(engine),
        checkpoint: None,
        profiles: None,
        outage: Outage::default(),
    }
}

fn spares<P: FlashPayload>(engine: &Engine<P>) -> Vec<(DieId, bool)> {
    let losses = &engine.core.device.losses;
    losses.spares().iter().map(|die| (DieId(die as u16), losses.lacking().contains(die))).collect()
}

fn pe_of_blocks<P: FlashPayload>(engine: &Engine<P>) -> Vec<u32> {
    let blocks = (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr);
    blocks.map(|block| engine.core.device.array.block(block).pe).collect()
}

fn most_worn<P: FlashPayload>(engine: &Engine<P>) -> u32 {
    let dies = engine.core.device.dies().iter();
    let suspended = dies.clone().filter_map(|die| die.suspended).map(|suspended| suspended.command);
    let served = dies.filter_map(|die| die.service).map(|(id, _)| id).chain(suspended);
    let served = served.map(|id| &engine.core.device.commands[id]);
    let erased = served.filter(|command| command.verb == Verb::Erase).map(|command| engine.core.device.grid.split(command.ppn).0);
    let blocks = (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr);
    let pe = |block: BlockAddr| engine.core.device.array.block(block).pe;
    blocks.map(pe).chain(erased.map(|block| pe(block) + 1)).max().unwrap_or(0)
}

/// Cuts the power; `fates` are those of [`Session::begun`], in its order.
pub(crate) fn cut<P: FlashPayload>(engine: &mut Engine<P>, fates: &[Fate]) -> Remains<P> {
    let remains = Remains { journal: engine.core.safe.journal.clone(), ..remains(engine) };
    let begun = begun(engine);
    assert_eq!(begun.len(), fates.len(), "a fate for each command that was begun");
    let ids: Vec<_> = begun.into_iter().map(|(_, id)| id).collect();
    let oobs: Vec<Oob> = ids.iter().map(|&id| oob_in_flight(engine, id)).collect();
    let mut in_flight = Vec::new();
    for ((&id, &fate), &oob) in ids.iter().zip(fates).zip(&oobs) {
        let command = &engine.core.device.commands[id];
        in_flight.push(match fate {
            Fate::Program(fate) => InFlight::Program(
                engine.core.device.images.program(command.image, command.ppn, oob, engine.core.device.now),
                fate,
            ),
            Fate::Erase(fate) => InFlight::Erase(engine.core.device.grid.split(command.ppn).0, fate),
        });
    }
    let pairing: Pairing = engine.core.safe.power.pairing;
    engine.core.device.array.cut_power(pairing, &in_flight);
    engine.core.device.array.forget_volatile();
    remains
}

fn oob_in_flight<P: FlashPayload>(engine: &mut Engine<P>, id: CommandId) -> Oob {
    let command = engine.core.device.commands[id];
    if command.verb != Verb::Program {
        return Oob::default();
    }
    let mut oob = engine.core.device.images.slab[command.image].oob;
    if engine.core.device.ecc.is_some() {
        oob.ecc = engine.core.device.capability_of(&command);
    }
    oob
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Pace, Scheduler, Setup};
    use crate::core::Command;
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::{TinyDrive, tiny_drive};
    use device::contents::Tag;
    use device::image::Contents;
    use nand::OobTag;
    use vocab::{Ppn, SimTime};

    /// Catches an erase of which a cut at its first instant, or later, leaves nothing, and one that is met before its cells
    /// are at work.
    #[test]
    fn an_erase_is_met_from_its_first_instant_on() {
        let mut drive = tiny_drive(&tiny_setup("none", BufferKind::Off));
        drive.core.submit(Command { verb: Verb::Erase, ppn: Ppn(0), ..Command::default() });
        let mut looked = false;
        drive.replay_stepwise(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {}, |drive| {
            let (die, end) = (DieId(0), drive.core.device.calendar.at(0).expect("the die is at work"));
            let begin = end.0 - drive.core.device.erase_time(BlockAddr(0)).0;
            for (now, met) in [(begin - 1, vec![]), (begin, vec![Begun::Erase { die }]), (end.0, vec![Begun::Erase { die }])] {
                drive.core.device.now = SimTime(now);
                assert_eq!(begun(drive).into_iter().map(|(begun, _)| begun).collect::<Vec<_>>(), met, "at {now} ns");
            }
            looked = true;
            false
        });
        assert!(looked);
    }

    fn take_up(drive: &mut TinyDrive) {
        while let Some(die) = drive.core.device.next_kick() {
            drive.core.device.start_next(die);
        }
    }

    /// Lets what is pending of die 0 happen, and the die go on.
    fn step(drive: &mut TinyDrive) {
        let device = &mut drive.core.device;
        device.now = device.calendar.at(0).expect("it is at work");
        if device.die_event(DieId(0)).is_some() {
            device.kick(DieId(0));
        }
        take_up(drive);
    }

    /// Reads come before the cells of an erase begin, and right after. Catches an erase that is met although its block is as it was, and
    /// one that is not met because, resumed, it has more than a whole erase before it.
    #[test]
    fn what_gave_way_is_met_if_its_cells_had_begun() {
        let mut setup = Setup { scheduler: Scheduler::ReadFirst, ..tiny_setup("none", BufferKind::Off) };
        setup.drive.timing.suspend = Some(Nanos(20_000));
        let mut drive = tiny_drive(&setup);
        let (kept, victim) = (Ppn(0), Ppn(4));
        let image = drive.core.device.images.open(kept, Oob::default());
        let contents = Contents { tag: OobTag::data(Lpn(0)), payload: Tag::default(), update: 1 };
        drive.core.device.images.fill(image, contents, None, None);
        assert!(drive.core.device.program(&Command { ppn: kept, image, verb: Verb::Program, ..Command::default() }).is_done());
        drive.core.submit(Command { verb: Verb::Erase, ppn: victim, ..Command::default() });
        take_up(&mut drive);
        let met = |drive: &TinyDrive| !begun(drive).is_empty();
        let reads = |drive: &mut TinyDrive| drive.core.submit(Command { ppn: kept, ..Command::default() });
        let begins = drive.core.device.calendar.at(0).expect("it is at work").0 - 3_000_000;
        drive.core.device.now = SimTime(begins - 1);
        reads(&mut drive);
        for before in ["the command is given", "the page is sensed", "the page is moved"] {
            assert!(!met(&drive), "until {before} no cell has begun");
            step(&mut drive);
        }
        assert!(met(&drive), "no read waits any more: the cells are at work");
        reads(&mut drive);
        assert!(drive.core.device.suspended(DieId(0)).is_some(), "cells at work are suspended at once");
        take_up(&mut drive);
        for before in ["the page is sensed", "the page is moved"] {
            assert!(met(&drive), "until {before}");
            step(&mut drive);
        }
        let left = drive.core.device.calendar.at(0).expect("it is at work").since(drive.core.device.now);
        assert_eq!((left, met(&drive)), (Nanos(3_020_000), true), "it is resumed, and all of it is left");
    }
}
