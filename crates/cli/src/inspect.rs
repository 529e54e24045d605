//! `flashkeep inspect`.

use crate::options::InspectOptions;
use crate::{pretty, print, progress, say};
use common::Problem;
use experiment::Experiment;
use std::process::ExitCode;

/// Describes a trace.
///
/// # Errors
/// Bad input.
pub fn run(options: &InspectOptions) -> Result<ExitCode, Problem> {
    if let Some(directory) = &options.report {
        report::report_directory(directory, options.force)?;
    }
    let experiment = Experiment::with(&options.workload.overrides())?;
    if options.workload.pick.strict {
        experiment::refuse_unknown(&experiment)?;
    }
    let line = progress::Ticker::new("requests read");
    let study = studies::inspect(&experiment, &|count| line.set(count));
    line.clear();
    let study = study?;
    print(&if options.json { pretty(&study.to_json()) } else { study.to_text() });
    if let Some(directory) = &options.report {
        let index = directory.join("index.html");
        report::write_study(&study, &index)?;
        say(&format!("report: {}", index.display()));
    }
    Ok(ExitCode::SUCCESS)
}
