//! Which pages share cells: what an interrupted program may take with it.
//!
//! A cell of several bits keeps them for as many pages. They are programmed one after the other,
//! and each later program moves the charge that the earlier pages are read from. An interrupted
//! one therefore corrupts data of programs that had ended (Tseng, Grupp and Swanson,
//! "Understanding the Impact of Power Loss on Flash Memory", DAC 2011).
//!
//! Which pages these are is a matter of the part. Vendors spread them, so that a word line is
//! finished only after its neighbours were begun, which lessens interference.

use crate::PageKind;

/// How the pages of a block share cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// Each page has cells of its own: one bit a cell, or all bits programmed by one command.
    #[default]
    Alone,
    /// This many neighbouring pages share cells: 0 and 1, 2 and 3, .. where there are two.
    Adjacent {
        /// Bits of a cell.
        bits: u32,
    },
    /// Two bits a cell, the second page three places behind the first: (0, 2), (1, 4), (3, 6),
    /// (5, 8), .., and the last pair two places apart. Linux has it as the "distance-3" pairing
    /// scheme of Hynix and Toshiba parts (`drivers/mtd/nand/raw/nand_base.c`). Where even and odd
    /// bit lines have pages of their own, each place holds two pages side by side: (0, 4),
    /// (1, 5), (2, 8), (3, 9), (6, 12), ..
    Shared {
        /// Pages of a place: 1 or 2.
        side_by_side: u32,
    },
}

impl Pairing {
    /// The pairing that a pattern of page kinds suggests: one word line is one round of it.
    #[must_use]
    pub fn of_kinds(kinds: &[PageKind]) -> Self {
        if kinds.len() <= 1 { Pairing::Alone } else { Pairing::Adjacent { bits: kinds.len() as u32 } }
    }

    /// The pages whose cells the program of `page` moves, ascending. All of them come earlier in
    /// the block.
    #[must_use]
    pub fn earlier_partners(self, page: u32, pages_per_block: u32) -> std::ops::Range<u32> {
        match self {
            Pairing::Alone => page..page,
            Pairing::Adjacent { bits } => page - page % bits..page,
            Pairing::Shared { side_by_side } => match shared_lsb(page / side_by_side, pages_per_block / side_by_side) {
                None => page..page,
                Some(place) => {
                    let lsb = place * side_by_side + page % side_by_side;
                    lsb..lsb + 1
                }
            },
        }
    }

    /// All pages that share cells with `page`, itself among them, ascending.
    pub fn word_line(self, page: u32, pages_per_block: u32) -> impl Iterator<Item = u32> {
        let partners = move |of| self.earlier_partners(of, pages_per_block);
        (0..pages_per_block)
            .filter(move |&other| other == page || partners(page).contains(&other) || partners(other).contains(&page))
    }
}

/// The place of the first page of the word line that place `place` finishes; `None` if it begins
/// one, or is left over.
fn shared_lsb(place: u32, places: u32) -> Option<u32> {
    match place {
        // An even number of places ends with a second page at an odd one.
        _ if place + 1 == places && places.is_multiple_of(2) => place.checked_sub(2),
        2 => Some(0),
        _ if place >= places || !place.is_multiple_of(2) => None,
        _ => place.checked_sub(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairing: Pairing, pages: u32) -> Vec<(u32, u32)> {
        let all = (0..pages).flat_map(|page| pairing.earlier_partners(page, pages).map(move |lsb| (lsb, page)));
        let mut pairs: Vec<_> = all.collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn the_layouts_are_those_of_the_literature() {
        let shared = |side_by_side| Pairing::Shared { side_by_side };
        assert_eq!(pairs(shared(1), 8), [(0, 2), (1, 4), (3, 6), (5, 7)]);
        assert_eq!(pairs(shared(2), 16), [(0, 4), (1, 5), (2, 8), (3, 9), (6, 12), (7, 13), (10, 14), (11, 15)]);
        assert_eq!(pairs(Pairing::Adjacent { bits: 2 }, 6), [(0, 1), (2, 3), (4, 5)]);
        assert_eq!(pairs(Pairing::Adjacent { bits: 3 }, 6), [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]);
        assert_eq!(pairs(Pairing::Alone, 64), []);
    }

    #[test]
    fn a_word_line_is_the_same_from_each_of_its_pages() {
        let line = |pairing: Pairing, page| pairing.word_line(page, 6).collect::<Vec<_>>();
        assert_eq!([0, 3].map(|page| line(Pairing::Alone, page)), [[0], [3]]);
        assert_eq!([3, 4, 5].map(|page| line(Pairing::Adjacent { bits: 3 }, page)), [[3, 4, 5]; 3]);
        assert_eq!([1, 4].map(|page| line(Pairing::Shared { side_by_side: 1 }, page)), [[1, 4]; 2]);
    }

    #[test]
    fn every_page_of_two_bit_cells_has_one_partner() {
        for (side_by_side, pages) in [(1, 4), (1, 64), (1, 128), (1, 256), (2, 8), (2, 64), (2, 128), (2, 512)] {
            let found = pairs(Pairing::Shared { side_by_side }, pages);
            let mut members: Vec<u32> = found.iter().flat_map(|&(lsb, msb)| [lsb, msb]).collect();
            members.sort_unstable();
            assert_eq!(members, (0..pages).collect::<Vec<_>>(), "{side_by_side} side by side, {pages} pages");
            let far = found.iter().map(|(lsb, msb)| msb - lsb).max();
            assert_eq!(far, Some(if pages == 4 * side_by_side { 2 } else { 3 } * side_by_side));
        }
    }

    #[test]
    fn odd_blocks_have_pages_without_partner_and_none_that_lie_ahead() {
        for pairing in [Pairing::Shared { side_by_side: 1 }, Pairing::Shared { side_by_side: 2 }, Pairing::Adjacent { bits: 3 }] {
            for pages in 1..40 {
                let found = pairs(pairing, pages);
                assert!(found.iter().all(|&(lsb, msb)| lsb < msb && msb < pages), "{pairing:?}, {pages} pages: {found:?}");
            }
        }
    }
}
