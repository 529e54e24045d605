//! Where the time of latencies goes: named waits that add up to each latency, for every scheme.

use crate::common::{MIX, Mix, buffers, drive, promise, run, schemes, setup, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::{Age, AnsweredRequest, Ecc, Errors, ExplainedResult, Faults, Pace, RunResult, Session, Setup, Wait};
use std::collections::BTreeMap;
use vocab::{Bytes, Fua, HostCommand, HostOp, Lba, Nanos, PeCycles, SimTime, StreamId};

/// A run with a log of its requests.
fn explained(setup: &Setup, commands: &[HostCommand], pace: Pace) -> (RunResult, Vec<AnsweredRequest>) {
    let mut rows = Vec::new();
    let mut session = Session::new(setup).expect("a valid setup");
    let result =
        session.run_explained(&mut commands.iter().copied(), pace, &mut |_| {}, Some(&mut |some| rows.extend_from_slice(some)));
    (result, rows)
}

/// Mean of each wait in microseconds, from the log.
fn means(rows: &[&AnsweredRequest]) -> BTreeMap<String, f64> {
    let mean = |wait: Wait| rows.iter().map(|row| row.waits.of(wait).0 as f64).sum::<f64>() / rows.len() as f64 / 1e3;
    Wait::ALL.iter().map(|&(wait, name)| (name.to_string(), mean(wait))).filter(|(_, mean)| *mean > 0.0).collect()
}

fn assert_close(found: &ExplainedResult, naive: &BTreeMap<String, f64>, within: f64, name: &str) {
    assert_eq!(found.mean_us.keys().collect::<Vec<_>>(), naive.keys().collect::<Vec<_>>(), "{name}");
    for (wait, mean) in naive {
        let off = (found.mean_us[wait] - mean).abs();
        assert!(off <= within * mean + 1e-9, "{name}: {wait} {} instead of {mean}", found.mean_us[wait]);
    }
}

fn check(name: &str, setup: &Setup, commands: &[HostCommand], pace: Pace) -> Vec<AnsweredRequest> {
    let (result, rows) = explained(setup, commands, pace);
    let plain = run(&mut Session::new(setup).expect("a valid setup"), commands, pace);
    assert_eq!(RunResult { waits: None, ..result.clone() }, plain, "{name}: to look changes nothing");
    let mut numbers: Vec<u64> = rows.iter().map(|row| row.request).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..commands.len() as u64).collect::<Vec<_>>(), "{name}: every request once");
    for row in &rows {
        assert_eq!(row.waits.total(), row.answer.since(row.arrival), "{name}: {row:?}");
        assert!(row.arrival <= row.start && row.start <= row.answer, "{name}: {row:?}");
        let command = &commands[row.request as usize];
        assert_eq!((row.lba, row.sectors), (command.lba, command.sectors), "{name}");
    }
    let waits = result.waits.expect("asked for");
    for (kind, latency, all) in
        [("read", &result.host.read_latency_us, &waits.reads), ("write", &result.host.write_latency_us, &waits.writes)]
    {
        let of_kind: Vec<_> = rows.iter().filter(|row| kind_name(row) == kind).collect();
        assert_eq!((all.requests, of_kind.len() as u64), (latency.count, latency.count), "{name}");
        assert_close(all, &means(&of_kind), 1e-9, name);
        let sum: f64 = all.mean_us.values().sum();
        assert!((sum - latency.mean).abs() <= 1e-9 * latency.mean, "{name}: {sum} is not {}", latency.mean);
    }
    rows
}

fn kind_name(row: &AnsweredRequest) -> &'static str {
    match format!("{:?}", row.kind).as_str() {
        "Read" => "read",
        "Write" => "write",
        _ => "other",
    }
}

fn total(rows: &[AnsweredRequest], wait: Wait) -> u64 {
    rows.iter().map(|row| row.waits.of(wait).0).sum()
}

/// Every scheme with every buffer, with dies that die and pages that cannot be read. Catches a request that is answered on
/// a way that no one explains, and waits that cannot be: without a buffer, without parity, without losses.
#[test]
fn waits_add_up_to_every_latency_of_every_scheme() {
    for choice in schemes() {
        for (index, (buffer_name, buffer)) in buffers().into_iter().enumerate() {
            for (fault, faults) in [
                ("", Faults::default()),
                ("a die dies", Faults { dead_die: Some(2), dead_die_at_request: 700, ..Faults::default() }),
                ("reads fail", Faults { uncorrectable_reads: 0.01, ..Faults::default() }),
            ] {
                let base = setup_of(&choice, drive(6, 16, 8, 1), if fault.is_empty() { 0.9 } else { 0.6 });
                let setup = Setup { buffer, faults, seed: 11 + index as u64, ..base };
                let commands = workload(setup.seed, setup.user_slots, 2_000, MIX);
                for pace in [Pace::Open, Pace::Closed { depth: 16 }] {
                    let name = format!("{choice}, buffer {buffer_name}, {fault} {pace:?}");
                    let rows = check(&name, &setup, &commands, pace);
                    assert!(total(&rows, Wait::Sensing) > 0, "{name}");
                    let is_plain = promise(&choice, &drive(6, 16, 8, 1)) == 0 && choice.name == "none";
                    assert!(!is_plain || total(&rows, Wait::Parity) + total(&rows, Wait::QueueParity) == 0, "{name}");
                    let has_cache = buffer_name != "off" || choice.name == "da-raid5";
                    assert!(has_cache || total(&rows, Wait::Buffer) == 0, "{name}");
                    assert_eq!(total(&rows, Wait::Ecc), 0, "{name}: pages have no code");
                }
            }
        }
    }
}

/// With a code for every page, decoders that are slow, and pages that fail. Catches decoding that is left out.
#[test]
fn decoding_is_part_of_the_waits() {
    for choice in schemes().filter(|choice| choice.options.is_empty()) {
        let mut setup = setup_of(&choice, drive(6, 16, 8, 1), 0.7);
        setup.drive.geometry.oob_size = Bytes(224);
        setup.ecc = Ecc { policy: "fixed".into(), options: [("t".into(), "40".into())].into(), ..Ecc::default() };
        setup.errors = Errors { model: "flares".into(), ..Errors::default() };
        setup.age = Age { pe_cycles: PeCycles(10_000), ..Age::default() };
        let commands = workload(3, setup.user_slots, 2_000, MIX);
        let rows = check(&choice.to_string(), &setup, &commands, Pace::Open);
        assert!(total(&rows, Wait::Ecc) > 0, "{choice}");
    }
}

fn alone(op: HostOp, at: u64, lpn: u64) -> HostCommand {
    HostCommand { at: SimTime(at), op, lba: Lba(lpn * 8), sectors: 8, stream: StreamId::default() }
}

/// Requests that meet no one: their waits by hand, from the times of the drive (0.3 us a command, 400 MT/s).
#[test]
fn a_lone_request_waits_for_its_own_work_alone() {
    let setup = setup("none", drive(6, 16, 8, 1), 0.5);
    let write = |n: u64| alone(HostOp::Write(Fua::No), n * 50_000_000, n);
    let read = |n: u64| alone(HostOp::Read, (n + 20) * 50_000_000, n);
    let commands: Vec<HostCommand> = (0..12).map(write).chain((0..12).map(read)).collect();
    let rows = check("lone requests", &setup, &commands, Pace::Open);
    let transfer = Nanos(300 + 4096 * 1000 / 400);
    for row in &rows {
        let (cells, times) = match kind_name(row) {
            "read" => (Wait::Sensing, [40_000, 65_000]),
            _ => (Wait::Programming, [500_000, 1_300_000]),
        };
        assert_eq!(row.waits.of(Wait::Transfer), transfer, "{row:?}");
        assert!(times.contains(&row.waits.of(cells).0), "{row:?}");
        assert_eq!(row.waits.total(), transfer + row.waits.of(cells), "{row:?}");
    }
}

/// Writes of one page at once: under the second the first goes first. Under static stripes the parity of a lone write is
/// read, then written.
#[test]
fn order_and_parity_have_names() {
    let base = setup("raid5", drive(6, 16, 8, 1), 0.5);
    let setup = Setup { precondition: ssd::Precondition { fill: 1.0, ..base.precondition }, ..base };
    let commands = [alone(HostOp::Write(Fua::No), 0, 3), alone(HostOp::Write(Fua::No), 0, 3)];
    let rows = check("raid5", &setup, &commands, Pace::Open);
    let [first, second] = &rows[..] else { panic!("two rows") };
    // Old data and old parity are read together, then data and parity are programmed on two dies; the last explains.
    assert!(first.waits.of(Wait::Parity) >= Nanos(40_000) && first.waits.of(Wait::Order) == Nanos(0), "{first:?}");
    assert_eq!(second.waits.of(Wait::Order), first.answer.since(first.arrival), "{second:?}");
    assert_eq!(second.start, first.answer);
    let setup = self::setup("none", drive(6, 16, 8, 1), 0.5);
    let rows = check("none", &setup, &commands[..1], Pace::Open);
    assert_eq!(rows[0].waits.of(Wait::Parity), Nanos(0));
}

/// Two partial writes of one page at once: the second waits while the first reads the rest of the page, and that is what it says.
#[test]
fn behind_an_earlier_request_waits_are_those_of_that_request() {
    let base = setup("none", drive(6, 16, 8, 1), 0.5);
    let setup = Setup { precondition: ssd::Precondition { fill: 1.0, ..base.precondition }, ..base };
    let half = HostCommand { sectors: 4, ..alone(HostOp::Write(Fua::No), 0, 3) };
    let rows = check("none", &setup, &[half, half], Pace::Open);
    let [first, second] = &rows[..] else { panic!("two rows") };
    let read = first.waits.of(Wait::Sensing);
    assert!([40_000, 65_000].contains(&read.0), "{first:?}");
    // Then it reads what the first has written.
    let own = second.waits.of(Wait::Sensing).0 - read.0;
    assert!([40_000, 65_000].contains(&own) && second.waits.of(Wait::Order) == Nanos(0), "{second:?}");
    assert_eq!(first.start, first.arrival);
    assert!(second.start > second.arrival, "it had to wait for its turn");
}

/// At a light load few writes meet GC, and these are the slow ones. The slowest 1 % are those of the log.
#[test]
fn the_slowest_requests_say_what_they_waited_for() {
    for name in ["none", "raid5", "ds-raid"] {
        let setup = setup(name, drive(6, 24, 8, 1), 0.9);
        let mix = Mix { reads: 0.3, discards: 0.0, flushes: 0.0, partial: 0.0, max_pages: 1, every: 2_500_000 };
        let commands = workload(5, setup.user_slots, 6_000, mix);
        let (result, rows) = explained(&setup, &commands, Pace::Open);
        let waits = result.waits.expect("asked for");
        let mut writes: Vec<_> = rows.iter().filter(|row| kind_name(row) == "write").collect();
        writes.sort_by_key(|row| std::cmp::Reverse(row.answer.since(row.arrival)));
        writes.truncate(writes.len().div_ceil(100));
        let slowest: f64 = waits.slowest_writes.mean_us.values().sum();
        let naive: f64 = means(&writes).values().sum();
        assert!((slowest / naive - 1.0).abs() <= 1.0 / 32.0, "{name}: {slowest} {naive}");
        let gc = |of: &ExplainedResult| -> f64 {
            ["space", "queue-gc", "queue-erases"].iter().filter_map(|wait| of.mean_us.get(*wait)).sum()
        };
        let (slow, all) = (gc(&waits.slowest_writes), gc(&waits.writes));
        assert!(slow > 2.0 * all && all > 0.0, "{name}: {slow} us of the slowest, {all} us of all");
    }
}
