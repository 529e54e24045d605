//! Sweeps: one experiment over a grid of settings, resumable, in any number of processes.
//!
//! A grid file is an experiment file with a section `[sweep]`:
//!
//! ```toml
//! schemes = ["none", "raid5"]   # any setting of an experiment, for all runs
//!
//! [[sweep.axes]]
//! key = "capacity.spare"        # a setting, and its values
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
//! those of earlier ones. What a run gave is its [part](crate::parts). A sweep runs what has no part, then
//! merges all parts, in order of the grid, into one Parquet file.

mod grid;
mod group;
mod page;

use crate::columns::Columns;
use crate::compare::{Bench, Observe, compare_on, in_parallel};
use crate::forks::{Drives, grouped};
use crate::parquet_file::parquet_bytes;
use crate::parts::{Directory, Known, Part};
use crate::problem::Problem;
use crate::rows::Row;
pub use grid::{Grid, GridRun, grid_text};
pub use group::Group;
pub(crate) use page::NAME as STUDY;
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
        let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        let comparison = compare_on(&self.experiment, &bench, drives, Observe::Nothing).map_err(|problem| self.named(problem))?;
        Ok(Part { key: self.key, rows: comparison.rows() })
    }

    /// The rows of its part with the number of the run and the values of the axes in front.
    #[must_use]
    pub fn rows(&self, part: &Part) -> Vec<Row> {
        let row = |results: &Row| {
            let mut row = Row::from_iter([("run".to_owned(), json!(self.index))]);
            row.extend(self.axes.iter().cloned());
            row.extend(results.clone());
            row
        };
        part.rows.iter().map(row).collect()
    }
}

/// Runs what has no part in the directory, and merges all parts.
///
/// # Errors
/// Bad input of the first such run in order of the grid, after all others ran; a file in the
/// directory that is no part, or is damaged.
pub fn sweep(grid: &Grid, directory: &Directory, with: &Sweeper<'_>) -> Result<Summary, Problem> {
    let runs = grid.runs()?;
    let known = look(directory, &runs)?;
    let missing: Vec<&GridRun> = runs.iter().filter(|run| !known.found.contains(&run.key)).collect();
    let done = AtomicUsize::new(runs.len() - missing.len());
    (with.progress)(done.load(Ordering::Relaxed), runs.len());
    let keep = |drives: Option<&Drives>, run: &GridRun| {
        directory.keep(&run.part_on(drives)?)?;
        (with.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len());
        Ok(())
    };
    let work = grouped(missing, |run| &run.experiment);
    let mut kept = in_parallel(with.threads, work, |(drives, run)| Ok((run.index, keep(drives.as_deref(), run))))?;
    kept.sort_by_key(|(index, _)| *index);
    kept.into_iter().try_for_each(|(_, kept)| kept)?;
    let (columns, failed) = merge(directory, &runs)?;
    Ok(Summary { runs: runs.len(), found: known.found.len(), others: known.others, rows: columns.rows(), failed })
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

/// Merges the parts of all runs into `results.parquet`, and the same as `results.csv` and as plots in `index.html`; says which runs returned wrong data.
///
/// # Errors
/// A part that is not there or is damaged, or a file that cannot be written.
pub fn merge(directory: &Directory, runs: &[GridRun]) -> Result<(Columns, Vec<usize>), Problem> {
    let (mut columns, mut failed, mut all) = (Columns::default(), Vec::new(), Vec::new());
    for run in runs {
        let part = directory.part(run.key)?;
        all.extend(run.rows(&part));
        if !passed(&part) {
            failed.push(run.index);
        }
    }
    all.iter().for_each(|row| columns.push(row));
    directory.write(&directory.results(), &parquet_bytes(&columns))?;
    directory.write(&directory.file("results.csv"), page::csv(&all).as_bytes())?;
    let axes: Vec<&str> = runs.first().map_or(Vec::new(), |run| run.axes.iter().map(|(name, _)| name.as_str()).collect());
    directory.write(&directory.file("index.html"), page::page(&axes, &all).as_bytes())?;
    directory.tidy(&keys(runs))?;
    Ok((columns, failed))
}

/// Whether no scheme of the run returned wrong data.
fn passed(part: &Part) -> bool {
    part.rows.iter().all(|row| row.get("mismatches").and_then(Value::as_u64) == Some(0))
}

#[cfg(test)]
mod tests;
