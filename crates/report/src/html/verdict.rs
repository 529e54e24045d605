//! The verdict on the page: what is asked first, as sentences and as bars that need no script.

use super::ReportInput;
use super::format::{escape, signs};
use crate::screen::{ScreenCell, ScreenRow};
use lab::{Better, MEASURES, Measure, SchemeVerdict, Verdict};
use std::fmt::Write as _;

/// The costs that are drawn, with the title of each.
const DRAWN: [(&str, &str); 3] =
    [("read_latency_us_p99", "Read latency, p99"), ("waf", "Write amplification"), ("dwpd", "Endurance, DWPD over 5 years")];

/// A bar is cut that is more than this many times the next one.
const OUTLIER: f64 = 4.0;

/// A cut bar is so much longer than the next one.
const CUT: f64 = 1.4;

/// The verdict of a comparison; `colours` are those of its schemes.
pub(super) fn html(input: &ReportInput<'_>, colours: &[(String, &'static str)]) -> String {
    let verdict = input.verdict;
    if verdict.schemes.is_empty() {
        return String::new();
    }
    let (first, rest) = verdict.answer.split_at(on_first_screen(&verdict.answer));
    let paragraphs = |sentences: &[String]| sentences.iter().map(|one| format!("<p>{}</p>\n", code(one))).collect::<String>();
    let mut answer = paragraphs(first);
    if let Some(warnings) = experiment::caution::how_many(input.cautions) {
        let _ = writeln!(answer, "<p><a href=\"#cautions\">{warnings}</a> to read before any figure is believed.</p>");
    }
    let rest = if rest.is_empty() { String::new() } else { format!("<div class=\"answer\">{}</div>\n", paragraphs(rest)) };
    let panels: String = DRAWN.iter().map(|(key, title)| panel(verdict, colours, key, title)).collect();
    let sentences: String = verdict.schemes.iter().map(|one| format!("<li>{}</li>\n", code(&one.sentence))).collect();
    format!(
        "<section class=\"verdict\" aria-label=\"Verdict\">\n<div class=\"answer\">{answer}</div>\n<div class=\"bars\">{panels}</div>\n{rest}\
         <details><summary>Each scheme in a sentence</summary><ul>{sentences}</ul></details>\n{}{}</section>\n",
        table(verdict, input.screen, colours),
        input.seeds.map(super::over::pairs).unwrap_or_default()
    )
}

/// Characters of the answer above the first chart: on a screen of 400 pixels, too, the chart begins on the first screen.
const ABOVE_CHARTS: usize = 520;

/// How many sentences of the answer, one at least, stand above the charts.
fn on_first_screen(answer: &[String]) -> usize {
    let fits = |&count: &usize| answer[..count].iter().map(String::len).sum::<usize>() <= ABOVE_CHARTS;
    (1..=answer.len()).rev().find(fits).unwrap_or(answer.len().min(1))
}

/// A sentence with names between backquotes as bold text.
fn code(sentence: &str) -> String {
    let sentence = signs(sentence);
    let parts = sentence.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 { format!("<b>{}</b>", escape(part)) } else { escape(part) }).collect()
}

/// Value of a full bar: results that cannot be compared do not count.
fn scale(verdict: &Verdict, measure: &Measure) -> f64 {
    let top = |one: &SchemeVerdict| {
        let interval = one.over.as_ref().and_then(|over| over.cost(measure));
        interval.map(|interval| interval.high()).or_else(|| (measure.of)(&one.costs))
    };
    let values = |wanted: &dyn Fn(&&SchemeVerdict) -> bool| {
        verdict.schemes.iter().filter(wanted).filter_map(top).filter(|v| v.is_finite()).collect::<Vec<f64>>()
    };
    let mut seen = values(&|one| one.is_comparable());
    if seen.is_empty() {
        seen = values(&|_| true);
    }
    full_bar(seen)
}

/// Value of a full bar among bars of these values. Up to half of the bars may be outliers, and the lowest gap counts, so that
/// none of them flattens the others.
pub(super) fn full_bar(mut values: Vec<f64>) -> f64 {
    values.sort_by(|one, other| other.total_cmp(one));
    let is_gap = |&i: &usize| values.get(i).is_some_and(|next| *next > 0.0 && values[i - 1] > OUTLIER * next);
    let gap = (1..=values.len() / 2).rev().find(is_gap);
    gap.map_or(values.first().copied().unwrap_or(1.0), |next| values[next] * CUT).max(f64::MIN_POSITIVE)
}

/// Bars of one cost.
fn panel(verdict: &Verdict, colours: &[(String, &'static str)], key: &str, title: &str) -> String {
    let Some((index, measure)) = MEASURES.iter().enumerate().find(|(_, measure)| measure.key == key) else {
        return String::new();
    };
    let over = verdict.schemes.iter().any(|one| one.over.is_some());
    let full = scale(verdict, measure);
    let better = if measure.better == Better::Less { "lower is better" } else { "higher is better" };
    let mut out = format!(
        "<figure class=\"card{}\" data-panel=\"{key}\"><figcaption>{title} <small>{better}</small></figcaption>\n",
        if over { " over" } else { "" }
    );
    for (one, (label, colour)) in verdict.schemes.iter().zip(colours) {
        let value = (measure.of)(&one.costs);
        let share = value.map_or(0.0, |value| value / full.max(f64::MIN_POSITIVE));
        let is_cut = share > 1.0 + 1e-9;
        let mut class = String::from("bar");
        class.push_str(if is_cut { " cut" } else { "" });
        class.push_str(if one.is_comparable() { "" } else { " apart" });
        let ratio = match (one.reason(), one.times(index)) {
            (Some(_), _) => "!".into(),
            (None, Some(times)) if verdict.baseline.as_ref() != Some(&one.scheme) => {
                times.replace(" x", "\u{d7}").replace(" to ", "\u{2013}")
            }
            _ => String::new(),
        };
        let cut = if is_cut { " title=\"cut: the bar would be longer\"" } else { "" };
        let below = match one.reason() {
            Some(reason) => format!("<small class=\"bad\">not comparable: {}</small>", escape(&reason)),
            None => format!("<small>survives {}</small>", escape(&one.survives.losses())),
        };
        let _ = writeln!(
            out,
            "<div class=\"row\"><span class=\"name\"><b>{}</b>{below}</span>\
             <span class=\"track\"><i class=\"{class}\" style=\"width:{:.1}%;background-color:{colour}\"{cut}></i>{}</span>\
             <span class=\"value\">{}</span><span class=\"times\">{ratio}</span></div>",
            escape(label),
            share.min(1.0) * 100.0,
            whisker(one, measure, full),
            micro(&escape(&one.shown(measure))),
        );
    }
    out.push_str("</figure>\n");
    out
}

/// A quantity with the signs that text for terminals lacks.
pub(super) fn micro(text: &str) -> String {
    signs(text)
}

/// The interval of a cost, as a line over the end of its bar; `full` is what a full bar stands for.
fn whisker(one: &SchemeVerdict, measure: &Measure, full: f64) -> String {
    let Some(interval) = one.over.as_ref().and_then(|over| over.cost(measure)).filter(|interval| interval.half_width > 0.0)
    else {
        return String::new();
    };
    let place = |value: f64| (value / full.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0) * 100.0;
    let (low, high) = (place(interval.low()), place(interval.high()));
    if low >= 100.0 {
        // Of a bar that is cut, the end is not there.
        return String::new();
    }
    format!("<i class=\"whisker\" style=\"left:{low:.1}%;width:{:.1}%\" title=\"95 % confidence interval\"></i>", high - low)
}

/// A cell of the first screen: its figure, and its ratio in small type.
fn figure(cell: &ScreenCell) -> String {
    let (mut figure, mut ratio) = (cell.figure.clone(), String::new());
    match &cell.ratio {
        Some(times) => ratio = format!(" <small>{}</small>", escape(&signs(&format!("{times}{}", cell.mark())))),
        None => figure.push_str(cell.mark()),
    }
    // On a narrow screen an interval takes two lines, so that every scheme is seen.
    let is_whole = figure.starts_with(|c: char| c.is_ascii_digit()) && !figure.contains("+-");
    let class = if is_whole { " class=\"whole\"" } else { "" };
    format!("<span{class}>{}</span>{ratio}", micro(&escape(&figure)))
}

/// The table of the first screen: a column for each scheme, with ratios to the baseline.
fn table(verdict: &Verdict, screen: &[ScreenRow], colours: &[(String, &'static str)]) -> String {
    let head: String = verdict
        .schemes
        .iter()
        .zip(colours)
        .enumerate()
        .map(|(index, (one, (label, colour)))| {
            let reason = one.reason().map(|reason| format!("<small class=\"bad\">not comparable: {}</small>", escape(&reason)));
            let reason = reason.unwrap_or_default();
            format!(
                "<th data-scheme=\"{index}\"><i class=\"dot\" style=\"background:{colour}\"></i>{}{reason}</th>",
                escape(label)
            )
        })
        .collect();
    let mut rows = String::new();
    for row in screen {
        let label = escape(&signs(row.label.trim()));
        if row.cells.is_empty() {
            let _ = writeln!(rows, "<tr class=\"group\"><th colspan=\"{}\">{label}</th></tr>", verdict.schemes.len() + 1);
            continue;
        }
        let cells =
            row.cells.iter().enumerate().map(|(index, cell)| format!("<td data-scheme=\"{index}\">{}</td>", figure(cell)));
        let _ = writeln!(rows, "<tr><th>{label}</th>{}</tr>", cells.collect::<String>());
    }
    format!(
        "<section class=\"card\"><h3>Protection, latency and cost</h3><div class=\"wide\"><table class=\"facts\"><thead><tr><th></th>{head}</tr></thead>\
         <tbody>\n{rows}</tbody></table></div></section>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_flatten_nothing_and_half_of_the_bars_may_be_some() {
        assert_eq!([full_bar(vec![3.0, 1.0, 2.0]), full_bar(vec![20.0, 1.0, 2.0])], [3.0, 2.0 * CUT]);
        // Two steps: both are cut.
        assert_eq!(full_bar(vec![1.0, 229.0, 11.0, 1.2]), 1.2 * CUT);
        // More than half of them: what is low is the outlier.
        assert_eq!(full_bar(vec![9.0, 8.0, 1.0]), 9.0);
        assert_eq!((full_bar(vec![]), full_bar(vec![0.0, 0.0])), (1.0, f64::MIN_POSITIVE));
    }

    #[test]
    fn a_long_answer_goes_on_below_the_charts() {
        let answer = |lengths: &[usize]| lengths.iter().map(|&length| "x".repeat(length)).collect::<Vec<_>>();
        assert_eq!(
            [&[200, 200, 100][..], &[200, 200, 200, 10], &[900], &[]].map(|one| on_first_screen(&answer(one))),
            [3, 2, 1, 0]
        );
    }
}
