//! Addresses. Each is a newtype over the smallest integer that holds it; `Geometry` alone
//! converts between physical forms.

use std::fmt;

/// Bytes of one host sector: LBAs count these, whatever the drive's page size.
pub const SECTOR_BYTES: u64 = 512;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident($repr:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            /// The address as an array index.
            #[inline(always)]
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The address of array index `index`; panics where it does not fit.
            #[inline(always)]
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                debug_assert!(index as u64 <= <$repr>::MAX as u64);
                Self(index as $repr)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
    };
}

address!(
    /// Host address unit: one 512-byte sector.
    Lba(u64), "lba"
);
address!(
    /// Logical page: host data of one slot.
    Lpn(u32), "lpn"
);
address!(
    /// Physical page: the unit of program, numbered block by block.
    Ppn(u32), "ppn"
);
address!(
    /// Place of one logical page in flash: `ppn * slots_per_page + i` (decision D6).
    Slot(u32), "slot"
);
address!(
    /// A die: executes one command at a time (the papers' bank or chip).
    DieId(u16), "die"
);
address!(
    /// A channel: the bus that several dies share.
    ChannelId(u16), "channel"
);
address!(
    /// A block, the unit of erase, numbered die by die over the whole drive.
    BlockAddr(u32), "block"
);
address!(
    /// The same-index blocks of all dies.
    SuperblockId(u32), "superblock"
);
address!(
    /// A stripe: one codeword of pages.
    StripeId(u32), "stripe"
);

/// A set of strips of one stripe, or of dies, by index; below [`StripSet::MOST`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StripSet(pub u128);

impl StripSet {
    /// Strips and dies that a set tells apart, and so the most dies of a drive with redundancy.
    pub const MOST: u32 = u128::BITS;

    /// The empty set.
    pub const EMPTY: StripSet = StripSet(0);

    /// The set `{0, .., count-1}`.
    #[must_use]
    pub fn first(count: u32) -> Self {
        debug_assert!(count <= Self::MOST);
        StripSet(if count == Self::MOST { u128::MAX } else { (1 << count) - 1 })
    }

    /// The set whose strips are the bits of these words of 32, lowest first.
    #[inline]
    #[must_use]
    pub fn from_words(words: &[u32]) -> Self {
        StripSet(words.iter().rev().fold(0, |bits, &word| bits << 32 | u128::from(word)))
    }

    /// Writes the set as [`Self::from_words`] reads it; strips beyond the last word are left out.
    #[inline]
    pub fn to_words(self, words: &mut [u32]) {
        for (index, word) in words.iter_mut().enumerate() {
            *word = (self.0 >> (32 * index)) as u32;
        }
    }

    /// The set of one strip.
    #[inline]
    #[must_use]
    pub fn one(index: u32) -> Self {
        StripSet(1 << index)
    }

    /// Whether strip `index` belongs to the set.
    #[inline]
    #[must_use]
    pub fn contains(self, index: u32) -> bool {
        self.0 >> index & 1 == 1
    }

    /// Adds strip `index`.
    #[inline]
    pub fn insert(&mut self, index: u32) {
        self.0 |= 1 << index;
    }

    /// Removes strip `index`.
    #[inline]
    pub fn remove(&mut self, index: u32) {
        self.0 &= !(1 << index);
    }

    /// Number of strips in the set.
    #[inline]
    #[must_use]
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the set is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Strips of `self` that are not in `other`.
    #[inline]
    #[must_use]
    pub fn minus(self, other: StripSet) -> StripSet {
        StripSet(self.0 & !other.0)
    }

    /// Strips in both sets.
    #[inline]
    #[must_use]
    pub fn and(self, other: StripSet) -> StripSet {
        StripSet(self.0 & other.0)
    }

    /// Strips in either set.
    #[inline]
    #[must_use]
    pub fn or(self, other: StripSet) -> StripSet {
        StripSet(self.0 | other.0)
    }

    /// The strips in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let index = rest.trailing_zeros();
            rest &= rest - 1;
            Some(index)
        })
    }
}

impl fmt::Debug for StripSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromIterator<u32> for StripSet {
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut set = StripSet::EMPTY;
        iter.into_iter().for_each(|index| set.insert(index));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_set_lists_what_was_put_in_ascending() {
        let set: StripSet = [5, 0, 127, 9].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5, 9, 127]);
        assert_eq!(set.len(), 4);
        assert!(set.minus(StripSet::one(9)).and(StripSet::one(9)).is_empty());
        assert_eq!((StripSet::first(64).len(), StripSet::first(128).len()), (64, 128));
        assert_eq!(StripSet::first(3), [2, 1, 0].into_iter().collect());
        let mut words = [0; 4];
        set.to_words(&mut words);
        assert_eq!((words, StripSet::from_words(&words)), ([1 << 5 | 1 << 9 | 1, 0, 0, 1 << 31], set));
    }
}
