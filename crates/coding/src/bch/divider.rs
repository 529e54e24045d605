//! Division by the generator polynomial, prepared for data of one length.

use super::generator::Generator;
use super::kernel::Kernel;
use super::portable;

/// The remainder of data * x^r is a sum over 64-bit words of the data: each word times the constant
/// x^(its place) mod g. So no step waits for another, and one division at the end is left over, of a
/// word; that is a multiplication by the reciprocal (Barrett).
///
/// Words are taken in pairs: u c + v d = (u + d) (v + c) + u v + c d (Winograd's inner product), where
/// u v is the same for all words of the constants and the sum of all c d is known beforehand. So each
/// word of a pair's constants costs one multiplication, not two.
pub(super) struct Divider {
    /// Bytes of the data; of the last one `last_mask` says which bits count.
    pub(super) bytes: usize,
    pub(super) last_mask: u8,
    /// Words of a remainder.
    pub(super) words: usize,
    /// See [`Generator`].
    pub(super) low: Vec<u64>,
    pub(super) reciprocal: u64,
    /// Of the kernel that the table is for: see there.
    pub(super) step: usize,
    /// Factors or table of the kernel.
    pub(super) table: Vec<u64>,
    /// The sum of c d over all pairs of constants: a word more than a remainder.
    pub(super) correction: Vec<u64>,
    pub(super) data_bits: usize,
}

impl Divider {
    pub(super) fn new(generator: &Generator, data_bits: usize, kernel: &Kernel) -> Self {
        let (table, correction) = match kernel.loops.step {
            0 => (portable::table(generator), Vec::new()),
            step => constants(generator, data_bits, step, kernel.loops.group),
        };
        let last = (data_bits - 1) % 8;
        Divider {
            bytes: data_bits.div_ceil(8),
            last_mask: 0xff << (7 - last),
            words: generator.low.len(),
            low: generator.low.clone(),
            reciprocal: generator.reciprocal(),
            step: kernel.loops.step,
            table,
            correction,
            data_bits,
        }
    }
}

/// How `words` sums are shared out over passes: as evenly as it goes.
pub(super) fn groups(words: usize, group: usize) -> impl Iterator<Item = usize> {
    let passes = words.div_ceil(group);
    (0..passes).map(move |pass| (words + pass) / passes)
}

/// The constants in the order they are used: pass by pass over the data, step by step, word of the
/// remainder by word; and the correction.
fn constants(generator: &Generator, data_bits: usize, step: usize, group: usize) -> (Vec<u64>, Vec<u64>) {
    let words = generator.low.len();
    let count = data_bits.div_ceil(64);
    let steps = count.div_ceil(step);
    // Places behind the data that the last word reaches to: it stands at x^(r - padding).
    let padding = 64 * count - data_bits;
    let mut constant = generator.low.clone();
    (0..padding).for_each(|_| generator.over_x(&mut constant));
    let mut table = vec![0; steps * step * words];
    let mut correction = vec![0; words + 1];
    let mut second = vec![0; words];
    for word in (0..count).rev() {
        let (mut pass_start, mut sum) = (0, 0);
        for width in groups(words, group) {
            for k in 0..width {
                table[pass_start + ((word / step) * width + k) * step + word % step] = constant[sum + k];
            }
            pass_start += steps * step * width;
            sum += width;
        }
        if word % 2 == 1 {
            second.copy_from_slice(&constant);
        } else if word + 1 < count {
            for k in 0..words {
                let (low, high) = multiply(constant[k], second[k]);
                correction[k] ^= low;
                correction[k + 1] ^= high;
            }
        }
        (0..64).for_each(|_| generator.times_x(&mut constant));
    }
    (table, correction)
}

/// The product of two polynomials: its lower word and its upper one.
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let terms = (0..64).filter(|i| b >> i & 1 == 1).map(|i| u128::from(a) << i);
    let product = terms.fold(0, |sum, term| sum ^ term);
    (product as u64, (product >> 64) as u64)
}
