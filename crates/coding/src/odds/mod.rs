//! The odds of protection: what a code is expected to lose, as numbers that hold down to 1e-30
//! and below.
//!
//! - [`binomial`]: tails of the binomial distribution, by their logarithms.
//! - [`bch`]: codes that correct up to t bit errors: failures, yield, and what they need.
//! - [`stripes`]: erasure codes over pages, and product codes of two parities, counted exactly.

pub mod bch;
pub mod binomial;
pub mod stripes;

pub use bch::{BchSize, Per};
pub use stripes::ProductCode;
