//! Looks for the graph with the largest |G|.
//!
//! |G| by elimination is the number of nonsingular square submatrices of the code matrix, the empty one
//! included. They are counted row by row in the exterior algebra over GF(2): the product of some rows is
//! the set of column sets whose submatrix is nonsingular, 2^n bits, and a product with one row more takes
//! n shifts. That is some hundred times faster than to try all subsets of blocks.

use super::CodeGraph;
use crate::gf2::Symbols;

/// Most data blocks for which all graphs are tried.
pub const EXHAUSTIVE_MAX: usize = 5;
/// Most data blocks for which a search can be made.
pub const SEARCH_MAX: usize = 8;

/// The best graph that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The graph: as many code blocks as data blocks.
    pub graph: CodeGraph,
    /// Its |G|, by elimination.
    pub flexibility: u64,
    /// Whether all graphs were tried.
    pub is_best: bool,
}

/// The graph of n data and n code blocks with the largest |G|: of all graphs for n up to
/// [`EXHAUSTIVE_MAX`], else the best of `tries` graphs of a hill climb that starts again where it ends.
/// `below(bound)` is a random number below `bound`.
///
/// # Panics
/// If `n` is 0 or above [`SEARCH_MAX`].
#[must_use]
pub fn best(n: usize, tries: u64, below: impl FnMut(u64) -> u64) -> Found {
    assert!((1..=SEARCH_MAX).contains(&n), "a search of graphs of {n} data blocks");
    let (rows, flexibility) = if n <= EXHAUSTIVE_MAX { try_all(n) } else { climb(n, tries, below) };
    let code = rows.iter().map(|row| Symbols::from(u64::from(*row))).collect();
    let graph = CodeGraph::new(n, code).expect("no row of a best graph is empty");
    Found { graph, flexibility, is_best: n <= EXHAUSTIVE_MAX }
}

/// A set of subsets of up to 8 columns: bit s for the subset with the bits of s.
type Subsets = [u64; 4];

const EMPTY_PRODUCT: Subsets = [1, 0, 0, 0];

/// Subsets without column i, for the columns whose bits lie within a word.
const WITHOUT: [u64; 6] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];

/// The product of `minors` with one row more.
fn wedge(minors: &Subsets, row: u8) -> Subsets {
    let mut product = [0; 4];
    for column in (0..8).filter(|column| row >> column & 1 == 1) {
        for word in 0..4usize {
            if column < 6 {
                product[word] ^= (minors[word] & WITHOUT[column]) << (1 << column);
            } else if word >> (column - 6) & 1 == 0 {
                product[word | 1 << (column - 6)] ^= minors[word];
            }
        }
    }
    product
}

/// Nonsingular square submatrices of the product of some rows with `rows`.
fn nonsingular(minors: &Subsets, rows: &[u8]) -> u64 {
    match rows.split_first() {
        None => minors.iter().map(|word| u64::from(word.count_ones())).sum(),
        // With two equal rows, and from there on, nothing is left.
        Some(_) if *minors == [0; 4] => 0,
        Some((row, rest)) => nonsingular(minors, rest) + nonsingular(&wedge(minors, *row), rest),
    }
}

fn flexibility(rows: &[u8]) -> u64 {
    nonsingular(&EMPTY_PRODUCT, rows)
}

/// A set of rows, and the nonsingular submatrices that it has.
struct Best {
    rows: Vec<u8>,
    flexibility: u64,
}

/// Of all sets of rows, the first with the most. The order of code blocks does not matter.
fn try_all(n: usize) -> (Vec<u8>, u64) {
    fn extend(n: usize, rows: &mut Vec<u8>, best: &mut Best) {
        if rows.len() == n {
            let found = flexibility(rows);
            if found > best.flexibility {
                *best = Best { rows: rows.clone(), flexibility: found };
            }
            return;
        }
        for row in rows.last().copied().unwrap_or(1)..1 << n {
            rows.push(row);
            extend(n, rows, best);
            rows.pop();
        }
    }
    let mut best = Best { rows: Vec::new(), flexibility: 0 };
    extend(n, &mut Vec::new(), &mut best);
    (best.rows, best.flexibility)
}

/// Steps to a neighbour, one edge more or less or moved, while that loses nothing.
fn climb(n: usize, tries: u64, mut below: impl FnMut(u64) -> u64) -> (Vec<u8>, u64) {
    // Steps without gain after which a climb ends.
    let patience = 12 * (n * n) as u64;
    let regular = |m: usize| (0..n).map(|i| (i..i + m).fold(0, |row, j| row | 1 << (j % n))).collect::<Vec<u8>>();
    let starts = (1..=n).map(regular).map(|rows| (flexibility(&rows), rows));
    let (most, rows) = starts.max_by_key(|(found, _)| *found).expect("n > 0");
    let mut best = (rows, most);
    let mut tried = n as u64;
    while tried < tries {
        let mut rows: Vec<u8> = (0..n).map(|_| 1 + below((1 << n) - 1) as u8).collect();
        let (mut found, mut idle) = (flexibility(&rows), 0);
        while idle < patience && tried < tries {
            let mut next = rows.clone();
            for _ in 0..=below(2) {
                next[below(n as u64) as usize] ^= 1 << below(n as u64);
            }
            let here = flexibility(&next);
            (tried, idle) = (tried + 1, if here > found { 0 } else { idle + 1 });
            if here >= found {
                (rows, found) = (next, here);
            }
        }
        if found > best.1 {
            best = (rows, found);
        }
    }
    best
}
