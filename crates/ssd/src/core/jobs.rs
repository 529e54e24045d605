//! Jobs: what waits for flash commands, and is done when all of them are.

use device::facts::RequestKind;
use device::slab::Id;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use vocab::{Lpn, SimTime, StripeId};

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
    /// Its number, of a host request.
    pub request: u64,
    /// Parts not done; the job itself holds one while it is being issued.
    pub remaining: u32,
    pub pages: Vec<PageWrite<P>>,
    /// Pages handed to a log so far.
    pub next: usize,
    /// Under code zones, pages that wait for room in their segments.
    pub unplaced: u32,
    /// Partly written pages whose old contents are still being read.
    pub merges: u32,
    /// Pages of a discard.
    pub range: (u32, u32),
    /// Versions of a discard's pages, once it has to wait: later writes count on from them.
    pub versions: Vec<u32>,
    /// Whether the job queues for its pages, and how many of them others hold.
    pub holds_pages: bool,
    pub missing: u32,
    /// The last row cover that this job waits for.
    pub cover: Id,
    pub fua: bool,
    /// Too long for the write cache: it passed through.
    pub long: bool,
    pub failed: bool,
    /// Some of its pages have no place on this drive, now or later.
    pub homeless: bool,
    /// There is no room for some of its pages and there never will be.
    pub no_room: bool,
}

impl<P> Default for Job<P> {
    fn default() -> Self {
        Self {
            asker: Asker::Host,
            kind: RequestKind::Read,
            arrival: SimTime::ZERO,
            request: 0,
            remaining: 0,
            pages: Vec::new(),
            next: 0,
            unplaced: 0,
            merges: 0,
            range: (0, 0),
            versions: Vec::new(),
            holds_pages: false,
            missing: 0,
            cover: device::slab::NONE,
            fua: false,
            long: false,
            failed: false,
            homeless: false,
            no_room: false,
        }
    }
}

impl<P> Job<P> {
    /// Makes a recycled job new, keeping its buffers.
    pub fn reset(&mut self, asker: Asker, kind: RequestKind, arrival: SimTime) {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        *self = Self { asker, kind, arrival, remaining: 1, pages, ..Self::default() };
    }
}

/// Logical pages that jobs hold until the map shows what they write, each with the jobs that
/// queue for it. A job queues for all its pages at once, in order of arrival, so jobs only ever
/// wait for earlier ones. Never iterated.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageLocks(FxHashMap<u32, VecDeque<Id>>);

impl PageLocks {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_held(&self, lpn: u32) -> bool {
        self.0.contains_key(&lpn)
    }

    /// Queues the job for a page; true if it holds it now.
    pub fn queue(&mut self, lpn: u32, job: Id) -> bool {
        let queue = self.0.entry(lpn).or_default();
        queue.push_back(job);
        queue.len() == 1
    }

    /// The holder lets go; the job that holds the page now.
    pub fn release(&mut self, lpn: u32) -> Option<Id> {
        let queue = self.0.get_mut(&lpn).expect("a held page");
        queue.pop_front();
        let next = queue.front().copied();
        if next.is_none() {
            self.0.remove(&lpn);
        }
        next
    }
}

/// What waits for an update of a stripe to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// The next update, to be started.
    Update(Id),
    /// A repair, to be tried again.
    Repair(crate::core::target::Target),
}

/// Stripes that are being updated, with what waits for each in order. Never iterated.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripeLocks(FxHashMap<u32, VecDeque<Waiter>>);

impl StripeLocks {
    pub fn is_held(&self, stripe: StripeId) -> bool {
        self.0.contains_key(&stripe.0)
    }

    pub fn lock(&mut self, stripe: StripeId) {
        let before = self.0.insert(stripe.0, VecDeque::new());
        debug_assert!(before.is_none(), "locked twice");
    }

    pub fn wait(&mut self, stripe: StripeId, waiter: Waiter) {
        self.0.get_mut(&stripe.0).expect("waits for a stripe that is locked").push_back(waiter);
    }

    /// As [`Self::wait`], before everything that waits already.
    pub fn wait_first(&mut self, stripe: StripeId, waiter: Waiter) {
        self.0.get_mut(&stripe.0).expect("waits for a stripe that is locked").push_front(waiter);
    }

    /// What waits first for a locked stripe.
    pub fn first_waiting(&self, stripe: StripeId) -> Option<Waiter> {
        self.0.get(&stripe.0).and_then(|queue| queue.front().copied())
    }

    /// Takes out what waits first.
    pub fn take_first(&mut self, stripe: StripeId) {
        self.0.get_mut(&stripe.0).expect("a locked stripe").pop_front();
    }

    /// What waits next, taken out: repairs before updates, because an update may wait for space
    /// that a repair is to make. The stripe stays locked; unlocks where nothing waits.
    pub fn next(&mut self, stripe: StripeId) -> Option<Waiter> {
        let queue = self.0.get_mut(&stripe.0).expect("a locked stripe");
        let repair = queue.iter().position(|waiter| matches!(waiter, Waiter::Repair(_)));
        let next = queue.remove(repair.unwrap_or(0));
        if next.is_none() {
            self.0.remove(&stripe.0);
        }
        next
    }
}
