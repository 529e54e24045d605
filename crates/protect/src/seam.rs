//! The seams between schemes and the engine; that of block groups has a file of its own.

use crate::GroupScheme;
use vocab::{DieId, StripSet, StripeId};

/// What a scheme may know of the drive it is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Dies of the drive.
    pub dies: u32,
    /// Logical pages in one physical page.
    pub slots_per_page: u32,
}

/// How a drive's data are protected.
pub enum Protection {
    /// Not at all: a page goes to any die.
    None,
    /// By stripes of logical pages, one strip on each die's region log.
    Stripes(Box<dyn StripeScheme>),
    /// By rows of a group log.
    Rows(Box<dyn RowScheme>),
    /// By page stripes of block groups, in a group log.
    Groups(Box<dyn GroupScheme>),
}

impl Clone for Protection {
    fn clone(&self) -> Self {
        match self {
            Protection::None => Protection::None,
            Protection::Stripes(scheme) => Protection::Stripes(scheme.boxed_clone()),
            Protection::Rows(scheme) => Protection::Rows(scheme.boxed_clone()),
            Protection::Groups(scheme) => Protection::Groups(scheme.boxed_clone()),
        }
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
    /// Whether valid parity of the present strips is stored.
    pub has_parity: bool,
    /// Strips, parity included, that cannot be read.
    pub unreadable: StripSet,
}

/// What to do about a stripe's parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripePlan {
    /// New parity = sum of the new contents and of these strips as stored now.
    Parity {
        /// Strips to read and add, the old parity (strip `N`) possibly among them.
        add: StripSet,
    },
    /// The stripe has no valid parity after this write.
    NoParity,
}

/// Stripes of logical pages: logical page `l` is strip `l % N` of stripe `l / N`, each strip
/// stays on its die, wherever its region log puts it.
///
/// Caller's duties: calls for one stripe are serial; parity and data of one plan become durable
/// before the host is answered, and the old versions stay until then.
/// Implementer's duties: the strips of one stripe sit on different dies; the parity that
/// [`Self::plan`] describes equals the sum of all data strips after the write.
pub trait StripeScheme: Send + Sync {
    /// Data strips of a stripe, N.
    fn data_strips(&self) -> u32;
    /// The die of a strip.
    fn die_of(&self, stripe: StripeId, strip: u32) -> DieId;
    /// The die that a strip is written to after these dies died, in this order: its own while
    /// that lives, else a substitute that holds no other strip of the stripe. `None`: there is
    /// none. Implementer's duties: an answer changes only when the die it named dies.
    fn home(&self, stripe: StripeId, strip: u32, dead: &[DieId]) -> Option<DieId> {
        Some(self.die_of(stripe, strip)).filter(|die| !dead.contains(die))
    }
    /// Decides how the parity of a write comes about.
    fn plan(&self, write: &StripeWrite) -> StripePlan;
    /// A copy for a fork of the drive.
    fn boxed_clone(&self) -> Box<dyn StripeScheme>;

    /// The strips whose sum is `lost`, or `None` where nothing brings it back.
    fn repair(&self, lost: u32, present: StripSet, unreadable: StripSet) -> Option<StripSet> {
        let mut sources = present;
        sources.insert(self.data_strips());
        sources.remove(lost);
        sources.and(unreadable).is_empty().then_some(sources)
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

/// What comes next in a row.
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
    /// What comes next in the open row.
    fn next(&self, row: &OpenRow) -> RowStep;
    /// Rows that a patrol reads in a second of virtual time, obsolete pages too; 0: none.
    fn patrol_rows_per_s(&self) -> u32 {
        0
    }
    /// How far the positions of a row are rotated over its dies.
    fn rotation(&self, row: u32) -> u32;
    /// A copy for a fork of the drive.
    fn boxed_clone(&self) -> Box<dyn RowScheme>;
}
