//! The life of a drive under one scheme: stretches, odds, timed runs, leaps.

use super::age::{Age, Leap};
use super::endurance::{Endurance, Wearing};
use super::phases::{Kind, Phase};
use super::{End, Epoch, Hazard, LifeSettings, SchemeLife, Timed, Verified, YEARS_MAX};
use common::Problem;
use experiment::label::shown;
use lab::Runs;
use lab::warm_up;
use lab::{Clock, clock as clock_of};
use ssd::nand::rber::{acceleration, aged};
use ssd::{Demand, Odds, Session, SetupError, Stretch};
use vocab::{Cause, HostCommand, HostOp, Lba, Nanos, SECTOR_BYTES, SimTime};

const YEAR_S: f64 = 365.0 * 86_400.0;
/// Drive writes of a stretch at least; a recording ends with one of its loops. Less would leave it to chance which blocks are
/// collected in it.
const STRETCH: f64 = 0.5;
/// Share of the blocks that wear out in one leap at most.
const WORN_IN_A_LEAP: f64 = 0.005;
/// Stretches whose data keep their age in a leap; what was not written for so long is cold. As many come before the life begins, as
/// preconditioning leaves the drive in a state that is not the workload's.
const KEPT: usize = 6;
/// The end of a life is found to within this share of the rated cycles.
const END_WITHIN: f64 = 1.0 / 200.0;

/// A drive before its first day.
pub(super) struct New {
    session: Box<Session>,
    demand: Option<Demand>,
}

impl New {
    /// Builds the drive of a scheme of the experiment.
    pub fn build(runs: &Runs<'_>, index: usize) -> Result<Self, Problem> {
        let session = runs.written(&runs.experiment.schemes[index], &runs.setup_of(index), &mut |_| {})?;
        let demand = if runs.needs_demand() { Some(runs.demand(&session)?) } else { None };
        Ok(Self { session, demand })
    }
}

/// One clock for the timed runs of all drives.
pub(super) fn clock(runs: &Runs<'_>, new: &[New]) -> Result<Clock, Problem> {
    let labels = &runs.experiment.schemes;
    let demands: Vec<(String, Demand)> =
        labels.iter().zip(new).filter_map(|(label, new)| Some((shown(label).to_owned(), new.demand?))).collect();
    let none = demands.iter().find(|(label, _)| label == "none").or(demands.first()).map(|(_, demand)| *demand);
    let arrival = runs.experiment.trace.arrival;
    let one = clock_of(arrival, runs.workload.duration_s(), runs.workload.depth(), none, &demands);
    Ok(lab::of_flows(runs.workload, arrival, one))
}

/// The runs, settings and clock that the lives of all schemes share.
pub(super) struct Lived<'a> {
    pub runs: &'a Runs<'a>,
    pub settings: &'a LifeSettings,
    /// Phases that come again and again.
    pub calendar: &'a [Phase],
    pub clock: &'a Clock,
    /// Hears how far this life has come: years, and its P/E cycles by those rated.
    pub hear: &'a dyn Fn(f64, f64),
    /// Whether it is to stop.
    pub is_asked: &'a (dyn Fn() -> bool + Sync),
}

/// A stretch, and the logical pages that the host wrote in it by P/E cycle of a block.
struct Written {
    stretch: Stretch,
    pages_a_cycle: f64,
}

/// The life of the drive of a scheme.
pub(super) fn life(lived: &Lived<'_>, index: usize, new: New) -> Result<SchemeLife, Problem> {
    let (runs, settings) = (lived.runs, lived.settings);
    let planned = warm_up::endless(runs.workload, runs.map);
    let mut commands = planned.commands()?;
    let rated = f64::from(runs.experiment.drive.endurance.0);
    let mut age = lived.born(new, &mut commands)?;
    let (mut epochs, mut steps, mut before) = (Vec::<Epoch>::new(), Steps::new(settings, rated), None::<Age>);
    let mut verified = Verified::default();
    loop {
        let mut written = lived.stretch(&mut age, &mut commands)?;
        let is_asked = (lived.is_asked)();
        if is_asked && !epochs.is_empty() {
            // The stretch was cut short, which says nothing of an age.
            return Ok(lived.ended(index, age, epochs, End::Stopped, verified));
        }
        written.stretch.add(&std::mem::take(&mut age.lived));
        let (mut epoch, aged) = lived.epoch(index, &mut age, &mut written)?;
        let is_timed = !is_asked && lived.is_timed(&age, &steps, &epoch, epochs.len());
        if is_timed && !written.stretch.is_read_only {
            epoch.timed = Some(lived.timed(index, aged.clone(), &mut verified)?);
        }
        let end = lived.end(&epoch, &written.stretch).or(is_asked.then_some(End::Stopped));
        if end.is_some_and(|end| !end.is_alive()) && steps.may_be_closer() && before.is_some() {
            // It ended after the last leap, which was too long to say when.
            age = before.clone().expect("just seen");
            steps.halve();
        } else {
            (lived.hear)(epoch.years, epoch.pe[0] / rated);
            if let Some(end) = end {
                if epoch.timed.is_none() && settings.timed > 0 && !is_asked && !written.stretch.is_read_only {
                    epoch.timed = Some(lived.timed(index, aged, &mut verified)?);
                }
                epochs.push(epoch);
                commands.finish()?;
                return Ok(lived.ended(index, age, epochs, end, verified));
            }
            if is_timed {
                steps.timed(epoch.pe[0]);
            }
            epochs.push(epoch);
            age.is_stoppable = true;
            age.leap = Some(Leap { cycles: 0.0, pages_a_cycle: written.pages_a_cycle });
            age.note_waf(&epochs, written.stretch.waf());
            steps.go_on();
            if age.years >= lived.next_event(&age) {
                if let Some(end) = lived.pass_events(index, &mut age, &mut epochs, &mut commands)? {
                    commands.finish()?;
                    return Ok(lived.ended(index, age, epochs, end, verified));
                }
                // An age at which nothing was broken comes first.
                before = None;
                continue;
            }
            before = Some(age.clone());
        }
        if settings.leaps && age.is_steady {
            lived.leap(&mut age, steps.longest, &mut commands)?;
        } else {
            lived.live_on(&mut age, steps.longest, &mut commands)?;
        }
    }
}

/// How long leaps are, and when timed runs are due.
struct Steps {
    /// P/E cycles between two ages at most.
    longest: u32,
    /// As closely as the end is looked for.
    closest: u32,
    /// True once a requirement was broken after a leap: the end lies within that leap, and each further leap is half as long.
    is_closing: bool,
    /// P/E cycles between timed runs, and those of the next.
    timed_every: f64,
    next_timed: f64,
}

impl Steps {
    fn new(settings: &LifeSettings, rated: f64) -> Self {
        let longest = (rated / f64::from(settings.epochs.max(1))).round().max(1.0) as u32;
        let closest = (rated * END_WITHIN).max(1.0) as u32;
        let timed_every = if settings.timed == 0 { f64::INFINITY } else { rated / f64::from(settings.timed) };
        let next_timed = if settings.timed == 0 { f64::INFINITY } else { 0.0 };
        Self { longest, closest, is_closing: false, timed_every, next_timed }
    }

    fn is_timed_at(&self, pe: f64) -> bool {
        pe >= self.next_timed
    }

    fn timed(&mut self, pe: f64) {
        self.next_timed = ((pe / self.timed_every).floor() + 1.0) * self.timed_every;
    }

    fn may_be_closer(&self) -> bool {
        self.longest > self.closest
    }

    fn halve(&mut self) {
        (self.longest, self.is_closing) = ((self.longest / 2).max(1), true);
    }

    /// The drive lives after the last leap.
    fn go_on(&mut self) {
        if self.is_closing && self.longest > self.closest {
            self.halve();
        }
    }
}

impl Lived<'_> {
    /// A new drive as the workload makes it, at the beginning of its calendar.
    fn born(&self, new: New, commands: &mut warm_up::Commands<'_>) -> Result<Age, Problem> {
        let blocks = new.session.pe_cycles().len() as u32;
        let thresholds = self.endurance().thresholds(self.runs.experiment.seed, blocks);
        let mut age = Age::new(*new.session, Wearing::new(thresholds), self.calendar[0].celsius());
        age.wearing.are_bad(&age.session.bad_blocks());
        for _ in 0..KEPT {
            self.stretch(&mut age, commands)?;
        }
        (age.years, age.host_pages, age.phase_over) = (0.0, 0.0, self.calendar[0].days / 365.0);
        Ok(age)
    }

    /// How blocks of the drive wear out.
    pub(super) fn endurance(&self) -> Endurance {
        let rated = f64::from(self.runs.experiment.drive.endurance.0);
        Endurance { rated, worn_at_rated: self.settings.worn.0, exponent: self.settings.worn.1 }
    }

    /// Whether the workload is to be replayed in time at this age; so many ages came before. Ages just before and after the death of a die are.
    fn is_timed(&self, age: &Age, steps: &Steps, epoch: &Epoch, ages: usize) -> bool {
        let is_by_death = age.years >= self.next_death(age) || age.has_just_lost_a_die(ages);
        self.settings.read_p99_us.is_some() || steps.is_timed_at(epoch.pe[0]) || (is_by_death && self.settings.timed > 0)
    }

    /// Years at which the phase is over or a die dies.
    fn next_event(&self, age: &Age) -> f64 {
        age.phase_over.min(self.next_death(age))
    }

    /// A die that is due dies, and a phase that is over makes way for the next: the end, if that brings it.
    fn pass_events(
        &self,
        index: usize,
        age: &mut Age,
        epochs: &mut Vec<Epoch>,
        commands: &mut warm_up::Commands<'_>,
    ) -> Result<Option<End>, Problem> {
        if age.years >= self.next_death(age)
            && let Some(end) = self.die(index, age, epochs)?
        {
            return Ok(Some(end));
        }
        age.leap = None;
        if age.years >= age.phase_over
            && let Some(end) = self.next_phase(index, age, epochs, commands)?
        {
            return Ok(Some(end));
        }
        // Until the data that are rewritten have the ages of this phase, and fill the drive that is left.
        for _ in 0..KEPT {
            if age.years < age.phase_over {
                self.stretch(age, commands)?;
            }
        }
        Ok(None)
    }

    /// Years of the calendar that a logical page of the host takes.
    fn years_a_page(&self, age: &Age) -> f64 {
        1.0 / (365.0 * self.phase(age).dwpd() * f64::from(self.runs.plan.user_slots))
    }

    pub(super) fn phase(&self, age: &Age) -> &Phase {
        &self.calendar[age.phase]
    }

    /// From now on the drive is at the temperature of its phase.
    fn warm(&self, age: &mut Age) {
        let celsius = self.phase(age).celsius();
        if age.celsius() != celsius {
            age.temperatures.push((age.session.now(), celsius));
        }
    }

    /// The next phase with power begins. Those without come and go: the end, if one of them brings it.
    fn next_phase(
        &self,
        index: usize,
        age: &mut Age,
        epochs: &mut Vec<Epoch>,
        commands: &mut warm_up::Commands<'_>,
    ) -> Result<Option<End>, Problem> {
        loop {
            let is_on = matches!(self.phase(age).kind, Kind::On { .. });
            let refreshed = self.settings.refresh_days.filter(|_| self.settings.leaps && is_on);
            age.phase = (age.phase + 1) % self.calendar.len();
            let Kind::Off { celsius } = self.phase(age).kind else { break };
            if let Some(days) = refreshed {
                age.session.refreshed_every(days_span(days));
            }
            let last = epochs.last().expect("a phase with power comes first").clone();
            let epoch = self.switched_off(index, age, last, celsius, commands)?;
            let is_over = epoch.years >= self.years_end();
            let end = if epoch.uber > self.settings.class.uber { Some(End::Retention) } else { is_over.then_some(End::Years) };
            epochs.push(epoch);
            if end.is_some() {
                return Ok(end);
            }
        }
        age.phase_over = age.years + self.phase(age).days / 365.0;
        self.warm(age);
        Ok(None)
    }

    /// A phase without power, after which the drive is as it says: no page is refreshed, read or scrubbed, and data age at the temperature of the
    /// phase. Pages that are lost by then count as lost. Dies and blocks fail in use alone.
    fn switched_off(
        &self,
        index: usize,
        age: &mut Age,
        last: Epoch,
        celsius: f64,
        commands: &mut warm_up::Commands<'_>,
    ) -> Result<Epoch, Problem> {
        let days = self.phase(age).days.min((self.years_end() - age.years) * 365.0).max(0.0);
        let before = self.rested(index, age, &age.session)?.odds(0.0, self.scrub()).lost;
        // The last page that the host writes takes all the time: its calendar is the only one that a drive has.
        let geometry = &self.runs.experiment.drive.geometry;
        let sectors = (geometry.slot_size.0 / SECTOR_BYTES) as u32;
        let is_write = |command: &HostCommand| matches!(command.op, HostOp::Write(_));
        let Some(last_write) = commands.find(is_write) else { return Err(commands.ended()) };
        let lba = Lba(last_write.lba.0 / u64::from(sectors) * u64::from(sectors));
        let one = HostCommand { lba, sectors, ..last_write };
        let in_use = age.celsius();
        age.temperatures.push((age.session.now(), celsius));
        let written = age.session.live(&mut std::iter::once(one), 1, days_span(days), None);
        age.temperatures.push((age.session.now(), in_use));
        age.host_pages += written.host_pages as f64;
        age.years += days / 365.0;
        age.since.clear();
        let drive = self.rested(index, age, &age.session)?;
        let (odds, off) = (drive.odds(0.0, self.scrub()), drive.odds(self.off_hours(), self.scrub()));
        let lost = Hazard { bits: (odds.lost - before).max(0.0) * self.scale(), ..Hazard::default() };
        age.lose(&lost);
        let hazard = self.hazard(&odds, age);
        age.last = Some((age.years, hazard));
        Ok(Epoch {
            years: age.years,
            hazard: self.in_use(&hazard, age),
            losses: age.losses,
            losses_by_cause: age.losses_by_cause,
            phase: self.phase_number(age),
            timed: None,
            ..self.with_odds(last, &odds, &off)
        })
    }

    /// The number of the phase from 1 on, where there are several.
    fn phase_number(&self, age: &Age) -> Option<u32> {
        (self.calendar.len() > 1).then_some(age.phase as u32 + 1)
    }

    /// Time between two scrubs.
    pub(super) fn scrub(&self) -> Option<Nanos> {
        self.settings.scrub_days.map(days_span)
    }

    /// A drive with the odds of another time.
    pub(super) fn with_odds(&self, drive: Epoch, odds: &Odds, off: &Odds) -> Epoch {
        let bits = f64::from(odds.pages.max(1)) * self.runs.experiment.drive.geometry.slot_size.0 as f64 * 8.0;
        let living = (odds.lost_with_die.len() as f64 - f64::from(odds.dead)).max(1.0);
        Epoch {
            survives: odds.survives,
            dead_dies: odds.dead,
            block_reads: odds.block_reads,
            data_days: odds.age_s / 86_400.0,
            rber: [odds.rber.0, odds.rber.1, odds.worst_rber],
            unreadable: odds.unreadable,
            unreadable_off: off.unreadable,
            lost_with_die: odds.lost_with_die.iter().sum::<f64>() / living * self.scale(),
            uber: odds.lost / bits,
            uber_off: off.lost / bits,
            ..drive
        }
    }

    /// The hazard of a drive with these odds that always has power.
    pub(super) fn hazard(&self, odds: &Odds, age: &Age) -> Hazard {
        Hazard::of(odds, age.wearing.all(), &self.settings.rates, self.scale())
    }

    /// The same of one that has power in some hours of its phase: its parts fail in these alone.
    pub(super) fn in_use(&self, hazard: &Hazard, age: &Age) -> Hazard {
        Hazard { bits: hazard.bits, ..hazard.times(self.phase(age).powered()) }
    }

    /// How many times larger the drive is that this one stands for.
    pub(super) fn scale(&self) -> f64 {
        let user = f64::from(self.runs.plan.user_slots) * self.runs.experiment.drive.geometry.slot_size.0 as f64;
        self.settings.represents.map_or(1.0, |bytes| bytes as f64 / user)
    }

    fn years_end(&self) -> f64 {
        self.settings.years.unwrap_or(YEARS_MAX)
    }

    /// The workload goes on for a stretch; blocks that reach their threshold wear out.
    fn stretch(&self, age: &mut Age, commands: &mut warm_up::Commands<'_>) -> Result<Written, Problem> {
        let user = f64::from(self.runs.plan.user_slots);
        let (period, least) = (self.runs.workload.period(), (STRETCH * user).ceil() as u64);
        let pages = if period > 0 { least.div_ceil(period) * period } else { least };
        let page_time = Nanos((self.years_a_page(age) * YEAR_S * 1e9).round().max(1.0) as u64);
        let sum = |cycles: Vec<u32>| cycles.into_iter().map(u64::from).sum::<u64>();
        let before = sum(age.session.pe_cycles());
        age.since.push_back(age.session.now());
        if age.since.len() > KEPT {
            age.since.pop_front();
        }
        let is_over = || age.is_stoppable && (self.is_asked)();
        let mut until_asked = std::iter::from_fn(|| if is_over() { None } else { commands.next() });
        let stretch = age.session.live(&mut until_asked, pages, page_time, self.written_refresh());
        let cycles = sum(age.session.pe_cycles()) - before;
        if stretch.host_pages == 0 && !stretch.is_read_only && !(age.is_stoppable && (self.is_asked)()) {
            return Err(commands.ended());
        }
        age.host_pages += stretch.host_pages as f64;
        age.years += stretch.host_pages as f64 * self.years_a_page(age);
        self.wear_out(age);
        let pages_a_cycle = stretch.host_pages as f64 / (cycles as f64).max(1.0);
        Ok(Written { stretch, pages_a_cycle })
    }

    /// Blocks that have reached their threshold wear out; how many.
    fn wear_out(&self, age: &mut Age) -> usize {
        let cycles = age.session.pe_cycles();
        let worn = age.wearing.wear_out(&cycles);
        worn.iter().for_each(|&block| age.session.wear_out(block));
        worn.len()
    }

    /// P/E cycles and years to the next age: `longest` cycles, or fewer where [`WORN_IN_A_LEAP`] or the last year comes first.
    fn next_age(&self, age: &Age, longest: u32, pages_a_cycle: f64) -> (u32, f64) {
        let cycles = age.session.pe_cycles();
        let most_worn = ((cycles.len() as f64 * WORN_IN_A_LEAP).ceil() as usize).max(1);
        let good = age.wearing.good();
        let years_a_cycle = pages_a_cycle * f64::from(good) * self.years_a_page(age);
        // A phase ends, or a die dies, after the stretch that follows the leap.
        let stretch = STRETCH * f64::from(self.runs.plan.user_slots) * self.years_a_page(age);
        let over = self.years_end().min(self.next_event(age) - stretch);
        let until_over = ((over - age.years) / years_a_cycle.max(1e-12)).ceil().clamp(1.0, 1e9) as u32;
        let taken = longest.min(age.wearing.cycles_until(&cycles, most_worn)).min(until_over).max(1);
        (taken, years_a_cycle * f64::from(taken))
    }

    /// Leaps to the next age: every good block takes the cycles at once.
    fn leap(&self, age: &mut Age, longest: u32, commands: &mut warm_up::Commands<'_>) -> Result<(), Problem> {
        let pages_a_cycle = age.leap.as_ref().expect("a stretch came before").pages_a_cycle;
        let (taken, years) = self.next_age(age, longest, pages_a_cycle);
        let by = Nanos((years * YEAR_S * 1e9) as u64);
        let cycles = age.session.leap(age.since[0], taken, by);
        age.leap = Some(Leap { cycles: cycles as f64, pages_a_cycle });
        // The leap moved the write times of these stretches' data by the same span.
        age.since.iter_mut().for_each(|at| at.0 += by.0);
        if self.wear_out(age) > 0 {
            // The drive has found out in all these cycles; here it does when it erases them.
            self.stretch(age, commands)?;
        }
        Ok(())
    }

    /// Goes on to the next age program by program.
    fn live_on(&self, age: &mut Age, longest: u32, commands: &mut warm_up::Commands<'_>) -> Result<(), Problem> {
        let pages_a_cycle = age.leap.take().expect("a stretch came before").pages_a_cycle;
        let (taken, _) = self.next_age(age, longest, pages_a_cycle);
        let until = mean(&age.living_cycles()) + f64::from(taken);
        let mut lived = Stretch::default();
        while mean(&age.living_cycles()) < until && age.years < self.years_end().min(self.next_event(age)) {
            let stretch = self.stretch(age, commands)?.stretch;
            lived.add(&stretch);
            if stretch.is_read_only || (self.is_asked)() {
                break;
            }
        }
        // Figures of the next age are those of all the way to it.
        if !self.settings.leaps {
            age.lived = lived;
        }
        Ok(())
    }

    /// The drive as it is after a stretch, and a fork of it that is [aged](Self::aged).
    fn epoch(&self, index: usize, age: &mut Age, written: &mut Written) -> Result<(Epoch, Session), Problem> {
        let user = f64::from(self.runs.plan.user_slots);
        let (aged, old) = self.aged(index, age)?;
        let refreshed = self.refreshed(index, old, self.phase(age).dwpd());
        let geometry = &self.runs.experiment.drive.geometry;
        let pages_a_block = f64::from(geometry.pages_per_block * geometry.slots_per_page());
        written.pages_a_cycle = 1.0 / (1.0 / written.pages_a_cycle + refreshed / pages_a_block);
        if let Some(leap) = age.leap.take() {
            let then = if written.stretch.is_read_only { leap.pages_a_cycle } else { written.pages_a_cycle };
            let (from, to) = (leap.pages_a_cycle * leap.cycles, then * leap.cycles);
            age.host_pages += f64::midpoint(from, to);
            age.years += f64::midpoint(from, to) * self.years_a_page(age);
            age.host_pages_off += (from - to).abs() / 2.0;
        }
        let (odds, off) = (aged.odds(0.0, self.scrub()), aged.odds(self.off_hours(), self.scrub()));
        let (all, cycles) = (age.session.pe_cycles(), age.living_cycles());
        let (pe, blocks) = (spread(&cycles), age.wearing.all());
        let above = cycles.iter().filter(|&&pe| pe > self.runs.experiment.drive.endurance.0).count();
        let hazard = self.hazard(&odds, age);
        // Until its first age a drive is as it is then.
        let (years, before) = age.last.unwrap_or((0.0, hazard));
        age.lose(&self.in_use(&before.until(&hazard, age.years - years), age));
        age.last = Some((age.years, hazard));
        let taken = all.into_iter().map(u64::from).sum::<u64>() + age.retired_cycles;
        let host_pages = (written.stretch.host_pages as f64).max(1.0);
        // A drive that turned read-only wrote too little to say.
        let waf = if written.stretch.is_read_only && age.waf.is_finite() { age.waf } else { written.stretch.waf() };
        let epoch = Epoch {
            years: age.years,
            drive_writes: age.host_pages / user,
            drive_writes_off: age.host_pages_off / user,
            pe,
            pe_ends: [cycles.iter().copied().min().unwrap_or(0), cycles.iter().copied().max().unwrap_or(0)],
            waf: waf + refreshed,
            refreshed: refreshed + written.stretch.programs[Cause::Refresh as usize] as f64 / host_pages,
            by_cause: written.stretch.programs.map(|pages| pages as f64 / host_pages),
            pe_taken: taken as f64 / f64::from(blocks),
            above_rated: above as f64 / cycles.len() as f64,
            stage: age.session.stage(),
            worn_blocks: age.wearing.worn(),
            over_provisioning: self.over_provisioning(index, age),
            bad_blocks: age.wearing.bad(),
            reads_by_write: written.stretch.read_pages as f64 / host_pages,
            hazard: self.in_use(&hazard, age),
            losses: age.losses,
            losses_by_cause: age.losses_by_cause,
            phase: self.phase_number(age),
            ..Epoch::default()
        };
        Ok((self.with_odds(epoch, &odds, &off), aged))
    }

    /// Flash of good blocks beyond the user capacity, as a share of that.
    pub(super) fn over_provisioning(&self, index: usize, age: &Age) -> f64 {
        let raw = f64::from(self.runs.plan.drives[index].drive.geometry.slots());
        let good = raw * f64::from(age.wearing.good()) / f64::from(age.wearing.all());
        good / f64::from(self.runs.plan.user_slots) - 1.0
    }

    /// A fork of the drive with the page ECC that its wear asks for, ready for odds and for time; and how many logical pages are as old
    /// as refresh lets them become.
    pub(super) fn aged(&self, index: usize, age: &Age) -> Result<(Session, u32), Problem> {
        let mut fork = age.session.clone();
        let counted = self.settings.refresh_days.filter(|_| self.settings.leaps);
        let old = counted.map_or(0, |days| fork.refreshed_every(days_span(days)));
        Ok((self.rested(index, age, &fork)?, old))
    }

    /// A fork of the drive, or of a fork of it, ready for odds and for time.
    fn rested(&self, index: usize, age: &Age, session: &Session) -> Result<Session, Problem> {
        let mut fork = session.clone();
        fork.age_as_read().map_err(|error: SetupError| Problem::new(&self.runs.experiment.schemes[index], error.to_string()))?;
        if age.temperatures[..] != [(SimTime::ZERO, self.settings.celsius.0)] {
            fork.had_temperatures(&age.temperatures);
        }
        Ok(fork)
    }

    /// Logical pages programmed by refresh for each page of the host, where this many are refreshed whenever they are due: f / (a d), of a
    /// share f of the user capacity, at age a, with d drive writes a day; redundancy of what is written again comes on top.
    fn refreshed(&self, index: usize, old: u32, dwpd: f64) -> f64 {
        let Some(days) = self.settings.refresh_days else { return 0.0 };
        let share = f64::from(old) / f64::from(self.runs.plan.user_slots);
        let redundancy = self.runs.plan.drives[index].capacity_overhead;
        share / (days * dwpd) / (1.0 - redundancy)
    }

    /// The age at which data are refreshed program by program. A drive that leaps has its refresh counted: what is old after a leap was
    /// refreshed several times in it.
    fn written_refresh(&self) -> Option<Nanos> {
        self.settings.refresh_days.filter(|_| !self.settings.leaps).map(days_span)
    }

    /// Hours of the error model in the time without power of the class.
    pub(super) fn off_hours(&self) -> f64 {
        self.settings.class.off_hours * self.acceleration(self.settings.class.off_celsius)
    }

    /// Hours of the error model that an hour at this temperature is.
    fn acceleration(&self, celsius: f64) -> f64 {
        let errors = &self.runs.experiment.errors;
        aged(acceleration(errors.activation_ev, celsius, errors.reference_celsius), errors.unaccelerated)
    }

    /// The workload on an aged fork of the drive, in time.
    fn timed(&self, index: usize, mut fork: Session, verified: &mut Verified) -> Result<Timed, Problem> {
        let result = self.runs.replay(index, &mut fork, self.clock, None)?;
        verified.add(&Verified { runs: 1, mismatches: result.oracle.mismatches });
        let joules = result.flash.energy_j.values().fold(0.0, |sum, joules| sum + joules);
        let pages = (result.host.read_pages + result.host.write_pages) as f64;
        let host_gb = pages * self.runs.experiment.drive.geometry.slot_size.0 as f64 / 1e9;
        Ok(Timed {
            energy_j_per_gb: if pages > 0.0 { joules / host_gb } else { f64::NAN },
            read: result.host.read_latency_us,
            write: result.host.write_latency_us,
            retries: result.ladder.retries_mean().unwrap_or(0.0),
            waf: result.flash.waf.unwrap_or(f64::NAN),
        })
    }

    /// The requirement that a drive breaks, if it breaks one, or that its years are over.
    fn end(&self, epoch: &Epoch, stretch: &Stretch) -> Option<End> {
        let class = &self.settings.class;
        let is_slow = |timed: &Timed| self.settings.read_p99_us.is_some_and(|limit| timed.read.p99 > limit);
        if stretch.is_read_only {
            Some(End::ReadOnly)
        } else if epoch.uber > class.uber {
            Some(End::Uber)
        } else if epoch.uber_off > class.uber {
            Some(End::Retention)
        } else if epoch.timed.as_ref().is_some_and(is_slow) {
            Some(End::ReadP99)
        } else {
            (epoch.years >= self.years_end()).then_some(End::Years)
        }
    }

    /// The life that ended at the last of these ages.
    fn ended(&self, index: usize, age: Age, epochs: Vec<Epoch>, end: End, verified: Verified) -> SchemeLife {
        let (straight_line, blocks) = (self.straight_line(index, &epochs[0]), age.wearing.all());
        let label = shown(&self.runs.experiment.schemes[index]).to_owned();
        SchemeLife { label, epochs, end, blocks, deaths: age.deaths, straight_line, verified }
    }

    /// Drive writes until all flash has its rated cycles, if everything stayed as it is in the new drive.
    fn straight_line(&self, index: usize, new: &Epoch) -> f64 {
        let raw = f64::from(self.runs.plan.drives[index].drive.geometry.slots());
        f64::from(self.runs.experiment.drive.endurance.0) * raw / f64::from(self.runs.plan.user_slots) / new.waf
    }
}

fn days_span(days: f64) -> Nanos {
    Nanos((days * 86_400e9) as u64)
}

/// Mean, and what 1 % and 99 % of the blocks have at most.
fn spread(cycles: &[u32]) -> [f64; 3] {
    let mut sorted = cycles.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| f64::from(sorted[((sorted.len() - 1) as f64 * share).round() as usize]);
    [mean(&sorted), at(0.01), at(0.99)]
}

fn mean(cycles: &[u32]) -> f64 {
    cycles.iter().map(|&pe| f64::from(pe)).sum::<f64>() / cycles.len() as f64
}
