//! Buckets of a histogram that is logarithmic: each power of two has equally many, so a value is known to a share of itself.

/// The bucket of a value, where each power of two has `2^BITS` buckets; values below that have one each.
#[inline]
#[must_use]
pub const fn bucket_of<const BITS: u32>(value: u64) -> usize {
    let shift = 63 - (value | 1 << BITS).leading_zeros() - BITS;
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// The least value of a bucket, and the greatest.
#[must_use]
pub const fn values_of<const BITS: u32>(bucket: usize) -> (u64, u64) {
    let shift = (bucket >> BITS).saturating_sub(1);
    let least = ((bucket - (shift << BITS)) as u64) << shift;
    (least, least + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definition: buckets follow each other without gaps, and none is wider than its least value over their number.
    #[test]
    fn buckets_cover_all_values_once_and_are_narrow() {
        for bucket in 0..bucket_of::<3>(u64::MAX) {
            let (least, greatest) = values_of::<3>(bucket);
            assert_eq!(
                (bucket_of::<3>(least), bucket_of::<3>(greatest), bucket_of::<3>(greatest + 1)),
                (bucket, bucket, bucket + 1)
            );
            assert!((greatest - least) * 8 <= least, "{bucket}: {least} to {greatest}");
        }
        assert_eq!(values_of::<3>(bucket_of::<3>(u64::MAX)).1, u64::MAX);
        assert_eq!([0, 1, 31, 32, 63, 64, 66].map(bucket_of::<5>), [0, 1, 31, 32, 63, 64, 65]);
    }
}
