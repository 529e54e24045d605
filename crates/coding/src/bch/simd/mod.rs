//! The kernels with carry-less multiplication. `lanes` has the loops, once for all; `x86` and `arm` the
//! registers they run on.
//!
//! This module and its children are the only place of the codec with `unsafe`: registers are loaded
//! through pointers, and a function with vector instructions may only run where they exist.

#![allow(unsafe_code, reason = "vector registers are loaded and stored through pointers")]
#![allow(unsafe_op_in_unsafe_fn, reason = "every line of these functions is an intrinsic or a pointer step")]

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::MAX_T;
use super::divider::Divider;
use super::field::Field;
use super::kernel::Kernel;
use super::syndromes::Syndromes;

#[cfg(target_arch = "aarch64")]
pub(super) use arm::available;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::available;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn available() -> Vec<&'static Kernel> {
    Vec::new()
}

impl Kernel {
    /// The remainder of data * x^r, left-aligned.
    #[inline]
    pub(super) fn remainder(&self, divider: &Divider, data: &[u8], remainder: &mut [u64]) {
        assert_eq!((data.len(), remainder.len()), (divider.bytes, divider.words), "bytes of data, words of remainder");
        assert_eq!(divider.step, self.loops.step, "a divider that was made for the kernel");
        // SAFETY: this machine has the kernel's instructions, or the kernel could not be had.
        unsafe { (self.loops.remainder)(divider, data, remainder) }
    }

    /// The odd syndromes of a remainder.
    #[inline]
    pub(super) fn syndromes(&self, syndromes: &Syndromes, remainder: &[u64], odd: &mut [u16; MAX_T]) {
        // SAFETY: as above.
        unsafe { (self.loops.syndromes)(syndromes, remainder, odd) }
    }

    /// Adds row i times factor i to `sum`, for all factors. Rows are `width` apart, of the form that
    /// [`Kernel::row`] gives, and as long as the sum.
    #[inline]
    pub(super) fn combine(&self, field: &Field, rows: &[u32], width: usize, factors: &[u16], sum: &mut [u16]) {
        assert!(rows.len() >= factors.len() * width && sum.len() <= width && width.is_multiple_of(16), "rows of the width");
        // SAFETY: as above.
        unsafe { (self.loops.combine)(field, rows, width, factors, sum) }
    }
}
