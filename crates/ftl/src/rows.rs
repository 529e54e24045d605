//! Rows of the group log: which page comes next, and which parity covers which pages.

use vocab::{BlockAddr, DieId, Grid, Ppn, StripSet, SuperblockId};

/// A page of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    /// Number of the row on the drive: superblock times pages per block plus page number.
    pub row: u32,
    /// The die of the page.
    pub die: DieId,
    /// The page itself.
    pub ppn: Ppn,
}

/// Members of each superblock, and parity of each row, in 5 bytes a row.
#[derive(Clone, Debug)]
pub struct Rows {
    grid: Grid,
    /// Dies of each superblock whose block is good.
    members: Vec<u32>,
    /// Dies whose data the newest durable parity of the row covers.
    covered: Vec<u32>,
    /// The die of that parity.
    parity: Vec<u8>,
    /// Dies that become members of each superblock at its next erase.
    joining: u32,
}

impl Rows {
    pub(crate) fn new(grid: &Grid, bad: impl Fn(BlockAddr) -> bool) -> Self {
        let superblocks = grid.blocks_per_die();
        let rows = (superblocks * grid.pages_per_block()) as usize;
        let members = |sb: u32| {
            let good = (0..grid.dies()).filter(|&die| !bad(grid.block(DieId(die as u16), sb)));
            good.collect::<StripSet>().0 as u32
        };
        Self {
            grid: grid.clone(),
            members: (0..superblocks).map(members).collect(),
            covered: vec![0; rows],
            parity: vec![0; rows],
            joining: 0,
        }
    }

    /// Whether the superblock has a good block of each die that has one in most superblocks.
    pub(crate) fn is_complete(&self, superblock: SuperblockId) -> bool {
        let members = self.members(superblock);
        members == members.or(self.working_dies())
    }

    /// Dies that have a good block in more than half of the superblocks.
    pub(crate) fn working_dies(&self) -> StripSet {
        let good = |die: u32| self.members.iter().filter(|&members| members >> die & 1 == 1).count();
        (0..self.grid.dies()).filter(|&die| good(die) * 2 > self.members.len()).collect()
    }

    /// The drive has more dies: they become members of free superblocks now, and of others at their
    /// next erase.
    pub(crate) fn grow(&mut self, grid: &Grid, is_free: impl Fn(SuperblockId) -> bool) {
        let new = (self.grid.dies()..grid.dies()).collect::<StripSet>().0 as u32;
        self.grid = grid.clone();
        self.joining |= new;
        for (superblock, members) in (0..).map(SuperblockId).zip(&mut self.members) {
            *members |= if is_free(superblock) { new } else { 0 };
        }
    }

    /// The die becomes a member of no further superblock.
    pub fn keep_out(&mut self, die: DieId) {
        self.joining &= !(1 << die.0);
    }

    /// Dies that take part in the rows of a superblock.
    #[must_use]
    pub fn members(&self, superblock: SuperblockId) -> StripSet {
        StripSet(u64::from(self.members[superblock.index()]))
    }

    /// The die's block of the superblock is bad: rows of the superblock leave the die out.
    pub(crate) fn drop_member(&mut self, superblock: SuperblockId, die: DieId) {
        self.members[superblock.index()] &= !(1 << die.0);
    }

    /// The page that comes after `used` others of its row, in the order of dies from the member number
    /// `rotation` on.
    #[must_use]
    pub fn place(&self, superblock: SuperblockId, page: u32, used: u32, rotation: u32) -> RowPlace {
        let members = self.members(superblock);
        let nth = (used + rotation) % members.len();
        let die = DieId(members.iter().nth(nth as usize).expect("nth < len") as u16);
        let ppn = self.grid.ppn(self.grid.block(die, superblock.0), page);
        RowPlace { row: superblock.0 * self.grid.pages_per_block() + page, die, ppn }
    }

    /// The row of a page, and the page's die.
    #[must_use]
    pub fn row_of(&self, ppn: Ppn) -> (u32, DieId) {
        let (block, page) = self.grid.split(ppn);
        let (die, superblock) = self.grid.split_block(block);
        (superblock.0 * self.grid.pages_per_block() + page, die)
    }

    /// The page of a die in a row.
    #[must_use]
    pub fn page(&self, row: u32, die: DieId) -> Ppn {
        let (superblock, page) = (row / self.grid.pages_per_block(), row % self.grid.pages_per_block());
        self.grid.ppn(self.grid.block(die, superblock), page)
    }

    /// Parity on `die` is durable and covers the data of `covered`. It counts if it covers more dies
    /// than the one before: parity that was computed earlier may become durable later.
    pub fn cover(&mut self, row: u32, covered: StripSet, die: DieId) {
        if covered.0.count_ones() <= self.covered[row as usize].count_ones() {
            return;
        }
        self.covered[row as usize] = covered.0 as u32;
        self.parity[row as usize] = die.0 as u8;
    }

    /// Dies whose data the row's newest durable parity covers, and the die of that parity;
    /// `None` before the first parity of the row.
    #[must_use]
    pub fn coverage(&self, row: u32) -> Option<(StripSet, DieId)> {
        let covered = self.covered[row as usize];
        (covered != 0).then(|| (StripSet(u64::from(covered)), DieId(u16::from(self.parity[row as usize]))))
    }

    /// The superblock was erased: its rows are empty.
    pub(crate) fn clear(&mut self, superblock: SuperblockId) {
        let pages = self.grid.pages_per_block() as usize;
        let first = superblock.index() * pages;
        self.covered[first..first + pages].fill(0);
        self.members[superblock.index()] |= self.joining;
    }
}
