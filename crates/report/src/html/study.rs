//! The page of a study: its tables, its curves, what it depends on.

use super::format::escape;
use super::{Page, bullets, description, page, palette};
use crate::study::{Cell, Part, Plot, Series, Study};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Script of pages of studies.
pub const SCRIPT: &str = include_str!("../../assets/study.js");

/// A study as one self-contained HTML document.
#[must_use]
pub fn study(study: &Study) -> String {
    let laid_out = study.tables.iter().flat_map(|table| table.layouts.iter().map(move |layout| (table, layout)));
    let tables: String = laid_out.map(|(table, layout)| render(layout.title(), layout.parts(table))).collect();
    let settings = description(study.facts.iter().map(String::as_str));
    let draws = study.settings.iter().any(|(name, _)| *name == "seed");
    let how = if study.name == crate::study::INSPECT {
        "one pass over the trace, nothing replayed"
    } else if study.name == crate::study::LIFE {
        "wear of every block simulated, odds by formula, latency in timed runs"
    } else if study.name == crate::study::ADVISE {
        "designs by formula, by wear and by whole lives"
    } else if study.name == crate::study::SWEEP {
        "each point a comparison of its own"
    } else if draws {
        "errors are drawn from a seed"
    } else {
        "formulas only, no simulation"
    };
    page(&Page {
        title: &study.title,
        summary: &format!("Study <b>{}</b>: {how}", study.name),
        verdict: "",
        cautions: "",
        tools: "",
        tables: &tables,
        columns: "many",
        setup: &format!(
            "<section class=\"card\"><h3>Settings</h3>{settings}</section>\n<section class=\"card\"><h3>Notes</h3>{}</section>\n",
            bullets(&study.notes)
        ),
        command: &study.command(),
        experiment: "",
        data: &data(study),
        script: SCRIPT,
    })
}

/// Data of plots and downloads.
fn data(study: &Study) -> Value {
    let mut data = study.to_json();
    let curve = |(number, series): (usize, &Series)| json!({ "name": series.name, "colour": palette::of_curve(number), "points": series.points });
    let plot = |plot: &Plot| {
        json!({
            "id": plot.id,
            "title": plot.title,
            "hint": plot.hint,
            "axes": plot.axes.map(|axis| json!({ "name": axis.name, "log": axis.log })),
            "series": plot.series.iter().enumerate().map(curve).collect::<Vec<_>>(),
            "categories": plot.categories,
            "marks": plot.marks.iter().map(|mark| json!({ "x": mark.x, "label": mark.label })).collect::<Vec<_>>(),
        })
    };
    data["plots"] = study.plots.iter().map(plot).collect();
    data["csv"] = json!(study.csv_rows());
    data
}

/// A laid-out table of numbers.
#[must_use]
pub fn render(title: &str, parts: Vec<Part>) -> String {
    render_as("wide", title, parts)
}

/// A laid-out table: `wide` for numbers, `words` for sentences.
#[must_use]
pub fn render_as(class: &str, title: &str, parts: Vec<Part>) -> String {
    let mut out = format!("<section class=\"card\"><h3>{}</h3><div class=\"{class}\"><table>", escape(title));
    for part in parts {
        let (heads, rows) = part.rows.split_first().expect("a part has headings");
        out.push_str("<tbody>");
        if !part.about.is_empty() {
            let _ = write!(out, "<tr class=\"group\"><th colspan=\"{}\">{}</th></tr>", heads.len(), escape(&part.about));
        }
        let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escape(&head.text()))).collect();
        let _ = writeln!(out, "<tr class=\"heads\">{heads}</tr>");
        for row in rows {
            let cells: String = row[1..].iter().map(cell).collect();
            let _ = writeln!(out, "<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(&row[0].text()));
        }
        out.push_str("</tbody>");
    }
    out.push_str("</table></div></section>\n");
    out
}

fn cell(cell: &Cell) -> String {
    format!("<td title=\"{}\">{}</td>", escape(&cell.exact()), escape(&cell.text()))
}
