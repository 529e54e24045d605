//! An update of a stripe from its start to its end: who goes first, and who goes on behind it.

use crate::core::Core;
use crate::core::effects::{Effect, Parcel};
use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use crate::core::jobs::{Asker, PageWrite};
use crate::core::stripe_step::{Attempt, StripeStep};
use crate::core::target::Target;
use crate::write::stripes::Stripes;
use crate::write::stripes::locks::Waiter;
use crate::write::stripes::op::{Progress, Work};
use device::slab::JobId;
use device::waits::Wait;
use ftl::Place;
use protect::ParityRule;
use std::ops::Range;
use vocab::StripeId;

impl<P: FlashPayload> Stripes<P> {
    /// The stripe of an update.
    pub fn stripe_of_op(&self, op: OpId) -> StripeId {
        self.ops[op].stripe
    }

    /// Whether the update writes what leaves the write buffer.
    pub(super) fn is_eviction(&self, core: &Core<P>, op: OpId) -> bool {
        self.ops[op].job.is_some_and(|job| core.jobs[job].asker == Asker::Buffer)
    }

    /// A fresh update.
    pub(super) fn new_update(&mut self, stripe: StripeId, work: Work) -> OpId {
        let id = self.ops.take();
        self.ops[id].reset(stripe, work);
        id
    }

    /// Cuts the job into updates, each of one stripe or, where the scheme wants a parity for each page, of one page. They
    /// start in order.
    pub fn place(&mut self, core: &mut Core<P>, job: JobId) {
        let by_width = self.by_width;
        let per = core.device.grid.geometry().sectors_per_slot();
        let mut first = 0;
        while let Some(page) = core.jobs[job].pages.get(first) {
            let stripe = self.strip_of(page.lpn).0;
            let is_of_stripe = |page: &&PageWrite<P>| by_width.split(page.lpn.0).0 == stripe.0;
            let of_stripe = core.jobs[job].pages[first..].iter().take_while(is_of_stripe).count();
            let together = match self.scheme().parity_rule() {
                ParityRule::PageUnlessFull if of_stripe < by_width.divisor() as usize => 1,
                ParityRule::Page => 1,
                ParityRule::Request | ParityRule::PageUnlessFull => of_stripe,
            };
            let id = self.new_update(stripe, Work::Write);
            let op = &mut self.ops[id];
            for page in &core.jobs[job].pages[first..first + together] {
                let strip = by_width.split(page.lpn.0).1;
                op.strips.push(strip);
                op.written.insert(strip);
                if (page.from, page.to) != (0, per) {
                    op.reads.merge.insert(strip);
                }
            }
            (op.job, op.first_page) = (Some(job), first);
            first += op.strips.len();
            core.update_begins(id, Some(job));
            core.jobs[job].remaining += 1;
            core.jobs[job].next = first;
            // Most jobs are one update.
            let is_only = together == core.jobs[job].pages.len();
            if is_only && core.out.is_empty() {
                return self.start(core, id);
            }
            Self::later(core, StripeStep::Start { op: id });
        }
    }

    /// Starts the update once no other of its stripe is under way.
    pub(super) fn start(&mut self, core: &mut Core<P>, id: OpId) {
        let stripe = self.ops[id].stripe;
        if !self.locks.lock(stripe) {
            self.locks.wait(stripe, Waiter::Update(id));
            return;
        }
        self.merge_what_is_not_stored(core, id);
        self.plan(core, id);
    }

    /// Starts work that GC may be waiting for: before queued updates of its stripe, and
    /// before one that waits for space, because the space may be waiting for this very work.
    pub(super) fn start_urgent(&mut self, core: &mut Core<P>, id: OpId) {
        let stripe = self.ops[id].stripe;
        if self.locks.lock(stripe) {
            self.plan(core, id);
            return;
        }
        self.locks.wait_first(stripe, Waiter::Update(id));
        let gives_way = |op: &OpId| self.ops[*op].stripe == stripe && self.ops[*op].is_write();
        if let Some(at) = self.stalled.iter().position(gives_way) {
            let stalled = self.stalled.remove(at).expect("found above");
            self.give_way(core, stalled);
        }
    }

    /// A write that would wait for space lets urgent work of its stripe go first; true if there is any.
    /// It has changed nothing yet and starts again behind it. Urgent work itself stays first:
    /// otherwise two would start again for each other for ever.
    pub(super) fn give_way(&mut self, core: &mut Core<P>, id: OpId) -> bool {
        let stripe = self.ops[id].stripe;
        let urgent = match self.locks.first_waiting(stripe) {
            Some(Waiter::Update(first)) if self.ops[id].is_write() && !self.ops[first].is_write() => first,
            _ => return false,
        };
        self.locks.take_first(stripe);
        self.locks.wait_first(stripe, Waiter::Update(id));
        self.give_promise_back(core, id);
        self.plan(core, urgent);
        true
    }

    /// Strips without stored (or with discarded) contents complete a page with zeros.
    fn merge_what_is_not_stored(&mut self, core: &mut Core<P>, id: OpId) {
        for strip in self.ops[id].reads.merge.iter() {
            let lpn = self.lpn_of(core, self.ops[id].stripe, strip).expect("a written page exists");
            if core.map.lookup(lpn) == Place::Unmapped || core.is_hidden(lpn) {
                self.merge_strip(core, id, strip, &P::default());
            }
        }
    }

    /// The old contents of a partly written page are known.
    pub(super) fn merge_strip(&mut self, core: &mut Core<P>, id: OpId, strip: u32, old: &P) {
        let op = &mut self.ops[id];
        op.reads.merge.remove(strip);
        let index = op.strips.iter().position(|&s| s == strip).expect("a written strip");
        core.jobs[op.job()].merge(op.first_page + index, old);
    }

    /// Everything was read: programs the update, or lets it wait for space.
    pub(super) fn program_or_wait(&mut self, core: &mut Core<P>, id: OpId) {
        let op = &self.ops[id];
        // A buffer has answered for each of its pages: what became of another stripe of the job is nothing to this one.
        let is_in_vain = op.lost.lacks_contents || op.is_write() && core.jobs[op.job()].failed && !self.is_eviction(core, id);
        if is_in_vain {
            self.finish(core, id);
        } else if op.is_write() && !self.stalled.is_empty() {
            self.lacks_space(core, id, Attempt::First);
        } else {
            self.look_for_space(core, id, Attempt::First);
        }
    }

    /// The update has to wait for space.
    pub(super) fn lacks_space(&mut self, core: &mut Core<P>, id: OpId, attempt: Attempt) {
        let gives_way = self.give_way(core, id);
        match attempt {
            Attempt::Again if gives_way => Self::later(core, StripeStep::RetryStalled),
            Attempt::Again => self.stalled.push_front(id),
            Attempt::First if gives_way => {}
            Attempt::First if self.ops[id].is_write() => self.stalled.push_back(id),
            // GC waits for it: it goes before all that wait for GC.
            Attempt::First => self.stalled.push_front(id),
        }
    }

    /// Tries again what waits for space, in order, as far as there is any.
    pub fn retry_stalled(&mut self, core: &mut Core<P>) {
        if let Some(op) = self.stalled.pop_front() {
            self.look_for_space(core, op, Attempt::Again);
        }
    }

    /// The update ended: what it held back is released, then who waits for it goes on.
    pub(super) fn finish(&mut self, core: &mut Core<P>, id: OpId) {
        let op = &mut self.ops[id];
        let (stripe, work, job) = (op.stripe, op.work, op.job);
        if std::mem::take(&mut op.parity.promised) {
            self.held.give_back();
        }
        if op.parity.replaces_partial {
            self.held.left();
        }
        if core.is_mountable() {
            self.held.settled(stripe);
        }
        if work == Work::Commit {
            self.held.commit_ended(stripe);
        }
        for &unit in &op.pins {
            core.release(unit);
        }
        op.heals = false;
        self.ops.give(id);
        match work {
            Work::Write => {
                let job = job.expect("a job brings new contents");
                core.update_ended(id, job);
                core.part_done(job);
            }
            Work::Commit => {}
            Work::Build { waiter } => core.out.send(Parcel::ParityBuilt { waiter }),
        }
        Self::later(core, StripeStep::HandLockOn { stripe });
    }

    /// Hands the lock on. Whoever waits keeps its place: an update that ends at once, because
    /// its die is dead, must not let a later one overtake those in the queue.
    pub(super) fn hand_lock_on(&mut self, core: &mut Core<P>, stripe: StripeId) {
        match self.locks.next(stripe) {
            Some(Waiter::Repair(target)) => {
                core.out.send(Parcel::Solve { target });
                Self::later(core, StripeStep::HandLockOn { stripe });
            }
            Some(Waiter::Update(op)) => {
                self.merge_what_is_not_stored(core, op);
                self.plan(core, op);
                Self::later(core, StripeStep::Ended { stripe });
            }
            None => self.ended(core, stripe),
        }
    }

    /// An update of the stripe ended and its lock was handed on.
    pub(super) fn ended(&mut self, core: &mut Core<P>, stripe: StripeId) {
        let serves = self.held.has_waiting();
        if serves {
            Self::later(core, StripeStep::ServeWaiting);
        }
        // Most stripes have no partial parity, and get none in between.
        if serves || self.held.get(stripe).is_some() {
            Self::later(core, StripeStep::CommitIfDue { stripe });
        }
        core.out.push(Effect::RetryJobs);
    }

    /// No more space comes: the first update that waits for space fails, and with it whoever waits for what it
    /// was to do. True if there was one.
    pub fn fail_first_stalled(&mut self, core: &mut Core<P>) -> bool {
        let Some(op) = self.stalled.pop_front() else { return false };
        if self.is_eviction(core, op) {
            core.out.push(Effect::FailBufferWaiter);
        }
        Self::later(core, StripeStep::FailWaitingForCommit { op });
        Self::later(core, StripeStep::Fail { op });
        true
    }

    /// If the update is a commit, the first update that waits for the room that it was to make fails.
    pub(super) fn fail_waiting_for_commit(&mut self, core: &mut Core<P>, id: OpId) {
        if self.ops[id].work == Work::Commit {
            self.fail_first_waiting_for_room(core);
        }
    }

    /// There is no space for the update and there never will be.
    pub(super) fn fail(&mut self, core: &mut Core<P>, id: OpId) {
        let op = &self.ops[id];
        debug_assert_eq!(op.progress, Progress::Reading);
        if let Some(job) = op.job {
            (core.jobs[job].failed, core.jobs[job].no_room) = (true, true);
            core.update_waited(id, Wait::Space);
        }
        self.held.found_no_space(op.stripe, op.work);
        self.finish(core, id);
    }

    /// Whether an update of the stripe is half in the map: a repair must wait for its end.
    pub fn is_being_programmed(&self, stripe: StripeId) -> bool {
        self.locks.is_held(stripe)
            && self.ops.any(|op| op.stripe == stripe && op.progress == Progress::Programming && op.under_way > 0)
    }

    /// Whether an update of a stripe of these logical pages is under way.
    pub fn is_any_locked(&self, pages: Range<u32>) -> bool {
        let n = self.data_strips();
        (pages.start / n..pages.end.div_ceil(n)).any(|stripe| self.locks.is_held(StripeId(stripe)))
    }

    /// Tries the repair again when the stripe's update under way has ended.
    pub fn wait_for_stripe(&mut self, stripe: StripeId, target: Target) {
        self.locks.wait(stripe, Waiter::Repair(target));
    }
}
