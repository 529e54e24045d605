//! Where the time of requests went, folded over all of them, and request by request for whoever keeps a log.

use crate::core::flash::FlashPayload;
use crate::core::jobs::Job;
use crate::core::waits::Ledger;
use crate::host::Host;
use device::facts::RequestKind;
use device::waits::{Wait, Waits};
use vocab::{Lba, Nanos, SimTime};

/// One request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredRequest {
    /// Its number in the run, from 0, in order of arrival.
    pub request: u64,
    /// The flow that it is of; 0 where there is one.
    pub flow: u16,
    /// Kind of the request.
    pub kind: RequestKind,
    /// Its first sector.
    pub lba: Lba,
    /// Its length in sectors.
    pub sectors: u32,
    /// Logical pages that it touches.
    pub pages: u32,
    /// When it was sent.
    pub arrival: SimTime,
    /// When the drive began to work on it: it had waited for its turn and for room until then.
    pub start: SimTime,
    /// When it was answered.
    pub answer: SimTime,
    /// Whether it was refused or could not be carried out.
    pub failed: bool,
    /// Where the time between went; adds up to it.
    pub waits: Waits,
}

impl AnsweredRequest {
    /// The name of its kind in reports.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        RequestKind::ALL[self.kind as usize].1
    }
}

/// Sums over requests of nearly the same latency.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    requests: u64,
    /// Nanoseconds by wait: of a long run more than 64 bits hold.
    waits: [u128; Wait::COUNT],
}

/// Classes of latencies for each power of two, as a power of two: neighbours differ by 3 %.
const CLASS_BITS: u32 = 5;

/// The class of a latency.
fn class_of(latency: Nanos) -> usize {
    vocab::bucket_of::<CLASS_BITS>(latency.0)
}

/// Where the time of all requests of a kind went, by class of latency.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitFolds(Vec<Class>);

/// Where the time of some requests went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Explained {
    /// How many requests.
    pub requests: u64,
    /// Mean nanoseconds by wait, in the order of [`Wait::ALL`]: they add up to the mean latency.
    pub mean_ns: [f64; Wait::COUNT],
}

impl WaitFolds {
    fn fold(&mut self, waits: &Waits) {
        let class = class_of(waits.total());
        if class >= self.0.len() {
            self.0.resize(class + 1, Class::default());
        }
        let class = &mut self.0[class];
        class.requests += 1;
        class.waits.iter_mut().zip(waits.nanos()).for_each(|(sum, &time)| *sum += u128::from(time));
    }

    /// The slowest requests, this share of all and at least one: those of whole classes, and of the next class as many as
    /// are missing, as if they were alike.
    pub fn slowest(&self, share: f64) -> Explained {
        let all: u64 = self.0.iter().map(|class| class.requests).sum();
        let wanted = ((all as f64 * share).ceil() as u64).min(all);
        let (mut left, mut sums) = (wanted, [0.0; Wait::COUNT]);
        for class in self.0.iter().rev().filter(|class| class.requests > 0) {
            let taken = left.min(class.requests);
            let part = taken as f64 / class.requests as f64;
            sums.iter_mut().zip(&class.waits).for_each(|(sum, &time)| *sum += time as f64 * part);
            left -= taken;
        }
        Explained { requests: wanted, mean_ns: sums.map(|sum| if wanted > 0 { sum / wanted as f64 } else { 0.0 }) }
    }
}

/// Records of the time of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explanations {
    /// Of reads and of writes.
    pub folds: [WaitFolds; 2],
    /// The same of each flow, where there are several.
    pub flows: Vec<[WaitFolds; 2]>,
    /// Requests answered since someone last took them out; `None`: no one keeps a log.
    pub log: Option<Vec<AnsweredRequest>>,
    /// Requests that had arrived before the run.
    pub before: u64,
}

impl Explanations {
    /// Nothing is known yet of the requests of a run before which this many had arrived.
    pub fn new(is_logged: bool, before: u64) -> Self {
        Self { folds: Default::default(), flows: Vec::new(), log: is_logged.then(Vec::new), before }
    }
}

impl<P: FlashPayload> Host<P> {
    /// The log, if one is kept.
    pub fn answered_requests(&mut self) -> Option<&mut Vec<AnsweredRequest>> {
        self.explanations.as_mut()?.log.as_mut()
    }

    /// A request is answered now.
    pub(super) fn explain(&mut self, job: &Job<P>, ledger: &Ledger, now: SimTime) {
        let Some(explanations) = &mut self.explanations else { return };
        if let Some(folds) = explanations.folds.get_mut(job.kind as usize) {
            folds.fold(&ledger.waits);
            if self.requests.flows.is_some() {
                let flow = job.flow as usize;
                if explanations.flows.len() <= flow {
                    explanations.flows.resize_with(flow + 1, Default::default);
                }
                explanations.flows[flow][job.kind as usize].fold(&ledger.waits);
            }
        }
        let Some(log) = &mut explanations.log else { return };
        let (lba, sectors) = ledger.sectors;
        let (first, last) = (self.requests.pages_in(lba.0), self.requests.pages_in(lba.0 + u64::from(sectors.max(1)) - 1));
        log.push(AnsweredRequest {
            request: job.request - explanations.before,
            flow: job.flow,
            kind: job.kind,
            lba,
            sectors,
            pages: if sectors > 0 { (last - first + 1) as u32 } else { 0 },
            arrival: job.arrival,
            start: ledger.started,
            answer: now,
            failed: job.failed,
            waits: ledger.waits,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Streams;

    fn below_a_power(draws: &mut vocab::Stream, bits: u64) -> u64 {
        let bits = 1 + draws.below(bits);
        draws.below(1 << bits)
    }

    fn waits(times: [(Wait, u64); 2]) -> Waits {
        let mut waits = Waits::default();
        times.into_iter().for_each(|(wait, time)| waits.add(wait, Nanos(time)));
        waits
    }

    /// Catches classes that overlap, leave gaps or are wider than 1/32.
    #[test]
    fn classes_are_narrow_and_in_order() {
        let mut draws = Streams::new(1).stream("test/classes");
        let mut latencies: Vec<u64> = (0..20_000).map(|_| below_a_power(&mut draws, 60)).collect();
        latencies.extend(0..5000);
        latencies.sort_unstable();
        let mut lowest = (usize::MAX, 0);
        for pair in latencies.windows(2) {
            let (one, next) = (class_of(Nanos(pair[0])), class_of(Nanos(pair[1])));
            assert!(one <= next, "{pair:?}");
            if one != lowest.0 {
                lowest = (one, pair[0]);
            }
            let width = pair[0] - lowest.1;
            assert!(width * 32 <= lowest.1.max(1) || width == 0, "{width} at {}", pair[0]);
        }
        for latency in 0..4096 {
            let step = class_of(Nanos(latency + 1)) - class_of(Nanos(latency));
            assert!(step <= 1, "no class is left out at {latency}");
        }
    }

    /// The slowest 1 % against a sorted list of all requests. Requests at the border are taken as alike if they are of
    /// one class; so the mean latency may differ by 1/32.
    #[test]
    fn the_slowest_are_those_of_a_sorted_list() {
        let mut draws = Streams::new(2).stream("test/slowest");
        for requests in [1, 7, 100, 12_345] {
            let mut folds = WaitFolds::default();
            let mut all: Vec<(u64, Waits)> = (0..requests)
                .map(|_| {
                    let one = waits([(Wait::Sensing, 50_000), (Wait::QueueErases, below_a_power(&mut draws, 30))]);
                    folds.fold(&one);
                    (one.total().0, one)
                })
                .collect();
            all.sort_unstable_by_key(|(latency, _)| std::cmp::Reverse(*latency));
            for share in [0.01, 1.0] {
                let slowest = folds.slowest(share);
                let wanted = (requests as f64 * share).ceil() as usize;
                assert_eq!(slowest.requests as usize, wanted);
                let mean =
                    |wait: Wait| all[..wanted].iter().map(|(_, waits)| waits.of(wait).0 as f64).sum::<f64>() / wanted as f64;
                for wait in [Wait::Sensing, Wait::QueueErases] {
                    let (found, naive) = (slowest.mean_ns[wait as usize], mean(wait));
                    assert!((found - naive).abs() <= naive / 32.0 + 1e-6, "{requests} {share} {wait:?}: {found} {naive}");
                }
            }
        }
    }
}
