//! One experiment.

use crate::errors::bad_input;
use crate::experiment::experiment_of;
use crate::frame::Frame;
use crate::interrupt::{Wanted, interruptible};
use crate::policy::{Collection, PageEcc, Raised};
use common::{Columns, Row};
use experiment::{Experiment, Own};
use lab::{Bench, Comparison, Progress, RequestLog, Seeds};
use pyo3::prelude::*;
use ssd::{ecc, ftl};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// A finished comparison.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Run(Comparison);

#[pymethods]
impl Run {
    /// Whether every check of every scheme held.
    #[getter]
    fn passed(&self) -> bool {
        self.0.passed()
    }

    /// JSON that `flashkeep run --json` prints, as text.
    fn json(&self) -> String {
        self.0.to_json().to_string()
    }

    /// Text that `flashkeep run` prints.
    fn text(&self) -> String {
        report::to_table(&self.0)
    }

    /// One row for each scheme; under several seeds, those of the first.
    fn frame(&self) -> PyResult<Frame> {
        Frame::new(Columns::of(&self.0.rows()))
    }

    /// One row for each seed and scheme; nothing where the experiment was not repeated.
    fn repetitions(&self) -> PyResult<Option<Frame>> {
        self.over_seeds(Seeds::rows)
    }

    /// The mean of each column of numbers with its confidence interval, by scheme; nothing where it was not repeated.
    fn intervals(&self) -> PyResult<Option<Frame>> {
        self.over_seeds(Seeds::intervals)
    }

    /// Each scheme against each other one, paired by seed; nothing where the run was not repeated.
    fn differences(&self) -> PyResult<Option<Frame>> {
        self.over_seeds(Seeds::differences)
    }

    /// One row for each scheme and bin of time.
    fn series(&self) -> PyResult<Frame> {
        Frame::new(Columns::of(&self.0.series_rows()))
    }

    /// Writes `index.html`, `results.json` and `experiment.toml`; returns the path of the first.
    fn report(&self, directory: PathBuf) -> PyResult<PathBuf> {
        report::write_report(&self.0, &directory).map_err(|problem| bad_input(&problem))
    }
}

impl Run {
    fn over_seeds(&self, rows: fn(&Seeds) -> Vec<Row>) -> PyResult<Option<Frame>> {
        self.0.seeds.as_ref().map(|seeds| Frame::new(Columns::of(&rows(seeds)))).transpose()
    }
}

/// Mean of values and half-width of its 95 % confidence interval; nothing of fewer than two.
#[pyfunction]
pub fn interval(values: Vec<f64>) -> Option<(f64, f64)> {
    lab::Interval::of(&values).map(|interval| (interval.mean, interval.half_width))
}

/// A policy of page ECC: what gives the code of each page that is programmed, what is told of each page that was read, and the bits
/// that its strongest code corrects.
pub type EccCallables = (Py<PyAny>, Option<Py<PyAny>>, u8);

/// A policy of garbage collection that asks a callable.
pub fn own_gc(policy: Py<PyAny>, raised: &Raised) -> ftl::victim::OwnPolicy {
    ftl::victim::OwnPolicy::new(Collection::new(policy, raised.clone()))
}

/// A policy of page ECC that asks callables.
pub fn own_ecc(callables: EccCallables, raised: &Raised) -> ecc::OwnPolicy {
    let (program, read, strongest) = callables;
    ecc::OwnPolicy::new(PageEcc::new(program, read, strongest, raised.clone()))
}

/// Runs the experiment of a TOML text, or of a file where `text` is nothing. `progress` hears of requests answered and of
/// requests in all, over all schemes. `log` is a file that gets every request with its waits. `gc` is a callable that
/// chooses the victims of garbage collection.
#[pyfunction]
#[pyo3(signature = (name, text, threads, progress, log=None, gc=None, ecc=None))]
#[expect(clippy::too_many_arguments, reason = "they are those of the Python function in front of it")]
pub fn run(
    py: Python<'_>,
    name: String,
    text: Option<String>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    log: Option<PathBuf>,
    gc: Option<Py<PyAny>>,
    ecc: Option<EccCallables>,
) -> PyResult<Run> {
    let raised = Raised::default();
    let own = Own { gc: gc.map(|policy| own_gc(policy, &raised)), ecc: ecc.map(|policy| own_ecc(policy, &raised)) };
    let file = log.clone();
    let comparison = interruptible(py, |wanted| {
        let experiment = experiment_of(&name, text.as_deref(), own)?;
        let log = log.as_deref().map(RequestLog::new).transpose().map_err(|problem| bad_input(&problem))?;
        let comparison = compared(&experiment, &raised, threads, wanted, progress.as_ref(), log.as_ref())?;
        raised.end()?;
        log.map_or(Ok(()), RequestLog::finish).map_err(|problem| bad_input(&problem))?;
        Ok(comparison)
    });
    if let (Err(_), Some(file)) = (&comparison, file) {
        lab::forget_log(&file);
    }
    comparison.map(Run)
}

fn compared(
    experiment: &Experiment,
    raised: &Raised,
    threads: Option<usize>,
    wanted: &Wanted,
    progress: Option<&Py<PyAny>>,
    log: Option<&RequestLog>,
) -> PyResult<Comparison> {
    #[expect(clippy::disallowed_methods, reason = "the driver reads the wall clock")]
    let start = Instant::now();
    let runs = experiment.schemes.len() * experiment.seeds as usize;
    let heard = Mutex::new(Heard { done: vec![0; runs], total: 0, refused: Ok(()) });
    let tell = |event: Progress| {
        wanted.check();
        let Some(progress) = progress else { return };
        let mut heard = heard.lock().expect("nothing panics while it is held");
        match event {
            Progress::Running { run, done, total } => (heard.done[run], heard.total) = (done, total),
            Progress::Finished(run) => heard.done[run] = heard.total,
            Progress::Reading(_) | Progress::Preparing { .. } => return,
        }
        heard.tell(progress);
    };
    let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let bench = Bench { threads, clock: &|| start.elapsed().as_secs_f64(), progress: &tell };
    let comparison = lab::compare_logged(experiment, &bench, log).map_err(|problem| raised.explain(problem))?;
    heard.into_inner().expect("nothing panicked").refused.map(|()| comparison)
}

/// Requests answered in each run, requests of each, and what the listener raised.
struct Heard {
    done: Vec<u64>,
    total: u64,
    refused: PyResult<()>,
}

impl Heard {
    fn tell(&mut self, progress: &Py<PyAny>) {
        let (done, total) = (self.done.iter().sum::<u64>(), self.total * self.done.len() as u64);
        if self.refused.is_ok() {
            self.refused = Python::attach(|py| progress.call1(py, (done, total)).map(drop));
        }
    }
}

/// The names of a list of the registries, such as schemes or drives.
#[pyfunction]
pub fn names(list: &str) -> PyResult<Vec<String>> {
    let list = studies::list(list).map_err(|problem| bad_input(&problem))?;
    Ok((list.entries)().into_iter().map(|entry| entry.name).collect())
}
