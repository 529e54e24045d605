//! Crash points of a recording.

use crate::options::{self, NewDrive};
use crate::progress::Count;
use crate::serve::problem;
use crate::{CHECK_FAILED, NO_CONCLUSION, interrupt, print, say, threads};
use clap::Args;
use common::{Problem, quoted};
use experiment::Experiment;
use serve::{
    Crash, DriveDirectory, DriveKind, FileSystem, LeftOut, MADE, Program, Ready, Recording, Shrunk, Smaller, Tried, usual_work,
};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Headings of the help of `crash`.
const RECORDING: &str = "Recording";
const CHECK: &str = "Check";
const STRICT: &str = "Strict drive, the default";
const SIMULATED: &str = "Simulated drive";

/// Options of `crash`.
#[derive(Debug, Args)]
pub struct CrashOptions {
    /// A recording of `flashkeep ctl DRIVE record FILE`, or a log of dm-log-writes; with --run the file to record to
    /// [default: crash-run.log, which is replaced]
    #[arg(required_unless_present = "run")]
    pub recording: Option<PathBuf>,
    /// Record this command for `sh` first: it writes to {disk}, a file that is the drive, or with --mount to files in {dir}. It sets
    /// a mark with `flashkeep ctl "$FLASHKEEP_DRIVE" mark NAME`
    #[arg(long, help_heading = RECORDING, value_name = "COMMAND")]
    pub run: Option<String>,
    /// Use a file system: ext4, xfs or btrfs. Each image is mounted and its file system checked; {dir} in --check is the mount point
    #[arg(long, help_heading = RECORDING, value_name = "KIND")]
    pub mount: Option<serve::FileSystem>,
    /// With --run: nbdkit's plugin, if it is not next to the program
    #[arg(long, value_name = "FILE", hide = true)]
    pub plugin: Option<PathBuf>,
    /// Write the recording to FILE as a log of dm-log-writes, and test nothing
    #[arg(long, help_heading = RECORDING, value_name = "FILE")]
    pub to_log_writes: Option<PathBuf>,
    /// Write the recording to FILE as `ctl DRIVE record` does, and test nothing
    #[arg(long, help_heading = RECORDING, value_name = "FILE", conflicts_with = "to_log_writes")]
    pub to_recording: Option<PathBuf>,
    /// Command for `sh` that checks an image, with {image} for its path; exit code 0: it passes. FLASHKEEP_MARKS has the marks set
    /// before the cut, one per line, and FLASHKEEP_MARK the last. With --mount also sqlite:PATH or postgres:PATH
    #[arg(long, help_heading = CHECK, value_name = "COMMAND", required_unless_present_any = ["to_log_writes", "to_recording"])]
    pub check: Option<String>,
    /// Seconds after which a check has failed; 0: no limit
    #[arg(long, help_heading = CHECK, value_name = "N", default_value_t = 300)]
    pub check_seconds: u64,
    /// Unit that a power cut never tears, in bytes: 4096, as drives since 2011 have, or 512
    #[arg(long, help_heading = STRICT, value_name = "BYTES", default_value = "4096", value_parser = ["512", "4096"])]
    pub atom: String,
    /// Subsets of the unflushed writes to draw before each flush and mark
    #[arg(long, help_heading = STRICT, value_name = "N", default_value_t = 16)]
    pub subsets: u32,
    /// Check at most N different images; 0: all
    #[arg(long, help_heading = STRICT, value_name = "N", default_value_t = 5000)]
    pub images: usize,
    /// Image of the drive when the recording began [default: empty]
    #[arg(long, help_heading = RECORDING, value_name = "IMAGE")]
    pub base: Option<PathBuf>,
    /// Cut the power only after this mark
    #[arg(long, help_heading = CHECK, value_name = "MARK")]
    pub from: Option<String>,
    /// Cut the power before, in and after at most N flushes and FUA writes
    #[arg(long, help_heading = SIMULATED, value_name = "N", default_value_t = 1000)]
    pub flushes: usize,
    /// Cut the power at most N times elsewhere
    #[arg(long, help_heading = SIMULATED, value_name = "N", default_value_t = 100)]
    pub samples: usize,
    /// Outcomes of the flash commands in progress to try at each cut
    #[arg(long, help_heading = SIMULATED, value_name = "N", default_value_t = 2)]
    pub fates: u32,
    /// Seed of random draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Stop after this many failures
    #[arg(long, help_heading = CHECK, value_name = "N", default_value_t = 3)]
    pub failures: usize,
    /// Minimise each failure in at most N replays; 0: not at all
    #[arg(long, help_heading = CHECK, value_name = "N", default_value_t = 200)]
    pub shrink: usize,
    /// Check this one state, as a failure names it
    #[arg(long, help_heading = CHECK, value_name = "INSTANT")]
    pub only: Option<String>,
    /// Directory of images and finished checks; images that fail stay [default: RECORDING.crash]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Start again instead of resuming an interrupted run
    #[arg(long, alias = "anew")]
    pub restart: bool,
    /// Threads that check images [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = options::threads)]
    pub threads: Option<NonZeroUsize>,
    /// Test on the simulated drive of this directory instead of the strict drive
    #[arg(help_heading = SIMULATED, long = "dir", value_name = "DIR")]
    pub drive: Option<PathBuf>,
    /// Or options of a new drive; --size alone is that of the strict drive.
    #[command(flatten, next_help_heading = SIMULATED)]
    pub new: NewDrive,
}

pub fn run(options: &CrashOptions) -> Result<ExitCode, Problem> {
    interrupt::saying(|| Program::clean().then(|| "stopped while the program ran: nothing was judged".to_owned()));
    let path = options.recording.clone().unwrap_or_else(|| RUN.into());
    if let Some(command) = &options.run {
        record(options, command, &path)?;
    }
    let recording = Recording::read(&path).map_err(problem)?;
    if let Some(out) = options.to_log_writes.as_ref().or(options.to_recording.as_ref()) {
        return convert(options, &recording, out);
    }
    let drive = drive(options)?;
    if recording.is_cut_short {
        say(&format!("note: the recording ends after {} steps: its process was killed", recording.steps.len()));
    }
    let only = options.only.as_deref().map(str::parse).transpose().map_err(|error: String| Problem::new("--only", error))?;
    let work = options.work.clone().unwrap_or_else(|| usual_work(&path));
    // The program does not answer for the file system that `--run` made.
    let makes = options.mount.is_some() && recording.steps.iter().any(|step| step.mark() == Some(MADE));
    let check = Ready { check: options.check.clone().unwrap_or_default(), mount: options.mount };
    let crash = Crash {
        check: check.command(&work).map_err(problem)?,
        limit: Some(Duration::from_secs(options.check_seconds)).filter(|limit| !limit.is_zero()),
        subsets: options.subsets,
        images: options.images,
        flushes: options.flushes,
        samples: options.samples,
        fates: options.fates.max(1),
        from: options.from.clone().or_else(|| makes.then(|| MADE.to_owned())),
        only,
        base: options.base.clone(),
        work,
        seed: options.seed,
        failures: options.failures.max(1),
        threads: threads(options.threads),
        shrink: options.shrink,
        restart: options.restart,
    };
    let bar = Count::new("steps");
    let tried = crash.run(&drive, &recording, &mut |done, all| bar.show(done as u64, all as u64)).map_err(problem);
    bar.clear();
    let tried = tried?;
    report(options, &path, &drive, &tried, recording.steps.len());
    Ok(match drive.hides_missing_flushes() {
        _ if !tried.failures.is_empty() => ExitCode::from(CHECK_FAILED),
        Some(_) => ExitCode::from(NO_CONCLUSION),
        None => ExitCode::SUCCESS,
    })
}

/// Where `--run` records, unless it is told.
const RUN: &str = "crash-run.log";

/// Runs the program on a drive and records it.
fn record(options: &CrashOptions, command: &str, path: &Path) -> Result<(), Problem> {
    for old in [path.to_owned(), PathBuf::from(format!("{}.data", path.display()))] {
        if !old.exists() {
            continue;
        }
        if options.recording.is_some() {
            return Err(Problem::new("", format!("{}: there is a file already", old.display())));
        }
        std::fs::remove_file(&old).map_err(|error| Problem::new("", format!("{}: {error}", old.display())))?;
    }
    let NewDrive { scheme, model, ecc, errors, set, .. } = &options.new;
    let usual = options.mount.map_or("32MiB", FileSystem::usual_size).to_owned();
    let new = NewDrive {
        // The recording is the same of any drive: this one is quick.
        scheme: scheme.clone().or_else(|| Some("none".into())),
        model: model.clone().or_else(|| Some("mlc-2014".into())),
        size: options.new.size.clone().or(Some(usual)),
        ecc: ecc.clone(),
        errors: errors.clone(),
        set: set.clone(),
    };
    let experiment = Experiment::with(&new.overrides())?;
    let program = Program { command: command.to_owned(), mount: options.mount, experiment, plugin: options.plugin.clone() };
    program.record(path).map_err(problem)
}

/// Writes the recording in another format.
fn convert(options: &CrashOptions, recording: &Recording, out: &Path) -> Result<ExitCode, Problem> {
    if out.exists() {
        return Err(Problem::new("", format!("{}: there is a file already", out.display())));
    }
    let LeftOut { reads, controls } = match options.to_log_writes {
        Some(_) => recording.write_log_writes(out).map_err(problem)?,
        None => recording.write(out).map(|()| LeftOut::default()).map_err(problem)?,
    };
    let left_out = match reads + controls {
        0 => String::new(),
        _ => format!("; {reads} reads and {controls} commands are left out, for which the format has no word"),
    };
    say(&format!("{} steps written{left_out}", recording.steps.len() - reads - controls));
    Ok(ExitCode::SUCCESS)
}

/// The drive that is asked for: one of ours by name, else the strict one.
fn drive(options: &CrashOptions) -> Result<DriveKind, Problem> {
    let NewDrive { scheme, model, size, ecc, errors, set } = &options.new;
    let named = model.as_ref().map(Path::new).filter(|path| path.is_dir());
    if let Some(drive) = options.drive.as_deref().or(named) {
        return Ok(DriveKind::Of(Box::new(DriveDirectory::at(drive).setup().map_err(problem)?)));
    }
    let is_named = scheme.is_some() || model.is_some() || ecc.is_some() || errors.is_some() || !set.is_empty();
    if is_named {
        let one = experiment::one_drive(&Experiment::with(&options.new.overrides())?, false)?;
        return Ok(DriveKind::Of(Box::new(experiment::disk_setup(&one)?)));
    }
    let bytes = |text: &String| -> Result<u64, Problem> {
        let experiment::Size::User(bytes) = text.parse().map_err(|error: String| Problem::new("--size", error))? else {
            return Err(Problem::new("--size", format!("found `{text}`, the strict drive has a size such as 64MiB")));
        };
        if !bytes.0.is_multiple_of(serve::SECTOR_BYTES) {
            return Err(Problem::new("--size", format!("found `{text}`, wanted whole sectors of 512 bytes")));
        }
        Ok(bytes.0)
    };
    let size = size.as_ref().map(bytes).transpose()?;
    Ok(DriveKind::Strict { atom: options.atom.parse().expect("one of two numbers"), size })
}

/// Steps of a smaller recording that are listed at most.
const LISTED: usize = 16;

/// Ranges that are named at most.
const RANGES: usize = 6;

fn report(options: &CrashOptions, path: &Path, drive: &DriveKind, tried: &Tried, steps: usize) {
    for failure in &tried.failures {
        print(&format!("FAILED {}: {}\n", failure.instant.in_words(steps), said(&failure.said)));
        print(&format!("  image: {}\n", failure.image.display()));
        print(&format!("  again: {} --only {}\n", typed(options, path), failure.instant));
        match &failure.smaller {
            None => {}
            Some(Shrunk::ByOrder) => print(
                "  it fails there also with all completed writes kept, and passes at the end of the recording: writes come too late, or \
                 in an unsafe order, from the program or the file system below it, whatever the drive loses\n",
            ),
            Some(Shrunk::AtTheEnd) => print(
                "  it fails there with all completed writes kept, and at the end of the recording: the check is broken, or \
                 the result of the program is wrong without a power cut\n",
            ),
            Some(Shrunk::To(smaller)) => report_smaller(options, smaller),
        }
    }
    let (instants, images, failed) = (tried.instants, tried.images, tried.failures.len());
    let known = if tried.known > 0 { format!(", {} of them before the run was interrupted", tried.known) } else { String::new() };
    print(&format!("{instants} instants{known}, {images} different images, {failed} failed\n"));
    if options.only.is_none() {
        left_out(options, drive, tried);
    }
    if let Some(why) = drive.hides_missing_flushes().filter(|_| failed == 0) {
        print(&format!(
            "no proof (exit code {NO_CONCLUSION}): on this drive a missing flush cannot show, as {why}; without a named drive the strict \
             drive is tested\n"
        ));
    }
}

/// Prints the states that were not tried.
fn left_out(options: &CrashOptions, drive: &DriveKind, tried: &Tried) {
    let DriveKind::Strict { atom, .. } = drive else { return };
    let mut left = Vec::new();
    if tried.failures.len() >= options.failures.max(1) {
        let count = tried.failures.len();
        left.push(format!("instants after {count} failure{}", common::plural(count as u64)));
    }
    if tried.images_left_out > 0 {
        left.push(format!("{} other images, past --images {}", tried.images_left_out, options.images));
    }
    if tried.singles_left_out > 0 {
        left.push(format!("{} single losses where many writes were not flushed", tried.singles_left_out));
    }
    left.push(format!("subsets other than single writes, prefixes and {} draws before each flush", options.subsets));
    print(&format!("strict drive, writes whole in {atom} bytes; not tested: {}\n", left.join("; ")));
}

fn report_smaller(options: &CrashOptions, smaller: &Smaller) {
    print(&format!("  smaller: {}: {}\n", smaller.instant.in_words(smaller.steps), said(&smaller.said)));
    if smaller.steps <= LISTED {
        let listed = Recording::read(&smaller.log).map(|recording| recording.steps).unwrap_or_default();
        for (number, step) in listed.iter().enumerate() {
            print(&format!("    {number} {step}\n"));
        }
    }
    let ranges: Vec<String> =
        smaller.lost.iter().take(RANGES).map(|lost| format!("{} at {}", lost.end - lost.start, lost.start)).collect();
    let more = if smaller.lost.len() > RANGES { ", ..." } else { "" };
    print(&format!("    bytes unlike the completed writes: {}{more}\n", ranges.join(", ")));
    print(&format!("    again: {} --only {}\n", typed(options, &smaller.log), smaller.instant));
}

fn said(text: &str) -> &str {
    if text.is_empty() { "the check said nothing" } else { text }
}

/// The command line, with this recording in place of the one that was named or run.
fn typed(options: &CrashOptions, recording: &Path) -> String {
    let (mut words, mut is_value) = (vec!["flashkeep".to_owned()], false);
    for (at, word) in crate::typed().iter().enumerate() {
        // The old value of `--only` names an instant of the whole recording.
        let skips = is_value || ["--only=", "--run="].iter().any(|option| word.starts_with(option));
        is_value = !is_value && ["--only", "--run"].contains(&&**word);
        if skips || is_value {
            continue;
        }
        let is_recording = options.recording.as_ref().is_some_and(|named| common::path_of(word) == *named);
        if !is_recording {
            words.push(quoted(word));
        }
        if at == 0 {
            words.push(quoted(&common::path_text(recording)));
        }
    }
    words.join(" ")
}
