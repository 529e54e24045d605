//! What a mount sees of flash: one look at each page.

use nand::{FlashArray, Latencies, PageScan, Scan};
use vocab::{BlockAddr, Grid, Nanos, Ppn};

use super::Mounted;
use crate::payload::HostPayload;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Erased,
    Unreadable,
    Valid,
}

/// One look at each page of the drive.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    of: Vec<Look>,
    pages_per_block: u32,
    /// The highest rank that any page has.
    pub newest: u64,
    /// The page of that rank.
    newest_page: Option<Ppn>,
}

impl Looks {
    pub fn new<P: HostPayload, A: Scan<P>>(array: &A) -> Self {
        let pages = array.grid().geometry().pages();
        let mut looks = Self {
            of: Vec::with_capacity(pages as usize),
            pages_per_block: array.grid().pages_per_block(),
            newest: 0,
            newest_page: None,
        };
        let slots = array.grid().slots_per_page();
        for ppn in (0..pages).map(Ppn) {
            looks.of.push(match array.scan_page(ppn) {
                PageScan::Erased => Look::Erased,
                PageScan::Unreadable => Look::Unreadable,
                PageScan::Valid(page) => {
                    if page.oob.sequence >= looks.newest {
                        looks.newest_page = Some(ppn);
                    }
                    let updates = (0..slots).map(|index| array.update(ppn, index)).max().unwrap_or(0);
                    looks.newest = looks.newest.max(page.oob.sequence).max(updates);
                    Look::Valid
                }
            });
        }
        looks
    }

    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.of[ppn.0 as usize] == Look::Valid
    }

    pub fn is_erased(&self, ppn: Ppn) -> bool {
        self.of[ppn.0 as usize] == Look::Erased
    }

    /// A page turned out to be unreadable after all.
    pub fn tear(&mut self, ppn: Ppn) {
        self.of[ppn.0 as usize] = Look::Unreadable;
    }

    /// All readable pages.
    pub fn valid(&self) -> impl Iterator<Item = Ppn> {
        (0..self.of.len() as u32).map(Ppn).filter(|&ppn| self.is_valid(ppn))
    }

    /// The readable pages of a block.
    pub fn valid_in(&self, block: BlockAddr, grid: &Grid) -> impl Iterator<Item = Ppn> {
        let first = grid.ppn(block, 0).0;
        (first..first + self.pages_per_block).map(Ppn).filter(|&ppn| self.is_valid(ppn))
    }

    /// Of each die the readable page that was programmed last.
    pub fn last_of_dies<P: HostPayload, A: FlashArray<P>>(&self, array: &A) -> Vec<Ppn> {
        let grid = array.grid();
        let mut last: Vec<Option<(u64, Ppn)>> = vec![None; grid.dies() as usize];
        for ppn in self.valid() {
            let of_die = &mut last[grid.die_of(ppn).index()];
            let rank = (array.page(ppn).oob.sequence, ppn);
            *of_die = Some(of_die.map_or(rank, |before| before.max(rank)));
        }
        last.into_iter().flatten().map(|(_, ppn)| ppn).collect()
    }

    /// Most P/E cycles that any block had when the newest page was programmed.
    pub fn most_worn<P: HostPayload, A: Scan<P>>(&self, array: &A) -> u32 {
        match self.newest_page.map(|ppn| array.scan_page(ppn)) {
            Some(PageScan::Valid(page)) => page.pe_max,
            _ => 0,
        }
    }

    /// Whether some block was written and no page of it answers.
    pub fn has_lost_block(&self, grid: &Grid) -> bool {
        let pages = self.of.chunks_exact(grid.pages_per_block() as usize);
        pages.into_iter().any(|block| block.len() > 1 && block.iter().all(|&look| look == Look::Unreadable))
    }

    /// Whether a page is unreadable that no cut can have torn: it is not the last one of its block, or
    /// others of the block are unreadable, too.
    pub fn is_lost(&self, ppn: Ppn) -> bool {
        let first = ppn.0 / self.pages_per_block * self.pages_per_block;
        let mut others = (first..first + self.pages_per_block).filter(|&other| other != ppn.0);
        let betrays = |other: u32| match self.of[other as usize] {
            Look::Erased => false,
            Look::Unreadable => true,
            Look::Valid => other > ppn.0,
        };
        self.of[ppn.0 as usize] == Look::Unreadable && others.any(betrays)
    }

    /// Pages that no cut can have torn, and that are unreadable.
    pub fn lost(&self) -> impl Iterator<Item = Ppn> {
        (0..self.of.len() as u32).map(Ppn).filter(|&ppn| self.is_lost(ppn))
    }

    /// Time to look at all pages: dies side by side, channels shared.
    pub fn time(&self, latencies: &Latencies, grid: &Grid) -> Nanos {
        let pages = u64::from(grid.pages_per_block());
        let block: u64 = (0..grid.pages_per_block()).map(|page| latencies.command.0 + latencies.read(page).0).sum();
        let die = block * u64::from(grid.blocks_per_die());
        // Out-of-band bytes alone are transferred: a sixteenth of a page at most.
        let dies = u64::from(grid.dies() / grid.geometry().channels.max(1));
        let transfer = latencies.transfer(grid.slots_per_page()).0 / 16;
        let channel = (latencies.command.0 + transfer) * pages * u64::from(grid.blocks_per_die()) * dies;
        Nanos(die.max(channel))
    }

    pub fn counts(&self) -> Mounted {
        let count = |look| self.of.iter().filter(|&&of| of == look).count() as u64;
        let looks = self.of.len() as u64;
        Mounted { looks, valid: count(Look::Valid), unreadable: count(Look::Unreadable), ..Mounted::default() }
    }
}
