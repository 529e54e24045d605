//! The field as its definition says it, bit by bit: the explanation of what the kernels compute, and
//! the twin they are tested against. The tables are computed from it at compile time.

use super::POLYNOMIAL;

/// The product of `a` and `b`: multiply as polynomials over GF(2), then subtract the field's
/// polynomial from the top down until the degree is below 8.
#[must_use]
pub const fn mul(a: u8, b: u8) -> u8 {
    let mut product = 0u16;
    let mut bit = 0;
    while bit < 8 {
        if b >> bit & 1 == 1 {
            product ^= (a as u16) << bit;
        }
        bit += 1;
    }
    let mut degree = 14;
    while degree >= 8 {
        if product >> degree & 1 == 1 {
            product ^= POLYNOMIAL << (degree - 8);
        }
        degree -= 1;
    }
    product as u8
}

/// `sum += c * other`, byte by byte.
pub fn mul_add(sum: &mut [u8], other: &[u8], c: u8) {
    assert_eq!(sum.len(), other.len(), "strips of one stripe have one length");
    for (s, o) in sum.iter_mut().zip(other) {
        *s ^= mul(*o, c);
    }
}
