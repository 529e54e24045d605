//! Which lost pages redundancy restores, computed from the page that each PPN holds. It shares no code with the engine, whose
//! repairs are compared with it.

use super::ssd::ftl::Place;
use super::ssd::nand::PageRole;
use super::ssd::protect::{Protection, registry};
use super::ssd::{CodePage, Inventory, Session, Setup, StoredPage, shape};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Grid, Lpn, Ppn, Slot};

/// Pages of which any `tolerates` may be missing. A member is `None` where no page of flash
/// holds it any more.
#[derive(Clone, Debug)]
pub struct Codeword {
    pub members: Vec<Option<Ppn>>,
    /// Logical pages whose current version is a member, known where stripes are made of these.
    pub lpns: Vec<u32>,
    pub tolerates: usize,
}

impl Codeword {
    fn is_solvable(&self, readable: &BTreeSet<Ppn>) -> bool {
        let missing = self.members.iter().filter(|member| !member.is_some_and(|ppn| readable.contains(&ppn)));
        missing.count() <= self.tolerates
    }
}

/// The logical pages that must answer with a media error, of a drive at rest.
pub fn beyond_repair(session: &Session, setup: &Setup) -> Vec<Lpn> {
    let (inventory, grid) = (session.inventory(), Grid::new(setup.drive.geometry));
    let readable: BTreeSet<Ppn> = inventory.pages.iter().filter(|page| !page.lost).map(|page| page.ppn).collect();
    let codewords = codewords(&inventory, setup, &grid);
    let readable = with_solved(readable, &codewords);
    let is_lost = |lpn: u32| match inventory.places[lpn as usize] {
        _ if inventory.elsewhere[lpn as usize] => false,
        Place::Unmapped => false,
        Place::At(slot) => !readable.contains(&grid.page_of(slot).0),
        Place::Missing => !codewords.iter().any(|word| word.lpns.contains(&lpn) && word.is_solvable(&readable)),
    };
    (0..setup.user_slots).filter(|&lpn| is_lost(lpn)).map(Lpn).collect()
}

/// The readable pages, and those that the codewords bring back: where one page may be missing,
/// by linear algebra over GF(2) across all of them; where more may be, each for itself.
fn with_solved(mut readable: BTreeSet<Ppn>, codewords: &[Codeword]) -> BTreeSet<Ppn> {
    let mut sums: Vec<BTreeSet<Ppn>> = Vec::new();
    for word in codewords.iter().filter(|word| word.tolerates == 1 && !word.members.contains(&None)) {
        let mut sum: BTreeSet<Ppn> = word.members.iter().flatten().filter(|ppn| !readable.contains(ppn)).copied().collect();
        // Gauss and Jordan: the first page of each sum is in no other.
        for other in &sums {
            if sum.contains(other.first().expect("not empty")) {
                sum = &sum ^ other;
            }
        }
        let Some(&first) = sum.first() else { continue };
        for other in sums.iter_mut().filter(|other| other.contains(&first)) {
            *other = &*other ^ &sum;
        }
        sums.push(sum);
    }
    for word in codewords.iter().filter(|word| word.tolerates > 1 && word.is_solvable(&readable)).collect::<Vec<_>>() {
        readable.extend(word.members.iter().flatten());
    }
    readable.extend(sums.iter().filter(|sum| sum.len() == 1).flatten());
    readable
}

/// Logical pages in rows that are being written. The controller still has the sum of such a
/// row: parity that it writes later may bring back what is beyond repair now.
pub fn in_open_rows(session: &Session) -> BTreeSet<Lpn> {
    let open = session.inventory().in_open_row;
    (0..).map(Lpn).zip(open).filter(|(_, open)| *open).map(|(lpn, _)| lpn).collect()
}

/// `lpns` without those of `set`.
pub fn without(lpns: &[Lpn], set: &BTreeSet<Lpn>) -> Vec<Lpn> {
    lpns.iter().copied().filter(|lpn| !set.contains(lpn)).collect()
}

/// The scheme as the drive was built with it.
pub fn protection(setup: &Setup) -> Protection {
    registry::build(&setup.scheme, shape(&setup.drive)).expect("the drive was built with it")
}

/// Every codeword on the drive.
pub fn codewords(inventory: &Inventory, setup: &Setup, grid: &Grid) -> Vec<Codeword> {
    match protection(setup) {
        Protection::None => Vec::new(),
        Protection::Zones(_) => lines(inventory, grid),
        Protection::Stripes(scheme) => stripes(inventory, grid, scheme.data_strips()),
        Protection::Rows(_) => rows(inventory, grid),
        Protection::Groups(_) => groups(inventory, grid),
    }
}

/// Sums of logical pages, each with its page of valid code.
fn lines(inventory: &Inventory, grid: &Grid) -> Vec<Codeword> {
    let member = |place: &Place| match place {
        Place::Unmapped => None,
        Place::Missing => Some(None),
        Place::At(slot) => Some(Some(grid.page_of(*slot).0)),
    };
    let word = |page: &CodePage| {
        let data = page.of.iter().map(|lpn| &inventory.places[lpn.index()]);
        let members = data.chain([&page.place]).filter_map(member).collect();
        Codeword { members, lpns: page.of.iter().map(|lpn| lpn.0).collect(), tolerates: 1 }
    };
    inventory.code.iter().map(word).collect()
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
        let parity = parity.get(&(stripe as u32)).copied();
        let lpn = |strip: u32| stripe as u32 * n + strip;
        let lpns = |strips: &mut dyn Iterator<Item = u32>| strips.map(lpn).collect::<Vec<_>>();
        let Some(held) = inventory.held.iter().find(|held| held.stripe.index() == stripe) else {
            let mut members: Vec<_> = places.iter().filter_map(member).collect();
            members.push(parity);
            return vec![Codeword { members, lpns: lpns(&mut (0..n)), tolerates: 1 }];
        };
        // The strips that the partial parity covers are a codeword with it; memory is never lost. The stored parity is
        // still that of the old versions.
        let inside = |strip: &u32| held.covers.contains(*strip);
        let strips = || 0..places.len() as u32;
        let current = |strip: u32| member(&places[strip as usize]);
        let new = strips().filter(inside).filter_map(current).collect();
        let mut old: Vec<_> = strips().filter(|strip| !inside(strip)).filter_map(current).collect();
        old.extend(held.old.iter().filter_map(|(_, place)| member(place)));
        old.push(parity);
        vec![
            Codeword { members: new, lpns: lpns(&mut strips().filter(inside)), tolerates: 1 },
            Codeword { members: old, lpns: lpns(&mut strips().filter(|strip| !inside(strip))), tolerates: 1 },
        ]
    };
    inventory.places.chunks(n as usize).enumerate().flat_map(word).collect()
}

/// Each parity page of a row with the pages that it says it covers.
fn rows(inventory: &Inventory, grid: &Grid) -> Vec<Codeword> {
    let word = |page: &StoredPage| {
        let (PageRole::Parity(row), _) = page.slots[0] else { return None };
        let (superblock, number) = (row.0 / grid.pages_per_block(), row.0 % grid.pages_per_block());
        let member = |die: u32| Some(grid.ppn(grid.block(vocab::DieId(die as u16), superblock), number));
        let members = page.coverage.iter().map(member).chain([Some(page.ppn)]).collect();
        Some(Codeword { members, lpns: Vec::new(), tolerates: 1 })
    };
    inventory.pages.iter().filter_map(word).collect()
}

/// The codewords of block groups as their pages tell: rows, with as many parities as name the
/// same dies; blocks that end in a parity of themselves; and the blocks of parities. Last the
/// sums that are not in flash yet.
fn groups(inventory: &Inventory, grid: &Grid) -> Vec<Codeword> {
    let last = grid.pages_per_block() - 1;
    let page = |superblock, die: u32, page| grid.ppn(grid.block(vocab::DieId(die as u16), superblock), page);
    let (mut words, mut whole, mut of_row) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    for stored in inventory.pages.iter().filter(|stored| matches!(stored.slots[0].0, PageRole::Parity(_))) {
        let (block, number) = grid.split(stored.ppn);
        let (die, superblock) = grid.split_block(block);
        if stored.coverage.contains(u32::from(die.0)) {
            whole.insert((superblock.0, u32::from(die.0)));
        } else {
            let parities: &mut Vec<u32> = of_row.entry((superblock.0, number, stored.coverage.0)).or_default();
            parities.push(u32::from(die.0));
        }
    }
    let block_of = |superblock, die| (0..=last).map(|number| Some(page(superblock, die, number))).collect();
    let mut whole_blocks: Vec<_> = whole.iter().map(|&(superblock, die)| block_of(superblock, die)).collect();
    for (&(superblock, number, coverage), parities) in &of_row {
        let covered = vocab::StripSet(coverage);
        let dies = covered.iter().chain(parities.iter().copied());
        let members = dies.map(|die| Some(page(superblock, die, number))).collect();
        words.push(Codeword { members, lpns: Vec::new(), tolerates: parities.len() });
        // A sum of blocks that sum up to nothing is another.
        let is_last = number == last && covered.iter().all(|die| whole.contains(&(superblock, die)));
        let of_others = |die| {
            of_row.range((superblock, 0, 0)..(superblock, last, 0)).any(|(row, of)| of.contains(die) && row.2 & !coverage != 0)
        };
        whole_blocks.extend(parities.iter().filter(|die| is_last && !of_others(die)).map(|&die| block_of(superblock, die)));
    }
    words.extend(whole_blocks.into_iter().map(|members| Codeword { members, lpns: Vec::new(), tolerates: 1 }));
    words.extend(inventory.sums.iter().map(|held| Codeword {
        members: held.members.iter().copied().map(Some).collect(),
        lpns: Vec::new(),
        tolerates: held.sums as usize,
    }));
    words
}
