//! The experiment that Python asks for.

use crate::errors::bad_input;
use experiment::{Experiment, Overrides, Own};
use pyo3::PyResult;

/// The experiment of a TOML text called `name`, with policies that this program brings; that of the file `name` where `text` is nothing.
pub fn experiment_of(name: &str, text: Option<&str>, own: Own) -> PyResult<Experiment> {
    let experiment = match text {
        Some(text) => Experiment::parse_with(name, text, own),
        None => Experiment::load(name.as_ref(), &Overrides::default()),
    };
    experiment.map_err(|problem| bad_input(&problem))
}
