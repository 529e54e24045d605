//! The ways of writing: one folder each.

pub(crate) mod groups;
pub(crate) mod pages;
pub(crate) mod rescue;
pub(crate) mod rows;
pub(crate) mod stripes;
pub(crate) mod zones;

use crate::care::collect::Move;
use crate::config::Setup;
use crate::core::Core;
use crate::session::SetupError;
use crate::write::groups::Groups;
use crate::write::pages::PageWriter;
use crate::write::rescue::Rescue;
use crate::write::rows::Rows;
use crate::write::stripes::Stripes;
use crate::write::zones::Zones;
use device::contents::HostPayload;
use device::slab::Id;
use nand::FlashArray;
use protect::{Protection, WriteCache};
use std::collections::VecDeque;
use std::ops::Range;
use vocab::{Grid, Lpn, Ppn, StripeId};

/// The scheme and its way of writing.
#[derive(Clone)]
pub(crate) struct Writer<P: HostPayload> {
    pub protection: Protection,
    pub pages: PageWriter,
    pub rows: Rows<P>,
    /// Pages on their way from a victim to a row or group.
    pub moves: VecDeque<Move<P>>,
    pub rescue: Rescue,
    pub groups: Groups<P>,
    pub stripes: Stripes<P>,
    /// What a drive of code zones has beside its map; `None` under other schemes.
    pub zones: Option<Box<Zones<P>>>,
}

impl<P: HostPayload> Writer<P> {
    /// Nothing written yet.
    ///
    /// # Errors
    /// A parity cache that is too small for block groups.
    pub fn new(setup: &Setup, protection: Protection, grid: &Grid, logs: usize) -> Result<Self, SetupError> {
        let streams = 1 + u32::from(setup.gc.separate_frontier);
        let scheme = if let Protection::Stripes(scheme) = &protection { Some(&**scheme) } else { None };
        Ok(Self {
            pages: PageWriter::new(logs),
            rows: Rows::default(),
            moves: VecDeque::new(),
            rescue: Rescue::default(),
            groups: Groups::new(&protection, grid.blocks_per_die(), streams, &setup.scheme.name)?,
            stripes: Stripes::new(scheme, &setup.power, setup.user_slots),
            zones: Zones::new(&protection),
            protection,
        })
    }
}

/// The pages that leave the write buffer together with a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvictedWith {
    /// The oldest ones, `most` with the page itself.
    Oldest { most: usize },
    /// Those of the page's stripe, the page among them.
    Stripe(Range<u32>),
}

/// Questions of the host: what it has to know of the scheme.
impl<P: HostPayload> Writer<P> {
    /// The pages of the host that a request touches: of whole stripe blocks, where the drive maps these.
    pub fn touched(&self, pages: Range<u32>, user_slots: u32) -> Range<u32> {
        match &self.protection {
            Protection::Zones(zones) => {
                let touched = zones.touched(Lpn(pages.start), pages.len() as u32);
                touched.start..touched.end.min(user_slots)
            }
            _ => pages,
        }
    }

    /// Pages that are written to flash at once so that it costs the scheme least: what fills a row.
    pub fn full_write(&self, grid: &Grid) -> u32 {
        let slots = grid.slots_per_page();
        match &self.protection {
            Protection::Rows(_) => (grid.dies() - 1) * slots,
            Protection::Stripes(scheme) => scheme.data_strips(),
            Protection::Groups(scheme) => scheme.codes()[0].codewords * scheme.codes()[0].data * slots,
            Protection::None => slots,
            Protection::Zones(zones) => zones.layout().stripe_pages(),
        }
    }

    /// What leaves the write buffer together with a page.
    pub fn evicted_with(&self, lpn: Lpn, grid: &Grid) -> EvictedWith {
        match &self.protection {
            // A page on every die: what keeps all of them at work.
            Protection::None => EvictedWith::Oldest { most: (grid.dies() * grid.slots_per_page()) as usize },
            Protection::Stripes(scheme) => {
                let n = scheme.data_strips();
                EvictedWith::Stripe(lpn.0 / n * n..lpn.0 / n * n + n)
            }
            Protection::Rows(_) | Protection::Groups(_) => EvictedWith::Oldest { most: self.full_write(grid) as usize },
            // Each page has its own place to go to.
            Protection::Zones(_) => EvictedWith::Oldest { most: 1 },
        }
    }

    /// The scheme's own write cache, or its rules for the drive's, as it is now.
    pub fn write_cache(&self) -> Option<WriteCache> {
        match &self.protection {
            Protection::Stripes(scheme) => scheme.write_cache(),
            _ => None,
        }
    }

    /// Whether pages can be discarded now: no update of their stripes is under way, and nothing waits for room in
    /// its segment.
    pub fn may_discard(&self, pages: Range<u32>) -> bool {
        match &self.protection {
            Protection::Stripes(scheme) => {
                let n = scheme.data_strips();
                !(pages.start / n..pages.end.div_ceil(n)).any(|stripe| self.stripes.locks.is_held(StripeId(stripe)))
            }
            _ => !self.has_waiting_in_segments(),
        }
    }

    /// Whether discarded bytes stay in the map: static stripes keep them until a whole stripe is gone (theory.md, I23:
    /// members of a parity are stored bytes, never silently zero).
    pub fn keeps_discarded(&self) -> bool {
        matches!(self.protection, Protection::Stripes(_))
    }

    fn has_waiting_in_segments(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| !zones.waiting.is_empty())
    }

    /// Whether updates of stripes, or pages, wait for space.
    pub fn has_waiting_for_space(&self) -> bool {
        !self.stripes.stalled.is_empty() || self.has_waiting_in_segments()
    }

    /// The image of a page that is not on its way to flash yet: reads of the page are served from memory.
    #[inline]
    pub fn unsent<A: FlashArray<P>>(&self, core: &Core<P, A>, ppn: Ppn) -> Option<Id> {
        self.pages.unsent(&core.device, ppn)
    }
}
