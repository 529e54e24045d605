//! The registers of 64-bit Arm: two table look-ups give the products of the two halves of each byte.

use super::lanes::{self, Vector};
use super::{Kernel, Loops, Part};
use crate::gf256::portable;
use crate::gf256::tables::NIBBLES;
use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

/// The kernels this machine has the instructions for.
pub(in super::super) fn available() -> Vec<&'static Kernel> {
    if is_aarch64_feature_detected!("neon") { vec![&KERNEL] } else { Vec::new() }
}

static KERNEL: Kernel = Kernel::new("neon", Loops { add, mul_add, mul, sums, total });

#[derive(Clone, Copy)]
struct Neon128(uint8x16_t);

impl Vector for Neon128 {
    const BYTES: usize = 16;
    type Factor = [uint8x16_t; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        Neon128(vdupq_n_u8(0))
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        Neon128(vld1q_u8(from))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        vst1q_u8(to, self.0)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Neon128(veorq_u8(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn factor(c: u8) -> Self::Factor {
        let row = NIBBLES[usize::from(c)].as_ptr();
        [vld1q_u8(row), vld1q_u8(row.add(16))]
    }

    #[inline(always)]
    unsafe fn mul(self, [low, high]: Self::Factor) -> Self {
        let below = vqtbl1q_u8(low, vandq_u8(self.0, vdupq_n_u8(15)));
        Neon128(veorq_u8(below, vqtbl1q_u8(high, vshrq_n_u8::<4>(self.0))))
    }
}

#[target_feature(enable = "neon")]
unsafe fn add(sum: &mut [u8], other: &[u8]) {
    if sum.len() < Neon128::BYTES {
        return portable::add(sum, other);
    }
    lanes::add::<Neon128>(sum, other);
}

#[target_feature(enable = "neon")]
unsafe fn mul_add(sum: &mut [u8], other: &[u8], c: u8) {
    if sum.len() < Neon128::BYTES {
        return portable::mul_add(sum, other, c);
    }
    lanes::mul_add::<Neon128>(sum, other, c);
}

#[target_feature(enable = "neon")]
unsafe fn mul(bytes: &mut [u8], c: u8) {
    if bytes.len() < Neon128::BYTES {
        return portable::mul(bytes, c);
    }
    lanes::mul::<Neon128>(bytes, c);
}

#[target_feature(enable = "neon")]
unsafe fn sums(inputs: &[&[u8]], factors: &[u8], outputs: &mut [&mut [u8]], part: Part) {
    let Part { start, end } = part;
    if end - start < Neon128::BYTES {
        return portable::sums(inputs, factors, outputs, part);
    }
    match outputs.len() {
        1 => lanes::sums::<Neon128, 1, 4>(inputs, factors, outputs, start, end),
        2 => lanes::sums::<Neon128, 2, 4>(inputs, factors, outputs, start, end),
        3 => lanes::sums::<Neon128, 3, 4>(inputs, factors, outputs, start, end),
        _ => lanes::sums::<Neon128, 4, 4>(inputs, factors, outputs, start, end),
    }
}

#[target_feature(enable = "neon")]
unsafe fn total(inputs: &[&[u8]], output: &mut [u8]) {
    if output.len() < Neon128::BYTES {
        return portable::total(inputs, output);
    }
    lanes::total::<Neon128, 8>(inputs, output);
}
