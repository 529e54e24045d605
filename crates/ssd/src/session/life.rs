//! A drive's life: stretches of it of which every program is simulated and no time of a command, leaps between them, and blocks that wear
//! out. The clock of a stretch is the calendar: it goes by the pace at which the host writes, so that data are as old as in a drive that is
//! written so much a day.
//!
//! A leap adds P/E cycles to every good block and goes on in the calendar. The map stays, and what the last stretches wrote keeps its age:
//! under a stationary workload both are a sample of what they would be after all these writes. What these did not touch counts as cold,
//! and grows older by the leap.

use crate::boot::age::age_stripes;
use crate::boot::precondition::finish_untimed;
use crate::config::SetupError;
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::session::{Inner, Session, inside};
use device::ecc::PageEcc;
use device::facts::RequestKind;
use device::folds::Folds;
use device::odds::PageOdds;
use ftl::{Place, UnitState};
use nand::{FlashArray, PageCells, hours};
use rustc_hash::FxHashMap;
use vocab::{BlockAddr, Cause, HostCommand, Lpn, Nanos, Ppn, SimTime};

/// Writes in a stretch of a life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Requests of all kinds.
    pub requests: u64,
    /// Logical pages that the host wrote.
    pub host_pages: u64,
    /// Logical pages that it read.
    pub read_pages: u64,
    /// Logical pages programmed, by cause; those without data count where they were programmed.
    pub programs: [u64; Cause::ALL.len()],
    /// Logical pages programmed, empty ones included.
    pub programmed: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Whether the drive is read-only at its end: it found no room for a write.
    pub is_read_only: bool,
}

impl Stretch {
    /// Adds one that came before.
    pub fn add(&mut self, before: &Self) {
        let Self { requests, host_pages, read_pages, programs, programmed, erases, is_read_only } = before;
        self.requests += requests;
        self.host_pages += host_pages;
        self.read_pages += read_pages;
        self.programs.iter_mut().zip(programs).for_each(|(all, some)| *all += some);
        self.programmed += programmed;
        self.erases += erases;
        self.is_read_only |= is_read_only;
    }

    /// Write amplification: what was programmed for each page of the host.
    #[must_use]
    pub fn waf(&self) -> f64 {
        self.programmed as f64 / (self.host_pages as f64).max(1.0)
    }
}

/// Odds of loss of a drive as it is: expected numbers, by formula, of what reading all of it would find.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Odds {
    /// Logical pages that hold data.
    pub pages: u32,
    /// Of these, how many their page code does not give back.
    pub unreadable: f64,
    /// Dies that are dead, and that no spare die has the place of.
    pub dead: u32,
    /// Dies whose loss at a time the drive survives: those of its scheme, less the dead ones while they are not rebuilt.
    pub survives: u32,
    /// Logical pages that are lost for certain: their die is dead, and nothing brings them back.
    pub gone: u32,
    /// Of the unreadable, how many the scheme does not give back either. Those that are gone count.
    pub lost: f64,
    /// How many more are lost an hour later, if nothing is written in the meantime; 0 for a drive as it is later.
    pub lost_per_hour: f64,
    /// For each die how many are lost if it dies; 0 for a dead one.
    pub lost_with_die: Vec<f64>,
    /// For each block how many are lost if it goes; their sum over all blocks.
    pub lost_with_blocks: f64,
    /// Mean raw bit error rate of the pages that hold data, read with the default references, and in the best read of their ladder.
    pub rber: (f64, f64),
    /// The highest rate of the best read of any page's ladder.
    pub worst_rber: f64,
    /// Mean age of data in seconds.
    pub age_s: f64,
    /// Reads of its block since that was erased, of the mean page that holds data.
    pub block_reads: f64,
}

impl Session {
    /// Executes commands in order, without time of their own, until the host has written this many logical pages. Each page that it writes
    /// takes `page_time` of the calendar. Commands that end, and a drive that turns read-only, end it as well.
    ///
    /// With `refresh`, blocks (superblocks where these are collected) whose first page is so old are collected.
    ///
    /// The drive must be one that was [written](Self::written) and not aged.
    pub fn live(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pages: u64,
        page_time: Nanos,
        refresh: Option<Nanos>,
    ) -> Stretch {
        inside!(self.inner_mut(), prepared => live(&mut prepared.engine, commands, pages, page_time, refresh))
    }

    /// Time in the calendar.
    #[must_use]
    pub fn now(&self) -> SimTime {
        inside!(self.inner(), prepared => prepared.engine.core.device.now)
    }

    /// The drive had these temperatures in degrees Celsius since some times on, the first of them since it was new.
    ///
    /// The drive must be [aged](Self::age): only then its pages have errors.
    pub fn had_temperatures(&mut self, temperatures: &[(SimTime, f64)]) {
        inside!(self.inner_mut(), prepared => prepared.engine.care.had_temperatures(&mut prepared.engine.core, temperatures));
    }

    /// Leaps over so much of the calendar, in which each good block takes this many P/E cycles. Data written at or after `since` stay as old
    /// as they are. Stripes whose blocks have become worn get the parity that asks for. The cycles that all blocks took together.
    ///
    /// # Panics
    /// If pages carry bytes: their flash is not made for it.
    pub fn leap(&mut self, since: SimTime, cycles: u32, by: Nanos) -> u64 {
        let Inner::Tag(prepared) = self.inner_mut() else { panic!("lives are simulated with tags") };
        let engine = &mut prepared.engine;
        let now = engine.core.device.now;
        engine.core.device.array.inner_mut().leap(now, since, by);
        engine.core.device.now = SimTime(engine.core.device.now.0 + by.0);
        let taken = take_cycles(engine, cycles);
        if engine.writer.uses_idle_time {
            age_stripes(engine);
        }
        taken
    }

    /// As [`Self::age`], of a drive whose blocks were read as often since their erases as they are.
    ///
    /// # Errors
    /// As [`Self::age`].
    pub fn age_as_read(&mut self) -> Result<(), SetupError> {
        let reads = inside!(self.inner(), prepared => {
            let device = &prepared.engine.core.device;
            (0..device.grid.geometry().blocks()).map(|block| device.array.block(BlockAddr(block)).reads).collect::<Vec<_>>()
        });
        self.age()?;
        inside!(self.inner_mut(), prepared => {
            let array = &mut prepared.engine.core.device.array;
            (0..).map(BlockAddr).zip(reads).for_each(|(block, reads)| array.set_age(block, |info| info.reads = reads));
        });
        Ok(())
    }

    /// Blocks that are bad, as the drive knows them.
    #[must_use]
    pub fn bad_blocks(&self) -> Vec<BlockAddr> {
        inside!(self.inner(), prepared => {
            let device = &prepared.engine.core.device;
            (0..device.grid.geometry().blocks()).map(BlockAddr).filter(|&block| device.array.block(block).bad).collect()
        })
    }

    /// Data were refreshed whenever they were so old: from now on they are as old as since their last refresh. How many logical pages were
    /// refreshed at least once. Blocks take turns over the period. Nothing moves: the writes of refresh are for the caller to count.
    ///
    /// # Panics
    /// As [`Self::leap`].
    pub fn refreshed_every(&mut self, age: Nanos) -> u32 {
        let Inner::Tag(prepared) = self.inner_mut() else { panic!("lives are simulated with tags") };
        let engine = &mut prepared.engine;
        let now = engine.core.device.now;
        let is_old = |lpn| match engine.core.map.lookup(Lpn(lpn)) {
            Place::At(slot) => {
                let device = &engine.core.device;
                let ppn = device.grid.page_of(slot).0;
                device.is_stored(ppn) && now.0.saturating_sub(device.array.page(ppn).written.0) >= age.0
            }
            Place::Unmapped | Place::Missing => false,
        };
        let old = (0..engine.core.map.user_slots()).filter(|&lpn| is_old(lpn)).count() as u32;
        engine.core.device.array.inner_mut().refreshed_every(now, age);
        old
    }

    /// The stage of life under a scheme that protects by age, from 1 on, and the share of the stripes with contents that have parity.
    #[must_use]
    pub fn stage(&self) -> Option<(u8, f64)> {
        inside!(self.inner(), prepared => prepared.life(SimTime::ZERO).map(|life| (life.stage, life.parity_share())))
    }

    /// The block takes nothing any more, permanently; what it holds stays until the drive erases it.
    pub fn wear_out(&mut self, block: BlockAddr) {
        inside!(self.inner_mut(), prepared => prepared.engine.core.device.array.wear_out(block));
    }

    /// Odds of loss as the drive is, when its data are older by `later` hours of the error model. Once in each interval `scrub` all data are read, and what cannot be read is
    /// written again from the rest of its codeword; `None`: never. Where the drive has no page ECC, nothing is unreadable.
    ///
    /// The drive must be at rest, and [aged](Self::age).
    #[must_use]
    pub fn odds(&self, later: f64, scrub: Option<Nanos>) -> Odds {
        inside!(self.inner(), prepared => odds(&prepared.engine, later, scrub))
    }
}

fn live<P: FlashPayload>(
    engine: &mut Engine<P>,
    commands: &mut dyn Iterator<Item = HostCommand>,
    pages: u64,
    page_time: Nanos,
    refresh: Option<Nanos>,
) -> Stretch {
    let start = engine.core.device.now;
    engine.core.device.timed = false;
    engine.core.device.folds = Folds::new(engine.core.device.grid.slots_per_page());
    let written = |drive: &Engine<P>| drive.core.device.folds.pages[RequestKind::Write as usize];
    let mut stretch = Stretch::default();
    let mut next_look = start;
    let is_over = |drive: &Engine<P>| drive.host.requests.read_only_since.is_some() || drive.core.device.folds.write_errors > 0;
    while written(engine) < pages && !is_over(engine) {
        let Some(command) = commands.next() else { break };
        stretch.requests += 1;
        engine.arrive(&HostCommand { at: SimTime::ZERO, ..command }, engine.core.device.now);
        engine.settle();
        // Requests that wait now wait for space that will not come.
        while engine.core.device.is_idle() && engine.has_waiting_for_space() && engine.unstick() {
            engine.settle();
        }
        engine.core.device.now = SimTime(start.0 + page_time.0 * written(engine));
        if let Some(age) = refresh.filter(|_| engine.core.device.now >= next_look) {
            refresh_old(engine, age);
            next_look = SimTime(engine.core.device.now.0 + age.0 / LOOKS_A_REFRESH);
        }
    }
    let folds = &engine.core.device.folds;
    let slots = u64::from(engine.core.device.grid.slots_per_page());
    stretch.host_pages = written(engine);
    stretch.read_pages = folds.pages[RequestKind::Read as usize];
    stretch.programs = folds.programs.map(|pages| pages * slots);
    stretch.programmed = folds.programmed_slots();
    stretch.erases = folds.erases.iter().sum();
    stretch.is_read_only = is_over(engine);
    // Requests and evictions wait for it, and no other may come to fill it; their pages may be written again at once.
    while engine.writer.send_open_page(&mut engine.core) {
        engine.settle();
    }
    finish_untimed(engine);
    stretch
}

/// Collects what has a first page that is so old.
fn refresh_old<P: FlashPayload>(engine: &mut Engine<P>, age: Nanos) {
    for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
        let info = *engine.core.device.array.block(block);
        let is_old = info.next_page > 0 && engine.core.device.now.0.saturating_sub(info.first_program.0) >= age.0;
        let unit = engine.core.map.unit_of_block(block);
        let holds = |drive: &Engine<P>| {
            let unit = drive.core.map.unit(unit);
            unit.state == UnitState::Closed && unit.valid > 0
        };
        let is_dead = engine.core.device.is_dead(engine.core.device.grid.split_block(block).0);
        if !info.bad && !is_dead && is_old && holds(engine) {
            engine.want(unit, Cause::Refresh);
            engine.settle();
        }
    }
}

/// Every good block of a living die takes this many P/E cycles; how many all took together.
fn take_cycles<P: FlashPayload>(engine: &mut Engine<P>, cycles: u32) -> u64 {
    let mut taken = 0;
    for block in (0..engine.core.device.grid.geometry().blocks()).map(BlockAddr) {
        let device = &engine.core.device;
        if device.array.block(block).bad || device.is_dead(device.grid.split_block(block).0) {
            continue;
        }
        engine.core.device.array.set_age(block, |info| info.pe += cycles);
        let (unit, pe) = (engine.core.map.unit_of_block(block), engine.core.device.array.block(block).pe);
        engine.core.map.set_pe(unit, pe);
        taken += u64::from(cycles);
    }
    taken
}

fn odds<P: FlashPayload>(engine: &Engine<P>, later: f64, scrub: Option<Nanos>) -> Odds {
    let device = &engine.core.device;
    let dies = device.grid.dies() as usize;
    let mut odds = Odds { lost_with_die: vec![0.0; dies], ..Odds::default() };
    let page_odds = device.ecc.as_deref().map(|ecc| ecc.odds(None));
    let mut known = Rates { later, scrub, ..Rates::default() };
    let promised = engine.writer.in_use(&engine.core).promise().dies;
    odds.dead = device.losses.dead().len();
    let unbuilt = if engine.care.rebuild_left(&engine.core) > 0 { odds.dead } else { 0 };
    odds.survives = promised.saturating_sub(unbuilt);
    let survives = promised.max(1) as usize;
    let (mut best_sum, mut there) = (0.0, 0_u32);
    for lpn in (0..engine.core.map.user_slots()).map(Lpn) {
        let place = match engine.core.map.lookup(lpn) {
            Place::Unmapped => continue,
            Place::Missing => None,
            Place::At(slot) => Some(device.grid.page_of(slot)),
        };
        odds.pages += 1;
        let own = place.map_or(PageRisk::LOST, |(ppn, _)| known.of(engine, page_odds.as_ref(), ppn));
        let is_there = place.filter(|(ppn, _)| !is_gone(engine, *ppn));
        odds.unreadable += own.unreadable;
        let sources = engine.writer.in_use(&engine.core).pages_that_bring_back(&engine.core, lpn, place);
        let fail: Option<Vec<PageRisk>> =
            sources.as_ref().map(|sources| sources.iter().map(|&page| known.of(engine, page_odds.as_ref(), page)).collect());
        let stays_lost = |hours: f64| match &fail {
            Some(fail) => too_many(fail.iter().map(|risk| risk.after(hours)), survives),
            None => 1.0,
        };
        let (now, later) = (stays_lost(0.0), stays_lost(1.0));
        // Without redundancy, what cannot be read stays so though a scrub finds it.
        let is = |hours: f64| if fail.is_some() { own.after(hours) } else { own.unscrubbed(hours) };
        odds.lost += is(0.0) * now;
        odds.lost_per_hour += is(1.0) * later - is(0.0) * now;
        if let Some((ppn, _)) = is_there {
            odds.rber.0 += own.default_rber;
            best_sum += own.best_rber;
            odds.worst_rber = odds.worst_rber.max(own.best_rber);
            odds.age_s += own.age.as_secs_f64();
            odds.block_reads += f64::from(device.array.block(device.grid.split(ppn).0).reads);
            there += 1;
            odds.lost_with_die[device.grid.die_of(ppn).index()] += now;
            odds.lost_with_blocks += now;
        } else {
            leaning(engine, &mut odds, sources.as_deref(), fail.as_deref(), survives);
        }
    }
    let pages = f64::from(there.max(1));
    odds.rber = (odds.rber.0 / pages, best_sum / pages);
    odds.age_s /= pages;
    odds.block_reads /= pages;
    odds
}

/// Whether the page, which is in the map, is in no flash any more.
fn is_gone<P: FlashPayload>(engine: &Engine<P>, ppn: Ppn) -> bool {
    engine.writer.unsent(&engine.core, ppn).is_none() && engine.core.device.array.is_lost(ppn)
}

/// A logical page that no flash has leans on the others of its codeword: it is lost with the die, or the block, of each. Without enough of them it is
/// gone already.
fn leaning<P: FlashPayload>(
    engine: &Engine<P>,
    odds: &mut Odds,
    sources: Option<&[Ppn]>,
    fail: Option<&[PageRisk]>,
    survives: usize,
) {
    let (Some(sources), Some(fail)) = (sources, fail) else {
        odds.gone += 1;
        return;
    };
    if sources.iter().filter(|&&page| is_gone(engine, page)).count() >= survives {
        odds.gone += 1;
        return;
    }
    let risk = |without: Option<usize>, survives: usize| match survives {
        0 => 1.0,
        _ => {
            let others = fail.iter().enumerate().filter(|(at, _)| Some(*at) != without);
            too_many(others.map(|(_, risk)| risk.after(0.0)), survives)
        }
    };
    let now = risk(None, survives);
    for (at, &page) in sources.iter().enumerate().filter(|(_, page)| !is_gone(engine, **page)) {
        let more = (risk(Some(at), survives - 1) - now).max(0.0);
        odds.lost_with_die[engine.core.device.grid.die_of(page).index()] += more;
        odds.lost_with_blocks += more;
    }
}

/// Probability that this many pages or more of the others of a codeword fail, which survives the loss of `survives` pages, its own among
/// them. `fail` has the pages that one way of solving reads; where the code has more of them, they fail as often as these on average.
fn too_many(fail: impl Iterator<Item = f64> + Clone, survives: usize) -> f64 {
    let mean = fail.clone().sum::<f64>() / (fail.clone().count() as f64).max(1.0);
    // By number of failures, those from `survives` on together.
    let mut by_failures = vec![0.0; survives + 1];
    by_failures[0] = 1.0;
    for p in fail.chain(std::iter::repeat_n(mean, survives - 1)) {
        by_failures[survives] += by_failures[survives - 1] * p;
        for failures in (1..survives).rev() {
            by_failures[failures] = by_failures[failures] * (1.0 - p) + by_failures[failures - 1] * p;
        }
        by_failures[0] *= 1.0 - p;
    }
    by_failures[survives]
}

/// Facts of a page that give its failure probability.
#[derive(Clone, Copy, Debug, Default)]
struct PageRisk {
    default_rber: f64,
    best_rber: f64,
    unreadable: f64,
    /// Of this, what no scrub has found so far.
    latent: f64,
    /// Growth of both in an hour.
    an_hour: f64,
    age: Nanos,
}

impl PageRisk {
    /// Of a page that is in no flash.
    const LOST: Self = Self { default_rber: 0.0, best_rber: 0.0, unreadable: 1.0, latent: 1.0, an_hour: 0.0, age: Nanos(0) };

    /// Probability that it cannot be read this many hours later, and no scrub has found that.
    fn after(&self, hours: f64) -> f64 {
        (self.latent + self.an_hour * hours).clamp(0.0, 1.0)
    }

    /// The same where nothing was written again that a scrub has found.
    fn unscrubbed(&self, hours: f64) -> f64 {
        (self.unreadable + self.an_hour * hours).clamp(0.0, 1.0)
    }
}

/// Pages that are alike: P/E cycles, hour and number of reads in classes a hundredth wide, page of the block, and what the rest of
/// [`nand::PageCells`] is made of.
type Alike = (u32, i32, i32, u32, u32, bool);

/// Looks for blocks that are due, in each span of the age of refresh.
const LOOKS_A_REFRESH: u64 = 32;

/// A slope over age is taken between this many times the age and its inverse.
const SLOPE_OVER: f64 = 1.01;

/// Rates of pages, each worked out once for all pages that are alike.
#[derive(Default)]
struct Rates {
    later: f64,
    scrub: Option<Nanos>,
    alike: FxHashMap<Alike, PageRisk>,
}

impl Rates {
    fn of<P: FlashPayload>(&mut self, drive: &Engine<P>, odds: Option<&PageOdds<'_>>, ppn: Ppn) -> PageRisk {
        let device = &drive.core.device;
        // The controller has it and programs it when its page is full.
        if drive.writer.unsent(&drive.core, ppn).is_some() {
            return PageRisk::default();
        }
        if device.array.is_lost(ppn) || !device.is_stored(ppn) {
            return PageRisk::LOST;
        }
        let view = device.array.page(ppn);
        let Some(ecc) = device.ecc.as_deref() else {
            return PageRisk { age: device.now.since(view.written.min(device.now)), ..PageRisk::default() };
        };
        let age = device.now.since(view.written.min(device.now));
        let mut info = *device.array.block(device.grid.split(ppn).0);
        let by_scrubs = self
            .scrub
            .filter(|_| ecc.cells.knows_reads())
            .map_or(0, |every| scrub_reads(age, every, device.grid.pages_per_block()));
        info.reads = info.reads.saturating_add(by_scrubs);
        let old = ecc.cells.model_hours(view.written, device.now);
        let cells = ecc.cells.mean_page(ppn, &info, old + self.later);
        let class = |value: f64| if value > 0.0 { (value.ln() * 100.0).round() as i32 } else { i32::MIN };
        let stress = &cells.stress;
        let alike = (info.pe, class(stress.retention_hours), class(stress.reads), cells.site.page, info.recharges, info.is_slc());
        if let Some(known) = self.alike.get(&alike) {
            return *known;
        }
        let at = |rber: f64| odds.map_or(0.0, |odds| odds.unreadable(view.oob.ecc, rber));
        let unreadable = |cells: &PageCells| at(ecc.best_rber(cells));
        let best_rber = ecc.best_rber(&cells);
        let all = at(best_rber);
        // Half of the interval has passed since the last look.
        let found = self.scrub.map_or(0.0, |every| {
            let now = ecc.cells.mean_page(ppn, &info, old);
            let (all, since) = (unreadable(&now), slope(ecc, &now, &unreadable) * hours(every) / 2.0);
            (all - since).clamp(0.0, all)
        });
        let risk = PageRisk {
            default_rber: ecc.cells.rber_with(&cells, 0.0),
            best_rber,
            unreadable: all,
            latent: (all - found).max(0.0),
            an_hour: if self.later == 0.0 { slope(ecc, &cells, &unreadable) } else { 0.0 },
            age,
        };
        self.alike.insert(alike, risk);
        risk
    }
}

/// Reads of a block of this many pages by scrubs since a page of this age was written: each of them reads all pages once.
fn scrub_reads(age: Nanos, every: Nanos, pages: u32) -> u32 {
    (f64::from(pages) * age.0 as f64 / every.0.max(1) as f64) as u32
}

/// Growth of a probability of a page in an hour: the slope between a hundredth more and less of its age, or of its first hour.
fn slope(ecc: &PageEcc, cells: &PageCells, of: &dyn Fn(&PageCells) -> f64) -> f64 {
    let at = |hours: f64| {
        let mut other = *cells;
        other.stress.retention_hours = hours;
        of(&other)
    };
    let age = cells.stress.retention_hours;
    let (less, more) = (age / SLOPE_OVER, (age * SLOPE_OVER).max(ecc.cells.reference_hours(1.0)));
    (at(more) - at(less)) / (more - less) * ecc.cells.reference_hours(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 2^n outcomes of the other pages, counted one by one. Catches a Poisson binomial that forgets one, or counts from the wrong number
    /// of failures.
    #[test]
    fn too_many_failures_are_those_of_all_outcomes() {
        let fail = [0.1, 0.02, 0.3, 0.0, 0.25, 0.5, 0.07];
        for survives in 1..=3 {
            let mean = fail.iter().sum::<f64>() / fail.len() as f64;
            let all: Vec<f64> = fail.iter().copied().chain(std::iter::repeat_n(mean, survives - 1)).collect();
            let outcome = |failed: u32| {
                let chance = |(at, p): (usize, &f64)| if failed >> at & 1 == 1 { *p } else { 1.0 - p };
                all.iter().enumerate().map(chance).product::<f64>()
            };
            let expected: f64 =
                (0..1_u32 << all.len()).filter(|failed| failed.count_ones() as usize >= survives).map(outcome).sum();
            let found = too_many(fail.iter().copied(), survives);
            assert!((found - expected).abs() < 1e-12, "{survives}: {found} and {expected}");
        }
        assert_eq!(too_many(std::iter::empty(), 1), 0.0);
    }
}
