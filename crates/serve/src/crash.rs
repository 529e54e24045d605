//! Crash points: a recording is replayed, and at chosen instants the drive is taken as a power cut leaves it, mounted, and its image
//! handed to a check of the user's own.
//!
//! Requests are replayed one at a time, each answered before the next: whatever their client could do, a drive may behave so. What a
//! cut loses is then what the drive had answered and not made durable (its volatile buffer, in the order in which the drive
//! writes it back), and a request under way.

use crate::directory::ServeError;
use crate::recording::{Recorded, Recording};
use lab::served::{Disk, DiskRequest, SECTOR};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vocab::{Fua, Nanos, Streams};

/// An instant at which the power may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Requests that were answered; the next one is this, from 0.
    pub request: usize,
    /// The power goes just before this event of the drive, from 1, after that request was sent; 0: it was not sent.
    pub events: u32,
    /// Which of the fates of what dies are doing, and of later draws.
    pub fate: u32,
}

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The user's check, run by `sh`; `{image}` stands for the image's path. It passes with exit code 0.
    pub check: String,
    /// Instants beside those around flushes, at most.
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
}

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// Instants.
    pub instants: usize,
    /// Different images among them.
    pub images: usize,
    /// Those that failed, the earliest first.
    pub failures: Vec<Failure>,
}

/// Instants within a request that is under way: of a flush, and of a request that is drawn.
const WITHIN_FLUSH: u32 = 4;
const WITHIN_SAMPLE: u32 = 1;

/// Events of one request that are counted at most.
const EVENTS_MAX: u32 = 10_000;

/// What is tried at a request: before it is sent, and so often while it is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    before: bool,
    within: u32,
}

/// Pages that are read at once.
const AT_ONCE: u32 = 256;

impl Crash {
    /// Replays the recording over a drive and tries instants in their order. `progress` hears of requests replayed, and of all.
    ///
    /// # Errors
    /// A recording that does not fit the drive, or an image that cannot be written.
    pub fn run(
        &self,
        mut disk: Disk,
        recording: &Recording,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Tried, ServeError> {
        self.fill(&mut disk)?;
        fs::create_dir_all(&self.work).map_err(|error| ServeError::File(self.work.clone(), "create", error))?;
        let (mut tries, mut tried, mut seen) = (self.tries(recording), Tried::default(), BTreeSet::new());
        let all = recording.requests.len();
        for (index, recorded) in recording.requests.iter().enumerate() {
            let here = self.instants(&disk, recorded, index, tries.remove(&index).unwrap_or_default())?;
            self.try_all(&disk, Some(recorded), &here, &mut seen, &mut tried)?;
            progress(index, all);
            if tried.failures.len() >= self.failures || self.only.is_some_and(|only| only.request <= index) {
                return Ok(tried);
            }
            self.send(&mut disk, recorded, index)?;
        }
        let end: Vec<Instant> = (0..self.fates).map(|fate| Instant { request: all, events: 0, fate }).collect();
        self.try_all(&disk, None, &end, &mut seen, &mut tried)?;
        Ok(tried)
    }

    /// The instants that are tried at a request.
    fn instants(&self, disk: &Disk, recorded: &Recorded, request: usize, tries: Tries) -> Result<Vec<Instant>, ServeError> {
        if let Some(only) = self.only {
            return Ok(if only.request == request { vec![only] } else { Vec::new() });
        }
        let mut events = BTreeSet::new();
        if tries.before {
            events.insert(0);
        }
        if tries.within > 0 {
            let mut draws = Streams::new(self.seed).stream_of("crash/events", request as u64);
            let end = events_of(disk, recorded)?;
            events.extend((0..tries.within).map(|_| 1 + draws.below(end.into()) as u32));
        }
        let fates = |events| (0..self.fates).map(move |fate| Instant { request, events, fate });
        Ok(events.into_iter().flat_map(fates).collect())
    }

    fn try_all(
        &self,
        disk: &Disk,
        next: Option<&Recorded>,
        instants: &[Instant],
        seen: &mut BTreeSet<u64>,
        tried: &mut Tried,
    ) -> Result<(), ServeError> {
        for &instant in instants {
            if tried.failures.len() >= self.failures {
                break;
            }
            tried.instants += 1;
            if let Some(failure) = self.try_instant(disk, next, instant, (seen, &mut tried.images))? {
                tried.failures.push(failure);
            }
        }
        Ok(())
    }

    fn fill(&self, disk: &mut Disk) -> Result<(), ServeError> {
        let Some(base) = &self.base else { return Ok(()) };
        let bytes = fs::read(base).map_err(|error| ServeError::File(base.clone(), "read", error))?;
        let all = disk.sectors() * SECTOR as u64;
        if bytes.len() as u64 > all || !bytes.len().is_multiple_of(SECTOR) {
            let found = bytes.len();
            return Err(ServeError::Other(format!(
                "{}: {found} bytes; the drive has {all}, in sectors of {SECTOR}",
                base.display()
            )));
        }
        let size = AT_ONCE as usize * SECTOR;
        for (index, part) in bytes.chunks(size).enumerate() {
            disk.write(index as u64 * u64::from(AT_ONCE), part.to_vec(), Fua::No)?;
        }
        disk.flush()?;
        Ok(())
    }

    fn send(&self, disk: &mut Disk, recorded: &Recorded, index: usize) -> Result<(), ServeError> {
        disk.submit(recorded.request.clone());
        for answer in disk.run_all()? {
            if let Err(failed) = answer.result {
                return Err(ServeError::Other(format!("request {index} of the recording: {}", failed.in_words())));
            }
        }
        Ok(())
    }

    /// What is tried where: before, within and after every flush and write with FUA, and at samples of all requests, spread evenly
    /// and drawn within each part.
    fn tries(&self, recording: &Recording) -> BTreeMap<usize, Tries> {
        let (requests, mut draws) = (&recording.requests, Streams::new(self.seed).stream("crash/instants"));
        let mut tries: BTreeMap<usize, Tries> = BTreeMap::new();
        for (index, recorded) in requests.iter().enumerate() {
            if matches!(recorded.request, DiskRequest::Flush | DiskRequest::Write { fua: Fua::Yes, .. }) {
                *tries.entry(index).or_default() = Tries { before: true, within: WITHIN_FLUSH };
                tries.entry(index + 1).or_default().before = true;
            }
        }
        let changes: Vec<usize> = (0..requests.len()).filter(|&index| requests[index].changes()).collect();
        for part in 0..self.samples.min(changes.len()) {
            let parts = self.samples.min(changes.len());
            let (from, to) = (part * changes.len() / parts, (part + 1) * changes.len() / parts);
            let index = changes[from + draws.below((to - from).max(1) as u64) as usize];
            let at = tries.entry(index).or_default();
            if draws.chance(0.5) {
                at.before = true;
            } else {
                at.within = at.within.max(WITHIN_SAMPLE);
            }
        }
        tries
    }

    fn try_instant(
        &self,
        disk: &Disk,
        next: Option<&Recorded>,
        instant: Instant,
        (seen, images): (&mut BTreeSet<u64>, &mut usize),
    ) -> Result<Option<Failure>, ServeError> {
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
        let bytes = read_all(&mut fork)?;
        let mut digest = DefaultHasher::new();
        bytes.hash(&mut digest);
        if !seen.insert(digest.finish()) {
            return Ok(None);
        }
        *images += 1;
        let image = self.work.join(format!("image-{}-{}-{}", instant.request, instant.events, instant.fate));
        fs::write(&image, &bytes).map_err(|error| ServeError::File(image.clone(), "write", error))?;
        let path = image.display().to_string();
        let mut check = Command::new("sh");
        check.arg("-c").arg(self.check.replace("{image}", &quoted(&path))).stdin(Stdio::null());
        let output = check.output().map_err(|error| ServeError::Other(format!("the check cannot be run: {error}")))?;
        if output.status.success() {
            return fs::remove_file(&image).map(|()| None).map_err(|error| ServeError::File(image, "remove", error));
        }
        let said = [output.stdout, output.stderr].concat();
        Ok(Some(Failure { instant, image, said: String::from_utf8_lossy(&said).trim().to_owned() }))
    }
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

/// A word of a shell's command line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// All bytes of the drive; pages that cannot be read are zeros.
fn read_all(disk: &mut Disk) -> Result<Vec<u8>, ServeError> {
    let all = disk.sectors();
    let mut bytes = Vec::with_capacity(all as usize * SECTOR);
    let mut sector = 0;
    while sector < all {
        let sectors = u64::from(AT_ONCE).min(all - sector);
        bytes.extend(disk.read(sector, sectors as u32)?);
        sector += sectors;
    }
    Ok(bytes)
}

impl std::str::FromStr for Instant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<u32> = text.split(':').filter_map(|part| part.parse().ok()).collect();
        match numbers[..] {
            [request, events, fate] if text.split(':').count() == 3 => Ok(Self { request: request as usize, events, fate }),
            _ => Err(format!("found `{text}`; valid is REQUEST:EVENTS:FATE, three numbers")),
        }
    }
}

impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.request, self.events, self.fate)
    }
}

/// Where images are written, unless the user says where.
#[must_use]
pub fn usual_work(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".crash");
    name.into()
}
