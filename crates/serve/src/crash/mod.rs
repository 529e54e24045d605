//! Crash points: a recording is replayed, and at chosen instants the drive is taken as a power cut leaves it, mounted, and its image
//! handed to a check of the user's own.
//!
//! Requests are replayed one at a time, each answered before the next: whatever their client could do, a drive may behave so. What a
//! cut loses is then what the drive had answered and not made durable (its volatile buffer, in the order in which the drive
//! writes it back), and a request under way.
//!
//! One thread replays; others take a copy of the drive at each request of interest, cut its power and run the check. What is
//! found does not depend on how many there are: images are judged once each, and counted in the order of their instants.

mod image;
mod instant;
mod kept;
mod shrink;

pub use instant::Instant;
pub use shrink::{Shrunk, Smaller};

use crate::directory::ServeError;
use crate::recording::{Recorded, Recording};
use image::{Checks, Digest, read_all};
use instant::Tries;
use kept::{Images, Kept, Known};
use lab::Setup;
use lab::served::Disk;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use vocab::{Nanos, Streams};

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The user's check, run by `sh`; `{image}` stands for the image's path. It passes with exit code 0.
    pub check: String,
    /// Flushes and forced writes around which instants lie, at most.
    pub flushes: usize,
    /// Instants beside those, at most.
    pub samples: usize,
    /// Fates tried at each instant.
    pub fates: u32,
    /// This instant alone.
    pub only: Option<Instant>,
    /// Contents of the drive before the recording; else it is empty.
    pub base: Option<PathBuf>,
    /// Where images are written; those that fail stay.
    pub work: PathBuf,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Ends after so many failures.
    pub failures: usize,
    /// Threads that check images.
    pub threads: usize,
    /// Replays that are tried to make each failure smaller.
    pub shrink: usize,
    /// Begins again where an interrupted run would go on.
    pub anew: bool,
}

/// An instant whose image failed the check.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When.
    pub instant: Instant,
    /// The image.
    pub image: PathBuf,
    /// What the check printed.
    pub said: String,
    /// The same with fewer requests; `None`: that was not tried.
    pub smaller: Option<Shrunk>,
}

/// What was tried.
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
}

/// Events of one request that are counted at most.
const EVENTS_MAX: u32 = 10_000;

/// A drive before a request that is of interest.
struct Job<'a> {
    disk: Disk,
    /// None: all requests were answered.
    next: Option<&'a Recorded>,
    request: usize,
    tries: Tries,
}

/// What a thread found at a request.
type Found = (usize, Result<Images, ServeError>);

/// Images in the order of their instants, from whatever thread they come.
struct Collector<'a> {
    crash: &'a Crash,
    checks: &'a Checks<'a>,
    kept: &'a Kept,
    /// Requests of interest that are still to be counted.
    left: BTreeSet<usize>,
    done: BTreeMap<usize, Images>,
    seen: BTreeSet<Digest>,
    tried: Tried,
}

impl Collector<'_> {
    fn hear(&mut self, (request, images): Found) -> Result<(), ServeError> {
        let images = images?;
        self.kept.request(request, &images);
        self.add(request, images);
        Ok(())
    }

    fn add(&mut self, request: usize, images: Images) {
        self.done.insert(request, images);
        while let Some(images) = self.left.first().and_then(|first| self.done.remove(first)) {
            self.left.pop_first();
            images.into_iter().for_each(|(instant, digest)| self.count(instant, digest));
        }
    }

    fn count(&mut self, instant: Instant, digest: Digest) {
        if self.is_enough() {
            return;
        }
        self.tried.instants += 1;
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
    /// Replays the recording over a new drive and tries instants. `progress` hears of requests replayed, and of all.
    ///
    /// # Errors
    /// A recording that does not fit the drive, or an image that cannot be written.
    pub fn run(&self, setup: &Setup, recording: &Recording, progress: &mut dyn FnMut(usize, usize)) -> Result<Tried, ServeError> {
        fs::create_dir_all(&self.work).map_err(|error| ServeError::File(self.work.clone(), "create", error))?;
        let mut start = Disk::in_memory(setup)?;
        if let Some(base) = &self.base {
            image::fill(&mut start, base)?;
        }
        if let Some(only) = self.only {
            return self.try_only(&start, recording, only);
        }
        let (kept, known) = Kept::open(&self.work, self.digest(setup, recording)?, self.anew)?;
        let Known { verdicts, requests } = known;
        let tried = {
            let checks = Checks::new(&self.check, &self.work, verdicts, |digest, verdict| kept.verdict(digest, verdict));
            let mut tried = self.try_all(&start, recording, &checks, (&kept, requests), progress)?;
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

    /// What tells this run from others.
    fn digest(&self, setup: &Setup, recording: &Recording) -> Result<Digest, ServeError> {
        let base = match &self.base {
            Some(base) => fs::read(base).map_err(|error| ServeError::File(base.clone(), "read", error))?,
            None => Vec::new(),
        };
        let requests = Digest::of(&format!("{:?}", recording.requests)).0;
        let numbers = (self.samples, self.flushes, self.fates, self.seed);
        Ok(Digest::of(&(format!("{setup:?}"), requests, base, &self.check, numbers)))
    }

    fn try_only(&self, start: &Disk, recording: &Recording, only: Instant) -> Result<Tried, ServeError> {
        let all = recording.requests.len();
        if only.request > all {
            return Err(ServeError::Other(format!("--only {only}: the recording has {all} requests")));
        }
        let mut disk = start.fork()?;
        for (index, recorded) in recording.requests[..only.request].iter().enumerate() {
            send(&mut disk, recorded, index)?;
        }
        let mut image = self.image_at(&disk, recording.requests.get(only.request), only)?;
        let checks = Checks::new(&self.check, &self.work, BTreeMap::new(), |_, _| {});
        let (digest, verdict) = checks.verdict(&read_all(&mut image)?)?;
        let failure = |said| Failure { instant: only, image: checks.path(digest), said, smaller: None };
        Ok(Tried { instants: 1, known: 0, images: 1, failures: verdict.map(failure).into_iter().collect() })
    }

    fn try_all(
        &self,
        start: &Disk,
        recording: &Recording,
        checks: &Checks,
        (kept, known): (&Kept, BTreeMap<usize, Images>),
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Tried, ServeError> {
        let plan = self.tries(recording);
        let (left, ends) = (plan.keys().copied().collect(), AtomicBool::new(false));
        let (done, seen) = (BTreeMap::new(), BTreeSet::new());
        let mut collector = Collector { crash: self, checks, kept, left, done, seen, tried: Tried::default() };
        // Few drives wait: each takes memory.
        let (give, take) = mpsc::sync_channel::<Job>(1);
        let (take, (tell, hear)) = (Arc::new(Mutex::new(take)), mpsc::channel());
        thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                let (take, tell, ends) = (take.clone(), tell.clone(), &ends);
                scope.spawn(move || self.work(&take, &tell, checks, ends));
            }
            drop((take, tell));
            let replayed = self.replay(start, recording, (plan, known), (&give, &hear), (&mut collector, progress));
            ends.store(replayed.is_err() || collector.is_enough(), Relaxed);
            drop(give);
            replayed?;
            hear.into_iter().try_for_each(|found| collector.hear(found))
        })?;
        Ok(collector.tried)
    }

    /// Replays, and hands out the drive where something is to be tried.
    fn replay<'a>(
        &self,
        start: &Disk,
        recording: &'a Recording,
        (plan, mut known): (BTreeMap<usize, Tries>, BTreeMap<usize, Images>),
        (give, hear): (&SyncSender<Job<'a>>, &Receiver<Found>),
        (collector, progress): (&mut Collector, &mut dyn FnMut(usize, usize)),
    ) -> Result<(), ServeError> {
        let (requests, mut disk) = (&recording.requests, start.fork()?);
        for request in 0..=requests.len() {
            hear.try_iter().try_for_each(|found| collector.hear(found))?;
            if collector.is_enough() {
                break;
            }
            let next = requests.get(request);
            if let Some(&tries) = plan.get(&request) {
                if let Some(images) = known.remove(&request) {
                    collector.tried.known += images.len();
                    collector.add(request, images);
                } else if give.send(Job { disk: disk.fork()?, next, request, tries }).is_err() {
                    // All threads panicked; that is told when they are joined.
                    break;
                }
            }
            progress(request, requests.len());
            if let Some(recorded) = next {
                send(&mut disk, recorded, request)?;
            }
        }
        Ok(())
    }

    /// What each thread does.
    fn work(&self, take: &Mutex<Receiver<Job>>, tell: &Sender<Found>, checks: &Checks, ends: &AtomicBool) {
        // The lock is held while a thread waits, not while it works.
        let next = || take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(job) = next() {
            let images = self.try_request(&job, checks, ends).transpose();
            if let Some(images) = images {
                let _ = tell.send((job.request, images));
            }
        }
    }

    /// The images at all instants of a request; `None` if nobody wants to know any more.
    fn try_request(&self, job: &Job, checks: &Checks, ends: &AtomicBool) -> Result<Option<Images>, ServeError> {
        let mut images = Images::new();
        for instant in self.instants(job)? {
            if ends.load(Relaxed) {
                return Ok(None);
            }
            let mut image = self.image_at(&job.disk, job.next, instant)?;
            images.push((instant, checks.verdict(&read_all(&mut image)?)?.0));
        }
        Ok(Some(images))
    }

    /// The instants that are tried at a request.
    fn instants(&self, job: &Job) -> Result<Vec<Instant>, ServeError> {
        let (request, mut events) = (job.request, BTreeSet::new());
        if job.tries.before {
            events.insert(0);
        }
        if let Some(next) = job.next.filter(|_| job.tries.within > 0) {
            let mut draws = Streams::new(self.seed).stream_of("crash/events", request as u64);
            let end = events_of(&job.disk, next)?;
            events.extend((0..job.tries.within).map(|_| 1 + draws.below(end.into()) as u32));
        }
        let fates = |events| (0..self.fates).map(move |fate| Instant { request, events, fate });
        Ok(events.into_iter().flat_map(fates).collect())
    }

    /// The drive after the power went at an instant, of a drive that answered all requests before.
    fn image_at(&self, disk: &Disk, next: Option<&Recorded>, instant: Instant) -> Result<Disk, ServeError> {
        let mut fork = disk.fork()?;
        let number = (instant.request as u64) << 32 | u64::from(instant.events) << 16 | u64::from(instant.fate);
        fork.draw_fates(Streams::new(self.seed).stream_of("crash/fates", number).bits());
        if let Some(next) = next.filter(|_| instant.events > 0) {
            fork.submit(next.request.clone());
            fork.step(instant.events - 1)?;
            // Just before the next event: what dies are doing has begun.
            if let Some(next) = fork.next_event() {
                fork.idle(Nanos(next.since(fork.now()).0.saturating_sub(1)))?;
            }
        }
        fork.cut_power()?;
        Ok(fork)
    }
}

fn send(disk: &mut Disk, recorded: &Recorded, index: usize) -> Result<(), ServeError> {
    disk.submit(recorded.request.clone());
    for answer in disk.run_all()? {
        if let Err(failed) = answer.result {
            return Err(ServeError::Other(format!("request {index} of the recording: {}", failed.in_words())));
        }
    }
    Ok(())
}

/// Events of the drive until the request is answered.
fn events_of(disk: &Disk, recorded: &Recorded) -> Result<u32, ServeError> {
    let mut fork = disk.fork()?;
    fork.submit(recorded.request.clone());
    let mut events = 1;
    while events < EVENTS_MAX {
        fork.step(1)?;
        if !fork.answers()?.is_empty() {
            break;
        }
        events += 1;
    }
    Ok(events)
}

/// Where images are written, unless the user says where.
#[must_use]
pub fn usual_work(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".crash");
    name.into()
}
