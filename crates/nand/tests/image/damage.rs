//! Images that were damaged, cut short, or never any.

use crate::life::{Data, Life, MEMBERS, Seen, Step, apply, geometry, see, see_all};
use crate::{image, open};
use flashkeep_nand::{FileArray, Oob, OobTag};
use std::fs;
use std::io::Write;
use std::path::Path;
use vocab::{Lpn, Ppn, SimTime, Streams};

const HEADER: usize = 4096;
/// The pages of an image of eight blocks begin behind header and marks.
const PAGES: usize = 2 * HEADER;
const PAGE: usize = 1024;
/// Members and OOB bytes of the pages follow.
const BESIDES: usize = PAGES + 32 * (PAGE + MEMBERS as usize * 16);
const BESIDE: usize = 8 + 32 + 2 * 16;

/// The bytes of an image that has seen some steps, and what it holds.
fn lived(path: &Path, seed: u64) -> (Vec<u8>, Vec<Seen>) {
    let _ = fs::remove_file(path);
    let mut file = FileArray::create(path, geometry(512), MEMBERS).unwrap();
    Life::new(seed, 512).take(40).for_each(|step| apply(&mut file, &step));
    let seen = see_all(&mut file);
    drop(file);
    (fs::read(path).unwrap(), seen)
}

/// Makes a file of these bytes. In place: some file systems wait for the disk where a file is
/// truncated and written again.
fn put(path: &Path, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len(bytes.len() as u64).and_then(|()| file.write_all(bytes)).unwrap();
}

/// Error of opening these bytes; `None` if they are taken for an image.
fn refusal(path: &Path, bytes: &[u8]) -> Option<String> {
    put(path, bytes);
    FileArray::<Data>::open(path).err().map(|error| error.to_string())
}

#[test]
fn flipped_bits_of_the_header_are_refused_by_name() {
    let path = image("flipped");
    let (good, _) = lived(&path, 1);
    // All bits of fields and checksum; of the zeros between them one in each byte.
    let zeros = (80..HEADER - 4).map(|byte| byte * 8 + byte % 8);
    for bit in (0..80 * 8).chain(zeros).chain((HEADER - 4) * 8..HEADER * 8) {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let said = refusal(&path, &bytes).unwrap_or_else(|| panic!("no one missed bit {bit} of the header"));
        let field = match bit / 8 {
            0..8 => "byte 0, magic: found ",
            8..12 => "byte 8, version: found ",
            _ => "byte 4092, header_crc: found ",
        };
        assert!(said.contains(field), "bit {bit}: {said}");
    }
    assert_eq!(refusal(&path, &good), None);
}

#[test]
fn headers_with_a_right_checksum_and_wrong_fields_are_refused_by_name() {
    let path = image("fields");
    let (good, _) = lived(&path, 1);
    let said = |offset: usize, value: u64, bytes: usize| {
        let mut image = good.clone();
        image[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        let crc = crc32c::crc32c(&image[..HEADER - 4]);
        image[HEADER - 4..HEADER].copy_from_slice(&crc.to_le_bytes());
        refusal(&path, &image).unwrap_or_default()
    };
    assert!(said(8, 1, 4).contains("byte 8, version: found 1, valid is 4"));
    assert!(said(36, 65_537, 4).contains("byte 36, members: found 65537, valid is 0 to 65536"));
    assert!(said(36, 2, 4).contains("byte 64, file_size: found "));
    assert!(said(12, 0, 4).contains("byte 12, channels: found 0, valid are 1 to 256"));
    assert!(said(24, 7, 4).contains("byte 24, plane_use: found 7, valid is 0 (single) or 1 (ganged)"));
    assert!(said(28, 1 << 24, 4).contains("byte 64, file_size: found "), "{}", said(28, 1 << 24, 4));
    assert!(said(32, u64::from(u32::MAX), 4).contains("byte 32, pages_per_block: found 4294967295"));
    assert!(said(40, u64::MAX - 511, 8).contains("byte 40, page_size: found "));
    assert!(said(56, 0, 8).contains("byte 56, slot_size: found 0B"));
    assert!(said(64, 1, 8).contains("byte 64, file_size: found 1, valid is "));
    let mut marked = good.clone();
    marked[HEADER + 3] = 9;
    let said = refusal(&path, &marked).unwrap_or_default();
    assert!(said.contains("byte 4099, mark of a block: found 9, valid are 0 (good) and 1 (bad)"), "{said}");
}

#[test]
fn files_of_another_length_and_of_another_kind_are_refused() {
    let path = image("length");
    let (good, _) = lived(&path, 1);
    for length in (0..good.len()).step_by(97).chain([HEADER - 1, HEADER, good.len() - 1]) {
        let said = refusal(&path, &good[..length]).unwrap_or_else(|| panic!("{length} bytes were taken for an image"));
        assert!(said.contains(if length < HEADER { "header: found the end" } else { "length of the file: found" }), "{said}");
    }
    assert!(refusal(&path, &[&good[..], &[0]].concat()).is_some());
    for seed in 0..300 {
        let mut draws = Streams::new(seed).stream("test/foreign");
        let length = draws.below(20_000) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| draws.bits() as u8).collect();
        assert!(refusal(&path, &bytes).is_some(), "seed {seed}");
    }
}

#[test]
fn damage_anywhere_is_an_error_or_an_unreadable_page_and_never_wrong_bytes() {
    let path = image("damage");
    for seed in 0..300 {
        let (mut bytes, before) = lived(&path, seed % 7);
        let mut draws = Streams::new(seed).stream("test/damage");
        for _ in 0..1 + draws.below(6) {
            let from = draws.below(bytes.len() as u64) as usize;
            let to = (from + 1 + draws.below(700) as usize).min(bytes.len());
            match draws.below(3) {
                0 => bytes[from] ^= 1 << draws.below(8),
                1 => bytes[from..to].fill([0, 0xff][draws.below(2) as usize]),
                _ => bytes[from..to].iter_mut().for_each(|byte| *byte = draws.bits() as u8),
            }
        }
        put(&path, &bytes);
        let Ok(mut file) = FileArray::<Data>::open(&path) else { continue };
        for (ppn, before) in before.iter().enumerate() {
            match (see(&mut file, Ppn(ppn as u32)), before) {
                // `first_program` and cycles of a block are those of its first readable page: all say the same.
                (now @ Seen::Valid(..), before) => assert_eq!(now, *before, "seed {seed}, ppn{ppn}"),
                (Seen::Erased | Seen::Unreadable, _) => {}
            }
        }
        let mut fork = file.clone();
        assert_eq!(see_all(&mut fork), see_all(&mut file), "seed {seed}: a fork sees what its file has");
    }
}

/// The image before and after the last of these steps.
fn before_and_after(path: &Path, steps: &[Step]) -> (Vec<u8>, Vec<u8>) {
    let _ = fs::remove_file(path);
    let mut file = FileArray::create(path, geometry(512), MEMBERS).unwrap();
    let (last, first) = steps.split_last().unwrap();
    first.iter().for_each(|step| apply(&mut file, step));
    let before = fs::read(path).unwrap();
    apply(&mut file, last);
    (before, fs::read(path).unwrap())
}

/// Steps that program the first pages of block 0.
fn programs(pages: u32) -> Vec<Step> {
    let mut draws = Streams::new(1).stream("test/programs");
    let mut data = || Data((0..512).map(|_| draws.bits() as u8).collect());
    let page = |page: u32| Step::Program {
        ppn: Ppn(page),
        tags: [OobTag::data(Lpn(page)), OobTag::FILLER],
        payload: [data(), data()],
        updates: None,
        members: Vec::new(),
        oob: Oob { sequence: u64::from(page) + 1, ..Oob::default() },
        now: SimTime(0),
    };
    (0..pages).map(page).collect()
}

#[test]
fn a_program_of_which_any_sectors_arrived_is_never_silently_wrong() {
    // Bytes that a failure of the machine may leave of those that were not synced.
    let path = image("sectors");
    let (before, after) = before_and_after(&path, &programs(2));
    let sectors = |at: usize, length: usize| at / 256..(at + length).div_ceil(256);
    let (pages, besides) = (sectors(PAGES + PAGE, PAGE), sectors(BESIDES + BESIDE, BESIDE));
    let mut kinds = [0; 3];
    for seed in 0..500 {
        let mut draws = Streams::new(seed).stream("test/sectors");
        let mut bytes = before.clone();
        for sector in pages.clone().chain(besides.clone()).filter(|_| draws.chance(0.6)) {
            let range = sector * 256..((sector + 1) * 256).min(after.len());
            bytes[range.clone()].copy_from_slice(&after[range]);
        }
        put(&path, &bytes);
        let seen = see(&mut open(&path), Ppn(1));
        let (kind, right) = match seen {
            Seen::Erased => (0, bytes == before),
            Seen::Unreadable => (1, bytes != after),
            Seen::Valid(..) => (2, bytes == after),
        };
        assert!(right, "seed {seed}: {seen:?}");
        kinds[kind] += 1;
    }
    assert!(kinds[1] > 400, "{kinds:?}");
}
