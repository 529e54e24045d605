//! The verdict on the page: what is asked first, as sentences and as bars that need no script.

use super::ReportInput;
use super::format::{escape, signs};
use crate::verdict::{Better, MEASURES, Measure, SchemeVerdict, Verdict};
use std::fmt::Write as _;

/// The costs that are drawn, with the question that each answers.
const DRAWN: [(&str, &str); 4] = [
    ("response_us_mean", "How long does a request take on average?"),
    ("life_tb", "How much can the host write before flash is worn out?"),
    ("waf", "How many pages does flash program for each page the host writes?"),
    ("energy_j", "How much energy does it take?"),
];

/// A bar is cut that is more than so many times the next one.
const OUTLIER: f64 = 4.0;

/// A cut bar is so much longer than the next one.
const CUT: f64 = 1.4;

/// The verdict of a comparison; `colours` are those of its schemes.
pub(super) fn html(input: &ReportInput<'_>, colours: &[(String, &'static str)]) -> String {
    let (verdict, cautions) = (input.verdict, input.cautions.len());
    if verdict.schemes.is_empty() {
        return String::new();
    }
    let mut answer = String::new();
    for sentence in &verdict.answer {
        let _ = writeln!(answer, "<p>{}</p>", code(sentence));
    }
    if cautions > 0 {
        let words = if cautions == 1 { "One warning".into() } else { format!("{cautions} warnings") };
        let _ = writeln!(answer, "<p><a href=\"#cautions\">{words}</a> to read before any figure is believed.</p>");
    }
    let panels: String = DRAWN.iter().map(|(key, question)| panel(verdict, colours, key, question)).collect();
    let sentences: String = verdict.schemes.iter().map(|one| format!("<li>{}</li>\n", code(&one.sentence))).collect();
    format!(
        "<section class=\"verdict\" aria-label=\"Verdict\">\n<div class=\"answer\">{answer}</div>\n<div class=\"bars\">{panels}</div>\n\
         <details open><summary>Each scheme in a sentence</summary><ul>{sentences}</ul></details>\n{}{}</section>\n",
        table(verdict, colours),
        input.seeds.map(super::over::pairs).unwrap_or_default()
    )
}

/// A sentence with names between backquotes as bold text.
fn code(sentence: &str) -> String {
    let sentence = signs(sentence);
    let parts = sentence.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 { format!("<b>{}</b>", escape(part)) } else { escape(part) }).collect()
}

/// What a full bar stands for. An outlier is cut, so that it does not flatten the rest; what cannot be compared has no say.
fn scale(verdict: &Verdict, measure: &Measure) -> f64 {
    let top = |one: &SchemeVerdict| {
        let interval = one.over.as_ref().and_then(|over| over.cost(measure));
        interval.map(|interval| interval.high()).or_else(|| (measure.of)(&one.costs))
    };
    let values = |wanted: &dyn Fn(&&SchemeVerdict) -> bool| {
        let mut values: Vec<f64> = verdict.schemes.iter().filter(wanted).filter_map(top).filter(|v| v.is_finite()).collect();
        values.sort_by(|one, other| other.total_cmp(one));
        values
    };
    let mut seen = values(&|one| one.is_comparable());
    if seen.is_empty() {
        seen = values(&|_| true);
    }
    // Up to half of the bars may be outliers.
    let gap = (1..=seen.len() / 2).find(|&i| seen.get(i).is_some_and(|next| *next > 0.0 && seen[i - 1] > OUTLIER * next));
    gap.map_or(seen.first().copied().unwrap_or(1.0), |next| seen[next] * CUT)
}

/// Bars of one cost.
fn panel(verdict: &Verdict, colours: &[(String, &'static str)], key: &str, question: &str) -> String {
    let Some((index, measure)) = MEASURES.iter().enumerate().find(|(_, measure)| measure.key == key) else {
        return String::new();
    };
    let over = verdict.schemes.iter().any(|one| one.over.is_some());
    let full = scale(verdict, measure);
    let better = if measure.better == Better::Less { "less is better" } else { "more is better" };
    let mut out = format!(
        "<figure class=\"card{}\" data-panel=\"{key}\"><figcaption>{question} <small>{better}</small></figcaption>\n",
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
    format!("<i class=\"whisker\" style=\"left:{low:.1}%;width:{:.1}%\" title=\"95 % confidence interval\"></i>", high - low)
}

/// What each scheme survives and costs, a row a scheme: as many schemes as there are fit any screen.
fn table(verdict: &Verdict, colours: &[(String, &'static str)]) -> String {
    let over = if verdict.schemes.iter().any(|one| one.over.is_some()) { " over" } else { "" };
    let mut out = format!(
        "<section class=\"card\"><h3>What does each scheme survive, and what does it cost?</h3><div class=\"facts{over}\">\n"
    );
    for (index, (one, (label, colour))) in verdict.schemes.iter().zip(colours).enumerate() {
        let mut facts = vec![
            ("survives the loss of", one.survives.losses()),
            ("survives power cuts", one.survives.power_cuts.words().to_owned()),
        ];
        facts.extend(MEASURES.iter().map(|measure| (measure.title, micro(&one.shown(measure)))));
        facts.push(("page programs are for", crate::verdict::programs_for(one)));
        if let Some(better) = &one.dominated_by {
            facts.push(("dominated by", better.clone()));
        }
        let reason = one.reason().map(|reason| format!("<p class=\"bad\">not comparable: {}</p>", escape(&reason)));
        let lines: String = facts.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value))).collect();
        let _ = writeln!(
            out,
            "<div data-scheme=\"{index}\"><h4><i class=\"dot\" style=\"background:{colour}\"></i>{}</h4>{}<dl>{lines}</dl></div>",
            escape(label),
            reason.unwrap_or_default()
        );
    }
    out.push_str("</div></section>\n");
    out
}
