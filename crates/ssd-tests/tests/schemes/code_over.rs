//! Code zones over rows and block groups: code is written as data are, helps while it is the sum of its data, and is
//! nothing after a cut.

use crate::common::zones::{PROGRAM, READ, WRITE, command};
use crate::common::{MIX, Mix, buffers, drive, run, setup_of, ssd, workload};
use ssd::protect::SchemeChoice;
use ssd::protect::code_zones::{CodeGroupId, CodeZones, ZoneLayout};
use ssd::protect::registry::code_over;
use ssd::{Failure, Pace, PayloadKind, Power, RunResult, Session, Setup, nand, shape};
use std::collections::BTreeSet;
use vocab::{DieId, HostCommand, HostOp, Nanos, SimTime, Streams};

const BELOW: [&str; 2] = ["ds-raid", "mds-groups"];
const DIES: u32 = 6;

/// A drive of one page kind with a channel for each die, all of it written, whose first zone gets code.
fn over(below: &str, options: &[(&str, &str)]) -> Setup {
    let mut choice = SchemeChoice::named(&format!("{below}+code-zones"));
    let usual = [("code-zones.group", "3"), ("code-zones.offline_after", "1ms"), ("code-zones.read_ahead_threads", "0")];
    choice.options = usual.iter().chain(options).map(|&(key, value)| (key.into(), value.into())).collect();
    let mut drive = drive(DIES, 24, 8, 1);
    (drive.geometry.channels, drive.geometry.dies_per_channel) = (DIES, 1);
    drive.timing.page = vec![nand::PageKind { name: "page".into(), read: Nanos(READ), program: Nanos(PROGRAM) }];
    let mut setup = setup_of(&choice, drive, 0.8);
    setup.precondition.fill = 1.0;
    setup
}

fn scheme(setup: &Setup) -> CodeZones {
    code_over(&setup.scheme, shape(&setup.drive)).expect("valid").expect("code zones over another scheme")
}

/// A drive that has read its first zone, and was off line after that.
fn coded(setup: &Setup) -> (Session, RunResult) {
    let mut session = Session::new(setup).unwrap_or_else(|error| panic!("{error}"));
    let mut commands: Vec<HostCommand> = (0..8).map(|lpn| command(0, HostOp::Read, lpn, 1)).collect();
    commands.push(command(2_000_000_000, HostOp::Read, 0, 1));
    let result = run(&mut session, &commands, Pace::Open);
    session.audit().unwrap_or_else(|what| panic!("{what}"));
    (session, result)
}

/// Catches code that is never written, or under another cause; that is not the sum of its data; and a capacity that
/// forgets that code takes flash.
#[test]
fn the_zone_read_most_has_code_in_the_pages_of_the_scheme_below() {
    for below in BELOW {
        let setup = over(below, &[]);
        let layout = scheme(&setup).layout().clone();
        let alone = ssd::user_slots_max(&setup.drive, &SchemeChoice::named(below), &setup.gc).expect("valid");
        let with = ssd::user_slots_max(&setup.drive, &setup.scheme, &setup.gc).expect("valid");
        assert_eq!(alone - with, layout.pages() - layout.user_pages(), "{below}");
        let (session, result) = coded(&setup);
        let code = session.inventory().code;
        assert_eq!(code.len() as u32, layout.zone_pages(), "{below}: G_3^2 has as much code as data");
        assert!(result.flash.programs["encode"] >= u64::from(layout.zone_pages()), "{below}");
        assert!(result.flash.programs["parity"] > 0, "{below}: code has parity like all else");
        assert!(code.iter().all(|page| page.of.iter().all(|lpn| lpn.0 < layout.zone_pages())), "{below}");
        session.check_counts();
    }
}

/// Catches a write, or a discard, that leaves code valid that is not the sum of its data any more.
#[test]
fn a_write_or_a_discard_makes_the_code_of_its_group_stale_and_no_other() {
    for below in BELOW {
        let setup = over(below, &[]);
        let (mut session, _) = coded(&setup);
        let before = session.inventory().code.len();
        let stale = |session: &Session, lpn: u32| {
            session.inventory().code.iter().all(|page| page.of.iter().all(|of| of.0 / 3 != lpn / 3))
        };
        for (op, lpn) in [(WRITE, 4), (HostOp::Discard, 10)] {
            assert!(!stale(&session, lpn), "{below}");
            run(&mut session, &[command(0, op, lpn, 1)], Pace::Open);
            session.audit().unwrap_or_else(|what| panic!("{below}: {what}"));
            assert!(stale(&session, lpn), "{below} {op:?}");
        }
        assert_eq!(session.inventory().code.len(), before - 6, "{below}: two groups of three code pages");
    }
}

/// One page in four is overwritten while the first zone is read. Catches reads that wait for busy dies though code is
/// elsewhere, reads that decode with stale code, and code in idle time that is of data in between.
#[test]
fn reads_of_coded_zones_go_around_busy_dies_and_return_what_was_written() {
    for below in BELOW {
        let latency = ["0", "off"].map(|around| {
            let options = [("code-zones.read_around", around), ("code-zones.offer", "all")];
            let setup = Setup { payload: PayloadKind::Page, ..over(below, &options) };
            let pages = scheme(&setup).layout().zone_pages();
            let (mut session, _) = coded(&setup);
            let mut commands = Vec::new();
            for i in 0..1_500u32 {
                let lpn = if i % 4 == 0 { pages + i * 7 % (setup.user_slots - pages) } else { i * 5 % (pages - 2) };
                let (op, count) = if i % 4 == 0 { (WRITE, 1) } else { (HostOp::Read, 2) };
                commands.push(command(u64::from(i) * 400_000, op, lpn, count));
            }
            let result = run(&mut session, &commands, Pace::Open);
            assert_eq!((session.first_mismatch(), result.host.media_errors), (None, 0), "{below} {around}");
            assert_eq!(result.around.derived_pages > 50, around == "0", "{below} {around}: {:?}", result.around);
            session.check_counts();
            session.audit().unwrap_or_else(|what| panic!("{below} {around}: {what}"));
            result.host.read_latency_us.mean
        });
        assert!(latency[0] < 0.95 * latency[1], "{below}: {latency:?} us with and without code");
    }
}

/// Code is derived: what the scheme below promises holds, and a lost code page is no lost data.
#[test]
fn the_loss_of_a_die_loses_nothing() {
    for below in BELOW {
        for die in 0..DIES {
            let setup = over(below, &[]);
            let (mut session, _) = coded(&setup);
            session.fail(Failure::Die(DieId(die as u16)));
            let reads: Vec<HostCommand> = (0..setup.user_slots).map(|lpn| command(0, HostOp::Read, lpn, 1)).collect();
            let result = run(&mut session, &reads, Pace::Closed { depth: 4 });
            assert_eq!((session.first_mismatch(), result.host.media_errors), (None, 0), "{below}, die {die}");
            session.drain();
            session.check_counts();
            session.audit().unwrap_or_else(|what| panic!("{below}, die {die}: {what}"));
        }
    }
}

/// Catches a mount that trusts code, or that takes its pages for the user's.
#[test]
fn after_a_cut_there_are_all_data_and_no_code() {
    for below in BELOW {
        let mut setup = over(below, &[]);
        setup.power = Power { mountable: true, ..Power::default() };
        setup.user_slots = setup.user_slots * 9 / 10;
        let (mut session, _) = coded(&setup);
        assert!(!session.inventory().code.is_empty(), "{below}");
        session.cut_power(&[]);
        session.drain();
        assert_eq!(session.inventory().code, [], "{below}: code is not recovered");
        let found = session.take_stock();
        assert_eq!((found.lost.len(), found.wrong), (0, None), "{below}");
        session.check_counts();
        session.audit().unwrap_or_else(|what| panic!("{below}: {what}"));
    }
}

/// Catches sums that the drive computes only where pages carry bytes.
#[test]
fn the_same_run_gives_the_same_events_whatever_pages_carry() {
    for below in BELOW {
        let digest = |payload| {
            let setup = Setup { payload, ..over(below, &[("code-zones.offer", "all")]) };
            let (mut session, _) = coded(&setup);
            let reads: Vec<HostCommand> = (0..400).map(|i| command(i * 9_000, HostOp::Read, i as u32 * 5 % 40, 2)).collect();
            run(&mut session, &reads, Pace::Open).replay.event_digest
        };
        let tags = digest(PayloadKind::Tag);
        assert_eq!([PayloadKind::None, PayloadKind::Page].map(digest), [tags, tags], "{below}");
    }
}

/// Reads, writes and discards of the first two zones, in bursts with gaps in which groups are encoded.
fn races(seed: u64, setup: &Setup, count: u64) -> Vec<HostCommand> {
    let pages = 2 * scheme(setup).layout().zone_pages();
    let mix = Mix { reads: 0.6, max_pages: 3, every: 100_000, ..MIX };
    let mut draws = Streams::new(seed).stream("test/races");
    let mut later = 0;
    let gaps = workload(seed, pages, count, mix).into_iter().map(|command| {
        later += if draws.chance(0.1) { 3_000_000 + draws.below(9_000_000) } else { 0 };
        HostCommand { at: SimTime(command.at.0 + later), ..command }
    });
    gaps.collect()
}

/// Groups with valid code.
fn coded_groups(session: &Session, layout: &ZoneLayout) -> BTreeSet<CodeGroupId> {
    session.inventory().code.iter().flat_map(|page| page.of.first().map(|lpn| layout.line(*lpn).0.group)).collect()
}

/// I17 over rows and groups: before every event no read decodes with code that is not valid, and whenever the drive is
/// forked and drained, valid code is the sum of its data. Catches code that is made stale too late, or by half of a job.
#[test]
fn reads_and_encoding_that_race_writes_never_mix_versions() {
    for below in BELOW {
        for (seed, payload, buffer) in [(1, PayloadKind::Page, 0), (2, PayloadKind::Tag, 1), (3, PayloadKind::Tag, 2)] {
            let options = [("code-zones.offline_after", "100us"), ("code-zones.offer", "all"), ("code-zones.code_zones", "2")];
            let mut setup = Setup { seed, payload, ..over(below, &options) };
            setup.buffer = buffers()[buffer].1;
            let layout = scheme(&setup).layout().clone();
            let (mut session, _) = coded(&setup);
            let (name, mut sound) = (format!("{below}, seed {seed}"), 0);
            let commands = races(seed, &setup, 700);
            let result = session.run_stepwise(&mut commands.iter().copied(), Pace::Open, &mut |step, fork| {
                if !step.is_multiple_of(7) {
                    return;
                }
                let mut fork = fork();
                let used: BTreeSet<CodeGroupId> = fork.alternatives_in_flight().code_of.into_iter().collect();
                assert!(used.is_subset(&coded_groups(&fork, &layout)), "{name}, step {step}: code that is not valid");
                if step.is_multiple_of(49) {
                    fork.drain();
                    fork.check_counts();
                    fork.audit().unwrap_or_else(|what| panic!("{name}, step {step}: {what}"));
                    sound += fork.inventory().code.len();
                }
            });
            assert_eq!((session.first_mismatch(), result.host.media_errors), (None, 0), "{name}");
            assert_eq!(session.read_back(), ssd::ReadBack::default(), "{name}");
            assert!(result.around.encoded_groups > 20 && result.around.derived_pages > 0, "{name}: {:?}", result.around);
            assert!(result.flash.erases["gc"] > 0 && sound > 100, "{name}: {sound} code pages were sound");
        }
    }
}
