//! A comparison as flat rows, one a scheme: what sweeps and frames are made of.

use crate::comparison::Comparison;
use crate::figure::{self, column, inside, nothing};
use crate::outcome::Outcome;
use common::Row;
use experiment::{Caution, Experiment};
use serde_json::{Value, json};
use ssd::SeriesResult;
use std::path::Path;

/// Columns of the whole comparison, behind those of the scheme.
const COMMON: [&str; 7] =
    ["user_capacity_mib", "touched_share", "clock_factor", "config_hash", "seed", "trace_hash", "event_digest"];

/// Columns of what is said of a scheme, and of the comparison.
const SAID: [&str; 2] = [WARNINGS, "notes"];

/// Column of the warnings about a scheme.
pub const WARNINGS: &str = "warnings";

/// Between the texts of such a column.
pub const BETWEEN: &str = " | ";

/// Keys of a scheme's results that rows have, in column order. An object by cause, kind or operation is a column for each of its
/// names. Lists and wall-clock times are left out.
fn keys() -> impl Iterator<Item = &'static str> {
    figure::all().filter(|figure| figure.is_column()).map(|figure| figure.key)
}

/// Whether every row has a column of this name.
#[must_use]
pub fn is_column(name: &str) -> bool {
    let is = |key: &str| match inside(key) {
        Some((stem, names)) => names.iter().any(|inner| column(stem, inner) == name),
        None => *key == *name,
    };
    keys().any(is) || COMMON.contains(&name) || SAID.contains(&name)
}

/// FNV-1a of the effective experiment, the trace by name rather than by path.
#[must_use]
pub fn config_hash(experiment: &Experiment) -> u64 {
    vocab::fnv(portable(experiment).as_bytes())
}

/// The effective experiment as text, the trace by name rather than by path.
pub(crate) fn portable(experiment: &Experiment) -> String {
    let mut experiment = experiment.clone();
    let name = Path::new(&experiment.trace.source).file_name().map(|name| name.to_string_lossy().into_owned());
    experiment.trace.source = name.unwrap_or_default();
    experiment.to_toml()
}

impl Comparison {
    /// One row for each scheme, in the experiment's order; over several seeds, those of the first.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        if let Some(seeds) = &self.seeds {
            return seeds.rows_of(0).to_vec();
        }
        let slot = self.experiment.drive.geometry.slot_size.0;
        let config = format!("{:016x}", config_hash(&self.experiment));
        let row = |(outcome, results): (&Outcome, Value)| {
            let mut row = scheme_row(&results);
            let common = [
                json!((u64::from(self.user_slots) * slot) as f64 / f64::from(1 << 20)),
                json!(self.touched_share),
                json!(self.clock.factor),
                json!(config),
                json!(self.experiment.seed),
                json!(format!("{:016x}", self.trace.digest)),
                json!(format!("{:016x}", outcome.result.replay.event_digest)),
            ];
            row.extend(COMMON.iter().map(|name| (*name).to_owned()).zip(common));
            row.extend(self.said(&outcome.label));
            row.extend(crate::flows::row_keys(&outcome.flows));
            row
        };
        self.outcomes.iter().zip(self.schemes_json(slot)).map(row).collect()
    }

    /// A row for each bin of each scheme: the scheme, when the bin begins and how wide it is, then the columns of
    /// `docs/spec/results.md`. No rows where the comparison has no time series.
    #[must_use]
    pub fn series_rows(&self) -> Vec<Row> {
        let rows = |(outcome, series): (&Outcome, &SeriesResult)| {
            let row = |bin: usize| {
                let head =
                    [("scheme", json!(outcome.label)), ("time_s", json!(series.time_s[bin])), ("bin_s", json!(series.bin_s))];
                let head = head.into_iter().map(|(name, value)| (name.to_owned(), value));
                head.chain(series.columns.iter().map(|column| (column.name.clone(), json!(column.values[bin])))).collect()
            };
            (0..series.time_s.len()).map(row).collect::<Vec<Row>>()
        };
        self.outcomes.iter().zip(&self.series).flat_map(rows).collect()
    }
}

impl Comparison {
    /// The columns of what is said of a scheme and of all.
    #[must_use]
    pub fn said(&self, label: &str) -> Row {
        let said = [json!(self.said_of(label)), json!((!self.notes.is_empty()).then(|| self.notes.join(BETWEEN)))];
        SAID.iter().map(|name| (*name).to_owned()).zip(said).collect()
    }

    /// The warnings about a scheme and about all schemes, in one text; `None` without any.
    fn said_of(&self, label: &str) -> Option<String> {
        let is_of = |caution: &&Caution| caution.scheme.as_deref().is_none_or(|scheme| scheme == label);
        let texts: Vec<&str> = self.cautions.iter().filter(is_of).map(|caution| caution.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join(BETWEEN))
    }
}

fn scheme_row(results: &Value) -> Row {
    let mut row = Row::new();
    for key in keys() {
        let value = &results[key];
        let Some((stem, names)) = inside(key) else {
            row.insert(key.to_owned(), value.clone());
            continue;
        };
        for name in names {
            row.insert(column(stem, name), value.get(name).cloned().unwrap_or_else(|| nothing(key, stem)));
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, compare};
    use vocab::Cause;

    fn comparison() -> Comparison {
        let text = "schemes = [\"none\", \"raid5\"]\necc.policy = \"fixed\"\nerrors.model = \"flares\"\n\
                    [trace]\nsource = \"uniform\"\n[generate]\nrequests = 500\nrange = \"8MiB\"\nread_fraction = 0.5\n";
        let experiment = Experiment::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
        compare(&experiment, &Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} }).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn rows_hold_every_figure_of_the_results_and_nothing_else() {
        let comparison = comparison();
        let (json, rows) = (comparison.to_json(), comparison.rows());
        assert_eq!(rows.len(), 2);
        for (row, scheme) in rows.iter().zip(json["schemes"].as_array().expect("a list")) {
            let mut taken = 0;
            for (key, value) in scheme.as_object().expect("an object") {
                match inside(key) {
                    Some((stem, _)) => {
                        for (name, inner) in value.as_object().expect("an object") {
                            assert_eq!(&row[&column(stem, name)], inner, "{key}.{name}");
                        }
                        taken += 1;
                    }
                    None if keys().all(|column| column != key.as_str()) => {}
                    None => {
                        assert_eq!(row.get(key), Some(value), "{key}");
                        taken += 1;
                    }
                }
            }
            assert_eq!(taken, keys().count());
            assert!(row.keys().all(|name| is_column(name)));
            assert_eq!(row["event_digest"], scheme["event_digest"]);
            assert_eq!(row["trace_hash"], json["trace"]["digest"]);
            assert_eq!(row["clock_factor"], json["clock_factor"]);
            assert_eq!(row["user_capacity_mib"], json["user_capacity_mib"]);
        }
        assert!(!is_column("capacity.over_provisioning") && !is_column("flash_reads_by_cause"));
    }

    #[test]
    fn parts_of_a_figure_add_up_to_it() {
        for row in comparison().rows() {
            for stem in ["flash_reads", "flash_programs", "flash_erases"] {
                let parts: u64 = Cause::ALL.iter().map(|c| row[&column(stem, c.name())].as_u64().expect("a count")).sum();
                assert_eq!(row[stem].as_u64(), Some(parts), "{stem}");
            }
            let joules = ["read", "program", "erase", "codec", "recharge"].map(|name| row[&column("energy_j", name)].as_f64());
            let sum: f64 = joules.into_iter().map(|joules| joules.expect("a number")).sum();
            let all = row["energy_j"].as_f64().expect("a number");
            assert!((sum - all).abs() <= 1e-9 * all, "{sum} and {all}");
        }
    }

    #[test]
    fn the_hash_tells_settings_apart_and_forgets_the_folder_of_a_trace() {
        let parse = |text: &str| Experiment::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
        let mut one = parse("seed = 1");
        assert_ne!(config_hash(&one), config_hash(&parse("seed = 2")));
        one.trace.source = "some/folder/t.spc".into();
        let mut other = one.clone();
        other.trace.source = "t.spc".into();
        assert_eq!(config_hash(&one), config_hash(&other));
    }
}
