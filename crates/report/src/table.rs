//! Tables for the terminal, and a comparison as one: one column per scheme.

use common::Quantity;
use common::table::{Row, aligned, aligned_within, grouped, wrapped};
use lab::Comparison;
use lab::figure::{self, Figure, Labels, Run, Section, inside, nothing};
use lab::show_runs;
use lab::{MEASURES, OverSeeds, SchemeVerdict};
use serde_json::{Value, json};
use ssd::{AroundResult, SlcResult};

/// A cell of one run: over several seeds, its mean with the half-width of the interval.
struct Cell(Quantity, Option<f64>);

impl Cell {
    /// A value of results in a unit.
    fn of(value: &Value, unit: &str) -> Self {
        let quantity = match unit {
            "us" => Quantity::Micros,
            "s" => Quantity::Seconds,
            "share" => Quantity::Share,
            "J" => Quantity::Joules,
            _ if value.is_u64() => Quantity::Count,
            _ => Quantity::Plain,
        };
        Cell(quantity, value.as_f64())
    }
}

struct Rows<'a> {
    /// The runs of each scheme, one a seed.
    runs: Vec<Vec<Run<'a>>>,
    rows: Vec<Row>,
}

/// The cell of a scheme, of that of each of its runs; `-` where one of them has nothing.
fn joined(cells: Vec<Cell>) -> String {
    let values: Option<Vec<f64>> = cells.iter().map(|Cell(_, value)| *value).collect();
    values.map_or("-".into(), |values| show_runs(cells[0].0, &values))
}

impl Rows<'_> {
    fn heading(&mut self, label: &str) {
        self.rows.push(Row { label: label.into(), cells: Vec::new() });
    }

    fn each(&mut self, label: &str, cell: impl Fn(&Run<'_>) -> Cell) {
        let cells = self.runs.iter().map(|runs| joined(runs.iter().map(&cell).collect())).collect();
        self.rows.push(Row { label: label.into(), cells });
    }

    /// Marks the last row, so that no number that means nothing stands there as if it did.
    fn mark_saturated(&mut self) {
        let is_saturated = |runs: &Vec<Run<'_>>| runs.iter().any(|run| run.replay.saturated);
        let row = self.rows.last_mut().expect("there is a row");
        for (cell, _) in row.cells.iter_mut().zip(&self.runs).filter(|(cell, runs)| *cell != "-" && is_saturated(runs)) {
            cell.push_str(" !");
        }
    }

    /// Whether something holds of any run.
    fn any(&self, is: impl Fn(&Run<'_>) -> bool) -> bool {
        self.runs.iter().flatten().any(is)
    }

    /// Whether a section has anything to show.
    fn has(&self, section: Section) -> bool {
        match section {
            Section::Losses => self.any(|run| run.redundancy.rebuilt_reads + run.host.media_errors > 0),
            Section::Around => self.any(|run| run.around != AroundResult::default()),
            Section::SlcCache => self.any(|run| run.slc != SlcResult::default()),
            Section::Ecc => self.any(|run| run.ecc.codewords > 0),
            Section::Ladder | Section::LadderEnds => self.any(|run| run.ladder.all_reads() > 0),
            _ => true,
        }
    }

    /// All figures that the terminal shows, section by section.
    fn figures(&mut self) {
        for section in Section::ALL.into_iter().filter(|&section| self.has(section)).collect::<Vec<_>>() {
            let heading = match section {
                Section::Latency => Some("latency"),
                Section::ReadLatency => Some("read latency"),
                Section::WriteLatency => Some("write latency"),
                _ => None,
            };
            heading.into_iter().for_each(|heading| self.heading(heading));
            for figure in figure::all() {
                let Some(shown) = figure.terminal.filter(|shown| shown.section == section) else { continue };
                self.figure(figure, shown.rows);
                if heading.is_some() {
                    self.mark_saturated();
                }
            }
        }
    }

    /// The rows of one figure.
    fn figure(&mut self, figure: &Figure, labels: Labels) {
        let part = |run: &Run<'_>, name: &str| figure.shown(run).get(name).cloned();
        match labels {
            Labels::One(label) => self.each(label, |run| Cell::of(&figure.shown(run), figure.unit)),
            Labels::Named(parts) => {
                parts.iter().for_each(|(name, label)| self.each(label, |run| Cell::of(&json!(part(run, name)), "")))
            }
            Labels::Each(before) => {
                let (stem, names) = inside(figure.key).expect("it has parts");
                for name in names {
                    if self.any(|run| part(run, name).and_then(|value| value.as_f64()).is_some_and(|number| number != 0.0)) {
                        let value = |run: &Run<'_>| part(run, name).unwrap_or_else(|| nothing(figure.key, stem));
                        self.each(&format!("{before}{name}"), |run| Cell::of(&value(run), ""));
                    }
                }
            }
        }
    }
}

/// The comparison as text: what was run, the table, notes and warnings.
#[must_use]
pub fn to_table(comparison: &Comparison) -> String {
    let mut rows = Rows { runs: Run::all(comparison), rows: Vec::new() };
    let cells = comparison.outcomes.iter().map(|outcome| marked(comparison, &outcome.label)).collect();
    rows.rows.push(Row { label: "scheme".into(), cells });
    rows.figures();
    let outcomes = comparison.runs_by_scheme();
    let mut waits = crate::waits::rows(&outcomes);
    waits.extend(crate::waits::rows_of_flows(&outcomes));
    if !waits.is_empty() {
        let cells = comparison.outcomes.iter().map(|o| marked(comparison, &o.label)).collect();
        waits.splice(0..0, std::iter::once(Row { label: "where the time goes".into(), cells }).chain(reasons(comparison)));
    }
    rows.rows.splice(1..1, reasons(comparison));
    let [table, waits] = [&rows.rows, &waits].map(|rows| aligned(rows));
    format!("{}{waits}\n{table}\n{}", head(comparison), remarks(comparison))
}

/// Title, verdict and, of a workload of several flows, their table.
fn head(comparison: &Comparison) -> String {
    format!("{}\n\n{}\n{}", title(comparison), verdict_text(comparison), flows_text(comparison, false, usize::MAX))
}

/// The table of a workload of several flows; empty where there is one.
pub(crate) fn flows_text(comparison: &Comparison, explain: bool, width: usize) -> String {
    let row = |cells: Vec<String>| Row { label: cells[0].clone(), cells: cells[1..].to_vec() };
    let rows: Vec<Row> = crate::flow_table::table(comparison).into_iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let fairness = crate::flow_table::fairness_text(comparison, width);
    let waits = if explain { crate::waits::rows_of_flows(&comparison.runs_by_scheme()) } else { Vec::new() };
    let waits = if waits.is_empty() { String::new() } else { format!("{}\n", aligned_within(&waits, width)) };
    format!("{}{fairness}\n{waits}", aligned_within(&rows, width))
}

/// A scheme with a mark where its run cannot be compared.
pub(crate) fn marked(comparison: &Comparison, label: &str) -> String {
    let is_comparable = comparison.verdict.of_scheme(label).is_none_or(SchemeVerdict::is_comparable);
    if is_comparable { label.to_owned() } else { format!("{label} !") }
}

/// Rows that say of each marked scheme why it cannot be compared; none where all can.
pub(crate) fn reasons(comparison: &Comparison) -> Vec<Row> {
    let schemes = &comparison.verdict.schemes;
    let most = schemes.iter().map(|one| one.not_comparable.len()).max().unwrap_or(0);
    let reason = |one: &SchemeVerdict, at: usize| {
        one.not_comparable.get(at).map_or(if at == 0 { "-" } else { "" }, |reason| *reason).to_owned()
    };
    let row = |at: usize| Row {
        label: if at == 0 { "! not comparable" } else { "" }.into(),
        cells: schemes.iter().map(|one| reason(one, at)).collect(),
    };
    let mut rows: Vec<Row> = (0..most).map(row).collect();
    if most > 0 && comparison.seeds.is_some() {
        let under = |over: &OverSeeds| format!("{} of {} seeds", over.apart, over.seeds);
        let cell = |one: &SchemeVerdict| one.over.as_ref().filter(|_| !one.is_comparable()).map_or("-".into(), under);
        rows.push(Row { label: "! under".into(), cells: schemes.iter().map(cell).collect() });
    }
    rows
}

/// The verdict: the answer, a table of what is survived and what it costs, a sentence for each scheme.
fn verdict_text(comparison: &Comparison) -> String {
    let verdict = &comparison.verdict;
    let mut rows = Vec::new();
    let mut each = |label: &str, cell: &dyn Fn(&SchemeVerdict) -> String| {
        rows.push(Row { label: label.into(), cells: verdict.schemes.iter().map(cell).collect() });
    };
    each("verdict", &|v| marked(comparison, &v.scheme));
    each("survives the failure of", &|v| v.survives.losses());
    for (index, measure) in MEASURES.iter().enumerate() {
        each(&verdict.title(measure), &|v| {
            let is_base = verdict.baseline.as_ref() == Some(&v.scheme);
            let ratio = v.times(index).filter(|_| !is_base).map(|times| format!("  {times}"));
            let mark = if v.is_comparable() { "" } else { " !" };
            format!("{}{}{mark}", v.shown(measure), ratio.unwrap_or_default())
        });
    }
    rows.extend(reasons(comparison));
    let mut out = String::new();
    for answer in &verdict.answer {
        out.push_str(&wrapped(answer));
    }
    if let Some(warnings) = experiment::caution::how_many(&comparison.cautions) {
        out.push_str(&format!("{warnings} at the end, to read before any figure is believed.\n"));
    }
    out.push_str(&format!("\n{}\n", aligned(&rows)));
    for scheme in &verdict.schemes {
        out.push_str(&wrapped(&scheme.sentence));
    }
    out
}

fn title(comparison: &Comparison) -> String {
    let (trace, drive) = (&comparison.trace, &comparison.experiment.drive);
    let seeds = comparison.seeds.as_ref().map(|_| {
        let range = lab::seeds::range(&comparison.experiment);
        format!("\nseeds {range}: means and half-widths of their 95 % confidence intervals; requests above are of the first")
    });
    let asked = comparison.answered_words().unwrap_or_else(|| {
        format!(
            "{} requests ({} reads, {} writes, {} flushes), {:.1} s, footprint {:.0} MiB",
            grouped(trace.requests),
            grouped(trace.reads),
            grouped(trace.writes),
            grouped(trace.flushes),
            trace.duration_s,
            trace.footprint_bytes as f64 / f64::from(1 << 20),
        )
    });
    format!("{}: {asked}\ndrive {}: {}{}", trace.name, drive.name, drive.summary, seeds.unwrap_or_default())
}

fn remarks(comparison: &Comparison) -> String {
    let mut out = String::new();
    for note in comparison.fairness.iter().chain(&comparison.notes) {
        out.push_str(&wrapped(note));
    }
    for warning in comparison.warnings() {
        out.push_str(&wrapped(&format!("WARNING: {warning}")));
    }
    out
}
