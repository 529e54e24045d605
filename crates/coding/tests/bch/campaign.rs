//! Many words of every code in use. `FLASHKEEP_SEEDS` says how many of each (default 40); 20000 is a
//! campaign of more than a million words, some minutes in a release build.

use super::{Noise, flip, parity_of};
use flashkeep_coding::{Bch, crc32c};

/// Pages of 512 bytes, 1 KiB and 4 KiB; DA-RAID-5's; FLARES' profile of a page, and its pages.
fn codes() -> Vec<(u32, usize, usize)> {
    let mut codes = vec![(13, 8, 4096), (13, 8, 4200), (14, 24, 8192), (14, 40, 8192), (7, 5, 52)];
    codes.extend((3..=50).map(|t| (16, t, 32768)));
    codes.push((16, 72, 32768));
    codes
}

#[derive(Default, Debug)]
struct Outcome {
    words: u64,
    corrected: u64,
    refused: u64,
    /// Taken for another codeword, as the check sum showed.
    miscorrected: u64,
}

fn one_word(code: &Bch, noise: &mut Noise, count: usize, outcome: &mut Outcome) {
    let length = code.data_bits() + code.parity_bits();
    let data = noise.data(code.data_bits());
    let parity = parity_of(code, &data);
    let places = noise.places(count, length);
    let (mut read, mut read_parity) = (data.clone(), parity.clone());
    flip(code, &mut read, &mut read_parity, &places);
    let (wrong, wrong_parity) = (read.clone(), read_parity.clone());
    let found = code.decode(&mut read, &mut read_parity);
    outcome.words += 1;
    if count <= code.t() {
        assert_eq!(found, Ok(count as u32), "{code:?}: {places:?}");
        assert!(read == data && read_parity == parity, "{code:?}: {places:?} corrected wrongly");
        outcome.corrected += 1;
        return;
    }
    let Ok(bits) = found else {
        assert!(read == wrong && read_parity == wrong_parity, "{code:?}: {places:?} refused, but changed");
        outcome.refused += 1;
        return;
    };
    // Another codeword, as near as the code says, and the check sum sees it.
    let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    assert_eq!(differ(&read, &wrong) + differ(&read_parity, &wrong_parity), bits, "{code:?}: {places:?}");
    assert!(bits as usize <= code.t(), "{code:?}: {places:?} corrects {bits}");
    assert_eq!(parity_of(code, &read), read_parity, "{code:?}: {places:?} no codeword");
    assert!(read == data || crc32c(&read) != crc32c(&data), "{code:?}: {places:?} undetected");
    outcome.miscorrected += 1;
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures of a campaign; captured in ordinary runs")]
fn no_word_comes_back_wrong_unseen() {
    let words = std::env::var("FLASHKEEP_SEEDS").map_or(40, |words| words.parse::<u64>().expect("a number of words"));
    let mut total = 0;
    for (m, t, bits) in codes() {
        let code = Bch::new(m, t, bits).expect("a code in use");
        let mut outcome = Outcome::default();
        for word in 0..words {
            let mut noise = Noise(word << 32 | (u64::from(m) << 24) | ((t as u64) << 16) | bits as u64);
            // As often up to t errors, t among them, as t+1 to t+5.
            let count = match word % 4 {
                0 => noise.below(t + 1),
                1 => t,
                _ => t + 1 + noise.below(5),
            };
            one_word(&code, &mut noise, count, &mut outcome);
        }
        println!("{code:?}: {outcome:?}");
        total += outcome.words;
    }
    println!("{total} words");
}
