//! Crash points of a recording.

use crate::args::CrashOptions;
use crate::progress::Count;
use crate::serve::problem;
use crate::{CHECK_FAILED, print, threads};
use lab::{Experiment, Problem, quoted};
use serve::{Crash, DriveDirectory, Instant, Recording, Shrunk, Smaller, Tried, usual_work};
use std::path::Path;
use std::process::ExitCode;

pub fn run(options: &CrashOptions) -> Result<ExitCode, Problem> {
    let setup = match &options.drive {
        Some(drive) => DriveDirectory::at(drive).setup().map_err(problem)?,
        None => lab::disk_setup(&lab::one_drive(&Experiment::with(&options.new.overrides())?, false)?)?,
    };
    let recording = Recording::read(&options.recording).map_err(problem)?;
    let only = options.only.as_deref().map(str::parse).transpose().map_err(|error: String| Problem::new("--only", error))?;
    let crash = Crash {
        check: options.check.clone(),
        flushes: options.flushes,
        samples: options.samples,
        fates: options.fates.max(1),
        only,
        base: options.base.clone(),
        work: options.work.clone().unwrap_or_else(|| usual_work(&options.recording)),
        seed: options.seed,
        failures: options.failures.max(1),
        threads: threads(options.threads),
        shrink: options.shrink,
        anew: options.anew,
    };
    let bar = Count::new("requests");
    let tried = crash.run(&setup, &recording, &mut |done, all| bar.show(done as u64, all as u64)).map_err(problem);
    bar.clear();
    let tried = tried?;
    report(options, &tried, recording.requests.len());
    Ok(if tried.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Requests of a smaller recording that are listed at most.
const LISTED: usize = 16;

/// Ranges that are named at most.
const RANGES: usize = 6;

fn report(options: &CrashOptions, tried: &Tried, requests: usize) {
    for failure in &tried.failures {
        print(&format!("FAILED {}: {}\n", when(failure.instant, requests), said(&failure.said)));
        print(&format!("  image: {}\n", failure.image.display()));
        print(&format!("  again: {} --only {}\n", typed(options, None), failure.instant));
        match &failure.smaller {
            None => {}
            Some(Shrunk::WithoutCut) => print("  the check fails there without a power cut, too\n"),
            Some(Shrunk::To(smaller)) => report_smaller(options, smaller),
        }
    }
    let (instants, images, failed) = (tried.instants, tried.images, tried.failures.len());
    let known = if tried.known > 0 { format!(", {} of them before the run was interrupted", tried.known) } else { String::new() };
    print(&format!("{instants} instants{known}, {images} different images, {failed} failed\n"));
}

fn report_smaller(options: &CrashOptions, smaller: &Smaller) {
    print(&format!("  smaller: {}: {}\n", when(smaller.instant, smaller.requests), said(&smaller.said)));
    if smaller.requests <= LISTED {
        let listed = Recording::read(&smaller.log).map(|recording| recording.requests).unwrap_or_default();
        for (number, recorded) in listed.iter().enumerate() {
            print(&format!("    {number} {recorded}\n"));
        }
    }
    let ranges: Vec<String> =
        smaller.lost.iter().take(RANGES).map(|lost| format!("{} at {}", lost.end - lost.start, lost.start)).collect();
    let more = if smaller.lost.len() > RANGES { ", ..." } else { "" };
    print(&format!("    bytes other than answered: {}{more}\n", ranges.join(", ")));
    print(&format!("    again: {} --only {}\n", typed(options, Some(&smaller.log)), smaller.instant));
}

fn when(at: Instant, requests: usize) -> String {
    match at.events {
        0 => format!("after {} of {requests} requests", at.request),
        event => format!("before event {event} of request {} of {requests}", at.request),
    }
}

fn said(text: &str) -> &str {
    if text.is_empty() { "the check said nothing" } else { text }
}

/// What was typed, with another recording if one is given.
fn typed(options: &CrashOptions, recording: Option<&Path>) -> String {
    let (mut words, mut is_instant) = (vec!["flashkeep".to_owned()], false);
    for word in crate::typed() {
        // `--only` is given anew: its old value names an instant of the whole recording.
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
