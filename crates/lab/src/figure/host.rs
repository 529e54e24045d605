//! Figures of what the host asked and was answered.

use super::Kind::{Cost, Fact};
use super::{Block, Figure, Group, Section, figure, shown_alone};
use crate::bearing;
use crate::figure::mib;
use experiment::over_provisioning::of_user;
use serde_json::json;

pub(super) const FIGURES: &[Figure] = &[
    figure(
        "scheme",
        "text",
        "registry name, with `+` and each of its additions, and its ECC policy where it has one of its own; then `:` and each option that it has of its own, as the experiment names it (`raid5:data_strips=7`); or the name that the experiment gives it in front of a `=` (`wide` of `wide=raid5:data_strips=7`)",
        |r| json!(r.outcome.map(|o| &o.label)),
    ),
    figure("options", "object", "its options", |r| json!(r.outcome.map(|o| &o.choice.options))).document_only(),
    figure("raw_capacity_mib", "MiB", "its raw flash", |r| {
        json!(r.planned().map(|p| mib(u64::from(p.drive.geometry.slots()) * r.slot)))
    }),
    figure("capacity_overhead", "share", "of raw flash that redundancy takes", |r| {
        json!(r.planned().map(|p| p.capacity_overhead))
    }),
    figure("over_provisioning", "share", "(raw flash - user capacity) / user capacity", |r| {
        json!(r.planned().map(|p| of_user(p.op_of_raw)))
    }),
    figure("over_provisioning_of_raw", "share", "(raw flash - user capacity) / raw flash", |r| {
        json!(r.planned().map(|p| p.op_of_raw))
    }),
    figure("over_provisioning_after_parity", "share", "as `over_provisioning`, of the flash that redundancy leaves", |r| {
        json!(r.planned().map(|p| of_user(p.op_after_parity_of_raw)))
    })
    .terminal(Section::Spare, "over-provisioning after parity"),
    figure(
        "over_provisioning_asked",
        "share",
        "as `capacity.over_provisioning` asks: compare with `over_provisioning` under `equal-raw`, with that after parity under `equal-op`",
        |r| json!(r.planned().map(|p| of_user(p.op_asked_of_raw))),
    ),
    figure("requests", "number", "host requests answered", |r| json!(r.host.all_requests())),
    figure("requests_by_kind", "object", "the same by `read`, `write`, `flush`, `discard`", |r| json!(r.host.requests)),
    figure("read_pages", "pages", "logical pages read by the host", |r| json!(r.host.read_pages)).report(
        Group::Work,
        Fact,
        "host pages read",
        "",
    ),
    figure("write_pages", "pages", "logical pages written by the host", |r| json!(r.host.write_pages)).report(
        Group::Work,
        Fact,
        "host pages written",
        "",
    ),
    shown_alone("answers", |r| json!(r.host.latency_us.count)).report(Group::Latency, Fact, "requests", ""),
    figure("latency_us_mean", "us", "latency of reads and writes: mean", |r| json!(r.host.latency_us.mean))
        .measured(|r| r.host.latency_us.count > 0)
        .terminal(Section::Latency, "  mean")
        .report(Group::Latency, Cost, "mean", "us"),
    figure("latency_us_p50", "us", "median", |r| json!(r.host.latency_us.p50))
        .measured(|r| r.host.latency_us.count > 0)
        .terminal(Section::Latency, "  p50")
        .report(Group::Latency, Cost, "median", "us"),
    figure("latency_us_p99", "us", "99th percentile", |r| json!(r.host.latency_us.p99))
        .measured(|r| r.host.latency_us.count > 0)
        .terminal(Section::Latency, "  p99")
        .report(Group::Latency, Cost, "p99", "us"),
    figure("latency_us_p999", "us", "99.9th percentile", |r| json!(r.host.latency_us.p999))
        .measured(|r| r.host.latency_us.count > 0)
        .terminal(Section::Latency, "  p99.9")
        .report(Group::Latency, Cost, "p99.9", "us"),
    figure("latency_us_p9999", "us", "99.99th percentile", |r| json!(r.host.latency_us.p9999))
        .measured(|r| r.host.latency_us.count > 0)
        .terminal(Section::Latency, "  p99.99")
        .report(Group::Latency, Cost, "p99.99", "us"),
    figure("latency_us_max", "us", "maximum", |r| json!(r.host.latency_us.max)).measured(|r| r.host.latency_us.count > 0).report(
        Group::Latency,
        Cost,
        "maximum",
        "us",
    ),
    figure(
        "latency_us_mean_half_width",
        "us",
        "of the 95 % confidence interval of the mean, from this run alone ([batches](#batches)); null where they do not tell",
        |r| json!(bearing::latency_us(r).map(|interval| interval.half_width)),
    ),
    shown_alone("read_answers", |r| json!(r.host.read_latency_us.count)).report(Group::ReadLatency, Fact, "requests", ""),
    figure("read_latency_us_mean", "us", "latency of reads: mean", |r| json!(r.host.read_latency_us.mean))
        .measured(|r| r.host.read_latency_us.count > 0)
        .screen(Block::ReadLatency, "read  mean")
        .terminal(Section::ReadLatency, "  mean")
        .report(Group::ReadLatency, Cost, "mean", "us"),
    figure("read_latency_us_p50", "us", "median", |r| json!(r.host.read_latency_us.p50))
        .measured(|r| r.host.read_latency_us.count > 0)
        .terminal(Section::ReadLatency, "  p50")
        .report(Group::ReadLatency, Cost, "median", "us"),
    figure("read_latency_us_p99", "us", "99th percentile", |r| json!(r.host.read_latency_us.p99))
        .measured(|r| r.host.read_latency_us.count > 0)
        .screen_beyond(Block::ReadLatency, "read  p99", 0.01)
        .terminal(Section::ReadLatency, "  p99")
        .report(Group::ReadLatency, Cost, "p99", "us"),
    figure("read_latency_us_p999", "us", "99.9th percentile", |r| json!(r.host.read_latency_us.p999))
        .measured(|r| r.host.read_latency_us.count > 0)
        .screen_beyond(Block::ReadLatency, "read  p99.9", 0.001)
        .terminal(Section::ReadLatency, "  p99.9")
        .report(Group::ReadLatency, Cost, "p99.9", "us"),
    figure("read_latency_us_p9999", "us", "99.99th percentile", |r| json!(r.host.read_latency_us.p9999))
        .measured(|r| r.host.read_latency_us.count > 0)
        .screen_beyond(Block::ReadLatency, "read  p99.99", 0.0001)
        .terminal(Section::ReadLatency, "  p99.99")
        .report(Group::ReadLatency, Cost, "p99.99", "us"),
    figure("read_latency_us_max", "us", "maximum", |r| json!(r.host.read_latency_us.max))
        .measured(|r| r.host.read_latency_us.count > 0)
        .report(Group::ReadLatency, Cost, "maximum", "us"),
    shown_alone("write_answers", |r| json!(r.host.write_latency_us.count)).report(Group::WriteLatency, Fact, "requests", ""),
    figure("write_latency_us_mean", "us", "latency of writes: mean", |r| json!(r.host.write_latency_us.mean))
        .measured(|r| r.host.write_latency_us.count > 0)
        .screen(Block::WriteLatency, "write mean")
        .terminal(Section::WriteLatency, "  mean")
        .report(Group::WriteLatency, Cost, "mean", "us"),
    figure("write_latency_us_p50", "us", "median", |r| json!(r.host.write_latency_us.p50))
        .measured(|r| r.host.write_latency_us.count > 0)
        .terminal(Section::WriteLatency, "  p50")
        .report(Group::WriteLatency, Cost, "median", "us"),
    figure("write_latency_us_p99", "us", "99th percentile", |r| json!(r.host.write_latency_us.p99))
        .measured(|r| r.host.write_latency_us.count > 0)
        .screen_beyond(Block::WriteLatency, "write p99", 0.01)
        .terminal(Section::WriteLatency, "  p99")
        .report(Group::WriteLatency, Cost, "p99", "us"),
    figure("write_latency_us_p999", "us", "99.9th percentile", |r| json!(r.host.write_latency_us.p999))
        .measured(|r| r.host.write_latency_us.count > 0)
        .screen_beyond(Block::WriteLatency, "write p99.9", 0.001)
        .terminal(Section::WriteLatency, "  p99.9")
        .report(Group::WriteLatency, Cost, "p99.9", "us"),
    figure("write_latency_us_p9999", "us", "99.99th percentile", |r| json!(r.host.write_latency_us.p9999))
        .measured(|r| r.host.write_latency_us.count > 0)
        .screen_beyond(Block::WriteLatency, "write p99.99", 0.0001)
        .terminal(Section::WriteLatency, "  p99.99")
        .report(Group::WriteLatency, Cost, "p99.99", "us"),
    figure("write_latency_us_max", "us", "maximum", |r| json!(r.host.write_latency_us.max))
        .measured(|r| r.host.write_latency_us.count > 0)
        .report(Group::WriteLatency, Cost, "maximum", "us"),
];
