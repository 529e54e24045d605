//! Flows in results: JSON, rows of sweeps, and the figures that these and tables have of each flow.

use crate::outcome::{FLOWS_SHOWN, FlowOutcome, fairness};
use common::Quantity;
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

/// A figure of a flow.
#[derive(Clone, Copy)]
pub struct FlowFigure {
    /// Its name in rows, behind that of the flow.
    pub key: &'static str,
    /// Its label in tables.
    pub label: &'static str,
    /// Its kind of number.
    pub quantity: Quantity,
    /// Reads it from the outcome of a flow; `None`: there is nothing of it.
    pub of: fn(&FlowOutcome) -> Option<f64>,
}

const fn figure(key: &'static str, label: &'static str, quantity: Quantity, of: fn(&FlowOutcome) -> Option<f64>) -> FlowFigure {
    FlowFigure { key, label, quantity, of }
}

fn mean(latency: &Latency) -> Option<f64> {
    (latency.count > 0).then_some(latency.mean)
}

fn p99(latency: &Latency) -> Option<f64> {
    (latency.count > 0).then_some(latency.p99)
}

/// Figures of flows, in the order of columns.
pub const FIGURES: [FlowFigure; 8] = [
    figure("requests", "requests", Quantity::Count, |flow| Some(flow.result.all_requests() as f64)),
    figure("requests_per_s", "requests/s", Quantity::Plain, |flow| flow.result.requests_per_s()),
    figure("mb_per_s", "MB/s", Quantity::Plain, |flow| flow.result.mb_per_s()),
    figure("read_latency_us_mean", "read mean", Quantity::Micros, |flow| mean(&flow.result.read_latency_us)),
    figure("read_latency_us_p99", "read p99", Quantity::Micros, |flow| p99(&flow.result.read_latency_us)),
    figure("write_latency_us_mean", "write mean", Quantity::Micros, |flow| mean(&flow.result.write_latency_us)),
    figure("write_latency_us_p99", "write p99", Quantity::Micros, |flow| p99(&flow.result.write_latency_us)),
    figure("slowdown", "slowdown", Quantity::Plain, FlowOutcome::slowdown),
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
        for figure in FIGURES.iter().filter(|figure| is_alone || figure.key != "slowdown") {
            keys.push((format!("flow_{name}_{}", figure.key), json!((figure.of)(flow))));
        }
    }
    if is_alone {
        keys.push(("flow_fairness".into(), json!(fairness(flows))));
    }
    keys
}
