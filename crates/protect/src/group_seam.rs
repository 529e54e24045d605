//! The seam between schemes of block groups and the engine.

use crate::lazy::ReadAround;
use vocab::{DieId, Nanos, StripSet, SuperblockId};

/// The erasure code instance of a block group: k data and m parity symbols across dies, and
/// perhaps parity pages at the end of every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupCode {
    /// Data symbols of a codeword, k.
    pub data: u32,
    /// Parity symbols of a codeword, m.
    pub parity: u32,
    /// Codewords of a page stripe while every die has a good block.
    pub codewords: u32,
    /// Pages at the end of every block that are sums of the pages before them, one for each this number of pages: as many as a word line has
    /// pages, or 1. A divisor of the pages of a block. 0: there are none.
    pub block: u32,
}

impl GroupCode {
    /// Page stripes of a group that take data, of blocks of `pages` pages.
    #[must_use]
    pub fn data_stripes(&self, pages: u32) -> u32 {
        pages - self.block
    }

    /// Whether a page of a block of `pages` pages is a sum of others of its block.
    #[must_use]
    pub fn is_block_parity(&self, page: u32, pages: u32) -> bool {
        page + self.block >= pages
    }

    /// Which of its block's sums a page is in, or is. Pages of one word line are in different ones.
    #[must_use]
    pub fn sum_of(&self, page: u32) -> u32 {
        if self.block > 1 { page % self.block } else { 0 }
    }

    /// The pages of a block, of `pages`, that add up to nothing: those of one of its sums, which comes last.
    pub fn pages_of_sum(&self, sum: u32, pages: u32) -> impl Iterator<Item = u32> + use<> {
        (sum..pages).step_by(self.block.max(1) as usize)
    }

    /// Pages of held sums that one open group needs at least: a sum for each parity page of a
    /// page stripe, and with a block code one for each block and for the parity of the last
    /// page stripe.
    #[must_use]
    pub fn least_held(&self) -> u32 {
        let stripe = self.codewords * self.parity;
        stripe + self.block * (self.codewords * self.data + stripe)
    }
}

/// A member of every page stripe of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Its die.
    pub die: DieId,
    /// Its codeword.
    pub codeword: u32,
    /// Its symbol of the codeword: data below k, then parity.
    pub symbol: u32,
}

/// The parity map of a group: the members of its page stripes, and their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageStripe {
    /// Data strips, then parity strips. Symbols that no strip is are zeros.
    pub strips: Vec<Strip>,
    /// Number of data strips.
    pub data: u32,
    /// Number of codewords.
    pub codewords: u32,
    /// The data strips in the order in which they are written.
    pub order: Vec<u32>,
}

impl PageStripe {
    /// The strip on `die`, if the die takes part.
    #[must_use]
    pub fn strip_on(&self, die: DieId) -> Option<u32> {
        self.strips.iter().position(|strip| strip.die == die).map(|index| index as u32)
    }

    /// Data strips of a codeword.
    #[must_use]
    pub fn data_of(&self, codeword: u32) -> u32 {
        self.strips[..self.data as usize].iter().filter(|strip| strip.codeword == codeword).count() as u32
    }
}

/// A page of a group: page stripe and strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupPage {
    /// Page number within the block.
    pub page: u32,
    /// Index in [`PageStripe::strips`].
    pub strip: u32,
}

/// Across which of its two codes a page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// The codeword of its page stripe.
    Dies,
    /// Its block.
    Block,
}

/// State of a page's part in a codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// It counts as zeros so far.
    Zero,
    /// Flash gives it.
    Readable,
    /// Not programmed yet; the PLP cache holds its sum.
    Held,
    /// Only the codes can bring it back.
    Lost,
    /// It takes part with a value that nothing tells: the codeword is of no use yet.
    Unsettled,
}

/// Facts on which a choice of code may depend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupHistory {
    /// Groups opened so far.
    pub opened: u64,
    /// P/E cycles of the most worn group.
    pub most_pe: u32,
    /// Failures observed: page reads that gave nothing, blocks that went bad in service, dies that died.
    pub failures: u64,
    /// Whether the operator asked for the next code.
    pub asked: bool,
}

/// Stripes that are physical, in groups with a code each.
///
/// Caller's duties: pages of a group are written page stripe by page stripe, in the order of
/// the parity map; sums that are not in flash yet survive a loss of power; a write is answered
/// once its page is durable and summed. Implementer's duties: everything said about a group
/// depends on nothing but the arguments, so that groups of different codes coexist; symbols of
/// one codeword sit on different dies.
pub trait GroupScheme: Send + Sync {
    /// The codes, in order of use: groups start with the first.
    fn codes(&self) -> &[GroupCode];
    /// The code of the next group, given that of the one before.
    fn code_for(&self, now: usize, history: &GroupHistory) -> usize;
    /// The parity map of a group whose `members` are good; `None` if they are too few.
    fn page_stripe(&self, code: &GroupCode, group: SuperblockId, members: StripSet) -> Option<PageStripe>;
    /// Whether parity is written when `missing` of its data pages are not in flash yet.
    fn parity_due(&self, missing: u32) -> bool;
    /// Whether groups of one code are collected before all others, now that another is in use.
    fn cleans_first(&self, code: &GroupCode, now: &GroupCode) -> bool;
    /// The pages and coefficients whose sum is `lost`, of blocks of `pages` pages.
    fn repair(
        &self,
        code: &GroupCode,
        stripe: &PageStripe,
        pages: u32,
        lost: GroupPage,
        state: &dyn Fn(GroupPage, Across) -> PageState,
    ) -> Option<Vec<(GroupPage, u8)>>;
    /// Pages of sums that the parity cache holds; `None`: as many as help.
    fn cache_pages(&self) -> Option<u32>;
    /// Page stripes that are under way in a stream while all dies are at work.
    fn stripes_under_way(&self) -> u32;
    /// Controller time to add one page to a sum while a page is rebuilt.
    fn sum_time(&self) -> Nanos;
    /// Time to add a page that is written to one sum, for which the host waits.
    fn write_sum_time(&self) -> Nanos {
        Nanos(0)
    }
    /// When reads go around a busy die, to the rest of their codeword; `None`: never.
    fn read_around(&self) -> Option<ReadAround> {
        None
    }
    /// Dies whose loss loses no acknowledged data, whichever code a group has.
    fn survives_dies(&self) -> u32;
    /// A copy for a fork of the drive.
    fn boxed_clone(&self) -> Box<dyn GroupScheme>;
}
