//! Images whose file fails in the middle of a write. `tests/image` has the rest.

use super::*;
use crate::BlockScan;
use crate::{Oob, OobTag};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use vocab::{Bytes, Lpn, PlaneUse, Slot};

const PAGES: u32 = 4;
const SLOT: usize = 512;
/// Members that a page may name; each names two.
const MEMBERS: u32 = 3;

#[derive(Clone, Default, PartialEq, Debug)]
struct Data(Vec<u8>);

impl Payload for Data {}

impl StoredPayload for Data {
    fn store(&self, slot: &mut [u8]) {
        slot.copy_from_slice(&self.0);
    }

    fn load(slot: &[u8]) -> Self {
        Data(slot.to_vec())
    }
}

/// Bytes that outlive whoever writes them, of which only this many more are taken.
#[derive(Clone, Debug)]
struct Failing {
    bytes: Arc<Mutex<Vec<u8>>>,
    left: Arc<AtomicUsize>,
}

impl Failing {
    fn of(bytes: Vec<u8>, left: usize) -> Self {
        Self { bytes: Arc::new(Mutex::new(bytes)), left: Arc::new(AtomicUsize::new(left)) }
    }

    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().expect("one thread").clone()
    }
}

impl Store for Failing {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        bytes.copy_from_slice(&self.bytes.lock().expect("one thread")[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let taken = bytes.len().min(self.left.load(Relaxed));
        self.left.fetch_sub(taken, Relaxed);
        self.bytes.lock().expect("one thread")[offset as usize..][..taken].copy_from_slice(&bytes[..taken]);
        if taken == bytes.len() { Ok(()) } else { Err(io::Error::other("the file is full")) }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.bytes.lock().expect("one thread").resize(size as usize, 0);
        Ok(())
    }
}

fn geometry(pages_per_block: u32) -> Geometry {
    Geometry {
        channels: 1,
        dies_per_channel: 1,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 4,
        pages_per_block,
        page_size: Bytes(2 * SLOT as u64),
        oob_size: Bytes(128),
        slot_size: Bytes(SLOT as u64),
    }
}

/// The bytes of a new image.
fn fresh(pages_per_block: u32) -> Vec<u8> {
    let layout = Layout::new(geometry(pages_per_block), MEMBERS);
    let mut bytes = layout.header();
    bytes.resize(layout.size() as usize, 0);
    bytes
}

fn mount(file: Failing) -> FileArray<Data, Failing> {
    FileArray::mount(Path::new("test"), file).unwrap_or_else(|error| panic!("{error}"))
}

/// Contents of a page, all of it not what an erased page has.
fn contents(ppn: u32) -> [Data; 2] {
    [Data(vec![ppn as u8 & 0x7f; SLOT]), Data(vec![(ppn >> 7) as u8 & 0x7f; SLOT])]
}

fn program(array: &mut impl FlashArray<Data>, ppn: u32) -> ProgramOutcome {
    let oob = Oob { sequence: u64::from(ppn) + 1, ..Oob::default() };
    let (tags, payload, members) = ([OobTag::data(Lpn(ppn)), OobTag::FILLER], contents(ppn), named(ppn));
    let (ppn, now) = (Ppn(ppn), SimTime(0));
    array.program_page(&Program { ppn, tags: &tags, payload: &payload, updates: None, members: &members, oob, now })
}

fn named(ppn: u32) -> [Member; 2] {
    [0, u32::MAX].map(|slot| Member { slot: Slot(slot), tag: OobTag::data(Lpn(ppn)), update: u64::from(ppn) << 40 })
}

/// The bytes of an image with this many pages of block 0 programmed.
fn programmed(pages: u32) -> Vec<u8> {
    let file = Failing::of(fresh(PAGES), usize::MAX);
    let mut array = mount(file.clone());
    (0..pages).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
    file.bytes()
}

/// Each page of block 0: `.` erased, `?` unreadable, `v` valid with the right contents.
fn look(array: &mut FileArray<Data, Failing>) -> String {
    let page = |ppn: u32| match array.scan_page(Ppn(ppn)) {
        PageScan::Erased => '.',
        PageScan::Unreadable => '?',
        PageScan::Valid(found) => {
            assert_eq!(found.tags[0], OobTag::data(Lpn(ppn)));
            assert_eq!(array.read(Ppn(ppn)), ReadOutcome::Clean);
            assert_eq!(array.payload(Ppn(ppn)), contents(ppn));
            assert_eq!(array.members(Ppn(ppn)), named(ppn));
            'v'
        }
    };
    (0..PAGES).map(page).collect()
}

#[test]
fn a_program_cut_at_any_byte_leaves_nothing_a_torn_page_or_all_of_it() {
    let layout = Layout::new(geometry(PAGES), MEMBERS);
    for page in 0..PAGES {
        let record = layout.data + named(page).len() * named::ENTRY + layout.beside();
        let before = programmed(page);
        for left in 0..=record {
            let file = Failing::of(before.clone(), left);
            let mut array = mount(file.clone());
            let outcome = program(&mut array, page);
            assert_eq!(outcome == ProgramOutcome::Done, left == record, "page {page}, {left} bytes");
            assert_eq!(array.block(BlockAddr(0)).next_page, page + u32::from(left == record), "a failed page holds nothing");
            let mut again = mount(Failing::of(file.bytes(), usize::MAX));
            let valid = "v".repeat(page as usize);
            let expected = format!(
                "{valid}{}",
                if left == 0 {
                    '.'
                } else if left == record {
                    'v'
                } else {
                    '?'
                }
            );
            assert_eq!(look(&mut again)[..page as usize + 1], expected, "{left} bytes");
        }
    }
}

#[test]
fn an_erase_cut_at_any_byte_leaves_a_block_that_must_be_erased_again() {
    let layout = Layout::new(geometry(PAGES), MEMBERS);
    let oob = layout.beside();
    for pages in 1..=PAGES {
        let before = programmed(pages);
        let all = oob + (layout.data + layout.named() + oob) * (pages as usize + 1).min(PAGES as usize);
        // 7 divides no field.
        for left in (0..=all).step_by(7).chain([oob, all - 1, all]) {
            let file = Failing::of(before.clone(), left);
            let mut array = mount(file.clone());
            assert_eq!(array.erase(BlockAddr(0)) == ProgramOutcome::Done, left == all, "{pages} pages, {left} bytes");
            let mut again = mount(Failing::of(file.bytes(), usize::MAX));
            let seen = look(&mut again);
            let found = again.scan_block(BlockAddr(0));
            assert!(left == 0 || !seen.starts_with('v'), "{pages} pages, {left} bytes: {seen}");
            let half_erased = left > 0 && found != BlockScan::Erased;
            assert_eq!(again.memory.is_half_erased(BlockAddr(0)), half_erased, "{pages} pages, {left} bytes: {seen}");
            again.erase(BlockAddr(0));
            assert_eq!((look(&mut again).as_str(), program(&mut again, 0)), ("....", ProgramOutcome::Done));
        }
    }
}

#[test]
fn an_erased_page_before_others_means_half_erased() {
    let layout = Layout::new(geometry(PAGES), MEMBERS);
    for wiped in 0..3u32 {
        let mut bytes = programmed(3);
        bytes[layout.data_at(Ppn(wiped)) as usize..][..layout.data].fill(0);
        bytes[layout.members_at(Ppn(wiped)) as usize..][..layout.named()].fill(0);
        bytes[layout.beside_at(Ppn(wiped)) as usize..][..layout.beside()].fill(0);
        let mut array = mount(Failing::of(bytes, usize::MAX));
        assert_eq!(look(&mut array), [".vv.", "v.v.", "vv.."][wiped as usize]);
        assert_eq!(array.memory.is_half_erased(BlockAddr(0)), wiped < 2);
    }
}

#[test]
fn a_page_that_failed_to_program_is_wiped_with_its_block() {
    let file = Failing::of(programmed(2), 700);
    let mut array = mount(file.clone());
    assert_eq!(program(&mut array, 2), ProgramOutcome::Failed);
    array.file().left.store(usize::MAX, Relaxed);
    assert_eq!(array.erase(BlockAddr(0)), ProgramOutcome::Done);
    assert!(file.bytes() == fresh(PAGES));
}

#[test]
fn memory_keeps_the_contents_of_some_pages_and_all_read_back() {
    let pages = 2 * loaded::PAGES_KEPT as u32;
    let mut array = mount(Failing::of(fresh(pages), usize::MAX));
    (0..pages).for_each(|ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
    for ppn in (0..pages).chain((0..pages).rev()) {
        assert_eq!(array.read(Ppn(ppn)), ReadOutcome::Clean);
        assert_eq!(array.payload(Ppn(ppn)), contents(ppn));
        let kept = array.loaded.kept();
        assert!(kept <= loaded::PAGES_KEPT + 1, "{kept} pages after ppn{ppn}");
    }
}

/// Blocks 0 to 2 have one, two and three pages, block 3 none. Catches threads that leave out a block,
/// look at one twice, or have what they found put back elsewhere.
#[test]
fn any_number_of_threads_finds_the_same() {
    let file = Failing::of(fresh(PAGES), usize::MAX);
    let mut array = mount(file.clone());
    let pages: Vec<u32> = (0..3).flat_map(|block| (0..=block).map(move |page| block * PAGES + page)).collect();
    pages.iter().for_each(|&ppn| assert_eq!(program(&mut array, ppn), ProgramOutcome::Done));
    for threads in 1..=5 {
        let layout = Layout::new(geometry(PAGES), MEMBERS);
        let mut found = FileArray::<Data, _>::with(Path::new("test"), layout, file.clone());
        found.restore_blocks(threads).unwrap();
        let programmed = [0, 1, 2, 3].map(|block| found.block(BlockAddr(block)).next_page);
        assert_eq!(programmed, [1, 2, 3, 0], "{threads} threads");
        for &ppn in &pages {
            assert_eq!((found.payload(Ppn(ppn)), found.members(Ppn(ppn))), (contents(ppn).as_slice(), named(ppn).as_slice()));
        }
    }
}

/// A file whose bytes cannot be read from one place on.
struct BadDisk(Failing, u64);

impl Store for BadDisk {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        if offset >= self.1 { Err(io::Error::other("bad disk")) } else { self.0.read_at(bytes, offset) }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_size(size)
    }
}

/// Fails, or hangs, if threads go on, or wait, after one of them could not read a block.
#[test]
fn a_block_that_cannot_be_read_ends_the_look_at_all_of_them() {
    let layout = Layout::new(geometry(PAGES), MEMBERS);
    let file = Failing::of(programmed(2), usize::MAX);
    for block in 0..4 {
        let disk = BadDisk(file.clone(), layout.beside_at(Ppn(block * PAGES)));
        for threads in 1..=3 {
            let mut seen = 0;
            let grid = Grid::new(geometry(PAGES));
            let looked = look::look_at_blocks(&disk, &layout, &grid, threads, |_, _| seen += 1);
            assert_eq!(
                (looked.map_err(|error| error.to_string()), seen),
                (Err("bad disk".to_owned()), block),
                "{threads} threads"
            );
        }
    }
}

/// Gives a page another rank, with a right checksum.
fn rank(file: &Failing, ppn: u32, sequence: u64) {
    let layout = Layout::new(geometry(PAGES), MEMBERS);
    let mut oob = vec![0; layout.beside() - layout.tail()];
    let at = layout.beside_at(Ppn(ppn)) + layout.tail() as u64;
    file.read_at(&mut oob, at).unwrap();
    complement(&mut oob);
    let mut bytes = OobPage { sequence, ..OobPage::decode(&oob, 2).unwrap() }.encode();
    complement(&mut bytes);
    file.write_at(&bytes, at).unwrap();
}

#[test]
fn ranks_in_any_order_are_kept_and_ranks_too_far_apart_are_unreadable() {
    let file = Failing::of(programmed(3), usize::MAX);
    let far = u64::from(u32::MAX) + 500;
    for (ppn, sequence) in [(0, 900), (1, 500), (2, far)] {
        rank(&file, ppn, sequence);
    }
    let mut array = mount(file.clone());
    assert_eq!(look(&mut array), "vvv.");
    assert_eq!([0, 1, 2].map(|ppn| array.page(Ppn(ppn)).oob.sequence), [900, 500, far]);
    rank(&file, 2, far + 1);
    assert_eq!(look(&mut mount(file)), "vv?.");
}

#[test]
fn members_that_are_damaged_make_their_page_unreadable() {
    let layout = Layout::new(geometry(PAGES), MEMBERS);
    let before = programmed(2);
    // The last entry is not used.
    let first = layout.members_at(Ppn(1)) as usize;
    let entries = first..first + 2 * named::ENTRY;
    let tail = layout.beside_at(Ppn(1)) as usize;
    for byte in entries.chain(tail..tail + layout.tail()) {
        let mut bytes = before.clone();
        bytes[byte] ^= 1;
        assert_eq!(look(&mut mount(Failing::of(bytes, usize::MAX))), "v?..", "byte {byte}");
    }
    let tail = named::tail(&named::encode(&named(0)));
    assert_eq!(named::count(&tail, 1), None, "more members than a page may name");
    let strange = [Member { slot: Slot(1 << 20), ..named(0)[0] }];
    let bytes = named::encode(&strange);
    let read = named::decode(&bytes, &named::tail(&bytes), layout.geometry.slots(), &mut Vec::new());
    assert!(!read, "a slot that is not there");
}

/// The contents of a log are present as a whole, so that a mount trusts the OOB bytes of a page. Catches members that no one
/// checks then, and a fork without them.
#[test]
fn behind_a_log_members_are_checked_when_somebody_asks_for_them() {
    let mut bytes = programmed(2);
    bytes[Layout::new(geometry(PAGES), MEMBERS).members_at(Ppn(1)) as usize] ^= 1;
    let file = Logged::new(Failing::of(bytes, usize::MAX));
    file.start();
    let mut array = FileArray::<Data, _>::mount(Path::new("test"), file).unwrap();
    assert!(array.scan_page(Ppn(1)) != PageScan::Unreadable);
    assert_eq!((array.members(Ppn(0)), array.members(Ppn(1)), array.members(Ppn(2))), (&named(0)[..], &[][..], &[][..]));
    assert_eq!([0, 1].map(|ppn| array.read(Ppn(ppn))), [ReadOutcome::Clean, ReadOutcome::Uncorrectable]);
    let mut fork = array.clone();
    assert_eq!((fork.members(Ppn(0)), fork.payload(Ppn(0))), (&named(0)[..], &contents(0)[..]));
    assert_eq!(fork.scan_page(Ppn(1)), PageScan::Unreadable);
    assert_eq!(program(&mut array, 2), ProgramOutcome::Done);
    assert_eq!(array.members(Ppn(2)), named(2), "asked for before it was there");
    assert_eq!(program(&mut fork, 2), ProgramOutcome::Done);
    assert_eq!((fork.members(Ppn(2)), fork.payload(Ppn(2))), (&named(2)[..], &contents(2)[..]));
}
