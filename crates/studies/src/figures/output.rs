//! Results of figures: rows of CSV, curves, a table for the terminal, and a comparison with the recorded values.

use super::plot::{self, Drawing};
use super::reproduction::number;
use super::sheet::Sheet;
use super::spec::Figure;
use common::input_file::RESULTS_MAX;
use common::table::{Row, aligned};
use common::{Problem, read_text};
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
    figure: Figure,
    pub(super) sheet: Sheet,
    warnings: Vec<String>,
    pub(crate) drawings: Vec<Drawing>,
    /// Whether it is what it was.
    pub golden: Golden,
}

/// How rows compare with those of the golden CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Golden {
    /// There is none.
    Absent,
    /// This many rows, all as they were.
    Agrees(usize),
    /// Rows that are not there, of how many, with the first of them.
    Differs(usize, usize, String),
    /// The rows are the golden ones themselves; nothing was run.
    Kept(usize),
}

impl FigureResult {
    /// A figure whose runs, or whose study, gave the rows of a sheet.
    ///
    /// # Errors
    /// A plot that asks for what the rows do not have, golden rows that cannot be read.
    pub(super) fn new(figure: Figure, sheet: Sheet, warnings: Vec<String>) -> Result<Self, Problem> {
        let golden = match read_text(&figure.golden(), RESULTS_MAX) {
            Ok(text) => compare(&sheet, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Golden::Absent,
            Err(e) => return Err(unreadable(&figure.golden(), &e)),
        };
        Self::with(figure, sheet, warnings, golden)
    }

    /// A figure with the rows that were kept of it.
    ///
    /// # Errors
    /// As [`FigureResult::new`], and where nothing was kept.
    pub(super) fn kept(figure: Figure) -> Result<Self, Problem> {
        let path = figure.golden();
        let sheet = Sheet::parse(&read_text(&path, RESULTS_MAX).map_err(|e| unreadable(&path, &e))?);
        let golden = Golden::Kept(sheet.rows.len());
        Self::with(figure, sheet, Vec::new(), golden)
    }

    fn with(figure: Figure, sheet: Sheet, warnings: Vec<String>, golden: Golden) -> Result<Self, Problem> {
        let drawing = |plot| plot::drawing(&figure.spec, plot, &sheet);
        let drawings = figure.spec.plots.iter().map(drawing).collect::<Result<_, _>>();
        let drawings = drawings.map_err(|problem| Problem { field: format!("{}: {}", figure.name, problem.field), ..problem })?;
        Ok(Self { figure, sheet, warnings, drawings, golden })
    }

    /// The figure's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.figure.name
    }

    /// Its title.
    pub(super) fn title(&self) -> &str {
        &self.figure.spec.title
    }

    /// Description of the figure.
    pub(super) fn about(&self) -> &str {
        &self.figure.spec.about
    }

    /// Runs that were left out.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        if matches!(self.golden, Golden::Kept(_)) {
            return Vec::new();
        }
        let said = |(trace, file): &(usize, PathBuf)| {
            let name = &self.figure.spec.traces[*trace].name;
            format!("{}: trace `{name}` is left out, there is no file {}", self.figure.name, file.display())
        };
        self.figure.absent.iter().map(said).collect()
    }

    /// Reasons why some of the numbers are invalid.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// One row for each trace, point and arm, or those of the study; the names of the columns before them.
    #[must_use]
    pub fn csv_rows(&self) -> Vec<Vec<String>> {
        self.sheet.all_rows()
    }

    /// The same as text.
    #[must_use]
    pub fn to_csv(&self) -> String {
        self.sheet.to_csv()
    }

    /// Headline and cells of the table of a drawing; nothing where it has too many places to read.
    pub(crate) fn table(&self, drawing: &Drawing) -> Option<(String, Vec<Vec<String>>)> {
        let title = format!("{}: {} ({})", self.figure.name, drawing.title, drawing.y);
        (drawing.places().len() <= ROWS_MAX).then(|| (title, cells(drawing)))
    }

    /// How to read a drawing.
    pub(crate) fn hint(&self, drawing: &Drawing) -> String {
        let place = |stated: &super::Published| stated.x.as_ref().map_or(String::new(), |x| format!(" at {x}"));
        let of = |stated: &super::Published| stated.of.as_ref().map_or(String::new(), |of| format!(" of {of}"));
        let stated =
            drawing.published.iter().map(|stated| format!(" The paper{}{}: {}.", of(stated), place(stated), stated.what));
        let over = drawing.curves.iter().any(|curve| !curve.ends.is_empty());
        let over = if over { " Error bars are 95 % confidence intervals over the seeds." } else { "" };
        format!("{}.{}{over}", self.figure.spec.source, stated.collect::<String>())
    }

    /// Facts of the figure, as `name: value`.
    pub(crate) fn facts(&self) -> Vec<String> {
        let spec = &self.figure.spec;
        let mut facts = vec![format!("Title: {}", spec.title), format!("Source: {}", spec.source)];
        let named = [("About", &spec.about), ("Hypothesis", &spec.hypothesis), ("Outcome", &spec.outcome)];
        facts.extend(named.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| format!("{name}: {text}")));
        if let Some(study) = &spec.study {
            let options: String = study.set.iter().map(|(name, value)| format!(" --{name} {value}")).collect();
            facts.push(format!("Study: flashkeep reliability {}{options}", study.name));
        }
        let columns = self.sheet.column("trace").zip(self.sheet.column("clock_factor"));
        for trace in &spec.traces {
            let Some((of_trace, factor)) = columns else { continue };
            let rows = self.sheet.rows.iter().filter(|row| row[of_trace] == trace.name);
            let clocks = Sheet { heads: Vec::new(), rows: rows.cloned().collect() };
            if !clocks.rows.is_empty() {
                facts.push(format!("Trace {}: recorded times x {}", trace.name, clocks.distinct(factor).join(", ")));
            }
        }
        facts.push(self.golden_text().replacen('g', "G", 1));
        facts
    }

    /// Tables for a terminal, curves down the side.
    #[must_use]
    pub fn to_text(&self) -> String {
        let spec = &self.figure.spec;
        let mut out = format!("{}: {}\n  {}\n", self.figure.name, spec.title, spec.source);
        for drawing in &self.drawings {
            let _ = writeln!(out, "\n{} ({})", drawing.title, drawing.y);
            out.push_str(&text_table(drawing));
            for stated in &drawing.published {
                let place = stated.x.as_ref().map_or(String::new(), |x| format!(" at {x}"));
                let of = stated.of.as_ref().map_or(String::new(), |of| format!(" of {of}"));
                let y = stated.y.map_or(String::new(), |y| format!("{}: ", number(y)));
                let _ = writeln!(out, "paper{of}{place}: {y}{}", stated.what);
            }
        }
        let _ = writeln!(out, "\n{}", self.golden_text());
        out
    }

    pub(crate) fn golden_text(&self) -> String {
        match &self.golden {
            Golden::Absent => "golden: there is no CSV beside the experiment to compare with".into(),
            Golden::Agrees(rows) => format!("golden: all {rows} rows are those of the CSV beside the experiment"),
            Golden::Kept(rows) => format!("golden: nothing was run, the {rows} rows are those of the CSV beside the experiment"),
            Golden::Differs(new, all, first) => {
                format!("golden: {new} of {all} rows are not in the CSV beside the experiment; the first: {first}")
            }
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new("", format!("{} cannot be read: {error}", path.display()))
}

/// Rows up to which a table is shown.
const ROWS_MAX: usize = 30;

/// A drawing as lines of text, curves down the side.
fn text_table(drawing: &Drawing) -> String {
    let places = drawing.places().len();
    if places > ROWS_MAX {
        return format!("{} curves over {places} places: see the page\n", drawing.curves.len());
    }
    let cells = cells(drawing);
    let column = |column: usize| {
        let mut cells = cells.iter().map(|row| row[column].clone());
        Row { label: cells.next().unwrap_or_default(), cells: cells.collect() }
    };
    aligned(&(0..cells[0].len()).map(column).collect::<Vec<_>>())
}

/// Whether every row is a row of `golden`.
fn compare(sheet: &Sheet, golden: &str) -> Golden {
    let known: std::collections::BTreeSet<&str> = golden.lines().collect();
    let csv = sheet.to_csv();
    let new: Vec<&str> = csv.lines().filter(|line| !known.contains(line)).collect();
    let all = sheet.rows.len();
    new.first().map_or(Golden::Agrees(all), |first| Golden::Differs(new.len(), all, (*first).to_owned()))
}

/// A drawing as rows of cells: heads, then a row for each place, what the paper states last.
fn cells(drawing: &Drawing) -> Vec<Vec<String>> {
    let stated: Vec<(f64, f64)> =
        drawing.published.iter().filter(|stated| stated.of.is_none()).filter_map(|s| drawing.place(s).zip(s.y)).collect();
    let heads = std::iter::once(drawing.x.clone()).chain(drawing.curves.iter().map(|curve| curve.name.clone()));
    let mut rows = vec![heads.chain((!stated.is_empty()).then(|| "paper".to_owned())).collect::<Vec<_>>()];
    for x in drawing.places() {
        let at = drawing.curves.iter().map(|curve| match (curve.at(x), curve.ends_at(x)) {
            (Some(y), Some((low, high))) => format!("{} ({} to {})", number(y), number(low), number(high)),
            (y, _) => y.map_or("-".into(), number),
        });
        let stated = (!stated.is_empty()).then(|| stated.iter().find(|(place, _)| *place == x).map(|(_, y)| *y));
        let shown = at.chain(stated.map(|y| y.map_or("-".into(), number)));
        rows.push(std::iter::once(drawing.place_name(x)).chain(shown).collect());
    }
    rows
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
        write("index.html".into(), crate::figures::page::figures(self, command))
    }
}
