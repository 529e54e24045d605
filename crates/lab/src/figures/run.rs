//! Runs the experiments of figures: each once, however many figures, points or arms ask for it.

use super::spec::{Figure, Job};
use super::values::VALUES;
use crate::compare::{Bench, Comparison, compare, in_parallel};
use crate::experiment::Experiment;
use crate::problem::Problem;
use crate::textual::Arrival;
use std::collections::BTreeMap;
use std::path::Path;
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

/// What is kept of one run.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// In the order of [`VALUES`].
    pub values: Vec<Option<f64>>,
    /// What recorded times were multiplied by.
    pub factor: f64,
    /// FNV-1a of the requests.
    pub trace_digest: u64,
    pub event_digest: u64,
    pub saturated: bool,
    /// FNV-1a of the effective experiment, the trace by name rather than by path.
    pub config: u64,
    pub warnings: Vec<String>,
}

/// A run of a figure.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    pub job: Job,
    pub measured: Measured,
}

/// Effective experiments as text, with what they gave.
type Known = BTreeMap<String, Measured>;

/// Runs figures; the runs of each, by trace, point and arm.
///
/// # Errors
/// Bad input, such as a trace that cannot be read.
pub(super) fn run(figures: &[Figure], with: &Run<'_>) -> Result<Vec<Vec<Ran>>, Problem> {
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
    let ran = |job: Job| Ran { measured: known[&job.experiment.to_toml()].clone(), job };
    Ok(wanted.into_iter().map(|jobs| jobs.into_iter().map(ran).collect()).collect())
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
    let each = |(text, experiment): (String, Experiment)| {
        let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        let measured = measured(&compare(&experiment, &bench)?);
        (with.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok((text, measured))
    };
    known.extend(in_parallel(with.threads, new.into_iter().collect(), each)?);
    Ok(())
}

fn measured(comparison: &Comparison) -> Measured {
    let result = &comparison.outcomes[0].result;
    let mut experiment = comparison.experiment.clone();
    let name = Path::new(&experiment.trace.source).file_name().map(|name| name.to_string_lossy().into_owned());
    experiment.trace.source = name.unwrap_or_default();
    Measured {
        values: VALUES.iter().map(|value| (value.of)(result)).collect(),
        factor: comparison.clock.factor,
        trace_digest: comparison.trace.digest,
        event_digest: result.event_digest,
        saturated: result.saturated,
        config: crate::workload::fnv(experiment.to_toml().bytes()),
        warnings: comparison.warnings.clone(),
    }
}
