//! Advice: which design meets given needs.

use crate::errors::bad_input;
use crate::experiment::experiment_of;
use crate::frame::Frame;
use crate::interrupt::interruptible;
use experiment::Own;
use lab::Bench;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;
use studies::advise::{Crew, Heard, Needs, Question, advise as answer};

/// An answer.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Advice {
    advice: studies::advise::Advice,
    study: report::study::Study,
}

/// The words in place of the command line in the answer's documents.
const TYPED: &str = "flashkeep.advise(..)";

#[pymethods]
impl Advice {
    /// True if every read of every timed run returned the data that was written.
    #[getter]
    fn passed(&self) -> bool {
        self.advice.mismatches == 0
    }

    /// A table by its name; nothing where the answer has none of that name.
    fn table(&self, name: &str) -> PyResult<Option<Frame>> {
        let table = self.study.tables.iter().find(|table| table.key == name);
        table.map(|table| Frame::new(table.to_columns())).transpose()
    }

    /// The text of `flashkeep advise`, without the command that repeats the life of the answer.
    fn text(&self) -> String {
        self.advice.to_screen(None)
    }

    /// The output of `flashkeep advise --json`, as text.
    fn json(&self) -> String {
        self.advice.to_json(TYPED, None).to_string()
    }

    /// The experiment of the answer, as TOML; nothing where no design meets the needs.
    fn experiment(&self) -> PyResult<Option<String>> {
        let experiment = self.advice.chosen().map(|index| self.advice.experiment(index)).transpose();
        Ok(experiment.map_err(|problem| bad_input(&problem))?.map(|experiment| experiment.to_toml()))
    }

    /// Writes the report; returns the path of its page.
    fn report(&self, directory: PathBuf) -> PyResult<PathBuf> {
        let results = self.advice.to_json(TYPED, None);
        studies::write_advice(&self.advice, &self.study, &results, &directory).map_err(|problem| bad_input(&problem))
    }
}

/// Answers which design to take, for the experiment of a TOML text, or of a file where `text` is nothing: with axes by name and values,
/// and options of `flashkeep advise` by name and text. With `into`, whole lives are kept in that directory, and those that are there are
/// not lived again. `progress` gets the number of simulated lives, and their maximum.
#[pyfunction]
#[pyo3(signature = (name, text, vary, options, into, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "they are those of the Python function in front of it")]
pub fn advise(
    py: Python<'_>,
    name: String,
    text: Option<String>,
    vary: Vec<(String, String)>,
    options: Vec<(String, String)>,
    into: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Advice> {
    interruptible(py, |wanted| {
        let experiment = experiment_of(&name, text.as_deref(), Own::default())?;
        let options = options.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let Question { given, settings, budget } = Question::with(options).map_err(|problem| bad_input(&problem))?;
        let needs = Needs::of(&given).map_err(|problem| bad_input(&problem))?;
        #[expect(clippy::disallowed_methods, reason = "the driver reads the wall clock")]
        let start = Instant::now();
        let refused = Mutex::new(Ok(()));
        let hear = |heard: Heard| {
            wanted.check();
            let Some(progress) = &progress else { return };
            let mut refused = refused.lock().expect("nothing panics while it is held");
            if refused.is_ok() {
                *refused = Python::attach(|py| progress.call1(py, (heard.lives, budget.lives)).map(drop));
            }
        };
        let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
        let bench = Bench { threads, clock: &|| start.elapsed().as_secs_f64(), progress: &|_| wanted.check() };
        let into = crate::life::kept(into)?;
        let crew = Crew { bench: &bench, hear: &hear, into: into.as_ref() };
        let advice = answer(&experiment, &vary, &needs, &settings, budget, &crew);
        let advice = advice.map_err(|problem| bad_input(&problem))?;
        refused.into_inner().expect("nothing panicked")?;
        let study = advice.study(TYPED);
        Ok(Advice { advice, study })
    })
}
