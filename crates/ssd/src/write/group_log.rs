//! Words that rows and block groups share: both write the group log, whose units span all dies.

use ftl::{Ftl, Stream};

/// How far a handler got that was to write pages, whatever the way of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Every page has its place, or waits in memory until more pages come.
    All,
    /// A row or a page stripe ended, or a log is short of space. The engine hands on the effects of that and calls the handler again.
    Again,
    /// There is no room for the next page.
    NoRoom,
}

/// Which moved pages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feed {
    /// Only as many as fill flash pages whole.
    WholePages,
    /// All of them, and the parity of rows behind them.
    All,
}

/// The write pointer that the stream writes: 0, or 1 where the collector has a write pointer of its own.
#[inline]
pub(crate) fn write_pointer_of(map: &Ftl, stream: Stream) -> usize {
    usize::from(stream == Stream::Gc && map.separates_write_pointers())
}
