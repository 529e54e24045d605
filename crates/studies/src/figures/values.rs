//! Values of a run that figures show.

use lab::figure::{self, Run};
use ssd::RunResult;
use vocab::Cause;

/// A number that a run gave.
#[derive(Debug)]
pub(super) struct Value {
    /// Its name in files and in CSV, with its unit; that of `docs/spec/results.md`.
    pub key: &'static str,
    /// The number; nothing where there was nothing to measure. `None`: that of the figure of this key.
    of: Option<fn(&RunResult) -> Option<f64>>,
    /// Whether every CSV has it; the others only where a plot of the figure shows it.
    pub always: bool,
}

const fn value(key: &'static str, of: fn(&RunResult) -> Option<f64>) -> Value {
    Value { key, of: Some(of), always: true }
}

/// The figure of results with this key.
const fn figure(key: &'static str) -> Value {
    Value { key, of: None, always: true }
}

const fn on_demand(key: &'static str, of: fn(&RunResult) -> Option<f64>) -> Value {
    Value { key, of: Some(of), always: false }
}

const fn figure_on_demand(key: &'static str) -> Value {
    Value { key, of: None, always: false }
}

impl Value {
    /// The number of a run; nothing where there was nothing to measure.
    pub fn of(&self, result: &RunResult) -> Option<f64> {
        self.of.map_or_else(|| figure::named(self.key).shown(&Run::of_result(result, None, None)).as_f64(), |of| of(result))
    }
}

fn sum(counts: &std::collections::BTreeMap<String, u64>) -> Option<f64> {
    Some(counts.values().sum::<u64>() as f64)
}

fn caused(counts: &std::collections::BTreeMap<String, u64>, cause: Cause) -> f64 {
    counts.get(cause.name()).copied().unwrap_or(0) as f64
}

/// How many of something that the host asked for in each second until the last answer.
fn each_second(result: &RunResult, number: f64) -> Option<f64> {
    (result.replay.simulated_s > 0.0).then(|| number / result.replay.simulated_s)
}

/// How much of something that flash did in each second until the drive rests: counts of flash and its energy are of that time.
fn each_second_of_flash(result: &RunResult, number: f64) -> Option<f64> {
    (result.flash.rested_s > 0.0).then(|| number / result.flash.rested_s)
}

fn joules(result: &RunResult) -> f64 {
    result.flash.energy_j.values().fold(0.0, |all, joules| all + joules)
}

/// All values, in the order of CSV columns.
pub(super) const VALUES: &[Value] = &[
    figure("latency_us_mean"),
    figure("latency_us_p99"),
    figure("read_latency_us_mean"),
    figure("read_latency_us_p50"),
    figure("read_latency_us_p99"),
    figure("read_latency_us_max"),
    figure("write_latency_us_mean"),
    figure("write_latency_us_p99"),
    value("write_share", |r| {
        let count = |kind: &str| r.host.requests.get(kind).copied().unwrap_or(0) as f64;
        let both = count("read") + count("write");
        (both > 0.0).then(|| count("write") / both)
    }),
    figure("offered_load"),
    figure("die_utilisation"),
    figure("waf"),
    figure("flash_reads"),
    figure("flash_programs"),
    figure("flash_erases"),
    value("gc_reads", |r| Some(caused(&r.flash.reads, Cause::Gc))),
    value("gc_programs", |r| Some(caused(&r.flash.programs, Cause::Gc))),
    value("parity_programs", |r| Some(caused(&r.flash.programs, Cause::Parity))),
    value("refresh_programs", |r| Some(caused(&r.flash.programs, Cause::Refresh))),
    value("extra_programs", |r| Some(sum(&r.flash.programs)? - caused(&r.flash.programs, Cause::Host))),
    value("flash_pages_per_s", |r| each_second_of_flash(r, sum(&r.flash.reads)? + sum(&r.flash.programs)?)),
    value("host_pages_per_s", |r| each_second(r, (r.host.read_pages + r.host.write_pages) as f64)),
    figure("energy_j"),
    value("energy_uj_per_host_page", |r| {
        let pages = r.host.read_pages + r.host.write_pages;
        (pages > 0).then(|| joules(r) * 1e6 / pages as f64)
    }),
    value("power_mw", |r| each_second_of_flash(r, joules(r) * 1e3)),
    value("t_mean", RunResult::mean_t),
    value("decode_us_mean", |r| (r.ecc.codewords > 0).then_some(r.ecc.decode_us_mean)),
    value("unreadable_pages", |r| Some(r.ecc.unreadable_pages as f64)),
    figure("rebuilt_reads"),
    figure("media_errors"),
    figure("mismatches"),
    figure("around_reads"),
    figure("around_extra_reads"),
    figure("around_withdrawn_reads"),
    figure("around_derived_pages"),
    figure("ahead_pages"),
    figure("ahead_hits"),
    figure("encoded_groups"),
    figure("valid_groups"),
    figure_on_demand("slc_host_pages"),
    figure_on_demand("slc_past_pages"),
    figure_on_demand("slc_folded_pages"),
    on_demand("life_stage", |r| r.redundancy.life.map(|life| f64::from(life.stage))),
    on_demand("stripes_with_parity_share", |r| r.redundancy.life.map(|life| life.parity_share())),
    on_demand("padding_programs", |r| Some(caused(&r.flash.programs, Cause::Padding))),
    on_demand("extra_programs_less_padding", |r| {
        let not_extra = caused(&r.flash.programs, Cause::Host) + caused(&r.flash.programs, Cause::Padding);
        Some(sum(&r.flash.programs)? - not_extra)
    }),
    figure_on_demand("die_wear_ratio"),
    figure_on_demand("read_retries_mean"),
    on_demand("ladder_parity_reads", |r| r.ladder.reads.get("parity").map(|&reads| reads as f64)),
    on_demand("requests_per_s", |r| each_second(r, r.host.latency_us.count as f64)),
];
