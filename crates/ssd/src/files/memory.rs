//! The file of power-safe memory: `docs/spec/memory.md`.
//!
//! What is saved goes to where the last state is not, then a record of 32 bytes that names it. A
//! process that is killed in between leaves the last state.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"FKMEMORY";
const VERSION: u32 = 4;
/// Bytes of the header.
const HEADER: usize = 4096;
const CRC_AT: usize = HEADER - 4;
/// Where the setup stands in the header.
const SETUP_AT: usize = 16;
/// The two records.
const RECORDS: [u64; 2] = [HEADER as u64, HEADER as u64 + 512];
const RECORD: usize = 32;
/// Where states begin.
const STATES: u64 = 8192;

/// Why a file is no power-safe memory, or could not be used.
#[derive(Debug)]
pub struct MemoryError {
    file: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    Io(&'static str, io::Error),
    Field { offset: u64, field: &'static str, reason: String },
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        match &self.what {
            What::Io(doing, error) => write!(f, "cannot {doing}: {error}"),
            What::Field { offset, field, reason } => write!(f, "byte {offset}, {field}: {reason}"),
        }
    }
}

impl std::error::Error for MemoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let What::Io(_, error) = &self.what { Some(error) } else { None }
    }
}

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
#[derive(Debug)]
pub(crate) struct Memory {
    path: PathBuf,
    file: File,
    /// The newest state and the one before.
    newest: Record,
    /// Which of the two records it has.
    at: usize,
}

impl Memory {
    /// The file beside an image.
    pub fn path_beside(image: &Path) -> PathBuf {
        let mut name = image.as_os_str().to_owned();
        name.push(".memory");
        name.into()
    }

    /// A new file with its first state. `setup` says in words what the drive is.
    pub fn create(path: &Path, setup: &str, state: &[u8]) -> Result<Self, MemoryError> {
        let io = |doing| move |error| MemoryError { file: path.to_owned(), what: What::Io(doing, error) };
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(io("create"))?;
        let mut memory = Self { path: path.to_owned(), file, newest: Record::default(), at: 1 };
        memory.save(state)?;
        // The header comes last: before, the file is none.
        memory.file.write_all_at(&header(setup), 0).map_err(io("write"))?;
        Ok(memory)
    }

    /// Opens a file of a drive of this setup; its newest state.
    pub fn open(path: &Path, setup: &str) -> Result<(Self, Vec<u8>), MemoryError> {
        let io = |doing| move |error| MemoryError { file: path.to_owned(), what: What::Io(doing, error) };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(io("open"))?;
        let size = file.metadata().map_err(io("read"))?.len();
        let fail = |offset: u64, field, reason: String| {
            Err(MemoryError { file: path.to_owned(), what: What::Field { offset, field, reason } })
        };
        if size < STATES {
            return fail(size, "header", format!("found the end after {size} bytes, {STATES} are needed"));
        }
        let mut head = vec![0; STATES as usize];
        file.read_exact_at(&mut head, 0).map_err(io("read"))?;
        if let Err((offset, field, reason)) = check_header(&head[..HEADER], setup) {
            return fail(offset, field, reason);
        }
        let mut newest: Option<(Record, usize)> = None;
        for (index, offset) in RECORDS.into_iter().enumerate() {
            let Some(record) = Record::decode(&head[offset as usize..][..RECORD]) else {
                return fail(offset, "record of a state", "its checksum is that of other bytes".into());
            };
            if newest.is_none_or(|(newest, _)| record.sequence > newest.sequence) {
                newest = Some((record, index));
            }
        }
        let (record, at) = newest.expect("there are two");
        if record.sequence == 0 {
            return fail(RECORDS[0], "record of a state", "there is no state".into());
        }
        let fits = record.offset >= STATES && record.offset.checked_add(record.length).is_some_and(|end| end <= size);
        if !fits {
            let reason = format!("found {} bytes at {}, the file has {size}", record.length, record.offset);
            return fail(RECORDS[at] + 8, "place of a state", reason);
        }
        let mut state = vec![0; record.length as usize];
        file.read_exact_at(&mut state, record.offset).map_err(io("read"))?;
        let crc = crc32c(&state);
        if crc != record.crc {
            return fail(record.offset, "state", format!("found checksum {crc:08x}, its record says {:08x}", record.crc));
        }
        Ok((Self { path: path.to_owned(), file, newest: record, at }, state))
    }

    /// Saves a state: from now on it is what [`Self::open`] finds.
    pub fn save(&mut self, state: &[u8]) -> Result<(), MemoryError> {
        let length = state.len() as u64;
        let before = self.newest;
        let has_room = before.sequence == 0 || STATES + length <= before.offset;
        let offset = if has_room { STATES } else { before.end() };
        let record = Record { sequence: before.sequence + 1, offset, length, crc: crc32c(state) };
        let at = 1 - self.at;
        let written = self.file.write_all_at(state, offset).and_then(|()| self.file.write_all_at(&record.encode(), RECORDS[at]));
        written.map_err(|error| MemoryError { file: self.path.clone(), what: What::Io("write", error) })?;
        (self.newest, self.at) = (record, at);
        Ok(())
    }

    /// Makes durable what was saved, against a failure of the machine.
    pub fn sync(&self) -> Result<(), MemoryError> {
        self.file.sync_data().map_err(|error| MemoryError { file: self.path.clone(), what: What::Io("write", error) })
    }

    /// A field of the newest state has an impossible value.
    pub fn refuse(&self, at: usize, field: &'static str, reason: String) -> MemoryError {
        MemoryError { file: self.path.clone(), what: What::Field { offset: self.newest.offset + at as u64, field, reason } }
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
