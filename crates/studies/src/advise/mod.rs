//! Which design meets given needs at the least cost: raw flash for each byte of the user.
//!
//! ```text
//! needs + space -> formulas (every design) -> new drives -> lives without timed runs -> lives in full -> race under seeds -> corners
//! ```
//!
//! A design is a point of [`Space`]: scheme, over-provisioning, page code, age of refresh, and any setting. Lives are those of
//! [`crate::life`]. The answer depends on experiment, needs, space and budget alone, on any number of threads, unless minutes run out.

mod answer;
mod bounds;
mod code;
mod measured;
mod needs;
mod options;
mod plp;
mod repeat;
mod search;
mod space;
mod study;
#[cfg(test)]
mod tests;

pub use bounds::{Bound, Formulas, Traffic};
pub use needs::{BAD_BLOCKS, Given, Limit, Need, Needs, Values};
pub use options::Question;
pub use plp::PlpUse;
pub use space::{Axis, Key, OVER_PROVISIONING, POINTS_MAX, Point, REFRESH, SCHEMES, Space};

use crate::life::{Kept, LifeSettings, Rates, SchemeLife, check_count};
use common::{Problem, in_parallel};
use experiment::{Arrival, Experiment, Workload};
use lab::needs_demand;
use lab::{Bench, Observe, Runs};
use search::{Open, Search};
use ssd::PayloadKind;
use std::ops::RangeInclusive;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Lives in all: one of one design under one seed.
    pub lives: u32,
    /// Minutes after which no further life begins; the answer then depends on the clock.
    pub minutes: Option<f64>,
    /// Designs that live in full.
    pub finalists: u32,
    /// Seeds under which the best of them race.
    pub seeds: u32,
    /// Ages up to the rated cycles in lives without timed runs.
    pub epochs: u32,
    /// Designs that are looked at in corners of the model.
    pub corners: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { lives: 60, minutes: None, finalists: 9, seeds: 5, epochs: 4, corners: 2 }
    }
}

/// Lives, finalists and seeds that a budget may have, at least and at most.
const LIVES: RangeInclusive<u32> = 8..=100_000;
const FINALISTS: RangeInclusive<u32> = 1..=1000;
const SEEDS: RangeInclusive<u32> = 1..=100;

impl Budget {
    fn check(&self) -> Result<(), Problem> {
        check_count("--lives", self.lives, LIVES)?;
        check_count("--finalists", self.finalists, FINALISTS)?;
        check_count("--seeds", self.seeds, SEEDS)?;
        match self.minutes {
            Some(minutes) if !(minutes > 0.0 && minutes.is_finite()) => {
                Err(Problem::new("--minutes", format!("found {minutes}, valid is a number above 0")))
            }
            _ => Ok(()),
        }
    }
}

/// The model by default: 8 ages in lives in full, 2 of which are replayed in time.
#[must_use]
pub fn settings() -> LifeSettings {
    LifeSettings { epochs: 8, timed: 2, ..LifeSettings::default() }
}

/// A step of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Formulas.
    Formulas,
    /// New drives.
    New,
    /// Lives without timed runs.
    Wear,
    /// Lives in full.
    Full,
    /// The best under further seeds.
    Race,
    /// Corners of the model.
    Corner,
}

impl Stage {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Stage::Formulas => "formulas",
            Stage::New => "new drives",
            Stage::Wear => "lives without timed runs",
            Stage::Full => "lives in full",
            Stage::Race => "lives under further seeds",
            Stage::Corner => "corners of the model",
        }
    }
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The step.
    pub stage: Stage,
    /// Designs or lives of it that are done.
    pub done: usize,
    /// Designs or lives that the step has.
    pub total: usize,
    /// Lives so far in all.
    pub lives: u32,
}

/// Hears how far a step is; called from several threads.
pub type Talk<'a> = &'a (dyn Fn(Heard) + Sync);

/// How closely a design was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// By formula alone.
    None,
    /// By the write amplification of a new drive of its family, and formulas.
    New,
    /// By a life without timed runs.
    Wear,
    /// By a life in full.
    Full,
}

impl Level {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Level::None => "formula",
            Level::New => "estimate",
            Level::Wear => "wear",
            Level::Full => "full",
        }
    }
}

/// A value of the model other than the default, at which the answer is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// Pages and blocks vary by half of what is assumed.
    LessVaried,
    /// Pages and blocks vary by 0.5 in all.
    MoreVaried,
    /// Half as many dies fail.
    FewerDies,
    /// Dies fail 1.8 times as often.
    MoreDies,
    /// The drive is at 55 C, JESD218's temperature of enterprise drives.
    Hotter,
    /// Blocks wear out as early as vendors promise at most: 2 % at the rated cycles.
    WeakBlocks,
}

impl Corner {
    /// All of them.
    pub const ALL: [Corner; 6] =
        [Corner::LessVaried, Corner::MoreVaried, Corner::FewerDies, Corner::MoreDies, Corner::Hotter, Corner::WeakBlocks];

    /// In words.
    #[must_use]
    pub fn words(self, life: &LifeSettings) -> String {
        let own = self.settings(life);
        match self {
            Corner::LessVaried | Corner::MoreVaried => format!("sigma {:.2}", own.sigma.0.hypot(own.sigma.1)),
            Corner::FewerDies | Corner::MoreDies => {
                format!("a die rate of {} a year", common::quantity::percent(own.rates.dies))
            }
            Corner::Hotter => format!("{} C", own.celsius.0),
            Corner::WeakBlocks => format!("{} of blocks worn out at the rated cycles", common::quantity::percent(own.worn.0)),
        }
    }

    /// The model there.
    #[must_use]
    pub fn settings(self, life: &LifeSettings) -> LifeSettings {
        let mut own = life.clone();
        let varied = |to: f64| {
            let now = life.sigma.0.hypot(life.sigma.1);
            if now > 0.0 { (life.sigma.0 * to / now, life.sigma.1 * to / now) } else { (to, 0.0) }
        };
        let dies = |times: f64| Rates { dies: life.rates.dies * times, ..life.rates };
        match self {
            Corner::LessVaried => own.sigma = varied(life.sigma.0.hypot(life.sigma.1) / 2.0),
            Corner::MoreVaried => own.sigma = varied((1.7 * life.sigma.0.hypot(life.sigma.1)).max(0.5)),
            Corner::FewerDies => own.rates = dies(0.5),
            Corner::MoreDies => own.rates = dies(1.8),
            Corner::Hotter => own.celsius.0 += 15.0,
            Corner::WeakBlocks => own.worn.0 = (4.0 * life.worn.0).min(0.5),
        }
        own
    }
}

/// A design as far as it was looked at.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The design, by its index in [`Advice::designs`].
    pub index: usize,
    /// How closely.
    pub level: Level,
    /// Its figures, as far as that level gives them.
    pub values: Values,
    /// Its life under the first seed, at that level.
    pub life: Option<SchemeLife>,
    /// Figures of its lives in full, by how far the seed is from the first.
    pub lives: Vec<(u64, Values)>,
    /// Figures in corners of the model.
    pub corners: Vec<(Corner, Values)>,
}

/// A design that is out.
#[derive(Clone, Debug, PartialEq)]
pub struct Out {
    /// The design.
    pub at: Point,
    /// The need that not even its bound meets; `None`: it cannot be built.
    pub need: Option<(Limit, f64)>,
    /// Why it cannot be built.
    pub reason: String,
}

/// A design that formulas let pass.
#[derive(Clone, Debug)]
pub struct Design {
    /// Its place in the space.
    pub at: Point,
    /// In words.
    pub name: String,
    /// Bounds by formula.
    pub bound: Bound,
    /// How it was looked at.
    pub looked: Looked,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The space.
    pub space: Space,
    /// The needs.
    pub needs: Needs,
    /// The model.
    pub settings: LifeSettings,
    /// The budget.
    pub budget: Budget,
    /// The workload.
    pub workload: String,
    /// How commands come in timed runs.
    pub arrival: Arrival,
    /// Designs in all.
    pub points: usize,
    /// Those that formulas let pass.
    pub designs: Vec<Design>,
    /// Those that are out.
    pub out: Vec<Out>,
    /// Designs that lived in full, best first, by index.
    pub finalists: Vec<usize>,
    /// Lives in all.
    pub lives: u32,
    /// Reads of timed runs whose data differed from what was written: a defect of ours.
    pub mismatches: u64,
    /// True if minutes ran out: the same question may get another answer.
    pub is_late: bool,
}

/// How designs are looked at; it changes no figure.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    /// Threads and the clock.
    pub bench: &'a Bench<'a>,
    /// Hears how far the search has come.
    pub hear: Talk<'a>,
    /// Where whole lives are kept; those that are there are not lived again.
    pub into: Option<&'a Kept>,
}

/// Answers which design of a space to take.
///
/// # Errors
/// Bad input: as [`crate::life::life`]; an axis or need that is not valid; a kept life that is damaged or cannot be written.
pub fn advise(
    experiment: &Experiment,
    vary: &[(String, String)],
    needs: &Needs,
    settings: &LifeSettings,
    budget: Budget,
    crew: &Crew<'_>,
) -> Result<Advice, Problem> {
    let &Crew { bench, hear, into } = crew;
    budget.check()?;
    let (workload, base, settings) = prepared(experiment, needs, settings)?;
    let space = Space::new(base.clone(), &plp::axes(vary, needs, &base))?;
    let (points, formulas) = (space.points(), Formulas::new(&workload, needs, &settings));
    let (open, out) = by_formula(&space, &formulas, &points, bench, hear)?;
    let arrival = pace(&space.base, &workload, bench)?;
    let new = |index: usize, open: &Open| Looked {
        index,
        level: Level::None,
        values: open.bound.values,
        life: None,
        lives: Vec::new(),
        corners: Vec::new(),
    };
    let looked = open.iter().enumerate().map(|(index, open)| new(index, open)).collect();
    let (space, needs_of, formulas_of, settings_of) = (&space, needs, &formulas, &settings);
    let mut search = Search {
        space,
        needs: needs_of,
        formulas: formulas_of,
        settings: settings_of,
        budget,
        bench,
        hear,
        into,
        open,
        looked,
        out,
        new: std::collections::BTreeMap::new(),
        lives: 0,
        mismatches: 0,
        is_late: false,
        arrival,
    };
    search.new_drives()?;
    search.wear()?;
    search.full()?;
    search.race()?;
    let finalists = search.finalists();
    let meets = |index: &usize| needs.are_met(&search.looked[*index].values);
    let best: Vec<usize> = finalists.iter().copied().filter(meets).take(budget.corners).collect();
    search.corners(&best)?;
    let Search { open, looked, out, lives, mismatches, is_late, .. } = search;
    let design = |(open, looked): (Open, Looked)| Design { name: space.name(&open.at), at: open.at, bound: open.bound, looked };
    Ok(Advice {
        workload: workload.facts().name.clone(),
        needs: needs.clone(),
        budget,
        arrival,
        points: points.len(),
        designs: open.into_iter().zip(looked).map(design).collect(),
        out,
        finalists,
        lives,
        mismatches,
        is_late,
        space: space.clone(),
        settings: settings.clone(),
    })
}

/// The space with its size and what formulas leave of it, as text; nothing is simulated.
///
/// # Errors
/// As [`advise`].
pub fn dry_run(
    experiment: &Experiment,
    vary: &[(String, String)],
    needs: &Needs,
    settings: &LifeSettings,
    bench: &Bench<'_>,
) -> Result<String, Problem> {
    let (workload, base, settings) = prepared(experiment, needs, settings)?;
    let space = Space::new(base.clone(), &plp::axes(vary, needs, &base))?;
    let points = space.points();
    let formulas = Formulas::new(&workload, needs, &settings);
    let (open, out) = by_formula(&space, &formulas, &points, bench, &|_| {})?;
    let mut text = format!("{} designs: {}\n", points.len(), space.words());
    for axis in &space.axes {
        text.push_str(&format!("  {}: {}\n", axis.key.name(), axis.values.join(", ")));
    }
    text.push_str(&format!("formulas let {} pass; {} are out:\n", open.len(), out.len()));
    for (reason, count, example) in answer::reasons(&space, &out) {
        text.push_str(&common::table::wrapped(&format!("  {count} by {reason}, such as {example}")));
    }
    Ok(text)
}

/// The workload, what all designs share, and the model.
fn prepared(
    experiment: &Experiment,
    needs: &Needs,
    settings: &LifeSettings,
) -> Result<(Workload, Experiment, LifeSettings), Problem> {
    let workload = Workload::open(experiment, &|_| {})?;
    if workload.facts().written_bytes == 0 {
        return Err(Problem::new("advise", "the workload writes nothing; a life is measured in writes"));
    }
    let of_reads = [Need::ReadP99, Need::ReadP999].into_iter().find(|need| needs.limit(*need).is_some());
    if let Some(need) = of_reads.filter(|_| workload.facts().reads == 0) {
        let text = "the workload reads nothing; valid is one with reads, such as generate.read_fraction=0.5";
        return Err(Problem::new(format!("--{}", need.key()), text));
    }
    let of_time = Need::OF_TIME.into_iter().find(|need| needs.limit(*need).is_some());
    if let Some(need) = of_time.filter(|_| settings.timed == 0) {
        let text = format!("found 0, and --{} needs lives in time; valid are numbers from 1 on", need.key());
        return Err(Problem::new("--timed", text));
    }
    workload.check_space(experiment)?;
    let mut base = space::settled(experiment, &workload)?;
    base.payload = PayloadKind::Tag;
    let settings = LifeSettings { dwpd: needs.dwpd, years: Some(needs.years), class: needs.class, ..settings.clone() };
    // Bad input that any life would refuse is refused before anything is looked at.
    crate::life::check(&base, &settings)?;
    settings.vary(&mut base);
    // A generator of another capacity would draw from another range.
    let workload = if experiment::workload::is_drawn(&base) { Workload::open(&base, &|_| {})? } else { workload };
    Ok((workload, base, settings))
}

/// Why a design is out whose over-provisioning is too little for its scheme.
const NO_ROOM: &str = "no room for the user capacity beside redundancy and what GC keeps free";

/// Formulas look at every design.
fn by_formula(
    space: &Space,
    formulas: &Formulas<'_>,
    points: &[Point],
    bench: &Bench<'_>,
    hear: Talk<'_>,
) -> Result<(Vec<Open>, Vec<Out>), Problem> {
    let refresh = space.axes.iter().position(|axis| axis.key == Key::Refresh).expect("an axis of every space");
    // No bound depends on refresh.
    let own = |at: &Point| {
        let mut own = at.clone();
        own[refresh] = 0;
        own
    };
    let mut distinct: Vec<Point> = points.iter().map(own).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let total = points.len();
    hear(Heard { stage: Stage::Formulas, done: 0, total, lives: 0 });
    let pieces: Vec<&[Point]> = distinct.chunks(64).collect();
    let bounds = in_parallel(bench.threads, pieces, |points| {
        let bound = |at: &Point| {
            let experiment = space.experiment(at)?;
            formulas.bound(&experiment, space.scrub_days(at).is_some())
        };
        Ok(points.iter().map(bound).collect::<Vec<_>>())
    })?;
    let bounds: Vec<Result<Bound, Problem>> = bounds.into_iter().flatten().collect();
    let (mut open, mut out) = (Vec::new(), Vec::new());
    for at in points {
        let found = &bounds[distinct.binary_search(&own(at)).expect("each was looked at")];
        match found {
            Err(problem) => {
                let is_short = problem.field == "capacity.over_provisioning";
                let reason = if is_short { NO_ROOM.into() } else { problem.message.clone() };
                out.push(Out { at: at.clone(), need: None, reason });
            }
            Ok(bound) => {
                let broken = formulas.needs.broken(&bound.values).into_iter().find(|(limit, _)| limit.is_hard);
                match broken {
                    Some(need) => out.push(Out { at: at.clone(), need: Some(need), reason: String::new() }),
                    None => open.push(Open { at: at.clone(), bound: bound.clone() }),
                }
            }
        }
    }
    hear(Heard { stage: Stage::Formulas, done: total, total, lives: 0 });
    Ok((open, out))
}

/// Share of time in which a drive without redundancy would be busy, where nothing is asked for: room for designs that write three times as
/// much.
const BUSY: f64 = 0.25;

/// When commands come in timed runs: the same for all designs, whichever the space has. Where the clock is to follow the drive, it follows one
/// without redundancy that has the over-provisioning of the experiment.
fn pace(base: &Experiment, workload: &Workload, bench: &Bench<'_>) -> Result<Arrival, Problem> {
    let arrival = base.trace.arrival;
    let share = match arrival {
        Arrival::Load(share) => share,
        Arrival::HalfBusy => 0.5,
        _ => BUSY,
    };
    if !needs_demand(arrival, workload.duration_s()) || workload.has_queue() {
        return Ok(arrival);
    }
    let plan = experiment::plan(base, workload.touched())?;
    let map = workload.map(base, plan.user_slots)?;
    let runs =
        Runs { experiment: base, bench, drives: None, observe: Observe::Nothing, workload, plan: &plan, map: &map, before: 0 };
    let session = runs.written(&runs.experiment.schemes[0], &runs.setup_of(0), &mut |_| {})?;
    let least_s = runs.demand(&session)?.least_s();
    let factor = least_s / (share * workload.duration_s());
    let factor = format!("{factor:.2e}").parse::<f64>().expect("a number as printed");
    Ok(if factor > 1.0 || matches!(arrival, Arrival::Load(_)) { Arrival::Scaled(factor.max(1e-3)) } else { Arrival::Recorded })
}
