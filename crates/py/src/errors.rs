//! Bad input as the exception of `flashkeep.errors`.

use common::Problem;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `BadInput` with the place, the field and what is known instead.
pub fn bad_input(problem: &Problem) -> PyErr {
    Python::attach(|py| exception(py, problem).unwrap_or_else(|error| error))
}

fn exception(py: Python<'_>, problem: &Problem) -> PyResult<PyErr> {
    let known = PyDict::new(py);
    let spot = problem.spot();
    known.set_item("file", spot.file)?;
    known.set_item("line", spot.line)?;
    known.set_item("column", spot.column)?;
    known.set_item("field", spot.field)?;
    known.set_item("reason", &problem.message)?;
    known.set_item("known", &problem.known)?;
    known.set_item("meant", &problem.meant)?;
    let class = py.import("flashkeep.errors")?.getattr("BadInput")?;
    Ok(PyErr::from_value(class.call((problem.to_string(),), Some(&known))?))
}
