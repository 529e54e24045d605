//! The life of block groups: when they end, and what they leave.

use super::*;
use crate::write::testing::kill;

/// Fills this many groups of twelve data pages, and writes one page more.
fn write_groups(alone: &mut Alone<Tag>, groups: u32) {
    for version in 1..=groups {
        for row in 0..4 {
            let (_, data) = alone.write(&[0, 1, 2].map(|page| (row * 3 + page, version)));
            alone.end_all(&data);
            let parities = programs(&mut alone.core);
            alone.end_all(&parities);
        }
    }
    let (_, data) = alone.write(&[(0, groups + 1)]);
    alone.end_all(&data);
    alone.effects();
}

/// The host writes this many pages, one after the other, all of which get to flash with their parity.
pub(super) fn write_all(alone: &mut Alone<Tag>, pages: u32) {
    for lpn in 0..pages {
        let (_, data) = alone.write(&[(lpn, 1)]);
        alone.end_all(&data);
        let parities = programs(&mut alone.core);
        alone.end_all(&parities);
    }
}

/// A die of the open group dies; whether the group goes on.
fn goes_on_without(alone: &mut Alone<Tag>, die: u16) -> bool {
    kill(&mut alone.core, DieId(die));
    alone.groups.narrow(&mut alone.core, DieId(die), None);
    alone.effects();
    alone.groups.open[0].is_some()
}

/// Fails if a group goes on with a dead die although there are groups to write to; if it ends where there are not, so
/// that nothing could be written; or if it goes on with more pages on dead dies than its code solves for.
#[test]
fn a_group_goes_on_without_dies_where_space_is_short_and_its_code_makes_up_for_them() {
    let mut alone = Alone::new(&[("m", "2")]);
    write_groups(&mut alone, 4);
    assert_eq!(alone.core.map.free_units(0), 3);
    assert!(!goes_on_without(&mut alone, 0), "there are groups left");
    let mut alone = Alone::new(&[("m", "2")]);
    write_groups(&mut alone, 5);
    assert_eq!(alone.core.map.free_units(0), 2);
    assert_eq!([0, 1, 2].map(|die| goes_on_without(&mut alone, die)), [true, true, false]);
}

/// Fails if the sums of blocks stay in the cache, or count as there, once a group is given up: its blocks get no parity.
#[test]
fn a_group_that_is_given_up_has_no_block_code_any_more() {
    let mut alone = Alone::<Tag>::new(&[("m", "2"), ("block_parity", "yes")]);
    let (_, data) = alone.write(&[(0, 1), (1, 1), (2, 1)]);
    let held = alone.groups.used[0];
    assert_eq!(alone.groups.blocks[&0].done, [StripSet::EMPTY]);
    alone.groups.abandon(&mut alone.core, 0);
    alone.effects();
    // Three blocks of data and the two parities of their sums leave, two parities of the first page stripe stay.
    assert_eq!((held, alone.groups.used[0], alone.groups.blocks.len()), (7, 2, 0));
    alone.end_all(&data);
    let parities = programs(&mut alone.core);
    alone.end_all(&parities);
    assert_eq!((parities.len(), alone.groups.used[0]), (2, 0));
    alone.lose(&[0, 1, 2]);
    assert_eq!(alone.repair(0), None, "no block sums up to nothing");
}

/// The last row of the group was begun: the sum of its first block is on its way, those of the others never will be.
/// Fails if they go on to count as held.
#[test]
fn blocks_without_a_sum_count_as_done_when_their_group_is_given_up_in_its_last_row() {
    let mut alone = Alone::<Tag>::new(&[("m", "2"), ("block_parity", "yes")]);
    let (_, rows) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]);
    assert_eq!(rows.len(), 8, "the last data page of a block has its sum behind it");
    alone.groups.abandon(&mut alone.core, 0);
    alone.effects();
    let first = alone.groups.open.iter().flatten().count();
    assert_eq!(first, 0);
    let blocks = &alone.groups.blocks[&0];
    assert_eq!(blocks.done[0].len(), 2, "the sum of one block is in the cache yet");
    alone.end_all(&rows);
    assert_eq!(alone.groups.blocks[&0].done[0].len(), 3);
}

/// Two codewords to a page stripe, and a block code. Of the last row the parity of one codeword has ended, in flash or failed, when the
/// group is given up. Fails if what has left the cache leaves it once more, or if anything stays in it; and if the sums of a
/// parity that failed, which stay until the group is erased, count as under way, so that the group is never erased.
#[test]
fn a_group_that_is_given_up_half_way_through_its_last_row_leaves_the_cache_empty() {
    for outcome in [ProgramOutcome::Done, ProgramOutcome::Failed] {
        let mut setup = log_setup("mds-groups", &[("k", "2"), ("m", "1"), ("block_parity", "yes")]);
        setup.drive.geometry.dies_per_channel = 6;
        let mut alone = Alone::<Tag>::with(&setup);
        for row in 0..2 {
            let (_, data) = alone.write(&[0, 1, 2, 3].map(|page| (row * 4 + page, 1)));
            alone.end_all(&data);
        }
        let codeword = |alone: &Alone<Tag>| {
            let open = alone.groups.open[0].as_ref().expect("the group is open");
            let stripe = &open.layout.stripe;
            stripe.strips[stripe.order[open.next as usize] as usize].codeword
        };
        let first = codeword(&alone);
        let mut written = 8;
        while alone.groups.open[0].is_some() && codeword(&alone) == first {
            let (_, data) = alone.write(&[(written, 1)]);
            alone.end_all(&data);
            written += 1;
        }
        assert_eq!(written, 10, "one codeword is complete and the other is not begun");
        let parities = programs(&mut alone.core);
        let (last, before) = parities.split_last().expect("parity is under way");
        alone.end_all(before);
        alone.end(last, outcome);
        let has_failed = outcome == ProgramOutcome::Failed;
        assert_eq!(alone.groups.held.contains_key(&(3, first)), has_failed, "its parity is in flash, or nowhere");
        alone.groups.abandon(&mut alone.core, 0);
        alone.effects();
        let rest = programs(&mut alone.core);
        alone.end_all(&rest);
        let left = (alone.groups.used, alone.groups.held.len(), alone.groups.blocks.len());
        assert_eq!(left, ([0, 0], usize::from(has_failed), 0), "{outcome:?}");
        assert_eq!(alone.core.map.unit(0).pins, 0, "{outcome:?}");
    }
}

/// Fails if pages name the members of their sums where no one will ever look for them: it takes memory.
#[test]
fn nobody_is_named_where_no_mount_reads_names() {
    for (is_mountable, named) in [(false, 0), (true, 3)] {
        let setup = [("m", "2"), ("block_parity", "yes")];
        let mut alone = if is_mountable { Alone::<Tag>::mountable(&setup) } else { Alone::new(&setup) };
        let (_, data) = alone.write(&[(0, 1), (1, 1), (2, 1)]);
        assert_eq!((alone.groups.held[&(0, 0)].members.len(), alone.groups.blocks[&0].members.len()), (named, named));
        alone.end_all(&data);
        let parities = programs(&mut alone.core);
        alone.end_all(&parities);
        let names = |command: &Command| alone.core.device.array.members(command.ppn).len();
        assert_eq!(parities.iter().map(names).collect::<Vec<_>>(), [named; 2]);
        let (_, rest) = alone.write(&[(3, 1), (4, 1), (5, 1), (6, 1)]);
        alone.end_all(&rest);
        let of_block = rest.last().expect("the sum of a block");
        assert_eq!(alone.core.device.array.members(of_block.ppn).len(), named);
    }
}

/// The parity of each row is in flash, and the group is open. Fails if the group counts as settled while rows of it are to come, or as
/// unsettled once it is full.
#[test]
fn an_open_group_is_unsettled_until_it_is_full() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let is_unsettled = |alone: &Alone<Tag>| alone.groups.is_unsettled(vocab::SuperblockId(0), 4);
    assert!(!is_unsettled(&alone), "it is not opened");
    for row in 0..4 {
        write_all(&mut alone, 3);
        let is_open = alone.groups.open[0].is_some();
        assert_eq!((alone.groups.held.len(), is_open, is_unsettled(&alone)), (0, row < 3, row < 3), "row {row}");
    }
}

/// The code is about to change from 4+1 to 3+2. Fails if the drive looks for groups of the old code forever, or no more while such a
/// group is open or closed.
#[test]
fn a_drive_migrates_as_long_as_a_group_of_another_code_may_be_left() {
    let migrates = |alone: &mut Alone<Tag>| {
        alone.groups.migrating = true;
        alone.groups.settle_migration(&alone.core);
        alone.groups.is_migrating()
    };
    let mut alone = Alone::<Tag>::new(&[("m", "1"), ("then", "3+2")]);
    write_all(&mut alone, 1);
    assert!(!migrates(&mut alone), "the open group is of the code in use");
    (alone.groups.asked, alone.groups.now) = (true, 1);
    alone.groups.settle_space(&mut alone.core);
    assert!(migrates(&mut alone), "the open group is of the code before");
    write_all(&mut alone, 16);
    assert_eq!(alone.groups.open[0].as_ref().map(|open| open.layout.code), Some(1));
    assert!(migrates(&mut alone), "a full group is of the code before");
    assert_eq!(alone.core.map.condemn_outdated(), Some(0));
    assert!(!migrates(&mut alone), "it is being collected");
}

/// A drive of five dies gets five more. Fails if new groups take their codes, or the room that they are to leave, from the scheme of before.
#[test]
fn a_drive_that_grew_asks_the_scheme_for_all_its_dies() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let mut wide = log_setup("mds-groups", &[("m", "2")]);
    wide.drive.geometry.dies_per_channel = 10;
    let protection = crate::core::testing::tiny_scheme(&wide);
    let scheme = protection.groups().expect("the scheme writes block groups");
    alone.groups.grow(scheme, 40);
    let codes = |codes: &[protect::GroupCode]| codes.iter().map(|code| (code.data, code.parity)).collect::<Vec<_>>();
    let known: Vec<_> = alone.groups.codes.iter().map(|(code, _)| *code).collect();
    assert_eq!((alone.groups.first_code, codes(&known)), (1, vec![(3, 2), (8, 2)]), "groups of before keep theirs");
    assert_eq!(codes(alone.groups.scheme().codes()), [(8, 2)]);
}
