//! Figures of papers as data: one file each, run again, beside what the paper states.
//!
//! `experiments/<paper>/<figure>.toml` is an experiment file with a section `[figure]`:
//!
//! ```toml
//! scheduler = "fifo"            # any setting of an experiment, for all runs
//!
//! [figure]
//! title = "Latency over the number of code zones"
//! source = "Chang and Chang, section 4.2.1, Fig. 9"
//! about = "what to know of it"                      # may be left out
//! x = { name = "code zones", key = "code_zones" }   # axis with unit; CSV column; log = 2: base of its scale
//! clock = { arm = "static", x = 8 }                 # the run whose dies `busy` speaks of
//!
//! [[figure.traces]]             # a curve for each
//! name = "desktop"
//! file = "desktop.txt.xz"       # beside this file, or in the folder of traces; without it, trace.source counts
//! busy = 0.1                    # so dense that the dies of the clock's run are busy for this share of time
//! set = { }                     # settings
//!
//! [[figure.points]]
//! x = 8
//! set = { scheme.code-zones.code_zones = 8 }        # may have `busy` too, before that of the trace
//!
//! [[figure.arms]]               # one scheme each
//! name = "static"
//! set = { scheme.code-zones.offline = "never" }     # laid upon those of the trace, then of the point
//!
//! [[figure.plots]]
//! title = "Read latency"
//! y = "dynamic / static"        # axis
//! value = "read_latency_us_mean"
//! arms = ["dynamic"]
//! over = "static"               # the ratio to this arm; without it, the value itself
//! published = [{ x = 8, y = 0.69, what = "69 %" }]
//! ```
//!
//! Without `x` (and without points) each trace has a place on the x axis, with a bar for each arm, and published values
//! name their place: `{ x = "mean", of = "static", y = 0.8, what = "-20 %", why = "why ours is another" }`.
//! A value without `y` is words only. Plots may have `log = true` (y), `traces = [..]`, `mean = true`.
//!
//! Measurements of real drives name who measured them, and belong to `docs/validation.md` ([`validation`]): `{ x = 32, y =
//! 263460, what = "263,460", by = "..", fitted = true, within = 0.05, why = "the mechanism that is missing" }`.
//!
//! Formulas need no runs. A figure of a study (`flashkeep reliability`) has neither traces, points nor arms:
//!
//! ```toml
//! [figure]
//! x = { name = "P/E cycles", key = "pe_cycles" }    # a column; each text has its place on the axis
//! study = { name = "required-t", table = "required_t", set = { pe = "1000,10000" } }
//!
//! # or `plot = "required-t"`: the curves of a plot of the study, as columns curve, x and y
//!
//! [[figure.plots]]
//! title = "Bit errors to correct"
//! y = "bits"
//! value = "t"                                       # a column
//! by = ["retention_h"]                              # columns that tell curves apart
//! only = { retention_h = "8760" }                   # rows, by the text of columns
//! ```
//!
//! A figure of a workload itself has traces with files, and `census = { banks = 8, stripe_block = "8KiB", zone = "256MiB" }`:
//! columns trace, of (`bank` or `zone`), place, operation, sectors and share, drawn as those of a study.
//!
//! A figure of whole lives (`flashkeep life`) has no runs either. The file's experiment may have several schemes:
//!
//! ```toml
//! [figure]
//! x = { name = "drive writes a day", key = "dwpd" }
//!
//! [figure.life]
//! table = "ages"                                    # or ends, seeds, tornado, smart
//! set = { timed = "0" }                             # options of `flashkeep life`
//! columns = ["years", "waf"]                        # those kept beside `scheme`; without it, all
//! cases = [{ name = "idle", life = { dwpd = "0.01" }, set = { wear.static_threshold = 50 } }]
//! ```
//!
//! Each case has options and settings of its own; columns are `case`, the options of the cases, `scheme` and those of the table.
//!
//! With the setting `seeds = 5`, each run is repeated with this many seeds: the rows have all of them, plots the mean with its 95 %
//! confidence interval; with `over`, the ratio of geometric means, paired by seed.
//!
//! A CSV file of the same name beside it holds the rows that were found last (`golden`): runs are
//! deterministic, so every row found again must be among them. Pages can be drawn from them alone ([`kept`]).

mod census;
mod lives;
mod output;
mod page;
mod plot;
mod reproduction;
mod run;
mod sheet;
mod spec;
mod validation;
mod values;

use common::Problem;
pub use output::{FigureResult, Golden, PaperResult};
pub(crate) use plot::{Curve, Drawing};
pub(crate) use reproduction::HEADS;
pub use reproduction::reproduction;
pub use run::Run;
pub use spec::{Figure, Place, Published};
use std::path::Path;
pub use validation::{Count, count, pictures, validation};

/// The figures of a paper, in order of name.
#[derive(Debug)]
pub struct Paper {
    /// Name of its folder.
    pub name: String,
    /// Its figures.
    pub figures: Vec<Figure>,
}

fn entries(directory: &Path) -> Result<Vec<std::path::PathBuf>, Problem> {
    let fail = |e: std::io::Error| Problem::new("", format!("folder {} cannot be read: {e}", directory.display()));
    let found = std::fs::read_dir(directory).map_err(fail)?.map(|entry| Ok(entry.map_err(fail)?.path()));
    let mut found = found.collect::<Result<Vec<_>, Problem>>()?;
    found.sort();
    Ok(found)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_figure(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Names of the papers below a folder: its folders that hold figures.
///
/// # Errors
/// A folder that cannot be read.
pub fn papers(experiments: &Path) -> Result<Vec<String>, Problem> {
    let mut names = Vec::new();
    for folder in entries(experiments)?.into_iter().filter(|entry| entry.is_dir()) {
        if entries(&folder)?.iter().any(|entry| is_figure(entry)) {
            names.push(folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// Reads and checks the figures of a paper, or one of them; recorded traces lie below `traces`.
///
/// # Errors
/// An unknown paper or figure, or what is wrong with a file, with its place.
pub fn load(experiments: &Path, paper: &str, only: Option<&str>, traces: &Path) -> Result<Paper, Problem> {
    let known = papers(experiments)?;
    if !known.iter().any(|name| name == paper) {
        return Err(Problem::unknown("figures", "paper", paper, &known));
    }
    let mut files: Vec<_> = entries(&experiments.join(paper))?.into_iter().filter(|entry| is_figure(entry)).collect();
    if let Some(only) = only {
        let known: Vec<String> = files.iter().map(|file| stem(file)).collect();
        files.retain(|file| stem(file) == only);
        if files.is_empty() {
            return Err(Problem::unknown("--only", "figure", only, &known));
        }
    }
    let figures = files.iter().map(|file| Figure::load(file, traces)).collect::<Result<_, _>>()?;
    Ok(Paper { name: paper.to_owned(), figures })
}

/// Runs the figures of a paper.
///
/// # Errors
/// Bad input, such as a trace that cannot be read.
pub fn run(paper: Paper, with: &Run<'_>) -> Result<PaperResult, Problem> {
    let ran = run::run(&paper.figures, with)?;
    let figures = paper.figures.into_iter().zip(ran).map(|(figure, ran)| FigureResult::new(figure, ran.sheet, ran.warnings));
    Ok(PaperResult { name: paper.name, figures: figures.collect::<Result<_, _>>()? })
}

/// The figures of a paper as they were found last, without a run.
///
/// # Errors
/// A figure without golden rows.
pub fn kept(paper: Paper) -> Result<PaperResult, Problem> {
    let figures = paper.figures.into_iter().map(FigureResult::kept).collect::<Result<_, _>>()?;
    Ok(PaperResult { name: paper.name, figures })
}

#[cfg(test)]
mod tests;
