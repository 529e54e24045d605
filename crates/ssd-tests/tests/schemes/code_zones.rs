//! Code zones in the engine: what is read while data change, dies die and pages cannot be corrected, and
//! where segments keep their pages. Times are in `code_zone_times`.

use crate::common::codewords::beyond_repair;
use crate::common::zones::{WRITE, coded, coded_groups, coded_pages, command, layout, warm_up, zones};
use crate::common::{MIX, Mix, buffers, drive, run, run_both_paces, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::Place;
use ssd::protect::code_zones::ZoneId;
use ssd::{CodePage, Failure, Inventory, Pace, PayloadKind, Scheduler, Session, Setup};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{DieId, Grid, HostCommand, HostOp, Lpn, Ppn, Streams};

fn again(test: &str, seed: u64) -> String {
    format!("repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test schemes code_zones::{test}")
}

/// Reads of whole groups among overwrites, partial ones too, discards and flushes, all in one zone.
fn races(seed: u64, setup: &Setup, zone: u32, count: u64, every: u64) -> Vec<HostCommand> {
    let (layout, mut draws) = (layout(setup), Streams::new(seed).stream("test/races"));
    let mix = Mix { reads: 0.0, discards: 0.1, flushes: 0.05, max_pages: 3, ..MIX };
    let pages = layout.zone_pages();
    let mut at = 0;
    let one = |change: HostCommand| {
        // Bursts, and gaps between them.
        at += if draws.chance(0.3) { draws.below(6 * every) } else { draws.below(20_000) };
        let moved = HostCommand { at: vocab::SimTime(at), lba: vocab::Lba(change.lba.0 + u64::from(zone * pages) * 8), ..change };
        // Three in five are reads, half of them of the groups that are written most.
        let group = layout.group_size() * layout.stripe_pages();
        let groups = if draws.chance(0.5) { pages / group / 10 } else { pages / group };
        let first = zone * pages + draws.below(u64::from(groups.max(1))) as u32 * group;
        if draws.chance(0.6) { command(at, HostOp::Read, first, group) } else { moved }
    };
    workload(seed, pages, count, mix).into_iter().map(one).collect()
}

/// Findings of a run of racing requests.
#[derive(Debug, Default)]
struct Raced {
    /// Groups that went stale while reads might decode with their code.
    under_reads: u64,
    derived: u64,
    withdrawn: u64,
    collected: u64,
    encoded: u64,
    /// Code pages that an audit found to be sums of the data of the time.
    sound: u64,
}

/// Runs racing requests and stops before every event.
fn race(name: &str, setup: &Setup, commands: &[HostCommand], pace: Pace) -> Raced {
    let layout = layout(setup);
    let mut session = coded(setup, &[0]);
    let mut raced = Raced::default();
    let mut before = (BTreeSet::new(), BTreeSet::new());
    let result = session.run_stepwise(&mut commands.iter().copied(), pace, &mut |step, fork| {
        let mut fork = fork();
        let used: BTreeSet<_> = fork.alternatives_in_flight().code_of.into_iter().collect();
        if !used.is_empty() || !before.1.is_empty() {
            let valid = coded_groups(&fork, &layout);
            let (was_valid, was_used) = std::mem::replace(&mut before, (valid, used));
            raced.under_reads += was_used.iter().filter(|g| was_valid.contains(g) && !before.0.contains(g)).count() as u64;
            assert!(before.1.is_subset(&before.0), "{name}, step {step}: reads decode with code that is not valid");
        }
        if step.is_multiple_of(41) {
            fork.drain();
            fork.check_counts();
            let found = fork.audit().unwrap_or_else(|what| panic!("{name}, step {step}: {what}"));
            assert_eq!(found.broken, 0, "{name}, step {step}");
            raced.sound += u64::from(found.sound);
        }
    });
    assert_eq!(session.first_mismatch(), None, "{name}");
    assert_eq!((result.oracle.mismatches, result.host.media_errors, result.host.write_errors), (0, 0, 0), "{name}");
    assert_eq!(session.read_back(), ssd::ReadBack::default(), "{name}");
    raced.derived += result.around.derived_pages;
    raced.withdrawn += result.around.withdrawn_reads;
    raced.collected += result.flash.erases["gc"];
    raced.encoded += result.around.encoded_groups;
    raced
}

/// I17, with phases at given times in a closed loop: depth by depth, with either payload and scheduler.
#[test]
fn reads_that_race_writes_of_their_group_never_mix_versions() {
    const TEST: &str = "reads_that_race_writes";
    for seed in seeds(1) {
        let mut under_reads = 0;
        let phases = (1..400).map(|i| format!("{}ms", 5 * i)).collect::<Vec<_>>().join(",");
        for (depth, payload, scheduler, buffer, offer) in [
            (1, PayloadKind::Tag, Scheduler::Fifo, 0, "wanted"),
            (4, PayloadKind::Page, Scheduler::ReadFirst, 0, "all"),
            (32, PayloadKind::Tag, Scheduler::ReadFirst, 0, "code"),
            (32, PayloadKind::Page, Scheduler::Fifo, 1, "wanted"),
            (8, PayloadKind::Tag, Scheduler::Fifo, 2, "code"),
        ] {
            let mut setup = Setup { payload, scheduler, seed, ..zones(&[("offline", &phases), ("offer", offer)]) };
            setup.buffer = buffers()[buffer].1;
            let name = format!("depth {depth} {payload:?} {scheduler:?} {offer} {buffer}; {}", again(TEST, seed));
            let raced = race(&name, &setup, &races(seed, &setup, 0, 200, 1), Pace::Closed { depth });
            under_reads += raced.under_reads;
            assert!(raced.derived > 0 && raced.withdrawn > 0 && raced.collected > 0, "{name}: {raced:?}");
            assert!(raced.sound > 0 && raced.encoded > 0, "{name}: {raced:?}");
        }
        assert!(under_reads > 3, "{under_reads} groups went stale under reads; {}", again(TEST, seed));
    }
}

/// I17, with encoding in short gaps: requests arrive while groups are read and while code is written.
#[test]
fn writes_that_race_encoding_leave_no_code_of_other_contents() {
    const TEST: &str = "writes_that_race_encoding";
    for seed in seeds(1) {
        for (decoder, stripe_block, spare) in [("peeling", "4KiB", "2"), ("elimination", "8KiB", "3")] {
            let idle: &[(&str, &str)] = &[
                ("offline", "idle"),
                ("offline_after", "20us"),
                ("decoder", decoder),
                ("stripe_block", stripe_block),
                ("spare_blocks", spare),
            ];
            let setup = Setup { seed, ..zones(idle) };
            let name = format!("{decoder} {stripe_block} {spare}; {}", again(TEST, seed));
            let raced = race(&name, &setup, &races(seed, &setup, 0, 350, 1_500_000), Pace::Open);
            assert!(raced.under_reads > 0 && raced.derived > 0 && raced.withdrawn > 0, "{name}: {raced:?}");
            assert!(raced.collected > 0 && raced.encoded > 64 && raced.sound > 1_000, "{name}: {raced:?}");
        }
    }
}

/// Pages that a dead die takes: those it holds and that no code stands in for.
fn on_die_without_code(session: &Session, setup: &Setup, die: DieId) -> Vec<Lpn> {
    let (layout, coded) = (layout(setup), coded_pages(session, setup));
    (0..setup.user_slots).map(Lpn).filter(|lpn| layout.place(*lpn).die == die && !coded.contains(lpn)).collect()
}

#[test]
fn a_die_that_fails_during_lazy_reads_takes_what_has_no_code_and_nothing_else() {
    for options in [&[][..], &[("offer", "all"), ("decoder", "elimination")], &[("read_around", "off")]] {
        let setup = Setup { payload: PayloadKind::Page, ..zones(options) };
        let zone_pages = layout(&setup).zone_pages();
        let mut session = coded(&setup, &[1]);
        let reads: Vec<_> = (0..zone_pages / 4).map(|group| command(0, HostOp::Read, zone_pages + 4 * group, 4)).collect();
        let (mut forks, mut interrupted) = (0, 0);
        session.run_stepwise(&mut reads.iter().copied(), Pace::Closed { depth: 6 }, &mut |step, fork| {
            for die in (0..8).map(DieId).filter(|die| (step + u64::from(die.0)).is_multiple_of(61)) {
                let mut fork = fork();
                let expected = on_die_without_code(&fork, &setup, die);
                assert_eq!(expected.len() as u32, 2 * zone_pages / 8, "two of three zones have no code");
                fork.fail(Failure::Die(die));
                let drained = fork.drain();
                interrupted += drained.redundancy.rebuilt_reads + drained.around.derived_pages;
                let more = run(&mut fork, &reads, Pace::Closed { depth: 6 });
                assert_eq!((drained.host.media_errors, more.host.media_errors), (0, 0), "{options:?}, step {step}, {die}");
                let found = fork.read_back();
                assert_eq!((found.wrong, &found.lost), (None, &expected), "{options:?}, step {step}, {die}");
                forks += 1;
            }
        });
        assert!(forks > 20 && interrupted > 0, "{options:?}: {forks} forks, {interrupted} pages read without their die");
    }
}

/// Pages that peeling does not bring back: it uses code pages with a single unknown, again and again.
fn beyond_peeling(session: &Session, setup: &Setup, dead: &BTreeSet<DieId>) -> Vec<Lpn> {
    let (layout, grid) = (layout(setup), Grid::new(setup.drive.geometry));
    let mut unknown: BTreeSet<Lpn> =
        (0..setup.user_slots).map(Lpn).filter(|lpn| dead.contains(&layout.place(*lpn).die)).collect();
    let inventory = session.inventory();
    let is_readable =
        |page: &&CodePage| matches!(page.place, Place::At(slot) if !dead.contains(&grid.die_of(grid.page_of(slot).0)));
    let code: Vec<&CodePage> = inventory.code.iter().filter(is_readable).collect();
    loop {
        let missing = |page: &&CodePage| page.of.iter().copied().filter(|lpn| unknown.contains(lpn)).collect::<Vec<_>>();
        let solved: Vec<Lpn> = code.iter().map(missing).filter(|lpns| lpns.len() == 1).flatten().collect();
        if solved.is_empty() {
            return unknown.into_iter().collect();
        }
        solved.iter().for_each(|lpn| {
            unknown.remove(lpn);
        });
    }
}

/// Of every set of dead dies exactly what the decoder can do is done. How many pages peeling loses that
/// elimination does not.
fn lose_sets_of_dies(degree: &str, decoder: &str) -> usize {
    let setup = zones(&[("degree", degree), ("decoder", decoder)]);
    let session = coded(&setup, &[1]);
    assert_eq!(coded_groups(&session, &layout(&setup)).len(), 64);
    let mut between = 0;
    for set in (0_u32..256).filter(|set| set.count_ones() >= 2) {
        let dead: BTreeSet<DieId> = (0..8).filter(|die| set >> die & 1 == 1).map(DieId).collect();
        let mut fork = session.clone();
        dead.iter().for_each(|&die| fork.fail(Failure::Die(die)));
        let (peeling, elimination) = (beyond_peeling(&fork, &setup, &dead), beyond_repair(&fork, &setup));
        between += peeling.len() - elimination.len();
        let found = fork.read_back();
        let expected = if decoder == "peeling" { peeling } else { elimination };
        assert_eq!((found.wrong, found.lost), (None, expected), "degree {degree}, {decoder}, dead {dead:?}");
    }
    between
}

#[test]
fn of_several_dead_dies_the_decoder_brings_back_exactly_what_algebra_says() {
    // Of a cycle's sums elimination wins nothing that peeling does not; of three at a time it does.
    assert_eq!(lose_sets_of_dies("2", "peeling"), 0);
    assert!(lose_sets_of_dies("3", "peeling") > 0);
    assert!(lose_sets_of_dies("3", "elimination") > 0);
}

/// One page read after the other; none is wanted together with another, so that each is read by itself.
#[test]
fn uncorrectable_reads_of_coded_zones_are_rebuilt_and_others_are_reported() {
    const PROBABILITY: f64 = 0.02;
    const ROUNDS: u32 = 60;
    let phases = (1..=8).map(|i| format!("{}ms", 100 * i)).collect::<Vec<_>>().join(",");
    let mut setup = zones(&[("offline", &phases)]);
    setup.faults.uncorrectable_reads = PROBABILITY;
    let (layout, mut session) = (layout(&setup), Session::new(&setup).unwrap());
    warm_up(&mut session, &setup, &[0], 1);
    // A group is left without code with 0.02 x 4 in each of 8 phases.
    assert_eq!(coded_groups(&session, &layout).len() as u32, layout.zone_groups());
    let read = |session: &mut Session, zone: u32| {
        let pages = zone * layout.zone_pages()..(zone + 1) * layout.zone_pages();
        let reads: Vec<_> = (0..ROUNDS).flat_map(|_| pages.clone()).map(|lpn| command(0, HostOp::Read, lpn, 1)).collect();
        run(session, &reads, Pace::Closed { depth: 4 })
    };
    let reads = f64::from(ROUNDS * layout.zone_pages());
    // Six standard deviations of the number of reads that fail.
    let near = |failed: u64| (failed as f64 - reads * PROBABILITY).abs() < 6.0 * (reads * PROBABILITY).sqrt();
    let result = read(&mut session, 0);
    assert!(near(result.redundancy.rebuilt_reads + result.host.media_errors), "{} rebuilt", result.redundancy.rebuilt_reads);
    // Each of the two sums that the page is in must lack one of its two others: 0.04^2 of the failed reads,
    // 0.5 expected; 7 and more come once in a million.
    assert!(result.host.media_errors <= 6, "{} media errors", result.host.media_errors);
    let result = read(&mut session, 1);
    assert!(near(result.host.media_errors) && result.redundancy.rebuilt_reads == 0, "{} media errors", result.host.media_errors);
    assert_eq!(session.first_mismatch(), None);
}

/// Where the layout wants the page that is stored there.
fn assert_in_segments(inventory: &Inventory, setup: &Setup, name: &str) {
    let (layout, grid) = (layout(setup), Grid::new(setup.drive.geometry));
    let place = |ppn: Ppn| {
        let (die, block) = grid.split_block(grid.split(ppn).0);
        let zone = (0..layout.zones()).map(ZoneId).find(|zone| layout.blocks(*zone).contains(&block.0));
        (die, zone)
    };
    for (lpn, found) in (0..).map(Lpn).zip(&inventory.places) {
        let Place::At(slot) = found else { continue };
        let wanted = layout.place(lpn);
        assert_eq!(place(grid.page_of(*slot).0), (wanted.die, Some(wanted.zone)), "{name}: {lpn}");
    }
    let mut code_zone_of = BTreeMap::new();
    for CodePage { place: found, of } in &inventory.code {
        let Place::At(slot) = found else { panic!("{name}: valid code of {of:?} lies nowhere") };
        let ((die, zone), data) = (place(grid.page_of(*slot).0), layout.place(of[0]));
        let zone = zone.expect("a block of a zone");
        assert!(zone.0 >= layout.data_zones(), "{name}: code in {zone:?}");
        assert_eq!(*code_zone_of.entry(data.zone).or_insert(zone), zone, "{name}: code of {:?}", data.zone);
        // Fig. 5: the dies that a code segment is the sum of.
        let sources: BTreeSet<DieId> = layout.sources(die).into_iter().collect();
        assert_eq!(of.iter().map(|lpn| layout.place(*lpn).die).collect::<BTreeSet<_>>(), sources, "{name}: code on {die}");
    }
}

#[test]
fn gc_leaves_every_page_on_its_die_and_in_its_zone() {
    for (spare, separate) in [("2", false), ("2", true), ("3", false)] {
        let idle: &[(&str, &str)] =
            &[("offline", "idle"), ("offline_after", "50us"), ("spare_blocks", spare), ("code_zones", "2")];
        let mut setup = zones(idle);
        setup.gc.separate_write_pointer = separate;
        let mut session = Session::new(&setup).unwrap();
        let commands = workload(11, setup.user_slots, 1_500, Mix { reads: 0.5, max_pages: 8, every: 5_000_000, ..MIX });
        let name = format!("spare {spare} {separate}");
        let result = session.run_stepwise(&mut commands.iter().copied(), Pace::Open, &mut |step, fork| {
            if step.is_multiple_of(97) {
                assert_in_segments(&fork().inventory(), &setup, &name);
            }
        });
        session.check_counts();
        assert_in_segments(&session.inventory(), &setup, &name);
        assert!(result.flash.erases["gc"] > 20 && result.flash.programs["encode"] > 100, "{name}: {:?}", result.flash.erases);
        assert_eq!((result.oracle.mismatches, result.host.write_errors), (0, 0), "{name}");
    }
}

#[test]
fn full_segments_can_always_be_overwritten() {
    for (blocks, separate, buffer) in [("3", false, 0), ("3", true, 0), ("4", true, 1), ("3", false, 2), ("6", false, 0)] {
        let mut setup = zones(&[("zone_blocks", blocks), ("code_zones", "1")]);
        (setup.gc.separate_write_pointer, setup.buffer) = (separate, buffers()[buffer].1);
        let mut session = Session::new(&setup).unwrap();
        // Ten times over, at random, with the code zone full, too.
        warm_up(&mut session, &setup, &[0], 1);
        let mut draws = Streams::new(3).stream("test/overwrite");
        let user = u64::from(setup.user_slots);
        let writes: Vec<_> = (0..10 * user).map(|_| command(0, WRITE, draws.below(user) as u32, 1)).collect();
        let result = run(&mut session, &writes, Pace::Closed { depth: 16 });
        session.check_counts();
        let name = format!("{blocks} {separate} {buffer}");
        assert_eq!(
            (result.host.write_errors, result.oracle.mismatches, result.host.requests["write"]),
            (0, 0, 10 * user),
            "{name}"
        );
        // Of a block of data and one of garbage a page at least is garbage: at most 8 pages for one.
        assert!(result.flash.waf.is_some_and(|waf| (1.0..=9.0).contains(&waf)), "{name}: WAF {:?}", result.flash.waf);
        assert_eq!(session.read_back(), ssd::ReadBack::default(), "{name}");
    }
}

#[test]
fn bad_blocks_beyond_the_spare_ones_are_refused_and_others_never_matter() {
    let (mut refused, mut served) = (0, 0);
    for seed in 1..=12 {
        for spare in ["2", "4"] {
            let mut setup = Setup { seed, ..zones(&[("spare_blocks", spare)]) };
            setup.age.bad_blocks = 0.01;
            match Session::new(&setup) {
                Err(error) => {
                    let (error, rule) = (error.to_string(), "spare_blocks must be 2 and one for each bad block of a segment");
                    assert!(error.contains("the segment of zone ") && error.contains(rule), "{error}");
                    refused += 1;
                }
                Ok(mut session) => {
                    let commands = workload(seed, setup.user_slots, 3_000, Mix { reads: 0.1, discards: 0.0, ..MIX });
                    let result = run(&mut session, &commands, Pace::Closed { depth: 8 });
                    assert_eq!(
                        (result.host.write_errors, result.host.media_errors, result.oracle.mismatches),
                        (0, 0, 0),
                        "seed {seed}, {spare}"
                    );
                    assert_in_segments(&session.inventory(), &setup, &format!("seed {seed}, {spare}"));
                    served += 1;
                }
            }
        }
    }
    assert!(refused > 3 && served > 3, "{refused} refused, {served} served");
}

/// A drive of code zones with any options, and faults of any kind.
fn anything(seed: u64) -> (String, Setup) {
    let mut draws = Streams::new(seed).stream("test/options");
    let mut pick = |words: &[&str]| words[draws.below(words.len() as u64) as usize].to_string();
    let dies: u32 = pick(&["2", "4", "6", "8"]).parse().expect("a number");
    let mut choice = ssd::protect::SchemeChoice::named("code-zones");
    for (name, words) in [
        ("group", &["auto", "2"][..]),
        ("degree", &["1", "2"]),
        ("decoder", &["peeling", "elimination"]),
        ("offer", &["wanted", "code", "all"]),
        ("stripe_block", &["auto", "8KiB", "16KiB"]),
        ("access", &["pages", "blocks"]),
        ("zone_blocks", &["3", "4", "6"]),
        ("code_zones", &["auto", "2"]),
        ("counters", &["keep", "restart"]),
        ("read_ahead_over", &["0", "16", "128"]),
        ("read_ahead_threads", &["0", "1", "20"]),
        ("read_around", &["0", "1", "3", "off"]),
        ("extra_reads", &["auto", "0", "5"]),
        ("offline", &["idle", "1ms,2ms,50ms,51ms", "3ms,90ms"]),
        ("offline_after", &["10us", "300us"]),
        ("offline_cost", &["charged", "free"]),
    ] {
        choice.options.insert(name.into(), pick(words));
    }
    let name = format!("{dies} dies, {choice}");
    let mut setup = setup_of(&choice, drive(dies, 24, 8, 1), 1.0);
    setup.precondition.fill = pick(&["0", "0.6", "1"]).parse().expect("a number");
    setup.buffer = buffers()[draws.below(3) as usize].1;
    setup.scheduler = [Scheduler::Fifo, Scheduler::ReadFirst][draws.below(2) as usize];
    setup.gc.separate_write_pointer = draws.chance(0.5);
    setup.faults.uncorrectable_reads = if draws.chance(0.4) { 0.01 } else { 0.0 };
    if draws.chance(0.4) {
        (setup.faults.dead_die, setup.faults.dead_die_at_request) = (Some(draws.below(u64::from(dies)) as u16), draws.below(400));
    }
    (name, Setup { seed, ..setup })
}

#[test]
fn whatever_the_options_and_the_faults_no_read_is_wrong_and_valid_code_is_sound() {
    const TEST: &str = "whatever_the_options";
    let mut derived = 0;
    for seed in seeds(24) {
        let (name, setup) = anything(seed);
        let name = format!("{name}; {}", again(TEST, seed));
        let mut session = run_both_paces(&name, &setup, &mut |name, session, result| {
            derived += result.around.derived_pages;
            assert_in_segments(&session.inventory(), &setup, name);
        });
        assert_eq!(session.first_mismatch(), None, "{name}");
        let expected = beyond_repair(&session, &setup);
        let found = session.read_back();
        assert_eq!(found.wrong, None, "{name}");
        // At given times zones change hands while they are read back.
        if setup.scheme.options["offline"] == "idle" && setup.faults.uncorrectable_reads == 0.0 {
            assert_eq!(found.lost, expected, "{name}");
        }
    }
    assert!(derived > 0 || seeds(24).count() < 24, "nothing was ever derived");
}
