//! Figures of one of several flows of requests in one run.

use crate::result::{Latency, WaitsResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of one of several flows of requests in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Requests answered, by kind.
    pub requests: BTreeMap<String, u64>,
    /// Bytes asked for by reads.
    pub read_bytes: u64,
    /// Bytes asked for by writes.
    pub written_bytes: u64,
    /// When its first request was sent, in seconds since the first of the run; `None` without any.
    pub began_s: Option<f64>,
    /// From its first request to its last answer, in seconds.
    pub simulated_s: f64,
    /// True if its requests have times and piled up faster than the drive answered.
    pub saturated: bool,
    /// Latencies of reads and writes.
    pub latency_us: Latency,
    /// Latencies of reads.
    pub read_latency_us: Latency,
    /// Latencies of writes.
    pub write_latency_us: Latency,
    /// Where the time of latencies went; `None` where no one asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitsResult>,
}

impl FlowResult {
    /// Requests of any kind.
    #[must_use]
    pub fn all_requests(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Requests answered in a second; `None` where it took no time.
    #[must_use]
    pub fn requests_per_s(&self) -> Option<f64> {
        (self.simulated_s > 0.0).then(|| self.all_requests() as f64 / self.simulated_s)
    }

    /// MB (10^6 bytes) read and written in a second; `None` where it took no time.
    #[must_use]
    pub fn mb_per_s(&self) -> Option<f64> {
        (self.simulated_s > 0.0).then(|| (self.read_bytes + self.written_bytes) as f64 / 1e6 / self.simulated_s)
    }
}
