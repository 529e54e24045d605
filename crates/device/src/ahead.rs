//! Reads that a die senses while it moves another one: cache reads, and planes that are read independently.
//!
//! A die takes up its reads one after the other, because all of them leave through its one port. What overlaps is the time of
//! the cells. When the die takes up a read, this component says since when the cells of its plane could have been at work on
//! it: since the read was queued, or since the cells were free of what came before. That time has passed already, and the read
//! is charged the rest. Reads go in the order of their queue, also where a later one would be sensed first; the command cycles
//! of a read that is sensed ahead take their time on the channel, but nothing waits for them.

use crate::slab::CommandId;
use nand::Timing;
use vocab::{DieId, Nanos, SimTime};

/// Since when cells are free, and since when reads wait for them.
#[derive(Clone, Debug)]
pub(crate) struct SensingAhead {
    /// Time to move a page to the cache register of its plane, after which the cells are free; `None`: they are free when the
    /// page has left the die.
    cache: Option<Nanos>,
    /// Planes that are read independently of each other.
    planes: usize,
    /// When the cells of each plane are free, die by die.
    free: Vec<SimTime>,
    /// When each command was queued.
    queued: Vec<SimTime>,
}

impl SensingAhead {
    /// For this many dies, if they can do it at all.
    pub fn new(timing: &Timing, dies: usize) -> Option<Box<Self>> {
        let planes = timing.unit.filter(|_| timing.independent_planes).map_or(1, |unit| unit.planes as usize);
        if timing.cache_read.is_none() && planes == 1 {
            return None;
        }
        let free = vec![SimTime::ZERO; dies * planes];
        Some(Box::new(Self { cache: timing.cache_read, planes, free, queued: Vec::new() }))
    }

    /// This many dies.
    pub fn grow(&mut self, dies: usize) {
        self.free.resize(dies * self.planes, SimTime::ZERO);
    }

    /// A command is queued.
    pub fn note_queued(&mut self, id: CommandId, now: SimTime) {
        if id.index() >= self.queued.len() {
            self.queued.resize(id.index() + 1, SimTime::ZERO);
        }
        self.queued[id.index()] = now;
    }

    fn cells(&mut self, die: DieId, plane: u32) -> &mut SimTime {
        // A die whose planes are read together has one.
        let plane = if self.planes == 1 { 0 } else { plane as usize };
        &mut self.free[die.index() * self.planes + plane]
    }

    /// For how long the cells of a plane have been at work on a read that is taken up now.
    pub fn passed(&mut self, id: CommandId, die: DieId, plane: u32, now: SimTime) -> Nanos {
        let since = self.queued[id.index()].max(*self.cells(die, plane));
        Nanos(now.0.saturating_sub(since.0))
    }

    /// A page begins to leave its die, for so long.
    pub fn note_leaves(&mut self, die: DieId, plane: u32, begins: SimTime, transfer: Nanos) {
        let until = begins + self.cache.map_or(transfer, |cache| cache.min(transfer));
        let cells = self.cells(die, plane);
        *cells = until.max(*cells);
    }

    /// All planes of a die are at work on a program, on an erase or on a read that is repeated, until then.
    pub fn note_occupied(&mut self, die: DieId, until: SimTime) {
        let first = die.index() * self.planes;
        self.free[first..first + self.planes].fill(until);
    }
}
