//! Crash points find a store that forgets a flush, and none in one that does not.
#![cfg(unix)]

use flashkeep_serve::{Crash, Disk, DiskRequest, Fua, Instant, Recorded, Recording, Tried};
use lab::{Experiment, Setup};
use std::path::PathBuf;

const PAGE: usize = 4096;
const RECORDS: u64 = 8;

/// A page that begins with this text.
fn page(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(PAGE, 0);
    bytes
}

/// A store that appends records, and after each writes to its first page how many there are. A store that is careful
/// makes the record durable before it counts it.
fn store(careful: bool) -> Recording {
    let mut requests = Vec::new();
    let mut write = |at: u64, text: String| {
        requests.push(DiskRequest::Write { sector: at * 8, data: page(&text), fua: Fua::No });
    };
    for record in 1..=RECORDS {
        write(record, format!("record {record}\n"));
        write(0, format!("{record}\n"));
    }
    let mut with_flushes = Vec::new();
    for (index, request) in requests.into_iter().enumerate() {
        let is_count = index % 2 == 1;
        with_flushes.push(request);
        if is_count || careful {
            with_flushes.push(DiskRequest::Flush);
        }
    }
    Recording { requests: with_flushes.into_iter().map(|request| Recorded { request }).collect() }
}

/// Every record that is counted is there.
const CHECK: &str = "n=$(head -n 1 {image} | tr -d '\\000'); i=1; while [ $i -le ${n:-0} ]; do \
    dd if={image} bs=4096 skip=$i count=1 2>/dev/null | head -n 1 | grep -qx \"record $i\" || \
    { echo \"record $i of $n is missing\"; exit 1; }; i=$((i + 1)); done";

fn setup() -> Setup {
    // A drive without capacitors: pages of one flush reach flash one after the other.
    let settings = "drive.preset = \"mlc-2014\"\nschemes = [\"none\"]\ncapacity.size = \"1MiB\"\nbuffer.kind = \"volatile\"\n";
    let experiment = Experiment::parse("test.toml", settings).expect("valid");
    lab::disk_setup(&lab::one_drive(&experiment, false).expect("one scheme")).expect("a drive")
}

fn crash(name: &str, only: Option<Instant>) -> Crash {
    let work = std::env::temp_dir().join(format!("flashkeep-crash-{name}-{}", std::process::id()));
    Crash { check: CHECK.into(), samples: 8, fates: 3, only, base: None, work, seed: 1, failures: 2 }
}

fn tried(crash: &Crash, careful: bool) -> Tried {
    let disk = Disk::in_memory(&setup()).expect("a drive");
    crash.run(disk, &store(careful), &mut |_, _| {}).expect("images can be written")
}

fn remove(work: &PathBuf) {
    std::fs::remove_dir_all(work).expect("it was made");
}

#[test]
fn a_store_that_counts_before_it_flushes_is_found_and_the_instant_fails_again() {
    let first = crash("hasty", None);
    let found = tried(&first, false);
    assert!(!found.failures.is_empty() && found.images > 10, "{found:?}");
    let failure = &found.failures[0];
    assert!(failure.said.contains("is missing") && failure.image.exists(), "{failure:?}");
    let text = failure.instant.to_string();
    assert_eq!(text.parse(), Ok(failure.instant));
    let again = tried(&crash("hasty-again", Some(failure.instant)), false);
    assert_eq!((again.instants, again.failures.len()), (1, 1));
    assert_eq!(again.failures[0].said, failure.said);
    remove(&first.work);
    remove(&crash("hasty-again", None).work);
}

#[test]
fn a_careful_store_passes_everywhere() {
    let careful = crash("careful", None);
    let found = tried(&careful, true);
    assert!(found.failures.is_empty() && found.images > 10, "{found:?}");
    remove(&careful.work);
}
