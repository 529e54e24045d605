//! What figures show of a run.

use ssd::RunResult;

/// A number that a run gave.
#[derive(Debug)]
pub(super) struct Value {
    /// Its name in files and in CSV, with its unit; that of `docs/spec/results.md`.
    pub key: &'static str,
    /// The number; nothing where there was nothing to measure.
    pub of: fn(&RunResult) -> Option<f64>,
}

const fn value(key: &'static str, of: fn(&RunResult) -> Option<f64>) -> Value {
    Value { key, of }
}

fn sum(counts: &std::collections::BTreeMap<String, u64>) -> Option<f64> {
    Some(counts.values().sum::<u64>() as f64)
}

fn measured(response: &ssd::Response, value: f64) -> Option<f64> {
    (response.count > 0).then_some(value)
}

/// All values, in the order of CSV columns.
pub(super) const VALUES: &[Value] = &[
    value("read_response_us_mean", |r| measured(&r.read_response_us, r.read_response_us.mean)),
    value("read_response_us_p99", |r| measured(&r.read_response_us, r.read_response_us.p99)),
    value("write_response_us_mean", |r| measured(&r.write_response_us, r.write_response_us.mean)),
    value("write_response_us_p99", |r| measured(&r.write_response_us, r.write_response_us.p99)),
    value("offered_load", |r| Some(r.offered_load)),
    value("die_busy_share", |r| Some(r.die_busy_share)),
    value("waf", |r| r.waf),
    value("flash_reads", |r| sum(&r.flash_reads)),
    value("flash_programs", |r| sum(&r.flash_programs)),
    value("flash_erases", |r| sum(&r.flash_erases)),
    value("energy_j", |r| Some(r.energy_j.values().fold(0.0, |all, joules| all + joules))),
    value("around_reads", |r| Some(r.around.reads as f64)),
    value("around_extra_reads", |r| Some(r.around.extra_reads as f64)),
    value("around_withdrawn_reads", |r| Some(r.around.withdrawn_reads as f64)),
    value("around_derived_pages", |r| Some(r.around.derived_pages as f64)),
    value("ahead_pages", |r| Some(r.around.ahead_pages as f64)),
    value("ahead_hits", |r| Some(r.around.ahead_hits as f64)),
    value("encoded_groups", |r| Some(r.around.encoded_groups as f64)),
    value("valid_groups", |r| Some(r.around.valid_groups as f64)),
];
