//! Code zones in virtual time: what off-line work costs, what reads of busy dies gain, what is read ahead,
//! and how far extra reads go. Nothing here depends on the time of the host.

use crate::common::codewords::protection;
use crate::common::zones::{
    COMMAND, OFF_LINE, PROGRAM, READ, TRANSFER, WRITE, coded, coded_groups, command, layout, zones, zones_on,
};
use crate::common::{MIX, Mix, buffers, run, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::Place;
use ssd::protect::Protection;
use ssd::protect::read_ahead::{ReadAhead, Readahead};
use ssd::{Pace, RunResult, Session, Setup};
use std::collections::BTreeSet;
use vocab::{HostCommand, HostOp, Lba, Lpn, SimTime, StreamId, Streams};

/// Latency of the only request, in ns.
fn latency(result: &RunResult) -> u64 {
    assert_eq!(result.host.latency_us.count, 1);
    (result.host.latency_us.mean * 1e3).round() as u64
}

fn with_channels(channels: u32, options: &[(&str, &str)]) -> Setup {
    let mut setup = zones(options);
    (setup.drive.geometry.channels, setup.drive.geometry.dies_per_channel) = (channels, 8 / channels);
    setup
}

#[test]
fn a_whole_group_on_an_idle_drive_takes_as_long_as_without_code() {
    // Of two channels each moves two pages of the group one after the other; all dies sense at once.
    for (channels, moves) in [(2, 2), (8, 1)] {
        for around in ["off", "0"] {
            for group in [0, 1, 17] {
                let setup = with_channels(channels, &[("read_around", around)]);
                let mut session = coded(&setup, &[0]);
                let result = run(&mut session, &[command(0, HostOp::Read, 4 * group, 4)], Pace::Open);
                // On two channels the command cycles of the second die of each overlap the sensing of the first.
                assert_eq!(latency(&result), COMMAND + READ + moves * TRANSFER, "{channels} channels, {around}, group {group}");
                let extra = if around == "off" { 0 } else { 4 };
                assert_eq!((result.around.extra_reads, result.oracle.mismatches), (extra, 0));
            }
        }
    }
}

#[test]
fn a_read_of_a_group_does_not_wait_for_a_die_that_programs() {
    const AFTER: u64 = 20_000;
    // With two channels, each moves pages as they were sensed: data, then code in order. The sum of dies 0 and 1
    // and that of 1 and 2 are the first code pages of their channels, those with die 3 the second. Die 2 waits
    // for its channel's second code page as long as for the first of the other, which has two data pages to move.
    for (channels, moves) in [(2, [2, 2, 3, 3]), (8, [1; 4])] {
        let of_group = |around: &str, die: u32| {
            let setup = with_channels(channels, &[("read_around", around)]);
            let mut session = coded(&setup, &[0]);
            assert_eq!(coded_groups(&session, &layout(&setup)).len(), 64);
            // A page of another zone on the same die; the read comes when its data have been moved.
            let busy = layout(&setup).zone_pages() + 8 * 5 + die;
            let commands = [command(0, WRITE, busy, 1), command(AFTER, HostOp::Read, 0, 4)];
            let result = run(&mut session, &commands, Pace::Open);
            assert_eq!(result.flash.programs["host"], 1);
            ((result.host.read_latency_us.mean * 1e3).round() as u64, result.around)
        };
        for die in 0..4 {
            // The remainder of the program, then the read; other pages of the channel have been moved by then.
            let program = COMMAND + TRANSFER + PROGRAM - AFTER;
            assert_eq!(of_group("off", die).0, program + COMMAND + READ + TRANSFER, "{channels} channels, die {die}");
            let (with_code, around) = of_group("0", die);
            assert_eq!(with_code, COMMAND + READ + moves[die as usize] * TRANSFER, "{channels} channels, die {die}");
            assert_eq!((around.reads, around.extra_reads, around.derived_pages, around.withdrawn_reads), (1, 4, 1, 1));
        }
    }
}

#[test]
fn demand_is_of_what_is_asked_for_and_of_no_alternatives() {
    for probability in [0.0, 0.02] {
        let mut setup = zones(&[("offer", "all")]);
        setup.faults.uncorrectable_reads = probability;
        let session = coded(&setup, &[0]);
        assert!(session.inventory().code.len() > 200);
        let groups = 400;
        let demand = session.demand(&mut (0..groups).map(|i| command(0, HostOp::Read, i % 64 * 4, 4)));
        let asked = u64::from(groups) * 4 * (COMMAND + READ + TRANSFER);
        // For a page that fails, one in fifty, seven others are read at most: a seventh more, and twice that is room.
        let most = if probability > 0.0 { asked * 4 / 3 } else { asked };
        assert!((asked..=most).contains(&demand.dies.0), "{} ns, {asked} asked for", demand.dies.0);
    }
}

/// A drive whose second zone has data in a part, read alone before it goes off line; then anything.
fn around_off_line(options: &[(&str, &str)]) -> (Setup, RunResult, Session) {
    let mut setup = zones(options);
    setup.precondition.fill = 0.5;
    let zone = layout(&setup).zone_pages();
    let mut session = Session::new(&setup).unwrap();
    let mut commands: Vec<HostCommand> = (0..40).map(|i| command(i * 10_000, HostOp::Read, zone + i as u32, 2)).collect();
    let later = workload(5, setup.user_slots, 1_500, Mix { every: 100_000, ..MIX });
    commands.extend(later.into_iter().map(|c| HostCommand { at: SimTime(c.at.0 + 2 * OFF_LINE), ..c }));
    let result = run(&mut session, &commands, Pace::Open);
    (setup, result, session)
}

#[test]
fn off_line_work_that_is_free_changes_no_latency_and_does_what_the_layout_says() {
    let (_, never, _) = around_off_line(&[("offline", "never"), ("read_around", "off")]);
    let (setup, free, session) = around_off_line(&[("offline_cost", "free"), ("read_around", "off")]);
    assert!(free.flash.erases["gc"] > 0 && free.around.valid_groups < 64);
    assert_eq!((&free.host.read_cdf, &free.host.write_cdf), (&never.host.read_cdf, &never.host.write_cdf));
    assert_eq!((free.host.latency_us, free.host.read_latency_us), (never.host.latency_us, never.host.read_latency_us));
    assert_eq!((free.flash.die_utilisation, free.replay.simulated_s), (never.flash.die_utilisation, never.replay.simulated_s));
    for (free, never) in [(&free.flash.reads, &never.flash.reads), (&free.flash.programs, &never.flash.programs)] {
        let others = |counts: &std::collections::BTreeMap<String, u64>| {
            counts
                .iter()
                .filter(|(cause, _)| *cause != "encode")
                .map(|(cause, count)| (cause.clone(), *count))
                .collect::<Vec<_>>()
        };
        assert_eq!((others(free), never["encode"]), (others(never), 0));
    }
    // Half of three zones is written: of the zone that is coded, the first half. Every group has four code pages.
    let layout = layout(&setup);
    let written = layout.user_pages() / 2 - layout.zone_pages();
    assert_eq!(free.flash.reads["encode"], u64::from(written));
    assert_eq!(free.flash.programs["encode"], u64::from(layout.zone_groups() * 4));
    assert_eq!((free.around.encoded_groups, session.first_mismatch()), (u64::from(layout.zone_groups()), None));
}

#[test]
fn on_command_the_drive_encodes_what_was_read_and_nothing_else() {
    let setup = zones(&[("offline", "never")]);
    let layout = layout(&setup);
    let mut session = Session::new(&setup).unwrap();
    let of_zone_1: Vec<HostCommand> =
        (0..40).map(|i| command(i * 500_000, HostOp::Read, layout.zone_pages() + 4 * i as u32, 4)).collect();
    let before = run(&mut session, &of_zone_1, Pace::Open);
    assert_eq!((before.around.reads, before.around.valid_groups), (0, 0));
    session.go_off_line();
    assert_eq!(session.audit().map(|found| found.sound), Ok(layout.zone_groups() * 4));
    let coded: Vec<u32> = coded_groups(&session, &layout).into_iter().map(|group| group.0).collect();
    assert_eq!(coded, (layout.zone_groups()..2 * layout.zone_groups()).collect::<Vec<_>>());
    let after = run(&mut session, &of_zone_1, Pace::Open);
    assert_eq!((after.around.reads, after.around.encoded_groups, after.oracle.mismatches), (40, 0, 0));
    // Under another scheme nothing happens.
    let mut other = Session::new(&crate::common::setup("ds-raid", crate::common::drive(8, 24, 8, 1), 0.5)).unwrap();
    other.go_off_line();
    assert_eq!(run(&mut other, &of_zone_1[..1], Pace::Open).flash.programs["encode"], 0);
}

#[test]
fn requests_that_arrive_while_the_drive_is_off_line_wait_for_it() {
    let setup = zones(&[]);
    let layout = layout(&setup);
    let mut session = Session::new(&setup).unwrap();
    // Says what is hot, and ends before the time.
    run(&mut session, &[command(0, HostOp::Read, 0, 4)], Pace::Open);
    // Two pages on dies of different channels, the second a while after the first.
    let waits = |later: u64| {
        let commands = [command(OFF_LINE + 1_000, HostOp::Read, 256, 1), command(OFF_LINE + 1_000 + later, HostOp::Read, 257, 1)];
        let result = run(&mut session.clone(), &commands, Pace::Open);
        assert_eq!((result.around.encoded_groups, result.host.latency_us.count), (u64::from(layout.zone_groups()), 2));
        let (max, mean) = ((result.host.latency_us.max * 1e3).round() as u64, (result.host.latency_us.mean * 1e3).round() as u64);
        (max, 2 * mean - max)
    };
    // Each die programs a code page for each of its stripe blocks, and reads each of these.
    let work = u64::from(layout.segment_pages()) * (2 * COMMAND + 2 * TRANSFER + READ + PROGRAM);
    for later in [0, 100_000, 5_000_000] {
        let (first, second) = waits(later);
        assert_eq!(first - second, later, "both wait for the same moment");
        assert!(first > work - 1_000 && first < 3 * work, "{first} ns of {work} ns of work at a die");
    }
}

/// Encodes in a gap that a request ends after `gap` ns.
fn encoded_in_gap(gap: u64) -> RunResult {
    let setup = zones(&[("offline", "idle"), ("offline_after", "1ms"), ("read_around", "off")]);
    let mut session = Session::new(&setup).unwrap();
    let commands = [command(0, HostOp::Read, 0, 4), command(gap, HostOp::Read, 0, 4)];
    let result = run(&mut session, &commands, Pace::Open);
    // Nothing goes on after the last request, and what was under way has ended.
    let rest = session.drain();
    assert_eq!((rest.flash.ops, result.oracle.mismatches), (0, 0), "gap {gap}");
    result
}

#[test]
fn idle_encoding_stops_when_a_request_arrives_and_after_the_last() {
    let at_once = 2;
    let mut before = 0;
    for gap in (1..=80).map(|i| i * 500_000 + 40_000) {
        let result = encoded_in_gap(gap);
        let idle = gap.saturating_sub(1_000_000 + COMMAND + READ + 2 * TRANSFER);
        // No group takes less than a read and a program.
        let most = if idle == 0 { 0 } else { at_once * idle.div_ceil(COMMAND + READ + TRANSFER + COMMAND + TRANSFER + PROGRAM) };
        let encoded = result.around.encoded_groups;
        assert!(encoded <= most.min(64), "{encoded} groups in {idle} ns");
        // Begun work is ended, and no more is begun.
        assert_eq!((result.flash.reads["encode"], result.flash.programs["encode"]), (4 * encoded, 4 * encoded), "gap {gap}");
        assert!(encoded >= before, "{encoded} after {before} groups");
        before = encoded;
        // The request waits at most for what a die has to do for the groups under way.
        let longest = COMMAND + READ + 2 * TRANSFER + 2 * (at_once * (2 * COMMAND + READ + 2 * TRANSFER) + PROGRAM);
        assert!(result.host.latency_us.max * 1e3 <= longest as f64, "{} us, gap {gap}", result.host.latency_us.max);
    }
    assert!(before > 20, "{before} groups in the longest gap");
    assert_eq!(encoded_in_gap(1_000_000_000).around.encoded_groups, 64);
}

#[test]
fn groups_that_cannot_be_read_do_not_keep_the_drive_at_work() {
    for offline in ["idle", "5ms,200ms,300ms,500ms"] {
        let mut setup = zones(&[("offline", offline), ("offline_after", "1ms")]);
        setup.faults.dead_die = Some(2);
        setup.faults.dead_die_at_request = 0;
        let mut session = Session::new(&setup).unwrap();
        let gaps = 5;
        let commands: Vec<_> = (0..=gaps).map(|i| command(i * 150_000_000, HostOp::Read, 0, 2)).collect();
        let result = run(&mut session, &commands, Pace::Open);
        // Groups with data or code on the die: all have; each is tried once in a phase.
        assert_eq!(result.around.encoded_groups, 0, "{offline}");
        assert!(result.flash.reads["encode"] > 64 && result.flash.reads["encode"] <= gaps * 64 * 4, "{offline}");
        assert_eq!((result.host.requests["read"], session.drain().flash.ops), (gaps + 1, 0), "{offline}");
    }
}

/// The table of threads beside the drive, with buffers of its own.
struct Beside {
    table: ReadAhead,
    buffers: Vec<BTreeSet<u32>>,
    group: u32,
    hits: u64,
    ahead: u64,
    /// Pages that are read from flash for the host.
    read: u64,
}

impl Beside {
    fn new(setup: &Setup) -> Self {
        let Protection::Zones(scheme) = protection(setup) else { unreachable!("the setup is of code zones") };
        let table = scheme.read_ahead().expect("threads are followed");
        let group = layout(setup).group_size() * layout(setup).stripe_pages();
        Self { table, buffers: vec![BTreeSet::new(); 64], group, hits: 0, ahead: 0, read: 0 }
    }

    fn sees(&mut self, command: &HostCommand) {
        let (first, end) = ((command.lba.0 / 8) as u32, (command.lba.0 + u64::from(command.sectors)).div_ceil(8) as u32);
        if command.op != HostOp::Read {
            self.table.on_write(Lba(u64::from(first) * 8), (end - first) * 8);
            self.buffers.iter_mut().filter(|of| (first..end).any(|lpn| of.contains(&lpn))).for_each(BTreeSet::clear);
            return;
        }
        let Some(Readahead { thread, fetch, .. }) = self.table.on_read(command.lba, command.sectors) else {
            self.read += u64::from(end - first);
            return;
        };
        let buffer = &mut self.buffers[thread];
        let fetched = fetch.map_or(0..0, |of| (of.lba.0 / 8) as u32..(of.lba.0 + of.sectors).div_ceil(8) as u32);
        let missing: Vec<u32> = (first..end).filter(|lpn| !buffer.contains(lpn)).collect();
        self.hits += u64::from(end - first) - missing.len() as u64;
        self.read += missing.iter().filter(|lpn| !fetched.contains(lpn)).count() as u64;
        if !fetched.is_empty() {
            *buffer = ((fetched.end - 1) / self.group * self.group..fetched.end).collect();
            self.ahead += buffer.len() as u64;
            // Of the groups before the last only what the host wants is read.
            self.read += fetched.filter(|lpn| buffer.contains(lpn) || missing.contains(lpn)).count() as u64;
        }
    }
}

/// Reads of this many threads in sequence, one after the other, a few of them random, with some writes near
/// where they read.
fn sequences(seed: u64, threads: u64, count: u64, whole: bool, user: u32) -> Vec<HostCommand> {
    let mut draws = Streams::new(seed).stream("test/sequences");
    let end = u64::from(user) * 8;
    let mut next: Vec<u64> = (0..threads).map(|thread| thread * end / threads / 8 * 8).collect();
    let mut at = 0;
    let one = |_| {
        at += draws.below(120_000);
        let thread = draws.below(threads) as usize;
        let unit = if whole { 8 } else { 1 };
        let sectors = unit * (1 + draws.below(48 / unit));
        if next[thread] + sectors > end {
            next[thread] = 0;
        }
        let near = (next[thread] / 8 + draws.below(6)).min(end / 8 - 1);
        let kind = draws.unit();
        if kind < 0.05 {
            return command(at, [WRITE, HostOp::Discard][usize::from(kind < 0.01)], near as u32, 1);
        }
        if kind < 0.1 {
            return HostCommand {
                at: SimTime(at),
                op: HostOp::Read,
                lba: Lba(draws.below(end / 8) * 8),
                sectors: 8,
                stream: StreamId::default(),
            };
        }
        let lba = Lba(next[thread]);
        next[thread] += sectors;
        HostCommand { at: SimTime(at), op: HostOp::Read, lba, sectors: sectors as u32, stream: StreamId::default() }
    };
    (0..count).map(one).collect()
}

#[test]
fn what_is_read_ahead_is_what_the_table_of_threads_says() {
    for (threads, table, around, stripe_block) in
        [(1, "20", "off", "4KiB"), (3, "20", "off", "8KiB"), (5, "3", "off", "4KiB"), (4, "4", "0", "4KiB")]
    {
        for whole in [true, false] {
            let options: &[(&str, &str)] = &[
                ("read_ahead_threads", table),
                ("read_around", around),
                ("read_ahead_over", "64"),
                ("stripe_block", stripe_block),
            ];
            let setup = zones(options);
            let mut session = coded(&setup, &[0]);
            let mut beside = Beside::new(&setup);
            // The two reads of the zone that made it hot.
            [command(0, HostOp::Read, 0, 4), command(0, HostOp::Read, 0, 1)].iter().for_each(|command| beside.sees(command));
            beside.read = 0;
            // Nothing is discarded: pages that are not there are not read.
            let all = sequences(7, threads, 1_500, whole, setup.user_slots);
            let all: Vec<_> = all.into_iter().filter(|command| command.op != HostOp::Discard).collect();
            all.iter().for_each(|command| beside.sees(command));
            let result = run(&mut session, &all, Pace::Closed { depth: 1 });
            let name = format!("{threads} threads of {table}, {around}, {stripe_block}, whole {whole}");
            assert_eq!((result.around.ahead_hits, result.around.ahead_pages), (beside.hits, beside.ahead), "{name}");
            assert!(beside.hits > 100, "{name}: {} hits", beside.hits);
            assert_eq!((session.first_mismatch(), result.host.media_errors), (None, 0), "{name}");
            if around == "off" {
                assert_eq!(result.flash.reads["host"], beside.read, "{name}");
            }
        }
    }
}

#[test]
fn read_ahead_never_returns_what_was_there_before_a_write() {
    for (name, buffer) in buffers() {
        for threads in [1, 4] {
            for pace in [Pace::Open, Pace::Closed { depth: 4 }, Pace::Closed { depth: 16 }] {
                let options =
                    [("read_ahead_threads", "8"), ("offline", "idle"), ("offline_after", "100us"), ("read_ahead_over", "32")];
                let setup = Setup { buffer, payload: ssd::PayloadKind::Page, ..zones(&options) };
                let mut session = coded(&setup, &[0]);
                let all = sequences(8 + threads, threads, 1_500, false, setup.user_slots);
                let result = run(&mut session, &all, pace);
                let name = format!("{name}, {threads} threads, {pace:?}");
                assert_eq!((session.first_mismatch(), result.host.media_errors), (None, 0), "{name}");
                assert!(result.around.ahead_hits > 100, "{name}: {:?}", result.around);
                session.check_counts();
                assert!(session.audit().is_ok() && session.read_back() == ssd::ReadBack::default(), "{name}");
            }
        }
    }
}

/// Reads and writes at random, all groups of the first zone coded before.
fn loaded(options: &[(&str, &str)], each: &mut dyn FnMut(u32)) -> RunResult {
    let setup = zones(options);
    let mut session = coded(&setup, &[0]);
    let commands = workload(9, layout(&setup).zone_pages(), 300, Mix { reads: 0.9, max_pages: 8, ..MIX });
    let result = session.run_stepwise(&mut commands.iter().copied(), Pace::Closed { depth: 24 }, &mut |_, fork| {
        each(fork().alternatives_in_flight().extra_reads);
    });
    assert_eq!(session.first_mismatch(), None);
    result
}

#[test]
fn a_limit_of_no_extra_reads_is_as_no_reading_around() {
    let off = loaded(&[("read_around", "off")], &mut |extra| assert_eq!(extra, 0));
    let none = loaded(&[("extra_reads", "0")], &mut |extra| assert_eq!(extra, 0));
    assert_eq!((off.replay.event_digest, off.around), (none.replay.event_digest, none.around));
    assert_eq!((off.around.reads, off.around.derived_pages), (0, 0));
}

#[test]
fn extra_reads_never_exceed_their_limit_and_reach_it() {
    for limit in [1, 4, 7, 30] {
        let mut most = 0;
        let result = loaded(&[("extra_reads", &limit.to_string())], &mut |extra| {
            assert!(extra <= limit, "{extra} of {limit}");
            most = most.max(extra);
        });
        assert!(most == limit && result.around.extra_reads > u64::from(limit), "at most {most} of {limit}");
    }
}

#[test]
fn dies_are_read_around_only_when_they_are_as_busy_as_asked() {
    let reads = |from: &str| loaded(&[("read_around", from)], &mut |_| ()).around.reads;
    // With 24 requests outstanding a die seldom has nothing before a read, so that 0 and 1 may be the same.
    let by_threshold: Vec<u64> = ["0", "1", "3", "6", "1000"].into_iter().map(reads).collect();
    let falls = by_threshold[1..].windows(2).all(|pair| pair[0] > pair[1]);
    assert!(falls && by_threshold[0] >= by_threshold[1] && by_threshold[4] == 0, "{by_threshold:?}");
    // A drive of a single group has its code on the very dies of its data.
    let setup = zones_on(4, &[]);
    let session = coded(&setup, &[0]);
    assert_eq!(coded_groups(&session, &layout(&setup)).len() as u32, layout(&setup).zone_groups());
    assert!(session.inventory().code.iter().all(|page| matches!(page.place, Place::At(_)) && page.of.len() == 2));
    assert_eq!(layout(&setup).place(Lpn(3)).die.0, 3);
}
