//! Flows of the group log: here it is decided whether rows or block groups are asked.

use crate::core::flash::FlashPayload;
use crate::core::ids::CoverId;
use crate::core::owner::Holds;
use crate::engine::Engine;
use crate::write::group_log::{Feed, Placed};
use device::slab::{ImageId, JobId};
use ftl::Stream;
use nand::ProgramOutcome;
use vocab::{Cause, DieId};

impl<P: FlashPayload> Engine<P> {
    /// Hands the job's pages to the host's open row or group; false if it has to wait for space, or for room in the parity
    /// cache of groups.
    pub(crate) fn place_in_group_log(&mut self, job: JobId) -> bool {
        loop {
            self.before_placing(job);
            let placed = if self.has_groups() {
                self.writer.groups.place(&mut self.core, job)
            } else {
                self.writer.rows.place(&mut self.core, job)
            };
            self.after_placing(job);
            self.hand_on();
            if placed != Placed::RowEnded {
                return placed == Placed::All;
            }
        }
    }

    /// Writes moved pages to rows or to block groups.
    pub(crate) fn feed_moves(&mut self, feed: Feed) {
        loop {
            let placed = if self.has_groups() {
                self.writer.groups.place_moves(&mut self.core, &mut self.writer.moves, feed)
            } else {
                self.writer.rows.place_moves(&mut self.core, &mut self.writer.moves, feed)
            };
            self.hand_on();
            if placed != Placed::RowEnded {
                return;
            }
        }
    }

    /// Writes rescued pages, as far as there is room.
    pub(crate) fn place_rescued(&mut self) {
        if self.writer.moves.rescuing {
            self.feed_moves(Feed::All);
            self.writer.moves.rescuing = !self.writer.moves.queue.is_empty();
            self.settle_rescued();
            self.hand_on();
        }
    }

    /// Lets one go that waits for rescued pages, if they are safe by now.
    pub(crate) fn settle_rescued(&mut self) {
        if self.has_groups() {
            self.writer.groups.settle_rescued(&mut self.core, &mut self.writer.moves);
        } else {
            self.writer.rows.settle_rescued(&mut self.core, &mut self.writer.moves);
        }
    }

    /// Rescued pages find no room: their codewords stand in for them where they can. True if that changed
    /// anything.
    pub(crate) fn give_up_rescue(&mut self) -> bool {
        let mut any = false;
        for waiting in std::mem::take(&mut self.writer.moves.waiting) {
            any |= if self.has_groups() {
                self.writer.groups.give_up_rescue(&mut self.core, &mut self.writer.moves, waiting)
            } else {
                self.writer.rows.give_up_rescue(&mut self.core, &mut self.writer.moves, waiting)
            };
            self.hand_on();
        }
        any
    }

    /// Data without a parity cannot be moved: their jobs are answered. True if there were any.
    pub(crate) fn give_up_uncovered(&mut self) -> bool {
        let all = self.writer.rows.take_uncovered();
        for given_up in &all {
            self.writer.rows.give_up_uncovered(&mut self.core, given_up);
            self.hand_on();
        }
        !all.is_empty()
    }

    /// The program of a page of a row has ended.
    pub(crate) fn cover_program_done(&mut self, image: ImageId, cover: CoverId, holds: Holds, outcome: ProgramOutcome) {
        self.writer.rows.program_ended(&mut self.core, &mut self.writer.moves, (image, cover), holds, outcome);
        self.hand_on();
    }

    /// Whoever waited for a cover has been told. Repairs that wait for a parity are tried again.
    pub(crate) fn end_cover(&mut self, cover: CoverId) {
        self.core.retry |= !self.reads.uncovered_repairs.is_empty();
        self.writer.rows.end_cover(&mut self.core, &mut self.writer.moves, cover);
    }

    /// A die takes part in no open row from now on.
    pub(crate) fn drop_die_from_rows(&mut self, die: DieId) {
        self.core.map.retire_die(die);
        self.narrow_open_rows(die, None);
        self.end_rows_of(None);
    }

    /// The die takes no further page of the open rows: of all, or of those of one superblock.
    pub(crate) fn narrow_open_rows(&mut self, die: DieId, superblock: Option<u32>) {
        if self.has_groups() {
            self.writer.groups.narrow(&mut self.core, die, superblock);
            self.hand_on();
            return;
        }
        for write_pointer in 0..2 {
            self.writer.rows.narrow(&mut self.core, &mut self.writer.moves, write_pointer, (die, superblock));
            self.hand_on();
        }
    }

    /// Ends open rows, all or those of one superblock, with parity over all their data. Of block groups, only
    /// that of the superblock ends: which groups end with a die is decided when they are narrowed.
    pub(crate) fn end_rows_of(&mut self, superblock: Option<u32>) {
        if self.has_groups() {
            if let Some(group) = superblock {
                self.writer.groups.abandon(&mut self.core, group);
                self.hand_on();
            }
            return;
        }
        for stream in [Stream::Host, Stream::Gc] {
            self.writer.rows.end_open_row(&mut self.core, stream, superblock);
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
}
