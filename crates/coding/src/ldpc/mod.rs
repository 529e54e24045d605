//! Quasi-cyclic LDPC codes for pages of flash: 1, 2 and 4 KiB of data at rates 0.889, 0.901 and 0.928.
//!
//! A word is data and then parity; bit i, from the lowest, of byte b is bit 8 b + i of the word. The matrix is made of
//! circulants, drawn by the rules of `draw.rs` and kept in `matrices.csv`; [`Code::alist`] gives it as text. Parity is found by
//! substitution and one small dense product. Decoding checks the word, tries some rounds of bit flipping, and then iterates layered normalised
//! min-sum over whole numbers, with what soft reads tell of each bit as its start: all in `simd/lanes.rs`. Every kernel gives
//! the same bits. How often words are lost: `docs/ldpc.md`, and [`Curve`] for simulations.
//!
//! ```
//! use flashkeep_coding::ldpc::{Code, Limits, Soft, Workspace};
//!
//! let code = Code::find("ldpc-1k-0.889-2").expect("a name of a code");
//! let mut workspace = Workspace::default();
//! let sent = [0x5a; 1024];
//! let mut parity = vec![0; code.parity_bytes()];
//! code.encode(&sent, &mut parity, &mut workspace);
//!
//! let mut read = sent;
//! read[3] ^= 0x81;
//! parity[0] ^= 0x10;
//! let outcome = code.decode(&mut read, &mut parity, Soft::Hard, &Limits::default(), &mut workspace)?;
//! assert_eq!((outcome.corrected, read), (3, sent));
//! # Ok::<(), flashkeep_coding::ldpc::Undecoded>(())
//! ```

mod alist;
mod base;
pub mod channel;
pub mod curve;
mod draw;
mod layout;
mod ring;
mod sets;
mod simd;

pub use channel::{Channel, Stage};
pub use curve::Curve;
pub use simd::Kernel;

use base::{Base, DATA};
use layout::Layout;
use simd::{Buffers, Levels};
use std::fmt;
use std::sync::OnceLock;

/// Key of a code.
struct Entry {
    name: &'static str,
    /// Bytes of data.
    data: usize,
    /// Block rows.
    rows: usize,
}

const fn entry(name: &'static str, kib: usize, rows: usize) -> Entry {
    Entry { name, data: 1024 * kib, rows }
}

impl Entry {
    /// Bits of a block.
    fn block(&self) -> usize {
        8 * self.data / DATA
    }
}

/// The codes that are written, then those that only serve words stored with them: a name stays with its matrix.
const ENTRIES: [Entry; 18] = [
    entry("ldpc-1k-0.889-2", 1, 16),
    entry("ldpc-1k-0.901-2", 1, 14),
    entry("ldpc-1k-0.928-2", 1, 10),
    entry("ldpc-2k-0.889-2", 2, 16),
    entry("ldpc-2k-0.901-2", 2, 14),
    entry("ldpc-2k-0.928-2", 2, 10),
    entry("ldpc-4k-0.889-2", 4, 16),
    entry("ldpc-4k-0.901-2", 4, 14),
    entry("ldpc-4k-0.928-2", 4, 10),
    entry("ldpc-1k-0.889", 1, 16),
    entry("ldpc-1k-0.901", 1, 14),
    entry("ldpc-1k-0.928", 1, 10),
    entry("ldpc-2k-0.889", 2, 16),
    entry("ldpc-2k-0.901", 2, 14),
    entry("ldpc-2k-0.928", 2, 10),
    entry("ldpc-4k-0.889", 4, 16),
    entry("ldpc-4k-0.901", 4, 14),
    entry("ldpc-4k-0.928", 4, 10),
];

/// Codes that are written.
const WRITTEN: usize = 9;
/// The seed that their matrices are drawn from.
const SEED: u64 = 2;

/// A code. Made once, shared by all that use it.
pub struct Code {
    name: &'static str,
    base: Base,
    layout: Layout,
}

/// Limits of a decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations of min-sum at most, of each try.
    pub iterations: u32,
    /// Whether rounds of bit flipping are tried first, on words of which few checks fail. They take a tenth of the time;
    /// what they cannot correct min-sum gets as it was read.
    pub flipping: bool,
    /// Whether a word of which few checks are left failing is tried up to four times again, its bits in these checks taken for
    /// less sure.
    pub doubting: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { iterations: 30, flipping: true, doubting: true }
    }
}

/// How a word was corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Iterations of min-sum, of all tries; 0 if bit flipping sufficed, or nothing was wrong.
    pub iterations: u32,
    /// Rounds of bit flipping, if it sufficed.
    pub flips: u32,
    /// Wrong bits.
    pub corrected: u32,
}

/// No codeword was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the decoder found no codeword")]
pub struct Undecoded;

/// Reliability of the bits of a word, beside the bits themselves.
#[derive(Clone, Copy, Debug)]
pub enum Soft<'a> {
    /// One read: nothing.
    Hard,
    /// Three reads: one bit for each bit of the word, data and parity, set if the bit is a sure one.
    TwoBit {
        /// The plane of these bits.
        sure: &'a [u8],
        /// Magnitude of what is known of an unsure bit and of a sure one, 1 to 31.
        magnitudes: [i8; 2],
    },
    /// Seven reads: two bits for each bit of the word, together one of four degrees of sureness.
    ThreeBit {
        /// The planes of the low bits and of the high bits of the degree.
        degree: [&'a [u8]; 2],
        /// Magnitude of what is known of a bit, 1 to 31, by degree.
        magnitudes: [i8; 4],
    },
}

/// The magnitude of hard reads: min-sum knows no scale, so this says how finely messages are rounded.
const HARD: i8 = 16;

/// Memory for decoding, for any code; grown when first needed.
#[derive(Default)]
pub struct Workspace(Buffers);

impl Code {
    /// The names of the codes that are written today, which have curves.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ENTRIES[..WRITTEN].iter().map(|entry| entry.name)
    }

    /// The names of the codes that only serve words stored with them.
    pub fn former_names() -> impl Iterator<Item = &'static str> {
        ENTRIES[WRITTEN..].iter().map(|entry| entry.name)
    }

    /// The lines of `matrices.csv` of a code that is written today, drawn again.
    #[must_use]
    pub fn draw(name: &str) -> Option<String> {
        let entry = ENTRIES[..WRITTEN].iter().find(|entry| entry.name == name)?;
        Some(draw::draw(entry.rows, entry.block(), SEED).lines(name))
    }

    /// A code by name: `ldpc-4k-0.901-2` has 4 KiB of data and rate 0.901.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Code> {
        static CODES: [OnceLock<Code>; ENTRIES.len()] = [const { OnceLock::new() }; ENTRIES.len()];
        let at = ENTRIES.iter().position(|entry| entry.name == name)?;
        Some(CODES[at].get_or_init(|| Code::new(&ENTRIES[at])))
    }

    /// Small sets that a decoder can be caught in: all of four to six bits of which at most `odd` checks have an odd number, and
    /// that grow from a cycle of length 6 by bits in two odd checks or more. One set of the Z that are turns of one another, bits
    /// by their places in the word.
    #[must_use]
    pub fn small_sets(&self, odd: usize) -> Vec<Vec<usize>> {
        sets::Graph::sets(&self.base, odd)
    }

    fn new(entry: &Entry) -> Self {
        let base = Base::of(entry.name, entry.rows, entry.block());
        let layout = Layout::new(&base).expect("the parity columns of the table have full rank");
        Code { name: entry.name, base, layout }
    }

    /// The name it is found by.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Bytes of data.
    #[must_use]
    pub fn data_bytes(&self) -> usize {
        DATA * self.layout.z / 8
    }

    /// Bytes of parity.
    #[must_use]
    pub fn parity_bytes(&self) -> usize {
        self.layout.rows * self.layout.z / 8
    }

    /// Bits of a word, data and parity.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.layout.columns * self.layout.z
    }

    /// Bits of data for each bit of a word.
    #[must_use]
    pub fn rate(&self) -> f64 {
        DATA as f64 / self.layout.columns as f64
    }

    /// Writes the parity of `data`.
    ///
    /// # Panics
    /// If the lengths are not [`Code::data_bytes`] and [`Code::parity_bytes`].
    pub fn encode(&self, data: &[u8], parity: &mut [u8], workspace: &mut Workspace) {
        self.encode_with(Kernel::fastest(), data, parity, workspace);
    }

    /// As [`Code::encode`], with a kernel of choice.
    ///
    /// # Panics
    /// As [`Code::encode`].
    pub fn encode_with(&self, kernel: &Kernel, data: &[u8], parity: &mut [u8], workspace: &mut Workspace) {
        self.check(data, parity);
        kernel.encode(&self.layout, data, &mut workspace.0);
        parity.copy_from_slice(&workspace.0.read.as_mut_slice()[..parity.len()]);
    }

    /// Whether data and parity are a codeword.
    ///
    /// # Panics
    /// As [`Code::encode`].
    pub fn holds(&self, data: &[u8], parity: &[u8], workspace: &mut Workspace) -> bool {
        self.read(data, parity, workspace);
        Kernel::fastest().syndrome(&self.layout, &mut workspace.0)
    }

    /// Corrects data and parity in place.
    ///
    /// # Errors
    /// If no codeword is found; data and parity are as they were.
    ///
    /// # Panics
    /// If the lengths of data, parity or a plane are not those of the code, or a magnitude is not 1 to 31.
    pub fn decode(
        &self,
        data: &mut [u8],
        parity: &mut [u8],
        soft: Soft<'_>,
        limits: &Limits,
        workspace: &mut Workspace,
    ) -> Result<Outcome, Undecoded> {
        self.decode_with(Kernel::fastest(), data, parity, soft, limits, workspace)
    }

    /// As [`Code::decode`], with a kernel of choice.
    ///
    /// # Errors
    /// As [`Code::decode`].
    ///
    /// # Panics
    /// As [`Code::decode`].
    pub fn decode_with(
        &self,
        kernel: &Kernel,
        data: &mut [u8],
        parity: &mut [u8],
        soft: Soft<'_>,
        limits: &Limits,
        workspace: &mut Workspace,
    ) -> Result<Outcome, Undecoded> {
        self.read(data, parity, workspace);
        let (magnitudes, planes): ([i8; 4], &[&[u8]]) = match &soft {
            Soft::Hard => ([HARD; 4], &[]),
            Soft::TwoBit { sure, magnitudes: [weak, strong] } => ([*weak, *strong, *weak, *strong], &[*sure]),
            Soft::ThreeBit { degree, magnitudes } => (*magnitudes, degree),
        };
        assert!(magnitudes.iter().all(|magnitude| (1..=31).contains(magnitude)), "magnitudes {magnitudes:?} are 1 to 31");
        assert!(planes.iter().all(|plane| 8 * plane.len() == self.bits()), "a plane has a bit for each bit of the word");
        let outcome = kernel.decode(&self.layout, &mut workspace.0, &Levels { magnitudes, planes }, limits).ok_or(Undecoded)?;
        if outcome.corrected > 0 {
            let word = workspace.0.read.as_mut_slice();
            data.copy_from_slice(&word[..data.len()]);
            parity.copy_from_slice(&word[data.len()..][..parity.len()]);
        }
        Ok(outcome)
    }

    /// Puts the word into the workspace.
    fn read(&self, data: &[u8], parity: &[u8], workspace: &mut Workspace) {
        self.check(data, parity);
        workspace.0.fit(&self.layout);
        let word = workspace.0.read.as_mut_slice();
        word[..data.len()].copy_from_slice(data);
        word[data.len()..][..parity.len()].copy_from_slice(parity);
    }

    fn check(&self, data: &[u8], parity: &[u8]) {
        let lengths = (self.data_bytes(), self.parity_bytes());
        assert_eq!((data.len(), parity.len()), lengths, "bytes of data and of parity of the code");
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (data, parity) = (self.data_bytes(), self.parity_bytes());
        write!(f, "Code({}, {data} + {parity} bytes, {} circulants of {})", self.name, self.layout.edges.len(), self.layout.z)
    }
}
