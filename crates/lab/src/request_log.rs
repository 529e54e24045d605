//! Every request of a comparison as a row of one Parquet file, written while schemes run.
//!
//! Each run writes a file of its own beside the wanted one, a row group at a time, so that memory is bounded and threads
//! do not wait for each other. In the end the row groups are copied together in the order of the runs: the file does not
//! depend on the number of threads.

use common::{Problem, VERSION};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use ssd::{AnsweredRequest, Wait};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Rows of a row group: what a run keeps in memory.
const ROWS_A_GROUP: usize = 1 << 15;

/// Columns before those of the waits, in nanoseconds each.
const COLUMNS: [(&str, Physical); 12] = [
    ("scheme", Physical::BYTE_ARRAY),
    ("seed", Physical::INT64),
    ("request", Physical::INT64),
    ("kind", Physical::BYTE_ARRAY),
    ("lba", Physical::INT64),
    ("sectors", Physical::INT64),
    ("pages", Physical::INT64),
    ("arrival_ns", Physical::INT64),
    ("start_ns", Physical::INT64),
    ("answer_ns", Physical::INT64),
    ("latency_ns", Physical::INT64),
    ("failed", Physical::BOOLEAN),
];

/// The file that gets all requests.
#[derive(Debug)]
pub struct RequestLog {
    path: PathBuf,
    /// Whether the file is to be removed if nothing comes of it: it was not there before.
    is_new: bool,
    /// Files of runs that have ended, with their places in the log.
    parts: Mutex<Vec<((u64, usize), PathBuf)>>,
}

impl RequestLog {
    /// A log that becomes the file at `path`. What is there stays until the log is finished.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn new(path: &Path) -> Result<Self, Problem> {
        let mut log = Self { path: path.to_owned(), is_new: false, parts: Mutex::new(Vec::new()) };
        let is_there = path.exists();
        OpenOptions::new().append(true).create(true).open(path).map_err(|error| log.problem(&error))?;
        log.is_new = !is_there;
        Ok(log)
    }

    fn problem(&self, error: &dyn std::fmt::Display) -> Problem {
        Problem::new("--log", format!("{} cannot be written: {error}", self.path.display()))
    }

    /// The part of a run: the scheme at `index` of an experiment with this seed.
    pub(crate) fn part(&self, seed: u64, index: usize, scheme: &str, flows: Vec<String>) -> Result<Part<'_>, Problem> {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{seed}-{index}.part"));
        let path = PathBuf::from(name);
        let has_flows = flows.len() > 1;
        let file = File::create(&path).map_err(ParquetError::from);
        let writer = file.and_then(|file| new_file(file, has_flows)).map_err(|error| self.problem(&error))?;
        let rows = Vec::with_capacity(ROWS_A_GROUP);
        let scheme = scheme.to_owned();
        Ok(Part { log: self, path, place: (seed, index), scheme, flows, writer: Some(writer), rows, failed: None })
    }

    /// Puts the parts together.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(mut self) -> Result<(), Problem> {
        let mut parts = std::mem::take(&mut *self.parts.lock().expect("one thread at a time"));
        parts.sort();
        let result = joined(&self.path, &parts).map_err(|error| self.problem(&error));
        parts.into_iter().for_each(|(_, path)| remove(&path));
        self.is_new &= result.is_err();
        result
    }
}

impl Drop for RequestLog {
    /// Parts of a comparison that came to no end.
    fn drop(&mut self) {
        if let Ok(parts) = self.parts.get_mut() {
            parts.iter().for_each(|(_, path)| remove(path));
        }
        if self.is_new {
            remove(&self.path);
        }
    }
}

/// Removes what a log that was being written has left, where the program ends before it: its parts, and an empty file.
pub fn forget_log(path: &Path) {
    let Some(name) = path.file_name().map(std::ffi::OsStr::to_string_lossy) else { return };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_part = |found: &str| found.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".part"));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_part(&entry.file_name().to_string_lossy()) {
            remove(&entry.path());
        }
    }
    if std::fs::metadata(path).is_ok_and(|file| file.len() == 0) {
        remove(path);
    }
}

/// Removes a part. That it stays where that fails is no reason to fail, too.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// The requests of one run, on their way to a file.
pub(crate) struct Part<'a> {
    log: &'a RequestLog,
    path: PathBuf,
    place: (u64, usize),
    scheme: String,
    /// Names of flows.
    flows: Vec<String>,
    writer: Option<SerializedFileWriter<File>>,
    rows: Vec<AnsweredRequest>,
    /// Why a row could not be written. The run goes on; then it is reported.
    failed: Option<ParquetError>,
}

impl Part<'_> {
    /// These requests were answered.
    pub fn hear(&mut self, answered: &[AnsweredRequest]) {
        for some in answered.chunks(ROWS_A_GROUP) {
            if self.rows.len() + some.len() > ROWS_A_GROUP {
                self.write_group();
            }
            self.rows.extend_from_slice(some);
        }
    }

    fn write_group(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if let Some(writer) = self.writer.as_mut().filter(|_| !rows.is_empty() && self.failed.is_none()) {
            self.failed = group(writer, &self.scheme, &self.flows, self.place.0, &rows).err();
        }
        self.rows = rows;
        self.rows.clear();
    }

    /// The run has ended.
    pub fn close(mut self) -> Result<(), Problem> {
        self.write_group();
        let written = match (self.failed.take(), self.writer.take()) {
            (Some(error), _) => Err(error),
            (None, writer) => writer.expect("taken once").close().map(drop),
        };
        self.log.parts.lock().expect("one thread at a time").push((self.place, self.path.clone()));
        written.map_err(|error| self.log.problem(&error))
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if self.writer.is_some() {
            remove(&self.path);
        }
    }
}

/// Column of the flow, behind all others: where there are several.
const FLOW: &str = "flow";

fn schema(has_flows: bool) -> Result<TypePtr, ParquetError> {
    let field = |name: &str, physical: Physical| {
        let logical = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let facts = COLUMNS.iter().map(|&(name, physical)| field(name, physical));
    let waits = Wait::ALL.iter().map(|(_, name)| field(&column_of_wait(name), Physical::INT64));
    let flow = has_flows.then(|| field(FLOW, Physical::BYTE_ARRAY));
    let fields = facts.chain(waits).chain(flow).collect::<Result<_, _>>()?;
    Type::group_type_builder("requests").with_fields(fields).build().map(Arc::new)
}

fn column_of_wait(name: &str) -> String {
    format!("{}_ns", name.replace('-', "_"))
}

fn new_file(file: File, has_flows: bool) -> Result<SerializedFileWriter<File>, ParquetError> {
    let properties = WriterProperties::builder().set_created_by(format!("flashkeep {VERSION}")).build();
    SerializedFileWriter::new(file, schema(has_flows)?, Arc::new(properties))
}

/// Writes rows as a row group.
fn group(
    file: &mut SerializedFileWriter<File>,
    scheme: &str,
    flows: &[String],
    seed: u64,
    rows: &[AnsweredRequest],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    column::<ByteArrayType>(&mut group, rows.iter().map(|_| ByteArray::from(scheme)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|_| whole(seed)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| whole(row.request)))?;
    column::<ByteArrayType>(&mut group, rows.iter().map(|row| ByteArray::from(row.kind_name())))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| whole(row.lba.0)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| i64::from(row.sectors)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| i64::from(row.pages)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| whole(row.arrival.0)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| whole(row.start.0)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| whole(row.answer.0)))?;
    column::<Int64Type>(&mut group, rows.iter().map(|row| whole(row.answer.since(row.arrival).0)))?;
    column::<BoolType>(&mut group, rows.iter().map(|row| row.failed))?;
    for (wait, _) in Wait::ALL {
        column::<Int64Type>(&mut group, rows.iter().map(|row| whole(row.waits.of(wait).0)))?;
    }
    if flows.len() > 1 {
        column::<ByteArrayType>(&mut group, rows.iter().map(|row| ByteArray::from(flows[usize::from(row.flow)].as_str())))?;
    }
    group.close().map(drop)
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    let mut writer = group.next_column()?.expect("the schema has a field for each column");
    let values: Vec<T::T> = values.collect();
    writer.typed::<T>().write_batch(&values, None, None)?;
    writer.close()
}

/// Copies the row groups of all parts, in order, into one file.
fn joined(path: &Path, parts: &[((u64, usize), PathBuf)]) -> Result<(), ParquetError> {
    let opened = |part: &PathBuf| {
        let bytes = File::open(part)?;
        let reader = SerializedFileReader::new(bytes.try_clone()?)?;
        Ok::<_, ParquetError>((bytes, reader))
    };
    // Every run is of the same workload.
    let has_flows = match parts.first() {
        Some((_, first)) => {
            opened(first)?.1.metadata().file_metadata().schema().get_fields().iter().any(|one| one.name() == FLOW)
        }
        None => false,
    };
    let mut whole = new_file(File::create(path)?, has_flows)?;
    for (_, part) in parts {
        let (bytes, reader) = opened(part)?;
        for group in reader.metadata().row_groups() {
            let mut copy = whole.next_row_group()?;
            for column in group.columns() {
                let close = ColumnCloseResult {
                    bytes_written: u64::try_from(column.compressed_size()).unwrap_or(0),
                    rows_written: u64::try_from(group.num_rows()).unwrap_or(0),
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                copy.append_column(&bytes, close)?;
            }
            copy.close()?;
        }
    }
    whole.close().map(drop)
}
