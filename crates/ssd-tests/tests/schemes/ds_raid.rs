//! Duties of DS-RAID to its rows beyond the paper: scrub reads of obsolete members (I9), and bad blocks that leave rows
//! without breaking them (I11).

use crate::common::codewords::beyond_repair;
use crate::common::{MIX, Mix, drive, run, setup, workload};
use flashkeep_ssd as ssd;
use ssd::nand::PageRole;
use ssd::{Failure, Pace, Session, Setup};
use std::collections::BTreeMap;
use vocab::{BlockAddr, DieId, Fua, Grid, HostCommand, HostOp, Lba, Ppn, SimTime, StreamId};

const DIES: u32 = 6;

fn ds_raid(options: &[(&str, &str)]) -> Setup {
    let mut setup = setup("ds-raid", drive(DIES, 16, 8, 1), 0.6);
    setup.scheme.options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    setup.precondition.fill = 1.0;
    setup.precondition.converge_within = 0.02;
    setup
}

/// An obsolete data page of every row that also has a current one, by row.
fn obsolete_members(session: &Session, grid: &Grid) -> BTreeMap<(u32, u32), Ppn> {
    let (mut obsolete, mut live) = (BTreeMap::new(), BTreeMap::new());
    for page in session.inventory().pages {
        let (block, number) = grid.split(page.ppn);
        let row = (grid.split_block(block).1.0, number);
        match page.slots[0] {
            (PageRole::Data(_), true) => live.insert(row, page.ppn),
            (PageRole::Data(_), false) => obsolete.insert(row, page.ppn),
            _ => None,
        };
    }
    obsolete.retain(|row, _| live.contains_key(row));
    obsolete
}

/// Loses obsolete pages, lets the host read for a while, and counts what each die's loss takes.
fn lost_after_obsolete_pages_went_bad(setup: &Setup) -> (usize, ssd::RunResult) {
    let mut session = Session::new(setup).unwrap();
    run(&mut session, &workload(3, setup.user_slots, 400, MIX), Pace::Closed { depth: 4 });
    let obsolete = obsolete_members(&session, &Grid::new(setup.drive.geometry));
    assert!(obsolete.len() > 20, "{} rows with obsolete and live pages", obsolete.len());
    for ppn in obsolete.into_values().step_by(2) {
        session.fail(Failure::Page(ppn));
    }
    let reads = Mix { reads: 1.0, discards: 0.0, flushes: 0.0, every: 500_000, ..MIX };
    let result = run(&mut session, &workload(4, setup.user_slots, 2_000, reads), Pace::Open);
    session.check_counts();
    let found = session.audit().expect("parity is sound");
    assert_eq!((found.broken, found.uncovered), (0, 0));
    let mut lost = 0;
    for die in (0..DIES as u16).map(DieId) {
        let mut fork = session.clone();
        fork.fail(Failure::Die(die));
        let found = fork.read_back();
        assert_eq!(found.wrong, None);
        lost += found.lost.len();
    }
    (lost, result)
}

#[test]
fn scrub_finds_obsolete_pages_that_cannot_be_read_before_a_die_is_lost() {
    let (without, result) = lost_after_obsolete_pages_went_bad(&ds_raid(&[]));
    assert_eq!((result.flash.reads["refresh"], result.flash.programs["refresh"]), (0, 0));
    assert!(without > 0, "nothing depended on the obsolete pages");
    // A second of reads; the drive has 128 rows.
    let (with, result) = lost_after_obsolete_pages_went_bad(&ds_raid(&[("scrub_rows_per_s", "1000")]));
    assert!(result.flash.reads["refresh"] > 0 && result.flash.programs["refresh"] > 0);
    assert_eq!(with, 0, "{without} pages are lost without scrub");
}

#[test]
fn blocks_bad_from_the_factory_and_blocks_that_go_bad_leave_rows_without_breaking_them() {
    let mut setup = ds_raid(&[]);
    setup.age.bad_blocks = 0.03;
    setup.user_slots = setup.user_slots * 3 / 4;
    let commands = workload(5, setup.user_slots, 300, MIX);
    let mut session = Session::new(&setup).unwrap();
    // One block of each die in turn, each in another superblock; what it held is rebuilt in between.
    for die in 0..DIES {
        session.fail(Failure::Block(BlockAddr(die * 16 + 2 * die + 1)));
        let result = run(&mut session, &commands, Pace::Closed { depth: 8 });
        assert_eq!((result.host.media_errors, result.host.write_errors), (0, 0), "die {die}");
        session.check_counts();
        let found = session.audit().unwrap_or_else(|what| panic!("die {die}: {what}"));
        assert!(found.sound > 20, "die {die}: {found:?}");
        let found = session.read_back();
        assert_eq!((found.wrong, &found.lost[..]), (None, &[][..]), "die {die}");
    }
}

/// An empty drive, and a write of this many logical pages.
fn empty() -> Setup {
    let mut setup = ds_raid(&[]);
    setup.precondition.fill = 0.0;
    setup
}

fn write(first: u64, pages: u32) -> HostCommand {
    HostCommand {
        at: SimTime(0),
        op: HostOp::Write(Fua::No),
        lba: Lba(first * 8),
        sectors: pages * 8,
        stream: StreamId::default(),
    }
}

/// Writes `pages` pages while the block that is to take their parity is bad, and a few more.
/// Whenever all that was asked for is answered, any other die may be lost. How often that was.
fn answered_while_unprotected(pages: u32) -> usize {
    let setup = empty();
    let grid = Grid::new(setup.drive.geometry);
    let mut session = Session::new(&setup).unwrap();
    session.fail(Failure::Block(grid.block(DieId(pages as u16), 0)));
    let mut unprotected = 0;
    for command in [write(0, pages), write(40, 2)] {
        let mut at_rest = 0;
        let result = session.run_stepwise(&mut [command].into_iter(), Pace::Closed { depth: 1 }, &mut |_, fork| {
            if fork().drain().host.requests["write"] > 0 {
                return;
            }
            at_rest += 1;
            for die in (0..DIES as u16).filter(|&die| die != pages as u16) {
                let mut fork = fork();
                fork.fail(Failure::Die(DieId(die)));
                let found = fork.read_back();
                assert_eq!(found.wrong, None, "{pages} pages, {die}");
                unprotected += found.lost.len();
            }
        });
        assert!(at_rest > 0 && result.host.requests["write"] == 1 && result.host.write_errors == 0);
    }
    session.check_counts();
    assert_eq!(session.audit().map(|found| found.uncovered), Ok(0));
    unprotected
}

#[test]
fn a_write_is_answered_only_when_a_parity_covers_it_though_the_first_went_to_a_bad_block() {
    // Up to four pages leave room in the row for another parity; five have to move.
    for pages in 1..DIES {
        assert_eq!(answered_while_unprotected(pages), 0, "{pages} pages");
    }
}

#[test]
fn any_parity_of_a_row_that_still_helps_is_used() {
    let setup = empty();
    let grid = Grid::new(setup.drive.geometry);
    let mut session = Session::new(&setup).unwrap();
    // Two data pages, the parity of these, two data pages, the parity of all four.
    run(&mut session, &[write(0, 2), write(2, 2)], Pace::Closed { depth: 1 });
    let row = |die: u32| grid.ppn(grid.block(DieId(die as u16), 0), 0);
    let roles: Vec<bool> = session.inventory().pages.iter().map(|page| matches!(page.slots[0].0, PageRole::Parity(_))).collect();
    assert_eq!(roles, [false, false, true, false, false, true]);
    let mut lost = [0; 1 << DIES];
    for set in 0..1_u32 << DIES {
        let mut fork = session.clone();
        (0..DIES).filter(|die| set >> die & 1 == 1).for_each(|die| fork.fail(Failure::Page(row(die))));
        let expected = beyond_repair(&fork, &setup);
        let found = fork.read_back();
        assert_eq!((found.wrong, &found.lost), (None, &expected), "pages {set:b}");
        lost[set as usize] = expected.len();
    }
    // The full parity and a page of the first; a page of each; one with the first parity; both
    // pages of the first and one that only the difference of the two has.
    assert_eq!([lost[0b10_0001], lost[0b00_1001], lost[0b00_0101], lost[0b00_1011]], [0, 0, 0, 2]);
    assert_eq!([lost[0b10_1000], lost[0b00_0011], lost[0b01_1000]], [1, 2, 2]);
}

#[test]
fn a_scrub_beyond_its_range_is_refused() {
    let error = Session::new(&ds_raid(&[("scrub_rows_per_s", "-1")])).err().expect("no negative pace").to_string();
    assert_eq!(error, "scheme ds-raid, scrub_rows_per_s: found `-1`, valid are 0 to 1000000");
}
