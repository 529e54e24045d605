//! The time series as the charts of a report want it: few digits, and what is nothing left out.

use serde_json::{Map, Value, json};
use ssd::SeriesResult;
use vocab::Cause;

pub(super) const SCRIPT: &str = include_str!("../../assets/series.js");

/// Rows of the map of dies at most; of a drive with more dies, neighbours are averaged.
const ROWS_MAX: u32 = 32;

/// Columns of each run that charts draw as they are.
const DRAWN: [&str; 9] = [
    "latency_p50_us",
    "latency_p99_us",
    "latency_max_us",
    "read_latency_p99_us",
    "write_latency_p99_us",
    "outstanding_mean",
    "outstanding_max",
    "waf",
    "free_blocks",
];

/// Four digits: more than a chart can show.
fn rounded(value: f64) -> Value {
    if value == 0.0 {
        return json!(0);
    }
    let unit = 10f64.powi(3 - value.abs().log10().floor() as i32);
    let short = if unit >= 1.0 { (value * unit).round() / unit } else { (value * unit).round() * (1.0 / unit).round() };
    if short.fract() == 0.0 && short.abs() < 1e15 { json!(short as i64) } else { json!(short) }
}

fn numbers(values: &[Option<f64>]) -> Value {
    values.iter().map(|value| value.map_or(Value::Null, rounded)).collect()
}

/// Requests of the host: kinds that occur, and bytes.
fn arrived(series: &SeriesResult) -> Value {
    let kinds = ["read", "write", "flush", "discard"].map(|kind| format!("{kind}_requests_per_s"));
    let kinds = kinds.into_iter().filter(|name| is_any(series, name));
    let bytes = ["read_mb_per_s", "write_mb_per_s"].map(str::to_owned);
    let column = |name: String| {
        let values = numbers(series.column(&name).unwrap_or_default());
        (name, values)
    };
    Value::Object(kinds.chain(bytes).map(column).collect())
}

fn is_any(series: &SeriesResult, name: &str) -> bool {
    series.column(name).is_some_and(|values| values.iter().flatten().any(|&value| value > 0.0))
}

/// Requests of all kinds answered, a second.
fn answers(series: &SeriesResult) -> Value {
    let kinds =
        ["read", "write", "flush", "discard"].map(|kind| series.column(&format!("{kind}_answers_per_s")).unwrap_or_default());
    let all = |bin: usize| kinds.iter().filter_map(|kind| kind.get(bin).copied().flatten()).sum::<f64>();
    (0..series.time_s.len()).map(|bin| rounded(all(bin))).collect()
}

fn columns(series: &SeriesResult) -> Value {
    let mut columns = Map::new();
    columns.insert("answers_per_s".into(), answers(series));
    let drawn = DRAWN.into_iter().chain(["buffer_fill_max"]);
    for name in drawn.filter(|name| is_any(series, name)) {
        columns.insert(name.into(), numbers(series.column(name).unwrap_or_default()));
    }
    for operation in ["reads", "programs", "erases"] {
        for cause in Cause::ALL.map(Cause::name) {
            let name = format!("flash_{operation}_per_s_{}", cause.replace('-', "_"));
            if is_any(series, &name) {
                columns.insert(format!("{operation} {cause}"), numbers(series.column(&name).unwrap_or_default()));
            }
        }
    }
    Value::Object(columns)
}

/// How busy dies were in per cent, a list for each row of the map.
fn busy(series: &SeriesResult, rows: u32) -> Value {
    let row = |row: u32| {
        let dies = (row * series.dies).div_ceil(rows)..((row + 1) * series.dies).div_ceil(rows);
        let shares: Vec<_> = dies.filter_map(|die| series.column(&format!("die_utilisation_{die}"))).collect();
        let mean = |bin: usize| shares.iter().filter_map(|die| die[bin]).sum::<f64>() / shares.len() as f64;
        (0..series.time_s.len()).map(|bin| json!((mean(bin) * 100.0).round() as u32)).collect::<Vec<Value>>()
    };
    (0..rows).map(row).collect()
}

/// Data of the charts; nothing where no run has a series.
pub(super) fn data(all: &[SeriesResult]) -> Value {
    let Some(first) = all.first() else { return Value::Null };
    let rows = all.iter().map(|series| series.dies).min().unwrap_or(1).clamp(1, ROWS_MAX);
    let mut asked: Vec<Value> = all.iter().map(arrived).collect();
    // At an open pace the same comes to all at the same time, but for bins in which one of them only finishes.
    let longest = |key: &str| all.iter().map(|series| series.column(key).map_or(0, trimmed)).max();
    let is_common = ["read_requests_per_s", "write_requests_per_s", "read_mb_per_s", "write_mb_per_s"].iter().all(|key| {
        all.iter().all(|series| {
            let (one, other) = (series.column(key).unwrap_or_default(), first.column(key).unwrap_or_default());
            Some(trimmed(one)) == longest(key) && one[..trimmed(one)] == other[..trimmed(other)]
        })
    });
    if is_common {
        let most = all.iter().enumerate().max_by_key(|(_, series)| series.time_s.len()).map_or(0, |(index, _)| index);
        asked = vec![asked.swap_remove(most)];
    }
    let run =
        |series: &SeriesResult| json!({ "bins": series.time_s.len(), "columns": columns(series), "busy": busy(series, rows) });
    json!({ "bin_s": first.bin_s, "rows": rows, "arrived": asked, "runs": all.iter().map(run).collect::<Vec<_>>() })
}

/// Bins up to the last one with anything in it.
fn trimmed(values: &[Option<f64>]) -> usize {
    values.iter().rposition(|value| value.is_some_and(|value| value > 0.0)).map_or(0, |last| last + 1)
}
