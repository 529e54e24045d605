//! Blocks of Z bits, and what the encoder, the check sums and the bit-flipping stage do with them: written once for every
//! register.

use super::super::base::{DATA, GAP};
use super::super::layout::{Grouped, Layout, Turn};
use super::workspace::Buffers;

/// A block of Z bits. As with [`super::lanes::Lanes`], its functions may only be called where its instructions exist.
pub(in super::super) trait Block: Copy {
    /// 64-bit words of a block.
    const WORDS: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u64);
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    /// The bits from `bits` on, below 64, of the words from `from` on.
    unsafe fn funnel(from: *const u64, bits: u32) -> Self;
    unsafe fn is_zero(self) -> bool;

    #[inline(always)]
    unsafe fn turned(buffer: *const u64, turn: Turn) -> Self {
        Self::funnel(buffer.add(turn.word as usize), turn.bits)
    }

    #[inline(always)]
    unsafe fn store_twice(self, to: *mut u64) {
        self.store(to);
        self.store(to.add(Self::WORDS));
    }
}

/// Words of a block, for every machine.
#[derive(Clone, Copy)]
pub(in super::super) struct Words<const W: usize>([u64; W]);

impl<const W: usize> Block for Words<W> {
    const WORDS: usize = W;
    #[inline(always)]
    unsafe fn zero() -> Self {
        Words([0; W])
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        Words(std::array::from_fn(|word| from.cast::<u64>().add(word).read_unaligned()))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        for (word, value) in self.0.iter().enumerate() {
            to.add(word).write(*value);
        }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Words(std::array::from_fn(|word| self.0[word] ^ other.0[word]))
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        Words(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }
    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        Words(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
    #[inline(always)]
    unsafe fn funnel(from: *const u64, bits: u32) -> Self {
        if W == 1 {
            return Words([from.read().rotate_right(bits); W]);
        }
        Words(std::array::from_fn(|word| (from.add(word).read() >> bits) | (from.add(word + 1).read() << 1 << (63 - bits))))
    }
    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// The sum of some blocks of a buffer.
#[inline(always)]
pub(super) unsafe fn sum<B: Block>(buffer: *const u64, turns: &[Turn]) -> B {
    let (mut even, mut odd) = (B::zero(), B::zero());
    let (pairs, rest) = turns.as_chunks::<2>();
    for [a, b] in pairs {
        even = even.xor(B::turned(buffer, *a));
        odd = odd.xor(B::turned(buffer, *b));
    }
    for turn in rest {
        even = even.xor(B::turned(buffer, *turn));
    }
    even.xor(odd)
}

/// Stores the blocks of `from` twice each.
#[inline(always)]
pub(super) unsafe fn double<B: Block>(from: *const u8, blocks: usize, to: *mut u64) {
    for block in 0..blocks {
        B::load(from.add(8 * block * B::WORDS)).store_twice(to.add(2 * block * B::WORDS));
    }
}

/// The check sums of a word, each block stored twice; whether all are 0.
#[inline(always)]
pub(super) unsafe fn syndrome<B: Block>(checks: &Grouped<Turn>, rows: usize, word: *const u64, sums: *mut u64) -> bool {
    let mut any = B::zero();
    for row in 0..rows {
        let total = sum::<B>(word, checks.group(row));
        total.store_twice(sums.add(2 * row * B::WORDS));
        any = any.or(total);
    }
    any.is_zero()
}

/// Parity blocks of the data in `word`, whose blocks are stored twice: see [`super::super::layout::Encoder`].
/// `parity` and `sums` have room for as many blocks as there are rows, twice each.
#[inline(always)]
pub(super) unsafe fn encode<B: Block>(layout: &Layout, word: *const u64, parity: *mut u64, sums: *mut u64, spare: *mut u64) {
    let (encoder, solved) = (&layout.encoder, layout.rows - GAP);
    let mut wanted = [B::zero(); GAP];
    for row in 0..layout.rows {
        let total = sum::<B>(word, encoder.data.group(row)).xor(sum::<B>(parity, encoder.below.group(row)));
        if row < solved {
            total.store_twice(parity.add(2 * row * B::WORDS));
        } else {
            wanted[row - solved] = total;
        }
    }
    gap::<B>(&encoder.inverse, &wanted, parity.add(2 * solved * B::WORDS), spare);
    // Changes of the last blocks in the others: T^-1 B times them, found by the same substitution.
    for row in 0..solved {
        let change = sum::<B>(parity, encoder.gap.group(row)).xor(sum::<B>(sums, encoder.below.group(row)));
        change.store_twice(sums.add(2 * row * B::WORDS));
    }
    for row in 0..solved {
        let (at, to) = (sums.add(2 * row * B::WORDS), parity.add(2 * row * B::WORDS));
        B::load(to.cast_const().cast()).xor(B::load(at.cast_const().cast())).store(to);
    }
}

/// The last parity blocks: the inverse times what the last rows want, four bits a step. `spare` has room for a block, twice.
#[inline(always)]
unsafe fn gap<B: Block>(inverse: &[u64], wanted: &[B; GAP], to: *mut u64, spare: *mut u64) {
    let bytes = 8 * B::WORDS;
    // Products with the even fours of bits, and with the odd ones: those are turned by 4 in the end.
    let mut sums = [[B::zero(); 2]; GAP];
    for (column, wanted) in wanted.iter().enumerate() {
        wanted.store(spare);
        for byte in 0..bytes {
            let fours = *spare.cast_const().cast::<u8>().add(byte);
            for (row, sums) in sums.iter_mut().enumerate() {
                // x^8byte: a turn by whole bytes is a load from elsewhere in a block stored twice.
                let table = inverse.as_ptr().add((row * GAP + column) * 32 * B::WORDS).cast::<u8>().add((bytes - byte) % bytes);
                sums[0] = sums[0].xor(B::load(table.add(usize::from(fours & 15) * 2 * bytes)));
                sums[1] = sums[1].xor(B::load(table.add(usize::from(fours >> 4) * 2 * bytes)));
            }
        }
    }
    for (row, [even, odd]) in sums.iter().enumerate() {
        odd.store_twice(spare);
        let back = 64 * B::WORDS as u32 - 4;
        let odd = B::turned(spare, Turn { word: back / 64, bits: back % 64 });
        even.xor(odd).store_twice(to.add(2 * row * B::WORDS));
    }
}

/// One round of bit flipping over all columns: flips the bits of which all checks fail, with `three` also those of which three of
/// four do, and those that differ from what was read of which two do. Check sums follow at once, so that later columns see what
/// earlier ones have changed.
#[inline(always)]
pub(super) unsafe fn flip<B: Block>(
    layout: &Layout,
    read: *const u64,
    word: *mut u64,
    sums: *mut u64,
    spare: *mut u64,
    three: bool,
) {
    for column in 0..layout.columns {
        let failing = match layout.sums.group(column) {
            [a, b, c, d] => {
                let (a, b) = (B::turned(sums, *a), B::turned(sums, *b));
                let (c, d) = (B::turned(sums, *c), B::turned(sums, *d));
                let (both, others) = (a.and(b), c.and(d));
                if three {
                    let (either, other) = (a.or(b), c.or(d));
                    let at = word.add(2 * column * B::WORDS).cast_const().cast();
                    let changed = B::load(at).xor(B::load(read.add(column * B::WORDS).cast()));
                    let two = both.or(others).or(either.and(other));
                    both.and(other).or(others.and(either)).or(changed.and(two))
                } else {
                    both.and(others)
                }
            }
            turns => many::<B>(sums, turns),
        };
        if failing.is_zero() {
            continue;
        }
        let at = word.add(2 * column * B::WORDS);
        B::load(at.cast_const().cast()).xor(failing).store_twice(at);
        failing.store_twice(spare);
        for (row, turn) in layout.marks.group(column) {
            let at = sums.add(2 * *row as usize * B::WORDS);
            B::load(at.cast_const().cast()).xor(B::turned(spare, *turn)).store_twice(at);
        }
    }
}

/// Bits of which all check sums fail, or all but one.
#[inline(always)]
unsafe fn many<B: Block>(sums: *const u64, turns: &[Turn]) -> B {
    let [first, second, rest @ ..] = turns else { return B::zero() };
    let (first, second) = (B::turned(sums, *first), B::turned(sums, *second));
    let (mut all, mut but_one) = (first.and(second), first.or(second));
    for turn in rest {
        let fails = B::turned(sums, *turn);
        but_one = but_one.and(fails).or(all);
        all = all.and(fails);
    }
    but_one
}

/// The parity of the data, as many blocks as there are rows, from the start of the buffer of the word on.
#[inline(always)]
pub(super) unsafe fn encode_from<B: Block>(layout: &Layout, data: &[u8], buffers: &mut Buffers) {
    let (word, sums, spare) = (buffers.word.words_mut(), buffers.sums.words_mut(), buffers.spare.words_mut());
    double::<B>(data.as_ptr(), DATA, word);
    let parity = word.add(2 * DATA * B::WORDS);
    encode::<B>(layout, word, parity, sums, spare);
    for row in 0..layout.rows {
        B::load(parity.add(2 * row * B::WORDS).cast_const().cast()).store(buffers.read.words_mut().add(row * B::WORDS));
    }
}

/// Whether all checks of the word hold.
#[inline(always)]
pub(super) unsafe fn check<B: Block>(layout: &Layout, buffers: &mut Buffers) -> bool {
    double::<B>(buffers.read.words().cast(), layout.columns, buffers.word.words_mut());
    syndrome::<B>(&layout.checks, layout.rows, buffers.word.words(), buffers.sums.words_mut())
}
