//! Rows of the group log: which page comes next, and which parity covers which pages.
//!
//! A row is the pages with one page number on all dies. On a wide drive it may be those on some of them: then several
//! rows lie side by side, each on as many neighbouring dies.

use vocab::{BlockAddr, DieId, Grid, Ppn, StripSet, SuperblockId};

/// A page of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    /// Number of the row on the drive: superblock by superblock, page number by page number, side by side.
    pub row: u32,
    /// The die of the page.
    pub die: DieId,
    /// The page itself.
    pub ppn: Ppn,
}

/// Members of each superblock, and parity of each row: in 5 bytes a row of up to 32 dies.
#[derive(Clone, Debug)]
pub struct Rows {
    grid: Grid,
    /// Rows of one page number.
    side_by_side: u32,
    /// Dies of each superblock whose block is good.
    members: Vec<StripSet>,
    /// Dies whose data the newest durable parity of the row covers, in `words` words from the first die of the row on.
    covered: Vec<u32>,
    words: usize,
    /// The die of that parity.
    parity: Vec<u8>,
    /// Dies that become members of a superblock at its next erase; empty where none was ever to become one.
    joining: Vec<StripSet>,
}

impl Rows {
    pub(crate) fn new(grid: &Grid, side_by_side: u32, bad: impl Fn(BlockAddr) -> bool) -> Self {
        assert!(grid.dies().is_multiple_of(side_by_side), "rows side by side take as many dies each");
        let superblocks = grid.blocks_per_die();
        let rows = (superblocks * grid.pages_per_block() * side_by_side) as usize;
        let words = (grid.dies() / side_by_side).div_ceil(32) as usize;
        let members = |sb: u32| {
            let good = (0..grid.dies()).filter(|&die| !bad(grid.block(DieId(die as u16), sb)));
            good.collect::<StripSet>()
        };
        Self {
            grid: grid.clone(),
            side_by_side,
            members: (0..superblocks).map(members).collect(),
            covered: vec![0; rows * words],
            words,
            parity: vec![0; rows],
            joining: Vec::new(),
        }
    }

    /// Rows of a superblock.
    pub(crate) fn of_superblock(&self) -> u32 {
        self.grid.pages_per_block() * self.side_by_side
    }

    /// Rows of the drive.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.grid.blocks_per_die() * self.of_superblock()
    }

    /// A row of a superblock, by its number there.
    #[must_use]
    pub fn row(&self, superblock: SuperblockId, number: u32) -> u32 {
        superblock.0 * self.of_superblock() + number
    }

    /// The superblock of a row.
    #[must_use]
    pub fn superblock_of(&self, row: u32) -> SuperblockId {
        SuperblockId(row / self.of_superblock())
    }

    /// The page number of a row.
    #[must_use]
    pub fn page_number(&self, row: u32) -> u32 {
        row % self.of_superblock() / self.side_by_side
    }

    /// All dies of a row, whether their blocks are good or not.
    #[must_use]
    pub fn dies(&self, row: u32) -> std::ops::Range<u32> {
        let width = self.grid.dies() / self.side_by_side;
        let first = row % self.side_by_side * width;
        first..first + width
    }

    /// Dies that take part in a row.
    #[must_use]
    pub fn members_of_row(&self, row: u32) -> StripSet {
        let dies = self.dies(row);
        self.members(self.superblock_of(row)).and(StripSet::first(dies.end).minus(StripSet::first(dies.start)))
    }

    /// Data pages, beside a parity in each row, of a page number of a superblock.
    pub(crate) fn data_pages(&self, superblock: SuperblockId) -> u32 {
        let first = self.row(superblock, 0);
        (first..first + self.side_by_side).map(|row| self.members_of_row(row).len().saturating_sub(1)).sum()
    }

    /// Members of the row that has most of them.
    pub(crate) fn widest(&self, superblock: SuperblockId) -> u32 {
        let first = self.row(superblock, 0);
        (first..first + self.side_by_side).map(|row| self.members_of_row(row).len()).max().unwrap_or(0)
    }

    /// Superblocks without a good block of some die that has one in most superblocks.
    pub(crate) fn incomplete(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        let working = self.working_dies();
        let superblocks = (0..).map(SuperblockId).zip(&self.members);
        superblocks.filter(move |(_, members)| members.or(working) != **members).map(|(superblock, _)| superblock)
    }

    /// Dies that have a good block in more than half of the superblocks.
    pub(crate) fn working_dies(&self) -> StripSet {
        let good = |die: u32| self.members.iter().filter(|members| members.contains(die)).count();
        (0..self.grid.dies()).filter(|&die| good(die) * 2 > self.members.len()).collect()
    }

    /// The drive has more dies: they become members of free superblocks now, and of others at their
    /// next erase.
    pub(crate) fn grow(&mut self, grid: &Grid, is_free: impl Fn(SuperblockId) -> bool) {
        assert_eq!(self.side_by_side, 1, "rows of a drive that grows span it");
        let (covered, old) = (std::mem::take(&mut self.covered), self.words);
        self.words = grid.dies().div_ceil(32) as usize;
        self.covered = vec![0; covered.len() / old * self.words];
        for (wider, row) in self.covered.chunks_exact_mut(self.words).zip(covered.chunks_exact(old)) {
            wider[..old].copy_from_slice(row);
        }
        let new = (self.grid.dies()..grid.dies()).collect::<StripSet>();
        self.grid = grid.clone();
        self.let_join(new, is_free);
    }

    /// The die has erased blocks everywhere: it becomes a member of free superblocks now, and of others at their next erase.
    pub(crate) fn rejoin(&mut self, die: DieId, is_free: impl Fn(SuperblockId) -> bool) {
        self.let_join(StripSet::one(u32::from(die.0)), is_free);
    }

    /// The dies become members of free superblocks now, and of each other one at its next erase: once, as their blocks may go bad later.
    fn let_join(&mut self, dies: StripSet, is_free: impl Fn(SuperblockId) -> bool) {
        self.joining.resize(self.members.len(), StripSet::EMPTY);
        for (superblock, (members, joining)) in (0..).map(SuperblockId).zip(self.members.iter_mut().zip(&mut self.joining)) {
            let set = if is_free(superblock) { members } else { joining };
            *set = set.or(dies);
        }
    }

    /// The die becomes a member of no further superblock.
    pub fn keep_out(&mut self, die: DieId) {
        self.joining.iter_mut().for_each(|joining| joining.remove(u32::from(die.0)));
    }

    /// Dies that take part in the rows of a superblock.
    #[must_use]
    pub fn members(&self, superblock: SuperblockId) -> StripSet {
        self.members[superblock.index()]
    }

    /// The die's block of the superblock is bad: rows of the superblock leave the die out.
    pub(crate) fn drop_member(&mut self, superblock: SuperblockId, die: DieId) {
        self.members[superblock.index()].remove(u32::from(die.0));
    }

    /// The page that comes after `used` others of its row, in the order of dies from the member number
    /// `rotation` on.
    #[must_use]
    pub fn place(&self, row: u32, used: u32, rotation: u32) -> RowPlace {
        let members = self.members_of_row(row);
        let nth = (used + rotation) % members.len();
        let die = DieId(members.iter().nth(nth as usize).expect("nth < len") as u16);
        RowPlace { row, die, ppn: self.page(row, die) }
    }

    /// The row of a page, and the page's die.
    #[must_use]
    pub fn row_of(&self, ppn: Ppn) -> (u32, DieId) {
        let (block, page) = self.grid.split(ppn);
        let (die, superblock) = self.grid.split_block(block);
        let number = if self.side_by_side == 1 {
            page
        } else {
            page * self.side_by_side + u32::from(die.0) / (self.grid.dies() / self.side_by_side)
        };
        (self.row(superblock, number), die)
    }

    /// The page of a die in a row.
    #[must_use]
    pub fn page(&self, row: u32, die: DieId) -> Ppn {
        self.grid.ppn(self.grid.block(die, self.superblock_of(row).0), self.page_number(row))
    }

    /// Parity on `die` is durable and covers the data of `covered`. It counts if it covers more dies
    /// than the one before: parity that was computed earlier may become durable later.
    pub fn cover(&mut self, row: u32, covered: StripSet, die: DieId) {
        if covered.len() <= self.covered(row).len() {
            return;
        }
        let from_first = StripSet(covered.0 >> self.dies(row).start);
        from_first.to_words(&mut self.covered[row as usize * self.words..][..self.words]);
        self.parity[row as usize] = die.0 as u8;
    }

    /// Dies whose data the row's newest durable parity covers, and the die of that parity;
    /// `None` before the first parity of the row.
    #[must_use]
    pub fn coverage(&self, row: u32) -> Option<(StripSet, DieId)> {
        let covered = self.covered(row);
        (!covered.is_empty()).then(|| (covered, DieId(u16::from(self.parity[row as usize]))))
    }

    fn covered(&self, row: u32) -> StripSet {
        let words = &self.covered[row as usize * self.words..][..self.words];
        StripSet(StripSet::from_words(words).0 << self.dies(row).start)
    }

    /// The superblock was erased: its rows are empty.
    pub(crate) fn clear(&mut self, superblock: SuperblockId) {
        let rows = self.of_superblock() as usize;
        let first = superblock.index() * rows;
        self.covered[first * self.words..(first + rows) * self.words].fill(0);
        if let Some(joining) = self.joining.get_mut(superblock.index()) {
            self.members[superblock.index()] = self.members[superblock.index()].or(std::mem::replace(joining, StripSet::EMPTY));
        }
    }
}
