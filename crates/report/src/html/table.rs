//! The tables: every number of every run, one column per scheme.

use super::format::{count, escape, percent, real};
use super::over::MeanOf;
use super::{ReportInput, RunSpeed};
use common::quantity::{micros, seconds};
use lab::Comparison;
use lab::Interval;
use lab::figure::{self, Figure, Group as Of, InReport, Kind, Run, inside, nothing};
use lab::{SchemeVerdict, Verdict};
use serde_json::Value as Json;
use ssd::{AroundResult, RunResult, SlcResult};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use vocab::{Cause, StreamId};

/// Contents of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Count(u64),
    Real(f64),
    Share(f64),
    /// Over several seeds.
    Mean(Interval, MeanOf),
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

    /// A value of results in a unit.
    fn of(value: &Json, unit: &str) -> Self {
        match value {
            Json::Bool(is) => yes_no(*is),
            Json::String(text) if unit == "hex" => Value::Code(text.clone()),
            Json::String(text) => Value::Text(text.clone()),
            Json::Number(number) if unit == "share" => number.as_f64().map_or(Value::Absent, Value::Share),
            Json::Number(number) => number.as_u64().map(Value::from).unwrap_or_else(|| number.as_f64().into()),
            _ => Value::Absent,
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

/// One metric of all schemes.
#[derive(Clone)]
pub(super) struct Row {
    pub label: String,
    pub unit: &'static str,
    pub cells: Vec<Value>,
    /// Kind of the number.
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

/// Whether a table or a group of these runs is shown.
type Shown = fn(&[RunResult]) -> bool;

const ALWAYS: Shown = |_| true;

/// Groups of a table, with their titles.
type Groups = &'static [(Of, &'static str)];

/// The tables: title, whether it is shown, its groups.
const TABLES: [(&str, Shown, Groups); 7] = [
    (
        "Latency",
        ALWAYS,
        &[
            (Of::Latency, "Reads and writes"),
            (Of::Throughput, "Throughput"),
            (Of::ReadLatency, "Reads"),
            (Of::WriteLatency, "Writes"),
        ],
    ),
    (
        "Flash operations by cause",
        ALWAYS,
        &[(Of::Reads, "Page reads"), (Of::Programs, "Page programs"), (Of::Erases, "Block erases")],
    ),
    (
        "Cost",
        ALWAYS,
        &[(Of::Work, "Work"), (Of::Streams, "Streams"), (Of::Energy, "Energy"), (Of::Wear, "Wear"), (Of::Load, "Load")],
    ),
    (
        "SLC cache",
        |runs| runs.iter().any(|run| run.slc != SlcResult::default()),
        &[(Of::SlcWrites, "Writes of the host"), (Of::Folding, "Folding")],
    ),
    (
        "Reading around busy dies",
        |runs| runs.iter().any(|run| run.around != AroundResult::default()),
        &[(Of::Around, "Reads with alternatives"), (Of::Ahead, "Read-ahead"), (Of::ZoneCode, "Code")],
    ),
    (
        "Page ECC",
        |runs| runs.iter().any(|run| run.ecc.codewords > 0),
        &[(Of::Code, "Code"), (Of::Errors, "Errors"), (Of::Refresh, "Refresh"), (Of::Ladder, "Read retry")],
    ),
    (
        "Checks and simulator",
        ALWAYS,
        &[(Of::Data, "Data"), (Of::Preconditioning, "Preconditioning"), (Of::Simulator, "Simulator")],
    ),
];

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
    let run = |(at, result)| Run::of_result(result, verdict.schemes.get(at), speeds.get(at).copied());
    let known: Vec<Run<'_>> = runs.iter().enumerate().map(run).collect();
    let is_shown = |group: Of| match group {
        Of::Ladder => runs.iter().any(|run| run.ladder.all_reads() > 0),
        Of::Streams => !streams(runs).is_empty(),
        _ => true,
    };
    let table = |(title, _, groups): &(&'static str, Shown, Groups)| {
        let groups = groups.iter().filter(|(group, _)| is_shown(*group));
        Table { title, groups: groups.map(|(group, title)| Group { title, rows: rows(*group, &known, runs) }).collect() }
    };
    TABLES.iter().filter(|(_, is_shown, _)| is_shown(runs)).map(table).collect()
}

/// The rows of a group, by rank.
fn rows(group: Of, runs: &[Run<'_>], results: &[RunResult]) -> Vec<Row> {
    if group == Of::Streams {
        return streams(results);
    }
    let mut ranked: Vec<(u8, Row)> = Vec::new();
    for figure in figure::all() {
        if let Some(shown) = figure.report.filter(|shown| shown.group == group) {
            ranked.extend(of_figure(figure, &shown, runs).into_iter().map(|row| (shown.rank, row)));
        }
        for part in figure.parts.iter().filter(|part| part.row.group == group) {
            let cells = runs.iter().map(|run| Value::of(&figure.shown(run)[part.name], part.row.unit)).collect();
            ranked.push((part.row.rank, labelled(&part.row, part.row.label.unwrap_or(part.name), cells)));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, row)| row).collect()
}

fn labelled(shown: &InReport, label: &str, cells: Vec<Value>) -> Row {
    Row { label: label.into(), unit: shown.unit, cells, kind: shown.kind }
}

/// The row of a figure, or a row for each of its parts that occur.
fn of_figure(figure: &Figure, shown: &InReport, runs: &[Run<'_>]) -> Vec<Row> {
    let values: Vec<Json> = runs.iter().map(|run| figure.shown(run)).collect();
    if let Some(label) = shown.label {
        let cells: Vec<Value> = values.iter().map(|value| Value::of(value, figure.unit)).collect();
        let is_left_out = shown.if_any && cells.iter().all(|cell| *cell == Value::Count(0));
        return if is_left_out { Vec::new() } else { vec![labelled(shown, label, cells)] };
    }
    let (stem, names) = inside(figure.key).expect("it has parts");
    let occurs = |name: &&str| values.iter().any(|value| value[*name].as_f64().is_some_and(|number| number != 0.0));
    let row = |name: &str| {
        let cell = |value: &Json| Value::of(value.get(name).unwrap_or(&nothing(figure.key, stem)), "");
        labelled(shown, name, values.iter().map(cell).collect())
    };
    names.into_iter().filter(occurs).map(row).collect()
}

/// The causes that occur: those of the vocabulary in report order, then others by name.
pub(super) fn causes<'a>(counts: impl Iterator<Item = &'a BTreeMap<String, u64>>) -> Vec<String> {
    let mut found: BTreeSet<&str> = counts.flatten().filter(|(_, n)| **n > 0).map(|(c, _)| c.as_str()).collect();
    let mut ordered: Vec<String> =
        Cause::ALL.iter().map(|c| c.name()).filter(|name| found.remove(name)).map(String::from).collect();
    ordered.extend(found.into_iter().map(String::from));
    ordered
}

/// Pages of each stream that the host wrote in, and their write amplification; nothing where streams are not told apart.
fn streams(runs: &[RunResult]) -> Vec<Row> {
    let of = |run: &RunResult, stream: usize| run.streams.get(stream).copied();
    let writes = |run: &RunResult, stream: usize| of(run, stream).map_or(0, |stream| stream.host_pages);
    let written = (0..StreamId::COUNT_MAX).filter(|&stream| runs.iter().any(|run| writes(run, stream) > 0));
    let rows = |stream: usize| {
        let row = |kind: Kind, label: &str, value: &dyn Fn(&RunResult) -> Value| {
            let cells = runs.iter().map(value).collect();
            Row { label: format!("stream {stream}: {label}"), unit: "", cells, kind }
        };
        [
            row(Kind::Fact, "host pages written", &|run| writes(run, stream).into()),
            row(Kind::Cost, "pages moved", &|run| of(run, stream).map(|of| of.moved_pages).into()),
            row(Kind::Cost, "write amplification", &|run| of(run, stream).and_then(|of| of.waf()).into()),
        ]
    };
    written.flat_map(rows).collect()
}

fn yes_no(is: bool) -> Value {
    Value::Text(if is { "yes" } else { "no" }.into())
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
