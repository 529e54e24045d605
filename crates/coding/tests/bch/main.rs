//! Binary BCH codes against a naive twin, against all codewords of small codes, and against the parity
//! of another library.

mod campaign;
mod golden;
mod naive;
mod small;

use flashkeep_coding::bch::{Kernel, MAX_T};
use flashkeep_coding::{Bch, BchError, BchFamily, Uncorrectable};
use naive::Naive;

/// Random numbers by SplitMix64, so that a seed says it all.
#[derive(Clone)]
struct Noise(u64);

impl Noise {
    fn word(&mut self) -> u64 {
        vocab::splitmix64(&mut self.0)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    /// Data of a code; bits behind its end are 0.
    fn data(&mut self, bits: usize) -> Vec<u8> {
        let mut data = vec![0; bits.div_ceil(8)];
        for bytes in data.chunks_mut(8) {
            bytes.copy_from_slice(&self.word().to_le_bytes()[..bytes.len()]);
        }
        if let Some(last) = data.last_mut() {
            *last &= 0xff << (bits.next_multiple_of(8) - bits);
        }
        data
    }

    /// This many different places below `bound`.
    fn places(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut places = Vec::with_capacity(count);
        while places.len() < count {
            let place = self.below(bound);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }
}

/// Turns bits of a word over: places as [`Bch::locate`] counts them.
fn flip(code: &Bch, data: &mut [u8], parity: &mut [u8], places: &[usize]) {
    for place in places {
        let (bytes, bit) =
            if *place < code.data_bits() { (&mut *data, *place) } else { (&mut *parity, *place - code.data_bits()) };
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
    }
}

fn parity_of(code: &Bch, data: &[u8]) -> Vec<u8> {
    let mut parity = vec![0xa5; code.parity_bytes()];
    code.encode(data, &mut parity);
    parity
}

/// Fields, strengths and lengths in which all loops begin, end and overlap.
fn shapes() -> Vec<(u32, usize, usize)> {
    let mut shapes = vec![
        (13, 8, 4096),
        (13, 8, 4200),
        (14, 24, 8192),
        (14, 40, 8192),
        (16, 16, 32768),
        (16, 50, 32768),
        (16, 72, 32768),
        (16, 128, 5000),
        (7, 5, 52),
    ];
    for m in 5..=16u32 {
        for t in [1, 2, 3, 4, 5, 7, 8, 13, 31, 64] {
            let Err(BchError::Length { most, .. }) = Bch::new(m, t, 0) else { continue };
            let lengths = [1, 7, 8, 9, 52, 63, 64, 65, 128, 511, 512, 513, 1000, most];
            shapes.extend(lengths.iter().filter(|bits| **bits <= most.min(5000)).map(|bits| (m, t, *bits)));
        }
    }
    shapes
}

#[test]
fn every_kernel_computes_the_parity_of_long_division() {
    let mut noise = Noise(1);
    let mut naive = Naive::new(5, 1);
    for (m, t, bits) in shapes() {
        if !naive.is(m, t) {
            naive = Naive::new(m, t);
        }
        let data = noise.data(bits);
        let expected = naive.parity(&data, bits);
        for kernel in Kernel::available() {
            let code = Bch::with_kernel(m, t, bits, kernel).expect("the shape fits");
            assert_eq!(code.parity_bits(), naive.parity_bits(), "m {m}, t {t}");
            assert_eq!(parity_of(&code, &data), expected, "m {m}, t {t}, {bits} bits, {kernel:?}");
        }
    }
}

#[test]
fn every_kernel_corrects_up_to_t_errors() {
    let mut noise = Noise(2);
    for (m, t, bits) in shapes() {
        for kernel in Kernel::available() {
            let code = Bch::with_kernel(m, t, bits, kernel).expect("the shape fits");
            let length = bits + code.parity_bits();
            for count in [0, 1, 2, 3, 4, 5, t / 2, t - 1, t] {
                let data = noise.data(bits);
                let parity = parity_of(&code, &data);
                let places = noise.places(count.min(t).min(length), length);
                let (mut read, mut read_parity) = (data.clone(), parity.clone());
                flip(&code, &mut read, &mut read_parity, &places);
                let found = code.locate(&read, &read_parity).map(|errors| sorted(errors.places().iter().map(|p| *p as usize)));
                assert_eq!(found, Ok(sorted(places.iter().copied())), "{code:?}");
                assert_eq!(code.decode(&mut read, &mut read_parity), Ok(places.len() as u32), "{code:?}, {places:?}");
                assert_eq!((read, read_parity), (data, parity), "{code:?}, {places:?}");
            }
        }
    }
}

fn sorted(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<usize> = places.collect();
    places.sort_unstable();
    places
}

/// The naive decoder knows no shortcut: it tries every place, and no formula for few errors.
#[test]
fn any_number_of_errors_ends_as_with_the_naive_decoder() {
    let mut noise = Noise(3);
    let (mut corrected, mut refused) = (0, 0);
    for (m, t, bits) in
        [(5, 1, 20), (5, 2, 21), (5, 3, 16), (5, 5, 11), (5, 7, 6), (6, 4, 39), (6, 4, 20), (7, 5, 52), (8, 9, 100)]
    {
        let naive = Naive::new(m, t);
        for kernel in Kernel::available() {
            let code = Bch::with_kernel(m, t, bits, kernel).expect("the shape fits");
            let length = bits + code.parity_bits();
            for round in 0..400 {
                let data = noise.data(bits);
                let parity = parity_of(&code, &data);
                let (mut read, mut read_parity) = (data.clone(), parity.clone());
                let places = noise.places((round % (t + 9)).min(length), length);
                flip(&code, &mut read, &mut read_parity, &places);
                let expected = naive.errors(&read, bits, &read_parity);
                let found = code.locate(&read, &read_parity).map(|errors| sorted(errors.places().iter().map(|p| *p as usize)));
                assert_eq!(found.clone().ok(), expected, "{code:?}: {places:?}");
                *if found.is_ok() { &mut corrected } else { &mut refused } += 1;
            }
        }
    }
    assert!(corrected > 1000 && refused > 1000, "{corrected} corrected, {refused} refused: both must happen");
}

#[test]
fn the_portable_kernel_is_everywhere_and_comes_last() {
    let kernels = Kernel::available();
    assert_eq!(kernels.last().map(|kernel| kernel.name()), Some("portable"));
    assert_eq!(kernels[0].name(), Kernel::fastest().name());
}

#[test]
fn bits_behind_the_end_do_not_count() {
    for kernel in Kernel::available() {
        let code = Bch::with_kernel(7, 5, 52, kernel).expect("BCH(87, 52) is one");
        assert_eq!((code.parity_bits(), code.data_bytes(), code.parity_bytes()), (35, 7, 5));
        let clean = Noise(4).data(52);
        let mut soiled = clean.clone();
        soiled[6] |= 0x0f;
        let mut parity = parity_of(&code, &clean);
        assert_eq!(parity_of(&code, &soiled), parity);
        assert_eq!(parity[4] & 0x1f, 0);
        parity[4] |= 0x1f;
        soiled[0] ^= 0x80;
        assert_eq!(code.decode(&mut soiled, &mut parity), Ok(1));
        soiled[6] &= 0xf0;
        assert_eq!(soiled, clean);
    }
}

/// Just as many data bits as the field has room for; and t so large that all but one are parity.
#[test]
fn a_code_may_fill_its_field() {
    let code = Bch::new(5, 15, 1).expect("31 times the same bit");
    assert_eq!(code.parity_bits(), 30);
    assert_eq!(parity_of(&code, &[0x80]), [0xff, 0xff, 0xff, 0xfc]);
    let (mut data, mut parity) = ([0x80], [0x00, 0x1f, 0xff, 0xfc]);
    assert_eq!(code.decode(&mut data, &mut parity), Ok(11));
    assert_eq!((data, parity), ([0x80], [0xff, 0xff, 0xff, 0xfc]));
    for (m, t) in [(13, 8), (16, 50), (16, MAX_T)] {
        let Err(BchError::Length { most, .. }) = Bch::new(m, t, 0) else { panic!("no data is refused") };
        assert_eq!(most, (1 << m) - 1 - m as usize * t);
        let code = Bch::new(m, t, most).expect("as many as fit");
        let data = Noise(5).data(most);
        let (mut read, mut parity) = (data.clone(), parity_of(&code, &data));
        flip(&code, &mut read, &mut parity, &[0, most / 2, most - 1, most]);
        assert_eq!(code.decode(&mut read, &mut parity), Ok(4));
        assert_eq!(read, data);
    }
}

#[test]
fn refusals_name_what_does_not_fit_and_what_would() {
    let says = |m, t, bits| Bch::new(m, t, bits).expect_err("there is no such code").to_string();
    assert_eq!(says(4, 1, 1), "a BCH code over GF(2^4): m must be 5 to 16");
    assert_eq!(says(17, 1, 1), "a BCH code over GF(2^17): m must be 5 to 16");
    assert_eq!(says(5, 0, 1), "a BCH code over GF(2^5) with t = 0: t must be 1 to 15");
    assert_eq!(says(5, 16, 1), "a BCH code over GF(2^5) with t = 16: t must be 1 to 15");
    assert_eq!(says(16, 129, 1), "a BCH code over GF(2^16) with t = 129: t must be 1 to 128");
    assert_eq!(says(13, 8, 0), "0 data bits in a BCH code over GF(2^13) with t = 8: must be 1 to 8087");
    assert_eq!(says(12, 8, 4096), "4096 data bits in a BCH code over GF(2^12) with t = 8: must be 1 to 3999, or m at least 13");
    assert_eq!(
        says(13, 8, usize::MAX),
        format!("{} data bits in a BCH code over GF(2^13) with t = 8: must be 1 to 8087", usize::MAX)
    );
}

#[test]
#[should_panic(expected = "bytes of data and of parity of the code")]
fn data_of_another_length_is_a_defect() {
    let code = Bch::new(13, 8, 4096).expect("512 bytes");
    code.encode(&[0; 511], &mut [0; 13]);
}

#[test]
fn a_family_has_the_code_of_each_strength() {
    let family = BchFamily::new(16, 50, 32768).expect("4 KiB");
    assert_eq!(family.most(), 50);
    let data = Noise(6).data(32768);
    for t in [1, 3, 49, 50, 3] {
        let single = Bch::new(16, t, 32768).expect("4 KiB");
        assert_eq!((family.code(t).t(), family.code(t).parity_bits()), (t, 16 * t));
        assert_eq!(parity_of(family.code(t), &data), parity_of(&single, &data));
    }
    assert_eq!(BchFamily::new(12, 8, 4096).err(), Bch::new(12, 8, 4096).err());
    assert!(BchFamily::new(12, 8, 4096).is_err());
}

#[test]
fn an_uncorrectable_word_stays_as_it_was() {
    let code = Bch::new(13, 8, 4096).expect("512 bytes");
    let mut noise = Noise(7);
    let mut refused = 0;
    for _ in 0..100 {
        let (data, parity) = (noise.data(4096), noise.data(104));
        let (mut read, mut read_parity) = (data.clone(), parity.clone());
        if code.decode(&mut read, &mut read_parity) == Err(Uncorrectable) {
            assert_eq!((read, read_parity), (data, parity));
            refused += 1;
        }
    }
    // One in about 40000 random words is near a codeword.
    assert!(refused > 90, "{refused} of 100 refused");
}

#[test]
fn the_check_sum_is_that_of_iscsi() {
    // RFC 3720, B.4.
    let ascending: Vec<u8> = (0..32).collect();
    assert_eq!(flashkeep_coding::crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(flashkeep_coding::crc32c(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(flashkeep_coding::crc32c(&ascending), 0x46dd_794e);
    assert_eq!(flashkeep_coding::crc32c(&[]), 0);
}
