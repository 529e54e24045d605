//! The command line in this process, and what is said of settings and colours.

use crate::errors::bad_input;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// Does what a command line says; gives the exit code of the program.
#[pyfunction]
pub fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    let code = py.detach(|| cli::command_line(words));
    cli::EXIT_CODES.into_iter().find(|known| ExitCode::from(*known) == code).expect("a documented exit code")
}

/// A setting: key, meaning, kind, what is valid, default.
type Told = (String, String, String, String, String);

/// Settings at a path and below it, all of them where it is empty.
#[pyfunction]
pub fn settings(path: &str) -> PyResult<Vec<Told>> {
    let found = if path.is_empty() { experiment::settings() } else { experiment::settings_at(path) };
    let found = found.map_err(|problem| bad_input(&problem))?;
    let told = |one: experiment::Setting| {
        let (valid, default) = (one.valid_text(), one.default_text());
        (one.key, one.meaning, one.kind.to_owned(), valid, default)
    };
    Ok(found.into_iter().map(told).collect())
}

/// The colours that reports give to schemes, in their order.
#[pyfunction]
pub fn colours(schemes: Vec<String>) -> Vec<&'static str> {
    report::html::palette::assign(schemes.iter().map(String::as_str)).into_iter().map(|(_, colour)| colour).collect()
}

/// The colour that reports give to the curve of a number, from 0.
#[pyfunction]
pub fn curve_colour(number: usize) -> &'static str {
    report::html::palette::of_curve(number)
}
