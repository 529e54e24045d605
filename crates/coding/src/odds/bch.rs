//! Codes that correct up to t bit errors of a codeword, and fail at more: BCH codes.
//!
//! Sources: Indaco et al., FLARES, Eq. 1 (UBER); Guo et al., DA-RAID-5, Eq. 3 (yield). Bit errors
//! are independent, as in both papers; a failed decoding is always noticed.

use super::binomial::{ln_head, ln_tail};

/// The size of a code that corrects a chosen number of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BchSize {
    /// Data bits of a codeword.
    pub data_bits: u32,
    /// Parity bits for each error that can be corrected: the degree m of the field GF(2^m).
    /// 0 leaves parity out of account.
    pub parity_per_error: u32,
}

/// Denominator of the UBER: uncorrectable codewords are divided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Bits of the codeword, parity included: FLARES, Eq. 1.
    CodewordBit,
    /// Data bits: JESD218.
    DataBit,
}

impl BchSize {
    /// 4 KiB over GF(2^16): one codeword a page.
    pub const KIB_4: Self = Self { data_bits: 32_768, parity_per_error: 16 };
    /// 2 KiB over GF(2^15).
    pub const KIB_2: Self = Self { data_bits: 16_384, parity_per_error: 15 };
    /// 1 KiB over GF(2^14).
    pub const KIB_1: Self = Self { data_bits: 8_192, parity_per_error: 14 };
    /// 512 bytes over GF(2^13).
    pub const BYTES_512: Self = Self { data_bits: 4_096, parity_per_error: 13 };

    /// Bits of a codeword that corrects `t` errors.
    #[must_use]
    pub fn length(self, t: u32) -> u64 {
        u64::from(self.data_bits) + u64::from(self.parity_per_error) * u64::from(t)
    }

    /// The most errors such a code can correct: a codeword over GF(2^m) has less than 2^m bits.
    #[must_use]
    pub fn t_max(self) -> u32 {
        match self.parity_per_error {
            0 => self.data_bits - 1,
            m if m < 32 => ((1u32 << m) - 1).saturating_sub(self.data_bits) / m,
            m => (u32::MAX - self.data_bits) / m,
        }
    }

    /// `ln` of the probability that a codeword has more than `t` errors.
    ///
    /// # Panics
    /// If `rber` is no probability.
    #[must_use]
    pub fn ln_failure(self, t: u32, rber: f64) -> f64 {
        ln_tail(self.length(t), t.into(), rber)
    }

    /// `ln` of the probability that all of `codewords` can be corrected (Eq. 3 for one).
    ///
    /// # Panics
    /// If `rber` is no probability.
    #[must_use]
    pub fn ln_yield(self, t: u32, rber: f64, codewords: u32) -> f64 {
        f64::from(codewords) * ln_head(self.length(t), t.into(), rber)
    }

    /// `ln` of the uncorrectable bit error rate: failures of a codeword, for each bit.
    ///
    /// # Panics
    /// If `rber` is no probability.
    #[must_use]
    pub fn ln_uber(self, t: u32, rber: f64, per: Per) -> f64 {
        let bits = match per {
            Per::CodewordBit => self.length(t),
            Per::DataBit => self.data_bits.into(),
        };
        self.ln_failure(t, rber) - (bits as f64).ln()
    }

    /// The fewest errors to correct, from `min` on, that keep the UBER at `rber` within `uber`;
    /// `None` if all that the field allows are too few.
    ///
    /// # Panics
    /// If `rber` is no probability.
    #[must_use]
    pub fn required_t(self, rber: f64, uber: f64, per: Per, min: u32) -> Option<u32> {
        // Each further error to correct brings m bits: where these alone bring one error, more
        // never helps.
        let hopeless = rber * f64::from(self.parity_per_error) >= 1.0;
        let last = if hopeless { min } else { self.t_max() };
        // As many errors as are expected, or more, come in every fourth codeword at least.
        let is_hopeless = |t: u32| {
            let length = self.length(t) as f64;
            f64::from(t + 1) <= length * rber && uber * length < 0.25
        };
        (min..=last).find(|&t| !is_hopeless(t) && self.ln_uber(t, rber, per) <= uber.ln())
    }

    /// The highest RBER at which `t` corrected errors keep the UBER within `uber`.
    ///
    /// # Panics
    /// If `uber` is not above 0 and below 1.
    #[must_use]
    pub fn max_rber(self, t: u32, uber: f64, per: Per) -> f64 {
        assert!(uber > 0.0 && uber < 1.0, "an UBER of {uber}");
        highest(|rber| self.ln_uber(t, rber, per) <= uber.ln())
    }

    /// The highest RBER at which all of `codewords`, with `t` errors corrected in each, come back
    /// with probability `target` or more (DA-RAID-5, Eq. 3, for one codeword).
    ///
    /// # Panics
    /// If `target` is not above 0 and below 1.
    #[must_use]
    pub fn max_rber_for_yield(self, t: u32, target: f64, codewords: u32) -> f64 {
        assert!(target > 0.0 && target < 1.0, "a yield of {target}");
        highest(|rber| self.ln_yield(t, rber, codewords) >= target.ln())
    }
}

/// The highest rate that `is_fine`, of which all lower ones are: bisection of its logarithm.
fn highest(is_fine: impl Fn(f64) -> bool) -> f64 {
    if is_fine(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (f64::MIN_POSITIVE, 1.0);
    if !is_fine(low) {
        return 0.0;
    }
    loop {
        if high / low < 1.0 + 1e-14 {
            return low;
        }
        // Strictly between them: they are 45 units of the last place apart, and this is within two of the exact mean.
        let middle = f64::sqrt(low) * f64::sqrt(high);
        if is_fine(middle) { low = middle } else { high = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logarithms of the rates span 708.4, and 708.4 / 2^56 is the first width below 1e-14: the two ends and 56 rates
    /// between them are asked for. Catches a bisection that ends early, or goes on where doubles do not tell rates apart.
    #[test]
    fn the_bisection_ends_when_rates_are_alike_to_14_digits() {
        for limit in [1e-3, 0.4, 1e-200] {
            let asked = std::cell::Cell::new(0);
            let found = highest(|rate| {
                asked.set(asked.get() + 1);
                rate <= limit
            });
            assert_eq!(asked.get(), 2 + 56, "limit {limit}");
            assert!(found <= limit && found > limit * (1.0 - 2e-14), "{found:e} of {limit:e}");
        }
    }

    #[test]
    fn a_field_of_2_13_cannot_hold_a_page_of_4_kib() {
        assert_eq!(BchSize { data_bits: 32_768, parity_per_error: 13 }.t_max(), 0);
        // One bit short of the data alone.
        assert_eq!(BchSize { data_bits: 32_768, parity_per_error: 15 }.t_max(), 0);
        assert_eq!(BchSize::KIB_4.t_max(), 2_047);
        assert_eq!(BchSize::BYTES_512.t_max(), 315);
    }

    #[test]
    fn limits_and_requirements_are_inverse() {
        for code in [BchSize::KIB_4, BchSize::KIB_2, BchSize::KIB_1, BchSize::BYTES_512] {
            for t in [1, 2, 3, 8, 40, 80] {
                let limit = code.max_rber(t, 1e-15, Per::DataBit);
                assert_eq!(code.required_t(limit, 1e-15, Per::DataBit, 0), Some(t), "{code:?}");
                assert_eq!(code.required_t(limit * (1.0 + 1e-9), 1e-15, Per::DataBit, 0), Some(t + 1), "{code:?}");
            }
        }
    }

    #[test]
    fn what_no_code_can_correct_is_none() {
        assert_eq!(BchSize::KIB_4.required_t(0.1, 1e-11, Per::CodewordBit, 0), None);
        assert_eq!(BchSize::BYTES_512.required_t(0.5, 1e-11, Per::CodewordBit, 0), None);
        assert_eq!(BchSize::KIB_4.required_t(0.0, 1e-11, Per::CodewordBit, 0), Some(0));
    }
}
