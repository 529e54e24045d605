//! Records of a run of a grid beside its rows: its time series, and a log of its requests.
//!
//! They are files named like the part of the run, written under another name and renamed. A run is done again where one that is wanted
//! is not there.

use super::grid::GridRun;
use common::{Columns, Problem};
use lab::Comparison;
use lab::RequestLog;
use lab::forks::Drives;
use lab::{Bench, Observe, compare_on};
use report::parquet_bytes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Folders of the files, and the file that says which is of which run.
const SERIES: &str = "series";
const LOGS: &str = "logs";
pub(super) const INDEX: &str = "runs.csv";

/// Ending of files under way.
const UNDER_WAY: &str = "part";

/// Makes names of files under way differ within this process.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

/// Files of runs beside their parts.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Directory of the sweep.
    path: PathBuf,
    folders: Vec<&'static str>,
}

impl Beside {
    /// Files in the directory of a sweep: time series, request logs; makes their folders.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn new(path: &Path, series: bool, logs: bool) -> Result<Self, Problem> {
        let wanted = [(SERIES, series), (LOGS, logs)];
        let folders: Vec<&str> = wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(folder, _)| folder).collect();
        let beside = Self { path: path.to_owned(), folders };
        for folder in beside.folders.iter().map(|folder| path.join(folder)) {
            std::fs::create_dir_all(&folder).map_err(|error| problem(&folder, &error))?;
        }
        Ok(beside)
    }

    fn file(&self, folder: &str, key: u64) -> PathBuf {
        self.path.join(folder).join(format!("{key:016x}.parquet"))
    }

    /// Whether all that is wanted of a run is there.
    pub(super) fn has(&self, key: u64) -> bool {
        self.folders.iter().all(|folder| self.file(folder, key).is_file())
    }

    /// Runs a run and keeps what is wanted of it.
    pub(super) fn compare(&self, run: &GridRun, bench: &Bench<'_>, drives: Option<&Drives>) -> Result<Comparison, Problem> {
        let new = |folder: &str| {
            let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
            self.file(folder, run.key).with_extension(format!("{}-{number}.{UNDER_WAY}", std::process::id()))
        };
        let log_file = self.folders.contains(&LOGS).then(|| new(LOGS));
        let log = log_file.as_deref().map(RequestLog::new).transpose()?;
        let comparison = compare_on(&run.experiment, bench, drives, Observe::Waits { log: log.as_ref() })?;
        if let (Some(log), Some(file)) = (log, log_file) {
            log.finish()?;
            self.rename(&file, LOGS, run.key)?;
        }
        if self.folders.contains(&SERIES) {
            let file = new(SERIES);
            let bytes = parquet_bytes(&Columns::of(&comparison.series_rows()));
            std::fs::write(&file, bytes).map_err(|error| problem(&file, &error))?;
            self.rename(&file, SERIES, run.key)?;
        }
        Ok(comparison)
    }

    fn rename(&self, under_way: &Path, folder: &str, key: u64) -> Result<(), Problem> {
        let file = self.file(folder, key);
        std::fs::rename(under_way, &file).map_err(|error| problem(&file, &error))
    }

    /// Which files are of which run: its number, the values of the axes, the files. A run that cannot be run has none.
    pub(super) fn index(&self, runs: &[GridRun]) -> String {
        let axes = runs.iter().take(1).flat_map(|run| run.axes.iter().map(|(name, _)| name.clone()));
        let head = std::iter::once("run".to_owned()).chain(axes).chain(self.folders.iter().map(ToString::to_string)).collect();
        let line = |run: &GridRun| {
            let values = run.axes.iter().map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            let files = self.folders.iter().map(|folder| match self.file(folder, run.key).is_file() {
                true => format!("{folder}/{:016x}.parquet", run.key),
                false => String::new(),
            });
            std::iter::once(run.index.to_string()).chain(values).chain(files).collect()
        };
        let lines: Vec<Vec<String>> = std::iter::once(head).chain(runs.iter().map(line)).collect();
        common::table::csv(&lines)
    }

    /// Removes what killed processes left of these runs, all of which are done.
    pub(super) fn tidy(&self, keys: &BTreeSet<u64>) {
        let keys: BTreeSet<String> = keys.iter().map(|key| format!("{key:016x}")).collect();
        let files =
            self.folders.iter().flat_map(|folder| std::fs::read_dir(self.path.join(folder)).into_iter().flatten().flatten());
        for file in files {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.ends_with(UNDER_WAY) && name.get(..16).is_some_and(|key| keys.contains(key)) {
                // Another process that did the same run may have removed it.
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}

fn problem(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new("", format!("{} cannot be written: {error}", path.display()))
}
