//! The vector kernels. `lanes` has the loops, once for all; `x86` and `arm` the registers they run on.
//!
//! This module and its children are the only place of the crate with `unsafe`: registers are loaded
//! through pointers, and a function with vector instructions may only run where they exist.

#![allow(unsafe_code, reason = "vector registers are loaded and stored through pointers")]
#![allow(unsafe_op_in_unsafe_fn, reason = "every line of these functions is an intrinsic or a pointer step")]

#[cfg(target_arch = "aarch64")]
mod arm;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::kernel::Loops;
use super::kernel::{Kernel, Part};

#[cfg(target_arch = "aarch64")]
pub(super) use arm::available;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::available;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn available() -> Vec<&'static Kernel> {
    Vec::new()
}

impl Kernel {
    /// `sum += other`.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn add(&self, sum: &mut [u8], other: &[u8]) {
        assert_eq!(sum.len(), other.len(), "strips of one stripe have one length");
        // SAFETY: this machine has the kernel's instructions, or the kernel could not be had.
        unsafe { (self.loops.add)(sum, other) }
    }

    /// `sum += c * other`.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn mul_add(&self, sum: &mut [u8], other: &[u8], c: u8) {
        assert_eq!(sum.len(), other.len(), "strips of one stripe have one length");
        // SAFETY: as above.
        match c {
            0 => {}
            1 => unsafe { (self.loops.add)(sum, other) },
            c => unsafe { (self.loops.mul_add)(sum, other, c) },
        }
    }

    /// `bytes *= c`.
    #[inline]
    pub fn mul(&self, bytes: &mut [u8], c: u8) {
        // SAFETY: as above.
        match c {
            0 => bytes.fill(0),
            1 => {}
            c => unsafe { (self.loops.mul)(bytes, c) },
        }
    }

    /// A part of the outputs; see the field. The caller has checked counts and lengths.
    #[inline]
    pub(super) fn sums(&self, inputs: &[&[u8]], factors: &[u8], outputs: &mut [&mut [u8]], part: Part) {
        debug_assert_eq!(factors.len(), inputs.len() * outputs.len());
        // SAFETY: as above.
        unsafe { (self.loops.sums)(inputs, factors, outputs, part) }
    }

    /// The sum of all inputs; see the field. The caller has checked counts and lengths.
    #[inline]
    pub(super) fn total(&self, inputs: &[&[u8]], output: &mut [u8]) {
        // SAFETY: as above.
        unsafe { (self.loops.total)(inputs, output) }
    }
}
