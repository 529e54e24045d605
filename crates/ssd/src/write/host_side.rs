//! Facts of the way of writing for the host's side, whatever lies in flash: its promise, and its preferred form of writes.
//! Each way answers in its folder.

use crate::core::flash::FlashPayload;
use crate::write::Writer;
use protect::{StripeScheme, WriteCache};
use std::ops::Range;
use vocab::{Grid, Lpn};

/// Promise of a scheme to its user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Promise {
    /// Dies whose loss at a time loses no acknowledged data.
    pub dies: u32,
    /// Whether that needs memory that outlives a loss of power.
    pub needs_safe_memory: bool,
}

/// The pages that leave the write buffer together with a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvictedWith {
    /// The oldest ones, `most` with the page itself, in writes of `each` pages. A page leaves the buffer when all pages of its
    /// write are durable, so pages that do not depend on each other are written one by one.
    Oldest { most: usize, each: usize },
    /// Those of the page's stripe, the page among them.
    Stripe(Range<u32>),
}

/// Answers of a way of writing to the host's side.
pub(crate) trait HostSide {
    /// Promise of the scheme in its present stage.
    fn promise(&self) -> Promise;

    /// Pages that are written to flash at once so that it costs the scheme least: what fills a row.
    fn full_write(&self, grid: &Grid) -> u32;

    /// Random pages that a write history overwrites with one request.
    fn overwritten_at_once(&self, _grid: &Grid) -> u32 {
        1
    }

    /// Pages that leave the write buffer together with a page, of a drive with this many dead dies.
    fn evicted_with(&self, lpn: Lpn, grid: &Grid, dead: u32) -> EvictedWith;

    /// Whether these pages can be discarded now.
    fn may_discard(&self, _pages: Range<u32>) -> bool {
        true
    }
}

impl<P: FlashPayload> Writer<P> {
    /// The pages of the host that a request touches on a drive of segments: of whole stripe blocks.
    pub fn touched(&self, pages: Range<u32>, user_slots: u32) -> Range<u32> {
        self.zones().touched(pages, user_slots)
    }

    /// Data strips of a static stripe, where the drive has such.
    pub fn data_strips(&self) -> Option<u32> {
        self.stripe_scheme().map(StripeScheme::data_strips)
    }

    /// The scheme's own write cache, or its rules for the drive's, as it is now.
    pub fn write_cache(&self) -> Option<WriteCache> {
        self.stripe_scheme().and_then(|scheme| scheme.write_cache())
    }
}
