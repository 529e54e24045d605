//! `flashkeep torture`.

use crate::options::TortureOptions;
use crate::{CHECK_FAILED, interrupt, print, progress, say, threads, warn_of_canaries};
use common::Problem;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use torture::{Campaign, Crew, Kept, Outcome, Runner, Scenario, Scope, Summary, exhaustive};

/// Longest search for a smaller scenario.
const SHRINK: Duration = Duration::from_secs(2);

/// The wall clock: results do not depend on it, only how many there are.
fn stopwatch() -> impl Fn() -> Duration + Sync {
    #[expect(clippy::disallowed_methods, reason = "the driver reads the wall clock")]
    let start = Instant::now();
    move || start.elapsed()
}

/// Runs what was asked for.
///
/// # Errors
/// Bad input.
pub fn run(options: &TortureOptions) -> Result<ExitCode, Problem> {
    let mut scope = Scope::drawn(&options.draws, options.seed, &options.scheme, &options.fault, options.beyond_promise)?;
    if let Some(rule) = &options.without {
        scope = scope.without(rule)?;
    }
    if !(options.minutes > 0.0 && options.minutes <= 1e6) {
        return Err(Problem::new("--minutes", format!("found {}, valid are more than 0 and up to 1000000", options.minutes)));
    }
    if options.scenarios == Some(0) && options.into.is_none() {
        return Err(Problem::new("--scenarios", "found 0, at least one scenario is needed"));
    }
    if !options.from.is_multiple_of(torture::SCENARIOS_OF_A_DRIVE) {
        let valid = format!("valid are multiples of {}, the scenarios of a drive", torture::SCENARIOS_OF_A_DRIVE);
        return Err(Problem::new("--from", format!("found {}, {valid}", options.from)));
    }
    warn_of_canaries(options.scheme.iter().map(String::as_str));
    torture::quiet_panics();
    if let Some(number) = options.scenario {
        return Ok(replay(&scope, number));
    }
    if let (Some(into), Some(scenarios)) = (&options.into, options.scenarios) {
        return kept(Campaign::new(scope, scenarios, options.piece)?, into, options);
    }
    Ok(if options.exhaustive { every_event(&scope, options) } else { campaign(&scope, options) })
}

fn every_event(scope: &Scope, options: &TortureOptions) -> ExitCode {
    let line = progress::Count::new("drives");
    let cases = exhaustive::cases(scope, options.depth);
    let total = cases.len();
    let done = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&done);
    interrupt::saying(move || {
        let tried = seen.lock().expect("nothing panics while it is held");
        print(&exhaustive::to_text(&tried));
        Some(format!("stopped: the table is of the {} of {total} drives that were tried to their end", tried.len()))
    });
    let note = |tried: &exhaustive::Tried| {
        let mut done = done.lock().expect("nothing panics while it is held");
        done.push(tried.clone());
        line.show(done.len() as u64, total as u64);
    };
    let tried = exhaustive::run(cases, threads(options.threads), &note);
    line.clear();
    print(&exhaustive::to_text(&tried));
    for tried in &tried {
        if let Some(first) = &tried.first {
            print(&format!("\n{}: {}\n{}\n", tried.name, first.violation, first.words));
            print(&smaller(&first.scenario));
        }
    }
    let passed = tried.iter().all(|tried| tried.violations == 0);
    if !passed {
        let depth = if options.depth > 1 { format!(" --depth {}", options.depth) } else { String::new() };
        let schemes = list("--scheme", &options.scheme);
        failed(scope, &format!("flashkeep torture --exhaustive --seed {}{schemes}{depth}", options.seed));
    }
    verdict(passed)
}

/// Says how to see it again.
fn failed(scope: &Scope, command: &str) {
    say(&format!("check failed: flashkeep {}, seed {}; repeat with: {command}", env!("CARGO_PKG_VERSION"), scope.seed));
}

/// An option with names, if there are any.
fn list(option: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" {option} {}", names.join(",")) }
}

fn campaign(scope: &Scope, options: &TortureOptions) -> ExitCode {
    interrupt::noted();
    let elapsed = stopwatch();
    let line = progress::Ticker::new("scenarios");
    let summary = torture::campaign(
        scope,
        &Runner {
            threads: threads(options.threads),
            first: options.from,
            scenarios: options.scenarios,
            keep_going: options.keep_going,
            go_on: &|| {
                let is_time = options.scenarios.is_some() || elapsed().as_secs_f64() < options.minutes * 60.0;
                is_time && !interrupt::asked()
            },
            progress: &|| line.tick(),
        },
    );
    let seconds = elapsed().as_secs_f64();
    line.clear();
    let speed = speed(summary.total().scenarios, seconds, threads(options.threads));
    print(&format!("{}\n{} in {seconds:.1} s: {speed}\n", summary.to_text(), totals(&summary)));
    let found = tell_all(scope, &summary);
    if interrupt::asked() {
        say("stopped: the totals are of the scenarios that were run");
        if summary.total().violations == 0 {
            return ExitCode::from(interrupt::INTERRUPTED);
        }
    }
    found
}

/// A campaign in a directory: what has no part there is run.
fn kept(campaign: Campaign, into: &Path, options: &TortureOptions) -> Result<ExitCode, Problem> {
    let directory = campaign.open(into)?;
    let (elapsed, bar) = (stopwatch(), progress::Count::new("scenarios"));
    let turn = RandomState::new().hash_one(std::process::id());
    let done = Arc::new(AtomicU64::new(0));
    let (seen, total) = (Arc::clone(&done), campaign.scenarios());
    interrupt::saying(move || {
        let done = seen.load(Relaxed);
        Some(format!("stopped: {done} of {total} scenarios are done and kept; the same command goes on"))
    });
    let note = |now, total| {
        done.store(now, Relaxed);
        bar.show(now, total);
    };
    let crew = Crew { threads: threads(options.threads), turn, progress: &note, encode: report::parquet_bytes };
    let kept = campaign.run_into(&directory, &crew);
    let seconds = elapsed().as_secs_f64();
    bar.clear();
    let Kept { summary, found, run, others } = kept?;
    if found > 0 {
        say(&format!("{found} of {} pieces were there already", campaign.pieces()));
    }
    if others > 0 {
        let folder = directory.folder();
        say(&format!("{others} parts in {} are of campaigns of another length and are left alone", folder.display()));
    }
    print(&format!("{}\n{}\n", summary.to_text(), totals(&summary)));
    if run > 0 {
        print(&format!("{} run now, in {seconds:.1} s: {}\n", counted(run, "scenario"), speed(run, seconds, crew.threads)));
    }
    let tables = [directory.results(), directory.file("violations.parquet")];
    print(&format!("{}\n{}\n", tables[0].display(), tables[1].display()));
    Ok(tell_all(campaign.scope(), &summary))
}

/// The first violation of each kind of each scheme.
fn tell_all(scope: &Scope, summary: &Summary) -> ExitCode {
    for found in summary.schemes.iter().flat_map(|(_, tally)| &tally.found) {
        let (scenario, outcome) = scope.replay(found.number);
        tell(scope, found.number, scenario, &outcome);
        if found.times > 1 {
            print(&format!("{} of this scheme ended alike\n", counted(found.times, "scenario")));
        }
    }
    verdict(summary.total().violations == 0)
}

fn speed(scenarios: u64, seconds: f64, threads: usize) -> String {
    format!("{:.0} scenarios per second and core", scenarios as f64 / seconds.max(1e-9) / threads as f64)
}

fn totals(summary: &Summary) -> String {
    let total = summary.total();
    let [scenarios, cuts, failures] = [(total.scenarios, "scenario"), (total.cuts, "power cut"), (total.losses, "flash failure")]
        .map(|(n, noun)| counted(n, noun));
    let [pages, violations] = [(total.pages_checked, "page"), (total.violations, "violation")].map(|(n, noun)| counted(n, noun));
    format!("{scenarios}, {cuts}, {failures}, {pages} checked, {violations}")
}

/// A number of things.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", common::plural(count))
}

fn replay(scope: &Scope, number: u64) -> ExitCode {
    let (scenario, outcome) = scope.replay(number);
    let passed = outcome.violation.is_none();
    if passed {
        let text = scenario.map(|scenario| scenario.to_text(&outcome)).unwrap_or_default();
        print(&format!("scenario {number}\n{text}no rule was broken\n"));
    } else {
        tell(scope, number, scenario, &outcome);
    }
    verdict(passed)
}

fn verdict(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) }
}

/// Prints the broken rule, the command that repeats it, and a scenario as small as can be found.
fn tell(scope: &Scope, number: u64, scenario: Option<Scenario>, outcome: &Outcome) {
    let Some(violation) = outcome.broken() else { return };
    print(&format!("\nscenario {number}: {violation}\n"));
    print(&scenario.map(|scenario| smaller(&scenario)).unwrap_or_default());
    failed(scope, &scope.command(number));
}

/// The scenario made smaller, as text; nothing if it breaks no rule.
fn smaller(scenario: &Scenario) -> String {
    let elapsed = stopwatch();
    let (small, outcome) = torture::shrink(scenario, &|| elapsed() < SHRINK);
    if outcome.broken().is_some() { format!("made smaller:\n{}", small.to_text(&outcome)) } else { String::new() }
}
