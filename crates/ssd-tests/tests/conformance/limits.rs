//! Limits on read disturb and retention beside any scheme: recounted from the blocks before every event, as `disturb` does
//! for DA-RAID-5.

use crate::common::{MIX, again, drive, run, schemes, seeds, setup_of, workload};
use crate::disturb::{SECOND, T_READ, hot_reads, limited, watch};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{Pace, PayloadKind, Recycled, Session, Setup};

/// Every way of writing, and a scheme with a cache of its own.
const SCHEMES: [&str; 6] = ["none", "raid5", "ppc", "ds-raid", "mds-groups", "code-zones"];

/// The scheme with limits, which end in a margin of a fifth: a superblock takes longer to move than a block. A block of a
/// segment may wait for two victims before it, of a collector that moves page by page on one die.
fn with_limits(scheme: &str, options: &[(&str, &str)]) -> Setup {
    let margin = if scheme == "code-zones" { "50" } else { "20" };
    let options: Vec<(&str, &str)> = [("limits.margin", margin)].iter().chain(options).copied().collect();
    limited(&format!("{scheme}+limits"), &options)
}

/// Catches a way of writing whose reads are not counted, or whose units are not those of their most read block.
#[test]
fn whatever_the_scheme_no_block_is_read_more_often_than_it_may() {
    for scheme in SCHEMES {
        for pace in [Pace::Closed { depth: 4 }, Pace::Open] {
            let name = format!("{scheme} {pace:?}; {}", again("whatever_the_scheme_no_block", 1));
            let setup = with_limits(scheme, &[("limits.t_read", "400")]);
            let commands = hot_reads(1, setup.user_slots, 8_000, 120_000);
            let (worst, result, session) = watch(&name, &setup, &commands, pace);
            assert!(worst.reads <= T_READ, "{name}: {} reads", worst.reads);
            assert!(worst.reads > T_READ * 6 / 10, "{name}: recycled after {} reads, far too soon", worst.reads);
            let recycled = session.recycled();
            assert!(recycled.reads_idle + recycled.reads_at_once > 2, "{name}: {recycled:?}");
            assert!(result.flash.erases["refresh"] > 0 && result.flash.programs["refresh"] > 0, "{name}");
        }
    }
}

/// Catches an age that is not that of a unit's oldest block, and a drive of superblocks that never counts as idle.
#[test]
fn whatever_the_scheme_data_of_an_idle_drive_grow_no_older_than_they_may() {
    for scheme in SCHEMES {
        let setup = with_limits(scheme, &[("limits.t_retention", "20s")]);
        let commands = hot_reads(3, setup.user_slots, 600, SECOND / 10);
        let (worst, result, session) = watch(scheme, &setup, &commands, Pace::Open);
        let recycled = session.recycled();
        assert!(recycled.retention_idle > 5, "{scheme}: {recycled:?}");
        assert_eq!((recycled.reads_idle, recycled.reads_at_once), (0, 0), "{scheme}");
        assert!(worst.age.0 < 20 * SECOND, "{scheme}: data {:?} old", worst.age);
        let margin_begins = if scheme == "code-zones" { 10 } else { 16 };
        assert!(worst.age.0 >= margin_begins * SECOND, "{scheme}: recycled at {:?}, far too soon", worst.age);
        assert!(result.replay.simulated_s < 61.0, "{scheme}: after the last answer the drive works no longer than this");
    }
}

/// Limits that nothing comes near change nothing: neither what happens nor when.
#[test]
fn limits_that_are_far_away_change_no_event() {
    for scheme in SCHEMES {
        let digest = |setup: &Setup| {
            let commands = workload(2, setup.user_slots, 1_000, MIX);
            let mut session = Session::new(setup).unwrap_or_else(|error| panic!("{scheme}: {error}"));
            let result = run(&mut session, &commands, Pace::Open);
            assert_eq!(session.recycled(), Recycled::default(), "{scheme}");
            result.replay.event_digest
        };
        assert_eq!(digest(&limited(scheme, &[])), digest(&with_limits(scheme, &[])), "{scheme}");
    }
}

/// Limits and page ECC under every scheme, on cells old enough that pages fail: nothing comes back wrong. Catches a
/// scheme that cannot be under a policy, or not with limits.
#[test]
fn every_scheme_has_limits_under_every_policy_of_page_ecc() {
    let own = |choice: &SchemeChoice| choice.name == "da-raid5";
    for seed in seeds(1) {
        for base in schemes().filter(|choice| !own(choice)) {
            for (policy, pe) in [("none", 10), ("fixed", 10_000), ("flares", 10_000)] {
                let mut choice = SchemeChoice { name: format!("{}+limits", base.name), ..base.clone() };
                choice.options.insert("limits.t_read".into(), "24".into());
                let mut setup = Setup { seed, ..setup_of(&choice, drive(5, 40, 8, 1), 0.5) };
                setup.drive.geometry.oob_size = vocab::Bytes(224);
                setup.precondition.fill = 1.0;
                (setup.age.pe_cycles, setup.age.retention) = (vocab::PeCycles(pe), vocab::Nanos(8760 * 3600 * SECOND));
                setup.errors.model = "flares".into();
                setup.ecc.policy = policy.into();
                setup.payload = PayloadKind::Tag;
                let what = format!("{choice} under {policy}, seed {seed}");
                let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{what}: {error}"));
                let commands = workload(seed, setup.user_slots, 600, crate::common::Mix { reads: 0.8, ..MIX });
                let result = run(&mut session, &commands, Pace::Open);
                assert_eq!((result.oracle.mismatches, result.host.requests.values().sum()), (0, 600), "{what}");
                session.check_counts();
                let recycled = session.recycled();
                assert!(recycled.reads_idle + recycled.reads_at_once + recycled.retention_at_once > 0, "{what}: {recycled:?}");
                assert!(policy != "flares" || result.host.media_errors == 0, "{what}");
            }
        }
    }
}
