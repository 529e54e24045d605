//! `flashkeep life`.

use crate::model::{BenchOptions, ModelOptions};
use crate::options::threads as threads_of;
use crate::{CHECK_FAILED, interrupt, pretty, print, progress, say, threads, typed, warn_of_canaries};
use clap::Args;
use common::Problem;
use experiment::Experiment;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;
use studies::life::{
    CELSIUS, CLASSES, Class, Kept, LifeSettings, bytes_of, days_of, life_until, lives, micros_of, phases_of, years_of,
};

/// Options of `life`.
#[derive(Debug, Args)]
pub struct LifeOptions {
    /// The workload and the drive.
    #[command(flatten, next_help_heading = "Workload and drive")]
    bench: BenchOptions,
    /// Schemes and seeds.
    #[command(flatten)]
    compared: ComparedOptions,
    /// The load of the drive, and when its life ends.
    #[command(flatten)]
    asked: AskedOptions,
    /// How closely the life is looked at.
    #[command(flatten)]
    looks: LookOptions,
    /// Wear of blocks, and the reference temperature.
    #[command(flatten)]
    wear: WearOptions,
    /// Failure rates, variation of bit errors, and temperature.
    #[command(flatten, next_help_heading = "Model")]
    model: ModelOptions,
    /// Output.
    #[command(flatten)]
    output: OutputOptions,
}

/// Schemes and seeds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Lives")]
struct ComparedOptions {
    /// Schemes, separated by commas
    #[arg(long, visible_alias = "scheme", value_name = "A,B,C")]
    schemes: Option<String>,
    /// Page ECC policy
    #[arg(long, value_name = "NAME")]
    ecc: Option<String>,
    /// Repeat with N consecutive seeds, from --seed on, and report 95 % confidence intervals
    #[arg(long, value_name = "N")]
    seeds: Option<String>,
}

/// The load of the drive, and when its life ends.
#[derive(Debug, Args)]
#[command(next_help_heading = "Use and end of life")]
struct AskedOptions {
    /// Host writes in drive writes per day
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    dwpd: f64,
    /// Stop after N years [default: at the end of the drive, at most 100]
    #[arg(long, value_name = "N")]
    years: Option<f64>,
    /// Phases of the calendar, again and again, such as `years=1; years=2,dwpd=0.3,celsius=50,hours=8; months=3,off,celsius=30`: lengths in years,
    /// months or days; drive writes a day, temperature, hours with power a day; or switched off, with the temperature in the meantime
    #[arg(long, value_name = "PHASES")]
    phases: Option<String>,
    /// Years after which a die dies, with commas between them, such as 2 or 2,4: the last die, then the one before. The drive rebuilds what it can
    #[arg(long, value_name = "YEARS")]
    die_dies: Option<String>,
    /// Spare dies: each takes the place of a die that dies by --die-dies
    #[arg(long, value_name = "N", default_value_t = 0)]
    spare_dies: u32,
    /// Age at which data are refreshed (read and written again), such as 30d, or `none`
    #[arg(long, value_name = "TIME", default_value = "30d")]
    refresh: String,
    /// Age at which all data are read and unreadable pages are written again, such as 30d, or `none`
    #[arg(long, value_name = "TIME", default_value = "none")]
    scrub: String,
    /// Class of JESD218: limit on UBER, and time without power at the end of life (client: 1e-15, a year at 30 C; enterprise: 1e-16, three
    /// months at 40 C)
    #[arg(long, value_name = "NAME", default_value = "enterprise", value_parser = class)]
    class: Class,
    /// Limit on UBER instead of that of the class, 1e-30 to 1
    #[arg(long, value_name = "RATE")]
    uber: Option<f64>,
    /// A life ends when p99 of reads is above this, such as 500us; the workload is then replayed in time at every age
    #[arg(long, value_name = "TIME")]
    read_p99: Option<String>,
    /// User capacity of the drive that this one stands for, such as 3.84TB: loss is that of such a drive
    #[arg(long, value_name = "SIZE")]
    represents: Option<String>,
}

/// How closely the life is looked at.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ages")]
struct LookOptions {
    /// Ages at which the drive is looked at until the rated P/E cycles, 1 to 1000; it leaps from one to the next
    #[arg(long, value_name = "N", default_value_t = 20)]
    epochs: u32,
    /// Simulate every program of the life instead of leaps
    #[arg(long)]
    every_program: bool,
    /// How many times until the rated P/E cycles the workload is replayed in time, at most 1000; 0: never
    #[arg(long, value_name = "N", default_value_t = 4)]
    timed: u32,
    /// Vary each uncertain number alone, for its effect on the end and the loss; takes about 16 lives for each scheme
    #[arg(long)]
    tornado: bool,
}

/// Wear of blocks, and the reference temperature.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
struct WearOptions {
    /// Share of blocks that are worn out at the rated P/E cycles
    #[arg(long, value_name = "SHARE", default_value_t = 0.005)]
    worn_at_rated: f64,
    /// Exponent of the Weibull distribution of the cycles at which blocks wear out
    #[arg(long, value_name = "N", default_value_t = 4.0)]
    wear_exponent: f64,
    /// Temperature that times of the error model are meant at
    #[arg(long, value_name = "C", default_value_t = CELSIUS)]
    reference_celsius: f64,
}

/// Output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputOptions {
    /// Directory of the report: index.html, ages.csv, results.json, experiment.toml
    #[arg(short = 'o', long, alias = "output", value_name = "DIR", default_value = "report/life")]
    report: PathBuf,
    /// Keep each whole life in DIR and skip those that are there: the same command goes on after Ctrl-C or a crash, also on several machines
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Replace files in --report that Flashkeep did not write
    #[arg(long)]
    force: bool,
    /// Print every age instead of the first screen
    #[arg(short = 'v', long, conflicts_with_all = ["json", "csv"])]
    full: bool,
    /// Print logs of the drive at some ages: SMART, Endurance Group and OCP C0h
    #[arg(long, conflicts_with_all = ["json", "csv", "full"])]
    smart: bool,
    /// One JSON document on stdout
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// CSV on stdout: tables with an empty line between them: ends, deaths, strata, seeds, tornado, ages, smart
    #[arg(long)]
    csv: bool,
    /// Lives simulated in parallel [default: all cores]
    #[arg(short = 'j', long, alias = "jobs", value_name = "N", value_parser = threads_of)]
    threads: Option<NonZeroUsize>,
}

/// Ages of each scheme that `--smart` prints.
const SMART_AGES: usize = 6;

fn class(text: &str) -> Result<Class, String> {
    let known = || CLASSES.map(|class| class.name).join(" and ");
    CLASSES.into_iter().find(|class| class.name == text).ok_or_else(|| format!("known are {}", known()))
}

impl LifeOptions {
    fn experiment(&self) -> Result<Experiment, Problem> {
        let ComparedOptions { schemes, ecc, seeds } = &self.compared;
        let beside = [("--seeds", "seeds", seeds), ("--ecc", "ecc.policy", ecc)];
        self.bench.refuse_decided()?;
        Experiment::with(&experiment::Overrides { schemes: schemes.clone(), ..self.bench.overrides(beside) })
    }

    fn settings(&self) -> Result<LifeSettings, Problem> {
        let Self { asked, looks, wear, .. } = self;
        Ok(LifeSettings {
            dwpd: asked.dwpd,
            years: asked.years,
            epochs: looks.epochs,
            leaps: !looks.every_program,
            timed: looks.timed,
            refresh_days: days_of("--refresh", &asked.refresh)?,
            scrub_days: days_of("--scrub", &asked.scrub)?,
            represents: asked.represents.as_deref().map(|text| bytes_of("--represents", text)).transpose()?,
            tornado: looks.tornado,
            phases: asked.phases.as_deref().map_or(Ok(Vec::new()), |text| phases_of("--phases", text))?,
            die_dies: asked.die_dies.as_deref().map_or(Ok(Vec::new()), |text| years_of("--die-dies", text))?,
            spare_dies: asked.spare_dies,
            class: Class { uber: asked.uber.unwrap_or(asked.class.uber), ..asked.class },
            read_p99_us: asked.read_p99.as_deref().map(|text| micros_of("--read-p99", text)).transpose()?,
            worn: (wear.worn_at_rated, wear.wear_exponent),
            ..self.model.settings(wear.reference_celsius)
        })
    }
}

/// The lives that are kept in a directory.
pub(crate) fn kept(path: &Path) -> Result<Kept, Problem> {
    Kept::open(path, RandomState::new().hash_one(std::process::id()))
}

/// Says how many lives of all were kept before.
fn tell(kept: &Kept, all: usize) {
    if kept.found() > 0 {
        say(&format!("{} of {all} lives were there already", kept.found()));
    }
}

/// Simulates lives.
///
/// # Errors
/// Bad input.
pub fn run(options: &LifeOptions) -> Result<ExitCode, Problem> {
    let (experiment, settings, output) = (options.experiment()?, options.settings()?, &options.output);
    report::report_directory(&output.report, output.force)?;
    warn_of_canaries(experiment.schemes.iter().map(String::as_str));
    let into = output.into.as_deref().map(kept).transpose()?;
    let bar = progress::Count::new("% of all rated P/E cycles");
    let all = lives(&experiment, &settings);
    let reached = Mutex::new(vec![0.0; all]);
    interrupt::noted();
    #[expect(clippy::disallowed_methods, reason = "the driver reads the wall clock")]
    let start = Instant::now();
    let bench = lab::Bench { threads: threads(output.threads), clock: &|| start.elapsed().as_secs_f64(), progress: &|_| {} };
    let hear = |number: usize, _years: f64, share: f64| {
        let mut reached = reached.lock().expect("nothing panics while it is held");
        reached[number] = share.min(1.0);
        let done: f64 = reached.iter().sum::<f64>() / reached.len() as f64;
        bar.show((done * 100.0) as u64, 100);
    };
    let found = life_until(&experiment, &settings, &bench, &hear, &interrupt::asked, into.as_ref());
    bar.clear();
    let found = found?;
    into.inspect(|kept| tell(kept, all));
    let study = found.study(&format!("flashkeep {}", typed().join(" ")));
    let index = studies::write_life(&found, &study, &output.report)?;
    if output.json || output.csv {
        print(&if output.json { pretty(&study.to_json()) } else { study.to_csv() });
        say(&format!("report: {}", index.display()));
    } else {
        let text = match (output.full, output.smart) {
            (true, _) => study.to_text(),
            (_, true) => found.smart_text(SMART_AGES),
            _ => found.to_screen(),
        };
        print(&format!("{text}report: {}\n", index.display()));
    }
    if interrupt::asked() {
        let rest = if output.into.is_some() { "; whole lives are kept, and the same command goes on" } else { "" };
        say(&format!("stopped: the report has the lives as far as they came{rest}"));
        return Ok(ExitCode::from(interrupt::INTERRUPTED));
    }
    if found.passed() {
        return Ok(ExitCode::SUCCESS);
    }
    say("check failed: wrong data was returned in a timed run");
    Ok(ExitCode::from(CHECK_FAILED))
}
