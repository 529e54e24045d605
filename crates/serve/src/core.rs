//! The drive with the requests that it works on, and what was asked to happen to it.

use crate::deceit::Deceit;
use crate::events::Events;
use crate::history::History;
use crate::pace::Pace;
use crate::record::{Recorder, held_by};
use crate::steps::Step;
use crate::time::{nanos, now};
use ssd::disk::{Control, Disk, DiskAnswer, DiskRequest, Failed, Happened, Snapshot};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use vocab::{Fua, Nanos, SimTime};

/// Outcome of a request.
pub type Answer = Result<Vec<u8>, Failed>;

/// Where a thread waits, for one request after the other. A condition variable would ask the kernel to wake someone with each
/// answer, also where its thread worked itself.
pub(crate) struct Slot {
    state: Mutex<Waiting>,
    thread: Thread,
}

#[derive(Default)]
enum Waiting {
    #[default]
    Nothing,
    /// It is this thread's turn to work.
    Lead,
    Answer(Answer),
}

/// Cause for which a waiting thread is woken.
pub(crate) enum Woken {
    Lead,
    Answer(Answer),
}

impl Slot {
    /// Where this thread will wait.
    pub fn of_this_thread() -> Arc<Self> {
        thread_local! {
            static SLOT: Arc<Slot> = Arc::new(Slot { state: Mutex::default(), thread: thread::current() });
        }
        SLOT.with(Arc::clone)
    }

    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lead(&self) {
        let mut state = self.state();
        if let Waiting::Nothing = *state {
            *state = Waiting::Lead;
        }
        drop(state);
        self.thread.unpark();
    }

    /// Puts the answer there; its thread may sleep until it is woken.
    pub fn answer(&self, answer: Answer) {
        *self.state() = Waiting::Answer(answer);
    }

    pub fn wake(&self) {
        self.thread.unpark();
    }

    pub fn is_answered(&self) -> bool {
        matches!(*self.state(), Waiting::Answer(_))
    }

    pub fn wait(&self) -> Woken {
        loop {
            let state = std::mem::take(&mut *self.state());
            match state {
                Waiting::Lead => return Woken::Lead,
                Waiting::Answer(answer) => return Woken::Answer(answer),
                // It may return for what an earlier request of this thread was told.
                Waiting::Nothing => thread::park(),
            }
        }
    }
}

/// Item that threads hand to the one that works.
pub(crate) enum Item {
    /// Of a client of this generation.
    Request(DiskRequest, Arc<Slot>, u64),
    /// Something else is done with the drive.
    Job(Box<dyn FnOnce(&mut Core) + Send>, Arc<Slot>),
}

/// A request that the drive works on.
struct Pending {
    slot: Arc<Slot>,
    /// Whether its answer says that something is durable.
    syncs: bool,
    /// Recorded once it is answered.
    recorded: Option<DiskRequest>,
    /// Of a read: its first sector.
    reads: Option<u64>,
}

/// Answers that came later than virtual time said, of all; with a clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    pub answers: u64,
    pub late: u64,
}

/// An answer is late that comes so long after its time.
const LATE: Duration = Duration::from_micros(200);

/// The drive and what is asked of it.
pub struct Core {
    /// The drive.
    pub disk: Disk,
    /// By their numbers, in the order in which they came.
    pending: Vec<(u64, Pending)>,
    /// The list of what was taken last, emptied.
    taken: Vec<Item>,
    /// Answered, and perhaps asleep: see [`Self::wake`].
    answered: Vec<Arc<Slot>>,
    /// Whether flushes make files durable against a failure of the machine, too.
    syncs: bool,
    pace: Pace,
    /// When it last stopped working; with a clock, when virtual time was `virtual_start`.
    pub(crate) last: Instant,
    virtual_start: SimTime,
    pub(crate) lateness: Lateness,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) snapshots: BTreeMap<String, Snapshot>,
    /// Permanent failure, in words.
    pub(crate) broken: Option<String>,
    pub(crate) events: Events,
    /// Samples of how it was, where someone looks.
    pub(crate) history: Option<Box<History>>,
    /// Whether requests are to hang from now on, or no longer: for whoever keeps them from the drive.
    pub(crate) hangs: Option<bool>,
    /// Clients of earlier generations were dropped.
    pub(crate) generation: u64,
    pub(crate) deceit: Deceit,
}

impl Core {
    pub(crate) fn new(mut disk: Disk, pace: Pace, syncs: bool) -> Self {
        disk.withstand_machine_failures(syncs);
        Self {
            snapshots: disk.snapshots().into_iter().collect(),
            virtual_start: disk.now(),
            disk,
            pending: Vec::new(),
            taken: Vec::new(),
            answered: Vec::new(),
            syncs,
            pace,
            last: now(),
            lateness: Lateness::default(),
            recorder: None,
            broken: None,
            events: Events::default(),
            history: None,
            hangs: None,
            generation: 0,
            deceit: Deceit::default(),
        }
    }

    /// Whether a client may take it that the page with this sector reads as zeros.
    #[must_use]
    pub fn is_hole(&self, sector: u64) -> bool {
        let page = u64::from(self.disk.sectors_per_page());
        self.disk.is_unmapped(sector) && !self.deceit.spoils(sector / page * page, page)
    }

    /// Whether the drive works on requests.
    pub(crate) fn is_busy(&self) -> bool {
        !self.pending.is_empty()
    }

    /// A thread that waits for an answer.
    pub(crate) fn someone_waiting(&self) -> Option<Arc<Slot>> {
        self.pending.first().map(|(_, pending)| pending.slot.clone())
    }

    /// An empty list with room for what threads hand over next.
    pub(crate) fn room(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.taken)
    }

    /// Takes what threads handed over.
    pub(crate) fn take(&mut self, mut items: Vec<Item>) {
        for item in items.drain(..) {
            match item {
                Item::Job(job, slot) => {
                    // It may take long.
                    self.wake();
                    job(self);
                    self.answer(slot, Ok(Vec::new()));
                }
                Item::Request(_, slot, generation) if generation < self.generation => self.answer(slot, Err(Failed::PowerCut)),
                Item::Request(_, slot, _) if self.broken.is_some() => self.answer(slot, Err(Failed::Media)),
                Item::Request(_, slot, _) if self.deceit.fails(self.disk.now()) => self.answer(slot, Err(Failed::Asked)),
                Item::Request(request, slot, _) => {
                    // A recording has what the client asked, whatever the drive gets of it.
                    let recorded = self.record(&request);
                    match self.deceit.passes(request) {
                        Some(request) => self.submit(request, slot, recorded),
                        None => {
                            self.record_answered(recorded.as_ref());
                            self.answer(slot, Ok(Vec::new()));
                        }
                    }
                }
            }
        }
        self.taken = items;
    }

    /// Records a request, or returns it to be recorded when it is answered. A flush makes durable what was answered when it was asked:
    /// a write under way by then comes behind it.
    fn record(&mut self, request: &DiskRequest) -> Option<DiskRequest> {
        let recorder = self.recorder.as_mut()?;
        if matches!(request, DiskRequest::Write { .. } | DiskRequest::Discard { .. }) {
            return Some(request.clone());
        }
        recorder.record(request);
        None
    }

    /// Records a request that was answered, if it waited for that.
    fn record_answered(&mut self, request: Option<&DiskRequest>) {
        if let (Some(recorder), Some(request)) = (&mut self.recorder, request) {
            recorder.record(request);
        }
    }

    fn submit(&mut self, request: DiskRequest, slot: Arc<Slot>, recorded: Option<DiskRequest>) {
        let syncs = matches!(request, DiskRequest::Flush | DiskRequest::Write { fua: Fua::Yes, .. });
        let reads = if let DiskRequest::Read { sector, .. } = request { Some(sector) } else { None };
        let number = self.disk.submit(request);
        self.pending.push((number, Pending { slot, syncs: syncs && self.syncs, recorded, reads }));
        if let Some(history) = &mut self.history {
            history.asked(self.pending.len());
        }
    }

    /// Wall time that passed while no one asked anything is idle time of the drive.
    pub(crate) fn rest(&mut self) {
        let passed = self.last.elapsed();
        if self.pace == Pace::None && !self.is_busy() && passed > Duration::from_micros(50) {
            self.idle(nanos(passed));
        }
    }

    fn idle(&mut self, time: Nanos) {
        if let Err(error) = self.disk.idle(time) {
            self.fail(&error.to_string());
        }
        self.note_planned();
    }

    /// Carries on what was planned and concerns the clock or the clients.
    fn note_planned(&mut self) {
        for Happened { at, control, refused, .. } in self.disk.happened() {
            let happens = refused.is_none();
            if happens {
                self.record_control(&control.to_string());
            }
            self.events.note(at.0 as f64 * 1e-9, control.to_string(), true, refused);
            match control {
                Control::Pause(time) if happens => self.stall(time),
                Control::Hang(hangs) => self.hangs = Some(hangs),
                Control::Lie(..) | Control::Errors(_) | Control::Corrupt(_) if happens => self.deceit.begin(&control, at),
                Control::Age(_) | Control::Idle(_) | Control::Replace(_) | Control::CutPower if happens => self.set_clock(),
                _ => {}
            }
        }
    }

    /// The firmware does nothing for so long, on the wall clock.
    pub(crate) fn stall(&mut self, time: Nanos) {
        self.wake();
        let factor = if let Pace::Times(factor) = self.pace { factor } else { 1.0 };
        thread::sleep(Duration::from_nanos((time.0 as f64 / factor) as u64));
    }

    /// Something happened because someone wanted it.
    pub(crate) fn note(&mut self, what: &str, refused: Option<String>) {
        if refused.is_none() {
            self.record_control(what);
        }
        self.events.note(self.disk.now().0 as f64 * 1e-9, what.to_owned(), false, refused);
    }

    /// Something happened to the drive that a recording of it must say. After a power cut or a restore it may hold other data than
    /// clients wrote: it is recorded what.
    fn record_control(&mut self, words: &str) {
        if self.recorder.is_none() {
            return;
        }
        let changes = ["cut-power", "restore"].contains(&words.split(' ').next().unwrap_or_default());
        let held = match changes {
            false => Ok(None),
            // Answers to others would be lost in what is read of the drive itself.
            true if self.is_busy() && self.disk.fork().is_err() => Err("a drive in files that has requests under way".into()),
            true => held_by(&mut self.disk).map(|held| Some(Arc::new(held))).map_err(|error| error.to_string()),
        };
        let Some(recorder) = &mut self.recorder else { return };
        match held {
            Ok(held) => recorder.note(&Step::Control { words: words.to_owned(), held }),
            // From here on it is not known what the drive holds.
            Err(error) => {
                let what = format!("the recording ends before `{words}`, after which the drive cannot be read: {error}");
                recorder.error.get_or_insert_with(|| std::io::Error::other(what));
            }
        }
    }

    /// Works until something is answered.
    pub(crate) fn work(&mut self) {
        if self.is_busy() {
            let answers = self.disk.run();
            self.note_planned();
            match answers {
                Ok(answers) => self.deliver(answers),
                Err(error) => self.fail(&error.to_string()),
            }
        }
        self.last = now();
    }

    /// With a clock: lets virtual time pass up to now. How long nothing happens, at least.
    pub(crate) fn keep_up(&mut self, factor: f64) -> Duration {
        let due = self.virtual_start.0 + (self.last.elapsed().as_nanos() as f64 * factor) as u64;
        if due > self.disk.now().0 {
            self.idle(Nanos(due - self.disk.now().0));
        }
        match self.disk.answers() {
            Ok(answers) => self.deliver(answers),
            Err(error) => self.fail(&error.to_string()),
        }
        let most = Duration::from_millis(20);
        let next = self.disk.next_event().map(|at| at.0.saturating_sub(due) as f64 / factor);
        next.map_or(most, |next| Duration::from_nanos(next as u64).min(most))
    }

    /// Something happened to virtual time: the clock goes on from there.
    pub(crate) fn set_clock(&mut self) {
        (self.last, self.virtual_start) = (now(), self.disk.now());
    }

    /// Hands answers to those who wait.
    pub(crate) fn deliver(&mut self, answers: Vec<DiskAnswer>) {
        let syncs = |answer: &DiskAnswer| answer.result.is_ok() && self.of(answer).is_some_and(|at| self.pending[at].1.syncs);
        if self.syncs && answers.iter().any(syncs) {
            self.wake();
            if let Err(error) = self.disk.sync() {
                self.fail(&error.to_string());
                return;
            }
        }
        for answer in answers {
            if let Some(history) = &mut self.history {
                history.answered(&answer);
            }
            if let Pace::Times(factor) = self.pace {
                let wall = self.last.elapsed().as_nanos() as f64;
                let due = answer.at.0.saturating_sub(self.virtual_start.0) as f64 / factor;
                self.lateness.answers += 1;
                self.lateness.late += u64::from(wall > due + LATE.as_nanos() as f64);
            }
            if let Some(at) = self.of(&answer) {
                let (_, pending) = self.pending.remove(at);
                if answer.result.is_ok() {
                    self.record_answered(pending.recorded.as_ref());
                }
                let mut result = answer.result;
                if let (Some(sector), Ok(data)) = (pending.reads, &mut result) {
                    self.deceit.spoil(sector, data);
                }
                self.answer(pending.slot, result);
            }
        }
    }

    /// Where the request is that was answered; mostly it is among the oldest.
    fn of(&self, answer: &DiskAnswer) -> Option<usize> {
        self.pending.iter().position(|(number, _)| *number == answer.request)
    }

    fn answer(&mut self, slot: Arc<Slot>, answer: Answer) {
        slot.answer(answer);
        self.answered.push(slot);
    }

    /// Wakes the threads whose requests were answered, some at once: the kernel wakes a thread, which may then take the processor of
    /// the one that works. Called before anything that may take long, and by who stops working.
    pub(crate) fn wake(&mut self) {
        self.answered.drain(..).for_each(|slot| slot.wake());
    }

    /// Nothing more is answered: files and drive are no longer the same.
    fn fail(&mut self, what: &str) {
        self.broken.get_or_insert_with(|| what.to_owned());
        for (_, pending) in std::mem::take(&mut self.pending) {
            self.answer(pending.slot, Err(Failed::Media));
        }
    }

    /// From now on the drive is sampled.
    pub(crate) fn watch(&mut self) {
        let status = self.disk.status();
        self.history.get_or_insert_with(|| Box::new(History::new(&status)));
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self) {
        let status = self.disk.status();
        if let Some(history) = &mut self.history {
            history.sample(&status);
        }
    }
}
