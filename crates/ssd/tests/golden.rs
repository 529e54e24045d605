//! The golden table: what some hundred drives do. Whoever changes the engine's insides changes nothing here; a row that
//! differs is a change of behaviour.
//!
//! A row is a scheme with its options, a buffer, a scheduler, a payload, a condition (what befalls the drive) and
//! power cuts. Its key is its seed. Every pair of these factors that occurs in all drives ([`cases`]) is in the table; options of
//! schemes are not paired with conditions. Beside the key stand the end of the drive, counts of its life, and a digest of its
//! event logs, the findings of its mounts and the page that each PPN holds in the end. Ends:
//!
//! | end | means |
//! |---|---|
//! | `done` | the drive came to rest and was looked at |
//! | `refused` | the drive cannot be built |
//! | `restless` | the drive was still busy when the row gave up |
//! | `wrong` | a read found other data than were written. A defect, and kept as it is |
//! | `panic` | an invariant broke. A defect, and kept as it is |
//!
//! `FLASHKEEP_GOLDEN="ds-raid"` leaves rows whose key contains that. `FLASHKEEP_BLESS=1` writes the table again: only
//! for a change of behaviour that is meant, and that the commit explains.
//!
//! All drives, some 11 000, are compared between two revisions by `make golden BASE=REV`, which keeps nothing: the base writes its
//! table to the file `FLASHKEEP_GOLDEN_OUT`, then this revision compares its own with that in `FLASHKEEP_GOLDEN_BASE`.

#[path = "golden/cases.rs"]
mod cases;
#[path = "golden/cover.rs"]
mod cover;
#[path = "golden/life.rs"]
mod life;

use cases::{Case, cases};
use life::{Life, Seen, live};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/table.csv");
const HEADER: &str =
    "scheme,buffer,scheduler,payload,condition,cut,end,events,reads,programs,erases,mean latency us,errors,lost pages,digest";
/// Columns of the key.
const KEY: usize = 6;
const THREADS: usize = 2;
const AGAIN: &str = "cargo test --release -p flashkeep-ssd --test golden";

/// The row of a case behind its key, and what was seen in its life.
fn row(case: &Case) -> (String, Seen) {
    let mut life = Life::default();
    if catch_unwind(AssertUnwindSafe(|| live(case, &mut life))).is_err() {
        life.end = "panic";
    }
    (life.row(), life.seen)
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

/// Keys and rows as a table has them.
fn table(path: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER), "the header of {path}");
    let split = |line: &str| {
        let at = line.match_indices(',').nth(KEY - 1).unwrap_or_else(|| panic!("{path}: {line}")).0;
        (line[..at].to_owned(), line[at + 1..].to_owned())
    };
    lines.map(split).collect()
}

fn write(path: &str, found: &[(String, String, Seen)]) {
    let text: String = found.iter().map(|(key, row, _)| format!("{key},{row}\n")).collect();
    std::fs::write(path, format!("{HEADER}\n{text}")).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// The table would be worth little if nothing happened to its drives.
fn check_seen(found: &[(String, String, Seen)]) {
    let mut total = Seen::new();
    for (name, count) in found.iter().flat_map(|(_, _, seen)| seen) {
        *total.entry(name).or_default() += count;
    }
    assert!(total.values().all(|&count| count > 0), "a kind of event that never happened: {total:?}");
}

/// Fails where rows differ from those expected.
fn compare(found: &[(String, String, Seen)], mut expected: BTreeMap<String, String>, advice: &str) {
    let mut differ = Vec::new();
    for (key, row, _) in found {
        let expected = expected.remove(key).unwrap_or_else(|| "no row".into());
        if expected != *row {
            differ.push(format!("{key}\n  expected {expected}\n  found    {row}"));
        }
    }
    differ.extend(expected.iter().map(|(key, expected)| format!("{key}\n  expected {expected}\n  found no such drive")));
    let first: Vec<_> = differ.iter().take(20).map(String::as_str).collect();
    let columns = HEADER.split(',').skip(KEY).collect::<Vec<_>>().join(", ");
    let (count, all) = (differ.len(), found.len());
    assert!(differ.is_empty(), "{count} of {all} rows differ, the first of them ({columns}):\n{}\n{advice}", first.join("\n"));
}

/// Numbers of the cases that the table has.
fn kept(all: &[Case]) -> BTreeSet<usize> {
    let table = table(TABLE);
    all.iter().enumerate().filter(|(_, case)| table.contains_key(&case.key())).map(|(number, _)| number).collect()
}

/// All drives, for `make golden`: written to a file, or compared with one.
fn all_drives(out: Option<&str>, base: Option<&str>) {
    let found = rows(&cases());
    out.into_iter().for_each(|path| write(path, &found));
    base.into_iter().for_each(|path| compare(&found, table(path), "these are changes of behaviour since the base"));
}

#[test]
fn every_drive_does_what_it_did() {
    let [out, base] = ["FLASHKEEP_GOLDEN_OUT", "FLASHKEEP_GOLDEN_BASE"].map(|name| std::env::var(name).ok());
    if out.is_some() || base.is_some() {
        return all_drives(out.as_deref(), base.as_deref());
    }
    let all = cases();
    let kept = kept(&all);
    let blesses = std::env::var("FLASHKEEP_BLESS").is_ok();
    let chosen = if blesses { cover::choose(&all, &kept) } else { kept };
    let wanted = |(number, case): (usize, Case)| (chosen.contains(&number) && is_wanted(&case.key())).then_some(case);
    let missing = cover::missing(&all, &chosen);
    assert_eq!(missing, 0, "pairs of factors that no row has: FLASHKEEP_BLESS=1 {AGAIN} adds rows");
    let found = rows(&all.into_iter().enumerate().filter_map(wanted).collect::<Vec<_>>());
    assert!(!found.is_empty(), "FLASHKEEP_GOLDEN leaves no row");
    if std::env::var("FLASHKEEP_GOLDEN").is_err() {
        check_seen(&found);
    }
    if blesses {
        assert!(std::env::var("FLASHKEEP_GOLDEN").is_err(), "the table is written whole: leave FLASHKEEP_GOLDEN out");
        write(TABLE, &found);
    }
    let advice = format!(
        "some alone: FLASHKEEP_GOLDEN=\"part of a key\" {AGAIN}\nall drives against a revision: make golden BASE=REV\n\
         if the change is meant: FLASHKEEP_BLESS=1 {AGAIN}"
    );
    compare(&found, table(TABLE).into_iter().filter(|(key, _)| is_wanted(key)).collect(), &advice);
}
