//! Columns for Python: through the Arrow PyCapsule interface, or as plain lists.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ArrowError;
use common::{Column, Columns, Values};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyFrozenSet, PyList, PySet, PyTuple};
use std::sync::Arc;

/// Rows and typed columns; polars, pandas, pyarrow and DuckDB take them as they lie in memory.
#[pyclass(frozen, module = "flashkeep._native")]
pub struct Frame {
    batch: RecordBatch,
    columns: Columns,
    repetitions: Option<Py<Self>>,
}

fn array(column: &Column) -> ArrayRef {
    match &column.values {
        Values::Text(v) => Arc::new(v.iter().map(Option::as_deref).collect::<StringArray>()),
        Values::Whole(v) => Arc::new(Int64Array::from(v.clone())),
        Values::Number(v) => Arc::new(Float64Array::from(v.clone())),
        Values::Flag(v) => Arc::new(BooleanArray::from(v.clone())),
    }
}

fn kind(column: &Column) -> &'static str {
    match &column.values {
        Values::Text(_) => "text",
        Values::Whole(_) => "whole number",
        Values::Number(_) => "number",
        Values::Flag(_) => "truth value",
    }
}

/// Columns that the short form names.
const NAMED: usize = 8;

/// Rows that a notebook shows.
const SHOWN: usize = 20;

/// A value as text; nothing where there is none.
fn cell(column: &Column, row: usize) -> String {
    match &column.values {
        Values::Text(v) => v[row].clone(),
        Values::Whole(v) => v[row].map(|value| value.to_string()),
        Values::Number(v) => v[row].map(|value| value.to_string()),
        Values::Flag(v) => v[row].map(|value| value.to_string()),
    }
    .unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn failed(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl Frame {
    /// A frame of these columns.
    pub fn new(columns: Columns) -> PyResult<Self> {
        let arrays = columns.columns().iter().map(|column| (column.name.clone(), array(column), true));
        let batch = RecordBatch::try_from_iter_with_nullable(arrays).map_err(|error| failed(&error))?;
        Ok(Self { batch, columns, repetitions: None })
    }

    /// The same, made of these rows, one for each seed.
    pub fn over(self, py: Python<'_>, repetitions: Option<Columns>) -> PyResult<Self> {
        let repetitions = repetitions.map(|columns| Py::new(py, Self::new(columns)?)).transpose()?;
        Ok(Self { repetitions, ..self })
    }
}

#[pymethods]
impl Frame {
    /// The Arrow C stream of the rows, as the PyCapsule interface wants it.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to ignore a wish for other types.
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.columns.columns().iter().map(|column| column.name.as_str()).collect()
    }

    /// Type of the values of each column, by name: `text`, `whole number`, `number` or `truth value`; any may be
    /// missing.
    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let types = PyDict::new(py);
        for column in self.columns.columns() {
            types.set_item(&column.name, kind(column))?;
        }
        Ok(types)
    }

    /// The rows of each seed that these rows are made of; nothing where runs of a sweep were not repeated.
    #[getter]
    fn repetitions(&self, py: Python<'_>) -> Option<Py<Self>> {
        self.repetitions.as_ref().map(|frame| frame.clone_ref(py))
    }

    fn __len__(&self) -> usize {
        self.columns.rows()
    }

    fn __repr__(&self) -> String {
        let names = self.columns();
        let more = if names.len() > NAMED { ", .." } else { "" };
        let named = names[..names.len().min(NAMED)].join(", ");
        format!("Frame of {} rows and {} columns: {named}{more}", self.columns.rows(), names.len())
    }

    /// The first rows as a table, for notebooks.
    fn _repr_html_(&self) -> String {
        let (rows, columns) = (self.columns.rows(), self.columns.columns());
        let head = |column: &Column| format!("<th>{}<br><small>{}</small></th>", escaped(&column.name), kind(column));
        let mut out = format!("<div style=\"overflow-x: auto\"><table><tr>{}</tr>", columns.iter().map(head).collect::<String>());
        for row in 0..rows.min(SHOWN) {
            let cells: String = columns.iter().map(|column| format!("<td>{}</td>", escaped(&cell(column, row)))).collect();
            out.push_str(&format!("<tr>{cells}</tr>"));
        }
        let more = if rows > SHOWN { format!(", of which {SHOWN} are shown") } else { String::new() };
        out.push_str(&format!("</table></div><p>{rows} rows{more}, {} columns</p>", columns.len()));
        out
    }

    /// The values of a column as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(column) = self.columns.columns().iter().find(|column| column.name == name) else {
            let known = self.columns().join(", ");
            return Err(PyKeyError::new_err(format!("no column is called {name}; known are {known}")));
        };
        match &column.values {
            Values::Text(v) => v.into_pyobject(py),
            Values::Whole(v) => v.into_pyobject(py),
            Values::Number(v) => v.into_pyobject(py),
            Values::Flag(v) => v.into_pyobject(py),
        }
    }

    /// The rows whose columns have these values, or, where a list, tuple or set is given, one of them.
    #[pyo3(signature = (**wanted))]
    fn filter(slf: &Bound<'_, Self>, wanted: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let frame = slf.get();
        let mut keep = vec![true; frame.columns.rows()];
        for (name, value) in wanted.into_iter().flatten() {
            let name: String = name.extract()?;
            let is_set = value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>();
            let several = is_set || value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
            let found = frame.__getitem__(slf.py(), &name)?;
            for (keep, found) in keep.iter_mut().zip(found.try_iter()?) {
                let found = found?;
                *keep &= if several { value.contains(&found)? } else { value.eq(&found)? };
            }
        }
        Self::new(frame.columns.some(&keep))
    }

    /// The rows as a frame of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.getattr("DataFrame")?.call1((slf,))
    }

    /// The rows as a frame of pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pandas")?.getattr("DataFrame")?.call_method1("from_arrow", (slf,))
    }

    /// The rows as a Parquet file.
    fn to_parquet(&self, py: Python<'_>) -> Vec<u8> {
        py.detach(|| report::parquet_bytes(&self.columns))
    }
}
