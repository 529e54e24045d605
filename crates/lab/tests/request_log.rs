//! The log of all requests, read back by another reader of its format.

mod small;

use experiment::Experiment;
use flashkeep_lab::{Bench, Comparison, RequestLog, compare_logged};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use small::SMALL;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("request_log");
    std::fs::create_dir_all(&directory).expect("the directory of tests can be written");
    directory.join(name)
}

fn logged(threads: usize, path: &Path) -> Comparison {
    let experiment = Experiment::parse("test.toml", SMALL).unwrap_or_else(|e| panic!("{e}"));
    let bench = Bench { threads, clock: &|| 0.0, progress: &|_| {} };
    let log = RequestLog::new(path).unwrap_or_else(|e| panic!("{e}"));
    let comparison = compare_logged(&experiment, &bench, Some(&log)).unwrap_or_else(|e| panic!("{e}"));
    log.finish().unwrap_or_else(|e| panic!("{e}"));
    comparison
}

fn rows(path: &Path) -> Vec<BTreeMap<String, Field>> {
    let reader = SerializedFileReader::new(std::fs::File::open(path).expect("it was written")).expect("a Parquet file");
    let fields = |row: Row| row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect();
    reader.get_row_iter(None).expect("rows").map(|row| fields(row.expect("a row"))).collect()
}

fn number(row: &BTreeMap<String, Field>, name: &str) -> i64 {
    match &row[name] {
        Field::Long(number) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

/// Catches rows that are lost or doubled where parts are put together, an order that depends on threads, waits that are
/// left out, and parts that stay behind.
#[test]
fn the_log_has_every_request_of_every_scheme_whatever_the_threads() {
    let (one, two) = (file("one.parquet"), file("two.parquet"));
    let comparison = logged(1, &one);
    logged(2, &two);
    assert!(std::fs::read(&one).expect("written") == std::fs::read(&two).expect("written"), "equal on 1 and 2 threads");
    let rows = rows(&one);
    let requests = comparison.trace.requests as usize;
    assert_eq!(rows.len(), requests * comparison.outcomes.len());
    for (outcome, rows) in comparison.outcomes.iter().zip(rows.chunks(requests)) {
        assert!(rows.iter().all(|row| row["scheme"] == Field::Str(outcome.label.clone())), "{}", outcome.label);
        let mut numbers: Vec<i64> = rows.iter().map(|row| number(row, "request")).collect();
        assert!(rows.is_sorted_by_key(|row| number(row, "answer_ns")), "in the order of answers");
        numbers.sort_unstable();
        assert_eq!(numbers, (0..requests as i64).collect::<Vec<_>>());
        let facts = ["seed", "request", "lba", "sectors", "pages", "arrival_ns", "start_ns", "answer_ns", "latency_ns"];
        for row in rows {
            let waits: i64 = row
                .keys()
                .filter(|name| name.ends_with("_ns") && !facts.contains(&name.as_str()))
                .map(|name| number(row, name))
                .sum();
            assert_eq!(waits, number(row, "latency_ns"));
            assert_eq!(number(row, "latency_ns"), number(row, "answer_ns") - number(row, "arrival_ns"));
        }
        let reads: Vec<i64> =
            rows.iter().filter(|row| row["kind"] == Field::Str("read".into())).map(|row| number(row, "latency_ns")).collect();
        let latency = &outcome.result.host.read_latency_us;
        let mean = reads.iter().sum::<i64>() as f64 / reads.len() as f64 / 1e3;
        assert_eq!(reads.len() as u64, latency.count);
        assert!((mean - latency.mean).abs() < 1e-9 * mean, "{mean} {}", latency.mean);
    }
    let left: Vec<_> = std::fs::read_dir(one.parent().expect("a directory")).expect("it is there").collect();
    assert_eq!(left.len(), 2, "no part stays behind: {left:?}");
}

#[test]
fn a_log_that_cannot_be_written_is_said_before_the_run_and_nothing_is_left_of_one_that_came_to_nothing() {
    let problem = RequestLog::new(Path::new("/nowhere/requests.parquet")).expect_err("there is no such directory");
    assert!(problem.to_string().contains("--log") && problem.to_string().contains("/nowhere/requests.parquet"), "{problem}");
    let directory = std::env::temp_dir().join(format!("flashkeep-log-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("temporary files");
    let path = directory.join("requests.parquet");
    drop(RequestLog::new(&path).unwrap_or_else(|e| panic!("{e}")));
    assert!(!path.exists());
    std::fs::write(&path, "kept").expect("temporary files");
    drop(RequestLog::new(&path).unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(std::fs::read_to_string(&path).expect("it was not touched"), "kept");
    std::fs::remove_dir_all(&directory).expect("temporary files");
}
