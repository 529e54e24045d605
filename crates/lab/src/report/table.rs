//! The tables: every number of every run, one column per scheme.

use super::format::{count, escape, percent, real};
use super::over::Of;
use super::{ReportInput, RunSpeed};
use crate::compare::Comparison;
use crate::quantity::{micros, seconds};
use crate::seeds::Interval;
use crate::verdict::{Costs, SchemeVerdict, Verdict};
use ssd::{AroundResult, RunResult, SlcResult};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use vocab::{Cause, StreamId};

/// What a cell shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Count(u64),
    Real(f64),
    Share(f64),
    /// Over several seeds.
    Mean(Interval, Of),
    Text(String),
    /// Text to compare letter by letter.
    Code(String),
    Absent,
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Value::Count(n)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        if x.is_finite() { Value::Real(x) } else { Value::Absent }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(x: Option<T>) -> Self {
        x.map_or(Value::Absent, Into::into)
    }
}

impl Value {
    pub(super) fn text(&self) -> String {
        match self {
            Value::Count(n) => count(*n),
            Value::Real(x) => real(*x),
            Value::Share(x) => percent(*x),
            Value::Mean(interval, of) => super::over::shown(interval, *of, ""),
            Value::Text(text) | Value::Code(text) => escape(text),
            Value::Absent => "-".into(),
        }
    }

    /// The number in full, for the CSV and the ratio to the baseline.
    pub(super) fn exact(&self) -> Option<String> {
        match self {
            Value::Count(n) => Some(n.to_string()),
            Value::Real(x) | Value::Share(x) if x.is_finite() => Some(x.to_string()),
            Value::Mean(interval, _) => Some(interval.mean.to_string()),
            _ => None,
        }
    }
}

/// What a number means to a reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Less is better: its ratio to the baseline is shown.
    Cost,
    /// It describes; a ratio would say nothing.
    Fact,
    /// Anything but zero or no is bad news.
    Alarm,
}

/// One metric of all schemes.
#[derive(Clone)]
pub(super) struct Row {
    pub label: String,
    pub unit: &'static str,
    pub cells: Vec<Value>,
    /// What the number means to a reader.
    pub kind: Kind,
}

/// Rows under a common heading.
pub(super) struct Group {
    pub title: &'static str,
    pub rows: Vec<Row>,
}

/// One table.
pub(super) struct Table {
    pub title: &'static str,
    pub groups: Vec<Group>,
}

/// Builds rows over the runs.
struct Rows<'a> {
    runs: &'a [RunResult],
    rows: Vec<Row>,
}

impl<'a> Rows<'a> {
    fn of(runs: &'a [RunResult]) -> Self {
        Rows { runs, rows: Vec::new() }
    }

    fn add<V: Into<Value>>(mut self, kind: Kind, label: &str, unit: &'static str, value: impl Fn(&RunResult) -> V) -> Self {
        let cells = self.runs.iter().map(|run| value(run).into()).collect();
        self.rows.push(Row { label: label.into(), unit, cells, kind });
        self
    }

    fn fact<V: Into<Value>>(self, label: &str, unit: &'static str, value: impl Fn(&RunResult) -> V) -> Self {
        self.add(Kind::Fact, label, unit, value)
    }

    fn cost<V: Into<Value>>(self, label: &str, unit: &'static str, value: impl Fn(&RunResult) -> V) -> Self {
        self.add(Kind::Cost, label, unit, value)
    }

    fn alarm<V: Into<Value>>(self, label: &str, unit: &'static str, value: impl Fn(&RunResult) -> V) -> Self {
        self.add(Kind::Alarm, label, unit, value)
    }

    fn group(self, title: &'static str) -> Group {
        Group { title, rows: self.rows }
    }
}

/// All tables as HTML. `labels` name the columns.
pub(super) fn html(labels: &[(String, &'static str)], input: &ReportInput<'_>) -> String {
    let tables = match input.seeds {
        None => tables(input.runs, input.speeds, input.verdict),
        Some(seeds) => {
            let under = |one: &Comparison| {
                let runs: Vec<RunResult> = one.outcomes.iter().map(|outcome| outcome.result.clone()).collect();
                tables(&runs, input.speeds, &one.verdict)
            };
            super::over::joined(seeds.repetitions().iter().map(under).collect())
        }
    };
    tables.iter().map(|table| render(table, labels, input.verdict)).collect()
}

/// All tables of runs under one seed.
fn tables(runs: &[RunResult], speeds: &[RunSpeed], verdict: &Verdict) -> Vec<Table> {
    let mut tables = vec![latency(runs, verdict), operations(runs), cost(runs), trust(runs, speeds)];
    if runs.iter().any(|run| run.ecc.codewords > 0) {
        tables.insert(3, page_ecc(runs));
    }
    if runs.iter().any(|run| run.around != AroundResult::default()) {
        tables.insert(3, read_around(runs));
    }
    if runs.iter().any(|run| run.slc != SlcResult::default()) {
        tables.insert(3, slc_cache(runs));
    }
    tables
}

fn latency(runs: &[RunResult], verdict: &Verdict) -> Table {
    macro_rules! group {
        ($title:literal, $field:ident) => {
            Rows::of(runs)
                .fact("requests", "", |r| r.host.$field.count)
                .cost("mean", "us", |r| (r.host.$field.count > 0).then_some(r.host.$field.mean))
                .cost("median", "us", |r| (r.host.$field.count > 0).then_some(r.host.$field.p50))
                .cost("p99", "us", |r| (r.host.$field.count > 0).then_some(r.host.$field.p99))
                .cost("p99.9", "us", |r| (r.host.$field.count > 0).then_some(r.host.$field.p999))
                .cost("p99.99", "us", |r| (r.host.$field.count > 0).then_some(r.host.$field.p9999))
                .cost("maximum", "us", |r| (r.host.$field.count > 0).then_some(r.host.$field.max))
                .group($title)
        };
    }
    let cells = |of: fn(&Costs) -> Option<f64>| {
        (0..runs.len()).map(|i| verdict.schemes.get(i).and_then(|one| of(&one.costs)).into()).collect()
    };
    let throughput = [("requests", "1/s", cells(|costs| costs.requests_per_s)), ("data", "MB/s", cells(|costs| costs.mb_per_s))];
    let rows = throughput.map(|(label, unit, cells)| Row { label: label.into(), unit, cells, kind: Kind::Fact });
    let groups = vec![
        group!("Reads and writes", latency_us),
        Group { title: "Throughput", rows: rows.into() },
        group!("Reads", read_latency_us),
        group!("Writes", write_latency_us),
    ];
    Table { title: "Latency", groups }
}

fn operations(runs: &[RunResult]) -> Table {
    let groups = vec![
        by_cause(runs, "Page reads", |r| &r.flash.reads),
        by_cause(runs, "Page programs", |r| &r.flash.programs),
        by_cause(runs, "Block erases", |r| &r.flash.erases),
    ];
    Table { title: "Flash operations by cause", groups }
}

fn by_cause(runs: &[RunResult], title: &'static str, of: impl Fn(&RunResult) -> &BTreeMap<String, u64>) -> Group {
    let mut rows = Rows::of(runs).cost("total", "", |r| of(r).values().sum::<u64>());
    for cause in causes(runs.iter().map(&of)) {
        rows = rows.cost(&cause, "", |r| of(r).get(&cause).copied().unwrap_or(0));
    }
    rows.group(title)
}

/// The causes that occur: those of the vocabulary in report order, then others by name.
pub(super) fn causes<'a>(counts: impl Iterator<Item = &'a BTreeMap<String, u64>>) -> Vec<String> {
    let mut found: BTreeSet<&str> = counts.flatten().filter(|(_, n)| **n > 0).map(|(c, _)| c.as_str()).collect();
    let mut ordered: Vec<String> =
        Cause::ALL.iter().map(|c| c.name()).filter(|name| found.remove(name)).map(String::from).collect();
    ordered.extend(found.into_iter().map(String::from));
    ordered
}

/// Pages of each stream that the host wrote in, and their write amplification; `None` where streams are not told apart.
fn by_stream(runs: &[RunResult]) -> Option<Group> {
    let writes = |stream: usize| move |r: &RunResult| r.streams.get(stream).map_or(0, |stream| stream.host_pages);
    let mut rows = Rows::of(runs);
    let mut any = false;
    for stream in (0..StreamId::COUNT_MAX).filter(|&stream| runs.iter().any(|r| writes(stream)(r) > 0)) {
        let of = move |r: &RunResult| r.streams.get(stream).copied();
        rows = rows
            .fact(&format!("stream {stream}: host pages written"), "", writes(stream))
            .cost(&format!("stream {stream}: pages moved"), "", move |r| of(r).map(|of| of.moved_pages))
            .cost(&format!("stream {stream}: write amplification"), "", move |r| of(r).and_then(|of| of.waf()));
        any = true;
    }
    any.then(|| rows.group("Streams"))
}

fn cost(runs: &[RunResult]) -> Table {
    let energy = |kind: &'static str| move |r: &RunResult| r.flash.energy_j.get(kind).copied();
    let writes = Rows::of(runs)
        .fact("host pages read", "", |r| r.host.read_pages)
        .fact("host pages written", "", |r| r.host.write_pages)
        .cost("write amplification (WAF)", "", |r| r.flash.waf)
        .cost("slots padded", "", |r| r.flash.padded_slots)
        .group("Work");
    let joules = Rows::of(runs)
        .cost("total", "J", |r| r.flash.energy_j.values().sum::<f64>())
        .cost("reads", "J", energy("read"))
        .cost("programs", "J", energy("program"))
        .cost("erases", "J", energy("erase"))
        .group("Energy");
    let wear = Rows::of(runs)
        .cost("added, mean of blocks", "P/E", |r| mean(&r.wear.pe_added))
        .cost("added, standard deviation", "P/E", |r| deviation(&r.wear.pe_added))
        .cost("added, most worn block", "P/E", |r| r.wear.pe_added.iter().max().map(|&n| u64::from(n)))
        .fact("at the end, mean of blocks", "P/E", |r| mean(&r.wear.pe_cycles))
        .fact("at the end, most worn block", "P/E", |r| r.wear.pe_cycles.iter().max().map(|&n| u64::from(n)))
        .group("Wear");
    let load = Rows::of(runs)
        .fact("virtual time", "s", |r| r.replay.simulated_s)
        .fact("until the drive rests", "s", |r| r.flash.rested_s)
        .cost("die utilisation", "", |r| Value::Share(r.flash.die_utilisation))
        .cost("channel utilisation", "", |r| Value::Share(r.flash.channel_utilisation))
        .cost("pages of planes sensed", "pages", |r| r.flash.sensed_pages)
        .cost("programs of a die's cells", "", |r| r.flash.program_pulses)
        .fact("read from the write buffer", "pages", |r| r.host.buffer_hits)
        .fact("offered load", "", |r| Value::Share(r.replay.offered_load))
        .alarm("saturated", "", |r| yes_no(r.replay.saturated))
        .group("Load");
    let groups = [Some(writes), by_stream(runs), Some(joules), Some(wear), Some(load)];
    Table { title: "Cost", groups: groups.into_iter().flatten().collect() }
}

fn slc_cache(runs: &[RunResult]) -> Table {
    let writes = Rows::of(runs)
        .fact("to the cache", "pages", |r| r.slc.host_pages)
        .fact("past it", "pages", |r| r.slc.past_pages)
        .group("Writes of the host");
    let folds = Rows::of(runs)
        .cost("folded", "pages", |r| r.slc.folded_pages)
        .fact("erased in SLC mode", "blocks", |r| r.slc.erases)
        .group("Folding");
    Table { title: "SLC cache", groups: vec![writes, folds] }
}

fn read_around(runs: &[RunResult]) -> Table {
    let around = Rows::of(runs)
        .fact("reads of a stripe, row or line", "", |r| r.around.reads)
        .cost("queued beyond what is wanted", "page reads", |r| r.around.extra_reads)
        .fact("withdrawn from queues", "page reads", |r| r.around.withdrawn_reads)
        .fact("computed from others", "pages", |r| r.around.derived_pages)
        .group("Reads with alternatives");
    let ahead = Rows::of(runs)
        .cost("read ahead", "pages", |r| r.around.ahead_pages)
        .fact("found there", "pages", |r| r.around.ahead_hits)
        .group("Read-ahead");
    let code = Rows::of(runs)
        .cost("encoded", "groups", |r| r.around.encoded_groups)
        .fact("valid at the end", "groups", |r| r.around.valid_groups)
        .group("Code");
    Table { title: "Reading around busy dies", groups: vec![around, ahead, code] }
}

fn page_ecc(runs: &[RunResult]) -> Table {
    let t = |of: fn(&BTreeMap<u8, u64>) -> Option<u8>| move |r: &RunResult| of(&r.ecc.programs_by_t).map(u64::from);
    let code = Rows::of(runs)
        .fact("t or parity rows, mean", "", |r| r.mean_t())
        .fact("t or parity rows, least", "", t(|by_t| by_t.keys().next().copied()))
        .fact("t or parity rows, greatest", "", t(|by_t| by_t.keys().next_back().copied()))
        .cost("decoding of a page read, mean", "us", |r| r.ecc.decode_us_mean)
        .cost("energy of the codecs", "J", |r| r.flash.energy_j.get("codec").copied())
        .group("Code");
    let errors = Rows::of(runs)
        .fact("codewords decoded", "", |r| r.ecc.codewords)
        .fact("bits corrected in a codeword, mean", "bits", |r| r.corrected_per_codeword())
        .cost("unreadable pages", "reads", |r| r.ecc.unreadable_pages)
        .cost("codewords not corrected", "", |r| r.ecc.failed_codewords)
        .fact("of these, caught by their checksum alone", "", |r| r.ecc.miscorrected_codewords)
        .group("Errors");
    let refresh = Rows::of(runs)
        .cost("units refreshed", "", |r| r.ecc.refreshed_units)
        .cost("pages recharged in place", "", |r| r.ecc.recharged_pages)
        .group("Refresh");
    let mut groups = vec![code, errors, refresh];
    if runs.iter().any(|run| run.ladder.all_reads() > 0) {
        groups.push(ladder(runs));
    }
    Table { title: "Page ECC", groups }
}

fn ladder(runs: &[RunResult]) -> Group {
    let reads = |step: &'static str| move |r: &RunResult| r.ladder.reads.get(step).copied();
    let flash = |step: &'static str| move |r: &RunResult| r.ladder.flash_s.get(step).copied();
    let decode = |step: &'static str| move |r: &RunResult| r.ladder.decode_s.get(step).copied();
    Rows::of(runs)
        .cost("retries of a page read, mean", "", |r| r.ladder.retries_mean())
        .fact("decoded at once", "reads", reads("hard"))
        .cost("with other references", "reads", reads("retry"))
        .cost("with 2 bits a cell", "reads", reads("soft_2_bit"))
        .cost("with 3 bits a cell", "reads", reads("soft_3_bit"))
        .cost("left to parity", "reads", reads("parity"))
        .fact("dies and channels: first reads", "s", flash("hard"))
        .cost("retries", "s", flash("retry"))
        .cost("2-bit reads", "s", flash("soft_2_bit"))
        .cost("3-bit reads", "s", flash("soft_3_bit"))
        .fact("decoders: first reads", "s", decode("hard"))
        .cost("after retries", "s", decode("retry"))
        .cost("of 2 bits", "s", decode("soft_2_bit"))
        .cost("of 3 bits", "s", decode("soft_3_bit"))
        .group("Ladder of reads")
}

fn trust(runs: &[RunResult], speeds: &[RunSpeed]) -> Table {
    let data = Rows::of(runs)
        .fact("host page reads checked", "", |r| r.oracle.checked_reads)
        .alarm("mismatches", "", |r| r.oracle.mismatches)
        .fact("rebuilt from a stripe", "", |r| r.redundancy.rebuilt_reads)
        .alarm("media errors", "pages", |r| r.host.media_errors)
        .alarm("write errors", "pages", |r| r.host.write_errors)
        .fact("read-only after", "s", |r| r.host.read_only_s)
        .alarm("requests refused since", "", |r| r.host.refused_requests);
    // The curve of a code says more there than its decoder can do. Most drives have neither.
    let disagreements = |r: &RunResult| r.ecc.ldpc_disagreements;
    let checks = match runs.iter().any(|run| disagreements(run) > 0) {
        true => data.alarm("decoded by the curve, not by the LDPC decoder", "codewords", disagreements),
        false => data,
    }
    .group("Data");
    let before = Rows::of(runs)
        .fact("overwrites of the working set", "", |r| r.precondition.overwrites)
        .fact("write amplification when it ended", "", |r| r.precondition.waf)
        .fact("settled", "", |r| yes_no(r.precondition.converged))
        .group("Preconditioning");
    let mut machine = Rows::of(runs).fact("flash commands", "", |r| r.flash.ops).fact("events", "", |r| r.replay.events).fact(
        "digest of the event log",
        "",
        |r| Value::Code(format!("{:016x}", r.replay.event_digest)),
    );
    for (label, unit, of) in
        [("wall time", "s", (|s| s.wall_s) as fn(&RunSpeed) -> f64), ("flash commands per second", "1/s", |s| s.flash_ops_per_s)]
    {
        let cells = (0..runs.len()).map(|i| speeds.get(i).map(of).into()).collect();
        machine.rows.push(Row { label: label.into(), unit, cells, kind: Kind::Fact });
    }
    Table { title: "Checks and simulator", groups: vec![checks, before, machine.group("Simulator")] }
}

fn yes_no(is: bool) -> Value {
    Value::Text(if is { "yes" } else { "no" }.into())
}

/// Mean of all; `None` of nothing.
fn mean(cycles: &[u32]) -> Option<f64> {
    (!cycles.is_empty()).then(|| cycles.iter().map(|&n| f64::from(n)).sum::<f64>() / cycles.len() as f64)
}

/// Standard deviation over all; `None` of nothing.
fn deviation(cycles: &[u32]) -> Option<f64> {
    let mean = mean(cycles)?;
    let squares: f64 = cycles.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum();
    Some((squares / cycles.len() as f64).sqrt())
}

fn render(table: &Table, labels: &[(String, &'static str)], verdict: &Verdict) -> String {
    let mut out = format!(
        "<section class=\"card\"><h3>{0}</h3><div class=\"wide\"><table data-table=\"{0}\"><thead><tr><th></th>",
        table.title
    );
    for (i, (label, colour)) in labels.iter().enumerate() {
        let label = escape(label);
        let reason = verdict.schemes.get(i).and_then(SchemeVerdict::reason);
        let apart = reason.map(|reason| format!("<small class=\"bad\">not comparable: {}</small>", escape(&reason)));
        let _ = write!(
            out,
            "<th scope=\"col\" data-scheme=\"{i}\"{}><i class=\"dot\" style=\"background:{colour}\"></i>{label}{}</th>",
            if apart.is_some() { " class=\"apart\"" } else { "" },
            apart.unwrap_or_default()
        );
    }
    out.push_str("</tr></thead>");
    for group in &table.groups {
        let title = group.title;
        let _ = write!(
            out,
            "<tbody data-group=\"{title}\"><tr class=\"group\"><th colspan=\"{}\">{title}</th></tr>",
            labels.len() + 1
        );
        for row in &group.rows {
            out.push_str(&render_row(row));
        }
        out.push_str("</tbody>");
    }
    out.push_str("</table></div></section>\n");
    out
}

/// A cell as text: a time in the unit that fits, anything else as it is.
fn shown(cell: &Value, unit: &str) -> String {
    match (cell, unit) {
        (Value::Real(us), "us") => super::verdict::micro(&micros(*us)),
        (Value::Real(s), "s") => super::verdict::micro(&seconds(*s)),
        (Value::Mean(interval, of), unit) => super::over::shown(interval, *of, unit),
        _ => cell.text(),
    }
}

fn render_row(row: &Row) -> String {
    let label = escape(&row.label);
    // Times are shown in the unit that fits each.
    let is_time = ["us", "s"].contains(&row.unit);
    let unit = if row.unit.is_empty() || is_time { String::new() } else { format!(" <small>{}</small>", row.unit) };
    let compare = if row.kind == Kind::Cost { " data-compare" } else { "" };
    let mut out = format!("<tr data-metric=\"{label}\" data-unit=\"{}\"{compare}><th scope=\"row\">{label}{unit}</th>", row.unit);
    for (i, cell) in row.cells.iter().enumerate() {
        let class = match (row.kind, cell) {
            (Kind::Alarm, cell) if *cell != Value::Count(0) && *cell != yes_no(false) => " class=\"bad\"",
            (_, Value::Code(_)) => " class=\"code-value\"",
            _ => "",
        };
        let mut exact = cell.exact().map(|number| format!(" data-value=\"{number}\" title=\"{number}\"")).unwrap_or_default();
        if let Value::Mean(interval, _) = cell {
            let _ = write!(exact, " data-half-width=\"{}\"", interval.half_width);
        }
        let _ = write!(out, "<td data-scheme=\"{i}\"{class}{exact}>{}</td>", shown(cell, row.unit));
    }
    out.push_str("</tr>\n");
    out
}
