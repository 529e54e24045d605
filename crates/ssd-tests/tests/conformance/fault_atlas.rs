//! The fault atlas: which failures each registered scheme survives, as found by trying.
//! `docs/fault-atlas.md` must say what this finds; one command writes it anew.

use crate::common::{MIX, Mix, drive, promise, run, schemes, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::protect::registry::SCHEMES;
use ssd::{Failure, Faults, Pace, Session, Setup};
use std::fmt::Write as _;
use vocab::{BlockAddr, DieId, Stream, Streams};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fault-atlas.md");
const COMMAND: &str = "FLASHKEEP_WRITE_ATLAS=1 cargo test -p flashkeep-ssd-tests --test conformance fault_atlas::";
const DIES: u64 = 6;
const BLOCKS: u64 = 16;
const TRIALS: u64 = 24;

/// A failure, or several at once, of a drive at rest.
type Strike = fn(&mut Session, &mut Stream);

const STRIKES: [(&str, Strike); 7] = [
    ("one page", |drive, draws| fail_page(drive, draws)),
    ("one block", |drive, draws| drive.fail(Failure::Block(BlockAddr(draws.below(DIES * BLOCKS) as u32)))),
    ("one die", |drive, draws| fail_die(drive, draws)),
    ("two dies", |drive, draws| two_dies(drive, draws, false)),
    ("a die and a page", |drive, draws| {
        fail_page(drive, draws);
        fail_die(drive, draws);
    }),
    ("one read in a thousand", |_, _| {}),
    ("a die, and after the rebuild another", |drive, draws| two_dies(drive, draws, true)),
];

fn fail_die(drive: &mut Session, draws: &mut Stream) {
    drive.fail(Failure::Die(DieId(draws.below(DIES) as u16)));
}

/// A page that holds the current version of something.
fn fail_page(drive: &mut Session, draws: &mut Stream) {
    let pages = drive.inventory().pages;
    let live: Vec<_> = pages.iter().filter(|page| page.slots.iter().any(|slot| slot.1)).collect();
    drive.fail(Failure::Page(live[draws.below(live.len() as u64) as usize].ppn));
}

fn two_dies(drive: &mut Session, draws: &mut Stream, rebuild: bool) {
    let first = draws.below(DIES);
    let second = (first + 1 + draws.below(DIES - 1)) % DIES;
    drive.fail(Failure::Die(DieId(first as u16)));
    if rebuild {
        drive.drain();
    }
    drive.fail(Failure::Die(DieId(second as u16)));
}

/// Every scheme and variant that the suites try; those that can leave dies to rebuild on, also so.
fn rows() -> Vec<(String, Setup)> {
    let narrow =
        SCHEMES.iter().filter(|entry| !entry.canary && entry.options.iter().any(|(option, ..)| *option == "data_strips"));
    let narrow = narrow.map(|entry| {
        let mut choice = SchemeChoice::named(entry.name);
        choice.options.insert("data_strips".into(), "3".into());
        choice
    });
    let row = |choice: SchemeChoice| {
        let options: String = choice.options.iter().map(|(key, value)| format!(", {key} = {value}")).collect();
        let name = format!("{}{options}", choice.name);
        let mut setup = setup_of(&choice, drive(DIES as u32, BLOCKS as u32, 8, 1), 0.5);
        setup.precondition.fill = 1.0;
        (name, setup)
    };
    // What is beside a scheme promises nothing and takes nothing away.
    let alone = schemes().filter(|choice| !choice.name.contains('+'));
    let mut all: Vec<_> = alone.chain(narrow).map(row).collect();
    // A scheme's rows stay together.
    all.sort_by_key(|(_, setup)| SCHEMES.iter().position(|entry| entry.name == setup.scheme.name));
    all
}

/// How many logical pages each trial lost; every one of them was reported.
fn trials(name: &str, setup: &Setup, what: &str, strike: Strike) -> Vec<usize> {
    let transient = if what == "one read in a thousand" { 1e-3 } else { 0.0 };
    let trial = |seed: u64| {
        let faults = Faults { uncorrectable_reads: transient, ..setup.faults };
        let setup = Setup { faults, seed, ..setup.clone() };
        let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
        let commands = workload(seed, setup.user_slots, 200, Mix { reads: 0.3, ..MIX });
        run(&mut session, &commands, Pace::Closed { depth: 4 });
        strike(&mut session, &mut Streams::new(seed).stream("test/failures"));
        let found = session.read_back();
        assert_eq!(found.wrong, None, "{name}, {what}, trial {seed}");
        found.lost.len()
    };
    (0..TRIALS).map(trial).collect()
}

fn cell(lost: &[usize]) -> String {
    match (lost.iter().min(), lost.iter().max()) {
        (_, Some(0)) => "survives".into(),
        (Some(least), Some(most)) if least == most => format!("{most} lost, reported"),
        (Some(least), Some(most)) => format!("{least} to {most} lost, reported"),
        _ => unreachable!("there are trials"),
    }
}

fn atlas() -> String {
    let mut text = format!(
        "# Fault atlas\n\n\
         Which failures each scheme survives, as found by trying; a generated file.\n\
         Made by `{COMMAND}`; without the variable the test fails where this page is out of date.\n\n\
         Each cell is {TRIALS} trials on a drive of {DIES} dies with {BLOCKS} blocks of 8 pages, half of what the scheme can keep\n\
         in use, after 200 mixed requests. A failure strikes the drive at rest, at a place drawn at random (a page that holds\n\
         something current); then every logical page (LPN) is read and compared with what was written. *survives*: all of them\n\
         came back in every trial. *lost, reported*: so many LPNs answered with a media error, least and most of the trials. Wrong\n\
         bytes would fail the test. `one read in a thousand`: each page read is uncorrectable with that probability, for once.\n\
         Failures in the middle of requests are the business of `crates/ssd-tests/tests/conformance/every_step.rs`.\n\n| scheme | LPNs |"
    );
    STRIKES.iter().for_each(|(what, _)| write!(text, " {what} |").expect("writes to a text"));
    writeln!(text, "\n|---|---|{}", "---|".repeat(STRIKES.len())).expect("writes to a text");
    for (name, setup) in rows() {
        write!(text, "| {name} | {} |", setup.user_slots).expect("writes to a text");
        for (what, strike) in STRIKES {
            let lost = trials(&name, &setup, what, strike);
            if what == "one die" {
                let promised = promise(&setup.scheme, &setup.drive) > 0;
                assert!(!promised || lost.iter().all(|&lost| lost == 0), "{name} breaks its promise: {lost:?}");
            }
            write!(text, " {} |", cell(&lost)).expect("writes to a text");
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_fault_atlas_says_what_is_found() {
    let found = atlas();
    if std::env::var_os("FLASHKEEP_WRITE_ATLAS").is_some() {
        std::fs::write(PATH, &found).unwrap_or_else(|e| panic!("{PATH}: {e}"));
    }
    let written = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(written == found, "docs/fault-atlas.md is out of date; renew it with: {COMMAND}\n\n{found}");
}
