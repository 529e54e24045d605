//! How base matrices are drawn. Everything follows from a seed, by SplitMix64.
//!
//! The parity columns are drawn first. Column j of the first m - [`GAP`] of them has an untouched circulant in row j and three
//! others below, so that all but the last [`GAP`] are found by substitution; those are multiplied by a small dense
//! inverse ([`super::layout`]). Columns take the rows that have fewest circulants so far, ties by lot, so that
//! row weights differ by little. A code whose last rows are singular is drawn again.
//!
//! Of [`CANDIDATES`] drawn columns that close no cycle of length 4 the one is taken that closes the fewest small sets that a decoder
//! can be caught in ([`super::sets`]): first of the worst kind, then of the others, then cycles of length 6. Sets of the worst kind that are grown from
//! cycles of length 8 take long to look for, so that is done for the first [`LOOKED_AT`] columns in this order, until one closes none. If all
//! do, which happens where blocks are small, the first is taken that closes none with few odd checks.

use super::base::{Base, Circulant, DATA, GAP};
use super::sets::{Closed, Graph};

/// Columns that are drawn for each one that is taken.
const CANDIDATES: usize = 96;
/// Columns that are looked at for sets without a cycle of length 6.
const LOOKED_AT: usize = 40;
/// Of these at least this many close none of the worst kind, or more are drawn.
const FREE: usize = 4;
/// Draws for one column at most.
const DRAWS: usize = 400 * CANDIDATES;

/// SplitMix64.
struct Lots(u64);

impl Lots {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`, by the high bits of a product.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.word()) * bound as u128) >> 64) as usize
    }
}

/// Where the circulants of a column may be: an untouched one in a row, and this many others in rows from one on.
struct Place {
    diagonal: Option<usize>,
    from: usize,
    count: usize,
}

/// The base matrix that follows from the seed.
pub(super) fn draw(rows: usize, z: usize, seed: u64) -> Base {
    let mut lots = Lots(seed);
    loop {
        if let Some(base) = draw_once(rows, z, &mut lots) {
            return base;
        }
    }
}

fn draw_once(rows: usize, z: usize, lots: &mut Lots) -> Option<Base> {
    let mut graph = Graph::new(rows, z);
    for parity in 0..rows {
        let place = match rows - parity {
            1 => Place { diagonal: None, from: 0, count: 5 },
            2..=GAP => Place { diagonal: None, from: 0, count: 4 },
            _ => Place { diagonal: Some(parity), from: parity + 1, count: 3 },
        };
        take(&mut graph, lots, &place)?;
    }
    if !invertible(rows, graph.columns()) {
        return None;
    }
    for _ in 0..DATA {
        take(&mut graph, lots, &Place { diagonal: None, from: 0, count: 4 })?;
    }
    let mut columns = graph.columns().to_vec();
    columns.rotate_left(rows);
    Some(Base { rows, z, columns })
}

/// Draws columns and adds the best one; nothing if there is none that closes no cycle of length 4.
fn take(graph: &mut Graph, lots: &mut Lots, place: &Place) -> Option<()> {
    let (mut drawn, mut free): (Vec<(Closed, Vec<Circulant>)>, usize) = (Vec::new(), 0);
    for _ in 0..DRAWS {
        let column = column(graph, lots, place);
        if graph.closes_four(&column) {
            continue;
        }
        graph.add(column);
        let closed = graph.closed();
        drawn.extend(graph.remove().map(|column| (closed, column)));
        free += usize::from(closed.worst == 0);
        if drawn.len() >= CANDIDATES && free >= FREE {
            break;
        }
    }
    drawn.sort_by_key(|(closed, _)| *closed);
    let mut closes = |column: &Vec<Circulant>, with_few: bool| {
        graph.add(column.clone());
        let closes = graph.closes_from_eight(with_few);
        graph.remove();
        closes
    };
    let looked_at = || drawn.iter().take(LOOKED_AT).map(|(_, column)| column);
    let free = looked_at().position(|column| !closes(column, false));
    let best = free.or_else(|| looked_at().position(|column| !closes(column, true))).unwrap_or(0);
    drawn.into_iter().nth(best).map(|(_, column)| graph.add(column))
}

fn column(graph: &Graph, lots: &mut Lots, place: &Place) -> Vec<Circulant> {
    let mut rows: Vec<(usize, u64, usize)> =
        (place.from..graph.rows()).map(|row| (graph.weight(row), lots.word(), row)).collect();
    rows.sort_unstable();
    let mut rows: Vec<usize> = rows[..place.count].iter().map(|(_, _, row)| *row).collect();
    rows.sort_unstable();
    let mut column: Vec<Circulant> = place.diagonal.iter().map(|row| Circulant { row: *row, shift: 0 }).collect();
    column.extend(rows.into_iter().map(|row| Circulant { row, shift: lots.below(graph.z()) }));
    column
}

/// Whether the parity columns have full rank. Z is a power of 2, so that x^Z - 1 = (x - 1)^Z over GF(2), and a matrix of
/// circulants is invertible exactly if the matrix of their values at x = 1 is.
fn invertible(rows: usize, columns: &[Vec<Circulant>]) -> bool {
    let mut bits: Vec<u32> = columns.iter().map(|column| column.iter().fold(0, |bits, c| bits | 1 << c.row)).collect();
    for row in 0..rows {
        let Some(pivot) = (row..rows).find(|at| bits[*at] >> row & 1 == 1) else { return false };
        bits.swap(row, pivot);
        for at in row + 1..rows {
            if bits[at] >> row & 1 == 1 {
                bits[at] ^= bits[row];
            }
        }
    }
    true
}
