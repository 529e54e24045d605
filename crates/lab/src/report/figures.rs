//! The page of a paper's figures: its curves with what the paper states, tables, what was left out.

use super::format::escape;
use super::study::{SCRIPT, render};
use super::{Page, bullets, description, page, palette};
use crate::figures::{FigureResult, Golden, PaperResult};
use crate::reliability::{Cell, Part};
use serde_json::{Value, json};

/// The figures of a paper as one self-contained HTML document; `command` made them.
#[must_use]
pub fn figures(paper: &PaperResult, command: &str) -> String {
    let skipped: Vec<String> = paper.figures.iter().flat_map(FigureResult::skipped).collect();
    let warnings: Vec<String> = paper.figures.iter().flat_map(FigureResult::warnings).collect();
    let setup: String = paper.figures.iter().map(about).collect();
    let names: Vec<&str> = paper.figures.iter().map(FigureResult::name).collect();
    page(&Page {
        title: &format!("Figures of {}", paper.name),
        summary: &format!("<b>{}</b>: ours as curves, what the paper states as diamonds", escape(&names.join(", "))),
        cautions: &cautions(paper, &skipped, warnings.len()),
        tools: "",
        tables: &paper.figures.iter().map(tables).collect::<String>(),
        columns: "many",
        setup: &format!("{setup}<section class=\"card\"><h3>Warnings of runs</h3>{}</section>\n", bullets(&warnings)),
        command,
        experiment: "",
        data: &data(paper, command),
        script: SCRIPT,
    })
}

fn cautions(paper: &PaperResult, skipped: &[String], warnings: usize) -> String {
    let caution =
        |level: &str, text: &str| format!("<p class=\"caution {level}\" role=\"alert\"><b>{level}</b> {}</p>\n", escape(text));
    let differs = paper.figures.iter().filter(|figure| matches!(figure.golden, Golden::Differs(..)));
    let mut out: String =
        differs.map(|figure| caution("error", &format!("{}: {}", figure.name(), figure.golden_text()))).collect();
    out.extend(skipped.iter().map(|text| caution("warning", text)));
    if warnings > 0 {
        out.push_str(&caution("warning", &format!("{warnings} warnings of runs stand under Setup")));
    }
    out
}

fn tables(figure: &FigureResult) -> String {
    let table = |plot| {
        let (title, cells) = figure.table(plot);
        let rows = cells.into_iter().map(|row| row.into_iter().map(Cell::Text).collect()).collect();
        render(&title, vec![Part { about: String::new(), rows }])
    };
    (0..figure.plots().len()).map(table).collect()
}

/// A figure's own words, and how it compares with before.
fn about(figure: &FigureResult) -> String {
    let facts = figure.facts();
    format!(
        "<section class=\"card\"><h3>{}</h3>{}</section>\n",
        escape(figure.name()),
        description(facts.iter().map(String::as_str))
    )
}

/// What the plots draw and the downloads contain.
fn data(paper: &PaperResult, command: &str) -> Value {
    let plots = paper.figures.iter().flat_map(|figure| (0..figure.plots().len()).filter_map(move |index| plot(figure, index)));
    let mut csv = Vec::new();
    for figure in &paper.figures {
        if !csv.is_empty() {
            csv.push(Vec::new());
        }
        csv.extend(figure.csv_rows());
    }
    json!({
        "version": crate::VERSION,
        "paper": paper.name,
        "command": command,
        "plots": plots.collect::<Vec<_>>(),
        "csv": csv,
    })
}

/// Nothing where no run gave anything to draw, such as when all traces are absent.
fn plot(figure: &FigureResult, index: usize) -> Option<Value> {
    let (plot, x) = (&figure.plots()[index], figure.x());
    let curve = |(number, curve): (usize, crate::figures::Curve)| json!({ "name": curve.name, "colour": palette::of_curve(number), "points": curve.points, "dots": true });
    let mut series: Vec<Value> = figure.curves(plot).into_iter().enumerate().map(curve).collect();
    if series.is_empty() {
        return None;
    }
    if !plot.published.is_empty() {
        let points: Vec<(f64, f64)> = plot.published.iter().map(|value| (value.x, value.y)).collect();
        series.push(json!({ "name": "paper", "colour": palette::published(), "points": points, "published": true }));
    }
    Some(json!({
        "id": format!("{}-{}", figure.name(), index + 1),
        "title": format!("{}: {}", figure.name(), plot.title),
        "hint": figure.hint(plot),
        "axes": [{ "name": x.name, "log": x.log.is_some(), "base": x.log }, { "name": plot.y, "log": false }],
        "series": series,
        "marks": [],
    }))
}
