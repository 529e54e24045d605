//! What figures gave: rows of CSV, curves, a table for the terminal, and whether it is what it was.

use super::run::Ran;
use super::spec::{AxisSpec, Figure, PlotSpec, Published};
use super::values::VALUES;
use crate::problem::Problem;
use crate::table::{Row, aligned};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The figures of a paper with what they gave.
#[derive(Debug)]
pub struct PaperResult {
    /// Name of the paper's folder.
    pub name: String,
    /// Its figures.
    pub figures: Vec<FigureResult>,
}

/// A figure with what it gave.
#[derive(Debug)]
pub struct FigureResult {
    pub(crate) figure: Figure,
    ran: Vec<Ran>,
    /// Whether it is what it was.
    pub golden: Golden,
}

/// How rows compare with those of the golden CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Golden {
    /// There is none.
    Absent,
    /// So many rows, all as they were.
    Agrees(usize),
    /// Rows that are not there, of how many, with the first of them.
    Differs(usize, usize, String),
}

/// A curve of a plot.
pub(crate) struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

impl FigureResult {
    pub(super) fn new(figure: Figure, ran: Vec<Ran>) -> Self {
        let mut result = Self { figure, ran, golden: Golden::Absent };
        let golden = result.figure.path.with_extension("csv");
        result.golden = std::fs::read_to_string(golden).map_or(Golden::Absent, |text| result.compare(&text));
        result
    }

    /// Whether every row is a row of `golden`.
    fn compare(&self, golden: &str) -> Golden {
        let known: std::collections::BTreeSet<&str> = golden.lines().collect();
        let csv = self.to_csv();
        let new: Vec<&str> = csv.lines().filter(|line| !known.contains(line)).collect();
        let all = csv.lines().count() - 1;
        new.first().map_or(Golden::Agrees(all), |first| Golden::Differs(new.len(), all, (*first).to_owned()))
    }

    /// The figure's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.figure.name
    }

    /// What was left out.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        let said = |(trace, file): &(usize, PathBuf)| {
            let name = &self.figure.spec.traces[*trace].name;
            format!("{}: trace `{name}` is left out, there is no file {}", self.figure.name, file.display())
        };
        self.figure.absent.iter().map(said).collect()
    }

    /// What makes some of the numbers worthless.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let said = |ran: &Ran| {
            let [trace, arm] = self.names(ran);
            let x = self.figure.spec.points[ran.job.point].x;
            let each = |warning: &String| format!("{}: {trace}, {arm} at {x}: {warning}", self.figure.name);
            ran.measured.warnings.iter().map(each).collect::<Vec<_>>()
        };
        self.ran.iter().flat_map(said).collect()
    }

    fn names(&self, ran: &Ran) -> [&str; 2] {
        [&self.figure.spec.traces[ran.job.trace].name, &self.figure.spec.arms[ran.job.arm].name]
    }

    /// One row for each trace, point and arm, the names of the columns before them.
    #[must_use]
    pub fn csv_rows(&self) -> Vec<Vec<String>> {
        let before = ["trace", self.figure.spec.x.key.as_str(), "arm", "clock_factor"];
        let after = ["saturated", "config_hash", "seed", "trace_digest", "event_digest"];
        let heads = before.into_iter().chain(VALUES.iter().map(|value| value.key)).chain(after).map(str::to_owned);
        let row = |ran: &Ran| {
            let ([trace, arm], m) = (self.names(ran), &ran.measured);
            let x = self.figure.spec.points[ran.job.point].x.to_string();
            let mut cells = vec![trace.to_owned(), x, arm.to_owned(), m.factor.to_string()];
            cells.extend(m.values.iter().map(|value| value.map_or(String::new(), |value| value.to_string())));
            cells.push(m.saturated.to_string());
            cells.push(format!("{:016x}", m.config));
            cells.push(ran.job.experiment.seed.to_string());
            cells.extend([m.trace_digest, m.event_digest].map(|digest| format!("{digest:016x}")));
            cells
        };
        std::iter::once(heads.collect()).chain(self.ran.iter().map(row)).collect()
    }

    /// The same as text.
    #[must_use]
    pub fn to_csv(&self) -> String {
        crate::table::csv(&self.csv_rows())
    }

    /// The curves of a plot: one for each trace, and for each of its arms.
    pub(crate) fn curves(&self, plot: &PlotSpec) -> Vec<Curve> {
        let spec = &self.figure.spec;
        let mut curves = Vec::new();
        for (index, trace) in spec.traces.iter().enumerate() {
            for arm in &plot.arms {
                let name = if plot.arms.len() > 1 { format!("{}, {arm}", trace.name) } else { trace.name.clone() };
                let point = |point: usize| Some((spec.points[point].x, self.shown(plot, index, point, arm)?));
                let points: Vec<_> = (0..spec.points.len()).filter_map(point).collect();
                if !points.is_empty() {
                    curves.push(Curve { name, points });
                }
            }
        }
        curves
    }

    /// What a plot shows of a run; nothing where it did not run, or there was nothing to measure.
    fn shown(&self, plot: &PlotSpec, trace: usize, point: usize, arm: &str) -> Option<f64> {
        let at = VALUES.iter().position(|value| value.key == plot.value)?;
        let of = |arm: &str| {
            let arm = self.figure.spec.arm(arm);
            let ran = self.ran.iter().find(|ran| (ran.job.trace, ran.job.point, ran.job.arm) == (trace, point, arm))?;
            ran.measured.values[at]
        };
        let found = of(arm)?;
        let shown = plot.over.as_ref().map_or(Some(found), |over| Some(found / of(over)?))?;
        shown.is_finite().then_some(shown)
    }

    /// A plot as rows of cells: heads, then a row for each point, then what the paper states.
    fn cells(&self, plot: &PlotSpec) -> Vec<Vec<String>> {
        let curves = self.curves(plot);
        let heads = std::iter::once(self.figure.spec.x.name.clone()).chain(curves.iter().map(|curve| curve.name.clone()));
        let states = (!plot.published.is_empty()).then(|| "paper".to_owned());
        let mut rows = vec![heads.chain(states).collect::<Vec<_>>()];
        for spec in &self.figure.spec.points {
            let at = |curve: &Curve| curve.points.iter().find(|(x, _)| *x == spec.x).map(|(_, y)| *y);
            let cells: Vec<_> = curves.iter().map(at).collect();
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let stated = plot.published.iter().find(|value| value.x == spec.x).map(|value| value.y);
            let shown = cells.into_iter().chain((!plot.published.is_empty()).then_some(stated));
            let shown = shown.map(|y| y.map_or("-".into(), |y| format!("{y:.3}")));
            rows.push(std::iter::once(spec.x.to_string()).chain(shown).collect());
        }
        rows
    }

    pub(crate) fn plots(&self) -> &[PlotSpec] {
        &self.figure.spec.plots
    }

    pub(crate) fn x(&self) -> &AxisSpec {
        &self.figure.spec.x
    }

    /// Headline and cells of the table of a plot.
    pub(crate) fn table(&self, plot: usize) -> (String, Vec<Vec<String>>) {
        let plot = &self.plots()[plot];
        (format!("{}: {} ({})", self.figure.name, plot.title, plot.y), self.cells(plot))
    }

    /// How to read a plot.
    pub(crate) fn hint(&self, plot: &PlotSpec) -> String {
        let stated = plot.published.iter().map(|value| format!(" The paper at {}: {}.", value.x, value.what));
        format!("{}.{}", self.figure.spec.source, stated.collect::<String>())
    }

    /// What to know of the figure, as `name: value`.
    pub(crate) fn facts(&self) -> Vec<String> {
        let spec = &self.figure.spec;
        let mut facts = vec![format!("Title: {}", spec.title), format!("Source: {}", spec.source)];
        if !spec.about.is_empty() {
            facts.push(format!("About: {}", spec.about));
        }
        for (index, trace) in spec.traces.iter().enumerate() {
            let clocks = self.ran.iter().filter(|ran| ran.job.trace == index).map(|ran| ran.measured.factor);
            let mut clocks: Vec<String> = clocks.map(|factor| factor.to_string()).collect();
            clocks.dedup();
            if !clocks.is_empty() {
                facts.push(format!("Trace {}: recorded times x {}", trace.name, clocks.join(", ")));
            }
        }
        facts.push(self.golden_text().replacen('g', "G", 1));
        facts
    }

    /// Tables for a terminal, traces down the side.
    #[must_use]
    pub fn to_text(&self) -> String {
        let spec = &self.figure.spec;
        let mut out = format!("{}: {}\n  {}\n", self.figure.name, spec.title, spec.source);
        for plot in &spec.plots {
            let _ = writeln!(out, "\n{} ({})", plot.title, plot.y);
            let cells = self.cells(plot);
            let column = |column: usize| {
                let mut cells = cells.iter().map(|row| row[column].clone());
                Row { label: cells.next().unwrap_or_default(), cells: cells.collect() }
            };
            out.push_str(&aligned(&(0..cells[0].len()).map(column).collect::<Vec<_>>()));
            for Published { x, y, what } in &plot.published {
                let _ = writeln!(out, "paper at {x}: {y}: {what}");
            }
        }
        let _ = writeln!(out, "\n{}", self.golden_text());
        out
    }

    pub(crate) fn golden_text(&self) -> String {
        match &self.golden {
            Golden::Absent => "golden: there is no CSV beside the experiment to compare with".into(),
            Golden::Agrees(rows) => format!("golden: all {rows} rows are those of the CSV beside the experiment"),
            Golden::Differs(new, all, first) => {
                format!("golden: {new} of {all} rows are not in the CSV beside the experiment; the first: {first}")
            }
        }
    }
}

impl PaperResult {
    /// Whether every row is one of the golden ones, where there are any.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.figures.iter().all(|figure| !matches!(figure.golden, Golden::Differs(..)))
    }

    /// Writes `<paper>/<figure>.csv` and `<paper>/index.html` into `directory`; returns the path
    /// of the last.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, directory: &Path, command: &str) -> Result<PathBuf, Problem> {
        let directory = directory.join(&self.name);
        let fail = |path: &Path, e: std::io::Error| Problem::new("--out", format!("{} cannot be written: {e}", path.display()));
        std::fs::create_dir_all(&directory).map_err(|e| fail(&directory, e))?;
        let write = |name: String, text: String| {
            let path = directory.join(name);
            std::fs::write(&path, text).map_err(|e| fail(&path, e)).map(|()| path)
        };
        for figure in &self.figures {
            write(format!("{}.csv", figure.name()), figure.to_csv())?;
        }
        write("index.html".into(), crate::report::figures(self, command))
    }
}
