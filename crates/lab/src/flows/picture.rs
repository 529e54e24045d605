//! Flows as a picture: the mean latency of each, alone and beside the others, under each scheme.

use crate::comparison::Comparison;
use crate::outcome::{FlowOutcome, fairness};
use common::quantity::{micros, short};
use std::fmt::Write as _;

/// Height of a bar, of a flow's pair of bars with what is around it, of a scheme's heading, in pixels.
const BAR: f64 = 11.0;
const PAIR: f64 = 32.0;
const HEAD: f64 = 26.0;
/// Where bars begin, and how long the longest is.
const LEFT: f64 = 190.0;
const LENGTH: f64 = 420.0;
const WIDTH: f64 = 720.0;

/// Colours of a flow alone and beside the others.
const COLOURS: [&str; 2] = ["#a8c5e6", "#1f5fa8"];

/// Flows of a scheme that are drawn.
const DRAWN: usize = 16;

fn means(flow: &FlowOutcome) -> [Option<f64>; 2] {
    let of = |result: &ssd::FlowResult| (result.latency_us.count > 0).then_some(result.latency_us.mean);
    [flow.alone.as_ref().and_then(of), of(&flow.result)]
}

/// The picture, as an SVG of its own; `None` where there is one flow.
#[must_use]
pub fn picture(comparison: &Comparison) -> Option<String> {
    let outcomes = &comparison.outcomes;
    let all: Vec<f64> = outcomes.iter().flat_map(|one| &one.flows).flat_map(means).flatten().filter(|us| *us > 0.0).collect();
    let (least, most) = all.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &us| (least.min(us), most.max(us)));
    if all.is_empty() {
        return None;
    }
    let (low, high) = (least.log10().floor(), most.log10().ceil().max(least.log10().floor() + 1.0));
    let place = |us: f64| LEFT + LENGTH * (us.max(least).log10() - low) / (high - low);
    let drawn = |flows: &[FlowOutcome]| flows.len().min(DRAWN);
    let height = 64.0 + outcomes.iter().map(|one| HEAD + PAIR * drawn(&one.flows) as f64).sum::<f64>();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let bottom = height - 34.0;
    for decade in low as i32..=high as i32 {
        let x = place(10f64.powi(decade).max(least * 1e-9)).max(LEFT);
        let x = if f64::from(decade) <= low { LEFT } else { x };
        let us = micros(10f64.powi(decade));
        let _ = writeln!(svg, "<path d=\"M{x:.1} 22V{bottom:.1}\" stroke=\"#dddddd\"/>");
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"16\" text-anchor=\"middle\" fill=\"#555555\">{us}</text>");
    }
    let mut y = 24.0;
    for outcome in outcomes {
        let fair = fairness(&outcome.flows).map(|share| format!(": fairness {}", short(share))).unwrap_or_default();
        let _ =
            writeln!(svg, "<text x=\"8\" y=\"{:.1}\" font-weight=\"bold\">{}{fair}</text>", y + 17.0, escaped(&outcome.label));
        y += HEAD;
        for flow in outcome.flows.iter().take(DRAWN) {
            let _ = writeln!(svg, "<text x=\"20\" y=\"{:.1}\">{}</text>", y + 15.0, escaped(&flow.name));
            for (index, mean) in means(flow).into_iter().enumerate() {
                let Some(us) = mean.filter(|us| *us > 0.0) else { continue };
                let (top, end) = (y + 2.0 + BAR * index as f64, place(us));
                let _ = writeln!(
                    svg,
                    "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{}\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{}</text>",
                    (end - LEFT).max(1.0),
                    COLOURS[index],
                    end + 4.0,
                    top + 9.0,
                    micros(us)
                );
            }
            y += PAIR;
        }
    }
    let y = height - 22.0;
    for (index, what) in ["alone on the drive", "beside the others"].into_iter().enumerate() {
        let x = LEFT + 160.0 * index as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{BAR}\" height=\"{BAR}\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{what}</text>",
            COLOURS[index],
            x + 16.0,
            y + 10.0
        );
    }
    let _ = writeln!(svg, "<text x=\"8\" y=\"{}\" fill=\"#555555\">mean latency</text>", y + 10.0);
    svg.push_str("</svg>\n");
    Some(svg)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
