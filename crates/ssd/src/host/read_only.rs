//! The end of life: blocks that went bad ate the room that the drive works with.
//!
//! While a drive works, whatever waits for space gets it from GC. Where nothing moves any more
//! and something still waits, no erase will ever bring that room: blocks went bad, or dies died, and
//! what is left holds the data and no more. From then on the drive is **read-only**: writes and
//! discards are refused with an error of their own, reads are served, and what was acknowledged stays.
//! Writes under way fail as before: for lack of space. A strip that could not be programmed, and that its stripe cannot
//! do without, goes to any die that has room. Pages of a buffer that found no room stay in the buffer; a flush that
//! would have to bring them to flash is refused.
//!
//! The drive notes this where it notes bad blocks, in flash, so a mount finds it. GC, refresh,
//! rebuild and recovery go on as far as there is room: they need no more than they free.
//!
//! A drive whose blocks and dies are all there is never read-only: what finds no room fails alone.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::host::Host;

impl<P: FlashPayload> Host<P> {
    /// A write waits for space that will not come: a drive that lost blocks or dies is read-only from now on.
    pub fn turn_read_only(&mut self, core: &Core<P>) {
        if core.has_lost_room() {
            self.requests.read_only_since.get_or_insert(core.device.now);
        }
    }
}
