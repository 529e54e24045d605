//! Result of an audit: every parity is computed again from flash. For tests.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use nand::FlashArray;
use vocab::Ppn;

/// Result of an audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Audit {
    /// Codewords whose parity, recomputed from flash, is the parity stored, or held.
    pub sound: u32,
    /// Codewords that were never programmed in whole: a page of theirs failed.
    pub broken: u32,
    /// Logical pages in flash that no parity covers.
    pub uncovered: u32,
}

/// Sums of these pages in the PLP cache of block groups, of a row or of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldSum {
    /// The pages that are in the sums.
    pub members: Vec<Ppn>,
    /// Number of these sums: the most lost pages among `members` that can be solved for.
    pub sums: u32,
}

impl<P: FlashPayload> Core<P> {
    /// Whether the sum of these pages is that page, slot by slot; `None` where one was never programmed.
    pub fn is_sum(&self, pages: &[Ppn], of: Ppn) -> Option<bool> {
        let device = &self.device;
        if !device.is_stored(of) || !pages.iter().all(|&ppn| device.is_stored(ppn)) {
            return None;
        }
        let mut sum = vec![P::default(); device.grid.slots_per_page() as usize];
        for &ppn in pages.iter().chain([&of]) {
            sum.iter_mut().zip(device.array.payload(ppn)).for_each(|(sum, payload)| sum.add(payload));
        }
        Some(sum.iter().all(P::is_zero))
    }
}
