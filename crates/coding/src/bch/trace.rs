//! Roots by Berlekamp's trace algorithm: the trace of c x is 0 at some of the roots and 1 at the others,
//! so its greatest common divisor with the polynomial splits them; some c of a basis tells any two apart.
//!
//! Polynomials stand lowest coefficient first. A *monic* one lacks the 1 of its highest term.

use super::field::Field;
use super::kernel::Kernel;
use super::roots::closed;

/// As `roots::find`, for degrees from 5 up to `N`; `HALF` is N/2.
pub(super) fn find<const N: usize, const HALF: usize>(
    kernel: &Kernel,
    field: &Field,
    monic: &[u16],
    roots: &mut [u16],
) -> Option<()> {
    let degree = monic.len();
    let mut powers = [[0; N]; 16];
    frobenius::<N, HALF>(kernel, field, monic, &mut powers)?;
    // Factors side by side.
    let mut factors = [0; N];
    factors[..degree].copy_from_slice(monic);
    let mut lengths = [0; N];
    lengths[0] = degree;
    let mut count = 1;
    for k in 0..field.m {
        let trace = trace_of(kernel, field, &powers, k, degree);
        let (mut start, mut next, mut next_count) = (0, [0; N], 0);
        for length in &lengths[..count] {
            let factor = &mut factors[start..start + length];
            let first = if *length > 4 { split::<N>(field, factor, &trace[..degree]) } else { 0 };
            for part in [first, length - first].into_iter().filter(|part| *part > 0) {
                next[next_count] = part;
                next_count += 1;
            }
            start += length;
        }
        (lengths, count) = (next, next_count);
        if lengths[..count].iter().all(|length| *length <= 4) {
            break;
        }
    }
    let mut start = 0;
    for length in &lengths[..count] {
        closed(field, &factors[start..start + length], &mut roots[start..start + length])?;
        start += length;
    }
    Some(())
}

/// x, x^2, x^4 .. x^(2^(m-1)) modulo the polynomial, as the kernel wants rows. `None` unless x^(2^m) is x:
/// then the polynomial has a root twice, or roots outside the field.
fn frobenius<const N: usize, const HALF: usize>(
    kernel: &Kernel,
    field: &Field,
    monic: &[u16],
    powers: &mut [[u32; N]; 16],
) -> Option<()> {
    let degree = monic.len();
    let even = even_powers::<N, HALF>(kernel, field, monic);
    let (m, first) = (field.m as usize, degree.div_ceil(2));
    let mut power = [0; N];
    power[1] = 1;
    for row in &mut powers[..m] {
        for (to, c) in row[..degree].iter_mut().zip(&power) {
            *to = kernel.row(field, *c);
        }
        // The square of a sum is the sum of the squares.
        let mut square = [0; N];
        for j in 0..first {
            square[2 * j] = field.square(power[j]);
        }
        for c in &mut power[first..degree] {
            *c = field.square(*c);
        }
        kernel.combine(field, even.as_flattened(), N, &power[first..degree], &mut square[..degree]);
        power = square;
    }
    power[1] ^= 1;
    power[..degree].iter().all(|c| *c == 0).then_some(())
}

/// x^2i modulo the polynomial for each 2i from its degree up to twice that, as the kernel wants rows.
fn even_powers<const N: usize, const HALF: usize>(kernel: &Kernel, field: &Field, monic: &[u16]) -> [[u32; N]; HALF] {
    let degree = monic.len();
    let divisor: [u32; N] = logs(field, monic);
    let mut power = [0; N];
    power[..degree].copy_from_slice(monic);
    let mut rows = [[0; N]; HALF];
    for (i, row) in rows[..degree / 2].iter_mut().enumerate() {
        // The first one is x^degree, or the one above.
        let steps = if i > 0 { 2 } else { degree % 2 };
        for _ in 0..steps {
            let top = power[degree - 1];
            power.copy_within(..degree - 1, 1);
            power[0] = 0;
            add(field, &mut power[..degree], &divisor[..degree], field.log(top));
        }
        for (to, c) in row[..degree].iter_mut().zip(&power) {
            *to = kernel.row(field, *c);
        }
    }
    rows
}

/// The trace of a^k x modulo the polynomial: the sum of the conjugates of a^k, each times its power of x.
fn trace_of<const N: usize>(kernel: &Kernel, field: &Field, powers: &[[u32; N]; 16], k: u32, degree: usize) -> [u16; N] {
    let mut conjugates = [field.power(k); 16];
    for i in 1..16 {
        conjugates[i] = field.square(conjugates[i - 1]);
    }
    let mut trace = [0; N];
    kernel.combine(field, powers.as_flattened(), N, &conjugates[..field.m as usize], &mut trace[..degree]);
    trace
}

/// Replaces a monic factor by two, those of its roots where the trace is 0 first, and says how many these
/// are: 0 if it stays as it is.
fn split<const N: usize>(field: &Field, factor: &mut [u16], trace: &[u16]) -> usize {
    let divisor: [u32; N] = logs(field, factor);
    let mut rest = [0; N];
    rest[..trace.len()].copy_from_slice(trace);
    divide(field, &mut rest[..trace.len()], &divisor[..factor.len()], false);
    let mut high = [0; N];
    high[..factor.len()].copy_from_slice(factor);
    // Euclid: `high` is monic, `rest` becomes so.
    let (mut high, mut rest, mut length) = (&mut high, &mut rest, factor.len());
    while let Some(degree) = rest[..length].iter().rposition(|c| *c != 0) {
        if degree == 0 {
            return 0;
        }
        let lead = field.log(rest[degree]);
        let mut divisor = [0; N];
        for (c, log) in rest[..degree].iter_mut().zip(&mut divisor) {
            *log = field.log_ratio(field.log(*c), lead);
            *c = field.power(*log);
        }
        divide(field, &mut high[..length], &divisor[..degree], true);
        std::mem::swap(&mut high, &mut rest);
        length = degree;
    }
    if length == factor.len() {
        return 0;
    }
    let divisor: [u32; N] = logs(field, &high[..length]);
    divide(field, factor, &divisor[..length], true);
    factor[..length].copy_from_slice(&high[..length]);
    length
}

/// Division by a monic polynomial of degree d: the remainder takes the d lowest places, the quotient the
/// others. `monic` says whether the dividend is.
fn divide(field: &Field, dividend: &mut [u16], divisor: &[u32], monic: bool) {
    let (degree, d) = (dividend.len(), divisor.len());
    if monic {
        add(field, &mut dividend[degree - d..], divisor, 0);
    }
    for i in (d..degree).rev() {
        let factor = dividend[i];
        if factor != 0 {
            add(field, &mut dividend[i - d..i], divisor, field.log(factor));
        }
    }
}

/// `sum` += a^factor `poly`.
#[inline(always)]
fn add(field: &Field, sum: &mut [u16], poly: &[u32], factor: u32) {
    for (s, log) in sum.iter_mut().zip(poly) {
        *s ^= field.power(log + factor);
    }
}

fn logs<const N: usize>(field: &Field, poly: &[u16]) -> [u32; N] {
    let mut logs = [field.zero(); N];
    for (log, c) in logs.iter_mut().zip(poly) {
        *log = field.log(*c);
    }
    logs
}
