//! After a loss: units that lost pages are collected out of turn, and strips of static stripes
//! that lost their die get another, in the background and while the host goes on. When that is
//! done the drive survives another loss.

use crate::config::Faults;
use crate::core::oob_covering;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::engine::Engine;
use device::contents::HostPayload;
use device::image::Contents;
use device::slab::NONE;
use ftl::{LogKind, Place, Stream, UnitId, UnitState};
use nand::{FlashArray, OobTag, PageRole};
use protect::Protection;
use std::collections::VecDeque;
use vocab::{Cause, DieId, Lpn, Nanos, SimTime, StripSet, StripeId};

/// How far a rebuild is.
#[derive(Clone, Debug)]
pub(crate) struct Rebuild<P> {
    pub on: bool,
    /// Page moves, or strips being solved for, at a time.
    pub at_once: u32,
    /// When the first die died that is not rebuilt yet.
    since: Option<SimTime>,
    /// How long the last rebuild took.
    pub took: Option<Nanos>,
    /// The next stripe to look at, while stripes are walked; and whether to walk once more.
    walk: Option<u32>,
    again: bool,
    /// Set while the walk goes on: what it starts may end at once and ask for more.
    walking: bool,
    in_flight: u32,
    /// Strips solved for that wait for room on their die.
    parked: VecDeque<(StripeId, u32, P)>,
    /// Strips that nothing can bring back, or for which there is no die, or no room.
    pub left: u32,
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
            in_flight: 0,
            parked: VecDeque::new(),
            left: 0,
        }
    }
}

impl<P> Rebuild<P> {
    /// Whether strips are being looked for, solved for or written.
    pub fn is_under_way(&self) -> bool {
        self.walk.is_some() || self.in_flight > 0 || !self.parked.is_empty()
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// A die died: everything that has pages on it is to be rebuilt.
    pub(crate) fn rebuild_die(&mut self, die: DieId) {
        self.core.device.died.push(die);
        if !self.care.rebuild.on {
            return;
        }
        match &self.writer.protection {
            Protection::None | Protection::Zones(_) => {}
            Protection::Rows(_) | Protection::Groups(_) => {
                self.care.rebuild.since.get_or_insert(self.core.device.now);
                self.want_all_superblocks();
            }
            Protection::Stripes(_) => {
                self.care.rebuild.since.get_or_insert(self.core.device.now);
                self.walk_stripes();
            }
        }
    }

    /// Goes on after a mount: superblocks were written with pages on a die that is dead.
    pub(crate) fn rebuild_superblocks(&mut self) {
        if self.care.rebuild.on {
            self.care.rebuild.since.get_or_insert(self.core.device.now);
            self.want_all_superblocks();
        }
    }

    /// Goes on after a mount: strips have no place, or one on a die that is dead.
    pub(crate) fn rebuild_stripes(&mut self) {
        if self.care.rebuild.on {
            self.care.rebuild.since.get_or_insert(self.core.device.now);
            self.walk_stripes();
        }
    }

    /// Every row written so far has a page on the dead die, and so lacks protection.
    fn want_all_superblocks(&mut self) {
        for unit in 0..self.core.device.grid.blocks_per_die() {
            let state = self.core.map.unit(unit);
            // An open group goes on with the dead die as a member, though it be empty now.
            if state.valid > 0 || self.has_groups() && state.state == UnitState::Open {
                self.queue_wanted(unit, Cause::Rebuild);
            }
        }
        self.start_collecting(0);
        self.note_rebuilt();
    }

    /// Collectors whose victim has this cause.
    pub(crate) fn collectors_at(&self, cause: Cause) -> usize {
        let moving = self.care.collectors.iter().zip(&self.core.moving);
        moving.filter(|(collector, moving)| collector.is_busy() && moving.cause == cause).count()
    }

    /// Notes when the last of what a dead die held is rebuilt.
    pub(crate) fn note_rebuilt(&mut self) {
        let Some(since) = self.care.rebuild.since else { return };
        let collecting = self.collectors_at(Cause::Rebuild) > 0;
        let walking = self.care.rebuild.is_under_way();
        if !collecting && !walking && self.care.wanted.iter().all(|&(_, cause)| cause != Cause::Rebuild) {
            self.care.rebuild.took = Some(self.core.device.now.since(since));
            self.care.rebuild.since = None;
        }
    }

    /// How long the last rebuild took; `None` where there was none, or it is not complete.
    pub(crate) fn rebuild_time(&self) -> Option<Nanos> {
        self.care.rebuild.took.filter(|_| self.care.rebuild.since.is_none() && self.rebuild_left() == 0)
    }

    /// What is still to be rebuilt, or cannot be.
    pub(crate) fn rebuild_left(&self) -> u64 {
        let units = self.care.wanted.iter().filter(|&&(_, cause)| cause == Cause::Rebuild).count();
        // A collector that found no room for what its victim holds.
        let stuck = self.collectors_at(Cause::Rebuild);
        u64::from(self.care.rebuild.left) + (units + stuck) as u64
    }

    /// Starts nothing more of a rebuild; for tests.
    pub(crate) fn stop_rebuild(&mut self) {
        self.care.rebuild.on = false;
        (self.care.rebuild.walk, self.care.rebuild.again) = (None, false);
        self.care.wanted.retain(|&(_, cause)| cause != Cause::Rebuild);
    }

    /// A strip lost its place on a living die: the next walk gives it another.
    pub(crate) fn strip_lost(&mut self, tag: OobTag) {
        if !matches!(self.writer.protection, Protection::Stripes(_)) {
            return;
        }
        let (stripe, strip) = match tag.role() {
            PageRole::Data(lpn) => self.strip_of(lpn),
            PageRole::Parity(stripe) => (stripe, self.stripe_scheme().data_strips()),
            PageRole::Filler => return,
        };
        if self.home_of(stripe, strip).is_some() {
            self.walk_stripes();
        }
    }

    /// Wants the unit collected as soon as its log gets to it.
    pub(crate) fn want(&mut self, unit: UnitId, cause: Cause) {
        match self.core.map.unit(unit).state {
            UnitState::Free | UnitState::Condemned | UnitState::Dirty | UnitState::Bad => return,
            // A bad block takes nothing more. What is left of a superblock may still be needed.
            UnitState::Open if self.core.map.kind() == LogKind::Regions => {
                self.send_moved(self.core.map.log_of(unit));
                self.core.map.abandon(unit);
            }
            UnitState::Open | UnitState::Closed => {}
        }
        self.queue_wanted(unit, cause);
        self.start_collecting(self.core.map.log_of(unit));
    }

    fn queue_wanted(&mut self, unit: UnitId, cause: Cause) {
        if self.care.wanted.iter().all(|&(other, _)| other != unit) {
            self.care.wanted.push_back((unit, cause));
        }
    }

    /// Whether a unit of the log waits to be collected.
    pub(crate) fn is_wanted(&self, log: usize) -> bool {
        self.care.wanted.iter().any(|&(unit, _)| self.core.map.log_of(unit) == log)
    }

    /// Condemns the first wanted unit of the log; an open one, which is closed for that, only
    /// where others are left to write to. Units collected meanwhile are wanted no more.
    pub(crate) fn condemn_wanted(&mut self, log: usize) -> Option<(UnitId, Cause)> {
        let may_close = self.core.map.free_units(log) > 1;
        let mut at = 0;
        while let Some(&(unit, cause)) = self.care.wanted.get(at) {
            let state = self.core.map.unit(unit).state;
            let too_wide = self.has_groups() && !self.core.map.has_room_for_group(unit);
            if self.core.map.log_of(unit) != log || state == UnitState::Open && !may_close || too_wide {
                at += 1;
                continue;
            }
            self.care.wanted.remove(at);
            if state == UnitState::Open {
                self.close_superblock(log, unit);
            }
            if self.core.map.condemn_unit(unit) {
                return Some((unit, cause));
            }
        }
        None
    }

    fn close_superblock(&mut self, log: usize, unit: UnitId) {
        // Ending a row may find the log short: the collector has its victim already.
        self.care.collectors[log].halted = true;
        self.end_rows_of(Some(unit));
        self.care.collectors[log].halted = false;
        self.core.map.abandon(unit);
    }

    /// Whether the victim holds pages for which there is no room at all.
    pub(crate) fn has_nowhere_to_go(&mut self, log: usize, victim: UnitId) -> bool {
        let anywhere = match self.writer.protection {
            Protection::None => self.least_has_room(),
            Protection::Stripes(_) => self.may_park_all(victim),
            Protection::Rows(_) | Protection::Groups(_) | Protection::Zones(_) => false,
        };
        let here = [Stream::Gc, Stream::Host].into_iter().any(|stream| self.core.map.has_room(log, stream));
        !here && !anywhere && self.core.map.unit(victim).valid > 0
    }

    fn least_has_room(&self) -> bool {
        (0..self.core.map.logs()).any(|log| self.core.map.has_room(log, Stream::Host))
    }

    /// Spares a victim whose last pages found no room; it is wanted again once there is some.
    pub(crate) fn give_up_if_stuck(&mut self, log: usize, victim: UnitId) {
        let collector = &mut self.care.collectors[log];
        if collector.stuck && self.core.moving[log].under_way == 0 && self.core.map.unit(victim).valid > 0 {
            (collector.victim, collector.stuck) = (None, false);
            let cause = self.core.moving[log].cause;
            self.core.map.reprieve(victim);
            self.queue_wanted(victim, cause);
        }
    }

    /// Walks all stripes, from the first, for strips that no living die holds.
    pub(crate) fn walk_stripes(&mut self) {
        if !self.care.rebuild.on || !matches!(self.writer.protection, Protection::Stripes(_)) {
            return;
        }
        self.care.rebuild.again = self.care.rebuild.walk.is_some();
        if !self.care.rebuild.again {
            (self.care.rebuild.walk, self.care.rebuild.left) = (Some(0), 0);
            self.walk_on();
        }
    }

    /// Starts to solve for lost strips, about as many as may be under way at once.
    fn walk_on(&mut self) {
        if std::mem::replace(&mut self.care.rebuild.walking, true) {
            return;
        }
        let stripes = self.stripe_count();
        while self.care.rebuild.in_flight < self.care.rebuild.at_once {
            match self.care.rebuild.walk {
                None => break,
                Some(at) if at < stripes => {
                    self.care.rebuild.walk = Some(at + 1);
                    self.rebuild_stripe(StripeId(at));
                }
                Some(_) if std::mem::take(&mut self.care.rebuild.again) => {
                    (self.care.rebuild.walk, self.care.rebuild.left) = (Some(0), 0)
                }
                Some(_) => self.care.rebuild.walk = None,
            }
        }
        self.care.rebuild.walking = false;
        self.note_rebuilt();
    }

    /// Starts to solve for the stripe's lost strips.
    fn rebuild_stripe(&mut self, stripe: StripeId) {
        self.commit_if_leaning_on_lost(stripe);
        for strip in 0..=self.stripe_scheme().data_strips() {
            if !self.is_strip_lost(stripe, strip) {
                continue;
            }
            if self.home_of(stripe, strip).is_none() {
                self.care.rebuild.left += 1;
                continue;
            }
            self.care.rebuild.in_flight += 1;
            self.repair(Target::Strip { stripe, strip });
        }
    }

    /// Whether the stripe has strips that no living die holds.
    pub(crate) fn lacks_a_strip(&self, stripe: StripeId) -> bool {
        (0..=self.stripe_scheme().data_strips()).any(|strip| self.is_strip_lost(stripe, strip))
    }

    /// Whether the strip exists and no living die holds it.
    fn is_strip_lost(&self, stripe: StripeId, strip: u32) -> bool {
        self.is_lost_place(self.place_of_strip(stripe, strip))
    }

    /// The die that the strip is written to: its own, or a substitute for a dead one.
    pub(crate) fn home_of(&self, stripe: StripeId, strip: u32) -> Option<DieId> {
        if self.core.device.died.is_empty() {
            return Some(self.stripe_scheme().die_of(stripe, strip));
        }
        self.stripe_scheme().home(stripe, strip, &self.core.device.died)
    }

    /// A lost strip was solved for, or cannot be.
    pub(crate) fn strip_rebuilt(&mut self, stripe: StripeId, strip: u32, payload: Option<P>) {
        match payload {
            // The host may have written the strip anew meanwhile.
            _ if !self.is_strip_lost(stripe, strip) => {
                self.care.rebuild.in_flight -= 1;
                self.commit_if_leaning_on_lost(stripe);
            }
            Some(payload) => {
                self.care.rebuild.parked.push_back((stripe, strip, payload));
                self.place_parked();
            }
            None => {
                self.care.rebuild.left += 1;
                self.care.rebuild.in_flight -= 1;
            }
        }
        self.walk_on();
    }

    /// Keeps a strip in the controller until there is room on its die.
    pub(crate) fn park_strip(&mut self, stripe: StripeId, strip: u32, payload: P, pinned: Option<UnitId>) {
        self.care.rebuild.in_flight += 1;
        self.care.rebuild.parked.push_back((stripe, strip, payload));
        if let Some(unit) = pinned {
            self.release(unit);
        }
    }

    /// Programs strips that were solved for, in order, as far as there is room.
    fn place_parked(&mut self) {
        while let Some((stripe, strip, payload)) = self.care.rebuild.parked.pop_front() {
            let home = self.home_of(stripe, strip).filter(|_| self.is_strip_lost(stripe, strip));
            let Some(log) = home.map(DieId::index) else {
                self.care.rebuild.in_flight -= 1;
                continue;
            };
            let Some(ppn) = self.core.map.take_page(log, Stream::Host) else {
                self.start_collecting_if_short(log);
                self.care.rebuild.parked.push_front((stripe, strip, payload));
                return;
            };
            let (oob, slot) = (oob_covering(0), self.core.device.grid.slot(ppn, 0));
            let lpn = Lpn(stripe.0 * self.stripe_scheme().data_strips() + strip);
            let is_parity = strip == self.stripe_scheme().data_strips();
            let (tag, published) = if is_parity {
                (OobTag::parity(stripe), self.core.map.publish_parity(stripe, slot))
            } else {
                let old = self.core.map.lookup(lpn);
                let published = self.core.map.publish(lpn, slot);
                self.note_move(stripe, old, Place::At(slot));
                (OobTag::data(lpn), published)
            };
            let image = self.core.device.images.open(ppn, oob);
            let update = self.version_of_strip(stripe, strip);
            self.core.device.images.fill(image, Contents { tag, payload, update }, NONE, published.pinned.unwrap_or(NONE));
            if is_parity {
                self.tell_strips_of_stored_parity(image, stripe);
            } else {
                self.tell_strips(image, stripe, StripSet::EMPTY, 0);
            }
            self.core.submit_program(image, Owner::Strip { log: log as u16 }, Cause::Rebuild);
            self.start_collecting_if_short(log);
        }
    }

    /// A rebuilt strip is programmed, or lost again.
    pub(crate) fn strip_programmed(&mut self, image: device::slab::Id, log: usize, done: bool) {
        self.page_done(image, log, false, done);
        self.care.rebuild.in_flight -= 1;
        self.walk_on();
    }

    /// Tries again to place rebuilt strips.
    pub(crate) fn retry_rebuild(&mut self) {
        if !self.care.rebuild.parked.is_empty() {
            self.place_parked();
            self.walk_on();
        }
    }

    /// There is no room for a rebuilt strip and there never will be: it stays lost. True if
    /// there was one.
    pub(crate) fn drop_parked(&mut self) -> bool {
        let dropped = self.care.rebuild.parked.pop_front().is_some();
        if dropped {
            self.care.rebuild.left += 1;
            self.care.rebuild.in_flight -= 1;
            self.walk_on();
        }
        dropped
    }
}
