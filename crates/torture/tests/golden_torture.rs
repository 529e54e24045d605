//! The outcomes of torture scenarios, kept: what each ended with, what happened in it, and where every page lay at
//! the end. `golden/torture.csv` has a hash for each block of 500 scenarios. Whoever changes the engine's insides
//! changes nothing here; a block that differs is a change of behaviour.
//!
//! Violations are part of the hash, those of drives at the end of life or beyond their promise: they are known. Of a
//! panic only that it came: with debug assertions it comes earlier, and says something else.
//!
//! `FLASHKEEP_GOLDEN="wear-out"` leaves blocks whose key contains that. `FLASHKEEP_BLESS=1` writes the table again: only
//! for a change of behaviour that is meant, and that the commit explains.

use flashkeep_torture::{Outcome, Rule, SCENARIOS_OF_A_DRIVE, Scope, quiet_panics};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use vocab::{FNV_START, fnv_on};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/torture.csv");
const HEADER: &str = "campaign,seed,first scenario,violations,outcomes";
const AGAIN: &str = "cargo test -p flashkeep-torture --test golden_torture";
const SCENARIOS_OF_A_BLOCK: u64 = 500;
const THREADS: usize = 2;

/// Scenarios of one seed.
struct Campaign {
    name: &'static str,
    seed: u64,
    faults: &'static [&'static str],
    beyond_promise: bool,
    scenarios: u64,
}

const CAMPAIGNS: &[Campaign] = &[
    Campaign { name: "default", seed: 20_261_201, faults: &[], beyond_promise: false, scenarios: 20_000 },
    Campaign { name: "beyond-promise", seed: 20_261_202, faults: &[], beyond_promise: true, scenarios: 2_000 },
    Campaign { name: "wear-out", seed: 20_261_203, faults: &["wear-out"], beyond_promise: false, scenarios: 2_000 },
    Campaign { name: "cut+wear-out", seed: 20_261_204, faults: &["cut", "wear-out"], beyond_promise: false, scenarios: 2_000 },
];

/// FNV-1a, 64 bits, of text as it is written.
struct Fnv(u64);

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = fnv_on(self.0, text.as_bytes());
        Ok(())
    }
}

impl Fnv {
    fn add(&mut self, what: &impl Debug) {
        write!(self, "{what:?};").expect("a hash takes everything");
    }
}

/// Scenarios next to each other, and where they stand in the table.
struct Block {
    campaign: &'static Campaign,
    first: u64,
}

impl Block {
    fn key(&self) -> String {
        format!("{},{},{}", self.campaign.name, self.campaign.seed, self.first)
    }

    /// Violations, and the hash of all outcomes.
    fn row(&self) -> String {
        let faults: Vec<String> = self.campaign.faults.iter().map(|&name| name.into()).collect();
        let scope = Scope::apart(self.campaign.seed, &[], &faults, self.campaign.beyond_promise).expect("known names");
        let (mut hash, mut violations) = (Fnv(FNV_START), 0);
        let range = self.first..self.first + SCENARIOS_OF_A_BLOCK;
        // A drive that lies across the border of two blocks is run for both.
        for drive in range.start / SCENARIOS_OF_A_DRIVE..range.end.div_ceil(SCENARIOS_OF_A_DRIVE) {
            scope.replay_drive(drive, &mut |number, outcome, session| {
                if !range.contains(&number) {
                    return;
                }
                violations += u32::from(outcome.violation.is_some());
                hash.add(&number);
                add_outcome(&mut hash, outcome);
                // A broken drive may not be fit to be looked at.
                if let (Some(session), None) = (session, &outcome.violation) {
                    hash.add(&session.inventory());
                    hash.add(&session.pe_cycles());
                }
            });
        }
        format!("{violations},{:016x}", hash.0)
    }
}

fn add_outcome(hash: &mut Fnv, outcome: &Outcome) {
    if let Some((round, violation)) = &outcome.violation {
        hash.add(&(round, violation.rule));
        if violation.rule == Rule::Panic {
            return;
        }
        hash.add(&violation.what);
    }
    hash.add(&(outcome.cuts, outcome.looks, outcome.mounting, outcome.losses, outcome.pages_checked, &outcome.happened));
}

fn is_set(name: &str) -> bool {
    std::env::var(name).is_ok()
}

fn is_wanted(key: &str) -> bool {
    std::env::var("FLASHKEEP_GOLDEN").map_or(true, |wanted| key.contains(&wanted))
}

fn blocks() -> Vec<Block> {
    let of = |campaign: &'static Campaign| {
        (0..campaign.scenarios / SCENARIOS_OF_A_BLOCK).map(move |number| Block { campaign, first: number * SCENARIOS_OF_A_BLOCK })
    };
    CAMPAIGNS.iter().flat_map(of).filter(|block| is_wanted(&block.key())).collect()
}

/// Keys and rows of blocks, in their order, whichever thread was first.
fn rows(blocks: &[Block]) -> Vec<(String, String)> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some((number, block)) = Some(next.fetch_add(1, Relaxed)).and_then(|n| Some((n, blocks.get(n)?))) {
            let row = (block.key(), block.row());
            found.lock().expect("no thread panics with it").insert(number, row);
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    found.into_inner().expect("no thread panics with it").into_values().collect()
}

fn table() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(TABLE).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER), "the header of {TABLE}");
    let split = |line: &str| {
        let at = line.rmatch_indices(',').nth(1).unwrap_or_else(|| panic!("{TABLE}: {line}")).0;
        (line[..at].to_owned(), line[at + 1..].to_owned())
    };
    lines.map(split).collect()
}

#[test]
fn torture_ends_as_it_did() {
    let usual = std::panic::take_hook();
    quiet_panics();
    let found = rows(&blocks());
    std::panic::set_hook(usual);
    assert!(!found.is_empty(), "FLASHKEEP_GOLDEN leaves no block");
    if is_set("FLASHKEEP_BLESS") {
        assert!(!is_set("FLASHKEEP_GOLDEN"), "the table is written whole: leave FLASHKEEP_GOLDEN out");
        let text: String = found.iter().map(|(key, row)| format!("{key},{row}\n")).collect();
        std::fs::write(TABLE, format!("{HEADER}\n{text}")).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
    }
    let wanted = table();
    let differs = |(key, row): &(String, String)| {
        let expected = wanted.get(key).map_or("no row", String::as_str);
        (expected != row).then(|| format!("{key}: expected {expected}, found {row}"))
    };
    let differ: Vec<String> = found.iter().filter_map(differs).collect();
    assert!(
        differ.is_empty(),
        "{} of {} blocks differ (campaign, seed, first scenario: violations, outcomes):\n{}\n\
         some alone: FLASHKEEP_GOLDEN=\"part of a key\" {AGAIN}\nif the change is meant: FLASHKEEP_BLESS=1 {AGAIN}",
        differ.len(),
        found.len(),
        differ[..differ.len().min(20)].join("\n"),
    );
}
