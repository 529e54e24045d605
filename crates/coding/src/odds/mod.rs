//! The odds of protection: what a code is expected to lose, as numbers that hold down to 1e-30
//! and below.
//!
//! - [`binomial`]: tails of the binomial distribution, by their logarithms.
//! - [`bch`]: codes that correct up to t bit errors: failures, yield, and what they need.

pub mod bch;
pub mod binomial;

pub use bch::{Bch, Per};
