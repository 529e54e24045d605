//! Reads that need more than one page.

pub(crate) mod ahead;
pub(crate) mod around;
pub(crate) mod solve;

use crate::core::target::Target;
use crate::read::around::LazyReads;
use crate::read::solve::Gather;
use device::contents::HostPayload;
use device::slab::Slab;
use protect::Protection;

/// Reads that need more than one page.
#[derive(Clone)]
pub(crate) struct Reads<P: HostPayload> {
    pub gathers: Slab<Gather<P>>,
    pub uncovered_repairs: Vec<Target>,
    pub lazy: LazyReads<P>,
}

impl<P: HostPayload> Reads<P> {
    /// No reads.
    pub fn new(protection: &Protection) -> Self {
        Self { gathers: Slab::default(), uncovered_repairs: Vec::new(), lazy: LazyReads::new(protection) }
    }
}
