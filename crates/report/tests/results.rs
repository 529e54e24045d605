//! A comparison end to end on the real machine: keys, determinism, repetition, equal history.

#[path = "../../lab/tests/small/mod.rs"]
mod small;

use experiment::Experiment;
use flashkeep_report::to_table;
use lab::{Bench, Comparison, Progress, compare};
use serde_json::Value;
use small::SMALL;
use ssd::HistoryProgress;
use std::collections::BTreeSet;
use std::sync::Mutex;

fn experiment(settings: &str) -> Experiment {
    let small = if settings.contains("drive.preset") { "" } else { "drive.preset = \"mlc-2014\"\n" };
    Experiment::parse("test.toml", &format!("{small}{settings}")).unwrap_or_else(|e| panic!("{e}"))
}

fn run(experiment: &Experiment, threads: usize) -> Comparison {
    let bench = Bench { threads, clock: &|| 0.0, progress: &|_| {} };
    compare(experiment, &bench).unwrap_or_else(|e| panic!("{e}"))
}

/// The document without what depends on the machine it ran on.
fn comparable(comparison: &Comparison) -> Value {
    let mut json = comparison.to_json();
    for scheme in json["schemes"].as_array_mut().expect("a list") {
        scheme.as_object_mut().expect("an object").remove("peak_rss_mib");
    }
    json
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("an object").keys().cloned().collect()
}

/// Keys listed under a heading of `docs/spec/results.md`.
fn documented(heading: &str) -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/spec/results.md");
    let text = std::fs::read_to_string(path).expect("the page exists");
    let lines = text.lines().skip_while(|line| *line != format!("## {heading}")).skip(1);
    let section = lines.take_while(|line| !line.starts_with("## "));
    section.filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(key, _)| key.to_owned())).collect()
}

#[test]
fn the_page_on_results_lists_exactly_the_keys() {
    let json = run(&experiment(SMALL), 1).to_json();
    assert_eq!(keys(&json), documented("Document"));
    assert_eq!(keys(&json["trace"]), documented("Trace"));
    assert_eq!(keys(&json["drive"]), documented("Drive"));
    let repeated = run(&experiment(&format!("seeds = 2\n{SMALL}")), 2).to_json();
    assert_eq!(keys(&repeated["seeds"]), documented("Seeds"));
    for scheme in json["schemes"].as_array().expect("a list") {
        assert_eq!(keys(scheme), documented("Scheme"));
    }
}

#[test]
fn results_depend_on_the_experiment_alone() {
    let experiment = experiment(SMALL);
    let one = comparable(&run(&experiment, 1));
    assert_eq!(comparable(&run(&experiment, 3)), one, "number of threads");
    let effective = Experiment::parse("effective.toml", &experiment.to_toml()).expect("the effective file is valid");
    assert_eq!(comparable(&run(&effective, 2)), one, "effective experiment");
}

#[test]
fn the_three_payloads_give_the_same_events() {
    let digests = ["none", "tag", "page"].map(|payload| {
        let comparison = run(&experiment(&format!("payload = \"{payload}\"\n{SMALL}")), 2);
        comparison.outcomes.iter().map(|o| o.result.replay.event_digest).collect::<Vec<_>>()
    });
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:x?}");
}

#[test]
fn every_request_of_every_loop_is_answered_and_every_read_checked() {
    let comparison = run(&experiment(&SMALL.replace("\"zipf\"", "\"zipf\"\nloops = 2")), 2);
    assert!(comparison.passed());
    for outcome in &comparison.outcomes {
        let result = &outcome.result;
        assert_eq!(result.host.requests.values().sum::<u64>(), 6000, "{}", outcome.choice.name);
        assert_eq!(result.oracle.checked_reads, result.host.read_pages, "{}", outcome.choice.name);
    }
}

#[test]
fn equal_op_gives_each_scheme_the_spare_of_none() {
    let comparison =
        run(&experiment(&format!("capacity.fairness = \"equal-op\"\ncapacity.over_provisioning = \"40% of raw\"\n{SMALL}")), 2);
    let raw: Vec<u64> = comparison.outcomes.iter().map(|o| u64::from(o.planned.drive.geometry.slots())).collect();
    assert!(raw[0] < raw[1] && raw[1] == raw[2], "{raw:?}");
}

#[test]
fn progress_is_heard_in_order_for_each_scheme() {
    let heard = Mutex::new(Vec::new());
    let note = |progress| heard.lock().expect("no panic").push(progress);
    let bench = Bench { threads: 3, clock: &|| 0.0, progress: &note };
    compare(&experiment(SMALL), &bench).expect("runs");
    let heard = heard.into_inner().expect("no panic");
    for scheme in 0..3 {
        let mut own = heard.iter().filter(|p| !matches!(p, Progress::Running { .. }));
        let mut histories = Vec::new();
        for progress in own.by_ref() {
            match *progress {
                Progress::Preparing { run, history } if run == scheme => histories.push(history),
                Progress::Finished(run) if run == scheme => break,
                _ => {}
            }
        }
        let after: Vec<_> = own.filter(|p| matches!(p, Progress::Preparing { run, .. } if *run == scheme)).collect();
        assert!(after.is_empty(), "{after:?}");
        assert_eq!(histories[0], HistoryProgress::default(), "it begins");
        let written = |history: &HistoryProgress| (history.filled, history.overwritten);
        assert!(histories.is_sorted_by_key(written), "{histories:?}");
        let last = histories.last().expect("it begins");
        assert!(last.to_fill > 0 && last.filled == last.to_fill && last.overwritten <= last.overwritten_at_most, "{last:?}");
    }
}

#[test]
fn an_open_replay_that_no_drive_can_follow_is_called_worthless() {
    let settings = SMALL.replace("\"zipf\"", "\"zipf\"\narrival = \"scaled=0.001\"");
    let comparison = run(&experiment(&settings), 2);
    assert!(comparison.outcomes.iter().all(|o| o.result.replay.saturated));
    let worthless = comparison.cautions.iter().filter(|caution| caution.not_comparable == Some("saturated")).count();
    assert_eq!(worthless, 3, "{:?}", comparison.warnings());
    assert!(to_table(&comparison).contains("WARNING: `none` could not keep up"));
}

// The dry run counts no waiting for channels, which keeps dies a little longer: up to 12 % here.
#[test]
fn half_busy_slows_until_none_is_and_never_hastens() {
    let settings = SMALL.replace("2ms", "20us").replace("\"zipf\"", "\"zipf\"\narrival = \"half-busy\"");
    let slowed = run(&experiment(&settings), 2);
    assert!(slowed.clock.factor > 1.0);
    let busy = slowed.outcomes[0].result.flash.die_utilisation;
    assert!((0.4..0.56).contains(&busy), "none is busy for {busy}");
}

#[test]
fn the_automatic_clock_overloads_no_scheme_and_never_hastens() {
    let slowed = run(&experiment(&SMALL.replace("2ms", "20us")), 2);
    assert!(slowed.clock.factor > 1.0);
    let shares: Vec<_> = slowed.outcomes.iter().map(|o| o.result.flash.die_utilisation).collect();
    let busiest = shares.iter().copied().fold(0.0, f64::max);
    assert!(busiest < 0.68 && shares[0] < 0.56, "busy for {shares:?}");
    assert!(slowed.outcomes.iter().all(|o| !o.result.replay.saturated));
    assert_eq!(run(&experiment(&SMALL.replace("2ms", "1s")), 2).clock.factor, 1.0);
}

#[test]
fn a_drive_that_wears_out_turns_read_only_and_says_so() {
    let says = |settings: &str| {
        let comparison = run(&experiment(settings), 2);
        let read_only = |outcome: &lab::Outcome| {
            let (name, r) = (&outcome.choice.name, &outcome.result);
            let warned = comparison.warnings().iter().any(|w| w.starts_with(&format!("`{name}` turned read-only")));
            assert_eq!(
                (warned, r.host.refused_requests > 0),
                (r.host.read_only_s.is_some(), r.host.read_only_s.is_some()),
                "{name}"
            );
            assert_eq!((r.oracle.mismatches, r.host.media_errors), (0, 0), "{name}: what was acknowledged is there");
            assert!(r.host.read_only_s.is_none_or(|since| since > 0.0 && since < r.replay.simulated_s), "{name}");
            r.host.read_only_s.is_some()
        };
        comparison.outcomes.iter().map(read_only).collect::<Vec<bool>>()
    };
    for settings in [SMALL.to_owned(), SMALL.replace("\"zipf\"", "\"zipf\"\narrival = \"closed=8\"")] {
        assert_eq!(says(&settings), [false; 3]);
        assert_eq!(says(&format!("{settings}\n[faults]\nwear_out = 1e-3\n")), [true; 3]);
    }
}

#[test]
fn a_rebuild_that_finds_no_room_is_a_warning_and_a_number() {
    let settings = |percent: f64| {
        format!(
            "capacity.over_provisioning = \"{percent}% of raw\"\n{}\n[drive.geometry]\nchannels = 1\ndies_per_channel = 4\n\
             pages_per_block = 32\n[faults]\ndead_die = 1\ndead_die_at_request = 500\n",
            SMALL.replace(r#""none", "raid5", "ds-raid""#, r#""none", "raid5", "ds-raid", "mds-groups""#)
        )
    };
    let rebuilt = |percent: f64| -> Vec<bool> {
        let comparison = run(&experiment(&settings(percent)), 2);
        let complete = |outcome: &lab::Outcome| {
            let said = format!("`{}` could not rebuild all that was lost", outcome.choice.name);
            let warned = comparison.warnings().iter().any(|warning| warning.starts_with(&said));
            let r = &outcome.result;
            assert_eq!(warned, r.redundancy.rebuild_left > 0, "{}: {:?}", outcome.choice.name, comparison.warnings());
            assert!(!warned || r.redundancy.rebuild_s.is_none(), "{}", outcome.choice.name);
            r.redundancy.rebuild_s.is_some()
        };
        comparison.outcomes.iter().map(complete).collect()
    };
    // Without redundancy there is nothing to rebuild from, full stripes have no die to go to. Of
    // four dies a row keeps three pages of data; of three, two: half of the flash.
    assert_eq!(rebuilt(60.0), [false, false, true, true]);
    assert_eq!(rebuilt(30.0), [false, false, false, false]);
}

/// The counts of a run, times what each operation takes, give the time that dies and channels were busy, and its energy. Catches
/// counts of another time than that of the shares, bytes that a channel carried and no one counted, and a pulse for each page of a unit.
#[test]
fn counts_times_and_energy_of_a_run_add_up() {
    let flat = |more: &str| {
        experiment(&format!(
            "schemes = [\"none\"]\nbuffer.size = \"256KiB\"\n[trace]\nsource = \"uniform\"\n\
             [generate]\nrequests = 6000\nrange = \"24MiB\"\nread_fraction = 0.4\narrivals = {{ poisson = \"2ms\" }}\n\
             [drive.geometry]\nchannels = 4\ndies_per_channel = 1\n\
             [drive.timing]\ncommand = \"300ns\"\nerase = \"2ms\"\ntransfer = {{ mt-per-s = 400 }}\n\
             page = [{{ name = \"page\", read = \"50us\", program = \"600us\" }}]\n{more}"
        ))
    };
    for more in ["", "unit = { planes = 2, plane_pages = 2, bits = 1 }\n"] {
        let comparison = run(&flat(more), 1);
        let run = &comparison.outcomes[0].result;
        let drive = &comparison.outcomes[0].planned.drive;
        let all = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>() as f64;
        let (reads, programs, erases) = (all(&run.flash.reads), all(&run.flash.programs), all(&run.flash.erases));
        let unit = if more.is_empty() { 1.0 } else { 4.0 };
        let page = (drive.geometry.page_size.0 + drive.geometry.oob_size.0) as f64 / 400e6;
        let pulses = run.flash.program_pulses as f64;
        let moved = run.flash.channel_bytes.iter().sum::<u64>() as f64 / (page * 400e6);
        assert_eq!(run.flash.channel_bytes.len(), 4);
        assert!((pulses * unit - programs).abs() < unit * 64.0, "{programs} pages, {pulses} pulses");
        if more.is_empty() {
            assert_eq!((pulses, run.flash.sensed_pages as f64), (programs, reads));
            assert_eq!(moved, reads + programs, "pages that were moved");
            let carried = (reads + programs) * (300e-9 + page) + erases * 300e-9;
            let busy = reads * (50e-6 + page + 300e-9) + programs * (600e-6 + page + 300e-9) + erases * (2e-3 + 300e-9);
            let near = |share: f64, count: u32, time: f64| (share * f64::from(count) * run.flash.rested_s / time - 1.0).abs();
            assert!(near(run.flash.die_utilisation, 4, busy) < 1e-4, "{} of {busy} s", run.flash.die_utilisation);
            assert!(near(run.flash.channel_utilisation, 4, carried) < 1e-2, "{} of {carried} s", run.flash.channel_utilisation);
        }
        // Pages in the memory of a program unit cross no channel to be read; those of a unit cross it together.
        assert!(moved <= reads + unit * pulses && moved >= run.flash.sensed_pages as f64, "{moved} pages moved");
        let energy = &drive.energy;
        let joules = |count: f64, each: u64| count * each as f64 * 1e-9;
        let wanted = [
            ("read", joules(run.flash.sensed_pages as f64, energy.read.0)),
            ("program", joules(programs / if more.is_empty() { 1.0 } else { 2.0 }, energy.program.0)),
            ("erase", joules(erases * if more.is_empty() { 1.0 } else { 2.0 }, energy.erase.0)),
        ];
        for (operation, wanted) in wanted {
            assert!((run.flash.energy_j[operation] / wanted - 1.0).abs() < 1e-9, "{operation}: {wanted} J");
        }
        assert!(run.flash.rested_s >= run.replay.simulated_s && run.host.buffer_hits > 0);
    }
}

/// A host that writes all at once has its last answer from the write buffer, long before the drive rests. Catches shares of time and power
/// over another time than that of the counts that they are made of: the dies would be busy for more than the time that there is.
#[test]
fn what_flash_does_is_counted_and_timed_until_the_drive_rests() {
    let experiment = experiment(
        "schemes = [\"none\"]\nbuffer.size = \"4MiB\"\nwarmup = \"none\"\n[trace]\nsource = \"uniform\"\narrival = \"closed=64\"\n\
         [generate]\nrequests = 4000\nrange = \"24MiB\"\nread_fraction = 0\n\
         [drive.geometry]\nchannels = 4\ndies_per_channel = 1\n\
         [drive.timing]\ncommand = \"300ns\"\nerase = \"2ms\"\ntransfer = { mt-per-s = 400 }\n\
         page = [{ name = \"page\", read = \"50us\", program = \"600us\" }]\n",
    );
    let comparison = run(&experiment, 1);
    let (run, drive) = (&comparison.outcomes[0].result, &comparison.outcomes[0].planned.drive);
    assert!(run.flash.rested_s > 1.001 * run.replay.simulated_s, "{} and {} s", run.flash.rested_s, run.replay.simulated_s);
    let all = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>() as f64;
    let page = (drive.geometry.page_size.0 + drive.geometry.oob_size.0) as f64 / 400e6;
    let moves = (all(&run.flash.reads) + all(&run.flash.programs)) * (300e-9 + page);
    let cells = all(&run.flash.reads) * 50e-6 + all(&run.flash.programs) * 600e-6 + all(&run.flash.erases) * (2e-3 + 300e-9);
    let busy = run.flash.die_utilisation * 4.0 * run.flash.rested_s;
    assert!((busy / (moves + cells) - 1.0).abs() < 1e-4, "{busy} of {} s", moves + cells);
}
