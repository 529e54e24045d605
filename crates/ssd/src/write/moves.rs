//! Pages that rows and block groups write and that no job of the host waits to place: pages of a victim, and
//! pages whose program failed.

use crate::write::group_log::Feed;
use crate::write::rescue::AwaitsRescue;
use device::image::Contents;
use ftl::Ftl;
use std::collections::VecDeque;
use vocab::Slot;

/// A page that is to be written to a row or a block group.
#[derive(Clone, Debug)]
pub(crate) struct Move<P> {
    pub contents: Contents<P>,
    /// Where the map has the page now.
    pub from: Slot,
}

/// Pages that wait to be written to a row or a block group.
#[derive(Clone, Debug)]
pub(crate) struct Moves<P> {
    pub queue: VecDeque<Move<P>>,
    /// Whether the queue has pages whose program failed.
    pub rescuing: bool,
    /// Who waits until such pages are in flash.
    pub waiting: Vec<AwaitsRescue>,
}

impl<P> Default for Moves<P> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), rescuing: false, waiting: Vec::new() }
    }
}

impl<P> Moves<P> {
    /// Forgets pages that the host wrote again or discarded. Then: how many flash pages are to be written now.
    pub fn pages_to_write(&mut self, map: &Ftl, slots_per_page: u32, feed: Feed) -> u32 {
        self.queue.retain(|page| map.is_valid(page.from));
        let slots = self.queue.len() as u32;
        match feed {
            Feed::All => slots.div_ceil(slots_per_page),
            Feed::WholePages => slots / slots_per_page,
        }
    }
}
