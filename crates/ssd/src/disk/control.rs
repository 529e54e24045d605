//! Events of a drive beside requests: parts of it fail, the power goes, it ages, it is put back to an earlier state.

use super::medium::Medium;
use super::{Control, Disk, DiskAnswer, DiskError, DiskRequest, Failed};
use crate::core::apart::Apart;
use crate::disk::climate::{climate, set_climate};
use crate::disk::medium::{client_mut, client_requests, take_client};
use crate::engine::online::Turn;
use crate::fit::NO_SPARE_DIES;
use crate::host::shadow::FirstContents;
use crate::power::cut::{Fate, begun};
use crate::power::mount::Mounted;
use crate::proof::{Failure, fail};
use crate::session::Prepared;
use crate::write::RebuiltBy;
use device::contents::PageBuf;
use nand::FlashArray;
use vocab::{BlockAddr, DieId, Lpn, Nanos, Ppn, SimTime, Streams};

/// A part of the flash that is lost permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A die stops answering, from 0.
    Die(u16),
    /// A block keeps nothing and takes nothing, by its number from 0 over all dies.
    Block(u32),
    /// A programmed page cannot be read until its block is erased, by its number from 0 over all blocks.
    Page(u32),
    /// A block takes nothing any more; what it holds stays until an erase of it is tried.
    WornOut(u32),
    /// All dies of a channel stop answering, from 0.
    Channel(u32),
}

/// A whole drive as it was. Of a drive in memory, pages that did not change since are shared with it; of one in files it is a copy
/// beside them, with a name, which outlives the process.
#[derive(Clone)]
pub struct Snapshot {
    state: State,
    next: u64,
    celsius: f64,
}

enum State {
    Memory(Apart<Prepared<PageBuf>>),
    /// Copies of the files, by their name.
    Files(String),
}

impl Clone for State {
    #[inline(never)]
    fn clone(&self) -> Self {
        match self {
            Self::Memory(prepared) => Self::Memory(prepared.clone()),
            Self::Files(name) => Self::Files(name.clone()),
        }
    }
}

/// Events that recovery takes at most before something is wrong.
const RECOVERY_EVENTS_MAX: u64 = 1 << 32;

impl Disk {
    /// Loses a part of the flash.
    ///
    /// # Errors
    /// If there is no such part, or it is dead already; of a page, if it holds nothing that could be lost; or if files cannot be
    /// written.
    pub fn fail(&mut self, part: Part) -> Result<(), DiskError> {
        self.check(&Control::Fail(part))?;
        let failure = match part {
            Part::Die(die) if self.medium.engine().core.device.is_dead(DieId(die)) => {
                return Err(DiskError::control(format!("die {die} is dead already")));
            }
            Part::Page(page) if !self.medium.engine().core.device.is_programmed(Ppn(page)) => {
                return Err(DiskError::control(format!("page {page} holds nothing that could be lost")));
            }
            Part::Channel(channel) => return self.fail_channel(channel),
            Part::Die(die) => Failure::Die(DieId(die)),
            Part::Block(block) => Failure::Block(BlockAddr(block)),
            Part::WornOut(block) => Failure::WornOut(BlockAddr(block)),
            Part::Page(page) => Failure::Page(Ppn(page)),
        };
        fail(self.medium.engine_mut(), failure);
        self.medium.save()
    }

    fn fail_channel(&mut self, channel: u32) -> Result<(), DiskError> {
        let engine = self.medium.engine_mut();
        let grid = &engine.core.device.grid;
        let dies = (0..grid.dies() as u16).map(DieId).filter(|&die| grid.channel_of(die).index() == channel as usize);
        let alive: Vec<DieId> = dies.filter(|&die| !engine.core.device.is_dead(die)).collect();
        if alive.is_empty() {
            return Err(DiskError::control(format!("all dies of channel {channel} are dead already")));
        }
        alive.into_iter().for_each(|die| fail(engine, Failure::Die(die)));
        self.medium.save()
    }

    /// A spare die, new and erased, takes the place of a dead one, once nothing is under way that knows its pages. What that held is
    /// rebuilt on it, in the background.
    ///
    /// # Errors
    /// If there is no such die, it is not dead, or the scheme writes around dead dies; or as of [`Disk::run`].
    pub fn replace_die(&mut self, die: DieId) -> Result<(), DiskError> {
        self.check(&Control::Replace(die))?;
        let engine = self.medium.engine();
        let (is_dead, is_rebuilt) = (engine.core.device.is_dead(die), engine.writer.facts.rebuilt_by != RebuiltBy::Nothing);
        if !is_rebuilt {
            return Err(DiskError::control(format!("scheme {}: {NO_SPARE_DIES}", self.setup.scheme.name)));
        }
        if !is_dead {
            return Err(DiskError::control(format!("die {} is not dead", die.0)));
        }
        let engine = self.medium.engine_mut();
        engine.replace_from(die, engine.core.device.now);
        let mut events = 0;
        while self.medium.engine().care.replacements.is_any_asked() {
            events += 1;
            // Commands that the die was given before it died are still queued there.
            if self.medium.turn(SimTime(u64::MAX))? == Turn::AtRest || events > RECOVERY_EVENTS_MAX {
                return Err(DiskError::stuck(self.outstanding()));
            }
        }
        self.medium.save()
    }

    /// From now on page reads return another page and report success with this probability, and programs do not happen with a
    /// tenth of it (`nand::silent`).
    ///
    /// # Errors
    /// If it is no probability, or files cannot be written.
    pub fn silent(&mut self, chance: f64) -> Result<(), DiskError> {
        self.check(&Control::Silent(chance))?;
        let draws = Streams::new(self.setup.seed).stream("nand/silent");
        self.medium.engine_mut().core.device.array.fail_silently(chance, draws);
        self.medium.save()
    }

    /// Adds P/E cycles to every block.
    ///
    /// # Errors
    /// If files cannot be written.
    pub fn wear(&mut self, cycles: u32) -> Result<(), DiskError> {
        let engine = self.medium.engine_mut();
        engine.core.safe.wear_was_added = true;
        for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
            engine.core.device.array.set_age(block, |info| info.pe = info.pe.saturating_add(cycles));
            let (unit, pe) = (engine.core.map.unit_of_block(block), engine.core.device.array.block(block).pe);
            engine.core.map.set_pe(unit, pe);
        }
        self.medium.save()
    }

    /// The drive lies on a shelf for so long, switched off after it came to rest: its data age, and no one refreshes them.
    /// Requests that wait are answered before, and their answers kept for the next [`Disk::run`].
    ///
    /// # Errors
    /// As of [`Disk::run`].
    pub fn age(&mut self, time: Nanos) -> Result<(), DiskError> {
        self.check(&Control::Age(time))?;
        self.come_to_rest()?;
        let engine = self.medium.engine_mut();
        let now = engine.core.device.now.0.saturating_add(time.0);
        engine.core.device.now = SimTime(now.min(u64::MAX / 2));
        self.medium.save()
    }

    /// Completes what is in flight, background work included.
    fn come_to_rest(&mut self) -> Result<(), DiskError> {
        self.hand_over()?;
        let mut events = 0;
        while self.medium.turn(SimTime(u64::MAX))? == Turn::On {
            self.hand_over()?;
            events += 1;
            if events > RECOVERY_EVENTS_MAX {
                return Err(DiskError::stuck(self.outstanding()));
            }
        }
        Ok(())
    }

    /// The power goes and comes back: what is volatile is gone, commands that dies work on are cut short, and the drive mounts and
    /// recovers. Requests that were not answered are, with [`Failed::PowerCut`]: they may have been carried out, or not.
    ///
    /// # Errors
    /// If files cannot be read back.
    pub fn cut_power(&mut self) -> Result<(Mounted, Vec<DiskAnswer>), DiskError> {
        let mut answers = self.take_answers()?;
        answers.extend(self.cut_short());
        self.waiting.clear();
        self.out_of_range.clear();
        self.cuts += 1;
        let (mounted, doubtful) = self.medium.cut_power(&self.setup, &mut self.draws)?;
        self.next = self.medium.engine().host.requests.arrived;
        self.recover()?;
        self.settle(&doubtful)?;
        Ok((mounted, answers))
    }

    /// Answers to requests that will have no other.
    fn cut_short(&self) -> Vec<DiskAnswer> {
        let now = self.now();
        let taken = client_requests(self.medium.engine());
        let untaken = self.next - self.waiting.len() as u64..self.next;
        let failed = |request| DiskAnswer { request, result: Err(Failed::PowerCut), at: now, latency: Nanos(0) };
        taken.into_iter().chain(untaken).map(failed).collect()
    }

    /// Power cuts so far.
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Restores the redundancy that a cut took, before the host is served.
    pub(super) fn recover(&mut self) -> Result<(), DiskError> {
        self.medium.engine_mut().go_online();
        let mut events = 0;
        while self.medium.engine().power.mounting.is_some() {
            events += 1;
            if self.medium.turn(SimTime(u64::MAX))? == Turn::AtRest || events > RECOVERY_EVENTS_MAX {
                return Err(DiskError::stuck(self.outstanding()));
            }
        }
        Ok(())
    }

    /// Reads pages that may have one of several contents: what is found is what they have from now on.
    fn settle(&mut self, pages: &[Lpn]) -> Result<(), DiskError> {
        let per = self.sectors_per_page();
        for lpn in pages {
            self.submit(DiskRequest::Read { sector: u64::from(lpn.0) * u64::from(per), sectors: per });
            self.run_all()?;
        }
        client_mut(self.medium.engine_mut()).shadow.give_up_adrift();
        Ok(())
    }

    /// A drive that goes its own way from here, with the requests that wait and those under way.
    ///
    /// # Errors
    /// Of a drive in files.
    pub fn fork(&self) -> Result<Self, DiskError> {
        let Medium::Memory(prepared) = &self.medium else {
            return Err(DiskError::control("not supported: forks of a drive in files"));
        };
        Ok(Self {
            medium: Medium::Memory(prepared.clone()),
            setup: self.setup.clone(),
            waiting: self.waiting.clone(),
            next: self.next,
            out_of_range: self.out_of_range.clone(),
            draws: self.draws.clone(),
            cuts: self.cuts,
            celsius: self.celsius,
            schedule: self.schedule.clone(),
            happened: self.happened.clone(),
            kept: self.kept.clone(),
        })
    }

    /// From now on the fates of what power cuts meet are those of this seed.
    pub fn draw_fates(&mut self, seed: u64) {
        self.draws = Streams::new(seed).stream("disk/cuts");
    }

    /// The whole drive as it is, once what is in flight has ended. The name is that of the copy of a drive in files.
    ///
    /// # Errors
    /// If files cannot be written, or their names cannot have this one.
    pub fn snapshot(&mut self, name: &str) -> Result<Snapshot, DiskError> {
        self.come_to_rest()?;
        let state = match &mut self.medium {
            Medium::Memory(prepared) => State::Memory(prepared.clone()),
            Medium::Files(session) => {
                session.snapshot(name)?;
                State::Files(name.to_owned())
            }
        };
        Ok(Snapshot { state, next: self.next, celsius: self.celsius })
    }

    /// Of a drive in files: the snapshots that are there, with their names.
    #[must_use]
    pub fn snapshots(&self) -> Vec<(String, Snapshot)> {
        let Medium::Files(session) = &self.medium else { return Vec::new() };
        let celsius = self.setup.errors.celsius;
        let found = |name: String| {
            let state = State::Files(name.clone());
            (name, Snapshot { state, next: 0, celsius })
        };
        crate::files::snapshot::names(session.path()).into_iter().map(found).collect()
    }

    /// Of a drive in files: removes the copy of this name, if there is one.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn delete_snapshot(&mut self, name: &str) -> Result<(), DiskError> {
        match &self.medium {
            Medium::Memory(_) => Ok(()),
            Medium::Files(session) => Ok(crate::files::snapshot::delete(session.path(), name)?),
        }
    }

    /// The drive is what it was. Requests that were not answered are, with [`Failed::PowerCut`].
    ///
    /// # Errors
    /// If files cannot be read or written, or the snapshot is of a drive of another kind.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<DiskAnswer>, DiskError> {
        let answers = self.cut_short();
        match (&snapshot.state, &mut self.medium) {
            (State::Memory(prepared), Medium::Memory(own)) => own.clone_from(prepared),
            (State::Files(name), Medium::Files(session)) => {
                session.restore(&self.setup, name)?;
                take_client(&mut session.drive, &self.setup, FirstContents::Unknown);
            }
            _ => {
                return Err(DiskError::control("not supported: a drive in files is not what one in memory was, nor the reverse"));
            }
        }
        self.waiting.clear();
        self.celsius = self.medium.celsius().unwrap_or(snapshot.celsius);
        // Numbers of requests are not given twice.
        self.next = self.next.max(snapshot.next);
        let next = self.next;
        let engine = self.medium.engine_mut();
        engine.host.requests.arrived = next;
        client_mut(engine).starts_at(next);
        if let State::Files { .. } = snapshot.state {
            self.recover()?;
        }
        Ok(answers)
    }
}

impl Medium {
    /// Cuts the power and mounts the drive; pages that may have one of several contents.
    fn cut_power(&mut self, setup: &crate::Setup, draws: &mut vocab::Stream) -> Result<(Mounted, Vec<Lpn>), DiskError> {
        match self {
            Self::Memory(prepared) => {
                let begun = begun(&prepared.engine);
                let fates: Vec<Fate> = begun.into_iter().map(|(begun, _)| begun.draw(draws)).collect();
                let (mut client, arrived) = (prepared.engine.host.client.take(), prepared.engine.host.requests.arrived);
                let climate = climate(&prepared.engine);
                let mounted = prepared.cut_power(&fates, crate::power::outage::Outage::default());
                set_climate(&mut prepared.engine, climate);
                let doubtful = client.as_mut().map(|client| client.power_cut(arrived)).unwrap_or_default();
                prepared.engine.host.client = client;
                prepared.engine.host.oracle = crate::host::oracle::Oracle::default();
                prepared.engine.host.requests.arrived = arrived;
                Ok((mounted, doubtful))
            }
            Self::Files(session) => {
                let (mut client, arrived) = (session.drive.host.client.take(), session.drive.host.requests.arrived);
                let first_mismatch = session.drive.host.first_mismatch.take();
                session.save_to_the_last_read()?;
                session.mount_again(setup)?;
                let doubtful = client.as_mut().map(|client| client.power_cut(arrived)).unwrap_or_default();
                let host = &mut session.drive.host;
                (host.client, host.first_mismatch) = (client, first_mismatch);
                host.oracle = crate::host::oracle::Oracle::default();
                (host.requests.arrived, host.requests.journal) = (arrived, None);
                Ok((session.mounted(), doubtful))
            }
        }
    }
}
