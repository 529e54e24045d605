//! The field GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d), in which 2 generates all
//! non-zero elements: the field of RAID-6, ISA-L and most Reed-Solomon codes of storage. Addition is
//! XOR, an element is a byte, and a strip is a vector of them.
//!
//! The functions over strips run on the widest vectors of the machine (see [`Kernel`]); [`naive`] has
//! the definition they are tested against.

mod kernel;
pub mod naive;
mod portable;
mod simd;
mod sums;
mod tables;

pub use kernel::Kernel;
pub use sums::Sums;

/// The polynomial of the field, degree 8 first.
pub const POLYNOMIAL: u16 = 0x11d;

/// The product of two elements.
#[must_use]
#[inline]
pub fn mul(a: u8, b: u8) -> u8 {
    let row = &tables::NIBBLES[usize::from(a)];
    row[usize::from(b & 15)] ^ row[16 + usize::from(b >> 4)]
}

/// The element whose product with `a` is 1.
///
/// # Panics
/// If `a` is 0, which has no inverse.
#[must_use]
#[inline]
pub fn inv(a: u8) -> u8 {
    assert_ne!(a, 0, "0 has no inverse");
    tables::INVERSES[usize::from(a)]
}

/// `sum += other`, byte by byte: the same over GF(2) and GF(2^8).
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn add(sum: &mut [u8], other: &[u8]) {
    Kernel::fastest().add(sum, other);
}

/// `sum += c * other`, byte by byte. `c` = 0 adds nothing, `c` = 1 is XOR. 8 bytes take a few
/// nanoseconds: nothing is prepared for a call.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn mul_add(sum: &mut [u8], other: &[u8], c: u8) {
    Kernel::fastest().mul_add(sum, other, c);
}

/// `bytes *= c`, byte by byte.
#[inline]
pub fn mul_in_place(bytes: &mut [u8], c: u8) {
    Kernel::fastest().mul(bytes, c);
}
