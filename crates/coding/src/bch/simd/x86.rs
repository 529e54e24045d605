//! Carry-less multiplication on x86-64, two to eight words a step.

use super::Kernel;
use super::lanes::{Lanes, kernel};
use std::arch::x86_64::*;

/// The kernels this machine has the instructions for, fastest first.
pub(in super::super) fn available() -> Vec<&'static Kernel> {
    let mut kernels = Vec::new();
    let pclmul = is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("avx");
    let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
    if pclmul && is_x86_feature_detected!("vpclmulqdq") && is_x86_feature_detected!("avx2") {
        if avx512 {
            kernels.push(&vpclmulqdq512::KERNEL);
        }
        kernels.push(&vpclmulqdq256::KERNEL);
    }
    if pclmul {
        kernels.push(&pclmulqdq::KERNEL);
    }
    kernels
}

#[derive(Clone, Copy)]
struct One(__m128i);

impl Lanes for One {
    const BYTES: usize = 16;
    #[inline(always)]
    unsafe fn zero() -> Self {
        One(_mm_setzero_si128())
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        One(_mm_loadu_si128(from.cast()))
    }
    #[inline(always)]
    unsafe fn reverse(self) -> Self {
        One(_mm_shuffle_epi8(self.0, reversal()))
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        One(_mm_xor_si128(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn product(self) -> Self {
        One(_mm_clmulepi64_si128::<0x01>(self.0, self.0))
    }
    #[inline(always)]
    unsafe fn total(self) -> [u64; 2] {
        words(self.0)
    }
    #[inline(always)]
    unsafe fn all(word: u64) -> Self {
        One(_mm_set1_epi64x(word.cast_signed()))
    }
    #[inline(always)]
    unsafe fn scale(self, by: Self) -> [Self; 2] {
        [One(_mm_clmulepi64_si128::<0x00>(self.0, by.0)), One(_mm_clmulepi64_si128::<0x01>(self.0, by.0))]
    }
    #[inline(always)]
    unsafe fn join(self, high: Self) -> Self {
        One(_mm_unpacklo_epi64(self.0, high.0))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        _mm_storeu_si128(to.cast(), self.0)
    }
    #[inline(always)]
    unsafe fn multiply(a: u64, b: u64) -> [u64; 2] {
        multiply(a, b)
    }
}

#[derive(Clone, Copy)]
struct Two(__m256i);

impl Lanes for Two {
    const BYTES: usize = 32;
    #[inline(always)]
    unsafe fn zero() -> Self {
        Two(_mm256_setzero_si256())
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        Two(_mm256_loadu_si256(from.cast()))
    }
    #[inline(always)]
    unsafe fn reverse(self) -> Self {
        Two(_mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(reversal())))
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Two(_mm256_xor_si256(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn product(self) -> Self {
        Two(_mm256_clmulepi64_epi128::<0x01>(self.0, self.0))
    }
    #[inline(always)]
    unsafe fn total(self) -> [u64; 2] {
        words(_mm_xor_si128(_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0)))
    }
    #[inline(always)]
    unsafe fn all(word: u64) -> Self {
        Two(_mm256_set1_epi64x(word.cast_signed()))
    }
    #[inline(always)]
    unsafe fn scale(self, by: Self) -> [Self; 2] {
        [Two(_mm256_clmulepi64_epi128::<0x00>(self.0, by.0)), Two(_mm256_clmulepi64_epi128::<0x01>(self.0, by.0))]
    }
    #[inline(always)]
    unsafe fn join(self, high: Self) -> Self {
        Two(_mm256_unpacklo_epi64(self.0, high.0))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        _mm256_storeu_si256(to.cast(), self.0)
    }
    #[inline(always)]
    unsafe fn multiply(a: u64, b: u64) -> [u64; 2] {
        multiply(a, b)
    }
}

#[derive(Clone, Copy)]
struct Four(__m512i);

impl Lanes for Four {
    const BYTES: usize = 64;
    #[inline(always)]
    unsafe fn zero() -> Self {
        Four(_mm512_setzero_si512())
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        Four(_mm512_loadu_si512(from.cast()))
    }
    #[inline(always)]
    unsafe fn reverse(self) -> Self {
        Four(_mm512_shuffle_epi8(self.0, _mm512_broadcast_i32x4(reversal())))
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Four(_mm512_xor_si512(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn product(self) -> Self {
        Four(_mm512_clmulepi64_epi128::<0x01>(self.0, self.0))
    }
    #[inline(always)]
    unsafe fn total(self) -> [u64; 2] {
        let half = _mm256_xor_si256(_mm512_castsi512_si256(self.0), _mm512_extracti64x4_epi64::<1>(self.0));
        words(_mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half)))
    }
    #[inline(always)]
    unsafe fn all(word: u64) -> Self {
        Four(_mm512_set1_epi64(word.cast_signed()))
    }
    #[inline(always)]
    unsafe fn scale(self, by: Self) -> [Self; 2] {
        [Four(_mm512_clmulepi64_epi128::<0x00>(self.0, by.0)), Four(_mm512_clmulepi64_epi128::<0x01>(self.0, by.0))]
    }
    #[inline(always)]
    unsafe fn join(self, high: Self) -> Self {
        Four(_mm512_unpacklo_epi64(self.0, high.0))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        _mm512_storeu_si512(to.cast(), self.0)
    }
    #[inline(always)]
    unsafe fn multiply(a: u64, b: u64) -> [u64; 2] {
        multiply(a, b)
    }
}

#[inline(always)]
unsafe fn reversal() -> __m128i {
    _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
}

#[inline(always)]
unsafe fn words(lane: __m128i) -> [u64; 2] {
    [_mm_cvtsi128_si64(lane).cast_unsigned(), _mm_extract_epi64::<1>(lane).cast_unsigned()]
}

#[inline(always)]
unsafe fn multiply(a: u64, b: u64) -> [u64; 2] {
    words(_mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(a.cast_signed()), _mm_cvtsi64_si128(b.cast_signed())))
}

kernel!(vpclmulqdq512, "avx512+vpclmulqdq", "avx512f,avx512bw,vpclmulqdq,pclmulqdq,avx2", Four, 16: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
kernel!(vpclmulqdq256, "avx2+vpclmulqdq", "avx2,vpclmulqdq,pclmulqdq", Two, 8: 1 2 3 4 5 6 7 8);
kernel!(pclmulqdq, "pclmulqdq", "pclmulqdq,avx", One, 8: 1 2 3 4 5 6 7 8);
