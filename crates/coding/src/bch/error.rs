//! What can be wrong with a code that is asked for, and with a word.

use std::fmt;

/// No such code; says what is asked for and what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BchError {
    /// No field of that size.
    Order {
        /// What was asked for.
        m: u32,
    },
    /// This many errors cannot be corrected.
    Strength {
        /// The field is GF(2^m).
        m: u32,
        /// What was asked for.
        t: usize,
        /// The most in that field.
        most: usize,
    },
    /// There is no data, or too much.
    Length {
        /// The field is GF(2^m).
        m: u32,
        /// Errors to correct.
        t: usize,
        /// What was asked for.
        data_bits: usize,
        /// The most with that m and t.
        most: usize,
        /// The smallest m that has room, if one has.
        order: Option<u32>,
    },
}

impl fmt::Display for BchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BchError::Order { m } => write!(f, "a BCH code over GF(2^{m}): m must be 5 to 16"),
            BchError::Strength { m, t, most } => write!(f, "a BCH code over GF(2^{m}) with t = {t}: t must be 1 to {most}"),
            BchError::Length { m, t, data_bits, most, order } => {
                write!(f, "{data_bits} data bits in a BCH code over GF(2^{m}) with t = {t}: must be 1 to {most}")?;
                order.map_or(Ok(()), |order| write!(f, ", or m at least {order}"))
            }
        }
    }
}

impl std::error::Error for BchError {}

/// More than t bits are wrong: no codeword is near enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncorrectable;

impl fmt::Display for Uncorrectable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more bits are wrong than the code corrects")
    }
}

impl std::error::Error for Uncorrectable {}
