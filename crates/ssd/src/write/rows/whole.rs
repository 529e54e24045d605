//! Superblocks of which a mount can read every page, as of most. No page of their rows is missing, so all parities count, and the
//! pages are looked at block by block, in the order in which their OOB bytes lie in memory.

use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::core::{Core, data_of};
use crate::write::found::{Found, Newests, data_in};
use crate::write::rows::mount::{Parity, RowsSeen, parity_at};
use nand::FlashArray;
use std::collections::BTreeSet;
use vocab::{DieId, Ppn, StripSet, SuperblockId};

/// A superblock of which the mount scan can read every page, none of which is taken for lost.
pub(super) struct WholeSuperblock<'a, P: FlashPayload> {
    core: &'a Core<P>,
    superblock: SuperblockId,
}

impl<'a, P: FlashPayload> WholeSuperblock<'a, P> {
    /// The superblock, if it is one.
    pub fn of(core: &'a Core<P>, view: RowsSeen<'_>, superblock: SuperblockId) -> Option<Self> {
        let grid = &core.device.grid;
        let is_whole = |die: u32| view.seen.is_whole(grid.block(DieId(die as u16), superblock.0));
        let is_elsewhere = |&ppn: &Ppn| core.map.rows().superblock_of(core.map.rows().row_of(ppn).0) != superblock;
        // Rows of a drive with a dead die are looked at with it in mind.
        let is = core.device.losses.dead().is_empty() && (0..grid.dies()).all(is_whole) && view.without.iter().all(is_elsewhere);
        is.then_some(Self { core, superblock })
    }

    /// Its pages, block by block.
    fn pages(&self) -> impl Iterator<Item = Ppn> + '_ {
        let grid = &self.core.device.grid;
        let blocks = (0..grid.dies()).map(|die| grid.block(DieId(die as u16), self.superblock.0));
        blocks.flat_map(move |block| (0..grid.pages_per_block()).map(move |page| grid.ppn(block, page)))
    }

    /// Its parities, each with its row. Those of a row by die.
    pub fn parities(&self) -> impl Iterator<Item = (u32, Parity)> + '_ {
        let of_page = |ppn| {
            let (row, die) = self.core.map.rows().row_of(ppn);
            parity_at(self.core, die, ppn).map(|parity| (row, parity))
        };
        self.pages().filter_map(of_page)
    }

    /// Rows with contents of pages that are sought.
    pub fn rows_with(&self, sought: &Newests) -> BTreeSet<u32> {
        let tags = |ppn: &Ppn| self.core.device.array.tags(*ppn);
        let holds_any = |ppn: &Ppn| tags(ppn).iter().any(|&tag| data_of(tag).is_some_and(|lpn| sought.seeks(lpn)));
        self.pages().filter(holds_any).map(|ppn| self.core.map.rows().row_of(ppn).0).collect()
    }

    /// Offers what its pages hold: all that parities cover, and what is known to have been durable.
    pub fn offer(&self, durable: &Journal, choice: &mut Found) {
        let rows = self.core.map.rows();
        let first = rows.row(self.superblock, 0);
        let mut covered: Vec<StripSet> = Vec::new();
        for (row, parity) in self.parities() {
            let number = (row - first) as usize;
            covered.resize(covered.len().max(number + 1), StripSet::EMPTY);
            covered[number] = covered[number].or(parity.covers);
        }
        for ppn in self.pages() {
            let (row, die) = rows.row_of(ppn);
            let is_covered = covered.get((row - first) as usize).is_some_and(|dies| dies.contains(u32::from(die.0)));
            let data = data_in(self.core, ppn).filter(|(lpn, found)| is_covered || found.update <= durable.rank(*lpn));
            data.for_each(|(lpn, found)| choice.offer(lpn, found));
        }
    }
}
