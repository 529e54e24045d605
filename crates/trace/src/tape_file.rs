//! Our own binary recordings: a few bytes a request, read and written as a stream. `docs/traces.md` has the layout.
//!
//! A checksum at the end tells a file that was cut or changed from a whole one.

use crate::record::Record;
use std::io::{Error, ErrorKind, Read, Result, Write};
use vocab::{FNV_START, Fua, HostOp, Lba, SimTime, StreamId, fnv_on};

/// The bytes of a file, one after the other.
pub(crate) type Bytes = Box<dyn std::io::Read + Send>;

/// First bytes of a file; the last is the version.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FKTAPE\x01";

/// Operations, by their number in the first byte of a request.
const OPS: [HostOp; 5] = [HostOp::Read, HostOp::Write(Fua::No), HostOp::Write(Fua::Yes), HostOp::Discard, HostOp::Flush];

/// Bits of the first byte of a request: what follows. Without them it is as in the request before.
const OP: u8 = 0x07;
const DEVICE: u8 = 0x08;
const STREAM: u8 = 0x10;
const PLACE: u8 = 0x20;
const SIZE: u8 = 0x40;

/// In place of the first byte of a request: the end of the file.
const END: u8 = 0xff;

/// The request before, from which the next is told.
#[derive(Clone, Copy, Default)]
struct Before {
    at: u64,
    device: u32,
    stream: u8,
    /// Where the request before ended.
    end: u64,
    sectors: u32,
}

impl Before {
    fn next(self, record: &Record) -> Self {
        let (Lba(lba), sectors) = (record.lba, record.sectors);
        Self { at: record.at.0, device: record.device, stream: record.stream.0, end: lba + u64::from(sectors), sectors }
    }
}

/// Writes a recording.
pub struct TapeWriter<W> {
    out: W,
    before: Before,
    hash: u64,
    count: u64,
    line: Vec<u8>,
}

impl<W: Write> TapeWriter<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn new(out: W) -> Result<Self> {
        let mut writer = Self { out, before: Before::default(), hash: FNV_START, count: 0, line: MAGIC.to_vec() };
        writer.put()?;
        Ok(writer)
    }

    /// Writes a request, which is not earlier than the one before.
    ///
    /// # Errors
    /// Errors of the output, and a request out of order.
    pub fn record(&mut self, record: &Record) -> Result<()> {
        let before = self.before;
        let late = || Error::new(ErrorKind::InvalidInput, "requests are not in the order of time");
        let passed = record.at.0.checked_sub(before.at).ok_or_else(late)?;
        let op = OPS.iter().position(|op| *op == record.op).expect("all operations are there") as u8;
        let mut first = op;
        for (bit, differs) in [
            (DEVICE, record.device != before.device),
            (STREAM, record.stream.0 != before.stream),
            (PLACE, record.lba.0 != before.end),
            (SIZE, record.sectors != before.sectors),
        ] {
            first |= if differs { bit } else { 0 };
        }
        self.line.push(first);
        number(passed, &mut self.line);
        if first & DEVICE != 0 {
            number(u64::from(record.device), &mut self.line);
        }
        if first & STREAM != 0 {
            self.line.push(record.stream.0);
        }
        if first & PLACE != 0 {
            // Addresses are below 2^54, so that the difference has a sign to spare.
            let moved = record.lba.0 as i64 - before.end as i64;
            number(((moved << 1) ^ (moved >> 63)) as u64, &mut self.line);
        }
        if first & SIZE != 0 {
            number(u64::from(record.sectors), &mut self.line);
        }
        self.before = before.next(record);
        self.count += 1;
        self.put()
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> Result<()> {
        self.line.push(END);
        number(self.count, &mut self.line);
        self.put()?;
        let hash = self.hash.to_le_bytes();
        self.out.write_all(&hash)?;
        self.out.flush()
    }

    fn put(&mut self) -> Result<()> {
        self.hash = fnv_on(self.hash, &self.line);
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

/// Seven bits a byte, the lowest first; all but the last byte have the highest bit.
fn number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a recording.
pub(crate) struct TapeReader {
    buffer: Vec<u8>,
    at: usize,
    before: Before,
    hash: u64,
    count: u64,
    is_begun: bool,
    is_over: bool,
}

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;

impl TapeReader {
    pub fn new() -> Self {
        let (buffer, before) = (Vec::new(), Before::default());
        Self { buffer, at: 0, before, hash: FNV_START, count: 0, is_begun: false, is_over: false }
    }

    /// The next request; `None` behind the last, when the whole file was found to be as it was written.
    pub fn next(&mut self, bytes: &mut Bytes) -> Result<Option<Record>> {
        if self.is_over {
            return Ok(None);
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            self.begin(bytes)?;
        }
        let first = self.byte(bytes)?;
        if first == END {
            self.end(bytes)?;
            self.is_over = true;
            return Ok(None);
        }
        let bad = |what: &str, number: u64| Error::new(ErrorKind::InvalidData, format!("request {number} has {what}"));
        let number = self.count + 1;
        let op = OPS.get(usize::from(first & OP)).filter(|_| first & 0x80 == 0);
        let op = *op.ok_or_else(|| bad("an operation that is none", number))?;
        let Before { at, mut device, mut stream, end, mut sectors } = self.before;
        let at = at.checked_add(self.number(bytes)?).ok_or_else(|| bad("a time beyond all", number))?;
        if first & DEVICE != 0 {
            device = u32::try_from(self.number(bytes)?).map_err(|_| bad("a device beyond 2^32", number))?;
        }
        if first & STREAM != 0 {
            stream = self.byte(bytes)?;
        }
        let mut lba = end;
        if first & PLACE != 0 {
            let moved = self.number(bytes)?;
            let moved = (moved >> 1) as i64 ^ -((moved & 1) as i64);
            lba = end.checked_add_signed(moved).ok_or_else(|| bad("an address below 0", number))?;
        }
        if first & SIZE != 0 {
            sectors = u32::try_from(self.number(bytes)?).map_err(|_| bad("a size beyond 2^32 sectors", number))?;
        }
        if lba > 1 << 62 {
            return Err(bad("an address beyond 2^62 sectors", number));
        }
        let record = Record { at: SimTime(at), device, op, lba: Lba(lba), sectors, stream: StreamId(stream) };
        self.before = self.before.next(&record);
        self.count = number;
        Ok(Some(record))
    }

    fn begin(&mut self, bytes: &mut Bytes) -> Result<()> {
        for expected in MAGIC {
            let found = self.byte(bytes)?;
            if found != expected {
                let message = format!("found no recording of Flashkeep of version {}", MAGIC[7]);
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
        }
        Ok(())
    }

    fn end(&mut self, bytes: &mut Bytes) -> Result<()> {
        let (found, counted) = (self.number(bytes)?, self.count);
        let hash = self.hash;
        let mut written = [0; 8];
        for byte in &mut written {
            *byte = self.byte(bytes)?;
        }
        if found != counted || u64::from_le_bytes(written) != hash {
            return Err(Error::new(ErrorKind::InvalidData, "the checksum at the end is of another file: it was changed"));
        }
        Ok(())
    }

    fn byte(&mut self, bytes: &mut Bytes) -> Result<u8> {
        if self.at == self.buffer.len() {
            self.buffer.resize(BUFFER, 0);
            let count = loop {
                match bytes.read(&mut self.buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    other => break other?,
                }
            };
            self.buffer.truncate(count);
            self.at = 0;
            if count == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "the recording is cut short"));
            }
        }
        let byte = self.buffer[self.at];
        self.at += 1;
        self.hash = fnv_on(self.hash, &[byte]);
        Ok(byte)
    }

    fn number(&mut self, bytes: &mut Bytes) -> Result<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(bytes)?;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Error::new(ErrorKind::InvalidData, "a number is longer than 64 bits"))
    }
}
