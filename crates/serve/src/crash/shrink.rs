//! A failure with fewer requests.
//!
//! Requests are left out as long as the check fails at a cut and passes where no power is cut: the drive read as it is, with all that it
//! answered, before the last request and after it. So what is left still fails because a cut loses something, not because something was never written. A flush goes only
//! where nothing that is left lies between it and the flush before; a program that is careful stays so.

use super::image::{Checks, differences, read_all};
use super::{Crash, Failure, Instant, Tried, send};
use crate::directory::ServeError;
use crate::recording::{Recorded, Recording};
use lab::served::{Disk, DiskRequest};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;

/// What became of making a failure smaller.
#[derive(Clone, Debug)]
pub enum Shrunk {
    /// The check fails without a power cut, too: something else is wrong.
    WithoutCut,
    /// Fewer requests fail, or as many.
    To(Smaller),
}

/// A recording that fails.
#[derive(Clone, Debug)]
pub struct Smaller {
    /// The file that it was written to.
    pub log: PathBuf,
    /// Requests that are left.
    pub requests: usize,
    /// When the power goes, in that recording.
    pub instant: Instant,
    /// What the check printed.
    pub said: String,
    /// Bytes of the drive that the cut left other than they were answered.
    pub lost: Vec<Range<u64>>,
}

/// Fates that are tried of each list of requests: what a cut loses is a matter of chance.
const FATES: u32 = 12;

/// Requests that are left, of a recording; the last one may be under way.
struct Shrinker<'a> {
    crash: &'a Crash,
    start: &'a Disk,
    requests: &'a [Recorded],
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
    pub(super) fn make_smaller(&self, start: &Disk, recording: &Recording, tried: &mut Tried) -> Result<(), ServeError> {
        if self.shrink == 0 {
            return Ok(());
        }
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

    fn one_smaller(&self, start: &Disk, recording: &Recording, number: usize, failure: &mut Failure) -> Result<(), ServeError> {
        let work = self.work.join(format!("smaller-{number}"));
        std::fs::create_dir_all(&work).map_err(|error| ServeError::File(work.clone(), "create", error))?;
        let checks = Checks::new(&self.check, &work, BTreeMap::new(), |_, _| {});
        let first = failure.instant;
        let mut shrinker = Shrinker { crash: self, start, requests: &recording.requests, first, checks, replays: 0 };
        failure.smaller = shrinker.run(number)?;
        drop(shrinker);
        std::fs::remove_dir_all(&work).map_err(|error| ServeError::File(work, "remove", error))
    }
}

impl Shrinker<'_> {
    fn run(&mut self, number: usize) -> Result<Option<Shrunk>, ServeError> {
        let with_last = self.first.request + usize::from(self.first.events > 0);
        let mut kept: Vec<usize> = (0..with_last).collect();
        let mut found = match self.attempt(&kept)? {
            Ok(found) => found,
            Err(Miss::FailsAnyway) => return Ok(Some(Shrunk::WithoutCut)),
            // It failed a moment ago: the check is of two minds.
            Err(Miss::Passes) => return Ok(None),
        };
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
        kept.truncate(found.instant.request + usize::from(found.instant.events > 0));
        let recording = Recording { requests: kept.iter().map(|&index| self.requests[index].clone()).collect() };
        let log = self.crash.work.join(format!("smaller-{number}.log"));
        recording.write(&log)?;
        let Found { instant, said, lost } = found;
        Ok(Some(Shrunk::To(Smaller { log, requests: recording.requests.len(), instant, said, lost })))
    }

    /// Whether a request may be left out whatever else is kept.
    fn can_go(&self, index: usize) -> bool {
        !matches!(self.requests[index].request, DiskRequest::Flush)
    }

    /// What is left without some, and without flushes that have nothing left to make durable.
    fn without(&self, kept: &[usize], gone: &[usize]) -> Vec<usize> {
        let (mut rest, mut is_dirty) = (Vec::new(), false);
        for &index in kept.iter().filter(|index| gone.binary_search(index).is_err()) {
            let is_flush = !self.can_go(index);
            if !is_flush || is_dirty {
                rest.push(index);
            }
            is_dirty = !is_flush && (is_dirty || self.requests[index].changes());
        }
        rest
    }

    /// Replays these requests and looks for a cut at which the check fails: after the last one, or while it is under way.
    fn attempt(&mut self, kept: &[usize]) -> Result<Result<Found, Miss>, ServeError> {
        self.replays += 1;
        let mut disk = self.start.fork()?;
        let before = match self.first.events {
            0 => kept.len(),
            _ => kept.len().saturating_sub(1),
        };
        for &index in &kept[..before] {
            send(&mut disk, &self.requests[index], index)?;
        }
        let last = kept.get(before).map(|&index| &self.requests[index]);
        let mut uncut = vec![read_all(&mut disk.fork()?)?];
        if let Some(last) = last {
            let mut after = disk.fork()?;
            send(&mut after, last, kept[before])?;
            uncut.push(read_all(&mut after)?);
        }
        for image in &uncut {
            if self.checks.verdict(image)?.1.is_some() {
                return Ok(Err(Miss::FailsAnyway));
            }
        }
        // The first: with the whole recording this is the failure itself.
        let same = [(self.first.events, self.first.fate)];
        let fates = |events: u32| (0..self.crash.fates.max(FATES)).map(move |fate| (events, fate));
        let more = [0, self.first.events].into_iter().flat_map(fates);
        for (events, fate) in same.into_iter().chain(more) {
            let instant = Instant { request: before, events, fate };
            let cut = read_all(&mut self.crash.image_at(&disk, last, instant)?)?;
            if let (_, Some(said)) = self.checks.verdict(&cut)? {
                return Ok(Ok(Found { instant, said, lost: differences(&uncut, &cut) }));
            }
        }
        Ok(Err(Miss::Passes))
    }
}
