//! Flash in a file: `docs/spec/image.md`.
//!
//! The file is written with `pwrite` and read with `pread`: a mapping would turn a full disk or a
//! bad sector into a signal, and needs `unsafe`. OOB is kept in memory. Contents, and the members that
//! pages name, are read when they are asked for, and checked against the checksums beside them.
//!
//! **The process dies** (SIGKILL). What was written stays with the operating system. The bytes of
//! a page are written in ascending order, its OOB last, so a program that did not end left
//! nothing, a page whose checksums fail, or all of it. An erase first wipes the OOB of the
//! block's first page, then all pages, then the members that they name, and last the OOB of all: cut short it leaves a block that begins
//! with an erased or an unreadable page, and that is a half-erased one. Over a [`Logged`] store programs and erases are there
//! as a whole or not at all.
//!
//! **The machine dies.** Only what [`FileArray::sync`] made durable is sure; of what came later
//! the checksums tell what is left.
//!
//! **A fork** lives in memory: it reads all contents and leaves the file alone.

mod error;
mod header;
mod loaded;
mod look;
mod named;
mod store;

pub use error::FileError;
pub use store::{Logged, Piece, Store};

use crate::array::restore::PageState;
use crate::{BlockInfo, FlashArray, InMemory, Member, MemoryArray, OobPage, OobTag, PageScan, PageView, Payload};
use crate::{Program, ProgramOutcome, ReadOutcome, Scan};
use error::Fault;
use header::{HEADER, Layout, MEMBERS_AT_MOST};
use loaded::Loaded;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use vocab::{BlockAddr, Capability, Geometry, Grid, Ppn, SimTime};

const GOOD: u8 = 0;
const BAD: u8 = 1;

/// A payload of bytes.
pub trait StoredPayload: Payload {
    /// Writes the bytes of a slot, which is all zeros before.
    fn store(&self, slot: &mut [u8]);
    /// Reads them back.
    fn load(slot: &[u8]) -> Self;
}

/// Flash in a file.
#[derive(Debug)]
pub struct FileArray<P, S = File> {
    /// Everything but contents and members; those of a fork, too.
    memory: MemoryArray<P>,
    layout: Layout,
    path: PathBuf,
    /// `None`: a fork, or flash that never was in a file.
    file: Option<S>,
    loaded: Loaded<P>,
    /// A mark that could not be written.
    unmarked: Option<io::Error>,
    /// The highest rank of a page that opening it found.
    newest_found: u64,
}

impl<P: StoredPayload> FileArray<P> {
    /// As [`Self::create_on`], in a new file.
    ///
    /// # Errors
    /// If the geometry is impossible, there is such a file, or it cannot be written.
    pub fn create(path: &Path, geometry: Geometry, members: u32) -> Result<Self, FileError> {
        check(path, &geometry, members)?;
        Self::create_on(path, new_file(path)?, geometry, members)
    }

    /// As [`Self::mount`], of a file.
    ///
    /// # Errors
    /// If it is none, or damaged, or in use.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::mount(path, open_file(path)?)
    }
}

/// Makes a new file for an image; no one else can open it in the meantime.
///
/// # Errors
/// If there is such a file, or it cannot be made.
pub fn new_file(path: &Path) -> Result<File, FileError> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    let file = file.map_err(|error| FileError::io(path, "create", error))?;
    lock(path, &file)?;
    Ok(file)
}

/// Opens the file of an image; no one else can in the meantime.
///
/// # Errors
/// If it cannot be opened, or is in use.
pub fn open_file(path: &Path) -> Result<File, FileError> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| FileError::io(path, "open", error))?;
    lock(path, &file)?;
    Ok(file)
}

fn check(path: &Path, geometry: &Geometry, members: u32) -> Result<(), FileError> {
    let wrap = |fault| FileError::new(path, fault);
    geometry.check().map_err(|error| wrap(Fault::Geometry(error)))?;
    if members > MEMBERS_AT_MOST {
        return Err(wrap(Fault::Members(members)));
    }
    Ok(())
}

impl<P: StoredPayload, S: Store> FileArray<P, S> {
    /// A new image in an empty store, fresh from the factory, whose pages name at most this many members. It takes no
    /// room until it is written. Errors call it by `path`.
    ///
    /// # Errors
    /// If the geometry is impossible, or it cannot be written.
    pub fn create_on(path: &Path, file: S, geometry: Geometry, members: u32) -> Result<Self, FileError> {
        check(path, &geometry, members)?;
        let layout = Layout::new(geometry, members);
        // The header comes last: before, the file is no image.
        let written = file.set_size(layout.size()).and_then(|()| file.write_at(&layout.header(), 0));
        written.map_err(|error| FileError::io(path, "write", error))?;
        Ok(Self::with(path, layout, file))
    }

    /// Opens an image. What no page says is not known: [`Scan::forget_volatile`] has happened.
    ///
    /// # Errors
    /// If it is none, or damaged.
    pub fn mount(path: &Path, file: S) -> Result<Self, FileError> {
        let io = |error| FileError::io(path, "read", error);
        let size = file.size().map_err(io)?;
        let mut header = vec![0; size.min(HEADER as u64) as usize];
        file.read_at(&mut header, 0).map_err(io)?;
        let layout = Layout::read(path, &header, size)?;
        let mut array = Self::with(path, layout, file);
        array.restore_marks()?;
        array.restore_blocks(look::threads()).map_err(io)?;
        Ok(array)
    }

    /// Puts all blocks back as their pages tell; this many threads look at them.
    fn restore_blocks(&mut self, threads: u32) -> io::Result<()> {
        let Self { memory, file, layout, newest_found, .. } = self;
        let (store, grid) = (file.as_ref().expect("it is one in a store"), memory.grid().clone());
        look::look_at_blocks(store, layout, &grid, threads, |block, found| {
            memory.restore(block, found);
            let valid = found.iter().filter(|page| page.state == PageState::Valid);
            *newest_found = valid.map(|page| page.oob.sequence).fold(*newest_found, u64::max);
        })
    }

    /// The highest rank of a page that opening it found.
    pub fn newest_found(&self) -> u64 {
        self.newest_found
    }

    fn with(path: &Path, layout: Layout, file: S) -> Self {
        Self {
            memory: MemoryArray::new(layout.geometry, true).keeping_ecc().keeping_updates().without_payload(),
            layout,
            path: path.to_owned(),
            file: Some(file),
            loaded: Loaded::new(&layout.geometry),
            unmarked: None,
            newest_found: 0,
        }
    }

    /// Makes durable what was written, against a failure of the machine; a fork has nothing to do.
    ///
    /// # Errors
    /// If that fails, or a bad block could not be marked since the last call.
    pub fn sync(&mut self) -> Result<(), FileError> {
        let synced = self.file.as_ref().map_or(Ok(()), S::sync);
        let result = self.unmarked.take().map_or(synced, Err);
        result.map_err(|error| FileError::io(&self.path, "write", error))
    }

    /// Lets go of the store, if it has one: it can be opened again, and this array is of no use any more.
    pub fn let_go(&mut self) -> Option<S> {
        self.file.take()
    }

    /// Where its bytes are; `None`: it is a fork.
    pub fn store(&self) -> Option<&S> {
        self.file.as_ref()
    }

    fn file(&self) -> &S {
        self.file.as_ref().expect("a fork asks its memory")
    }

    fn restore_marks(&mut self) -> Result<(), FileError> {
        let mut marks = vec![0; self.layout.geometry.blocks() as usize];
        let read = self.file().read_at(&mut marks, HEADER as u64);
        read.map_err(|error| FileError::io(&self.path, "read", error))?;
        for (block, mark) in marks.into_iter().enumerate() {
            let block = BlockAddr::from_index(block);
            match mark {
                GOOD => {}
                BAD => self.memory.set_age(block, |info| info.bad = true),
                found => {
                    let reason = format!("found {found}, valid are {GOOD} (good) and {BAD} (bad)");
                    return Err(FileError::field(&self.path, self.layout.mark_at(block), "mark of a block", reason));
                }
            }
        }
        Ok(())
    }

    /// The data of a page and the members that it names, if it can be read and all checksums are right.
    fn checked(&self, ppn: Ppn) -> Option<(Vec<u8>, Vec<Member>)> {
        let (mut data, mut beside) = (vec![0; self.layout.data], vec![0; self.layout.beside()]);
        read_flash(self.file(), &mut data, self.layout.data_at(ppn)).ok()?;
        read_flash(self.file(), &mut beside, self.layout.beside_at(ppn)).ok()?;
        let oob = OobPage::decode(&beside[self.layout.tail()..], self.layout.slots()).ok()?;
        let slots = data.chunks_exact(self.layout.data / self.layout.slots());
        let right = slots.zip(&oob.slots).all(|(data, slot)| crc32c::crc32c(data) == slot.data_crc);
        let members = self.named_behind(ppn, &beside[..self.layout.tail()]);
        members.filter(|_| right).map(|members| (data, members))
    }

    /// The members that a page with this tail names, if they can be read and their checksum is right.
    fn named_behind(&self, ppn: Ppn, tail: &[u8]) -> Option<Vec<Member>> {
        let mut members = Vec::new();
        if tail.is_empty() {
            return Some(members);
        }
        let mut entries = vec![0; named::count(tail, self.layout.members)? * named::ENTRY];
        if !entries.is_empty() {
            read_flash(self.file(), &mut entries, self.layout.members_at(ppn)).ok()?;
        }
        named::decode(&entries, tail, self.layout.geometry.slots(), &mut members).then_some(members)
    }

    fn load(&self, ppn: Ppn) -> Option<Box<[P]>> {
        let (data, _) = self.checked(ppn)?;
        Some(self.payload_of(&data))
    }

    fn payload_of(&self, data: &[u8]) -> Box<[P]> {
        data.chunks_exact(self.layout.data / self.layout.slots()).map(P::load).collect()
    }

    fn load_members(&self, ppn: Ppn) -> Option<Box<[Member]>> {
        let mut tail = vec![0; self.layout.tail()];
        read_flash(self.file(), &mut tail, self.layout.beside_at(ppn)).ok()?;
        self.named_behind(ppn, &tail).map(Into::into)
    }

    /// Contents of a programmed page of an image; `None` if its checksums fail.
    fn contents(&self, ppn: Ppn) -> Option<&[P]> {
        self.loaded.contents(ppn, || self.load(ppn))
    }

    fn write(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        let Some(file) = &self.file else { return self.memory.store(program) };
        let named = program.members.len();
        assert!(named <= self.layout.members as usize, "{} names {named} members of {}", program.ppn, self.layout.members);
        let mut data = vec![0; self.layout.data];
        let mut beside = Vec::with_capacity(self.layout.beside());
        let slots = data.chunks_exact_mut(self.layout.data / self.layout.slots());
        let crcs = slots.zip(program.payload).map(|(slot, payload)| {
            payload.store(slot);
            crc32c::crc32c(slot)
        });
        let crcs: Vec<u32> = crcs.collect();
        let mut entries = named::encode(program.members);
        if self.layout.members > 0 {
            beside.extend(named::tail(&entries));
        }
        beside.extend(self.memory.oob_of(program, &crcs).encode());
        let (ppn, layout) = (program.ppn, &self.layout);
        // A program writes at ascending offsets: the OOB bytes of the page come last.
        let parts =
            [(&mut data, layout.data_at(ppn)), (&mut entries, layout.members_at(ppn)), (&mut beside, layout.beside_at(ppn))];
        for (bytes, offset) in parts.into_iter().filter(|(bytes, _)| !bytes.is_empty()) {
            complement(bytes);
            if file.write_at(bytes, offset).is_err() {
                return ProgramOutcome::Failed;
            }
        }
        self.memory.store(&Program { payload: &[], members: &[], ..*program })
    }

    /// Wipes the pages of a block that may hold something, in the order that the head of this
    /// file gives.
    fn wipe(&self, file: &S, block: BlockAddr) -> io::Result<()> {
        let (first, all) = (self.memory.grid().ppn(block, 0), self.memory.grid().pages_per_block());
        // The page behind the last may have failed to program.
        let used = if file.writes_are_atomic() { all } else { (self.memory.block(block).next_page + 1).min(all) };
        let (end, layout) = (Ppn(first.0 + used), &self.layout);
        file.zero_at(layout.beside_at(first), layout.beside() as u64)?;
        file.zero_at(layout.data_at(first), layout.data_at(end) - layout.data_at(first))?;
        if layout.members > 0 {
            file.zero_at(layout.members_at(first), layout.members_at(end) - layout.members_at(first))?;
        }
        file.zero_at(layout.beside_at(first), layout.beside_at(end) - layout.beside_at(first))
    }
}

impl<P: StoredPayload, S: Store> FileArray<P, Logged<S>> {
    /// Writes the contents of the log to the image; `waits`: and makes them durable there.
    ///
    /// # Errors
    /// If that fails. Then the log must stay.
    pub fn catch_up(&mut self, waits: bool) -> Result<(), FileError> {
        let Some(logged) = &self.file else { return Ok(()) };
        let synced = |()| if waits { logged.sync() } else { Ok(()) };
        let done = logged.apply().and_then(synced);
        let result = self.unmarked.take().map_or(done, Err);
        result.map_err(|error| FileError::io(&self.path, "write", error))
    }
}

/// Reads bytes as flash has them.
fn read_flash<S: Store>(store: &S, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    store.read_at(bytes, offset)?;
    complement(bytes);
    Ok(())
}

/// Files hold the complement of what flash does, so that a hole reads as erased.
fn complement(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
}

fn lock(path: &Path, file: &File) -> Result<(), FileError> {
    file.try_lock().map_err(|error| {
        let fault = match error {
            TryLockError::WouldBlock => Fault::InUse,
            TryLockError::Error(error) => Fault::Io("lock", error),
        };
        FileError::new(path, fault)
    })
}

impl<P: StoredPayload, S: Store> Clone for FileArray<P, S> {
    /// A fork, in memory.
    fn clone(&self) -> Self {
        let mut memory = self.memory.clone().with_payload();
        for block in (0..self.layout.geometry.blocks()).filter(|_| self.file.is_some()).map(BlockAddr) {
            for page in 0..memory.block(block).next_page {
                let ppn = memory.grid().ppn(block, page);
                match (self.memory.scan_page(ppn), self.checked(ppn)) {
                    (PageScan::Valid(_), Some((data, members))) => {
                        memory.refill(block, page, &self.payload_of(&data), &members);
                    }
                    (PageScan::Valid(_), None) => memory.tear(ppn),
                    _ => {}
                }
            }
        }
        Self {
            memory,
            layout: self.layout,
            path: self.path.clone(),
            file: None,
            loaded: Loaded::default(),
            unmarked: None,
            newest_found: 0,
        }
    }
}

impl<P: StoredPayload, S: Store> InMemory<P> for FileArray<P, S> {
    fn over(memory: MemoryArray<P>) -> Self {
        let layout = Layout::new(*memory.grid().geometry(), 0);
        let (path, loaded) = (PathBuf::new(), Loaded::default());
        Self { memory, layout, path, file: None, loaded, unmarked: None, newest_found: 0 }
    }

    fn memory_mut(&mut self) -> &mut MemoryArray<P> {
        assert!(self.file.is_none(), "flash in a file changes by commands alone");
        &mut self.memory
    }
}

impl<P: StoredPayload, S: Store> FlashArray<P> for FileArray<P, S> {
    #[inline]
    fn grid(&self) -> &Grid {
        self.memory.grid()
    }

    #[inline]
    fn block(&self, block: BlockAddr) -> &BlockInfo {
        self.memory.block(block)
    }

    fn read(&mut self, ppn: Ppn) -> ReadOutcome {
        let outcome = self.memory.read(ppn);
        if outcome == ReadOutcome::Clean && self.file.is_some() {
            self.loaded.forget_if_much();
            if self.contents(ppn).is_none() {
                return ReadOutcome::Uncorrectable;
            }
        }
        outcome
    }

    #[inline]
    fn prefetch(&self, ppn: Ppn) {
        self.memory.prefetch(ppn);
    }

    #[inline]
    fn prefetch_block(&self, ppn: Ppn) {
        self.memory.prefetch_block(ppn);
    }

    #[inline]
    fn prefetch_oob(&self, ppn: Ppn) {
        self.memory.prefetch_oob(ppn);
    }

    #[inline]
    fn page(&self, ppn: Ppn) -> PageView<'_> {
        self.memory.page(ppn)
    }

    #[inline]
    fn tags(&self, ppn: Ppn) -> &[OobTag] {
        self.memory.tags(ppn)
    }

    fn payload(&self, ppn: Ppn) -> &[P] {
        self.file.as_ref().and_then(|_| self.contents(ppn)).unwrap_or_else(|| self.memory.payload(ppn))
    }

    fn program_page(&mut self, program: &Program<'_, P>) -> ProgramOutcome {
        self.write(program)
    }

    fn members(&self, ppn: Ppn) -> &[Member] {
        if self.file.is_none() {
            return self.memory.members(ppn);
        }
        let is_there = self.layout.members > 0 && matches!(self.memory.scan_page(ppn), PageScan::Valid(_));
        if is_there { self.loaded.members(ppn, || self.load_members(ppn).unwrap_or_default()) } else { &[] }
    }

    fn update(&self, ppn: Ppn, index: u32) -> u64 {
        self.memory.update(ppn, index)
    }

    fn recharge(&mut self, ppn: Ppn, now: SimTime) -> ProgramOutcome {
        self.memory.recharge(ppn, now)
    }

    fn erase(&mut self, block: BlockAddr) -> ProgramOutcome {
        assert!(!self.memory.block(block).bad, "{block} is bad and must not be erased");
        if let Some(file) = &self.file {
            if self.wipe(file, block).is_err() {
                return ProgramOutcome::Failed;
            }
            let first = self.grid().ppn(block, 0).0;
            self.loaded.forget(first..first + self.memory.grid().pages_per_block());
        }
        self.memory.erase(block)
    }

    #[inline]
    fn answers(&self, _: Ppn) -> bool {
        true
    }

    #[inline]
    fn answers_everywhere(&self) -> bool {
        true
    }

    fn use_as_slc(&mut self, block: BlockAddr, cycles_a_cycle: u8) {
        self.memory.use_as_slc(block, cycles_a_cycle);
    }

    /// Of an age only the mark of a bad block is written: the rest is told by pages.
    fn set_age(&mut self, block: BlockAddr, age: impl FnOnce(&mut BlockInfo)) {
        let was_bad = self.memory.block(block).bad;
        self.memory.set_age(block, age);
        let bad = self.memory.block(block).bad;
        if let Some(file) = self.file.as_ref().filter(|_| bad != was_bad) {
            let mark = if bad { BAD } else { GOOD };
            self.unmarked = file.write_at(&[mark], self.layout.mark_at(block)).err().or(self.unmarked.take());
        }
    }

    /// Ageing is simulation: the pages of the file keep what they say.
    fn set_ecc(&mut self, block: BlockAddr, ecc: Capability) {
        self.memory.set_ecc(block, ecc);
    }
}

impl<P: StoredPayload, S: Store> Scan<P> for FileArray<P, S> {
    /// Reads the page and its checksums, unless programs that did not end leave nothing; nothing of it is kept.
    fn scan_page(&self, ppn: Ppn) -> PageScan<'_> {
        let may_be_torn = || self.file.as_ref().is_some_and(|file| !file.writes_are_atomic());
        match self.memory.scan_page(ppn) {
            PageScan::Valid(_) if may_be_torn() && self.checked(ppn).is_none() => PageScan::Unreadable,
            found => found,
        }
    }

    fn forget_volatile(&mut self) {
        self.memory.forget_volatile();
    }
}

#[cfg(test)]
mod tests;
