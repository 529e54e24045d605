//! Flash in a file: it is the flash that memory holds, whatever happens to file or process.
#![cfg(unix)]

mod damage;
mod life;

use flashkeep_nand::{BlockScan, FileArray, FlashArray, MemoryArray, Oob, OobTag, Scan};
use life::{Data, Life, MEMBERS, apply, geometry, infos, see_all};
use std::path::PathBuf;
use vocab::{BlockAddr, Bytes, Geometry, Ppn, SimTime};

/// An image of this name that is not there yet.
fn image(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.image"));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{}: {error}", path.display()),
        _ => path,
    }
}

fn memory(slot_size: u64) -> MemoryArray<Data> {
    MemoryArray::new(geometry(slot_size), true).keeping_ecc().keeping_updates()
}

fn open(path: &std::path::Path) -> FileArray<Data> {
    FileArray::open(path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_file_is_the_flash_that_memory_holds_before_and_after_it_is_opened_again() {
    let path = image("same");
    for seed in 0..20 {
        let path = path.with_extension(format!("{seed}"));
        let _ = std::fs::remove_file(&path);
        let mut file = FileArray::create(&path, geometry(512), MEMBERS).unwrap();
        let mut memory = memory(512);
        for (n, step) in Life::new(seed, 512).take(150).enumerate() {
            apply(&mut file, &step);
            apply(&mut memory, &step);
            if n % 10 == 0 {
                assert_eq!(see_all(&mut file), see_all(&mut memory), "seed {seed}, step {n}");
                assert_eq!(infos(&file), infos(&memory), "seed {seed}, step {n}");
            }
            if n % 50 == 49 {
                drop(file);
                file = open(&path);
                memory.forget_volatile();
                // No byte of an image says how often cells were read or recharged: whoever opens it does.
                for (block, info) in (0..).map(BlockAddr).zip(infos(&memory)) {
                    file.set_age(block, |told| (told.reads, told.recharges) = (info.reads, info.recharges));
                }
                assert_eq!(infos(&file), infos(&memory), "seed {seed}, step {n}: opened again");
                assert_eq!(see_all(&mut file), see_all(&mut memory), "seed {seed}, step {n}: opened again");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_fork_of_a_file_lives_in_memory() {
    let path = image("fork");
    let mut file = FileArray::create(&path, geometry(512), MEMBERS).unwrap();
    let mut life = Life::new(3, 512);
    life.by_ref().take(100).for_each(|step| apply(&mut file, &step));
    let (before, mut fork) = (see_all(&mut file), file.clone());
    assert_eq!(see_all(&mut fork), before);
    let mut second = fork.clone();
    life.by_ref().take(60).for_each(|step| apply(&mut fork, &step));
    assert!(see_all(&mut fork) != before && see_all(&mut second) == before);
    assert_eq!(see_all(&mut file), before);
    file.sync().unwrap();
    second.sync().unwrap();
    drop(file);
    assert_eq!(see_all(&mut open(&path)), before);
}

#[test]
fn an_image_is_opened_once_and_never_overwritten() {
    let path = image("once");
    let first = FileArray::<Data>::create(&path, geometry(512), MEMBERS).unwrap();
    let said = FileArray::<Data>::open(&path).expect_err("in use").to_string();
    assert!(said.ends_with("once.image: in use by another process"), "{said}");
    let said = FileArray::<Data>::create(&path, geometry(512), MEMBERS).expect_err("there already").to_string();
    assert!(said.contains("once.image: cannot create: "), "{said}");
    drop(first);
    open(&path);
    let impossible = Geometry { page_size: Bytes(700), ..geometry(512) };
    let said = FileArray::<Data>::create(&image("never"), impossible, 0).expect_err("impossible").to_string();
    assert!(said.contains("geometry.page_size: found 700B"), "{said}");
    let said = FileArray::<Data>::open(&image("never")).expect_err("not there").to_string();
    assert!(said.contains("never.image: cannot open: "), "{said}");
}

#[test]
fn a_new_image_takes_no_room_and_holds_nothing() {
    use std::os::unix::fs::MetadataExt;
    let path = image("new");
    // 8 GiB.
    let large = Geometry { pages_per_block: 512, blocks_per_plane: 64, ..geometry(64 << 10) };
    drop(FileArray::<Data>::create(&path, large, 0).unwrap());
    let file = std::fs::metadata(&path).unwrap();
    assert!(file.len() > 8 << 30 && file.blocks() * 512 < 1 << 20, "{} bytes, {} blocks", file.len(), file.blocks());
    let array = open(&path);
    assert!((0..128).all(|block| array.scan_block(BlockAddr(block)) == BlockScan::Erased));
    drop(array);
    std::fs::remove_file(&path).unwrap();
}

#[test]
#[should_panic(expected = "ppn0 programmed out of order")]
fn a_file_keeps_the_rules_of_nand() {
    let mut file = FileArray::create(&image("rules"), geometry(512), MEMBERS).unwrap();
    for _ in 0..2 {
        let payload = [Data::default(), Data::default()];
        file.program(Ppn(0), &[OobTag::FILLER; 2], &payload, Oob::default(), SimTime(0));
    }
}
