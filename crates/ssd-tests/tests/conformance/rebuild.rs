//! Rebuild: a die dies under load, what it held is written to the others while requests go on,
//! and then another die may die.

use crate::common::codewords::{beyond_repair, in_open_rows, without};
use crate::common::{MIX, Mix, buffers, drive, run, seeds, setup, workload};
use flashkeep_ssd as ssd;
use ssd::{Buffer, BufferKind, Failure, Faults, Pace, PayloadKind, Session, Setup};
use vocab::{Bytes, DieId, Fua, HostCommand, HostOp, Lba, Nanos, SimTime, StreamId};

const DIES: u32 = 6;
/// Superblocks that may be open at a time: those of the host and of GC.
const WRITE_POINTERS: usize = 2;
const LOAD: Mix = Mix { reads: 0.4, discards: 0.03, every: 150_000, ..MIX };

fn again(test: &str, seed: u64) -> String {
    format!("repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance rebuild::{test}")
}

/// Schemes that can rebuild, with room for it: half of what they could keep.
fn cases(seed: u64) -> Vec<(String, Setup)> {
    let mut all = Vec::new();
    for (scheme, options) in
        [("ds-raid", &[][..]), ("mds-groups", &[]), ("raid5", &[("data_strips", "3")]), ("raid5", &[("data_strips", "1")])]
    {
        for (name, buffer) in buffers() {
            let mut setup = setup(scheme, drive(DIES, 16, 8, 1), 1.0);
            setup.scheme.options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
            let most = ssd::user_slots_max(&setup.drive, &setup.scheme, &setup.gc).expect("a valid setup");
            (setup.user_slots, setup.buffer, setup.seed) = (most / 2, buffer, seed);
            setup.precondition.fill = 0.9;
            all.push((format!("{scheme} {options:?} {name}"), setup));
        }
    }
    all
}

/// Fails each other die than `first` on a fork of its own: no page may be wrong or lost.
fn survives_each_other_die(session: &Session, first: DieId, name: &str) {
    for second in (0..DIES as u16).map(DieId).filter(|&die| die != first) {
        let mut fork = session.clone();
        fork.fail(Failure::Die(second));
        let found = fork.read_back();
        assert_eq!((found.wrong, &found.lost[..]), (None, &[][..]), "{name}, then {second}");
    }
}

/// Runs half of the workload, loses a die, and runs the rest.
fn lose_under_load(setup: &Setup, commands: &[HostCommand], die: DieId) -> (Session, ssd::RunResult) {
    let faults = Faults { dead_die: Some(die.0), dead_die_at_request: commands.len() as u64 / 2, ..setup.faults };
    let mut session = Session::new(&Setup { faults, ..setup.clone() }).unwrap_or_else(|e| panic!("{e}"));
    let result = run(&mut session, commands, Pace::Closed { depth: 6 });
    (session, result)
}

#[test]
fn when_a_rebuild_is_done_another_die_may_die() {
    const TEST: &str = "when_a_rebuild_is_done";
    for seed in seeds(1) {
        for (name, setup) in cases(seed) {
            let commands = workload(seed, setup.user_slots, 600, LOAD);
            for first in (0..DIES as u16).map(DieId) {
                let (session, result) = lose_under_load(&setup, &commands, first);
                let name = format!("{name}, {first}; {}", again(TEST, seed));
                assert_eq!(
                    (result.host.media_errors, result.host.write_errors, result.redundancy.rebuild_left),
                    (0, 0, 0),
                    "{name}"
                );
                assert!(result.redundancy.rebuild_s.is_some_and(|s| s > 0.0), "{name}: {:?}", result.redundancy.rebuild_s);
                assert!(result.flash.programs["rebuild"] > 0, "{name}");
                session.check_counts();
                let found = session.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
                assert_eq!((found.broken, found.uncovered), (0, 0), "{name}");
                survives_each_other_die(&session, first, &name);
            }
        }
    }
}

#[test]
fn one_rebuild_follows_another_while_there_are_dies_left() {
    const TEST: &str = "one_rebuild_follows_another";
    for seed in seeds(1) {
        for (name, mut setup) in cases(seed) {
            // Three of six dies must hold it all.
            setup.user_slots /= 2;
            let commands = workload(seed, setup.user_slots, 300, LOAD);
            let mut session = Session::new(&setup).unwrap();
            for die in [2, 5, 3].map(DieId) {
                let name = format!("{name}, {die}; {}", again(TEST, seed));
                session.fail(Failure::Die(die));
                let result = run(&mut session, &commands, Pace::Closed { depth: 4 });
                // Stripes of four strips have no fourth die left after the third death.
                let left = die.0 == 3 && name.contains("\"3\"");
                assert_eq!(result.redundancy.rebuild_left > 0, left, "{name}");
                assert_eq!(result.redundancy.rebuild_s.is_some(), !left, "{name}");
                assert!(session.audit().is_ok_and(|found| left || (found.broken, found.uncovered) == (0, 0)), "{name}");
                let found = session.read_back();
                assert_eq!((found.wrong, &found.lost[..]), (None, &[][..]), "{name}");
            }
        }
    }
}

#[test]
fn a_second_loss_before_the_rebuild_ends_takes_exactly_what_was_not_rebuilt() {
    const TEST: &str = "a_second_loss_before";
    for seed in seeds(1) {
        for (name, setup) in cases(seed) {
            let (name, commands) = (format!("{name}; {}", again(TEST, seed)), workload(seed, setup.user_slots, 40, LOAD));
            let faults = Faults { rebuild_at_once: 1, ..setup.faults };
            let setup = Setup { faults, ..setup };
            let mut session = Session::new(&setup).unwrap();
            session.fail(Failure::Die(DieId(1)));
            let mut losses = Vec::new();
            session.run_stepwise(&mut commands.iter().copied(), Pace::Open, &mut |step, fork| {
                if step.is_multiple_of(40) {
                    let mut fork = fork();
                    fork.stop_rebuild();
                    fork.drain();
                    fork.fail(Failure::Die(DieId(2)));
                    let expected = beyond_repair(&fork, &setup);
                    let open = in_open_rows(&fork);
                    let found = fork.read_back();
                    let lost = (without(&found.lost, &open), without(&expected, &open));
                    assert_eq!((found.wrong, lost.0), (None, lost.1), "{name}, step {step}");
                    losses.push(expected.len());
                }
            });
            session.fail(Failure::Die(DieId(2)));
            assert_eq!(session.read_back().lost, [], "{name}: the rebuild was over");
            let shrinks = losses[0] > 10 && losses.is_sorted_by(|before, after| before >= after);
            assert!(shrinks, "{name}: a rebuild leaves less and less to lose, found {losses:?}");
        }
    }
}

/// A die that dies in a life is rebuilt without time. The drive is then as whole as after a rebuild in time: nothing is left, every parity is
/// right, every page can be read, and each other die may die. With a spare die, too.
#[test]
fn a_rebuild_without_time_leaves_a_drive_as_whole_as_one_in_time() {
    const TEST: &str = "a_rebuild_without_time";
    for seed in seeds(1) {
        for (name, setup) in cases(seed) {
            let name = format!("{name}; {}", again(TEST, seed));
            let mut timed = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
            timed.fail(Failure::Die(DieId(2)));
            assert!(timed.drain().flash.programs["rebuild"] > 0 && timed.is_whole(), "{name}");
            for spare in [false, true] {
                let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
                let after = session.lose_die(DieId(2), spare);
                assert_eq!((after.left, after.is_replaced, session.is_dead(DieId(2))), (0, spare, !spare), "{name}");
                assert!(after.programmed > 0 && session.is_whole(), "{name}");
                session.check_counts();
                let found = session.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
                assert_eq!((found.broken, found.uncovered), (0, 0), "{name}");
                survives_each_other_die(&session, DieId(2), &name);
            }
        }
    }
}

#[test]
fn without_a_spare_die_there_is_no_rebuild_and_the_result_says_so() {
    let setup = Setup { seed: 1, ..setup("raid5", drive(DIES, 16, 8, 1), 0.6) };
    let (session, result) = lose_under_load(&setup, &workload(1, setup.user_slots, 600, LOAD), DieId(3));
    assert_eq!((result.redundancy.rebuild_s, result.flash.programs["rebuild"]), (None, 0));
    assert!(result.redundancy.rebuild_left > 0);
    assert_eq!(session.audit().map(|found| found.uncovered), Ok(0));
}

/// Logical pages that lie on another die than left-symmetric rotation gives their strips.
fn away_from_home(session: &Session, width: u32) -> Vec<u32> {
    let pages_of_a_die = 16 * 8;
    // A stripe follows the one before; where one would begin as the first of its round did, the next round is a die to the left.
    let die_of = |lpn: u32| {
        let (mut parity, mut first) = (DIES - 1, DIES - 1);
        for _ in 0..lpn / width {
            parity = (parity + width + 1) % DIES;
            if parity == first {
                first = (first + DIES - 1) % DIES;
                parity = first;
            }
        }
        (parity + 1 + lpn % width) % DIES
    };
    let is_away = |(lpn, place): &(u32, ssd::ftl::Place)| match place {
        ssd::ftl::Place::At(slot) => slot.0 / pages_of_a_die != die_of(*lpn),
        ssd::ftl::Place::Missing => true,
        ssd::ftl::Place::Unmapped => false,
    };
    (0..).zip(session.inventory().places).filter(is_away).map(|(lpn, _)| lpn).collect()
}

/// Stripes over all dies, and narrower ones whose strips went elsewhere before. Catches a drive that is not whole on the spare die, that
/// lacks room there, or that rebuilds more or less than the dead die held.
#[test]
fn on_a_spare_die_all_is_rebuilt_and_another_die_may_die() {
    for (scheme, options) in [("raid5", None), ("raid5", Some("3")), ("ppc", None), ("da-raid5", None)] {
        let mut setup = setup(scheme, drive(DIES, 16, 8, 1), 0.8);
        setup.scheme.options.extend(options.map(|strips| ("data_strips".into(), strips.into())));
        setup.scheme.options.extend((scheme == "da-raid5").then(|| ("stage".into(), "3".into())));
        setup.faults.replace_after = Some(Nanos(2_000_000));
        let commands = workload(5, setup.user_slots, 600, Mix { discards: 0.0, ..LOAD });
        for first in (0..DIES as u16).map(DieId) {
            let (mut session, result) = lose_under_load(&setup, &commands, first);
            let name = format!("{scheme} {options:?}, {first}");
            let left = (result.host.media_errors, result.host.write_errors, result.redundancy.rebuild_left);
            assert_eq!((left, result.oracle.mismatches), ((0, 0, 0), 0), "{name}");
            assert!(result.redundancy.replaced_s.is_some() && result.redundancy.rebuild_s.is_some(), "{name}");
            assert!(session.is_whole(), "{name}");
            let standing = session.standing();
            assert_eq!((standing.dead_dies, standing.exposed), (0, 0), "{name}");
            let width = options.map_or(DIES - 1, |strips| strips.parse().expect("a number"));
            assert_eq!(away_from_home(&session, width), Vec::<u32>::new(), "{name}");
            assert_eq!(session.audit().map(|found| (found.broken, found.uncovered)), Ok((0, 0)), "{name}");
            survives_each_other_die(&session, first, &name);
        }
    }
}

/// Log-structured schemes rebuild into spare room, then the spare die gives that back. Catches one that never comes, superblocks that do
/// not have it as a member again, and pages whose codewords are not what another loss takes them for.
#[test]
fn superblocks_have_a_spare_die_as_a_member_again() {
    for (scheme, options) in [("ds-raid", None), ("mds-groups", None), ("mds-groups", Some("2"))] {
        let mut setup = setup(scheme, drive(DIES, 16, 8, 1), 0.5);
        setup.scheme.options.extend(options.map(|parities| ("m".into(), parities.into())));
        setup.faults.replace_after = Some(Nanos(2_000_000));
        let commands = workload(5, setup.user_slots, 600, LOAD);
        for first in (0..DIES as u16).map(DieId) {
            let (mut session, result) = lose_under_load(&setup, &commands, first);
            let name = format!("{scheme} {options:?}, {first}");
            assert!(result.redundancy.replaced_s.is_some() && result.redundancy.rebuild_s.is_some(), "{name}");
            let after = run(&mut session, &workload(6, setup.user_slots, 1500, LOAD), Pace::Closed { depth: 6 });
            for result in [&result, &after] {
                let errors = (result.host.media_errors, result.host.write_errors, result.oracle.mismatches);
                assert_eq!(errors, (0, 0, 0), "{name}");
            }
            let grid = vocab::Grid::new(setup.drive.geometry);
            let superblocks = |die: DieId| {
                let pages = session.inventory().pages;
                let of_die = pages.iter().map(|page| grid.split_block(grid.split(page.ppn).0)).filter(|(of, _)| *of == die);
                of_die.map(|(_, superblock)| superblock).collect::<std::collections::BTreeSet<_>>()
            };
            // The workload writes every superblock several times over. The die has no page of the first row of one that is open.
            let (own, of_other) = (superblocks(first), superblocks(DieId((first.0 + 1) % DIES as u16)));
            assert!(of_other.difference(&own).count() <= WRITE_POINTERS, "{name}: {own:?}, of another die {of_other:?}");
            assert!(session.is_whole(), "{name}");
            let standing = session.standing();
            assert_eq!((standing.dead_dies, standing.exposed), (0, 0), "{name}");
            assert_eq!(session.audit().map(|found| (found.broken, found.uncovered)), Ok((0, 0)), "{name}");
            survives_each_other_die(&session, first, &name);
        }
    }
}

/// A replacement whose time comes after the last answer, and schemes without a place for a spare die. Catches a run that ends before the
/// replacement, or before the rebuild, and one whose spare die comes at another time.
#[test]
fn a_run_goes_on_until_its_dead_die_is_replaced_and_rebuilt() {
    let hour = 3_600_000_000_000;
    let faults = Faults { replace_after: Some(Nanos(hour)), ..Faults::default() };
    let late = Setup { faults, ..setup("raid5", drive(DIES, 16, 8, 1), 0.6) };
    let (mut session, result) = lose_under_load(&late, &workload(1, late.user_slots, 600, LOAD), DieId(3));
    let replaced = result.redundancy.replaced_s.expect("it was replaced");
    // The die died during the run, whose requests take less than a second.
    assert!((3600.0..3601.0).contains(&replaced), "{replaced} s");
    assert!(result.redundancy.rebuild_s.is_some() && result.redundancy.rebuild_left == 0);
    assert_eq!((session.standing().dead_dies, session.is_whole()), (0, true));
    for scheme in ["none", "code-zones"] {
        let faults = Faults { dead_die: Some(1), ..faults };
        let refused =
            Session::new(&Setup { faults, ..setup(scheme, drive(8, 32, 8, 1), 0.3) }).err().map(|error| error.to_string());
        let refused = refused.unwrap_or_default();
        assert!(refused.starts_with(&format!("faults.replace_after: scheme {scheme}: it cannot rebuild")), "{refused}");
    }
}

#[test]
fn rebuild_can_be_switched_off() {
    let faults = Faults { rebuild: false, ..Faults::default() };
    for (name, base) in cases(1) {
        let setup = Setup { faults, ..base };
        let (_, result) = lose_under_load(&setup, &workload(1, setup.user_slots, 600, LOAD), DieId(3));
        assert_eq!((result.redundancy.rebuild_s, result.flash.programs["rebuild"]), (None, 0), "{name}");
        assert_eq!((result.host.media_errors, result.host.write_errors), (0, 0), "{name}");
    }
}

#[test]
fn a_stripe_wider_than_the_drive_is_refused_with_the_valid_range() {
    let mut setup = setup("raid5", drive(DIES, 16, 8, 1), 0.6);
    setup.scheme.options.insert("data_strips".into(), "6".into());
    let error = Session::new(&setup).err().expect("six data strips and parity need seven dies").to_string();
    assert_eq!(error, "scheme raid5, data_strips: found `6`, valid are 1 to 5");
}

/// A page that a partial parity brings back without a read is there at once; the other one of the request
/// has to be read first, whether the buffer has room or not.
#[test]
fn a_write_that_completes_one_page_at_once_waits_for_the_other() {
    let write = |lba, sectors| HostCommand {
        at: SimTime::ZERO,
        op: HostOp::Write(Fua::No),
        lba: Lba(lba),
        sectors,
        stream: StreamId::default(),
    };
    let whole = |pages: &[u64]| -> Vec<HostCommand> { pages.iter().map(|page| write(page * 8, 8)).collect() };
    let others: Vec<u64> = (20..40).step_by(2).collect();
    for ahead in [&[][..], &others] {
        for (die, page) in (0..3).flat_map(|die| (0..6).map(move |page| (DieId(die), page))) {
            let mut setup = setup("ppc", drive(3, 32, 8, 1), 0.5);
            (setup.payload, setup.faults.rebuild) = (PayloadKind::Page, false);
            setup.buffer = Buffer { kind: BufferKind::Plp, size: Bytes(32 << 10), ..Buffer::default() };
            let mut session = Session::new(&setup).unwrap();
            session.fail(Failure::Die(die));
            // Out of the buffer, into partial parities of one page each.
            run(&mut session, &whole(&[page, page + 1]), Pace::Closed { depth: 1 });
            run(&mut session, &whole(&others), Pace::Closed { depth: 1 });
            let mut commands = whole(ahead);
            commands.push(write(page * 8 + 3, 9));
            let result = run(&mut session, &commands, Pace::Closed { depth: 16 });
            let name = format!("{die} dead, pages {page} and {}, behind {ahead:?}", page + 1);
            assert_eq!((result.oracle.mismatches, result.host.write_errors), (0, 0), "{name}");
            let found = session.read_back();
            assert_eq!((found.wrong, &found.lost[..]), (None, &[][..]), "{name}");
        }
    }
}
