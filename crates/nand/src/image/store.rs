//! Where the bytes of an image are: in a file, or in anything else that reads and writes at offsets; and a layer over it that
//! keeps what is written until someone has logged it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};

/// Zeros that are written at once.
const ZEROS_AT_ONCE: u64 = 1 << 20;

/// Bytes with offsets, which someone else may lose: a file, or what a test has in its place.
pub trait Store: Send + Sync {
    /// Reads all of `bytes`.
    ///
    /// # Errors
    /// As of a file.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes`, in ascending order.
    ///
    /// # Errors
    /// As of a file. Some of them may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes durable what was written, and the size.
    ///
    /// # Errors
    /// As of a file.
    fn sync(&self) -> io::Result<()>;
    /// How many bytes there are.
    ///
    /// # Errors
    /// As of a file.
    fn size(&self) -> io::Result<u64>;
    /// There are this many bytes from now on; new ones are zeros.
    ///
    /// # Errors
    /// As of a file.
    fn set_size(&self, size: u64) -> io::Result<()>;
    /// Writes this many zeros, in ascending order.
    ///
    /// # Errors
    /// As of a file. Some of them may have been written.
    fn zero_at(&self, offset: u64, length: u64) -> io::Result<()> {
        let zeros = vec![0; length.min(ZEROS_AT_ONCE) as usize];
        let mut at = offset;
        while at < offset + length {
            let part = (offset + length - at).min(ZEROS_AT_ONCE);
            self.write_at(&zeros[..part as usize], at)?;
            at += part;
        }
        Ok(())
    }
    /// Whether each write is there as a whole or not at all when the process dies.
    fn writes_are_atomic(&self) -> bool {
        false
    }
}

impl Store for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
}

impl Store for Box<dyn Store> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        (**self).write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        (**self).sync()
    }

    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        (**self).set_size(size)
    }

    fn zero_at(&self, offset: u64, length: u64) -> io::Result<()> {
        (**self).zero_at(offset, length)
    }

    fn writes_are_atomic(&self) -> bool {
        (**self).writes_are_atomic()
    }
}

/// Bytes that were written somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This many zeros.
    Zeros(u64),
    /// These bytes.
    Bytes(Arc<[u8]>),
}

impl Piece {
    /// How many bytes it is.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Zeros(length) => *length,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

/// A part of a piece.
#[derive(Clone, Debug)]
struct Part {
    piece: Piece,
    /// Where in the piece it begins.
    from: u64,
    length: u64,
}

impl Part {
    /// Copies bytes of it, from `skip` on.
    fn copy(&self, skip: u64, to: &mut [u8]) {
        match &self.piece {
            Piece::Zeros(_) => to.fill(0),
            Piece::Bytes(bytes) => to.copy_from_slice(&bytes[(self.from + skip) as usize..][..to.len()]),
        }
    }
}

/// Parts that do not overlap, by where they begin.
#[derive(Debug, Default)]
struct Parts(BTreeMap<u64, Part>);

impl Parts {
    /// Puts a piece; the last written one counts.
    fn put(&mut self, offset: u64, piece: Piece) {
        let (length, end) = (piece.length(), offset + piece.length());
        if length == 0 {
            return;
        }
        if let Some((&start, part)) = self.0.range_mut(..offset).next_back()
            && start + part.length > offset
        {
            let whole = part.clone();
            part.length = offset - start;
            self.put_rest(start, whole, end);
        }
        let covered: Vec<u64> = self.0.range(offset..end).map(|(&start, _)| start).collect();
        for start in covered {
            let part = self.0.remove(&start).expect("listed above");
            self.put_rest(start, part, end);
        }
        self.0.insert(offset, Part { piece, from: 0, length });
    }

    /// Keeps the rest of a part behind `end`.
    fn put_rest(&mut self, start: u64, part: Part, end: u64) {
        if start + part.length > end {
            let cut = end - start;
            self.0.insert(end, Part { from: part.from + cut, length: part.length - cut, piece: part.piece });
        }
    }

    /// Parts that have any of these bytes.
    fn within(&self, offset: u64, end: u64) -> impl Iterator<Item = (u64, &Part)> {
        let before = self.0.range(..offset).next_back().filter(|(start, part)| **start + part.length > offset);
        before.into_iter().chain(self.0.range(offset..end)).map(|(start, part)| (*start, part))
    }
}

/// A store under a log. Writes are kept in memory, and reads find them there, until [`Self::apply`] brings them to the store. The caller
/// takes the writes ([`Self::take_written`]) and appends them to its log first, so that each log record survives as a whole or not at all.
pub struct Logged<S> {
    under: S,
    /// Before that, what is written goes through.
    started: AtomicBool,
    log: Mutex<Log>,
}

/// Contents of a log.
#[derive(Default)]
struct Log {
    parts: Parts,
    written: Vec<(u64, Piece)>,
    /// Bytes of what was written and not taken.
    untaken: u64,
}

impl Log {
    fn keep(&mut self, offset: u64, piece: Piece) {
        self.untaken += piece.length().min(ZEROS_AT_ONCE);
        self.written.push((offset, piece.clone()));
        self.parts.put(offset, piece);
    }
}

impl<S> fmt::Debug for Logged<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logged").field("parts", &self.log().parts.0.len()).finish_non_exhaustive()
    }
}

impl<S> Logged<S> {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("no one panics while holding it")
    }
}

impl<S: Store> Logged<S> {
    /// A log over the store; writes go to the store until [`Self::start`].
    pub fn new(under: S) -> Self {
        Self { under, started: AtomicBool::new(false), log: Mutex::default() }
    }

    /// From now on what is written stays here.
    pub fn start(&self) {
        self.started.store(true, Relaxed);
    }

    /// Takes the writes since the last call, in order.
    pub fn take_written(&self) -> Vec<(u64, Piece)> {
        let mut log = self.log();
        log.untaken = 0;
        std::mem::take(&mut log.written)
    }

    /// Bytes of what was written and not taken.
    pub fn untaken(&self) -> u64 {
        self.log().untaken
    }

    /// A log says that this was written, before anything that comes now.
    pub fn replay(&self, offset: u64, piece: Piece) {
        self.log().parts.put(offset, piece);
    }

    /// Writes everything to the store. All of it must have been taken, and be in the log.
    ///
    /// # Errors
    /// As of the store. Then it is still kept here.
    pub fn apply(&self) -> io::Result<()> {
        let mut log = self.log();
        assert!(log.written.is_empty(), "what was written is in the log");
        for (&offset, part) in &log.parts.0 {
            match &part.piece {
                Piece::Zeros(_) => self.under.zero_at(offset, part.length)?,
                Piece::Bytes(bytes) => {
                    self.under.write_at(&bytes[part.from as usize..(part.from + part.length) as usize], offset)?;
                }
            }
        }
        log.parts.0.clear();
        Ok(())
    }

    /// The store below.
    pub fn under(&self) -> &S {
        &self.under
    }

    /// The store below; everything that is kept here is forgotten.
    pub fn into_under(self) -> S {
        self.under
    }
}

impl<S: Store> Store for Logged<S> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let (log, end) = (self.log(), offset + bytes.len() as u64);
        if let Some((start, part)) = log.parts.within(offset, end).next()
            && start <= offset
            && start + part.length >= end
        {
            part.copy(offset - start, bytes);
            return Ok(());
        }
        self.under.read_at(bytes, offset)?;
        for (start, part) in log.parts.within(offset, end) {
            let (from, to) = (start.max(offset), (start + part.length).min(end));
            part.copy(from - start, &mut bytes[(from - offset) as usize..(to - offset) as usize]);
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if !self.writes_are_atomic() {
            return self.under.write_at(bytes, offset);
        }
        self.log().keep(offset, Piece::Bytes(bytes.into()));
        Ok(())
    }

    fn zero_at(&self, offset: u64, length: u64) -> io::Result<()> {
        if !self.writes_are_atomic() {
            return self.under.zero_at(offset, length);
        }
        self.log().keep(offset, Piece::Zeros(length));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.under.sync()
    }

    fn size(&self) -> io::Result<u64> {
        self.under.size()
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.under.set_size(size)
    }

    fn writes_are_atomic(&self) -> bool {
        self.started.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use vocab::Streams;

    /// Bytes in memory.
    struct Bytes(Mutex<Vec<u8>>);

    impl Store for Bytes {
        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            bytes.copy_from_slice(&self.0.lock().expect("one thread")[offset as usize..][..bytes.len()]);
            Ok(())
        }

        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
            self.0.lock().expect("one thread")[offset as usize..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn size(&self) -> io::Result<u64> {
            Ok(self.0.lock().expect("one thread").len() as u64)
        }

        fn set_size(&self, size: u64) -> io::Result<()> {
            self.0.lock().expect("one thread").resize(size as usize, 0);
            Ok(())
        }
    }

    /// Against a plain array. Catches parts that are cut at the wrong byte, and older bytes that count.
    #[test]
    fn what_was_written_last_is_read_and_applied() {
        const SIZE: u64 = 200;
        let first: Vec<u8> = (0..SIZE as u8).collect();
        let logged = Logged::new(Bytes(Mutex::new(first.clone())));
        logged.start();
        let (mut model, mut draws) = (first.clone(), Streams::new(1).stream("test/logged"));
        for step in 0..5000u64 {
            let from = draws.below(SIZE);
            let length = 1 + draws.below((SIZE - from).min(60));
            let range = from as usize..(from + length) as usize;
            match draws.below(4) {
                0 => {
                    logged.zero_at(from, length).unwrap();
                    model[range].fill(0);
                }
                1 => {
                    let bytes: Vec<u8> = (0..length).map(|_| draws.bits() as u8).collect();
                    logged.write_at(&bytes, from).unwrap();
                    model[range].copy_from_slice(&bytes);
                }
                _ => {
                    let mut bytes = vec![0; length as usize];
                    logged.read_at(&mut bytes, from).unwrap();
                    assert_eq!(bytes, model[range], "step {step}");
                }
            }
            if step == 600 {
                assert_eq!(*logged.under.0.lock().unwrap(), first, "nothing is below before it is applied");
            }
            if step % 700 == 699 {
                let copy = Logged::new(Bytes(Mutex::new(logged.under.0.lock().unwrap().clone())));
                copy.start();
                logged.take_written().into_iter().for_each(|(offset, piece)| copy.replay(offset, piece));
                copy.apply().unwrap();
                logged.apply().unwrap();
                assert_eq!(*logged.under.0.lock().unwrap(), model);
                assert_eq!(*copy.under.0.lock().unwrap(), model, "replayed");
            }
        }
    }
}
