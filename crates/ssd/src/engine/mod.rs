//! The machine: where decisions meet time, bytes and flash.
//!
//! This file holds the parts together: the dies and channels, and the completion of flash
//! commands; `replay` is the event loop. What a completion means to its owner is in the sibling
//! files: `host` (requests), `pages`, `rows`, `stripes` (the three ways of writing), `collect`
//! (garbage collection), `repair` (solving from a stripe), `buffer` (the write buffer).

pub(crate) mod advance;
pub(crate) mod replay;

use crate::care::collect::Collector;
use crate::care::limits::Disturb;
use crate::care::patrol::Patrol;
use crate::care::rebuild::Rebuild;
use crate::care::refresh::Refresh;
use crate::config::{Power, Scheduler, Setup};
use crate::core::jobs::{Job, PageLocks, StripeLocks};
use crate::device::calendar::Calendar;
use crate::device::commands::{
    Command, Commands, Die, Image, Images, Owner, Phase, Stage, Verb, is_programmed, service_time, transfer_time,
};
use crate::device::contents::HostPayload;
use crate::device::ecc::PageEcc;
use crate::device::facts::{Fact, Folds};
use crate::device::slab::{Id, Slab};
use crate::host::buffer::WriteBuffer;
use crate::host::oracle::{Oracle, Stock};
use crate::host::requests::Host;
use crate::power::mount::{Checkpoint, Mounting};
use crate::power::rules::SafetyRule;
use crate::read::around::LazyReads;
use crate::read::solve::{Gather, Target};
use crate::session::{RECOVERY_UNITS, SetupError, commit_reserve};
use crate::write::groups::Groups;
use crate::write::pages::PageWriter;
use crate::write::rows::loss::{Bare, Damage};
use crate::write::rows::{Cover, RowWriter};
use crate::write::stripes::StripeOp;
use crate::write::stripes::partial::ParityCache;
use crate::write::zones::Zones;
use ftl::{Ftl, FtlSetup, LogKind, UnitId};
use nand::{FlashArray, Latencies, Oob, OobTag, PageRole, ProgramOutcome};
use protect::{Protection, StripeScheme};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use vocab::{BlockAddr, Cause, DieId, Grid, Lpn, PeCycles, Ppn, SimTime, Slot, Streams, StripSet, StripeId};

/// What a drive needs to be mounted after power cuts, and where recovery from one is.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    pub(crate) power: Power,
    /// Whether what a mount reads is kept.
    pub(crate) mountable: bool,
    /// What a mount has still to do before the host is heard.
    pub(crate) mounting: Option<Box<Mounting>>,
    /// Block groups whose sums a cut took: their data have no parity.
    pub(crate) bare_groups: BTreeSet<UnitId>,
    /// Whether what the last mount found is not all brought to safety yet.
    pub(crate) recovering: bool,
    /// Pages whose contents the controller has had since the mount, because their programs may have
    /// been cut: reads of them do not fail. Codewords lean on them until their blocks are erased.
    pub(crate) remembered: BTreeSet<Ppn>,
    /// Summaries of whole blocks, where the drive has them.
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Rank of the contents of each logical page, of a drive of static stripes that is to be
    /// mounted.
    pub(crate) versions: Vec<u64>,
    /// The same for the parity of each stripe; 0: none.
    pub(crate) parity_versions: Vec<u64>,
    /// Stripes of which no page says what of it counts: one that is written anew does.
    pub(crate) unnamed: BTreeSet<StripeId>,
    /// Blocks of units with nothing needed whose erase was asked for, until all of the unit is erased, and whether
    /// they are. A cut may leave such a block unreadable, and others of its unit erased.
    pub(crate) erasing: BTreeMap<BlockAddr, bool>,
    /// Pages that are lost for good, and the rank of what they held: older contents may still lie in flash.
    pub(crate) lost: BTreeMap<Lpn, u64>,
}

impl Recovery {
    fn new(setup: &Setup, scheme: Option<&dyn StripeScheme>) -> Self {
        let width = scheme.filter(|_| setup.power.mountable).map(|scheme| scheme.data_strips());
        Self {
            power: setup.power,
            mountable: setup.power.mountable,
            mounting: None,
            bare_groups: BTreeSet::new(),
            recovering: false,
            remembered: BTreeSet::new(),
            checkpoint: setup.power.checkpoint.then(|| Checkpoint::fresh(setup.drive.geometry.blocks())),
            versions: vec![0; width.map_or(0, |_| setup.user_slots as usize)],
            unnamed: BTreeSet::new(),
            erasing: BTreeMap::new(),
            lost: BTreeMap::new(),
            parity_versions: vec![0; width.map_or(0, |width| setup.user_slots.div_ceil(width) as usize)],
        }
    }
}

/// A page that the map believes to be where its program failed: its row solves for it.
#[derive(Clone, Debug)]
pub(crate) struct FailedProgram {
    tags: Box<[OobTag]>,
    updates: Box<[u64]>,
}

impl FailedProgram {
    /// A page of which nothing is known.
    pub fn nothing(slots: usize) -> Self {
        Self { tags: vec![OobTag::FILLER; slots].into(), updates: vec![0; slots].into() }
    }

    /// A slot would hold this.
    pub fn set(&mut self, index: usize, tag: OobTag, update: u64) {
        (self.tags[index], self.updates[index]) = (tag, update);
    }
}

/// The medium and everything between the engine and it.
#[derive(Clone)]
pub(crate) struct Device<P: HostPayload, A: FlashArray<P>> {
    pub array: A,
    pub grid: Grid,
    pub latencies: Latencies,
    pub scheduler: Scheduler,
    /// Without time, commands complete in the order they are given (preconditioning).
    pub timed: bool,
    pub now: SimTime,
    pub calendar: Calendar,
    pub dies: Vec<Die>,
    /// Commands queued or in service, for each die.
    pub backlog: Vec<u32>,
    pub dead: StripSet,
    pub channels: Vec<SimTime>,
    pub busy_dies: u32,
    /// Idle dies for which something was queued.
    pub kicks: Vec<DieId>,
    /// Commands to be completed, without time.
    pub ready: VecDeque<Id>,
    pub commands: Commands,
    pub images: Images<P>,
    /// Page ECC and the errors it is there for; `None`: neither.
    pub ecc: Option<Box<PageEcc>>,
    /// Pages whose program failed: what the map believes lies there.
    pub failed_programs: FxHashMap<u32, FailedProgram>,
    /// Programs that failed and wait for another place.
    pub displaced: VecDeque<Command>,
    pub sequence: u64,
    pub folds: Folds,
}

/// What every component works on: it calls nobody.
#[derive(Clone)]
pub(crate) struct Core<P: HostPayload, A: FlashArray<P>> {
    pub device: Device<P, A>,
    pub map: Ftl,
    pub jobs: Slab<Job<P>>,
    /// Set when space or parity appeared that something may wait for.
    pub retry: bool,
}

/// The host's side: requests and their order, the write buffer, and what reads must return.
#[derive(Clone)]
pub(crate) struct HostSide<P: HostPayload> {
    pub requests: Host,
    pub page_locks: PageLocks,
    pub buffer: WriteBuffer<P>,
    /// Jobs whose pages wait for space, in order.
    pub stalled: VecDeque<Id>,
    pub oracle: Oracle,
    pub stock: Stock<P>,
    /// The first wrong read, in words.
    pub first_mismatch: Option<String>,
}

/// The scheme and its way of writing.
#[derive(Clone)]
pub(crate) struct Writer<P: HostPayload> {
    pub protection: Protection,
    pub pages: PageWriter,
    pub rows: [RowWriter<P>; 2],
    pub covers: Slab<Cover>,
    /// What waits for its rows to be covered after all.
    pub bare: Vec<Bare>,
    /// Pages on their way from a victim to a row or group.
    pub moves: VecDeque<crate::care::collect::Move<P>>,
    pub groups: Groups<P>,
    pub stripes: Slab<StripeOp<P>>,
    pub stripe_locks: StripeLocks,
    pub stalled_stripes: VecDeque<Id>,
    /// Partial parities.
    pub held: ParityCache<P>,
    /// P/E cycles above which the scheme takes a block for worn.
    pub worn_above: Option<PeCycles>,
    /// What a drive of code zones has beside its map; `None` under other schemes.
    pub zones: Option<Box<Zones<P>>>,
}

/// Reads that need more than one page.
#[derive(Clone)]
pub(crate) struct Reads<P: HostPayload> {
    pub gathers: Slab<Gather<P>>,
    pub uncovered_repairs: Vec<Target>,
    pub lazy: LazyReads<P>,
}

/// What keeps a drive sound while nobody asks: collection, rebuild, patrol, refresh, limits.
#[derive(Clone)]
pub(crate) struct Care<P: HostPayload> {
    pub collectors: Vec<Collector>,
    /// Units to be collected out of turn, in order, each for a reason of its own.
    pub wanted: VecDeque<(UnitId, Cause)>,
    pub rebuild: Rebuild<P>,
    pub patrol: Patrol,
    pub disturb: Disturb,
    pub refresh: Refresh,
    pub damage: Damage,
    pub idle_free_blocks: u32,
    pub moves_in_flight: u32,
}

/// One drive in motion: it alone knows all components.
#[derive(Clone)]
pub struct Engine<P: HostPayload, A: FlashArray<P>> {
    pub(crate) core: Core<P, A>,
    pub(crate) host: HostSide<P>,
    pub(crate) writer: Writer<P>,
    pub(crate) reads: Reads<P>,
    pub(crate) care: Care<P>,
    pub(crate) power: Recovery,
}

/// The map of a drive that holds nothing yet.
fn empty_map(
    setup: &Setup,
    grid: &Grid,
    protection: &Protection,
    streams: &Streams,
    bad: impl Fn(BlockAddr) -> bool,
) -> Result<Ftl, SetupError> {
    let (kind, stripes) = match protection {
        Protection::None => (LogKind::Regions, 0),
        Protection::Stripes(scheme) => (LogKind::Regions, setup.user_slots.div_ceil(scheme.data_strips())),
        Protection::Rows(_) | Protection::Groups(_) => (LogKind::Group, 0),
        Protection::Zones(_) => (LogKind::Regions, 0),
    };
    let (segments, slots) = crate::write::zones::space(protection, setup.user_slots);
    let reserve = commit_reserve(protection, grid);
    let groups = crate::session::group_space(grid, protection);
    let (user_slots, gc, wear) = (setup.user_slots, &setup.gc, &setup.wear);
    let keeps = setup.power.mountable && setup.power.without != Some(SafetyRule::Reserve);
    let recovery = if keeps { RECOVERY_UNITS } else { 0 };
    let setup = FtlSetup { kind, user_slots, slots, segments, stripes, reserve, recovery, groups, gc, wear };
    Ok(Ftl::new(grid, &setup, streams, bad)?)
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// A drive with empty map over `array`.
    ///
    /// # Errors
    /// Settings of the map that are out of range.
    pub fn new(setup: &Setup, protection: Protection, array: A) -> Result<Self, SetupError> {
        let grid = array.grid().clone();
        let streams = Streams::new(setup.seed);
        let ftl = empty_map(setup, &grid, &protection, &streams, |block| array.block(block).bad)?;
        let stripe_scheme = if let Protection::Stripes(scheme) = &protection { Some(&**scheme) } else { None };
        let (slots, dies, logs) = (grid.slots_per_page(), grid.dies() as usize, ftl.logs());
        let streams = 1 + u32::from(setup.gc.separate_frontier);
        let device = Device {
            latencies: Latencies::new(&setup.drive.timing, grid.geometry()),
            scheduler: setup.scheduler,
            timed: true,
            now: SimTime::ZERO,
            calendar: Calendar::new(crate::engine::replay::resources(&grid)),
            dies: (0..dies).map(|_| Die::new()).collect(),
            backlog: vec![0; dies],
            dead: StripSet::EMPTY,
            channels: vec![SimTime::ZERO; grid.geometry().channels as usize],
            busy_dies: 0,
            kicks: Vec::new(),
            ready: VecDeque::new(),
            commands: Commands::new(slots),
            images: Images::new(slots),
            ecc: None,
            failed_programs: FxHashMap::default(),
            displaced: VecDeque::new(),
            sequence: 0,
            folds: Folds::new(slots),
            grid: grid.clone(),
            array,
        };
        let host = HostSide {
            requests: Host::new(setup.user_slots, grid.geometry().sectors_per_slot(), setup.buffer.latency),
            page_locks: PageLocks::default(),
            buffer: WriteBuffer::new(&setup.buffer, grid.geometry().slot_size, stripe_scheme),
            stalled: VecDeque::new(),
            oracle: Oracle::new::<P>(setup.user_slots, grid.geometry().sectors_per_slot()),
            stock: Stock::default(),
            first_mismatch: None,
        };
        let reads = Reads { gathers: Slab::default(), uncovered_repairs: Vec::new(), lazy: LazyReads::new(&protection) };
        let care = Care {
            collectors: vec![Collector::default(); logs],
            wanted: VecDeque::new(),
            rebuild: Rebuild::new(&setup.faults),
            patrol: Patrol::new(&protection),
            disturb: Disturb::default(),
            refresh: Refresh::default(),
            damage: Damage::default(),
            idle_free_blocks: crate::write::zones::idle_free_blocks(&protection, setup.gc.idle_free_blocks),
            moves_in_flight: setup.gc.moves_in_flight,
        };
        let power = Recovery::new(setup, stripe_scheme);
        let writer = Writer {
            pages: PageWriter::new(logs),
            rows: [RowWriter::default(), RowWriter::default()],
            covers: Slab::default(),
            bare: Vec::new(),
            moves: VecDeque::new(),
            groups: Groups::new(&protection, grid.blocks_per_die(), streams, &setup.scheme.name)?,
            stripes: Slab::default(),
            stripe_locks: StripeLocks::default(),
            stalled_stripes: VecDeque::new(),
            held: ParityCache::new(stripe_scheme.map_or(0, |scheme| scheme.parity_cache())),
            worn_above: stripe_scheme.and_then(|scheme| scheme.worn_above()),
            zones: Zones::new(&protection),
            protection,
        };
        let core = Core { device, map: ftl, jobs: Slab::default(), retry: false };
        let mut engine = Self { core, host, writer, reads, care, power };
        engine.expect_cuts();
        engine.settle_group_space();
        Ok(engine)
    }

    #[inline]
    pub(crate) fn record(&mut self, fact: Fact) {
        self.core.device.folds.record(self.core.device.now, fact);
    }

    /// A drive that is to be mounted keeps more than one that is not.
    fn expect_cuts(&mut self) {
        if self.power.mountable {
            self.writer.held.expect_cuts();
        }
        if self.breaks(SafetyRule::Pins) {
            self.core.map.break_pins();
        }
    }

    /// Whether the drive is to break a rule.
    pub(crate) fn breaks(&self, rule: SafetyRule) -> bool {
        self.power.power.without == Some(rule)
    }

    /// The next rank, of a write or a program.
    #[inline]
    pub(crate) fn next_rank(&mut self) -> u64 {
        self.core.device.sequence += 1;
        self.core.device.sequence
    }

    /// The OOB of a page that covers these; its rank comes when its die takes it up.
    #[inline]
    pub(crate) fn oob_covering(coverage: u32) -> Oob {
        Oob { coverage, ..Oob::default() }
    }

    pub(crate) fn is_dead(&self, die: DieId) -> bool {
        !self.core.device.dead.is_empty() && self.core.device.dead.contains(u32::from(die.0))
    }

    /// Gives a command to its die.
    #[inline(always)]
    pub(crate) fn submit(&mut self, command: Command) -> Id {
        let id = self.core.device.commands.add(command);
        let limited = self.care.disturb.is_on() && command.verb == Verb::Read;
        if limited {
            self.count_read(command.ppn);
        }
        self.enqueue(id, command.ppn, command.verb, limited && self.overtakes(&command));
        id
    }

    fn enqueue(&mut self, id: Id, ppn: Ppn, verb: Verb, pressing: bool) {
        if !self.core.device.timed {
            self.core.device.ready.push_back(id);
            return;
        }
        let die = self.core.device.grid.die_of(ppn);
        let early = (self.core.device.scheduler == Scheduler::ReadFirst || pressing)
            && verb == Verb::Read
            && is_programmed(&self.core.device.array, ppn)
            && !(self.care.disturb.is_on() && self.erase_presses(die));
        let state = &mut self.core.device.dies[die.index()];
        state.push(id, early, &mut self.core.device.commands.slab);
        self.core.device.backlog[die.index()] += 1;
        if state.service.is_none() {
            self.core.device.kicks.push(die);
        }
    }

    /// Submits the program of an image.
    #[inline]
    pub(crate) fn submit_program(&mut self, image: Id, owner: Owner, cause: Cause) {
        let ppn = self.core.device.images.slab[image].ppn;
        if let Some(checkpoint) = &mut self.power.checkpoint
            && self.core.device.grid.split(ppn).1 == 0
        {
            checkpoint.forget(self.core.device.grid.split(ppn).0);
        }
        self.submit(Command { owner, ppn, image, verb: Verb::Program, cause, ..Command::default() });
    }

    /// Lets idle dies take up what was queued for them.
    #[inline]
    pub(crate) fn kick(&mut self) {
        let mut next = 0;
        while next < self.core.device.kicks.len() {
            let die = self.core.device.kicks[next];
            next += 1;
            if self.core.device.dies[die.index()].service.is_none() {
                self.start_next(die);
            }
        }
        self.core.device.kicks.clear();
    }

    fn start_next(&mut self, die: DieId) {
        if self.reads.lazy.withdrawn > 0 {
            self.drop_withdrawn(die);
        }
        let next = |engine: &Self| engine.core.device.dies[die.index()].peek(&engine.core.device.commands.slab);
        if self.core.device.ecc.as_ref().is_some_and(|ecc| ecc.is_decoding(die))
            && next(self).is_some_and(|id| self.core.device.commands.slab[id].verb == Verb::Erase)
        {
            self.core.device.calendar.clear(die.index());
            return;
        }
        let Some(id) = self.core.device.dies[die.index()].pop(&self.core.device.commands.slab) else {
            self.core.device.calendar.clear(die.index());
            self.die_is_idle(die);
            return;
        };
        self.core.device.commands.slab[id].stage = Stage::Served;
        let command = self.core.device.commands.slab[id];
        if command.verb == Verb::Program {
            let rank = self.next_rank();
            self.core.device.images.seal(command.image, rank);
            self.writer.pages.sealed(command.image);
        }
        let (block, page) = self.core.device.grid.split(command.ppn);
        let encode = self.encode_time(command.verb);
        let channel = &mut self.core.device.channels[self.core.device.grid.channel_of(die).index()];
        let granted = (*channel).max(self.core.device.now);
        let overhead = self.core.device.latencies.command;
        let (until, phase) = if !self.core.device.dead.is_empty() && self.core.device.dead.contains(u32::from(die.0)) {
            (granted + overhead, Phase::Ending)
        } else {
            match command.verb {
                Verb::Read => {
                    *channel = granted + overhead;
                    (granted + overhead + self.core.device.latencies.read(page), Phase::Sensing)
                }
                Verb::Program | Verb::Recharge => {
                    let granted = granted.max(self.core.device.now + encode);
                    *channel = granted + overhead + self.core.device.latencies.transfer(self.core.device.grid.slots_per_page());
                    (*channel + self.core.device.latencies.program(page, self.core.device.array.block(block).pe), Phase::Ending)
                }
                Verb::Erase => {
                    *channel = granted + overhead;
                    (*channel + self.core.device.latencies.erase(self.core.device.array.block(block).pe), Phase::Ending)
                }
            }
        };
        let state = &mut self.core.device.dies[die.index()];
        state.service = Some((id, phase));
        state.since = self.core.device.now;
        self.core.device.busy_dies += 1;
        self.core.device.calendar.schedule(die.index(), until);
    }

    /// An event of a die: the cells of a read are sensed, or its command ends.
    #[inline]
    pub(crate) fn die_event(&mut self, die: DieId) {
        let (id, phase) = self.core.device.dies[die.index()].service.expect("only busy dies have events");
        if phase == Phase::Sensing {
            let channel = &mut self.core.device.channels[self.core.device.grid.channel_of(die).index()];
            let slots = u32::from(self.core.device.commands.slab[id].count);
            *channel = (*channel).max(self.core.device.now) + self.core.device.latencies.transfer(slots);
            let until = *channel;
            self.core.device.dies[die.index()].service = Some((id, Phase::Ending));
            self.core.device.calendar.schedule(die.index(), until);
            return;
        }
        let state = &mut self.core.device.dies[die.index()];
        state.service = None;
        let busy = self.core.device.now.since(state.since);
        self.core.device.busy_dies -= 1;
        self.core.device.backlog[die.index()] -= 1;
        let carried = transfer_time(&self.core.device.array, &self.core.device.latencies, &self.core.device.commands.slab[id]);
        self.record(Fact::Served { busy, carried });
        if self.core.device.ecc.is_none() || !self.decode_later(id) {
            self.complete(id);
        }
        self.core.device.kicks.push(die);
    }

    /// Completes commands in order until none is left; without time.
    pub(crate) fn settle(&mut self) {
        debug_assert!(!self.core.device.timed);
        loop {
            while let Some(id) = self.core.device.ready.pop_front() {
                let command = self.core.device.commands.slab[id];
                if command.verb == Verb::Program {
                    let rank = self.next_rank();
                    self.core.device.images.seal(command.image, rank);
                    self.writer.pages.sealed(command.image);
                }
                let busy =
                    service_time(&self.core.device.array, &self.core.device.latencies, &command) + self.encode_time(command.verb);
                let carried = transfer_time(&self.core.device.array, &self.core.device.latencies, &command);
                self.record(Fact::Served { busy, carried });
                self.complete(id);
            }
            if !std::mem::take(&mut self.core.retry) {
                return;
            }
            self.retry_stalled();
        }
    }

    fn complete(&mut self, id: Id) {
        let command = self.core.device.commands.slab[id];
        match command.verb {
            Verb::Read => self.complete_read(id, &command),
            Verb::Program => self.complete_program(&command),
            Verb::Recharge => self.complete_recharge(&command),
            Verb::Erase => self.complete_erase(&command),
        }
        self.core.device.commands.slab.give(id);
    }

    #[inline]
    fn complete_read(&mut self, id: Id, command: &Command) {
        let (clean, _) = self.sense(command);
        self.read_done(id, command, clean);
    }

    /// A page was read and, where there is a code, decoded.
    #[inline]
    pub(crate) fn read_done(&mut self, id: Id, command: &Command, clean: bool) {
        match command.owner {
            Owner::HostRead { job } => self.host_read_done(id, command, job, clean),
            Owner::Merge { job, page } => self.merge_read_done(command, job, page as usize, clean),
            Owner::Collect { log } => self.collect_read_done(command.ppn, log as usize, clean),
            Owner::Stripe { op, strip } => self.stripe_read_done(command.ppn, op, u32::from(strip), clean),
            Owner::Gather { gather } => self.gather_read_done(command, gather, clean),
            Owner::Term { gather, coefficient } => self.term_read_done(command, gather, coefficient, clean),
            Owner::Patrol { superblock } => self.patrol_read_done(superblock, clean),
            Owner::Recharge { log } => self.recharge_read_done(command, log as usize, clean),
            Owner::Lazy { read, block } => self.lazy_read_done(command, read, usize::from(block), clean),
            Owner::Encode { encode, page } => self.encode_read_done(command, encode, usize::from(page), clean),
            owner => unreachable!("{owner:?} reads nothing"),
        }
    }

    fn complete_program(&mut self, command: &Command) {
        let image = command.image;
        let Image { mut oob, filled, .. } = self.core.device.images.slab[image];
        if self.core.device.ecc.is_some() {
            oob.ecc = self.capability(command.ppn);
        }
        let done =
            self.core.device.array.program_page(&self.core.device.images.program(image, command.ppn, oob, self.core.device.now))
                == ProgramOutcome::Done;
        if done {
            self.record(Fact::Programmed { ppn: command.ppn.0, cause: command.cause, filled });
            if self.core.device.ecc.is_some() {
                self.note_encoded(command.ppn, oob.ecc);
            }
            if let Some(checkpoint) = &mut self.power.checkpoint {
                let (block, page) = self.core.device.grid.split(command.ppn);
                if page + 1 == self.core.device.grid.pages_per_block() {
                    checkpoint.sum_up(block, &self.core.device.array);
                }
            }
            if self.care.disturb.is_on() && self.core.device.grid.split(command.ppn).1 == 0 {
                self.note_first_program(self.core.device.grid.split(command.ppn).0);
            }
        } else if self.program_elsewhere(command) {
            return;
        }
        self.program_over(command, done);
    }

    /// A program is done, or its contents are lost.
    pub(crate) fn program_over(&mut self, command: &Command, done: bool) {
        let image = command.image;
        match command.owner {
            Owner::Page { log, moved } => self.page_done(image, log as usize, moved, done),
            Owner::Cover { cover, parity } => {
                let moved = !parity && command.cause != Cause::Host;
                self.cover_program_done(image, cover, parity, moved, done);
            }
            Owner::Stripe { op, .. } => self.stripe_program_done(image, op, done),
            Owner::GroupPage { row, codeword, parity, moved } => {
                self.strip_program_done(image, (row, u32::from(codeword)), parity, moved, done);
            }
            Owner::Strip { log } => self.strip_programmed(image, log as usize, done),
            Owner::Code { encode } => self.code_programmed(image, encode, done),
            Owner::Nobody => {}
            owner => unreachable!("{owner:?} programs nothing"),
        }
        self.core.device.images.give(image);
        if !done {
            self.block_failed(command.ppn);
        }
    }

    fn complete_erase(&mut self, command: &Command) {
        let block = self.core.device.grid.split(command.ppn).0;
        let done = self.core.device.array.erase(block) == ProgramOutcome::Done;
        if done {
            self.power.erasing.insert(block, true);
            self.record(Fact::Erased { block: block.0, cause: command.cause });
            if self.care.disturb.is_on() {
                self.note_erase(block);
            }
            if self.core.device.ecc.is_some() {
                self.note_refreshed(block);
            }
            self.power.checkpoint.iter_mut().for_each(|checkpoint| checkpoint.erased(block));
            let grid = &self.core.device.grid;
            self.power.remembered.retain(|&ppn| grid.split(ppn).0 != block);
        }
        match command.owner {
            Owner::Erase { log } => self.erase_done(log as usize, block, done),
            owner => unreachable!("{owner:?} erases nothing"),
        }
    }

    /// Tags of a page, readable or not: what the map's own summary of the block says.
    pub(crate) fn tags(&self, ppn: Ppn) -> &[OobTag] {
        match self.core.device.failed_programs.get(&ppn.0) {
            Some(failed) => &failed.tags,
            None => self.core.device.array.page(ppn).tags,
        }
    }

    /// As [`Self::tags`]: the rank of the contents of a slot.
    pub(crate) fn update_at(&self, ppn: Ppn, index: u32) -> u64 {
        match self.core.device.failed_programs.get(&ppn.0) {
            Some(failed) => failed.updates[index as usize],
            None => self.core.device.array.update(ppn, index),
        }
    }

    /// The image's program failed and its place in the map stays.
    pub(crate) fn note_failed(&mut self, image: Id) {
        let tags = self.core.device.images.contents(image).0.into();
        let updates = self.core.device.images.updates(image).into();
        self.core.device.failed_programs.insert(self.core.device.images.slab[image].ppn.0, FailedProgram { tags, updates });
    }

    /// What a page that moves says of others goes with it.
    pub(crate) fn coverage_to_keep(&self, from: Slot) -> u32 {
        let ppn = self.core.device.grid.page_of(from).0;
        let kept =
            self.writer.zones.is_some() || self.power.mountable && matches!(self.writer.protection, Protection::Stripes(_));
        if kept && is_programmed(&self.core.device.array, ppn) { self.core.device.array.page(ppn).oob.coverage } else { 0 }
    }

    /// As [`Self::coverage_to_keep`]: the members of a codeword, which parity and the pages of static
    /// stripes name.
    pub(crate) fn keep_members(&mut self, image: Id, tag: OobTag, from: Slot) {
        let members = self.core.device.array.members(self.core.device.grid.page_of(from).0);
        let (stripe, is_data) = match (&self.writer.protection, tag.role()) {
            (Protection::Stripes(_), PageRole::Data(lpn)) => (Some(self.strip_of(lpn).0), true),
            (Protection::Stripes(_), PageRole::Parity(stripe)) => (Some(stripe), false),
            _ => (None, false),
        };
        match stripe {
            // Its program failed, so it named nothing, or it names more than counts.
            Some(stripe) if members.is_empty() || is_data && self.power.unnamed.contains(&stripe) => {
                self.tell_strips(image, stripe, StripSet::EMPTY, 0);
            }
            _ if members.is_empty() => {}
            _ => {
                let members = members.to_vec();
                self.core.device.images.set_members(image, members);
            }
        }
    }

    /// Whether anything is in service.
    pub(crate) fn is_idle(&self) -> bool {
        self.core.device.busy_dies == 0
            && self.core.device.kicks.is_empty()
            && self.core.device.ecc.as_ref().is_none_or(|ecc| ecc.is_idle())
    }

    fn die_is_idle(&mut self, die: DieId) {
        if self.core.device.busy_dies == 0 {
            self.migrate_when_idle();
        }
        self.recycle_when_idle(die);
        if self.care.idle_free_blocks == 0 || self.is_dead(die) {
            return;
        }
        for log in self.core.map.logs_of_die(die) {
            if self.core.map.free_units(log) < self.care.idle_free_blocks && !self.care.collectors[log].is_busy() {
                self.start_collecting(log);
            }
        }
    }
}
