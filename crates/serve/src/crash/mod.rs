//! Crash points: a recording is replayed, and at chosen instants the drive is taken as a power cut leaves it, and its image
//! handed to a check of the user's own.
//!
//! Requests are replayed one at a time, each answered before the next: whatever their client could do, a drive may behave so. The
//! drive is the strictest that a program may meet ([`strict`]), or one of ours. A cut takes from the latter all that it had answered
//! and not made durable (its volatile buffer, in the order in which the drive writes it back), and a request under way; then it is mounted.
//!
//! One thread replays; others take a copy of the drive at each request of interest, cut its power and run the check. What is
//! found does not depend on how many there are: images are judged once each, and counted in the order of their instants.

mod checks;
mod image;
mod instant;
mod kept;
mod ready;
mod shrink;
mod state;
mod strict;

pub use instant::{Cut, Instant};
pub use ready::Ready;
pub use shrink::{Shrunk, Smaller};
pub use strict::Loss;

use crate::directory::ServeError;
use crate::steps::{Recording, Step};
use checks::Checks;
use image::Digest;
use instant::{Plan, Tries};
use kept::{Images, Kept, Known};
use ssd::{BufferKind, Setup};
use state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use vocab::Streams;

/// The drive whose power goes.
#[derive(Clone, Debug)]
pub enum DriveKind {
    /// The strictest that a program may meet.
    Strict {
        /// Bytes that are written all or not at all: 512 or 4096.
        atom: u32,
        /// Its bytes; else those of the recorded drive.
        size: Option<u64>,
    },
    /// One of ours.
    Of(Box<Setup>),
}

impl DriveKind {
    /// Why a missing flush cannot show on it.
    #[must_use]
    pub fn hides_missing_flushes(&self) -> Option<&'static str> {
        let Self::Of(setup) = self else { return None };
        match setup.buffer.kind {
            BufferKind::Plp => Some("its write buffer is PLP"),
            BufferKind::Off => Some("it has no write buffer and completes durable writes only"),
            BufferKind::Volatile if setup.drive.timing.unit.is_some() => Some(
                "it gathers what leaves its buffer behind capacitors, so that all pages of a flush are durable at one instant",
            ),
            BufferKind::Volatile => None,
        }
    }
}

/// Settings of a crash test.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The user's check, run by `sh`; `{image}` stands for the image's path. It passes with exit code 0.
    pub check: String,
    /// A check that takes longer has failed; `None`: it may take any time.
    pub limit: Option<Duration>,
    /// Strict drive: draws of what is lost, before each flush and mark.
    pub subsets: u32,
    /// Strict drive: different images that are checked, at most; 0: all.
    pub images: usize,
    /// Drive of ours: flushes and forced writes around which instants lie, at most.
    pub flushes: usize,
    /// Drive of ours: instants beside those, at most.
    pub samples: usize,
    /// Drive of ours: fates tried at each instant.
    pub fates: u32,
    /// Instants from this mark on.
    pub from: Option<String>,
    /// This instant alone.
    pub only: Option<Instant>,
    /// Contents of the drive before the recording; else it is empty.
    pub base: Option<PathBuf>,
    /// Where images are written; those that fail stay.
    pub work: PathBuf,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Ends after this many failures.
    pub failures: usize,
    /// Threads that check images.
    pub threads: usize,
    /// Replays that are tried to make each failure smaller.
    pub shrink: usize,
    /// Begins again where an interrupted run would go on.
    pub restart: bool,
}

impl Default for Crash {
    fn default() -> Self {
        Self {
            check: String::new(),
            limit: None,
            subsets: 16,
            images: 5000,
            flushes: 1000,
            samples: 100,
            fates: 2,
            from: None,
            only: None,
            base: None,
            work: PathBuf::new(),
            seed: 1,
            failures: 3,
            threads: 1,
            shrink: 200,
            restart: false,
        }
    }
}

/// An instant whose image failed the check.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When.
    pub instant: Instant,
    /// The image.
    pub image: PathBuf,
    /// Output of the check.
    pub said: String,
    /// The same with fewer requests; `None`: that was not tried.
    pub smaller: Option<Shrunk>,
}

/// Results of a crash test.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// Instants.
    pub instants: usize,
    /// Of these, known from an interrupted run.
    pub known: usize,
    /// Different images among them.
    pub images: usize,
    /// Those that failed, the earliest first.
    pub failures: Vec<Failure>,
    /// Strict drive: different images that were not checked, as there were too many.
    pub images_left_out: usize,
    /// Strict drive: single writes that were neither lost nor kept alone, as too many were not flushed.
    pub singles_left_out: usize,
}

/// A drive before a step that is of interest.
struct Job<'a> {
    state: State,
    /// None: all steps were answered.
    next: Option<&'a Step>,
    step: usize,
    marks: Vec<&'a str>,
    tries: Tries,
}

/// The findings of a thread at a step.
struct Found {
    step: usize,
    images: Result<Images, ServeError>,
}

/// The work of a run.
struct Work<'a> {
    kept: &'a Kept,
    /// Images known from an interrupted run, by step.
    known: BTreeMap<usize, Images>,
    plan: Plan,
}

/// Steps that are still to be tried, and the channels to and from the threads that try them.
struct Hands<'a, 'r> {
    tries: BTreeMap<usize, Tries>,
    known: BTreeMap<usize, Images>,
    give: &'a SyncSender<Job<'r>>,
    hear: &'a Receiver<Found>,
}

/// Images in the order of their instants, from whatever thread they come.
struct Collector<'a> {
    crash: &'a Crash,
    checks: &'a Checks<'a>,
    kept: &'a Kept,
    /// Strict drive: instants up to each step.
    instants: BTreeMap<usize, usize>,
    /// Steps of interest that are still to be counted.
    left: BTreeSet<usize>,
    done: BTreeMap<usize, Images>,
    seen: BTreeSet<Digest>,
    tried: Tried,
}

impl Collector<'_> {
    fn hear(&mut self, found: Found) -> Result<(), ServeError> {
        let images = found.images?;
        self.kept.request(found.step, &images);
        self.add(found.step, images);
        Ok(())
    }

    fn add(&mut self, step: usize, images: Images) {
        self.done.insert(step, images);
        while let Some(images) = self.left.first().and_then(|first| self.done.remove(first)) {
            self.left.pop_first();
            images.into_iter().for_each(|(instant, digest)| self.count(instant, digest));
        }
    }

    fn count(&mut self, instant: Instant, digest: Digest) {
        if self.is_enough() {
            return;
        }
        match self.instants.get(&instant.step) {
            Some(&instants) => self.tried.instants = instants,
            None => self.tried.instants += 1,
        }
        if self.seen.insert(digest) {
            self.tried.images += 1;
            if let Some(Some(said)) = self.checks.known(digest) {
                self.tried.failures.push(Failure { instant, image: self.checks.path(digest), said, smaller: None });
            }
        }
    }

    fn is_enough(&self) -> bool {
        self.tried.failures.len() >= self.crash.failures
    }
}

impl Crash {
    /// Replays the recording over a new drive and tries instants. `progress` is called with the number of steps replayed so
    /// far, and of all steps.
    ///
    /// # Errors
    /// A check that looks at no image or cannot be run, a recording that has no writes or does not fit the drive, contents of the drive
    /// that the check does not take, or an image that cannot be written.
    pub fn run(
        &self,
        drive: &DriveKind,
        recording: &Recording,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Tried, ServeError> {
        let from = self.sanity(recording)?;
        fs::create_dir_all(&self.work).map_err(|error| ServeError::File(self.work.clone(), "create", error))?;
        let start = State::start(self, drive, recording)?;
        if let Some(only) = self.only {
            return self.try_only(&start, recording, only);
        }
        let (kept, known) = Kept::open(&self.work, self.digest(drive, recording)?, self.restart)?;
        let Known { verdicts, requests } = known;
        let tried = {
            let checks =
                Checks::new(&self.check, self.limit, &self.work, verdicts, |digest, verdict| kept.verdict(digest, verdict));
            self.check_start(&start, recording, from, &checks)?;
            let plan = self.plan(&start, recording, from)?;
            let mut tried = self.try_all(&start, recording, &checks, Work { kept: &kept, known: requests, plan }, progress)?;
            self.make_smaller(&start, recording, &mut tried)?;
            let images: BTreeSet<PathBuf> = tried.failures.iter().map(|failure| failure.image.clone()).collect();
            for more in checks.failed().into_iter().map(|digest| checks.path(digest)).filter(|path| !images.contains(path)) {
                // Another run may have removed it.
                let _ = fs::remove_file(more);
            }
            tried
        };
        kept.finish()?;
        Ok(tried)
    }

    /// Refuses what would pass, or fail, whatever the program does; the step from which on instants are tried.
    fn sanity(&self, recording: &Recording) -> Result<usize, ServeError> {
        let refused = |what: &str| Err(ServeError::Other(what.to_owned()));
        if !self.check.contains("{image}") {
            return refused("the check has no {image}, so it would look at no image of the drive");
        }
        if !recording.steps.iter().any(Step::is_write) {
            return refused("the recording has no writes: there is nothing that a power cut could take");
        }
        if recording.held && self.base.is_none() {
            return refused(
                "the drive held something when the recording began, which the replay needs: copy the drive before, and name the image with --base",
            );
        }
        self.first(recording).ok_or_else(|| {
            let marks: BTreeSet<&str> = recording.steps.iter().filter_map(Step::mark).collect();
            let from = self.from.as_deref().unwrap_or_default();
            ServeError::Other(format!("--from {from}: no such mark in the recording; known: {marks:?}"))
        })
    }

    /// The step from which on instants are tried; `None`: there is no such mark.
    fn first(&self, recording: &Recording) -> Option<usize> {
        let Some(from) = &self.from else { return Some(0) };
        recording.steps.iter().position(|step| step.mark() == Some(from)).map(|at| at + 1)
    }

    /// The marks before a step, from the one on where instants begin.
    fn marks<'a>(&self, recording: &'a Recording, steps: usize) -> Vec<&'a str> {
        let first = self.first(recording).unwrap_or_default().min(steps);
        recording.steps[first..steps].iter().filter_map(Step::mark).collect()
    }

    /// Sees that the check passes before anything was lost.
    fn check_start(&self, start: &State, recording: &Recording, from: usize, checks: &Checks) -> Result<(), ServeError> {
        let mut state = start.fork()?;
        recording.steps[..from].iter().enumerate().try_for_each(|(index, step)| state.take(step, index))?;
        let Some(said) = checks.verdict(&state.now()?, &self.marks(recording, from))?.1 else { return Ok(()) };
        let (said, base) =
            (if said.is_empty() { "nothing" } else { &said }, if self.base.is_some() { "" } else { "is --base missing? " });
        Err(ServeError::Other(match &self.from {
            None => format!(
                "the check fails on the image before the first step, so it cannot judge the steps: {base}If they make what it looks for, put \
                 a mark behind that (`flashkeep ctl DRIVE mark made`) and begin there (`--from made`). It said: {said}"
            ),
            Some(from) => format!(
                "the check fails at the mark {from}, with all writes kept, so it cannot judge what follows. It said: {said}"
            ),
        }))
    }

    /// Digest that tells this run from others.
    fn digest(&self, drive: &DriveKind, recording: &Recording) -> Result<Digest, ServeError> {
        let base = match &self.base {
            Some(base) => fs::read(base).map_err(|error| ServeError::File(base.clone(), "read", error))?,
            None => Vec::new(),
        };
        let steps = Digest::of(&format!("{:?} {:?}", recording.steps, recording.size)).0;
        let numbers = (self.samples, self.flushes, self.fates, self.seed, self.subsets, self.images);
        Ok(Digest::of(&(format!("{drive:?}"), steps, base, &self.check, &self.from, numbers)))
    }

    fn try_only(&self, start: &State, recording: &Recording, only: Instant) -> Result<Tried, ServeError> {
        let all = recording.steps.len();
        if only.step > all {
            return Err(ServeError::Other(format!("--only {only}: the recording has {all} steps")));
        }
        let mut state = start.fork()?;
        recording.steps[..only.step].iter().enumerate().try_for_each(|(index, step)| state.take(step, index))?;
        let image = state.cut(self, recording.steps.get(only.step), only)?;
        let checks = Checks::new(&self.check, self.limit, &self.work, BTreeMap::new(), |_, _| {});
        let (digest, verdict) = checks.verdict(&image, &self.marks(recording, only.step))?;
        let failure = |said| Failure { instant: only, image: checks.path(digest), said, smaller: None };
        Ok(Tried { instants: 1, images: 1, failures: verdict.map(failure).into_iter().collect(), ..Tried::default() })
    }

    fn try_all(
        &self,
        start: &State,
        recording: &Recording,
        checks: &Checks,
        work: Work<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Tried, ServeError> {
        let Work { kept, known, plan } = work;
        let Plan { tries, instants, images_left_out, singles_left_out } = plan;
        let (left, ends) = (tries.keys().copied().collect(), AtomicBool::new(false));
        let (done, seen, all) = (BTreeMap::new(), BTreeSet::new(), instants.values().next_back().copied());
        let tried = Tried { images_left_out, singles_left_out, ..Tried::default() };
        let mut collector = Collector { crash: self, checks, kept, instants, left, done, seen, tried };
        // Few drives wait: each takes memory.
        let (give, take) = mpsc::sync_channel::<Job>(1);
        let (take, (tell, hear)) = (Arc::new(Mutex::new(take)), mpsc::channel());
        thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                let (take, tell, ends) = (take.clone(), tell.clone(), &ends);
                scope.spawn(move || self.work(&take, &tell, checks, ends));
            }
            drop((take, tell));
            let mut hands = Hands { tries, known, give: &give, hear: &hear };
            let replayed = self.replay(start, recording, &mut hands, &mut collector, progress);
            ends.store(replayed.is_err() || collector.is_enough(), Relaxed);
            drop(give);
            replayed?;
            hear.into_iter().try_for_each(|found| collector.hear(found))
        })?;
        if let Some(all) = all.filter(|_| !collector.is_enough()) {
            collector.tried.instants = all;
        }
        Ok(collector.tried)
    }

    /// Replays, and hands out the drive where something is to be tried.
    fn replay<'a>(
        &self,
        start: &State,
        recording: &'a Recording,
        hands: &mut Hands<'_, 'a>,
        collector: &mut Collector,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), ServeError> {
        let (steps, mut state) = (&recording.steps, start.fork()?);
        for step in 0..=steps.len() {
            hands.hear.try_iter().try_for_each(|found| collector.hear(found))?;
            if collector.is_enough() {
                break;
            }
            let next = steps.get(step);
            if let Some(tries) = hands.tries.remove(&step) {
                if let Some(images) = hands.known.remove(&step) {
                    collector.tried.known += images.len();
                    collector.add(step, images);
                } else {
                    let job = Job { state: state.fork()?, next, step, marks: self.marks(recording, step), tries };
                    if hands.give.send(job).is_err() {
                        // All threads panicked; that is told when they are joined.
                        break;
                    }
                }
            }
            progress(step, steps.len());
            if let Some(next) = next {
                state.take(next, step)?;
            }
        }
        Ok(())
    }

    /// Work of each thread.
    fn work(&self, take: &Mutex<Receiver<Job>>, tell: &Sender<Found>, checks: &Checks, ends: &AtomicBool) {
        // The lock is held while a thread waits, not while it works.
        let next = || take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(job) = next() {
            let images = self.try_step(&job, checks, ends).transpose();
            if let Some(images) = images {
                let _ = tell.send(Found { step: job.step, images });
            }
        }
    }

    /// The images at all instants of a step; `None` if enough failed in the meantime.
    fn try_step(&self, job: &Job, checks: &Checks, ends: &AtomicBool) -> Result<Option<Images>, ServeError> {
        let mut images = Images::new();
        for instant in self.instants(job)? {
            if ends.load(Relaxed) {
                return Ok(None);
            }
            let image = job.state.cut(self, job.next, instant)?;
            images.push((instant, checks.verdict(&image, &job.marks)?.0));
        }
        Ok(Some(images))
    }

    /// The instants that are tried at a step.
    fn instants(&self, job: &Job) -> Result<Vec<Instant>, ServeError> {
        let (step, mut events) = (job.step, BTreeSet::new());
        if job.tries.before {
            events.insert(0);
        }
        if let Some(next @ Step::Request(_)) = job.next.filter(|_| job.tries.within > 0) {
            let mut draws = Streams::new(self.seed).stream_of("crash/events", step as u64);
            let end = job.state.events_of(next)?;
            events.extend((0..job.tries.within).map(|_| 1 + draws.below(end.into()) as u32));
        }
        let fates = |events| (0..self.fates).map(move |fate| Cut::Drive { events, fate });
        let losses = job.tries.losses.iter().map(|loss| Cut::Strict(*loss));
        Ok(events.into_iter().flat_map(fates).chain(losses).map(|cut| Instant { step, cut }).collect())
    }
}

/// Where images are written, unless the user says where.
#[must_use]
pub fn usual_work(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".crash");
    name.into()
}
