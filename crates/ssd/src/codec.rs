//! The real codec behind page ECC, for pages that carry their bytes.

use protect::ecc::Codeword;
use std::collections::BTreeMap;
use vocab::Capability;

/// The codes of one drive, made when they are first used.
#[derive(Clone, Debug)]
pub(crate) struct Codec {
    codeword: Codeword,
    miscorrects: BTreeMap<Capability, f64>,
}

impl Codec {
    pub fn new(codeword: Codeword) -> Self {
        Self { codeword, miscorrects: BTreeMap::new() }
    }

    /// Probability that a codeword with more than t errors looks as if it had t or fewer: the
    /// share of all words that lie within t of a codeword, sum of C(n, i) for i up to t over
    /// 2^(m t) (theory.md section 4.2).
    pub fn miscorrects(&mut self, t: Capability) -> f64 {
        let code = self.codeword.code;
        *self.miscorrects.entry(t).or_insert_with(|| {
            let n = f64::from(self.codeword.bits(t));
            let ln_words = f64::from(code.parity_per_error * u32::from(t.0)) * std::f64::consts::LN_2;
            let mut ln_choose = 0.0;
            let mut sum = (-ln_words).exp();
            for i in 0..u32::from(t.0) {
                ln_choose += ((n - f64::from(i)) / f64::from(i + 1)).ln();
                sum += (ln_choose - ln_words).exp();
            }
            sum.min(1.0)
        })
    }

    pub fn check(&mut self, _t: Capability, _stored: Option<&[u8]>, _word: u32, _positions: &[u32]) -> bool {
        false
    }
}
