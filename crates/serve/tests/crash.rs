//! Crash points on a drive of ours find a store that forgets a flush, and none in one that does not.
#![cfg(unix)]

use experiment::Experiment;
use flashkeep_serve::{Crash, DiskRequest, DriveKind, Fua, Instant, Recording, Shrunk, Step, Tried};
use std::path::PathBuf;

const PAGE: usize = 4096;
const RECORDS: u64 = 9;

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
        requests.push(DiskRequest::Write { sector: at * 8, data: page(&text).into(), fua: Fua::No });
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
    of(with_flushes)
}

/// A recording of requests.
fn of(requests: Vec<DiskRequest>) -> Recording {
    Recording { steps: requests.into_iter().map(Step::Request).collect(), size: Some(1 << 20), ..Recording::default() }
}

/// There are as many records as are counted.
const CHECK: &str = "n=$(head -c 1 {image} | tr -d '\\000'); found=$(grep -ao 'record .' {image} | wc -l); \
    [ $found -ge ${n:-0} ] || { echo \"$n records are counted and $found there\"; exit 1; }";

fn drive() -> DriveKind {
    // A drive without capacitors: pages of one flush reach flash one after the other.
    let settings = "drive.preset = \"mlc-2014\"\nschemes = [\"none\"]\ncapacity.size = \"1MiB\"\nbuffer.kind = \"volatile\"\n";
    let experiment = Experiment::parse("test.toml", settings).expect("valid");
    let setup = experiment::disk_setup(&experiment::one_drive(&experiment, false).expect("one scheme")).expect("a drive");
    DriveKind::Of(Box::new(setup))
}

fn crash(name: &str, only: Option<Instant>) -> Crash {
    let work = std::env::temp_dir().join(format!("flashkeep-crash-{name}-{}", std::process::id()));
    Crash { check: CHECK.to_owned(), flushes: 100, samples: 8, fates: 3, only, work, failures: 2, threads: 2, ..Crash::default() }
}

fn tried(crash: &Crash, careful: bool) -> Tried {
    crash.run(&drive(), &store(careful), &mut |_, _| {}).expect("images can be written")
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
    assert!(failure.said.contains("records are counted") && failure.image.exists(), "{failure:?}");
    let text = failure.instant.to_string();
    assert_eq!(text.parse(), Ok(failure.instant));
    let again = tried(&crash("hasty-again", Some(failure.instant)), false);
    assert_eq!((again.instants, again.failures.len()), (1, 1));
    assert_eq!(again.failures[0].said, failure.said);
    let Some(Shrunk::To(smaller)) = &failure.smaller else { panic!("{failure:?}") };
    // The write of a record, the write of the count, and the flush during which the power goes. Only the count became durable.
    assert_eq!((smaller.steps, smaller.lost.len()), (3, 1), "{smaller:?}");
    let mut again = crash("hasty-again", Some(smaller.instant));
    again.shrink = 0;
    let recording = Recording::read(&smaller.log).expect("it was written");
    let again = again.run(&drive(), &recording, &mut |_, _| {}).expect("images can be written");
    assert_eq!(again.failures[0].said, smaller.said);
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

/// Instants, images, and what failed.
fn facts(tried: &Tried) -> (usize, usize, Vec<(Instant, String)>) {
    (tried.instants, tried.images, tried.failures.iter().map(|failure| (failure.instant, failure.said.clone())).collect())
}

#[test]
fn threads_and_an_interruption_change_nothing() {
    let with_threads = |threads| {
        let mut all = crash(&format!("threads-{threads}"), None);
        (all.threads, all.failures, all.shrink) = (threads, 1000, 0);
        all
    };
    let one = with_threads(1);
    let whole = tried(&one, false);
    assert!(whole.failures.len() > 1 && whole.known == 0, "{whole:?}");
    let mut stopped = with_threads(3);
    let steps = store(false).steps.len();
    let stop = std::panic::catch_unwind(|| {
        let mut progress = |step: usize, _: usize| assert!(step < steps - 2, "it is stopped here");
        stopped.run(&drive(), &store(false), &mut progress)
    });
    assert!(stop.is_err() && stopped.work.join("progress").exists());
    let went_on = tried(&stopped, false);
    assert!(went_on.known > 0, "{went_on:?}");
    assert_eq!(facts(&went_on), facts(&whole));
    assert!(!stopped.work.join("progress").exists(), "nothing is to go on");
    stopped.seed = 2;
    assert_eq!(tried(&stopped, false).known, 0, "another run");
    remove(&one.work);
    remove(&stopped.work);
}
