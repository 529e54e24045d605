//! Counts the subsets of blocks that give all data.

use super::{BLOCKS_MAX, CodeGraph};
use crate::gf2::{Decoder, Symbols};

/// Most blocks of a graph whose subsets are counted, within seconds.
pub const COUNTED_MAX: usize = 24;

/// How many subsets of the blocks of a graph give all data, by size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decodable {
    data: usize,
    by_size: Vec<u64>,
}

/// C(n, k).
fn choose(n: usize, k: usize) -> u64 {
    // Each partial product is a binomial coefficient, so divisions are exact.
    (0..k as u64).fold(1, |product, i| product * (n as u64 - i) / (i + 1))
}

impl Decodable {
    pub(super) fn of(graph: &CodeGraph, decoder: Decoder) -> Self {
        assert!(graph.blocks() <= COUNTED_MAX, "{} blocks have too many subsets to count", graph.blocks());
        let bits = |sum: &Symbols<1>| sum.iter().fold(0u32, |bits, symbol| bits | 1 << symbol);
        let units = (0..graph.data()).map(|i| 1 << i);
        let blocks: Vec<u32> = units.chain(graph.code().iter().map(bits)).collect();
        let all = graph.data_symbols().iter().fold(0u32, |bits, symbol| bits | 1 << symbol);
        let mut by_size = vec![0; blocks.len() + 1];
        match decoder {
            Decoder::Elimination => walk(&blocks, 0, &Span::default(), all, &mut by_size),
            Decoder::Peeling => walk(&blocks, 0, &Peeled::NOTHING, all, &mut by_size),
        }
        Self { data: graph.data(), by_size }
    }

    /// How many subsets of `size` blocks give all data.
    #[must_use]
    pub fn of_size(&self, size: usize) -> u64 {
        self.by_size.get(size).copied().unwrap_or(0)
    }

    /// How many subsets of `size` blocks there are.
    #[must_use]
    pub fn subsets(&self, size: usize) -> u64 {
        choose(self.by_size.len() - 1, size)
    }

    /// |G|: subsets of as many blocks as there are data blocks that give all data.
    #[must_use]
    pub fn flexibility(&self) -> u64 {
        self.of_size(self.data)
    }

    /// The odds that this many blocks, any with equal odds, do not give all data.
    fn short(&self, size: usize) -> f64 {
        1.0 - self.of_size(size) as f64 / self.subsets(size) as f64
    }

    /// Blocks that are read, in any order with equal odds, until all data are known; blocks that bring
    /// nothing new count as well.
    #[must_use]
    pub fn expected_reads(&self) -> f64 {
        (0..self.by_size.len() - 1).map(|size| self.short(size)).sum()
    }

    /// Time until all data are known, if every block takes an exponential time of mean 1, independently.
    #[must_use]
    pub fn expected_time(&self) -> f64 {
        let blocks = self.by_size.len() - 1;
        // The next of k running exponentials ends after 1/k.
        (0..blocks).map(|size| self.short(size) / (blocks - size) as f64).sum()
    }
}

/// Knowledge that follows from some blocks; a block is a set of data blocks, as bits.
trait Knowledge: Clone {
    fn add(&mut self, block: u32);
    fn has(&self, all: u32) -> bool;
}

/// Blocks `at..` are taken or not, onto `size` of those before.
fn walk<K: Knowledge>(blocks: &[u32], size: usize, known: &K, all: u32, by_size: &mut [u64]) {
    if known.has(all) {
        for more in 0..=blocks.len() {
            by_size[size + more] += choose(blocks.len(), more);
        }
    } else if size + blocks.len() >= all.count_ones() as usize
        && let Some((&next, rest)) = blocks.split_first()
    {
        walk(rest, size, known, all, by_size);
        let mut with = known.clone();
        with.add(next);
        walk(rest, size + 1, &with, all, by_size);
    }
}

/// The span of the blocks: one vector for each leading bit.
#[derive(Clone, Default)]
struct Span {
    leading: [u32; BLOCKS_MAX],
    rank: u32,
}

impl Knowledge for Span {
    fn add(&mut self, mut block: u32) {
        while block != 0 {
            let leading = &mut self.leading[block.ilog2() as usize];
            if *leading == 0 {
                *leading = block;
                self.rank += 1;
                return;
            }
            block ^= *leading;
        }
    }

    fn has(&self, all: u32) -> bool {
        self.rank == all.count_ones()
    }
}

/// The data blocks that peeling gives, and the code blocks that wait for more.
#[derive(Clone)]
struct Peeled {
    known: u32,
    /// One place more for the block that comes in.
    waiting: [u32; BLOCKS_MAX + 1],
    count: usize,
}

impl Peeled {
    const NOTHING: Self = Self { known: 0, waiting: [0; BLOCKS_MAX + 1], count: 0 };
}

impl Knowledge for Peeled {
    fn add(&mut self, block: u32) {
        self.waiting[self.count] = block;
        self.count += 1;
        while let Some(at) = self.waiting[..self.count].iter().position(|rest| (rest & !self.known).count_ones() < 2) {
            self.known |= self.waiting[at];
            self.count -= 1;
            self.waiting.swap(at, self.count);
        }
    }

    fn has(&self, all: u32) -> bool {
        self.known == all
    }
}
