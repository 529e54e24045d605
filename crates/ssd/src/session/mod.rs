//! A drive ready for work, whatever its pages carry: the way in for everybody outside.

pub(crate) mod advance;
pub(crate) mod deaths;
pub(crate) mod figures;
pub(crate) mod groups;
pub(crate) mod life;
pub(crate) mod power;
pub(crate) mod series;

use crate::boot;
use crate::boot::demand::Demand;
use crate::boot::precondition::{HearHistory, HistoryProgress, Steady, dry_run};
use crate::boot::warm_up::{self, WarmUp, Warmed};
use crate::config::{Faults, Pace, PayloadKind, Setup, SetupError};
use crate::core::apart::Apart;
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::engine::clocks::{FLOWS_MAX, HostFlow};
use crate::fit::check_setup;
use crate::host::explain::{AnsweredRequest, Explanations};
use crate::power::cut::Remains;
use crate::result::RunResult;
use crate::session::figures::Clocks;
use crate::write::Way;
use device::contents::{PageBuf, Tag};
use device::ecc::PageEcc;
use device::folds::Folds;
use nand::{Faulty, FlashArray, InMemory, MemoryArray};
use vocab::{BlockAddr, DieId, HostCommand, Nanos, SimTime, Streams};

/// A drive in its initial state: built, preconditioned, aged. A clone is a fork: it goes its
/// own way from here.
pub struct Session(Apart<Inner>);

impl Clone for Session {
    #[inline(never)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[derive(Clone)]
pub(crate) enum Inner {
    Tag(Box<Prepared<Tag>>),
    Page(Box<Prepared<PageBuf>>),
}

/// `$body` with `$prepared` being what is inside the session.
macro_rules! inside {
    ($session:expr, $prepared:ident => $body:expr) => {
        match $session {
            $crate::session::Inner::Tag($prepared) => $body,
            $crate::session::Inner::Page($prepared) => $body,
        }
    };
}
pub(crate) use inside;

/// Hears of requests that were answered.
pub type RequestLog<'a> = &'a mut dyn FnMut(&[AnsweredRequest]);

/// Requests that a log hears of at once, at least.
const ROWS_TOLD_AT_ONCE: usize = 4096;

/// A machine with its setup and what preconditioning found.
#[derive(Clone)]
pub(crate) struct Prepared<P: FlashPayload> {
    pub(crate) engine: Engine<P>,
    pub(crate) setup: Setup,
    pub(crate) steady: Steady,
    pub(crate) warmed: Option<Warmed>,
    pub(crate) pe_before: Vec<u32>,
    /// Pages in the write buffer when the run began.
    pub(crate) buffered_before: usize,
}

impl Session {
    /// Builds a drive, preconditions and ages it.
    ///
    /// # Errors
    /// Names the setting at fault and what would be valid.
    pub fn new(setup: &Setup) -> Result<Self, SetupError> {
        Self::watched(setup, &mut |_| {})
    }

    /// As [`Self::new`]; `hear` is told now and then how far the write history has come.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn watched(setup: &Setup, hear: &mut dyn FnMut(HistoryProgress)) -> Result<Self, SetupError> {
        let mut session = Self::written(setup, hear)?;
        session.age()?;
        Ok(session)
    }

    /// A drive that is preconditioned and not aged: a workload may [warm it up](Self::warm_up), then it has to be [aged](Self::age).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn written(setup: &Setup, hear: &mut dyn FnMut(HistoryProgress)) -> Result<Self, SetupError> {
        Ok(Self::over(match setup.payload {
            PayloadKind::None | PayloadKind::Tag => Inner::Tag(Prepared::written(setup, hear)?.into()),
            PayloadKind::Page => Inner::Page(Prepared::written(setup, hear)?.into()),
        }))
    }

    /// Replays commands of a workload, `depth` at a time and as fast as the drive takes them, before the workload is measured. The results of
    /// later runs say how it ended.
    pub fn warm_up(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        until: WarmUp,
        depth: u32,
        hear: &mut dyn FnMut(HistoryProgress),
    ) {
        inside!(self.inner_mut(), prepared => {
            prepared.warmed = Some(warm_up::warm_up(&mut prepared.engine, commands, until, depth, hear));
        });
    }

    /// Ages a drive that was [written](Self::written), once.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn age(&mut self) -> Result<(), SetupError> {
        inside!(self.inner_mut(), prepared => prepared.age())
    }

    pub(crate) fn over(inner: Inner) -> Self {
        Self(Apart::new(inner))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn inner_mut(&mut self) -> &mut Inner {
        &mut self.0
    }

    pub(crate) fn into_inner(self) -> Inner {
        self.0.into_value()
    }

    /// Replays host commands and says what that gave. `progress` hears the number of requests
    /// that have arrived, now and then.
    pub fn run(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        progress: &mut dyn FnMut(u64),
    ) -> RunResult {
        let asked = Asked::One(commands, pace);
        inside!(self.inner_mut(), prepared => prepared.run_with(asked, progress, None, &mut |_| {}))
    }

    /// As [`Self::run`], with the waits that each latency consists of, and their means in the result. `log` hears of
    /// every request that was answered, in the order of the answers, some at a time.
    pub fn run_explained(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        progress: &mut dyn FnMut(u64),
        log: Option<RequestLog<'_>>,
    ) -> RunResult {
        inside!(self.inner_mut(), prepared => prepared.run_explained(Asked::One(commands, pace), progress, log))
    }

    /// As [`Self::run`] and, with a log, [`Self::run_explained`], of several flows, each with a clock of its own. The result has each of
    /// them, too.
    ///
    /// # Panics
    /// More than [`FLOWS_MAX`] flows.
    pub fn run_flows(
        &mut self,
        flows: Vec<HostFlow<'_>>,
        is_explained: bool,
        progress: &mut dyn FnMut(u64),
        log: Option<RequestLog<'_>>,
    ) -> RunResult {
        assert!(flows.len() <= FLOWS_MAX, "at most {FLOWS_MAX} flows");
        let asked = Asked::Flows(flows);
        inside!(self.inner_mut(), prepared => match is_explained {
            true => prepared.run_explained(asked, progress, log),
            false => prepared.run_with(asked, progress, None, &mut |_| {}),
        })
    }

    /// Replays as [`Self::run`] does and stops before the event for which `go_on`, which hears its
    /// number, says no: commands are in flight then, and the power may go.
    pub fn run_until(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> RunResult {
        let mut number = 0;
        let mut step = || {
            number += 1;
            go_on(number - 1)
        };
        inside!(self.inner_mut(), prepared => prepared.run_stepwise(Asked::One(commands, pace), &mut |_| {}, |_| step()))
    }

    /// Under code zones: chooses zones and encodes them, between two runs, and off the clock. Under other
    /// schemes nothing happens.
    pub fn go_off_line(&mut self) {
        inside!(self.inner_mut(), prepared => prepared.engine.go_off_line());
    }

    /// Work of these commands on the drive: executed in order, without time, on a fork. A die that is to die in the run
    /// dies there, too, and what it held is restored.
    #[must_use]
    pub fn demand(&self, commands: &mut dyn Iterator<Item = HostCommand>) -> Demand {
        inside!(self.clone().inner_mut(), prepared => {
            let mut doomed = Doomed::of(&prepared.setup);
            dry_run(&mut prepared.engine, commands, &mut |engine, request| doomed.kill_at(engine, request))
        })
    }

    /// Recounts every derived count of the map; for tests.
    ///
    /// # Panics
    /// If one is off.
    pub fn check_counts(&self) {
        inside!(self.inner(), prepared => check_counts(&prepared.engine))
    }

    /// P/E cycles of every block, as the drive knows them, in block order.
    #[must_use]
    pub fn pe_cycles(&self) -> Vec<u32> {
        inside!(self.inner(), prepared => pe_cycles(&prepared.engine))
    }

    /// The first wrong read so far, in words.
    #[must_use]
    pub fn first_mismatch(&self) -> Option<&str> {
        inside!(self.inner(), prepared => prepared.engine.host.first_mismatch.as_deref())
    }

    /// Since when the drive is read-only; `None`: it takes writes.
    #[must_use]
    pub fn read_only_since(&self) -> Option<SimTime> {
        inside!(self.inner(), prepared => prepared.engine.host.requests.read_only_since)
    }
}

/// The requests of a run.
pub(crate) enum Asked<'a> {
    /// Commands in one order, by one clock.
    One(&'a mut dyn Iterator<Item = HostCommand>, Pace),
    /// Several flows.
    Flows(Vec<HostFlow<'a>>),
}

/// Looks at the drive before an event, and stops the run there with false.
type Step<'a, P> = &'a mut dyn FnMut(&Engine<P>) -> bool;

impl<P: FlashPayload> Prepared<P> {
    fn written(setup: &Setup, hear: HearHistory<'_>) -> Result<Self, SetupError> {
        let (grid, protection) = check_setup(setup)?;
        let streams = Streams::new(setup.seed);
        // Without redundancy only the stream of a page stands there.
        let keeps_coverage = Way::of(&protection).facts().brings_pages_back || setup.gc.streams.are_told_apart();
        let mut array = MemoryArray::new(setup.drive.geometry, keeps_coverage);
        boot::age::mark_bad_blocks(&mut array, setup, &protection, &streams);
        let faults = streams.stream("nand/uncorrectable");
        let array = if PageEcc::is_wanted(&setup.ecc, &setup.errors) { array.keeping_ecc() } else { array };
        let array = if setup.power.mountable { array.keeping_updates() } else { array };
        let array = if setup.payload == PayloadKind::None { array.without_payload() } else { array };
        let array = P::Flash::over(array);
        let array = Faulty::new(array, grid.dies(), setup.faults.uncorrectable_reads, faults);
        let mut engine = Engine::new(setup, protection, array)?;
        let remains = Remains::default();
        let steady = boot::bring_up(&mut engine, setup, None, remains, boot::written_drive(), hear)?.steady;
        Ok(Self { engine, setup: setup.clone(), steady, warmed: None, pe_before: Vec::new(), buffered_before: 0 })
    }

    fn age(&mut self) -> Result<(), SetupError> {
        let (engine, setup) = (&mut self.engine, &self.setup);
        boot::bring_up(engine, setup, None, Remains::default(), boot::aged_drive(), &mut |_| {})?;
        boot::faults::begin(&mut engine.core.device.array, &setup.faults, &Streams::new(setup.seed));
        self.pe_before = pe_cycles(engine);
        // Those of the history before the workload.
        engine.writer.life_begins();
        Ok(())
    }

    fn run_explained(&mut self, asked: Asked<'_>, progress: &mut dyn FnMut(u64), mut log: Option<RequestLog<'_>>) -> RunResult {
        self.engine.core.keep_ledgers();
        let (is_logged, before) = (log.is_some(), self.engine.host.requests.arrived);
        self.engine.host.explanations = Some(Box::new(Explanations::new(is_logged, before)));
        let mut tell = |engine: &mut Engine<P>, at_least: usize| {
            if let Some(hear) = &mut log
                && let Some(answered) = engine.host.answered_requests().filter(|answered| answered.len() >= at_least)
            {
                hear(answered);
                answered.clear();
            }
        };
        let result = self.run_with(asked, progress, None, &mut |engine| tell(engine, ROWS_TOLD_AT_ONCE));
        tell(&mut self.engine, 1);
        self.engine.core.drop_ledgers();
        self.engine.host.explanations = None;
        result
    }

    /// `step` looks at the drive before every event, and stops the run with false.
    pub(crate) fn run_stepwise(
        &mut self,
        asked: Asked<'_>,
        progress: &mut dyn FnMut(u64),
        mut step: impl FnMut(&Engine<P>) -> bool,
    ) -> RunResult {
        self.run_with(asked, progress, Some(&mut step), &mut |_| {})
    }

    /// As [`Self::run_stepwise`], to the end without `step`; `each` is called before a request arrives.
    fn run_with(
        &mut self,
        asked: Asked<'_>,
        progress: &mut dyn FnMut(u64),
        step: Option<Step<'_, P>>,
        each: &mut dyn FnMut(&mut Engine<P>),
    ) -> RunResult {
        let engine = &mut self.engine;
        self.buffered_before = engine.host.buffer.pages();
        let series = engine.core.device.folds.take_series();
        engine.core.device.folds = Folds::with_latencies(engine.core.device.grid.slots_per_page());
        engine.core.device.folds.record_series(series);
        let events = engine.core.device.calendar.scheduled();
        (engine.host.requests.first_arrival, engine.host.requests.last_answer) = (None, engine.core.device.now);
        let mut doomed = Doomed::of(&self.setup);
        let mut each = |engine: &mut Engine<P>, request: u64| {
            each(engine);
            if request.is_multiple_of(4096) {
                progress(request);
            }
            doomed.kill_at(engine, request);
        };
        let clocks = match (asked, step) {
            (Asked::One(commands, pace), None) => {
                engine.replay(commands, pace, &mut each);
                Clocks::One(pace)
            }
            (Asked::One(commands, pace), Some(step)) => {
                engine.replay_stepwise(commands, pace, &mut each, |engine| step(engine));
                Clocks::One(pace)
            }
            (Asked::Flows(flows), step) => {
                let clocks = flows.iter().map(|flow| flow.clock).collect();
                match step {
                    None => engine.replay_flows(flows, &mut each, |_| true),
                    Some(step) => engine.replay_flows(flows, &mut each, |engine| step(engine)),
                }
                Clocks::Each(clocks)
            }
        };
        let events = engine.core.device.calendar.scheduled() - events;
        self.result(events, &clocks)
    }
}

/// The dies that are to die in a run, until they have.
struct Doomed {
    dies: Vec<DieId>,
    at_request: u64,
    /// How long after that they are replaced.
    replace_after: Option<Nanos>,
}

impl Doomed {
    fn of(setup: &Setup) -> Self {
        let dies = setup.faults.dead_dies(setup.drive.geometry.dies());
        Self { dies, at_request: setup.faults.dead_die_at_request, replace_after: setup.faults.replace_after }
    }

    /// A request arrives: the dies die if their time has come.
    fn kill_at<P: FlashPayload>(&mut self, engine: &mut Engine<P>, request: u64) {
        if request >= self.at_request {
            for die in self.dies.drain(..) {
                kill(engine, die);
                if let Some(after) = self.replace_after {
                    engine.replace_from(die, engine.core.device.now + after);
                }
            }
        }
    }
}

/// The die stops answering, permanently.
pub(crate) fn kill<P: FlashPayload>(engine: &mut Engine<P>, die: DieId) {
    engine.core.device.array.kill(die);
    engine.die_died(die);
}

/// The dies that these settings have dead stop answering.
pub(crate) fn kill_dead_dies<P: FlashPayload>(engine: &mut Engine<P>, faults: &Faults) {
    faults.dead_dies(engine.core.device.grid.dies()).into_iter().for_each(|die| kill(engine, die));
}

/// P/E cycles of every block, in block order.
pub fn pe_cycles<P: FlashPayload>(engine: &Engine<P>) -> Vec<u32> {
    (0..engine.core.device.grid.geometry().blocks()).map(|block| engine.core.device.array.block(BlockAddr(block)).pe).collect()
}

pub(crate) fn check_counts<P: FlashPayload>(engine: &Engine<P>) {
    engine.core.map.check_counts();
    engine.writer.check_counts(&engine.core);
}
