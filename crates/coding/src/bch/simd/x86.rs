//! Carry-less multiplication on x86-64, two to eight words a step.

use super::{Divider, Kernel};
use crate::bch::MAX_T;
use crate::bch::divider::groups;
use crate::bch::field::Field;
use crate::bch::syndromes::Syndromes;
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

/// A register of 16-byte lanes.
trait Lanes: Copy {
    const BYTES: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    /// The bytes of each lane in reverse: its two big-endian words, the second one first.
    unsafe fn reverse(self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The product of the two words of each lane.
    unsafe fn product(self) -> Self;
    /// The sum of all lanes.
    unsafe fn total(self) -> __m128i;
    /// A word in all places.
    unsafe fn all(word: u64) -> Self;
    /// The products of the lower and of the upper words of the lanes with those words of another.
    unsafe fn scale(self, by: Self) -> [Self; 2];
    /// The lower words of two registers, in the lanes of one.
    unsafe fn join(self, high: Self) -> Self;
    unsafe fn store(self, to: *mut u32);
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
    unsafe fn total(self) -> __m128i {
        self.0
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
    unsafe fn total(self) -> __m128i {
        _mm_xor_si128(_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0))
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
    unsafe fn total(self) -> __m128i {
        let half = _mm256_xor_si256(_mm512_castsi512_si256(self.0), _mm512_extracti64x4_epi64::<1>(self.0));
        _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
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
}

#[inline(always)]
unsafe fn reversal() -> __m128i {
    _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
}

/// The data as whole steps and a last one, which may be short: that one is copied and filled up.
struct Steps<'a> {
    data: &'a [u8],
    whole: usize,
    last: [u8; 64],
}

impl<'a> Steps<'a> {
    #[inline(always)]
    fn new(divider: &Divider, data: &'a [u8], bytes: usize) -> Self {
        let mut whole = data.len() / bytes;
        if divider.last_mask != 0xff && whole * bytes == data.len() {
            whole -= 1;
        }
        let mut last = [0; 64];
        let rest = &data[whole * bytes..];
        last[..rest.len()].copy_from_slice(rest);
        if !rest.is_empty() {
            last[rest.len() - 1] &= divider.last_mask;
        }
        Steps { data, whole, last }
    }
}

/// `B` sums of products, and where the constants of the next ones stand. A lane holds its first word
/// above its second one, and beside them the constants the other way round (see [`Divider`]).
#[inline(always)]
unsafe fn sums<L: Lanes, const B: usize>(steps: &Steps, mut table: *const u8, products: &mut [u64]) -> *const u8 {
    let mut sums = [L::zero(); B];
    let mut pairs = L::zero();
    let short = usize::from(steps.whole * L::BYTES < steps.data.len());
    for step in 0..steps.whole + short {
        let from = if step < steps.whole { steps.data.as_ptr().add(step * L::BYTES) } else { steps.last.as_ptr() };
        let words = L::load(from).reverse();
        pairs = pairs.add(words.product());
        for sum in &mut sums {
            *sum = sum.add(words.add(L::load(table)).product());
            table = table.add(L::BYTES);
        }
    }
    // Each sum is a product of two words: it reaches into the next one.
    for (k, sum) in sums.into_iter().enumerate() {
        let total = sum.add(pairs).total();
        products[k] ^= _mm_cvtsi128_si64(total).cast_unsigned();
        products[k + 1] ^= _mm_extract_epi64::<1>(total).cast_unsigned();
    }
    table
}

/// Takes the word behind the remainder off: it goes into the generator `quotient` times.
#[inline(always)]
unsafe fn barrett(divider: &Divider, products: &[u64], remainder: &mut [u64]) {
    let top = products[divider.words];
    let multiply = |a: u64, b: u64| {
        let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(a.cast_signed()), _mm_cvtsi64_si128(b.cast_signed()));
        (_mm_cvtsi128_si64(product).cast_unsigned(), _mm_extract_epi64::<1>(product).cast_unsigned())
    };
    let quotient = top ^ multiply(top, divider.reciprocal).1;
    let mut carry = 0;
    for ((word, product), low) in remainder.iter_mut().zip(products).zip(&divider.low) {
        let (lower, upper) = multiply(quotient, *low);
        *word = product ^ lower ^ carry;
        carry = upper;
    }
}

/// Adds the combination of `rows` from one slot on to `sum`, `R` registers of it. Slots are 32 bits, so a
/// word holds two elements, and its product with a third two products that do not touch.
#[inline(always)]
unsafe fn combine<L: Lanes, const R: usize>(field: &Field, mut row: *const u32, width: usize, factors: &[u16], sum: &mut [u16]) {
    const { assert!(R <= 4) };
    let slots = L::BYTES / 4;
    let mut products = [[L::zero(); 2]; R];
    for factor in factors {
        let by = L::all(u64::from(*factor));
        for (i, product) in products.iter_mut().enumerate() {
            let [low, high] = L::load(row.add(i * slots).cast()).scale(by);
            *product = [product[0].add(low), product[1].add(high)];
        }
        row = row.add(width);
    }
    let mut reduced = [0; 64];
    for (i, [low, high]) in products.into_iter().enumerate() {
        low.join(high).store(reduced.as_mut_ptr().add(i * slots));
    }
    for (s, product) in sum.iter_mut().zip(reduced) {
        *s ^= field.reduce(product);
    }
}

/// A kernel: a register, its features, and how many sums fit the registers of the machine.
macro_rules! kernel {
    ($module:ident, $name:literal, $features:literal, $lanes:ident, $group:literal: $($width:literal)+) => {
        mod $module {
            use super::*;

            pub(super) static KERNEL: Kernel = Kernel { name: $name, step: $lanes::BYTES / 8, group: $group, remainder, syndromes, combine };

            #[target_feature(enable = $features)]
            unsafe fn remainder(divider: &Divider, data: &[u8], remainder: &mut [u64]) {
                let steps = Steps::new(divider, data, $lanes::BYTES);
                let mut products = [0; crate::bch::WORDS + 1];
                products[..=divider.words].copy_from_slice(&divider.correction);
                let mut table = divider.table.as_ptr().cast();
                let mut first = 0;
                for width in groups(divider.words, $group) {
                    let products = &mut products[first..=first + width];
                    table = match width {
                        $($width => sums::<$lanes, $width>(&steps, table, products),)+
                        _ => unreachable!("a group of {width}"),
                    };
                    first += width;
                }
                barrett(divider, &products, remainder);
            }

            #[target_feature(enable = $features)]
            unsafe fn combine(field: &Field, rows: &[u32], width: usize, factors: &[u16], sum: &mut [u16]) {
                let slots = $lanes::BYTES / 4;
                let mut row = rows.as_ptr();
                for sum in sum.chunks_mut(4 * slots) {
                    match sum.len().div_ceil(slots) {
                        1 => super::combine::<$lanes, 1>(field, row, width, factors, sum),
                        2 => super::combine::<$lanes, 2>(field, row, width, factors, sum),
                        3 => super::combine::<$lanes, 3>(field, row, width, factors, sum),
                        _ => super::combine::<$lanes, 4>(field, row, width, factors, sum),
                    }
                    row = row.add(sum.len());
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn syndromes(syndromes: &Syndromes, remainder: &[u64], odd: &mut [u16; MAX_T]) {
                syndromes.compute(remainder, odd);
            }
        }
    };
}

kernel!(vpclmulqdq512, "avx512+vpclmulqdq", "avx512f,avx512bw,vpclmulqdq,pclmulqdq,avx2", Four, 16: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
kernel!(vpclmulqdq256, "avx2+vpclmulqdq", "avx2,vpclmulqdq,pclmulqdq", Two, 8: 1 2 3 4 5 6 7 8);
kernel!(pclmulqdq, "pclmulqdq", "pclmulqdq,avx", One, 8: 1 2 3 4 5 6 7 8);
