//! Decoders that see nothing but a matrix as text, written for clarity: the layered min-sum of the crate in whole numbers, check by
//! check, and the sum-product algorithm with a flooding schedule in floating point.

/// A parity-check matrix: the checks of each bit, and the bits of each check.
pub(crate) struct Matrix {
    pub(crate) columns: Vec<Vec<usize>>,
    pub(crate) rows: Vec<Vec<usize>>,
}

impl Matrix {
    /// Reads an alist.
    pub(crate) fn parse(alist: &str) -> Self {
        let mut lines = alist.lines().map(|line| {
            let numbers = line.split(' ').map(|number| number.parse::<usize>().expect("a number"));
            numbers.collect::<Vec<usize>>()
        });
        let mut next = || lines.next().expect("another line");
        let [bits, checks] = next()[..] else { panic!("two lengths") };
        let [most_of_column, most_of_row] = next()[..] else { panic!("two weights") };
        let (column_weights, row_weights) = (next(), next());
        let mut lists = |weights: &[usize], most: usize| -> Vec<Vec<usize>> {
            let list = |weight: &usize| {
                let line = next();
                assert_eq!(line.len(), most);
                assert!(line[*weight..].iter().all(|filler| *filler == 0));
                line[..*weight].iter().map(|at| at - 1).collect()
            };
            weights.iter().map(list).collect()
        };
        let columns = lists(&column_weights, most_of_column);
        let rows = lists(&row_weights, most_of_row);
        assert_eq!((columns.len(), rows.len()), (bits, checks));
        assert!(next_is_end(&mut lines), "nothing follows");
        Matrix { columns, rows }
    }

    /// The checks that fail.
    pub(crate) fn failing(&self, word: &[u8]) -> Vec<usize> {
        let odd = |bits: &Vec<usize>| bits.iter().filter(|bit| word[*bit / 8] >> (*bit % 8) & 1 == 1).count() % 2 == 1;
        self.rows.iter().enumerate().filter(|(_, bits)| odd(bits)).map(|(check, _)| check).collect()
    }

    /// The rank of the columns from `first` on.
    pub(crate) fn rank_of_columns(&self, first: usize) -> usize {
        let words = self.rows.len().div_ceil(64);
        let mut basis: Vec<Option<Vec<u64>>> = vec![None; self.rows.len()];
        for checks in &self.columns[first..] {
            let mut column = vec![0_u64; words];
            checks.iter().for_each(|check| column[check / 64] ^= 1 << (check % 64));
            while let Some(word) = column.iter().position(|word| *word != 0) {
                let lead = 64 * word + column[word].trailing_zeros() as usize;
                let Some(known) = &basis[lead] else {
                    basis[lead] = Some(column);
                    break;
                };
                column.iter_mut().zip(known).for_each(|(a, b)| *a ^= b);
            }
        }
        basis.iter().flatten().count()
    }

    /// Rounds of bit flipping as the crate defines them, one bit at a time. While more than one check in twenty fails only bits of
    /// which all checks fail are flipped, then those of which three do, or two if they were flipped; of bits in five checks those of
    /// which four fail. A round that flips for three and is of no use is followed by one for four, and one for four that hardly helps
    /// by one for three. The word, and the rounds it took; `None` where more than one check in seven fails at the start, two rounds
    /// leave as many failing as there were, or ten do not end.
    pub(crate) fn flip_bits(&self, read: &[u8]) -> Option<(Vec<u8>, u32)> {
        let mut word = read.to_vec();
        let mut fails = vec![false; self.rows.len()];
        self.failing(&word).into_iter().for_each(|check| fails[check] = true);
        let count = |fails: &[bool]| fails.iter().filter(|fails| **fails).count();
        let mut failing = count(&fails);
        if 7 * failing > self.rows.len() {
            return None;
        }
        let (mut three, mut useless) = (20 * failing < self.rows.len(), 0);
        for round in 1..=10 {
            for (bit, checks) in self.columns.iter().enumerate() {
                let of = checks.iter().filter(|check| fails[**check]).count();
                let changed = (word[bit / 8] ^ read[bit / 8]) >> (bit % 8) & 1;
                let enough = match (checks.len(), three) {
                    (5, _) | (4, false) => 4,
                    _ => 3 - usize::from(changed),
                };
                if of >= enough {
                    word[bit / 8] ^= 1 << (bit % 8);
                    checks.iter().for_each(|check| fails[*check] ^= true);
                }
            }
            let left = count(&fails);
            if left == 0 {
                return Some((word, round));
            }
            let helped = left < failing;
            useless += u32::from(!helped);
            if useless == 2 {
                return None;
            }
            three = match (20 * left < self.rows.len(), three) {
                (true, true) => helped,
                (true, false) => true,
                (false, true) => false,
                (false, false) => 4 * left > 3 * failing,
            };
            failing = left;
        }
        None
    }

    /// Layered normalised min-sum as the crate defines it, one check at a time: rows in order, whole numbers, 3/4 of the least
    /// magnitude rounded. The word, and the iterations it took.
    pub(crate) fn min_sum(&self, channel: &[i32], most: u32) -> Option<(Vec<u8>, u32)> {
        self.try_min_sum(channel, most).ok()
    }

    /// The same, with further tries while at most one check in 40 is left failing: bits of these checks start with magnitudes of at
    /// most 12, 8, 4 and 2.
    pub(crate) fn min_sum_with_doubt(&self, channel: &[i32], most: u32) -> Option<(Vec<u8>, u32)> {
        let mut tried = self.try_min_sum(channel, most);
        for (at, magnitude) in (1..).zip([12, 8, 4, 2]) {
            let failing = match tried {
                Ok((word, iterations)) => return Some((word, (at - 1) * most + iterations)),
                Err(failing) => failing,
            };
            if 40 * failing.len() > self.rows.len() {
                return None;
            }
            let mut doubted = channel.to_vec();
            for bit in failing.iter().flat_map(|check| &self.rows[*check]) {
                doubted[*bit] = channel[*bit].clamp(-magnitude, magnitude);
            }
            tried = self.try_min_sum(&doubted, most);
        }
        tried.ok().map(|(word, iterations)| (word, 4 * most + iterations))
    }

    /// One try: the word and its iterations, or the checks that are left failing.
    fn try_min_sum(&self, channel: &[i32], most: u32) -> Result<(Vec<u8>, u32), Vec<usize>> {
        let mut llrs = channel.to_vec();
        let mut messages: Vec<Vec<i32>> = self.rows.iter().map(|bits| vec![0; bits.len()]).collect();
        let mut failing = Vec::new();
        for iteration in 1..=most {
            for (bits, messages) in self.rows.iter().zip(&mut messages) {
                let values: Vec<i32> = bits.iter().zip(&*messages).map(|(bit, m)| (llrs[*bit] - m).clamp(-128, 127)).collect();
                for (i, message) in messages.iter_mut().enumerate() {
                    let others = || values.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, value)| *value);
                    let least = others().map(i32::abs).min().expect("checks have bits").min(32);
                    let negative = others().filter(|value| *value < 0).count() % 2 == 1;
                    let magnitude = least - (least + 2) / 4;
                    *message = if negative { -magnitude } else { magnitude };
                    llrs[bits[i]] = (values[i] + *message).clamp(-128, 127);
                }
            }
            let word = decide(&llrs);
            failing = self.failing(&word);
            if failing.is_empty() {
                return Ok((word, iteration));
            }
        }
        Err(failing)
    }

    /// The sum-product algorithm, all checks and then all bits, on log-likelihood ratios.
    pub(crate) fn sum_product(&self, channel: &[f64], most: u32) -> Option<Vec<u8>> {
        let mut messages: Vec<Vec<f64>> = self.rows.iter().map(|bits| vec![0.0; bits.len()]).collect();
        let mut llrs = channel.to_vec();
        for _ in 0..most {
            let mut next = channel.to_vec();
            for (bits, messages) in self.rows.iter().zip(&mut messages) {
                let tanh: Vec<f64> = bits.iter().zip(&*messages).map(|(bit, m)| ((llrs[*bit] - m) / 2.0).tanh()).collect();
                // Products of all before and of all behind.
                let mut behind = vec![1.0; tanh.len() + 1];
                for at in (0..tanh.len()).rev() {
                    behind[at] = behind[at + 1] * tanh[at];
                }
                let mut before = 1.0;
                for (at, message) in messages.iter_mut().enumerate() {
                    let product: f64 = before * behind[at + 1];
                    *message = 2.0 * product.clamp(-1.0 + 1e-12, 1.0 - 1e-12).atanh();
                    next[bits[at]] += *message;
                    before *= tanh[at];
                }
            }
            llrs = next;
            let word = decide(&llrs);
            if self.failing(&word).is_empty() {
                return Some(word);
            }
        }
        None
    }
}

fn next_is_end(lines: &mut impl Iterator<Item = Vec<usize>>) -> bool {
    lines.next().is_none()
}

/// Negative LLRs are ones.
fn decide<T: Default + PartialOrd>(llrs: &[T]) -> Vec<u8> {
    let byte = |eight: &[T]| eight.iter().enumerate().map(|(bit, llr)| u8::from(*llr < T::default()) << bit).sum();
    llrs.chunks(8).map(byte).collect()
}
