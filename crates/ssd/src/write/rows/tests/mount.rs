//! Rows after a cut: which pages count, and which are looked at although a summary vouches for them.

use super::*;
use crate::core::journal::Journal;
use crate::write::found::{Found, Lost, Newests};
use crate::write::rows::mount::RowsSeen;
use crate::write::testing::Seen;
use std::collections::BTreeSet;
use vocab::SuperblockId;

/// A drive that is to be mounted, and the programs of a row of four pages and their parity, of which flash has those
/// that are `there`.
fn row_of_five(there: &[usize]) -> (Alone, Vec<Ppn>) {
    let mut setup = log_setup("ds-raid", &[]);
    setup.power.mountable = true;
    let mut alone = Alone::with(&setup);
    let (_, commands) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    for &index in there {
        end_in_flash(&mut alone.core, &commands[index], ProgramOutcome::Done);
    }
    let pages = commands.iter().map(|command| command.ppn).collect();
    (alone, pages)
}

/// Choice of a mount without a record of durable contents.
fn choose(alone: &Alone, seen: &Seen, lost: Lost) -> Found {
    let view = RowsSeen { seen, without: &BTreeSet::new() };
    alone.rows.choose(&alone.core, view, &Journal::new(64), lost, Newests::of_all(alone.core.map.user_slots()))
}

fn found(choice: &Found) -> Vec<u32> {
    let Newests::All(pages) = &choice.pages else { panic!("all were sought") };
    (0..4).filter(|&lpn| pages[lpn as usize].is_some()).collect()
}

/// A parity that got to flash before its data vouches for a page that is missing, and no more: if two are, the write
/// was never answered. Fails if such a parity counts, or if one that lacks a single page does not.
#[test]
fn a_parity_that_lacks_two_of_its_pages_covers_none() {
    let (alone, _) = row_of_five(&[1, 2, 3, 4]);
    let choice = choose(&alone, &Seen::of(&alone.core), Lost::AreSolvedFor);
    assert_eq!(found(&choice), [0, 1, 2, 3], "page 0 is the sum of the others");
    assert_eq!(choice.solved.iter().map(|member| member.tag).collect::<Vec<_>>(), [OobTag::data(Lpn(0))]);
    let (alone, _) = row_of_five(&[2, 3, 4]);
    let choice = choose(&alone, &Seen::of(&alone.core), Lost::AreSolvedFor);
    assert_eq!((found(&choice), choice.solved.len()), (vec![], 0));
}

/// Two pages of a row that is being written get to flash after its parity, or never. Fails if a mounted drive reads, for a
/// page that is lost later, pages that were never programmed.
#[test]
fn a_mounted_row_reads_no_page_that_was_never_programmed() {
    let (mut alone, pages) = row_of_five(&[2, 3, 4]);
    let seen = Seen::of(&alone.core);
    alone.rows = Alone::new(&[]).rows;
    alone.rows.mount(&mut alone.core, &seen);
    assert_eq!(alone.rows.sources(&alone.core, pages[2], &[]), Ok(None));
    // A later parity of page 2 alone cannot be read either.
    let ((row, die), (_, of_parity)) = (alone.core.map.rows().row_of(pages[2]), alone.core.map.rows().row_of(pages[0]));
    alone.core.map.rows_mut().cover(row, StripSet::one(u32::from(die.0)), of_parity);
    assert_eq!(alone.rows.sources(&alone.core, pages[2], &[]), Ok(None), "pages 0 and 1 are not there");
}

/// The row may have had a parity that the loss took. Fails if data are passed over that may have been answered.
#[test]
fn data_of_a_row_that_lost_a_page_count_without_parity() {
    let (alone, pages) = row_of_five(&[0, 1, 4]);
    let mut seen = Seen::of(&alone.core);
    seen.unreadable.insert(pages[4]);
    assert_eq!(found(&choose(&alone, &seen, Lost::AreSolvedFor)), [0, 1]);
}

/// The controller remembers a suspect until the next cut. Fails if a mount leaves the pages beside it where they are, or takes
/// a page for its own neighbour (torture, seed 303, 296760).
#[test]
fn what_shares_a_parity_with_a_suspect_leans_on_it() {
    let (mut alone, pages) = row_of_five(&[0, 1, 2, 3, 4]);
    let seen = Seen::of(&alone.core);
    alone.rows.mount(&mut alone.core, &seen);
    let (suspect, beside) = (pages[1], [pages[0], pages[2], pages[3]]);
    let summed_with = |suspect: Ppn| Rows::summed_with(&alone.core, &[suspect].into());
    assert_eq!(summed_with(suspect), beside.into(), "it is written again itself");
    assert_eq!(summed_with(pages[4]), [].into(), "a parity is no member");
}

/// A row of four pages and their parity, all in flash. A parity that may not last is weak, whatever it covers; one that lasts is weak where
/// two of its pages may not. Fails if pages stay where only such a parity brings them back, or are written again for one suspect of
/// which a sound parity is there.
#[test]
fn pages_lean_on_a_suspect_parity_or_on_one_that_covers_two_suspects() {
    let (mut alone, pages) = row_of_five(&[0, 1, 2, 3, 4]);
    let seen = Seen::of(&alone.core);
    alone.rows.mount(&mut alone.core, &seen);
    let data: Vec<Ppn> = pages[..4].to_vec();
    for (suspects, lean) in [(&[][..], false), (&[4], true), (&[1], false), (&[1, 3], true), (&[1, 4], true), (&[0, 1, 4], true)]
    {
        let of_row: BTreeSet<Ppn> = suspects.iter().map(|&index: &usize| pages[index]).collect();
        let leaning: BTreeSet<Ppn> = Rows::leaning(&alone.core, &of_row).filter(|ppn| pages.contains(ppn)).collect();
        assert_eq!(leaning, if lean { data.iter().copied().collect() } else { BTreeSet::new() }, "suspects {suspects:?}");
    }
}

/// Fails if pages are looked at although nothing speaks against their summary, or if a row is believed of which
/// a page is a suspect, cannot be read, or is missing behind its parity.
#[test]
fn summaries_are_doubted_in_rows_that_the_cut_left_in_parts() {
    let doubted = |alone: &Alone, seen: &Seen, suspects: &[Ppn]| {
        Rows::doubted(&alone.core, seen, &suspects.iter().copied().collect()).len()
    };
    let (alone, pages) = row_of_five(&[0, 1, 2, 3, 4]);
    let mut seen = Seen::of(&alone.core);
    seen.believed.extend(&pages[..3]);
    assert_eq!(doubted(&alone, &seen, &[]), 0);
    assert_eq!(doubted(&alone, &seen, &pages[3..4]), 3);
    seen.unreadable.insert(pages[3]);
    assert_eq!(doubted(&alone, &seen, &[]), 3);
    let (alone, pages) = row_of_five(&[0, 1, 2, 4]);
    let mut seen = Seen::of(&alone.core);
    seen.believed.extend(&pages[..3]);
    assert_eq!(doubted(&alone, &seen, &[]), 3, "page 3 looks erased and is in the parity");
    let (alone, pages) = row_of_five(&[0, 1, 2, 3]);
    let mut seen = Seen::of(&alone.core);
    seen.believed.extend(&pages[..3]);
    assert_eq!(doubted(&alone, &seen, &[]), 0, "no parity says what the row is to hold");
}

/// A cut met a write before its parity, and one of its pages was moved later. Fails if a summary alone vouches for that page where
/// it lay first: lost since, it would count before the copy that is there (torture, seed 880001, 1576700). Fails as well if pages are
/// looked at that have no copy, are not durable, or were looked at before.
#[test]
fn summaries_are_doubted_of_copies_without_parity() {
    let (mut alone, pages) = row_of_five(&[0, 1, 2]);
    let rank = alone.core.device.array.update(pages[1], 0);
    let bare = |alone: &mut Alone, durable: u64, believed: &[Ppn]| {
        let mut seen = Seen::of(&alone.core);
        seen.believed.extend(believed);
        alone.core.safe.journal = Journal::of(64, [(Lpn(1), durable)].into_iter());
        Rows::bare_copies(&alone.core, &seen)
    };
    assert!(bare(&mut alone, rank, &pages[..3]).is_empty(), "flash has no other copy");
    let from = alone.core.device.grid.slot(pages[1], 0);
    alone.moves.queue.push_back(Move { contents: alone.core.device.contents_at(pages[1], 0), from });
    let moved = alone.move_all();
    moved.iter().for_each(|command| end_in_flash(&mut alone.core, command, ProgramOutcome::Done));
    let copy = moved[0].ppn;
    assert_eq!(alone.core.device.array.update(copy, 0), rank, "a move keeps the rank");
    assert_eq!(bare(&mut alone, rank, &pages[..3]), [pages[1]]);
    assert!(bare(&mut alone, rank, &[copy]).is_empty(), "a parity covers the copy");
    assert!(bare(&mut alone, rank, &[pages[0], pages[2]]).is_empty(), "the mount has looked at it");
    for durable in [rank - 1, rank + 1] {
        assert!(bare(&mut alone, durable, &pages[..3]).is_empty(), "the contents do not count");
    }
}

/// A superblock of four rows, in which pages 0 and 4 were written twice. What is found of it block by block is what is found row by
/// row. Catches a page that is found under another row or die, older contents that count, coverage that no parity said, and a
/// superblock that counts as whole though a suspect is in it.
#[test]
fn a_superblock_without_a_missing_page_says_the_same_block_by_block() {
    let mut setup = log_setup("ds-raid", &[]);
    setup.power.mountable = true;
    let mut alone = Alone::with(&setup);
    for lpns in [[0, 1, 2, 3], [4, 5, 6, 7], [8, 0, 9, 10], [4, 11, 12, 13]] {
        let (_, commands) = alone.write(&lpns.map(|lpn| (lpn, 1)));
        alone.end_all(&commands);
    }
    let (superblock, rows) = (alone.core.map.rows().superblock_of(0), alone.core.map.rows().row(SuperblockId(1), 0));
    let blocks = (0..5).map(|die| alone.core.device.grid.block(DieId(die), superblock.0));
    let mut whole = Seen::of(&alone.core);
    whole.whole.extend(blocks);
    let suspects = BTreeSet::from([alone.core.map.rows().page(0, DieId(1))]);
    let all = || Newests::of_all(64);
    let these = || Newests::of_these([Lpn(0), Lpn(12), Lpn(60)]);
    let chosen = |seen: &Seen, without: &BTreeSet<Ppn>, sought: &dyn Fn() -> Newests| {
        let view = RowsSeen { seen, without };
        let found = alone.rows.choose(&alone.core, view, &Journal::new(64), Lost::AreLeftOut, sought());
        let newest = |lpn: u32| match &found.pages {
            Newests::All(pages) => pages[lpn as usize],
            Newests::These(these) => these.pages.get(&Lpn(lpn)).copied().flatten(),
        };
        (0..64).map(newest).collect::<Vec<_>>()
    };
    let (one_by_one, none) = (Seen::of(&alone.core), BTreeSet::new());
    for without in [&none, &suspects] {
        for sought in [&all as &dyn Fn() -> Newests, &these] {
            let found = chosen(&whole, without, sought);
            assert_eq!(found, chosen(&one_by_one, without, sought));
            assert_eq!(
                found[0].map(|newest| alone.core.device.grid.page_of(newest.slot.unwrap()).0.0 % 4),
                Some(2),
                "the later one"
            );
        }
    }
    assert_ne!(chosen(&whole, &none, &all), chosen(&whole, &suspects, &all), "the suspect is left out");
    let coverage = |seen: &Seen| {
        let mut fresh = Alone::with(&setup);
        fresh.core.device.array = alone.core.device.array.clone();
        fresh.rows.mount(&mut fresh.core, seen);
        (0..rows).map(|row| fresh.coverage(row)).collect::<Vec<_>>()
    };
    assert_eq!(coverage(&whole), (0..rows).map(|row| alone.coverage(row)).collect::<Vec<_>>());
    assert_eq!(coverage(&whole), coverage(&one_by_one));
}
