//! From syndromes to the error locator polynomial: Berlekamp and Massey, with Berlekamp's halving for
//! binary codes, where every other discrepancy is zero.

use super::MAX_T;
use super::field::Field;

/// 1 + (sum of X) x + .. + (product of X) x^e, X over the locators of the errors: an error at x^p of the
/// codeword has the locator a^p.
pub(super) struct Locator {
    pub(super) degree: usize,
    pub(super) coefficients: [u16; MAX_T + 1],
}

/// A polynomial in both forms.
struct Both {
    values: [u16; MAX_T + 1],
    logs: [u32; MAX_T + 1],
    degree: usize,
}

/// The shortest recurrence that generates all 2t syndromes, if its length is at most t and its last
/// coefficient is not 0: otherwise more than t bits are wrong. `odd` holds S1, S3 .. S(2t-1).
pub(super) fn find(field: &Field, odd: &[u16]) -> Option<Locator> {
    let t = odd.len();
    let backwards = &syndromes_backwards(field, odd)[..2 * t];
    let (mut current, mut before) = (&mut Both::one(field), &mut Both::one(field));
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
    (current.values[length] != 0).then_some(Locator { degree: length, coefficients: current.values })
}

/// Logarithms of S(2t), S(2t-1) .. S1; that of S(2i) is twice that of S(i).
fn syndromes_backwards(field: &Field, odd: &[u16]) -> [u32; 2 * MAX_T] {
    let t = odd.len();
    let mut logs = [0; 2 * MAX_T];
    for i in 1..=2 * t {
        logs[2 * t - i] = if i % 2 == 1 { field.log(odd[i / 2]) } else { field.log_square(logs[2 * t - i / 2]) };
    }
    logs
}

impl Both {
    fn one(field: &Field) -> Self {
        let mut one = Both { values: [0; MAX_T + 1], logs: [field.zero(); MAX_T + 1], degree: 0 };
        (one.values[0], one.logs[0]) = (1, 0);
        one
    }

    #[inline(always)]
    fn set(&mut self, field: &Field, i: usize, value: u16) {
        (self.values[i], self.logs[i]) = (value, field.log(value));
    }

    /// `self` += a^factor x^shift `other`.
    fn add(&mut self, field: &Field, other: &Both, factor: u32, shift: usize) {
        for (i, log) in other.logs[..=other.degree].iter().enumerate() {
            self.set(field, i + shift, self.values[i + shift] ^ field.power(log + factor));
        }
        self.degree = self.degree.max(other.degree + shift);
    }

    /// `self` = a^factor x^shift `self` + `other`.
    fn shift_and_add(&mut self, field: &Field, factor: u32, shift: usize, other: &Both) {
        self.degree = other.degree.max(self.degree + shift);
        // From the top: what is read has not been written yet.
        for i in (shift..=self.degree).rev() {
            self.set(field, i, other.values[i] ^ field.power(self.logs[i - shift] + factor));
        }
        self.values[..shift].copy_from_slice(&other.values[..shift]);
        self.logs[..shift].copy_from_slice(&other.logs[..shift]);
    }
}
