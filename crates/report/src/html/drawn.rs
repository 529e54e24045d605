//! The headline of a comparison as one static SVG: for a README or a paper, where no script runs.

use super::format::{escape, real, signs};
use super::palette;
use super::verdict::full_bar;
use common::Quantity;
use experiment::Fairness;
use lab::Comparison;
use lab::Interval;
use lab::Outcome;
use lab::SchemeVerdict;
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
/// The same, with the half-width of its interval.
const VALUE_OVER_SEEDS: f64 = 130.0;

/// A value of each scheme, drawn as bars.
struct Panel {
    title: &'static str,
    of: fn(&Outcome) -> Option<f64>,
    quantity: Quantity,
    /// True for figures of flash: they are marked for a scheme whose run is too short for them.
    is_of_flash: bool,
}

fn measured(latency: &ssd::Latency, value: f64) -> Option<f64> {
    (latency.count > 0).then_some(value)
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "Mean read latency",
        of: |o| measured(&o.result.host.read_latency_us, o.result.host.read_latency_us.mean),
        quantity: Quantity::Micros,
        is_of_flash: false,
    },
    Panel {
        title: "Mean write latency",
        of: |o| measured(&o.result.host.write_latency_us, o.result.host.write_latency_us.mean),
        quantity: Quantity::Micros,
        is_of_flash: false,
    },
    Panel { title: "Write amplification", of: |o| o.result.flash.waf, quantity: Quantity::Plain, is_of_flash: true },
    Panel {
        title: "Energy of the run",
        of: |o| Some(o.result.flash.energy_j.values().fold(0.0, |all, joules| all + joules)),
        quantity: Quantity::Joules,
        is_of_flash: true,
    },
];

fn text(x: f64, y: f64, size: u32, more: &str, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" {more}>{}</text>\n", escape(words))
}

/// The value of a scheme; over several seeds, the mean with its interval.
fn value(panel: &Panel, comparison: &Comparison, scheme: usize) -> (Option<f64>, Option<Interval>) {
    let values: Option<Vec<f64>> = comparison.runs_of(scheme).into_iter().map(panel.of).collect();
    match values.as_deref() {
        Some([value]) => (Some(*value), None),
        Some(values) => {
            let interval = Interval::of(values);
            (interval.map(|interval| interval.mean), interval)
        }
        None => (None, None),
    }
}

/// The interval of a bar that begins at `left`; `scale` is the width of one.
fn whisker(interval: &Interval, left: f64, y: f64, scale: f64) -> String {
    let [low, high] = [interval.low().max(0.0), interval.high()].map(|value| left + value * scale);
    let (middle, top, bottom) = (y + BAR / 2.0, y + 6.0, y + BAR - 6.0);
    format!(
        "<path d=\"M{low:.1} {top:.1}V{bottom:.1}M{low:.1} {middle:.1}H{high:.1}M{high:.1} {top:.1}V{bottom:.1}\" \
         stroke=\"#24292f\" stroke-width=\"1.5\" fill=\"none\"/>\n"
    )
}

/// True if the run of a scheme was too short for figures of flash, so that they are no basis of a conclusion.
fn is_unborne(comparison: &Comparison, row: usize) -> bool {
    comparison.verdict.schemes.get(row).is_some_and(|one| one.costs.unborne)
}

/// Bars of a panel, from `left` on; those of a scheme that cannot be compared, or of too short a run, are marked.
fn panel(panel: &Panel, left: f64, comparison: &Comparison, colours: &[(String, &str)]) -> String {
    let values: Vec<_> = (0..comparison.outcomes.len()).map(|scheme| value(panel, comparison, scheme)).collect();
    let is_comparable = |row: usize| comparison.verdict.schemes.get(row).is_none_or(SchemeVerdict::is_comparable);
    let top = |(value, interval): &(Option<f64>, Option<Interval>)| interval.map(|interval| interval.high()).or(*value);
    let tops = |wanted: &dyn Fn(usize) -> bool| -> Vec<f64> {
        values.iter().enumerate().filter(|(row, _)| wanted(*row)).filter_map(|(_, one)| top(one)).collect()
    };
    let comparable = tops(&is_comparable);
    let full = full_bar(if comparable.is_empty() { tops(&|_| true) } else { comparable });
    let room = if comparison.seeds.is_some() { VALUE_OVER_SEEDS } else { VALUE };
    let longest = PANEL_WIDTH - room - 24.0;
    let scale = longest / full;
    let mut out = text(left, HEAD - 14.0, 14, "font-weight=\"600\"", panel.title);
    for (row, ((value, interval), (_, colour))) in values.iter().zip(colours).enumerate() {
        let y = HEAD + STEP * row as f64;
        let width = (value.unwrap_or(0.0) * scale).min(longest);
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\" fill=\"{colour}\"/>"
        );
        let is_cut = value.is_some_and(|value| value > full * (1.0 + 1e-9));
        if is_cut {
            let x = left + width - 14.0;
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {:.1}l8 -{BAR}\" stroke=\"#ffffff\" stroke-width=\"3\"><title>cut: the bar would be longer</title></path>",
                y + BAR
            );
        }
        let mut shown = match (value, interval) {
            (_, Some(interval)) => signs(&interval.show(panel.quantity)),
            (Some(value), None) if panel.quantity == Quantity::Plain => real(*value),
            (Some(value), None) => signs(&panel.quantity.show(*value)),
            (None, _) => "-".into(),
        };
        let is_judged = is_comparable(row) && !(panel.is_of_flash && is_unborne(comparison, row));
        shown.push_str(if is_judged { "" } else { " !" });
        let interval = interval.filter(|_| !is_cut);
        let end = interval.map_or(width, |interval| (interval.high() * scale).min(longest));
        out.extend(interval.iter().map(|interval| whisker(interval, left, y, scale)));
        out.push_str(&text(left + end + 6.0, y + 15.5, 13, "", &shown));
    }
    out
}

/// Latency, write amplification and energy of each scheme as bars; `command` made them.
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
    let title = format!("{}: {} requests on drive {}", trace.name, common::table::grouped(trace.requests), drive.name);
    out.push_str(&text(16.0, 28.0, 18, "font-weight=\"600\"", &title));
    let apart: Vec<String> =
        comparison.verdict.schemes.iter().filter_map(|one| Some(format!("{} ({})", one.scheme, one.reason()?))).collect();
    let mut mark = if apart.is_empty() { String::new() } else { format!("; ! not comparable: {}", apart.join(", ")) };
    if (0..comparison.outcomes.len()).any(|row| is_unborne(comparison, row)) {
        mark.push_str("; ! run too short for this figure");
    }
    let equal = match comparison.experiment.capacity.fairness {
        Fairness::EqualRaw => "raw flash",
        Fairness::EqualOp => "over-provisioning",
    };
    let over = comparison
        .seeds
        .as_ref()
        .map(|seeds| format!("; means of {} seeds with 95 % confidence intervals", seeds.repetitions().len()));
    let note = format!("lower is better; equal {equal}, history and clock{}{mark}", over.unwrap_or_default());
    out.push_str(&text(16.0, 50.0, 13, "fill=\"#57606a\"", &note));
    for (row, (label, _)) in colours.iter().enumerate() {
        let y = HEAD + STEP * row as f64;
        out.push_str(&text(16.0, y + 10.5, 14, "", label));
        if let Some(one) = comparison.verdict.schemes.get(row) {
            out.push_str(&text(16.0, y + 23.0, 11, "fill=\"#57606a\"", &format!("survives {}", one.survives.losses())));
        }
    }
    for (column, of) in PANELS.iter().enumerate() {
        out.push_str(&panel(of, NAMES + PANEL_WIDTH * column as f64, comparison, &colours));
    }
    out.push_str(&text(16.0, height - 12.0, 12, "fill=\"#57606a\" font-family=\"monospace\"", command));
    out.push_str("</svg>\n");
    out
}
