//! Which instructions do the work: chosen once, when the program runs.

use super::portable;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// Outputs that a kernel computes in one pass over the inputs: their sums stay in registers.
pub(super) const GROUP: usize = 4;

/// The bytes from `start` to `end` of every strip.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Part {
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// Inputs, factors, outputs and the part of them that is to be written.
type SumsOfPart = unsafe fn(&[&[u8]], &[u8], &mut [&mut [u8]], Part);

/// The vector loops of one instruction set. All give the same bytes, at different speeds.
///
/// A kernel can only be had from here, and only if this machine has its instructions; that is what
/// makes calling it sound.
pub struct Kernel {
    pub(super) name: &'static str,
    /// `sum += other`; equal lengths.
    pub(super) add: unsafe fn(&mut [u8], &[u8]),
    /// `sum += c * other`; equal lengths.
    pub(super) mul_add: unsafe fn(&mut [u8], &[u8], u8),
    /// `bytes *= c`.
    pub(super) mul: unsafe fn(&mut [u8], u8),
    /// A part of the outputs, 1 to [`GROUP`] of them, from the inputs. `factors` has the
    /// coefficients input by input. All strips reach the end of the part; there is an input.
    pub(super) sums: SumsOfPart,
    /// The sum of all inputs; equal lengths; there is an input.
    pub(super) total: unsafe fn(&[&[u8]], &mut [u8]),
}

/// Two look-ups a byte, for every machine.
static PORTABLE: Kernel = Kernel {
    name: "portable",
    add: portable::add,
    mul_add: portable::mul_add,
    mul: portable::mul,
    sums: portable::sums,
    total: portable::total,
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

    /// The instruction set, for reports: `avx512+gfni`, `avx2+gfni`, `avx2`, `ssse3`, `neon` or
    /// `portable`.
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
