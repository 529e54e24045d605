//! What is left out of a recording before it is replayed: long gaps, and a share of its writes.

use crate::{Record, TraceError};
use vocab::{HostOp, Nanos};

/// What is left out; usually nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// Longer gaps between requests are made as short as this.
    pub max_gap: Option<Nanos>,
    /// Share of the writes that stays.
    pub keep_writes: Option<f64>,
}

/// Clips the gaps between the requests of one loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clip {
    max_gap: Option<Nanos>,
    /// When the last request came, as recorded.
    last: Option<u64>,
    /// Time left out so far.
    pub cut: u64,
    /// Gaps that were made shorter.
    pub gaps: u64,
    /// Longest gap that is left.
    pub longest: u64,
}

impl Clip {
    pub(super) fn new(max_gap: Option<Nanos>) -> Self {
        Self { max_gap, ..Self::default() }
    }

    pub(super) fn record(&mut self, mut record: Record) -> Record {
        let gap = record.at.0.saturating_sub(self.last.unwrap_or(record.at.0));
        self.last = Some(record.at.0);
        let kept = self.max_gap.map_or(gap, |most| gap.min(most.0));
        self.gaps += u64::from(kept < gap);
        self.cut += gap - kept;
        self.longest = self.longest.max(kept);
        record.at.0 -= self.cut;
        record
    }
}

/// Leaves out writes of a trace, evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thin {
    /// Share of writes that stays.
    share: f64,
    writes: u64,
}

impl Thin {
    pub fn new(share: Option<f64>) -> Self {
        Self { share: share.unwrap_or(1.0), writes: 0 }
    }

    /// Whether the record stays. Of n writes the first `n * share` do, rounded down, wherever n is.
    fn keeps(&mut self, record: &Record) -> bool {
        if !matches!(record.op, HostOp::Write(_)) {
            return true;
        }
        let before = (self.writes as f64 * self.share) as u64;
        self.writes += 1;
        (self.writes as f64 * self.share) as u64 > before
    }

    /// The same of an item of a trace that may not be readable.
    pub fn keeps_item(&mut self, item: &Result<Record, TraceError>) -> bool {
        item.as_ref().map_or(true, |record| self.keeps(record))
    }
}
