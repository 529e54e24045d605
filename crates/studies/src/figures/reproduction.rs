//! Statements of papers beside the results here, as one table.

use super::output::PaperResult;
use super::plot::Drawing;
use super::spec::Published;
use common::table::grouped;

/// The columns of the table.
pub(crate) const HEADS: [&str; 5] = ["figure", "what", "published", "ours", "why they differ"];

/// A number as a reader compares it.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if value.fract() == 0.0 && (2.0..1e4).contains(&size) => value.to_string(),
        size if size >= 1e6 => format!("{value:.2e}"),
        size if size >= 1e4 => grouped(value.round() as u64),
        size if size >= 1e3 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

fn ours(found: &[f64]) -> String {
    let least = found.iter().copied().fold(f64::INFINITY, f64::min);
    let most = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match found.len() {
        0 => "not run".into(),
        _ if number(least) == number(most) => number(least),
        _ => format!("{} to {}", number(least), number(most)),
    }
}

/// Values up to which each has a row of its own, though all agree.
const ROWS_MAX: usize = 8;

/// Whether what was found is what the paper states, in the digits shown.
fn agrees(drawing: &Drawing, stated: &Published) -> bool {
    stated.why.is_empty() && stated.y.is_some_and(|y| ours(&drawing.found(stated)) == number(y))
}

/// Rows of what a plot's paper states, by the columns of [`HEADS`].
fn rows(figure: &str, drawing: &Drawing) -> Vec<[String; 5]> {
    let name = format!("{} ({})", drawing.title, drawing.y);
    let count = drawing.published.len();
    if count > ROWS_MAX && drawing.published.iter().all(|stated| agrees(drawing, stated)) {
        let same = format!("the same {count}, to the digits printed");
        return vec![[figure.to_owned(), name, format!("{count} values"), same, String::new()]];
    }
    let row = |stated: &Published| {
        let of = stated.of.as_ref().map_or(String::new(), |of| format!(", {of}"));
        let place = stated.x.as_ref().map_or(String::new(), |x| match drawing.x.as_str() {
            "" => format!(", {x}"),
            axis => format!(", {axis} {x}"),
        });
        let published = stated.y.map_or(String::new(), |y| format!("{}: ", number(y))) + &stated.what;
        [figure.to_owned(), format!("{name}{of}{place}"), published, ours(&drawing.found(stated)), stated.why.clone()]
    };
    drawing.published.iter().filter(|stated| stated.by.is_none()).map(row).collect()
}

impl PaperResult {
    /// Rows of the table, by the columns of [`HEADS`].
    pub(crate) fn reproduction(&self) -> Vec<[String; 5]> {
        let drawings = self.figures.iter().flat_map(|figure| figure.drawings.iter().map(move |drawing| (figure.name(), drawing)));
        drawings.flat_map(|(figure, drawing)| rows(figure, drawing)).collect()
    }
}

/// The tables of papers in Markdown, one after the other.
#[must_use]
pub fn reproduction(papers: &[PaperResult]) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |");
    let mut out = String::new();
    for paper in papers {
        let rows = paper.reproduction();
        if rows.is_empty() {
            continue;
        }
        out.push_str(&format!("\n## {}\n\n", paper.name));
        out.push_str(&row(&HEADS.map(str::to_owned)));
        out.push_str(&row(&HEADS.map(|_| "---".to_owned())));
        out.extend(rows.iter().map(|cells| row(cells)));
    }
    out
}
