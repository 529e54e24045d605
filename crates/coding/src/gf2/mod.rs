//! Codes over GF(2), where a sum is an XOR and has no coefficients: which lost symbols a set of known
//! ones gives back, and by which sums.
//!
//! A code is a list of equations: sets of symbols whose sum is zero, such as a stripe with its parity, or
//! the rows and the columns of a product code. Two decoders answer:
//!
//! - [`peel`] goes along the Tanner graph: an equation in which one symbol is unknown gives it, and so
//!   on. Each step is one XOR of a stripe, but on some sets of losses (stopping sets) it halts though
//!   the equations would suffice.
//! - [`eliminate`] solves the linear system: whatever the equations determine, it finds.
//!
//! Both are about symbols only; the caller adds up contents of whatever kind. [`Decoder`] names one of
//! them, and says which symbols are still worth having.

mod decoder;
mod symbols;

pub use decoder::Decoder;
pub use symbols::Symbols;

/// A symbol that was unknown, and the known symbols whose sum it is. An empty sum is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solved<const W: usize> {
    /// The symbol.
    pub symbol: usize,
    /// Symbols that add up to it, all of them known from the start.
    pub sum: Symbols<W>,
}

/// Peels: repeats with every equation that has exactly one symbol left unknown. Answers in the order
/// in which symbols became known.
#[must_use]
pub fn peel<const W: usize>(equations: &[Symbols<W>], known: &Symbols<W>) -> Vec<Solved<W>> {
    // Each open equation: what is unknown in it, and what the known rest adds up to.
    let mut open: Vec<(Symbols<W>, Symbols<W>)> = equations.iter().map(|e| (e.without(known), e.and(known))).collect();
    let mut solved = Vec::new();
    while let Some((symbol, sum)) = open.iter().find_map(|(unknown, sum)| Some((unknown.single()?, *sum))) {
        for (unknown, rest) in open.iter_mut().filter(|(unknown, _)| unknown.contains(symbol)) {
            unknown.remove(symbol);
            *rest = rest.xor(&sum);
        }
        solved.push(Solved { symbol, sum });
    }
    solved
}

/// Solves the linear system by Gauss and Jordan. Answers in the order of symbols.
#[must_use]
pub fn eliminate<const W: usize>(equations: &[Symbols<W>], known: &Symbols<W>) -> Vec<Solved<W>> {
    let mut rows: Vec<(Symbols<W>, Symbols<W>)> = equations.iter().map(|e| (e.without(known), e.and(known))).collect();
    let unknown = equations.iter().fold(Symbols::EMPTY, |all, e| all.or(e)).without(known);
    let pivots = gauss_jordan(&mut rows, &unknown);
    // A row in which the pivot is the only unknown gives it; the others tie it to free symbols.
    let alone = pivots.iter().zip(&rows).filter(|(_, (unknown, _))| unknown.single().is_some());
    alone.map(|(symbol, (_, sum))| Solved { symbol: *symbol, sum: *sum }).collect()
}

/// Brings rows to a form in which the first ones have a pivot each, a symbol of `columns` that is in no
/// other row, and the others have no symbol of `columns`. Answers the pivots, ascending.
fn gauss_jordan<const W: usize>(rows: &mut [(Symbols<W>, Symbols<W>)], columns: &Symbols<W>) -> Vec<usize> {
    let mut pivots = Vec::new();
    for symbol in columns.iter() {
        let done = pivots.len();
        let Some(at) = (done..rows.len()).find(|r| rows[*r].0.contains(symbol)) else { continue };
        rows.swap(at, done);
        let pivot = rows[done];
        for (r, row) in rows.iter_mut().enumerate() {
            if r != done && row.0.contains(symbol) {
                *row = (row.0.xor(&pivot.0), row.1.xor(&pivot.1));
            }
        }
        pivots.push(symbol);
    }
    pivots
}
