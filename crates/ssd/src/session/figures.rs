//! The figures of a run, from the facts folded.

use crate::config::{Pace, Setup};
use crate::core::flash::FlashPayload;
use crate::core::sorted::sorted;
use crate::engine::Engine;
use crate::engine::clocks::FlowClock;
use crate::host::explain::{Explained, Explanations, WaitFolds};
use crate::host::requests::Requests;
use crate::result::{
    AroundResult, Cdf, EccResult, ExplainedResult, FlashResult, FlowResult, HostResult, LadderResult, Latency, Life,
    OracleResult, PreconditionResult, RedundancyResult, ReplayResult, RunResult, SlcResult, StreamResult, WaitsResult,
    WarmUpResult, WearResult,
};
use crate::session::{Prepared, pe_cycles};
use device::facts::{RequestKind, Step, StreamWork};
use device::flows::FlowFolds;
use device::folds::{Folds, LadderFolds, SlcFolds};
use device::waits::Wait;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use vocab::{BlockAddr, Cause, Grid, Nanos, SECTOR_BYTES, SimTime, StripeId};

/// How much more than the mean die the most worn one took, by the P/E cycles added to each block.
fn die_wear_ratio(pe_added: &[u32], grid: &Grid) -> Option<f64> {
    let mut of_die = vec![0u64; grid.dies() as usize];
    for (block, added) in (0..).map(BlockAddr).zip(pe_added) {
        of_die[grid.split_block(block).0.index()] += u64::from(*added);
    }
    let (most, all) = (*of_die.iter().max()?, of_die.iter().sum::<u64>());
    (all > 0).then(|| most as f64 * of_die.len() as f64 / all as f64)
}

impl<P: FlashPayload> Prepared<P> {
    /// Result of the run, from the facts folded.
    pub(crate) fn result(&self, events: u64, clocks: &Clocks) -> RunResult {
        let (device, host) = (&self.engine.core.device, &self.engine.host);
        let of_run = OfRun {
            setup: &self.setup,
            folds: &device.folds,
            grid: &device.grid,
            requests: &host.requests,
            now: device.now,
            first: host.requests.first_arrival.unwrap_or(device.now),
            buffered: host.buffer.pages() as i64 - self.buffered_before as i64,
        };
        let pe = pe_cycles(&self.engine);
        let pe_added: Vec<u32> = pe.iter().zip(&self.pe_before).map(|(after, before)| after.saturating_sub(*before)).collect();
        RunResult {
            scheme: self.setup.scheme.name.clone(),
            host: of_run.host(),
            oracle: OracleResult { checked_reads: device.folds.checked, mismatches: device.folds.mismatches },
            flash: of_run.flash(device.ecc.is_some()),
            ecc: of_run.ecc(self.engine.care.refresh.refreshed),
            ladder: ladder_result(&device.folds.ladder),
            around: of_run.around(self.engine.writer.valid_code_groups()),
            slc: slc_result(&device.folds.slc),
            redundancy: RedundancyResult {
                rebuilt_reads: device.folds.rebuilt,
                replaced_s: replaced_in(&self.engine, of_run.first).map(Nanos::as_secs_f64),
                rebuild_s: self.engine.care.rebuild_time(&self.engine.core).map(Nanos::as_secs_f64),
                rebuild_left: self.engine.care.rebuild_left(&self.engine.core),
                life: self.life(of_run.first),
            },
            streams: of_run.streams(),
            precondition: PreconditionResult {
                overwrites: self.steady.overwrites,
                waf: self.steady.waf,
                converged: self.steady.converged,
            },
            warm_up: self.warmed.map_or_else(WarmUpResult::default, |warmed| WarmUpResult {
                requests: warmed.requests,
                pages: warmed.pages,
                waf: Some(warmed.waf),
                steady: warmed.is_steady,
                is_phased: warmed.is_phased,
            }),
            batches: device.folds.batches.whole(),
            wear: WearResult { die_wear_ratio: die_wear_ratio(&pe_added, &device.grid), pe_added, pe_cycles: pe },
            replay: of_run.replay(events, clocks),
            waits: host.explanations.as_ref().map(|explanations| waits_result(&explanations.folds)),
            flows: of_run.flows(clocks, host.explanations.as_deref()),
        }
    }

    /// Where in its life the drive is, if its scheme has stages; the first request came at `first`.
    pub(super) fn life(&self, first: SimTime) -> Option<Life> {
        let (core, writer) = (&self.engine.core, &self.engine.writer);
        let stripes = writer.stripes_if_any()?;
        let stage = writer.stripe_scheme()?.life_stage()?;
        let since = |at: SimTime| at.max(first).since(first).as_secs_f64();
        let began_s = [2, 3].map(|stage| stripes.stages.iter().find(|began| began.0 == stage).map(|began| since(began.1)));
        let has_contents = |&stripe: &StripeId| !stripes.stripe_state(core, stripe).0.is_empty();
        let mut life = Life { stage, began_s, ..Life::default() };
        for stripe in (0..stripes.stripe_count(core)).map(StripeId).filter(has_contents) {
            life.stripes += 1;
            life.with_parity += u32::from(stripes.is_protected(core, stripe));
        }
        Some(life)
    }
}

/// By what clock the requests of a run came.
pub(crate) enum Clocks {
    /// All by one.
    One(Pace),
    /// Those of each flow by one of its own.
    Each(Vec<FlowClock>),
}

/// When a die was replaced last, after the first arrival of a run; `None` where none was in the run.
fn replaced_in<P: FlashPayload>(engine: &Engine<P>, first: SimTime) -> Option<Nanos> {
    engine.care.replacements.last().filter(|at| *at >= first).map(|at| at.since(first))
}

impl Clocks {
    /// True if all come at times of their own.
    fn are_times(&self) -> bool {
        match self {
            Self::One(pace) => *pace == Pace::Open,
            Self::Each(clocks) => clocks.iter().all(|clock| *clock == FlowClock::Times),
        }
    }
}

/// Inputs of the figures of a run, whatever its pages carry.
struct OfRun<'a> {
    setup: &'a Setup,
    folds: &'a Folds,
    grid: &'a Grid,
    requests: &'a Requests,
    now: SimTime,
    /// When the first request came.
    first: SimTime,
    /// Pages in the write buffer now, less those when the run began.
    buffered: i64,
}

impl OfRun<'_> {
    /// Figures of each stream, where the drive has several.
    fn streams(&self) -> Vec<StreamResult> {
        let config = &self.setup.gc.streams;
        let folds = &self.folds.streams;
        let of = |stream: u32| {
            let pages = folds.get(stream as usize).copied().unwrap_or_default().pages;
            let of = |work: StreamWork| pages[work as usize];
            StreamResult {
                host_pages: of(StreamWork::Sent),
                written_pages: of(StreamWork::Written),
                moved_pages: of(StreamWork::Moved),
            }
        };
        if config.are_told_apart() { (0..config.count).map(of).collect() } else { Vec::new() }
    }

    fn host(&self) -> HostResult {
        let (folds, first) = (self.folds, self.first);
        let [reads, writes] = folds.latencies.as_deref().expect("a run counts them");
        let mut both = reads.clone();
        both.add(writes).expect("same precision");
        let ([read_sum, write_sum], [read_max, write_max]) = (folds.latency_sum, folds.latency_max);
        HostResult {
            requests: by_kind(&folds.requests),
            read_pages: folds.pages[RequestKind::Read as usize],
            write_pages: folds.pages[RequestKind::Write as usize],
            latency_us: latency(&both, read_sum + write_sum, read_max.max(write_max)),
            read_latency_us: latency(reads, read_sum, read_max),
            write_latency_us: latency(writes, write_sum, write_max),
            completed_late: both.len() - both.count_between(0, LATE_NS),
            read_cdf: cdf(reads),
            write_cdf: cdf(writes),
            media_errors: folds.media_errors,
            write_errors: folds.write_errors,
            buffer_hits: folds.buffer_hits,
            read_only_s: self.requests.read_only_since.map(|since| since.max(first).since(first).as_secs_f64()),
            refused_requests: folds.refused,
        }
    }

    fn flash(&self, has_codec: bool) -> FlashResult {
        let folds = self.folds;
        // Folding is named where it happened: most drives have no SLC cache.
        let by_cause = |each: &[u64; Cause::ALL.len()]| {
            let named = Cause::ALL.iter().filter(|&&cause| cause != Cause::Fold || each[cause as usize] > 0);
            by_name(named.map(|&cause| (cause.name(), each[cause as usize])).collect())
        };
        let written = folds.pages[RequestKind::Write as usize] as i64 - self.buffered;
        FlashResult {
            reads: by_cause(&folds.reads),
            programs: by_cause(&folds.programs),
            erases: by_cause(&folds.erases),
            waf: (written > 0).then(|| folds.programmed_slots() as f64 / written as f64),
            buffered_pages: self.buffered,
            padded_slots: folds.padded_slots,
            energy_j: self.energy_j(has_codec),
            astray_reads: folds.astray,
            sensed_pages: self.sensed_pages(),
            program_pulses: folds.program_pulses,
            rested_s: self.rested_s(),
            die_utilisation: self.busy_share(folds.busy, self.grid.dies()),
            channel_utilisation: self.busy_share(folds.carried, self.grid.geometry().channels),
            channel_bytes: self.channel_bytes(),
            ops: folds.flash_ops(),
        }
    }

    /// Data and OOB bytes that each channel carried.
    fn channel_bytes(&self) -> Vec<u64> {
        let mut bytes: Vec<u64> = self.folds.moved.iter().map(|bytes| bytes.0).collect();
        bytes.resize(self.grid.geometry().channels as usize, 0);
        bytes
    }

    /// From the first request until the drive rests: GC may go on after the last answer, and counts of flash with it.
    fn rested_s(&self) -> f64 {
        self.now.max(self.requests.last_answer).max(self.first).since(self.first).as_secs_f64()
    }

    /// Mean share of that time in which one of `count` was busy, where all of them were for `busy`.
    fn busy_share(&self, busy: Nanos, count: u32) -> f64 {
        let rested_s = self.rested_s();
        if rested_s > 0.0 { busy.as_secs_f64() / (f64::from(count) * rested_s) } else { 0.0 }
    }

    /// Pages of planes whose cells were sensed: neither those that a register had, nor those that were being gathered.
    fn sensed_pages(&self) -> u64 {
        let Folds { reads, in_register, in_gathering, ladder, .. } = self.folds;
        (reads.iter().sum::<u64>() + ladder.further_sensings).saturating_sub(in_register + in_gathering)
    }

    /// Figures of each of several flows.
    fn flows(&self, clocks: &Clocks, explanations: Option<&Explanations>) -> Vec<FlowResult> {
        let Clocks::Each(clocks) = clocks else { return Vec::new() };
        let none = FlowFolds::default();
        let of = |(flow, clock): (usize, &FlowClock)| {
            let folds = self.folds.flows.get(flow).unwrap_or(&none);
            let waits = explanations.map(|all| all.flows.get(flow).map(waits_result).unwrap_or_default());
            self.flow(folds, *clock, waits)
        };
        clocks.iter().enumerate().map(of).collect()
    }

    fn flow(&self, folds: &FlowFolds, clock: FlowClock, waits: Option<WaitsResult>) -> FlowResult {
        let [reads, writes] = &folds.latencies;
        let mut both = reads.clone();
        both.add(writes).expect("same precision");
        let ([read_sum, write_sum], [read_max, write_max]) = (folds.latency_sum, folds.latency_max);
        let bytes = |kind: RequestKind| folds.sectors[kind as usize] * SECTOR_BYTES;
        let (first, last) = folds.sent.unwrap_or((self.first, self.first));
        let simulated_s = folds.last_answer.max(first).since(first).as_secs_f64();
        FlowResult {
            requests: by_kind(&folds.requests),
            read_bytes: bytes(RequestKind::Read),
            written_bytes: bytes(RequestKind::Write),
            began_s: folds.sent.map(|_| first.max(self.first).since(self.first).as_secs_f64()),
            simulated_s,
            saturated: clock == FlowClock::Times && is_behind(simulated_s, last.since(first).as_secs_f64()),
            latency_us: latency(&both, read_sum + write_sum, read_max.max(write_max)),
            read_latency_us: latency(reads, read_sum, read_max),
            write_latency_us: latency(writes, write_sum, write_max),
            waits,
        }
    }

    fn replay(&self, events: u64, clocks: &Clocks) -> ReplayResult {
        let (host, first) = (self.requests, self.first);
        let span = host.last_answer.max(first).since(first).as_secs_f64();
        let arrivals = host.last_arrival.max(first).since(first).as_secs_f64();
        let (busy, dies) = (self.folds.busy.as_secs_f64(), f64::from(self.grid.dies()));
        // The drive needed noticeably longer than the arrivals took, or never rested.
        let is_behind = is_behind(span, arrivals) || self.busy_share(self.folds.busy, self.grid.dies()) > 0.95;
        ReplayResult {
            simulated_s: span,
            saturated: clocks.are_times() && span > 0.0 && is_behind,
            offered_load: if arrivals > 0.0 { busy / (dies * arrivals) } else { f64::INFINITY },
            events,
            event_digest: self.folds.digest,
        }
    }

    /// Energy of the flash, and of the codecs where there are any. A program and an erase take
    /// all planes of a gang.
    fn energy_j(&self, has_codec: bool) -> BTreeMap<String, f64> {
        let (folds, geometry) = (self.folds, self.grid.geometry());
        let energy = &self.setup.drive.energy;
        let gang = f64::from(geometry.slots_per_page()) * geometry.slot_size.0 as f64 / geometry.page_size.0 as f64;
        // Of a page of the map: its share of a page of one plane, and the planes that are erased with it.
        let (program, erase) = match self.setup.drive.timing.unit {
            Some(unit) => (1.0 / f64::from(unit.plane_pages), f64::from(unit.planes)),
            None => (gang, gang),
        };
        let joules = |counts: &[u64], each: vocab::Nanojoules, planes: f64| {
            counts.iter().sum::<u64>() as f64 * each.0 as f64 * 1e-9 * planes
        };
        let sensed = joules(&[self.sensed_pages()], energy.read, 1.0);
        let (programmed, erased) = (joules(&folds.programs, energy.program, program), joules(&folds.erases, energy.erase, erase));
        let mut by_operation = vec![("read", sensed), ("program", programmed), ("erase", erased)];
        if folds.recharges > 0 {
            by_operation.push(("recharge", joules(&[folds.recharges], energy.program, program)));
        }
        if has_codec {
            by_operation.push(("codec", self.codec_joules()));
        }
        by_name(by_operation)
    }

    fn codec_joules(&self) -> f64 {
        let ecc = &self.folds.ecc;
        let busy = ecc.decode.as_secs_f64() + ecc.encode.as_secs_f64();
        busy * f64::from(self.setup.ecc.codec_microwatt) * 1e-6
    }

    fn around(&self, valid_groups: u64) -> AroundResult {
        let around = &self.folds.around;
        AroundResult {
            reads: around.reads,
            extra_reads: around.extra,
            withdrawn_reads: around.withdrawn,
            derived_pages: around.derived,
            ahead_pages: around.ahead,
            ahead_hits: around.ahead_hits,
            encoded_groups: around.encoded_groups,
            valid_groups,
        }
    }

    fn ecc(&self, refreshed_units: u64) -> EccResult {
        let (folds, ecc) = (self.folds, &self.folds.ecc);
        let reads: u64 = folds.reads.iter().sum();
        EccResult {
            codewords: ecc.codewords,
            corrected_bits: ecc.corrected_bits,
            failed_codewords: ecc.failed_codewords,
            miscorrected_codewords: ecc.miscorrected_codewords,
            ldpc_disagreements: ecc.ldpc_disagreements,
            unreadable_pages: ecc.unreadable_pages,
            decode_us_mean: if reads > 0 { ecc.decode.as_micros_f64() / reads as f64 } else { 0.0 },
            programs_by_t: ecc.programs_by_t.clone(),
            refreshed_units,
            recharged_pages: folds.recharges,
        }
    }
}

/// Figures by name.
fn by_name<T>(named: Vec<(&str, T)>) -> BTreeMap<String, T> {
    sorted(named.into_iter().map(|(name, figure)| (name.to_owned(), figure)))
}

fn by_kind(requests: &[u64; 4]) -> BTreeMap<String, u64> {
    by_name(RequestKind::ALL.iter().map(|&(kind, name)| (name, requests[kind as usize])).collect())
}

/// True if answers took noticeably longer than requests came, in seconds.
fn is_behind(answered: f64, sent: f64) -> bool {
    answered - sent > 0.05 * sent.max(1e-3)
}

fn waits_result([reads, writes]: &[WaitFolds; 2]) -> WaitsResult {
    WaitsResult {
        reads: explained(&reads.slowest(1.0)),
        slowest_reads: explained(&reads.slowest(0.01)),
        writes: explained(&writes.slowest(1.0)),
        slowest_writes: explained(&writes.slowest(0.01)),
    }
}

fn slc_result(folds: &SlcFolds) -> SlcResult {
    SlcResult { host_pages: folds.host, past_pages: folds.past, folded_pages: folds.folded, erases: folds.erases }
}

/// Empty where there was no ladder.
fn ladder_result(ladder: &LadderFolds) -> LadderResult {
    if ladder.ended.iter().all(|&reads| reads == 0) {
        return LadderResult::default();
    }
    let names = Step::ALL.map(|(_, name)| name);
    let seconds = |times: &[Nanos; Step::ALL.len()]| by_name(names.into_iter().zip(times.map(Nanos::as_secs_f64)).collect());
    LadderResult {
        reads: by_name(names.into_iter().chain(["parity"]).zip(ladder.ended).collect()),
        reads_by_retries: ladder.retries.clone(),
        flash_s: seconds(&ladder.flash),
        decode_s: seconds(&ladder.decode),
    }
}

fn explained(explained: &Explained) -> ExplainedResult {
    let waits = Wait::ALL.iter().zip(explained.mean_ns).filter(|(_, mean)| *mean > 0.0);
    ExplainedResult {
        requests: explained.requests,
        mean_us: by_name(waits.map(|(&(_, name), mean)| (name, mean / 1e3)).collect()),
    }
}

/// A latency above this is [`HostResult::completed_late`].
const LATE_NS: u64 = 1_000_000_000;

fn latency(histogram: &Histogram<u64>, sum_ns: u128, max_ns: u64) -> Latency {
    if histogram.is_empty() {
        return Latency::default();
    }
    let quantile = |q: f64| histogram.value_at_quantile(q).min(max_ns) as f64 / 1e3;
    Latency {
        count: histogram.len(),
        mean: sum_ns as f64 / histogram.len() as f64 / 1e3,
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max: max_ns as f64 / 1e3,
    }
}

/// At most a few hundred points: every 0.5 %, then ten for each further nine.
fn cdf(histogram: &Histogram<u64>) -> Cdf {
    if histogram.is_empty() {
        return Cdf::new();
    }
    let body = (0..200).map(|i| f64::from(i) / 200.0);
    let tail = (1..=60).map(|i| 1.0 - 0.005 * 10f64.powf(-f64::from(i) / 10.0));
    let shares = body.chain(tail).chain([1.0]);
    let seen = 1.0 / histogram.len() as f64;
    let shares: Vec<f64> = shares.filter(|share| 1.0 - share >= seen || *share == 1.0).collect();
    let values = quantiles(histogram, &shares);
    let mut points: Cdf = values.into_iter().map(|value| value as f64 / 1e3).zip(shares).collect();
    points.dedup_by(|next, kept| {
        next.0 == kept.0 && {
            kept.1 = next.1;
            true
        }
    });
    points
}

/// `value_at_quantile` of ascending shares, in one pass.
fn quantiles(histogram: &Histogram<u64>, shares: &[f64]) -> Vec<u64> {
    let mut recorded = histogram.iter_recorded();
    let (mut value, mut counted) = (0, 0);
    let quantile = |share: &f64| {
        let wanted = ((share * histogram.len() as f64).ceil() as u64).max(1);
        while counted < wanted
            && let Some(next) = recorded.next()
        {
            (value, counted) = (next.value_iterated_to(), counted + next.count_since_last_iteration());
        }
        if *share == 0.0 { histogram.lowest_equivalent(value) } else { value }
    };
    shares.iter().map(quantile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_in_one_pass_are_those_of_the_histogram() {
        let mut draws = vocab::Streams::new(1).stream("test/quantiles");
        let mut histogram = Histogram::new(3).expect("three digits");
        let shares: Vec<f64> = (0..=1_000).map(|i| f64::from(i) / 1_000.0).collect();
        for round in 0..60 {
            histogram.record(draws.below(1 << (round % 40 + 1))).expect("it grows");
            let one_by_one: Vec<u64> = shares.iter().map(|&share| histogram.value_at_quantile(share)).collect();
            assert_eq!(quantiles(&histogram, &shares), one_by_one, "round {round}");
        }
    }
}
