//! Contents of a figure's file, and the experiments that follow from it.

use super::values::VALUES;
use common::Problem;
use experiment::{Document, Experiment, seed_of};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use vocab::Bytes;

/// The section `[figure]`. Settings (`set`) are read where they are laid upon the experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    pub title: String,
    pub source: String,
    #[serde(default)]
    pub about: String,
    /// The expectation that was written down before the run.
    #[serde(default)]
    pub hypothesis: String,
    /// The result of the run: the hypothesis held or failed, and the best explanation of a failure.
    #[serde(default)]
    pub outcome: String,
    /// The varied setting; without it the traces are varied, one beside the other.
    #[serde(default)]
    pub x: Option<AxisSpec>,
    #[serde(default)]
    pub clock: Option<ClockSpec>,
    /// Formulas instead of runs.
    #[serde(default)]
    pub study: Option<StudySpec>,
    /// Census of the banks and zones that traces use, instead of runs.
    #[serde(default)]
    pub census: Option<CensusSpec>,
    /// Whole lives instead of runs.
    #[serde(default)]
    pub life: Option<LifeSpec>,
    #[serde(default)]
    pub traces: Vec<TraceEntry>,
    #[serde(default)]
    pub points: Vec<PointSpec>,
    #[serde(default)]
    pub arms: Vec<ArmSpec>,
    pub plots: Vec<PlotSpec>,
}

/// A study of reliability whose table, or plot, a figure shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StudySpec {
    pub name: String,
    /// The table's key; without it, the first.
    #[serde(default)]
    pub table: Option<String>,
    /// The id of a plot instead: its curves are a table of `curve`, `x` and `y`.
    #[serde(default)]
    pub plot: Option<String>,
    /// Options as on the command line.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// Lives of drives, of which a figure shows a table: those of the file's experiment, or of several cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LifeSpec {
    /// The table's key.
    pub table: String,
    /// Options as on the command line.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Columns that are kept; none: all.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Cases, in which the lives differ; none: one life for each scheme.
    #[serde(default)]
    pub cases: Vec<CaseSpec>,
}

/// A case of lives: options and settings of its own. Its options are columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseSpec {
    pub name: String,
    #[serde(default)]
    pub life: BTreeMap<String, String>,
    #[serde(default, rename = "set")]
    _set: Option<IgnoredAny>,
}

/// Banks that stripe blocks go round, and zones one after the other.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CensusSpec {
    pub banks: std::num::NonZeroU32,
    pub stripe_block: Bytes,
    pub zone: Bytes,
}

/// The varied setting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AxisSpec {
    /// For readers, with its unit.
    pub name: String,
    /// Column of the CSV, with its unit. Where its cells are no numbers, each has a place of its own on the axis.
    pub key: String,
    /// Base of a logarithmic axis.
    #[serde(default)]
    pub log: Option<u32>,
}

/// Which run tells how busy a trace keeps the drive.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClockSpec {
    pub arm: String,
    pub x: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceEntry {
    pub name: String,
    /// A file beside the figure's, or in the folder of traces; else `trace.source` counts.
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub busy: Option<f64>,
    #[serde(default, rename = "set")]
    _set: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PointSpec {
    pub x: f64,
    #[serde(default)]
    pub busy: Option<f64>,
    #[serde(default, rename = "set")]
    _set: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArmSpec {
    pub name: String,
    #[serde(default, rename = "set")]
    _set: Option<IgnoredAny>,
}

/// Curves: of runs, a value of each arm, or its ratio over the same value of another arm; of a study, a
/// column by the others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlotSpec {
    pub title: String,
    pub y: String,
    pub value: String,
    /// Whether y is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// Arms to show; none: all.
    #[serde(default)]
    pub arms: Vec<String>,
    #[serde(default)]
    pub over: Option<String>,
    /// Traces to show; none: all.
    #[serde(default)]
    pub traces: Vec<String>,
    /// Whether the mean over the traces is shown, too.
    #[serde(default)]
    pub mean: bool,
    /// Columns of a study that tell its curves apart.
    #[serde(default)]
    pub by: Vec<String>,
    /// Rows of a study to show, by the text of columns.
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    #[serde(default)]
    pub published: Vec<Published>,
}

/// A value that the paper states.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Where.
    #[serde(default)]
    pub x: Option<Place>,
    /// How much; nothing where the paper gives words alone.
    #[serde(default)]
    pub y: Option<f64>,
    /// The curve it is about; without it, all.
    #[serde(default)]
    pub of: Option<String>,
    /// In its words.
    pub what: String,
    /// Why ours is another.
    #[serde(default)]
    pub why: String,
    /// Who measured it, where it is of a real drive: such statements are rows of `docs/validation.md`.
    #[serde(default)]
    pub by: Option<String>,
    /// Whether values of the drive were fitted to it; without that, ours is a prediction.
    #[serde(default)]
    pub fitted: bool,
    /// The error that is aimed at, as a share of what was measured; without it, 5 % for fitted ones and 20 % for predictions.
    #[serde(default)]
    pub within: Option<f64>,
}

impl Published {
    /// The error that is aimed at, as a share of what was measured.
    #[must_use]
    pub fn aim(&self) -> f64 {
        self.within.unwrap_or(if self.fitted { 0.05 } else { 0.2 })
    }
}

/// A place on the x axis.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Place {
    /// On an axis of numbers.
    At(f64),
    /// One of those beside each other.
    Named(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::At(x) => x.fmt(f),
            Place::Named(name) => name.fmt(f),
        }
    }
}

/// One experiment of a figure, at the clock that its file says.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub trace: usize,
    pub point: usize,
    pub arm: usize,
    pub experiment: Experiment,
}

/// A figure: its file, read and checked.
#[derive(Debug)]
pub struct Figure {
    /// Name of the file without its ending.
    pub name: String,
    pub(super) path: PathBuf,
    pub(super) spec: Spec,
    pub(super) jobs: Vec<Job>,
    /// For each case of lives its experiment; one alone without cases.
    pub(super) lives: Vec<Experiment>,
    /// For each trace its file, where it has one.
    pub(super) files: Vec<Option<PathBuf>>,
    /// Traces (by index) whose files are absent, with the files.
    pub(super) absent: Vec<(usize, PathBuf)>,
}

/// Only to find `[figure]` among the settings of the experiment.
#[derive(Deserialize)]
struct File {
    figure: Spec,
}

impl Figure {
    /// Reads a figure's file; traces given by `file` lie beside it or below `traces`.
    ///
    /// # Errors
    /// A problem of the file or of any experiment that follows from it, with its place.
    pub fn load(path: &Path, traces: &Path) -> Result<Self, Problem> {
        let document = experiment::reading::read(path)?;
        let File { figure: mut spec } = document.read()?;
        if spec.x.is_none() && spec.has_runs() && spec.points.is_empty() {
            spec.points.push(PointSpec { x: 0.0, busy: None, _set: None });
        }
        spec.check().map_err(|problem| document.locate(problem))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let find =
            |file: &String| Some(path.with_file_name(file)).filter(|beside| beside.exists()).unwrap_or_else(|| traces.join(file));
        let files: Vec<Option<PathBuf>> = spec.traces.iter().map(|trace| trace.file.as_ref().map(find)).collect();
        let is_absent = |(index, file): (usize, &Option<PathBuf>)| Some((index, file.clone().filter(|file| !file.exists())?));
        let absent: Vec<_> = files.iter().enumerate().filter_map(is_absent).collect();
        let mut jobs = Vec::new();
        for trace in (0..spec.traces.len()).filter(|trace| absent.iter().all(|(index, _)| index != trace)) {
            for point in 0..spec.points.len() {
                for arm in 0..spec.arms.len() {
                    let experiment = job(&document, files[trace].as_deref(), [trace, point, arm])?;
                    jobs.extend(under_seeds(&experiment).map(|experiment| Job { trace, point, arm, experiment }));
                }
            }
        }
        let lives = spec.life.as_ref().map_or(Ok(Vec::new()), |life| lives(&document, life.cases.len()))?;
        Ok(Self { name, path: path.to_owned(), spec, jobs, lives, files, absent })
    }
}

/// The runs of an experiment, each with a seed of its own.
fn under_seeds(experiment: &Experiment) -> impl Iterator<Item = Experiment> {
    (0..experiment.seeds as usize).map(|repetition| {
        let seed = seed_of(experiment.seed, repetition).expect("the range of seeds was checked");
        Experiment { seed, seeds: 1, ..experiment.clone() }
    })
}

impl Figure {
    /// The CSV file with the rows that were found last.
    pub(super) fn golden(&self) -> PathBuf {
        self.path.with_extension("csv")
    }
}

/// The experiments of this many cases of lives, or of the one without cases.
fn lives(document: &Document, cases: usize) -> Result<Vec<Experiment>, Problem> {
    let of_case = |case: Option<usize>| {
        let mut merged = document.clone();
        merged.remove("figure");
        if let Some(case) = case {
            merged.merge(document.part(&format!("figure.life.cases.{case}.set"))?);
        }
        Experiment::from_document(merged, &experiment::Overrides::default())
    };
    if cases == 0 { Ok(vec![of_case(None)?]) } else { (0..cases).map(|case| of_case(Some(case))).collect() }
}

/// The experiment of a trace, a point and an arm: each lays its settings upon those before it.
pub(super) fn job(document: &Document, file: Option<&Path>, [trace, point, arm]: [usize; 3]) -> Result<Experiment, Problem> {
    let mut merged = document.clone();
    merged.remove("figure");
    if let Some(file) = file {
        merged.set_text("figure.traces", "trace.source", &file.display().to_string())?;
    }
    let parts = [format!("figure.traces.{trace}.set"), format!("figure.points.{point}.set"), format!("figure.arms.{arm}.set")];
    for part in &parts {
        merged.merge(document.part(part)?);
    }
    let experiment = Experiment::from_document(merged, &experiment::Overrides::default())?;
    match experiment.schemes.len() {
        1 => Ok(experiment),
        n => Err(document.locate(Problem::new(format!("figure.arms.{arm}"), format!("found {n} schemes, an arm runs one")))),
    }
}

impl Spec {
    fn check(&self) -> Result<(), Problem> {
        let lists = [("traces", self.traces.len()), ("points", self.points.len()), ("arms", self.arms.len())];
        for (list, count) in lists.into_iter().chain([("plots", self.plots.len())]) {
            let is_wanted = list == "plots" || self.has_runs() || (list == "traces" && self.census.is_some());
            if count == 0 && is_wanted {
                return Err(Problem::new(format!("figure.{list}"), "found none, at least one is needed"));
            }
            if count > 0 && !is_wanted {
                return Err(Problem::new(format!("figure.{list}"), "a study, a census or lives have no runs"));
            }
        }
        let log = self.x.as_ref().and_then(|x| x.log);
        if log.is_some_and(|base| !(2..=10).contains(&base)) {
            return Err(Problem::new("figure.x.log", "the base of an axis is a whole number from 2 to 10"));
        }
        if !self.has_runs() && self.x.is_none() {
            return Err(Problem::new("figure.x", "is missing: it names the column to go by"));
        }
        if self.x.is_none() && self.points.len() > 1 {
            return Err(Problem::new("figure.x", "is missing: it names the points"));
        }
        twice("traces", self.traces.iter().map(|trace| &trace.name))?;
        twice("arms", self.arms.iter().map(|arm| &arm.name))?;
        for (index, point) in self.points.iter().enumerate() {
            let field = format!("figure.points.{index}.x");
            if self.points[..index].iter().any(|before| before.x == point.x) {
                return Err(Problem::new(field, format!("point {} is there twice", point.x)));
            }
            if log.is_some() && point.x <= 0.0 {
                return Err(Problem::new(field, format!("found {}, a logarithmic axis has values above 0", point.x)));
            }
        }
        self.check_clock()?;
        self.plots.iter().enumerate().try_for_each(|(index, plot)| self.check_plot(index, plot))
    }

    fn check_clock(&self) -> Result<(), Problem> {
        let traces = self.traces.iter().enumerate().map(|(i, trace)| (format!("figure.traces.{i}.busy"), trace.busy));
        let points = self.points.iter().enumerate().map(|(i, point)| (format!("figure.points.{i}.busy"), point.busy));
        for (field, busy) in traces.chain(points) {
            let Some(busy) = busy else { continue };
            if !(busy > 0.0 && busy < 1.0) {
                return Err(Problem::new(field, format!("found {busy}, wanted a share of time above 0 and below 1")));
            }
            if self.clock.is_none() {
                let message = "[figure.clock] is missing: it names the arm and the point whose dies are to be so busy";
                return Err(Problem::new(field, message));
            }
        }
        let Some(clock) = &self.clock else { return Ok(()) };
        self.known_arm("figure.clock.arm", &clock.arm)?;
        if self.points.iter().all(|point| point.x != clock.x) {
            let known: Vec<String> = self.points.iter().map(|point| point.x.to_string()).collect();
            return Err(Problem::unknown("figure.clock.x", "point", &clock.x.to_string(), &known));
        }
        Ok(())
    }

    fn known_arm(&self, field: &str, name: &str) -> Result<(), Problem> {
        let known: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        if known.contains(&name) { Ok(()) } else { Err(Problem::unknown(field, "arm", name, &known)) }
    }

    fn check_plot(&self, index: usize, plot: &PlotSpec) -> Result<(), Problem> {
        let field = |key: &str| format!("figure.plots.{index}.{key}");
        if !self.has_runs() {
            // Its columns are known when it has run, which takes no time: see `plot::drawing`.
            return Ok(());
        }
        if VALUES.iter().all(|value| value.key != plot.value) {
            let known: Vec<&str> = VALUES.iter().map(|value| value.key).collect();
            return Err(Problem::unknown(field("value"), "value", &plot.value, &known));
        }
        for (number, arm) in plot.arms.iter().enumerate() {
            self.known_arm(&field(&format!("arms.{number}")), arm)?;
        }
        let known: Vec<&str> = self.traces.iter().map(|trace| trace.name.as_str()).collect();
        let unknown = plot.traces.iter().enumerate().find(|(_, trace)| !known.contains(&trace.as_str()));
        if let Some((number, trace)) = unknown {
            return Err(Problem::unknown(field(&format!("traces.{number}")), "trace", trace, &known));
        }
        for (number, stated) in plot.published.iter().enumerate() {
            let field = field(&format!("published.{number}"));
            if stated.within.is_some_and(|within| !(within > 0.0 && within < 1.0)) {
                return Err(Problem::new(field + ".within", "wanted a share above 0 and below 1"));
            }
            if stated.by.is_some() && stated.y.is_none_or(|y| y <= 0.0 || !y.is_finite()) {
                return Err(Problem::new(field + ".y", "a measurement (`by`) comes with its number, above 0"));
            }
        }
        plot.over.iter().try_for_each(|over| self.known_arm(&field("over"), over))
    }

    /// Whether drives are run, rather than a study, a census or lives.
    pub(super) fn has_runs(&self) -> bool {
        self.study.is_none() && self.census.is_none() && self.life.is_none()
    }

    pub(super) fn arm(&self, name: &str) -> usize {
        self.arms.iter().position(|arm| arm.name == name).expect("names of arms were checked")
    }

    /// Points to run if there may be this many: spread evenly, one alone where the clock is.
    pub(super) fn some_points(&self, most: Option<usize>) -> Vec<usize> {
        let all = self.points.len();
        let clock = self.clock.as_ref().and_then(|clock| self.points.iter().position(|point| point.x == clock.x));
        match most {
            Some(1) => vec![clock.unwrap_or(0)],
            Some(most) if most < all => (0..most).map(|i| i * (all - 1) / (most - 1)).collect(),
            _ => (0..all).collect(),
        }
    }
}

fn twice<'a>(list: &str, names: impl Iterator<Item = &'a String>) -> Result<(), Problem> {
    let mut seen: Vec<&String> = Vec::new();
    for (index, name) in names.enumerate() {
        if seen.contains(&name) {
            return Err(Problem::new(format!("figure.{list}.{index}.name"), format!("`{name}` is named twice")));
        }
        seen.push(name);
    }
    Ok(())
}
