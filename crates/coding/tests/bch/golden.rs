//! Parity that pip's `bchlib` computed, the Linux kernel's codec: `parity_vectors.py` beside this file
//! writes `parity_vectors.csv`.

use flashkeep_coding::Bch;
use flashkeep_coding::bch::Kernel;

/// Data of the vectors: the high bytes of a linear congruential generator.
fn data(seed: u32, bits: usize) -> Vec<u8> {
    let mut state = seed;
    let mut data: Vec<u8> = (0..bits.div_ceil(8))
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    let behind = bits.next_multiple_of(8) - bits;
    *data.last_mut().expect("there is data") &= 0xff << behind;
    data
}

#[test]
fn parity_is_that_of_the_linux_kernel() {
    let vectors = include_str!("parity_vectors.csv");
    let mut count = 0;
    for line in vectors.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [m, t, bits, seed, expected] = fields[..] else { panic!("five columns: {line}") };
        let number = |text: &str| text.parse::<usize>().expect("a number");
        for kernel in Kernel::available() {
            let code = Bch::with_kernel(number(m) as u32, number(t), number(bits), kernel).expect("a code");
            let mut parity = vec![0; code.parity_bytes()];
            code.encode(&data(number(seed) as u32, number(bits)), &mut parity);
            let mut hex: String = parity.iter().map(|byte| format!("{byte:02x}")).collect();
            // That codec has room for m * t bits even where parity has fewer.
            hex.extend(std::iter::repeat_n('0', expected.len() - hex.len()));
            assert_eq!(hex, expected, "{kernel:?}: {line}");
        }
        count += 1;
    }
    assert!(count >= 40, "{count} vectors");
}
