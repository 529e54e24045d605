//! How partial parities become full parity, because the cache needs room, a collector wants what they pin, or a
//! strip is lost; and how stripes get parity that have none.

use crate::core::Core;
use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use crate::core::stripe_step::StripeStep;
use crate::core::target::Target;
use crate::write::stripes::Stripes;
use crate::write::stripes::op::Work;
use ftl::{Place, Stream, UnitId, UnitState};
use std::collections::BTreeMap;
use vocab::{Slot, StripSet, StripeId};

impl<P: FlashPayload> Stripes<P> {
    /// Commits as many entries as updates wait for room.
    pub(super) fn commit_least_recent(&self, core: &mut Core<P>) {
        self.held.to_be_committed().into_iter().for_each(|stripe| Self::later(core, StripeStep::Commit { stripe }));
    }

    /// Updates that wait for room go on, in order, as far as there is any.
    pub fn serve_waiting_for_room(&mut self, core: &mut Core<P>) {
        if let Some(op) = self.held.promise_to_first_waiting() {
            self.room_was_promised(core, op);
            Self::later(core, StripeStep::ServeWaiting);
        } else if self.held.has_waiting() {
            self.commit_least_recent(core);
        }
    }

    /// Writes full parity for a stripe with a partial one.
    pub fn commit(&mut self, core: &mut Core<P>, stripe: StripeId) {
        if let Some(commit) = self.begin_commit(core, stripe) {
            self.start_urgent(core, commit);
        }
    }

    /// Whether there is something to commit, it can be, and no commit is under way or has found no space.
    fn may_commit(&self, core: &Core<P>, stripe: StripeId) -> bool {
        !self.held.is_deferred(stripe) && self.held.may_begin_commit(stripe) && !self.is_all_that_is_left(core, stripe)
    }

    /// A commit that has not started; `None` if there is nothing to commit, it cannot be, or one is under way.
    fn begin_commit(&mut self, core: &mut Core<P>, stripe: StripeId) -> Option<OpId> {
        if self.is_all_that_is_left(core, stripe) || !self.held.begin_commit(stripe) {
            return None;
        }
        let commit = self.new_update(stripe, Work::Commit);
        core.update_begins(commit, None);
        Some(commit)
    }

    /// Whether a strip is lost that only the partial parity brings back: full parity would have no die. The strip is rebuilt
    /// first.
    fn is_all_that_is_left(&self, core: &Core<P>, stripe: StripeId) -> bool {
        if self.home_of(core, stripe, self.data_strips()).is_some() {
            return false;
        }
        let (present, unreadable) = self.stripe_state(core, stripe);
        let can_be_rebuilt =
            |strip| self.home_of(core, stripe, strip).is_some() && self.sources_of(core, stripe, strip).is_some();
        present.and(unreadable).iter().any(can_be_rebuilt)
    }

    /// No more room comes in the parity cache: the first update that waits for some fails. True if there was one.
    pub fn fail_first_waiting_for_room(&mut self, core: &mut Core<P>) -> bool {
        let Some(op) = self.held.take_waiting() else { return false };
        if self.is_eviction(core, op) {
            core.out.push(Effect::FailBufferWaiter);
        }
        Self::later(core, StripeStep::Fail { op });
        true
    }

    /// Commits every stripe that keeps old versions in the unit.
    pub fn commit_pinned_in(&self, core: &mut Core<P>, unit: UnitId) {
        self.held.pinned_in(unit).iter().for_each(|&stripe| Self::later(core, StripeStep::Commit { stripe }));
    }

    /// Stripes of which a partial parity keeps old versions in units of a log that is short of free ones, and whose parity goes to a
    /// die with room for it. Their commits free these units.
    pub fn committed_for_room(&self, core: &Core<P>) -> Vec<StripeId> {
        let frees_room = |stripe: &StripeId| {
            let partial = self.held.get(*stripe).expect("ordered entries exist");
            let is_short = |slot: Slot| core.map.is_short(core.map.log_of(core.map.unit_of(slot)));
            let home = self.home_of(core, *stripe, self.data_strips());
            let has_room = home.is_some_and(|die| core.map.has_room(die.index(), Stream::Commit));
            has_room && self.may_commit(core, *stripe) && partial.pinned().any(is_short)
        };
        self.held.stripes().filter(frees_room).collect()
    }

    /// There is space again: commits that found none are tried again where a collector waits for them.
    pub fn commit_deferred(&mut self, core: &mut Core<P>) {
        for stripe in self.held.take_deferred().into_iter().map(StripeId) {
            Self::later(core, StripeStep::CommitIfDue { stripe });
        }
    }

    /// Commits the stripe at once if it keeps old versions in a unit that is being collected, unless its commit
    /// found no space; and on a drive that recovers, if it leans on a strip that was lost: the host wrote that while it was solved for.
    pub(super) fn commit_if_due(&mut self, core: &mut Core<P>, stripe: StripeId) {
        let Some(partial) = self.held.get(stripe).filter(|_| !self.held.is_deferred(stripe)) else { return };
        if partial.pinned().any(|slot| core.map.unit(core.map.unit_of(slot)).state == UnitState::Condemned) {
            self.commit(core, stripe);
        } else if core.safe.recovering {
            self.commit_if_leaning_on_lost(core, stripe);
        }
    }

    /// Whether the stripe's partial parity leans on an old version, or an old parity, that is lost: strips outside the partial
    /// parity then have no redundancy.
    pub fn leans_on_lost(&self, core: &Core<P>, stripe: StripeId) -> bool {
        let (Some(partial), stored) = (self.held.get(stripe), core.map.lookup_parity(stripe)) else { return false };
        let sums_all = || self.stripe_state(core, stripe).0.minus(partial.covers).is_empty();
        let leans_on_nothing = stored == Place::Unmapped && sums_all();
        let old = partial.old.iter().map(|(_, place)| *place);
        !leans_on_nothing && old.chain([stored]).any(|place| core.is_lost_place(place))
    }

    /// Commits the stripe if its partial parity leans on what is lost: no rebuild brings that back, full parity does without.
    pub fn commit_if_leaning_on_lost(&mut self, core: &mut Core<P>, stripe: StripeId) {
        if self.leans_on_lost(core, stripe)
            && let Some(commit) = self.begin_commit(core, stripe)
        {
            // Until then a drive that recovers has not recovered.
            self.ops[commit].heals = core.safe.recovering;
            self.start_urgent(core, commit);
        }
    }

    /// Commits all partial parities, if the scheme wants that of a flush. The flush is answered
    /// at once: the cache is PLP.
    pub fn flush_parity_cache(&self, core: &mut Core<P>) {
        if !self.held.is_empty() && self.scheme().commits_on_flush() {
            self.held.stripes().for_each(|stripe| Self::later(core, StripeStep::Commit { stripe }));
        }
    }

    /// Builds parity that stripes lack, one stripe at a time, while the host wants nothing.
    pub fn build_in_idle_time(&mut self, core: &mut Core<P>) {
        let stripes = self.stripe_count(core);
        while core.device.is_idle() && core.device.backlogs().iter().all(|&backlog| backlog == 0) {
            let Some(stripe) = self.scheme_mut().next_unprotected(stripes) else { return };
            if self.can_build(core, stripe) {
                self.build_parity(core, stripe, None);
                Self::later(core, StripeStep::BuildInIdleTime);
                return;
            }
        }
    }

    /// Whether the stripe has neither parity nor a strip that would keep it from being built.
    pub fn can_build(&self, core: &Core<P>, stripe: StripeId) -> bool {
        let (present, unreadable) = self.stripe_state(core, stripe);
        let tried = self.held.is_unbuildable(stripe);
        !self.is_protected(core, stripe) && !tried && !present.is_empty() && present.and(unreadable).is_empty()
    }

    /// Builds the parity of a stripe that has none; then `waiter` goes on.
    pub fn build_parity(&mut self, core: &mut Core<P>, stripe: StripeId, waiter: Option<Target>) {
        let build = self.new_update(stripe, Work::Build { waiter });
        core.update_begins(build, None);
        self.start_urgent(core, build);
    }

    /// Recounts what the parity cache derives: pins by unit, and that old versions are still
    /// where the entries say; for tests.
    pub fn check_parity_cache(&self, core: &Core<P>) {
        let mut pins: BTreeMap<UnitId, u32> = BTreeMap::new();
        for stripe in self.held.stripes() {
            let partial = self.held.get(stripe).expect("ordered entries exist");
            let known: StripSet = partial.old.iter().map(|(strip, _)| *strip).collect();
            assert!(partial.covers.minus(known).is_empty(), "{stripe:?}: the old version of a covered strip is not known");
            for slot in partial.pinned() {
                assert!(!core.map.is_valid(slot), "{stripe:?}: an old version is current");
                *pins.entry(core.map.unit_of(slot)).or_default() += 1;
            }
        }
        for (&unit, &count) in &pins {
            assert_eq!(self.held.pinned_in(unit).len() as u32, count, "old versions kept in unit {unit}");
            let state = core.map.unit(unit);
            assert!(state.pins >= count, "unit {unit} has {} pins, partial parities need {count}", state.pins);
        }
        assert_eq!(self.held.pinned_units(), pins.len(), "units with old versions");
    }
}
