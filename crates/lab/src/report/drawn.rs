//! The headline of a comparison as one static SVG: for a README or a paper, where no script runs.

use super::format::{escape, real};
use super::palette;
use crate::compare::{Comparison, Outcome};
use crate::experiment::Fairness;
use crate::quantity::micros;
use crate::verdict::SchemeVerdict;
use std::fmt::Write as _;

const PANEL_WIDTH: f64 = 300.0;
/// From the top of the picture to the first bar.
const HEAD: f64 = 92.0;
const BAR: f64 = 22.0;
const STEP: f64 = 32.0;
/// Left of the bars, for the names of schemes.
const NAMES: f64 = 130.0;
/// Right of the longest bar, for its value.
const VALUE: f64 = 74.0;

/// A value of each scheme, drawn as bars.
struct Panel {
    title: &'static str,
    of: fn(&Outcome) -> Option<f64>,
    show: fn(f64) -> String,
}

fn measured(response: &ssd::Response, value: f64) -> Option<f64> {
    (response.count > 0).then_some(value)
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "read response (mean)",
        of: |o| measured(&o.result.host.read_response_us, o.result.host.read_response_us.mean),
        show: micros,
    },
    Panel {
        title: "write response (mean)",
        of: |o| measured(&o.result.host.write_response_us, o.result.host.write_response_us.mean),
        show: micros,
    },
    Panel { title: "write amplification", of: |o| o.result.flash.waf, show: real },
    Panel {
        title: "energy, J",
        of: |o| Some(o.result.flash.energy_j.values().fold(0.0, |all, joules| all + joules)),
        show: real,
    },
];

fn text(x: f64, y: f64, size: u32, more: &str, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" {more}>{}</text>\n", escape(words))
}

/// Bars of a panel, from `left` on; those of a scheme that cannot be compared are marked.
fn panel(panel: &Panel, left: f64, comparison: &Comparison, colours: &[(String, &str)]) -> String {
    let values: Vec<Option<f64>> = comparison.outcomes.iter().map(panel.of).collect();
    let most = values.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut out = text(left, HEAD - 14.0, 14, "font-weight=\"600\"", panel.title);
    for (row, (value, (_, colour))) in values.iter().zip(colours).enumerate() {
        let y = HEAD + STEP * row as f64;
        let width = value.unwrap_or(0.0) / most * (PANEL_WIDTH - VALUE - 24.0);
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\" fill=\"{colour}\"/>"
        );
        let is_comparable = comparison.verdict.schemes.get(row).is_none_or(SchemeVerdict::is_comparable);
        let shown = value.map_or("-".into(), |value| (panel.show)(value) + if is_comparable { "" } else { " !" });
        out.push_str(&text(left + width + 6.0, y + 15.5, 13, "", &shown));
    }
    out
}

/// Response, write amplification and energy of each scheme as bars; `command` made them.
#[must_use]
pub fn headline(comparison: &Comparison, command: &str) -> String {
    let colours = palette::assign(comparison.outcomes.iter().map(|outcome| outcome.label.as_str()));
    let (width, rows) = (NAMES + PANEL_WIDTH * PANELS.len() as f64, comparison.outcomes.len() as f64);
    let height = HEAD + STEP * rows + 30.0;
    let (trace, drive) = (&comparison.trace, &comparison.experiment.drive);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" fill=\"#24292f\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let title = format!("{}: {} requests on drive {}", trace.name, crate::table::grouped(trace.requests), drive.name);
    out.push_str(&text(16.0, 28.0, 18, "font-weight=\"600\"", &title));
    let apart: Vec<String> =
        comparison.verdict.schemes.iter().filter_map(|one| Some(format!("{} ({})", one.scheme, one.reason()?))).collect();
    let mark = if apart.is_empty() { String::new() } else { format!("; ! not comparable: {}", apart.join(", ")) };
    let equal = match comparison.experiment.capacity.fairness {
        Fairness::EqualRaw => "raw flash",
        Fairness::EqualSpare => "spare",
    };
    let note = format!("less is better; equal {equal}, history and clock{mark}");
    out.push_str(&text(16.0, 50.0, 13, "fill=\"#57606a\"", &note));
    for (row, (label, _)) in colours.iter().enumerate() {
        out.push_str(&text(16.0, HEAD + STEP * row as f64 + 15.5, 14, "", label));
    }
    for (column, of) in PANELS.iter().enumerate() {
        out.push_str(&panel(of, NAMES + PANEL_WIDTH * column as f64, comparison, &colours));
    }
    out.push_str(&text(16.0, height - 12.0, 12, "fill=\"#57606a\" font-family=\"monospace\"", command));
    out.push_str("</svg>\n");
    out
}
