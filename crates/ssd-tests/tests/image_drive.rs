//! Drives in files, in one process: what a process leaves that stops between two events, what is
//! refused, and what damage does. `image_kill` has the kills.
#![cfg(unix)]

mod common;

use common::files::{Case, Witness, case, cases, memory_of, remove};
use common::world::World;
use common::{buffers, seeds};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{BufferKind, ImageSession, Pace, PayloadKind, SafetyRule, Setup};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use vocab::{Stream, Streams};

/// Bytes that a process writes at most after an event, of those that die in the middle of a write.
const LAST_BYTES: u64 = 64 << 10;

/// The bytes of both files.
type Files = [Vec<u8>; 2];

fn files(image: &Path) -> Files {
    [image.to_owned(), memory_of(image)].map(|path| std::fs::read(path).expect("a file of the drive"))
}

/// Puts bytes into a file, in place: some file systems wait for the disk where a file is truncated and written again.
fn put(path: &Path, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).expect("a file that can be written");
    file.set_len(bytes.len() as u64).and_then(|()| file.write_all_at(bytes, 0)).expect("a file that can be written");
}

fn open(case: &Case, path: &Path) -> ImageSession {
    ImageSession::open(&case.setup, path).unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// A life of the drive in this process, of this many events, whose files are then written no more: at once, or after some
/// bytes more, in the middle of a write. Whether that was in a write.
fn live(case: &Case, session: &mut ImageSession, witness: &mut Witness, life: u64, world: &World, draws: &mut Stream) -> bool {
    let commands = case.commands(life);
    witness.new_life(commands.clone());
    let pace = Pace::Closed { depth: case.depth() };
    let (events, dies_in_a_write) = (draws.below(600), !life.is_multiple_of(3));
    let last = 1 + draws.below(LAST_BYTES) as usize;
    // Events reported once the process is dead are not heard.
    let told = &mut |event| {
        if !world.is_dead() {
            witness.hear(&event);
        }
    };
    let go_on = &mut |event| {
        if event == events && dies_in_a_write {
            world.die_after(last);
        }
        !world.is_dead() && (event < events || dies_in_a_write)
    };
    session.advance(&mut commands.into_iter(), pace, told, go_on).expect("files that can be written");
    let died = world.is_dead();
    if died {
        witness.died(case.depth());
    }
    world.revive();
    died
}

/// Stops a drive at some event or byte, opens it again, checks it, and so on; what was wrong, else how many blocks
/// were erased, and how many times it was stopped in the middle of a write.
fn lives(case: &Case, lives: u64) -> Result<(u64, u64), String> {
    let (world, name) = (World::default(), Path::new("stops"));
    let mut session = ImageSession::create_in(&case.setup, name, world.files()).unwrap_or_else(|error| panic!("{case}: {error}"));
    let mut witness = Witness::of(case, &mut session);
    let mut draws = Streams::new(case.seed).stream_of("test/stops", case.number);
    let (mut erases, mut torn) = (0, 0);
    for life in 0..lives {
        torn += u64::from(live(case, &mut session, &mut witness, life, &world, &mut draws));
        assert_eq!(session.first_mismatch(), None, "{case}, life {life}");
        erases += session.erases();
        drop(session);
        let opened = ImageSession::open_in(&case.setup, name, world.files());
        session = opened.map_err(|error| format!("{case}, life {life}: {error}"))?;
        witness.check(&mut session).map_err(|what| format!("{case}, life {life}: {what}"))?;
    }
    Ok((erases, torn))
}

/// Drives that lost a page once, or had a wrong parity: seed and scheme.
const ONCE_BROKEN: [(u64, &str); 4] =
    [(7, "raid5 read_around=2"), (306, "ppc"), (414, "da-raid5"), (442, "ppc parity_cache=4KiB")];

#[test]
fn a_drive_that_stops_has_all_that_was_answered() {
    let (mut stops, mut struck) = (0, 0);
    let usual = seeds(1);
    let once = ONCE_BROKEN.into_iter().filter(|(seed, _)| !usual.contains(seed));
    let once = once.flat_map(|(seed, choice)| cases(seed).into_iter().filter(move |case| case.choice == choice));
    for (seed, cases) in usual.clone().map(|seed| (seed, cases(seed))).chain(once.map(|case| (case.seed, vec![case]))) {
        for case in cases {
            let (erases, torn) = lives(&case, 9).unwrap_or_else(|what| {
                let again = "cargo test -p flashkeep-ssd-tests --test image_drive a_drive_that_stops";
                panic!("{what}; repeat with: FLASHKEEP_SEED={seed} FLASHKEEP_SCHEME=\"{}\" {again}", case.choice)
            });
            assert!(erases > 20, "{case}: {erases} erases; GC must be at work");
            (stops, struck) = (stops + 6, struck + torn);
        }
    }
    assert!(struck * 2 > stops, "of {stops} lives {struck} ended in a write");
}

/// Of a block that has a summary a mount reads one page, and takes the OOB bytes of the others from the summary. Catches summaries that are
/// not saved together with the programs and erases of their blocks, and a mount that reads all pages nonetheless.
#[test]
fn a_drive_with_a_checkpoint_that_stops_has_all_that_was_answered_and_looks_at_less() {
    for (number, entry) in ssd::protect::registry::SCHEMES.iter().filter(|entry| !entry.canary).enumerate() {
        let mut case = case(&SchemeChoice::named(entry.name), buffers()[2].1, 1, (4 << 20) + number as u64);
        case.setup.power.checkpoint = true;
        let (erases, _) = lives(&case, 9).unwrap_or_else(|what| panic!("{what}"));
        assert!(erases > 20, "{case}: {erases} erases; GC must be at work");
        let looks = |checkpoint: bool| {
            case.setup.power.checkpoint = checkpoint;
            let (world, name) = (World::default(), Path::new("looks"));
            drop(ImageSession::create_in(&case.setup, name, world.files()).expect("a drive"));
            let opened = ImageSession::open_in(&case.setup, name, world.files()).expect("the files");
            opened.mounted().looks
        };
        let [with, without] = [true, false].map(looks);
        assert!(with * 2 < without && without == u64::from(case.setup.drive.geometry.pages()), "{case}: {with} of {without}");
    }
}

#[test]
fn a_plp_buffer_that_is_not_saved_is_noticed() {
    let buffer = buffers().into_iter().find(|(_, buffer)| buffer.kind == BufferKind::Plp).expect("there is one").1;
    for scheme in ["none", "raid5", "ds-raid", "mds-groups"] {
        let mut case = case(&SchemeChoice::named(scheme), buffer, 1, 1 << 20);
        assert!(lives(&case, 3).is_ok(), "{case}");
        case.setup.power.without = Some(SafetyRule::Buffer);
        let what = lives(&case, 3).expect_err("a drive that forgets its buffer");
        assert!(what.contains("or newer"), "{what}");
    }
}

fn refusal(case: &Case, path: &Path) -> String {
    ImageSession::open(&case.setup, path).err().map(|error| error.to_string()).unwrap_or_default()
}

/// A drive with a PLP buffer that has seen some requests, its files closed.
fn lived(name: &str, scheme: &str, number: u64) -> (Case, PathBuf) {
    let mut case = case(&SchemeChoice::named(scheme), buffers()[2].1, 3, (2 << 20) + number);
    // Damage meets summaries of half of the drives.
    case.setup.power.checkpoint = number % 2 == 1;
    let path = case.path(name);
    let mut session = ImageSession::create(&case.setup, &path).unwrap_or_else(|error| panic!("{case}: {error}"));
    let pace = Pace::Closed { depth: 4 };
    session.advance(&mut case.commands(1).into_iter(), pace, &mut |_| {}, &mut |event| event < 200).expect("a new drive");
    // Some of the last transactions say that earlier ones were durable.
    for life in 3..9 {
        session.sync().expect("a new drive");
        session.advance(&mut case.commands(life).into_iter(), pace, &mut |_| {}, &mut |event| event < 1).expect("a drive");
    }
    (case, path)
}

#[test]
fn what_is_no_plp_memory_of_the_drive_is_refused_by_name() {
    let (mut case, path) = lived("refused", "mds-groups", 2);
    let [image, memory] = files(&path);
    let said = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = memory.clone();
        change(&mut bytes);
        put(&memory_of(&path), &bytes);
        let said = refusal(&case, &path);
        put(&path, &image);
        said
    };
    let expect = |said: String, what: &str| assert!(said.contains(".memory: ") && said.contains(what), "{said}; wanted {what}");
    expect(said(&|bytes| bytes[0] ^= 1), "byte 0, magic: found [");
    expect(said(&|bytes| bytes[8] = 9), "byte 8, version: found 9, valid is 6");
    expect(said(&|bytes| bytes[20] ^= 1), "byte 4092, header_crc: found ");
    let both = |bytes: &mut Vec<u8>| [4100, 4612].into_iter().for_each(|byte| bytes[byte] ^= 1);
    expect(said(&both), "byte 4096, record of a state: its checksum is that of other bytes");
    assert_eq!(said(&|bytes| bytes[4100] ^= 1), "", "there is a copy of the record");
    expect(said(&|bytes| bytes.truncate(100)), "byte 100, header: found the end after 100 bytes, 8192 are needed");
    expect(said(&|bytes| bytes[4096..8192].fill(0)), "byte 4096, record of a state: there is no state");
    expect(said(&|bytes| bytes.truncate(8200)), ", place of a state: found ");
    let newest = (0..4).max_by_key(|record| u64_at(&memory, 4096 + 512 * record)).expect("records");
    let state = u64_at(&memory, 4096 + 512 * newest + 8) as usize;
    expect(said(&|bytes| bytes[state + 30] ^= 1), &format!("byte {state}, state: found checksum "));
    // The log follows at the next sector.
    let log = (state + u64_at(&memory, 4096 + 512 * newest + 16) as usize).next_multiple_of(4096);
    expect(said(&|bytes| bytes[log + 50] ^= 1), ", transaction: its checksum is that of other bytes, and a later one says");
    put(&memory_of(&path), &memory);
    case.setup.user_slots -= 1;
    expect(refusal(&case, &path), "byte 16, setup: found scheme mds-groups, ");
    case.setup.user_slots += 1;
    assert_eq!(refusal(&case, &path), "");
    std::fs::remove_file(memory_of(&path)).expect("it was there");
    expect(refusal(&case, &path), "cannot open: ");
    remove(&path);
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[test]
fn states_that_end_too_early_are_refused_by_name() {
    for (number, scheme) in ["ppc", "mds-groups"].into_iter().enumerate() {
        let (case, path) = lived("short", scheme, 100 + number as u64);
        let [image, memory] = files(&path);
        let at = (0..4).map(|record| 4096 + 512 * record).max_by_key(|&at| u64_at(&memory, at)).expect("records");
        let (state, length) = (u64_at(&memory, at + 8) as usize, u64_at(&memory, at + 16) as usize);
        // Kind and number, the length, and this many bytes.
        let (mut begins, mut field) = (Vec::new(), 0);
        while field < length {
            begins.push(field);
            field += 13 + u32::from_le_bytes(memory[state + field + 9..][..4].try_into().expect("4 bytes")) as usize;
        }
        assert!(field == length && begins.len() > 10, "{} fields of {scheme}", begins.len());
        for length in (0..40).chain((40..length).step_by(length / 100)).filter(|length| !begins.contains(length)) {
            let mut bytes = memory.clone();
            bytes[at + 16..at + 24].copy_from_slice(&(length as u64).to_le_bytes());
            let crc = ssd::coding::crc32c(&bytes[state..state + length]);
            bytes[at + 24..at + 28].copy_from_slice(&crc.to_le_bytes());
            let crc = ssd::coding::crc32c(&bytes[at..at + 28]);
            bytes[at + 28..at + 32].copy_from_slice(&crc.to_le_bytes());
            // It has a copy.
            let other = at ^ 512;
            let record = bytes[at..at + 32].to_vec();
            bytes[other..other + 32].copy_from_slice(&record);
            put(&memory_of(&path), &bytes);
            let said = refusal(&case, &path);
            let names_it = said.contains(" follow") || said.contains(": found the end after ");
            assert!(names_it, "{length} bytes of {scheme}: {said}");
        }
        assert!(files(&path)[0] == image, "a drive that is refused is left alone");
        remove(&path);
    }
}

#[test]
fn memory_of_an_earlier_time_is_refused() {
    let (case, path) = lived("earlier", "ppc", 0);
    let [_, memory] = files(&path);
    let mut session = open(&case, &path);
    let commands = &mut case.commands(2).into_iter();
    session
        .advance(commands, Pace::Closed { depth: 4 }, &mut |_| {}, &mut |event| event < 100)
        .expect("files that can be written");
    let said = refusal(&case, &path);
    assert!(said.ends_with(".image: in use by another process"), "{said}");
    drop(session);
    put(&memory_of(&path), &memory);
    let said = refusal(&case, &path);
    assert!(said.contains(".memory: byte ") && said.ends_with("this is the memory of an earlier time"), "{said}");
    remove(&path);
}

#[test]
fn damage_is_an_error_or_a_loss_and_never_wrong_bytes() {
    let schemes = ssd::protect::registry::SCHEMES.iter().filter(|entry| !entry.canary);
    let drives = schemes.enumerate().map(|(number, entry)| lived("damaged", entry.name, number as u64));
    let drives: Vec<_> = drives.map(|(case, path)| (files(&path), case, path)).collect();
    let mut opened = 0;
    for seed in seeds(70) {
        let mut draws = Streams::new(seed).stream("test/damage");
        let (mut bytes, case, path) = drives[seed as usize % drives.len()].clone();
        for _ in 0..1 + draws.below(5) {
            let bytes = &mut bytes[usize::from(draws.chance(0.1))];
            let from = draws.below(bytes.len() as u64) as usize;
            let to = (from + 1 + draws.below(9000) as usize).min(bytes.len());
            match draws.below(3) {
                0 => bytes[from] ^= 1 << draws.below(8),
                1 => bytes[from..to].fill([0, 0xff][draws.below(2) as usize]),
                _ => bytes[from..to].iter_mut().for_each(|byte| *byte = draws.bits() as u8),
            }
        }
        put(&path, &bytes[0]);
        put(&memory_of(&path), &bytes[1]);
        let Ok(mut session) = ImageSession::open(&case.setup, &path) else { continue };
        opened += 1;
        let commands = &mut case.commands(2).into_iter().take(200);
        session.advance(commands, Pace::Closed { depth: 4 }, &mut |_| {}, &mut |_| true).expect("files that can be written");
        let again =
            format!("{case}; repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test image_drive damage");
        assert_eq!(session.first_mismatch(), None, "{again}");
    }
    assert!(opened > 20 || seeds(70).count() < 70, "{opened} were opened");
    drives.iter().for_each(|(_, _, path)| remove(path));
}

#[test]
fn what_files_do_not_keep_is_refused_by_name() {
    let base = case(&SchemeChoice::named("raid5"), buffers()[0].1, 1, 3 << 20);
    let said = |change: &dyn Fn(&mut Setup)| {
        let mut setup = base.setup.clone();
        change(&mut setup);
        let error = ImageSession::create(&setup, &base.path("kept")).err().expect("a setup that files do not keep");
        error.to_string()
    };
    assert!(said(&|setup| setup.payload = PayloadKind::Tag).starts_with("a drive in files: payload: valid is page"));
    assert!(said(&|setup| setup.power.mountable = false).starts_with("a drive in files: power.mountable: "));
    assert!(said(&|setup| setup.faults.dead_die_at_request = 1).starts_with("faults.dead_die_at_request: found 1, valid is 0"));
    let free = |setup: &mut Setup| {
        setup.scheme = SchemeChoice::named("code-zones");
        setup.scheme.options.insert("offline_cost".into(), "free".into());
        setup.user_slots = 1;
    };
    let what = said(&free);
    assert!(what.starts_with("a drive in files: scheme code-zones, offline_cost: found free"), "{what}");
    assert!(said(&|setup| setup.user_slots = 1 << 20).contains("logical pages asked for"));
}
