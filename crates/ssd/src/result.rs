//! What one run of one scheme gave, as documented in `docs/spec/results.md`.

use crate::config::Pace;
use crate::session::Prepared;
use device::contents::HostPayload;
use device::facts::RequestKind;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vocab::{Cause, Nanos};

/// Response times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Number of requests answered.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

/// Points `(microseconds, share of requests answered within)` of a cumulative distribution.
pub type Cdf = Vec<(f64, f64)>;

/// What page ECC did in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EccResult {
    /// Codewords decoded.
    pub codewords: u64,
    /// Bit errors corrected in them.
    pub corrected_bits: u64,
    /// Codewords that could not be corrected.
    pub failed_codewords: u64,
    /// Of these, codewords that the decoder took for corrected and their checksum did not.
    pub miscorrected_codewords: u64,
    /// Page reads with a codeword that could not be corrected.
    pub unreadable_pages: u64,
    /// Mean time to decode what one page read moved, in microseconds.
    pub decode_us_mean: f64,
    /// Pages programmed by the capability of their code.
    pub programs_by_t: BTreeMap<u8, u64>,
    /// Units of collection (blocks or superblocks) that were refreshed.
    pub refreshed_units: u64,
    /// Pages recharged in place.
    pub recharged_pages: u64,
}

/// Reads with alternatives, and code for them, in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AroundResult {
    /// Reads (of a stripe, a row or a line of code) that were sent to more than what they wanted.
    pub reads: u64,
    /// Sub-requests queued beyond what was wanted.
    pub extra_reads: u64,
    /// Sub-requests, wanted ones among them, that left their queues unserved.
    pub withdrawn_reads: u64,
    /// Wanted pages computed from others that came first.
    pub derived_pages: u64,
    /// Pages read ahead of the host.
    pub ahead_pages: u64,
    /// Host pages found in read-ahead buffers, or on their way there.
    pub ahead_hits: u64,
    /// Code groups encoded.
    pub encoded_groups: u64,
    /// Code groups whose code was valid at the end.
    pub valid_groups: u64,
}

/// What one run of one scheme gave. Plain data: lab gives it its documented flat keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Scheme name.
    pub scheme: String,
    /// Host requests answered, by kind: `read`, `write`, `flush`, `discard`.
    pub requests: BTreeMap<String, u64>,
    /// Logical pages read by the host.
    pub read_pages: u64,
    /// Logical pages written by the host.
    pub write_pages: u64,
    /// Response times of all reads and writes.
    pub response_us: Response,
    /// Response times of reads.
    pub read_response_us: Response,
    /// Response times of writes.
    pub write_response_us: Response,
    /// Cumulative distribution of read response times.
    pub read_cdf: Cdf,
    /// Cumulative distribution of write response times.
    pub write_cdf: Cdf,
    /// Page reads by cause.
    pub flash_reads: BTreeMap<String, u64>,
    /// Page programs by cause.
    pub flash_programs: BTreeMap<String, u64>,
    /// Block erases by cause.
    pub flash_erases: BTreeMap<String, u64>,
    /// Slots programmed in all over logical pages written by the host; `None` without writes.
    pub waf: Option<f64>,
    /// Slots programmed without data: partly filled pages, wasted row positions.
    pub padded_slots: u64,
    /// Energy of all flash operations in joules, by `read`, `program`, `erase`.
    pub energy_j: BTreeMap<String, f64>,
    /// What page ECC did; zeros without it.
    pub ecc: EccResult,
    /// Reads with alternatives; zeros where there are none.
    pub around: AroundResult,
    /// Host page reads compared with what was written.
    pub checked_reads: u64,
    /// Of these, how many differed. Anything but 0 is a defect.
    pub mismatches: u64,
    /// Host pages answered by solving from a stripe.
    pub rebuilt_reads: u64,
    /// Host pages that could not be read (reported to the host as media errors).
    pub media_errors: u64,
    /// Host pages that could not be written, for want of space.
    pub write_errors: u64,
    /// Flash reads that gave another page than they were asked for, or an erased one, and were noticed.
    pub astray_reads: u64,
    /// Virtual time from the first request until the drive turned read-only, in seconds; 0 where it was
    /// that before, `None` where it did not.
    pub read_only_s: Option<f64>,
    /// Requests refused since then: writes, discards, and flushes of what found no room.
    pub refused_requests: u64,
    /// Virtual time from the death of a die until all it held was rebuilt onto others, in
    /// seconds; `None` where no die died, or not everything is rebuilt.
    pub rebuild_s: Option<f64>,
    /// Of what a dead die held, how much is not rebuilt: strips of static stripes (no spare die,
    /// no room, or beyond repair), superblocks under a group log.
    pub rebuild_left: u64,
    /// Virtual time from the first request to the last answer, in seconds.
    pub simulated_s: f64,
    /// Mean share of that time in which a die is busy.
    pub die_busy_share: f64,
    /// Whether requests piled up faster than the drive could answer (open replay only):
    /// response times then say how long the trace is, not how fast the drive is.
    pub saturated: bool,
    /// Share of die time that the workload would need at its own pace, all dies busy = 1.
    pub offered_load: f64,
    /// Overwritten share of the working set and last window's WAF of the preconditioning.
    pub precondition_overwrites: f64,
    /// Write amplification when preconditioning ended.
    pub precondition_waf: f64,
    /// Whether the convergence test passed before the limit of overwrites.
    pub precondition_converged: bool,
    /// P/E cycles of every block at the end, in block order.
    pub pe_cycles: Vec<u32>,
    /// P/E cycles of every block added by the workload, in block order.
    pub pe_added: Vec<u32>,
    /// 64-bit digest of the event log, equal for equal runs.
    pub event_digest: u64,
    /// Flash commands executed.
    pub flash_ops: u64,
    /// Simulator events processed.
    pub events: u64,
}

impl RunResult {
    /// Bit errors corrected in a mean codeword.
    #[must_use]
    pub fn corrected_per_codeword(&self) -> f64 {
        self.ecc.corrected_bits as f64 / (self.ecc.codewords as f64).max(1.0)
    }

    /// Mean capability of the pages programmed; `None` without any.
    #[must_use]
    pub fn mean_t(&self) -> Option<f64> {
        let programs: u64 = self.ecc.programs_by_t.values().sum();
        let bits: u64 = self.ecc.programs_by_t.iter().map(|(&t, &pages)| u64::from(t) * pages).sum();
        (programs > 0).then(|| bits as f64 / programs as f64)
    }
}

impl<P: HostPayload> Prepared<P> {
    /// What the run gave, from the facts folded.
    pub(crate) fn result(&self, events: u64, pace: Pace) -> RunResult {
        let engine = &self.engine;
        let folds = &engine.core.device.folds;
        let host = &engine.host.requests;
        let first = host.first_arrival.unwrap_or(engine.core.device.now);
        let span = host.last_answer.max(first).since(first).as_secs_f64();
        let arrivals = host.last_arrival.max(first).since(first).as_secs_f64();
        let dies = f64::from(engine.core.device.grid.dies());
        let busy = folds.busy.as_secs_f64();
        // Collection may go on after the last answer.
        let until_idle = engine.core.device.now.max(host.last_answer).max(first).since(first).as_secs_f64();
        let busy_share = if until_idle > 0.0 { busy / (dies * until_idle) } else { 0.0 };
        let drain = span - arrivals;
        let by_cause =
            |counts: &[u64; Cause::ALL.len()]| Cause::ALL.iter().map(|&c| (c.name().to_string(), counts[c as usize])).collect();
        let written = folds.pages[RequestKind::Write as usize];
        let pe = engine.pe_cycles();
        let [reads, writes] = folds.responses.as_deref().expect("a run counts them");
        let mut both = reads.clone();
        both.add(writes).expect("same precision");
        RunResult {
            scheme: self.setup.scheme.name.clone(),
            requests: RequestKind::ALL.iter().map(|&(kind, name)| (name.to_string(), folds.requests[kind as usize])).collect(),
            read_pages: folds.pages[RequestKind::Read as usize],
            write_pages: written,
            response_us: response(
                &both,
                folds.response_sum[0] + folds.response_sum[1],
                folds.response_max[0].max(folds.response_max[1]),
            ),
            read_response_us: response(reads, folds.response_sum[0], folds.response_max[0]),
            write_response_us: response(writes, folds.response_sum[1], folds.response_max[1]),
            read_cdf: cdf(reads),
            write_cdf: cdf(writes),
            flash_reads: by_cause(&folds.reads),
            flash_programs: by_cause(&folds.programs),
            flash_erases: by_cause(&folds.erases),
            waf: (written > 0).then(|| (folds.filled_slots + folds.padded_slots) as f64 / written as f64),
            padded_slots: folds.padded_slots,
            energy_j: self.energy_j(),
            ecc: self.ecc_result(),
            around: self.around_result(),
            checked_reads: folds.checked,
            mismatches: folds.mismatches,
            rebuilt_reads: folds.rebuilt,
            media_errors: folds.media_errors,
            write_errors: folds.write_errors,
            read_only_s: host.read_only_since.map(|since| since.max(first).since(first).as_secs_f64()),
            refused_requests: folds.refused,
            astray_reads: folds.astray,
            rebuild_s: engine.rebuild_time().map(Nanos::as_secs_f64),
            rebuild_left: engine.rebuild_left(),
            simulated_s: span,
            die_busy_share: busy_share,
            // The drive needed noticeably longer than the arrivals took, or never rested.
            saturated: pace == Pace::Open && span > 0.0 && (drain > 0.05 * arrivals.max(1e-3) || busy_share > 0.95),
            offered_load: if arrivals > 0.0 { busy / (dies * arrivals) } else { f64::INFINITY },
            precondition_overwrites: self.steady.overwrites,
            precondition_waf: self.steady.waf,
            precondition_converged: self.steady.converged,
            pe_added: pe.iter().zip(&self.pe_before).map(|(after, before)| after.saturating_sub(*before)).collect(),
            pe_cycles: pe,
            event_digest: folds.digest,
            flash_ops: folds.flash_ops(),
            events,
        }
    }

    /// Energy of the flash, and of the codecs where there are any. A program and an erase take
    /// all planes of a gang.
    fn energy_j(&self) -> BTreeMap<String, f64> {
        let (folds, geometry) = (&self.engine.core.device.folds, self.engine.core.device.grid.geometry());
        let energy = &self.setup.drive.energy;
        let gang = f64::from(geometry.slots_per_page()) * geometry.slot_size.0 as f64 / geometry.page_size.0 as f64;
        let joules = |counts: &[u64; Cause::ALL.len()], each: vocab::Nanojoules, planes: f64| {
            counts.iter().sum::<u64>() as f64 * each.0 as f64 * 1e-9 * planes
        };
        let mut by_operation = BTreeMap::from([
            ("read".to_string(), joules(&folds.reads, energy.read, 1.0)),
            ("program".to_string(), joules(&folds.programs, energy.program, gang)),
            ("erase".to_string(), joules(&folds.erases, energy.erase, gang)),
        ]);
        if folds.recharges > 0 {
            by_operation.insert("recharge".into(), folds.recharges as f64 * energy.program.0 as f64 * 1e-9 * gang);
        }
        if self.engine.core.device.ecc.is_some() {
            by_operation.insert("codec".into(), self.codec_joules());
        }
        by_operation
    }

    fn codec_joules(&self) -> f64 {
        let ecc = &self.engine.core.device.folds.ecc;
        let busy = ecc.decode.as_secs_f64() + ecc.encode.as_secs_f64();
        busy * f64::from(self.setup.ecc.codec_microwatt) * 1e-6
    }

    fn around_result(&self) -> AroundResult {
        let around = &self.engine.core.device.folds.around;
        AroundResult {
            reads: around.reads,
            extra_reads: around.extra,
            withdrawn_reads: around.withdrawn,
            derived_pages: around.derived,
            ahead_pages: around.ahead,
            ahead_hits: around.ahead_hits,
            encoded_groups: around.encoded_groups,
            valid_groups: self.engine.writer.zones.as_ref().map_or(0, |zones| zones.scheme.valid_groups()),
        }
    }

    fn ecc_result(&self) -> EccResult {
        let (folds, refreshed) = (&self.engine.core.device.folds, self.engine.care.refresh.refreshed);
        let ecc = &folds.ecc;
        let reads: u64 = folds.reads.iter().sum();
        EccResult {
            codewords: ecc.codewords,
            corrected_bits: ecc.corrected_bits,
            failed_codewords: ecc.failed_codewords,
            miscorrected_codewords: ecc.miscorrected_codewords,
            unreadable_pages: ecc.unreadable_pages,
            decode_us_mean: if reads > 0 { ecc.decode.as_micros_f64() / reads as f64 } else { 0.0 },
            programs_by_t: ecc.programs_by_t.clone(),
            refreshed_units: refreshed,
            recharged_pages: folds.recharges,
        }
    }
}

fn response(histogram: &Histogram<u64>, sum_ns: u128, max_ns: u64) -> Response {
    if histogram.is_empty() {
        return Response::default();
    }
    let quantile = |q: f64| histogram.value_at_quantile(q).min(max_ns) as f64 / 1e3;
    Response {
        count: histogram.len(),
        mean: sum_ns as f64 / histogram.len() as f64 / 1e3,
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
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
