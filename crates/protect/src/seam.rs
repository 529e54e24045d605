//! The seams between schemes and the engine; that of block groups has a file of its own.

use crate::lazy::ReadAround;
use crate::{Options, SchemeError};
use vocab::{Bytes, DieId, Nanos, PeCycles, StripSet, StripeId};

/// Facts of the drive that a scheme may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Dies of the drive.
    pub dies: u32,
    /// Blocks of one die.
    pub blocks_per_die: u32,
    /// Pages of one block.
    pub pages_per_block: u32,
    /// Size of a physical page.
    pub page_size: Bytes,
    /// Logical pages in one physical page.
    pub slots_per_page: u32,
    /// Pages of a block that one program stores together, and one failure may take together: 1 where each is programmed alone.
    pub unit_pages: u32,
    /// P/E cycles that a block is rated for.
    pub endurance: PeCycles,
}

/// Bounds of [`Shape::stripe_dies`] on wide drives.
const STRIPE_DIES_LEAST: u32 = 8;
const STRIPE_DIES_MOST: u32 = 32;

impl Shape {
    /// Dies of a stripe, row or codeword where the experiment does not say: all of them up to 32, and of a wider drive the
    /// largest divisor from 8 to 32. A redundant page for more data than that would leave too much to the next failure.
    pub(crate) fn stripe_dies(&self) -> u32 {
        match self.dies {
            0..=STRIPE_DIES_MOST => self.dies,
            dies => (STRIPE_DIES_LEAST..=STRIPE_DIES_MOST).rev().find(|&n| dies.is_multiple_of(n)).unwrap_or(dies),
        }
    }

    /// For schemes that keep sets of dies.
    pub(crate) fn need_dies_of_a_set(&self, options: &Options<'_>) -> Result<(), SchemeError> {
        if (2..=StripSet::MOST).contains(&self.dies) {
            return Ok(());
        }
        Err(options.error("dies", format!("the drive has {}, redundancy spans 2 to {}", self.dies, StripSet::MOST)))
    }

    /// For schemes whose stripes are of logical pages.
    pub(crate) fn need_one_slot_per_page(&self, options: &Options<'_>) -> Result<(), SchemeError> {
        if self.slots_per_page == 1 {
            return Ok(());
        }
        let reason = format!(
            "the drive stores {} logical pages in a physical page; stripes of logical pages need 1 (slot_size = page_size, planes not ganged)",
            self.slots_per_page
        );
        Err(options.error("slots per page", reason))
    }
}

#[cfg(test)]
impl Shape {
    pub(crate) fn small(dies: u32) -> Self {
        let (blocks_per_die, pages_per_block, page_size) = (64, 16, Bytes(4096));
        Self { dies, blocks_per_die, pages_per_block, page_size, slots_per_page: 1, unit_pages: 1, endurance: PeCycles(3000) }
    }
}

/// A write to a static stripe, as the scheme sees it. Strips `0..N` are data, strip `N` parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeWrite {
    /// The stripe.
    pub stripe: StripeId,
    /// Data strips with new contents.
    pub written: StripSet,
    /// Data strips with stored contents; the others count as zeros.
    pub present: StripSet,
    /// Whether valid parity is stored: of the present strips, or, with a partial parity held,
    /// of what they were before it.
    pub has_parity: bool,
    /// Data strips that the held partial parity covers; `None` where none is held.
    pub held: Option<StripSet>,
    /// Strips, parity included, that cannot be read.
    pub unreadable: StripSet,
    /// Written strips that no die takes: the parity of this write is all that brings them back.
    pub homeless: StripSet,
    /// Present strips on blocks over [`StripeScheme::worn_above`]; empty without such a limit.
    pub worn: StripSet,
    /// Written strips whose new place is on such a block.
    pub worn_after: StripSet,
    /// Whether the request was too long for the write cache ([`WriteCache::bypass_over`]).
    pub long: bool,
}

/// Treatment of a stripe's parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripePlan {
    /// New parity = sum of the new contents and of these strips as stored now; it goes to flash
    /// with them. A partial parity that was held is dropped.
    Parity {
        /// Strips to read and add, the old parity (strip `N`) possibly among them where no
        /// partial parity is held.
        add: StripSet,
    },
    /// New partial parity = sum of the new contents, of these strips as stored now and, with
    /// `keep`, of the partial parity held so far. It stays in the parity cache.
    Hold {
        /// Strips to read and add.
        add: StripSet,
        /// Whether the partial parity held so far is added.
        keep: bool,
        /// Strips whose sum it is from now on.
        covers: StripSet,
    },
    /// The stripe has no valid parity after this write.
    NoParity,
}

/// A stripe whose partial parity is to become full parity, as the scheme sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeCommit {
    /// Data strips that the partial parity covers, B.
    pub held: StripSet,
    /// Data strips with stored contents.
    pub present: StripSet,
    /// Whether valid parity of the old versions is stored.
    pub has_parity: bool,
    /// Strips whose current contents cannot be read.
    pub unreadable: StripSet,
    /// Strips of B whose old version, and strip `N` if the old parity, cannot be read.
    pub unreadable_old: StripSet,
    /// Strips of B that had contents before, to be read for [`CommitPlan::Old`].
    pub old: StripSet,
}

/// How a partial parity becomes full parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPlan {
    /// The partial parity and these strips as stored now.
    Current(StripSet),
    /// The partial parity, the old parity and the old versions of these strips.
    Old(StripSet),
    /// Neither can be read: the stripe is left without parity.
    NoParity,
}

/// A write cache that belongs to the scheme: pages of one stripe leave it together, the stripe
/// written least recently first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCache {
    /// Pages it holds.
    pub pages: u32,
    /// Requests of more pages than this pass through.
    pub bypass_over: u32,
}

/// How many updates, each with a parity of its own, the pages become that a request writes to one stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParityRule {
    /// One: the pages of a request share a parity.
    Request,
    /// One for each page.
    Page,
    /// One for each page, unless the request writes all data strips of the stripe.
    PageUnlessFull,
}

/// When what a cache of the scheme holds goes to flash, least recently written first: pages of the write cache, and
/// partial parities of the parity cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// As long as more than three quarters of the cache are taken, so that a write seldom finds it full.
    Watermark,
    /// Not before someone needs the room.
    OnDemand,
}

/// Limits on what disturbs a block's data: the block is recycled before it passes one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DisturbLimits {
    /// Reads of the block since its erase, T_read; `None`: as many as the error model says for the block's P/E cycles.
    pub reads: Option<u32>,
    /// Age of the block's first page, T_retention; `None`: as the error model says for the block's P/E cycles.
    pub retention: Option<Nanos>,
    /// Share of codewords that come back at a limit that the error model gives, above 0 and below 1.
    pub target_yield: f64,
    /// The last share of both limits, in percent: in its first half the block is recycled when
    /// its die is idle, in its second half at once.
    pub margin_percent: u32,
}

/// Stripes of logical pages: logical page `l` is strip `l % N` of stripe `l / N`, each strip
/// stays on its die, wherever its region log puts it.
///
/// Caller's duties: calls for one stripe are serial; parity and data of one plan become durable
/// before the host is answered, and the old versions stay until then; a partial parity is held
/// in a PLP cache, and as long as it is, the versions that the stored parity covers stay.
/// Implementer's duties: the strips of one stripe sit on different dies; the parity that
/// [`Self::plan`] describes equals the sum of all data strips after the write, the partial
/// parity the sum of the strips it covers.
pub trait StripeScheme: Send + Sync {
    /// Data strips of a stripe, N.
    fn data_strips(&self) -> u32;
    /// The die of a strip. Implementer's duty: every run of as many stripes as there are dies puts as many strips on one die as
    /// on another.
    fn die_of(&self, stripe: StripeId, strip: u32) -> DieId;
    /// Strips, parity among them, that each of this many dies holds of the first `stripes`.
    fn strips_of_dies(&self, stripes: u32, dies: u32) -> Vec<u64> {
        let width = self.data_strips() + 1;
        let in_runs = stripes - stripes % dies;
        let mut strips = vec![u64::from(in_runs / dies) * u64::from(width); dies as usize];
        for stripe in (in_runs..stripes).map(StripeId) {
            (0..width).for_each(|strip| strips[self.die_of(stripe, strip).index()] += 1);
        }
        strips
    }
    /// The die that a strip is written to after these dies died, in this order: its own while
    /// that lives, else a substitute that holds no other strip of the stripe. `None`: there is
    /// none. Implementer's duties: an answer changes only when the die it named dies.
    fn home(&self, stripe: StripeId, strip: u32, dead: &[DieId]) -> Option<DieId> {
        Some(self.die_of(stripe, strip)).filter(|die| !dead.contains(die))
    }
    /// How many updates the pages of a request become.
    fn parity_rule(&self) -> ParityRule {
        ParityRule::Request
    }
    /// Decides how the parity of a write comes about.
    fn plan(&self, write: &StripeWrite) -> StripePlan;
    /// A copy for a fork of the drive.
    fn boxed_clone(&self) -> Box<dyn StripeScheme>;

    /// Dies whose loss loses no acknowledged data.
    fn survives_dies(&self) -> u32 {
        1
    }

    /// The stage of life it is in, from 1 on; `None` where the scheme has no stages.
    fn life_stage(&self) -> Option<u8> {
        None
    }

    /// The strips whose sum is `lost`, or `None` where nothing brings it back.
    fn repair(&self, lost: u32, present: StripSet, unreadable: StripSet) -> Option<StripSet> {
        let mut sources = present;
        sources.insert(self.data_strips());
        sources.remove(lost);
        sources.and(unreadable).is_empty().then_some(sources)
    }

    /// Partial parities that are held at most; the least recently written is committed to make
    /// room for another.
    fn parity_cache(&self) -> u32 {
        0
    }

    /// When its caches are written back.
    fn write_back(&self) -> WriteBack {
        WriteBack::Watermark
    }

    /// Whether a host flush commits all partial parities.
    fn commits_on_flush(&self) -> bool {
        false
    }

    /// Decides how a partial parity becomes full parity.
    fn commit(&self, commit: &StripeCommit) -> CommitPlan {
        unreachable!("{commit:?} under a scheme that holds no parity")
    }

    /// Whether the scheme ever has a write cache of its own.
    fn has_write_cache(&self) -> bool {
        false
    }

    /// The write cache as it is now; with `pages: 0` every request passes through.
    fn write_cache(&self) -> Option<WriteCache> {
        None
    }

    /// P/E cycles above which a block counts as worn, T_p; `None` where wear does not matter.
    fn worn_above(&self) -> Option<PeCycles> {
        None
    }

    /// A data strip moved from a place to another; each says whether its block is worn, `None`
    /// stands for no place.
    fn moved(&mut self, _stripe: StripeId, _from: Option<bool>, _to: Option<bool>) {}

    /// The drive was aged: this many data strips of the stripe lie on worn blocks now.
    fn aged(&mut self, _stripe: StripeId, _worn: u32) {}

    /// Data strips of a stripe on worn blocks, as the scheme counted them; for tests.
    fn worn_strips(&self, _stripe: StripeId) -> Option<u32> {
        None
    }

    /// A block over the limit joined the drive (it was erased once more, or aged).
    fn block_wore_out(&mut self) {}

    /// A stripe that was looked at may need parity after all: [`Self::next_unprotected`] begins again.
    fn look_again(&mut self) {}

    /// Whether the stripe must have parity, given whether one more strip is about to move to a
    /// worn block.
    fn wants_parity(&self, _stripe: StripeId, _one_more: bool) -> bool {
        true
    }

    /// A stripe of the drive's `stripes` that may lack the parity it should have, to be built in
    /// idle time. Each call goes on where the last stopped; `None`: all have been named.
    fn next_unprotected(&mut self, _stripes: u32) -> Option<StripeId> {
        None
    }

    /// Limits on read disturb and retention.
    fn limits(&self) -> Option<DisturbLimits> {
        None
    }

    /// When reads go around a busy die, to the rest of the stripe; `None`: never.
    fn read_around(&self) -> Option<ReadAround> {
        None
    }
}

/// The row a group log is writing, as the scheme sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRow {
    /// Pages of the row that can be used: one for each die that takes part.
    pub width: u32,
    /// Pages used so far.
    pub used: u32,
    /// Data pages among them that no parity covers yet.
    pub uncovered: u32,
    /// Data pages that wait to be written with the same request.
    pub waiting: u32,
}

/// Next step in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStep {
    /// The next waiting data page.
    Data,
    /// Parity of all data pages of the row so far. The row stays open if it has room for both
    /// a data page and its parity.
    Parity,
    /// Nothing until more data come.
    Wait,
    /// The next row; what is left of this one stays empty.
    NextRow,
}

/// Stripes that are physical rows: the same page of the same block of every die.
///
/// Obsolete pages stay members of their row's parity until the whole superblock is erased, so
/// parity is never read back and never updated in place.
///
/// Caller's duties: a request is answered once all its pages and a parity covering each are
/// durable. Implementer's duties: [`Self::next`] never leaves data uncovered when a row closes.
pub trait RowScheme: Send + Sync {
    /// Next step in the open row.
    fn next(&self, row: &OpenRow) -> RowStep;
    /// Rows that a scrub reads in a second of virtual time, obsolete pages too; 0: none.
    fn scrub_rows_per_s(&self) -> u32 {
        0
    }
    /// When reads go around a busy die, to the rest of their row; `None`: never.
    fn read_around(&self) -> Option<ReadAround> {
        None
    }
    /// Whether writes are answered before their parity is durable, which loses data.
    fn answers_before_parity(&self) -> bool {
        false
    }
    /// Rows that lie side by side on one page number, each on as many neighbouring dies.
    fn side_by_side(&self) -> u32 {
        1
    }
    /// How far the positions of a row are rotated over its dies.
    fn rotation(&self, row: u32) -> u32;
    /// A copy for a fork of the drive.
    fn boxed_clone(&self) -> Box<dyn RowScheme>;
}
