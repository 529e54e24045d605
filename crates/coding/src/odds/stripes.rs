//! Losses of erasure codes when each of their pages is lost with probability U, independently.
//!
//! Source: Greenan et al., Building Flexible, Fault-Tolerant Flash-based Storage Systems, HotDep
//! 2009, section 4.2. Its figures are rates of *events*: the probability that something in a
//! stripe is lost, divided by the pages of the stripe. Pages lost for each page are more, as an
//! event loses several.

use super::binomial::{ln_one_minus, ln_sum, ln_tail, ln_term};
use num_bigint::BigUint;

/// `ln` of the probability that a page of several codewords is lost, of that of a codeword.
///
/// # Panics
/// If `ln_failure` is above 0.
#[must_use]
pub fn ln_page_loss(ln_failure: f64, codewords: u32) -> f64 {
    assert!(ln_failure <= 0.0, "e^{ln_failure} is no probability");
    match codewords {
        1 => ln_failure,
        _ => ln_one_minus(f64::from(codewords) * ln_one_minus(ln_failure)),
    }
}

/// `ln` of the probability that a stripe of `data` and `parity` pages loses data: more pages are
/// lost than it has parity.
///
/// # Panics
/// If `page_loss` is no probability.
#[must_use]
pub fn ln_stripe_loss(data: u32, parity: u32, page_loss: f64) -> f64 {
    ln_tail(u64::from(data) + u64::from(parity), parity.into(), page_loss)
}

/// A product code of two single parities: `rows` x `columns` pages, each row and each column with
/// one parity page. As the paper's two-level encoding: (7,1) across cards with (63,1) inside of
/// blocks is 8 x 64.
#[derive(Clone, Debug)]
pub struct ProductCode {
    rows: u32,
    columns: u32,
    /// By the number of erasures: patterns that can be brought back.
    recoverable: Vec<BigUint>,
}

impl ProductCode {
    /// Most rows, and most columns: counting takes the third power of either.
    pub const SIDES_MAX: (u32, u32) = (16, 128);

    /// Counts the patterns of the code.
    ///
    /// Erased pages are edges between their row and their column. A row or column with one edge
    /// gives it back, so what stays are cycles: a pattern can be brought back if and only if it
    /// is a forest. As the cycles of the graph are the codewords, no decoder does better.
    /// Forests are counted by the component of their first vertex, a spanning tree of some
    /// K_{x,y}, of which there are x^(y-1) y^(x-1).
    ///
    /// # Panics
    /// Unless there are 1 to [`ProductCode::SIDES_MAX`] rows and columns.
    #[must_use]
    pub fn new(rows: u32, columns: u32) -> Self {
        let (most_rows, most_columns) = Self::SIDES_MAX;
        assert!((1..=most_rows).contains(&rows) && (1..=most_columns).contains(&columns), "{rows} x {columns} pages");
        let forests = forests(rows as usize, columns as usize);
        // A forest of v vertices and c components has v - c edges.
        let recoverable = forests.into_iter().rev().collect();
        Self { rows, columns, recoverable }
    }

    /// Pages, parity included.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.rows * self.columns
    }

    /// How many patterns of `erasures` lost pages can be brought back.
    #[must_use]
    pub fn recoverable(&self, erasures: u32) -> BigUint {
        self.recoverable.get(erasures as usize).cloned().unwrap_or_default()
    }

    /// beta: how many patterns of `erasures` lost pages cannot be brought back.
    #[must_use]
    pub fn unrecoverable(&self, erasures: u32) -> BigUint {
        choose(self.pages(), erasures) - self.recoverable(erasures)
    }

    /// `ln` of the probability that the code loses data.
    ///
    /// # Panics
    /// If `page_loss` is no probability.
    #[must_use]
    pub fn ln_loss(&self, page_loss: f64) -> f64 {
        let pages = u64::from(self.pages());
        if page_loss == 0.0 || page_loss == 1.0 {
            return if page_loss == 0.0 || self.unrecoverable(self.pages()) == BigUint::ZERO { f64::NEG_INFINITY } else { 0.0 };
        }
        // Larger patterns than any forest are lost, every one.
        let mut terms = vec![ln_tail(pages, u64::from(self.rows + self.columns - 1), page_loss)];
        let mut patterns = BigUint::from(1u32);
        for erasures in 0..(self.rows + self.columns).min(self.pages() + 1) {
            let lost = &patterns - &self.recoverable(erasures);
            let share = ln(&lost) - ln(&patterns);
            terms.push(ln_term(pages, erasures.into(), page_loss) + share);
            patterns = patterns * (self.pages() - erasures) / (erasures + 1);
        }
        ln_sum(&terms)
    }
}

/// Spanning forests of K_{rows,columns}, by the number of their components.
fn forests(rows: usize, columns: usize) -> Vec<BigUint> {
    let zero = || vec![BigUint::ZERO; rows + columns + 1];
    let binomials: Vec<Vec<BigUint>> = (0..=rows.max(columns) as u32).map(|n| (0..=n).map(|k| choose(n, k)).collect()).collect();
    let trees: Vec<Vec<BigUint>> = (0..=rows).map(|x| (0..=columns).map(|y| trees(x, y)).collect()).collect();
    // By rows and columns in use, then by components.
    let mut counts = vec![vec![zero(); columns + 1]; rows + 1];
    for (b, alone) in counts[0].iter_mut().enumerate() {
        alone[b] = BigUint::from(1u32);
    }
    for a in 1..=rows {
        for b in 0..=columns {
            let mut sum = zero();
            for (x, y) in (1..=a).flat_map(|x| (0..=b).map(move |y| (x, y))) {
                let ways = &binomials[a - 1][x - 1] * &binomials[b][y] * &trees[x][y];
                if ways == BigUint::ZERO {
                    continue;
                }
                let rest = &counts[a - x][b - y];
                for components in 1..=(a + b - x - y + 1) {
                    if rest[components - 1] != BigUint::ZERO {
                        sum[components] += &ways * &rest[components - 1];
                    }
                }
            }
            counts[a][b] = sum;
        }
    }
    counts[rows][columns].clone()
}

/// Spanning trees of K_{x,y}.
fn trees(x: usize, y: usize) -> BigUint {
    match (x, y) {
        (1, 0) | (0, 1) => BigUint::from(1u32),
        (_, 0) | (0, _) => BigUint::ZERO,
        _ => BigUint::from(x).pow(y as u32 - 1) * BigUint::from(y).pow(x as u32 - 1),
    }
}

/// n over k.
fn choose(n: u32, k: u32) -> BigUint {
    if k > n { BigUint::ZERO } else { (0..k).fold(BigUint::from(1u32), |c, i| c * (n - i) / (i + 1)) }
}

/// The logarithm of a whole number, of any size.
fn ln(number: &BigUint) -> f64 {
    let excess = number.bits().saturating_sub(64);
    let top: u64 = (number >> excess).try_into().expect("64 bits are left");
    (top as f64).ln() + excess as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether iterative decoding of rows and columns brings back all pages of the pattern.
    fn decodes(rows: u32, columns: u32, mut lost: u32) -> bool {
        let row = |r: u32| ((1u32 << columns) - 1) << (r * columns);
        let column = |c: u32| (0..rows).fold(0u32, |mask, r| mask | 1 << (r * columns + c));
        let lines: Vec<u32> = (0..rows).map(row).chain((0..columns).map(column)).collect();
        loop {
            match lines.iter().find(|line| (lost & **line).count_ones() == 1) {
                Some(line) => lost &= !line,
                None => return lost == 0,
            }
        }
    }

    #[test]
    fn patterns_are_those_that_decoding_leaves() {
        for (rows, columns) in [(1, 1), (1, 5), (5, 1), (2, 2), (2, 5), (3, 4), (4, 4)] {
            let code = ProductCode::new(rows, columns);
            let mut stuck = vec![0u32; code.pages() as usize + 1];
            for lost in 0..1u32 << code.pages() {
                stuck[lost.count_ones() as usize] += u32::from(!decodes(rows, columns, lost));
            }
            for (erasures, stuck) in stuck.into_iter().enumerate() {
                assert_eq!(code.unrecoverable(erasures as u32), BigUint::from(stuck), "{rows} x {columns}, {erasures} erasures");
            }
        }
    }

    #[test]
    fn the_loss_of_a_small_code_is_the_sum_over_its_patterns() {
        let (rows, columns) = (3, 4);
        let code = ProductCode::new(rows, columns);
        for u in [1e-6, 1e-2, 0.3, 0.9] {
            let probability = |lost: u32| {
                let erased = lost.count_ones() as i32;
                f64::powi(u, erased) * f64::powi(1.0 - u, 12 - erased)
            };
            let sum: f64 = (0..1u32 << 12).filter(|&lost| !decodes(rows, columns, lost)).map(probability).sum();
            let found = code.ln_loss(u).exp();
            assert!((found / sum - 1.0).abs() < 1e-12, "U {u}: {found:e}, by patterns {sum:e}");
        }
        assert_eq!((code.ln_loss(0.0), code.ln_loss(1.0)), (f64::NEG_INFINITY, 0.0));
        assert_eq!(ProductCode::new(1, 4).ln_loss(1.0), f64::NEG_INFINITY, "one page in each column: nothing is lost");
    }

    /// Fails if a stripe that loses as many pages as it has parities counts as lost, or one that loses one more does not; if pages
    /// of parity are left out, or counted twice.
    #[test]
    fn the_loss_of_a_stripe_is_the_sum_over_the_patterns_of_more_pages_than_parities() {
        for (data, parity) in [(1, 0), (1, 1), (4, 0), (4, 1), (6, 2), (7, 3), (2, 5)] {
            let pages = data + parity;
            for u in [1e-5, 1e-2, 0.3, 0.9] {
                let probability = |lost: u32| {
                    let erased = lost.count_ones() as i32;
                    f64::powi(u, erased) * f64::powi(1.0 - u, pages as i32 - erased)
                };
                let sum: f64 = (0..1u32 << pages).filter(|lost| lost.count_ones() > parity).map(probability).sum();
                let found = ln_stripe_loss(data, parity, u).exp();
                assert!((found / sum - 1.0).abs() < 1e-12, "{data}+{parity}, U {u}: {found:e}, by patterns {sum:e}");
            }
        }
    }

    /// Pascal's triangle, which adds and does nothing else. Fails if a factor is left out or one too many.
    #[test]
    fn binomials_are_those_of_pascals_triangle() {
        let mut row = vec![BigUint::from(1u32)];
        for n in 0..140u32 {
            for (k, expected) in (0..).zip(&row) {
                assert_eq!(choose(n, k), *expected, "{n} over {k}");
            }
            assert_eq!(choose(n, n + 1), BigUint::ZERO);
            let ends = [BigUint::from(1u32)];
            row = ends.iter().cloned().chain(row.windows(2).map(|two| &two[0] + &two[1])).chain(ends.clone()).collect();
        }
    }

    #[test]
    fn a_page_of_codewords_is_lost_with_any_of_them() {
        assert_eq!(ln_page_loss(-3.0, 1), -3.0);
        let sixteen = ln_page_loss(0.001f64.ln(), 16).exp();
        assert!((sixteen - (1.0 - 0.999f64.powi(16))).abs() < 1e-15, "{sixteen}");
        assert!((ln_page_loss(-200.0, 8) - (-200.0 + 8f64.ln())).abs() < 1e-12);
    }
}
