//! Contents of a grid's file, and the runs that follow from it.

use super::beside::Beside;
use common::input_file::{check_regular, read_settings};
use common::{Place, Problem};
use experiment::renamed::Hint;
use experiment::{Document, Experiment, Overrides, Own, renamed};
use lab::rows;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vocab::{FNV_START, fnv_on};

/// Runs a grid may have.
const RUNS_MAX: usize = 100_000;

/// Only to find `[sweep]` among the settings of the experiment.
#[derive(Deserialize)]
struct File {
    sweep: Spec,
}

/// The section `[sweep]`. Settings are read where they are laid upon the experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    axes: Vec<AxisSpec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisSpec {
    /// Column of the results.
    #[serde(default)]
    name: Option<String>,
    /// The setting that is varied.
    #[serde(default)]
    key: Option<String>,
    /// Its values.
    #[serde(default)]
    values: Option<Vec<Value>>,
    /// Instead of them, points that set several settings each.
    #[serde(default)]
    points: Option<Vec<PointSpec>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointSpec {
    value: Value,
    #[serde(default, rename = "set")]
    _set: Option<IgnoredAny>,
}

/// An axis, checked.
#[derive(Clone, Debug)]
struct Axis {
    name: String,
    /// The setting that is varied; `None` for points.
    key: Option<String>,
    values: Vec<Value>,
}

/// A grid of runs: its file, read and checked.
#[derive(Clone, Debug)]
pub struct Grid {
    document: Document,
    /// The same without the axes: what every run starts from.
    base: Document,
    axes: Vec<Axis>,
    /// Settings under former names, of the experiment and then of the axes: the present ones.
    hints: Vec<String>,
    /// How many of these are of the experiment.
    hints_of_base: usize,
    /// Relative paths count from here.
    directory: PathBuf,
    runs: usize,
    /// Records of runs beside their rows.
    beside: Option<Arc<Beside>>,
    policies: Policies,
}

/// Policies that are in no registry, by the names that settings `gc.policy` and `ecc.policy` of runs have for them.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// Those of garbage collection.
    pub gc: BTreeMap<String, ssd::ftl::victim::OwnPolicy>,
    /// Those of page ECC.
    pub ecc: BTreeMap<String, ssd::ecc::OwnPolicy>,
}

impl Policies {
    /// Those that a run names.
    fn of(&self, merged: &Document) -> Own {
        let named = |path: &str| merged.text(path).ok().flatten().unwrap_or_default().to_owned();
        let (gc, ecc) = (self.gc.get(&named("gc.policy")), self.ecc.get(&named("ecc.policy")));
        Own { gc: gc.cloned(), ecc: ecc.cloned() }
    }
}

/// One run of a grid.
#[derive(Clone, Debug)]
pub struct GridRun {
    /// Its number in the grid.
    pub index: usize,
    /// Names of the axes with its values; a value that is a list or a table is JSON as text.
    pub axes: Vec<(String, Value)>,
    /// Its experiment.
    pub experiment: Experiment,
    /// Hash of all it depends on: the effective experiment, and the bytes of a recorded trace.
    pub key: u64,
    /// Why it cannot be run, where its settings do not fit together.
    pub refusal: Option<Problem>,
    /// Records of the run beside its rows.
    pub(super) beside: Option<Arc<Beside>>,
}

impl GridRun {
    /// A problem that says which run it stopped.
    pub(super) fn named(&self, mut problem: Problem) -> Problem {
        if problem.place.is_none() {
            let values: Vec<String> = self.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let source = format!("run {} ({})", self.index, values.join(", "));
            problem = problem.at(Place { source, position: None, setting: String::new() });
        }
        problem
    }
}

impl Grid {
    /// Reads a grid's file.
    ///
    /// # Errors
    /// A problem of the section `[sweep]`, with its place.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let text = grid_text(path)?;
        Self::parse(&name, &text, path.parent().unwrap_or(Path::new("")))
    }

    /// The grid of TOML text; `name` is what complaints call it, relative paths count from `directory`.
    ///
    /// # Errors
    /// A problem of the section `[sweep]`, with its place.
    pub fn parse(name: &str, text: &str, directory: &Path) -> Result<Self, Problem> {
        let document = Document::parse(name, text)?;
        let File { sweep: spec } = document.read()?;
        let (axes, runs) = checked(spec).map_err(|problem| document.locate(problem))?;
        let mut base = document.clone();
        base.remove("sweep");
        let hints = renamed::bring_up(&mut base)?;
        let (directory, beside, policies) = (directory.to_owned(), None, Policies::default());
        let hints_of_base = hints.len();
        let mut grid = Self { document, base, axes, hints, hints_of_base, directory, runs, beside, policies };
        grid.hints.extend(grid.hints_of_axes()?);
        Ok(grid)
    }

    /// A hint for each setting that an axis has under a former name.
    fn hints_of_axes(&self) -> Result<Vec<String>, Problem> {
        let mut hints = BTreeMap::new();
        for (number, axis) in self.axes.iter().enumerate() {
            for point in 0..axis.values.len() {
                for hint in self.lay(&mut self.base.clone(), number, point)? {
                    // The first value stands for all values of the axis.
                    hints.entry((number, hint.former)).or_insert(hint.text);
                }
            }
        }
        Ok(hints.into_values().collect())
    }

    /// Lays a point of an axis upon an experiment; hints where it has settings under former names.
    fn lay(&self, merged: &mut Document, number: usize, point: usize) -> Result<Vec<Hint>, Problem> {
        match &self.axes[number].key {
            Some(key) => merged.graft(key, &self.document, &format!("sweep.axes.{number}.values.{point}"))?,
            None => merged.merge(self.document.part(&format!("sweep.axes.{number}.points.{point}.set"))?),
        }
        renamed::bring_over(merged)
    }

    /// Settings of the file under former names, with the present ones.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The grid with each run repeated under this many seeds; `argument` is what complaints quote.
    ///
    /// # Errors
    /// None that a caller could cause: how many are valid is said where the runs are.
    pub fn with_seeds(mut self, argument: &str, seeds: u32) -> Result<Self, Problem> {
        self.base.set(argument, &format!("seeds={seeds}"))?;
        Ok(self)
    }

    /// The grid whose runs keep files beside their parts.
    #[must_use]
    pub fn with_files(mut self, beside: Beside) -> Self {
        self.beside = Some(Arc::new(beside));
        self
    }

    /// The grid with policies that this program brings.
    #[must_use]
    pub fn with_policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// Number of runs, at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a grid has at least one run")]
    pub fn len(&self) -> usize {
        self.runs
    }

    /// Run `index` of the grid.
    ///
    /// # Errors
    /// A problem of its experiment, with its place.
    ///
    /// # Panics
    /// If the grid has no such run.
    pub fn run(&self, index: usize) -> Result<GridRun, Problem> {
        self.run_knowing(index, &mut Traces::new())
    }

    /// Some of its runs.
    pub(super) fn some_runs(&self, indices: &[usize]) -> Result<Vec<GridRun>, Problem> {
        let mut traces = Traces::new();
        indices.iter().map(|&index| self.run_knowing(index, &mut traces)).collect()
    }

    /// All runs: each experiment can be read, and no two are the same. A run whose settings do not fit together has a
    /// [refusal](GridRun::refusal).
    ///
    /// # Errors
    /// A setting of any of them that cannot be read, or an unknown name; a refusal of all.
    pub fn runs(&self) -> Result<Vec<GridRun>, Problem> {
        let (mut traces, mut first) = (Traces::new(), BTreeMap::new());
        let mut runs = Vec::with_capacity(self.runs);
        for index in 0..self.runs {
            let run = self.run_knowing(index, &mut traces)?;
            if let Some(same) = first.insert(run.key, index) {
                let message = "is the same experiment: an axis has a value twice, or sets what a later axis sets again";
                return Err(run.named(Problem::new("sweep.axes", format!("run {same} {message}"))));
            }
            runs.push(run);
        }
        // Then it is no corner.
        match runs.iter().map(|run: &GridRun| run.refusal.as_ref()).collect::<Option<Vec<_>>>() {
            Some(refusals) => Err(refusals[0].clone()),
            None => Ok(runs),
        }
    }

    fn run_knowing(&self, index: usize, traces: &mut Traces) -> Result<GridRun, Problem> {
        assert!(index < self.runs, "the grid has {} runs, there is no run {index}", self.runs);
        let mut merged = self.base.clone();
        let mut hints = self.hints[..self.hints_of_base].to_vec();
        let (mut axes, mut left, mut below) = (Vec::new(), index, self.runs);
        for (number, axis) in self.axes.iter().enumerate() {
            below /= axis.values.len();
            let point = left / below;
            left %= below;
            hints.extend(self.lay(&mut merged, number, point)?.into_iter().map(|hint| hint.text));
            let value = &axis.values[point];
            let shown = if value.is_array() || value.is_object() { value.to_string().into() } else { value.clone() };
            axes.push((axis.name.clone(), shown));
        }
        experiment::reading::resolve_paths(&mut merged, &self.directory);
        let own = self.policies.of(&merged);
        let (mut experiment, refusal) = Experiment::judged(merged, &Overrides::default(), own)?;
        experiment.hints.splice(0..0, hints);
        if experiment.seeds > 1 && self.axes.iter().any(|axis| axis.key.as_deref() == Some("seed")) {
            let message = format!("found {}, and an axis of seeds: each repeats the runs", experiment.seeds);
            return Err(self.base.locate(Problem::new("seeds", message)));
        }
        let key = key(&experiment, traces)?;
        Ok(GridRun { index, axes, experiment, key, refusal, beside: self.beside.clone() })
    }
}

/// FNV-1a of recorded traces, by path.
type Traces = BTreeMap<String, u64>;

/// Hash of the effective experiment and, where its trace is a file, of the bytes of that.
fn key(experiment: &Experiment, traces: &mut Traces) -> Result<u64, Problem> {
    let source = &experiment.trace.source;
    let config = rows::config_hash(experiment);
    if experiment::source::is_name(source) {
        return Ok(config);
    }
    let trace = match traces.get(source) {
        Some(known) => *known,
        None => {
            let hashed = file_hash(&common::path_of(source));
            let hash = hashed.map_err(|e| Problem::new("trace.source", format!("trace {source} cannot be read: {e}")))?;
            traces.insert(source.clone(), hash);
            hash
        }
    };
    Ok(fnv_on(config, &trace.to_le_bytes()))
}

/// The text of a grid's file.
///
/// # Errors
/// A problem of the file.
pub fn grid_text(path: &Path) -> Result<String, Problem> {
    let fail = |e| Problem::new("", format!("grid file {} cannot be read: {e}", path.display()));
    read_settings(path).map_err(fail)
}

fn file_hash(path: &Path) -> std::io::Result<u64> {
    // A pipe could block for ever, a device never end.
    check_regular(&std::fs::metadata(path)?)?;
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut buffer) = (FNV_START, vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash),
            read => hash = fnv_on(hash, &buffer[..read]),
        }
    }
}

fn checked(spec: Spec) -> Result<(Vec<Axis>, usize), Problem> {
    if spec.axes.is_empty() {
        return Err(Problem::new("sweep.axes", "found none, at least one is needed"));
    }
    let (mut axes, mut runs): (Vec<Axis>, usize) = (Vec::new(), 1);
    for (number, axis) in spec.axes.into_iter().enumerate() {
        let field = |key: &str| format!("sweep.axes.{number}{key}");
        let named = axis.name.is_some();
        let axis = axis_of(axis, number)?;
        let key_is_the_column = axis.key.as_deref() == Some("seed") && axis.name == "seed";
        let is_column = axis.name == "run" || rows::is_column(&axis.name) || lab::seeds::points::is_column(&axis.name);
        if is_column && !key_is_the_column {
            return Err(Problem::new(field(".name"), format!("`{}` is a column of the results, wanted another name", axis.name)));
        }
        if axes.iter().any(|before| before.name == axis.name) {
            let place = if named { field(".name") } else { field(".key") };
            return Err(Problem::new(place, format!("two axes are called `{}`", axis.name)));
        }
        runs = runs.saturating_mul(axis.values.len());
        if runs > RUNS_MAX {
            return Err(Problem::new(field(""), format!("the grid has more than {RUNS_MAX} runs, which is the most")));
        }
        axes.push(axis);
    }
    Ok((axes, runs))
}

fn axis_of(axis: AxisSpec, number: usize) -> Result<Axis, Problem> {
    let fail = |key: &str, message: &str| Err(Problem::new(format!("sweep.axes.{number}{key}"), message));
    let (name, key, values) = match (axis.key, axis.values, axis.points) {
        (Some(key), Some(values), None) => (axis.name.unwrap_or_else(|| key.clone()), Some(key), values),
        (None, None, Some(points)) => match axis.name {
            Some(name) => (name, None, points.into_iter().map(|point| point.value).collect()),
            None => return fail("", "`name` is missing: the column of its values"),
        },
        _ => return fail("", "wanted `key` with `values`, or `name` with `points`"),
    };
    if values.is_empty() {
        return fail(if key.is_some() { ".values" } else { ".points" }, "found none, at least one is needed");
    }
    if name.is_empty() || name.len() > 100 || name.contains(char::is_control) {
        return fail(".name", "wanted a name of 1 to 100 characters");
    }
    if key.as_deref().is_some_and(|key| key == "sweep" || key.starts_with("sweep.")) {
        return fail(".key", "`sweep` is no setting of an experiment");
    }
    Ok(Axis { name, key, values })
}
