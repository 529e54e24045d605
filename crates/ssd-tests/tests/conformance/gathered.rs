//! Drives that program all planes and bits of a word line together, gathered in PLP memory (decision 13): every scheme.

use crate::common::{MIX, Mix, again, buffers, check_all, drive, promise, prove, run, schemes, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::nand::{Pairing, ProgramUnit};
use ssd::{Drive, Failure, Pace, Scheduler, Session, Setup};
use vocab::{BlockAddr, DieId, Nanos};

const UNIT: ProgramUnit = ProgramUnit { planes: 2, plane_pages: 2, bits: 2 };

/// Five dies with blocks of two word lines, 16 pages; programs and erases give way to reads, and reads are sensed ahead.
fn gathered() -> Drive {
    let mut drive = drive(5, 14, 16, 1);
    drive.timing.unit = Some(UNIT);
    drive.timing.suspend = Some(Nanos(20_000));
    drive.timing.cache_read = Some(Nanos(300));
    drive.timing.independent_planes = true;
    drive
}

/// Catches a scheme that refuses such a drive, reads something wrong on it, pads programs that others could fill, or whose waits
/// do not add up where commands are suspended (the engine asserts that of every request that is explained).
#[test]
fn every_scheme_runs_where_pages_are_programmed_together() {
    const TEST: &str = "every_scheme_runs_where_pages_are_programmed_together";
    for seed in seeds(1) {
        for (index, choice) in schemes().enumerate() {
            let (kind, buffer) = buffers()[index % 3];
            let base = setup_of(&choice, gathered(), 0.75);
            let precondition = ssd::Precondition { fill: 1.0, ..base.precondition };
            let setup = Setup { buffer, seed, precondition, scheduler: Scheduler::ReadFirst, ..base };
            let name = format!("{choice}, {kind}; {}", again(TEST, seed));
            let commands = workload(seed, setup.user_slots, 2_000, MIX);
            let (result, after) = prove(&name, &setup, &commands, Pace::Closed { depth: 16 });
            assert!(result.flash.erases["gc"] > 0, "{name}: the workload must cause GC");
            assert_eq!((result.host.media_errors, result.host.write_errors, after.host.media_errors), (0, 0, 0), "{name}");
            let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
            session.run_explained(&mut commands.iter().copied(), Pace::Open, &mut |_| {}, None);
            check_all(&mut session, &name);
        }
    }
}

/// All pages of a word line are lost together, on each die in turn; then a block, then a die.
#[test]
fn whoever_survives_a_die_survives_its_word_lines() {
    const TEST: &str = "whoever_survives_a_die_survives_its_word_lines";
    for seed in seeds(1) {
        for choice in schemes().filter(|choice| promise(choice, &gathered()) > 0) {
            let base = setup_of(&choice, gathered(), 0.5);
            let power = ssd::Power { pairing: Pairing::Adjacent { bits: UNIT.pages() }, hold_up: true, ..base.power };
            let setup = Setup { seed, power, precondition: ssd::Precondition { fill: 0.9, ..base.precondition }, ..base };
            let name = format!("{choice}; {}", again(TEST, seed));
            let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
            let commands = workload(seed, setup.user_slots, 900, Mix { max_pages: 20, ..MIX });
            for (round, part) in commands.chunks(150).enumerate() {
                run(&mut session, part, Pace::Closed { depth: 8 });
                // A word line of each block of one die, on a fork for each, and the other word lines of the die at the end.
                for block in (0..14).map(|block| BlockAddr((round as u32 % 5) * 14 + block)) {
                    let mut struck = session.clone();
                    struck.fail(Failure::WordLine(vocab::Ppn(block.0 * 16)));
                    check_all(&mut struck, &format!("{name}, word line of block {}", block.0));
                }
            }
            let mut struck = session.clone();
            (0..28).for_each(|line| struck.fail(Failure::WordLine(vocab::Ppn((2 * 14 * 2 + line) * 8))));
            check_all(&mut struck, &format!("{name}, all word lines of die 2"));
            session.fail(Failure::Die(DieId(3)));
            check_all(&mut session, &format!("{name}, a die"));
        }
    }
}

/// The block that a die is writing wears out in the middle of a word line: its program fails when the last page comes, and none of
/// its pages is in cells. Those that were acknowledged before are in memory, also over power cuts, until they have another place.
/// Catches a scheme that loses one of them, or leaves one there.
#[test]
fn a_failed_program_takes_its_unit_and_loses_nothing() {
    const TEST: &str = "a_failed_program_takes_its_unit_and_loses_nothing";
    for seed in seeds(1) {
        for mut choice in schemes() {
            if choice.name.starts_with("code-zones") {
                choice.options.insert("spare_blocks".into(), "4".into());
            }
            let base = setup_of(&choice, gathered(), 0.4);
            let power =
                ssd::Power { mountable: true, pairing: Pairing::Adjacent { bits: UNIT.pages() }, hold_up: true, ..base.power };
            let setup = Setup { seed, power, precondition: ssd::Precondition { fill: 0.5, ..base.precondition }, ..base };
            let name = format!("{choice}; {}", again(TEST, seed));
            let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
            let commands = workload(seed, setup.user_slots, 240, MIX);
            let mut struck = Vec::new();
            for part in commands.chunks(80) {
                run(&mut session, part, Pace::Closed { depth: 8 });
                if let Some(block) = half_gathered(&session, &struck) {
                    session.fail(Failure::WornOut(block));
                    struck.push(block);
                }
                run(&mut session, &workload(seed + 1, setup.user_slots, 60, MIX), Pace::Closed { depth: 8 });
                let mut cut = session.clone();
                cut.cut_power(&[]);
                check_all(&mut cut, &format!("{name}, a cut, worn out: {struck:?}"));
            }
            assert!(!struck.is_empty(), "{name}: no word line was half gathered");
            // Every open block takes the rest of its word line.
            run(&mut session, &workload(seed + 2, setup.user_slots, 400, Mix { reads: 0.0, ..MIX }), Pace::Closed { depth: 8 });
            check_all(&mut session, &format!("{name}, worn out: {struck:?}"));
            let stays =
                |page: &ssd::StoredPage| struck.contains(&BlockAddr(page.ppn.0 / 16)) && page.slots.iter().any(|slot| slot.1);
            let left: Vec<_> = session.inventory().pages.into_iter().filter(stays).map(|page| page.ppn).collect();
            assert!(left.is_empty(), "{name}: {left:?} have no other place");
        }
    }
}

/// A block some pages of whose last word line are gathered, of a die that was not struck yet.
fn half_gathered(session: &Session, struck: &[BlockAddr]) -> Option<BlockAddr> {
    let mut pages = std::collections::BTreeMap::<u32, u32>::new();
    session.inventory().pages.iter().for_each(|page| *pages.entry(page.ppn.0 / 16).or_default() += 1);
    let is_open = |(block, pages): &(&u32, &u32)| **pages % UNIT.pages() > 0 && struck.iter().all(|other| other.0 != **block);
    pages.iter().find(is_open).map(|(&block, _)| BlockAddr(block))
}

fn mds_groups(block_parity: &str) -> ssd::protect::SchemeChoice {
    let mut choice = ssd::protect::SchemeChoice::named("mds-groups");
    choice.options.insert("block_parity".into(), block_parity.into());
    choice
}

/// Blocks of four word lines of eight pages each.
fn four_word_lines() -> Drive {
    let mut drive = drive(5, 14, 32, 1);
    drive.timing.unit = Some(UNIT);
    drive
}

/// Two dies of a codeword lose the same word line, one more than the parity across dies can restore. Sums of blocks restore
/// both, for every word line of a block, because each page of a word line is in a sum of its own. Catches a sum that two pages of a word line are in.
#[test]
fn sums_by_word_line_bring_back_word_lines_within_their_die() {
    const TEST: &str = "sums_by_word_line_bring_back_word_lines_within_their_die";
    let lost = |block_parity: &str, seed: u64| {
        let base = setup_of(&mds_groups(block_parity), four_word_lines(), 0.6);
        let power = ssd::Power { pairing: Pairing::Adjacent { bits: UNIT.pages() }, hold_up: true, ..base.power };
        let setup = Setup { seed, power, precondition: ssd::Precondition { fill: 1.0, ..base.precondition }, ..base };
        let name = format!("block_parity {block_parity}; {}", again(TEST, seed));
        let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
        run(&mut session, &workload(seed, setup.user_slots, 600, Mix { max_pages: 20, ..MIX }), Pace::Closed { depth: 8 });
        session.drain();
        let mut lost = 0;
        for line in 0..14 * 4 {
            let mut struck = session.clone();
            [1, 3].iter().for_each(|die| struck.fail(Failure::WordLine(vocab::Ppn((die * 14 * 4 + line) * UNIT.pages()))));
            let found = struck.read_back();
            assert_eq!((found.wrong, found.stuck), (None, false), "{name}, word line {line}");
            lost += found.lost.len();
            if block_parity == "word-line" {
                check_all(&mut struck, &format!("{name}, word line {line}"));
            }
        }
        lost
    };
    for seed in seeds(1) {
        assert_eq!(lost("word-line", seed), 0);
        assert!(lost("yes", seed) > 0 && lost("no", seed) > 0, "one page of a block, or none, is all that these bring back");
    }
}

/// A die in five is parity across dies, and a word line in four within each: what is left is 4/5 of 3/4 of the pages.
#[test]
fn sums_by_word_line_take_a_word_line_of_each_block() {
    let share = |block_parity| ssd::capacity_overhead(&four_word_lines(), &mds_groups(block_parity)).expect("a valid drive");
    let of = |left: f64| 1.0 - left;
    assert!((share("word-line") - of(4.0 / 5.0 * 3.0 / 4.0)).abs() < 1e-12, "{}", share("word-line"));
    assert!((share("yes") - of(4.0 / 5.0 * 31.0 / 32.0)).abs() < 1e-12, "{}", share("yes"));
    let slots = |block_parity| ssd::user_slots_max(&four_word_lines(), &mds_groups(block_parity), &ssd::ftl::GcConfig::default());
    // Groups of 4 data pages by 24 rows; 4 groups are held back, and a page of play.
    assert_eq!(slots("word-line").expect("a valid drive"), (14 - 4) * 4 * 24 - 1);
    let refused = Session::new(&setup_of_one_line()).err().expect("refused").to_string();
    assert!(refused.contains("block_parity: blocks have 8 pages, valid are 16 and more"), "{refused}");
}

fn setup_of_one_line() -> Setup {
    let base = setup_of(&mds_groups("word-line"), four_word_lines(), 0.5);
    let mut drive = drive(5, 14, 8, 1);
    drive.timing.unit = Some(UNIT);
    Setup { drive, ..base }
}

/// The power is cut again and again, the drive mounted, and all parities are computed again. Catches sums by word line that a cut
/// leaves with pages that are not in flash, and a mount that takes them for sums of whole blocks.
#[test]
fn sums_by_word_line_survive_power_cuts() {
    const TEST: &str = "sums_by_word_line_survive_power_cuts";
    for seed in seeds(2) {
        let base = setup_of(&mds_groups("word-line"), four_word_lines(), 0.5);
        let power =
            ssd::Power { mountable: true, pairing: Pairing::Adjacent { bits: UNIT.pages() }, hold_up: true, ..base.power };
        let setup = Setup { seed, power, precondition: ssd::Precondition { fill: 0.7, ..base.precondition }, ..base };
        let name = again(TEST, seed);
        let mut draws = vocab::Streams::new(seed).stream("test/cuts");
        let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
        for number in 0..8 {
            let commands = workload(seed * 1000 + number, setup.user_slots, 150, Mix { max_pages: 20, ..MIX });
            let stop = draws.below(1500);
            session.run_until(&mut commands.iter().copied(), Pace::Closed { depth: 4 }, &mut |event| event < stop);
            let fates: Vec<ssd::Fate> = session.begun().into_iter().map(|begun| begun.draw(&mut draws)).collect();
            session.cut_power(&fates);
            check_all(&mut session, &format!("{name}, cut {number}"));
        }
        let mut struck = session.clone();
        [0, 2].iter().for_each(|die| struck.fail(Failure::WordLine(vocab::Ppn(die * 14 * 32 + 5 * 32))));
        check_all(&mut struck, &format!("{name}, word lines of two dies"));
    }
}
