//! A drive with its settings, and a workload that is replayed over it.

use common::Problem;
use experiment::{Experiment, Overrides};
use lab::{Bench, Comparison, compare};
use std::fmt::Display;
use std::time::Instant;

/// A drive that is to be built: a preset, and what is set beside it. A wrong name or value is an error of what uses the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Drive {
    overrides: Overrides,
}

/// A drive of a preset (`flashkeep list drives`), or of a drive file by its path.
pub fn drive(preset: impl Display) -> Drive {
    let options = vec![("--drive".to_owned(), "drive.preset".to_owned(), preset.to_string())];
    Drive { overrides: Overrides { options, ..Overrides::default() } }
}

impl Drive {
    /// Its scheme, as `--schemes` names it: `raid5`, `raid5:data_strips=7`, `ds-raid+limits`.
    pub fn scheme(self, scheme: impl Display) -> Self {
        self.schemes([scheme])
    }

    /// Several schemes: a replay compares them, each on a drive of its own.
    pub fn schemes(mut self, schemes: impl IntoIterator<Item = impl Display>) -> Self {
        let names: Vec<String> = schemes.into_iter().map(|scheme| scheme.to_string()).collect();
        self.overrides.schemes = Some(names.join(","));
        self
    }

    /// Sets the user capacity, as `"1GiB"`; where it is not set it follows the workload.
    pub fn capacity(self, size: impl Display) -> Self {
        self.set("capacity.size", size)
    }

    /// The seed of all random numbers; 1 where it is not set.
    pub fn seed(self, seed: u64) -> Self {
        self.set("seed", seed)
    }

    /// Any setting by its dotted name (`flashkeep settings`).
    pub fn set(mut self, key: impl Display, value: impl Display) -> Self {
        self.overrides.set.push(format!("{key}={value}"));
        self
    }

    /// The experiment that follows, with every default filled in.
    ///
    /// # Errors
    /// Names the setting, its value, and what is valid.
    pub fn experiment(&self) -> Result<Experiment, Problem> {
        Experiment::with(&self.overrides)
    }

    /// A replay of a workload: a bundled trace, the path of a trace, or a generator.
    pub fn replay(mut self, trace: impl Display) -> Replay {
        self.overrides.trace = Some(trace.to_string());
        Replay { drive: self, threads: 1 }
    }

    /// The drive in memory, empty, for a client's own data. It has 1 GiB where [`Self::capacity`] says nothing.
    ///
    /// # Errors
    /// A setting that is wrong, more than one scheme, or a scheme that cannot run on the drive.
    #[cfg(unix)]
    pub fn disk(&self) -> Result<ssd::disk::Disk, Problem> {
        let one = experiment::one_drive(&self.experiment()?, false)?;
        ssd::disk::Disk::in_memory(&experiment::disk_setup(&one)?).map_err(|error| Problem::new("", error.to_string()))
    }
}

/// A workload over a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Replay {
    drive: Drive,
    threads: usize,
}

impl Replay {
    /// A queue that is kept full, with this many requests unanswered; where nothing is set, requests come at the times of the
    /// trace, slowed down to what all schemes can bear.
    pub fn closed(self, depth: u32) -> Self {
        self.set("trace.arrival", format!("closed={depth}"))
    }

    /// Repetitions under this many seeds, for confidence intervals; 1 where it is not set.
    pub fn seeds(self, seeds: u32) -> Self {
        self.set("seeds", seeds)
    }

    /// Any setting by its dotted name (`flashkeep settings`).
    pub fn set(mut self, key: impl Display, value: impl Display) -> Self {
        self.drive = self.drive.set(key, value);
        self
    }

    /// Threads that work at a time; 1 where it is not set. They change no result.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// Names the setting or the line of the trace that is wrong, and what is valid.
    pub fn run(&self) -> Result<Run, Problem> {
        #[expect(clippy::disallowed_methods, reason = "whoever calls this is the driver")]
        let started = Instant::now();
        let clock = || started.elapsed().as_secs_f64();
        let bench = Bench { threads: self.threads, clock: &clock, progress: &|_| {} };
        compare(&self.drive.experiment()?, &bench).map(Run)
    }
}

/// Results of a replay.
#[derive(Clone, Debug)]
pub struct Run(Comparison);

impl Run {
    /// A figure of a scheme by its key (`docs/spec/results.md`); `None` where the scheme or the figure is not there, or has no number.
    /// Under several seeds it is that of the first.
    #[must_use]
    pub fn figure(&self, scheme: &str, key: &str) -> Option<f64> {
        let at = self.0.outcomes.iter().position(|outcome| outcome.label == scheme)?;
        self.0.rows().get(at)?.get(key)?.as_f64()
    }

    /// The results as text: the verdict, a table, notes and warnings.
    #[must_use]
    pub fn to_table(&self) -> String {
        report::to_table(&self.0)
    }

    /// All of it: the verdict, cautions, results of each scheme, JSON.
    #[must_use]
    pub fn comparison(&self) -> &Comparison {
        &self.0
    }
}
