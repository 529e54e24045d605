//! From the formulas to the lives: which designs are looked at how closely.
//!
//! 1. Formulas look at every design; one whose bound breaks a hard need is out.
//! 2. New drives: a family (designs that differ in over-provisioning, code, refresh and scrub alone) is bisected over its over-provisioning, from
//!    the write amplification of new drives.
//! 3. Lives without timed runs, of the designs that rank best by (hard needs broken, soft ones, raw flash, cycles).
//! 4. Lives in full, of those that meet every hard need so far.
//! 5. The best of them race under further seeds.
//! 6. Corners of the model, for the chosen one and the runner-up.
//!
//! Each step takes a share of the budget, which counts lives, so that the answer depends on no clock unless minutes are given.

use super::bounds::{Bound, Formulas};
use super::measured::measured;
use super::needs::{Need, Needs, Values};
use super::space::{Point, Space};
use super::{Budget, Corner, Heard, Level, Looked, Out, Stage, Talk};
use crate::life::{Class, Kept, LifeSettings, SchemeLife, life, question};
use common::{Problem, in_parallel};
use experiment::{Arrival, Experiment, Size};
use lab::Bench;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Shares of the lives that may be used up by the end of each step: new drives, lives without timed runs, lives in full, the race.
const SHARES: [f64; 4] = [0.35, 0.52, 0.66, 0.8];
/// Lives of designs that wear alike, at most, and of a family: that many, or half of the finalists.
const OF_A_CLASS: usize = 2;
const OF_A_FAMILY: usize = 4;
/// Designs that race at most.
const RACERS: usize = 4;
/// Seeds under which a racer may miss a hard need before it is out.
const MISSES: usize = 2;
/// Years of a drive that is looked at while it is new.
const NEW: f64 = 0.001;
/// UBER that ends no life.
const ANY_UBER: f64 = 1.0;

/// A design that formulas let pass.
pub(super) struct Open {
    pub at: Point,
    pub bound: Bound,
}

pub(super) struct Search<'a> {
    pub space: &'a Space,
    pub needs: &'a Needs,
    pub formulas: &'a Formulas<'a>,
    pub settings: &'a LifeSettings,
    pub budget: Budget,
    pub bench: &'a Bench<'a>,
    pub hear: Talk<'a>,
    pub into: Option<&'a Kept>,
    pub open: Vec<Open>,
    /// How each open design was looked at, by its index there.
    pub looked: Vec<Looked>,
    /// Designs that turned out to be impossible while they were simulated.
    pub out: Vec<Out>,
    /// Write amplification of new drives and share of cold data, by class of wear.
    pub new: BTreeMap<Point, (f64, f64)>,
    /// Lives so far.
    pub lives: u32,
    /// Reads of timed runs whose data were wrong.
    pub mismatches: u64,
    /// True once minutes ran out.
    pub is_late: bool,
    /// How commands come in timed runs.
    pub arrival: Arrival,
}

/// A life to be lived: index of the design, what it is for, and the seed beside the base's.
#[derive(Clone, Debug)]
struct Wanted {
    index: usize,
    stage: Stage,
    seed: u64,
    corner: Option<Corner>,
}

/// Rank of a design: hard needs broken, soft ones, raw flash, worst p99 of reads, cycles, scrubs a day, and its place in the space.
type Rank = (f64, usize, f64, f64, f64, f64, usize);

fn ordered(one: &Rank, other: &Rank) -> Ordering {
    let (a, b) = (one, other);
    let by = a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2));
    by.then(a.3.total_cmp(&b.3)).then(a.4.total_cmp(&b.4)).then(a.5.total_cmp(&b.5)).then(a.6.cmp(&b.6))
}

impl Search<'_> {
    pub fn rank(&self, index: usize) -> Rank {
        let values = &self.looked[index].values;
        let (hard, soft) = self.needs.violation(values);
        let p99 = if self.looked[index].level >= Level::Full { values.get(Need::ReadP99).unwrap_or(0.0) } else { 0.0 };
        let open = &self.open[index];
        let scrubs = self.space.scrub_days(&open.at).map_or(0.0, |days| 1.0 / days);
        (hard, soft, open.bound.raw_by_user, p99, values.get(Need::Pe).unwrap_or(0.0), scrubs, index)
    }

    /// These designs, best first.
    fn ranked(&self, among: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut ranked: Vec<Rank> = among.map(|index| self.rank(index)).collect();
        ranked.sort_by(ordered);
        ranked.into_iter().map(|rank| rank.6).collect()
    }

    /// New drives: for each family, the least over-provisioning with which a new drive's write amplification lets a design meet its needs,
    /// by bisection. More of it is taken to wear less.
    pub fn new_drives(&mut self) -> Result<(), Problem> {
        let mut families: BTreeMap<Point, Vec<Point>> = BTreeMap::new();
        for open in &self.open {
            let classes = families.entry(self.space.family(&open.at)).or_default();
            let class = self.space.wear_class(&open.at);
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        let raw: BTreeMap<Point, f64> =
            self.open.iter().map(|open| (self.space.wear_class(&open.at), open.bound.raw_by_user)).collect();
        for classes in families.values_mut() {
            classes.sort_by(|a, b| raw[a].total_cmp(&raw[b]));
        }
        // For each family: its classes below `low` do not do, those from `high` on do.
        let mut spans: Vec<(Vec<Point>, usize, Option<usize>)> = families.into_values().map(|c| (c, 0, None)).collect();
        loop {
            let next = |(classes, low, high): &(Vec<Point>, usize, Option<usize>)| match high {
                None if *low < classes.len() => Some(classes.len() - 1),
                Some(high) if low < high => Some(usize::midpoint(*low, *high)),
                _ => None,
            };
            let due: Vec<(usize, usize)> =
                spans.iter().enumerate().filter_map(|(family, span)| Some((family, next(span)?))).collect();
            let left = self.allotted(SHARES[0]);
            let due: Vec<(usize, usize)> = due.into_iter().take(left).collect();
            if due.is_empty() {
                break;
            }
            let wanted = due.iter().map(|&(family, at)| self.first_of(&spans[family].0[at])).collect();
            let found = self.live(wanted)?;
            // Lives for which no time was left are missing from what was found.
            for (Wanted { index, .. }, life) in found {
                let class = self.space.wear_class(&self.open[index].at);
                let due = due.iter().find(|&&(family, at)| spans[family].0[at] == class);
                let &(family, at) = due.expect("each life is of a class that was due");
                let does = life.is_some_and(|life| self.note_new(&class, &life));
                let (classes, low, high) = &mut spans[family];
                match (does, high.is_none()) {
                    (true, _) => *high = Some(at),
                    // Not even the most does: what is below is not looked at.
                    (false, true) => *low = classes.len(),
                    (false, false) => *low = at + 1,
                }
            }
        }
        self.estimate_all()
    }

    fn first_of(&self, class: &Point) -> Wanted {
        let index =
            self.open.iter().position(|open| self.space.wear_class(&open.at) == *class).expect("a class of an open design");
        Wanted { index, stage: Stage::New, seed: 0, corner: None }
    }

    /// Notes what a new drive showed; whether a design of its class may meet its needs.
    fn note_new(&mut self, class: &Point, life: &SchemeLife) -> bool {
        let last = life.last();
        let cold = 1.0 - self.formulas.workload.touched() as f64 / self.user_pages();
        self.new.insert(class.clone(), (last.waf - last.refreshed, cold.clamp(0.0, 1.0)));
        let of_class: Vec<usize> =
            (0..self.open.len()).filter(|&at| self.space.wear_class(&self.open[at].at) == *class).collect();
        of_class.into_iter().any(|at| {
            let values = self.estimated(at, class);
            values.is_ok_and(|values| self.needs.are_met(&values))
        })
    }

    /// Logical pages that every design stores.
    fn user_pages(&self) -> f64 {
        let Size::User(bytes) = self.space.base.capacity.size else { unreachable!("`space::settled` gives a user capacity") };
        bytes.0 as f64 / self.space.base.drive.geometry.slot_size.0 as f64
    }

    fn estimated(&self, index: usize, class: &Point) -> Result<Values, Problem> {
        let open = &self.open[index];
        let experiment = self.space.experiment(&open.at)?;
        let (waf, cold) = self.new[class];
        let (refresh, scrub) = (self.space.refresh_days(&open.at), self.space.scrub_days(&open.at));
        self.formulas.estimate(&experiment, &open.bound, waf, cold, refresh, scrub)
    }

    /// Estimates every design of a family of which a new drive was looked at, by the nearest such with no more over-provisioning, or with the
    /// least.
    fn estimate_all(&mut self) -> Result<(), Problem> {
        let raw = |class: &Point| {
            let open = self.open.iter().find(|open| self.space.wear_class(&open.at) == *class);
            open.map_or(f64::INFINITY, |open| open.bound.raw_by_user)
        };
        let known: Vec<(Point, Point, f64)> =
            self.new.keys().map(|class| (self.space.family(class), class.clone(), raw(class))).collect();
        for index in 0..self.open.len() {
            let (family, own) = (self.space.family(&self.open[index].at), self.open[index].bound.raw_by_user);
            let mut of_family: Vec<_> = known.iter().filter(|(of, ..)| *of == family).collect();
            of_family.sort_by(|a, b| a.2.total_cmp(&b.2));
            let nearest = of_family.iter().rev().find(|(.., raw)| *raw <= own).or(of_family.first());
            if let Some((_, class, _)) = nearest {
                self.looked[index].values = self.estimated(index, &class.clone())?;
                self.looked[index].level = Level::New;
            }
        }
        Ok(())
    }

    /// Lives without timed runs, in rounds: as long as the designs of a family that were looked at break needs, dearer ones follow.
    pub fn wear(&mut self) -> Result<(), Problem> {
        loop {
            let left = self.allotted(SHARES[1]);
            let due = self.due_for_wear(left);
            if due.is_empty() {
                return Ok(());
            }
            self.live_and_note(due, Stage::Wear)?;
        }
    }

    /// The designs that come next: of each family at most [`OF_A_FAMILY`] that live so far, the best first.
    fn due_for_wear(&self, left: usize) -> Vec<usize> {
        let (mut of_class, mut of_family): (BTreeMap<Point, usize>, BTreeMap<Point, usize>) = Default::default();
        let mut begun: BTreeSet<Point> = BTreeSet::new();
        for looked in self.looked.iter().filter(|looked| looked.level >= Level::Wear) {
            let at = &self.open[looked.index].at;
            *of_class.entry(self.space.wear_class(at)).or_default() += 1;
            begun.insert(self.space.family(at));
            if self.needs.are_met(&looked.values) {
                *of_family.entry(self.space.family(at)).or_default() += 1;
            }
        }
        let of_a_family = OF_A_FAMILY.max(self.budget.finalists as usize / 2);
        let fresh = self.ranked((0..self.open.len()).filter(|&index| self.looked[index].level == Level::New));
        let mut due = Vec::new();
        for index in fresh {
            let (class, family) = (self.space.wear_class(&self.open[index].at), self.space.family(&self.open[index].at));
            let meets = self.needs.are_met(&self.looked[index].values);
            // One design of a family that breaks needs by its estimate shows by how much.
            let is_wanted =
                if meets { of_family.get(&family).is_none_or(|n| *n < of_a_family) } else { !begun.contains(&family) };
            if due.len() < left && is_wanted && of_class.get(&class).is_none_or(|n| *n < OF_A_CLASS) {
                *of_class.entry(class).or_default() += 1;
                *of_family.entry(family.clone()).or_default() += 1;
                begun.insert(family);
                due.push(index);
            }
        }
        due
    }

    /// Simulates lives in full, best designs first: one of each family before a second one of any, up to the number of finalists.
    pub fn full(&mut self) -> Result<(), Problem> {
        let taken = self.looked.iter().filter(|looked| looked.level >= Level::Full).count();
        let left = (self.budget.finalists as usize).saturating_sub(taken).min(self.allotted(SHARES[2]));
        let meets = |&index: &usize| self.looked[index].level == Level::Wear && self.needs.are_met(&self.looked[index].values);
        let mut ranked = self.ranked((0..self.open.len()).filter(meets));
        if ranked.is_empty() {
            // No design does: the nearest one is told with all of its figures.
            ranked = self.ranked((0..self.open.len()).filter(|&index| self.looked[index].level == Level::Wear));
            ranked.truncate(1);
        }
        let mut by_family: BTreeMap<Point, usize> = BTreeMap::new();
        let mut rounds: Vec<(usize, usize, usize)> = Vec::new();
        for (place, index) in ranked.into_iter().enumerate() {
            let round = by_family.entry(self.space.family(&self.open[index].at)).or_default();
            rounds.push((*round, place, index));
            *round += 1;
        }
        rounds.sort_unstable();
        let due: Vec<usize> = rounds.into_iter().take(left).map(|(.., index)| index).collect();
        self.live_and_note(due, Stage::Full)
    }

    fn live_and_note(&mut self, due: Vec<usize>, stage: Stage) -> Result<(), Problem> {
        let wanted = due.into_iter().map(|index| Wanted { index, stage, seed: 0, corner: None }).collect();
        for (Wanted { index, .. }, life) in self.live(wanted)? {
            let values = life.as_ref().map(|life| self.values_of(index, life));
            let looked = &mut self.looked[index];
            match values {
                None => looked.level = Level::None,
                Some(values) if stage == Stage::Wear => (looked.level, looked.values) = (Level::Wear, values),
                Some(values) => {
                    (looked.level, looked.values) = (Level::Full, values);
                    looked.lives.push((0, values));
                }
            }
            looked.life = life;
        }
        Ok(())
    }

    /// Figures of a life; capacity and PLP are by formula.
    fn values_of(&self, index: usize, life: &SchemeLife) -> Values {
        let rated = self.rated(index);
        let bound = &self.open[index].bound;
        let mut values = measured(life, self.needs, rated, &self.settings.rates, bound.survives);
        for need in [Need::Capacity, Need::Plp] {
            bound.values.get(need).into_iter().for_each(|value| values.set(need, value));
        }
        values
    }

    /// P/E cycles that the flash of a design is rated for.
    fn rated(&self, index: usize) -> f64 {
        f64::from(self.space.rated(&self.open[index].at))
    }

    /// The best designs under further seeds. One that misses a hard need more than [`MISSES`] times is out, and so is one that another with no
    /// more raw flash is better than in p99 and cycles under every seed.
    pub fn race(&mut self) -> Result<(), Problem> {
        let meets = |&index: &usize| self.looked[index].level >= Level::Full && self.needs.are_met(&self.looked[index].values);
        let mut racers = self.ranked((0..self.open.len()).filter(meets));
        racers.truncate(RACERS);
        for seed in 1..u64::from(self.budget.seeds) {
            if racers.is_empty() || self.allotted(SHARES[3]) < racers.len() || self.is_late {
                return Ok(());
            }
            let wanted = racers.iter().map(|&index| Wanted { index, stage: Stage::Race, seed, corner: None }).collect();
            for (wanted, life) in self.live(wanted)? {
                if let Some(life) = life {
                    let values = self.values_of(wanted.index, &life);
                    self.looked[wanted.index].lives.push((seed, values));
                }
            }
            let still: Vec<usize> = racers.iter().copied().filter(|&one| !self.is_beaten(one, &racers)).collect();
            racers = still;
        }
        Ok(())
    }

    fn is_beaten(&self, one: usize, racers: &[usize]) -> bool {
        let lives = &self.looked[one].lives;
        if lives.iter().filter(|(_, values)| !self.needs.are_met(values)).count() > MISSES {
            return true;
        }
        let is_worse = |other: &usize| {
            let others = &self.looked[*other].lives;
            let dearer = self.open[one].bound.raw_by_user >= self.open[*other].bound.raw_by_user;
            let worse = |need: Need| {
                let of_seed = |seed| others.iter().find(|(other, _)| *other == seed).map(|(_, values)| values);
                let pairs = lives.iter().filter_map(|(seed, values)| Some((values, of_seed(*seed)?)));
                pairs.into_iter().all(|(a, b)| a.get(need).zip(b.get(need)).is_none_or(|(a, b)| a > b))
            };
            let meets = others.iter().all(|(_, values)| self.needs.are_met(values));
            *other != one && dearer && meets && lives.len() >= 3 && worse(Need::ReadP99) && worse(Need::Pe)
        };
        racers.iter().any(is_worse)
    }

    /// Designs that lived in full, best first: those that meet their needs under most seeds, then by rank.
    pub fn finalists(&self) -> Vec<usize> {
        let full = self.ranked((0..self.open.len()).filter(|&index| self.looked[index].level >= Level::Full));
        let mut ranked: Vec<(bool, usize, usize)> = full
            .into_iter()
            .enumerate()
            .map(|(place, index)| {
                let lives = &self.looked[index].lives;
                let misses = lives.iter().filter(|(_, values)| !self.needs.are_met(values)).count();
                (misses * 2 > lives.len(), place, index)
            })
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., index)| index).collect()
    }

    /// Corners of the model for these designs: values, in the order of corners.
    pub fn corners(&mut self, of: &[usize]) -> Result<(), Problem> {
        let all: Vec<Wanted> = Corner::ALL
            .into_iter()
            .flat_map(|corner| of.iter().map(move |&index| Wanted { index, stage: Stage::Corner, seed: 0, corner: Some(corner) }))
            .collect();
        let left = self.allotted(1.0);
        for (wanted, life) in self.live(all.into_iter().take(left).collect())? {
            let (Some(life), Some(corner)) = (life, wanted.corner) else { continue };
            let values = self.values_in(wanted.index, &life, corner);
            self.looked[wanted.index].corners.push((corner, values));
        }
        Ok(())
    }

    /// Values in a corner. Latency, capacity, PLP and dies are those of the life in full.
    fn values_in(&self, index: usize, life: &SchemeLife, corner: Corner) -> Values {
        let rated = self.rated(index);
        let rates = corner.settings(self.settings).rates;
        let mut values = measured(life, self.needs, rated, &rates, self.open[index].bound.survives);
        for need in [Need::Capacity, Need::Plp].into_iter().chain(Need::OF_TIME) {
            self.looked[index].values.get(need).into_iter().for_each(|value| values.set(need, value));
        }
        values
    }

    /// Lives that may still be lived by the end of a step that ends at this share of the budget.
    fn allotted(&self, share: f64) -> usize {
        if self.is_late {
            return 0;
        }
        ((f64::from(self.budget.lives) * share) as u32).saturating_sub(self.lives) as usize
    }

    /// Lives them. One that turns out to be impossible, or for which there is no time left, is `None`.
    fn live(&mut self, wanted: Vec<Wanted>) -> Result<Vec<(Wanted, Option<SchemeLife>)>, Problem> {
        let (total, done) = (wanted.len(), AtomicUsize::new(0));
        self.lives += total as u32;
        let stage = wanted.first().map_or(Stage::New, |wanted| wanted.stage);
        let (hear, bench) = (self.hear, self.bench);
        let deadline = self.budget.minutes.map(|minutes| minutes * 60.0);
        hear(Heard { stage, done: 0, total, lives: self.lives - total as u32 });
        let each = |wanted: Wanted| {
            if deadline.is_some_and(|deadline| (bench.clock)() > deadline) {
                return Ok((wanted, None, true));
            }
            let lived = self.one(&wanted)?;
            let done = done.fetch_add(1, Relaxed) + 1;
            hear(Heard { stage, done, total, lives: self.lives - (total - done) as u32 });
            Ok((wanted, Some(lived), false))
        };
        let found = in_parallel(bench.threads, wanted, each)?;
        let mut lives = Vec::new();
        for (wanted, lived, is_late) in found {
            self.is_late |= is_late;
            self.lives -= u32::from(is_late);
            // A life for which there is no time left says nothing of its design.
            if is_late {
                continue;
            }
            let life = match lived {
                None => None,
                Some(Ok(life)) => {
                    self.mismatches += life.verified.mismatches;
                    Some(life)
                }
                Some(Err(problem)) => {
                    let at = &self.open[wanted.index].at;
                    if self.out.iter().all(|out| out.at != *at) {
                        self.out.push(Out { at: at.clone(), need: None, reason: problem.message });
                    }
                    None
                }
            };
            lives.push((wanted, life));
        }
        Ok(lives)
    }

    /// A life; the inner problem says why there is none of this design, the outer one is of the directory of lives.
    fn one(&self, wanted: &Wanted) -> Result<Result<SchemeLife, Problem>, Problem> {
        let (experiment, settings) = match self.asked(wanted) {
            Ok(asked) => asked,
            Err(problem) => return Ok(Err(problem)),
        };
        let key = question(&experiment, self.formulas.workload.facts().digest, &settings);
        if let Some(known) = self.into.map_or(Ok(None), |kept| kept.find(key))? {
            return Ok(Ok(known));
        }
        let quiet = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        let mut found = match life(&experiment, &settings, &quiet, &|_, _, _| {}) {
            Ok(found) => found,
            Err(problem) => return Ok(Err(problem)),
        };
        let life = found.schemes.remove(0);
        self.into.map_or(Ok(()), |kept| kept.keep(key, &life, &found.clock))?;
        Ok(Ok(life))
    }

    /// Experiment and settings of a life.
    fn asked(&self, wanted: &Wanted) -> Result<(Experiment, LifeSettings), Problem> {
        let at = &self.open[wanted.index].at;
        let mut experiment = self.space.experiment(at)?;
        experiment.seed += wanted.seed;
        experiment.trace.arrival = self.arrival;
        let base = wanted.corner.map_or_else(|| self.settings.clone(), |corner| corner.settings(self.settings));
        Ok((experiment, life_settings(self.space, self.needs, &self.budget, at, wanted.stage, base)))
    }
}

/// Settings of a life in a step.
pub(super) fn life_settings(
    space: &Space,
    needs: &Needs,
    budget: &Budget,
    at: &Point,
    stage: Stage,
    base: LifeSettings,
) -> LifeSettings {
    let is_hard = |need: Need| needs.limit(need).is_some_and(|limit| limit.is_hard);
    let ends = is_hard(Need::Uber) && is_hard(Need::Retention) && stage != Stage::New && stage != Stage::Corner;
    let uber = if ends { needs.class.uber } else { ANY_UBER };
    let is_full = matches!(stage, Stage::Full | Stage::Race);
    let epochs = if is_full { base.epochs } else { budget.epochs.min(base.epochs) };
    LifeSettings {
        dwpd: needs.dwpd,
        years: Some(if stage == Stage::New { NEW } else { needs.years }),
        epochs: if stage == Stage::New { 1 } else { epochs },
        timed: if is_full { base.timed } else { 0 },
        refresh_days: space.refresh_days(at),
        scrub_days: space.scrub_days(at),
        class: Class { uber, ..needs.class },
        read_p99_us: None,
        ..base
    }
}
