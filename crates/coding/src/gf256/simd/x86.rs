//! The registers of x86-64. With GFNI a product is one affine transformation; without, two byte
//! shuffles look up the products of the two halves of each byte.

use super::lanes::{self, Vector};
use super::{Kernel, Loops, Part};
use crate::gf256::portable;
use crate::gf256::tables::{MATRICES, NIBBLES};
use std::arch::x86_64::*;

/// The kernels this machine has the instructions for, fastest first.
pub(in super::super) fn available() -> Vec<&'static Kernel> {
    let mut kernels = Vec::new();
    let gfni = is_x86_feature_detected!("gfni");
    if gfni && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
        kernels.push(&gfni512::KERNEL);
    }
    if is_x86_feature_detected!("avx2") {
        if gfni {
            kernels.push(&gfni256::KERNEL);
        }
        kernels.push(&avx2::KERNEL);
    }
    if is_x86_feature_detected!("ssse3") {
        kernels.push(&ssse3::KERNEL);
    }
    kernels
}

/// A register type: its width, how to multiply, and the intrinsics for the rest.
macro_rules! vector {
    ($name:ident($register:ty), $bytes:literal, $zero:expr, $load:expr, $store:expr, $xor:expr, $factor:ty: $of:expr, $mul:expr) => {
        #[derive(Clone, Copy)]
        struct $name($register);

        impl Vector for $name {
            const BYTES: usize = $bytes;
            type Factor = $factor;
            #[inline(always)]
            unsafe fn zero() -> Self {
                $name($zero())
            }
            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                $name($load(from.cast()))
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                $store(to.cast(), self.0)
            }
            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                $name($xor(self.0, other.0))
            }
            #[inline(always)]
            unsafe fn factor(c: u8) -> Self::Factor {
                $of(c)
            }
            #[inline(always)]
            unsafe fn mul(self, factor: Self::Factor) -> Self {
                $name($mul(self.0, factor))
            }
        }
    };
}

vector!(Gfni512(__m512i), 64, _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512,
    __m512i: |c| _mm512_set1_epi64(matrix(c)), _mm512_gf2p8affine_epi64_epi8::<0>);
vector!(Gfni256(__m256i), 32, _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256,
    __m256i: |c| _mm256_set1_epi64x(matrix(c)), _mm256_gf2p8affine_epi64_epi8::<0>);
vector!(Gfni128(__m128i), 16, _mm_setzero_si128, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128,
    __m128i: |c| _mm_set1_epi64x(matrix(c)), _mm_gf2p8affine_epi64_epi8::<0>);
// Half a register, for the 8 bytes of a tag.
vector!(Gfni64(__m128i), 8, _mm_setzero_si128, _mm_loadl_epi64, _mm_storel_epi64, _mm_xor_si128,
    __m128i: |c| _mm_set1_epi64x(matrix(c)), _mm_gf2p8affine_epi64_epi8::<0>);
vector!(Shuffle256(__m256i), 32, _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256,
    [__m256i; 2]: |c| halves(c).map(|half| _mm256_broadcastsi128_si256(half)), shuffle256);
vector!(Shuffle128(__m128i), 16, _mm_setzero_si128, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128,
    [__m128i; 2]: |c| halves(c), shuffle128);
vector!(Shuffle64(__m128i), 8, _mm_setzero_si128, _mm_loadl_epi64, _mm_storel_epi64, _mm_xor_si128,
    [__m128i; 2]: |c| halves(c), shuffle128);

#[inline(always)]
fn matrix(c: u8) -> i64 {
    MATRICES[usize::from(c)].cast_signed()
}

/// The products of `c` with the low and with the high halves of bytes.
#[inline(always)]
unsafe fn halves(c: u8) -> [__m128i; 2] {
    let row = NIBBLES[usize::from(c)].as_ptr();
    [_mm_loadu_si128(row.cast()), _mm_loadu_si128(row.add(16).cast())]
}

#[inline(always)]
unsafe fn shuffle256(bytes: __m256i, [low, high]: [__m256i; 2]) -> __m256i {
    let nibble = _mm256_set1_epi8(15);
    let above = _mm256_and_si256(_mm256_srli_epi64::<4>(bytes), nibble);
    _mm256_xor_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble)), _mm256_shuffle_epi8(high, above))
}

#[inline(always)]
unsafe fn shuffle128(bytes: __m128i, [low, high]: [__m128i; 2]) -> __m128i {
    let nibble = _mm_set1_epi8(15);
    let above = _mm_and_si128(_mm_srli_epi64::<4>(bytes), nibble);
    _mm_xor_si128(_mm_shuffle_epi8(low, _mm_and_si128(bytes, nibble)), _mm_shuffle_epi8(high, above))
}

/// A kernel: each function takes the widest register that the strip fills. Registers a step
/// for 1 to 4 outputs, and for a plain sum: as many as there are registers for.
macro_rules! kernel {
    ($module:ident, $name:literal, $features:literal, [$($vector:ident),+], [$u1:literal, $u2:literal, $u3:literal, $u4:literal], $total:literal) => {
        mod $module {
            use super::*;

            pub(super) static KERNEL: Kernel = Kernel::new($name, Loops { add, mul_add, mul, sums, total });

            #[target_feature(enable = $features)]
            unsafe fn add(sum: &mut [u8], other: &[u8]) {
                $(if sum.len() >= $vector::BYTES {
                    return lanes::add::<$vector>(sum, other);
                })+
                portable::add(sum, other);
            }

            #[target_feature(enable = $features)]
            unsafe fn mul_add(sum: &mut [u8], other: &[u8], c: u8) {
                $(if sum.len() >= $vector::BYTES {
                    return lanes::mul_add::<$vector>(sum, other, c);
                })+
                portable::mul_add(sum, other, c);
            }

            #[target_feature(enable = $features)]
            unsafe fn mul(bytes: &mut [u8], c: u8) {
                $(if bytes.len() >= $vector::BYTES {
                    return lanes::mul::<$vector>(bytes, c);
                })+
                portable::mul(bytes, c);
            }

            #[target_feature(enable = $features)]
            unsafe fn sums(inputs: &[&[u8]], factors: &[u8], outputs: &mut [&mut [u8]], part: Part) {
                let Part { start, end } = part;
                $(if end - start >= $vector::BYTES {
                    return match outputs.len() {
                        1 => lanes::sums::<$vector, 1, $u1>(inputs, factors, outputs, start, end),
                        2 => lanes::sums::<$vector, 2, $u2>(inputs, factors, outputs, start, end),
                        3 => lanes::sums::<$vector, 3, $u3>(inputs, factors, outputs, start, end),
                        _ => lanes::sums::<$vector, 4, $u4>(inputs, factors, outputs, start, end),
                    };
                })+
                portable::sums(inputs, factors, outputs, part);
            }

            #[target_feature(enable = $features)]
            unsafe fn total(inputs: &[&[u8]], output: &mut [u8]) {
                $(if output.len() >= $vector::BYTES {
                    return lanes::total::<$vector, $total>(inputs, output);
                })+
                portable::total(inputs, output);
            }
        }
    };
}

kernel!(gfni512, "avx512+gfni", "avx512f,avx512bw,avx2,gfni", [Gfni512, Gfni256, Gfni128, Gfni64], [4, 4, 4, 4], 8);
kernel!(gfni256, "avx2+gfni", "avx2,gfni", [Gfni256, Gfni128, Gfni64], [4, 4, 2, 2], 8);
kernel!(avx2, "avx2", "avx2", [Shuffle256, Shuffle128, Shuffle64], [2, 2, 2, 2], 8);
kernel!(ssse3, "ssse3", "ssse3", [Shuffle128, Shuffle64], [2, 2, 2, 2], 8);
