//! What one run of one scheme gave, as documented in `docs/spec/results.md`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
