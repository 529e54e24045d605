//! The states that the pages of one stripe name.

use crate::core::data_of;
use crate::core::flash::FlashPayload;
use crate::rules::SafetyRule;
use crate::write::stripes::mount::Partial;
use crate::write::stripes::mount::choose::Chooser;
use crate::write::stripes::partial::{PartialParityRemains, Sums};
use nand::FlashArray;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Ppn, StripSet, StripeId};

/// A readable copy of a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StripCopy {
    pub stripe: StripeId,
    pub strip: u32,
    pub update: u64,
    /// Counted down: of equal copies the older is the greater.
    pub age: u64,
    pub ppn: Ppn,
    /// Strips that its update wrote.
    pub covers: StripSet,
}

/// No pages.
static NO_PAGES: BTreeSet<Ppn> = BTreeSet::new();

/// The readable copies of one stripe, but for some pages.
#[derive(Clone, Copy)]
pub(super) struct Copies<'a> {
    /// In their order, so that those of a strip are found by halving.
    pub all: &'a [StripCopy],
    pub but: &'a BTreeSet<Ppn>,
    pub data_strips: u32,
}

impl<'a> Copies<'a> {
    /// The same copies and those that were left out.
    pub fn with_suspects(&self) -> Copies<'a> {
        Copies { but: &NO_PAGES, ..*self }
    }

    pub fn there(&self) -> impl Iterator<Item = &StripCopy> {
        self.all.iter().filter(|copy| !self.but.contains(&copy.ppn))
    }

    /// The copy of these contents of a strip.
    pub fn with(&self, strip: u32, update: u64) -> Option<&StripCopy> {
        let from = self.all.partition_point(|copy| (copy.strip, copy.update) < (strip, update));
        let same = self.all[from..].iter().take_while(|copy| (copy.strip, copy.update) == (strip, update));
        same.filter(|copy| !self.but.contains(&copy.ppn)).last()
    }

    fn newest(&self, strip: u32) -> Option<&StripCopy> {
        self.there().filter(|copy| copy.strip == strip).max()
    }
}

/// Ranks of the contents of each strip; 0: none.
pub(super) type Versions = Vec<u64>;

/// Strips of which there are no contents.
fn without_contents(versions: &Versions) -> StripSet {
    (0..).zip(versions).filter(|(_, version)| **version == 0).map(|(strip, _)| strip).collect()
}

/// State of a stripe after an update. Its rank is that of the newest contents.
pub(super) struct State<'a, P> {
    pub versions: Versions,
    /// Strips that a newer state does not have: a mount in between found them gone.
    pub given_up: StripSet,
    /// Strips that the update wrote, parity among them; empty if no page of it is left.
    pub wrote: StripSet,
    /// The stored parity of these contents.
    pub parity: Option<StripCopy>,
    /// The partial parity of these contents.
    pub sums: Option<(Partial, &'a Sums<P>)>,
}

impl<P> State<'_, P> {
    fn new(versions: Versions) -> Self {
        Self { versions, given_up: StripSet::EMPTY, wrote: StripSet::EMPTY, parity: None, sums: None }
    }

    pub fn rank(&self) -> u64 {
        self.versions.iter().copied().max().unwrap_or(0)
    }

    /// Of states with the same newest contents the one of fewer strips came later: the others were gone. So did the one of
    /// older strips: a mount went back to these, because the cut had met the update.
    fn order(&self) -> (u64, u32, Reverse<Versions>) {
        let gone = self.versions.iter().filter(|&&version| version == 0).count() as u32;
        (self.rank(), gone, Reverse(self.versions.clone()))
    }

    /// Strips of which no copy is there.
    pub fn missing(&self, copies: &Copies<'_>) -> StripSet {
        let strips = (0..).zip(&self.versions);
        strips.filter(|&(strip, &version)| version > 0 && copies.with(strip, version).is_none()).map(|(strip, _)| strip).collect()
    }
}

impl<P: FlashPayload> Chooser<'_, P> {
    /// Every state that is named anywhere, in order of rank.
    pub(super) fn states<'b>(
        &self,
        stripe: StripeId,
        copies: &Copies<'_>,
        partial: Option<&'b PartialParityRemains<P>>,
    ) -> Vec<State<'b, P>> {
        let mut states: BTreeMap<(u64, u32, Reverse<Versions>), State<'b, P>> = BTreeMap::new();
        for copy in copies.there() {
            let named = State::new(self.named_by(stripe, copies, copy));
            let state = states.entry(named.order()).or_insert(named);
            if copy.strip == copies.data_strips {
                state.parity = state.parity.max(Some(*copy));
            } else if copy.update == state.rank() {
                state.wrote = state.wrote.or(copy.covers);
            }
        }
        let undoes = !self.core.breaks(SafetyRule::Undo);
        let before = partial.and_then(|partial| partial.before.as_ref()?.as_ref()).filter(|_| undoes);
        let before = before.map(|sums| (Partial::Before, sums));
        let now = partial.map(|partial| (Partial::Now, &partial.sums));
        for (partial, sums) in before.into_iter().chain(now) {
            let named = State::new(sums.stripe.strips.clone());
            states.entry(named.order()).or_insert(named).sums = Some((partial, sums));
        }
        let mut without = StripSet::EMPTY;
        for state in states.values_mut().rev() {
            let is_kept = |&strip: &u32| self.is_durable_strip(stripe, strip, state.versions[strip as usize]);
            state.given_up = without.minus(without.iter().filter(is_kept).collect());
            without = without.or(without_contents(&state.versions));
        }
        states.into_values().collect()
    }

    /// Versions that made up a stripe when a page of it was programmed.
    pub(super) fn named_by(&self, stripe: StripeId, copies: &Copies<'_>, page: &StripCopy) -> Versions {
        if self.core.breaks(SafetyRule::Named) {
            return (0..copies.data_strips).map(|strip| copies.newest(strip).map_or(0, |copy| copy.update)).collect();
        }
        let mut named = vec![0; copies.data_strips as usize];
        for member in self.core.device.array.members(page.ppn) {
            if let Some(lpn) = data_of(member.tag) {
                let (of, strip) = self.stripes.strip_of(lpn);
                debug_assert_eq!(of, stripe);
                named[strip as usize] = member.update;
            }
        }
        named
    }
}
