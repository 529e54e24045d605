//! Parts of a static stripe: its strips' places and homes, which of them answer, which lie on worn blocks; and discards
//! of its pages.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::stripe_step::StripeStep;
use crate::write::stripes::Stripes;
use device::slab::JobId;
use ftl::{Place, Stream, UnitId};
use nand::{FlashArray, PageRole};
use vocab::{DieId, Lpn, Ppn, StripSet, StripeId};

impl<P: FlashPayload> Stripes<P> {
    /// Stripe and strip of a logical page.
    #[inline]
    pub fn strip_of(&self, lpn: Lpn) -> (StripeId, u32) {
        let (stripe, strip) = self.by_width.split(lpn.0);
        (StripeId(stripe), strip)
    }

    /// Stripe and strip of a page's contents; `None` for a filler.
    pub fn strip_of_role(&self, role: PageRole) -> Option<(StripeId, u32)> {
        match role {
            PageRole::Data(lpn) => Some(self.strip_of(lpn)),
            PageRole::Parity(stripe) => Some((stripe, self.data_strips())),
            PageRole::Filler => None,
        }
    }

    /// The logical page of a data strip; the last stripe may be shorter.
    pub fn lpn_of(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> Option<Lpn> {
        let lpn = stripe.0 * self.data_strips() + strip;
        (lpn < core.map.user_slots()).then_some(Lpn(lpn))
    }

    /// The logical pages of a stripe.
    pub fn lpns_of_stripe(&self, core: &Core<P>, stripe: StripeId) -> Vec<Lpn> {
        (0..self.data_strips()).filter_map(|strip| self.lpn_of(core, stripe, strip)).collect()
    }

    /// Static stripes of the drive.
    pub fn stripe_count(&self, core: &Core<P>) -> u32 {
        core.map.user_slots().div_ceil(self.data_strips())
    }

    /// Where a strip lies, parity among them.
    pub fn place_of_strip(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> Place {
        if strip == self.data_strips() {
            return core.map.lookup_parity(stripe);
        }
        self.lpn_of(core, stripe, strip).map_or(Place::Unmapped, |lpn| core.map.lookup(lpn))
    }

    /// The die that the strip is written to: its own, or a substitute for a dead one.
    pub fn home_of(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> Option<DieId> {
        let losses = &core.device.losses;
        match losses.died() {
            [] => Some(self.scheme().die_of(stripe, strip)),
            died if losses.spares().is_empty() => self.scheme().home(stripe, strip, died),
            _ => self.home_beside_spares(core, stripe, strip),
        }
    }

    /// The die that the strip is written to where dies were replaced and others are dead: its own while that lives, else the one that it lies
    /// on, else the next one that lives. No strip of the stripe lies there, or has it as its own.
    ///
    /// Not [`StripeScheme::home`](protect::StripeScheme::home): when a die lives again, that gives other substitutes to strips of other
    /// dead dies, and two strips that are to change places on full dies cannot.
    fn home_beside_spares(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> Option<DieId> {
        let (dies, width) = (core.device.grid.dies(), self.data_strips() + 1);
        let own = |strip| self.scheme().die_of(stripe, strip);
        if !core.device.is_dead(own(strip)) {
            return Some(own(strip));
        }
        let lies_on = |strip| self.die_of_strip(core, stripe, strip);
        // Strips whose die is dead choose one after the other: first those that lie somewhere.
        let mut taken: Vec<DieId> = (0..width).map(own).filter(|die| !core.device.is_dead(*die)).collect();
        let (lying, lost): (Vec<u32>, Vec<u32>) =
            (0..width).filter(|&strip| core.device.is_dead(own(strip))).partition(|&strip| lies_on(strip).is_some());
        let free = |die: &DieId, taken: &[DieId]| !core.device.is_dead(*die) && !taken.contains(die);
        let mut settled: Vec<u32> = Vec::new();
        for &one in &lying {
            let Some(die) = lies_on(one).filter(|die| free(die, &taken)) else { continue };
            if one == strip {
                return Some(die);
            }
            taken.push(die);
            settled.push(one);
        }
        for one in lying.into_iter().chain(lost).filter(|one| !settled.contains(one)) {
            let next = (1..dies).map(|step| DieId(((u32::from(own(one).0) + step) % dies) as u16));
            let Some(die) = next.into_iter().find(|die| free(die, &taken)) else { continue };
            if one == strip {
                return Some(die);
            }
            taken.push(die);
        }
        None
    }

    /// The dies that hold strips of the stripe which can be read, parity among them, once for each strip.
    pub fn dies_of_strips(&self, core: &Core<P>, stripe: StripeId) -> impl Iterator<Item = DieId> {
        (0..=self.data_strips()).filter_map(move |strip| self.die_of_strip(core, stripe, strip))
    }

    /// The die that holds the strip, if it can be read.
    pub fn die_of_strip(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> Option<DieId> {
        let place = self.place_of_strip(core, stripe, strip);
        let page = core.page_of(place).filter(|_| !core.is_lost_place(place));
        page.map(|ppn| core.device.grid.die_of(ppn))
    }

    /// Whether the strip exists and no living die holds it.
    pub fn is_strip_lost(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> bool {
        core.is_lost_place(self.place_of_strip(core, stripe, strip))
    }

    /// Whether a die was ever replaced and the strip lies on another one than it is written to now: it is to be copied back.
    pub fn is_strip_away(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> bool {
        if core.device.losses.spares().is_empty() {
            return false;
        }
        let Some(ppn) = core.page_of(self.place_of_strip(core, stripe, strip)) else { return false };
        let is_read = core.device.array.answers(ppn) && !core.device.is_displaced(ppn);
        is_read && self.home_of(core, stripe, strip).is_some_and(|home| home != core.device.grid.die_of(ppn))
    }

    /// Whether strips of the stripe lie on other dies than they are written to, and are to be copied back.
    pub fn has_strips_away(&self, core: &Core<P>, stripe: StripeId) -> bool {
        (0..=self.data_strips()).any(|strip| self.is_strip_away(core, stripe, strip))
    }

    /// Whether the strip is to be written to its die: no living one holds it, or another one.
    pub fn is_strip_wanted(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> bool {
        self.is_strip_lost(core, stripe, strip) || self.is_strip_away(core, stripe, strip)
    }

    /// Whether every stripe has its strips, on the dies that they are written to, and no parity of one leans on what is lost: a partial
    /// parity may lean on an old version that only the stored parity gave before a cut.
    pub fn are_all_whole(&self, core: &Core<P>) -> bool {
        let is_whole = |stripe| {
            let any_lost = !self.stripe_state(core, stripe).1.is_empty();
            // Of equal copies of a strip that was copied back the mount took the older one.
            !any_lost && !self.leans_on_lost(core, stripe) && !self.has_strips_away(core, stripe)
        };
        (0..self.stripe_count(core)).map(StripeId).all(is_whole)
    }

    /// Strips of all stripes that are to be written to a die that they have.
    pub fn strips_out(&self, core: &Core<P>) -> u32 {
        let strips = |stripe| (0..=self.data_strips()).map(move |strip| (stripe, strip));
        let all = (0..self.stripe_count(core)).map(StripeId).flat_map(strips);
        let is_out = |&(stripe, strip): &(StripeId, u32)| {
            self.is_strip_wanted(core, stripe, strip) && self.home_of(core, stripe, strip).is_some()
        };
        all.filter(is_out).count() as u32
    }

    /// Whether another strip of the stripe lies on the die of this one, where a die was ever replaced: that strip is still to be copied home,
    /// or has no home. Then this strip stays where it is, or lost, because two strips of a stripe on one die survive no loss of it.
    pub fn is_home_taken(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> bool {
        if core.device.losses.spares().is_empty() {
            return false;
        }
        let Some(home) = self.home_of(core, stripe, strip) else { return false };
        let lies_on = |other| self.die_of_strip(core, stripe, other);
        (0..=self.data_strips()).any(|other| other != strip && lies_on(other) == Some(home))
    }

    /// Whether the stripe has strips that no living die holds.
    pub fn lacks_a_strip(&self, core: &Core<P>, stripe: StripeId) -> bool {
        (0..=self.data_strips()).any(|strip| self.is_strip_lost(core, stripe, strip))
    }

    /// Where a strip is that was read from a page whose program failed: it went elsewhere in the meantime.
    pub fn went_elsewhere(&self, core: &Core<P>, stripe: StripeId, strip: u32, from: Ppn) -> Option<Ppn> {
        let page = core.page_of(self.place_of_strip(core, stripe, strip));
        page.filter(|&ppn| ppn != from && core.device.array.answers(ppn))
    }

    /// Whether full or partial parity of the stripe is stored.
    pub fn is_protected(&self, core: &Core<P>, stripe: StripeId) -> bool {
        core.map.lookup_parity(stripe) != Place::Unmapped || self.held.get(stripe).is_some()
    }

    /// Data strips with stored contents, and strips (parity included) that cannot be read.
    pub fn stripe_state(&self, core: &Core<P>, stripe: StripeId) -> (StripSet, StripSet) {
        let n = self.data_strips();
        let first = stripe.0 * n;
        let pages = Lpn(first)..Lpn((first + n).min(core.map.user_slots()));
        let (present, mut unreadable) = core.map.mapped(pages.clone());
        if !core.device.array.answers_everywhere() {
            let places = (0..).zip(core.map.places(pages));
            unreadable = places.filter(|(_, place)| core.is_lost_place(*place)).map(|(strip, _)| strip).collect();
        }
        if core.is_lost_place(core.map.lookup_parity(stripe)) {
            unreadable.insert(n);
        }
        (present, unreadable)
    }

    /// Present data strips on worn blocks; empty where wear does not matter.
    pub fn worn_strips(&self, core: &Core<P>, stripe: StripeId) -> StripSet {
        if !self.any_worn {
            return StripSet::EMPTY;
        }
        (0..self.data_strips())
            .filter(|&strip| self.is_worn(core, self.place_of_strip(core, stripe, strip)) == Some(true))
            .collect()
    }

    /// Written strips whose next place lies on a worn block.
    pub fn worn_places(&self, core: &mut Core<P>, stripe: StripeId, written: StripSet) -> StripSet {
        let Some(limit) = self.worn_above else { return StripSet::EMPTY };
        let mut worn = StripSet::EMPTY;
        for strip in written.iter() {
            let next_pe = self.home_of(core, stripe, strip).and_then(|die| core.map.next_pe(die.index(), Stream::Host));
            if next_pe.is_some_and(|pe| pe > limit.0) {
                worn.insert(strip);
            }
        }
        worn
    }

    /// Whether the block of a place is worn; `None` where there is no place.
    fn is_worn(&self, core: &Core<P>, place: Place) -> Option<bool> {
        let Place::At(slot) = place else { return None };
        let limit = self.worn_above?;
        Some(core.map.unit(core.map.unit_of(slot)).pe > limit.0)
    }

    /// Tells a scheme that minds wear, where any block is worn, that a data strip moved.
    pub fn note_move(&mut self, core: &Core<P>, stripe: StripeId, from: Place, to: Place) {
        let (from, to) = (self.is_worn(core, from), self.is_worn(core, to));
        let before = self.scheme().life_stage();
        self.scheme_mut().moved(stripe, from, to);
        self.note_stage(core, before);
    }

    /// Notes when a stage of life began, if it is not the one of before.
    fn note_stage(&mut self, core: &Core<P>, before: Option<u8>) {
        if let Some(stage) = self.scheme().life_stage().filter(|&stage| before != Some(stage)) {
            self.stages.push((stage, core.device.now));
        }
    }

    /// As [`Self::note_move`], for contents whose place was `from`.
    pub fn note_move_of(&mut self, core: &Core<P>, role: PageRole, from: Place) {
        if self.any_worn
            && let PageRole::Data(lpn) = role
        {
            self.note_move(core, self.strip_of(lpn).0, from, core.map.lookup(lpn));
        }
    }

    /// Whether GC may come to wait for parity that is not stored yet: of a commit, or of a build.
    pub fn may_keep_gc_waiting(&self) -> bool {
        self.scheme().parity_cache() > 0 || self.worn_above.is_some()
    }

    /// Stripes may lack the parity that their pages on worn blocks need: all of them are looked at when the drive is idle.
    pub fn look_for_missing_parity(&mut self) {
        if self.worn_above.is_some() {
            self.scheme_mut().look_again();
        }
    }

    /// A unit was erased: parity that found no space may find some now, and the unit may be worn from now on.
    pub fn unit_erased(&mut self, core: &Core<P>, unit: UnitId) {
        let Some(limit) = self.worn_above else { return };
        if core.is_mountable() {
            self.scheme_mut().look_again();
        }
        if core.map.unit(unit).pe > limit.0 {
            self.any_worn = true;
            let before = self.scheme().life_stage();
            self.scheme_mut().block_wore_out();
            self.note_stage(core, before);
        }
    }

    /// Compares the scheme's counts of strips on worn blocks with a recount; for tests.
    pub fn check_worn_strips(&self, core: &Core<P>) {
        for stripe in (0..self.stripe_count(core)).map(StripeId) {
            let counted = self.scheme().worn_strips(stripe);
            assert_eq!(counted, Some(self.worn_strips(core, stripe).len()), "strips of {stripe:?} on worn blocks");
        }
    }

    /// Tells a scheme that minds wear which blocks and strips are worn: of a drive that was aged, or
    /// mounted.
    pub fn tell_worn_strips(&mut self, core: &Core<P>) {
        let Some(limit) = self.worn_above else { return };
        if (0..core.map.units()).any(|unit| core.map.unit(unit as u32).pe > limit.0) {
            self.any_worn = true;
            self.scheme_mut().block_wore_out();
        }
        for stripe in (0..self.stripe_count(core)).map(StripeId) {
            let worn = self.worn_strips(core, stripe).len();
            self.scheme_mut().aged(stripe, worn);
        }
    }

    /// Hides the job's pages from the host; frees stripes all of whose pages are hidden.
    pub fn discard(&mut self, core: &mut Core<P>, job: JobId) {
        let (first, end) = core.jobs[job].range;
        let n = self.data_strips();
        for lpn in (first..end).map(Lpn) {
            if core.map.lookup(lpn) != Place::Unmapped {
                core.hide(lpn);
            }
        }
        if first < end {
            self.free_discarded(core, StripeId(first / n), StripeId((end - 1) / n + 1));
        }
    }

    /// Frees stripes from `first` on, up to the one before `end`, all of whose pages are hidden.
    pub(super) fn free_discarded(&mut self, core: &mut Core<P>, first: StripeId, end: StripeId) {
        for stripe in (first.0..end.0).map(StripeId) {
            self.free_if_hidden(core, stripe);
            // GC of what this stripe kept goes on before the next one is freed.
            if !core.out.is_empty() {
                Self::later(core, StripeStep::FreeDiscarded { first: StripeId(stripe.0 + 1), end });
                return;
            }
        }
    }

    fn free_if_hidden(&mut self, core: &mut Core<P>, stripe: StripeId) {
        let lpns = self.lpns_of_stripe(core, stripe);
        let is_seen = |lpn: &Lpn| core.map.lookup(*lpn) != Place::Unmapped && !core.is_hidden(*lpn);
        if lpns.iter().any(is_seen) {
            return;
        }
        let mut pins: Vec<u32> = Vec::new();
        for lpn in lpns {
            core.show(lpn);
            let old = core.map.lookup(lpn);
            pins.extend(core.map.forget(lpn).pinned);
            self.note_move_of(core, PageRole::Data(lpn), old);
        }
        if let Some(partial) = self.held.take(stripe, |slot| core.map.unit_of(slot)) {
            pins.extend(partial.pinned().map(|slot| core.map.unit_of(slot)));
            self.held.left();
            self.held.settled(stripe);
        }
        pins.extend(core.map.forget_parity(stripe).pinned);
        self.note_version(PageRole::Parity(stripe), 0);
        pins.into_iter().for_each(|unit| core.release(unit));
    }
}
