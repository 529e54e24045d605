//! The registers of x86-64.

use super::lanes::{self, Lanes};
use super::rows::{self, Block, Words};
use super::workspace::{Buffers, Levels};
use super::{Kernel, Layout, Loops};
use crate::ldpc::{Limits, Outcome};
use std::arch::x86_64::*;

/// The kernels this machine has the instructions for, fastest first.
pub(in super::super) fn available() -> Vec<&'static Kernel> {
    let mut kernels = Vec::new();
    let wide =
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl");
    if wide && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        kernels.push(&avx512::KERNEL);
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        kernels.push(&avx2::KERNEL);
    }
    kernels
}

/// A block of 128 or 256 bits in one register.
macro_rules! block {
    (
        $name:ident($register:ty), $words:literal, $zero:ident, $load:ident, $store:ident, $xor:ident, $and:ident, $or:ident,
        $right:ident, $left:ident, $test:ident
    ) => {
        #[derive(Clone, Copy)]
        struct $name($register);

        impl Block for $name {
            const WORDS: usize = $words;
            #[inline(always)]
            unsafe fn zero() -> Self {
                $name($zero())
            }
            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                $name($load(from.cast()))
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut u64) {
                $store(to.cast(), self.0)
            }
            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                $name($xor(self.0, other.0))
            }
            #[inline(always)]
            unsafe fn and(self, other: Self) -> Self {
                $name($and(self.0, other.0))
            }
            #[inline(always)]
            unsafe fn or(self, other: Self) -> Self {
                $name($or(self.0, other.0))
            }
            #[inline(always)]
            unsafe fn funnel(from: *const u64, bits: u32) -> Self {
                // A shift by 64 leaves nothing.
                let (right, left) = (_mm_cvtsi32_si128(bits.cast_signed()), _mm_cvtsi32_si128(64 - bits.cast_signed()));
                let (low, high) = ($load(from.cast()), $load(from.add(1).cast()));
                $name($xor($right(low, right), $left(high, left)))
            }
            #[inline(always)]
            unsafe fn is_zero(self) -> bool {
                $test(self.0, self.0) == 1
            }
        }
    };
}

block!(
    Half(__m128i),
    2,
    _mm_setzero_si128,
    _mm_loadu_si128,
    _mm_storeu_si128,
    _mm_xor_si128,
    _mm_and_si128,
    _mm_or_si128,
    _mm_srl_epi64,
    _mm_sll_epi64,
    _mm_testz_si128
);
block!(
    Full(__m256i),
    4,
    _mm256_setzero_si256,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_xor_si256,
    _mm256_and_si256,
    _mm256_or_si256,
    _mm256_srl_epi64,
    _mm256_sll_epi64,
    _mm256_testz_si256
);

#[derive(Clone, Copy)]
struct Bytes32(__m256i);

impl Lanes for Bytes32 {
    const BYTES: usize = 32;
    #[inline(always)]
    unsafe fn splat(value: i8) -> Self {
        Bytes32(_mm256_set1_epi8(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const i8) -> Self {
        Bytes32(_mm256_loadu_si256(from.cast()))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut i8) {
        _mm256_storeu_si256(to.cast(), self.0)
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Bytes32(_mm256_adds_epi8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Bytes32(_mm256_subs_epi8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Bytes32(_mm256_xor_si256(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Bytes32(_mm256_abs_epi8(self.0))
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Bytes32(_mm256_min_epu8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Bytes32(_mm256_max_epu8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn where_equal(self, other: Self, then: Self, or: Self) -> Self {
        Bytes32(_mm256_blendv_epi8(or.0, then.0, _mm256_cmpeq_epi8(self.0, other.0)))
    }
    #[inline(always)]
    unsafe fn with_sign(self, sign: Self) -> Self {
        // The instruction makes 0 of bytes whose sign byte is 0.
        Bytes32(_mm256_sign_epi8(self.0, _mm256_or_si256(sign.0, _mm256_set1_epi8(1))))
    }
    #[inline(always)]
    unsafe fn quarter(self) -> Self {
        let halves_up = _mm256_add_epi8(self.0, _mm256_set1_epi8(2));
        Bytes32(_mm256_and_si256(_mm256_srli_epi16::<2>(halves_up), _mm256_set1_epi8(63)))
    }
    #[inline(always)]
    unsafe fn where_set(bits: *const u8, then: Self, or: Self) -> Self {
        let all = _mm256_set1_epi32(bits.cast::<i32>().read_unaligned());
        let byte_of = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
        let bit_of = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let bit = _mm256_and_si256(_mm256_shuffle_epi8(all, byte_of), bit_of);
        Bytes32(_mm256_blendv_epi8(or.0, then.0, _mm256_cmpeq_epi8(bit, bit_of)))
    }
    #[inline(always)]
    unsafe fn signs(self, to: *mut u8) {
        to.cast::<i32>().write_unaligned(_mm256_movemask_epi8(self.0));
    }
}

#[derive(Clone, Copy)]
struct Bytes64(__m512i);

impl Lanes for Bytes64 {
    const BYTES: usize = 64;
    #[inline(always)]
    unsafe fn splat(value: i8) -> Self {
        Bytes64(_mm512_set1_epi8(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const i8) -> Self {
        Bytes64(_mm512_loadu_si512(from.cast()))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut i8) {
        _mm512_storeu_si512(to.cast(), self.0)
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Bytes64(_mm512_adds_epi8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Bytes64(_mm512_subs_epi8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Bytes64(_mm512_xor_si512(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Bytes64(_mm512_abs_epi8(self.0))
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Bytes64(_mm512_min_epu8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Bytes64(_mm512_max_epu8(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn where_equal(self, other: Self, then: Self, or: Self) -> Self {
        Bytes64(_mm512_mask_blend_epi8(_mm512_cmpeq_epi8_mask(self.0, other.0), or.0, then.0))
    }
    #[inline(always)]
    unsafe fn with_sign(self, sign: Self) -> Self {
        Bytes64(_mm512_mask_sub_epi8(self.0, _mm512_movepi8_mask(sign.0), _mm512_setzero_si512(), self.0))
    }
    #[inline(always)]
    unsafe fn quarter(self) -> Self {
        let halves_up = _mm512_add_epi8(self.0, _mm512_set1_epi8(2));
        Bytes64(_mm512_and_si512(_mm512_srli_epi16::<2>(halves_up), _mm512_set1_epi8(63)))
    }
    #[inline(always)]
    unsafe fn where_set(bits: *const u8, then: Self, or: Self) -> Self {
        Bytes64(_mm512_mask_blend_epi8(bits.cast::<u64>().read_unaligned(), or.0, then.0))
    }
    #[inline(always)]
    unsafe fn signs(self, to: *mut u8) {
        to.cast::<u64>().write_unaligned(_mm512_movepi8_mask(self.0));
    }
}

// Operations on bits alone are the same for both kernels: with AVX-512 the compiler gathers words of the smallest blocks into
// registers, which takes longer than to do them one by one.

#[target_feature(enable = "avx2,popcnt")]
unsafe fn encode(layout: &Layout, data: &[u8], buffers: &mut Buffers) {
    match layout.words() {
        1 => rows::encode_from::<Words<1>>(layout, data, buffers),
        2 => rows::encode_from::<Half>(layout, data, buffers),
        _ => rows::encode_from::<Full>(layout, data, buffers),
    }
}

#[target_feature(enable = "avx2,popcnt")]
unsafe fn syndrome(layout: &Layout, buffers: &mut Buffers) -> bool {
    match layout.words() {
        1 => rows::check::<Words<1>>(layout, buffers),
        2 => rows::check::<Half>(layout, buffers),
        _ => rows::check::<Full>(layout, buffers),
    }
}

/// A kernel: the decoder compiled for an instruction set, by words of a block.
macro_rules! kernel {
    ($module:ident, $name:literal, $features:literal, $lanes:ty) => {
        mod $module {
            use super::*;

            pub(super) static KERNEL: Kernel = Kernel::new($name, Loops { encode, syndrome, decode });

            #[target_feature(enable = $features)]
            unsafe fn decode(layout: &Layout, buffers: &mut Buffers, levels: &Levels, limits: &Limits) -> Option<Outcome> {
                match layout.words() {
                    1 => lanes::decode::<$lanes, Words<1>>(layout, buffers, levels, limits),
                    2 => lanes::decode::<$lanes, Half>(layout, buffers, levels, limits),
                    _ => lanes::decode::<$lanes, Full>(layout, buffers, levels, limits),
                }
            }
        }
    };
}

kernel!(avx512, "avx512", "avx512f,avx512bw,avx512vl,avx2,popcnt", Bytes64);
kernel!(avx2, "avx2", "avx2,popcnt", Bytes32);
