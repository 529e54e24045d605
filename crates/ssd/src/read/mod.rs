//! Reads that need more than one page, or a page that is not where it should be: solving for lost pages,
//! reads around busy dies, lines of code zones, and read-ahead.

pub(crate) mod ahead;
pub(crate) mod around;
pub(crate) mod lines;
pub(crate) mod solve;
#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::ids::OfSolve;
use crate::core::target::Target;
use crate::host::Host;
use crate::read::ahead::Ahead;
use crate::read::around::LazyReads;
use crate::read::solve::{Adder, Solve};
use crate::write::Writer;
use crate::write::zones::Zones;
use device::slab::{ImageId, Slab};
use ftl::Place;
use protect::Protection;
use protect::code_zones::CodeZones;
use vocab::{Lpn, Nanos, Ppn};

/// All reads that need more than one page.
#[derive(Clone)]
pub(crate) struct Reads<P: FlashPayload> {
    pub solves: Slab<Solve<P>, OfSolve>,
    pub adder: Adder,
    /// Lost pages of rows whose parity is still on its way.
    pub uncovered_repairs: Vec<Target>,
    pub lazy: LazyReads<P>,
    /// Read-ahead, where the scheme has it.
    pub ahead: Option<Ahead<P>>,
}

impl<P: FlashPayload> Reads<P> {
    /// No reads.
    pub fn new(protection: &Protection) -> Self {
        let ahead = protection.zones().and_then(|zones| zones.read_ahead()).map(Ahead::new);
        let sum_time = protection.groups().map_or(Nanos(0), |scheme| scheme.sum_time());
        let adder = Adder::new(sum_time);
        Self { solves: Slab::default(), adder, uncovered_repairs: Vec::new(), lazy: LazyReads::new(protection), ahead }
    }

    /// The page gets other contents: what was read ahead of it is of no use.
    pub fn forget_read_ahead(&mut self, lpn: Lpn, sectors_per_slot: u64) {
        self.ahead.iter_mut().for_each(|ahead| ahead.forget(lpn, sectors_per_slot));
    }

    /// Reads go to the code of these zones, whatever way of writing they are over.
    pub fn read_code_of(&mut self, zones: &CodeZones) {
        self.ahead = zones.read_ahead().map(Ahead::new);
        self.lazy.around = zones.read_around();
    }
}

/// The components below the reads, which answer questions.
pub(crate) struct Below<'a, P: FlashPayload> {
    pub writer: &'a Writer<P>,
    pub host: &'a Host<P>,
}

impl<P: FlashPayload> Clone for Below<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: FlashPayload> Copy for Below<'_, P> {}

impl<'a, P: FlashPayload> Below<'a, P> {
    /// The code zones of the drive.
    pub fn zones(&self) -> &'a Zones<P> {
        self.writer.zones.as_deref().expect("a drive of code zones")
    }

    /// Logical pages in sectors.
    pub fn sectors_per_slot(&self) -> u64 {
        u64::from(self.host.requests.sectors_per_slot)
    }

    /// The image that holds a page which is not in flash yet, or not where it should be.
    pub fn unsent(&self, core: &Core<P>, ppn: Ppn) -> Option<ImageId> {
        self.writer.unsent(core, ppn)
    }

    /// Whether a page needs no read: it is in the write buffer, or was never written.
    pub fn is_at_hand(&self, core: &Core<P>, lpn: Lpn) -> bool {
        self.host.buffer.get(lpn).is_some() || core.map.lookup(lpn) == Place::Unmapped
    }
}
