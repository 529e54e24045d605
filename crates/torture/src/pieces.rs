//! A campaign cut into pieces. What a piece gives depends on the campaign and the numbers of its scenarios, on nothing
//! else, and goes from process to process as a [part](common::parts); the pieces together give what one run gives.

use crate::campaign::{Found, KEPT_OF_A_KIND, Runner, Summary, Tally, of_drive};
use crate::drive::SCENARIOS_OF_A_DRIVE;
use crate::rule::{RULES, Violation};
use crate::run::quiet_panics;
use crate::{DRAWS, SAFETY_RULES, Scope, name_of};
use common::parts::Part;
use common::{Columns, Problem, Row, VERSION, Values};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::ops::Range;
use vocab::{Nanos, fnv, fnv_on};

/// Scenarios of a piece, where nothing else is said: some seconds of one core.
pub const PIECE: u64 = 20_000;

/// Scenarios that a piece may have.
pub const PIECE_MAX: u64 = 1_600_000;

/// Pieces that a campaign may have: each is a file.
pub const PIECES_MAX: u64 = 100_000;

/// More than a piece can count, so that sums over all pieces fit.
const COUNT_MAX: u64 = 1 << 46;

/// Version of the rows of a piece.
const FORMAT: u32 = 1;

/// Scenarios 0, 1, .. of a scope, in pieces. Violations are counted; none ends it.
#[derive(Clone)]
pub struct Campaign {
    scope: Scope,
    scenarios: u64,
    piece: u64,
    /// Hash of the identity.
    hash: u64,
}

/// A row of a piece: what was done to a scheme.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemeRow {
    scheme: String,
    scenarios: u64,
    cuts: u64,
    looks: u64,
    mounting_ns: u64,
    losses: u64,
    pages_checked: u64,
    violations: u64,
    kinds: Vec<KindRow>,
}

/// A kind of violation: numbers of scenarios, and how each broke the rule.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindRow {
    rule: String,
    times: u64,
    broken: Vec<(u64, String)>,
}

impl Campaign {
    /// Scenarios 0 to `scenarios` - 1 in pieces of `piece` scenarios; the last may have fewer.
    ///
    /// # Errors
    /// No scenario, a piece that would divide a drive or is too large, or too many pieces.
    pub fn new(scope: Scope, scenarios: u64, piece: u64) -> Result<Self, Problem> {
        if piece == 0 || piece > PIECE_MAX || !piece.is_multiple_of(SCENARIOS_OF_A_DRIVE) {
            let valid = format!("valid are multiples of {SCENARIOS_OF_A_DRIVE} up to {PIECE_MAX}");
            return Err(Problem::new("--piece", format!("found {piece}, {valid}")));
        }
        let most = piece * PIECES_MAX;
        if scenarios == 0 || scenarios > most {
            let valid = format!("valid with pieces of {piece} are 1 to {most}");
            return Err(Problem::new("--scenarios", format!("found {scenarios}, {valid}")));
        }
        let mut campaign = Self { scope, scenarios, piece, hash: 0 };
        campaign.hash = fnv(serde_json::to_string(&campaign.identity()).expect("plain data").as_bytes());
        Ok(campaign)
    }

    /// Where its scenarios are from.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Its scenarios.
    #[must_use]
    pub fn scenarios(&self) -> u64 {
        self.scenarios
    }

    /// Its pieces, at least 1.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.scenarios.div_ceil(self.piece) as usize
    }

    /// Numbers of the scenarios of a piece.
    ///
    /// # Panics
    /// If the campaign has no such piece.
    #[must_use]
    pub fn range(&self, piece: usize) -> Range<u64> {
        assert!(piece < self.pieces(), "the campaign has {} pieces, there is no piece {piece}", self.pieces());
        let first = piece as u64 * self.piece;
        first..self.scenarios.min(first + self.piece)
    }

    /// All that a scenario depends on, and the size of pieces, by name. A larger campaign has the pieces of a smaller
    /// one, so the number of scenarios is not among it.
    #[must_use]
    pub fn identity(&self) -> Row {
        let scope = &self.scope;
        let identity = json!({
            "flashkeep_campaign": FORMAT,
            "version": VERSION,
            "seed": scope.seed,
            "schemes": scope.scheme_names(),
            "faults": scope.fault_names(),
            "draws": name_of(DRAWS.iter().copied(), scope.draws),
            "beyond_promise": scope.beyond_promise,
            "without": scope.without.map(|rule| name_of(SAFETY_RULES.iter().copied(), rule)),
            "piece": self.piece,
        });
        identity.as_object().expect("a table").clone()
    }

    /// Hash of all that a piece depends on.
    #[must_use]
    pub fn key(&self, piece: usize) -> u64 {
        let Range { start, end } = self.range(piece);
        [start, end].iter().fold(self.hash, |hash, end| fnv_on(hash, &end.to_le_bytes()))
    }

    /// Runs a piece, on this thread.
    #[must_use]
    pub fn part(&self, piece: usize) -> Part {
        // The outcome of a panic has the place in the code, and only the panic hook is told that.
        quiet_panics();
        let with = Runner { threads: 1, first: 0, scenarios: None, keep_going: true, go_on: &|| true, progress: &|| {} };
        let (mut summary, range) = (Summary::none(&self.scope), self.range(piece));
        for drive in range.start / SCENARIOS_OF_A_DRIVE..range.end.div_ceil(SCENARIOS_OF_A_DRIVE) {
            let end = range.end.min((drive + 1) * SCENARIOS_OF_A_DRIVE);
            summary.count(drive, of_drive(&self.scope, drive, end, &with));
        }
        Part { key: self.key(piece), rows: summary.schemes.into_iter().map(|(scheme, tally)| to_row(scheme, tally)).collect() }
    }

    /// Results of all pieces together; parts in order of the pieces.
    ///
    /// # Errors
    /// A part that is missing or belongs to something else.
    pub fn merged(&self, mut part: impl FnMut(usize) -> Result<Part, Problem>) -> Result<Summary, Problem> {
        let mut summary = Summary::none(&self.scope);
        for piece in 0..self.pieces() {
            let part = part(piece)?;
            let tallies = self.tallies(piece, part).ok_or_else(|| {
                let Range { start, end } = self.range(piece);
                Problem::new("", format!("the part of scenarios {start} to {} is not of this campaign", end - 1))
            })?;
            summary.schemes.iter_mut().zip(tallies).for_each(|((_, total), tally)| total.add(tally));
        }
        Ok(summary)
    }

    /// The tallies of a part; `None` where no run of the piece gives them.
    fn tallies(&self, piece: usize, part: Part) -> Option<Vec<Tally>> {
        let (range, schemes) = (self.range(piece), self.scope.scheme_names());
        if part.key != self.key(piece) || part.rows.len() != schemes.len() {
            return None;
        }
        part.rows.into_iter().zip(schemes).map(|(row, scheme)| to_tally(row, scheme, &range)).collect()
    }
}

fn to_row(scheme: String, tally: Tally) -> Row {
    let kind = |found: Found| {
        let first = (found.number, found.violation.what);
        let next = found.next.into_iter().map(|(number, violation)| (number, violation.what));
        let broken = [first].into_iter().chain(next).collect();
        KindRow { rule: found.violation.rule.name().to_owned(), times: found.times, broken }
    };
    let row = SchemeRow {
        scheme,
        scenarios: tally.scenarios,
        cuts: tally.cuts,
        looks: tally.looks,
        mounting_ns: tally.mounting.0,
        losses: tally.losses,
        pages_checked: tally.pages_checked,
        violations: tally.violations,
        kinds: tally.found.into_iter().map(kind).collect(),
    };
    serde_json::to_value(row).ok().and_then(|row| row.as_object().cloned()).expect("plain data")
}

fn to_tally(row: Row, scheme: &str, range: &Range<u64>) -> Option<Tally> {
    let row: SchemeRow = serde_json::from_value(row.into()).ok()?;
    let counts = [row.cuts, row.looks, row.mounting_ns, row.losses, row.pages_checked, row.violations];
    if row.scheme != scheme || row.scenarios > range.end - range.start || counts.iter().any(|count| *count > COUNT_MAX) {
        return None;
    }
    let tally = Tally {
        scenarios: row.scenarios,
        cuts: row.cuts,
        looks: row.looks,
        mounting: Nanos(row.mounting_ns),
        losses: row.losses,
        pages_checked: row.pages_checked,
        violations: row.violations,
        found: row.kinds.into_iter().map(|kind| to_found(kind, range)).collect::<Option<_>>()?,
    };
    let found = tally.found.iter().try_fold(0_u64, |sum, found| sum.checked_add(found.times));
    (found == Some(tally.violations) && tally.violations <= tally.scenarios).then_some(tally)
}

fn to_found(kind: KindRow, range: &Range<u64>) -> Option<Found> {
    let rule = RULES.iter().find(|(name, _)| *name == kind.rule)?.1;
    let is_sound = kind.broken.len() <= KEPT_OF_A_KIND && kind.broken.iter().all(|(number, _)| range.contains(number));
    let mut broken = kind.broken.into_iter().map(|(number, what)| (number, Violation { rule, what }));
    let (number, violation) = broken.next().filter(|_| is_sound)?;
    Some(Found { number, violation, next: broken.collect(), times: kind.times })
}

impl Summary {
    /// A row for each scheme: what was done to it.
    #[must_use]
    pub fn columns(&self, seed: u64) -> Columns {
        let row = |(scheme, tally): &(String, Tally)| {
            let row = json!({
                "scheme": scheme,
                "scenarios": tally.scenarios,
                "cuts": tally.cuts,
                "looks": tally.looks,
                "mounting_ns": tally.mounting.0,
                "losses": tally.losses,
                "pages_checked": tally.pages_checked,
                "violations": tally.violations,
                "seed": seed,
            });
            row.as_object().expect("a table").clone()
        };
        Columns::of(&self.schemes.iter().map(row).collect::<Vec<_>>())
    }

    /// A row for each violation that is remembered, by number.
    #[must_use]
    pub fn violations(&self) -> Columns {
        let (mut rows, none) = (Vec::new(), Vec::new);
        for (scheme, tally) in &self.schemes {
            for found in &tally.found {
                let first = [(found.number, &found.violation)].into_iter();
                let all = first.chain(found.next.iter().map(|(number, violation)| (*number, violation)));
                rows.extend(all.map(|(number, violation)| (number, scheme, violation, found.times)));
            }
        }
        rows.sort_by_key(|(number, ..)| *number);
        let text = || Values::Text(none());
        let whole = || Values::Whole(Vec::new());
        let names = [("scenario", whole()), ("scheme", text()), ("rule", text()), ("what", text()), ("alike", whole())];
        let mut columns = Columns::named(names.into());
        for (scenario, scheme, violation, alike) in rows {
            let (rule, what) = (violation.rule.name(), &violation.what);
            let row = json!({ "scenario": scenario, "scheme": scheme, "rule": rule, "what": what, "alike": alike });
            columns.push(row.as_object().expect("a table"));
        }
        columns
    }
}
