//! Pages that an update reads: the scheme decides, and decides again where something turns out to be unreadable.

use crate::core::effects::Parcel;
use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{Command, Core};
use crate::write::stripes::Stripes;
use crate::write::stripes::op::{Contents, Missed, Outcome, Work};
use device::waits::Wait;
use ftl::Place;
use nand::{FlashArray, ReadOutcome};
use protect::{CommitPlan, StripeCommit, StripePlan, StripeWrite};
use vocab::{Cause, Ppn, StripSet, StripeId};

/// How often a commit reads again what its reads missed, before it takes these pages for lost: an error that is drawn for each read
/// may not come back.
const COMMIT_ATTEMPTS: u8 = 3;

/// Next step after a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planned {
    /// The strips of the plan are read.
    Read,
    /// The update waits for room in the parity cache, or it has ended.
    NoMore,
}

impl<P: FlashPayload> Stripes<P> {
    /// Asks the scheme, then reads what it wants to add and what completes partly written pages.
    pub(super) fn plan(&mut self, core: &mut Core<P>, id: OpId) {
        core.update_waited(id, Wait::Order);
        let planned = match self.ops[id].work {
            Work::Write => self.plan_write(core, id),
            Work::Commit => self.plan_commit(core, id),
            Work::Build { .. } => self.plan_build(core, id),
        };
        if planned == Planned::Read {
            self.read_what_is_planned(core, id);
        }
    }

    /// View of the scheme of a write.
    fn stripe_write(&self, core: &mut Core<P>, id: OpId) -> StripeWrite {
        let op = &self.ops[id];
        let (stripe, written) = (op.stripe, op.written);
        let (present, unreadable) = self.stripe_state(core, stripe);
        let (mut worn, mut worn_after) = (StripSet::EMPTY, StripSet::EMPTY);
        if self.worn_above.is_some() {
            (worn, worn_after) = (self.worn_strips(core, stripe), self.worn_places(core, stripe, written));
        }
        StripeWrite {
            stripe,
            written,
            present,
            has_parity: core.map.lookup_parity(stripe) != Place::Unmapped,
            held: self.held.get(stripe).map(|partial| partial.covers),
            unreadable: unreadable.or(self.still_missed(core, id, Contents::Current)),
            homeless: written.iter().filter(|&strip| self.home_of(core, stripe, strip).is_none()).collect(),
            worn,
            worn_after,
            long: core.jobs[op.job()].long,
        }
    }

    fn plan_write(&mut self, core: &mut Core<P>, id: OpId) -> Planned {
        let write = self.stripe_write(core, id);
        let plan = self.scheme().plan(&write);
        let op = &mut self.ops[id];
        (op.lost.unreadable, op.parity.worn_after, op.reads.contents) = (write.unreadable, write.worn_after, Contents::Current);
        op.sum = P::default();
        (op.parity.outcome, op.reads.add) = match plan {
            StripePlan::Parity { add } => (Outcome::Program, add),
            StripePlan::Hold { add, covers, .. } => (Outcome::Hold(covers), add),
            StripePlan::NoParity => (Outcome::Forget, StripSet::EMPTY),
        };
        if let StripePlan::Hold { keep: true, .. } = plan {
            op.sum.add(&self.held.get(write.stripe).expect("only what is held can be kept").sum);
        }
        if !matches!(plan, StripePlan::Hold { .. }) || write.held.is_some() {
            self.give_promise_back(core, id);
            return Planned::Read;
        }
        if self.ops[id].parity.promised {
            return Planned::Read;
        }
        self.ops[id].parity.promised = self.held.promise_or_wait(id);
        if self.ops[id].parity.promised {
            return Planned::Read;
        }
        self.commit_least_recent(core);
        Planned::NoMore
    }

    /// The update needs no new entry in the parity cache after all.
    pub(super) fn give_promise_back(&mut self, core: &mut Core<P>, id: OpId) {
        if std::mem::take(&mut self.ops[id].parity.promised) {
            self.held.give_back();
            core.retry |= self.held.has_waiting();
        }
    }

    /// An update that waited for room in the parity cache has it. In the meantime the stripe may have
    /// lost a strip, so the plan is made again.
    pub(super) fn room_was_promised(&mut self, core: &mut Core<P>, id: OpId) {
        self.ops[id].parity.promised = true;
        core.update_waited(id, Wait::Parity);
        let write = self.stripe_write(core, id);
        let still = matches!(self.scheme().plan(&write), StripePlan::Hold { .. });
        if still && write.unreadable == self.ops[id].lost.unreadable {
            self.read_what_is_planned(core, id);
        } else {
            self.plan(core, id);
        }
    }

    fn plan_commit(&mut self, core: &mut Core<P>, id: OpId) -> Planned {
        let stripe = self.ops[id].stripe;
        let Some(partial) = self.held.get(stripe) else {
            // An update was faster and wrote full parity.
            self.finish(core, id);
            return Planned::NoMore;
        };
        let n = self.data_strips();
        let (mut old, mut unreadable_old) = (StripSet::EMPTY, self.still_missed(core, id, Contents::Old));
        for &(strip, place) in &partial.old {
            if place != Place::Unmapped {
                old.insert(strip);
            }
            if core.is_lost_place(place) {
                unreadable_old.insert(strip);
            }
        }
        if core.is_lost_place(core.map.lookup_parity(stripe)) {
            unreadable_old.insert(n);
        }
        let (present, unreadable) = self.stripe_state(core, stripe);
        let unreadable = unreadable.or(self.still_missed(core, id, Contents::Current));
        let has_parity = core.map.lookup_parity(stripe) != Place::Unmapped;
        let commit = StripeCommit { held: partial.covers, present, has_parity, unreadable, unreadable_old, old };
        let (sum, plan) = (partial.sum.clone(), self.scheme().commit(&commit));
        if matches!(plan, CommitPlan::NoParity) {
            let lost = &mut self.ops[id].lost;
            if !lost.missed.is_empty() && lost.attempts < COMMIT_ATTEMPTS {
                lost.attempts += 1;
                lost.missed.clear();
                return self.plan_commit(core, id);
            }
            if present.and(unreadable).iter().any(|strip| self.comes_back(core, id, strip)) {
                self.held.keep_irreplaceable(stripe);
                self.finish(core, id);
                return Planned::NoMore;
            }
        }
        let op = &mut self.ops[id];
        (op.lost.unreadable, op.lost.unreadable_old, op.sum) = (unreadable, unreadable_old, sum);
        (op.parity.outcome, op.reads.add, op.reads.contents) = match plan {
            CommitPlan::Current(add) => (Outcome::Program, add, Contents::Current),
            CommitPlan::Old(old) => (Outcome::Program, old.or(StripSet::one(n)), Contents::Old),
            CommitPlan::NoParity => (Outcome::Forget, StripSet::EMPTY, Contents::Current),
        };
        Planned::Read
    }

    /// Whether a strip is the sum of pages that answer, none of which the update missed.
    fn comes_back(&self, core: &Core<P>, id: OpId, strip: u32) -> bool {
        let is_missed = |&ppn: &Ppn| self.ops[id].lost.missed.iter().any(|missed| core.device.grid.page_of(missed.slot).0 == ppn);
        self.sources_of(core, self.ops[id].stripe, strip).is_some_and(|sources| !sources.pages.iter().any(is_missed))
    }

    /// Parity over all present strips, where there is none.
    fn plan_build(&mut self, core: &mut Core<P>, id: OpId) -> Planned {
        let stripe = self.ops[id].stripe;
        let (present, unreadable) = self.stripe_state(core, stripe);
        let unreadable = unreadable.or(self.still_missed(core, id, Contents::Current));
        let protected = self.is_protected(core, stripe);
        if protected || present.is_empty() || !present.and(unreadable).is_empty() {
            if !protected {
                self.held.not_buildable(stripe);
            }
            self.finish(core, id);
            return Planned::NoMore;
        }
        let op = &mut self.ops[id];
        (op.reads.add, op.lost.unreadable, op.sum, op.parity.outcome) = (present, unreadable, P::default(), Outcome::Program);
        Planned::Read
    }

    fn read_what_is_planned(&mut self, core: &mut Core<P>, id: OpId) {
        let op = &mut self.ops[id];
        let (stripe, add, contents) = (op.stripe, op.reads.add, op.reads.contents);
        let reads = op.reads.add.or(op.reads.merge.minus(op.lost.unreadable));
        let lost_merges = op.reads.merge.and(op.lost.unreadable);
        op.under_way = reads.len() + lost_merges.len();
        let n = self.data_strips();
        for strip in reads.iter() {
            let place = self.place_to_read(core, stripe, strip, contents);
            let Place::At(slot) = place else { unreachable!("a readable strip has a place, found {place:?}") };
            let cause = if strip == n || add.contains(strip) { Cause::Parity } else { Cause::HostRmw };
            let (owner, ppn) = (Owner::Stripe { op: id, strip: strip as u8 }, core.device.grid.page_of(slot).0);
            core.submit(Command { owner, ppn, cause, ..Command::default() });
        }
        for strip in lost_merges.iter() {
            core.out.send(Parcel::Solve { target: Target::StripeMerge { op: id, strip } });
        }
        if reads.or(lost_merges).is_empty() {
            self.program_or_wait(core, id);
        }
    }

    /// Where an update reads these contents of a strip.
    fn place_to_read(&self, core: &Core<P>, stripe: StripeId, strip: u32, contents: Contents) -> Place {
        let is_old = contents == Contents::Old && strip < self.data_strips();
        let partial = if is_old { self.held.get(stripe) } else { None };
        let old = partial.and_then(|partial| partial.old_place(strip));
        old.unwrap_or_else(|| self.place_of_strip(core, stripe, strip))
    }

    /// Strips that reads of the update missed, and that still lie where they were missed: one that was rebuilt or moved
    /// since can be read.
    fn still_missed(&self, core: &Core<P>, id: OpId, contents: Contents) -> StripSet {
        let op = &self.ops[id];
        let place = |missed: &Missed| self.place_to_read(core, op.stripe, missed.strip, contents);
        let of_kind = op.lost.missed.iter().filter(|missed| missed.contents == contents);
        let stays = of_kind.filter(|missed| place(missed) == Place::At(missed.slot));
        stays.map(|missed| missed.strip).collect()
    }

    /// A strip was read.
    pub fn read_done(&mut self, core: &mut Core<P>, ppn: Ppn, id: OpId, strip: u32, outcome: ReadOutcome) {
        let payload = if outcome.is_clean() {
            Some(core.device.array.payload(ppn)[0].clone())
        } else {
            core.device.displaced_contents(ppn, 0)
        };
        let op = &mut self.ops[id];
        if let Some(payload) = payload {
            if op.reads.add.contains(strip) {
                op.sum.add(&payload);
            }
            if op.reads.merge.contains(strip) {
                self.merge_strip(core, id, strip, &payload);
            }
        } else {
            let (stripe, contents) = (op.stripe, op.reads.contents);
            // The stored parity is current and moves as any page; old versions of data stay where they are.
            let moves = contents == Contents::Current || strip == self.data_strips();
            if moves && let Some(ppn) = self.went_elsewhere(core, stripe, strip, ppn) {
                let owner = Owner::Stripe { op: id, strip: strip as u8 };
                core.submit(Command { owner, ppn, cause: Cause::Parity, ..Command::default() });
                return;
            }
            let op = &mut self.ops[id];
            op.lost.unreadable_of(contents).insert(strip);
            op.lost.missed.push(Missed { strip, slot: core.device.grid.slot(ppn, 0), contents });
        }
        self.read_or_solved(core, id);
    }

    /// The old contents of a partly written page, which could not be read, were solved for; `None`: they are lost.
    pub fn merge_repaired(&mut self, core: &mut Core<P>, id: OpId, strip: u32, old: Option<&P>) {
        match old {
            Some(old) => self.merge_strip(core, id, strip, old),
            None => {
                let op = &mut self.ops[id];
                op.reads.merge.remove(strip);
                op.lost.lacks_contents = true;
                core.jobs[op.job()].failed = true;
            }
        }
        self.read_or_solved(core, id);
    }

    /// One read or repair of the update has ended.
    fn read_or_solved(&mut self, core: &mut Core<P>, id: OpId) {
        let op = &mut self.ops[id];
        op.under_way -= 1;
        if op.under_way > 0 {
            return;
        }
        core.update_worked(id);
        // Another way round what turned out to be unreadable: the scheme decides again.
        let missed = *op.lost.unreadable_of(op.reads.contents);
        if op.reads.add.or(op.reads.merge).and(missed).is_empty() {
            self.program_or_wait(core, id);
        } else {
            self.plan(core, id);
        }
    }
}
