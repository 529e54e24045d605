//! Many scenarios on several threads, with the same results on any number of them.

use crate::Scope;
use crate::drive::{SCENARIOS_OF_A_DRIVE, ready};
use crate::rule::Violation;
use crate::run::{Outcome, guarded};
use crate::scenario::Scenario;
use common::table::{Row, aligned, grouped};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Nanos;

/// Scenarios that are remembered of each kind of violation of a scheme; all are counted.
pub const KEPT_OF_A_KIND: usize = 100;

/// How scenarios are run; it changes no result, except how many there are.
pub struct Runner<'a> {
    /// Threads.
    pub threads: usize,
    /// Number of the first scenario, a multiple of [`SCENARIOS_OF_A_DRIVE`].
    pub first: u64,
    /// How many at most; `None`: as long as `go_on` says.
    pub scenarios: Option<u64>,
    /// Whether violations are counted instead of ending the campaign.
    pub keep_going: bool,
    /// Asked before each drive; called from several threads.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
    /// Hears of each scenario done; called from several threads.
    pub progress: &'a (dyn Fn() + Sync),
}

/// Counts of one scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Scenarios.
    pub scenarios: u64,
    /// Power cuts.
    pub cuts: u64,
    /// Pages that mounts looked at.
    pub looks: u64,
    /// Time that mounts took to look.
    pub mounting: Nanos,
    /// Losses.
    pub losses: u64,
    /// Pages read and checked against the oracle.
    pub pages_checked: u64,
    /// Scenarios in which a rule was broken.
    pub violations: u64,
    /// The first of each kind of these.
    pub found: Vec<Found>,
}

/// A kind of violation: the scenario that broke a rule so first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub number: u64,
    /// How.
    pub violation: Violation,
    /// The next that broke it so, in the order in which they were counted, up to [`KEPT_OF_A_KIND`] with the first.
    pub next: Vec<(u64, Violation)>,
    /// Scenarios that broke it so.
    pub times: u64,
}

/// Results of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// By scheme, in the order of the scope.
    pub schemes: Vec<(String, Tally)>,
}

impl Tally {
    fn count(&mut self, number: u64, outcome: Outcome) {
        self.scenarios += 1;
        self.cuts += outcome.cuts;
        self.looks += outcome.looks;
        self.mounting += outcome.mounting;
        self.losses += outcome.losses;
        self.pages_checked += outcome.pages_checked;
        if let Some((_, violation)) = outcome.violation {
            self.violations += 1;
            self.find(Found { number, violation, next: Vec::new(), times: 1 });
        }
    }

    fn find(&mut self, new: Found) {
        match self.found.iter_mut().find(|found| found.violation.is_like(&new.violation)) {
            Some(found) => {
                found.times += new.times;
                let left = KEPT_OF_A_KIND - 1 - found.next.len();
                found.next.extend([(new.number, new.violation)].into_iter().chain(new.next).take(left));
            }
            None => self.found.push(new),
        }
    }

    pub(super) fn add(&mut self, other: Tally) {
        self.scenarios += other.scenarios;
        self.cuts += other.cuts;
        self.looks += other.looks;
        self.mounting += other.mounting;
        self.losses += other.losses;
        self.pages_checked += other.pages_checked;
        self.violations += other.violations;
        other.found.into_iter().for_each(|found| self.find(found));
    }
}

impl Summary {
    /// That of no scenario.
    pub(super) fn none(scope: &Scope) -> Self {
        Self { schemes: scope.schemes.iter().map(|entry| (entry.name.to_owned(), Tally::default())).collect() }
    }

    /// Counts the scenarios of a drive. Schemes take turns.
    pub(super) fn count(&mut self, drive: u64, tally: Tally) {
        let of = (drive % self.schemes.len() as u64) as usize;
        self.schemes[of].1.add(tally);
    }

    /// The sum over all schemes.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.schemes.iter().for_each(|(_, tally)| total.add(tally.clone()));
        total
    }

    /// A line for each scheme.
    #[must_use]
    pub fn to_text(&self) -> String {
        let cells = [
            "scenarios",
            "power cuts",
            "pages scanned per mount",
            "mount time, us",
            "flash failures",
            "pages checked",
            "violations",
        ];
        let mut rows = vec![Row { label: "scheme".into(), cells: cells.map(String::from).to_vec() }];
        let row = |label: &str, tally: &Tally| {
            let (mounts, us) = (tally.cuts.max(1), tally.mounting.0 / 1000);
            let mount = [tally.looks / mounts, us / mounts];
            let cells = [tally.scenarios, tally.cuts, mount[0], mount[1], tally.losses, tally.pages_checked, tally.violations];
            Row { label: label.into(), cells: cells.map(grouped).to_vec() }
        };
        rows.extend(self.schemes.iter().map(|(scheme, tally)| row(scheme, tally)));
        if self.schemes.len() > 1 {
            rows.push(row("all", &self.total()));
        }
        aligned(&rows)
    }
}

/// Runs scenarios 0, 1, .. of the scope. Without `keep_going` it ends with the first that breaks a
/// rule, and counts up to that.
#[must_use]
pub fn campaign(scope: &Scope, with: &Runner<'_>) -> Summary {
    let (next, bad) = (AtomicU64::new(with.first / SCENARIOS_OF_A_DRIVE), AtomicU64::new(u64::MAX));
    let done: Mutex<Vec<(u64, Tally)>> = Mutex::new(Vec::new());
    let end = with.scenarios.map_or(u64::MAX, |scenarios| with.first.saturating_add(scenarios));
    let work = || {
        loop {
            // Drives are taken in order: those before a bad one are all run to their end.
            let drive = next.fetch_add(1, Relaxed);
            let first = drive.saturating_mul(SCENARIOS_OF_A_DRIVE);
            if first >= end || bad.load(Relaxed) < first || !(with.go_on)() {
                return;
            }
            let tally = of_drive(scope, drive, end.min(first + SCENARIOS_OF_A_DRIVE), with);
            if !with.keep_going
                && let Some(found) = tally.found.first()
            {
                bad.fetch_min(found.number, Relaxed);
            }
            done.lock().expect("no thread panics with it").push((drive, tally));
        }
    };
    std::thread::scope(|scope| {
        (1..with.threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let mut done = done.into_inner().expect("no thread panics with it");
    done.sort_by_key(|(drive, _)| *drive);
    let last_drive = bad.load(Relaxed) / SCENARIOS_OF_A_DRIVE;
    let mut summary = Summary::none(scope);
    for (drive, tally) in done.into_iter().filter(|(drive, _)| *drive <= last_drive) {
        summary.count(drive, tally);
    }
    summary
}

/// The scenarios of one drive, up to number `end`.
pub(super) fn of_drive(scope: &Scope, drive: u64, end: u64, with: &Runner<'_>) -> Tally {
    let first = drive * SCENARIOS_OF_A_DRIVE;
    let mut tally = Tally::default();
    let ready = match guarded(|| ready(scope, drive)) {
        Ok(ready) => ready,
        Err(violation) => {
            tally.count(first, Outcome { violation: Some((0, violation)), ..Outcome::default() });
            return tally;
        }
    };
    for number in first..end {
        let scenario = Scenario::on(scope, number, &ready.setup, &ready.plan);
        tally.count(number, scenario.run_on(ready.session.clone()));
        (with.progress)();
        if tally.violations > 0 && !with.keep_going {
            break;
        }
    }
    tally
}

impl Scope {
    /// Runs the scenarios of one drive, numbers `drive * SCENARIOS_OF_A_DRIVE` and following, as the campaign does.
    /// `each` gets the number and outcome of each scenario, and the drive after it; `None` if the drive cannot be built.
    pub fn replay_drive(&self, drive: u64, each: &mut dyn FnMut(u64, &Outcome, Option<&ssd::Session>)) {
        let first = drive * SCENARIOS_OF_A_DRIVE;
        let ready = match guarded(|| ready(self, drive)) {
            Ok(ready) => ready,
            Err(violation) => {
                return each(first, &Outcome { violation: Some((0, violation)), ..Outcome::default() }, None);
            }
        };
        for number in first..first + SCENARIOS_OF_A_DRIVE {
            let scenario = Scenario::on(self, number, &ready.setup, &ready.plan);
            let (outcome, session) = scenario.run_and_keep(ready.session.clone());
            each(number, &outcome, Some(&session));
        }
    }

    /// Runs one scenario as the campaign does.
    #[must_use]
    pub fn replay(&self, number: u64) -> (Option<Scenario>, Outcome) {
        match guarded(|| Scenario::with_drive(self, number)) {
            Ok((scenario, session)) => {
                let outcome = scenario.run_on(session);
                (Some(scenario), outcome)
            }
            Err(violation) => (None, Outcome { violation: Some((0, violation)), ..Outcome::default() }),
        }
    }
}
