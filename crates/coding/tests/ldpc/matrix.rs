//! The matrices, read back from their text.

use super::{Noise, codes, former_codes};
use crate::naive::Matrix;
use flashkeep_coding::ldpc::{Code, Kernel, Workspace};

#[test]
fn sizes_and_rates_are_those_of_the_names() {
    let sizes: Vec<_> = codes().map(|code| (code.name(), code.data_bytes(), code.parity_bytes())).collect();
    let expected = [
        ("ldpc-1k-0.889-2", 1024, 128),
        ("ldpc-1k-0.901-2", 1024, 112),
        ("ldpc-1k-0.928-2", 1024, 80),
        ("ldpc-2k-0.889-2", 2048, 256),
        ("ldpc-2k-0.901-2", 2048, 224),
        ("ldpc-2k-0.928-2", 2048, 160),
        ("ldpc-4k-0.889-2", 4096, 512),
        ("ldpc-4k-0.901-2", 4096, 448),
        ("ldpc-4k-0.928-2", 4096, 320),
    ];
    assert_eq!(sizes, expected);
    for code in codes() {
        assert_eq!(format!("{:.3}", code.rate()), code.name()[8..13], "{code:?}");
    }
    assert!(Code::find("ldpc-8k-0.9").is_none());
}

#[test]
fn columns_have_weight_4_and_rows_weigh_alike() {
    for code in codes() {
        let matrix = Matrix::parse(&code.alist());
        let block = 8 * code.data_bytes() / 128;
        for (bit, checks) in matrix.columns.iter().enumerate() {
            let last = bit >= code.bits() - block;
            assert_eq!(checks.len(), if last { 5 } else { 4 }, "{code:?}, bit {bit}");
        }
        let weights = matrix.rows.iter().map(Vec::len);
        let (least, most) = (weights.clone().min().expect("rows"), weights.max().expect("rows"));
        assert!(most - least <= 1, "{code:?}: rows of {least} to {most}");
    }
}

#[test]
fn no_two_bits_share_two_checks() {
    for code in codes() {
        let matrix = Matrix::parse(&code.alist());
        // Bit by bit: bits that share a check with it, each at most once, or there is a cycle of length 4.
        let mut seen_by = vec![usize::MAX; code.bits()];
        for (bit, checks) in matrix.columns.iter().enumerate() {
            for other in checks.iter().flat_map(|check| &matrix.rows[*check]).filter(|other| **other != bit) {
                assert_ne!(seen_by[*other], bit, "{code:?}: bits {bit} and {other} share two checks");
                seen_by[*other] = bit;
            }
        }
    }
}

#[test]
fn parity_columns_have_full_rank() {
    // Elimination on whole matrices takes time with the square of Z at least, so it is for the codes of 1 KiB; for all others
    // encoding, which needs the inverse, is checked below.
    for code in codes().filter(|code| code.data_bytes() == 1024) {
        let matrix = Matrix::parse(&code.alist());
        assert_eq!(matrix.rank_of_columns(8 * code.data_bytes()), 8 * code.parity_bytes(), "{code:?}");
    }
}

#[test]
fn encoded_words_satisfy_every_check_with_every_kernel() {
    let mut noise = Noise(11);
    for code in codes() {
        let matrix = Matrix::parse(&code.alist());
        let mut workspace = Workspace::default();
        for _ in 0..4 {
            let mut word = vec![0; code.bits() / 8];
            let (data, parity) = word.split_at_mut(code.data_bytes());
            data.fill_with(|| noise.word() as u8);
            code.encode(data, parity, &mut workspace);
            for kernel in Kernel::available() {
                let mut again = vec![0; parity.len()];
                code.encode_with(kernel, data, &mut again, &mut workspace);
                assert_eq!(again, parity, "{code:?}, {kernel:?}");
            }
            assert!(code.holds(data, parity, &mut workspace));
            assert!(matrix.failing(&word).is_empty(), "{code:?}");
            let place = noise.below(code.bits());
            word[place / 8] ^= 1 << (place % 8);
            let (data, parity) = word.split_at(code.data_bytes());
            assert!(!code.holds(data, parity, &mut workspace));
            assert_eq!(matrix.failing(&word), matrix.columns[place], "{code:?}: the checks of bit {place} fail");
        }
    }
}

#[test]
fn text_says_the_same_of_rows_and_columns() {
    for code in codes() {
        let matrix = Matrix::parse(&code.alist());
        for (bit, checks) in matrix.columns.iter().enumerate() {
            assert!(checks.iter().all(|check| matrix.rows[*check].contains(&bit)), "{code:?}, bit {bit}");
        }
        let ones = |lists: &[Vec<usize>]| lists.iter().map(Vec::len).sum::<usize>();
        assert_eq!(ones(&matrix.columns), ones(&matrix.rows));
    }
}

#[test]
fn matrices_do_not_change() {
    // Stored words are only decoded by the matrix that encoded them.
    let sums: Vec<u32> = codes().chain(former_codes()).map(|code| flashkeep_coding::crc32c(code.alist().as_bytes())).collect();
    let expected = [
        2_287_098_183,
        2_735_409_069,
        3_719_739_595,
        3_211_201_793,
        1_734_601_741,
        3_999_782_920,
        2_825_654_347,
        3_244_460_328,
        2_322_090_240,
        1_469_182_253,
        2_750_456_292,
        2_817_616_261,
        466_236_318,
        2_796_176_602,
        2_687_650_792,
        1_174_779_394,
        3_838_757_378,
        2_238_134_725,
    ];
    assert_eq!(sums, expected);
}

/// The lines of the table are what the construction draws. Others are drawn by the same rules and take longer.
#[test]
fn matrices_are_those_that_are_drawn() {
    let table = include_str!("../../src/ldpc/matrices.csv");
    for name in ["ldpc-4k-0.901-2", "ldpc-4k-0.889-2"] {
        let drawn = Code::draw(name).expect("it is written today");
        assert!(drawn.lines().count() > 128 && table.contains(&drawn), "{name}");
    }
    assert!(Code::draw("ldpc-4k-0.901").is_none(), "its rules are no more");
}
