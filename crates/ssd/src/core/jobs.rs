//! Jobs: what waits for flash commands, and is done when all of them are.

use crate::core::flash::FlashPayload;
use crate::core::ids::{CoverId, EncodeId};
use device::facts::RequestKind;
use vocab::{Cause, Lpn, SimTime};

/// One logical page of a write.
#[derive(Clone, Debug)]
pub(crate) struct PageWrite<P> {
    pub lpn: Lpn,
    pub version: u32,
    pub payload: P,
    /// Sectors written; the rest is to be merged from the old version.
    pub from: u32,
    pub to: u32,
    /// Rank of the contents once they have a place; 0 before.
    pub rank: u64,
}

/// Who asked for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A host request.
    #[default]
    Host,
    /// The write buffer evicts pages.
    Buffer,
    /// Preconditioning: no one waits.
    NoOne,
    /// Code zones over another way of writing: the pages are the code of a group.
    Encoder { encode: EncodeId },
}

/// Jobs that a job holds back or waits for, where requests to the same page go one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageOrder {
    /// Whether the job queues for its pages.
    pub holds_pages: bool,
    /// How many of them others hold.
    pub missing: u32,
}

/// A host request or an eviction on its way through the drive.
#[derive(Clone, Debug)]
pub(crate) struct Job<P> {
    pub asker: Asker,
    pub kind: RequestKind,
    pub arrival: SimTime,
    /// Its number, of a host request.
    pub request: u64,
    /// Sectors of a host request.
    pub sectors: u32,
    /// The flow of a host request, where there are several.
    pub flow: u16,
    /// Parts not done; the job itself holds one while it is being issued.
    pub remaining: u32,
    pub pages: Vec<PageWrite<P>>,
    /// Pages handed to a log so far.
    pub next: usize,
    /// Under code zones, pages that wait for room in their segments.
    pub unplaced: u32,
    /// Partly written pages whose old contents are still being read.
    pub merges: u32,
    /// Pages of a discard.
    pub range: (u32, u32),
    /// Versions of a discard's pages, once it has to wait: later writes count on from them.
    pub versions: Vec<u32>,
    pub order: PageOrder,
    /// The last row cover that this job waits for.
    pub cover: Option<CoverId>,
    pub fua: bool,
    /// Too long for the write cache: it passed through.
    pub long: bool,
    pub failed: bool,
    /// Some of its pages have no place on this drive, now or later.
    pub homeless: bool,
    /// There is no room for some of its pages and there never will be.
    pub no_room: bool,
}

impl<P> Default for Job<P> {
    fn default() -> Self {
        Self {
            asker: Asker::Host,
            kind: RequestKind::Read,
            arrival: SimTime::ZERO,
            request: 0,
            sectors: 0,
            flow: 0,
            remaining: 0,
            pages: Vec::new(),
            next: 0,
            unplaced: 0,
            merges: 0,
            range: (0, 0),
            versions: Vec::new(),
            order: PageOrder::default(),
            cover: None,
            fua: false,
            long: false,
            failed: false,
            homeless: false,
            no_room: false,
        }
    }
}

impl<P> Job<P> {
    /// Makes a recycled job new, keeping its buffers.
    pub fn reset(&mut self, asker: Asker, kind: RequestKind, arrival: SimTime) {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        *self = Self { asker, kind, arrival, remaining: 1, pages, ..Self::default() };
    }

    /// Why its pages are programmed.
    #[inline]
    pub fn cause(&self) -> Cause {
        if matches!(self.asker, Asker::Encoder { .. }) { Cause::Encode } else { Cause::Host }
    }

    /// The logical page at this place of the job: the pages of a write, or the range of a discard.
    #[inline]
    pub fn lpn(&self, at: usize) -> Option<u32> {
        match self.pages.get(at) {
            Some(page) => Some(page.lpn.0),
            None => Some(self.range.0 + (at - self.pages.len()) as u32).filter(|&lpn| lpn < self.range.1),
        }
    }

    /// The logical pages that the job writes or discards.
    #[inline]
    pub fn lpns(&self) -> impl Iterator<Item = u32> + use<'_, P> {
        self.pages.iter().map(|page| page.lpn.0).chain(self.range.0..self.range.1)
    }

    /// The first page from `at` on that is written in part, where whole pages have this many sectors.
    #[inline]
    pub fn next_partial(&self, at: usize, sectors: u32) -> Option<usize> {
        let is_partial = |page: &PageWrite<P>| (page.from, page.to) != (0, sectors);
        self.pages.get(at..)?.iter().position(is_partial).map(|found| at + found)
    }
}

impl<P: FlashPayload> Job<P> {
    /// Completes a partly written page with its old contents.
    pub fn merge(&mut self, at: usize, old: &P) {
        let page = &mut self.pages[at];
        page.payload.merge(old, page.from, page.to);
    }
}

/// Where a job queues among those that wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Before all of them: it had its turn and there was no room.
    First,
    /// Behind them.
    Last,
}
