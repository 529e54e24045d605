//! Replays one workload over several schemes: equal capacity, history, seed and clock.

mod said;

use crate::clock::{Clock, clock, needs_demand};
use crate::comparison::Comparison;
use crate::flows;
use crate::flows::Playing;
use crate::forks::Drives;
use crate::outcome::FlowOutcome;
use crate::outcome::Outcome;
use crate::request_log::RequestLog;
use crate::seeds;
use crate::series::{Recorded, aligned, drawn};
use crate::verdict::Verdict;
use crate::warm_up;
use common::{Problem, in_parallel};
use experiment::capacity::refused;
use experiment::{Arrival, Experiment, Plan, PlannedDrive, TraceFacts, Workload, plan, workload};
pub use said::buffer_words;
use said::{cautions, fairness, notes, touched_share};
use ssd::protect::SchemeChoice;
use ssd::{AnsweredRequest, Demand, HistoryProgress, RunResult, Session, Setup};
use std::sync::Arc;
use trace::AddressMap;

/// Resources of the caller: the results do not depend on it.
pub struct Bench<'a> {
    /// Runs, of schemes under seeds, at the same time.
    pub threads: usize,
    /// Wall-clock time in seconds from any fixed moment.
    pub clock: &'a (dyn Fn() -> f64 + Sync),
    /// Hears what goes on; called from several threads.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// Step of the work in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The workload is read for the first time; requests so far.
    Reading(u64),
    /// The drive of a run (by index: schemes in their order, under the first seed, then under the second and so on) is being
    /// preconditioned and aged.
    Preparing {
        /// Index of the run.
        run: usize,
        /// How far its write history has come.
        history: HistoryProgress,
    },
    /// A run goes on.
    Running {
        /// Index of the run.
        run: usize,
        /// Requests answered.
        done: u64,
        /// Requests in all.
        total: u64,
    },
    /// A run is done.
    Finished(usize),
}

/// Runs an experiment.
///
/// # Errors
/// Bad input: a trace that cannot be read, a scheme that cannot work on the drive.
pub fn compare(experiment: &Experiment, bench: &Bench<'_>) -> Result<Comparison, Problem> {
    compare_logged(experiment, bench, None)
}

/// As [`compare`], with every request in a log, if there is one.
///
/// # Errors
/// As [`compare`], and a log that cannot be written.
pub fn compare_logged(experiment: &Experiment, bench: &Bench<'_>, log: Option<&RequestLog>) -> Result<Comparison, Problem> {
    compare_on(experiment, bench, None, Observe::Waits { log })
}

/// Records of a run beside its result; nothing of it changes the result.
#[derive(Clone, Copy, Debug)]
pub enum Observe<'a> {
    /// Nothing.
    Nothing,
    /// Where the time of latencies went, what happened when, and every request where there is a log.
    Waits {
        /// The log.
        log: Option<&'a RequestLog>,
    },
}

/// As [`compare`], on forks of drives that other runs use, too.
///
/// # Errors
/// As [`compare`].
pub fn compare_on(
    experiment: &Experiment,
    bench: &Bench<'_>,
    drives: Option<&Drives>,
    observe: Observe<'_>,
) -> Result<Comparison, Problem> {
    let workload = Workload::open(experiment, &|done| (bench.progress)(Progress::Reading(done)))?;
    workload.check_space(experiment)?;
    let plan = plan(experiment, workload.touched())?;
    let map = workload.map(experiment, plan.user_slots)?;
    let runs = Runs { experiment, bench, drives, observe, workload: &workload, plan: &plan, map: &map, before: 0 };
    let prepared = runs.prepare_all()?;
    let clock = runs.clock(&prepared)?;
    let mut ran = runs.run_all(prepared, &clock)?.into_iter();
    let (outcomes, series): (Vec<Outcome>, Vec<_>) = ran.next().expect("there is a first repetition").1.into_iter().unzip();
    let first = Experiment { seeds: 1, ..experiment.clone() };
    let one = |experiment: Experiment, trace: TraceFacts, outcomes: Vec<Outcome>| {
        let mut cautions = cautions(&experiment, &workload, (&trace, plan.user_slots), &clock, &outcomes);
        cautions.extend(flows::ends_apart(&workload, &outcomes));
        Comparison {
            fairness: fairness(&experiment, &plan, &clock, &outcomes),
            notes: notes(&experiment, &workload, &plan, &outcomes),
            verdict: Verdict::of(&experiment, &outcomes, &cautions),
            cautions,
            experiment,
            trace,
            user_slots: plan.user_slots,
            touched_share: touched_share(&workload, &plan),
            outcomes,
            clock: clock.clone(),
            seeds: None,
            series: Vec::new(),
            drawn: Vec::new(),
        }
    };
    let first = one(first, workload.facts().clone(), outcomes);
    let series: Vec<Recorded> = series.into_iter().flatten().collect();
    let drawn = if workload.flows().len() > 1 { drawn(&series) } else { Vec::new() };
    let mut repetitions = vec![Comparison { series: aligned(series), drawn, ..first }];
    for (trace, outcomes) in ran {
        let outcomes = outcomes.into_iter().map(|(outcome, _)| outcome).collect();
        let own = seeds::experiment_of(experiment, repetitions.len(), &clock, workload.duration_s());
        repetitions.push(one(own, trace, outcomes));
    }
    match repetitions.len() {
        1 => Ok(repetitions.remove(0)),
        _ => Ok(seeds::over(experiment, repetitions)),
    }
}

/// Result of a run, and its time series, where they were recorded.
type Observed = (Outcome, Option<Recorded>);

/// Everything the threads share.
pub struct Runs<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Resources of the caller.
    pub bench: &'a Bench<'a>,
    /// Drives that other runs use, too.
    pub drives: Option<&'a Drives>,
    /// Records beside the results.
    pub observe: Observe<'a>,
    /// The workload.
    pub workload: &'a Workload,
    /// The drive of each scheme.
    pub plan: &'a Plan,
    /// Addresses of the workload on the drives.
    pub map: &'a AddressMap,
    /// Runs of earlier repetitions.
    pub before: usize,
}

/// A run to be done: of the first repetition, its drive being ready, or of a later one.
enum Piece {
    First(usize, Box<Prepared>),
    Later { repetition: usize, scheme: usize },
}

/// A scheme's drive, ready for the workload.
struct Prepared {
    ecc_policy: String,
    /// As the experiment names it.
    label: String,
    choice: SchemeChoice,
    planned: PlannedDrive,
    session: Box<Session>,
    /// Load of the workload on the drive, where the clock depends on that.
    demand: Option<Demand>,
    wall_s: f64,
}

impl Runs<'_> {
    fn setup(&self, drive: &ssd::Drive, scheme: SchemeChoice, ecc: ssd::Ecc) -> Setup {
        let experiment = self.experiment;
        Setup {
            drive: drive.clone(),
            user_slots: self.plan.user_slots,
            scheme,
            gc: experiment.gc.clone(),
            wear: experiment.wear,
            buffer: experiment.buffer.on(drive),
            scheduler: experiment.scheduler,
            precondition: experiment.precondition,
            age: experiment.age,
            faults: experiment.faults,
            ecc,
            errors: experiment.errors.clone(),
            refresh: experiment.refresh,
            power: ssd::Power::default(),
            payload: experiment.payload,
            seed: experiment.seed,
        }
    }

    /// Whether the clock depends on what the workload demands of the drives.
    #[must_use]
    pub fn needs_demand(&self) -> bool {
        needs_demand(self.experiment.trace.arrival, self.workload.duration_s()) && !self.workload.has_queue()
    }

    /// Demand of the workload on a drive.
    ///
    /// # Errors
    /// A trace that cannot be read again.
    pub fn demand(&self, session: &Session) -> Result<Demand, Problem> {
        let mut commands = self.workload.commands(self.map, 1.0)?;
        let demand = session.demand(&mut commands);
        commands.finish()?;
        Ok(demand)
    }

    /// Builds, preconditions and ages every scheme's drive.
    fn prepare_all(&self) -> Result<Vec<Prepared>, Problem> {
        let mut left: Vec<usize> = (0..self.experiment.schemes.len()).collect();
        let Some(drives) = self.drives else {
            return in_parallel(self.bench.threads, left, |index| self.prepare(index));
        };
        let mut prepared: Vec<_> = left.iter().map(|_| None).collect();
        while !left.is_empty() {
            // Drives that another run is preparing come last.
            let is_free = |&index: &usize| !drives.is_being_prepared(&self.setup_of(index));
            let index = left.remove(left.iter().position(is_free).unwrap_or(0));
            prepared[index] = Some(self.prepare(index));
        }
        prepared.into_iter().map(|prepared| prepared.expect("each was prepared")).collect()
    }

    /// The setup of a scheme of the experiment.
    #[must_use]
    pub fn setup_of(&self, index: usize) -> Setup {
        let label = &self.experiment.schemes[index];
        self.setup(&self.plan.drives[index].drive, self.experiment.choice(label), self.experiment.ecc_setup(label))
    }

    /// A drive before its first request, [written](Self::written) and aged.
    fn session(&self, label: &str, setup: &Setup, hear: &mut dyn FnMut(HistoryProgress)) -> Result<Box<Session>, Problem> {
        let mut session = self.written(label, setup, hear)?;
        session.age().map_err(|error| refused(label, &error))?;
        Ok(session)
    }

    /// A drive with the history of its preconditioning and of the workload, which is new; `label` is its scheme as the experiment names it.
    ///
    /// # Errors
    /// A scheme that cannot work on the drive, and a trace that cannot be read again.
    pub fn written(&self, label: &str, setup: &Setup, hear: &mut dyn FnMut(HistoryProgress)) -> Result<Box<Session>, Problem> {
        let session = match self.drives {
            Some(drives) => drives.drive(setup, hear),
            None => Session::written(setup, hear).map(Arc::new),
        };
        let hint = |problem: Problem| match self.experiment.age.bad_blocks > 0.0 && problem.message.contains("bad blocks") {
            true => Problem {
                field: "capacity.over_provisioning".into(),
                message: format!(
                    "{}. Valid: a larger capacity.over_provisioning (now {}), a smaller capacity.size, or fewer age.bad_blocks",
                    problem.message, self.experiment.capacity.over_provisioning
                ),
                ..problem
            },
            false => problem,
        };
        let refused = |error: ssd::SetupError| hint(refused(label, &error));
        let mut session = Box::new(Arc::unwrap_or_clone(session.map_err(refused)?));
        if let Some(planned) = warm_up::planned(self.experiment, self.workload, self.map)? {
            let mut commands = planned.commands()?;
            session.warm_up(&mut commands, planned.until, planned.depth, hear);
            commands.finish()?;
        }
        Ok(session)
    }

    fn prepare(&self, index: usize) -> Result<Prepared, Problem> {
        let (bench, planned) = (self.bench, &self.plan.drives[index]);
        let label = experiment::label::shown(&self.experiment.schemes[index]).to_owned();
        let setup = self.setup_of(index);
        let (choice, ecc_policy) = (setup.scheme.clone(), setup.ecc.policy.clone());
        let mut hear = |history| (bench.progress)(Progress::Preparing { run: self.before + index, history });
        hear(HistoryProgress::default());
        let started = (bench.clock)();
        let session = self.session(&label, &setup, &mut hear)?;
        let demand = if self.needs_demand() { Some(self.demand(&session)?) } else { None };
        let wall_s = (bench.clock)() - started;
        Ok(Prepared { planned: planned.clone(), label, ecc_policy, choice, session, demand, wall_s })
    }

    /// One clock for all: from what the workload asks of `none` and of each compared scheme.
    fn clock(&self, prepared: &[Prepared]) -> Result<Clock, Problem> {
        crate::clock::check(self.experiment.trace.arrival, self.workload)?;
        let none = prepared.iter().find(|p| p.label == "none").map(|p| p.demand);
        let none = match none {
            Some(demand) => demand,
            None if self.needs_demand() => {
                let choice = SchemeChoice::named("none");
                let mut setup = self.setup(&self.plan.reference, choice, self.experiment.ecc_setup("none"));
                // Without redundancy nothing is rebuilt on a spare die.
                setup.faults.replace_after = None;
                Some(self.demand(&*self.session("none", &setup, &mut |_| {})?)?)
            }
            None => None,
        };
        let demands: Vec<_> = prepared.iter().filter_map(|p| Some((p.label.clone(), p.demand?))).collect();
        let arrival = self.experiment.trace.arrival;
        let one = clock(arrival, (self.workload.duration_s(), self.workload.depth()), none, &demands);
        let one = match arrival {
            Arrival::Load(share) => self.at_load(prepared, one, share)?,
            _ => one,
        };
        Ok(crate::clock::of_flows(self.workload, arrival, one))
    }

    /// The clock under which the busiest scheme has this load.
    fn at_load(&self, prepared: &[Prepared], estimate: Clock, share: f64) -> Result<Clock, Problem> {
        let least_s = |p: &Prepared| p.demand.map_or(0.0, |demand| demand.least_s());
        let Some(index) = (0..prepared.len()).max_by(|&a, &b| least_s(&prepared[a]).total_cmp(&least_s(&prepared[b]))) else {
            return Ok(estimate);
        };
        let busiest = &prepared[index];
        crate::clock::at_load(estimate, share, &busiest.label, &mut |clock| {
            let clock = crate::clock::of_flows(self.workload, self.experiment.trace.arrival, clock.clone());
            let flash = self.replay(index, &mut busiest.session.clone(), &clock, None)?.flash;
            Ok(flash.die_utilisation.max(flash.channel_utilisation))
        })
    }

    /// Runs every scheme under every seed; for each seed the facts of its workload and results in the experiment's order.
    fn run_all(&self, prepared: Vec<Prepared>, clock: &Clock) -> Result<Vec<(TraceFacts, Vec<Observed>)>, Problem> {
        let (schemes, seeds) = (prepared.len(), self.experiment.seeds as usize);
        let mut indexed: Vec<_> = prepared.into_iter().enumerate().collect();
        // The run that took longest to prepare is likely to run longest: begun first, it is not waited for alone at the
        // end.
        indexed.sort_by(|(_, one), (_, other)| other.wall_s.total_cmp(&one.wall_s));
        let order: Vec<usize> = indexed.iter().map(|(index, _)| *index).collect();
        let later = (1..seeds).flat_map(|repetition| order.iter().map(move |&scheme| Piece::Later { repetition, scheme }));
        let pieces = indexed.into_iter().map(|(index, prepared)| Piece::First(index, Box::new(prepared))).chain(later).collect();
        let run = |piece| match piece {
            Piece::First(index, prepared) => Ok((0, index, self.workload.facts().clone(), self.run(index, *prepared, clock)?)),
            Piece::Later { repetition, scheme } => self.run_later(repetition, scheme, clock),
        };
        let mut ran = in_parallel(self.bench.threads, pieces, run)?;
        ran.sort_by_key(|(repetition, scheme, ..)| (*repetition, *scheme));
        let mut by_seed: Vec<(TraceFacts, Vec<Observed>)> = Vec::with_capacity(seeds);
        for (_, scheme, facts, outcome) in ran {
            if scheme == 0 {
                by_seed.push((facts, Vec::with_capacity(schemes)));
            }
            by_seed.last_mut().expect("the first scheme comes first").1.push(outcome);
        }
        Ok(by_seed)
    }

    /// A run of a repetition but the first, from its drive on: only as many drives as there are threads take memory.
    fn run_later(
        &self,
        repetition: usize,
        scheme: usize,
        clock: &Clock,
    ) -> Result<(usize, usize, TraceFacts, Observed), Problem> {
        let experiment = seeds::experiment_of(self.experiment, repetition, clock, self.workload.duration_s());
        let drawn = workload::is_drawn(&experiment).then(|| Workload::open(&experiment, &|_| {})).transpose()?;
        let workload = drawn.as_ref().unwrap_or(self.workload);
        let map = workload.map(&experiment, self.plan.user_slots)?;
        let before = repetition * self.experiment.schemes.len();
        let runs = Runs { experiment: &experiment, workload, map: &map, before, ..*self };
        let named =
            |problem: Problem| Problem { message: format!("with seed {}: {}", experiment.seed, problem.message), ..problem };
        let prepared = runs.prepare(scheme).map_err(named)?;
        let outcome = runs.run(scheme, prepared, clock).map_err(named)?;
        Ok((repetition, scheme, workload.facts().clone(), outcome))
    }

    fn run(&self, index: usize, prepared: Prepared, clock: &Clock) -> Result<Observed, Problem> {
        let bench = self.bench;
        let mut session = prepared.session;
        let playing =
            Playing { workload: self.workload, map: self.map, arrival: self.experiment.trace.arrival, factor: clock.factor };
        let is_alone = self.experiment.alone && self.workload.flows().len() > 1;
        // Of repetitions under other seeds there is no series.
        let is_recorded = self.before == 0 && matches!(self.observe, Observe::Waits { .. });
        let alone = if is_alone { flows::played_alone(playing, &session, is_recorded)? } else { Vec::new() };
        let (alone, alone_series): (Vec<_>, Vec<_>) = alone.into_iter().unzip();
        let started = (bench.clock)();
        if is_recorded {
            session.begin_series();
        }
        let mut result = match self.observe {
            Observe::Nothing | Observe::Waits { log: None } => self.replay(index, &mut session, clock, None)?,
            Observe::Waits { log: Some(log) } => {
                let names = self.workload.flows().iter().map(|flow| flow.name.clone()).collect();
                let mut part = log.part((self.experiment.seed, index), &prepared.label, names)?;
                let mut hear = |answered: &[AnsweredRequest]| part.hear(answered);
                let result = self.replay(index, &mut session, clock, Some(&mut hear))?;
                part.close()?;
                result
            }
        };
        let finished = (bench.clock)();
        result.scheme.clone_from(&prepared.label);
        (bench.progress)(Progress::Finished(self.before + index));
        let outcome = Outcome {
            planned: prepared.planned,
            label: prepared.label,
            ecc_policy: prepared.ecc_policy,
            choice: prepared.choice,
            flows: FlowOutcome::all(self.workload.flows(), self.experiment, &result, alone),
            result,
            standing: session.standing(),
            prepare_wall_s: prepared.wall_s,
            wall_s: finished - started,
            peak_rss_mib: peak_rss_mib(),
        };
        let alone = alone_series.into_iter().flatten().collect();
        Ok((outcome, session.end_series().map(|run| Recorded { run, alone })))
    }

    /// The workload, by its one clock or by those of its flows.
    ///
    /// # Errors
    /// A trace that cannot be read again.
    pub fn replay(
        &self,
        index: usize,
        session: &mut Session,
        clock: &Clock,
        log: Option<ssd::RequestLog<'_>>,
    ) -> Result<RunResult, Problem> {
        let total = self.workload.requests();
        let run = self.before + index;
        let mut progress = |done: u64| (self.bench.progress)(Progress::Running { run, done: done.min(total), total });
        let is_explained = matches!(self.observe, Observe::Waits { .. });
        if !self.workload.flows().is_empty() {
            let arrival = self.experiment.trace.arrival;
            let playing = Playing { workload: self.workload, map: self.map, arrival, factor: clock.factor };
            return flows::played(playing, session, is_explained, &mut progress, log);
        }
        let mut commands = self.workload.commands(self.map, clock.factor)?;
        let result = match is_explained {
            false => session.run(&mut commands, clock.pace, &mut progress),
            true => session.run_explained(&mut commands, clock.pace, &mut progress, log),
        };
        commands.finish()?;
        Ok(result)
    }
}

/// Peak resident memory of this process; Linux only.
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
