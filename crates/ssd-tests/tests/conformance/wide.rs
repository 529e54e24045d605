//! Drives of more dies than a stripe, a row or a codeword spans: every scheme on 64 dies and on other numbers, and the loss
//! of all banks of a card at once.

use crate::common::{MIX, Mix, again, buffers, check_all, drive, promise, prove, run, schemes, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{Drive, Failure, Faults, Pace, Session, Setup};
use vocab::DieId;

const REQUESTS: u64 = 3_000;

/// A drive of few blocks for each die, on as many channels as are given.
fn wide(dies: u32, channels: u32) -> Drive {
    let mut wide = drive(dies, 20, 4, 1);
    (wide.geometry.channels, wide.geometry.dies_per_channel) = (channels, dies / channels);
    wide
}

fn choice(scheme: &str, options: &[(&str, &str)]) -> SchemeChoice {
    let options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    SchemeChoice { name: scheme.into(), options }
}

/// Every scheme with its defaults, and those that bring about sets of more than 32 dies.
fn wide_choices(dies: u32) -> Vec<SchemeChoice> {
    let all = (dies - 1).to_string();
    let row = dies.to_string();
    let spanning = [
        choice("raid5", &[("data_strips", &all)]),
        choice("ppc", &[("data_strips", &all)]),
        choice("da-raid5", &[("stage", "3"), ("data_strips", "40")]),
        choice("ds-raid", &[("row_dies", &row)]),
        choice("mds-groups", &[("k", &all)]),
    ];
    let defaults = schemes().filter(|choice| choice.options.is_empty());
    let wanted = std::env::var("FLASHKEEP_SCHEME").ok();
    let spanning = spanning.into_iter().filter(|choice| wanted.as_ref().is_none_or(|wanted| *wanted == choice.to_string()));
    defaults.chain(spanning).filter(|choice| ssd::user_slots_max(&wide(dies, 1), choice, &Default::default()).is_ok()).collect()
}

#[test]
fn every_scheme_runs_on_drives_of_40_to_128_dies_and_collects() {
    const TEST: &str = "every_scheme_runs_on_drives";
    for seed in seeds(1) {
        for dies in [40, 64, 128] {
            for (index, choice) in wide_choices(dies).into_iter().enumerate() {
                let (kind, buffer) = buffers()[index % 3];
                let base = setup_of(&choice, wide(dies, 4), 0.8);
                let precondition = ssd::Precondition { fill: 1.0, ..base.precondition };
                let setup = Setup { buffer, seed, precondition, ..base };
                let name = format!("{choice}, {dies} dies, {kind}; {}", again(TEST, seed));
                let commands = workload(seed, setup.user_slots, REQUESTS, Mix { max_pages: 40, ..MIX });
                let (result, after) = prove(&name, &setup, &commands, Pace::Closed { depth: 16 });
                assert!(result.flash.erases["gc"] > 0, "{name}: the workload must cause GC");
                assert_eq!((result.host.media_errors, result.host.write_errors, after.host.media_errors), (0, 0, 0), "{name}");
            }
        }
    }
}

/// All schemes that the issue of the papers names are among those that run.
#[test]
fn no_scheme_refuses_64_dies() {
    for entry in ssd::protect::registry::SCHEMES {
        let found = ssd::protect::registry::build(&SchemeChoice::named(entry.name), ssd::shape(&wide(64, 8)));
        assert!(found.is_ok(), "{}: {}", entry.name, found.err().expect("refused"));
    }
}

/// A die and a block of it are lost while the drive works; then, once it is rebuilt, another die.
#[test]
fn wide_drives_survive_a_die_and_once_they_are_rebuilt_another() {
    const TEST: &str = "wide_drives_survive_a_die";
    for seed in seeds(1) {
        for choice in wide_choices(64).into_iter().filter(|choice| promise(choice, &wide(64, 8)) > 0) {
            let base = setup_of(&choice, wide(64, 8), 0.5);
            let setup = Setup { seed, precondition: ssd::Precondition { fill: 0.9, ..base.precondition }, ..base };
            let name = format!("{choice}; {}", again(TEST, seed));
            let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
            let commands = workload(seed, setup.user_slots, 600, Mix { max_pages: 40, ..MIX });
            run(&mut session, &commands[..300], Pace::Closed { depth: 8 });
            session.fail(Failure::Die(DieId(37)));
            run(&mut session, &commands[300..], Pace::Closed { depth: 8 });
            check_all(&mut session, &format!("{name}, one die"));
            // Stripes over all dies have no die to rebuild on.
            if choice.options.get("data_strips").is_none_or(|strips| strips != "63") {
                assert!(session.is_whole(), "{name}: all is rebuilt");
                session.fail(Failure::Die(DieId(5)));
                check_all(&mut session, &format!("{name}, another die"));
            }
        }
    }
}

/// Greenan et al., sections 3.2 and 4: eight cards of eight banks each. Die d sits on card d mod 8, and each symbol of a
/// codeword of eight on a card of its own, so that all banks of a card may be lost at once. The same holds of rows and of
/// static stripes of eight.
#[test]
fn the_loss_of_a_card_of_eight_banks_costs_nothing_where_stripes_are_of_eight_dies() {
    let of_eight = [
        choice("mds-groups", &[("k", "7")]),
        choice("mds-groups", &[("k", "6"), ("m", "2")]),
        choice("mds-groups", &[("k", "7"), ("block_parity", "yes")]),
        choice("ds-raid", &[("row_dies", "8")]),
        choice("raid5", &[("data_strips", "7")]),
        choice("ppc", &[("data_strips", "7")]),
    ];
    for (choice, card) in of_eight.iter().zip([3, 0, 7, 5, 2, 6]) {
        let setup = setup_of(choice, wide(64, 8), 0.5);
        let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{choice}: {error}"));
        run(&mut session, &workload(9, setup.user_slots, 600, Mix { max_pages: 40, ..MIX }), Pace::Closed { depth: 8 });
        (0..8).for_each(|bank| session.fail(Failure::Die(DieId(8 * bank + card))));
        check_all(&mut session, &format!("{choice}, card {card}"));
    }
    // A codeword over more dies than there are cards loses more than it has parity for, and says so.
    let setup = setup_of(&choice("mds-groups", &[]), wide(64, 8), 0.5);
    let mut session = Session::new(&setup).expect("a drive");
    run(&mut session, &workload(9, setup.user_slots, 600, MIX), Pace::Closed { depth: 8 });
    (0..8).for_each(|bank| session.fail(Failure::Die(DieId(8 * bank + 3))));
    let found = session.read_back();
    assert!(!found.lost.is_empty() && found.wrong.is_none(), "{found:?}");
}

/// Wide rows beside others whose blocks went bad at the factory: each row has the members that it has.
#[test]
fn wide_drives_with_bad_blocks_lose_nothing() {
    // Segments of code zones would need a spare block for each bad one.
    for choice in wide_choices(64).into_iter().filter(|choice| choice.name != "code-zones") {
        let mut base = setup_of(&choice, wide(64, 8), 0.5);
        base.age.bad_blocks = 0.02;
        let commands = workload(3, base.user_slots, REQUESTS, Mix { max_pages: 40, ..MIX });
        let (result, after) = prove(&format!("{choice}"), &base, &commands, Pace::Open);
        assert_eq!((result.host.media_errors, result.host.write_errors, after.host.media_errors), (0, 0, 0), "{choice}");
    }
}

/// The three payloads give one event log on wide drives, too, and reads that fail are solved for.
#[test]
fn payloads_agree_on_wide_drives_where_reads_fail() {
    for choice in wide_choices(64) {
        let base = setup_of(&choice, wide(64, 8), 0.7);
        let uncorrectable_reads = if promise(&choice, &base.drive) > 0 { 1e-3 } else { 0.0 };
        let commands = workload(4, base.user_slots, 800, Mix { max_pages: 40, ..MIX });
        let digest = |payload| {
            let faults = Faults { uncorrectable_reads, ..base.faults };
            let mut session = Session::new(&Setup { payload, faults, ..base.clone() }).expect("a drive");
            let result = run(&mut session, &commands, Pace::Open);
            assert_eq!(session.first_mismatch(), None, "{choice} {payload:?}");
            (result.replay.event_digest, result.flash.ops)
        };
        let tags = digest(ssd::PayloadKind::Tag);
        assert_eq!(digest(ssd::PayloadKind::None), tags, "{choice}: nothing against tags");
        assert_eq!(digest(ssd::PayloadKind::Page), tags, "{choice}: pages against tags");
    }
}
