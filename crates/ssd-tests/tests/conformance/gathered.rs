//! Drives that program all planes and bits of a word line together, gathered behind capacitors (decision 13): every scheme.

use crate::common::{MIX, Mix, again, buffers, check_all, drive, promise, prove, run, schemes, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::nand::{Pairing, ProgramUnit};
use ssd::{Drive, Failure, Pace, Scheduler, Session, Setup};
use vocab::{BlockAddr, DieId, Nanos};

const UNIT: ProgramUnit = ProgramUnit { planes: 2, plane_pages: 2, bits: 2 };

/// Five dies with blocks of two word lines, 16 pages; programs and erases give way to reads.
fn gathered() -> Drive {
    let mut drive = drive(5, 14, 16, 1);
    drive.timing.unit = Some(UNIT);
    drive.timing.suspend = Some(Nanos(20_000));
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
            assert!(result.flash.erases["gc"] > 0, "{name}: the workload must cause collection");
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
