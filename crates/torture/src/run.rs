//! Runs one scenario against the engine's oracle.

use crate::apart::AllCovered;
use crate::flows::Coming;
use crate::promise::{Befalls, Losses};
use crate::rule::{Rule, Violation};
use crate::scenario::{Fates, Round, Scenario, Strike, When};
use crate::{FaultKind, apart};
use ssd::{Begun, BufferKind, Failure, Fate, MemoryLoss, Mounted, Outage, Session};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use vocab::{BlockAddr, DieId, HostCommand, HostOp, Lba, Nanos, SimTime, StreamId};

/// Events after which a small drive must have come to rest.
const EVENTS_AT_MOST: u64 = 200_000;

/// Events after which a small drive has rebuilt what it can.
const REBUILT_WITHIN: u64 = 20_000;

/// Event at a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The power went, this became of the commands under way, and that memory was found to be gone.
    Cut(Vec<(Begun, Fate)>, MemoryLoss),
    /// This was lost; `None`: there was nothing to lose.
    Loss(Option<Failure>),
    /// A spare die has the place of this one; `None`: none was dead.
    Replaced(Option<DieId>),
}

/// Outcome of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Power cuts.
    pub cuts: u64,
    /// Pages that mounts looked at.
    pub looks: u64,
    /// Time that mounts took to look.
    pub mounting: Nanos,
    /// Losses.
    pub losses: u64,
    /// Pages read and checked against the oracle.
    pub pages_checked: u64,
    /// The round in which a rule was broken, and how.
    pub violation: Option<(usize, Violation)>,
    /// Events at each stop that was reached, round by round.
    pub happened: Vec<Vec<Happened>>,
}

impl Outcome {
    /// How a rule was broken.
    #[must_use]
    pub fn broken(&self) -> Option<&Violation> {
        self.violation.as_ref().map(|(_, violation)| violation)
    }
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether this thread runs a scenario.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics of scenarios off the terminal: they are caught and say what they said, and where. For the
/// whole process; other panics are shown as before.
pub fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                return before(info);
            }
            let at = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
            PANIC.with(|panic| *panic.borrow_mut() = Some(format!("{}{at}", message(info.payload()))));
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.into())).unwrap_or_else(|| "no message".into())
}

impl Scenario {
    /// Runs the scenario from its beginning.
    #[must_use]
    pub fn run(&self) -> Outcome {
        match guarded(|| Session::new(&self.setup)) {
            Ok(Ok(session)) => self.run_on(session),
            Ok(Err(_)) => Outcome::default(),
            Err(violation) => Outcome { violation: Some((0, violation)), ..Outcome::default() },
        }
    }

    /// Runs the scenario on its drive as that was built.
    pub(super) fn run_on(&self, session: Session) -> Outcome {
        self.run_and_keep(session).0
    }

    /// The same; and the drive as it is then.
    pub(super) fn run_and_keep(&self, session: Session) -> (Outcome, Session) {
        let mut runner = Runner { scenario: self, session, outcome: Outcome::default(), dead: Vec::new() };
        let youth = guarded(|| runner.youth()).unwrap_or_else(Err);
        if let Err(violation) = youth {
            runner.outcome.violation = Some((0, violation));
            return (runner.outcome, runner.session);
        }
        for (number, round) in self.rounds.iter().enumerate() {
            runner.outcome.happened.push(Vec::new());
            let result = guarded(|| runner.round(round)).unwrap_or_else(Err);
            if let Err(violation) = result {
                runner.outcome.violation = Some((number, violation));
                break;
            }
        }
        (runner.outcome, runner.session)
    }
}

/// Result of `f`; a panic is a violation.
pub(super) fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, Violation> {
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(before);
    result.map_err(|payload| {
        let hooked = PANIC.with(|panic| panic.borrow_mut().take());
        Violation { rule: Rule::Panic, what: hooked.unwrap_or_else(|| message(&*payload)) }
    })
}

struct Runner<'a> {
    scenario: &'a Scenario,
    session: Session,
    outcome: Outcome,
    dead: Vec<DieId>,
}

impl Runner<'_> {
    /// The life of the drive before its first round: everything is read back after it, and what formulas say of it is checked.
    fn youth(&mut self) -> Result<(), Violation> {
        let Some(lived) = &self.scenario.lived else { return Ok(()) };
        lived.live(&self.scenario.setup, &mut self.session);
        self.outcome.pages_checked += u64::from(self.scenario.setup.user_slots);
        let odds = self.session.odds(0.0, None);
        let (setup, unreadable) = (&self.scenario.setup, odds.unreadable);
        // Without bit errors, two things leave a page unreadable: a program that failed where no other page has room for its contents, and
        // a read of GC that returned another page, so that a page without redundancy was lost.
        let fails = setup.faults.wear_out > 0.0 || setup.faults.silent > 0.0 || lived.wears_out();
        let is_sound = setup.ecc.policy == "none" && !fails;
        if !(odds.lost <= unreadable && unreadable <= f64::from(odds.pages)) || is_sound && unreadable > 0.0 {
            let what = format!("odds of {unreadable} unreadable and {} lost of {} pages", odds.lost, odds.pages);
            return Err(Violation { rule: Rule::Audit, what });
        }
        verify(&mut self.session, self.scenario.may_lose)
    }

    fn round(&mut self, round: &Round) -> Result<(), Violation> {
        let mut coming = Coming::of(self.scenario, round);
        for stop in &round.stops {
            self.outcome.pages_checked += coming.advance(&mut self.session, &mut |event| event < stop.after);
            let happened = self.strike(&stop.strike);
            self.outcome.happened.last_mut().expect("a round was begun").push(happened);
        }
        let session = &mut self.session;
        let checked = rest_by(|go_on| coming.advance(session, go_on))?;
        let last = self.last_command();
        rest(&mut self.session, &mut last.into_iter(), self.scenario.pace)?;
        self.outcome.pages_checked += checked + u64::from(self.scenario.setup.user_slots);
        verify(&mut self.session, self.scenario.may_lose)?;
        if !self.scenario.apart {
            return Ok(());
        }
        let all_covered = self.keeps_all_covered();
        apart::check(&mut self.session, &self.scenario.setup, all_covered)
    }

    /// Whether all that lies in flash has parity at rest, whatever the engine says: nothing was lost, failed or wrong, so
    /// that there is room and nothing that no one has noticed yet. A scheme of stages gives all pages parity in the last one.
    /// A cut that takes the sums of block groups leaves a group that takes nothing more, and whose pages need another one to get
    /// parity. A drive keeps one free for that; several such cuts may use up all groups.
    fn keeps_all_covered(&self) -> AllCovered {
        let Befalls { losses, wear_out, random, takes_partners, .. } = self.scenario.befalls();
        // The losses that a drive would survive are listed last: each page is looked at for it.
        let is_quiet = losses == Losses::None && !wear_out && !random && !takes_partners;
        if !is_quiet || self.session.standing().promised_dies == 0 {
            return AllCovered::No;
        }
        let took_sums = |happened: &&Happened| matches!(happened, Happened::Cut(_, lost) if lost.sums);
        let often = self.outcome.happened.iter().flatten().filter(took_sums).count() > 1;
        if often { AllCovered::WhereSuperblocksAreLeft } else { AllCovered::Yes }
    }

    /// Flush at the end of a round, so that the findings there stay valid: nothing of it may be in a buffer that is
    /// lost with power. A flush makes durable what was answered before it was sent.
    fn last_command(&self) -> Option<HostCommand> {
        let flush = HostCommand { at: SimTime(0), op: HostOp::Flush, lba: Lba(0), sectors: 0, stream: StreamId::default() };
        (self.scenario.setup.buffer.kind == BufferKind::Volatile).then_some(flush)
    }

    fn strike(&mut self, strike: &Strike) -> Happened {
        match strike {
            Strike::Cut(fates, outage) => {
                self.outcome.cuts += 1;
                let (commands, mounted) = cut(&mut self.session, fates, *outage);
                self.outcome.looks += mounted.looks;
                self.outcome.mounting += mounted.time;
                Happened::Cut(commands, mounted.lost)
            }
            &Strike::Loss { kind, draw, when } => {
                if !self.waits(when) {
                    return Happened::Loss(None);
                }
                self.note_replaced();
                let failure = self.failure(kind, draw);
                if let Some(failure) = failure {
                    self.outcome.losses += 1;
                    self.session.fail(failure);
                }
                Happened::Loss(failure)
            }
            Strike::Replace => Happened::Replaced(self.replace()),
        }
    }

    /// A spare die that had no room to come in time may have come since.
    fn note_replaced(&mut self) {
        let session = &self.session;
        self.dead.retain(|&die| session.is_dead(die));
    }

    /// A spare die takes the place of the die that died first, as soon as the drive puts it in.
    fn replace(&mut self) -> Option<DieId> {
        self.note_replaced();
        let die = *self.dead.first()?;
        self.session.replace_die(die);
        let mut events = 0;
        self.session.advance(&mut std::iter::empty(), self.scenario.pace, &mut |_| {
            events += 1;
            events < 2
        });
        while self.session.is_replacing() && events < EVENTS_AT_MOST {
            self.session.advance(&mut std::iter::empty(), self.scenario.pace, &mut |event| event < 1);
            events += 1;
        }
        let is_in = !self.session.is_replacing();
        is_in.then(|| self.dead.remove(0))
    }

    /// Runs the drive until the loss may strike; false if that time never comes.
    fn waits(&mut self, when: When) -> bool {
        match when {
            When::AtOnce => true,
            When::Recovered => {
                self.recover();
                true
            }
            When::Whole => {
                self.session.advance(&mut std::iter::empty(), self.scenario.pace, &mut |event| event < REBUILT_WITHIN);
                self.session.is_whole()
            }
        }
    }

    /// Lets the drive recover from the last cut: a cut may use up redundancy until that is done, and a
    /// loss as well would be more than schemes promise to survive.
    fn recover(&mut self) {
        let mut chunks = 0;
        while self.session.is_recovering() && chunks < 1_000 {
            self.session.advance(&mut std::iter::empty(), self.scenario.pace, &mut |event| event < 20);
            chunks += 1;
        }
    }

    /// A part of the drive that is still there.
    fn failure(&mut self, kind: FaultKind, draw: u64) -> Option<Failure> {
        let geometry = &self.scenario.setup.drive.geometry;
        let pick = |count: usize| (draw % count as u64) as usize;
        match kind {
            FaultKind::Die => {
                let alive: Vec<_> = (0..geometry.dies() as u16).map(DieId).filter(|die| !self.dead.contains(die)).collect();
                let die = (!alive.is_empty()).then(|| alive[pick(alive.len())])?;
                self.dead.push(die);
                Some(Failure::Die(die))
            }
            FaultKind::Block => {
                let block = BlockAddr(pick(geometry.blocks() as usize) as u32);
                (!self.dead.contains(&geometry.die_of(block))).then_some(Failure::Block(block))
            }
            FaultKind::Plane => {
                let die = DieId(pick(geometry.dies() as usize) as u16);
                let plane = (draw >> 32) as u32 % 2;
                (!self.dead.contains(&die)).then_some(Failure::Plane { die, plane })
            }
            FaultKind::Page | FaultKind::WordLine => {
                let mut pages = self.session.inventory().pages;
                pages.retain(|page| !page.lost);
                let ppn = (!pages.is_empty()).then(|| pages[pick(pages.len())].ppn)?;
                Some(if kind == FaultKind::Page { Failure::Page(ppn) } else { Failure::WordLine(ppn) })
            }
            FaultKind::Cut | FaultKind::Uncorrectable | FaultKind::WearOut => None,
            FaultKind::Memory | FaultKind::Silent | FaultKind::Clock => None,
        }
    }
}

/// Cuts the power and mounts the drive; what became of the commands under way.
pub(super) fn cut(session: &mut Session, fates: &Fates, outage: Outage) -> (Vec<(Begun, Fate)>, Mounted) {
    let begun = session.begun();
    let fates = fates.of(&begun);
    let mounted = session.cut_power_with(&fates, outage);
    (begun.into_iter().zip(fates).collect(), mounted)
}

/// Goes on until nothing is left to do; the pages that were read and compared.
pub(super) fn rest(
    session: &mut Session,
    commands: &mut dyn Iterator<Item = HostCommand>,
    pace: ssd::Pace,
) -> Result<u64, Violation> {
    rest_by(|go_on| session.advance(commands, pace, go_on))
}

/// The same, by whoever lets the drive go on, until nothing is left to do or the function says no.
fn rest_by(advance: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> u64) -> Result<u64, Violation> {
    let mut over = false;
    let checked = advance(&mut |event| {
        over = event >= EVENTS_AT_MOST;
        !over
    });
    if over {
        let what = format!("{EVENTS_AT_MOST} events, and the drive is still busy");
        return Err(Violation { rule: Rule::Rest, what });
    }
    Ok(checked)
}

/// Reads everything back and recomputes every parity. The drive must be at rest.
pub(super) fn verify(session: &mut Session, may_lose: bool) -> Result<(), Violation> {
    session.check_counts();
    let found = session.take_stock();
    if found.stuck {
        return Err(Violation { rule: Rule::Rest, what: "a read does not end".into() });
    }
    if let Some(what) = found.wrong {
        return Err(Violation { rule: Rule::Wrong, what });
    }
    if !found.lost.is_empty() && !may_lose {
        let lost: Vec<String> = found.lost.iter().map(ToString::to_string).collect();
        return Err(Violation { rule: Rule::Lost, what: format!("{} cannot be read", lost.join(", ")) });
    }
    // Pages lost while pages were read are rebuilt now.
    rest(session, &mut std::iter::empty(), ssd::Pace::Closed { depth: 1 })?;
    let audited = session.audit().and_then(|_| session.doubled_stripe().map_or(Ok(()), Err));
    audited.map_err(|what| Violation { rule: Rule::Audit, what })
}
