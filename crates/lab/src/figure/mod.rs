//! Figures of a run, each said once: key, unit, meaning, how it is read from a run, and where it is shown.
//!
//! The JSON document, rows of sweeps and of Python, the tables of terminal and report, and the table of `docs/spec/results.md`
//! are folds over [`all`]. A program may [`add`] figures of its own.

mod checks;
mod flash;
mod host;
mod parts;
mod run;

pub use parts::{column, inside, nothing};
pub use run::Run;
pub use run::RunSpeed;

use run::{deviation, mean, measured_share};
use serde_json::Value;
use std::sync::OnceLock;

/// A figure.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Its name in JSON and rows.
    pub key: &'static str,
    /// Its unit in JSON; `object` where it has parts, `hex` where it is text to compare letter by letter.
    pub unit: &'static str,
    /// Its line of `docs/spec/results.md`.
    pub meaning: &'static str,
    /// Reads it from a run.
    pub of: fn(&Run<'_>) -> Value,
    place: Place,
    is_measured: Option<fn(&Run<'_>) -> bool>,
    /// Where `--full` shows it.
    pub terminal: Option<OnTerminal>,
    /// Where the report shows it.
    pub report: Option<InReport>,
    /// Parts of it that the report shows by names of their own.
    pub parts: &'static [ReportPart],
}

/// In which results a figure is beside the tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the document, and in rows as a column, or as one for each of its parts.
    Everywhere,
    /// In the document.
    Document,
    /// In the document of a workload of several flows.
    Flows,
    /// In tables alone.
    Tables,
}

/// Blocks of the terminal's table, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Of all requests.
    Latency,
    /// Requests and bytes per second.
    Throughput,
    /// Of reads.
    ReadLatency,
    /// Of writes.
    WriteLatency,
    /// Reads, programs and erases of flash.
    Operations,
    /// Writes of flash over those of the host.
    Amplification,
    /// Energy of flash and codec.
    Energy,
    /// Space and life.
    Spare,
    /// Time that dies and channels work.
    Utilisation,
    /// Reads that were compared.
    Checks,
    /// Pages that were solved for, or lost.
    Losses,
    /// Reads around busy dies.
    Around,
    /// The SLC cache.
    SlcCache,
    /// Page ECC.
    Ecc,
    /// Reads by step of the ladder.
    Ladder,
    /// Reads by the step that ended them.
    LadderEnds,
}

impl Section {
    /// All of them.
    pub const ALL: [Section; 16] = [
        Section::Latency,
        Section::Throughput,
        Section::ReadLatency,
        Section::WriteLatency,
        Section::Operations,
        Section::Amplification,
        Section::Energy,
        Section::Spare,
        Section::Utilisation,
        Section::Checks,
        Section::Losses,
        Section::Around,
        Section::SlcCache,
        Section::Ecc,
        Section::Ladder,
        Section::LadderEnds,
    ];
}

/// Groups of rows in the report; `report/table.rs` has their titles and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Latency of all requests.
    Latency,
    /// Requests and bytes per second.
    Throughput,
    /// Latency of reads.
    ReadLatency,
    /// Latency of writes.
    WriteLatency,
    /// Page reads by cause.
    Reads,
    /// Page programs by cause.
    Programs,
    /// Block erases by cause.
    Erases,
    /// Work of flash for that of the host.
    Work,
    /// Streams of the host.
    Streams,
    /// Energy by operation.
    Energy,
    /// P/E cycles and life.
    Wear,
    /// Load of dies and channels.
    Load,
    /// Writes of the SLC cache.
    SlcWrites,
    /// Folding of the SLC cache.
    Folding,
    /// Reads around busy dies.
    Around,
    /// Read-ahead.
    Ahead,
    /// Code of zones.
    ZoneCode,
    /// Codes of page ECC.
    Code,
    /// Bit errors.
    Errors,
    /// Refresh of pages.
    Refresh,
    /// Steps of reading.
    Ladder,
    /// Checks of data.
    Data,
    /// History before the workload.
    Preconditioning,
    /// The simulator itself.
    Simulator,
}

/// Kind of a number, for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Less is better: its ratio to the baseline is shown.
    Cost,
    /// It describes; a ratio would say nothing.
    Fact,
    /// Anything but zero or no is bad news.
    Alarm,
}

/// Rows of a figure on the terminal.
#[derive(Clone, Copy)]
pub struct OnTerminal {
    /// Its block.
    pub section: Section,
    /// Labels of its rows.
    pub rows: Labels,
}

/// Labels of the rows of a figure.
#[derive(Clone, Copy)]
pub enum Labels {
    /// One row.
    One(&'static str),
    /// A row for each part that occurs, labelled by its name behind this.
    Each(&'static str),
    /// A row for each of these parts: name and label.
    Named(&'static [(&'static str, &'static str)]),
}

/// Row of a figure in the report.
#[derive(Clone, Copy)]
pub struct InReport {
    /// The rows that it is among.
    pub group: Group,
    /// Kind of its number.
    pub kind: Kind,
    /// `None`: a row for each part that occurs, labelled by its name.
    pub label: Option<&'static str>,
    /// Unit behind the label.
    pub unit: &'static str,
    /// Rows of a group are in the order of their ranks, those of equal rank in the order of figures.
    pub rank: u8,
    /// Whether the row is left out where all runs have nothing of it.
    pub if_any: bool,
}

/// Row of a part of a figure in the report.
#[derive(Clone, Copy)]
pub struct ReportPart {
    /// Its name inside the object of results.
    pub name: &'static str,
    /// Its row.
    pub row: InReport,
}

/// A figure of documents and rows: its key, unit and meaning, and how it is read.
#[must_use]
pub const fn figure(key: &'static str, unit: &'static str, meaning: &'static str, of: fn(&Run<'_>) -> Value) -> Figure {
    let place = Place::Everywhere;
    Figure { key, unit, meaning, of, place, is_measured: None, terminal: None, report: None, parts: &[] }
}

/// A figure of tables alone.
const fn shown_alone(key: &'static str, of: fn(&Run<'_>) -> Value) -> Figure {
    let mut shown = figure(key, "", "", of);
    shown.place = Place::Tables;
    shown
}

const fn part(name: &'static str, group: Group, kind: Kind, label: &'static str, unit: &'static str) -> ReportPart {
    ReportPart { name, row: InReport { group, kind, label: Some(label), unit, rank: 0, if_any: false } }
}

impl ReportPart {
    const fn ranked(mut self, rank: u8) -> Self {
        self.row.rank = rank;
        self
    }
}

impl Figure {
    /// No column of rows.
    const fn document_only(mut self) -> Self {
        self.place = Place::Document;
        self
    }

    /// Left out where the workload is one flow.
    const fn of_flows(mut self) -> Self {
        self.place = Place::Flows;
        self
    }

    /// Tables show nothing where this says no.
    const fn measured(mut self, is_measured: fn(&Run<'_>) -> bool) -> Self {
        self.is_measured = Some(is_measured);
        self
    }

    /// Shown by `--full` in a row of this label.
    #[must_use]
    pub const fn terminal(mut self, section: Section, label: &'static str) -> Self {
        self.terminal = Some(OnTerminal { section, rows: Labels::One(label) });
        self
    }

    const fn terminal_each(mut self, section: Section, before: &'static str) -> Self {
        self.terminal = Some(OnTerminal { section, rows: Labels::Each(before) });
        self
    }

    const fn terminal_parts(mut self, section: Section, parts: &'static [(&'static str, &'static str)]) -> Self {
        self.terminal = Some(OnTerminal { section, rows: Labels::Named(parts) });
        self
    }

    /// A row of the report with this label.
    #[must_use]
    pub const fn report(mut self, group: Group, kind: Kind, label: &'static str, unit: &'static str) -> Self {
        self.report = Some(InReport { group, kind, label: Some(label), unit, rank: 0, if_any: false });
        self
    }

    const fn report_each(mut self, group: Group, kind: Kind) -> Self {
        self.report = Some(InReport { group, kind, label: None, unit: "", rank: 0, if_any: false });
        self
    }

    const fn report_parts(mut self, parts: &'static [ReportPart]) -> Self {
        self.parts = parts;
        self
    }

    /// The place of its row in the group.
    const fn ranked(mut self, rank: u8) -> Self {
        if let Some(row) = &mut self.report {
            row.rank = rank;
        }
        self
    }

    /// Its row of the report is left out where all runs have nothing of it.
    const fn if_any(mut self) -> Self {
        if let Some(row) = &mut self.report {
            row.if_any = true;
        }
        self
    }

    /// Whether it is a key of the document.
    #[must_use]
    pub fn is_key(&self, has_flows: bool) -> bool {
        match self.place {
            Place::Everywhere | Place::Document => true,
            Place::Flows => has_flows,
            Place::Tables => false,
        }
    }

    /// Whether rows have it.
    #[must_use]
    pub fn is_column(&self) -> bool {
        self.place == Place::Everywhere
    }

    /// Its value in tables; null where there was nothing to measure.
    #[must_use]
    pub fn shown(&self, run: &Run<'_>) -> Value {
        if self.is_measured.is_none_or(|is| is(run)) { (self.of)(run) } else { Value::Null }
    }
}

/// Figures of a program, beside those of this crate.
static ADDED: OnceLock<&'static [Figure]> = OnceLock::new();

/// Adds figures of a program's own: from now on each is in every form of every result, as those of this crate are. Once, before
/// the first comparison.
///
/// # Errors
/// Those that were added before.
pub fn add(figures: &'static [Figure]) -> Result<(), &'static [Figure]> {
    ADDED.set(figures).map_err(|_| ADDED.get().copied().unwrap_or_default())
}

/// All figures, in the order of the JSON document.
pub fn all() -> impl Iterator<Item = &'static Figure> {
    let added = ADDED.get().copied().unwrap_or_default();
    host::FIGURES.iter().chain(flash::FIGURES).chain(checks::FIGURES).chain(added)
}

/// The figure of this key.
///
/// # Panics
/// Where none has it.
#[must_use]
pub fn named(key: &str) -> &'static Figure {
    all().find(|figure| figure.key == key).expect("a key of the table")
}

/// An amount given in bytes, in MiB.
#[must_use]
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The table of `docs/spec/results.md` on the keys of a scheme.
#[must_use]
pub fn page() -> String {
    let rows =
        all().filter(|figure| figure.is_key(false)).map(|one| format!("| `{}` | {} | {} |\n", one.key, one.unit, one.meaning));
    format!("| key | unit | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests;
