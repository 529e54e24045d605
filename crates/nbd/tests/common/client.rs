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

/// What came of a request: bytes of a read, none of others, or a number of an error.
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

impl Client {
    pub fn connect(served: &Served) -> Self {
        let stream = super::handshake(&served.file("nbd.sock"), Duration::from_secs(60));
        Self { stream, reads: BTreeMap::new() }
    }

    /// Sends a request of so many bytes; `data` are those of a write.
    pub fn send(
        &mut self,
        (flags, kind): (u16, u16),
        cookie: u64,
        (offset, length): (u64, u32),
        data: &[u8],
    ) -> std::io::Result<()> {
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
    pub fn ask(&mut self, kind: (u16, u16), range: (u64, u32), data: &[u8]) -> Reply {
        self.send(kind, 0, range, data).expect("it listens");
        self.hear().expect("an answer").1
    }
}
