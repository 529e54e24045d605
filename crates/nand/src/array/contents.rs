//! Contents of the pages of one block.

use crate::{Member, OobTag, Program};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use vocab::{Capability, StripSet};

/// Contents of the pages of one block, page by page or slot by slot.
#[derive(Clone, Debug)]
pub(crate) struct BlockContents<P> {
    pub tags: Box<[OobTag]>,
    pub payload: Box<[P]>,
    pub sequence: Sequences,
    pub coverage: Coverages,
    /// OOB of each page on drives with page ECC.
    pub ecc: Option<Box<EccOob>>,
    /// P/E count in the OOB bytes of every page of the block.
    pub pe: u32,
    pub slc: u8,
    pub slc_cycles: u8,
    pub first_program_s: u32,
    /// OOB that only recovery reads, apart from the OOB that all reads touch.
    pub recovery: Option<Box<RecoveryOob>>,
}

impl<P> BlockContents<P> {
    /// The update that gave a slot of a page its contents; where none are kept, the sequence of the page.
    #[inline(always)]
    pub fn update(&self, page: usize, slot: usize) -> u64 {
        self.recovery.as_ref().map_or_else(|| self.sequence.get(page), |recovery| recovery.update[slot])
    }

    /// Starts to bring what page ECC asks of a page into the processor's cache.
    #[inline]
    pub fn prefetch_oob(&self, page: usize) {
        self.sequence.prefetch(page);
        if let Some(ecc) = &self.ecc {
            ecc.capability.get(page).into_iter().for_each(vocab::prefetch);
            ecc.written_s.get(page).into_iter().for_each(vocab::prefetch);
        }
    }

    /// The contents of no page.
    fn empty() -> Self {
        Self {
            tags: Vec::new().into(),
            payload: Vec::new().into(),
            sequence: Sequences::new(0),
            coverage: Coverages::default(),
            ecc: None,
            pe: 0,
            slc: 0,
            slc_cycles: 0,
            first_program_s: 0,
            recovery: None,
        }
    }
}

/// The coverage of each page; none where it is not kept, which takes as little of each block as can be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverages(Option<Box<CoverageWords>>);

/// Coverages in as few words of 32 bits a page as the dies of the drive need.
#[derive(Clone, Debug)]
struct CoverageWords {
    words: Box<[u32]>,
    /// Words of a page.
    each: usize,
}

impl Coverages {
    /// Of a drive that keeps `words_of_a_page` for each page; 0 where it keeps none.
    pub fn new(pages: usize, words_of_a_page: usize) -> Self {
        let words = || CoverageWords { words: vec![0; pages * words_of_a_page].into(), each: words_of_a_page };
        Self((words_of_a_page > 0).then(|| Box::new(words())))
    }

    #[inline]
    pub fn get(&self, page: usize) -> StripSet {
        match self.0.as_deref() {
            None => StripSet::EMPTY,
            Some(CoverageWords { words, each: 1 }) => StripSet(words[page].into()),
            Some(CoverageWords { words, each }) => StripSet::from_words(&words[page * each..][..*each]),
        }
    }

    /// The drive has more dies: a page takes more words, if its coverage is kept.
    pub fn widen(&mut self, words_of_a_page: usize) {
        let Some(narrow) = self.0.as_deref().filter(|words| words.each < words_of_a_page) else { return };
        let mut words = vec![0; narrow.words.len() / narrow.each * words_of_a_page];
        for (wide, narrow) in words.chunks_exact_mut(words_of_a_page).zip(narrow.words.chunks_exact(narrow.each)) {
            wide[..narrow.len()].copy_from_slice(narrow);
        }
        self.0 = Some(Box::new(CoverageWords { words: words.into(), each: words_of_a_page }));
    }

    #[inline]
    pub fn set(&mut self, page: usize, coverage: StripSet) {
        if let Some(CoverageWords { words, each }) = self.0.as_deref_mut() {
            coverage.to_words(&mut words[page * *each..][..*each]);
        }
    }
}

/// OOB bytes of page ECC, page by page.
#[derive(Clone, Debug)]
pub(crate) struct EccOob {
    /// Capability of the page's code.
    pub capability: Box<[Capability]>,
    /// When the page was programmed, in whole seconds.
    pub written_s: Box<[u32]>,
}

impl EccOob {
    pub fn new(pages: usize) -> Self {
        Self { capability: vec![Capability(0); pages].into(), written_s: vec![0; pages].into() }
    }
}

/// OOB bytes that only recovery reads.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryOob {
    /// The update of each slot.
    pub update: Box<[u64]>,
    /// The most P/E cycles of any block when each page was programmed.
    pub pe_max: Box<[u32]>,
    /// Members that pages name, by page.
    pub members: BTreeMap<u32, Box<[Member]>>,
}

impl RecoveryOob {
    /// A page is programmed, into these slots. Without updates all of them are written again.
    pub fn store<P>(&mut self, page: usize, slots: Range<usize>, program: &Program<'_, P>, pe_max: u32) {
        match program.updates {
            Some(updates) => self.update[slots].copy_from_slice(updates),
            None => self.update[slots].fill(program.oob.sequence),
        }
        self.pe_max[page] = pe_max;
        if page == 0 {
            self.members.clear();
        }
        if !program.members.is_empty() {
            self.members.insert(page as u32, program.members.into());
        }
    }
}

/// Sequences of the pages of a block, relative to its first: two bytes a page as long as they span less
/// than 2^16, else four.
#[derive(Clone, Debug)]
pub(crate) struct Sequences {
    base: u64,
    relative: Relative,
}

#[derive(Clone, Debug)]
enum Relative {
    Short(Box<[u16]>),
    Long(Box<[u32]>),
}

impl Sequences {
    pub fn new(pages: usize) -> Self {
        Self { base: 0, relative: Relative::Short(vec![0; pages].into()) }
    }

    /// The first page of the block has this sequence.
    #[inline]
    pub fn start(&mut self, base: u64) {
        self.base = base;
        if let Relative::Long(long) = &self.relative {
            self.relative = Relative::Short(vec![0; long.len()].into());
        }
    }

    #[inline]
    pub fn get(&self, page: usize) -> u64 {
        self.base
            + match &self.relative {
                Relative::Short(short) => u64::from(short[page]),
                Relative::Long(long) => u64::from(long[page]),
            }
    }

    #[inline]
    fn prefetch(&self, page: usize) {
        match &self.relative {
            Relative::Short(short) => short.get(page).into_iter().for_each(vocab::prefetch),
            Relative::Long(long) => long.get(page).into_iter().for_each(vocab::prefetch),
        }
    }

    /// Sets the sequence of a page. False if it lies before that of the first page, or too far behind it.
    #[inline]
    #[must_use]
    pub fn set(&mut self, page: usize, sequence: u64) -> bool {
        let Some(relative) = sequence.checked_sub(self.base) else { return false };
        if let (Relative::Short(short), Ok(relative)) = (&mut self.relative, u16::try_from(relative)) {
            short[page] = relative;
            return true;
        }
        u32::try_from(relative).is_ok_and(|relative| self.set_long(page, relative))
    }

    #[cold]
    fn set_long(&mut self, page: usize, relative: u32) -> bool {
        if let Relative::Short(short) = &self.relative {
            self.relative = Relative::Long(short.iter().map(|&short| u32::from(short)).collect());
        }
        if let Relative::Long(long) = &mut self.relative {
            long[page] = relative;
        }
        true
    }

    /// The page has no sequence of its own any more.
    pub fn clear(&mut self, page: usize) {
        match &mut self.relative {
            Relative::Short(short) => short[page] = 0,
            Relative::Long(long) => long[page] = 0,
        }
    }
}

/// The contents of a block that was programmed at some time. A block that is being programmed belongs to one
/// array; a full one is shared between forks until one of them changes it.
#[derive(Clone, Debug)]
pub(crate) enum Stored<P> {
    Open(Box<BlockContents<P>>),
    Full(Arc<BlockContents<P>>),
}

impl<P: Clone> Stored<P> {
    #[inline]
    pub fn get(&self) -> &BlockContents<P> {
        match self {
            Stored::Open(contents) => contents,
            Stored::Full(contents) => contents,
        }
    }

    /// The contents, to be changed; a copy of its own where a fork shares them.
    pub fn change(&mut self) -> &mut BlockContents<P> {
        match self {
            Stored::Open(contents) => contents,
            Stored::Full(contents) => Arc::make_mut(contents),
        }
    }

    /// As [`Self::change`], for a block of which pages are programmed one after the other.
    #[inline]
    pub fn open(&mut self) -> &mut BlockContents<P> {
        if let Stored::Full(contents) = self {
            let own = match Arc::get_mut(contents) {
                Some(contents) => std::mem::replace(contents, BlockContents::empty()),
                None => BlockContents::clone(contents),
            };
            *self = Stored::Open(Box::new(own));
        }
        match self {
            Stored::Open(contents) => contents,
            Stored::Full(_) => unreachable!("opened above"),
        }
    }

    /// The last page was programmed: from now on forks share the contents.
    pub fn close(self) -> Self {
        match self {
            Stored::Open(contents) => Stored::Full(Arc::new(*contents)),
            full @ Stored::Full(_) => full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_kept_however_far_they_span() {
        let mut sequences = Sequences::new(4);
        sequences.start(1 << 40);
        let wanted = [1 << 40, (1 << 40) + 65_535, (1 << 40) + 65_536, (1 << 40) + u64::from(u32::MAX)];
        for (page, &sequence) in wanted.iter().enumerate() {
            assert!(sequences.set(page, sequence));
        }
        assert_eq!([0, 1, 2, 3].map(|page| sequences.get(page)), wanted);
        assert!(!sequences.set(0, (1 << 40) - 1), "before the first");
        assert!(!sequences.set(0, (1 << 40) + (1 << 32)), "too far behind the first");
        sequences.start(7);
        assert!(sequences.set(2, 9));
        assert_eq!((sequences.get(2), sequences.get(3)), (9, 7));
    }
}
