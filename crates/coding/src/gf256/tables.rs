//! Tables of the kernels: computed by the compiler from the definition, 10 KiB in all, so that no call builds a table.

use super::naive;

/// `TABLE[c]` holds the products of `c` with 0..16, then with the multiples 0x00, 0x10 .. 0xf0:
/// a product is the sum of one of each. A shuffle instruction looks up 16 or more at a time.
pub(super) static NIBBLES: [[u8; 32]; 256] = nibbles();

/// `TABLE[c]` is multiplication by `c` as an 8x8 matrix over GF(2), as `GF2P8AFFINEQB` wants it.
#[cfg(target_arch = "x86_64")]
pub(super) static MATRICES: [u64; 256] = matrices();

/// `TABLE[a]` is the inverse of `a`; 0 has none and 0 stands there.
pub(super) static INVERSES: [u8; 256] = inverses();

const fn nibbles() -> [[u8; 32]; 256] {
    let mut table = [[0; 32]; 256];
    let mut c = 0;
    while c < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            table[c][nibble] = naive::mul(c as u8, nibble as u8);
            table[c][16 + nibble] = naive::mul(c as u8, (nibble as u8) << 4);
            nibble += 1;
        }
        c += 1;
    }
    table
}

/// Bit i of a product is the parity of (byte 7-i of the matrix AND the operand), after Intel's
/// description of the instruction; so bit j of that byte is bit i of `c * 2^j`.
#[cfg(target_arch = "x86_64")]
const fn matrices() -> [u64; 256] {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        let mut j = 0;
        while j < 8 {
            let column = naive::mul(c as u8, 1 << j) as u64;
            let mut i = 0;
            while i < 8 {
                table[c] |= (column >> i & 1) << ((7 - i) * 8 + j);
                i += 1;
            }
            j += 1;
        }
        c += 1;
    }
    table
}

/// Powers of 2 run through all 255 non-zero elements, and 2^i * 2^(255-i) = 1.
const fn inverses() -> [u8; 256] {
    let mut powers = [1u8; 256];
    let mut i = 1;
    while i < 256 {
        powers[i] = naive::mul(powers[i - 1], 2);
        i += 1;
    }
    let mut table = [0; 256];
    i = 0;
    while i < 255 {
        table[powers[i] as usize] = powers[255 - i];
        i += 1;
    }
    table
}
