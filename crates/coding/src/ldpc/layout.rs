//! A code as its loops want it: every circulant with the places it reads and the turns it takes.

use super::base::{Base, DATA, GAP};
use super::ring::{Polynomial, Ring, WORDS};

/// Bytes behind the Z LLRs of a block column: the first ones again, so that a register may start anywhere.
pub(super) const TAIL: usize = 64;

/// A turn of a block of Z bits that is stored twice in a row: bit z of the result is bit (z + shift) mod Z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Word, from the start of the buffer, at which the block of the result starts.
    pub(super) word: u32,
    /// Bits of that word that are left out.
    pub(super) bits: u32,
}

impl Turn {
    /// A turn by `shift` of the block `index` in a buffer of blocks of Z bits.
    fn new(z: usize, index: usize, shift: usize) -> Self {
        let shift = shift % z;
        Turn { word: (index * 2 * (z / 64) + shift / 64) as u32, bits: (shift % 64) as u32 }
    }
}

/// A circulant as the min-sum decoder meets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Byte at which the LLRs of the block column start.
    pub(super) base: u32,
    /// How far the LLRs, as they are since the block row before that used them, must be turned.
    pub(super) shift: u32,
}

/// Which items of a list belong to each row: the list is sorted by row.
#[derive(Debug)]
pub(super) struct Grouped<T> {
    items: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Grouped<T> {
    fn new(groups: impl Iterator<Item = Vec<T>>) -> Self {
        let (mut items, mut ends) = (Vec::new(), Vec::new());
        for group in groups {
            items.extend(group);
            ends.push(items.len());
        }
        Grouped { items, ends }
    }

    #[inline(always)]
    pub(super) fn group(&self, at: usize) -> &[T] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.items[start..self.ends[at]]
    }

    /// Number of items before the group.
    #[inline(always)]
    pub(super) fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ends[at - 1] }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
}

/// The tables of a code.
pub(super) struct Layout {
    /// Block rows.
    pub(super) rows: usize,
    /// Block columns.
    pub(super) columns: usize,
    /// Bits of a block.
    pub(super) z: usize,
    /// By row: the blocks of the word that the row adds up.
    pub(super) checks: Grouped<Turn>,
    /// The same for a word whose blocks are turned as the last row that used each has left them.
    pub(super) turned_checks: Grouped<Turn>,
    /// By column: the turn that takes the block from its order in the word to that order.
    pub(super) last: Vec<Turn>,
    /// By column: the turn back.
    pub(super) back: Vec<Turn>,
    /// By column: the row sums that its bits are in, in the order of its bits.
    pub(super) sums: Grouped<Turn>,
    /// By column: the row of each of them, and the turn of the column into the order of the row.
    pub(super) marks: Grouped<(u32, Turn)>,
    /// By row.
    pub(super) edges: Grouped<Edge>,
    pub(super) encoder: Encoder,
}

/// Further tables of the encoder. Parity is solved in three steps: by substitution as if the last [`GAP`] blocks were 0, which
/// leaves sums of the last rows; those blocks, by a product with the inverse; and by substitution what they change in the others.
pub(super) struct Encoder {
    /// By row: the data blocks.
    pub(super) data: Grouped<Turn>,
    /// By row but the last [`GAP`]: the parity blocks before the diagonal; for those the parity
    /// blocks that substitution finds. Indices are those of parity blocks.
    pub(super) below: Grouped<Turn>,
    /// By row but the last [`GAP`]: the last [`GAP`] parity blocks.
    pub(super) gap: Grouped<Turn>,
    /// The inverse, `GAP * GAP` circulants by row, each as 16 blocks stored twice: its products with the polynomials
    /// of degree below 4.
    pub(super) inverse: Vec<u64>,
}

impl Layout {
    /// The tables of a code, or nothing if the last rows are singular.
    pub(super) fn new(base: &Base) -> Option<Self> {
        let (rows, z) = (base.rows, base.z);
        let rows_of = |turn: &dyn Fn(usize, usize) -> Turn| -> Grouped<Turn> {
            Grouped::new((0..rows).map(|row| base.row(row).map(|(column, shift)| turn(column, shift)).collect()))
        };
        let last = |column: usize| base.columns[column].last().map_or(0, |c| c.shift);
        let columns = base.columns.len();
        let sums = base.columns.iter().map(|column| column.iter().map(|c| Turn::new(z, c.row, z - c.shift)).collect());
        let mark = |column: &[super::base::Circulant]| column.iter().map(|c| (c.row as u32, Turn::new(z, 0, c.shift))).collect();
        Some(Layout {
            rows,
            columns,
            z,
            checks: rows_of(&|column, shift| Turn::new(z, column, shift)),
            turned_checks: rows_of(&|column, shift| Turn::new(z, column, shift + z - last(column))),
            last: (0..columns).map(|column| Turn::new(z, column, last(column))).collect(),
            back: (0..columns).map(|column| Turn::new(z, column, z - last(column))).collect(),
            sums: Grouped::new(sums),
            marks: Grouped::new(base.columns.iter().map(|column| mark(column))),
            edges: edges(base),
            encoder: Encoder::new(base)?,
        })
    }

    /// Words of a block.
    pub(super) fn words(&self) -> usize {
        self.z / 64
    }

    /// Circulants of the longest row.
    pub(super) fn longest_row(&self) -> usize {
        (0..self.rows).map(|row| self.edges.group(row).len()).max().unwrap_or(0)
    }
}

/// The circulants by row; the first row of a column finds the LLRs as the last one has left them.
fn edges(base: &Base) -> Grouped<Edge> {
    let before = |column: usize, row: usize| {
        let circulants = &base.columns[column];
        let at = circulants.iter().position(|c| c.row == row).unwrap_or(0);
        circulants[(at + circulants.len() - 1) % circulants.len()].shift
    };
    let edge = |row, (column, shift): (usize, usize)| Edge {
        base: (column * (base.z + TAIL)) as u32,
        shift: ((shift + base.z - before(column, row)) % base.z) as u32,
    };
    Grouped::new((0..base.rows).map(|row| base.row(row).map(|at| edge(row, at)).collect()))
}

impl Encoder {
    fn new(base: &Base) -> Option<Self> {
        let (rows, z) = (base.rows, base.z);
        let solved = rows - GAP;
        let part = |row: usize, from: usize, to: usize, zero: usize| -> Vec<Turn> {
            let blocks = base.row(row).filter(|(column, _)| (from..to).contains(column));
            blocks.map(|(column, shift)| Turn::new(z, column - zero, shift)).collect()
        };
        let end = |row: usize| DATA + row.min(solved);
        Some(Encoder {
            data: Grouped::new((0..rows).map(|row| part(row, 0, DATA, 0))),
            below: Grouped::new((0..rows).map(|row| part(row, DATA, end(row), DATA))),
            gap: Grouped::new((0..solved).map(|row| part(row, DATA + solved, DATA + rows, DATA))),
            inverse: products(Ring { z }, &inverse(base)?),
        })
    }
}

/// The matrix that multiplies the last [`GAP`] parity blocks to give the sums of the last rows is D - C T^-1 B, where T
/// is the triangle, C the part below and B the part right of it, and D the rest. This is its inverse.
fn inverse(base: &Base) -> Option<[[Polynomial; GAP]; GAP]> {
    let ring = Ring { z: base.z };
    let solved = base.rows - GAP;
    let at = |row: usize, parity: usize| {
        let circulant = base.columns[DATA + parity].iter().find(|c| c.row == row);
        circulant.map(|c| base.z - c.shift)
    };
    // Row by row T^-1 B, then D - C T^-1 B.
    let mut by_row: Vec<[Polynomial; GAP]> = Vec::new();
    for row in 0..base.rows {
        let mut sums: [Polynomial; GAP] =
            std::array::from_fn(|gap| at(row, solved + gap).map_or([0; WORDS], |power| ring.power(power)));
        for (parity, found) in by_row.iter().take(solved.min(row)).enumerate() {
            let Some(power) = at(row, parity) else { continue };
            for (sum, found) in sums.iter_mut().zip(found) {
                *sum = Ring::add(sum, &ring.turn(found, power));
            }
        }
        by_row.push(sums);
    }
    ring.invert(std::array::from_fn(|row| by_row[solved + row]))
}

/// See [`Encoder::inverse`].
fn products(ring: Ring, inverse: &[[Polynomial; GAP]; GAP]) -> Vec<u64> {
    let words = ring.z / 64;
    let mut products = Vec::new();
    for circulant in inverse.iter().flatten() {
        for four in 0..16 {
            let powers = (0..4).filter(|power| four >> power & 1 == 1);
            let product = powers.fold([0; WORDS], |sum, power| Ring::add(&sum, &ring.turn(circulant, power)));
            products.extend_from_slice(&product[..words]);
            products.extend_from_slice(&product[..words]);
        }
    }
    products
}
