//! Errors of a requested code, and of a word.

/// No such code; says what is asked for and what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BchError {
    /// No field of that size.
    #[error("a BCH code over GF(2^{m}): m must be 5 to 16")]
    Order {
        /// Requested value.
        m: u32,
    },
    /// This many errors cannot be corrected.
    #[error("a BCH code over GF(2^{m}) with t = {t}: t must be 1 to {most}")]
    Strength {
        /// The field is GF(2^m).
        m: u32,
        /// Requested value.
        t: usize,
        /// The most in that field.
        most: usize,
    },
    /// There is no data, or too much.
    #[error(
        "{data_bits} data bits in a BCH code over GF(2^{m}) with t = {t}: must be 1 to {most}{}",
        order.map_or(String::new(), |order| format!(", or m at least {order}"))
    )]
    Length {
        /// The field is GF(2^m).
        m: u32,
        /// Errors to correct.
        t: usize,
        /// Requested value.
        data_bits: usize,
        /// The most with that m and t.
        most: usize,
        /// The smallest m that has room, if one has.
        order: Option<u32>,
    },
}

/// More than t bits are wrong: no codeword is near enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more bits are wrong than the code corrects")]
pub struct Uncorrectable;
