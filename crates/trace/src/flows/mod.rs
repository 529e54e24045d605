//! Workloads as other tools describe them: several flows of requests, each with its own range, mix, sizes, addresses and pace.
//!
//! A description (a job file of fio, the flows of another simulator) becomes [`Flows`], and these become requests. Everything
//! drawn comes from the seed. Flows of one stage run beside each other, a stage begins when the one before has ended.

mod draw;
mod files;
pub mod fio_job;
mod manner;
mod passes;
mod sizes;
mod strides;

use crate::generate::{GeneratorKind, Workload};
use crate::{Record, TraceError, TraceSource};
pub use manner::{FileOrder, Files, Manner, ReadBack};
use passes::Passes;
pub(crate) use passes::SORTED_LIMIT;
pub(crate) use sizes::{largest, smallest};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
pub use strides::Strides;
use vocab::{HostCommand, HostOp, Nanos, SimTime, StreamId, Streams};

/// Most flows of a workload.
pub const FLOWS_LIMIT: usize = 4096;

/// Kinds of requests; each has its share, its sizes and its pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards.
    Discard,
}

/// All kinds, in the order of lists for each kind.
pub const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Discard];

/// Sizes of the requests of one kind, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Sizes and their weights.
    Weighted(Vec<(u64, f64)>),
    /// Every multiple of `low` up to `high`, each as likely.
    Multiples {
        /// The smallest, and what all are multiples of.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// A normal distribution, in whole sectors, one at least.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
}

/// Where the requests of a flow go within its range, in units of its alignment.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Each behind the one of its kind before, from the start of the range again at its end.
    Sequential,
    /// Anywhere, but nowhere twice before all places were taken.
    Once,
    /// Anywhere.
    Uniform,
    /// Zipf popularity with this skew, spread over the range.
    Zipf(f64),
    /// The popularity that fio calls Pareto, of this power, spread over the range.
    Pareto(f64),
    /// The popularity that fio calls normal, of this deviation in percent, spread over the range.
    Normal(f64),
    /// Zones of the range, for each kind, with the share of its requests that go there.
    Zones([Vec<Zone>; 3]),
    /// Blocks by their number, in this order, and again.
    Listed {
        /// The numbers.
        blocks: Vec<u64>,
        /// Each time begins as many blocks further on as there are numbers.
        moves_on: bool,
    },
}

/// A part of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Share of the requests, 0 to 1.
    pub share: f64,
    /// Where it begins, as a share of the range.
    pub from: f64,
    /// Where it ends, as a share of the range.
    pub to: f64,
}

/// The pace of requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Nanoseconds for each request.
    pub per_request: f64,
    /// Nanoseconds for each byte.
    pub per_byte: f64,
    /// Whether these are means of a Poisson process.
    pub poisson: bool,
}

/// When the requests of a flow come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// As soon as fewer than this many are unanswered.
    Queue(u32),
    /// In time, each kind at its own rate.
    Each([Option<Rate>; 3]),
    /// In time, all kinds at one rate.
    All(Rate),
}

/// Pauses of a flow with a queue: behind a number of answers it waits for all that it has asked, and then for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// The time.
    pub pause: Nanos,
    /// Answers.
    pub every: u64,
}

/// By what clock the requests of a flow come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowClock {
    /// At times of their own.
    Times,
    /// As soon as fewer than `depth` of the flow are unanswered.
    Queue {
        /// Queue depth.
        depth: u32,
        /// When the first comes, behind the start of the stage.
        delay: Nanos,
        /// When it ends, behind the first.
        until: Option<Nanos>,
        /// Pauses between requests.
        pauses: Option<Pauses>,
    },
}

/// How much a flow asks for. Whatever is reached first ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Ends when this many bytes were asked for.
    pub bytes: Option<u64>,
    /// No request goes beyond the bytes.
    pub is_exact: bool,
    /// Ends after this many requests.
    pub requests: Option<u64>,
    /// Ends before this time behind its start.
    pub until: Option<Nanos>,
}

/// Requests that are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Range: first byte and bytes.
    pub range: (u64, u64),
    /// Share of each kind.
    pub shares: [f64; 3],
    /// Sizes of each kind.
    pub sizes: [Sizes; 3],
    /// Alignment of addresses of each kind, within the range, in bytes.
    pub units: [u64; 3],
    /// Where requests go.
    pub place: Place,
    /// Share of the requests of each kind that go there; the others go behind the one before. 1 but for `percentage_random`.
    pub placed: [f64; 3],
    /// When requests come.
    pub pacing: Pacing,
    /// Pauses, of a flow with a queue.
    pub pauses: Option<Pauses>,
    /// How much it is.
    pub amount: Amount,
    /// A flush after each number of writes that is a multiple of one of these.
    pub flush_every: Vec<u64>,
    /// Whether writes must be durable when they are answered.
    pub fua: bool,
    /// How requests follow each other.
    pub manner: Manner,
    /// The seed, where the description has one of its own.
    pub seed: Option<u64>,
}

/// Sources of the requests of a flow.
#[derive(Clone, Debug)]
pub enum Requests {
    /// Drawn requests.
    Synthetic(Box<Synthetic>),
    /// A generator.
    Generated {
        /// Which one.
        kind: &'static GeneratorKind,
        /// Its options, which it was found to take.
        workload: Box<Workload>,
        /// Its queue depth; `None`: its requests have times.
        depth: Option<u32>,
        /// Ends before this time behind its start.
        until: Option<Nanos>,
    },
    /// A recording: its first requests, repeated.
    Recorded {
        /// The recording.
        source: TraceSource,
        /// Requests of one time.
        requests: u64,
        /// Times.
        times: u64,
        /// Requests that are unanswered at most, where its times do not count.
        depth: Option<u32>,
    },
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Its address spaces: one for each of its files.
    pub devices: Vec<u32>,
    /// Stages follow each other.
    pub stage: u32,
    /// When it begins, behind the start of its stage.
    pub delay: Nanos,
    /// Its requests.
    pub requests: Requests,
}

/// A workload of flows.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// Name of the format it was written in.
    pub format: &'static str,
    /// The flows, by stage.
    pub flows: Vec<Flow>,
    /// Bytes of each address space.
    pub extents: Vec<u64>,
    /// Notes: parts of the description that have no counterpart, or were read as something similar.
    pub notes: Vec<String>,
}

impl Flows {
    /// True if all requests come at times of their own.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.flows.iter().all(Flow::is_timed)
    }

    /// Requests of all queues that are unanswered at most: of the stage with the most. `None` where all come at times of their own.
    #[must_use]
    pub fn depth(&self) -> Option<u32> {
        let most = self.stage_depths().into_values().max()?;
        (!self.is_timed()).then_some(most)
    }

    /// True if it takes more than one order and one clock to play it: several flows, or one that pauses, begins later or ends in time.
    #[must_use]
    pub fn has_clocks(&self) -> bool {
        let is_plain = |flow: &Flow| match flow.clock() {
            FlowClock::Times => true,
            FlowClock::Queue { delay, until, pauses, .. } => delay.0 == 0 && until.is_none() && pauses.is_none(),
        };
        self.flows.len() > 1 || !self.flows.iter().all(is_plain)
    }

    /// True if a flow ends in time and has a queue: how many requests that holds depends on the drive.
    #[must_use]
    pub fn ends_in_time(&self) -> bool {
        self.flows.iter().any(|flow| matches!(flow.clock(), FlowClock::Queue { until: Some(_), .. }))
    }

    /// Requests that are unanswered at most, for each stage.
    fn stage_depths(&self) -> BTreeMap<u32, u32> {
        let mut depths = BTreeMap::<u32, u32>::new();
        for flow in &self.flows {
            let depth = depths.entry(flow.stage).or_default();
            *depth = depth.saturating_add(flow.depth().unwrap_or(0));
        }
        depths.values_mut().for_each(|depth| *depth = (*depth).clamp(1, 65_536));
        depths
    }

    /// The requests; the same seed gives the same.
    #[must_use]
    pub fn records(&self, seed: u64) -> FlowRecords<'_> {
        FlowRecords {
            flows: self,
            seed,
            stage: None,
            open: Vec::new(),
            order: BinaryHeap::new(),
            start: 0,
            end: 0,
            last: 0,
            is_over: false,
        }
    }

    /// The requests of the flow of an index, in times from the start of its stage; those of a queue that ends in time need have no end.
    pub fn records_of(&self, index: usize, seed: u64) -> impl Iterator<Item = Result<Record, TraceError>> + '_ {
        let flow = &self.flows[index];
        let mut playing = flow.play(index, seed, 0);
        playing.room = Room::default();
        std::iter::from_fn(move || {
            let asked = playing.advance().transpose()?;
            Some(asked.map(|asked| asked.record(&flow.devices)))
        })
    }
}

/// Requests that are looked at of a queue that ends in time and in no other way.
const LOOKED_AT: u64 = 100_000;

impl Flow {
    /// By what clock its requests come.
    #[must_use]
    pub fn clock(&self) -> FlowClock {
        let Some(depth) = self.depth() else { return FlowClock::Times };
        let (until, pauses) = match &self.requests {
            Requests::Synthetic(drawn) => (drawn.amount.until, drawn.pauses),
            Requests::Generated { until, .. } => (*until, None),
            Requests::Recorded { .. } => (None, None),
        };
        FlowClock::Queue { depth, delay: self.delay, until, pauses }
    }

    /// Begins to play it, in a stage that began then.
    fn play(&self, index: usize, seed: u64, stage: u64) -> Playing<'_> {
        let streams = Streams::new(seed);
        let (depth, mut room) = (self.depth(), Room::default());
        // A queue waits where it is played.
        let start = stage.saturating_add(if depth.is_some() { 0 } else { self.delay.0 });
        let source = match &self.requests {
            Requests::Synthetic(synthetic) => {
                room = Room::of(synthetic, depth);
                let own = synthetic.seed.map_or(streams, Streams::new);
                Player::Drawn(Box::new(Passes::new(synthetic, own, index as u64, start)))
            }
            Requests::Generated { kind, workload, until, .. } => {
                room.requests = until.filter(|_| depth.is_some()).map(|_| LOOKED_AT);
                let end = until.filter(|_| depth.is_none()).map_or(u64::MAX, |until| until.0);
                let drawn =
                    kind.generate(workload, streams.stream_of("generate", index as u64)).expect("it was found to take them");
                let record =
                    |c: HostCommand| Record { at: c.at, device: 0, op: c.op, lba: c.lba, sectors: c.sectors, stream: c.stream };
                Player::Recorded(Box::new(drawn.take_while(move |c| c.at.0 < end).map(move |c| Ok(record(c)))))
            }
            Requests::Recorded { source, requests, times, .. } => {
                let requests = usize::try_from(*requests).unwrap_or(usize::MAX);
                let open = move || Ok(source.open()?.take(requests));
                Player::Recorded(Box::new(crate::looped(open, *times)))
            }
        };
        Playing { devices: &self.devices, source, next: None, taken: 0, room, depth, start, end: start }
    }

    /// Whether its requests come at times of their own.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.depth().is_none()
    }

    /// Its requests that are unanswered at most; `None` where they come at times of their own.
    fn depth(&self) -> Option<u32> {
        match &self.requests {
            Requests::Synthetic(drawn) => match drawn.pacing {
                Pacing::Queue(depth) => Some(depth),
                _ => None,
            },
            Requests::Recorded { depth, .. } | Requests::Generated { depth, .. } => *depth,
        }
    }
}

/// A request of a flow, before it is known when it is due among others.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: u64,
    /// Index among the flow's files.
    file: u32,
    op: HostOp,
    lba: u64,
    sectors: u32,
    stream: StreamId,
}

impl Asked {
    /// The request, of a flow with these files.
    fn record(self, devices: &[u32]) -> Record {
        let Self { at, file, op, lba, sectors, stream } = self;
        let device = devices.get(file as usize).copied().unwrap_or(0);
        Record { at: SimTime(at), device, op, lba: vocab::Lba(lba), sectors, stream }
    }
}

/// So much more is looked at of a flow without an end.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    bytes: Option<u64>,
    requests: Option<u64>,
}

impl Room {
    /// A pass of a queue that ends in time alone, or, without passes, some requests.
    fn of(flow: &Synthetic, depth: Option<u32>) -> Self {
        let Amount { bytes, requests, until, .. } = flow.amount;
        if depth.is_none() || until.is_none() || bytes.is_some() || requests.is_some() {
            return Self::default();
        }
        let bytes = flow.manner.pass;
        Self { bytes, requests: bytes.is_none().then_some(LOOKED_AT) }
    }

    /// Takes a request out of it; false: there is none left.
    fn takes(&mut self, sectors: u32) -> bool {
        let is_left = self.bytes != Some(0) && self.requests != Some(0);
        self.bytes = self.bytes.map(|left| left.saturating_sub(u64::from(sectors) * vocab::SECTOR_BYTES));
        self.requests = self.requests.map(|left| left.saturating_sub(1));
        is_left
    }
}

/// A flow that is being played.
struct Playing<'a> {
    devices: &'a [u32],
    source: Player<'a>,
    next: Option<Asked>,
    /// Requests drawn so far. Divided by the depth it orders flows without times.
    taken: u64,
    room: Room,
    depth: Option<u32>,
    /// When its first request may come, and when it ends as far as that is known.
    start: u64,
    end: u64,
}

enum Player<'a> {
    Drawn(Box<Passes<'a>>),
    Recorded(Box<dyn Iterator<Item = Result<Record, TraceError>> + Send + 'a>),
}

impl Playing<'_> {
    /// The next request; `None` at its end.
    fn advance(&mut self) -> Result<Option<Asked>, TraceError> {
        let asked = match &mut self.source {
            Player::Drawn(drawn) => {
                let next = drawn.next();
                self.end = self.end.max(drawn.end());
                next
            }
            Player::Recorded(records) => match records.next() {
                None => None,
                Some(record) => {
                    let Record { at, device, op, lba, sectors, stream } = record?;
                    let at = if self.depth.is_some() { self.start } else { self.start.saturating_add(at.0) };
                    // All devices of a recording are one where the flow has one file.
                    let file = if self.devices.len() > 1 { device } else { 0 };
                    self.end = self.end.max(at);
                    Some(Asked { at, file, op, lba: lba.0, sectors, stream })
                }
            },
        };
        self.taken += 1;
        Ok(asked.filter(|asked| self.room.takes(asked.sectors)))
    }

    /// Place of its next request among those of other flows: its time where all have times, else how many of its queue's lengths it has
    /// taken.
    fn key(&self, asked: &Asked, are_timed: bool) -> u64 {
        if are_timed {
            return asked.at;
        }
        ((u128::from(self.taken) << 24) / u128::from(self.depth.unwrap_or(1).max(1))) as u64
    }
}

/// The requests of [`Flows`], in order. The first error ends them.
pub struct FlowRecords<'a> {
    flows: &'a Flows,
    seed: u64,
    stage: Option<u32>,
    open: Vec<Playing<'a>>,
    /// Flows by what is due first.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// When the stage began, and when the last of its flows ended.
    start: u64,
    end: u64,
    /// When the last request came: where flows have times and others a queue, they are in one order, but not in one time.
    last: u64,
    is_over: bool,
}

impl FlowRecords<'_> {
    fn is_stage_timed(&self, stage: u32) -> bool {
        self.flows.flows.iter().filter(|flow| flow.stage == stage).all(Flow::is_timed)
    }

    /// Opens the next stage; false behind the last.
    fn next_stage(&mut self) -> Result<bool, TraceError> {
        let stage = self.stage.map_or(0, |stage| stage + 1);
        if self.flows.flows.iter().all(|flow| flow.stage < stage) {
            return Ok(false);
        }
        self.stage = Some(stage);
        self.start = self.end;
        self.open.clear();
        let are_timed = self.is_stage_timed(stage);
        for (index, flow) in self.flows.flows.iter().enumerate().filter(|(_, flow)| flow.stage == stage) {
            let mut playing = flow.play(index, self.seed, self.start);
            playing.next = playing.advance()?;
            if let Some(asked) = &playing.next {
                self.order.push(Reverse((playing.key(asked, are_timed), self.open.len())));
            }
            self.end = self.end.max(playing.end);
            self.open.push(playing);
        }
        Ok(true)
    }

    fn take(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(Reverse((_, index))) = self.order.pop() else {
                if self.next_stage()? {
                    continue;
                }
                return Ok(None);
            };
            let are_timed = self.is_stage_timed(self.stage.unwrap_or(0));
            let playing = &mut self.open[index];
            let asked = playing.next.take().expect("what is in the order has a request");
            playing.next = playing.advance()?;
            self.end = self.end.max(playing.end);
            if let Some(next) = &playing.next {
                self.order.push(Reverse((playing.key(next, are_timed), index)));
            }
            self.last = self.last.max(asked.at);
            return Ok(Some(Asked { at: self.last, ..asked }.record(playing.devices)));
        }
    }
}

impl Iterator for FlowRecords<'_> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let item = self.take().transpose();
        self.is_over = !matches!(item, Some(Ok(_)));
        item
    }
}
