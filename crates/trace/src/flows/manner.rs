//! How the requests of a flow follow each other, beside their places and their pace.

use super::Strides;

/// In what order the files of a flow are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileOrder {
    /// One after the other, and from the first again.
    #[default]
    RoundRobin,
    /// Any of those that are open.
    Random,
    /// Each to its end before the next.
    Sequential,
}

/// Files of a flow; all have the flow's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub count: u32,
    /// How many are in use at a time; where one is done, the next takes its place.
    pub open: u32,
    /// Requests to one before the next has its turn.
    pub turn: u64,
    /// In what order.
    pub order: FileOrder,
}

/// Reading back what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// At the end of each pass, in the order of writing.
    InOrder,
    /// At the end of each pass, each place once, in the order of files and addresses: where places are written again.
    Sorted,
    /// This many whenever the writes that are not yet read back are a multiple of a number; the rest at the end.
    Every {
        /// The number.
        backlog: u64,
        /// This many.
        batch: u64,
    },
    /// The writes are not sent: what they would have written is read instead.
    Only,
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Bytes left out between a request and the one that follows it in order; negative: it goes backwards.
    pub step: i64,
    /// Requests for each place that is drawn: the others follow it.
    pub burst: u64,
    /// They go to the very place.
    pub is_burst_in_place: bool,
    /// Each discard is followed by a write of what it discarded.
    pub rewrites: bool,
    /// A flush at the end of each pass that wrote.
    pub flushes_at_end: bool,
    /// Written places are read back.
    pub read_back: Option<ReadBack>,
    /// Files.
    pub files: Files,
    /// Zones of each file that follow each other.
    pub strides: Option<Strides>,
    /// Bytes of a pass, behind which requests begin from the start again; `None`: there is one.
    pub pass: Option<u64>,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            step: 0,
            burst: 1,
            is_burst_in_place: false,
            rewrites: false,
            flushes_at_end: false,
            read_back: None,
            files: Files { count: 1, open: 1, turn: 1, order: FileOrder::RoundRobin },
            strides: None,
            pass: None,
        }
    }
}
