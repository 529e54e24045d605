//! Flows as a picture: the latency of each over time, alone and beside the others, under each scheme.

use common::quantity::{micros, seconds, short};
use lab::Comparison;
use lab::{FlowOutcome, Outcome, fairness};
use ssd::SeriesResult;
use std::fmt::Write as _;

/// Width and height of a panel, and room between panels, in pixels.
const PANEL: (f64, f64) = (240.0, 88.0);
const GAP: f64 = 14.0;
/// Where the first panel of a row begins, room above a row of schemes for their names, and above a panel for the name of its flow.
const LEFT: f64 = 62.0;
const HEAD: f64 = 24.0;
const NAME: f64 = 17.0;
/// Room for the legend.
const FOOT: f64 = 46.0;

/// Schemes beside each other; others follow below.
const ABREAST: usize = 3;
/// Flows of a scheme that are drawn, and characters of their names.
const DRAWN: usize = 8;
const NAMED: usize = 16;

/// Lines of a panel: what a column is called behind `flow_N_`, words, colour, and width with dashes.
type Line = (&'static str, &'static str, &'static str, &'static str);

const LINES: [Line; 4] = [
    ("alone_latency_p99_us", "p99 alone", "#d08a2e", "stroke-width=\"1\" stroke-dasharray=\"3 2\""),
    ("alone_latency_p50_us", "median alone", "#d08a2e", "stroke-width=\"1.6\""),
    ("latency_p99_us", "p99 together", "#1f5fa8", "stroke-width=\"1\" stroke-dasharray=\"3 2\""),
    ("latency_p50_us", "median together", "#1f5fa8", "stroke-width=\"1.6\""),
];

/// Decades of latency of the panels of a flow, and the end of their time.
#[derive(Clone, Copy)]
struct Scale {
    low: i32,
    high: i32,
    end_s: f64,
}

impl Scale {
    /// The scale of a flow over all schemes; `None` where nothing of it was answered.
    fn of(all: &[SeriesResult], flow: usize, end_s: f64) -> Option<Self> {
        let columns = LINES.iter().flat_map(|line| all.iter().filter_map(move |series| series.column(&name(flow, line))));
        let values = columns.flatten().flatten().copied().filter(|us| *us > 0.0);
        let (least, most) = values.fold((f64::INFINITY, 0.0f64), |(least, most), us| (least.min(us), most.max(us)));
        let low = least.log10().floor() as i32;
        (most > 0.0).then(|| Self { low, high: (most.log10().ceil() as i32).max(low + 1), end_s })
    }

    fn x(&self, s: f64) -> f64 {
        PANEL.0 * s / self.end_s
    }

    /// Pixels below the top of the panel.
    fn y(&self, us: f64) -> f64 {
        let share = (us.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        PANEL.1 * (1.0 - share.clamp(0.0, 1.0))
    }
}

/// The end of the last bin in which a flow was answered: behind it the drive may still be writing.
fn end_s(series: &SeriesResult) -> f64 {
    let of_flows = series.columns.iter().filter(|column| column.name.starts_with("flow_") && column.name.ends_with("_us"));
    let last = of_flows.filter_map(|column| column.values.iter().rposition(Option::is_some)).max();
    series.bin_s * last.map_or(1, |bin| bin + 1) as f64
}

fn name(flow: usize, line: &Line) -> String {
    format!("flow_{flow}_{}", line.0)
}

/// The picture, as an SVG of its own; `None` where there is one flow, or no series was recorded.
#[must_use]
pub fn picture(comparison: &Comparison) -> Option<String> {
    let (outcomes, all) = (&comparison.outcomes, &comparison.drawn);
    let flows = outcomes.first().map_or(0, |one| one.flows.len()).min(DRAWN);
    if flows == 0 || all.len() != outcomes.len() {
        return None;
    }
    let end_s = all.iter().map(end_s).fold(0.0, f64::max);
    let scales: Vec<Scale> = (0..flows).map(|flow| Scale::of(all, flow, end_s)).collect::<Option<_>>()?;
    let abreast = outcomes.len().min(ABREAST);
    let band = HEAD + (NAME + PANEL.1 + GAP) * flows as f64 + GAP;
    let width = LEFT + (PANEL.0 + GAP) * abreast as f64;
    let width = width.max(LEFT + 2.0 * (PANEL.0 + GAP));
    let height = band * outcomes.len().div_ceil(ABREAST) as f64 + FOOT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (number, (outcome, series)) in outcomes.iter().zip(all).enumerate() {
        let (left, top) = (LEFT + (PANEL.0 + GAP) * (number % ABREAST) as f64, band * (number / ABREAST) as f64);
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{}</text>", top + 17.0, heading(outcome));
        for (flow, scale) in scales.iter().enumerate() {
            let top = top + HEAD + (NAME + PANEL.1 + GAP) * flow as f64;
            let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\">{}</text>", top + 12.0, means(&outcome.flows[flow]));
            let is_first = number % ABREAST == 0;
            svg.push_str(&panel((left, top + NAME), is_first, scale, series, flow));
        }
    }
    svg.push_str(&legend(height, all, outcomes[0].flows.len(), end_s));
    svg.push_str("</svg>\n");
    Some(svg)
}

/// The scheme and its fairness.
fn heading(outcome: &Outcome) -> String {
    let mark = if outcome.flows.iter().any(|flow| flow.doubt.is_some()) { " !" } else { "" };
    let fair = fairness(&outcome.flows).map(|share| format!(": fairness {}{mark}", short(share))).unwrap_or_default();
    format!("{}{fair}", escaped(&outcome.label))
}

/// The flow, its mean latencies, alone and together, and its slowdown.
fn means(flow: &FlowOutcome) -> String {
    let mean = |result: &ssd::FlowResult| (result.latency_us.count > 0).then(|| micros(result.latency_us.mean));
    let alone = flow.alone.as_ref().and_then(mean).map(|mean| format!("{mean}, together ")).unwrap_or_default();
    let together = mean(&flow.result).unwrap_or_else(|| "-".into());
    let mark = if flow.doubt.is_some() { " !" } else { "" };
    let times = flow.slowdown().map(|times| format!(": {} x{mark}", short(times))).unwrap_or_default();
    let mut name: String = flow.name.chars().take(NAMED).collect();
    if name.len() < flow.name.len() {
        name.push_str("..");
    }
    format!("<tspan font-weight=\"bold\">{}</tspan> {alone}{together}{times}", escaped(&name))
}

/// One flow under one scheme.
fn panel((left, top): (f64, f64), is_first: bool, scale: &Scale, series: &SeriesResult, flow: usize) -> String {
    let mut svg = String::new();
    for decade in scale.low..=scale.high {
        let us = 10f64.powi(decade);
        let y = top + scale.y(us);
        let _ = writeln!(svg, "<path d=\"M{left} {y:.1}h{}\" stroke=\"#dddddd\"/>", PANEL.0);
        if is_first {
            let (x, y) = (left - 4.0, y + 4.0);
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"#555555\">{}</text>", micros(us));
        }
    }
    for line in &LINES {
        let Some(values) = series.column(&name(flow, line)) else { continue };
        let (mut path, mut is_open) = (String::new(), false);
        for (bin, value) in values.iter().enumerate() {
            let Some(us) = value.filter(|us| *us > 0.0) else {
                is_open = false;
                continue;
            };
            let (x, y) = (left + scale.x(series.bin_s * (bin as f64 + 0.5)), top + scale.y(us));
            // A bin between two without answers is a point.
            let _ = write!(path, "{}{x:.1} {y:.1}", if is_open { "L" } else { "M" });
            if !is_open {
                path.push_str("h.6");
            }
            is_open = true;
        }
        if !path.is_empty() {
            let _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" {}/>", line.2, line.3);
        }
    }
    svg
}

/// Lines in words, and the axis of time.
fn legend(height: f64, all: &[SeriesResult], flows: usize, end_s: f64) -> String {
    let mut svg = String::new();
    let has = |line: &&Line| all.iter().any(|series| series.column(&name(0, line)).is_some());
    for (number, line) in LINES.iter().filter(has).enumerate() {
        let (x, y) = (LEFT + 120.0 * number as f64, height - 26.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {y}h18\" stroke=\"{}\" {}/><text x=\"{}\" y=\"{}\" font-size=\"10\">{}</text>",
            line.2,
            line.3,
            x + 22.0,
            y + 3.5,
            line.1
        );
    }
    let more = if flows > DRAWN { format!("; {} more flows are not drawn", flows - DRAWN) } else { String::new() };
    let bin = seconds(all.iter().map(|series| series.bin_s).fold(0.0, f64::max));
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\" fill=\"#555555\">latency of reads and writes from 0 to {} in steps of {bin}; above each panel the means{more}</text>",
        height - 8.0,
        seconds(end_s)
    );
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
