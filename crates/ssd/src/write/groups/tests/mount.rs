//! Block groups after a cut, and what is kept for one.

use super::life::write_all;
use super::*;
use crate::write::found::{Found, Lost};
use crate::write::groups::Redo;
use crate::write::groups::mount::GroupsSeen;
use crate::write::testing::{Seen, kill};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Ppn};

/// Whether the sums of the three pages are still in the cache, or their two parities are in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parity {
    Held,
    InFlash,
}

/// A drive that is to be mounted, with pages 0, 1 and 2 in a codeword that survives two losses.
fn codeword(parity: Parity) -> Alone<Tag> {
    let mut alone = Alone::mountable(&[("m", "2")]);
    let (_, data) = alone.write(&[(0, 1), (1, 1), (2, 1)]);
    alone.end_all(&data);
    let parities = programs(&mut alone.core);
    if parity == Parity::InFlash {
        alone.end_all(&parities);
    }
    assert_eq!(alone.groups.held.is_empty(), parity == Parity::InFlash);
    alone
}

impl Alone<Tag> {
    fn block_of(&self, lpn: u32) -> BlockAddr {
        self.core.device.block_of(page_of(&self.core, lpn))
    }

    /// Choice of a mount that cannot read these logical pages, and knows that these blocks were being erased.
    fn choose(&self, unreadable: &[u32], erasing: &[BlockAddr]) -> Found {
        let mut seen = Seen::of(&self.core);
        seen.unreadable.extend(unreadable.iter().map(|&lpn| page_of(&self.core, lpn)));
        let erasing = erasing.iter().copied().collect();
        let view = GroupsSeen { seen: &seen, erasing: &erasing, erases_known: true };
        self.groups.choose(&self.core, view, &BTreeSet::new(), Lost::AreSolvedFor)
    }

    /// The logical pages that codewords give.
    fn solved(&self, unreadable: &[u32], erasing: &[BlockAddr]) -> Vec<Lpn> {
        let solved = self.choose(unreadable, erasing).solved;
        let mut lpns: Vec<Lpn> = solved.iter().filter_map(|member| crate::core::data_of(member.tag)).collect();
        lpns.sort_unstable();
        lpns.dedup();
        lpns
    }
}

/// Fails if a codeword brings back more or fewer pages than its code does, or pages of a block that was being
/// erased: of these everything needed has another place, and what is solved for would be an older version.
#[test]
fn what_a_codeword_gives_is_offered_unless_its_block_was_being_erased() {
    for parity in [Parity::Held, Parity::InFlash] {
        let alone = codeword(parity);
        assert_eq!(alone.solved(&[], &[]), [], "{parity:?}");
        assert_eq!(alone.solved(&[0], &[]), [Lpn(0)], "{parity:?}");
        assert_eq!(alone.solved(&[0, 2], &[]), [Lpn(0), Lpn(2)], "{parity:?}");
        assert_eq!(alone.solved(&[0, 1, 2], &[]), [], "{parity:?}");
        assert_eq!(alone.solved(&[0], &[alone.block_of(0)]), [], "{parity:?}");
        assert_eq!(alone.solved(&[0, 2], &[alone.block_of(2)]), [], "{parity:?}: the erase met the whole group");
        assert_eq!(alone.solved(&[0], &[alone.block_of(1)]), [Lpn(0)], "{parity:?}: page 1 can be read yet");
    }
}

/// A codeword of three pages and two parities has lost one parity. Fails if any other page of its row counts as a parity, so that more pages
/// come back than the parities that are left can give.
#[test]
fn a_codeword_gives_back_as_many_pages_as_parities_of_it_are_left() {
    let alone = codeword(Parity::InFlash);
    let of_group = alone.groups.info[0].expect("it is written");
    let stripe = alone.groups.stripe_of(vocab::SuperblockId(0), &of_group);
    let parity = alone.core.map.rows().page(0, stripe.strips.last().expect("a parity").die);
    for (lost, solved) in [(&[0][..], 1), (&[2], 1), (&[0, 2], 0), (&[0, 1, 2], 0)] {
        let mut seen = Seen::of(&alone.core);
        seen.unreadable.extend(lost.iter().map(|&lpn| page_of(&alone.core, lpn)).chain([parity]));
        let view = GroupsSeen { seen: &seen, erasing: &BTreeSet::new(), erases_known: true };
        let found = alone.groups.choose(&alone.core, view, &BTreeSet::new(), Lost::AreSolvedFor);
        assert_eq!(found.solved.len(), solved, "pages {lost:?} and a parity are lost");
    }
}

/// An outage took what the controller knew of erases. Fails if a page that looks erased, though its codeword has it,
/// is taken for one whose program failed.
#[test]
fn a_page_that_looks_erased_is_not_solved_for_where_erases_are_not_known() {
    let alone = codeword(Parity::InFlash);
    let mut seen = Seen::of(&alone.core);
    seen.erased.insert(page_of(&alone.core, 0));
    let solved = |erases_known| {
        let view = GroupsSeen { seen: &seen, erasing: &BTreeSet::new(), erases_known };
        alone.groups.choose(&alone.core, view, &BTreeSet::new(), Lost::AreSolvedFor).solved.len()
    };
    assert_eq!((solved(true), solved(false)), (2, 0), "both parities give it");
}

/// Fails if sums or pages on their way are kept for a group that is gone, or forgotten of another.
#[test]
fn what_is_kept_for_a_cut_goes_with_its_group_alone() {
    let mut alone = codeword(Parity::Held);
    let redo = |row: u32| Redo { ppn: Ppn(0), key: (row, 0), payload: vec![Tag::default()] };
    alone.groups.redo = vec![redo(0), redo(3), redo(4), redo(7)];
    let sums = alone.groups.held[&(0, 0)].clone();
    alone.groups.held.insert((3, 0), sums.clone());
    alone.groups.held.insert((4, 0), sums);
    alone.groups.forget_sums(0, 4);
    let rows: Vec<u32> = alone.groups.redo.iter().map(|redo| redo.key.0).collect();
    assert_eq!((rows, alone.groups.held.keys().copied().collect::<Vec<_>>()), (vec![4, 7], vec![(4, 0)]));
    assert!(alone.groups.info[0].is_some(), "the group is written yet");
    alone.groups.info[1] = alone.groups.info[0];
    alone.groups.forget_group(1, 4);
    assert_eq!((alone.groups.redo.len(), alone.groups.held.len()), (0, 0));
    assert_eq!([0, 1].map(|group| alone.groups.info[group].is_some()), [true, false]);
}

/// A codeword of which only one page is in flash, with its parity, and whose blocks have two pages: the others failed, and
/// their blocks never got the sums that an outage took. Then the die of that page dies. Fails if the block of the parity,
/// which sums what failed, counts as if it summed the one whole block alone: the page would come back as the sum of all four
/// (torture, seed 504, 626165).
#[test]
fn a_parity_that_sums_blocks_without_a_sum_is_in_no_block_code() {
    let mut setup = log_setup("mds-groups", &[("m", "1"), ("block_parity", "yes")]);
    setup.power.mountable = true;
    setup.drive.geometry.pages_per_block = 2;
    let mut alone = Alone::<Tag>::with(&setup);
    let (_, commands) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    let whole = alone.core.device.grid.die_of(page_of(&alone.core, 0));
    for command in &commands {
        let (block, page) = alone.core.device.grid.split(command.ppn);
        match alone.core.device.grid.die_of(command.ppn) == whole {
            true => drop(alone.end(command, ProgramOutcome::Done)),
            // Commands behind a page that failed have not begun when the power goes.
            false if page == 0 => drop(alone.end(command, ProgramOutcome::Failed)),
            false => assert_eq!(alone.core.device.array.block(block).next_page, 0),
        }
    }
    let parity = programs(&mut alone.core);
    assert_eq!((parity.len(), is_parity(&parity[0])), (1, true), "all that it sums has ended");
    alone.end_all(&parity);
    assert_eq!(alone.core.device.images.slab[parity[0].image].oob.coverage.len(), 4);

    let mut kept = alone.groups.remains(&alone.core);
    kept.lose_sums();
    alone.core.device.losses.failed_programs.clear();
    let seen = Seen::of(&alone.core);
    let view = GroupsSeen { seen: &seen, erasing: &BTreeSet::new(), erases_known: true };
    alone.groups.mount(&mut alone.core, kept, view);
    kill(&mut alone.core, whole);
    assert_eq!(alone.repair(0), None, "three more pages of its codeword are lost, and its block");
}

/// An outage took the sums, and before the group was collected the power went once more, taking nothing. Fails if the second
/// mount takes a group without parity for a whole one (torture, seed 1, 48576): its pages would be without redundancy permanently.
/// Sums that are held, and parities on a dead die, are no reason to collect a group.
#[test]
fn a_group_without_parity_is_found_by_every_mount_until_it_is_collected() {
    let unsettled = |alone: &mut Alone<Tag>| {
        let seen = Seen::of(&alone.core);
        alone.groups.note_groups_without_parity(&alone.core, &seen, &BTreeSet::new());
        alone.groups.take_unsettled(alone.core.device.grid.pages_per_block())
    };
    let mut alone = codeword(Parity::InFlash);
    assert_eq!(unsettled(&mut alone), BTreeSet::new());
    let of_group = alone.groups.info[0].expect("it is written");
    let stripe = alone.groups.stripe_of(vocab::SuperblockId(0), &of_group);
    kill(&mut alone.core, stripe.strips.last().expect("a parity").die);
    assert_eq!(unsettled(&mut alone), BTreeSet::new());

    let mut alone = codeword(Parity::Held);
    let seen = Seen::of(&alone.core);
    alone.groups.note_groups_without_parity(&alone.core, &seen, &BTreeSet::new());
    assert_eq!(alone.groups.without_parity, BTreeSet::new(), "the sums are held");
    for outage in [true, false] {
        let mut kept = alone.groups.remains(&alone.core);
        if outage {
            kept.lose_sums();
        }
        let view = GroupsSeen { seen: &seen, erasing: &BTreeSet::new(), erases_known: true };
        alone.groups.mount(&mut alone.core, kept, view);
        assert_eq!(unsettled(&mut alone), BTreeSet::from([0]), "the sums were lost now: {outage}");
    }
}

/// A cut met the erase of a group and took what was known of erases; what was erased first had been discarded or moved, what is
/// left counts again. Fails if the group is taken for a whole one because its parity is there (torture, seed 603, 286912): one
/// loss would take what is left, permanently. What a dead die held is no reason, and neither is a group of which only parity is left.
#[test]
fn a_group_whose_parity_sums_an_erased_page_is_found_by_a_mount() {
    let mut alone = codeword(Parity::InFlash);
    let [first, second, third] = [0, 1, 2].map(|lpn| page_of(&alone.core, lpn));
    let mut lacking = |erased: &[Ppn]| {
        let mut seen = Seen::of(&alone.core);
        seen.erased.extend(erased);
        alone.groups.note_groups_without_parity(&alone.core, &seen, &BTreeSet::new());
        alone.groups.without_parity.len()
    };
    assert_eq!(lacking(&[]), 0);
    assert_eq!(lacking(&[second]), 1);
    assert_eq!(lacking(&[first, second, third]), 0, "nothing is left of its data");
    let die = alone.core.device.grid.die_of(second);
    kill(&mut alone.core, die);
    let mut seen = Seen::of(&alone.core);
    seen.unreadable.insert(second);
    alone.groups.note_groups_without_parity(&alone.core, &seen, &BTreeSet::new());
    assert_eq!(alone.groups.without_parity, BTreeSet::new(), "what a dead die held is rebuilt anyway");
}

/// A cut met the program of a parity and took the sums: it may be read for a while. Fails if the group is taken for a whole one
/// (torture, seed 702, 97408), or if the same is doubted of a parity whose sums are held, which are then all that is needed.
#[test]
fn a_group_whose_parity_may_not_last_is_found_by_a_mount_that_lacks_its_sums() {
    for parity in [Parity::InFlash, Parity::Held] {
        let mut alone = codeword(parity);
        let of_group = alone.groups.info[0].expect("it is written");
        let stripe = alone.groups.stripe_of(vocab::SuperblockId(0), &of_group);
        let last = alone.core.map.rows().page(0, stripe.strips.last().expect("a parity").die);
        let seen = Seen::of(&alone.core);
        for suspects in [BTreeSet::new(), BTreeSet::from([last]), BTreeSet::from([page_of(&alone.core, 1)])] {
            alone.groups.note_groups_without_parity(&alone.core, &seen, &suspects);
            let is_found = parity == Parity::InFlash && suspects.contains(&last);
            assert_eq!(alone.groups.without_parity.contains(&0), is_found, "{parity:?}, {suspects:?}");
        }
    }
}

/// Two groups are full, each of another code, and the third was just begun. A mount needs the first two. Fails if the map does not know again what
/// these hold and by which code, or if anything is kept of the third.
#[test]
fn after_a_mount_the_map_knows_the_codes_of_groups_and_forgets_what_is_not_needed() {
    let mut setup = log_setup("mds-groups", &[("m", "1"), ("then", "3+2")]);
    setup.power.mountable = true;
    let mut alone = Alone::<Tag>::with(&setup);
    write_all(&mut alone, 16);
    alone.groups.asked = true;
    write_all(&mut alone, 13);
    let units = |alone: &Alone<Tag>| [0, 1].map(|unit| (alone.core.map.unit(unit).code, alone.core.map.unit(unit).slots));
    assert_eq!(units(&alone), [(0, 16), (1, 12)], "four rows of four pages, and of three");
    let kept = alone.groups.remains(&alone.core);
    assert!(kept.info[2].is_some() && !kept.held.is_empty(), "the third group has sums in the cache");

    let mut mounted = Alone::<Tag>::with(&setup);
    mounted.core.device.array = alone.core.device.array.clone();
    let seen = Seen::of(&mounted.core);
    let view = GroupsSeen { seen: &seen, erasing: &BTreeSet::new(), erases_known: true };
    mounted.groups.mount(&mut mounted.core, kept, view);
    mounted.core.map.mount(|unit| (unit < 2).then_some(0));
    mounted.groups.settle_mounted(&mut mounted.core);
    assert_eq!(units(&mounted), [(0, 16), (1, 12)]);
    assert_eq!([0, 1, 2].map(|group| mounted.groups.info[group].is_some()), [true, true, false]);
    assert!(mounted.groups.held.is_empty(), "sums of a group in which nothing is needed");
    assert_eq!(mounted.core.map.outdated_groups(), 1, "the first group goes before others");
}
