//! The lazy scheduler against naive decoders, contents, and the theory of exponential dies.

use coding::gf2::{Decoder, Symbols};
use coding::graph::CodeGraph;
use flashkeep_protect::lazy::{Ask, Blocks, LazyRead};
use vocab::{Stream, Streams};

/// How to repeat these tests: they have fixed seeds.
const RERUN: &str = "cargo test -p flashkeep-protect --test parts lazy::";

fn blocks(of: &[usize]) -> Blocks {
    of.iter().copied().collect()
}

fn graph(n: usize, m: usize) -> CodeGraph {
    CodeGraph::regular(n, m).expect("a regular graph")
}

/// A read of whole groups, all blocks offered.
fn whole(graph: &CodeGraph, decoder: Decoder) -> LazyRead {
    let (wanted, offered) = (graph.data_symbols(), graph.data_symbols().or(&graph.code_symbols()));
    let (read, step) = LazyRead::start(graph, decoder, Ask { wanted, offered, held: Symbols::EMPTY });
    assert_eq!(step.issued, offered);
    read
}

#[test]
fn figure_6_withdraws_what_brings_nothing_new() {
    // Data a, b, c, d are 0 to 3; a+b, b+c, c+d, d+a are 4 to 7.
    for decoder in Decoder::ALL {
        let mut read = whole(&graph(4, 2), decoder);
        assert_eq!(read.complete(0).withdrawn, blocks(&[]));
        // d + a is the sum of what is known.
        assert_eq!(read.complete(3).withdrawn, blocks(&[7]));
        let step = read.complete(6);
        assert_eq!(step.withdrawn, blocks(&[2]));
        let c = step.derived.iter().find(|solved| solved.symbol == 2).expect("c is known");
        assert_eq!(c.sum, blocks(&[3, 6]));
        assert_eq!((read.pending(), read.is_done()), (blocks(&[1, 4, 5]), false));
        // Any of the three ends the read and withdraws the others.
        for last in [1, 4, 5] {
            let mut read = read.clone();
            assert_eq!(read.complete(last).withdrawn, blocks(&[1, 4, 5]).without(&blocks(&[last])));
            assert!(read.is_done() && read.lost().is_empty() && read.sums().len() == 4);
        }
    }
}

#[test]
fn only_what_can_help_is_read() {
    let every = |m: usize, wanted: &[usize], offered: &[usize]| {
        let ask = Ask { wanted: blocks(wanted), offered: blocks(offered), held: Symbols::EMPTY };
        Decoder::ALL.map(|decoder| LazyRead::start(&graph(4, m), decoder, ask).1.issued)
    };
    // Two neighbours and the sums of both with others: only the sum of the two is of use.
    assert_eq!(every(2, &[0, 1], &[0, 1, 4, 5, 7]), [blocks(&[0, 1, 4]); 2]);
    // With the fourth sum the other three add up to it.
    assert_eq!(every(2, &[0, 1], &[0, 1, 4, 5, 6, 7]), [blocks(&[0, 1, 4, 5, 6, 7]); 2]);
    // A single block alone is given by no sums of pairs.
    assert_eq!(every(2, &[0], &[0, 4, 5, 6, 7]), [blocks(&[0]); 2]);
    assert_eq!(every(1, &[2], &[2, 4, 5, 6, 7]), [blocks(&[2, 6]); 2]);
    // Four sums of three give a block by elimination only (the thesis, Fig. 13).
    assert_eq!(every(3, &[0], &[0, 4, 6, 7]), [blocks(&[0, 4, 6, 7]), blocks(&[0])]);
}

#[test]
fn a_block_at_hand_is_not_read_and_helps() {
    let ask = Ask { wanted: blocks(&[0, 1]), offered: blocks(&[0, 4, 5]), held: blocks(&[1]) };
    let (mut read, step) = LazyRead::start(&graph(4, 2), Decoder::Peeling, ask);
    assert_eq!(step.issued, blocks(&[0, 4]));
    assert_eq!(read.complete(4).withdrawn, blocks(&[0]));
    let sums: Vec<_> = read.sums().iter().map(|solved| (solved.symbol, solved.sum)).collect();
    assert_eq!(sums, [(0, blocks(&[1, 4])), (1, blocks(&[1]))]);
}

#[test]
fn failures_lose_a_block_only_when_nothing_gives_it() {
    let mut read = whole(&graph(4, 2), Decoder::Peeling);
    assert_eq!(read.fail(0).lost, blocks(&[]));
    assert_eq!(read.fail(4).lost, blocks(&[]));
    // a was in itself, a + b and d + a.
    let step = read.fail(7);
    assert_eq!((step.lost, step.withdrawn), (blocks(&[0]), blocks(&[])));
    for block in [1, 2, 3] {
        assert!(!read.is_done());
        read.complete(block);
    }
    assert!(read.is_done());
    assert_eq!((read.lost(), read.sums().len()), (blocks(&[0]), 3));
}

#[test]
fn when_data_change_code_counts_for_nothing_and_withdrawn_data_are_read_again() {
    let mut read = whole(&graph(4, 2), Decoder::Elimination);
    read.complete(0);
    assert_eq!(read.complete(4).withdrawn, blocks(&[1]));
    read.fail(3);
    let step = read.without_code();
    assert_eq!((step.issued, step.withdrawn, step.lost), (blocks(&[1]), blocks(&[5, 6, 7]), blocks(&[3])));
    assert_eq!((read.pending(), read.at_hand()), (blocks(&[1, 2]), blocks(&[0])));
    read.complete(1);
    // Code that was in service comes too late.
    assert_eq!((read.complete(5).derived, read.at_hand()), (Vec::new(), blocks(&[0, 1])));
    read.fail(6);
    read.complete(2);
    assert!(read.is_done() && read.sums().iter().all(|solved| solved.sum.single() == Some(solved.symbol)));
}

/// A block as the set of data blocks it is the sum of.
fn vectors(graph: &CodeGraph) -> Vec<u64> {
    let code = graph.code().iter().map(|sum| sum.iter().map(|symbol| 1 << symbol).sum());
    (0..graph.data()).map(|i| 1 << i).chain(code).collect()
}

fn rank(mut vectors: Vec<u64>) -> usize {
    let mut rank = 0;
    while let Some(pivot) = vectors.pop() {
        if pivot != 0 {
            rank += 1;
            let low = pivot & pivot.wrapping_neg();
            vectors.iter_mut().filter(|v| **v & low != 0).for_each(|v| *v ^= pivot);
        }
    }
    rank
}

/// The data blocks that `known` gives, each asked on its own.
fn naive(graph: &CodeGraph, known: &Blocks, decoder: Decoder) -> Blocks {
    let vectors = vectors(graph);
    let span: Vec<u64> = known.iter().map(|block| vectors[block]).collect();
    match decoder {
        Decoder::Elimination => {
            let depends = |data: &usize| rank([span.as_slice(), &[1 << data]].concat()) == rank(span.clone());
            (0..graph.data()).filter(depends).collect()
        }
        Decoder::Peeling => {
            let mut data = 0u64;
            while let Some(sum) = span.iter().find(|sum| (*sum & !data).count_ones() == 1) {
                data |= sum;
            }
            (0..graph.data()).filter(|i| data >> i & 1 == 1).collect()
        }
    }
}

fn subset(stream: &mut Stream, blocks: usize, odds: f64) -> Blocks {
    (0..blocks).filter(|_| stream.chance(odds)).collect()
}

fn random_graph(stream: &mut Stream) -> CodeGraph {
    let data = 1 + stream.below(6) as usize;
    let sum = |stream: &mut Stream| Symbols::from(1 + stream.below((1 << data) - 1));
    let code = (0..stream.below(7)).map(|_| sum(stream)).collect();
    CodeGraph::new(data, code).expect("a graph")
}

/// One read of a random code in random order, some blocks failing, some ending though withdrawn.
fn one_read(stream: &mut Stream, decoder: Decoder, about: &str) {
    let graph = random_graph(stream);
    let vectors = vectors(&graph);
    let contents: Vec<u64> = (0..graph.data()).map(|_| stream.bits()).collect();
    let value = |block: usize| (0..graph.data()).filter(|i| vectors[block] >> i & 1 == 1).fold(0, |v, i| v ^ contents[i]);
    let (wanted, offered) = (subset(stream, graph.data(), 0.7), subset(stream, graph.blocks(), 0.85));
    let ask = Ask { wanted, offered, held: subset(stream, graph.data(), 0.1) };
    let (mut read, step) = LazyRead::start(&graph, decoder, ask);
    let (mut failed, mut running, mut derived) = (Blocks::EMPTY, step.issued, step.derived);
    while !running.is_empty() {
        let all: Vec<usize> = running.iter().collect();
        let block = all[stream.below(all.len() as u64) as usize];
        running.remove(block);
        let step = if stream.chance(0.2) {
            failed.insert(block);
            read.fail(block)
        } else {
            read.complete(block)
        };
        // Most that are withdrawn never end.
        running = running.without(&step.withdrawn.without(&subset(stream, graph.blocks(), 0.2)));
        derived.extend(step.derived);
        let known = naive(&graph, &read.at_hand(), decoder);
        let sums = read.sums();
        assert_eq!(sums.iter().map(|solved| solved.symbol).collect::<Blocks>(), known.and(&wanted), "{about}");
        for solved in sums.iter().chain(&derived) {
            assert!(solved.sum.without(&read.at_hand()).is_empty(), "{about}");
            assert_eq!(solved.sum.iter().fold(0, |v, block| v ^ value(block)), value(solved.symbol), "{about}");
        }
        // I18: as if nothing had been withdrawn.
        let possible = naive(&graph, &ask.offered.or(&ask.held).without(&failed), decoder);
        assert_eq!(read.lost(), wanted.without(&possible), "{about}");
        let useless = |block: &usize| naive(&graph, &read.at_hand().or(&blocks(&[*block])), Decoder::Elimination) == known;
        if decoder == Decoder::Elimination {
            let redundant = |block: &usize| {
                let at_hand: Vec<u64> = read.at_hand().iter().map(|block| vectors[block]).collect();
                useless(block) && rank([at_hand.as_slice(), &[vectors[*block]]].concat()) == rank(at_hand)
            };
            assert!(!read.pending().iter().any(|block| redundant(&block)), "{about}: reads on for nothing");
        }
        assert_eq!(read.is_done(), read.pending().is_empty(), "{about}");
    }
    assert!(read.is_done(), "{about}");
}

#[test]
fn reads_of_random_codes_give_what_naive_decoders_say_could_be_had() {
    for case in 0..6000 {
        let mut stream = Streams::new(case).stream("lazy");
        for decoder in Decoder::ALL {
            one_read(&mut stream, decoder, &format!("case {case}, {decoder:?}; {RERUN}"));
        }
    }
}

/// Mean time and ends of sub-requests of a read of all data, if each block takes an exponential time of
/// mean 1: those withdrawn end as well, if `all_end`.
fn mean(graph: &CodeGraph, decoder: Decoder, all_end: bool, reads: u32) -> (f64, f64) {
    let mut stream = Streams::new(1).stream("lazy/exponential");
    let (mut time, mut ends) = (0.0, 0);
    for _ in 0..reads {
        let mut read = whole(graph, decoder);
        let mut order: Vec<(f64, usize)> = (0..graph.blocks()).map(|b| (-(1.0 - stream.unit()).ln(), b)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, block) in order {
            if all_end || read.pending().contains(block) {
                read.complete(block);
                ends += 1;
                if read.is_done() {
                    time += at;
                    break;
                }
            }
        }
    }
    (time / f64::from(reads), f64::from(ends) / f64::from(reads))
}

#[test]
fn reads_of_whole_groups_take_the_time_that_theory_says() {
    let [elimination, peeling] = Decoder::ALL;
    for (m, decoder, time, ends, withdrawing) in [
        // Of four sums that end first, peeling does not see that the fourth adds nothing.
        (2, peeling, 157.0 / 210.0, 31.0 / 7.0, Some(4.0 + 1.0 / 70.0)),
        (2, elimination, 157.0 / 210.0, 31.0 / 7.0, Some(4.0)),
        (3, elimination, 115.0 / 168.0, 4.2, Some(4.0)),
        (3, peeling, 317.0 / 420.0, 4.0 + 27.0 / 70.0 + 4.0 / 56.0, None),
    ] {
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 0.01, "G_4^{m}, {decoder:?}: {found}, expected {expected}; {RERUN}");
        };
        let found = mean(&graph(4, m), decoder, true, 20_000);
        near(found.0, time);
        near(found.1, ends);
        // By elimination no block is read in vain.
        let saved = mean(&graph(4, m), decoder, false, 20_000);
        assert_eq!(saved.0, found.0, "withdrawing changes a time");
        near(saved.1, withdrawing.unwrap_or(saved.1));
        assert!(decoder == peeling || saved.1 == 4.0, "G_4^{m}: {} blocks", saved.1);
    }
}
