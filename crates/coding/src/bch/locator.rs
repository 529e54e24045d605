//! From syndromes to the error locator polynomial: Berlekamp and Massey, with Berlekamp's halving for
//! binary codes, where every other discrepancy is zero.

use super::MAX_T;
use super::field::Field;

/// A polynomial in both forms, lowest coefficient first.
struct Both<const N: usize> {
    values: [u16; N],
    logs: [u32; N],
    degree: usize,
}

/// The error locator polynomial 1 + (sum of X) x + .. + (product of X) x^e, X over the locators of the
/// errors; an error at x^p of the codeword has the locator a^p. `odd` holds S1, S3 .. S(2t-1).
///
/// Writes it backwards, so that its roots are the locators themselves, without the 1, which is then its
/// highest term; the answer is its degree. `None` if more than t bits are wrong.
pub(super) fn find(field: &Field, odd: &[u16], monic: &mut [u16; MAX_T]) -> Option<usize> {
    match odd.len() {
        0..16 => recurrence::<16>(field, odd, monic),
        16..64 => recurrence::<64>(field, odd, monic),
        _ => recurrence::<{ MAX_T + 1 }>(field, odd, monic),
    }
}

/// The shortest recurrence that generates all 2t syndromes, if its length is at most t and its last
/// coefficient is not 0. `N` is more than t.
fn recurrence<const N: usize>(field: &Field, odd: &[u16], monic: &mut [u16; MAX_T]) -> Option<usize> {
    let t = odd.len();
    let mut backwards = [0; 2 * MAX_T];
    let backwards = &mut backwards[..2 * t];
    write_backwards(field, odd, backwards);
    let (mut current, mut before) = (&mut Both::<N>::one(field), &mut Both::<N>::one(field));
    let (mut length, mut shift, mut log_before) = (0, 1, 0);
    for (k, syndrome) in odd.iter().enumerate() {
        // S(2k), S(2k-1) .. against the coefficients of x, x^2 ..
        let earlier = &backwards[2 * t - 2 * k..];
        let terms = current.logs[1..=length].iter().zip(earlier).map(|(c, s)| field.power(c + s));
        let discrepancy = syndrome ^ terms.fold(0, |sum, term| sum ^ term);
        if discrepancy == 0 {
            shift += 2;
            continue;
        }
        let log = field.log(discrepancy);
        let factor = field.log_ratio(log, log_before);
        if length <= k {
            length = 2 * k + 1 - length;
            if length > t {
                return None;
            }
            before.shift_and_add(field, factor, shift, current);
            std::mem::swap(&mut current, &mut before);
            (log_before, shift) = (log, 2);
        } else {
            current.add(field, before, factor, shift);
            shift += 2;
        }
    }
    for (to, from) in monic[..length].iter_mut().zip(current.values[1..=length].iter().rev()) {
        *to = *from;
    }
    (monic[0] != 0).then_some(length)
}

/// Logarithms of S(2t), S(2t-1) .. S1; that of S(2i) is twice that of S(i).
fn write_backwards(field: &Field, odd: &[u16], logs: &mut [u32]) {
    let last = logs.len();
    for i in 1..=last {
        logs[last - i] = if i % 2 == 1 { field.log(odd[i / 2]) } else { field.log_square(logs[last - i / 2]) };
    }
}

impl<const N: usize> Both<N> {
    fn one(field: &Field) -> Self {
        let mut one = Both { values: [0; N], logs: [field.zero(); N], degree: 0 };
        (one.values[0], one.logs[0]) = (1, 0);
        one
    }

    #[inline(always)]
    fn set(&mut self, field: &Field, i: usize, value: u16) {
        (self.values[i], self.logs[i]) = (value, field.log(value));
    }

    /// `self` += a^factor x^shift `other`.
    fn add(&mut self, field: &Field, other: &Self, factor: u32, shift: usize) {
        for (i, log) in other.logs[..=other.degree].iter().enumerate() {
            self.set(field, i + shift, self.values[i + shift] ^ field.power(log + factor));
        }
        self.degree = self.degree.max(other.degree + shift);
    }

    /// `self` = a^factor x^shift `self` + `other`.
    fn shift_and_add(&mut self, field: &Field, factor: u32, shift: usize, other: &Self) {
        self.degree = other.degree.max(self.degree + shift);
        // From the top: what is read has not been written yet.
        for i in (shift..=self.degree).rev() {
            self.set(field, i, other.values[i] ^ field.power(self.logs[i - shift] + factor));
        }
        self.values[..shift].copy_from_slice(&other.values[..shift]);
        self.logs[..shift].copy_from_slice(&other.logs[..shift]);
    }
}
