//! The algebra of protection: codes compute, schemes decide (decision D3).
//!
//! - [`ErasureCode`]: k data and m parity symbols of which any k suffice; over GF(2^8), or plain XOR.
//! - [`Bch`]: binary BCH codes, which correct single bits of a page; [`crc32c`] tells whether all are right.
//! - [`ldpc`]: LDPC codes, which correct many bits and make use of soft reads.
//! - [`gf2`]: decoders for codes whose equations are XORs of any shape.
//! - [`graph`]: codes of data blocks and their sums, and how many subsets of the blocks decode.
//! - [`gf256`]: the field, and the vector kernels that work on strips.
//! - [`odds`]: how often codes fail, exactly.
//!
//! ```
//! use flashkeep_coding::ErasureCode;
//!
//! let code = ErasureCode::new(3, 2);
//! let (a, b, c) = ([1u8; 16], [2u8; 16], [3u8; 16]);
//! let (mut p, mut q) = ([0; 16], [0; 16]);
//! code.encode(&[&a, &b, &c], &mut [&mut p, &mut q]);
//!
//! // Symbols 0 and 2 are lost.
//! let (mut lost_a, mut lost_c) = ([0; 16], [0; 16]);
//! code.rebuild(&[(1, &b), (3, &p), (4, &q)], &mut [(0, &mut lost_a), (2, &mut lost_c)])?;
//! assert_eq!((lost_a, lost_c), (a, c));
//! # Ok::<(), flashkeep_coding::Undecodable>(())
//! ```

pub mod bch;
mod dispatch;
pub mod erasure;
pub mod gf2;
pub mod gf256;
pub mod graph;
pub mod ldpc;
pub mod odds;

pub use bch::{Bch, BchError, BchFamily, Uncorrectable};
pub use erasure::{ErasureCode, Rebuild, Undecodable};

/// Adds `other` to `sum` over GF(2), byte by byte: the parity of a stripe is the sum of its
/// strips.
///
/// # Panics
/// If the lengths differ.
pub fn xor_into(sum: &mut [u8], other: &[u8]) {
    gf256::add(sum, other);
}

/// CRC-32C (Castagnoli, as of iSCSI, RFC 3720) of `bytes`.
///
/// ```
/// assert_eq!(flashkeep_coding::crc32c(b"123456789"), 0xe306_9283);
/// ```
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// As [`crc32c`], of the bytes that have this checksum and of these behind them.
#[must_use]
pub fn crc32c_append(before: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(before, bytes)
}
