//! A workload like that of a mobile computer's disk: bulk sequential reads beside bursts of small writes that hit few dies.
//!
//! Paper: Y.-B. Chang, L.-P. Chang, "An Erasure-code-based Striping Scheme for NAND-Flash Storage System", section 2.2, in words:
//! most reads are sequential and bulk, few zones get many of them, and every bank gets as many as any other; the majority of writes
//! is small and goes to hot data, so that "some particular banks receive much more writes than others".
//!
//! Two processes of their own, side by side. Reads come in *runs*, each in a zone drawn by popularity, from any sector on, each
//! read where the one before ended. Writes come in *bursts*; most go to a few hot places on few dies of one zone, the others
//! anywhere. Runs and bursts begin as Poisson processes, their lengths are geometric.

use super::{GenerateError, GeneratorKind, Shape, Starts, Turn, Workload, bad};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use vocab::{Bytes, SECTOR_BYTES, Stream};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "mobile-like",
    about: "runs of bulk sequential reads beside bursts of small writes that hit few dies; writes only, unless read_fraction is set; request_size (of writes), mobile",
    build: |workload, stream| Ok(Box::new(MobileShape::new(workload, stream)?)),
};

/// `[generate.mobile]`: options of `mobile-like`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mobile {
    /// Size of every read; a multiple of 512 bytes.
    pub read_size: Bytes,
    /// Reads in a run, on average; 1 at least.
    #[schemars(extend("x-valid" = "1 to 10^6"))]
    pub read_run: f64,
    /// Zones that reads go to.
    #[schemars(extend("x-valid" = "as many as the range holds"))]
    pub zones: u32,
    /// Size of a zone; a multiple of 512 bytes.
    pub zone_size: Bytes,
    /// Popularity of zones: the rank is a Pareto variate of this shape, rounded down. Larger: fewer zones get most reads.
    #[schemars(extend("x-valid" = "0.01 to 100"))]
    pub zone_shape: f64,
    /// Writes in a burst, on average; 1 at least.
    #[schemars(extend("x-valid" = "1 to 10^6"))]
    pub write_burst: f64,
    /// Share of the writes that go anywhere instead of to the hot places, 0 to 1.
    #[schemars(extend("x-valid" = "0 to 1"))]
    pub cold_writes: f64,
    /// Hot places: stripe blocks whose first bytes hot writes go to.
    #[schemars(extend("x-valid" = "1 to 65,536"))]
    pub hot_places: u32,
    /// Dies that the hot places lie on.
    #[schemars(extend("x-valid" = "1 to `dies`"))]
    pub hot_dies: u32,
    /// Dies that stripe blocks go round.
    #[schemars(extend("x-valid" = "1 to 65,536"))]
    pub dies: u32,
    /// Bytes that lie together on one die; the next ones lie on the next die.
    pub stripe_block: Bytes,
    /// Time between requests of one run or burst, as a share of the mean time between requests, 0 to 1; 0: they come at once.
    #[schemars(extend("x-valid" = "0 to 1"))]
    pub gap: f64,
}

impl Default for Mobile {
    fn default() -> Self {
        Self {
            read_size: Bytes(64 << 10),
            read_run: 8.0,
            zones: 12,
            zone_size: Bytes(64 << 20),
            zone_shape: 1.0,
            write_burst: 16.0,
            cold_writes: 0.1,
            hot_places: 64,
            hot_dies: 2,
            dies: 8,
            stripe_block: Bytes(8 << 10),
            gap: 0.1,
        }
    }
}

impl Mobile {
    /// Checks what does not depend on the range.
    fn check(&self) -> Result<(), GenerateError> {
        let sizes = [("mobile.zone_size", self.zone_size), ("mobile.stripe_block", self.stripe_block)];
        for (field, size) in sizes {
            if size.0 == 0 || !size.0.is_multiple_of(SECTOR_BYTES) {
                return Err(bad(field, size, "a multiple of 512B"));
            }
        }
        for (field, mean) in [("mobile.read_run", self.read_run), ("mobile.write_burst", self.write_burst)] {
            if !(1.0..=1e6).contains(&mean) {
                return Err(bad(field, mean, "a mean of 1 to 1e6"));
            }
        }
        for (field, share) in [("mobile.cold_writes", self.cold_writes), ("mobile.gap", self.gap)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(bad(field, share, "a share of 0 to 1"));
            }
        }
        if !(0.01..=100.0).contains(&self.zone_shape) {
            return Err(bad("mobile.zone_shape", self.zone_shape, "a shape of 0.01 to 100"));
        }
        if !(1..=65_536).contains(&self.dies) {
            return Err(bad("mobile.dies", self.dies, "1 to 65536 dies"));
        }
        if !(1..=self.dies).contains(&self.hot_dies) {
            return Err(bad("mobile.hot_dies", self.hot_dies, &format!("1 to all {} dies", self.dies)));
        }
        Ok(())
    }
}

/// Requests of one kind: when the next comes, and how many of its run or burst are left with it.
#[derive(Clone, Copy)]
struct Bouts {
    /// In units of the mean time between requests.
    at: f64,
    left: u64,
    mean_length: f64,
    /// Mean time from the last request of one to the first of the next.
    mean_pause: f64,
    gap: f64,
}

impl Bouts {
    /// Requests that are this share of all; without any, never.
    fn new(share: f64, mean_length: f64, gap: f64, stream: &mut Stream) -> Self {
        // This many requests at this share take mean_length / share on average, of which gaps take a part.
        let mean_pause = mean_length / share - (mean_length - 1.0) * gap;
        let mut bouts = Self { at: 0.0, left: 0, mean_length, mean_pause, gap };
        bouts.begin(stream);
        bouts
    }

    fn begin(&mut self, stream: &mut Stream) {
        // 1 - unit lies in (0, 1], so that logarithms are finite.
        self.at += -(1.0 - stream.unit()).ln() * self.mean_pause;
        let draw = (1.0 - stream.unit()).ln();
        // Geometric: 1 + floor(ln u / ln(1 - 1/mean)).
        let more = if self.mean_length > 1.0 { (draw / (-1.0 / self.mean_length).ln_1p()).floor() } else { 0.0 };
        self.left = 1 + more as u64;
    }

    /// Takes the next request: its time, and whether it is the last of its run or burst.
    fn take(&mut self, stream: &mut Stream) -> (f64, bool) {
        let at = self.at;
        self.left -= 1;
        if self.left == 0 {
            self.begin(stream);
            return (at, true);
        }
        self.at += self.gap;
        (at, false)
    }
}

struct MobileShape {
    options: Mobile,
    /// Reads and writes; drawn first at the first request, from the stream of operations.
    bouts: Option<[Bouts; 2]>,
    read_fraction: f64,
    /// First sectors of the zones, the most popular first.
    zones: Vec<u64>,
    /// First sectors of the hot places.
    hot: Vec<u64>,
    /// Where cold writes may go.
    starts: Starts,
    /// Whether the request at hand is a read, and begins a run.
    is_read: bool,
    begins: bool,
    /// Whether the next read begins a run.
    next_begins: bool,
    /// First sector of the zone of the run, and where its next read begins in it.
    run: (u64, u64),
}

impl MobileShape {
    fn new(workload: &Workload, stream: &mut Stream) -> Result<Self, GenerateError> {
        let options = workload.mobile;
        options.check()?;
        let starts = workload.starts()?;
        if workload.request_size > options.stripe_block {
            return Err(bad(
                "request_size",
                workload.request_size,
                &format!("at most mobile.stripe_block, {}", options.stripe_block),
            ));
        }
        workload.sectors("mobile.read_size", options.read_size)?;
        if options.read_size > options.zone_size {
            return Err(bad("mobile.read_size", options.read_size, &format!("at most mobile.zone_size, {}", options.zone_size)));
        }
        let zone = options.zone_size.0 / SECTOR_BYTES;
        let fit = workload.slots * (workload.slot_size.0 / SECTOR_BYTES) / zone;
        if !(1..=fit).contains(&u64::from(options.zones)) {
            return Err(bad(
                "mobile.zones",
                options.zones,
                &format!("1 to the {fit} zones of {} in the range", options.zone_size),
            ));
        }
        let zones: Vec<u64> = distinct(fit, options.zones, stream).into_iter().map(|index| index * zone).collect();
        let home = zones[stream.below(zones.len() as u64) as usize];
        let first = workload.first_slot * (workload.slot_size.0 / SECTOR_BYTES);
        let hot = hot_places(&options, first, home, workload.sectors("request_size", workload.request_size)?, stream)?;
        let read_fraction = workload.read_fraction;
        let (is_read, begins, next_begins, run) = (false, false, true, (0, 0));
        Ok(Self { options, bouts: None, read_fraction, zones, hot, starts, is_read, begins, next_begins, run })
    }

    /// A rank of zones, from 0: a Pareto variate of at least 1 and below the number of zones + 1, rounded down, less 1.
    fn rank(&self, stream: &mut Stream) -> usize {
        let count = self.zones.len() as f64;
        let shape = self.options.zone_shape;
        // By inversion over [1, count + 1) rather than by trial: a small shape leaves most variates beyond it.
        let beyond = (count + 1.0).powf(-shape);
        let variate = (1.0 - stream.unit() * (1.0 - beyond)).powf(-1.0 / shape);
        (variate.floor().clamp(1.0, count) as usize) - 1
    }

    fn read(&mut self, stream: &mut Stream) -> (u64, u32) {
        let (zone, size) = (self.options.zone_size.0 / SECTOR_BYTES, self.options.read_size.0 / SECTOR_BYTES);
        if self.begins {
            let home = self.zones[self.rank(stream)];
            self.run = (home, stream.below(zone - size + 1));
        } else if self.run.1 + size > zone {
            self.run.1 = 0;
        }
        let sector = self.run.0 + self.run.1;
        self.run.1 += size;
        (sector, size as u32)
    }

    fn write(&self, stream: &mut Stream) -> (u64, u32) {
        let is_cold = stream.chance(self.options.cold_writes);
        if is_cold {
            return self.starts.at(stream.below(self.starts.count));
        }
        (self.hot[stream.below(self.hot.len() as u64) as usize], self.starts.sectors)
    }
}

impl Shape for MobileShape {
    fn turn(&mut self, stream: &mut Stream) -> Option<Turn> {
        let (options, share) = (self.options, self.read_fraction);
        let bouts = self.bouts.get_or_insert_with(|| {
            let reads = Bouts::new(share, options.read_run, options.gap, stream);
            [reads, Bouts::new(1.0 - share, options.write_burst, options.gap, stream)]
        });
        // Without requests of a kind its pause is infinite, and a draw of 0 makes no number of that: the other kind goes first.
        self.is_read = share > 0.0 && (share >= 1.0 || bouts[0].at <= bouts[1].at);
        let (at, was_last) = bouts[usize::from(!self.is_read)].take(stream);
        if self.is_read {
            self.begins = std::mem::replace(&mut self.next_begins, was_last);
        }
        Some(Turn { is_read: self.is_read, at })
    }

    fn next(&mut self, stream: &mut Stream) -> (u64, u32) {
        if self.is_read { self.read(stream) } else { self.write(stream) }
    }
}

/// This many different numbers below `bound`, in random order.
fn distinct(bound: u64, count: u32, stream: &mut Stream) -> Vec<u64> {
    // Floyd's sample, shuffled: as many draws as numbers, however close count is to bound.
    let (mut seen, mut drawn) = (BTreeSet::new(), Vec::with_capacity(count as usize));
    for last in bound - u64::from(count)..bound {
        let draw = stream.below(last + 1);
        let number = if seen.insert(draw) { draw } else { last };
        seen.insert(number);
        drawn.push(number);
    }
    for index in (1..drawn.len()).rev() {
        drawn.swap(index, stream.below(index as u64 + 1) as usize);
    }
    drawn
}

/// First sectors of the hot places: the beginnings of stripe blocks of the zone at `home`, on dies drawn for that.
/// The range begins at sector `first` of the drive, where die 0 holds the first stripe block.
fn hot_places(options: &Mobile, first: u64, home: u64, sectors: u64, stream: &mut Stream) -> Result<Vec<u64>, GenerateError> {
    let (dies, block) = (u64::from(options.dies), options.stripe_block.0 / SECTOR_BYTES);
    let hot_dies = distinct(dies, options.hot_dies, stream);
    let (from, end) = (first + home, first + home + options.zone_size.0 / SECTOR_BYTES);
    // Stripe blocks of each hot die that begin in the zone, and in which a write fits.
    let on = |die: u64| {
        let lowest = from.div_ceil(block);
        let begin = lowest + (die + dies - lowest % dies) % dies;
        let count = (end.saturating_sub(sectors) / block + 1).saturating_sub(begin).div_ceil(dies);
        (begin, if end < from + sectors { 0 } else { count })
    };
    let rows: Vec<(u64, u64)> = hot_dies.iter().map(|&die| on(die)).collect();
    let most = rows.iter().map(|row| row.1).sum::<u64>();
    if !(1..=most.min(65_536)).contains(&u64::from(options.hot_places)) {
        let wanted = format!("1 to the {} stripe blocks of {} hot dies in a zone", most.min(65_536), options.hot_dies);
        return Err(bad("mobile.hot_places", options.hot_places, &wanted));
    }
    let place = |mut index: u64| {
        for &(begin, count) in &rows {
            if index < count {
                return (begin + index * dies) * block - first;
            }
            index -= count;
        }
        unreachable!("numbers are below the sum of the counts")
    };
    Ok(distinct(most, options.hot_places, stream).into_iter().map(place).collect())
}
