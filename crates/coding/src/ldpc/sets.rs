//! Small sets of bits that a decoder can be caught in: sets of a bits of which only b checks have an odd number. Are all
//! of them wrong and nothing else, only these b checks fail, and all others tell the bits that they are right.
//!
//! The worst are those with at most 4 such checks, or 5 if a bit is in five, and those of whose bits each has more even checks than odd ones. Next
//! are the others with at most 6 odd checks, of five or six bits and then of four. Sets are grown bit by bit from cycles of length 6, or 8, through
//! the column that was added last: each further bit is in at least two odd checks, so that their number does not rise.

use super::base::{Base, Circulant};
use std::collections::BTreeSet;

/// Bits of the largest set.
const BITS: usize = 6;
/// Odd checks of the others that count.
const ODD: usize = 6;
/// Odd checks of a set of any kind that is one of the worst: 5 where one of its bits is in five checks, else 4.
const FEW: usize = 5;

/// A bit or a check: its block column or row, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    block: usize,
    place: usize,
}

/// Sets that a column closes, by how bad they are. Sets are counted once for each order in which they can be grown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closed {
    /// Sets of the worst kind.
    pub(super) worst: usize,
    /// Others of five or six bits.
    others: usize,
    /// Others of four bits.
    fours: usize,
    /// Cycles of length 6.
    six: usize,
}

/// The columns so far.
pub(super) struct Graph {
    z: usize,
    columns: Vec<Vec<Circulant>>,
    /// By row: columns, and their shifts.
    rows: Vec<Vec<(usize, usize)>>,
    /// By two rows and the difference of shifts: the column that has it, and its shift in the first row.
    by_difference: Vec<Option<(usize, usize)>>,
}

impl Graph {
    pub(super) fn new(rows: usize, z: usize) -> Self {
        Graph { z, columns: Vec::new(), rows: vec![Vec::new(); rows], by_difference: vec![None; rows * rows * z] }
    }

    pub(super) fn z(&self) -> usize {
        self.z
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn columns(&self) -> &[Vec<Circulant>] {
        &self.columns
    }

    /// Circulants of a row.
    pub(super) fn weight(&self, row: usize) -> usize {
        self.rows[row].len()
    }

    fn place(&self, a: Circulant, b: Circulant) -> usize {
        (a.row * self.rows.len() + b.row) * self.z + (a.shift + self.z - b.shift) % self.z
    }

    /// Whether a column would close a cycle of length 4.
    pub(super) fn closes_four(&self, column: &[Circulant]) -> bool {
        let taken = |a: &Circulant| column.iter().any(|b| b.row != a.row && self.by_difference[self.place(*a, *b)].is_some());
        column.iter().any(taken)
    }

    pub(super) fn add(&mut self, column: Vec<Circulant>) {
        let at = self.columns.len();
        for a in &column {
            self.rows[a.row].push((at, a.shift));
            for b in column.iter().filter(|b| b.row != a.row) {
                let place = self.place(*a, *b);
                self.by_difference[place] = Some((at, a.shift));
            }
        }
        self.columns.push(column);
    }

    /// Takes the last column out.
    pub(super) fn remove(&mut self) -> Option<Vec<Circulant>> {
        let column = self.columns.pop()?;
        for a in &column {
            self.rows[a.row].pop();
            for b in column.iter().filter(|b| b.row != a.row) {
                let place = self.place(*a, *b);
                self.by_difference[place] = None;
            }
        }
        Some(column)
    }

    /// The bit that is in both checks, if there is one.
    fn in_both(&self, a: At, b: At) -> Option<At> {
        if a.block == b.block {
            return None;
        }
        let difference = (b.place + self.z - a.place) & (self.z - 1);
        let (block, shift) = self.by_difference[(a.block * self.rows.len() + b.block) * self.z + difference]?;
        Some(At { block, place: (a.place + shift) & (self.z - 1) })
    }

    fn checks(&self, bit: At) -> impl Iterator<Item = At> {
        let check = move |c: &Circulant| At { block: c.row, place: (bit.place + self.z - c.shift) & (self.z - 1) };
        self.columns[bit.block].iter().map(check)
    }

    fn bits(&self, check: At) -> impl Iterator<Item = At> {
        let bit = move |(block, shift): &(usize, usize)| At { block: *block, place: (check.place + shift) & (self.z - 1) };
        self.rows[check.block].iter().map(bit)
    }

    /// The first bit of the last column, and all pairs of bits that share a check each with it, with that check.
    fn pairs(&self) -> impl Iterator<Item = (At, [(At, At); 2])> {
        let first = At { block: self.columns.len() - 1, place: 0 };
        let others = move |check: At| self.bits(check).filter(move |bit| *bit != first).map(move |bit| (check, bit));
        let later = move |check: At| self.checks(first).filter(move |other| other.block > check.block);
        let pairs = move |check| later(check).flat_map(move |other| others(check).map(move |a| (a, other)));
        let pairs = self.checks(first).flat_map(pairs);
        pairs.flat_map(move |(a, other)| others(other).map(move |b| (first, [a, b])))
    }

    /// Sets that the last column closes with those before it, but for sets without a cycle of length 6.
    pub(super) fn closed(&self) -> Closed {
        let mut closed = Closed::default();
        let six = self.grow_from_six(self.columns.len() - 1, &mut |set| closed.count(set));
        Closed { six, ..closed }
    }

    /// Grows sets from each cycle of length 6 through the first bit of a column; how many cycles there are.
    fn grow_from_six(&self, column: usize, seen: &mut impl FnMut(&Growth) -> bool) -> usize {
        let first = At { block: column, place: 0 };
        let mut cycles = 0;
        for check in self.checks(first) {
            for other in self.checks(first).filter(|other| other.block > check.block) {
                for a in self.bits(check).filter(|bit| *bit != first) {
                    for b in self.checks(a).filter(|between| *between != check).filter_map(|between| self.in_both(between, other))
                    {
                        if b != first {
                            cycles += 1;
                            Growth::of(self, &[first, a, b]).grow(seen);
                        }
                    }
                }
            }
        }
        cycles
    }

    /// All sets of four to six bits with at most this many odd checks that grow from a cycle of length 6: one of the Z that are
    /// turns of one another, bits by their places in the word.
    pub(super) fn sets(base: &Base, odd: usize) -> Vec<Vec<usize>> {
        let mut graph = Graph::new(base.rows, base.z);
        base.columns.iter().for_each(|column| graph.add(column.clone()));
        let mut sets = BTreeSet::new();
        for column in 0..base.columns.len() {
            graph.grow_from_six(column, &mut |set| {
                if set.odd.len() <= odd {
                    sets.insert(set.turned_least());
                }
                false
            });
        }
        sets.into_iter().collect()
    }

    /// Whether the last column closes a set grown from a cycle of length 8, and not of length 6, with at most [`FEW`] odd checks, or
    /// any other of the worst.
    pub(super) fn closes_from_eight(&self, with_few: bool) -> bool {
        self.pairs().any(|(first, [(check, a), (other, b)])| {
            let of_a = self.checks(a).filter(move |of| *of != check);
            let joins = of_a.flat_map(|of_a| self.checks(b).filter(move |of| *of != other).map(move |of_b| (of_a, of_b)));
            let mut fourth = joins.filter_map(|(of_a, of_b)| self.in_both(of_a, of_b)).filter(|fourth| *fourth != first);
            fourth.any(|fourth| {
                Growth::of(self, &[first, a, b, fourth]).grow(&mut |growth| growth.has_few() || !with_few && growth.is_worst())
            })
        })
    }
}

impl Closed {
    /// Counts a set; whether that is enough of this growth, as a column that closes one of the worst is hardly ever taken.
    fn count(&mut self, set: &Growth) -> bool {
        if set.is_worst() {
            self.worst += 1;
        } else if set.odd.len() <= ODD {
            *(if set.bits.len() > 4 { &mut self.others } else { &mut self.fours }) += 1;
        }
        self.worst > 0
    }
}

/// A set as it grows.
struct Growth<'a> {
    graph: &'a Graph,
    bits: Vec<At>,
    odd: Vec<At>,
}

impl<'a> Growth<'a> {
    fn of(graph: &'a Graph, bits: &[At]) -> Self {
        let mut growth = Growth { graph, bits: Vec::with_capacity(BITS), odd: Vec::new() };
        for bit in bits {
            growth.turn(*bit);
            growth.bits.push(*bit);
        }
        growth
    }

    /// Turns odd checks of a bit into even ones, and even ones into odd ones.
    fn turn(&mut self, bit: At) {
        for check in self.graph.checks(bit) {
            match self.odd.iter().position(|odd| *odd == check) {
                Some(at) => {
                    self.odd.swap_remove(at);
                }
                None => self.odd.push(check),
            }
        }
    }

    /// The least of its turns.
    fn turned_least(&self) -> Vec<usize> {
        let z = self.graph.z;
        let turned = |by: usize| {
            let mut bits: Vec<usize> = self.bits.iter().map(|bit| bit.block * z + (bit.place + z - by) % z).collect();
            bits.sort_unstable();
            bits
        };
        self.bits.iter().map(|bit| turned(bit.place)).min().unwrap_or_default()
    }

    fn has_few(&self) -> bool {
        self.bits.len() > 3 && self.odd.len() <= FEW
    }

    fn is_worst(&self) -> bool {
        let is_caught = |bit: &At| {
            let odd = self.graph.checks(*bit).filter(|check| self.odd.contains(check)).count();
            2 * odd < self.graph.columns[bit.block].len()
        };
        self.has_few() || self.bits.len() > 3 && self.bits.iter().all(is_caught)
    }

    /// Grows the set in all ways, until `seen` says of one that it is enough; whether it did.
    fn grow(&mut self, seen: &mut impl FnMut(&Self) -> bool) -> bool {
        let odd = self.odd.clone();
        for (at, check) in odd.iter().enumerate() {
            for bit in odd[at + 1..].iter().filter_map(|other| self.graph.in_both(*check, *other)) {
                if self.bits.contains(&bit) {
                    continue;
                }
                self.turn(bit);
                self.bits.push(bit);
                let enough = seen(self) || self.bits.len() < BITS && self.grow(seen);
                self.bits.pop();
                self.odd.clone_from(&odd);
                if enough {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits 0 to 3 with a check for each of these pairs, and checks of their own until each bit is in this many. With blocks of one bit and one
    /// check a graph is what its list of ones says.
    fn closed(pairs: &[[usize; 2]], degree: usize) -> Closed {
        let mut checks: Vec<Vec<usize>> = vec![Vec::new(); 4];
        for (check, pair) in pairs.iter().enumerate() {
            pair.iter().for_each(|&bit| checks[bit].push(check));
        }
        let mut rows = pairs.len();
        for of_bit in &mut checks {
            let own = rows..rows + degree - of_bit.len();
            rows = own.end;
            of_bit.extend(own);
        }
        let mut graph = Graph::new(rows, 1);
        for of_bit in checks {
            let column: Vec<Circulant> = of_bit.into_iter().map(|row| Circulant { row, shift: 0 }).collect();
            assert!(!graph.closes_four(&column));
            graph.add(column);
        }
        graph.closed()
    }

    /// By hand: of four bits each pair of which shares a check, all but one check of each bit are even, so four checks are odd where a bit is in
    /// four. Where it is in five, eight are odd, and a bit has three even ones to two. Without one pair six of four checks each are odd,
    /// and two bits have as many odd checks as even ones. Catches sets that are held for harmless because many checks are odd, others that are held
    /// for the worst, and sets that are not counted at all.
    #[test]
    fn sets_are_the_worst_with_few_odd_checks_or_if_each_bit_has_more_even_ones() {
        let all = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let none = Closed::default();
        // A cycle of length 6 for each two of bits 0, 1 and 2 that share a check; growth ends at the first of the worst.
        assert_eq!(closed(&all, 4), Closed { worst: 3, six: 3, ..none });
        assert_eq!(closed(&all, 5), Closed { worst: 3, six: 3, ..none });
        assert_eq!(closed(&all[1..], 4), Closed { fours: 2, six: 2, ..none });
        assert_eq!(closed(&all[1..], 5), Closed { six: 2, ..none }, "ten odd checks");
    }
}
