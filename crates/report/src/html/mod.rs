//! The report of a comparison: one HTML file that needs nothing else.
//!
//! Rust writes what must be right and readable anywhere: the tables, the cautions, the
//! description. `assets/report.js` draws the plots from a JSON island with Apache ECharts, which
//! is part of the file; a content security policy forbids it to load anything.

mod drawn;
mod format;
mod over;
pub mod palette;
mod series;
mod study;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

use crate::screen::ScreenRow;
pub use drawn::headline;
use experiment::{Caution, Level};
pub use format::escape;
use format::{count, fill, percent, script_safe, seconds, signs};
use lab::Outcome;
use lab::Seeds;
pub use lab::figure::RunSpeed;
use lab::t_quantile;
use lab::{SchemeVerdict, Verdict};
use serde_json::{Value, json};
use ssd::{RunResult, SeriesResult};
pub use study::study;
pub use study::{SCRIPT as STUDY_SCRIPT, render, render_as};
use vocab::Bytes;

const TEMPLATE: &str = include_str!("../../assets/template.html");
const STYLE: &str = include_str!("../../assets/report.css");
const COMMON: &str = include_str!("../../assets/common.js");
const SCRIPT: &str = concat!(include_str!("../../assets/waits.js"), include_str!("../../assets/report.js"));
const SETUP: &str = include_str!("../../assets/comparison.html");
/// Controls of a comparison beside those that all pages have.
const TOOLS: &str = r#"<span class="chips" id="chips" role="group" aria-label="Schemes shown"></span>
<label>relative to <select id="baseline"></select></label>
<label><input type="checkbox" id="ratios" checked> ratios in tables</label>
"#;
const LIBRARY: &str = include_str!("../../assets/echarts/echarts.min.js");
const LIBRARY_NOTICE: &str =
    concat!(include_str!("../../assets/echarts/NOTICE"), "\n", include_str!("../../assets/echarts/LICENSE"));

/// The workload as the report describes it.
#[derive(Clone, Copy, Debug)]
pub struct TraceSummary<'a> {
    /// Name, such as the file name.
    pub name: &'a str,
    /// Requests replayed.
    pub requests: u64,
    /// Of these, reads.
    pub reads: u64,
    /// Of these, writes.
    pub writes: u64,
    /// Distinct bytes touched.
    pub footprint: Bytes,
    /// From the first to the last arrival, in seconds.
    pub duration_s: f64,
    /// Requests and addresses in words, where the drive decides how many requests there are; counts are then of one pass.
    pub answered: Option<&'a str>,
    /// Anything more: format, hash, filters, how addresses were scaled. `name: value` makes a
    /// labelled line.
    pub lines: &'a [String],
}

/// All that a report tells.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// Headline.
    pub title: &'a str,
    /// The workload.
    pub trace: TraceSummary<'a>,
    /// The drive, one fact a line. `name: value` makes a labelled line.
    pub drive: &'a [String],
    /// Dies of the drive: the rows of the wear map. Blocks are numbered die by die.
    pub dies: u32,
    /// Why the comparison is fair: what was held equal, and how.
    pub fairness: &'a [String],
    /// Notes for the reader.
    pub notes: &'a [String],
    /// Cautions for the reader.
    pub cautions: &'a [Caution],
    /// Losses that each run survives and its costs, one for each run in their order, or nothing.
    pub verdict: &'a Verdict,
    /// Rows of the first screen, for the table below the verdict: a row without cells is a heading.
    pub screen: &'a [ScreenRow],
    /// The effective experiment file.
    pub experiment: &'a str,
    /// The command that gives this report again.
    pub command: &'a str,
    /// The flows of the workload; all of it is empty where there is one.
    pub flows: FlowsShown<'a>,
    /// The runs; ratios are relative to the first until the reader chooses another.
    pub runs: &'a [RunResult],
    /// Time series of each run, in order, or nothing.
    pub series: &'a [SeriesResult],
    /// Simulator speed of each run, in order; may be shorter.
    pub speeds: &'a [RunSpeed],
    /// The comparison under each seed, where it was repeated; the runs above are those of the first.
    pub seeds: Option<&'a Seeds>,
}

/// The flows of a workload as a report shows them.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowsShown<'a> {
    /// Their figures as a table, titles first.
    pub table: &'a [Vec<String>],
    /// Where the time of each goes as a table, titles first.
    pub waits: &'a [Vec<String>],
    /// Fairness under each scheme, as a sentence.
    pub fairness: &'a str,
    /// Their picture.
    pub picture: Option<&'a str>,
}

/// The report as one self-contained HTML document.
#[must_use]
pub fn html(comparison: &ReportInput) -> String {
    let labels = palette::assign(comparison.runs.iter().map(|run| run.scheme.as_str()));
    let lines = |lines: &[String]| description(lines.iter().map(String::as_str));
    let setup = [
        ("fairness", bullets(comparison.fairness)),
        ("notes", bullets(comparison.notes)),
        ("drive", lines(comparison.drive)),
        ("trace", trace(&comparison.trace)),
    ];
    page(&Page {
        title: comparison.title,
        summary: &summary(comparison, &labels),
        verdict: &verdict::html(comparison, &labels),
        cautions: &cautions(comparison.cautions),
        tools: TOOLS,
        tables: &format!("{}{}", flows(comparison.flows), table::html(&labels, comparison)),
        // Intervals take twice the room.
        columns: if labels.len() > if comparison.seeds.is_some() { 2 } else { 4 } { "many" } else { "" },
        setup: &fill(SETUP, &setup.each_ref().map(|(name, text)| (*name, text.as_str()))),
        command: comparison.command,
        experiment: &experiment(comparison.experiment),
        data: &data(comparison, &labels),
        script: &format!("{}{SCRIPT}", series::SCRIPT),
    })
}

/// Parts that differ between pages; texts are HTML but for `title` and `command`.
pub struct Page<'a> {
    /// Title.
    pub title: &'a str,
    /// Line under the title.
    pub summary: &'a str,
    /// The verdict.
    pub verdict: &'a str,
    /// The banner.
    pub cautions: &'a str,
    /// Controls beside those that all pages have.
    pub tools: &'a str,
    /// The tables.
    pub tables: &'a str,
    /// Class of the tables: `many` puts them below each other.
    pub columns: &'a str,
    /// Cards on how it was made.
    pub setup: &'a str,
    /// Command that makes it again.
    pub command: &'a str,
    /// The effective experiment file.
    pub experiment: &'a str,
    /// Data of plots and downloads.
    pub data: &'a Value,
    /// Script that draws them.
    pub script: &'a str,
}

/// A page of these parts.
#[must_use]
pub fn page(page: &Page<'_>) -> String {
    fill(
        TEMPLATE,
        &[
            ("title", &escape(page.title)),
            ("style", STYLE),
            ("summary", page.summary),
            ("verdict", page.verdict),
            ("cautions", page.cautions),
            ("tools", page.tools),
            ("tables", page.tables),
            ("columns", page.columns),
            ("setup", page.setup),
            ("command", &escape(page.command)),
            ("experiment", page.experiment),
            ("version", env!("CARGO_PKG_VERSION")),
            ("notice", &escape(LIBRARY_NOTICE)),
            ("data", &script_safe(&page.data.to_string())),
            ("library", LIBRARY),
            ("common", COMMON),
            ("script", page.script),
        ],
    )
}

/// The flows of the workload: a card with their picture and table.
fn flows(flows: FlowsShown<'_>) -> String {
    if flows.table.is_empty() {
        return String::new();
    }
    let waits = match flows.waits {
        [] => String::new(),
        rows => format!(
            "<details><summary>Where the time of each flow goes</summary>{}</details>",
            flow_table("Waits of flows", rows)
        ),
    };
    format!(
        "<section class=\"card\"><h3>Flows</h3>{}{}<p>{}</p>{waits}</section>\n",
        flows.picture.unwrap_or_default(),
        flow_table("Flows", flows.table),
        escape(&signs(flows.fairness))
    )
}

/// A table of texts, titles first.
fn flow_table(name: &str, rows: &[Vec<String>]) -> String {
    let [titles, rows @ ..] = rows else { return String::new() };
    let line = |cells: &[String], tag: &str| {
        let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let lines: String = rows.iter().map(|row| line(row, "td")).collect();
    format!(
        "<div class=\"wide\"><table data-table=\"{name}\"><thead>{}</thead><tbody>{lines}</tbody></table></div>",
        line(titles, "th")
    )
}

fn experiment(file: &str) -> String {
    format!(
        "<details><summary>Effective experiment file</summary>\n\
         <div class=\"code\"><pre id=\"experiment\">{}</pre>\
         <button type=\"button\" data-copy=\"experiment\">Copy</button></div>\n</details>\n",
        escape(file)
    )
}

/// One line under the title.
fn summary(comparison: &ReportInput, labels: &[(String, &'static str)]) -> String {
    let trace = &comparison.trace;
    let schemes: Vec<&str> = labels.iter().map(|(label, _)| label.as_str()).collect();
    let seeds = comparison.seeds.map_or(String::new(), |seeds| {
        let count = seeds.repetitions().len();
        format!("; <b>{count} seeds</b>: means and half-widths of their 95 % confidence intervals")
    });
    let asked = trace.answered.map_or_else(
        || {
            let reads = percent(trace.reads as f64 / trace.requests as f64);
            format!("{} requests, {reads} reads, {} footprint", count(trace.requests), common::quantity::mib(trace.footprint))
        },
        escape,
    );
    format!("<b>{}</b> replayed over <b>{}</b>: {asked}{seeds}", escape(trace.name), escape(&schemes.join(", ")))
}

/// The banner: errors first; empty where nothing is to be said.
fn cautions(cautions: &[Caution]) -> String {
    let mut all: Vec<&Caution> = cautions.iter().collect();
    all.sort_by_key(|caution| caution.level != Level::Error);
    all.iter()
        .map(|caution| {
            let name = caution.level.name();
            format!("<p class=\"caution {name}\" role=\"alert\"><b>{name}</b> {}</p>\n", escape(&signs(&caution.text)))
        })
        .collect()
}

fn trace(trace: &TraceSummary) -> String {
    let share = |n: u64| format!("{} ({})", count(n), percent(n as f64 / trace.requests as f64));
    let of_a_pass = if trace.answered.is_some() { " in one pass over its size" } else { "" };
    let facts = [
        format!("Name: {}", trace.name),
        format!("Requests: {}{of_a_pass}", count(trace.requests)),
        format!("Reads: {}", share(trace.reads)),
        format!("Writes: {}", share(trace.writes)),
        format!("Footprint: {}", common::quantity::mib(trace.footprint)),
        format!("Duration: {}", seconds(trace.duration_s)),
    ];
    description(facts.iter().chain(trace.lines).map(String::as_str))
}

/// Lines as a description list: `name: value` is split.
#[must_use]
pub fn description<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let items: String = lines
        .map(|line| match line.split_once(": ") {
            Some((name, value)) => format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value)),
            None => format!("<dd class=\"whole\">{}</dd>\n", escape(line)),
        })
        .collect();
    format!("<dl>{items}</dl>")
}

/// Lines as a list; empty without any.
#[must_use]
pub fn bullets(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escape(&signs(line)))).collect();
    format!("<ul>{items}</ul>")
}

/// Data of plots and downloads.
fn data(comparison: &ReportInput, labels: &[(String, &'static str)]) -> Value {
    let all: Vec<&RunResult> = match comparison.seeds {
        Some(seeds) => seeds.repetitions().iter().flat_map(|one| &one.outcomes).map(|outcome| &outcome.result).collect(),
        None => comparison.runs.iter().collect(),
    };
    let counts = all.into_iter().flat_map(|run| [&run.flash.reads, &run.flash.programs, &run.flash.erases]);
    let runs = labels.iter().zip(comparison.runs).enumerate().map(|(i, ((label, colour), run))| {
        let speed = comparison.speeds.get(i);
        let mut value = json!(run);
        // Wear at the end is the given age plus `pe_added`; a digest exceeds what JavaScript counts.
        value.as_object_mut().expect("a struct is an object").remove("pe_cycles");
        value["event_digest"] = json!(format!("{:016x}", run.replay.event_digest));
        value["label"] = json!(label);
        value["colour"] = json!(colour);
        value["not_comparable"] = json!(comparison.verdict.schemes.get(i).and_then(SchemeVerdict::reason));
        value["wall_s"] = json!(speed.map(|s| s.wall_s));
        value["flash_ops_per_s"] = json!(speed.map(|s| s.flash_ops_per_s));
        if let Some(seeds) = comparison.seeds {
            value["by_seed"] = by_seed(seeds, i);
            let runs: Vec<&Outcome> = seeds.repetitions().iter().map(|one| &one.outcomes[i]).collect();
            value["waits"] = json!(lab::waits::over(&runs));
        }
        value
    });
    json!({
        "title": comparison.title,
        "command": comparison.command,
        "experiment": comparison.experiment,
        "trace": {
            "name": comparison.trace.name,
            "requests": comparison.trace.requests,
            "reads": comparison.trace.reads,
            "writes": comparison.trace.writes,
            "footprint_bytes": comparison.trace.footprint.0,
            "duration_s": comparison.trace.duration_s,
        },
        "baseline": comparison.verdict.baseline,
        "dies": comparison.dies,
        "seeds": comparison.seeds.map(|seeds| json!({ "seeds": seeds.seeds(), "t": t_quantile(seeds.repetitions().len() - 1) })),
        "causes": table::causes(counts),
        "series": series::data(comparison.series),
        "runs": runs.collect::<Vec<Value>>(),
    })
}

/// Values of the bars of a scheme under each seed.
fn by_seed(seeds: &Seeds, scheme: usize) -> Value {
    let one = |result: &RunResult| {
        json!({
            "flash_reads": result.flash.reads,
            "flash_programs": result.flash.programs,
            "flash_erases": result.flash.erases,
            "read_pages": result.host.read_pages,
            "write_pages": result.host.write_pages,
        })
    };
    seeds.repetitions().iter().map(|repetition| one(&repetition.outcomes[scheme].result)).collect()
}
