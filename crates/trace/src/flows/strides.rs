//! Zones of a file that a flow visits one after the other (`setup_strided_zone_mode` of fio's io_u.c).

use super::files::FileState;

/// Zones that follow each other in a file. A zone is left when a number of bytes was asked for in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Bytes asked for in a zone before the next begins.
    pub amount: u64,
    /// Bytes of a zone.
    pub zone: u64,
    /// Bytes between the end of a zone and the beginning of the next.
    pub skip: u64,
    /// Whether a pass begins from the first zone again where a request finds no room at the end of the file.
    pub begins_again: bool,
}

impl Strides {
    /// Moves a file on to the zone of its next request of a kind, in a range of `length` bytes. `taken` are the bytes that were asked for in the
    /// present zone.
    pub(super) fn turn(&self, state: &mut FileState, kind: usize, taken: &mut u64, length: u64) {
        if *taken >= self.amount {
            *taken = 0;
            state.zone = state.zone.saturating_add(self.zone).saturating_add(self.skip);
            if state.zone >= length {
                state.zone = 0;
            }
            state.cursors[kind] = state.zone;
        }
        if state.cursors[kind] >= state.zone.saturating_add(self.zone) {
            state.cursors[kind] = state.zone;
        }
        if taken.is_multiple_of(self.zone) {
            state.cursors = [state.zone; 3];
            state.round = None;
        }
    }
}
