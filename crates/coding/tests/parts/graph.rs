//! Codes as graphs: counts against the published table and an enumeration in another language.

use flashkeep_coding::gf2::{Decoder, Symbols};
use flashkeep_coding::graph::{BLOCKS_MAX, CodeGraph, GraphError, best};
use proptest::prelude::*;

/// A row: n, m, C(2n, n), |G_n^m| by rank and by peeling, and what the thesis prints.
struct Row {
    n: usize,
    m: usize,
    subsets: u64,
    rank: u64,
    peeling: u64,
    printed: Option<u64>,
}

fn table() -> Vec<Row> {
    let lines = include_str!("../oracles/chang_gnm.csv").lines().skip(1);
    let row = |line: &str| {
        let fields: Vec<Option<u64>> = line.split(',').map(|field| field.parse().ok()).collect();
        let number = |at: usize| fields[at].expect("a number");
        let (n, m) = (number(0) as usize, number(1) as usize);
        Row { n, m, subsets: number(2), rank: number(3), peeling: number(4), printed: fields[5] }
    };
    lines.map(row).collect()
}

fn regular(n: usize, m: usize) -> CodeGraph {
    CodeGraph::regular(n, m).expect("a regular graph")
}

/// Splitmix64: these tests draw their own numbers.
fn below(state: &mut u64, bound: u64) -> u64 {
    vocab::splitmix64(state) % bound
}

#[test]
fn all_cells_of_the_table_are_counted_by_rank_and_by_peeling() {
    let (rows, mut printed) = (table(), 0);
    for row in &rows {
        let [rank, peeling] = Decoder::ALL.map(|decoder| regular(row.n, row.m).decodable(decoder));
        let found = (rank.subsets(row.n), rank.flexibility(), peeling.flexibility());
        assert_eq!(found, (row.subsets, row.rank, row.peeling), "G_{}^{}", row.n, row.m);
        printed += usize::from(row.printed.is_some());
        assert!(row.printed.is_none_or(|printed| printed == row.rank));
    }
    assert_eq!((rows.len(), printed), (54, 33));
}

#[test]
fn counts_of_all_sizes_are_those_of_the_decoders_one_by_one() {
    for (n, m) in [(3, 2), (4, 2), (4, 3), (5, 4), (6, 3)] {
        let graph = regular(n, m);
        for decoder in Decoder::ALL {
            let mut by_size = vec![0; 2 * n + 1];
            for known in (0u64..1 << (2 * n)).map(Symbols::from) {
                by_size[known.len()] += u64::from(graph.decodes(&known, decoder));
            }
            let counted = graph.decodable(decoder);
            assert_eq!((0..=2 * n).map(|size| counted.of_size(size)).collect::<Vec<_>>(), by_size, "G_{n}^{m} {decoder:?}");
        }
    }
}

#[test]
fn reads_of_whole_groups_take_the_times_of_the_theory() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    let [rank, peeling] = [Decoder::Elimination, Decoder::Peeling];
    near(regular(4, 1).decodable(rank).expected_time(), 25.0 / 24.0);
    near(regular(4, 2).decodable(peeling).expected_time(), 157.0 / 210.0);
    near(regular(4, 2).decodable(peeling).expected_reads(), 31.0 / 7.0);
    near(regular(4, 3).decodable(rank).expected_time(), 115.0 / 168.0);
    near(regular(4, 3).decodable(peeling).expected_time(), 317.0 / 420.0);
    // Without code blocks the slowest of four counts.
    let plain = CodeGraph::new(4, Vec::new()).expect("a graph without code blocks");
    near(plain.decodable(rank).expected_time(), 25.0 / 12.0);
    near(plain.decodable(rank).expected_reads(), 4.0);
}

#[test]
fn up_to_five_data_blocks_no_graph_is_better_than_the_best_regular_one() {
    for (n, expected) in [(2, 5), (3, 16), (4, 56), (5, 176)] {
        let found = best(n, 0, |_| 0);
        assert_eq!((found.flexibility, found.is_best), (expected, true), "n = {n}");
        assert_eq!(found.graph.decodable(Decoder::Elimination).flexibility(), expected);
        let regular_best = (1..=n).map(|m| regular(n, m).decodable(Decoder::Elimination).flexibility()).max();
        assert_eq!(regular_best, Some(expected));
    }
}

#[test]
fn irregular_graphs_of_six_to_eight_data_blocks_beat_all_regular_ones() {
    for (n, least) in [(6, 576), (7, 1952), (8, 6813)] {
        let mut state = 1;
        let found = best(n, 200_000, |bound| below(&mut state, bound));
        assert!(found.flexibility >= least, "n = {n}: {}, wanted {least}", found.flexibility);
        // By the other way to count.
        assert_eq!(found.graph.decodable(Decoder::Elimination).flexibility(), found.flexibility);
    }
}

#[test]
fn graphs_that_cannot_be_are_refused() {
    let set = |symbols: &[usize]| symbols.iter().copied().collect::<Symbols<1>>();
    assert_eq!(CodeGraph::regular(0, 1), Err(GraphError::Data(0)));
    assert_eq!(CodeGraph::regular(33, 1), Err(GraphError::Data(33)));
    assert_eq!(CodeGraph::regular(4, 5), Err(GraphError::Degree { m: 5, n: 4 }));
    assert_eq!(CodeGraph::regular(4, 0), Err(GraphError::Degree { m: 0, n: 4 }));
    assert_eq!(CodeGraph::new(2, vec![set(&[0, 1]), set(&[2])]), Err(GraphError::Edges(1)));
    assert_eq!(CodeGraph::new(2, vec![set(&[])]), Err(GraphError::Edges(0)));
    assert_eq!(CodeGraph::new(2, vec![set(&[0]); BLOCKS_MAX + 1]), Err(GraphError::Code(33)));
    assert!(CodeGraph::regular(32, 32).is_ok_and(|graph| graph.equations().len() == 32));
    let said = GraphError::Degree { m: 5, n: 4 }.to_string();
    assert!(said.contains("of 5 data blocks") && said.contains("1 to 4"), "{said}");
}

/// Whether the symbol is what some part of the rest lacks for a wanted symbol: by trying all parts.
fn helps(equations: &[Symbols<1>], known: u64, rest: u64, symbol: usize, wanted: u64, decoder: Decoder) -> bool {
    let rest = rest & !(1 << symbol);
    let mut part = rest;
    loop {
        let gives = |known: u64| decoder.closure(equations, &Symbols::from(known)).and(&Symbols::from(wanted));
        if gives(known | part | 1 << symbol) != gives(known | part) {
            return true;
        }
        if part == 0 {
            return false;
        }
        part = (part - 1) & rest;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Random graphs of four data and four code blocks.
    #[test]
    fn symbols_that_do_not_help_never_do_and_by_elimination_all_others_may(
        code in prop::collection::vec(1u64..16, 4),
        known in 0u64..256,
        offered in 0u64..256,
        wanted in 1u64..16,
    ) {
        let graph = CodeGraph::new(4, code.into_iter().map(Symbols::from).collect()).expect("a graph");
        let (equations, offered) = (graph.equations(), offered & !known);
        for decoder in Decoder::ALL {
            let [k, o, w] = [known, offered, wanted].map(Symbols::from);
            let helpful = decoder.helpful(&equations, &k, &o, &w);
            for symbol in o.iter() {
                let helps = helps(&equations, known, offered, symbol, wanted, decoder);
                prop_assert!(helpful.contains(symbol) || !helps, "{decoder:?}: {symbol} was called of no help");
                if decoder == Decoder::Elimination {
                    prop_assert!(helps || !helpful.contains(symbol), "{symbol} was called helpful");
                }
            }
        }
    }
}
