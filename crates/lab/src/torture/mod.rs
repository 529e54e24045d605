//! Torture: random drives under random faults, each held against the engine's own oracle.
//!
//! A [`Scenario`] is plain data drawn from a seed and its number: a drive with scheme, page ECC,
//! buffer and history, what the host asks, when the power goes, what becomes of commands under way
//! and what is lost for good. It is run ([`Scenario::run`]) and must leave every page readable and
//! right, every parity the sum of what it covers, and the drive at rest. One that does not is made
//! smaller ([`shrink`]) and can be run again by its number. [`exhaustive`] leaves nothing to chance:
//! it cuts the power of a small drive at every event.

mod campaign;
mod drive;
pub mod exhaustive;
mod run;
mod scenario;
mod shrink;
mod text;

pub use campaign::{Found, Runner, Summary, Tally, campaign};
pub use drive::SCENARIOS_OF_A_DRIVE;
pub use run::{Happened, Outcome, Rule, Violation, quiet_panics};
pub use scenario::{Fates, Round, Scenario, Stop, Strike};
pub use shrink::shrink;

use crate::problem::Problem;
use ssd::protect::registry::{SCHEMES, SchemeEntry};
use ssd::{SAFETY_RULES, SafetyRule};

/// What may befall a drive.
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
    /// Reads fail now and then.
    Uncorrectable,
    /// Half the blocks of a die keep nothing and take nothing.
    Plane,
    /// Blocks wear out one after the other until the drive is read-only.
    WearOut,
    /// A cut takes power-safe memory, too.
    Memory,
    /// Reads return other pages, and programs do not happen; both report success.
    Silent,
    /// The clock jumps at a cut.
    Clock,
}

/// All kinds of faults by name.
pub const FAULT_KINDS: &[(&str, FaultKind, &str)] = &[
    ("cut", FaultKind::Cut, "the power goes, also while the drive recovers"),
    ("die", FaultKind::Die, "a die stops answering"),
    ("block", FaultKind::Block, "a block keeps nothing and takes nothing"),
    ("page", FaultKind::Page, "a page cannot be read any more"),
    ("uncorrectable", FaultKind::Uncorrectable, "one read in a thousand fails"),
    ("plane", FaultKind::Plane, "a plane of a die, every other of its blocks, keeps nothing and takes nothing"),
    ("wear-out", FaultKind::WearOut, "blocks wear out, more and more often, until the drive is read-only; if named"),
    ("memory", FaultKind::Memory, "a cut takes power-safe memory, too"),
    ("silent", FaultKind::Silent, "reads return other pages, and programs do not happen; both report success"),
    ("clock", FaultKind::Clock, "the clock comes back from a cut earlier or later than it was"),
];

/// What scenarios are drawn from.
#[derive(Clone)]
pub struct Scope {
    /// Seed of all scenarios.
    pub seed: u64,
    /// Their schemes, each as often as the others.
    pub schemes: Vec<&'static SchemeEntry>,
    /// What may befall them.
    pub faults: Vec<FaultKind>,
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
        Ok(Self { seed, schemes, faults, beyond_promise, without: None })
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
}

fn schemes_named(names: &[String]) -> Result<Vec<&'static SchemeEntry>, Problem> {
    let known: Vec<&str> = SCHEMES.iter().map(|entry| entry.name).collect();
    let unknown = names.iter().find(|name| !known.contains(&name.as_str()));
    if let Some(name) = unknown {
        return Err(Problem::unknown("--scheme", "scheme", name, &known));
    }
    let wanted = |entry: &&SchemeEntry| {
        let named = names.iter().any(|name| name == entry.name);
        named || names.is_empty() && !entry.canary
    };
    Ok(SCHEMES.iter().filter(wanted).collect())
}

fn faults_named(names: &[String]) -> Result<Vec<FaultKind>, Problem> {
    let known: Vec<&str> = FAULT_KINDS.iter().map(|(name, ..)| *name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Problem::unknown("--fault", "kind of fault", name, &known));
    }
    // At the end of life programs fail on several dies at a time, which is more than schemes promise to survive.
    let wanted = |name: &str, kind: FaultKind| match names.is_empty() {
        true => kind != FaultKind::WearOut,
        false => names.iter().any(|wanted| wanted == name),
    };
    Ok(FAULT_KINDS.iter().filter(|(name, kind, _)| wanted(name, *kind)).map(|(_, kind, _)| *kind).collect())
}
