//! The registers of 64-bit Arm. Blocks of bits are words: the compiler joins them in pairs.

use super::lanes::{self, Lanes};
use super::rows::{self, Words};
use super::workspace::{Buffers, Levels};
use super::{Kernel, Layout, Loops};
use crate::ldpc::{Limits, Outcome};
use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

/// The kernels this machine has the instructions for.
pub(in super::super) fn available() -> Vec<&'static Kernel> {
    if is_aarch64_feature_detected!("neon") { vec![&KERNEL] } else { Vec::new() }
}

static KERNEL: Kernel = Kernel::new("neon", Loops { encode, syndrome, decode });

#[derive(Clone, Copy)]
struct Neon16(int8x16_t);

impl Neon16 {
    #[inline(always)]
    unsafe fn unsigned(self) -> uint8x16_t {
        vreinterpretq_u8_s8(self.0)
    }

    #[inline(always)]
    unsafe fn bit_of() -> uint8x16_t {
        vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201))
    }
}

impl Lanes for Neon16 {
    const BYTES: usize = 16;
    #[inline(always)]
    unsafe fn splat(value: i8) -> Self {
        Neon16(vdupq_n_s8(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const i8) -> Self {
        Neon16(vld1q_s8(from))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut i8) {
        vst1q_s8(to, self.0)
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Neon16(vqaddq_s8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Neon16(vqsubq_s8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Neon16(veorq_s8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Neon16(vabsq_s8(self.0))
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Neon16(vreinterpretq_s8_u8(vminq_u8(self.unsigned(), other.unsigned())))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Neon16(vreinterpretq_s8_u8(vmaxq_u8(self.unsigned(), other.unsigned())))
    }
    #[inline(always)]
    unsafe fn where_equal(self, other: Self, then: Self, or: Self) -> Self {
        Neon16(vbslq_s8(vceqq_s8(self.0, other.0), then.0, or.0))
    }
    #[inline(always)]
    unsafe fn with_sign(self, sign: Self) -> Self {
        Neon16(vbslq_s8(vcltzq_s8(sign.0), vnegq_s8(self.0), self.0))
    }
    #[inline(always)]
    unsafe fn quarter(self) -> Self {
        Neon16(vrshrq_n_s8::<2>(self.0))
    }
    #[inline(always)]
    unsafe fn where_set(bits: *const u8, then: Self, or: Self) -> Self {
        let bytes = vcombine_u8(vdup_n_u8(*bits), vdup_n_u8(*bits.add(1)));
        Neon16(vbslq_s8(vtstq_u8(bytes, Self::bit_of()), then.0, or.0))
    }
    #[inline(always)]
    unsafe fn signs(self, to: *mut u8) {
        let bits = vandq_u8(vcltzq_s8(self.0), Self::bit_of());
        *to = vaddv_u8(vget_low_u8(bits));
        *to.add(1) = vaddv_u8(vget_high_u8(bits));
    }
}

#[target_feature(enable = "neon")]
unsafe fn encode(layout: &Layout, data: &[u8], buffers: &mut Buffers) {
    match layout.words() {
        1 => rows::encode_from::<Words<1>>(layout, data, buffers),
        2 => rows::encode_from::<Words<2>>(layout, data, buffers),
        _ => rows::encode_from::<Words<4>>(layout, data, buffers),
    }
}

#[target_feature(enable = "neon")]
unsafe fn syndrome(layout: &Layout, buffers: &mut Buffers) -> bool {
    match layout.words() {
        1 => rows::check::<Words<1>>(layout, buffers),
        2 => rows::check::<Words<2>>(layout, buffers),
        _ => rows::check::<Words<4>>(layout, buffers),
    }
}

#[target_feature(enable = "neon")]
unsafe fn decode(layout: &Layout, buffers: &mut Buffers, levels: &Levels, limits: &Limits) -> Option<Outcome> {
    match layout.words() {
        1 => lanes::decode::<Neon16, Words<1>>(layout, buffers, levels, limits),
        2 => lanes::decode::<Neon16, Words<2>>(layout, buffers, levels, limits),
        _ => lanes::decode::<Neon16, Words<4>>(layout, buffers, levels, limits),
    }
}
