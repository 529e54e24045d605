//! Formulas of a design, before any of it is simulated: bounds that no life of it can be better than.
//!
//! Each leaves out what would make the design worse. Flash programs are those of pages that no write buffer can absorb, and of parity that
//! whole stripes ask for; garbage collection, refresh and wear levelling add to that. Pages have the mean rate of the error model, data are as young as they can
//! be, the code is the strongest that its policy may choose, and references are the best of each page. Where a bound would not be sound it is left out
//! (P/E cycles of a drive with an SLC cache, reads of a drive that is not full or senses pages ahead).

use super::code::PageCode;
use super::needs::{BAD_BLOCKS, Need, Needs, Values};
use super::plp::PlpUse;
use crate::life::{LifeSettings, Rates};
use common::Problem;
use experiment::{Experiment, Plan, Workload, plan};
use ssd::nand::rber::{acceleration, aged};
use ssd::protect::registry::additions;
use ssd::protect::{Protection, SchemeChoice};
use ssd::{SlcMode, shape};
use std::collections::BTreeMap;
use std::sync::Mutex;
use vocab::{HostCommand, HostOp, normal_below};

/// Hours of a year of 365 days.
const HOURS_A_YEAR: f64 = 8760.0;
/// How far a bound on cycles is lowered: a stretch of a life may end with some more free blocks than it began with, and a generator draws other requests
/// later on.
const CYCLES_SLACK: f64 = 0.95;
/// Classes of P/E cycles in which odds are worked out, by the rated ones: rounded down, which makes them better.
const CLASSES_TO_RATED: f64 = 40.0;
/// Buffers' worth of writes after which a page is taken to have left the write buffer.
const BUFFERS_UNTIL_GONE: u64 = 8;
/// How far bounds on losses and shares of reads are lowered: for rounding, and for requests that a generator draws in other passes.
const LOSS_SLACK: f64 = 1.0 - 1e-9;
const READS_SLACK: f64 = 0.8;

/// Traffic to flash that a workload causes whatever the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Logical pages that the host writes in a pass, and of these the share that any buffer of the given size must write to flash.
    pub to_flash: f64,
    /// Share of read requests of which no buffer of the given size can answer all pages.
    pub reads_from_flash: f64,
}

/// Requests of a pass, page by page.
fn pages_of(command: &HostCommand, slot: u64, slots: u32) -> std::ops::Range<u32> {
    const SECTOR: u64 = 512;
    let (first, length) = (command.lba.0 * SECTOR, u64::from(command.sectors) * SECTOR);
    let (start, end) = (first / slot, (first + length).div_ceil(slot));
    (start.min(u64::from(slots)) as u32)..(end.min(u64::from(slots)) as u32)
}

impl Traffic {
    /// The traffic of a workload on a drive whose buffers hold `buffer` logical pages.
    ///
    /// In a stretch of writes to d distinct pages any buffer can keep `buffer` of them at the end; the others went to flash. The sum over
    /// stretches is a bound for each length of stretch, and the largest counts.
    ///
    /// # Errors
    /// A trace that cannot be read again.
    pub fn of(experiment: &Experiment, workload: &Workload, plan: &Plan, buffer: u64) -> Result<Self, Problem> {
        let slot = experiment.drive.geometry.slot_size.0;
        let map = workload.map(experiment, plan.user_slots)?;
        let lengths = [4, 16, 64].map(|times| (times * buffer).max(1)).into_iter().chain([u64::MAX]);
        let mut best = Self { to_flash: 0.0, reads_from_flash: 0.0 };
        for length in lengths {
            let mut counted = Counted::new(plan.user_slots, buffer, length);
            let mut commands = workload.once(&map)?;
            for command in commands.by_ref() {
                counted.add(command.op, pages_of(&command, slot, plan.user_slots));
            }
            commands.finish()?;
            let traffic = counted.traffic();
            best.to_flash = best.to_flash.max(traffic.to_flash);
            best.reads_from_flash = traffic.reads_from_flash;
        }
        Ok(best)
    }
}

/// Counts of one pass of the workload, which is cut into stretches of `length` page writes.
struct Counted {
    buffer: u64,
    length: u64,
    /// For each page: the stretch in which it was written last, and the number of that write; 0: never.
    last: Vec<(u32, u64)>,
    stretch: u32,
    written: u64,
    distinct: u64,
    to_flash: u64,
    /// Read requests; of these, those with a page that this pass wrote long ago, and others with one that it has not written.
    reads: u64,
    from_flash: u64,
    from_pass_before: u64,
    /// True if the workload discards pages. A page that this pass has not written may then hold no data.
    has_discards: bool,
}

impl Counted {
    fn new(slots: u32, buffer: u64, length: u64) -> Self {
        let last = vec![(0, 0); slots as usize];
        let (stretch, has_discards) = (1, false);
        let [written, distinct, to_flash, reads, from_flash, from_pass_before] = [0; 6];
        Self { buffer, length, last, stretch, written, distinct, to_flash, reads, from_flash, from_pass_before, has_discards }
    }

    fn add(&mut self, op: HostOp, pages: std::ops::Range<u32>) {
        if op == HostOp::Read {
            return self.read(pages);
        }
        for page in pages {
            let last = &mut self.last[page as usize];
            match op {
                HostOp::Write(_) => {
                    self.written += 1;
                    self.distinct += u64::from(last.0 != self.stretch);
                    *last = (self.stretch, self.written);
                    if self.written.is_multiple_of(self.length) {
                        self.end_stretch();
                    }
                }
                HostOp::Discard => {
                    // A page that is given up need not be written, and a read of it needs no flash.
                    self.distinct -= u64::from(last.0 == self.stretch && self.distinct > 0);
                    *last = (0, 0);
                    self.has_discards = true;
                }
                HostOp::Read | HostOp::Flush => {}
            }
        }
    }

    fn read(&mut self, pages: std::ops::Range<u32>) {
        self.reads += 1;
        let last = &self.last[pages.start as usize..pages.end as usize];
        let is_gone = |write: u64| self.written - write > BUFFERS_UNTIL_GONE * self.buffer;
        let is_from_flash = last.iter().any(|&(_, write)| write > 0 && is_gone(write));
        self.from_flash += u64::from(is_from_flash);
        // A page that the pass has not written may be in the buffer from the pass before.
        self.from_pass_before += u64::from(!is_from_flash && is_gone(0) && last.iter().any(|&(_, write)| write == 0));
    }

    fn end_stretch(&mut self) {
        self.to_flash += self.distinct.saturating_sub(self.buffer);
        (self.stretch, self.distinct) = (self.stretch + 1, 0);
    }

    fn traffic(mut self) -> Traffic {
        self.end_stretch();
        let share = |of: u64, all: u64| if all == 0 { 0.0 } else { of as f64 / all as f64 };
        let from_flash = self.from_flash + if self.has_discards { 0 } else { self.from_pass_before };
        Traffic { to_flash: share(self.to_flash, self.written), reads_from_flash: share(from_flash, self.reads) }
    }
}

/// Logical pages that the memory of a drive holds before flash: its write buffer, and what is gathered for program units.
fn buffered_pages(experiment: &Experiment) -> u64 {
    let drive = experiment.drive.drive();
    let slot = drive.geometry.slot_size.0;
    let buffer = if experiment.buffer.kind == ssd::BufferKind::Off { 0 } else { experiment.buffer.on(&drive).size.0 / slot };
    let unit = experiment.drive.program_bytes().0 / slot;
    buffer + 2 * u64::from(drive.geometry.dies()) * unit
}

/// Bounds of a design, by formula.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Raw flash bytes for each user byte.
    pub raw_by_user: f64,
    /// Write amplification at least.
    pub waf: f64,
    /// Bounds on what is needed.
    pub values: Values,
    /// Share of raw flash that redundancy takes.
    pub overhead: f64,
    /// Dies whose loss at a time the scheme survives at most.
    pub survives: u32,
    /// Members of a codeword over dies.
    pub members: u32,
    /// Memory that must outlive a power cut.
    pub plp: PlpUse,
}

/// Workload, needs and model that the designs of a space share.
pub struct Formulas<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// The needs.
    pub needs: &'a Needs,
    /// Rates, variation and temperatures.
    pub life: &'a LifeSettings,
    traffic: Mutex<BTreeMap<(u64, u32), Traffic>>,
    codes: Mutex<BTreeMap<String, PageCode>>,
}

impl<'a> Formulas<'a> {
    /// For a workload, needs and a model.
    #[must_use]
    pub fn new(workload: &'a Workload, needs: &'a Needs, life: &'a LifeSettings) -> Self {
        Self { workload, needs, life, traffic: Mutex::default(), codes: Mutex::default() }
    }

    /// The bound of a design, scrubbed or not.
    ///
    /// # Errors
    /// A design that cannot be built or does not hold the user capacity.
    pub fn bound(&self, experiment: &Experiment, is_scrubbed: bool) -> Result<Bound, Problem> {
        let plan = plan(experiment, self.workload.touched())?;
        let planned = &plan.drives[0];
        let choice = experiment.choice(&experiment.schemes[0]);
        let most = ssd::user_slots_max(&planned.drive, &choice, &experiment.gc)
            .map_err(|e| experiment::capacity::refused(&experiment.schemes[0], &e))?;
        let protection = ssd::protect::registry::build(&choice, shape(&planned.drive))
            .map_err(|e| experiment::capacity::refused(&experiment.schemes[0], &e))?;
        let (user, raw) = (f64::from(plan.user_slots), f64::from(planned.drive.geometry.slots()));
        let traffic = self.traffic(experiment, &plan)?;
        let waf = traffic.to_flash * parity(&choice, &protection, planned.drive.geometry.dies());
        let rated = f64::from(experiment.drive.endurance.0);
        let written = self.needs.years * 365.0 * self.needs.dwpd * user;
        let is_counted = planned.drive.slc.mode == SlcMode::Off;
        let pe = if is_counted { (written * waf * CYCLES_SLACK / raw - 1.0).max(0.0) } else { 0.0 };
        // A scheme of stages survives none at first, and the promise of its last stage bounds all of them.
        let is_staged = protection.stripes().is_some_and(|stripes| stripes.life_stage().is_some());
        let survives = protection.survives_dies().max(u32::from(is_staged));
        let mut values = Values::default();
        values.set(Need::Capacity, f64::from(most) * (1.0 - BAD_BLOCKS) / user);
        let plp = PlpUse::of(experiment, &protection);
        values.set(Need::Plp, plp.value());
        values.set(Need::Dies, f64::from(survives));
        values.set(Need::Pe, pe / rated);
        let dies = f64::from(planned.drive.geometry.dies());
        // Stages of life bring parity that a new drive does not have yet.
        let later = survives.max(u32::from(protection.stripes().is_some()));
        values.set(Need::Loss, LOSS_SLACK * lost_at_least(later, dies, &self.life.rates, self.needs.years));
        // Wear levelling lets the cycles of blocks differ by its threshold.
        let least = (pe - f64::from(experiment.wear.static_threshold)).max(0.0);
        let class = rated / CLASSES_TO_RATED;
        let least = (least / class).floor() * class;
        let off = self.off_hours(experiment);
        let bits = planned.drive.geometry.slot_size.0 as f64 * 8.0;
        let all_fail = members_to_lose(&protection);
        // Rates vary around their mean, and the odds of a page grow with its rate: those of pages above the mean alone.
        let above_mean = normal_below(-0.5 * self.life.sigma.0.hypot(self.life.sigma.1));
        for (need, hours) in [(Need::Uber, 0.0), (Need::Retention, off)] {
            let (mean, min) = self.code(experiment, |code| code.odds(least, hours))?;
            let lost = mean * min.powi(all_fail as i32 - 1) * above_mean.powi(all_fail as i32);
            // A scrub mends what the rest of a codeword brings back, whatever made it unreadable.
            values.set(need, if is_scrubbed && all_fail > 1 { 0.0 } else { lost / bits });
        }
        self.reads(experiment, &choice, &protection, &traffic, &mut values);
        Ok(Bound {
            raw_by_user: raw / user,
            waf,
            values,
            overhead: planned.capacity_overhead,
            survives,
            members: members(&protection, planned.drive.geometry.dies()),
            plp,
        })
    }

    fn traffic(&self, experiment: &Experiment, plan: &Plan) -> Result<Traffic, Problem> {
        let key = (buffered_pages(experiment), plan.user_slots);
        let mut known = self.traffic.lock().expect("nothing panics while it is held");
        if let Some(traffic) = known.get(&key) {
            return Ok(*traffic);
        }
        let traffic = Traffic::of(experiment, self.workload, plan, key.0)?;
        known.insert(key, traffic);
        Ok(traffic)
    }

    /// Asks the page code of an experiment, which remembers what it was asked.
    fn code<T>(&self, experiment: &Experiment, ask: impl FnOnce(&mut PageCode) -> T) -> Result<T, Problem> {
        let ecc = experiment.ecc_setup(&experiment.schemes[0]);
        let key = format!("{ecc:?} {:?}", experiment.errors);
        let mut codes = self.codes.lock().expect("nothing panics while it is held");
        if !codes.contains_key(&key) {
            codes.insert(key.clone(), PageCode::of(experiment, &ecc)?);
        }
        Ok(ask(codes.get_mut(&key).expect("just inserted")))
    }

    /// Hours of the error model that the time without power of the class takes.
    fn off_hours(&self, experiment: &Experiment) -> f64 {
        let errors = &experiment.errors;
        let class = &self.needs.class;
        class.off_hours * aged(acceleration(errors.activation_ev, class.off_celsius, self.life.celsius.1), errors.unaccelerated)
    }

    /// A read request that the write buffer cannot complete senses a page. Where more requests than the percentile leaves out do so, the
    /// percentile is at least the sensing time. There is no bound where the drive may have sensed the page before the request: with
    /// read-ahead, an SLC cache, or page registers that hold the pages of a program unit.
    fn reads(
        &self,
        experiment: &Experiment,
        choice: &SchemeChoice,
        protection: &Protection,
        traffic: &Traffic,
        values: &mut Values,
    ) {
        let (timing, slc) = (&experiment.drive.timing, &experiment.drive.slc);
        let has_registers = timing.unit.is_some() || timing.cache_read.is_some();
        let reads_ahead = matches!(protection, Protection::Zones(_)) || additions(&choice.name).next().is_some();
        let is_sensed_before = has_registers || reads_ahead || slc.mode != SlcMode::Off;
        let sensing = timing.page.iter().map(|page| page.read.0).min().unwrap_or(0) as f64 / 1e3;
        let history = &experiment.precondition;
        let is_full = history.fill * history.working_set >= 1.0;
        for (need, share) in [(Need::ReadP99, 0.01), (Need::ReadP999, 0.001)] {
            let is_sensed = is_full && !is_sensed_before && READS_SLACK * traffic.reads_from_flash > share;
            values.set(need, if is_sensed { sensing } else { 0.0 });
        }
        [Need::WriteP99, Need::Energy].into_iter().for_each(|need| values.set(need, 0.0));
    }

    /// Figures that a life will probably find, from a write amplification that was seen: an estimate that ranks designs, and no bound.
    ///
    /// # Errors
    /// None that the bound of the same design did not have.
    pub fn estimate(
        &self,
        experiment: &Experiment,
        bound: &Bound,
        waf: f64,
        cold: f64,
        refresh_days: Option<f64>,
        scrub_days: Option<f64>,
    ) -> Result<Values, Problem> {
        let Needs { years, dwpd, .. } = *self.needs;
        let mut values = bound.values;
        let refreshed = refresh_days.map_or(0.0, |days| cold / (days * dwpd) / (1.0 - bound.overhead));
        let rated = f64::from(experiment.drive.endurance.0);
        let pe = years * 365.0 * dwpd * (waf + refreshed) / bound.raw_by_user;
        values.set(Need::Pe, pe / rated);
        values.set(Need::Years, years);
        let at = |celsius: f64| aged(acceleration(experiment.errors.activation_ev, celsius, self.life.celsius.1), 0.0);
        let days = refresh_days.unwrap_or(years * 365.0).min(years * 365.0);
        let oldest = days * 24.0 * at(self.life.celsius.0);
        // A scrub leaves the unreadable pages of a codeword that are younger than its interval.
        let unfound = scrub_days.map_or(1.0, |every| (every / days).min(1.0));
        let off = self.off_hours(experiment);
        let sigma = self.life.sigma.0.hypot(self.life.sigma.1);
        let bits = experiment.drive.geometry.slot_size.0 as f64 * 8.0;
        let mut unreadable = [0.0; 2];
        for (at, (need, hours)) in [(Need::Uber, 0.0), (Need::Retention, off)].into_iter().enumerate() {
            let (hot, old) =
                self.code(experiment, |code| (code.likely(pe, hours + 24.0, sigma), code.likely(pe, hours + oldest, sigma)))?;
            let page = hot * (1.0 - cold) + old * cold;
            unreadable[at] = page;
            let others = f64::from(bound.members.max(1) - 1) * page * unfound;
            let lost = if bound.survives == 0 { page } else { page * others.min(1.0).powi(bound.survives as i32) };
            values.set(need, lost / bits);
        }
        let pages = f64::from(experiment.drive.geometry.pages_per_block) * f64::from(experiment.drive.geometry.blocks_per_die());
        let with_a_die = -(-pages * f64::from(bound.members) * unreadable[0] * unfound).exp_m1();
        let rates = &self.life.rates;
        let loss = if bound.survives == 0 { rates.dies + rates.blocks } else { rates.dies * with_a_die };
        let least = values.get(Need::Loss).unwrap_or(0.0);
        values.set(Need::Loss, least.max(-(-loss * years).exp_m1()));
        Ok(values)
    }
}

/// Pages that are programmed for each page of the host at least, with its parity.
fn parity(choice: &SchemeChoice, protection: &Protection, dies: u32) -> f64 {
    match protection {
        Protection::None | Protection::Zones(_) => 1.0,
        Protection::Rows(rows) => f64::from(dies) / f64::from(dies - rows.side_by_side()),
        // Caches of parity absorb it, and stages of life go without.
        Protection::Stripes(scheme) if choice.name == "raid5" => 1.0 + 1.0 / f64::from(scheme.data_strips()),
        Protection::Stripes(_) => 1.0,
        Protection::Groups(scheme) => {
            let share = scheme.codes().iter().map(|code| 1.0 + f64::from(code.parity) / f64::from(code.data));
            share.fold(f64::INFINITY, f64::min)
        }
    }
}

/// Pages of a codeword that must fail together before one is lost, at most.
fn members_to_lose(protection: &Protection) -> u32 {
    match protection {
        Protection::None => 1,
        Protection::Zones(_) | Protection::Rows(_) | Protection::Stripes(_) => 2,
        Protection::Groups(scheme) => {
            scheme.codes().iter().map(|code| code.parity + 1 + u32::from(code.block > 0)).max().unwrap_or(1)
        }
    }
}

/// Members of a codeword over dies.
fn members(protection: &Protection, dies: u32) -> u32 {
    match protection {
        Protection::None | Protection::Zones(_) => 1,
        Protection::Stripes(scheme) => scheme.data_strips() + 1,
        Protection::Rows(rows) => dies / rows.side_by_side(),
        Protection::Groups(scheme) => scheme.codes().iter().map(|code| code.data + code.parity).max().unwrap_or(1),
    }
}

/// Probability of data loss by lost dies alone: without redundancy each of them, else those that are lost before the first is rebuilt.
fn lost_at_least(survives: u32, dies: f64, rates: &Rates, years: f64) -> f64 {
    let mut events = rates.dies;
    for further in 1..=survives {
        let left = (dies - f64::from(further)) / dies;
        events *= -(-rates.dies * left * rates.rebuild_hours / HOURS_A_YEAR).exp_m1() / f64::from(further);
    }
    -(-events * years).exp_m1()
}
