//! The bytes of a page, shared by all that hold them.

use coding::xor_into;
use std::sync::{Arc, OnceLock};
use vocab::SharedBytes;

/// The bytes of a page, or pages whose sum they are; each slot of flash in memory has one, of two words.
#[derive(Clone, Debug)]
pub(crate) enum PageBytes {
    /// Its bytes.
    Bytes(SharedBytes),
    /// Those of a parity, which no one looks at unless a page is lost: they are added up then. `None`: the sum of no pages, all
    /// zeros.
    Sum(Option<Arc<Sum>>),
}

/// A sum over GF(2).
#[derive(Debug)]
pub(crate) struct Sum {
    /// At least one.
    terms: Vec<SharedBytes>,
    bytes: OnceLock<SharedBytes>,
}

/// Pages of a row, for which there is room at once.
const USUAL_TERMS: usize = 8;

impl Sum {
    fn of(a: SharedBytes, b: SharedBytes) -> PageBytes {
        let mut terms = Vec::with_capacity(USUAL_TERMS);
        terms.extend([a, b]);
        PageBytes::Sum(Some(Arc::new(Self { terms, bytes: OnceLock::new() })))
    }

    fn bytes(&self) -> &SharedBytes {
        self.bytes.get_or_init(|| {
            let mut sum = self.terms[0].clone();
            self.terms[1..].iter().for_each(|term| xor_into(sum.make_mut(), term));
            sum
        })
    }
}

impl Default for PageBytes {
    fn default() -> Self {
        Self::Sum(None)
    }
}

impl PageBytes {
    /// The bytes; `None`: all zeros.
    #[inline]
    pub fn get(&self) -> Option<&SharedBytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Sum(sum) => sum.as_ref().map(|sum| sum.bytes()),
        }
    }

    /// The bytes, to be changed, as a copy of its own where others share them; `None`: all zeros.
    pub fn change(&mut self) -> Option<&mut [u8]> {
        if let Self::Sum(Some(sum)) = self {
            *self = Self::Bytes(sum.bytes().clone());
        }
        match self {
            Self::Bytes(bytes) => Some(bytes.make_mut()),
            Self::Sum(_) => None,
        }
    }

    /// Adds bytes.
    pub fn add(&mut self, theirs: &SharedBytes) {
        match self.change() {
            Some(mine) => xor_into(mine, theirs),
            None => *self = Self::Bytes(theirs.clone()),
        }
    }

    /// As [`Self::add`], but they are added up when someone looks at the sum. It keeps them until then.
    pub fn collect(&mut self, theirs: &SharedBytes) {
        match self {
            Self::Sum(None) => *self = Self::Bytes(theirs.clone()),
            Self::Bytes(mine) => *self = Sum::of(mine.clone(), theirs.clone()),
            Self::Sum(Some(sum)) => match Arc::get_mut(sum).filter(|sum| sum.bytes.get().is_none()) {
                Some(sum) => sum.terms.push(theirs.clone()),
                // Others share it, or have looked at it.
                None => *self = Sum::of(sum.bytes().clone(), theirs.clone()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of which all bytes are alike.
    fn page(byte: u8) -> SharedBytes {
        [byte; 16].into()
    }

    fn bytes(page: &PageBytes) -> Option<u8> {
        page.get().map(|bytes| bytes[0])
    }

    /// Catches a term that is left out or added twice, and a copy that changes with what it was copied from, whether someone has
    /// looked at that or not.
    #[test]
    fn what_is_collected_is_what_is_added() {
        for looks in [false, true] {
            let (mut sum, mut added, mut copies) = (PageBytes::default(), PageBytes::default(), Vec::new());
            for byte in [0b1, 0b10, 0b111, 0b1000, 0b1] {
                sum.collect(&page(byte));
                added.add(&page(byte));
                if looks {
                    assert_eq!(bytes(&sum), bytes(&added));
                }
                copies.push((sum.clone(), bytes(&added)));
            }
            assert_eq!(bytes(&sum), Some(0b1101));
            assert!(copies.iter().all(|(copy, then)| bytes(copy) == *then), "looked at before: {looks}");
            sum.add(&page(0b1101));
            assert_eq!((bytes(&sum), bytes(&copies[4].0)), (Some(0), Some(0b1101)));
        }
    }

    /// Catches a third word, which every slot of every drive in memory would have.
    #[test]
    fn it_takes_two_words() {
        assert_eq!(size_of::<PageBytes>(), 2 * size_of::<usize>());
    }

    /// Terms are shared with the pages that have them. Catches a sum that changes one of them, or copies it.
    #[test]
    fn a_sum_leaves_its_terms_alone() {
        let (a, b) = (page(1), page(2));
        let mut sum = PageBytes::default();
        [&a, &b].into_iter().for_each(|term| sum.collect(term));
        assert_eq!((a.holders(), b.holders()), (2, 2));
        assert_eq!((bytes(&sum), a[0], b[0]), (Some(3), 1, 2));
    }
}
