//! What other components call of rows, of rescued pages and of moves in the group log.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use ftl::UnitId;

impl<P: FlashPayload> Engine<P> {
    /// See [`crate::write::rows::Rows::cover_open_rows`].
    pub(crate) fn cover_open_rows(&mut self) -> bool {
        self.writer.rows.cover_open_rows(&mut self.core)
    }

    /// See [`crate::write::rows::Rows::superblock_was_emptied`].
    pub(crate) fn superblock_was_emptied(&mut self, unit: UnitId) {
        self.writer.rows.superblock_was_emptied(&mut self.core, unit);
        self.hand_on();
    }
}
