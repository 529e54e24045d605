//! Digests: two workloads, or two texts, with the same one are taken for the same.

use crate::Record;
use vocab::HostOp;

/// FNV-1a over the fields of a record, behind others.
#[must_use]
pub fn digest(hash: u64, record: &Record) -> u64 {
    let op = match record.op {
        HostOp::Read => 0,
        HostOp::Write(vocab::Fua::No) => 1,
        HostOp::Write(vocab::Fua::Yes) => 2,
        HostOp::Flush => 3,
        HostOp::Discard => 4,
    };
    let words = [record.at.0, u64::from(record.device), op, record.lba.0, u64::from(record.sectors)];
    let hash = words.into_iter().fold(hash, fnv_word);
    // The digests of traces without streams stay what they were.
    if record.stream == vocab::StreamId::default() { hash } else { fnv_word(hash, u64::from(record.stream.0)) }
}

/// FNV-1a of the eight bytes of a word behind others. A zero byte only multiplies: those at the end of the word, which
/// most words have, take one multiplication together.
fn fnv_word(hash: u64, word: u64) -> u64 {
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

const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a of nothing.
pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of bytes behind others.
#[must_use]
pub fn fnv_on(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// FNV-1a of bytes.
#[must_use]
pub fn fnv(bytes: &[u8]) -> u64 {
    fnv_on(FNV_START, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Streams;

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
