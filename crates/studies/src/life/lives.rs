//! All lives that are asked for, on all threads: each scheme under each seed and, for the tornado, with each change of a parameter.

use super::drive::{self, Lived};
use super::kept::{self, Kept};
use super::seeds::SeedLives;
use super::settings::check;
use super::tornado::{self, Change, Outcome, Swing};
use super::{End, HearLife, Life, LifeSettings, SchemeLife, Verified};
use common::{Problem, in_parallel};
use experiment::{Experiment, Workload, seed_of, workload};
use lab::Clock;
use lab::seeds::experiment_of;
use lab::{Bench, Observe, Runs};
use ssd::PayloadKind;
use std::collections::BTreeSet;

/// A life to be lived.
struct Piece {
    /// Its place among the pieces.
    number: usize,
    /// From 0 on.
    repetition: usize,
    scheme: usize,
    change: Option<Change>,
    /// Hash of all that it depends on.
    key: u64,
    /// The drive, where it is ready.
    new: Option<drive::New>,
}

/// A piece that ran: where it belongs, and the life; `None` where it was not begun before the lives were stopped.
struct Ran {
    number: usize,
    repetition: usize,
    scheme: usize,
    change: Option<Change>,
    life: Option<SchemeLife>,
}

/// How many lives [`life`] simulates.
#[must_use]
pub fn lives(experiment: &Experiment, settings: &LifeSettings) -> usize {
    let changes = if settings.tornado { tornado::changes(settings, experiment).len() } else { 0 };
    experiment.schemes.len() * (experiment.seeds as usize + changes)
}

/// Simulates the lives of a drive under all schemes of an experiment, under each of its seeds.
///
/// # Errors
/// Bad input: as [`lab::compare`]; an experiment with faults, or with an age, as lives have their own; a workload without writes.
pub fn life(experiment: &Experiment, settings: &LifeSettings, bench: &Bench<'_>, hear: HearLife<'_>) -> Result<Life, Problem> {
    life_until(experiment, settings, bench, hear, &|| false, None)
}

/// As [`life`], until `is_asked` to stop: lives that have begun end where they are, and the others are left out. With `into`, whole lives are
/// kept there, and those that are there are not lived again.
///
/// # Errors
/// As [`life`]; a file of `into` that is no part, or is damaged, or cannot be written.
pub fn life_until(
    experiment: &Experiment,
    settings: &LifeSettings,
    bench: &Bench<'_>,
    hear: HearLife<'_>,
    is_asked: &(dyn Fn() -> bool + Sync),
    into: Option<&Kept>,
) -> Result<Life, Problem> {
    let mut experiment = experiment.clone();
    check(&experiment, settings)?;
    experiment.payload = PayloadKind::Tag;
    settings.vary(&mut experiment);
    let workload = Workload::open(&experiment, &|_| {})?;
    check_workload(&workload, settings)?;
    workload.check_space(&experiment)?;
    let plan = experiment::plan(&experiment, workload.touched())?;
    let map = workload.map(&experiment, plan.user_slots)?;
    let observe = Observe::Nothing;
    let runs =
        Runs { experiment: &experiment, bench, drives: None, observe, workload: &workload, plan: &plan, map: &map, before: 0 };
    let question = kept::question(&experiment, workload.facts().digest, settings);
    let all = All { runs: &runs, settings, hear, is_asked, into };
    let (clock, mut ran) = all.lived(pieces(&experiment, settings, question))?;
    ran.sort_by_key(|ran| ran.number);
    let slot = experiment.drive.geometry.slot_size.0;
    let notes = super::notes(&experiment, settings, &workload, plan.user_slots);
    let mut verified = Verified::default();
    ran.iter().filter_map(|ran| ran.life.as_ref()).for_each(|life| verified.add(&life.verified));
    let (schemes, seeds, swings) = gathered(&experiment, settings, ran);
    Ok(Life {
        settings: settings.clone(),
        workload: workload.facts().name.clone(),
        user_bytes: u64::from(plan.user_slots) * slot,
        clock,
        notes,
        schemes,
        seeds,
        swings,
        verified,
        experiment,
    })
}

fn check_workload(workload: &Workload, settings: &LifeSettings) -> Result<(), Problem> {
    if workload.facts().written_bytes == 0 {
        return Err(Problem::new("life", "the workload writes nothing; a life is measured in writes"));
    }
    if settings.read_p99_us.is_some() && workload.facts().reads == 0 {
        let text = "the workload reads nothing; valid is one with reads, such as generate.read_fraction=0.5";
        return Err(Problem::new("--read-p99", text));
    }
    Ok(())
}

/// The first seed first, as its results are shown most; then changes, which belong to it; then the other seeds.
fn pieces(experiment: &Experiment, settings: &LifeSettings, question: u64) -> Vec<Piece> {
    let schemes = experiment.schemes.len();
    let changes = if settings.tornado { tornado::changes(settings, experiment) } else { Vec::new() };
    let first = (0..schemes).map(|scheme| (0, scheme, None));
    let changed = changes.into_iter().flat_map(|change| (0..schemes).map(move |scheme| (0, scheme, Some(change))));
    let later = (1..experiment.seeds as usize).flat_map(|seed| (0..schemes).map(move |scheme| (seed, scheme, None)));
    let piece = |(number, (repetition, scheme, change)): (usize, (usize, usize, Option<Change>))| {
        let key = kept::key(question, scheme, repetition, change.as_ref());
        Piece { number, repetition, scheme, change, key, new: None }
    };
    first.chain(changed).chain(later).enumerate().map(piece).collect()
}

/// Settings and drives that all lives share.
struct All<'a> {
    runs: &'a Runs<'a>,
    settings: &'a LifeSettings,
    hear: HearLife<'a>,
    is_asked: &'a (dyn Fn() -> bool + Sync),
    into: Option<&'a Kept>,
}

impl All<'_> {
    /// All pieces, in any order, and the clock of timed runs in words. Drives are built only where a life is missing.
    fn lived(&self, mut pieces: Vec<Piece>) -> Result<(String, Vec<Ran>), Problem> {
        let threads = self.runs.bench.threads;
        let keys: BTreeSet<u64> = pieces.iter().map(|piece| piece.key).collect();
        if let Some(kept) = self.into.filter(|_| !keys.is_empty())
            && kept.has_all(&keys)?
        {
            let known = pieces.iter().map(|piece| self.known(piece));
            let known: Vec<Ran> = known.collect::<Result<Vec<_>, Problem>>()?.into_iter().flatten().collect();
            return Ok((kept.clock(pieces[0].key)?, known));
        }
        let indices: Vec<usize> = (0..self.runs.experiment.schemes.len()).collect();
        let new = in_parallel(threads, indices, |index| drive::New::build(self.runs, index))?;
        let clock = drive::clock(self.runs, &new)?;
        pieces.iter_mut().zip(new).for_each(|(piece, new)| piece.new = Some(new));
        self.into.inspect(|kept| kept.turn(&mut pieces));
        let ran = in_parallel(threads, pieces, |piece| self.run(piece, &clock))?;
        if ran.iter().all(|ran| ran.life.as_ref().is_some_and(|life| life.end != End::Stopped)) {
            self.into.map_or(Ok(()), |kept| kept.tidy(&keys))?;
        }
        Ok((clock.said, ran))
    }

    /// A piece that was kept.
    fn known(&self, piece: &Piece) -> Result<Option<Ran>, Problem> {
        let Some(life) = self.into.map_or(Ok(None), |kept| kept.find(piece.key))? else { return Ok(None) };
        (self.hear)(piece.number, life.last().years, 1.0);
        let &Piece { number, repetition, scheme, change, .. } = piece;
        Ok(Some(Ran { number, repetition, scheme, change, life: Some(life) }))
    }

    fn run(&self, piece: Piece, clock: &Clock) -> Result<Ran, Problem> {
        if let Some(ran) = self.known(&piece)? {
            return Ok(ran);
        }
        let Piece { number, repetition, scheme, change, key, new } = piece;
        if (self.is_asked)() && new.is_none() {
            return Ok(Ran { number, repetition, scheme, change, life: None });
        }
        let runs = self.runs;
        let (mut settings, mut experiment) = (self.settings.clone(), runs.experiment.clone());
        if let Some(change) = &change {
            (settings, experiment) = change.applied(&settings, &experiment);
        }
        if repetition > 0 {
            experiment = experiment_of(&experiment, repetition, clock, runs.workload.duration_s());
            settings.timed = 0;
        }
        let drawn =
            (repetition > 0 && workload::is_drawn(&experiment)).then(|| Workload::open(&experiment, &|_| {})).transpose()?;
        let workload = drawn.as_ref().unwrap_or(runs.workload);
        let map = workload.map(&experiment, runs.plan.user_slots)?;
        let runs = Runs { experiment: &experiment, workload, map: &map, ..*runs };
        let named = |problem: Problem| match repetition {
            0 => problem,
            _ => Problem { message: format!("with seed {}: {}", experiment.seed, problem.message), ..problem },
        };
        let new = new.map_or_else(|| drive::New::build(&runs, scheme), Ok).map_err(named)?;
        let hear = |years, share| (self.hear)(number, years, share);
        let calendar = settings.calendar();
        let lived = Lived { runs: &runs, settings: &settings, calendar: &calendar, clock, hear: &hear, is_asked: self.is_asked };
        let life = drive::life(&lived, scheme, new).map_err(named)?;
        self.into.map_or(Ok(()), |kept| kept.keep(key, &life, &clock.said))?;
        Ok(Ran { number, repetition, scheme, change, life: Some(life) })
    }
}

/// Lives of the first seed, those of the others, and swings.
type Gathered = (Vec<SchemeLife>, Vec<SeedLives>, Vec<Swing>);

/// Lives of further seeds and changes that were stopped are left out: what they would have come to is not known.
fn gathered(experiment: &Experiment, settings: &LifeSettings, ran: Vec<Ran>) -> Gathered {
    let mut schemes = Vec::new();
    let mut seeds: Vec<SeedLives> = Vec::new();
    let mut changed = Vec::new();
    for Ran { repetition, scheme, change, life, .. } in ran {
        let Some(life) = life else { continue };
        match (repetition, change) {
            (0, None) => schemes.push(life),
            _ if life.end == End::Stopped => {}
            (0, Some(change)) => changed.push((scheme, change, life)),
            _ => {
                let seed = seed_of(experiment.seed, repetition).expect("the range of seeds was checked");
                match seeds.iter_mut().find(|one| one.seed == seed) {
                    Some(one) => one.schemes.push(life),
                    None => seeds.push(SeedLives { seed, schemes: vec![life] }),
                }
            }
        }
    }
    seeds.retain(|one| one.schemes.len() == schemes.len());
    let swings = swings(experiment, settings, &schemes, &changed);
    (schemes, seeds, swings)
}

/// Parameters with both their ends, of each scheme; the widest in loss first.
fn swings(
    experiment: &Experiment,
    settings: &LifeSettings,
    schemes: &[SchemeLife],
    changed: &[(usize, Change, SchemeLife)],
) -> Vec<Swing> {
    if !settings.tornado {
        return Vec::new();
    }
    let years = settings.told_years();
    let mut swings = Vec::new();
    for (scheme, life) in schemes.iter().enumerate().filter(|(_, life)| life.end != End::Stopped) {
        let of_scheme = |(parameter, usual): (tornado::Parameter, f64)| {
            let end = |end: usize| {
                if parameter.ends[end] == usual {
                    return Some(Outcome::of(life, years));
                }
                let is_it = |(of, change, _): &&(usize, Change, SchemeLife)| {
                    *of == scheme && change.parameter == parameter && change.end == end
                };
                changed.iter().find(is_it).map(|(_, _, life)| Outcome::of(life, years))
            };
            Some(Swing { scheme, parameter, usual, ends: [end(0)?, end(1)?] })
        };
        let mut own: Vec<Swing> = tornado::varied(settings, experiment).into_iter().filter_map(of_scheme).collect();
        own.sort_by(|one, other| {
            let (one, other) = (one.width(), other.width());
            other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
        });
        swings.extend(own);
    }
    swings
}
