//! Wear levelling, spare space, discards, idle GC, and the accounting of writes smaller
//! than what flash programs. All bounds were derived before the first run.

use crate::common::{MIX, buffers, drive, prove, read_all, run, setup, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::{GcConfig, WearConfig};
use ssd::protect::SchemeChoice;
use ssd::protect::registry::{SCHEMES, SchemeEntry};
use ssd::{Pace, PayloadKind, Precondition, RunResult, Session, Setup};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use vocab::{Fua, HostCommand, HostOp, Lba, SimTime, StreamId, Streams};

const QD1: Pace = Pace::Closed { depth: 1 };

fn schemes() -> impl Iterator<Item = &'static SchemeEntry> {
    SCHEMES.iter().filter(|entry| !entry.canary)
}

/// Schemes whose logs span dies. Segments of code zones level wear within themselves only, and keep no
/// more blocks free in idle time than they must: they have two to spare.
fn with_large_logs() -> impl Iterator<Item = &'static SchemeEntry> {
    schemes().filter(|entry| entry.name != "code-zones")
}

fn command(op: HostOp, lba: u64, sectors: u32) -> HostCommand {
    HostCommand { at: SimTime::ZERO, op, lba: Lba(lba), sectors, stream: StreamId::default() }
}

/// A write of sectors.
fn write(lba: u64, sectors: u32) -> HostCommand {
    command(HostOp::Write(Fua::No), lba, sectors)
}

/// A write of one whole page.
fn page(lpn: u64) -> HostCommand {
    write(lpn * 8, 8)
}

/// Uniform writes of single pages.
fn uniform(seed: u64, pages: u32, count: u64) -> impl Iterator<Item = HostCommand> {
    let mut draws = Streams::new(seed).stream("test/uniform");
    (0..count).map(move |_| page(draws.below(u64::from(pages))))
}

fn fill(setup: &Setup) -> impl Iterator<Item = HostCommand> + use<> {
    (0..u64::from(setup.user_slots)).map(page)
}

fn replay(session: &mut Session, commands: impl Iterator<Item = HostCommand>, depth: u32) -> RunResult {
    let mut commands = commands;
    session.run(&mut commands, Pace::Closed { depth }, &mut |_| {})
}

fn assert_reads_back(name: &str, session: &mut Session, setup: &Setup) {
    let result = replay(session, read_all(setup.user_slots), 8);
    assert_eq!(session.first_mismatch(), None, "{name}, seed {}", setup.seed);
    assert_eq!((result.host.media_errors, result.oracle.checked_reads), (0, u64::from(setup.user_slots)), "{name}");
}

/// Blocks of a die, hence units of every log: region logs lie one behind the other, and a
/// superblock takes one block of each die.
const LOG_UNITS: u32 = 64;

/// Widest spread of P/E cycles within a log.
fn spread(result: &RunResult) -> u32 {
    let of = |log: &[u32]| log.iter().max().expect("blocks") - log.iter().min().expect("blocks");
    result.wear.pe_cycles.chunks(LOG_UNITS as usize).map(of).max().expect("logs")
}

/// 10 % of the pages get 95 % of the writes.
fn hot_and_cold(scheme: &str, wear: WearConfig) -> RunResult {
    let base = setup(scheme, drive(4, LOG_UNITS, 8, 1), 0.7);
    let setup = Setup { wear, ..base };
    let (pages, hot) = (u64::from(setup.user_slots), u64::from(setup.user_slots / 10));
    let mut draws = Streams::new(setup.seed).stream("test/hot-and-cold");
    let overwrites = (0..300_000).map(|_| {
        let (first, end) = if draws.chance(0.95) { (0, hot) } else { (hot, pages) };
        page(first + draws.below(end - first))
    });
    let mut session = Session::new(&setup).unwrap();
    let result = replay(&mut session, fill(&setup).chain(overwrites), 8);
    assert_reads_back(scheme, &mut session, &setup);
    result
}

// Of 64 units, the cold pages fill at most C = 0.9 * 0.7 * 60 = 38, which leaves H = 26. From the
// moment the spread exceeds the threshold, every eighth victim is the least worn unit, so all C
// have had their turn after 8 C GC runs, in which the others gain 8 C / H = 12 cycles at
// most: the spread stays below 20 + 12, and twice the threshold leaves room for chance.
#[test]
fn wear_levelling_keeps_the_spread_of_wear_near_its_threshold() {
    const THRESHOLD: u32 = 20;
    let mut wrong = String::new();
    for entry in with_large_logs() {
        let levelled = hot_and_cold(entry.name, WearConfig { dynamic: true, static_threshold: THRESHOLD });
        let plain = hot_and_cold(entry.name, WearConfig { dynamic: false, static_threshold: 0 });
        let moves = [&levelled, &plain].map(|result| result.flash.programs["wear-level"]);
        let mean = levelled.wear.pe_cycles.iter().sum::<u32>() / levelled.wear.pe_cycles.len() as u32;
        let (with, without) = (spread(&levelled), spread(&plain));
        let line = format!("{}: spread {with} with, {without} without; moves {moves:?}; {mean} cycles\n", entry.name);
        eprint!("{line}");
        let holds = with <= 2 * THRESHOLD && without > 4 * THRESHOLD && moves[0] > 0 && moves[1] == 0 && mean >= 100;
        if !holds {
            wrong += &line;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

// Which free block is taken decides little under uniform writes, so one run may go either way:
// the claim is about the mean of several.
#[test]
fn dynamic_wear_levelling_does_not_widen_the_spread_of_wear_under_uniform_writes() {
    const SEEDS: u64 = 6;
    let mut wrong = String::new();
    for entry in schemes() {
        let sum = |dynamic| -> u32 {
            let run = |seed| {
                let base = setup(entry.name, drive(4, LOG_UNITS, 8, 1), 0.8);
                let setup = Setup { wear: WearConfig { dynamic, static_threshold: 0 }, seed, ..base };
                let overwrites = uniform(seed, setup.user_slots, 40_000);
                spread(&replay(&mut Session::new(&setup).unwrap(), fill(&setup).chain(overwrites), 8))
            };
            (1..=SEEDS).map(run).sum()
        };
        let (with, without) = (sum(true), sum(false));
        let line = format!("{}: summed over {SEEDS} seeds, spread {with} with, {without} without\n", entry.name);
        eprint!("{line}");
        if with > without {
            wrong += &line;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// One log of 1024 blocks in which T, the pages that hold data, is what is left beside
/// `gc.free_blocks`: see `write_amplification.rs`.
fn fifo_log(spare: f64) -> (Setup, f64) {
    let (blocks, block_pages) = (1024, 64);
    let gc =
        GcConfig { policy: "fifo".into(), separate_write_pointer: false, moves_in_flight: block_pages, ..GcConfig::default() };
    let holding_data = f64::from((blocks - gc.free_blocks) * block_pages);
    let user_slots = (holding_data * (1.0 - spare)).round() as u32;
    let wear = WearConfig { dynamic: false, static_threshold: 0 };
    let base = setup("none", drive(1, blocks, block_pages, 1), 0.5);
    (Setup { user_slots, gc, wear, payload: PayloadKind::None, ..base }, holding_data)
}

// A revolution of the log takes T / WA < 2 U' host writes, after which no page discarded is left
// in it; 4 U' of warm-up leave nothing of the state before, and so do 3 U before the discard.
#[test]
fn discarding_half_of_the_pages_gives_the_write_amplification_of_the_spare_gained() {
    let (setup, holding_data) = fifo_log(0.10);
    let half = setup.user_slots / 2;
    for (name, stride) in [("upper half", 1), ("odd", 2)] {
        let discarded = |i: u64| if stride == 2 { 2 * i + 1 } else { u64::from(half) + i };
        let mut session = Session::new(&setup).unwrap();
        let pages = u64::from(setup.user_slots);
        replay(&mut session, fill(&setup).chain(uniform(1, setup.user_slots, 3 * pages)), 1);
        let before = replay(&mut session, uniform(2, setup.user_slots, 200_000), 1).flash.waf.unwrap();
        let gone = replay(&mut session, (0..u64::from(half)).map(|i| command(HostOp::Discard, discarded(i) * 8, 8)), 1);
        assert_eq!(gone.host.requests["discard"], u64::from(half));
        let left = setup.user_slots - half;
        let keep = |command: HostCommand| HostCommand { lba: Lba(command.lba.0 * stride), ..command };
        replay(&mut session, uniform(3, left, 4 * u64::from(left)).map(keep), 1);
        let after = replay(&mut session, uniform(4, left, 200_000).map(keep), 1);
        session.check_counts();
        let (full, spared) = (theory::fifo(0.10), theory::fifo(1.0 - f64::from(left) / holding_data));
        let found = after.flash.waf.unwrap();
        eprintln!("{name}: {before:.4} before (theory {full:.4}), {found:.4} after (theory {spared:.4})");
        assert_eq!(after.host.write_errors, 0, "{name}");
        assert!((before / full - 1.0).abs() < 0.03, "{name}: before {before}, theory {full}");
        assert!((found / spared - 1.0).abs() < 0.03, "{name}: after {found}, theory {spared}");
    }
}

/// A preconditioned drive with or without idle GC.
fn bursty_drive(scheme: &str, idle_free_blocks: u32) -> Setup {
    let base = setup(scheme, drive(4, LOG_UNITS, 16, 1), 0.7);
    Setup { gc: GcConfig { idle_free_blocks, ..base.gc.clone() }, precondition: Precondition::default(), ..base }
}

/// More than any burst uses up, and less than the garbage there is: 64 - 10 units hold the 42
/// that live data fill.
const IDLE_FREE_BLOCKS: u32 = 10;

// A burst of 64 pages fills one block of each die (three with parity). Half a second later all
// of them are collected again, which takes at most 3 * (16 moves of 1.5 ms + 3 ms) = 81 ms.
#[test]
fn idle_gc_lowers_the_99th_percentile_of_bursty_writes() {
    let mut wrong = String::new();
    for entry in with_large_logs() {
        let p99 = |idle_free_blocks| {
            let setup = bursty_drive(entry.name, idle_free_blocks);
            let writes = uniform(3, setup.user_slots, 300 * 64).enumerate();
            let at = |i: u64| SimTime(i / 64 * 500_000_000 + i % 64 * 10_000);
            let commands: Vec<_> = writes.map(|(i, write)| HostCommand { at: at(i as u64), ..write }).collect();
            let result = run(&mut Session::new(&setup).unwrap(), &commands, Pace::Open);
            assert!(!result.replay.saturated && result.host.write_errors == 0, "{}", entry.name);
            result.host.write_latency_us.p99
        };
        let (with, without) = (p99(IDLE_FREE_BLOCKS), p99(0));
        let line = format!("{}: {with} us with, {without} us without\n", entry.name);
        eprint!("{line}");
        if with >= without {
            wrong += &line;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn idle_gc_never_makes_a_read_return_wrong_data() {
    for entry in with_large_logs() {
        for (name, buffer) in buffers() {
            for payload in [PayloadKind::Tag, PayloadKind::Page] {
                let run = |idle_free_blocks| {
                    let setup = Setup { buffer, payload, ..bursty_drive(entry.name, idle_free_blocks) };
                    // Bursts of 32, so close that they find idle GC at work.
                    let mut commands = workload(7, setup.user_slots, 6_000, MIX);
                    commands.iter_mut().enumerate().for_each(|(i, command)| command.at = SimTime(i as u64 / 32 * 90_000_000));
                    let (result, after) = prove(&format!("{} {name} {payload:?}", entry.name), &setup, &commands, Pace::Open);
                    assert_eq!(
                        (result.host.media_errors, result.host.write_errors, after.host.media_errors),
                        (0, 0, 0),
                        "{} {name}",
                        entry.name
                    );
                    result.flash.erases["gc"]
                };
                let (with, without) = (run(IDLE_FREE_BLOCKS), run(0));
                assert!(with > without, "{} {name}: {with} erases with idle GC, {without} without", entry.name);
            }
        }
    }
}

/// Slots a page that the scheme can work with.
fn page_sizes(scheme: &SchemeChoice) -> Vec<u64> {
    let works = |slots: &u64| ssd::protect::registry::build(scheme, ssd::shape(&drive(6, 16, 8, *slots))).is_ok();
    [1, 4].into_iter().filter(works).collect()
}

/// Long after any of the runs below should have ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// Fills a drive to the last page and overwrites it; what was wrong, in words.
fn overfill(setup: &Setup, depth: u32) -> String {
    const OVERWRITES: u64 = 5_000;
    let most = setup.user_slots;
    let mut session = Session::new(setup).unwrap();
    let result = replay(&mut session, fill(setup).chain(uniform(5, most, OVERWRITES)), depth);
    session.check_counts();
    let after = replay(&mut session, read_all(most), 8);
    let wrong = session.first_mismatch().map(str::to_owned);
    let errors = (result.host.write_errors, result.host.media_errors, after.host.media_errors, wrong);
    let unanswered = u64::from(most) + OVERWRITES - result.host.requests["write"];
    let refused = Session::new(&Setup { user_slots: most + 1, ..setup.clone() }).err().map(|e| e.to_string()).unwrap_or_default();
    let names_the_limit =
        refused.contains(&format!("1 to {most} fit")) && refused.contains(&format!("{} logical pages", most + 1));
    if errors == (0, 0, 0, None) && unanswered == 0 && names_the_limit {
        return String::new();
    }
    format!("errors {errors:?}, {unanswered} unanswered, one page more: `{refused}`")
}

#[test]
fn a_drive_full_to_the_last_page_takes_random_overwrites_and_not_one_page_more() {
    let mut said = String::new();
    for entry in schemes() {
        for slots in page_sizes(&SchemeChoice::named(entry.name)) {
            for (separate_write_pointer, depth) in [(true, 1), (true, 32), (false, 1), (false, 32)] {
                let base = setup(entry.name, drive(6, 24, 16, slots), 1.0);
                let setup = Setup { gc: GcConfig { separate_write_pointer, ..base.gc.clone() }, ..base };
                if let Err(refused) = Session::new(&setup) {
                    // One write pointer for both writers needs pages of one slot in region logs.
                    let expected = entry.name == "none" && slots > 1 && !separate_write_pointer;
                    assert!(expected && refused.to_string().contains("gc.separate_write_pointer"), "{}: {refused}", entry.name);
                    continue;
                }
                let most = ssd::user_slots_max(&setup.drive, &setup.scheme, &setup.gc).unwrap();
                assert_eq!(setup.user_slots, most, "{}", entry.name);
                // A run that never ends is left behind: the process ends without it.
                let (tell, told) = mpsc::channel();
                thread::spawn(move || tell.send(overfill(&setup, depth)));
                let wrong = told.recv_timeout(PATIENCE).unwrap_or_else(|e| format!("no end of the run: {e}"));
                if !wrong.is_empty() {
                    let name = format!("{} x{slots}, separate write pointer {separate_write_pointer}, depth {depth}", entry.name);
                    said += &format!("{name}: {wrong}\n");
                    break;
                }
            }
        }
    }
    assert!(said.is_empty(), "{said}");
}

// Pages 0 to 9 exist. Each command with the pages it touches and the old pages it has to read.
const PARTIAL_WRITES: [(u64, u32, u64, u64); 9] = [
    (3, 8, 2, 2),    // from the middle of page 0 to that of page 1
    (16, 4, 1, 1),   // the first half of page 2
    (26, 2, 1, 1),   // within page 3: two edges, one page
    (36, 20, 3, 1),  // from the middle of page 4 to the end of page 6
    (76, 8, 2, 1),   // page 9 and the unwritten page 10
    (100, 4, 1, 0),  // the end of the unwritten page 12
    (128, 16, 2, 0), // pages 16 and 17, whole
    (130, 2, 1, 1),  // within page 16, which now exists
    (57, 6, 1, 0),   // within page 7, discarded before
];

#[test]
fn a_partial_write_reads_each_old_page_it_does_not_cover() {
    for scheme in ["none", "ds-raid"] {
        let setup = Setup { payload: PayloadKind::Page, ..setup(scheme, drive(4, 16, 8, 1), 0.5) };
        let mut session = Session::new(&setup).unwrap();
        replay(&mut session, (0..10).map(page).chain([command(HostOp::Discard, 56, 8)]), 1);
        let commands = PARTIAL_WRITES.map(|(lba, sectors, ..)| write(lba, sectors));
        let result = run(&mut session, &commands, QD1);
        let (touched, read) = PARTIAL_WRITES.iter().fold((0, 0), |(t, r), &(_, _, pages, old)| (t + pages, r + old));
        assert_eq!((touched, read), (14, 7), "counted by hand");
        assert_eq!((result.host.write_pages, result.flash.programs["host"]), (touched, touched), "{scheme}");
        assert_eq!(result.flash.reads["host-rmw"], read, "{scheme}");
        assert_eq!(result.flash.reads.values().sum::<u64>(), read, "{scheme}: nothing else is read");
        let programs: u64 = result.flash.programs.values().sum();
        assert_eq!(result.flash.waf, Some(programs as f64 / touched as f64), "{scheme}");
        if scheme == "none" {
            assert_eq!(result.flash.waf, Some(1.0));
        }
        assert_reads_back(scheme, &mut session, &setup);
    }
}

#[test]
fn raid5_reads_no_more_for_a_partial_write_than_its_edges_and_its_parity_need() {
    let setup = Setup { payload: PayloadKind::Page, ..setup("raid5", drive(4, 16, 8, 1), 0.5) };
    let mut session = Session::new(&setup).unwrap();
    replay(&mut session, (0..10).map(page), 1);
    // A whole page: the old page and parity, or the two others of the stripe. Half of it: no more.
    let whole = run(&mut session, &[write(8, 8)], QD1);
    let half = run(&mut session, &[write(8, 4)], QD1);
    let reads = |result: &RunResult| result.flash.reads.values().sum::<u64>();
    assert_eq!((whole.flash.reads["host-rmw"], reads(&whole)), (0, 2));
    assert!((2..=3).contains(&reads(&half)), "{:?}", half.flash.reads);
    assert_eq!((half.host.write_pages, half.flash.programs["host"], half.flash.programs["parity"]), (1, 1, 1));
    assert_reads_back("raid5", &mut session, &setup);
}

#[test]
fn a_request_that_fills_a_page_takes_one_program_and_a_lone_slot_pads_the_rest() {
    let setup = setup("none", drive(2, 16, 8, 4), 0.5);
    let mut session = Session::new(&setup).unwrap();
    let programs = |result: &RunResult| result.flash.programs.values().sum::<u64>();
    let together = run(&mut session, &[write(0, 32)], QD1);
    assert_eq!((together.host.write_pages, programs(&together), together.flash.padded_slots), (4, 1, 0));
    assert_eq!(together.flash.waf, Some(1.0));
    let alone = run(&mut session, &[page(0)], QD1);
    assert_eq!((alone.host.write_pages, programs(&alone), alone.flash.padded_slots), (1, 1, 3));
    assert_eq!(alone.flash.waf, Some(4.0));
    let in_turn = run(&mut session, &[page(0), page(1), page(2), page(3)], QD1);
    assert_eq!((in_turn.host.write_pages, programs(&in_turn), in_turn.flash.padded_slots), (4, 4, 12));
    let five = run(&mut session, &[write(0, 40)], QD1);
    assert_eq!((five.host.write_pages, programs(&five), five.flash.padded_slots), (5, 2, 3));
    assert_reads_back("none x4", &mut session, &setup);
}
