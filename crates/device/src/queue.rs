//! One die: a command in service and those that wait.

use crate::command::{Command, Stage, Verb};
use crate::slab::{CommandId, OfCommand, Slab};
use vocab::SimTime;

/// What a busy die is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for the cells of a read.
    Sensing,
    /// The last phase of any command.
    Ending,
}

/// One die: a command in service and those that wait.
#[derive(Clone, Debug)]
pub struct Die {
    /// The command in service, and how far it is.
    pub service: Option<(CommandId, Phase)>,
    /// When it was taken up.
    pub since: SimTime,
    /// Erases that were asked for and have not ended.
    pub erases: u32,
    /// Reads that may go first, and everything else in order.
    queues: [Queue; 2],
    reads_in_a_row: u32,
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
        Self { service: None, since: SimTime::ZERO, erases: 0, queues: [empty; 2], reads_in_a_row: 0 }
    }
}

impl Die {
    /// Queues a command; `early` for a read that may overtake programs and erases.
    #[inline]
    pub fn push<O>(&mut self, id: CommandId, early: bool, commands: &mut Slab<Command<O>, OfCommand>) {
        let queue = &mut self.queues[usize::from(!early)];
        commands[id].next = None;
        match queue.tail.filter(|_| queue.head.is_some()) {
            Some(tail) => commands[tail].next = Some(id),
            None => queue.head = Some(id),
        }
        queue.tail = Some(id);
    }

    /// Which queue has its turn.
    fn turn<O>(&self, commands: &Slab<Command<O>, OfCommand>) -> usize {
        let [reads, rest] = &self.queues;
        let program_is_due =
            self.reads_in_a_row >= MOST_READS_IN_A_ROW && rest.head.is_some_and(|id| commands[id].verb == Verb::Program);
        usize::from(reads.head.is_none() || program_is_due)
    }

    /// Takes out the first command of a queue if it was withdrawn.
    pub fn take_withdrawn<O>(&mut self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        let is_withdrawn = |queue: &Queue| queue.head.is_some_and(|id| commands[id].stage == Stage::Withdrawn);
        let queue = self.queues.iter_mut().find(|queue| is_withdrawn(queue))?;
        let id = queue.head?;
        queue.head = commands[id].next;
        Some(id)
    }

    /// Everything that waits, queue by queue.
    pub fn queued<'a, O>(&'a self, commands: &'a Slab<Command<O>, OfCommand>) -> impl Iterator<Item = CommandId> + 'a {
        let next = |&id: &CommandId| commands[id].next;
        self.queues.iter().flat_map(move |queue| std::iter::successors(queue.head, next))
    }

    /// The command to serve next; it stays.
    pub fn peek<O>(&self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        self.queues[self.turn(commands)].head
    }

    /// Takes the command to serve next. An erase never overtakes a read: the read may be of the
    /// very block. A program may: nothing reads a page before it is programmed.
    #[inline]
    pub fn pop<O>(&mut self, commands: &Slab<Command<O>, OfCommand>) -> Option<CommandId> {
        let which = self.turn(commands);
        self.reads_in_a_row = if which == 0 { self.reads_in_a_row + 1 } else { 0 };
        let queue = &mut self.queues[which];
        let id = queue.head?;
        queue.head = commands[id].next;
        Some(id)
    }
}
