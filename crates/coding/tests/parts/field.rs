//! The field and its kernels, against the definition, and against another way to multiply.

use flashkeep_coding::gf256::{self, Kernel, Sums, naive};
use proptest::prelude::*;

/// Bytes without a pattern that a kernel could keep by chance.
fn noise(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((seed * 1_000_003 + i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

/// The product as Russian peasants have it: `a` is doubled and reduced at once, bit by bit of `b`. The definition in [`naive`] reduces at
/// the end, and tables follow from that.
fn peasants(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b > 0 {
        product ^= if b & 1 == 1 { a } else { 0 };
        a = a << 1 ^ if a & 0x80 != 0 { 0x1d } else { 0 };
        b >>= 1;
    }
    product
}

#[test]
fn products_and_inverses_of_all_elements_are_those_of_the_definition_and_of_peasants() {
    for a in 0..=255 {
        for b in 0..=255 {
            let product = gf256::mul(a, b);
            assert_eq!((product, product), (naive::mul(a, b), peasants(a, b)), "{a} * {b}");
            if b != 0 {
                assert_eq!(peasants(gf256::mul(a, gf256::inv(b)), b), a, "{a} / {b}");
            }
        }
    }
}

#[test]
fn two_generates_all_elements_but_zero() {
    let mut seen = [false; 256];
    let mut power = 1;
    for exponent in 0..255 {
        assert!(!std::mem::replace(&mut seen[usize::from(power)], true), "2^{exponent} comes twice");
        assert_eq!(gf256::mul(power, 2), peasants(power, 2), "2^{exponent}");
        power = gf256::mul(power, 2);
    }
    assert_eq!(power, 1);
    assert!(!seen[0]);
}

#[test]
#[should_panic(expected = "0 has no inverse")]
fn zero_has_no_inverse() {
    let _ = gf256::inv(0);
}

#[test]
fn the_portable_kernel_is_everywhere_and_comes_last() {
    let kernels = Kernel::available();
    assert_eq!(kernels.last().map(|kernel| kernel.name()), Some("portable"));
    assert_eq!(kernels[0].name(), Kernel::fastest().name());
}

/// All lengths in which loops begin, end and overlap, at places that are not aligned.
#[test]
fn every_kernel_multiplies_and_adds_like_its_naive_twin_at_every_short_length() {
    for kernel in Kernel::available() {
        for len in (0..=300).chain([511, 512, 513, 4095, 4096, 4099]) {
            for (c, offset) in [(0, 0), (1, 1), (2, 3), (0x1d, 8), (0x8e, 0), (255, 31)] {
                let (sum, other) = (noise(len, len + offset), noise(len + 7, len + 2 * offset));
                let (before, other) = (&sum[offset..], &other[2 * offset..]);
                let mut expected = before.to_vec();
                naive::mul_add(&mut expected, other, c);
                let mut found = sum.clone();
                kernel.mul_add(&mut found[offset..], other, c);
                assert_eq!(found[offset..], expected, "{kernel:?}: {len} bytes += {c} * ..");
                assert_eq!(found[..offset], sum[..offset], "{kernel:?} writes before the strip");
                expected = before.iter().map(|byte| naive::mul(*byte, c)).collect();
                found.copy_from_slice(&sum);
                kernel.mul(&mut found[offset..], c);
                assert_eq!(found[offset..], expected, "{kernel:?}: {len} bytes *= {c}");
                expected = before.iter().zip(other).map(|(a, b)| a ^ b).collect();
                found.copy_from_slice(&sum);
                kernel.add(&mut found[offset..], other);
                assert_eq!(found[offset..], expected, "{kernel:?}: {len} bytes added");
            }
        }
    }
}

#[test]
fn every_kernel_knows_every_coefficient() {
    let all: Vec<u8> = (0..=255).collect();
    for kernel in Kernel::available() {
        for c in 0..=255 {
            let mut strip = all.clone();
            kernel.mul(&mut strip, c);
            let expected: Vec<u8> = all.iter().map(|byte| naive::mul(*byte, c)).collect();
            assert_eq!(strip, expected, "{kernel:?} * {c}");
        }
    }
}

#[test]
#[should_panic(expected = "one length")]
fn strips_of_different_lengths_are_refused() {
    gf256::mul_add(&mut [0; 8], &[0; 9], 2);
}

#[test]
#[should_panic(expected = "one length")]
fn sums_refuse_an_output_that_is_too_short() {
    Sums::new(2, &[1, 2]).apply(&[&[0; 64], &[0; 64]], &mut [&mut [0; 63]]);
}

/// Sums by the definition.
fn naive_sums(coefficients: &[u8], inputs: &[&[u8]]) -> Vec<Vec<u8>> {
    let output = |row: &[u8]| {
        let mut sum = vec![0; inputs[0].len()];
        row.iter().zip(inputs).for_each(|(c, input)| naive::mul_add(&mut sum, input, *c));
        sum
    };
    coefficients.chunks_exact(inputs.len()).map(output).collect()
}

/// The output of every kernel for the matrix must be the sums of the definition, and nothing beside them.
fn check_sums(coefficients: &[u8], strips: &[Vec<u8>], offset: usize) {
    let inputs: Vec<&[u8]> = strips.iter().map(|strip| &strip[offset..]).collect();
    let expected = naive_sums(coefficients, &inputs);
    let sums = Sums::new(inputs.len(), coefficients);
    for kernel in Kernel::available() {
        let len = inputs[0].len();
        let mut written = vec![vec![0xa5; len + 2 * offset]; sums.outputs()];
        let mut outputs: Vec<&mut [u8]> = written.iter_mut().map(|strip| &mut strip[offset..offset + len]).collect();
        sums.apply_with(kernel, &inputs, &mut outputs);
        for (strip, expected) in written.iter().zip(&expected) {
            assert_eq!(strip[offset..offset + len], *expected, "{kernel:?}, {len} bytes from {} strips", inputs.len());
            assert!(strip[..offset].iter().chain(&strip[offset + len..]).all(|byte| *byte == 0xa5), "{kernel:?} writes beside");
        }
    }
}

#[test]
fn every_kernel_sums_like_its_naive_twin_at_every_short_length() {
    for len in (0..=140).chain([255, 256, 257, 511, 512, 513, 1023, 1025]) {
        for (inputs, outputs) in [(1, 1), (2, 1), (3, 2), (5, 3), (4, 4), (3, 5), (2, 9)] {
            let strips: Vec<Vec<u8>> = (0..inputs).map(|i| noise(i + len, len + 3)).collect();
            check_sums(&noise(inputs, inputs * outputs), &strips, 3);
            check_sums(&vec![1; inputs * outputs], &strips, 3);
        }
    }
}

#[test]
fn many_outputs_are_summed_part_by_part() {
    // More than a cache's worth of inputs, and parts that do not divide the strips.
    let strips: Vec<Vec<u8>> = (0..20).map(|i| noise(i, 5001)).collect();
    check_sums(&noise(99, 20 * 11), &strips, 0);
}

#[test]
fn coefficients_are_kept_however_outputs_are_grouped() {
    let coefficients = noise(5, 7 * 10);
    let sums = Sums::new(7, &coefficients);
    assert_eq!((sums.inputs(), sums.outputs()), (7, 10));
    for (at, c) in coefficients.iter().enumerate() {
        assert_eq!(sums.coefficient(at / 7, at % 7), *c);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn kernels_agree_with_the_naive_twin(
        inputs in 1usize..20,
        outputs in 1usize..8,
        len in 0usize..3000,
        offset in 0usize..70,
        seed in 0usize..1_000_000,
    ) {
        let strips: Vec<Vec<u8>> = (0..inputs).map(|i| noise(seed + i, len + offset)).collect();
        check_sums(&noise(seed, inputs * outputs), &strips, offset);
    }

    #[test]
    fn the_field_has_its_laws(a: u8, b: u8, c: u8) {
        prop_assert_eq!(gf256::mul(a, b), gf256::mul(b, a));
        prop_assert_eq!(gf256::mul(a, gf256::mul(b, c)), gf256::mul(gf256::mul(a, b), c));
        prop_assert_eq!(gf256::mul(a, b ^ c), gf256::mul(a, b) ^ gf256::mul(a, c));
        if a != 0 {
            prop_assert_eq!(gf256::mul(a, gf256::inv(a)), 1);
        }
    }
}
