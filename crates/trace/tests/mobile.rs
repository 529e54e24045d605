//! The generator `mobile-like`: what section 2.2 of the code zone paper says in words, counted.

use flashkeep_trace::generate::{Arrivals, GenerateError, Mobile, Workload, named};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Bytes, HostCommand, HostOp, Nanos, Streams};

const REQUESTS: u64 = 100_000;
/// Sectors of a zone of the tests, and of a stripe block.
const ZONE: u64 = (16 << 20) / 512;
const BLOCK: u64 = 16;

/// 1 GiB that begins in the middle of a stripe block, as 64 zones of 16 MiB.
fn base() -> Workload {
    Workload {
        slots: 1 << 18,
        first_slot: 3,
        requests: REQUESTS,
        read_fraction: 0.5,
        arrivals: Arrivals::Poisson(Nanos(1_000_000)),
        mobile: Mobile { zone_size: Bytes(16 << 20), ..Mobile::default() },
        ..Workload::default()
    }
}

fn run(workload: &Workload) -> Vec<HostCommand> {
    let stream = Streams::new(1).stream("test");
    named("mobile-like").unwrap().generate(workload, stream).unwrap_or_else(|error| panic!("{error}")).collect()
}

fn of(commands: &[HostCommand], op: HostOp) -> Vec<HostCommand> {
    commands.iter().filter(|command| (command.op == HostOp::Read) == (op == HostOp::Read)).copied().collect()
}

fn reads(commands: &[HostCommand]) -> Vec<HostCommand> {
    of(commands, HostOp::Read)
}

fn writes(commands: &[HostCommand]) -> Vec<HostCommand> {
    of(commands, HostOp::Write(vocab::Fua::No))
}

/// Lengths of the runs of reads that each begin where the one before ended.
fn runs(reads: &[HostCommand]) -> Vec<u64> {
    let mut lengths = vec![1];
    for pair in reads.windows(2) {
        if pair[1].lba.0 == pair[0].lba.0 + u64::from(pair[0].sectors) {
            *lengths.last_mut().unwrap() += 1;
        } else {
            lengths.push(1);
        }
    }
    lengths
}

/// Catches runs of another length: geometric with mean 8, of which 1 in 8 has a single read and 7/8 of the others go on. A run that
/// meets the end of its zone looks like two: 7 reads of 128 sectors before the end of 32,768, one run in 37 at most.
#[test]
fn reads_are_of_one_size_unaligned_and_in_runs() {
    let reads = reads(&run(&base()));
    assert!(reads.iter().all(|read| read.sectors == 128));
    // The first sector is uniform in the zone: an eighth of the runs begins at a page of 4 KiB.
    let lengths = runs(&reads);
    let mean = reads.len() as f64 / lengths.len() as f64;
    // Standard error of the mean of 6250 runs: sqrt(56 / 6250) = 0.095; runs cut in two take 1/37 at most.
    assert!(mean < 8.0 + 5.0 * 0.095 && mean > 8.0 * 36.0 / 37.0 - 5.0 * 0.095, "{mean}");
    let single = lengths.iter().filter(|&&length| length == 1).count() as f64 / lengths.len() as f64;
    assert!((single - 0.125).abs() < 0.03, "{single}");
    let mut at = 0;
    let begins: Vec<u64> = lengths.iter().map(|&length| (reads[at].lba.0, at += length as usize).0).collect();
    let aligned = begins.iter().filter(|&&lba| lba % 8 == 0).count() as f64 / begins.len() as f64;
    assert!((aligned - 0.125).abs() < 0.025, "{aligned}");
}

/// Catches another popularity: the share of the first k of 12 zones is (1 - 1/(k+1)) / (1 - 1/13), Pareto of shape 1 cut at 13.
#[test]
fn a_dozen_zones_get_reads_by_a_pareto_law() {
    let mut by_zone: BTreeMap<u64, u64> = BTreeMap::new();
    let workload = Workload { mobile: Mobile { read_run: 1.0, ..base().mobile }, ..base() };
    let reads = reads(&run(&workload));
    reads.iter().for_each(|read| *by_zone.entry((read.lba.0 - 24) / ZONE).or_default() += 1);
    let mut counts: Vec<u64> = by_zone.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(counts.len(), 12);
    let mut sum = 0;
    for (k, count) in counts.iter().enumerate() {
        sum += count;
        let expected = (1.0 - 1.0 / (k as f64 + 2.0)) / (1.0 - 1.0 / 13.0);
        let share = sum as f64 / reads.len() as f64;
        // Standard error at most 0.5 / sqrt(50 000) = 0.0022.
        assert!((share - expected).abs() < 5.0 * 0.0022, "the first {}: {share} for {expected}", k + 1);
    }
}

/// Catches hot places on other dies than two, and cold writes that are not a tenth: with a tenth everywhere the two hot dies get
/// 0.9 / 2 + 0.1 / 8 each, the six others 0.1 / 8.
#[test]
fn writes_hit_two_of_eight_dies_and_reads_all_alike() {
    let commands = run(&base());
    let share = |of: &[HostCommand]| {
        let mut by_die = [0u64; 8];
        of.iter().for_each(|command| by_die[(command.lba.0 / BLOCK % 8) as usize] += 1);
        by_die.sort_unstable();
        by_die.map(|count| count as f64 / of.len() as f64)
    };
    let writes = writes(&commands);
    assert!(writes.iter().all(|write| write.sectors == 8));
    // Standard error of a share of 0.4625 of 50 000: 0.0022; of 0.0125: 0.0005.
    let by_die = share(&writes);
    assert!(by_die[..6].iter().all(|share| (share - 0.0125).abs() < 5.0 * 0.0005), "{by_die:?}");
    assert!(by_die[6..].iter().all(|share| (share - 0.4625).abs() < 5.0 * 0.0022 + 0.9 * 4.0 / 64.0), "{by_die:?}");
    assert!(by_die[6] + by_die[7] > 0.925 - 5.0 * 0.0012, "{by_die:?}");
    // Of a read of 8 stripe blocks each die gets one, or the first die a ninth part: counted by where runs begin.
    assert!(share(&reads(&commands)).iter().all(|share| (share - 0.125).abs() < 0.02));
}

/// Catches hot places that are not as many, not one to a stripe block, or scattered over zones.
#[test]
fn hot_places_are_64_stripe_blocks_of_one_zone_equally_popular() {
    let workload = Workload { mobile: Mobile { cold_writes: 0.0, ..base().mobile }, ..base() };
    let mut hits: BTreeMap<u64, u64> = BTreeMap::new();
    let writes = writes(&run(&workload));
    writes.iter().for_each(|write| *hits.entry(write.lba.0).or_default() += 1);
    assert_eq!(hits.len(), 64);
    assert!(hits.keys().all(|lba| lba % BLOCK == 0));
    assert_eq!(hits.keys().map(|lba| (lba - 24) / ZONE).collect::<BTreeSet<_>>().len(), 1);
    let mean = writes.len() as f64 / 64.0;
    assert!(hits.values().all(|&count| (count as f64 - mean).abs() < 5.0 * mean.sqrt()), "{hits:?}");
}

/// Catches bursts of another length or distance. A tenth of the mean gap of 1 ms is the distance within a burst; of writes alone a
/// burst of mean length 16 ends once in 16.
#[test]
fn writes_come_in_bursts() {
    let commands = run(&Workload { read_fraction: 0.0, ..base() });
    let gaps: Vec<u64> = commands.windows(2).map(|pair| pair[1].at.0 - pair[0].at.0).collect();
    let within = gaps.iter().filter(|&&gap| gap.abs_diff(100_000) <= 1).count() as f64 / gaps.len() as f64;
    // Standard error sqrt(15 / 16^2 / 100 000) = 0.0008.
    assert!((within - 15.0 / 16.0).abs() < 5.0 * 0.0008, "{within}");
    let at_once = run(&Workload { read_fraction: 0.0, mobile: Mobile { gap: 0.0, ..base().mobile }, ..base() });
    assert!(at_once.windows(2).filter(|pair| pair[1].at == pair[0].at).count() > 90_000);
}

#[test]
fn impossible_options_are_refused_by_the_name_of_the_field() {
    let good = base().mobile;
    let cases = [
        ("mobile.read_size", Mobile { read_size: Bytes(1000), ..good }),
        ("mobile.read_size", Mobile { read_size: Bytes(32 << 20), ..good }),
        ("mobile.read_run", Mobile { read_run: 0.5, ..good }),
        ("mobile.write_burst", Mobile { write_burst: f64::NAN, ..good }),
        ("mobile.zones", Mobile { zones: 0, ..good }),
        ("mobile.zones", Mobile { zones: 65, ..good }),
        ("mobile.zone_size", Mobile { zone_size: Bytes(0), ..good }),
        ("mobile.zone_shape", Mobile { zone_shape: 0.0, ..good }),
        ("mobile.cold_writes", Mobile { cold_writes: 1.1, ..good }),
        ("mobile.gap", Mobile { gap: -0.1, ..good }),
        ("mobile.dies", Mobile { dies: 0, ..good }),
        ("mobile.hot_dies", Mobile { hot_dies: 9, ..good }),
        ("mobile.hot_places", Mobile { hot_places: 0, ..good }),
        ("mobile.hot_places", Mobile { hot_places: 513, ..good }),
        ("mobile.stripe_block", Mobile { stripe_block: Bytes(100), ..good }),
        ("request_size", Mobile { stripe_block: Bytes(2048), ..good }),
    ];
    let stream = || Streams::new(1).stream("test");
    for (expected, mobile) in cases {
        match named("mobile-like").unwrap().generate(&Workload { mobile, ..base() }, stream()).err() {
            Some(GenerateError::Field { field, .. }) => assert_eq!(field, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    // 16 MiB are 2048 stripe blocks of 8 KiB, 256 on each die: 512 places on two dies are there, each drawn once.
    let all = Mobile { hot_places: 511, ..good };
    assert!(named("mobile-like").unwrap().generate(&Workload { mobile: all, ..base() }, stream()).is_ok());
}
