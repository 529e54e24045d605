//! Measurements of real drives beside the engine's results, as tables in Markdown.

use super::output::{FigureResult, PaperResult};
use super::plot::Drawing;
use super::reproduction::number;
use super::spec::Published;
use report::html::escape;
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

/// Measurements of a drawing, in its order; statements without a place are left out.
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

/// Width and height of a curve's picture, and the margin around its axes.
const PICTURE: (f64, f64, f64) = (640.0, 400.0, 56.0);

/// Maps a value onto an axis with two logarithmic ends.
fn along(value: f64, ends: (f64, f64)) -> f64 {
    if ends.1 > ends.0 { (value / ends.0).ln() / (ends.1 / ends.0).ln() } else { 0.5 }
}

/// The least and the greatest of positive numbers.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| {
        let (least, most) = ends.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

/// Ours as a line and what was measured as diamonds, on logarithmic axes; nothing where there is no number to draw.
fn picture(drawing: &Drawing) -> Option<String> {
    let measured: Vec<(f64, f64)> = drawing.published.iter().filter_map(|stated| drawing.place(stated).zip(stated.y)).collect();
    let ours = &drawing.curves.first()?.points;
    let all = || ours.iter().chain(&measured).copied().filter(|(x, y)| *x > 0.0 && *y > 0.0);
    let (across, upward) = (ends(all().map(|(x, _)| x))?, ends(all().map(|(_, y)| y))?);
    let (width, height, margin) = PICTURE;
    let at = |(x, y): (f64, f64)| {
        let right = margin + along(x, across) * (width - 2.0 * margin);
        (right, height - margin - along(y, upward) * (height - 2.0 * margin))
    };
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>\n")
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" \
         font-size=\"12\" fill=\"#24292f\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let title = format!("{} ({}) over {}: ours as line, measured as diamonds", drawing.title, drawing.y, drawing.x);
    out.push_str(&text(width / 2.0, 28.0, "middle", &escape(&title)));
    for x in drawing.places() {
        let (right, _) = at((x, upward.0));
        out.push_str(&text(right, height - margin + 22.0, "middle", &escape(&drawing.place_name(x))));
    }
    for y in [upward.0, upward.1] {
        out.push_str(&text(margin - 6.0, at((across.0, y)).1 + 4.0, "end", &number(y)));
    }
    let line: Vec<String> = ours.iter().map(|point| at(*point)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"#0969da\" stroke-width=\"2\"/>", line.join(" "));
    for (x, y) in measured.iter().map(|point| at(*point)) {
        let _ = writeln!(out, "<path d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\" fill=\"#bc4c00\"/>", y - 5.0);
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// A picture of the first curve of each figure with measurements over an axis: name of a file, text.
#[must_use]
pub fn pictures(papers: &[PaperResult]) -> Vec<(String, String)> {
    let figures = papers.iter().flat_map(|paper| &paper.figures);
    let drawn = |figure: &FigureResult| {
        let drawing =
            figure.drawings.iter().find(|drawing| drawing.is_log && !drawing.x.is_empty() && !rows(drawing).is_empty())?;
        Some((format!("validation-{}.svg", figure.name()), picture(drawing)?))
    };
    figures.filter_map(drawn).collect()
}
