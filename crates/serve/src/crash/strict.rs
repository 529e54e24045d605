//! The strictest drive that a program may meet: sectors and nothing else, no scheme and no dies.
//!
//! All that was flushed, or written with FUA, is there after a power cut. Any whole *atoms* of every other write may be there, in
//! any order: none, all, or some of its atoms and not the others. A discard may have happened or not; what was discarded reads as zeros.
//! That is what the interface promises: NVMe and ATA know no order of writes but flushes.
//!
//! An atom is a logical sector of 512 bytes, which is all that the interface says, or 4096 bytes, the physical sector of drives made
//! since 2011. File systems rely on the latter: ext4 cannot be mounted after its superblock, 1024 bytes with one check sum, was torn.

use super::image::{Image, adds};
use crate::directory::ServeError;
use crate::steps::Step;
use ssd::disk::{DiskRequest, SECTOR};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use vocab::{Fua, SharedBytes, Stream};

/// Which of the writes that were not flushed a power cut leaves. Numbers are those of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// All.
    All,
    /// None, but what was forced.
    None,
    /// All but this one.
    Lost(usize),
    /// This one alone, and what was forced.
    Kept(usize),
    /// That many of the first atoms of this one, or, negative, of its last; with all others, or alone.
    Torn {
        /// The write.
        write: usize,
        /// Atoms that are there.
        atoms: i32,
        /// True if the others are lost.
        alone: bool,
    },
    /// Some of them, as a draw of this number says.
    Drawn(u32),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "all"),
            Self::None => write!(f, "none"),
            Self::Lost(step) => write!(f, "lost-{step}"),
            Self::Kept(step) => write!(f, "kept-{step}"),
            Self::Torn { write, atoms, alone } => write!(f, "torn-{write}{atoms:+}{}", if *alone { "-alone" } else { "" }),
            Self::Drawn(draw) => write!(f, "drawn-{draw}"),
        }
    }
}

impl FromStr for Loss {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, rest) = text.split_once('-').unwrap_or((text, ""));
        let step = || rest.parse().map_err(|_| ());
        Ok(match kind {
            "all" if rest.is_empty() => Self::All,
            "none" if rest.is_empty() => Self::None,
            "lost" => Self::Lost(step()?),
            "kept" => Self::Kept(step()?),
            "drawn" => Self::Drawn(rest.parse().map_err(|_| ())?),
            "torn" => {
                let (rest, alone) = rest.strip_suffix("-alone").map_or((rest, false), |rest| (rest, true));
                let at = rest.find(['+', '-']).ok_or(())?;
                let (write, atoms) = rest.split_at(at);
                Self::Torn { write: write.parse().map_err(|_| ())?, atoms: atoms.parse().map_err(|_| ())?, alone }
            }
            _ => return Err(()),
        })
    }
}

/// In words that follow "after N steps, of which ...".
pub(super) fn in_words(loss: Loss) -> String {
    let atoms = |atoms: i32| {
        let (end, count) = (if atoms > 0 { "first" } else { "last" }, atoms.unsigned_abs());
        if count == 1 { format!("the {end} atom") } else { format!("the {end} {count} atoms") }
    };
    match loss {
        Loss::All => "with all writes kept".into(),
        Loss::None => "with all writes since the last flush lost".into(),
        Loss::Lost(step) => format!("with write {step} lost"),
        Loss::Kept(step) => format!("with no write since the last flush kept but {step}"),
        Loss::Torn { write, atoms: kept, alone: false } => {
            format!("with {} of write {write} kept and no more of it", atoms(kept))
        }
        Loss::Torn { write, atoms: kept, alone: true } => {
            format!("with no write since the last flush kept but {} of {write}", atoms(kept))
        }
        Loss::Drawn(draw) => format!("with some writes since the last flush lost, draw {draw}"),
    }
}

/// A write or discard that a power cut may take.
#[derive(Clone, Debug)]
struct Pending {
    step: usize,
    sectors: Range<u64>,
    /// None: a discard.
    data: Option<SharedBytes>,
    /// Durable by itself once it is answered.
    forced: bool,
}

impl Pending {
    fn sector(&self, sector: u64) -> Option<&[u8]> {
        let at = (sector - self.sectors.start) as usize * SECTOR;
        self.data.as_ref().map(|data| &data[at..at + SECTOR])
    }

    fn atoms(&self, size: u64) -> Range<u64> {
        self.sectors.start / size..self.sectors.end.div_ceil(size)
    }
}

/// A drive of sectors.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Sectors that are written all or not at all.
    atom: u64,
    durable: Image,
    /// The contents as long as the power is there.
    now: Image,
    pending: Vec<Arc<Pending>>,
    /// Its state when copies of it were made, by their names.
    snapshots: BTreeMap<String, Arc<Snapshot>>,
}

/// A copy of a drive: what it held, and what of that a cut may still take.
#[derive(Clone, Debug)]
struct Snapshot {
    durable: Image,
    now: Image,
    pending: Vec<Arc<Pending>>,
}

/// Sectors that are not as in an image.
type Overlay<'a> = BTreeMap<u64, Option<&'a [u8]>>;

impl Block {
    /// A drive with these contents. `atom` is in sectors.
    pub fn new(image: Image, atom: u64) -> Self {
        Self { atom, now: image.clone(), durable: image, pending: Vec::new(), snapshots: BTreeMap::new() }
    }

    /// All that it reads as.
    pub fn now(&self) -> &Image {
        &self.now
    }

    /// Does a step.
    pub fn take(&mut self, step: &Step, index: usize) -> Result<(), ServeError> {
        match step {
            Step::Mark(_) => {}
            Step::Control { words, held } => match (words.split_once(' '), held) {
                (Some(("snapshot", name)), None) => {
                    let Self { durable, now, pending, .. } = self.clone();
                    self.snapshots.insert(name.to_owned(), Arc::new(Snapshot { durable, now, pending }));
                }
                (Some(("delete-snapshot", name)), None) => drop(self.snapshots.remove(name)),
                (_, None) => {}
                (command, Some(held)) => {
                    let held = Image::of(self.now.size(), held);
                    let name = command.filter(|(command, _)| *command == "restore").map(|(_, name)| name);
                    self.become_what(held, name);
                }
            },
            Step::Request(request) => self.request(request, index)?,
        }
        Ok(())
    }

    /// It holds something else from now on. What a copy of this name did not have durable, a cut may take again; it is known of copies that
    /// were made during the recording, and not where the drive came back with other data, as one in files that was not flushed. Then all is
    /// durable, as after a cut.
    fn become_what(&mut self, held: Image, name: Option<&str>) {
        let snapshot = name.and_then(|name| self.snapshots.get(name)).filter(|snapshot| snapshot.now.digest() == held.digest());
        (self.durable, self.now, self.pending) = match snapshot.map(|snapshot| Snapshot::clone(snapshot)) {
            Some(Snapshot { durable, now, pending }) => (durable, now, pending),
            None => (held.clone(), held, Vec::new()),
        };
    }

    fn request(&mut self, request: &DiskRequest, index: usize) -> Result<(), ServeError> {
        let pending = match request {
            DiskRequest::Read { .. } => return Ok(()),
            DiskRequest::Flush => {
                self.pending.clear();
                self.durable = self.now.clone();
                return Ok(());
            }
            DiskRequest::Write { sector, data, fua } => {
                let sectors = *sector..sector + (data.len() / SECTOR) as u64;
                Pending { step: index, sectors, data: Some(data.clone()), forced: *fua == Fua::Yes }
            }
            DiskRequest::Discard { sector, sectors } => {
                Pending { step: index, sectors: *sector..sector + u64::from(*sectors), data: None, forced: false }
            }
        };
        let (end, size) = (pending.sectors.end * SECTOR as u64, self.now.size());
        if end > size {
            return Err(ServeError::Other(format!("step {index} of the recording ends at byte {end}; the drive has {size}")));
        }
        match &pending.data {
            Some(data) => self.now.write(pending.sectors.start, data),
            None => self.now.clear(pending.sectors.clone()),
        }
        self.pending.push(Arc::new(pending));
        Ok(())
    }

    /// The image that a power cut leaves.
    pub fn cut(&self, loss: Loss, draws: &mut dyn FnMut(u32) -> Stream) -> Image {
        let (base, overlay) = self.left(loss, draws);
        let mut image = base.clone();
        for (sector, bytes) in overlay {
            match bytes {
                Some(bytes) => image.write(sector, bytes),
                None => image.clear(sector..sector + 1),
            }
        }
        image
    }

    /// The digest of what a power cut leaves.
    pub fn digest(&self, loss: Loss, draws: &mut dyn FnMut(u32) -> Stream) -> u64 {
        let (base, overlay) = self.left(loss, draws);
        let change = |(sector, bytes): (&u64, &Option<&[u8]>)| {
            let new = bytes.map_or(0, |bytes| adds(*sector, bytes));
            new.wrapping_sub(adds(*sector, base.sector(*sector)))
        };
        overlay.iter().map(change).fold(base.digest(), u64::wrapping_add)
    }

    /// The image that a power cut leaves, as sectors that differ from one of the two images.
    fn left(&self, loss: Loss, draws: &mut dyn FnMut(u32) -> Stream) -> (&Image, Overlay<'_>) {
        match loss {
            Loss::All => (&self.now, Overlay::new()),
            Loss::Lost(write) | Loss::Torn { write, alone: false, .. } => (&self.now, self.without(write, loss)),
            Loss::None | Loss::Kept(_) | Loss::Torn { .. } => (&self.durable, self.with(|pending| self.keeps(loss, pending))),
            Loss::Drawn(draw) => {
                let mut draws = draws(draw);
                (&self.durable, self.with(|pending| self.drawn(pending, &mut draws)))
            }
        }
    }

    /// The atoms of a write that a cut leaves.
    fn keeps(&self, loss: Loss, pending: &Pending) -> Kept {
        match loss {
            // A write under way is not forced yet.
            Loss::Torn { write, atoms, .. } if write == pending.step => {
                let all = pending.atoms(self.atom);
                let count = u64::from(atoms.unsigned_abs());
                let kept = if atoms > 0 { all.start..all.start + count } else { all.end.saturating_sub(count)..all.end };
                Kept::Atoms(kept)
            }
            Loss::Lost(write) if write == pending.step => Kept::Atoms(0..0),
            Loss::All | Loss::Lost(_) | Loss::Torn { alone: false, .. } => Kept::All,
            Loss::Kept(write) if write == pending.step => Kept::All,
            _ if pending.forced => Kept::All,
            _ => Kept::Atoms(0..0),
        }
    }

    fn drawn(&self, pending: &Pending, draws: &mut Stream) -> Kept {
        match draws.below(20) {
            _ if pending.forced => Kept::All,
            0..9 => Kept::All,
            9..18 => Kept::Atoms(0..0),
            _ if pending.data.is_none() => Kept::All,
            _ => Kept::Each(pending.atoms(self.atom).filter(|_| draws.chance(0.5)).collect()),
        }
    }

    /// Sectors of what is kept, over what is durable.
    fn with(&self, mut keeps: impl FnMut(&Pending) -> Kept) -> Overlay<'_> {
        let mut overlay = Overlay::new();
        for pending in &self.pending {
            let kept = keeps(pending);
            if pending.data.is_some() {
                let sectors = pending.sectors.clone().filter(|sector| kept.has(sector / self.atom));
                overlay.extend(sectors.map(|sector| (sector, pending.sector(sector))));
            } else if kept.is_all() {
                let over: Vec<u64> = overlay.range(pending.sectors.clone()).map(|(sector, _)| *sector).collect();
                let stored = self.durable.stored(pending.sectors.clone());
                overlay.extend(over.into_iter().chain(stored).map(|sector| (sector, None)));
            }
        }
        overlay
    }

    /// Sectors of one write as they are without it, or without a part of it.
    fn without(&self, write: usize, loss: Loss) -> Overlay<'_> {
        let mut overlay = Overlay::new();
        let Some(at) = self.pending.iter().position(|pending| pending.step == write) else { return overlay };
        let (lost, kept) = (&self.pending[at], self.keeps(loss, &self.pending[at]));
        let touched: Vec<u64> = match lost.data {
            Some(_) => lost.sectors.clone().filter(|sector| !kept.has(sector / self.atom)).collect(),
            // A discard changed what was stored, by then or since.
            None => {
                let others =
                    self.pending.iter().filter(|pending| pending.data.is_some()).flat_map(|pending| pending.sectors.clone());
                let mut all = self.durable.stored(lost.sectors.clone());
                all.extend(others.filter(|sector| lost.sectors.contains(sector)));
                all
            }
        };
        let over: Vec<&Arc<Pending>> = self
            .pending
            .iter()
            .filter(|other| {
                other.step != write && other.sectors.start < lost.sectors.end && lost.sectors.start < other.sectors.end
            })
            .collect();
        for sector in touched {
            let last = over.iter().rev().find(|other| other.sectors.contains(&sector));
            overlay.insert(sector, last.map_or_else(|| Some(self.durable.sector(sector)), |last| last.sector(sector)));
        }
        overlay
    }
}

/// The kept part of a write.
enum Kept {
    All,
    Atoms(Range<u64>),
    /// These atoms, in order.
    Each(Vec<u64>),
}

impl Kept {
    fn has(&self, atom: u64) -> bool {
        match self {
            Self::All => true,
            Self::Atoms(atoms) => atoms.contains(&atom),
            Self::Each(atoms) => atoms.binary_search(&atom).is_ok(),
        }
    }

    fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

/// Writes of which each is lost alone, and kept alone, at one instant, at most.
const SINGLES: usize = 64;

impl Block {
    /// Losses that are tried after a step: those with the newest write, or all.
    pub fn losses(&self, all: bool, drawn: u32, draws: &mut Stream) -> (Vec<Loss>, usize) {
        let (mut losses, mut left_out) = (vec![Loss::All], 0);
        let (Some(last), count) = (self.pending.last(), self.pending.len()) else { return (losses, 0) };
        let is_one_forced = count == 1 && last.forced;
        if (all || last.forced) && !is_one_forced {
            losses.push(Loss::None);
        }
        // The newest half of the most, and some of the others.
        let mut singles: Vec<usize> = (0..count).collect();
        if count > SINGLES {
            let (newest, older) = (count - SINGLES / 2, count - SINGLES / 2);
            let parts = SINGLES / 2;
            let one = |part: usize| part * older / parts + draws.below((older / parts) as u64) as usize;
            singles = (0..parts).map(one).chain(newest..count).collect();
            left_out = count - singles.len();
        }
        for &single in &singles {
            let (one, is_last) = (&self.pending[single], single == count - 1);
            if !one.forced && (all || !is_last) {
                losses.push(Loss::Lost(one.step));
            }
            if count > 1 && (all || is_last) {
                losses.push(Loss::Kept(one.step));
            }
            if all && !one.forced || is_last {
                losses.extend(self.torn(one, count > 1));
            }
        }
        let is_some = count > 1 || last.atoms(self.atom).count() > 1 && last.data.is_some();
        losses.extend((0..if is_some { drawn } else { 0 }).map(Loss::Drawn));
        (losses, left_out)
    }

    /// Ways in which a write is torn.
    fn torn(&self, one: &Pending, has_others: bool) -> Vec<Loss> {
        let atoms = one.atoms(self.atom).count() as i32;
        if one.data.is_none() || atoms < 2 {
            return Vec::new();
        }
        let mut kept = vec![1, atoms / 2, atoms - 1, -1];
        kept.sort_unstable();
        kept.dedup();
        let torn = |atoms, alone| Loss::Torn { write: one.step, atoms, alone };
        let alone = has_others.then(|| torn(atoms / 2, true));
        kept.into_iter().map(|atoms| torn(atoms, false)).chain(alone).collect()
    }
}

#[cfg(test)]
mod tests;
