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
    /// Response times in ns, of reads and of writes.
    pub responses: [Histogram<u64>; 2],
    /// Their sums: means are exact.
    pub response_sum: [u128; 2],
    /// The longest.
    pub response_max: [u64; 2],
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
            responses: [histogram(), histogram()],
            response_sum: [0; 2],
            response_max: [0; 2],
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
            Fact::FlowAnswered { kind, response, .. } => {
                self.requests[kind as usize] += 1;
                self.last_answer = at;
                if matches!(kind, RequestKind::Read | RequestKind::Write) {
                    let which = kind as usize;
                    self.responses[which].record(response.0).expect("histograms grow");
                    self.response_sum[which] += u128::from(response.0);
                    self.response_max[which] = self.response_max[which].max(response.0);
                }
            }
            _ => {}
        }
    }
}
