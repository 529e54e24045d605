//! Job files of fio (fio `HOWTO`, "Job file format"): each job is a flow, or `numjobs` of them.
//!
//! Options that shape requests are read; those about the machine or about measuring are listed in a note; those that would make requests
//! that are not made here are refused. `docs/fio.md` has the table.

mod command;
mod extent;
mod follow;
mod formula;
mod iolog;
mod job;
mod options;
mod pace;
mod section;
mod variables;

pub use command::{COMMAND, command_of, is_command, job_text};

use super::{FLOWS_LIMIT, Flow, Flows};
use crate::{DEVICES_LIMIT, TraceError, TraceSource};
use job::Job;
use section::{File, Section, Sections, Values, sections};
use std::collections::{BTreeMap, BTreeSet};
use vocab::Bytes;

/// Name of the format.
pub const NAME: &str = "fio-job";

/// One line on it.
pub const ABOUT: &str = "job file of fio: jobs are drawn, not run (docs/fio.md)";

/// Parts of the drive are multiples of this.
const DRIVE_UNIT: u64 = 4096;

/// Whether the first bytes of a file are those of a job file: its first line that says anything is the name of a job.
#[must_use]
pub fn looks_like(prefix: &[u8]) -> bool {
    let text = String::from_utf8_lossy(prefix);
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with([';', '#']));
    first.is_some_and(|line| {
        let name = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && !name.contains(['[', '"', ',']))
    })
}

/// The surroundings of a job file: drive, variables, files, recordings.
pub struct Around<'a> {
    /// Bytes of the drive, which is what jobs without a size of their own are on.
    pub drive: u64,
    /// The value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file that is included, or why it cannot be read.
    pub file: &'a dyn Fn(&str) -> Result<String, String>,
    /// The recording of a path.
    pub log: &'a dyn Fn(&str) -> TraceSource,
}

impl Around<'_> {
    /// A drive, and nothing else.
    #[must_use]
    pub fn drive(bytes: u64) -> Self {
        let file = &|_: &str| Err("cannot be read: there are no files here".into());
        Self { drive: bytes, variable: &|_| None, file, log: &|path| TraceSource::path(path) }
    }
}

/// The workload of a job file; `name` stands for the file in errors.
///
/// # Errors
/// The fault, with line and option.
pub fn parse(name: &str, text: &str, around: &Around<'_>) -> Result<Flows, TraceError> {
    let file = File(name);
    let found = sections(file, text, around)?;
    if found.jobs.is_empty() {
        let hint = "a job begins with its name, such as `[reader]`".to_owned();
        return Err(TraceError::Empty { file: name.to_owned(), format: NAME, lines: text.lines().count() as u64, hint });
    }
    let mut flows = Flows { format: NAME, ..Flows::default() };
    let share = drive_share(file, &found.jobs, around.drive, &mut flows.notes)?;
    let mut building = Building { file, flows, devices: BTreeMap::new(), stages: BTreeMap::new(), stage: 0, last: 0 };
    for (index, section) in found.jobs.iter().enumerate() {
        building.job(index, Values { file, section }, share, around)?;
    }
    let mut flows = building.flows;
    about_all(&mut flows, &found);
    Ok(flows)
}

/// Bytes of each device that is the drive: where jobs name several, each is an equal part.
fn drive_share(file: File<'_>, jobs: &[Section], drive: u64, notes: &mut Vec<String>) -> Result<u64, TraceError> {
    let mut devices = BTreeSet::new();
    for section in jobs {
        devices.extend(job::devices_on_the_drive(Values { file, section })?);
    }
    let share = drive / devices.len().max(1) as u64 / DRIVE_UNIT * DRIVE_UNIT;
    match devices.len() {
        0 => {}
        1 => notes.push(format!("size: where a job has none, or a share, it is of the drive, {}", Bytes(share))),
        several => notes.push(format!("size: the jobs use {several} devices, each an equal part of the drive, {}", Bytes(share))),
    }
    Ok(share)
}

/// The flows of a clone of a job by name, the files that they go to with the end of each, and what is to be said about it.
struct Asked {
    flows: Vec<(String, super::Requests)>,
    files: Vec<(String, u64)>,
    notes: Vec<String>,
}

/// Flows that are being made of jobs.
struct Building<'a> {
    file: File<'a>,
    flows: Flows,
    devices: BTreeMap<String, u32>,
    /// Stages of jobs, by name.
    stages: BTreeMap<&'a str, u32>,
    stage: u32,
    /// The last stage of all.
    last: u32,
}

impl<'a> Building<'a> {
    fn job(&mut self, index: usize, values: Values<'a>, share: u64, around: &Around<'_>) -> Result<(), TraceError> {
        let (file, section) = (self.file, values.section);
        if index > 0 && values.flag("stonewall")? {
            self.stage = self.last + 1;
        }
        let stage = match values.text("wait_for", "the name of a job above")? {
            None => self.stage,
            Some(name) => {
                let waited = self.stages.get(name).copied();
                let setting = values.get("wait_for").expect("it has a text");
                let waited = waited.ok_or_else(|| file.bad(setting, "the name of a job above"))?;
                note_once(&mut self.flows.notes, "wait_for: what waits for a job comes behind all that begins with it");
                self.stage.max(waited + 1)
            }
        };
        self.stages.insert(&section.name, stage);
        self.last = self.last.max(stage);
        let job = Job::read(values)?;
        for clone in 0..job.clones {
            let asked = match iolog::read(values, clone, around)? {
                Some(log) => log,
                None => {
                    let (requests, notes) = job.requests(clone, share)?;
                    let end = requests.range.0 + requests.range.1;
                    let files = job.devices(clone).into_iter().map(|name| (name, end)).collect();
                    let drawn = |(name, requests)| (name, super::Requests::Synthetic(Box::new(requests)));
                    Asked { flows: job.flows(requests).into_iter().map(drawn).collect(), files, notes }
                }
            };
            if self.flows.flows.len() + asked.flows.len() > FLOWS_LIMIT {
                return Err(file.wrong(section.line, &section.name, format!("more than {FLOWS_LIMIT} jobs in all")));
            }
            asked.notes.iter().chain(&job.notes).for_each(|note| note_once(&mut self.flows.notes, note));
            let devices = asked.files.into_iter().map(|(name, end)| self.device(name, end)).collect::<Option<Vec<u32>>>();
            let devices = devices
                .ok_or_else(|| file.wrong(section.line, &section.name, format!("more than {DEVICES_LIMIT} files in all")))?;
            let flow = |(name, requests)| Flow { name, devices: devices.clone(), stage, delay: job.delay, requests };
            self.flows.flows.extend(asked.flows.into_iter().map(flow));
        }
        Ok(())
    }

    /// The number of a device, which reaches up to `end`; `None`: there are too many.
    fn device(&mut self, name: String, end: u64) -> Option<u32> {
        let next = self.devices.len();
        if next == DEVICES_LIMIT && !self.devices.contains_key(&name) {
            return None;
        }
        let number = *self.devices.entry(name).or_insert(next as u32);
        if number as usize == self.flows.extents.len() {
            self.flows.extents.push(0);
        }
        let extent = &mut self.flows.extents[number as usize];
        *extent = (*extent).max(end);
        Some(number)
    }
}

fn about_all(flows: &mut Flows, found: &Sections) {
    if !found.variables.is_empty() {
        let variables: Vec<String> = found.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        flows.notes.push(format!("variables of the environment: {}", variables.join(", ")));
    }
    if !found.of_engines.is_empty() {
        flows
            .notes
            .push(format!("not known to fio, taken for options of an engine that it loads: {}", found.of_engines.join(", ")));
    }
    if !found.without.is_empty() {
        flows.notes.push(format!("has no counterpart here: {}", found.without.join(", ")));
    }
}

fn note_once(notes: &mut Vec<String>, note: &str) {
    if !notes.iter().any(|known| known == note) {
        notes.push(note.to_owned());
    }
}
