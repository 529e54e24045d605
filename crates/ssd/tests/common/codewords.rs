//! Which lost pages redundancy brings back, worked out from what lies where: an opinion of its
//! own, against which the engine's repairs are held.

use super::ssd::ftl::Place;
use super::ssd::nand::PageRole;
use super::ssd::protect::{Protection, Shape, registry};
use super::ssd::{Inventory, Session, Setup};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Grid, Lpn, Ppn, Slot};

/// Pages of which any `tolerates` may be missing. A member is `None` where no page of flash
/// holds it any more.
#[derive(Clone, Debug)]
pub struct Codeword {
    pub members: Vec<Option<Ppn>>,
    pub tolerates: usize,
}

/// The logical pages that must answer with a media error, as the drive lies there, drained.
pub fn beyond_repair(session: &Session, setup: &Setup) -> Vec<Lpn> {
    let (inventory, grid) = (session.inventory(), Grid::new(setup.drive.geometry));
    let lost: BTreeSet<Ppn> = inventory.pages.iter().filter(|page| page.lost).map(|page| page.ppn).collect();
    let stored: BTreeSet<Ppn> = inventory.pages.iter().map(|page| page.ppn).collect();
    let readable = |ppn: Ppn| stored.contains(&ppn) && !lost.contains(&ppn);
    let codewords = codewords(&inventory, setup, &grid);
    let solved = |of: &dyn Fn(&Codeword) -> bool| {
        let missing = |word: &Codeword| word.members.iter().filter(|member| !member.is_some_and(readable)).count();
        codewords.iter().any(|word| of(word) && missing(word) <= word.tolerates)
    };
    let is_lost = |lpn: u32| match inventory.places[lpn as usize] {
        _ if inventory.elsewhere[lpn as usize] => false,
        Place::Unmapped => false,
        Place::At(slot) => {
            let ppn = grid.page_of(slot).0;
            !readable(ppn) && !solved(&|word| word.members.contains(&Some(ppn)))
        }
        Place::Missing => !solved_missing(lpn, &codewords, setup, &solved),
    };
    (0..setup.user_slots).filter(|&lpn| is_lost(lpn)).map(Lpn).collect()
}

/// Whether a page without a place is brought back by its codeword: where those are stripes of
/// logical pages, one for each stripe, in order.
fn solved_missing(lpn: u32, codewords: &[Codeword], setup: &Setup, solved: &dyn Fn(&dyn Fn(&Codeword) -> bool) -> bool) -> bool {
    match protection(setup) {
        Protection::Stripes(scheme) => {
            let mine = &codewords[(lpn / scheme.data_strips()) as usize];
            solved(&|word| std::ptr::eq(word, mine))
        }
        _ => false,
    }
}

fn protection(setup: &Setup) -> Protection {
    let shape = Shape { dies: setup.drive.geometry.dies(), slots_per_page: setup.drive.geometry.slots_per_page() };
    registry::build(&setup.scheme, shape).expect("the drive was built with it")
}

/// Every codeword on the drive.
pub fn codewords(inventory: &Inventory, setup: &Setup, grid: &Grid) -> Vec<Codeword> {
    match protection(setup) {
        Protection::None => Vec::new(),
        Protection::Stripes(scheme) => stripes(inventory, grid, scheme.data_strips()),
        Protection::Rows(_) => rows(inventory, grid),
        // With one codeword across all dies, and one parity: rows, or rows whose parity is held.
        Protection::Groups(_) => {
            let held = inventory.held.iter().map(|pages| pages.iter().map(|&ppn| Some(ppn)).collect());
            rows(inventory, grid).into_iter().chain(held.map(|members| Codeword { members, tolerates: 1 })).collect()
        }
    }
}

/// Stripes of `n` logical pages and the current parity page that names the stripe.
fn stripes(inventory: &Inventory, grid: &Grid, n: u32) -> Vec<Codeword> {
    let mut parity = BTreeMap::new();
    for page in &inventory.pages {
        if let (PageRole::Parity(stripe), true) = page.slots[0] {
            parity.insert(stripe.0, page.ppn);
        }
    }
    let member = |place: &Place| match place {
        Place::Unmapped => None,
        Place::Missing => Some(None),
        Place::At(slot) => Some(Some(grid.page_of(Slot(slot.0)).0)),
    };
    let word = |(stripe, places): (usize, &[Place])| {
        let mut members: Vec<_> = places.iter().filter_map(member).collect();
        members.push(parity.get(&(stripe as u32)).copied());
        Codeword { members, tolerates: 1 }
    };
    inventory.places.chunks(n as usize).enumerate().map(word).collect()
}

/// For each row the parity page that covers most, with the pages that it says it covers.
fn rows(inventory: &Inventory, grid: &Grid) -> Vec<Codeword> {
    let mut newest = BTreeMap::new();
    for page in &inventory.pages {
        if let (PageRole::Parity(row), _) = page.slots[0] {
            let better = newest.get(&row.0).is_none_or(|&(_, of): &(Ppn, vocab::StripSet)| of.len() < page.coverage.len());
            if better {
                newest.insert(row.0, (page.ppn, page.coverage));
            }
        }
    }
    let word = |(row, (parity, covered)): (u32, (Ppn, vocab::StripSet))| {
        let (superblock, page) = (row / grid.pages_per_block(), row % grid.pages_per_block());
        let member = |die: u32| Some(grid.ppn(grid.block(vocab::DieId(die as u16), superblock), page));
        let members = covered.iter().map(member).chain([Some(parity)]).collect();
        Codeword { members, tolerates: 1 }
    };
    newest.into_iter().map(word).collect()
}
