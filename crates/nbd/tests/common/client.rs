//! An NBD client that sends before it has heard.

use super::Served;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Commands of NBD.
pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZEROES: u16 = 6;

/// The write must be durable when it is answered.
pub const FUA: u16 = 1;

/// Result of a request: bytes of a read, none of others, or a number of an error.
pub type Reply = Result<Vec<u8>, u32>;

/// One connection.
pub struct Client {
    stream: UnixStream,
    /// Bytes that reads under way are to bring.
    reads: BTreeMap<u64, usize>,
}

/// A request as NBD has it.
pub fn request(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
    request.extend(flags.to_be_bytes());
    request.extend(kind.to_be_bytes());
    request.extend(cookie.to_be_bytes());
    request.extend(offset.to_be_bytes());
    request.extend(length.to_be_bytes());
    request
}

/// Bytes that say which write left them, and where.
pub fn stamped(write: u64, place: u64, bytes: u64) -> Vec<u8> {
    [write, place].map(u64::to_le_bytes).concat().repeat(bytes as usize / 16)
}

impl Client {
    pub fn connect(served: &Served) -> Self {
        let stream = super::handshake(&served.file("nbd.sock"), Duration::from_secs(60));
        Self { stream, reads: BTreeMap::new() }
    }

    /// Sends a request of this many bytes; `data` are those of a write.
    pub fn send(&mut self, flags: u16, kind: u16, cookie: u64, offset: u64, length: u32, data: &[u8]) -> std::io::Result<()> {
        if kind == READ {
            self.reads.insert(cookie, length as usize);
        }
        self.stream.write_all(&[&request(flags, kind, cookie, offset, length), data].concat())
    }

    /// The cookie of the next answer, and what came of it.
    pub fn hear(&mut self) -> std::io::Result<(u64, Reply)> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        let (error, cookie) = (&head[4..8], u64::from_be_bytes(head[8..].try_into().expect("8 bytes")));
        let size = self.reads.remove(&cookie).unwrap_or(0);
        let error = u32::from_be_bytes(error.try_into().expect("4 bytes"));
        if error != 0 {
            return Ok((cookie, Err(error)));
        }
        let mut data = vec![0; size];
        self.stream.read_exact(&mut data)?;
        Ok((cookie, Ok(data)))
    }

    /// Has one request answered; nothing else is under way.
    pub fn ask(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> Reply {
        self.send(flags, kind, 0, offset, length, data).expect("it listens");
        self.hear().expect("an answer").1
    }
}

/// The state of a range of bytes: how many, and whether they are a hole.
pub type Extent = (u32, bool);

/// A connection that has negotiated what newer clients do: structured replies, and the state of ranges.
pub struct Modern {
    stream: UnixStream,
    /// Flags of the export.
    pub flags: u16,
}

/// Of `Modern::flags`: writes are refused.
pub const READ_ONLY: u16 = 1 << 1;
/// Of `Modern::flags`: a write of zeros may ask to be fast.
pub const SEND_FAST_ZERO: u16 = 1 << 11;
/// A write of zeros that is to fail rather than to be slow.
pub const FAST_ZERO: u16 = 1 << 4;
/// That it would be slow.
pub const NOT_SUPPORTED: u32 = 95;

impl Modern {
    pub fn connect(served: &Served) -> Self {
        let mut stream = UnixStream::connect(served.file("nbd.sock")).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        stream.read_exact(&mut [0; 18]).expect("a greeting");
        stream.write_all(&3u32.to_be_bytes()).expect("it listens");
        let mut modern = Self { stream, flags: 0 };
        modern.option(8, &[]);
        let name = b"base:allocation";
        let context = [&[0u8; 4][..], &1u32.to_be_bytes(), &(name.len() as u32).to_be_bytes(), name].concat();
        modern.option(10, &context);
        let export = modern.option(7, &[0; 6]).into_iter().find(|info| info.len() == 12).expect("size and flags");
        modern.flags = u16::from_be_bytes([export[10], export[11]]);
        modern
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).expect("an answer");
        bytes
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.bytes(bytes).into_iter().fold(0, |number, byte| number << 8 | u64::from(byte))
    }

    /// Sends an option; what it is told before the acknowledgement.
    fn option(&mut self, number: u32, data: &[u8]) -> Vec<Vec<u8>> {
        let head = [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat();
        self.stream.write_all(&head).expect("it listens");
        let mut told = Vec::new();
        loop {
            let (_, kind, length) = (self.bytes(12), self.number(4), self.number(4));
            assert!(kind < 1 << 31, "option {number} is refused");
            let data = self.bytes(length as usize);
            if kind == 1 {
                return told;
            }
            told.push(data);
        }
    }

    /// Has a request answered that brings nothing back.
    pub fn ask(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> Result<(), u32> {
        self.stream.write_all(&[&request(flags, kind, 1, offset, length), data].concat()).expect("it listens");
        let (_, error, _) = (self.number(4), self.number(4), self.number(8));
        if error == 0 { Ok(()) } else { Err(error as u32) }
    }

    /// The state of a range.
    pub fn extents(&mut self, offset: u64, length: u32) -> Result<Vec<Extent>, u32> {
        self.stream.write_all(&request(0, 7, 1, offset, length)).expect("it listens");
        assert_eq!(self.number(4), 0x668e_33ef, "a structured reply");
        let (_, kind, _, size) = (self.number(2), self.number(2), self.number(8), self.number(4));
        if kind != 5 {
            let error = self.number(4) as u32;
            self.bytes(size as usize - 4);
            return Err(error);
        }
        let (_, count) = (self.number(4), (size - 4) / 8);
        Ok((0..count).map(|_| (self.number(4) as u32, self.number(4) & 1 == 1)).collect())
    }
}
