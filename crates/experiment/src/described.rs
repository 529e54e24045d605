//! Workloads that a file describes instead of recording them: jobs of fio, flows of MQSim.

use crate::experiment::Experiment;
use crate::mqsim;
use crate::source::{STANDARD_INPUT, is_name, standard_input, trace_problem};
use crate::textual::Size;
use common::{Problem, SETTINGS_MAX, path_of, read_text};
use std::io::Read;
use std::path::Path;
use trace::TraceSource;
use trace::flows::fio_job::Around;
use trace::flows::{Flows, fio_job};
use vocab::Bytes;

/// A format of such files.
pub struct Description {
    /// Name, for `trace.format`.
    pub name: &'static str,
    /// One line on it.
    pub about: &'static str,
    /// Whether a file begins like one.
    looks_like: fn(&[u8]) -> bool,
    read: fn(&Experiment, &str, &str) -> Result<Flows, Problem>,
}

/// All of them.
pub const DESCRIPTIONS: &[Description] = &[
    Description {
        name: fio_job::NAME,
        about: fio_job::ABOUT,
        looks_like: fio_job::looks_like,
        read: |experiment, name, text| read_job(experiment, name, text),
    },
    Description {
        name: crate::flow_spec::NAME,
        about: "generators of `[[flow]]`, each with a clock of its own (docs/flows.md)",
        looks_like: |_| false,
        read: |experiment, _, _| crate::generated::of_flows(experiment),
    },
    Description { name: mqsim::NAME, about: mqsim::ABOUT, looks_like: mqsim::looks_like, read: mqsim::read },
];

/// A job file of fio, with the drive of the experiment, the variables of the environment and the files beside it.
fn read_job(experiment: &Experiment, name: &str, text: &str) -> Result<Flows, Problem> {
    let folder = path_of(&experiment.trace.source).parent().map(Path::to_path_buf).unwrap_or_default();
    let file = |path: &str| read_text(&folder.join(path), SETTINGS_MAX).map_err(|error| format!("cannot be read: {error}"));
    let variable = |name: &str| std::env::var(name).ok();
    let log = |path: &str| TraceSource::path(folder.join(path));
    let around = Around { drive: drive_size(experiment).0, variable: &variable, file: &file, log: &log };
    fio_job::parse(name, text, &around).map_err(|error| trace_problem(&error))
}

/// User capacity of the drive of an experiment: the value of `--capacity`, else the space that over-provisioning leaves
/// of its flash.
fn drive_size(experiment: &Experiment) -> Bytes {
    let (geometry, capacity) = (&experiment.drive.geometry, &experiment.capacity);
    match capacity.size {
        Size::User(bytes) => bytes,
        Size::Auto | Size::Drive => Bytes(
            (f64::from(geometry.slots()) * (1.0 - capacity.over_provisioning.of_raw()) + 1e-6) as u64 * geometry.slot_size.0,
        ),
    }
}

/// Bytes at the beginning of a file that are looked at.
const HEAD: u64 = 4096;

fn named(name: &str) -> Option<&'static Description> {
    DESCRIPTIONS.iter().find(|known| known.name == name)
}

/// Whether the workload of the experiment is described by a file.
pub fn is_described(experiment: &Experiment) -> bool {
    named(&experiment.trace.format).is_some()
}

/// Names the format of the workload where it is to be found out and the file describes a workload.
pub(crate) fn settle(experiment: &mut Experiment) {
    if !experiment.flow.is_empty() {
        (experiment.trace.source, experiment.trace.format) = (crate::flow_spec::NAME.into(), crate::flow_spec::NAME.into());
        return;
    }
    let spec = &experiment.trace;
    if spec.format == "auto" && fio_job::is_command(&spec.source) {
        experiment.trace.format = fio_job::NAME.into();
        return;
    }
    if spec.format != "auto" || spec.columns.is_some() || (is_name(&spec.source) && spec.source != STANDARD_INPUT) {
        return;
    }
    let head = if spec.source == STANDARD_INPUT {
        standard_input().map(|bytes| bytes[..bytes.len().min(HEAD as usize)].to_vec()).unwrap_or_default()
    } else {
        let path = path_of(&spec.source);
        // A pipe could block for ever; what it is will be said where it is read.
        let file = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file).and_then(|_| std::fs::File::open(&path).ok());
        let mut head = Vec::new();
        file.map(|file| file.take(HEAD).read_to_end(&mut head));
        head
    };
    if mqsim::is_device(&head) {
        // Said where the workload is opened.
        experiment.trace.format = mqsim::NAME.into();
        return;
    }
    if let Some(found) = DESCRIPTIONS.iter().find(|known| (known.looks_like)(&head)) {
        experiment.trace.format = found.name.into();
    }
}

/// True where the file of this name describes a workload.
pub(crate) fn is_file_of_one(name: &str) -> bool {
    let head = read_text(&path_of(name), SETTINGS_MAX).unwrap_or_default();
    let head = &head.as_bytes()[..head.len().min(HEAD as usize)];
    DESCRIPTIONS.iter().any(|known| (known.looks_like)(head))
}

/// Refuses a drive or a workload whose file has parameters that its own program does not know.
///
/// # Errors
/// Names them.
pub fn refuse_unknown(experiment: &Experiment) -> Result<(), Problem> {
    let flows = described(experiment)?;
    let notes = experiment.left_out.iter().chain(flows.iter().flat_map(|flows| &flows.notes));
    match notes.into_iter().find(|note| note.contains(crate::parameters::UNKNOWN)) {
        Some(note) => Err(Problem::new("", format!("{note} (`--strict` refuses it)"))),
        None => Ok(()),
    }
}

/// The workload, where it is described.
pub(crate) fn described(experiment: &Experiment) -> Result<Option<Flows>, Problem> {
    let spec = &experiment.trace;
    let Some(description) = named(&spec.format) else { return Ok(None) };
    let text = if spec.format == crate::flow_spec::NAME {
        String::new()
    } else if fio_job::is_command(&spec.source) {
        fio_job::job_text(&spec.source)
            .map_err(|message| Problem::new("trace.source", format!("command line of fio: {message}")))?
    } else if spec.source == STANDARD_INPUT {
        String::from_utf8_lossy(&standard_input()?).into_owned()
    } else {
        let fail = |error| Problem::new("trace.source", format!("{} cannot be read: {error}", spec.source));
        read_text(&path_of(&spec.source), SETTINGS_MAX).map_err(fail)?
    };
    let name = match spec.source.as_str() {
        STANDARD_INPUT => "standard input",
        source if fio_job::is_command(source) => "command line of fio",
        source => source,
    };
    if description.name == mqsim::NAME && mqsim::is_device(&text.as_bytes()[..text.len().min(HEAD as usize)]) {
        let message = format!(
            "{} is a device of MQSim, no workload: `--drive {}` takes it as the drive",
            common::printable(name),
            common::printable(name)
        );
        return Err(Problem::new("trace.source", message));
    }
    (description.read)(experiment, name, &text).map(Some)
}
