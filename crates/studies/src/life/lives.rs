//! All lives that are asked for, on all threads: each scheme under each seed and, for the tornado, with each change of a parameter.

use super::drive::{self, Lived};
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

/// A life to be lived.
struct Piece {
    /// Its place among the pieces.
    number: usize,
    /// From 0 on.
    repetition: usize,
    scheme: usize,
    change: Option<Change>,
    /// The drive, where it is ready.
    new: Option<drive::New>,
}

/// A piece that ran: where it belongs, and the life; `None` where it was not begun before the lives were stopped.
struct Ran {
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
    life_until(experiment, settings, bench, hear, &|| false)
}

/// As [`life`], until `is_asked` to stop: lives that have begun end where they are, and the others are left out.
///
/// # Errors
/// As [`life`].
pub fn life_until(
    experiment: &Experiment,
    settings: &LifeSettings,
    bench: &Bench<'_>,
    hear: HearLife<'_>,
    is_asked: &(dyn Fn() -> bool + Sync),
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
    let indices: Vec<usize> = (0..experiment.schemes.len()).collect();
    let new = in_parallel(bench.threads, indices, |index| drive::New::build(&runs, index))?;
    let clock = drive::clock(&runs, &new)?;
    let all = All { runs: &runs, settings, clock: &clock, hear, is_asked };
    let ran = in_parallel(bench.threads, pieces(&experiment, settings, new), |piece| all.run(piece))?;
    let slot = experiment.drive.geometry.slot_size.0;
    let notes = super::notes(&experiment, settings, &workload, plan.user_slots);
    let mut verified = Verified::default();
    ran.iter().filter_map(|ran| ran.life.as_ref()).for_each(|life| verified.add(&life.verified));
    let (schemes, seeds, swings) = gathered(&experiment, settings, ran);
    Ok(Life {
        settings: settings.clone(),
        workload: workload.facts().name.clone(),
        user_bytes: u64::from(plan.user_slots) * slot,
        clock: clock.said.clone(),
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
fn pieces(experiment: &Experiment, settings: &LifeSettings, new: Vec<drive::New>) -> Vec<Piece> {
    let schemes = new.len();
    let changes = if settings.tornado { tornado::changes(settings, experiment) } else { Vec::new() };
    let first = new.into_iter().enumerate().map(|(scheme, new)| (0, scheme, None, Some(new)));
    let changed = changes.into_iter().flat_map(|change| (0..schemes).map(move |scheme| (0, scheme, Some(change), None)));
    let later = (1..experiment.seeds as usize).flat_map(|seed| (0..schemes).map(move |scheme| (seed, scheme, None, None)));
    let all = first.chain(changed).chain(later).enumerate();
    all.map(|(number, (repetition, scheme, change, new))| Piece { number, repetition, scheme, change, new }).collect()
}

/// Settings and drives that all lives share.
struct All<'a> {
    runs: &'a Runs<'a>,
    settings: &'a LifeSettings,
    clock: &'a Clock,
    hear: HearLife<'a>,
    is_asked: &'a (dyn Fn() -> bool + Sync),
}

impl All<'_> {
    fn run(&self, piece: Piece) -> Result<Ran, Problem> {
        let Piece { number, repetition, scheme, change, new } = piece;
        if (self.is_asked)() && new.is_none() {
            return Ok(Ran { repetition, scheme, change, life: None });
        }
        let runs = self.runs;
        let (mut settings, mut experiment) = (self.settings.clone(), runs.experiment.clone());
        if let Some(change) = &change {
            (settings, experiment) = change.applied(&settings, &experiment);
        }
        if repetition > 0 {
            experiment = experiment_of(&experiment, repetition, self.clock, runs.workload.duration_s());
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
        let lived = Lived { runs: &runs, settings: &settings, clock: self.clock, hear: &hear, is_asked: self.is_asked };
        let life = drive::life(&lived, scheme, new).map_err(named)?;
        Ok(Ran { repetition, scheme, change, life: Some(life) })
    }
}

/// Lives of the first seed, those of the others, and swings.
type Gathered = (Vec<SchemeLife>, Vec<SeedLives>, Vec<Swing>);

/// Lives of further seeds and changes that were stopped are left out: what they would have come to is not known.
fn gathered(experiment: &Experiment, settings: &LifeSettings, ran: Vec<Ran>) -> Gathered {
    let mut schemes = Vec::new();
    let mut seeds: Vec<SeedLives> = Vec::new();
    let mut changed = Vec::new();
    for Ran { repetition, scheme, change, life } in ran {
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
