//! Parities of drives at rest are spoilt in what was read from flash: each must be noticed.

use super::*;
use crate::Scope;
use ssd::Pace;
use vocab::{HostCommand, HostOp, Lba, SimTime, StreamId};

/// A drive of torture under the scheme with these options, taken apart after its history and some writes.
fn drive(scheme: &str, options: &[(&str, &str)]) -> Apart {
    drive_of(0, 2, scheme, options)
}

/// The same, of this many dies at least, with this many writes under way.
fn drive_of(dies: u32, depth: u32, scheme: &str, options: &[(&str, &str)]) -> Apart {
    let scope = Scope::named(7, &[scheme.into()], &[], false).expect("a known scheme");
    let setups = (0..64).filter_map(|number| scope.replay(number * 16).0).map(|scenario| scenario.setup);
    let mut fitting = setups.filter(|setup| setup.faults.wear_out == 0.0 && setup.drive.geometry.dies() >= dies);
    let mut setup = fitting.next().expect("one of them does not wear out");
    setup.scheme.options = options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    (setup.faults.silent, setup.faults.uncorrectable_reads) = (0.0, 0.0);
    setup.buffer.kind = ssd::BufferKind::Off;
    let mut session = Session::new(&setup).expect("a drive of torture");
    let per = setup.drive.geometry.sectors_per_slot();
    let write = |lpn: u32| {
        let lba = Lba(u64::from(lpn % setup.user_slots) * u64::from(per));
        HostCommand { at: SimTime(0), op: HostOp::Write(vocab::Fua::Yes), lba, sectors: per, stream: StreamId::default() }
    };
    let _ = session.run(&mut (0..3 * setup.user_slots).map(write), Pace::Closed { depth }, &mut |_| {});
    session.drain();
    Apart::new(&session, &setup).expect("a scheme with parity")
}

/// Every way of writing, one parity and two.
fn drives() -> Vec<(&'static str, Apart)> {
    let of = |name, scheme, options: &[(&str, &str)]| (name, drive(scheme, options));
    vec![
        of("raid5", "raid5", &[]),
        of("ds-raid", "ds-raid", &[]),
        of("mds-groups", "mds-groups", &[]),
        of("mds-groups m=2", "mds-groups", &[("m", "2")]),
        of("mds-groups block_parity=yes", "mds-groups", &[("block_parity", "yes")]),
    ]
}

impl Apart {
    /// Parity pages that cover logical pages in flash alone.
    fn parities_in_use(&self) -> BTreeSet<Ppn> {
        let places = (0..).map(Lpn).zip(&self.inventory.places);
        let sums = places.filter_map(|(lpn, place)| match (place, self.strips) {
            (Place::At(_), Some(strips)) => Some(self.in_stripe(lpn, strips, &mut Known::default())),
            (Place::At(slot), None) => Some(self.in_row(lpn, *slot, &mut Known::default())),
            _ => None,
        });
        let sums = sums.filter(|(_, is_held)| !is_held).flat_map(|(sums, _)| sums);
        sums.filter(|(_, sum)| *sum == Sum::Right).map(|(parity, _)| parity).collect()
    }
}

/// Fails if a sound drive is said to be unsound, or nothing of it is looked at.
#[test]
fn all_pages_of_a_sound_drive_at_rest_are_covered() {
    for (name, apart) in drives() {
        let found = apart.look();
        assert_eq!((&found.bare, &found.wrong), (&vec![], &None), "{name}");
        assert!(found.covered > 0 && apart.parities_in_use().len() > 1, "{name}: {found:?}");
    }
}

/// Fails if a single wrong bit of any parity in use is overlooked, also where another parity is right.
#[test]
fn a_wrong_parity_is_noticed_wherever_it_lies() {
    for (name, mut apart) in drives() {
        for parity in apart.parities_in_use() {
            let flip = |apart: &mut Apart| {
                let page = apart.flash.pages.get_mut(&parity).expect("it was read");
                page.slots.iter_mut().for_each(|(_, bytes)| *bytes.last_mut().expect("tags have bytes") ^= 0x10);
            };
            flip(&mut apart);
            let found = apart.look();
            assert!(found.wrong.is_some(), "{name}: {parity} is wrong");
            assert_eq!(found.bare.is_empty(), name.contains("m=2"), "{name}: {parity} is wrong");
            flip(&mut apart);
        }
        assert_eq!(apart.look().wrong, None, "{name}: as it was");
    }
}

/// Fails if pages whose parity is gone count as covered, or with two parities those that lack one count as bare.
#[test]
fn a_parity_that_is_gone_leaves_pages_bare_unless_there_is_another() {
    for (name, mut apart) in drives() {
        let before = apart.look().covered;
        for parity in apart.parities_in_use() {
            let page = apart.flash.pages.remove(&parity).expect("it was read");
            let found = apart.look();
            assert_eq!(found.bare.is_empty(), name.contains("m=2"), "{name}: {parity} is gone");
            assert_eq!(found.covered as usize + found.bare.len(), before as usize, "{name}: {parity}");
            apart.flash.pages.insert(parity, page);
        }
    }
}

/// Fails if pages count as bare that the newest parity of their row sums with one that is gone, though a parity before it sums that
/// one, too (torture, seed 2, `cut,wear-out`, 18544), or if they count as covered where the parity before is wrong.
#[test]
fn two_parities_of_a_row_do_without_a_page_that_both_sum() {
    let mut apart = drive_of(6, 1, "ds-raid", &[]);
    let spoil = |apart: &mut Apart, ppn: Ppn| {
        let page = apart.flash.pages.get_mut(&ppn).expect("it was read");
        page.slots.iter_mut().for_each(|(_, bytes)| *bytes.last_mut().expect("tags have bytes") ^= 1);
    };
    let mut more_are_bare = 0;
    for newest in apart.parities_in_use() {
        let (block, page) = apart.grid.split(newest);
        let superblock = apart.grid.split_block(block).1.0;
        let row: Vec<Ppn> =
            (0..apart.grid.dies()).map(|die| apart.grid.ppn(apart.grid.block(DieId(die as u16), superblock), page)).collect();
        let covers = |ppn: &Ppn| {
            let raw = apart.flash.pages.get(ppn).filter(|raw| matches!(raw.slots[0].0, PageRole::Parity(_)));
            raw.map(|raw| raw.coverage)
        };
        let of_newest = covers(&newest).expect("it is a parity").len();
        let Some(&before) = row.iter().find(|ppn| covers(ppn).is_some_and(|covered| covered.len() < of_newest)) else { continue };
        let both_sum = covers(&before).and_then(|covered| covered.iter().next()).expect("it covers a page");
        let gone = apart.flash.pages.remove(&row[both_sum as usize]).expect("it was read");
        let solved = apart.look().bare.len();
        spoil(&mut apart, before);
        more_are_bare += usize::from(apart.look().bare.len() > solved);
        spoil(&mut apart, before);
        apart.flash.pages.insert(row[both_sum as usize], gone);
    }
    assert!(more_are_bare > 0, "some row has two parities, and pages that count");
}

/// Fails if the second of two parities is checked against the sum of the first: both must be spoilt to be noticed.
#[test]
fn of_two_parities_both_are_held_against_sums_of_their_own() {
    let (mut apart, name) = (drive("mds-groups", &[("m", "2")]), "mds-groups m=2");
    for parity in apart.parities_in_use() {
        let page = apart.flash.pages.get_mut(&parity).expect("it was read");
        page.slots.iter_mut().for_each(|(_, bytes)| *bytes.last_mut().expect("tags have bytes") ^= 0x10);
    }
    let found = apart.look();
    assert_eq!((found.covered, found.wrong.is_some()), (0, true), "{name}: {found:?}");
}

/// The products of a table of the field: the powers of 2, and the inverse of each element.
#[test]
fn products_are_those_of_the_field() {
    let mut power = 1;
    for expected in [2, 4, 8, 16, 32, 64, 128, 0x1d, 0x3a, 0x74, 0xe8, 0xcd, 0x87, 0x13, 0x26] {
        power = times(power, 2);
        assert_eq!(power, expected);
    }
    for element in 1..=u8::MAX {
        assert_eq!((1..=u8::MAX).filter(|&other| times(element, other) == 1).count(), 1, "{element} has one inverse");
    }
}

/// A drive keeps superblocks free, so pages without parity are a violation there after any number of cuts; with a needed page in
/// each superblock they are not. Fails if a superblock with garbage alone counts as needed.
#[test]
fn superblocks_are_left_until_each_holds_a_needed_page() {
    let mut apart = drive("mds-groups", &[]);
    let all = apart.grid.blocks_per_die();
    assert!(!apart.needed_superblocks().is_empty() && apart.is(AllCovered::WhereSuperblocksAreLeft));
    assert!(apart.is(AllCovered::Yes) && !apart.is(AllCovered::No));
    let first_of = |superblock: u32| apart.grid.slot(apart.grid.ppn(apart.grid.block(DieId(1), superblock), 0), 0);
    let mut places: Vec<Place> = (0..all - 1).map(|superblock| Place::At(first_of(superblock))).collect();
    let last = Place::At(first_of(all - 1));
    apart.inventory.places.clone_from(&places);
    assert!(apart.is(AllCovered::WhereSuperblocksAreLeft), "the last one can be erased");
    places.push(last);
    apart.inventory.places = places;
    assert!(!apart.is(AllCovered::WhereSuperblocksAreLeft));
}

/// Byte by byte. Fails if bytes are left out, or added in another place, where lengths are no multiple of a word.
#[test]
fn bytes_are_added_each_to_its_own() {
    for (long, short) in [(16, 16), (17, 9), (24, 3), (3, 3), (12, 8), (8, 0), (15, 12)] {
        let before: Vec<u8> = (0..long).map(|at| (at * 7 + 1) as u8).collect();
        let bytes: Vec<u8> = (0..short).map(|at| (at * 31 + 5) as u8).collect();
        let mut sum = before.clone();
        add(&mut sum, &bytes);
        let expected: Vec<u8> = before.iter().enumerate().map(|(at, byte)| byte ^ bytes.get(at).copied().unwrap_or(0)).collect();
        assert_eq!(sum, expected, "{long} and {short} bytes");
    }
}
