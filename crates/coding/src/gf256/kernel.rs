//! The loops over strips, of which each instruction set has its own.

use super::portable;
use crate::dispatch::loops;
use std::ops::Range;

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

/// The loops over strips for one instruction set.
pub type Kernel = crate::dispatch::Kernel<Loops>;

/// The loops of a [`Kernel`].
pub struct Loops {
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
static PORTABLE: Kernel = Kernel::new(
    "portable",
    Loops { add: portable::add, mul_add: portable::mul_add, mul: portable::mul, sums: portable::sums, total: portable::total },
);

loops!(Loops, super::simd::available, PORTABLE);
