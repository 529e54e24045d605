//! Studies of reliability.

use crate::errors::bad_input;
use pyo3::prelude::*;

/// JSON that `flashkeep reliability STUDY --json` prints, as text.
#[pyfunction]
pub fn study(py: Python<'_>, name: &str, options: Vec<(String, String)>) -> PyResult<String> {
    let study = py.detach(|| studies::reliability::study(name, &options));
    study.map(|study| study.to_json().to_string()).map_err(|problem| bad_input(&problem))
}
