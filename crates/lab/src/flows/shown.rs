//! Flows in results: JSON, rows of sweeps, and the table of the terminal and the report.

use crate::comparison::Comparison;
use crate::interval::show_runs;
use crate::outcome::Outcome;
use crate::outcome::{FLOWS_SHOWN, FlowOutcome, fairness};
use common::Quantity;
use common::table::{grouped, wrapped};
use serde_json::{Map, Value, json};
use ssd::{FlowResult, Latency};

fn latency(keys: &mut Map<String, Value>, prefix: &str, latency: &Latency) {
    let Latency { mean, p50, p99, p999, p9999, max, .. } = *latency;
    let values = [("mean", mean), ("p50", p50), ("p99", p99), ("p999", p999), ("p9999", p9999), ("max", max)];
    for (name, value) in values {
        keys.insert(format!("{prefix}latency_us_{name}"), json!((latency.count > 0).then_some(value)));
    }
}

fn of_result(result: &FlowResult) -> Map<String, Value> {
    let mut keys = Map::new();
    let mut put = |name: &str, value: Value| keys.insert(name.to_owned(), value);
    put("requests", json!(result.all_requests()));
    put("requests_by_kind", json!(result.requests));
    put("read_bytes", json!(result.read_bytes));
    put("written_bytes", json!(result.written_bytes));
    put("began_s", json!(result.began_s));
    put("simulated_s", json!(result.simulated_s));
    put("requests_per_s", json!(result.requests_per_s()));
    put("mb_per_s", json!(result.mb_per_s()));
    put("saturated", json!(result.saturated));
    for (prefix, of) in [("", &result.latency_us), ("read_", &result.read_latency_us), ("write_", &result.write_latency_us)] {
        latency(&mut keys, prefix, of);
    }
    keys
}

/// Keys of the flows in a scheme's results; nothing where there is one.
pub(crate) fn keys(flows: &[FlowOutcome]) -> Option<[(&'static str, Value); 2]> {
    if flows.is_empty() {
        return None;
    }
    let of = |flow: &FlowOutcome| {
        let mut keys = Map::new();
        keys.insert("flow".into(), json!(flow.name));
        keys.insert("clock".into(), json!(flow.clock));
        keys.extend(of_result(&flow.result));
        keys.extend(crate::waits::keys(flow.result.waits.as_ref()).map(|(key, value)| (key.to_owned(), value)));
        if let Some(alone) = &flow.alone {
            keys.insert("slowdown".into(), json!(flow.slowdown()));
            keys.insert("slowdown_doubt".into(), json!(flow.doubt));
            keys.insert("alone".into(), Value::Object(of_result(alone)));
        }
        Value::Object(keys)
    };
    Some([("flows", json!(flows.iter().map(of).collect::<Vec<_>>())), ("flow_fairness", json!(fairness(flows)))])
}

/// Figures of a flow in rows, and in the table, and how they are shown.
type Figure = (&'static str, &'static str, Quantity, fn(&FlowOutcome) -> Option<f64>);

fn mean(latency: &Latency) -> Option<f64> {
    (latency.count > 0).then_some(latency.mean)
}

fn p99(latency: &Latency) -> Option<f64> {
    (latency.count > 0).then_some(latency.p99)
}

const FIGURES: [Figure; 8] = [
    ("requests", "requests", Quantity::Count, |flow| Some(flow.result.all_requests() as f64)),
    ("requests_per_s", "requests/s", Quantity::Plain, |flow| flow.result.requests_per_s()),
    ("mb_per_s", "MB/s", Quantity::Plain, |flow| flow.result.mb_per_s()),
    ("read_latency_us_mean", "read mean", Quantity::Micros, |flow| mean(&flow.result.read_latency_us)),
    ("read_latency_us_p99", "read p99", Quantity::Micros, |flow| p99(&flow.result.read_latency_us)),
    ("write_latency_us_mean", "write mean", Quantity::Micros, |flow| mean(&flow.result.write_latency_us)),
    ("write_latency_us_p99", "write p99", Quantity::Micros, |flow| p99(&flow.result.write_latency_us)),
    ("slowdown", "slowdown", Quantity::Plain, FlowOutcome::slowdown),
];

/// Names of flows in columns: each character but letters and digits is `_`; where two become one, the later has its number, from 0 on.
fn in_columns(flows: &[FlowOutcome]) -> Vec<String> {
    let plain = |name: &str| name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect::<String>();
    let mut names: Vec<String> = Vec::with_capacity(flows.len());
    for (number, flow) in flows.iter().enumerate() {
        let name = plain(&flow.name);
        let is_taken = names.contains(&name);
        names.push(if is_taken { format!("{name}_{number}") } else { name });
    }
    names
}

/// Columns of the flows of a scheme, for rows: `flow_NAME_FIGURE`.
pub(crate) fn row_keys(flows: &[FlowOutcome]) -> Vec<(String, Value)> {
    let is_alone = flows.iter().any(|flow| flow.alone.is_some());
    let mut keys = Vec::new();
    for (flow, name) in flows.iter().zip(in_columns(flows)).take(FLOWS_SHOWN) {
        for (figure, _, _, of) in FIGURES.iter().filter(|(name, ..)| is_alone || *name != "slowdown") {
            keys.push((format!("flow_{name}_{figure}"), json!(of(flow))));
        }
    }
    if is_alone {
        keys.push(("flow_fairness".into(), json!(fairness(flows))));
    }
    keys
}

/// Columns of the table of flows, behind the scheme, the flow and its clock.
const TITLES: [&str; 3] = ["scheme", "flow", "clock"];

/// The flows of a comparison as a table, titles first; over several seeds means with their intervals. Empty where there is one flow.
pub(crate) fn table(comparison: &Comparison) -> Vec<Vec<String>> {
    let Some(first) = comparison.outcomes.first().filter(|outcome| !outcome.flows.is_empty()) else { return Vec::new() };
    let has =
        |figure: &Figure| comparison.outcomes.iter().flat_map(|outcome| &outcome.flows).any(|flow| figure.3(flow).is_some());
    let figures: Vec<&Figure> = FIGURES.iter().filter(|figure| has(figure)).collect();
    let mut rows: Vec<Vec<String>> =
        vec![TITLES.iter().copied().chain(figures.iter().map(|figure| figure.1)).map(str::to_owned).collect()];
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

fn cell((key, _, quantity, of): &Figure, runs: &[&Outcome], flow: usize) -> String {
    let values: Option<Vec<f64>> = runs.iter().map(|run| of(run.flows.get(flow)?)).collect();
    let is_doubted = |one: &FlowOutcome| match *key {
        "slowdown" => one.doubt.is_some(),
        _ => one.result.saturated && matches!(quantity, Quantity::Micros),
    };
    let mark = if runs.iter().any(|run| is_doubted(&run.flows[flow])) { " !" } else { "" };
    values.map_or("-".into(), |values| show_runs(*quantity, &values) + mark)
}

/// Fairness under each scheme, as a sentence; empty where flows did not run alone.
pub(crate) fn fairness_text(comparison: &Comparison) -> String {
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
    wrapped(&format!("fairness, the least slowdown over the greatest: {}", found.join(", ")))
}
