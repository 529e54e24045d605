//! Crash points of a recording.

use crate::args::{CrashOptions, NewDrive};
use crate::progress::Count;
use crate::serve::problem;
use crate::{CHECK_FAILED, interrupt, print, say, threads};
use lab::{Experiment, Problem, quoted};
use serve::{
    Crash, DriveDirectory, DriveKind, FileSystem, LeftOut, MADE, Program, Ready, Recording, Shrunk, Smaller, Tried, usual_work,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn run(options: &CrashOptions) -> Result<ExitCode, Problem> {
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
        anew: options.anew,
    };
    let bar = Count::new("steps");
    let tried = crash.run(&drive, &recording, &mut |done, all| bar.show(done as u64, all as u64)).map_err(problem);
    bar.clear();
    let tried = tried?;
    report((options, &path), &drive, &tried, recording.steps.len());
    Ok(if tried.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
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
    interrupt::saying(|| Program::clean().then(|| "stopped while the program ran: nothing was judged".to_owned()));
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
    if let Some(drive) = &options.drive {
        return Ok(DriveKind::Of(Box::new(DriveDirectory::at(drive).setup().map_err(problem)?)));
    }
    let is_named = scheme.is_some() || model.is_some() || ecc.is_some() || errors.is_some() || !set.is_empty();
    if is_named {
        let one = lab::one_drive(&Experiment::with(&options.new.overrides())?, false)?;
        return Ok(DriveKind::Of(Box::new(lab::disk_setup(&one)?)));
    }
    let bytes = |text: &String| -> Result<u64, Problem> {
        let lab::Size::User(bytes) = text.parse().map_err(|error: String| Problem::new("--size", error))? else {
            return Err(Problem::new("--size", format!("found `{text}`, the strict drive has a size such as 64MiB")));
        };
        if !bytes.0.is_multiple_of(512) {
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

fn report((options, path): (&CrashOptions, &Path), drive: &DriveKind, tried: &Tried, steps: usize) {
    for failure in &tried.failures {
        print(&format!("FAILED {}: {}\n", failure.instant.in_words(steps), said(&failure.said)));
        print(&format!("  image: {}\n", failure.image.display()));
        print(&format!("  again: {} --only {}\n", typed(options, path), failure.instant));
        match &failure.smaller {
            None => {}
            Some(Shrunk::ByOrder) => print(
                "  it fails there with everything kept that was answered, too, and passes at the end of the recording: writes come too late, or \
                 in an unsafe order, from the program or the file system below it, whatever the drive loses\n",
            ),
            Some(Shrunk::AtTheEnd) => print(
                "  it fails there with everything kept that was answered, and at the end of the recording, too: the check is broken, or \
                 what the program leaves is wrong without a power cut\n",
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
            "no proof: on this drive a missing flush cannot show, as {why}; without a named drive the strictest one is tried\n"
        ));
    }
}

/// Says what was not looked at.
fn left_out(options: &CrashOptions, drive: &DriveKind, tried: &Tried) {
    let DriveKind::Strict { atom, .. } = drive else { return };
    let mut left = Vec::new();
    if tried.failures.len() >= options.failures.max(1) {
        left.push(format!("what comes after {} failures", tried.failures.len()));
    }
    if tried.images_left_out > 0 {
        left.push(format!("{} other images, past --images {}", tried.images_left_out, options.images));
    }
    if tried.singles_left_out > 0 {
        left.push(format!("{} single losses where many writes were not flushed", tried.singles_left_out));
    }
    left.push(format!("subsets beside single writes, whole prefixes and {} draws before each flush", options.subsets));
    print(&format!("strict drive, writes whole in {atom} bytes; not looked at: {}\n", left.join("; ")));
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
    print(&format!("    bytes other than answered: {}{more}\n", ranges.join(", ")));
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
        let is_recording = options.recording.as_ref().is_some_and(|named| lab::path_of(word) == *named);
        if !is_recording {
            words.push(quoted(word));
        }
        if at == 0 {
            words.push(quoted(&lab::path_text(recording)));
        }
    }
    words.join(" ")
}
