//! Hashes that are fixed here, so that files and results do not change with a library: FNV-1a for digests, SplitMix64 for spreading
//! numbers.

const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a of nothing.
pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of bytes that follow those of this hash.
#[inline]
#[must_use]
pub fn fnv_on(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// FNV-1a of bytes.
#[must_use]
pub fn fnv(bytes: &[u8]) -> u64 {
    fnv_on(FNV_START, bytes)
}

/// FNV-1a of the eight bytes of a word, lowest first, that follow those of this hash. A zero byte only multiplies: those at the end of
/// the word, which most words have, take one multiplication together.
#[inline]
#[must_use]
pub fn fnv_word(hash: u64, word: u64) -> u64 {
    /// Powers of the prime: 0 to 8 zero bytes.
    const POWERS: [u64; 9] = {
        let mut powers = [1u64; 9];
        let mut zeros = 1;
        while zeros < 9 {
            powers[zeros] = powers[zeros - 1].wrapping_mul(FNV_PRIME);
            zeros += 1;
        }
        powers
    };
    let zeros = word.leading_zeros() as usize / 8;
    let bytes = word.to_le_bytes();
    fnv_on(hash, &bytes[..8 - zeros]).wrapping_mul(POWERS[zeros])
}

/// Between two states of SplitMix64: 2^64 over the golden ratio, odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The next number of SplitMix64 (Steele, Lea, Flood 2014), whose state is any number.
#[inline]
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GAMMA);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    /// Against published values: the FNV-1a test suite of its authors, and the SplitMix64 of Vigna with seed 1234567.
    #[test]
    fn hashes_are_those_that_are_published() {
        assert_eq!((fnv(b""), fnv(b"a"), fnv(b"foobar")), (FNV_START, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8));
        let mut state = 1_234_567;
        let numbers = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers.map(|_| splitmix64(&mut state)), numbers);
    }

    #[test]
    fn a_word_is_hashed_as_its_bytes_are() {
        let mut draws = Streams::new(5).stream("fnv");
        for _ in 0..1000 {
            let word = draws.bits() >> draws.below(64);
            let hash = draws.bits();
            assert_eq!(fnv_word(hash, word), fnv_on(hash, &word.to_le_bytes()), "{word:#x}");
        }
        assert_eq!(fnv_word(FNV_START, 0), fnv(&[0; 8]));
    }
}
