//! Where the time of a latency goes: every flash command is watched from its submission to its end, and each
//! nanosecond in between has a name.
//!
//! A command that ends leaves a [`Trail`]: the waits from its submission to now, which add up to exactly that time.
//! Whoever waited for the command explains its own latency with it.

use crate::Device;
use crate::command::{Command, Verb};
use crate::contents::HostPayload;
use crate::queue::Suspended;
use crate::slab::CommandId;
use nand::FlashArray;
use vocab::{Cause, DieId, Nanos, SimTime};

/// A named part of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Wait {
    /// Queued while the die read for the host.
    QueueHostReads,
    /// Queued while the die programmed for the host.
    QueueHostPrograms,
    /// Queued while the die programmed parity, or read to compute it.
    QueueParity,
    /// Queued while the die moved pages for garbage collection or wear levelling.
    QueueGc,
    /// Queued while the die erased.
    QueueErases,
    /// Queued while the die read or programmed to restore what was lost.
    QueueRebuild,
    /// Queued while the die did other upkeep: refresh, scrub, code for reads to come, metadata.
    QueueUpkeep,
    /// The channel was taken by other dies.
    Channel,
    /// Command and data on the channel.
    Transfer,
    /// The cells were sensed.
    Sensing,
    /// The cells were programmed.
    Programming,
    /// Waiting for parity that is part of the write, computing and programming it.
    Parity,
    /// Reading other pages to solve for one that could not be read.
    Solving,
    /// Encoding and decoding of page ECC, and waiting for the decoder.
    Ecc,
    /// An earlier update of the same stripe went first, or an earlier request of which no more is known.
    Order,
    /// There was no free page: GC had to make room.
    Space,
    /// There was no room in the write buffer, or what it holds was not yet written.
    Buffer,
    /// The flash page, row or code group that the data go to was not put together yet.
    Assembly,
    /// The controller alone.
    Controller,
    /// The drive was off line.
    OffLine,
}

/// Number of kinds of service of a die, as the commands behind in its queue distinguish them.
const QUEUES: usize = 7;

impl Wait {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All waits with their names in reports, in report order.
    pub const ALL: [(Wait, &'static str); 20] = [
        (Self::QueueHostReads, "queue-host-reads"),
        (Self::QueueHostPrograms, "queue-host-programs"),
        (Self::QueueParity, "queue-parity"),
        (Self::QueueGc, "queue-gc"),
        (Self::QueueErases, "queue-erases"),
        (Self::QueueRebuild, "queue-rebuild"),
        (Self::QueueUpkeep, "queue-upkeep"),
        (Self::Channel, "channel"),
        (Self::Transfer, "transfer"),
        (Self::Sensing, "sensing"),
        (Self::Programming, "programming"),
        (Self::Parity, "parity"),
        (Self::Solving, "solving"),
        (Self::Ecc, "ecc"),
        (Self::Order, "order"),
        (Self::Space, "space"),
        (Self::Buffer, "buffer"),
        (Self::Assembly, "assembly"),
        (Self::Controller, "controller"),
        (Self::OffLine, "off-line"),
    ];

    /// Wait of the commands that are queued behind a command.
    fn behind(verb: Verb, cause: Cause) -> Self {
        match (verb, cause) {
            (Verb::Erase, _) => Self::QueueErases,
            (Verb::Read, Cause::Host | Cause::HostRmw) => Self::QueueHostReads,
            (_, Cause::Host | Cause::HostRmw) => Self::QueueHostPrograms,
            (_, Cause::Parity | Cause::Padding) => Self::QueueParity,
            (_, Cause::Gc | Cause::WearLevel | Cause::Fold) => Self::QueueGc,
            (_, Cause::Rebuild) => Self::QueueRebuild,
            (_, Cause::Refresh | Cause::Encode | Cause::Meta) => Self::QueueUpkeep,
        }
    }
}

/// Time by wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits([u64; Wait::COUNT]);

impl Waits {
    /// So much longer of this wait.
    #[inline]
    pub fn add(&mut self, wait: Wait, time: Nanos) {
        self.0[wait as usize] += time.0;
    }

    /// Time of one wait.
    #[must_use]
    pub fn of(&self, wait: Wait) -> Nanos {
        Nanos(self.0[wait as usize])
    }

    /// Time of all waits in nanoseconds, in the order of [`Wait::ALL`].
    #[must_use]
    pub fn nanos(&self) -> &[u64; Wait::COUNT] {
        &self.0
    }

    /// Sum of all waits.
    #[must_use]
    pub fn total(&self) -> Nanos {
        Nanos(self.0.iter().sum())
    }

    /// Adds the last `part` of a time that `other` explains. Where that is not all of it, each wait gets its share, and
    /// what rounding leaves goes to the longest.
    pub fn add_last(&mut self, other: &Self, part: Nanos) {
        let whole = other.total().0;
        if part.0 >= whole {
            self.0.iter_mut().zip(&other.0).for_each(|(sum, &time)| *sum += time);
            return;
        }
        let share = |time: u64| match time.checked_mul(part.0) {
            Some(product) => product / whole,
            // Seconds of seconds.
            None => (u128::from(time) * u128::from(part.0) / u128::from(whole)) as u64,
        };
        let mut left = part.0;
        for (sum, &time) in self.0.iter_mut().zip(&other.0).filter(|(_, time)| **time > 0) {
            let share = share(time);
            *sum += share;
            left -= share;
        }
        let longest = (0..Wait::COUNT).max_by_key(|&wait| other.0[wait]).expect("there are waits");
        self.0[longest] += left;
    }
}

/// How the time up to the end of a command was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// When the first wait began; what was before, the trail does not know.
    pub from: SimTime,
    /// Waits from then on, without gap.
    pub waits: Waits,
    /// Whether they end in work for parity.
    pub for_parity: bool,
}

/// Which trail ends with the event that is being handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// None: no command that a request can wait for has ended.
    None,
    /// That of a command.
    OfCommand(CommandId),
    /// One that was put together from those of several commands.
    Joined,
}

/// Work of a die so far, by the wait of the commands that are queued behind it.
#[derive(Clone, Copy, Debug, Default)]
struct DieTime {
    /// Time of commands that have ended.
    done: [u64; QUEUES],
    /// The command in service, and since when.
    serves: Option<(Wait, SimTime)>,
}

impl DieTime {
    fn until(&self, now: SimTime) -> [u64; QUEUES] {
        let mut spent = self.done;
        if let Some((wait, since)) = self.serves {
            spent[wait as usize] += now.since(since).0;
        }
        spent
    }
}

impl DieTime {
    /// The command in service ends, or gives way.
    fn pause(&mut self, now: SimTime) {
        if let Some((wait, since)) = self.serves.take() {
            self.done[wait as usize] += now.since(since).0;
        }
    }
}

/// Work that a die had done at some time, by the wait of the commands that are queued behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed([u64; QUEUES]);

/// Watches the commands of a device.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    dies: Vec<DieTime>,
    /// Of each command under way its waits so far; those of its queue hold, until it is taken up, what its die had
    /// done when it was queued.
    commands: Vec<Trail>,
    ending: Ending,
    joined: Trail,
}

impl Stopwatch {
    fn new(dies: u32) -> Self {
        let dies = vec![DieTime::default(); dies as usize];
        Self { dies, commands: Vec::new(), ending: Ending::None, joined: Trail::default() }
    }

    /// How the time up to the event that is being handled was spent; `None`: it is not the end of a command that a
    /// request can wait for.
    #[inline]
    #[must_use]
    pub fn trail(&self) -> Option<&Trail> {
        match self.ending {
            Ending::None => None,
            Ending::OfCommand(id) => Some(&self.commands[id.index()]),
            Ending::Joined => Some(&self.joined),
        }
    }

    /// Joins the waits of several commands, whose work from here on is one.
    pub fn join(&mut self, from: SimTime, waits: Waits) {
        self.joined = Trail { from, waits, for_parity: false };
        self.ending = Ending::Joined;
    }

    /// A command is queued.
    fn queued(&mut self, id: CommandId, die: DieId, now: SimTime) {
        if id.index() >= self.commands.len() {
            self.commands.resize(id.index() + 1, Trail::default());
        }
        let trail = &mut self.commands[id.index()];
        *trail = Trail { from: now, ..Trail::default() };
        trail.waits.0[..QUEUES].copy_from_slice(&self.dies[die.index()].until(now));
    }

    /// A die takes up a command.
    fn taken<O>(&mut self, id: CommandId, command: &Command<O>, die: DieId, now: SimTime) {
        let die = &mut self.dies[die.index()];
        die.serves = Some((Wait::behind(command.verb, command.cause), now));
        if !is_watched(command.cause) {
            return;
        }
        let trail = &mut self.commands[id.index()];
        let mut left = now.since(trail.from).0;
        for (wait, &done) in trail.waits.0[..QUEUES].iter_mut().zip(&die.done) {
            *wait = done - *wait;
            left -= *wait;
        }
        // The die rested although something was queued: an erase was next, and what its block held was being decoded.
        trail.waits.add(Wait::QueueErases, Nanos(left));
        trail.for_parity = command.cause == Cause::Parity;
    }

    /// A command in service goes through these.
    fn goes_through<O>(&mut self, id: CommandId, command: &Command<O>, waits: &[(Wait, Nanos)]) {
        if !is_watched(command.cause) {
            return;
        }
        let trail = &mut self.commands[id.index()];
        for &(wait, time) in waits {
            trail.waits.add(as_seen_by_host(wait, command.cause), time);
        }
    }

    /// A die has ended a command.
    fn ended<O>(&mut self, id: CommandId, command: &Command<O>, die: DieId, now: SimTime) {
        self.dies[die.index()].pause(now);
        self.ending = if is_watched(command.cause) { Ending::OfCommand(id) } else { Ending::None };
    }

    /// Work of the die so far: for a command that comes back to it.
    fn until(&self, die: DieId, now: SimTime) -> Passed {
        Passed(self.dies[die.index()].until(now))
    }

    /// A die takes up a command again that came back to it when the die had done `before`.
    fn taken_again<O>(&mut self, id: CommandId, command: &Command<O>, die: DieId, now: SimTime, before: &Passed) {
        let state = &mut self.dies[die.index()];
        state.serves = Some((Wait::behind(command.verb, command.cause), now));
        if !is_watched(command.cause) {
            return;
        }
        let done = state.done;
        let trail = &mut self.commands[id.index()];
        for ((&(wait, _), done), before) in Wait::ALL.iter().zip(done).zip(before.0) {
            trail.waits.add(wait, Nanos(done - before));
        }
        let known = trail.from + trail.waits.total();
        trail.waits.add(Wait::Ecc, now.since(known));
    }

    /// A decoder has ended a page of a command.
    fn decoded<O>(&mut self, id: CommandId, command: &Command<O>, now: SimTime) {
        self.ending = Ending::None;
        if is_watched(command.cause) {
            let trail = &mut self.commands[id.index()];
            let known = trail.from + trail.waits.total();
            trail.waits.add(Wait::Ecc, now.since(known));
            self.ending = Ending::OfCommand(id);
        }
    }
}

/// Whether a host request can wait for commands of this cause.
fn is_watched(cause: Cause) -> bool {
    matches!(cause, Cause::Host | Cause::HostRmw | Cause::Parity | Cause::Rebuild)
}

/// Wait of a request for parity, or for a lost page, while flash senses, transfers and programs.
fn as_seen_by_host(wait: Wait, cause: Cause) -> Wait {
    let is_service = matches!(wait, Wait::Transfer | Wait::Sensing | Wait::Programming);
    match cause {
        Cause::Parity if is_service => Wait::Parity,
        Cause::Rebuild if is_service => Wait::Solving,
        _ => wait,
    }
}

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// Watches commands from now on. Nothing may be under way.
    pub fn watch(&mut self) {
        assert!(self.is_idle(), "commands under way would have no beginning");
        self.stopwatch = Some(Box::new(Stopwatch::new(self.grid.dies())));
    }

    #[inline]
    pub(crate) fn watch_queued(&mut self, id: CommandId, die: DieId) {
        if let Some(stopwatch) = &mut self.stopwatch
            && is_watched(self.commands[id].cause)
        {
            stopwatch.queued(id, die, self.now);
        }
    }

    #[inline]
    pub(crate) fn watch_taken(&mut self, id: CommandId, die: DieId) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.taken(id, &self.commands[id], die, self.now);
        }
    }

    #[inline]
    pub(crate) fn watch_service(&mut self, id: CommandId, waits: &[(Wait, Nanos)]) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.goes_through(id, &self.commands[id], waits);
        }
    }

    /// The command that a die serves gives way to reads.
    pub(crate) fn watch_suspended(&mut self, die: DieId) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.dies[die.index()].pause(self.now);
        }
    }

    /// A read waits until a command that gave way is at rest.
    pub(crate) fn watch_behind(&mut self, id: CommandId, suspended: CommandId, time: Nanos) {
        let &Command { verb, cause, .. } = &self.commands[suspended];
        self.watch_service(id, &[(Wait::behind(verb, cause), time)]);
    }

    /// A command that gave way to reads goes on, after this time.
    pub(crate) fn watch_resumed(&mut self, die: DieId, suspended: Suspended, time: Nanos) {
        let &Command { verb, cause, .. } = &self.commands[suspended.command];
        let waits = [(Wait::behind(Verb::Read, Cause::Host), self.now.since(suspended.at)), (Wait::Programming, time)];
        self.watch_service(suspended.command, &waits);
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.dies[die.index()].serves = Some((Wait::behind(verb, cause), self.now));
        }
    }

    #[inline]
    pub(crate) fn watch_ended(&mut self, id: CommandId, die: DieId) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.ended(id, &self.commands[id], die, self.now);
        }
    }

    pub(crate) fn watch_decoded(&mut self, id: CommandId) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.decoded(id, &self.commands[id], self.now);
        }
    }

    /// A command goes back to its die after a decoder had it: what the die has done by now.
    pub(crate) fn watch_back(&mut self, id: CommandId, die: DieId) -> Passed {
        let Some(stopwatch) = &mut self.stopwatch else { return Passed::default() };
        stopwatch.decoded(id, &self.commands[id], self.now);
        stopwatch.ending = Ending::None;
        stopwatch.until(die, self.now)
    }

    pub(crate) fn watch_taken_again(&mut self, id: CommandId, die: DieId, before: &Passed) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.taken_again(id, &self.commands[id], die, self.now, before);
        }
    }

    /// A die has ended a read whose page is decoded once more: the command goes on, so no trail ends here.
    pub(crate) fn watch_not_over(&mut self) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.ending = Ending::None;
        }
    }

    /// An event that is not the end of a command begins: it explains nothing.
    #[inline]
    pub fn watch_event(&mut self) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.ending = Ending::None;
        }
    }
}
