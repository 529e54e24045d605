//! What a static stripe is made of: its strips' places, which of them answer, which lie on worn
//! blocks; and discards of its pages.

use crate::core::jobs::Waiter;
use crate::core::target::Target;
use crate::engine::Engine;
use crate::write::stripes::partial::StripeVersions;
use device::contents::HostPayload;
use device::slab::Id;
use ftl::{Place, Stream};
use nand::{FlashArray, Member, OobTag};
use protect::{Protection, StripeScheme};
use vocab::{Lpn, Slot, StripSet, StripeId};

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn stripe_scheme(&self) -> &dyn StripeScheme {
        match &self.writer.protection {
            Protection::Stripes(scheme) => &**scheme,
            _ => unreachable!("only static stripes come here"),
        }
    }

    pub(crate) fn stripe_scheme_mut(&mut self) -> &mut dyn StripeScheme {
        match &mut self.writer.protection {
            Protection::Stripes(scheme) => &mut **scheme,
            _ => unreachable!("only static stripes come here"),
        }
    }

    pub(crate) fn strip_of(&self, lpn: Lpn) -> (StripeId, u32) {
        let n = self.stripe_scheme().data_strips();
        (StripeId(lpn.0 / n), lpn.0 % n)
    }

    pub(crate) fn lpn_of(&self, stripe: StripeId, strip: u32) -> Option<Lpn> {
        let lpn = stripe.0 * self.stripe_scheme().data_strips() + strip;
        (lpn < self.core.map.user_slots()).then_some(Lpn(lpn))
    }

    pub(crate) fn place_of_strip(&self, stripe: StripeId, strip: u32) -> Place {
        if strip == self.stripe_scheme().data_strips() {
            return self.core.map.lookup_parity(stripe);
        }
        self.lpn_of(stripe, strip).map_or(Place::Unmapped, |lpn| self.core.map.lookup(lpn))
    }

    /// The page has contents of this rank now.
    pub(crate) fn note_version(&mut self, lpn: Lpn, rank: u64) {
        if let Some(version) = self.writer.stripes.versions.get_mut(lpn.index()) {
            *version = rank;
        }
    }

    /// The stripe has parity of this rank now; 0: none.
    pub(crate) fn note_parity_version(&mut self, stripe: StripeId, rank: u64) {
        if let Some(version) = self.writer.stripes.parity_versions.get_mut(stripe.index()) {
            *version = rank;
        }
    }

    /// What the stripe is made of since the update of this rank.
    pub(crate) fn versions_of_stripe(&self, stripe: StripeId, rank: u64) -> StripeVersions {
        let stored = |strip| self.place_of_strip(stripe, strip) != Place::Unmapped;
        let version = |strip| if stored(strip) { self.version_of_strip(stripe, strip) } else { 0 };
        let strips = (0..self.stripe_scheme().data_strips()).map(version).collect();
        StripeVersions { strips, parity: self.writer.stripes.parity_versions[stripe.index()], rank }
    }

    /// Rank of the contents of a strip, parity among them.
    pub(crate) fn version_of_strip(&self, stripe: StripeId, strip: u32) -> u64 {
        let version = match self.lpn_of(stripe, strip).filter(|_| strip < self.stripe_scheme().data_strips()) {
            Some(lpn) => self.writer.stripes.versions.get(lpn.index()),
            None => self.writer.stripes.parity_versions.get(stripe.index()),
        };
        version.copied().unwrap_or(0)
    }

    /// Rank of the newest contents of a stripe.
    pub(crate) fn newest_of_stripe(&self, stripe: StripeId) -> u64 {
        (0..self.stripe_scheme().data_strips()).map(|strip| self.version_of_strip(stripe, strip)).max().unwrap_or(0)
    }

    /// The image is a page of the stripe: it says what the stripe is made of once the update of this
    /// rank has written these strips. Strips are found by their number: where they lie is not said.
    pub(crate) fn tell_strips(&mut self, image: Id, stripe: StripeId, written: StripSet, rank: u64) {
        if !self.core.is_mountable() {
            return;
        }
        let version = |strip: u32, lpn: Lpn| {
            let is_stored = self.core.map.lookup(lpn) != Place::Unmapped;
            if written.contains(strip) { Some(rank) } else { is_stored.then(|| self.writer.stripes.versions[lpn.index()]) }
        };
        self.core.device.images.set_members(image, self.members_of_stripe(stripe, version));
    }

    /// The image is the stored parity once more: where a partial parity has newer contents of a strip, it
    /// sums the older ones.
    pub(crate) fn tell_strips_of_stored_parity(&mut self, image: Id, stripe: StripeId) {
        if !self.core.is_mountable() {
            return;
        }
        let held = self.writer.stripes.held.get(stripe);
        let version = |strip: u32, lpn: Lpn| {
            let old = held.and_then(|held| held.old_place(strip));
            match old.unwrap_or_else(|| self.core.map.lookup(lpn)) {
                Place::Unmapped => None,
                Place::At(slot) if old.is_some() => {
                    let (ppn, index) = self.core.device.grid.page_of(slot);
                    Some(self.core.device.update_at(ppn, index))
                }
                _ => Some(self.writer.stripes.versions[lpn.index()]),
            }
        };
        self.core.device.images.set_members(image, self.members_of_stripe(stripe, version));
    }

    fn members_of_stripe(&self, stripe: StripeId, version: impl Fn(u32, Lpn) -> Option<u64>) -> Vec<Member> {
        let member = |strip: u32| {
            let lpn = self.lpn_of(stripe, strip)?;
            Some(Member { slot: Slot(u32::MAX), tag: OobTag::data(lpn), update: version(strip, lpn)? })
        };
        (0..self.stripe_scheme().data_strips()).filter_map(member).collect()
    }

    /// The logical pages of a stripe.
    pub(crate) fn lpns_of_stripe(&self, stripe: StripeId) -> Vec<Lpn> {
        (0..self.stripe_scheme().data_strips()).filter_map(|strip| self.lpn_of(stripe, strip)).collect()
    }

    /// Whether what is at the place exists and no living die holds it.
    pub(crate) fn is_lost_place(&self, place: Place) -> bool {
        match place {
            Place::Unmapped => false,
            Place::Missing => true,
            Place::At(slot) => !self.core.device.array.answers(self.core.device.grid.page_of(slot).0),
        }
    }

    /// Whether full or partial parity of the stripe is stored.
    pub(crate) fn is_protected(&self, stripe: StripeId) -> bool {
        self.core.map.lookup_parity(stripe) != Place::Unmapped || self.writer.stripes.held.get(stripe).is_some()
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
            if self.is_lost_place(place) {
                unreadable.insert(strip);
            }
        }
        (present, unreadable)
    }

    /// Present data strips on worn blocks; empty where wear does not matter.
    pub(crate) fn worn_strips(&self, stripe: StripeId) -> StripSet {
        if self.writer.stripes.worn_above.is_none() {
            return StripSet::EMPTY;
        }
        let n = self.stripe_scheme().data_strips();
        (0..n).filter(|&strip| self.is_worn(self.place_of_strip(stripe, strip)) == Some(true)).collect()
    }

    /// Whether the block of a place is worn; `None` where there is no place.
    fn is_worn(&self, place: Place) -> Option<bool> {
        let Place::At(slot) = place else { return None };
        let limit = self.writer.stripes.worn_above?;
        Some(self.core.map.unit(self.core.map.unit_of(slot)).pe > limit.0)
    }

    /// Tells a scheme that minds wear that a data strip moved.
    #[inline]
    pub(crate) fn note_move(&mut self, stripe: StripeId, from: Place, to: Place) {
        if self.writer.stripes.worn_above.is_some() {
            let (from, to) = (self.is_worn(from), self.is_worn(to));
            self.stripe_scheme_mut().moved(stripe, from, to);
        }
    }

    /// As [`Self::note_move`], for a logical page whose place was `from`.
    pub(crate) fn note_move_of(&mut self, lpn: Lpn, from: Place) {
        if self.writer.stripes.worn_above.is_some() {
            let (stripe, _) = self.strip_of(lpn);
            self.note_move(stripe, from, self.core.map.lookup(lpn));
        }
    }

    /// Compares the scheme's counts of strips on worn blocks with a recount; for tests.
    pub(crate) fn check_worn_strips(&self) {
        for stripe in (0..self.stripe_count()).map(StripeId) {
            let counted = self.stripe_scheme().worn_strips(stripe);
            assert_eq!(counted, Some(self.worn_strips(stripe).len()), "strips of {stripe:?} on worn blocks");
        }
    }

    /// Tells a scheme that minds wear which blocks and strips are worn: of a drive that was aged, or
    /// mounted.
    pub(crate) fn tell_worn_strips(&mut self) {
        let Some(limit) = self.writer.stripes.worn_above else { return };
        if (0..self.core.map.units()).any(|unit| self.core.map.unit(unit as u32).pe > limit.0) {
            self.stripe_scheme_mut().block_wore_out();
        }
        for stripe in (0..self.stripe_count()).map(StripeId) {
            let worn = self.worn_strips(stripe).len();
            self.stripe_scheme_mut().aged(stripe, worn);
        }
    }

    /// Static stripes of the drive.
    pub(crate) fn stripe_count(&self) -> u32 {
        self.core.map.user_slots().div_ceil(self.stripe_scheme().data_strips())
    }

    /// Written strips whose next place lies on a worn block.
    pub(crate) fn worn_places(&mut self, stripe: StripeId, written: StripSet) -> StripSet {
        let Some(limit) = self.writer.stripes.worn_above else { return StripSet::EMPTY };
        let mut worn = StripSet::EMPTY;
        for strip in written.iter() {
            let Some(die) = self.home_of(stripe, strip) else { continue };
            if self.core.map.next_pe(die.index(), Stream::Host).is_some_and(|pe| pe > limit.0) {
                worn.insert(strip);
            }
        }
        worn
    }

    /// Waits until the stripe's update under way is done.
    pub(crate) fn wait_for_stripe(&mut self, stripe: StripeId, target: Target) {
        self.writer.stripes.locks.wait(stripe, Waiter::Repair(target));
    }

    /// Hides the job's pages from the host; frees stripes of which nothing is left to see.
    pub(crate) fn discard_in_stripes(&mut self, job: Id) {
        let (first, end) = self.core.jobs[job].range;
        let n = self.stripe_scheme().data_strips();
        for lpn in (first..end).map(Lpn) {
            if self.core.map.lookup(lpn) != Place::Unmapped {
                self.core.hide(lpn, true);
            }
        }
        if first < end {
            for stripe in (first / n..=(end - 1) / n).map(StripeId) {
                self.free_if_hidden(stripe);
            }
        }
    }

    fn free_if_hidden(&mut self, stripe: StripeId) {
        let lpns = self.lpns_of_stripe(stripe);
        let seen = |lpn: &Lpn| self.core.map.lookup(*lpn) != Place::Unmapped && !self.core.is_hidden(*lpn);
        if lpns.iter().any(seen) {
            return;
        }
        let mut pins: Vec<u32> = Vec::new();
        for lpn in lpns {
            self.core.hide(lpn, false);
            let old = self.core.map.lookup(lpn);
            pins.extend(self.core.map.forget(lpn).pinned);
            self.note_move_of(lpn, old);
        }
        let ftl = &self.core.map;
        if let Some(held) = self.writer.stripes.held.take(stripe, |slot| ftl.unit_of(slot)) {
            pins.extend(held.pinned().map(|slot| ftl.unit_of(slot)));
            self.writer.stripes.held.left();
            self.writer.stripes.held.settled(stripe);
        }
        pins.extend(self.core.map.forget_parity(stripe).pinned);
        self.note_parity_version(stripe, 0);
        pins.into_iter().for_each(|unit| self.release(unit));
    }
}
