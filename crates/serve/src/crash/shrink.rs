//! A failure with fewer steps.
//!
//! Steps are left out as long as the check fails at a cut and passes where no power is cut: the drive read as it is, with all that it
//! answered, before the last step and after it. So what is left still fails because a cut loses something, not because something was never written. A flush goes only
//! where nothing that is left lies between it and the flush before; a program that is careful stays so.

use super::checks::{Checks, is_late};
use super::image::differences;
use super::state::State;
use super::{Crash, Failure, Instant, Tried};
use crate::directory::ServeError;
use crate::steps::{Recording, Step};
use ssd::disk::DiskRequest;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;

/// Outcome of making a failure smaller.
#[derive(Clone, Debug)]
pub enum Shrunk {
    /// The check fails there also with everything kept that was answered, and passes at the end of the recording: the order in which the
    /// program, or what is between it and the drive, writes is unsafe.
    ByOrder,
    /// The check fails there with everything kept, and at the end of the recording, too: program or check are broken without a cut.
    AtTheEnd,
    /// Fewer steps fail, or as many.
    To(Smaller),
}

/// A recording that fails.
#[derive(Clone, Debug)]
pub struct Smaller {
    /// The file that it was written to.
    pub log: PathBuf,
    /// Steps that are left.
    pub steps: usize,
    /// When the power goes, in that recording.
    pub instant: Instant,
    /// Output of the check.
    pub said: String,
    /// Bytes of the drive that the cut left other than they were answered.
    pub lost: Vec<Range<u64>>,
}

/// Fates that are tried of each list of requests: what a cut loses is a matter of chance.
const FATES: u32 = 12;

/// Steps that are left, of a recording; the last one may be under way.
struct Shrinker<'a> {
    crash: &'a Crash,
    start: &'a State,
    recording: &'a Recording,
    steps: &'a [Step],
    /// The first failure.
    first: Instant,
    checks: Checks<'a>,
    replays: usize,
}

/// A cut at which the check fails.
struct Found {
    instant: Instant,
    said: String,
    lost: Vec<Range<u64>>,
}

/// Why a list of requests is not taken.
enum Miss {
    /// The check passes.
    Passes,
    /// It fails without a cut.
    FailsAnyway,
}

impl Crash {
    /// Makes all failures smaller, side by side.
    pub(super) fn make_smaller(&self, start: &State, recording: &Recording, tried: &mut Tried) -> Result<(), ServeError> {
        for (from, some) in tried.failures.chunks_mut(self.threads.max(1)).enumerate() {
            let first = from * self.threads.max(1);
            thread::scope(|scope| {
                let each = |(index, failure)| {
                    let start = start.fork();
                    scope.spawn(move || self.one_smaller(&start?, recording, first + index + 1, failure))
                };
                let threads: Vec<_> = some.iter_mut().enumerate().map(each).collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("the drive works"))
            })?;
        }
        Ok(())
    }

    fn one_smaller(&self, start: &State, recording: &Recording, number: usize, failure: &mut Failure) -> Result<(), ServeError> {
        // Each replay would take as long.
        if is_late(&failure.said) {
            return Ok(());
        }
        let work = self.work.join(format!("smaller-{number}"));
        std::fs::create_dir_all(&work).map_err(|error| ServeError::File(work.clone(), "create", error))?;
        let checks = Checks::new(&self.check, self.limit, &work, BTreeMap::new(), |_, _| {});
        let (first, steps) = (failure.instant, &recording.steps[..]);
        let mut shrinker = Shrinker { crash: self, start, recording, steps, first, checks, replays: 0 };
        failure.smaller = shrinker.run(number)?;
        drop(shrinker);
        std::fs::remove_dir_all(&work).map_err(|error| ServeError::File(work, "remove", error))
    }
}

impl Shrinker<'_> {
    fn run(&mut self, number: usize) -> Result<Option<Shrunk>, ServeError> {
        let mut kept: Vec<usize> = (0..self.first.begun()).collect();
        let mut found = match self.attempt(&kept)? {
            Ok(found) => found,
            Err(Miss::FailsAnyway) => return self.without_cut().map(Some),
            // It failed a moment ago: the check is of two minds.
            Err(Miss::Passes) => return Ok(None),
        };
        if self.crash.shrink == 0 {
            return Ok(None);
        }
        let mut parts = 1;
        loop {
            let some: Vec<usize> = kept.iter().copied().filter(|&index| self.can_go(index)).collect();
            let (size, before) = (some.len().div_ceil(parts).max(1), kept.len());
            for chunk in some.chunks(size) {
                if self.replays >= self.crash.shrink {
                    break;
                }
                let rest = self.without(&kept, chunk);
                if let Ok(still) = self.attempt(&rest)? {
                    (kept, found) = (rest, still);
                }
            }
            let is_same = kept.len() == before;
            if self.replays >= self.crash.shrink || kept.is_empty() || is_same && size == 1 {
                break;
            }
            parts = if is_same { parts * 2 } else { parts };
        }
        // Nothing comes after the cut.
        kept.truncate(found.instant.begun());
        let steps = kept.iter().map(|&index| self.steps[index].clone()).collect();
        let recording = Recording { steps, is_cut_short: false, ..*self.recording };
        let log = self.crash.work.join(format!("smaller-{number}.log"));
        recording.write(&log)?;
        let Found { instant, said, lost } = found;
        Ok(Some(Shrunk::To(Smaller { log, steps: recording.steps.len(), instant, said, lost })))
    }

    /// Tells two kinds of failures with everything kept apart.
    fn without_cut(&self) -> Result<Shrunk, ServeError> {
        let mut state = self.start.fork()?;
        self.steps.iter().enumerate().try_for_each(|(index, step)| state.take(step, index))?;
        let (_, verdict) = self.checks.verdict(&state.now()?, &self.crash.marks(self.recording, self.steps.len()))?;
        Ok(if verdict.is_none() { Shrunk::ByOrder } else { Shrunk::AtTheEnd })
    }

    /// True if a step may be left out whatever else is kept.
    fn can_go(&self, index: usize) -> bool {
        let stays = matches!(self.steps[index], Step::Request(DiskRequest::Flush) | Step::Control { held: Some(_), .. });
        // Where instants begin, and marks are told, in the smaller recording, too.
        let begins = self.crash.from.is_some() && self.steps[index].mark() == self.crash.from.as_deref();
        !stays && !begins
    }

    /// Requests that are left without some, and without flushes that have nothing left to make durable.
    fn without(&self, kept: &[usize], gone: &[usize]) -> Vec<usize> {
        let (mut rest, mut is_dirty) = (Vec::new(), false);
        for &index in kept.iter().filter(|index| gone.binary_search(index).is_err()) {
            let is_flush = matches!(self.steps[index], Step::Request(DiskRequest::Flush));
            if !is_flush || is_dirty {
                rest.push(index);
            }
            is_dirty = !is_flush && (is_dirty || self.steps[index].changes());
        }
        rest
    }

    /// Replays these steps and looks for a cut at which the check fails: after the last one, or while it is under way.
    fn attempt(&mut self, kept: &[usize]) -> Result<Result<Found, Miss>, ServeError> {
        self.replays += 1;
        let mut state = self.start.fork()?;
        let before = kept.len().saturating_sub(usize::from(self.first.is_within()));
        for (number, &index) in kept[..before].iter().enumerate() {
            // Steps have the numbers of the smaller recording.
            state.take(&self.steps[index], number)?;
        }
        let last = kept.get(before).map(|&index| &self.steps[index]);
        let first = self.crash.first(self.recording).unwrap_or_default();
        let told = kept[..before].iter().filter(|index| **index >= first);
        let marks: Vec<&str> = told.filter_map(|&index| self.steps[index].mark()).collect();
        let mut uncut = vec![state.now()?];
        if let Some(last) = last {
            let mut after = state.fork()?;
            after.take(last, before)?;
            uncut.push(after.now()?);
        }
        for image in &uncut {
            if self.checks.verdict(image, &marks)?.1.is_some() {
                return Ok(Err(Miss::FailsAnyway));
            }
        }
        let is_whole = kept.len() == self.first.begun();
        let same = is_whole.then_some(self.first.cut);
        for cut in same.into_iter().chain(state.all_cuts(self.crash, self.first, self.crash.fates.max(FATES), before)) {
            let instant = Instant { step: before, cut };
            let image = state.cut(self.crash, last, instant)?;
            if let (_, Some(said)) = self.checks.verdict(&image, &marks)? {
                return Ok(Ok(Found { instant, said, lost: differences(&uncut, &image) }));
            }
        }
        Ok(Err(Miss::Passes))
    }
}
