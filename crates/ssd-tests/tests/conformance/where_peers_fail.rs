//! Device and workload variants on which the fastest published simulator crashes, stalls or
//! runs out of memory, scaled to a device of 128 Ki pages: all complete, every request is
//! answered, and throughput follows queue depth to the limit of the dies.

use crate::common::{drive, setup};
use flashkeep_ssd as ssd;
use ssd::{Pace, PayloadKind, Precondition, RunResult, Session, Setup};
use vocab::{Fua, HostCommand, HostOp, Lba, Nanos, SimTime, StreamId, Streams};

/// 16 dies, 256 blocks of 32 pages; 7 % of it is never the user's; `occupied` of the rest is.
fn device(occupied: f64, working_set: f64) -> Setup {
    let drive = drive(16, 256, 32, 1);
    let user_slots = (f64::from(drive.geometry.slots()) * 0.93 * occupied) as u32;
    let base = setup("none", drive, 0.5);
    let precondition = Precondition { working_set, overwrite_at_most: 3.0, ..Precondition::default() };
    Setup { user_slots, precondition, payload: PayloadKind::Tag, ..base }
}

fn random_writes(setup: &Setup, working_set: f64, requests: u64, depth: u32) -> RunResult {
    let mut draws = Streams::new(setup.seed).stream("test/writes");
    let pages = (f64::from(setup.user_slots) * working_set).max(1.0) as u64;
    let mut commands = (0..requests).map(|_| HostCommand {
        at: SimTime(0),
        op: HostOp::Write(Fua::No),
        lba: Lba(draws.below(pages) * 8),
        sectors: 8,
        stream: StreamId::default(),
    });
    let mut session = Session::new(setup).unwrap();
    let result = session.run(&mut commands, Pace::Closed { depth }, &mut |_| {});
    session.check_counts();
    assert_eq!(result.host.requests["write"], requests, "every request is answered");
    assert_eq!((result.oracle.mismatches, result.host.write_errors), (0, 0));
    result
}

#[test]
fn every_occupancy_and_working_set_completes() {
    for occupied in [0.5, 0.75, 0.85, 0.9, 1.0] {
        for working_set in [0.1, 0.5, 0.85, 1.0] {
            random_writes(&device(occupied, working_set), working_set, 60_000, 16);
        }
    }
}

#[test]
fn every_gc_policy_completes() {
    for policy in ssd::ftl::victim::POLICIES {
        let mut setup = device(0.85, 0.85);
        setup.gc.policy = policy.name.into();
        random_writes(&setup, 0.85, 100_000, 16);
    }
}

#[test]
fn throughput_follows_queue_depth_to_the_limit_of_the_dies() {
    let mut setup = device(0.75, 1.0);
    // One kind of page: the limit is then a simple quotient.
    setup.drive.timing.page.truncate(1);
    let per_second = |depth| {
        let result = random_writes(&setup, 1.0, 60_000, depth);
        (60_000.0 / result.replay.simulated_s, result)
    };
    let depths = [1, 4, 16, 64, 256, 1024];
    let speeds: Vec<_> = depths.iter().map(|&depth| per_second(depth)).collect();
    for (pair, depth) in speeds.windows(2).zip(depths) {
        assert!(pair[1].0 > pair[0].0 * 0.98, "slower beyond depth {depth}: {} after {}", pair[1].0, pair[0].0);
    }
    let (deepest, result) = &speeds[5];
    assert!(result.flash.die_utilisation > 0.95, "dies rest {} of the time at depth 1024", 1.0 - result.flash.die_utilisation);
    assert!(*deepest > 4.0 * speeds[0].0);
    // 16 dies share what a host write costs in all: programs, reads of GC, erases.
    let each = |map: &std::collections::BTreeMap<String, u64>| map.values().sum::<u64>() as f64;
    let transfer = 10_240.0;
    let busy_ns = each(&result.flash.programs) * (500_300.0 + transfer)
        + each(&result.flash.reads) * (40_300.0 + transfer)
        + each(&result.flash.erases) * 3_000_300.0;
    let limit = 60_000.0 * 16.0 / (busy_ns * 1e-9);
    assert!(*deepest < 1.001 * limit && *deepest > 0.9 * limit, "{deepest} of at most {limit} writes a second");
}

#[test]
fn memory_does_not_grow_with_requests_or_depth() {
    // The engine recycles its objects: after a run their number is that of the deepest moment.
    let setup = device(0.75, 1.0);
    let few = random_writes(&setup, 1.0, 20_000, 8);
    let many = random_writes(&setup, 1.0, 200_000, 512);
    assert_eq!(few.wear.pe_cycles.len(), many.wear.pe_cycles.len());
    assert!(peak_memory_mib() < 400.0, "{} MiB at 200 000 requests", peak_memory_mib());
}

fn peak_memory_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

#[test]
fn a_long_run_in_a_small_drive_completes() {
    let mut setup = device(0.75, 0.85);
    setup.payload = PayloadKind::None;
    setup.drive.timing.erase = Nanos(1_000_000);
    random_writes(&setup, 0.85, 1_000_000, 256);
}
