//! Work that a mount has still to do.

use crate::core::newest::Newest;
use ftl::UnitId;
use nand::Member;
use std::collections::BTreeSet;
use vocab::{Lpn, Ppn, Slot};

/// Work that a mount has still to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounting {
    /// Pages to be read and written again.
    pub pages: Vec<Ppn>,
    /// Pages that lack redundancy unless they are written again: behind the others, where there is room.
    pub leaning: Vec<Ppn>,
    /// Units held back from erase until that is done, once for each reason.
    pub pins: Vec<UnitId>,
    /// Copies that give way where pages find no room.
    pub spare: SpareCopies,
    /// Logical pages found.
    pub found: PagesFound,
    /// Whether everything is on its way.
    pub sent: bool,
}

/// Copies that mounts made which the next cut ended, and that the drive can do without where it has no room for another.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpareCopies {
    /// Units held back from erase, as [`Mounting::pins`] are, for copies that are one too many.
    pub pins: Vec<UnitId>,
    /// Logical pages that lie where they or their codeword may not last, and another copy of each: one that lasts, or the first of
    /// them.
    pub others: Vec<(Lpn, Slot)>,
    /// Those of `others` that have no parity left where the page that counts has one.
    pub bare: BTreeSet<Lpn>,
    /// The same where only a codeword brings the other copy back, in which nothing is that may not last.
    pub solved: Vec<(Lpn, Member)>,
    /// Logical pages that lie where they may not last, with contents of which no one was told.
    pub older: Vec<OlderContents>,
    /// Where no unit was free: readable copies of logical pages beside those that count, in no page that may not last.
    pub elsewhere: Vec<(Lpn, Slot)>,
}

/// Former contents of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OlderContents {
    pub lpn: Lpn,
    pub slot: Slot,
    pub update: u64,
}

impl SpareCopies {
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty() && self.others.is_empty() && self.solved.is_empty() && self.older.is_empty()
    }
}

/// Logical pages that a mount found.
#[derive(Clone, Debug, Default)]
pub(crate) struct PagesFound {
    /// Of each logical page what is there: durable once the mount has nothing to do any more, because the host may read it.
    there: Vec<Option<Newest>>,
    /// Only their codewords bring them back, which the next cut may end: durable once the host has read them. With the ranks of
    /// their contents.
    pub solved: Vec<(Lpn, u64)>,
}

impl PagesFound {
    /// `pages` has the newest contents of each logical page. `is_solved` says of which slots a codeword computes the contents, as
    /// flash cannot read them.
    pub fn new(pages: Vec<Option<Newest>>, is_solved: impl Fn(Slot) -> bool) -> Self {
        let of_codewords = |(_, newest): &(Lpn, &Option<Newest>)| newest.and_then(|newest| newest.slot).is_some_and(&is_solved);
        let solved: Vec<Lpn> = (0..).map(Lpn).zip(&pages).filter(of_codewords).map(|(lpn, _)| lpn).collect();
        let mut found = Self { there: pages, solved: Vec::new() };
        solved.into_iter().for_each(|lpn| found.only_solved(lpn));
        found
    }

    /// A codeword alone brings the page back.
    pub fn only_solved(&mut self, lpn: Lpn) {
        let newest = self.there.get_mut(lpn.index()).and_then(Option::take);
        self.solved.extend(newest.map(|newest| (lpn, newest.update)));
    }

    /// The page has older contents, of this rank.
    pub fn goes_back(&mut self, lpn: Lpn, update: u64) {
        self.there.get_mut(lpn.index()).into_iter().flatten().for_each(|newest| newest.update = update);
    }

    /// The logical pages that are there, and the ranks of their contents.
    pub fn there(&self) -> impl Iterator<Item = (Lpn, u64)> {
        let pages = (0..).map(Lpn).zip(&self.there);
        pages.filter_map(|(lpn, newest)| newest.map(|newest| (lpn, newest.update)))
    }
}

/// Where the recovery from a power cut is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// Work that a mount has still to do before the host is served.
    pub mounting: Option<Box<Mounting>>,
}
