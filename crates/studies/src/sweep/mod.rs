//! Sweeps: one experiment over a grid of settings, resumable, in any number of processes.
//!
//! A grid file is an experiment file with a section `[sweep]`:
//!
//! ```toml
//! schemes = ["none", "raid5"]   # any setting of an experiment, for all runs
//!
//! [[sweep.axes]]
//! key = "capacity.over_provisioning"        # a setting, and its values
//! values = [0.2, 0.3, 0.4]
//!
//! [[sweep.axes]]
//! name = "age"                  # column of the results; without it, the key is
//! points = [                    # or points that set several settings each
//!     { value = "fresh", set = { } },
//!     { value = "worn", set = { age.pe_cycles = 3000, errors.model = "flares" } },
//! ]
//! ```
//!
//! Runs are all combinations, the last axis changing fastest; later axes lay their settings upon
//! those of earlier ones. What a run gave is its [part](common::parts). A sweep runs what has no part, then
//! merges all parts, in order of the grid, into one Parquet file.

mod beside;
mod grid;
mod group;
mod page;

pub use beside::Beside;
use common::parts::{Directory, Known, PROBLEM, Part};
use common::{Columns, Problem, Row, in_parallel};
pub use grid::{Grid, GridRun, Policies, grid_text};
pub use group::Group;
use lab::Comparison;
use lab::forks::{Drives, grouped};
use lab::rows::{BETWEEN, WARNINGS};
use lab::{Bench, Observe, compare_on};
use report::parquet_bytes;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a sweep is run; `threads` changes no number.
pub struct Sweeper<'a> {
    /// Runs at the same time.
    pub threads: usize,
    /// Hears of runs done, and of runs in all; first of those that were there.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// A finished sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Runs of the grid.
    pub runs: usize,
    /// Of these, runs whose parts were there.
    pub found: usize,
    /// Parts in the directory that belong to no run of the grid.
    pub others: usize,
    /// Rows of the results.
    pub rows: usize,
    /// Runs that returned wrong data.
    pub failed: Vec<usize>,
    /// Runs that cannot be run, with the reason.
    pub refused: Vec<(usize, String)>,
    /// Runs with warnings, with those of their rows, each once.
    pub warned: Vec<(usize, Vec<String>)>,
}

impl GridRun {
    /// Runs it, on this thread.
    ///
    /// # Errors
    /// Bad input, such as a trace that cannot be read; names the run.
    pub fn part(&self) -> Result<Part, Problem> {
        self.part_on(None)
    }

    /// As [`Self::part`], on forks of drives that other runs use, too.
    fn part_on(&self, drives: Option<&Drives>) -> Result<Part, Problem> {
        if let Some(problem) = &self.refusal {
            // A row names the run, not the line of the grid.
            return Err(self.named(Problem { place: None, ..problem.clone() }));
        }
        let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        let comparison = match &self.beside {
            Some(beside) => beside.compare(self, &bench, drives),
            None => compare_on(&self.experiment, &bench, drives, Observe::Nothing),
        };
        let comparison = comparison.map_err(|problem| self.named(problem))?;
        Ok(Part { key: self.key, rows: rows_of(&comparison) })
    }

    /// As [`Self::part_on`]; a run that cannot be run has a row that says why. A scheme that cannot be run has such a row behind those of
    /// the others, which are run without it.
    fn part_or_problem(&self, drives: Option<&Drives>) -> Part {
        let (mut run, mut refused) = (self.clone(), Vec::new());
        loop {
            let problem = match run.part_on(drives) {
                Ok(part) => return Part { rows: beside_refused(part.rows, refused), ..part },
                Err(problem) => problem,
            };
            let schemes = &mut run.experiment.schemes;
            let is_it = |label: &String| problem.scheme() == Some(experiment::label::shown(label));
            let scheme = problem.scheme().map(|name| ("scheme".to_owned(), json!(name)));
            let said = [PROBLEM, WARNINGS].map(|column| (column.to_owned(), json!(problem.to_string())));
            refused.push(scheme.into_iter().chain(said).collect());
            match schemes.iter().position(is_it) {
                Some(at) if schemes.len() > 1 => drop(schemes.remove(at)),
                _ => return Part { key: self.key, rows: refused },
            }
        }
    }

    /// Whether its part, or what is kept beside it, is not there.
    #[must_use]
    pub fn is_missing(&self, known: &Known) -> bool {
        !known.found.contains(&self.key) || self.beside.as_ref().is_some_and(|beside| !beside.has(self.key))
    }

    /// Whether it is repeated under several seeds.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.experiment.seeds > 1
    }

    /// A row for each scheme, with the number of the run and the values of the axes in front. Where the run is repeated, the row is of
    /// all seeds: means with their intervals, and differences from the first scheme.
    #[must_use]
    pub fn rows(&self, part: &Part) -> Vec<Row> {
        if !self.is_repeated() {
            return self.placed(&part.rows);
        }
        let (refused, run): (Vec<Row>, Vec<Row>) = part.rows.iter().cloned().partition(|row| row.contains_key(PROBLEM));
        let joined = if run.is_empty() { Vec::new() } else { lab::seeds::points::joined(&run) };
        self.placed(&[joined, refused].concat())
    }

    /// A row for each seed and scheme.
    #[must_use]
    pub fn repetitions(&self, part: &Part) -> Vec<Row> {
        self.placed(&part.rows)
    }

    fn placed(&self, rows: &[Row]) -> Vec<Row> {
        let row = |results: &Row| {
            let mut row = Row::from_iter([("run".to_owned(), json!(self.index))]);
            row.extend(self.axes.iter().cloned());
            row.extend(results.clone());
            row
        };
        rows.iter().map(row).collect()
    }
}

/// The rows of a run with those of its refused schemes behind them; each of the others says that these are left out.
fn beside_refused(mut rows: Vec<Row>, refused: Vec<Row>) -> Vec<Row> {
    let names: Vec<String> =
        refused.iter().filter_map(|row| row.get("scheme")?.as_str()).map(|name| format!("`{name}`")).collect();
    if !names.is_empty() {
        let is = if names.len() == 1 { "is" } else { "are" };
        let text = format!("{} {is} left out of this run: the column `problem` says why", names.join(", "));
        for row in &mut rows {
            let others = row.get(WARNINGS).and_then(Value::as_str).map(|others| format!("{BETWEEN}{others}"));
            row.insert(WARNINGS.to_owned(), json!(format!("{text}{}", others.unwrap_or_default())));
        }
    }
    [rows, refused].concat()
}

/// A row for each seed and scheme. What is said of a scheme is said over all seeds.
fn rows_of(comparison: &Comparison) -> Vec<Row> {
    let Some(seeds) = &comparison.seeds else { return comparison.rows() };
    let mut rows = seeds.rows();
    for row in &mut rows {
        let label = row.get("scheme").and_then(Value::as_str).unwrap_or_default().to_owned();
        row.extend(comparison.said(&label));
    }
    rows
}

/// The rows of all seeds together; nothing where no run is repeated.
pub fn repetitions<'a>(parts: impl Iterator<Item = (&'a GridRun, &'a Part)> + Clone) -> Option<Columns> {
    parts.clone().any(|(run, _)| run.is_repeated()).then(|| {
        let mut columns = Columns::default();
        parts.for_each(|(run, part)| run.repetitions(part).iter().for_each(|row| columns.push(row)));
        columns
    })
}

/// Runs what has no part in the directory, and merges all parts. A run that cannot be run has one row, whose column `problem` says why, and no
/// part: a later sweep tries it again.
///
/// # Errors
/// None of the runs can be run; a file in the directory that is no part, or is damaged.
pub fn sweep(grid: &Grid, directory: &Directory, with: &Sweeper<'_>) -> Result<Summary, Problem> {
    let runs = grid.runs()?;
    let known = look(directory, &runs)?;
    let missing: Vec<&GridRun> = runs.iter().filter(|run| run.is_missing(&known)).collect();
    let found = runs.len() - missing.len();
    let done = AtomicUsize::new(found);
    (with.progress)(done.load(Ordering::Relaxed), runs.len());
    let keep = |drives: Option<&Drives>, run: &GridRun| {
        directory.keep(&run.part_or_problem(drives))?;
        (with.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len());
        Ok(())
    };
    let work = grouped(missing, |run| &run.experiment);
    let mut kept = in_parallel(with.threads, work, |(drives, run)| Ok((run.index, keep(drives.as_deref(), run))))?;
    kept.sort_by_key(|(index, _)| *index);
    kept.into_iter().try_for_each(|(_, kept)| kept)?;
    let Merged { columns, failed, refused, warned, .. } = merge(directory, &runs)?;
    Ok(Summary { runs: runs.len(), found, others: known.others, rows: columns.rows(), failed, refused, warned })
}

fn keys(runs: &[GridRun]) -> BTreeSet<u64> {
    runs.iter().map(|run| run.key).collect()
}

/// Looks which of these runs have parts in the directory.
///
/// # Errors
/// A file that is no part, or a part of these runs that is damaged.
pub fn look(directory: &Directory, runs: &[GridRun]) -> Result<Known, Problem> {
    directory.look(&keys(runs))
}

/// Merges the parts of all runs into `results.parquet`, and the same as `results.csv` and as plots in `index.html`; says which runs returned wrong data,
/// and which cannot be run.
///
/// # Errors
/// A part that is not there or is damaged, or a file that cannot be written; none of the runs can be run.
pub fn merge(directory: &Directory, runs: &[GridRun]) -> Result<Merged, Problem> {
    let parts = runs.iter().map(|run| directory.part(run.key)).collect::<Result<Vec<Part>, Problem>>()?;
    let refused = refused(runs.iter().zip(&parts))?;
    let failed = runs.iter().zip(&parts).filter(|(_, part)| !passed(part)).map(|(run, _)| run.index).collect();
    let warnings = runs.iter().zip(&parts).map(|(run, part)| (run.index, warnings(part)));
    let warned = warnings.filter(|(_, texts)| !texts.is_empty()).collect();
    let all: Vec<Row> = runs.iter().zip(&parts).flat_map(|(run, part)| run.rows(part)).collect();
    let mut columns = Columns::default();
    all.iter().for_each(|row| columns.push(row));
    directory.write(&directory.results(), &parquet_bytes(&columns))?;
    let repetitions = repetitions(runs.iter().zip(&parts));
    let of_seeds = directory.file("repetitions.parquet");
    match &repetitions {
        Some(repetitions) => directory.write(&of_seeds, &parquet_bytes(repetitions))?,
        // An earlier sweep of this directory may have had seeds: its rows are none of these results.
        None => directory.remove(&of_seeds)?,
    }
    directory.write(&directory.file("results.csv"), page::csv(&all).as_bytes())?;
    let axes: Vec<&str> = runs.first().map_or(Vec::new(), |run| run.axes.iter().map(|(name, _)| name.as_str()).collect());
    directory.write(&directory.file("index.html"), page::page(&axes, &all).as_bytes())?;
    if let Some(beside) = runs.first().and_then(|run| run.beside.as_deref()) {
        directory.write(&directory.file(beside::INDEX), beside.index(runs).as_bytes())?;
        beside.tidy(&keys(runs));
    }
    directory.tidy(&keys(runs))?;
    Ok(Merged { columns, repetitions, failed, refused, warned })
}

/// All parts of a sweep together.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Their rows.
    pub columns: Columns,
    /// The rows of each seed, where runs are repeated.
    pub repetitions: Option<Columns>,
    /// Runs that returned wrong data.
    pub failed: Vec<usize>,
    /// Runs that cannot be run, with the reason.
    pub refused: Vec<(usize, String)>,
    /// Runs with warnings, with those of their rows, each once.
    pub warned: Vec<(usize, Vec<String>)>,
}

/// The warnings in the rows of a run, each once, in their order.
fn warnings(part: &Part) -> Vec<String> {
    let mut found = Vec::new();
    // Refused schemes come first: others only say that these are left out.
    let (refused, run): (Vec<&Row>, Vec<&Row>) = part.rows.iter().partition(|row| row.contains_key(PROBLEM));
    let rows = if part.problem().is_some() { Vec::new() } else { [refused, run].concat() };
    let texts = rows.into_iter().filter_map(|row| row.get(WARNINGS)?.as_str());
    for text in texts.flat_map(|text| text.split(BETWEEN)) {
        if !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
    }
    found
}

/// Runs that cannot be run, with the reason.
///
/// # Errors
/// None of them can.
pub fn refused<'a>(parts: impl Iterator<Item = (&'a GridRun, &'a Part)>) -> Result<Vec<(usize, String)>, Problem> {
    let (mut runs, mut refused) = (0, Vec::new());
    for (run, part) in parts {
        runs += 1;
        refused.extend(part.problem().map(|problem| (run.index, problem.to_owned())));
    }
    match refused.first() {
        Some((_, first)) if refused.len() == runs => Err(Problem::new("", first.clone())),
        _ => Ok(refused),
    }
}

/// Whether no scheme of the run returned wrong data.
fn passed(part: &Part) -> bool {
    let is_right = |row: &Row| row.contains_key(PROBLEM) || row.get("mismatches").and_then(Value::as_u64) == Some(0);
    part.rows.iter().all(is_right)
}

#[cfg(test)]
mod tests;
