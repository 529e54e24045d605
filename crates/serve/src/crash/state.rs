//! A drive in the middle of a recording: of sectors, or one of ours.

use super::image::{Digest, Image};
use super::instant::Cut;
use super::strict::{Block, Loss};
use super::{Crash, DriveKind, Instant};
use crate::directory::ServeError;
use crate::steps::{Recording, Step};
use ssd::disk::{Control, Disk, SECTOR};
use vocab::{Nanos, Streams};

/// Events of one request that are counted at most.
const EVENTS_MAX: u32 = 10_000;

/// Commands that change nothing in a replay: those that copy the drive, and those with which the server lied to its clients.
const OF_THE_SERVER: [&str; 5] = ["snapshot", "delete-snapshot", "lie", "errors", "corrupt"];

/// A drive that answered all steps so far.
pub(super) enum State {
    Strict(Block),
    Drive(Box<Disk>),
}

impl State {
    /// The drive before the recording.
    pub fn start(crash: &Crash, drive: &DriveKind, recording: &Recording) -> Result<Self, ServeError> {
        let base = |size| crash.base.as_ref().map(|base| Image::of_file(base, size)).transpose();
        match drive {
            DriveKind::Strict { atom, size } => {
                let size = size.or(recording.size);
                let image = match base(size)? {
                    Some(image) => image,
                    None => Image::zeros(size.unwrap_or_else(|| recording.end())),
                };
                Ok(Self::Strict(Block::new(image, u64::from(*atom) / SECTOR as u64)))
            }
            DriveKind::Of(setup) => {
                let mut disk = Disk::in_memory(setup)?;
                if let Some(image) = base(Some(disk.sectors() * SECTOR as u64))? {
                    image.put_on(&mut disk)?;
                }
                Ok(Self::Drive(Box::new(disk)))
            }
        }
    }

    pub fn fork(&self) -> Result<Self, ServeError> {
        Ok(match self {
            Self::Strict(block) => Self::Strict(block.clone()),
            Self::Drive(disk) => Self::Drive(Box::new(disk.fork()?)),
        })
    }

    /// Does a step and waits for its answer.
    pub fn take(&mut self, step: &Step, index: usize) -> Result<(), ServeError> {
        match self {
            Self::Strict(block) => block.take(step, index),
            Self::Drive(disk) => send(disk, step, index),
        }
    }

    /// All that the drive reads as.
    pub fn now(&self) -> Result<Image, ServeError> {
        match self {
            Self::Strict(block) => Ok(block.now().clone()),
            Self::Drive(disk) => Image::on(&mut disk.fork()?),
        }
    }

    /// The image that a power cut leaves, of a drive that answered all steps before, and may work on the next one.
    pub fn cut(&self, crash: &Crash, next: Option<&Step>, instant: Instant) -> Result<Image, ServeError> {
        match (self, instant.cut) {
            (Self::Strict(block), Cut::Strict(loss)) => Ok(block.cut(loss, &mut |draw| crash.draws(instant.step, draw))),
            (Self::Drive(disk), Cut::Drive { events, fate }) => {
                let mut fork = disk.fork()?;
                let number = (instant.step as u64) << 32 | u64::from(events) << 16 | u64::from(fate);
                fork.draw_fates(Streams::new(crash.seed).stream_of("crash/fates", number).bits());
                if let Some(Step::Request(next)) = next.filter(|_| events > 0) {
                    fork.submit(next.clone());
                    fork.step(events - 1)?;
                    // Just before the next event: what dies are doing has begun.
                    if let Some(next) = fork.next_event() {
                        fork.idle(Nanos(next.since(fork.now()).0.saturating_sub(1)))?;
                    }
                }
                fork.cut_power()?;
                Image::on(&mut fork)
            }
            (Self::Strict(_), _) => {
                Err(ServeError::Other(format!("--only {instant}: an instant of a drive of ours, which none is")))
            }
            _ => Err(ServeError::Other(format!("--only {instant}: an instant of the strict drive, and another drive is named"))),
        }
    }

    /// Its dies' events until a request is answered.
    pub fn events_of(&self, step: &Step) -> Result<u32, ServeError> {
        let (Self::Drive(disk), Step::Request(request)) = (self, step) else { return Ok(0) };
        let mut fork = disk.fork()?;
        fork.submit(request.clone());
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

    /// Cuts that are looked at once more: of a shorter recording, that may fail in another way than the first failure.
    pub fn all_cuts(&self, crash: &Crash, first: Instant, fates: u32, step: usize) -> Vec<Cut> {
        match (self, first.cut) {
            (Self::Strict(block), _) => {
                let (losses, _) = block.losses(true, crash.subsets, &mut crash.draws(step, u32::MAX));
                losses.into_iter().filter(|loss| *loss != Loss::All).map(Cut::Strict).collect()
            }
            (Self::Drive(_), Cut::Drive { events, fate }) => {
                // The first: with the whole recording this is the failure itself.
                let same = std::iter::once(Cut::Drive { events, fate });
                let of = |events| (0..fates).map(move |fate| Cut::Drive { events, fate });
                same.chain([0, events].into_iter().flat_map(of)).collect()
            }
            (Self::Drive(_), Cut::Strict(_)) => Vec::new(),
        }
    }
}

/// The digest of the image that a cut of the strict drive leaves.
pub(super) fn digest_of(block: &Block, crash: &Crash, step: usize, loss: Loss) -> Digest {
    Digest(block.digest(loss, &mut |draw| crash.draws(step, draw)))
}

fn send(disk: &mut Disk, step: &Step, index: usize) -> Result<(), ServeError> {
    let failed = |what: &str| ServeError::Other(format!("step {index} of the recording ({step}): {what}"));
    match step {
        Step::Mark(_) => {}
        Step::Control { held: Some(held), .. } => Image::of(disk.sectors() * SECTOR as u64, held).put_on(disk)?,
        Step::Control { words, .. } if OF_THE_SERVER.contains(&words.split(' ').next().unwrap_or_default()) => {}
        Step::Control { words, .. } => match words.parse::<Control>() {
            // Time of the wall clock, which a replay does not have.
            Ok(Control::Pause(_) | Control::Hang(_)) => {}
            Ok(control) => disk.carry_out(&control).map_err(|error| failed(&error.to_string()))?,
            Err(error) => return Err(failed(&error)),
        },
        Step::Request(request) => {
            disk.submit(request.clone());
            for answer in disk.run_all()? {
                answer.result.map_err(|why| failed(why.in_words()))?;
            }
        }
    }
    Ok(())
}
