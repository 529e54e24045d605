//! The loops over strips, written once for every register width and instruction set.
//!
//! A length that is not a multiple of the register ends in one register that overlaps the one
//! before; nothing is left for a byte loop as long as the strip fills one register.

/// A register of field elements. Its functions may only be called where the instruction set that the
/// type stands for exists; they are inlined into functions that are compiled for it.
pub(super) trait Vector: Copy {
    /// Elements, that is bytes, of a register.
    const BYTES: usize;
    /// Prepared factor of a multiplication by one constant.
    type Factor: Copy;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn factor(c: u8) -> Self::Factor;
    unsafe fn mul(self, factor: Self::Factor) -> Self;
}

/// `sum += other`. The strips have one length, and fill a register.
#[inline(always)]
pub(super) unsafe fn add<V: Vector>(sum: &mut [u8], other: &[u8]) {
    let (len, other, sum) = (sum.len(), other.as_ptr(), sum.as_mut_ptr());
    // Computed before the loop changes what it reads, stored after it.
    let last = len - V::BYTES;
    let end = V::load(sum.add(last)).xor(V::load(other.add(last)));
    let mut at = 0;
    while at + 4 * V::BYTES <= last {
        for u in 0..4 {
            let at = at + u * V::BYTES;
            V::load(sum.add(at)).xor(V::load(other.add(at))).store(sum.add(at));
        }
        at += 4 * V::BYTES;
    }
    while at < last {
        V::load(sum.add(at)).xor(V::load(other.add(at))).store(sum.add(at));
        at += V::BYTES;
    }
    end.store(sum.add(last));
}

/// `sum += c * other`. The strips have one length, and fill a register.
#[inline(always)]
pub(super) unsafe fn mul_add<V: Vector>(sum: &mut [u8], other: &[u8], c: u8) {
    let (len, other, sum, factor) = (sum.len(), other.as_ptr(), sum.as_mut_ptr(), V::factor(c));
    let last = len - V::BYTES;
    let end = V::load(sum.add(last)).xor(V::load(other.add(last)).mul(factor));
    let mut at = 0;
    while at + 4 * V::BYTES <= last {
        for u in 0..4 {
            let at = at + u * V::BYTES;
            V::load(sum.add(at)).xor(V::load(other.add(at)).mul(factor)).store(sum.add(at));
        }
        at += 4 * V::BYTES;
    }
    while at < last {
        V::load(sum.add(at)).xor(V::load(other.add(at)).mul(factor)).store(sum.add(at));
        at += V::BYTES;
    }
    end.store(sum.add(last));
}

/// `bytes *= c`. The strip fills a register.
#[inline(always)]
pub(super) unsafe fn mul<V: Vector>(bytes: &mut [u8], c: u8) {
    let (last, bytes, factor) = (bytes.len() - V::BYTES, bytes.as_mut_ptr(), V::factor(c));
    let end = V::load(bytes.add(last)).mul(factor);
    let mut at = 0;
    while at < last {
        V::load(bytes.add(at)).mul(factor).store(bytes.add(at));
        at += V::BYTES;
    }
    end.store(bytes.add(last));
}

/// `M` outputs, bytes `start..end` of them, `U` registers a step: the sums of a step stay in
/// registers while all inputs pass. The part fills a register; `factors` has `M` coefficients an
/// input.
#[inline(always)]
pub(super) unsafe fn sums<V: Vector, const M: usize, const U: usize>(
    inputs: &[&[u8]],
    factors: &[u8],
    outputs: &mut [&mut [u8]],
    start: usize,
    end: usize,
) {
    let mut pointers = [std::ptr::null_mut(); M];
    for (pointer, output) in pointers.iter_mut().zip(outputs) {
        *pointer = output.as_mut_ptr();
    }
    let (mut at, last) = (start, end - V::BYTES);
    while at + U * V::BYTES <= end {
        step::<V, M, U>(inputs, factors, &pointers, at);
        at += U * V::BYTES;
    }
    while at < last {
        step::<V, M, 1>(inputs, factors, &pointers, at);
        at += V::BYTES;
    }
    if at < end {
        step::<V, M, 1>(inputs, factors, &pointers, last);
    }
}

#[inline(always)]
unsafe fn step<V: Vector, const M: usize, const U: usize>(inputs: &[&[u8]], factors: &[u8], outputs: &[*mut u8; M], at: usize) {
    let mut sums = [[V::zero(); U]; M];
    let mut factors = factors.as_ptr();
    for input in inputs {
        let input = input.as_ptr().add(at);
        let mut loaded = [V::zero(); U];
        for (u, register) in loaded.iter_mut().enumerate() {
            *register = V::load(input.add(u * V::BYTES));
        }
        for (i, sums) in sums.iter_mut().enumerate() {
            let factor = V::factor(*factors.add(i));
            for (sum, register) in sums.iter_mut().zip(loaded) {
                *sum = sum.xor(register.mul(factor));
            }
        }
        factors = factors.add(M);
    }
    for (sums, output) in sums.iter().zip(outputs) {
        for (u, sum) in sums.iter().enumerate() {
            sum.store(output.add(at + u * V::BYTES));
        }
    }
}

/// The sum of all inputs, `U` registers a step. The strips have one length and fill a register.
#[inline(always)]
pub(super) unsafe fn total<V: Vector, const U: usize>(inputs: &[&[u8]], output: &mut [u8]) {
    let (mut at, end, output) = (0, output.len(), output.as_mut_ptr());
    let last = end - V::BYTES;
    while at + U * V::BYTES <= end {
        total_step::<V, U>(inputs, output, at);
        at += U * V::BYTES;
    }
    while at < last {
        total_step::<V, 1>(inputs, output, at);
        at += V::BYTES;
    }
    if at < end {
        total_step::<V, 1>(inputs, output, last);
    }
}

#[inline(always)]
unsafe fn total_step<V: Vector, const U: usize>(inputs: &[&[u8]], output: *mut u8, at: usize) {
    let mut sums = [V::zero(); U];
    // In pairs: where there is an instruction that adds three registers, the compiler finds it.
    let (pairs, rest) = inputs.as_chunks::<2>();
    for [a, b] in pairs {
        let (a, b) = (a.as_ptr().add(at), b.as_ptr().add(at));
        for (u, sum) in sums.iter_mut().enumerate() {
            *sum = sum.xor(V::load(a.add(u * V::BYTES))).xor(V::load(b.add(u * V::BYTES)));
        }
    }
    for input in rest {
        let input = input.as_ptr().add(at);
        for (u, sum) in sums.iter_mut().enumerate() {
            *sum = sum.xor(V::load(input.add(u * V::BYTES)));
        }
    }
    for (u, sum) in sums.iter().enumerate() {
        sum.store(output.add(at + u * V::BYTES));
    }
}
