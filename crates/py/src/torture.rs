//! Campaigns of torture: Python says who runs what, the rest is that of `flashkeep torture --into`.

use crate::errors::bad_input;
use crate::frame::Frame;
use common::Problem;
use common::parts::{CAMPAIGN, Part};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::path::PathBuf;
use torture::{Scope, Summary};

/// Options of the program and the parameters of Python that are called otherwise.
const PARAMETERS: &[(&str, &str)] = &[("--scheme", "schemes"), ("--fault", "faults")];

/// Complaints name options of the program: here they name parameters.
fn raised<T>(result: Result<T, Problem>) -> PyResult<T> {
    result.map_err(|mut problem| {
        let named = PARAMETERS.iter().find(|(option, _)| *option == problem.field).map(|(_, parameter)| *parameter);
        problem.field = named.unwrap_or(problem.field.trim_start_matches('-')).to_owned();
        bad_input(&problem)
    })
}

/// A campaign in pieces.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Campaign(torture::Campaign);

#[pymethods]
impl Campaign {
    /// Scenarios 0 to `scenarios` - 1 of a seed; no scheme and no fault mean those of the program.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the options of the program, by name")]
    fn new(
        scenarios: u64,
        seed: u64,
        piece: u64,
        schemes: Vec<String>,
        faults: Vec<String>,
        draws: &str,
        beyond_promise: bool,
        without: Option<&str>,
    ) -> PyResult<Self> {
        let mut scope = raised(Scope::drawn(draws, seed, &schemes, &faults, beyond_promise))?;
        if let Some(rule) = without {
            scope = raised(scope.without(rule))?;
        }
        raised(torture::Campaign::new(scope, scenarios, piece)).map(Self)
    }

    /// Number of pieces.
    fn __len__(&self) -> usize {
        self.0.pieces()
    }

    /// Number of scenarios.
    #[getter]
    fn scenarios(&self) -> u64 {
        self.0.scenarios()
    }

    /// Number of scenarios of a piece.
    fn scenarios_of(&self, piece: usize) -> PyResult<u64> {
        let range = self.0.range(self.known(piece)?);
        Ok(range.end - range.start)
    }

    /// Runs a piece and returns its part as text.
    fn part(&self, py: Python<'_>, piece: usize) -> PyResult<String> {
        let piece = self.known(piece)?;
        Ok(py.detach(|| self.0.part(piece).to_text()))
    }

    /// Results of all pieces; parts in their order.
    fn merged(&self, py: Python<'_>, parts: Vec<String>) -> PyResult<Tortured> {
        if parts.len() != self.0.pieces() {
            return Err(PyIndexError::new_err(format!("found {} parts, wanted {}", parts.len(), self.0.pieces())));
        }
        let summary = py.detach(|| raised(self.0.merged(|piece| Part::from_text("part", &parts[piece], &CAMPAIGN))))?;
        Ok(Tortured { summary, scope: self.0.scope().clone() })
    }
}

impl Campaign {
    fn known(&self, piece: usize) -> PyResult<usize> {
        let pieces = self.0.pieces();
        let absent = || PyIndexError::new_err(format!("the campaign has {pieces} pieces, there is no piece {piece}"));
        (piece < pieces).then_some(piece).ok_or_else(absent)
    }
}

/// The directory of a campaign, the same that `flashkeep torture --into` uses.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct CampaignDirectory {
    directory: common::parts::Directory,
    campaign: torture::Campaign,
}

#[pymethods]
impl CampaignDirectory {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, campaign: &Campaign) -> PyResult<Self> {
        let campaign = campaign.0.clone();
        let directory = py.detach(|| raised(campaign.open(&path)))?;
        Ok(Self { directory, campaign })
    }

    /// Pieces without a part.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        py.detach(|| raised(self.campaign.missing(&self.directory))).map(|(missing, _)| missing)
    }

    /// Keeps a part.
    fn keep(&self, py: Python<'_>, part: &str) -> PyResult<()> {
        py.detach(|| raised(Part::from_text("part", part, &CAMPAIGN).and_then(|part| self.directory.keep(&part))))
    }

    /// Merges all parts into the two tables, and returns what they say.
    fn merge(&self, py: Python<'_>) -> PyResult<Tortured> {
        let summary = py.detach(|| raised(self.campaign.merge(&self.directory, report::parquet_bytes)))?;
        Ok(Tortured { summary, scope: self.campaign.scope().clone() })
    }
}

/// Results of a campaign.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Tortured {
    summary: Summary,
    scope: Scope,
}

#[pymethods]
impl Tortured {
    /// A row for each scheme.
    fn frame(&self) -> PyResult<Frame> {
        Frame::new(self.summary.columns(self.scope.seed))
    }

    /// A row for each violation that is remembered.
    fn violations(&self) -> PyResult<Frame> {
        Frame::new(self.summary.violations())
    }

    /// The table that `flashkeep torture` prints.
    fn text(&self) -> String {
        self.summary.to_text()
    }

    /// The command that runs a scenario again.
    fn command(&self, scenario: u64) -> String {
        self.scope.command(scenario)
    }
}
