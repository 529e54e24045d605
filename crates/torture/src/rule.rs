//! Rules that a scenario may violate, and how one was.

use std::fmt;

/// Rule that a scenario may violate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A read returns what was written.
    Wrong,
    /// Acknowledged data are kept.
    Lost,
    /// Every parity is the sum of what it covers.
    Audit,
    /// No invariant of the engine breaks.
    Panic,
    /// The drive comes to rest.
    Rest,
}

/// All rules by name.
pub const RULES: &[(&str, Rule)] = &[
    ("wrong read", Rule::Wrong),
    ("acknowledged data lost", Rule::Lost),
    ("audit", Rule::Audit),
    ("panic", Rule::Panic),
    ("no rest", Rule::Rest),
];

impl Rule {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        RULES.iter().find(|(_, rule)| *rule == self).map_or("", |(name, _)| name)
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// How, in words.
    pub what: String,
}

impl Violation {
    /// Whether the other is probably the same defect.
    #[must_use]
    pub(super) fn is_like(&self, other: &Self) -> bool {
        // A panic is known by its place.
        let place = |violation: &Self| violation.what.rfind(" (").map(|at| violation.what[at..].to_owned());
        self.rule == other.rule && (self.rule != Rule::Panic || place(self) == place(other))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule.name(), self.what)
    }
}
