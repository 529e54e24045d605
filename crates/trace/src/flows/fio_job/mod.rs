//! Job files of fio (fio `HOWTO`, "Job file format"): each job is a flow, or `numjobs` of them.
//!
//! What shapes requests is read; what is about the machine or about measuring is listed in a note; what would make requests
//! that are not made here is refused. `docs/fio.md` has the table.

mod job;
mod options;
mod section;

use super::{FLOWS_LIMIT, Flow, Flows};
use crate::TraceError;
use job::Job;
use section::{File, Section, Values, sections};

/// Name of the format.
pub const NAME: &str = "fio-job";

/// One line on it.
pub const ABOUT: &str = "job file of fio: jobs are drawn, not run (docs/fio.md)";

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

/// The workload of a job file; `name` stands for the file in errors.
///
/// # Errors
/// What is wrong with it, with line and option.
pub fn parse(name: &str, text: &str) -> Result<Flows, TraceError> {
    let file = File(name);
    let found = sections(file, text)?;
    if found.jobs.is_empty() {
        let hint = "a job begins with its name, such as `[reader]`".to_owned();
        return Err(TraceError::Empty { file: name.to_owned(), format: NAME, lines: text.lines().count() as u64, hint });
    }
    let mut flows = Flows { format: NAME, ..Flows::default() };
    let (mut stage, mut devices) = (0, Vec::<String>::new());
    for (index, section) in found.jobs.iter().enumerate() {
        let values = Values { file, section };
        if index > 0 && values.flag("stonewall")? {
            stage += 1;
        }
        let job = Job::read(values)?;
        for note in &job.notes {
            note_once(&mut flows.notes, note);
        }
        for clone in 0..job.clones {
            if flows.flows.len() == FLOWS_LIMIT {
                return Err(file.wrong(section.line, &section.name, format!("more than {FLOWS_LIMIT} jobs in all")));
            }
            let (device, requests) = (job.device(clone), job.requests(clone));
            let known = devices.iter().position(|known| *known == device);
            let number = known.unwrap_or_else(|| {
                devices.push(device);
                flows.extents.push(0);
                devices.len() - 1
            });
            flows.extents[number] = flows.extents[number].max(requests.range.0 + requests.range.1);
            flows.flows.push(Flow {
                name: section.name.clone(),
                device: number as u32,
                stage,
                delay: job.delay,
                requests: super::Requests::Synthetic(Box::new(requests)),
            });
        }
    }
    one_clock(file, &found.jobs, &flows)?;
    about_all(&mut flows, stage, &found.without);
    Ok(flows)
}

/// One clock is all there is: either every job has times or none has.
fn one_clock(file: File<'_>, jobs: &[Section], flows: &Flows) -> Result<(), TraceError> {
    let is_timed = |name: &str| flows.flows.iter().any(|flow| flow.name == name && flow.is_timed());
    let Some(timed) = jobs.iter().find(|job| is_timed(&job.name)) else { return Ok(()) };
    match jobs.iter().find(|job| !is_timed(&job.name)) {
        None => Ok(()),
        Some(other) => Err(file.wrong(
            other.line,
            &other.name,
            format!(
                "found a job without `rate`, `rate_iops` or `thinktime` beside `{}`, which has one: there is one clock for all jobs; \
                 give all of them a rate, or none",
                timed.name
            ),
        )),
    }
}

fn about_all(flows: &mut Flows, stages: u32, without: &[&str]) {
    let depth = |stage: u32| {
        let of = Flows { flows: flows.flows.iter().filter(|flow| flow.stage == stage).cloned().collect(), ..Flows::default() };
        Flows { flows: of.flows.into_iter().map(|flow| Flow { stage: 0, ..flow }).collect(), ..Flows::default() }.depth()
    };
    let depths: Vec<Option<u32>> = (0..=stages).map(depth).collect();
    if !flows.is_timed() && depths.iter().any(|depth| *depth != depths[0]) {
        let depth = flows.depth().unwrap_or(1);
        note_once(&mut flows.notes, &format!("iodepth: one queue depth, {depth}, for what lies before and behind a stonewall"));
    }
    if !without.is_empty() {
        flows.notes.push(format!("has no counterpart here: {}", without.join(", ")));
    }
}

fn note_once(notes: &mut Vec<String>, note: &str) {
    if !notes.iter().any(|known| known == note) {
        notes.push(note.to_owned());
    }
}
