//! The user's check, and what it says of images. An image is checked once for each list of marks that were set by then.

use super::image::{Digest, Image};
use crate::directory::ServeError;
use crate::group;
use common::quoted;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// `None`: the image passed; else what the check printed.
pub(super) type Verdict = Option<String>;

/// Is called with the digest of each image that was checked, and with its verdict.
type Tell<'a> = dyn Fn(Digest, &Verdict) + Send + Sync + 'a;

/// The outcome of a check that one thread runs and others may wait for. An error is of the machine or the check, in words.
type Slot = Arc<OnceLock<Result<Verdict, String>>>;

/// Variables in which a check finds the marks: all so far, one a line, and the last one.
const MARKS: [&str; 2] = ["FLASHKEEP_MARKS", "FLASHKEEP_MARK"];

/// Signals with which a user or the system ends a program, whatever it was about to find: hang-up, interrupt, kill, terminate.
const ENDED: [i32; 4] = [1, 2, 9, 15];

/// Begins what is said of a check that took too long.
const LATE: &str = "the check did not end in ";

/// Whether that is said.
pub(super) fn is_late(said: &str) -> bool {
    said.starts_with(LATE)
}

/// Exit codes of a shell that says that it cannot run a command, or found none.
const NOT_RUN: [i32; 2] = [126, 127];

/// The user's check, and what it said so far.
pub(super) struct Checks<'a> {
    command: &'a str,
    work: &'a Path,
    limit: Option<Duration>,
    tell: Box<Tell<'a>>,
    said: Mutex<BTreeMap<Digest, Slot>>,
}

/// A number of an image and the marks that the check is told.
pub(super) fn with_marks(image: u64, marks: &[&str]) -> Digest {
    if marks.is_empty() { Digest(image) } else { Digest(image.wrapping_add(Digest::of(marks).0)) }
}

impl<'a> Checks<'a> {
    pub fn new(
        command: &'a str,
        limit: Option<Duration>,
        work: &'a Path,
        known: BTreeMap<Digest, Verdict>,
        tell: impl Fn(Digest, &Verdict) + Send + Sync + 'a,
    ) -> Self {
        let said = known.into_iter().map(|(digest, verdict)| (digest, Arc::new(OnceLock::from(Ok(verdict))))).collect();
        Self { command, work, limit, tell: Box::new(tell), said: Mutex::new(said) }
    }

    /// Where an image is that failed.
    pub fn path(&self, digest: Digest) -> PathBuf {
        self.work.join(format!("image-{:016x}", digest.0))
    }

    /// Has an image checked, unless an equal one was.
    pub fn verdict(&self, image: &Image, marks: &[&str]) -> Result<(Digest, Verdict), ServeError> {
        let digest = with_marks(image.digest(), marks);
        let slot = self.said.lock().unwrap_or_else(PoisonError::into_inner).entry(digest).or_default().clone();
        let said = slot.get_or_init(|| {
            let said = self.check(image, marks, &self.path(digest));
            // With another limit it may be another one.
            if let Some(verdict) = said.as_ref().ok().filter(|verdict| !verdict.as_deref().is_some_and(is_late)) {
                (self.tell)(digest, verdict);
            }
            said
        });
        said.clone().map(|verdict| (digest, verdict)).map_err(ServeError::Other)
    }

    /// The verdict on an image, if there is one.
    pub fn known(&self, digest: Digest) -> Option<Verdict> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.get(&digest).and_then(|slot| slot.get()).and_then(|said| said.clone().ok())
    }

    /// Images that failed.
    pub fn failed(&self) -> Vec<Digest> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().filter(|(_, slot)| matches!(slot.get(), Some(Ok(Some(_))))).map(|(digest, _)| *digest).collect()
    }

    fn check(&self, image: &Image, marks: &[&str], path: &Path) -> Result<Verdict, String> {
        let file = |doing: &str, error: io::Error| format!("{}: cannot {doing}: {error}", path.display());
        image.save(path).map_err(|error| file("write", error))?;
        let line = self.command.replace("{image}", &quoted(&path.display().to_string()));
        let marked = |check: &mut std::process::Command| {
            check.env(MARKS[0], marks.join("\n")).env(MARKS[1], marks.last().unwrap_or(&""));
        };
        let ended = group::run(&line, marked, self.limit).map_err(|error| format!("the check cannot be run: {error}"))?;
        let group::Ended { output, is_late } = ended;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
        if is_late {
            let behind = if said.is_empty() { String::new() } else { format!(": {said}") };
            return Ok(Some(format!("{LATE}{} s{behind}", self.limit.unwrap_or_default().as_secs())));
        }
        let is_ended = output.status.signal().is_some_and(|signal| ENDED.contains(&signal));
        let is_run = !output.status.code().is_some_and(|code| NOT_RUN.contains(&code));
        if output.status.success() || !is_run || is_ended {
            fs::remove_file(path).map_err(|error| file("remove", error))?;
        }
        match output.status.success() {
            true => Ok(None),
            false if is_ended => {
                Err(format!("the check was ended from outside, which says nothing of the image: {}", output.status))
            }
            false if is_run => Ok(Some(said)),
            false => Err(format!("the check cannot be run: {}: {said}", output.status)),
        }
    }
}
