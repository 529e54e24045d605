//! Conformance: what every registered scheme must do, whoever wrote it. A scheme is tested by
//! being registered.

use crate::common::{MIX, Mix, again, buffers, drive, promise, prove, read_all, run, schemes, seeds, setup, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::protect::registry::SCHEMES;
use ssd::{Pace, PayloadKind, Scheduler, Session, Setup};

const REQUESTS: u64 = 4_000;

/// Slots a page that the scheme can work with.
fn page_sizes(choice: &SchemeChoice) -> Vec<u64> {
    [1, 4]
        .into_iter()
        .filter(|&slots| ssd::protect::registry::build(choice, ssd::shape(&drive(6, 16, 8, slots))).is_ok())
        .collect()
}

fn cases(choice: &SchemeChoice, share: f64) -> Vec<(String, Setup)> {
    let mut all = Vec::new();
    for slots in page_sizes(choice) {
        for (index, (name, buffer)) in buffers().into_iter().enumerate() {
            let schedulers = [Scheduler::Fifo, Scheduler::ReadFirst];
            // Variants take turns: the defaults have been through both.
            let schedulers = if choice.options.is_empty() { &schedulers[..] } else { &schedulers[index % 2..][..1] };
            for &scheduler in schedulers {
                let base = setup_of(choice, drive(6, 16, 8, slots), share);
                all.push((format!("{choice} x{slots} {name} {scheduler:?}"), Setup { buffer, scheduler, ..base }));
            }
        }
    }
    all
}

#[test]
fn every_read_returns_what_was_written_under_gc_trim_flush_and_partial_writes() {
    const TEST: &str = "every_read_returns_what_was_written";
    for seed in seeds(3) {
        let pace = [Pace::Closed { depth: 1 }, Pace::Closed { depth: 32 }, Pace::Open][seed as usize % 3];
        for choice in schemes() {
            for (name, base) in cases(&choice, 0.9) {
                let name = format!("{name} {pace:?}; {}", again(TEST, seed));
                let setup = Setup { seed, ..base };
                let commands = workload(seed, setup.user_slots, REQUESTS, MIX);
                let (result, after) = prove(&name, &setup, &commands, pace);
                assert!(result.flash.erases["gc"] > 0, "{name}: the workload must cause GC");
                assert_eq!((result.host.media_errors, result.host.write_errors, after.host.media_errors), (0, 0, 0), "{name}");
            }
        }
    }
}

#[test]
fn all_three_payloads_give_one_event_log() {
    for choice in schemes() {
        for (name, base) in cases(&choice, 0.8) {
            let faults = ssd::Faults { uncorrectable_reads: 0.01, ..base.faults };
            let faults = if promise(&choice, &drive(6, 16, 8, 1)) > 0 { faults } else { base.faults };
            let commands = workload(4, base.user_slots, REQUESTS, MIX);
            let digest = |payload| {
                let setup = Setup { payload, faults, ..base.clone() };
                let mut session = Session::new(&setup).unwrap();
                let result = run(&mut session, &commands, Pace::Open);
                assert_eq!(session.first_mismatch(), None, "{name} {payload:?}");
                (result.replay.event_digest, result.flash.ops)
            };
            let tags = digest(PayloadKind::Tag);
            assert_eq!(digest(PayloadKind::None), tags, "{name}: nothing against tags");
            assert_eq!(digest(PayloadKind::Page), tags, "{name}: pages against tags");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for choice in schemes() {
        let base = setup_of(&choice, drive(6, 16, 8, 1), 0.8);
        let commands = workload(5, base.user_slots, REQUESTS, MIX);
        let result = || run(&mut Session::new(&base).unwrap(), &commands, Pace::Open);
        assert_eq!(result(), result(), "{choice}");
    }
}

/// Kills each die at several moments and reads everything back.
fn kill_dies(
    choice: &SchemeChoice,
    mix: Mix,
    share: f64,
    seed: u64,
    mut each: impl FnMut(&str, ssd::RunResult, ssd::RunResult, Option<String>),
) {
    for (name, base) in cases(choice, share) {
        for die in 0..6 {
            for at in [0, 1_500, 3_999] {
                let faults = ssd::Faults { dead_die: Some(die), dead_die_at_request: at, ..base.faults };
                let own_seed = seed * 100_000 + u64::from(die) * 10_000 + at;
                let setup = Setup { faults, seed: own_seed, ..base.clone() };
                let commands = workload(own_seed, setup.user_slots, REQUESTS, mix);
                let mut session = Session::new(&setup).unwrap();
                let result = run(&mut session, &commands, Pace::Closed { depth: 8 });
                session.check_counts();
                let after = session.run(&mut read_all(setup.user_slots), Pace::Closed { depth: 8 }, &mut |_| {});
                let name = format!("{name}, die {die} dead at {at}; {}", again("a_dead_die", seed));
                each(&name, result, after, session.first_mismatch().map(Into::into));
            }
        }
    }
}

#[test]
fn a_dead_die_within_the_promise_loses_nothing_and_beyond_it_is_reported() {
    for seed in seeds(1) {
        for choice in schemes() {
            // Rows lose a sixth of their width with the die: leave room for that.
            kill_dies(&choice, MIX, 0.6, seed, |name, result, after, wrong| {
                assert_eq!(wrong, None, "{name}");
                if promise(&choice, &drive(6, 16, 8, 1)) > 0 {
                    assert_eq!(
                        (result.host.media_errors, result.host.write_errors, after.host.media_errors),
                        (0, 0, 0),
                        "{name}"
                    );
                    let solved = result.flash.reads["rebuild"] + after.flash.reads["rebuild"];
                    assert!(solved > 0 || name.contains("dead at 0;"), "{name}: nothing was solved for");
                }
            });
        }
    }
}

#[test]
fn uncorrectable_reads_are_rebuilt_and_checked() {
    for choice in schemes().filter(|choice| promise(choice, &drive(6, 16, 8, 1)) > 0) {
        for (name, base) in cases(&choice, 0.8) {
            let faults = ssd::Faults { uncorrectable_reads: 1e-3, ..base.faults };
            let setup = Setup { faults, ..base };
            let commands = workload(7, setup.user_slots, REQUESTS, MIX);
            let (result, after) = prove(&name, &setup, &commands, Pace::Open);
            // A read that goes around busy dies anyway needs no repair.
            assert!(result.flash.reads["rebuild"] + result.around.derived_pages > 0, "{name}");
            // Two uncorrectable reads of one stripe at once: about 1e-3 x 5 of the repairs.
            assert!(result.host.media_errors + after.host.media_errors <= 2, "{name}: {} media errors", result.host.media_errors);
        }
    }
}

#[test]
fn bad_blocks_from_the_factory_are_never_used() {
    for choice in schemes() {
        let mut base = setup_of(&choice, drive(6, 40, 8, 1), 0.6);
        base.age.bad_blocks = 0.04;
        if let Err(error) = Session::new(&base) {
            // Segments need two spare blocks and one for each bad one; a test of their own has more.
            assert!(choice.name == "code-zones" && error.to_string().contains("spare_blocks"), "{choice}: {error}");
            continue;
        }
        let commands = workload(7, base.user_slots, REQUESTS, MIX);
        prove(&choice.to_string(), &base, &commands, Pace::Open);
    }
}

#[test]
fn every_gc_policy_serves_every_scheme() {
    for choice in schemes() {
        for policy in ssd::ftl::victim::POLICIES {
            for (separate_write_pointer, idle_free_blocks, slots) in [(false, 0, 1), (true, 6, 1), (true, 20, 1), (true, 20, 4)] {
                if !page_sizes(&choice).contains(&slots) {
                    continue;
                }
                let mut base = setup_of(&choice, drive(6, 24, 8, slots), 0.85);
                base.gc.policy = policy.name.into();
                (base.gc.separate_write_pointer, base.gc.idle_free_blocks) = (separate_write_pointer, idle_free_blocks);
                let commands = workload(8, base.user_slots, REQUESTS, MIX);
                prove(&format!("{choice} {}", policy.name), &base, &commands, Pace::Closed { depth: 16 });
            }
        }
    }
}

/// Commands of GC go before others that were asked for earlier: what that overtakes, or what waits for ever, shows here.
#[test]
fn every_scheme_is_served_where_gc_occupies_its_dies() {
    for choice in schemes() {
        for scheduler in [Scheduler::Fifo, Scheduler::ReadFirst] {
            for (separate_write_pointer, moves_in_flight) in [(true, 4), (false, 1), (true, 64)] {
                let mut base = setup_of(&choice, drive(6, 24, 8, 1), 0.85);
                (base.scheduler, base.gc.occupies_die) = (scheduler, true);
                (base.gc.separate_write_pointer, base.gc.moves_in_flight) = (separate_write_pointer, moves_in_flight);
                let commands = workload(8, base.user_slots, REQUESTS, MIX);
                let what = format!("{choice} {scheduler:?}, {moves_in_flight} moves");
                prove(&what, &base, &commands, Pace::Closed { depth: 16 });
                prove(&what, &base, &commands, Pace::Open);
            }
        }
    }
}

#[test]
fn the_canary_is_caught() {
    // A scheme that answers too early is caught by power cuts alone (torture): while there is power, parity follows.
    for entry in SCHEMES.iter().filter(|entry| entry.canary && entry.name != "ds-raid-hasty") {
        let mix = Mix { discards: 0.0, partial: 0.0, max_pages: 1, ..MIX };
        let mut caught = 0;
        kill_dies(&SchemeChoice::named(entry.name), mix, 0.6, 1, |_, _, _, wrong| caught += u32::from(wrong.is_some()));
        assert!(caught > 0, "{} loses data and no one noticed", entry.name);
    }
}

#[test]
fn a_full_drive_that_cannot_write_says_so_and_keeps_what_it_has() {
    // Without redundancy, a dead die takes a sixth of the space: a full drive has none left.
    let mut base = setup("none", drive(6, 16, 8, 1), 0.95);
    base.faults.dead_die = Some(2);
    base.faults.dead_die_at_request = 2_000;
    let commands = workload(9, base.user_slots, REQUESTS, Mix { discards: 0.0, ..MIX });
    let (result, after) = prove("none, full", &base, &commands, Pace::Closed { depth: 8 });
    assert!(result.host.write_errors > 0 && after.host.media_errors > 0);
}
