//! Where the time of latencies went, in numbers and in words.

use crate::outcome::Outcome;
use common::quantity::{micros, percent};
use serde_json::{Value, json};
use ssd::{ExplainedResult, WaitsResult};

/// Each wait by its name in results, with the words of reports, in report order.
pub const WORDS: [(&str, &str); 20] = [
    ("queue-host-reads", "queued behind host reads"),
    ("queue-host-programs", "queued behind host programs"),
    ("queue-parity", "queued behind work for parity"),
    ("queue-gc", "queued behind garbage collection"),
    ("queue-erases", "queued behind erases"),
    ("queue-rebuild", "queued behind rebuild"),
    ("queue-upkeep", "queued behind refresh and upkeep"),
    ("channel", "waiting for the channel"),
    ("transfer", "transfer"),
    ("sensing", "sensing"),
    ("programming", "programming"),
    ("parity", "parity"),
    ("solving", "solving for lost pages"),
    ("ecc", "encoding and decoding"),
    ("order", "behind an earlier update of the stripe"),
    ("space", "waiting for free pages"),
    ("buffer", "waiting for room in the buffer"),
    ("assembly", "waiting for a page to fill"),
    ("controller", "controller"),
    ("off-line", "drive off line"),
];

/// Mean latency of these requests in microseconds.
#[must_use]
pub fn mean_us(explained: &ExplainedResult) -> f64 {
    explained.mean_us.values().sum()
}

/// Share of a wait, by its name, in the latency of these requests.
#[must_use]
pub fn share(explained: &ExplainedResult, wait: &str) -> f64 {
    let all = mean_us(explained);
    let part = explained.mean_us.get(wait).copied().unwrap_or(0.0);
    if all > 0.0 { part / all } else { 0.0 }
}

/// A kind of requests: its name in results, its words, and its figures.
pub type Kind = (&'static str, &'static str, fn(&WaitsResult) -> &ExplainedResult);

/// Kinds of requests, in report order.
pub const KINDS: [Kind; 4] = [
    ("read_waits_us", "reads", |waits| &waits.reads),
    ("slowest_read_waits_us", "slowest 1 % of reads", |waits| &waits.slowest_reads),
    ("write_waits_us", "writes", |waits| &waits.writes),
    ("slowest_write_waits_us", "slowest 1 % of writes", |waits| &waits.slowest_writes),
];

/// Mean of each wait in microseconds, by the keys of results; `null` where no one asked.
pub(crate) fn keys(waits: Option<&WaitsResult>) -> impl Iterator<Item = (&'static str, Value)> + use<'_> {
    KINDS.into_iter().map(move |(key, _, of)| (key, json!(waits.map(|waits| &of(waits).mean_us))))
}

/// Share of the time of all latencies that the slowest 1 % of reads and the slowest 1 % of writes took.
pub(crate) fn stalled_share(waits: Option<&WaitsResult>) -> Option<f64> {
    let waits = waits?;
    let time = |kinds: [&ExplainedResult; 2]| kinds.iter().map(|one| one.requests as f64 * mean_us(one)).sum::<f64>();
    let all = time([&waits.reads, &waits.writes]);
    (all > 0.0).then(|| (time([&waits.slowest_reads, &waits.slowest_writes]) / all).min(1.0))
}

/// Waits of a request that no die, channel or controller is at work for.
const HELD_UP: [&str; 4] = ["buffer", "assembly", "space", "order"];

/// Requests that at any time waited, on average, for room, for a page to fill or for an earlier update: by Little's law, the time
/// that all requests waited so, over the time of the run.
pub(crate) fn held_up(waits: &WaitsResult, simulated_s: f64) -> f64 {
    HELD_UP.iter().map(|wait| waited_us(waits, wait)).sum::<f64>() / 1e6 / simulated_s
}

/// Time that all requests of a run waited so, in microseconds.
fn waited_us(waits: &WaitsResult, wait: &str) -> f64 {
    let of = |one: &ExplainedResult| one.requests as f64 * one.mean_us.get(wait).copied().unwrap_or(0.0);
    of(&waits.reads) + of(&waits.writes)
}

/// The longest wait of a run's requests in words; `None` where no one asked.
#[must_use]
pub fn longest(waits: Option<&WaitsResult>) -> Option<&'static str> {
    let waits = waits?;
    WORDS.iter().max_by(|a, b| waited_us(waits, a.0).total_cmp(&waited_us(waits, b.0))).map(|(_, words)| *words)
}

/// Longest waits of the slowest 1 % of a scheme's reads and writes, as a sentence; empty where they were not recorded.
pub(crate) fn sentence(waits: Option<&WaitsResult>) -> String {
    let Some(waits) = waits else { return String::new() };
    let told = |what: &str, of: &ExplainedResult| {
        let (name, words) = WORDS.iter().max_by(|(one, _), (other, _)| share(of, one).total_cmp(&share(of, other)))?;
        let most = share(of, name);
        let took = micros(mean_us(of));
        (most > 0.0).then(|| format!("the slowest 1 % of {what} take {took} on average, {} of it {words}", percent(most)))
    };
    let told: Vec<String> =
        [told("writes", &waits.slowest_writes), told("reads", &waits.slowest_reads)].into_iter().flatten().collect();
    let mut text = told.join("; ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
        text.push('.');
    }
    text
}

/// The waits of one scheme under several seeds, each mean the mean of those; `None` where no one asked.
#[must_use]
pub fn over(runs: &[&Outcome]) -> Option<WaitsResult> {
    mean_of(&runs.iter().map(|run| run.result.waits.as_ref()).collect::<Option<Vec<_>>>()?)
}

/// The same waits under several seeds, each mean the mean of those; `None` of nothing.
#[must_use]
pub fn mean_of(all: &[&WaitsResult]) -> Option<WaitsResult> {
    let mean = |of: fn(&WaitsResult) -> &ExplainedResult| {
        let mut mean = ExplainedResult::default();
        for explained in all.iter().copied().map(of) {
            mean.requests += explained.requests;
            for (wait, us) in &explained.mean_us {
                *mean.mean_us.entry(wait.clone()).or_default() += us / all.len() as f64;
            }
        }
        mean
    };
    match all {
        [] => None,
        [one] => Some((*one).clone()),
        _ => Some(WaitsResult {
            reads: mean(|waits| &waits.reads),
            slowest_reads: mean(|waits| &waits.slowest_reads),
            writes: mean(|waits| &waits.writes),
            slowest_writes: mean(|waits| &waits.slowest_writes),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::Wait;

    #[test]
    fn every_wait_has_words() {
        assert_eq!(WORDS.map(|(name, _)| name), Wait::ALL.map(|(_, name)| name));
    }

    #[test]
    fn the_sentence_names_the_longest_wait_of_the_slowest() {
        let explained = |waits: &[(&str, f64)]| ExplainedResult {
            requests: 10,
            mean_us: waits.iter().map(|&(name, us)| (name.to_owned(), us)).collect(),
        };
        let waits = WaitsResult {
            slowest_writes: explained(&[("queue-gc", 6_100.0), ("programming", 2_000.0), ("parity", 1_900.0)]),
            ..WaitsResult::default()
        };
        let expected = "The slowest 1 % of writes take 10.0 ms on average, 61 % of it queued behind garbage collection.";
        assert_eq!(sentence(Some(&waits)), expected);
        assert_eq!(sentence(None), "");
        // 10 requests of 10 ms in 1000 of 0.2 ms.
        let all = WaitsResult { writes: ExplainedResult { requests: 1000, ..explained(&[("sensing", 200.0)]) }, ..waits.clone() };
        assert_eq!((stalled_share(Some(&all)), stalled_share(None)), (Some(0.5), None));
        assert_eq!(sentence(Some(&WaitsResult::default())), "");
    }
}
