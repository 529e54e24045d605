//! Wrong data, while the medium reports success.
//!
//! The fault model:
//!
//! * **A misread** returns another page of the same die, out-of-band bytes and all, with right checksums:
//!   an address was latched wrong. The next read of the page is right again.
//! * **A lost write** is a program that is reported done and did not happen. Its page reads as erased, bytes
//!   beside it and all, until its block is erased; pages behind it are programmed as ever.
//!
//! Both strike at random, independently of address, wear and time; reads with the given probability,
//! programs with a tenth of it, because a lost write is permanently. Looks of a mount are spared.

use crate::{Arrived, FlashArray, Payload};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Grid, Ppn, Stream};

#[derive(Clone, Debug)]
pub(crate) struct Silent {
    chance: f64,
    draws: Stream,
    blank: BTreeSet<Ppn>,
    pub arrived: Arrived,
}

impl Silent {
    pub fn new(chance: f64, draws: Stream) -> Self {
        Self { chance, draws, blank: BTreeSet::new(), arrived: Arrived::AsAsked }
    }

    /// As [`Self::new`], and the programs of these pages did not happen.
    pub fn with_blank(chance: f64, draws: Stream, blank: BTreeSet<Ppn>) -> Self {
        Self { blank, ..Self::new(chance, draws) }
    }

    pub fn chance(&self) -> f64 {
        self.chance
    }

    pub fn blank_pages(&self) -> &BTreeSet<Ppn> {
        &self.blank
    }

    /// A page is read.
    pub fn read<P: Payload>(&mut self, ppn: Ppn, array: &impl FlashArray<P>) {
        self.arrived = Arrived::AsAsked;
        if self.blank.contains(&ppn) {
            self.arrived = Arrived::Erased;
        } else if self.draws.chance(self.chance) {
            let other = self.other_of_die(ppn, array);
            self.arrived = if other == ppn { Arrived::AsAsked } else { Arrived::Other(other) };
        }
    }

    /// Any programmed page of the die.
    fn other_of_die<P: Payload>(&mut self, ppn: Ppn, array: &impl FlashArray<P>) -> Ppn {
        let grid = array.grid();
        let die = grid.die_of(ppn);
        let blocks = (0..grid.blocks_per_die()).map(|block| grid.block(die, block));
        let pages = |block: BlockAddr| (0..array.block(block).next_page).map(move |page| grid.ppn(block, page));
        let all: Vec<Ppn> = blocks.flat_map(pages).filter(|ppn| !self.blank.contains(ppn)).collect();
        if all.is_empty() { ppn } else { all[self.draws.below(all.len() as u64) as usize] }
    }

    /// A page is programmed.
    pub fn program(&mut self, ppn: Ppn) {
        if self.draws.chance(self.chance / 10.0) {
            self.blank.insert(ppn);
        }
    }

    pub fn is_blank(&self, ppn: Ppn) -> bool {
        self.blank.contains(&ppn)
    }

    /// A block was erased.
    pub fn erased(&mut self, block: BlockAddr, grid: &Grid) {
        let first = grid.ppn(block, 0).0;
        self.blank.retain(|ppn| !(first..first + grid.pages_per_block()).contains(&ppn.0));
    }
}
