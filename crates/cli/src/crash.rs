//! Crash points of a recording.

use crate::args::{CrashOptions, NewDrive};
use crate::progress::Count;
use crate::serve::problem;
use crate::{CHECK_FAILED, print, say, threads};
use lab::{Experiment, Problem, quoted};
use serve::{Crash, DriveDirectory, DriveKind, LeftOut, Recording, Shrunk, Smaller, Tried, usual_work};
use std::path::Path;
use std::process::ExitCode;

pub fn run(options: &CrashOptions) -> Result<ExitCode, Problem> {
    let recording = Recording::read(&options.recording).map_err(problem)?;
    if let Some(out) = options.to_log_writes.as_ref().or(options.to_recording.as_ref()) {
        return convert(options, &recording, out);
    }
    let drive = drive(options)?;
    if recording.is_cut_short {
        say(&format!("note: the recording ends after {} steps: its process was killed", recording.steps.len()));
    }
    let only = options.only.as_deref().map(str::parse).transpose().map_err(|error: String| Problem::new("--only", error))?;
    let crash = Crash {
        check: options.check.clone(),
        subsets: options.subsets,
        images: options.images,
        flushes: options.flushes,
        samples: options.samples,
        fates: options.fates.max(1),
        from: options.from.clone(),
        only,
        base: options.base.clone(),
        work: options.work.clone().unwrap_or_else(|| usual_work(&options.recording)),
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
    report(options, &drive, &tried, recording.steps.len());
    Ok(if tried.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
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

fn report(options: &CrashOptions, drive: &DriveKind, tried: &Tried, steps: usize) {
    for failure in &tried.failures {
        print(&format!("FAILED {}: {}\n", failure.instant.in_words(steps), said(&failure.said)));
        print(&format!("  image: {}\n", failure.image.display()));
        print(&format!("  again: {} --only {}\n", typed(options, None), failure.instant));
        match &failure.smaller {
            None => {}
            Some(Shrunk::ByOrder) => print(
                "  it fails there with everything kept that was answered, too, and passes at the end of the recording: the order of the \
                 writes is unsafe, the program's or that of the file system below it, whatever the drive loses\n",
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
    left.push(format!("subsets of writes but single ones, whole ones and {} draws each", options.subsets));
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
    print(&format!("    again: {} --only {}\n", typed(options, Some(&smaller.log)), smaller.instant));
}

fn said(text: &str) -> &str {
    if text.is_empty() { "the check said nothing" } else { text }
}

/// What was typed, with another recording if one is given.
fn typed(options: &CrashOptions, recording: Option<&Path>) -> String {
    let (mut words, mut is_instant) = (vec!["flashkeep".to_owned()], false);
    for word in crate::typed() {
        // The old value of `--only` names an instant of the whole recording.
        let skips = is_instant || word.starts_with("--only=");
        is_instant = word == "--only";
        match recording {
            _ if skips || is_instant => {}
            Some(other) if lab::path_of(word) == options.recording => words.push(quoted(&lab::path_text(other))),
            _ => words.push(quoted(word)),
        }
    }
    words.join(" ")
}
