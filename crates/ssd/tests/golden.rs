//! The golden table: what some thousand drives do, as it was before the engine was rebuilt. Whoever changes the
//! engine's insides changes nothing here; a row that differs is a change of behaviour.
//!
//! A row is a scheme with its options, a buffer, a scheduler, a payload, a condition (what befalls the drive) and
//! power cuts. Its key is its seed. It says how it ended, what happened when (`events`), and what was found
//! (`state`: all results of runs and mounts, and where every page lies at the end). Ends:
//!
//! | end | means |
//! |---|---|
//! | `done` | the drive came to rest and was looked at |
//! | `refused` | the drive cannot be built; `state` is the message |
//! | `restless` | the drive was still busy when the row gave up |
//! | `panic` | an invariant broke; `state` is the message. A defect, and kept as it is |
//!
//! Not the full product, which would take hours: without cuts, each condition with every buffer and scheduler, and
//! payloads taking turns (the condition `none` has all three). With cuts, the condition `none` has every cut with every
//! buffer; else each condition has every other cut, and cuts, buffers, schedulers and payloads take turns over schemes.
//!
//! `FLASHKEEP_GOLDEN="ds-raid"` leaves rows whose key contains that. `FLASHKEEP_BLESS=1` writes the table again: only
//! for a change of behaviour that is meant, and that the commit explains.

#[path = "golden/cases.rs"]
mod cases;
#[path = "golden/life.rs"]
mod life;

use cases::{Case, cases};
use life::{Life, Seen, live};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/table.csv");
const HEADER: &str = "scheme,buffer,scheduler,payload,condition,cut,end,events,state";
const THREADS: usize = 2;
const AGAIN: &str = "cargo test --release -p flashkeep-ssd --test golden";

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.into())).unwrap_or_else(|| "no message".into())
}

/// The row of a case behind its key, and what was seen in its life.
fn row(case: &Case) -> (String, Seen) {
    let mut life = Life::default();
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| live(case, &mut life))) {
        life.end = "panic";
        life.state = life::Fnv::default();
        life.state.add(&message(&*payload));
    }
    (format!("{},{},{}", life.end, life.events.short(), life.state.short()), life.seen)
}

/// Key, row and what was seen of these cases, in their order, whichever thread was first.
fn rows(cases: &[Case]) -> Vec<(String, String, Seen)> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some((number, case)) = Some(next.fetch_add(1, Relaxed)).and_then(|n| Some((n, cases.get(n)?))) {
            let (row, seen) = row(case);
            found.lock().expect("no thread panics with it").insert(number, (case.key(), row, seen));
        }
    };
    // Rows that panic are kept; their messages would hide what matters.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    std::panic::set_hook(usual);
    found.into_inner().expect("no thread panics with it").into_values().collect()
}

fn is_wanted(key: &str) -> bool {
    std::env::var("FLASHKEEP_GOLDEN").map_or(true, |wanted| key.contains(&wanted))
}

/// Keys and rows as the table has them.
fn table() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(TABLE).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER), "the header of {TABLE}");
    // The last three columns are what was found.
    let split = |line: &str| {
        let at = line.rmatch_indices(',').nth(2).unwrap_or_else(|| panic!("{TABLE}: {line}")).0;
        (line[..at].to_owned(), line[at + 1..].to_owned())
    };
    lines.map(split).collect()
}

fn bless(found: &[(String, String, Seen)]) {
    let text: String = found.iter().map(|(key, row, _)| format!("{key},{row}\n")).collect();
    std::fs::write(TABLE, format!("{HEADER}\n{text}")).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
}

/// The table would be worth little if nothing happened to its drives.
fn check_seen(found: &[(String, String, Seen)]) {
    let mut total = Seen::new();
    for (name, count) in found.iter().flat_map(|(_, _, seen)| seen) {
        *total.entry(name).or_default() += count;
    }
    assert!(total.values().all(|&count| count > 0), "what never came to pass: {total:?}");
}

#[test]
fn every_drive_does_what_it_did() {
    let all: Vec<Case> = cases().into_iter().filter(|case| is_wanted(&case.key())).collect();
    let found = rows(&all);
    assert!(!found.is_empty(), "FLASHKEEP_GOLDEN leaves no row");
    if std::env::var("FLASHKEEP_BLESS").is_ok() {
        assert!(std::env::var("FLASHKEEP_GOLDEN").is_err(), "the table is written whole: leave FLASHKEEP_GOLDEN out");
        bless(&found);
    }
    if std::env::var("FLASHKEEP_GOLDEN").is_err() {
        check_seen(&found);
    }
    let mut wanted: BTreeMap<_, _> = table().into_iter().filter(|(key, _)| is_wanted(key)).collect();
    let mut differ = Vec::new();
    for (key, row, _) in &found {
        let expected = wanted.remove(key).unwrap_or_else(|| "no row".into());
        if expected != *row {
            differ.push(format!("{key}: expected {expected}, found {row}"));
        }
    }
    differ.extend(wanted.iter().map(|(key, expected)| format!("{key}: expected {expected}, found no such case")));
    let first: Vec<_> = differ.iter().take(20).map(String::as_str).collect();
    assert!(
        differ.is_empty(),
        "{} of {} rows differ, the first of them (end, events, state):\n{}\n\
         some alone: FLASHKEEP_GOLDEN=\"part of a key\" {AGAIN}\nif the change is meant: FLASHKEEP_BLESS=1 {AGAIN}",
        differ.len(),
        found.len(),
        first.join("\n"),
    );
}
