//! Contents of the drive that a mount chooses, and those that it would choose if pages that may not last were gone.

use crate::core::journal::Journal;
use crate::core::mounting::PagesFound;
use crate::core::newest::Newest;
use crate::core::sorted::sorted;
use crate::write::found::{Found, Newests};
use crate::write::stripes::mount::StripeFound;
use nand::Member;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Lpn, Slot, StripeId};

/// The newest consistent state that flash and PLP memory name.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// For each logical page.
    pub pages: Vec<Option<Newest>>,
    /// For each static stripe.
    pub stripes: Vec<StripeFound>,
    /// Slots that the mount scan cannot read and that their codewords give, with the contents of each.
    pub solved: Vec<Member>,
}

/// A logical page whose newest contents in flash are older than what was durable.
pub(super) struct Stale {
    pub lpn: Lpn,
    /// The newest contents in flash.
    pub before: Option<Newest>,
    /// Rank of what was durable.
    pub durable: u64,
}

impl Choice {
    pub fn of(chosen: Found) -> Self {
        let Newests::All(pages) = chosen.pages else { unreachable!("all pages were asked for") };
        Self { pages, stripes: chosen.stripes, solved: chosen.solved }
    }

    pub fn page(&self, lpn: Lpn) -> Option<Newest> {
        self.pages.get(lpn.index()).copied().flatten()
    }

    /// Drops contents that are older than what was durable, and returns the pages that had no newer ones.
    pub(super) fn lose(&mut self, journal: &Journal) -> Vec<Stale> {
        let mut stale = Vec::new();
        for (lpn, durable) in journal.iter() {
            let page = &mut self.pages[lpn.index()];
            if page.is_none_or(|newest| newest.update < durable) {
                let before = page.replace(Newest::nowhere(durable));
                stale.push(Stale { lpn, before, durable });
            }
        }
        stale
    }

    /// Logical pages that were found; those apart that rows and groups only solve for.
    pub fn into_found(self) -> PagesFound {
        let solved: BTreeSet<Slot> = self.solved.iter().map(|member| member.slot).collect();
        PagesFound::new(self.pages, |slot| !solved.is_empty() && solved.contains(&slot))
    }

    /// The slots with the newest contents of logical pages and with parities of static stripes.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let parities = self.stripes.iter().filter_map(StripeFound::parity_slot);
        let pages = self.pages.iter().flatten().filter_map(|newest| newest.slot);
        pages.chain(parities)
    }

    /// Static stripes of which no page names a consistent state.
    pub fn unnamed_stripes(&self) -> impl Iterator<Item = StripeId> {
        let stripes = (0..).map(StripeId).zip(&self.stripes);
        stripes.filter(|(_, found)| found.unnamed.is_some()).map(|(stripe, _)| stripe)
    }
}

/// The newest consistent state if suspects cannot be read, as the difference from a [`Choice`]: a logical page that is not listed
/// here has the same newest contents in both.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Otherwise {
    /// The newest contents of logical pages that may differ from those of the choice.
    pages: BTreeMap<Lpn, Option<Newest>>,
    /// For each static stripe.
    pub stripes: Vec<StripeFound>,
    /// As [`Choice::solved`].
    pub solved: Vec<Member>,
}

impl Otherwise {
    /// The difference of a state from `with`.
    pub fn of(with: &Choice, chosen: Found) -> Self {
        let differs = |(lpn, newest): &(Lpn, Option<Newest>)| with.page(*lpn) != *newest;
        let pages = match chosen.pages {
            Newests::All(pages) => sorted((0..).map(Lpn).zip(pages).filter(differs)),
            Newests::These(these) => sorted(these.pages.into_iter().filter(differs)),
        };
        Self { pages, stripes: chosen.stripes, solved: chosen.solved }
    }

    /// The newest contents of a logical page; `with` is the choice from which this is the difference.
    pub fn page(&self, with: &Choice, lpn: Lpn) -> Option<Newest> {
        self.pages.get(&lpn).copied().unwrap_or_else(|| with.page(lpn))
    }

    /// The logical pages that are listed, with their newest contents.
    pub fn pages(&self) -> impl Iterator<Item = (Lpn, Option<Newest>)> {
        self.pages.iter().map(|(&lpn, &newest)| (lpn, newest))
    }

    /// The choice has dropped the contents of these pages; this state keeps them.
    pub(super) fn keep(&mut self, stale: &[Stale]) {
        stale.iter().for_each(|page| _ = self.pages.entry(page.lpn).or_insert(page.before));
    }

    /// Drops contents that are older than what was durable.
    pub fn lose(&mut self, with: &Choice, journal: &Journal) {
        for (lpn, durable) in journal.iter() {
            if self.page(with, lpn).is_none_or(|newest| newest.update < durable) {
                self.pages.insert(lpn, Some(Newest::nowhere(durable)));
            }
        }
    }

    /// The slots of this state that are none of `with`.
    pub fn needed_beside(&self, with: &Choice) -> Vec<Slot> {
        let slot = |newest: Option<Newest>| newest.and_then(|newest| newest.slot);
        let pages = self.pages().filter_map(|(lpn, newest)| slot(newest).filter(|&at| slot(with.page(lpn)) != Some(at)));
        let parities = self.stripes.iter().filter_map(StripeFound::parity_slot);
        let behind = self.stripes.iter().flat_map(|found| found.old_slots().chain(found.newer_slots()));
        let mut needed: Vec<Slot> = pages.chain(parities).chain(behind).collect();
        let asked: FxHashSet<Slot> = needed.iter().copied().collect();
        let counting: FxHashSet<Slot> = with.slots().filter(|slot| asked.contains(slot)).collect();
        needed.retain(|slot| !counting.contains(slot));
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(update: u64, slot: u32) -> Option<Newest> {
        Some(Newest::copy(update, update, Slot(slot)))
    }

    fn lost(update: u64) -> Option<Newest> {
        Some(Newest::nowhere(update))
    }

    /// The choice: the newest contents of page 0 lie in a suspect, those of pages 1 and 2 elsewhere, and page 3 has none.
    fn with() -> Choice {
        Choice { pages: vec![at(9, 0), at(5, 1), at(6, 2), None], ..Choice::default() }
    }

    fn without(pages: Newests) -> Otherwise {
        Otherwise::of(&with(), Found::new(pages))
    }

    /// Catches pages that are listed though their newest contents are the same, and pages that are not listed though these differ.
    #[test]
    fn only_what_differs_is_named() {
        let mut these = Newests::of_these([Lpn(0), Lpn(1)]);
        for found in [at(4, 7), at(3, 8)] {
            these.offer(Lpn(0), found.unwrap());
        }
        these.offer(Lpn(1), at(5, 1).unwrap());
        these.offer(Lpn(2), at(99, 9).unwrap());
        let all = Newests::All(vec![at(4, 7), at(5, 1), at(6, 2), None]);
        let (these, all) = (without(these), without(all));
        assert_eq!(these, all, "page 2 was not looked for");
        assert_eq!(all.pages().collect::<Vec<_>>(), [(Lpn(0), at(4, 7))]);
        assert_eq!([0, 1, 2, 3].map(|lpn| all.page(&with(), Lpn(lpn))), [at(4, 7), at(5, 1), at(6, 2), None]);
        assert_eq!(all.needed_beside(&with()), [Slot(7)]);
    }

    /// Page 1 was durable at rank 8, page 3 at rank 2, and page 0 is known to be lost up to rank 4. Catches older contents that
    /// stay, and contents that are dropped where nothing is known of what was durable.
    #[test]
    fn what_was_durable_and_is_not_there_is_lost_on_each_side_by_what_it_knows() {
        let journal = |ranks: &[(u32, u64)]| Journal::of(4, ranks.iter().map(|&(lpn, rank)| (Lpn(lpn), rank)));
        let (mut with, mut without) = (with(), without(Newests::of_these([Lpn(0)])));
        let stale = with.lose(&journal(&[(0, 4), (1, 8), (2, 6), (3, 2)]));
        let of_stale: Vec<_> = stale.iter().map(|page| (page.lpn, page.before, page.durable)).collect();
        assert_eq!(of_stale, [(Lpn(1), at(5, 1), 8), (Lpn(3), None, 2)]);
        without.keep(&stale);
        without.lose(&with, &journal(&[(0, 4)]));
        assert_eq!(with.pages, [at(9, 0), lost(8), at(6, 2), lost(2)]);
        assert_eq!([0, 1, 2, 3].map(|lpn| without.page(&with, Lpn(lpn))), [lost(4), at(5, 1), at(6, 2), None]);
        assert_eq!(without.needed_beside(&with), [Slot(1)]);
    }
}
