//! Who wants the contents of a page, and what a host read must return at least.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use device::slab::JobId;
use vocab::{Lpn, Slot, StripeId};

/// A page's state when a read was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Newest answered version.
    pub version: u32,
    /// Whether the page read as unmapped.
    pub discarded: bool,
    /// The request that reads, by the last 32 bits of its number.
    pub request: u32,
}

/// Who wants a lost page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A host read. `failed` is the place that could not be read, if there was one.
    HostRead { job: JobId, lpn: Lpn, floor: Floor, failed: Option<Slot> },
    /// A collector that moves the page.
    Move { log: u16, slot: Slot },
    /// A partly written page; `failed` as above.
    Merge { job: JobId, page: u32, failed: Option<Slot> },
    /// A partly written page of a static stripe.
    StripeMerge { op: OpId, strip: u32 },
    /// A rebuild: the strip gets a new place.
    Strip { stripe: StripeId, strip: u32 },
}

impl<P: FlashPayload> Core<P> {
    /// The logical page that the target wants, where it wants one of the host.
    pub fn lpn_wanted(&self, target: Target) -> Option<Lpn> {
        match target {
            Target::HostRead { lpn, .. } => Some(lpn),
            Target::Merge { job, page, .. } => Some(self.jobs[job].pages[page as usize].lpn),
            Target::Move { .. } | Target::StripeMerge { .. } | Target::Strip { .. } => None,
        }
    }
}
