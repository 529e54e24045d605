//! The newest contents of a logical page, as a mount finds them.

use vocab::Slot;

/// The newest contents of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub update: u64,
    /// Rank of the program of this copy: of equal updates the lower one is taken.
    pub sequence: u64,
    /// Where it lies; `None` if no page holds it and its stripe brings it back.
    pub slot: Option<Slot>,
}
