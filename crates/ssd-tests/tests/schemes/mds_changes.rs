//! Block groups over a drive's life: codes that change on the fly, mixed encodings, bad blocks,
//! cards that are added.

use crate::common::{MIX, Mix, drive, read_all, run, setup, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{Failure, Pace, PayloadKind, Session, Setup};
use vocab::{BlockAddr, DieId, Fua, HostCommand, HostOp, Lba, SimTime, StreamId};

fn choice(options: &[(&str, &str)]) -> SchemeChoice {
    let options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    SchemeChoice { name: "mds-groups".into(), options }
}

fn groups(options: &[(&str, &str)], drive: ssd::Drive, share: f64) -> Setup {
    setup_of(&choice(options), drive, share)
}

const DEPTH: Pace = Pace::Closed { depth: 8 };
const WRITES: Mix = Mix { reads: 0.1, discards: 0.02, flushes: 0.0, ..MIX };

fn assert_intact(name: &str, session: &mut Session, setup: &Setup) -> ssd::RunResult {
    let after = session.run(&mut read_all(setup.user_slots), DEPTH, &mut |_| {});
    assert_eq!((session.first_mismatch(), after.host.media_errors), (None, 0), "{name}");
    session.check_counts();
    if let Err(what) = session.audit() {
        panic!("{name}: {what}");
    }
    after
}

/// A drive of (7,1) groups, in use for a while.
fn used(options: &[(&str, &str)], seed: u64) -> (Session, Setup) {
    let base = groups(options, drive(8, 24, 8, 1), 0.7);
    let setup = Setup { seed, payload: PayloadKind::Page, ..base };
    let mut session = Session::new(&setup).unwrap();
    let result = run(&mut session, &workload(seed, setup.user_slots, 1_500, WRITES), DEPTH);
    assert!(result.flash.erases["gc"] > 0 && result.host.write_errors == 0);
    (session, setup)
}

#[test]
fn after_a_change_groups_of_the_old_code_are_collected_first_and_mixed_encodings_coexist() {
    let (mut session, setup) = used(&[("k", "7"), ("then", "6+2")], 1);
    assert_eq!(session.group_stats().outdated, 0);
    session.change_code().unwrap();
    let commands = workload(100, setup.user_slots, 1_500, WRITES);
    let (mut last, mut most, mut mixed, mut others) = (session.group_stats(), 0, 0, 0);
    session.run_stepwise(&mut commands.iter().copied(), DEPTH, &mut |step, fork| {
        if step % 40 > 0 {
            return;
        }
        let mut fork = fork();
        let stats = fork.group_stats();
        if last.outdated > 0 && stats.outdated > 0 {
            mixed += 1;
            others += (stats.collected - last.collected) - (stats.collected_outdated - last.collected_outdated);
        }
        (last, most) = (stats, most.max(stats.outdated));
        // One loss, in the midst of it, whatever the code of the group.
        fork.fail(Failure::Die(DieId((step / 40 % 8) as u16)));
        let found = fork.read_back();
        assert_eq!((found.wrong, found.lost), (None, vec![]), "step {step}");
    });
    let stats = session.group_stats();
    assert!(most > 10 && mixed > 10 && stats.outdated == 0, "{stats:?}, at most {most} old, {mixed} mixed moments");
    assert!(stats.collected_outdated > 10 && others == 0, "{stats:?}: {others} others collected while old ones were left");
    // Two losses, once all groups have the new code.
    for (a, b) in [(0, 1), (2, 7), (5, 6)] {
        let mut fork = session.clone();
        fork.fail(Failure::Die(DieId(a)));
        fork.fail(Failure::Die(DieId(b)));
        assert_intact(&format!("dies {a} and {b}"), &mut fork, &setup);
    }
}

#[test]
fn an_idle_drive_brings_its_groups_to_the_new_code_by_itself() {
    let (mut session, setup) = used(&[("k", "7"), ("then", "6+2+block")], 2);
    session.change_code().unwrap();
    // The code counts from the next group on: write until both open groups are full.
    let mut outdated = Vec::new();
    for seed in 0..40 {
        run(&mut session, &workload(seed, setup.user_slots, 20, WRITES), DEPTH);
        session.drain();
        outdated.push(session.group_stats().outdated);
    }
    assert_eq!(outdated.last(), Some(&0), "{outdated:?}");
    let spare = Setup { user_slots: setup.user_slots, ..setup };
    for (a, b) in [(0, 4), (3, 7)] {
        let mut fork = session.clone();
        fork.fail(Failure::Die(DieId(a)));
        fork.fail(Failure::Die(DieId(b)));
        assert_intact(&format!("dies {a} and {b}"), &mut fork, &spare);
    }
}

#[test]
fn the_code_changes_by_itself_after_groups_or_with_wear() {
    for (change, from) in [("change_after_groups", "30"), ("change_at_pe", "3")] {
        let (mut session, setup) = used(&[("k", "7"), ("then", "6+2"), (change, from)], 3);
        for seed in 0..30 {
            run(&mut session, &workload(seed, setup.user_slots, 100, WRITES), DEPTH);
        }
        session.drain();
        assert_eq!(session.group_stats().outdated, 0);
        let mut fork = session.clone();
        fork.fail(Failure::Die(DieId(1)));
        fork.fail(Failure::Die(DieId(2)));
        assert_intact(change, &mut fork, &setup);
    }
}

/// Section 3.4's outlook: a drive that fails more and more gives its groups a stronger code. Reads fail now and then here, and
/// after this many the drive survives two dies.
#[test]
fn the_code_changes_with_the_failures_that_the_drive_observes() {
    let base = groups(&[("k", "7"), ("then", "6+2"), ("change_at_failures", "20")], drive(8, 24, 8, 1), 0.6);
    let faults = ssd::Faults { uncorrectable_reads: 2e-3, ..base.faults };
    let setup = Setup { faults, payload: PayloadKind::Page, ..base };
    let mut session = Session::new(&setup).unwrap();
    let mut outdated_after = Vec::new();
    for seed in 0..30 {
        let result = run(&mut session, &workload(seed, setup.user_slots, 300, Mix { reads: 0.4, ..WRITES }), DEPTH);
        assert_eq!(session.first_mismatch(), None);
        let rebuilt = result.redundancy.rebuilt_reads;
        outdated_after.push((rebuilt, session.group_stats().outdated + session.group_stats().collected_outdated as u32));
    }
    let changed = outdated_after.iter().position(|(_, outdated)| *outdated > 0).expect("the code has changed");
    assert!(changed > 0, "not before failures: {outdated_after:?}");
    session.drain();
    assert_eq!(session.group_stats().outdated, 0, "idle time brings all groups to the new code");
    assert_eq!((session.standing().exposed, session.standing().lost), (0, 0));
    session.fail(Failure::Die(DieId(1)));
    session.fail(Failure::Die(DieId(2)));
    let found = session.read_back();
    // A read in a thousand still fails, and with two dies dead nothing is left for it.
    assert!(found.wrong.is_none() && found.lost.len() <= 5, "{:?}", found.lost);
}

#[test]
fn a_change_has_to_have_a_code_and_a_scheme_with_codes() {
    let (mut session, _) = used(&[("k", "7")], 4);
    assert!(session.change_code().unwrap_err().to_string().contains("then: found none"));
    let mut other = Session::new(&setup("ds-raid", drive(6, 16, 8, 1), 0.5)).unwrap();
    assert!(other.change_code().unwrap_err().to_string().contains("mds-groups"));
    assert!(other.grown(3).err().unwrap().to_string().contains("cannot grow"));
}

#[test]
fn a_drive_grows_by_cards_and_keeps_its_data() {
    // 6 dies on 2 channels become 9 on 3, then 12 on 4.
    for (options, channels) in
        [(&[][..], [3, 4]), (&[("k", "2"), ("block_parity", "yes")][..], [3, 4]), (&[("m", "2")][..], [3, 5])]
    {
        let base = groups(options, drive(6, 20, 8, 1), 0.8);
        let setup = Setup { payload: PayloadKind::Page, ..base };
        let mut session = Session::new(&setup).unwrap();
        run(&mut session, &workload(1, setup.user_slots, 1_500, WRITES), DEPTH);
        for (round, channels) in channels.into_iter().enumerate() {
            let dies = 3 * channels as u16;
            session = session.grown(channels).unwrap();
            // At once, with groups of the old width and none of the new.
            let mut fork = session.clone();
            assert_intact("grown", &mut fork, &setup);
            for die in [0, 5, dies - 1] {
                let mut fork = session.clone();
                fork.fail(Failure::Die(DieId(die)));
                assert_intact(&format!("{options:?} on {channels} channels, die {die}"), &mut fork, &setup);
                let more = run(&mut fork, &workload(7, setup.user_slots, 600, WRITES), DEPTH);
                assert_eq!((more.host.write_errors, more.host.media_errors), (0, 0));
                assert_intact(&format!("{options:?} on {channels} channels, die {die}, later"), &mut fork, &setup);
            }
            let programs = run(&mut session, &workload(2 + round as u64, setup.user_slots, 2_500, WRITES), DEPTH);
            assert_eq!((programs.host.write_errors, programs.host.media_errors), (0, 0));
            // New groups span all dies: new ones wear, too.
            let pe: Vec<u32> = programs.wear.pe_cycles.chunks(20).map(|die| die.iter().sum()).collect();
            assert_eq!(pe.len(), usize::from(dies));
            assert!(pe.iter().all(|&cycles| cycles > 0), "{options:?}: cycles by die {pe:?}");
            assert_intact("in use", &mut session, &setup);
            for die in 0..dies {
                let mut fork = session.clone();
                fork.fail(Failure::Die(DieId(die)));
                assert_intact(&format!("{options:?} grown and used, die {die}"), &mut fork, &setup);
            }
        }
    }
}

/// From 24 dies to 36: what covers a page takes a second word, and groups from before keep theirs.
#[test]
fn a_drive_that_grows_past_32_dies_keeps_what_its_parities_cover() {
    let setup = groups(&[("k", "5")], drive(24, 12, 4, 1), 0.6);
    let mut session = Session::new(&setup).unwrap();
    run(&mut session, &workload(1, setup.user_slots, 600, WRITES), DEPTH);
    let mut session = session.grown(3).unwrap();
    assert_intact("grown", &mut session.clone(), &setup);
    let result = run(&mut session, &workload(2, setup.user_slots, 1_500, WRITES), DEPTH);
    assert_eq!((result.host.write_errors, result.host.media_errors), (0, 0));
    let used: Vec<u32> = session.inventory().pages.iter().flat_map(|page| page.coverage.iter()).collect();
    assert!(used.iter().any(|die| *die >= 32), "parities cover dies that were added");
    for die in [0, 23, 24, 35] {
        let mut fork = session.clone();
        fork.fail(Failure::Die(DieId(die)));
        assert_intact(&format!("die {die}"), &mut fork, &setup);
    }
}

#[test]
fn growth_that_the_code_cannot_follow_is_refused() {
    let fixed = groups(&[("k", "5")], drive(6, 16, 8, 1), 0.5);
    let said = |setup: &Setup, channels| Session::new(setup).unwrap().grown(channels).err().expect("refused").to_string();
    assert!(said(&fixed, 3).contains("valid k are 2, 8"), "{}", said(&fixed, 3));
    assert!(said(&fixed, 2).contains("can only get more"));
    assert!(said(&groups(&[], drive(6, 16, 8, 1), 0.5), 44).contains("2 to 128"));
}

#[test]
fn bad_blocks_count_as_zeros_until_a_group_is_given_up() {
    for (share, options) in [
        (0.05, &[("m", "2")][..]),
        (0.1, &[("k", "2"), ("block_parity", "yes")][..]),
        (0.25, &[("k", "2")][..]),
        (0.25, &[("k", "1"), ("m", "2")][..]),
    ] {
        let mut setup = groups(options, drive(6, 60, 8, 1), 0.35);
        setup.age.bad_blocks = share;
        let mut session = Session::new(&setup).unwrap();
        let result = run(&mut session, &workload(5, setup.user_slots, 6_000, WRITES), DEPTH);
        assert!(result.flash.erases["gc"] > 0 && result.host.write_errors == 0, "{options:?}");
        assert_intact(&format!("{options:?}"), &mut session, &setup);
        for die in 0..6 {
            let mut fork = session.clone();
            fork.fail(Failure::Die(DieId(die)));
            assert_intact(&format!("{options:?}, die {die}"), &mut fork, &setup);
        }
    }
}

#[test]
fn blocks_that_go_bad_in_use_lose_nothing() {
    for options in [&[][..], &[("block_parity", "yes")][..], &[("k", "2"), ("block_parity", "yes")][..]] {
        let setup = groups(options, drive(6, 30, 8, 1), 0.5);
        let mut session = Session::new(&setup).unwrap();
        for round in 0..25u64 {
            let block = (round * 37 + 11) % 180;
            session.fail(Failure::Block(BlockAddr(block as u32)));
            let result = run(&mut session, &workload(round, setup.user_slots, 150, WRITES), DEPTH);
            assert_eq!((result.host.write_errors, result.host.media_errors), (0, 0), "{options:?}, round {round}");
            // Read and written until nothing depends on the block any more.
            for lpn in 0..u64::from(setup.user_slots) {
                let write = HostCommand {
                    at: SimTime(0),
                    op: HostOp::Write(Fua::No),
                    lba: Lba(lpn * 8),
                    sectors: 8,
                    stream: StreamId::default(),
                };
                run(&mut session, &[write], DEPTH);
            }
            assert_intact(&format!("{options:?}, round {round}"), &mut session, &setup);
        }
    }
}
