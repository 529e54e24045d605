//! The time series of runs: it changes nothing, adds up to the run, and says of each bin what happened in it.

use crate::common::ssd::{Buffer, BufferKind, Faults, Pace, Precondition, RunResult, SeriesResult, Session, Setup};
use crate::common::{drive, promise, schemes, setup, setup_of};
use vocab::{Bytes, Cause, Fua, HostCommand, HostOp, Lba, SimTime, StreamId, Streams};

/// Reads and writes at random times with a burst in the middle, on a drive small enough to collect.
fn commands(user_slots: u32, requests: u64) -> Vec<HostCommand> {
    let mut draws = Streams::new(5).stream("test/series");
    let mut at = 0;
    let mut command = |number: u64| {
        let is_burst = (requests / 2..requests * 3 / 5).contains(&number);
        at += draws.below(if is_burst { 20_000 } else { 600_000 });
        let op = match draws.below(20) {
            0 => HostOp::Flush,
            1 => HostOp::Discard,
            2..=8 => HostOp::Read,
            _ => HostOp::Write(Fua::No),
        };
        HostCommand {
            at: SimTime(at),
            op,
            lba: Lba(draws.below(u64::from(user_slots) - 4) * 8),
            sectors: 8 * (1 + draws.below(4) as u32),
            stream: StreamId::default(),
        }
    };
    (0..requests).map(&mut command).collect()
}

fn both(setup: &Setup, commands: &[HostCommand], pace: Pace) -> (RunResult, SeriesResult) {
    let plain = Session::new(setup).expect("a valid setup").run(&mut commands.iter().copied(), pace, &mut |_| {});
    let mut session = Session::new(setup).expect("a valid setup");
    let (result, series) = session.run_with_series(&mut commands.iter().copied(), pace, &mut |_| {});
    assert_eq!(result, plain, "{}: the series changed the run", setup.scheme);
    (result, series.result())
}

fn total(series: &SeriesResult, column: &str) -> f64 {
    let values = series.column(column).unwrap_or_else(|| panic!("no column {column}"));
    values.iter().flatten().sum::<f64>() * series.bin_s
}

/// `arriving_s`: from the first request to the last, where that is known.
fn check_sums(name: &str, result: &RunResult, series: &SeriesResult, arriving_s: Option<f64>) {
    let close = |what: &str, found: f64, wanted: f64| {
        assert!((found - wanted).abs() <= 1e-6 * wanted.max(1.0), "{name}: {what} adds up to {found}, of the run {wanted}");
    };
    for (kind, &count) in &result.host.requests {
        close(kind, total(series, &format!("{kind}_answers_per_s")), count as f64);
        close(kind, total(series, &format!("{kind}_requests_per_s")), count as f64);
    }
    close("MB read", total(series, "read_mb_per_s"), result.host.read_pages as f64 * 4096.0 / 1e6);
    close("MB written", total(series, "write_mb_per_s"), result.host.write_pages as f64 * 4096.0 / 1e6);
    let flash = &result.flash;
    for (operation, counts) in [("reads", &flash.reads), ("programs", &flash.programs), ("erases", &flash.erases)] {
        for cause in Cause::ALL.map(Cause::name) {
            let column = format!("flash_{operation}_per_s_{}", cause.replace('-', "_"));
            // A drive without an SLC cache counts no folds.
            close(&column, total(series, &column), counts.get(cause).copied().unwrap_or(0) as f64);
        }
    }
    let dies = (0..series.dies).map(|die| format!("die_utilisation_{die}"));
    let shares: Vec<&[Option<f64>]> = dies.clone().map(|die| series.column(&die).expect("a column for each die")).collect();
    assert!(shares.iter().all(|die| die.iter().flatten().all(|share| (0.0..=1.0).contains(share))), "{name}");
    // The load offered is the time dies were busy over the time in which requests arrived.
    if let Some(arriving_s) = arriving_s {
        let busy = dies.map(|die| total(series, &die)).sum();
        close("seconds that dies are busy", busy, result.replay.offered_load * f64::from(series.dies) * arriving_s);
    }
    let longest = series.column("latency_max_us").expect("a column").iter().flatten().copied().fold(0.0, f64::max);
    close("longest latency", longest, result.host.latency_us.max);
}

/// Catches a series that changes the order of events, facts that are lost or doubled between bins, and dies that are
/// busy for longer than a bin lasts.
#[test]
fn a_series_changes_nothing_and_adds_up_to_the_run() {
    for choice in schemes() {
        for (buffer, dead) in [(BufferKind::Off, false), (BufferKind::Plp, true)] {
            let drive = drive(6, 24, 16, 1);
            let mut setup = setup_of(&choice, drive, 0.8);
            setup.buffer = Buffer { kind: buffer, size: Bytes(32 * 4096), ..Buffer::default() };
            setup.precondition = Precondition { fill: 1.0, ..setup.precondition };
            if dead && promise(&choice, &setup.drive) > 0 {
                setup.faults = Faults { dead_die: Some(1), dead_die_at_request: 700, ..Faults::default() };
            }
            let commands = commands(setup.user_slots, 1_500);
            for pace in [Pace::Open, Pace::Closed { depth: 8 }] {
                let (result, series) = both(&setup, &commands, pace);
                let [first, .., last] = commands[..] else { panic!("many commands") };
                let arriving_s = (pace == Pace::Open).then(|| last.at.since(first.at).as_secs_f64());
                check_sums(&format!("{choice}, {pace:?}, {buffer:?}"), &result, &series, arriving_s);
            }
        }
    }
}

/// Catches arrivals in the wrong bin, checked against the commands themselves, and a queue that is not what was asked for.
#[test]
fn arrivals_and_the_queue_are_those_of_the_commands() {
    let setup = setup("raid5", drive(6, 24, 16, 1), 0.8);
    let commands = commands(setup.user_slots, 1_500);
    let (_, series) = both(&setup, &commands, Pace::Open);
    let bin_of = |at: u64| (at as f64 / 1e9 / series.bin_s) as usize;
    let mut by_hand = vec![0.0; series.time_s.len()];
    commands.iter().filter(|command| command.op == HostOp::Read).for_each(|command| by_hand[bin_of(command.at.0)] += 1.0);
    let found: Vec<f64> = series
        .column("read_requests_per_s")
        .expect("a column")
        .iter()
        .flatten()
        .map(|rate| (rate * series.bin_s).round())
        .collect();
    assert_eq!(found, by_hand);
    // The burst is in its bins: there and nowhere else more than four times the mean arrives.
    let mean = by_hand.iter().sum::<f64>() / by_hand.len() as f64;
    let burst = bin_of(commands[750].at.0)..=bin_of(commands[899].at.0);
    for (bin, &count) in by_hand.iter().enumerate() {
        assert!(count <= 4.0 * mean || burst.contains(&bin), "bin {bin} of {}", by_hand.len());
    }
    assert!(burst.clone().any(|bin| by_hand[bin] > 4.0 * mean), "{burst:?}");
    let (_, closed) = both(&setup, &commands, Pace::Closed { depth: 8 });
    let most = closed.column("outstanding_max").expect("a column").iter().flatten().copied().fold(0.0, f64::max);
    assert_eq!(most, 8.0);
    let means = closed.column("outstanding_mean").expect("a column");
    let full = means.iter().flatten().take_while(|&&mean| mean == 8.0).count();
    assert!(full as f64 > 0.95 * means.len() as f64, "until the last requests drain: {full} of {} bins", means.len());
}
