//! Writing static stripes: the scheme says what to add up, this file reads it, adds, and
//! programs data and parity as one update. Updates of one stripe are serial.

use crate::commands::{Command, Owner};
use crate::jobs::Waiter;
use crate::machine::Machine;
use crate::payload::HostPayload;
use crate::repair::Target;
use crate::slab::{Id, NONE};
use ftl::{Place, Stream};
use nand::{FlashArray, OobTag};
use protect::{Protection, StripePlan, StripeScheme, StripeWrite};
use vocab::{Cause, DieId, Lpn, Ppn, StripSet, StripeId};

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
    job: Id,
    /// First page of the job in this stripe; `strips` has one entry for it and each that follows.
    first_page: usize,
    /// The strip of each page.
    strips: Vec<u32>,
    written: StripSet,
    /// Strips to add up, and strips whose old contents complete a partly written page.
    add: StripSet,
    merge: StripSet,
    parity: bool,
    unreadable: StripSet,
    sum: P,
    stage: Stage,
    /// Reads or programs under way.
    under_way: u32,
    pins: Vec<u32>,
}

impl<P: Default> Default for StripeOp<P> {
    fn default() -> Self {
        Self {
            stripe: StripeId(0),
            job: NONE,
            first_page: 0,
            strips: Vec::new(),
            written: StripSet::EMPTY,
            add: StripSet::EMPTY,
            merge: StripSet::EMPTY,
            parity: true,
            unreadable: StripSet::EMPTY,
            sum: P::default(),
            stage: Stage::Reading,
            under_way: 0,
            pins: Vec::new(),
        }
    }
}

impl<P: HostPayload, A: FlashArray<P>> Machine<P, A> {
    pub(crate) fn stripe_scheme(&self) -> &dyn StripeScheme {
        match &self.protection {
            Protection::Stripes(scheme) => &**scheme,
            _ => unreachable!("only static stripes come here"),
        }
    }

    pub(crate) fn strip_of(&self, lpn: Lpn) -> (StripeId, u32) {
        let n = self.stripe_scheme().data_strips();
        (StripeId(lpn.0 / n), lpn.0 % n)
    }

    pub(crate) fn stripe_of_op(&self, op: Id) -> StripeId {
        self.stripes[op].stripe
    }

    fn lpn_of(&self, stripe: StripeId, strip: u32) -> Option<Lpn> {
        let lpn = stripe.0 * self.stripe_scheme().data_strips() + strip;
        (lpn < self.ftl.user_slots()).then_some(Lpn(lpn))
    }

    pub(crate) fn place_of_strip(&self, stripe: StripeId, strip: u32) -> Place {
        if strip == self.stripe_scheme().data_strips() {
            return self.ftl.lookup_parity(stripe);
        }
        self.lpn_of(stripe, strip).map_or(Place::Unmapped, |lpn| self.ftl.lookup(lpn))
    }

    /// Data strips with stored contents, and strips (parity included) that cannot be read.
    pub(crate) fn stripe_state(&self, stripe: StripeId) -> (StripSet, StripSet) {
        let n = self.stripe_scheme().data_strips();
        let (mut present, mut unreadable) = (StripSet::EMPTY, StripSet::EMPTY);
        for strip in 0..=n {
            let place = self.place_of_strip(stripe, strip);
            if strip < n && place != Place::Unmapped {
                present.insert(strip);
            }
            let lost = match place {
                Place::Unmapped => false,
                Place::Missing => true,
                Place::At(slot) => !self.array.answers(self.grid.page_of(slot).0),
            };
            if lost {
                unreadable.insert(strip);
            }
        }
        (present, unreadable)
    }

    /// Cuts the job into stripe updates.
    pub(crate) fn place_in_stripes(&mut self, job: Id) -> bool {
        let mut first = 0;
        while let Some(page) = self.jobs[job].pages.get(first) {
            let (stripe, _) = self.strip_of(page.lpn);
            let n = self.stripe_scheme().data_strips();
            let per = self.grid.geometry().sectors_per_slot();
            let id = self.stripes.take();
            let (mut strips, mut pins) =
                (std::mem::take(&mut self.stripes[id].strips), std::mem::take(&mut self.stripes[id].pins));
            strips.clear();
            pins.clear();
            let mut op = StripeOp { stripe, job, strips, pins, ..StripeOp::default() };
            for page in &self.jobs[job].pages[first..] {
                if page.lpn.0 / n != stripe.0 {
                    break;
                }
                op.strips.push(page.lpn.0 % n);
                op.written.insert(page.lpn.0 % n);
                if (page.from, page.to) != (0, per) {
                    op.merge.insert(page.lpn.0 % n);
                }
            }
            op.first_page = first;
            first += op.strips.len();
            self.stripes[id] = op;
            self.jobs[job].remaining += 1;
            self.lock_and_start(id);
        }
        self.jobs[job].next = first;
        true
    }

    /// Starts the update once no other of its stripe is under way.
    pub(crate) fn lock_and_start(&mut self, id: Id) {
        let stripe = self.stripes[id].stripe;
        if self.stripe_locks.is_held(stripe) {
            self.stripe_locks.wait(stripe, Waiter::Update(id));
            return;
        }
        self.stripe_locks.lock(stripe);
        self.merge_what_is_not_stored(id);
        self.read_stripe(id);
    }

    /// Strips without stored (or with discarded) contents complete a page with zeros.
    fn merge_what_is_not_stored(&mut self, id: Id) {
        for strip in self.stripes[id].merge.iter() {
            let lpn = self.lpn_of(self.stripes[id].stripe, strip).expect("a written page exists");
            if self.ftl.lookup(lpn) == Place::Unmapped || self.host.is_hidden(lpn) {
                self.merge_strip(id, strip, &P::default());
            }
        }
    }

    fn merge_strip(&mut self, id: Id, strip: u32, old: &P) {
        let op = &mut self.stripes[id];
        op.merge.remove(strip);
        let index = op.strips.iter().position(|&s| s == strip).expect("a written strip");
        let (job, page) = (op.job, op.first_page + index);
        self.merge(job, page, old);
    }

    /// Asks the scheme, then reads what it wants to add and what completes partial pages.
    fn read_stripe(&mut self, id: Id) {
        let stripe = self.stripes[id].stripe;
        let (present, unreadable) = self.stripe_state(stripe);
        let unreadable = unreadable.or(self.stripes[id].unreadable);
        let n = self.stripe_scheme().data_strips();
        let has_parity = self.ftl.lookup_parity(stripe) != Place::Unmapped;
        let write = StripeWrite { stripe, written: self.stripes[id].written, present, has_parity, unreadable };
        let plan = self.stripe_scheme().plan(&write);
        let op = &mut self.stripes[id];
        op.sum = P::default();
        (op.parity, op.add) = match plan {
            StripePlan::Parity { add } => (true, add),
            StripePlan::NoParity => (false, StripSet::EMPTY),
        };
        op.unreadable = unreadable;
        let reads = op.add.or(op.merge.minus(unreadable));
        let lost_merges = op.merge.and(unreadable);
        op.under_way = reads.len() + lost_merges.len();
        for strip in reads.iter() {
            let Place::At(slot) = self.place_of_strip(stripe, strip) else { unreachable!("a readable strip has a place") };
            let cause = if strip == n || self.stripes[id].add.contains(strip) { Cause::Parity } else { Cause::HostRmw };
            let (owner, ppn) = (Owner::Stripe { op: id, strip: strip as u8 }, self.grid.page_of(slot).0);
            self.submit(Command { owner, ppn, cause, ..Command::default() });
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
        if clean {
            let payload = self.array.page(ppn).payload[0].clone();
            if self.stripes[id].add.contains(strip) {
                self.stripes[id].sum.add(&payload);
            }
            if self.stripes[id].merge.contains(strip) {
                self.merge_strip(id, strip, &payload);
            }
        } else {
            self.stripes[id].unreadable.insert(strip);
        }
        self.stripe_step_done(id);
    }

    /// A strip that could not be read was solved for, or is lost.
    pub(crate) fn stripe_merge_repaired(&mut self, id: Id, strip: u32, old: Option<&P>) {
        match old {
            Some(old) => self.merge_strip(id, strip, old),
            None => {
                self.stripes[id].merge.remove(strip);
                let job = self.stripes[id].job;
                self.jobs[job].failed = true;
            }
        }
        self.stripe_step_done(id);
    }

    fn stripe_step_done(&mut self, id: Id) {
        self.stripes[id].under_way -= 1;
        if self.stripes[id].under_way > 0 {
            return;
        }
        let op = &self.stripes[id];
        // Another way round what turned out to be unreadable: the scheme decides again.
        if !op.add.or(op.merge).and(op.unreadable).is_empty() {
            self.read_stripe(id);
        } else {
            self.program_stripe_or_wait(id);
        }
    }

    fn program_stripe_or_wait(&mut self, id: Id) {
        if self.jobs[self.stripes[id].job].failed {
            self.finish_stripe(id);
        } else if !self.stalled_stripes.is_empty() || !self.program_stripe(id) {
            self.stalled_stripes.push_back(id);
        }
    }

    /// Programs data and parity; false, and nothing done, if a die lacks space. All or nothing:
    /// an update that waits has changed nothing, so repairs of its stripe can go ahead.
    pub(crate) fn program_stripe(&mut self, id: Id) -> bool {
        let op = &self.stripes[id];
        let (stripe, n) = (op.stripe, self.stripe_scheme().data_strips());
        let mut targets = op.written;
        if op.parity {
            targets.insert(n);
        }
        let mut room = true;
        for strip in targets.iter() {
            let Some(log) = self.home_of(stripe, strip).map(DieId::index) else { continue };
            if !self.ftl.has_room(log, Stream::Host) {
                self.start_collecting_if_short(log);
                room = false;
            }
        }
        if !room {
            return false;
        }
        self.sequence += 1;
        let coverage = targets.0 as u32;
        self.stripes[id].stage = Stage::Programming;
        self.stripes[id].under_way = 1;
        for index in 0..self.stripes[id].strips.len() {
            let op = &self.stripes[id];
            let (strip, page) = (op.strips[index], op.first_page + index);
            let page = &self.jobs[op.job].pages[page];
            let (lpn, payload) = (page.lpn, page.payload.clone());
            self.stripes[id].sum.add(&payload);
            self.host.hide(lpn, false);
            self.program_strip(id, strip, OobTag::data(lpn), payload, coverage, Cause::Host);
        }
        if self.stripes[id].parity {
            let sum = self.stripes[id].sum.clone();
            self.program_strip(id, n, OobTag::parity(stripe), sum, coverage, Cause::Parity);
        } else {
            let published = self.ftl.forget_parity(stripe);
            self.stripes[id].pins.extend(published.pinned);
        }
        self.stripe_programmed(id);
        true
    }

    fn program_strip(&mut self, id: Id, strip: u32, tag: OobTag, payload: P, coverage: u32, cause: Cause) {
        let stripe = self.stripes[id].stripe;
        let lpn = Self::data_of(tag);
        let published = if let Some(die) = self.home_of(stripe, strip) {
            let ppn = self.ftl.take_page(die.index(), Stream::Host).expect("room was checked");
            self.start_collecting_if_short(die.index());
            let oob = nand::Oob { sequence: self.sequence, coverage };
            let image = self.images.open(ppn, oob);
            self.images.fill(image, tag, payload, NONE, NONE);
            self.stripes[id].under_way += 1;
            self.submit_program(image, Owner::Stripe { op: id, strip: strip as u8 }, cause);
            let slot = self.grid.slot(ppn, 0);
            match lpn {
                Some(lpn) => self.ftl.publish(lpn, slot),
                None => self.ftl.publish_parity(stripe, slot),
            }
        } else {
            match lpn {
                Some(lpn) => self.ftl.publish_missing(lpn),
                None => self.ftl.publish_missing_parity(stripe),
            }
        };
        self.stripes[id].pins.extend(published.pinned);
    }

    /// A strip is programmed, or lost with its die.
    pub(crate) fn stripe_program_done(&mut self, image: Id, id: Id, done: bool) {
        if !done {
            let (tag, ..) = self.images.slot(image, 0);
            let slot = self.grid.slot(self.images.slab[image].ppn, 0);
            self.lose(tag, slot);
        }
        self.stripe_programmed(id);
    }

    fn stripe_programmed(&mut self, id: Id) {
        self.stripes[id].under_way -= 1;
        if self.stripes[id].under_way == 0 {
            self.finish_stripe(id);
        }
    }

    fn finish_stripe(&mut self, id: Id) {
        let (stripe, job) = (self.stripes[id].stripe, self.stripes[id].job);
        let pins = std::mem::take(&mut self.stripes[id].pins);
        for &unit in &pins {
            self.release(unit);
        }
        self.stripes[id].pins = pins;
        self.stripes.give(id);
        self.part_done(job);
        for waiter in self.stripe_locks.unlock(stripe) {
            match waiter {
                Waiter::Update(op) => self.lock_and_start(op),
                Waiter::Repair(target) => self.repair(target),
            }
        }
        self.retry |= !self.stalled.is_empty();
    }

    /// There is no space for the update and there never will be.
    pub(crate) fn fail_stripe(&mut self, id: Id) {
        let job = self.stripes[id].job;
        self.jobs[job].failed = true;
        self.finish_stripe(id);
    }

    /// Whether an update of the stripe is half in the map: a repair must wait for its end.
    pub(crate) fn is_being_programmed(&self, stripe: StripeId) -> bool {
        self.stripe_locks.is_held(stripe)
            && self.stripes.any(|op| op.stripe == stripe && op.stage == Stage::Programming && op.under_way > 0)
    }

    /// Whether an update of a stripe that the discard touches is under way.
    pub(crate) fn has_locked_stripe(&self, job: Id) -> bool {
        let (first, end) = self.jobs[job].range;
        let n = self.stripe_scheme().data_strips();
        (first / n..end.div_ceil(n)).any(|stripe| self.stripe_locks.is_held(StripeId(stripe)))
    }

    /// Waits until the stripe's update under way is done.
    pub(crate) fn wait_for_stripe(&mut self, stripe: StripeId, target: Target) {
        self.stripe_locks.wait(stripe, Waiter::Repair(target));
    }

    /// Hides the job's pages from the host; frees stripes of which nothing is left to see.
    pub(crate) fn discard_in_stripes(&mut self, job: Id) {
        let (first, end) = self.jobs[job].range;
        let n = self.stripe_scheme().data_strips();
        for lpn in (first..end).map(Lpn) {
            if self.ftl.lookup(lpn) != Place::Unmapped {
                self.host.hide(lpn, true);
            }
        }
        if first < end {
            for stripe in (first / n..=(end - 1) / n).map(StripeId) {
                self.free_if_hidden(stripe);
            }
        }
    }

    fn free_if_hidden(&mut self, stripe: StripeId) {
        let n = self.stripe_scheme().data_strips();
        let lpns: Vec<Lpn> = (0..n).filter_map(|strip| self.lpn_of(stripe, strip)).collect();
        let seen = |lpn: &Lpn| self.ftl.lookup(*lpn) != Place::Unmapped && !self.host.is_hidden(*lpn);
        if lpns.iter().any(seen) {
            return;
        }
        let mut pins: Vec<u32> = Vec::new();
        for lpn in lpns {
            self.host.hide(lpn, false);
            pins.extend(self.ftl.forget(lpn).pinned);
        }
        pins.extend(self.ftl.forget_parity(stripe).pinned);
        pins.into_iter().for_each(|unit| self.release(unit));
    }
}
