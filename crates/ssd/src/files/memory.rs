//! The file of PLP memory, which is also the log of what flash has written: `docs/spec/memory.md`.
//!
//! A state is followed by transactions, each with what was written to flash since the one before, and with the fields that
//! changed in the meantime. A transaction is there as a whole or not at all, and those before it are there as well: whatever of the file a
//! killed process, or a machine that failed, has left, it says how the drive was between two events.
//!
//! Before the log grows too long, what was written to flash is put into the image, and a new state begins where the last one, with
//! its log, is not; a record names it.

use super::fields::Found;
use crate::core::bytes::Malformed;
use nand::{FileError, Piece, Store};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"FKMEMORY";
const VERSION: u32 = 6;
/// Bytes of the header.
const HEADER: usize = 4096;
const CRC_AT: usize = HEADER - 4;
/// Where the setup stands in the header.
const SETUP_AT: usize = 16;
/// The records: two, and a copy of each.
const RECORDS: [u64; 4] = [HEADER as u64, HEADER as u64 + 512, HEADER as u64 + 1024, HEADER as u64 + 1536];
const RECORD: usize = 32;
/// Where states begin.
const STATES: u64 = 8192;
/// Transactions that follow something durable begin at a multiple of this: no sector of it is written again.
const SECTOR: u64 = 4096;
/// Bytes before the body of a transaction.
const HEAD: usize = 40;
/// Where its checksums stand: of the transaction before, and its own.
const BEFORE_AT: usize = 32;
const OWN_AT: usize = 36;

/// Where a state lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Record {
    /// Rank among states, from 1; 0: there is none.
    sequence: u64,
    offset: u64,
    length: u64,
    crc: u32,
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.crc.to_le_bytes());
        let crc = crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None`: other bytes than any record has.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let crc = u32::from_le_bytes(bytes[24..28].try_into().expect("4 bytes"));
        let record = Self { sequence: u64_at(0), offset: u64_at(8), length: u64_at(16), crc };
        let is_none = bytes.iter().all(|&byte| byte == 0);
        (is_none || record.sequence > 0 && bytes == record.encode()).then_some(record)
    }

    fn end(&self) -> u64 {
        self.offset + self.length
    }
}

fn crc32c(bytes: &[u8]) -> u32 {
    coding::crc32c(bytes)
}

/// The file.
pub(super) struct Memory {
    path: PathBuf,
    file: Box<dyn Store>,
    /// The newest state.
    newest: Record,
    /// Which of the two records it has.
    at: usize,
    /// Where the next transaction goes, and its number.
    end: u64,
    number: u64,
    /// The checksum of the last transaction, or of the state: what comes next names it.
    last: u32,
    /// The newest transaction that is durable.
    durable: u64,
    /// Whether it waits for the disk where the order of writes matters to a machine that fails.
    waits: bool,
}

/// Contents of a file.
pub(super) struct Opened {
    pub memory: Memory,
    pub fields: Found,
    /// Pieces that were written to flash and may be missing in the image.
    pub written: Vec<(u64, Piece)>,
}

impl Memory {
    /// The file beside an image.
    pub fn path_beside(image: &Path) -> PathBuf {
        let mut name = image.as_os_str().to_owned();
        name.push(".memory");
        name.into()
    }

    /// Makes the file.
    pub fn new_file(path: &Path) -> Result<File, FileError> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        file.map_err(|error| FileError::io(path, "create", error))
    }

    /// Opens the file.
    pub fn open_file(path: &Path) -> Result<File, FileError> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        file.map_err(|error| FileError::io(path, "open", error))
    }

    /// The first state, in an empty file. `setup` says in words what the drive is.
    pub fn create(path: &Path, file: Box<dyn Store>, setup: &str, state: &[u8]) -> Result<Self, FileError> {
        let mut memory = Self::over(path, file, Record::default(), 1);
        memory.begin(state)?;
        // The header comes last: before, the file is none.
        let written = memory.file.write_at(&header(setup), 0);
        written.map_err(|error| memory.failed("write", error))?;
        Ok(memory)
    }

    fn over(path: &Path, file: Box<dyn Store>, newest: Record, at: usize) -> Self {
        Self { path: path.to_owned(), file, newest, at, end: newest.end(), number: 0, last: newest.crc, durable: 0, waits: false }
    }

    /// Reads a file of a drive of this setup.
    pub fn open(path: &Path, file: Box<dyn Store>, setup: &str) -> Result<Opened, FileError> {
        let io = |error| FileError::io(path, "read", error);
        let size = file.size().map_err(io)?;
        let fail = |offset: u64, field, reason: String| Err(FileError::field(path, offset, field, reason));
        if size < STATES {
            return fail(size, "header", format!("found the end after {size} bytes, {STATES} are needed"));
        }
        let mut head = vec![0; STATES as usize];
        file.read_at(&mut head, 0).map_err(io)?;
        if let Err((offset, field, reason)) = check_header(&head[..HEADER], setup) {
            return fail(offset, field, reason);
        }
        let (record, at) = match newest_record(&head) {
            Ok(Some(newest)) => newest,
            Ok(None) => return fail(RECORDS[0], "record of a state", "there is no state".into()),
            Err(at) => {
                return fail(at, "record of a state", "its checksum is that of other bytes, and that of another one too".into());
            }
        };
        let fits = record.offset >= STATES && record.offset.checked_add(record.length).is_some_and(|end| end <= size);
        if !fits {
            let reason = format!("found {} bytes at {}, the file has {size}", record.length, record.offset);
            return fail(RECORDS[2 * at] + 8, "place of a state", reason);
        }
        let mut state = vec![0; record.length as usize];
        file.read_at(&mut state, record.offset).map_err(io)?;
        let crc = crc32c(&state);
        if crc != record.crc {
            return fail(record.offset, "state", format!("found checksum {crc:08x}, its record says {:08x}", record.crc));
        }
        let mut opened = Opened { memory: Self::over(path, file, record, at), fields: Found::default(), written: Vec::new() };
        let applied = opened.fields.apply(&state, record.offset);
        applied.map_err(|malformed| opened.memory.refuse(malformed))?;
        while opened.next_transaction(size)? {}
        Ok(opened)
    }

    /// Whether from now on writes wait for the disk where a machine that fails could mix them up.
    pub fn wait(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Whether it waits.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Bytes of the log behind the state.
    pub fn log(&self) -> u64 {
        self.end - self.newest.end()
    }

    /// Begins again with a state, without a log. What the log has must be in the image.
    pub fn begin(&mut self, state: &[u8]) -> Result<(), FileError> {
        let (length, before) = (state.len() as u64, self.newest);
        let has_room = before.sequence == 0 || STATES + length <= before.offset;
        let offset = if has_room { STATES } else { self.end.next_multiple_of(SECTOR) };
        let record = Record { sequence: before.sequence + 1, offset, length, crc: crc32c(state) };
        let at = 1 - self.at;
        self.put(state, offset)?;
        self.wait_for_disk()?;
        self.put(&record.encode(), RECORDS[2 * at])?;
        // A record that is torn has a copy that is not.
        self.wait_for_disk()?;
        self.put(&record.encode(), RECORDS[2 * at + 1])?;
        (self.newest, self.at) = (record, at);
        (self.end, self.number, self.last, self.durable) = (record.end().next_multiple_of(SECTOR), 0, record.crc, 0);
        Ok(())
    }

    /// Adds a transaction: what was written to flash, and the fields that changed.
    pub fn add(&mut self, written: &[(u64, Piece)], changes: &[u8]) -> Result<(), FileError> {
        let of_flash: usize =
            written.iter().map(|(_, piece)| 17 + if let Piece::Bytes(bytes) = piece { bytes.len() } else { 0 }).sum();
        let mut bytes = Vec::with_capacity(HEAD + 4 + of_flash + changes.len());
        for word in [self.newest.sequence, self.number + 1, self.durable, (4 + of_flash + changes.len()) as u64] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(self.last.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend((written.len() as u32).to_le_bytes());
        for (offset, piece) in written {
            bytes.extend(offset.to_le_bytes());
            bytes.extend(piece.length().to_le_bytes());
            match piece {
                Piece::Zeros(_) => bytes.push(0),
                Piece::Bytes(piece) => {
                    bytes.push(1);
                    bytes.extend(&piece[..]);
                }
            }
        }
        bytes.extend(changes);
        let crc = crc_of(&bytes);
        bytes[OWN_AT..HEAD].copy_from_slice(&crc.to_le_bytes());
        self.put(&bytes, self.end)?;
        self.end += bytes.len() as u64;
        self.number += 1;
        self.last = crc;
        Ok(())
    }

    /// Makes durable what was written, against a failure of the machine.
    pub fn sync(&mut self) -> Result<(), FileError> {
        self.file.sync().map_err(|error| self.failed("write", error))?;
        self.durable = self.number;
        self.end = self.end.next_multiple_of(SECTOR);
        Ok(())
    }

    /// As [`Self::sync`], if it waits at all.
    pub fn wait_for_disk(&mut self) -> Result<(), FileError> {
        if self.waits { self.sync() } else { Ok(()) }
    }

    fn put(&self, bytes: &[u8], offset: u64) -> Result<(), FileError> {
        let written = self.file.write_at(bytes, offset);
        written.map_err(|error| self.failed("write", error))
    }

    fn failed(&self, doing: &'static str, error: io::Error) -> FileError {
        FileError::io(&self.path, doing, error)
    }

    /// Something in the file has an impossible value.
    pub fn refuse(&self, Malformed { at, field, reason }: Malformed) -> FileError {
        FileError::field(&self.path, at as u64, field, reason)
    }

    /// Where the newest state lies.
    pub fn state(&self) -> usize {
        self.newest.offset as usize
    }

    /// The file.
    pub fn file(&self) -> &dyn Store {
        &self.file
    }

    /// Lets go of the file.
    pub fn into_file(self) -> Box<dyn Store> {
        self.file
    }
}

/// The newest of the records, and which it is; nothing if there is none. A place where one is damaged, if more than one is:
/// of a record that was being written there is a copy, or the one before.
fn newest_record(head: &[u8]) -> Result<Option<(Record, usize)>, u64> {
    let records = RECORDS.map(|offset| Record::decode(&head[offset as usize..][..RECORD]));
    let damaged: Vec<u64> = RECORDS.into_iter().zip(&records).filter(|(_, record)| record.is_none()).map(|(at, _)| at).collect();
    if damaged.len() > 1 {
        return Err(damaged[0]);
    }
    let there = (0..).zip(records).filter_map(|(index, record)| Some((record?, index / 2)));
    Ok(there.filter(|(record, _)| record.sequence > 0).max_by_key(|(record, _)| record.sequence))
}

/// The checksum of a transaction: of all but itself.
fn crc_of(bytes: &[u8]) -> u32 {
    coding::crc32c_append(crc32c(&bytes[..OWN_AT]), &bytes[HEAD..])
}

/// A transaction as it is in the file.
struct Transaction {
    bytes: Vec<u8>,
    number: u64,
    /// The newest one that was durable when it was written.
    durable: u64,
    /// The checksum of the one before.
    before: u32,
    crc: u32,
}

impl Opened {
    /// The transaction that stands at `at`, if it is whole and one of this log.
    fn transaction(&self, at: u64, size: u64) -> Result<Option<Transaction>, FileError> {
        let memory = &self.memory;
        if at.checked_add(HEAD as u64).is_none_or(|end| end > size) {
            return Ok(None);
        }
        let read = |bytes: &mut [u8]| memory.file.read_at(bytes, at).map_err(|error| memory.failed("read", error));
        let mut head = [0; HEAD];
        read(&mut head)?;
        let word = |index: usize| u64::from_le_bytes(head[8 * index..8 * index + 8].try_into().expect("8 bytes"));
        let length = word(3);
        let fits = length.checked_add(HEAD as u64).and_then(|length| at.checked_add(length)).is_some_and(|end| end <= size);
        if word(0) != memory.newest.sequence || !fits || length < 4 {
            return Ok(None);
        }
        let mut bytes = vec![0; HEAD + length as usize];
        read(&mut bytes)?;
        let crc = crc_of(&bytes);
        let before = u32::from_le_bytes(head[BEFORE_AT..OWN_AT].try_into().expect("4 bytes"));
        let is_whole = crc.to_le_bytes() == head[OWN_AT..];
        Ok(is_whole.then_some(Transaction { number: word(1), durable: word(2), before, crc, bytes }))
    }

    /// Takes in the next transaction; whether there was one.
    fn next_transaction(&mut self, size: u64) -> Result<bool, FileError> {
        let number = self.memory.number + 1;
        let mut places = vec![self.memory.end, self.memory.end.next_multiple_of(SECTOR)];
        places.dedup();
        for at in places {
            // Another one is what an earlier process left, of a log that went on differently.
            let is_next = |found: &Transaction| found.number == number && found.before == self.memory.last;
            if let Some(found) = self.transaction(at, size)?.filter(is_next) {
                self.take(&found.bytes, at)?;
                self.memory.end = at + found.bytes.len() as u64;
                (self.memory.number, self.memory.last) = (number, found.crc);
                return Ok(true);
            }
        }
        self.refuse_a_gap(number, size)?;
        Ok(false)
    }

    /// Where the log ends a machine may have failed. It did not lose what was durable: a later transaction that says so means
    /// damage. The first one after something was synced begins at a sector.
    fn refuse_a_gap(&self, number: u64, size: u64) -> Result<(), FileError> {
        let at = self.memory.end;
        for later in (at.next_multiple_of(SECTOR)..size).step_by(SECTOR as usize) {
            let later = self.transaction(later, size)?;
            if later.is_some_and(|later| later.number > number && later.durable >= number) {
                let reason = "its checksum is that of other bytes, and a later one says that it was durable".into();
                return Err(self.memory.refuse(Malformed { at: at as usize, field: "transaction", reason }));
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], at: u64) -> Result<(), FileError> {
        let place = |from: usize| at as usize + from;
        let malformed = |from: usize, reason| Malformed { at: place(from), field: "what was written to flash", reason };
        let word = |from: usize| {
            let bytes = bytes.get(from..from + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
        };
        let count = u32::from_le_bytes(bytes[HEAD..HEAD + 4].try_into().expect("4 bytes"));
        let mut from = HEAD + 4;
        for _ in 0..count {
            let (Some(offset), Some(length), Some(&kind)) = (word(from), word(from + 8), bytes.get(from + 16)) else {
                return Err(self.memory.refuse(malformed(from, "found the end".into())));
            };
            from += 17;
            let piece = match kind {
                0 => Piece::Zeros(length),
                _ => match bytes[from..].get(..length as usize) {
                    Some(piece) => Piece::Bytes(piece.into()),
                    None => return Err(self.memory.refuse(malformed(from, format!("found {length} bytes, fewer follow")))),
                },
            };
            from += if kind == 0 { 0 } else { length as usize };
            self.written.push((offset, piece));
        }
        self.fields.apply(&bytes[from..], place(from) as u64).map_err(|malformed| self.memory.refuse(malformed))
    }
}

/// The words that stand in the header, as far as they fit.
fn words(setup: &str) -> &[u8] {
    &setup.as_bytes()[..setup.len().min(CRC_AT - SETUP_AT)]
}

fn header(setup: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((words(setup).len() as u32).to_le_bytes());
    bytes.extend(words(setup));
    bytes.resize(CRC_AT, 0);
    bytes.extend(crc32c(&bytes).to_le_bytes());
    bytes
}

/// Checks a header; else byte, field and what is wrong with it.
fn check_header(bytes: &[u8], setup: &str) -> Result<(), (u64, &'static str, String)> {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    if bytes[..8] != MAGIC {
        return Err((0, "magic", format!("found {:02x?}, valid is {MAGIC:02x?}", &bytes[..8])));
    }
    if u32_at(8) != VERSION {
        return Err((8, "version", format!("found {}, valid is {VERSION}", u32_at(8))));
    }
    let crc = crc32c(&bytes[..CRC_AT]);
    if u32_at(CRC_AT) != crc {
        return Err((CRC_AT as u64, "header_crc", format!("found {:08x}, valid is {crc:08x}", u32_at(CRC_AT))));
    }
    let length = (u32_at(12) as usize).min(CRC_AT - SETUP_AT);
    let found = &bytes[SETUP_AT..SETUP_AT + length];
    if found != words(setup) {
        let found = String::from_utf8_lossy(found);
        return Err((SETUP_AT as u64, "setup", format!("found {found}, asked for is {setup}")));
    }
    Ok(())
}
