//! Large tables that are read at random.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A zeroed table of fixed length, on huge pages where the system has them: a map of millions
/// of entries is read at random, and with ordinary pages each read misses the TLB as well as
/// the caches (measured: half of the simulator's time). A small table is ordinary memory: it costs
/// more to map it than to use it.
pub struct Table<T> {
    /// The first entry: reads and writes go through this pointer and nothing else.
    entries: NonNull<T>,
    length: usize,
    /// The mapping that holds a large table; a small one is a box that was turned into the pointer.
    mapped: Option<MmapMut>,
}

// SAFETY: a table owns its entries, as a box does.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: as above; shared references to a table only read.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Sync for Table<T> {}

/// The size of a huge page, in bytes.
const HUGE_PAGE: usize = 2 << 20;

impl<T: Pod> Table<T> {
    /// A table of `length` zeros. Memory is taken as it is first touched.
    ///
    /// # Panics
    /// If the system has no address space left.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        let bytes = length * size_of::<T>();
        if bytes < HUGE_PAGE {
            let entries = Box::into_raw(bytemuck::zeroed_slice_box::<T>(length)).cast();
            return Self { entries: NonNull::new(entries).expect("a box has an address"), length, mapped: None };
        }
        let mut map = MmapMut::map_anon(bytes).expect("address space for a table");
        // Refused where huge pages are switched off: then it is an ordinary table.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let entries = bytemuck::cast_slice_mut::<u8, T>(&mut map).as_mut_ptr();
        Self { entries: NonNull::new(entries).expect("a mapping has an address"), length, mapped: Some(map) }
    }

    /// A table of `length` times `value`.
    #[must_use]
    pub fn filled(length: usize, value: T) -> Self {
        let mut table = Self::zeroed(length);
        table.fill(value);
        table
    }
}

impl<T: Pod> Table<T> {
    /// Starts to bring an entry into the cache. Changes nothing but speed; any index is fine.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        if let Some(entry) = self.get(index) {
            prefetch(entry);
        }
    }
}

/// Starts to bring the first bytes of something into the cache. Changes nothing but speed.
#[inline(always)]
pub fn prefetch<T>(entry: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults and writes nothing; the address is of a live object.
        #[allow(unsafe_code, unused_unsafe)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}

impl<T: Pod> Deref for Table<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the pointer is of `length` initialised entries that this table owns.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.entries.as_ptr(), self.length)
        }
    }
}

impl<T: Pod> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the table is borrowed for writing.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.entries.as_ptr(), self.length)
        }
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        if self.mapped.is_none() {
            let entries = std::ptr::slice_from_raw_parts_mut(self.entries.as_ptr(), self.length);
            // SAFETY: the pointer came from a box of this length, which no one else has.
            #[allow(unsafe_code)]
            drop(unsafe { Box::from_raw(entries) });
        }
    }
}

impl<T: Pod> Clone for Table<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.length);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Pod> Default for Table<T> {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table of {}", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_table_holds_what_was_put_in_and_a_copy_is_its_own() {
        let mut table = Table::<u32>::filled(3_000_000, 7);
        let copy = table.clone();
        table[2_999_999] = 1;
        assert_eq!((table.len(), table[2_999_999], copy[2_999_999], copy[0]), (3_000_000, 1, 7, 7));
        let mut small = Table::<u32>::filled(3, 7);
        let copy = small.clone();
        small[2] = 1;
        assert_eq!((&small[..], &copy[..]), (&[7, 7, 1][..], &[7, 7, 7][..]));
        assert!(Table::<u64>::zeroed(0).is_empty());
    }
}
