//! Promises of the block groups of Greenan et al. promise: parity that costs exactly its share, sums that leave the
//! cache in time, every loss within the code brought back, codes that change on the fly, a drive that grows.

use crate::common::{MIX, Mix, drive, read_all, run, setup, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::Place;
use ssd::protect::SchemeChoice;
use ssd::{Failure, Faults, Pace, PayloadKind, Session, Setup};
use vocab::{DieId, Fua, Grid, HostCommand, HostOp, Lba, Lpn, Ppn, SimTime, StreamId, Streams};

fn choice(options: &[(&str, &str)]) -> SchemeChoice {
    let options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    SchemeChoice { name: "mds-groups".into(), options }
}

/// As `common::setup`, with options of the scheme.
fn groups(options: &[(&str, &str)], drive: ssd::Drive, share: f64) -> Setup {
    setup_of(&choice(options), drive, share)
}

fn refused(options: &[(&str, &str)], drive: ssd::Drive) -> String {
    let scheme = choice(options);
    let plain = setup("none", drive, 0.1);
    Session::new(&Setup { scheme, ..plain }).err().expect("refused").to_string()
}

fn write(lpn: u64) -> HostCommand {
    HostCommand { at: SimTime(0), op: HostOp::Write(Fua::No), lba: Lba(lpn * 8), sectors: 8, stream: StreamId::default() }
}

fn write_all(setup: &Setup, from: u32, count: u32) -> Vec<HostCommand> {
    (from..from + count).map(|n| write(u64::from(n % setup.user_slots))).collect()
}

const SERIAL: Pace = Pace::Closed { depth: 1 };

/// Reads everything; no media errors, and nothing wrong.
fn assert_intact(name: &str, session: &mut Session, setup: &Setup) -> ssd::RunResult {
    let after = session.run(&mut read_all(setup.user_slots), Pace::Closed { depth: 8 }, &mut |_| {});
    assert_eq!((session.first_mismatch(), after.host.media_errors), (None, 0), "{name}");
    assert!(after.oracle.checked_reads >= u64::from(setup.user_slots), "{name}");
    session.check_counts();
    after
}

fn place_of(session: &Session, lpn: u32) -> Ppn {
    let Place::At(slot) = session.inventory().places[lpn as usize] else { panic!("lpn{lpn} is not in flash") };
    Ppn(slot.0)
}

#[test]
fn parity_pages_per_data_page_are_exactly_m_of_k_and_one_of_63() {
    // Table 1 of the paper, and Figure 3: k, m, block code, dies; pages of a group.
    for (k, m, block, dies) in
        [("7", "1", "no", 8), ("6", "2", "no", 8), ("7", "1", "yes", 8), ("2", "1", "no", 12), ("2", "2", "yes", 8)]
    {
        let setup = groups(&[("k", k), ("m", m), ("block_parity", block)], drive(dies, 24, 64, 1), 0.9);
        let (k, m, block): (u64, u64, u64) = (k.parse().unwrap(), m.parse().unwrap(), u64::from(block == "yes"));
        let data = u64::from(dies) * k / (k + m) * (64 - block);
        let whole = 3 * data;
        let mut session = Session::new(&setup).unwrap();
        let result = run(&mut session, &write_all(&setup, 0, whole as u32), Pace::Closed { depth: 32 });
        let stats = session.group_stats();
        assert_eq!((stats.opened, stats.data_pages), (3, whole));
        assert_eq!(stats.block_parity_pages * 63, whole * block);
        // Block parities are data to the code across dies.
        assert_eq!(stats.parity_pages * k, (whole + stats.block_parity_pages) * m, "k {k}, m {m}");
        assert_eq!(result.flash.programs["parity"], stats.parity_pages + stats.block_parity_pages);
        assert_eq!((result.flash.padded_slots, result.flash.reads.values().sum::<u64>()), (0, 0), "nothing padded, nothing read");
        let share = ssd::capacity_overhead(&setup.drive, &setup.scheme).unwrap();
        assert!((share - (1.0 - data as f64 / f64::from(dies * 64))).abs() < 1e-12);
        if (k, m, block) == (7, 1, 1) {
            // The paper prints 85.9 %, which counts the corner page twice.
            assert_eq!(1.0 - share, 441.0 / 512.0);
        }
        assert_intact("whole groups", &mut session, &setup);
    }
}

#[test]
fn sums_stay_in_the_cache_no_longer_than_the_paper_says() {
    // Figure 3 with the 63 + 1 code: 62 * 8 + 1 = 497 page writes (the paper prints 435).
    let stats = |block, stride, depth| {
        let options = [("k", "2"), ("m", "1"), ("block_parity", block), ("stride", stride), ("rotate", "none")];
        let setup = groups(&options, drive(12, 24, 64, 1), 0.9);
        let mut session = Session::new(&setup).unwrap();
        run(&mut session, &write_all(&setup, 0, 2 * 63 * 8), Pace::Closed { depth });
        session.group_stats()
    };
    for stride in ["1", "4"] {
        for depth in [1, 2, 7, 32, 500] {
            let stats = stats("yes", stride, depth);
            assert_eq!(stats.longest_block_residence, 497, "depth {depth}, stride {stride}");
            assert!(stats.longest_parity_residence <= 497, "{stats:?}, depth {depth}, stride {stride}");
        }
    }
    // Section 3.5: "until the 5-th write", and "hastily flushed" with a stride of 4. One write at
    // a time: each is in flash before the next.
    assert_eq!(stats("no", "1", 1).longest_parity_residence, 5);
    assert_eq!(stats("no", "4", 1).longest_parity_residence, 2);
}

#[test]
fn the_least_cache_is_enough_and_one_page_less_is_refused() {
    let drive = || drive(12, 24, 16, 1);
    let mix = Mix { max_pages: 4, ..MIX };
    for (block, least) in [("no", 8u32), ("yes", 2 * (4 + 8 + 4))] {
        let options = |cache: &'static str| vec![("k", "2"), ("block_parity", block), ("parity_cache", cache)];
        let (enough, less) = if block == "no" { ("8", "7") } else { ("32", "31") };
        assert_eq!(enough.parse(), Ok(least));
        let said = refused(&options(less), drive());
        assert!(said.contains("parity_cache") && said.contains(&format!("valid are {least} and more")), "{said}");
        let mut setup = groups(&options(enough), drive(), 0.9);
        (setup.precondition.fill, setup.precondition.converge_within) = (0.9, 0.05);
        let mut session = Session::new(&setup).unwrap();
        let result = run(&mut session, &workload(3, setup.user_slots, 6_000, mix), Pace::Closed { depth: 32 });
        let stats = session.group_stats();
        assert!(result.flash.erases["gc"] > 0 && stats.most_held <= least && stats.most_held > least / 2, "{stats:?}");
        assert_eq!((result.host.write_errors, result.host.media_errors), (0, 0));
        assert_intact("least cache", &mut session, &setup);
    }
}

/// Kills `dies` at a moment of a workload with GC and discards; nothing may be lost.
fn kill(name: &str, setup: &Setup, dies: &[u16], at: usize, seed: u64) -> u64 {
    let commands = workload(seed, setup.user_slots, 2_500, MIX);
    let mut session = Session::new(setup).unwrap();
    let before = run(&mut session, &commands[..at], Pace::Closed { depth: 8 });
    dies.iter().for_each(|&die| session.fail(Failure::Die(DieId(die))));
    // Read at once, open stripes and all, then go on.
    let name = format!("{name}, dies {dies:?} dead at {at}");
    let first = assert_intact(&name, &mut session, setup);
    let after = run(&mut session, &commands[at..], Pace::Closed { depth: 8 });
    assert_eq!((before.host.write_errors, after.host.write_errors, after.host.media_errors), (0, 0, 0), "{name}");
    assert!(at < 1_000 || before.flash.erases["gc"] > 0, "{name}: no GC");
    session.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
    let last = assert_intact(&name, &mut session, setup);
    first.redundancy.rebuilt_reads + last.redundancy.rebuilt_reads
}

#[test]
fn every_die_may_be_lost_at_any_moment() {
    let mut rebuilt = 0;
    for (k, dies) in [("auto", 5), ("3", 8), ("1", 6)] {
        for block in ["no", "yes"] {
            for rotate in ["group", "none"] {
                let options = [("k", k), ("block_parity", block), ("rotate", rotate)];
                let setup = groups(&options, drive(dies, 20, 8, 1), 0.55);
                for die in 0..dies as u16 {
                    for at in [0, 700, 1_813] {
                        rebuilt += kill(&format!("k {k}, block {block}"), &setup, &[die], at, 1 + u64::from(die));
                    }
                }
            }
        }
    }
    assert!(rebuilt > 1_000);
}

#[test]
fn every_pair_of_dies_may_be_lost_with_two_parities() {
    // Of five dies three are left, of three data pages in a stripe one: room for a third.
    for (k, dies, slots, payload, share) in
        [("auto", 6, 1, PayloadKind::Tag, 0.45), ("2", 8, 1, PayloadKind::Page, 0.45), ("auto", 5, 4, PayloadKind::Tag, 0.2)]
    {
        for block in ["no", "yes"] {
            let base = groups(&[("k", k), ("m", "2"), ("block_parity", block)], drive(dies, 20, 8, slots), share);
            let setup = Setup { payload, ..base };
            for a in 0..dies as u16 {
                for b in 0..a {
                    let at = [0, 450, 1_501][usize::from(a + b) % 3];
                    kill(&format!("k {k}, m 2, block {block}, x{slots}"), &setup, &[a, b], at, u64::from(7 * a + b));
                }
            }
        }
    }
}

#[test]
fn tags_and_pages_make_the_same_events_with_scaled_sums() {
    let digest = |payload| {
        let base = groups(&[("m", "3"), ("block_parity", "yes")], drive(7, 20, 8, 1), 0.6);
        let faults = Faults { uncorrectable_reads: 0.02, dead_die: Some(3), dead_die_at_request: 900, ..Faults::default() };
        let setup = Setup { payload, faults, ..base };
        let mut session = Session::new(&setup).unwrap();
        let result = run(&mut session, &workload(5, setup.user_slots, 2_000, MIX), Pace::Open);
        assert!(session.first_mismatch().is_none() && result.flash.reads["rebuild"] > 0);
        (result.replay.event_digest, result.host.media_errors)
    };
    let tags = digest(PayloadKind::Tag);
    assert_eq!((digest(PayloadKind::None), digest(PayloadKind::Page)), (tags, tags));
    assert_eq!(tags.1, 0, "three parities and a block code: no loss of this kind is one");
}

/// Pages that the product code brings back are all read; the others answer with an error, and
/// nothing is ever wrong. A graph without cycles can be peeled, any other cannot.
#[test]
fn the_product_code_brings_back_any_pages_without_a_cycle() {
    let (dies, pages) = (4, 6);
    let setup = groups(&[("block_parity", "yes"), ("rotate", "none")], drive(dies, 12, pages, 1), 0.5);
    let mut fresh = Session::new(&setup).unwrap();
    run(&mut fresh, &write_all(&setup, 0, setup.user_slots), SERIAL);
    let grid = Grid::new(setup.drive.geometry);
    let (group, mut draws) = (grid.split_block(grid.split(place_of(&fresh, 0)).0).1, Streams::new(1).stream("test/losses"));
    let (mut peeled, mut beyond) = (0, 0);
    for _ in 0..300 {
        let mut session = fresh.clone();
        let count = 2 + draws.below(9) as usize;
        let mut cells: Vec<(u32, u32)> = Vec::new();
        while cells.len() < count {
            let cell = (draws.below(u64::from(pages)) as u32, draws.below(u64::from(dies)) as u32);
            if !cells.contains(&cell) {
                cells.push(cell);
                session.fail(Failure::Page(grid.ppn(grid.block(DieId(cell.1 as u16), group.0), cell.0)));
            }
        }
        let is_data = |&&(page, die): &&(u32, u32)| page + 1 < pages && die + 1 < dies;
        let stuck = stopping_set(&cells);
        let lost_data = stuck.iter().filter(is_data).count();
        let found = session.read_back();
        assert_eq!((found.wrong, found.lost.len()), (None, lost_data), "{cells:?}");
        peeled += u32::from(stuck.is_empty());
        beyond += u32::from(lost_data > 0);
    }
    assert!(peeled > 30 && beyond > 30, "{peeled} peeled, {beyond} beyond repair");
}

/// Cells that are left when every cell alone in its row or column has been removed, again and
/// again.
fn stopping_set(cells: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut left = cells.to_vec();
    loop {
        let before = left.clone();
        left.retain(|cell| {
            let same = |f: fn(&(u32, u32)) -> u32| before.iter().filter(|other| f(other) == f(cell)).count();
            same(|c| c.0) > 1 && same(|c| c.1) > 1
        });
        if left.len() == before.len() {
            return left;
        }
    }
}

#[test]
fn a_die_and_a_page_of_another_are_brought_back_row_by_row_and_through_the_block() {
    let setup = groups(&[("block_parity", "yes")], drive(6, 14, 8, 1), 0.6);
    let mut fresh = Session::new(&setup).unwrap();
    // Whole groups only: an open one has no block parity yet, but its sums.
    run(&mut fresh, &write_all(&setup, 0, setup.user_slots / 35 * 35), SERIAL);
    for lpn in (0..setup.user_slots / 35 * 35).step_by(11) {
        for die in 0..6 {
            let mut session = fresh.clone();
            session.fail(Failure::Page(place_of(&session, lpn)));
            session.fail(Failure::Die(DieId(die)));
            assert_intact(&format!("lpn{lpn} and die {die}"), &mut session, &setup);
        }
    }
}

#[test]
fn pages_of_an_open_group_come_back_from_the_held_sums() {
    let setup = groups(&[("block_parity", "yes"), ("k", "2")], drive(6, 14, 8, 1), 0.6);
    for written in 2..80 {
        let mut session = Session::new(&setup).unwrap();
        run(&mut session, &write_all(&setup, 0, written), SERIAL);
        for lpn in [0, written / 2, written - 1] {
            // One page through the sums across dies. Two of a codeword, which are written one
            // after the other, through the sums of their blocks.
            let mut lost = vec![lpn];
            for _ in 0..2 {
                let mut fork = session.clone();
                lost.iter().for_each(|&lpn| fork.fail(Failure::Page(place_of(&session, lpn))));
                let found = fork.read_back();
                assert_eq!((found.wrong, found.lost), (None, vec![]), "{written} written, {lost:?} lost");
                lost.extend(Some(lpn ^ 1).filter(|mate| *mate < written));
            }
            let mut fork = session.clone();
            fork.fail(Failure::Die(DieId((written % 6) as u16)));
            let found = fork.read_back();
            assert_eq!((found.wrong, found.lost), (None, vec![]), "{written} written, a die lost");
        }
    }
}

#[test]
fn a_block_code_needs_blocks_of_two_pages() {
    let said = refused(&[("block_parity", "yes")], drive(6, 24, 1, 1));
    assert!(said.contains("block_parity") && said.contains("valid are 2 and more"), "{said}");
}

#[test]
fn nothing_is_padded_for_an_idle_drive_or_a_flush() {
    let setup = groups(&[], drive(6, 16, 8, 1), 0.6);
    let mut session = Session::new(&setup).unwrap();
    let flush = HostCommand { op: HostOp::Flush, sectors: 0, ..write(0) };
    for lpn in 0..3 {
        let result = run(&mut session, &[write(lpn), flush], SERIAL);
        assert_eq!((result.flash.programs["host"], result.flash.programs["parity"], result.flash.padded_slots), (1, 0, 0));
    }
    let result = run(&mut session, &[write(3), write(4)], SERIAL);
    assert_eq!((result.flash.programs["host"], result.flash.programs["parity"]), (2, 1));
    assert_eq!(session.audit().map(|found| (found.broken, found.uncovered)), Ok((0, 0)));
    let lost: Vec<Lpn> = session.read_back().lost;
    assert!(lost.is_empty());
}
