//! Studies of reliability: required strength of codes, retention, losses of redundancy.
//!
//! No drive and no workload: formulas and counts; `adaptation` draws errors and `graph` may draw codes, from
//! a seed. Error models are those of [`ssd::nand::rber`], odds those of [`ssd::coding::odds`]. A study is a
//! function from settings to a [`Study`], which prints itself as text, CSV, JSON or HTML.

mod adaptation;
mod fit;
mod graph;
mod required;
mod retention;
mod retries;
mod schemes;
mod settings;
mod stripe_loss;
mod thresholds;
mod uper;

use common::Problem;
use report::study::{Axis, Cell, Column, Study, YEAR};
use settings::Settings;
pub use settings::{OPTIONS, StudyOption};

/// A study by name.
pub struct StudyEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Question of the study, in one line.
    pub summary: &'static str,
    /// Where its formulas come from.
    pub source: &'static str,
    /// The options it takes: `(name, default)`.
    pub options: &'static [(&'static str, &'static str)],
    run: fn(&Settings) -> Result<Study, Problem>,
}

impl StudyEntry {
    /// Whether it takes the option.
    #[must_use]
    pub fn takes(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| *name == option)
    }
}

/// All studies: one line adds one.
pub const STUDIES: &[StudyEntry] = &[
    StudyEntry {
        name: "required-t",
        summary: "bit errors to correct, over wear and retention, for one UBER",
        source: "FLARES, Eq. 1 and 5",
        options: required::OPTIONS,
        run: required::required_t,
    },
    StudyEntry {
        name: "uber-targets",
        summary: "bit errors to correct for several UBERs, and the highest RBER of each capability",
        source: "FLARES, Eq. 1 and 5; JESD218",
        options: required::TARGET_OPTIONS,
        run: required::uber_targets,
    },
    StudyEntry {
        name: "fit",
        summary: "constants of the error model, fitted again to its own points under noise",
        source: "FLARES, Eq. 2 and 5, Table III",
        options: fit::OPTIONS,
        run: fit::study,
    },
    StudyEntry {
        name: "retention",
        summary: "longest retention, over capability and wear",
        source: "FLARES, Eq. 5 in Eq. 1, solved for time",
        options: retention::OPTIONS,
        run: retention::study,
    },
    StudyEntry {
        name: "retries",
        summary: "retries of a read from a retry table, by wear and stage of retention",
        source: "128-layer TLC set of Xerxes' SimpleSSD",
        options: retries::OPTIONS,
        run: retries::study,
    },
    StudyEntry {
        name: "thresholds",
        summary: "limits on reads and on age, over wear, each alone and both together",
        source: "DA-RAID-5, Eq. 3 and Fig. 2",
        options: thresholds::OPTIONS,
        run: thresholds::study,
    },
    StudyEntry {
        name: "uper",
        summary: "uncorrectable page error rates of page codes, stripes and product codes, over RBER",
        source: "Greenan et al., section 4.2 and Fig. 4",
        options: uper::OPTIONS,
        run: uper::study,
    },
    StudyEntry {
        name: "stripe-loss",
        summary: "odds that a stripe loses data, over wear and retention",
        source: "FLARES, Eq. 5; Greenan et al., section 4.2",
        options: stripe_loss::OPTIONS,
        run: stripe_loss::study,
    },
    StudyEntry {
        name: "adaptation",
        summary: "capability that FLARES chooses for one page as it wears, against the required one",
        source: "FLARES, section 5.1 and Fig. 5",
        options: adaptation::OPTIONS,
        run: adaptation::study,
    },
    StudyEntry {
        name: "graph",
        summary: "subsets of data and code blocks that give all data, and the latency of reads from them",
        source: "Chang and Chang, appendix and Table 1",
        options: graph::OPTIONS,
        run: graph::study,
    },
];

/// Runs the study called `name` with options as typed: `(name without dashes, value)`.
///
/// # Errors
/// An unknown study or option, or a value that will not do; names what is known.
pub fn study(name: &str, given: &[(String, String)]) -> Result<Study, Problem> {
    let known: Vec<&str> = STUDIES.iter().map(|entry| entry.name).collect();
    let entry = STUDIES.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| Problem::unknown("", "study", name, &known))?;
    (entry.run)(&Settings::new(entry.name, entry.options, given)?)
}

/// Up to where times are searched, in hours: a thousand years.
const FOREVER: f64 = 1000.0 * YEAR;
/// Up to where reads are searched.
const ENDLESS: f64 = 1e15;

/// The most of something that grows worse, up to `most`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extent {
    /// So much is fine, and hardly more.
    Limit(f64),
    /// All is fine.
    NoLimit,
}

impl Extent {
    fn hours(self) -> Cell {
        match self {
            Extent::Limit(hours) => Cell::Hours(hours),
            Extent::NoLimit => Cell::NoLimit,
        }
    }

    fn count(self) -> Cell {
        match self {
            Extent::Limit(count) => Cell::Count(count as u64),
            Extent::NoLimit => Cell::NoLimit,
        }
    }
}

/// How much `is_fine`, from 0 to `most`, if less is always at least as fine.
fn extent(most: f64, is_fine: impl Fn(f64) -> bool) -> Extent {
    if is_fine(most) {
        return Extent::NoLimit;
    }
    let least = 1e-6;
    if !is_fine(least) {
        return Extent::Limit(0.0);
    }
    let (mut low, mut high) = (least, most);
    while high / low > 1.0 + 1e-12 {
        let middle = (low * high).sqrt();
        if is_fine(middle) { low = middle } else { high = middle }
    }
    Extent::Limit(low)
}

/// `count` values from `low` to `high`, in equal ratios.
fn ratios(low: f64, high: f64, count: u32) -> impl Iterator<Item = f64> {
    let step = (high / low).ln() / f64::from(count - 1).max(1.0);
    (0..count).map(move |i| if i + 1 == count { high } else { low * (step * f64::from(i)).exp() })
}

/// Cycles for the curves of a study over wear: from the least above 0 to the most.
fn wear_axis(cycles: &[f64]) -> Vec<f64> {
    let high = cycles.iter().copied().fold(1.0, f64::max);
    let low = cycles.iter().copied().filter(|pe| *pe > 0.0).fold(high, f64::min).min(high / 10.0);
    ratios(low, high, 61).collect()
}

const WEAR: Axis = Axis { name: "program/erase cycles", log: true };
const PE: Column = Column { key: "pe_cycles", name: "P/E cycles", unit: "" };
const RETENTION: Column = Column { key: "retention_h", name: "retention", unit: "" };
const RBER: Column = Column { key: "rber", name: "RBER", unit: "" };

/// Cycles as a cell.
fn cycles(pe: f64) -> Cell {
    Cell::Count(pe as u64)
}

/// Notes on some models.
fn model_notes(model: &ssd::nand::rber::RberEntry) -> Vec<String> {
    let said = match model.name {
        "flares" => "flares has no read disturb: reads change nothing; flares-disturb adds it",
        name if name.starts_with("fast19") => {
            "constants are second-hand; beyond the limits of the model more stress adds nothing, so long times look harmless"
        }
        _ => return Vec::new(),
    };
    vec![said.into()]
}

#[cfg(test)]
mod tests;
