//! One die: a command in service and those that wait.

use crate::command::{Command, Stage, Verb};
use crate::slab::{CommandId, OfCommand, Slab};
use std::collections::VecDeque;
use vocab::{Cause, Nanos, SimTime};

/// Activity of a busy die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for the cells of a read.
    Sensing,
    /// The data of a program are moved, or the command of an erase, and reads go before its cells begin.
    GivingWay,
    /// The last phase of any command.
    Ending,
}

/// Page registers of a die: they have the pages that were sensed last, which need no sensing again. Planes sense pages of the
/// same number together; a read of another plane's page finds it sensed, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    /// Which pages, by the number of their sensing; `u32::MAX`: none.
    pages: u32,
    /// Planes of which a page was asked for, a bit each.
    planes: u64,
}

impl Default for Registers {
    fn default() -> Self {
        Self { pages: u32::MAX, planes: 0 }
    }
}

/// A program or erase that gave way to reads.
#[derive(Clone, Copy, Debug)]
pub struct Suspended {
    /// The command.
    pub command: CommandId,
    /// Work that its cells have before them.
    pub remaining: Nanos,
    /// Time that it had its die.
    pub busy: Nanos,
    /// When it gave way.
    pub at: SimTime,
    /// Whether its cells had begun, so that they have to come to rest, and leave traces if the power is cut.
    pub has_begun: bool,
}

/// Whether a page is in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InRegister {
    /// It has to be sensed.
    No,
    /// It was sensed, together with a page of another plane.
    OfPlanes,
    /// It is of a page that was sensed for someone before.
    OfPage,
}

impl Registers {
    /// A page of these pages is wanted, of this plane.
    #[inline]
    pub fn sense(&mut self, pages: u32, plane: u32) -> InRegister {
        if self.pages != pages {
            *self = Self { pages, planes: 1 << plane };
            return InRegister::No;
        }
        let had = self.planes;
        self.planes |= 1 << plane;
        if had == self.planes { InRegister::OfPage } else { InRegister::OfPlanes }
    }
}

/// One die: a command in service and those that wait.
#[derive(Clone, Debug)]
pub struct Die {
    /// Its page registers, where pages are programmed together.
    pub(crate) registers: Registers,
    /// The command in service, and how far it is.
    pub service: Option<(CommandId, Phase)>,
    /// A program or erase that gave way to reads.
    pub suspended: Option<Suspended>,
    /// When it was taken up.
    pub since: SimTime,
    /// Erases that were asked for and have not ended.
    pub erases: u32,
    /// Whether GC occupies it: nothing else is served while a command of GC can be.
    pub occupied: bool,
    /// Reads that go on after decoding failed: before anything else, as erases of the die wait for them.
    pub again: VecDeque<CommandId>,
    /// Reads that may go first, everything else in order, and what GC asks of a die that it occupies.
    queues: [Queue; 3],
    /// Commands of GC among what is in order: the first one waits for its turn as any other command.
    in_order: u32,
    reads_in_a_row: u32,
    /// Times that the command in service gave way to reads.
    pub(crate) gave_way: u32,
    /// Work before the cells of the command in service, where reads go before they begin.
    pub(crate) put_off: Nanos,
    /// How long it has worked.
    pub worked: Nanos,
}

/// The queue of a die that GC occupies.
const GC: usize = 2;

/// Whether a command belongs to the GC of a block.
pub(crate) fn is_gc(cause: Cause) -> bool {
    matches!(cause, Cause::Gc | Cause::WearLevel | Cause::Fold)
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    head: Option<CommandId>,
    tail: Option<CommandId>,
}

/// Reads that may overtake a waiting program before it gets its turn.
const MOST_READS_IN_A_ROW: u32 = 16;

impl Default for Die {
    fn default() -> Self {
        let empty = Queue { head: None, tail: None };
        Self {
            registers: Registers::default(),
            service: None,
            suspended: None,
            since: SimTime::ZERO,
            erases: 0,
            occupied: false,
            again: VecDeque::new(),
            queues: [empty; 3],
            in_order: 0,
            reads_in_a_row: 0,
            gave_way: 0,
            put_off: Nanos(0),
            worked: Nanos(0),
        }
    }
}

impl Die {
    /// Queues a command; `early` for a read that may overtake programs and erases.
    #[inline]
    pub fn push<O>(&mut self, id: CommandId, early: bool, commands: &mut Slab<Command<O>, OfCommand>) {
        self.push_to(usize::from(!early), id, commands);
    }

    /// Queues a command of a GC run that occupies its die: the first one waits for its turn, the others go with it.
    pub fn push_gc<O>(&mut self, id: CommandId, early: bool, commands: &mut Slab<Command<O>, OfCommand>) {
        if self.occupied || self.in_order > 0 || self.queues[GC].head.is_some() {
            self.push_to(GC, id, commands);
        } else {
            self.in_order += 1;
            self.push_to(usize::from(!early), id, commands);
        }
    }

    #[inline]
    fn push_to<O>(&mut self, which: usize, id: CommandId, commands: &mut Slab<Command<O>, OfCommand>) {
        let queue = &mut self.queues[which];
        commands[id].next = None;
        match queue.tail.filter(|_| queue.head.is_some()) {
            Some(tail) => commands[tail].next = Some(id),
            None => queue.head = Some(id),
        }
        queue.tail = Some(id);
    }

    /// The next command of a GC run whose turn has come.
    #[inline]
    pub fn of_gc(&self) -> Option<CommandId> {
        self.queues[GC].head.filter(|_| self.occupied || self.in_order == 0)
    }

    /// Which queue has its turn, where GC has not.
    fn turn<O>(&self, commands: &Slab<Command<O>, OfCommand>) -> usize {
        let [reads, rest, _] = &self.queues;
        let program_is_due =
            self.reads_in_a_row >= MOST_READS_IN_A_ROW && rest.head.is_some_and(|id| commands[id].verb == Verb::Program);
        usize::from(reads.head.is_none() || program_is_due)
    }

    /// Takes out the first command of a queue if it was withdrawn.
    pub fn take_withdrawn<O>(&mut self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        let is_withdrawn = |queue: &Queue| queue.head.is_some_and(|id| commands[id].stage == Stage::Withdrawn);
        let which = self.queues.iter().position(is_withdrawn)?;
        let id = self.queues[which].head?;
        self.unlink(which, id, commands);
        Some(id)
    }

    /// Everything that waits, queue by queue.
    pub fn queued<'a, O>(&'a self, commands: &'a Slab<Command<O>, OfCommand>) -> impl Iterator<Item = CommandId> + 'a {
        let next = |&id: &CommandId| commands[id].next;
        self.queues.iter().flat_map(move |queue| std::iter::successors(queue.head, next))
    }

    /// Everything that waits in order or before that, so that it may have been asked for before a command of GC.
    pub(crate) fn not_of_gc<'a, O>(&'a self, commands: &'a Slab<Command<O>, OfCommand>) -> impl Iterator<Item = CommandId> + 'a {
        let next = |&id: &CommandId| commands[id].next;
        self.queues[..GC].iter().flat_map(move |queue| std::iter::successors(queue.head, next))
    }

    /// The command to serve next, where GC has not its turn; it stays.
    pub fn peek<O>(&self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        self.queues[self.turn(commands)].head
    }

    /// Takes the next command of GC.
    pub fn pop_gc<O>(&mut self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        let id = self.queues[GC].head?;
        self.unlink(GC, id, commands);
        self.reads_in_a_row = 0;
        Some(id)
    }

    #[inline]
    fn unlink<O>(&mut self, which: usize, id: CommandId, commands: &Slab<Command<O>, OfCommand>) {
        self.queues[which].head = commands[id].next;
        if self.in_order > 0 && which != GC && is_gc(commands[id].cause) {
            self.in_order -= 1;
        }
    }

    /// Takes the next of the reads that a command was suspended for, if there is one and it is their turn still.
    pub fn pop_read<O>(&mut self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        let id = self.queues[0].head.filter(|_| self.reads_in_a_row < MOST_READS_IN_A_ROW)?;
        self.unlink(0, id, commands);
        self.reads_in_a_row += 1;
        Some(id)
    }

    /// Others have their turn.
    pub fn reads_served(&mut self) {
        self.reads_in_a_row = 0;
    }

    /// Takes the command to serve next. An erase never overtakes a read: the read may be of the
    /// very block. A program may: nothing reads a page before it is programmed.
    #[inline]
    pub fn pop<O>(&mut self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        let which = self.turn(commands);
        self.reads_in_a_row = if which == 0 { self.reads_in_a_row + 1 } else { 0 };
        let id = self.queues[which].head?;
        self.unlink(which, id, commands);
        Some(id)
    }
}
