//! Which instructions do the work: chosen once, when the program runs.

use super::MAX_T;
use super::divider::Divider;
use super::field::Field;
use super::portable;
use super::syndromes::Syndromes;
use std::fmt;
use std::sync::OnceLock;

/// The loops of one instruction set. All give the same results, at different speeds.
///
/// A kernel can only be had from here, and only if this machine has its instructions; that is what
/// makes calling it sound.
pub struct Kernel {
    pub(super) name: &'static str,
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
static PORTABLE: Kernel = Kernel {
    name: "portable",
    step: 0,
    group: 0,
    remainder: portable::remainder,
    syndromes: Syndromes::compute,
    combine: portable::combine,
};

impl Kernel {
    /// The kernels of this machine, fastest first; the last one is portable.
    #[must_use]
    pub fn available() -> Vec<&'static Kernel> {
        let mut kernels = super::simd::available();
        kernels.push(&PORTABLE);
        kernels
    }

    /// The fastest kernel of this machine.
    #[must_use]
    pub fn fastest() -> &'static Kernel {
        static FASTEST: OnceLock<&Kernel> = OnceLock::new();
        FASTEST.get_or_init(|| Kernel::available()[0])
    }

    /// An element as [`Kernel::combine`] wants it in a row: itself, or for look-ups its logarithm.
    #[inline(always)]
    pub(super) fn row(&self, field: &Field, element: u16) -> u32 {
        if self.step == 0 { field.log(element) } else { u32::from(element) }
    }

    /// The instruction set, for reports: `avx512+vpclmulqdq`, `avx2+vpclmulqdq`, `pclmulqdq`,
    /// `neon+pmull` or `portable`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name)
    }
}
