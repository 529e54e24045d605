//! Needs: limits on figures of its life, each hard or soft.

use super::plp::PlpUse;
use crate::life::{Class, micros_of, probability};
use common::input_file::read_settings;
use common::quantity::{micros, percent, short};
use common::{Problem, plural, printable};
use experiment::Document;
use serde::Deserialize;
use std::path::Path;

/// A figure that a need limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// User capacity that the drive holds with [`BAD_BLOCKS`] of its blocks bad, by what it must hold.
    Capacity,
    /// Memory that must outlive a power cut ([`PlpUse`]), as a figure.
    Plp,
    /// Dies whose loss at a time loses no data, at every age.
    Dies,
    /// Years before worn-out blocks leave no room for a write.
    Years,
    /// P/E cycles at the end of the years, by those rated.
    Pe,
    /// UBER in use, at the worst age.
    Uber,
    /// UBER after the time without power of the class, at the worst age.
    Retention,
    /// Probability of data loss within the years.
    Loss,
    /// 99th percentile of reads in microseconds, at the worst age that is replayed in time.
    ReadP99,
    /// 99.9th percentile of reads, the same way.
    ReadP999,
    /// 99th percentile of writes, the same way.
    WriteP99,
    /// Joules of flash and codecs for each GB (1e9 bytes) that the host reads or writes, the same way.
    Energy,
}

/// Share of the blocks that may be bad within the rated cycles, as vendors promise (Schroeder et al., FAST 2016).
pub const BAD_BLOCKS: f64 = 0.02;

/// Functional failures within the years that JESD218 allows (FFR).
const FFR: f64 = 0.03;

impl Need {
    /// All of them, in the order in which they are told.
    pub const ALL: [Need; 12] = [
        Need::Capacity,
        Need::Plp,
        Need::Dies,
        Need::Years,
        Need::Pe,
        Need::Uber,
        Need::Retention,
        Need::Loss,
        Need::ReadP99,
        Need::ReadP999,
        Need::WriteP99,
        Need::Energy,
    ];

    /// Those that only lives in time measure.
    pub const OF_TIME: [Need; 4] = [Need::ReadP99, Need::ReadP999, Need::WriteP99, Need::Energy];

    /// Its name in files, options and tables of data.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Need::Capacity => "capacity",
            Need::Plp => "plp",
            Need::Dies => "dies",
            Need::Years => "years",
            Need::Pe => "pe",
            Need::Uber => "uber",
            Need::Retention => "retention",
            Need::Loss => "loss",
            Need::ReadP99 => "read-p99",
            Need::ReadP999 => "read-p999",
            Need::WriteP99 => "write-p99",
            Need::Energy => "energy",
        }
    }

    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Need::Capacity => "capacity",
            Need::Plp => "PLP",
            Need::Dies => "dies that may die",
            Need::Years => "room for writes",
            Need::Pe => "rated P/E cycles",
            Need::Uber => "UBER in use",
            Need::Retention => "UBER without power",
            Need::Loss => "loss",
            Need::ReadP99 => "reads p99",
            Need::ReadP999 => "reads p99.9",
            Need::WriteP99 => "writes p99",
            Need::Energy => "energy",
        }
    }

    /// True if the limit is a minimum, else it is a maximum.
    #[must_use]
    pub fn is_least(self) -> bool {
        matches!(self, Need::Capacity | Need::Dies | Need::Years)
    }

    /// A value for readers.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Need::Capacity => format!("{} of the user capacity", percent(value)),
            Need::Plp => PlpUse::of_value(value).words(),
            Need::Dies => format!("{value:.0}"),
            Need::Years => format!("{} years", short(value)),
            Need::Pe => format!("{} of rated", percent(value)),
            Need::Uber | Need::Retention | Need::Loss => probability(value),
            Need::ReadP99 | Need::ReadP999 | Need::WriteP99 => micros(value),
            Need::Energy => format!("{} J/GB", short(value)),
        }
    }

    fn find(field: &str, name: &str) -> Result<Self, Problem> {
        let known = Self::ALL.map(Self::key);
        Self::ALL.into_iter().find(|need| need.key() == name).ok_or_else(|| Problem::unknown(field, "need", name, &known))
    }
}

/// A limit on a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The figure.
    pub need: Need,
    /// Its limit.
    pub value: f64,
    /// True if a design that breaks it is out; else it comes behind those that meet it.
    pub is_hard: bool,
}

impl Limit {
    /// By how much a value breaks the limit: the logarithm of their ratio, at most [`EXCESS_MAX`]; 0 where it does not.
    #[must_use]
    pub fn excess(&self, value: f64) -> f64 {
        // Dies and parts of PLP memory are counted from none on.
        let more = if matches!(self.need, Need::Dies | Need::Plp) { 1.0 } else { 0.0 };
        let (value, limit) = (value + more, self.value + more);
        let ratio = if self.need.is_least() { limit / value } else { value / limit };
        if ratio.is_nan() { EXCESS_MAX } else { ratio.ln().clamp(0.0, EXCESS_MAX) }
    }

    /// In words: `reads p99 at most 600 us`.
    #[must_use]
    pub fn words(&self) -> String {
        let soft = if self.is_hard { "" } else { " (soft)" };
        let limit = self.need.show(self.value);
        match self.need {
            Need::Capacity => format!("capacity with {} of blocks bad{soft}", percent(BAD_BLOCKS)),
            Need::Plp => format!("{} PLP{soft}", if self.value > 0.0 { "with" } else { "without" }),
            Need::Dies => format!("{limit} die{} may die{soft}", plural(self.value as u64)),
            Need::Years => format!("room for {limit} of writes{soft}"),
            Need::Pe => format!("P/E cycles <= {limit}{soft}"),
            need => format!("{} <= {limit}{soft}", need.words()),
        }
    }
}

/// The most that one broken limit counts.
pub const EXCESS_MAX: f64 = 100.0;

/// Needs of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Needs {
    /// Class of JESD218, whose UBER is that of the limits.
    pub class: Class,
    /// Years that it must last.
    pub years: f64,
    /// Drive writes of the host a day.
    pub dwpd: f64,
    /// Limits, one for each figure at most.
    pub limits: Vec<Limit>,
}

/// Needs as a file or options give them; what is left out has the default of the class.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Given {
    /// Name of the class.
    pub class: Option<String>,
    /// Years.
    pub years: Option<f64>,
    /// Drive writes a day.
    pub dwpd: Option<f64>,
    /// Whether the drive has PLP: `yes` or `no`.
    pub plp: Option<String>,
    /// Dies that may die.
    pub dies: Option<u32>,
    /// Most P/E cycles by those rated.
    pub pe: Option<f64>,
    /// Most UBER, in use and without power.
    pub uber: Option<f64>,
    /// Most probability of data loss within the years.
    pub loss: Option<f64>,
    /// Most p99 of reads, as a time.
    pub read_p99: Option<String>,
    /// Most p99.9 of reads.
    pub read_p999: Option<String>,
    /// Most p99 of writes.
    pub write_p99: Option<String>,
    /// Most energy by data of the host, in J/GB.
    pub energy: Option<f64>,
    /// Needs that are soft, by name.
    pub soft: Option<Vec<String>>,
}

impl Given {
    /// The needs of a file (TOML).
    ///
    /// # Errors
    /// A file that cannot be read, or a key or value that is not valid, with its place.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let text = read_settings(path).map_err(|e| Problem::new("--needs", format!("file {name} cannot be read: {e}")))?;
        Document::parse(&name, &text)?.read()
    }

    /// These, and where they say nothing, those of another.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            class: self.class.or(other.class),
            years: self.years.or(other.years),
            dwpd: self.dwpd.or(other.dwpd),
            plp: self.plp.or(other.plp),
            dies: self.dies.or(other.dies),
            pe: self.pe.or(other.pe),
            uber: self.uber.or(other.uber),
            loss: self.loss.or(other.loss),
            read_p99: self.read_p99.or(other.read_p99),
            read_p999: self.read_p999.or(other.read_p999),
            write_p99: self.write_p99.or(other.write_p99),
            energy: self.energy.or(other.energy),
            soft: self.soft.or(other.soft),
        }
    }
}

/// Memory that may have to outlive a power cut, of a drive that has PLP or has none.
fn plp_of(text: &str) -> Result<PlpUse, Problem> {
    match text {
        "yes" => Ok(PlpUse::ALL),
        "no" => Ok(PlpUse::NOTHING),
        _ => Err(Problem::new("--plp", format!("found `{}`, valid are yes, no", printable(text)))),
    }
}

impl Needs {
    /// Needs, with the defaults of their class: its UBER in use and without power, the share of drives that JESD218 lets fail
    /// (FFR, 3 %) as probability of loss, cycles within the rating, and one die that may die in the enterprise class. No class of JESD218 says
    /// anything of PLP, and drives by default have it.
    ///
    /// # Errors
    /// An unknown class or need, or a number out of its bounds.
    pub fn of(given: &Given) -> Result<Self, Problem> {
        let name = given.class.as_deref().unwrap_or("enterprise");
        let class = Class::named("--class", name)?;
        let class = Class { uber: given.uber.unwrap_or(class.uber), ..class };
        let (years, dwpd) = (given.years.unwrap_or(5.0), given.dwpd.unwrap_or(1.0));
        let soft: Vec<Need> = given.soft.iter().flatten().map(|name| Need::find("--soft", name)).collect::<Result<_, _>>()?;
        let mut limits = Vec::new();
        let mut add = |need: Need, value: f64, (least, most): (f64, f64)| {
            if !(least..=most).contains(&value) {
                let message = format!("found {value}, valid are {least} to {most}");
                return Err(Problem::new(format!("--{}", need.key()), message));
            }
            limits.push(Limit { need, value, is_hard: !soft.contains(&need) });
            Ok(())
        };
        add(Need::Capacity, 1.0, (1.0, 1.0))?;
        let plp = plp_of(given.plp.as_deref().unwrap_or("yes"))?;
        add(Need::Plp, plp.value(), (0.0, PlpUse::ALL.value()))?;
        let dies = given.dies.unwrap_or(u32::from(class.name == "enterprise"));
        if dies > 0 {
            add(Need::Dies, f64::from(dies), (0.0, 8.0))?;
        }
        add(Need::Years, years, (0.1, 20.0))?;
        add(Need::Pe, given.pe.unwrap_or(1.0), (0.01, 10.0))?;
        add(Need::Uber, class.uber, (1e-30, 1e-6))?;
        add(Need::Retention, class.uber, (1e-30, 1e-6))?;
        add(Need::Loss, given.loss.unwrap_or(FFR), (1e-20, 1.0))?;
        for (need, text) in Need::OF_TIME.into_iter().zip([&given.read_p99, &given.read_p999, &given.write_p99]) {
            if let Some(text) = text {
                add(need, micros_of(&format!("--{}", need.key()), text)?, (1.0, 1e9))?;
            }
        }
        given.energy.map_or(Ok(()), |energy| add(Need::Energy, energy, (1e-6, 1e9)))?;
        if let Some(idle) = soft.iter().find(|need| limits.iter().all(|limit| limit.need != **need)) {
            return Err(Problem::new("--soft", format!("found `{}`, which has no limit", idle.key())));
        }
        Ok(Self { class, years, dwpd, limits })
    }

    /// Whether the drive has no PLP, and a design that needs it is out.
    #[must_use]
    pub fn is_without_plp(&self) -> bool {
        self.limit(Need::Plp).is_some_and(|limit| limit.is_hard && limit.value == 0.0)
    }

    /// The limit on a figure.
    #[must_use]
    pub fn limit(&self, need: Need) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.need == need)
    }

    /// Limits that these values break, those that are known.
    #[must_use]
    pub fn broken(&self, values: &Values) -> Vec<(Limit, f64)> {
        let broken = |limit: &Limit| values.get(limit.need).filter(|value| limit.excess(*value) > 0.0).map(|v| (*limit, v));
        self.limits.iter().filter_map(broken).collect()
    }

    /// True if no known value breaks a hard limit; a value that is not known breaks none.
    #[must_use]
    pub fn are_met(&self, values: &Values) -> bool {
        self.broken(values).iter().all(|(limit, _)| !limit.is_hard)
    }

    /// By how much hard limits are broken, and how many soft ones are.
    #[must_use]
    pub fn violation(&self, values: &Values) -> (f64, usize) {
        let (hard, soft): (Vec<_>, Vec<_>) = self.broken(values).into_iter().partition(|(limit, _)| limit.is_hard);
        (hard.iter().map(|(limit, value)| limit.excess(*value)).sum(), soft.len())
    }
}

/// Figures of a design; `None` where they are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values([Option<f64>; Need::ALL.len()]);

impl Values {
    /// A figure.
    #[must_use]
    pub fn get(&self, need: Need) -> Option<f64> {
        self.0[need as usize]
    }

    /// Puts a figure in.
    pub fn set(&mut self, need: Need, value: f64) {
        self.0[need as usize] = Some(value);
    }
}
