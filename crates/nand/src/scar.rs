//! Damage that power cuts leave in pages and blocks.

use std::collections::{BTreeMap, BTreeSet};
use vocab::{BlockAddr, Ppn};

/// State of a page after an interrupted command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scar {
    /// Reads as erased.
    Blank,
    /// Reads as garbage.
    Torn,
    /// Reads back for this many reads.
    Weak { reads: u32 },
}

/// Damage by power cuts, until the blocks are erased.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scars {
    /// True if a page or block is damaged. Every read and program checks this first.
    any: bool,
    pages: BTreeMap<Ppn, Scar>,
    half_erased: BTreeSet<BlockAddr>,
}

impl Scars {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    pub(crate) fn of(&self, ppn: Ppn) -> Option<Scar> {
        self.pages.get(&ppn).copied()
    }

    pub(crate) fn is_half_erased(&self, block: BlockAddr) -> bool {
        self.half_erased.contains(&block)
    }

    #[cold]
    pub(crate) fn assert_programmable(&self, block: BlockAddr, ppn: Ppn) {
        assert!(!self.half_erased.contains(&block), "{ppn} programmed on a half-erased block: {block} must be erased again");
        assert!(!self.pages.contains_key(&ppn), "{ppn} programmed again after an interrupted program");
    }

    pub(crate) fn add(&mut self, ppn: Ppn, scar: Scar) {
        self.any = true;
        self.pages.insert(ppn, scar);
    }

    pub(crate) fn add_half_erased(&mut self, block: BlockAddr) {
        self.any = true;
        self.half_erased.insert(block);
    }

    /// Senses a page; false: it cannot be read.
    #[cold]
    pub(crate) fn is_readable(&mut self, ppn: Ppn) -> bool {
        match self.pages.get_mut(&ppn) {
            None => true,
            Some(Scar::Weak { reads }) if *reads > 0 => {
                *reads -= 1;
                true
            }
            Some(_) => false,
        }
    }

    /// An erase ended.
    #[cold]
    pub(crate) fn heal(&mut self, block: BlockAddr, first: Ppn, pages: u32) {
        self.half_erased.remove(&block);
        self.pages.retain(|ppn, _| !(first.0..first.0 + pages).contains(&ppn.0));
        self.any = !self.pages.is_empty() || !self.half_erased.is_empty();
    }
}
