//! `flashkeep torture`.

use crate::args::TortureOptions;
use crate::{CHECK_FAILED, print, progress, say, threads};
use lab::Problem;
use lab::torture::{self, Outcome, Runner, Scenario, Scope, Summary};
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
    let scope = Scope::named(options.seed, &options.scheme, &options.fault, options.beyond_promise)?;
    if !(options.minutes > 0.0 && options.minutes <= 1e6) {
        return Err(Problem::new("--minutes", format!("found {}, valid are more than 0 and up to 1000000", options.minutes)));
    }
    torture::quiet_panics();
    if let Some(number) = options.scenario {
        return Ok(replay(&scope, number, options));
    }
    Ok(campaign(&scope, options))
}

fn campaign(scope: &Scope, options: &TortureOptions) -> ExitCode {
    let elapsed = stopwatch();
    let line = progress::Ticker::new("scenarios");
    let summary = torture::campaign(
        scope,
        &Runner {
            threads: threads(options.threads),
            scenarios: options.scenarios,
            keep_going: options.keep_going,
            go_on: &|| elapsed().as_secs_f64() < options.minutes * 60.0,
            progress: &|| line.tick(),
        },
    );
    let seconds = elapsed().as_secs_f64();
    line.clear();
    print(&format!("{}\n{}\n", summary.to_text(), totals(&summary, seconds, threads(options.threads))));
    for (_, tally) in &summary.schemes {
        if let Some(found) = &tally.first {
            let (scenario, outcome) = scope.replay(found.number);
            tell(scope, options, found.number, scenario, &outcome);
        }
    }
    verdict(summary.total().violations == 0)
}

fn totals(summary: &Summary, seconds: f64, threads: usize) -> String {
    let total = summary.total();
    let rate = total.scenarios as f64 / seconds.max(1e-9) / threads as f64;
    format!(
        "{} scenarios, {} power cuts, {} losses, {} pages checked, {} violations in {seconds:.1} s: {rate:.0} scenarios a second and core",
        total.scenarios, total.cuts, total.losses, total.pages_checked, total.violations,
    )
}

fn replay(scope: &Scope, number: u64, options: &TortureOptions) -> ExitCode {
    let (scenario, outcome) = scope.replay(number);
    let passed = outcome.violation.is_none();
    if passed {
        let text = scenario.map(|scenario| scenario.to_text(&outcome)).unwrap_or_default();
        print(&format!("scenario {number}\n{text}no rule was broken\n"));
    } else {
        tell(scope, options, number, scenario, &outcome);
    }
    verdict(passed)
}

fn verdict(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) }
}

/// What broke, the command that does it again, and a scenario as small as can be found.
fn tell(scope: &Scope, options: &TortureOptions, number: u64, scenario: Option<Scenario>, outcome: &Outcome) {
    let Some(violation) = outcome.broken() else { return };
    print(&format!("\nscenario {number}: {violation}\n"));
    if let Some(scenario) = scenario {
        let elapsed = stopwatch();
        let (small, outcome) = torture::shrink(&scenario, &|| elapsed() < SHRINK);
        print(&format!("made smaller:\n{}", small.to_text(&outcome)));
    }
    say(&format!(
        "check failed: flashkeep {}, seed {}; repeat with: {}",
        env!("CARGO_PKG_VERSION"),
        scope.seed,
        command(options, number)
    ));
}

/// The command that runs one scenario again.
fn command(options: &TortureOptions, number: u64) -> String {
    let list = |option: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!(" {option} {}", names.join(",")),
    };
    format!(
        "flashkeep torture --seed {}{}{}{} --scenario {number}",
        options.seed,
        list("--scheme", &options.scheme),
        list("--fault", &options.fault),
        if options.beyond_promise { " --beyond-promise" } else { "" },
    )
}
