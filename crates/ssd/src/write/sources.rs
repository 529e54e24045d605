//! What brings a lost page back. The ways of writing answer that; the reads read it.

use protect::code_zones::LineRead;
use vocab::{Lpn, Ppn, Slot, StripeId};

/// What brings a lost page back.
#[derive(Clone, Debug)]
pub(crate) enum Sources<P> {
    /// The sum of what the controller has and one slot of each of these pages.
    Sum { held: P, pages: Vec<Ppn>, slot: u32 },
    /// The code of its line. The page itself may still be read, unless it lies where a read `failed`.
    Line { line: LineRead, lpn: Lpn, failed: Option<Slot> },
    /// Nothing does, because it is a code page.
    NoneOfCodePage { lpn: Lpn },
    /// Nothing does.
    None,
    /// Its row, as soon as a parity that is on its way is programmed.
    AfterParity,
    /// Its stripe, as soon as the update under way has ended.
    AfterUpdate(StripeId),
    /// There is nothing to bring back: the page was discarded.
    Discarded,
}
