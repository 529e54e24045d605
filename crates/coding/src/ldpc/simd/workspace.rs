//! The memory that decoding takes.

use super::super::layout::{Layout, TAIL};

/// 64 bytes that start at a multiple of 64, as the widest registers like it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A buffer that starts at a multiple of 64 bytes.
#[derive(Default)]
pub(in super::super) struct Aligned(Vec<Line>);

impl Aligned {
    /// Makes room for this many bytes.
    fn reserve(&mut self, bytes: usize) {
        let lines = bytes.div_ceil(64);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0; 8]));
        }
    }

    pub(super) fn words(&self) -> *const u64 {
        self.0.as_ptr().cast()
    }

    pub(super) fn words_mut(&mut self) -> *mut u64 {
        self.0.as_mut_ptr().cast()
    }

    pub(super) fn bytes_mut(&mut self) -> *mut i8 {
        self.0.as_mut_ptr().cast()
    }

    /// All of it, as bytes.
    pub(in super::super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: a line is 64 bytes without padding, and any bytes are numbers.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 64 * self.0.len()) }
    }
}

/// The buffers of a decoder. Kernels rely on their sizes, which [`Buffers::fit`] alone sets.
#[derive(Default)]
pub(in super::super) struct Buffers {
    /// The word: as read, and corrected in the end.
    pub(in super::super) read: Aligned,
    /// Each block of the word twice, as it is decided.
    pub(super) word: Aligned,
    /// Check sums, each block twice.
    pub(super) sums: Aligned,
    /// The planes of a soft read, each block twice.
    pub(super) planes: [Aligned; 2],
    /// Some blocks.
    pub(super) spare: Aligned,
    /// Z signed bytes and [`TAIL`] more for each block column.
    pub(super) llrs: Aligned,
    /// Z signed bytes for each circulant.
    pub(super) messages: Aligned,
    /// Z signed bytes for each circulant of a row.
    pub(super) extrinsic: Aligned,
}

impl Buffers {
    /// Makes room for words of the code.
    pub(in super::super) fn fit(&mut self, layout: &Layout) {
        let block = layout.z / 8;
        self.read.reserve(layout.columns * block);
        self.sums.reserve(2 * layout.rows * block);
        for twice in [&mut self.word].into_iter().chain(&mut self.planes) {
            twice.reserve(2 * layout.columns * block);
        }
        self.spare.reserve(8 * block);
        self.llrs.reserve(layout.columns * (layout.z + TAIL));
        self.messages.reserve(layout.edges.len() * layout.z);
        self.extrinsic.reserve(layout.longest_row() * layout.z);
    }
}

/// Channel information of a bit: one of four magnitudes, by the planes of a soft read.
pub(in super::super) struct Levels<'a> {
    /// Magnitudes, 1 to 31, weakest first.
    pub(in super::super) magnitudes: [i8; 4],
    /// None, one or two planes as long as the word: low bit of the index of a magnitude, then the high one.
    pub(in super::super) planes: &'a [&'a [u8]],
}
