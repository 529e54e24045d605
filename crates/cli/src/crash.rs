//! Crash points of a recording.

use crate::args::CrashOptions;
use crate::serve::problem;
use crate::{print, say};
use lab::{Experiment, Problem};
use serve::{Crash, Disk, DriveDirectory, Recording, Tried, usual_work};
use std::process::ExitCode;

/// A check failed.
const CHECK_FAILED: u8 = 1;

pub fn run(options: &CrashOptions) -> Result<ExitCode, Problem> {
    let setup = match &options.drive {
        Some(drive) => DriveDirectory::at(drive).setup().map_err(problem)?,
        None => lab::disk_setup(&lab::one_drive(&Experiment::with(&options.new.overrides())?, false)?)?,
    };
    let recording = Recording::read(&options.recording).map_err(problem)?;
    let only = options.only.as_deref().map(str::parse).transpose().map_err(|error: String| Problem::new("--only", error))?;
    let crash = Crash {
        check: options.check.clone(),
        samples: options.samples,
        fates: options.fates.max(1),
        only,
        base: options.base.clone(),
        work: options.work.clone().unwrap_or_else(|| usual_work(&options.recording)),
        seed: options.seed,
        failures: options.failures.max(1),
    };
    let disk = Disk::in_memory(&setup).map_err(|error| problem(error.into()))?;
    let mut tell = |done: usize, all: usize| {
        if done > 0 && done.is_multiple_of(1000) {
            say(&format!("{done} of {all} requests"));
        }
    };
    let tried = crash.run(disk, &recording, &mut tell).map_err(problem)?;
    report(&tried, recording.requests.len());
    Ok(if tried.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn report(tried: &Tried, requests: usize) {
    let typed: Vec<String> = std::env::args_os().skip(1).map(|word| quoted(&lab::path_text(word))).collect();
    for failure in &tried.failures {
        let (at, what) = (failure.instant, if failure.said.is_empty() { "the check said nothing" } else { &failure.said });
        let when = match at.events {
            0 => format!("after {} of {requests} requests", at.request),
            event => format!("before event {event} of request {} of {requests}", at.request),
        };
        print(&format!("FAILED {when}: {what}\n  image: {}\n", failure.image.display()));
        print(&format!("  again: flashkeep {} --only {at}\n", typed.join(" ")));
    }
    print(&format!("{} instants, {} different images, {} failed\n", tried.instants, tried.images, tried.failures.len()));
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
