//! The loops of the codec, of which each instruction set has its own.

use super::MAX_T;
use super::divider::Divider;
use super::field::Field;
use super::portable;
use super::syndromes::Syndromes;
use crate::dispatch::loops;

/// The loops of the codec for one instruction set.
pub type Kernel = crate::dispatch::Kernel<Loops>;

/// The loops of a [`Kernel`].
pub struct Loops {
    /// 64-bit words that one step reads; 0 if it works from tables of its own.
    pub(super) step: usize,
    /// Sums that one pass over the words computes, at most.
    pub(super) group: usize,
    /// The remainder of data of the divider's length, left-aligned, into as many words as it has.
    pub(super) remainder: unsafe fn(&Divider, &[u8], &mut [u64]),
    /// [`Syndromes::compute`] in the registers of the kernel.
    pub(super) syndromes: unsafe fn(&Syndromes, &[u64], &mut [u16; MAX_T]),
    /// Adds a combination of rows of elements, a multiple of 16 apart: see [`Kernel::combine`].
    pub(super) combine: unsafe fn(&Field, &[u32], usize, &[u16], &mut [u16]),
}

/// Table look-ups, 32 bits a step, for every machine.
static PORTABLE: Kernel = Kernel::new(
    "portable",
    Loops { step: 0, group: 0, remainder: portable::remainder, syndromes: Syndromes::compute, combine: portable::combine },
);

loops!(Loops, super::simd::available, PORTABLE);

impl Kernel {
    /// An element as [`Kernel::combine`] wants it in a row: itself, or for look-ups its logarithm.
    #[inline(always)]
    pub(super) fn row(&self, field: &Field, element: u16) -> u32 {
        if self.loops.step == 0 { field.log(element) } else { u32::from(element) }
    }
}
