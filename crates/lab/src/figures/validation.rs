//! What was measured on real drives beside what the engine says, as tables in Markdown.

use super::output::{FigureResult, PaperResult};
use super::plot::Drawing;
use super::reproduction::number;
use super::spec::Published;
use std::fmt::Write as _;

/// The columns of the tables.
const HEADS: [&str; 7] = ["condition", "measured", "by whom", "ours", "error", "is", "missing"];

/// How many rows there are, and how many of them are within their aim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Rows that values of the drive were fitted to.
    pub fitted: usize,
    /// Of those, within their aim.
    pub fitted_within: usize,
    /// Predictions.
    pub predicted: usize,
    /// Of those, within their aim.
    pub predicted_within: usize,
}

/// A measurement beside ours.
struct Row<'a> {
    condition: String,
    stated: &'a Published,
    ours: f64,
}

impl Row<'_> {
    /// (ours - measured) / measured.
    fn error(&self) -> f64 {
        self.stated.y.map_or(f64::NAN, |measured| self.ours / measured - 1.0)
    }

    fn is_within(&self) -> bool {
        self.error().abs() <= self.stated.aim()
    }

    fn cells(&self) -> [String; 7] {
        let is = if self.stated.fitted { "fitted" } else { "predicted" };
        let mark = if self.is_within() { "" } else { " **miss**" };
        [
            self.condition.clone(),
            self.stated.y.map_or("-".into(), number),
            format!("{} ({})", self.stated.by.as_deref().unwrap_or_default(), self.stated.what),
            number(self.ours),
            format!("{:+.1} %{mark}", self.error() * 100.0),
            format!("{is}, {:.0} %", self.stated.aim() * 100.0),
            self.stated.why.clone(),
        ]
    }
}

/// What was measured of a drawing, in its order; statements that lie in no one place are none.
fn rows(drawing: &Drawing) -> Vec<Row<'_>> {
    let row = |stated: &'_ Published| {
        let place = drawing.place(stated)?;
        let at = match drawing.x.as_str() {
            "" => drawing.place_name(place),
            axis => format!("{}, {axis} {}", drawing.title, drawing.place_name(place)),
        };
        Some((format!("{at}: {}", drawing.y), *drawing.found(stated).first()?))
    };
    let measured = drawing.published.iter().filter(|stated| stated.by.is_some());
    measured.filter_map(|stated| row(stated).map(|(condition, ours)| Row { condition, stated, ours })).collect()
}

fn rows_of(figure: &FigureResult) -> Vec<Row<'_>> {
    figure.drawings.iter().flat_map(rows).collect()
}

/// How many measurements there are, and how many of ours are near enough.
#[must_use]
pub fn count(papers: &[PaperResult]) -> Count {
    let mut count = Count::default();
    for row in papers.iter().flat_map(|paper| &paper.figures).flat_map(rows_of) {
        let within = usize::from(row.is_within());
        if row.stated.fitted {
            count.fitted += 1;
            count.fitted_within += within;
        } else {
            count.predicted += 1;
            count.predicted_within += within;
        }
    }
    count
}

/// A table for each figure that has measurements of a real drive; nothing where none has.
#[must_use]
pub fn validation(papers: &[PaperResult]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |");
    let count = count(papers);
    if count == Count::default() {
        return String::new();
    }
    let mut out = format!(
        "\nWithin their aim: {} of {} fitted rows, {} of {} predictions.\n",
        count.fitted_within, count.fitted, count.predicted_within, count.predicted
    );
    for figure in papers.iter().flat_map(|paper| &paper.figures) {
        let rows = rows_of(figure);
        if rows.is_empty() {
            continue;
        }
        let _ = write!(out, "\n## {}\n\n{}\n\n", figure.title(), figure.about());
        out.push_str(&line(&HEADS.map(str::to_owned)));
        out.push_str(&line(&HEADS.map(|_| "---".to_owned())));
        out.extend(rows.iter().map(|row| line(&row.cells())));
    }
    out
}
