//! A choice of drives in which every pair of factors occurs that occurs in all of them.

use super::cases::Case;
use std::collections::{BTreeSet, HashMap};

/// Columns of [`Case::factors`] of which no pair is wanted: options of a scheme with a condition, of which there are a
/// thousand, and a scheme with its own options.
const NOT_PAIRED: [(usize, usize); 2] = [(0, 1), (1, 5)];

/// Numbers of the pairs of factors of each case.
fn pairs(cases: &[Case]) -> Vec<Vec<usize>> {
    let mut numbers = HashMap::new();
    let mut of_case = |case: &Case| {
        let factors = case.factors();
        let columns = (0..factors.len()).flat_map(|a| (a + 1..factors.len()).map(move |b| (a, b)));
        columns
            .filter(|pair| !NOT_PAIRED.contains(pair))
            .map(|(a, b)| {
                let next = numbers.len();
                *numbers.entry((a, factors[a].clone(), b, factors[b].clone())).or_insert(next)
            })
            .collect()
    };
    cases.iter().map(&mut of_case).collect()
}

/// Pairs of factors that no case among `kept` has.
pub fn missing(cases: &[Case], kept: &BTreeSet<usize>) -> usize {
    let pairs = pairs(cases);
    let all: BTreeSet<usize> = pairs.iter().flatten().copied().collect();
    let covered: BTreeSet<usize> = kept.iter().flat_map(|&case| &pairs[case]).copied().collect();
    all.len() - covered.len()
}

/// Numbers of cases that have every pair: those of `kept` that are needed, so that a table changes as little as it may, then always
/// the case with most pairs that are still missing.
pub fn choose(cases: &[Case], kept: &BTreeSet<usize>) -> BTreeSet<usize> {
    let pairs = pairs(cases);
    let mut missing: BTreeSet<usize> = pairs.iter().flatten().copied().collect();
    let mut chosen = BTreeSet::new();
    let mut take = |case: usize, missing: &mut BTreeSet<usize>| {
        missing.retain(|pair| !pairs[case].contains(pair));
        chosen.insert(case);
    };
    for &case in kept {
        if pairs[case].iter().any(|pair| missing.contains(pair)) {
            take(case, &mut missing);
        }
    }
    while !missing.is_empty() {
        let won = |case: &usize| pairs[*case].iter().filter(|pair| missing.contains(pair)).count();
        // The first of those that win most.
        let best = (0..cases.len()).rev().max_by_key(won).expect("a pair is missing, so a case has it");
        take(best, &mut missing);
    }
    chosen
}
