//! Every step: a small workload is stopped before each event, and in a fork of the drive as it
//! then stands, requests in flight and all, something fails. What was in flight completes, then
//! everything is read back. A scheme is tested by being registered.

use crate::common::codewords::{beyond_repair, in_open_rows, protection, without};
use crate::common::{MIX, Mix, buffers, drive, promise, run, schemes, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::Place;
use ssd::protect::registry::SCHEMES;
use ssd::protect::{Protection, SchemeChoice};
use ssd::{Buffer, BufferKind, Failure, Pace, PayloadKind, RunResult, Scheduler, Session, Setup};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Bytes, DieId, Grid, HostCommand, Lpn, Ppn, Stream, Streams, StripeId};

const DIES: u32 = 5;
const BLOCKS: u32 = 14;
const PAGES: u32 = 6;
/// Small writes in quick succession: GC, rows that are not full, overlapping requests.
const SMALL: Mix = Mix { reads: 0.25, discards: 0.06, max_pages: 5, every: 60_000, ..MIX };

fn again(test: &str, seed: u64) -> String {
    format!("repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance every_step::{test}")
}

/// A small drive, three quarters of it written, so that GC begins at once.
fn small(scheme: &SchemeChoice, buffer: Buffer, slots: u64, seed: u64) -> Setup {
    let buffer = Buffer { size: Bytes(12 * 4096), ..buffer };
    let mut setup = Setup { buffer, seed, ..setup_of(scheme, drive(DIES, BLOCKS, PAGES, slots), 0.6) };
    setup.precondition.fill = 0.75;
    setup.precondition.converge_within = 1e-9;
    setup.precondition.overwrite_at_most = 2.0;
    setup.scheduler = if seed.is_multiple_of(2) { Scheduler::ReadFirst } else { Scheduler::Fifo };
    setup
}

/// Every scheme with every buffer; without one also with two logical pages in a physical page
/// and with stripes that leave dies to rebuild on, where the scheme can.
fn cases(seed: u64) -> Vec<(u32, String, Setup)> {
    let mut all = Vec::new();
    for choice in schemes() {
        let survives = promise(&choice, &drive(DIES, BLOCKS, PAGES, 1));
        // Variants go without the drive's buffers: the defaults have been through them.
        for (name, buffer) in buffers().into_iter().take(if choice.options.is_empty() { 3 } else { 1 }) {
            all.push((survives, format!("{choice} {name}"), small(&choice, buffer, 1, seed)));
        }
        if ssd::protect::registry::build(&choice, ssd::shape(&drive(DIES, BLOCKS, PAGES, 2))).is_ok() {
            all.push((survives, format!("{choice} x2"), small(&choice, Buffer::OFF, 2, seed)));
        }
        let mut narrow = choice.clone();
        narrow.options.insert("data_strips".into(), "2".into());
        if ssd::protect::registry::build(&narrow, ssd::shape(&drive(DIES, BLOCKS, PAGES, 1))).is_ok() {
            let mut setup = small(&narrow, Buffer::OFF, 1, seed);
            setup.user_slots = setup.user_slots * 2 / 3;
            all.push((survives, narrow.to_string(), setup));
        }
    }
    all
}

/// A part of the drive, chosen by `draws`: a die, a block, or a programmed page.
fn any_failure(session: &Session, draws: &mut Stream) -> Failure {
    match draws.below(3) {
        0 => Failure::Die(DieId(draws.below(u64::from(DIES)) as u16)),
        1 => Failure::Block(BlockAddr(draws.below(u64::from(DIES * BLOCKS)) as u32)),
        _ => {
            let pages = session.inventory().pages;
            Failure::Page(pages[draws.below(pages.len() as u64) as usize].ppn)
        }
    }
}

/// Runs the workload and hands `each` every `stride`-th step to fork.
fn stepwise(
    setup: &Setup,
    commands: &[HostCommand],
    stride: u64,
    each: &mut dyn FnMut(u64, &mut dyn FnMut() -> Session),
) -> RunResult {
    let mut session = Session::new(setup).unwrap_or_else(|e| panic!("{}: {e}", setup.scheme.name));
    let result = session.run_stepwise(&mut commands.iter().copied(), Pace::Open, &mut |step, fork| {
        if step.is_multiple_of(stride) {
            each(step, fork);
        }
    });
    assert_eq!(session.first_mismatch(), None);
    result
}

/// Completes what is in flight; the pages that cannot be read then, checked against the oracle.
fn aftermath(name: &str, fork: &mut Session) -> (RunResult, Vec<Lpn>) {
    let drained = fork.drain();
    fork.check_counts();
    if let Err(what) = fork.audit() {
        panic!("{name}: {what}");
    }
    let found = fork.read_back();
    assert_eq!(found.wrong, None, "{name}");
    (drained, found.lost)
}

/// Injects `failure` into the fork; nothing acknowledged may be lost, and nothing unreported,
/// neither then nor when the drive goes on with `more`.
fn survive(name: &str, survives: u32, setup: &Setup, mut fork: Session, failure: Failure, more: &[HostCommand]) {
    fork.fail(failure);
    let mut may_lose = on_lost_pages(&fork, setup);
    may_lose.extend(homeless(setup, failure));
    for rest in [&[], more] {
        let went_on = run(&mut fork, rest, Pace::Closed { depth: 4 });
        let (drained, lost) = aftermath(name, &mut fork);
        // A page that is written in part cannot be completed where its old contents are lost.
        if survives > 0 {
            assert_eq!((went_on.host.media_errors, drained.host.media_errors, &lost[..]), (0, 0, &[][..]), "{name}");
            assert_eq!((went_on.host.write_errors, drained.host.write_errors), (0, 0), "{name}");
        } else {
            assert_eq!(lost, beyond_repair(&fork, setup), "{name}");
            assert!(lost.iter().all(|lpn| may_lose.contains(lpn)), "{name}: {lost:?} of {may_lose:?}");
        }
    }
}

/// Logical pages that a dead die is the only place for: static stripes without parity, and zones, lose
/// what is written to them from then on, too.
fn homeless(setup: &Setup, failure: Failure) -> Vec<Lpn> {
    let Failure::Die(dead) = failure else { return Vec::new() };
    let protection = protection(setup);
    let on_dead = |lpn: &u32| match &protection {
        Protection::Stripes(scheme) => scheme.die_of(StripeId(lpn / scheme.data_strips()), lpn % scheme.data_strips()) == dead,
        Protection::Zones(zones) => zones.layout().place(Lpn(*lpn)).die == dead,
        _ => false,
    };
    (0..setup.user_slots).filter(on_dead).map(Lpn).collect()
}

/// Whether the scheme's stripes are made of logical pages.
fn is_static(setup: &Setup) -> bool {
    matches!(protection(setup), Protection::Stripes(_))
}

/// Whether the scheme's stripes are those of block groups.
fn is_group(setup: &Setup) -> bool {
    matches!(protection(setup), Protection::Groups(_))
}

/// If what the dead die held is rebuilt by now, any other die may die too.
fn survive_another(name: &str, mut fork: Session, dead: DieId, other: DieId) {
    let drained = fork.drain();
    if drained.redundancy.rebuild_s.is_some() && dead != other {
        fork.fail(Failure::Die(other));
        let (drained, lost) = aftermath(name, &mut fork);
        assert_eq!((drained.host.media_errors, &lost[..]), (0, &[][..]), "{name}, then {other}");
    }
}

/// Logical pages whose current version lies on a page that was programmed and is lost.
fn on_lost_pages(fork: &Session, setup: &Setup) -> BTreeSet<Lpn> {
    let (inventory, grid) = (fork.inventory(), Grid::new(setup.drive.geometry));
    let lost: BTreeSet<Ppn> = inventory.pages.iter().filter(|page| page.lost).map(|page| page.ppn).collect();
    let is_lost = |place: &Place| matches!(place, Place::At(slot) if lost.contains(&grid.page_of(*slot).0));
    (0..).map(Lpn).zip(&inventory.places).filter(|(_, place)| is_lost(place)).map(|(lpn, _)| lpn).collect()
}

#[test]
fn whatever_fails_at_any_step_nothing_within_the_promise_is_lost() {
    const TEST: &str = "whatever_fails_at_any_step";
    for seed in seeds(1) {
        for (survives, name, setup) in cases(seed) {
            let commands = workload(seed, setup.user_slots, 300, SMALL);
            let mut draws = Streams::new(seed).stream("test/failures");
            let result = stepwise(&setup, &commands, 8, &mut |step, fork| {
                let fork = fork();
                let failure = any_failure(&fork, &mut draws);
                let name = format!("{name}, {failure:?} at step {step}; {}", again(TEST, seed));
                let more = if step.is_multiple_of(5) { &commands[..60] } else { &[] };
                survive(&name, survives, &setup, fork, failure, more);
            });
            assert!(result.flash.erases["gc"] > 0, "{name}: the workload must cause GC");
            for kind in ["read", "write", "flush", "discard"] {
                assert!(result.host.requests[kind] > 0, "{name}: no {kind} was in flight");
            }
        }
    }
}

#[test]
fn each_die_may_fail_at_any_step() {
    const TEST: &str = "each_die_may_fail";
    for seed in seeds(1) {
        for (survives, name, setup) in cases(seed + 1) {
            let commands = workload(seed, setup.user_slots, 40, SMALL);
            stepwise(&setup, &commands, 9, &mut |step, fork| {
                for die in (0..DIES as u16).map(DieId) {
                    let name = format!("{name}, {die} at step {step}; {}", again(TEST, seed));
                    survive(&name, survives, &setup, fork(), Failure::Die(die), &[]);
                    let mut fork = fork();
                    fork.fail(Failure::Die(die));
                    survive_another(&name, fork, die, DieId((step % u64::from(DIES)) as u16));
                }
            });
        }
    }
}

#[test]
fn bytes_survive_as_tags_do() {
    const TEST: &str = "bytes_survive";
    for seed in seeds(1) {
        for (survives, name, setup) in cases(seed) {
            let setup = Setup { payload: PayloadKind::Page, ..setup };
            let commands = workload(seed, setup.user_slots, 80, Mix { partial: 0.5, ..SMALL });
            let mut draws = Streams::new(seed).stream("test/failures");
            stepwise(&setup, &commands, 16, &mut |step, fork| {
                let fork = fork();
                let failure = any_failure(&fork, &mut draws);
                let name = format!("{name}, {failure:?} at step {step}; {}", again(TEST, seed));
                survive(&name, survives, &setup, fork, failure, &commands[..20]);
            });
        }
    }
}

#[test]
fn beyond_the_promise_exactly_what_is_lost_is_reported() {
    const TEST: &str = "beyond_the_promise";
    for seed in seeds(1) {
        for (survives, name, setup) in cases(seed) {
            let commands = workload(seed, setup.user_slots, 200, SMALL);
            let mut draws = Streams::new(seed).stream("test/failures");
            let mut lost_at_all = 0;
            stepwise(&setup, &commands, 8, &mut |step, fork| {
                let mut fork = fork();
                fork.drain();
                let audited = fork.audit().unwrap_or_else(|wrong| panic!("{name} step {step}: {wrong}"));
                assert_eq!(audited.broken, 0, "{name} step {step}");
                assert!(survives == 0 || audited.uncovered == 0, "{name} step {step}: {} uncovered", audited.uncovered);
                let failures: Vec<_> = (0..=survives).map(|_| any_failure(&fork, &mut draws)).collect();
                if is_group(&setup) {
                    fork.stop_rebuild();
                }
                failures.iter().for_each(|&failure| fork.fail(failure));
                let name = format!("{name}, {failures:?} at step {step}; {}", again(TEST, seed));
                // Parity on its way to flash is neither in memory nor there yet.
                if is_static(&setup) || is_group(&setup) {
                    fork.drain();
                }
                let expected = beyond_repair(&fork, &setup);
                // The sums of open groups are known.
                let mut open = if is_group(&setup) { BTreeSet::new() } else { in_open_rows(&fork) };
                // Code zones over rows and groups may bring back more pages: those that a read decodes from code.
                if setup.scheme.name.contains('+') {
                    open.extend(fork.inventory().code.iter().flat_map(|page| page.of.iter().copied()));
                }
                let found = fork.read_back();
                assert_eq!(found.wrong, None, "{name}");
                assert_eq!(without(&found.lost, &open), without(&expected, &open), "{name}");
                assert!(found.lost.iter().all(|lpn| expected.contains(lpn)), "{name}");
                lost_at_all += expected.len();
            });
            assert!(lost_at_all > 0, "{name}: nothing was ever beyond repair");
        }
    }
}

#[test]
fn failures_beyond_the_promise_while_requests_are_in_flight_are_never_answered_with_wrong_bytes() {
    const TEST: &str = "failures_beyond_the_promise_while";
    for seed in seeds(1) {
        for (survives, name, setup) in cases(seed) {
            let commands = workload(seed, setup.user_slots, 200, SMALL);
            let mut draws = Streams::new(seed).stream("test/failures");
            stepwise(&setup, &commands, 8, &mut |step, fork| {
                let mut fork = fork();
                let failures: Vec<_> = (0..=survives).map(|_| any_failure(&fork, &mut draws)).collect();
                failures.iter().for_each(|&failure| fork.fail(failure));
                aftermath(&format!("{name}, {failures:?} at step {step}; {}", again(TEST, seed)), &mut fork);
            });
        }
    }
}

/// On how many steps an audit, and on how many dead dies a read, noticed what the scheme does.
fn noticed(scheme: &str, seed: u64) -> (u32, u32) {
    let off = Buffer { kind: BufferKind::Off, ..Buffer::default() };
    let setup = small(&SchemeChoice::named(scheme), off, 1, seed);
    let commands = workload(seed, setup.user_slots, 600, Mix { reads: 0.0, discards: 0.0, partial: 0.0, max_pages: 3, ..SMALL });
    let mut session = Session::new(&setup).unwrap();
    let (mut audited, mut read) = (0, 0);
    session.run_stepwise(&mut commands.iter().copied(), Pace::Open, &mut |step, fork| {
        if !step.is_multiple_of(16) {
            return;
        }
        let mut drained = fork();
        drained.drain();
        if drained.audit().is_err() {
            audited += 1;
            for die in 0..DIES as u16 {
                let mut fork = drained.clone();
                fork.fail(Failure::Die(DieId(die)));
                read += u32::from(fork.read_back().wrong.is_some());
            }
        }
    });
    (audited, read)
}

#[test]
fn an_audit_and_a_dead_die_each_catch_the_canary() {
    // A scheme that answers too early leaves nothing wrong in flash: only power cuts show it (torture).
    for entry in SCHEMES.iter().filter(|entry| entry.canary && entry.name != "ds-raid-hasty") {
        // Only some histories make what was forgotten matter to a read.
        let mut found = (1..=8).map(|seed| noticed(entry.name, seed));
        assert!(found.any(|(audited, read)| audited > 0 && read > 0), "{}: nothing noticed", entry.name);
    }
}
