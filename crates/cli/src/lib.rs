//! Flashkeep on the command line. Exit codes: 0 done, 1 a check failed, 2 bad input, 3 no conclusion (with `--strict` a scheme is not
//! comparable; `crash` on a drive that hides missing flushes), 130 stopped by Ctrl-C.
//!
//! The program is [`command_line`] and nothing else; so is the command that the Python package installs.

mod advise;
mod args;
mod convert;
mod crash;
mod ctl;
mod figures;
mod help;
mod inspect;
mod interrupt;
mod life;
mod manual;
mod model;
mod names;
mod options;
mod progress;
mod serve;
mod study;
mod sweep;
mod torture;

use args::{Cli, Command};
use common::Problem;
use experiment::Experiment;
use lab::Comparison;
use options::Options;
use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// A check failed: data came back wrong.
const CHECK_FAILED: u8 = 1;
/// The input cannot be used.
const BAD_INPUT: u8 = 2;
/// Nothing failed, and yet the question has no answer: with `--strict` a scheme is not comparable with the others, or `crash` ran on a
/// drive where a missing flush cannot show.
const NO_CONCLUSION: u8 = 3;

/// All exit codes of [`command_line`].
pub const EXIT_CODES: [u8; 5] = [0, CHECK_FAILED, BAD_INPUT, NO_CONCLUSION, interrupt::INTERRUPTED];

/// The words behind the name of the program.
static TYPED: OnceLock<Vec<String>> = OnceLock::new();

/// The words behind the name of the program, as text.
fn typed() -> &'static [String] {
    TYPED.get().map_or(&[], Vec::as_slice)
}

/// Does what a command line says, once in a process. `words` are those behind the name of the program.
#[must_use]
pub fn command_line(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    TYPED.get_or_init(|| words.iter().map(common::path_text).collect());
    let cli = match help::parse(words) {
        Ok(cli) => cli,
        Err(said) => {
            // Help goes to standard output, what is wrong to standard error.
            let _ = said.print();
            return ExitCode::from(if said.use_stderr() { BAD_INPUT } else { 0 });
        }
    };
    QUIET.store(cli.quiet, Relaxed);
    match run(cli) {
        Ok(_) if OUTPUT_FAILED.load(Relaxed) => ExitCode::from(BAD_INPUT),
        Ok(code) => code,
        Err(problem) => {
            say(&format!("error: {problem}"));
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// The option `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// True under `--quiet`: the program prints no progress and no notes.
fn is_quiet() -> bool {
    QUIET.load(Relaxed)
}

/// A note on standard error, unless it is to be quiet.
fn note(text: &str) {
    if !is_quiet() {
        say(&format!("note: {text}"));
    }
}

fn run(cli: Cli) -> Result<ExitCode, Problem> {
    match cli.command {
        Command::Compare { trace, trace_option, fio, options } => {
            let source = trace.or(trace_option).or_else(|| options::fio_source(&fio));
            let file = source.as_deref().map(Path::new).filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
            let experiment = match file {
                Some(file) => Experiment::load(file, &options.overrides(None))?,
                None => Experiment::with(&options.overrides(source.as_deref()))?,
            };
            compare(&experiment, &options)
        }
        Command::Convert(options) => convert::run(&options),
        Command::Inspect(options) => inspect::run(&options),
        Command::Settings { key, json, markdown, schema } => settings(key.as_deref(), json, markdown, schema),
        Command::Completions { shell } => Ok(manual::completions(shell)),
        Command::Man { directory } => manual::pages(&directory),
        Command::Run { experiment, trace, options } => {
            compare(&Experiment::load(&experiment, &options.overrides(trace.as_deref()))?, &options)
        }
        Command::Reliability { study: None, json } => list(Some("studies"), None, json),
        Command::Reliability { study: Some(_), json: true } => {
            Err(Problem::new("reliability --json", "lists the studies; the option of a study comes after its name"))
        }
        Command::Reliability { study: Some(study), json: false } => study.run(),
        Command::Figures { paper, only, points, kept, out, experiments, traces, threads } => {
            figures::run(&figures::Wanted { paper, only, points, kept, out, experiments, traces, threads })
        }
        Command::Life(options) => life::run(&options),
        Command::Advise(options) => advise::run(&options),
        Command::Sweep { grid, out, seeds, series, logs, threads } => {
            sweep::run(&sweep::Wanted { grid, out, seeds, series, logs, threads })
        }
        Command::Torture(options) => torture::run(&options),
        Command::Crash(options) => crash::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Ctl { socket, command } => ctl::run(&socket, &command),
        Command::List { what, name: None, drive: Some(drive), json } => list_on(what.as_deref(), &drive, json),
        Command::List { name: Some(name), drive: Some(_), .. } => {
            Err(Problem::new("--drive", format!("found with `{name}`, a drive is for the whole list of schemes")))
        }
        Command::List { what, name, json, .. } => list(what.as_deref(), name.as_deref(), json),
    }
}

fn compare(experiment: &Experiment, options: &Options) -> Result<ExitCode, Problem> {
    if options.pick.strict {
        experiment::refuse_unknown(experiment)?;
    }
    experiment.hints.iter().for_each(|hint| note(hint));
    if options.dry_run {
        let line = progress::Ticker::new("requests read");
        let plan = lab::dry_run(experiment, threads(options.threads), &|count| line.set(count));
        line.clear();
        print(&plan?);
        return Ok(ExitCode::SUCCESS);
    }
    // Before hours of simulation rather than after them.
    report::report_directory(&options.report, options.force)?;
    for (option, file, ending) in
        [("--plot", &options.plot, "svg"), ("--log", &options.log, "parquet"), ("--series", &options.series, "parquet")]
    {
        file.as_deref().map_or(Ok(()), |file| report::check_ending(option, file, &[ending]))?;
    }
    warn_of_canaries(experiment.schemes.iter().map(String::as_str));
    let comparison = simulate(experiment, options)?;
    if report::replaces_another(experiment, &options.report) {
        note(&format!("overwriting the report of another experiment in {}; `--report DIR` keeps both", options.report.display()));
    }
    let index = report::write_report(&comparison, &options.report)?;
    if let Some(file) = &options.plot {
        report::write_headline(&comparison, &format!("flashkeep {}", typed().join(" ")), file)?;
    }
    if let Some(file) = &options.series {
        report::write_series(&comparison, file)?;
    }
    if options.json {
        let text = serde_json::to_string_pretty(&comparison.to_json()).expect("a JSON document prints");
        print(&format!("{text}\n"));
        comparison.warnings().iter().for_each(|warning| say(&format!("warning: {warning}")));
        say(&format!("report: {}", index.display()));
    } else {
        let text = if options.full {
            report::to_table(&comparison)
        } else {
            report::to_screen(&comparison, options.explain, screen_width())
        };
        print(&format!("{text}report: {}\n", index.display()));
    }
    Ok(verdict(&comparison, options))
}

/// Characters of a line of the terminal, or as many as `COLUMNS` in the environment says; `None` in a pipe. A line has 60 at least.
fn screen_width() -> Option<usize> {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let of_terminal = || console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    asked.or_else(of_terminal).map(|columns| columns.max(60))
}

/// Warns of schemes that lose data on purpose.
fn warn_of_canaries<'a>(schemes: impl IntoIterator<Item = &'a str>) {
    for name in studies::canaries_among(schemes) {
        say(&format!("warning: `{name}` loses data on purpose, to see that it is noticed; `flashkeep list canaries` has more"));
    }
}

fn simulate(experiment: &Experiment, options: &Options) -> Result<Comparison, Problem> {
    let threads = threads(options.threads);
    let bars = progress::Bars::new(&experiment.schemes, experiment.seeds as usize);
    let (reached, log) = (bars.reached(), options.log.clone());
    interrupt::saying(move || {
        log.as_deref().into_iter().for_each(lab::forget_log);
        Some(format!("stopped: {}; nothing was written", reached.words()))
    });
    // The front door is where wall-clock time comes in; results do not depend on it.
    #[expect(clippy::disallowed_methods, reason = "the driver reads the wall clock")]
    let start = Instant::now();
    let bench = lab::Bench { threads, clock: &|| start.elapsed().as_secs_f64(), progress: &|progress| bars.show(progress) };
    let log = options.log.as_deref().map(lab::RequestLog::new).transpose()?;
    let comparison = lab::compare_logged(experiment, &bench, log.as_ref());
    bars.clear();
    let comparison = comparison?;
    log.map_or(Ok(()), lab::RequestLog::finish)?;
    Ok(comparison)
}

/// Threads as given, else one a core.
fn threads(given: Option<NonZeroUsize>) -> usize {
    given.or_else(|| std::thread::available_parallelism().ok()).map_or(1, Into::into)
}

fn verdict(comparison: &Comparison, options: &Options) -> ExitCode {
    if comparison.passed() {
        let is_apart = options.pick.strict && !comparison.verdict.is_comparable();
        return if is_apart { ExitCode::from(NO_CONCLUSION) } else { ExitCode::SUCCESS };
    }
    let again = options.report.join("experiment.toml");
    say(&format!("check failed: wrong data was returned; repeat with: flashkeep run {}", again.display()));
    ExitCode::from(CHECK_FAILED)
}

fn settings(key: Option<&str>, json: bool, markdown: bool, schema: bool) -> Result<ExitCode, Problem> {
    let found = key.map_or_else(experiment::settings, experiment::settings_at)?;
    let entry = |one: &experiment::Setting| {
        serde_json::json!({
            "key": one.key,
            "meaning": one.meaning,
            "kind": one.kind,
            "names": one.names.iter().map(|(name, meaning)| serde_json::json!({ "name": name, "meaning": meaning })).collect::<Vec<_>>(),
            "valid": one.valid,
            "default": one.default,
        })
    };
    print(&match (json, markdown, schema) {
        (true, ..) => pretty(&found.iter().map(entry).collect()),
        (_, true, _) => experiment::settings_page(&found),
        (.., true) => pretty(&experiment::settings_schema(&found)),
        _ => experiment::settings_text(&found),
    });
    Ok(ExitCode::SUCCESS)
}

fn list(what: Option<&str>, name: Option<&str>, json: bool) -> Result<ExitCode, Problem> {
    if let (Some(what), Some(name)) = (what, name) {
        let entries = (studies::list(what)?.entries)();
        let known: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        if !known.contains(&name) {
            return Err(Problem::unknown("", &format!("entry of {what}"), name, &known));
        }
        let one: Vec<_> = entries.into_iter().filter(|entry| entry.name == name).collect();
        print(&if json { pretty(&entries_json(one)) } else { entries_text(one) });
        return Ok(ExitCode::SUCCESS);
    }
    let text = match (what, json) {
        (None, false) => {
            let line = |list: &studies::List| format!("{:<11} {}\n", list.name, list.about);
            studies::LISTS.iter().map(line).collect()
        }
        (None, true) => {
            let lists = studies::LISTS.iter().map(|list| (list.name.to_owned(), entries_json((list.entries)())));
            pretty(&lists.collect::<serde_json::Map<_, _>>().into())
        }
        (Some(name), false) => {
            let entries = (studies::list(name)?.entries)();
            let more = entries.iter().any(|entry| !entry.details.is_empty());
            let hint = if more { format!("  `flashkeep list {name} NAME` prints the options of one\n") } else { String::new() };
            entries_text(entries.into_iter().map(|entry| studies::Listed { details: Vec::new(), ..entry }).collect()) + &hint
        }
        (Some(name), true) => pretty(&entries_json((studies::list(name)?.entries)())),
    };
    print(&text);
    Ok(ExitCode::SUCCESS)
}

/// Schemes, each with whether it runs on a drive.
fn list_on(what: Option<&str>, drive: &str, json: bool) -> Result<ExitCode, Problem> {
    if let Some(other) = what.filter(|what| *what != "schemes") {
        return Err(Problem::new("--drive", format!("found with list `{other}`, only the list `schemes` depends on a drive")));
    }
    let entries = studies::schemes_on(drive)?;
    print(&if json { pretty(&entries_json(entries)) } else { entries_text(entries) });
    Ok(ExitCode::SUCCESS)
}

fn entries_text(entries: Vec<studies::Listed>) -> String {
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in entries {
        let source = if entry.source.is_empty() { String::new() } else { format!(" [{}]", entry.source) };
        text.push_str(&format!("{:<width$}  {}{source}\n", entry.name, entry.summary));
        for detail in entry.details {
            text.push_str(&format!("{:<width$}    {detail}\n", ""));
        }
    }
    text
}

fn entries_json(entries: Vec<studies::Listed>) -> serde_json::Value {
    let entry = |entry: studies::Listed| {
        serde_json::json!({
            "name": entry.name,
            "summary": entry.summary,
            "source": entry.source,
            "details": entry.details,
        })
    };
    entries.into_iter().map(entry).collect()
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).expect("a JSON document prints"))
}

/// Whether results could not be printed.
static OUTPUT_FAILED: AtomicBool = AtomicBool::new(false);

/// Prints results. A reader that went away (`| head`) is no failure; a full disk is one, said once.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe && !OUTPUT_FAILED.swap(true, Relaxed) => {
            say(&format!("error: standard output cannot be written: {error}"));
        }
        _ => {}
    }
}

/// Says something that is no result.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
