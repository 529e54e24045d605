//! Small sets of bits that a decoder can be caught in, looked for in the text of the matrices, and decoded.

use super::{Channel, Code, Frame, Noise, Stage, codes, with_wrong};
use crate::naive::Matrix;
use flashkeep_coding::ldpc::{Curve, Limits, Workspace};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Numbers of sets by bits and odd checks; of sets that are turns of one another one counts.
type Counts = BTreeMap<(usize, usize), usize>;

/// A search that knows nothing but lists of bits and checks, and that blocks of Z bits may be turned.
struct Search {
    matrix: Matrix,
    z: usize,
}

impl Search {
    fn of(code: &Code) -> Self {
        Search { matrix: Matrix::parse(&code.alist()), z: 8 * code.data_bytes() / 128 }
    }

    fn odd(&self, bits: &[usize]) -> Vec<usize> {
        let mut odd: Vec<usize> = Vec::with_capacity(30);
        for check in bits.iter().flat_map(|bit| &self.matrix.columns[*bit]) {
            match odd.iter().position(|other| other == check) {
                Some(at) => drop(odd.swap_remove(at)),
                None => odd.push(*check),
            }
        }
        odd
    }

    fn least_turn(&self, bits: &[usize]) -> Vec<usize> {
        let turned = |by: usize| {
            let mut bits: Vec<usize> =
                bits.iter().map(|bit| bit / self.z * self.z + (bit % self.z + self.z - by) % self.z).collect();
            bits.sort_unstable();
            bits
        };
        bits.iter().map(|bit| turned(bit % self.z)).min().expect("a set has bits")
    }

    /// Bits that share a check with one, and the check.
    fn neighbours(&self, bit: usize) -> impl Iterator<Item = (usize, usize)> {
        let of = move |check: &usize| (*check, self.matrix.rows[*check].iter().filter(move |other| **other != bit));
        self.matrix.columns[bit].iter().map(of).flat_map(|(check, bits)| bits.map(move |other| (*other, check)))
    }

    /// For each bit, the check that it shares with one.
    fn shared(&self, bit: usize) -> Vec<Option<usize>> {
        let mut shared = vec![None; self.matrix.columns.len()];
        self.neighbours(bit).for_each(|(other, check)| shared[other] = Some(check));
        shared
    }

    /// Cycles of length 6 through a bit: the two others.
    fn triangles(&self, bit: usize) -> Vec<[usize; 2]> {
        let near = self.shared(bit);
        let mut triangles = Vec::new();
        for (other, check) in self.neighbours(bit) {
            for (third, between) in self.neighbours(other) {
                if third > other && between != check && near[third].is_some_and(|of_third| of_third != check) {
                    triangles.push([other, third]);
                }
            }
        }
        triangles
    }

    /// Sets of four to six bits with at most `odd` odd checks that grow from cycles of length 6 through sets with at most 6.
    fn grown(&self, odd: usize) -> Counts {
        let mut found: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut seen_in = vec![0_u8; self.matrix.columns.len()];
        for first in (0..self.matrix.columns.len()).step_by(self.z) {
            let mut growing: Vec<Vec<usize>> = self.triangles(first).into_iter().map(|[a, b]| vec![first, a, b]).collect();
            let mut seen: HashSet<Vec<usize>> = HashSet::new();
            while let Some(set) = growing.pop() {
                let checks = self.odd(&set);
                let near: Vec<usize> = checks.iter().flat_map(|check| self.matrix.rows[*check].iter().copied()).collect();
                near.iter().for_each(|bit| seen_in[*bit] += 1);
                for bit in near {
                    let shared = usize::from(std::mem::take(&mut seen_in[bit]));
                    let left = checks.len() + self.matrix.columns[bit].len() - 2 * shared;
                    if shared < 2 || set.contains(&bit) || left > if set.len() < 5 { 7 } else { odd } {
                        continue;
                    }
                    let mut larger = set.clone();
                    larger.push(bit);
                    larger.sort_unstable();
                    if left <= odd {
                        found.insert(self.least_turn(&larger));
                    }
                    if larger.len() < 6 && seen.insert(larger.clone()) {
                        growing.push(larger);
                    }
                }
            }
        }
        let mut counts = Counts::new();
        found.iter().for_each(|set| *counts.entry((set.len(), self.odd(set).len())).or_default() += 1);
        counts
    }

    /// Sets of six bits, each of which shares checks with three others: two threes of which each bit is joined to all of the other
    /// three, or two cycles of length 6 whose bits are joined one to one.
    fn threefold(&self) -> BTreeSet<Vec<usize>> {
        let mut found = BTreeSet::new();
        for first in (0..self.matrix.columns.len()).step_by(self.z) {
            self.threes(first, &mut found);
            for [b, c] in self.triangles(first) {
                self.prisms([first, b, c], &mut found);
            }
        }
        found
    }

    fn keep(&self, set: &[usize], found: &mut BTreeSet<Vec<usize>>) {
        let distinct = (1..6).all(|at| !set[..at].contains(&set[at]));
        if distinct && self.odd(set).len() <= 6 {
            found.insert(self.least_turn(set));
        }
    }

    fn threes(&self, first: usize, found: &mut BTreeSet<Vec<usize>>) {
        let mut over: HashMap<usize, Vec<usize>> = HashMap::new();
        for (middle, check) in self.neighbours(first) {
            let others = self.neighbours(middle).filter(|(_, between)| *between != check);
            others.for_each(|(far, _)| over.entry(far).or_default().push(middle));
        }
        let over: BTreeMap<usize, Vec<usize>> = over.into_iter().filter(|(_, middles)| middles.len() > 2).collect();
        let mut by_middle: HashMap<usize, Vec<usize>> = HashMap::new();
        for (far, middles) in &over {
            middles.iter().for_each(|middle| by_middle.entry(*middle).or_default().push(*far));
        }
        for (far, middles) in &over {
            let others: BTreeSet<usize> = middles.iter().flat_map(|middle| &by_middle[middle]).copied().collect();
            for other in others.into_iter().filter(|other| other > far) {
                let common: Vec<usize> = middles.iter().filter(|middle| over[&other].contains(middle)).copied().collect();
                for a in 0..common.len() {
                    for b in a + 1..common.len() {
                        for c in b + 1..common.len() {
                            self.keep(&[first, *far, other, common[a], common[b], common[c]], found);
                        }
                    }
                }
            }
        }
    }

    fn prisms(&self, triangle: [usize; 3], found: &mut BTreeSet<Vec<usize>>) {
        // Neighbours of each, but for the checks that join the three.
        let near = triangle.map(|bit| {
            let mut shared = self.shared(bit);
            let joins = triangle.map(|other| shared[other]);
            shared.iter_mut().filter(|check| joins.contains(check)).for_each(|check| *check = None);
            shared
        });
        let mut of_a = vec![usize::MAX; self.matrix.columns.len()];
        for a in self.neighbours(triangle[0]).map(|(a, _)| a).filter(|a| near[0][*a].is_some()) {
            self.neighbours(a).for_each(|(other, _)| of_a[other] = a);
            for (b, _) in self.neighbours(triangle[1]).filter(|(b, _)| of_a[*b] == a && near[1][*b].is_some()) {
                for (c, _) in self.neighbours(b).filter(|(c, _)| of_a[*c] == a && near[2][*c].is_some()) {
                    self.keep(&[triangle[0], triangle[1], triangle[2], a, b, c], found);
                }
            }
        }
    }
}

/// Numbers of the former matrices, from a search in another program by another author, say that this one finds what there is.
#[test]
fn the_search_finds_the_sets_of_former_matrices() {
    let of = |name| Search::of(Code::find(name).expect("a former name"));
    let default = of("ldpc-4k-0.901");
    assert_eq!(default.grown(6), Counts::from([((4, 6), 36), ((5, 6), 6), ((6, 6), 3)]), "and one that does not grow so");
    assert_eq!(Vec::from_iter(default.threefold()), [default.least_turn(&[6656, 12373, 12641, 21147, 23815, 34775])]);
    let counts = of("ldpc-1k-0.928").grown(4);
    assert_eq!(counts, Counts::from([((4, 4), 19), ((5, 4), 42), ((6, 4), 88)]));
}

#[test]
fn matrices_close_no_small_sets() {
    for code in codes() {
        let search = Search::of(code);
        // In words of 4 KiB at the lower rates no set at all, elsewhere none with fewer than six odd checks.
        let odd = if ["ldpc-4k-0.889-2", "ldpc-4k-0.901-2"].contains(&code.name()) { 6 } else { 5 };
        assert_eq!(search.grown(odd), Counts::new(), "{code:?}");
        if code.name() == "ldpc-4k-0.901-2" {
            assert_eq!(search.threefold(), BTreeSet::new(), "{code:?}");
        }
    }
}

/// The crate's list, for words with planted sets, is complete.
#[test]
fn small_sets_are_those_that_grow() {
    for name in ["ldpc-4k-0.901", "ldpc-2k-0.901-2"] {
        let code = Code::find(name).expect("it is known");
        let search = Search::of(code);
        let mut listed = Counts::new();
        for set in code.small_sets(6) {
            *listed.entry((set.len(), search.odd(&set).len())).or_default() += 1;
        }
        assert_eq!(listed, search.grown(6), "{name}");
    }
}

/// Whether a word is decoded that has these bits wrong, turned, and others at a rate.
fn is_decoded(code: &Code, set: &[usize], by: usize, rber: f64, flipping: bool, noise: &mut Noise) -> bool {
    let z = 8 * code.data_bytes() / 128;
    let turned: Vec<usize> = set.iter().map(|bit| bit / z * z + (bit % z + by) % z).collect();
    let mut frame = if rber > 0.0 {
        let mut frame = Frame::new(code, &Channel::new(Stage::Hard, rber), noise);
        let unread = |bit: &&usize| (frame.read[**bit / 8] ^ frame.written[**bit / 8]) >> (**bit % 8) & 1 == 0;
        let right: Vec<usize> = turned.iter().filter(unread).copied().collect();
        right.iter().for_each(|bit| frame.read[bit / 8] ^= 1 << (bit % 8));
        frame
    } else {
        with_wrong(code, &turned, noise)
    };
    let (data, parity) = frame.read.split_at_mut(code.data_bytes());
    let limits = Limits { flipping, ..Limits::default() };
    code.decode(data, parity, flashkeep_coding::ldpc::Soft::Hard, &limits, &mut Workspace::default()).is_ok()
        && frame.read == frame.written
}

/// The four sets of six bits that defeated min-sum alone on the former matrix of the default code.
#[test]
fn six_bits_that_defeated_min_sum_are_decoded() {
    let mut noise = Noise(51);
    let default = [
        [0, 2318, 4417, 6292, 9926, 30474],
        [256, 4426, 6423, 17740, 30525, 35920],
        [6656, 12373, 12641, 21147, 23815, 34775],
        [7936, 10428, 14768, 15226, 29257, 32534],
    ];
    let code = Code::find("ldpc-4k-0.901").expect("a former name");
    for set in default {
        for (by, flipping) in [(0, false), (0, true), (1, true), (100, false), (255, true)] {
            assert!(is_decoded(code, &set, by, 0.0, flipping, &mut noise), "{set:?} turned by {by}");
            assert!(is_decoded(code, &set, by, 5.2e-3, flipping, &mut noise), "{set:?} turned by {by}, among others");
        }
    }
}

/// Of the matrices of today the worst sets that are left, wholly wrong and alone: words that are not decoded are fewer than the floor
/// of the curve has.
#[test]
fn the_worst_sets_that_are_left_are_decoded_or_counted() {
    let mut noise = Noise(52);
    for code in codes() {
        let sets = code.small_sets(6);
        let step = sets.len().div_ceil(300).max(1);
        let looked_at = sets.iter().step_by(step);
        let lost = looked_at.filter(|set| !is_decoded(code, set, 0, 0.0, false, &mut noise)).count();
        // Sets of six bits, each in Z turns, where one in 1000 bits is wrong.
        let share = (step * lost * code.data_bytes() / 16) as f64 * 1e-3_f64.powi(6);
        let tail = &Curve::of(code, Stage::Hard).tail;
        let counted = tail.floor * 1e-3_f64.powi(tail.power as i32);
        assert!(share <= counted, "{code:?}: {lost} sets of each {step} are lost, {share}, {counted} counted");
    }
}
