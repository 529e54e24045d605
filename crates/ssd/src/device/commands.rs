//! Flash commands, page images and the queues they wait in.

use crate::device::slab::{Id, NONE, Slab};
use crate::host::oracle::Floor;
use nand::{FlashArray, Member, Oob, OobTag, Payload, Program};
use rustc_hash::FxHashMap;
use vocab::{Cause, Nanos, Ppn, SimTime};

/// What a flash command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verb {
    #[default]
    Read,
    Program,
    /// The cells of a page are recharged in place.
    Recharge,
    Erase,
}

/// Who waits for a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Host read: logical pages `lpn..lpn + count` of a job.
    HostRead { job: Id },
    /// Old contents of a partly written page: page `page` of a job.
    Merge { job: Id, page: u16 },
    /// A page of a log without redundancy, or a page moved within a region.
    Page { log: u16, moved: bool },
    /// A victim's page is read to be moved.
    Collect { log: u16 },
    /// A data page or the parity of a row.
    Cover { cover: Id, parity: bool },
    /// A page of codeword `codeword` of a row of a block group.
    GroupPage { row: u32, codeword: u8, parity: bool, moved: bool },
    /// A page of a weighted sum that brings back a page of a block group.
    Term { gather: Id, coefficient: u8 },
    /// A strip of a stripe update.
    Stripe { op: Id, strip: u8 },
    /// A page that is recharged in place.
    Recharge { log: u16 },
    /// The patrol looks at a page of a row.
    Patrol { superblock: u32 },
    /// A strip that a rebuild writes.
    Strip { log: u16 },
    /// A source of a repair.
    Gather { gather: Id },
    /// A block of a read with alternatives.
    Lazy { read: Id, block: u8 },
    /// A data page of a group that is encoded: page `page` of all it reads.
    Encode { encode: Id, page: u16 },
    /// A code page.
    Code { encode: Id },
    /// The erase of a victim's block.
    Erase { log: u16 },
    /// Nobody: a page that only keeps a row in step.
    #[default]
    Nobody,
}

/// One command on its way to a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub owner: Owner,
    pub ppn: Ppn,
    /// Image to program.
    pub image: Id,
    /// First logical page of a host read.
    pub lpn: u32,
    /// The command behind it in its die's queue.
    pub next: Id,
    /// First slot and number of slots moved.
    pub first: u8,
    pub count: u8,
    pub verb: Verb,
    pub cause: Cause,
    pub stage: Stage,
}

/// Where a command is between its queue and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Queued,
    /// Withdrawn: its queue drops it when it is at its head.
    Withdrawn,
    Served,
}

impl Default for Command {
    fn default() -> Self {
        Self {
            owner: Owner::Nobody,
            ppn: Ppn(0),
            image: NONE,
            lpn: 0,
            next: NONE,
            first: 0,
            count: 1,
            verb: Verb::Read,
            cause: Cause::Host,
            stage: Stage::Queued,
        }
    }
}

/// All commands in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    pub slab: Slab<Command>,
    /// What each logical page of a host read must return at least; `slots` for each command.
    floors: Vec<Floor>,
    slots: usize,
}

impl Commands {
    pub fn new(slots: u32) -> Self {
        Self { slab: Slab::default(), floors: Vec::new(), slots: slots as usize }
    }

    #[inline(always)]
    pub fn add(&mut self, command: Command) -> Id {
        let id = self.slab.take();
        self.slab[id] = command;
        id
    }

    pub fn set_floor(&mut self, id: Id, index: usize, floor: Floor) {
        let at = id as usize * self.slots + index;
        if at >= self.floors.len() {
            self.floors.resize((id as usize + 1) * self.slots, Floor::default());
        }
        self.floors[at] = floor;
    }

    pub fn floor(&self, id: Id, index: usize) -> Floor {
        self.floors[id as usize * self.slots + index]
    }
}

/// What a slot is to hold.
#[derive(Clone, Debug)]
pub(crate) struct Contents<P> {
    pub tag: OobTag,
    pub payload: P,
    /// Rank of the write that made it; what is moved keeps its own.
    pub update: u64,
}

/// A page being put together in the controller: what a program command will store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    pub oob: Oob,
    pub filled: u32,
    pub ppn: Ppn,
}

impl Default for Image {
    fn default() -> Self {
        Self { oob: Oob::default(), filled: 0, ppn: Ppn(0) }
    }
}

/// Page images with their slots, slot `i` of image `n` at `n * slots + i`.
#[derive(Clone, Debug)]
pub(crate) struct Images<P> {
    pub slab: Slab<Image>,
    tags: Vec<OobTag>,
    payload: Vec<P>,
    jobs: Vec<Id>,
    pins: Vec<u32>,
    /// Rank of the write that gave each slot its contents.
    updates: Vec<u64>,
    /// Of parity on a drive that is to be mounted: the members of its codeword.
    members: FxHashMap<Id, Vec<Member>>,
    slots: usize,
}

impl<P: Payload> Images<P> {
    pub fn new(slots: u32) -> Self {
        Self {
            slab: Slab::default(),
            tags: vec![],
            payload: vec![],
            jobs: vec![],
            pins: vec![],
            updates: vec![],
            members: FxHashMap::default(),
            slots: slots as usize,
        }
    }

    /// An empty image for `ppn`.
    #[inline]
    pub fn open(&mut self, ppn: Ppn, oob: Oob) -> Id {
        let id = self.slab.take();
        self.slab[id] = Image { oob, filled: 0, ppn };
        let end = (id as usize + 1) * self.slots;
        if self.tags.len() < end {
            self.tags.resize(end, OobTag::FILLER);
            self.payload.resize(end, P::default());
            self.jobs.resize(end, NONE);
            self.pins.resize(end, NONE);
            self.updates.resize(end, 0);
        }
        id
    }

    /// Puts a page into the next slot; the slot's number. `job` waits for the program, `pin` is
    /// the unit to release after it (`NONE`: nobody, nothing).
    #[inline]
    pub fn fill(&mut self, id: Id, contents: Contents<P>, job: Id, pin: u32) -> u32 {
        let Contents { tag, payload, update } = contents;
        let index = self.slab[id].filled;
        let at = id as usize * self.slots + index as usize;
        self.tags[at] = tag;
        self.payload[at] = payload;
        self.jobs[at] = job;
        self.pins[at] = pin;
        self.updates[at] = update;
        self.slab[id].filled = index + 1;
        index
    }

    #[inline]
    pub fn is_full(&self, id: Id) -> bool {
        self.slab[id].filled as usize == self.slots
    }

    /// The die takes the image up: it gets its rank among programs, and slots that were not filled
    /// are blanked, so that the whole image can be programmed.
    #[inline]
    pub fn seal(&mut self, id: Id, sequence: u64) {
        self.slab[id].oob.sequence = sequence;
        let first = id as usize * self.slots;
        for at in first + self.slab[id].filled as usize..first + self.slots {
            self.tags[at] = OobTag::FILLER;
            self.payload[at] = P::default();
            self.jobs[at] = NONE;
            self.pins[at] = NONE;
            self.updates[at] = sequence;
        }
    }

    /// Rank of the contents of each slot.
    #[inline]
    pub fn updates(&self, id: Id) -> &[u64] {
        &self.updates[id as usize * self.slots..(id as usize + 1) * self.slots]
    }

    /// Another unit is to be released after the program.
    pub fn set_pin(&mut self, id: Id, index: u32, pin: u32) {
        self.pins[id as usize * self.slots + index as usize] = pin;
    }

    /// The image is parity of these.
    pub fn set_members(&mut self, id: Id, members: Vec<Member>) {
        self.members.insert(id, members);
    }

    /// The program of the image.
    #[inline]
    pub fn program(&self, id: Id, ppn: Ppn, oob: Oob, now: SimTime) -> Program<'_, P> {
        let (tags, payload) = self.contents(id);
        let members = if self.members.is_empty() { None } else { self.members.get(&id) };
        let members = members.map_or(&[][..], Vec::as_slice);
        Program { ppn, tags, payload, updates: Some(self.updates(id)), members, oob, now }
    }

    /// The image is done with.
    #[inline]
    pub fn give(&mut self, id: Id) {
        if !self.members.is_empty() {
            self.members.remove(&id);
        }
        self.slab.give(id);
    }

    #[inline]
    pub fn contents(&self, id: Id) -> (&[OobTag], &[P]) {
        let range = id as usize * self.slots..(id as usize + 1) * self.slots;
        (&self.tags[range.clone()], &self.payload[range])
    }

    /// Tag, waiting job and pinned unit of a slot.
    #[inline]
    pub fn slot(&self, id: Id, index: u32) -> (OobTag, Id, u32) {
        let at = id as usize * self.slots + index as usize;
        (self.tags[at], self.jobs[at], self.pins[at])
    }
}

/// What a busy die is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Waiting for the cells of a read.
    Sensing,
    /// The last phase of any command.
    Ending,
}

/// One die: a command in service and those that wait.
#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub service: Option<(Id, Phase)>,
    pub since: SimTime,
    /// Reads that may go first, and everything else in order.
    queues: [Queue; 2],
    reads_in_a_row: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    head: Id,
    tail: Id,
}

/// Reads that may overtake a waiting program before it gets its turn.
const MOST_READS_IN_A_ROW: u32 = 16;

impl Die {
    pub fn new() -> Self {
        let empty = Queue { head: NONE, tail: NONE };
        Self { service: None, since: SimTime::ZERO, queues: [empty; 2], reads_in_a_row: 0 }
    }

    /// Queues a command; `early` for a read that may overtake programs and erases.
    #[inline]
    pub fn push(&mut self, id: Id, early: bool, commands: &mut Slab<Command>) {
        let queue = &mut self.queues[usize::from(!early)];
        commands[id].next = NONE;
        if queue.head == NONE {
            queue.head = id;
        } else {
            commands[queue.tail].next = id;
        }
        queue.tail = id;
    }

    /// Which queue has its turn.
    fn turn(&self, commands: &Slab<Command>) -> usize {
        let [reads, rest] = &self.queues;
        let program_is_due =
            self.reads_in_a_row >= MOST_READS_IN_A_ROW && rest.head != NONE && commands[rest.head].verb == Verb::Program;
        usize::from(reads.head == NONE || program_is_due)
    }

    /// Takes out the first command of a queue if it was withdrawn.
    pub fn take_withdrawn(&mut self, commands: &Slab<Command>) -> Option<Id> {
        let is_withdrawn = |queue: &Queue| queue.head != NONE && commands[queue.head].stage == Stage::Withdrawn;
        let queue = self.queues.iter_mut().find(|queue| is_withdrawn(queue))?;
        let id = queue.head;
        queue.head = commands[id].next;
        Some(id)
    }

    /// Everything that waits, queue by queue.
    pub fn queued<'a>(&'a self, commands: &'a Slab<Command>) -> impl Iterator<Item = Id> + 'a {
        let next = |&id: &Id| Some(commands[id].next).filter(|&id| id != NONE);
        let first = |queue: &Queue| Some(queue.head).filter(|&id| id != NONE);
        self.queues.iter().flat_map(move |queue| std::iter::successors(first(queue), next))
    }

    /// The command to serve next; it stays.
    pub fn peek(&self, commands: &Slab<Command>) -> Option<Id> {
        let id = self.queues[self.turn(commands)].head;
        (id != NONE).then_some(id)
    }

    /// Takes the command to serve next. An erase never overtakes a read: the read may be of the
    /// very block. A program may: nothing reads a page before it is programmed.
    #[inline]
    pub fn pop(&mut self, commands: &Slab<Command>) -> Option<Id> {
        let which = self.turn(commands);
        self.reads_in_a_row = if which == 0 { self.reads_in_a_row + 1 } else { 0 };
        let queue = &mut self.queues[which];
        if queue.head == NONE {
            return None;
        }
        let id = queue.head;
        queue.head = commands[id].next;
        Some(id)
    }
}

/// Whether the page is in flash already: pages of a block are programmed in order.
#[inline]
pub(crate) fn is_programmed<P: Payload, A: FlashArray<P>>(array: &A, ppn: Ppn) -> bool {
    let (block, page) = array.grid().split(ppn);
    page < array.block(block).next_page
}

/// Time a command keeps its channel.
pub(crate) fn transfer_time<P: Payload, A: FlashArray<P>>(array: &A, latencies: &nand::Latencies, command: &Command) -> Nanos {
    latencies.command
        + match command.verb {
            Verb::Read => latencies.transfer(u32::from(command.count)),
            Verb::Program | Verb::Recharge => latencies.transfer(array.grid().slots_per_page()),
            Verb::Erase => Nanos(0),
        }
}

/// Time a command keeps its die without waiting.
pub(crate) fn service_time<P: Payload, A: FlashArray<P>>(array: &A, latencies: &nand::Latencies, command: &Command) -> Nanos {
    let (block, page) = array.grid().split(command.ppn);
    let pe = array.block(block).pe;
    transfer_time(array, latencies, command)
        + match command.verb {
            Verb::Read => latencies.read(page),
            Verb::Program | Verb::Recharge => latencies.program(page, pe),
            Verb::Erase => latencies.erase(pe),
        }
}
