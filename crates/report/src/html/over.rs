//! The tables of several seeds as one: each number is a mean with its interval.

use super::format::{escape, real, signs};
use super::table::{Group, Row, Table, Value};
use common::Quantity;
use lab::Seeds;
use lab::{Interval, Ratio};

/// Population of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MeanOf {
    Count,
    Real,
    Share,
}

/// A mean with its interval as text; times, by their unit, in the unit that fits.
pub(super) fn shown(interval: &Interval, of: MeanOf, unit: &str) -> String {
    let quantity = match (of, unit) {
        (MeanOf::Share, _) => Quantity::Share,
        (_, "us") => Quantity::Micros,
        (_, "s") => Quantity::Seconds,
        (MeanOf::Count, _) => Quantity::Count,
        (MeanOf::Real, _) if interval.half_width == 0.0 => return real(interval.mean),
        (MeanOf::Real, _) => Quantity::Plain,
    };
    let text = interval.show(quantity);
    // Digits are grouped as everywhere on the page.
    let parts: Vec<String> = text.split(" +- ").map(grouped).collect();
    signs(&parts.join(" +- "))
}

/// Commas instead of the blanks between digits.
fn grouped(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_digit = |at: Option<&char>| at.is_some_and(char::is_ascii_digit);
    let shown = |(at, c): (usize, &char)| {
        let is_between = *c == ' ' && at > 0 && is_digit(characters.get(at - 1)) && is_digit(characters.get(at + 1));
        if is_between { ',' } else { *c }
    };
    characters.iter().enumerate().map(shown).collect()
}

/// The tables of all seeds as one. A row that is missing under a seed, such as a cause of commands, counts nothing there.
pub(super) fn joined(mut by_seed: Vec<Vec<Table>>) -> Vec<Table> {
    let later = by_seed.split_off(1);
    let mut tables = by_seed.remove(0);
    for table in &mut tables {
        let same = |tables: &'_ [Table]| tables.iter().position(|other| other.title == table.title);
        let places: Vec<Option<usize>> = later.iter().map(|tables| same(tables)).collect();
        for group in &mut table.groups {
            let of = |(tables, place): (&Vec<Table>, &Option<usize>)| -> Vec<Row> {
                let groups = place.map_or(&[][..], |place| tables[place].groups.as_slice());
                groups.iter().find(|other| other.title == group.title).map_or(Vec::new(), |group| group.rows.clone())
            };
            let others: Vec<Vec<Row>> = later.iter().zip(&places).map(of).collect();
            join(group, &others);
        }
    }
    tables
}

/// A group with the rows of the same group under all later seeds.
fn join(group: &mut Group, later: &[Vec<Row>]) {
    for row in later.iter().flatten() {
        if group.rows.iter().all(|known| known.label != row.label) {
            group.rows.push(Row { cells: vec![Value::Count(0); row.cells.len()], ..row.clone() });
        }
    }
    for row in &mut group.rows {
        let others: Vec<Option<&Row>> = later.iter().map(|rows| rows.iter().find(|other| other.label == row.label)).collect();
        for (scheme, cell) in row.cells.iter_mut().enumerate() {
            let later = others.iter().map(|other| other.map_or(Value::Count(0), |row| row.cells[scheme].clone()));
            *cell = mean(&std::iter::once(cell.clone()).chain(later).collect::<Vec<_>>());
        }
    }
}

/// One cell of those of all seeds.
fn mean(cells: &[Value]) -> Value {
    let number = |cell: &Value| match cell {
        Value::Count(n) => Some((*n as f64, MeanOf::Count)),
        Value::Real(x) => Some((*x, MeanOf::Real)),
        Value::Share(x) => Some((*x, MeanOf::Share)),
        _ => None,
    };
    let first = &cells[0];
    if cells.iter().all(|cell| cell == first) {
        return first.clone();
    }
    let numbers: Option<Vec<(f64, MeanOf)>> = cells.iter().map(number).collect();
    let values: Option<Vec<f64>> = numbers.as_ref().map(|numbers| numbers.iter().map(|(value, _)| *value).collect());
    match (numbers, values.and_then(|values| Interval::of(&values)), first) {
        (Some(numbers), Some(interval), _) => Value::Mean(interval, numbers[0].1),
        (.., Value::Code(_)) => first.clone(),
        (.., Value::Text(_)) => {
            let yes = cells.iter().filter(|cell| **cell == Value::Text("yes".into())).count();
            Value::Text(format!("yes under {yes} of {} seeds", cells.len()))
        }
        _ => Value::Absent,
    }
}

/// Each scheme against each other one: the intervals of paired ratios, in percent more or less.
pub(super) fn pairs(seeds: &Seeds) -> String {
    let comparable = seeds.comparable();
    let mut rows = String::new();
    for (at, &other) in comparable.iter().enumerate() {
        for &scheme in &comparable[at + 1..] {
            let cell = |key: &str| match seeds.paired(scheme, other, key).and_then(|paired| paired.ratio) {
                Some(ratio) if ratio.low < 1.0 && 1.0 < ratio.high => {
                    format!("<td class=\"open\" title=\"no difference is shown\">{}</td>", unbroken(ratio))
                }
                Some(ratio) => format!("<td>{}</td>", unbroken(ratio)),
                None => "<td>-</td>".into(),
            };
            let cells: String = PAIRED.iter().map(|(key, _)| cell(key)).collect();
            let (scheme, other) = (escape(seeds.label(scheme)), escape(seeds.label(other)));
            rows.push_str(&format!("<tr><th scope=\"row\"><b>{scheme}</b> against <b>{other}</b></th>{cells}</tr>\n"));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let heads: String = PAIRED.iter().map(|(_, title)| format!("<th scope=\"col\">{title}</th>")).collect();
    format!(
        "<section class=\"card\"><h3>How far is each scheme from the others?</h3><p><small>95 % confidence intervals of the ratios of \
         geometric means over {} seeds, paired by seed; pale: no difference is shown</small></p>\n\
         <div class=\"wide\"><table class=\"pairs\"><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table></div></section>\n",
        seeds.repetitions().len()
    )
}

/// A ratio in percent, the sign with its number.
fn unbroken(ratio: Ratio) -> String {
    ratio.percent().replace(" %", "\u{a0}%")
}

/// The costs of which pairs are shown.
const PAIRED: [(&str, &str); 3] = [("latency_us_mean", "mean latency"), ("tbw_tb", "endurance"), ("energy_j", "energy")];

#[cfg(test)]
mod tests {
    use super::*;
    use lab::figure::Kind;

    fn row(label: &str, cell: Value) -> Row {
        Row { label: label.into(), unit: "", cells: vec![cell], kind: Kind::Cost }
    }

    fn tables(rows: Vec<Row>) -> Vec<Table> {
        vec![Table { title: "t", groups: vec![Group { title: "g", rows }] }]
    }

    #[test]
    fn tables_of_seeds_become_one_with_means() {
        let yes = |is: bool| Value::Text(if is { "yes" } else { "no" }.into());
        let one = |gc: u64, share: f64, saturated: bool| {
            vec![row("gc", Value::Count(gc)), row("busy", Value::Share(share)), row("saturated", yes(saturated))]
        };
        let mut third = one(13, 0.5, false);
        third.push(row("parity", Value::Count(3)));
        let joined = joined(vec![tables(one(10, 0.5, false)), tables(one(13, 0.5, true)), tables(third)]);
        let cells: Vec<String> = joined[0].groups[0].rows.iter().map(|row| row.cells[0].text()).collect();
        // 10, 13, 13: mean 12, deviation 1.732, t 4.303: 4.303 x 1.732 / 1.732. Parity: 0, 0, 3.
        assert_eq!(cells, ["12.0 \u{b1} 4.4", "50.0%", "yes under 1 of 3 seeds", "1.0 \u{b1} 4.4"]);
        assert_eq!(joined[0].groups[0].rows[0].cells[0].exact().as_deref(), Some("12"));
    }

    #[test]
    fn means_are_shown_in_the_unit_that_fits() {
        let shown = |mean, half_width, of, unit| shown(&Interval { mean, half_width }, of, unit);
        assert_eq!(shown(4_112.3, 51.2, MeanOf::Real, "us"), "4.112 \u{b1} 0.052 ms");
        assert_eq!(shown(180_244.0, 1_234.0, MeanOf::Count, ""), "180,244 \u{b1} 1,234");
        assert_eq!(shown(0.583, 0.011, MeanOf::Share, ""), "58.3 \u{b1} 1.1 %");
    }
}
