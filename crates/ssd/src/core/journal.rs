//! The journal of ranks: of each logical page the rank of its newest durable contents.
//!
//! The OOB bytes say which pages exist and which of their copies is the newest. They are lost with the page that they
//! stand beside: a mount that finds an older copy cannot tell whether a newer one was lost, and one that finds none
//! cannot tell whether the page was ever written. The journal outlives dies, blocks and cuts, so that such a page
//! answers with a media error. It brings nothing back, and it says nothing of places.
//!
//! It stands in reserved blocks beside flash, on two dies. Decision 11 has what it costs: 32 bytes programmed for each
//! write, which the model does not charge, and eight bytes of memory for each logical page.

use vocab::Lpn;

/// The page is discarded: its rank says up to which one.
const DISCARDED: u64 = 1 << 63;

/// Of each logical page the rank of its newest durable contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Journal {
    ranks: Vec<u64>,
}

impl Journal {
    /// Of an empty drive with so many logical pages.
    pub fn new(pages: u32) -> Self {
        Self { ranks: vec![0; pages as usize] }
    }

    /// The rank of the newest durable contents of the page; 0: there are none, or they were discarded.
    #[inline]
    pub fn rank(&self, lpn: Lpn) -> u64 {
        self.ranks.get(lpn.index()).copied().filter(|rank| rank & DISCARDED == 0).unwrap_or(0)
    }

    /// Contents of this rank are durable. A discard that came later stands.
    #[inline]
    pub fn durable(&mut self, lpn: Lpn, rank: u64) {
        if let Some(noted) = self.ranks.get_mut(lpn.index())
            && rank > *noted & !DISCARDED
        {
            *noted = rank;
        }
    }

    /// All contents up to this rank are discarded.
    pub fn discard(&mut self, lpn: Lpn, newest: u64) {
        if let Some(noted) = self.ranks.get_mut(lpn.index()) {
            *noted = newest | DISCARDED;
        }
    }

    /// Contents of this rank are what the page has from now on, discarded before the last cut or not.
    pub fn found(&mut self, lpn: Lpn, rank: u64) {
        if let Some(noted) = self.ranks.get_mut(lpn.index()) {
            *noted = if *noted & DISCARDED == 0 { rank.max(*noted) } else { rank };
        }
    }

    /// The newest rank that was noted, of contents or of a discard. An outage may have taken every page that has it.
    pub fn newest(&self) -> u64 {
        self.ranks.iter().map(|rank| rank & !DISCARDED).max().unwrap_or(0)
    }

    /// Nothing is known of the page.
    pub fn forget(&mut self, lpn: Lpn) {
        self.ranks[lpn.index()] = 0;
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
        journal.durable(page, 10);
        assert_eq!(journal.iter().collect::<Vec<_>>(), [(page, 10)]);
        journal.discard(page, 11);
        assert_eq!(journal.newest(), 11, "what comes later must be newer than the discard");
        journal.found(page, 10);
        assert_eq!(journal.rank(page), 10, "the cut undid the discard");
        journal.found(page, 4);
        assert_eq!(journal.rank(page), 10, "what was durable is not forgotten");
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
