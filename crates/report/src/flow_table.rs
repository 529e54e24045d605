//! The flows of a comparison as a table, and how fair each scheme is to them.

use common::Quantity;
use common::table::{grouped, wrapped_to};
use lab::flows::{FIGURES, FlowFigure};
use lab::{Comparison, FLOWS_SHOWN, FlowOutcome, Outcome, fairness, show_runs};

/// Columns of the table of flows, behind the scheme, the flow and its clock.
const TITLES: [&str; 3] = ["scheme", "flow", "clock"];

/// The flows of a comparison as a table, titles first; over several seeds means with their intervals. Empty where there is one flow.
pub(crate) fn table(comparison: &Comparison) -> Vec<Vec<String>> {
    let Some(first) = comparison.outcomes.first().filter(|outcome| !outcome.flows.is_empty()) else { return Vec::new() };
    let has = |figure: &FlowFigure| {
        comparison.outcomes.iter().flat_map(|outcome| &outcome.flows).any(|flow| (figure.of)(flow).is_some())
    };
    let figures: Vec<&FlowFigure> = FIGURES.iter().filter(|figure| has(figure)).collect();
    let mut rows: Vec<Vec<String>> =
        vec![TITLES.iter().copied().chain(figures.iter().map(|figure| figure.label)).map(str::to_owned).collect()];
    for (index, outcome) in comparison.outcomes.iter().enumerate() {
        let runs = comparison.runs_of(index);
        for flow in 0..first.flows.len().min(FLOWS_SHOWN) {
            let of = &outcome.flows[flow];
            let head = [outcome.label.clone(), of.name.clone(), of.clock.clone()];
            rows.push(head.into_iter().chain(figures.iter().map(|figure| cell(figure, &runs, flow))).collect());
        }
    }
    if first.flows.len() > FLOWS_SHOWN {
        let more = format!("{} more flows", grouped((first.flows.len() - FLOWS_SHOWN) as u64));
        rows.push(std::iter::once(more).chain(rows[0].iter().skip(1).map(|_| String::new())).collect());
    }
    rows
}

fn cell(figure: &FlowFigure, runs: &[&Outcome], flow: usize) -> String {
    let values: Option<Vec<f64>> = runs.iter().map(|run| (figure.of)(run.flows.get(flow)?)).collect();
    let is_doubted = |one: &FlowOutcome| match figure.key {
        "slowdown" => one.doubt.is_some(),
        _ => one.result.saturated && matches!(figure.quantity, Quantity::Micros),
    };
    let mark = if runs.iter().any(|run| is_doubted(&run.flows[flow])) { " !" } else { "" };
    values.map_or("-".into(), |values| show_runs(figure.quantity, &values) + mark)
}

/// Fairness under each scheme, as a sentence; empty where flows did not run alone.
pub(crate) fn fairness_text(comparison: &Comparison, width: usize) -> String {
    let of = |(index, outcome): (usize, &Outcome)| {
        let runs = comparison.runs_of(index);
        let values: Vec<f64> = runs.iter().map(|run| fairness(&run.flows)).collect::<Option<_>>()?;
        let mark = if runs.iter().any(|run| run.flows.iter().any(|flow| flow.doubt.is_some())) { " !" } else { "" };
        Some(format!("`{}` {}{mark}", outcome.label, show_runs(Quantity::Plain, &values)))
    };
    let found: Vec<String> = comparison.outcomes.iter().enumerate().filter_map(of).collect();
    if found.is_empty() {
        return String::new();
    }
    wrapped_to(&format!("fairness, the least slowdown over the greatest: {}", found.join(", ")), width)
}
