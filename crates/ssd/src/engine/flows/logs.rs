//! Group logs: moved and rescued pages get their places, and open rows and groups are ended. The way of writing takes a step, and the
//! engine delivers the effects of that step before the next.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::write::group_log::{Feed, Placed};
use ftl::Stream;
use vocab::{Cause, DieId};

impl<P: FlashPayload> Engine<P> {
    /// Writes moved pages to the group log.
    pub(crate) fn feed_moves(&mut self, feed: Feed) {
        loop {
            let placed = self.writer.place_moves(&mut self.core, feed);
            self.hand_on();
            if placed != Placed::Again {
                return;
            }
        }
    }

    /// Writes rescued pages, as far as there is room.
    pub(crate) fn place_rescued(&mut self) {
        if self.writer.moves.rescuing {
            self.feed_moves(Feed::All);
            self.writer.moves.rescuing = !self.writer.moves.queue.is_empty();
            self.writer.settle_rescued(&mut self.core);
        }
    }

    /// Rescued pages find no room: their codewords stand in for them where they can. True if that changed
    /// anything.
    pub(crate) fn give_up_rescue(&mut self) -> bool {
        let mut any = false;
        for waiting in std::mem::take(&mut self.writer.moves.waiting) {
            any |= self.writer.give_up_rescue(&mut self.core, waiting);
            self.hand_on();
        }
        any
    }

    /// Data without a parity cannot be moved: their jobs are answered. True if there were any.
    pub(crate) fn give_up_uncovered(&mut self) -> bool {
        let all = self.writer.take_uncovered();
        for given_up in &all {
            self.writer.give_up_uncovered(&mut self.core, given_up);
            self.hand_on();
        }
        !all.is_empty()
    }

    /// A die takes part in no open row from now on.
    pub(crate) fn drop_die_from_rows(&mut self, die: DieId) {
        self.core.map.retire_die(die);
        self.care.replacements.die_died(self.core.map.written_units());
        self.narrow_open_rows(die, None);
        self.end_rows_of(None);
    }

    /// The die takes no further page of the open rows: of all, or of those of one superblock.
    pub(crate) fn narrow_open_rows(&mut self, die: DieId, superblock: Option<u32>) {
        for write_pointer in 0..2 {
            self.writer.narrow(&mut self.core, write_pointer, die, superblock);
            self.hand_on();
        }
    }

    /// Ends open rows, all or those of one superblock, with parity over all their data.
    pub(crate) fn end_rows_of(&mut self, superblock: Option<u32>) {
        for stream in [Stream::Host, Stream::Gc] {
            self.writer.end_open(&mut self.core, stream, superblock);
            self.hand_on();
        }
    }

    /// Blocks with pages that were not what they should be are written again.
    pub(crate) fn want_astray(&mut self) {
        for block in std::mem::take(&mut self.care.damage.astray) {
            if !self.core.device.is_dead(self.core.device.grid.split_block(block).0) {
                self.want(self.core.map.unit_of_block(block), Cause::Rebuild);
            }
        }
    }

    /// There may be room in the parity cache for what waited: jobs of the host, and moved pages.
    pub(crate) fn go_on_after_cache(&mut self) {
        self.core.retry |= !self.host.stalled.is_empty() || self.writer.has_waiting_in_segments();
        if !self.writer.moves.queue.is_empty() {
            self.feed_moves(Feed::WholePages);
            self.collect(0);
        }
    }
}
