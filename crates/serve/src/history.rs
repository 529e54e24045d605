//! How a served drive was over the last minutes, in samples: for the dashboard.

use crate::time::now;
use serde_json::{Value, json};
use ssd::disk::{DiskAnswer, DiskStatus};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Samples that are kept.
const KEPT: usize = 240;

/// Classes of latencies to each doubling, as a power of two: a class is at most an eighth wide.
const CLASS_BITS: u32 = 3;
const CLASSES: usize = 64 << CLASS_BITS;

/// Answers since the last sample.
#[derive(Debug)]
struct Window {
    classes: Vec<u32>,
    answers: u32,
    failed: u32,
    longest: u64,
    most_outstanding: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self { classes: vec![0; CLASSES], answers: 0, failed: 0, longest: 0, most_outstanding: 0 }
    }
}

impl Window {
    fn answered(&mut self, ns: u64) {
        self.classes[vocab::bucket_of::<CLASS_BITS>(ns).min(CLASSES - 1)] += 1;
        self.answers += 1;
        self.longest = self.longest.max(ns);
    }

    /// The latency in microseconds that this share of answers did not pass.
    fn percentile(&self, share: f64) -> Option<f64> {
        let wanted = (f64::from(self.answers) * share).ceil().max(1.0) as u32;
        let mut seen = 0;
        let class = self.classes.iter().position(|&count| {
            seen += count;
            seen >= wanted
        })?;
        let (_, longest) = vocab::values_of::<CLASS_BITS>(class);
        Some(longest.min(self.longest) as f64 * 1e-3)
    }
}

/// Counts that a sample tells the growth of.
#[derive(Clone, Debug, Default)]
struct Totals {
    time_s: f64,
    requests: [u64; 4],
    programs: BTreeMap<String, u64>,
    reads: BTreeMap<String, u64>,
    erases: u64,
    corrected_bits: u64,
    failed_codewords: u64,
    media_errors: u64,
    worked_s: Vec<f64>,
}

impl Totals {
    fn of(status: &DiskStatus) -> Self {
        Self {
            time_s: status.time_s,
            requests: [status.reads, status.writes, status.flushes, status.discards],
            programs: status.flash_programs.iter().cloned().collect(),
            reads: status.flash_reads.iter().cloned().collect(),
            erases: status.flash_erases.iter().map(|(_, count)| count).sum(),
            corrected_bits: status.corrected_bits,
            failed_codewords: status.failed_codewords,
            media_errors: status.media_errors,
            worked_s: status.dies.iter().map(|die| die.worked_s).collect(),
        }
    }
}

/// Growth of a count; a power cut begins it again.
fn grown(now: u64, before: u64) -> u64 {
    if now >= before { now - before } else { now }
}

fn grown_by_cause(now: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>) -> Value {
    let grown = |(cause, &count): (&String, &u64)| (cause.clone(), grown(count, before.get(cause).copied().unwrap_or(0)));
    json!(now.iter().map(grown).filter(|(_, count)| *count > 0).collect::<BTreeMap<String, u64>>())
}

/// The last samples, and what the next one is made of.
#[derive(Debug)]
pub(crate) struct History {
    window: Window,
    before: Totals,
    samples: VecDeque<Value>,
    count: u64,
    start: Instant,
    last: Instant,
}

impl History {
    pub fn new(status: &DiskStatus) -> Self {
        let start = now();
        let (window, before) = (Window::default(), Totals::of(status));
        Self { window, before, samples: VecDeque::new(), count: 0, start, last: start }
    }

    pub fn asked(&mut self, outstanding: usize) {
        self.window.most_outstanding = self.window.most_outstanding.max(outstanding);
    }

    pub fn answered(&mut self, answer: &DiskAnswer) {
        match &answer.result {
            Ok(_) => self.window.answered(answer.latency.0),
            Err(_) => self.window.failed += 1,
        }
    }

    /// Ends a sample.
    pub fn sample(&mut self, status: &DiskStatus) {
        let (window, totals) = (std::mem::take(&mut self.window), Totals::of(status));
        let before = std::mem::replace(&mut self.before, totals);
        let (totals, at) = (&self.before, now());
        let wall = at.duration_since(self.last).as_secs_f64();
        self.last = at;
        self.count += 1;
        let passed = (totals.time_s - before.time_s).max(1e-9);
        let busy = totals.worked_s.iter().zip(before.worked_s.iter().chain(std::iter::repeat(&0.0)));
        let share = |(now, before): (&f64, &f64)| (if now >= before { now - before } else { *now } / passed).min(1.0);
        let kinds = ["reads", "writes", "flushes", "discards"].iter().enumerate();
        let requests: BTreeMap<&str, u64> =
            kinds.map(|(kind, name)| (*name, grown(totals.requests[kind], before.requests[kind]))).collect();
        let sample = json!({
            "number": self.count,
            "wall_s": at.duration_since(self.start).as_secs_f64(),
            "took_s": wall,
            "virtual_s": totals.time_s - before.time_s,
            "outstanding": window.most_outstanding,
            "requests": requests,
            "failed": window.failed,
            "p50_us": window.percentile(0.5),
            "p99_us": window.percentile(0.99),
            "p999_us": window.percentile(0.999),
            "longest_us": (window.answers > 0).then_some(window.longest as f64 * 1e-3),
            "programs": grown_by_cause(&totals.programs, &before.programs),
            "flash_reads": grown_by_cause(&totals.reads, &before.reads),
            "erases": grown(totals.erases, before.erases),
            "corrected_bits": grown(totals.corrected_bits, before.corrected_bits),
            "failed_codewords": grown(totals.failed_codewords, before.failed_codewords),
            "media_errors": grown(totals.media_errors, before.media_errors),
            "free_share": status.free_share,
            "wear": status.wear,
            "busy": busy.map(share).collect::<Vec<f64>>(),
        });
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The samples after the one of this number.
    pub fn since(&self, number: u64) -> Vec<Value> {
        let is_new = |sample: &&Value| sample["number"].as_u64() > Some(number);
        self.samples.iter().filter(is_new).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sorted times themselves: never below the true percentile, and at most an eighth above it.
    #[test]
    fn percentiles_are_those_of_the_times_within_an_eighth() {
        let mut draws = vocab::Streams::new(5).stream("test/latencies");
        let mut window = Window::default();
        let mut draw = || {
            let shift = 24 + draws.below(40);
            draws.bits() >> shift
        };
        let mut times: Vec<u64> = (0..5000).map(|_| draw()).collect();
        times.extend([0, 7, 8, 15, 16, 1 << 40]);
        times.iter().for_each(|&time| window.answered(time));
        times.sort_unstable();
        for share in [0.001, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let exact = times[(times.len() as f64 * share).ceil() as usize - 1] as f64 * 1e-3;
            let found = window.percentile(share).expect("there are answers");
            assert!(found >= exact && found <= exact * 1.125 + 1e-9, "{share}: {found} for {exact}");
        }
        assert_eq!(Window::default().percentile(0.5), None);
    }

    #[test]
    fn a_count_that_a_power_cut_began_again_grows_by_what_it_is() {
        assert_eq!((grown(7, 5), grown(3, 5)), (2, 3));
    }
}
