//! The generator polynomial of a code, and division by it one bit at a time: slow, and only done when
//! a code is made.

use super::field::Field;

/// A monic polynomial g over GF(2) as a divisor. Remainders stand *left-aligned* in 64-bit words, the
/// least significant first: multiplied by x^s, where s fills up the last word.
pub(super) struct Generator {
    /// Its degree, r: the parity bits of the code.
    pub(super) degree: usize,
    /// (g - x^r) x^s, in ceil(r/64) words.
    pub(super) low: Vec<u64>,
}

impl Generator {
    /// The product of the minimal polynomials of a, a^3 .. a^(2t-1), each once; then a, a^2 .. a^2t are
    /// roots, because a root's square is a root.
    pub(super) fn new(field: &Field, t: usize) -> Self {
        // Coefficients of g, lowest first.
        let mut product = vec![true];
        let mut is_root = vec![false; field.n as usize];
        for exponent in (1..2 * t as u32).step_by(2) {
            if is_root[exponent as usize] {
                continue;
            }
            let mut conjugate = exponent;
            while !is_root[conjugate as usize] {
                is_root[conjugate as usize] = true;
                conjugate = field.log_square(conjugate);
            }
            product = multiply(&product, &minimal(field, exponent));
        }
        let degree = product.len() - 1;
        let words = degree.div_ceil(64);
        let mut low = vec![0; words];
        for i in (0..degree).filter(|i| product[*i]) {
            let place = 64 * words - degree + i;
            low[place / 64] |= 1 << (place % 64);
        }
        Generator { degree, low }
    }

    /// The word that a multiple of g is subtracted for when a remainder is shifted by 64 places:
    /// floor(x^(r+64) / g) without its highest term.
    pub(super) fn reciprocal(&self) -> u64 {
        // Divide x^r by g, and go on for 64 places behind the point.
        let mut rest = self.low.clone();
        (0..64).fold(0, |quotient, _| {
            let bit = rest[rest.len() - 1] >> 63;
            self.times_x(&mut rest);
            quotient << 1 | bit
        })
    }

    /// remainder * x mod g.
    pub(super) fn times_x(&self, remainder: &mut [u64]) {
        let mut carry = 0;
        for word in &mut *remainder {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        if carry == 1 {
            self.add_low(remainder);
        }
    }

    /// remainder / x mod g: g ends in 1, so one of the remainder and its sum with g is divisible.
    pub(super) fn over_x(&self, remainder: &mut [u64]) {
        let unit = 1 << ((64 - self.degree % 64) % 64);
        let mut carry = u64::from(remainder[0] & unit != 0);
        if carry == 1 {
            self.add_low(remainder);
        }
        for word in remainder.iter_mut().rev() {
            (*word, carry) = (*word >> 1 | carry << 63, *word & 1);
        }
    }

    fn add_low(&self, remainder: &mut [u64]) {
        for (word, low) in remainder.iter_mut().zip(&self.low) {
            *word ^= low;
        }
    }
}

/// The product of x - c over all conjugates c of a^exponent: its coefficients are 0 and 1.
fn minimal(field: &Field, exponent: u32) -> Vec<bool> {
    let mut product = vec![1u16];
    let mut conjugate = exponent;
    loop {
        let root = field.power(conjugate);
        product.push(0);
        for i in (0..product.len()).rev() {
            let below = if i > 0 { product[i - 1] } else { 0 };
            product[i] = below ^ field.mul(product[i], root);
        }
        conjugate = field.log_square(conjugate);
        if conjugate == exponent {
            return product.iter().map(|c| *c == 1).collect();
        }
    }
}

fn multiply(a: &[bool], b: &[bool]) -> Vec<bool> {
    let mut product = vec![false; a.len() + b.len() - 1];
    for (i, _) in a.iter().enumerate().filter(|(_, bit)| **bit) {
        for (p, bit) in product[i..].iter_mut().zip(b) {
            *p ^= bit;
        }
    }
    product
}
