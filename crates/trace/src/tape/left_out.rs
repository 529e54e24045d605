//! Parts of a workload that are not replayed: all but a chosen part, long gaps, and a share of its writes.

use crate::{Record, TraceError};
use vocab::{HostOp, Nanos};

/// The parts that are not replayed; usually none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// The part that stays.
    pub pick: Pick,
    /// Longer gaps between requests are made as short as this.
    pub max_gap: Option<Nanos>,
    /// Share of the writes that stays.
    pub keep_writes: Option<f64>,
}

/// A part of a workload: of one device, within a window of time, this many requests. Each step looks at what the one before leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pick {
    /// This device alone, by its number in the order of appearance.
    pub device: Option<u32>,
    /// From this time on, counted from the first request of all.
    pub from: Option<Nanos>,
    /// Before this time.
    pub until: Option<Nanos>,
    /// This many requests of these are left out at the start.
    pub skip: u64,
    /// This many stay, then it ends.
    pub first: Option<u64>,
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
}

/// An item of a tape: a request, or the reason why there is none.
type Item = Result<Record, TraceError>;

/// Leaves out of one loop what is to be left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit {
    pick: Pick,
    thin: Thin,
    clip: Clip,
    /// Requests that the device and the window left.
    seen: u64,
    /// When the first request that stays came.
    start: Option<u64>,
}

impl Edit {
    pub fn new(left_out: LeftOut) -> Self {
        let (thin, clip) = (Thin::new(left_out.keep_writes), Clip::new(left_out.max_gap));
        Self { pick: left_out.pick, thin, clip, seen: 0, start: None }
    }

    /// Gaps that were shortened.
    pub fn clip(&self) -> Clip {
        self.clip
    }

    /// The item as it is kept: `None` ends the loop, `Some(None)` leaves it out. An error stays.
    pub fn item(&mut self, item: Item) -> Option<Option<Item>> {
        let Pick { device, from, until, skip, first } = self.pick;
        let mut record = match item {
            Ok(record) => record,
            Err(error) => return Some(Some(Err(error))),
        };
        let is_after = until.is_some_and(|until| record.at.0 >= until.0);
        if is_after || first.is_some_and(|most| self.seen >= skip.saturating_add(most)) {
            return None;
        }
        if device.is_some_and(|device| record.device != device) || from.is_some_and(|from| record.at.0 < from.0) {
            return Some(None);
        }
        self.seen += 1;
        if self.seen <= skip {
            return Some(None);
        }
        if device.is_some() {
            record.device = 0;
        }
        if from.is_some() || device.is_some() || skip > 0 {
            record.at.0 -= *self.start.get_or_insert(record.at.0);
        }
        Some(self.thin.keeps(&record).then(|| Ok(self.clip.record(record))))
    }
}
