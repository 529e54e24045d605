//! Layered normalised min-sum on one register of LLRs a step, written once for every width. All arithmetic is on bytes
//! and exact, so every width gives the same bits.

use super::super::layout::{Layout, TAIL, Turn};
use super::rows::{Block, double, flip, syndrome};
use super::workspace::{Buffers, Levels};
use crate::ldpc::{Limits, Outcome};

/// Magnitudes of what bits tell checks are cut off here, so that the LLR of a bit in four checks, a channel value of at
/// most 31 and four messages of at most 3/4 of this, fits into a byte. Sums are saturated for the few bits in five checks.
const MOST: i8 = 32;

/// A register of signed bytes, some read as unsigned. Its functions may only be called where the instruction set that the type
/// stands for exists; they are inlined into functions that are compiled for it.
pub(in super::super) trait Lanes: Copy {
    /// Bytes of a register: 16, 32 or 64.
    const BYTES: usize;
    unsafe fn splat(value: i8) -> Self;
    unsafe fn load(from: *const i8) -> Self;
    unsafe fn store(self, to: *mut i8);
    /// Sum and difference, saturated.
    unsafe fn plus(self, other: Self) -> Self;
    unsafe fn minus(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// The absolute value, unsigned.
    unsafe fn abs(self) -> Self;
    /// Unsigned minimum and maximum.
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    /// `then` where the bytes are equal to those of `other`, otherwise `or`.
    unsafe fn where_equal(self, other: Self, then: Self, or: Self) -> Self;
    /// Minus the byte where that of `sign` is negative; bytes are not negative.
    unsafe fn with_sign(self, sign: Self) -> Self;
    /// Each byte, which is at most 127, divided by 4 and rounded to the nearest, halves up.
    unsafe fn quarter(self) -> Self;
    /// `then` where the bit is set, of as many bits as there are bytes, otherwise `or`.
    unsafe fn where_set(bits: *const u8, then: Self, or: Self) -> Self;
    /// The sign bits, as many as there are bytes.
    unsafe fn signs(self, to: *mut u8);
}

/// Message of checks to bits for a smallest magnitude: 3/4 of it.
#[inline(always)]
unsafe fn message<V: Lanes>(smallest: V) -> V {
    let cut = smallest.min(V::splat(MOST));
    cut.minus(cut.quarter())
}

/// Decodes the word in the buffers in place; their data and parity stand in the first half of each doubled block.
#[inline(always)]
pub(super) unsafe fn decode<V: Lanes, B: Block>(
    layout: &Layout,
    buffers: &mut Buffers,
    levels: &Levels,
    limits: &Limits,
) -> Option<Outcome> {
    let word = buffers.word.words_mut();
    double::<B>(buffers.read.words().cast(), layout.columns, word);
    if syndrome::<B>(&layout.checks, layout.rows, word, buffers.sums.words_mut()) {
        return Some(Outcome { iterations: 0, flips: 0, corrected: 0 });
    }
    if limits.flipping {
        if let Some(flips) = flip_rounds::<B>(layout, buffers) {
            return Some(finish::<B>(layout, buffers, false, Outcome { iterations: 0, flips, corrected: 0 }));
        }
        double::<B>(buffers.read.words().cast(), layout.columns, word);
    }
    for again in 0..=DOUBTED.len() {
        if again > 0 {
            // A small set of wrong bits holds itself up where few checks are left failing: what those say counts for too little.
            if !limits.doubting || weight::<B>(layout.rows, buffers.sums.words()) * DOUBTING_SHARE > layout.rows * layout.z {
                return None;
            }
            double::<B>(buffers.read.words().cast(), layout.columns, word);
        }
        start::<V, B>(layout, buffers, levels);
        if again > 0 {
            weaken::<V, B>(layout, buffers, DOUBTED[again - 1]);
        }
        if let Some(iterations) = iterate::<V, B>(layout, buffers, limits.iterations) {
            let iterations = again as u32 * limits.iterations + iterations;
            return Some(finish::<B>(layout, buffers, true, Outcome { iterations, flips: 0, corrected: 0 }));
        }
    }
    None
}

/// Words are tried again only if at most one of this many checks fails.
const DOUBTING_SHARE: usize = 40;
/// Magnitude of a doubted bit at most, by further try.
const DOUBTED: [i8; 4] = [12, 8, 4, 2];

/// Iterations of min-sum until all checks hold: how many it took.
#[inline(always)]
unsafe fn iterate<V: Lanes, B: Block>(layout: &Layout, buffers: &mut Buffers, most: u32) -> Option<u32> {
    for iteration in 1..=most {
        if iteration == 1 {
            pass::<V, true>(layout, buffers)
        } else {
            pass::<V, false>(layout, buffers)
        };
        decide::<V, B>(layout, buffers);
        if syndrome::<B>(&layout.turned_checks, layout.rows, buffers.word.words(), buffers.sums.words_mut()) {
            return Some(iteration);
        }
    }
    None
}

/// Cuts what is known of the bits of failing checks off at a magnitude.
#[inline(always)]
unsafe fn weaken<V: Lanes, B: Block>(layout: &Layout, buffers: &mut Buffers, most: i8) {
    let (z, spare) = (layout.z, buffers.spare.words_mut());
    for column in 0..layout.columns {
        let sums = buffers.sums.words();
        let mut doubted = B::zero();
        for turn in layout.sums.group(column) {
            doubted = doubted.or(B::turned(sums, *turn));
        }
        if doubted.is_zero() {
            continue;
        }
        doubted.store_twice(spare);
        let last = layout.last[column];
        let turn = Turn { word: last.word - (2 * column * B::WORDS) as u32, bits: last.bits };
        B::turned(spare, turn).store(spare.add(2 * B::WORDS));
        let llrs = buffers.llrs.bytes_mut().add(column * (z + TAIL));
        for chunk in (0..z).step_by(V::BYTES) {
            let bits = spare.add(2 * B::WORDS).cast_const().cast::<u8>().add(chunk / 8);
            let value = V::load(llrs.add(chunk));
            let weak = value.abs().min(V::splat(most)).with_sign(value);
            keep(llrs, z, chunk, V::where_set(bits, weak, value));
        }
    }
}

/// Rounds of bit flipping until all checks hold; nothing where too many fail from the start, or a round does not help.
/// While many fail, only bits of which all checks fail are flipped, then those of which three do, or two if they were flipped.
#[inline(always)]
unsafe fn flip_rounds<B: Block>(layout: &Layout, buffers: &mut Buffers) -> Option<u32> {
    let checks = layout.rows * layout.z;
    let mut failing = weight::<B>(layout.rows, buffers.sums.words());
    if failing * FLIPPING_SHARE > checks {
        return None;
    }
    let (mut three, mut useless) = (failing * THREE_SHARE < checks, 0);
    for round in 1..=FLIPPING_ROUNDS {
        let (word, sums, spare) = (buffers.word.words_mut(), buffers.sums.words_mut(), buffers.spare.words_mut());
        flip::<B>(layout, buffers.read.words(), word, sums, spare, three);
        let left = weight::<B>(layout.rows, sums);
        if left == 0 {
            return Some(round);
        }
        useless += usize::from(left >= failing);
        if useless > USELESS {
            return None;
        }
        // Among few failing checks three of a bit are enough, unless that has just been of no use; among many only
        // where flipping for all four hardly helps.
        three = if left * THREE_SHARE < checks { left < failing || !three } else { !three && left * 4 > failing * 3 };
        failing = left;
    }
    None
}

/// Rounds that may leave as many checks failing as before.
const USELESS: usize = 1;
/// Bits are flipped only if at most one of this many checks fails.
const FLIPPING_SHARE: usize = 7;
/// Bits of which three checks fail are flipped if fewer than one of this many checks fail.
const THREE_SHARE: usize = 20;
/// Rounds of bit flipping before min-sum takes over.
const FLIPPING_ROUNDS: u32 = 10;

/// Checks that fail.
#[inline(always)]
unsafe fn weight<B: Block>(rows: usize, sums: *const u64) -> usize {
    let mut weight = 0;
    for row in 0..rows {
        weight += row_weight::<B>(sums.add(2 * row * B::WORDS)) as usize;
    }
    weight
}

#[inline(always)]
unsafe fn row_weight<B: Block>(at: *const u64) -> u32 {
    let mut weight = 0;
    for word in 0..B::WORDS {
        weight += (*at.add(word)).count_ones();
    }
    weight
}

/// Channel information of each bit, block by block in the order in which the last row leaves it.
#[inline(always)]
unsafe fn start<V: Lanes, B: Block>(layout: &Layout, buffers: &mut Buffers, levels: &Levels) {
    let (z, spare) = (layout.z, buffers.spare.words_mut());
    for (plane, twice) in levels.planes.iter().zip(&mut buffers.planes) {
        double::<B>(plane.as_ptr(), layout.columns, twice.words_mut());
    }
    let [a, b, c, d] = levels.magnitudes;
    let magnitudes = [V::splat(a), V::splat(b), V::splat(c), V::splat(d)];
    for column in 0..layout.columns {
        let turn = layout.last[column];
        let sources = [buffers.word.words(), buffers.planes[0].words(), buffers.planes[1].words()];
        for (at, source) in sources.iter().take(1 + levels.planes.len()).enumerate() {
            B::turned(*source, turn).store(spare.add(at * B::WORDS));
        }
        let llrs = buffers.llrs.bytes_mut().add(column * (z + TAIL));
        for chunk in (0..z).step_by(V::BYTES) {
            let bits = spare.cast_const().cast::<u8>().add(chunk / 8);
            let (low, high) = (bits.add(8 * B::WORDS), bits.add(16 * B::WORDS));
            let magnitude = match levels.planes.len() {
                0 => magnitudes[0],
                1 => V::where_set(low, magnitudes[1], magnitudes[0]),
                _ => {
                    let strong = V::where_set(low, magnitudes[3], magnitudes[2]);
                    V::where_set(high, strong, V::where_set(low, magnitudes[1], magnitudes[0]))
                }
            };
            keep(llrs, z, chunk, V::where_set(bits, V::splat(0).minus(magnitude), magnitude));
        }
    }
}

/// Stores a register of LLRs, those of the first [`TAIL`] bits behind the last one as well.
#[inline(always)]
unsafe fn keep<V: Lanes>(llrs: *mut i8, z: usize, chunk: usize, value: V) {
    value.store(llrs.add(chunk));
    if chunk < TAIL {
        value.store(llrs.add(z + chunk));
    }
}

/// One iteration: every row once.
#[inline(always)]
unsafe fn pass<V: Lanes, const FIRST: bool>(layout: &Layout, buffers: &mut Buffers) {
    for row in 0..layout.rows {
        layer::<V, FIRST>(layout, row, buffers);
    }
}

/// One row: Z checks. In the first iteration all messages are 0 and not read.
#[inline(always)]
unsafe fn layer<V: Lanes, const FIRST: bool>(layout: &Layout, row: usize, buffers: &mut Buffers) {
    let (edges, z) = (layout.edges.group(row), layout.z);
    let (llrs, extrinsic) = (buffers.llrs.bytes_mut(), buffers.extrinsic.bytes_mut());
    let messages = buffers.messages.bytes_mut().add(layout.edges.start(row) * z);
    let mut found = [[V::splat(0); 4]; 16];
    for (at, found) in found.iter_mut().take(z / V::BYTES).enumerate() {
        let (chunk, first) = (at * V::BYTES, at * edges.len());
        let (mut least, mut second, mut sign) = (V::splat(127), V::splat(127), V::splat(0));
        for (i, edge) in edges.iter().enumerate() {
            let place = edge.base as usize + ((edge.shift as usize + chunk) & (z - 1));
            let mut value = V::load(llrs.add(place));
            if !FIRST {
                value = value.minus(V::load(messages.add((first + i) * V::BYTES)));
            }
            value.store(extrinsic.add((first + i) * V::BYTES));
            let magnitude = value.abs();
            second = second.min(least.max(magnitude));
            least = least.min(magnitude);
            sign = sign.xor(value);
        }
        *found = [least, message(least), message(second), sign];
    }
    for (at, [least, usual, at_least, sign]) in found.iter().take(z / V::BYTES).enumerate() {
        let (chunk, first) = (at * V::BYTES, at * edges.len());
        for (i, edge) in edges.iter().enumerate() {
            let value = V::load(extrinsic.add((first + i) * V::BYTES));
            let message = value.abs().where_equal(*least, *at_least, *usual).with_sign(sign.xor(value));
            message.store(messages.add((first + i) * V::BYTES));
            keep(llrs.add(edge.base as usize), z, chunk, value.plus(message));
        }
    }
}

/// The signs of the LLRs as bits of the word, in the order of the last row.
#[inline(always)]
unsafe fn decide<V: Lanes, B: Block>(layout: &Layout, buffers: &mut Buffers) {
    for column in 0..layout.columns {
        let llrs = buffers.llrs.bytes_mut().add(column * (layout.z + TAIL));
        let to = buffers.word.words_mut().add(2 * column * B::WORDS);
        for chunk in (0..layout.z).step_by(V::BYTES) {
            let signs = V::load(llrs.add(chunk));
            signs.signs(to.cast::<u8>().add(chunk / 8));
            signs.signs(to.add(B::WORDS).cast::<u8>().add(chunk / 8));
        }
    }
}

/// Puts the word into its order, counts what was corrected, and leaves it where it was read from.
#[inline(always)]
unsafe fn finish<B: Block>(layout: &Layout, buffers: &mut Buffers, turned: bool, mut outcome: Outcome) -> Outcome {
    let spare = buffers.spare.words_mut();
    for column in 0..layout.columns {
        let block = if turned {
            B::turned(buffers.word.words(), layout.back[column])
        } else {
            B::load(buffers.word.words().add(2 * column * B::WORDS).cast())
        };
        let read = buffers.read.words_mut().add(column * B::WORDS);
        block.xor(B::load(read.cast_const().cast())).store(spare);
        outcome.corrected += row_weight::<B>(spare);
        block.store(read);
    }
    outcome
}
