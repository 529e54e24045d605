//! A drive at rest, taken apart: every parity is checked against the sum of what it covers, from the bytes that flash holds and by
//! arithmetic of its own. The engine says where logical pages lie and what it keeps in memory, nothing else.

use crate::rule::{Rule, Violation};
use ssd::ftl::Place;
use ssd::nand::PageRole;
use ssd::protect::{Protection, registry};
use ssd::{Inventory, RawFlash, RawPage, Session, Setup, shape};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{DieId, Grid, Lpn, Ppn, Slot, StripSet, SuperblockId};

/// How the logical pages that lie in flash are covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenApart {
    /// Those with a parity on another die that is the sum of what it covers, all of which can be read.
    pub covered: u32,
    /// Those whose sum is in the controller.
    pub held: u32,
    /// All others.
    pub bare: Vec<Lpn>,
    /// A parity that is the sum of something else, in words.
    pub wrong: Option<String>,
}

/// Sum of the pages in a codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    Right,
    Wrong,
    /// Pages of it cannot be read, fewer than it has parities.
    Solvable,
    /// Too many pages of it cannot be read.
    Unknown,
}

/// Sums of parities, each a slot of a page, with all that they cover: the same for every page that they cover.
type Known = BTreeMap<(Ppn, u32), Sum>;

/// A drive at rest.
pub struct Apart {
    grid: Grid,
    flash: RawFlash,
    inventory: Inventory,
    /// Data strips of a static stripe.
    strips: Option<u32>,
    /// The current parity of each static stripe.
    parities: BTreeMap<u32, Slot>,
    /// Pages of block groups that are in sums in the PLP cache.
    in_sums: BTreeSet<Ppn>,
}

/// Whether all that lies in flash has parity at rest, whatever the engine says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllCovered {
    /// Yes.
    Yes,
    /// Yes, unless every superblock holds a page that the map needs: then none can be erased, and nothing can be moved to get
    /// parity.
    WhereSuperblocksAreLeft,
    /// Not always.
    No,
}

/// Where `all_covered` says so, and where the engine itself says that it is whole ([`Session::is_whole`]), nothing may be bare.
/// Of programs that silently did not happen the engine knows nothing, so its word does not count there. The drive must be at
/// rest.
///
/// # Errors
/// A parity that is wrong; pages without redundancy on a drive that should have it for all.
pub(super) fn check(session: &mut Session, setup: &Setup, all_covered: AllCovered) -> Result<(), Violation> {
    let Some(apart) = Apart::new(session, setup) else { return Ok(()) };
    let found = apart.look();
    let bare: Vec<String> = found.bare.iter().map(ToString::to_string).collect();
    // A block that takes no erase any more keeps the parities of an earlier life.
    let what = match found.wrong.filter(|_| setup.faults.wear_out == 0.0) {
        Some(wrong) => wrong,
        None if bare.is_empty() || !(apart.is(all_covered) || setup.faults.silent == 0.0 && session.is_whole()) => return Ok(()),
        None => format!("no parity in flash is the sum of {}", bare.join(", ")),
    };
    Err(Violation { rule: Rule::Audit, what: format!("taken apart: {what}") })
}

impl Apart {
    /// `None` under schemes without parity that anything is promised of.
    #[must_use]
    pub fn new(session: &Session, setup: &Setup) -> Option<Self> {
        let strips = match registry::build(&setup.scheme, shape(&setup.drive)).ok()? {
            Protection::Stripes(scheme) => Some(scheme.data_strips()),
            Protection::Rows(_) | Protection::Groups(_) => None,
            Protection::None | Protection::Zones(_) => return None,
        };
        let (flash, inventory) = (session.raw_flash(), session.inventory());
        let mut parities = BTreeMap::new();
        let grid = Grid::new(setup.drive.geometry);
        for page in &inventory.pages {
            for (index, slot) in (0..).zip(&page.slots) {
                if let (PageRole::Parity(stripe), true) = slot {
                    parities.insert(stripe.0, grid.slot(page.ppn, index));
                }
            }
        }
        let in_sums = inventory.sums.iter().flat_map(|sum| sum.members.iter().copied()).collect();
        Some(Self { grid, flash, inventory, strips, parities, in_sums })
    }

    /// Whether all pages must be covered here.
    fn is(&self, all_covered: AllCovered) -> bool {
        match all_covered {
            AllCovered::Yes => true,
            AllCovered::WhereSuperblocksAreLeft => self.needed_superblocks().len() < self.grid.blocks_per_die() as usize,
            AllCovered::No => false,
        }
    }

    /// Superblocks that hold a page which the map needs.
    fn needed_superblocks(&self) -> BTreeSet<SuperblockId> {
        let superblock = |place: &Place| match *place {
            Place::At(slot) => Some(self.grid.split_block(self.grid.split(self.grid.page_of(slot).0).0).1),
            Place::Unmapped | Place::Missing => None,
        };
        self.inventory.places.iter().filter_map(superblock).collect()
    }

    /// Looks at every logical page.
    #[must_use]
    pub fn look(&self) -> TakenApart {
        let (mut found, mut known) = (TakenApart::default(), Known::default());
        for (lpn, place) in (0..).map(Lpn).zip(&self.inventory.places) {
            let Place::At(slot) = *place else { continue };
            if self.inventory.elsewhere[lpn.index()] {
                continue;
            }
            let (sums, is_held) = match self.strips {
                Some(strips) => self.in_stripe(lpn, strips, &mut known),
                None => self.in_row(lpn, slot, &mut known),
            };
            match () {
                () if sums.iter().any(|(_, sum)| matches!(sum, Sum::Right | Sum::Solvable)) => found.covered += 1,
                () if is_held => found.held += 1,
                () => found.bare.push(lpn),
            }
            let wrong = sums.iter().find(|(_, sum)| *sum == Sum::Wrong);
            let say = |(parity, _): &(Ppn, Sum)| format!("{parity} is not the parity of {lpn} and what else it covers");
            found.wrong = found.wrong.or_else(|| wrong.map(say));
        }
        found
    }

    /// The parity of the logical page's static stripe, and whether the controller has a newer sum.
    fn in_stripe(&self, lpn: Lpn, strips: u32, known: &mut Known) -> (Vec<(Ppn, Sum)>, bool) {
        let stripe = lpn.0 / strips;
        if self.inventory.held.iter().any(|held| held.stripe.0 == stripe) {
            return (Vec::new(), true);
        }
        let Some(&parity) = self.parities.get(&stripe) else { return (Vec::new(), false) };
        let ppn = self.grid.page_of(parity).0;
        if let Some(&sum) = known.get(&(ppn, 0)) {
            return (vec![(ppn, sum)], false);
        }
        let first = (stripe * strips) as usize;
        let places = self.inventory.places[first..].iter().take(strips as usize);
        let mut slots = vec![Some(parity)];
        slots.extend(places.filter(|place| **place != Place::Unmapped).map(|place| match place {
            Place::At(slot) => Some(*slot),
            Place::Unmapped | Place::Missing => None,
        }));
        let bytes = slots.iter().map(|slot| slot.and_then(|slot| self.bytes(slot)));
        let sum = is_zero_sum(bytes.map(|bytes| (1, bytes)));
        known.insert((ppn, 0), sum);
        (vec![(ppn, sum)], false)
    }

    /// All parities of a row, or of a block group, that say to cover the page, and whether the controller has its sum.
    fn in_row(&self, lpn: Lpn, slot: Slot, known: &mut Known) -> (Vec<(Ppn, Sum)>, bool) {
        let (ppn, index) = self.grid.page_of(slot);
        let (block, page) = self.grid.split(ppn);
        let (own, superblock) = self.grid.split_block(block);
        let on = |die: u32| self.grid.ppn(self.grid.block(DieId(die as u16), superblock.0), page);
        let mut sums: Vec<(Ppn, Sum, StripSet)> = Vec::new();
        let mut older: Vec<(u32, StripSet)> = Vec::new();
        for die in (0..self.grid.dies()).filter(|&die| die != u32::from(own.0)) {
            let parity = on(die);
            let Some(raw) = self.flash.pages.get(&parity) else { continue };
            let is_parity = matches!(raw.slots[index as usize].0, PageRole::Parity(_));
            // The last page of a block in a group with block parity covers its own block.
            if !is_parity || raw.coverage.contains(die) {
                continue;
            }
            if !raw.coverage.contains(u32::from(own.0)) {
                older.push((die, raw.coverage));
                continue;
            }
            let members: Vec<(u32, Ppn)> = raw.coverage.iter().map(|die| (die, on(die))).collect();
            let term = |&(member, ppn): &(u32, Ppn)| {
                (self.coefficient(superblock.0, die, member), self.flash.pages.get(&ppn).map(|page| slot_of(page, index)))
            };
            let terms = members.iter().map(term).chain([(1, Some(slot_of(raw, index)))]);
            let sum = *known.entry((parity, index)).or_insert_with(|| is_zero_sum(terms));
            sums.push((parity, sum, raw.coverage));
        }
        // Of several parities each makes up for a page that cannot be read.
        let unread = |coverage: StripSet| coverage.iter().filter(|&die| !self.flash.pages.contains_key(&on(die))).count();
        let beside = |coverage| sums.iter().filter(|(.., other)| *other == coverage).count();
        let solved = |&(parity, sum, coverage): &(Ppn, Sum, StripSet)| match sum {
            Sum::Unknown if unread(coverage) < beside(coverage) => (parity, Sum::Solvable),
            _ => (parity, sum),
        };
        let mut found: Vec<(Ppn, Sum)> = sums.iter().map(solved).collect();
        if self.flash.groups.is_empty() {
            // Each parity of a row covers what those before it cover: two of them do without a page that both cover.
            let two = |&(parity, _, coverage): &(Ppn, Sum, StripSet), &(before, covered): &(u32, StripSet)| {
                let one_alone = StripSet(coverage.0 ^ covered.0).iter().map(on);
                let pages = one_alone.chain([parity, on(before)]).map(|ppn| self.flash.pages.get(&ppn));
                (parity, is_zero_sum(pages.map(|page| (1, page.map(|page| slot_of(page, index))))))
            };
            let unknown = sums.iter().filter(|(_, sum, _)| *sum == Sum::Unknown);
            found.extend(unknown.flat_map(|parity| older.iter().map(move |before| two(parity, before))));
        }
        (found, self.inventory.in_open_row[lpn.index()] || self.in_sums.contains(&ppn))
    }

    fn bytes(&self, slot: Slot) -> Option<&[u8]> {
        let (ppn, index) = self.grid.page_of(slot);
        self.flash.pages.get(&ppn).map(|page| slot_of(page, index))
    }

    /// Coefficient of the page on a die in the parity on another: 1 where there is one parity, otherwise as in the Cauchy
    /// matrix of ISA-L, the inverse of the sum of both symbols' numbers.
    fn coefficient(&self, superblock: u32, parity: u32, member: u32) -> u8 {
        let Some(map) = self.flash.groups.get(&superblock).filter(|map| map.parity > 1) else { return 1 };
        let symbol = |die: u32| map.strips.iter().find(|strip| u32::from(strip.die.0) == die).map_or(0, |strip| strip.symbol);
        let sum = (symbol(parity) ^ symbol(member)) as u8;
        (1..=u8::MAX).find(|&inverse| times(inverse, sum) == 1).unwrap_or(0)
    }
}

fn slot_of(page: &RawPage, index: u32) -> &[u8] {
    &page.slots[index as usize].1
}

/// Whether all terms, each a factor and bytes, add up to nothing.
fn is_zero_sum<'a>(terms: impl Iterator<Item = (u8, Option<&'a [u8]>)>) -> Sum {
    let mut sum: Vec<u8> = Vec::new();
    for (factor, bytes) in terms {
        let Some(bytes) = bytes else { return Sum::Unknown };
        sum.resize(sum.len().max(bytes.len()), 0);
        match factor {
            1 => add(&mut sum, bytes),
            _ => sum.iter_mut().zip(bytes).for_each(|(sum, &byte)| *sum ^= times(factor, byte)),
        }
    }
    if sum.iter().all(|&byte| byte == 0) { Sum::Right } else { Sum::Wrong }
}

/// Adds bytes to a sum that has as many, or more.
fn add(sum: &mut [u8], bytes: &[u8]) {
    let (words, rest) = bytes.as_chunks::<8>();
    let (sums, others) = sum.as_chunks_mut::<8>();
    for (sum, word) in sums.iter_mut().zip(words) {
        *sum = (u64::from_ne_bytes(*sum) ^ u64::from_ne_bytes(*word)).to_ne_bytes();
    }
    match sums.get_mut(words.len()) {
        Some(sum) => sum.iter_mut().zip(rest).for_each(|(sum, byte)| *sum ^= byte),
        None => others.iter_mut().zip(rest).for_each(|(sum, byte)| *sum ^= byte),
    }
}

/// Powers of 2 in the field GF(2^8) of the polynomial 0x11d, twice around, and of which power each element is.
static POWERS: ([u8; 510], [u8; 256]) = {
    let (mut powers, mut logs) = ([0; 510], [0; 256]);
    let (mut power, mut element) = (0, 1u16);
    while power < 510 {
        powers[power] = element as u8;
        if power < 255 {
            logs[element as usize] = power as u8;
        }
        element <<= 1;
        if element & 0x100 != 0 {
            element ^= 0x11d;
        }
        power += 1;
    }
    (powers, logs)
};

/// The product in that field.
fn times(a: u8, b: u8) -> u8 {
    let (powers, logs) = &POWERS;
    match (a, b) {
        (0, _) | (_, 0) => 0,
        (1, other) => other,
        _ => powers[usize::from(logs[usize::from(a)]) + usize::from(logs[usize::from(b)])],
    }
}

#[cfg(test)]
mod tests;
