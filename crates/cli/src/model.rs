//! The workload and the drive of lives and advice, and what both assume of drives: options that both have.

use crate::options::{PickOptions, fio_source, given};
use clap::Args;
use common::Problem;
use experiment::Overrides;
use std::ffi::OsString;
use studies::life::{CELSIUS, LifeSettings, Rates, SIGMA};

/// The workload and the drive.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// The workload, repeated until the end: a bundled trace, the path of a trace, or a generator [default: pgbench]
    #[arg(index = 1, help_heading = None::<&'static str>)]
    trace: Option<OsString>,
    /// Options of fio after `--`, in place of a trace
    #[arg(index = 2, help_heading = None::<&'static str>, last = true, value_name = "OPTION OF FIO", conflicts_with = "trace")]
    fio: Vec<OsString>,
    /// Trace format
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Columns of a CSV file in their order, such as time=us,op,lba=bytes,size=bytes; `-` skips one
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    columns: Option<String>,
    /// The part of it that is taken.
    #[command(flatten)]
    pick: PickOptions,
    /// Change any setting, for example gc.policy=fifo (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Drive preset, or a drive file: .toml, or of MQSim, SimpleSSD, NVMeVirt or FEMU
    #[arg(long, value_name = "NAME|FILE")]
    drive: Option<OsString>,
    /// User capacity: auto, drive or a size such as 4GiB
    #[arg(long, alias = "size", value_name = "SIZE")]
    capacity: Option<String>,
    /// Bit error model
    #[arg(long = "error-model", alias = "errors", value_name = "NAME")]
    errors: Option<String>,
    /// Seed of all random streams, the first of --seeds
    #[arg(long)]
    seed: Option<String>,
    /// Arrival clock of timed runs: auto, half-busy, recorded, load=SHARE, scaled=FACTOR or closed=QUEUE_DEPTH. `auto` of advice: a drive
    /// without redundancy would be a quarter busy
    #[arg(long, value_name = "HOW")]
    arrival: Option<String>,
}

impl BenchOptions {
    /// Overrides of the default experiment, with these options beside: name, setting and value.
    pub fn overrides<'a>(&'a self, beside: impl IntoIterator<Item = (&'a str, &'a str, &'a Option<String>)>) -> Overrides {
        let drive = self.drive.as_ref().map(common::path_text);
        let named = [
            ("--drive", "drive.preset", &drive),
            ("--seed", "seed", &self.seed),
            ("--error-model", "errors.model", &self.errors),
            ("--arrival", "trace.arrival", &self.arrival),
            ("--capacity", "capacity.size", &self.capacity),
            ("--format", "trace.format", &self.format),
            ("--columns", "trace.columns", &self.columns),
        ];
        let source = self.trace.clone().or_else(|| fio_source(&self.fio));
        Overrides {
            trace: source.as_deref().map(common::path_text),
            options: given(named).chain(given(beside)).chain(self.pick.settings()).collect(),
            schemes: None,
            set: self.set.clone(),
        }
    }
}

/// Failure rates, variation of bit errors, and temperature.
#[derive(Clone, Copy, Debug, Args)]
pub struct ModelOptions {
    /// Die failures per drive and year
    #[arg(long, value_name = "RATE", default_value_t = LifeSettings::default().rates.dies)]
    die_rate: f64,
    /// Failures of single blocks per drive and year
    #[arg(long, value_name = "RATE", default_value_t = LifeSettings::default().rates.blocks)]
    block_rate: f64,
    /// Hours in which a lost die is rebuilt
    #[arg(long, value_name = "N", default_value_t = LifeSettings::default().rates.rebuild_hours)]
    rebuild_hours: f64,
    /// Variation of the RBER of pages: standard deviation of its logarithm
    #[arg(long, value_name = "SIGMA", default_value_t = SIGMA.0)]
    page_sigma: f64,
    /// The same of blocks
    #[arg(long, value_name = "SIGMA", default_value_t = SIGMA.1)]
    block_sigma: f64,
    /// Draw the bit errors of a page at each read, and not once for each program
    #[arg(long)]
    redrawn_errors: bool,
    /// Temperature of the drive, in degrees Celsius
    #[arg(long, value_name = "C", default_value_t = CELSIUS)]
    celsius: f64,
}

impl ModelOptions {
    /// Settings of a life with this model, at this reference temperature of the error model in degrees Celsius, and with the defaults of
    /// all others.
    pub fn settings(self, reference_celsius: f64) -> LifeSettings {
        LifeSettings {
            rates: Rates { dies: self.die_rate, blocks: self.block_rate, rebuild_hours: self.rebuild_hours },
            sigma: (self.page_sigma, self.block_sigma),
            redrawn_errors: self.redrawn_errors,
            celsius: (self.celsius, reference_celsius),
            ..LifeSettings::default()
        }
    }
}

/// Settings of bit errors that options of a life decide.
const DECIDED: [(&str, &str); 5] = [
    ("errors.page_sigma", "--page-sigma"),
    ("errors.block_sigma", "--block-sigma"),
    ("errors.celsius", "--celsius"),
    ("errors.reference_celsius", "--reference-celsius"),
    ("errors.persistent", "--redrawn-errors"),
];

impl BenchOptions {
    /// Refuses `--set` of what an option of a life decides.
    pub fn refuse_decided(&self) -> Result<(), Problem> {
        let named = |text: &String| text.split('=').next().unwrap_or_default().trim().to_owned();
        let decides = |text: &String| DECIDED.iter().find(|(setting, _)| *setting == named(text));
        self.set.iter().find_map(decides).map_or(Ok(()), |(setting, option)| {
            let text = format!("found in a life, where {option} decides it; valid is {option}");
            Err(Problem::new(format!("--set {setting}"), text))
        })
    }
}
