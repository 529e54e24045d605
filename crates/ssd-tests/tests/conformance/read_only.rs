//! The end of life: blocks wear out one after the other until the drive is read-only. It says so, refuses
//! what it cannot do, and everything that it acknowledged can still be read, also after a power cut.

use crate::common::{MIX, Mix, check_all, schemes, seeds, setup_with_spare, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{BufferKind, Failure, Pace, Power, Session, Setup};
use vocab::{BlockAddr, HostCommand, Streams};

const WRITES: Mix = Mix { reads: 0.1, discards: 0.03, max_pages: 4, every: 100_000, ..MIX };
const PACE: Pace = Pace::Closed { depth: 4 };

fn small(scheme: &SchemeChoice, buffer: BufferKind, seed: u64) -> Setup {
    setup_with_spare(scheme, buffer, 0.7, Power { mountable: true, ..Power::default() }, seed)
}

fn replay(session: &mut Session, commands: &[HostCommand]) -> ssd::RunResult {
    session.run(&mut commands.iter().copied(), PACE, &mut |_| {})
}

/// Wears out block after block, all dies in turn at random, until the drive is read-only; how many.
fn wear(session: &mut Session, setup: &Setup, name: &str) -> u32 {
    let mut draws = Streams::new(setup.seed).stream("test/wear");
    let mut blocks: Vec<u32> = (0..setup.drive.geometry.blocks()).collect();
    for worn in 0.. {
        let commands = workload(setup.seed * 1000 + u64::from(worn), setup.user_slots, 60, WRITES);
        let result = replay(session, &commands);
        check_all(session, &format!("{name}, {worn} blocks worn out"));
        assert_eq!(result.host.read_only_s.is_some(), session.read_only_since().is_some(), "{name}");
        // Pages in the buffer may find no room after the last answer: then nothing is left to be refused.
        let in_time = result.host.read_only_s.is_some_and(|since| since <= result.replay.simulated_s);
        assert_eq!(in_time, result.host.write_errors + result.host.refused_requests > 0, "{name}: {result:?}");
        if session.read_only_since().is_some() {
            return worn;
        }
        assert!(!blocks.is_empty(), "{name}: all blocks are worn out and the drive takes writes");
        let block = blocks.swap_remove(draws.below(blocks.len() as u64) as usize);
        session.fail(Failure::WornOut(BlockAddr(block)));
    }
    unreachable!("the loop returns")
}

#[test]
fn a_drive_whose_blocks_wear_out_turns_read_only_and_keeps_what_it_has() {
    for seed in seeds(2) {
        for choice in schemes() {
            for buffer in [BufferKind::Off, BufferKind::Plp, BufferKind::Volatile] {
                let again = format!("FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance read_only::");
                let name = format!("{choice}, buffer {buffer:?}; repeat with: {again}");
                let setup = small(&choice, buffer, seed);
                let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
                let worn = wear(&mut session, &setup, &name);
                assert!(worn > 0, "{name}: read-only though nothing was lost");
                let since = session.read_only_since();
                let commands = workload(seed, setup.user_slots, 200, WRITES);
                let count = |result: &ssd::RunResult| result.host.requests["write"] + result.host.requests["discard"];
                let result = replay(&mut session, &commands);
                assert!(count(&result) > 0 && result.host.refused_requests >= count(&result), "{name}: {result:?}");
                assert_eq!((result.host.read_only_s, result.host.write_errors), (Some(0.0), 0), "{name}");
                check_all(&mut session, &name);
                // The state outlives the power.
                assert!(session.begun().is_empty(), "{name}: at rest");
                assert!(session.cut_power(&[]).read_only, "{name}");
                assert_eq!(session.read_only_since(), since, "{name}");
                let result = replay(&mut session, &commands);
                assert!(result.host.refused_requests >= count(&result), "{name}: {result:?}");
                check_all(&mut session, &format!("{name}, after a cut"));
            }
        }
    }
}

#[test]
fn a_drive_that_lost_nothing_is_never_read_only() {
    for choice in schemes() {
        let setup = small(&choice, BufferKind::Off, 1);
        let mut session = Session::new(&setup).expect("a small drive");
        let result = replay(&mut session, &workload(1, setup.user_slots, 2_000, WRITES));
        assert_eq!(
            (session.read_only_since(), result.host.read_only_s, result.host.refused_requests),
            (None, None, 0),
            "{choice}"
        );
    }
}
