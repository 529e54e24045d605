//! RAID-5, DS-RAID and block groups that read around busy dies: the same bytes, sooner.

use crate::common::codewords::protection;
use crate::common::zones::{COMMAND, PROGRAM, READ, TRANSFER, WRITE, command};
use crate::common::{MIX, Mix, buffers, drive, run, run_both_paces, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::protect::{Protection, SchemeChoice};
use ssd::{Pace, PayloadKind, ReadBack, Scheduler, Session, Setup, nand};
use vocab::{DieId, HostCommand, HostOp, Nanos, Streams, StripeId};

const DIES: u32 = 6;

/// A drive with a channel for each die and one page kind, all of it written.
fn full(scheme: &str, slots: u64, options: &[(&str, &str)]) -> Setup {
    let mut choice = SchemeChoice::named(scheme);
    choice.options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let mut drive = drive(DIES, 32, 8, slots);
    (drive.geometry.channels, drive.geometry.dies_per_channel) = (DIES, 1);
    drive.timing.page = vec![nand::PageKind { name: "page".into(), read: Nanos(READ), program: Nanos(PROGRAM) }];
    let mut setup = setup_of(&choice, drive, 0.7);
    setup.precondition.fill = 1.0;
    setup
}

/// Logical pages on the die, in order.
fn pages_on(setup: &Setup, die: u16) -> Vec<u32> {
    let Protection::Stripes(scheme) = protection(setup) else { unreachable!("RAID-5 has stripes") };
    let n = scheme.data_strips();
    (0..setup.user_slots).filter(|lpn| scheme.die_of(StripeId(lpn / n), lpn % n) == DieId(die)).collect()
}

#[test]
fn a_read_of_a_die_that_programs_takes_as_long_as_one_of_an_idle_die() {
    // Long enough for the strip to be read that makes the parity, and for the new ones to be moved.
    const AFTER: u64 = 100_000;
    for around in ["off", "1", "0"] {
        let setup = full("raid5", 1, &[("data_strips", "2"), ("read_around", around)]);
        let Protection::Stripes(scheme) = protection(&setup) else { unreachable!() };
        let dies = |stripe: u32| [0, 1, 2].map(|strip| scheme.die_of(StripeId(stripe), strip).0);
        // Stripe 5 has its parity on die 0 and data on dies 1 and 2; stripe 8 has data on dies 2 and 3.
        assert_eq!((dies(5), dies(8)), ([1, 2, 0], [2, 3, 1]));
        let mut session = Session::new(&setup).unwrap();
        let result = run(&mut session, &[command(0, WRITE, 11, 1), command(AFTER, HostOp::Read, 16, 1)], Pace::Open);
        let read = COMMAND + READ + TRANSFER;
        let left = read + COMMAND + TRANSFER + PROGRAM - AFTER;
        let expected = if around == "off" { left + read } else { read };
        assert_eq!((result.host.read_latency_us.mean * 1e3).round() as u64, expected, "read_around {around}");
        assert_eq!(result.around.derived_pages, u64::from(around != "off"));
        assert_eq!(result.around.extra_reads, if around == "off" { 0 } else { 2 });
        assert_eq!(session.first_mismatch(), None);
    }
}

#[test]
fn stripes_that_are_being_updated_have_no_alternatives() {
    for (after, stripe, expected) in [(1_000, 0, 0), (60_000, 0, 0), (400_000, 0, 0), (60_000, 1, 1), (2_000_000, 0, 1)] {
        let setup = full("raid5", 1, &[("read_around", "0")]);
        let mut session = Session::new(&setup).unwrap();
        // The first strip of a stripe is written, and another of that stripe or the next is read.
        let commands = [command(0, WRITE, 0, 1), command(after, HostOp::Read, 5 * stripe + 2, 1)];
        let result = run(&mut session, &commands, Pace::Open);
        assert_eq!(result.around.reads, expected, "{after} ns, stripe {stripe}");
        assert_eq!((result.host.requests["read"], session.first_mismatch()), (1, None));
    }
}

/// Writes that keep a die busy nine tenths of the time, and reads of it from other stripes.
fn one_busy_die(around: &str) -> ssd::RunResult {
    let setup = full("raid5", 1, &[("read_around", around)]);
    let pages = pages_on(&setup, 2);
    let (written, read) = pages.split_at(pages.len() / 2);
    let writes = (0..400).map(|i| command(i * 850_000, WRITE, written[i as usize * 7 % written.len()], 1));
    let reads = (0..2_000).map(|i| command(i * 170_000 + 50_000, HostOp::Read, read[i as usize * 11 % read.len()], 1));
    let mut commands: Vec<HostCommand> = writes.chain(reads).collect();
    commands.sort_by_key(|command| command.at);
    let mut session = Session::new(&setup).unwrap();
    let result = run(&mut session, &commands, Pace::Open);
    assert_eq!((session.first_mismatch(), result.host.media_errors), (None, 0), "{around}");
    session.check_counts();
    session.audit().unwrap();
    result
}

#[test]
fn reads_of_a_die_kept_busy_by_writes_are_faster_around_it() {
    let off = one_busy_die("off");
    assert_eq!(off.around, ssd::AroundResult::default());
    for around in ["0", "1", "2"] {
        let on = one_busy_die(around);
        assert!(on.around.derived_pages > 200 && on.around.withdrawn_reads > 200, "{around}: {:?}", on.around);
        // The die has a program in service for 7/8.5 of the time: a read waits for half of it at least half of
        // these times, 140 us and more; around it, only where a parity is programmed: on each other die a
        // fifth of the writes.
        let (slow, fast) = (off.host.read_latency_us.mean, on.host.read_latency_us.mean);
        assert!(fast < slow - 100.0, "{fast} us with read_around {around}, {slow} us without");
    }
}

/// Setups of all three schemes with several logical pages a page where the scheme can.
fn all_three(around: &str) -> Vec<(String, Setup)> {
    let mut all = Vec::new();
    for (scheme, slots) in [("raid5", 1), ("ds-raid", 1), ("ds-raid", 4), ("mds-groups", 1), ("mds-groups", 4)] {
        for (buffer, scheduler) in
            [(0, Scheduler::Fifo), (0, Scheduler::ReadFirst), (1, Scheduler::ReadFirst), (2, Scheduler::Fifo)]
        {
            let base = full(scheme, slots, &[("read_around", around)]);
            let (name, buffer) = buffers()[buffer];
            let name = format!("{scheme} x{slots} {name} {scheduler:?}, read_around {around}");
            all.push((name, Setup { buffer, scheduler, payload: PayloadKind::Page, ..base }));
        }
    }
    all
}

#[test]
fn whatever_is_read_around_the_bytes_are_the_same() {
    for (around, depth) in [("0", 2), ("1", 8), ("2", 32)] {
        for (name, setup) in all_three(around) {
            let mut session = Session::new(&setup).unwrap();
            let commands = workload(21, setup.user_slots, 1_000, Mix { reads: 0.6, max_pages: 9, ..MIX });
            let result = run(&mut session, &commands, Pace::Closed { depth });
            assert_eq!((session.first_mismatch(), result.host.media_errors, result.host.write_errors), (None, 0, 0), "{name}");
            assert!(result.around.derived_pages > 0 && result.around.withdrawn_reads > 0, "{name}: {:?}", result.around);
            session.check_counts();
            session.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
            assert_eq!(session.read_back(), ReadBack::default(), "{name}");
        }
    }
}

#[test]
fn a_dead_die_loses_nothing_and_others_are_still_read_around() {
    for die in 0..DIES as u16 {
        for (name, mut setup) in all_three("1").into_iter().skip(usize::from(die % 3)).step_by(3) {
            setup.user_slots = setup.user_slots * 3 / 4;
            (setup.faults.dead_die, setup.faults.dead_die_at_request) = (Some(die), 300);
            (setup.faults.rebuild, setup.faults.uncorrectable_reads) = (false, 0.0);
            let mut session = Session::new(&setup).unwrap();
            let commands = workload(22 + u64::from(die), setup.user_slots, 900, Mix { reads: 0.6, max_pages: 9, ..MIX });
            let result = run(&mut session, &commands, Pace::Closed { depth: 16 });
            let name = format!("{name}, die {die}");
            assert_eq!((session.first_mismatch(), result.host.media_errors, result.host.write_errors), (None, 0, 0), "{name}");
            assert!(result.around.derived_pages > 0 && result.flash.reads["rebuild"] > 0, "{name}");
            assert_eq!(session.read_back(), ReadBack::default(), "{name}");
        }
    }
}

#[test]
fn pages_that_fail_among_alternatives_are_rebuilt_all_the_same() {
    const PROBABILITY: f64 = 0.01;
    for (name, mut setup) in all_three("0") {
        setup.faults.uncorrectable_reads = PROBABILITY;
        let mut session = Session::new(&setup).unwrap();
        let reads: Vec<_> = (0..6_000).map(|i| command(0, HostOp::Read, i * 37 % (setup.user_slots - 3), 1 + i % 3)).collect();
        let result = run(&mut session, &reads, Pace::Closed { depth: 8 });
        assert_eq!((session.first_mismatch(), result.host.requests["read"]), (None, 6_000), "{name}");
        // The page must fail, then one of the five others when it is rebuilt: 0.01 x 0.05 of 12,000 pages, 6 of
        // them; four logical pages may share a flash page. Six standard deviations.
        let slots = f64::from(setup.drive.geometry.slots_per_page());
        let mean = 12_000.0 * PROBABILITY * 5.0 * PROBABILITY;
        assert!((result.host.media_errors as f64) < mean + 6.0 * (mean * slots).sqrt(), "{name}: {}", result.host.media_errors);
        assert!(result.redundancy.rebuilt_reads > 0 && result.around.derived_pages > 0, "{name}: {:?}", result.around);
    }
}

#[test]
fn extra_reads_never_exceed_their_limit() {
    for (scheme, slots) in [("raid5", 1), ("ds-raid", 1), ("ds-raid", 4), ("mds-groups", 1)] {
        for limit in [0, 5, 13, 40] {
            let run_with = |options: &[(&str, &str)], most: &mut u32| {
                let setup = full(scheme, slots, options);
                let mut session = Session::new(&setup).unwrap();
                let commands = workload(23, setup.user_slots, 250, Mix { reads: 0.8, ..MIX });
                session.run_stepwise(&mut commands.iter().copied(), Pace::Closed { depth: 24 }, &mut |_, fork| {
                    *most = (*most).max(fork().alternatives_in_flight().extra_reads);
                })
            };
            let (mut most, mut none) = (0, 0);
            let result = run_with(&[("read_around", "0"), ("extra_reads", &limit.to_string())], &mut most);
            assert!(most <= limit && most + 5 > limit, "{scheme} x{slots}: {most} of {limit}");
            if limit == 0 {
                assert_eq!(result.replay.event_digest, run_with(&[], &mut none).replay.event_digest, "{scheme} x{slots}");
            }
        }
    }
}

/// Any of the schemes with any options, and at most one failure of any kind.
fn anything(seed: u64) -> (String, Setup) {
    let mut draws = Streams::new(seed).stream("test/options");
    let mut pick = |words: &[&str]| words[draws.below(words.len() as u64) as usize].to_string();
    let around = [("read_around", pick(&["0", "1", "2", "4"])), ("extra_reads", pick(&["auto", "6", "30"]))];
    let own = match pick(&["raid5", "ds-raid", "ds-raid x4", "mds-groups", "mds-groups block"]).as_str() {
        "raid5" => ("raid5", 1, ("data_strips", pick(&["auto", "2", "4"]))),
        "ds-raid" => ("ds-raid", 1, ("sub_stripe", pick(&["request", "defer"]))),
        "mds-groups" => ("mds-groups", 1, ("m", pick(&["1", "2"]))),
        "mds-groups block" => ("mds-groups", 1, ("block_parity", "yes".into())),
        _ => ("ds-raid", 4, ("scrub_rows_per_s", pick(&["0", "2000"]))),
    };
    let (scheme, slots, option) = own;
    let options: Vec<(&str, &str)> = around.iter().chain([&option]).map(|(key, value)| (*key, value.as_str())).collect();
    let mut setup = full(scheme, slots, &options);
    let name = setup.scheme.to_string();
    setup.user_slots = setup.user_slots * 2 / 3;
    setup.precondition.fill = pick(&["0", "0.5", "1"]).parse().expect("a number");
    setup.buffer = buffers()[draws.below(3) as usize].1;
    setup.scheduler = [Scheduler::Fifo, Scheduler::ReadFirst][draws.below(2) as usize];
    setup.gc.separate_write_pointer = draws.chance(0.5);
    setup.faults.rebuild = draws.chance(0.5);
    if draws.chance(0.5) {
        (setup.faults.dead_die, setup.faults.dead_die_at_request) = (Some(draws.below(u64::from(DIES)) as u16), draws.below(400));
    } else if draws.chance(0.5) {
        setup.faults.uncorrectable_reads = 0.01;
    }
    (name, Setup { seed, ..setup })
}

#[test]
fn whatever_the_options_and_the_fault_nothing_is_wrong() {
    let mut derived = 0;
    for seed in seeds(24) {
        let (name, setup) = anything(seed);
        let name = format!(
            "{name}; repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance read_around::whatever_the_options"
        );
        let mut session = run_both_paces(&name, &setup, &mut |name, _, result| {
            derived += result.around.derived_pages;
            let errors = result.host.media_errors + result.host.write_errors;
            assert!(errors == 0 || setup.faults.uncorrectable_reads > 0.0, "{name}: {errors} errors");
        });
        let found = session.read_back();
        assert_eq!(found.wrong, None, "{name}");
        assert!(found.lost.is_empty() || setup.faults.uncorrectable_reads > 0.0, "{name}: {:?}", found.lost);
    }
    assert!(derived > 0 || seeds(24).count() < 24, "nothing was ever derived");
}
