//! A random permutation of `0..count` in constant memory.
//!
//! A four-round Feistel network over the next even number of bits, walked until it lands inside
//! the range: a bijection by construction, and fewer than four steps on average.

use vocab::Stream;

#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    keys: [u64; 4],
    half_bits: u32,
    count: u64,
}

impl Scatter {
    pub fn new(count: u64, stream: &mut Stream) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self { keys: [stream.bits(), stream.bits(), stream.bits(), stream.bits()], half_bits: bits.div_ceil(2).max(1), count }
    }

    /// Places in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Where `index` goes.
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut place = self.permute(index);
        while place >= self.count {
            place = self.permute(place);
        }
        place
    }

    fn permute(&self, index: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (index >> self.half_bits & mask, index & mask);
        for key in self.keys {
            // The finaliser of SplitMix64.
            let mut mixed = (right ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (left, right) = (right, left ^ ((mixed ^ (mixed >> 31)) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Streams;

    #[test]
    fn scattering_is_a_permutation_for_any_count() {
        for count in [1, 2, 3, 5, 64, 65, 1000, 4097] {
            let scatter = Scatter::new(count, &mut Streams::new(count).stream("scatter"));
            let mut places: Vec<u64> = (0..count).map(|index| scatter.at(index)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count), "{count}");
        }
    }
}
