//! Results of one run of one scheme, as documented in `docs/spec/results.md`.

pub(crate) mod flows;
pub(crate) mod series;

use device::batches::Mark;
pub use flows::FlowResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
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
    /// 99.99th percentile.
    pub p9999: f64,
    /// Maximum.
    pub max: f64,
}

/// Points `(microseconds, share of requests answered within)` of a cumulative distribution.
pub type Cdf = Vec<(f64, f64)>;

/// Work of page ECC in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EccResult {
    /// Codewords decoded.
    pub codewords: u64,
    /// Bit errors corrected in them.
    pub corrected_bits: u64,
    /// Codewords that could not be corrected.
    pub failed_codewords: u64,
    /// Of these, codewords that the decoder took for corrected and their checksum did not.
    pub miscorrected_codewords: u64,
    /// Codewords of LDPC that their curve let decode and the real decoder did not, which runs only where pages carry bytes. They came
    /// back as they were stored.
    #[serde(default)]
    pub ldpc_disagreements: u64,
    /// Page reads with a codeword that could not be corrected.
    pub unreadable_pages: u64,
    /// Mean time to decode what one page read moved, in microseconds.
    pub decode_us_mean: f64,
    /// Pages programmed by the capability of their code.
    pub programs_by_t: BTreeMap<u8, u64>,
    /// Units of GC (blocks or superblocks) that were refreshed.
    pub refreshed_units: u64,
    /// Pages recharged in place.
    pub recharged_pages: u64,
}

/// Steps of the read ladder in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LadderResult {
    /// Page reads by the step they ended on: `hard`, `retry`, `soft_2_bit`, `soft_3_bit`, or `parity`, those that nothing helped.
    pub reads: BTreeMap<String, u64>,
    /// Page reads by how often they were read with other references.
    pub reads_by_retries: BTreeMap<u32, u64>,
    /// Seconds of dies and channels by step, without waiting.
    pub flash_s: BTreeMap<String, f64>,
    /// Seconds of decoders by step.
    pub decode_s: BTreeMap<String, f64>,
}

impl LadderResult {
    /// Page reads that the ladder was there for.
    #[must_use]
    pub fn all_reads(&self) -> u64 {
        self.reads.values().sum()
    }

    /// How often a page was read with other references, on average; `None`: there was no ladder.
    #[must_use]
    pub fn retries_mean(&self) -> Option<f64> {
        let all = self.all_reads();
        let retries: u64 = self.reads_by_retries.iter().map(|(&retries, &reads)| u64::from(retries) * reads).sum();
        (all > 0).then(|| retries as f64 / all as f64)
    }
}

/// Reads with alternatives, and code for them, in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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

/// Logical pages that entered and left an SLC cache in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcResult {
    /// Pages of the host written to it.
    pub host_pages: u64,
    /// Pages of the host written past it; 0 where the drive has none.
    pub past_pages: u64,
    /// Pages moved from it to other blocks.
    pub folded_pages: u64,
    /// Erases of its blocks.
    pub erases: u64,
}

/// Requests of the host and their latencies in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostResult {
    /// Requests answered, by kind: `read`, `write`, `flush`, `discard`.
    pub requests: BTreeMap<String, u64>,
    /// Logical pages read.
    pub read_pages: u64,
    /// Logical pages written.
    pub write_pages: u64,
    /// Latencies of all reads and writes.
    pub latency_us: Latency,
    /// Latencies of reads.
    pub read_latency_us: Latency,
    /// Latencies of writes.
    pub write_latency_us: Latency,
    /// Reads and writes answered more than a second after they came: no flash command takes that long, so they waited.
    pub completed_late: u64,
    /// Cumulative distribution of read latencies.
    pub read_cdf: Cdf,
    /// Cumulative distribution of write latencies.
    pub write_cdf: Cdf,
    /// Pages that could not be read (reported as media errors).
    pub media_errors: u64,
    /// Pages that could not be written, for lack of space.
    pub write_errors: u64,
    /// Pages that the host read from the write buffer.
    pub buffer_hits: u64,
    /// Virtual time from the first request until the drive turned read-only, in seconds; 0 where it was
    /// that before, `None` where it did not.
    pub read_only_s: Option<f64>,
    /// Requests refused since then: writes, discards, and flushes of what found no room.
    pub refused_requests: u64,
}

impl HostResult {
    /// Requests of any kind.
    #[must_use]
    pub fn all_requests(&self) -> u64 {
        self.requests.values().sum()
    }
}

/// Findings of the oracle in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OracleResult {
    /// Host page reads compared with what was written.
    pub checked_reads: u64,
    /// Of these, how many differed. Anything but 0 is a defect.
    pub mismatches: u64,
}

/// Work of the flash in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FlashResult {
    /// Page reads by cause.
    #[serde(rename = "flash_reads")]
    pub reads: BTreeMap<String, u64>,
    /// Page programs by cause.
    #[serde(rename = "flash_programs")]
    pub programs: BTreeMap<String, u64>,
    /// Block erases by cause.
    #[serde(rename = "flash_erases")]
    pub erases: BTreeMap<String, u64>,
    /// Slots programmed in all over logical pages that left the host for flash; `None` without any. Pages that are still in the write
    /// buffer alone are no such pages yet, and those that were there when the run began are.
    pub waf: Option<f64>,
    /// Pages that are in the write buffer alone when the run ends, less those that were when it began.
    #[serde(skip)]
    pub buffered_pages: i64,
    /// Slots programmed without data: partly filled pages, wasted row positions.
    pub padded_slots: u64,
    /// Energy of all operations in joules, by `read`, `program`, `erase`.
    pub energy_j: BTreeMap<String, f64>,
    /// Reads that gave another page than they were asked for, or an erased one, and were noticed.
    pub astray_reads: u64,
    /// Pages of planes whose cells were sensed.
    pub sensed_pages: u64,
    /// Programs of a die's cells, of all pages that are programmed together.
    pub program_pulses: u64,
    /// Virtual time from the first request until the drive rests, in seconds: what counts, energy and shares of time are about.
    pub rested_s: f64,
    /// Mean share of that time in which a die is busy.
    pub die_utilisation: f64,
    /// Mean share of that time in which a channel carries something.
    pub channel_utilisation: f64,
    /// Data and OOB bytes that each channel carried.
    pub channel_bytes: Vec<u64>,
    /// Commands executed.
    #[serde(rename = "flash_ops")]
    pub ops: u64,
}

/// Pages that redundancy restored in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RedundancyResult {
    /// Host pages answered by solving from a stripe.
    pub rebuilt_reads: u64,
    /// How long after the first request a spare die took the place of a dead one, in seconds, the last time; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_s: Option<f64>,
    /// Virtual time from the death of a die until all it held was rebuilt onto others, in
    /// seconds, or from its replacement until all was rebuilt on the spare die; `None` where no die died, or not everything is
    /// rebuilt.
    pub rebuild_s: Option<f64>,
    /// Of what a dead die held, how much is not rebuilt: strips of static stripes (no spare die,
    /// no room, or beyond repair), superblocks under a group log.
    pub rebuild_left: u64,
    /// Where in its life a scheme of stages is; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<Life>,
}

/// Where in its life a drive is whose scheme protects by age (`da-raid5`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// The stage of life, from 1 on.
    pub stage: u8,
    /// How long after the first request stages 2 and 3 began, in seconds; `None` if they did not begin while the workload
    /// ran.
    pub began_s: [Option<f64>; 2],
    /// Stripes with contents.
    pub stripes: u32,
    /// Of these, stripes with valid parity, in flash or in the parity cache.
    pub with_parity: u32,
}

impl Life {
    /// Share of the stripes with contents that have parity.
    #[must_use]
    pub fn parity_share(&self) -> f64 {
        f64::from(self.with_parity) / f64::from(self.stripes.max(1))
    }
}

/// How the preconditioning before a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PreconditionResult {
    /// Overwritten share of the working set.
    #[serde(rename = "precondition_overwrites")]
    pub overwrites: f64,
    /// Write amplification in the last window.
    #[serde(rename = "precondition_waf")]
    pub waf: f64,
    /// Whether the convergence test passed before the limit of overwrites.
    #[serde(rename = "precondition_converged")]
    pub converged: bool,
}

/// How the workload itself was replayed before it was measured; zeros where it was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarmUpResult {
    /// Requests replayed.
    #[serde(rename = "warmup_requests")]
    pub requests: u64,
    /// Logical pages that they wrote.
    #[serde(rename = "warmup_pages")]
    pub pages: u64,
    /// Write amplification when it ended; `None` where nothing was replayed.
    #[serde(rename = "warmup_waf")]
    pub waf: Option<f64>,
    /// Whether write amplification had become steady; `None` where that was not asked.
    #[serde(rename = "warmup_steady")]
    pub steady: Option<bool>,
    /// Whether the workload repeats itself, and its write amplification was that of all its phases.
    #[serde(skip)]
    pub is_phased: bool,
}

/// Figures of one stream of the host in one run. Streams are told apart only where the drive has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Logical pages that the host wrote in it.
    pub host_pages: u64,
    /// Logical pages of it that were written to flash, from the host or the write buffer.
    pub written_pages: u64,
    /// Logical pages of it that GC moved.
    pub moved_pages: u64,
}

impl StreamResult {
    /// Logical pages programmed for the stream over those that the host wrote in it; `None` without writes. Padding is no one's.
    #[must_use]
    pub fn waf(&self) -> Option<f64> {
        (self.host_pages > 0).then(|| (self.written_pages + self.moved_pages) as f64 / self.host_pages as f64)
    }
}

/// P/E cycles after one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WearResult {
    /// P/E cycles of every block at the end, in block order.
    pub pe_cycles: Vec<u32>,
    /// P/E cycles of every block added by the workload, in block order.
    pub pe_added: Vec<u32>,
    /// P/E cycles added to the blocks of the die with the most, over the mean of dies; `None` where none were added.
    pub die_wear_ratio: Option<f64>,
}

/// How the workload was replayed in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReplayResult {
    /// Virtual time from the first request to the last answer, in seconds.
    pub simulated_s: f64,
    /// Whether requests piled up faster than the drive could answer (open replay only):
    /// latencies then say how long the trace is, not how fast the drive is.
    pub saturated: bool,
    /// Share of die time that the workload would need at its own pace, all dies busy = 1.
    pub offered_load: f64,
    /// Simulator events processed.
    pub events: u64,
    /// 64-bit digest of the event log, equal for equal runs.
    pub event_digest: u64,
}

/// Where the time of some requests went: the mean of each wait in microseconds. They add up to the mean latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplainedResult {
    /// How many requests.
    pub requests: u64,
    /// Mean time of each wait, in microseconds, by its name; waits that no one had are left out.
    pub mean_us: BTreeMap<String, f64>,
}

/// Where the time of latencies went in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitsResult {
    /// All reads.
    pub reads: ExplainedResult,
    /// The slowest 1 % of reads.
    pub slowest_reads: ExplainedResult,
    /// All writes.
    pub writes: ExplainedResult,
    /// The slowest 1 % of writes.
    pub slowest_writes: ExplainedResult,
}

/// Results of one run of one scheme, by origin. Plain data: lab gives it its documented flat keys. Serde writes it flat,
/// too: scripts of reports look figures up by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Scheme name.
    pub scheme: String,
    /// Requests and their latencies.
    #[serde(flatten)]
    pub host: HostResult,
    /// Comparisons with the written data.
    #[serde(flatten)]
    pub oracle: OracleResult,
    /// Work of the flash.
    #[serde(flatten)]
    pub flash: FlashResult,
    /// Work of page ECC; zeros without it.
    pub ecc: EccResult,
    /// Steps of the read ladder; zeros where pages are read once.
    pub ladder: LadderResult,
    /// Reads with alternatives; zeros where there are none.
    pub around: AroundResult,
    /// Pages that entered and left an SLC cache; zeros where there is none.
    #[serde(default)]
    pub slc: SlcResult,
    /// Pages that redundancy restored.
    #[serde(flatten)]
    pub redundancy: RedundancyResult,
    /// Figures of each stream of the host; empty where the drive has one stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamResult>,
    /// How the preconditioning ended.
    #[serde(flatten)]
    pub precondition: PreconditionResult,
    /// How the workload itself was replayed before.
    #[serde(flatten)]
    pub warm_up: WarmUpResult,
    /// The run in batches of equally many answers, in order.
    #[serde(skip)]
    pub batches: Vec<Mark>,
    /// P/E cycles.
    #[serde(flatten)]
    pub wear: WearResult,
    /// How the workload was replayed.
    #[serde(flatten)]
    pub replay: ReplayResult,
    /// Where the time of latencies went; `None` where no one asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitsResult>,
    /// Figures of each flow of requests; empty where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowResult>,
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
