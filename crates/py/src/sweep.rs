//! Sweeps: Python says who runs what, the rest is that of `flashkeep sweep`.

use crate::errors::bad_input;
use crate::frame::Frame;
use crate::policy::Raised;
use crate::run::{EccCallables, own_ecc, own_gc};
use common::parts::{Part, SWEEP};
use common::{Columns, Problem};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::path::PathBuf;
use studies::sweep::{Beside, GridRun, Policies};

fn raised<T>(result: Result<T, Problem>) -> PyResult<T> {
    result.map_err(|problem| bad_input(&problem))
}

/// The text of a grid's file, as `flashkeep sweep` reads it.
#[pyfunction]
pub fn grid_text(path: PathBuf) -> PyResult<String> {
    raised(studies::sweep::grid_text(&path))
}

/// A grid of runs.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Grid {
    grid: studies::sweep::Grid,
    /// First exception of one of its policies.
    raised: Raised,
}

#[pymethods]
impl Grid {
    /// The grid of TOML text; relative paths count from `directory`. Each run is repeated under this many seeds, where they are given.
    /// `beside` is a directory that gets time series of the runs, or request logs, or both. `gc` and `ecc` are policies by the
    /// names that the text has for them.
    #[new]
    #[pyo3(signature = (name, text, directory, seeds=None, beside=None, gc=Vec::new(), ecc=Vec::new()))]
    fn new(
        name: &str,
        text: &str,
        directory: PathBuf,
        seeds: Option<u32>,
        beside: Option<(PathBuf, bool, bool)>,
        gc: Vec<(String, Py<PyAny>)>,
        ecc: Vec<(String, EccCallables)>,
    ) -> PyResult<Self> {
        let mut grid = raised(studies::sweep::Grid::parse(name, text, &directory))?;
        if let Some(seeds) = seeds {
            grid = raised(grid.with_seeds(&format!("seeds={seeds}"), seeds))?;
        }
        if let Some((path, series, logs)) = beside {
            grid = grid.with_files(raised(Beside::new(&path, series, logs))?);
        }
        let raised = Raised::default();
        let gc = gc.into_iter().map(|(name, policy)| (name, own_gc(policy, &raised))).collect();
        let ecc = ecc.into_iter().map(|(name, policy)| (name, own_ecc(policy, &raised))).collect();
        Ok(Self { grid: grid.with_policies(Policies { gc, ecc }), raised })
    }

    fn __len__(&self) -> usize {
        self.grid.len()
    }

    /// Brings together those of these runs that begin with the same drives.
    fn groups(&self, py: Python<'_>, runs: Vec<usize>) -> PyResult<Vec<Group>> {
        if let Some(absent) = runs.iter().find(|&&run| run >= self.grid.len()) {
            return Err(PyIndexError::new_err(format!("the grid has {} runs, there is no run {absent}", self.grid.len())));
        }
        let groups = py.detach(|| raised(self.grid.groups(&runs)))?;
        Ok(groups.into_iter().map(|group| Group { group, raised: self.raised.clone() }).collect())
    }

    /// The rows of all runs; parts in order of the grid.
    fn frame(&self, py: Python<'_>, parts: Vec<String>) -> PyResult<Frame> {
        let (columns, repetitions) = py.detach(|| {
            let runs = raised(self.grid.runs())?;
            let parts =
                parts.iter().map(|text| raised(Part::from_text("part", text, &SWEEP))).collect::<PyResult<Vec<Part>>>()?;
            raised(studies::sweep::refused(runs.iter().zip(&parts)))?;
            let rows: Vec<_> = runs.iter().zip(&parts).flat_map(|(run, part)| run.rows(part)).collect();
            Ok::<_, PyErr>((Columns::of(&rows), studies::sweep::repetitions(runs.iter().zip(&parts))))
        })?;
        Frame::new(columns)?.over(py, repetitions)
    }
}

/// Runs that begin with the same drives, which are prepared once for as long as the group is there.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Group {
    group: studies::sweep::Group,
    raised: Raised,
}

#[pymethods]
impl Group {
    /// Numbers of the runs.
    #[getter]
    fn runs(&self) -> Vec<usize> {
        self.group.runs()
    }

    /// Runs one of them and returns its part as text.
    fn part(&self, py: Python<'_>, run: usize) -> PyResult<String> {
        let part = py.detach(|| self.group.part(run));
        self.raised.end()?;
        let part = part.ok_or_else(|| PyIndexError::new_err(format!("the group has no run {run}")))?;
        Ok(part.to_text())
    }
}

/// The directory of a sweep, the same that `flashkeep sweep` uses.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Directory {
    directory: common::parts::Directory,
    runs: Vec<GridRun>,
}

#[pymethods]
impl Directory {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, grid: &Grid) -> PyResult<Self> {
        py.detach(|| {
            let runs = raised(grid.grid.runs())?;
            Ok(Self { directory: raised(common::parts::Directory::open(&path, &SWEEP))?, runs })
        })
    }

    /// Runs without a part.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        py.detach(|| {
            let known = raised(studies::sweep::look(&self.directory, &self.runs))?;
            let missing = self.runs.iter().filter(|run| run.is_missing(&known));
            Ok(missing.map(|run| run.index).collect())
        })
    }

    /// Keeps a part.
    fn keep(&self, py: Python<'_>, part: &str) -> PyResult<()> {
        py.detach(|| raised(Part::from_text("part", part, &SWEEP).and_then(|part| self.directory.keep(&part))))
    }

    /// Merges all parts into `results.parquet` and returns their rows.
    fn merge(&self, py: Python<'_>) -> PyResult<Frame> {
        let merged = py.detach(|| raised(studies::sweep::merge(&self.directory, &self.runs)))?;
        Frame::new(merged.columns)?.over(py, merged.repetitions)
    }
}
