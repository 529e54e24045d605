//! Runs of a grid that begin with the same drives.

use super::grid::{Grid, GridRun};
use common::Problem;
use common::parts::Part;
use lab::forks::{Drives, groups};
use std::sync::Arc;

/// Runs of a grid that differ only in what the host asks. Their drives are prepared once, when the first run needs
/// them, and go away with the group.
pub struct Group {
    drives: Option<Arc<Drives>>,
    runs: Vec<GridRun>,
}

impl Grid {
    /// The groups of these runs of the grid, in the order of their first runs.
    ///
    /// # Errors
    /// A problem of the experiment of any of them, with its place.
    ///
    /// # Panics
    /// If the grid has no such run.
    pub fn groups(&self, runs: &[usize]) -> Result<Vec<Group>, Problem> {
        let groups = groups(self.some_runs(runs)?, |run| &run.experiment);
        Ok(groups.into_iter().map(|(drives, runs)| Group { drives, runs }).collect())
    }
}

impl Group {
    /// Numbers of its runs.
    #[must_use]
    pub fn runs(&self) -> Vec<usize> {
        self.runs.iter().map(|run| run.index).collect()
    }

    /// Runs a run of the group, on this thread; other threads may run others. Gives what [`GridRun::part`] gives; of a run that cannot be run
    /// a row that says why. `None`: the group has no such run.
    pub fn part(&self, run: usize) -> Option<Part> {
        let run = self.runs.iter().find(|other| other.index == run)?;
        Some(run.part_or_problem(self.drives.as_deref()))
    }

    /// Drives that were prepared so far.
    #[cfg(test)]
    pub(super) fn drives(&self) -> usize {
        self.drives.as_ref().map_or(0, |drives| drives.kept())
    }
}
