//! The algebra of protection: codes compute, schemes decide (decision D3).

/// Adds `other` to `sum` over GF(2), byte by byte: the parity of a stripe is the sum of its
/// strips. Both have the same length.
pub fn xor_into(sum: &mut [u8], other: &[u8]) {
    assert_eq!(sum.len(), other.len(), "strips of one stripe have one length");
    // A plain loop: the compiler turns it into the widest vector XOR the target has.
    for (s, o) in sum.iter_mut().zip(other) {
        *s ^= o;
    }
}

#[cfg(test)]
mod tests {
    use super::xor_into;

    #[test]
    fn any_one_strip_is_the_sum_of_the_others() {
        let strips: Vec<Vec<u8>> =
            (0u8..5).map(|i| (0..100u8).map(|b| b.wrapping_mul(31) ^ i.wrapping_mul(77)).collect()).collect();
        for lost in 0..strips.len() {
            let mut all = vec![0; 100];
            let mut others = vec![0; 100];
            for (i, strip) in strips.iter().enumerate() {
                xor_into(&mut all, strip);
                if i != lost {
                    xor_into(&mut others, strip);
                }
            }
            xor_into(&mut all, &others);
            assert_eq!(all, strips[lost]);
        }
    }
}
