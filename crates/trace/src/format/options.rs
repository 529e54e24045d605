//! How to read a trace.

use super::blkparse::BlkAction;
use super::columns::Columns;
use vocab::Nanos;

/// Most requests that are sorted as a whole: 48 bytes each.
pub const SORTED_LIMIT: usize = 1 << 22;

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Which action of blkparse counts as the request.
    pub blk_action: BlkAction,
    /// Requests out of order by at most this much are sorted.
    pub reorder_window: Nanos,
    /// At most this many requests are held back for sorting.
    pub reorder_records: usize,
    /// All requests are sorted by time, those of the same time as they are; more than [`SORTED_LIMIT`] are refused.
    pub is_sorted: bool,
    /// Columns of a file of format `csv`.
    pub columns: Option<Columns>,
}

impl Default for ReadOptions {
    /// Issued requests; a window of 1 s or 4096 requests.
    fn default() -> Self {
        Self {
            blk_action: BlkAction::default(),
            reorder_window: Nanos(1_000_000_000),
            reorder_records: 4096,
            is_sorted: false,
            columns: None,
        }
    }
}
