//! Results of a study: tables of numbers, how to lay them out, and curves.

use common::table::{Row as Line, aligned, grouped};
use common::{Columns, Row};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Names of studies that other commands than `flashkeep reliability` make.
pub const INSPECT: &str = "inspect";
/// A life.
pub const LIFE: &str = "life";
/// Advice.
pub const ADVISE: &str = "advise";
/// A sweep.
pub const SWEEP: &str = "sweep";

/// Hours of a day.
pub const DAY: f64 = 24.0;
/// Hours of a year of 365 days.
pub const YEAR: f64 = 8760.0;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// How many.
    Count(u64),
    /// A rate or a factor.
    Rate(f64),
    /// A probability or a rate, by its natural logarithm.
    Odds(f64),
    /// A time in hours.
    Hours(f64),
    /// A name.
    Text(String),
    /// Nothing limits it.
    NoLimit,
    /// There is no such number.
    Absent,
}

/// A probability in few digits; below what a number can hold, its power of ten.
fn odds(ln: f64) -> String {
    if ln == f64::NEG_INFINITY || ln > -690.0 {
        return rate(ln.exp());
    }
    format!("1e{:.0}", ln / std::f64::consts::LN_10)
}

fn rate(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        v if (0.01..1000.0).contains(&v) => format!("{v:.4}"),
        v => {
            // As typed, if that is short.
            let typed = format!("{v:e}");
            if typed.len() <= 6 { typed } else { format!("{v:.3e}") }
        }
    }
}

/// A time in the unit that suits it, with three digits.
#[must_use]
pub fn span(hours: f64) -> String {
    let plain = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    let digits = |value: f64| match value {
        v if v >= 100.0 => grouped(v.round() as u64),
        v if v >= 10.0 => plain(format!("{v:.1}")),
        v => plain(format!("{v:.2}")),
    };
    match hours {
        0.0 => "0".into(),
        h if h < DAY => format!("{} h", digits(h)),
        h if h < 2.0 * YEAR => format!("{} d", digits(h / DAY)),
        h => format!("{} y", digits(h / YEAR)),
    }
}

impl Cell {
    /// As a reader sees it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Cell::Count(n) => grouped(*n),
            Cell::Rate(value) => rate(*value),
            Cell::Odds(ln) => odds(*ln),
            Cell::Hours(hours) => span(*hours),
            Cell::Text(text) => text.clone(),
            Cell::NoLimit => "no limit".into(),
            Cell::Absent => "none".into(),
        }
    }

    /// In full. Nothing for [`Cell::Absent`].
    #[must_use]
    pub fn exact(&self) -> String {
        match self {
            Cell::Count(n) => n.to_string(),
            Cell::Rate(value) | Cell::Hours(value) => value.to_string(),
            Cell::Odds(ln) => format!("{:e}", ln.exp()),
            Cell::Text(text) => text.clone(),
            Cell::NoLimit => "inf".into(),
            Cell::Absent => String::new(),
        }
    }

    /// As JSON has it; `null` where there is no number.
    #[must_use]
    pub fn json(&self) -> Value {
        match self {
            Cell::Count(n) => json!(n),
            Cell::Rate(value) | Cell::Hours(value) => json!(value),
            Cell::Odds(ln) => json!(ln.exp()),
            Cell::Text(text) => json!(text),
            Cell::NoLimit | Cell::Absent => Value::Null,
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in CSV and JSON, with its unit.
    pub key: &'static str,
    /// Name for readers.
    pub name: &'static str,
    /// Unit for readers, may be empty.
    pub unit: &'static str,
}

impl Column {
    /// Name and unit.
    #[must_use]
    pub fn label(&self) -> String {
        if self.unit.is_empty() { self.name.into() } else { format!("{}, {}", self.name, self.unit) }
    }
}

/// How readers see a table. Numbers are columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One value over two others.
    Cross {
        /// Headline.
        title: String,
        /// One part for each value of this column.
        part: Option<usize>,
        /// Down the side.
        down: usize,
        /// Across the top.
        across: usize,
        /// Inside.
        value: usize,
    },
    /// Some columns beside each other.
    Plain {
        /// Headline.
        title: String,
        /// One part for each value of this column.
        part: Option<usize>,
        /// The columns; the first is the label.
        columns: Vec<usize>,
    },
}

/// A part of a laid-out table: what it is about, and rows of cells, the first one of headings.
/// The first cell of a row is its label.
pub struct Part {
    /// Heading over it; empty where there is one part.
    pub about: String,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Layout {
    /// Headline.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Layout::Cross { title, .. } | Layout::Plain { title, .. } => title,
        }
    }

    /// The parts of a table that is laid out so.
    #[must_use]
    pub fn parts(&self, table: &Table) -> Vec<Part> {
        let (Layout::Cross { part, .. } | Layout::Plain { part, .. }) = self;
        let Some(column) = *part else {
            return vec![Part { about: String::new(), rows: self.rows(table, &table.rows.iter().collect::<Vec<_>>()) }];
        };
        let about = |value: &Cell| Part {
            about: format!("{} {}", table.columns[column].name, value.text()),
            rows: self.rows(table, &table.rows.iter().filter(|row| row[column] == *value).collect::<Vec<_>>()),
        };
        distinct(table.rows.iter().map(|row| &row[column])).into_iter().map(about).collect()
    }

    fn rows(&self, table: &Table, rows: &[&Vec<Cell>]) -> Vec<Vec<Cell>> {
        match self {
            Layout::Cross { down, across, value, .. } => {
                let corner = format!("{} \\ {}", table.columns[*down].label(), table.columns[*across].label());
                let tops = distinct(rows.iter().map(|row| &row[*across]));
                let mut found = vec![std::iter::once(Cell::Text(corner)).chain(tops.iter().map(|&top| top.clone())).collect()];
                for side in distinct(rows.iter().map(|row| &row[*down])) {
                    let cell = |top: &Cell| {
                        let row = rows.iter().find(|row| row[*down] == *side && row[*across] == *top);
                        row.map_or(Cell::Absent, |row| row[*value].clone())
                    };
                    found.push(std::iter::once(side.clone()).chain(tops.iter().map(|&top| cell(top))).collect());
                }
                found
            }
            Layout::Plain { columns, .. } => {
                let heads = columns.iter().map(|&c| Cell::Text(table.columns[c].label())).collect();
                let cells = rows.iter().map(|row| columns.iter().map(|&c| row[c].clone()).collect());
                std::iter::once(heads).chain(cells).collect()
            }
        }
    }
}

/// Each value once, in order of first occurrence.
fn distinct<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<&'a Cell> {
    let mut found: Vec<&Cell> = Vec::new();
    for cell in cells {
        if !found.contains(&cell) {
            found.push(cell);
        }
    }
    found
}

/// Numbers: a row for each combination of what was varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name in JSON.
    pub key: &'static str,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows, a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// How readers see it.
    pub layouts: Vec<Layout>,
}

impl Table {
    /// Its rows as typed columns.
    #[must_use]
    pub fn to_columns(&self) -> Columns {
        let row = |row: &Vec<Cell>| -> Row {
            self.columns.iter().zip(row).map(|(at, cell)| (at.key.to_owned(), cell.json())).collect()
        };
        Columns::of(&self.rows.iter().map(row).collect::<Vec<_>>())
    }
}

/// An axis of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Quantity of the axis, with its unit.
    pub name: &'static str,
    /// Whether it is logarithmic; then only values above 0 are drawn.
    pub log: bool,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points, by x.
    pub points: Vec<(f64, f64)>,
}

/// A line across a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where on the x axis.
    pub x: f64,
    /// Text of the mark.
    pub label: String,
}

/// Curves over common axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Name of its files.
    pub id: &'static str,
    /// Headline.
    pub title: String,
    /// How to read it.
    pub hint: String,
    /// Axes.
    pub axes: [Axis; 2],
    /// Curves.
    pub series: Vec<Series>,
    /// Lines at places of the x axis.
    pub marks: Vec<Mark>,
    /// Names of the places 0, 1, 2, .. of the x axis, for bars instead of curves; empty: curves.
    pub categories: Vec<String>,
}

/// A study with what it found.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name.
    pub name: &'static str,
    /// Headline.
    pub title: String,
    /// Settings of the study: option and value.
    pub settings: Vec<(&'static str, String)>,
    /// The same for readers: `name: value`.
    pub facts: Vec<String>,
    /// Numbers.
    pub tables: Vec<Table>,
    /// Curves.
    pub plots: Vec<Plot>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Study {
    /// The command that gives this study again.
    #[must_use]
    pub fn command(&self) -> String {
        let given = |settings: &[(&str, String)]| -> String {
            settings.iter().map(|(name, value)| format!(" --{name} {}", common::quoted(value))).collect()
        };
        if let (INSPECT, Some(((_, trace), options))) = (self.name, self.settings.split_first()) {
            return format!("flashkeep inspect {}{}", common::quoted(trace), given(options));
        }
        if let (LIFE | ADVISE, Some((_, command))) = (self.name, self.settings.first()) {
            return command.clone();
        }
        if self.name == SWEEP {
            return "flashkeep sweep GRID.toml".into();
        }
        let options = given(&self.settings);
        format!("flashkeep reliability {}{options}", self.name)
    }

    /// Tables for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = format!("{}\n", self.title);
        for fact in &self.facts {
            let _ = writeln!(out, "  {fact}");
        }
        for (table, layout) in self.tables.iter().flat_map(|table| table.layouts.iter().map(move |layout| (table, layout))) {
            let _ = writeln!(out, "\n{}", layout.title());
            for part in layout.parts(table) {
                if !part.about.is_empty() {
                    let _ = writeln!(out, "\n{}", part.about);
                }
                let row = |cells: &Vec<Cell>| Line { label: cells[0].text(), cells: cells[1..].iter().map(Cell::text).collect() };
                out.push_str(&aligned(&part.rows.iter().map(row).collect::<Vec<_>>()));
            }
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(out, "note: {note}");
        }
        out
    }

    /// One JSON document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let table = |table: &Table| {
            let rows = table.rows.iter().map(|row| {
                let cells = table.columns.iter().zip(row).map(|(column, cell)| (column.key.to_owned(), cell.json()));
                Value::Object(cells.collect())
            });
            (table.key.to_owned(), Value::Array(rows.collect()))
        };
        let settings = self.settings.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        json!({
            "version": common::VERSION,
            "study": self.name,
            "title": self.title,
            "command": self.command(),
            "settings": settings.collect::<serde_json::Map<_, _>>(),
            "tables": self.tables.iter().map(table).collect::<serde_json::Map<_, _>>(),
            "notes": self.notes,
        })
    }

    /// All tables as rows of cells, the first of each with the names of its columns; an empty row
    /// between tables.
    #[must_use]
    pub fn csv_rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for table in &self.tables {
            if !rows.is_empty() {
                rows.push(Vec::new());
            }
            rows.push(table.columns.iter().map(|column| column.key.into()).collect());
            rows.extend(table.rows.iter().map(|row| row.iter().map(Cell::exact).collect()));
        }
        rows
    }

    /// The same as text.
    #[must_use]
    pub fn to_csv(&self) -> String {
        common::table::csv(&self.csv_rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_few_digits_and_keep_all() {
        let fraction = Cell::Rate(1.0 / 8192.0);
        assert_eq!((fraction.text(), fraction.exact()), ("1.221e-4".into(), "0.0001220703125".into()));
        assert_eq!([1e-11, 0.5, 4.5e-7].map(|rate| Cell::Rate(rate).text()), ["1e-11", "0.5000", "4.5e-7"]);
        assert_eq!(Cell::Odds(-2000.0).text(), "1e-869");
        assert_eq!(Cell::Odds(f64::NEG_INFINITY).text(), "0");
        assert_eq!(Cell::Count(32_768).text(), "32 768");
        assert_eq!(
            [0.0, 1.5, 23.0, 24.0, 730.0, 17_519.0, 17_520.0, 1e7].map(span),
            ["0", "1.5 h", "23 h", "1 d", "30.4 d", "730 d", "2 y", "1 142 y"]
        );
        assert_eq!((Cell::NoLimit.json(), Cell::NoLimit.exact()), (Value::Null, "inf".into()));
    }

    #[test]
    fn a_cross_has_a_row_and_a_column_for_each_value() {
        let column = |key| Column { key, name: key, unit: "" };
        let row = |a: u64, b: u64, v: u64| vec![Cell::Count(a), Cell::Count(b), Cell::Count(v)];
        let table = Table {
            key: "t",
            columns: ["a", "b", "v"].map(column).into(),
            rows: vec![row(1, 10, 5), row(1, 20, 6), row(2, 20, 7)],
            layouts: Vec::new(),
        };
        let layout = Layout::Cross { title: String::new(), part: None, down: 0, across: 1, value: 2 };
        let text = |rows: &Vec<Vec<Cell>>| rows.iter().map(|r| r.iter().map(Cell::text).collect()).collect::<Vec<Vec<_>>>();
        let parts = layout.parts(&table);
        assert_eq!(text(&parts[0].rows), [["a \\ b", "10", "20"], ["1", "5", "6"], ["2", "none", "7"]]);
        let by_a = Layout::Plain { title: String::new(), part: Some(0), columns: vec![1, 2] };
        let parts = by_a.parts(&table);
        assert_eq!((parts.len(), parts[1].about.as_str()), (2, "a 2"));
        assert_eq!(text(&parts[1].rows), [["b", "v"], ["20", "7"]]);
    }
}
