//! Bytes that several hold.

use crate::Table;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that several hold, as an `Arc<[u8]>` does it; but the count of holders is not in front of the bytes. Counts of all pages
/// of one size lie side by side, sixteen in a line of the cache, so that to share a page, or to give it up, misses no cache where
/// the bytes themselves are not looked at. Pages that were given up are handed out again; the system is asked for memory of many
/// pages at once.
pub struct SharedBytes(Place);

/// Where the bytes of a page are. Whoever has one knows that the chunk is there: the page is held, or a spare.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    chunk: NonNull<Chunk>,
    index: u32,
}

/// Memory for some pages of one size.
struct Chunk {
    /// How many hold the page at each place; of a free one, the next free place of the chunk.
    counts: Box<[AtomicU32]>,
    /// The first byte of `memory`: pages are reached through this pointer and nothing else.
    first: NonNull<u8>,
    /// From one page to the next, in bytes.
    stride: usize,
    /// Bytes of a page.
    length: usize,
    /// Which chunk of its size it is; `None`: it has one page, and goes with it.
    at: Option<usize>,
    _memory: Table<u8>,
}

// SAFETY: a holder only reads, unless it is the only one; counts are atomic, and all else of a chunk never changes.
#[allow(unsafe_code)]
unsafe impl Send for Place {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Place {}

impl Place {
    #[inline]
    fn chunk(&self) -> &Chunk {
        // SAFETY: a chunk is there while someone has a place of it.
        #[allow(unsafe_code)]
        unsafe {
            self.chunk.as_ref()
        }
    }

    #[inline]
    fn count(&self) -> &AtomicU32 {
        &self.chunk().counts[self.index as usize]
    }

    #[inline]
    fn first(&self) -> *mut u8 {
        let chunk = self.chunk();
        chunk.first.as_ptr().wrapping_add(self.index as usize * chunk.stride)
    }
}

/// Chunks with pages of one size.
#[derive(Default)]
struct Pool {
    rooms: Vec<Option<Room>>,
    /// Those that have free pages. The last one is used first.
    with_room: Vec<usize>,
    /// Places in the largest chunk so far.
    largest: u32,
}

/// Free room in a chunk.
struct Room {
    chunk: Owned,
    /// The free page that is handed out next; [`NONE`].
    free: u32,
    used: u32,
}

/// A chunk, which ends when this is dropped: then no one has a page of it.
struct Owned(NonNull<Chunk>);

// SAFETY: it owns the chunk, of which all parts may change their thread.
#[allow(unsafe_code)]
unsafe impl Send for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and no one has a page of it any more.
        #[allow(unsafe_code)]
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// No free page.
const NONE: u32 = u32::MAX;

/// Places in the first chunk of a pool; each further one has twice as many, up to [`CHUNK_MAX`].
const PLACES_FIRST: u32 = 8;

/// Bytes of the largest chunks: several huge pages.
const CHUNK_MAX: usize = 8 << 20;

/// Longer ones have memory of their own: they are requests of clients, of any size.
const POOLED_MAX: usize = 16 << 10;

/// Pages begin where lines of the cache do.
const LINE: usize = 64;

/// Pages that a thread takes from a pool, or gives back, at once, if they are small: threads ask the pool for few of their pages. It
/// keeps twice as many at most.
const AT_ONCE: usize = 16;

/// Bytes that a thread takes or gives back at once, at most.
const BYTES_AT_ONCE: usize = 64 << 10;

/// Pages of this many bytes that a thread takes or gives back at once.
fn at_once(length: usize) -> usize {
    (BYTES_AT_ONCE / length).clamp(1, AT_ONCE)
}

/// Pools by the size of their pages. A drive has one size.
static POOLS: Mutex<BTreeMap<usize, Pool>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Spare chunks of this thread.
    static SPARES: RefCell<Spares> = const { RefCell::new(Spares(Vec::new())) };
}

/// Pages at hand, by their size.
struct Spares(Vec<(usize, Vec<Place>)>);

impl Drop for Spares {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|(length, spares)| Pool::give_back(length, spares));
    }
}

impl Spares {
    fn of(&mut self, length: usize) -> &mut Vec<Place> {
        let known = self.0.iter().position(|(size, _)| *size == length);
        let at = known.unwrap_or_else(|| {
            self.0.push((length, Vec::with_capacity(2 * at_once(length))));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    fn take(&mut self, length: usize) -> Place {
        let spares = self.of(length);
        if spares.is_empty() {
            let mut pools = pools();
            let pool = pools.entry(length).or_default();
            spares.extend((0..at_once(length)).map(|_| pool.take(length)));
        }
        spares.pop().expect("some were taken")
    }

    fn put(&mut self, length: usize, spare: Place) {
        let spares = self.of(length);
        if spares.len() == 2 * at_once(length) {
            Pool::give_back(length, spares.drain(..at_once(length)));
        }
        spares.push(spare);
    }
}

impl Chunk {
    fn new(length: usize, places: u32, at: Option<usize>) -> NonNull<Self> {
        let stride = length.next_multiple_of(LINE);
        let mut memory = Table::zeroed(stride * places as usize);
        let first = NonNull::new(memory.as_mut_ptr()).expect("memory has an address");
        let counts = (1..=places).map(|next| AtomicU32::new(if next == places { NONE } else { next })).collect();
        NonNull::from(Box::leak(Box::new(Self { counts, first, stride, length, at, _memory: memory })))
    }
}

fn pools() -> MutexGuard<'static, BTreeMap<usize, Pool>> {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn take(&mut self, length: usize) -> Place {
        if self.with_room.is_empty() {
            self.grow(length);
        }
        let at = *self.with_room.last().expect("a chunk has room");
        let room = self.rooms[at].as_mut().expect("chunks with room are there");
        let place = Place { chunk: room.chunk.0, index: room.free };
        room.free = place.count().load(Ordering::Relaxed);
        room.used += 1;
        if room.free == NONE {
            self.with_room.pop();
        }
        place
    }

    fn grow(&mut self, length: usize) {
        let most = (CHUNK_MAX / length.next_multiple_of(LINE)) as u32;
        self.largest = (self.largest * 2).clamp(PLACES_FIRST, most);
        let vacant = self.rooms.iter().position(Option::is_none);
        let at = vacant.unwrap_or(self.rooms.len());
        let room = Some(Room { chunk: Owned(Chunk::new(length, self.largest, Some(at))), free: 0, used: 0 });
        match self.rooms.get_mut(at) {
            Some(vacant) => *vacant = room,
            None => self.rooms.push(room),
        }
        self.with_room.push(at);
    }

    fn give_back(length: usize, spares: impl IntoIterator<Item = Place>) {
        let mut pools = pools();
        let pool = pools.entry(length).or_default();
        spares.into_iter().for_each(|spare| pool.put(spare));
    }

    /// Takes a page back.
    fn put(&mut self, spare: Place) {
        let at = spare.chunk().at.expect("it is of a pool");
        let room = self.rooms[at].as_mut().expect("a chunk with a page");
        let was_full = room.free == NONE;
        spare.count().store(room.free, Ordering::Relaxed);
        room.free = spare.index;
        room.used -= 1;
        let is_empty = room.used == 0;
        if was_full {
            self.with_room.push(at);
        }
        // One that is empty is kept for what comes.
        if is_empty && self.with_room.len() > 1 {
            self.with_room.retain(|&other| other != at);
            self.rooms[at] = None;
        }
    }
}

impl SharedBytes {
    /// This many bytes, which `fill` is to write: some have been those of another page.
    ///
    /// # Panics
    /// If the system has no memory left.
    #[must_use]
    pub fn filled(length: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        let is_pooled = (1..=POOLED_MAX).contains(&length);
        // A thread that ends has nothing at hand any more.
        let spare = is_pooled.then(|| SPARES.try_with(|spares| spares.borrow_mut().take(length)).ok()).flatten();
        let place = spare.unwrap_or_else(|| Place { chunk: Chunk::new(length, 1, None), index: 0 });
        let mut new = Self(place);
        place.count().store(1, Ordering::Relaxed);
        fill(new.get_mut().expect("no one else has it"));
        new
    }

    /// How many hold the bytes, this one included. Others may share them, or give them up, at any time.
    #[inline]
    #[must_use]
    pub fn holders(&self) -> u32 {
        // The other holders' use of the bytes has ended.
        self.0.count().load(Ordering::Acquire)
    }

    /// The bytes, to be changed, where no one else holds them.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut [u8]> {
        if self.holders() != 1 {
            return None;
        }
        // SAFETY: the memory is of `length` bytes, and the only holder is borrowed for writing.
        #[allow(unsafe_code)]
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.first(), self.0.chunk().length) })
    }

    /// The bytes, to be changed: a copy where others hold them.
    pub fn make_mut(&mut self) -> &mut [u8] {
        if self.get_mut().is_none() {
            *self = Self::from(&**self);
        }
        self.get_mut().expect("no one else has the copy")
    }

    /// Whether both are the same bytes in memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Deref for SharedBytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory is of `length` bytes, and only who holds them alone, and is borrowed for writing, writes.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.0.first(), self.0.chunk().length)
        }
    }
}

impl Clone for SharedBytes {
    #[inline]
    fn clone(&self) -> Self {
        // No one who has a holder can lose it in the meantime.
        let before = self.0.count().fetch_add(1, Ordering::Relaxed);
        assert!(before < u32::MAX / 2, "a page has too many holders");
        Self(self.0)
    }
}

impl Drop for SharedBytes {
    #[inline]
    fn drop(&mut self) {
        // This holder's use of the bytes ends before the last one frees them.
        if self.0.count().fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        fence(Ordering::Acquire);
        let Chunk { at, length, .. } = *self.0.chunk();
        if at.is_none() {
            return drop(Owned(self.0.chunk));
        }
        if SPARES.try_with(|spares| spares.borrow_mut().put(length, self.0)).is_err() {
            Pool::give_back(length, [self.0]);
        }
    }
}

impl From<&[u8]> for SharedBytes {
    fn from(bytes: &[u8]) -> Self {
        Self::filled(bytes.len(), |new| new.copy_from_slice(bytes))
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(&*bytes)
    }
}

impl<const N: usize> From<[u8; N]> for SharedBytes {
    fn from(bytes: [u8; N]) -> Self {
        Self::from(&bytes[..])
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl Eq for SharedBytes {}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::sync::Arc;

    /// Against `Arc<[u8]>`: takes, shares, changes, gives up, at random. Catches a page that two hold without knowing of each other,
    /// and a place that is handed out twice.
    #[test]
    fn it_is_as_an_arc() {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut held: Vec<(SharedBytes, Arc<[u8]>)> = Vec::new();
        for step in 0..40_000_u32 {
            let at = draws.next_u32() as usize % held.len().max(1);
            match draws.next_u32() % 8 {
                _ if held.is_empty() => held.push((SharedBytes::from(vec![1; 100]), vec![1; 100].into())),
                0..3 => {
                    let length = [0, 1, 64, 100, POOLED_MAX, POOLED_MAX + 1][draws.next_u32() as usize % 6];
                    let bytes = vec![step as u8; length];
                    held.push((bytes.clone().into(), bytes.into()));
                }
                3 => held.push(held[at].clone()),
                4 => {
                    let (mine, other) = &mut held[at];
                    assert_eq!(mine.get_mut().is_some(), Arc::get_mut(other).is_some());
                    mine.make_mut().iter_mut().for_each(|byte| *byte ^= step as u8);
                    Arc::make_mut(other).iter_mut().for_each(|byte| *byte ^= step as u8);
                }
                _ => drop(held.swap_remove(at)),
            }
            if let Some((mine, other)) = held.get(at) {
                assert_eq!((&**mine, mine.holders() as usize), (&**other, Arc::strong_count(other)), "step {step}");
            }
        }
        assert!(held.iter().all(|(mine, other)| **mine == **other));
    }

    fn chunks(length: usize) -> usize {
        pools().get(&length).map_or(0, |pool| pool.rooms.iter().flatten().count())
    }

    /// Catches a drive that is gone and leaves its memory behind, and memory that is asked for again with each page.
    #[test]
    fn memory_is_given_back_but_for_what_is_at_hand() {
        const LENGTH: usize = 4096;
        let pages: Vec<_> = (0..10_000_u32).map(|page| SharedBytes::from([page as u8; LENGTH])).collect();
        // 8, 16, 32, ... 1024, 2048 places and as many again and again.
        assert_eq!(chunks(LENGTH), 8 + 4);
        drop(pages);
        let left = chunks(LENGTH);
        assert!((1..=2 * AT_ONCE).contains(&left), "{left}");
        (0..10_000_u32).for_each(|page| assert_eq!(SharedBytes::from([page as u8; LENGTH])[LENGTH - 1], page as u8));
        assert_eq!(chunks(LENGTH), left);
    }

    /// Catches spares that are counted where their bytes matter: clients ask in many sizes, on many threads.
    #[test]
    fn a_thread_keeps_few_bytes_at_hand() {
        drop((0..100_u8).map(|page| SharedBytes::from([page; POOLED_MAX])).collect::<Vec<_>>());
        let kept = SPARES.with_borrow_mut(|spares| spares.of(POOLED_MAX).len());
        assert!((1..=2 * BYTES_AT_ONCE / POOLED_MAX).contains(&kept), "{kept}");
    }

    /// Pages outlive the thread that made them, and go wherever they are dropped. Catches a page that is lost with a thread, and one
    /// that two threads hold without knowing of each other.
    #[test]
    fn threads_share_pages() {
        const LENGTH: usize = 500;
        let make = |from: u8| (0..1000).map(|page| SharedBytes::from([from ^ page as u8; LENGTH])).collect::<Vec<_>>();
        let sum = |pages: &[SharedBytes]| pages.iter().map(|page| u64::from(page[LENGTH - 1])).sum::<u64>();
        let theirs = std::thread::spawn(move || make(1)).join().expect("it makes pages");
        let wanted = sum(&theirs);
        let threads = (0..4).map(|thread| {
            let mine = theirs.clone();
            std::thread::spawn(move || {
                for _ in 0..100 {
                    let new = make(thread);
                    assert_eq!(sum(&mine.clone()), wanted);
                    assert!(new.iter().zip(0..).all(|(page, at)| page.iter().all(|&byte| byte == thread ^ at as u8)));
                }
            })
        });
        // A thread frees its spare chunks before it is joined.
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("it finds what it made"));
        assert!(theirs.iter().all(|page| page.holders() == 1));
        drop(theirs);
        // This thread has its spares still, the others gave all back.
        let used = pools()[&LENGTH].rooms.iter().flatten().map(|room| room.used as usize).sum::<usize>();
        assert!(used <= 2 * AT_ONCE, "{used}");
    }
}
