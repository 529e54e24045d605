//! The decoders over GF(2) against published counts, against each other, and against contents.

use flashkeep_coding::gf2::{Solved, Symbols, eliminate, peel};
use proptest::prelude::*;

/// |G_n^m| as `(n, m, by linear algebra, by peeling)`: how many n-subsets of the 2n symbols decode everything.
fn counts() -> impl Iterator<Item = (usize, usize, u32, u32)> {
    let lines = include_str!("../oracles/chang_gnm.csv").lines().skip(1);
    lines.map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u32>().expect("a number");
        (number(0) as usize, number(1) as usize, number(3), number(4))
    })
}

/// G_n^m: data symbols 0..n; code symbol n+i is the sum of the data symbols i, i+1 .. i+m-1 modulo n.
fn regular_graph(n: usize, m: usize) -> Vec<Symbols<1>> {
    (0..n).map(|i| (i..i + m).map(|j| j % n).chain([n + i]).collect()).collect()
}

/// The n-subsets of 2n symbols.
fn halves(n: usize) -> impl Iterator<Item = Symbols<1>> {
    (0u64..1 << (2 * n)).filter(move |bits| bits.count_ones() as usize == n).map(Symbols::from)
}

#[test]
fn both_decoders_count_the_decodable_subsets_of_regular_graphs_as_published() {
    for (n, m, by_rank, by_peeling) in counts().filter(|(n, ..)| *n <= 9) {
        let equations = regular_graph(n, m);
        let (mut solved, mut peeled) = (0, 0);
        for known in halves(n) {
            solved += u32::from(eliminate(&equations, &known).len() == n);
            peeled += u32::from(peel(&equations, &known).len() == n);
        }
        assert_eq!((solved, peeled), (by_rank, by_peeling), "G_{n}^{m}");
    }
}

/// Lucas numbers: 2, 1, 3, 4, 7 ..; the spanning trees of a wheel with n spokes are L(2n) - 2.
#[test]
fn a_ring_of_pairs_decodes_as_often_as_a_wheel_has_spanning_trees() {
    let mut lucas = vec![2, 1];
    for i in 2..=12 {
        lucas.push(lucas[i - 1] + lucas[i - 2]);
    }
    for n in 3..=6 {
        let equations = regular_graph(n, 2);
        let decodable = halves(n).filter(|known| peel(&equations, known).len() == n).count();
        assert_eq!(decodable, lucas[2 * n] - 2, "n = {n}");
    }
}

#[test]
fn peeling_halts_at_a_stopping_set_that_elimination_gets_past() {
    // Two or three unknown in each equation.
    let equations: Vec<Symbols<1>> =
        [vec![0, 1, 2, 3], vec![0, 1, 4], vec![0, 2, 5], vec![1, 2, 6]].into_iter().map(|e| e.into_iter().collect()).collect();
    let known = [3, 4, 5, 6].into_iter().collect();
    assert!(peel(&equations, &known).is_empty());
    let solved = eliminate(&equations, &known);
    let symbols: Vec<usize> = solved.iter().map(|solved| solved.symbol).collect();
    assert_eq!(symbols, [0, 1, 2]);
}

#[test]
fn a_product_code_peels_losses_that_no_single_row_or_column_could_repair() {
    // 8 x 64 symbols, every row and every column adds up to zero.
    let rows = (0..8).map(|r| (0..64).map(|c| r * 64 + c).collect());
    let columns = (0..64).map(|c| (0..8).map(|r| r * 64 + c).collect());
    let equations: Vec<Symbols<8>> = rows.chain(columns).collect();
    let lost: Symbols<8> = [0, 1, 65, 130, 66].into_iter().collect();
    let known = (0..512).collect::<Symbols<8>>().without(&lost);
    let solved = peel(&equations, &known);
    assert_eq!(solved.iter().map(|solved| solved.symbol).collect::<Symbols<8>>(), lost);
    // Four corners of a rectangle: every equation misses two.
    let corners: Symbols<8> = [0, 1, 64, 65].into_iter().collect();
    let known = (0..512).collect::<Symbols<8>>().without(&corners);
    assert!(peel(&equations, &known).is_empty() && eliminate(&equations, &known).is_empty());
}

#[test]
fn symbols_that_no_equation_mentions_are_never_solved() {
    let known = Symbols::<2>::EMPTY;
    assert!(eliminate(&[], &known).is_empty() && peel(&[], &known).is_empty());
    // An equation of one symbol says that it is zero: the empty sum.
    let zero: Symbols<2> = [100].into_iter().collect();
    let expected = [Solved { symbol: 100, sum: Symbols::EMPTY }];
    assert_eq!(peel(&[zero, zero], &known), expected);
    assert_eq!(eliminate(&[zero, zero], &known), expected);
}

/// Contents that satisfy the equations: combinations of a basis of their solutions, found by trying.
fn contents(equations: &[Symbols<1>], symbols: usize) -> Vec<Vec<bool>> {
    let satisfies = |word: &u64| equations.iter().all(|e| e.and(&Symbols::from(*word)).len().is_multiple_of(2));
    let words = (0u64..1 << symbols).filter(satisfies).step_by(7).take(64);
    words.map(|word| (0..symbols).map(|s| word >> s & 1 == 1).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sums_give_the_contents_and_elimination_finds_all_that_peeling_does(
        equations in prop::collection::vec(0u64..1 << 12, 0..8),
        known in 0u64..1 << 12,
    ) {
        let equations: Vec<Symbols<1>> = equations.into_iter().map(Symbols::from).collect();
        let known = Symbols::from(known);
        let (solved, peeled) = (eliminate(&equations, &known), peel(&equations, &known));
        for Solved { symbol, sum } in solved.iter().chain(&peeled) {
            prop_assert!(!known.contains(*symbol));
            prop_assert!(sum.without(&known).is_empty());
            for word in contents(&equations, 12) {
                let total = sum.iter().fold(false, |total, s| total ^ word[s]);
                prop_assert_eq!(total, word[*symbol]);
            }
        }
        for one in &peeled {
            prop_assert!(solved.iter().any(|other| other.symbol == one.symbol));
        }
        // Symbols that elimination leaves are truly open: some word of zeros at the known symbols is not zero there.
        for open in (0..12).filter(|s| !known.contains(*s) && !solved.iter().any(|solved| solved.symbol == *s)) {
            let is_word = |word: u64| equations.iter().all(|e| e.and(&Symbols::from(word)).len().is_multiple_of(2));
            let free = (0u64..1 << 12).any(|word| word >> open & 1 == 1 && known.and(&Symbols::from(word)).is_empty() && is_word(word));
            prop_assert!(free, "symbol {} is determined", open);
        }
    }
}
