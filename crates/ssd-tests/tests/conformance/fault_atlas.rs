//! The fault atlas: which failures each registered scheme survives, as found by trying.
//! `docs/fault-atlas.md` must say what this finds; one command writes it again.

use crate::common::{MIX, Mix, drive, promise, run, schemes, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::nand::{Pairing, ProgramUnit};
use ssd::protect::SchemeChoice;
use ssd::protect::registry::SCHEMES;
use ssd::{Drive, Failure, Faults, Pace, Session, Setup};
use std::fmt::Write as _;
use vocab::{BlockAddr, DieId, Ppn, Stream, Streams};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fault-atlas.md");
const COMMAND: &str = "FLASHKEEP_WRITE_ATLAS=1 cargo test -p flashkeep-ssd-tests --test conformance fault_atlas::";
/// Drives of a table, and how often each failure is tried on each.
struct Size {
    dies: u64,
    blocks: u64,
    pages: u64,
    trials: u64,
}

const SMALL: Size = Size { dies: 6, blocks: 16, pages: 8, trials: 24 };
const WIDE: Size = Size { dies: 64, blocks: 12, pages: 4, trials: 6 };
/// Drives that program the eight pages of a word line together.
const GATHERED: Size = Size { dies: 6, blocks: 12, pages: 16, trials: 12 };
const UNIT: ProgramUnit = ProgramUnit { planes: 2, plane_pages: 2, bits: 2 };
/// Banks of a card of the wide drives, and so the step from one of its dies to the next.
const CARD: u64 = 8;

/// A failure, or several at once, of a drive at rest.
type Strike = fn(&mut Session, &mut Stream, &Size);

const STRIKES: [(&str, Strike); 7] = [
    ("one page", |drive, draws, _| fail_page(drive, draws)),
    ("one block", |drive, draws, size| drive.fail(Failure::Block(BlockAddr(draws.below(size.dies * size.blocks) as u32)))),
    ("one die", fail_die),
    ("two dies", |drive, draws, size| two_dies(drive, draws, size, false)),
    ("a die and a page", |drive, draws, size| {
        fail_page(drive, draws);
        fail_die(drive, draws, size);
    }),
    ("one read in a thousand", |_, _, _| {}),
    ("a die, and after the rebuild another", |drive, draws, size| two_dies(drive, draws, size, true)),
];

/// Failures of wide drives: all banks of a card at once, and those of the small drives that say something else there.
const WIDE_STRIKES: [(&str, Strike); 4] = [
    ("one die", fail_die),
    ("two dies", |drive, draws, size| two_dies(drive, draws, size, false)),
    ("a card of 8 dies", |drive, draws, size| {
        let card = draws.below(CARD);
        (card..size.dies).step_by(CARD as usize).for_each(|die| drive.fail(Failure::Die(DieId(die as u16))));
    }),
    ("a die, and after the rebuild another", |drive, draws, size| two_dies(drive, draws, size, true)),
];

/// Failures of pages that are programmed together: a word line of all planes and bits, two of them on different dies, and a
/// plane, which here is every other block of a die.
const GATHERED_STRIKES: [(&str, Strike); 6] = [
    ("one page", |drive, draws, _| fail_page(drive, draws)),
    ("one word line", |drive, draws, size| fail_word_line(drive, draws, size, 0)),
    ("two word lines of two dies", |drive, draws, size| {
        fail_word_line(drive, draws, size, 0);
        fail_word_line(drive, draws, size, 1);
    }),
    ("the same word line of two dies", |drive, draws, size| {
        let lines = size.blocks * size.pages / u64::from(UNIT.pages());
        let (line, dies) = (draws.below(lines), [draws.below(size.dies / 2), size.dies / 2 + draws.below(size.dies / 2)]);
        dies.iter().for_each(|die| drive.fail(Failure::WordLine(Ppn((die * lines + line) as u32 * UNIT.pages()))));
    }),
    ("half a die", |drive, draws, size| drive.fail(Failure::Plane { die: DieId(draws.below(size.dies) as u16), plane: 0 })),
    ("one die", fail_die),
];

/// A word line of a die of the lower or the upper half of the drive.
fn fail_word_line(drive: &mut Session, draws: &mut Stream, size: &Size, half: u64) {
    let die = half * size.dies / 2 + draws.below(size.dies / 2);
    let lines = size.pages / u64::from(UNIT.pages());
    let line = die * size.blocks * lines + draws.below(size.blocks * lines);
    drive.fail(Failure::WordLine(Ppn(line as u32 * UNIT.pages())));
}

fn fail_die(drive: &mut Session, draws: &mut Stream, size: &Size) {
    drive.fail(Failure::Die(DieId(draws.below(size.dies) as u16)));
}

/// A page that holds the current version of something.
fn fail_page(drive: &mut Session, draws: &mut Stream) {
    let pages = drive.inventory().pages;
    let live: Vec<_> = pages.iter().filter(|page| page.slots.iter().any(|slot| slot.1)).collect();
    drive.fail(Failure::Page(live[draws.below(live.len() as u64) as usize].ppn));
}

fn two_dies(drive: &mut Session, draws: &mut Stream, size: &Size, rebuild: bool) {
    let first = draws.below(size.dies);
    let second = (first + 1 + draws.below(size.dies - 1)) % size.dies;
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
    // An addition to a scheme promises nothing and takes nothing away.
    let alone = schemes().filter(|choice| !choice.name.contains('+'));
    let mut all: Vec<_> = alone.chain(narrow).map(|choice| row(choice, &SMALL)).collect();
    // A scheme's rows stay together.
    all.sort_by_key(|(_, setup)| SCHEMES.iter().position(|entry| entry.name == setup.scheme.name));
    all
}

fn row(choice: SchemeChoice, size: &Size) -> (String, Setup) {
    row_on(choice, drive(size.dies as u32, size.blocks as u32, size.pages as u32, 1))
}

fn row_on(choice: SchemeChoice, drive: Drive) -> (String, Setup) {
    let options: String = choice.options.iter().map(|(key, value)| format!(", {key} = {value}")).collect();
    let name = format!("{}{options}", choice.name);
    let mut setup = setup_of(&choice, drive, 0.5);
    setup.precondition.fill = 1.0;
    (name, setup)
}

/// Every scheme on a drive whose dies program several pages together, and `mds-groups` with parity within a die, which restores the pages
/// of a word line that are lost together.
fn gathered_rows() -> Vec<(String, Setup)> {
    let Size { dies, blocks, pages, .. } = GATHERED;
    let mut drive = drive(dies as u32, blocks as u32, pages as u32, 1);
    drive.timing.unit = Some(UNIT);
    let gathered = |(name, mut setup): (String, Setup)| {
        setup.power.pairing = Pairing::Adjacent { bits: UNIT.pages() };
        setup.power.hold_up = true;
        (name, setup)
    };
    let alone = schemes().filter(|choice| !choice.name.contains('+'));
    let mut word_lines = SchemeChoice::named("mds-groups");
    word_lines.options.insert("block_parity".into(), "word-line".into());
    let mut all: Vec<_> = alone.chain([word_lines]).map(|choice| gathered(row_on(choice, drive.clone()))).collect();
    all.sort_by_key(|(_, setup)| SCHEMES.iter().position(|entry| entry.name == setup.scheme.name));
    all
}

/// Every scheme on a wide drive, with its defaults and with stripes of eight dies, one of each card.
fn wide_rows() -> Vec<(String, Setup)> {
    let of_eight: [(&str, &[(&str, &str)]); 5] = [
        ("raid5", &[("data_strips", "7")]),
        ("ppc", &[("data_strips", "7")]),
        ("da-raid5", &[("data_strips", "7"), ("stage", "3")]),
        ("ds-raid", &[("row_dies", "8")]),
        ("mds-groups", &[("k", "7")]),
    ];
    let of_eight = of_eight.map(|(scheme, options)| SchemeChoice {
        name: scheme.into(),
        options: options.iter().map(|&(key, value)| (key.into(), value.into())).collect(),
    });
    let defaults = schemes().filter(|choice| choice.options.is_empty());
    let mut all: Vec<_> = defaults.chain(of_eight).map(|choice| row(choice, &WIDE)).collect();
    all.sort_by_key(|(_, setup)| SCHEMES.iter().position(|entry| entry.name == setup.scheme.name));
    all
}

/// How many logical pages each trial lost; every one of them was reported.
fn trials(name: &str, setup: &Setup, what: &str, strike: Strike, size: &Size) -> Vec<usize> {
    let transient = if what == "one read in a thousand" { 1e-3 } else { 0.0 };
    let trial = |seed: u64| {
        let faults = Faults { uncorrectable_reads: transient, ..setup.faults };
        let setup = Setup { faults, seed, ..setup.clone() };
        let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
        let commands = workload(seed, setup.user_slots, 200, Mix { reads: 0.3, ..MIX });
        run(&mut session, &commands, Pace::Closed { depth: 4 });
        strike(&mut session, &mut Streams::new(seed).stream("test/failures"), size);
        let found = session.read_back();
        assert_eq!(found.wrong, None, "{name}, {what}, trial {seed}");
        found.lost.len()
    };
    (0..size.trials).map(trial).collect()
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
    let Size { dies, blocks, trials, .. } = SMALL;
    let mut text = format!(
        "# Fault atlas\n\n\
         Which failures each scheme survives, as found by trying; a generated file.\n\
         Made by `{COMMAND}`; without the variable the test fails where this page is out of date.\n\n\
         Each cell is {trials} trials on a drive of {dies} dies with {blocks} blocks of 8 pages, half of what the scheme can keep\n\
         in use, after 200 mixed requests. A failure strikes the drive at rest, at a place drawn at random (a page that holds\n\
         something current); then every logical page (LPN) is read and compared with what was written. *survives*: all of them\n\
         came back in every trial. *lost, reported*: this many LPNs answered with a media error, least and most of the trials. Wrong\n\
         bytes would fail the test. `one read in a thousand`: each page read is uncorrectable with that probability, for once.\n\
         Failures in the middle of requests are the business of `crates/ssd-tests/tests/conformance/every_step.rs`.\n\n"
    );
    table(&mut text, &rows(), &STRIKES, &SMALL);
    let Size { dies, blocks, pages, trials } = WIDE;
    write!(
        text,
        "\n## Wide drives\n\n\
         The same with {trials} trials on drives of {dies} dies with {blocks} blocks of {pages} pages: stripes, rows and codewords are\n\
         narrower than the drive. Every eighth die sits on one card; where a stripe is of eight neighbouring dies, each of its\n\
         strips is on a card of its own, and all dies of a card may be lost at once.\n\n"
    )
    .expect("writes to a text");
    table(&mut text, &wide_rows(), &WIDE_STRIKES, &WIDE);
    let Size { dies, blocks, pages, trials } = GATHERED;
    write!(
        text,
        "\n## Pages that are programmed together\n\n\
         The same with {trials} trials on drives of {dies} dies with {blocks} blocks of {pages} pages, where one program stores {} of \
         them: all\nplanes and bits of a word line ([decision 13](decisions/0013-program-units-are-gathered.md)). A word line is lost \
         as a whole.\n\n",
        UNIT.pages()
    )
    .expect("writes to a text");
    table(&mut text, &gathered_rows(), &GATHERED_STRIKES, &GATHERED);
    text
}

fn table(text: &mut String, rows: &[(String, Setup)], strikes: &[(&str, Strike)], size: &Size) {
    text.push_str("| scheme | LPNs |");
    strikes.iter().for_each(|(what, _)| write!(text, " {what} |").expect("writes to a text"));
    writeln!(text, "\n|---|---|{}", "---|".repeat(strikes.len())).expect("writes to a text");
    for (name, setup) in rows {
        write!(text, "| {name} | {} |", setup.user_slots).expect("writes to a text");
        for &(what, strike) in strikes {
            let lost = trials(name, setup, what, strike, size);
            if what == "one die" {
                let promised = promise(&setup.scheme, &setup.drive) > 0;
                assert!(!promised || lost.iter().all(|&lost| lost == 0), "{name} breaks its promise: {lost:?}");
            }
            write!(text, " {} |", cell(&lost)).expect("writes to a text");
        }
        text.push('\n');
    }
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
