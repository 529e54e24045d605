//! Carry-less multiplication on 64-bit Arm, two words a step.

use super::Kernel;
use super::lanes::{Lanes, kernel};
use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

/// The kernels this machine has the instructions for.
pub(in super::super) fn available() -> Vec<&'static Kernel> {
    if is_aarch64_feature_detected!("neon") && is_aarch64_feature_detected!("pmull") && is_aarch64_feature_detected!("aes") {
        vec![&pmull::KERNEL]
    } else {
        Vec::new()
    }
}

#[derive(Clone, Copy)]
struct One(uint64x2_t);

impl Lanes for One {
    const BYTES: usize = 16;
    #[inline(always)]
    unsafe fn zero() -> Self {
        One(vdupq_n_u64(0))
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        One(vreinterpretq_u64_u8(vld1q_u8(from)))
    }
    #[inline(always)]
    unsafe fn reverse(self) -> Self {
        let words = vreinterpretq_u64_u8(vrev64q_u8(vreinterpretq_u8_u64(self.0)));
        One(vextq_u64::<1>(words, words))
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        One(veorq_u64(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn product(self) -> Self {
        multiply(vgetq_lane_u64::<0>(self.0), vgetq_lane_u64::<1>(self.0))
    }
    #[inline(always)]
    unsafe fn total(self) -> [u64; 2] {
        [vgetq_lane_u64::<0>(self.0), vgetq_lane_u64::<1>(self.0)]
    }
    #[inline(always)]
    unsafe fn all(word: u64) -> Self {
        One(vdupq_n_u64(word))
    }
    #[inline(always)]
    unsafe fn scale(self, by: Self) -> [Self; 2] {
        let by = vgetq_lane_u64::<0>(by.0);
        [multiply(vgetq_lane_u64::<0>(self.0), by), multiply(vgetq_lane_u64::<1>(self.0), by)]
    }
    #[inline(always)]
    unsafe fn join(self, high: Self) -> Self {
        One(vzip1q_u64(self.0, high.0))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        vst1q_u32(to, vreinterpretq_u32_u64(self.0))
    }
    #[inline(always)]
    unsafe fn multiply(a: u64, b: u64) -> [u64; 2] {
        multiply(a, b).total()
    }
}

// Inlined where the kernel's functions, which have the same features, have taken the loops in.
#[inline]
#[target_feature(enable = "neon,aes")]
unsafe fn multiply(a: u64, b: u64) -> One {
    One(vreinterpretq_u64_p128(vmull_p64(a, b)))
}

kernel!(pmull, "neon+pmull", "neon,aes", One, 8: 1 2 3 4 5 6 7 8);
