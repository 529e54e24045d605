//! From the remainder to the syndromes: each bit of it adds its powers of the roots.

use super::MAX_T;
use super::field::Field;

/// The odd syndromes of each power of x below the degree of the generator.
pub(super) struct Syndromes {
    degree: usize,
    /// Elements of a row: t, filled up to one of a few lengths that the compiler knows.
    width: usize,
    /// Row p has a^p, a^3p .. a^((2t-1)p), then zeros.
    rows: Vec<u16>,
}

impl Syndromes {
    pub(super) fn new(field: &Field, t: usize, degree: usize) -> Self {
        let width = t.next_power_of_two().max(8);
        let mut rows = vec![0; width * degree];
        for (p, row) in (0u32..).zip(rows.chunks_exact_mut(width)) {
            let (mut log, step) = (p % field.n, 2 * p % field.n);
            for syndrome in &mut row[..t] {
                *syndrome = field.power(log);
                log = (log + step) % field.n;
            }
        }
        Syndromes { degree, width, rows }
    }

    /// S1, S3 .. S(2t-1) of a left-aligned remainder.
    #[inline(always)]
    pub(super) fn compute(&self, remainder: &[u64], odd: &mut [u16; MAX_T]) {
        match self.width {
            8 => self.add_rows::<8>(remainder, odd),
            16 => self.add_rows::<16>(remainder, odd),
            32 => self.add_rows::<32>(remainder, odd),
            64 => self.add_rows::<64>(remainder, odd),
            _ => self.add_rows::<MAX_T>(remainder, odd),
        }
    }

    #[inline(always)]
    fn add_rows<const N: usize>(&self, remainder: &[u64], odd: &mut [u16; MAX_T]) {
        let (rows, _) = self.rows.as_chunks::<N>();
        let behind = 64 * remainder.len() - self.degree;
        let mut sum = [0; N];
        for (k, word) in remainder.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let row = &rows[64 * k + bits.trailing_zeros() as usize - behind];
                for (s, r) in sum.iter_mut().zip(row) {
                    *s ^= r;
                }
                bits &= bits - 1;
            }
        }
        odd[..N].copy_from_slice(&sum);
    }
}
