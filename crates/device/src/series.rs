//! Events over time: a fold over the same facts as all other figures, by bins of equal width in virtual time.
//!
//! How long a run takes is not known when it begins. So bins are narrow at first, and whenever there are
//! [`BINS_MAX`], neighbours are merged in pairs and bins are twice as wide from then on. Any run ends with a few
//! hundred bins, what they say does not depend on when they were merged, and a fact costs the same in all runs.
//!
//! Totals of the whole run are not counted again: a bin has the difference of its ends. Busy dies and latencies, which
//! totals do not have, are taken from facts as they come.

use crate::facts::{Fact, RequestKind, Step};
use vocab::{Cause, DieId, Nanos, SimTime};

/// Bins at most; even, so that all of them have a partner when they are merged.
pub const BINS_MAX: usize = 512;

/// Width of the bins at first.
pub const FIRST_WIDTH: Nanos = Nanos(1_000_000);

/// Flows of a run that have a series of their own.
pub const FLOWS_SHOWN: usize = 64;

/// Sub-buckets of a power of two, as a power of two: a latency is known to 1/32.
const SUB_BITS: u32 = 5;
/// Latencies from 2^43 ns (2.4 hours) on share a bucket. Their maximum is exact.
const BUCKETS: usize = ((43 - SUB_BITS) as usize + 1) << SUB_BITS;

/// The bucket of a latency.
#[inline]
fn bucket_of(ns: u64) -> usize {
    vocab::bucket_of::<SUB_BITS>(ns).min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle_of(bucket: u16) -> u64 {
    let (least, greatest) = vocab::values_of::<SUB_BITS>(usize::from(bucket));
    (least + greatest).div_ceil(2)
}

/// Latencies of one kind in one bin: how many in each bucket, and the longest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Buckets with how many, ascending, without empty ones.
    counts: Vec<(u16, u32)>,
    /// The longest in ns: exact.
    pub max: u64,
}

impl Latencies {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// The latency in ns that a share of all do not exceed, to 1/64; `None` where there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let wanted = ((share * self.count() as f64).ceil() as u64).max(1);
        let mut counted = 0;
        let found = self.counts.iter().find(|&&(_, count)| {
            counted += u64::from(count);
            counted >= wanted
        })?;
        Some(middle_of(found.0).min(self.max))
    }

    /// Takes in those of another kind, or of another bin.
    pub fn add(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        let mut counts = Vec::with_capacity(self.counts.len() + other.counts.len());
        let mut rest = other.counts.iter().copied().peekable();
        for &(bucket, count) in &self.counts {
            while let Some(lower) = rest.next_if(|next| next.0 < bucket) {
                counts.push(lower);
            }
            let same = rest.next_if(|next| next.0 == bucket).map_or(0, |next| next.1);
            counts.push((bucket, count + same));
        }
        counts.extend(rest);
        self.counts = counts;
    }
}

/// Latencies of the open bin.
#[derive(Clone, Debug)]
struct OpenLatencies {
    counts: Box<[u32]>,
    /// Buckets with anything in them, a bit each.
    touched: [u64; BUCKETS.div_ceil(64)],
    max: u64,
}

impl OpenLatencies {
    fn new() -> Self {
        Self { counts: vec![0; BUCKETS].into(), touched: [0; BUCKETS.div_ceil(64)], max: 0 }
    }

    #[inline]
    fn record(&mut self, ns: u64) {
        let bucket = bucket_of(ns);
        self.counts[bucket] += 1;
        self.touched[bucket / 64] |= 1 << (bucket % 64);
        self.max = self.max.max(ns);
    }

    fn close(&mut self) -> Latencies {
        let mut counts = Vec::with_capacity(self.touched.iter().map(|word| word.count_ones() as usize).sum());
        for (number, word) in self.touched.iter_mut().enumerate() {
            while *word > 0 {
                let bucket = number * 64 + word.trailing_zeros() as usize;
                counts.push((bucket as u16, std::mem::take(&mut self.counts[bucket])));
                *word &= *word - 1;
            }
        }
        Latencies { counts, max: std::mem::take(&mut self.max) }
    }
}

/// State of the engine at the end of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Erased blocks that wait to be written.
    pub free_blocks: u32,
    /// Pages in the write buffer, at most since this was asked last.
    pub buffered_most: u32,
    /// Requests that had arrived and were not answered, at most since this was asked last.
    pub outstanding_most: u32,
}

/// How often what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that arrived, by kind.
    pub arrived: [u64; 4],
    /// Logical pages of those, by kind.
    pub pages: [u64; 4],
    /// Requests answered, by kind.
    pub answered: [u64; 4],
    /// Page reads by cause.
    pub reads: [u64; Cause::ALL.len()],
    /// Page programs by cause.
    pub programs: [u64; Cause::ALL.len()],
    /// Block erases by cause.
    pub erases: [u64; Cause::ALL.len()],
    /// Page reads by the step of the ladder that they ended on; the last: on none.
    pub ladder: [u64; Step::ALL.len() + 1],
}

impl Counts {
    /// Each count of one with the same of another.
    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        fn each<const N: usize>(one: &[u64; N], other: &[u64; N], of: impl Fn(u64, u64) -> u64) -> [u64; N] {
            std::array::from_fn(|index| of(one[index], other[index]))
        }
        Self {
            arrived: each(&self.arrived, &other.arrived, &of),
            pages: each(&self.pages, &other.pages, &of),
            answered: each(&self.answered, &other.answered, &of),
            reads: each(&self.reads, &other.reads, &of),
            programs: each(&self.programs, &other.programs, &of),
            erases: each(&self.erases, &other.erases, &of),
            ladder: each(&self.ladder, &other.ladder, &of),
        }
    }
}

/// Totals of a run up to an instant.
pub(crate) struct SoFar {
    /// How often what happened.
    pub counts: Counts,
    /// Times of arrivals and of answers, summed.
    pub times: [u128; 2],
}

/// Events of one bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// How often what happened.
    pub counts: Counts,
    /// Latencies of reads and writes answered.
    pub latencies: [Latencies; 2],
    /// Requests that had arrived and were not answered, summed over the time in ns.
    pub outstanding_ns: u128,
    /// At the end of the bin.
    pub gauges: Gauges,
    /// Latencies of reads and writes of each flow, where there are several.
    pub flows: Vec<[Latencies; 2]>,
}

impl Bin {
    /// Takes in the bin after it.
    fn absorb(&mut self, later: &Self) {
        self.counts = self.counts.with(&later.counts, |one, other| one + other);
        self.latencies.iter_mut().zip(&later.latencies).for_each(|(into, from)| into.add(from));
        self.outstanding_ns += later.outstanding_ns;
        if self.flows.len() < later.flows.len() {
            self.flows.resize_with(later.flows.len(), Default::default);
        }
        self.flows.iter_mut().flatten().zip(later.flows.iter().flatten()).for_each(|(into, from)| into.add(from));
        self.gauges = Gauges {
            free_blocks: later.gauges.free_blocks,
            buffered_most: self.gauges.buffered_most.max(later.gauges.buffered_most),
            outstanding_most: self.gauges.outstanding_most.max(later.gauges.outstanding_most),
        };
    }
}

/// Bins over the time of one run.
#[derive(Clone, Debug)]
pub struct Series {
    width: Nanos,
    /// Bins that have ended.
    bins: Vec<Bin>,
    /// How long each die was busy in each of them, bin by bin.
    busy: Vec<Nanos>,
    /// Counts at the begin of the open bin, with the sums of times.
    before: Counts,
    times_before: [u128; 2],
    /// Requests that were outstanding then.
    outstanding: u32,
    /// Where the bin that time is in, the open one, begins and ends.
    start: SimTime,
    end: SimTime,
    open_busy: Vec<Nanos>,
    open_latencies: [OpenLatencies; 2],
    open_flows: Vec<[OpenLatencies; 2]>,
}

impl Series {
    /// A series that begins now, when nothing has been counted and this many requests are outstanding.
    #[must_use]
    pub fn new(now: SimTime, dies: u32, outstanding: u32) -> Self {
        Self {
            width: FIRST_WIDTH,
            bins: Vec::new(),
            busy: Vec::new(),
            before: Counts::default(),
            times_before: [0; 2],
            outstanding,
            start: now,
            end: now + FIRST_WIDTH,
            open_busy: vec![Nanos(0); dies as usize],
            open_latencies: [OpenLatencies::new(), OpenLatencies::new()],
            open_flows: Vec::new(),
        }
    }

    fn is_over(&self, now: SimTime) -> bool {
        now >= self.end
    }

    pub(crate) fn close_until(&mut self, now: SimTime, gauges: Gauges, so_far: &SoFar) {
        while self.is_over(now) {
            self.close(gauges, so_far);
            if self.bins.len() == BINS_MAX {
                self.merge_pairs();
            }
        }
    }

    pub(crate) fn close(&mut self, gauges: Gauges, so_far: &SoFar) {
        let counts = so_far.counts.with(&self.before, |after, before| after - before);
        self.before.clone_from(&so_far.counts);
        let [reads, writes] = &mut self.open_latencies;
        let latencies = [reads.close(), writes.close()];
        let outstanding_ns = self.outstanding_ns(&counts, so_far.times);
        let flows = self.open_flows.iter_mut().map(|[reads, writes]| [reads.close(), writes.close()]).collect();
        self.bins.push(Bin { counts, latencies, outstanding_ns, gauges, flows });
        self.busy.extend_from_slice(&self.open_busy);
        self.open_busy.fill(Nanos(0));
        (self.start, self.end) = (self.end, self.end + self.width);
    }

    /// Requests outstanding, summed over the time of the open bin: those that there were for all of it, and each that
    /// arrived from then on, less those answered.
    fn outstanding_ns(&mut self, counts: &Counts, times: [u128; 2]) -> u128 {
        let (arrived, answered) = (counts.arrived.iter().sum::<u64>(), counts.answered.iter().sum::<u64>());
        let left =
            |count: u64, which: usize| u128::from(count) * u128::from(self.end.0) - (times[which] - self.times_before[which]);
        let there = u128::from(self.outstanding) * u128::from(self.width.0);
        let outstanding_ns = there + left(arrived, 0) - left(answered, 1);
        self.times_before = times;
        self.outstanding = (u64::from(self.outstanding) + arrived - answered) as u32;
        outstanding_ns
    }

    fn merge_pairs(&mut self) {
        let dies = self.open_busy.len();
        self.width = self.width * 2;
        self.end = self.start + self.width;
        let pairs = self.bins.len() / 2;
        for pair in 0..pairs {
            let mut first = std::mem::take(&mut self.bins[2 * pair]);
            first.absorb(&self.bins[2 * pair + 1]);
            self.bins[pair] = first;
            for die in 0..dies {
                self.busy[pair * dies + die] = self.busy[2 * pair * dies + die] + self.busy[(2 * pair + 1) * dies + die];
            }
        }
        self.bins.truncate(pairs);
        self.busy.truncate(pairs * dies);
    }

    /// Ends it, and a bin with it.
    pub(crate) fn end(&mut self, now: SimTime, gauges: Gauges, so_far: &SoFar) {
        self.close_until(now, gauges, so_far);
        self.close(gauges, so_far);
        let rest = self.start.since(now);
        if let Some(last) = self.bins.last_mut() {
            last.outstanding_ns -= u128::from(self.outstanding) * u128::from(rest.0);
        }
    }

    /// End of the open bin.
    pub(crate) fn end_of_bin(&self) -> SimTime {
        self.end
    }

    /// Makes the bins of a finished run at least so wide, by merging them.
    pub fn widen(&mut self, width: Nanos) {
        while self.width < width {
            if !self.bins.len().is_multiple_of(2) {
                let gauges = self.bins.last().map_or(Gauges::default(), |bin| bin.gauges);
                self.bins.push(Bin { gauges, ..Bin::default() });
                self.busy.extend(self.open_busy.iter().map(|_| Nanos(0)));
            }
            self.merge_pairs();
        }
    }

    /// How wide bins are.
    #[must_use]
    pub fn width(&self) -> Nanos {
        self.width
    }

    /// The bins that have ended: of a finished run, all.
    #[must_use]
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// How long each die was busy in a bin, of the width of the bin.
    #[must_use]
    pub fn busy(&self, bin: usize) -> &[Nanos] {
        let dies = self.open_busy.len();
        &self.busy[bin * dies..(bin + 1) * dies]
    }

    /// Takes in a fact. What totals tell is no code where it is recorded.
    #[inline(always)]
    pub(crate) fn record(&mut self, at: SimTime, fact: Fact) {
        match fact {
            Fact::Served { die: Some(die), busy, .. } => self.served(at, die, busy),
            Fact::Answered { kind, latency } => self.answered(kind, latency),
            _ => {}
        }
    }

    // Out of line, as what follows: where it is recorded, most runs have no series.
    #[inline(never)]
    fn served(&mut self, at: SimTime, die: DieId, busy: Nanos) {
        debug_assert!(at < self.end, "bins are closed before anything is recorded");
        if at.0 >= self.start.0 + busy.0 {
            self.open_busy[die.index()] += busy;
        } else {
            self.served_since(SimTime(at.0 - busy.0), at, die);
        }
    }

    /// A die was busy in several bins. What it did before the run is left out.
    #[cold]
    fn served_since(&mut self, since: SimTime, at: SimTime, die: DieId) {
        let dies = self.open_busy.len();
        let (mut start, mut until) = (self.start.0, at.0);
        self.open_busy[die.index()] += Nanos(until - start);
        for bin in (0..self.bins.len()).rev() {
            (start, until) = (start - self.width.0, start);
            self.busy[bin * dies + die.index()] += Nanos(until - start.max(since.0));
            if start <= since.0 {
                return;
            }
        }
    }

    /// Takes in a fact of one of several flows. Beyond [`FLOWS_SHOWN`] there is no series of a flow.
    pub(crate) fn of_flow(&mut self, flow: u16, fact: Fact) {
        let (flow, Fact::FlowAnswered { kind, latency, .. }) = (flow as usize, fact) else { return };
        if flow >= FLOWS_SHOWN {
            return;
        }
        if self.open_flows.len() <= flow {
            self.open_flows.resize_with(flow + 1, || [OpenLatencies::new(), OpenLatencies::new()]);
        }
        if let Some(latencies) = self.open_flows[flow].get_mut(kind as usize) {
            latencies.record(latency.0);
        }
    }

    #[inline(never)]
    fn answered(&mut self, kind: RequestKind, latency: Nanos) {
        if let Some(latencies) = self.open_latencies.get_mut(kind as usize) {
            latencies.record(latency.0);
        }
    }
}

#[cfg(test)]
mod tests;
