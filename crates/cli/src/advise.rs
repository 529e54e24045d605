//! `flashkeep advise`.

use crate::model::{BenchOptions, ModelOptions};
use crate::options::threads as threads_of;
use crate::{CHECK_FAILED, interrupt, note, pretty, print, progress, say, threads, typed};
use clap::Args;
use common::Problem;
use experiment::{Experiment, Overrides};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use studies::advise::{Budget, Crew, Given, Heard, Needs, Stage, advise, settings};
use studies::life::{CELSIUS, LifeSettings};

/// Options of `advise`.
#[derive(Debug, Args)]
pub struct AdviseOptions {
    /// The workload and the drive.
    #[command(flatten, next_help_heading = "Workload and drive")]
    bench: BenchOptions,
    /// The needs.
    #[command(flatten)]
    needs: NeedOptions,
    /// Which designs there are, and how much is looked at.
    #[command(flatten)]
    space: SpaceOptions,
    /// Failure rates, variation of bit errors, and temperature.
    #[command(flatten, next_help_heading = "Model")]
    model: ModelOptions,
    /// Output.
    #[command(flatten)]
    output: OutputOptions,
}

/// The needs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Needs")]
struct NeedOptions {
    /// File of needs (TOML): class, years, dwpd, plp, dies, pe, uber, loss, read-p99, read-p999, write-p99, energy, soft; options win
    #[arg(long, value_name = "FILE")]
    needs: Option<PathBuf>,
    /// Class of JESD218, for the defaults: client (UBER 1e-15, a year at 30 C without power) or enterprise (1e-16, three months at 40 C, a die
    /// may die) [default: enterprise]
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// Years that the drive must last [default: 5]
    #[arg(long, value_name = "N")]
    years: Option<f64>,
    /// Host writes in drive writes per day [default: 1]
    #[arg(long, value_name = "N")]
    dwpd: Option<f64>,
    /// Whether the drive has power-loss protection: yes, or no: designs whose data or parity would be lost with power are out [default: yes]
    #[arg(long, value_name = "yes|no")]
    plp: Option<String>,
    /// Dies that may fail at a time without loss of data, at every age [default: by class]
    #[arg(long, value_name = "N")]
    dies: Option<u32>,
    /// Upper limit on P/E cycles at the end, as a share of the rated ones [default: 1]
    #[arg(long, value_name = "SHARE")]
    pe: Option<f64>,
    /// Upper limit on UBER, in use and after the time without power [default: by class]
    #[arg(long, value_name = "RATE")]
    uber: Option<f64>,
    /// Upper limit on the probability of data loss within the years [default: 0.03, the share of drives that JESD218 lets fail]
    #[arg(long, value_name = "P")]
    loss: Option<f64>,
    /// Upper limit on p99 read latency at each age that is replayed in time, such as 500us
    #[arg(long, value_name = "TIME")]
    read_p99: Option<String>,
    /// The same for p99.9
    #[arg(long, value_name = "TIME")]
    read_p999: Option<String>,
    /// The same for p99 of writes
    #[arg(long, value_name = "TIME")]
    write_p99: Option<String>,
    /// Upper limit on the energy of flash and codecs, in J for each GB that the host reads or writes, at each such age
    #[arg(long, value_name = "J/GB")]
    energy: Option<f64>,
    /// Needs that only rank designs, by name, such as pe,loss
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    soft: Option<Vec<String>>,
}

/// The space and the budget.
#[derive(Debug, Args)]
#[command(next_help_heading = "Designs and budget")]
struct SpaceOptions {
    /// Values of an axis: scheme, over-provisioning, code (as ldpc:rate=0.901), refresh, scrub, or any setting, such as
    /// scheme.da-raid5.t_p=1000,2000 (repeatable)
    #[arg(long, value_name = "KEY=A,B")]
    vary: Vec<String>,
    /// An axis with one value (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    fix: Vec<String>,
    /// Simulate at most N lives, 8 to 100,000; the answer depends on it
    #[arg(long, value_name = "N", default_value_t = Budget::default().lives)]
    lives: u32,
    /// Begin no further life after N minutes; the answer then depends on the machine, and says so [default: no limit]
    #[arg(long, value_name = "N")]
    minutes: Option<f64>,
    /// Simulate at most N designs to their end, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = Budget::default().finalists)]
    finalists: u32,
    /// Seeds under which the best designs are compared, 1 to 100
    #[arg(long, value_name = "N", default_value_t = Budget::default().seeds)]
    seeds: u32,
    /// Ages in lives in full until the rated P/E cycles
    #[arg(long, value_name = "N", default_value_t = settings().epochs)]
    epochs: u32,
    /// How many times until the rated P/E cycles the workload is replayed in time
    #[arg(long, value_name = "N", default_value_t = settings().timed)]
    timed: u32,
    /// Print the space with its size and the designs that formulas leave; simulate nothing
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    dry_run: bool,
}

/// Output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputOptions {
    /// Directory of the report: index.html, designs.csv, results.json, experiment.toml of the answer
    #[arg(short = 'o', long, alias = "output", value_name = "DIR", default_value = "report/advise")]
    report: PathBuf,
    /// Keep each whole life in DIR and skip those that are there: the same command goes on after Ctrl-C or a crash, also on several machines
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Replace files in --report that Flashkeep did not write
    #[arg(long)]
    force: bool,
    /// One JSON document on stdout
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// CSV on stdout: designs, why others are out, ages
    #[arg(long)]
    csv: bool,
    /// Lives simulated in parallel [default: all cores]
    #[arg(short = 'j', long, alias = "jobs", value_name = "N", value_parser = threads_of)]
    threads: Option<NonZeroUsize>,
}

impl AdviseOptions {
    fn needs(&self) -> Result<Needs, Problem> {
        let file = self.needs.needs.as_deref().map(Given::load).transpose()?.unwrap_or_default();
        let own = &self.needs;
        let typed = Given {
            class: own.class.clone(),
            years: own.years,
            dwpd: own.dwpd,
            plp: own.plp.clone(),
            dies: own.dies,
            pe: own.pe,
            uber: own.uber,
            loss: own.loss,
            read_p99: own.read_p99.clone(),
            read_p999: own.read_p999.clone(),
            write_p99: own.write_p99.clone(),
            energy: own.energy,
            soft: own.soft.clone(),
        };
        Needs::of(&typed.or(file))
    }

    fn vary(&self) -> Result<Vec<(String, String)>, Problem> {
        let both = [("--vary", &self.space.vary), ("--fix", &self.space.fix)];
        let texts = both.into_iter().flat_map(|(option, texts)| texts.iter().map(move |text| (option, text)));
        let axis = |(option, text): (&str, &String)| {
            let (key, values) = text.split_once('=').ok_or_else(|| {
                Problem::new(option, format!("found `{text}`, wanted an axis and its values, such as refresh=30d,none"))
            })?;
            if option == "--fix" && values.contains(',') {
                return Err(Problem::new("--fix", format!("found several values of `{key}`; `--vary` takes them")));
            }
            Ok((key.to_owned(), values.to_owned()))
        };
        texts.map(axis).collect()
    }

    fn model(&self) -> LifeSettings {
        let Self { space, model, .. } = self;
        LifeSettings { epochs: space.epochs, timed: space.timed, ..model.settings(CELSIUS) }
    }

    fn budget(&self) -> Budget {
        let SpaceOptions { lives, minutes, finalists, seeds, .. } = self.space;
        Budget { lives, minutes, finalists, seeds, ..Budget::default() }
    }
}

/// Answers which design to take.
///
/// # Errors
/// Bad input.
pub fn run(options: &AdviseOptions) -> Result<ExitCode, Problem> {
    options.bench.refuse_decided()?;
    let (asked, needs, vary) = (options.bench.overrides([]), options.needs()?, options.vary()?);
    let (model, budget, output) = (options.model(), options.budget(), &options.output);
    let experiment = Experiment::with(&asked)?;
    experiment.hints.iter().for_each(|hint| note(hint));
    let threads = threads(output.threads);
    #[expect(clippy::disallowed_methods, reason = "the driver reads the wall clock")]
    let start = Instant::now();
    let bench = lab::Bench { threads, clock: &|| start.elapsed().as_secs_f64(), progress: &|_| {} };
    if options.space.dry_run {
        print(&studies::advise::dry_run(&experiment, &vary, &needs, &model, &bench)?);
        return Ok(ExitCode::SUCCESS);
    }
    report::report_directory(&output.report, output.force)?;
    let into = output.into.as_deref().map(crate::life::kept).transpose()?;
    let is_kept = into.is_some();
    let bar = progress::Count::new("lives");
    let reached = Arc::new(Mutex::new(None::<Heard>));
    let so_far = Arc::clone(&reached);
    interrupt::saying(move || {
        let heard = (*so_far.lock().ok()?)?;
        let rest = if is_kept { "whole lives are kept, and the same command goes on" } else { "nothing was written" };
        Some(format!("stopped after {} lives, at {}; {rest}", heard.lives, heard.stage.words()))
    });
    let hear = |heard: Heard| {
        let before = reached.lock().expect("nothing panics while it is held").replace(heard);
        if heard.stage == Stage::Formulas && heard.done == 0 {
            note(&format!("{} designs; at most {} lives", heard.total, budget.lives));
        } else if before.is_none_or(|before| before.stage != heard.stage) {
            note(&format!("{}: {} of them", heard.stage.words(), heard.total));
        }
        bar.show(u64::from(heard.lives), u64::from(budget.lives));
    };
    let crew = Crew { bench: &bench, hear: &hear, into: into.as_ref() };
    let found = advise(&experiment, &vary, &needs, &model, budget, &crew);
    bar.clear();
    if let Some(kept) = into.filter(|kept| kept.found() > 0) {
        note(&format!("{} lives were there already", kept.found()));
    }
    finish(&found?, &asked, output)
}

/// Writes the report and prints the answer. Exit code 1 without an answer, or where a read was wrong.
fn finish(found: &studies::advise::Advice, asked: &Overrides, output: &OutputOptions) -> Result<ExitCode, Problem> {
    let typed = format!("flashkeep {}", typed().join(" "));
    let study = found.study(&typed);
    let repeat = found.chosen().map(|chosen| found.command(chosen, asked)).transpose()?;
    let results = found.to_json(&typed, repeat.as_deref());
    let index = studies::write_advice(found, &study, &results, &output.report)?;
    let report = format!("report: {}", index.display());
    if output.json || output.csv {
        print(&if output.json { pretty(&results) } else { study.to_csv() });
        say(&report);
    } else {
        print(&format!("{}{report}\n", found.to_screen(repeat.as_deref())));
    }
    if found.mismatches > 0 {
        say(&format!("check failed: {} reads of timed runs returned wrong data", found.mismatches));
        return Ok(ExitCode::from(CHECK_FAILED));
    }
    if found.chosen().is_none() {
        say("no design meets every hard need");
        return Ok(ExitCode::from(CHECK_FAILED));
    }
    Ok(ExitCode::SUCCESS)
}
