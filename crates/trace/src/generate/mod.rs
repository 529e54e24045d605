//! Generated workloads: one file and one line in [`GENERATORS`] add one.
//!
//! A generator is driven by one [`Stream`], from which it derives separate streams for
//! operations, addresses and arrivals: a change of rate leaves the addresses alone.

mod exponential;
mod hot_cold;
mod jesd219;
mod mixed;
mod mobile;
mod scatter;
mod sequential;
mod uniform;
mod zipf;

use std::fmt;
use thiserror::Error;
use vocab::{Bytes, Fua, HostCommand, HostOp, Lba, Nanos, SECTOR_BYTES, SimTime, Stream, StreamId, Streams};

pub use mobile::Mobile;
pub(crate) use scatter::Scatter;
pub use zipf::Zipf;

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// All at time 0: the drive's queue sets the pace (closed loop).
    AtOnce,
    /// One after each such interval, the first at time 0.
    Every(Nanos),
    /// A Poisson process with this mean gap; of `mobile-like`, its own process with this mean gap.
    Poisson(Nanos),
}

/// Most requests of a workload: weeks of simulation.
const REQUESTS_LIMIT: u64 = 1_000_000_000_000;

/// Where popular addresses lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Spread over the range by a random permutation: hot and cold slots are neighbours.
    Scattered,
    /// The hottest first, in one piece at the start of the range.
    Clustered,
}

/// Options of generators. Fields that a generator does not name in its description are not used.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Alignment of requests; 512 bytes at least.
    pub slot_size: Bytes,
    /// First slot of the range used.
    pub first_slot: u64,
    /// Slots of the range used.
    pub slots: u64,
    /// Number of requests.
    pub requests: u64,
    /// Share of reads among requests, 0 to 1.
    pub read_fraction: f64,
    /// When requests arrive.
    pub arrivals: Arrivals,
    /// Size of every request, for generators with one size, and of every write of `mobile-like`; a multiple of 512 bytes.
    pub request_size: Bytes,
    /// Sizes and their weights, for `mixed`.
    pub sizes: Vec<(Bytes, f64)>,
    /// Skew of `zipf`: probability of rank k is proportional to k^-theta. 0 is uniform.
    pub theta: f64,
    /// Share of the requests of `zipf` that begin where the one before ended, 0 to 1.
    pub sequential: f64,
    /// Share of the range that is hot, for `hot-cold`, 0 to 1.
    pub hot_pages: f64,
    /// Share of the requests that go there, for `hot-cold`, 0 to 1.
    pub hot_requests: f64,
    /// Places of popular addresses, for `zipf` and `hot-cold`.
    pub placement: Placement,
    /// Options of `mobile-like`.
    pub mobile: Mobile,
    /// Streams that writes are divided into: as `hot-cold` says, else by equal parts of the range.
    pub streams: u32,
}

impl Default for Workload {
    /// 100,000 writes of 4 KiB over 1 GiB, all at once; theta 0.99; 80 % to 20 %.
    fn default() -> Self {
        Self {
            slot_size: Bytes(4096),
            first_slot: 0,
            slots: 1 << 18,
            requests: 100_000,
            read_fraction: 0.0,
            arrivals: Arrivals::AtOnce,
            request_size: Bytes(4096),
            sizes: vec![(Bytes(4096), 0.7), (Bytes(16 << 10), 0.2), (Bytes(64 << 10), 0.1)],
            theta: 0.99,
            sequential: 0.0,
            hot_pages: 0.2,
            hot_requests: 0.8,
            placement: Placement::Scattered,
            mobile: Mobile::default(),
            streams: 1,
        }
    }
}

/// A workload that cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GenerateError {
    /// A field is out of its range.
    #[error("workload.{field}: found {found}, wanted {wanted}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        found: String,
        /// Valid values.
        wanted: String,
    },
    /// No generator has this name.
    #[error("no generator is called `{name}`; known are {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// All names.
        known: String,
    },
}

/// Draws what a generator fixes once, such as a permutation, from the stream of addresses.
type Build = fn(&Workload, &mut Stream) -> Result<Box<dyn Shape>, GenerateError>;

/// A kind of generated workload.
#[derive(Clone, Copy)]
pub struct GeneratorKind {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what it does and which fields of [`Workload`] shape it.
    pub about: &'static str,
    build: Build,
}

impl fmt::Debug for GeneratorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeneratorKind({})", self.name)
    }
}

/// All generators, in the order they are listed.
pub const GENERATORS: &[GeneratorKind] =
    &[uniform::KIND, zipf::KIND, hot_cold::KIND, sequential::KIND, mixed::KIND, exponential::KIND, jesd219::KIND, mobile::KIND];

/// Kind and time of a request, where a shape decides both.
#[derive(Clone, Copy)]
struct Turn {
    is_read: bool,
    /// In units of the mean gap between requests; never before that of the request before.
    at: f64,
}

/// Chooses where the next request goes: first sector within the range, and sectors.
trait Shape: Send {
    /// Kind and time of the next request; `None`: each is drawn by itself, as read fraction and arrivals say.
    fn turn(&mut self, _: &mut Stream) -> Option<Turn> {
        None
    }

    fn next(&mut self, stream: &mut Stream) -> (u64, u32);

    /// The stream of the last request, of this many, where the shape tells requests apart; `None`: the part of the range that it
    /// begins in says.
    fn stream(&self, _streams: u32) -> Option<StreamId> {
        None
    }
}

/// The generator called `name`.
///
/// # Errors
/// An unknown name; the error lists the known ones.
pub fn named(name: &str) -> Result<&'static GeneratorKind, GenerateError> {
    GENERATORS.iter().find(|kind| kind.name == name).ok_or_else(|| GenerateError::Unknown {
        name: name.escape_default().take(48).collect(),
        known: GENERATORS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "),
    })
}

impl GeneratorKind {
    /// The requests of `workload`; the same stream gives the same requests.
    ///
    /// # Errors
    /// Names the field of the workload that is out of its range.
    pub fn generate(&self, workload: &Workload, mut stream: Stream) -> Result<Generator, GenerateError> {
        workload.check()?;
        let streams = Streams::new(stream.bits());
        let mut addresses = streams.stream("generate/addresses");
        let shape = (self.build)(workload, &mut addresses)?;
        Ok(Generator {
            shape,
            addresses,
            operations: streams.stream("generate/operations"),
            gaps: streams.stream("generate/arrivals"),
            arrivals: workload.arrivals,
            read_fraction: workload.read_fraction,
            start: workload.first_slot * (workload.slot_size.0 / SECTOR_BYTES),
            range: workload.slots * (workload.slot_size.0 / SECTOR_BYTES),
            streams: workload.streams,
            remaining: workload.requests,
            next_at: SimTime::ZERO,
        })
    }
}

/// The requests of a generated workload, in order of time.
pub struct Generator {
    shape: Box<dyn Shape>,
    addresses: Stream,
    operations: Stream,
    gaps: Stream,
    arrivals: Arrivals,
    read_fraction: f64,
    /// First sector of the range, and how many it has.
    start: u64,
    range: u64,
    streams: u32,
    remaining: u64,
    next_at: SimTime,
}

impl Iterator for Generator {
    type Item = HostCommand;

    #[inline]
    fn next(&mut self) -> Option<HostCommand> {
        self.remaining = self.remaining.checked_sub(1)?;
        let turn = self.shape.turn(&mut self.operations);
        let is_read = turn.map_or_else(|| self.operations.chance(self.read_fraction), |turn| turn.is_read);
        let op = if is_read { HostOp::Read } else { HostOp::Write(Fua::No) };
        let (sector, sectors) = self.shape.next(&mut self.addresses);
        let at = match (turn, self.arrivals) {
            (Some(turn), Arrivals::Poisson(mean)) => SimTime((turn.at * mean.0 as f64).round() as u64),
            _ => self.next_at,
        };
        let gap = match self.arrivals {
            Arrivals::AtOnce => 0,
            Arrivals::Every(gap) => gap.0,
            // 1 - unit lies in (0, 1], so the logarithm is finite.
            Arrivals::Poisson(mean) => (-(1.0 - self.gaps.unit()).ln() * mean.0 as f64).round() as u64,
        };
        self.next_at = SimTime(at.0.saturating_add(gap));
        let stream = if self.streams > 1 { self.stream_of(sector) } else { StreamId::default() };
        Some(HostCommand { at, op, lba: Lba(self.start + sector), sectors, stream })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = usize::try_from(self.remaining);
        (remaining.unwrap_or(usize::MAX), remaining.ok())
    }
}

impl Generator {
    /// The stream of the last request, which begins at this sector of the range.
    fn stream_of(&self, sector: u64) -> StreamId {
        let part = || StreamId((u128::from(sector) * u128::from(self.streams) / u128::from(self.range)) as u8);
        self.shape.stream(self.streams).unwrap_or_else(part)
    }
}

impl Workload {
    fn check(&self) -> Result<(), GenerateError> {
        if self.slot_size.0 == 0 || !self.slot_size.0.is_multiple_of(SECTOR_BYTES) || self.slot_size.0 > 1 << 30 {
            return Err(bad("slot_size", self.slot_size, "a multiple of 512B up to 1GiB"));
        }
        let per_slot = self.slot_size.0 / SECTOR_BYTES;
        let end = self.first_slot.checked_add(self.slots).and_then(|end| end.checked_mul(per_slot));
        if self.slots == 0 || end.is_none_or(|end| end > crate::LBA_LIMIT.0) {
            return Err(bad("slots", self.slots, "a range of at least one slot that ends below 2^63 bytes"));
        }
        if self.requests > REQUESTS_LIMIT {
            return Err(bad("requests", self.requests, "at most 1000000000000 requests"));
        }
        let shares = [
            ("read_fraction", self.read_fraction),
            ("sequential", self.sequential),
            ("hot_pages", self.hot_pages),
            ("hot_requests", self.hot_requests),
        ];
        for (field, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return Err(bad(field, value, "a share of 0 to 1"));
            }
        }
        if !(1..=StreamId::COUNT_MAX as u32).contains(&self.streams) {
            return Err(bad("streams", self.streams, "1 to 8 streams"));
        }
        if !(0.0..=100.0).contains(&self.theta) {
            return Err(bad("theta", self.theta, "a skew of 0 to 100"));
        }
        self.check_sizes()?;
        let (Arrivals::Every(gap) | Arrivals::Poisson(gap)) = self.arrivals else {
            return Ok(());
        };
        // Poisson times sum to about requests * gap; where they come to more, the replay says so.
        if self.requests.checked_mul(gap.0).is_none_or(|end| end > crate::SPAN_LIMIT.0) {
            return Err(bad("arrivals", gap, "a gap at which all requests fit into 73 years"));
        }
        Ok(())
    }

    /// Checked for every generator: a list that no size can be drawn from is a slip, even where another one is used.
    fn check_sizes(&self) -> Result<(), GenerateError> {
        const WANTED: &str = "a list of sizes with weights of 0 to 1e9, not all of them 0";
        if let Some((size, weight)) = self.sizes.iter().find(|(_, weight)| !(0.0..=1e9).contains(weight)) {
            return Err(bad("sizes", format!("the weight {weight} of {size}"), WANTED));
        }
        match self.sizes.iter().map(|(_, weight)| weight).sum::<f64>() {
            0.0 if self.sizes.is_empty() => Err(bad("sizes", "an empty list", WANTED)),
            0.0 => Err(bad("sizes", "only weights of 0", WANTED)),
            _ => Ok(()),
        }
    }

    /// Sectors of a request of `size`, which must fit the range.
    fn sectors(&self, field: &'static str, size: Bytes) -> Result<u64, GenerateError> {
        let range = u128::from(self.slots) * u128::from(self.slot_size.0);
        if size.0 == 0 || !size.0.is_multiple_of(SECTOR_BYTES) || size > crate::REQUEST_LIMIT || u128::from(size.0) > range {
            return Err(bad(field, size, "a multiple of 512B, up to 1GiB and up to the range"));
        }
        Ok(size.0 / SECTOR_BYTES)
    }

    /// Places for a request of one size: slot boundaries from which it fits, and its sectors.
    fn starts(&self) -> Result<Starts, GenerateError> {
        let sectors = self.sectors("request_size", self.request_size)?;
        let per_slot = self.slot_size.0 / SECTOR_BYTES;
        let count = (self.slots * per_slot - sectors) / per_slot + 1;
        Ok(Starts { count, per_slot, sectors: sectors as u32 })
    }
}

/// Slot-aligned starts for requests of one size.
#[derive(Clone, Copy)]
struct Starts {
    count: u64,
    per_slot: u64,
    sectors: u32,
}

impl Starts {
    fn at(self, index: u64) -> (u64, u32) {
        (index * self.per_slot, self.sectors)
    }

    /// Slots from the start of a request to where one behind it may start.
    fn slots(self) -> u64 {
        u64::from(self.sectors).div_ceil(self.per_slot)
    }
}

fn bad(field: &'static str, found: impl fmt::Display, wanted: &str) -> GenerateError {
    GenerateError::Field { field, found: found.to_string(), wanted: wanted.to_owned() }
}

/// A choice among weighted sizes.
struct Weighted {
    /// Sectors and the cumulative weight up to and including them, ending at 1.
    steps: Vec<(u32, f64)>,
}

impl Weighted {
    fn new(sizes: &[(u64, f64)]) -> Option<Self> {
        let total: f64 = sizes.iter().map(|size| size.1).sum();
        let is_valid = sizes.iter().all(|size| size.1 >= 0.0) && total > 0.0 && total.is_finite();
        let mut sum = 0.0;
        let step = |&(sectors, weight): &(u64, f64)| {
            sum += weight;
            (sectors as u32, sum / total)
        };
        is_valid.then(|| Self { steps: sizes.iter().map(step).collect() })
    }

    fn draw(&self, stream: &mut Stream) -> u32 {
        let unit = stream.unit();
        let step = self.steps.iter().find(|step| unit < step.1).or(self.steps.last());
        step.map_or(1, |step| step.0)
    }
}
