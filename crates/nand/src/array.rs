//! Flash in memory, and the rules of NAND.

mod ages;
mod contents;
#[cfg(unix)]
pub(crate) mod restore;
#[cfg(test)]
pub(crate) mod tests;

use crate::scar::Scars;
use crate::{Member, Oob, OobTag};
use contents::{BlockContents, Coverages, EccOob, RecoveryOob, Sequences, Stored};
use std::collections::BTreeMap;
use vocab::{BlockAddr, Capability, DieId, Geometry, Grid, Ppn, SimTime, StripSet};

/// Payload of a slot. Flash stores it and never looks inside.
pub trait Payload: Clone + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {}

/// A program of a page.
#[derive(Debug)]
pub struct Program<'a, P> {
    /// Page to be programmed.
    pub ppn: Ppn,
    /// A tag for each slot.
    pub tags: &'a [OobTag],
    /// A payload for each slot.
    pub payload: &'a [P],
    /// An `update` for each slot (`docs/spec/oob.md`): the sequence of the write that gave the slot
    /// its contents, which moved pages keep. `None`: all slots are written again.
    pub updates: Option<&'a [u64]>,
    /// Names in the page: the members of its codeword, or the contents that its stripe is made of.
    pub members: &'a [Member],
    /// Facts about the page.
    pub oob: Oob,
    /// When it is programmed.
    pub now: SimTime,
}

impl<P> Clone for Program<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Program<'_, P> {}

/// Outcome of a page read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadOutcome {
    /// The page holds what was programmed.
    Clean,
    /// The page answers with nothing usable.
    Uncorrectable,
}

impl ReadOutcome {
    /// Whether the page holds what was programmed.
    #[inline]
    #[must_use]
    pub fn is_clean(self) -> bool {
        self == Self::Clean
    }
}

/// Page that came over the bus, by the out-of-band bytes with right checksums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Arrived {
    /// The page that was asked for.
    #[default]
    AsAsked,
    /// Another page.
    Other(Ppn),
    /// An erased page.
    Erased,
}

/// Outcome of a program or an erase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramOutcome {
    /// Done.
    Done,
    /// The die did not take it.
    Failed,
}

impl ProgramOutcome {
    /// Whether the die did it.
    #[inline]
    #[must_use]
    pub fn is_done(self) -> bool {
        self == Self::Done
    }
}

/// State of one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockInfo {
    /// Pages programmed since the erase; also the only page that may be programmed next.
    pub next_page: u32,
    /// Program/erase cycles.
    pub pe: u32,
    /// Reads since the erase.
    pub reads: u32,
    /// Times its pages were recharged in place since the erase, the most of any page.
    pub recharges: u32,
    /// Bad blocks are never used.
    pub bad: bool,
    /// Whether its cells store one bit each (SLC mode, decision 14): as many erases then wear it like one in its usual mode;
    /// 0: its usual mode. Until the next erase.
    pub slc: u8,
    /// Erases in SLC mode since [`Self::pe`] last rose.
    pub slc_cycles: u8,
    /// When the first page was programmed (DA-RAID-5 keeps this as the block's time stamp).
    pub first_program: SimTime,
}

/// Most erases in SLC mode that count as one: as many as the bytes beside a page can count.
pub const MOST_CYCLES_A_CYCLE: u8 = 127;

impl BlockInfo {
    /// Whether its cells store one bit each.
    #[inline]
    #[must_use]
    pub fn is_slc(&self) -> bool {
        self.slc > 0
    }

    /// An erase ends SLC mode.
    fn wear_as_slc(&mut self) {
        self.slc_cycles += 1;
        if self.slc_cycles >= self.slc {
            (self.pe, self.slc_cycles) = (self.pe + 1, 0);
        }
        self.slc = 0;
    }
}

/// One stored page.
#[derive(Clone, Copy, Debug)]
pub struct PageView<'a> {
    /// A tag for each slot.
    pub tags: &'a [OobTag],
    /// Facts about the page.
    pub oob: Oob,
    /// When it was programmed, to the second below; where the array does not keep that, when the
    /// first page of its block was.
    pub written: SimTime,
}

/// The seam to the medium (decision D2). Implementations assert the rules of NAND:
///
/// * a page is programmed once between two erases of its block;
/// * the pages of a block are programmed in ascending order;
/// * a bad block is neither programmed nor erased;
/// * only programmed pages are read.
///
/// Breaking a rule is a defect of the caller and panics; a fault of the flash is an outcome.
pub trait FlashArray<P: Payload>: Clone + Send {
    /// The shape of the array.
    fn grid(&self) -> &Grid;
    /// State of a block.
    fn block(&self, block: BlockAddr) -> &BlockInfo;
    /// Senses a page and counts the read; what it holds is then seen through [`Self::page`].
    fn read(&mut self, ppn: Ppn) -> ReadOutcome;
    /// Page that the last read with [`ReadOutcome::Clean`] returned. Arrays without such faults always return the
    /// requested page.
    #[inline]
    fn arrived(&self) -> Arrived {
        Arrived::AsAsked
    }
    /// Starts to bring the payload of a page into the processor's cache, and what of page ECC is kept of its block. Changes nothing
    /// but speed; any page is fine.
    #[inline]
    fn prefetch(&self, _ppn: Ppn) {}
    /// As [`Self::prefetch`], for what is known of the page's block: where its contents are.
    #[inline]
    fn prefetch_block(&self, _ppn: Ppn) {}
    /// As [`Self::prefetch`], for what page ECC asks of a page that was read.
    #[inline]
    fn prefetch_oob(&self, _ppn: Ppn) {}
    /// The OOB bytes of a page as they were programmed; the page is not sensed. Slots beyond the given ones were fillers.
    fn page(&self, ppn: Ppn) -> PageView<'_>;
    /// As [`Self::page`]: the tags alone.
    #[inline]
    fn tags(&self, ppn: Ppn) -> &[OobTag] {
        self.page(ppn).tags
    }
    /// A payload for each slot, as programmed.
    fn payload(&self, ppn: Ppn) -> &[P];
    /// Programs a page. Arrays that keep no updates ignore them, and what the page names.
    fn program_page(&mut self, program: &Program<'_, P>) -> ProgramOutcome;
    /// Takes a page that does not end its program unit into the memory where the unit is gathered. No cell is programmed yet, and so
    /// no status can fail: that of the page which ends the unit is of all of them.
    fn gather_page(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        self.program_page(program)
    }
    /// Programs a page all of whose slots are written again and that names no other page.
    fn program(&mut self, ppn: Ppn, tags: &[OobTag], payload: &[P], oob: Oob, now: SimTime) -> ProgramOutcome {
        self.program_page(&Program { ppn, tags, payload, updates: None, members: &[], oob, now })
    }
    /// The `update` of slot `index` of a programmed page; the page's sequence where the array
    /// keeps no updates.
    fn update(&self, ppn: Ppn, _index: u32) -> u64 {
        self.page(ppn).oob.sequence
    }
    /// Tag, payload and update of slot `index` of a programmed page.
    #[inline]
    fn slot(&self, ppn: Ppn, index: u32) -> (OobTag, &P, u64) {
        (self.tags(ppn)[index as usize], &self.payload(ppn)[index as usize], self.update(ppn, index))
    }
    /// Members that a programmed page names; empty where the array knows none.
    fn members(&self, _ppn: Ppn) -> &[Member] {
        &[]
    }
    /// Recharges the cells of a programmed page to what they held (refresh in place): its
    /// contents stay, its retention starts again.
    fn recharge(&mut self, ppn: Ppn, now: SimTime) -> ProgramOutcome;
    /// Erases a block.
    fn erase(&mut self, block: BlockAddr) -> ProgramOutcome;
    /// Whether the die of this page answers at all.
    fn answers(&self, ppn: Ppn) -> bool;
    /// True only if [`Self::answers`] is true of every page: then no one need ask for each.
    #[inline]
    fn answers_everywhere(&self) -> bool {
        false
    }
    /// A new die takes the place of this one: it answers, is erased, and neither cycles nor faults of the old one are left.
    fn replace_die(&mut self, die: DieId) {
        let grid = self.grid().clone();
        for block in (0..grid.blocks_per_die()).map(|number| grid.block(die, number)) {
            self.set_age(block, |info| info.bad = false);
            self.erase(block);
            self.set_age(block, |info| *info = BlockInfo::default());
        }
    }
    /// An erased block is to be programmed in SLC mode, until it is erased: this many erases wear it as one in its usual mode does.
    fn use_as_slc(&mut self, block: BlockAddr, cycles_a_cycle: u8);
    /// Sets the age of a block (decision D12): cycles are added, the rest replaced.
    fn set_age(&mut self, block: BlockAddr, age: impl FnOnce(&mut BlockInfo));
    /// All pages of the block count as encoded with this capability; part of its age.
    fn set_ecc(&mut self, block: BlockAddr, ecc: Capability);
}

/// Counts of its block and of the drive in the OOB of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct History {
    pub pe: u32,
    pub slc_cycles: u8,
    pub pe_max: u32,
    pub first_program: SimTime,
}

pub(crate) const NANOS_PER_S: u64 = 1_000_000_000;

/// Time as pages keep it: 136 years of it.
pub(crate) fn whole_seconds(time: SimTime) -> u32 {
    u32::try_from(time.0 / NANOS_PER_S).unwrap_or(u32::MAX)
}

/// Flash in memory. A clone is cheap: forks share the cells of every block until one of them
/// changes it.
#[derive(Clone, Debug)]
pub struct MemoryArray<P> {
    grid: Grid,
    slots_per_page: usize,
    blocks: Vec<BlockInfo>,
    contents: Vec<Option<Stored<P>>>,
    /// Words of 32 bits in which the coverage of a page is kept.
    coverage_words: usize,
    keeps_payload: bool,
    /// Payload of each slot of a page where no payload is kept.
    no_payload: Box<[P]>,
    keeps_ecc: bool,
    keeps_updates: bool,
    /// Most P/E cycles of any block.
    pe_max: u32,
    /// Damage by power cuts.
    pub(crate) scars: Scars,
}

impl<P: Payload> MemoryArray<P> {
    /// An array fresh from the factory. `keeps_coverage` is set for schemes with redundancy;
    /// others save its four bytes a page (and as many for each 32 dies more).
    #[must_use]
    pub fn new(geometry: Geometry, keeps_coverage: bool) -> Self {
        let blocks = geometry.blocks() as usize;
        Self {
            grid: Grid::new(geometry),
            slots_per_page: geometry.slots_per_page() as usize,
            blocks: vec![BlockInfo::default(); blocks],
            contents: (0..blocks).map(|_| None).collect(),
            coverage_words: if keeps_coverage { geometry.dies().div_ceil(32) as usize } else { 0 },
            keeps_payload: true,
            no_payload: vec![P::default(); geometry.slots_per_page() as usize].into(),
            keeps_ecc: false,
            keeps_updates: false,
            pe_max: 0,
            scars: Scars::default(),
        }
    }

    /// The array also keeps each page's ECC capability and time of program: five bytes a page.
    #[must_use]
    pub fn keeping_ecc(mut self) -> Self {
        self.keeps_ecc = true;
        self
    }

    /// The array also keeps what only recovery reads: the update of each slot, eight bytes, and
    /// the most P/E cycles of the drive, four bytes a page.
    #[must_use]
    pub fn keeping_updates(mut self) -> Self {
        self.keeps_updates = true;
        self
    }

    /// The array does not keep what pages carry: it gives the default of each slot.
    #[must_use]
    pub fn without_payload(mut self) -> Self {
        self.keeps_payload = false;
        self
    }

    /// More channels, fresh from the factory: blocks keep their numbers, new ones follow.
    ///
    /// # Panics
    /// If there are to be fewer channels than before.
    pub fn grow(&mut self, channels: u32) {
        self.grid = self.grid.grown(channels);
        let blocks = self.grid.geometry().blocks() as usize;
        self.blocks.resize(blocks, BlockInfo::default());
        self.contents.resize(blocks, None);
        let words = self.grid.dies().div_ceil(32) as usize;
        if self.coverage_words > 0 && words > self.coverage_words {
            self.coverage_words = words;
            self.contents.iter_mut().flatten().for_each(|stored| stored.change().coverage.widen(words));
        }
    }

    fn erased_contents(&self) -> BlockContents<P> {
        let pages = self.grid.pages_per_block() as usize;
        let slots = pages * self.slots_per_page;
        let recovery = || RecoveryOob { update: vec![0; slots].into(), pe_max: vec![0; pages].into(), members: BTreeMap::new() };
        BlockContents {
            tags: vec![OobTag::FILLER; slots].into(),
            payload: vec![P::default(); if self.keeps_payload { slots } else { 0 }].into(),
            sequence: Sequences::new(pages),
            coverage: Coverages::new(pages, self.coverage_words),
            ecc: self.keeps_ecc.then(|| Box::new(EccOob::new(pages))),
            pe: 0,
            slc: 0,
            slc_cycles: 0,
            first_program_s: 0,
            recovery: self.keeps_updates.then(|| Box::new(recovery())),
        }
    }

    /// Contents of a block that was programmed at some time.
    #[inline]
    fn contents(&self, block: BlockAddr) -> &BlockContents<P> {
        self.contents[block.index()].as_ref().expect("a programmed block has contents").get()
    }

    /// Contents of the block of a programmed page, and the page's number within it.
    #[inline(always)]
    fn programmed(&self, ppn: Ppn) -> (&BlockContents<P>, usize) {
        let (block, page) = self.grid.split(ppn);
        assert!(page < self.blocks[block.index()].next_page, "{ppn} looked at before it was programmed");
        (self.contents(block), page as usize)
    }

    /// The slots of a page within its block.
    #[inline]
    fn slots_of(&self, page: usize) -> std::ops::Range<usize> {
        page * self.slots_per_page..(page + 1) * self.slots_per_page
    }

    fn change_contents(&mut self, block: BlockAddr) -> &mut BlockContents<P> {
        self.contents[block.index()].as_mut().expect("a programmed block has contents").change()
    }

    /// Asserts the rules of NAND for a program of this page. Its block, and its number within that.
    #[inline]
    pub(crate) fn assert_programmable(&self, ppn: Ppn) -> (BlockAddr, u32) {
        let (block, page) = self.grid.split(ppn);
        let info = &self.blocks[block.index()];
        assert!(!info.bad, "{ppn} programmed on a bad block");
        assert!(page == info.next_page, "{ppn} programmed out of order: page {page}, next is {}", info.next_page);
        if !self.scars.is_empty() {
            self.scars.assert_programmable(block, ppn);
        }
        (block, page)
    }

    /// The one way into the cells. Without updates all slots are written again.
    #[inline]
    pub(crate) fn store(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        let &Program { ppn, tags, payload, oob, now, .. } = program;
        let (block, page) = self.assert_programmable(ppn);
        let info = &mut self.blocks[block.index()];
        info.next_page += 1;
        if page == 0 {
            info.first_program = now;
        }
        let (pe, slc, slc_cycles) = (info.pe, info.slc, info.slc_cycles);
        if self.contents[block.index()].is_none() {
            self.make_contents(block);
        }
        let contents = self.contents[block.index()].as_mut().expect("made above").open();
        let page = page as usize;
        if page == 0 {
            contents.sequence.start(oob.sequence);
            (contents.pe, contents.first_program_s) = (pe, whole_seconds(now));
            (contents.slc, contents.slc_cycles) = (slc, slc_cycles);
        }
        let slots = page * self.slots_per_page..(page + 1) * self.slots_per_page;
        match (tags, payload) {
            // The usual case without a call that copies any length.
            (&[tag], [payload]) if self.slots_per_page == 1 => {
                contents.tags[page] = tag;
                if let Some(kept) = contents.payload.get_mut(page) {
                    kept.clone_from(payload);
                }
            }
            _ => {
                contents.tags[slots.clone()].copy_from_slice(tags);
                if let Some(kept) = contents.payload.get_mut(slots.clone()) {
                    kept.clone_from_slice(payload);
                }
            }
        }
        let ascends = contents.sequence.set(page, oob.sequence);
        assert!(ascends, "sequences within a block ascend and span less than 2^32");
        contents.coverage.set(page, oob.coverage);
        if let Some(ecc) = &mut contents.ecc {
            (ecc.capability[page], ecc.written_s[page]) = (oob.ecc, whole_seconds(now));
        }
        if let Some(recovery) = &mut contents.recovery {
            recovery.store(page, slots, program, self.pe_max);
        }
        if page + 1 == self.grid.pages_per_block() as usize {
            self.close(block);
        }
        ProgramOutcome::Done
    }

    /// Room for what the block will hold, which was never programmed.
    #[cold]
    fn make_contents(&mut self, block: BlockAddr) {
        self.contents[block.index()] = Some(Stored::Open(Box::new(self.erased_contents())));
    }

    /// The last page of the block was programmed.
    #[cold]
    fn close(&mut self, block: BlockAddr) {
        self.contents[block.index()] = self.contents[block.index()].take().map(Stored::close);
    }

    /// Counts of its block and of the drive in the OOB of a programmed page. Where the array keeps no updates it knows
    /// no highest count but that of the block.
    pub(crate) fn history(&self, ppn: Ppn) -> History {
        let (block, page) = self.grid.split(ppn);
        let contents = self.contents(block);
        History {
            pe: contents.pe,
            slc_cycles: contents.slc_cycles,
            pe_max: contents.recovery.as_ref().map_or(contents.pe, |recovery| recovery.pe_max[page as usize]),
            first_program: SimTime(u64::from(contents.first_program_s) * NANOS_PER_S),
        }
    }

    /// The page holds nothing any more that could be read; it stays occupied.
    pub(crate) fn wipe(&mut self, ppn: Ppn) {
        let (block, page) = self.grid.split(ppn);
        let page = page as usize;
        let slots = self.slots_of(page);
        let contents = self.change_contents(block);
        contents.tags[slots.clone()].fill(OobTag::FILLER);
        contents.payload.get_mut(slots.clone()).into_iter().for_each(|payload| payload.fill(P::default()));
        contents.sequence.clear(page);
        contents.coverage.set(page, StripSet::EMPTY);
        if let Some(recovery) = &mut contents.recovery {
            recovery.update[slots].fill(0);
            recovery.members.remove(&(page as u32));
        }
    }

    /// An interrupted erase left this page as the next one.
    pub(crate) fn cut_back(&mut self, block: BlockAddr, next_page: u32) {
        self.blocks[block.index()].next_page = next_page;
    }

    /// Forgets what no page and no mark says.
    pub(crate) fn forget_infos(&mut self) {
        for (info, contents) in self.blocks.iter_mut().zip(&mut self.contents) {
            // A sense of the first page in either mode tells which one it is.
            let slc = if info.next_page > 0 { contents.as_ref().map_or(0, |contents| contents.get().slc) } else { 0 };
            let BlockInfo { next_page, bad, reads, recharges, .. } = *info;
            *info = BlockInfo { next_page, bad, slc, reads, recharges, ..BlockInfo::default() };
            if let Some(contents) = contents.as_mut().filter(|_| self.keeps_ecc) {
                let contents = contents.change();
                contents.ecc.iter_mut().for_each(|ecc| ecc.written_s.fill(contents.first_program_s));
            }
        }
        self.pe_max = 0;
    }
}

impl<P: Payload> FlashArray<P> for MemoryArray<P> {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    #[inline]
    fn block(&self, block: BlockAddr) -> &BlockInfo {
        &self.blocks[block.index()]
    }

    #[inline]
    fn read(&mut self, ppn: Ppn) -> ReadOutcome {
        let (block, page) = self.grid.split(ppn);
        let info = &mut self.blocks[block.index()];
        assert!(page < info.next_page, "{ppn} read before it was programmed");
        info.reads += 1;
        if self.scars.is_empty() || self.scars.is_readable(ppn) { ReadOutcome::Clean } else { ReadOutcome::Uncorrectable }
    }

    #[inline]
    fn prefetch(&self, ppn: Ppn) {
        let (block, page) = self.grid.split(ppn);
        let Some(Some(stored)) = self.contents.get(block.index()) else { return };
        let contents = stored.get();
        contents.payload.get(page as usize * self.slots_per_page).into_iter().for_each(vocab::prefetch);
        contents.ecc.as_deref().into_iter().for_each(vocab::prefetch);
    }

    #[inline]
    fn prefetch_block(&self, ppn: Ppn) {
        let (block, _) = self.grid.split(ppn);
        self.blocks.get(block.index()).into_iter().for_each(vocab::prefetch);
        if let Some(Some(stored)) = self.contents.get(block.index()) {
            vocab::prefetch(&stored.get().payload);
            if self.keeps_ecc {
                // On another line of the cache.
                vocab::prefetch(&stored.get().ecc);
            }
        }
    }

    #[inline]
    fn prefetch_oob(&self, ppn: Ppn) {
        let (block, page) = self.grid.split(ppn);
        if let Some(Some(stored)) = self.contents.get(block.index()) {
            stored.get().prefetch_oob(page as usize);
        }
    }

    #[inline]
    fn page(&self, ppn: Ppn) -> PageView<'_> {
        let (contents, page) = self.programmed(ppn);
        let slots = self.slots_of(page);
        PageView {
            tags: &contents.tags[slots],
            oob: Oob {
                sequence: contents.sequence.get(page),
                coverage: contents.coverage.get(page),
                ecc: contents.ecc.as_ref().map_or(Capability(0), |ecc| ecc.capability[page]),
            },
            written: match &contents.ecc {
                Some(ecc) => SimTime(u64::from(ecc.written_s[page]) * NANOS_PER_S),
                None => self.blocks[self.grid.split(ppn).0.index()].first_program,
            },
        }
    }

    #[inline]
    fn tags(&self, ppn: Ppn) -> &[OobTag] {
        let (contents, page) = self.programmed(ppn);
        &contents.tags[self.slots_of(page)]
    }

    #[inline]
    fn payload(&self, ppn: Ppn) -> &[P] {
        let (contents, page) = self.programmed(ppn);
        contents.payload.get(self.slots_of(page)).unwrap_or(&self.no_payload)
    }

    #[inline]
    fn program_page(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        self.store(program)
    }

    fn update(&self, ppn: Ppn, index: u32) -> u64 {
        let (contents, page) = self.programmed(ppn);
        let slot = page * self.slots_per_page + index as usize;
        contents.update(page, slot)
    }

    #[inline]
    fn slot(&self, ppn: Ppn, index: u32) -> (OobTag, &P, u64) {
        let (contents, page) = self.programmed(ppn);
        let slot = page * self.slots_per_page + index as usize;
        let update = contents.update(page, slot);
        let payload = contents.payload.get(slot).unwrap_or_else(|| &self.no_payload[index as usize]);
        (contents.tags[slot], payload, update)
    }

    fn members(&self, ppn: Ppn) -> &[Member] {
        let (block, page) = self.grid.split(ppn);
        let recovery = self.contents[block.index()].as_ref().and_then(|contents| contents.get().recovery.as_ref());
        recovery.and_then(|recovery| recovery.members.get(&page)).map_or(&[], |members| members)
    }

    fn recharge(&mut self, ppn: Ppn, now: SimTime) -> ProgramOutcome {
        let (block, page) = self.grid.split(ppn);
        let info = &mut self.blocks[block.index()];
        assert!(!info.bad, "{ppn} recharged on a bad block");
        assert!(page < info.next_page, "{ppn} recharged before it was programmed");
        // Pages of a block are recharged together, the last of them last.
        info.recharges += u32::from(page + 1 == info.next_page);
        if self.keeps_ecc
            && let Some(ecc) = &mut self.change_contents(block).ecc
        {
            ecc.written_s[page as usize] = whole_seconds(now);
        }
        ProgramOutcome::Done
    }

    fn erase(&mut self, block: BlockAddr) -> ProgramOutcome {
        let info = &mut self.blocks[block.index()];
        assert!(!info.bad, "{block} is bad and must not be erased");
        info.next_page = 0;
        info.reads = 0;
        info.recharges = 0;
        if info.slc == 0 {
            info.pe += 1;
        } else {
            info.wear_as_slc();
        }
        self.pe_max = self.pe_max.max(info.pe);
        if !self.scars.is_empty() {
            self.scars.heal(block, self.grid.ppn(block, 0), self.grid.pages_per_block());
        }
        ProgramOutcome::Done
    }

    #[inline]
    fn answers(&self, _: Ppn) -> bool {
        true
    }

    #[inline]
    fn answers_everywhere(&self) -> bool {
        true
    }

    fn use_as_slc(&mut self, block: BlockAddr, cycles_a_cycle: u8) {
        let info = &mut self.blocks[block.index()];
        assert!(info.next_page == 0 && !info.bad, "{block} changes its mode while it holds pages, or is bad");
        assert!((1..=MOST_CYCLES_A_CYCLE).contains(&cycles_a_cycle), "1 to {MOST_CYCLES_A_CYCLE} fit beside a page");
        info.slc = cycles_a_cycle;
    }

    fn set_age(&mut self, block: BlockAddr, age: impl FnOnce(&mut BlockInfo)) {
        let info = &mut self.blocks[block.index()];
        let before = *info;
        age(info);
        assert!(info.next_page == before.next_page, "ageing a block must not change what it holds");
        self.pe_max = self.pe_max.max(info.pe);
        // The pages of an aged block say so.
        if let Some(contents) = &mut self.contents[block.index()]
            && (info.pe, info.slc_cycles, info.first_program) != (before.pe, before.slc_cycles, before.first_program)
        {
            let contents = contents.change();
            (contents.pe, contents.first_program_s) = (info.pe, whole_seconds(info.first_program));
            contents.slc_cycles = info.slc_cycles;
        }
    }

    fn set_ecc(&mut self, block: BlockAddr, ecc: Capability) {
        if let Some(contents) = &mut self.contents[block.index()] {
            contents.change().ecc.iter_mut().for_each(|kept| kept.capability.fill(ecc));
        }
    }
}
