//! The loops on arrays of bytes, for every machine.

use super::lanes::{self, Lanes};
use super::rows::{self, Words};
use super::workspace::{Buffers, Levels};
use super::{Kernel, Layout, Loops};
use crate::ldpc::{Limits, Outcome};

pub(in super::super) static KERNEL: Kernel = Kernel::new("portable", Loops { encode, syndrome, decode });

#[derive(Clone, Copy)]
struct Bytes16([i8; 16]);

impl Bytes16 {
    #[inline(always)]
    fn each(self, other: Self, of: impl Fn(i8, i8) -> i8) -> Self {
        Bytes16(std::array::from_fn(|at| of(self.0[at], other.0[at])))
    }
}

impl Lanes for Bytes16 {
    const BYTES: usize = 16;
    #[inline(always)]
    unsafe fn splat(value: i8) -> Self {
        Bytes16([value; 16])
    }
    #[inline(always)]
    unsafe fn load(from: *const i8) -> Self {
        Bytes16(from.cast::<[i8; 16]>().read_unaligned())
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut i8) {
        to.cast::<[i8; 16]>().write_unaligned(self.0);
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        self.each(other, i8::saturating_add)
    }
    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        self.each(other, i8::saturating_sub)
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.each(other, |a, b| a ^ b)
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Bytes16(self.0.map(|a| a.unsigned_abs().cast_signed()))
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        self.each(other, |a, b| a.cast_unsigned().min(b.cast_unsigned()).cast_signed())
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.each(other, |a, b| a.cast_unsigned().max(b.cast_unsigned()).cast_signed())
    }
    #[inline(always)]
    unsafe fn where_equal(self, other: Self, then: Self, or: Self) -> Self {
        Bytes16(std::array::from_fn(|at| if self.0[at] == other.0[at] { then.0[at] } else { or.0[at] }))
    }
    #[inline(always)]
    unsafe fn with_sign(self, sign: Self) -> Self {
        self.each(sign, |a, sign| if sign < 0 { -a } else { a })
    }
    #[inline(always)]
    unsafe fn quarter(self) -> Self {
        Bytes16(self.0.map(|a| (a + 2) >> 2))
    }
    #[inline(always)]
    unsafe fn where_set(bits: *const u8, then: Self, or: Self) -> Self {
        let bits = u16::from_le_bytes(bits.cast::<[u8; 2]>().read_unaligned());
        Bytes16(std::array::from_fn(|at| if bits >> at & 1 == 1 { then.0[at] } else { or.0[at] }))
    }
    #[inline(always)]
    unsafe fn signs(self, to: *mut u8) {
        let bits = self.0.iter().enumerate().fold(0_u16, |bits, (at, a)| bits | u16::from(*a < 0) << at);
        to.cast::<[u8; 2]>().write_unaligned(bits.to_le_bytes());
    }
}

unsafe fn encode(layout: &Layout, data: &[u8], buffers: &mut Buffers) {
    match layout.words() {
        1 => rows::encode_from::<Words<1>>(layout, data, buffers),
        2 => rows::encode_from::<Words<2>>(layout, data, buffers),
        _ => rows::encode_from::<Words<4>>(layout, data, buffers),
    }
}

unsafe fn syndrome(layout: &Layout, buffers: &mut Buffers) -> bool {
    match layout.words() {
        1 => rows::check::<Words<1>>(layout, buffers),
        2 => rows::check::<Words<2>>(layout, buffers),
        _ => rows::check::<Words<4>>(layout, buffers),
    }
}

unsafe fn decode(layout: &Layout, buffers: &mut Buffers, levels: &Levels, limits: &Limits) -> Option<Outcome> {
    match layout.words() {
        1 => lanes::decode::<Bytes16, Words<1>>(layout, buffers, levels, limits),
        2 => lanes::decode::<Bytes16, Words<2>>(layout, buffers, levels, limits),
        _ => lanes::decode::<Bytes16, Words<4>>(layout, buffers, levels, limits),
    }
}
