//! Lives of drives.

use crate::errors::bad_input;
use crate::experiment::experiment_of;
use crate::frame::Frame;
use crate::interrupt::interruptible;
use experiment::Own;
use lab::Bench;
use pyo3::prelude::*;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;
use studies::life::{Kept, LifeSettings, life_until, lives};

/// Lives that have been simulated.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Life {
    life: studies::life::Life,
    study: report::study::Study,
}

#[pymethods]
impl Life {
    /// True if every read of every timed run returned the data that was written.
    #[getter]
    fn passed(&self) -> bool {
        self.life.passed()
    }

    /// Names of the tables.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.study.tables.iter().map(|table| table.key).collect()
    }

    /// A table by its name; nothing where these lives have none of that name.
    fn table(&self, name: &str) -> PyResult<Option<Frame>> {
        let table = self.study.tables.iter().find(|table| table.key == name);
        table.map(|table| Frame::new(table.to_columns())).transpose()
    }

    /// Text that `flashkeep life` prints.
    fn text(&self) -> String {
        self.life.to_screen()
    }

    /// JSON that `flashkeep life --json` prints, as text.
    fn json(&self) -> String {
        self.study.to_json().to_string()
    }

    /// Writes the report; returns the path of its page.
    fn report(&self, directory: PathBuf) -> PyResult<PathBuf> {
        studies::write_life(&self.life, &self.study, &directory).map_err(|problem| bad_input(&problem))
    }
}

/// The lives that are kept in a directory.
pub fn kept(path: Option<PathBuf>) -> PyResult<Option<Kept>> {
    let turn = RandomState::new().hash_one(std::process::id());
    path.map(|path| Kept::open(&path, turn)).transpose().map_err(|problem| bad_input(&problem))
}

/// Simulates the lives of the experiment of a TOML text, or of a file where `text` is nothing, with options of `flashkeep life` by name
/// and text. With `into`, whole lives are kept in that directory, and those that are there are not lived again. `progress` hears of percents of all rated P/E cycles, and of 100.
#[pyfunction]
#[pyo3(signature = (name, text, options, into, threads, progress))]
pub fn life(
    py: Python<'_>,
    name: String,
    text: Option<String>,
    options: Vec<(String, String)>,
    into: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Life> {
    interruptible(py, |wanted| {
        let experiment = experiment_of(&name, text.as_deref(), Own::default())?;
        let options = options.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let settings = LifeSettings::with(options).map_err(|problem| bad_input(&problem))?;
        #[expect(clippy::disallowed_methods, reason = "the driver reads the wall clock")]
        let start = Instant::now();
        let heard = Mutex::new((vec![0.0; lives(&experiment, &settings)], Ok(())));
        let hear = |number: usize, _years: f64, share: f64| {
            wanted.check();
            let Some(progress) = &progress else { return };
            let mut heard = heard.lock().expect("nothing panics while it is held");
            let (reached, refused) = &mut *heard;
            reached[number] = share.min(1.0);
            let done = (reached.iter().sum::<f64>() / reached.len() as f64 * 100.0) as u64;
            if refused.is_ok() {
                *refused = Python::attach(|py| progress.call1(py, (done, 100)).map(drop));
            }
        };
        let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
        let bench = Bench { threads, clock: &|| start.elapsed().as_secs_f64(), progress: &|_| wanted.check() };
        let into = kept(into)?;
        let life =
            life_until(&experiment, &settings, &bench, &hear, &|| false, into.as_ref()).map_err(|problem| bad_input(&problem))?;
        heard.into_inner().expect("nothing panicked").1?;
        let study = life.study("flashkeep.life(..)");
        Ok(Life { life, study })
    })
}
