//! Results of a sweep as CSV, and as a page of plots over its axes.

use common::Row;
use report::study::{Axis, Plot, Series, Study};
use serde_json::Value;

/// Figures that are drawn, where the rows have them: column, headline, axis.
const FIGURES: [(&str, &str, &str); 6] = [
    ("latency_us_mean", "Mean latency", "mean latency, us"),
    ("latency_us_p9999", "p99.99 latency", "p99.99 latency, us"),
    ("waf", "Write amplification", "flash programs per page of the host"),
    ("energy_j", "Energy", "energy, J"),
    ("flash_erases", "Erases", "blocks erased"),
    ("die_utilisation", "Die utilisation", "share of the time"),
];

/// Curves of a plot, at most: more cannot be told apart.
const CURVES_MAX: usize = 12;

/// All rows as CSV: the columns of the first row, then those that later ones have besides.
pub(super) fn csv(rows: &[Row]) -> String {
    let mut names: Vec<&String> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for row in rows {
        names.extend(row.keys().filter(|name| known.insert(name.as_str())));
    }
    let cell = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let mut all = vec![names.iter().map(ToString::to_string).collect::<Vec<_>>()];
    all.extend(rows.iter().map(|row| names.iter().map(|name| cell(row.get(*name))).collect()));
    common::table::csv(&all)
}

/// A page with a plot for each figure: over the last axis of numbers, a curve for each scheme and value of the other axes. Of runs
/// that differ in their seeds alone the mean is drawn.
pub(super) fn page(axes: &[&str], rows: &[Row]) -> String {
    let number = |row: &Row, name: &str| row.get(name).and_then(Value::as_f64);
    let is_number = |axis: &&&str| **axis != "seed" && rows.iter().all(|row| number(row, axis).is_some());
    let over = axes.iter().rev().find(is_number).copied();
    let others: Vec<&str> = axes.iter().copied().filter(|axis| Some(*axis) != over && *axis != "seed").collect();
    let mut notes = vec!["results.csv and results.parquet beside this page have all columns".to_owned()];
    let plots = match over {
        Some(over) => FIGURES.iter().filter_map(|figure| plot(figure, over, &others, rows, &mut notes)).collect(),
        None => {
            notes.push("no axis of the grid is one of numbers, so there is nothing to draw a curve over".into());
            Vec::new()
        }
    };
    let study = Study {
        name: report::study::SWEEP,
        title: format!("Sweep over {}", axes.join(", ")),
        settings: Vec::new(),
        facts: axes.iter().map(|axis| format!("Axis: {axis}, {} values", values(axis, rows).len())).collect(),
        tables: Vec::new(),
        plots,
        notes,
    };
    report::html::study(&study)
}

/// The values of an axis, each once.
fn values<'a>(axis: &str, rows: &'a [Row]) -> Vec<&'a Value> {
    let mut found: Vec<&Value> = Vec::new();
    for value in rows.iter().filter_map(|row| row.get(axis)) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Of a point of a curve where it lies on the axis, the sum of its values, and how many runs it is of.
type Sum = (f64, f64, u32);

fn plot(
    (column, title, axis): &(&'static str, &str, &'static str),
    over: &str,
    others: &[&str],
    rows: &[Row],
    notes: &mut Vec<String>,
) -> Option<Plot> {
    let mut curves: Vec<(String, Vec<Sum>)> = Vec::new();
    for row in rows {
        let place = row.get(over).and_then(Value::as_f64);
        let (Some(x), Some(y)) = (place, row.get(*column).and_then(Value::as_f64)) else { continue };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let named = |axis: &&str| row.get(*axis).map(|value| format!("{axis} {}", text(value)));
        let parts: Vec<String> = row.get("scheme").map(text).into_iter().chain(others.iter().filter_map(named)).collect();
        let name = parts.join(", ");
        let at = curves.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            curves.push((name, Vec::new()));
            curves.len() - 1
        });
        let points = &mut curves[at].1;
        match points.iter_mut().find(|point| point.0 == x) {
            Some(point) => (point.1, point.2) = (point.1 + y, point.2 + 1),
            None => points.push((x, y, 1)),
        }
    }
    if curves.len() > CURVES_MAX {
        let note = format!("of {} curves the first {CURVES_MAX} are drawn", curves.len());
        curves.truncate(CURVES_MAX);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let series = |(name, mut points): (String, Vec<Sum>)| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Series { name, points: points.into_iter().map(|(x, sum, count)| (x, sum / f64::from(count))).collect() }
    };
    let series: Vec<Series> = curves.into_iter().map(series).collect();
    (!series.is_empty()).then(|| Plot {
        id: column,
        title: format!("{title} over {over}"),
        hint: format!("x: {over}"),
        axes: [Axis { name: "value of the axis", log: false }, Axis { name: axis, log: false }],
        series,
        marks: Vec::new(),
        categories: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows() -> Vec<Row> {
        let row = |share: f64, seed: u64, scheme: &str, mean: f64| {
            let row =
                json!({ "run": 0, "capacity.over_provisioning": share, "seed": seed, "scheme": scheme, "latency_us_mean": mean });
            row.as_object().expect("a table").clone()
        };
        vec![row(0.3, 1, "none", 10.0), row(0.3, 2, "none", 20.0), row(0.2, 1, "none", 30.0), row(0.2, 1, "a, b", 5.0)]
    }

    #[test]
    fn a_page_has_curves_over_the_axis_of_numbers_and_means_over_seeds() {
        let html = page(&["seed", "capacity.over_provisioning"], &rows());
        let island = html.split_once("id=\"data\">").expect("an island").1;
        let data: Value = serde_json::from_str(island.split_once("</script>").expect("it ends").0).expect("JSON");
        let plots = data["plots"].as_array().expect("a list");
        assert_eq!(plots.len(), 1, "the other figures are not there");
        assert_eq!(plots[0]["series"][0]["points"], json!([[0.2, 30.0], [0.3, 15.0]]));
        assert_eq!(plots[0]["series"][1]["name"], "a, b");
        assert!(page(&["seed"], &rows()).contains("nothing to draw a curve over"));
    }

    #[test]
    fn csv_has_each_row_and_column() {
        let text = csv(&rows());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "run,capacity.over_provisioning,seed,scheme,latency_us_mean");
        assert_eq!((lines.len(), lines[4]), (5, "0,0.2,1,\"a, b\",5.0"));
    }
}
