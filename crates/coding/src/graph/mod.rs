//! Codes of n data blocks and some code blocks, each the sum (XOR) of a set of data blocks.
//!
//! Paper: Y.-B. Chang and L.-P. Chang, "An Erasure-code-based Striping Scheme for NAND-Flash Storage
//! System", master thesis, National Chiao Tung University, 2007, appendix. A code is a bipartite graph:
//! an edge says that a data block is part of a code block. In the regular graph G_n^m code block i is the
//! sum of the data blocks i, i+1 .. i+m-1 modulo n. How freely reads can be scheduled is |G|, the number
//! of subsets of as many blocks as there are data blocks that give all data.
//!
//! Differs: the paper counts by linear independence and schedules by peeling, which is weaker on all
//! regular graphs with 2 < m < n; here every count is of one [`Decoder`].

mod count;
mod search;

use crate::gf2::{Decoder, Symbols};
pub use count::{COUNTED_MAX, Decodable};
pub use search::{EXHAUSTIVE_MAX, Found, SEARCH_MAX, best};

/// Most data blocks, and most code blocks, of a graph.
pub const BLOCKS_MAX: usize = 32;

/// A graph that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// This many data blocks.
    #[error("found {0} data blocks, valid are 1 to {BLOCKS_MAX}")]
    Data(usize),
    /// This many code blocks.
    #[error("found {0} code blocks, valid are up to {BLOCKS_MAX}")]
    Code(usize),
    /// A code block of this many data blocks, of a regular graph of this many.
    #[error("found code blocks of {m} data blocks, valid are 1 to {n}")]
    Degree {
        /// Data blocks of a code block.
        m: usize,
        /// Data blocks of the graph.
        n: usize,
    },
    /// This code block has no data block, or one that there is not.
    #[error("code block {0} has no data block, or one that does not exist")]
    Edges(usize),
}

/// A code as a bipartite graph. As symbols of [`gf2`](crate::gf2), data blocks are `0..n` and code
/// blocks follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeGraph {
    data: usize,
    code: Vec<Symbols<1>>,
}

impl CodeGraph {
    /// The graph of `data` data blocks in which code block i is the sum of the data blocks `code[i]`.
    ///
    /// # Errors
    /// Too many blocks, or a code block without data blocks or with one that does not exist.
    pub fn new(data: usize, code: Vec<Symbols<1>>) -> Result<Self, GraphError> {
        if !(1..=BLOCKS_MAX).contains(&data) {
            return Err(GraphError::Data(data));
        }
        if code.len() > BLOCKS_MAX {
            return Err(GraphError::Code(code.len()));
        }
        let all: Symbols<1> = (0..data).collect();
        match code.iter().position(|sum| sum.is_empty() || !sum.without(&all).is_empty()) {
            Some(wrong) => Err(GraphError::Edges(wrong)),
            None => Ok(Self { data, code }),
        }
    }

    /// The regular graph G_n^m: as many code blocks as data blocks, each the sum of `m` neighbours.
    ///
    /// # Errors
    /// Too many blocks, or `m` not in `1..=n`.
    pub fn regular(n: usize, m: usize) -> Result<Self, GraphError> {
        if !(1..=BLOCKS_MAX).contains(&n) {
            return Err(GraphError::Data(n));
        }
        if !(1..=n).contains(&m) {
            return Err(GraphError::Degree { m, n });
        }
        Self::new(n, (0..n).map(|i| (i..i + m).map(|j| j % n).collect()).collect())
    }

    /// Number of data blocks, n.
    #[must_use]
    pub fn data(&self) -> usize {
        self.data
    }

    /// The data blocks of each code block.
    #[must_use]
    pub fn code(&self) -> &[Symbols<1>] {
        &self.code
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.data + self.code.len()
    }

    /// The data blocks as symbols.
    #[must_use]
    pub fn data_symbols(&self) -> Symbols<1> {
        (0..self.data).collect()
    }

    /// The code blocks as symbols.
    #[must_use]
    pub fn code_symbols(&self) -> Symbols<1> {
        (self.data..self.blocks()).collect()
    }

    /// One equation for each code block (the constraints of the Tanner graph).
    #[must_use]
    pub fn equations(&self) -> Vec<Symbols<1>> {
        let equation = |(i, sum): (usize, &Symbols<1>)| sum.or(&[self.data + i].into_iter().collect());
        self.code.iter().enumerate().map(equation).collect()
    }

    /// Whether the blocks `known` give all data.
    #[must_use]
    pub fn decodes(&self, known: &Symbols<1>, decoder: Decoder) -> bool {
        self.data_symbols().without(&decoder.closure(&self.equations(), known)).is_empty()
    }

    /// How many subsets of the blocks give all data, by size. Takes time in the order of 2^blocks.
    ///
    /// # Panics
    /// If the graph has more than [`COUNTED_MAX`] blocks.
    #[must_use]
    pub fn decodable(&self, decoder: Decoder) -> Decodable {
        Decodable::of(self, decoder)
    }
}
