//! The loops, once for all registers of 16-byte lanes that multiply without carries.

use crate::bch::divider::Divider;
use crate::bch::field::Field;

/// A register of 16-byte lanes.
pub(super) trait Lanes: Copy {
    const BYTES: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    /// The bytes of each lane in reverse: its two big-endian words, the second one first.
    unsafe fn reverse(self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The product of the two words of each lane.
    unsafe fn product(self) -> Self;
    /// The sum of all lanes.
    unsafe fn total(self) -> [u64; 2];
    /// A word in all places.
    unsafe fn all(word: u64) -> Self;
    /// The products of the lower and of the upper words of the lanes with those words of another.
    unsafe fn scale(self, by: Self) -> [Self; 2];
    /// The lower words of two registers, in the lanes of one.
    unsafe fn join(self, high: Self) -> Self;
    unsafe fn store(self, to: *mut u32);
    /// The product of two words: its lower one and its upper one.
    unsafe fn multiply(a: u64, b: u64) -> [u64; 2];
}

/// The data as whole steps and a last one, which may be short: that one is copied and filled up.
pub(super) struct Steps<'a> {
    data: &'a [u8],
    whole: usize,
    last: [u8; 64],
}

impl<'a> Steps<'a> {
    #[inline(always)]
    pub(super) fn new(divider: &Divider, data: &'a [u8], bytes: usize) -> Self {
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
pub(super) unsafe fn sums<L: Lanes, const B: usize>(steps: &Steps, mut table: *const u8, products: &mut [u64]) -> *const u8 {
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
        let [low, high] = sum.add(pairs).total();
        products[k] ^= low;
        products[k + 1] ^= high;
    }
    table
}

/// Takes the word behind the remainder off: it goes into the generator `quotient` times.
#[inline(always)]
pub(super) unsafe fn barrett<L: Lanes>(divider: &Divider, products: &[u64], remainder: &mut [u64]) {
    let top = products[divider.words];
    let quotient = top ^ L::multiply(top, divider.reciprocal)[1];
    let mut carry = 0;
    for ((word, product), low) in remainder.iter_mut().zip(products).zip(&divider.low) {
        let [lower, upper] = L::multiply(quotient, *low);
        *word = product ^ lower ^ carry;
        carry = upper;
    }
}

/// Adds the combination of `rows` from one slot on to `sum`, `R` registers of it. Slots are 32 bits, so a
/// word holds two elements, and its product with a third two products that do not touch.
#[inline(always)]
pub(super) unsafe fn combine<L: Lanes, const R: usize>(
    field: &Field,
    mut row: *const u32,
    width: usize,
    factors: &[u16],
    sum: &mut [u16],
) {
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
            use crate::bch::divider::{Divider, groups};
            use crate::bch::field::Field;
            use crate::bch::kernel::{Kernel, Loops};
            use crate::bch::simd::lanes::{self, Lanes, Steps};
            use crate::bch::syndromes::Syndromes;
            use crate::bch::{MAX_T, WORDS};

            pub(super) static KERNEL: Kernel =
                Kernel::new($name, Loops { step: $lanes::BYTES / 8, group: $group, remainder, syndromes, combine });

            #[target_feature(enable = $features)]
            unsafe fn remainder(divider: &Divider, data: &[u8], remainder: &mut [u64]) {
                let steps = Steps::new(divider, data, $lanes::BYTES);
                let mut products = [0; WORDS + 1];
                products[..=divider.words].copy_from_slice(&divider.correction);
                let mut table = divider.table.as_ptr().cast();
                let mut first = 0;
                for width in groups(divider.words, $group) {
                    let products = &mut products[first..=first + width];
                    table = match width {
                        $($width => lanes::sums::<$lanes, $width>(&steps, table, products),)+
                        _ => unreachable!("a group of {width}"),
                    };
                    first += width;
                }
                lanes::barrett::<$lanes>(divider, &products, remainder);
            }

            #[target_feature(enable = $features)]
            unsafe fn combine(field: &Field, rows: &[u32], width: usize, factors: &[u16], sum: &mut [u16]) {
                let slots = $lanes::BYTES / 4;
                let mut row = rows.as_ptr();
                for sum in sum.chunks_mut(4 * slots) {
                    match sum.len().div_ceil(slots) {
                        1 => lanes::combine::<$lanes, 1>(field, row, width, factors, sum),
                        2 => lanes::combine::<$lanes, 2>(field, row, width, factors, sum),
                        3 => lanes::combine::<$lanes, 3>(field, row, width, factors, sum),
                        _ => lanes::combine::<$lanes, 4>(field, row, width, factors, sum),
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

pub(super) use kernel;
