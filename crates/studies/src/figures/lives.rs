//! Figures of whole lives.

use super::run::{Ran, Run};
use super::sheet::Sheet;
use super::spec::{Figure, LifeSpec};
use crate::life::{LifeSettings, life};
use common::Problem;
use experiment::Experiment;
use lab::Bench;
use report::study::Cell;
use std::collections::BTreeSet;

/// The table of the figure's lives, case by case.
///
/// # Errors
/// Bad input, and a table or column that lives do not have.
pub(super) fn lived(figure: &Figure, with: &Run<'_>) -> Result<Ran, Problem> {
    let spec = figure.spec.life.as_ref().expect("a figure of lives");
    let varied: BTreeSet<&str> = spec.cases.iter().flat_map(|case| case.life.keys().map(String::as_str)).collect();
    let mut sheet = Sheet { heads: Vec::new(), rows: Vec::new() };
    for (number, experiment) in figure.lives.iter().enumerate() {
        (with.progress)(number, figure.lives.len());
        let (heads, rows) = case(spec, number, experiment, with.threads)?;
        let own = spec.cases.get(number);
        let option = |name: &&str| own.and_then(|case| case.life.get(*name).or(spec.set.get(*name))).cloned().unwrap_or_default();
        let before = own.map(|case| case.name.clone()).into_iter().chain(varied.iter().map(option)).collect::<Vec<_>>();
        if number == 0 {
            let named = own.map(|_| "case".to_owned()).into_iter().chain(varied.iter().map(|name| (*name).to_owned()));
            sheet.heads = named.chain(heads).collect();
        }
        sheet.rows.extend(rows.into_iter().map(|row| [before.clone(), row].concat()));
    }
    (with.progress)(figure.lives.len(), figure.lives.len());
    Ok(Ran { sheet, warnings: Vec::new() })
}

/// Heads and rows of a table.
type Rows = (Vec<String>, Vec<Vec<String>>);

fn case(spec: &LifeSpec, number: usize, experiment: &Experiment, threads: usize) -> Result<Rows, Problem> {
    let own = spec.cases.get(number).map(|case| &case.life);
    let options =
        spec.set.iter().filter(|(name, _)| own.is_none_or(|own| !own.contains_key(*name))).chain(own.into_iter().flatten());
    let settings = LifeSettings::with(options.map(|(name, text)| (name.as_str(), text.as_str())))?;
    let bench = Bench { threads, clock: &|| 0.0, progress: &|_| {} };
    let study = life(experiment, &settings, &bench, &|_, _, _| {})?.study("");
    let known: Vec<&str> = study.tables.iter().map(|table| table.key).collect();
    let table = study.tables.iter().find(|table| table.key == spec.table);
    let table = table.ok_or_else(|| Problem::unknown("figure.life.table", "table", &spec.table, &known))?;
    let keys: Vec<&str> = table.columns.iter().map(|column| column.key).collect();
    let place = |name: &String| {
        let found = keys.iter().position(|key| key == name);
        found.ok_or_else(|| Problem::unknown("figure.life.columns", "column", name, &keys))
    };
    let kept: Vec<usize> = match spec.columns.as_slice() {
        [] => (0..keys.len()).collect(),
        named => std::iter::once(Ok(0)).chain(named.iter().map(place)).collect::<Result<_, _>>()?,
    };
    let rows = table.rows.iter().map(|row| kept.iter().map(|&at| Cell::exact(&row[at])).collect());
    Ok((kept.iter().map(|&at| keys[at].to_owned()).collect(), rows.collect()))
}
