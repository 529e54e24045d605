//! The audit of static stripes: every parity, stored or partial, is computed again from flash; and whether strips lie where they
//! are to lie. For tests and proofs, which ask the flash what no controller knows.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::write::stripes::Stripes;
use crate::write::stripes::partial::PartialParity;
use ftl::Place;
use nand::FlashArray;
use vocab::{DieId, Ppn, StripeId};

impl<P: FlashPayload> Stripes<P> {
    /// Computes the parity of every stripe again and compares it with what is stored or held; `is_read_only`: there may be no room for
    /// parity.
    ///
    /// # Errors
    /// A parity that is wrong or missing, in words.
    pub fn audit(&self, core: &Core<P>, is_read_only: bool) -> Result<Audit, String> {
        let n = self.data_strips();
        let mut found = Audit::default();
        for stripe in (0..self.stripe_count(core)).map(StripeId) {
            self.audit_worn(core, stripe, is_read_only)?;
            if let Some(held) = self.held.get(stripe) {
                let sound = self.audit_held(core, stripe, held)?.is_some();
                found.sound += u32::from(sound);
                found.broken += u32::from(!sound);
                continue;
            }
            let places: Vec<Place> = (0..n).map(|strip| self.place_of_strip(core, stripe, strip)).collect();
            let page = |place: &Place| if let Place::At(slot) = place { Some(core.device.grid.page_of(*slot).0) } else { None };
            let pages: Vec<Ppn> = places.iter().filter_map(page).collect();
            let whole = !places.contains(&Place::Missing);
            let parity = core.map.lookup_parity(stripe);
            let verdict = page(&parity).filter(|_| whole).and_then(|parity| core.is_sum(&pages, parity));
            match (parity, verdict) {
                (Place::Unmapped, _) => {
                    found.uncovered += places.iter().filter(|&&place| place != Place::Unmapped).count() as u32
                }
                (_, None) => found.broken += 1,
                (_, Some(true)) => found.sound += 1,
                (_, Some(false)) => return Err(format!("the parity of {stripe} at {parity:?} is not the sum of {places:?}")),
            }
        }
        Ok(found)
    }

    /// The partial parity must be the sum of the current versions it covers, the stored parity
    /// that of the old ones and of the strips outside. `None` where some page is not there.
    fn audit_held(&self, core: &Core<P>, stripe: StripeId, held: &PartialParity<P>) -> Result<Option<()>, String> {
        let n = self.data_strips();
        let (mut new, mut old) = (held.sum.clone(), P::default());
        for strip in 0..=n {
            let now = self.place_of_strip(core, stripe, strip);
            if held.covers.contains(strip) {
                let Some(payload) = stored_at(core, now) else { return Ok(None) };
                new.add(&payload);
            }
            let before = held.old_place(strip);
            if !held.covers.contains(strip) && before.is_some_and(|before| before != now) {
                return Err(format!("strip {strip} of {stripe} was written again and no parity covers it"));
            }
            let Some(payload) = stored_at(core, before.unwrap_or(now)) else { return Ok(None) };
            old.add(&payload);
        }
        match (new.is_zero(), old.is_zero()) {
            (false, _) => Err(format!("the partial parity of {stripe} is not the sum of strips {:?}", held.covers)),
            (_, false) if core.map.lookup_parity(stripe) != Place::Unmapped => {
                Err(format!("the stored parity of {stripe} is not the sum of its old versions"))
            }
            _ => Ok(Some(())),
        }
    }

    /// A stripe with a strip on a worn block must have parity, if its pages are there.
    fn audit_worn(&self, core: &Core<P>, stripe: StripeId, is_read_only: bool) -> Result<(), String> {
        let has_die = self.home_of(core, stripe, self.data_strips()).is_some();
        // There may be no room for the parity, or no die.
        if !has_die || self.held.is_unbuildable(stripe) || is_read_only {
            return Ok(());
        }
        let bare = !self.is_protected(core, stripe);
        let (_, unreadable) = self.stripe_state(core, stripe);
        let worn = self.worn_strips(core, stripe);
        if bare && unreadable.is_empty() && !worn.is_empty() && self.scheme().wants_parity(stripe, false) {
            return Err(format!("strips {worn:?} of {stripe} lie on worn blocks and have no parity"));
        }
        Ok(())
    }

    /// Whether all strips lie on their dies, each on one of its own: a partial parity and a stored one bring back two strips of one die,
    /// but a commit leaves one parity for both.
    pub fn is_laid_out(&self, core: &Core<P>) -> bool {
        let all = || (0..self.stripe_count(core)).map(StripeId);
        let is_placed = || all().all(|stripe| self.has_homes(core, stripe)) && self.two_strips_on_a_die(core, |_| true).is_none();
        let any_away = || all().any(|stripe| self.has_strips_away(core, stripe));
        self.scheme().survives_dies() > 0 && is_placed() && !any_away()
    }

    /// Whether there is a die for every strip of the stripe.
    pub fn has_homes(&self, core: &Core<P>, stripe: StripeId) -> bool {
        (0..=self.data_strips()).all(|strip| self.home_of(core, stripe, strip).is_some())
    }

    /// The first of these static stripes with two strips on one die that answers, and the die.
    pub fn two_strips_on_a_die(&self, core: &Core<P>, of: impl Fn(StripeId) -> bool) -> Option<(StripeId, DieId)> {
        let die = |stripe, strip| match self.place_of_strip(core, stripe, strip) {
            Place::At(slot) => Some(core.device.grid.page_of(slot).0).filter(|&ppn| !core.device.array.is_lost(ppn)),
            Place::Unmapped | Place::Missing => None,
        };
        (0..self.stripe_count(core)).map(StripeId).filter(|&stripe| of(stripe)).find_map(|stripe| {
            let mut dies: Vec<DieId> =
                (0..=self.data_strips()).filter_map(|strip| die(stripe, strip)).map(|ppn| core.device.grid.die_of(ppn)).collect();
            dies.sort_unstable();
            let two = dies.windows(2).find(|pair| pair[0] == pair[1])?;
            Some((stripe, two[0]))
        })
    }
}

/// The contents of a strip that lies there; zeros where it has no place, and `None` where it is not in flash.
fn stored_at<P: FlashPayload>(core: &Core<P>, place: Place) -> Option<P> {
    match place {
        Place::Unmapped => Some(P::default()),
        Place::Missing => None,
        Place::At(slot) => {
            let (ppn, index) = core.device.grid.page_of(slot);
            core.device.is_stored(ppn).then(|| core.device.array.payload(ppn)[index as usize].clone())
        }
    }
}
