//! `flashkeep figures`.

use crate::{CHECK_FAILED, print, progress, say, threads};
use common::Problem;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use studies::bounds::{Bounds, bounds, markdown};
use studies::figures::{self, PaperResult, Run};

/// Options of the command.
pub struct Wanted {
    pub paper: Option<String>,
    pub only: Option<String>,
    pub points: Option<NonZeroUsize>,
    pub kept: bool,
    pub out: PathBuf,
    pub experiments: PathBuf,
    pub traces: Option<PathBuf>,
    pub threads: Option<NonZeroUsize>,
}

impl Wanted {
    fn traces(&self) -> PathBuf {
        let named = self.traces.clone().or_else(|| std::env::var_os("FLASHKEEP_TRACES").map(PathBuf::from));
        named.unwrap_or_else(|| self.experiments.join("../../shared/traces"))
    }

    /// The command that makes the results of a paper again.
    fn command(&self, paper: &str) -> String {
        let only = self.only.as_ref().map_or(String::new(), |only| format!(" --only {only}"));
        let points = self.points.map_or(String::new(), |points| format!(" --points {points}"));
        let kept = if self.kept { " --kept" } else { "" };
        format!("flashkeep figures {paper}{only}{points}{kept}")
    }
}

/// The name, in place of a paper's, of the table of bounds.
const BOUNDS: &str = "bounds";

/// Schemes of that table.
const BOUNDED: [&str; 7] = ["none", "raid5", "ppc", "da-raid5", "ds-raid", "mds-groups", "code-zones"];

/// Bytes that each load of it asks for.
const BOUNDED_BYTES: u64 = 1 << 30;

/// Figures of each preset beside its physical bounds; `--only` names one of them.
fn table_of_bounds(wanted: &Wanted) -> Result<ExitCode, Problem> {
    if wanted.kept || wanted.points.is_some() {
        return Err(Problem::new("figures bounds", "takes --only PRESET, --out and --threads, and neither --kept nor --points"));
    }
    let bar = progress::Count::new("runs");
    let rows = bounds(&Bounds {
        drives: wanted.only.as_slice(),
        schemes: &BOUNDED,
        bytes: BOUNDED_BYTES,
        threads: threads(wanted.threads),
        progress: &|done, all| bar.show(done as u64, all as u64),
    });
    bar.clear();
    let text = markdown(&rows?, &BOUNDED);
    print(&format!("{text}\n"));
    let path = wanted.out.join("bounds.md");
    let fail = |e: std::io::Error| Problem::new("--out", format!("{} cannot be written: {e}", path.display()));
    std::fs::create_dir_all(&wanted.out).and_then(|()| std::fs::write(&path, &text)).map_err(fail)?;
    print(&format!("attained beside bounds: {}\n", path.display()));
    Ok(ExitCode::SUCCESS)
}

/// Runs the figures of one paper, or of all.
///
/// # Errors
/// Bad input.
pub fn run(wanted: &Wanted) -> Result<ExitCode, Problem> {
    if wanted.paper.as_deref() == Some(BOUNDS) {
        return table_of_bounds(wanted);
    }
    let names = match &wanted.paper {
        Some(paper) => vec![paper.clone()],
        None => figures::papers(&wanted.experiments)?,
    };
    // All files are read before any of them costs minutes.
    let load = |name: &String| figures::load(&wanted.experiments, name, wanted.only.as_deref(), &wanted.traces());
    let papers = names.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    let mut results = Vec::new();
    for paper in papers {
        if wanted.kept {
            results.push(figures::kept(paper)?);
            tell(&results[results.len() - 1], wanted)?;
            continue;
        }
        let bar = progress::Count::new("runs");
        let progress = |done: usize, total: usize| bar.show(done as u64, total as u64);
        let points = wanted.points.map(NonZeroUsize::get);
        let result = figures::run(paper, &Run { threads: threads(wanted.threads), points, progress: &progress });
        bar.clear();
        results.push(result?);
        tell(&results[results.len() - 1], wanted)?;
    }
    if wanted.paper.is_none() && wanted.only.is_none() && wanted.points.is_none() {
        let path = wanted.out.join("reproduction.md");
        let fail = |e: std::io::Error| Problem::new("--out", format!("{} cannot be written: {e}", path.display()));
        std::fs::write(&path, figures::reproduction(&results)).map_err(fail)?;
        print(&format!("published beside ours: {}\n", path.display()));
    }
    let measured = figures::validation(&results);
    if !measured.is_empty() && wanted.only.is_none() && wanted.points.is_none() {
        let tables = std::iter::once(("validation.md".to_owned(), measured));
        for (name, text) in tables.chain(figures::pictures(&results)) {
            let path = wanted.out.join(name);
            let fail = |e: std::io::Error| Problem::new("--out", format!("{} cannot be written: {e}", path.display()));
            std::fs::write(&path, text).map_err(fail)?;
            print(&format!("measured beside ours: {}\n", path.display()));
        }
    }
    Ok(if results.iter().all(PaperResult::agrees) { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Prints and writes.
fn tell(paper: &PaperResult, wanted: &Wanted) -> Result<(), Problem> {
    for figure in &paper.figures {
        figure.skipped().iter().for_each(|skipped| say(&format!("skipped: {skipped}")));
        figure.warnings().iter().for_each(|warning| say(&format!("warning: {warning}")));
        print(&format!("{}\n", figure.to_text()));
    }
    let index = paper.write(&wanted.out, &wanted.command(&paper.name))?;
    print(&format!("figures: {}\n", index.display()));
    if !paper.agrees() {
        say(&format!(
            "check failed: results differ from the CSV beside the experiments; if that is meant, copy {}/*.csv there",
            wanted.out.join(&paper.name).display()
        ));
    }
    Ok(())
}
