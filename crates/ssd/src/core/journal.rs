//! The journal of ranks: of each logical page the rank of its newest durable contents.
//!
//! The OOB bytes say which pages exist and which of their copies is the newest. They are lost with their
//! page: a mount that finds an older copy cannot tell whether a newer one was lost, and one that finds none
//! cannot tell whether the page was ever written. The journal outlives dies, blocks and cuts, so that such a page
//! answers with a media error. It restores no contents, and it does not say where a page is.
//!
//! It is kept in reserved blocks outside the drive's capacity, on two dies. Decision 11 has what it costs: 32 bytes programmed for each
//! write, which the model does not charge, and eight bytes of memory for each logical page.

use crate::core::changes::Changes;
use std::collections::BTreeMap;
use vocab::Lpn;

/// The page is discarded: its rank says up to which one.
const DISCARDED: u64 = 1 << 63;

/// Of each logical page the rank of its newest durable contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Journal {
    ranks: Vec<u64>,
    /// Pages that only their codewords brought back at the last mount, with the ranks of these contents. They may be gone
    /// with the next cut until the host has read them. Known to the controller alone.
    unread: BTreeMap<Lpn, u64>,
    /// Pages whose ranks changed, where someone saves them.
    changed: Changes<Lpn>,
}

impl Journal {
    /// With these ranks, as [`Self::saved`] gave them.
    pub fn of(pages: u32, saved: impl Iterator<Item = (Lpn, u64)>) -> Self {
        let mut journal = Self::new(pages);
        saved.for_each(|(lpn, rank)| journal.ranks[lpn.index()] = rank);
        journal
    }

    /// All that is kept of the page; 0: nothing.
    pub fn saved(&self, lpn: Lpn) -> u64 {
        self.ranks.get(lpn.index()).copied().unwrap_or(0)
    }

    /// Pages of which anything is kept.
    pub fn known(&self) -> impl Iterator<Item = Lpn> {
        (0..).map(Lpn).zip(&self.ranks).filter(|(_, rank)| **rank > 0).map(|(lpn, _)| lpn)
    }

    /// Someone saves it: from now on it tells which pages changed.
    pub fn watch(&mut self) {
        self.changed.watch();
    }

    /// Pages that changed since this was last asked.
    pub fn take_changed(&mut self) -> Vec<Lpn> {
        self.changed.take()
    }

    /// Of an empty drive with this many logical pages.
    pub fn new(pages: u32) -> Self {
        Self { ranks: vec![0; pages as usize], unread: BTreeMap::new(), changed: Changes::default() }
    }

    /// The rank of the newest durable contents of the page; 0: there are none, or they were discarded.
    #[inline]
    pub fn rank(&self, lpn: Lpn) -> u64 {
        self.ranks.get(lpn.index()).copied().filter(|rank| rank & DISCARDED == 0).unwrap_or(0)
    }

    /// True if contents of this rank or a higher one were durable once, also if the host has discarded them since.
    pub fn was_durable(&self, lpn: Lpn, rank: u64) -> bool {
        self.saved(lpn) & !DISCARDED >= rank
    }

    /// The highest rank that it knows of, discarded contents among them.
    pub fn newest(&self) -> u64 {
        self.ranks.iter().map(|rank| rank & !DISCARDED).max().unwrap_or(0)
    }

    /// Contents of this rank are durable. A discard that came later stands.
    #[inline]
    pub fn durable(&mut self, lpn: Lpn, rank: u64) {
        if let Some(noted) = self.ranks.get_mut(lpn.index())
            && rank > *noted & !DISCARDED
        {
            *noted = rank;
            self.changed.note(lpn);
        }
    }

    /// All contents up to this rank are discarded.
    pub fn discard(&mut self, lpn: Lpn, newest: u64) {
        if let Some(noted) = self.ranks.get_mut(lpn.index()) {
            *noted = newest | DISCARDED;
            self.changed.note(lpn);
        }
        self.unread.remove(&lpn);
    }

    /// Contents of this rank are what the page has from now on, discarded before the last cut or not.
    pub fn found(&mut self, lpn: Lpn, rank: u64) {
        if let Some(noted) = self.ranks.get_mut(lpn.index()) {
            *noted = if *noted & DISCARDED == 0 { rank.max(*noted) } else { rank };
            self.changed.note(lpn);
        }
    }

    /// The page is what its codeword brought back, with contents of this rank.
    pub fn solved(&mut self, lpn: Lpn, rank: u64) {
        self.unread.insert(lpn, rank);
    }

    /// The host has read the page: what it read is what the page has from now on.
    #[inline]
    pub fn read(&mut self, lpn: Lpn) {
        if !self.unread.is_empty()
            && let Some(rank) = self.unread.remove(&lpn)
        {
            self.found(lpn, rank);
        }
    }

    /// The power went: only the ranks are kept.
    pub fn power_cut(&mut self) {
        self.unread.clear();
    }

    /// Nothing is known of the page but which ranks were used.
    pub fn forget(&mut self, lpn: Lpn) {
        self.ranks[lpn.index()] |= DISCARDED;
        self.changed.note(lpn);
    }

    /// Logical pages with durable contents, and their ranks.
    pub fn iter(&self) -> impl Iterator<Item = (Lpn, u64)> {
        (0..self.ranks.len() as u32).map(|lpn| (Lpn(lpn), self.rank(Lpn(lpn)))).filter(|(_, rank)| *rank > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a write that ends after a discard of its page and would make the page exist again, an older write that
    /// ends last and takes the rank back, and a page found after a cut that stays discarded.
    #[test]
    fn the_newest_durable_contents_count_and_discards_stand_until_something_newer() {
        let mut journal = Journal::new(4);
        let page = Lpn(2);
        journal.durable(page, 7);
        journal.durable(page, 5);
        assert_eq!(journal.rank(page), 7);
        journal.discard(page, 9);
        journal.durable(page, 8);
        assert_eq!(journal.rank(page), 0, "what was sent before the discard ended after it");
        assert_eq!(journal.newest(), 9, "no rank is used again");
        journal.durable(page, 10);
        assert_eq!(journal.iter().collect::<Vec<_>>(), [(page, 10)]);
        journal.discard(page, 11);
        assert_eq!(journal.newest(), 11, "what comes later must be newer than the discard");
        journal.found(page, 10);
        assert_eq!(journal.rank(page), 10, "the cut undid the discard");
        journal.found(page, 4);
        assert_eq!(journal.rank(page), 10, "what was durable is not forgotten");
    }

    /// Catches a page that its codeword brought back after a discard, that the host read and that reads as unmapped once it is
    /// lost; one that the host never read and that counts as lost; and a discard that such a read takes back.
    #[test]
    fn what_a_codeword_brought_back_counts_once_the_host_has_read_it() {
        let mut journal = Journal::new(4);
        (0..4).for_each(|lpn| journal.discard(Lpn(lpn), 9));
        (0..3).for_each(|lpn| journal.solved(Lpn(lpn), 5));
        journal.read(Lpn(0));
        journal.discard(Lpn(1), 11);
        journal.read(Lpn(1));
        journal.read(Lpn(3));
        journal.power_cut();
        journal.read(Lpn(2));
        assert_eq!(journal.iter().collect::<Vec<_>>(), [(Lpn(0), 5)]);
    }

    /// Drives that are never mounted keep no journal.
    #[test]
    fn an_empty_journal_knows_nothing() {
        let mut journal = Journal::default();
        journal.durable(Lpn(1), 3);
        journal.discard(Lpn(1), 3);
        journal.found(Lpn(1), 3);
        assert_eq!((journal.rank(Lpn(1)), journal.iter().count()), (0, 0));
    }
}
