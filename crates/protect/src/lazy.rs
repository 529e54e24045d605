//! Paper: Y.-B. Chang and L.-P. Chang, "An Erasure-code-based Striping Scheme for NAND-Flash Storage
//! System", master thesis, National Chiao Tung University, 2007, section 3.2: lazy scheduling.
//!
//! Idea: a read is sent to all data blocks it wants and to all code blocks that can stand in for them.
//! Whatever ends first counts: what each block adds is decoded at once, and sub-requests that have become
//! of no use are withdrawn. So no one has to guess which die will be busy.
//!
//! Differs: the paper withdraws what brings no new information; here a sub-request is withdrawn as soon
//! as it cannot help to any wanted block, which is more where only a part of the data is wanted. Blocks
//! may fail, which the paper leaves open: then the read goes on with what is left, and says which blocks
//! nothing can give any more. Decoding is by peeling, as in the paper, or by elimination.
//! Invariant: withdrawing never costs a block. Whatever the blocks offered could give without those that
//! failed, the read gives (I18).

use crate::{Options, SchemeError};
use coding::gf2::{Decoder, Solved, Symbols};
use coding::graph::CodeGraph;

/// A set of blocks of a code: data blocks, then code blocks.
pub type Blocks = Symbols<1>;

/// When a read is sent to more than the pages it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAround {
    /// Commands at a die, queued or in service, from which on reads of it have alternatives.
    pub busy_from: u32,
    /// Sub-requests for alternatives that are in the queues of the drive at most. A read that would add
    /// more goes without.
    pub extra_reads: u32,
}

/// Options of schemes that know how to read around a busy die, off unless asked for.
pub(crate) const READ_AROUND: [(&str, &str, &str); 2] = [
    (
        "read_around",
        "off",
        "commands at a die from which on reads of it go to the rest of its stripe too; 0: always; `off`: never",
    ),
    EXTRA_READS,
];

/// The limit on extra load.
pub(crate) const EXTRA_READS: (&str, &str, &str) =
    ("extra_reads", "auto", "reads for alternatives in the queues of the drive at most; `auto`: 8 for each die");

impl ReadAround {
    /// Setting of the options `read_around` and `extra_reads`; `None`: off.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub(crate) fn new(options: &Options<'_>, dies: u32) -> Result<Option<Self>, SchemeError> {
        let extra_reads = options.number_or_auto("extra_reads", 0..=1_000_000)?.unwrap_or(8 * dies);
        if options.is("read_around", "off") {
            return Ok(None);
        }
        let busy_from = options.number("read_around", 0..=1_000_000)?;
        Ok(Some(Self { busy_from, extra_reads }))
    }
}

/// Request to a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Data blocks to get.
    pub wanted: Blocks,
    /// Blocks that may be read for it.
    pub offered: Blocks,
    /// Blocks whose contents are at hand without a read, such as data never written, which are zeros.
    pub held: Blocks,
}

/// Consequences of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Blocks that can be computed from now on, as sums of blocks at hand.
    pub derived: Vec<Solved<1>>,
    /// Sub-requests to take out of their queues. One in service may end all the same.
    pub withdrawn: Blocks,
    /// Wanted blocks that nothing can give any more.
    pub lost: Blocks,
    /// Blocks to be read. One that was withdrawn in service, and is still there, is not read again.
    pub issued: Blocks,
}

/// A read in progress. It ends when every wanted block is known or lost.
///
/// Caller's duties: issues what a [`Step`] says; reports the end of each sub-request once, by
/// [`complete`](Self::complete) or [`fail`](Self::fail), those withdrawn in service included; calls
/// [`without_code`](Self::without_code) when data of the code change.
#[derive(Clone, Debug)]
pub struct LazyRead {
    equations: Vec<Blocks>,
    code: Blocks,
    decoder: Decoder,
    wanted: Blocks,
    /// Contents at hand.
    read: Blocks,
    /// Blocks that `read` gives, itself included.
    known: Blocks,
    pending: Blocks,
    /// Blocks that can be read: offered, and not failed.
    readable: Blocks,
    lost: Blocks,
    /// Code blocks that say nothing any more.
    void: Blocks,
}

impl LazyRead {
    /// Starts a read; the step says which sub-requests to issue.
    ///
    /// # Panics
    /// If a wanted block is no data block of the code.
    #[must_use]
    pub fn start(graph: &CodeGraph, decoder: Decoder, ask: Ask) -> (Self, Step) {
        assert!(ask.wanted.without(&graph.data_symbols()).is_empty(), "{:?}: not all are data blocks", ask.wanted);
        let all = graph.data_symbols().or(&graph.code_symbols());
        let readable = ask.offered.and(&all).without(&ask.held);
        let mut read = Self {
            equations: graph.equations(),
            code: graph.code_symbols(),
            decoder,
            wanted: ask.wanted,
            read: ask.held.and(&all),
            known: ask.held.and(&all),
            pending: readable,
            readable,
            lost: Symbols::EMPTY,
            void: Symbols::EMPTY,
        };
        let step = read.settle();
        let issued = read.pending;
        (read, Step { withdrawn: Symbols::EMPTY, issued, ..step })
    }

    /// A sub-request has ended with the contents of its block.
    ///
    /// # Panics
    /// If the block was never to be read, or has ended before.
    pub fn complete(&mut self, block: usize) -> Step {
        if self.ends(block) {
            self.read.insert(block);
            self.known.insert(block);
        }
        self.settle()
    }

    /// A sub-request will never give its block: it cannot be corrected, or its die is dead.
    ///
    /// # Panics
    /// If the block was never to be read, or has ended before.
    pub fn fail(&mut self, block: usize) -> Step {
        if self.ends(block) {
            self.readable.remove(block);
        }
        self.settle()
    }

    /// Takes a sub-request as ended. Whether its block counts.
    fn ends(&mut self, block: usize) -> bool {
        let counts = !self.void.contains(block);
        let is_open = self.readable.contains(block) && !self.read.contains(block);
        assert!(is_open || !counts, "block {block} is not being read");
        self.pending.remove(block);
        counts
    }

    /// Data of the code have changed, or are about to: code blocks say nothing any more, nor does what
    /// was derived from them. Wanted blocks that only they were to give are read themselves.
    pub fn without_code(&mut self) -> Step {
        let withdrawn = self.pending.and(&self.code);
        self.equations.clear();
        self.void = self.code;
        self.read = self.read.without(&self.code);
        self.readable = self.readable.without(&self.code);
        self.known = self.read;
        let before = self.pending;
        self.pending = self.wanted.without(&self.known).and(&self.readable);
        let issued = self.pending.without(&before);
        let step = self.settle();
        let others = before.without(&self.code).without(&self.pending);
        Step { withdrawn: withdrawn.or(&step.withdrawn).or(&others), issued, ..step }
    }

    /// Derives, drops what became useless, and sees what cannot be had any more.
    fn settle(&mut self) -> Step {
        let mut derived = self.decoder.solve(&self.equations, &self.read);
        derived.retain(|solved| !self.known.contains(solved.symbol));
        derived.iter().for_each(|solved| self.known.insert(solved.symbol));
        let helpful = self.decoder.helpful(&self.equations, &self.read, &self.pending, &self.wanted);
        let withdrawn = self.pending.without(&helpful);
        self.pending = helpful;
        let reach = self.decoder.closure(&self.equations, &self.read.or(&self.pending));
        let lost = self.wanted.without(&reach).without(&self.lost);
        self.lost = self.lost.or(&lost);
        Step { derived, withdrawn, lost, issued: Symbols::EMPTY }
    }

    /// Whether every wanted block is known or lost. Nothing is pending then.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.wanted.without(&self.known).without(&self.lost).is_empty()
    }

    /// Wanted blocks that nothing can give.
    #[must_use]
    pub fn lost(&self) -> Blocks {
        self.lost
    }

    /// Sub-requests that are still of use.
    #[must_use]
    pub fn pending(&self) -> Blocks {
        self.pending
    }

    /// Blocks whose contents are at hand: read, or held from the start.
    #[must_use]
    pub fn at_hand(&self) -> Blocks {
        self.read
    }

    /// The wanted blocks that are known, each as a sum of blocks at hand; one that was read is the sum
    /// of itself.
    #[must_use]
    pub fn sums(&self) -> Vec<Solved<1>> {
        let solved = self.decoder.solve(&self.equations, &self.read);
        let sum = |symbol: usize| match self.read.contains(symbol) {
            true => Some(Solved { symbol, sum: [symbol].into_iter().collect() }),
            false => solved.iter().find(|solved| solved.symbol == symbol).copied(),
        };
        self.wanted.iter().filter_map(sum).collect()
    }
}
