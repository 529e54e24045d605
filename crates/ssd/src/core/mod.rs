//! The core: what every component works on. It calls no component.
//!
//! A component's handler takes `&mut Core`: it looks up and changes the map, takes jobs, submits flash
//! commands. What it wants of another component it leaves in [`Core::out`]; the engine hands that on.

pub(crate) mod apart;
pub(crate) mod audit;
#[cfg(unix)]
pub(crate) mod bytes;
pub(crate) mod changes;
pub(crate) mod checkpoint;
pub(crate) mod effects;
pub(crate) mod flash;
pub(crate) mod ids;
pub(crate) mod jobs;
pub(crate) mod journal;
pub(crate) mod limits;
pub(crate) mod mounting;
pub(crate) mod newest;
pub(crate) mod owner;
pub(crate) mod read_step;
pub(crate) mod safe;
pub(crate) mod sorted;
pub(crate) mod streams;
pub(crate) mod stripe_step;
pub(crate) mod target;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod timer;
pub(crate) mod tolerance;
pub(crate) mod waits;
pub(crate) mod zone_step;

use crate::config::Power;
use crate::core::effects::{Effect, Effects};
use crate::core::flash::{Array, FlashPayload};
use crate::core::jobs::Job;
use crate::core::limits::Limits;
use crate::core::owner::Owner;
use crate::core::safe::SafeMemory;
use crate::core::streams::PageStreams;
use crate::core::target::Floor;
use crate::core::timer::Timer;
use crate::core::waits::Ledgers;
use crate::rules::SafetyRule;
use device::Device;
use device::command::Verb;
use device::service::Haste;
use device::slab::{CommandId, ImageId, JobId, OfJob, Slab};
use ftl::{Ftl, Place, Published, UnitId};
use nand::{FlashArray, Oob, OobTag, PageRole};
use vocab::{Cause, Lpn, Ppn, SimTime, Slot, StripSet};

/// A flash command of the engine.
pub(crate) type Command = device::command::Command<Owner>;

/// State that every component works on.
#[derive(Clone)]
pub(crate) struct Core<P: FlashPayload> {
    pub device: Device<P, Array<P>, Owner>,
    pub map: Ftl,
    pub jobs: Slab<Job<P>, OfJob>,
    /// Oldest version that a host read may return, for each logical page.
    pub floors: Floors,
    /// Requests of components to each other, until the engine delivers them.
    pub out: Effects<P>,
    /// Reads and age of blocks, under a scheme that has limits on them.
    pub limits: Limits,
    /// Memory that survives a power cut, beside flash.
    pub safe: SafeMemory,
    /// For each log, the pages of its victim that are on their way to another place.
    pub moving: Vec<Moving>,
    /// Discarded pages whose bytes a static stripe still holds.
    hidden: Vec<u64>,
    /// How many there are: a drive without discards never looks at the bits.
    hidden_pages: u32,
    /// Blocks that went bad since the drive was built.
    pub grown_bad: u32,
    /// Erases in SLC mode that wear a block as one in its usual mode does.
    pub slc_cycles_a_cycle: u8,
    /// Page reads that gave nothing since the drive was built or mounted.
    pub failed_reads: u64,
    /// Set when space or parity appeared that something may wait for.
    pub retry: bool,
    /// The stream of each logical page, where the drive tells streams apart.
    pub streams: Option<Box<PageStreams>>,
    /// Where the time of every request goes, where someone asks.
    ledgers: Option<Box<Ledgers>>,
}

/// Pages of a victim on their way to another place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving {
    /// Why: garbage collection, wear levelling, or what made the victim wanted.
    pub cause: Cause,
    /// Reads and programs under way.
    pub under_way: u32,
}

impl Default for Moving {
    fn default() -> Self {
        Self { cause: Cause::Gc, under_way: 0 }
    }
}

/// For each command of a host read, what its logical pages must return at least.
#[derive(Clone, Debug)]
pub(crate) struct Floors {
    of: Vec<Floor>,
    slots: usize,
}

impl Floors {
    pub fn new(slots: u32) -> Self {
        Self { of: Vec::new(), slots: slots as usize }
    }

    pub fn set(&mut self, command: CommandId, index: usize, floor: Floor) {
        let at = command.index() * self.slots + index;
        if at >= self.of.len() {
            self.of.resize((command.index() + 1) * self.slots, Floor::default());
        }
        self.of[at] = floor;
    }

    pub fn get(&self, command: CommandId, index: usize) -> Floor {
        self.of[command.index() * self.slots + index]
    }
}

impl<P: FlashPayload> Core<P> {
    /// The core of a drive that has the map and the device, and nothing under way.
    pub fn new(device: Device<P, Array<P>, Owner>, map: Ftl, power: Power) -> Self {
        Self {
            jobs: Slab::default(),
            floors: Floors::new(device.grid.slots_per_page()),
            out: Effects::default(),
            limits: Limits::default(),
            safe: SafeMemory::new(power, device.grid.geometry().blocks(), map.user_slots()),
            moving: vec![Moving::default(); map.logs()],
            hidden: vec![0; map.user_slots().div_ceil(64) as usize],
            hidden_pages: 0,
            grown_bad: 0,
            slc_cycles_a_cycle: 0,
            failed_reads: 0,
            retry: false,
            streams: None,
            ledgers: None,
            device,
            map,
        }
    }

    /// The timer's next event happens at `at`, in place of any before.
    #[inline]
    pub fn schedule(&mut self, timer: Timer, at: SimTime) {
        self.device.calendar.schedule(timer.index(&self.device.grid), at);
    }

    /// The timer has no event any more.
    #[inline]
    pub fn clear(&mut self, timer: Timer) {
        self.device.calendar.clear(timer.index(&self.device.grid));
    }

    /// Whether the timer has an event pending.
    #[inline]
    pub fn is_pending(&self, timer: Timer) -> bool {
        self.device.calendar.is_pending(timer.index(&self.device.grid))
    }

    /// When the timer's next event happens.
    pub fn expects(&self, timer: Timer) -> Option<SimTime> {
        self.device.calendar.at(timer.index(&self.device.grid))
    }

    /// Whether an event is pending of a die, or of a timer that is not one of these.
    pub fn has_events_beside<const N: usize>(&self, timers: [Timer; N]) -> bool {
        self.device.calendar.has_any_but(timers.map(|timer| timer.index(&self.device.grid)))
    }

    /// Whether a host command waits for its time.
    pub fn more_arrives(&self) -> bool {
        self.is_pending(Timer::Arrivals)
    }

    /// The page at `index` of a job gets a place; the rank of its contents.
    #[inline]
    pub fn rank_for(&mut self, job: JobId, index: usize) -> u64 {
        let rank = self.device.next_rank();
        self.jobs[job].pages[index].rank = rank;
        rank
    }

    /// Notes that the writes of a job are durable; where some of its pages have no place, the others are.
    #[inline]
    pub fn note_durable(&mut self, job: JobId) {
        if self.is_mountable() {
            self.note_durable_in_journal(job);
        }
    }

    fn note_durable_in_journal(&mut self, job: JobId) {
        let job = &self.jobs[job];
        if !job.failed || job.homeless {
            let is_lost = |lpn: &Lpn, rank| self.safe.lost.get(lpn) == Some(&rank);
            let pages = job.pages.iter().filter(|page| page.rank > 0 && !is_lost(&page.lpn, page.rank));
            pages.for_each(|page| self.safe.journal.durable(page.lpn, page.rank));
        }
    }

    /// The contents of a page, of this rank, are lost permanently: after a cut, too, nothing older is taken for them.
    pub fn note_lost(&mut self, lpn: Lpn, rank: u64) {
        // Pages beyond those of the user are code: a mount trusts none of it.
        if self.is_mountable() && lpn.0 < self.map.user_slots() {
            self.safe.lost.insert(lpn, rank);
        }
    }

    /// One part of a job is done.
    #[inline]
    pub fn part_done(&mut self, job: JobId) {
        self.out.push(Effect::PartDone { job });
    }

    /// Takes back a pin of a unit. Its collector goes on if the unit only waited for that.
    #[inline]
    pub fn release(&mut self, unit: UnitId) {
        if self.map.release(unit) {
            let log = self.map.log_of(unit);
            self.out.push(Effect::Collect { log: log as u16 });
        }
    }

    /// The log's collector starts if the log is short of space.
    #[inline]
    pub fn collect_if_short(&mut self, log: usize) {
        self.out.push(Effect::CollectIfShort { log: log as u16 });
    }

    /// The host comes back at this time: until then the drive goes on with what it does beside requests.
    pub fn expect_host(&mut self, end: SimTime) {
        self.clear(Timer::Arrivals);
        self.schedule(Timer::Arrivals, end);
    }

    /// The idle time is over.
    pub fn host_is_back(&mut self, end: SimTime) {
        self.clear(Timer::Arrivals);
        self.device.now = end.max(self.device.now);
    }

    /// True if the drive has grown bad blocks or dead dies.
    #[inline]
    pub fn has_lost_room(&self) -> bool {
        self.grown_bad > 0 || !self.device.losses.dead().is_empty()
    }

    /// Where the map has these contents; a filler has no place.
    #[inline]
    pub fn place_of(&self, role: PageRole) -> Place {
        match role {
            PageRole::Data(lpn) => self.map.lookup(lpn),
            PageRole::Parity(stripe) => self.map.lookup_parity(stripe),
            PageRole::Filler => Place::Unmapped,
        }
    }

    /// The contents lie in this slot from now on.
    #[inline]
    pub fn publish(&mut self, role: PageRole, slot: Slot) -> Published {
        match role {
            PageRole::Data(lpn) => self.map.publish(lpn, slot),
            PageRole::Parity(stripe) => self.map.publish_parity(stripe, slot),
            PageRole::Filler => unreachable!("fillers have no place"),
        }
    }

    /// The contents have no place from now on.
    pub fn publish_missing(&mut self, role: PageRole) -> Published {
        match role {
            PageRole::Data(lpn) => self.map.publish_missing(lpn),
            PageRole::Parity(stripe) => self.map.publish_missing_parity(stripe),
            PageRole::Filler => unreachable!("fillers have no place"),
        }
    }

    /// The log of the page's block.
    #[inline]
    pub fn log_of_page(&self, ppn: Ppn) -> usize {
        self.map.log_of(self.map.unit_of_block(self.device.block_of(ppn)))
    }

    /// The page of flash of this place.
    #[inline]
    pub fn page_of(&self, place: Place) -> Option<Ppn> {
        if let Place::At(slot) = place { Some(self.device.grid.page_of(slot).0) } else { None }
    }

    /// Whether what is at the place exists and no living die holds it.
    #[inline]
    pub fn is_lost_place(&self, place: Place) -> bool {
        match place {
            Place::Unmapped => false,
            Place::Missing => true,
            Place::At(slot) => !self.device.array.answers(self.device.grid.page_of(slot).0),
        }
    }

    /// Whether the host has discarded the page, though a static stripe still holds its bytes.
    #[inline]
    pub fn is_hidden(&self, lpn: Lpn) -> bool {
        self.hidden_pages > 0 && self.hidden[lpn.index() / 64] >> (lpn.0 % 64) & 1 == 1
    }

    /// Hides a page from the host.
    pub fn hide(&mut self, lpn: Lpn) {
        if !self.is_hidden(lpn) {
            self.hidden[lpn.index() / 64] |= 1 << (lpn.0 % 64);
            self.hidden_pages += 1;
        }
    }

    /// Shows a page to the host again.
    #[inline]
    pub fn show(&mut self, lpn: Lpn) {
        if self.is_hidden(lpn) {
            self.hidden[lpn.index() / 64] &= !(1 << (lpn.0 % 64));
            self.hidden_pages -= 1;
        }
    }

    /// Gives a command to its die.
    #[inline(always)]
    pub fn submit(&mut self, command: Command) -> CommandId {
        let haste = if self.limits.is_on() { self.haste_under_limits(command) } else { Haste::Usual };
        self.device.submit(command, haste)
    }

    /// Counts a read, and says how it is queued where blocks have limits on reads and age.
    #[cold]
    fn haste_under_limits(&mut self, command: Command) -> Haste {
        let die = self.device.grid.die_of(command.ppn);
        if command.verb != Verb::Read {
            return Haste::Usual;
        }
        let block = self.device.block_of(command.ppn);
        self.limits.count_read(&self.map, block);
        if self.device.is_erasing(die) && self.limits.is_any_pressing(self.map.logs_of_die(die), self.device.now) {
            return Haste::InOrder;
        }
        let moves = command.cause == Cause::Refresh && matches!(command.owner, Owner::Collect { .. });
        if moves && self.is_pressing(self.map.unit_of_block(block)) { Haste::Pressing } else { Haste::Usual }
    }

    /// Whether a block of the unit is so near a limit that the unit can wait no longer.
    pub fn is_pressing(&self, unit: UnitId) -> bool {
        let presses = |block| self.limits.is_pressing(block, self.device.array.block(block), self.device.now);
        self.map.blocks_of(unit).any(presses)
    }

    /// Submits the program of an image.
    #[inline]
    pub fn submit_program(&mut self, image: ImageId, owner: Owner, cause: Cause) {
        let ppn = self.device.images.slab[image].ppn;
        if let Some(checkpoint) = &mut self.safe.checkpoint
            && self.device.grid.split(ppn).1 == 0
        {
            checkpoint.forget(self.device.grid.split(ppn).0);
        }
        if self.map.has_slc() {
            self.set_mode(ppn);
        }
        self.submit(Command { owner, ppn, image, verb: Verb::Program, cause, ..Command::default() });
    }

    /// The first page of a block is to be programmed: in the mode that the map opened its unit in.
    fn set_mode(&mut self, ppn: Ppn) {
        let (block, page) = self.device.grid.split(ppn);
        if page == 0 && self.map.is_slc(self.map.unit_of_block(block)) {
            self.device.array.use_as_slc(block, self.slc_cycles_a_cycle);
        }
    }

    /// Whether the drive is to break a rule.
    #[inline]
    pub fn breaks(&self, rule: SafetyRule) -> bool {
        self.safe.power.without == Some(rule)
    }

    /// Whether the drive is to be mounted after power cuts.
    #[inline]
    pub fn is_mountable(&self) -> bool {
        self.safe.power.mountable
    }

    /// The slot that the next page put into an image gets.
    pub fn next_slot_of(&self, image: ImageId) -> Slot {
        let image = &self.device.images.slab[image];
        self.device.grid.slot(image.ppn, image.filled)
    }
}

/// The OOB bytes of a page that covers these strips or dies; its rank comes when its die takes it up.
#[inline]
pub(crate) fn oob_covering(coverage: StripSet) -> Oob {
    Oob { coverage, ..Oob::default() }
}

/// The logical page whose host data the tag names.
#[inline]
pub(crate) fn data_of(tag: OobTag) -> Option<Lpn> {
    match tag.role() {
        PageRole::Data(lpn) => Some(lpn),
        _ => None,
    }
}
