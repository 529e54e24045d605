//! Faults of the medium, as a wrapper around any array.
//!
//! The fault model:
//!
//! * **A dead die** answers nothing from the moment it dies: every read of it is
//!   uncorrectable, programs and erases fail, and nothing it held comes back. The controller
//!   notices at once ([`FlashArray::answers`]). A spare die may be put in its place
//!   ([`FlashArray::replace_die`]): new, erased and without faults.
//! * **A lost block** (a grown bad block) keeps nothing: every read of it is uncorrectable from
//!   that moment on, and programs and erases of it fail, permanently. The controller notices when
//!   it reads, programs or erases it, not before.
//! * **A lost page** is uncorrectable at every read until its block is erased; after that the
//!   page is as good as any. The controller notices when it reads the page.
//! * **A lost word line** is all the pages that share cells lost at once (`pairing.rs`), as far as they are programmed.
//! * **A lost plane** is all the blocks of it lost at once. Planes take the blocks of a die in turn.
//! * **A worn-out block** takes no program any more, permanently: each that is tried fails and leaves its
//!   page unreadable. What it holds stays readable until an erase of it is tried: that fails and takes
//!   the rest. The controller notices when it programs or erases it.
//! * **A program unit** fails as a whole: pages that are gathered for it are in memory until its last page comes, and stay there
//!   if that fails.
//! * **The end of life** wears blocks out at random, on all dies alike: each program, recharge and erase
//!   finds its block worn out with a chance that rises by the same step from one to the next, up to
//!   one in ten.
//! * **An uncorrectable read** strikes one page read with a given probability, independently of
//!   address, wear and time. The page itself stays: the next read may succeed.
//!
//! Wrong data, while the medium reports success: see `silent.rs`.
//!
//! A failure takes effect between two commands: a program that completed before it is lost with the rest, one that
//! completes after it fails. A page that fails to program holds nothing, and the pages behind it in its block are not
//! programmed either.
//!
//! Draws come from a stream of their own and happen once for each page read that a permanent
//! loss did not strike, so that the same reads meet the same faults whatever the pages carry.

use crate::silent::Silent;
use crate::{Arrived, BlockInfo, EraseFate, FlashArray, InFlight, InMemory, Member, OobTag, PageScan, PageView};
use crate::{Pairing, Payload, Program, ProgramFate, ProgramOutcome, ReadOutcome, Scan};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Capability, DieId, Grid, Ppn, SimTime, Stream};

/// The end of life.
#[derive(Clone, Debug)]
struct Fatigue {
    step: f64,
    /// Chance that the last command found its block worn out.
    chance: f64,
    draws: Stream,
}

impl Fatigue {
    const AT_MOST: f64 = 0.1;

    fn strikes(&mut self) -> bool {
        self.chance = (self.chance + self.step).min(Self::AT_MOST);
        self.draws.chance(self.chance)
    }
}

/// An array with faults.
#[derive(Clone, Debug)]
pub struct Faulty<A> {
    inner: A,
    dead: Vec<bool>,
    lost_blocks: BTreeSet<BlockAddr>,
    lost_pages: BTreeSet<Ppn>,
    worn_out: BTreeSet<BlockAddr>,
    /// Pages of worn-out blocks whose program was tried.
    spoiled: BTreeSet<Ppn>,
    fatigue: Option<Fatigue>,
    silent: Option<Silent>,
    /// Whether anything is lost permanently, or may be: without faults one look decides.
    any: bool,
    uncorrectable: f64,
    draws: Stream,
}

/// Permanent failures, and silent faults: all that is kept of them when a drive is closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultsFound {
    /// Dies that do not answer.
    pub dies: Vec<DieId>,
    /// Blocks that keep nothing.
    pub blocks: BTreeSet<BlockAddr>,
    /// Pages that cannot be read until their block is erased.
    pub pages: BTreeSet<Ppn>,
    /// Blocks that take nothing.
    pub worn_out: BTreeSet<BlockAddr>,
    /// Pages of these whose program was tried.
    pub spoiled: BTreeSet<Ppn>,
    /// The chance of a silent misread.
    pub silent: Option<f64>,
    /// Pages whose program was reported done and did not happen.
    pub blank: BTreeSet<Ppn>,
    /// The chance that the last command found its block worn out, at the end of life.
    pub fatigue: Option<f64>,
}

impl<A> Faulty<A> {
    /// Permanent failures; `None`: there are none.
    pub fn found(&self) -> Option<FaultsFound> {
        self.any.then(|| FaultsFound {
            dies: (0..).map(DieId).zip(&self.dead).filter(|(_, dead)| **dead).map(|(die, _)| die).collect(),
            blocks: self.lost_blocks.clone(),
            pages: self.lost_pages.clone(),
            worn_out: self.worn_out.clone(),
            spoiled: self.spoiled.clone(),
            silent: self.silent.as_ref().map(Silent::chance),
            blank: self.silent.as_ref().map(|silent| silent.blank_pages().clone()).unwrap_or_default(),
            fatigue: self.fatigue.as_ref().map(|fatigue| fatigue.chance),
        })
    }

    /// Restores former failures of the array. `draws` are those of silent misreads. If it was at the end of its life, it is so again
    /// once it is told ([`Self::wear_out_at_random`]), from the chance that it had.
    pub fn have(&mut self, faults: FaultsFound, draws: Stream) {
        let FaultsFound { dies, blocks, pages, worn_out, spoiled, silent, blank, fatigue: _ } = faults;
        dies.into_iter().for_each(|die| self.kill(die));
        self.any |= !blocks.is_empty() || !pages.is_empty() || !worn_out.is_empty() || silent.is_some();
        (self.lost_blocks, self.lost_pages, self.worn_out, self.spoiled) = (blocks, pages, worn_out, spoiled);
        self.silent = silent.map(|chance| Silent::with_blank(chance, draws, blank));
    }

    /// Wraps `inner`; each page read is uncorrectable with the given probability.
    pub fn new(inner: A, dies: u32, uncorrectable: f64, draws: Stream) -> Self {
        Self {
            inner,
            dead: vec![false; dies as usize],
            lost_blocks: BTreeSet::new(),
            lost_pages: BTreeSet::new(),
            worn_out: BTreeSet::new(),
            spoiled: BTreeSet::new(),
            fatigue: None,
            silent: None,
            any: uncorrectable > 0.0,
            uncorrectable,
            draws,
        }
    }

    /// Which reads fail for once is drawn from these from now on.
    pub fn draw_from(&mut self, draws: Stream) {
        self.draws = draws;
    }

    /// The wrapped array.
    pub fn inner(&self) -> &A {
        &self.inner
    }

    /// As [`Self::inner`], to change it.
    pub fn inner_mut(&mut self) -> &mut A {
        &mut self.inner
    }

    /// The die stops answering, permanently.
    pub fn kill(&mut self, die: DieId) {
        self.dead[die.index()] = true;
        self.any = true;
    }

    /// The block keeps nothing, permanently.
    pub fn lose_block(&mut self, block: BlockAddr) {
        self.lost_blocks.insert(block);
        self.any = true;
    }

    /// The page is uncorrectable until its block is erased.
    pub fn lose_page(&mut self, ppn: Ppn) {
        self.lost_pages.insert(ppn);
        self.any = true;
    }

    /// The block takes nothing any more, permanently; what it holds stays until an erase is tried.
    pub fn wear_out(&mut self, block: BlockAddr) {
        self.worn_out.insert(block);
        self.any = true;
    }

    /// From now on blocks wear out at random: with each command that writes the chance rises by `step` from `chance`.
    pub fn wear_out_at_random(&mut self, step: f64, chance: f64, draws: Stream) {
        self.fatigue = Some(Fatigue { step, chance, draws });
        self.any = true;
    }

    /// From now on reads are wrong with the given probability, though they report success, and programs do not happen.
    pub fn fail_silently(&mut self, chance: f64, draws: Stream) {
        self.silent = Some(Silent::new(chance, draws));
        self.any = true;
    }

    /// Whether a read of the page fails whenever it is read. What the controller cannot know
    /// before it tries; for tests.
    pub fn is_lost<P: Payload>(&self, ppn: Ppn) -> bool
    where
        A: FlashArray<P>,
    {
        self.any && (self.is_gone(self.inner.grid().split(ppn).0) || self.lost_pages.contains(&ppn))
    }

    /// Whether the block takes nothing any more: it is lost, or its die is dead.
    fn is_gone<P: Payload>(&self, block: BlockAddr) -> bool
    where
        A: FlashArray<P>,
    {
        self.any && (self.lost_blocks.contains(&block) || self.is_dead(block))
    }

    /// A command is to write to the block, which may turn out to be worn out.
    fn strain(&mut self, block: BlockAddr) {
        if self.fatigue.as_mut().is_some_and(Fatigue::strikes) {
            self.wear_out(block);
        }
    }

    /// As [`Self::refuses`], of a program that is tried, which leaves its traces.
    #[cold]
    fn fails<P: Payload>(&mut self, ppn: Ppn) -> bool
    where
        A: FlashArray<P>,
    {
        self.strain(self.inner.grid().split(ppn).0);
        if self.refuses(ppn) && !self.is_begun(ppn) {
            self.spoiled.insert(ppn);
        }
        self.refuses(ppn)
    }

    /// As [`FlashArray::read`].
    #[cold]
    fn read_with_faults<P: Payload>(&mut self, ppn: Ppn) -> ReadOutcome
    where
        A: FlashArray<P>,
    {
        if self.is_lost(ppn) {
            return ReadOutcome::Uncorrectable;
        }
        if self.refuses(ppn) && !self.is_begun(ppn) {
            return ReadOutcome::Uncorrectable;
        }
        if self.uncorrectable > 0.0 && self.draws.chance(self.uncorrectable) {
            return ReadOutcome::Uncorrectable;
        }
        if let Some(silent) = &mut self.silent {
            silent.read(ppn, &self.inner);
        }
        self.inner.read(ppn)
    }

    /// Whether a program of the page fails.
    fn refuses<P: Payload>(&self, ppn: Ppn) -> bool
    where
        A: FlashArray<P>,
    {
        let block = self.inner.grid().split(ppn).0;
        self.any && (self.worn_out.contains(&block) || self.is_gone(block))
    }

    fn is_begun<P: Payload>(&self, ppn: Ppn) -> bool
    where
        A: FlashArray<P>,
    {
        let (block, page) = self.inner.grid().split(ppn);
        page < self.inner.block(block).next_page
    }

    /// An erase of the block ended: lost pages are as good as any.
    fn find_pages<P: Payload>(&mut self, block: BlockAddr)
    where
        A: FlashArray<P>,
    {
        if !self.lost_pages.is_empty() {
            let (first, end) = (self.inner.grid().ppn(block, 0), self.inner.grid().pages_per_block());
            self.lost_pages.retain(|ppn| !(first.0..first.0 + end).contains(&ppn.0));
        }
    }

    fn is_dead<P: Payload>(&self, block: BlockAddr) -> bool
    where
        A: FlashArray<P>,
    {
        self.any && self.dead[self.inner.grid().split_block(block).0.index()]
    }
}

impl<A> Faulty<A> {
    /// As [`crate::MemoryArray::grow`]; the new dies answer.
    ///
    /// # Panics
    /// If there are to be fewer channels than before, or the flash is in a file.
    pub fn grow<P: Payload>(&mut self, channels: u32)
    where
        A: InMemory<P>,
    {
        self.inner.memory_mut().grow(channels);
        self.dead.resize(self.inner.grid().dies() as usize, false);
    }

    /// As [`crate::MemoryArray::cut_power`]. Blocks that take nothing any more are left alone, but for an
    /// erase of a worn-out one.
    ///
    /// # Panics
    /// As [`crate::MemoryArray::cut_power`], and if the flash is in a file.
    pub fn cut_power<P: Payload>(&mut self, pairing: Pairing, in_flight: &[InFlight<'_, P>])
    where
        A: InMemory<P>,
    {
        let is_alive = |command: &&InFlight<'_, P>| match command {
            InFlight::Program(program, _) => !self.refuses(program.ppn),
            InFlight::Erase(block, _) => !self.is_gone(*block) && !self.worn_out.contains(block),
        };
        let alive: Vec<_> = in_flight.iter().filter(is_alive).copied().collect();
        self.inner.memory_mut().cut_power(pairing, &alive);
        for command in in_flight {
            match command {
                InFlight::Erase(block, fate) if *fate != EraseFate::NotBegun && self.worn_out.contains(block) => {
                    self.lost_blocks.insert(*block);
                }
                InFlight::Program(program, fate)
                    if self.refuses(program.ppn) && !matches!(fate, ProgramFate::NotBegun | ProgramFate::Blank) =>
                {
                    self.spoiled.insert(program.ppn);
                }
                _ => {}
            }
        }
        for command in &alive {
            if let InFlight::Erase(block, EraseFate::Ended) = command {
                self.find_pages(*block);
            }
        }
    }
}

impl<P: Payload, A: Scan<P>> Scan<P> for Faulty<A> {
    /// Permanently lost pages are unreadable; reads that fail for once are not drawn here.
    fn scan_page(&self, ppn: Ppn) -> PageScan<'_> {
        if self.is_gone(self.inner.grid().split(ppn).0) {
            return PageScan::Unreadable;
        }
        match self.inner.scan_page(ppn) {
            PageScan::Valid(_) if self.lost_pages.contains(&ppn) => PageScan::Unreadable,
            PageScan::Valid(_) if self.silent.as_ref().is_some_and(|silent| silent.is_blank(ppn)) => PageScan::Erased,
            PageScan::Erased if self.spoiled.contains(&ppn) => PageScan::Unreadable,
            found => found,
        }
    }

    fn forget_volatile(&mut self) {
        self.inner.forget_volatile();
    }
}

impl<P: Payload, A: FlashArray<P>> FlashArray<P> for Faulty<A> {
    fn grid(&self) -> &Grid {
        self.inner.grid()
    }

    #[inline]
    fn block(&self, block: BlockAddr) -> &BlockInfo {
        self.inner.block(block)
    }

    #[inline]
    fn read(&mut self, ppn: Ppn) -> ReadOutcome {
        if self.any { self.read_with_faults(ppn) } else { self.inner.read(ppn) }
    }

    #[inline]
    fn arrived(&self) -> Arrived {
        self.silent.as_ref().map_or(Arrived::AsAsked, |silent| silent.arrived)
    }

    #[inline]
    fn prefetch(&self, ppn: Ppn) {
        self.inner.prefetch(ppn);
    }

    #[inline]
    fn prefetch_block(&self, ppn: Ppn) {
        self.inner.prefetch_block(ppn);
    }

    #[inline]
    fn prefetch_oob(&self, ppn: Ppn) {
        self.inner.prefetch_oob(ppn);
    }

    #[inline]
    fn page(&self, ppn: Ppn) -> PageView<'_> {
        self.inner.page(ppn)
    }

    #[inline]
    fn tags(&self, ppn: Ppn) -> &[OobTag] {
        self.inner.tags(ppn)
    }

    #[inline]
    fn payload(&self, ppn: Ppn) -> &[P] {
        self.inner.payload(ppn)
    }

    #[inline]
    fn program_page(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        if self.any {
            if self.fails(program.ppn) {
                return ProgramOutcome::Failed;
            }
            if let Some(silent) = &mut self.silent {
                silent.program(program.ppn);
            }
        }
        self.inner.program_page(program)
    }

    fn gather_page(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        if self.any {
            // Behind a program that failed nothing is gathered.
            let (block, page) = self.inner.grid().split(program.ppn);
            if self.is_gone(block) || self.inner.block(block).next_page != page {
                return self.program_page(program);
            }
            if let Some(silent) = &mut self.silent {
                silent.program(program.ppn);
            }
        }
        self.inner.program_page(program)
    }

    fn update(&self, ppn: Ppn, index: u32) -> u64 {
        self.inner.update(ppn, index)
    }

    #[inline]
    fn slot(&self, ppn: Ppn, index: u32) -> (OobTag, &P, u64) {
        self.inner.slot(ppn, index)
    }

    fn members(&self, ppn: Ppn) -> &[Member] {
        self.inner.members(ppn)
    }

    fn recharge(&mut self, ppn: Ppn, now: SimTime) -> ProgramOutcome {
        if self.any && self.fails(ppn) {
            return ProgramOutcome::Failed;
        }
        self.inner.recharge(ppn, now)
    }

    fn erase(&mut self, block: BlockAddr) -> ProgramOutcome {
        if self.any {
            self.strain(block);
            if self.worn_out.contains(&block) {
                self.lose_block(block);
            }
        }
        if self.is_gone(block) {
            return ProgramOutcome::Failed;
        }
        self.find_pages(block);
        if let Some(silent) = &mut self.silent {
            silent.erased(block, self.inner.grid());
        }
        self.inner.erase(block)
    }

    #[inline]
    fn answers(&self, ppn: Ppn) -> bool {
        !self.any || !self.is_dead(self.inner.grid().split(ppn).0)
    }

    #[inline]
    fn answers_everywhere(&self) -> bool {
        !self.any
    }

    fn replace_die(&mut self, die: DieId) {
        self.dead[die.index()] = false;
        let grid = self.inner.grid().clone();
        let is_elsewhere = |block: BlockAddr| grid.split_block(block).0 != die;
        self.lost_blocks.retain(|&block| is_elsewhere(block));
        self.worn_out.retain(|&block| is_elsewhere(block));
        self.lost_pages.retain(|&ppn| is_elsewhere(grid.split(ppn).0));
        self.spoiled.retain(|&ppn| is_elsewhere(grid.split(ppn).0));
        if let Some(silent) = &mut self.silent {
            (0..grid.blocks_per_die()).for_each(|number| silent.erased(grid.block(die, number), &grid));
        }
        let none_is_lost = self.lost_blocks.is_empty() && self.lost_pages.is_empty() && self.worn_out.is_empty();
        let strikes_at_random = self.uncorrectable > 0.0 || self.fatigue.is_some() || self.silent.is_some();
        self.any = strikes_at_random || !none_is_lost || self.dead.contains(&true);
        self.inner.replace_die(die);
    }

    fn use_as_slc(&mut self, block: BlockAddr, cycles_a_cycle: u8) {
        self.inner.use_as_slc(block, cycles_a_cycle);
    }

    fn set_age(&mut self, block: BlockAddr, age: impl FnOnce(&mut BlockInfo)) {
        self.inner.set_age(block, age);
    }

    fn set_ecc(&mut self, block: BlockAddr, ecc: Capability) {
        self.inner.set_ecc(block, ecc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryArray, Oob};
    use vocab::{Lpn, Streams};

    #[test]
    fn a_lost_page_comes_back_with_an_erase_and_a_lost_block_never_does() {
        let mut array = small();
        (0..4).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        array.lose_page(Ppn(1));
        let outcomes: Vec<_> = (0..3).map(|ppn| array.read(Ppn(ppn))).collect();
        assert_eq!(outcomes, [ReadOutcome::Clean, ReadOutcome::Uncorrectable, ReadOutcome::Clean]);
        assert_eq!(array.erase(BlockAddr(0)), ProgramOutcome::Done);
        (0..2).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        assert_eq!(array.read(Ppn(1)), ReadOutcome::Clean);

        array.lose_block(BlockAddr(1));
        assert_eq!(array.read(Ppn(3)), ReadOutcome::Uncorrectable);
        assert_eq!((program(&mut array, 4), array.erase(BlockAddr(1))), (ProgramOutcome::Failed, ProgramOutcome::Failed));
        assert_eq!(array.read(Ppn(0)), ReadOutcome::Clean, "other blocks of the die answer");
    }

    fn small() -> Faulty<MemoryArray<u64>> {
        Faulty::new(crate::array::tests::array(), 2, 0.0, Streams::new(1).stream("test"))
    }

    fn program(array: &mut Faulty<MemoryArray<u64>>, ppn: u32) -> ProgramOutcome {
        let oob = Oob { sequence: u64::from(ppn) + 1, ..Oob::default() };
        array.program(Ppn(ppn), &[OobTag::data(Lpn(ppn))], &[7u64], oob, SimTime(0))
    }

    #[test]
    fn a_worn_out_block_keeps_what_it_has_until_an_erase_is_tried() {
        let mut array = small();
        assert_eq!(program(&mut array, 0), ProgramOutcome::Done);
        array.wear_out(BlockAddr(0));
        assert_eq!(program(&mut array, 1), ProgramOutcome::Failed);
        assert_eq!((array.read(Ppn(0)), array.read(Ppn(1))), (ReadOutcome::Clean, ReadOutcome::Uncorrectable));
        assert!(matches!(array.scan_page(Ppn(0)), PageScan::Valid(_)));
        assert_eq!([1, 2].map(|ppn| array.scan_page(Ppn(ppn))), [PageScan::Unreadable, PageScan::Erased]);
        assert_eq!((array.erase(BlockAddr(0)), array.read(Ppn(0))), (ProgramOutcome::Failed, ReadOutcome::Uncorrectable));
        assert_eq!(program(&mut array, 3), ProgramOutcome::Done, "other blocks go on");
    }

    /// Catches a unit of two pages whose first page fails before anything is programmed, is lost with the second, or is followed by
    /// others.
    #[test]
    fn a_failed_program_leaves_its_unit_in_the_memory_where_it_was_gathered() {
        let mut array = small();
        array.wear_out(BlockAddr(0));
        let gather = |array: &mut Faulty<MemoryArray<u64>>, ppn: u32| {
            let (tags, payload) = ([OobTag::data(Lpn(ppn))], [7u64]);
            let oob = Oob { sequence: u64::from(ppn) + 1, ..Oob::default() };
            let now = SimTime(0);
            array.gather_page(&Program { ppn: Ppn(ppn), tags: &tags, payload: &payload, updates: None, members: &[], oob, now })
        };
        assert_eq!((gather(&mut array, 0), program(&mut array, 1)), (ProgramOutcome::Done, ProgramOutcome::Failed));
        assert_eq!((array.read(Ppn(0)), array.read(Ppn(1))), (ReadOutcome::Clean, ReadOutcome::Uncorrectable));
        assert_eq!(array.block(BlockAddr(0)).next_page, 1, "the unit is not whole: reads of its first page go to memory");
        assert_eq!(gather(&mut array, 2), ProgramOutcome::Failed, "nothing comes behind it");
        array.lose_block(BlockAddr(1));
        assert_eq!(gather(&mut array, 3), ProgramOutcome::Failed, "a lost block takes nothing");
    }

    /// Catches faults or cycles of the old die that the new one has, and faults of other dies that are forgotten.
    #[test]
    fn a_die_in_the_place_of_a_dead_one_is_new() {
        let mut array = small();
        (0..4).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        (0..3).for_each(|_| assert_eq!(array.erase(BlockAddr(1)), ProgramOutcome::Done));
        array.lose_page(Ppn(1));
        array.lose_block(BlockAddr(2));
        array.wear_out(BlockAddr(3));
        array.kill(DieId(0));
        assert_eq!((array.read(Ppn(0)), array.answers(Ppn(0))), (ReadOutcome::Uncorrectable, false));
        array.replace_die(DieId(0));
        assert!(array.answers_everywhere() && array.found().is_none(), "nothing is wrong any more");
        assert!((0..4).all(|block| *array.block(BlockAddr(block)) == BlockInfo::default()));
        assert!((0..12).all(|ppn| array.scan_page(Ppn(ppn)) == PageScan::Erased));
        (0..12).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        assert!((0..12).all(|ppn| array.read(Ppn(ppn)) == ReadOutcome::Clean));

        array.kill(DieId(0));
        array.lose_block(BlockAddr(5));
        array.replace_die(DieId(0));
        assert_eq!(array.erase(BlockAddr(5)), ProgramOutcome::Failed, "it is a block of the other die");
    }

    #[test]
    fn the_end_of_life_comes_sooner_or_later_and_to_all_dies() {
        let mut array = small();
        array.wear_out_at_random(1e-2, 0.0, Streams::new(1).stream("test/wear"));
        let mut failed = [0; 2];
        for _ in 0..200 {
            for block in 0..8 {
                failed[block / 4] += u32::from(array.erase(BlockAddr(block as u32)) == ProgramOutcome::Failed);
            }
        }
        assert!(failed.iter().all(|&failed| failed > 400), "{failed:?} of 800 erases of each die failed");
    }

    #[test]
    fn a_misread_brings_another_page_of_the_die_and_a_lost_write_an_erased_one() {
        let mut array = small();
        (0..12).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        array.fail_silently(0.5, Streams::new(1).stream("test/silent"));
        (12..24).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
        let arrived: Vec<Arrived> = (0..240).map(|at| Ppn(at % 24)).map(|ppn| (array.read(ppn), array.arrived()).1).collect();
        let count = |of: fn(&Arrived) -> bool| arrived.iter().filter(|arrived| of(arrived)).count();
        let others = count(|arrived| matches!(arrived, Arrived::Other(_)));
        assert!((60..160).contains(&others) && count(|&arrived| arrived == Arrived::AsAsked) > 60, "{others} of 240 misread");
        let same_die =
            |(at, arrived): (usize, &Arrived)| !matches!(arrived, Arrived::Other(other) if other.0 / 12 != at as u32 % 24 / 12);
        assert!(arrived.iter().enumerate().all(same_die));
        let blank: Vec<u32> = (0..24).filter(|&ppn| array.scan_page(Ppn(ppn)) == PageScan::Erased).collect();
        assert!(!blank.is_empty() && blank.iter().all(|&ppn| ppn >= 12), "{blank:?} were lost");
        let reads = blank.iter().map(|&ppn| (array.read(Ppn(ppn)), array.arrived()).1);
        assert!(reads.collect::<Vec<_>>().iter().all(|&arrived| arrived == Arrived::Erased));
    }
}
