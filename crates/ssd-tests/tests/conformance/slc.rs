//! Drives with an SLC cache (decision 14): every scheme that can have one.

use crate::common::{MIX, Mix, again, buffers, check_all, drive, promise, prove, run, schemes, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::{GcConfig, Isolation, StreamConfig};
use ssd::nand::{Pairing, ProgramUnit};
use ssd::protect::SchemeChoice;
use ssd::{Buffer, BufferKind, Drive, Failure, Fate, Pace, PayloadKind, Power, Session, Setup, Slc, SlcFold, SlcFull, SlcMode};
use vocab::{BlockAddr, Bytes, DieId, Fua, HostCommand, HostOp, Lba, Nanos, PeCycles, SimTime, Streams};

/// Modes of an SLC cache.
#[derive(Clone, Copy, Debug)]
struct Variant(SlcMode, SlcFold, SlcFull);

const VARIANTS: [Variant; 6] = [
    Variant(SlcMode::Static, SlcFold::Idle, SlcFull::Bypass),
    Variant(SlcMode::Static, SlcFold::Full, SlcFull::Bypass),
    Variant(SlcMode::Static, SlcFold::Full, SlcFull::Wait),
    Variant(SlcMode::Dynamic, SlcFold::Idle, SlcFull::Bypass),
    Variant(SlcMode::Dynamic, SlcFold::Full, SlcFull::Wait),
    Variant(SlcMode::Dynamic, SlcFold::Idle, SlcFull::Wait),
];

/// Three blocks of each die are the cache, or at most three at a time are; four erases in SLC mode wear like one.
fn cached(mut drive: Drive, variant: Variant) -> Drive {
    let Variant(mode, fold, full) = variant;
    drive.slc = Slc { mode, blocks: 3, fold, full, endurance: PeCycles(4 * drive.endurance.0), ..Slc::default() };
    drive
}

/// Schemes that can have a cache; the others are refused by name.
fn able(drive: &Drive) -> Vec<SchemeChoice> {
    let refuses = |choice: &SchemeChoice| {
        let refused = ssd::user_slots_max(drive, choice, &GcConfig::default()).err()?;
        assert!(refused.to_string().starts_with("drive.slc.mode: "), "{choice}: {refused}");
        Some(())
    };
    let able: Vec<SchemeChoice> = schemes().filter(|choice| refuses(choice).is_none()).collect();
    let names: std::collections::BTreeSet<&str> = able.iter().map(|choice| choice.name.as_str()).collect();
    if std::env::var("FLASHKEEP_SCHEME").is_err() {
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["da-raid5", "ds-raid", "none", "ppc", "raid5"]);
    }
    able
}

/// Catches a scheme that reads something wrong on such a drive, one that never writes to the cache or never folds it, and counts
/// that do not add up.
#[test]
fn every_scheme_but_groups_and_zones_runs_with_a_cache() {
    const TEST: &str = "every_scheme_but_groups_and_zones_runs_with_a_cache";
    for seed in seeds(1) {
        for (index, variant) in VARIANTS.into_iter().enumerate() {
            for (number, choice) in able(&cached(drive(5, 16, 8, 1), variant)).into_iter().enumerate() {
                let mut model = drive(5, 16, 8, 1);
                if (index + number) % 2 == 1 {
                    model.timing.unit = Some(ProgramUnit { planes: 2, plane_pages: 1, bits: 2 });
                }
                let (kind, buffer) = buffers()[(index + number) % 3];
                let base = setup_of(&choice, cached(model, variant), 0.8);
                let precondition = ssd::Precondition { fill: 1.0, ..base.precondition };
                let payload = if number % 4 == 0 { PayloadKind::Page } else { PayloadKind::Tag };
                let setup = Setup { buffer, seed, precondition, payload, ..base };
                let name = format!("{choice}, {kind}, {variant:?}; {}", again(TEST, seed));
                let commands = workload(seed, setup.user_slots, 1_500, Mix { every: 2_000_000, ..MIX });
                let (result, after) = prove(&name, &setup, &commands, Pace::Open);
                assert_eq!((result.host.media_errors, result.host.write_errors, after.host.media_errors), (0, 0, 0), "{name}");
                let slc = result.slc;
                assert!(slc.host_pages > 0 && slc.folded_pages > 0 && slc.erases > 0, "{name}: {slc:?}");
                assert_eq!(slc.folded_pages, result.flash.programs["fold"], "{name}: a page is a logical page here");
                assert_eq!(slc.host_pages + slc.past_pages, result.flash.programs["host"], "{name}");
                let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
                run(&mut session, &commands, Pace::Closed { depth: 16 });
                check_all(&mut session, &name);
            }
        }
    }
}

/// Power cuts, again and again, and a die that dies beside them. Catches a mount that takes a block in SLC mode for another, and
/// one that forgets how worn it is.
#[test]
fn power_cuts_lose_nothing_of_a_cache() {
    const TEST: &str = "power_cuts_lose_nothing_of_a_cache";
    for seed in seeds(2) {
        for (index, variant) in VARIANTS.into_iter().enumerate() {
            for choice in able(&cached(drive(5, 16, 8, 1), variant)) {
                let mut model = drive(5, 16, 8, 1);
                let mut power = Power { mountable: true, checkpoint: seed % 2 == 0, ..Power::default() };
                match (index as u64 + seed) % 3 {
                    0 => model.timing.unit = Some(ProgramUnit { planes: 2, plane_pages: 1, bits: 2 }),
                    1 => (power.pairing, power.hold_up) = (Pairing::Adjacent { bits: 2 }, true),
                    _ => {}
                }
                let base = setup_of(&choice, cached(model, variant), 0.7);
                let precondition = ssd::Precondition { fill: 0.8, ..base.precondition };
                let kind = [BufferKind::Off, BufferKind::Plp, BufferKind::Volatile][index % 3];
                let buffer = Buffer { kind, size: Bytes(32 << 10), ..Buffer::default() };
                let setup = Setup { seed, power, precondition, buffer, ..base };
                let name = format!("{choice}, {variant:?}; {}", again(TEST, seed));
                campaign(&name, &setup, seed);
            }
        }
    }
}

fn campaign(name: &str, setup: &Setup, seed: u64) {
    let mut draws = Streams::new(seed).stream("test/slc");
    let mut session = Session::new(setup).unwrap_or_else(|error| panic!("{name}: {error}"));
    for number in 0..4 {
        let commands = workload(seed * 100 + number, setup.user_slots, 120, Mix { discards: 0.02, ..MIX });
        let stop = draws.below(500);
        session.run_until(&mut commands.iter().copied(), Pace::Closed { depth: 4 }, &mut |event| event < stop);
        loop {
            let worn = session.pe_cycles();
            let fates: Vec<Fate> = session.begun().into_iter().map(|begun| begun.draw(&mut draws)).collect();
            session.cut_power(&fates);
            let mounted = session.pe_cycles();
            assert!(worn.iter().zip(&mounted).all(|(before, after)| after >= before), "{name}: {worn:?}, then {mounted:?}");
            if draws.chance(0.5) {
                break;
            }
            let stop = draws.below(40);
            session.run_until(&mut std::iter::empty(), Pace::Closed { depth: 4 }, &mut |event| event < stop);
        }
        check_all(&mut session, name);
    }
    if promise(&setup.scheme, &setup.drive) > 0 {
        session.fail(Failure::Die(DieId(2)));
        check_all(&mut session, name);
    }
}

/// A block fails, and a whole die, while their pages lie in SLC mode.
#[test]
fn a_scheme_survives_what_it_promises_in_slc_mode() {
    const TEST: &str = "a_scheme_survives_what_it_promises_in_slc_mode";
    for seed in seeds(1) {
        for variant in VARIANTS {
            let model = cached(drive(5, 16, 8, 1), variant);
            for choice in able(&model).into_iter().filter(|choice| promise(choice, &model) > 0) {
                let base = setup_of(&choice, model.clone(), 0.6);
                let setup = Setup { seed, precondition: ssd::Precondition { fill: 0.9, ..base.precondition }, ..base };
                let name = format!("{choice}, {variant:?}; {}", again(TEST, seed));
                let mut session = Session::new(&setup).unwrap_or_else(|error| panic!("{name}: {error}"));
                run(&mut session, &workload(seed, setup.user_slots, 100, MIX), Pace::Closed { depth: 8 });
                for block in 0..4 {
                    let mut struck = session.clone();
                    struck.fail(Failure::Block(BlockAddr(16 * 3 + block)));
                    check_all(&mut struck, &format!("{name}, block {block} of die 3"));
                }
                session.fail(Failure::Die(DieId(1)));
                run(&mut session, &workload(seed + 1, setup.user_slots, 200, MIX), Pace::Closed { depth: 8 });
                check_all(&mut session, &format!("{name}, a die"));
            }
        }
    }
}

/// Four dies whose buses cost nothing, each with six blocks of eight pages in SLC mode as a cache.
fn without_buses(fold: SlcFold, full: SlcFull) -> Session {
    let mut model = cached(drive(4, 40, 16, 1), SlcMode::Static, fold, full);
    (model.timing.command, model.timing.transfer, model.slc.blocks) = (Nanos(0), ssd::nand::Transfer::PerPage(Nanos(0)), 6);
    Session::new(&setup_of(&SchemeChoice::named("none"), model, 0.9)).unwrap_or_else(|error| panic!("{error}"))
}

fn sequential(pages: std::ops::Range<u64>) -> Vec<HostCommand> {
    let write = |page| HostCommand {
        at: SimTime::ZERO,
        op: HostOp::Write(Fua::No),
        lba: Lba(page * 8),
        sectors: 8,
        stream: vocab::StreamId::default(),
    };
    pages.map(write).collect()
}

/// The cliff, against arithmetic on one die, all four doing the same: a page takes 200 us in SLC mode and (500 + 1300) / 2 us in
/// another block; to fold a block takes 8 reads of 25 us, 8 programs and an erase of 1.5 ms. Bounds: where writes pass the
/// cache, a program; where they wait, what one block costs.
#[test]
fn sequential_writes_fall_off_a_cliff_where_the_cache_ends() {
    let (cache, past) = (4 * 6 * 8, 4 * 96);
    let within = |found: f64, expected_us: f64, bound_us: f64| {
        assert!((found * 1e6 - expected_us).abs() <= bound_us, "{} us, expected {expected_us}", found * 1e6);
    };
    let in_cache = 6.0 * 8.0 * 200.0;

    // Bursts that the cache holds, with idle time between them, in which it is folded.
    let mut session = without_buses(SlcFold::Idle, SlcFull::Bypass);
    for burst in 0..3 {
        let result = run(&mut session, &sequential(burst * cache..(burst + 1) * cache), Pace::Closed { depth: 8 });
        within(result.replay.simulated_s, in_cache, 200.0);
        let slc = (result.slc.host_pages, result.slc.past_pages, result.slc.folded_pages, result.slc.erases);
        assert_eq!(slc, (cache, 0, cache, 4 * 6), "burst {burst}");
        assert_eq!(result.flash.waf, Some(2.0), "each page is written twice");
    }

    let mut session = without_buses(SlcFold::Idle, SlcFull::Bypass);
    let result = run(&mut session, &sequential(0..cache + past), Pace::Closed { depth: 8 });
    within(result.replay.simulated_s, in_cache + 96.0 * 900.0, 1300.0);
    assert_eq!((result.slc.host_pages, result.slc.past_pages), (cache, past));

    let mut session = without_buses(SlcFold::Full, SlcFull::Wait);
    let result = run(&mut session, &sequential(0..cache + past), Pace::Closed { depth: 64 });
    let of_block = 8.0 * (25.0 + 900.0) + 1500.0 + 8.0 * 200.0;
    within(result.replay.simulated_s, in_cache + 12.0 * of_block, of_block);
    assert_eq!((result.slc.host_pages, result.slc.past_pages), (cache + past, 0));
    check_all(&mut session, "after the cliff");
}

/// Catches a cache that mixes streams which are to be kept apart.
#[test]
fn streams_that_are_only_counted_may_share_a_cache() {
    let model = cached(drive(5, 16, 8, 1), VARIANTS[0]);
    for (isolation, refused) in [(Isolation::Off, false), (Isolation::Initial, true), (Isolation::Persistent, true)] {
        let gc = GcConfig { streams: StreamConfig { count: 2, isolation }, ..GcConfig::default() };
        let found = ssd::user_slots_max(&model, &SchemeChoice::named("none"), &gc).err().map(|error| error.to_string());
        assert_eq!(found.is_some(), refused, "{isolation:?}: {found:?}");
        assert!(found.is_none_or(|found| found.starts_with("drive.slc.mode: streams that are isolated")), "{isolation:?}");
    }
}

/// Erases in SLC mode wear a block a quarter of what others do. Catches wear that is counted for no mode, or for both.
#[test]
fn four_erases_in_slc_mode_are_one_cycle() {
    let mut session = without_buses(SlcFold::Idle, SlcFull::Bypass);
    let cache = 4 * 6 * 8;
    let mut added = vec![0; 160];
    for burst in 0..8 {
        let result = run(&mut session, &sequential(burst % 2 * cache..(burst % 2 + 1) * cache), Pace::Closed { depth: 8 });
        added.iter_mut().zip(&result.wear.pe_cycles).for_each(|(added, pe)| *added = *pe);
    }
    let of_cache: Vec<u32> = (0..4).flat_map(|die| (0..6).map(move |block| die * 40 + block)).map(|block| added[block]).collect();
    assert_eq!(of_cache, [2; 24], "eight times full, eight times erased");
}
