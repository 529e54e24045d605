//! An independent simulation of a greedy log whose collected pages go to a block of their own.
//!
//! No formula is known for hot and cold pages under greedy victims. What is more, the result
//! depends on which of equally empty blocks is taken: the block closed first is likely cold and
//! has lost its pages slowly, the block touched last is likely hot and would lose more.

use std::collections::VecDeque;
use vocab::{Stream, Streams};

/// Which of equally empty blocks is the victim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The one that was closed first.
    ClosedFirst,
    /// The one that lost a page (or was closed) last: a last-in-first-out list for each count.
    TouchedLast,
}

#[derive(Clone, Copy, Default)]
struct Block {
    valid: u32,
    closed: bool,
    /// When it was closed, and when it was closed or last lost a page.
    closed_at: u64,
    touched_at: u64,
}

const NOWHERE: usize = usize::MAX;

/// The log: `owner` and `place` map slots and pages to each other.
pub struct GreedyLog {
    ties: Ties,
    block_pages: usize,
    blocks: Vec<Block>,
    owner: Vec<usize>,
    place: Vec<usize>,
    free: VecDeque<usize>,
    /// Open block and next page of the host, and of GC.
    open: [(usize, usize); 2],
    clock: u64,
    programs: u64,
}

impl GreedyLog {
    /// An empty log that collects with `closed` blocks closed, filled in random order.
    pub fn filled(closed: u32, block_pages: u32, pages: u32, ties: Ties, draws: &mut Stream) -> Self {
        // One block is free then, and one is open for GC.
        let blocks = closed as usize + 2;
        let mut log = Self {
            ties,
            block_pages: block_pages as usize,
            blocks: vec![Block::default(); blocks],
            owner: vec![NOWHERE; blocks * block_pages as usize],
            place: vec![NOWHERE; pages as usize],
            free: (0..blocks).collect(),
            open: [(NOWHERE, 0); 2],
            clock: 0,
            programs: 0,
        };
        let mut order: Vec<u32> = (0..pages).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, draws.below(i as u64 + 1) as usize);
        }
        order.into_iter().for_each(|page| log.write(page));
        log
    }

    /// The host writes a page.
    pub fn write(&mut self, page: u32) {
        if self.open[0].0 == NOWHERE {
            while self.free.len() < 2 {
                self.collect();
            }
        }
        self.put(page as usize, 0);
    }

    fn put(&mut self, page: usize, stream: usize) {
        if self.open[stream].0 == NOWHERE {
            self.open[stream] = (self.free.pop_front().expect("GC keeps a block"), 0);
        }
        let (block, next) = self.open[stream];
        self.clock += 1;
        self.programs += 1;
        let slot = block * self.block_pages + next;
        let old = std::mem::replace(&mut self.place[page], slot);
        if old != NOWHERE {
            self.owner[old] = NOWHERE;
            let left = &mut self.blocks[old / self.block_pages];
            (left.valid, left.touched_at) = (left.valid - 1, self.clock);
        }
        self.owner[slot] = page;
        self.blocks[block].valid += 1;
        self.open[stream].1 += 1;
        if next + 1 == self.block_pages {
            let valid = self.blocks[block].valid;
            self.blocks[block] = Block { valid, closed: true, closed_at: self.clock, touched_at: self.clock };
            self.open[stream].0 = NOWHERE;
        }
    }

    fn collect(&mut self) {
        let key = |block: &Block| match self.ties {
            Ties::ClosedFirst => (block.valid, block.closed_at),
            Ties::TouchedLast => (block.valid, u64::MAX - block.touched_at),
        };
        let closed = self.blocks.iter().enumerate().filter(|(_, block)| block.closed);
        let victim = closed.min_by_key(|(_, block)| key(block)).expect("closed blocks").0;
        for slot in victim * self.block_pages..(victim + 1) * self.block_pages {
            if self.owner[slot] != NOWHERE {
                self.put(self.owner[slot], 1);
            }
        }
        self.blocks[victim] = Block::default();
        self.free.push_back(victim);
    }

    /// Programs so far.
    pub fn programs(&self) -> u64 {
        self.programs
    }
}

/// The draws of one simulation.
pub fn draws(seed: u64) -> Stream {
    Streams::new(seed).stream("independent greedy log")
}
