//! Reads that come while a die takes in a program, or works on it, on the preset `tlc`.

use experiment::Experiment;
use flashkeep_lab::{Bench, Comparison, RequestLog, compare, compare_logged};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// 192 KiB and 48 times 552 bytes of OOB at 1600 MT/s, and all bits of a word line in one shot.
const MOVED: u64 = 139_440;
const PROGRAM: u64 = 600_000;
const SUSPEND: u64 = 20_000;
/// Nanoseconds from one write of a whole program unit to the next.
const APART: u64 = 10_000_000;
/// Logical pages of a program unit.
const UNIT: u64 = 48;

fn file(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reads_beside_writes");
    std::fs::create_dir_all(&directory).expect("the directory of tests can be written");
    directory.join(name)
}

const BENCH: Bench<'static> = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };

fn experiment(text: &str) -> Experiment {
    Experiment::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

/// Reads of one page, each so long after a program unit was written.
fn recording(later: &[u64]) -> String {
    let mut lines = String::from("time,op,lba,size\n");
    let mut write = |at: u64, page: u64| writeln!(lines, "{at},w,{},4096", page * 4096).expect("memory");
    (0..UNIT).for_each(|page| write(page, 500 + page));
    let mut lines = lines.clone();
    for (number, later) in later.iter().enumerate() {
        let at = (1 + number as u64) * APART;
        (0..UNIT).for_each(|page| writeln!(lines, "{at},w,{},4096", page * 4096).expect("memory"));
        writeln!(lines, "{},r,{},4096", at + later, 500 * 4096).expect("memory");
    }
    lines
}

/// Latencies of the reads, in the order of their arrival.
fn read_latencies(path: &Path) -> Vec<u64> {
    let reader = SerializedFileReader::new(std::fs::File::open(path).expect("it was written")).expect("a Parquet file");
    let mut reads = Vec::new();
    for row in reader.get_row_iter(None).expect("rows") {
        let row = row.expect("a row");
        let field = |name: &str| row.get_column_iter().find(|(column, _)| *column == name).expect("a column").1.clone();
        if field("kind") == Field::Str("read".into()) {
            let (Field::Long(request), Field::Long(latency)) = (field("request"), field("latency_ns")) else { panic!("numbers") };
            reads.push((request, latency as u64));
        }
    }
    reads.sort_unstable();
    reads.into_iter().map(|(_, latency)| latency).collect()
}

/// Over the instant at which the read comes, from before the transfer of the program's data to after its end, on one die. The times are
/// those of the data sheet: alone, the read takes a sensing, a transfer and the decoder.
#[test]
fn a_read_waits_for_no_more_of_a_program_than_the_rest_of_its_transfer() {
    let later: Vec<u64> = (0..=750_000).step_by(7_500).chain([MOVED - 1, MOVED, MOVED + 1, APART / 2]).collect();
    let (trace, log) = (file("sweep.csv"), file("sweep.parquet"));
    std::fs::write(&trace, recording(&later)).expect("the directory of tests can be written");
    let experiment = experiment(&format!(
        r#"
        drive = {{ preset = "tlc", geometry = {{ channels = 1 }} }}
        schemes = ["none"]
        capacity = {{ size = "128MiB" }}
        buffer = {{ kind = "off" }}
        precondition = {{ fill = 0.0 }}
        trace = {{ source = {trace:?}, columns = "time=ns,op,lba=bytes,size=bytes", addresses = "fold", arrival = "recorded" }}
        "#
    ));
    let requests = RequestLog::new(&log).unwrap_or_else(|e| panic!("{e}"));
    let comparison = compare_logged(&experiment, &BENCH, Some(&requests)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(comparison.outcomes[0].result.flash.erases.values().sum::<u64>(), 0, "nothing but programs is in the way");
    requests.finish().unwrap_or_else(|e| panic!("{e}"));
    let latencies = read_latencies(&log);
    let alone = *latencies.last().expect("there are reads");
    assert!((45_000 + 2_560..55_000 + 10_000).contains(&alone), "{alone} ns alone");
    for (&later, &latency) in later.iter().zip(&latencies) {
        let left = (MOVED + PROGRAM).saturating_sub(later);
        let waits = match left {
            _ if later < MOVED => MOVED - later,
            // A program that ends as soon as it could be suspended and resumed ends.
            left if left <= 2 * SUSPEND => left,
            _ => SUSPEND,
        };
        assert_eq!(latency, alone + waits, "{later} ns after the writes");
    }
}

fn reads_beside(scheme: &str, microseconds: u32) -> Comparison {
    let text = format!(
        r#"
        drive.preset = "tlc"
        schemes = ["{scheme}"]
        buffer = {{ kind = "plp", size = "4MiB" }}
        precondition.converge_within = 0.0
        trace = {{ source = "zipf", arrival = "recorded" }}
        [generate]
        requests = 20000
        range = "256MiB"
        read_fraction = 0.7
        request_size = "4KiB"
        arrivals = {{ poisson = "{microseconds}us" }}
        "#
    );
    compare(&experiment(&text), &BENCH).unwrap_or_else(|e| panic!("{e}"))
}

/// From 10 000 requests a second to 67 000. Catches reads that wait for whole programs because no other read comes in the meantime and suspends
/// the program for them: then the tail is shorter under a higher load.
#[test]
fn the_tail_of_reads_grows_with_the_load_and_has_no_program_in_it() {
    for scheme in ["none", "raid5"] {
        let tail = |microseconds: u32| {
            let comparison = reads_beside(scheme, microseconds);
            let latency = &comparison.outcomes[0].result.host.read_latency_us;
            let programs = &comparison.outcomes[0].result.flash.programs;
            assert!(programs.values().sum::<u64>() > 1_000, "{scheme}: {programs:?}");
            assert!(latency.max < PROGRAM as f64 / 1e3, "{scheme}, every {microseconds} us: {} us", latency.max);
            latency.p999
        };
        let tails = [100, 50, 25, 15].map(tail);
        assert!(tails.is_sorted(), "{scheme}: p99.9 {tails:?} us");
    }
}
