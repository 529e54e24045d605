//! View of flash that the scan of a mount has: one look at each page.

use device::contents::HostPayload;
use nand::{Latencies, PageScan, Scan};
use std::ops::Range;
use vocab::{BlockAddr, Bytes, Grid, Nanos, Ppn};

use crate::core::checkpoint::{Checkpoint, Summary, beside};
use crate::power::mount::Mounted;
use crate::write::found::{PagesSeen, ScanSeen};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scanned {
    Erased,
    Unreadable,
    Valid,
    /// Not needed: readable, and its erase was asked for; or reserved.
    Void,
}

/// Knowledge of a mount about each page of the drive.
#[derive(Clone, Debug)]
pub(crate) struct ScannedPages {
    of: Vec<Scanned>,
    pages_per_block: u32,
    /// Whether the summary of a block was believed.
    believed: Vec<bool>,
    /// The highest rank that any page has.
    pub newest: u64,
    /// The page of that rank.
    newest_page: Option<Ppn>,
    /// Pages looked at, of each die.
    looked: Vec<u64>,
}

impl ScannedPages {
    /// Looks at one page of each block, and at all pages of those without a summary that fits.
    pub fn new<P: HostPayload>(array: &impl Scan<P>, checkpoint: Option<&Checkpoint>) -> Self {
        let grid = array.grid();
        let pages = grid.geometry().pages();
        let mut scanned = Self {
            of: Vec::with_capacity(pages as usize),
            pages_per_block: grid.pages_per_block(),
            believed: Vec::with_capacity(grid.geometry().blocks() as usize),
            newest: 0,
            newest_page: None,
            looked: vec![0; grid.dies() as usize],
        };
        for block in (0..grid.geometry().blocks()).map(BlockAddr) {
            let summary = checkpoint.map_or(Summary::None, |checkpoint| checkpoint.of(block));
            let first = array.scan_page(grid.ppn(block, 0));
            let believed = matches!((summary, &first), (Summary::Whole(pe), PageScan::Valid(page)) if page.pe == pe);
            let erased = (summary, &first) == (Summary::Erased, &PageScan::Erased);
            let looked = if believed || erased { 1 } else { scanned.pages_per_block };
            scanned.looked[grid.split_block(block).0.index()] += u64::from(looked);
            scanned.believed.push(believed);
            if erased {
                scanned.of.extend((0..scanned.pages_per_block).map(|_| Scanned::Erased));
                continue;
            }
            for page in 0..scanned.pages_per_block {
                scanned.look::<P>(array, grid.ppn(block, page), believed);
            }
        }
        scanned
    }

    /// Looks at a page, or believes a summary that has it.
    fn look<P: HostPayload>(&mut self, array: &impl Scan<P>, ppn: Ppn, believed: bool) {
        let sequence = match array.scan_page(ppn) {
            _ if believed => array.page(ppn).oob.sequence,
            PageScan::Erased => return self.of.push(Scanned::Erased),
            PageScan::Unreadable => return self.of.push(Scanned::Unreadable),
            PageScan::Valid(page) => page.oob.sequence,
        };
        if sequence >= self.newest {
            self.newest_page = Some(ppn);
        }
        let updates = (0..array.grid().slots_per_page()).map(|index| array.update(ppn, index)).max().unwrap_or(0);
        self.newest = self.newest.max(sequence).max(updates);
        self.of.push(Scanned::Valid);
    }

    fn of_block(&self, block: BlockAddr) -> &[Scanned] {
        &self.of[self.pages_of(block)]
    }

    fn pages_of(&self, block: BlockAddr) -> Range<usize> {
        let pages = self.pages_per_block as usize;
        block.index() * pages..(block.index() + 1) * pages
    }

    /// The erase of a block was asked for: nothing in it counts.
    pub fn set_aside(&mut self, block: BlockAddr) {
        let pages = self.pages_of(block);
        self.of[pages].iter_mut().filter(|look| **look == Scanned::Valid).for_each(|look| *look = Scanned::Void);
    }

    /// The block belongs to no log: its pages are no business of the map.
    pub fn leave_out(&mut self, block: BlockAddr) {
        let pages = self.pages_of(block);
        self.of[pages].fill(Scanned::Void);
    }

    fn pages(&self) -> impl Iterator<Item = Ppn> + use<> {
        (0..self.of.len() as u32).map(Ppn)
    }

    pub fn is_erased_block(&self, block: BlockAddr) -> bool {
        self.of_block(block).iter().all(|&look| look == Scanned::Erased)
    }

    /// Looks at a page that a summary vouched for.
    pub fn look_again<P: HostPayload>(&mut self, array: &impl Scan<P>, ppn: Ppn) {
        self.looked[array.grid().die_of(ppn).index()] += 1;
        if !matches!(array.scan_page(ppn), PageScan::Valid(_)) {
            self.tear(ppn);
        }
    }

    /// A page turned out to be unreadable after all.
    pub fn tear(&mut self, ppn: Ppn) {
        self.of[ppn.0 as usize] = Scanned::Unreadable;
    }

    /// The readable pages of a block.
    pub fn valid_in(&self, block: BlockAddr, grid: &Grid) -> impl DoubleEndedIterator<Item = Ppn> {
        let first = grid.ppn(block, 0).0;
        (first..first + self.pages_per_block).map(Ppn).filter(|&ppn| self.is_valid(ppn))
    }

    /// Of each die the readable page that was programmed last.
    pub fn last_of_dies<P: HostPayload>(&self, array: &impl Scan<P>) -> Vec<Ppn> {
        let grid = array.grid();
        let mut last: Vec<Option<(u64, Ppn)>> = vec![None; grid.dies() as usize];
        // Sequences ascend within a block.
        let of_blocks = (0..grid.geometry().blocks()).filter_map(|block| self.valid_in(BlockAddr(block), grid).next_back());
        for ppn in of_blocks {
            let of_die = &mut last[grid.die_of(ppn).index()];
            let rank = (array.page(ppn).oob.sequence, ppn);
            *of_die = Some(of_die.map_or(rank, |before| before.max(rank)));
        }
        last.into_iter().flatten().map(|(_, ppn)| ppn).collect()
    }

    /// Most P/E cycles that any block had when the newest page was programmed.
    pub fn most_worn<P: HostPayload>(&self, array: &impl Scan<P>) -> u32 {
        match self.newest_page.map(|ppn| array.scan_page(ppn)) {
            Some(PageScan::Valid(page)) => page.pe_max,
            _ => 0,
        }
    }

    /// Whether some block was written and no page of it answers.
    pub fn has_lost_block(&self, grid: &Grid) -> bool {
        let pages = self.of.chunks_exact(grid.pages_per_block() as usize);
        pages.into_iter().any(|block| block.len() > 1 && block.iter().all(|&look| look == Scanned::Unreadable))
    }

    /// Whether a page is unreadable that no cut can have torn: it is not the last one of its block, or
    /// others of the block are unreadable, too.
    fn is_lost(&self, ppn: Ppn) -> bool {
        let first = ppn.0 / self.pages_per_block * self.pages_per_block;
        let mut others = (first..first + self.pages_per_block).filter(|&other| other != ppn.0);
        let betrays = |other: u32| match self.of[other as usize] {
            Scanned::Erased => false,
            Scanned::Unreadable => true,
            Scanned::Valid | Scanned::Void => other > ppn.0,
        };
        self.of[ppn.0 as usize] == Scanned::Unreadable && others.any(betrays)
    }

    /// Time to look, dies side by side, channels shared.
    pub fn time(&self, latencies: &Latencies, grid: &Grid) -> Nanos {
        let pages = u128::from(grid.pages_per_block());
        let of_page = |page| u128::from((latencies.command + latencies.read(page)).0);
        let block: u128 = (0..grid.pages_per_block()).map(of_page).sum();
        // The product alone may pass 2^64: looks are as many as pages of a die.
        let die = self.looked.iter().max().map_or(0, |&scanned| u128::from(scanned) * block / pages);
        let die = Nanos(u64::try_from(die).expect("a die is looked through in less than 584 years"));
        // Out-of-band bytes alone are transferred: a sixteenth of a page at most.
        let transfer = Nanos(latencies.transfer(grid.slots_per_page()).0 / 16);
        let dies_per_channel = (grid.dies() / grid.geometry().channels.max(1)).max(1) as usize;
        let of_channels = self.looked.chunks(dies_per_channel).map(|dies| dies.iter().sum::<u64>());
        let channel = (latencies.command + transfer) * of_channels.max().unwrap_or(0);
        die.max(channel)
    }

    pub fn counts(&self, grid: &Grid) -> Mounted {
        let count = |look| self.of.iter().filter(|&&of| of == look).count() as u64;
        let scanned: u64 = self.looked.iter().sum();
        let (valid, unreadable) = (count(Scanned::Valid), count(Scanned::Unreadable));
        Mounted { looks: scanned, valid, unreadable, bytes: Bytes(scanned * beside(grid)), ..Mounted::default() }
    }
}

impl PagesSeen for ScannedPages {
    fn is_valid(&self, ppn: Ppn) -> bool {
        self.of[ppn.0 as usize] == Scanned::Valid
    }

    fn is_erased(&self, ppn: Ppn) -> bool {
        self.of[ppn.0 as usize] == Scanned::Erased
    }

    fn is_whole(&self, block: BlockAddr) -> bool {
        self.of_block(block).iter().all(|&look| look == Scanned::Valid)
    }

    fn is_believed(&self, ppn: Ppn) -> bool {
        let page = ppn.0 % self.pages_per_block;
        page > 0 && self.believed[(ppn.0 / self.pages_per_block) as usize]
    }
}

impl ScanSeen for ScannedPages {
    fn valid(&self) -> Vec<Ppn> {
        self.pages().filter(|&ppn| self.is_valid(ppn)).collect()
    }

    fn lost(&self) -> Vec<Ppn> {
        self.pages().filter(|&ppn| self.is_lost(ppn)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing::geometry;
    use crate::write::found::PagesSeen;
    use device::contents::{HostPayload, Tag};
    use nand::FlashArray;
    use nand::{MemoryArray, Oob, OobTag, Program, Timing};
    use vocab::{BusRate, Geometry, Lpn, SimTime};

    /// Flash with two logical pages to a page, of which page 0 of block 0 has these updates and this rank.
    fn one_page(updates: [u64; 2], sequence: u64) -> MemoryArray<Tag> {
        let mut array = MemoryArray::new(Geometry { page_size: Bytes(8192), ..geometry() }, true).keeping_updates();
        let tags = [Lpn(0), Lpn(1)].map(OobTag::data);
        let payload = [Lpn(0), Lpn(1)].map(|lpn| Tag::stamp(lpn, 1, 8));
        let (oob, now) = (Oob { sequence, ..Oob::default() }, SimTime::ZERO);
        let updates = Some(&updates[..]);
        let program = Program { ppn: Ppn(0), tags: &tags, payload: &payload, updates, members: &[], oob, now };
        assert!(array.program_page(&program).is_done());
        array
    }

    /// Ranks are never used twice. Catches a mount that goes on from any rank but the highest that a page has: its own, or
    /// that of either of its slots, which moved pages keep.
    #[test]
    fn the_highest_rank_of_any_slot_or_page_is_the_newest() {
        for (updates, sequence, newest) in [([5, 9], 7, 9), ([9, 5], 7, 9), ([5, 6], 7, 7)] {
            let scanned = ScannedPages::new::<Tag>(&one_page(updates, sequence), None);
            assert_eq!((scanned.newest, scanned.valid().len()), (newest, 1), "{updates:?}, {sequence}");
        }
    }

    /// A block that was being erased and looks erased needs no second erase. Catches a mount that takes none for erased, or
    /// one with a page in it.
    #[test]
    fn a_block_is_erased_if_every_page_of_it_looks_so() {
        let array = one_page([1, 1], 1);
        let scanned = ScannedPages::new::<Tag>(&array, None);
        let blocks = (0..array.grid().geometry().blocks()).map(BlockAddr);
        let used: Vec<BlockAddr> = blocks.filter(|&block| !scanned.is_erased_block(block)).collect();
        assert_eq!(used, [BlockAddr(0)], "one page was programmed");
    }

    /// Catches a time that leaves out the busiest die, or the busiest channel.
    #[test]
    fn the_time_of_a_scan_is_that_of_the_busiest_die_or_channel() {
        let geometry = Geometry { channels: 2, dies_per_channel: 3, ..geometry() };
        let (grid, read) = (Grid::new(geometry), Nanos(40_000));
        let time = |read: Nanos, looked: [u64; 6]| {
            let page = vec![nand::PageKind { name: "slc".into(), read, program: Nanos(500_000) }];
            let transfer = nand::Transfer::DataMtPerS(BusRate(400));
            let timing = Timing { command: Nanos(300), erase: Nanos(1), transfer, page, ..Timing::default() };
            let array = MemoryArray::<Tag>::new(geometry, true);
            let scanned = ScannedPages { looked: looked.to_vec(), ..ScannedPages::new::<Tag>(&array, None) };
            scanned.time(&Latencies::new(&timing, &geometry), &grid)
        };
        // 4096 bytes at 400 MT/s take 10 240 ns; a sixteenth of that is 640 ns, beside a command of 300 ns.
        assert_eq!(time(read, [1, 2, 7, 3, 0, 4]), Nanos(7 * (300 + read.0)));
        assert_eq!(time(Nanos(0), [20, 20, 20, 19, 19, 19]), Nanos(60 * (300 + 640)));
        assert_eq!(time(Nanos(0), [1, 1, 1, 20, 20, 20]), Nanos(60 * (300 + 640)));
    }

    /// Pages 0 and 1 of block 0 are programmed, and 1 is torn. Catches a page that counts though a second look finds it torn, one
    /// that does not though it is sound, and pages that look erased to those who choose.
    #[test]
    fn a_second_look_finds_what_a_summary_hid() {
        let mut array = one_page([1, 1], 1);
        let (tags, payload) = ([OobTag::FILLER; 2], [Tag::default(); 2]);
        let (oob, now) = (Oob { sequence: 2, ..Oob::default() }, SimTime::ZERO);
        let program = Program { ppn: Ppn(1), tags: &tags, payload: &payload, updates: Some(&[2, 2]), members: &[], oob, now };
        let mut whole = array.clone();
        assert!(whole.program_page(&program).is_done());
        let mut scanned = ScannedPages::new::<Tag>(&whole, None);
        let torn = nand::InFlight::Program(program, nand::ProgramFate::Torn(nand::Partners::Spared));
        array.cut_power(nand::Pairing::default(), &[torn]);
        for (page, stays) in [(0, true), (1, false)] {
            assert!(scanned.is_valid(Ppn(page)), "before");
            scanned.look_again::<Tag>(&array, Ppn(page));
            assert_eq!(scanned.is_valid(Ppn(page)), stays, "page {page}");
        }
        let seen: &dyn PagesSeen = &scanned;
        assert_eq!([0, 1, 2].map(|page| (seen.is_valid(Ppn(page)), seen.is_erased(Ppn(page)))), {
            [(true, false), (false, false), (false, true)]
        });
    }

    /// Catches a page that a cut tore and that counts as a lost block where blocks have one page.
    #[test]
    fn a_block_of_one_page_is_never_known_to_be_lost() {
        for (pages_per_block, lost) in [(1, false), (2, true)] {
            let geometry = Geometry { pages_per_block, ..geometry() };
            let array = MemoryArray::<Tag>::new(geometry, true);
            let mut scanned = ScannedPages::new::<Tag>(&array, None);
            (0..pages_per_block).for_each(|page| scanned.tear(Ppn(page)));
            assert_eq!(scanned.has_lost_block(array.grid()), lost, "{pages_per_block} pages");
        }
    }
}
