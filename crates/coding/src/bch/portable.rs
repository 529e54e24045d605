//! Look-ups, for every machine; division takes four bytes a step.

use super::divider::Divider;
use super::field::Field;
use super::generator::Generator;

const SLICES: usize = 4;

/// Of each value v of each byte of a 32-bit word, v * 256^slice * x^r mod g.
pub(super) fn table(generator: &Generator) -> Vec<u64> {
    let words = generator.low.len();
    let mut table = vec![0; SLICES * 256 * words];
    let mut power = generator.low.clone();
    for bit in 0..8 * SLICES {
        let (slice, bit) = (bit / 8, bit % 8);
        for value in 1 << bit..2 << bit {
            for k in 0..words {
                let rest = table[(slice * 256 + value - (1 << bit)) * words + k];
                table[(slice * 256 + value) * words + k] = rest ^ power[k];
            }
        }
        generator.times_x(&mut power);
    }
    table
}

pub(super) fn remainder(divider: &Divider, data: &[u8], remainder: &mut [u64]) {
    remainder.fill(0);
    let whole = divider.data_bits / 8;
    let (fours, rest) = data[..whole].as_chunks::<4>();
    let words = divider.words;
    let row = |slice: usize, value: u64| &divider.table[(slice * 256 + (value & 0xff) as usize) * words..][..words];
    for four in fours {
        let top = remainder[words - 1] >> 32 ^ u64::from(u32::from_be_bytes(*four));
        let rows = [row(0, top), row(1, top >> 8), row(2, top >> 16), row(3, top >> 24)];
        let mut carry = 0;
        for (k, word) in remainder.iter_mut().enumerate() {
            let sum = rows[0][k] ^ rows[1][k] ^ rows[2][k] ^ rows[3][k];
            (*word, carry) = ((*word << 32 | carry) ^ sum, *word >> 32);
        }
    }
    for byte in rest {
        let top = remainder[words - 1] >> 56 ^ u64::from(*byte);
        shift(remainder, 8, row(0, top));
    }
    for bit in 0..divider.data_bits % 8 {
        let top = remainder[words - 1] >> 63 ^ u64::from(data[whole] >> (7 - bit) & 1);
        shift(remainder, 1, row(0, top));
    }
}

fn shift(remainder: &mut [u64], places: u32, row: &[u64]) {
    let mut carry = 0;
    for (word, sum) in remainder.iter_mut().zip(row) {
        (*word, carry) = ((*word << places | carry) ^ sum, *word >> (64 - places));
    }
}

/// Rows hold logarithms.
pub(super) fn combine(field: &Field, rows: &[u32], width: usize, factors: &[u16], sum: &mut [u16]) {
    for (row, factor) in rows.chunks_exact(width).zip(factors).filter(|(_, factor)| **factor != 0) {
        let log = field.log(*factor);
        for (s, r) in sum.iter_mut().zip(row) {
            *s ^= field.power(r + log);
        }
    }
}
