//! View of a mount: flash after a cut, without the memory of the controller that filled it.
//!
//! | fact | after a cut |
//! |---|---|
//! | tags, coverage, sequence, ECC profile and updates of a readable page | in its OOB |
//! | P/E cycles of its block, and when the block's first page was programmed, in whole seconds | in its OOB |
//! | most P/E cycles of any block when it was programmed | in its OOB |
//! | bad blocks | marked in flash |
//! | how far a block is programmed | seen: up to the last page that does not read as erased |
//! | P/E cycles of a block without a readable page | gone |
//! | reads and recharges since the erase | done to the cells; no one can tell |
//! | when a page was programmed or recharged | gone; no earlier than the first page of its block |
//! | whether a page that reads as erased was begun, whether an erase ended | never known |

use crate::array::History;
use crate::scar::Scar;
use crate::{FlashArray, MemoryArray, Oob, OobTag, PageView, Payload};
use vocab::{BlockAddr, Ppn, SimTime};

/// State of a page for an observer without prior knowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageScan<'a> {
    /// Every byte of page and OOB reads as erased. The page may have been begun nonetheless.
    Erased,
    /// Neither erased nor with right checksums.
    Unreadable,
    /// OOB and data have right checksums.
    Valid(ValidPage<'a>),
}

/// OOB of a readable page. The updates of its slots are [`FlashArray::update`], and its contents can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValidPage<'a> {
    /// A tag for each slot.
    pub tags: &'a [OobTag],
    /// Facts about the page.
    pub oob: Oob,
    /// P/E cycles of the block, the erase before this program included.
    pub pe: u32,
    /// Erases of the block in SLC mode since its cycles last rose.
    pub slc_cycles: u8,
    /// Most P/E cycles of any block of the drive when the page was programmed.
    pub pe_max: u32,
    /// When the first page of the block was programmed, in whole seconds, rounded down.
    pub first_program: SimTime,
}

/// State of a block for an observer without prior knowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockScan {
    /// Marked bad: neither programmed nor erased any more. Pages programmed before can be looked
    /// at one by one.
    Bad,
    /// All pages read as erased. It may be half erased nonetheless: only an erase makes it fit
    /// for programs.
    Erased,
    /// Half erased for sure, or nothing but torn: not all pages read as erased, none is valid.
    HalfErased,
    /// Some page is valid.
    Programmed {
        /// Pages up to the last one that does not read as erased.
        pages: u32,
    },
}

/// Flash that can be mounted: read without knowing what it holds.
pub trait Scan<P: Payload>: FlashArray<P> {
    /// Looks at a page. A look is not counted as a read and does not use up a weak page.
    fn scan_page(&self, ppn: Ppn) -> PageScan<'_>;

    /// Forgets what dies with power: of each [`crate::BlockInfo`] stays the mark of a bad block,
    /// what [`Self::scan_block`] finds as the next page, and what reads and recharges have done to the cells. Recovery sets
    /// the rest again ([`FlashArray::set_age`]) from what the pages say, erring towards more wear and more age.
    fn forget_volatile(&mut self);

    /// Looks at all pages of a block.
    fn scan_block(&self, block: BlockAddr) -> BlockScan {
        if self.block(block).bad {
            return BlockScan::Bad;
        }
        let (mut valid, mut pages) = (false, 0);
        for page in 0..self.grid().pages_per_block() {
            match self.scan_page(self.grid().ppn(block, page)) {
                PageScan::Erased => continue,
                PageScan::Unreadable => {}
                PageScan::Valid(_) => valid = true,
            }
            pages = page + 1;
        }
        match (pages, valid) {
            (0, _) => BlockScan::Erased,
            (_, false) => BlockScan::HalfErased,
            (_, true) => BlockScan::Programmed { pages },
        }
    }
}

impl<P: Payload> Scan<P> for MemoryArray<P> {
    fn scan_page(&self, ppn: Ppn) -> PageScan<'_> {
        let (block, page) = self.grid().split(ppn);
        if page >= self.block(block).next_page {
            return PageScan::Erased;
        }
        match self.scars.of(ppn) {
            Some(Scar::Blank) => PageScan::Erased,
            Some(Scar::Torn | Scar::Weak { reads: 0 }) => PageScan::Unreadable,
            Some(Scar::Weak { .. }) | None => {
                let PageView { tags, oob, .. } = self.page(ppn);
                let History { pe, slc_cycles, pe_max, first_program } = self.history(ppn);
                PageScan::Valid(ValidPage { tags, oob, pe, slc_cycles, pe_max, first_program })
            }
        }
    }

    fn forget_volatile(&mut self) {
        self.forget_infos();
    }
}
