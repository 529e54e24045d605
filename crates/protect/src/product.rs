//! Bringing back a page of a block group: through its codeword across dies, through its block,
//! or, with both codes, by going to and fro between the two.
//!
//! With one parity in each direction this iteration finds whatever can be found at all: lost
//! pages are the edges of a bipartite graph of page stripes and blocks, and they come back if
//! and only if the graph has no cycle.

use crate::{Across, GroupCode, GroupPage, PageState, PageStripe};
use coding::{ErasureCode, gf256};
use std::collections::BTreeMap;

type Terms = Vec<(GroupPage, u8)>;

/// A block group with some pages lost.
struct Group<'a> {
    code: &'a GroupCode,
    erasure: ErasureCode,
    stripe: &'a PageStripe,
    pages: u32,
    state: &'a dyn Fn(GroupPage, Across) -> PageState,
}

/// The pages, none of them lost, and coefficients whose sum is `lost`; `None` if the codes
/// cannot give it. Pages that count as zeros are left out.
pub(crate) fn solve(
    code: &GroupCode,
    stripe: &PageStripe,
    pages: u32,
    lost: GroupPage,
    state: &dyn Fn(GroupPage, Across) -> PageState,
) -> Option<Terms> {
    let erasure = ErasureCode::new(code.data as usize, code.parity as usize);
    // Whatever it looked like when it was read: no other page can be solved from it.
    let state = &|page, across| if page == lost { PageState::Lost } else { state(page, across) };
    let group = Group { code, erasure, stripe, pages, state };
    let mut solved = BTreeMap::new();
    if let Some(terms) = group.across_dies(lost, &solved) {
        return Some(terms);
    }
    if code.block == 0 {
        return None;
    }
    if let Some(terms) = group.across_block(lost, &solved) {
        return Some(terms);
    }
    let mut open = group.lost_pages();
    while !solved.contains_key(&lost) {
        let before = open.len();
        open.retain(|&page| {
            let terms = group.across_dies(page, &solved).or_else(|| group.across_block(page, &solved));
            let Some(terms) = terms else { return true };
            let expanded = expand(&terms, &solved);
            solved.insert(page, expanded);
            false
        });
        if open.len() == before {
            return None;
        }
    }
    solved.remove(&lost)
}

/// The same sum without pages that were solved before. What a block has in the cache its codeword may have lost, so a page
/// may be in one sum as it is and in another as what it was solved from.
fn expand(terms: &Terms, solved: &BTreeMap<GroupPage, Terms>) -> Terms {
    let mut sum: BTreeMap<GroupPage, u8> = BTreeMap::new();
    for &(term, c) in terms {
        match solved.get(&term) {
            Some(others) => others.iter().for_each(|&(other, d)| *sum.entry(other).or_default() ^= gf256::mul(c, d)),
            None => *sum.entry(term).or_default() ^= c,
        }
    }
    sum.into_iter().filter(|(_, c)| *c != 0).collect()
}

impl Group<'_> {
    /// All lost pages of the group.
    fn lost_pages(&self) -> Vec<GroupPage> {
        let strips = self.stripe.strips.len() as u32;
        let all = (0..self.pages).flat_map(|page| (0..strips).map(move |strip| GroupPage { page, strip }));
        all.filter(|&page| (self.state)(page, Across::Dies) == PageState::Lost).collect()
    }

    /// The page from the other symbols of its codeword. Zeros and sums in the cache are
    /// preferred, then data, then parity, then what has to be solved for itself.
    fn across_dies(&self, lost: GroupPage, solved: &BTreeMap<GroupPage, Terms>) -> Option<Terms> {
        let strips = &self.stripe.strips;
        let codeword = strips[lost.strip as usize].codeword;
        let mut place = vec![None; (self.code.data + self.code.parity) as usize];
        for (index, strip) in strips.iter().enumerate().filter(|(_, strip)| strip.codeword == codeword) {
            place[strip.symbol as usize] = Some(GroupPage { page: lost.page, strip: index as u32 });
        }
        let rank = |symbol: &usize| match place[*symbol] {
            None => Some(0),
            Some(page) if page == lost => None,
            Some(page) => match (self.state)(page, Across::Dies) {
                PageState::Zero => Some(0),
                PageState::Held => Some(1),
                PageState::Readable => Some(2),
                PageState::Lost => solved.contains_key(&page).then_some(3),
                PageState::Unsettled => None,
            },
        };
        let mut ranked: Vec<(u32, usize)> = (0..place.len()).filter_map(|symbol| Some((rank(&symbol)?, symbol))).collect();
        ranked.sort_unstable();
        let available: Vec<usize> = ranked.iter().map(|&(_, symbol)| symbol).collect();
        let symbol = strips[lost.strip as usize].symbol as usize;
        let terms = self.erasure.solve(symbol, &available)?;
        let is_zero = |page: GroupPage| (self.state)(page, Across::Dies) == PageState::Zero;
        Some(terms.into_iter().filter_map(|(symbol, c)| Some((place[symbol].filter(|&page| !is_zero(page))?, c))).collect())
    }

    /// The page from all others of its block that are in the same sum.
    fn across_block(&self, lost: GroupPage, solved: &BTreeMap<GroupPage, Terms>) -> Option<Terms> {
        let mut terms = Vec::with_capacity(self.pages as usize);
        let others = self.code.pages_of_sum(self.code.sum_of(lost.page), self.pages).filter(|&page| page != lost.page);
        for page in others.map(|page| GroupPage { page, ..lost }) {
            match (self.state)(page, Across::Block) {
                PageState::Zero => {}
                PageState::Readable | PageState::Held => terms.push((page, 1)),
                PageState::Lost if solved.contains_key(&page) => terms.push((page, 1)),
                PageState::Lost | PageState::Unsettled => return None,
            }
        }
        Some(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strip;
    use vocab::DieId;

    const PAGES: u32 = 3;

    fn page(page: u32, strip: u32) -> GroupPage {
        GroupPage { page, strip }
    }

    /// A byte of each page of two data strips and their parity: the last page of each strip is the sum of the others.
    fn contents(erasure: &ErasureCode, of: GroupPage) -> u8 {
        let data = |page: u32, strip: u32| match page {
            2 => [0x35 ^ 0x8b, 0x7e ^ 0xd1][strip as usize],
            _ => [[0x35, 0x7e], [0x8b, 0xd1]][page as usize][strip as usize],
        };
        let parity = || (0..2).map(|strip| gf256::mul(erasure.coefficient(0, strip), data(of.page, strip as u32)));
        if of.strip < 2 { data(of.page, of.strip) } else { parity().fold(0, |sum, term| sum ^ term) }
    }

    /// The cache has the sum of a block, which its codeword has lost. Catches an expansion that goes from that sum to what
    /// was solved with it, and back, for ever.
    #[test]
    fn a_sum_in_the_cache_that_a_codeword_has_lost_is_not_solved_for_with_itself() {
        let code = GroupCode { data: 2, parity: 1, codewords: 1, block: 1 };
        let strips = (0..3).map(|die| Strip { die: DieId(die), codeword: 0, symbol: u32::from(die) }).collect();
        let stripe = PageStripe { strips, data: 2, codewords: 1, order: vec![0, 1] };
        let lost = [page(0, 0), page(0, 1), page(1, 1), page(1, 2), page(2, 2)];
        let state = |of: GroupPage, across: Across| match of {
            GroupPage { page: 2, strip: 0 } if across == Across::Block => PageState::Held,
            GroupPage { page: 2, strip: 0 } => PageState::Lost,
            _ if lost.contains(&of) => PageState::Lost,
            _ => PageState::Readable,
        };
        let wanted = page(0, 1);
        let terms = solve(&code, &stripe, PAGES, wanted, &state).expect("through the block of its neighbour");
        assert!(terms.iter().all(|(term, _)| !lost.contains(term)), "{terms:?}");
        let erasure = ErasureCode::new(2, 1);
        let sum = terms.iter().fold(0, |sum, &(term, c)| sum ^ gf256::mul(c, contents(&erasure, term)));
        assert_eq!(sum, contents(&erasure, wanted));
    }
}
