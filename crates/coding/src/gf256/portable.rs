//! The kernel that runs everywhere: two look-ups a byte. It also takes what is too short for a
//! register.

use super::kernel::Part;
use super::tables::NIBBLES;

pub(super) fn add(sum: &mut [u8], other: &[u8]) {
    for (s, o) in sum.iter_mut().zip(other) {
        *s ^= o;
    }
}

pub(super) fn mul_add(sum: &mut [u8], other: &[u8], c: u8) {
    let row = &NIBBLES[usize::from(c)];
    for (s, o) in sum.iter_mut().zip(other) {
        *s ^= product(row, *o);
    }
}

pub(super) fn mul(bytes: &mut [u8], c: u8) {
    let row = &NIBBLES[usize::from(c)];
    for byte in bytes {
        *byte = product(row, *byte);
    }
}

pub(super) fn sums(inputs: &[&[u8]], factors: &[u8], outputs: &mut [&mut [u8]], part: Part) {
    let width = outputs.len();
    for (i, output) in outputs.iter_mut().enumerate() {
        let output = &mut output[part.range()];
        output.fill(0);
        for (j, input) in inputs.iter().enumerate() {
            mul_add(output, &input[part.range()], factors[j * width + i]);
        }
    }
}

pub(super) fn total(inputs: &[&[u8]], output: &mut [u8]) {
    output.fill(0);
    for input in inputs {
        add(output, input);
    }
}

fn product(row: &[u8; 32], byte: u8) -> u8 {
    row[usize::from(byte & 15)] ^ row[16 + usize::from(byte >> 4)]
}
