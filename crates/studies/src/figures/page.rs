//! The page of a paper's figures: its curves with what the paper states, tables, what was left out.

use crate::figures::{Curve, Drawing, FigureResult, Golden, HEADS, PaperResult};
use report::html::escape;
use report::html::{Page, bullets, description, page, palette};
use report::html::{STUDY_SCRIPT, render, render_as};
use report::study::{Cell, Part};
use serde_json::{Value, json};

/// Points up to which a curve shows each of them.
const DOTS_MAX: usize = 60;

/// The figures of a paper as one self-contained HTML document; `command` made them.
#[must_use]
pub fn figures(paper: &PaperResult, command: &str) -> String {
    let skipped: Vec<String> = paper.figures.iter().flat_map(FigureResult::skipped).collect();
    let warnings: Vec<String> = paper.figures.iter().flat_map(FigureResult::warnings).cloned().collect();
    let setup: String = paper.figures.iter().map(about).collect();
    let names: Vec<&str> = paper.figures.iter().map(FigureResult::name).collect();
    page(&Page {
        title: &format!("Figures of {}", paper.name),
        summary: &format!("<b>{}</b>: ours as curves, the statements of the paper as diamonds", escape(&names.join(", "))),
        verdict: "",
        cautions: &cautions(paper, &skipped, warnings.len()),
        tools: "",
        tables: &std::iter::once(reproduction(paper)).chain(paper.figures.iter().map(tables)).collect::<String>(),
        columns: "many",
        setup: &format!("{setup}<section class=\"card\"><h3>Warnings of runs</h3>{}</section>\n", bullets(&warnings)),
        command,
        experiment: "",
        data: &data(paper, command),
        script: STUDY_SCRIPT,
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

fn texts(cells: impl IntoIterator<Item = String>) -> Vec<Cell> {
    cells.into_iter().map(Cell::Text).collect()
}

/// Statements of the paper beside the results.
fn reproduction(paper: &PaperResult) -> String {
    let rows = paper.reproduction();
    if rows.is_empty() {
        return String::new();
    }
    let heads = texts(HEADS.map(str::to_owned));
    let rows = std::iter::once(heads).chain(rows.into_iter().map(texts)).collect();
    render_as("words", "Published values beside ours", vec![Part { about: String::new(), rows }])
}

fn tables(figure: &FigureResult) -> String {
    let table = |drawing| {
        let (title, cells) = figure.table(drawing)?;
        Some(render(&title, vec![Part { about: String::new(), rows: cells.into_iter().map(texts).collect() }]))
    };
    figure.drawings.iter().filter_map(table).collect()
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

/// Data of plots and downloads.
fn data(paper: &PaperResult, command: &str) -> Value {
    let plots = paper
        .figures
        .iter()
        .flat_map(|figure| figure.drawings.iter().enumerate().filter_map(move |(index, drawing)| plot(figure, index, drawing)));
    let mut csv = Vec::new();
    for figure in &paper.figures {
        if !csv.is_empty() {
            csv.push(Vec::new());
        }
        csv.extend(figure.csv_rows());
    }
    json!({
        "version": common::VERSION,
        "paper": paper.name,
        "command": command,
        "plots": plots.collect::<Vec<_>>(),
        "csv": csv,
    })
}

/// A curve's number among all of its figure: it has one colour in all plots, if there are colours enough.
fn number_of(figure: &FigureResult, name: &str) -> Option<usize> {
    let mut names: Vec<&str> = Vec::new();
    for curve in figure.drawings.iter().flat_map(|drawing| &drawing.curves) {
        if !names.contains(&curve.name.as_str()) {
            names.push(&curve.name);
        }
    }
    (names.len() <= palette::CURVES).then(|| names.iter().position(|of| *of == name))?
}

/// Nothing where no run gave anything to draw, such as when all traces are absent.
fn plot(figure: &FigureResult, index: usize, drawing: &Drawing) -> Option<Value> {
    if drawing.curves.is_empty() {
        return None;
    }
    // Where x is a name, what is stated of one curve is drawn in its bar.
    let is_bars = !drawing.categories.is_empty();
    let stated = |wanted: Option<&str>| {
        let published = drawing.published.iter().filter(|value| !is_bars || value.of.as_deref() == wanted);
        published.filter_map(|value| drawing.place(value).zip(value.y)).collect::<Vec<_>>()
    };
    let curve = |(number, curve): (usize, &Curve)| {
        let of_curve = if is_bars { stated(Some(&curve.name)) } else { Vec::new() };
        let dots = curve.points.len() <= DOTS_MAX;
        let colour = palette::of_curve(number_of(figure, &curve.name).unwrap_or(number));
        json!({ "name": curve.name, "colour": colour, "points": curve.points, "ends": curve.ends, "dots": dots, "stated": of_curve })
    };
    // A statement without an x value is a line across.
    let wide = drawing.published.iter().filter(|value| value.x.is_none());
    let levels: Vec<Value> =
        wide.filter_map(|value| Some(json!({ "y": value.y?, "label": format!("paper: {}", value.what) }))).collect();
    let mut series: Vec<Value> = drawing.curves.iter().enumerate().map(curve).collect();
    if drawing.published.iter().any(|value| value.y.is_some() && value.x.is_some()) {
        series.push(json!({ "name": "paper", "colour": palette::published(), "points": stated(None), "published": true }));
    }
    Some(json!({
        "id": format!("{}-{}", figure.name(), index + 1),
        "title": format!("{}: {}", figure.name(), drawing.title),
        "hint": figure.hint(drawing),
        "axes": [
            { "name": drawing.x, "log": drawing.base.is_some(), "base": drawing.base },
            { "name": drawing.y, "log": drawing.is_log },
        ],
        "categories": drawing.categories,
        "series": series,
        "marks": [],
        "levels": levels,
    }))
}
