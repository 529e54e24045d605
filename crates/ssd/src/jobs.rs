//! Jobs: what waits for flash commands, and is done when all of them are.

use crate::facts::RequestKind;
use crate::slab::Id;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use vocab::{Lpn, SimTime};

/// One logical page of a write.
#[derive(Clone, Debug)]
pub(crate) struct PageWrite<P> {
    pub lpn: Lpn,
    pub version: u32,
    pub payload: P,
    /// Sectors written; the rest is to be merged from the old version.
    pub from: u32,
    pub to: u32,
}

/// Who asked for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A host request.
    #[default]
    Host,
    /// The write buffer evicts pages.
    Buffer,
    /// Preconditioning: nobody waits.
    Nobody,
}

/// A host request or an eviction on its way through the drive.
#[derive(Clone, Debug)]
pub(crate) struct Job<P> {
    pub asker: Asker,
    pub kind: RequestKind,
    pub arrival: SimTime,
    /// Parts not done; the job itself holds one while it is being issued.
    pub remaining: u32,
    pub pages: Vec<PageWrite<P>>,
    /// Pages handed to a log so far.
    pub next: usize,
    /// Partly written pages whose old contents are still being read.
    pub merges: u32,
    /// Pages of a discard.
    pub range: (u32, u32),
    /// Logical pages this job has locked.
    pub locked: Vec<u32>,
    /// The last row cover that this job waits for.
    pub cover: Id,
    pub fua: bool,
    pub failed: bool,
}

impl<P> Default for Job<P> {
    fn default() -> Self {
        Self {
            asker: Asker::Host,
            kind: RequestKind::Read,
            arrival: SimTime::ZERO,
            remaining: 0,
            pages: Vec::new(),
            next: 0,
            merges: 0,
            range: (0, 0),
            locked: Vec::new(),
            cover: crate::slab::NONE,
            fua: false,
            failed: false,
        }
    }
}

impl<P> Job<P> {
    /// Makes a recycled job new, keeping its buffers.
    pub fn reset(&mut self, asker: Asker, kind: RequestKind, arrival: SimTime) {
        let (mut pages, mut locked) = (std::mem::take(&mut self.pages), std::mem::take(&mut self.locked));
        pages.clear();
        locked.clear();
        *self = Self { asker, kind, arrival, remaining: 1, pages, locked, ..Self::default() };
    }
}

/// What waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A job, to be entered again.
    Job(Id),
    /// A stripe update, to be started.
    Stripe(Id),
    /// A repair, to be tried again.
    Repair(crate::repair::Target),
}

/// Locks on logical pages (or stripes) whose next version is not in the map yet, with what
/// waits for each in order. Never iterated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks(FxHashMap<u32, VecDeque<Waiter>>);

impl Locks {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn holds(&self, key: u32) -> bool {
        self.0.contains_key(&key)
    }

    pub fn lock(&mut self, key: u32) {
        let before = self.0.insert(key, VecDeque::new());
        debug_assert!(before.is_none(), "locked twice");
    }

    pub fn wait(&mut self, key: u32, waiter: Waiter) {
        self.0.get_mut(&key).expect("waits for a lock that is held").push_back(waiter);
    }

    /// Unlocks and returns what waited, in order.
    pub fn unlock(&mut self, key: u32) -> VecDeque<Waiter> {
        self.0.remove(&key).expect("unlocks what was locked")
    }
}
