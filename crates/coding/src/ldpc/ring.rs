//! Circulants as polynomials over GF(2) modulo x^Z - 1; used when a code is made, not while it works.

/// Words of the longest block.
pub(super) const WORDS: usize = 4;

/// A polynomial: bit i is the coefficient of x^i. Bits from Z on are 0.
pub(super) type Polynomial = [u64; WORDS];

/// Arithmetic modulo x^Z - 1, with Z a power of 2 from 64 to 256.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub(super) z: usize,
}

impl Ring {
    /// x^power.
    pub(super) fn power(self, power: usize) -> Polynomial {
        let mut x = [0; WORDS];
        x[power % self.z / 64] = 1 << (power % 64);
        x
    }

    pub(super) fn bit(of: &Polynomial, at: usize) -> bool {
        of[at / 64] >> (at % 64) & 1 == 1
    }

    /// `of` times x^power.
    pub(super) fn turn(self, of: &Polynomial, power: usize) -> Polynomial {
        let mut turned = [0; WORDS];
        for at in (0..self.z).filter(|at| Ring::bit(of, *at)) {
            let to = (at + power) % self.z;
            turned[to / 64] |= 1 << (to % 64);
        }
        turned
    }

    pub(super) fn add(a: &Polynomial, b: &Polynomial) -> Polynomial {
        std::array::from_fn(|word| a[word] ^ b[word])
    }

    pub(super) fn multiply(self, a: &Polynomial, b: &Polynomial) -> Polynomial {
        let powers = (0..self.z).filter(|at| Ring::bit(a, *at));
        powers.fold([0; WORDS], |sum, at| Ring::add(&sum, &self.turn(b, at)))
    }

    /// A polynomial has an inverse exactly if its value at 1 is 1.
    pub(super) fn is_unit(of: &Polynomial) -> bool {
        of.iter().map(|word| word.count_ones()).sum::<u32>() % 2 == 1
    }

    /// The inverse of a unit u: u^Z = u(x^Z) = u(1) = 1, as Z is a power of 2, so it is u^(Z-1).
    fn inverse(self, of: &Polynomial) -> Polynomial {
        let (mut square, mut product) = (*of, self.power(0));
        for _ in 0..self.z.trailing_zeros() {
            product = self.multiply(&product, &square);
            square = self.multiply(&square, &square);
        }
        product
    }

    /// The inverse of a square matrix, by elimination; nothing if it has none.
    pub(super) fn invert<const N: usize>(self, mut of: [[Polynomial; N]; N]) -> Option<[[Polynomial; N]; N]> {
        let identity = |i, j| if i == j { self.power(0) } else { [0; WORDS] };
        let mut inverse: [[Polynomial; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| identity(i, j)));
        for column in 0..N {
            let pivot = (column..N).find(|row| Ring::is_unit(&of[*row][column]))?;
            of.swap(column, pivot);
            inverse.swap(column, pivot);
            let scale = self.inverse(&of[column][column]);
            for side in [&mut of, &mut inverse] {
                side[column] = side[column].map(|element| self.multiply(&element, &scale));
            }
            for row in (0..N).filter(|row| *row != column) {
                let factor = of[row][column];
                for side in [&mut of, &mut inverse] {
                    let pivot_row = side[column];
                    for (element, pivot) in side[row].iter_mut().zip(&pivot_row) {
                        *element = Ring::add(element, &self.multiply(&factor, pivot));
                    }
                }
            }
        }
        Some(inverse)
    }
}
