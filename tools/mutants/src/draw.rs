//! Draws by a seed.

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `bound`; that it favours small numbers by 2^-50 does not matter.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// The numbers below `count` in an order of the seed's.
pub fn order(count: usize, seed: u64) -> Vec<usize> {
    let (mut order, mut random) = ((0..count).collect::<Vec<_>>(), Random(seed));
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn an_order_is_the_seeds_and_has_all() {
        let mut drawn = order(100, 7);
        assert_eq!(drawn, order(100, 7));
        assert_ne!(drawn, order(100, 8));
        drawn.sort_unstable();
        assert_eq!(drawn, (0..100).collect::<Vec<_>>());
    }
}
