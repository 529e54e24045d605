//! Base matrices: where the circulants of a code are and how far each is turned.
//!
//! A code has m block rows and 128 + m block columns; data columns first. Every column has 4 circulants, but for the
//! last one, which has 5: were all weights even, the rows would add up to 0 and the matrix could not have full rank.
//!
//! `matrices.csv` has them, a line for each block column: name of the code, the column, and `row:shift` of its circulants. Those
//! of the codes that are written today are what [`super::draw`] draws; a test draws some of them again. The others only serve
//! words that were stored with them.

/// Block columns of data.
pub(super) const DATA: usize = 128;
/// Parity columns that are not found by substitution.
pub(super) const GAP: usize = 3;

/// The circulants of all codes.
const TABLE: &str = include_str!("matrices.csv");

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

impl Base {
    /// The base matrix that the table has under a name.
    pub(super) fn of(name: &str, rows: usize, z: usize) -> Self {
        let mut columns = Vec::with_capacity(DATA + rows);
        for line in TABLE.lines() {
            let mut fields = line.split(',');
            if fields.next() == Some(name) {
                columns.push(fields.nth(1).unwrap_or("").split(' ').filter_map(circulant).collect());
            }
        }
        Base { rows, z, columns }
    }

    /// The lines of the table.
    pub(super) fn lines(&self, name: &str) -> String {
        let column = |(at, column): (usize, &Vec<Circulant>)| {
            let circulants: Vec<String> = column.iter().map(|c| format!("{}:{}", c.row, c.shift)).collect();
            format!("{name},{at},{}\n", circulants.join(" "))
        };
        self.columns.iter().enumerate().map(column).collect()
    }

    /// The circulants of a block row: `(column, shift)`.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.columns.iter().enumerate();
        columns.flat_map(move |(at, column)| column.iter().filter(move |c| c.row == row).map(move |c| (at, c.shift)))
    }
}

/// A circulant of the table.
fn circulant(text: &str) -> Option<Circulant> {
    let (row, shift) = text.split_once(':')?;
    Some(Circulant { row: row.parse().ok()?, shift: shift.parse().ok()? })
}
