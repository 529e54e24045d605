//! The bytes of a page, shared by all that hold them.

use coding::xor_into;
use std::sync::{Arc, OnceLock};

/// The bytes of a page, or pages whose sum they are.
#[derive(Clone, Debug)]
pub(crate) enum PageBytes {
    /// `None`: all zeros.
    Bytes(Option<Arc<[u8]>>),
    /// Those of a parity, which nobody looks at unless a page is lost: they are added up then.
    Sum(Arc<Sum>),
}

/// A sum over GF(2).
#[derive(Debug)]
pub(crate) struct Sum {
    /// At least one.
    terms: Vec<Arc<[u8]>>,
    bytes: OnceLock<Arc<[u8]>>,
}

impl Sum {
    fn bytes(&self) -> &Arc<[u8]> {
        self.bytes.get_or_init(|| {
            let mut sum = self.terms[0].clone();
            self.terms[1..].iter().for_each(|term| xor_into(Arc::make_mut(&mut sum), term));
            sum
        })
    }
}

impl Default for PageBytes {
    fn default() -> Self {
        Self::Bytes(None)
    }
}

impl PageBytes {
    /// The bytes; `None`: all zeros.
    #[inline]
    pub fn get(&self) -> Option<&Arc<[u8]>> {
        match self {
            Self::Bytes(bytes) => bytes.as_ref(),
            Self::Sum(sum) => Some(sum.bytes()),
        }
    }

    /// The bytes, to be changed.
    pub fn change(&mut self) -> &mut Option<Arc<[u8]>> {
        if let Self::Sum(sum) = self {
            *self = Self::Bytes(Some(sum.bytes().clone()));
        }
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Sum(_) => unreachable!("replaced above"),
        }
    }

    /// Adds bytes.
    pub fn add(&mut self, theirs: &Arc<[u8]>) {
        match self.change() {
            Some(mine) => xor_into(Arc::make_mut(mine), theirs),
            mine @ None => *mine = Some(theirs.clone()),
        }
    }

    /// As [`Self::add`], but they are added up when somebody looks at the sum. It keeps them until then.
    pub fn collect(&mut self, theirs: &Arc<[u8]>) {
        match self {
            Self::Bytes(None) => *self = Self::Bytes(Some(theirs.clone())),
            Self::Bytes(Some(mine)) => *self = Self::Sum(Arc::new(Sum::of(mine.clone(), theirs.clone()))),
            Self::Sum(sum) => match Arc::get_mut(sum).filter(|sum| sum.bytes.get().is_none()) {
                Some(sum) => sum.terms.push(theirs.clone()),
                // Others share it, or have looked at it.
                None => *self = Self::Sum(Arc::new(Sum::of(sum.bytes().clone(), theirs.clone()))),
            },
        }
    }
}

impl Sum {
    fn of(a: Arc<[u8]>, b: Arc<[u8]>) -> Self {
        Self { terms: vec![a, b], bytes: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of which all bytes are alike.
    fn page(byte: u8) -> Arc<[u8]> {
        [byte; 16].into()
    }

    fn bytes(page: &PageBytes) -> Option<u8> {
        page.get().map(|bytes| bytes[0])
    }

    /// Catches a term that is left out or added twice, and a copy that changes with what it was copied from, whether somebody has
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

    /// Terms are shared with the pages that have them. Catches a sum that changes one of them, or copies it.
    #[test]
    fn a_sum_leaves_its_terms_alone() {
        let (a, b) = (page(1), page(2));
        let mut sum = PageBytes::default();
        [&a, &b].into_iter().for_each(|term| sum.collect(term));
        assert_eq!((Arc::strong_count(&a), Arc::strong_count(&b)), (2, 2));
        assert_eq!((bytes(&sum), a[0], b[0]), (Some(3), 1, 2));
    }
}
