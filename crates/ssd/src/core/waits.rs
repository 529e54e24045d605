//! Where the latency of every request goes, as named waits that add up to it.
//!
//! A request, and each stripe update of one, has a *ledger*: the waits from its arrival up to an instant. It is
//! carried on whenever the request moves on. Either it only waited for something, then all the time since is of that
//! wait ([`Core::job_waited`]); or a flash command that it waited for has ended, then the trail of that command
//! explains the time ([`Core::job_worked`]). Of commands side by side the last one decides: the others did not
//! delay the answer.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use device::slab::JobId;
use device::waits::{Trail, Wait, Waits};
use vocab::{Lba, Nanos, SimTime};

/// The waits of a request up to an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ledger {
    /// When the request arrived.
    began: SimTime,
    /// When the drive began to work on it: what it waited for its turn and for room is over.
    pub started: SimTime,
    /// Up to when the waits say where the time went.
    known: SimTime,
    pub waits: Waits,
    /// The first sector that the request touches, and how many.
    pub sectors: (Lba, u32),
}

impl Ledger {
    fn new(now: SimTime) -> Self {
        Self { began: now, started: now, known: now, waits: Waits::default(), sectors: (Lba(0), 0) }
    }

    /// All the time since was this wait.
    fn waited(&mut self, wait: Wait, now: SimTime) {
        if now > self.known {
            self.waits.add(wait, now.since(self.known));
            self.known = now;
            if matches!(wait, Wait::Order | Wait::Space | Wait::Buffer | Wait::OffLine) {
                self.started = now;
            }
        }
    }

    /// A command has ended. What was before its submission was `before`.
    fn worked(&mut self, trail: Option<&Trail>, before: Wait, now: SimTime) {
        let Some(trail) = trail else {
            self.waits.add(before, now.since(self.known));
            self.known = now;
            return;
        };
        let begins = trail.from.max(self.known);
        self.waits.add(before, begins.since(self.known));
        self.waits.add_last(&trail.waits, now.since(begins));
        self.known = now;
    }

    /// Time from the arrival to what is known.
    fn span(&self) -> Nanos {
        self.known.since(self.began)
    }
}

/// The ledgers of all requests under way, where someone asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledgers {
    of_jobs: Vec<Ledger>,
    of_updates: Vec<Ledger>,
}

fn put(ledgers: &mut Vec<Ledger>, at: usize, ledger: Ledger) {
    if at >= ledgers.len() {
        ledgers.resize(at + 1, ledger);
    }
    ledgers[at] = ledger;
}

impl<P: FlashPayload> Core<P> {
    /// Keeps ledgers from now on. Nothing may be under way.
    pub fn keep_ledgers(&mut self) {
        self.device.watch();
        self.ledgers = Some(Box::default());
    }

    /// Keeps no ledgers any more.
    pub fn drop_ledgers(&mut self) {
        (self.device.stopwatch, self.ledgers) = (None, None);
    }

    /// A job of `sectors` from `first` on begins, of a request that was sent at `sent`: since then the drive was off line.
    #[inline]
    pub fn job_begins(&mut self, job: JobId, sent: SimTime, first: Lba, sectors: u32) {
        if let Some(ledgers) = &mut self.ledgers {
            let mut ledger = Ledger { sectors: (first, sectors), ..Ledger::new(sent) };
            ledger.waited(Wait::OffLine, self.device.now);
            put(&mut ledgers.of_jobs, job.index(), ledger);
        }
    }

    /// The job moves on: since it last did, it waited for this.
    #[inline]
    pub fn job_waited(&mut self, job: JobId, wait: Wait) {
        if let Some(ledgers) = &mut self.ledgers {
            ledgers.of_jobs[job.index()].waited(wait, self.device.now);
        }
    }

    /// The job moves on because an earlier one for the same pages does: since then it waited as that one did.
    pub fn job_followed(&mut self, job: JobId, earlier: JobId) {
        if let Some(ledgers) = &mut self.ledgers {
            let (now, first) = (self.device.now, ledgers.of_jobs[earlier.index()]);
            let mut waits = first.waits;
            waits.add(Wait::Order, now.since(first.known));
            let trail = Trail { from: first.began, waits, for_parity: false };
            let ledger = &mut ledgers.of_jobs[job.index()];
            ledger.worked(Some(&trail), Wait::Order, now);
            ledger.started = now;
        }
    }

    /// The job moves on because a command has ended; before that was submitted, it waited for `before`.
    #[inline]
    pub fn job_worked(&mut self, job: JobId, before: Wait) {
        if let (Some(ledgers), Some(stopwatch)) = (&mut self.ledgers, &self.device.stopwatch) {
            ledgers.of_jobs[job.index()].worked(stopwatch.trail(), before, self.device.now);
        }
    }

    /// The parts of a job are done: what it wrote was put together with other data before its command was submitted, or
    /// waited for parity.
    #[inline]
    pub fn job_is_in_flash(&mut self, job: JobId) {
        if let Some(stopwatch) = &self.device.stopwatch {
            let for_parity = stopwatch.trail().is_some_and(|trail| trail.for_parity);
            let before = if for_parity { Wait::Parity } else { Wait::Assembly };
            self.job_worked(job, before);
        }
    }

    /// An eviction is over: what comes of that waited as the eviction did.
    pub fn trail_of_eviction(&mut self, job: JobId) {
        if let (Some(ledgers), Some(stopwatch)) = (&self.ledgers, &mut self.device.stopwatch) {
            let ledger = &ledgers.of_jobs[job.index()];
            stopwatch.join(ledger.began, ledger.waits);
        }
    }

    /// The ledger of a job that is answered now.
    ///
    /// # Panics
    /// If its waits do not add up to the latency.
    #[inline]
    pub fn closed_ledger(&self, job: JobId, arrival: SimTime) -> Option<Ledger> {
        let ledger = self.ledgers.as_ref()?.of_jobs[job.index()];
        let latency = self.device.now.since(arrival);
        assert_eq!((ledger.waits.total(), ledger.span()), (latency, latency), "waits add up to the latency");
        Some(ledger)
    }

    /// A stripe update of a job begins, or of no one.
    #[inline]
    pub fn update_begins(&mut self, op: OpId, job: Option<JobId>) {
        if let Some(ledgers) = &mut self.ledgers {
            let ledger = job.map_or_else(|| Ledger::new(self.device.now), |job| ledgers.of_jobs[job.index()]);
            put(&mut ledgers.of_updates, op.index(), ledger);
        }
    }

    /// As [`Self::job_waited`], of a stripe update.
    #[inline]
    pub fn update_waited(&mut self, op: OpId, wait: Wait) {
        if let Some(ledgers) = &mut self.ledgers {
            ledgers.of_updates[op.index()].waited(wait, self.device.now);
        }
    }

    /// As [`Self::job_worked`], of a stripe update: what it does beside its commands is for parity.
    #[inline]
    pub fn update_worked(&mut self, op: OpId) {
        if let (Some(ledgers), Some(stopwatch)) = (&mut self.ledgers, &self.device.stopwatch) {
            ledgers.of_updates[op.index()].worked(stopwatch.trail(), Wait::Parity, self.device.now);
        }
    }

    /// A stripe update of the job has ended: the job waited as the last of them did.
    #[inline]
    pub fn update_ended(&mut self, op: OpId, job: JobId) {
        self.update_worked(op);
        if let Some(ledgers) = &mut self.ledgers {
            ledgers.of_jobs[job.index()] = ledgers.of_updates[op.index()];
        }
    }
}
