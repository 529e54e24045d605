//! What a mount has still to do.

use ftl::UnitId;
use vocab::{Lpn, Ppn};

/// What a mount has still to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounting {
    /// Pages to be read and written anew.
    pub pages: Vec<Ppn>,
    /// Units held back from erase until that is done, once for each reason.
    pub pins: Vec<UnitId>,
    /// Logical pages found, and the ranks of their contents, which are durable once that is done.
    pub found: Vec<(Lpn, u64)>,
    /// Whether everything is on its way.
    pub sent: bool,
}

/// Where the recovery from a power cut is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// What a mount has still to do before the host is heard.
    pub mounting: Option<Box<Mounting>>,
}
