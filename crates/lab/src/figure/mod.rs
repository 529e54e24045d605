//! Figures of a run, each said once: key, unit, meaning, how it is read from a run, and where it is shown.
//!
//! The JSON document, rows of sweeps and of Python, the tables of terminal and report, and the table of `docs/spec/results.md`
//! are folds over [`all`].

mod checks;
mod flash;
mod host;
mod parts;
mod run;

pub(crate) use parts::{column, inside, nothing};
pub(crate) use run::Run;
pub use run::RunSpeed;

use run::{deviation, mean, measured_share};
use serde_json::Value;

/// A figure.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    /// Its name in JSON and rows.
    pub key: &'static str,
    /// Its unit in JSON; `object` where it has parts, `hex` where it is text to compare letter by letter.
    pub unit: &'static str,
    /// Its line of `docs/spec/results.md`.
    #[cfg_attr(not(test), expect(dead_code, reason = "the page is compared with it by a test"))]
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
pub(crate) enum Section {
    Latency,
    Throughput,
    ReadLatency,
    WriteLatency,
    Operations,
    Amplification,
    Energy,
    Spare,
    Utilisation,
    Checks,
    Losses,
    Around,
    SlcCache,
    Ecc,
    Ladder,
    LadderEnds,
}

impl Section {
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
pub(crate) enum Group {
    Latency,
    Throughput,
    ReadLatency,
    WriteLatency,
    Reads,
    Programs,
    Erases,
    Work,
    Streams,
    Energy,
    Wear,
    Load,
    SlcWrites,
    Folding,
    Around,
    Ahead,
    ZoneCode,
    Code,
    Errors,
    Refresh,
    Ladder,
    Data,
    Preconditioning,
    Simulator,
}

/// Kind of a number, for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Less is better: its ratio to the baseline is shown.
    Cost,
    /// It describes; a ratio would say nothing.
    Fact,
    /// Anything but zero or no is bad news.
    Alarm,
}

/// Rows of a figure on the terminal.
#[derive(Clone, Copy)]
pub(crate) struct OnTerminal {
    pub section: Section,
    pub rows: Labels,
}

/// Labels of the rows of a figure.
#[derive(Clone, Copy)]
pub(crate) enum Labels {
    /// One row.
    One(&'static str),
    /// A row for each part that occurs, labelled by its name behind this.
    Each(&'static str),
    /// A row for each of these parts: name and label.
    Named(&'static [(&'static str, &'static str)]),
}

/// Row of a figure in the report.
#[derive(Clone, Copy)]
pub(crate) struct InReport {
    pub group: Group,
    pub kind: Kind,
    /// `None`: a row for each part that occurs, labelled by its name.
    pub label: Option<&'static str>,
    pub unit: &'static str,
    /// Rows of a group are in the order of their ranks, those of equal rank in the order of figures.
    pub rank: u8,
    /// Whether the row is left out where all runs have nothing of it.
    pub if_any: bool,
}

/// Row of a part of a figure in the report.
#[derive(Clone, Copy)]
pub(crate) struct ReportPart {
    pub name: &'static str,
    pub row: InReport,
}

const fn figure(key: &'static str, unit: &'static str, meaning: &'static str, of: fn(&Run<'_>) -> Value) -> Figure {
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

    const fn terminal(mut self, section: Section, label: &'static str) -> Self {
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

    const fn report(mut self, group: Group, kind: Kind, label: &'static str, unit: &'static str) -> Self {
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
    pub fn is_key(&self, has_flows: bool) -> bool {
        match self.place {
            Place::Everywhere | Place::Document => true,
            Place::Flows => has_flows,
            Place::Tables => false,
        }
    }

    /// Whether rows have it.
    pub fn is_column(&self) -> bool {
        self.place == Place::Everywhere
    }

    /// Its value in tables; null where there was nothing to measure.
    pub fn shown(&self, run: &Run<'_>) -> Value {
        if self.is_measured.is_none_or(|is| is(run)) { (self.of)(run) } else { Value::Null }
    }
}

/// All figures, in the order of the JSON document.
pub(crate) fn all() -> impl Iterator<Item = &'static Figure> {
    let all = host::FIGURES.iter().chain(flash::FIGURES).chain(checks::FIGURES);
    #[cfg(test)]
    let all = all.chain(tests::TOYS);
    all
}

/// The figure of this key.
///
/// # Panics
/// Where none has it.
pub(crate) fn named(key: &str) -> &'static Figure {
    all().find(|figure| figure.key == key).expect("a key of the table")
}

/// The table of `docs/spec/results.md` on the keys of a scheme.
/// An amount given in bytes, in MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
fn page() -> String {
    let rows =
        all().filter(|figure| figure.is_key(false)).map(|one| format!("| `{}` | {} | {} |\n", one.key, one.unit, one.meaning));
    format!("| key | unit | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests;
