//! The newest contents of a logical page, as a mount finds them.

use vocab::Slot;

/// The newest contents of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub update: u64,
    /// Losses that the codeword of this copy survives, where copies differ in that: in block groups.
    pub survives: u32,
    /// Rank of the program of this copy.
    pub sequence: u64,
    /// Where it lies; `None` if no page holds it and its stripe brings it back.
    pub slot: Option<Slot>,
}

impl Newest {
    /// A copy in flash.
    pub fn copy(update: u64, sequence: u64, slot: Slot) -> Self {
        Self { update, survives: 0, sequence, slot: Some(slot) }
    }

    /// Contents that no page holds.
    pub fn nowhere(update: u64) -> Self {
        Self { update, survives: 0, sequence: 0, slot: None }
    }

    /// Whether this copy is taken in place of `other`: it is newer, or of equal contents survives more losses, or as many and was
    /// programmed earlier.
    pub fn comes_before(&self, other: &Self) -> bool {
        (self.update, self.survives, other.sequence) > (other.update, other.survives, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a copy of older contents that is taken because it is better protected, one that is taken though its codeword survives
    /// fewer losses, and the later of two that are alike.
    #[test]
    fn contents_come_before_protection_and_that_before_age() {
        let copy = |update, survives, sequence| Newest { survives, ..Newest::copy(update, sequence, Slot(0)) };
        assert!(copy(8, 0, 30).comes_before(&copy(7, 2, 10)));
        assert!(copy(7, 2, 30).comes_before(&copy(7, 1, 10)));
        assert!(copy(7, 1, 10).comes_before(&copy(7, 1, 20)));
        assert!(!copy(7, 1, 10).comes_before(&copy(7, 1, 10)), "it does not come before itself");
    }
}
