//! DA-RAID-5 through its life: no parity, parity where blocks are worn, parity everywhere.

use crate::common::{MIX, Mix, buffers, drive, prove, run, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::Place;
use ssd::nand::PageRole;
use ssd::protect::SchemeChoice;
use ssd::{Failure, Pace, Session, Setup};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{DieId, Fua, Grid, HostCommand, HostOp, Lba, Lpn, PeCycles, Ppn, SimTime, StreamId, Streams, StripeId};

const DEPTH_ONE: Pace = Pace::Closed { depth: 1 };
const WHOLE: Mix = Mix { partial: 0.0, ..MIX };

fn scheme(name: &str, options: &[(&str, &str)]) -> SchemeChoice {
    let options = options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    SchemeChoice { name: name.into(), options }
}

/// Five dies, three quarters of a small drive written; T_p is the endurance of 3000 cycles.
fn small(options: &[(&str, &str)], pe: u32, worn: f64) -> Setup {
    let mut setup = setup_of(&scheme("da-raid5", options), drive(5, 16, 6, 1), 0.6);
    setup.precondition.fill = 0.75;
    setup.age.pe_cycles = PeCycles(pe);
    (setup.age.worn_blocks, setup.age.worn_pe_cycles) = (worn, PeCycles(3100));
    setup
}

fn session(setup: &Setup) -> Session {
    Session::new(setup).unwrap_or_else(|e| panic!("{}: {e}", setup.scheme))
}

fn command(op: HostOp, page: u32, pages: u32) -> HostCommand {
    HostCommand { at: SimTime(0), op, lba: Lba(u64::from(page) * 8), sectors: pages * 8, stream: StreamId::default() }
}

/// A fork of the drive as it is, drained.
fn fork(session: &mut Session) -> Session {
    let mut copy = None;
    let read = [command(HostOp::Read, 0, 1)];
    session.run_stepwise(&mut read.into_iter(), DEPTH_ONE, &mut |step, fork| {
        if step == 0 {
            copy = Some(fork());
        }
    });
    let mut copy = copy.expect("a read takes a step");
    copy.drain();
    copy
}

/// Parities in flash, by stripe.
fn parities(session: &Session) -> BTreeMap<StripeId, Ppn> {
    let mut found = BTreeMap::new();
    for page in session.inventory().pages {
        if let [(PageRole::Parity(stripe), true)] = page.slots[..] {
            found.insert(stripe, page.ppn);
        }
    }
    found
}

/// Where the data of each stripe of four lie.
fn members(session: &Session, setup: &Setup) -> BTreeMap<StripeId, Vec<(Lpn, Ppn)>> {
    let grid = Grid::new(setup.drive.geometry);
    let mut stripes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (lpn, place) in (0..).map(Lpn).zip(session.inventory().places) {
        if let Place::At(slot) = place {
            stripes.entry(StripeId(lpn.0 / 4)).or_default().push((lpn, grid.page_of(slot).0));
        }
    }
    stripes
}

/// Stripes with a page on a block over T_p.
fn worn_stripes(session: &mut Session, setup: &Setup) -> BTreeSet<StripeId> {
    let (pe, pages) = (session.drain().wear.pe_cycles, setup.drive.geometry.pages_per_block);
    let is_worn = |ppn: &Ppn| pe[(ppn.0 / pages) as usize] > 3000;
    let stripes = members(session, setup).into_iter();
    stripes.filter(|(_, pages)| pages.iter().any(|(_, ppn)| is_worn(ppn))).map(|(stripe, _)| stripe).collect()
}

#[test]
fn without_a_worn_block_stage_2_reads_and_programs_no_parity() {
    for grouping in ["off", "auto"] {
        let setup = small(&[("stage", "2"), ("grouping", grouping)], 3000 - 400, 0.0);
        let (result, _) = prove("young", &setup, &workload(1, setup.user_slots, 2_000, MIX), Pace::Open);
        assert_eq!((result.flash.reads["parity"], result.flash.programs["parity"]), (0, 0));
        assert!(result.flash.erases["gc"] > 0, "GC moved pages");
        let mut session = session(&setup);
        run(&mut session, &workload(1, setup.user_slots, 2_000, MIX), Pace::Open);
        session.drain();
        assert_eq!(session.audit().unwrap().sound, 0);
        assert!(parities(&session).is_empty());
    }
}

#[test]
fn with_all_blocks_worn_stage_2_costs_what_raid5_costs() {
    for (seed, mix) in [(1, WHOLE), (2, Mix { max_pages: 9, ..WHOLE }), (3, MIX), (4, Mix { discards: 0.0, ..MIX })] {
        let worn = small(&[("stage", "2"), ("grouping", "off")], 3100, 0.0);
        let raid5 = Setup { scheme: scheme("raid5", &[]), ..worn.clone() };
        let commands = workload(seed, worn.user_slots, 3_000, mix);
        let [worn, raid5] = [worn, raid5].map(|setup| run(&mut session(&setup), &commands, DEPTH_ONE));
        let programs = |of: &ssd::RunResult| (of.flash.programs["parity"], of.flash.programs["host"]);
        assert_eq!(programs(&worn), programs(&raid5), "seed {seed}");
        // A strip that GC has in its hands is not read from flash, and GC runs at
        // other times: da-raid5 keeps one more block of each die free, to build parity in.
        let (found, expected) = (worn.flash.reads["parity"], raid5.flash.reads["parity"]);
        assert!(found.abs_diff(expected) * 1000 <= expected, "seed {seed}: {found} parity reads, raid5 {expected}");
        assert!(worn.flash.reads["parity"] > 1_000 && worn.flash.erases["gc"] > 0);
    }
}

#[test]
fn where_a_block_is_worn_every_page_of_the_stripe_may_be_lost() {
    for (seed, grouping) in [(1, "off"), (2, "auto"), (3, "16KiB")] {
        let setup = small(&[("stage", "2"), ("grouping", grouping)], 1_000, 0.3);
        let mut session = session(&setup);
        run(&mut session, &workload(seed, setup.user_slots, 1_500, MIX), Pace::Open);
        session.drain();
        session.check_counts();
        let audited = session.audit().unwrap_or_else(|wrong| panic!("{grouping}: {wrong}"));
        assert!(audited.broken == 0 && audited.sound > 0 && audited.uncovered > 0, "{grouping}: {audited:?}");
        let (parities, worn, elsewhere) = (parities(&session), worn_stripes(&mut session, &setup), session.inventory().elsewhere);
        assert!(worn.iter().all(|stripe| parities.contains_key(stripe)), "{grouping}: PEA > 0 and no parity");
        let (mut repaired, mut lost_at_all) = (0, 0);
        for (stripe, pages) in members(&session, &setup) {
            let parity = parities.get(&stripe).copied();
            for (lpn, ppn) in pages.into_iter().map(|(lpn, ppn)| (Some(lpn), ppn)).chain(parity.map(|ppn| (None, ppn))) {
                let mut fork = fork(&mut session);
                fork.fail(Failure::Page(ppn));
                let unprotected = lpn.filter(|lpn| parity.is_none() && !elsewhere[lpn.0 as usize]);
                let found = fork.read_back();
                assert_eq!((found.wrong, found.lost), (None, Vec::from_iter(unprotected)), "{grouping}: {lpn:?} of {stripe}");
                repaired += u32::from(worn.contains(&stripe));
                lost_at_all += u32::from(unprotected.is_some());
            }
        }
        assert!(repaired > 20 && lost_at_all > 20, "{grouping}: {repaired} repaired, {lost_at_all} lost");
    }
}

/// Data pages with and codewords without parity once the host has been idle.
fn coverage(session: &mut Session) -> (u32, u32) {
    run(session, &[command(HostOp::Read, 0, 1)], DEPTH_ONE);
    coverage_now(session)
}

/// As [`coverage`], of the drive as it is: parity goes on being built while time passes.
fn coverage_now(session: &mut Session) -> (u32, u32) {
    session.check_counts();
    let audited = session.audit().unwrap();
    assert_eq!(audited.broken, 0);
    (audited.sound, audited.uncovered)
}

fn survives_each_die(session: &mut Session) {
    for die in (0..5).map(DieId) {
        let mut fork = fork(session);
        fork.fail(Failure::Die(die));
        fork.drain();
        let found = fork.read_back();
        assert_eq!((found.wrong, found.lost), (None, vec![]), "{die}");
    }
}

#[test]
fn an_aged_drive_starts_in_the_stage_of_its_blocks() {
    let stage_of = |pe, worn, l: &str| session(&small(&[("l", l)], pe, worn));
    // All blocks at T_p, none above.
    let (sound, uncovered) = coverage(&mut stage_of(3000, 0.0, "0"));
    assert!(sound == 0 && uncovered > 0, "stage 1: {sound}, {uncovered}");
    let (sound, uncovered) = coverage(&mut stage_of(1000, 0.1, "10000"));
    assert!(sound > 0 && uncovered > 0, "stage 2: {sound}, {uncovered}");
    let mut last = stage_of(1000, 0.1, "0");
    let (sound, uncovered) = coverage(&mut last);
    assert!(sound > 0 && uncovered == 0, "stage 3: {sound}, {uncovered}");
    survives_each_die(&mut last);
}

#[test]
fn a_drive_that_wears_out_goes_through_all_stages() {
    // Each run overwrites everything about once; T_p is reached on the way.
    let setup = Setup { scheme: scheme("da-raid5", &[("t_p", "12"), ("l", "20")]), ..small(&[], 0, 0.0) };
    let mut session = session(&setup);
    let mut stages = Vec::new();
    for seed in 0..60 {
        run(&mut session, &workload(seed, setup.user_slots, 150, WHOLE), Pace::Open);
        run(&mut session, &[command(HostOp::Read, 0, 1)], DEPTH_ONE);
        let life = session.drain().redundancy.life.expect("a scheme of stages");
        let (sound, uncovered) = coverage_now(&mut session);
        let stage = 1 + u32::from(sound > 0) + u32::from(uncovered == 0);
        // The audit counts pages: one to four in a stripe.
        let lacks = life.stripes - life.with_parity;
        assert!((lacks..=4 * lacks).contains(&uncovered), "run {seed}: {lacks} stripes and {uncovered} pages without parity");
        assert_eq!(
            life.began_s.map(|began| began.is_some()),
            [life.stage >= 2, life.stage >= 3],
            "run {seed}: stage {}",
            life.stage
        );
        assert!(life.began_s[1] >= life.began_s[0] || life.stage < 3, "{life:?}");
        let over = session.drain().wear.pe_cycles.iter().any(|pe| *pe > 12);
        assert!(over || stage == 1, "run {seed}: stage {stage} and no block over T_p");
        stages.push(stage);
        if stage == 3 {
            survives_each_die(&mut session);
            break;
        }
    }
    assert!(stages.is_sorted(), "{stages:?}");
    assert_eq!(BTreeSet::from_iter(stages), BTreeSet::from([1, 2, 3]));
    assert_eq!(session.first_mismatch(), None);
}

/// Requests of four pages, unaligned, to pages of which a fifth gets four in five, as far apart as RAID-5 is half busy with.
/// Catches a cache that makes its requests wait for one eviction after the other: the drive then falls behind at half
/// load.
#[test]
fn at_half_load_no_cache_is_slower_than_raid5() {
    let base = small(&[], 0, 0.0);
    let mut draws = Streams::new(3).stream("test/half-load");
    let pages = u64::from(base.user_slots) * 3 / 4 - 4;
    let mut page = || if draws.chance(0.8) { draws.below(pages / 5) } else { draws.below(pages) };
    let write = |i: u64| HostCommand { at: SimTime(i * 3_200_000), ..command(HostOp::Write(Fua::No), page() as u32, 4) };
    let commands: Vec<HostCommand> = (0..12_000).map(write).collect();
    let mean = |name: &str, options: &[(&str, &str)]| {
        let mut session = session(&Setup { scheme: scheme(name, options), ..base.clone() });
        let result = run(&mut session, &commands, Pace::Open);
        (result.host.latency_us.mean, result.flash.die_utilisation)
    };
    let (raid5, busy) = mean("raid5", &[]);
    assert!((0.4..0.65).contains(&busy), "{busy}");
    for write_back in ["watermark", "on-demand"] {
        let caches = [("stage", "3"), ("write_cache", "16KiB"), ("parity_cache", "16KiB"), ("write_back", write_back)];
        let (hybrid, _) = mean("da-raid5", &caches);
        assert!(hybrid < raid5, "{write_back}: {hybrid} us, and {raid5} us under RAID-5");
    }
}

#[test]
fn in_stage_3_long_requests_pass_the_write_cache_and_short_ones_do_not() {
    let setup = small(&[("stage", "3"), ("write_cache", "64KiB")], 0, 0.0);
    let mut session = session(&setup);
    let write = |page, pages| command(HostOp::Write(Fua::No), page, pages);
    assert_eq!(run(&mut session, &[write(0, 8)], DEPTH_ONE).flash.programs["host"], 0);
    // Twelve pages, over those that are cached: three full stripes and their parity.
    let long = run(&mut session, &[write(0, 12)], DEPTH_ONE);
    let found = (long.flash.programs["host"], long.flash.programs["parity"], long.flash.reads["parity"]);
    assert_eq!(found, (12, 3, 0));
    session.drain();
    let inventory = session.inventory();
    assert!(!inventory.elsewhere[..12].contains(&true), "older copies left the cache");
    assert!(inventory.held.iter().all(|held| held.stripe.0 >= 3), "full parity needs no entry");
}

#[test]
fn in_stage_3_short_and_long_requests_over_each_other_read_what_was_written() {
    let mix = Mix { max_pages: 20, every: 60_000, ..MIX };
    for (seed, cache) in [(1, "16KiB"), (2, "64KiB"), (3, "512KiB")] {
        for (name, buffer) in buffers() {
            let setup = small(&[("stage", "3"), ("write_cache", cache), ("parity_cache", "16KiB")], 0, 0.0);
            let setup = Setup { buffer, seed, ..setup };
            let commands = workload(seed, setup.user_slots, 1_500, mix);
            for pace in [Pace::Open, Pace::Closed { depth: 6 }] {
                let (result, after) = prove(&format!("{cache} {name}"), &setup, &commands, pace);
                assert_eq!(
                    (result.host.media_errors, result.host.write_errors, after.host.media_errors),
                    (0, 0, 0),
                    "{cache} {name}"
                );
                assert!(result.flash.erases["gc"] > 0, "{cache} {name}");
            }
        }
    }
}
