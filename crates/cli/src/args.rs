//! The command line: its commands. Help texts that list names take them from the registries.

use crate::advise::AdviseOptions;
use crate::crash::CrashOptions;
use crate::life::LifeOptions;
use crate::options::{ConvertOptions, InspectOptions, Options, ServeOptions, TortureOptions, threads};
use crate::study::StudyCommand;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Measure what protecting data inside an SSD costs, and test whether the protection works
#[derive(Debug, Parser)]
#[command(name = "flashkeep", version, arg_required_else_help = true)]
pub struct Cli {
    /// Print no progress and no notes
    #[arg(short, long, global = true, display_order = 900)]
    pub quiet: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay a workload under several schemes on the same drive
    Compare {
        /// A bundled trace, the path of a trace or of an experiment file (.toml), `-`, or a generator [default: pgbench]
        #[arg(index = 1)]
        trace: Option<OsString>,
        /// The trace, as an option
        #[arg(long = "trace", value_name = "TRACE", conflicts_with = "trace", hide_short_help = true)]
        trace_option: Option<OsString>,
        /// Options of fio after `--`: compare -- --rw=randwrite --bs=4k --ioengine=libaio --iodepth=32
        #[arg(index = 2, last = true, value_name = "OPTION OF FIO", conflicts_with_all = ["trace", "trace_option"])]
        fio: Vec<OsString>,
        /// Options.
        #[command(flatten)]
        options: Options,
    },
    /// Run an experiment file; options override its settings
    Run {
        /// Experiment file (TOML)
        experiment: PathBuf,
        /// Replace the workload: a bundled trace, the path of a trace, or a generator
        #[arg(long)]
        trace: Option<OsString>,
        /// Options.
        #[command(flatten)]
        options: Options,
    },
    /// Convert a trace or workload to fio, MQSim, blkparse or CSV
    Convert(ConvertOptions),
    /// Characterise a trace and detect its format
    Inspect(InspectOptions),
    /// Simulate a drive from its first write to its end of life
    Life(Box<LifeOptions>),
    /// Find the design that meets given needs with the least flash: scheme, code, over-provisioning, refresh
    Advise(Box<AdviseOptions>),
    /// Run an experiment over a grid of settings; an interrupted sweep resumes
    Sweep {
        /// Grid file (TOML): an experiment with [[sweep.axes]]
        grid: PathBuf,
        /// Directory of the results: results.parquet, runs/ [default: report/NAME OF THE GRID]
        #[arg(short = 'o', long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Repeat each run with N consecutive seeds and report means, 95 % confidence intervals and differences from the first scheme
        #[arg(long, value_name = "N")]
        seeds: Option<u32>,
        /// Keep a time series of each run in DIR/series; DIR/runs.csv lists the files
        #[arg(long)]
        series: bool,
        /// Keep every request of each run with its waits in DIR/logs; DIR/runs.csv lists the files
        #[arg(long)]
        logs: bool,
        /// Simulations that run in parallel [default: all cores]
        #[arg(short = 'j', long, value_name = "N", value_parser = threads)]
        threads: Option<NonZeroUsize>,
    },
    /// Analytical models: required ECC strength, retention, read limits, data-loss probability
    Reliability {
        /// The study; without one, studies are listed.
        #[command(subcommand)]
        study: Option<StudyCommand>,
        /// List the studies as JSON
        #[arg(long)]
        json: bool,
    },
    /// Reproduce the figures of a paper next to its published numbers
    Figures {
        /// The paper, a folder of --experiments [default: all papers]; `bounds` compares the bandwidth of each preset with its physical bounds
        paper: Option<String>,
        /// Reproduce this figure only; with `bounds`, this preset
        #[arg(long, value_name = "FIGURE")]
        only: Option<String>,
        /// Run at most N points of each figure, spread evenly
        #[arg(long, value_name = "N")]
        points: Option<NonZeroUsize>,
        /// Draw the stored results (CSV) of each experiment and run nothing
        #[arg(long, conflicts_with = "points")]
        kept: bool,
        /// Directory of the results: PAPER/index.html, PAPER/FIGURE.csv; of all papers, reproduction.md
        #[arg(short = 'o', long, value_name = "DIR", default_value = "report/figures")]
        out: PathBuf,
        /// Folder with a folder of figures for each paper
        #[arg(long, value_name = "DIR", default_value = "experiments")]
        experiments: PathBuf,
        /// Folder of recorded traces [default: FLASHKEEP_TRACES, or `shared/traces` beside the repository]
        #[arg(long, value_name = "DIR")]
        traces: Option<PathBuf>,
        /// Simulations that run in parallel [default: all cores]
        #[arg(short = 'j', long, value_name = "N", value_parser = threads)]
        threads: Option<NonZeroUsize>,
    },
    /// Test the schemes on random drives under power cuts and faults
    Torture(TortureOptions),
    /// Serve a simulated drive as a block device over NBD
    Serve(ServeOptions),
    /// Test crash consistency: replay recorded I/O, cut power at many points, run your check on each image
    Crash(CrashOptions),
    /// Query a served drive or inject faults into it; `ctl help` lists the commands
    Ctl {
        /// The drive's directory, or its control socket
        #[arg(value_name = "DRIVE")]
        socket: PathBuf,
        /// The command, such as `status` or `kill die 3`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// List schemes, drives, traces, formats, ECC policies and error models
    List {
        /// The list [default: the names of all lists]
        #[arg(index = 1)]
        what: Option<String>,
        /// An entry of the list, such as a scheme, with its options
        #[arg(index = 2)]
        name: Option<String>,
        /// List only the schemes that run on this drive: a preset or a drive file
        #[arg(long, value_name = "NAME|FILE")]
        drive: Option<String>,
        /// One JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Print settings with type, bounds and default
    Settings {
        /// A setting such as gc.policy, or a section such as gc
        key: Option<String>,
        /// One JSON document on stdout
        #[arg(long, conflicts_with_all = ["markdown", "schema"])]
        json: bool,
        /// Print Markdown: docs/settings.md
        #[arg(long, conflicts_with = "schema")]
        markdown: bool,
        /// Print a JSON schema of experiment files, for editors
        #[arg(long)]
        schema: bool,
    },
    /// Print shell completions, for example `flashkeep completions bash > /etc/bash_completion.d/flashkeep`
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory
    Man {
        /// Directory of the pages
        directory: PathBuf,
    },
}
