//! The requests of one drawn flow.

use super::{Asked, KINDS, Kind, Pacing, Place, Rate, Sizes, Synthetic};
use crate::SPAN_LIMIT;
use crate::generate::{Scatter, Zipf};
use vocab::{Fua, HostOp, SECTOR_BYTES, Stream, StreamId, Streams};

/// Numbers that fio takes the mean of for its normal distribution.
const NORMAL_TERMS: u32 = 12;

pub(super) struct Drawn<'a> {
    flow: &'a Synthetic,
    operations: Stream,
    sizes: Stream,
    addresses: Stream,
    gaps: Stream,
    start: u64,
    /// When the next request of each kind is due, in time.
    due: [f64; 3],
    /// Behind the last request of each kind, within the range.
    cursors: [u64; 3],
    /// Places taken of this round, where each is taken once.
    round: Option<(Scatter, u64)>,
    popularity: Option<(Popularity, Scatter)>,
    requests: u64,
    bytes: u64,
    writes: u64,
    /// When a flush is due that follows the last write; none follows the last request of all.
    flush: Option<u64>,
    /// What follows that flush.
    behind: Option<Asked>,
    end: u64,
}

enum Popularity {
    Zipf(Zipf),
    Pareto(f64),
    Normal(f64),
}

impl<'a> Drawn<'a> {
    pub fn new(flow: &'a Synthetic, streams: Streams, index: u64, start: u64) -> Self {
        let stream = |name: &str| streams.stream_of(name, index);
        let mut addresses = stream("flows/addresses");
        let places = places(flow, Kind::Read.index()).max(places(flow, Kind::Write.index())).max(1);
        let popularity = match flow.place {
            Place::Zipf(theta) => Some(Popularity::Zipf(Zipf::new(places, theta))),
            Place::Pareto(h) => Some(Popularity::Pareto(h.ln() / (1.0 - h).ln())),
            Place::Normal(percent) => Some(Popularity::Normal(percent)),
            _ => None,
        };
        let popularity = popularity.map(|popularity| (popularity, Scatter::new(places, &mut addresses)));
        Self {
            flow,
            operations: stream("flows/operations"),
            sizes: stream("flows/sizes"),
            addresses,
            gaps: stream("flows/gaps"),
            start,
            due: [start as f64; 3],
            cursors: [0; 3],
            round: None,
            popularity,
            requests: 0,
            bytes: 0,
            writes: 0,
            flush: None,
            behind: None,
            end: start,
        }
    }

    /// When it ends, as far as that is known.
    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn next(&mut self) -> Option<Asked> {
        if let Some(asked) = self.behind.take() {
            return Some(asked);
        }
        let due = self.flush.take();
        let asked = self.draw()?;
        let Some(at) = due else { return Some(asked) };
        self.behind = Some(asked);
        Some(Asked { at, op: HostOp::Flush, lba: 0, sectors: 0, stream: StreamId::default() })
    }

    /// The next request but for flushes.
    fn draw(&mut self) -> Option<Asked> {
        let amount = self.flow.amount;
        if amount.requests.is_some_and(|most| self.requests >= most) || amount.bytes.is_some_and(|most| self.bytes >= most) {
            return None;
        }
        let (kind, at) = self.turn();
        if at > SPAN_LIMIT.0 || amount.until.is_some_and(|until| at >= self.start.saturating_add(until.0)) {
            self.end = self.end.max(amount.until.map_or(self.end, |until| self.start.saturating_add(until.0)));
            return None;
        }
        let (offset, size) = self.range(kind)?;
        self.pass(kind, size);
        self.requests += 1;
        self.bytes += size;
        self.cursors[kind.index()] = offset + size;
        let op = match kind {
            Kind::Read => HostOp::Read,
            Kind::Write => HostOp::Write(if self.flow.fua { Fua::Yes } else { Fua::No }),
            Kind::Discard => HostOp::Discard,
        };
        if kind == Kind::Write {
            self.writes += 1;
            self.flush = self.flow.flush_every.filter(|every| self.writes.is_multiple_of(*every)).map(|_| at);
        }
        let first = self.flow.range.0 + offset;
        let lba = first / SECTOR_BYTES;
        let sectors = ((first + size).div_ceil(SECTOR_BYTES) - lba) as u32;
        Some(Asked { at, op, lba, sectors, stream: StreamId::default() })
    }

    /// Kind of the next request, and when it comes.
    fn turn(&mut self) -> (Kind, u64) {
        let shares = self.flow.shares;
        if let Pacing::Each(_) = self.flow.pacing {
            let asked = KINDS.into_iter().filter(|kind| shares[kind.index()] > 0.0);
            let first = asked.min_by(|one, other| self.due[one.index()].total_cmp(&self.due[other.index()]));
            let kind = first.unwrap_or(Kind::Read);
            return (kind, self.due[kind.index()].round() as u64);
        }
        let unit = self.operations.unit();
        let kind = match () {
            () if unit < shares[0] => Kind::Read,
            () if unit < shares[0] + shares[1] => Kind::Write,
            () if shares[2] > 0.0 => Kind::Discard,
            // Shares whose sum is a rounding error below 1.
            () if shares[1] > 0.0 => Kind::Write,
            () => Kind::Read,
        };
        (kind, self.due[0].round() as u64)
    }

    /// Notes that a request was sent: when the next one is due.
    fn pass(&mut self, kind: Kind, size: u64) {
        match self.flow.pacing {
            Pacing::Queue(_) => return,
            Pacing::Each(rates) => {
                let gap = rates[kind.index()].map_or(0.0, |rate| self.gap(rate, size));
                self.due[kind.index()] += gap;
            }
            Pacing::All(rate) => self.due[0] += self.gap(rate, size),
            Pacing::Pauses { pause, every } => {
                if (self.requests + 1).is_multiple_of(every) {
                    self.due[0] += pause as f64;
                }
            }
        }
        let last = self.due.iter().copied().fold(0.0, f64::max);
        self.end = self.end.max((last.round() as u64).min(SPAN_LIMIT.0));
    }

    fn gap(&mut self, rate: Rate, size: u64) -> f64 {
        let mean = rate.per_request + rate.per_byte * size as f64;
        // 1 - unit lies in (0, 1], so the logarithm is finite.
        if rate.poisson { -(1.0 - self.gaps.unit()).ln() * mean } else { mean }
    }

    /// First byte within the range, and bytes. `None` where nothing fits any more.
    fn range(&mut self, kind: Kind) -> Option<(u64, u64)> {
        let flow = self.flow;
        let left = flow.amount.bytes.filter(|_| flow.amount.is_exact).map_or(u64::MAX, |most| most - self.bytes);
        let is_placed = flow.placed[kind.index()] >= 1.0 || self.operations.chance(flow.placed[kind.index()]);
        let length = flow.range.1;
        let smallest = smallest(&flow.sizes[kind.index()]);
        if smallest > left {
            return None;
        }
        let offset = if is_placed && flow.place != Place::Sequential {
            self.place(kind)
        } else {
            let cursor = self.cursors[kind.index()];
            if cursor + smallest > length { 0 } else { cursor }
        };
        let size = draw_size(&flow.sizes[kind.index()], (length - offset).min(left), &mut self.sizes);
        Some((offset, size))
    }

    /// Where a request goes that does not follow the one before, as a byte within the range.
    fn place(&mut self, kind: Kind) -> u64 {
        let unit = self.flow.units[kind.index()];
        let places = places(self.flow, kind.index()).max(1);
        let index = match &self.flow.place {
            Place::Once => self.once(places),
            Place::Zones(zones) => self.zoned(&zones[kind.index()], places),
            Place::Zipf(_) | Place::Pareto(_) | Place::Normal(_) => self.popular() % places,
            Place::Uniform | Place::Sequential => self.addresses.below(places),
        };
        index * unit
    }

    fn once(&mut self, places: u64) -> u64 {
        if self.round.as_ref().is_none_or(|(_, taken)| *taken >= places) {
            self.round = Some((Scatter::new(places, &mut self.addresses), 0));
        }
        let (scatter, taken) = self.round.as_mut().expect("it was just begun");
        *taken += 1;
        scatter.at(*taken - 1)
    }

    fn zoned(&mut self, zones: &[super::Zone], places: u64) -> u64 {
        let mut unit = self.addresses.unit();
        let chosen = zones.iter().find(|zone| {
            let is_here = unit < zone.share;
            unit -= zone.share;
            is_here
        });
        let Some(zone) = chosen.or(zones.last()) else { return self.addresses.below(places) };
        let bound = |share: f64| ((share * places as f64).round() as u64).min(places);
        let (from, to) = (bound(zone.from).min(places - 1), bound(zone.to));
        from + self.addresses.below(to.saturating_sub(from).max(1))
    }

    fn popular(&mut self) -> u64 {
        let Some((popularity, scatter)) = &self.popularity else { return 0 };
        let stream = &mut self.addresses;
        let count = scatter.count();
        let rank = match popularity {
            Popularity::Zipf(zipf) => zipf.draw(stream) - 1,
            Popularity::Pareto(power) => ((count - 1) as f64 * stream.unit().powf(*power)) as u64,
            Popularity::Normal(percent) => {
                let sum: f64 = (0..NORMAL_TERMS).map(|_| stream.unit()).sum();
                let spread = (percent / 100.0).min(0.5) * (stream.unit() - 0.5);
                ((sum / f64::from(NORMAL_TERMS) + spread) * count as f64).max(0.0) as u64
            }
        };
        scatter.at(rank.min(count - 1))
    }
}

impl Kind {
    pub(super) fn index(self) -> usize {
        match self {
            Kind::Read => 0,
            Kind::Write => 1,
            Kind::Discard => 2,
        }
    }
}

/// Places for requests of a kind: multiples of its unit from which the smallest fits.
fn places(flow: &Synthetic, kind: usize) -> u64 {
    flow.range.1.checked_sub(smallest(&flow.sizes[kind])).map_or(0, |room| room / flow.units[kind] + 1)
}

/// The smallest request.
pub(crate) fn smallest(sizes: &Sizes) -> u64 {
    match sizes {
        Sizes::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or(SECTOR_BYTES),
        Sizes::Multiples { low, .. } => *low,
        Sizes::Normal { .. } => SECTOR_BYTES,
    }
}

/// A size of at most `room`, where the smallest is not larger than that.
fn draw_size(sizes: &Sizes, room: u64, stream: &mut Stream) -> u64 {
    match sizes {
        Sizes::Weighted(weighted) => match weighted[..] {
            [(size, _)] => size,
            _ => {
                let fitting = || weighted.iter().filter(|(size, _)| *size <= room);
                let mut left = stream.unit() * fitting().map(|(_, weight)| weight).sum::<f64>();
                let chosen = fitting().find(|(_, weight)| {
                    left -= weight;
                    left < 0.0
                });
                chosen.or(fitting().next_back()).map_or_else(|| smallest(sizes), |(size, _)| *size)
            }
        },
        Sizes::Multiples { low, high } => low * (1 + stream.below((high.min(&room) / low).max(1))),
        Sizes::Normal { mean, deviation } => {
            let sectors = ((mean + deviation * stream.normal()) / SECTOR_BYTES as f64).round().max(1.0) as u64;
            (sectors * SECTOR_BYTES).min(crate::REQUEST_LIMIT.0).min(room / SECTOR_BYTES * SECTOR_BYTES)
        }
    }
}
