//! The files of a drive in memory, with everything that becomes of them: processes that die in the middle of a write, and machines
//! that fail and keep of what was not synced whatever they like.

use super::ssd::{DriveFiles, Store};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use vocab::Stream;

/// Bytes of the parts that a machine keeps or loses, the smaller of which may be torn at any byte.
const SECTORS: [usize; 2] = [512, 4096];

#[derive(Clone, Default)]
struct Inner {
    /// Bytes of the image and of the memory's file that the operating system has.
    now: [Vec<u8>; 2],
    /// Synced bytes.
    durable: [Vec<u8>; 2],
    /// Writes that were not, in order.
    pending: Vec<(usize, u64, Vec<u8>)>,
    /// Bytes that the process may still write before it dies; `None`: as many as it likes.
    left: Option<usize>,
    syncs: u64,
    writes: u64,
    /// States of the machine at syncs, and how much the host had been told by then.
    moments: Option<Vec<Moment>>,
}

/// Files that a machine that fails at some instant may leave.
#[derive(Clone)]
pub struct Moment {
    durable: [Vec<u8>; 2],
    pending: Vec<(usize, u64, Vec<u8>)>,
    sizes: [usize; 2],
}

/// Both files.
#[derive(Clone, Default)]
pub struct World(Arc<Mutex<Inner>>);

struct File(World, usize);

impl World {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("one thread")
    }

    /// With these bytes, all of them durable.
    pub fn of(bytes: [Vec<u8>; 2]) -> Self {
        Self(Arc::new(Mutex::new(Inner { now: bytes.clone(), durable: bytes, ..Inner::default() })))
    }

    pub fn files(&self) -> DriveFiles {
        DriveFiles { image: Box::new(File(self.clone(), 0)), memory: Box::new(File(self.clone(), 1)) }
    }

    /// Bytes that the operating system has.
    pub fn bytes(&self) -> [Vec<u8>; 2] {
        self.inner().now.clone()
    }

    /// The process dies once it has written this many bytes more.
    pub fn die_after(&self, bytes: usize) {
        self.inner().left = Some(bytes);
    }

    pub fn is_dead(&self) -> bool {
        self.inner().left == Some(0)
    }

    /// Another process has the files.
    pub fn revive(&self) {
        self.inner().left = None;
    }

    /// Writes and syncs so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.inner().writes, self.inner().syncs)
    }

    /// Files that the machine may leave if it fails now.
    pub fn moment(&self) -> Moment {
        let inner = self.inner();
        Moment { durable: inner.durable.clone(), pending: inner.pending.clone(), sizes: [0, 1].map(|file| inner.now[file].len()) }
    }

    /// From now on remembers what the machine may leave just before each sync and just behind it.
    pub fn watch_syncs(&self) {
        self.inner().moments = Some(Vec::new());
    }

    /// These moments since this was last asked.
    pub fn take_moments(&self) -> Vec<Moment> {
        self.inner().moments.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl Moment {
    /// Bytes that may be lost.
    pub fn unsynced(&self) -> usize {
        self.pending.iter().map(|(_, _, bytes)| bytes.len()).sum()
    }

    /// One of the states that the machine may leave: of what was not synced any part is there, sector by sector, and a sector may
    /// be torn.
    pub fn fail(&self, draws: &mut Stream) -> World {
        let mut bytes = self.durable.clone();
        for (bytes, &size) in bytes.iter_mut().zip(&self.sizes) {
            // The size may have become durable, or not.
            if draws.chance(0.5) {
                bytes.resize(size.max(bytes.len()), 0);
            }
        }
        let (sector, chance) = (SECTORS[draws.below(2) as usize], [0.0, 0.1, 0.5, 0.9, 1.0][draws.below(5) as usize]);
        let mut order: Vec<usize> = (0..self.pending.len()).collect();
        // Within a sector that is written twice either may be the last to get there, in part.
        if draws.chance(0.3) {
            (1..order.len()).rev().for_each(|i| order.swap(i, draws.below(i as u64 + 1) as usize));
        }
        for (file, offset, written) in order.into_iter().map(|index| &self.pending[index]) {
            let mut from = 0;
            while from < written.len() {
                let at = *offset as usize + from;
                let to = (from + sector - at % sector).min(written.len());
                if draws.chance(chance) {
                    let kept = if draws.chance(0.05) { from + draws.below((to - from) as u64) as usize } else { to };
                    let end = *offset as usize + kept;
                    if bytes[*file].len() < end {
                        bytes[*file].resize(end, 0);
                    }
                    bytes[*file][at..end].copy_from_slice(&written[from..kept]);
                }
                from = to;
            }
        }
        World::of(bytes)
    }
}

impl Store for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let inner = self.0.inner();
        let found = inner.now[self.1].get(offset as usize..).and_then(|found| found.get(..bytes.len()));
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut inner = self.0.inner();
        let taken = inner.left.map_or(bytes.len(), |left| left.min(bytes.len()));
        if let Some(left) = &mut inner.left {
            *left -= taken;
        }
        let end = offset as usize + taken;
        let now = &mut inner.now[self.1];
        if taken > 0 && now.len() < end {
            now.resize(end, 0);
        }
        if taken > 0 {
            now[offset as usize..end].copy_from_slice(&bytes[..taken]);
            inner.pending.push((self.1, offset, bytes[..taken].to_vec()));
            inner.writes += 1;
        }
        // A process that is dead does not hear of it.
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let moment = self.0.moment();
        let mut inner = self.0.inner();
        if inner.left == Some(0) {
            return Ok(());
        }
        inner.syncs += 1;
        let (synced, others) = std::mem::take(&mut inner.pending).into_iter().partition(|(file, _, _)| *file == self.1);
        let _: &Vec<_> = &synced;
        inner.pending = others;
        inner.durable[self.1] = inner.now[self.1].clone();
        drop(inner);
        let behind = self.0.moment();
        if let Some(moments) = &mut self.0.inner().moments {
            moments.extend([moment, behind]);
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.inner().now[self.1].len() as u64)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.inner().now[self.1].resize(size as usize, 0);
        Ok(())
    }
}
