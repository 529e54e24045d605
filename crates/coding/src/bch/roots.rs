//! The roots of a polynomial over GF(2^m) that is to have as many different ones as its degree says:
//! by formulas up to degree 4, by Berlekamp's traces above (`trace.rs`).

use super::MAX_T;
use super::field::Field;
use super::kernel::Kernel;
use super::trace;

/// All roots of a monic polynomial, lowest coefficient first, without the 1 of the highest term.
/// Writes one root for each of `monic` to `roots`; `None` if it has fewer different roots.
pub(super) fn find(kernel: &Kernel, field: &Field, monic: &[u16], roots: &mut [u16]) -> Option<()> {
    match monic.len() {
        0..=4 => closed(field, monic, roots),
        5..=16 => trace::find::<16, 8>(kernel, field, monic, roots),
        17..=64 => trace::find::<64, 32>(kernel, field, monic, roots),
        _ => trace::find::<MAX_T, { MAX_T / 2 }>(kernel, field, monic, roots),
    }
}

/// The same, up to degree 4.
pub(super) fn closed(field: &Field, monic: &[u16], roots: &mut [u16]) -> Option<()> {
    match *monic {
        [] => {}
        [c] => roots[0] = c,
        [c, b] => roots[..2].copy_from_slice(&quadratic(field, b, c)?),
        [d, c, b] => roots[..3].copy_from_slice(&cubic(field, b, c, d)?),
        [e, d, c, b] => roots[..4].copy_from_slice(&quartic(field, b, c, d, e)?),
        _ => unreachable!("degree {} has no formula", monic.len()),
    }
    Some(())
}

/// x^2 + bx + c: with x = by it is y^2 + y + c/b^2.
fn quadratic(field: &Field, b: u16, c: u16) -> Option<[u16; 2]> {
    if b == 0 {
        return None;
    }
    let x = field.mul(b, field.half(field.div(c, field.square(b)))?);
    Some([x, x ^ b])
}

/// x^3 + bx^2 + cx + d: times x + b it has no x^3, and one more root, b.
fn cubic(field: &Field, b: u16, c: u16, d: u16) -> Option<[u16; 3]> {
    let squares = field.square(b) ^ c;
    let four = affine_quartic(field, squares, field.mul(b, c) ^ d, field.mul(b, d))?;
    let mut roots = [0; 3];
    let mut found = 0;
    for root in four.into_iter().filter(|root| *root != b) {
        roots[found] = root;
        found += 1;
    }
    // The four differ, so b, which is among them, was left out.
    (found == 3).then_some(roots)
}

/// x^4 + bx^3 + cx^2 + dx + e: with x = y + sqrt(d/b) there is no y, and with y = 1/z no z^3 either.
fn quartic(field: &Field, b: u16, c: u16, d: u16, e: u16) -> Option<[u16; 4]> {
    if b == 0 {
        return affine_quartic(field, c, d, e);
    }
    let shift = field.sqrt(field.div(d, b));
    let squares = field.mul(b, shift) ^ c;
    // The value at the shift, by Horner.
    let value = [b, c, d, e].iter().fold(1, |sum, c| field.mul(sum, shift) ^ c);
    if value == 0 {
        return None;
    }
    let inverses = affine_quartic(field, field.div(squares, value), field.div(b, value), field.div(1, value))?;
    inverses.iter().all(|z| *z != 0).then(|| inverses.map(|z| field.div(1, z) ^ shift))
}

/// x^4 + ax^2 + bx + c: the left side but for c is linear over GF(2), so this is a system of m equations,
/// solved by elimination. `None` unless there are four roots.
fn affine_quartic(field: &Field, a: u16, b: u16, c: u16) -> Option<[u16; 4]> {
    let (log_a, log_b) = (field.log(a), field.log(b));
    // By the highest bit of the image: an image, and above it the element it is of.
    let mut basis = [0u32; 16];
    let mut kernel = [0u16; 2];
    let mut nullity = 0;
    for i in 0..field.m {
        let image = field.power(4 * i) ^ field.power(log_a + 2 * i) ^ field.power(log_b + i);
        let mut pair = 1 << (16 + i) | u32::from(image);
        while pair as u16 != 0 {
            let top = &mut basis[(pair as u16).ilog2() as usize];
            if *top == 0 {
                *top = pair;
                break;
            }
            pair ^= *top;
        }
        if pair as u16 == 0 {
            *kernel.get_mut(nullity)? = (pair >> 16) as u16;
            nullity += 1;
        }
    }
    let mut pair = u32::from(c);
    while pair as u16 != 0 {
        let top = basis[(pair as u16).ilog2() as usize];
        if top == 0 {
            return None;
        }
        pair ^= top;
    }
    let root = (pair >> 16) as u16;
    let [k, l] = kernel;
    (nullity == 2).then_some([root, root ^ k, root ^ l, root ^ k ^ l])
}
