//! Paper: Y.-B. Chang and L.-P. Chang, An Erasure-code-based Striping Scheme for NAND-Flash Storage
//! System, 2007, appendix and Table 1.
//! Idea: n data blocks and n code blocks, each the sum of m data blocks, lie on as many banks. The more
//! subsets of n blocks give all data, |G|, the less a read depends on any one bank.
//! Differs: the paper counts by linear independence and schedules by peeling, so it takes |G_4^3| for
//! better than it is. Both are shown, and what |G| is wanted for: how long a read of all data takes if
//! every bank needs an exponential time of mean 1, and how many blocks are read until then.

use super::settings::Settings;
use common::Problem;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};
use ssd::coding::gf2::Decoder;
use ssd::coding::graph::{CodeGraph, Decodable, SEARCH_MAX, best};
use vocab::Streams;

pub(super) const OPTIONS: &[(&str, &str)] =
    &[("n", "3,4,5,6,7,8"), ("m", "1,2,3,4,5,6,7,8"), ("decoder", "elimination,peeling"), ("search", "0"), ("seed", "1")];

/// Most data blocks: the subsets of twice as many blocks are counted within a second.
const DATA_MAX: usize = 10;
/// Most graphs to try: some seconds.
const TRIES_MAX: u64 = 1_000_000;

const N: Column = column("n", "n");
const DECODER: Column = column("decoder", "decoder");
const DECODABLE: Column = column("decodable", "decodable");

const fn column(key: &'static str, name: &'static str) -> Column {
    Column { key, name, unit: "" }
}

/// A regular graph with its counts.
struct Counted {
    n: usize,
    m: usize,
    decoder: Decoder,
    counts: Decodable,
}

fn count(n: usize) -> Cell {
    Cell::Count(n as u64)
}

fn name(decoder: Decoder) -> Cell {
    Cell::Text(decoder.name().into())
}

/// |G|, its share of all subsets, blocks read and latency.
fn figures(n: usize, counts: &Decodable) -> [Cell; 4] {
    let (found, all) = (counts.flexibility(), counts.subsets(n));
    [
        Cell::Count(found),
        Cell::Rate(found as f64 / all as f64),
        Cell::Rate(counts.expected_reads()),
        Cell::Rate(counts.expected_time()),
    ]
}

fn counted(settings: &Settings) -> Result<Vec<Counted>, Problem> {
    let (sizes, degrees) = (settings.counts("n", 1..=DATA_MAX)?, settings.counts("m", 1..=DATA_MAX)?);
    let mut found = Vec::new();
    for &decoder in &settings.decoders()? {
        for &n in &sizes {
            for &m in degrees.iter().filter(|m| **m <= n) {
                let graph = CodeGraph::regular(n, m).expect("1 <= m <= n");
                found.push(Counted { n, m, decoder, counts: graph.decodable(decoder) });
            }
        }
    }
    if found.is_empty() {
        let most = sizes.iter().max().expect("a list has a value");
        return Err(Problem::new("--m", format!("no code of so few data blocks: n is at most {most}, wanted 1 to {most}")));
    }
    Ok(found)
}

fn graphs(found: &[Counted]) -> Table {
    let row = |of: &Counted| {
        let key = [name(of.decoder), count(of.n), count(of.m), Cell::Count(of.counts.subsets(of.n))];
        [key.as_slice(), &figures(of.n, &of.counts)].concat()
    };
    let columns = vec![
        DECODER,
        N,
        column("m", "m"),
        column("subsets", "subsets"),
        DECODABLE,
        column("share", "share"),
        column("reads", "reads"),
        column("latency", "latency"),
    ];
    let cross = |title: &str, value| Layout::Cross { title: title.into(), part: Some(0), down: 1, across: 2, value };
    let layouts = vec![
        cross("|G_n^m|: subsets of n of the 2n blocks that give all data", 4),
        cross("Expected latency of a read of all data, in mean times of a bank", 7),
        cross("Expected blocks read until all data are known, with none withdrawn", 6),
    ];
    Table { key: "graphs", columns, rows: found.iter().map(row).collect(), layouts }
}

/// One value of n: counts of subsets of every size.
fn by_size(found: &[Counted]) -> Table {
    let row = |of: &Counted, size: usize| {
        let subsets = [of.counts.of_size(size), of.counts.subsets(size)].map(Cell::Count);
        [[name(of.decoder), count(of.n), count(of.m), count(size)].as_slice(), &subsets].concat()
    };
    let rows = found.iter().flat_map(|of| (of.n..=2 * of.n).map(move |size| row(of, size))).collect();
    let columns = vec![DECODER, N, column("m", "m"), column("size", "size"), DECODABLE, column("subsets", "subsets")];
    let title = "Subsets of each size that give all data".into();
    let layouts = vec![Layout::Cross { title, part: Some(0), down: 3, across: 2, value: 4 }];
    Table { key: "by_size", columns, rows, layouts }
}

/// The best graph found for each n, by both decoders.
fn searched(settings: &Settings, tries: u64) -> Result<Table, Problem> {
    let seed = settings.seed()?;
    let mut rows = Vec::new();
    for n in settings.counts("n", 1..=SEARCH_MAX)? {
        let mut stream = Streams::new(seed).stream_of("lab/graph", n as u64);
        let found = best(n, tries, |bound| stream.below(bound));
        let sum = |sum: &ssd::coding::gf2::Symbols<1>| sum.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("+");
        let code = found.graph.code().iter().map(sum).collect::<Vec<_>>().join(" ");
        let extent = if found.is_best { "all graphs" } else { "some graphs" };
        for &decoder in &settings.decoders()? {
            let counts = found.graph.decodable(decoder);
            let key = [name(decoder), count(n), Cell::Text(extent.into()), Cell::Text(code.clone())];
            rows.push([key.as_slice(), &figures(n, &counts)].concat());
        }
    }
    let columns = vec![
        DECODER,
        N,
        column("tried", "tried"),
        column("code", "code blocks"),
        DECODABLE,
        column("share", "share"),
        column("reads", "reads"),
        column("latency", "latency"),
    ];
    let title = "Best graph by |G| with elimination, regular or not".into();
    let layouts = vec![Layout::Plain { title, part: Some(0), columns: vec![1, 4, 7, 6, 2, 3] }];
    Ok(Table { key: "best", columns, rows, layouts })
}

fn plots(found: &[Counted]) -> Vec<Plot> {
    let mut keys: Vec<(Decoder, usize)> = found.iter().map(|of| (of.decoder, of.n)).collect();
    keys.dedup();
    let curves = |value: &dyn Fn(&Counted) -> f64| {
        let series = |(decoder, n): &(Decoder, usize)| Series {
            name: format!("n = {n}, {}", decoder.name()),
            points: found.iter().filter(|of| (of.decoder, of.n) == (*decoder, *n)).map(|of| (of.m as f64, value(of))).collect(),
        };
        keys.iter().map(series).collect()
    };
    let plot = |id, title: &str, hint: &str, name, series| Plot {
        id,
        title: title.into(),
        hint: hint.into(),
        axes: [Axis { name: "m, data blocks of a code block", log: false }, Axis { name, log: false }],
        series,
        marks: Vec::new(),
        categories: Vec::new(),
    };
    let share = |of: &Counted| of.counts.flexibility() as f64 / of.counts.subsets(of.n) as f64;
    vec![
        plot("graph-share", "Decodable subsets", "More is better.", "share of the n-subsets", curves(&share)),
        plot(
            "graph-latency",
            "Latency of a read of all data",
            "Less is better. Banks take exponential times.",
            "expected latency, mean times of a bank",
            curves(&|of| of.counts.expected_time()),
        ),
    ]
}

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let (found, tries) = (counted(settings)?, settings.count("search", TRIES_MAX)?);
    let mut tables = vec![graphs(&found)];
    if found.iter().all(|of| of.n == found[0].n) {
        tables.push(by_size(&found));
    }
    if tries > 0 {
        tables.push(searched(settings, tries)?);
    }
    let notes = vec![
        "m = 1 is mirroring, m = n one parity, copied; without code blocks the latency is 1 + 1/2 + .. + 1/n".into(),
        "elimination solves whatever the blocks determine; peeling, the paper's decoder, only sums with one block missing".into(),
        "a scheduler that withdraws what brings nothing new reads n blocks by elimination, in the same time".into(),
    ];
    Ok(Study {
        name: "graph",
        title: "Freedom of reads with data and code blocks".into(),
        settings: settings.values(),
        facts: settings.facts()?,
        tables,
        plots: plots(&found),
        notes,
    })
}
