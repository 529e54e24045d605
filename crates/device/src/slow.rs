//! Dies that are slower than their kind.

use crate::Device;
use crate::contents::HostPayload;
use nand::FlashArray;
use vocab::{BlockAddr, DieId, Nanos};

/// By what the array times of each die are multiplied; empty: by nothing.
#[derive(Clone, Debug, Default)]
pub struct Slowness(Vec<f64>);

impl Slowness {
    /// From now on the array times of this die of this many are multiplied.
    pub fn set(&mut self, die: DieId, factor: f64, dies: u32) {
        self.0.resize(dies as usize, 1.0);
        self.0[die.index()] = factor;
        if self.0.iter().all(|&factor| factor == 1.0) {
            self.0.clear();
        }
    }

    /// Dies that are slower than their kind, and by what their array times are multiplied.
    pub fn slow_dies(&self) -> impl Iterator<Item = (DieId, f64)> {
        (0..).map(DieId).zip(self.0.iter().copied()).filter(|(_, factor)| *factor != 1.0)
    }

    /// By what the array times of the die are multiplied.
    #[must_use]
    pub fn of(&self, die: DieId) -> f64 {
        self.0.get(die.index()).copied().unwrap_or(1.0)
    }
}

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    #[inline]
    fn paced(&self, block: BlockAddr, time: Nanos) -> Nanos {
        if self.slowness.0.is_empty() { time } else { self.slowed(block, time) }
    }

    #[cold]
    fn slowed(&self, block: BlockAddr, time: Nanos) -> Nanos {
        let die = self.grid.split_block(block).0;
        Nanos((time.0 as f64 * self.slowness.of(die)) as u64)
    }

    /// Time that its die needs to sense page `page` of a block.
    #[inline]
    pub fn read_time(&self, block: BlockAddr, page: u32) -> Nanos {
        self.paced(block, self.latencies.sense(page, self.array.block(block)))
    }

    /// Time that its die needs to program page `page` of a block.
    #[inline]
    pub fn program_time(&self, block: BlockAddr, page: u32) -> Nanos {
        self.paced(block, self.latencies.program(page, self.array.block(block)))
    }

    /// Time that its die needs to erase a block.
    #[inline]
    pub fn erase_time(&self, block: BlockAddr) -> Nanos {
        self.paced(block, self.latencies.erase(self.array.block(block)))
    }
}
