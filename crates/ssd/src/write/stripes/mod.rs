//! Writing static stripes: the scheme says what to add up, this file reads it, adds, and
//! programs data and parity as one update, or leaves the parity in the parity cache (`held`).
//! Commits of partial parity and the building of missing parity are updates that write no data.
//! Updates of one stripe are serial.

pub(crate) mod map;
pub(crate) mod mount;
pub(crate) mod partial;

use crate::config::Power;
use crate::core::jobs::StripeLocks;
use crate::core::jobs::{Asker, Waiter};
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{Command, data_of, oob_covering};
use crate::engine::Engine;
use crate::write::stripes::partial::ParityCache;
use device::contents::HostPayload;
use device::image::Contents;
use device::slab::{Id, NONE, Slab};
use ftl::{Place, Stream};
use nand::{FlashArray, OobTag};
use protect::StripeScheme;
use protect::{CommitPlan, StripeCommit, StripePlan, StripeWrite};
use std::collections::{BTreeSet, VecDeque};
use vocab::PeCycles;
use vocab::{Cause, DieId, Ppn, StripSet, StripeId};

/// What an update of a stripe is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Work {
    /// New contents of the host, or of the write buffer.
    #[default]
    Write,
    /// Full parity from a partial one.
    Commit,
    /// Parity where there is none. A collector may wait for it to move a page.
    Build { waiter: Option<Target> },
}

/// What becomes of the parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Outcome {
    /// It goes to flash.
    #[default]
    Program,
    /// It goes to the parity cache, with the strips it covers.
    Hold(StripSet),
    /// There is none any more.
    Forget,
}

/// How far a stripe update is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Old contents are being read. The map still shows the old stripe, whole.
    #[default]
    Reading,
    /// New contents are being programmed. Old ones are pinned until all are durable.
    Programming,
}

/// An update of one stripe.
#[derive(Clone, Debug)]
pub(crate) struct StripeOp<P> {
    stripe: StripeId,
    pub work: Work,
    /// The job that brings new contents, if any.
    job: Id,
    /// First page of the job in this stripe; `strips` has one entry for it and each that follows.
    first_page: usize,
    /// The strip of each page.
    strips: Vec<u32>,
    written: StripSet,
    /// Strips to add up, and strips whose old contents complete a partly written page.
    add: StripSet,
    /// Whether those to add up are the versions that the stored parity covers.
    add_old: bool,
    merge: StripSet,
    outcome: Outcome,
    /// Whether room in the parity cache was promised.
    promised: bool,
    /// Written strips that the plan expects on worn blocks.
    worn_after: StripSet,
    /// Strips found unreadable: current versions, and old ones of a partial parity.
    unreadable: StripSet,
    unreadable_old: StripSet,
    sum: P,
    stage: Stage,
    /// Rank of what it writes.
    rank: u64,
    /// Reads or programs under way.
    under_way: u32,
    pins: Vec<u32>,
    /// Old versions of strips that join the partial parity.
    joined: Vec<(u32, Place)>,
    /// Whether a partial parity gives way to this update.
    left: bool,
    /// Whether the drive recovers and the stripe lacked something: until this is durable it does.
    pub heals: bool,
}

impl<P: Default> Default for StripeOp<P> {
    fn default() -> Self {
        Self {
            stripe: StripeId(0),
            work: Work::Write,
            job: NONE,
            first_page: 0,
            strips: Vec::new(),
            written: StripSet::EMPTY,
            add: StripSet::EMPTY,
            add_old: false,
            merge: StripSet::EMPTY,
            outcome: Outcome::Program,
            promised: false,
            worn_after: StripSet::EMPTY,
            unreadable: StripSet::EMPTY,
            unreadable_old: StripSet::EMPTY,
            sum: P::default(),
            stage: Stage::Reading,
            rank: 0,
            under_way: 0,
            pins: Vec::new(),
            joined: Vec::new(),
            left: false,
            heals: false,
        }
    }
}

/// Static stripes being written.
#[derive(Clone, Debug)]
pub(crate) struct Stripes<P> {
    pub ops: Slab<StripeOp<P>>,
    pub locks: StripeLocks,
    /// Updates that wait for space, in order.
    pub stalled: VecDeque<Id>,
    /// Partial parities.
    pub held: ParityCache<P>,
    /// P/E cycles above which the scheme takes a block for worn.
    pub worn_above: Option<PeCycles>,
    /// Rank of the contents of each logical page, of a drive that is to be mounted.
    pub versions: Vec<u64>,
    /// The same for the parity of each stripe; 0: none.
    pub parity_versions: Vec<u64>,
    /// Stripes of which no page names the newest consistent state: one that is written anew does.
    pub unnamed: BTreeSet<StripeId>,
}

impl<P: HostPayload> Stripes<P> {
    /// Stripes of `scheme`, if that has any, over so many logical pages.
    pub fn new(scheme: Option<&dyn StripeScheme>, power: &Power, user_slots: u32) -> Self {
        let width = scheme.filter(|_| power.mountable).map(|scheme| scheme.data_strips());
        Self {
            ops: Slab::default(),
            locks: StripeLocks::default(),
            stalled: VecDeque::new(),
            held: ParityCache::new(scheme.map_or(0, |scheme| scheme.parity_cache())),
            worn_above: scheme.and_then(|scheme| scheme.worn_above()),
            versions: vec![0; width.map_or(0, |_| user_slots as usize)],
            parity_versions: vec![0; width.map_or(0, |width| user_slots.div_ceil(width) as usize)],
            unnamed: BTreeSet::new(),
        }
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn stripe_of_op(&self, op: Id) -> StripeId {
        self.writer.stripes.ops[op].stripe
    }

    /// Whether the update writes what leaves the write buffer.
    pub(crate) fn is_eviction(&self, op: Id) -> bool {
        let job = self.writer.stripes.ops[op].job;
        job != NONE && self.core.jobs[job].asker == Asker::Buffer
    }

    /// A fresh update, keeping the buffers of a recycled one.
    pub(crate) fn new_stripe_work(&mut self, stripe: StripeId, work: Work) -> Id {
        let id = self.writer.stripes.ops.take();
        let op = &mut self.writer.stripes.ops[id];
        let (mut strips, mut pins) = (std::mem::take(&mut op.strips), std::mem::take(&mut op.pins));
        strips.clear();
        pins.clear();
        *op = StripeOp { stripe, work, strips, pins, ..StripeOp::default() };
        id
    }

    /// Cuts the job into stripe updates.
    pub(crate) fn place_in_stripes(&mut self, job: Id) -> bool {
        let mut first = 0;
        while let Some(page) = self.core.jobs[job].pages.get(first) {
            let (stripe, _) = self.strip_of(page.lpn);
            let n = self.stripe_scheme().data_strips();
            let per = self.core.device.grid.geometry().sectors_per_slot();
            let id = self.new_stripe_work(stripe, Work::Write);
            let op = &mut self.writer.stripes.ops[id];
            for page in &self.core.jobs[job].pages[first..] {
                if page.lpn.0 / n != stripe.0 {
                    break;
                }
                op.strips.push(page.lpn.0 % n);
                op.written.insert(page.lpn.0 % n);
                if (page.from, page.to) != (0, per) {
                    op.merge.insert(page.lpn.0 % n);
                }
            }
            (op.job, op.first_page) = (job, first);
            first += op.strips.len();
            self.core.jobs[job].remaining += 1;
            self.lock_and_start(id);
        }
        self.core.jobs[job].next = first;
        true
    }

    /// Starts the update once no other of its stripe is under way.
    pub(crate) fn lock_and_start(&mut self, id: Id) {
        let stripe = self.writer.stripes.ops[id].stripe;
        if self.writer.stripes.locks.is_held(stripe) {
            self.writer.stripes.locks.wait(stripe, Waiter::Update(id));
            return;
        }
        self.writer.stripes.locks.lock(stripe);
        self.merge_what_is_not_stored(id);
        self.read_stripe(id);
    }

    /// Starts work that collection may be waiting for: before queued updates of its stripe, and
    /// before one that waits for space, because the space may be waiting for this very work.
    pub(crate) fn start_urgent(&mut self, id: Id) {
        let stripe = self.writer.stripes.ops[id].stripe;
        if !self.writer.stripes.locks.is_held(stripe) {
            self.writer.stripes.locks.lock(stripe);
            self.read_stripe(id);
            return;
        }
        self.writer.stripes.locks.wait_first(stripe, Waiter::Update(id));
        let gives_way =
            |op: &Id| self.writer.stripes.ops[*op].stripe == stripe && self.writer.stripes.ops[*op].work == Work::Write;
        if let Some(at) = self.writer.stripes.stalled.iter().position(gives_way) {
            let stalled = self.writer.stripes.stalled.remove(at).expect("found above");
            self.give_way(stalled);
        }
    }

    /// A write that would wait for space lets urgent work of its stripe go first; true if there is any.
    /// It has changed nothing yet and starts again behind it. What is urgent itself stays first:
    /// otherwise two would start anew for each other for ever.
    pub(crate) fn give_way(&mut self, id: Id) -> bool {
        let stripe = self.writer.stripes.ops[id].stripe;
        let is_write = |op: Id| self.writer.stripes.ops[op].work == Work::Write;
        let urgent = match self.writer.stripes.locks.first_waiting(stripe) {
            Some(Waiter::Update(first)) if is_write(id) && !is_write(first) => first,
            _ => return false,
        };
        self.writer.stripes.locks.take_first(stripe);
        self.writer.stripes.locks.wait_first(stripe, Waiter::Update(id));
        self.give_promise_back(id);
        self.read_stripe(urgent);
        true
    }

    /// Strips without stored (or with discarded) contents complete a page with zeros.
    fn merge_what_is_not_stored(&mut self, id: Id) {
        for strip in self.writer.stripes.ops[id].merge.iter() {
            let lpn = self.lpn_of(self.writer.stripes.ops[id].stripe, strip).expect("a written page exists");
            if self.core.map.lookup(lpn) == Place::Unmapped || self.core.is_hidden(lpn) {
                self.merge_strip(id, strip, &P::default());
            }
        }
    }

    fn merge_strip(&mut self, id: Id, strip: u32, old: &P) {
        let op = &mut self.writer.stripes.ops[id];
        op.merge.remove(strip);
        let index = op.strips.iter().position(|&s| s == strip).expect("a written strip");
        let (job, page) = (op.job, op.first_page + index);
        self.merge(job, page, old);
    }

    /// Asks the scheme, then reads what it wants to add and what completes partial pages.
    fn read_stripe(&mut self, id: Id) {
        let go_on = match self.writer.stripes.ops[id].work {
            Work::Write => self.plan_write(id),
            Work::Commit => self.plan_commit(id),
            Work::Build { .. } => self.plan_build(id),
        };
        if go_on {
            self.read_what_is_planned(id);
        }
    }

    /// What the scheme sees of a write.
    fn stripe_write(&mut self, id: Id) -> StripeWrite {
        let (stripe, written, job) =
            (self.writer.stripes.ops[id].stripe, self.writer.stripes.ops[id].written, self.writer.stripes.ops[id].job);
        let (present, unreadable) = self.stripe_state(stripe);
        let worn = self.worn_strips(stripe);
        StripeWrite {
            stripe,
            written,
            present,
            has_parity: self.core.map.lookup_parity(stripe) != Place::Unmapped,
            held: self.writer.stripes.held.get(stripe).map(|held| held.covers),
            unreadable: unreadable.or(self.writer.stripes.ops[id].unreadable),
            worn,
            worn_after: self.worn_places(stripe, written),
            long: self.core.jobs[job].long,
        }
    }

    /// False if the update has to wait for room in the parity cache.
    fn plan_write(&mut self, id: Id) -> bool {
        let write = self.stripe_write(id);
        let plan = self.stripe_scheme().plan(&write);
        let op = &mut self.writer.stripes.ops[id];
        (op.unreadable, op.worn_after, op.add_old) = (write.unreadable, write.worn_after, false);
        op.sum = P::default();
        (op.outcome, op.add) = match plan {
            StripePlan::Parity { add } => (Outcome::Program, add),
            StripePlan::Hold { add, covers, .. } => (Outcome::Hold(covers), add),
            StripePlan::NoParity => (Outcome::Forget, StripSet::EMPTY),
        };
        if let StripePlan::Hold { keep: true, .. } = plan {
            let held = self.writer.stripes.held.get(write.stripe).expect("only what is held can be kept");
            self.writer.stripes.ops[id].sum.add(&held.sum);
        }
        if !matches!(plan, StripePlan::Hold { .. }) || write.held.is_some() {
            self.give_promise_back(id);
            return true;
        }
        if self.writer.stripes.ops[id].promised {
            return true;
        }
        // Where it has to wait, it may have waited, and gone on, by the time this returns.
        let room = self.room_to_hold(id);
        self.writer.stripes.ops[id].promised |= room;
        room
    }

    /// The update needs no new entry in the parity cache after all.
    fn give_promise_back(&mut self, id: Id) {
        if std::mem::take(&mut self.writer.stripes.ops[id].promised) {
            self.writer.stripes.held.give_back();
            self.core.retry |= self.writer.stripes.held.has_waiting();
        }
    }

    /// An update that waited for room in the parity cache has it. Meanwhile the stripe may have
    /// lost a strip, so the plan is made anew.
    pub(crate) fn room_was_promised(&mut self, id: Id) {
        self.writer.stripes.ops[id].promised = true;
        let write = self.stripe_write(id);
        let still = matches!(self.stripe_scheme().plan(&write), StripePlan::Hold { .. });
        if still && write.unreadable == self.writer.stripes.ops[id].unreadable {
            self.read_what_is_planned(id);
        } else {
            self.read_stripe(id);
        }
    }

    fn plan_commit(&mut self, id: Id) -> bool {
        let stripe = self.writer.stripes.ops[id].stripe;
        let Some(held) = self.writer.stripes.held.get(stripe) else {
            // An update was faster and wrote full parity.
            self.finish_stripe(id);
            return false;
        };
        let n = self.stripe_scheme().data_strips();
        let (mut old, mut unreadable_old) = (StripSet::EMPTY, self.writer.stripes.ops[id].unreadable_old);
        for &(strip, place) in &held.old {
            if place != Place::Unmapped {
                old.insert(strip);
            }
            if self.is_lost_place(place) {
                unreadable_old.insert(strip);
            }
        }
        if self.is_lost_place(self.core.map.lookup_parity(stripe)) {
            unreadable_old.insert(n);
        }
        let (present, unreadable) = self.stripe_state(stripe);
        let unreadable = unreadable.or(self.writer.stripes.ops[id].unreadable);
        let has_parity = self.core.map.lookup_parity(stripe) != Place::Unmapped;
        let commit = StripeCommit { held: held.covers, present, has_parity, unreadable, unreadable_old, old };
        let sum = held.sum.clone();
        let plan = self.stripe_scheme().commit(&commit);
        let op = &mut self.writer.stripes.ops[id];
        (op.unreadable, op.unreadable_old, op.sum) = (unreadable, unreadable_old, sum);
        (op.outcome, op.add, op.add_old) = match plan {
            CommitPlan::Current(add) => (Outcome::Program, add, false),
            CommitPlan::Old(old) => (Outcome::Program, old.or(StripSet::one(n)), true),
            CommitPlan::NoParity => (Outcome::Forget, StripSet::EMPTY, false),
        };
        true
    }

    /// Parity over what is present, where there is none.
    fn plan_build(&mut self, id: Id) -> bool {
        let stripe = self.writer.stripes.ops[id].stripe;
        let (present, unreadable) = self.stripe_state(stripe);
        let unreadable = unreadable.or(self.writer.stripes.ops[id].unreadable);
        let protected = self.is_protected(stripe);
        if protected || present.is_empty() || !present.and(unreadable).is_empty() {
            if !protected {
                self.writer.stripes.held.not_buildable(stripe);
            }
            self.finish_stripe(id);
            return false;
        }
        let op = &mut self.writer.stripes.ops[id];
        (op.add, op.unreadable, op.sum, op.outcome) = (present, unreadable, P::default(), Outcome::Program);
        true
    }

    fn read_what_is_planned(&mut self, id: Id) {
        let op = &self.writer.stripes.ops[id];
        let (stripe, add_old, unreadable) = (op.stripe, op.add_old, op.unreadable);
        let n = self.stripe_scheme().data_strips();
        let reads = op.add.or(op.merge.minus(unreadable));
        let lost_merges = op.merge.and(unreadable);
        self.writer.stripes.ops[id].under_way = reads.len() + lost_merges.len();
        for strip in reads.iter() {
            let old = if add_old && strip < n {
                self.writer.stripes.held.get(stripe).and_then(|held| held.old_place(strip))
            } else {
                None
            };
            let place = old.unwrap_or_else(|| self.place_of_strip(stripe, strip));
            let Place::At(slot) = place else { unreachable!("a readable strip has a place, found {place:?}") };
            let cause =
                if strip == n || self.writer.stripes.ops[id].add.contains(strip) { Cause::Parity } else { Cause::HostRmw };
            let (owner, ppn) = (Owner::Stripe { op: id, strip: strip as u8 }, self.core.device.grid.page_of(slot).0);
            self.core.submit(Command { owner, ppn, cause, ..Command::default() });
        }
        for strip in lost_merges.iter() {
            self.repair(Target::StripeMerge { op: id, strip });
        }
        if reads.or(lost_merges).is_empty() {
            self.program_stripe_or_wait(id);
        }
    }

    /// A strip was read.
    pub(crate) fn stripe_read_done(&mut self, ppn: Ppn, id: Id, strip: u32, clean: bool) {
        let payload = if clean {
            Some(self.core.device.array.page(ppn).payload[0].clone())
        } else {
            self.core.device.displaced_contents(ppn, 0)
        };
        if let Some(payload) = payload {
            if self.writer.stripes.ops[id].add.contains(strip) {
                self.writer.stripes.ops[id].sum.add(&payload);
            }
            if self.writer.stripes.ops[id].merge.contains(strip) {
                self.merge_strip(id, strip, &payload);
            }
        } else if self.writer.stripes.ops[id].add_old {
            self.writer.stripes.ops[id].unreadable_old.insert(strip);
        } else if let Some(ppn) = self.moved_on(self.writer.stripes.ops[id].stripe, strip, ppn) {
            let owner = Owner::Stripe { op: id, strip: strip as u8 };
            self.core.submit(Command { owner, ppn, cause: Cause::Parity, ..Command::default() });
            return;
        } else {
            self.writer.stripes.ops[id].unreadable.insert(strip);
        }
        self.stripe_step_done(id);
    }

    /// A strip that could not be read was solved for, or is lost.
    pub(crate) fn stripe_merge_repaired(&mut self, id: Id, strip: u32, old: Option<&P>) {
        match old {
            Some(old) => self.merge_strip(id, strip, old),
            None => {
                self.writer.stripes.ops[id].merge.remove(strip);
                let job = self.writer.stripes.ops[id].job;
                self.core.jobs[job].failed = true;
            }
        }
        self.stripe_step_done(id);
    }

    fn stripe_step_done(&mut self, id: Id) {
        self.writer.stripes.ops[id].under_way -= 1;
        if self.writer.stripes.ops[id].under_way > 0 {
            return;
        }
        let op = &self.writer.stripes.ops[id];
        // Another way round what turned out to be unreadable: the scheme decides again.
        let missed = if op.add_old { op.unreadable_old } else { op.unreadable };
        if !op.add.or(op.merge).and(missed).is_empty() {
            self.read_stripe(id);
        } else {
            self.program_stripe_or_wait(id);
        }
    }

    fn program_stripe_or_wait(&mut self, id: Id) {
        let (work, job) = (self.writer.stripes.ops[id].work, self.writer.stripes.ops[id].job);
        if work == Work::Write {
            if self.core.jobs[job].failed {
                self.finish_stripe(id);
            } else if (!self.writer.stripes.stalled.is_empty() || !self.program_stripe(id)) && !self.give_way(id) {
                self.writer.stripes.stalled.push_back(id);
            }
        } else if !self.program_stripe(id) {
            // Collection waits for it: it goes before all that wait for collection.
            self.writer.stripes.stalled.push_front(id);
        }
    }

    /// Strips that the update programs.
    fn strips_to_program(&self, id: Id) -> StripSet {
        let op = &self.writer.stripes.ops[id];
        match op.outcome {
            Outcome::Program => op.written.or(StripSet::one(self.stripe_scheme().data_strips())),
            _ => op.written,
        }
    }

    /// Programs data and parity; false, and nothing done, if a die lacks space. All or nothing:
    /// an update that waits has changed nothing, so repairs of its stripe can go ahead.
    pub(crate) fn program_stripe(&mut self, id: Id) -> bool {
        let (stripe, work) = (self.writer.stripes.ops[id].stripe, self.writer.stripes.ops[id].work);
        let stream = if work == Work::Write { Stream::Host } else { Stream::Commit };
        let targets = self.strips_to_program(id);
        let mut room = true;
        for strip in targets.iter() {
            let Some(log) = self.home_of(stripe, strip).map(DieId::index) else { continue };
            if !self.core.map.has_room(log, stream) {
                self.start_collecting_if_short(log);
                room = false;
            }
        }
        if !room {
            return false;
        }
        let worn_after = self.worn_places(stripe, self.writer.stripes.ops[id].written);
        if self.writer.stripes.ops[id].worn_after != worn_after {
            // A frontier has reached a block of another age since the plan was made.
            self.read_stripe(id);
            return true;
        }
        debug_assert_eq!((self.writer.stripes.ops[id].stage, self.writer.stripes.ops[id].under_way), (Stage::Reading, 0));
        self.writer.stripes.ops[id].rank = self.core.device.next_rank();
        self.writer.stripes.held.buildable_again(stripe);
        self.writer.stripes.ops[id].heals |= self.core.safe.recovering && self.lacks_a_strip(stripe);
        self.writer.stripes.ops[id].stage = Stage::Programming;
        self.writer.stripes.ops[id].under_way = 1;
        self.program_data(id, targets);
        self.program_parity(id, targets, stream);
        // Not before: collection may commit other stripes, which take pages that this one was
        // promised.
        for strip in targets.iter() {
            if let Some(die) = self.home_of(stripe, strip) {
                self.start_collecting_if_short(die.index());
            }
        }
        self.stripe_programmed(id);
        true
    }

    fn program_data(&mut self, id: Id, targets: StripSet) {
        for index in 0..self.writer.stripes.ops[id].strips.len() {
            let op = &self.writer.stripes.ops[id];
            let (stripe, strip, page) = (op.stripe, op.strips[index], op.first_page + index);
            let page = &self.core.jobs[op.job].pages[page];
            let (lpn, payload) = (page.lpn, page.payload.clone());
            self.writer.stripes.ops[id].sum.add(&payload);
            self.core.hide(lpn, false);
            let old = self.core.map.lookup(lpn);
            let pinned = self.program_strip(id, strip, OobTag::data(lpn), payload, targets, Stream::Host);
            self.note_move(stripe, old, self.core.map.lookup(lpn));
            self.keep_or_pin(id, strip, old, pinned);
        }
    }

    /// The version that a partial parity needs stays pinned as long as that is held, any other
    /// until the update is durable.
    fn keep_or_pin(&mut self, id: Id, strip: u32, old: Place, pinned: Option<u32>) {
        let stripe = self.writer.stripes.ops[id].stripe;
        let joins = matches!(self.writer.stripes.ops[id].outcome, Outcome::Hold(_))
            && self.writer.stripes.held.get(stripe).is_none_or(|held| held.old_place(strip).is_none());
        if joins {
            self.writer.stripes.ops[id].joined.push((strip, old));
        } else {
            self.writer.stripes.ops[id].pins.extend(pinned);
        }
    }

    fn program_parity(&mut self, id: Id, targets: StripSet, stream: Stream) {
        let (stripe, outcome) = (self.writer.stripes.ops[id].stripe, self.writer.stripes.ops[id].outcome);
        let sum = self.writer.stripes.ops[id].sum.clone();
        match outcome {
            Outcome::Program => {
                let n = self.stripe_scheme().data_strips();
                self.give_up_partial_parity(id);
                let pinned = self.program_strip(id, n, OobTag::parity(stripe), sum, targets, stream);
                self.writer.stripes.ops[id].pins.extend(pinned);
            }
            Outcome::Hold(covers) => {
                let old = std::mem::take(&mut self.writer.stripes.ops[id].joined);
                self.writer.stripes.ops[id].promised = false;
                let ftl = &self.core.map;
                self.writer.stripes.held.put(stripe, covers, sum, old, |slot| ftl.unit_of(slot));
                if self.core.is_mountable() {
                    let versions = self.versions_of_stripe(stripe, self.writer.stripes.ops[id].rank);
                    self.writer.stripes.held.stamp(stripe, versions);
                }
            }
            Outcome::Forget => {
                self.give_up_partial_parity(id);
                let published = self.core.map.forget_parity(stripe);
                self.note_parity_version(stripe, 0);
                self.writer.stripes.ops[id].pins.extend(published.pinned);
            }
        }
    }

    /// Full parity, or none, replaces a partial one: old versions may go once that is durable.
    fn give_up_partial_parity(&mut self, id: Id) {
        let ftl = &self.core.map;
        let Some(held) = self.writer.stripes.held.take(self.writer.stripes.ops[id].stripe, |slot| ftl.unit_of(slot)) else {
            return;
        };
        let op = &mut self.writer.stripes.ops[id];
        op.left = true;
        op.pins.extend(held.pinned().map(|slot| ftl.unit_of(slot)));
    }

    /// Programs a strip, or records that its die is gone; the unit of the old version, pinned.
    fn program_strip(&mut self, id: Id, strip: u32, tag: OobTag, payload: P, targets: StripSet, stream: Stream) -> Option<u32> {
        let stripe = self.writer.stripes.ops[id].stripe;
        let lpn = data_of(tag);
        match lpn {
            Some(lpn) => self.note_version(lpn, self.writer.stripes.ops[id].rank),
            None => self.note_parity_version(stripe, self.writer.stripes.ops[id].rank),
        }
        let published = if let Some(die) = self.home_of(stripe, strip) {
            let ppn = self.core.map.take_page(die.index(), stream).expect("room was checked");
            let oob = oob_covering(targets.0 as u32);
            let cause = if lpn.is_some() { Cause::Host } else { Cause::Parity };
            let image = self.core.device.images.open(ppn, oob);
            let update = self.writer.stripes.ops[id].rank;
            self.core.device.images.fill(image, Contents { tag, payload, update }, NONE, NONE);
            self.tell_strips(image, stripe, self.writer.stripes.ops[id].written, update);
            self.writer.stripes.ops[id].under_way += 1;
            self.core.submit_program(image, Owner::Stripe { op: id, strip: strip as u8 }, cause);
            let slot = self.core.device.grid.slot(ppn, 0);
            match lpn {
                Some(lpn) => self.core.map.publish(lpn, slot),
                None => self.core.map.publish_parity(stripe, slot),
            }
        } else {
            self.fail_without_parity(id);
            match lpn {
                Some(lpn) => self.core.map.publish_missing(lpn),
                None => self.core.map.publish_missing_parity(stripe),
            }
        };
        published.pinned
    }

    /// What no flash took is lost if no parity has it either: the host must hear of it.
    fn fail_without_parity(&mut self, id: Id) {
        let op = &self.writer.stripes.ops[id];
        if op.work == Work::Write && op.outcome == Outcome::Forget {
            let job = op.job;
            (self.core.jobs[job].failed, self.core.jobs[job].homeless) = (true, true);
        }
    }

    /// A strip is programmed, or lost with its die.
    pub(crate) fn stripe_program_done(&mut self, image: Id, id: Id, done: bool) {
        if !done {
            let (tag, ..) = self.core.device.images.slot(image, 0);
            let slot = self.core.device.grid.slot(self.core.device.images.slab[image].ppn, 0);
            self.lose(tag, slot);
            self.fail_without_parity(id);
        }
        self.stripe_programmed(id);
    }

    fn stripe_programmed(&mut self, id: Id) {
        self.writer.stripes.ops[id].under_way -= 1;
        if self.writer.stripes.ops[id].under_way == 0 {
            self.finish_stripe(id);
        }
    }

    fn finish_stripe(&mut self, id: Id) {
        let op = &mut self.writer.stripes.ops[id];
        let (stripe, work, job) = (op.stripe, op.work, op.job);
        let (left, promised) = (op.left, std::mem::take(&mut op.promised));
        let pins = std::mem::take(&mut op.pins);
        if promised {
            self.writer.stripes.held.give_back();
        }
        if left {
            self.writer.stripes.held.left();
        }
        if self.core.is_mountable() {
            self.writer.stripes.held.settled(stripe);
        }
        if work == Work::Commit {
            self.commit_ended(stripe);
        }
        for &unit in &pins {
            self.release(unit);
        }
        (self.writer.stripes.ops[id].pins, self.writer.stripes.ops[id].heals) = (pins, false);
        self.writer.stripes.ops.give(id);
        match work {
            Work::Write => self.part_done(job),
            Work::Commit => {}
            Work::Build { waiter } => self.parity_built(waiter),
        }
        self.unlock_stripe(stripe);
        if self.writer.stripes.held.has_waiting() {
            self.serve_waiting_for_room();
        }
        if !self.writer.stripes.held.deferred.contains(&stripe.0) {
            self.commit_if_condemned(stripe);
        }
        self.core.retry |= !self.host.stalled.is_empty();
    }

    /// Hands the lock on. Whoever waits keeps its place: an update that ends at once, because
    /// its die is dead, must not let a later one overtake those in the queue.
    fn unlock_stripe(&mut self, stripe: StripeId) {
        while let Some(waiter) = self.writer.stripes.locks.next(stripe) {
            match waiter {
                Waiter::Repair(target) => self.repair(target),
                Waiter::Update(op) => {
                    self.merge_what_is_not_stored(op);
                    self.read_stripe(op);
                    return;
                }
            }
        }
    }

    /// There is no space for the update and there never will be.
    pub(crate) fn fail_stripe(&mut self, id: Id) {
        debug_assert_eq!(self.writer.stripes.ops[id].stage, Stage::Reading);
        let (job, stripe) = (self.writer.stripes.ops[id].job, self.writer.stripes.ops[id].stripe);
        if job != NONE {
            (self.core.jobs[job].failed, self.core.jobs[job].no_room) = (true, true);
        }
        self.parity_found_no_room(stripe, self.writer.stripes.ops[id].work);
        self.finish_stripe(id);
    }

    /// Whether an update of the stripe is half in the map: a repair must wait for its end.
    pub(crate) fn is_being_programmed(&self, stripe: StripeId) -> bool {
        self.writer.stripes.locks.is_held(stripe)
            && self.writer.stripes.ops.any(|op| op.stripe == stripe && op.stage == Stage::Programming && op.under_way > 0)
    }
}
