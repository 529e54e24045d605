//! The seam of static stripes for what brings their strips back: rebuild, replaced dies, strips without room. A drive under another way
//! has no stripes.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::Writer;
use crate::write::stripes::Stripes;
use ftl::{Place, Stream, UnitId};
use nand::PageRole;
use vocab::{DieId, Lpn, Ppn, Slot, StripeId};

/// A strip of a stripe.
pub(crate) type Strip = (StripeId, u32);

/// A strip that is to be written to its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedStrip {
    /// Where the map has it.
    pub place: Place,
    /// Where another die holds it, from which it is copied back; `None`: no living die does.
    pub away: Option<Slot>,
    pub home: Home,
}

/// The die that a strip is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// There is none.
    None,
    /// Another strip of the stripe lies there, which is still to be copied home or has no home.
    Taken,
    Free(DieId),
}

impl<P: FlashPayload> Writer<P> {
    /// Stripe and strip of a page's contents; `None` for a filler.
    pub fn strip_of_role(&self, role: PageRole) -> Option<Strip> {
        self.stripes_if_any()?.strip_of_role(role)
    }

    /// Stripes of the drive.
    pub fn stripe_count(&self, core: &Core<P>) -> u32 {
        self.stripes_if_any().map_or(0, |stripes| stripes.stripe_count(core))
    }

    /// The logical pages of the stripe.
    pub fn lpns_of_stripe(&self, core: &Core<P>, stripe: StripeId) -> Vec<Lpn> {
        self.stripes_if_any().map(|stripes| stripes.lpns_of_stripe(core, stripe)).unwrap_or_default()
    }

    /// The strips of the stripe, parity last.
    pub fn strips_of(&self, stripe: StripeId) -> impl Iterator<Item = Strip> + use<P> {
        let parity = self.stripes_if_any().map(Stripes::data_strips);
        (0..).map(move |strip| (stripe, strip)).take_while(move |&(_, strip)| parity.is_some_and(|parity| strip <= parity))
    }

    /// The strip, if it is to be written to its die.
    pub fn wanted_strip(&self, core: &Core<P>, strip: Strip) -> Option<WantedStrip> {
        let (stripes, (stripe, strip)) = (self.stripes_if_any()?, strip);
        let place = stripes.place_of_strip(core, stripe, strip);
        let away = match place {
            Place::At(slot) if stripes.is_strip_away(core, stripe, strip) => Some(slot),
            place if core.is_lost_place(place) => None,
            _ => return None,
        };
        let home = match stripes.home_of(core, stripe, strip) {
            None => Home::None,
            Some(_) if stripes.is_home_taken(core, stripe, strip) => Home::Taken,
            Some(die) => Home::Free(die),
        };
        Some(WantedStrip { place, away, home })
    }

    /// Whether there is a die that the strip is written to.
    pub fn has_home(&self, core: &Core<P>, strip: Strip) -> bool {
        self.stripes_if_any().is_some_and(|stripes| stripes.home_of(core, strip.0, strip.1).is_some())
    }

    /// Strips of all stripes that are to be written to a die that they have.
    pub fn strips_out(&self, core: &Core<P>) -> u32 {
        self.stripes_if_any().map_or(0, |stripes| stripes.strips_out(core))
    }

    /// Whether every stripe has its strips, where it was laid out, and no parity of one leans on what is lost.
    pub fn are_all_whole(&self, core: &Core<P>) -> bool {
        self.stripes_if_any().is_none_or(|stripes| stripes.are_all_whole(core))
    }

    /// Whether all strips lie on their dies, each on one of its own.
    pub fn is_laid_out(&self, core: &Core<P>) -> bool {
        self.stripes_if_any().is_none_or(|stripes| stripes.is_laid_out(core))
    }

    /// Stripes whose partial parities keep old versions in logs that are short of space, and whose parity has room elsewhere.
    pub fn committed_for_room(&self, core: &Core<P>) -> Vec<StripeId> {
        self.stripes_if_any().map(|stripes| stripes.committed_for_room(core)).unwrap_or_default()
    }

    /// Commits the stripe's partial parity.
    pub fn commit(&mut self, core: &mut Core<P>, stripe: StripeId) {
        if let Some(stripes) = self.stripes_if_any_mut() {
            stripes.commit(core, stripe);
        }
    }

    /// Commits the stripe's partial parity, if that leans on a strip that is lost.
    pub fn commit_if_leaning_on_lost(&mut self, core: &mut Core<P>, stripe: StripeId) {
        if let Some(stripes) = self.stripes_if_any_mut() {
            stripes.commit_if_leaning_on_lost(core, stripe);
        }
    }

    /// Programs a strip that was solved for, or read, into this page of the die that it goes to.
    pub fn program_rebuilt(&mut self, core: &mut Core<P>, strip: Strip, payload: P, ppn: Ppn) {
        if let Some(stripes) = self.stripes_if_any_mut() {
            stripes.program_rebuilt(core, strip.0, strip.1, payload, ppn);
        }
    }

    /// The program of such a strip has ended; which one it is.
    pub fn strip_rebuilt(&mut self, core: &Core<P>, role: PageRole) -> Option<Strip> {
        self.stripes_if_any_mut()?.strip_rebuilt(core, role)
    }

    /// A page for a strip of the stripe that no die of its own takes, and its log, which is not `halted`: of a die without a strip of the
    /// stripe, if one has room.
    pub fn page_on_any_die(&self, core: &mut Core<P>, stripe: StripeId, halted: impl Fn(usize) -> bool) -> Option<(usize, Ppn)> {
        let taken: Vec<usize> = self.stripes_if_any()?.dies_of_strips(core, stripe).map(DieId::index).collect();
        let logs = (0..core.map.logs()).filter(|&log| !halted(log));
        let mut with_room = logs.filter(|&log| core.map.has_room(log, Stream::Host)).peekable();
        let first = with_room.peek().copied()?;
        let log = with_room.find(|log| !taken.contains(log)).unwrap_or(first);
        Some((log, core.map.take_page(log, Stream::Host)?))
    }

    /// Old versions that partial parities know in places of this kind are lost. The units that they pinned, once for each.
    pub fn lose_old(&mut self, core: &Core<P>, is_lost: impl Fn(Place) -> bool) -> Vec<UnitId> {
        let stripes = self.stripes_if_any_mut();
        stripes.map(|stripes| stripes.held.lose_old(is_lost, |slot| core.map.unit_of(slot))).unwrap_or_default()
    }

    /// Stripes may get the parity that they lack.
    pub fn look_for_missing_parity(&mut self) {
        if let Some(stripes) = self.stripes_if_any_mut() {
            stripes.look_for_missing_parity();
        }
    }
}
