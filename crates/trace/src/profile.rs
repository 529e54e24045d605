//! Statistics of a trace: one pass, in memory that does not grow with its length.

use crate::{Footprint, Record, Reuse, TraceError};
use std::collections::VecDeque;
use vocab::{Bytes, HostOp, Nanos};

/// Bins of time at most. They widen, two becoming one, so that the whole trace has room.
pub const BINS: usize = 256;

/// Buckets of sizes: bucket `b` holds requests of more than 2^(b-1) and up to 2^b sectors.
pub const SIZE_BUCKETS: usize = 22;

/// Buckets of gaps: bucket `b` holds gaps of 2^(b-1) to 2^b - 1 ns, bucket 0 those of 0.
const GAP_BUCKETS: usize = 64;

/// Ends of earlier requests among which a sequential one finds its beginning.
const STREAMS: usize = 32;

/// Slots of one request that count for hot shares and reuse: a longer one, which no host sends often, counts with these.
const SLOTS_OF_A_REQUEST: u64 = 1024;

/// Requests in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Requests of any kind.
    pub requests: u64,
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
}

/// How unevenly accesses are spread over the touched slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// Share of the touched slots, those accessed most.
    pub slots: f64,
    /// Share of the accesses that go there.
    pub accesses: f64,
}

/// Statistics of a trace.
#[derive(Clone, Debug)]
pub struct Profile {
    footprint: Footprint,
    tally: Tally,
}

#[derive(Clone, Debug)]
struct Tally {
    per_slot: u64,
    /// Reads and writes by size.
    sizes: [[u64; SIZE_BUCKETS]; 2],
    bins: Vec<Bin>,
    width: Nanos,
    gaps: [u64; GAP_BUCKETS],
    longest_gap: Nanos,
    /// Sums over gaps in seconds, and over their squares.
    gap_sums: [f64; 2],
    last: Option<Nanos>,
    /// Reads and writes that begin where one of the last requests ended.
    sequential: [u64; 2],
    ends: VecDeque<(u32, u64)>,
    reuse: Reuse,
}

impl Profile {
    /// Reads `records` to the end; slots are of `slot_size` bytes. `progress` hears the requests read so far.
    ///
    /// # Errors
    /// As [`Footprint::scan`].
    pub fn scan(
        records: impl IntoIterator<Item = Result<Record, TraceError>>,
        slot_size: Bytes,
        progress: &dyn Fn(u64),
    ) -> Result<Self, TraceError> {
        let mut tally = Tally::new(slot_size);
        let mut count = 0;
        let records = records.into_iter().inspect(|item| {
            let Ok(record) = item else { return };
            tally.note(record);
            count += 1;
            if count % 65_536 == 0 {
                progress(count);
            }
        });
        let footprint = Footprint::scan(records, slot_size)?;
        Ok(Self { footprint, tally })
    }

    /// Touched slots and totals.
    #[must_use]
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// Reads, then writes, by size: see [`SIZE_BUCKETS`].
    #[must_use]
    pub fn sizes(&self) -> &[[u64; SIZE_BUCKETS]; 2] {
        &self.tally.sizes
    }

    /// The trace over time, in bins of [`Self::bin_width`].
    #[must_use]
    pub fn bins(&self) -> &[Bin] {
        &self.tally.bins
    }

    /// Width of a bin.
    #[must_use]
    pub fn bin_width(&self) -> Nanos {
        self.tally.width
    }

    /// Share of reads, then of writes, that begin where one of the 32 requests before ended; `None` where there are none.
    #[must_use]
    pub fn sequential(&self) -> [Option<f64>; 2] {
        let counts = self.footprint.counts();
        let of = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        [of(self.tally.sequential[0], counts.reads), of(self.tally.sequential[1], counts.writes)]
    }

    /// How soon slots come again.
    #[must_use]
    pub fn reuse(&self) -> &Reuse {
        &self.tally.reuse
    }

    /// Shares of accesses that go to the hottest 1, 10 and 20 % of the touched slots.
    #[must_use]
    pub fn hot(&self) -> [Hot; 3] {
        [0.01, 0.1, 0.2].map(|slots| Hot { slots, accesses: self.tally.reuse.hottest(slots) })
    }

    /// Mean gap between two requests; `None` where there is one request.
    #[must_use]
    pub fn mean_gap_s(&self) -> Option<f64> {
        let gaps = self.footprint.counts().requests.saturating_sub(1);
        (gaps > 0).then(|| self.tally.gap_sums[0] / gaps as f64)
    }

    /// Longest gap.
    #[must_use]
    pub fn longest_gap(&self) -> Nanos {
        self.tally.longest_gap
    }

    /// Standard deviation of gaps divided by their mean: 1 for a Poisson process, 0 for a steady one, more for bursts.
    #[must_use]
    pub fn gap_variation(&self) -> Option<f64> {
        let gaps = self.footprint.counts().requests.saturating_sub(1) as f64;
        let (mean, square) = (self.tally.gap_sums[0] / gaps, self.tally.gap_sums[1] / gaps);
        (gaps > 0.0 && mean > 0.0).then(|| (square - mean * mean).max(0.0).sqrt() / mean)
    }

    /// The gap, in ns, that a share of gaps is no longer than, to a power of two.
    #[must_use]
    pub fn gap_quantile(&self, share: f64) -> Nanos {
        let all: u64 = self.tally.gaps.iter().sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut sum = 0;
        let bucket = self.tally.gaps.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        Nanos(bucket.filter(|&bucket| bucket > 0).map_or(0, |bucket| (1u64 << bucket) - 1)).min(self.tally.longest_gap)
    }

    /// Requests of the busiest bin, divided by the mean over all bins; the more, the burstier at [`Self::bin_width`].
    #[must_use]
    pub fn peak_to_mean(&self) -> f64 {
        let most = self.tally.bins.iter().map(|bin| bin.requests).max().unwrap_or(0);
        let mean = self.footprint.counts().requests as f64 / self.tally.bins.len().max(1) as f64;
        if mean > 0.0 { most as f64 / mean } else { 0.0 }
    }
}

impl Tally {
    fn new(slot_size: Bytes) -> Self {
        Self {
            per_slot: (slot_size.0 / vocab::SECTOR_BYTES).max(1),
            sizes: [[0; SIZE_BUCKETS]; 2],
            bins: Vec::new(),
            width: Nanos(1_000_000),
            gaps: [0; GAP_BUCKETS],
            longest_gap: Nanos(0),
            gap_sums: [0.0; 2],
            last: None,
            sequential: [0; 2],
            ends: VecDeque::with_capacity(STREAMS),
            reuse: Reuse::default(),
        }
    }

    fn note(&mut self, record: &Record) {
        self.gap(Nanos(record.at.0));
        let bin = self.bin(record.at.0);
        bin.requests += 1;
        match record.op {
            HostOp::Read => bin.read.0 += record.size().0,
            HostOp::Write(_) => bin.written.0 += record.size().0,
            HostOp::Flush | HostOp::Discard => return,
        }
        let kind = usize::from(record.op != HostOp::Read);
        let bucket = (u32::BITS - record.sectors.saturating_sub(1).leading_zeros()) as usize;
        self.sizes[kind][bucket.min(SIZE_BUCKETS - 1)] += 1;
        self.follow(record, kind);
        let first = record.lba.0 / self.per_slot;
        let end = (record.lba.0 + u64::from(record.sectors)).div_ceil(self.per_slot);
        for slot in first..end.min(first + SLOTS_OF_A_REQUEST) {
            self.reuse.note(record.device, slot);
        }
    }

    /// Whether the request goes on where an earlier one ended.
    fn follow(&mut self, record: &Record, kind: usize) {
        let end = (record.device, record.lba.0 + u64::from(record.sectors));
        let begins = (record.device, record.lba.0);
        if let Some(at) = self.ends.iter().position(|earlier| *earlier == begins) {
            self.sequential[kind] += 1;
            self.ends.remove(at);
        } else if self.ends.len() == STREAMS {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    fn gap(&mut self, at: Nanos) {
        if let Some(last) = self.last.replace(at) {
            let gap = at.0.saturating_sub(last.0);
            self.gaps[((u64::BITS - gap.leading_zeros()) as usize).min(GAP_BUCKETS - 1)] += 1;
            self.longest_gap = self.longest_gap.max(Nanos(gap));
            let seconds = gap as f64 * 1e-9;
            self.gap_sums[0] += seconds;
            self.gap_sums[1] += seconds * seconds;
        }
    }

    fn bin(&mut self, at: u64) -> &mut Bin {
        while at / self.width.0 >= BINS as u64 {
            self.width.0 *= 2;
            let halves: Vec<Bin> = self.bins.chunks(2).map(|two| two.iter().copied().fold(Bin::default(), Bin::with)).collect();
            self.bins = halves;
        }
        let index = (at / self.width.0) as usize;
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        &mut self.bins[index]
    }
}

impl Bin {
    fn with(self, other: Bin) -> Bin {
        Bin {
            requests: self.requests + other.requests,
            read: Bytes(self.read.0 + other.read.0),
            written: Bytes(self.written.0 + other.written.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Fua, Lba, SimTime};

    fn profile(records: Vec<Record>) -> Profile {
        Profile::scan(records.into_iter().map(Ok), Bytes(4096), &|_| {}).expect("they are valid")
    }

    fn record(at: u64, op: HostOp, lba: u64, sectors: u32) -> Record {
        Record { at: SimTime(at), device: 0, op, lba: Lba(lba), sectors, stream: vocab::StreamId::default() }
    }

    #[test]
    fn two_streams_side_by_side_are_sequential_and_a_jump_is_not() {
        let write = HostOp::Write(Fua::No);
        let found = profile(vec![
            record(0, HostOp::Read, 0, 8),
            record(1, write, 800, 8),
            record(2, HostOp::Read, 8, 8),
            record(3, write, 808, 8),
            record(4, write, 8000, 8),
        ]);
        assert_eq!(found.sequential(), [Some(0.5), Some(1.0 / 3.0)]);
        assert_eq!(found.sizes()[0][3], 2);
        assert_eq!(found.footprint().slots(), 5);
    }

    #[test]
    fn bins_hold_every_request_however_often_they_widen() {
        let second = 1_000_000_000;
        let found = profile((0..1000).map(|n| record(n * second, HostOp::Read, n * 8, 8)).collect());
        assert!(found.bins().len() <= BINS && found.bins().len() > BINS / 4);
        assert_eq!(found.bins().iter().map(|bin| bin.requests).sum::<u64>(), 1000);
        assert_eq!((found.mean_gap_s(), found.gap_variation()), (Some(1.0), Some(0.0)));
        assert!(found.peak_to_mean() < 1.4, "it is steady");
        assert_eq!(found.longest_gap(), Nanos(second));
    }
}
