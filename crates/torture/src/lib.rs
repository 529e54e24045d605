//! Torture: random drives under random faults, each checked against the engine's own oracle.
//!
//! A [`Scenario`] is plain data drawn from a seed and its number: a drive with scheme, page ECC,
//! buffer and history, what the host asks, when the power goes, what becomes of commands under way
//! and what is lost permanently. It is run ([`Scenario::run`]) and must leave every page readable and
//! right, every parity the sum of what it covers, and the drive at rest. One that does not is made
//! smaller ([`shrink`]) and can be run again by its number. [`exhaustive`] leaves nothing to chance:
//! it cuts the power of a small drive at every event. A [`Campaign`] is cut into pieces that are kept, so that any
//! number of processes may run it.

mod apart;
mod campaign;
mod draw;
mod drive;
pub mod exhaustive;
mod flows;
mod gathered;
mod kept;
mod ladder;
mod lived;
mod pieces;
mod plan;
mod promise;
mod replaced;
mod rule;
mod run;
mod scenario;
mod shape;
mod shrink;
mod slc;
mod text;
mod together;
mod wide;
mod workload;

pub use apart::{Apart, TakenApart};
pub use campaign::{Found, KEPT_OF_A_KIND, Runner, Summary, Tally, campaign};
pub use drive::SCENARIOS_OF_A_DRIVE;
pub use kept::{Crew, Encode, Kept};
pub use lived::{Lived, Stretch};
pub use pieces::{Campaign, PIECE, PIECE_MAX, PIECES_MAX};
pub use promise::{Befalls, Losses, Promise, promise};
pub use rule::{RULES, Rule, Violation};
pub use run::{Happened, Outcome, quiet_panics};
pub use scenario::{Fates, Round, Scenario, Stop, Strike, When};
pub use shrink::shrink;

use common::Problem;
use ssd::protect::registry::{JOINED, SCHEMES, SchemeEntry};
use ssd::{SAFETY_RULES, SafetyRule};

/// Kind of fault that a drive may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The power goes.
    Cut,
    /// A die stops answering.
    Die,
    /// A block keeps nothing and takes nothing.
    Block,
    /// A page cannot be read any more.
    Page,
    /// Pages that share cells cannot be read any more.
    WordLine,
    /// Reads fail now and then.
    Uncorrectable,
    /// Half the blocks of a die keep nothing and take nothing.
    Plane,
    /// Blocks wear out one after the other until the drive is read-only.
    WearOut,
    /// A cut takes PLP memory, too.
    Memory,
    /// Reads return other pages, and programs do not happen; both report success.
    Silent,
    /// The clock jumps at a cut.
    Clock,
}

impl FaultKind {
    /// Kinds of which a part of the flash is lost permanently.
    pub const LOSSES: &[Self] = &[Self::Die, Self::Block, Self::Page, Self::Plane, Self::WordLine];
}

/// How faults come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// Any kinds on one drive.
    Together,
    /// Losses and cuts together, and other kinds on drives that meet nothing else. Numbers mean what they meant before
    /// there was [`Self::Together`]: known scenarios stay known.
    Apart,
    /// As [`Self::Together`], on drives of 33 to 128 dies, whose stripes, rows and codewords are mostly narrower than the drive.
    Wide,
    /// As [`Self::Together`], on drives that program several pages together.
    Gathered,
    /// As [`Self::Gathered`], with LDPC codes and a ladder of reads.
    Ladder,
    /// As [`Self::Together`], on drives with an SLC cache, where the scheme can have one.
    Slc,
    /// The scenarios of [`Self::Together`], in most of which the requests are of two flows with clocks of their own.
    Flows,
    /// As [`Self::Together`], of schemes of static stripes, with dies that die and are replaced.
    Replaced,
    /// As [`Self::Together`], on drives that have lived before.
    Lived,
}

/// All draws by name.
pub const DRAWS: &[(&str, Draws)] = &[
    ("together", Draws::Together),
    ("apart", Draws::Apart),
    ("wide", Draws::Wide),
    ("gathered", Draws::Gathered),
    ("ladder", Draws::Ladder),
    ("slc", Draws::Slc),
    ("flows", Draws::Flows),
    ("replaced", Draws::Replaced),
    ("lived", Draws::Lived),
];

/// All kinds of faults by name.
pub const FAULT_KINDS: &[(&str, FaultKind, &str)] = &[
    ("cut", FaultKind::Cut, "the power goes, also while the drive recovers"),
    ("die", FaultKind::Die, "a die stops answering"),
    ("block", FaultKind::Block, "a block keeps nothing and takes nothing"),
    ("page", FaultKind::Page, "a page cannot be read any more"),
    ("uncorrectable", FaultKind::Uncorrectable, "one read in a thousand fails"),
    ("plane", FaultKind::Plane, "a plane of a die, every other of its blocks, keeps nothing and takes nothing"),
    ("wear-out", FaultKind::WearOut, "blocks wear out, more and more often, until the drive is read-only"),
    ("memory", FaultKind::Memory, "a cut takes PLP memory, too"),
    ("silent", FaultKind::Silent, "reads return other pages, and programs do not happen; both report success"),
    ("word-line", FaultKind::WordLine, "pages that share cells cannot be read any more"),
    ("clock", FaultKind::Clock, "the clock comes back from a cut earlier or later than it was"),
];

/// Options from which scenarios are drawn.
#[derive(Clone)]
pub struct Scope {
    /// Seed of all scenarios.
    pub seed: u64,
    /// Their schemes, each as often as the others.
    pub schemes: Vec<&'static SchemeEntry>,
    /// Faults that they may have.
    pub faults: Vec<FaultKind>,
    /// How these come together.
    pub draws: Draws,
    /// Whether more may be lost than the schemes promise to survive.
    pub beyond_promise: bool,
    /// A rule that the drives break.
    pub without: Option<SafetyRule>,
}

impl Scope {
    /// A scope from names as typed; no scheme means all but those that lose data on purpose, and no
    /// fault means all kinds.
    ///
    /// # Errors
    /// Unknown names.
    pub fn named(seed: u64, schemes: &[String], faults: &[String], beyond_promise: bool) -> Result<Self, Problem> {
        let (schemes, faults) = (schemes_named(schemes)?, faults_named(faults)?);
        Ok(Self { seed, schemes, faults, draws: Draws::Together, beyond_promise, without: None })
    }

    /// The same with [`Draws::Apart`], where no fault means the kinds that were default then.
    ///
    /// # Errors
    /// Unknown names.
    pub fn apart(seed: u64, schemes: &[String], faults: &[String], beyond_promise: bool) -> Result<Self, Problem> {
        let mut scope = Self::named(seed, schemes, faults, beyond_promise)?;
        if faults.is_empty() {
            scope.faults.retain(|kind| ![FaultKind::WearOut, FaultKind::WordLine].contains(kind));
        }
        Ok(Self { draws: Draws::Apart, ..scope })
    }

    /// The same with the draws of this name.
    ///
    /// # Errors
    /// Unknown names.
    pub fn drawn(draws: &str, seed: u64, schemes: &[String], faults: &[String], beyond_promise: bool) -> Result<Self, Problem> {
        let known: Vec<&str> = DRAWS.iter().map(|(name, _)| *name).collect();
        match DRAWS.iter().find(|(name, _)| *name == draws) {
            None => Err(Problem::unknown("--draws", "way of drawing", draws, &known)),
            Some((_, Draws::Together)) => Self::named(seed, schemes, faults, beyond_promise),
            Some((_, Draws::Apart)) => Self::apart(seed, schemes, faults, beyond_promise),
            Some(&(_, draws @ (Draws::Wide | Draws::Gathered | Draws::Ladder | Draws::Slc | Draws::Flows | Draws::Lived))) => {
                Self::named(seed, schemes, faults, beyond_promise).map(|scope| Self { draws, ..scope })
            }
            Some((_, Draws::Replaced)) => {
                let names = if schemes.is_empty() { replaced::schemes() } else { schemes.to_vec() };
                let scope = Self::named(seed, &names, faults, beyond_promise)?;
                replaced::check(&scope)?;
                Ok(Self { draws: Draws::Replaced, ..scope })
            }
        }
    }

    /// The same with drives that break the rule of this name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn without(mut self, rule: &str) -> Result<Self, Problem> {
        let known: Vec<&str> = SAFETY_RULES.iter().map(|(name, _)| *name).collect();
        let found = SAFETY_RULES.iter().find(|(name, _)| *name == rule);
        let (_, rule) = found.ok_or_else(|| Problem::unknown("--without", "rule", rule, &known))?;
        self.without = Some(*rule);
        Ok(self)
    }

    /// The command that runs a scenario again; what is default is left out.
    #[must_use]
    pub fn command(&self, number: u64) -> String {
        let draws = name_of(DRAWS.iter().copied(), self.draws);
        let default = Self::drawn(draws, self.seed, &[], &[], self.beyond_promise).ok();
        let all = |is: &dyn Fn(&Self) -> bool| default.as_ref().is_some_and(is);
        let option = |option: &str, names: Vec<&str>| format!(" {option} {}", names.join(","));
        let mut command = format!("flashkeep torture --seed {}", self.seed);
        if self.draws != Draws::Together {
            command += &option("--draws", vec![draws]);
        }
        if !all(&|default| default.scheme_names() == self.scheme_names()) {
            command += &option("--scheme", self.scheme_names());
        }
        if !all(&|default| default.faults == self.faults) {
            command += &option("--fault", self.fault_names());
        }
        if self.beyond_promise {
            command += " --beyond-promise";
        }
        if let Some(rule) = self.without {
            command += &option("--without", vec![name_of(SAFETY_RULES.iter().copied(), rule)]);
        }
        format!("{command} --scenario {number}")
    }

    fn scheme_names(&self) -> Vec<&'static str> {
        self.schemes.iter().map(|entry| entry.name).collect()
    }

    fn fault_names(&self) -> Vec<&'static str> {
        let name = |&kind| name_of(FAULT_KINDS.iter().map(|(name, kind, _)| (*name, *kind)), kind);
        self.faults.iter().map(name).collect()
    }
}

/// The name of a value of a registry.
fn name_of<T: PartialEq>(mut of: impl Iterator<Item = (&'static str, T)>, value: T) -> &'static str {
    of.find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

fn schemes_named(names: &[String]) -> Result<Vec<&'static SchemeEntry>, Problem> {
    let all = || SCHEMES.iter().chain(JOINED);
    let known: Vec<&str> = all().map(|entry| entry.name).collect();
    let unknown = names.iter().find(|name| !known.contains(&name.as_str()));
    if let Some(name) = unknown {
        return Err(Problem::unknown("--scheme", "scheme", name, &known));
    }
    let wanted = |entry: &&SchemeEntry| {
        let named = names.iter().any(|name| name == entry.name);
        named || names.is_empty() && !entry.canary && !entry.name.contains('+')
    };
    Ok(all().filter(wanted).collect())
}

fn faults_named(names: &[String]) -> Result<Vec<FaultKind>, Problem> {
    let known: Vec<&str> = FAULT_KINDS.iter().map(|(name, ..)| *name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Problem::unknown("--fault", "kind of fault", name, &known));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    Ok(FAULT_KINDS.iter().filter(|(name, ..)| wanted(name)).map(|(_, kind, _)| *kind).collect())
}
