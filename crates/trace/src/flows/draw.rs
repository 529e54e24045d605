//! The requests of one drawn flow.

use super::files::FileTurns;
use super::sizes::{draw_size, places, smallest, zone_places};
use super::{Asked, KINDS, Kind, Pacing, Place, Rate, Synthetic};
use crate::SPAN_LIMIT;
use crate::generate::{Scatter, Zipf};
use std::collections::VecDeque;
use vocab::{Fua, HostOp, SECTOR_BYTES, Stream, StreamId, Streams};

/// Numbers that fio takes the mean of for its normal distribution.
const NORMAL_TERMS: u32 = 12;

#[derive(Clone)]
pub(super) struct Drawn<'a> {
    flow: &'a Synthetic,
    operations: Stream,
    sizes: Stream,
    addresses: Stream,
    gaps: Stream,
    start: u64,
    /// When the next request of each kind is due, in time.
    due: [f64; 3],
    files: FileTurns,
    popularity: Option<(Popularity, Scatter)>,
    requests: u64,
    /// Requests of each kind whose places were listed.
    listed: [u64; 3],
    bytes: u64,
    writes: u64,
    /// Bytes of this pass.
    pass: u64,
    /// Bytes that were asked for in the present zone.
    zone: u64,
    /// When a flush is due that follows the last write; none follows the last request of all.
    flush: Option<u64>,
    /// Requests that follow the one just given.
    behind: VecDeque<Asked>,
    end: u64,
}

#[derive(Clone)]
enum Popularity {
    Zipf(Zipf),
    Pareto(f64),
    Normal(f64),
}

/// Where a request goes.
struct Spot {
    file: usize,
    /// First byte within the range.
    offset: u64,
    size: u64,
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
            files: FileTurns::new(flow.manner.files),
            popularity,
            requests: 0,
            listed: [0; 3],
            bytes: 0,
            writes: 0,
            pass: 0,
            zone: 0,
            flush: None,
            behind: VecDeque::new(),
            end: start,
        }
    }

    /// When it ends, as far as that is known.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Writes so far.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Begins the next pass; false behind the last.
    pub fn begin_pass(&mut self) -> bool {
        let (is_begun, amount) = (self.pass > 0, self.flow.amount);
        if !is_begun || amount.bytes.is_some_and(|most| self.bytes >= most) || self.is_over() {
            return false;
        }
        self.pass = 0;
        self.flush = None;
        self.start_again();
        true
    }

    /// Begins the files from their start again.
    fn start_again(&mut self) {
        self.files.reset();
        self.zone = 0;
    }

    fn is_over(&self) -> bool {
        self.flow.amount.requests.is_some_and(|most| self.requests >= most)
    }

    /// The next request of this pass.
    pub fn next(&mut self) -> Option<Asked> {
        if let Some(asked) = self.behind.pop_front() {
            return Some(asked);
        }
        // A flush takes a turn among the files, as a request does.
        let due = self.flush.take().map(|at| (at, self.files.turn(&mut self.addresses).unwrap_or(0)));
        let asked = self.draw()?;
        if asked.op == HostOp::Discard && self.flow.manner.rewrites {
            self.rewrite(asked);
        }
        let Some((at, file)) = due else { return Some(asked) };
        self.behind.push_front(asked);
        Some(flush(at, file as u32))
    }

    /// The write that follows a discard, of what it discarded. In order writes may be smaller: they go on from where the last one ended, up to the
    /// one that begins where the discard does (`set_rw_ddir` of fio's io_u.c).
    fn rewrite(&mut self, discard: Asked) {
        let op = self.write();
        let sectors = (smallest(&self.flow.sizes[Kind::Write.index()]) / SECTOR_BYTES) as u32;
        if self.flow.place != Place::Sequential || sectors >= discard.sectors {
            self.behind.push_back(Asked { op, ..discard });
            return self.wrote(discard.at);
        }
        let begin = self.flow.range.0 / SECTOR_BYTES;
        let cursor = &mut self.files.states[discard.file as usize].cursors[Kind::Write.index()];
        let mut lba = begin + *cursor / SECTOR_BYTES;
        let mut count = 0;
        while lba <= discard.lba {
            self.behind.push_back(Asked { op, lba, sectors, ..discard });
            (lba, count) = (lba + u64::from(sectors), count + 1);
        }
        *cursor = (lba - begin) * SECTOR_BYTES;
        (0..count).for_each(|_| self.wrote(discard.at));
    }

    fn write(&self) -> HostOp {
        HostOp::Write(if self.flow.fua { Fua::Yes } else { Fua::No })
    }

    fn wrote(&mut self, at: u64) {
        self.writes += 1;
        self.flush = self.flow.flush_every.iter().any(|every| self.writes.is_multiple_of(*every)).then_some(at);
    }

    /// The next request but for flushes.
    fn draw(&mut self) -> Option<Asked> {
        let (amount, pass) = (self.flow.amount, self.flow.manner.pass);
        let is_full = |most: Option<u64>, taken: u64| most.is_some_and(|most| taken >= most);
        if self.is_over() || is_full(amount.bytes, self.bytes) || is_full(pass, self.pass) {
            return None;
        }
        let (kind, at) = self.turn();
        if at > SPAN_LIMIT.0 || amount.until.is_some_and(|until| at >= self.start.saturating_add(until.0)) {
            self.end = self.end.max(amount.until.map_or(self.end, |until| self.start.saturating_add(until.0)));
            return None;
        }
        let Some(Spot { file, offset, size }) = self.spot(kind) else {
            // Nothing more fits into this pass: it counts as done.
            let left = pass.map_or(0, |pass| pass.saturating_sub(self.pass));
            self.bytes = self.bytes.saturating_add(left);
            self.pass = self.pass.saturating_add(left);
            return None;
        };
        self.tick(kind, size);
        self.requests += 1;
        self.bytes += size;
        self.pass += size;
        self.zone += if self.flow.manner.rewrites { 2 * size } else { size };
        let state = &mut self.files.states[file];
        state.bytes += size;
        (state.starts[kind.index()], state.cursors[kind.index()]) = (offset, offset + size);
        let op = match kind {
            Kind::Read => HostOp::Read,
            Kind::Write => self.write(),
            Kind::Discard => HostOp::Discard,
        };
        if kind == Kind::Write {
            self.wrote(at);
        }
        let first = self.flow.range.0 + offset;
        let lba = first / SECTOR_BYTES;
        let sectors = ((first + size).div_ceil(SECTOR_BYTES) - lba) as u32;
        Some(Asked { at, file: file as u32, op, lba, sectors, stream: StreamId::default() })
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
    fn tick(&mut self, kind: Kind, size: u64) {
        match self.flow.pacing {
            Pacing::Queue(_) => return,
            Pacing::Each(rates) => {
                let gap = rates[kind.index()].map_or(0.0, |rate| self.gap(rate, size));
                self.due[kind.index()] += gap;
            }
            Pacing::All(rate) => self.due[0] += self.gap(rate, size),
        }
        let last = self.due.iter().copied().fold(0.0, f64::max);
        self.end = self.end.max((last.round() as u64).min(SPAN_LIMIT.0));
    }

    fn gap(&mut self, rate: Rate, size: u64) -> f64 {
        let mean = rate.per_request + rate.per_byte * size as f64;
        // 1 - unit lies in (0, 1], so the logarithm is finite.
        if rate.poisson { -(1.0 - self.gaps.unit()).ln() * mean } else { mean }
    }

    /// Where the next request of a kind goes; `None` where nothing fits any more.
    fn spot(&mut self, kind: Kind) -> Option<Spot> {
        let flow = self.flow;
        let amount = flow.amount;
        let left = |most: Option<u64>, taken: u64| most.filter(|_| amount.is_exact).map_or(u64::MAX, |most| most - taken);
        let left = left(amount.bytes, self.bytes).min(left(flow.manner.pass, self.pass));
        let is_placed = flow.placed[kind.index()] >= 1.0 || self.operations.chance(flow.placed[kind.index()]);
        let smallest = smallest(&flow.sizes[kind.index()]);
        if smallest > left {
            return None;
        }
        let mut again = flow.manner.strides.map_or(amount.is_exact, |strides| !strides.begins_again);
        loop {
            let Some(file) = self.files.turn(&mut self.addresses) else {
                // With an amount beyond the size of the files they begin from the start again.
                if std::mem::replace(&mut again, true) {
                    return None;
                }
                self.start_again();
                continue;
            };
            let Some(offset) = self.offset(file, kind, is_placed, smallest) else {
                self.files.close();
                if !self.files.is_one() {
                    continue;
                }
                if std::mem::replace(&mut again, true) {
                    return None;
                }
                self.start_again();
                continue;
            };
            let size = draw_size(&flow.sizes[kind.index()], (flow.range.1 - offset).min(left), &mut self.sizes);
            return Some(Spot { file, offset, size });
        }
    }

    /// First byte within the range; `None`: the file is done.
    fn offset(&mut self, file: usize, kind: Kind, is_placed: bool, smallest: u64) -> Option<u64> {
        let (length, manner) = (self.flow.range.1, self.flow.manner);
        if let Some(strides) = manner.strides {
            strides.turn(&mut self.files.states[file], kind.index(), &mut self.zone, length);
        }
        let state = &self.files.states[file];
        let cursor = state.cursors[kind.index()];
        let fits = |offset: &u64| offset.saturating_add(smallest) <= length;
        if manner.step != 0 {
            return self.stepped(cursor, state.zone).filter(fits);
        }
        let is_done = match self.flow.place {
            Place::Sequential => !fits(&cursor),
            _ => state.bytes >= length,
        };
        // One file without zones begins again.
        let ends = !self.files.is_one() || manner.strides.is_some() && self.flow.place == Place::Sequential;
        if is_done && ends {
            return None;
        }
        let in_order = if fits(&cursor) { cursor } else { 0 };
        let is_followed = manner.burst > 1 && !self.requests.is_multiple_of(manner.burst) && in_order == cursor;
        if !is_placed || self.flow.place == Place::Sequential {
            return Some(in_order);
        }
        if is_followed {
            return Some(if manner.is_burst_in_place { state.starts[kind.index()] } else { cursor });
        }
        if let Place::Listed { blocks, moves_on } = &self.flow.place {
            let (count, number) = (blocks.len() as u64, self.listed[kind.index()]);
            let block = blocks[(number % count) as usize] + if *moves_on { number / count * count } else { 0 };
            let offset = Some(block * self.flow.units[kind.index()]).filter(fits);
            self.listed[kind.index()] += u64::from(offset.is_some());
            return offset;
        }
        let places = match manner.strides {
            None => places(self.flow, kind.index()),
            Some(strides) => zone_places(self.flow, kind.index(), strides.zone.min(length)),
        };
        let zone = self.files.states[file].zone;
        Some(zone + self.place(file, kind, places.max(1))).filter(|offset| manner.strides.is_none() || fits(offset))
    }

    /// The place in order with a step (`get_next_seq_offset` of fio's io_u.c), where `cursor` is the end of the request before and `zone` the
    /// first byte of its zone. `None` at the end.
    fn stepped(&self, cursor: u64, zone: u64) -> Option<u64> {
        let ((start, length), step) = (self.flow.range, i128::from(self.flow.manner.step));
        if cursor >= length {
            return None;
        }
        // The file ends where the range does, and a way backwards begins at the length of the range, counted from the file's start.
        let file = i128::from(start) + i128::from(length);
        let (start, length, mut at) = (i128::from(start + zone), i128::from(length), i128::from(cursor - zone.min(cursor)));
        if at == 0 && start > 0 && step < 0 {
            at = length - start;
        }
        if at != 0 {
            at += step;
            if at < 0 || at >= file {
                at = if step > 0 { start } else { length + step };
            }
        }
        u64::try_from(at + i128::from(zone)).ok()
    }

    /// Where a request goes that does not follow the one before, as a byte within the range, or within its zone, with this many places.
    fn place(&mut self, file: usize, kind: Kind, places: u64) -> u64 {
        let unit = self.flow.units[kind.index()];
        let index = match &self.flow.place {
            Place::Once => self.once(file, places),
            Place::Zones(zones) => self.zoned(&zones[kind.index()], places),
            Place::Zipf(_) | Place::Pareto(_) | Place::Normal(_) => self.popular() % places,
            Place::Uniform | Place::Sequential | Place::Listed { .. } => self.addresses.below(places),
        };
        index * unit
    }

    fn once(&mut self, file: usize, places: u64) -> u64 {
        let round = &mut self.files.states[file].round;
        if round.as_ref().is_none_or(|(_, taken)| *taken >= places) {
            *round = Some((Scatter::new(places, &mut self.addresses), 0));
        }
        let (scatter, taken) = round.as_mut().expect("it was just begun");
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

/// A flush of a file.
pub(super) fn flush(at: u64, file: u32) -> Asked {
    Asked { at, file, op: HostOp::Flush, lba: 0, sectors: 0, stream: StreamId::default() }
}
