//! A checkpoint bounds what a mount looks at.
//!
//! When the last page of a block is programmed, the OOB bytes of its pages are written once more, to
//! reserved blocks outside the drive's capacity: its *summary*. Before the block is erased the summary
//! is struck out. Both pass through PLP memory, so a summary is there or not, never in part. A
//! mount reads all summaries, and of each block that has one a single page: if that has the P/E count of
//! the summary, the summary is believed. That a block is erased is noted likewise, from the end of its
//! erase to its first program. All pages of other blocks are looked at.
//!
//! Losses since a block was filled are not in its summary. They are found as any loss is, by reading; then the summary
//! is struck out, because the restored data have another copy from then on. Only where the cut left a stripe, row or
//! group in parts does one more loss decide which state is the newest consistent one: pages of these are looked at
//! whatever their summary says.
//!
//! The model charges a mount for reading summaries. It does not charge the drive for writing them: 48
//! bytes for a page of one slot, less than a percent of a program.

use crate::core::changes::Changes;
use crate::core::flash::{Array, FlashPayload};
use nand::{FlashArray, Latencies};
use vocab::{BlockAddr, Grid, Nanos};

/// Entry of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summary {
    /// It has none yet.
    None,
    /// It gets none before it is erased.
    Struck,
    /// No page of it is programmed.
    Erased,
    /// All pages are programmed, in this P/E cycle.
    Whole(u32),
}

/// The summaries that a drive has.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    of: Vec<Summary>,
    /// Blocks whose summaries changed, where someone saves them.
    changed: Changes<BlockAddr>,
}

impl Checkpoint {
    /// All blocks are erased.
    pub fn fresh(blocks: u32) -> Self {
        Self::of_all(vec![Summary::Erased; blocks as usize])
    }

    /// These summaries, one for each block.
    pub fn of_all(summaries: Vec<Summary>) -> Self {
        Self { of: summaries, changed: Changes::default() }
    }

    /// Someone saves it: from now on it tells which summaries changed.
    pub fn watch(&mut self) {
        self.changed.watch();
    }

    /// Blocks whose summaries changed since this was last asked.
    pub fn take_changed(&mut self) -> Vec<BlockAddr> {
        self.changed.take()
    }

    fn set(&mut self, block: BlockAddr, summary: Summary) {
        self.of[block.index()] = summary;
        self.changed.note(block);
    }

    /// All pages of the block are programmed. Its erase may be waiting behind the last program already.
    pub fn sum_up<P: FlashPayload>(&mut self, block: BlockAddr, array: &Array<P>) {
        if self.of(block) != Summary::Struck {
            self.set(block, Summary::Whole(array.block(block).pe));
        }
    }

    /// The block was erased.
    pub fn erased(&mut self, block: BlockAddr) {
        self.set(block, Summary::Erased);
    }

    /// The block is being programmed, or nothing is known of it.
    pub fn forget(&mut self, block: BlockAddr) {
        self.set(block, Summary::None);
    }

    /// Nothing is known of any block.
    pub fn forget_all(&mut self) {
        (0..self.of.len() as u32).for_each(|block| self.forget(BlockAddr(block)));
    }

    /// The block is going to be erased, or a page of it cannot be read.
    pub fn strike_out(&mut self, block: BlockAddr) {
        self.set(block, Summary::Struck);
    }

    /// Entry of the block.
    pub fn of(&self, block: BlockAddr) -> Summary {
        self.of[block.index()]
    }

    fn pe(&self) -> impl Iterator<Item = u32> {
        self.of.iter().filter_map(|summary| if let Summary::Whole(pe) = summary { Some(*pe) } else { None })
    }

    /// Most P/E cycles of any block that is whole.
    pub fn most_worn(&self) -> u32 {
        self.pe().max().unwrap_or(0)
    }

    /// Bytes of all summaries.
    pub fn bytes(&self, grid: &Grid) -> u64 {
        let blocks = self.pe().count() as u64;
        blocks * u64::from(grid.pages_per_block()) * beside(grid)
    }

    /// Time to read all summaries, all dies side by side.
    pub fn time(&self, latencies: &Latencies, grid: &Grid) -> Nanos {
        let pages = self.bytes(grid).div_ceil(grid.geometry().page_size.0);
        let channels = u64::from(grid.geometry().channels);
        let of_die = (latencies.command + latencies.read(0)) * pages.div_ceil(u64::from(grid.dies()));
        let of_channel = (latencies.command + latencies.transfer(grid.slots_per_page())) * pages.div_ceil(channels);
        of_die.max(of_channel)
    }
}

/// Bytes beside a page (`docs/spec/oob.md`).
pub(crate) fn beside(grid: &Grid) -> u64 {
    32 + 16 * u64::from(grid.slots_per_page())
}
