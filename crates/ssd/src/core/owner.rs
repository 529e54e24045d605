//! Who waits for a flash command.

use crate::core::ids::{CoverId, EncodeId, LazyId, OpId, SolveId};
use device::slab::JobId;

/// Kind of a programmed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Data of the host, or what is written like them: the sum of a block in a block group.
    Data,
    /// Data that were moved from another place in flash.
    MovedData,
    /// The parity of pages on other dies.
    Parity,
}

/// Who waits for a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Host read: logical pages `lpn..lpn + count` of a job.
    HostRead { job: JobId },
    /// Old contents of a partly written page: page `page` of a job.
    Merge { job: JobId, page: u16 },
    /// A page of a log without redundancy, or a page moved within a region.
    Page { log: u16, holds: Holds },
    /// A victim's page is read to be moved.
    Collect { log: u16 },
    /// A data page or the parity of a row.
    Cover { cover: CoverId, holds: Holds },
    /// A page of codeword `codeword` of a row of a block group.
    GroupPage { row: u32, codeword: u8, holds: Holds },
    /// A strip of a stripe update.
    Stripe { op: OpId, strip: u8 },
    /// A page that is recharged in place.
    Recharge { log: u16 },
    /// The scrub looks at a page of a row.
    Scrub { superblock: u32 },
    /// A strip that a rebuild writes.
    Strip { log: u16 },
    /// Page `term` of a solve.
    Solve { solve: SolveId, term: u16 },
    /// A block of a read with alternatives.
    Lazy { read: LazyId, block: u8 },
    /// A code page.
    Code { encode: EncodeId },
    /// The erase of a victim's block.
    Erase { log: u16 },
    /// A reserved block: a page of it, or its erase.
    Reserved,
    /// No one: a page that only keeps a row in step.
    #[default]
    NoOne,
}
