//! Runs the experiments of figures: each once, however many figures, points or arms ask for it.

use super::census::census;
use super::sheet::Sheet;
use super::spec::{Figure, Job, StudySpec};
use super::values::{VALUES, Value};
use common::{Problem, in_parallel};
use experiment::{Arrival, Experiment};
use lab::Comparison;
use lab::forks::{Grouped, grouped};
use lab::{Bench, Observe, compare_on};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How figures are run; `threads` changes no number.
pub struct Run<'a> {
    /// Experiments run at the same time.
    pub threads: usize,
    /// Points of each figure at most.
    pub points: Option<usize>,
    /// Hears of runs done, and of runs in all.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// Record of one run.
#[derive(Clone, Debug)]
struct Measured {
    /// In the order of [`VALUES`].
    values: Vec<Option<f64>>,
    /// Factor of the recorded times.
    factor: f64,
    /// FNV-1a of the requests.
    trace_digest: u64,
    event_digest: u64,
    saturated: bool,
    /// FNV-1a of the effective experiment, the trace by name rather than by path.
    config: u64,
    warnings: Vec<String>,
}

/// Results of a figure's runs, or of its study.
pub(super) struct Ran {
    pub sheet: Sheet,
    pub warnings: Vec<String>,
}

/// Effective experiments as text, with what they gave.
type Known = BTreeMap<String, Measured>;

/// Runs figures.
///
/// # Errors
/// Bad input, such as a trace that cannot be read.
pub(super) fn run(figures: &[Figure], with: &Run<'_>) -> Result<Vec<Ran>, Problem> {
    let mut wanted: Vec<Vec<Job>> = figures.iter().map(|figure| selected(figure, with.points)).collect();
    let mut known = Known::new();
    let clocks = figures.iter().zip(&wanted).flat_map(|(figure, jobs)| clocks(figure, jobs)).map(|job| job.experiment);
    // The second count comes to be known only when the clocks are.
    measure(clocks.collect(), &mut known, with, 0)?;
    for (figure, jobs) in figures.iter().zip(&mut wanted) {
        for job in jobs {
            set_clock(figure, job, &known)?;
        }
    }
    let done = known.len();
    measure(wanted.iter().flatten().map(|job| job.experiment.clone()).collect(), &mut known, with, done)?;
    let ran = |(figure, jobs): (&Figure, &Vec<Job>)| match (&figure.spec.study, &figure.spec.census) {
        (Some(study), _) => studied(study),
        _ if figure.spec.life.is_some() => super::lives::lived(figure, with),
        (None, Some(spec)) => census(figure, spec),
        (None, None) => Ok(Ran { sheet: sheet(figure, jobs, &known), warnings: warnings(figure, jobs, &known) }),
    };
    figures.iter().zip(&wanted).map(ran).collect()
}

/// The table of a study.
fn studied(spec: &StudySpec) -> Result<Ran, Problem> {
    let given: Vec<(String, String)> = spec.set.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let study = crate::reliability::study(&spec.name, &given)?;
    if let Some(wanted) = &spec.plot {
        return curves(&study, wanted);
    }
    let known: Vec<&str> = study.tables.iter().map(|table| table.key).collect();
    let wanted = spec.table.as_deref().unwrap_or(known[0]);
    let table = study.tables.iter().find(|table| table.key == wanted);
    let table = table.ok_or_else(|| Problem::unknown("figure.study.table", "table", wanted, &known))?;
    let rows = table.rows.iter().map(|row| row.iter().map(report::study::Cell::exact).collect());
    let heads = table.columns.iter().map(|column| column.key.into()).collect();
    Ok(Ran { sheet: Sheet { heads, rows: rows.collect() }, warnings: Vec::new() })
}

/// The curves of a study's plot as a table.
fn curves(study: &report::study::Study, wanted: &str) -> Result<Ran, Problem> {
    let known: Vec<&str> = study.plots.iter().map(|plot| plot.id).collect();
    let plot = study.plots.iter().find(|plot| plot.id == wanted);
    let plot = plot.ok_or_else(|| Problem::unknown("figure.study.plot", "plot", wanted, &known))?;
    let points = plot.series.iter().flat_map(|series| series.points.iter().map(move |(x, y)| (series, x, y)));
    let rows = points.map(|(series, x, y)| vec![series.name.clone(), x.to_string(), y.to_string()]).collect();
    Ok(Ran { sheet: Sheet { heads: ["curve", "x", "y"].map(str::to_owned).to_vec(), rows }, warnings: Vec::new() })
}

/// A row for each trace, point and arm.
fn sheet(figure: &Figure, jobs: &[Job], known: &Known) -> Sheet {
    let spec = &figure.spec;
    let x = spec.x.as_ref().map(|x| x.key.as_str());
    let before = std::iter::once("trace").chain(x).chain(["arm", "clock_factor"]);
    let after = ["saturated", "config_hash", "seed", "trace_digest", "event_digest"];
    let is_kept = |value: &Value| value.always || spec.plots.iter().any(|plot| plot.value == value.key);
    let values = VALUES.iter().filter(|value| is_kept(value)).map(|value| value.key);
    let heads = before.chain(values).chain(after).map(str::to_owned).collect();
    let row = |job: &Job| {
        let m = &known[&job.experiment.to_toml()];
        let mut cells = vec![spec.traces[job.trace].name.clone()];
        cells.extend(x.map(|_| spec.points[job.point].x.to_string()));
        cells.extend([spec.arms[job.arm].name.clone(), m.factor.to_string()]);
        let kept = VALUES.iter().zip(&m.values).filter(|(value, _)| is_kept(value));
        cells.extend(kept.map(|(_, found)| found.map_or(String::new(), |found| found.to_string())));
        cells.push(m.saturated.to_string());
        cells.push(format!("{:016x}", m.config));
        cells.push(job.experiment.seed.to_string());
        cells.extend([m.trace_digest, m.event_digest].map(|digest| format!("{digest:016x}")));
        cells
    };
    Sheet { heads, rows: jobs.iter().map(row).collect() }
}

fn warnings(figure: &Figure, jobs: &[Job], known: &Known) -> Vec<String> {
    let spec = &figure.spec;
    let said = |job: &Job| {
        let (trace, arm) = (&spec.traces[job.trace].name, &spec.arms[job.arm].name);
        let place = spec.x.as_ref().map_or(String::new(), |_| format!(" at {}", spec.points[job.point].x));
        let each = |warning: &String| format!("{}: {trace}, {arm}{place}: {warning}", figure.name);
        known[&job.experiment.to_toml()].warnings.iter().map(each).collect::<Vec<_>>()
    };
    jobs.iter().flat_map(said).collect()
}

fn selected(figure: &Figure, points: Option<usize>) -> Vec<Job> {
    let points = figure.spec.some_points(points);
    figure.jobs.iter().filter(|job| points.contains(&job.point)).cloned().collect()
}

/// The share of time for which the dies of the clock's run are to be busy, where that is asked for.
fn busy(figure: &Figure, job: &Job) -> Option<f64> {
    figure.spec.points[job.point].busy.or(figure.spec.traces[job.trace].busy)
}

/// The run that tells how busy a trace keeps the drive at recorded times.
fn clock(figure: &Figure, trace: usize) -> Option<Job> {
    let clock = figure.spec.clock.as_ref()?;
    let arm = figure.spec.arm(&clock.arm);
    let is_it = |job: &&Job| job.trace == trace && job.arm == arm && figure.spec.points[job.point].x == clock.x;
    let mut job = figure.jobs.iter().find(is_it)?.clone();
    job.experiment.trace.arrival = Arrival::Recorded;
    Some(job)
}

fn clocks(figure: &Figure, jobs: &[Job]) -> Vec<Job> {
    let mut traces: Vec<usize> = jobs.iter().filter(|job| busy(figure, job).is_some()).map(|job| job.trace).collect();
    traces.dedup();
    traces.into_iter().filter_map(|trace| clock(figure, trace)).collect()
}

/// The work of a trace is the same at any speed, so its share of time is inverse to the clock.
fn set_clock(figure: &Figure, job: &mut Job, known: &Known) -> Result<(), Problem> {
    let Some(wanted) = busy(figure, job) else { return Ok(()) };
    let clock = clock(figure, job.trace).expect("a share of time comes with a clock");
    let at = VALUES.iter().position(|value| value.key == "offered_load").expect("it is a value");
    let found = known[&clock.experiment.to_toml()].values[at].unwrap_or(0.0);
    let factor: f64 = format!("{:.3e}", found / wanted).parse().expect("a number as printed");
    if !(factor > 0.0 && factor <= 1e9) {
        let trace = &figure.spec.traces[job.trace].name;
        return Err(Problem::new("figure.clock", format!("trace {trace} has no times or asks nothing of the drive")));
    }
    job.experiment.trace.arrival = Arrival::Scaled(factor);
    Ok(())
}

/// Runs what is not known yet.
fn measure(experiments: Vec<Experiment>, known: &mut Known, with: &Run<'_>, before: usize) -> Result<(), Problem> {
    let by_text = experiments.into_iter().map(|experiment| (experiment.to_toml(), experiment));
    let new: BTreeMap<String, Experiment> = by_text.filter(|(text, _)| !known.contains_key(text)).collect();
    let (done, total) = (AtomicUsize::new(before), before + new.len());
    (with.progress)(before, total);
    let each = |(drives, (text, experiment)): Grouped<(String, Experiment)>| {
        let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        let measured = measured(&compare_on(&experiment, &bench, drives.as_deref(), Observe::Nothing)?);
        (with.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok((text, measured))
    };
    let work = grouped(new.into_iter().collect(), |(_, experiment)| experiment);
    known.extend(in_parallel(with.threads, work, each)?);
    Ok(())
}

fn measured(comparison: &Comparison) -> Measured {
    let result = &comparison.outcomes[0].result;
    Measured {
        values: VALUES.iter().map(|value| value.of(result)).collect(),
        factor: comparison.clock.factor,
        trace_digest: comparison.trace.digest,
        event_digest: result.replay.event_digest,
        saturated: result.replay.saturated,
        config: lab::config_hash(&comparison.experiment),
        warnings: comparison.warnings(),
    }
}
