//! Rows of one comparison under several seeds as one row for each scheme: means, their intervals, differences from the first scheme.

use super::COMPARED;
use crate::interval::{Interval, Paired};
use common::Row;
use serde_json::{Value, json};

/// Column of the number of seeds.
const SEEDS: &str = "seeds";

/// Suffixes behind the name of a compared column: ends of the interval of its mean; difference from the first scheme and ratio to
/// it, paired by seed, each with the ends of its interval.
const BEHIND: [&str; 8] =
    ["_low", "_high", "_difference", "_difference_low", "_difference_high", "_ratio", "_ratio_low", "_ratio_high"];

/// Columns that say how a run is repeated: those of the first seed.
const OF_THE_FIRST: [&str; 4] = ["seed", "config_hash", "trace_hash", "event_digest"];

/// Whether rows over several seeds have a column of this name, and others have not.
#[must_use]
pub fn is_column(name: &str) -> bool {
    let is = |column: &&str| name.strip_prefix(*column).is_some_and(|rest| BEHIND.contains(&rest));
    name == SEEDS || COMPARED.iter().any(is)
}

/// The rows of all seeds, scheme by scheme within each seed, as one row for each scheme.
#[must_use]
pub fn joined(rows: &[Row]) -> Vec<Row> {
    let scheme = |row: &Row| row.get("scheme").cloned();
    let first_seed = rows.first().and_then(|row| row.get("seed"));
    let schemes = rows.iter().take_while(|row| row.get("seed") == first_seed).count();
    let of: Vec<Vec<&Row>> =
        rows[..schemes].iter().map(|first| rows.iter().filter(|row| scheme(row) == scheme(first)).collect()).collect();
    of.iter().map(|own| one(own, &of[0])).collect()
}

/// A column under each seed; `None` unless it is a number under every one.
fn numbers(rows: &[&Row], column: &str) -> Option<Vec<f64>> {
    rows.iter().map(|row| row.get(column)?.as_f64()).collect()
}

fn is_comparable(rows: &[&Row]) -> bool {
    rows.iter().all(|row| row.get("not_comparable").is_none_or(Value::is_null))
}

fn one(own: &[&Row], first: &[&Row]) -> Row {
    let is_other = own[0].get("scheme") != first[0].get("scheme");
    let paired_with = (is_other && is_comparable(own) && is_comparable(first)).then_some(first);
    let mut row = Row::new();
    for (column, value) in own[0] {
        let values = numbers(own, column);
        let joined = match &values {
            _ if OF_THE_FIRST.contains(&column.as_str()) => value.clone(),
            Some(values) => json!(values.iter().sum::<f64>() / values.len() as f64),
            None => said(column, own),
        };
        row.insert(column.clone(), joined);
        if column == "seed" {
            row.insert(SEEDS.to_owned(), json!(own.len()));
        }
        if COMPARED.contains(&column.as_str()) {
            let paired = paired_with.and_then(|other| Paired::of(values.as_deref()?, &numbers(other, column)?));
            let (difference, ratio) =
                (paired.as_ref().map(|paired| paired.difference), paired.as_ref().and_then(|paired| paired.ratio));
            let mean = values.as_deref().and_then(Interval::of);
            let ends = [
                mean.map(|mean| mean.low()),
                mean.map(|mean| mean.high()),
                difference.map(|difference| difference.mean),
                difference.map(|difference| difference.low()),
                difference.map(|difference| difference.high()),
                ratio.map(|ratio| ratio.ratio),
                ratio.map(|ratio| ratio.low),
                ratio.map(|ratio| ratio.high),
            ];
            row.extend(BEHIND.iter().zip(ends).map(|(behind, end)| (format!("{column}{behind}"), json!(end))));
        }
    }
    row
}

/// Value of a column that is not a number under every seed: the same under each, or the reason under the first seed that has one
/// why a scheme cannot be compared.
fn said(column: &str, own: &[&Row]) -> Value {
    let mut values = own.iter().map(|row| row.get(column).unwrap_or(&Value::Null));
    if column == "not_comparable" {
        return values.find(|value| !value.is_null()).cloned().unwrap_or_default();
    }
    let first = own[0].get(column).unwrap_or(&Value::Null);
    if values.all(|value| value == first) { first.clone() } else { Value::Null }
}
