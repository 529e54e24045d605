//! The codes of length 31, whole.

use super::{Noise, flip, parity_of};
use flashkeep_coding::Bch;

/// t and data bits of the codes of length 31.
const CODES: [(usize, usize); 5] = [(1, 26), (2, 21), (3, 16), (5, 11), (7, 6)];

/// A word of the code with these data bits, the first one highest.
fn codeword(code: &Bch, data: u32) -> u32 {
    let bits = code.data_bits();
    let bytes = (data << (32 - bits)).to_be_bytes();
    let parity = parity_of(code, &bytes[..code.data_bytes()]);
    let mut word = 0;
    for bit in 0..code.parity_bits() {
        word = word << 1 | u32::from(parity[bit / 8] << (bit % 8) >> 7);
    }
    data << code.parity_bits() | word
}

#[test]
fn the_codes_have_their_dimension_and_distance() {
    // The table of primitive BCH codes of length 31 in any textbook (Lin and Costello, appendix C): the
    // distances 3, 5, 7, 11, 15.
    for (t, bits) in CODES {
        let code = Bch::new(5, t, bits).expect("length 31");
        assert_eq!(code.parity_bits(), 31 - bits, "t {t}");
        let basis: Vec<u32> = (0..bits).map(|bit| codeword(&code, 1 << bit)).collect();
        // All other words by a Gray code, one sum each.
        let (mut word, mut distance) = (0, u32::MAX);
        for i in 1..1u32 << bits {
            word ^= basis[i.trailing_zeros() as usize];
            distance = distance.min(word.count_ones());
        }
        assert_eq!(distance as usize, 2 * t + 1);
    }
}

/// All patterns of at most t errors; of 6 and 7 those with an error in the first place, of which all
/// others are rotations (a code of full length is cyclic).
#[test]
fn every_pattern_up_to_t_is_corrected() {
    for (t, bits) in CODES {
        let code = Bch::new(5, t, bits).expect("length 31");
        let data = Noise(t as u64).data(bits);
        let parity = parity_of(&code, &data);
        for count in 0..=t {
            let mut places: Vec<usize> = (0..count).collect();
            let fixed = usize::from(count > 5);
            loop {
                let (mut read, mut read_parity) = (data.clone(), parity.clone());
                flip(&code, &mut read, &mut read_parity, &places);
                assert_eq!(code.decode(&mut read, &mut read_parity), Ok(count as u32), "t {t}: {places:?}");
                assert!(read == data && read_parity == parity, "t {t}: {places:?}");
                // The next combination in order.
                let Some(at) = (fixed..count).rev().find(|at| places[*at] < 31 - count + at) else { break };
                places[at] += 1;
                (at + 1..count).for_each(|i| places[i] = places[i - 1] + 1);
            }
        }
    }
}

/// Any word: either the one codeword within t of it is found, or there is none.
#[test]
fn what_is_found_is_the_codeword_within_reach() {
    for (t, bits) in [(3, 16), (5, 11), (7, 6)] {
        let code = Bch::new(5, t, bits).expect("length 31");
        let all: Vec<u32> = (0..1 << bits).map(|data| codeword(&code, data)).collect();
        let mut noise = Noise(8);
        let (mut near, mut far) = (0, 0);
        for _ in 0..2000 {
            let (mut data, mut parity) = (noise.data(bits), noise.data(31 - bits));
            let word = |data: &[u8], parity: &[u8]| {
                let bit = |bytes: &[u8], at: usize| u32::from(bytes[at / 8] << (at % 8) >> 7);
                let word = (0..bits).fold(0, |word, at| word << 1 | bit(data, at));
                (0..31 - bits).fold(word, |word, at| word << 1 | bit(parity, at))
            };
            let received = word(&data, &parity);
            let within = all.iter().find(|c| (*c ^ received).count_ones() as usize <= t);
            let found = code.decode(&mut data, &mut parity);
            assert_eq!(found.ok(), within.map(|c| (c ^ received).count_ones()), "t {t}: {received:031b}");
            assert_eq!(word(&data, &parity), *within.unwrap_or(&received));
            *if within.is_some() { &mut near } else { &mut far } += 1;
        }
        assert!(near > 100 && far > 100, "t {t}: {near} near, {far} far: both must happen");
    }
}
