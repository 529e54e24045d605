//! What DS-RAID owes its rows beyond the paper: patrol reads of obsolete members (I9), and bad
//! blocks that leave rows without breaking them (I11).

mod common;

use common::{MIX, Mix, drive, run, setup, workload};
use flashkeep_ssd as ssd;
use ssd::nand::PageRole;
use ssd::{Failure, Pace, Session, Setup};
use std::collections::BTreeMap;
use vocab::{BlockAddr, DieId, Grid, Ppn};

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
    let found = session.scrub().expect("parity is sound");
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
fn patrol_finds_obsolete_pages_that_cannot_be_read_before_a_die_is_lost() {
    let (without, result) = lost_after_obsolete_pages_went_bad(&ds_raid(&[]));
    assert_eq!((result.flash_reads["refresh"], result.flash_programs["refresh"]), (0, 0));
    assert!(without > 0, "nothing depended on the obsolete pages");
    // A second of reads; the drive has 128 rows.
    let (with, result) = lost_after_obsolete_pages_went_bad(&ds_raid(&[("patrol_rows_per_s", "1000")]));
    assert!(result.flash_reads["refresh"] > 0 && result.flash_programs["refresh"] > 0);
    assert_eq!(with, 0, "{without} pages are lost without patrol");
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
        assert_eq!((result.media_errors, result.write_errors), (0, 0), "die {die}");
        session.check_counts();
        let found = session.scrub().unwrap_or_else(|what| panic!("die {die}: {what}"));
        assert!(found.sound > 20, "die {die}: {found:?}");
        let found = session.read_back();
        assert_eq!((found.wrong, &found.lost[..]), (None, &[][..]), "die {die}");
    }
}

#[test]
fn a_patrol_beyond_its_range_is_refused() {
    let error = Session::new(&ds_raid(&[("patrol_rows_per_s", "-1")])).err().expect("no negative pace").to_string();
    assert_eq!(error, "scheme ds-raid, patrol_rows_per_s: found `-1`, valid are 0 to 1000000");
}
