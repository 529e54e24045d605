//! For each logical page, the version last sent and how far the last answered one lies behind it.

use vocab::{Lpn, Table};

/// The newest version of a page that is counted; a page is not written more often in one run.
pub(crate) const NEWEST_MAX: u32 = (1 << 24) - 1;

/// The last answered version lies this far behind, or farther: which it is, is not known.
pub(crate) const FAR_BEHIND: u32 = 255;

/// Versions of one page that were sent and acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The version last sent, 0 before the first.
    pub newest: u32,
    /// How far the last answered version lies behind it, at most [`FAR_BEHIND`].
    pub behind: u32,
}

/// Two bytes a page (11 and 5 bits) until one page needs more, then four (24 and 8 bits) for all: where requests go over
/// a whole drive, which takes the most memory, pages are seldom written 2,000 times.
#[derive(Clone, Debug)]
pub(crate) enum Versions {
    Short(Table<u16>),
    Long(Table<u32>),
}

impl Versions {
    /// Of pages of which nothing was sent.
    pub fn new(pages: usize) -> Self {
        Self::Short(Table::zeroed(pages))
    }

    /// Pages that are known.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Short(words) => words.len(),
            Self::Long(words) => words.len(),
        }
    }

    /// Versions of a page that were sent and acknowledged; `None` if the page is none of those known.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<Sent> {
        match self {
            Self::Short(words) => words.get(lpn.index()).map(|&word| unpack_short(word)),
            Self::Long(words) => words.get(lpn.index()).map(|&word| Sent { newest: word & NEWEST_MAX, behind: word >> 24 }),
        }
    }

    /// Keeps what was sent and answered of a page. A distance beyond [`FAR_BEHIND`] is kept as that.
    ///
    /// # Panics
    /// If the page is not known, or its version is above [`NEWEST_MAX`].
    #[inline]
    pub fn set(&mut self, lpn: Lpn, Sent { newest, behind }: Sent) {
        assert!(newest <= NEWEST_MAX, "{lpn} was written {newest} times: more than a run can tell apart");
        if let Self::Short(words) = self {
            if newest < 1 << 11 && behind < 1 << 5 {
                words[lpn.index()] = (newest | behind << 11) as u16;
                return;
            }
            self.widen();
        }
        if let Self::Long(words) = self {
            words[lpn.index()] = newest | behind.min(FAR_BEHIND) << 24;
        }
    }

    #[cold]
    fn widen(&mut self) {
        let Self::Short(short) = self else { return };
        let mut long = Table::zeroed(short.len());
        for (word, &short) in long.iter_mut().zip(short.iter()) {
            let Sent { newest, behind } = unpack_short(short);
            *word = newest | behind << 24;
        }
        *self = Self::Long(long);
    }

    /// Hints that a page is needed soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        match self {
            Self::Short(words) => words.prefetch(lpn.index()),
            Self::Long(words) => words.prefetch(lpn.index()),
        }
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::new(0)
    }
}

#[inline]
fn unpack_short(word: u16) -> Sent {
    Sent { newest: u32::from(word) & 0x7ff, behind: u32::from(word) >> 11 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use vocab::Streams;

    /// Catches bits of one page that run into another's, a page lost when all become wider, and a limit that is off by one.
    #[test]
    fn both_widths_keep_what_a_map_keeps() {
        const EDGES: [u32; 9] = [0, 1, 2, 30, 31, 32, 254, 255, 300];
        let mut draws = Streams::new(5).stream("versions");
        for newest_max in [2047, 2048, NEWEST_MAX] {
            let mut versions = Versions::new(50);
            let mut model: BTreeMap<u32, Sent> = BTreeMap::new();
            for _ in 0..400 {
                let lpn = draws.below(50) as u32;
                let behind = EDGES[draws.below(if newest_max == 2047 { 5 } else { 9 }) as usize];
                let sent = Sent { newest: newest_max - draws.below(3) as u32, behind };
                versions.set(Lpn(lpn), sent);
                model.insert(lpn, Sent { behind: behind.min(FAR_BEHIND), ..sent });
            }
            assert_eq!(matches!(versions, Versions::Short(_)), newest_max == 2047);
            for lpn in 0..50 {
                assert_eq!(versions.get(Lpn(lpn)), Some(model.get(&lpn).copied().unwrap_or_default()), "{lpn}");
            }
            assert_eq!((versions.get(Lpn(50)), versions.len()), (None, 50));
        }
    }
}
