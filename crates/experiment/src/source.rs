//! Names of workloads, standard input, and complaints about traces.

use crate::flow_spec::NAME;
use common::{Problem, RecordPlace};
use std::io::Read;
use std::sync::{Arc, OnceLock};
use trace::TraceError;
use trace::generate::{GENERATORS, GeneratorKind};
use vocab::Bytes;

/// Stands for standard input instead of a path.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Most bytes of a trace on standard input: it is read more than once, so it is kept.
const STANDARD_INPUT_MAX: u64 = 1 << 30;

/// Whether `source` names a bundled trace, a generator or standard input rather than a path.
pub fn is_name(source: &str) -> bool {
    let is_standard = source == STANDARD_INPUT || source == NAME || trace::flows::fio_job::is_command(source);
    is_standard || trace::BUNDLED.iter().any(|b| b.name == source) || GENERATORS.iter().any(|g| g.name == source)
}

/// The bytes of standard input, read once.
pub(crate) fn standard_input() -> Result<Arc<[u8]>, Problem> {
    static BYTES: OnceLock<Result<Arc<[u8]>, String>> = OnceLock::new();
    let read = || {
        let mut bytes = Vec::new();
        let mut input = std::io::stdin().lock().take(STANDARD_INPUT_MAX + 1);
        input.read_to_end(&mut bytes).map_err(|error| format!("standard input cannot be read: {error}"))?;
        if bytes.len() as u64 > STANDARD_INPUT_MAX {
            return Err(format!("standard input is longer than {}; write it to a file", Bytes(STANDARD_INPUT_MAX)));
        }
        Ok(bytes.into())
    };
    BYTES.get_or_init(read).clone().map_err(|message| Problem::new("trace.source", message))
}

/// The generator of this name.
pub(crate) fn generator(source: &str) -> Option<&'static GeneratorKind> {
    GENERATORS.iter().find(|g| g.name == source)
}

/// The problem of a trace, with file, line and column.
pub fn trace_problem(error: &TraceError) -> Problem {
    let record = error
        .place()
        .map(|(file, line, field)| Box::new(RecordPlace { file: file.to_owned(), line, field: field.map(str::to_owned) }));
    let meant = if let TraceError::Option { meant, .. } = error { meant.clone() } else { None };
    Problem { record, meant, ..Problem::new("", error.to_string()) }
}
