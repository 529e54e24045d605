//! `flashkeep sweep`.

use crate::{CHECK_FAILED, interrupt, note, print, progress, say, threads, warn_of_canaries};
use common::Problem;
use common::parts::{Directory, SWEEP};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use studies::sweep::{Beside, Grid, Summary, Sweeper, grid_text, sweep};

/// Options of the command.
pub struct Wanted {
    pub grid: PathBuf,
    pub out: Option<PathBuf>,
    pub seeds: Option<u32>,
    pub series: bool,
    pub logs: bool,
    pub threads: Option<NonZeroUsize>,
}

/// Sweeps a grid, or goes on where an earlier sweep ended.
///
/// # Errors
/// Bad input.
pub fn run(wanted: &Wanted) -> Result<ExitCode, Problem> {
    let mut grid = Grid::load(&wanted.grid)?;
    if let Some(seeds) = wanted.seeds {
        grid = grid.with_seeds(&format!("--seeds {seeds}"), seeds)?;
    }
    grid.hints().iter().for_each(|hint| note(hint));
    warn_of_canaries(words(&grid_text(&wanted.grid)?));
    let out = wanted.out.clone().unwrap_or_else(|| Path::new("report").join(wanted.grid.file_stem().unwrap_or_default()));
    let directory = Directory::open(&out, &SWEEP)?;
    if wanted.series || wanted.logs {
        grid = grid.with_files(Beside::new(&out, wanted.series, wanted.logs)?);
    }
    let bar = progress::Count::new("runs");
    let shown = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let progress = |done: usize, total: usize| {
        shown[0].store(done, Relaxed);
        shown[1].store(total, Relaxed);
        bar.show(done as u64, total as u64);
    };
    let counted = Arc::clone(&shown);
    interrupt::saying(move || {
        let [done, total] = [0, 1].map(|index| counted[index].load(Relaxed));
        Some(format!("stopped: {done} of {total} runs are done and kept; the same command goes on"))
    });
    let summary = sweep(&grid, &directory, &Sweeper { threads: threads(wanted.threads), progress: &progress });
    bar.clear();
    Ok(tell(&summary?, &directory, wanted))
}

/// Runs with warnings whose first warning is printed.
const WARNED: usize = 3;

/// Says how many runs have warnings, and those of the first.
fn say_warnings(warned: &[(usize, Vec<String>)], runs: usize) {
    if warned.is_empty() {
        return;
    }
    say(&format!("{} of {runs} runs have warnings, in the column `warnings` of their rows; the first are:", warned.len()));
    for (run, texts) in warned.iter().take(WARNED) {
        let more = if texts.len() > 1 { format!(" (and {} more)", texts.len() - 1) } else { String::new() };
        // A problem names its run.
        let first = texts[0].strip_prefix(&format!("run {run} ")).unwrap_or(&texts[0]);
        say(&format!("warning: run {run}: {first}{more}"));
    }
}

/// Words of a grid's file that may be names of schemes, each once.
fn words(text: &str) -> BTreeSet<&str> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "+-".contains(c);
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.flat_map(move |line| line.split(move |c| !is_letter(c))).collect()
}

fn tell(summary: &Summary, directory: &Directory, wanted: &Wanted) -> ExitCode {
    let Summary { runs, found, others, rows, failed, refused, warned } = summary;
    if *found > 0 {
        say(&format!("{found} of {runs} runs were there already"));
    }
    if *others > 0 {
        say(&format!("{others} parts in {} belong to other grids and are left alone", directory.folder().display()));
    }
    print(&format!("{runs} runs, {rows} rows: {}\n", directory.results().display()));
    // The problem names its run.
    if let Some((_, problem)) = refused.first() {
        say(&format!("{} of {runs} runs cannot be run, as the column `problem` says of each; {problem}", refused.len()));
    }
    say_warnings(warned, *runs);
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    let shown: Vec<String> = failed.iter().take(10).map(ToString::to_string).collect();
    let more = if failed.len() > shown.len() { ", .." } else { "" };
    say(&format!(
        "check failed: wrong data was returned in {} runs of {}: {}{more}",
        failed.len(),
        wanted.grid.display(),
        shown.join(", ")
    ));
    ExitCode::from(CHECK_FAILED)
}
