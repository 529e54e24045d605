//! Tables for the terminal, and a comparison as one: one column per scheme.

use crate::compare::{Comparison, Outcome};
use crate::quantity::Quantity;
use crate::verdict::{MEASURES, OverSeeds, SchemeVerdict};
use ssd::{AroundResult, Latency, RunResult, SlcResult, StreamResult};
use std::collections::BTreeMap;
use vocab::{Cause, StreamId};

/// A row: its label and one cell a column; no cells make a heading.
pub struct Row {
    /// What stands to the left.
    pub label: String,
    /// One for each column.
    pub cells: Vec<String>,
}

/// A line of a latency table: its label, and which value it shows.
type Quantile = (&'static str, fn(&Latency) -> f64);

/// Digits in groups of three.
#[must_use]
pub fn grouped(value: u64) -> String {
    grouped_by(value, ' ')
}

/// Digits in groups of three with this between them.
pub(crate) fn grouped_by(value: u64, between: char) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(between);
        }
        out.push(digit);
    }
    out
}

/// Rows of cells as CSV.
pub(crate) fn csv(rows: &[Vec<String>]) -> String {
    let quoted = |cell: &String| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// A cell of one run.
enum Cell {
    /// A figure: over several seeds, its mean with the half-width of the interval.
    Figure(Quantity, Option<f64>),
    /// What has no mean.
    Text(String),
}

fn figure(quantity: Quantity, value: impl Into<Option<f64>>) -> Cell {
    Cell::Figure(quantity, value.into())
}

fn count(value: u64) -> Cell {
    Cell::Figure(Quantity::Count, Some(value as f64))
}

struct Rows<'a> {
    /// The runs of each scheme, one a seed.
    runs: Vec<Vec<&'a Outcome>>,
    rows: Vec<Row>,
}

/// The cell of a scheme, of that of each of its runs.
fn joined(mut cells: Vec<Cell>) -> String {
    let figures: Option<Vec<(Quantity, f64)>> = cells
        .iter()
        .map(|cell| match cell {
            Cell::Figure(quantity, value) => Some((*quantity, (*value)?)),
            Cell::Text(_) => None,
        })
        .collect();
    match (figures, cells.remove(0)) {
        (Some(figures), Cell::Figure(quantity, _)) => {
            quantity.show_runs(&figures.iter().map(|(_, value)| *value).collect::<Vec<f64>>())
        }
        (None, Cell::Figure(..)) => "-".into(),
        (_, Cell::Text(text)) => text,
    }
}

impl Rows<'_> {
    fn heading(&mut self, label: &str) {
        self.rows.push(Row { label: label.into(), cells: Vec::new() });
    }

    fn each(&mut self, label: &str, cell: impl Fn(&Outcome) -> Cell) {
        let cells = self.runs.iter().map(|runs| joined(runs.iter().map(|run| cell(run)).collect())).collect();
        self.rows.push(Row { label: label.into(), cells });
    }

    /// Marks the last row, so that no number that means nothing stands there as if it did.
    fn mark_saturated(&mut self) {
        let is_saturated = |runs: &Vec<&Outcome>| runs.iter().any(|run| run.result.replay.saturated);
        let row = self.rows.last_mut().expect("there is a row");
        for (cell, _) in row.cells.iter_mut().zip(&self.runs).filter(|(cell, runs)| *cell != "-" && is_saturated(runs)) {
            cell.push_str(" !");
        }
    }

    fn latency(&mut self, heading: &str, of: impl Fn(&RunResult) -> &Latency) {
        self.heading(heading);
        let quantiles: [Quantile; 5] = [
            ("  mean", |r| r.mean),
            ("  p50", |r| r.p50),
            ("  p99", |r| r.p99),
            ("  p99.9", |r| r.p999),
            ("  p99.99", |r| r.p9999),
        ];
        for (label, value) in quantiles {
            self.each(label, |o| figure(Quantity::Micros, (of(&o.result).count > 0).then(|| value(of(&o.result)))));
            self.mark_saturated();
        }
    }

    /// Whether something holds of any run.
    fn any(&self, is: impl Fn(&Outcome) -> bool) -> bool {
        self.runs.iter().flatten().any(|run| is(run))
    }

    fn throughput(&mut self, slot: u64) {
        self.each("requests/s", |o| figure(Quantity::Plain, o.throughput(slot).0));
        self.each("MB/s", |o| figure(Quantity::Plain, o.throughput(slot).1));
    }

    fn causes(&mut self, heading: &str, of: impl Fn(&RunResult) -> &BTreeMap<String, u64>) {
        self.each(heading, |o| count(of(&o.result).values().sum()));
        for cause in Cause::ALL {
            let caused = |o: &Outcome| of(&o.result).get(cause.name()).copied().unwrap_or(0);
            if self.any(|o| caused(o) > 0) {
                self.each(&format!("  {}", cause.name()), |o| count(caused(o)));
            }
        }
    }

    /// Page ECC and read retry, where there is any.
    fn page_ecc(&mut self) {
        if self.any(|o| o.result.ecc.codewords > 0) {
            self.each("bits corrected per codeword", |o| figure(Quantity::Plain, o.result.corrected_per_codeword()));
            self.each("unreadable pages", |o| count(o.result.ecc.unreadable_pages));
            self.each("decoding a read", |o| figure(Quantity::Micros, o.result.ecc.decode_us_mean));
            self.each("ECC strength (t or LDPC parity rows), mean", |o| figure(Quantity::Plain, o.result.mean_t()));
            self.each("units refreshed", |o| count(o.result.ecc.refreshed_units));
        }
        if self.any(|o| o.result.ladder.all_reads() > 0) {
            self.each("read retries per page read, mean", |o| {
                figure(Quantity::Plain, o.result.ladder.retries_mean().unwrap_or(0.0))
            });
            let steps = [
                ("  decoded by hard decision", "hard"),
                ("  by read retry", "retry"),
                ("  by 2-bit soft decision", "soft_2_bit"),
                ("  by 3-bit soft decision", "soft_3_bit"),
                ("  by parity, or not at all", "parity"),
            ];
            for (label, step) in steps {
                self.each(label, |o| count(o.result.ladder.reads.get(step).copied().unwrap_or(0)));
            }
        }
    }
}

/// Characters of a line of prose.
const LINE: usize = 110;

/// What no line begins with, after a number: its unit.
const UNITS: [&str; 15] = ["%", "x", "us", "ms", "s", "h", "days", "years", "uJ", "mJ", "J", "MiB", "MB", "GB", "TB"];

/// Words of prose, each number with its unit.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches(|c: char| ".,;:)".contains(c)));
        match words.last_mut() {
            Some(last) if is_unit && last.ends_with(|c: char| c.is_ascii_digit()) => last.push_str(&format!(" {word}")),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Prose in lines, the later ones indented.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in &words(text) {
        let line = lines.last_mut().expect("one at least");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= LINE {
            line.push_str(&format!(" {word}"));
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines.join("\n") + "\n"
}

/// Rows as lines of text: labels to the left, cells to the right of their columns.
#[must_use]
pub fn aligned(rows: &[Row]) -> String {
    let first = rows.iter().map(|row| row.label.len()).max().unwrap_or(0);
    let mut widths = vec![0; rows.iter().map(|row| row.cells.len()).max().unwrap_or(0)];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.len());
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = format!("{:<first$}", row.label);
        for (cell, width) in row.cells.iter().zip(&widths) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

impl Comparison {
    /// The comparison as text: what was run, the table, notes and warnings.
    #[must_use]
    pub fn to_table(&self) -> String {
        let runs = (0..self.outcomes.len()).map(|scheme| self.runs_of(scheme)).collect();
        let mut rows = Rows { runs, rows: Vec::new() };
        rows.each("scheme", |o| Cell::Text(self.marked(&o.label)));
        rows.latency("latency", |r| &r.host.latency_us);
        rows.throughput(self.experiment.drive.geometry.slot_size.0);
        rows.latency("read latency", |r| &r.host.read_latency_us);
        rows.latency("write latency", |r| &r.host.write_latency_us);
        rows.causes("flash page reads", |r| &r.flash.reads);
        rows.causes("flash page programs", |r| &r.flash.programs);
        rows.causes("flash block erases", |r| &r.flash.erases);
        rows.each("write amplification", |o| figure(Quantity::Plain, o.result.flash.waf));
        for stream in 0..StreamId::COUNT_MAX {
            if rows.any(|o| o.result.streams.get(stream).is_some_and(|stream| stream.host_pages > 0)) {
                let waf = |o: &Outcome| o.result.streams.get(stream).and_then(StreamResult::waf);
                rows.each(&format!("  of stream {stream}"), |o| figure(Quantity::Plain, waf(o)));
            }
        }
        rows.each("energy", |o| figure(Quantity::Joules, o.energy_j()));
        rows.each("over-provisioning after parity", |o| {
            figure(Quantity::Share, crate::over_provisioning::of_user(o.planned.op_after_parity_of_raw))
        });
        rows.each("die utilisation", |o| figure(Quantity::Share, o.result.flash.die_utilisation));
        rows.each("reads checked", |o| count(o.result.oracle.checked_reads));
        rows.each("mismatches", |o| count(o.result.oracle.mismatches));
        if rows.any(|o| o.result.redundancy.rebuilt_reads + o.result.host.media_errors > 0) {
            rows.each("pages rebuilt", |o| count(o.result.redundancy.rebuilt_reads));
            rows.each("media errors", |o| count(o.result.host.media_errors));
        }
        if rows.any(|o| o.result.around != AroundResult::default()) {
            rows.each("reads with alternatives", |o| count(o.result.around.reads));
            rows.each("  page reads queued for them", |o| count(o.result.around.extra_reads));
            rows.each("  page reads withdrawn", |o| count(o.result.around.withdrawn_reads));
            rows.each("  pages computed", |o| count(o.result.around.derived_pages));
            rows.each("pages read ahead", |o| count(o.result.around.ahead_pages));
            rows.each("  pages found there", |o| count(o.result.around.ahead_hits));
            rows.each("code groups encoded", |o| count(o.result.around.encoded_groups));
        }
        if rows.any(|o| o.result.slc != SlcResult::default()) {
            rows.each("pages written to the SLC cache", |o| count(o.result.slc.host_pages));
            rows.each("  past it", |o| count(o.result.slc.past_pages));
            rows.each("  folded", |o| count(o.result.slc.folded_pages));
        }
        rows.page_ecc();
        let mut waits = crate::waits::rows(&rows.runs);
        if !waits.is_empty() {
            let cells = self.outcomes.iter().map(|o| self.marked(&o.label)).collect();
            waits.splice(0..0, std::iter::once(Row { label: "where the time goes".into(), cells }).chain(self.reasons()));
        }
        rows.rows.splice(1..1, self.reasons());
        let [table, waits] = [&rows.rows, &waits].map(|rows| aligned(rows));
        format!("{}{waits}\n{table}\n{}", self.head(), self.remarks())
    }

    /// Title, verdict and, of a workload of several flows, their table.
    fn head(&self) -> String {
        format!("{}\n\n{}\n{}", self.title(), self.verdict_text(), self.flows_text())
    }

    /// The table of a workload of several flows; empty where there is one.
    pub(crate) fn flows_text(&self) -> String {
        let row = |cells: Vec<String>| Row { label: cells[0].clone(), cells: cells[1..].to_vec() };
        let rows: Vec<Row> = crate::flows::table(self).into_iter().map(row).collect();
        if rows.is_empty() { String::new() } else { format!("{}\n", aligned(&rows)) }
    }

    /// A scheme with a mark where its run cannot be compared.
    pub(crate) fn marked(&self, label: &str) -> String {
        let is_comparable = self.verdict.of_scheme(label).is_none_or(SchemeVerdict::is_comparable);
        if is_comparable { label.to_owned() } else { format!("{label} !") }
    }

    /// Rows that say of each marked scheme why it cannot be compared; none where all can.
    pub(crate) fn reasons(&self) -> Vec<Row> {
        let schemes = &self.verdict.schemes;
        let most = schemes.iter().map(|one| one.not_comparable.len()).max().unwrap_or(0);
        let reason = |one: &SchemeVerdict, at: usize| {
            one.not_comparable.get(at).map_or(if at == 0 { "-" } else { "" }, |reason| *reason).to_owned()
        };
        let row = |at: usize| Row {
            label: if at == 0 { "! not comparable" } else { "" }.into(),
            cells: schemes.iter().map(|one| reason(one, at)).collect(),
        };
        let mut rows: Vec<Row> = (0..most).map(row).collect();
        if most > 0 && self.seeds.is_some() {
            let under = |over: &OverSeeds| format!("{} of {} seeds", over.apart, over.seeds);
            let cell = |one: &SchemeVerdict| one.over.as_ref().filter(|_| !one.is_comparable()).map_or("-".into(), under);
            rows.push(Row { label: "! under".into(), cells: schemes.iter().map(cell).collect() });
        }
        rows
    }

    /// The verdict: the answer, a table of what is survived and what it costs, a sentence for each scheme.
    fn verdict_text(&self) -> String {
        let verdict = &self.verdict;
        let mut rows = Vec::new();
        let mut each = |label: &str, cell: &dyn Fn(&SchemeVerdict) -> String| {
            rows.push(Row { label: label.into(), cells: verdict.schemes.iter().map(cell).collect() });
        };
        each("verdict", &|v| self.marked(&v.scheme));
        each("survives the failure of", &|v| v.survives.losses());
        for (index, measure) in MEASURES.iter().enumerate() {
            each(&verdict.title(measure), &|v| {
                let is_base = verdict.baseline.as_ref() == Some(&v.scheme);
                let ratio = v.times(index).filter(|_| !is_base).map(|times| format!("  {times}"));
                let mark = if v.is_comparable() { "" } else { " !" };
                format!("{}{}{mark}", v.shown(measure), ratio.unwrap_or_default())
            });
        }
        rows.extend(self.reasons());
        let mut out = String::new();
        for answer in &verdict.answer {
            out.push_str(&wrapped(answer));
        }
        if let Some(warnings) = crate::caution::how_many(&self.cautions) {
            out.push_str(&format!("{warnings} at the end, to read before any figure is believed.\n"));
        }
        out.push_str(&format!("\n{}\n", aligned(&rows)));
        for scheme in &verdict.schemes {
            out.push_str(&wrapped(&scheme.sentence));
        }
        out
    }

    fn title(&self) -> String {
        let (trace, drive) = (&self.trace, &self.experiment.drive);
        let seeds = self.seeds.as_ref().map(|_| {
            let range = crate::seeds::range(&self.experiment);
            format!("\nseeds {range}: means and half-widths of their 95 % confidence intervals; requests above are of the first")
        });
        format!(
            "{}: {} requests ({} reads, {} writes, {} flushes), {:.1} s, footprint {:.0} MiB\ndrive {}: {}{}",
            trace.name,
            grouped(trace.requests),
            grouped(trace.reads),
            grouped(trace.writes),
            grouped(trace.flushes),
            trace.duration_s,
            trace.footprint_bytes as f64 / f64::from(1 << 20),
            drive.name,
            drive.summary,
            seeds.unwrap_or_default(),
        )
    }

    fn remarks(&self) -> String {
        let mut out = String::new();
        for note in self.fairness.iter().chain(&self.notes) {
            out.push_str(&wrapped(note));
        }
        for warning in self.warnings() {
            out.push_str(&wrapped(&format!("WARNING: {warning}")));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_between_words_and_not_before_units() {
        let text = format!("{} 60 %, busy", "x".repeat(LINE - 2));
        assert_eq!(wrapped(&text), format!("{}\n  60 %, busy\n", "x".repeat(LINE - 2)));
        assert_eq!(words("take 2.78 x the mean (311 us); in s"), ["take", "2.78 x", "the", "mean", "(311 us);", "in", "s"]);
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
