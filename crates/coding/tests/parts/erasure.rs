//! Erasure codes: the matrix and the parity of ISA-L, and what k survivors bring back.

use flashkeep_coding::gf256::{self, naive};
use flashkeep_coding::{ErasureCode, Undecodable, xor_into};
use proptest::prelude::*;

/// The parity rows that ISA-L 2.30.0 (Debian 12) gives for 8 data and 2 parity symbols:
/// `gf_gen_cauchy1_matrix(a, 10, 8)`, from the ninth row on.
const ISAL_8_2: [[u8; 8]; 2] =
    [[0xad, 0x9d, 0xdd, 0x98, 0x3d, 0xaa, 0x5d, 0x96], [0x9d, 0xad, 0x98, 0xdd, 0xaa, 0x3d, 0x96, 0x5d]];

/// Likewise for 16 and 4: `gf_gen_cauchy1_matrix(a, 20, 16)`.
const ISAL_16_4: [[u8; 16]; 4] = [
    [0xd8, 0x72, 0xc0, 0x58, 0xe0, 0x3e, 0x4c, 0x66, 0x90, 0xde, 0x55, 0x80, 0xa0, 0x83, 0x4b, 0x2a],
    [0x72, 0xd8, 0x58, 0xc0, 0x3e, 0xe0, 0x66, 0x4c, 0xde, 0x90, 0x80, 0x55, 0x83, 0xa0, 0x2a, 0x4b],
    [0xc0, 0x58, 0xd8, 0x72, 0x4c, 0x66, 0xe0, 0x3e, 0x55, 0x80, 0x90, 0xde, 0x4b, 0x2a, 0xa0, 0x83],
    [0x58, 0xc0, 0x72, 0xd8, 0x66, 0x4c, 0x3e, 0xe0, 0x80, 0x55, 0xde, 0x90, 0x2a, 0x4b, 0x83, 0xa0],
];

/// The first bytes of a strip, and the hash of all of it.
type Print = ([u8; 8], u64);

/// Of each parity strip: its first 8 bytes and its FNV-1a hash (64 bits), as the same library's
/// `ec_encode_data` computed them for the data of [`isal_data`] and the matrices above.
const ISAL_PARITY_8_2: [Print; 2] = [
    ([0xf0, 0x13, 0xe8, 0x90, 0x0e, 0xcf, 0xb2, 0x62], 0x2b04_6c0e_8f6b_3a5d),
    ([0xfd, 0x14, 0xca, 0x1b, 0xe3, 0xcf, 0x0c, 0x04], 0xb54c_b413_8be5_6014),
];
const ISAL_PARITY_16_4: [Print; 4] = [
    ([0x52, 0xff, 0xfe, 0x2e, 0xbc, 0xf1, 0x3a, 0x6d], 0xbf90_cada_da8a_22f7),
    ([0xd4, 0xa3, 0x94, 0x46, 0xb4, 0xee, 0x8e, 0x24], 0xca7c_3b5f_2700_3892),
    ([0xd6, 0xeb, 0x46, 0x2c, 0x2c, 0xeb, 0x70, 0x7d], 0x4d2e_168d_b2f0_32d8),
    ([0xb9, 0x06, 0x1a, 0xd4, 0x31, 0x61, 0xb5, 0x73], 0xf5ef_ec89_ea33_cc4b),
];

/// 1000 bytes a strip: byte b of strip j is the top byte of (1000 j + b) * 2654435761 modulo 2^32.
fn isal_data(strips: u32) -> Vec<Vec<u8>> {
    let byte = |j: u32, b: u32| ((j * 1000 + b).wrapping_mul(2_654_435_761) >> 24) as u8;
    (0..strips).map(|j| (0..1000).map(|b| byte(j, b)).collect()).collect()
}

fn noise(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((seed * 1_000_003 + i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

fn slices(strips: &[Vec<u8>]) -> Vec<&[u8]> {
    strips.iter().map(|strip| &strip[..]).collect()
}

fn slices_mut(strips: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    strips.iter_mut().map(|strip| &mut strip[..]).collect()
}

/// A codeword: k strips of noise and their parity.
fn codeword(code: &ErasureCode, len: usize) -> Vec<Vec<u8>> {
    let data: Vec<Vec<u8>> = (0..code.data()).map(|j| noise(j, len)).collect();
    let mut parity = vec![vec![0; len]; code.parity()];
    code.encode(&slices(&data), &mut slices_mut(&mut parity));
    data.into_iter().chain(parity).collect()
}

fn rows(code: &ErasureCode) -> Vec<Vec<u8>> {
    (0..code.parity()).map(|i| (0..code.data()).map(|j| code.coefficient(i, j)).collect()).collect()
}

#[test]
fn the_matrix_and_the_parity_are_those_of_isa_l() {
    assert_eq!(rows(&ErasureCode::new(8, 2)), ISAL_8_2);
    assert_eq!(rows(&ErasureCode::new(16, 4)), ISAL_16_4);
    let strips: [(u32, &[Print]); 2] = [(8, &ISAL_PARITY_8_2), (16, &ISAL_PARITY_16_4)];
    for (k, expected) in strips {
        let mut parity = vec![vec![0; 1000]; expected.len()];
        ErasureCode::new(k as usize, expected.len()).encode(&slices(&isal_data(k)), &mut slices_mut(&mut parity));
        for (strip, (first, hash)) in parity.iter().zip(expected) {
            assert_eq!((&strip[..8], vocab::fnv(strip)), (&first[..], *hash), "{k} data symbols");
        }
    }
}

#[test]
fn one_parity_is_the_xor_of_the_data_unless_a_cauchy_matrix_is_asked_for() {
    let strips = codeword(&ErasureCode::new(7, 1), 100);
    let mut sum = vec![0; 100];
    strips.iter().for_each(|strip| xor_into(&mut sum, strip));
    assert_eq!(sum, [0; 100]);
    let cauchy = ErasureCode::cauchy(7, 1);
    for j in 0..7 {
        assert_eq!(gf256::mul(cauchy.coefficient(0, j), 7 ^ j as u8), 1);
    }
}

/// Whether the sums of `solve` are right, without bytes of a codeword: both sides as rows over the data.
fn assert_solved(code: &ErasureCode, lost: usize, available: &[usize]) {
    let solved = code.solve(lost, available).expect("k symbols are available");
    let row = |symbol: usize| -> Vec<u8> {
        let entry = |j| if symbol < code.data() { u8::from(symbol == j) } else { code.coefficient(symbol - code.data(), j) };
        (0..code.data()).map(entry).collect()
    };
    let mut sum = vec![0; code.data()];
    for &(symbol, c) in &solved {
        assert!(c != 0 && symbol != lost && available.contains(&symbol), "{lost} from {available:?}: {solved:?}");
        naive::mul_add(&mut sum, &row(symbol), c);
    }
    assert_eq!((sum, solved.len()), (row(lost), code.data()), "{lost} from {available:?}");
}

/// Rebuilds everything that is not among the survivors, and solves for each symbol of it.
fn assert_recovers(code: &ErasureCode, strips: &[Vec<u8>], survivors: &[usize]) {
    let lost: Vec<usize> = (0..code.symbols()).filter(|symbol| !survivors.contains(symbol)).collect();
    let present: Vec<(usize, &[u8])> = survivors.iter().map(|symbol| (*symbol, &strips[*symbol][..])).collect();
    let mut written = vec![vec![0; strips[0].len()]; lost.len()];
    let mut outputs: Vec<(usize, &mut [u8])> = lost.iter().copied().zip(slices_mut(&mut written)).collect();
    assert_eq!(code.rebuild(&present, &mut outputs), Ok(()));
    for (symbol, strip) in lost.iter().zip(&written) {
        assert!(*strip == strips[*symbol], "{code:?}: symbol {symbol} from {survivors:?}");
        assert_solved(code, *symbol, survivors);
    }
}

/// All subsets of `size` of 0..n, as sorted lists.
fn subsets(n: usize, size: usize) -> impl Iterator<Item = Vec<usize>> {
    let words = (0u32..1 << n).filter(move |word| word.count_ones() as usize == size);
    words.map(move |word| (0..n).filter(|symbol| word >> symbol & 1 == 1).collect())
}

#[test]
fn any_k_symbols_bring_back_all_others() {
    for code in [(8, 2), (7, 1), (6, 2), (16, 4), (4, 3), (2, 1), (1, 1), (1, 4)].map(|(k, m)| ErasureCode::new(k, m)) {
        // A register and a piece.
        let strips = codeword(&code, 70);
        let mut sets = 0;
        for survivors in subsets(code.symbols(), code.data()) {
            assert_recovers(&code, &strips, &survivors);
            sets += 1;
        }
        let (n, k) = (code.symbols() as u64, code.data() as u64);
        assert_eq!(sets, (1..=k).fold(1, |c, i| c * (n - k + i) / i), "n over k");
    }
    let code = ErasureCode::cauchy(5, 1);
    let strips = codeword(&code, 70);
    subsets(6, 5).for_each(|survivors| assert_recovers(&code, &strips, &survivors));
}

#[test]
fn the_first_k_available_symbols_are_taken() {
    let code = ErasureCode::new(4, 3);
    let solved = code.solve(1, &[6, 1, 0, 6, 5, 3, 2, 4]).expect("more than enough");
    assert_eq!(solved.iter().map(|(symbol, _)| *symbol).collect::<Vec<_>>(), [6, 0, 5, 3]);
    let plan = code.plan(&[1, 2], &[2, 0, 3, 4, 5, 6]).expect("enough");
    assert_eq!(plan.sources(), [0, 3, 4, 5]);
}

#[test]
fn fewer_than_k_symbols_bring_nothing_back_and_nothing_is_written() {
    let code = ErasureCode::new(4, 2);
    // Repetitions and the lost symbol itself do not count.
    assert_eq!(code.solve(0, &[0, 1, 2, 5, 5, 1]), None);
    assert_eq!(code.plan(&[0, 3], &[3, 1, 2, 5]), None);
    let strip = [1; 16];
    let mut lost = [7; 16];
    let present = [1, 2, 5].map(|symbol| (symbol, &strip[..]));
    assert_eq!(code.rebuild(&present, &mut [(0, &mut lost)]), Err(Undecodable));
    assert_eq!(lost, [7; 16]);
    assert_eq!(ErasureCode::new(3, 0).solve(0, &[1, 2]), None);
}

#[test]
fn a_parity_that_is_asked_for_with_all_data_at_hand_is_encoded_again() {
    let code = ErasureCode::new(5, 3);
    let data: Vec<usize> = (0..5).collect();
    for i in 0..3 {
        let expected: Vec<(usize, u8)> = data.iter().map(|j| (*j, code.coefficient(i, *j))).collect();
        assert_eq!(code.solve(5 + i, &data), Some(expected));
    }
}

#[test]
fn symbols_known_to_be_zero_count_and_need_not_be_added() {
    // A short stripe: data symbols 3.. were never written.
    let code = ErasureCode::new(8, 2);
    let data: Vec<Vec<u8>> = (0..8).map(|j| if j < 3 { noise(j, 40) } else { vec![0; 40] }).collect();
    let mut parity = vec![vec![0; 40]; 2];
    code.encode(&slices(&data), &mut slices_mut(&mut parity));
    let solved = code.solve(1, &[3, 4, 5, 6, 7, 0, 9, 8]).expect("enough with the zeros");
    let reads: Vec<(usize, u8)> = solved.into_iter().filter(|(symbol, _)| !(3..8).contains(symbol)).collect();
    assert_eq!(reads.iter().map(|(symbol, _)| *symbol).collect::<Vec<_>>(), [0, 9, 8]);
    let mut sum = vec![0; 40];
    for (symbol, c) in reads {
        gf256::mul_add(&mut sum, if symbol < 8 { &data[symbol] } else { &parity[symbol - 8] }, c);
    }
    assert_eq!(sum, data[1]);
}

#[test]
fn an_update_is_what_encoding_again_gives() {
    let code = ErasureCode::new(6, 3);
    let strips = codeword(&code, 200);
    let (mut data, mut parity) = (strips[..6].to_vec(), strips[6..].to_vec());
    let mut difference = noise(77, 200);
    xor_into(&mut difference, &data[4]);
    data[4] = noise(77, 200);
    code.update(4, &difference, &mut slices_mut(&mut parity));
    let mut expected = vec![vec![0; 200]; 3];
    code.encode(&slices(&data), &mut slices_mut(&mut expected));
    assert_eq!(parity, expected);
}

#[test]
#[should_panic(expected = "at most 255 symbols")]
fn a_code_of_more_symbols_than_the_field_has_is_refused() {
    let _ = ErasureCode::new(200, 56);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn codes_of_any_size_survive_any_m_losses(
        k in 1usize..=40,
        m in 0usize..=12,
        len in 0usize..300,
        order in any::<prop::sample::Index>(),
        seed in 0usize..1000,
    ) {
        let code = ErasureCode::new(k, m);
        let strips = codeword(&code, len);
        // Survivors in an order of no pattern.
        let mut survivors: Vec<usize> = (0..k + m).collect();
        survivors.sort_by_key(|symbol| noise(seed * 256 + symbol, 1 + order.index(8)).pop());
        survivors.truncate(k);
        assert_recovers(&code, &strips, &survivors);
    }
}

#[test]
fn the_largest_codes_are_as_good() {
    for (k, m) in [(254, 1), (251, 4), (128, 127), (1, 254)] {
        let code = ErasureCode::new(k, m);
        let strips = codeword(&code, 9);
        // The last k symbols: as much parity as there is.
        assert_recovers(&code, &strips, &(m..k + m).collect::<Vec<_>>());
    }
}
