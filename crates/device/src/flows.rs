//! Figures of one of several flows of requests.

use crate::facts::{Fact, RequestKind};
use hdrhistogram::Histogram;
use vocab::SimTime;

/// Counters and histograms over the requests of a flow.
#[derive(Clone, Debug)]
pub struct FlowFolds {
    /// Requests answered, by kind.
    pub requests: [u64; 4],
    /// Sectors asked for, by kind.
    pub sectors: [u64; 4],
    /// Latencies in ns, of reads and of writes.
    pub latencies: [Histogram<u64>; 2],
    /// Their sums: means are exact.
    pub latency_sum: [u128; 2],
    /// The longest.
    pub latency_max: [u64; 2],
    /// When the first request was sent, and the last.
    pub sent: Option<(SimTime, SimTime)>,
    /// When the last was answered.
    pub last_answer: SimTime,
}

impl Default for FlowFolds {
    fn default() -> Self {
        let histogram = || Histogram::new(3).expect("3 significant digits are valid");
        Self {
            requests: [0; 4],
            sectors: [0; 4],
            latencies: [histogram(), histogram()],
            latency_sum: [0; 2],
            latency_max: [0; 2],
            sent: None,
            last_answer: SimTime::ZERO,
        }
    }
}

impl FlowFolds {
    pub(crate) fn record(&mut self, at: SimTime, fact: Fact) {
        match fact {
            Fact::FlowArrived { kind, sectors, sent, .. } => {
                self.sectors[kind as usize] += u64::from(sectors);
                let first = self.sent.map_or(sent, |(first, _)| first);
                self.sent = Some((first, sent));
            }
            Fact::FlowAnswered { kind, latency, .. } => {
                self.requests[kind as usize] += 1;
                self.last_answer = at;
                if matches!(kind, RequestKind::Read | RequestKind::Write) {
                    let which = kind as usize;
                    self.latencies[which].record(latency.0).expect("histograms grow");
                    self.latency_sum[which] += u128::from(latency.0);
                    self.latency_max[which] = self.latency_max[which].max(latency.0);
                }
            }
            _ => {}
        }
    }
}
