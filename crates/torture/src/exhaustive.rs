//! Every event: a small workload is stopped before each of its events, in forks of the drive as it
//! then stands the power goes, and every command under way meets every one of its fates.
//!
//! Fates of one command are tried with the others ended and not begun, all commands meet each fate
//! alike, and of the other combinations there are as many as [`COMBINATIONS`]. Where an event
//! changes nothing that a cut would interrupt, commands all end, or are all not begun.

use crate::drive::{age, mountable};
use crate::plan::PARTIAL_AT_MOST;
use crate::promise::{Befalls, Losses, Promise, promise};
use crate::rule::Violation;
use crate::run::{cut, guarded, rest, verify};
use crate::scenario::{Fates, Round, Scenario, Stop, Strike, When, die_of, is_ended, is_not_begun};
use crate::shape::shaped;
use crate::workload::workload;
use crate::{FaultKind, Scope, text};
use common::in_parallel;
use common::table::{Row, aligned, grouped};
use ssd::ecc::{CodeKind, ECC_POLICIES};
use ssd::protect::{SchemeChoice, registry};
use ssd::{
    Age, Begun, Buffer, Ecc, Errors, Fate, Faults, Outage, Pace, PayloadKind, Precondition, Refresh, Scheduler, Session, Setup,
};
use vocab::{DieId, HostCommand, Stream, Streams};

/// Combinations of fates at one event beyond those of single commands.
const COMBINATIONS: u64 = 24;
/// Requests of the workload, and of what follows each cut.
const REQUESTS: (u64, u64) = (40, 4);
/// Shapes of drives (dies, blocks, pages); the first that a scheme can do with is taken.
const SHAPES: [(u32, u32, u32); 5] = [(4, 8, 4), (4, 12, 4), (5, 14, 6), (4, 20, 4), (4, 40, 4)];
/// Events of a recovery before which the power goes again.
const AGAIN_BEFORE: [u64; 8] = [0, 1, 2, 4, 7, 12, 20, 33];
/// Events of a recovery before which a part is lost.
const LOST_BEFORE: [u64; 3] = [0, 4, 20];
/// Violations after which a drive has shown enough.
const ENOUGH: u64 = 100;
const PACE: Pace = Pace::Closed { depth: 3 };

/// A drive and what it is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The drive.
    pub setup: Setup,
    /// Commands of the host.
    pub commands: Vec<HostCommand>,
    /// Commands of the host after a cut.
    pub more: Vec<HostCommand>,
    /// Cuts in a row.
    pub depth: u32,
}

/// Results of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// Scheme and policy of page ECC.
    pub name: String,
    /// Events before which the power went.
    pub steps: u64,
    /// Power cuts alone.
    pub cuts: u64,
    /// Cuts each with a loss before or after it.
    pub pairs: u64,
    /// Blocks erased by the workload itself.
    pub erases: u64,
    /// Cuts after which a rule was broken.
    pub violations: u64,
    /// The first of them.
    pub first: Option<Broken>,
}

/// A cut after which a rule was broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// How.
    pub violation: Violation,
    /// The workload, and the cut, or cuts.
    pub scenario: Scenario,
    /// These in words.
    pub words: String,
}

/// Every choice of the scope's schemes under every policy of page ECC that its drive can carry.
#[must_use]
pub fn cases(scope: &Scope, depth: u32) -> Vec<Case> {
    let choices = scope.schemes.iter().flat_map(|entry| entry.choices());
    let each = |choice: SchemeChoice| {
        let policies = ECC_POLICIES.iter().filter(|entry| !entry.canary && entry.kind == CodeKind::Bch).map(|entry| entry.name);
        policies.filter_map(|policy| case(scope.seed, &choice, policy, depth)).collect::<Vec<_>>()
    };
    choices.flat_map(each).collect()
}

fn case(seed: u64, choice: &SchemeChoice, policy: &str, depth: u32) -> Option<Case> {
    let mut draws = Streams::new(seed).stream("torture/exhaustive");
    let setup = SHAPES.iter().find_map(|&(dies, blocks, pages)| setup(seed, choice, policy, dies, blocks, pages))?;
    let per = setup.drive.geometry.sectors_per_slot();
    let mut commands = |count| workload(setup.user_slots, per, count, PARTIAL_AT_MOST, &mut draws);
    let (commands, more) = (commands(REQUESTS.0), commands(REQUESTS.1));
    Some(Case { setup, commands, more, depth })
}

fn setup(seed: u64, choice: &SchemeChoice, policy: &str, dies: u32, blocks: u32, pages: u32) -> Option<Setup> {
    let (drive, gc) = (shaped(dies, 1, blocks, pages, 1), ssd::ftl::GcConfig::default());
    registry::build(choice, ssd::shape(&drive)).ok()?;
    let most = ssd::user_slots_max(&drive, choice, &gc).ok()?;
    let mut setup = Setup {
        user_slots: (f64::from(most) * 0.8) as u32,
        drive,
        scheme: choice.clone(),
        gc,
        wear: ssd::ftl::WearConfig::default(),
        buffer: Buffer::OFF,
        scheduler: Scheduler::Fifo,
        precondition: Precondition { fill: 0.9, converge_within: 1e-9, overwrite_at_most: 1.5, ..Precondition::default() },
        age: Age::default(),
        faults: Faults::default(),
        ecc: Ecc::default(),
        errors: Errors::default(),
        refresh: Refresh::default(),
        power: mountable(),
        payload: PayloadKind::Tag,
        seed,
    };
    if policy != "none" {
        age(&mut setup, policy, &mut Streams::new(seed).stream("torture/exhaustive/age"));
    }
    Session::new(&setup).is_ok().then_some(setup)
}

/// Runs cases on several threads and returns their results in the order of the cases. Calls `progress` after each case.
#[must_use]
pub fn run(cases: Vec<Case>, threads: usize, progress: &(dyn Fn(&Tried) + Sync)) -> Vec<Tried> {
    let each = |case: Case| {
        let tried = case.run();
        progress(&tried);
        Ok(tried)
    };
    in_parallel(threads, cases, each).unwrap_or_default()
}

/// A line for each case.
#[must_use]
pub fn to_text(tried: &[Tried]) -> String {
    let cells = ["events", "cuts", "with a loss", "erases", "violations"];
    let mut rows = vec![Row { label: "scheme, page ECC".into(), cells: cells.map(String::from).to_vec() }];
    rows.extend(tried.iter().map(|tried| {
        let cells = [tried.steps, tried.cuts, tried.pairs, tried.erases, tried.violations];
        Row { label: tried.name.clone(), cells: cells.map(grouped).to_vec() }
    }));
    aligned(&rows)
}

impl Case {
    /// Cuts the power at every event.
    #[must_use]
    pub fn run(&self) -> Tried {
        let mut tried = Tried { name: format!("{}, {}", self.setup.scheme, self.setup.ecc.policy), ..Tried::default() };
        let result = guarded(|| self.run_stepwise(&mut tried));
        if let Err(violation) = result {
            self.found(&mut tried, violation, &[], Promise::NothingLost);
        }
        tried
    }

    fn run_stepwise(&self, tried: &mut Tried) {
        let mut session = Session::new(&self.setup).expect("the case was built with it");
        let mut draws = Streams::new(self.setup.seed).stream("torture/exhaustive/fates");
        let mut before = None;
        let result = session.run_stepwise(&mut self.commands.iter().copied(), PACE, &mut |step, fork| {
            if tried.violations >= ENOUGH {
                return;
            }
            tried.steps += 1;
            let fork = fork();
            let begun = fork.begun();
            let is_new = before.as_ref() != Some(&begun);
            for fates in combinations(&begun, is_new, &mut draws) {
                self.cut_at(step, &fork, &begun, &fates, is_new, tried);
            }
            if self.depth > 1 && is_new {
                self.lose_at(step, &fork, &begun, tried);
            }
            before = Some(begun);
        });
        tried.erases = result.flash.erases.values().sum();
    }

    fn cut_at(&self, step: u64, at: &Session, begun: &[Begun], fates: &[Fate], is_new: bool, tried: &mut Tried) {
        let fates = given(begun, fates);
        let stops = vec![Stop { after: step, strike: Strike::Cut(fates.clone(), Outage::default()) }];
        let mut cut_once = at.clone();
        tried.cuts += 1;
        if let Err(violation) = guarded(|| cut(&mut cut_once, &fates, Outage::default())) {
            self.found(tried, violation, &stops, Promise::NothingLost);
            return;
        }
        if self.depth > 1 && is_new {
            self.cut_again(&cut_once, self.depth - 1, &stops, tried);
        }
        if let Err(violation) = guarded(|| self.settle(cut_once)).unwrap_or_else(Err) {
            self.found(tried, violation, &stops, Promise::NothingLost);
        }
    }

    /// Loses each die, a block and a page before a cut, after it, and while the drive recovers.
    fn lose_at(&self, step: u64, at: &Session, begun: &[Begun], tried: &mut Tried) {
        let dies = (0..u64::from(self.setup.drive.geometry.dies())).map(|die| (FaultKind::Die, die));
        let parts: Vec<_> = dies.chain([(FaultKind::Block, step), (FaultKind::Page, 7 * step)]).collect();
        let stop = |after, strike| Stop { after, strike };
        let bases = [plain(begun, is_ended), plain(begun, is_not_begun)];
        for cut in bases.map(|fates| Strike::Cut(given(begun, &fates), Outage::default())) {
            for &(kind, draw) in &parts {
                let loss = |when| Strike::Loss { kind, draw, when };
                let before = [stop(step, loss(When::Recovered)), stop(0, cut.clone())];
                self.pair(at, &before, Losses::InTime, tried);
                let after = [stop(step, cut.clone()), stop(0, loss(When::Recovered))];
                self.pair(at, &after, Losses::InTime, tried);
                for events in LOST_BEFORE {
                    let besides = [stop(step, cut.clone()), stop(events, loss(When::AtOnce))];
                    self.pair(at, &besides, Losses::Untimely, tried);
                }
            }
        }
    }

    /// A cut and a loss, and what follows.
    fn pair(&self, at: &Session, stops: &[Stop; 2], losses: Losses, tried: &mut Tried) {
        if tried.violations >= ENOUGH {
            return;
        }
        tried.pairs += 1;
        let built = registry::build(&self.setup.scheme, ssd::shape(&self.setup.drive)).expect("the case was built with it");
        let promise = promise(built.survives_dies(), &Befalls { cuts: true, losses, ..Befalls::default() });
        let [first, second] = stops.clone();
        let now = [Stop { after: 0, ..first }, second];
        let outcome = Scenario { rounds: self.rounds(&[], &now), ..self.scenario(promise) }.run_on(at.clone());
        if let Some((_, violation)) = outcome.violation {
            self.found(tried, violation, stops, promise);
        }
    }

    /// Cuts the power while the drive recovers from the cut before, and once when it has.
    fn cut_again(&self, at: &Session, depth: u32, stops: &[Stop], tried: &mut Tried) {
        let mut recovering = at.clone();
        let mut events = 0;
        for (number, before) in AGAIN_BEFORE.into_iter().enumerate() {
            let fates = if number % 2 == 0 { Fates::Given(Vec::new()) } else { Fates::Drawn(tried.cuts) };
            let stops = [stops, &[Stop { after: before, strike: Strike::Cut(fates.clone(), Outage::default()) }]].concat();
            tried.cuts += 1;
            let mut again = None;
            let cut = guarded(|| {
                let is_at_rest = go_on(&mut recovering, before - events);
                let drive = again.insert(recovering.clone());
                cut(drive, &fates, Outage::default());
                is_at_rest
            });
            events = before;
            let settled = match (&cut, again) {
                (Ok(_), Some(drive)) => {
                    if depth > 1 {
                        self.cut_again(&drive, depth - 1, &stops, tried);
                    }
                    guarded(|| self.settle(drive)).unwrap_or_else(Err)
                }
                _ => Ok(()),
            };
            let is_at_rest = cut.as_ref().is_ok_and(|&is_at_rest| is_at_rest);
            if let Err(violation) = cut.map(|_| ()).and(settled) {
                self.found(tried, violation, &stops, Promise::NothingLost);
            }
            // Every later cut would be this one.
            if is_at_rest {
                return;
            }
        }
    }

    fn found(&self, tried: &mut Tried, violation: Violation, stops: &[Stop], promise: Promise) {
        tried.violations += 1;
        if tried.first.is_none() {
            let words = stops.iter().map(stop_text).collect::<Vec<_>>().join(", then ");
            let scenario = Scenario { rounds: self.rounds(&self.commands, stops), ..self.scenario(promise) };
            tried.first = Some(Broken { violation, scenario, words });
        }
    }

    /// Some of the workload with these stops, and what follows.
    fn rounds(&self, commands: &[HostCommand], stops: &[Stop]) -> Vec<Round> {
        let first = Round { commands: commands.to_vec(), stops: stops.to_vec() };
        vec![first, Round { commands: self.more.clone(), stops: Vec::new() }]
    }

    /// A scenario of this drive in which nothing happens.
    fn scenario(&self, promise: Promise) -> Scenario {
        let may_lose = promise == Promise::MediaErrorsOnly;
        Scenario { setup: self.setup.clone(), lived: None, pace: PACE, second: None, rounds: Vec::new(), may_lose, apart: false }
    }

    /// Recovers, and works on; all is right before and after.
    fn settle(&self, mut session: Session) -> Result<(), Violation> {
        rest(&mut session, &mut std::iter::empty(), PACE)?;
        verify(&mut session, false)?;
        rest(&mut session, &mut self.more.iter().copied(), PACE)?;
        verify(&mut session, false)
    }
}

/// Goes on for this many events; true if the drive came to rest before.
fn go_on(session: &mut Session, events: u64) -> bool {
    let mut is_at_rest = true;
    session.advance(&mut std::iter::empty(), PACE, &mut |event| {
        is_at_rest = event < events;
        is_at_rest
    });
    is_at_rest
}

fn stop_text(stop: &Stop) -> String {
    let fates = match &stop.strike {
        Strike::Loss { kind, draw, when } => {
            let (kind, of) = (format!("{kind:?}").to_lowercase(), text::when_text(*when));
            return format!("{} events later{of} {kind} {draw} is lost", stop.after);
        }
        Strike::Cut(Fates::Given(given), _) => given.iter().map(|&(die, fate)| text::fate_text(die, fate)).collect(),
        Strike::Cut(..) => vec!["fates drawn".to_owned()],
        Strike::Replace => return format!("{} events later a spare die takes the place of a dead one", stop.after),
    };
    format!("{} events later the power goes: {}", stop.after, fates.join(", "))
}

/// Fates of these commands if each meets the fate that is like this, or the last of its fates.
fn plain(begun: &[Begun], like: fn(Fate) -> bool) -> Vec<Fate> {
    let of = |begun: &Begun| {
        let fates = begun.fates(0);
        fates.iter().copied().find(|&fate| like(fate)).unwrap_or(fates[fates.len() - 1])
    };
    begun.iter().map(of).collect()
}

fn given(begun: &[Begun], fates: &[Fate]) -> Fates {
    Fates::Given(begun.iter().map(|&begun| die_of(begun)).zip(fates.iter().copied()).collect::<Vec<(DieId, Fate)>>())
}

/// Possible fates of these commands.
fn combinations(begun: &[Begun], is_new: bool, draws: &mut Stream) -> Vec<Vec<Fate>> {
    let fates: Vec<Vec<Fate>> = begun.iter().map(|begun| begun.fates(draws.bits())).collect();
    let bases = [plain(begun, is_ended), plain(begun, is_not_begun)];
    let mut all = bases.to_vec();
    if is_new {
        for base in &bases {
            for (at, of) in fates.iter().enumerate() {
                for &fate in of {
                    let mut one = base.clone();
                    one[at] = fate;
                    all.push(one);
                }
            }
        }
        let most = fates.iter().map(Vec::len).max().unwrap_or(0);
        all.extend((0..most).map(|like| fates.iter().map(|of| of[like % of.len()]).collect()));
        let drawn = |_| fates.iter().map(|of| of[draws.below(of.len() as u64) as usize]).collect();
        all.extend((0..if begun.len() > 2 { COMBINATIONS } else { 0 }).map(drawn));
        if let [first, second] = &fates[..] {
            all.extend(first.iter().flat_map(|&one| second.iter().map(move |&other| vec![one, other])));
        }
    }
    let mut different: Vec<Vec<Fate>> = Vec::new();
    for combination in all {
        if !different.contains(&combination) {
            different.push(combination);
        }
    }
    different
}
