//! The construction of the codes: where the circulants stand and how far each is turned.
//!
//! A code has m block rows and 128 + m block columns; data columns first. Every column has 4 circulants, but for the
//! last one, which has 5: were all weights even, the rows would add up to 0 and the matrix could not have full rank.
//!
//! The parity columns are drawn first. Column j of the first m - [`GAP`] of them has an untouched circulant in row j and three
//! others below, so that all but the last [`GAP`] are found by substitution; those are multiplied by a small dense
//! inverse ([`super::layout`]). Columns take the rows that have fewest circulants so far, ties by lot, so that
//! row weights differ by little. Of [`CANDIDATES`] drawn columns that close no cycle of length 4 the one that closes
//! fewest cycles of length 6 is taken. A code whose last rows are singular is drawn again. Everything follows from the
//! seed, by SplitMix64.

/// Block columns of data.
pub(super) const DATA: usize = 128;
/// Parity columns that are not found by substitution.
pub(super) const GAP: usize = 3;
/// Columns that are drawn for each one that is taken.
const CANDIDATES: usize = 96;

/// A circulant: check z of its block row is on bit (z + shift) mod Z of its block column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Circulant {
    pub(super) row: usize,
    pub(super) shift: usize,
}

/// The base matrix of a code.
pub(super) struct Base {
    /// Block rows.
    pub(super) rows: usize,
    /// Bits of a block.
    pub(super) z: usize,
    /// The circulants of each block column, by row.
    pub(super) columns: Vec<Vec<Circulant>>,
}

/// SplitMix64.
pub(super) struct Lots(pub(super) u64);

impl Lots {
    pub(super) fn word(&mut self) -> u64 {
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

/// What is known of the columns drawn so far.
struct Draft {
    rows: usize,
    z: usize,
    weights: Vec<usize>,
    /// Differences of shifts between two rows, in columns that have both: by `from * rows + to`.
    differences: Vec<Vec<usize>>,
    /// Whether a difference is taken: a second column with it would close a cycle of length 4.
    taken: Vec<bool>,
    /// Ways from row to row over a third one with this sum of differences: a column with that
    /// difference closes as many cycles of length 6.
    ways: Vec<u16>,
}

impl Draft {
    fn new(rows: usize, z: usize) -> Self {
        let pairs = rows * rows;
        Draft {
            rows,
            z,
            weights: vec![0; rows],
            differences: vec![Vec::new(); pairs],
            taken: vec![false; pairs * z],
            ways: vec![0; pairs * z],
        }
    }

    /// `count` of the rows from `from` on that have the fewest circulants, in order.
    fn light_rows(&self, lots: &mut Lots, from: usize, count: usize) -> Vec<usize> {
        let mut rows: Vec<(usize, u64, usize)> = (from..self.rows).map(|row| (self.weights[row], lots.word(), row)).collect();
        rows.sort_unstable();
        let mut rows: Vec<usize> = rows[..count].iter().map(|(_, _, row)| *row).collect();
        rows.sort_unstable();
        rows
    }

    fn place(&self, a: Circulant, b: Circulant) -> usize {
        (a.row * self.rows + b.row) * self.z + (a.shift + self.z - b.shift) % self.z
    }

    /// Cycles of length 6 that the column would close; nothing if it closes one of length 4.
    fn cycles(&self, column: &[Circulant]) -> Option<usize> {
        let mut cycles = 0;
        for (i, a) in column.iter().enumerate() {
            for b in &column[i + 1..] {
                let place = self.place(*a, *b);
                if self.taken[place] {
                    return None;
                }
                cycles += usize::from(self.ways[place]);
            }
        }
        Some(cycles)
    }

    fn take(&mut self, column: &[Circulant]) {
        for a in column {
            self.weights[a.row] += 1;
            for b in column.iter().filter(|b| b.row != a.row) {
                self.extend_ways(*a, *b);
            }
        }
        for a in column {
            for b in column.iter().filter(|b| b.row != a.row) {
                let place = self.place(*a, *b);
                self.taken[place] = true;
                self.differences[a.row * self.rows + b.row].push(place % self.z);
            }
        }
    }

    /// Adds the ways that take the step from `a` to `b` first, and those that take it last.
    fn extend_ways(&mut self, a: Circulant, b: Circulant) {
        let step = self.place(a, b) % self.z;
        for third in (0..self.rows).filter(|third| *third != a.row && *third != b.row) {
            for other in &self.differences[b.row * self.rows + third] {
                self.ways[(a.row * self.rows + third) * self.z + (step + other) % self.z] += 1;
            }
            for other in &self.differences[third * self.rows + a.row] {
                self.ways[(third * self.rows + b.row) * self.z + (step + other) % self.z] += 1;
            }
        }
    }

    /// The best of some drawn columns: `diagonal` has no shift, `count` others are in rows from `from` on.
    fn draw(&self, lots: &mut Lots, diagonal: Option<usize>, from: usize, count: usize) -> Option<Vec<Circulant>> {
        let mut best: Option<(usize, Vec<Circulant>)> = None;
        for _ in 0..CANDIDATES {
            let rows = self.light_rows(lots, from, count);
            let mut column: Vec<Circulant> = diagonal.iter().map(|row| Circulant { row: *row, shift: 0 }).collect();
            column.extend(rows.into_iter().map(|row| Circulant { row, shift: lots.below(self.z) }));
            if let Some(cycles) = self.cycles(&column).filter(|cycles| best.as_ref().is_none_or(|(least, _)| cycles < least)) {
                best = Some((cycles, column));
            }
        }
        best.map(|(_, column)| column)
    }
}

impl Base {
    /// The base matrix that follows from the seed.
    pub(super) fn new(rows: usize, z: usize, seed: u64) -> Self {
        let mut lots = Lots(seed);
        loop {
            if let Some(base) = Base::draw(rows, z, &mut lots) {
                return base;
            }
        }
    }

    fn draw(rows: usize, z: usize, lots: &mut Lots) -> Option<Self> {
        let mut draft = Draft::new(rows, z);
        let mut columns = Vec::with_capacity(DATA + rows);
        for parity in 0..rows {
            let column = match rows - parity {
                1 => draft.draw(lots, None, 0, 5)?,
                2..=GAP => draft.draw(lots, None, 0, 4)?,
                _ => draft.draw(lots, Some(parity), parity + 1, 3)?,
            };
            draft.take(&column);
            columns.push(column);
        }
        if !invertible(rows, &columns) {
            return None;
        }
        for _ in 0..DATA {
            let column = draft.draw(lots, None, 0, 4)?;
            draft.take(&column);
            columns.push(column);
        }
        columns.rotate_left(rows);
        Some(Base { rows, z, columns })
    }

    /// The circulants of a block row: `(column, shift)`.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.columns.iter().enumerate();
        columns.flat_map(move |(at, column)| column.iter().filter(move |c| c.row == row).map(move |c| (at, c.shift)))
    }
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
