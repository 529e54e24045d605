//! Writes what a comparison leaves behind: the report, the results, the effective experiment.

use crate::html::{self, FlowsShown, ReportInput, RunSpeed, TraceSummary};
use crate::parquet_file::parquet_bytes;
use crate::study::Study;
use common::quantity::mib;
use common::table::Row;
use common::{Columns, Problem};
use experiment::over_provisioning::of_user;
use lab::Comparison;
use std::path::{Path, PathBuf};
use vocab::Bytes;

/// Marks by which Flashkeep knows its own pages and experiment files.
const MARKS: [(&str, &str); 3] = [
    ("index.html", " - Flashkeep</title>"),
    ("experiment.toml", "# The effective experiment of a Flashkeep run"),
    ("results.json", "\"version\""),
];

/// Makes sure that a report can be written to `directory`, and that no file of someone else's is replaced by it, unless that is
/// wanted (`force`).
///
/// # Errors
/// A directory that cannot be made, and a file in it that Flashkeep did not write.
pub fn report_directory(directory: &Path, force: bool) -> Result<(), Problem> {
    std::fs::create_dir_all(directory)
        .map_err(|e| Problem::new("--report", format!("directory {} cannot be made: {e}", directory.display())))?;
    let is_foreign = |(name, mark): &&(&str, &str)| {
        std::fs::read(directory.join(name)).is_ok_and(|bytes| !bytes.windows(mark.len()).any(|part| part == mark.as_bytes()))
    };
    check_room("--report", directory)?;
    match MARKS.iter().find(is_foreign).filter(|_| !force) {
        Some((name, _)) => Err(Problem::new(
            "--report",
            format!("{} is not a file that Flashkeep wrote; `--force` replaces it", directory.join(name).display()),
        )),
        None => Ok(()),
    }
}

/// Room that files of results need at least.
const ROOM: usize = 1 << 20;

/// Makes sure before a run that a directory has room for its results: a full disk would be found when all is done.
///
/// # Errors
/// An error of the operating system.
pub fn check_room(option: &str, directory: &Path) -> Result<(), Problem> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let probe = directory.join(format!(".flashkeep-{}.room", std::process::id()));
    let written = std::fs::write(&probe, vec![0; ROOM]);
    let _ = std::fs::remove_file(&probe);
    written.map_err(|e| Problem::new(option, format!("{} takes no file of 1MiB: {e}", directory.display())))
}

/// Makes sure before a run that a file can be written when it is over, and leaves what is there.
///
/// # Errors
/// An error of the operating system.
fn check_writable(option: &str, file: &Path) -> Result<(), Problem> {
    let is_new = !file.exists();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
    opened.map_err(|e| Problem::new(option, format!("{} cannot be written: {e}", file.display())))?;
    if is_new {
        let _ = std::fs::remove_file(file);
    }
    check_room(option, file.parent().unwrap_or(Path::new("")))
}

/// Whether the report in `directory` is that of another experiment.
#[must_use]
pub fn replaces_another(experiment: &experiment::Experiment, directory: &Path) -> bool {
    std::fs::read_to_string(directory.join("experiment.toml")).is_ok_and(|text| text != experiment.to_toml())
}

/// Makes sure that a file has the ending of what is written to it, and can be written.
///
/// # Errors
/// Another ending, and what the operating system says.
pub fn check_ending(option: &str, file: &Path, endings: &[&str]) -> Result<(), Problem> {
    let ending = file.extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    if endings.iter().any(|known| ending.eq_ignore_ascii_case(known)) {
        return check_writable(option, file);
    }
    let known = endings.iter().map(|known| format!(".{known}")).collect::<Vec<_>>().join(" or ");
    Err(Problem::new(option, format!("found {}: the format follows the ending, valid is {known}", file.display())))
}

/// Writes `index.html`, `results.json` and `experiment.toml` into `directory`; returns the path
/// of the first.
///
/// # Errors
/// A file that cannot be written.
pub fn write_report(comparison: &Comparison, directory: &Path) -> Result<PathBuf, Problem> {
    report_directory(directory, true)?;
    write_to(directory, "experiment.toml", comparison.experiment.to_toml())?;
    let results = serde_json::to_string_pretty(&comparison.to_json()).expect("a JSON document prints");
    write_to(directory, "results.json", results)?;
    write_to(directory, "index.html", html(comparison, directory))
}

/// Writes a file of a report into its directory; returns its path.
///
/// # Errors
/// A file that cannot be written.
pub fn write_to(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> Result<PathBuf, Problem> {
    let path = directory.join(name);
    match std::fs::write(&path, text) {
        Ok(()) => Ok(path),
        Err(e) => Err(Problem::new("--report", format!("{} cannot be written: {e}", path.display()))),
    }
}

/// Writes the headline of a comparison as one SVG, which `command` made; of a workload of several flows, what each of them gets.
///
/// # Errors
/// A file that cannot be written.
pub fn write_headline(comparison: &Comparison, command: &str, file: &Path) -> Result<(), Problem> {
    let picture = crate::flow_picture::picture(comparison).unwrap_or_else(|| html::headline(comparison, command));
    std::fs::write(file, picture).map_err(|e| Problem::new("--plot", format!("{} cannot be written: {e}", file.display())))
}

/// Writes a study as one HTML file.
///
/// # Errors
/// A file that cannot be written.
pub fn write_study(study: &Study, file: &Path) -> Result<(), Problem> {
    std::fs::write(file, html::study(study))
        .map_err(|e| Problem::new("--plot", format!("{} cannot be written: {e}", file.display())))
}

fn html(comparison: &Comparison, directory: &Path) -> String {
    let (trace, drive) = (&comparison.trace, &comparison.experiment.drive);
    let names: Vec<&str> = comparison.outcomes.iter().map(|o| o.label.as_str()).collect();
    let runs: Vec<_> = comparison.outcomes.iter().map(|o| o.result.clone()).collect();
    let speeds: Vec<_> = comparison.outcomes.iter().map(RunSpeed::of).collect();
    let loops = u64::from(trace.loops);
    html::html(&ReportInput {
        title: &format!("{} on {}: {}", trace.name, drive.name, names.join(", ")),
        trace: TraceSummary {
            name: &trace.name,
            requests: trace.requests.saturating_mul(loops),
            reads: trace.reads.saturating_mul(loops),
            writes: trace.writes.saturating_mul(loops),
            footprint: Bytes(trace.footprint_bytes),
            duration_s: trace.duration_s * f64::from(trace.loops),
            answered: comparison.answered_words().as_deref(),
            lines: &trace_lines(comparison),
        },
        drive: &drive_lines(comparison),
        dies: drive.geometry.dies(),
        fairness: &comparison.fairness,
        notes: &comparison.notes,
        cautions: &comparison.cautions,
        verdict: &comparison.verdict,
        screen: &crate::screen::rows(comparison),
        experiment: &comparison.experiment.to_toml(),
        command: &format!("flashkeep run {}", directory.join("experiment.toml").display()),
        flows: FlowsShown {
            table: &crate::flow_table::table(comparison),
            waits: &flow_waits(comparison),
            fairness: crate::flow_table::fairness_text(comparison, usize::MAX).trim_end(),
            picture: crate::flow_picture::picture(comparison).as_deref(),
        },
        runs: &runs,
        series: &comparison.series,
        speeds: &speeds,
        seeds: comparison.seeds.as_ref(),
    })
}

/// Waits of each flow under each scheme, titles first.
fn flow_waits(comparison: &Comparison) -> Vec<Vec<String>> {
    let rows = crate::waits::rows_of_flows(&comparison.runs_by_scheme());
    if rows.is_empty() {
        return Vec::new();
    }
    let titles = Row { label: String::new(), cells: comparison.outcomes.iter().map(|one| one.label.clone()).collect() };
    let line = |row: Row| std::iter::once(row.label).chain(row.cells).collect();
    std::iter::once(titles).chain(rows).map(line).collect()
}

fn trace_lines(comparison: &Comparison) -> Vec<String> {
    let trace = &comparison.trace;
    let mut lines = vec![
        format!("Format: {}", trace.format),
        format!("Flushes: {}", trace.flushes.saturating_mul(u64::from(trace.loops))),
        format!("Read: {}", mib(Bytes(trace.read_bytes))),
        format!("Written: {}", mib(Bytes(trace.written_bytes))),
        format!("Digest: {:016x}", trace.digest),
    ];
    if trace.loops > 1 {
        lines.push(format!("Loops: {}; read, written and digest are those of one", trace.loops));
    }
    lines
}

fn drive_lines(comparison: &Comparison) -> Vec<String> {
    let drive = &comparison.experiment.drive;
    let g = &drive.geometry;
    let mut lines = vec![
        format!("Drive: {}, {}", drive.name, drive.summary),
        format!("Source: {}", drive.source),
        format!(
            "Shape: {} channels x {} dies, {} planes ({}), {} pages a block, {} a page, {} a logical page",
            g.channels,
            g.dies_per_channel,
            g.planes,
            if g.slots_per_page() > (g.page_size.0 / g.slot_size.0) as u32 { "ganged" } else { "single" },
            g.pages_per_block,
            g.page_size,
            g.slot_size
        ),
        format!("For the host: {}", mib(Bytes(u64::from(comparison.user_slots) * g.slot_size.0))),
        format!("Endurance: {} cycles", drive.endurance.0),
        format!("Write buffer: {}", lab::buffer_words(&comparison.experiment)),
    ];
    for outcome in &comparison.outcomes {
        let planned = &outcome.planned;
        lines.push(format!(
            "Raw flash of {}: {}, over-provisioning {:.1} %, {:.1} % after parity",
            outcome.label,
            mib(planned.drive.geometry.raw_size()),
            of_user(planned.op_of_raw) * 100.0,
            of_user(planned.op_after_parity_of_raw) * 100.0
        ));
    }
    lines
}

/// Writes the time series of all schemes as one Parquet file.
///
/// # Errors
/// A file that cannot be written.
pub fn write_series(comparison: &Comparison, file: &Path) -> Result<(), Problem> {
    let bytes = parquet_bytes(&Columns::of(&comparison.series_rows()));
    std::fs::write(file, bytes).map_err(|e| Problem::new("--series", format!("{} cannot be written: {e}", file.display())))
}
