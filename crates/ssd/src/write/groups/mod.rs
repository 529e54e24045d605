//! Block groups: blocks of all dies whose page stripes an erasure code protects.
//!
//! The scheme says which page of the page stripe comes next and when its parity is due. [`write`] puts pages
//! there, [`parity`] holds the sums until the parity is in flash. The sums lie in a PLP cache. So a
//! write is answered once its page is in flash (or lost with its die) and summed; an open page stripe waits
//! for data as long as it takes. [`summing`] is the time that sums take. [`life`] opens and gives up groups, [`solve`] computes lost pages, [`audit`]
//! checks all parities, and [`remains`] is what outlives a power cut.

mod answers;
pub(crate) mod audit;
pub(crate) mod life;
pub(crate) mod mount;
pub(crate) mod parity;
pub(crate) mod remains;
#[cfg(unix)]
pub(crate) mod saved;
pub(crate) mod solve;
pub(crate) mod summing;
pub(crate) mod write;

use crate::core::flash::FlashPayload;
use crate::write::RebuiltBy;
pub(crate) use crate::write::groups::remains::{GroupRemains, Redo};
use crate::write::groups::summing::Summing;
use crate::write::ways::WayFacts;

use ::coding::ErasureCode;
use ftl::{LogKind, UnitId};
use nand::Member;
use protect::{GroupCode, GroupScheme, PageStripe};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vocab::{Grid, StripSet, SuperblockId};

/// Page stripes of block groups.
pub(crate) const FACTS: WayFacts = WayFacts {
    log: LogKind::Group,
    brings_pages_back: true,
    goes_on_with_dead_dies: true,
    rebuilt_by: RebuiltBy::Collection,
    keeps_copies: true,
    collects_beside_erases: true,
    no_slc: Some("block groups want whole blocks: their codes reach from the first page to the last"),
    ..WayFacts::PLAIN
};

/// Writes to block groups, and how long sums stayed in the parity cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStats {
    /// Groups opened.
    pub opened: u64,
    /// Data pages programmed, of the host or moved.
    pub data_pages: u64,
    /// Parity pages across dies.
    pub parity_pages: u64,
    /// Parity pages at the end of blocks.
    pub block_parity_pages: u64,
    /// Most data page writes to one group from the first that enters a sum across dies to the
    /// one after which its parity is programmed, both counted.
    pub longest_parity_residence: u64,
    /// The same of the sums of blocks.
    pub longest_block_residence: u64,
    /// Most pages of sums held at one time.
    pub most_held: u32,
    /// Closed groups of a code that goes first.
    pub outdated: u32,
    /// Groups collected and erased.
    pub collected: u64,
    /// Of these, groups of a code that went first.
    pub collected_outdated: u64,
}

/// A codeword of a page stripe: the row of its pages, and its number within the page stripe.
pub(crate) type CodewordKey = (u32, u32);

/// A group and its parity map.
#[derive(Debug)]
pub(crate) struct Layout {
    pub group: SuperblockId,
    /// Index in [`Groups::codes`].
    pub code: usize,
    pub stripe: PageStripe,
}

/// State of every group in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupInfo {
    pub code: usize,
    /// Dies whose blocks belong to it, dead ones included.
    pub members: StripSet,
    /// Data pages written so far.
    pub written: u64,
}

/// The group that a write pointer writes.
#[derive(Clone, Debug)]
pub(crate) struct OpenGroup {
    pub layout: Arc<Layout>,
    pub page: u32,
    /// Data pages of the page stripe written so far.
    pub next: u32,
}

/// The sums of one codeword of a page stripe, from its first data page until its parity is in flash; where a program of
/// that failed, until the group is erased.
#[derive(Clone, Debug)]
pub(crate) struct OpenSums<P> {
    pub layout: Arc<Layout>,
    /// The write pointer in whose part of the cache they are.
    pub stream: usize,
    /// Parity by parity, slot by slot.
    pub sums: Vec<P>,
    /// The logical pages in the sums, on a drive that is to be mounted.
    pub members: Vec<Member>,
    /// Dies whose data pages are in the sums.
    pub data: StripSet,
    /// Data pages that are not in flash yet.
    pub missing: u32,
    /// Parity pages under way; `None` before they are due.
    pub parities: Option<u32>,
    /// Whether a parity page failed: nothing else stands in for it.
    pub stay: bool,
    /// Which write of the group came first.
    pub first: u64,
}

/// The sums of the blocks of a group with a block code.
#[derive(Clone, Debug)]
pub(crate) struct BlockSums<P> {
    /// Data strip by data strip, sum by sum of a block, slot by slot.
    pub sums: Vec<P>,
    /// The logical pages in them, all strips together, on a drive that is to be mounted.
    pub members: Vec<Member>,
    /// For each sum of a block, the strips whose parity is in flash, or lost.
    pub done: Vec<StripSet>,
    /// Codewords of parity pages of blocks that are not in flash yet.
    pub codewords_left: u32,
}

impl<P> BlockSums<P> {
    /// Where the sum that the page of a strip is in, or is, begins.
    fn at(&self, code: &GroupCode, position: u32, page: u32, slots: u32) -> usize {
        ((position * code.block + code.sum_of(page)) * slots) as usize
    }

    /// Whether the cache has the sum that the page of a strip is.
    fn holds(&self, code: &GroupCode, position: u32, page: u32) -> bool {
        !self.done[code.sum_of(page) as usize].contains(position)
    }
}

/// Block groups being written, and the parity cache.
#[derive(Clone)]
pub(crate) struct Groups<P> {
    /// Scheme that chooses codes and parity maps.
    scheme: Arc<dyn GroupScheme>,
    /// Every code a group of the drive may have; a group keeps its index.
    pub codes: Vec<(GroupCode, ErasureCode)>,
    /// Where the codes of the scheme begin: those before are of groups older than the scheme.
    pub first_code: usize,
    /// The code of the scheme now in use.
    pub now: usize,
    /// Whether the owner of the drive asked for the next code.
    pub asked: bool,
    pub info: Vec<Option<GroupInfo>>,
    open: [Option<OpenGroup>; 2],
    /// Sums of codewords whose parity is not in flash.
    pub held: BTreeMap<CodewordKey, OpenSums<P>>,
    /// Sums of blocks, by group.
    pub blocks: BTreeMap<u32, BlockSums<P>>,
    /// Pages of sums that each write pointer may hold, and holds.
    room: u32,
    used: [u32; 2],
    /// Whether groups of a code that is no longer in use may be left.
    migrating: bool,
    /// Pages that a cut met on their way to flash and whose groups are not collected yet.
    pub redo: Vec<Redo<P>>,
    stats: GroupStats,
    summing: Summing,
    /// Groups that a mount found without all of their parity.
    pub without_parity: BTreeSet<UnitId>,
}

impl<P: FlashPayload> Groups<P> {
    /// No group is open, on a drive of `groups` groups; `streams` write to groups of their own.
    ///
    /// # Errors
    /// A cache too small for the open groups: in words, with the least that would do.
    pub fn new(scheme: &dyn GroupScheme, groups: u32, streams: u32, name: &str) -> Result<Self, String> {
        let scheme: Arc<dyn GroupScheme> = Arc::from(scheme.boxed_clone());
        let room = room_of(&*scheme, streams, name)?;
        let codes = scheme.codes().iter().copied().map(with_algebra).collect();
        let summing = Summing::new(scheme.write_sum_time());
        Ok(Self {
            scheme,
            codes,
            first_code: 0,
            now: 0,
            asked: false,
            info: vec![None; groups as usize],
            open: [None, None],
            held: BTreeMap::new(),
            blocks: BTreeMap::new(),
            room,
            used: [0; 2],
            migrating: false,
            redo: Vec::new(),
            stats: GroupStats::default(),
            summing,
            without_parity: BTreeSet::new(),
        })
    }

    /// The scheme.
    pub fn scheme(&self) -> &dyn GroupScheme {
        &*self.scheme
    }

    /// The parity map of a group in use.
    pub fn stripe_of(&self, group: SuperblockId, info: &GroupInfo) -> PageStripe {
        let code = &self.codes[info.code].0;
        self.scheme().page_stripe(code, group, info.members).expect("the parity map that the group was opened with")
    }

    /// Whether parity of the group is not all in flash yet.
    fn is_unsettled(&self, group: SuperblockId, pages_per_block: u32) -> bool {
        self.blocks.contains_key(&group.0)
            || self.open.iter().flatten().any(|open| open.layout.group == group)
            || self.held.range(codewords_of(group, pages_per_block)).next().is_some()
    }
}

/// A code with its arithmetic.
pub(crate) fn with_algebra(code: GroupCode) -> (GroupCode, ErasureCode) {
    (code, ErasureCode::new(code.data as usize, code.parity as usize))
}

/// Pages of sums for each stream.
///
/// # Errors
/// A cache too small for the open groups: in words, with the least that would do.
pub(crate) fn room_of(scheme: &dyn GroupScheme, streams: u32, name: &str) -> Result<u32, String> {
    let most = |f: &dyn Fn(&GroupCode) -> u32| scheme.codes().iter().map(f).max().unwrap_or(0);
    let least = most(&GroupCode::least_held);
    // Enough that page stripes under way on all dies, and a group being closed, stop no one.
    let plenty = most(&|code| 2 * code.least_held() + scheme.stripes_under_way() * code.codewords * code.parity);
    match scheme.cache_pages() {
        None => Ok(plenty),
        Some(pages) if pages < least * streams => Err(format!(
            "scheme {name}, parity_cache: found {pages}, valid are {} and more: {streams} open groups hold {least} pages of sums each",
            least * streams
        )),
        Some(pages) => Ok(pages / streams),
    }
}

/// The row of a page stripe.
pub(crate) fn row_of_group(grid: &Grid, group: SuperblockId, page: u32) -> u32 {
    group.0 * grid.pages_per_block() + page
}

/// All codewords of a group, as a range of keys.
fn codewords_of(group: SuperblockId, pages_per_block: u32) -> std::ops::Range<CodewordKey> {
    (group.0 * pages_per_block, 0)..((group.0 + 1) * pages_per_block, 0)
}

#[cfg(test)]
mod tests;
