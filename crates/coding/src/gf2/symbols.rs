//! Sets of symbols.

use std::fmt;

/// A set of the symbols 0..64 `W`, one bit each: `Symbols<1>` for a stripe or a code zone, `Symbols<8>`
/// for a product code of 8 x 64 symbols. As an equation it says that its symbols add up to zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbols<const W: usize>([u64; W]);

impl<const W: usize> Symbols<W> {
    /// No symbol.
    pub const EMPTY: Self = Symbols([0; W]);

    /// Whether the symbol is in the set.
    #[must_use]
    pub fn contains(&self, symbol: usize) -> bool {
        self.0.get(symbol / 64).is_some_and(|word| word >> (symbol % 64) & 1 == 1)
    }

    /// Puts a symbol in.
    ///
    /// # Panics
    /// If `symbol` >= 64 `W`.
    pub fn insert(&mut self, symbol: usize) {
        self.0[symbol / 64] |= 1 << (symbol % 64);
    }

    /// Takes a symbol out.
    ///
    /// # Panics
    /// If `symbol` >= 64 `W`.
    pub fn remove(&mut self, symbol: usize) {
        self.0[symbol / 64] &= !(1 << (symbol % 64));
    }

    /// Number of symbols.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The symbol of a set of one.
    #[must_use]
    pub fn single(&self) -> Option<usize> {
        if self.len() == 1 { self.iter().next() } else { None }
    }

    /// The symbols in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<W> {
        self.0.into_iter().enumerate().flat_map(|(at, word)| {
            let clear_lowest = |rest: &u64| Some(rest & rest.wrapping_sub(1));
            let rests = std::iter::successors(Some(word), clear_lowest).take_while(|rest| *rest != 0);
            rests.map(move |rest| at * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// The symbols in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.merge(other, |a, b| a & b)
    }

    /// The symbols in either or both.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.merge(other, |a, b| a | b)
    }

    /// The symbols in exactly one: the sum of two sums.
    #[must_use]
    pub fn xor(&self, other: &Self) -> Self {
        self.merge(other, |a, b| a ^ b)
    }

    /// The symbols that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.merge(other, |a, b| a & !b)
    }

    fn merge(&self, other: &Self, word: impl Fn(u64, u64) -> u64) -> Self {
        Symbols(std::array::from_fn(|at| word(self.0[at], other.0[at])))
    }
}

impl From<u64> for Symbols<1> {
    /// Bit i is symbol i.
    fn from(bits: u64) -> Self {
        Symbols([bits])
    }
}

impl<const W: usize> FromIterator<usize> for Symbols<W> {
    /// # Panics
    /// If a symbol >= 64 `W`.
    fn from_iter<I: IntoIterator<Item = usize>>(symbols: I) -> Self {
        let mut set = Self::EMPTY;
        symbols.into_iter().for_each(|symbol| set.insert(symbol));
        set
    }
}

impl<const W: usize> fmt::Debug for Symbols<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
