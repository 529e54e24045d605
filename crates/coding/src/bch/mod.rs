//! Binary BCH codes: r parity bits behind K data bits let a reader correct any t wrong bits of the
//! K + r. The code is shortened: K may be any number of bits that fits.
//!
//! A word is a polynomial over GF(2), its first bit the highest coefficient; bytes start with their
//! highest bit. Parity is the remainder of data * x^r by the generator polynomial, whose roots are
//! a, a^2 .. a^2t for a primitive element `a` of GF(2^m). Both parts stand left-aligned in bytes; bits
//! behind their end are ignored when read and 0 when written. Fields and order of bits are those of
//! the Linux kernel's `lib/bch.c`, so parity is the same.
//!
//! Decoding divides the data as encoding does; if the parity is as computed, that is all. Otherwise the
//! remainder gives the syndromes, these the error locator polynomial (Berlekamp, Massey), and its roots
//! are the places of the errors (formulas up to 4 of them, then Berlekamp's traces). A word with more
//! than t wrong bits is found to be uncorrectable, or, as with every such code, taken for another
//! codeword that is at most t bits away.
//!
//! ```
//! use flashkeep_coding::Bch;
//!
//! let code = Bch::new(13, 8, 8 * 512)?;
//! let sent = [0x5a; 512];
//! let mut parity = vec![0; code.parity_bytes()];
//! code.encode(&sent, &mut parity);
//!
//! let mut read = sent;
//! read[3] ^= 0x81;
//! parity[0] ^= 0x10;
//! assert_eq!(code.decode(&mut read, &mut parity), Ok(3));
//! assert_eq!(read, sent);
//! # Ok::<(), flashkeep_coding::BchError>(())
//! ```

mod divider;
mod error;
mod family;
mod field;
mod generator;
mod kernel;
mod locator;
mod portable;
mod roots;
mod simd;
mod syndromes;
mod trace;

pub use error::{BchError, Uncorrectable};
pub use family::BchFamily;
pub use kernel::Kernel;

use divider::Divider;
use field::{Field, ORDERS};
use generator::Generator;
use std::fmt;
use syndromes::Syndromes;

/// The most bits that a code may correct.
pub const MAX_T: usize = 128;

/// 64-bit words of the longest parity.
const WORDS: usize = MAX_T * 16 / 64;

/// A code for data of one length. Nothing is allocated while it works.
pub struct Bch {
    t: usize,
    data_bits: usize,
    parity_bits: usize,
    field: &'static Field,
    kernel: &'static Kernel,
    divider: Divider,
    syndromes: Syndromes,
}

/// The wrong bits of a word: 0 is the first bit of the data; parity follows the last one.
#[derive(Clone)]
pub struct Errors {
    count: usize,
    places: [u32; MAX_T],
}

impl Errors {
    /// Places of the wrong bits, each once, in no particular order.
    #[must_use]
    pub fn places(&self) -> &[u32] {
        &self.places[..self.count]
    }
}

impl fmt::Debug for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Errors").field(&self.places()).finish()
    }
}

impl Bch {
    /// The code over GF(2^m) that corrects `t` errors in `data_bits` bits and their parity.
    ///
    /// # Errors
    /// If m is not 5 to 16, t is not 1 to what the field has room for, or data and parity are longer
    /// than 2^m - 1 bits.
    pub fn new(m: u32, t: usize, data_bits: usize) -> Result<Self, BchError> {
        Bch::with_kernel(m, t, data_bits, Kernel::fastest())
    }

    /// As [`Bch::new`], with a kernel of choice.
    ///
    /// # Errors
    /// As [`Bch::new`].
    pub fn with_kernel(m: u32, t: usize, data_bits: usize, kernel: &'static Kernel) -> Result<Self, BchError> {
        if !ORDERS.contains(&m) {
            return Err(BchError::Order { m });
        }
        let field = Field::get(m);
        let (n, most) = (field.n as usize, MAX_T.min((field.n as usize - 1) / 2));
        if t == 0 || t > most {
            return Err(BchError::Strength { m, t, most });
        }
        let generator = Generator::new(field, t);
        let parity_bits = generator.degree;
        if data_bits == 0 || data_bits > n - parity_bits {
            let fits = |m: &u32| data_bits.checked_add(*m as usize * t).is_some_and(|bits| bits < 1 << m);
            let order = ORDERS.filter(|_| data_bits > 0).find(fits);
            return Err(BchError::Length { m, t, data_bits, most: n - parity_bits, order });
        }
        let divider = Divider::new(&generator, data_bits, kernel);
        let syndromes = Syndromes::new(field, t, parity_bits);
        Ok(Bch { t, data_bits, parity_bits, field, kernel, divider, syndromes })
    }

    /// Wrong bits that are corrected.
    #[must_use]
    pub fn t(&self) -> usize {
        self.t
    }

    /// Bits of the data, K.
    #[must_use]
    pub fn data_bits(&self) -> usize {
        self.data_bits
    }

    /// Bytes of the data: the last one may not be full.
    #[must_use]
    pub fn data_bytes(&self) -> usize {
        self.divider.bytes
    }

    /// Bits of parity, r: m * t, or fewer where roots coincide.
    #[must_use]
    pub fn parity_bits(&self) -> usize {
        self.parity_bits
    }

    /// Bytes of parity: the last one may not be full.
    #[must_use]
    pub fn parity_bytes(&self) -> usize {
        self.parity_bits.div_ceil(8)
    }

    /// Writes the parity of `data`.
    ///
    /// # Panics
    /// If the lengths are not [`Bch::data_bytes`] and [`Bch::parity_bytes`].
    pub fn encode(&self, data: &[u8], parity: &mut [u8]) {
        self.check(data, parity);
        let mut remainder = [0; WORDS];
        let remainder = &mut remainder[..self.divider.words];
        self.kernel.remainder(&self.divider, data, remainder);
        for (bytes, word) in parity.chunks_mut(8).zip(remainder.iter().rev()) {
            bytes.copy_from_slice(&word.to_be_bytes()[..bytes.len()]);
        }
    }

    /// Corrects data and parity in place and says how many bits were wrong.
    ///
    /// # Errors
    /// If no codeword is at most t bits away; data and parity are as they were.
    ///
    /// # Panics
    /// As [`Bch::encode`].
    pub fn decode(&self, data: &mut [u8], parity: &mut [u8]) -> Result<u32, Uncorrectable> {
        let mut errors = Errors { count: 0, places: [0; MAX_T] };
        self.locate_into(data, parity, &mut errors)?;
        for place in errors.places() {
            let place = *place as usize;
            let (bytes, bit) = if place < self.data_bits { (&mut *data, place) } else { (&mut *parity, place - self.data_bits) };
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
        }
        Ok(errors.count as u32)
    }

    /// Which bits are wrong, without a change.
    ///
    /// # Errors
    /// If no codeword is at most t bits away.
    ///
    /// # Panics
    /// As [`Bch::encode`].
    pub fn locate(&self, data: &[u8], parity: &[u8]) -> Result<Errors, Uncorrectable> {
        let mut errors = Errors { count: 0, places: [0; MAX_T] };
        self.locate_into(data, parity, &mut errors).map(|()| errors)
    }

    fn locate_into(&self, data: &[u8], parity: &[u8], errors: &mut Errors) -> Result<(), Uncorrectable> {
        self.check(data, parity);
        let mut remainder = [0; WORDS];
        let remainder = &mut remainder[..self.divider.words];
        self.kernel.remainder(&self.divider, data, remainder);
        self.add_parity(remainder, parity);
        if remainder.iter().all(|word| *word == 0) {
            return Ok(());
        }
        self.solve(remainder, errors).ok_or(Uncorrectable)
    }

    /// The places of the errors that leave this remainder, which is not 0.
    fn solve(&self, remainder: &[u64], errors: &mut Errors) -> Option<()> {
        let mut odd = [0; MAX_T];
        self.kernel.syndromes(&self.syndromes, remainder, &mut odd);
        let mut monic = [0; MAX_T];
        let degree = locator::find(self.field, &odd[..self.t], &mut monic)?;
        let mut found = [0; MAX_T];
        roots::find(self.kernel, self.field, &monic[..degree], &mut found)?;
        let bits = self.data_bits + self.parity_bits;
        for (place, locator) in errors.places.iter_mut().zip(&found[..degree]) {
            // An error outside the shortened word cannot be.
            *place = (bits as u32 - 1).checked_sub(self.field.log(*locator))?;
        }
        errors.count = degree;
        Some(())
    }

    /// Adds what was read as parity; bits behind its end are left out.
    fn add_parity(&self, remainder: &mut [u64], parity: &[u8]) {
        for (bytes, word) in parity.chunks(8).zip(remainder.iter_mut().rev()) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            *word ^= u64::from_be_bytes(eight);
        }
        remainder[0] &= u64::MAX << (64 * self.divider.words - self.parity_bits);
    }

    fn check(&self, data: &[u8], parity: &[u8]) {
        let lengths = (self.data_bytes(), self.parity_bytes());
        assert_eq!((data.len(), parity.len()), lengths, "bytes of data and of parity of the code");
    }
}

impl fmt::Debug for Bch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bch { t, data_bits, parity_bits, field, kernel, .. } = self;
        write!(f, "Bch(m {}, t {t}, {data_bits} + {parity_bits} bits, {})", field.m, kernel.name())
    }
}
