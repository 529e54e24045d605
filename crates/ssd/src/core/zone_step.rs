//! Requests of other components to code zones, and work that code zones leave for later.

use crate::core::ids::EncodeId;
use protect::code_zones::CodeStamp;
use vocab::{Lpn, Slot};

/// Outcome of programming a code page, or of encoding a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePage {
    /// It is in flash.
    Written,
    /// It never will be.
    GivenUp,
}

/// A step of code zones.
#[derive(Clone, Debug)]
pub(crate) enum ZoneStep<P> {
    /// The code was valid and is stale now, and no read decodes with it any more: its pages are garbage.
    ForgetCode { stamp: CodeStamp },
    /// A code page is garbage. With `only_at`: unless it lies elsewhere by now.
    ForgetCodePage { lpn: Lpn, only_at: Option<Slot> },
    /// A code page cannot be read: its group does without code until it is encoded again.
    LoseCodePage { lpn: Lpn },
    /// The code pages of a group are computed; `None`: some of its data cannot be read.
    CodeSummed { encode: EncodeId, sums: Option<Vec<P>> },
    /// Nothing more happens to a code page.
    CodePageOver { encode: EncodeId, how: CodePage },
    /// Further groups are encoded, as many as may be under way.
    EncodeMore,
}
