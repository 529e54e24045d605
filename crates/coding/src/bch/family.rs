//! Codes of one length and every strength.

use super::{Bch, BchError};
use std::sync::OnceLock;

/// The codes over one field for data of one length: t is chosen word by word, and a code is made when
/// its t is first asked for.
pub struct BchFamily {
    m: u32,
    data_bits: usize,
    /// By t - 1.
    codes: Vec<OnceLock<Bch>>,
}

impl BchFamily {
    /// The codes over GF(2^m) for `data_bits` bits with t up to `most`.
    ///
    /// # Errors
    /// If the code with `most` cannot be made; then all others can.
    pub fn new(m: u32, most: usize, data_bits: usize) -> Result<Self, BchError> {
        let strongest = Bch::new(m, most, data_bits)?;
        let codes: Vec<OnceLock<Bch>> = (1..most).map(|_| OnceLock::new()).chain([OnceLock::from(strongest)]).collect();
        Ok(BchFamily { m, data_bits, codes })
    }

    /// The largest t.
    #[must_use]
    pub fn most(&self) -> usize {
        self.codes.len()
    }

    /// The code that corrects `t` errors.
    ///
    /// # Panics
    /// If t is not 1 to [`BchFamily::most`].
    #[must_use]
    pub fn code(&self, t: usize) -> &Bch {
        assert!((1..=self.most()).contains(&t), "t = {t} in a family with t 1 to {}", self.most());
        self.codes[t - 1].get_or_init(|| Bch::new(self.m, t, self.data_bits).expect("a weaker code has less parity"))
    }
}
