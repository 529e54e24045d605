//! Generated workloads: what each promises, counted.

use flashkeep_trace::generate::{Arrivals, GENERATORS, GenerateError, Mobile, Placement, Workload, named};
use vocab::{Bytes, HostCommand, HostOp, Nanos, SECTOR_BYTES, Streams};

fn run(name: &str, workload: &Workload, seed: u64) -> Vec<HostCommand> {
    let stream = Streams::new(seed).stream("test");
    named(name).unwrap().generate(workload, stream).unwrap_or_else(|error| panic!("{name}: {error}")).collect()
}

fn base() -> Workload {
    let mobile = Mobile { zone_size: Bytes(1 << 20), hot_places: 16, ..Mobile::default() };
    Workload { slots: 10_000, requests: 50_000, first_slot: 7, mobile, ..Workload::default() }
}

#[test]
fn every_generator_repeats_with_its_seed_and_stays_in_its_range() {
    let workload = Workload { read_fraction: 0.3, arrivals: Arrivals::Poisson(Nanos(1000)), ..base() };
    for kind in GENERATORS {
        let commands = run(kind.name, &workload, 1);
        assert_eq!(commands, run(kind.name, &workload, 1), "{}", kind.name);
        assert_ne!(commands, run(kind.name, &workload, 2), "{}", kind.name);
        assert_eq!(commands.len(), 50_000);
        let range = 7 * 8..(7 + 10_000) * 8;
        for command in &commands {
            let end = command.lba.0 + u64::from(command.sectors);
            assert!(command.sectors > 0 && range.contains(&command.lba.0) && end <= range.end, "{command:?}");
        }
        assert!(commands.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let reads = commands.iter().filter(|command| command.op == HostOp::Read).count();
        // Binomial(50 000, 0.3): standard deviation 102. Runs of 8 reads and bursts of 16 writes, each a compound Poisson process at
        // most: 50 000 (0.7^2 0.3 15 + 0.3^2 0.7 31), whose root is 456.
        let deviation = if kind.name == "mobile-like" { 456 } else { 102 };
        assert!(reads.abs_diff(15_000) < 5 * deviation, "{}: {reads}", kind.name);
    }
}

#[test]
fn the_arrival_rate_changes_times_and_nothing_else() {
    for kind in GENERATORS {
        let at_once = run(kind.name, &base(), 1);
        assert!(at_once.iter().all(|command| command.at.0 == 0));
        let fixed = run(kind.name, &Workload { arrivals: Arrivals::Every(Nanos(250)), ..base() }, 1);
        assert!(fixed.iter().zip(0u64..).all(|(command, index)| command.at.0 == index * 250));
        let poisson = run(kind.name, &Workload { arrivals: Arrivals::Poisson(Nanos(10_000)), ..base() }, 1);
        let mean = poisson.last().unwrap().at.0 as f64 / 49_999.0;
        // Standard error of the mean gap: 10 000 / sqrt(49 999) = 44.7. Of writes in bursts of 16, whose variance is at most 31 times
        // that of as many single ones: 249.
        let error = if kind.name == "mobile-like" { 249.0 } else { 44.7 };
        assert!((mean - 10_000.0).abs() < 5.0 * error, "{}: {mean}", kind.name);
        for other in [fixed, poisson] {
            let same = |(a, b): (&HostCommand, &HostCommand)| (a.op, a.lba, a.sectors) == (b.op, b.lba, b.sectors);
            assert!(at_once.iter().zip(&other).all(same), "{}", kind.name);
        }
    }
}

#[test]
fn sequential_requests_leave_no_gap_and_start_over() {
    let workload = Workload { slots: 10, request_size: Bytes(3 * 4096), requests: 5, first_slot: 2, ..base() };
    let starts: Vec<u64> = run("sequential", &workload, 1).iter().map(|command| command.lba.0 / 8).collect();
    assert_eq!(starts, [2, 5, 8, 2, 5]);
}

fn share(commands: &[HostCommand], is_counted: impl Fn(u64) -> bool) -> f64 {
    commands.iter().filter(|command| is_counted(command.lba.0 / 8 - 7)).count() as f64 / commands.len() as f64
}

#[test]
fn hot_pages_get_their_share_of_the_requests_wherever_they_lie() {
    let workload = Workload { hot_pages: 0.1, hot_requests: 0.9, placement: Placement::Clustered, ..base() };
    let clustered = run("hot-cold", &workload, 1);
    assert!((share(&clustered, |slot| slot < 1000) - 0.9).abs() < 0.007);
    let scattered = run("hot-cold", &Workload { placement: Placement::Scattered, ..workload.clone() }, 1);
    assert!((share(&scattered, |slot| slot < 1000) - 0.1).abs() < 0.05);
    let mut hits = vec![0u32; 10_000];
    scattered.iter().for_each(|command| hits[(command.lba.0 / 8 - 7) as usize] += 1);
    hits.sort_unstable_by(|a, b| b.cmp(a));
    let hottest: u32 = hits[..1000].iter().sum();
    assert!((f64::from(hottest) / 50_000.0 - 0.9).abs() < 0.01, "{hottest}");
    // A class without slots leaves its requests to the other.
    run("hot-cold", &Workload { hot_pages: 0.0, ..workload.clone() }, 1);
    run("hot-cold", &Workload { hot_pages: 1.0, ..workload }, 1);
}

#[test]
fn zipf_slots_are_as_popular_as_their_rank_says() {
    let workload = Workload { theta: 1.0, placement: Placement::Clustered, ..base() };
    let harmonic: f64 = (1..=10_000).map(|k| 1.0 / f64::from(k)).sum();
    let commands = run("zipf", &workload, 1);
    assert!((share(&commands, |slot| slot == 0) - 1.0 / harmonic).abs() < 0.007);
    let ten: f64 = (1..=10).map(|k| 1.0 / f64::from(k)).sum();
    assert!((share(&commands, |slot| slot < 10) - ten / harmonic).abs() < 0.012);
}

#[test]
fn a_share_of_zipf_requests_begins_where_the_one_before_ended() {
    let workload = Workload { request_size: Bytes(8192), ..base() };
    let behind = |sequential: f64| {
        let commands = run("zipf", &Workload { sequential, ..workload.clone() }, 1);
        commands.windows(2).filter(|pair| pair[1].lba.0 == pair[0].lba.0 + 16).count() as f64 / 49_999.0
    };
    // By chance the next one is drawn too, with the popularity of one slot.
    assert!(behind(0.0) < 0.001 && (behind(0.152) - 0.152).abs() < 0.006, "{} and {}", behind(0.0), behind(0.152));
    let without = run("zipf", &workload, 1);
    let first = run("zipf", &Workload { sequential: 1.0, ..workload }, 1);
    assert!(first.iter().zip(&without).any(|(a, b)| a.lba != b.lba));
}

#[test]
fn mixed_sizes_come_by_their_weights() {
    let sizes = vec![(Bytes(512), 1.0), (Bytes(4096), 2.0), (Bytes(65_536), 1.0)];
    let commands = run("mixed", &Workload { sizes, ..base() }, 1);
    for (sectors, expected) in [(1, 0.25), (8, 0.5), (128, 0.25)] {
        let seen = commands.iter().filter(|command| command.sectors == sectors).count() as f64 / 50_000.0;
        assert!((seen - expected).abs() < 0.011, "{sectors}: {seen}");
    }
    assert!(commands.iter().all(|command| command.sectors < 8 || command.lba.0 % 8 == 0));
}

/// The share of sizes over s is exp(-s / mean), and pages are touched as such sizes at any sector touch them: with L sectors
/// (L + 7) / 8 on average.
#[test]
fn exponential_sizes_have_their_mean_and_their_tail() {
    let commands = run("exponential", &Workload { request_size: Bytes(12_288), ..base() }, 1);
    let of = |is_counted: &dyn Fn(u32) -> bool| commands.iter().filter(|c| is_counted(c.sectors)).count() as f64 / 50_000.0;
    for least in [1, 8, 24, 72] {
        let expected = (-f64::from(least) / 24.0).exp();
        assert!((of(&|sectors| sectors > least) - expected).abs() < 0.011, "over {least}");
    }
    let mean = |of: &dyn Fn(&HostCommand) -> u64| commands.iter().map(of).sum::<u64>() as f64 / 50_000.0;
    // Rounded up, the mean of a geometric distribution: 1 / (1 - exp(-1 / 24)).
    let sectors = mean(&|c| u64::from(c.sectors));
    assert!((sectors - 24.503).abs() < 0.55, "{sectors}");
    let pages = mean(&|c| (c.lba.0 + u64::from(c.sectors) - 1) / 8 - c.lba.0 / 8 + 1);
    assert!((pages - (sectors + 7.0) / 8.0).abs() < 0.03, "{pages}");
}

#[test]
fn the_jesd219_like_workload_has_the_shares_of_the_standard() {
    let commands = run("jesd219-like", &Workload { slots: 100_000, ..base() }, 1);
    let of = |is_counted: &dyn Fn(&HostCommand) -> bool| {
        commands.iter().filter(|command| is_counted(command)).count() as f64 / 50_000.0
    };
    let zone = |from: u64, to: u64| of(&|c: &HostCommand| (from..to).contains(&((c.lba.0 / 8 - 7) / 1000)));
    for (seen, expected) in [
        (zone(0, 5), 0.5),
        (zone(5, 20), 0.3),
        (zone(20, 100), 0.2),
        (of(&|c| c.sectors < 8), 0.1),
        (of(&|c| c.sectors == 8), 0.67),
        (of(&|c| c.sectors == 16), 0.1),
        (of(&|c| c.sectors == 32), 0.07),
        (of(&|c| c.sectors == 64), 0.03),
        (of(&|c| c.sectors == 128), 0.03),
    ] {
        assert!((seen - expected).abs() < 0.011, "{seen} for {expected}");
    }
    let first = commands[0].lba.0;
    assert!(commands.iter().all(|c| c.sectors < 8 || (c.lba.0 - 7 * 8) % 8 == 0), "{first}");
}

#[test]
fn impossible_workloads_are_refused_by_the_name_of_the_field() {
    let good = base();
    let cases: Vec<(&str, &str, Workload)> = vec![
        ("uniform", "slot_size", Workload { slot_size: Bytes(1000), ..good.clone() }),
        ("uniform", "slots", Workload { slots: 0, ..good.clone() }),
        ("uniform", "slots", Workload { slots: u64::MAX, ..good.clone() }),
        ("uniform", "read_fraction", Workload { read_fraction: f64::NAN, ..good.clone() }),
        ("uniform", "request_size", Workload { request_size: Bytes(10_001 * 4096), ..good.clone() }),
        ("zipf", "theta", Workload { theta: -1.0, ..good.clone() }),
        ("zipf", "sequential", Workload { sequential: 1.5, ..good.clone() }),
        ("hot-cold", "hot_pages", Workload { hot_pages: 1.1, ..good.clone() }),
        ("uniform", "requests", Workload { requests: u64::MAX, ..good.clone() }),
        ("mixed", "sizes", Workload { sizes: vec![], ..good.clone() }),
        ("mixed", "sizes", Workload { sizes: vec![(Bytes(4096), 0.0), (Bytes(8192), 0.0)], ..good.clone() }),
        ("mixed", "sizes", Workload { sizes: vec![(Bytes(4096), -1.0)], ..good.clone() }),
        ("mixed", "sizes", Workload { sizes: vec![(Bytes(4096), 1e308), (Bytes(8192), 1e308)], ..good.clone() }),
        ("zipf", "sizes", Workload { sizes: vec![(Bytes(4096), 0.0)], ..good.clone() }),
        ("mixed", "sizes", Workload { sizes: vec![(Bytes(4096), f64::NAN)], ..good.clone() }),
        ("jesd219-like", "slots", Workload { slots: SECTOR_BYTES - 1, ..good.clone() }),
        ("uniform", "arrivals", Workload { requests: 3, arrivals: Arrivals::Every(Nanos(1 << 60)), ..good.clone() }),
        ("uniform", "arrivals", Workload { requests: 2, arrivals: Arrivals::Poisson(Nanos(u64::MAX)), ..good }),
    ];
    for (name, expected, workload) in cases {
        match named(name).unwrap().generate(&workload, Streams::new(1).stream("test")).err() {
            Some(GenerateError::Field { field, .. }) => assert_eq!(field, expected, "{name}"),
            other => panic!("{name}, {expected}: {other:?}"),
        }
    }
    assert!(matches!(named("nope"), Err(GenerateError::Unknown { .. })));
}

#[test]
fn a_range_of_one_slot_works_for_every_shape_that_fits_it() {
    let workload = Workload { slots: 1, requests: 100, sizes: vec![(Bytes(4096), 1.0)], ..base() };
    for kind in GENERATORS.iter().filter(|kind| !["jesd219-like", "mobile-like"].contains(&kind.name)) {
        // Eight sectors; only exponential sizes begin at any of them.
        let last = if kind.name == "exponential" { 63 } else { 56 };
        let fits =
            |command: &HostCommand| (56..=last).contains(&command.lba.0) && command.lba.0 + u64::from(command.sectors) <= 64;
        assert!(run(kind.name, &workload, 1).iter().all(fits), "{}", kind.name);
    }
}

/// Catches a stream that is named by chance, and one that changes what is written. Hot pages are known by their places.
#[test]
fn writes_name_the_stream_of_their_pages() {
    let workload = Workload { placement: Placement::Clustered, hot_pages: 0.25, slots: 8_000, ..base() };
    let plain = run("hot-cold", &workload, 1);
    assert!(plain.iter().all(|command| command.stream.0 == 0));
    let streams = run("hot-cold", &Workload { streams: 4, ..workload.clone() }, 1);
    for (command, plain) in streams.iter().zip(&plain) {
        assert_eq!(HostCommand { stream: plain.stream, ..*command }, *plain);
        let slot = command.lba.0 / 8 - 7;
        let expected = if slot < 2_000 { 0 } else { 1 + (slot - 2_000) / 2_000 };
        assert_eq!(u64::from(command.stream.0), expected, "slot {slot}");
    }
    for command in run("uniform", &Workload { streams: 4, ..workload.clone() }, 1) {
        assert_eq!(u64::from(command.stream.0), (command.lba.0 / 8 - 7) / 2_000);
    }
    let refused = named("uniform").unwrap().generate(&Workload { streams: 9, ..workload }, Streams::new(1).stream("test"));
    assert!(matches!(refused.err(), Some(GenerateError::Field { field: "streams", .. })));
}
