//! Losses by a cut besides power, and wrong data that flash reports as good: the drive notices, and nothing wrong is
//! read.

use crate::common::{MIX, Mix, check_all, promise, schemes, seeds, setup_with_spare, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{BufferKind, MemoryLoss, Outage, Pace, Power, SafetyRule, Session, Setup};
use vocab::Streams;

const WRITES: Mix = Mix { reads: 0.3, discards: 0.03, max_pages: 4, every: 100_000, ..MIX };
const PACE: Pace = Pace::Closed { depth: 4 };

fn small(scheme: &SchemeChoice, buffer: BufferKind, seed: u64) -> Setup {
    setup_with_spare(scheme, buffer, 0.6, Power { mountable: true, checkpoint: true, ..Power::default() }, seed)
}

/// Works for a while, loses power and more in the middle of it, recovers and works on, three times.
fn survive(setup: &Setup, outage: Outage, name: &str) {
    let mut draws = Streams::new(setup.seed).stream("test/outages");
    let mut session = Session::new(setup).unwrap_or_else(|error| panic!("{name}: {error}"));
    for round in 0..3 {
        let commands = workload(setup.seed * 10 + round, setup.user_slots, 60, WRITES);
        let stop = 20 + draws.below(200);
        session.run_until(&mut commands.iter().copied(), PACE, &mut |event| event < stop);
        let fates: Vec<_> = session.begun().into_iter().map(|begun| begun.draw(&mut draws)).collect();
        let mounted = session.cut_power_with(&fates, outage);
        assert_eq!(mounted.lost, outage.memory, "{name}: the mount says what is gone");
        if outage.memory.buffer && setup.buffer.kind == BufferKind::Plp {
            let buffered = session.inventory().elsewhere.iter().filter(|&&elsewhere| elsewhere).count();
            assert_eq!(buffered, 0, "{name}: the buffer comes back empty");
        }
        session.run(&mut commands.into_iter(), PACE, &mut |_| {});
        check_all(&mut session, &format!("{name}, round {round}"));
    }
}

#[test]
fn lost_memory_is_noticed_and_flash_keeps_what_it_had() {
    let none = MemoryLoss::default();
    let losses = [
        MemoryLoss { buffer: true, ..none },
        MemoryLoss { sums: true, ..none },
        MemoryLoss { reads: true, ..none },
        MemoryLoss { checkpoint: true, ..none },
        MemoryLoss::ALL,
    ];
    for seed in seeds(3) {
        for choice in schemes() {
            for (memory, buffer) in losses.into_iter().zip([BufferKind::Plp, BufferKind::Off].into_iter().cycle()) {
                let again = format!("FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance outages::");
                let name = format!("{choice}, {memory:?}, buffer {buffer:?}; repeat with: {again}");
                survive(&small(&choice, buffer, seed), Outage { memory, ..Outage::default() }, &name);
            }
        }
    }
}

#[test]
fn a_clock_that_jumps_loses_nothing() {
    const YEAR: i64 = 31_557_600_000_000_000;
    for seed in seeds(2) {
        for choice in schemes() {
            for clock_jump in [YEAR, -YEAR, 2_000_000_000, -2_000_000_000] {
                let again = format!("FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance outages::");
                let name = format!("{choice}, the clock jumps by {clock_jump} ns; repeat with: {again}");
                survive(&small(&choice, BufferKind::Off, seed), Outage { clock_jump, ..Outage::default() }, &name);
            }
        }
    }
}

/// Reads at random; how many gave another page, how many were solved for, and the first wrong one.
fn misread(choice: &SchemeChoice, without: Option<SafetyRule>, seed: u64) -> (u64, u64, Option<String>) {
    let mut setup = small(choice, BufferKind::Off, seed);
    setup.faults.silent = 0.01;
    setup.power.without = without;
    let mut session = Session::new(&setup).expect("a small drive");
    let commands = workload(seed, setup.user_slots, 1_500, WRITES);
    let result = session.run(&mut commands.into_iter(), PACE, &mut |_| {});
    let found = session.read_back();
    session.drain();
    session.check_counts();
    (result.flash.astray_reads, result.redundancy.rebuilt_reads, found.wrong)
}

#[test]
fn a_read_that_brings_another_page_is_noticed_and_solved_for() {
    for choice in schemes() {
        // One run may solve for all pages that another hid, or never read them again.
        let mut noticed = 0;
        for seed in seeds(3) {
            let again = format!("FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance outages::");
            let (astray, rebuilt, wrong) = misread(&choice, None, seed);
            assert_eq!(wrong, None, "{choice}; repeat with: {again}");
            assert!(astray > 5, "{choice}: {astray} reads went astray; repeat with: {again}");
            let promises = promise(&choice, &small(&choice, BufferKind::Off, seed).drive) > 0;
            assert!(!promises || rebuilt > 0, "{choice}: nothing was solved for; repeat with: {again}");
            let (.., wrong) = misread(&choice, Some(SafetyRule::Compare), seed);
            noticed += u32::from(wrong.is_some());
        }
        assert!(noticed > 0, "{choice}: reads are not compared, and no seed noticed");
    }
}
