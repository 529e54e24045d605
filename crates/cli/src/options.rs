//! Options of commands, those that several of them have in structs of their own.

use clap::Args;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Most threads: each takes memory before it does anything.
const THREADS_MAX: usize = 1024;

/// Most power cuts in a row. Work grows with the power of this.
const DEPTH_MAX: i64 = 8;

pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let valid = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= THREADS_MAX);
    valid.ok_or_else(|| format!("valid is 1 to {THREADS_MAX}"))
}

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct InspectOptions {
    /// The workload.
    #[command(flatten)]
    pub workload: WorkloadOptions,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// Also write tables and plots to DIR/index.html
    #[arg(short = 'o', long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Replace files in --report that Flashkeep did not write
    #[arg(long, requires = "report")]
    pub force: bool,
}

/// A workload that is read, and the part of it.
#[derive(Debug, Args)]
pub struct WorkloadOptions {
    /// A bundled trace, the path of a trace, `-`, or a generator
    #[arg(index = 1, required_unless_present_any = ["trace_option", "fio"])]
    pub trace: Option<OsString>,
    /// The trace, as an option
    #[arg(long = "trace", value_name = "TRACE", conflicts_with = "trace")]
    pub trace_option: Option<OsString>,
    /// Options of fio after `--`, in place of a trace
    #[arg(index = 2, last = true, value_name = "OPTION OF FIO", conflicts_with_all = ["trace", "trace_option"])]
    pub fio: Vec<OsString>,
    /// Trace format
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Columns of a CSV file in their order, such as time=us,op,lba=bytes,size=bytes; `-` skips one
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    pub columns: Option<String>,
    /// User capacity of the drive, for fio jobs without a size or with a size in percent [default: that of the drive `tlc`]
    #[arg(long, value_name = "SIZE")]
    pub capacity: Option<String>,
    /// The part of it that is taken.
    #[command(flatten)]
    pub pick: PickOptions,
    /// Change any setting of the trace, for example trace.blk_action=Q (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// A part of a workload.
#[derive(Debug, Args)]
pub struct PickOptions {
    /// Requests of one device, numbered from 0 in order of appearance
    #[arg(long, value_name = "N")]
    pub device: Option<String>,
    /// Requests from this time on, counted from the first request, such as 90s
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Requests before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Skip the first N requests
    #[arg(long, value_name = "N")]
    pub skip: Option<String>,
    /// End after N requests
    #[arg(long, value_name = "N")]
    pub first: Option<String>,
    /// Append a recording to the first (repeatable)
    #[arg(long, value_name = "TRACE")]
    pub then: Vec<OsString>,
    /// Merge a recording with the first by time (repeatable)
    #[arg(long, value_name = "TRACE")]
    pub beside: Vec<OsString>,
    /// Refuse parameters of a foreign file that its own program does not know; exit with 3 if a scheme is not comparable
    #[arg(long)]
    pub strict: bool,
}

impl PickOptions {
    /// The settings these options stand for.
    pub fn settings(&self) -> impl Iterator<Item = (String, String, String)> + '_ {
        let named = [
            ("--device", "trace.device", &self.device),
            ("--since", "trace.since", &self.since),
            ("--until", "trace.until", &self.until),
            ("--skip", "trace.skip", &self.skip),
            ("--first", "trace.first", &self.first),
        ];
        let lists = [("--then", "trace.then", &self.then), ("--beside", "trace.beside", &self.beside)];
        let joined =
            lists.into_iter().flat_map(|(option, path, list)| list.iter().map(move |one| (option, path, common::path_text(one))));
        given(named).chain(joined.map(|(option, path, value)| (option.into(), path.into(), value)))
    }
}

/// The settings of those of these options that were given: the option, its path and its value.
pub fn given<'a>(
    named: impl IntoIterator<Item = (&'a str, &'a str, &'a Option<String>)>,
) -> impl Iterator<Item = (String, String, String)> {
    named.into_iter().filter_map(|(option, path, value)| Some((option.into(), path.into(), value.clone()?)))
}

/// Options of fio as the name of a workload.
pub fn fio_source(words: &[OsString]) -> Option<OsString> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    (!words.is_empty()).then(|| experiment::fio_command(words.iter().map(String::as_str)).into())
}

impl WorkloadOptions {
    /// The settings these options stand for.
    #[must_use]
    pub fn overrides(&self) -> experiment::Overrides {
        let named = [
            ("--format", "trace.format", &self.format),
            ("--columns", "trace.columns", &self.columns),
            ("--capacity", "capacity.size", &self.capacity),
        ];
        let fio = fio_source(&self.fio);
        experiment::Overrides {
            trace: self.trace.as_ref().or(self.trace_option.as_ref()).or(fio.as_ref()).map(common::path_text),
            options: given(named).chain(self.pick.settings()).collect(),
            schemes: None,
            set: self.set.clone(),
        }
    }
}

/// Options of `convert`.
#[derive(Debug, Args)]
pub struct ConvertOptions {
    /// The workload.
    #[command(flatten)]
    pub workload: WorkloadOptions,
    /// Format to write
    #[arg(long, value_name = "NAME")]
    pub to: String,
    /// File to write; an existing file is an error [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Options of `compare` and `run`.
#[derive(Debug, Args)]
pub struct Options {
    /// Schemes, separated by commas
    #[arg(long, visible_alias = "scheme", value_name = "A,B,C")]
    pub schemes: Option<String>,
    /// Drive preset, or a drive file: .toml, or of MQSim, SimpleSSD, NVMeVirt or FEMU
    #[arg(long, value_name = "NAME|FILE")]
    pub drive: Option<OsString>,
    /// Directory of the report: index.html, results.json, experiment.toml
    #[arg(short = 'o', long, alias = "output", value_name = "DIR", default_value = "report")]
    pub report: PathBuf,
    /// Replace files in --report that Flashkeep did not write
    #[arg(long)]
    pub force: bool,
    /// Print all tables and notes instead of the first screen
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Add a latency breakdown to the first screen
    #[arg(long, conflicts_with_all = ["json", "full"])]
    pub explain: bool,
    /// One JSON document on stdout instead of the table
    #[arg(long)]
    pub json: bool,
    /// Print the plan (drives, work, memory) and simulate nothing
    #[arg(long, conflicts_with_all = ["json", "full", "explain"])]
    pub dry_run: bool,
    /// Draw latency, write amplification and energy as one static picture
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Write a request log: each request with its latency breakdown
    #[arg(long, value_name = "FILE.parquet")]
    pub log: Option<PathBuf>,
    /// Write a time series: one row per scheme and interval
    #[arg(long, value_name = "FILE.parquet")]
    pub series: Option<PathBuf>,
    /// Seed of all random streams
    #[arg(long)]
    pub seed: Option<String>,
    /// Repeat with N consecutive seeds and report 95 % confidence intervals [default: 1]
    #[arg(long, alias = "repeats", value_name = "N")]
    pub seeds: Option<String>,
    /// Run each flow alone as well: slowdown and fairness
    #[arg(long)]
    pub alone: bool,
    /// Payload of pages: none, tag or page
    #[arg(long)]
    pub payload: Option<String>,
    /// Change any setting, for example gc.policy=fifo (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Page ECC policy
    #[arg(long, value_name = "NAME")]
    pub ecc: Option<String>,
    /// Bit error model
    #[arg(long = "error-model", alias = "errors", value_name = "NAME")]
    pub errors: Option<String>,
    /// Repeat the workload N times; each repetition finds the drive as the one before left it
    #[arg(long, value_name = "N")]
    pub loops: Option<String>,
    /// Arrival clock: auto, half-busy, recorded, load=SHARE, scaled=FACTOR or closed=QUEUE_DEPTH
    #[arg(long, value_name = "HOW")]
    pub arrival: Option<String>,
    /// Queue depth: keep N requests outstanding, as --arrival closed=N
    #[arg(long, value_name = "N", conflicts_with_all = ["arrival", "rate"])]
    pub iodepth: Option<String>,
    /// Requests per second of a generator, as a Poisson process
    #[arg(long, value_name = "IOPS", conflicts_with = "arrival")]
    pub rate: Option<String>,
    /// Share of reads of a generator, such as 0.7 or 70%
    #[arg(long, value_name = "SHARE")]
    pub read_share: Option<String>,
    /// User capacity: auto, drive or a size such as 4GiB
    #[arg(long, alias = "size", value_name = "SIZE")]
    pub capacity: Option<String>,
    /// Trace format
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Columns of a CSV file in their order, such as time=us,op,lba=bytes,size=bytes; `-` skips one
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    pub columns: Option<String>,
    /// The part of the workload that is taken.
    #[command(flatten)]
    pub pick: PickOptions,
    /// Simulations that run in parallel [default: all cores]
    #[arg(short = 'j', long, alias = "jobs", value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
}

impl Options {
    /// The settings these options stand for.
    #[must_use]
    pub fn overrides(&self, trace: Option<&OsStr>) -> experiment::Overrides {
        let drive = self.drive.as_ref().map(common::path_text);
        let alone = self.alone.then(|| "true".to_owned());
        let named = [
            ("--drive", "drive.preset", &drive),
            ("--seed", "seed", &self.seed),
            ("--seeds", "seeds", &self.seeds),
            ("--alone", "alone", &alone),
            ("--payload", "payload", &self.payload),
            ("--ecc", "ecc.policy", &self.ecc),
            ("--error-model", "errors.model", &self.errors),
            ("--loops", "trace.loops", &self.loops),
            ("--arrival", "trace.arrival", &self.arrival),
            ("--iodepth", "trace.arrival", &self.iodepth),
            ("--rate", "generate.arrivals", &self.rate),
            ("--read-share", "generate.read_fraction", &self.read_share),
            ("--capacity", "capacity.size", &self.capacity),
            ("--format", "trace.format", &self.format),
            ("--columns", "trace.columns", &self.columns),
        ];
        experiment::Overrides {
            trace: trace.map(common::path_text),
            options: given(named).chain(self.pick.settings()).collect(),
            schemes: self.schemes.clone(),
            set: self.set.clone(),
        }
    }
}

/// Options of a new drive.
#[derive(Debug, Args)]
pub struct NewDrive {
    /// Scheme [default: ds-raid]
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Drive preset, or a drive file ending in .toml
    #[arg(long = "drive", alias = "model", value_name = "NAME|FILE")]
    pub model: Option<OsString>,
    /// User capacity [default: 1GiB]
    #[arg(long, alias = "capacity", value_name = "SIZE")]
    pub size: Option<String>,
    /// Page ECC policy
    #[arg(long, value_name = "NAME")]
    pub ecc: Option<String>,
    /// Bit error model
    #[arg(long = "error-model", alias = "errors", value_name = "NAME")]
    pub errors: Option<String>,
    /// Change any setting, for example buffer.kind=volatile (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Headings of the help of `serve`.
const CLIENTS: &str = "Clients";
const FAULTS: &str = "Time and faults";

/// Options of `serve`.
#[derive(Debug, Args)]
pub struct ServeOptions {
    /// Drive directory, created if it does not exist and --create or an option of a new drive is given
    #[arg(value_name = "DIR")]
    pub drive: PathBuf,
    /// Create the drive, from an experiment file (TOML) if one is named
    #[arg(long, value_name = "EXPERIMENT.toml", num_args = 0..=1)]
    pub create: Option<Option<PathBuf>>,
    /// Precondition it as the experiment says; otherwise it is empty
    #[arg(long, help_heading = "New drive")]
    pub filled: bool,
    /// Keep the drive in memory: faster, supports every fault, lost with the process
    #[arg(long)]
    pub memory: bool,
    /// Create the drive and do not serve it
    #[arg(long)]
    pub only_create: bool,
    /// Unix socket of NBD clients [default: DIR/nbd.sock]
    #[arg(long, help_heading = CLIENTS, value_name = "PATH", conflicts_with = "port")]
    pub socket: Option<PathBuf>,
    /// Serve on this TCP port of 127.0.0.1 instead
    #[arg(long, help_heading = CLIENTS, value_name = "N")]
    pub port: Option<u16>,
    /// Control socket [default: DIR/control.sock]
    #[arg(long, help_heading = CLIENTS, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Schedule of faults and commands by request or time (docs/serve.md)
    #[arg(long, help_heading = FAULTS, value_name = "FILE.toml")]
    pub schedule: Option<PathBuf>,
    /// Serve a live dashboard with fault injection on this port of 127.0.0.1 [default: 9345]
    #[arg(long, help_heading = FAULTS, value_name = "PORT", num_args = 0..=1, value_parser = clap::value_parser!(u16).range(1..))]
    pub dashboard: Option<Option<u16>>,
    /// Pace: none (as fast as computed), still (the same, and only requests take time), real (latencies of the modelled drive), or a
    /// factor: 10x
    #[arg(long, help_heading = FAULTS, alias = "pace", value_name = "HOW", default_value = "none")]
    pub time: String,
    /// Skip fdatasync: safe against a killed process, not against a host crash
    #[arg(long, conflicts_with = "memory")]
    pub no_sync: bool,
    /// Age stored data by the wall-clock time since the drive was last served
    #[arg(long, help_heading = FAULTS, conflicts_with = "memory")]
    pub age_while_closed: bool,
    /// Write `ready` to this file descriptor when clients can connect, then close it
    #[arg(long, help_heading = CLIENTS, value_name = "N", value_parser = clap::value_parser!(u32).range(3..))]
    pub ready_fd: Option<u32>,
    /// Plugin for nbdkit [default: next to this program]
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Arguments passed to nbdkit, such as filters
    #[arg(last = true)]
    pub nbdkit: Vec<String>,
    /// Options of a new drive.
    #[command(flatten, next_help_heading = "New drive")]
    pub new: NewDrive,
}

/// Options of `torture`.
#[derive(Debug, Args)]
pub struct TortureOptions {
    /// Duration in minutes
    #[arg(long, value_name = "M", default_value = "1")]
    pub minutes: f64,
    /// Run N scenarios, however long they take
    #[arg(long, value_name = "N", conflicts_with = "minutes")]
    pub scenarios: Option<u64>,
    /// Begin with this scenario, a multiple of 16, where an earlier campaign of the seed ended or another machine ends
    #[arg(long, value_name = "NUMBER", default_value_t = 0, conflicts_with_all = ["scenario", "exhaustive", "into"])]
    pub from: u64,
    /// Run one scenario, as a campaign would
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["minutes", "scenarios", "exhaustive"])]
    pub scenario: Option<u64>,
    /// Seed of all scenarios
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Schemes, separated by commas
    #[arg(long, visible_alias = "schemes", value_name = "A,B,C", value_delimiter = ',')]
    pub scheme: Vec<String>,
    /// Kinds of faults, separated by commas
    #[arg(long, alias = "faults", value_name = "A,B,C", value_delimiter = ',')]
    pub fault: Vec<String>,
    /// Distribution of drives and faults: together, wide, gathered, ladder, slc, flows, replaced, lived or apart
    ///
    /// `together`, any kinds of faults on one drive; `wide`, the same on drives of 33 to 128 dies; `gathered`,
    /// the same on drives that program several pages together; `ladder`, that with LDPC codes and a ladder of reads; `slc`, on drives
    /// with an SLC cache; `flows`, requests of two flows with clocks of their own; `replaced`, dies
    /// that die and are replaced, under static stripes; `lived`, on drives that have lived before; or `apart`, one kind of fault for
    /// each drive
    #[arg(long, value_name = "NAME", default_value = "together", conflicts_with = "exhaustive")]
    pub draws: String,
    /// Exceed each scheme's fault tolerance: loss is allowed, silent corruption is not
    #[arg(long)]
    pub beyond_promise: bool,
    /// Break a rule that keeps data safe: torture must detect it
    #[arg(long, value_name = "RULE", conflicts_with = "exhaustive")]
    pub without: Option<String>,
    /// Count violations instead of stopping at the first
    #[arg(long)]
    pub keep_going: bool,
    /// Cut the power of a small drive at every event, with every outcome of each command in progress
    #[arg(long, conflicts_with_all = ["minutes", "scenarios", "fault", "beyond_promise", "keep_going"])]
    pub exhaustive: bool,
    /// With --exhaustive: power cuts in a row, the later ones during recovery
    #[arg(long, value_name = "N", default_value_t = 1, requires = "exhaustive", value_parser = clap::value_parser!(u32).range(1..=DEPTH_MAX))]
    pub depth: u32,
    /// Keep the campaign in this directory, where it resumes and several machines can share it
    #[arg(long, visible_alias = "out", value_name = "DIR", requires = "scenarios", conflicts_with_all = ["minutes", "scenario", "exhaustive"])]
    pub into: Option<PathBuf>,
    /// With --into: scenarios per piece, a multiple of 16
    #[arg(long, value_name = "N", default_value_t = torture::PIECE, requires = "into")]
    pub piece: u64,
    /// Scenarios that run in parallel [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
}
