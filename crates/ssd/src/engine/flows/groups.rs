//! Flows of block groups.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::write::group_log::Feed;
use vocab::Cause;

impl<P: FlashPayload> Engine<P> {
    /// There may be room in the parity cache for what waited: jobs of the host, and moved pages.
    pub(crate) fn go_on_after_cache(&mut self) {
        self.core.retry |= !self.host.stalled.is_empty() || self.writer.has_waiting_in_segments();
        if !self.writer.moves.queue.is_empty() {
            self.feed_moves(Feed::WholePages);
            self.collect(0);
        }
    }

    /// The drive has nothing to do: a group of a code no longer in use is collected.
    pub(crate) fn migrate_when_idle(&mut self) {
        if !self.writer.groups.is_migrating() || !self.host.stalled.is_empty() || self.care.collectors[0].is_busy() {
            return;
        }
        match self.core.map.condemn_outdated() {
            Some(victim) => self.begin_collecting(0, victim, Cause::Gc),
            None => self.writer.groups.settle_migration(&self.core),
        }
    }
}
