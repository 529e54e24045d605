//! After a loss: units that lost pages are collected out of turn, and strips of static stripes
//! that lost their die get another, in the background and while the host goes on. When that is
//! done the drive survives another loss.

use crate::care::Care;
use crate::config::Faults;
use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::Writer;
use crate::write::stripes::seam::Strip;
use ftl::{LogKind, Place, UnitId, UnitState};
use std::collections::{BTreeMap, VecDeque};
use vocab::{Cause, Nanos, SimTime, StripeId};

/// A strip that was solved for and waits in the controller for room on its die.
#[derive(Clone, Debug)]
pub(crate) struct ParkedStrip<P> {
    pub strip: Strip,
    pub payload: P,
}

/// A strip that is solved for, or waits in the controller, or both.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Where the map had it then, unless contents that were written since were lost.
    place: Option<Place>,
    /// Whether a solve for it is under way, which cannot be called back.
    solving: bool,
    /// Whether it was written since while it had no die: what is solved for, or waits, is the version before.
    is_stale: bool,
}

/// How far a rebuild is.
#[derive(Clone, Debug)]
pub(crate) struct Rebuild<P> {
    pub on: bool,
    /// Page moves, or strips being solved for, at a time.
    pub at_once: u32,
    /// When the first die died that is not rebuilt yet.
    since: Option<SimTime>,
    /// How long the last rebuild took.
    took: Option<Nanos>,
    /// The next stripe to look at, while stripes are walked.
    walk: Option<u32>,
    /// Whether to walk once more from the first stripe.
    again: bool,
    /// Set while the walk goes on: what it starts may end at once and ask for more.
    walking: bool,
    /// Strips being solved for, or parked.
    under_way: BTreeMap<Strip, Begun>,
    parked: VecDeque<ParkedStrip<P>>,
    /// Strips that the rebuild leaves undone: their stripe cannot give them, or no die takes them, or no log has room.
    left: u32,
}

/// Next step of the walk over the stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// Strips of this stripe may be lost.
    Look(StripeId),
    /// Enough is under way, or the walk has ended.
    Rests,
}

impl<P> Rebuild<P> {
    pub fn new(faults: &Faults) -> Self {
        Self {
            on: faults.rebuild,
            at_once: faults.rebuild_at_once,
            since: None,
            took: None,
            walk: None,
            again: false,
            walking: false,
            under_way: BTreeMap::new(),
            parked: VecDeque::new(),
            left: 0,
        }
    }

    /// Whether strips are being looked for, solved for or written.
    pub fn is_under_way(&self) -> bool {
        self.walk.is_some() || !self.under_way.is_empty() || !self.parked.is_empty()
    }

    /// Whether the drive rebuilds, and nothing of that is under way.
    pub fn rests(&self) -> bool {
        self.on && !self.is_under_way()
    }

    /// Whether strips that were solved for wait for room on their die.
    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// A rebuild begins now, unless one is under way.
    pub fn begin(&mut self, now: SimTime) {
        self.since.get_or_insert(now);
    }

    /// All stripes are to be walked, from the first. True if no walk is under way: then it starts now.
    pub fn walk_again(&mut self) -> bool {
        self.again = self.walk.is_some();
        if !self.again {
            (self.walk, self.left) = (Some(0), 0);
        }
        !self.again
    }

    /// Begins to take steps of the walk; false if someone does so already.
    pub fn start_walking(&mut self) -> bool {
        !std::mem::replace(&mut self.walking, true)
    }

    /// The next step of a walk over this many stripes.
    pub fn next_step(&mut self, stripes: u32) -> Walk {
        while (self.under_way.len() as u32) < self.at_once {
            match self.walk {
                None => break,
                Some(at) if at < stripes => {
                    self.walk = Some(at + 1);
                    return Walk::Look(StripeId(at));
                }
                Some(_) if std::mem::take(&mut self.again) => (self.walk, self.left) = (Some(0), 0),
                Some(_) => self.walk = None,
            }
        }
        Walk::Rests
    }

    pub fn stop_walking(&mut self) {
        self.walking = false;
    }

    /// A lost strip, which the map has at this place, is to be solved for; false if that, or a strip that is parked, is under
    /// way already.
    pub fn strip_begun(&mut self, strip: Strip, place: Place) -> bool {
        let is_new = !self.under_way.contains_key(&strip);
        self.under_way.entry(strip).or_insert(Begun { place: Some(place), solving: true, is_stale: false });
        is_new
    }

    /// The host wrote a strip again and those contents were lost: a solve that is under way may give the version before them.
    pub fn strip_lost_again(&mut self, strip: Strip) {
        self.under_way.entry(strip).and_modify(|begun| begun.place = None);
    }

    /// The strip was written while it has no die. A new die may take the place of a dead one before what is under way ends.
    pub fn strip_was_homeless(&mut self, strip: Strip) {
        self.under_way.entry(strip).and_modify(|begun| begun.is_stale = true);
    }

    /// Whether what was solved for, or waits, is older than what was written in the meantime while the strip had no die.
    pub fn is_stale(&self, strip: Strip) -> bool {
        self.under_way.get(&strip).is_some_and(|begun| begun.is_stale)
    }

    /// A solve for the strip has ended. True if it is wanted: contents that were parked in the meantime are newer.
    pub fn solve_ended(&mut self, strip: Strip) -> bool {
        self.under_way.entry(strip).and_modify(|begun| begun.solving = false);
        !self.parked.iter().any(|parked| parked.strip == strip)
    }

    /// Whether newer contents of the strip, which the map has at this place, were written and lost since it was begun.
    pub fn was_overtaken(&self, strip: Strip, place: Place) -> bool {
        self.under_way.get(&strip).is_some_and(|begun| begun.place != Some(place))
    }

    /// A strip that was overtaken is begun again, at this place. True if it is to be solved for: a solve that is under way is
    /// looked at when it ends.
    pub fn begin_again(&mut self, strip: Strip, place: Place) -> bool {
        let begun = self.under_way.get_mut(&strip).expect("what was overtaken is under way");
        if begun.solving {
            begun.place = None;
            return false;
        }
        *begun = Begun { place: Some(place), solving: true, is_stale: false };
        true
    }

    /// A strip has a place again, or needs none. A solve that is still under way gives nothing that is wanted.
    pub fn strip_done(&mut self, strip: Strip) {
        if let Some(begun) = self.under_way.get_mut(&strip).filter(|begun| begun.solving) {
            begun.place = None;
        } else {
            self.under_way.remove(&strip);
        }
    }

    /// There is no die for a lost strip.
    pub fn strip_has_no_die(&mut self) {
        self.left += 1;
    }

    /// A strip that was begun cannot be brought back, or finds no room permanently.
    pub fn strip_is_left(&mut self, strip: Strip) {
        self.left += 1;
        self.strip_done(strip);
    }

    /// Keeps the contents of a strip that a victim held, and that the map has nowhere now, in the controller until there is
    /// room on its die: they are newer than any that were kept before, and than what a solve gives.
    pub fn park_newer(&mut self, strip: ParkedStrip<P>) {
        let of = strip.strip;
        self.parked.retain(|parked| parked.strip != of);
        let begun = self.under_way.entry(of).or_insert(Begun { place: None, solving: false, is_stale: false });
        (begun.place, begun.is_stale) = (Some(Place::Missing), false);
        self.park(strip);
    }

    /// Keeps a strip in the controller until there is room on its die.
    pub fn park(&mut self, strip: ParkedStrip<P>) {
        self.parked.push_back(strip);
    }

    /// The strip that was parked first, taken out.
    pub fn take_parked(&mut self) -> Option<ParkedStrip<P>> {
        self.parked.pop_front()
    }

    /// There is no room for a strip that was taken out: it stays the first.
    pub fn park_again(&mut self, strip: ParkedStrip<P>) {
        self.parked.push_front(strip);
    }
}

impl<P: FlashPayload> Care<P> {
    /// Every row written so far has a page on the dead die, and so lacks protection.
    pub fn want_all_superblocks(&mut self, core: &Core<P>, writer: &Writer<P>) {
        for unit in 0..core.device.grid.blocks_per_die() {
            let state = core.map.unit(unit);
            // An open group goes on with the dead die as a member, though it be empty now.
            if state.valid > 0 || writer.facts.goes_on_with_dead_dies && state.state == UnitState::Open {
                self.queue_wanted(unit, Cause::Rebuild);
            }
        }
    }

    /// Collectors that move or erase a unit for this reason.
    pub fn collectors_at(&self, core: &Core<P>, cause: Cause) -> usize {
        let moving = self.collectors.iter().zip(&core.moving);
        moving.filter(|(collector, moving)| collector.works_for(cause, moving.cause)).count()
    }

    /// Notes when the last page that a dead die held is rebuilt.
    pub fn note_rebuilt(&mut self, core: &Core<P>) {
        let Some(since) = self.rebuild.since else { return };
        let is_over = self.collectors_at(core, Cause::Rebuild) == 0 && !self.rebuild.is_under_way();
        if is_over && self.wanted.iter().all(|&(_, cause)| cause != Cause::Rebuild) {
            self.rebuild.took = Some(core.device.now.since(since));
            self.rebuild.since = None;
        }
    }

    /// How long the last rebuild took; `None` where there was none, or it is not complete.
    pub fn rebuild_time(&self, core: &Core<P>) -> Option<Nanos> {
        self.rebuild.took.filter(|_| self.rebuild.since.is_none() && self.rebuild_left(core) == 0)
    }

    /// Units and strips that are still to be rebuilt, or cannot be.
    pub fn rebuild_left(&self, core: &Core<P>) -> u64 {
        let units = self.wanted.iter().filter(|&&(_, cause)| cause == Cause::Rebuild).count();
        // A collector that found no room for what its victim holds.
        let stuck = self.collectors_at(core, Cause::Rebuild);
        u64::from(self.rebuild.left) + (units + stuck) as u64
    }

    /// Starts nothing more of a rebuild; for tests.
    pub fn stop_rebuild(&mut self) {
        self.rebuild.on = false;
        (self.rebuild.walk, self.rebuild.again) = (None, false);
        self.wanted.retain(|&(_, cause)| cause != Cause::Rebuild);
    }

    /// Whether the unit can be collected out of turn.
    pub fn may_want(core: &Core<P>, unit: UnitId) -> MayWant {
        match core.map.unit(unit).state {
            UnitState::Free | UnitState::Condemned | UnitState::Dirty | UnitState::Bad => MayWant::No,
            UnitState::Open if core.map.kind() == LogKind::Regions => MayWant::AfterClosing,
            UnitState::Open | UnitState::Closed => MayWant::Now,
        }
    }

    /// The unit is to be collected out of turn, behind those that are wanted already.
    pub fn queue_wanted(&mut self, unit: UnitId, cause: Cause) {
        if self.wanted.iter().all(|&(other, _)| other != unit) {
            self.wanted.push_back((unit, cause));
        }
    }

    /// Whether a unit of the log waits to be collected.
    pub fn is_wanted(&self, core: &Core<P>, log: usize) -> bool {
        self.wanted.iter().any(|&(unit, _)| core.map.log_of(unit) == log)
    }
}

/// Whether a unit can be wanted: collected out of turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MayWant {
    /// It holds nothing, or is being collected.
    No,
    Now,
    /// It is the open block of a region log: it is written no more from now on. A superblock may still be needed
    /// and stays open until its turn.
    AfterClosing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Slot;

    /// Catches a rebuild that writes the version before the one that was written, and lost, while it solved for the strip; and
    /// one that solves for a strip again and again.
    #[test]
    fn a_strip_that_was_written_again_and_lost_is_solved_for_once_more() {
        let mut rebuild = Rebuild::<()>::new(&Faults::default());
        let (strip, at) = ((StripeId(3), 1), |slot| Place::At(Slot(slot)));
        assert!(rebuild.strip_begun(strip, at(7)) && !rebuild.strip_begun(strip, at(9)), "it is under way");
        assert!(rebuild.solve_ended(strip) && !rebuild.was_overtaken(strip, at(7)), "nothing was written");
        assert!(rebuild.was_overtaken(strip, at(9)), "it lies elsewhere, on a die that is dead, too");
        assert!(rebuild.begin_again(strip, at(9)) && !rebuild.was_overtaken(strip, at(9)), "it was begun again");
        rebuild.strip_lost_again(strip);
        assert!(rebuild.solve_ended(strip) && rebuild.was_overtaken(strip, at(9)), "a program failed");
        rebuild.strip_done(strip);
        rebuild.strip_lost_again(strip);
        assert!(!rebuild.is_under_way() && !rebuild.was_overtaken(strip, at(1)));
    }

    fn parked(payload: u8) -> ParkedStrip<u8> {
        ParkedStrip { strip: (StripeId(3), 1), payload }
    }

    /// Catches a parity that was kept in the controller, then written again by a commit, and kept there again for lack of room:
    /// the one that was kept first went to flash (torture, seed 303, 1706695).
    #[test]
    fn of_contents_that_wait_for_room_twice_the_newer_wait() {
        let mut rebuild = Rebuild::new(&Faults::default());
        rebuild.park_newer(parked(1));
        rebuild.park_newer(parked(2));
        assert_eq!(rebuild.take_parked().map(|strip| strip.payload), Some(2));
        assert!(!rebuild.has_parked() && !rebuild.was_overtaken((StripeId(3), 1), Place::Missing));
    }

    /// The host writes a strip that is solved for, while a dead die leaves it without one; then a spare die takes that place. Catches the
    /// version before, which the solve gives (torture, seed 4801, 85158).
    #[test]
    fn a_strip_written_without_a_die_makes_what_is_under_way_stale() {
        let strip = (StripeId(3), 1);
        let mut rebuild = Rebuild::new(&Faults::default());
        rebuild.strip_was_homeless(strip);
        assert!(rebuild.strip_begun(strip, Place::Missing) && !rebuild.is_stale(strip), "it was written before");
        rebuild.strip_was_homeless(strip);
        assert!(rebuild.solve_ended(strip) && rebuild.is_stale(strip));
        assert!(rebuild.begin_again(strip, Place::Missing) && !rebuild.is_stale(strip));
        rebuild.strip_was_homeless(strip);
        rebuild.park_newer(parked(2));
        assert!(!rebuild.is_stale(strip), "a victim held the newest");
    }

    /// Catches the result of a solve that is older than contents which a victim held in the meantime, wherever those are when it ends.
    #[test]
    fn a_solve_that_ends_after_newer_contents_were_parked_gives_nothing() {
        let strip = (StripeId(3), 1);
        let solving = || {
            let mut rebuild = Rebuild::new(&Faults::default());
            assert!(rebuild.strip_begun(strip, Place::Missing));
            rebuild.park_newer(parked(2));
            rebuild
        };
        let mut waits = solving();
        assert!(!waits.solve_ended(strip) && waits.has_parked(), "they still wait");
        let mut lost = solving();
        lost.take_parked();
        lost.strip_done(strip);
        assert!(!lost.strip_begun(strip, Place::Missing), "placed, and lost again: one solve at a time");
        assert!(lost.solve_ended(strip) && lost.was_overtaken(strip, Place::Missing) && lost.begin_again(strip, Place::Missing));
        let mut overtaken = solving();
        overtaken.strip_lost_again(strip);
        overtaken.take_parked();
        assert!(!overtaken.begin_again(strip, Place::Missing), "lost again while they waited: the solve under way comes first");
        assert!(overtaken.solve_ended(strip) && overtaken.was_overtaken(strip, Place::Missing));
    }
}
