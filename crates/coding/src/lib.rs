//! The algebra of protection: codes compute, schemes decide (decision D3).

pub mod erasure;
pub mod gf2;
pub mod gf256;

pub use erasure::{ErasureCode, Rebuild, Undecodable};

/// Adds `other` to `sum` over GF(2), byte by byte: the parity of a stripe is the sum of its
/// strips. Both have the same length.
pub fn xor_into(sum: &mut [u8], other: &[u8]) {
    gf256::add(sum, other);
}
